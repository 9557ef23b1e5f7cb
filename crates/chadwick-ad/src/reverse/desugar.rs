//! Array forms without a rule of their own become loops, whose rule is general: an operator is applied in order, a histogram or scatter
//! updates its destination in place, and the dual undoes it step by step. A long reduction or scan becomes a build of such loops, one for
//! each chunk, so that its dual runs in chunks too.

use super::Reverse;
use crate::report::NoteKind;
use crate::tape::any_sizes;
use chadwick_core::chunks::{Combination, Elements};
use chadwick_core::visit::op_free_variables;
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Lambda, Loop, LoopForm, LoopHints, Op, Prim, PrimOp, Size, SliceDim,
    Statement, Type, Var,
};
use chadwick_source::Span;

impl Reverse<'_, '_> {
    /// The statement as a loop, if it has no rule of its own. Only active statements are rewritten.
    pub(super) fn desugar(&mut self, statement: &Statement) -> Option<Vec<Statement>> {
        let span = statement.span;
        if !statement.binders.iter().any(|binder| self.is_active(&Atom::Var(binder.var))) {
            return None;
        }
        match &statement.op {
            Op::Loop(parts) => self.stripmined(statement, parts),
            Op::Reduce { space, op, neutral, body, .. } if !op.is_addition() => {
                let selection = self.selection(statement, space, op, neutral, body);
                selection.or_else(|| Some(self.combination(statement)))
            }
            Op::Scan { op, .. } if !op.is_addition() => Some(self.combination(statement)),
            Op::Hist { space, dest, rank, op, body, .. } if !op.is_addition() => {
                self.context.note(span, NoteKind::Sequential("histogram"));
                Some(self.writes(statement, space, dest, *rank, Some(op), body, span))
            }
            Op::Scatter { space, dest, rank, body } => {
                self.context.note(span, NoteKind::Sequential("scatter"));
                Some(self.writes(statement, space, dest, *rank, None, body, span))
            }
            _ => None,
        }
    }

    fn mark(&mut self, binder: &Binder) {
        if self.context.carries(&binder.ty) {
            self.active.insert(binder.var);
        }
    }

    /// A reduction or scan by a general operator. Chunks need a neutral element that stays as it is, and nothing gains by them where
    /// iterations around are independent already.
    fn combination(&mut self, statement: &Statement) -> Vec<Statement> {
        let span = statement.span;
        let Some(form) = Combination::of(&statement.op) else { return vec![statement.clone()] };
        let fixed = !form.neutral.iter().any(|neutral| self.is_active(neutral)) && !self.context.has_effects(&statement.op);
        if !fixed && self.parallel_depth == 0 {
            self.context.note(span, NoteKind::Sequential(if form.is_scan { "scan" } else { "reduction" }));
        }
        if !fixed || self.parallel_depth > 0 || form.is_small() {
            return self.fold(statement, &form);
        }
        let inputs: Vec<Var> =
            op_free_variables(&statement.op).into_iter().filter(|var| self.is_active(&Atom::Var(*var))).collect();
        let own: Vec<Binder> = statement.binders.iter().map(|binder| self.context.fresh("", any_sizes(&binder.ty))).collect();
        own.iter().for_each(|binder| self.mark(binder));
        let results = own.iter().map(|binder| Atom::Var(binder.var)).collect();
        let alone = Statement { binders: own, op: statement.op.clone(), span };
        let sequential = Block { statements: self.fold(&alone, &form), results };
        self.context.b.push_block();
        self.context.b.set_span(span);
        let made = form.in_chunks(&mut self.context.b, Elements::Stored, statement.binders.clone(), sequential);
        let block = self.context.b.pop_block(Vec::new());
        if let Err(problem) = made {
            self.context.untyped(&problem, span);
        }
        let active = self.context.active_variables(&block, inputs, true);
        self.active.extend(active);
        if !form.is_scan {
            for (binder, neutral) in statement.binders.iter().zip(form.neutral) {
                if let Atom::Var(neutral) = neutral
                    && let Some(shape) = self.context.shapes.get(neutral).cloned()
                {
                    self.context.shapes.insert(binder.var, shape);
                }
            }
        }
        block.statements
    }

