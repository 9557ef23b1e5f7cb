//! Arrays under construction, element by element, with the check that all elements have one shape.

use super::shape::Shape;
use super::{ArrayValue, Buffer};
use crate::error::{ErrorKind, Outcome, fail, malformed, memory_exceeded};
use crate::memory;
use crate::value::Value;
use chadwick_core::{Element, element_count};

#[derive(Debug)]
pub struct ArrayBuilder {
    /// The sizes in front; a growing builder has one, counted as it goes.
    outer: Vec<i64>,
    /// How many elements are announced; `None` for a growing builder.
    expected: Option<usize>,
    inner_rank: usize,
    /// The inner sizes as stated; -1 where not.
    stated: Vec<i64>,
    /// The shape of the elements so far.
    inner: Option<Shape>,
    buffer: Buffer,
    pushed: usize,
    /// Bytes reported to the accounts while under construction.
    accounted: usize,
}

impl ArrayBuilder {
    /// `outer` without sizes means: as many elements as will be pushed.
    pub(crate) fn new(
        outer: Option<&[i64]>,
        element: &Element,
        stated: &[i64],
        inner_rank: usize,
        limit: usize,
    ) -> Outcome<Self> {
        let expected = match outer {
            Some(dims) => match element_count(dims) {
                Some(count) => Some(count),
                None => return memory_exceeded(),
            },
            None => None,
        };
        let mut stated: Vec<i64> = stated.iter().map(|size| (*size).max(-1)).collect();
        stated.resize(inner_rank, -1);
        let mut builder = ArrayBuilder {
            outer: outer.unwrap_or(&[0]).to_vec(),
            expected,
            inner_rank,
            stated,
            inner: None,
            buffer: Buffer::of_element(element),
            pushed: 0,
            accounted: 0,
        };
        if inner_rank == 0 {
            builder.inner = Some(Shape::new(&[]));
            builder.reserve(limit)?;
        } else if !builder.stated.contains(&-1) {
            builder.inner = Some(Shape::new(&builder.stated));
            builder.reserve(limit)?;
        }
        Ok(builder)
    }

    fn reserve(&mut self, limit: usize) -> Outcome<()> {
        let (Some(expected), Some(inner)) = (self.expected, &self.inner) else { return Ok(()) };
        let total = inner.checked_count().and_then(|inner| inner.checked_mul(expected));
        // A count beyond `isize` could not be indexed, even if its elements take no bytes.
        let Some(total) = total.filter(|total| isize::try_from(*total).is_ok()) else { return memory_exceeded() };
        let bytes = total.checked_mul(self.buffer.element_bytes());
        if bytes.is_none_or(|bytes| memory::live_bytes().saturating_add(bytes) > limit) {
            return memory_exceeded();
        }
        if self.buffer.reserve(total).is_err() {
            return memory_exceeded();
        }
        self.account();
        Ok(())
    }

    fn account(&mut self) {
        let now = self.buffer.bytes();
        if now != self.accounted {
            memory::release(self.accounted);
            memory::acquire(now);
            self.accounted = now;
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: Value, limit: usize) -> Outcome<()> {
        self.pushed += 1;
        if self.inner_rank == 0 {
            let plain = matches!(value, Value::Scalar(_));
            if !plain {
                self.check_room(matches!(value, Value::Active(_)), limit)?;
            }
            if self.expected.is_none() && self.buffer.grow(1).is_err() {
                return memory_exceeded();
            }
            self.buffer.push(value);
            if !plain || self.expected.is_none() {
                self.check_growth(limit)?;
            }
            return Ok(());
        }
        let Value::Array(array) = &value else { return malformed("an element that is no array") };
        match &self.inner {
            Some(inner) if **inner == *array.shape() => {}
            Some(inner) => {
                let found = Shape::new(array.shape());
                let message = format!("irregular array: an element of shape {found} among elements of shape {inner}");
                return fail(ErrorKind::Irregular, message);
            }
            None => {
                let fits = |(stated, found): (&i64, &i64)| *stated == -1 || stated == found;
                if array.shape().len() != self.inner_rank || !self.stated.iter().zip(array.shape()).all(fits) {
                    let found = Shape::new(array.shape());
                    return fail(ErrorKind::Irregular, format!("irregular array: an element of shape {found}"));
                }
                self.inner = Some(Shape::new(array.shape()));
                self.reserve(limit)?;
            }
        }
        self.check_room(array.buffer().is_active(), limit)?;
        if self.expected.is_none() {
            let more = array.len().saturating_mul(self.buffer.element_bytes());
            if memory::live_bytes().saturating_add(more) > limit || self.buffer.grow(array.len()).is_err() {
                return memory_exceeded();
            }
        }
        self.buffer.extend_from(array);
        self.check_growth(limit)
    }

    /// Fails if the first active number would need more room than there is.
    fn check_room(&self, active: bool, limit: usize) -> Outcome<()> {
        match memory::live_bytes().saturating_add(self.buffer.bytes_to_accept(active)) > limit {
            true => memory_exceeded(),
            false => Ok(()),
        }
    }

    fn check_growth(&mut self, limit: usize) -> Outcome<()> {
        self.account();
        match memory::live_bytes() > limit {
            true => memory_exceeded(),
            false => Ok(()),
        }
    }

    pub(crate) fn finish(mut self) -> Outcome<Value> {
        if self.expected.is_none() {
            self.outer = vec![self.pushed as i64];
        }
        let inner = match &self.inner {
            Some(inner) => inner.to_vec(),
            None => self.stated.iter().map(|size| (*size).max(0)).collect(),
        };
        let shape = Shape::join(&self.outer, &inner);
        // Elements of the empty tuple are not pushed.
        if let Buffer::Unit(count) = &mut self.buffer {
            *count = shape.checked_count().unwrap_or(0);
        }
        if shape.checked_count() != Some(self.buffer.len()) {
            return malformed("an array that is not complete");
        }
        let buffer = std::mem::replace(&mut self.buffer, Buffer::Unit(0));
        Ok(Value::Array(ArrayValue::new(shape, buffer).into()))
    }
}

impl Drop for ArrayBuilder {
    fn drop(&mut self) {
        memory::release(self.accounted);
        crate::value::drop_buffer(&mut self.buffer);
    }
}
