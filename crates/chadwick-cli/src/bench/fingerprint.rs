//! A short name for an input, by which a saved run knows it again: equal inputs have equal ones, others have others, but for one in 2⁶⁴.

use chadwick::values::{Elements, Value};

/// Of types, sizes and elements. Nobody has a reason to look for two inputs with the same one, so a hash that is fast will do.
pub fn fingerprint(arguments: &[Value]) -> String {
    let mut hash: u64 = 0;
    // Turned, since multiplication moves nothing down, and the last bits of floats are often zero.
    let mut add = |word: u64| hash = (hash.rotate_left(26) ^ word).wrapping_add(1).wrapping_mul(0xf135_7aea_2e62_a9c5);
    for argument in arguments {
        argument.value_type().to_string().bytes().for_each(|byte| add(u64::from(byte)));
        argument.shape().iter().for_each(|size| add(*size as u64));
        match argument.elements() {
            Elements::Bool(values) => values.iter().for_each(|value| add(u64::from(*value))),
            Elements::I8(values) => values.iter().for_each(|value| add(*value as u64)),
            Elements::I16(values) => values.iter().for_each(|value| add(*value as u64)),
            Elements::I32(values) => values.iter().for_each(|value| add(*value as u64)),
            Elements::I64(values) => values.iter().for_each(|value| add(*value as u64)),
            Elements::U8(values) => values.iter().for_each(|value| add(u64::from(*value))),
            Elements::U16(values) => values.iter().for_each(|value| add(u64::from(*value))),
            Elements::U32(values) => values.iter().for_each(|value| add(u64::from(*value))),
            Elements::U64(values) => values.iter().for_each(|value| add(*value)),
            Elements::F16(values) => values.iter().for_each(|value| add(u64::from(value.to_bits()))),
            Elements::F32(values) => values.iter().for_each(|value| add(u64::from(value.to_bits()))),
            Elements::F64(values) => values.iter().for_each(|value| add(value.to_bits())),
        }
    }
    format!("{:016x}", hash ^ (hash >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_told_apart() {
        let mut all: Vec<String> = (0..2000).map(|number| fingerprint(&[vec![f64::from(number), 1.0, 0.0].into()])).collect();
        all.push(fingerprint(&[vec![0i64].into()]));
        all.push(fingerprint(&[vec![0i32].into()]));
        all.push(fingerprint(&[vec![0i64, 0].into()]));
        all.push(fingerprint(&[0i64.into(), 0i64.into()]));
        all.push(fingerprint(&[]));
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
