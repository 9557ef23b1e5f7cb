//! Duals of primitive operations, constructors and views of arrays.

use super::{Cotangents, Reverse};
use crate::context::{Applied, Context};
use chadwick_core::{Arm, Atom, BinaryOp, Binder, Block, Const, Op, PrimOp, SliceDim, Statement, Type};
use chadwick_source::Span;

impl Reverse<'_, '_> {
    pub(super) fn prim(
        &mut self,
        statement: &Statement,
        op: PrimOp,
        args: &[Atom],
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) {
        let span = statement.span;
        let (Some(Some(incoming)), Some(binder)) = (incoming.into_iter().next(), statement.binders.first()) else { return };
        let applied = Applied { op, operands: args, result: &Atom::Var(binder.var) };
        // A square has two equal contributions. The factor goes to the cotangent, which may be the same for many squares.
        if let (PrimOp::Binary(BinaryOp::Mul, prim), [left, right]) = (op, args)
            && left == right
        {
            let two = Atom::Const(Const::from_i128(prim, 2));
            let twice = self.context.prim(PrimOp::Binary(BinaryOp::Scale, prim), vec![incoming, two], span);
            if let Some(contribution) = self.context.pass(&op.derivatives()[0], &twice, &applied, prim, span) {
                self.add(cotangents, left, contribution, span);
            }
            return;
        }
        for ((derivative, arg), operand) in op.derivatives().iter().zip(args).zip(op.operands()) {
            if !self.is_active(arg) {
                continue;
            }
            if let Some(contribution) = self.context.pass(derivative, &incoming, &applied, operand, span) {
                self.add(cotangents, arg, contribution, span);
            }
        }
    }

    /// The cotangent of a sum has the constructor of the value; its payload goes to the arguments.
    pub(super) fn construct(
        &mut self,
        args: &[Atom],
        tag: u32,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
        span: Span,
    ) {
        let Some(Some(incoming)) = incoming.into_iter().next() else { return };
        let active: Vec<usize> = (0..args.len()).filter(|at| self.is_active(&args[*at])).collect();
        if active.is_empty() {
            return;
        }
        let types: Vec<Type> = args.iter().map(|arg| self.context.type_of(arg)).collect();
        let binders: Vec<Binder> = types.iter().map(|ty| self.fresh_cotangent("", ty)).collect();
        let results = active.iter().map(|at| Atom::Var(binders[*at].var)).collect();
        let types = active.iter().map(|at| binders[*at].ty.clone()).collect();
        self.context.b.push_block();
        let zeros = active
            .iter()
            .map(|at| match &args[*at] {
                Atom::Var(var) => self.zero(*var, span),
                constant => constant.clone(),
            })
            .collect();
        let otherwise = self.context.b.pop_block(zeros);
        let arms = vec![Arm { tag, binders, body: Block { statements: Vec::new(), results } }];
        let op = Op::Match { scrutinee: incoming, arms, otherwise: Some(otherwise) };
        let payload = self.context.b.push(op, types, span);
        for (at, contribution) in active.iter().zip(payload) {
            self.add(cotangents, &args[*at], contribution, span);
        }
    }

    pub(super) fn view(&mut self, statement: &Statement, incoming: Vec<Option<Atom>>, cotangents: &mut Cotangents) {
        let span = statement.span;
        let Some(Some(incoming)) = incoming.into_iter().next() else { return };
        match &statement.op {
            Op::Index { array, indices } => {
                let dims: Vec<SliceDim> = indices.iter().cloned().map(SliceDim::Index).collect();
                self.add_at(cotangents, array, &dims, incoming, span);
            }
            Op::Slice { array, dims } => self.add_at(cotangents, array, dims, incoming, span),
            Op::Update { array, dims, value } => {
                if self.is_active(value) {
                    let part = self.part(&incoming, dims, span);
                    // The place is cleared next; a view of it would make that a copy of the whole.
                    let part = if self.is_active(array) { self.context.copied(part, span) } else { part };
                    self.add(cotangents, value, part, span);
                }
                if self.is_active(array) {
                    // What was overwritten has no influence.
                    let part = self.part(&incoming, dims, span);
                    // The zero has the structure of what stood there, which for a sum is not that of the new value.
                    let old = if Context::is_flat(&self.context.type_of(&part)) { part } else { self.part(array, dims, span) };
                    let zero = self.context.zero_cotangent(&old, span);
                    let op = Op::Update { array: incoming, dims: dims.clone(), value: zero };
                    let rest = self.context.emit_one(op, span);
                    self.add(cotangents, array, rest, span);
                }
            }
            Op::Transpose { array, permutation } => {
                let mut inverse = vec![0; permutation.len()];
                permutation.iter().enumerate().for_each(|(to, from)| inverse[*from] = to);
                let back = self.context.emit_one(Op::Transpose { array: incoming, permutation: inverse }, span);
                self.add(cotangents, array, back, span);
            }
            Op::Reshape { array, .. } => {
                let Atom::Var(source) = array else { return };
                if !self.is_active(array) {
                    return;
                }
                let dims = self.sizes_of(*source);
                let back = self.context.emit_one(Op::Reshape { array: incoming, dims }, span);
                self.add(cotangents, array, back, span);
            }
            Op::Concat { arrays } => {
                let mut start = Atom::i64(0);
                for array in arrays {
                    let Atom::Var(source) = array else { continue };
                    let count = self.size_of(*source, 0);
                    if self.is_active(array) {
                        let dims = vec![SliceDim::Range { start: start.clone(), count: count.clone(), stride: Atom::i64(1) }];
                        let part = self.context.emit_one(Op::Slice { array: incoming.clone(), dims }, span);
                        self.add(cotangents, array, part, span);
                    }
                    start = match start {
                        Atom::Const(Const::I64(0)) => count,
                        start => self.context.i64_op(chadwick_core::BinaryOp::Add, start, count, span),
                    };
                }
            }
            Op::ArrayLiteral { elements, .. } => {
                for (index, element) in elements.iter().enumerate() {
                    if self.is_active(element) {
                        let indices = vec![Atom::i64(index as i64)];
                        let part = self.context.emit_one(Op::Index { array: incoming.clone(), indices }, span);
                        self.add(cotangents, element, part, span);
                    }
                }
            }
            _ => {}
        }
    }

    /// A part of an array.
    pub(crate) fn part(&mut self, whole: &Atom, dims: &[SliceDim], span: Span) -> Atom {
        self.context.emit_one(Op::part(whole.clone(), dims.to_vec()), span)
    }
}
