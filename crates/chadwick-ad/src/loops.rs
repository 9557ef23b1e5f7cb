//! Array forms as loops: an operator is applied in order, a histogram or scatter updates its destination in place.

use crate::context::Context;
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Lambda, Loop, LoopForm, LoopHints, Op, Prim, PrimOp, Size, SliceDim,
    Statement, Type,
};
use chadwick_source::Span;

impl Context<'_> {
    /// A loop that counts from zero; `make` gives the next carry. Returns the last one.
    pub fn for_loop(
        &mut self,
        bound: Atom,
        initial: Vec<Atom>,
        span: Span,
        make: impl FnOnce(&mut Self, Atom, &[Atom]) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let types: Vec<Type> = initial.iter().map(|atom| self.type_of(atom).any_sizes()).collect();
        let carry: Vec<Binder> = types.iter().map(|ty| self.fresh("", ty.clone())).collect();
        let index = self.fresh("i", Type::I64);
        let atoms: Vec<Atom> = carry.iter().map(|binder| Atom::Var(binder.var)).collect();
        let body = self.block(|context| make(context, Atom::Var(index.var), &atoms));
        let form = LoopForm::For { index, bound };
        let parts = Loop { carry, initial, form, body, emits: Vec::new(), counted: false, hints: LoopHints::default() };
        self.b.push(Op::Loop(Box::new(parts)), types, span)
    }

    /// The same, counting down to zero.
    pub fn backward_loop(
        &mut self,
        bound: Atom,
        initial: Vec<Atom>,
        span: Span,
        make: impl FnOnce(&mut Self, Atom, &[Atom]) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let last = self.i64_op(BinaryOp::Sub, bound.clone(), Atom::i64(1), span);
        self.for_loop(bound, initial, span, |context, index, carry| {
            let at = context.i64_op(BinaryOp::Sub, last, index, span);
            make(context, at, carry)
        })
    }

    /// A build as a nest of loops that emit.
    pub fn build_loop(&mut self, statement: &Statement, space: &[Axis], body: &Block, inner: &[Vec<Size>]) -> Statement {
        let span = statement.span;
        let Some((first, rest)) = space.split_first() else {
            return Statement { binders: statement.binders.clone(), op: Op::Recompute(body.clone()), span };
        };
        let (body, emits) = match rest.is_empty() {
            true => (body.clone(), inner.to_vec()),
            false => {
                let rows = statement.binders.iter().map(|binder| binder.ty.peel(1).unwrap_or(Type::BOOL).any_sizes());
                let rows: Vec<Binder> = rows.collect::<Vec<Type>>().into_iter().map(|ty| self.fresh("", ty)).collect();
                let results = rows.iter().map(|row| Atom::Var(row.var)).collect();
                let op = Op::Build { space: rest.to_vec(), body: body.clone(), inner: inner.to_vec() };
                let row = self.build_loop(&Statement { binders: rows, op, span }, rest, body, inner);
                let sizes: Vec<Size> = rest.iter().map(|axis| Size::Known(axis.size.clone())).collect();
                let emits = inner.iter().map(|inner| [sizes.clone(), inner.clone()].concat()).collect();
                (Block { statements: vec![row], results }, emits)
            }
        };
        let form = LoopForm::For { index: Binder { var: first.var, ty: Type::I64 }, bound: first.size.clone() };
        let (carry, initial) = (Vec::new(), Vec::new());
        let parts = Loop { carry, initial, form, body, emits, counted: false, hints: LoopHints::default() };
        Statement { binders: statement.binders.clone(), op: Op::Loop(Box::new(parts)), span }
    }

    /// A reduction or scan: the state is combined with each element in turn.
    #[expect(clippy::too_many_arguments, reason = "the parts of one form")]
    pub fn fold_loop(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        op: &Lambda,
        neutral: &[Atom],
        body: &Block,
        emit: bool,
        made: &mut Vec<Binder>,
        span: Span,
    ) -> Vec<Statement> {
        let mut statements = Vec::new();
        let (index, bound, start) = self.flat_index(space, &mut statements, span);
        let carry: Vec<Binder> = op.params[..neutral.len()].to_vec();
        // The operator's left parameters are the state, its right ones the element.
        let mut inner = start;
        inner.extend(body.statements.clone());
        for (param, element) in op.params[neutral.len()..].iter().zip(&body.results) {
            inner.push(Statement { binders: vec![param.clone()], op: Op::Copy(vec![element.clone()]), span });
            made.push(param.clone());
        }
        inner.extend(op.body.statements.clone());
        carry.iter().for_each(|binder| made.push(binder.clone()));
        let carry: Vec<Binder> = carry.iter().map(|binder| Binder { var: binder.var, ty: binder.ty.any_sizes() }).collect();
        carry.iter().for_each(|binder| self.b.declare(binder.var, binder.ty.clone()));
        let mut results = op.body.results.clone();
        let mut emits = Vec::new();
        let binders = if emit {
            results.extend(op.body.results.clone());
            emits = op.results.iter().map(|ty| vec![Size::FromValue; ty.rank()]).collect();
            // With no elements the shape comes from the neutral element.
            for (sizes, neutral) in emits.iter_mut().zip(neutral) {
                for (axis, size) in sizes.iter_mut().enumerate() {
                    let binder = self.fresh("n", Type::I64);
                    *size = Size::Known(Atom::Var(binder.var));
                    statements.push(Statement { binders: vec![binder], op: Op::Dim { array: neutral.clone(), axis }, span });
                }
            }
            let finals: Vec<Binder> = carry.iter().map(|binder| self.fresh("", binder.ty.clone())).collect();
            finals.iter().for_each(|binder| made.push(binder.clone()));
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
    pub fn write_loop(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        dest: &[Atom],
        rank: usize,
        op: Option<&Lambda>,
        body: &Block,
        made: &mut Vec<Binder>,
        span: Span,
    ) -> Vec<Statement> {
        let mut statements = Vec::new();
        let (index, bound, start) = self.flat_index(space, &mut statements, span);
        let carry: Vec<Binder> = statement.binders.iter().map(|binder| self.fresh("", binder.ty.any_sizes())).collect();
        carry.iter().for_each(|binder| made.push(binder.clone()));
        let (indices, values) = body.results.split_at(rank);
        self.b.push_block();
        start.into_iter().chain(body.statements.clone()).for_each(|statement| self.push_statement(statement));
        let mut inside = Atom::bool(true);
        if let Some(first) = carry.first() {
            for (axis, index) in indices.iter().enumerate() {
                let size = self.emit_one(Op::Dim { array: Atom::Var(first.var), axis }, span);
                let least = self.prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), vec![Atom::i64(0), index.clone()], span);
                let below = self.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![index.clone(), size], span);
                for condition in [least, below] {
                    inside = match inside {
                        Atom::Const(Const::Bool(true)) => condition,
                        inside => self.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![inside, condition], span),
                    };
                }
            }
        }
        self.b.push_block();
        let mut new_values = values.to_vec();
        if let Some(op) = op {
            let (left, right) = op.params.split_at(carry.len());
            for (param, dest) in left.iter().zip(&carry) {
                let binders = vec![param.clone()];
                let op = Op::Index { array: Atom::Var(dest.var), indices: indices.to_vec() };
                self.push_statement(Statement { binders, op, span });
                made.push(param.clone());
            }
            for (param, value) in right.iter().zip(values) {
                self.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![value.clone()]), span });
                made.push(param.clone());
            }
            op.body.statements.iter().for_each(|statement| self.push_statement(statement.clone()));
            new_values = op.body.results.clone();
        }
        let dims: Vec<SliceDim> = indices.iter().cloned().map(SliceDim::Index).collect();
        let mut updated = Vec::new();
        for (dest, value) in carry.iter().zip(new_values) {
            let binder = self.fresh("", dest.ty.clone());
            made.push(binder.clone());
            let op = Op::Update { array: Atom::Var(dest.var), dims: dims.clone(), value };
            self.push_statement(Statement { binders: vec![binder.clone()], op, span });
            updated.push(Atom::Var(binder.var));
        }
        let then = self.b.pop_block(updated);
        let otherwise = Block { statements: Vec::new(), results: carry.iter().map(|binder| Atom::Var(binder.var)).collect() };
        let next: Vec<Binder> = carry.iter().map(|binder| self.fresh("", binder.ty.clone())).collect();
        next.iter().for_each(|binder| made.push(binder.clone()));
        let op = Op::If { condition: inside, then, otherwise };
        self.push_statement(Statement { binders: next.clone(), op, span });
        let body = self.b.pop_block(next.iter().map(|binder| Atom::Var(binder.var)).collect());
        let form = LoopForm::For { index, bound };
        let parts =
            Loop { carry, initial: dest.to_vec(), form, body, emits: Vec::new(), counted: false, hints: LoopHints::default() };
        statements.push(Statement { binders: statement.binders.clone(), op: Op::Loop(Box::new(parts)), span });
        statements
    }

    /// One loop index for a whole space: its bound, and the statements that bind the axes from it.
    pub fn flat_index(&mut self, space: &[Axis], before: &mut Vec<Statement>, span: Span) -> (Binder, Atom, Vec<Statement>) {
        if let [axis] = space {
            return (Binder { var: axis.var, ty: Type::I64 }, axis.size.clone(), Vec::new());
        }
        let index = self.fresh("i", Type::I64);
        let mut inner = Vec::new();
        let mut bound = Atom::i64(1);
        for axis in space {
            let binder = self.fresh("n", Type::I64);
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
            let quotient = self.fresh("", Type::I64);
            let op = Op::Prim(PrimOp::Binary(BinaryOp::Div, Prim::I64), vec![rest, axis.size.clone()]);
            inner.push(Statement { binders: vec![quotient.clone()], op, span });
            rest = Atom::Var(quotient.var);
        }
        (index, bound, inner)
    }
}
