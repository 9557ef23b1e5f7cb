//! Primitive operations as C expressions. Those that C has no operator for are functions of `rts/scalars.h`, named after the operation and
//! its type.

use crate::ir::Exp;
use chadwick_core::{BinaryOp, CompareOp, Const, Prim, PrimOp, UnaryOp};

pub(crate) fn c_type(prim: Prim) -> &'static str {
    match prim {
        Prim::Bool => "bool",
        Prim::I8 => "int8_t",
        Prim::I16 => "int16_t",
        Prim::I32 => "int32_t",
        Prim::I64 => "int64_t",
        Prim::U8 => "uint8_t",
        Prim::U16 => "uint16_t",
        Prim::U32 => "uint32_t",
        Prim::U64 => "uint64_t",
        Prim::F16 => "_Float16",
        Prim::F32 => "float",
        Prim::F64 => "double",
    }
}

pub(super) fn constant(value: Const) -> String {
    fn float(value: f64, text: String, suffix: &str) -> String {
        match () {
            () if value.is_nan() => String::from("cw_nan"),
            () if value.is_infinite() => String::from(if value > 0.0 { "cw_inf" } else { "(-cw_inf)" }),
            () if value.is_sign_negative() => format!("({text}{suffix})"),
            () => format!("{text}{suffix}"),
        }
    }
    match value {
        Const::Bool(value) => value.to_string(),
        Const::I8(value) => format!("((int8_t){value})"),
        Const::I16(value) => format!("((int16_t){value})"),
        Const::I32(i32::MIN) => String::from("INT32_MIN"),
        Const::I32(value) if value < 0 => format!("({value})"),
        Const::I32(value) => value.to_string(),
        Const::I64(i64::MIN) => String::from("INT64_MIN"),
        Const::I64(value) if value < 0 => format!("(-INT64_C({}))", value.unsigned_abs()),
        Const::I64(value) => format!("INT64_C({value})"),
        Const::U8(value) => format!("((uint8_t){value})"),
        Const::U16(value) => format!("((uint16_t){value})"),
        Const::U32(value) => format!("UINT32_C({value})"),
        Const::U64(value) => format!("UINT64_C({value})"),
        Const::F16(value) => format!("((_Float16){})", float(value.to_f64(), format!("{:?}", value.to_f64()), "")),
        Const::F32(value) if value.is_finite() => float(f64::from(value), format!("{value:?}"), "f"),
        Const::F32(value) => format!("((float){})", float(f64::from(value), String::new(), "")),
        Const::F64(value) => float(value, format!("{value:?}"), ""),
    }
}

/// Operations whose functions of the C library and of the interpreter differ, or that the C library lacks: the host computes them.
fn special(op: UnaryOp) -> Option<u32> {
    Some(match op {
        UnaryOp::Asinh => 0,
        UnaryOp::Acosh => 1,
        UnaryOp::Atanh => 2,
        UnaryOp::SinPi => 3,
        UnaryOp::CosPi => 4,
        UnaryOp::TanPi => 5,
        UnaryOp::AsinPi => 6,
        UnaryOp::AcosPi => 7,
        UnaryOp::AtanPi => 8,
        UnaryOp::Gamma => 9,
        UnaryOp::LogGamma => 10,
        UnaryOp::Digamma => 11,
        UnaryOp::Erf => 12,
        UnaryOp::Erfc => 13,
        UnaryOp::Cbrt => 14,
        UnaryOp::Polygamma(order) => 64 + u32::from(order),
        _ => return None,
    })
}

/// The operation that the host is asked for under a number.
pub fn special_operation(number: u32) -> Option<UnaryOp> {
    Some(match number {
        0 => UnaryOp::Asinh,
        1 => UnaryOp::Acosh,
        2 => UnaryOp::Atanh,
        3 => UnaryOp::SinPi,
        4 => UnaryOp::CosPi,
        5 => UnaryOp::TanPi,
        6 => UnaryOp::AsinPi,
        7 => UnaryOp::AcosPi,
        8 => UnaryOp::AtanPi,
        9 => UnaryOp::Gamma,
        10 => UnaryOp::LogGamma,
        11 => UnaryOp::Digamma,
        12 => UnaryOp::Erf,
        13 => UnaryOp::Erfc,
        14 => UnaryOp::Cbrt,
        64.. => UnaryOp::Polygamma(u8::try_from(number - 64).ok()?),
        _ => return None,
    })
}

