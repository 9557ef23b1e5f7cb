//! The primitive operations: one table for their names, types, values and partial derivatives.
//!
//! A [`PrimOp`] is a row. Its text name and types are here; its value is in [`eval()`], its partial derivatives as small expressions in
//! `derivative`, and points at which tests compare the two in `points`. No other crate knows a formula of calculus.

mod derivative;
mod eval;
mod points;
mod special;

pub use derivative::{Derivative, Guard, Partial};
pub use eval::{PrimError, convert, eval, eval_binary, eval_compare, eval_unary};

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
    Convert {
        from: Prim,
        to: Prim,
    },
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
    /// The operand, a constant to derivatives. No surface name.
    Detach,
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
    /// A (co)tangent times a factor: linear in the first operand, and zero where that is zero, whatever the second is. Derivatives
    /// are made of it, so it also marks what is linear in a cotangent. No surface name.
    Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    Equal,
    Less,
    LessEqual,
}

const UNARY_NAMES: &[(UnaryOp, &str)] = &[
    (UnaryOp::Negate, "neg"),
    (UnaryOp::Not, "not"),
    (UnaryOp::Abs, "abs"),
    (UnaryOp::Sign, "sgn"),
    (UnaryOp::Sqrt, "sqrt"),
    (UnaryOp::Cbrt, "cbrt"),
    (UnaryOp::Exp, "exp"),
    (UnaryOp::Log, "log"),
    (UnaryOp::Log2, "log2"),
    (UnaryOp::Log10, "log10"),
    (UnaryOp::Log1p, "log1p"),
    (UnaryOp::Sin, "sin"),
    (UnaryOp::Cos, "cos"),
    (UnaryOp::Tan, "tan"),
    (UnaryOp::Asin, "asin"),
    (UnaryOp::Acos, "acos"),
    (UnaryOp::Atan, "atan"),
    (UnaryOp::Sinh, "sinh"),
    (UnaryOp::Cosh, "cosh"),
    (UnaryOp::Tanh, "tanh"),
    (UnaryOp::Asinh, "asinh"),
    (UnaryOp::Acosh, "acosh"),
    (UnaryOp::Atanh, "atanh"),
    (UnaryOp::SinPi, "sinpi"),
    (UnaryOp::CosPi, "cospi"),
    (UnaryOp::TanPi, "tanpi"),
    (UnaryOp::AsinPi, "asinpi"),
    (UnaryOp::AcosPi, "acospi"),
    (UnaryOp::AtanPi, "atanpi"),
    (UnaryOp::Gamma, "gamma"),
    (UnaryOp::LogGamma, "lgamma"),
    (UnaryOp::Digamma, "digamma"),
    (UnaryOp::Erf, "erf"),
    (UnaryOp::Erfc, "erfc"),
    (UnaryOp::Ceil, "ceil"),
    (UnaryOp::Floor, "floor"),
    (UnaryOp::Trunc, "trunc"),
    (UnaryOp::Round, "round"),
    (UnaryOp::Detach, "detach"),
];

const BINARY_NAMES: &[(BinaryOp, &str)] = &[
    (BinaryOp::Add, "add"),
    (BinaryOp::Sub, "sub"),
    (BinaryOp::Mul, "mul"),
    (BinaryOp::Div, "div"),
    (BinaryOp::Mod, "mod"),
    (BinaryOp::Quot, "quot"),
    (BinaryOp::Rem, "rem"),
    (BinaryOp::Pow, "pow"),
    (BinaryOp::Min, "min"),
    (BinaryOp::Max, "max"),
    (BinaryOp::And, "and"),
    (BinaryOp::Or, "or"),
    (BinaryOp::Xor, "xor"),
    (BinaryOp::ShiftLeft, "shl"),
    (BinaryOp::ShiftRightArithmetic, "ashr"),
    (BinaryOp::ShiftRightLogical, "lshr"),
    (BinaryOp::MulHigh, "mul_hi"),
    (BinaryOp::Atan2, "atan2"),
    (BinaryOp::Atan2Pi, "atan2pi"),
    (BinaryOp::Hypot, "hypot"),
    (BinaryOp::CopySign, "copysign"),
    (BinaryOp::NextAfter, "nextafter"),
    (BinaryOp::Scale, "scale"),
];

const COMPARE_NAMES: &[(CompareOp, &str)] = &[(CompareOp::Equal, "eq"), (CompareOp::Less, "lt"), (CompareOp::LessEqual, "le")];

