//! Arrays: a shape over a shared flat buffer.
//!
//! An array is a view: an offset, a shape, and strides unless it is row-major. Indexing by fewer indices than dimensions, slicing and
//! transposing share the buffer; writing copies unless nobody else holds view or buffer. Numbers are stored flat; only once a number
//! under differentiation is written does a buffer of numbers become a buffer of values.

mod buffer;
mod build;
mod shape;
mod write;

pub use buffer::Buffer;
pub use shape::Shape;

pub(crate) use build::ArrayBuilder;
pub(crate) use write::{Written, write};

use crate::error::{ErrorKind, Outcome, fail, memory_exceeded};
use crate::memory;
use crate::value::{Value, drop_buffer};
use std::rc::Rc;

/// A buffer with its bytes accounted for.
#[derive(Debug)]
pub struct Storage {
    pub(crate) buffer: Buffer,
    accounted: usize,
}

#[derive(Clone, Debug)]
pub struct ArrayValue {
    shape: Shape,
    /// Of the first element, in elements.
    offset: usize,
    /// Absent where row-major.
    strides: Option<Vec<i64>>,
    storage: Rc<Storage>,
}

/// One dimension of a slice, with evaluated bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection {
    Index(i64),
    Range { start: i64, count: i64, stride: i64 },
}

impl Storage {
    pub(crate) fn new(buffer: Buffer) -> Self {
        let accounted = buffer.bytes();
        memory::acquire(accounted);
        Storage { buffer, accounted }
    }

    fn take_buffer(&mut self) -> Buffer {
        std::mem::replace(&mut self.buffer, Buffer::Unit(0))
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        memory::release(self.accounted);
        drop_buffer(&mut self.buffer);
    }
}

impl ArrayValue {
    /// A row-major array; the buffer has as many elements as the shape says.
    pub(crate) fn new(shape: Shape, buffer: Buffer) -> Self {
        ArrayValue { shape, offset: 0, strides: None, storage: Rc::new(Storage::new(buffer)) }
    }

    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn buffer(&self) -> &Buffer {
        &self.storage.buffer
    }

    pub(crate) fn strides(&self) -> Vec<i64> {
        self.strides.clone().unwrap_or_else(|| self.shape.row_major_strides())
    }

    pub(crate) fn is_row_major(&self) -> bool {
        self.strides.is_none()
    }

    /// The elements if they lie in one piece: the range of the buffer.
    pub(crate) fn contiguous(&self) -> Option<std::ops::Range<usize>> {
        // The offset of an empty array may lie behind its buffer.
        self.is_row_major().then(|| if self.is_empty() { 0..0 } else { self.offset..self.offset + self.len() })
    }

    /// The elements, if this is a row-major vector of `f64`.
    #[inline]
    pub(crate) fn as_f64_vector(&self) -> Option<&[f64]> {
        match (&self.storage.buffer, &self.strides, &*self.shape) {
            (Buffer::F64(elements), None, [size]) => elements.get(self.offset..self.offset + *size as usize),
            _ => None,
        }
    }

    /// Where each element lies in the buffer, in row-major order of the array.
    pub(crate) fn offsets(&self) -> shape::Offsets {
        shape::Offsets::new(self.offset, &self.shape, self.strides())
    }

    /// The element with the number `position` in row-major order.
    pub(crate) fn element(&self, position: usize) -> Value {
        let at = match &self.strides {
            None => self.offset + position,
            Some(strides) => self.shape.offset_of_position(position, self.offset, strides),
        };
        self.storage.buffer.get(at)
    }

    /// Element `at` along the first axis: a value, or a subarray that shares the buffer.
    pub fn row(&self, at: usize) -> Option<Value> {
        self.index(&[i64::try_from(at).ok()?]).ok()
    }

