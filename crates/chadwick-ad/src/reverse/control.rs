//! Duals of conditionals, matches, loops, parallel pairs and recomputed blocks.

use super::{Cotangent, Cotangents, LastBranch, LastBranches, Reverse, Tail};
use crate::report::NoteKind;
use crate::shapes::Moving;
use crate::tape::Needs;
use chadwick_core::visit::free_variables;
use chadwick_core::{Arm, Atom, BinaryOp, Binder, Block, Loop, LoopForm, LoopHints, Op, PathStep, Statement, Type, Var};
use chadwick_source::Span;

/// One branch after the split.
struct Branch {
    tag: Option<u32>,
    binders: Vec<Binder>,
    forward: Vec<Statement>,
    results: Vec<Atom>,
    dual: Vec<Statement>,
    cotangents: Cotangents,
    /// Arrays that are being undone, as they were.
    arrays: Vec<Atom>,
}

/// A dual as a block of its own: it gives cotangents of these variables.
struct Dual {
    vars: Vec<Var>,
    block: Block,
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
        let undone = self.undone_choices(statement);
        let names = self.restored_names();
        let mut branches: Vec<Branch> = sources
            .into_iter()
            .map(|(tag, binders, block)| {
                for (at, _) in &undone {
                    self.restore(&block.results[*at], self.last_state(statement.binders[*at].var));
                }
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
                let arrays: Vec<Atom> = undone.iter().map(|(_, before)| self.last_state(*before)).collect();
                let mut dual = self.context.b.pop_block(Vec::new());
                self.read_restored(&mut dual, &names);
                self.read_settled(block, &mut dual, span);
                Branch { tag, binders, forward, results: block.results.clone(), dual: dual.statements, cotangents: own, arrays }
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
            results.append(&mut branch.arrays);
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
                let given: Vec<Var> = branch.binders.iter().map(|binder| binder.var).collect();
                // An array that the branch changes is not at hand as it was before.
                let bound: Vec<Var> = given.iter().copied().chain(undone.iter().map(|(_, before)| *before)).collect();
                // The payload is at hand in the dual, which matches the same value again.
                self.context.needs(&branch.forward, dual, &bound, &given)
            })
            .collect();
        let slots = self.context.slots(&needs);
        if matches!((&self.tail, statement.binders.first()), (Tail::Wanted(last), Some(first)) if *last == first.var) {
            let parts = branches.iter().zip(&needs).zip(&duals).map(|((branch, needs), dual)| LastBranch {
                binders: branch.binders.clone(),
                forward: branch.forward.clone(),
                results: branch.results.clone(),
                needs: needs.clone(),
                dual: dual.clone(),
            });
            let slots = slots.iter().map(|slot| slot.binder.var).collect();
            self.tail = Tail::Found(Box::new(LastBranches { slots, branches: parts.collect() }));
        }

        // The forward statement fills the slots.
        let blocks: Vec<Block> = branches
            .iter()
            .zip(&needs)
            .map(|(branch, needs)| self.context.filled(&branch.forward, &branch.results, needs, &slots, span))
            .collect();
        let binders = [statement.binders.clone(), slots.iter().map(|slot| slot.binder.clone()).collect()].concat();
        let forward = rebuilt(&statement.op, &branches, blocks);

