//! Flat storage, one vector per scalar type.

use super::ArrayValue;
use crate::value::Value;
use chadwick_core::{Const, Element, Prim};
use half::f16;
use std::collections::TryReserveError;

#[derive(Clone, Debug)]
pub enum Buffer {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F16(Vec<f16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Elements of the empty tuple: a count.
    Unit(usize),
    /// Numbers of the type, some of them under differentiation.
    Active(Prim, Vec<Value>),
    /// Sums or functions.
    Boxed(Vec<Value>),
}

/// Does the same to the vector of a flat buffer, whatever its type.
macro_rules! each_flat {
    ($buffer:expr, $vector:ident, $make:ident => $flat:expr, $($other:pat => $result:expr),+ $(,)?) => {
        match $buffer {
            Buffer::Bool($vector) => { let $make = Const::Bool; let _ = $make; $flat }
            Buffer::I8($vector) => { let $make = Const::I8; let _ = $make; $flat }
            Buffer::I16($vector) => { let $make = Const::I16; let _ = $make; $flat }
            Buffer::I32($vector) => { let $make = Const::I32; let _ = $make; $flat }
            Buffer::I64($vector) => { let $make = Const::I64; let _ = $make; $flat }
            Buffer::U8($vector) => { let $make = Const::U8; let _ = $make; $flat }
            Buffer::U16($vector) => { let $make = Const::U16; let _ = $make; $flat }
            Buffer::U32($vector) => { let $make = Const::U32; let _ = $make; $flat }
            Buffer::U64($vector) => { let $make = Const::U64; let _ = $make; $flat }
            Buffer::F16($vector) => { let $make = Const::F16; let _ = $make; $flat }
            Buffer::F32($vector) => { let $make = Const::F32; let _ = $make; $flat }
            Buffer::F64($vector) => { let $make = Const::F64; let _ = $make; $flat }
            $($other => $result),+
        }
    };
}

/// Does the same to two flat buffers of one type.
macro_rules! both_flat {
    ($left:expr, $right:expr, $a:ident, $b:ident => $flat:expr, $otherwise:expr) => {
        match ($left, $right) {
            (Buffer::Bool($a), Buffer::Bool($b)) => $flat,
            (Buffer::I8($a), Buffer::I8($b)) => $flat,
            (Buffer::I16($a), Buffer::I16($b)) => $flat,
            (Buffer::I32($a), Buffer::I32($b)) => $flat,
            (Buffer::I64($a), Buffer::I64($b)) => $flat,
            (Buffer::U8($a), Buffer::U8($b)) => $flat,
            (Buffer::U16($a), Buffer::U16($b)) => $flat,
            (Buffer::U32($a), Buffer::U32($b)) => $flat,
            (Buffer::U64($a), Buffer::U64($b)) => $flat,
            (Buffer::F16($a), Buffer::F16($b)) => $flat,
            (Buffer::F32($a), Buffer::F32($b)) => $flat,
            (Buffer::F64($a), Buffer::F64($b)) => $flat,
            (Buffer::Active(_, $a), Buffer::Active(_, $b)) => $flat,
            (Buffer::Boxed($a), Buffer::Boxed($b)) => $flat,
            _ => $otherwise,
        }
    };
}

impl Buffer {
    pub(crate) fn of_prim(prim: Prim) -> Buffer {
        match prim {
            Prim::Bool => Buffer::Bool(Vec::new()),
            Prim::I8 => Buffer::I8(Vec::new()),
            Prim::I16 => Buffer::I16(Vec::new()),
            Prim::I32 => Buffer::I32(Vec::new()),
            Prim::I64 => Buffer::I64(Vec::new()),
            Prim::U8 => Buffer::U8(Vec::new()),
            Prim::U16 => Buffer::U16(Vec::new()),
            Prim::U32 => Buffer::U32(Vec::new()),
            Prim::U64 => Buffer::U64(Vec::new()),
            Prim::F16 => Buffer::F16(Vec::new()),
            Prim::F32 => Buffer::F32(Vec::new()),
            Prim::F64 => Buffer::F64(Vec::new()),
        }
    }

    pub(crate) fn of_element(element: &Element) -> Buffer {
        match element {
            Element::Prim(prim) => Buffer::of_prim(*prim),
            Element::Unit => Buffer::Unit(0),
            Element::Boxed(_) => Buffer::Boxed(Vec::new()),
        }
    }

    /// An empty buffer for the same elements.
    pub(crate) fn empty_like(&self) -> Buffer {
        match self {
            Buffer::Active(prim, _) => Buffer::Active(*prim, Vec::new()),
            Buffer::Boxed(_) => Buffer::Boxed(Vec::new()),
            Buffer::Unit(_) => Buffer::Unit(0),
            flat => flat.prim().map_or(Buffer::Unit(0), Buffer::of_prim),
        }
    }