    /// The elements of a boxed array nobody else holds.
    pub(crate) fn into_boxed_values(self) -> Option<Vec<Value>> {
        let mut storage = Rc::try_unwrap(self.storage).ok()?;
        match storage.take_buffer() {
            Buffer::Boxed(values) | Buffer::Active(_, values) => Some(values),
            _ => None,
        }
    }

    fn view(&self, shape: Shape, offset: usize, strides: Vec<i64>) -> ArrayValue {
        let row_major = shape.count() == 0 || shape.is_row_major(&strides);
        // An empty view may start behind the end of the buffer; nothing reads there.
        ArrayValue { shape, offset, strides: (!row_major).then_some(strides), storage: Rc::clone(&self.storage) }
    }

    /// `array[indices]` for full indices, in the buffer.
    pub(crate) fn locate(&self, indices: &[i64]) -> Outcome<usize> {
        let mut at = self.offset as i64;
        match &self.strides {
            None => {
                let mut relative = 0i64;
                for (dim, index) in self.shape.iter().zip(indices) {
                    check_index(*index, *dim)?;
                    relative = relative * dim + index;
                }
                at += relative;
            }
            Some(strides) => {
                for ((dim, index), stride) in self.shape.iter().zip(indices).zip(strides) {
                    check_index(*index, *dim)?;
                    at += index * stride;
                }
            }
        }
        Ok(at as usize)
    }

    /// An element, or a subarray that shares the buffer. A unit is [`Value::Absent`].
    pub(crate) fn index(&self, indices: &[i64]) -> Outcome<Value> {
        if indices.len() == self.shape.len() {
            return Ok(self.storage.buffer.get(self.locate(indices)?));
        }
        let mut at = self.offset as i64;
        let strides = self.strides();
        for ((dim, index), stride) in self.shape.iter().zip(indices).zip(&strides) {
            check_index(*index, *dim)?;
            at += index * stride;
        }
        let shape = Shape::new(&self.shape[indices.len()..]);
        let view = match self.is_row_major() {
            true => ArrayValue { shape, offset: at as usize, strides: None, storage: Rc::clone(&self.storage) },
            false => self.view(shape, at as usize, strides[indices.len()..].to_vec()),
        };
        Ok(Value::Array(Rc::new(view)))
    }

    /// Checks a selection and gives the shape, offset and strides of the selected part.
    pub(crate) fn select(&self, dims: &[Selection]) -> Outcome<(Shape, usize, Vec<i64>)> {
        let strides = self.strides();
        let (mut shape, mut selected) = (Vec::new(), Vec::new());
        let mut at = self.offset as i64;
        for (axis, (dim, stride)) in self.shape.iter().zip(&strides).enumerate() {
            match dims.get(axis) {
                Some(Selection::Index(index)) => {
                    check_index(*index, *dim)?;
                    at += index * stride;
                }
                Some(Selection::Range { start, count, stride: step }) => {
                    check_range(*start, *count, *step, *dim)?;
                    // An empty range may start at either end, outside the buffer.
                    if *count > 0 {
                        at += start * stride;
                    }
                    shape.push((*count).max(0));
                    selected.push(stride.wrapping_mul(*step));
                }
                None => {
                    shape.push(*dim);
                    selected.push(*stride);
                }
            }
        }
        Ok((Shape::new(&shape), at as usize, selected))
    }

    pub(crate) fn slice(&self, dims: &[Selection]) -> Outcome<Value> {
        let (shape, offset, strides) = self.select(dims)?;
        Ok(match shape.is_empty() {
            true => self.storage.buffer.get(offset),
            false => Value::Array(Rc::new(self.view(shape, offset, strides))),
        })
    }

    pub(crate) fn transpose(&self, permutation: &[usize]) -> ArrayValue {
        let strides = self.strides();
        let shape: Vec<i64> = permutation.iter().map(|axis| self.shape[*axis]).collect();
        let permuted = permutation.iter().map(|axis| strides[*axis]).collect();
        self.view(Shape::new(&shape), self.offset, permuted)
    }

