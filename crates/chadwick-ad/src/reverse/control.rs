//! Duals of conditionals, matches, loops, parallel pairs and recomputed blocks.

use super::tape::{Needs, has_default};
use super::{Cotangent, Cotangents, Reverse};
use crate::context::{boxed, with_axis};
use crate::report::NoteKind;
use chadwick_core::visit::free_variables;
use chadwick_core::{
    Arm, Atom, BinaryOp, Binder, Block, Const, Constructor, Dim, Loop, LoopForm, LoopHints, Op, PathStep, Prim, PrimOp, Size,
    Statement, Type, Var,
};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// One branch after the split.
struct Branch {
    tag: Option<u32>,
    binders: Vec<Binder>,
    forward: Vec<Statement>,
    results: Vec<Atom>,
    dual: Vec<Statement>,
    cotangents: Cotangents,
}

/// A place on the tape of a conditional, shared by the branches.
struct Slot {
    binder: Binder,
    /// Whether the value is wrapped as an option because its type has no default.
    optional: bool,
}

impl Reverse<'_, '_> {
    /// `If` and `Match`. The dual takes the same branch again; values that the branch's dual needs go through slots that all branches fill.
    pub(super) fn branches(
        &mut self,
        statement: &Statement,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let sources: Vec<(Option<u32>, Vec<Binder>, &Block)> = match &statement.op {
            Op::If { then, otherwise, .. } => vec![(None, Vec::new(), then), (None, Vec::new(), otherwise)],
            Op::Match { arms, otherwise, .. } => arms
                .iter()
                .map(|arm| (Some(arm.tag), arm.binders.clone(), &arm.body))
                .chain(otherwise.iter().map(|block| (None, Vec::new(), block)))
                .collect(),
            _ => Vec::new(),
        };
        let scrutinee = match &statement.op {
            Op::Match { scrutinee, .. } if self.is_active(scrutinee) => Some(scrutinee.clone()),
            _ => None,
        };
        // What the payload has so far, where adding to it must not cost all of it.
        let sofar = match &scrutinee {
            Some(Atom::Var(var)) => cotangents.get(var).cloned().filter(|_| self.holds_arrays(&self.context.var_type(*var))),
            _ => None,
        };
        let mut branches: Vec<Branch> = sources
            .into_iter()
            .map(|(tag, binders, block)| {
                let mut own = cotangents.clone();
                self.context.b.push_block();
                if let (Some(sofar), Some(tag)) = (&sofar, tag) {
                    self.open_payload(sofar, tag, &binders, &mut own, span);
                    // It went into the payload; what the branch adds to the whole comes on top.
                    if let (Some(Atom::Var(var)), Cotangent::Value(_)) = (&scrutinee, sofar) {
                        own.remove(var);
                    }
                }
                for (result, incoming) in block.results.iter().zip(&incoming) {
                    if let Some(incoming) = incoming {
                        self.add(&mut own, result, incoming.clone(), span);
                    }
                }
                let params: Vec<Var> = binders.iter().map(|binder| binder.var).collect();
                let forward = self.split(block, &params, &mut own);
                let dual = self.context.b.pop_block(Vec::new()).statements;
                Branch { tag, binders, forward, results: block.results.clone(), dual, cotangents: own }
            })
            .collect();

        // Variables from outside to which some branch contributed a value, and the scrutinee's payload.
        let mut touched: Vec<Var> = Vec::new();
        for branch in &branches {
            for (var, cotangent) in &branch.cotangents {
                let is_new = cotangents.get(var) != Some(cotangent) && matches!(cotangent, Cotangent::Value(_));
                if is_new && !branch.binders.iter().any(|binder| binder.var == *var) && !touched.contains(var) {
                    touched.push(*var);
                }
            }
        }
        touched.sort_unstable();
        // A handle has received everything already.
        let scrutinee = scrutinee.filter(|_| !matches!(sofar, Some(Cotangent::Handle(..))));
        if let Some(Atom::Var(var)) = &scrutinee {
            touched.retain(|other| other != var);
        }

        // Each dual returns the touched cotangents, and that of the scrutinee.
        let mut duals = Vec::new();
        for branch in &mut branches {
            self.context.b.push_block();
            std::mem::take(&mut branch.dual).into_iter().for_each(|statement| self.context.push_statement(statement));
            let mut results: Vec<Atom> = touched.iter().map(|var| self.value_or_zero(&branch.cotangents, *var, span)).collect();
            if let Some(scrutinee) = &scrutinee {
                results.push(self.scrutinee_cotangent(scrutinee, branch, span));
            }
            duals.push(self.context.b.pop_block(results));
        }
        // Zeros made just now may have asked for sizes of arrays in the branches.
        for branch in &mut branches {
            let params: Vec<Var> = branch.binders.iter().map(|binder| binder.var).collect();
            branch.forward = self.place_sizes(std::mem::take(&mut branch.forward), &params);
        }

        let needs: Vec<Needs> = branches
            .iter()
            .zip(&duals)
            .map(|(branch, dual)| {
                let bound: Vec<Var> = branch.binders.iter().map(|binder| binder.var).collect();
                // The payload is at hand in the dual, which matches the same value again.
                self.needs(&branch.forward, dual, &bound, &bound)
            })
            .collect();
        let slots = self.slots(&needs);

        // The forward statement fills the slots.
        let blocks: Vec<Block> =
            branches.iter().zip(&needs).map(|(branch, needs)| self.filled(branch, needs, &slots, span)).collect();
        let binders = [statement.binders.clone(), slots.iter().map(|slot| slot.binder.clone()).collect()].concat();
        let forward = rebuilt(&statement.op, &branches, blocks);

        // The dual statement reads them.
        let dual_blocks: Vec<(Vec<Binder>, Block)> = branches
            .iter()
            .zip(duals)
            .zip(&needs)
            .map(|((branch, dual), needs)| self.emptied(branch, dual, needs, &slots, span))
            .collect();
        let mut types: Vec<Type> = touched.iter().map(|var| self.context.var_type(*var)).collect();
        if let Some(scrutinee) = &scrutinee {
            types.push(self.context.type_of(scrutinee));
        }
        let dual = match &statement.op {
            Op::If { condition, .. } => {
                let mut blocks = dual_blocks.into_iter().map(|(_, block)| block);
                let (then, otherwise) = (blocks.next().unwrap_or_default(), blocks.next().unwrap_or_default());
                Op::If { condition: condition.clone(), then, otherwise }
            }
            Op::Match { scrutinee, .. } => {
                let mut arms = Vec::new();
                let mut otherwise = None;
                for (branch, (binders, body)) in branches.iter().zip(dual_blocks) {
                    match branch.tag {
                        Some(tag) => arms.push(Arm { tag, binders, body }),
                        None => otherwise = Some(body),
                    }
                }
                Op::Match { scrutinee: scrutinee.clone(), arms, otherwise }
            }
            _ => Op::Copy(Vec::new()),
        };
        let results = self.context.b.push(dual, types, span);
        for (var, result) in touched.iter().zip(&results) {
            cotangents.insert(*var, Cotangent::Value(result.clone()));
        }
        if let (Some(scrutinee), Some(result)) = (&scrutinee, results.get(touched.len())) {
            match scrutinee {
                // The result contains what was there before.
                Atom::Var(var) if !matches!(cotangents.get(var), Some(Cotangent::Handle(..))) => {
                    cotangents.insert(*var, Cotangent::Value(result.clone()));
                }
                _ => self.add(cotangents, scrutinee, result.clone(), span),
            }
        }
        Statement { binders, op: forward, span }
    }

