//! The value of every primitive operation.
//!
//! Integers wrap around; division floors; a shift by a negative amount or by the width or more gives zeros (sign bits for the
//! arithmetic one). Floats are IEEE-754 in their own type; `f16` is computed in `f32` and rounded.

use super::{BinaryOp, CompareOp, PrimOp, UnaryOp, special};
use crate::constant::Const;
use crate::types::Prim;
use half::f16;

/// Why a primitive operation has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimError {
    DivisionByZero,
    NegativeExponent,
    /// Operands of the wrong number or type; the verifier excludes it.
    IllTyped,
}

impl std::fmt::Display for PrimError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PrimError::DivisionByZero => "division by zero",
            PrimError::NegativeExponent => "negative exponent in an integer power",
            PrimError::IllTyped => "ill-typed primitive operation",
        })
    }
}

impl std::error::Error for PrimError {}

type PrimResult = Result<Const, PrimError>;

/// The value of an operation.
pub fn eval(op: PrimOp, args: &[Const]) -> PrimResult {
    match (op, args) {
        (PrimOp::Unary(op, _), [x]) => eval_unary(op, *x),
        (PrimOp::Binary(op, _), [x, y]) => eval_binary(op, *x, *y),
        (PrimOp::Compare(op, _), [x, y]) => eval_compare(op, *x, *y).map(Const::Bool),
        (PrimOp::FusedMultiplyAdd(_), [x, y, z]) => fused_multiply_add(*x, *y, *z),
        (PrimOp::Convert { to, .. }, [x]) => Ok(convert(*x, to)),
        (PrimOp::ToBits(_), [x]) => match x {
            Const::F16(x) => Ok(Const::U16(x.to_bits())),
            Const::F32(x) => Ok(Const::U32(x.to_bits())),
            Const::F64(x) => Ok(Const::U64(x.to_bits())),
            _ => Err(PrimError::IllTyped),
        },
        (PrimOp::FromBits(_), [x]) => match x {
            Const::U16(x) => Ok(Const::F16(f16::from_bits(*x))),
            Const::U32(x) => Ok(Const::F32(f32::from_bits(*x))),
            Const::U64(x) => Ok(Const::F64(f64::from_bits(*x))),
            _ => Err(PrimError::IllTyped),
        },
        (PrimOp::LoadExponent(_), [x, Const::I32(exponent)]) => match x {
            Const::F16(x) => Ok(Const::F16(f16::from_f64(libm::ldexp(x.to_f64(), *exponent)))),
            Const::F32(x) => Ok(Const::F32(libm::ldexpf(*x, *exponent))),
            Const::F64(x) => Ok(Const::F64(libm::ldexp(*x, *exponent))),
            _ => Err(PrimError::IllTyped),
        },
        (PrimOp::PopCount(_), [x]) => bit_count(*x, |bits, _| bits.count_ones()),
        (PrimOp::LeadingZeros(_), [x]) => bit_count(*x, |bits, width| bits.leading_zeros() - (64 - width)),
        (PrimOp::TrailingZeros(_), [x]) => bit_count(*x, |bits, width| bits.trailing_zeros().min(width)),
        _ => Err(PrimError::IllTyped),
    }
}

fn bit_count(x: Const, count: impl FnOnce(u64, u32) -> u32) -> PrimResult {
    let prim = x.prim();
    match zero_extended(x) {
        Some(bits) => Ok(Const::I32(count(bits, prim.bits()) as i32)),
        None => Err(PrimError::IllTyped),
    }
}

/// The bits of an integer, with zeros in front.
fn zero_extended(x: Const) -> Option<u64> {
    match x {
        Const::I8(x) => Some(u64::from(x as u8)),
        Const::I16(x) => Some(u64::from(x as u16)),
        Const::I32(x) => Some(u64::from(x as u32)),
        Const::I64(x) => Some(x as u64),
        Const::U8(x) => Some(u64::from(x)),
        Const::U16(x) => Some(u64::from(x)),
        Const::U32(x) => Some(u64::from(x)),
        Const::U64(x) => Some(x),
        _ => None,
    }
}

