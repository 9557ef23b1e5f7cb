//! Partial derivatives of the primitive operations, as expressions.
//!
//! An expression is over the operands, the result and constants, and is built from primitive operations itself. So an interpreter can
//! evaluate it on whatever its scalars are (also on numbers that are being differentiated once more), and an engine can emit it as
//! Core. Integers have the same formulas as floats, in wrapping arithmetic.

use super::{BinaryOp, CompareOp, PrimOp, UnaryOp};
use crate::constant::Const;
use crate::types::Prim;
use half::f16;
use std::f64::consts::{LN_2, LN_10, PI};

/// How the (co)tangent passes through one operand of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Derivative {
    /// Not at all.
    Zero,
    /// Unchanged.
    One,
    /// Negated.
    MinusOne,
    /// Multiplied by the partial derivative.
    Scale(Partial),
    /// Converted like the value: a tangent from the operand's type to the result's, a cotangent back.
    Convert,
}

/// An expression for a partial derivative.
#[derive(Clone, Debug, PartialEq)]
pub enum Partial {
    Operand(usize),
    Result,
    Constant(Const),
    Apply(PrimOp, Vec<Partial>),
    /// The second where the first holds, else the third. Only what is selected may be evaluated: the other may fail.
    Select(Box<[Partial; 3]>),
}

/// Whether a zero (co)tangent may meet a partial derivative that is not finite, so that the product must be forced to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The partial is always finite.
    Never,
    /// The partial is finite where the operands and the result are.
    NonFiniteOperands,
    /// The partial may be infinite or NaN at finite operands.
    Always,
}

impl PrimOp {
    /// One derivative per operand.
    pub fn derivatives(self) -> Vec<Derivative> {
        match self {
            PrimOp::Unary(op, prim) => vec![unary(op, Formula { prim })],
            PrimOp::Binary(op, prim) => binary(op, Formula { prim }),
            PrimOp::Compare(..) => vec![Derivative::Zero; 2],
            PrimOp::FusedMultiplyAdd(_) => {
                let operand = |k| Derivative::Scale(Partial::Operand(k));
                vec![operand(1), operand(0), Derivative::One]
            }
            PrimOp::Convert { from, to } if from == Prim::Bool || to == Prim::Bool => vec![Derivative::Zero],
            PrimOp::Convert { .. } => vec![Derivative::Convert],
            PrimOp::LoadExponent(prim) => {
                let one = Partial::Constant(Const::one(prim));
                let scale = Partial::Apply(self, vec![one, Partial::Operand(1)]);
                vec![Derivative::Scale(scale), Derivative::Zero]
            }
            PrimOp::ToBits(_) | PrimOp::FromBits(_) => vec![Derivative::Zero],
            PrimOp::PopCount(_) | PrimOp::LeadingZeros(_) | PrimOp::TrailingZeros(_) => vec![Derivative::Zero],
        }
    }

    /// Where the product of a zero (co)tangent and the operation's partials must be forced to zero.
    pub fn guard(self) -> Guard {
        use BinaryOp::*;
        match self {
            PrimOp::FusedMultiplyAdd(_) => Guard::NonFiniteOperands,
            PrimOp::LoadExponent(_) => Guard::Always,
            PrimOp::Unary(op, prim) if prim.is_float() => match op {
                UnaryOp::Negate | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Sign => Guard::Never,
                UnaryOp::Ceil | UnaryOp::Floor | UnaryOp::Trunc | UnaryOp::Round | UnaryOp::Detach => Guard::Never,
                UnaryOp::Sin | UnaryOp::Cos | UnaryOp::SinPi | UnaryOp::CosPi => Guard::NonFiniteOperands,
                UnaryOp::Tanh | UnaryOp::Atan | UnaryOp::AtanPi | UnaryOp::Asinh => Guard::NonFiniteOperands,
                UnaryOp::Erf | UnaryOp::Erfc => Guard::NonFiniteOperands,
                _ => Guard::Always,
            },
            PrimOp::Binary(op, prim) if prim.is_float() => match op {
                Add | Sub | Min | Max | CopySign | NextAfter => Guard::Never,
                Mul | Scale => Guard::NonFiniteOperands,
                _ => Guard::Always,
            },
            _ => Guard::Never,
        }
    }
}

impl Derivative {
    /// Whether the derivative needs operand `k` when the (co)tangent arrives.
    pub fn uses_operand(&self, k: usize) -> bool {
        matches!(self, Derivative::Scale(partial) if partial.uses(&Partial::Operand(k)))
    }

    pub fn uses_result(&self) -> bool {
        matches!(self, Derivative::Scale(partial) if partial.uses(&Partial::Result))
    }
}

impl Partial {
    fn uses(&self, leaf: &Partial) -> bool {
        match self {
            Partial::Apply(_, args) => args.iter().any(|arg| arg.uses(leaf)),
            Partial::Select(parts) => parts.iter().any(|part| part.uses(leaf)),
            other => other == leaf,
        }
    }
}

/// Writes formulas at one type.
#[derive(Clone, Copy)]
struct Formula {
    prim: Prim,
}

