//! Run-time values.
//!
//! A scalar is inline; everything else is shared by reference count and updated in place when nobody else holds it. An active scalar is
//! a number that some derivative is following (see `scalar.rs`). Long chains (a list of a million cells) are dropped iteratively.

use crate::array::{ArrayBuilder, ArrayValue, Buffer};
use crate::code::Code;
use crate::memory;
use chadwick_core::{Const, Prim};
use std::rc::Rc;

#[derive(Debug, Default)]
pub enum Value {
    Scalar(Const),
    /// A number under differentiation.
    Active(Rc<Active>),
    Array(Rc<ArrayValue>),
    Sum(Rc<SumValue>),
    Function(Rc<FunctionValue>),
    /// Index of an open accumulator.
    Accumulator(u32),
    /// An array being built; lives in registers only.
    Builder(Box<ArrayBuilder>),
    /// Nothing, or moved away.
    #[default]
    Absent,
}

/// A number with its derivative at one level.
///
/// Levels are handed out in increasing order, one per execution of a derivative. `primal` and the tangent are plain or active at lower
/// levels only.
#[derive(Debug)]
pub struct Active {
    pub(crate) level: u64,
    pub(crate) primal: Value,
    pub(crate) tangent: Tangent,
}

#[derive(Clone, Debug)]
pub(crate) enum Tangent {
    Forward(Value),
    /// Index of the number's slot on the tape of its level.
    Reverse(u32),
    /// The inputs on which the number depends, as the bits of a set.
    Inputs(u64),
}

#[derive(Debug)]
pub struct SumValue {
    pub tag: u32,
    pub fields: Box<[Value]>,
}

#[derive(Debug)]
pub struct FunctionValue {
    pub(crate) code: Rc<Code>,
    pub(crate) captures: Box<[Value]>,
}

impl Clone for Value {
    #[inline]
    fn clone(&self) -> Value {
        match self {
            // Copying a constant of unknown type goes byte by byte through memory.
            Value::Scalar(Const::F64(value)) => Value::Scalar(Const::F64(*value)),
            Value::Scalar(Const::I64(value)) => Value::Scalar(Const::I64(*value)),
            other => share(other),
        }
    }
}

fn share(value: &Value) -> Value {
    match value {
        Value::Scalar(constant) => Value::Scalar(*constant),
        Value::Active(active) => Value::Active(Rc::clone(active)),
        Value::Array(array) => Value::Array(Rc::clone(array)),
        Value::Sum(sum) => Value::Sum(Rc::clone(sum)),
        Value::Function(function) => Value::Function(Rc::clone(function)),
        Value::Accumulator(handle) => Value::Accumulator(*handle),
        // Builders are moved, never shared.
        Value::Builder(_) | Value::Absent => Value::Absent,
    }
}

const ACTIVE_BYTES: usize = size_of::<Active>() + 16;

fn fields_bytes(fields: &[Value]) -> usize {
    size_of::<SumValue>() + 16 + size_of_val(fields)
}

impl Value {
    pub fn sum(tag: u32, fields: impl Into<Box<[Value]>>) -> Value {
        let fields = fields.into();
        memory::acquire(fields_bytes(&fields));
        Value::Sum(Rc::new(SumValue { tag, fields }))
    }

    pub(crate) fn function(code: Rc<Code>, captures: impl Into<Box<[Value]>>) -> Value {
        let captures = captures.into();
        memory::acquire(fields_bytes(&captures));
        Value::Function(Rc::new(FunctionValue { code, captures }))
    }

    pub(crate) fn active(level: u64, primal: Value, tangent: Tangent) -> Value {
        memory::acquire(ACTIVE_BYTES);
        Value::Active(Rc::new(Active { level, primal, tangent }))
    }

    pub fn i64(value: i64) -> Value {
        Value::Scalar(Const::I64(value))
    }

    pub fn f64(value: f64) -> Value {
        Value::Scalar(Const::F64(value))
    }

    /// The scalar without its derivatives.
    pub fn as_scalar(&self) -> Option<Const> {
        let mut here = self;
        loop {
            match here {
                Value::Scalar(constant) => return Some(*constant),
                Value::Active(active) => here = &active.primal,
                _ => return None,
            }
        }
    }

    pub fn as_array(&self) -> Option<&ArrayValue> {
        match self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The type of a scalar.
    pub fn prim(&self) -> Option<Prim> {
        self.as_scalar().map(Const::prim)
    }

    /// Whether dropping the value may go deep.
    fn is_container(&self) -> bool {
        matches!(self, Value::Active(_) | Value::Array(_) | Value::Sum(_) | Value::Function(_))
    }
}

/// Drops values without recursion: what a dying container holds joins the queue.
pub(crate) fn drop_all(mut queue: Vec<Value>) {
    while let Some(value) = queue.pop() {
        match value {
            Value::Sum(sum) => {
                if let Ok(mut sum) = Rc::try_unwrap(sum) {
                    memory::release(size_of_val(&*sum.fields));
                    queue.extend(std::mem::take(&mut sum.fields));
                }
            }
            Value::Function(function) => {
                if let Ok(mut function) = Rc::try_unwrap(function) {
                    queue.extend(function.take_captures());
                }
            }
            Value::Active(active) => {
                if let Ok(mut active) = Rc::try_unwrap(active) {
                    queue.push(std::mem::take(&mut active.primal));
                    if let Tangent::Forward(tangent) = &mut active.tangent {
                        queue.push(std::mem::take(tangent));
                    }
                }
            }
            Value::Array(array) => {
                if let Some(values) = Rc::try_unwrap(array).ok().and_then(|array| array.into_boxed_values()) {
                    queue.extend(values);
                }
            }
            _ => {}
        }
    }
}

impl FunctionValue {
    /// Empties a function that is about to be dropped.
    pub(crate) fn take_captures(&mut self) -> Box<[Value]> {
        memory::release(size_of_val(&*self.captures));
        std::mem::take(&mut self.captures)
    }
}

fn drop_fields(fields: &mut Box<[Value]>) {
    memory::release(fields_bytes(fields));
    if fields.iter().any(Value::is_container) {
        drop_all(std::mem::take(fields).into_vec());
    }
}

impl Drop for SumValue {
    fn drop(&mut self) {
        drop_fields(&mut self.fields);
    }
}

impl Drop for FunctionValue {
    fn drop(&mut self) {
        drop_fields(&mut self.captures);
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        memory::release(ACTIVE_BYTES);
        let deep = |value: &Value| matches!(value, Value::Active(_));
        let tangent_is_deep = matches!(&self.tangent, Tangent::Forward(tangent) if deep(tangent));
        if deep(&self.primal) || tangent_is_deep {
            let mut queue = vec![std::mem::take(&mut self.primal)];
            if let Tangent::Forward(tangent) = &mut self.tangent {
                queue.push(std::mem::take(tangent));
            }
            drop_all(queue);
        }
    }
}

/// Drops the elements of a boxed buffer.
pub(crate) fn drop_buffer(buffer: &mut Buffer) {
    if let Buffer::Boxed(values) | Buffer::Active(_, values) = buffer
        && values.iter().any(Value::is_container)
    {
        drop_all(std::mem::take(values));
    }
}
