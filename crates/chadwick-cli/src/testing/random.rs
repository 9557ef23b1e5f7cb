//! Random inputs: the same on every machine and in every run.
//!
//! Integers are uniform over their type, floats over `[0, 1)`, booleans are fair.

use super::spec::RandomItem;
use chadwick::values::{Elements, Prim, Value, element_count};

/// Larger inputs are refused.
const MAX_BYTES: usize = 1 << 32;

const SEED: u64 = 0x0c4a_d41c_4b5e_ed00;

/// The seed with the given number.
pub fn seed(number: u64) -> u64 {
    SplitMix64(SEED ^ number).next()
}

/// The values of a random input; an error where one is too large.
pub fn generate(items: &[RandomItem]) -> Result<Vec<Value>, String> {
    generate_from(items, 0)
}

/// The same for the draw with the given number: each gives other values.
pub fn generate_from(items: &[RandomItem], draw: u64) -> Result<Vec<Value>, String> {
    let mut numbers = SplitMix64(SEED ^ draw.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17));
    items
        .iter()
        .map(|item| match item {
            RandomItem::Constant(value) => Ok(value.clone()),
            RandomItem::Type { shape, prim } => {
                let count = element_count(shape).filter(|count| *count <= MAX_BYTES / prim.bytes());
                let count = count.ok_or_else(|| format!("a random input of shape {shape:?} is too large"))?;
                let elements = elements(*prim, count, &mut numbers);
                Value::new(shape.clone(), elements).ok_or_else(|| format!("a random input of shape {shape:?} is too large"))
            }
        })
        .collect()
}

fn elements(prim: Prim, count: usize, numbers: &mut SplitMix64) -> Elements {
    let mut many = |_| numbers.next();
    match prim {
        Prim::Bool => Elements::Bool((0..count).map(|at| many(at) >> 63 == 1).collect()),
        Prim::I8 => Elements::I8((0..count).map(|at| (many(at) >> 56) as i8).collect()),
        Prim::I16 => Elements::I16((0..count).map(|at| (many(at) >> 48) as i16).collect()),
        Prim::I32 => Elements::I32((0..count).map(|at| (many(at) >> 32) as i32).collect()),
        Prim::I64 => Elements::I64((0..count).map(|at| many(at) as i64).collect()),
        Prim::U8 => Elements::U8((0..count).map(|at| (many(at) >> 56) as u8).collect()),
        Prim::U16 => Elements::U16((0..count).map(|at| (many(at) >> 48) as u16).collect()),
        Prim::U32 => Elements::U32((0..count).map(|at| (many(at) >> 32) as u32).collect()),
        Prim::U64 => Elements::U64((0..count).map(many).collect()),
        // As many bits as the significand holds, so that nothing rounds up to 1.
        Prim::F16 => Elements::F16((0..count).map(|at| half::f16::from_f64(unit(many(at), 11))).collect()),
        Prim::F32 => Elements::F32((0..count).map(|at| unit(many(at), 24) as f32).collect()),
        Prim::F64 => Elements::F64((0..count).map(|at| unit(many(at), 53)).collect()),
    }
}

fn unit(random: u64, bits: u32) -> f64 {
    (random >> (64 - bits)) as f64 / (1u64 << bits) as f64
}

/// Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
