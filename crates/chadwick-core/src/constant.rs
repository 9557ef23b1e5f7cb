//! Scalar constants.

use crate::types::Prim;
use half::f16;

#[derive(Clone, Copy, Debug)]
pub enum Const {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F16(f16),
    F32(f32),
    F64(f64),
}

impl Const {
    pub fn prim(self) -> Prim {
        match self {
            Const::Bool(_) => Prim::Bool,
            Const::I8(_) => Prim::I8,
            Const::I16(_) => Prim::I16,
            Const::I32(_) => Prim::I32,
            Const::I64(_) => Prim::I64,
            Const::U8(_) => Prim::U8,
            Const::U16(_) => Prim::U16,
            Const::U32(_) => Prim::U32,
            Const::U64(_) => Prim::U64,
            Const::F16(_) => Prim::F16,
            Const::F32(_) => Prim::F32,
            Const::F64(_) => Prim::F64,
        }
    }

    /// The integer `value` in type `prim`: wrapped, rounded to a float, or compared with zero for a boolean.
    pub fn from_i128(prim: Prim, value: i128) -> Const {
        match prim {
            Prim::Bool => Const::Bool(value != 0),
            Prim::I8 => Const::I8(value as i8),
            Prim::I16 => Const::I16(value as i16),
            Prim::I32 => Const::I32(value as i32),
            Prim::I64 => Const::I64(value as i64),
            Prim::U8 => Const::U8(value as u8),
            Prim::U16 => Const::U16(value as u16),
            Prim::U32 => Const::U32(value as u32),
            Prim::U64 => Const::U64(value as u64),
            Prim::F16 => Const::F16(f16::from_f64(value as f64)),
            Prim::F32 => Const::F32(value as f32),
            Prim::F64 => Const::F64(value as f64),
        }
    }

    /// Zero; `false` for booleans.
    pub fn zero(prim: Prim) -> Const {
        Const::from_i128(prim, 0)
    }

    /// Minus zero for floats, which added to a number leaves it as it is, even if that is a zero; else zero.
    pub fn negative_zero(prim: Prim) -> Const {
        match prim {
            Prim::F16 => Const::F16(half::f16::NEG_ZERO),
            Prim::F32 => Const::F32(-0.0),
            Prim::F64 => Const::F64(-0.0),
            _ => Const::zero(prim),
        }
    }

    pub fn one(prim: Prim) -> Const {
        Const::from_i128(prim, 1)
    }

    /// The smallest value; minus infinity for floats.
    pub fn least(prim: Prim) -> Const {
        match prim {
            Prim::Bool => Const::Bool(false),
            Prim::I8 => Const::I8(i8::MIN),
            Prim::I16 => Const::I16(i16::MIN),
            Prim::I32 => Const::I32(i32::MIN),
            Prim::I64 => Const::I64(i64::MIN),
            Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64 => Const::zero(prim),
            Prim::F16 => Const::F16(f16::NEG_INFINITY),
            Prim::F32 => Const::F32(f32::NEG_INFINITY),
            Prim::F64 => Const::F64(f64::NEG_INFINITY),
        }
    }

    /// The largest value; infinity for floats.
    pub fn greatest(prim: Prim) -> Const {
        match prim {
            Prim::Bool => Const::Bool(true),
            Prim::I8 => Const::I8(i8::MAX),
            Prim::I16 => Const::I16(i16::MAX),
            Prim::I32 => Const::I32(i32::MAX),
            Prim::I64 => Const::I64(i64::MAX),
            Prim::U8 => Const::U8(u8::MAX),
            Prim::U16 => Const::U16(u16::MAX),
            Prim::U32 => Const::U32(u32::MAX),
            Prim::U64 => Const::U64(u64::MAX),
            Prim::F16 => Const::F16(f16::INFINITY),
            Prim::F32 => Const::F32(f32::INFINITY),
            Prim::F64 => Const::F64(f64::INFINITY),
        }
    }

    /// The bits, as an identity: `-0.0` differs from `0.0`, a NaN equals itself.
    fn identity(self) -> (Prim, u64) {
        let bits = match self {
            Const::Bool(value) => u64::from(value),
            Const::I8(value) => value as u64,
            Const::I16(value) => value as u64,
            Const::I32(value) => value as u64,
            Const::I64(value) => value as u64,
            Const::U8(value) => u64::from(value),
            Const::U16(value) => u64::from(value),
            Const::U32(value) => u64::from(value),
            Const::U64(value) => value,
            Const::F16(value) => u64::from(value.to_bits()),
            Const::F32(value) => u64::from(value.to_bits()),
            Const::F64(value) => value.to_bits(),
        };
        (self.prim(), bits)
    }
}

impl PartialEq for Const {
    fn eq(&self, other: &Const) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Const {}

impl std::hash::Hash for Const {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}
