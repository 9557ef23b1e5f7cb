//! Branches whose way is known, and loops that carry nothing new.

use super::{Simplify, Step};
use chadwick_core::{Arm, Atom, Axis, Binder, Block, Const, Dim, Loop, LoopForm, Op, Prim, PrimOp, Statement, Type, UnaryOp};
use chadwick_source::Span;

impl Simplify {
    /// A carry that never changes is its initial value, inside and after the loop.
    pub(super) fn drop_constant_carries(&mut self, binders: &mut Vec<Binder>, parts: &mut Loop) {
        let next = |at: usize| self.facts.resolve(&parts.body.results[at]);
        let constant: Vec<bool> = (0..parts.carry.len())
            .map(|at| {
                let (next, initial) = (next(at), &parts.initial[at]);
                next == Atom::Var(parts.carry[at].var) || (matches!(next, Atom::Const(_)) && next == *initial)
            })
            .collect();
        for at in (0..constant.len()).rev().filter(|at| constant[*at]) {
            let initial = parts.initial.remove(at);
            let carry = parts.carry.remove(at);
            parts.body.results.remove(at);
            self.facts.replace(carry.var, initial.clone());
            self.facts.replace(binders.remove(at).var, initial);
        }
    }

    /// A loop that emits the same constant again and again need not: an array of it is made behind the loop, or where it is read.
    pub(super) fn without_constant_emits(&mut self, mut parts: Loop, span: Span) -> Step {
        let first = parts.carry.len();
        let is_constant = |at: usize| matches!(parts.body.results.get(first + at), Some(Atom::Const(_)));
        let constant: Vec<bool> = (0..parts.emits.len()).map(is_constant).collect();
        let (LoopForm::For { index, bound }, true) = (&parts.form, constant.contains(&true)) else {
            return Step::Op(Op::Loop(Box::new(parts)));
        };
        if index.ty != Type::I64 {
            return Step::Op(Op::Loop(Box::new(parts)));
        }
        let bound = bound.clone();
        let mut statements = Vec::new();
        let mut arrays = Vec::new();
        for at in (0..constant.len()).rev().filter(|at| constant[*at]) {
            parts.emits.remove(at);
            let value = parts.body.results.remove(first + at);
            let ty = self.facts.type_of(&value).unwrap_or(Type::BOOL);
            let array = self.fresh("", ty.array([Dim::Any]));
            let space = vec![Axis { var: self.fresh("i", Type::I64).var, size: bound.clone() }];
            let op = Op::Build { space, body: Block { statements: Vec::new(), results: vec![value] }, inner: vec![Vec::new()] };
            arrays.push(Atom::Var(array.var));
            statements.push(Statement { binders: vec![array], op, span });
        }
        let state = parts.carry.iter().map(|carry| carry.ty.clone());
        let trips = parts.counted.then_some(Type::I64);
        let emitted = parts.body.results[first..].iter().map(|atom| {
            let ty = self.facts.type_of(atom).unwrap_or(Type::BOOL);
            ty.any_sizes().array([Dim::Any])
        });
        let types: Vec<Type> = state.chain(trips).chain(emitted).collect();
        let binders: Vec<Binder> = types.into_iter().map(|ty| self.fresh("", ty)).collect();
        let mut own = binders.iter().map(|binder| Atom::Var(binder.var));
        let mut results: Vec<Atom> = own.by_ref().take(first + usize::from(parts.counted)).collect();
        for constant in constant {
            results.extend(if constant { arrays.pop() } else { own.next() });
        }
        statements.push(Statement { binders, op: Op::Loop(Box::new(parts)), span });
        Step::Splice(Block { statements, results })
    }

    pub(super) fn control(&mut self, op: Op) -> Step {
        match op {
            Op::If { condition: Atom::Const(Const::Bool(value)), then, otherwise } => {
                Step::Splice(if value { then } else { otherwise })
            }
            Op::If { condition, then, otherwise } => match self.facts.definition(&condition) {
                Some(Op::Prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), args)) => {
                    let condition = self.facts.resolve(&args[0]);
                    self.control(Op::If { condition, then: otherwise, otherwise: then })
                }
                _ => Step::Op(Op::If { condition, then, otherwise }),
            },
            Op::Match { scrutinee, mut arms, otherwise } => {
                let Some(Op::Construct { tag, args, .. }) = self.facts.definition(&scrutinee) else {
                    return Step::Op(Op::Match { scrutinee, arms, otherwise });
                };
                match arms.iter().position(|arm| arm.tag == *tag) {
                    Some(at) => {
                        let args: Vec<Atom> = args.clone();
                        let arm = arms.swap_remove(at);
                        self.name(&arm.binders, args);
                        Step::Splice(arm.body)
                    }
                    None => match otherwise {
                        Some(block) => Step::Splice(block),
                        None => Step::Op(Op::Match { scrutinee, arms, otherwise }),
                    },
                }
            }
            Op::Assert { condition: Atom::Const(Const::Bool(true)), .. } => Step::Atoms(Vec::new()),
            Op::Loop(parts) => match &parts.form {
                LoopForm::For { bound: Atom::Const(bound), .. }
                    if !parts.counted && parts.emits.is_empty() && *bound == Const::zero(bound.prim()) =>
                {
                    Step::Atoms(parts.initial)
                }
                _ => Step::Op(Op::Loop(parts)),
            },
            other => Step::Op(other),
        }
    }

    /// The arms of a match; in each the scrutinee is known to be that constructor.
    pub(super) fn arms(&mut self, scrutinee: Atom, arms: Vec<Arm>, otherwise: Option<Block>) -> Op {
        let ty = self.facts.type_of(&scrutinee);
        let arms = arms.into_iter().map(|arm| {
            let mark = self.facts.enter();
            if let (Atom::Var(var), Some(ty)) = (&scrutinee, &ty) {
                let args = arm.binders.iter().map(|binder| Atom::Var(binder.var)).collect();
                self.facts.define(*var, Op::Construct { ty: ty.clone(), tag: arm.tag, args });
            }
            let body = self.block(arm.body);
            self.facts.leave(mark);
            Arm { body, ..arm }
        });
        let arms = arms.collect();
        let otherwise = otherwise.map(|block| self.block(block));
        Op::Match { scrutinee, arms, otherwise }
    }

    pub(super) fn after_control(&mut self, op: Op) -> Step {
        match op {
            Op::If { condition, then, otherwise } => {
                let empty = then.statements.is_empty() && otherwise.statements.is_empty();
                if empty && then.results == otherwise.results {
                    return Step::Atoms(then.results);
                }
                if empty && then.results == [Atom::bool(true)] && otherwise.results == [Atom::bool(false)] {
                    return Step::Atoms(vec![condition]);
                }
                if empty && then.results == [Atom::bool(false)] && otherwise.results == [Atom::bool(true)] {
                    return self.prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), vec![condition]);
                }
                Step::Op(Op::If { condition, then, otherwise })
            }
            other => Step::Op(other),
        }
    }
}