impl Formula {
    fn number(self, value: f64) -> Partial {
        Partial::Constant(match self.prim {
            Prim::F16 => Const::F16(f16::from_f64(value)),
            Prim::F32 => Const::F32(value as f32),
            Prim::F64 => Const::F64(value),
            prim => Const::from_i128(prim, value as i128),
        })
    }

    fn unary(self, op: UnaryOp, x: Partial) -> Partial {
        Partial::Apply(PrimOp::Unary(op, self.prim), vec![x])
    }

    fn binary(self, op: BinaryOp, x: Partial, y: Partial) -> Partial {
        Partial::Apply(PrimOp::Binary(op, self.prim), vec![x, y])
    }

    fn compare(self, op: CompareOp, x: Partial, y: Partial) -> Partial {
        Partial::Apply(PrimOp::Compare(op, self.prim), vec![x, y])
    }

    fn add(self, x: Partial, y: Partial) -> Partial {
        self.binary(BinaryOp::Add, x, y)
    }

    fn sub(self, x: Partial, y: Partial) -> Partial {
        self.binary(BinaryOp::Sub, x, y)
    }

    fn mul(self, x: Partial, y: Partial) -> Partial {
        self.binary(BinaryOp::Mul, x, y)
    }

    fn div(self, x: Partial, y: Partial) -> Partial {
        self.binary(BinaryOp::Div, x, y)
    }

    fn neg(self, x: Partial) -> Partial {
        self.unary(UnaryOp::Negate, x)
    }

    fn sqrt(self, x: Partial) -> Partial {
        self.unary(UnaryOp::Sqrt, x)
    }

    fn is_zero(self, x: Partial) -> Partial {
        self.compare(CompareOp::Equal, x, self.number(0.0))
    }

    fn zero_if(self, condition: Partial, otherwise: Partial) -> Partial {
        Partial::Select(Box::new([condition, self.number(0.0), otherwise]))
    }

    /// `sqrt ((1-x)(1+x))`, without the loss near 1 that `1 - x²` has.
    fn circle(self) -> Partial {
        let (x, one) = (Partial::Operand(0), self.number(1.0));
        self.sqrt(self.mul(self.sub(one.clone(), x.clone()), self.add(one, x)))
    }
}

fn unary(op: UnaryOp, f: Formula) -> Derivative {
    let x = || Partial::Operand(0);
    let r = || Partial::Result;
    let n = |value: f64| f.number(value);
    let one_plus_square = |z: Partial| f.add(n(1.0), f.mul(z.clone(), z));
    let inverse = |z: Partial| f.div(n(1.0), z);
    let gauss = |factor: f64| f.mul(n(factor), f.unary(UnaryOp::Exp, f.neg(f.mul(x(), x()))));
    let two_over_root_pi = 2.0 / PI.sqrt();
    Derivative::Scale(match op {
        UnaryOp::Negate => return Derivative::MinusOne,
        UnaryOp::Not | UnaryOp::Sign | UnaryOp::Ceil | UnaryOp::Floor | UnaryOp::Trunc | UnaryOp::Round | UnaryOp::Detach => {
            return Derivative::Zero;
        }
        UnaryOp::Abs => f.unary(UnaryOp::Sign, x()),
        UnaryOp::Sqrt => f.mul(n(0.5), inverse(r())),
        UnaryOp::Cbrt => inverse(f.mul(n(3.0), f.mul(r(), r()))),
        UnaryOp::Exp => r(),
        UnaryOp::Log => inverse(x()),
        UnaryOp::Log2 => inverse(f.mul(x(), n(LN_2))),
        UnaryOp::Log10 => inverse(f.mul(x(), n(LN_10))),
        UnaryOp::Log1p => inverse(f.add(n(1.0), x())),
        UnaryOp::Sin => f.unary(UnaryOp::Cos, x()),
        UnaryOp::Cos => f.neg(f.unary(UnaryOp::Sin, x())),
        UnaryOp::Tan => one_plus_square(r()),
        UnaryOp::Asin => inverse(f.circle()),
        UnaryOp::Acos => f.div(n(-1.0), f.circle()),
        UnaryOp::Atan => inverse(one_plus_square(x())),
        UnaryOp::Sinh => f.unary(UnaryOp::Cosh, x()),
        UnaryOp::Cosh => f.unary(UnaryOp::Sinh, x()),
        UnaryOp::Tanh => f.mul(f.sub(n(1.0), r()), f.add(n(1.0), r())),
        UnaryOp::Asinh => inverse(f.binary(BinaryOp::Hypot, n(1.0), x())),
        UnaryOp::Acosh => inverse(f.mul(f.sqrt(f.sub(x(), n(1.0))), f.sqrt(f.add(x(), n(1.0))))),
        UnaryOp::Atanh => inverse(f.mul(f.sub(n(1.0), x()), f.add(n(1.0), x()))),
        UnaryOp::SinPi => f.mul(n(PI), f.unary(UnaryOp::CosPi, x())),
        UnaryOp::CosPi => f.mul(n(-PI), f.unary(UnaryOp::SinPi, x())),
        UnaryOp::TanPi => f.mul(n(PI), one_plus_square(r())),
        UnaryOp::AsinPi => inverse(f.mul(n(PI), f.circle())),
        UnaryOp::AcosPi => f.div(n(-1.0), f.mul(n(PI), f.circle())),
        UnaryOp::AtanPi => inverse(f.mul(n(PI), one_plus_square(x()))),
        UnaryOp::Gamma => f.mul(r(), f.unary(UnaryOp::Digamma, x())),
        UnaryOp::LogGamma => f.unary(UnaryOp::Digamma, x()),
        UnaryOp::Digamma => f.unary(UnaryOp::Polygamma(1), x()),
        UnaryOp::Polygamma(order) => f.unary(UnaryOp::Polygamma(order.saturating_add(1)), x()),
        UnaryOp::Erf => gauss(two_over_root_pi),
        UnaryOp::Erfc => gauss(-two_over_root_pi),
    })
}

