//! The procedure language (Ellis et al., section 10): statements over variables, each of which is used exactly once.
//!
//! A procedure has no nested terms. Using a value twice is `Dup`, not using it is `Elim`. That makes its reverse mode a translation of each
//! statement by itself: a forward procedure, which also binds tapes, and a reverse procedure over the cotangents ([`Procedure::forward`],
//! [`Procedure::reverse`]). The paper gives no rules for `Case`; here its forward translation tags the tapes of the branch that was taken,
//! and its reverse translation branches on that tag.

mod programs;

pub(super) use programs::Procedures;

use chadwick_core::{Const, FunctionId, Prim, PrimOp};
use chadwick_source::Name;
use std::collections::BTreeMap;
use std::fmt;

/// A variable of a procedure, or the cotangent of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Variable {
    pub number: u32,
    pub is_cotangent: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Unit,
    /// The real numbers, in any type of number; truth values have no cotangent but themselves.
    Number(Prim),
    Pair(Box<Type>, Box<Type>),
    /// A sum, with what its constructors are called.
    Sum([Name; 2], Box<Type>, Box<Type>),
}

/// What a call runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Callee {
    /// An operation on the numbers of its argument.
    Operation(PrimOp),
    /// The same with its tape.
    OperationForward(PrimOp),
    /// From the cotangent of an operation's result and its tape to those of its operands.
    OperationReverse(PrimOp),
    /// A function of the program, in either translation; with the types of its result and its argument there.
    Function { function: FunctionId, part: Part, result: Type },
    /// The sum of both components of a pair.
    Add,
    /// The zero with the structure of a value.
    ZeroLike,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Plain,
    Forward,
    Reverse,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    Call {
        to: Variable,
        callee: Callee,
        argument: Variable,
    },
    Const {
        to: Variable,
        value: Const,
    },
    /// `Const 0` of any type.
    Zero {
        to: Variable,
        ty: Type,
    },
    Elim(Variable),
    Dup {
        to: Variable,
        of: Variable,
    },
    Pair {
        to: Variable,
        left: Variable,
        right: Variable,
    },
    Split {
        left: Variable,
        right: Variable,
        of: Variable,
    },
    /// `Inl` for the side 0, `Inr` for 1; the type is that of the whole sum.
    Inject {
        to: Variable,
        side: usize,
        of: Variable,
        ty: Type,
    },
    Case {
        of: Variable,
        branches: Box<[(Variable, Procedure); 2]>,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Procedure {
    pub statements: Vec<Statement>,
}

/// Variables in scope with their types, in order.
pub(super) type Scope = BTreeMap<Variable, Type>;

impl Variable {
    pub fn cotangent(self) -> Variable {
        Variable { is_cotangent: true, ..self }
    }
}

/// Makes variables.
#[derive(Default)]
pub(super) struct Names {
    next: u32,
}

impl Names {
    pub fn fresh(&mut self) -> Variable {
        self.next += 1;
        Variable { number: self.next - 1, is_cotangent: false }
    }
}

impl Type {
    pub fn pair(left: Type, right: Type) -> Type {
        Type::Pair(Box::new(left), Box::new(right))
    }

    /// A tuple as pairs to the right.
    pub fn tuple(types: &[Type]) -> Type {
        match types {
            [] => Type::Unit,
            [ty] => ty.clone(),
            [first, rest @ ..] => Type::pair(first.clone(), Type::tuple(rest)),
        }
    }

    fn has_sum(&self) -> bool {
        match self {
            Type::Sum(..) => true,
            Type::Pair(left, right) => left.has_sum() || right.has_sum(),
            Type::Unit | Type::Number(_) => false,
        }
    }

    /// Either of the tapes of two branches.
    fn either(left: Type, right: Type) -> Type {
        Type::Sum([Name::from("inl"), Name::from("inr")], Box::new(left), Box::new(right))
    }
}

/// The tape of an operation: those of its operands, and its result if it is the last number, that a partial derivative mentions.
pub(super) fn kept_by(op: PrimOp) -> (Vec<usize>, bool) {
    use chadwick_core::prim::{Derivative, Partial};
    fn look(partial: &Partial, operands: &mut Vec<usize>, result: &mut bool) {
        match partial {
            Partial::Operand(at) if !operands.contains(at) => operands.push(*at),
            Partial::Result => *result = true,
            Partial::Apply(_, parts) => parts.iter().for_each(|part| look(part, operands, result)),
            Partial::Select(parts) => parts.iter().for_each(|part| look(part, operands, result)),
            Partial::Operand(_) | Partial::Constant(_) => {}
        }
    }
    let (mut operands, mut result) = (Vec::new(), false);
    for derivative in op.derivatives() {
        if let Derivative::Scale(partial) = &derivative {
            look(partial, &mut operands, &mut result);
        }
    }
    operands.sort_unstable();
    (operands, result)
}

/// The type of an operation's tape.
pub(super) fn tape_of(op: PrimOp) -> Type {
    let (operands, result) = kept_by(op);
    let prims = op.operands();
    let operands = operands.iter().filter_map(|at| prims.get(*at)).map(|prim| Type::Number(*prim));
    Type::tuple(&operands.chain(result.then_some(Type::Number(op.result()))).collect::<Vec<_>>())
}

fn operands_of(op: PrimOp) -> Type {
    Type::tuple(&op.operands().into_iter().map(Type::Number).collect::<Vec<_>>())
}

// -------------------------------------------------------------------------------------------------------------------------- typing

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

// --------------------------------------------------------------------------------------------------------------------- translation

/// Both translations of a procedure.
pub(super) struct Translated {
    /// `F⟦p⟧`: binds what the procedure binds, and the tapes.
    pub forward: Procedure,
    /// `R⟦p⟧`: from the cotangents of what the procedure leaves and the tapes to those of what it was given.
    pub reverse: Procedure,
    pub tapes: Vec<(Variable, Type)>,
}

/// Translates a procedure that checks in the scope. What calls of functions keep is given by `kept`.
pub(super) fn translate(
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

/// Binds the tuple of the variables.
pub(super) fn pack(variables: &[Variable], names: &mut Names, statements: &mut Vec<Statement>) -> Variable {
    match variables {
        [] => {
            let to = names.fresh();
            statements.push(Statement::Zero { to, ty: Type::Unit });
            to
        }
        [one] => *one,
        [first, rest @ ..] => {
            let right = pack(rest, names, statements);
            let to = names.fresh();
            statements.push(Statement::Pair { to, left: *first, right });
            to
        }
    }
}

/// Binds the variables to the parts of a tuple.
pub(super) fn unpack(whole: Variable, variables: &[Variable], names: &mut Names, statements: &mut Vec<Statement>) {
    match variables {
        [] => statements.push(Statement::Elim(whole)),
        [one] => {
            // There is no other name for a variable but a half of a pair.
            let (unit, pair, rest) = (names.fresh(), names.fresh(), names.fresh());
            statements.push(Statement::Zero { to: unit, ty: Type::Unit });
            statements.push(Statement::Pair { to: pair, left: whole, right: unit });
            statements.push(Statement::Split { left: *one, right: rest, of: pair });
            statements.push(Statement::Elim(rest));
        }
        [first, rest @ ..] => {
            let right = if rest.len() == 1 { rest[0] } else { names.fresh() };
            statements.push(Statement::Split { left: *first, right, of: whole });
            if rest.len() > 1 {
                unpack(right, rest, names, statements);
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------------------------------ printing

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_cotangent { "d" } else { "x" }, self.number)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Unit => write!(f, "()"),
            Type::Number(prim) => write!(f, "{}", prim.name()),
            Type::Pair(left, right) => write!(f, "({left}, {right})"),
            Type::Sum(_, left, right) => write!(f, "({left} ⊕ {right})"),
        }
    }
}

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statements: Vec<String> = self.statements.iter().map(ToString::to_string).collect();
        write!(f, "{}", statements.join("; "))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Call { to, callee, argument } => {
                let name = match callee {
                    Callee::Operation(op) => op.name(),
                    Callee::OperationForward(op) => format!("rf${}", op.name()),
                    Callee::OperationReverse(op) => format!("rr${}", op.name()),
                    Callee::Function { function, part: Part::Plain, .. } => format!("f{}", function.0),
                    Callee::Function { function, part: Part::Forward, .. } => format!("rf$f{}", function.0),
                    Callee::Function { function, part: Part::Reverse, .. } => format!("rr$f{}", function.0),
                    Callee::Add => String::from("add"),
                    Callee::ZeroLike => String::from("zero"),
                };
                write!(f, "{to} = Call {name} {argument}")
            }
            Statement::Const { to, value } => write!(f, "{to} = Const {}", super::printing::number(value)),
            Statement::Zero { to, .. } => write!(f, "{to} = Const 0"),
            Statement::Elim(of) => write!(f, "Elim {of}"),
            Statement::Dup { to, of } => write!(f, "{to} = Dup {of}"),
            Statement::Pair { to, left, right } => write!(f, "{to} = ({left}, {right})"),
            Statement::Split { left, right, of } => write!(f, "({left}, {right}) = {of}"),
            Statement::Inject { to, side, of, .. } => write!(f, "{to} = {} {of}", if *side == 0 { "Inl" } else { "Inr" }),
            Statement::Case { of, branches } => {
                let [(left, first), (right, second)] = &**branches;
                write!(f, "Case {of} (Inl {left} {{{first}}}) (Inr {right} {{{second}}})")
            }
        }
    }
}