    /// The cotangents of the payload start from those that the scrutinee has so far.
    fn open_payload(&mut self, sofar: &Cotangent, tag: u32, binders: &[Binder], own: &mut Cotangents, span: Span) {
        let value = match sofar {
            Cotangent::Handle(handle, path) => {
                for (field, binder) in binders.iter().enumerate() {
                    let path = path.iter().cloned().chain([PathStep::Payload { tag, field }]).collect();
                    own.insert(binder.var, Cotangent::Handle(handle.clone(), path));
                }
                return;
            }
            Cotangent::Value(value) => value.clone(),
        };
        let parts: Vec<Binder> = binders.iter().map(|binder| self.context.fresh("ct", any_sizes(&binder.ty))).collect();
        let results = parts.iter().map(|part| Atom::Var(part.var)).collect();
        let types = parts.iter().map(|part| part.ty.clone()).collect();
        let vars: Vec<Var> = binders.iter().map(|binder| binder.var).collect();
        let otherwise = self.context.block(|context| vars.iter().map(|var| context.zero_like(&Atom::Var(*var), span)).collect());
        let arms = vec![Arm { tag, binders: parts, body: Block { statements: Vec::new(), results } }];
        let op = Op::Match { scrutinee: value, arms, otherwise: Some(otherwise) };
        let payload = self.context.b.push(op, types, span);
        for (binder, part) in binders.iter().zip(payload) {
            if self.is_active(&Atom::Var(binder.var)) {
                own.insert(binder.var, Cotangent::Value(part));
            }
        }
    }