    /// A reduction or scan in order: the state is combined with each element in turn.
    fn fold(&mut self, statement: &Statement, form: &Combination<'_>) -> Vec<Statement> {
        let Combination { space, op, neutral, body, is_scan } = *form;
        let span = statement.span;
        let mut statements = Vec::new();
        let (index, bound, start) = self.flat_index(space, &mut statements, span);
        let carry: Vec<Binder> = op.params[..neutral.len()].to_vec();
        // The operator's left parameters are the state, its right ones the element.
        let mut inner = start;
        inner.extend(body.statements.clone());
        for (param, element) in op.params[neutral.len()..].iter().zip(&body.results) {
            inner.push(Statement { binders: vec![param.clone()], op: Op::Copy(vec![element.clone()]), span });
            self.mark(param);
        }
        inner.extend(op.body.statements.clone());
        carry.iter().for_each(|binder| self.mark(binder));
        let carry: Vec<Binder> = carry.iter().map(|binder| Binder { var: binder.var, ty: any_sizes(&binder.ty) }).collect();
        carry.iter().for_each(|binder| self.context.b.declare(binder.var, binder.ty.clone()));
        let mut results = op.body.results.clone();
        let mut emits = Vec::new();
        let binders = if is_scan {
            results.extend(op.body.results.clone());
            emits = op.results.iter().map(|ty| vec![Size::FromValue; ty.rank()]).collect();
            // With no elements the shape comes from the neutral element.
            for (sizes, neutral) in emits.iter_mut().zip(neutral) {
                for (axis, size) in sizes.iter_mut().enumerate() {
                    let binder = self.context.fresh("n", Type::I64);
                    *size = Size::Known(Atom::Var(binder.var));
                    statements.push(Statement { binders: vec![binder], op: Op::Dim { array: neutral.clone(), axis }, span });
                }
            }
            let finals: Vec<Binder> = carry.iter().map(|binder| self.context.fresh("", binder.ty.clone())).collect();
            finals.iter().for_each(|binder| self.mark(binder));
            [finals, statement.binders.clone()].concat()
        } else {
            statement.binders.clone()
        };
        let body = Block { statements: inner, results };
        let form = LoopForm::For { index, bound };
        let parts = Loop { carry, initial: neutral.to_vec(), form, body, emits, counted: false, hints: LoopHints::default() };
        statements.push(Statement { binders, op: Op::Loop(Box::new(parts)), span });
        statements
    }

