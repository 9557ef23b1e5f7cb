//! NumPy's files: `.npy` holds one array, `.npz` (a zip archive of `.npy` files) several with names.
//!
//! Read: versions 1 to 3, booleans, integers and floats of either byte order, C and Fortran order. Written: version 1, little endian, C
//! order; archives without compression.

use super::binary::{ByteOrder, decode, encode};
use super::{Elements, MAX_RANK, Place, Prim, Value, ValueError, element_count};
use std::io::{Cursor, Read, Write};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers are short; longer ones are refused.
const MAX_HEADER: usize = 1 << 16;

/// Arrays of archives may not unpack to more than this.
const MAX_UNPACKED: usize = 1 << 34;

/// Whether the input starts like a `.npy` file.
pub fn is_npy(input: &[u8]) -> bool {
    input.starts_with(MAGIC)
}

/// Whether the input starts like a zip archive.
pub fn is_npz(input: &[u8]) -> bool {
    input.starts_with(b"PK\x03\x04") || input.starts_with(b"PK\x05\x06")
}

/// Reads a `.npy` file.
pub fn parse(input: &[u8]) -> Result<Value, ValueError> {
    parse_within(input, usize::MAX)
}

/// As [`parse`], for arrays of at most so many bytes.
pub fn parse_within(input: &[u8], max_bytes: usize) -> Result<Value, ValueError> {
    if !is_npy(input) {
        return Err(ValueError::at_byte(0, "this is no .npy file: it does not start with \\x93NUMPY"));
    }
    let truncated = || ValueError::at_byte(input.len(), "the .npy file ends in its header");
    let byte = |at: usize| input.get(at).map(|byte| usize::from(*byte)).ok_or_else(truncated);
    let (length, start) = match byte(6)? {
        1 => (byte(8)? | byte(9)? << 8, 10),
        2 | 3 => (byte(8)? | byte(9)? << 8 | byte(10)? << 16 | byte(11)? << 24, 12),
        version => return Err(ValueError::at_byte(6, format!("version {version} of the .npy format is unknown"))),
    };
    if length > MAX_HEADER {
        return Err(ValueError::at_byte(8, format!("a header of {length} bytes is too long")));
    }
    let data_start = start + length;
    let text = input.get(start..data_start).ok_or_else(truncated)?;
    let header = HeaderParser { text, position: 0, start }.header()?;
    let size = element_count(&header.shape).and_then(|count| count.checked_mul(header.prim.bytes()));
    let left = input.len() - data_start;
    let Some(size) = size.filter(|size| *size <= left) else {
        let message = format!("the shape {:?} asks for more elements than the {left} bytes left hold", header.shape);
        return Err(ValueError::at_byte(data_start, message));
    };
    if size < left {
        return Err(ValueError::at_byte(data_start + size, format!("{} bytes too many behind the elements", left - size)));
    }
    if size > max_bytes {
        return Err(ValueError::too_large(Place::Byte(data_start), max_bytes));
    }
    let elements = decode(header.prim, &input[data_start..], header.order)
        .map_err(|bad| ValueError::at_byte(data_start + bad, "a boolean is 0 or 1"))?;
    let elements = match header.fortran_order {
        true => to_row_major(&header.shape, &elements),
        false => elements,
    };
    Value::new(header.shape, elements).ok_or_else(|| ValueError::at_byte(data_start, "the elements do not fit the shape"))
}

struct Header {
    prim: Prim,
    order: ByteOrder,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Reads the header, a Python dictionary: `{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }`.
struct HeaderParser<'a> {
    text: &'a [u8],
    position: usize,
    /// Of the text in the file.
    start: usize,
}

