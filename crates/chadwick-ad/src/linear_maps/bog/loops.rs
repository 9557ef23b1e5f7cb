//! `nTimes`: the record of a loop has an array for each part of its body's, and the reverse pass reads them from the last to the first (Ellis et
//! al., section 9).

use super::{Bog, Cotangent, Cotangents, stored};
use chadwick_core::{Atom, Axis, BinaryOp, Binder, Block, Dim, Loop, LoopForm, LoopHints, Op, Statement, Type, Var};
use chadwick_source::Span;
use std::rc::Rc;

/// The variables that a loop binds for its body.
fn own_variables(parts: &Loop) -> Vec<Var> {
    let index = match &parts.form {
        LoopForm::For { index, .. } => Some(index.var),
        LoopForm::While { .. } => None,
    };
    parts.carry.iter().map(|binder| binder.var).chain(index).collect()
}

impl Bog<'_, '_> {
    /// How often it ran; the records of all runs, each with what zeros of its state have to know; the same for the last state and
    /// for what the body captures.
    pub(super) fn loop_layout(&mut self, parts: &Loop) -> Option<Vec<Type>> {
        let states = self.state_layout(parts);
        let mut each = Vec::new();
        self.layout(&parts.body, &mut each)?;
        let each = each.into_iter().chain(states.clone()).map(|ty| stored(ty).array([Dim::Any]));
        let mut types: Vec<Type> = std::iter::once(Type::I64).chain(each).chain(states).collect();
        for var in self.captured_by(&own_variables(parts), &parts.body) {
            types.extend(self.zero_layout(&self.context.var_type(var)));
        }
        Some(types)
    }

    fn state_layout(&self, parts: &Loop) -> Vec<Type> {
        parts.carry.iter().flat_map(|binder| self.zero_layout(&binder.ty)).collect()
    }

    pub(super) fn forward_loop(&mut self, statement: &Statement, parts: &Loop, record: &mut Vec<Atom>) -> Option<()> {
        let span = statement.span;
        let own: Vec<Var> = parts.carry.iter().map(|binder| binder.var).collect();
        let (body, arrays) = self.forward_body(1, &parts.body, &own, span)?;
        let mut binders = statement.binders.clone();
        let counted = parts.carry.len();
        if !parts.counted {
            let count = self.context.fresh("count", Type::I64);
            binders.insert(counted.min(binders.len()), count);
        }
        let count = Atom::Var(binders.get(counted)?.var);
        binders.extend(arrays.iter().cloned());
        let emits = parts.emits.iter().cloned().chain(arrays.iter().map(|_| Vec::new())).collect();
        let whole = Loop { body, emits, counted: true, ..parts.clone() };
        self.context.push_statement(Statement { binders, op: Op::Loop(Box::new(whole)), span });
        record.push(count);
        record.extend(arrays.iter().map(|array| Atom::Var(array.var)));
        for binder in statement.binders.iter().take(counted) {
            record.extend(self.zero_values(&Atom::Var(binder.var), span));
        }
        for var in self.captured_by(&own_variables(parts), &parts.body) {
            record.extend(self.zero_values(&Atom::Var(var), span));
        }
        Some(())
    }

