//! Whether a result is the expected one.
//!
//! Types, shapes, integers and booleans must be equal. Floats agree if both are NaN, or both the same infinity, or they differ by less
//! than `max(τ, τ·m)`, where `m` is the largest finite magnitude among the expected elements of that value: an absolute test, scaled per
//! value.

use super::elements::scalar_to_f64;
use super::{Prim, Value};

/// The τ of the test format.
pub const FORMAT_TOLERANCE: f64 = 0.002;

/// The τ for each type of float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub f64: f64,
    pub f32: f64,
    pub f16: f64,
}

impl Tolerance {
    pub fn uniform(tolerance: f64) -> Self {
        Tolerance { f64: tolerance, f32: tolerance, f16: tolerance }
    }

    pub fn of(&self, prim: Prim) -> f64 {
        match prim {
            Prim::F64 => self.f64,
            Prim::F32 => self.f32,
            Prim::F16 => self.f16,
            _ => 0.0,
        }
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance::uniform(FORMAT_TOLERANCE)
    }
}

/// The first difference between results and expectations, in words.
pub fn difference(got: &[Value], want: &[Value], tolerance: &Tolerance) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} values were expected, {} came out", want.len(), got.len()));
    }
    let alone = want.len() == 1;
    got.iter().zip(want).enumerate().find_map(|(number, (got, want))| {
        let which = if alone { String::new() } else { format!("value {number}: ") };
        value_difference(got, want, tolerance).map(|text| format!("{which}{text}"))
    })
}

/// The first difference between two values, in words.
pub fn value_difference(got: &Value, want: &Value, tolerance: &Tolerance) -> Option<String> {
    if got.prim() != want.prim() || got.shape() != want.shape() {
        return Some(format!("expected a value of type {}, got one of type {}", want.type_string(), got.type_string()));
    }
    let bound = {
        let tau = tolerance.of(want.prim());
        tau.max(tau * largest_finite(want))
    };
    for position in 0..want.len() {
        let (Some(a), Some(b)) = (got.elements().get(position), want.elements().get(position)) else { continue };
        let agree = match want.prim().is_float() {
            true => floats_agree(scalar_to_f64(a), scalar_to_f64(b), bound),
            false => a == b,
        };
        if !agree {
            let place = want.index_string(position);
            let place = if place.is_empty() { place } else { format!("at {place}: ") };
            let (got, want) = (Value::from(a), Value::from(b));
            return Some(format!("{place}expected {want}, got {got}"));
        }
    }
    None
}

/// The largest magnitude of a finite element; 0 where there is none.
pub fn largest_finite(value: &Value) -> f64 {
    let elements = (0..value.len()).filter_map(|at| value.elements().get(at)).map(scalar_to_f64);
    elements.map(f64::abs).filter(|x| x.is_finite()).fold(0.0, f64::max)
}

/// Whether two floats agree within an absolute bound. With the bound 0 they must be equal.
pub fn floats_agree(got: f64, want: f64, bound: f64) -> bool {
    if got.is_nan() || want.is_nan() {
        return got.is_nan() && want.is_nan();
    }
    got == want || (got - want).abs() < bound && got.is_finite() && want.is_finite()
}
