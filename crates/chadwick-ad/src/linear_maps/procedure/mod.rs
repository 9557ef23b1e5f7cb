//! The procedure language (Ellis et al., section 10): statements over variables, each of which is used exactly once.
//!
//! A procedure has no nested terms. Using a value twice is `Dup`, not using it is `Elim`. That makes its reverse mode a translation of each
//! statement by itself: a forward procedure, which also binds tapes, and a reverse procedure over the cotangents ([`translate`]). The paper gives no rules for `Case`; here its forward translation tags the tapes of the branch that was taken,
//! and its reverse translation branches on that tag.

mod emit;
mod programs;
mod translate;
mod typing;

pub(super) use programs::Procedures;
pub(super) use translate::{Translated, translate};

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
