//! Loops that keep only some of their states: `#[stripmine(k)]`.
//!
//! A loop of n iterations becomes a loop of about n^(1/(k+1)) blocks, each of which is made again from its first state when the reverse
//! pass reaches it, and is itself such a loop with one level less. So about (k+1)·n^(1/(k+1)) states are kept at a time, for k more runs of the
//! body.

use super::Reverse;
use chadwick_core::{
    Atom, BinaryOp, Binder, Block, CompareOp, Const, Loop, LoopForm, LoopHints, MessagePart, Op, Prim, PrimOp, Statement, Type,
    UnaryOp,
};
use chadwick_source::Span;

impl Reverse<'_, '_> {
    /// The loop as a loop over blocks, if it wishes to be one.
    pub(super) fn stripmined(&mut self, statement: &Statement, parts: &Loop) -> Option<Vec<Statement>> {
        let span = statement.span;
        let levels = parts.hints.stripmine.filter(|levels| *levels > 0)?;
        let LoopForm::For { index, bound } = &parts.form else { return None };
        if parts.counted || !parts.emits.is_empty() {
            return None;
        }
        let prim = index.ty.as_prim()?;
        self.context.b.push_block();
        let convert = |reverse: &mut Self, from: Prim, to: Prim, atom: Atom| match from == to {
            true => atom,
            false => reverse.context.prim(PrimOp::Convert { from, to }, vec![atom], span),
        };
        let binary = |reverse: &mut Self, op: BinaryOp, left: Atom, right: Atom| reverse.context.i64_op(op, left, right, span);
        let count = convert(self, prim, Prim::I64, bound.clone());
        let count = binary(self, BinaryOp::Max, count, Atom::i64(0));
        // How many blocks, and how long each is.
        let float = convert(self, Prim::I64, Prim::F64, count.clone());
        let exponent = Atom::Const(Const::F64(1.0 / f64::from(levels + 1)));
        let root = self.context.prim(PrimOp::Binary(BinaryOp::Pow, Prim::F64), vec![float, exponent], span);
        let root = self.context.prim(PrimOp::Unary(UnaryOp::Ceil, Prim::F64), vec![root], span);
        let blocks = convert(self, Prim::F64, Prim::I64, root);
        let at_least_one = Op::Prim(PrimOp::Binary(BinaryOp::Max, Prim::I64), vec![blocks, Atom::i64(1)]);
        let blocks = self.context.b.push_named("blocks", at_least_one, vec![Type::I64], span).into_iter().next()?;
        let rounded = binary(self, BinaryOp::Add, count.clone(), blocks.clone());
        let rounded = binary(self, BinaryOp::Sub, rounded, Atom::i64(1));
        let length = binary(self, BinaryOp::Quot, rounded, blocks.clone());

        let block_index = self.context.fresh("block", Type::I64);
        let outer: Vec<Binder> = parts.carry.iter().map(|carry| self.alike(carry)).collect();
        self.context.b.push_block();
        let start = binary(self, BinaryOp::Mul, Atom::Var(block_index.var), length.clone());
        let rest = binary(self, BinaryOp::Sub, count, start.clone());
        let rest = binary(self, BinaryOp::Max, rest, Atom::i64(0));
        let own = binary(self, BinaryOp::Min, length, rest);

        // Inside a block the original body runs at the original index.
        let step = self.context.fresh("step", Type::I64);
        self.context.b.push_block();
        let at = binary(self, BinaryOp::Add, start, Atom::Var(step.var));
        let at = convert(self, Prim::I64, prim, at);
        self.context.push_statement(Statement { binders: vec![index.clone()], op: Op::Copy(vec![at]), span });
        parts.body.statements.iter().for_each(|statement| self.context.push_statement(statement.clone()));
        let body = self.context.b.pop_block(parts.body.results.clone());
        let hints = LoopHints { stripmine: Some(levels - 1), ..parts.hints.clone() };
        let initial = outer.iter().map(|binder| Atom::Var(binder.var)).collect();
        let form = LoopForm::For { index: step, bound: own };
        let inner = Loop { carry: parts.carry.clone(), initial, form, body, emits: Vec::new(), counted: false, hints };
        let states: Vec<Binder> = parts.carry.iter().map(|carry| self.alike(carry)).collect();
        self.context.push_statement(Statement { binders: states.clone(), op: Op::Loop(Box::new(inner)), span });
        let results = states.iter().map(|binder| Atom::Var(binder.var)).collect();
        let block = self.context.b.pop_block(results);

        let next: Vec<Binder> = parts.carry.iter().map(|carry| self.alike(carry)).collect();
        let results = next.iter().map(|binder| Atom::Var(binder.var)).collect();
        let body = Block { statements: vec![Statement { binders: next, op: Op::Recompute(block), span }], results };
        let form = LoopForm::For { index: block_index, bound: blocks };
        let hints = LoopHints { stripmine: None, ..parts.hints.clone() };
        let over_blocks =
            Loop { carry: outer, initial: parts.initial.clone(), form, body, emits: Vec::new(), counted: false, hints };
        let mut statements = self.context.b.pop_block(Vec::new()).statements;
        statements.push(Statement { binders: statement.binders.clone(), op: Op::Loop(Box::new(over_blocks)), span });
        Some(statements)
    }

    /// A loop that promised a bound must keep it.
    pub(super) fn check_bound(&mut self, count: &Atom, bound: u64, span: Span) {
        let most = i64::try_from(bound).unwrap_or(i64::MAX);
        let compare = PrimOp::Compare(CompareOp::LessEqual, Prim::I64);
        let condition = self.context.prim(compare, vec![count.clone(), Atom::i64(most)], span);
        let message = vec![
            MessagePart::Text(String::from("the loop made ")),
            MessagePart::Value(count.clone()),
            MessagePart::Text(format!(" iterations, but its bound is {bound}")),
        ];
        self.context.b.push(Op::Assert { condition, message }, Vec::new(), span);
    }

    /// Another variable of the same type, active if this one is.
    fn alike(&mut self, binder: &Binder) -> Binder {
        let copy = self.context.fresh(self.context.name(binder.var), binder.ty.clone());
        if self.active.contains(&binder.var) {
            self.active.insert(copy.var);
        }
        copy
    }
}
