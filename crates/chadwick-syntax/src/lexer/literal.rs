//! Numbers, characters and strings.

use chadwick_source::{Diagnostic, Name};

use super::{Lexer, LiteralKind, is_name_continue};
use crate::ast::{FloatLiteral, Literal};

const INT_SUFFIXES: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
const FLOAT_SUFFIXES: [&str; 3] = ["f16", "f32", "f64"];

impl Lexer<'_> {
    /// The digits of a field: `x.0`.
    pub(super) fn field_digits(&mut self) {
        let start = self.at;
        self.skip_while(|c| c.is_ascii_digit());
        let literal = Literal::Int(parse_int(self.since(start), 10), None);
        self.push_literal(LiteralKind::Int, literal, start);
        self.forbid_glued_name(start, "a field is a name or a number");
    }

    pub(super) fn number(&mut self) {
        let start = self.at;
        match (self.byte(0), self.byte(1)) {
            (Some(b'0'), Some(b'x' | b'X')) => self.hexadecimal(start),
            (Some(b'0'), Some(b'b' | b'B')) => self.binary(start),
            _ => self.decimal(start),
        }
    }

    fn decimal(&mut self, start: usize) {
        let is_digit = |c: char| c.is_ascii_digit() || c == '_';
        let followed_by_digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
        self.skip_while(is_digit);
        let mut is_float = false;
        if self.byte(0) == Some(b'.') && followed_by_digit(self.byte(1)) {
            self.at += 1;
            self.skip_while(is_digit);
            is_float = true;
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            if followed_by_digit(self.byte(1 + sign)) {
                self.at += 1 + sign;
                self.skip_while(is_digit);
                is_float = true;
            } else if sign == 1 {
                self.at += 2;
                let diagnostic = Diagnostic::error("E0105", self.span(start), "this number has an exponent without digits")
                    .hint("write the exponent's digits, as in `1e-5`");
                self.report(diagnostic);
                return self.push_literal(LiteralKind::Float, float(String::from("0.0"), None), start);
            }
        }
        let digits: String = self.since(start).chars().filter(|c| *c != '_').collect();
        let suffix = self.suffix(start, is_float);
        if !is_float && !suffix.as_ref().is_some_and(|suffix| suffix.starts_with('f')) {
            return self.push_literal(LiteralKind::Int, Literal::Int(parse_int(&digits, 10), suffix), start);
        }
        let text = if digits.starts_with('.') { format!("0{digits}") } else { digits };
        self.push_literal(LiteralKind::Float, float(text, suffix), start);
    }

    fn binary(&mut self, start: usize) {
        self.at += 2;
        let digits_start = self.at;
        self.skip_while(|c| c == '0' || c == '1' || c == '_');
        let digits = self.since(digits_start);
        self.radix_int(start, digits, 2);
    }

    fn hexadecimal(&mut self, start: usize) {
        self.at += 2;
        let digits_start = self.at;
        self.skip_while(is_hex_digit);
        let digits = self.since(digits_start);
        if let Some((fraction, exponent, length)) = hex_fraction(self.rest()) {
            self.at += length;
            let suffix = self.suffix(start, true);
            let text = hex_float_text(digits, fraction, exponent);
            return self.push_literal(LiteralKind::Float, float(text, suffix), start);
        }
        self.radix_int(start, digits, 16);
    }

    fn radix_int(&mut self, start: usize, digits: &str, radix: u32) {
        let suffix = if digits.chars().any(|c| c != '_') {
            self.suffix(start, false).filter(|suffix| !suffix.starts_with('f'))
        } else {
            self.skip_while(is_name_continue);
            let example = if radix == 16 { "0xff" } else { "0b101" };
            let diagnostic = Diagnostic::error("E0105", self.span(start), format!("`{}` has no digits", self.since(start)))
                .hint(format!("write digits behind the prefix, as in `{example}`"));
            self.report(diagnostic);
            None
        };
        self.push_literal(LiteralKind::Int, Literal::Int(parse_int(digits, radix), suffix), start);
    }

    /// The type suffix of a number that began at `start`; anything else glued to the number is an error.
    fn suffix(&mut self, start: usize, is_float: bool) -> Option<Name> {
        let suffix_start = self.at;
        self.skip_while(is_name_continue);
        let suffix = self.since(suffix_start);
        if suffix.is_empty() {
            return None;
        }
        let is_radix = self.since(start).starts_with("0b") || self.since(start).starts_with("0B");
        let known_int = INT_SUFFIXES.contains(&suffix) && !is_float;
        let known_float = FLOAT_SUFFIXES.contains(&suffix) && !is_radix;
        if known_int || known_float {
            return Some(Name::new(suffix));
        }
        let number = self.text.get(start..suffix_start).unwrap_or("");
        let hint = if INT_SUFFIXES.contains(&suffix) {
            format!("a number with a point or exponent takes {}", listed(&FLOAT_SUFFIXES))
        } else if is_radix && FLOAT_SUFFIXES.contains(&suffix) {
            format!("a binary number takes {}", listed(&INT_SUFFIXES))
        } else {
            format!("suffixes are {}, {}; put a space if `{suffix}` is a name", listed(&INT_SUFFIXES), listed(&FLOAT_SUFFIXES))
        };
        let diagnostic =
            Diagnostic::error("E0106", self.span(suffix_start), format!("`{suffix}` is not a suffix of the number `{number}`"))
                .here("unknown suffix")
                .hint(hint);
        self.report(diagnostic);
        None
    }

    fn forbid_glued_name(&mut self, start: usize, hint: &str) {
        let end = self.at;
        self.skip_while(is_name_continue);
        let glued = self.since(end);
        if glued.is_empty() {
            return;
        }
        let message = format!("`{}` is not a field", self.since(start));
        let diagnostic = Diagnostic::error("E0106", self.span(start), message).hint(hint);
        self.report(diagnostic);
    }

    // -------------------------------------------------------------------------------------------------- characters and strings

    /// A character literal; the opening quote is here.
    pub(super) fn character(&mut self) {
        let start = self.at;
        self.at += 1;
        let value = match self.peek() {
            Some('\\') => self.escape(),
            Some('\'') | None => None,
            Some(c) => {
                self.at += c.len_utf8();
                Some(c)
            }
        };
        let closed = self.byte(0) == Some(b'\'');
        if closed {
            self.at += 1;
        }
        let problem = match value {
            _ if !closed => Some("this character is not closed"),
            None => Some("this character is empty"),
            Some(_) => None,
        };
        if let Some(problem) = problem {
            let diagnostic = Diagnostic::error("E0103", self.span(start), problem)
                .hint("write one character between quotes, as in `'c'`; a quote itself is `'\\''`, text is `\"…\"`");
            self.report(diagnostic);
        }
        self.push_literal(LiteralKind::Char, Literal::Char(value.unwrap_or('?')), start);
    }

    pub(super) fn string(&mut self) {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        loop {
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    break;
                }
                Some('\\') => value.extend(self.escape()),
                None | Some('\n') => {
                    let diagnostic = Diagnostic::error("E0102", self.span(start), "this string is not closed")
                        .here("starts here")
                        .hint("close it with `\"` in the same line; a line break inside a string is written `\\n`");
                    self.report(diagnostic);
                    break;
                }
                Some(c) => {
                    value.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
        self.push_literal(LiteralKind::String, Literal::String(value), start);
    }

    /// An escape; the backslash is here. A wrong one is reported and stands for `?`.
    fn escape(&mut self) -> Option<char> {
        let start = self.at;
        self.at += 1;
        let c = self.peek()?;
        if c == '\n' {
            return None;
        }
        self.at += c.len_utf8();
        let simple = match c {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            '0' => Some('\0'),
            '\\' | '\'' | '"' => Some(c),
            _ => None,
        };
        if simple.is_some() {
            return simple;
        }
        let code = match c {
            'x' => self.hex_escape_digits(2, 2),
            'u' if self.byte(0) == Some(b'{') => {
                self.at += 1;
                let code = self.hex_escape_digits(1, 6);
                let closed = self.byte(0) == Some(b'}');
                self.at += usize::from(closed);
                code.filter(|_| closed)
            }
            _ => None,
        };
        let value = code.and_then(char::from_u32);
        if value.is_none() {
            let message = match c {
                'x' => "`\\x` needs two hexadecimal digits".to_string(),
                'u' => "`\\u` needs the code of a character in braces".to_string(),
                _ => format!("unknown escape `{}`", self.since(start).escape_debug().to_string().replace("\\\\", "\\")),
            };
            let diagnostic = Diagnostic::error("E0104", self.span(start), message)
                .hint("the escapes are \\n \\t \\r \\0 \\\\ \\' \\\" \\xHH \\u{H…}; a backslash itself is `\\\\`");
            self.report(diagnostic);
        }
        Some(value.unwrap_or('?'))
    }

    fn hex_escape_digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let digits = self.rest().bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
        let text = self.rest().get(..digits)?;
        self.at += digits;
        if digits < least { None } else { u32::from_str_radix(text, 16).ok() }
    }
}

