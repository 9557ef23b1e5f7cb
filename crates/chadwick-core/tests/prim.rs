//! The table of primitive operations: values at the edges, and every partial derivative against differences.

use chadwick_core::prim::{Derivative, Partial, convert, eval};
use chadwick_core::{BinaryOp, CompareOp, Const, Prim, PrimError, PrimOp, UnaryOp};
use half::f16;

fn binary(op: BinaryOp, x: Const, y: Const) -> Const {
    eval(PrimOp::Binary(op, x.prim()), &[x, y]).expect("a value")
}

fn unary(op: UnaryOp, x: f64) -> f64 {
    as_f64(eval(PrimOp::Unary(op, Prim::F64), &[Const::F64(x)]).expect("a value"))
}

fn as_f64(constant: Const) -> f64 {
    match convert(constant, Prim::F64) {
        Const::F64(value) => value,
        other => panic!("{other:?}"),
    }
}

/// The value of a partial derivative, in the plainest way.
fn partial_value(partial: &Partial, operands: &[Const], result: Const) -> Const {
    match partial {
        Partial::Operand(at) => operands[*at],
        Partial::Result => result,
        Partial::Constant(constant) => *constant,
        Partial::Apply(op, args) => {
            let args: Vec<Const> = args.iter().map(|arg| partial_value(arg, operands, result)).collect();
            eval(*op, &args).expect("a value")
        }
        Partial::Select(parts) => match partial_value(&parts[0], operands, result) {
            Const::Bool(true) => partial_value(&parts[1], operands, result),
            _ => partial_value(&parts[2], operands, result),
        },
    }
}

fn derivative_value(op: PrimOp, at: usize, operands: &[Const]) -> f64 {
    match &op.derivatives()[at] {
        Derivative::Zero => 0.0,
        Derivative::One | Derivative::Convert => 1.0,
        Derivative::MinusOne => -1.0,
        Derivative::Scale(partial) => {
            let result = eval(op, operands).expect("a value");
            as_f64(partial_value(partial, operands, result))
        }
    }
}