    pub(super) fn reverse_loop(
        &mut self,
        parts: &Loop,
        incoming: Vec<Option<Atom>>,
        record: Vec<Atom>,
        cotangents: &mut Cotangents,
        span: Span,
    ) -> Option<()> {
        let in_states = self.state_layout(parts).len();
        let in_body = self.layout_size(&parts.body)? + in_states;
        let mut record = record.into_iter();
        let count = record.next()?;
        let arrays: Vec<Atom> = record.by_ref().take(in_body).collect();
        let mut sizes: Vec<Atom> = record.by_ref().take(in_states).collect();
        let known = record.collect();
        let (mut own, opened) = self.opened(&own_variables(parts), &parts.body, known, cotangents, span);

        let active: Vec<usize> = (0..parts.carry.len()).filter(|at| self.context.carries(&parts.carry[*at].ty)).collect();
        let mut initial = Vec::new();
        for (binder, last) in parts.carry.iter().zip(&incoming) {
            let rest = sizes.split_off(self.zero_layout(&binder.ty).len().min(sizes.len()));
            if self.context.carries(&binder.ty) {
                initial.push(last.clone().unwrap_or_else(|| self.zero(&binder.ty, &sizes, span)));
            }
            sizes = rest;
        }
        let carry: Vec<Binder> = active.iter().map(|at| self.context.fresh("d", parts.carry[*at].ty.any_sizes())).collect();
        let emitted = incoming.split_at(incoming.len() - parts.emits.len().min(incoming.len())).1.to_vec();

        let index = self.context.fresh("i", Type::I64);
        self.context.b.push_block();
        let last = self.context.i64_op(BinaryOp::Sub, count.clone(), Atom::i64(1), span);
        let at = self.context.i64_op(BinaryOp::Sub, last, Atom::Var(index.var), span);
        let mut part = Vec::new();
        for array in arrays {
            let value = self.context.emit_one(Op::Index { array, indices: vec![at.clone()] }, span);
            part.push(self.unstored(value, span));
        }
        let mut known = part.split_off(in_body - in_states);
        let (states, emits) = parts.body.results.split_at(parts.carry.len().min(parts.body.results.len()));
        for (place, binder) in active.iter().zip(&carry) {
            self.bind(&mut own, states.get(*place)?, Atom::Var(binder.var), span);
        }
        for (result, whole) in emits.iter().zip(emitted) {
            if let Some(array) = whole {
                let value = self.context.emit_one(Op::Index { array, indices: vec![at.clone()] }, span);
                self.bind(&mut own, result, value, span);
            }
        }
        self.reverse(&parts.body, part, &mut own)?;
        let mut results = Vec::new();
        for binder in &parts.carry {
            let rest = known.split_off(self.zero_layout(&binder.ty).len().min(known.len()));
            if self.context.carries(&binder.ty) {
                results.push(self.taken(&mut own, binder.var, &known, span));
            }
            known = rest;
        }
        let body = self.context.b.pop_block(results);
        let types: Vec<Type> = carry.iter().map(|binder| binder.ty.clone()).collect();
        let form = LoopForm::For { index, bound: count };
        let hints = LoopHints::default();
        let back = Op::Loop(Box::new(Loop { carry, initial, form, body, emits: Vec::new(), counted: false, hints }));
        let firsts = self.within(opened, back, types, cotangents, span);
        for (place, first) in active.iter().zip(firsts) {
            self.bind(cotangents, parts.initial.get(*place)?, first, span);
        }
        Some(())
    }

    /// Accumulators for what a body captures, unless it has one already; what the sizes are for is in the order of the layout.
    pub(super) fn opened(
        &mut self,
        own_variables: &[Var],
        body: &Block,
        mut sizes: Vec<Atom>,
        cotangents: &Cotangents,
        span: Span,
    ) -> (Cotangents, Vec<Opened>) {
        let (mut own, mut opened) = (Cotangents::default(), Vec::new());
        for var in self.captured_by(own_variables, body) {
            let ty = self.context.var_type(var).any_sizes();
            let rest = sizes.split_off(self.zero_layout(&ty).len().min(sizes.len()));
            match cotangents.get(&var) {
                Some(handle @ Cotangent::Handle(_)) => {
                    own.insert(var, handle.clone());
                }
                _ => {
                    let zero = self.zero(&ty, &sizes, span);
                    let handle = self.context.fresh("d", Type::Accumulator(Rc::new(ty)));
                    own.insert(var, Cotangent::Handle(Atom::Var(handle.var)));
                    opened.push(Opened { var, handle, zero });
                }
            }
            sizes = rest;
        }
        (own, opened)
    }

    /// Emits an operation inside accumulators, whose values are bound then; returns its results.
    pub(super) fn within(
        &mut self,
        opened: Vec<Opened>,
        op: Op,
        types: Vec<Type>,
        cotangents: &mut Cotangents,
        span: Span,
    ) -> Vec<Atom> {
        if opened.is_empty() {
            return self.context.b.push(op, types, span);
        }
        self.context.b.push_block();
        let results = self.context.b.push(op, types.clone(), span);
        let body = self.context.b.pop_block(results);
        let finals = opened.iter().map(|one| self.context.var_type(one.var).any_sizes());
        let types = finals.chain(types).collect();
        let init = opened.iter().map(|one| one.zero.clone()).collect();
        let handles = opened.iter().map(|one| one.handle.clone()).collect();
        let mut finals = self.context.b.push(Op::WithAccumulators { handles, init, body }, types, span);
        let results = finals.split_off(opened.len().min(finals.len()));
        for (one, last) in opened.iter().zip(finals) {
            self.bind(cotangents, &Atom::Var(one.var), last, span);
        }
        results
    }

    /// The space of a family whose sizes are these.
    pub(super) fn axes(&mut self, sizes: Vec<Atom>) -> Vec<Axis> {
        sizes.into_iter().map(|size| Axis { var: self.context.fresh("i", Type::I64).var, size }).collect()
    }
}

/// An accumulator for the cotangent of a variable.
pub(super) struct Opened {
    var: Var,
    handle: Binder,
    zero: Atom,
}
