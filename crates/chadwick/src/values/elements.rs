//! Typed, flat storage of elements.

use chadwick_core::{Const, Prim};
use chadwick_interp::Buffer;
use half::f16;

/// The elements of an array, by type.
#[derive(Clone, Debug)]
pub enum Elements {
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
}

/// One element.
pub type Scalar = Const;

/// Does the same to the vector inside, whatever its type.
macro_rules! each {
    ($elements:expr, $vector:ident => $result:expr) => {
        match $elements {
            Elements::Bool($vector) => $result,
            Elements::I8($vector) => $result,
            Elements::I16($vector) => $result,
            Elements::I32($vector) => $result,
            Elements::I64($vector) => $result,
            Elements::U8($vector) => $result,
            Elements::U16($vector) => $result,
            Elements::U32($vector) => $result,
            Elements::U64($vector) => $result,
            Elements::F16($vector) => $result,
            Elements::F32($vector) => $result,
            Elements::F64($vector) => $result,
        }
    };
}

/// Does the same for every variant: its vector, its primitive type, its Rust type.
macro_rules! for_each_type {
    ($macro:ident) => {
        $macro!(Bool, bool);
        $macro!(I8, i8);
        $macro!(I16, i16);
        $macro!(I32, i32);
        $macro!(I64, i64);
        $macro!(U8, u8);
        $macro!(U16, u16);
        $macro!(U32, u32);
        $macro!(U64, u64);
        $macro!(F16, f16);
        $macro!(F32, f32);
        $macro!(F64, f64);
    };
}

pub(crate) use {each, for_each_type};

impl Elements {
    /// No elements yet.
    pub fn empty(prim: Prim) -> Elements {
        match prim {
            Prim::Bool => Elements::Bool(Vec::new()),
            Prim::I8 => Elements::I8(Vec::new()),
            Prim::I16 => Elements::I16(Vec::new()),
            Prim::I32 => Elements::I32(Vec::new()),
            Prim::I64 => Elements::I64(Vec::new()),
            Prim::U8 => Elements::U8(Vec::new()),
            Prim::U16 => Elements::U16(Vec::new()),
            Prim::U32 => Elements::U32(Vec::new()),
            Prim::U64 => Elements::U64(Vec::new()),
            Prim::F16 => Elements::F16(Vec::new()),
            Prim::F32 => Elements::F32(Vec::new()),
            Prim::F64 => Elements::F64(Vec::new()),
        }
    }

    /// So many zeros; `None` where there is no room for them.
    pub fn zeros(prim: Prim, count: usize) -> Option<Elements> {
        let mut elements = Elements::empty(prim);
        elements.reserve(count)?;
        each!(&mut elements, vector => vector.resize(count, Default::default()));
        Some(elements)
    }

    /// Makes room; `None` where there is none.
    pub fn reserve(&mut self, more: usize) -> Option<()> {
        each!(self, vector => vector.try_reserve_exact(more)).ok()
    }

    pub fn prim(&self) -> Prim {
        match self {
            Elements::Bool(_) => Prim::Bool,
            Elements::I8(_) => Prim::I8,
            Elements::I16(_) => Prim::I16,
            Elements::I32(_) => Prim::I32,
            Elements::I64(_) => Prim::I64,
            Elements::U8(_) => Prim::U8,
            Elements::U16(_) => Prim::U16,
            Elements::U32(_) => Prim::U32,
            Elements::U64(_) => Prim::U64,
            Elements::F16(_) => Prim::F16,
            Elements::F32(_) => Prim::F32,
            Elements::F64(_) => Prim::F64,
        }
    }