fn fused_multiply_add(x: Const, y: Const, z: Const) -> PrimResult {
    match (x, y, z) {
        (Const::F16(x), Const::F16(y), Const::F16(z)) => {
            Ok(Const::F16(f16::from_f64(x.to_f64().mul_add(y.to_f64(), z.to_f64()))))
        }
        (Const::F32(x), Const::F32(y), Const::F32(z)) => Ok(Const::F32(x.mul_add(y, z))),
        (Const::F64(x), Const::F64(y), Const::F64(z)) => Ok(Const::F64(x.mul_add(y, z))),
        _ => Err(PrimError::IllTyped),
    }
}

/// Converts between any two scalar types.
///
/// Integers: narrowing keeps the low bits; widening sign-extends from signed to signed and zero-extends otherwise. Float to integer
/// goes toward zero, saturates, and gives 0 for NaN and the infinities; a negative float that fits the signed type of the
/// same width becomes unsigned through it.
pub fn convert(x: Const, to: Prim) -> Const {
    match x {
        Const::I64(x) if to == Prim::F64 => Const::F64(x as f64),
        Const::Bool(x) => Const::from_i128(to, i128::from(x)),
        Const::F16(x) => convert_float(x.to_f64(), to),
        Const::F32(x) => convert_float(f64::from(x), to),
        Const::F64(x) => match to {
            Prim::F64 => Const::F64(x),
            _ => convert_float(x, to),
        },
        integer => {
            let signed = match integer {
                Const::I8(x) => Some(i128::from(x)),
                Const::I16(x) => Some(i128::from(x)),
                Const::I32(x) => Some(i128::from(x)),
                Const::I64(x) => Some(i128::from(x)),
                _ => None,
            };
            let unsigned = i128::from(zero_extended(integer).unwrap_or(0));
            match (to, signed) {
                (_, None) => from_exact(to, unsigned),
                (to, Some(_)) if to.is_unsigned() => Const::from_i128(to, unsigned),
                (to, Some(signed)) => from_exact(to, signed),
            }
        }
    }
}

/// Like [`Const::from_i128`], with one rounding for every float type.
fn from_exact(to: Prim, value: i128) -> Const {
    match to {
        // i128 → f64 → f16 would round twice only where f64 is inexact, which is out of f16's range anyway.
        Prim::F16 => Const::F16(f16::from_f64(value as f64)),
        _ => Const::from_i128(to, value),
    }
}

fn convert_float(x: f64, to: Prim) -> Const {
    let fits_signed = |lowest: f64| x < 0.0 && x.trunc() >= lowest;
    match to {
        Prim::Bool => Const::Bool(x != 0.0),
        Prim::F16 => Const::F16(f16::from_f64(x)),
        Prim::F32 => Const::F32(x as f32),
        Prim::F64 => Const::F64(x),
        _ if !x.is_finite() => Const::zero(to),
        Prim::I8 => Const::I8(x as i8),
        Prim::I16 => Const::I16(x as i16),
        Prim::I32 => Const::I32(x as i32),
        Prim::I64 => Const::I64(x as i64),
        Prim::U8 if fits_signed(f64::from(i8::MIN)) => Const::U8(x as i8 as u8),
        Prim::U16 if fits_signed(f64::from(i16::MIN)) => Const::U16(x as i16 as u16),
        Prim::U32 if fits_signed(f64::from(i32::MIN)) => Const::U32(x as i32 as u32),
        Prim::U64 if fits_signed(i64::MIN as f64) => Const::U64(x as i64 as u64),
        Prim::U8 => Const::U8(x as u8),
        Prim::U16 => Const::U16(x as u16),
        Prim::U32 => Const::U32(x as u32),
        Prim::U64 => Const::U64(x as u64),
    }
}

