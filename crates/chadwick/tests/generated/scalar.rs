//! The two element types, as far as the properties need them.

use chadwick_interp::{Buffer, Value};

pub trait Scalar: Copy + PartialEq + std::fmt::Debug {
    fn from_f64(value: f64) -> Self;
    fn magnitude(self) -> f64;
    fn add(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn same_bits(self, other: Self) -> bool;
    /// Agreement of two results of a computation with numbers as large as `scale`.
    fn agrees(self, other: Self, scale: f64) -> bool;
    fn array(shape: &[usize], elements: Vec<Self>) -> Value;
    fn elements(buffer: Buffer) -> Option<Vec<Self>>;
}

fn dimensions(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|size| *size as i64).collect()
}

impl Scalar for f64 {
    fn from_f64(value: f64) -> f64 {
        value
    }

    fn magnitude(self) -> f64 {
        self.abs()
    }

    fn add(self, other: f64) -> f64 {
        self + other
    }

    fn multiply(self, other: f64) -> f64 {
        self * other
    }

    fn same_bits(self, other: f64) -> bool {
        self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
    }

    fn agrees(self, other: f64, scale: f64) -> bool {
        const TOLERANCE: f64 = 1e-9;
        (self - other).abs() <= TOLERANCE * scale.max(1.0)
    }

    fn array(shape: &[usize], elements: Vec<f64>) -> Value {
        Value::array_f64(&dimensions(shape), elements).expect("as many elements as the shape says")
    }

    fn elements(buffer: Buffer) -> Option<Vec<f64>> {
        match buffer {
            Buffer::F64(elements) => Some(elements),
            _ => None,
        }
    }
}

impl Scalar for i64 {
    fn from_f64(value: f64) -> i64 {
        value as i64
    }

    fn magnitude(self) -> f64 {
        self.unsigned_abs() as f64
    }

    fn add(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }

    fn multiply(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }

    fn same_bits(self, other: i64) -> bool {
        self == other
    }

    fn agrees(self, other: i64, _: f64) -> bool {
        self == other
    }

    fn array(shape: &[usize], elements: Vec<i64>) -> Value {
        Value::array_i64(&dimensions(shape), elements).expect("as many elements as the shape says")
    }

    fn elements(buffer: Buffer) -> Option<Vec<i64>> {
        match buffer {
            Buffer::I64(elements) => Some(elements),
            _ => None,
        }
    }
}

pub fn dot<S: Scalar>(left: &[S], right: &[S]) -> S {
    left.iter().zip(right).fold(S::from_f64(0.0), |sum, (x, y)| sum.add(x.multiply(*y)))
}

/// How large the terms of a dot product are.
pub fn dot_scale<S: Scalar>(left: &[S], right: &[S]) -> f64 {
    left.iter().zip(right).map(|(x, y)| x.magnitude() * y.magnitude()).sum()
}

pub fn largest<S: Scalar>(values: &[S]) -> f64 {
    values.iter().map(|value| value.magnitude()).fold(0.0, f64::max)
}

pub fn combine<S: Scalar>(a: S, left: &[S], b: S, right: &[S]) -> Vec<S> {
    left.iter().zip(right).map(|(x, y)| a.multiply(*x).add(b.multiply(*y))).collect()
}
