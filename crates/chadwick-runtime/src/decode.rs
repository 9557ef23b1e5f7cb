//! Values in the stream that native code writes: scalars as their bytes, arrays as sizes and elements, sums as a tag and the payload.

use chadwick_core::{Constructor, Element, Prim, Program, Type, element_count};
use chadwick_interp::{Buffer, Data, Value};
use half::f16;

pub struct Reader<'a> {
    bytes: &'a [u8],
    program: &'a Program,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], program: &'a Program) -> Self {
        Reader { bytes, program }
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    /// The next value; `None` where the stream ends too early.
    pub fn value(&mut self, ty: &Type) -> Option<Value> {
        match ty {
            Type::Prim(prim) => {
                let bytes = self.take(prim.bytes())?;
                Data { shape: Vec::new(), elements: elements(*prim, bytes) }.into_value()
            }
            Type::Array(array) => {
                let mut shape = Vec::new();
                for _ in &array.dims {
                    shape.push(i64::from_le_bytes(self.take(8)?.try_into().ok()?));
                }
                let count = element_count(&shape)?;
                match &array.element {
                    Element::Unit => Data { shape, elements: Buffer::Unit(count) }.into_value(),
                    Element::Prim(prim) => {
                        let bytes = self.take(count.checked_mul(prim.bytes())?)?;
                        Data { shape, elements: elements(*prim, bytes) }.into_value()
                    }
                    Element::Boxed(inner) => {
                        let values = (0..count).map(|_| self.value(inner)).collect::<Option<Vec<Value>>>()?;
                        Value::array_boxed(&shape, values)
                    }
                }
            }
            Type::Sum(constructors) => self.sum(constructors),
            Type::Named(id) => {
                let program = self.program;
                self.sum(&program.types.get(id.0 as usize)?.constructors)
            }
            Type::Function(_) | Type::Accumulator(_) | Type::Log(_) => None,
        }
    }

    fn sum(&mut self, constructors: &[Constructor]) -> Option<Value> {
        let tag = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
        let constructor = constructors.get(tag as usize)?;
        let fields = constructor.payload.iter().map(|ty| self.value(ty)).collect::<Option<Vec<Value>>>()?;
        Some(Value::sum(tag, fields))
    }
}

/// Elements from their bytes.
pub fn elements(prim: Prim, bytes: &[u8]) -> Buffer {
    macro_rules! numbers {
        ($variant:ident, $type:ty) => {{
            let chunks = bytes.chunks_exact(size_of::<$type>());
            Buffer::$variant(chunks.map(|chunk| <$type>::from_le_bytes(chunk.try_into().unwrap_or_default())).collect())
        }};
    }
    match prim {
        Prim::Bool => Buffer::Bool(bytes.iter().map(|byte| *byte != 0).collect()),
        Prim::I8 => numbers!(I8, i8),
        Prim::I16 => numbers!(I16, i16),
        Prim::I32 => numbers!(I32, i32),
        Prim::I64 => numbers!(I64, i64),
        Prim::U8 => numbers!(U8, u8),
        Prim::U16 => numbers!(U16, u16),
        Prim::U32 => numbers!(U32, u32),
        Prim::U64 => numbers!(U64, u64),
        Prim::F16 => numbers!(F16, f16),
        Prim::F32 => numbers!(F32, f32),
        Prim::F64 => numbers!(F64, f64),
    }
}
