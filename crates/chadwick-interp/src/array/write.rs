//! Writing into arrays: in place where nobody else looks, else into a copy.

use super::shape::{Offsets, Shape};
use super::{ArrayValue, Selection};
use crate::error::{ErrorKind, Outcome, fail, malformed, memory_exceeded};
use crate::memory;
use crate::value::Value;
use std::rc::Rc;

/// What a write cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    InPlace,
    /// The whole array was copied first.
    Copied,
}

/// Makes the array writable: its own buffer, row-major or strided.
pub(crate) fn make_unique(array: &mut Rc<ArrayValue>, limit: usize) -> Outcome<Written> {
    if let Some(unique) = Rc::get_mut(array)
        && !unique.buffer_is_shared()
    {
        return Ok(Written::InPlace);
    }
    let bytes = array.len().saturating_mul(array.buffer().element_bytes());
    if memory::live_bytes().saturating_add(bytes) > limit {
        return memory_exceeded();
    }
    *array = Rc::new(array.compact()?);
    Ok(Written::Copied)
}

/// Replaces the selected part of `array` by `value`.
pub(crate) fn write(array: &mut Rc<ArrayValue>, dims: &[Selection], value: Value, limit: usize) -> Outcome<Written> {
    let (part, ..) = array.select(dims)?;
    let from = match (&value, part.is_empty()) {
        (Value::Array(from), false) => {
            if from.shape() != &*part {
                let found = Shape::new(from.shape());
                return fail(
                    ErrorKind::ShapeMismatch,
                    format!("cannot write an array of shape {found} over a part of shape {part}"),
                );
            }
            Some(Rc::clone(from))
        }
        (_, true) => None,
        _ => return malformed("an update with a value of the wrong kind"),
    };
    let cost = make_unique(array, limit)?;
    // The copy has another layout than the original.
    let (part, offset, strides) = array.select(dims)?;
    let Some(target) = Rc::get_mut(array) else { return malformed("a shared array after it was copied") };
    let before = target.buffer().element_bytes();
    let active = matches!(value, Value::Active(_)) || from.as_ref().is_some_and(|from| from.buffer().is_active());
    if memory::live_bytes().saturating_add(target.buffer().bytes_to_accept(active)) > limit {
        return memory_exceeded();
    }
    let Some(buffer) = target.buffer_mut() else { return malformed("a shared buffer after it was copied") };
    match from {
        None => buffer.set(offset, value),
        Some(from) => {
            drop(value);
            buffer.prepare_for(from.buffer());
            buffer.copy_positions(Offsets::new(offset, &part, strides), from.buffer(), from.offsets());
        }
    }
    if target.buffer().element_bytes() != before {
        target.reaccount();
    }
    Ok(cost)
}
