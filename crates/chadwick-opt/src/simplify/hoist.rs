//! What is the same in every iteration is computed once, before.
//!
//! Only what cannot fail moves: a loop may run no iteration at all. Work is repeated never, and wasted at most once per loop.

use super::Simplify;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, BinaryOp, Block, Const, LoopForm, Op, PrimOp, Statement, Var};
use rustc_hash::FxHashSet;

impl Simplify {
    /// The operation without what does not change inside it; that goes to `out`.
    pub(super) fn hoist(&mut self, op: Op, out: &mut Vec<Statement>) -> Op {
        let bound: FxHashSet<Var> = match &op {
            Op::Build { .. } | Op::Reduce { .. } | Op::Scan { .. } | Op::Hist { .. } | Op::Scatter { .. } => {
                op.space().iter().map(|axis| axis.var).collect()
            }
            Op::Loop(parts) => {
                let index = match &parts.form {
                    LoopForm::For { index, .. } => Some(index.var),
                    LoopForm::While { .. } => None,
                };
                parts.carry.iter().map(|carry| carry.var).chain(index).collect()
            }
            _ => return op,
        };
        match op {
            Op::Build { space, body, inner } => Op::Build { space, body: self.unchanging(body, bound, out), inner },
            Op::Reduce { space, op, neutral, body, commutative } => {
                Op::Reduce { space, op, neutral, body: self.unchanging(body, bound, out), commutative }
            }
            Op::Scan { axis, op, neutral, body } => Op::Scan { axis, op, neutral, body: self.unchanging(body, bound, out) },
            Op::Hist { space, dest, rank, op, neutral, body } => {
                Op::Hist { space, dest, rank, op, neutral, body: self.unchanging(body, bound, out) }
            }
            Op::Scatter { space, dest, rank, body } => Op::Scatter { space, dest, rank, body: self.unchanging(body, bound, out) },
            Op::Loop(mut parts) => {
                parts.body = self.unchanging(parts.body, bound, out);
                Op::Loop(parts)
            }
            other => other,
        }
    }

    fn unchanging(&mut self, body: Block, mut bound: FxHashSet<Var>, out: &mut Vec<Statement>) -> Block {
        let mut statements = Vec::with_capacity(body.statements.len());
        let tables = tables(&body);
        for statement in body.statements {
            let changes = op_free_variables(&statement.op).iter().any(|var| bound.contains(var));
            let is_table = statement.binders.iter().any(|binder| tables.contains(&binder.var));
            if !changes && (is_table || self.is_safe(&statement.op)) {
                self.keep_named(statement, out);
            } else {
                let Statement { binders, op, span } = statement;
                let op = self.rows_of(op, &bound, out);
                bound.extend(binders.iter().map(|binder| binder.var));
                statements.push(Statement { binders, op, span });
            }
        }
        Block { statements, results: body.results }
    }

    /// Emits a statement under its own name: the loop it comes from refers to it.
    pub(super) fn keep_named(&mut self, statement: Statement, out: &mut Vec<Statement>) {
        self.facts.note_shapes(&statement.binders, &statement.op);
        self.zeros.define(&statement.binders);
        if let ([binder], true) = (statement.binders.as_slice(), statement.op.scopes().is_empty()) {
            self.facts.define(binder.var, statement.op.clone());
        }
        out.push(statement);
    }

    /// Whether the operation cannot fail and has no effect.
    pub(super) fn is_safe(&self, op: &Op) -> bool {
        match op {
            Op::Prim(prim, args) => !can_fail(*prim, args),
            Op::Copy(_) | Op::Dim { .. } | Op::Transpose { .. } => true,
            Op::Index { array, indices } => {
                let shape = self.facts.shape(array);
                indices.len() <= shape.len()
                    && indices
                        .iter()
                        .zip(&shape)
                        .all(|(index, size)| size.as_ref().is_some_and(|size| self.facts.is_within(index, size)))
            }
            // An array of one value is made where it is used: it is mostly the start of something that is changed in place.
            Op::Build { body, .. } => !body.statements.is_empty() && self.is_safe_block(body),
            Op::Reduce { op, body, .. } => self.is_safe_block(body) && self.is_safe_block(&op.body),
            Op::If { then, otherwise, .. } => self.is_safe_block(then) && self.is_safe_block(otherwise),
            _ => false,
        }
    }

    fn is_safe_block(&self, block: &Block) -> bool {
        block.statements.iter().all(|statement| self.is_safe(&statement.op))
    }
}

/// Arrays of constants that are written out in a block and only read, element by element.
fn tables(body: &Block) -> FxHashSet<Var> {
    fn forget(atom: &Atom, tables: &mut FxHashSet<Var>) {
        if let Atom::Var(var) = atom {
            tables.remove(var);
        }
    }
    fn forget_others(block: &Block, tables: &mut FxHashSet<Var>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for Statement { op, .. } in &block.statements {
                if !matches!(op, Op::Index { .. } | Op::ArrayLiteral { .. }) {
                    op.for_each_atom(&mut |atom| forget(atom, tables));
                }
                op.scopes().iter().for_each(|scope| forget_others(scope.block, tables));
            }
            block.results.iter().for_each(|atom| forget(atom, tables));
        });
    }
    let mut tables = FxHashSet::default();
    for Statement { binders, op, .. } in &body.statements {
        if let (Op::ArrayLiteral { elements, .. }, [binder]) = (op, binders.as_slice())
            && elements.iter().all(|element| element.as_var().is_none_or(|var| tables.contains(&var)))
        {
            tables.insert(binder.var);
        }
    }
    if !tables.is_empty() {
        forget_others(body, &mut tables);
    }
    tables
}

pub(super) fn can_fail(op: PrimOp, args: &[Atom]) -> bool {
    match op {
        PrimOp::Binary(BinaryOp::Div | BinaryOp::Mod | BinaryOp::Quot | BinaryOp::Rem | BinaryOp::Pow, prim) => {
            !prim.is_float() && !matches!(args.get(1), Some(Atom::Const(value)) if *value != Const::zero(prim))
        }
        _ => false,
    }
}