    /// The cotangent of the scrutinee behind a branch: what its payload has, and what the branch added to the whole.
    fn scrutinee_cotangent(&mut self, scrutinee: &Atom, branch: &Branch, span: Span) -> Atom {
        let whole = match scrutinee {
            Atom::Var(var) => branch.cotangents.get(var),
            Atom::Const(_) => None,
        };
        let whole = match whole {
            Some(Cotangent::Value(value)) => Some(value.clone()),
            _ => None,
        };
        let value = |binder: &Binder| match branch.cotangents.get(&binder.var) {
            Some(Cotangent::Value(value)) => Some(value.clone()),
            _ => None,
        };
        let payload: Vec<Option<Atom>> = branch.binders.iter().map(value).collect();
        let (Some(tag), true) = (branch.tag, whole.is_none() || payload.iter().any(Option::is_some)) else {
            return whole.unwrap_or_else(|| self.context.zero_like(scrutinee, span));
        };
        let ty = self.context.type_of(scrutinee);
        let payload = payload
            .into_iter()
            .zip(&branch.binders)
            .map(|(value, binder)| {
                value.unwrap_or_else(|| {
                    if binder.ty.rank() > 0 && self.context.makings.is_dear_zero(binder.var) {
                        self.context.note(span, NoteKind::DenseZero);
                    }
                    self.context.zero_like(&Atom::Var(binder.var), span)
                })
            })
            .collect();
        let part = self.context.construct(&ty, tag, payload, span).into_iter().next().unwrap_or(Atom::i64(0));
        match whole {
            Some(whole) => self.context.sum(whole, part, span),
            None => part,
        }
    }

    /// Slots for what the branches keep; branches share slots of one type. What has no default shares one slot in its branch, so that a
    /// branch inside a branch adds no slot.
    fn slots(&mut self, needs: &[Needs]) -> Vec<Slot> {
        let mut slots: Vec<Slot> = Vec::new();
        for need in needs {
            let mut used = vec![false; slots.len()];
            for (ty, optional) in self.slot_types(need) {
                let free = slots.iter().zip(&used).position(|(slot, used)| !*used && slot.binder.ty == ty);
                match free {
                    Some(at) => used[at] = true,
                    None => {
                        slots.push(Slot { binder: self.context.fresh("tape", ty), optional });
                        used.push(true);
                    }
                }
            }
        }
        slots
    }

