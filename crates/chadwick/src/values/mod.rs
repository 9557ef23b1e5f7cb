//! Values at the border: scalars and regular arrays of scalars, in memory and in files.
//!
//! A [`Value`] is what an entry point takes and gives. The formats of files are one module each: [`text`] and [`binary`] (the two
//! formats of test files), [`json`] (as a stream in [`fields`]), and [`npy`]. Architecture invariant: nothing here reads a file, and no input, however broken,
//! makes it panic or allocate more than a small multiple of the input's size.

pub mod binary;
pub mod compare;
mod convert;
pub(crate) mod elements;
mod error;
pub mod fields;
pub mod json;
pub mod npy;
pub mod text;

pub use chadwick_core::{Prim, element_count};
pub use elements::{Elements, ElementsRef, Scalar};
pub use error::{Place, ValueError};

use std::fmt;

/// Dimensions beyond this are refused in files.
pub const MAX_RANK: usize = 64;

/// A scalar (no dimensions) or a row-major array of scalars.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    shape: Vec<usize>,
    elements: Elements,
}

/// The type of a [`Value`] as far as a file can know it: an element type and a number of dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueType {
    pub prim: Prim,
    pub rank: usize,
}

impl Value {
    /// An array (or, without dimensions, a scalar) of the elements in row-major order; `None` where their number is not that of the
    /// shape.
    ///
    /// ```
    /// use chadwick::values::Value;
    /// let matrix = Value::new([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    /// assert_eq!(matrix.to_string(), "[[1.0f64, 2.0f64, 3.0f64], [4.0f64, 5.0f64, 6.0f64]]");
    /// assert!(Value::new([4], vec![1i64, 2, 3]).is_none());
    /// ```
    pub fn new(shape: impl Into<Vec<usize>>, elements: impl Into<Elements>) -> Option<Value> {
        let (shape, elements) = (shape.into(), elements.into());
        (element_count(&shape) == Some(elements.len())).then_some(Value { shape, elements })
    }

    /// An array of zeros (`false` for booleans).
    pub fn zeros(prim: Prim, shape: impl Into<Vec<usize>>) -> Option<Value> {
        let shape = shape.into();
        let elements = Elements::zeros(prim, element_count(&shape)?)?;
        Some(Value { shape, elements })
    }

    /// The same value with one element replaced; `None` where there is no such element or it is of another type.
    pub fn with_element(mut self, position: usize, scalar: Scalar) -> Option<Value> {
        self.elements.set(position, scalar).then_some(self)
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    pub fn into_elements(self) -> Elements {
        self.elements
    }

    pub fn prim(&self) -> Prim {
        self.elements.prim()
    }

    pub fn value_type(&self) -> ValueType {
        ValueType { prim: self.prim(), rank: self.shape.len() }
    }

    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The elements, if they are of that Rust type.
    ///
    /// ```
    /// use chadwick::values::Value;
    /// let value = Value::from(vec![1.5, 2.5]);
    /// assert_eq!(value.as_slice::<f64>(), Some(&[1.5, 2.5][..]));
    /// assert_eq!(value.as_slice::<f32>(), None);
    /// ```
    pub fn as_slice<T: ElementsRef>(&self) -> Option<&[T]> {
        T::slice_of(&self.elements)
    }

    /// The one element of a scalar, if it is of that Rust type.
    pub fn as_scalar<T: ElementsRef + Copy>(&self) -> Option<T> {
        match (self.is_scalar(), self.as_slice::<T>()) {
            (true, Some([element])) => Some(*element),
            _ => None,
        }
    }

    /// The type with the actual sizes, as the language writes it: `[2][3]f64`.
    pub fn type_string(&self) -> String {
        let mut text = String::new();
        for size in &self.shape {
            text.push_str(&format!("[{size}]"));
        }
        text.push_str(self.prim().name());
        text
    }

    /// The index of the element with the number `position` in row-major order, as `[i][j]`; nothing for a scalar.
    pub fn index_string(&self, position: usize) -> String {
        let (mut rest, mut indices) = (position, Vec::new());
        for size in self.shape.iter().rev() {
            let size = (*size).max(1);
            indices.push(rest % size);
            rest /= size;
        }
        indices.iter().rev().map(|index| format!("[{index}]")).collect()
    }
}

/// The scalar 1 (`true` for booleans).
pub fn one(prim: Prim) -> Value {
    Value::from(Scalar::one(prim))
}

/// The text format.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_value(self, f)
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.rank).try_for_each(|_| f.write_str("[]"))?;
        f.write_str(self.prim.name())
    }
}
