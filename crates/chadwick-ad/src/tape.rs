//! What a nested dual needs of the block it belongs to: recorded, or made again where that is no dearer than reading it back.

use crate::context::{Context, boxed, with_axis};
use crate::makings::{Makings, is_cheap};
use crate::report::NoteKind;
use crate::shapes::Moving;
use chadwick_core::visit::{free_variables, op_free_variables};
use chadwick_core::{
    Arm, Atom, BinaryOp, Binder, Block, Const, Constructor, Loop, LoopForm, LoopHints, Op, Prim, PrimOp, Size, SliceDim,
    Statement, Type, Var,
};
use chadwick_source::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// What the dual of a block reads.
#[derive(Clone)]
pub struct Needs {
    /// Variables of the block that must be kept.
    pub saved: Vec<Var>,
    /// Statements of the forward part that the dual runs again, in order.
    pub again: Vec<Statement>,
}

/// A place on the tape of a conditional, shared by the branches.
pub struct Slot {
    pub binder: Binder,
    /// Whether the value is wrapped as an option because its type has no default.
    optional: bool,
}

/// Recorded values of a body.
pub struct Kept {
    pub forward: Vec<Statement>,
    pub values: Vec<Atom>,
    pub types: Vec<Type>,
    pub inner: Vec<Vec<Size>>,
    pub boxed: Vec<bool>,
}