fn listed(suffixes: &[&str]) -> String {
    suffixes.iter().map(|suffix| format!("`{suffix}`")).collect::<Vec<_>>().join(" ")
}

fn is_hex_digit(c: char) -> bool {
    c.is_ascii_hexdigit() || c == '_'
}

/// Too large for 128 bits stays at the largest: out of range of every type all the same.
fn parse_int(digits: &str, radix: u32) -> u128 {
    digits
        .chars()
        .filter_map(|c| c.to_digit(radix))
        .fold(0u128, |value, digit| value.saturating_mul(u128::from(radix)).saturating_add(u128::from(digit)))
}

fn float(text: String, suffix: Option<Name>) -> Literal {
    let value = text.parse().unwrap_or(0.0);
    Literal::Float(FloatLiteral { text, value, suffix })
}

/// `.Hp±n` at the start of the text: the fraction's digits, the exponent, and how long all that is.
fn hex_fraction(text: &str) -> Option<(&str, i64, usize)> {
    let after_dot = text.strip_prefix('.')?;
    let fraction_length = after_dot.find(|c| !is_hex_digit(c)).unwrap_or(after_dot.len());
    let (fraction, after_fraction) = after_dot.split_at(fraction_length);
    if !fraction.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let after_p = after_fraction.strip_prefix(['p', 'P'])?;
    let unsigned = after_p.strip_prefix(['+', '-']).unwrap_or(after_p);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(unsigned.len());
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let magnitude = i64::try_from(parse_int(&unsigned[..digits], 10)).unwrap_or(i64::MAX).min(1 << 40);
    let exponent = if after_p.starts_with('-') { -magnitude } else { magnitude };
    Some((fraction, exponent, text.len() - unsigned.len() + digits))
}

