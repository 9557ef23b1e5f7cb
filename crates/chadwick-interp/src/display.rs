//! Values as text, for messages and traces.

use crate::value::Value;
use chadwick_core::{Const, element_count};
use std::fmt;

/// More elements than this are not shown.
const SHOWN: usize = 100;

/// Deeper values are not shown.
const DEPTH: usize = 20;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self, f, DEPTH)
    }
}

fn show(value: &Value, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    if depth == 0 {
        return f.write_str("…");
    }
    match value {
        Value::Scalar(constant) => show_constant(*constant, f),
        Value::Active(_) => match value.as_scalar() {
            Some(constant) => show_constant(constant, f),
            None => f.write_str("?"),
        },
        Value::Array(array) => {
            let mut budget = SHOWN;
            show_dimension(value, array.shape(), 0, &mut budget, f, depth)
        }
        Value::Sum(sum) => {
            write!(f, "#{}", sum.tag)?;
            for field in &sum.fields {
                f.write_str(" (")?;
                show(field, f, depth - 1)?;
                f.write_str(")")?;
            }
            Ok(())
        }
        Value::Function(_) => f.write_str("<function>"),
        Value::Accumulator(_) => f.write_str("<accumulator>"),
        Value::Builder(_) => f.write_str("<array>"),
        Value::Absent => f.write_str("()"),
    }
}

fn show_constant(constant: Const, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match constant {
        Const::Bool(x) => write!(f, "{x}"),
        Const::I8(x) => write!(f, "{x}i8"),
        Const::I16(x) => write!(f, "{x}i16"),
        Const::I32(x) => write!(f, "{x}i32"),
        Const::I64(x) => write!(f, "{x}i64"),
        Const::U8(x) => write!(f, "{x}u8"),
        Const::U16(x) => write!(f, "{x}u16"),
        Const::U32(x) => write!(f, "{x}u32"),
        Const::U64(x) => write!(f, "{x}u64"),
        Const::F16(x) => show_float(x.to_f64(), "f16", f),
        Const::F32(x) => match x.is_finite() {
            true => write!(f, "{x:?}f32"),
            false => show_float(f64::from(x), "f32", f),
        },
        Const::F64(x) => show_float(x, "f64", f),
    }
}

fn show_float(x: f64, prim: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match () {
        () if x.is_nan() => write!(f, "{prim}.nan"),
        () if x == f64::INFINITY => write!(f, "{prim}.inf"),
        () if x == f64::NEG_INFINITY => write!(f, "-{prim}.inf"),
        () => write!(f, "{x:?}{prim}"),
    }
}

fn show_dimension(
    value: &Value,
    shape: &[i64],
    start: usize,
    budget: &mut usize,
    f: &mut fmt::Formatter<'_>,
    depth: usize,
) -> fmt::Result {
    let Some(array) = value.as_array() else { return Ok(()) };
    let Some((outer, inner)) = shape.split_first() else {
        *budget = budget.saturating_sub(1);
        return show(&array.element(start), f, depth - 1);
    };
    let step = element_count(inner).unwrap_or(0);
    f.write_str("[")?;
    for at in 0..*outer as usize {
        if at > 0 {
            f.write_str(", ")?;
        }
        if *budget == 0 {
            f.write_str("…")?;
            break;
        }
        show_dimension(value, inner, start + at * step, budget, f, depth)?;
    }
    f.write_str("]")
}
