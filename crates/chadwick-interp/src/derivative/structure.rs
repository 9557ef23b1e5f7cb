//! Walks over values of any depth, without recursion.

use crate::array::{ArrayValue, Buffer, Shape};
use crate::code::Code;
use crate::error::{ErrorKind, Outcome, fail};
use crate::machine::Machine;
use crate::value::{Tangent, Value};
use chadwick_core::Prim;
use std::rc::Rc;

/// What is left to do in a walk that rebuilds a value.
enum Task {
    Visit(Value, Option<Value>),
    Sum { tag: u32, count: usize },
    Boxed { shape: Shape, count: usize },
    Function { code: Rc<Code>, count: usize },
}

/// What becomes of functions inside a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Functions {
    /// Their captures are walked over too.
    Enter,
    /// They have no derivative of their own.
    Refuse,
}

/// Whether flat numbers are visited one by one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plain {
    Visit,
    /// Kept as they are.
    Keep,
}

type Leaf<'a> = &'a mut dyn FnMut(&Value, Option<&Value>) -> Outcome<Value>;

fn rebuild(value: &Value, partner: Option<&Value>, functions: Functions, plain: Plain, leaf: Leaf<'_>) -> Outcome<Value> {
    // Scalars are most of the traffic.
    if matches!(value, Value::Scalar(_) | Value::Active(_)) {
        return leaf(value, partner);
    }
    let mut tasks = vec![Task::Visit(value.clone(), partner.cloned())];
    let mut done: Vec<Value> = Vec::new();
    while let Some(task) = tasks.pop() {
        match task {
            Task::Visit(value, partner) => visit(value, partner, functions, plain, leaf, &mut tasks, &mut done)?,
            Task::Sum { tag, count } => {
                let fields = done.split_off(done.len().saturating_sub(count));
                done.push(Value::sum(tag, fields));
            }
            Task::Boxed { shape, count } => {
                let values = done.split_off(done.len().saturating_sub(count));
                done.push(Value::Array(Rc::new(ArrayValue::new(shape, Buffer::Boxed(values)))));
            }
            Task::Function { code, count } => {
                let captures = done.split_off(done.len().saturating_sub(count));
                done.push(Value::function(code, captures));
            }
        }
    }
    Ok(done.pop().unwrap_or_default())
}

fn visit(
    value: Value,
    partner: Option<Value>,
    functions: Functions,
    plain: Plain,
    leaf: Leaf<'_>,
    tasks: &mut Vec<Task>,
    done: &mut Vec<Value>,
) -> Outcome<()> {
    match &value {
        Value::Scalar(_) | Value::Active(_) => done.push(leaf(&value, partner.as_ref())?),
        Value::Sum(sum) => {
            let other = match &partner {
                Some(Value::Sum(other)) if other.tag == sum.tag && other.fields.len() == sum.fields.len() => Some(other),
                Some(_) => return mismatch("a seed has another constructor than the primal"),
                None => None,
            };
            tasks.push(Task::Sum { tag: sum.tag, count: sum.fields.len() });
            for (at, field) in sum.fields.iter().enumerate().rev() {
                tasks.push(Task::Visit(field.clone(), other.map(|other| other.fields[at].clone())));
            }
        }
        Value::Array(array) => {
            let other = match &partner {
                Some(Value::Array(other)) if other.shape() == array.shape() => Some(other),
                Some(Value::Array(other)) => {
                    let (found, wanted) = (Shape::new(other.shape()), Shape::new(array.shape()));
                    return mismatch(&format!("a seed has shape {found}, but the primal has shape {wanted}"));
                }
                Some(_) => return mismatch("a seed is not of the form of the primal"),
                None => None,
            };
            match array.buffer() {
                Buffer::Unit(_) => done.push(value.clone()),
                Buffer::Boxed(_) => {
                    tasks.push(Task::Boxed { shape: Shape::new(array.shape()), count: array.len() });
                    for at in (0..array.len()).rev() {
                        tasks.push(Task::Visit(array.element(at), other.map(|other| other.element(at))));
                    }
                }
                Buffer::Active(..) => done.push(numbers(array, other, leaf)?),
                _ if plain == Plain::Keep => done.push(value.clone()),
                _ => done.push(numbers(array, other, leaf)?),
            }
        }
        Value::Function(function) if functions == Functions::Enter => {
            tasks.push(Task::Function { code: Rc::clone(&function.code), count: function.captures.len() });
            tasks.extend(function.captures.iter().rev().map(|capture| Task::Visit(capture.clone(), None)));
        }
        Value::Function(_) => {
            return fail(ErrorKind::Differentiation, "a function in the input or output of a derivative");
        }
        Value::Accumulator(_) | Value::Builder(_) | Value::Absent => done.push(value.clone()),
    }
    Ok(())
}

