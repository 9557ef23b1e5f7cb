//! The text format: `[1i32, 2]`, `empty([0]f64)`, `-f32.inf`, `"bytes"`.
//!
//! Values stand one behind the other, separated by whitespace; `--` starts a comment. Binary values may stand between them. The type of
//! a row (innermost brackets) is that of its first element; unsuffixed numbers are `i32`, or `f64` with a point or an exponent, unless
//! the reader is told what type to expect.

use super::{Elements, MAX_RANK, Place, Prim, Scalar, Value, ValueError, ValueType, binary};
use chadwick_core::Const;
use half::f16;
use std::fmt;

/// Reads all values of an input, text or binary.
pub fn parse_values(input: &[u8]) -> Result<Vec<Value>, ValueError> {
    let mut reader = Reader::new(input);
    let mut values = Vec::new();
    while !reader.at_end() {
        values.push(reader.value(None)?);
    }
    Ok(values)
}

/// Reads all values of an input. Numbers without a suffix take the types expected, as far as there are any.
pub fn parse_values_as(input: &[u8], expected: &[ValueType]) -> Result<Vec<Value>, ValueError> {
    parse_values_within(input, expected, usize::MAX)
}

/// As [`parse_values_as`], for values of at most so many bytes together.
pub fn parse_values_within(input: &[u8], expected: &[ValueType], max_bytes: usize) -> Result<Vec<Value>, ValueError> {
    let mut reader = Reader { max_bytes, ..Reader::new(input) };
    let mut values = Vec::new();
    while !reader.at_end() {
        values.push(reader.value(expected.get(values.len()).map(|ty| ty.prim))?);
    }
    Ok(values)
}

/// A position in an input of values.
pub struct Reader<'a> {
    input: &'a [u8],
    position: usize,
    /// What all values together may take up, and what those read do.
    max_bytes: usize,
    used_bytes: usize,
}

/// A number as written.
struct Number<'a> {
    negative: bool,
    digits: &'a str,
    radix: Option<u32>,
    is_float: bool,
    suffix: Option<Prim>,
}

