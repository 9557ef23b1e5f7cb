//! Branches whose way is known, and loops that carry nothing new.

use super::{Simplify, Step};
use chadwick_core::{Arm, Atom, Binder, Block, Const, Loop, LoopForm, Op, Prim, PrimOp, UnaryOp};

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
