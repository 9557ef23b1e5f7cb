//! Flat data at the border: what an entry point takes and gives.

use crate::array::{ArrayValue, Buffer, Shape};
use crate::value::Value;
use chadwick_core::Prim;
use std::rc::Rc;

/// A scalar (no dimensions) or a row-major array of scalars.
#[derive(Clone, Debug)]
pub struct Data {
    pub shape: Vec<i64>,
    /// One of the flat buffers, or units; as many elements as the shape says.
    pub elements: Buffer,
}

impl Data {
    /// The type of the elements; units have none.
    pub fn prim(&self) -> Option<Prim> {
        self.elements.prim()
    }

    /// `None` if the elements do not fit the shape or are no scalars.
    pub fn into_value(self) -> Option<Value> {
        let shape = Shape::new(&self.shape);
        let flat = !matches!(self.elements, Buffer::Active(..) | Buffer::Boxed(_));
        if !flat || self.shape.iter().any(|dim| *dim < 0) || shape.checked_count() != Some(self.elements.len()) {
            return None;
        }
        Some(match self.shape.is_empty() {
            true => self.elements.get(0),
            false => Value::Array(Rc::new(ArrayValue::new(shape, self.elements))),
        })
    }
}

impl Value {
    /// A scalar or an array of scalars as flat data; `None` for everything else.
    pub fn to_data(&self) -> Option<Data> {
        match self {
            Value::Scalar(constant) => {
                let mut elements = Buffer::of_prim(constant.prim());
                elements.push(self.clone());
                Some(Data { shape: Vec::new(), elements })
            }
            Value::Array(array) => {
                if matches!(array.buffer(), Buffer::Active(..) | Buffer::Boxed(_)) {
                    return None;
                }
                let mut elements = array.buffer().empty_like();
                elements.extend_from(array);
                Some(Data { shape: array.shape().to_vec(), elements })
            }
            _ => None,
        }
    }

    /// A row-major array of `f64`.
    pub fn array_f64(shape: &[i64], elements: Vec<f64>) -> Option<Value> {
        Data { shape: shape.to_vec(), elements: Buffer::F64(elements) }.into_value()
    }

    /// A row-major array of `i64`.
    pub fn array_i64(shape: &[i64], elements: Vec<i64>) -> Option<Value> {
        Data { shape: shape.to_vec(), elements: Buffer::I64(elements) }.into_value()
    }

    /// An array of sums or functions.
    pub fn array_boxed(shape: &[i64], elements: Vec<Value>) -> Option<Value> {
        let shape = Shape::new(shape);
        match shape.checked_count() == Some(elements.len()) && !shape.is_empty() {
            true => Some(Value::Array(Rc::new(ArrayValue::new(shape, Buffer::Boxed(elements))))),
            false => None,
        }
    }
}
