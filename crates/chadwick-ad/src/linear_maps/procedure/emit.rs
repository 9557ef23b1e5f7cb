//! Procedures as Core: a pair is the values of both parts, one behind the other.

use super::programs::Known;
use super::{Callee, Part, Procedure, Scope, Statement, Type, Variable, kept_by};
use crate::context::{Applied, Context};
use chadwick_core as core;
use chadwick_core::{Arm, Atom, Binder, Const, FunctionId, Op, Prim, PrimOp};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The values of Core that a value of the type is.
pub(super) fn to_core(ty: &Type) -> Vec<core::Type> {
    match ty {
        Type::Unit => Vec::new(),
        Type::Number(prim) => vec![core::Type::Prim(*prim)],
        Type::Pair(left, right) => [to_core(left), to_core(right)].concat(),
        Type::Sum([left, right], first, second) => {
            let constructor = |name: &Name, payload: &Type| core::Constructor { name: name.clone(), payload: to_core(payload) };
            vec![core::Type::Sum(Rc::from([constructor(left, first), constructor(right, second)]))]
        }
    }
}

/// Emits a procedure; the values of variables are at hand until they are used.
pub(super) struct Emitter<'c, 'p> {
    pub context: &'c mut Context<'p>,
    pub functions: &'c FxHashMap<FunctionId, Known>,
    pub values: FxHashMap<Variable, Vec<Atom>>,
    pub span: Span,
}

impl Emitter<'_, '_> {
    pub fn take(&mut self, variable: Variable) -> Vec<Atom> {
        self.values.remove(&variable).unwrap_or_default()
    }

    pub fn procedure(&mut self, procedure: &Procedure, scope: &mut Scope) {
        for statement in &procedure.statements {
            let before = scope.clone();
            if let Err(problem) = statement.check(scope) {
                self.context.untyped(&problem, self.span);
                return;
            }
            self.statement(statement, &before, scope);
        }
    }

    fn statement(&mut self, statement: &Statement, before: &Scope, after: &Scope) {
        let span = self.span;
        match statement {
            Statement::Call { to, callee, argument } => {
                let args = self.take(*argument);
                let values = self.call(callee, args);
                self.values.insert(*to, values);
            }
            Statement::Const { to, value } => {
                self.values.insert(*to, vec![Atom::Const(*value)]);
            }
            Statement::Zero { to, ty } => {
                let values = self.zero(ty);
                self.values.insert(*to, values);
            }
            Statement::Elim(of) => {
                self.take(*of);
            }
            Statement::Dup { to, of } => {
                let values = self.take(*of);
                self.values.insert(*to, [values.clone(), values].concat());
            }
            Statement::Pair { to, left, right } => {
                let values = [self.take(*left), self.take(*right)].concat();
                self.values.insert(*to, values);
            }
            Statement::Split { left, right, of } => {
                let mut first = self.take(*of);
                let count = after.get(left).map_or(0, |ty| to_core(ty).len());
                let second = first.split_off(count.min(first.len()));
                self.values.insert(*left, first);
                self.values.insert(*right, second);
            }
            Statement::Inject { to, side, of, ty } => {
                let args = self.take(*of);
                let values = match ty {
                    Type::Number(Prim::Bool) => vec![Atom::bool(*side == 0)],
                    ty => {
                        let ty = to_core(ty).into_iter().next().unwrap_or(core::Type::BOOL);
                        self.context.construct(&ty, *side as u32, args, span)
                    }
                };
                self.values.insert(*to, values);
            }
            Statement::Case { of, branches } => self.case(*of, branches, before, after),
        }
    }

