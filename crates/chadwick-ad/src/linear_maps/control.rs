//! Reverse application to the maps of conditionals and loops.

use super::backward::{Backward, Flow};
use super::maps::{Branch, Branches, Chosen, Repeat};
use crate::reverse::{Cotangent, Cotangents};
use crate::shapes::Moving;
use crate::tape::Needs;
use chadwick_core::{Arm, Atom, BinaryOp, Binder, Block, Loop, LoopForm, LoopHints, Op, Statement, Type, Var};
use chadwick_source::Span;

/// A branch whose map has been applied.
struct Applied {
    forward: Vec<Statement>,
    dual: Vec<Statement>,
    cotangents: Cotangents,
}

impl Backward<'_, '_> {
    /// `r ⊙_R (if c then m else n) = if c then r ⊙_R m else r ⊙_R n`. What the chosen branch keeps goes through slots that all of them fill.
    pub(super) fn branches(&mut self, branches: &Branches, flow: Flow, cotangents: &mut Cotangents, span: Span) {
        let statement = self.forward.pop();
        let mut applied: Vec<Applied> = branches
            .branches
            .iter()
            .map(|branch| self.branch(branch, &branches.chosen, flow.clone(), cotangents.clone(), span))
            .collect();
        // Variables from outside to which some branch added a value.
        let mut touched: Vec<Var> = Vec::new();
        for (branch, applied) in branches.branches.iter().zip(&applied) {
            for (var, cotangent) in &applied.cotangents {
                let is_new = cotangents.get(var) != Some(cotangent) && matches!(cotangent, Cotangent::Value(_));
                if is_new && !branch.binders.iter().any(|binder| binder.var == *var) && !touched.contains(var) {
                    touched.push(*var);
                }
            }
        }
        touched.sort_unstable();
        let mut duals = Vec::new();
        for branch in &mut applied {
            self.context().b.push_block();
            std::mem::take(&mut branch.dual).into_iter().for_each(|statement| self.context().push_statement(statement));
            let results = touched.iter().map(|var| self.collector.value_or_zero(&branch.cotangents, *var, span)).collect();
            duals.push(self.context().b.pop_block(results));
        }
        for (source, branch) in branches.branches.iter().zip(&mut applied) {
            let params: Vec<Var> = source.binders.iter().map(|binder| binder.var).collect();
            branch.forward = self.collector.place_sizes(std::mem::take(&mut branch.forward), &params);
        }
        let mut needs: Vec<Needs> = Vec::new();
        for ((source, branch), dual) in branches.branches.iter().zip(&applied).zip(&duals) {
            let bound: Vec<Var> = source.binders.iter().map(|binder| binder.var).collect();
            needs.push(self.context().needs(&branch.forward, dual, &bound, &bound));
        }
        let slots = self.context().slots(&needs);
        let mut blocks = Vec::new();
        for ((source, branch), needs) in branches.branches.iter().zip(&applied).zip(&needs) {
            blocks.push(self.context().filled(&branch.forward, &source.body.results, needs, &slots, span));
        }
        if let Some(statement) = statement {
            let binders = [statement.binders, slots.iter().map(|slot| slot.binder.clone()).collect()].concat();
            let own = branches.branches.iter().map(|branch| branch.binders.clone()).collect();
            self.forward = vec![Statement { binders, op: chosen_op(branches, own, blocks), span }];
        }
        let (mut own, mut blocks) = (Vec::new(), Vec::new());
        for ((source, dual), needs) in branches.branches.iter().zip(duals).zip(&needs) {
            let (binders, block) = self.context().emptied(&source.binders, dual, needs, &slots, span);
            own.push(binders);
            blocks.push(block);
        }
        let types: Vec<Type> = touched.iter().map(|var| self.collector.cotangent_type(*var)).collect();
        let op = chosen_op(branches, own, blocks);
        let results = self.context().b.push(op, types, span);
        for (var, result) in touched.iter().zip(results) {
            cotangents.insert(*var, Cotangent::Value(result));
        }
    }

    fn branch(&mut self, branch: &Branch, chosen: &Chosen, flow: Flow, mut own: Cotangents, span: Span) -> Applied {
        let params: Vec<Var> = branch.binders.iter().map(|binder| binder.var).collect();
        self.context().b.push_block();
        if let (Chosen::Match(Atom::Var(var)), Some(tag), Some(_)) = (chosen, branch.tag, &branch.payload) {
            self.open_scrutinee(*var, tag, &branch.binders, &mut own, span);
        }
        let forward = self.block(&branch.body, &params, flow, &mut own, span);
        if let Some(payload) = &branch.payload {
            let fields = self.collector.take(&mut own, &branch.binders);
            let fields: Vec<Flow> = fields.into_iter().map(|field| field.map_or(Flow::Zero, Flow::Value)).collect();
            let outer = std::mem::take(&mut self.forward);
            self.push(payload, Flow::tuple(fields), &mut own, span);
            self.forward = outer;
        }
        let dual = self.context().b.pop_block(Vec::new()).statements;
        Applied { forward, dual, cotangents: own }
    }

