//! The numbers that cotangents are made of while they travel.
//!
//! Every float travels as an `f64` and every integer as an `i64`: sums and products of wrapping integers are right in their low bits
//! whatever the width. A program in which only one kind is active has cotangents of one component; else a cotangent has one of each, of
//! which an operation uses its own.

use crate::context::{Applied, Context};
use chadwick_core::prim::Derivative;
use chadwick_core::{Atom, BinaryOp, Const, Prim, PrimOp, Type};
use chadwick_source::Span;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Numbers {
    /// `f64`, `i64`, or both.
    pub prims: Vec<Prim>,
    /// Conversions whose cotangents are changed on the way back: from the type of the result to that of the operand.
    pub conversions: Vec<(Prim, Prim)>,
    /// Whether a function with a rule of its own is called.
    pub calls: bool,
}

/// An operand through which a cotangent passes: what stands beside it, and what happens to the cotangent.
pub struct Part {
    pub beside: Vec<Atom>,
    pub factor: Factor,
}

#[derive(Clone)]
pub enum Factor {
    /// Multiplied by a number, in the component.
    Scale(usize, Atom),
    /// Converted from the type of the result to that of the operand.
    Convert(Prim, Prim),
}

/// The type in which cotangents of a type travel.
pub fn carrier(prim: Prim) -> Prim {
    if prim.is_float() { Prim::F64 } else { Prim::I64 }
}

/// Whether a cotangent is changed when it goes back through the conversion of a value.
pub fn changes(from: Prim, to: Prim) -> bool {
    match (from.is_float(), to.is_float()) {
        (true, true) => false,
        // The low bits that a narrower operand has are those of the result.
        (false, false) => from.bytes() > to.bytes(),
        _ => true,
    }
}

impl Factor {
    pub fn is_one(&self) -> bool {
        matches!(self, Factor::Scale(_, Atom::Const(factor)) if *factor == Const::one(factor.prim()))
    }
}

impl Numbers {
    pub fn types(&self) -> Vec<Type> {
        self.prims.iter().map(|prim| Type::Prim(*prim)).collect()
    }

    /// The zero cotangent of the input, with a place for what is no input.
    pub fn input_cells(&self, context: &mut Context, inputs: &Atom, span: Span) -> Vec<Atom> {
        let size = context.i64_op(BinaryOp::Add, inputs.clone(), Atom::i64(1), span);
        self.cells(context, &size, span)
    }

    pub fn zeros(&self) -> Vec<Atom> {
        self.prims.iter().map(|prim| Atom::Const(Const::zero(*prim))).collect()
    }

    /// The component of a type's cotangents.
    pub fn position(&self, prim: Prim) -> Option<usize> {
        self.prims.iter().position(|known| *known == carrier(prim))
    }

    /// A cotangent of a type as it travels.
    pub fn as_numbers(&self, context: &mut Context, cotangent: Atom, prim: Prim, span: Span) -> Vec<Atom> {
        let mut numbers = self.zeros();
        if let Some(at) = self.position(prim) {
            numbers[at] = converted(context, cotangent, prim, carrier(prim), span);
        }
        numbers
    }

    /// What arrived for a scalar of a type.
    pub fn as_cotangent(&self, context: &mut Context, numbers: &[Atom], prim: Prim, span: Span) -> Atom {
        match self.position(prim).and_then(|at| numbers.get(at)) {
            Some(number) => converted(context, number.clone(), carrier(prim), prim, span),
            None => Atom::Const(Const::zero(prim)),
        }
    }

    pub fn add(&self, context: &mut Context, left: &[Atom], right: &[Atom], span: Span) -> Vec<Atom> {
        left.iter().zip(right).map(|(left, right)| context.sum(left.clone(), right.clone(), span)).collect()
    }

    /// The cotangent behind a factor.
    pub fn apply(&self, context: &mut Context, cotangent: &[Atom], factor: &Factor, span: Span) -> Vec<Atom> {
        let mut numbers = self.zeros();
        match factor {
            Factor::Scale(at, _) if factor.is_one() => numbers[*at] = cotangent[*at].clone(),
            Factor::Scale(at, by) => {
                let scale = PrimOp::Binary(BinaryOp::Scale, self.prims[*at]);
                numbers[*at] = context.prim(scale, vec![cotangent[*at].clone(), by.clone()], span);
            }
            Factor::Convert(from, to) => {
                let own = self.as_cotangent(context, cotangent, *from, span);
                let back = converted(context, own, *from, *to, span);
                return self.as_numbers(context, back, *to, span);
            }
        }
        numbers
    }

    /// How a cotangent passes through an operand; `None` if it does not.
    pub fn factor(&self, context: &mut Context, derivative: &Derivative, applied: &Applied<'_>, span: Span) -> Option<Factor> {
        let op = applied.op;
        let prim = op.result();
        let at = self.position(prim)?;
        let own = carrier(prim);
        Some(match derivative {
            Derivative::Zero => return None,
            Derivative::One => Factor::Scale(at, Atom::Const(Const::one(own))),
            Derivative::MinusOne => Factor::Scale(at, Atom::Const(Const::from_i128(own, -1))),
            Derivative::Scale(partial) => {
                let partial = context.partial(partial, applied, span);
                if matches!(&partial, Atom::Const(constant) if *constant == Const::zero(prim)) {
                    return None;
                }
                Factor::Scale(at, converted(context, partial, prim, own, span))
            }
            Derivative::Convert => {
                let PrimOp::Convert { from, to } = op else { return None };
                match changes(from, to) {
                    true => Factor::Convert(to, from),
                    false => Factor::Scale(at, Atom::Const(Const::one(own))),
                }
            }
        })
    }
}

fn converted(context: &mut Context, atom: Atom, from: Prim, to: Prim, span: Span) -> Atom {
    match atom {
        atom if from == to => atom,
        Atom::Const(constant) if constant == Const::zero(from) => Atom::Const(Const::zero(to)),
        Atom::Const(constant) if constant == Const::one(from) => Atom::Const(Const::one(to)),
        atom => context.prim(PrimOp::Convert { from, to }, vec![atom], span),
    }
}