/// Zero times a positive number is that zero, so scaling by such a number is a multiplication.
pub(super) fn without_test(op: PrimOp, args: &[Exp]) -> PrimOp {
    let is_positive = |factor: &Exp| match factor {
        Exp::Const(Const::F32(factor)) => factor.is_finite() && *factor > 0.0,
        Exp::Const(Const::F64(factor)) => factor.is_finite() && *factor > 0.0,
        _ => false,
    };
    match op {
        PrimOp::Binary(BinaryOp::Scale, prim) if args.get(1).is_some_and(is_positive) => PrimOp::Binary(BinaryOp::Mul, prim),
        op => op,
    }
}

/// A power whose exponent is known. Small multiples of one half are products and roots, where that may differ in the last bits.
pub(super) fn power(prim: Prim, args: &[String], exponent: Const) -> String {
    const LARGEST: f64 = 8.0;
    let library = operation(PrimOp::Binary(BinaryOp::Pow, prim), args);
    let exponent = match (prim, exponent) {
        (Prim::F32, Const::F32(exponent)) => f64::from(exponent),
        (Prim::F64, Const::F64(exponent)) => exponent,
        _ => return library,
    };
    let size = exponent.abs();
    if size == 0.0 || exponent == 2.0 || size > LARGEST || (2.0 * size).fract() != 0.0 {
        return library;
    }
    let (x, name) = (args[0].as_str(), prim.name());
    let mut products = whole_power(x, size as u32, name);
    if size.fract() != 0.0 {
        let root = format!("cw_root_{name}({x})");
        products = if size < 1.0 { root } else { format!("({products} * {root})") };
        products = format!("{}({products})", if prim == Prim::F32 { "fabsf" } else { "fabs" });
    }
    if exponent < 0.0 {
        products = format!("(1 / {products})");
    }
    format!("CW_POWER({library}, {products})")
}

fn whole_power(x: &str, exponent: u32, name: &str) -> String {
    match exponent {
        0 => String::from("1"),
        1 => x.to_owned(),
        2 => format!("({x} * {x})"),
        exponent if exponent % 2 == 0 => format!("cw_square_{name}({})", whole_power(x, exponent / 2, name)),
        exponent => format!("({x} * {})", whole_power(x, exponent - 1, name)),
    }
}

pub(super) fn operation(op: PrimOp, args: &[String]) -> String {
    let arg = |at: usize| args.get(at).map_or("0", String::as_str);
    let (x, y) = (arg(0), arg(1));
    match op {
        PrimOp::Unary(op, Prim::F16) => format!("((_Float16){})", unary(op, Prim::F32, &format!("(float){x}"))),
        PrimOp::Unary(op, prim) => unary(op, prim, x),
        PrimOp::Binary(BinaryOp::NextAfter, Prim::F16) => format!("cw_nextafter_f16({x}, {y})"),
        PrimOp::Binary(op, Prim::F16) => {
            format!("((_Float16){})", binary(op, Prim::F32, &format!("(float){x}"), &format!("(float){y}")))
        }
        PrimOp::Binary(op, prim) => binary(op, prim, x, y),
        PrimOp::Compare(op, _) => {
            let sign = match op {
                CompareOp::Equal => "==",
                CompareOp::Less => "<",
                CompareOp::LessEqual => "<=",
            };
            format!("({x} {sign} {y})")
        }
        PrimOp::FusedMultiplyAdd(prim) => match prim {
            Prim::F16 => format!("((_Float16)fma((double){x}, (double){y}, (double){}))", arg(2)),
            Prim::F32 => format!("fmaf({x}, {y}, {})", arg(2)),
            _ => format!("fma({x}, {y}, {})", arg(2)),
        },
        PrimOp::Convert { from, to } => convert(from, to, x),
        PrimOp::ToBits(prim) => format!("cw_to_bits_{}({x})", prim.name()),
        PrimOp::FromBits(prim) => format!("cw_from_bits_{}({x})", prim.name()),
        PrimOp::LoadExponent(prim) => match prim {
            Prim::F16 => format!("((_Float16)ldexp((double){x}, {y}))"),
            Prim::F32 => format!("ldexpf({x}, {y})"),
            _ => format!("ldexp({x}, {y})"),
        },
        PrimOp::PopCount(prim) => format!("__builtin_popcountll({})", bits(prim, x)),
        PrimOp::LeadingZeros(prim) => format!("cw_clz({}, {})", bits(prim, x), prim.bits()),
        PrimOp::TrailingZeros(prim) => format!("cw_ctz({}, {})", bits(prim, x), prim.bits()),
    }
}

