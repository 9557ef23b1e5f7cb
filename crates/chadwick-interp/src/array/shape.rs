//! Shapes of up to three dimensions without an allocation, and walks over strided elements.

use chadwick_core::element_count;
use std::fmt;
use std::ops::Deref;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape(Dims);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Dims {
    One([i64; 1]),
    Two([i64; 2]),
    Three([i64; 3]),
    Other(Box<[i64]>),
}

impl Shape {
    pub fn new(dims: &[i64]) -> Self {
        Shape(match *dims {
            [a] => Dims::One([a]),
            [a, b] => Dims::Two([a, b]),
            [a, b, c] => Dims::Three([a, b, c]),
            _ => Dims::Other(dims.into()),
        })
    }

    /// The outer dimensions, then the inner ones.
    pub fn join(outer: &[i64], inner: &[i64]) -> Self {
        Shape::new(&[outer, inner].concat())
    }

    /// The number of elements of an array that exists.
    pub fn count(&self) -> usize {
        element_count(self).unwrap_or(0)
    }

    /// The number of elements, where it is a number of elements at all.
    pub fn checked_count(&self) -> Option<usize> {
        element_count(self)
    }

    pub fn row_major_strides(&self) -> Vec<i64> {
        let mut strides = vec![1; self.len()];
        for axis in (1..self.len()).rev() {
            // An empty array may have sizes whose product is no number; nobody walks over it.
            strides[axis - 1] = i64::wrapping_mul(strides[axis], self[axis]);
        }
        strides
    }

    /// Whether the strides are those of row-major order, up to dimensions of size one.
    pub fn is_row_major(&self, strides: &[i64]) -> bool {
        let mut wanted = 1i64;
        for (dim, stride) in self.iter().zip(strides).rev() {
            if *dim != 1 && *stride != wanted {
                return false;
            }
            wanted = wanted.wrapping_mul(*dim);
        }
        true
    }

    pub(super) fn offset_of_position(&self, position: usize, offset: usize, strides: &[i64]) -> usize {
        let (mut rest, mut at) = (position as i64, offset as i64);
        for (dim, stride) in self.iter().zip(strides).rev() {
            at += (rest % dim) * stride;
            rest /= dim;
        }
        at as usize
    }
}

impl Deref for Shape {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        match &self.0 {
            Dims::One(dims) => dims,
            Dims::Two(dims) => dims,
            Dims::Three(dims) => dims,
            Dims::Other(dims) => dims,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|dim| write!(f, "[{dim}]"))
    }
}

/// The buffer positions of the elements of a strided region, in row-major order of the region.
pub(crate) struct Offsets {
    shape: Shape,
    strides: Vec<i64>,
    counters: Vec<i64>,
    at: i64,
    left: usize,
}

impl Offsets {
    pub fn new(offset: usize, shape: &Shape, strides: Vec<i64>) -> Self {
        let left = shape.count();
        Offsets { shape: shape.clone(), counters: vec![0; strides.len()], strides, at: offset as i64, left }
    }
}

impl Iterator for Offsets {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let current = self.at as usize;
        for axis in (0..self.counters.len()).rev() {
            self.counters[axis] += 1;
            self.at += self.strides[axis];
            if self.counters[axis] < self.shape[axis] {
                break;
            }
            self.at -= self.strides[axis] * self.counters[axis];
            self.counters[axis] = 0;
        }
        Some(current)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