/// Applies `$body` to the integers of equal type in `$x`, `$y`, with `$signed` and `$unsigned` the types of that width.
macro_rules! same_integers {
    ($x:expr, $y:expr, |$a:ident, $b:ident, $int:ident, $signed:ident, $unsigned:ident| $body:expr, $otherwise:expr) => {
        match ($x, $y) {
            (Const::I8($a), Const::I8($b)) => same_integers!(@ $int, $signed, $unsigned, i8, i8, u8, I8, $body),
            (Const::I16($a), Const::I16($b)) => same_integers!(@ $int, $signed, $unsigned, i16, i16, u16, I16, $body),
            (Const::I32($a), Const::I32($b)) => same_integers!(@ $int, $signed, $unsigned, i32, i32, u32, I32, $body),
            (Const::I64($a), Const::I64($b)) => same_integers!(@ $int, $signed, $unsigned, i64, i64, u64, I64, $body),
            (Const::U8($a), Const::U8($b)) => same_integers!(@ $int, $signed, $unsigned, u8, i8, u8, U8, $body),
            (Const::U16($a), Const::U16($b)) => same_integers!(@ $int, $signed, $unsigned, u16, i16, u16, U16, $body),
            (Const::U32($a), Const::U32($b)) => same_integers!(@ $int, $signed, $unsigned, u32, i32, u32, U32, $body),
            (Const::U64($a), Const::U64($b)) => same_integers!(@ $int, $signed, $unsigned, u64, i64, u64, U64, $body),
            _ => $otherwise,
        }
    };
    (@ $int:ident, $signed:ident, $unsigned:ident, $int_is:ty, $signed_is:ty, $unsigned_is:ty, $make:ident, $body:expr) => {{
        #[allow(dead_code, clippy::allow_attributes, reason = "not every body names all three types")]
        type $int = $int_is;
        #[allow(dead_code, clippy::allow_attributes, reason = "not every body names all three types")]
        type $signed = $signed_is;
        #[allow(dead_code, clippy::allow_attributes, reason = "not every body names all three types")]
        type $unsigned = $unsigned_is;
        $body.map(Const::$make)
    }};
}

/// The value of a unary operation.
pub fn eval_unary(op: UnaryOp, x: Const) -> PrimResult {
    match x {
        Const::F64(x) => float_unary(op, x).map(Const::F64),
        Const::F32(x) => single_unary(op, x).map(Const::F32),
        Const::F16(x) => single_unary(op, x.to_f32()).map(|y| Const::F16(f16::from_f32(y))),
        Const::Bool(x) if op == UnaryOp::Not => Ok(Const::Bool(!x)),
        Const::Bool(_) => Err(PrimError::IllTyped),
        integer => integer_unary(op, integer),
    }
}

fn integer_unary(op: UnaryOp, x: Const) -> PrimResult {
    let zero = Const::zero(x.prim());
    match op {
        UnaryOp::Negate => eval_binary(BinaryOp::Sub, zero, x),
        UnaryOp::Not => eval_binary(BinaryOp::Xor, x, Const::from_i128(x.prim(), -1)),
        UnaryOp::Abs => match eval_compare(CompareOp::Less, x, zero)? {
            true => integer_unary(UnaryOp::Negate, x),
            false => Ok(x),
        },
        UnaryOp::Sign => {
            let below = eval_compare(CompareOp::Less, x, zero)?;
            let above = eval_compare(CompareOp::Less, zero, x)?;
            Ok(Const::from_i128(x.prim(), i128::from(above) - i128::from(below)))
        }
        _ => Err(PrimError::IllTyped),
    }
}

