//! The binary format: `b`, version 2, rank, type name in four bytes, dimensions, elements; little endian.

use super::{Elements, MAX_RANK, Place, Prim, Value, ValueError, element_count};
use half::f16;

const VERSION: u8 = 2;

/// Reads one value from the start of the input; returns it and how many bytes it took.
pub fn parse_value(input: &[u8]) -> Result<(Value, usize), ValueError> {
    parse_value_within(input, usize::MAX)
}

/// As [`parse_value`], for values of at most so many bytes.
pub fn parse_value_within(input: &[u8], max_bytes: usize) -> Result<(Value, usize), ValueError> {
    let at = |offset: usize| input.get(offset).copied().ok_or_else(|| truncated(input, "in the header"));
    if at(0)? != b'b' {
        return Err(ValueError::at_byte(0, "a binary value starts with `b`"));
    }
    if at(1)? != VERSION {
        return Err(ValueError::at_byte(1, format!("version {} of the binary format is unknown; {VERSION} is known", at(1)?)));
    }
    let rank = usize::from(at(2)?);
    if rank > MAX_RANK {
        return Err(ValueError::at_byte(2, format!("{rank} dimensions are more than the {MAX_RANK} that are supported")));
    }
    let name = input.get(3..7).ok_or_else(|| truncated(input, "in the header"))?;
    let name = String::from_utf8_lossy(name);
    let Some(prim) = Prim::from_name(name.trim_start()) else {
        return Err(ValueError::at_byte(3, format!("`{}` is no type of elements", name.escape_debug())));
    };
    let mut shape = Vec::with_capacity(rank);
    let mut position = 7;
    for _ in 0..rank {
        let bytes = input.get(position..position + 8).and_then(|bytes| bytes.try_into().ok());
        let size = u64::from_le_bytes(bytes.ok_or_else(|| truncated(input, "in the dimensions"))?);
        shape.push(usize::try_from(size).map_err(|_| ValueError::at_byte(position, format!("the size {size} is too large")))?);
        position += 8;
    }
    let count = element_count(&shape).and_then(|count| count.checked_mul(prim.bytes()));
    let Some(length) = count.filter(|length| *length <= input.len() - position) else {
        let left = input.len() - position;
        return Err(ValueError::at_byte(
            position,
            format!("the shape {shape:?} asks for more elements than the {left} bytes left hold"),
        ));
    };
    if length > max_bytes {
        return Err(ValueError::too_large(Place::Byte(position), max_bytes));
    }
    let elements = decode(prim, &input[position..position + length], ByteOrder::Little)
        .map_err(|bad| ValueError::at_byte(position + bad, "a boolean is 0 or 1"))?;
    Value::new(shape, elements).map(|value| (value, position + length)).ok_or_else(|| truncated(input, "in the elements"))
}

fn truncated(input: &[u8], place: &str) -> ValueError {
    ValueError::at_byte(input.len(), format!("the binary value ends {place}"))
}

/// Appends a value.
pub fn write_value(value: &Value, out: &mut Vec<u8>) {
    out.extend([b'b', VERSION, value.shape.len().min(MAX_RANK) as u8]);
    out.extend(format!("{:>4}", value.prim().name()).bytes());
    for size in &value.shape {
        out.extend((*size as u64).to_le_bytes());
    }
    encode(&value.elements, out);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// Elements from their bytes; the error is the offset of a byte that is no boolean.
pub(super) fn decode(prim: Prim, bytes: &[u8], order: ByteOrder) -> Result<Elements, usize> {
    macro_rules! numbers {
        ($variant:ident, $type:ty) => {{
            let chunks = bytes.chunks_exact(size_of::<$type>()).filter_map(|chunk| chunk.try_into().ok());
            Elements::$variant(match order {
                ByteOrder::Little => chunks.map(<$type>::from_le_bytes).collect(),
                ByteOrder::Big => chunks.map(<$type>::from_be_bytes).collect(),
            })
        }};
    }
    Ok(match prim {
        Prim::Bool => {
            if let Some(bad) = bytes.iter().position(|byte| *byte > 1) {
                return Err(bad);
            }
            Elements::Bool(bytes.iter().map(|byte| *byte != 0).collect())
        }
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
    })
}

/// Appends the bytes of the elements, little endian.
pub(super) fn encode(elements: &Elements, out: &mut Vec<u8>) {
    match elements {
        Elements::Bool(vector) => out.extend(vector.iter().map(|x| u8::from(*x))),
        Elements::I8(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
        Elements::I16(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
        Elements::I32(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
        Elements::I64(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
        Elements::U8(vector) => out.extend(vector),
        Elements::U16(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
        Elements::U32(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
        Elements::U64(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
        Elements::F16(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
        Elements::F32(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
        Elements::F64(vector) => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
    }
}