/// The value of a hexadecimal float, correctly rounded to `f64`, as exact decimal digits.
fn hex_float_text(whole: &str, fraction: &str, exponent: i64) -> String {
    // Keep 120 significant bits and remember whether anything non-zero was cut: enough to round once and right.
    let mut mantissa: u128 = 0;
    let mut scale = exponent;
    let mut sticky = false;
    let whole_digits = whole.chars().filter_map(|c| c.to_digit(16)).map(|digit| (digit, 4));
    let fraction_digits = fraction.chars().filter_map(|c| c.to_digit(16)).map(|digit| (digit, 0));
    for (digit, step_when_cut) in whole_digits.chain(fraction_digits) {
        if mantissa >> 120 == 0 {
            mantissa = (mantissa << 4) | u128::from(digit);
            scale += step_when_cut - 4;
        } else {
            sticky |= digit != 0;
            scale += step_when_cut;
        }
    }
    let value = scale_by_power_of_two(mantissa | u128::from(sticky), scale);
    if value.is_infinite() {
        return String::from("1e999");
    }
    // The exact decimal expansion of an `f64` has at most 1074 digits behind the point.
    let digits = format!("{value:.1074}");
    let trimmed = digits.trim_end_matches('0');
    if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_string() }
}

/// `mantissa * 2^scale`, rounded once to nearest even.
fn scale_by_power_of_two(mantissa: u128, scale: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let bits = 128 - i64::from(mantissa.leading_zeros());
    let top_exponent = bits - 1 + scale;
    if top_exponent > 1023 {
        return f64::INFINITY;
    }
    // How many bits the result keeps: 53, fewer where it is subnormal.
    let kept = (top_exponent + 1075).min(53);
    if kept < 0 {
        return 0.0;
    }
    let dropped = bits - kept;
    let (quotient, exponent) = if dropped > 0 {
        let half = 1u128 << (dropped - 1);
        let remainder = mantissa & ((half << 1).wrapping_sub(1));
        let quotient = if dropped >= 128 { 0 } else { mantissa >> dropped };
        let up = remainder > half || (remainder == half && quotient & 1 == 1);
        (quotient + u128::from(up), scale + dropped)
    } else {
        (mantissa, scale)
    };
    // At most 2^53 times a power of two within range: both factors, and their product, are exact.
    let mut value = quotient as f64;
    let mut left = exponent;
    while left > 0 {
        let step = left.min(1000);
        value *= 2f64.powi(step as i32);
        left -= step;
    }
    while left < 0 {
        let step = left.max(-1000);
        value *= 2f64.powi(step as i32);
        left -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_floats_round_to_nearest_even() {
        assert_eq!(hex_float_text("1", "f", 3), "15.5");
        assert_eq!(hex_float_text("1", "0", -1), "0.5");
        assert_eq!(hex_float_text("1", "00000000000008", 0), "1.0");
        assert_eq!(hex_float_text("1", "00000000000018", 0).parse::<f64>().ok(), Some(1.0 + 2.0 * f64::EPSILON));
        assert_eq!(hex_float_text("1", "000000000000080000000000000000000001", 0).parse::<f64>().ok(), Some(1.0 + f64::EPSILON));
        assert_eq!(hex_float_text("1", "0", -1074).parse::<f64>().ok(), Some(f64::from_bits(1)));
        assert_eq!(hex_float_text("1", "0", -1075).parse::<f64>().ok(), Some(0.0));
        assert_eq!(hex_float_text("1", "8", -1075).parse::<f64>().ok(), Some(f64::from_bits(1)));
        assert_eq!(hex_float_text("1", "0", -1080), "0.0");
        assert_eq!(hex_float_text("1", "0", 1024), "1e999");
        assert_eq!(hex_float_text("0", "0", 1 << 40), "0.0");
        assert_eq!(hex_float_text("1", "fffffffffffff", 1023).parse::<f64>().ok(), Some(f64::MAX));
    }
}