/// The bits of an integer with zeros in front.
fn bits(prim: Prim, x: &str) -> String {
    format!("(uint64_t)({}){x}", c_type(unsigned(prim)))
}

fn unsigned(prim: Prim) -> Prim {
    match prim {
        Prim::I8 => Prim::U8,
        Prim::I16 => Prim::U16,
        Prim::I32 => Prim::U32,
        Prim::I64 => Prim::U64,
        other => other,
    }
}

fn unary(op: UnaryOp, prim: Prim, x: &str) -> String {
    let ty = c_type(prim);
    if prim == Prim::Bool {
        return format!("(!{x})");
    }
    if prim.is_integer() {
        return match op {
            UnaryOp::Negate => format!("(({ty})(0 - {x}))"),
            UnaryOp::Not => format!("(({ty})~{x})"),
            UnaryOp::Abs => format!("cw_abs_{}({x})", prim.name()),
            _ => format!("cw_sign_{}({x})", prim.name()),
        };
    }
    if let Some(number) = special(op) {
        // Where there is a function in C, `rts/math.h` says which of the two it is.
        let library = match op {
            UnaryOp::Asinh => "cw_asinh",
            UnaryOp::Acosh => "cw_acosh",
            UnaryOp::Atanh => "cw_atanh",
            UnaryOp::Gamma => "tgamma",
            UnaryOp::LogGamma => "lgamma",
            UnaryOp::Erf => "cw_erf",
            UnaryOp::Erfc => "cw_erfc",
            UnaryOp::Cbrt => "cbrt",
            _ => return format!("(({ty})ctx->host.special({number}, (double){x}))"),
        };
        return format!("(({ty})cw_special({library}, {number}, (double){x}))");
    }
    let single = prim == Prim::F32;
    let own = |name: &str| if single { format!("{name}f({x})") } else { format!("{name}({x})") };
    // Those of `rts/math.h`.
    let ours = |name: &str| if single { format!("cw_{name}f({x})") } else { format!("cw_{name}({x})") };
    match op {
        UnaryOp::Negate => format!("(-{x})"),
        UnaryOp::Detach => x.to_string(),
        UnaryOp::Abs => own("__builtin_fabs"),
        UnaryOp::Sign => format!("cw_sign_{}({x})", prim.name()),
        UnaryOp::Sqrt => own("__builtin_sqrt"),
        UnaryOp::Ceil => own("__builtin_ceil"),
        UnaryOp::Floor => own("__builtin_floor"),
        UnaryOp::Trunc => own("__builtin_trunc"),
        UnaryOp::Round => own("__builtin_rint"),
        UnaryOp::Exp => ours("exp"),
        UnaryOp::Log => ours("log"),
        UnaryOp::Log2 => own("log2"),
        UnaryOp::Log10 => own("log10"),
        UnaryOp::Log1p => ours("log1p"),
        UnaryOp::Sin => ours("sin"),
        UnaryOp::Cos => ours("cos"),
        UnaryOp::Tan => ours("tan"),
        UnaryOp::Sinh => ours("sinh"),
        UnaryOp::Cosh => ours("cosh"),
        UnaryOp::Tanh => ours("tanh"),
        UnaryOp::Asin => ours("asin"),
        UnaryOp::Acos => ours("acos"),
        UnaryOp::Atan => ours("atan"),
        _ => format!("({x})"),
    }
}