impl Context<'_> {
    /// Which variables bound by `forward` or in `bound` the dual needs. Variables in `given` are at hand in the dual too.
    pub fn needs(&mut self, forward: &[Statement], dual: &Block, bound: &[Var], given: &[Var]) -> Needs {
        self.needs_with(forward, dual, bound, given, false)
    }

    /// The same for a dual that runs once, where a division costs no more than to keep its result.
    pub fn needs_with(&mut self, forward: &[Statement], dual: &Block, bound: &[Var], given: &[Var], divides: bool) -> Needs {
        let mut definitions: FxHashMap<Var, usize> = FxHashMap::default();
        for (at, statement) in forward.iter().enumerate() {
            statement.binders.iter().for_each(|binder| {
                definitions.insert(binder.var, at);
            });
        }
        let inside: FxHashSet<Var> = definitions.keys().copied().chain(bound.iter().copied()).collect();
        let needed: Vec<Var> =
            free_variables(dual).into_iter().filter(|var| inside.contains(var) && !given.contains(var)).collect();
        let mut cheap = Cheap {
            forward,
            definitions: &definitions,
            inside: &inside,
            given,
            known: FxHashMap::default(),
            makings: &self.makings,
            divides,
        };
        let mut saved = Vec::new();
        let mut again: FxHashSet<usize> = FxHashSet::default();
        for var in needed {
            if cheap.is_cheap(var) {
                cheap.statements_for(var, &mut again);
            } else if !saved.contains(&var) {
                saved.push(var);
            }
        }
        cheap.one_step_from(&mut saved, &mut again);
        cheap.arrays_from_kept(&mut saved, &mut again);
        let mut again: Vec<usize> = again.into_iter().collect();
        again.sort_unstable();
        for statement in again.iter().map(|at| &forward[*at]) {
            let is_float = |ty: &Type| matches!(ty, Type::Prim(prim) if prim.is_float());
            if statement.binders.iter().any(|binder| is_float(&binder.ty))
                && !matches!(statement.op, Op::Copy(_) | Op::Index { .. })
            {
                self.note(statement.span, NoteKind::Recomputed);
            }
        }
        Needs { saved, again: again.into_iter().map(|at| forward[at].clone()).collect() }
    }

    /// Slots for what the branches keep; branches share slots of one type. What has no default shares one slot in its branch, so that a
    /// branch inside a branch adds no slot.
    pub fn slots(&mut self, needs: &[Needs]) -> Vec<Slot> {
        let mut slots: Vec<Slot> = Vec::new();
        for need in needs {
            let mut used = vec![false; slots.len()];
            for (ty, optional) in self.slot_types(need) {
                let free = slots.iter().zip(&used).position(|(slot, used)| !*used && slot.binder.ty == ty);
                match free {
                    Some(at) => used[at] = true,
                    None => {
                        slots.push(Slot { binder: self.fresh("tape", ty), optional });
                        used.push(true);
                    }
                }
            }
        }
        slots
    }

    /// The types of the slots that a branch needs: one for each variable with a default, one for all the others.
    fn slot_types(&self, needs: &Needs) -> Vec<(Type, bool)> {
        let types: Vec<Type> = needs.saved.iter().map(|var| self.var_type(*var).any_sizes()).collect();
        let (plain, others): (Vec<Type>, Vec<Type>) = types.into_iter().partition(has_default);
        let group = (!others.is_empty()).then(|| (option_of(others), true));
        plain.into_iter().map(|ty| (ty, false)).chain(group).collect()
    }

    /// Which slot holds each kept variable of a branch.
    fn assignment(&self, needs: &Needs, slots: &[Slot]) -> Vec<usize> {
        let mut used = vec![false; slots.len()];
        let mut places = self.slot_types(needs).into_iter().map(|(ty, _)| {
            let at = slots.iter().zip(&used).position(|(slot, used)| !*used && slot.binder.ty == ty).unwrap_or(0);
            used[at] = true;
            at
        });
        let is_plain = |var: &Var| has_default(&self.var_type(*var));
        let plain: Vec<usize> = places.by_ref().take(needs.saved.iter().filter(|var| is_plain(var)).count()).collect();
        let (mut plain, group) = (plain.into_iter(), places.next().unwrap_or(0));
        needs.saved.iter().map(|var| if is_plain(var) { plain.next().unwrap_or(0) } else { group }).collect()
    }

    /// A branch that gives its results and fills the slots.
    pub fn filled(&mut self, forward: &[Statement], results: &[Atom], needs: &Needs, slots: &[Slot], span: Span) -> Block {
        let assignment = self.assignment(needs, slots);
        self.b.push_block();
        forward.iter().for_each(|statement| self.push_statement(statement.clone()));
        let mut contents: Vec<Vec<Atom>> = vec![Vec::new(); slots.len()];
        for (var, at) in needs.saved.iter().zip(assignment) {
            contents[at].push(Atom::Var(*var));
        }
        let slot_values: Vec<Atom> = contents
            .into_iter()
            .zip(slots)
            .map(|(mut content, slot)| match (content.is_empty(), slot.optional) {
                (true, _) => self.default_value(&slot.binder.ty, span),
                (false, false) => content.swap_remove(0),
                (false, true) => self.construct(&slot.binder.ty, 1, content, span).into_iter().next().unwrap_or(Atom::i64(0)),
            })
            .collect();
        self.b.pop_block([results.to_vec(), slot_values].concat())
    }

    /// What stands in a slot that a branch does not use.
    fn default_value(&mut self, ty: &Type, span: Span) -> Atom {
        match ty {
            Type::Prim(prim) => Atom::Const(Const::zero(*prim)),
            Type::Array(array) => {
                let element = array.element.as_type().unwrap_or(Type::BOOL).array(array.dims[1..].iter().copied());
                let inner = vec![Size::Known(Atom::i64(0)); array.dims.len() - 1];
                let op = Op::ArrayLiteral { ty: element, elements: Vec::new(), inner };
                self.b.push(op, vec![ty.clone()], span).into_iter().next().unwrap_or(Atom::i64(0))
            }
            other => self.construct(other, 0, Vec::new(), span).into_iter().next().unwrap_or(Atom::i64(0)),
        }
    }

    /// The dual of a branch, reading the slots; `own` are the binders of the branch.
    pub fn emptied(&mut self, own: &[Binder], dual: Block, needs: &Needs, slots: &[Slot], span: Span) -> (Vec<Binder>, Block) {
        let assignment = self.assignment(needs, slots);
        let binders: Vec<Binder> = own.iter().map(|binder| self.fresh("", binder.ty.clone())).collect();
        let mut replace: Vec<(Var, Atom)> = own.iter().zip(&binders).map(|(old, new)| (old.var, Atom::Var(new.var))).collect();
        self.b.push_block();
        for (at, slot) in slots.iter().enumerate() {
            let held = needs.saved.iter().zip(&assignment).filter(|(_, place)| **place == at).map(|(var, _)| *var);
            let held: Vec<Var> = held.collect();
            let value = Atom::Var(slot.binder.var);
            match slot.optional && !held.is_empty() {
                true => replace.extend(held.iter().copied().zip(self.unwrap_option(value, &held, span))),
                false => replace.extend(held.into_iter().map(|var| (var, value.clone()))),
            }
        }
        let whole = Block { statements: [needs.again.clone(), dual.statements].concat(), results: dual.results };
        let copy = self.copy_block(&whole, replace);
        copy.statements.into_iter().for_each(|statement| self.push_statement(statement));
        (binders, self.b.pop_block(copy.results))
    }

    fn unwrap_option(&mut self, option: Atom, vars: &[Var], span: Span) -> Vec<Atom> {
        let types: Vec<Type> = vars.iter().map(|var| self.var_type(*var).any_sizes()).collect();
        let contents: Vec<Binder> = types.iter().map(|ty| self.fresh("", ty.clone())).collect();
        let results = contents.iter().map(|content| Atom::Var(content.var)).collect();
        // The branch that filled the slot is the branch that reads it: the empty option never comes.
        let otherwise = self.unreachable(&types, "an empty place on the tape", span);
        let arms = vec![Arm { tag: 1, binders: contents, body: Block { statements: Vec::new(), results } }];
        self.b.push(Op::Match { scrutinee: option, arms, otherwise: Some(otherwise) }, types, span)
    }

    /// A block with results of these types that fails if it is ever reached.
    pub fn unreachable(&mut self, types: &[Type], what: &str, span: Span) -> Block {
        let message = vec![chadwick_core::MessagePart::Text(what.to_owned())];
        let fail = Statement { binders: Vec::new(), op: Op::Assert { condition: Atom::bool(false), message }, span };
        self.b.push_block();
        self.push_statement(fail);
        let values = types.iter().map(|ty| self.impossible(ty, span)).collect();
        self.b.pop_block(values)
    }

    /// Some value of a type, for a place that is never reached: an endless loop would be one, a call of itself is another.
    fn impossible(&mut self, ty: &Type, span: Span) -> Atom {
        if has_default(ty) {
            return self.default_value(ty, span);
        }
        let function = self.reserve(Name::from("impossible"), Vec::new(), vec![ty.clone()], span);
        let binder = self.fresh("", ty.clone());
        let result = Atom::Var(binder.var);
        let op = Op::Call { function, args: Vec::new() };
        let body = Block { statements: vec![Statement { binders: vec![binder], op: op.clone(), span }], results: vec![result] };
        self.b.program_mut().functions[function.0 as usize].body = body;
        self.b.push(op, vec![ty.clone()], span).into_iter().next().unwrap_or(Atom::i64(0))
    }

    /// How kept values of a body are recorded: arrays of varying shape go into boxes.
    pub fn keep(&mut self, saved: &[Var], forward: Vec<Statement>, moving: &[Moving], span: Span) -> Kept {
        let mut kept = Kept { forward: Vec::new(), values: Vec::new(), types: Vec::new(), inner: Vec::new(), boxed: Vec::new() };
        let regular: Vec<bool> = saved.iter().map(|var| self.is_regular(*var, &forward, moving)).collect();
        let inside: FxHashSet<Var> = forward
            .iter()
            .flat_map(|statement| &statement.binders)
            .map(|binder| binder.var)
            .chain(moving.iter().map(|moving| moving.var))
            .collect();
        self.b.push_block();
        forward.into_iter().for_each(|statement| self.push_statement(statement));
        for (var, regular) in saved.iter().zip(regular) {
            let ty = self.var_type(*var);
            let is_array = ty.rank() > 0;
            if is_array && !regular {
                let ty = boxed(ty.any_sizes());
                let value = self.construct(&ty, 0, vec![Atom::Var(*var)], span).into_iter().next();
                kept.values.push(value.unwrap_or(Atom::i64(0)));
                kept.types.push(ty);
                kept.inner.push(Vec::new());
                kept.boxed.push(true);
            } else {
                kept.values.push(Atom::Var(*var));
                let shape = self.shapes.get(var).cloned().unwrap_or_default();
                let size = |axis: usize| match shape.get(axis).cloned().flatten() {
                    Some(Atom::Var(size)) if inside.contains(&size) => Size::FromValue,
                    Some(size) => Size::Known(size),
                    None => Size::FromValue,
                };
                kept.inner.push((0..ty.rank()).map(size).collect());
                kept.types.push(ty.any_sizes());
                kept.boxed.push(false);
            }
        }
        kept.forward = self.b.pop_block(Vec::new()).statements;
        kept
    }

    pub fn unbox(&mut self, value: Atom, var: Var, span: Span) -> Atom {
        let ty = self.var_type(var).any_sizes();
        let content = self.fresh("", ty.clone());
        let body = Block { statements: Vec::new(), results: vec![Atom::Var(content.var)] };
        let arms = vec![Arm { tag: 0, binders: vec![content], body }];
        let op = Op::Match { scrutinee: value, arms, otherwise: None };
        self.b.push(op, vec![ty], span).into_iter().next().unwrap_or(Atom::i64(0))
    }

    /// The loop that also emits what is kept, the tapes, and the number of iterations.
    pub fn recording_loop(&mut self, statement: &Statement, parts: &Loop, kept: &Kept) -> (Statement, Vec<Binder>, Atom) {
        let span = statement.span;
        let body =
            Block { statements: kept.forward.clone(), results: [parts.body.results.clone(), kept.values.clone()].concat() };
        let is_counted = parts.counted || matches!(parts.form, LoopForm::While { .. });
        let recording = Loop {
            carry: parts.carry.clone(),
            initial: parts.initial.clone(),
            form: parts.form.clone(),
            body,
            emits: [parts.emits.clone(), kept.inner.clone()].concat(),
            counted: is_counted,
            hints: LoopHints { stripmine: None, ..parts.hints.clone() },
        };
        let tapes: Vec<Binder> = kept.types.iter().map(|ty| self.fresh("tape", with_axis(ty))).collect();
        let (carry_binders, rest) = statement.binders.split_at(parts.carry.len());
        let (count_binders, emit_binders) = rest.split_at(rest.len() - parts.emits.len());
        // A bound tells the number of iterations; a condition has to be counted.
        let mut count_binders = count_binders.to_vec();
        let count = match &parts.form {
            LoopForm::For { index, bound } => match index.ty.as_prim() {
                Some(Prim::I64) | None => bound.clone(),
                Some(from) => self.prim(PrimOp::Convert { from, to: Prim::I64 }, vec![bound.clone()], span),
            },
            LoopForm::While { .. } => {
                if count_binders.is_empty() {
                    count_binders.push(self.fresh("trips", Type::I64));
                }
                Atom::Var(count_binders[0].var)
            }
        };
        let binders = [carry_binders.to_vec(), count_binders, emit_binders.to_vec(), tapes.clone()].concat();
        (Statement { binders, op: Op::Loop(Box::new(recording)), span }, tapes, count)
    }

    /// What the index of a loop is in iteration `at`.
    pub fn index_at(&mut self, parts: &Loop, at: &Atom, span: Span) -> Option<(Var, Atom)> {
        let LoopForm::For { index, .. } = &parts.form else { return None };
        let value = match index.ty.as_prim() {
            Some(Prim::I64) | None => at.clone(),
            Some(to) => self.prim(PrimOp::Convert { from: Prim::I64, to }, vec![at.clone()], span),
        };
        Some((index.var, value))
    }

    /// Kept variables, read back from their tapes.
    pub fn read_tapes(
        &mut self,
        saved: &[Var],
        tapes: &[Binder],
        boxed: &[bool],
        indices: &[Atom],
        span: Span,
    ) -> Vec<(Var, Atom)> {
        let mut values = Vec::new();
        for ((var, tape), is_boxed) in saved.iter().zip(tapes).zip(boxed) {
            let value = self.emit_one(Op::Index { array: Atom::Var(tape.var), indices: indices.to_vec() }, span);
            values.push((*var, if *is_boxed { self.unbox(value, *var, span) } else { value }));
        }
        values
    }
}