    /// The types of the slots that a branch needs: one for each variable with a default, one for all the others.
    fn slot_types(&self, needs: &Needs) -> Vec<(Type, bool)> {
        let types: Vec<Type> = needs.saved.iter().map(|var| any_sizes(&self.context.var_type(*var))).collect();
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
        let is_plain = |var: &Var| has_default(&self.context.var_type(*var));
        let plain: Vec<usize> = places.by_ref().take(needs.saved.iter().filter(|var| is_plain(var)).count()).collect();
        let (mut plain, group) = (plain.into_iter(), places.next().unwrap_or(0));
        needs.saved.iter().map(|var| if is_plain(var) { plain.next().unwrap_or(0) } else { group }).collect()
    }

    fn filled(&mut self, branch: &Branch, needs: &Needs, slots: &[Slot], span: Span) -> Block {
        let assignment = self.assignment(needs, slots);
        self.context.b.push_block();
        branch.forward.iter().for_each(|statement| self.context.push_statement(statement.clone()));
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
                (false, true) => {
                    self.context.construct(&slot.binder.ty, 1, content, span).into_iter().next().unwrap_or(Atom::i64(0))
                }
            })
            .collect();
        self.context.b.pop_block([branch.results.clone(), slot_values].concat())
    }

    /// What stands in a slot that a branch does not use.
    fn default_value(&mut self, ty: &Type, span: Span) -> Atom {
        match ty {
            Type::Prim(prim) => Atom::Const(Const::zero(*prim)),
            Type::Array(array) => {
                let element = array.element.as_type().unwrap_or(Type::BOOL).array(array.dims[1..].iter().copied());
                let inner = vec![Size::Known(Atom::i64(0)); array.dims.len() - 1];
                let op = Op::ArrayLiteral { ty: element, elements: Vec::new(), inner };
                self.context.b.push(op, vec![ty.clone()], span).into_iter().next().unwrap_or(Atom::i64(0))
            }
            other => self.context.construct(other, 0, Vec::new(), span).into_iter().next().unwrap_or(Atom::i64(0)),
        }
    }

    fn emptied(&mut self, branch: &Branch, dual: Block, needs: &Needs, slots: &[Slot], span: Span) -> (Vec<Binder>, Block) {
        let assignment = self.assignment(needs, slots);
        let binders: Vec<Binder> = branch.binders.iter().map(|binder| self.context.fresh("", binder.ty.clone())).collect();
        let mut replace: Vec<(Var, Atom)> =
            branch.binders.iter().zip(&binders).map(|(old, new)| (old.var, Atom::Var(new.var))).collect();
        self.context.b.push_block();
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
        let copy = self.context.copy_block(&whole, replace);
        copy.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
        (binders, self.context.b.pop_block(copy.results))
    }

    fn unwrap_option(&mut self, option: Atom, vars: &[Var], span: Span) -> Vec<Atom> {
        let types: Vec<Type> = vars.iter().map(|var| any_sizes(&self.context.var_type(*var))).collect();
        let contents: Vec<Binder> = types.iter().map(|ty| self.context.fresh("", ty.clone())).collect();
        let results = contents.iter().map(|content| Atom::Var(content.var)).collect();
        // The branch that filled the slot is the branch that reads it: the empty option never comes.
        let otherwise = self.unreachable(&types, "an empty place on the tape", span);
        let arms = vec![Arm { tag: 1, binders: contents, body: Block { statements: Vec::new(), results } }];
        self.context.b.push(Op::Match { scrutinee: option, arms, otherwise: Some(otherwise) }, types, span)
    }

    /// A block with results of these types that fails if it is ever reached.
    pub(super) fn unreachable(&mut self, types: &[Type], what: &str, span: Span) -> Block {
        let message = vec![chadwick_core::MessagePart::Text(what.to_owned())];
        let fail = Statement { binders: Vec::new(), op: Op::Assert { condition: Atom::bool(false), message }, span };
        self.context.b.push_block();
        self.context.push_statement(fail);
        let values = types.iter().map(|ty| self.impossible(ty, span)).collect();
        self.context.b.pop_block(values)
    }

    /// Some value of a type, for a place that is never reached: an endless loop would be one, a call of itself is another.
    fn impossible(&mut self, ty: &Type, span: Span) -> Atom {
        if has_default(ty) {
            return self.default_value(ty, span);
        }
        let function = self.context.reserve(Name::from("impossible"), Vec::new(), vec![ty.clone()], span);
        let binder = self.context.fresh("", ty.clone());
        let result = Atom::Var(binder.var);
        let op = Op::Call { function, args: Vec::new() };
        let body = Block { statements: vec![Statement { binders: vec![binder], op: op.clone(), span }], results: vec![result] };
        self.context.b.program_mut().functions[function.0 as usize].body = body;
        self.context.b.push(op, vec![ty.clone()], span).into_iter().next().unwrap_or(Atom::i64(0))
    }

    // --------------------------------------------------------------------------------------------------------------- loops

    /// The dual of a loop runs backwards over what the forward loop recorded; it carries the cotangents of the state and of the variables
    /// from outside.
    pub(super) fn loop_statement(
        &mut self,
        statement: &Statement,
        parts: &Loop,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let carry_count = parts.carry.len();
        let emit_start = statement.binders.len() - parts.emits.len();
        let active_carry: Vec<usize> = (0..carry_count).filter(|at| self.is_active(&Atom::Var(parts.carry[*at].var))).collect();
        let outside: Vec<Var> = free_variables(&parts.body)
            .into_iter()
            .filter(|var| self.is_active(&Atom::Var(*var)) && !parts.carry.iter().any(|carry| carry.var == *var))
            .filter(|var| !matches!(cotangents.get(var), Some(Cotangent::Handle(..))))
            .collect();

        // The state of the dual loop and where it starts.
        let mut initial = Vec::new();
        for at in &active_carry {
            initial.push(match &incoming[*at] {
                Some(value) => value.clone(),
                None => self.zero(statement.binders[*at].var, span),
            });
        }
        for var in &outside {
            initial.push(self.value_or_zero(cotangents, *var, span));
        }
        let carry: Vec<Binder> = initial
            .iter()
            .map(|atom| {
                let ty = any_sizes(&self.context.type_of(atom));
                self.context.fresh("ct", ty)
            })
            .collect();
        let (state, outer) = carry.split_at(active_carry.len());

        // The dual of the body, for the iteration in `position`.
        let position = self.context.fresh("k", Type::I64);
        let mut own = cotangents.clone();
        for (var, binder) in outside.iter().zip(outer) {
            own.insert(*var, Cotangent::Value(Atom::Var(binder.var)));
        }
        self.context.b.push_block();
        for (at, binder) in active_carry.iter().zip(state) {
            self.add(&mut own, &parts.body.results[*at], Atom::Var(binder.var), span);
        }
        for (emitted, incoming) in parts.body.results[carry_count..].iter().zip(&incoming[emit_start..]) {
            if let Some(incoming) = incoming {
                let op = Op::Index { array: incoming.clone(), indices: vec![Atom::Var(position.var)] };
                let part = self.context.emit_one(op, span);
                self.add(&mut own, emitted, part, span);
            }
        }
        let mut params: Vec<Var> = parts.carry.iter().map(|binder| binder.var).collect();
        if let LoopForm::For { index, .. } = &parts.form {
            params.push(index.var);
        }
        self.context.makings.loop_state(parts);
        let forward = self.split_repeated(&parts.body, &params, &mut own);
        let mut next: Vec<Atom> = active_carry.iter().map(|at| self.take_or_zero(&mut own, parts.carry[*at].var, span)).collect();
        for var in &outside {
            next.push(self.value_or_zero(&own, *var, span));
        }
        let dual = self.context.b.pop_block(next);
        let forward = self.place_sizes(forward, &params);

        // What the forward loop records.
        let given: Vec<Var> = match &parts.form {
            LoopForm::For { index, .. } => vec![index.var],
            LoopForm::While { .. } => Vec::new(),
        };
        let needs = self.needs(&forward, &dual, &params, &given);
        let carried = parts.carry.iter().map(|binder| binder.var).zip(parts.body.results.iter().cloned());
        let moving: Vec<(Var, Atom)> = carried.chain(given.iter().map(|index| (*index, Atom::Var(*index)))).collect();
        let kept = self.keep(&needs.saved, forward, &moving, span);
        let body_results =
            [parts.body.results[..carry_count].to_vec(), parts.body.results[carry_count..].to_vec(), kept.values.clone()]
                .concat();
        let emits = [parts.emits.clone(), kept.inner.clone()].concat();
        let body = Block { statements: kept.forward, results: body_results };
        let forward_loop = Loop {
            carry: parts.carry.clone(),
            initial: parts.initial.clone(),
            form: parts.form.clone(),
            body,
            emits,
            counted: parts.counted || matches!(parts.form, LoopForm::While { .. }),
            hints: LoopHints { stripmine: None, ..parts.hints.clone() },
        };
        let tapes: Vec<Binder> = kept.types.iter().map(|ty| self.context.fresh("tape", with_axis(ty))).collect();
        let (carry_binders, rest) = statement.binders.split_at(carry_count);
        let (count_binders, emit_binders) = rest.split_at(emit_start - carry_count);
        // A bound tells the number of iterations; a condition has to be counted.
        let mut count_binders = count_binders.to_vec();
        let count = match &parts.form {
            LoopForm::For { index, bound } => match index.ty.as_prim() {
                Some(Prim::I64) | None => bound.clone(),
                Some(from) => self.context.prim(PrimOp::Convert { from, to: Prim::I64 }, vec![bound.clone()], span),
            },
            LoopForm::While { .. } => {
                if count_binders.is_empty() {
                    count_binders.push(self.context.fresh("trips", Type::I64));
                }
                Atom::Var(count_binders[0].var)
            }
        };
        if let (LoopForm::While { .. }, Some(bound)) = (&parts.form, parts.hints.bound) {
            self.check_bound(&count, bound, span);
        }
        let binders = [carry_binders.to_vec(), count_binders, emit_binders.to_vec(), tapes.clone()].concat();

        // The dual loop: step `j` is iteration `count - 1 - j`.
        let step = self.context.fresh("j", Type::I64);
        self.context.b.push_block();
        let last = self.context.i64_op(BinaryOp::Sub, count.clone(), Atom::i64(1), span);
        let at = self.context.i64_op(BinaryOp::Sub, last, Atom::Var(step.var), span);
        let mut replace = vec![(position.var, at.clone())];
        if let LoopForm::For { index, .. } = &parts.form {
            let original = match index.ty.as_prim() {
                Some(Prim::I64) | None => at.clone(),
                Some(to) => self.context.prim(PrimOp::Convert { from: Prim::I64, to }, vec![at.clone()], span),
            };
            replace.push((index.var, original));
        }
        for ((var, tape), is_boxed) in needs.saved.iter().zip(&tapes).zip(&kept.boxed) {
            let value = self.context.emit_one(Op::Index { array: Atom::Var(tape.var), indices: vec![at.clone()] }, span);
            replace.push((*var, if *is_boxed { self.unbox(value, *var, span) } else { value }));
        }
        let whole = Block { statements: [needs.again, dual.statements].concat(), results: dual.results };
        let copy = self.context.copy_block(&whole, replace);
        copy.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
        let body = self.context.b.pop_block(copy.results);
        let dual_loop = Loop {
            carry: carry.clone(),
            initial,
            form: LoopForm::For { index: step, bound: count },
            body,
            emits: Vec::new(),
            counted: false,
            hints: LoopHints::default(),
        };
        let types = carry.iter().map(|binder| binder.ty.clone()).collect();
        let results = self.context.b.push(Op::Loop(Box::new(dual_loop)), types, span);
        for (var, result) in outside.iter().zip(&results[active_carry.len()..]) {
            cotangents.insert(*var, Cotangent::Value(result.clone()));
        }
        for (at, result) in active_carry.iter().zip(&results) {
            self.add(cotangents, &parts.initial[*at], result.clone(), span);
        }
        Statement { binders, op: Op::Loop(Box::new(forward_loop)), span }
    }

    /// How kept values of a body are recorded: arrays of varying shape go into boxes. `moving` are the variables that each iteration has its
    /// own of, with what they are in the next: the state, and indices, which are nothing else's.
    pub(super) fn keep(&mut self, saved: &[Var], forward: Vec<Statement>, moving: &[(Var, Atom)], span: Span) -> Kept {
        let mut kept = Kept { forward: Vec::new(), values: Vec::new(), types: Vec::new(), inner: Vec::new(), boxed: Vec::new() };
        let regular: Vec<bool> = saved.iter().map(|var| self.is_regular(*var, &forward, moving, &mut Vec::new())).collect();
        let inside: FxHashSet<Var> = forward
            .iter()
            .flat_map(|statement| &statement.binders)
            .map(|binder| binder.var)
            .chain(moving.iter().map(|(var, _)| *var))
            .collect();
        self.context.b.push_block();
        forward.into_iter().for_each(|statement| self.context.push_statement(statement));
        for (var, regular) in saved.iter().zip(regular) {
            let ty = self.context.var_type(*var);
            let is_array = ty.rank() > 0;
            if is_array && !regular {
                let ty = boxed(any_sizes(&ty));
                let value = self.context.construct(&ty, 0, vec![Atom::Var(*var)], span).into_iter().next();
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
                kept.types.push(any_sizes(&ty));
                kept.boxed.push(false);
            }
        }
        kept.forward = self.context.b.pop_block(Vec::new()).statements;
        kept
    }

    pub(super) fn unbox(&mut self, value: Atom, var: Var, span: Span) -> Atom {
        let ty = any_sizes(&self.context.var_type(var));
        let content = self.context.fresh("", ty.clone());
        let body = Block { statements: Vec::new(), results: vec![Atom::Var(content.var)] };
        let arms = vec![Arm { tag: 0, binders: vec![content], body }];
        let op = Op::Match { scrutinee: value, arms, otherwise: None };
        self.context.b.push(op, vec![ty], span).into_iter().next().unwrap_or(Atom::i64(0))
    }

    // ------------------------------------------------------------------------------------------- parallel pairs, recomputation

    /// Both parts give what their duals need; the duals follow one another.
    pub(super) fn par(
        &mut self,
        statement: &Statement,
        left: &Block,
        right: &Block,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let (left_incoming, right_incoming) = incoming.split_at(left.results.len().min(incoming.len()));
        let (left_block, left_tapes) = self.part_of_pair(left, left_incoming, cotangents, span);
        let (right_block, right_tapes) = self.part_of_pair(right, right_incoming, cotangents, span);
        let (left_binders, right_binders) = statement.binders.split_at(left.results.len().min(statement.binders.len()));
        let binders = [left_binders.to_vec(), left_tapes, right_binders.to_vec(), right_tapes].concat();
        Statement { binders, op: Op::Par { left: left_block, right: right_block }, span }
    }

    pub(super) fn part_of_pair(
        &mut self,
        block: &Block,
        incoming: &[Option<Atom>],
        cotangents: &mut Cotangents,
        span: Span,
    ) -> (Block, Vec<Binder>) {
        self.context.b.push_block();
        for (result, incoming) in block.results.iter().zip(incoming) {
            if let Some(incoming) = incoming {
                self.add(cotangents, result, incoming.clone(), span);
            }
        }
        let forward = self.split(block, &[], cotangents);
        let dual = self.context.b.pop_block(Vec::new());
        let needs = self.needs(&forward, &dual, &[], &[]);
        let tapes: Vec<Binder> = needs.saved.iter().map(|var| self.context.fresh("tape", self.context.var_type(*var))).collect();
        let replace: Vec<(Var, Atom)> = needs.saved.iter().zip(&tapes).map(|(var, tape)| (*var, Atom::Var(tape.var))).collect();
        let whole = Block { statements: [needs.again.clone(), dual.statements].concat(), results: Vec::new() };
        let (copy, names) = self.context.copy_block_with(&whole, replace);
        copy.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
        for cotangent in cotangents.values_mut() {
            if let Cotangent::Value(Atom::Var(var)) = cotangent
                && let Some(renamed) = names.get(var)
            {
                *cotangent = Cotangent::Value(renamed.clone());
            }
        }
        let results = [block.results.clone(), needs.saved.iter().map(|var| Atom::Var(*var)).collect()].concat();
        (Block { statements: forward, results }, tapes)
    }

    /// The dual runs the block again and keeps nothing of it.
    pub(super) fn recompute(
        &mut self,
        statement: &Statement,
        block: &Block,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        self.context.note(span, NoteKind::RecomputeWished);
        let (copy, names) = self.context.copy_block_with(block, []);
        // The copy's variables are active where the original's are.
        for (old, new) in names {
            if let (true, Atom::Var(new)) = (self.active.contains(&old), new) {
                self.active.insert(new);
            }
        }
        self.context.b.push_block();
        for (result, incoming) in copy.results.iter().zip(incoming) {
            if let Some(incoming) = incoming {
                self.add(cotangents, result, incoming, span);
            }
        }
        let forward = self.split(&copy, &[], cotangents);
        let dual = self.context.b.pop_block(Vec::new());
        forward.into_iter().for_each(|statement| self.context.push_statement(statement));
        dual.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
        statement.clone()
    }
}

