//! Reverse mode of procedures, statement by statement (figure 23), with rules for `Case`.

use super::{Callee, Names, Part, Procedure, Scope, Statement, Type, Variable, pack, tape_of, unpack};
use chadwick_core::FunctionId;

/// Both translations of a procedure.
pub(in crate::linear_maps) struct Translated {
    /// `F⟦p⟧`: binds what the procedure binds, and the tapes.
    pub forward: Procedure,
    /// `R⟦p⟧`: from the cotangents of what the procedure leaves and the tapes to those of what it was given.
    pub reverse: Procedure,
    pub tapes: Vec<(Variable, Type)>,
}

/// Translates a procedure that checks in the scope. What calls of functions keep is given by `kept`.
pub(in crate::linear_maps) fn translate(
    procedure: &Procedure,
    scope: &Scope,
    names: &mut Names,
    kept: &dyn Fn(FunctionId) -> Option<Type>,
) -> Result<Translated, String> {
    let mut scope = scope.clone();
    let mut all = Translated { forward: Procedure::default(), reverse: Procedure::default(), tapes: Vec::new() };
    let mut backwards: Vec<Vec<Statement>> = Vec::new();
    for statement in &procedure.statements {
        let before = scope.clone();
        statement.check(&mut scope)?;
        let one = translate_statement(statement, &before, names, kept)?;
        all.forward.statements.extend(one.forward.statements);
        backwards.push(one.reverse.statements);
        all.tapes.extend(one.tapes);
    }
    all.reverse.statements = backwards.into_iter().rev().flatten().collect();
    Ok(all)
}

fn translate_statement(
    statement: &Statement,
    before: &Scope,
    names: &mut Names,
    kept: &dyn Fn(FunctionId) -> Option<Type>,
) -> Result<Translated, String> {
    let type_of = |variable: &Variable| before.get(variable).cloned().ok_or_else(|| format!("{variable} has no type"));
    let plain = |reverse: Vec<Statement>| Translated {
        forward: Procedure { statements: vec![statement.clone()] },
        reverse: Procedure { statements: reverse },
        tapes: Vec::new(),
    };
    Ok(match statement {
        Statement::Call { to, callee, argument } => {
            let (forward, reverse, tape_type) = match callee {
                Callee::Operation(op) => (Callee::OperationForward(*op), Callee::OperationReverse(*op), tape_of(*op)),
                Callee::Function { function, result, .. } => {
                    let tape = kept(*function).ok_or("a function without a tape")?;
                    let both = Type::pair(result.clone(), tape.clone());
                    let forward = Callee::Function { function: *function, part: Part::Forward, result: both };
                    let result = type_of(argument)?;
                    (forward, Callee::Function { function: *function, part: Part::Reverse, result }, tape)
                }
                other => return Err(format!("{other:?} is translated already")),
            };
            let (both, tape, back) = (names.fresh(), names.fresh(), names.fresh());
            let forward = vec![
                Statement::Call { to: both, callee: forward, argument: *argument },
                Statement::Split { left: *to, right: tape, of: both },
            ];
            let reverse = vec![
                Statement::Pair { to: back, left: to.cotangent(), right: tape },
                Statement::Call { to: argument.cotangent(), callee: reverse, argument: back },
            ];
            Translated {
                forward: Procedure { statements: forward },
                reverse: Procedure { statements: reverse },
                tapes: vec![(tape, tape_type)],
            }
        }
        Statement::Const { to, .. } | Statement::Zero { to, .. } => plain(vec![Statement::Elim(to.cotangent())]),
        Statement::Elim(of) => {
            let ty = type_of(of)?;
            match ty.has_sum() {
                false => plain(vec![Statement::Zero { to: of.cotangent(), ty }]),
                // The zero of a sum has the constructor of the value, which is its own tape.
                true => Translated {
                    forward: Procedure::default(),
                    reverse: Procedure {
                        statements: vec![Statement::Call { to: of.cotangent(), callee: Callee::ZeroLike, argument: *of }],
                    },
                    tapes: vec![(*of, ty)],
                },
            }
        }
        Statement::Dup { to, of } => {
            plain(vec![Statement::Call { to: of.cotangent(), callee: Callee::Add, argument: to.cotangent() }])
        }
        Statement::Pair { to, left, right } => {
            plain(vec![Statement::Split { left: left.cotangent(), right: right.cotangent(), of: to.cotangent() }])
        }
        Statement::Split { left, right, of } => {
            plain(vec![Statement::Pair { to: of.cotangent(), left: left.cotangent(), right: right.cotangent() }])
        }
        Statement::Inject { to, side, of, .. } => {
            let other = names.fresh();
            let zero =
                Procedure { statements: vec![Statement::Elim(other), Statement::Zero { to: of.cotangent(), ty: type_of(of)? }] };
            let own = (of.cotangent(), Procedure::default());
            let branches = if *side == 0 { [own, (other, zero)] } else { [(other, zero), own] };
            plain(vec![Statement::Case { of: to.cotangent(), branches: Box::new(branches) }])
        }
        Statement::Case { of, branches } => {
            let ty = type_of(of)?;
            let sides = match &ty {
                Type::Sum(_, left, right) => [(**left).clone(), (**right).clone()],
                _ => [Type::Unit, Type::Unit],
            };
            let mut rest = before.clone();
            rest.remove(of);
            let mut parts = Vec::new();
            for ((own, procedure), side) in branches.iter().zip(sides) {
                let mut scope = rest.clone();
                scope.insert(*own, side);
                parts.push((*own, translate(procedure, &scope, names, kept)?));
            }
            let tuple = |tapes: &[(Variable, Type)]| Type::tuple(&tapes.iter().map(|(_, ty)| ty.clone()).collect::<Vec<_>>());
            let tape_type = match parts.as_slice() {
                [(_, left), (_, right)] => Type::either(tuple(&left.tapes), tuple(&right.tapes)),
                _ => return Err(String::from("two branches")),
            };
            let tape = names.fresh();
            let (mut forwards, mut reverses) = (Vec::new(), Vec::new());
            for (side, (own, part)) in parts.into_iter().enumerate() {
                let mut forward = part.forward;
                let tapes: Vec<Variable> = part.tapes.iter().map(|(tape, _)| *tape).collect();
                let packed = pack(&tapes, names, &mut forward.statements);
                forward.statements.push(Statement::Inject { to: tape, side, of: packed, ty: tape_type.clone() });
                forwards.push((own, forward));
                let whole = names.fresh();
                let mut reverse = Procedure::default();
                unpack(whole, &tapes, names, &mut reverse.statements);
                reverse.statements.extend(part.reverse.statements);
                let inject = Statement::Inject { to: of.cotangent(), side, of: own.cotangent(), ty: ty.clone() };
                reverse.statements.push(inject);
                reverses.push((whole, reverse));
            }
            let both = |branches: Vec<(Variable, Procedure)>| {
                <[(Variable, Procedure); 2]>::try_from(branches).map(Box::new).map_err(|_| String::from("two branches"))
            };
            Translated {
                forward: Procedure { statements: vec![Statement::Case { of: *of, branches: both(forwards)? }] },
                reverse: Procedure { statements: vec![Statement::Case { of: tape, branches: both(reverses)? }] },
                tapes: vec![(tape, tape_type)],
            }
        }
    })
}