    fn case(&mut self, of: Variable, branches: &[(Variable, Procedure); 2], before: &Scope, after: &Scope) {
        let span = self.span;
        let scrutinee = self.take(of).into_iter().next().unwrap_or(Atom::bool(true));
        let new: Vec<(Variable, &Type)> =
            after.iter().filter(|(variable, _)| !before.contains_key(variable)).map(|(variable, ty)| (*variable, ty)).collect();
        let sides = match before.get(&of) {
            Some(Type::Sum(_, left, right)) => [(**left).clone(), (**right).clone()],
            _ => [Type::Unit, Type::Unit],
        };
        let outer = self.values.clone();
        let (mut blocks, mut fields) = (Vec::new(), Vec::new());
        for ((own, procedure), side) in branches.iter().zip(sides) {
            let binders: Vec<Binder> = to_core(&side).into_iter().map(|ty| self.context.fresh("", ty)).collect();
            self.values.clone_from(&outer);
            self.values.insert(*own, binders.iter().map(|binder| Atom::Var(binder.var)).collect());
            let mut scope = before.clone();
            scope.remove(&of);
            scope.insert(*own, side);
            self.context.b.push_block();
            self.procedure(procedure, &mut scope);
            let results = new.iter().flat_map(|(variable, _)| self.take(*variable)).collect();
            blocks.push(self.context.b.pop_block(results));
            fields.push(binders);
        }
        let is_sum = matches!(before.get(&of), Some(Type::Sum(..)));
        let mut blocks = blocks.into_iter();
        let (first, second) = (blocks.next().unwrap_or_default(), blocks.next().unwrap_or_default());
        let op = match is_sum {
            false => Op::If { condition: scrutinee, then: first, otherwise: second },
            true => {
                let arms = fields.into_iter().zip([first, second]).enumerate();
                let arms = arms.map(|(tag, (binders, body))| Arm { tag: tag as u32, binders, body }).collect();
                Op::Match { scrutinee, arms, otherwise: None }
            }
        };
        let types = new.iter().flat_map(|(_, ty)| to_core(ty)).collect();
        let mut results = self.context.b.push(op, types, span).into_iter();
        // What both branches used up is gone, what they left is as it was.
        self.values = outer.into_iter().filter(|(variable, _)| after.contains_key(variable)).collect();
        for (variable, ty) in new {
            self.values.insert(variable, results.by_ref().take(to_core(ty).len()).collect());
        }
    }

    fn zero(&mut self, ty: &Type) -> Vec<Atom> {
        match ty {
            Type::Unit => Vec::new(),
            Type::Number(prim) => vec![Atom::Const(Const::zero(*prim))],
            Type::Pair(left, right) => [self.zero(left), self.zero(right)].concat(),
            // Of either constructor: this zero is the one that no cotangent is added to.
            Type::Sum(_, left, _) => {
                let fields = self.zero(left);
                let ty = to_core(ty).into_iter().next().unwrap_or(core::Type::BOOL);
                self.context.construct(&ty, 0, fields, self.span)
            }
        }
    }

    fn call(&mut self, callee: &Callee, mut args: Vec<Atom>) -> Vec<Atom> {
        let span = self.span;
        match callee {
            Callee::Operation(op) => vec![self.context.prim(*op, args, span)],
            Callee::OperationForward(op) => {
                let result = self.context.prim(*op, args.clone(), span);
                let (operands, keeps_result) = kept_by(*op);
                let kept = operands.iter().filter_map(|at| args.get(*at).cloned());
                let kept: Vec<Atom> = kept.chain(keeps_result.then(|| result.clone())).collect();
                [vec![result], kept].concat()
            }
            Callee::OperationReverse(op) => self.operation_reverse(*op, args),
            Callee::Function { function, part, .. } => {
                let Some(known) = self.functions.get(function) else { return Vec::new() };
                let function = match part {
                    Part::Plain => *function,
                    Part::Forward => known.forward,
                    Part::Reverse => known.reverse,
                };
                self.context.emit(Op::Call { function, args }, span)
            }
            Callee::Add => {
                let right = args.split_off(args.len() / 2);
                args.into_iter().zip(right).map(|(left, right)| self.context.sum(left, right, span)).collect()
            }
            Callee::ZeroLike => args.iter().map(|value| self.context.zero_like(value, span)).collect(),
        }
    }

    /// The cotangents of the operands from that of the result and the tape.
    fn operation_reverse(&mut self, op: PrimOp, args: Vec<Atom>) -> Vec<Atom> {
        let span = self.span;
        let prims = op.operands();
        let mut args = args.into_iter();
        let incoming = args.next().unwrap_or(Atom::i64(0));
        let mut operands: Vec<Atom> = prims.iter().map(|prim| Atom::Const(Const::zero(*prim))).collect();
        let (kept, keeps_result) = kept_by(op);
        for at in kept {
            if let (Some(place), Some(value)) = (operands.get_mut(at), args.next()) {
                *place = value;
            }
        }
        let result = args.next().filter(|_| keeps_result).unwrap_or(Atom::Const(Const::zero(op.result())));
        let derivatives = op.derivatives();
        let applied = Applied { op, operands: &operands, result: &result };
        let through = derivatives.iter().zip(&prims).map(|(derivative, prim)| {
            let passed = self.context.pass(derivative, &incoming, &applied, *prim, span);
            passed.unwrap_or(Atom::Const(Const::zero(*prim)))
        });
        through.collect()
    }
}
