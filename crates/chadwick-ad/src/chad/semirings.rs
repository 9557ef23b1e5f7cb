//! Primal numbers that are elements, too: formal derivatives over a commutative semiring (Vákár and Smeding, section 11.3).
//!
//! `D1(R)` is the semiring, `D(+)` its sum and `D(*)` its product, whose partial derivatives are one and the other factor. Numbers are those
//! of float types; integers, truth values and sizes stay what they are, and so does everything that is built of numbers. A constant is
//! zero or one, as it is zero or not.
//!
//! Other operations mean something where sums only collect (`a + a = a`): the result has a part of every operand, and is there by itself if the
//! operation does not take zeros to zero. A comparison of numbers means nothing: elements do not say which number they stand for.

use super::monoids::{Monoid, choice, converted};
use crate::context::{Applied, Context};
use chadwick_core::prim::{Derivative, eval, eval_compare};
use chadwick_core::{Atom, BinaryOp, CompareOp, Const, Prim, PrimOp};
use chadwick_source::Span;

/// What makes a commutative semiring of a commutative monoid.
#[derive(Debug)]
pub struct Semiring {
    /// What elements are, in words.
    pub name: &'static str,
    one: Const,
    times: fn(&mut Context, Atom, Atom, Span) -> Atom,
    /// Whether operations that are neither sums nor products collect their operands.
    collects: bool,
}

/// Whether a number may be other than zero: the Boolean semiring. A derivative says what a result depends on, given which numbers are zero.
pub const TRUTHS: Monoid = Monoid {
    semiring: Some(&Semiring {
        name: "truth values",
        one: Const::Bool(true),
        times: |context, left, right, span| context.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![left, right], span),
        collects: true,
    }),
    ..super::monoids::TRUTHS
};

/// What a number was made from: nothing at all (zero), or a set of labels (lineage, the provenance of databases). The lowest bit says that it is not
/// zero, those above are labels. Outside it is a number with labels for bits.
pub const LINEAGE: Monoid = Monoid {
    prim: Prim::I64,
    zero: Const::I64(0),
    plus: BinaryOp::Or,
    element: |context, number, prim, span| {
        let labels = converted(context, number, (prim, Prim::I64), span);
        let is_absent = is_zero(context, &labels, span);
        let above = context.i64_op(BinaryOp::ShiftLeft, labels, Atom::i64(1), span);
        let present = context.i64_op(BinaryOp::Or, above, Atom::i64(1), span);
        choice(context, is_absent, Atom::i64(0), present, span)
    },
    number: |context, element, prim, span| {
        let labels = context.i64_op(BinaryOp::ShiftRightLogical, element, Atom::i64(1), span);
        converted(context, labels, (Prim::I64, prim), span)
    },
    semiring: Some(&Semiring {
        name: "lineage",
        one: Const::I64(1),
        times: |context, left, right, span| {
            let [no_left, no_right] = [&left, &right].map(|factor| is_zero(context, factor, span));
            let is_absent = context.prim(PrimOp::Binary(BinaryOp::Or, Prim::Bool), vec![no_left, no_right], span);
            let both = context.i64_op(BinaryOp::Or, left, right, span);
            choice(context, is_absent, Atom::i64(0), both, span)
        },
        collects: true,
    }),
};

/// What a number costs at least: minima for sums, sums for products (the tropical semiring). A derivative is the least cost of all else that makes a
/// result together with an input. Infinity is zero, and zero is one.
pub const COSTS: Monoid = Monoid {
    prim: Prim::F64,
    zero: Const::F64(f64::INFINITY),
    plus: BinaryOp::Min,
    element: |context, number, prim, span| converted(context, number, (prim, Prim::F64), span),
    number: |context, cost, prim, span| converted(context, cost, (Prim::F64, prim), span),
    semiring: Some(&Semiring {
        name: "costs",
        one: Const::F64(0.0),
        times: |context, left, right, span| context.prim(PrimOp::Binary(BinaryOp::Add, Prim::F64), vec![left, right], span),
        collects: false,
    }),
};

fn is_zero(context: &mut Context, labels: &Atom, span: Span) -> Atom {
    context.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![labels.clone(), Atom::i64(0)], span)
}

fn is_zero_constant(constant: Const) -> bool {
    eval_compare(CompareOp::Equal, constant, Const::zero(constant.prim())).unwrap_or(false)
}