fn name_in<T: Copy + PartialEq>(table: &[(T, &'static str)], op: T) -> &'static str {
    table.iter().find(|(row, _)| *row == op).map_or("?", |(_, name)| name)
}

fn op_in<T: Copy>(table: &[(T, &'static str)], name: &str) -> Option<T> {
    table.iter().find(|(_, row)| *row == name).map(|(op, _)| *op)
}

impl UnaryOp {
    fn is_valid(self, prim: Prim) -> bool {
        match self {
            UnaryOp::Not => !prim.is_float(),
            UnaryOp::Negate | UnaryOp::Abs | UnaryOp::Sign => prim != Prim::Bool,
            _ => prim.is_float(),
        }
    }
}

impl BinaryOp {
    fn is_valid(self, prim: Prim) -> bool {
        use BinaryOp::*;
        match self {
            Add | Sub | Mul | Div | Mod | Pow | Min | Max | Scale => prim != Prim::Bool,
            Quot | Rem | ShiftLeft | ShiftRightArithmetic | ShiftRightLogical | MulHigh => prim.is_integer(),
            And | Or | Xor => !prim.is_float(),
            Atan2 | Atan2Pi | Hypot | CopySign | NextAfter => prim.is_float(),
        }
    }
}

/// The unsigned integer that holds the bits of a float.
pub(crate) fn bits_type(float: Prim) -> Prim {
    match float {
        Prim::F16 => Prim::U16,
        Prim::F32 => Prim::U32,
        _ => Prim::U64,
    }
}

impl PrimOp {
    /// Whether the operation exists at its type.
    pub fn is_valid(self) -> bool {
        match self {
            PrimOp::Unary(op, prim) => op.is_valid(prim),
            PrimOp::Binary(op, prim) => op.is_valid(prim),
            PrimOp::Compare(..) | PrimOp::Convert { .. } => true,
            PrimOp::FusedMultiplyAdd(prim) | PrimOp::ToBits(prim) | PrimOp::FromBits(prim) | PrimOp::LoadExponent(prim) => {
                prim.is_float()
            }
            PrimOp::PopCount(prim) | PrimOp::LeadingZeros(prim) | PrimOp::TrailingZeros(prim) => prim.is_integer(),
        }
    }

    pub fn arity(self) -> usize {
        match self {
            PrimOp::Binary(..) | PrimOp::Compare(..) | PrimOp::LoadExponent(_) => 2,
            PrimOp::FusedMultiplyAdd(_) => 3,
            _ => 1,
        }
    }

    /// The types of the operands, in order.
    pub fn operands(self) -> Vec<Prim> {
        match self {
            PrimOp::Unary(_, prim) | PrimOp::ToBits(prim) => vec![prim],
            PrimOp::PopCount(prim) | PrimOp::LeadingZeros(prim) | PrimOp::TrailingZeros(prim) => vec![prim],
            PrimOp::Binary(_, prim) | PrimOp::Compare(_, prim) => vec![prim, prim],
            PrimOp::FusedMultiplyAdd(prim) => vec![prim, prim, prim],
            PrimOp::Convert { from, .. } => vec![from],
            PrimOp::FromBits(prim) => vec![bits_type(prim)],
            PrimOp::LoadExponent(prim) => vec![prim, Prim::I32],
        }
    }

    /// The type of the result.
    pub fn result(self) -> Prim {
        match self {
            PrimOp::Unary(_, prim) | PrimOp::Binary(_, prim) | PrimOp::FusedMultiplyAdd(prim) => prim,
            PrimOp::Compare(..) => Prim::Bool,
            PrimOp::Convert { to, .. } => to,
            PrimOp::ToBits(prim) => bits_type(prim),
            PrimOp::FromBits(prim) | PrimOp::LoadExponent(prim) => prim,
            PrimOp::PopCount(_) | PrimOp::LeadingZeros(_) | PrimOp::TrailingZeros(_) => Prim::I32,
        }
    }

    /// The name in Core's text form: the operand type, a dot, and what is done.
    pub fn name(self) -> String {
        match self {
            PrimOp::Unary(UnaryOp::Polygamma(order), prim) => format!("{}.polygamma{order}", prim.name()),
            PrimOp::Unary(op, prim) => format!("{}.{}", prim.name(), name_in(UNARY_NAMES, op)),
            PrimOp::Binary(op, prim) => format!("{}.{}", prim.name(), name_in(BINARY_NAMES, op)),
            PrimOp::Compare(op, prim) => format!("{}.{}", prim.name(), name_in(COMPARE_NAMES, op)),
            PrimOp::FusedMultiplyAdd(prim) => format!("{}.fma", prim.name()),
            PrimOp::Convert { from, to } => format!("{}.to_{}", from.name(), to.name()),
            PrimOp::ToBits(prim) => format!("{}.to_bits", prim.name()),
            PrimOp::FromBits(prim) => format!("{}.from_bits", prim.name()),
            PrimOp::LoadExponent(prim) => format!("{}.ldexp", prim.name()),
            PrimOp::PopCount(prim) => format!("{}.popc", prim.name()),
            PrimOp::LeadingZeros(prim) => format!("{}.clz", prim.name()),
            PrimOp::TrailingZeros(prim) => format!("{}.ctz", prim.name()),
        }
    }

    /// Whether the operation costs less than a store and a load, so that computing it again is no worse than keeping its result.
    pub fn is_light(self) -> bool {
        match self {
            PrimOp::Unary(op, _) => matches!(op, UnaryOp::Negate | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Detach),
            PrimOp::Binary(op, prim) => match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max | BinaryOp::Scale => true,
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => true,
                BinaryOp::Div | BinaryOp::Mod | BinaryOp::Quot | BinaryOp::Rem => false,
                _ => !prim.is_float(),
            },
            PrimOp::Compare(..) | PrimOp::Convert { .. } => true,
            _ => false,
        }
    }

    /// Whether the operation is one on floats that costs more than a store and a load.
    pub fn is_heavy(self) -> bool {
        self.result().is_float() && !self.is_light()
    }

    /// The inverse of [`PrimOp::name`], also for operations that do not exist at their type.
    pub fn from_name(name: &str) -> Option<PrimOp> {
        let (prim, op) = name.split_once('.')?;
        let prim = Prim::from_name(prim)?;
        let simple = match op {
            "fma" => Some(PrimOp::FusedMultiplyAdd(prim)),
            "to_bits" => Some(PrimOp::ToBits(prim)),
            "from_bits" => Some(PrimOp::FromBits(prim)),
            "ldexp" => Some(PrimOp::LoadExponent(prim)),
            "popc" => Some(PrimOp::PopCount(prim)),
            "clz" => Some(PrimOp::LeadingZeros(prim)),
            "ctz" => Some(PrimOp::TrailingZeros(prim)),
            _ => None,
        };
        if simple.is_some() {
            return simple;
        }
        if let Some(order) = op.strip_prefix("polygamma") {
            return order.parse().ok().map(|order| PrimOp::Unary(UnaryOp::Polygamma(order), prim));
        }
        if let Some(to) = op.strip_prefix("to_") {
            return Prim::from_name(to).map(|to| PrimOp::Convert { from: prim, to });
        }
        let unary = op_in(UNARY_NAMES, op).map(|op| PrimOp::Unary(op, prim));
        let binary = || op_in(BINARY_NAMES, op).map(|op| PrimOp::Binary(op, prim));
        let compare = || op_in(COMPARE_NAMES, op).map(|op| PrimOp::Compare(op, prim));
        unary.or_else(binary).or_else(compare)
    }

    /// Every operation that exists, at every type; of the polygammas, orders 1 to 3.
    pub fn all() -> Vec<PrimOp> {
        let mut all = Vec::new();
        for prim in Prim::ALL {
            all.extend(UNARY_NAMES.iter().map(|(op, _)| PrimOp::Unary(*op, prim)));
            all.extend((1..=3).map(|order| PrimOp::Unary(UnaryOp::Polygamma(order), prim)));
            all.extend(BINARY_NAMES.iter().map(|(op, _)| PrimOp::Binary(*op, prim)));
            all.extend(COMPARE_NAMES.iter().map(|(op, _)| PrimOp::Compare(*op, prim)));
            all.extend(Prim::ALL.map(|to| PrimOp::Convert { from: prim, to }));
            all.extend([PrimOp::FusedMultiplyAdd(prim), PrimOp::ToBits(prim), PrimOp::FromBits(prim)]);
            all.extend([PrimOp::LoadExponent(prim), PrimOp::PopCount(prim)]);
            all.extend([PrimOp::LeadingZeros(prim), PrimOp::TrailingZeros(prim)]);
        }
        all.retain(|op| op.is_valid());
        all
    }
}