        // The dual statement reads them.
        let dual_blocks: Vec<(Vec<Binder>, Block)> = branches
            .iter()
            .zip(duals)
            .zip(&needs)
            .map(|((branch, dual), needs)| self.context.emptied(&branch.binders, dual, needs, &slots, span))
            .collect();
        let mut types: Vec<Type> = touched.iter().map(|var| self.cotangent_type(*var)).collect();
        if let Some(scrutinee) = &scrutinee {
            let ty = self.context.type_of(scrutinee);
            types.push(self.context.cotangent_type(&ty));
        }
        types.extend(undone.iter().map(|(_, before)| self.context.var_type(*before).any_sizes()));
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
        for ((_, before), result) in undone.iter().zip(&results[results.len() - undone.len()..]) {
            self.restore(&Atom::Var(*before), result.clone());
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
    pub(crate) fn open_payload(&mut self, sofar: &Cotangent, tag: u32, binders: &[Binder], own: &mut Cotangents, span: Span) {
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
        let parts: Vec<Binder> = binders.iter().map(|binder| self.fresh_cotangent("ct", &binder.ty.any_sizes())).collect();
        let results = parts.iter().map(|part| Atom::Var(part.var)).collect();
        let types = parts.iter().map(|part| part.ty.clone()).collect();
        let vars: Vec<Var> = binders.iter().map(|binder| binder.var).collect();
        let otherwise =
            self.context.block(|context| vars.iter().map(|var| context.zero_cotangent(&Atom::Var(*var), span)).collect());
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
        let ty = self.context.cotangent_type(&self.context.type_of(scrutinee));
        // A zero of a recursive type needs no constructor.
        let can_be_absent = whole.is_some() || self.context.zero_tag(&ty).is_some();
        let (Some(tag), true) = (branch.tag, !can_be_absent || payload.iter().any(Option::is_some)) else {
            return whole.unwrap_or_else(|| self.context.zero_cotangent(scrutinee, span));
        };
        let payload = payload
            .into_iter()
            .zip(&branch.binders)
            .map(|(value, binder)| {
                value.unwrap_or_else(|| {
                    if binder.ty.rank() > 0 && self.context.makings.is_dear_zero(binder.var) {
                        self.context.note(span, NoteKind::DenseZero);
                    }
                    self.context.zero_cotangent(&Atom::Var(binder.var), span)
                })
            })
            .collect();
        let part = self.context.construct(&ty, tag, payload, span).into_iter().next().unwrap_or(Atom::i64(0));
        match whole {
            Some(whole) => self.context.sum(whole, part, span),
            None => part,
        }
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
        let undone = self.undone(statement, parts);
        self.find_settled(statement, parts, &undone);
        initial.extend(undone.iter().map(|at| self.last_state(statement.binders[*at].var)));
        let carry: Vec<Binder> = initial
            .iter()
            .enumerate()
            .map(|(at, atom)| {
                let ty = self.context.type_of(atom).any_sizes();
                self.context.fresh(if at < active_carry.len() + outside.len() { "ct" } else { "as_it_was" }, ty)
            })
            .collect();
        let (state, rest) = carry.split_at(active_carry.len());
        let (outer, arrays) = rest.split_at(outside.len());

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
        self.context.note_state_shapes(parts);
        let names = self.restored_names();
        for (at, array) in undone.iter().zip(arrays) {
            self.restore(&parts.body.results[*at], Atom::Var(array.var));
        }
        let forward = self.split_repeated(&parts.body, &params, &mut own);
        let mut next: Vec<Atom> = active_carry.iter().map(|at| self.take_or_zero(&mut own, parts.carry[*at].var, span)).collect();
        for var in &outside {
            next.push(self.value_or_zero(&own, *var, span));
        }
        next.extend(undone.iter().map(|at| self.last_state(parts.carry[*at].var)));
        let mut dual = self.context.b.pop_block(next);
        self.read_restored(&mut dual, &names);
        self.read_settled(&parts.body, &mut dual, span);
        let mut forward = self.place_sizes(forward, &params);

        // What the forward loop records.
        let given: Vec<Var> = match &parts.form {
            LoopForm::For { index, .. } => vec![index.var],
            LoopForm::While { .. } => Vec::new(),
        };
        let needs = self.context.needs_of_iteration(&mut forward, &mut dual, &params, &given, span);
        let kept = self.context.keep(&needs.saved, forward, &Moving::all_of(parts), span);
        let (forward_statement, tapes, count) = self.context.recording_loop(statement, parts, &kept);
        if let (LoopForm::While { .. }, Some(bound)) = (&parts.form, parts.hints.bound) {
            self.check_bound(&count, bound, span);
        }

        // The dual loop: step `j` is iteration `count - 1 - j`.
        let step = self.context.fresh("j", Type::I64);
        self.context.b.push_block();
        let last = self.context.i64_op(BinaryOp::Sub, count.clone(), Atom::i64(1), span);
        let at = self.context.i64_op(BinaryOp::Sub, last, Atom::Var(step.var), span);
        let mut replace = vec![(position.var, at.clone())];
        replace.extend(self.context.index_at(parts, &at, span));
        replace.extend(self.context.read_tapes(&needs.saved, &tapes, &kept.boxed, std::slice::from_ref(&at), span));
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
        let arrays = &results[active_carry.len() + outside.len()..];
        for (at, array) in undone.iter().zip(arrays).filter(|(at, _)| names.contains(&statement.binders[**at].var)) {
            self.restore(&parts.initial[*at], array.clone());
        }
        forward_statement
    }

    // ------------------------------------------------------------------------------------------- parallel pairs, recomputation

    /// Both parts give what their duals need; so do the duals, if they can be a pair, too. Otherwise they follow one another.
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
        let both = [left_incoming, right_incoming].into_iter().all(|side| side.iter().any(Option::is_some));
        // In code that runs once, cotangents of their own cost no more than those that are there anyway.
        let runs_once = self.context.makings.runs_once() && self.parallel_depth == 0;
        let ((left_block, left_tapes), (right_block, right_tapes)) = if both && runs_once {
            let (left, left_dual) = self.part_with_dual(left, left_incoming, cotangents, span);
            let (right, right_dual) = self.part_with_dual(right, right_incoming, &Cotangents::default(), span);
            self.pair_of_duals(left_dual, right_dual, cotangents, span);
            (left, right)
        } else {
            let left = self.part_of_pair(left, left_incoming, cotangents, span);
            (left, self.part_of_pair(right, right_incoming, cotangents, span))
        };
        let (left_binders, right_binders) = statement.binders.split_at(left.results.len().min(statement.binders.len()));
        let binders = [left_binders.to_vec(), left_tapes, right_binders.to_vec(), right_tapes].concat();
        Statement { binders, op: Op::Par { left: left_block, right: right_block }, span }
    }