    /// The type of the numbers or booleans inside.
    pub fn prim(&self) -> Option<Prim> {
        match self {
            Buffer::Bool(_) => Some(Prim::Bool),
            Buffer::I8(_) => Some(Prim::I8),
            Buffer::I16(_) => Some(Prim::I16),
            Buffer::I32(_) => Some(Prim::I32),
            Buffer::I64(_) => Some(Prim::I64),
            Buffer::U8(_) => Some(Prim::U8),
            Buffer::U16(_) => Some(Prim::U16),
            Buffer::U32(_) => Some(Prim::U32),
            Buffer::U64(_) => Some(Prim::U64),
            Buffer::F16(_) => Some(Prim::F16),
            Buffer::F32(_) => Some(Prim::F32),
            Buffer::F64(_) => Some(Prim::F64),
            Buffer::Active(prim, _) => Some(*prim),
            Buffer::Unit(_) | Buffer::Boxed(_) => None,
        }
    }

    pub fn len(&self) -> usize {
        each_flat!(self, vector, make => vector.len(), Buffer::Unit(count) => *count, Buffer::Active(_, vector) | Buffer::Boxed(vector) => vector.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn element_bytes(&self) -> usize {
        match self {
            Buffer::Unit(_) => 0,
            Buffer::Active(..) | Buffer::Boxed(_) => size_of::<Value>(),
            flat => flat.prim().map_or(0, Prim::bytes),
        }
    }

    /// What the buffer takes up, without what its elements refer to.
    pub(crate) fn bytes(&self) -> usize {
        let capacity = each_flat!(self, vector, make => vector.capacity(), Buffer::Unit(_) => 0, Buffer::Active(_, vector) | Buffer::Boxed(vector) => vector.capacity());
        capacity * self.element_bytes()
    }

    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), TryReserveError> {
        each_flat!(self, vector, make => vector.try_reserve_exact(more), Buffer::Unit(_) => Ok(()), Buffer::Active(_, vector) | Buffer::Boxed(vector) => vector.try_reserve_exact(more))
    }

    /// Makes room like [`Buffer::reserve`], and for more that may follow.
    pub(crate) fn grow(&mut self, more: usize) -> Result<(), TryReserveError> {
        each_flat!(self, vector, make => vector.try_reserve(more), Buffer::Unit(_) => Ok(()), Buffer::Active(_, vector) | Buffer::Boxed(vector) => vector.try_reserve(more))
    }

    /// The bytes that storing a value would take beyond those of the buffer: many if it is the first active number.
    pub(crate) fn bytes_to_accept(&self, active: bool) -> usize {
        match self {
            Buffer::Active(..) | Buffer::Boxed(_) | Buffer::Unit(_) => 0,
            flat if active => {
                let capacity = flat.bytes() / flat.element_bytes().max(1);
                capacity.max(flat.len()).saturating_mul(size_of::<Value>())
            }
            _ => 0,
        }
    }

    /// Whether some of the numbers may be under differentiation.
    pub(crate) fn is_active(&self) -> bool {
        matches!(self, Buffer::Active(..))
    }

    /// Element `at`; it exists. A unit is [`Value::Absent`].
    pub(crate) fn get(&self, at: usize) -> Value {
        each_flat!(self, vector, make => Value::Scalar(make(vector[at])), Buffer::Unit(_) => Value::Absent, Buffer::Active(_, vector) | Buffer::Boxed(vector) => vector[at].clone())
    }

    /// Numbers become values, so that some may be active.
    pub(crate) fn make_active(&mut self) {
        let Some(prim) = self.prim() else { return };
        if matches!(self, Buffer::Active(..)) {
            return;
        }
        let capacity = each_flat!(&*self, vector, make => vector.capacity(), _ => 0);
        let mut values = Vec::with_capacity(capacity.max(self.len()));
        values.extend((0..self.len()).map(|at| self.get(at)));
        *self = Buffer::Active(prim, values);
    }

    /// Whether the value can be stored as it is.
    fn accepts(&self, value: &Value) -> bool {
        match (self, value) {
            (Buffer::Active(..) | Buffer::Boxed(_), _) => true,
            (_, Value::Active(_)) => false,
            _ => true,
        }
    }

    /// Replaces element `at`, which exists.
    pub(crate) fn set(&mut self, at: usize, value: Value) {
        if !self.accepts(&value) {
            self.make_active();
        }
        match (self, value) {
            (Buffer::Bool(vector), Value::Scalar(Const::Bool(x))) => vector[at] = x,
            (Buffer::I8(vector), Value::Scalar(Const::I8(x))) => vector[at] = x,
            (Buffer::I16(vector), Value::Scalar(Const::I16(x))) => vector[at] = x,
            (Buffer::I32(vector), Value::Scalar(Const::I32(x))) => vector[at] = x,
            (Buffer::I64(vector), Value::Scalar(Const::I64(x))) => vector[at] = x,
            (Buffer::U8(vector), Value::Scalar(Const::U8(x))) => vector[at] = x,
            (Buffer::U16(vector), Value::Scalar(Const::U16(x))) => vector[at] = x,
            (Buffer::U32(vector), Value::Scalar(Const::U32(x))) => vector[at] = x,
            (Buffer::U64(vector), Value::Scalar(Const::U64(x))) => vector[at] = x,
            (Buffer::F16(vector), Value::Scalar(Const::F16(x))) => vector[at] = x,
            (Buffer::F32(vector), Value::Scalar(Const::F32(x))) => vector[at] = x,
            (Buffer::F64(vector), Value::Scalar(Const::F64(x))) => vector[at] = x,
            (Buffer::Active(_, vector) | Buffer::Boxed(vector), value) => vector[at] = value,
            _ => {}
        }
    }

    pub(crate) fn push(&mut self, value: Value) {
        if !self.accepts(&value) {
            self.make_active();
        }
        match (self, value) {
            (Buffer::F64(vector), Value::Scalar(Const::F64(x))) => vector.push(x),
            (Buffer::I64(vector), Value::Scalar(Const::I64(x))) => vector.push(x),
            (Buffer::Bool(vector), Value::Scalar(Const::Bool(x))) => vector.push(x),
            (Buffer::I8(vector), Value::Scalar(Const::I8(x))) => vector.push(x),
            (Buffer::I16(vector), Value::Scalar(Const::I16(x))) => vector.push(x),
            (Buffer::I32(vector), Value::Scalar(Const::I32(x))) => vector.push(x),
            (Buffer::U8(vector), Value::Scalar(Const::U8(x))) => vector.push(x),
            (Buffer::U16(vector), Value::Scalar(Const::U16(x))) => vector.push(x),
            (Buffer::U32(vector), Value::Scalar(Const::U32(x))) => vector.push(x),
            (Buffer::U64(vector), Value::Scalar(Const::U64(x))) => vector.push(x),
            (Buffer::F16(vector), Value::Scalar(Const::F16(x))) => vector.push(x),
            (Buffer::F32(vector), Value::Scalar(Const::F32(x))) => vector.push(x),
            (Buffer::Active(_, vector) | Buffer::Boxed(vector), value) => vector.push(value),
            (Buffer::Unit(count), _) => *count += 1,
            _ => {}
        }
    }

    /// Appends all elements of an array.
    pub(crate) fn extend_from(&mut self, array: &ArrayValue) {
        if let Buffer::Unit(count) = self {
            *count += array.len();
            return;
        }
        let source = array.buffer();
        if matches!(source, Buffer::Active(..)) {
            self.make_active();
        }
        match array.contiguous() {
            Some(range) => both_flat!(&mut *self, source, to, from => to.extend_from_slice(&from[range]), {
                range.for_each(|at| self.push(source.get(at)));
            }),
            None => both_flat!(&mut *self, source, to, from => extend_at(to, from, array.offsets()), {
                array.offsets().for_each(|at| self.push(source.get(at)));
            }),
        }
    }

    /// Copies elements of `source` over elements of this buffer, pairwise. `source` fits: see [`Buffer::prepare_for`].
    pub(crate) fn copy_positions(&mut self, to: impl Iterator<Item = usize>, source: &Buffer, from: impl Iterator<Item = usize>) {
        let pairs = to.zip(from);
        both_flat!(&mut *self, source, target, origin => copy_at(target, origin, pairs), {
            pairs.for_each(|(to, from)| self.set(to, source.get(from)));
        })
    }

    /// Makes room for active numbers if `source` has any.
    pub(crate) fn prepare_for(&mut self, source: &Buffer) {
        if matches!(source, Buffer::Active(..)) {
            self.make_active();
        }
    }
}

fn extend_at<T: Clone>(to: &mut Vec<T>, from: &[T], positions: impl Iterator<Item = usize>) {
    to.extend(positions.map(|at| from[at].clone()));
}

fn copy_at<T: Clone>(to: &mut [T], from: &[T], pairs: impl Iterator<Item = (usize, usize)>) {
    pairs.for_each(|(target, origin)| to[target] = from[origin].clone());
}