impl<'a> Reader<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Reader { input, position: 0, max_bytes: usize::MAX, used_bytes: 0 }
    }

    pub fn position(&self) -> usize {
        self.position
    }

    pub fn set_position(&mut self, position: usize) {
        self.position = position.min(self.input.len());
    }

    /// Skips whitespace and comments; whether nothing is left.
    pub fn at_end(&mut self) -> bool {
        self.skip_space();
        self.position == self.input.len()
    }

    /// The next byte behind whitespace and comments.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.input.get(self.position).copied()
    }

    pub fn error(&self, offset: usize, message: impl Into<String>) -> ValueError {
        ValueError::in_text(self.input, offset, message)
    }

    fn skip_space(&mut self) {
        while let Some(rest) = self.input.get(self.position..) {
            match rest {
                [b' ' | b'\t' | b'\r' | b'\n', ..] => self.position += 1,
                [b'-', b'-', ..] => {
                    self.position += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.input.get(self.position..).unwrap_or_default()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let after = rest.get(word.len());
        let found = rest.starts_with(word.as_bytes()) && !after.is_some_and(|byte| is_word_byte(*byte));
        self.position += if found { word.len() } else { 0 };
        found
    }

    /// The next value. Unsuffixed numbers take the type `want` if they can.
    pub fn value(&mut self, want: Option<Prim>) -> Result<Value, ValueError> {
        let start = self.position;
        let value = self.any_value(want)?;
        self.require_room(&value.elements, start)?;
        self.used_bytes += value.elements.len() * value.prim().bytes();
        Ok(value)
    }

    /// Checks that there is room for these elements besides the values read before.
    fn require_room(&self, elements: &Elements, at: usize) -> Result<(), ValueError> {
        let bytes = elements.len() * elements.prim().bytes();
        match self.used_bytes + bytes <= self.max_bytes {
            true => Ok(()),
            false => Err(ValueError { place: self.error(at, "").place, ..ValueError::too_large(Place::Whole, self.max_bytes) }),
        }
    }

    fn any_value(&mut self, want: Option<Prim>) -> Result<Value, ValueError> {
        match self.peek() {
            None => Err(self.error(self.position, "expected a value, found the end")),
            Some(b'b') => {
                let (value, used) = binary::parse_value_within(self.rest(), self.max_bytes - self.used_bytes)
                    .map_err(|error| ValueError { place: shift(error.place, self.position), message: error.message })?;
                self.position += used;
                Ok(value)
            }
            Some(b'[') => self.array(want),
            Some(b'"') => self.string(),
            Some(b'e') => self.empty(),
            Some(_) => {
                let mut elements = None;
                self.scalar_into(&mut elements, None, want)?;
                elements
                    .map(|elements| Value { shape: Vec::new(), elements })
                    .ok_or_else(|| self.error(self.position, "expected a value"))
            }
        }
    }

    /// Reads an array without recursion: `counts` are the elements seen in each open bracket.
    fn array(&mut self, want: Option<Prim>) -> Result<Value, ValueError> {
        let start = self.position;
        let mut counts: Vec<usize> = Vec::new();
        let mut shape: Vec<Option<usize>> = Vec::new();
        let mut rank = None;
        let mut elements: Option<Elements> = None;
        let irregular = |reader: &Self, at| Err(reader.error(at, "this array is irregular or of multiple types"));
        // Within a row the type is known; a new row states it anew.
        let mut row_type: Option<Prim> = None;
        loop {
            let here = {
                self.skip_space();
                self.position
            };
            if self.eat(b'[') {
                if rank.is_some_and(|rank| counts.len() >= rank) {
                    return irregular(self, here);
                }
                if counts.len() == MAX_RANK {
                    return Err(self.error(here, format!("an array of more than {MAX_RANK} dimensions")));
                }
                counts.push(0);
                shape.resize(shape.len().max(counts.len()), None);
                row_type = None;
                if self.peek() == Some(b']') {
                    return Err(self.error(here, "an empty array is written with its type, as in `empty([0]i32)`"));
                }
                continue;
            }
            // An element: of the innermost bracket, or a whole inner array that is empty or a string.
            match self.peek() {
                Some(b'e' | b'"') => {
                    let inner = if self.peek() == Some(b'e') { self.empty()? } else { self.string()? };
                    let inner_rank = counts.len() + inner.shape.len();
                    if *rank.get_or_insert(inner_rank) != inner_rank || inner_rank > MAX_RANK {
                        return irregular(self, here);
                    }
                    shape.resize(inner_rank, None);
                    for (known, found) in shape[counts.len()..].iter_mut().zip(&inner.shape) {
                        if *known.get_or_insert(*found) != *found {
                            return irregular(self, here);
                        }
                    }
                    let target = elements.get_or_insert_with(|| Elements::empty(inner.prim()));
                    if target.prim() != inner.prim() {
                        return irregular(self, here);
                    }
                    for at in 0..inner.elements.len() {
                        inner.elements.get(at).map(|scalar| target.push(scalar));
                    }
                }
                _ => {
                    if *rank.get_or_insert(counts.len()) != counts.len() {
                        return irregular(self, here);
                    }
                    let found = self.scalar_into(&mut elements, row_type, want)?;
                    row_type = Some(found);
                }
            }
            // Behind an element: a comma, or closing brackets.
            loop {
                if let Some(count) = counts.last_mut() {
                    *count += 1;
                }
                let here = {
                    self.skip_space();
                    self.position
                };
                if self.eat(b',') {
                    break;
                }
                if !self.eat(b']') {
                    let open = if self.position == self.input.len() { "the end" } else { "something else" };
                    return Err(self.error(here, format!("expected `,` or `]` in an array, found {open}")));
                }
                let count = counts.pop().unwrap_or(0);
                if let Some(elements) = &elements {
                    self.require_room(elements, here)?;
                }
                let Some(known) = shape.get_mut(counts.len()) else { return irregular(self, here) };
                if *known.get_or_insert(count) != count {
                    return irregular(self, here);
                }
                if counts.is_empty() {
                    let shape: Vec<usize> = shape.into_iter().map(|size| size.unwrap_or(0)).collect();
                    let elements = elements.unwrap_or(Elements::I32(Vec::new()));
                    return Value::new(shape, elements).ok_or_else(|| self.error(start, "this array is irregular"));
                }
            }
        }
    }

    /// Reads a scalar and appends it; the type of what is there must be its type. `row_type` is the type of the row so far.
    fn scalar_into(
        &mut self,
        elements: &mut Option<Elements>,
        row_type: Option<Prim>,
        want: Option<Prim>,
    ) -> Result<Prim, ValueError> {
        self.skip_space();
        let start = self.position;
        let scalar = self.scalar(row_type, want)?;
        if row_type.is_some_and(|row_type| row_type != scalar.prim()) {
            return Err(self.error(start, "this array is irregular or of multiple types"));
        }
        let target = elements.get_or_insert_with(|| Elements::empty(scalar.prim()));
        match target.push(scalar) {
            true => Ok(scalar.prim()),
            false => {
                let message = "this array is irregular or of multiple types: every row states its type with its first element";
                Err(self.error(start, message))
            }
        }
    }

    fn scalar(&mut self, row_type: Option<Prim>, want: Option<Prim>) -> Result<Scalar, ValueError> {
        let start = self.position;
        if self.eat_word("true") {
            return Ok(Const::Bool(true));
        }
        if self.eat_word("false") {
            return Ok(Const::Bool(false));
        }
        let negative = self.rest().first() == Some(&b'-');
        self.position += usize::from(negative);
        for (prefix, prim) in [("f16.", Prim::F16), ("f32.", Prim::F32), ("f64.", Prim::F64)] {
            if self.rest().starts_with(prefix.as_bytes()) {
                self.position += prefix.len();
                let value = match () {
                    () if self.eat_word("inf") => f64::INFINITY,
                    () if self.eat_word("nan") => f64::NAN,
                    () => return Err(self.error(start, format!("expected `{prefix}inf` or `{prefix}nan`"))),
                };
                return Ok(float(prim, if negative { -value } else { value }));
            }
        }
        let number = self.number(start, negative)?;
        let prim = number.suffix.or(row_type).or(want.filter(|want| number.fits(*want)));
        let prim = prim.unwrap_or(if number.is_float { Prim::F64 } else { Prim::I32 });
        number.convert(prim).map_err(|message| self.error(start, message))
    }

    /// The digits and the suffix of a number, behind its sign.
    fn number(&mut self, start: usize, negative: bool) -> Result<Number<'a>, ValueError> {
        let rest = self.rest();
        let radix = match rest {
            [b'0', b'x' | b'X', ..] => Some(16),
            [b'0', b'b' | b'B', ..] => Some(2),
            _ => None,
        };
        let skip = if radix.is_some() { 2 } else { 0 };
        let body = &rest[skip..];
        let mut len = 0;
        let mut is_float = false;
        match radix {
            Some(radix) => {
                let is_digit = |byte: &u8| char::from(*byte).is_digit(radix) || *byte == b'_';
                len = body.iter().take_while(|byte| is_digit(byte)).count();
                // In hexadecimal, `f32` looks like digits; a suffix is preferred.
                if radix == 16 {
                    for suffix in ["f16", "f32", "f64"] {
                        if len > 3 && body[..len].ends_with(suffix.as_bytes()) {
                            len -= 3;
                            break;
                        }
                    }
                }
            }
            None => {
                let digits = |from: usize| body[from..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'_').count();
                len += digits(0);
                if len > 0 && body.get(len) == Some(&b'.') && body.get(len + 1).is_some_and(u8::is_ascii_digit) {
                    is_float = true;
                    len += 1 + digits(len + 1);
                }
                if len > 0 && matches!(body.get(len), Some(b'e' | b'E')) {
                    let sign = usize::from(matches!(body.get(len + 1), Some(b'+' | b'-')));
                    let exponent = digits(len + 1 + sign);
                    if exponent > 0 {
                        is_float = true;
                        len += 1 + sign + exponent;
                    }
                }
            }
        }
        if len == 0 {
            return Err(self.error(start, self.unexpected(start)));
        }
        let digits = std::str::from_utf8(&body[..len]).unwrap_or("");
        let after = &body[len..];
        let word = after.iter().take_while(|byte| is_word_byte(**byte)).count();
        let suffix = std::str::from_utf8(&after[..word]).unwrap_or("");
        let suffix = match suffix {
            "" => None,
            _ => match Prim::from_name(suffix).filter(|prim| *prim != Prim::Bool) {
                Some(prim) => Some(prim),
                None => return Err(self.error(self.position + skip + len, format!("`{suffix}` is no type of a number"))),
            },
        };
        self.position += skip + len + word;
        Ok(Number { negative, digits, radix, is_float, suffix })
    }

    fn unexpected(&self, start: usize) -> String {
        let rest = self.input.get(start..).unwrap_or_default();
        let word: String =
            String::from_utf8_lossy(&rest[..rest.len().min(40)]).chars().take_while(|c| !c.is_whitespace()).collect();
        let word: String = word.chars().take(20).collect();
        match word.is_empty() {
            true => String::from("expected a value, found the end"),
            false if word.starts_with('{') => {
                format!("expected a value, found `{}`: the fields of a record are given one by one", word.escape_debug())
            }
            false => format!("expected a value, found `{}`", word.escape_debug()),
        }
    }

    fn string(&mut self) -> Result<Value, ValueError> {
        let start = self.position;
        self.position += 1;
        let mut bytes = Vec::new();
        loop {
            match *self.rest() {
                [] => return Err(self.error(start, "this string is not closed")),
                [b'"', ..] => {
                    self.position += 1;
                    return Ok(Value::from(bytes));
                }
                [b'\\', escaped, ..] => {
                    bytes.push(match escaped {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'0' => 0,
                        b'"' | b'\\' | b'\'' => escaped,
                        _ => return Err(self.error(self.position, "an unknown escape in a string")),
                    });
                    self.position += 2;
                }
                [byte, ..] => {
                    bytes.push(byte);
                    self.position += 1;
                }
            }
        }
    }

    /// `empty([0][3]i32)`
    fn empty(&mut self) -> Result<Value, ValueError> {
        let start = self.position;
        if !self.eat_word("empty") {
            return Err(self.error(start, self.unexpected(start)));
        }
        let malformed = |reader: &Self| reader.error(reader.position, "malformed empty array; one is written `empty([0]i32)`");
        if !self.eat(b'(') {
            return Err(malformed(self));
        }
        let (shape, prim) = self.array_type()?;
        if !self.eat(b')') || shape.is_empty() {
            return Err(malformed(self));
        }
        if !shape.contains(&0) {
            return Err(self.error(start, "an empty array has at least one dimension of size 0"));
        }
        Ok(Value { shape, elements: Elements::empty(prim) })
    }

    /// A type with literal sizes: `[2][3]f64`.
    pub fn array_type(&mut self) -> Result<(Vec<usize>, Prim), ValueError> {
        let mut shape = Vec::new();
        while self.eat(b'[') {
            self.skip_space();
            let at = self.position;
            let rest = self.rest();
            let len = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'_').count();
            let digits: String = String::from_utf8_lossy(&rest[..len]).replace('_', "");
            let size: u64 = digits.parse().map_err(|_| self.error(at, "expected a size"))?;
            let size = usize::try_from(size).map_err(|_| self.error(at, "this size is too large"))?;
            self.position += len;
            // Sizes of Futhark programs may carry a suffix.
            self.eat_word("i64");
            if !self.eat(b']') || shape.len() == MAX_RANK {
                return Err(self.error(self.position, "malformed dimension of an array type"));
            }
            shape.push(size);
        }
        self.skip_space();
        let at = self.position;
        let rest = self.rest();
        let len = rest.iter().take_while(|byte| is_word_byte(**byte)).count();
        let name = String::from_utf8_lossy(&rest[..len]);
        match Prim::from_name(&name) {
            Some(prim) => {
                self.position += len;
                Ok((shape, prim))
            }
            None => Err(self.error(at, "expected the name of a scalar type")),
        }
    }
}