#[test]
fn every_partial_agrees_with_central_differences() {
    let mut compared = 0;
    for op in PrimOp::all() {
        // Single and half precision share the formulas; differences are too coarse there.
        if op.operands()[0] != Prim::F64 || op.result() != Prim::F64 {
            continue;
        }
        // It has no derivative because it is said to have none.
        if op == PrimOp::Unary(UnaryOp::Detach, Prim::F64) {
            continue;
        }
        for point in op.test_points() {
            let operands: Vec<Const> = op.operands().iter().zip(&point).map(|(prim, x)| convert(Const::F64(*x), *prim)).collect();
            for (at, x) in point.iter().enumerate().filter(|(at, _)| op.operands()[*at] == Prim::F64) {
                let value_at = |x: f64| {
                    let mut moved = operands.clone();
                    moved[at] = Const::F64(x);
                    as_f64(eval(op, &moved).expect("a value"))
                };
                // Fourth order: the error of a step h is h⁴, of rounding 1e-16 / h.
                let h = 1e-3 * x.abs().max(0.1);
                let difference =
                    (8.0 * (value_at(x + h) - value_at(x - h)) - (value_at(x + 2.0 * h) - value_at(x - 2.0 * h))) / (12.0 * h);
                let found = derivative_value(op, at, &operands);
                let scale = difference.abs().max(1.0);
                assert!((found - difference).abs() < 1e-6 * scale, "{} by {at} at {point:?}: {found}, {difference}", op.name());
                compared += 1;
            }
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn derivatives_exist_for_every_operand_of_every_operation() {
    for op in PrimOp::all() {
        assert_eq!(op.derivatives().len(), op.arity(), "{}", op.name());
        assert_eq!(op.operands().len(), op.arity(), "{}", op.name());
        for derivative in op.derivatives() {
            if let Derivative::Scale(partial) = &derivative {
                assert_eq!(partial_type(partial, op), Some(op.result()), "{}", op.name());
            }
        }
    }
}

/// The type of a partial derivative; `None` if it has none.
fn partial_type(partial: &Partial, op: PrimOp) -> Option<Prim> {
    match partial {
        Partial::Operand(at) => op.operands().get(*at).copied(),
        Partial::Result => Some(op.result()),
        Partial::Constant(constant) => Some(constant.prim()),
        Partial::Apply(inner, args) => {
            let types: Option<Vec<Prim>> = args.iter().map(|arg| partial_type(arg, op)).collect();
            (inner.is_valid() && types? == inner.operands()).then(|| inner.result())
        }
        Partial::Select(parts) => {
            let types = [0, 1, 2].map(|at| partial_type(&parts[at], op));
            (types[0] == Some(Prim::Bool) && types[1] == types[2]).then_some(types[1]?)
        }
    }
}

#[test]
fn names_are_unique_and_parse_back() {
    let mut names: Vec<String> = PrimOp::all().iter().map(|op| op.name()).collect();
    for (op, name) in PrimOp::all().into_iter().zip(&names) {
        assert_eq!(PrimOp::from_name(name), Some(op));
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    assert_eq!(PrimOp::from_name("f64.nonsense"), None);
    assert_eq!(PrimOp::from_name("f64"), None);
}

#[test]
fn every_operation_has_a_value_of_its_type_or_an_error() {
    let samples = [-7.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 40.0, 1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for op in PrimOp::all() {
        let mut choices: Vec<Vec<Const>> = vec![Vec::new()];
        for prim in op.operands() {
            let values: Vec<Const> = samples.iter().map(|sample| convert(Const::F64(*sample), prim)).collect();
            choices =
                choices.iter().flat_map(|before| values.iter().map(move |value| [&before[..], &[*value]].concat())).collect();
        }
        for operands in choices {
            match eval(op, &operands) {
                Ok(value) => assert_eq!(value.prim(), op.result(), "{}", op.name()),
                Err(error) => assert_ne!(error, PrimError::IllTyped, "{} {operands:?}", op.name()),
            }
        }
    }
}

#[test]
fn integer_division() {
    let div = |x, y| binary(BinaryOp::Div, Const::I32(x), Const::I32(y));
    let modulus = |x, y| binary(BinaryOp::Mod, Const::I32(x), Const::I32(y));
    assert_eq!([div(7, 2), div(-7, 2), div(7, -2), div(-7, -2), div(-6, 3)], [3, -4, -4, 3, -2].map(Const::I32));
    assert_eq!(
        [modulus(7, 2), modulus(-7, 2), modulus(7, -2), modulus(-7, -2), modulus(-6, 3)],
        [1, 1, -1, -1, 0].map(Const::I32)
    );
    assert_eq!(binary(BinaryOp::Quot, Const::I8(-7), Const::I8(2)), Const::I8(-3));
    assert_eq!(binary(BinaryOp::Rem, Const::I8(-7), Const::I8(2)), Const::I8(-1));
    assert_eq!(binary(BinaryOp::Div, Const::I8(-128), Const::I8(-1)), Const::I8(-128));
    assert_eq!(binary(BinaryOp::Mod, Const::I64(i64::MIN), Const::I64(-1)), Const::I64(0));
    assert_eq!(binary(BinaryOp::Div, Const::U8(250), Const::U8(7)), Const::U8(35));
    for op in [BinaryOp::Div, BinaryOp::Mod, BinaryOp::Quot, BinaryOp::Rem] {
        assert_eq!(eval(PrimOp::Binary(op, Prim::U16), &[Const::U16(1), Const::U16(0)]), Err(PrimError::DivisionByZero));
    }
}

#[test]
fn integer_powers_wrap() {
    assert_eq!(binary(BinaryOp::Pow, Const::I32(3), Const::I32(40)), Const::I32(689956897));
    assert_eq!(binary(BinaryOp::Pow, Const::U8(3), Const::U8(6)), Const::U8(217));
    assert_eq!(binary(BinaryOp::Pow, Const::I8(2), Const::I8(8)), Const::I8(0));
    assert_eq!(binary(BinaryOp::Pow, Const::I64(0), Const::I64(0)), Const::I64(1));
    let negative = eval(PrimOp::Binary(BinaryOp::Pow, Prim::I32), &[Const::I32(2), Const::I32(-1)]);
    assert_eq!(negative, Err(PrimError::NegativeExponent));
}

#[test]
fn shifts_and_high_products() {
    use BinaryOp::{MulHigh, ShiftLeft, ShiftRightArithmetic, ShiftRightLogical};
    assert_eq!(binary(ShiftLeft, Const::I8(1), Const::I8(7)), Const::I8(-128));
    assert_eq!(binary(ShiftLeft, Const::I8(1), Const::I8(8)), Const::I8(0));
    assert_eq!(binary(ShiftLeft, Const::I8(1), Const::I8(-1)), Const::I8(0));
    assert_eq!(binary(ShiftRightArithmetic, Const::I8(-128), Const::I8(3)), Const::I8(-16));
    assert_eq!(binary(ShiftRightArithmetic, Const::I8(-128), Const::I8(100)), Const::I8(-1));
    assert_eq!(binary(ShiftRightArithmetic, Const::U8(128), Const::U8(2)), Const::U8(224));
    assert_eq!(binary(ShiftRightLogical, Const::I8(-128), Const::I8(3)), Const::I8(16));
    assert_eq!(binary(ShiftRightLogical, Const::I32(-1), Const::I32(-1)), Const::I32(0));
    assert_eq!(binary(MulHigh, Const::I8(-100), Const::I8(100)), Const::I8(-40));
    assert_eq!(binary(MulHigh, Const::U32(u32::MAX), Const::U32(u32::MAX)), Const::U32(u32::MAX - 1));
    assert_eq!(binary(MulHigh, Const::U64(u64::MAX), Const::U64(2)), Const::U64(1));
}

#[test]
fn counting_bits() {
    let count = |op: fn(Prim) -> PrimOp, x: Const| eval(op(x.prim()), &[x]).expect("a value");
    assert_eq!(count(PrimOp::PopCount, Const::I8(-1)), Const::I32(8));
    assert_eq!(count(PrimOp::LeadingZeros, Const::I8(0)), Const::I32(8));
    assert_eq!(count(PrimOp::LeadingZeros, Const::U16(256)), Const::I32(7));
    assert_eq!(count(PrimOp::TrailingZeros, Const::I8(-128)), Const::I32(7));
    assert_eq!(count(PrimOp::TrailingZeros, Const::U64(0)), Const::I32(64));
}

#[test]
fn conversions() {
    assert_eq!(convert(Const::I8(-1), Prim::U64), Const::U64(255));
    assert_eq!(convert(Const::I8(-1), Prim::I64), Const::I64(-1));
    assert_eq!(convert(Const::U8(200), Prim::I16), Const::I16(200));
    assert_eq!(convert(Const::I64(1000), Prim::U8), Const::U8(232));
    assert_eq!(convert(Const::U32(3_000_000_000), Prim::I32), Const::I32(-1_294_967_296));
    assert_eq!(convert(Const::F64(-2.9), Prim::U8), Const::U8(254));
    assert_eq!(convert(Const::F64(-3e9), Prim::U8), Const::U8(0));
    assert_eq!(convert(Const::F64(-129.0), Prim::U8), Const::U8(0));
    assert_eq!(convert(Const::F64(-128.5), Prim::U8), Const::U8(128));
    assert_eq!(convert(Const::F64(-2.9), Prim::I32), Const::I32(-2));
    assert_eq!(convert(Const::F64(1e20), Prim::I32), Const::I32(i32::MAX));
    assert_eq!(convert(Const::F64(300.0), Prim::U8), Const::U8(255));
    for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(convert(Const::F64(special), Prim::I64), Const::I64(0));
    }
    assert_eq!(convert(Const::I64(9_007_199_254_740_993), Prim::F64), Const::F64(9_007_199_254_740_992.0));
    assert_eq!(convert(Const::U64(u64::MAX), Prim::F32), Const::F32(18_446_744_073_709_552_000.0));
    assert_eq!(convert(Const::F64(0.25), Prim::Bool), Const::Bool(true));
    assert_eq!(convert(Const::Bool(true), Prim::F16), Const::F16(f16::from_f32(1.0)));
    assert_eq!(convert(Const::F64(0.1), Prim::F32), Const::F32(0.1));
}

#[test]
fn minima_and_maxima_skip_nan() {
    let nan = Const::F64(f64::NAN);
    for op in [BinaryOp::Min, BinaryOp::Max] {
        assert_eq!(binary(op, nan, Const::F64(1.0)), Const::F64(1.0));
        assert_eq!(binary(op, Const::F64(1.0), nan), Const::F64(1.0));
        // The derivative goes where the value came from.
        let by = |x: Const, y: Const| [0, 1].map(|at| derivative_value(PrimOp::Binary(op, Prim::F64), at, &[x, y]));
        assert_eq!(by(nan, Const::F64(1.0)), [0.0, 1.0]);
        assert_eq!(by(Const::F64(1.0), nan), [1.0, 0.0]);
        assert_eq!(by(Const::F64(1.0), Const::F64(1.0)), [1.0, 0.0]);
    }
}

#[test]
fn rounding() {
    for (x, wanted) in [(2.5, 2.0), (3.5, 4.0), (-2.5, -2.0), (-0.4, 0.0), (1e300, 1e300)] {
        assert_eq!(unary(UnaryOp::Round, x), wanted);
    }
    assert_eq!(unary(UnaryOp::Trunc, 1e300), 1e300);
    assert_eq!(unary(UnaryOp::Trunc, -2.75), -2.0);
}

#[test]
fn functions_of_pi_are_exact_at_halves() {
    assert_eq!([0.5, 1.0, 1.5, 2.0, -0.5, 1e15].map(|x| unary(UnaryOp::SinPi, x)), [1.0, 0.0, -1.0, 0.0, -1.0, 0.0]);
    assert_eq!([0.5, 1.0, 1.5, 2.0, -1.0].map(|x| unary(UnaryOp::CosPi, x)), [0.0, -1.0, 0.0, 1.0, -1.0]);
    assert_eq!([0.25, 0.75, 1.0, -0.25].map(|x| unary(UnaryOp::TanPi, x)), [1.0, -1.0, 0.0, -1.0]);
    assert_eq!(unary(UnaryOp::TanPi, 0.5), f64::INFINITY);
    assert_eq!(unary(UnaryOp::TanPi, -0.5), f64::NEG_INFINITY);
    assert!((unary(UnaryOp::TanPi, 0.3) - 1.3763819204711734).abs() < 1e-15);
    assert!(unary(UnaryOp::SinPi, f64::INFINITY).is_nan());
}

#[test]
fn gamma_and_its_derivatives() {
    let close = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 2e-13, "{found} {wanted}");
    close(unary(UnaryOp::Digamma, 1.0), -0.577_215_664_901_532_9);
    close(unary(UnaryOp::Digamma, 0.5), -1.963_510_026_021_423_5);
    close(unary(UnaryOp::Digamma, 3.7), 1.167_153_539_361_511_4);
    close(unary(UnaryOp::Digamma, -0.5), 0.036_489_973_978_576_52);
    close(unary(UnaryOp::Digamma, 1e6), 13.815_510_057_964_191);
    close(unary(UnaryOp::Polygamma(1), 0.5), 4.934_802_200_544_679);
    close(unary(UnaryOp::Polygamma(1), 1.0), 1.644_934_066_848_226_4);
    close(unary(UnaryOp::Polygamma(1), 3.7), 0.310_037_857_670_038_3);
    close(unary(UnaryOp::Polygamma(1), -0.5), 8.934_802_200_544_679);
    close(unary(UnaryOp::Polygamma(2), 1.0), -2.404_113_806_319_188_5);
    close(unary(UnaryOp::Polygamma(3), 1.0), 6.493_939_402_266_829);
    assert!(unary(UnaryOp::Digamma, 0.0).is_nan());
    assert!(unary(UnaryOp::Digamma, -3.0).is_nan());
    close(unary(UnaryOp::Gamma, 5.0), 24.0);
    close(unary(UnaryOp::LogGamma, 0.5), 0.572_364_942_924_700_1);
}

#[test]
fn neighbours() {
    let next = |x: f64, y: f64| binary(BinaryOp::NextAfter, Const::F16(f16::from_f64(x)), Const::F16(f16::from_f64(y)));
    assert_eq!(next(1.0, 2.0), Const::F16(f16::from_f64(1.0) + f16::EPSILON));
    assert_eq!(next(0.0, -1.0), Const::F16(f16::from_bits(0x8001)));
    assert_eq!(next(-1.0, 0.0), Const::F16(f16::from_bits(0xbbff)));
    assert_eq!(binary(BinaryOp::NextAfter, Const::F64(1.0), Const::F64(2.0)), Const::F64(1.0 + f64::EPSILON));
}

#[test]
fn comparisons() {
    let compare = |op, x, y| eval(PrimOp::Compare(op, Prim::F64), &[Const::F64(x), Const::F64(y)]).expect("a value");
    for op in [CompareOp::Equal, CompareOp::Less, CompareOp::LessEqual] {
        assert_eq!(compare(op, f64::NAN, 1.0), Const::Bool(false));
    }
    assert_eq!(compare(CompareOp::Equal, 0.0, -0.0), Const::Bool(true));
}