    /// Where the matched value holds arrays, the cotangents of its fields start from what it has so far: adding to it must not cost all of it.
    fn open_scrutinee(&mut self, var: Var, tag: u32, fields: &[Binder], own: &mut Cotangents, span: Span) {
        let ty = self.context().var_type(var);
        let Some(sofar) = own.get(&var).cloned().filter(|_| self.collector.holds_arrays(&ty)) else { return };
        self.collector.open_payload(&sofar, tag, fields, own, span);
        if matches!(sofar, Cotangent::Value(_)) {
            own.remove(&var);
        }
    }

    /// `nTimes` and `RFold`. The forward loop keeps what each step needs, and the steps are applied backwards. The cotangents of
    /// variables from outside are part of the state, so that nothing is added up twice.
    pub(super) fn repeat(&mut self, repeat: &Repeat, flow: Flow, cotangents: &mut Cotangents, span: Span) {
        if repeat.commutes {
            return self.commuting(repeat, flow, cotangents, span);
        }
        let Some(statement) = self.forward.pop() else { return };
        let parts = &repeat.parts;
        let count = parts.carry.len();
        let incoming = flow.parts(statement.binders.len());
        let emit_start = statement.binders.len() - parts.emits.len();
        let active: Vec<usize> = (0..count).filter(|at| self.collector.is_active(&Atom::Var(parts.carry[*at].var))).collect();
        let own: Vec<Var> = parts.carry.iter().map(|binder| binder.var).collect();
        let is_value = |var: &Var| !own.contains(var) && !matches!(cotangents.get(var), Some(Cotangent::Handle(..)));
        let outside: Vec<Var> = repeat.body.free_maps().into_iter().filter(is_value).collect();

        let mut initial = Vec::new();
        for at in &active {
            initial.push(self.value_or_zero(incoming[*at].clone(), &Atom::Var(statement.binders[*at].var), span));
        }
        for var in &outside {
            initial.push(self.collector.value_or_zero(cotangents, *var, span));
        }
        let types: Vec<Type> = initial.iter().map(|atom| self.context().type_of(atom).any_sizes()).collect();
        let carry: Vec<Binder> = types.iter().map(|ty| self.context().fresh("ct", ty.clone())).collect();
        let (state, outer) = carry.split_at(active.len());

        // One step backwards, for the iteration in `position`.
        let position = self.context().fresh("k", Type::I64);
        let mut inner = cotangents.clone();
        for (var, binder) in outside.iter().zip(outer) {
            inner.insert(*var, Cotangent::Value(Atom::Var(binder.var)));
        }
        let mut step = vec![Flow::Zero; parts.body.results.len()];
        for (at, binder) in active.iter().zip(state) {
            step[*at] = Flow::Value(Atom::Var(binder.var));
        }
        for (at, incoming) in incoming[emit_start..].iter().enumerate() {
            step[count + at] = incoming.element(&[Atom::Var(position.var)]);
        }
        let mut params = own.clone();
        let mut given = Vec::new();
        if let LoopForm::For { index, .. } = &parts.form {
            params.push(index.var);
            given.push(index.var);
        }
        self.context().b.push_block();
        self.context().makings.loop_state(parts);
        self.context().note_state_shapes(parts);
        let forward = self.repeated(&repeat.body, &params, Flow::tuple(step), &mut inner, span);
        let mut next: Vec<Atom> =
            active.iter().map(|at| self.collector.take_or_zero(&mut inner, parts.carry[*at].var, span)).collect();
        for var in &outside {
            next.push(self.collector.value_or_zero(&inner, *var, span));
        }
        let mut dual = self.context().b.pop_block(next);
        let mut forward = self.collector.place_sizes(forward, &params);

        let needs = self.context().needs_of_iteration(&mut forward, &mut dual, &params, &given, span);
        let kept = self.context().keep(&needs.saved, forward, &Moving::all_of(parts), span);
        let (recording, tapes, trips) = self.context().recording_loop(&statement, parts, &kept);

        let step = self.context().fresh("j", Type::I64);
        self.context().b.push_block();
        let last = self.context().i64_op(BinaryOp::Sub, trips.clone(), Atom::i64(1), span);
        let at = self.context().i64_op(BinaryOp::Sub, last, Atom::Var(step.var), span);
        let mut replace = vec![(position.var, at.clone())];
        replace.extend(self.context().index_at(parts, &at, span));
        replace.extend(self.context().read_tapes(&needs.saved, &tapes, &kept.boxed, std::slice::from_ref(&at), span));
        let whole = Block { statements: [needs.again, dual.statements].concat(), results: dual.results };
        let copy = self.context().copy_block(&whole, replace);
        copy.statements.into_iter().for_each(|statement| self.context().push_statement(statement));
        let body = self.context().b.pop_block(copy.results);
        let backwards = Loop {
            carry,
            initial,
            form: LoopForm::For { index: step, bound: trips },
            body,
            emits: Vec::new(),
            counted: false,
            hints: LoopHints::default(),
        };
        let results = self.context().b.push(Op::Loop(Box::new(backwards)), types, span);
        for (var, result) in outside.iter().zip(&results[active.len()..]) {
            cotangents.insert(*var, Cotangent::Value(result.clone()));
        }
        for (at, result) in active.iter().zip(results) {
            self.push(&repeat.initial[*at], Flow::Value(result), cotangents, span);
        }
        self.forward = vec![recording];
    }