fn shift(place: super::Place, by: usize) -> super::Place {
    match place {
        super::Place::Byte(offset) => super::Place::Byte(offset + by),
        other => other,
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn float(prim: Prim, value: f64) -> Scalar {
    match prim {
        Prim::F16 => Const::F16(f16::from_f64(value)),
        Prim::F32 => Const::F32(value as f32),
        _ => Const::F64(value),
    }
}

impl Number<'_> {
    /// Whether the number, written without a suffix, can be of the type.
    fn fits(&self, prim: Prim) -> bool {
        prim.is_float() || (prim.is_integer() && !self.is_float)
    }

    fn convert(&self, prim: Prim) -> Result<Scalar, String> {
        let digits = self.digits.replace('_', "");
        if prim.is_float() && self.radix.is_none() {
            let signed = format!("{}{digits}", if self.negative { "-" } else { "" });
            let malformed = |_| format!("`{signed}` is no number");
            return Ok(match prim {
                Prim::F16 => Const::F16(f16::from_f64(signed.parse().map_err(malformed)?)),
                Prim::F32 => Const::F32(signed.parse().map_err(malformed)?),
                _ => Const::F64(signed.parse().map_err(malformed)?),
            });
        }
        if self.is_float {
            return Err(format!("`{digits}` is no {}", prim.name()));
        }
        if prim == Prim::Bool {
            return Err(String::from("this array is irregular or of multiple types"));
        }
        let magnitude = i128::from_str_radix(&digits, self.radix.unwrap_or(10))
            .map_err(|_| format!("`{digits}` does not fit in {}", prim.name()))?;
        let value = if self.negative { -magnitude } else { magnitude };
        // Patterns of bits are accepted, too, where they are meant: 255i8 and 0xff are -1i8.
        let bits = prim.bits().min(64);
        let is_pattern = self.suffix.is_some() || self.radix.is_some() || !prim.is_signed();
        let range = -(1i128 << (bits - 1))..(1i128 << if is_pattern { bits } else { bits - 1 });
        match prim.is_float() || range.contains(&value) {
            true => Ok(Const::from_i128(prim, value)),
            false => Err(format!("{value} does not fit in {}", prim.name())),
        }
    }
}

/// Writes a value with suffixes; floats with the fewest digits that read back as the same number.
pub fn write_value(value: &Value, out: &mut impl fmt::Write) -> fmt::Result {
    if value.shape.is_empty() {
        return value.elements.get(0).map_or(Ok(()), |scalar| write_scalar(scalar, out));
    }
    if value.is_empty() {
        return write!(out, "empty({})", value.type_string());
    }
    for position in 0..value.len() {
        // How many dimensions begin at this element, and how many end behind it.
        let mut begins = 0;
        let mut ends = 0;
        let mut block = 1usize;
        for size in value.shape.iter().rev() {
            block = block.saturating_mul(*size);
            begins += usize::from(position % block == 0);
            ends += usize::from((position + 1) % block == 0);
        }
        if position > 0 {
            out.write_str(", ")?;
        }
        (0..begins).try_for_each(|_| out.write_char('['))?;
        value.elements.get(position).map_or(Ok(()), |scalar| write_scalar(scalar, out))?;
        (0..ends).try_for_each(|_| out.write_char(']'))?;
    }
    Ok(())
}

/// Writes one scalar with its suffix.
pub fn write_scalar(scalar: Scalar, out: &mut impl fmt::Write) -> fmt::Result {
    let suffix = scalar.prim().name();
    match scalar {
        Const::Bool(x) => write!(out, "{x}"),
        Const::I8(x) => write!(out, "{x}{suffix}"),
        Const::I16(x) => write!(out, "{x}{suffix}"),
        Const::I32(x) => write!(out, "{x}{suffix}"),
        Const::I64(x) => write!(out, "{x}{suffix}"),
        Const::U8(x) => write!(out, "{x}{suffix}"),
        Const::U16(x) => write!(out, "{x}{suffix}"),
        Const::U32(x) => write!(out, "{x}{suffix}"),
        Const::U64(x) => write!(out, "{x}{suffix}"),
        Const::F16(x) if x.is_finite() => write!(out, "{:?}{suffix}", shortest_f16(x)),
        Const::F32(x) if x.is_finite() => write!(out, "{x:?}{suffix}"),
        Const::F64(x) if x.is_finite() => write!(out, "{x:?}{suffix}"),
        Const::F16(_) | Const::F32(_) | Const::F64(_) => {
            let x = super::elements::scalar_to_f64(scalar);
            let (sign, name) = (if x < 0.0 { "-" } else { "" }, if x.is_nan() { "nan" } else { "inf" });
            write!(out, "{sign}{suffix}.{name}")
        }
    }
}

/// A float that prints with the fewest digits which read back as `x`.
fn shortest_f16(x: f16) -> f64 {
    let exact = x.to_f64();
    let rounded = (0..6).filter_map(|digits| format!("{exact:.digits$e}").parse::<f64>().ok());
    rounded.into_iter().find(|rounded| f16::from_f64(*rounded) == x).unwrap_or(exact)
}