fn float_unary(op: UnaryOp, x: f64) -> Result<f64, PrimError> {
    use std::f64::consts::PI;
    Ok(match op {
        UnaryOp::Negate => -x,
        UnaryOp::Not => return Err(PrimError::IllTyped),
        UnaryOp::Abs => x.abs(),
        UnaryOp::Sign => match x {
            _ if x > 0.0 => 1.0,
            _ if x < 0.0 => -1.0,
            _ => x,
        },
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Cbrt => x.cbrt(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log2 => x.log2(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Log1p => x.ln_1p(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Asinh => libm::asinh(x),
        UnaryOp::Acosh if x < 1.0 => f64::NAN,
        UnaryOp::Acosh => libm::acosh(x),
        UnaryOp::Atanh => libm::atanh(x),
        UnaryOp::SinPi => special::sin_pi(x),
        UnaryOp::CosPi => special::cos_pi(x),
        UnaryOp::TanPi => special::tan_pi(x),
        UnaryOp::AsinPi => x.asin() / PI,
        UnaryOp::AcosPi => x.acos() / PI,
        UnaryOp::AtanPi => x.atan() / PI,
        UnaryOp::Gamma => libm::tgamma(x),
        UnaryOp::LogGamma => libm::lgamma(x),
        UnaryOp::Digamma => special::polygamma(0, x),
        UnaryOp::Polygamma(order) => special::polygamma(order, x),
        UnaryOp::Erf => libm::erf(x),
        UnaryOp::Erfc => libm::erfc(x),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Trunc => x.trunc(),
        UnaryOp::Round => x.round_ties_even(),
        UnaryOp::Detach => x,
    })
}

fn single_unary(op: UnaryOp, x: f32) -> Result<f32, PrimError> {
    Ok(match op {
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log2 => x.log2(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Log1p => x.ln_1p(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
        // Exact, correctly rounded, or better than single precision.
        _ => float_unary(op, f64::from(x))? as f32,
    })
}

/// The value of a binary operation.
pub fn eval_binary(op: BinaryOp, x: Const, y: Const) -> PrimResult {
    match (x, y) {
        (Const::F64(x), Const::F64(y)) => float_binary(op, x, y).map(Const::F64),
        (Const::F32(x), Const::F32(y)) => single_binary(op, x, y).map(Const::F32),
        (Const::F16(x), Const::F16(y)) => match op {
            BinaryOp::NextAfter => Ok(Const::F16(special::next_after_f16(x, y))),
            _ => single_binary(op, x.to_f32(), y.to_f32()).map(|z| Const::F16(f16::from_f32(z))),
        },
        (Const::Bool(x), Const::Bool(y)) => match op {
            BinaryOp::And => Ok(Const::Bool(x && y)),
            BinaryOp::Or => Ok(Const::Bool(x || y)),
            BinaryOp::Xor => Ok(Const::Bool(x != y)),
            _ => Err(PrimError::IllTyped),
        },
        _ => integer_binary(op, x, y),
    }
}

fn float_binary(op: BinaryOp, x: f64, y: f64) -> Result<f64, PrimError> {
    Ok(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Scale if x == 0.0 => x,
        BinaryOp::Scale => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Mod => x % y,
        // A square is a product, also where the exponent is only known later.
        BinaryOp::Pow if y == 2.0 => x * x,
        BinaryOp::Pow => x.powf(y),
        BinaryOp::Min => match x <= y || y.is_nan() {
            true => x,
            false => y,
        },
        BinaryOp::Max => match x >= y || y.is_nan() {
            true => x,
            false => y,
        },
        BinaryOp::Atan2 => x.atan2(y),
        BinaryOp::Atan2Pi => x.atan2(y) / std::f64::consts::PI,
        BinaryOp::Hypot => x.hypot(y),
        BinaryOp::CopySign => x.copysign(y),
        BinaryOp::NextAfter => libm::nextafter(x, y),
        _ => return Err(PrimError::IllTyped),
    })
}

fn single_binary(op: BinaryOp, x: f32, y: f32) -> Result<f32, PrimError> {
    Ok(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Scale if x == 0.0 => x,
        BinaryOp::Scale => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Mod => x % y,
        // A square is a product, also where the exponent is only known later.
        BinaryOp::Pow if y == 2.0 => x * x,
        BinaryOp::Pow => x.powf(y),
        BinaryOp::NextAfter => libm::nextafterf(x, y),
        _ => float_binary(op, f64::from(x), f64::from(y))? as f32,
    })
}

fn integer_binary(op: BinaryOp, x: Const, y: Const) -> PrimResult {
    let wrong = Err(PrimError::IllTyped);
    // For shifts: a negative amount is a large one.
    let amount = zero_extended(y).unwrap_or(u64::MAX);
    match op {
        BinaryOp::Add => same_integers!(x, y, |a, b, I, S, U| Ok(a.wrapping_add(b)), wrong),
        BinaryOp::Sub => same_integers!(x, y, |a, b, I, S, U| Ok(a.wrapping_sub(b)), wrong),
        BinaryOp::Mul | BinaryOp::Scale => same_integers!(x, y, |a, b, I, S, U| Ok(a.wrapping_mul(b)), wrong),
        BinaryOp::Div | BinaryOp::Mod | BinaryOp::Quot | BinaryOp::Rem => divide(op, x, y),
        BinaryOp::Pow => {
            // The exponent is not negative, so its bits are its value.
            if eval_compare(CompareOp::Less, y, Const::zero(y.prim()))? {
                return Err(PrimError::NegativeExponent);
            }
            same_integers!(
                x,
                y,
                |a, b, I, S, U| {
                    let (mut power, mut base, mut rest): (I, I, I) = (1, a, b);
                    while rest > 0 {
                        if rest & 1 == 1 {
                            power = power.wrapping_mul(base);
                        }
                        base = base.wrapping_mul(base);
                        rest >>= 1;
                    }
                    Ok(power)
                },
                wrong
            )
        }
        BinaryOp::Min => same_integers!(x, y, |a, b, I, S, U| Ok(a.min(b)), wrong),
        BinaryOp::Max => same_integers!(x, y, |a, b, I, S, U| Ok(a.max(b)), wrong),
        BinaryOp::And => same_integers!(x, y, |a, b, I, S, U| Ok(a & b), wrong),
        BinaryOp::Or => same_integers!(x, y, |a, b, I, S, U| Ok(a | b), wrong),
        BinaryOp::Xor => same_integers!(x, y, |a, b, I, S, U| Ok(a ^ b), wrong),
        BinaryOp::ShiftLeft => {
            same_integers!(x, y, |a, _b, I, S, U| Ok(if amount < u64::from(I::BITS) { a << amount } else { 0 }), wrong)
        }
        BinaryOp::ShiftRightLogical => {
            same_integers!(
                x,
                y,
                |a, _b, I, S, U| Ok(if amount < u64::from(I::BITS) { ((a as U) >> amount) as I } else { 0 }),
                wrong
            )
        }
        BinaryOp::ShiftRightArithmetic => {
            same_integers!(x, y, |a, _b, I, S, U| Ok(((a as S) >> amount.min(u64::from(I::BITS) - 1)) as I), wrong)
        }
        BinaryOp::MulHigh => {
            same_integers!(
                x,
                y,
                |a, b, I, S, U| Ok(match I::MIN == 0 {
                    true => (((a as u128) * (b as u128)) >> I::BITS) as I,
                    false => (((a as i128) * (b as i128)) >> I::BITS) as I,
                }),
                wrong
            )
        }
        _ => wrong,
    }
}

fn divide(op: BinaryOp, x: Const, y: Const) -> PrimResult {
    let wrong = Err(PrimError::IllTyped);
    same_integers!(
        x,
        y,
        |a, b, I, S, U| match b {
            0 => Err(PrimError::DivisionByZero),
            _ => {
                let (quotient, remainder): (I, I) = (a.wrapping_div(b), a.wrapping_rem(b));
                // Floor: one lower where the signs differ and something is left.
                let adjust = remainder != 0 && ((remainder ^ b) as S) < 0 && I::MIN != 0;
                Ok(match op {
                    BinaryOp::Div if adjust => quotient.wrapping_sub(1),
                    BinaryOp::Mod if adjust => remainder.wrapping_add(b),
                    BinaryOp::Div | BinaryOp::Quot => quotient,
                    _ => remainder,
                })
            }
        },
        wrong
    )
}

/// The value of a comparison. Booleans are ordered `false < true`.
pub fn eval_compare(op: CompareOp, x: Const, y: Const) -> Result<bool, PrimError> {
    fn compare<T: PartialOrd>(op: CompareOp, x: T, y: T) -> bool {
        match op {
            CompareOp::Equal => x == y,
            CompareOp::Less => x < y,
            CompareOp::LessEqual => x <= y,
        }
    }
    Ok(match (x, y) {
        (Const::Bool(x), Const::Bool(y)) => compare(op, x, y),
        (Const::I8(x), Const::I8(y)) => compare(op, x, y),
        (Const::I16(x), Const::I16(y)) => compare(op, x, y),
        (Const::I32(x), Const::I32(y)) => compare(op, x, y),
        (Const::I64(x), Const::I64(y)) => compare(op, x, y),
        (Const::U8(x), Const::U8(y)) => compare(op, x, y),
        (Const::U16(x), Const::U16(y)) => compare(op, x, y),
        (Const::U32(x), Const::U32(y)) => compare(op, x, y),
        (Const::U64(x), Const::U64(y)) => compare(op, x, y),
        (Const::F16(x), Const::F16(y)) => compare(op, x, y),
        (Const::F32(x), Const::F32(y)) => compare(op, x, y),
        (Const::F64(x), Const::F64(y)) => compare(op, x, y),
        _ => return Err(PrimError::IllTyped),
    })
}
