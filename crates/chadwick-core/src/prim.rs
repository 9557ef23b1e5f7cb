//! The primitive operations.

use crate::types::Prim;

/// A primitive operation at a type. Everything else about it is in its row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrimOp {
    Unary(UnaryOp, Prim),
    Binary(BinaryOp, Prim),
    /// Two operands of the type, a boolean result.
    Compare(CompareOp, Prim),
    /// `fma a b c` with one rounding.
    FusedMultiplyAdd(Prim),
    Convert { from: Prim, to: Prim },
    /// The bits of a float as an unsigned integer of the same width, and back.
    ToBits(Prim),
    FromBits(Prim),
    /// `x * 2^k`, `k` an `i32`.
    LoadExponent(Prim),
    /// Number of one bits, leading zeros, trailing zeros of an integer, as an `i32`.
    PopCount(Prim),
    LeadingZeros(Prim),
    TrailingZeros(Prim),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Negate,
    /// Logical on booleans, bitwise on integers.
    Not,
    Abs,
    Sign,
    Sqrt,
    Cbrt,
    Exp,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    SinPi,
    CosPi,
    TanPi,
    AsinPi,
    AcosPi,
    AtanPi,
    Gamma,
    LogGamma,
    /// The derivative of `LogGamma`. No surface name; derivatives need it.
    Digamma,
    /// The derivative of `Digamma`, and so on: `Polygamma(n)`.
    Polygamma(u8),
    Erf,
    Erfc,
    Ceil,
    Floor,
    Trunc,
    /// Half to even.
    Round,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Floor division on integers, IEEE on floats.
    Div,
    /// Modulus of floor division on integers, C `fmod` on floats.
    Mod,
    /// Truncating division and its remainder, integers only.
    Quot,
    Rem,
    Pow,
    /// The operand that is not NaN.
    Min,
    Max,
    /// Logical on booleans (both operands evaluated), bitwise on integers.
    And,
    Or,
    Xor,
    ShiftLeft,
    /// Sign bits come in from the left, whatever the type.
    ShiftRightArithmetic,
    /// Zeros come in from the left, whatever the type.
    ShiftRightLogical,
    MulHigh,
    Atan2,
    Atan2Pi,
    Hypot,
    CopySign,
    NextAfter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    Equal,
    Less,
    LessEqual,
}