    /// The dual of the left part goes on from the cotangents so far, that of the right part starts from nothing.
    fn pair_of_duals(&mut self, left: Dual, right: Dual, cotangents: &mut Cotangents, span: Span) {
        let results = left.block.results.iter().chain(&right.block.results);
        let types = results.map(|result| self.context.type_of(result).any_sizes()).collect();
        let mut results = self.context.b.push(Op::Par { left: left.block, right: right.block }, types, span).into_iter();
        for (var, result) in left.vars.into_iter().zip(&mut results) {
            cotangents.insert(var, Cotangent::Value(result));
        }
        for (var, result) in right.vars.into_iter().zip(results) {
            self.add(cotangents, &Atom::Var(var), result, span);
        }
    }

    /// A part with its tapes, and its dual, which goes on from these cotangents.
    fn part_with_dual(
        &mut self,
        block: &Block,
        incoming: &[Option<Atom>],
        sofar: &Cotangents,
        span: Span,
    ) -> ((Block, Vec<Binder>), Dual) {
        let mut own = sofar.clone();
        self.context.b.push_block();
        let part = self.part_of_pair(block, incoming, &mut own, span);
        let is_new = |(var, cotangent): &(&Var, &Cotangent)| {
            sofar.get(var) != Some(*cotangent) && matches!(cotangent, Cotangent::Value(_))
        };
        let mut vars: Vec<Var> = own.iter().filter(is_new).map(|(var, _)| *var).collect();
        vars.sort_unstable();
        let results = vars.iter().map(|var| self.value_or_zero(&own, *var, span)).collect();
        (part, Dual { vars, block: self.context.b.pop_block(results) })
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
        let needs = self.context.needs(&forward, &dual, &[], &[]);
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