/// Recorded values of a body.
pub(super) struct Kept {
    pub forward: Vec<Statement>,
    pub values: Vec<Atom>,
    pub types: Vec<Type>,
    pub inner: Vec<Vec<Size>>,
    pub boxed: Vec<bool>,
}

/// The type without what it knows of sizes.
pub(super) fn any_sizes(ty: &Type) -> Type {
    match ty {
        Type::Array(array) => {
            Type::Array(chadwick_core::ArrayType { element: array.element.clone(), dims: vec![Dim::Any; array.dims.len()] })
        }
        other => other.clone(),
    }
}

fn option_of(types: Vec<Type>) -> Type {
    let constructors = [("none", Vec::new()), ("some", types)];
    Type::Sum(Rc::from(constructors.map(|(name, payload)| Constructor { name: Name::from(name), payload })))
}

/// The conditional with other blocks.
fn rebuilt(op: &Op, branches: &[Branch], blocks: Vec<Block>) -> Op {
    match op {
        Op::If { condition, .. } => {
            let mut blocks = blocks.into_iter();
            let (then, otherwise) = (blocks.next().unwrap_or_default(), blocks.next().unwrap_or_default());
            Op::If { condition: condition.clone(), then, otherwise }
        }
        Op::Match { scrutinee, .. } => {
            let mut arms = Vec::new();
            let mut otherwise = None;
            for (branch, body) in branches.iter().zip(blocks) {
                match branch.tag {
                    Some(tag) => arms.push(Arm { tag, binders: branch.binders.clone(), body }),
                    None => otherwise = Some(body),
                }
            }
            Op::Match { scrutinee: scrutinee.clone(), arms, otherwise }
        }
        other => other.clone(),
    }
}
