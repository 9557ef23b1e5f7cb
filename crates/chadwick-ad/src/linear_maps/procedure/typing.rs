//! `Γ ⊢ p ⊣ Δ`: what a procedure uses and what it leaves (figure 21).

use super::{Callee, Procedure, Scope, Statement, Type, Variable, operands_of, tape_of};
use chadwick_core::Prim;

impl Procedure {
    /// `Γ ⊢ p ⊣ Δ`: the types of what is bound and not used, if every variable is used exactly once.
    pub fn check(&self, scope: &Scope) -> Result<Scope, String> {
        let mut scope = scope.clone();
        for statement in &self.statements {
            statement.check(&mut scope)?;
        }
        Ok(scope)
    }
}

fn take(scope: &mut Scope, variable: Variable) -> Result<Type, String> {
    scope.remove(&variable).ok_or_else(|| format!("{variable} is not there, or used twice"))
}

fn bind(scope: &mut Scope, variable: Variable, ty: Type) -> Result<(), String> {
    match scope.insert(variable, ty) {
        None => Ok(()),
        Some(_) => Err(format!("{variable} is bound twice")),
    }
}

impl Statement {
    pub fn check(&self, scope: &mut Scope) -> Result<(), String> {
        match self {
            Statement::Call { to, callee, argument } => {
                let argument = take(scope, *argument)?;
                let ty = callee.result(&argument)?;
                bind(scope, *to, ty)
            }
            Statement::Const { to, value } => bind(scope, *to, Type::Number(value.prim())),
            Statement::Zero { to, ty } => bind(scope, *to, ty.clone()),
            Statement::Elim(of) => take(scope, *of).map(|_| ()),
            Statement::Dup { to, of } => {
                let ty = take(scope, *of)?;
                bind(scope, *to, Type::pair(ty.clone(), ty))
            }
            Statement::Pair { to, left, right } => {
                let (left, right) = (take(scope, *left)?, take(scope, *right)?);
                bind(scope, *to, Type::pair(left, right))
            }
            Statement::Split { left, right, of } => match take(scope, *of)? {
                Type::Pair(first, second) => {
                    bind(scope, *left, *first)?;
                    bind(scope, *right, *second)
                }
                other => Err(format!("{of} is no pair but {other}")),
            },
            Statement::Inject { to, side, of, ty } => {
                let inner = take(scope, *of)?;
                let fits = match ty {
                    Type::Sum(_, left, right) => *if *side == 0 { left } else { right }.clone() == inner,
                    Type::Number(Prim::Bool) => inner == Type::Unit,
                    _ => false,
                };
                if fits { bind(scope, *to, ty.clone()) } else { Err(format!("{of} is not on that side of {ty}")) }
            }
            Statement::Case { of, branches } => {
                let (left, right) = match take(scope, *of)? {
                    Type::Sum(_, left, right) => (*left, *right),
                    Type::Number(Prim::Bool) => (Type::Unit, Type::Unit),
                    other => return Err(format!("{of} is no sum but {other}")),
                };
                let mut results = Vec::new();
                for ((own, procedure), ty) in branches.iter().zip([left, right]) {
                    let mut inner = scope.clone();
                    bind(&mut inner, *own, ty)?;
                    results.push(procedure.check(&inner)?);
                }
                let [first, second] = <[Scope; 2]>::try_from(results).map_err(|_| String::from("two branches"))?;
                if first != second {
                    return Err(format!("the branches of {of} leave different variables"));
                }
                *scope = first;
                Ok(())
            }
        }
    }
}

impl Callee {
    fn result(&self, argument: &Type) -> Result<Type, String> {
        let expect = |wanted: &Type, result: Type| match argument == wanted {
            true => Ok(result),
            false => Err(format!("an argument of type {argument} where {wanted} belongs")),
        };
        match self {
            Callee::Operation(op) => expect(&operands_of(*op), Type::Number(op.result())),
            Callee::OperationForward(op) => expect(&operands_of(*op), Type::pair(Type::Number(op.result()), tape_of(*op))),
            Callee::OperationReverse(op) => expect(&Type::pair(Type::Number(op.result()), tape_of(*op)), operands_of(*op)),
            Callee::Function { result, .. } => Ok(result.clone()),
            Callee::Add => match argument {
                Type::Pair(left, right) if left == right => Ok((**left).clone()),
                other => Err(format!("a sum of {other}")),
            },
            Callee::ZeroLike => Ok(argument.clone()),
        }
    }
}
