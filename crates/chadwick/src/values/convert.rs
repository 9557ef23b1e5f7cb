//! Rust values to [`Value`] and back, and the way to the interpreter's data.

use super::elements::{each, for_each_type};
use super::{Elements, ElementsRef, Scalar, Value};
use chadwick_interp::Data;
use chadwick_runtime::Argument;
use half::f16;

macro_rules! conversions {
    ($variant:ident, $type:ty) => {
        /// A scalar.
        impl From<$type> for Value {
            fn from(scalar: $type) -> Value {
                Value { shape: Vec::new(), elements: Elements::$variant(vec![scalar]) }
            }
        }

        /// A one-dimensional array.
        impl From<Vec<$type>> for Value {
            fn from(vector: Vec<$type>) -> Value {
                Value { shape: vec![vector.len()], elements: Elements::$variant(vector) }
            }
        }

        /// A one-dimensional array.
        impl From<&[$type]> for Value {
            fn from(slice: &[$type]) -> Value {
                Value::from(slice.to_vec())
            }
        }

        /// A scalar.
        impl TryFrom<&Value> for $type {
            type Error = String;

            fn try_from(value: &Value) -> Result<$type, String> {
                value.as_scalar().ok_or_else(|| format!("a value of type {} is no {}", value.type_string(), stringify!($type)))
            }
        }

        /// A one-dimensional array.
        impl TryFrom<&Value> for Vec<$type> {
            type Error = String;

            fn try_from(value: &Value) -> Result<Vec<$type>, String> {
                match (value.shape.len(), <$type>::slice_of(&value.elements)) {
                    (1, Some(slice)) => Ok(slice.to_vec()),
                    _ => Err(format!("a value of type {} is no []{}", value.type_string(), stringify!($type))),
                }
            }
        }
    };
}

for_each_type!(conversions);

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Value {
        let mut elements = Elements::empty(scalar.prim());
        elements.push(scalar);
        Value { shape: Vec::new(), elements }
    }
}

impl Value {
    pub(crate) fn into_data(self) -> Data {
        Data { shape: self.shape.iter().map(|size| *size as i64).collect(), elements: self.elements.into_buffer() }
    }

    /// The value for native code to read.
    pub(crate) fn as_argument(&self) -> Option<Argument<'_>> {
        each!(&self.elements, vector => Argument::new(&self.shape, vector))
    }

    /// `None` for arrays of units.
    pub(crate) fn from_data(data: Data) -> Option<Value> {
        let shape: Option<Vec<usize>> = data.shape.iter().map(|size| usize::try_from(*size).ok()).collect();
        Value::new(shape?, Elements::from_buffer(data.elements)?)
    }
}