/// Decides what is cheaper to make again than to keep.
struct Cheap<'a> {
    forward: &'a [Statement],
    definitions: &'a FxHashMap<Var, usize>,
    inside: &'a FxHashSet<Var>,
    given: &'a [Var],
    known: FxHashMap<Var, bool>,
    makings: &'a Makings,
    /// Whether to divide again rather than keep what comes of it.
    divides: bool,
}

impl Cheap<'_> {
    fn atom(&mut self, atom: &Atom) -> bool {
        match atom {
            Atom::Const(_) => true,
            Atom::Var(var) => !self.inside.contains(var) || self.given.contains(var) || self.is_cheap(*var),
        }
    }

    /// A few additions or a load from an array that is there anyway.
    fn is_cheap(&mut self, var: Var) -> bool {
        if let Some(known) = self.known.get(&var) {
            return *known;
        }
        self.known.insert(var, false);
        let is_cheap = match self.definitions.get(&var).map(|at| &self.forward[*at]) {
            Some(statement) if statement.binders.len() == 1 || matches!(statement.op, Op::Build { .. }) => match &statement.op {
                Op::Prim(op, args) => is_cheap(*op) && args.iter().all(|arg| self.atom(arg)),
                Op::Copy(atoms) => atoms.iter().all(|atom| self.atom(atom)),
                Op::Index { array, indices } => self.is_there(array) && indices.iter().all(|index| self.atom(index)),
                Op::Slice { array, dims } => {
                    self.is_there(array)
                        && dims.iter().all(|dim| match dim {
                            SliceDim::Index(index) => self.atom(index),
                            SliceDim::Range { start, count, stride } => self.atom(start) && self.atom(count) && self.atom(stride),
                        })
                }
                Op::Dim { array, .. } => self.is_outside(array),
                Op::ArrayLiteral { elements, .. } => elements.iter().all(|element| matches!(element, Atom::Const(_))),
                Op::If { condition, then, otherwise } => {
                    let mut light = |block: &Block| self.is_light(block, &mut FxHashSet::default(), &FxHashSet::default());
                    light(then) && light(otherwise) && self.atom(condition)
                }
                Op::Build { .. } => self.is_light_build(&statement.op, &FxHashSet::default()),
                _ => false,
            },
            _ => false,
        };
        self.known.insert(var, is_cheap);
        is_cheap
    }

    /// Of what is to be kept, makes again what is one light operation, or a division, away from the rest.
    fn one_step_from(&mut self, saved: &mut Vec<Var>, again: &mut FxHashSet<usize>) {
        let mut last_first: Vec<(usize, Var)> =
            saved.iter().filter_map(|var| Some((*self.definitions.get(var)?, *var))).collect();
        last_first.sort_unstable_by(|a, b| b.cmp(a));
        let divides = self.divides;
        for (at, var) in last_first {
            let Op::Prim(op, args) = &self.forward[at].op else { continue };
            let at_hand = |atom: &Atom| matches!(atom, Atom::Var(arg) if saved.contains(arg)) || self.atom(atom);
            let is_light = op.is_light() || divides && matches!(op, PrimOp::Binary(BinaryOp::Div, _));
            if !is_light || !args.iter().all(at_hand) {
                continue;
            }
            saved.retain(|it| *it != var);
            again.insert(at);
            for arg in args {
                if let Atom::Var(arg) = arg
                    && !saved.contains(arg)
                    && !self.given.contains(arg)
                {
                    self.statements_for(*arg, again);
                }
            }
        }
    }

    /// Of the arrays that are to be kept, makes again those whose elements are a few light operations on elements of the others.
    fn arrays_from_kept(&mut self, saved: &mut Vec<Var>, again: &mut FxHashSet<usize>) {
        let is_array = |at: &usize| matches!(self.forward[*at].op, Op::Build { .. });
        let mut builds: Vec<usize> = saved.iter().filter_map(|var| self.definitions.get(var)).copied().filter(is_array).collect();
        builds.sort_unstable();
        builds.dedup();
        let mut at_hand: FxHashSet<Var> = saved.iter().copied().collect();
        for at in builds {
            let own: Vec<Var> = self.forward[at].binders.iter().map(|binder| binder.var).collect();
            own.iter().for_each(|var| {
                at_hand.remove(var);
            });
            let mut steps = Vec::new();
            if self.steps_to(at, &at_hand, &mut steps) {
                saved.retain(|var| !own.contains(var));
                at_hand.extend(steps.iter().flat_map(|step| &self.forward[*step].binders).map(|binder| binder.var));
                for step in steps {
                    again.insert(step);
                    let used = op_free_variables(&self.forward[step].op);
                    let made = used.into_iter().filter(|var| !at_hand.contains(var) && !self.given.contains(var));
                    made.for_each(|var| self.statements_for(var, again));
                }
            } else {
                at_hand.extend(own.into_iter().filter(|var| saved.contains(var)));
            }
        }
    }

    /// The light builds that lead from what is at hand to this one, in order; false if others would have to be made, or too many.
    fn steps_to(&mut self, at: usize, at_hand: &FxHashSet<Var>, steps: &mut Vec<usize>) -> bool {
        const FEW: usize = 3;
        let op = &self.forward[at].op;
        let mut here = at_hand.clone();
        for var in op_free_variables(op) {
            if here.contains(&var) || self.atom(&Atom::Var(var)) {
                continue;
            }
            let Some(before) = self.definitions.get(&var).copied() else { return false };
            if !steps.contains(&before)
                && (!matches!(self.forward[before].op, Op::Build { .. }) || !self.steps_to(before, at_hand, steps))
            {
                return false;
            }
            here.insert(var);
        }
        steps.push(at);
        steps.len() <= FEW && self.is_light_build(op, &here)
    }

    /// Whether each element of a build costs no more than reading it back: a few light operations on what is there anyway.
    fn is_light_build(&mut self, op: &Op, at_hand: &FxHashSet<Var>) -> bool {
        let Op::Build { space, body, inner } = op else { return false };
        let sizes = inner.iter().flatten().all(|size| match size {
            Size::Known(atom) => self.atom(atom),
            Size::FromValue => false,
        });
        let mut local = space.iter().map(|axis| axis.var).collect();
        sizes && space.iter().all(|axis| self.atom(&axis.size)) && self.is_light(body, &mut local, at_hand)
    }

    /// Whether a block is a few light operations on its own variables, what is at hand and what is there anyway.
    fn is_light(&mut self, block: &Block, local: &mut FxHashSet<Var>, at_hand: &FxHashSet<Var>) -> bool {
        const FEW: usize = 5;
        if block.statements.len() > FEW {
            return false;
        }
        for statement in &block.statements {
            let mut fits = |atom: &Atom| matches!(atom, Atom::Var(var) if local.contains(var)) || self.atom(atom);
            let is_light = match &statement.op {
                Op::Prim(op, args) => op.is_light() && args.iter().all(fits),
                Op::Copy(atoms) => atoms.iter().all(fits),
                Op::Index { array, indices } => {
                    indices.iter().all(&mut fits)
                        && (self.is_there(array) || matches!(array, Atom::Var(array) if at_hand.contains(array)))
                }
                Op::If { condition, then, otherwise } => {
                    fits(condition)
                        && [then, otherwise].into_iter().all(|branch| self.is_light(branch, &mut local.clone(), at_hand))
                }
                _ => false,
            };
            if !is_light {
                return false;
            }
            local.extend(statement.binders.iter().map(|binder| binder.var));
        }
        block.results.iter().all(|result| matches!(result, Atom::Var(var) if local.contains(var)) || self.atom(result))
    }

    /// Whether the array comes from outside and can be had in the reverse pass for no more than its making. The state of a loop that is
    /// updated in place cannot: to keep it would be to keep all of it in every iteration.
    fn is_there(&self, array: &Atom) -> bool {
        self.is_outside(array) && matches!(array, Atom::Var(var) if self.makings.can_be_kept(*var))
    }

    fn is_outside(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if !self.inside.contains(var))
    }

    /// The statements that make a cheap variable.
    fn statements_for(&self, var: Var, found: &mut FxHashSet<usize>) {
        let Some(at) = self.definitions.get(&var) else { return };
        if !found.insert(*at) {
            return;
        }
        let used = op_free_variables(&self.forward[*at].op);
        used.into_iter().filter(|var| !self.given.contains(var)).for_each(|var| self.statements_for(var, found));
    }
}

/// What a recorded value is on the tape of a branch: as it is with a default for the other branches, or optional.
pub fn has_default(ty: &Type) -> bool {
    Context::is_flat(ty)
}

fn option_of(types: Vec<Type>) -> Type {
    let constructors = [("none", Vec::new()), ("some", types)];
    Type::Sum(Rc::from(constructors.map(|(name, payload)| Constructor { name: Name::from(name), payload })))
}