fn mismatch<T>(message: &str) -> Outcome<T> {
    fail(ErrorKind::Differentiation, message)
}

fn numbers(array: &ArrayValue, other: Option<&Rc<ArrayValue>>, leaf: Leaf<'_>) -> Outcome<Value> {
    let mut buffer = array.buffer().prim().map_or(Buffer::Unit(0), Buffer::of_prim);
    if buffer.reserve(array.len()).is_err() {
        return crate::error::memory_exceeded();
    }
    for (at, offset) in array.offsets().enumerate() {
        let element = array.buffer().get(offset);
        let partner = other.map(|other| other.element(at));
        buffer.push(leaf(&element, partner.as_ref())?);
    }
    Ok(Value::Array(Rc::new(ArrayValue::new(Shape::new(array.shape()), buffer))))
}

/// Rebuilds a value with every scalar replaced.
pub(crate) fn map(value: &Value, leaf: &mut dyn FnMut(&Value) -> Outcome<Value>) -> Outcome<Value> {
    rebuild(value, None, Functions::Refuse, Plain::Visit, &mut |value, _| leaf(value))
}

/// A number, or an array of numbers, with every number replaced by one of the type.
pub(crate) fn map_to(value: &Value, prim: Prim, leaf: &mut dyn FnMut(&Value) -> Outcome<Value>) -> Outcome<Value> {
    let Value::Array(array) = value else { return leaf(value) };
    let mut buffer = Buffer::of_prim(prim);
    if buffer.reserve(array.len()).is_err() {
        return crate::error::memory_exceeded();
    }
    for offset in array.offsets() {
        buffer.push(leaf(&array.buffer().get(offset))?);
    }
    Ok(Value::Array(Rc::new(ArrayValue::new(Shape::new(array.shape()), buffer))))
}

/// Rebuilds a value from pairs of scalars at the same place; the second value must have the form of the first.
pub(crate) fn zip(value: &Value, partner: &Value, leaf: &mut dyn FnMut(&Value, &Value) -> Outcome<Value>) -> Outcome<Value> {
    rebuild(value, Some(partner), Functions::Refuse, Plain::Visit, &mut |value, partner| match partner {
        Some(partner) => leaf(value, partner),
        None => mismatch("a seed is not of the form of the primal"),
    })
}

/// Visits pairs of scalars at the same place.
pub(crate) fn for_each_pair(value: &Value, partner: &Value, visit: &mut dyn FnMut(&Value, &Value) -> Outcome<()>) -> Outcome<()> {
    zip(value, partner, &mut |value, partner| {
        visit(value, partner)?;
        Ok(Value::Scalar(value.as_scalar().unwrap_or(chadwick_core::Const::Bool(false))))
    })
    .map(|_| ())
}

/// Replaces the numbers that are active at any level; everything else stays.
fn map_active(value: &Value, leaf: &mut dyn FnMut(&Value) -> Value) -> Outcome<Value> {
    rebuild(value, None, Functions::Enter, Plain::Keep, &mut |value, _| Ok(leaf(value)))
}

/// The value without its derivatives at `level`.
pub(crate) fn strip(value: &Value, level: u64) -> Outcome<Value> {
    map_active(value, &mut |leaf| match leaf {
        Value::Active(active) if active.level == level => active.primal.clone(),
        other => other.clone(),
    })
}

impl Machine {
    /// The value without any derivatives.
    pub(crate) fn strip_all(&self, value: &Value) -> Outcome<Value> {
        map_active(value, &mut |leaf| leaf.as_scalar().map_or(Value::Absent, Value::Scalar))
    }
}

/// The highest level inside the values, and whether it is one of reverse mode.
pub(crate) fn highest_level<'a>(values: impl IntoIterator<Item = &'a Value>) -> Option<(u64, bool)> {
    let mut highest: Option<(u64, bool)> = None;
    let mut see = |value: &Value| {
        if let Value::Active(active) = value
            && highest.is_none_or(|(level, _)| level < active.level)
        {
            highest = Some((active.level, matches!(active.tangent, Tangent::Reverse(_))));
        }
    };
    let mut queue: Vec<Value> = values.into_iter().cloned().collect();
    while let Some(value) = queue.pop() {
        match &value {
            Value::Active(_) => see(&value),
            Value::Sum(sum) => queue.extend(sum.fields.iter().cloned()),
            Value::Function(function) => queue.extend(function.captures.iter().cloned()),
            Value::Array(array) => match array.buffer() {
                Buffer::Active(_, values) => array.offsets().for_each(|at| see(&values[at])),
                Buffer::Boxed(values) => queue.extend(array.offsets().map(|at| values[at].clone())),
                _ => {}
            },
            _ => {}
        }
    }
    highest
}