impl<'a> HeaderParser<'a> {
    fn header(mut self) -> Result<Header, ValueError> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.eat(b'}') {
            let key_at = self.position;
            match self.string()? {
                "descr" => {
                    self.expect(b':')?;
                    self.skip_space();
                    let at = self.position;
                    let text =
                        self.string().map_err(|_| self.error(at, "only arrays of plain numbers and booleans can be read"))?;
                    descr = Some(
                        element_type(text).ok_or_else(|| self.error(at, format!("the element type `{text}` cannot be read")))?,
                    );
                }
                "fortran_order" => {
                    self.expect(b':')?;
                    fortran_order = Some(self.boolean()?);
                }
                "shape" => {
                    self.expect(b':')?;
                    shape = Some(self.shape()?);
                }
                key => return Err(self.error(key_at, format!("the key `{}` is unknown", key.escape_debug()))),
            }
            if !self.eat(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        let missing = |what: &str| self.error(self.position, format!("the header has no `{what}`"));
        let (prim, order) = descr.ok_or_else(|| missing("descr"))?;
        let fortran_order = fortran_order.ok_or_else(|| missing("fortran_order"))?;
        let shape = shape.ok_or_else(|| missing("shape"))?;
        Ok(Header { prim, order, fortran_order, shape })
    }

    fn error(&self, at: usize, message: impl Into<String>) -> ValueError {
        ValueError::at_byte(self.start + at, message)
    }

    fn skip_space(&mut self) {
        while self.text.get(self.position).is_some_and(u8::is_ascii_whitespace) {
            self.position += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.text.get(self.position) == Some(&byte);
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), ValueError> {
        match self.eat(byte) {
            true => Ok(()),
            false => Err(self.error(self.position, format!("malformed header: expected `{}`", char::from(byte)))),
        }
    }

    fn string(&mut self) -> Result<&'a str, ValueError> {
        self.skip_space();
        let rest = &self.text[self.position..];
        let quote = rest.first().copied().filter(|byte| matches!(byte, b'\'' | b'"'));
        let end = quote.and_then(|quote| rest[1..].iter().position(|byte| *byte == quote));
        let text = end.and_then(|end| std::str::from_utf8(&rest[1..1 + end]).ok());
        match text {
            Some(text) => {
                self.position += text.len() + 2;
                Ok(text)
            }
            None => Err(self.error(self.position, "malformed header: expected a string")),
        }
    }

    fn boolean(&mut self) -> Result<bool, ValueError> {
        self.skip_space();
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.position..].starts_with(word.as_bytes()) {
                self.position += word.len();
                return Ok(value);
            }
        }
        Err(self.error(self.position, "malformed header: expected True or False"))
    }

    fn shape(&mut self) -> Result<Vec<usize>, ValueError> {
        self.expect(b'(')?;
        let mut shape = Vec::new();
        while !self.eat(b')') {
            let digits: String = self.text[self.position..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .map(|byte| char::from(*byte))
                .collect();
            let size = digits.parse().map_err(|_| self.error(self.position, "malformed header: expected a size"))?;
            if shape.len() == MAX_RANK {
                return Err(self.error(self.position, format!("more than {MAX_RANK} dimensions")));
            }
            shape.push(size);
            self.position += digits.len();
            // Old files write `3L`.
            if self.text.get(self.position) == Some(&b'L') {
                self.position += 1;
            }
            if !self.eat(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }
}

fn element_type(descr: &str) -> Option<(Prim, ByteOrder)> {
    let mut chars = descr.chars();
    let order = match chars.next()? {
        '<' | '|' | '=' => ByteOrder::Little,
        '>' => ByteOrder::Big,
        _ => return None,
    };
    let prim = match chars.as_str() {
        "b1" | "?" => Prim::Bool,
        "i1" => Prim::I8,
        "i2" => Prim::I16,
        "i4" => Prim::I32,
        "i8" => Prim::I64,
        "u1" => Prim::U8,
        "u2" => Prim::U16,
        "u4" => Prim::U32,
        "u8" => Prim::U64,
        "f2" => Prim::F16,
        "f4" => Prim::F32,
        "f8" => Prim::F64,
        _ => return None,
    };
    Some((prim, order))
}

fn descr(prim: Prim) -> &'static str {
    match prim {
        Prim::Bool => "|b1",
        Prim::I8 => "|i1",
        Prim::I16 => "<i2",
        Prim::I32 => "<i4",
        Prim::I64 => "<i8",
        Prim::U8 => "|u1",
        Prim::U16 => "<u2",
        Prim::U32 => "<u4",
        Prim::U64 => "<u8",
        Prim::F16 => "<f2",
        Prim::F32 => "<f4",
        Prim::F64 => "<f8",
    }
}

/// Elements whose first index runs fastest, reordered so that the last does.
fn to_row_major(shape: &[usize], elements: &Elements) -> Elements {
    let mut result = Elements::empty(elements.prim());
    for position in 0..elements.len() {
        let (mut rest, mut from) = (position, 0);
        for (axis, size) in shape.iter().enumerate().rev() {
            let size = (*size).max(1);
            let stride: usize = shape[..axis].iter().product();
            from += (rest % size) * stride;
            rest /= size;
        }
        elements.get(from).map(|scalar| result.push(scalar));
    }
    result
}

/// A value as a `.npy` file.
pub fn write(value: &Value) -> Vec<u8> {
    let shape = match value.shape() {
        [one] => format!("({one},)"),
        many => format!("({})", many.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': {shape}, }}", descr(value.prim()));
    // With the newline, the elements start at a multiple of 64 bytes.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let mut out = Vec::with_capacity(MAGIC.len() + 4 + header.len() + value.len() * value.prim().bytes());
    out.extend(MAGIC);
    out.extend([1, 0]);
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.bytes());
    encode(value.elements(), &mut out);
    out
}

/// Reads an archive: names and arrays, in the order of the archive.
pub fn parse_archive(input: &[u8]) -> Result<Vec<(String, Value)>, ValueError> {
    parse_archive_within(input, MAX_UNPACKED)
}

/// As [`parse_archive`], for arrays of at most so many bytes together. What is packed is unpacked only as far as it may go.
pub fn parse_archive_within(input: &[u8], max_bytes: usize) -> Result<Vec<(String, Value)>, ValueError> {
    let broken = |error: zip::result::ZipError| ValueError::whole(format!("this is no .npz archive: {error}"));
    let mut archive = zip::ZipArchive::new(Cursor::new(input)).map_err(broken)?;
    let mut arrays = Vec::new();
    let mut left = max_bytes.min(MAX_UNPACKED);
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(broken)?;
        let name = file.name().map_err(broken)?.into_owned();
        let mut bytes = Vec::new();
        let named = |error: ValueError| ValueError { message: format!("{name}: {}", error.message), ..error };
        let most = (left + MAX_HEADER) as u64;
        let read = file.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| named(ValueError::whole(error.to_string())))?;
        if bytes.len() as u64 > most {
            return Err(named(ValueError::too_large(Place::Whole, max_bytes)));
        }
        let too_large = |error: ValueError| match error.place {
            Place::Byte(_) if bytes.len() > left => ValueError::too_large(Place::Whole, max_bytes),
            _ => error,
        };
        let value = parse_within(&bytes, left).map_err(|error| named(too_large(error)))?;
        left -= value.len() * value.prim().bytes();
        arrays.push((name.strip_suffix(".npy").unwrap_or(&name).to_owned(), value));
    }
    Ok(arrays)
}

/// Named values as an archive.
pub fn write_archive(values: &[(String, Value)]) -> Result<Vec<u8>, ValueError> {
    let failed = |problem: String| ValueError::whole(format!("the archive cannot be written: {problem}"));
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, value) in values {
        archive.start_file(format!("{name}.npy"), options).map_err(|error| failed(error.to_string()))?;
        archive.write_all(&write(value)).map_err(|error| failed(error.to_string()))?;
    }
    archive.finish().map(Cursor::into_inner).map_err(|error| failed(error.to_string()))
}