    /// The same elements under a new shape of the same count.
    pub(crate) fn reshape(&self, shape: Shape) -> Outcome<ArrayValue> {
        if shape.checked_count() != Some(self.len()) {
            let message = format!("cannot reshape {} to {shape}", self.shape);
            return fail(ErrorKind::ShapeMismatch, message);
        }
        match self.is_row_major() {
            true => Ok(ArrayValue { shape, offset: self.offset, strides: None, storage: Rc::clone(&self.storage) }),
            false => {
                let compact = self.compact()?;
                Ok(ArrayValue { shape, ..compact })
            }
        }
    }

    /// A row-major copy with its own buffer.
    pub(crate) fn compact(&self) -> Outcome<ArrayValue> {
        let mut buffer = self.storage.buffer.empty_like();
        if buffer.reserve(self.len()).is_err() {
            return memory_exceeded();
        }
        buffer.extend_from(self);
        Ok(ArrayValue::new(self.shape.clone(), buffer))
    }

    /// Whether a write would have to copy.
    pub(crate) fn buffer_is_shared(&self) -> bool {
        Rc::strong_count(&self.storage) > 1
    }

    /// The buffer for writing; present only if nobody else holds it.
    pub(crate) fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        Rc::get_mut(&mut self.storage).map(|storage| &mut storage.buffer)
    }

    /// Adjusts the accounts after a buffer changed its representation.
    pub(crate) fn reaccount(&mut self) {
        if let Some(storage) = Rc::get_mut(&mut self.storage) {
            let now = storage.buffer.bytes();
            memory::release(storage.accounted);
            memory::acquire(now);
            storage.accounted = now;
        }
    }
}

pub(crate) fn check_index(index: i64, size: i64) -> Outcome<()> {
    match 0 <= index && index < size {
        true => Ok(()),
        false => fail(ErrorKind::OutOfBounds, format!("index {index} out of bounds for size {size}")),
    }
}

/// Every selected position must exist; an empty range must lie within `0..=size` (from `-1` when it goes down).
fn check_range(start: i64, count: i64, stride: i64, size: i64) -> Outcome<()> {
    let inside = |at: i128| 0 <= at && at < i128::from(size);
    let fits = match count {
        ..0 => false,
        0 => -1 <= start && start <= size,
        // Two positions of a view are never the same place.
        2.. if stride == 0 => false,
        _ => {
            let last = i128::from(start) + i128::from(count - 1) * i128::from(stride);
            inside(i128::from(start)) && inside(last)
        }
    };
    match fits {
        true => Ok(()),
        false => {
            let message = format!("slice of {count} from {start} in steps of {stride} out of bounds for size {size}");
            fail(ErrorKind::OutOfBounds, message)
        }
    }
}

/// End to end along the first axis.
pub(crate) fn concat(arrays: &[&ArrayValue]) -> Outcome<ArrayValue> {
    let Some(first) = arrays.first() else { return crate::error::malformed("a concatenation of nothing") };
    let mut outer = 0i64;
    // Empty arrays agree with everything only in rank; inner shapes must be equal.
    for array in arrays {
        if array.shape[1..] != first.shape[1..] {
            let message = format!("cannot concatenate arrays of shapes {} and {}", first.shape, array.shape);
            return fail(ErrorKind::ShapeMismatch, message);
        }
        outer = outer.saturating_add(array.shape[0]);
    }
    let active = arrays.iter().find(|array| matches!(array.buffer(), Buffer::Active(..)));
    let mut buffer = active.unwrap_or(first).buffer().empty_like();
    let total = arrays.iter().map(|array| array.len()).sum();
    if buffer.reserve(total).is_err() {
        return memory_exceeded();
    }
    arrays.iter().for_each(|array| buffer.extend_from(array));
    let mut shape = first.shape.to_vec();
    shape[0] = outer;
    Ok(ArrayValue::new(Shape::new(&shape), buffer))
}
