//! Loops that do nothing but add up are sums: what they add up may be computed in any order, and their derivatives keep nothing.

use super::accumulators::accumulates;
use super::{Simplify, Step};
use chadwick_core::visit::free_variables;
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, Const, Lambda, Loop, LoopForm, LoopHints, Op, Prim, PrimOp, Statement, Type, Var,
};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

impl Simplify {
    /// `loop s = 0 for i < n do s + e` as a sum of `e`, where `e` does not depend on `s`; and so for several numbers.
    pub(super) fn loop_as_sum(&mut self, parts: &Loop, span: Span) -> Option<Step> {
        let LoopForm::For { index, bound } = &parts.form else { return None };
        let is_plain = parts.emits.is_empty() && !parts.counted && parts.hints == LoopHints::default() && !parts.carry.is_empty();
        if !is_plain || index.ty != Type::I64 {
            return None;
        }
        let mut prims = Vec::new();
        for (carry, initial) in parts.carry.iter().zip(&parts.initial) {
            let prim = carry.ty.as_prim().filter(|prim| *prim != Prim::Bool)?;
            (*initial == Atom::Const(Const::zero(prim))).then_some(())?;
            prims.push(prim);
        }
        let body = terms(parts)?;
        let mut statements = Vec::new();
        let mut size = self.facts.resolve(bound);
        if !self.facts.is_size(&size) {
            let binder = self.fresh("n", Type::I64);
            let op = Op::Prim(PrimOp::Binary(BinaryOp::Max, Prim::I64), vec![size, Atom::i64(0)]);
            size = Atom::Var(binder.var);
            statements.push(Statement { binders: vec![binder], op, span });
        }
        let binders: Vec<Binder> = parts.carry.iter().map(|carry| self.fresh("", carry.ty.clone())).collect();
        let results = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        let op = Op::Reduce {
            space: vec![Axis { var: index.var, size }],
            op: self.additions(&prims, span),
            neutral: parts.initial.clone(),
            body,
            commutative: true,
        };
        statements.push(Statement { binders, op, span });
        Some(Step::Splice(Block { statements, results }))
    }

    /// Addition, component by component.
    fn additions(&mut self, prims: &[Prim], span: Span) -> Lambda {
        let mut all =
            Lambda { params: Vec::new(), results: Vec::new(), body: Block { statements: Vec::new(), results: Vec::new() } };
        let mut right = Vec::new();
        for prim in prims {
            let mut one = Lambda::addition(*prim, span, &mut |name, ty| self.fresh(name, ty));
            right.extend(one.params.pop());
            all.params.append(&mut one.params);
            all.results.append(&mut one.results);
            all.body.statements.append(&mut one.body.statements);
            all.body.results.append(&mut one.body.results);
        }
        all.params.append(&mut right);
        all
    }
}

/// The body of a loop without the additions to what it carries, with what is added for its results.
fn terms(parts: &Loop) -> Option<Block> {
    let carried: FxHashSet<Var> = parts.carry.iter().map(|carry| carry.var).collect();
    let mut body = parts.body.clone();
    let mut results = Vec::new();
    for (carry, next) in parts.carry.iter().zip(&parts.body.results) {
        let makes = |statement: &Statement| statement.binders.iter().any(|binder| Atom::Var(binder.var) == *next);
        let at = body.statements.iter().position(makes)?;
        let Op::Prim(PrimOp::Binary(BinaryOp::Add, _), args) = &body.statements.remove(at).op else { return None };
        let own = args.iter().position(|arg| *arg == Atom::Var(carry.var))?;
        results.push(args.get(1 - own)?.clone());
    }
    body.results = results;
    let is_effect =
        |statement: &Statement| accumulates(&statement.op) || matches!(statement.op, Op::Trace { .. } | Op::Log { .. });
    let is_sum = !body.statements.iter().any(is_effect) && !free_variables(&body).iter().any(|var| carried.contains(var));
    // What was added is needed nowhere else.
    let bound: FxHashSet<Atom> = parts.body.results.iter().cloned().collect();
    let is_read = free_variables(&body).iter().any(|var| bound.contains(&Atom::Var(*var)));
    (is_sum && !is_read).then_some(body)
}