    /// A histogram or scatter: each write that is in range updates the destination.
    #[expect(clippy::too_many_arguments, reason = "the parts of one form")]
    fn writes(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        dest: &[Atom],
        rank: usize,
        op: Option<&Lambda>,
        body: &Block,
        span: Span,
    ) -> Vec<Statement> {
        let mut statements = Vec::new();
        let (index, bound, start) = self.flat_index(space, &mut statements, span);
        let carry: Vec<Binder> = statement.binders.iter().map(|binder| self.context.fresh("", any_sizes(&binder.ty))).collect();
        carry.iter().for_each(|binder| self.mark(binder));
        let (indices, values) = body.results.split_at(rank);
        self.context.b.push_block();
        start.into_iter().chain(body.statements.clone()).for_each(|statement| self.context.push_statement(statement));
        let mut inside = Atom::bool(true);
        if let Some(first) = carry.first() {
            for (axis, index) in indices.iter().enumerate() {
                let size = self.context.emit_one(Op::Dim { array: Atom::Var(first.var), axis }, span);
                let least =
                    self.context.prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), vec![Atom::i64(0), index.clone()], span);
                let below = self.context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![index.clone(), size], span);
                for condition in [least, below] {
                    inside = match inside {
                        Atom::Const(Const::Bool(true)) => condition,
                        inside => self.context.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![inside, condition], span),
                    };
                }
            }
        }
        self.context.b.push_block();
        let mut new_values = values.to_vec();
        if let Some(op) = op {
            let (left, right) = op.params.split_at(carry.len());
            for (param, dest) in left.iter().zip(&carry) {
                let binders = vec![param.clone()];
                let op = Op::Index { array: Atom::Var(dest.var), indices: indices.to_vec() };
                self.context.push_statement(Statement { binders, op, span });
                self.mark(param);
            }
            for (param, value) in right.iter().zip(values) {
                self.context.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![value.clone()]), span });
                self.mark(param);
            }
            op.body.statements.iter().for_each(|statement| self.context.push_statement(statement.clone()));
            new_values = op.body.results.clone();
        }
        let dims: Vec<SliceDim> = indices.iter().cloned().map(SliceDim::Index).collect();
        let mut updated = Vec::new();
        for (dest, value) in carry.iter().zip(new_values) {
            let binder = self.context.fresh("", dest.ty.clone());
            self.mark(&binder);
            let op = Op::Update { array: Atom::Var(dest.var), dims: dims.clone(), value };
            self.context.push_statement(Statement { binders: vec![binder.clone()], op, span });
            updated.push(Atom::Var(binder.var));
        }
        let then = self.context.b.pop_block(updated);
        let otherwise = Block { statements: Vec::new(), results: carry.iter().map(|binder| Atom::Var(binder.var)).collect() };
        let next: Vec<Binder> = carry.iter().map(|binder| self.context.fresh("", binder.ty.clone())).collect();
        next.iter().for_each(|binder| self.mark(binder));
        let op = Op::If { condition: inside, then, otherwise };
        self.context.push_statement(Statement { binders: next.clone(), op, span });
        let body = self.context.b.pop_block(next.iter().map(|binder| Atom::Var(binder.var)).collect());
        let form = LoopForm::For { index, bound };
        let parts =
            Loop { carry, initial: dest.to_vec(), form, body, emits: Vec::new(), counted: false, hints: LoopHints::default() };
        statements.push(Statement { binders: statement.binders.clone(), op: Op::Loop(Box::new(parts)), span });
        statements
    }

    /// One loop index for a whole space: its bound, and the statements that bind the axes from it.
    fn flat_index(&mut self, space: &[Axis], before: &mut Vec<Statement>, span: Span) -> (Binder, Atom, Vec<Statement>) {
        if let [axis] = space {
            return (Binder { var: axis.var, ty: Type::I64 }, axis.size.clone(), Vec::new());
        }
        let index = self.context.fresh("i", Type::I64);
        let mut inner = Vec::new();
        let mut bound = Atom::i64(1);
        for axis in space {
            let binder = self.context.fresh("n", Type::I64);
            let op = Op::Prim(PrimOp::Binary(BinaryOp::Mul, Prim::I64), vec![bound, axis.size.clone()]);
            before.push(Statement { binders: vec![binder.clone()], op, span });
            bound = Atom::Var(binder.var);
        }
        // Row-major: the last axis runs fastest.
        let mut rest = Atom::Var(index.var);
        for axis in space.iter().rev() {
            let binder = Binder { var: axis.var, ty: Type::I64 };
            let op = Op::Prim(PrimOp::Binary(BinaryOp::Mod, Prim::I64), vec![rest.clone(), axis.size.clone()]);
            inner.push(Statement { binders: vec![binder], op, span });
            let quotient = self.context.fresh("", Type::I64);
            let op = Op::Prim(PrimOp::Binary(BinaryOp::Div, Prim::I64), vec![rest, axis.size.clone()]);
            inner.push(Statement { binders: vec![quotient.clone()], op, span });
            rest = Atom::Var(quotient.var);
        }
        (index, bound, inner)
    }
}