fn binary(op: BinaryOp, f: Formula) -> Vec<Derivative> {
    use Derivative::{MinusOne, One, Scale, Zero};
    let x = || Partial::Operand(0);
    let y = || Partial::Operand(1);
    let r = || Partial::Result;
    let n = |value: f64| f.number(value);
    let over_square = |z: Partial, divide: BinaryOp| {
        let square = f.mul(y(), y());
        f.zero_if(f.is_zero(square.clone()), f.neg(f.binary(divide, z, square)))
    };
    match op {
        BinaryOp::Add => vec![One, One],
        BinaryOp::Sub => vec![One, MinusOne],
        BinaryOp::Mul | BinaryOp::Scale => vec![Scale(y()), Scale(x())],
        // By way of the inverse, so that one division serves both, and the quotient itself where it is an inverse.
        BinaryOp::Div if f.prim.is_float() => {
            let inverse = f.div(n(1.0), y());
            vec![Scale(inverse.clone()), Scale(f.neg(f.mul(r(), inverse)))]
        }
        // The square may wrap around to zero.
        BinaryOp::Div | BinaryOp::Quot => vec![Scale(f.binary(op, n(1.0), y())), Scale(over_square(x(), op))],
        BinaryOp::Mod if f.prim.is_float() => vec![One, Scale(f.neg(f.unary(UnaryOp::Trunc, f.div(x(), y()))))],
        BinaryOp::Mod => vec![One, Scale(f.neg(f.div(x(), y())))],
        BinaryOp::Rem => vec![One, Scale(f.neg(f.binary(BinaryOp::Quot, x(), y())))],
        BinaryOp::Pow => {
            let lower = f.binary(BinaryOp::Pow, x(), f.sub(y(), n(1.0)));
            let by_base = Scale(f.zero_if(f.is_zero(y()), f.mul(y(), lower)));
            let by_exponent = match f.prim.is_float() {
                true => Scale(f.zero_if(f.is_zero(x()), f.mul(r(), f.unary(UnaryOp::Log, x())))),
                false => Zero,
            };
            vec![by_base, by_exponent]
        }
        BinaryOp::Min | BinaryOp::Max => {
            // The first operand is chosen at ties, and where the second is NaN.
            let not_beyond = match op {
                BinaryOp::Min => f.compare(CompareOp::LessEqual, x(), y()),
                _ => f.compare(CompareOp::LessEqual, y(), x()),
            };
            let logical = Formula { prim: Prim::Bool };
            let first = match f.prim.is_float() {
                true => {
                    let is_nan = logical.unary(UnaryOp::Not, f.compare(CompareOp::Equal, y(), y()));
                    logical.binary(BinaryOp::Or, not_beyond, is_nan)
                }
                false => not_beyond,
            };
            let select = |then: f64, otherwise: f64| {
                Scale(Partial::Select(Box::new([first.clone(), f.number(then), f.number(otherwise)])))
            };
            vec![select(1.0, 0.0), select(0.0, 1.0)]
        }
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::MulHigh => vec![Zero, Zero],
        BinaryOp::ShiftLeft | BinaryOp::ShiftRightArithmetic | BinaryOp::ShiftRightLogical => vec![Zero, Zero],
        BinaryOp::Atan2 | BinaryOp::Atan2Pi => {
            let radius = || f.binary(BinaryOp::Hypot, x(), y());
            let scale = |z: Partial| match op {
                BinaryOp::Atan2 => z,
                _ => f.mul(n(1.0 / PI), z),
            };
            let by_first = f.div(f.div(y(), radius()), radius());
            let by_second = f.neg(f.div(f.div(x(), radius()), radius()));
            vec![Scale(scale(by_first)), Scale(scale(by_second))]
        }
        BinaryOp::Hypot => {
            let part = |z: Partial| Scale(f.zero_if(f.is_zero(r()), f.div(z, r())));
            vec![part(x()), part(y())]
        }
        BinaryOp::CopySign => {
            let sign = |z: Partial| f.binary(BinaryOp::CopySign, n(1.0), z);
            vec![Scale(f.mul(sign(x()), sign(y()))), Zero]
        }
        BinaryOp::NextAfter => vec![One, Zero],
    }
}