fn binary(op: BinaryOp, prim: Prim, x: &str, y: &str) -> String {
    let ty = c_type(prim);
    let sign = |sign: &str| match prim.is_integer() && prim.bits() < 32 {
        true => format!("(({ty})({x} {sign} {y}))"),
        false => format!("({x} {sign} {y})"),
    };
    let own = |name: &str| format!("cw_{name}_{}({x}, {y})", prim.name());
    if prim == Prim::Bool {
        return match op {
            BinaryOp::And => format!("({x} & {y})"),
            BinaryOp::Or => format!("({x} | {y})"),
            _ => format!("({x} != {y})"),
        };
    }
    if prim.is_integer() {
        return match op {
            BinaryOp::Add => sign("+"),
            BinaryOp::Sub => sign("-"),
            // Small unsigned numbers would be promoted to `int`, whose product may overflow.
            BinaryOp::Mul | BinaryOp::Scale => match prim.bits() < 32 {
                true => format!("(({ty})((uint32_t){x} * (uint32_t){y}))"),
                false => format!("({x} * {y})"),
            },
            BinaryOp::Div => own("div"),
            BinaryOp::Mod => own("mod"),
            BinaryOp::Quot => own("quot"),
            BinaryOp::Rem => own("rem"),
            BinaryOp::Pow => own("pow"),
            BinaryOp::Min => own("min"),
            BinaryOp::Max => own("max"),
            BinaryOp::And => sign("&"),
            BinaryOp::Or => sign("|"),
            BinaryOp::Xor => sign("^"),
            BinaryOp::ShiftLeft => own("shl"),
            BinaryOp::ShiftRightArithmetic => own("ashr"),
            BinaryOp::ShiftRightLogical => own("lshr"),
            _ => own("mulhi"),
        };
    }
    let single = prim == Prim::F32;
    let library = |name: &str| if single { format!("{name}f({x}, {y})") } else { format!("{name}({x}, {y})") };
    let wide = |name: &str| match single {
        true => format!("((float){name}((double){x}, (double){y}))"),
        false => format!("{name}({x}, {y})"),
    };
    match op {
        BinaryOp::Add => sign("+"),
        BinaryOp::Sub => sign("-"),
        BinaryOp::Mul => sign("*"),
        BinaryOp::Div => sign("/"),
        BinaryOp::Scale => own("scale"),
        BinaryOp::Mod => library("fmod"),
        BinaryOp::Pow => format!("({y} == 2 ? {x} * {x} : {})", library("cw_pow")),
        BinaryOp::Min => own("min"),
        BinaryOp::Max => own("max"),
        BinaryOp::Atan2 => library("cw_atan2"),
        BinaryOp::Atan2Pi => wide("cw_atan2pi"),
        BinaryOp::Hypot => library("cw_hypot"),
        BinaryOp::CopySign => library("__builtin_copysign"),
        _ => library("nextafter"),
    }
}

fn convert(from: Prim, to: Prim, x: &str) -> String {
    let ty = c_type(to);
    match () {
        () if from == to => x.to_owned(),
        () if to == Prim::Bool => format!("({x} != 0)"),
        () if from.is_float() && to.is_integer() => format!("cw_to_{}((double){x})", to.name()),
        // Zeros in front of what was signed.
        () if from.is_signed() && to.is_unsigned() => format!("(({ty})({}){x})", c_type(unsigned(from))),
        () if from.is_integer() && to == Prim::F16 => format!("((_Float16)(double){x})"),
        () => format!("(({ty}){x})"),
    }
}