    /// `ccl`: the steps commute, so they are applied in the order of the loop, which runs again from its start. Nothing is kept.
    fn commuting(&mut self, repeat: &Repeat, flow: Flow, cotangents: &mut Cotangents, span: Span) {
        let Some(statement) = self.forward.pop() else { return };
        let parts = &repeat.parts;
        let count = parts.carry.len();
        let incoming = flow.parts(statement.binders.len());
        let active: Vec<usize> = (0..count).filter(|at| self.collector.is_active(&Atom::Var(parts.carry[*at].var))).collect();
        let mut initial = parts.initial.clone();
        for at in &active {
            initial.push(self.value_or_zero(incoming[*at].clone(), &Atom::Var(statement.binders[*at].var), span));
        }
        let types: Vec<Type> = initial.iter().map(|atom| self.context().type_of(atom).any_sizes()).collect();
        let state: Vec<Binder> = active.iter().map(|at| self.context().fresh("ct", types[*at].clone())).collect();
        let mut step = vec![Flow::Zero; parts.body.results.len()];
        active.iter().zip(&state).for_each(|(at, binder)| step[*at] = Flow::Value(Atom::Var(binder.var)));
        let mut params: Vec<Var> = parts.carry.iter().map(|binder| binder.var).collect();
        if let LoopForm::For { index, .. } = &parts.form {
            params.push(index.var);
        }
        let mut inner = Cotangents::default();
        self.context().b.push_block();
        let forward = self.repeated(&repeat.body, &params, Flow::tuple(step), &mut inner, span);
        let next: Vec<Atom> =
            active.iter().map(|at| self.collector.take_or_zero(&mut inner, parts.carry[*at].var, span)).collect();
        let dual = self.context().b.pop_block(Vec::new());
        let forward = self.collector.place_sizes(forward, &params);
        let whole = Block {
            statements: [forward, dual.statements].concat(),
            results: [parts.body.results[..count].to_vec(), next].concat(),
        };
        // The loop itself runs as it stands; this is another run of it, with binders of its own.
        let carry: Vec<Binder> = types[..count].iter().map(|ty| self.context().fresh("", ty.clone())).collect();
        let mut replace: Vec<(Var, Atom)> =
            parts.carry.iter().zip(&carry).map(|(old, new)| (old.var, Atom::Var(new.var))).collect();
        let mut form = parts.form.clone();
        if let LoopForm::For { index, .. } = &mut form {
            let fresh = self.context().fresh("i", index.ty.clone());
            replace.push((index.var, Atom::Var(fresh.var)));
            *index = fresh;
        }
        let body = self.context().copy_block(&whole, replace);
        let again = Loop {
            carry: [carry, state].concat(),
            initial,
            form,
            body,
            emits: Vec::new(),
            counted: false,
            hints: LoopHints::default(),
        };
        let results = self.context().b.push(Op::Loop(Box::new(again)), types, span);
        for (at, result) in active.iter().zip(&results[count..]) {
            self.push(&repeat.initial[*at], Flow::Value(result.clone()), cotangents, span);
        }
        self.forward = vec![statement];
    }
}

/// The conditional with these blocks.
pub(super) fn chosen_op(branches: &Branches, binders: Vec<Vec<Binder>>, blocks: Vec<Block>) -> Op {
    match &branches.chosen {
        Chosen::If(condition) => {
            let mut blocks = blocks.into_iter();
            let (then, otherwise) = (blocks.next().unwrap_or_default(), blocks.next().unwrap_or_default());
            Op::If { condition: condition.clone(), then, otherwise }
        }
        Chosen::Match(scrutinee) => {
            let (mut arms, mut otherwise) = (Vec::new(), None);
            for ((branch, binders), body) in branches.branches.iter().zip(binders).zip(blocks) {
                match branch.tag {
                    Some(tag) => arms.push(Arm { tag, binders, body }),
                    None => otherwise = Some(body),
                }
            }
            Op::Match { scrutinee: scrutinee.clone(), arms, otherwise }
        }
    }
}