    pub fn len(&self) -> usize {
        each!(self, vector => vector.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, at: usize) -> Option<Scalar> {
        match self {
            Elements::Bool(vector) => vector.get(at).copied().map(Const::Bool),
            Elements::I8(vector) => vector.get(at).copied().map(Const::I8),
            Elements::I16(vector) => vector.get(at).copied().map(Const::I16),
            Elements::I32(vector) => vector.get(at).copied().map(Const::I32),
            Elements::I64(vector) => vector.get(at).copied().map(Const::I64),
            Elements::U8(vector) => vector.get(at).copied().map(Const::U8),
            Elements::U16(vector) => vector.get(at).copied().map(Const::U16),
            Elements::U32(vector) => vector.get(at).copied().map(Const::U32),
            Elements::U64(vector) => vector.get(at).copied().map(Const::U64),
            Elements::F16(vector) => vector.get(at).copied().map(Const::F16),
            Elements::F32(vector) => vector.get(at).copied().map(Const::F32),
            Elements::F64(vector) => vector.get(at).copied().map(Const::F64),
        }
    }

    /// Appends an element; one of another type is refused.
    pub fn push(&mut self, scalar: Scalar) -> bool {
        match (self, scalar) {
            (Elements::Bool(vector), Const::Bool(x)) => vector.push(x),
            (Elements::I8(vector), Const::I8(x)) => vector.push(x),
            (Elements::I16(vector), Const::I16(x)) => vector.push(x),
            (Elements::I32(vector), Const::I32(x)) => vector.push(x),
            (Elements::I64(vector), Const::I64(x)) => vector.push(x),
            (Elements::U8(vector), Const::U8(x)) => vector.push(x),
            (Elements::U16(vector), Const::U16(x)) => vector.push(x),
            (Elements::U32(vector), Const::U32(x)) => vector.push(x),
            (Elements::U64(vector), Const::U64(x)) => vector.push(x),
            (Elements::F16(vector), Const::F16(x)) => vector.push(x),
            (Elements::F32(vector), Const::F32(x)) => vector.push(x),
            (Elements::F64(vector), Const::F64(x)) => vector.push(x),
            _ => return false,
        }
        true
    }

    /// Replaces an element; one of another type, or outside, is refused.
    pub fn set(&mut self, at: usize, scalar: Scalar) -> bool {
        fn put<T>(vector: &mut [T], at: usize, x: T) -> bool {
            vector.get_mut(at).map(|slot| *slot = x).is_some()
        }
        match (self, scalar) {
            (Elements::Bool(vector), Const::Bool(x)) => put(vector, at, x),
            (Elements::I8(vector), Const::I8(x)) => put(vector, at, x),
            (Elements::I16(vector), Const::I16(x)) => put(vector, at, x),
            (Elements::I32(vector), Const::I32(x)) => put(vector, at, x),
            (Elements::I64(vector), Const::I64(x)) => put(vector, at, x),
            (Elements::U8(vector), Const::U8(x)) => put(vector, at, x),
            (Elements::U16(vector), Const::U16(x)) => put(vector, at, x),
            (Elements::U32(vector), Const::U32(x)) => put(vector, at, x),
            (Elements::U64(vector), Const::U64(x)) => put(vector, at, x),
            (Elements::F16(vector), Const::F16(x)) => put(vector, at, x),
            (Elements::F32(vector), Const::F32(x)) => put(vector, at, x),
            (Elements::F64(vector), Const::F64(x)) => put(vector, at, x),
            _ => false,
        }
    }

    /// The elements as `f64`, for comparing and counting; exact but for large 64-bit integers.
    pub fn to_f64(&self) -> Vec<f64> {
        (0..self.len()).filter_map(|at| self.get(at)).map(scalar_to_f64).collect()
    }

    pub(crate) fn into_buffer(self) -> Buffer {
        match self {
            Elements::Bool(vector) => Buffer::Bool(vector),
            Elements::I8(vector) => Buffer::I8(vector),
            Elements::I16(vector) => Buffer::I16(vector),
            Elements::I32(vector) => Buffer::I32(vector),
            Elements::I64(vector) => Buffer::I64(vector),
            Elements::U8(vector) => Buffer::U8(vector),
            Elements::U16(vector) => Buffer::U16(vector),
            Elements::U32(vector) => Buffer::U32(vector),
            Elements::U64(vector) => Buffer::U64(vector),
            Elements::F16(vector) => Buffer::F16(vector),
            Elements::F32(vector) => Buffer::F32(vector),
            Elements::F64(vector) => Buffer::F64(vector),
        }
    }

    pub(crate) fn from_buffer(buffer: Buffer) -> Option<Elements> {
        Some(match buffer {
            Buffer::Bool(vector) => Elements::Bool(vector),
            Buffer::I8(vector) => Elements::I8(vector),
            Buffer::I16(vector) => Elements::I16(vector),
            Buffer::I32(vector) => Elements::I32(vector),
            Buffer::I64(vector) => Elements::I64(vector),
            Buffer::U8(vector) => Elements::U8(vector),
            Buffer::U16(vector) => Elements::U16(vector),
            Buffer::U32(vector) => Elements::U32(vector),
            Buffer::U64(vector) => Elements::U64(vector),
            Buffer::F16(vector) => Elements::F16(vector),
            Buffer::F32(vector) => Elements::F32(vector),
            Buffer::F64(vector) => Elements::F64(vector),
            Buffer::Unit(_) | Buffer::Active(..) | Buffer::Boxed(_) => return None,
        })
    }
}

/// The same elements; a NaN equals itself.
impl PartialEq for Elements {
    fn eq(&self, other: &Elements) -> bool {
        self.prim() == other.prim() && self.len() == other.len() && (0..self.len()).all(|at| self.get(at) == other.get(at))
    }
}

/// A scalar as `f64`; booleans are 0 and 1.
pub fn scalar_to_f64(scalar: Scalar) -> f64 {
    match scalar {
        Const::Bool(x) => f64::from(u8::from(x)),
        Const::I8(x) => f64::from(x),
        Const::I16(x) => f64::from(x),
        Const::I32(x) => f64::from(x),
        Const::I64(x) => x as f64,
        Const::U8(x) => f64::from(x),
        Const::U16(x) => f64::from(x),
        Const::U32(x) => f64::from(x),
        Const::U64(x) => x as f64,
        Const::F16(x) => x.to_f64(),
        Const::F32(x) => f64::from(x),
        Const::F64(x) => x,
    }
}

/// An `f64` in a float type; `None` for other types.
pub fn scalar_from_f64(prim: Prim, value: f64) -> Option<Scalar> {
    match prim {
        Prim::F16 => Some(Const::F16(f16::from_f64(value))),
        Prim::F32 => Some(Const::F32(value as f32)),
        Prim::F64 => Some(Const::F64(value)),
        _ => None,
    }
}

/// Rust types that can be elements.
pub trait ElementsRef: Sized {
    fn slice_of(elements: &Elements) -> Option<&[Self]>;
}

macro_rules! element_type {
    ($variant:ident, $type:ty) => {
        impl ElementsRef for $type {
            fn slice_of(elements: &Elements) -> Option<&[Self]> {
                match elements {
                    Elements::$variant(vector) => Some(vector),
                    _ => None,
                }
            }
        }

        impl From<Vec<$type>> for Elements {
            fn from(vector: Vec<$type>) -> Elements {
                Elements::$variant(vector)
            }
        }
    };
}

for_each_type!(element_type);