/// What an operation on numbers does to elements.
#[derive(Clone, Copy, PartialEq)]
enum Sense {
    /// Nothing that would be known.
    None,
    Same,
    Sum,
    Product,
    /// `x * y + z`
    ProductAndSum,
    /// `x / y`, the product with something that is not zero and made from `y`.
    Quotient,
    /// An integer becomes a number.
    Number(Prim),
    Collect {
        with_one: bool,
    },
}

impl Semiring {
    fn sense(&self, op: PrimOp) -> Sense {
        let is_number = |prim: &Prim| prim.is_float();
        match op {
            PrimOp::Binary(BinaryOp::Add, _) => Sense::Sum,
            PrimOp::Binary(BinaryOp::Mul | BinaryOp::Scale, _) => Sense::Product,
            PrimOp::FusedMultiplyAdd(_) => Sense::ProductAndSum,
            PrimOp::Convert { from, to } if from.is_float() && to.is_float() => Sense::Same,
            PrimOp::Convert { from, to } if to.is_float() => Sense::Number(from),
            op if !self.collects || !op.result().is_float() || !op.operands().iter().all(is_number) => Sense::None,
            PrimOp::Binary(BinaryOp::Div, _) => Sense::Quotient,
            op => {
                let zeros: Vec<Const> = op.operands().into_iter().map(Const::zero).collect();
                Sense::Collect { with_one: !eval(op, &zeros).is_ok_and(is_zero_constant) }
            }
        }
    }
}

impl Monoid {
    /// The element that a constant of the program is.
    pub fn constant(&self, semiring: &Semiring, constant: Const) -> Const {
        if is_zero_constant(constant) { self.zero } else { semiring.one }
    }

    fn sum(&self, context: &mut Context, left: Atom, right: Atom, span: Span) -> Atom {
        context.prim(PrimOp::Binary(self.plus, self.prim), vec![left, right], span)
    }

    /// The value of an operation on elements; nothing if it has no meaning for them.
    pub fn value(&self, context: &mut Context, semiring: &Semiring, op: PrimOp, operands: &[Atom], span: Span) -> Option<Atom> {
        let one = Atom::Const(semiring.one);
        Some(match (semiring.sense(op), operands) {
            (Sense::Same, [operand]) => operand.clone(),
            (Sense::Sum, [left, right]) => self.sum(context, left.clone(), right.clone(), span),
            (Sense::Product, [left, right]) => (semiring.times)(context, left.clone(), right.clone(), span),
            (Sense::ProductAndSum, [left, right, last]) => {
                let product = (semiring.times)(context, left.clone(), right.clone(), span);
                self.sum(context, product, last.clone(), span)
            }
            (Sense::Quotient, [left, right]) => {
                let inverse = self.sum(context, one, right.clone(), span);
                (semiring.times)(context, left.clone(), inverse, span)
            }
            (Sense::Number(prim), [number]) => {
                let zero = Atom::Const(Const::zero(prim));
                let is_zero = context.prim(PrimOp::Compare(CompareOp::Equal, prim), vec![number.clone(), zero], span);
                choice(context, is_zero, Atom::Const(self.zero), one, span)
            }
            (Sense::Collect { with_one }, operands) => {
                let start = with_one.then_some(one);
                let all = start.into_iter().chain(operands.iter().cloned());
                all.reduce(|left, right| self.sum(context, left, right, span))?
            }
            _ => return None,
        })
    }

    /// What passes through one operand of an operation on elements.
    pub fn passed(
        &self,
        context: &mut Context,
        semiring: &Semiring,
        (derivative, at): (&Derivative, usize),
        cotangent: &Atom,
        applied: &Applied<'_>,
        span: Span,
    ) -> Option<Atom> {
        let unchanged = cotangent.clone();
        let factor = match (semiring.sense(applied.op), applied.operands, at) {
            (Sense::None | Sense::Number(_), ..) => return None,
            (Sense::Same | Sense::Sum, ..) | (Sense::ProductAndSum, _, 2) => return Some(unchanged),
            (Sense::Collect { .. }, ..) => return (*derivative != Derivative::Zero).then_some(unchanged),
            (Sense::Quotient, [_, right], 0) => self.sum(context, Atom::Const(semiring.one), right.clone(), span),
            (Sense::Product | Sense::ProductAndSum | Sense::Quotient, operands, at) => operands.get(1 - at.min(1))?.clone(),
        };
        Some((semiring.times)(context, unchanged, factor, span))
    }
}

/// Whether an operation has to do with numbers.
pub fn is_on_numbers(op: PrimOp) -> bool {
    op.result().is_float() || op.operands().iter().any(|prim| prim.is_float())
}
