//! Failures of native code as the interpreter would report them.

use crate::decode;
use chadwick_codegen::{MessageText, Site, SiteKind};
use chadwick_interp::{Call, ErrorKind, RuntimeError, Shape};
use chadwick_source::Span;

/// What `cw_error` holds.
pub struct Failure<'a> {
    pub code: i32,
    pub values: &'a [i64],
    pub sites: &'a [i32],
    pub stream: &'a [u8],
}

pub fn explain(failure: &Failure<'_>, program: &chadwick_core::Program, sites: &[Site]) -> RuntimeError {
    let places: Vec<&Site> = failure.sites.iter().filter_map(|site| sites.get(usize::try_from(*site).ok()?)).collect();
    let (kind, message) = message(failure, places.first().copied(), program);
    let span = places.first().map_or_else(Span::default, |site| site.span);
    let calls = places.iter().flat_map(|site| program.open_calls(&site.function, site.span));
    let trace = calls.take(RuntimeError::LONGEST_TRACE).map(|(function, span)| Call { function, span }).collect();
    RuntimeError { kind, message, span, trace }
}

fn message(failure: &Failure<'_>, site: Option<&Site>, program: &chadwick_core::Program) -> (ErrorKind, String) {
    let values = failure.values;
    let value = |at: usize| values.get(at).copied().unwrap_or(0);
    // Two shapes of one rank.
    let halves = || {
        let (left, right) = values.split_at(values.len() / 2);
        (Shape::new(left), Shape::new(right))
    };
    match failure.code {
        1 => (ErrorKind::OutOfBounds, format!("index {} out of bounds for size {}", value(0), value(1))),
        2 => {
            let (count, start, stride, size) = (value(0), value(1), value(2), value(3));
            let text = format!("slice of {count} from {start} in steps of {stride} out of bounds for size {size}");
            (ErrorKind::OutOfBounds, text)
        }
        3 => {
            let (found, wanted) = halves();
            let text = format!("irregular array: an element of shape {found} among elements of shape {wanted}");
            (ErrorKind::Irregular, text)
        }
        4 => (ErrorKind::Irregular, format!("irregular array: an element of shape {}", Shape::new(values))),
        5 => {
            let rank = usize::try_from(value(0)).unwrap_or(0).min(values.len().saturating_sub(1));
            let (old, new) = values.get(1..).unwrap_or_default().split_at(rank);
            (ErrorKind::ShapeMismatch, format!("cannot reshape {} to {}", Shape::new(old), Shape::new(new)))
        }
        6 => {
            let (left, right) = halves();
            (ErrorKind::ShapeMismatch, format!("cannot concatenate arrays of shapes {left} and {right}"))
        }
        7 => {
            let (found, part) = halves();
            (ErrorKind::ShapeMismatch, format!("cannot write an array of shape {found} over a part of shape {part}"))
        }
        8 => {
            let (left, right) = halves();
            (ErrorKind::ShapeMismatch, format!("cannot add arrays of shapes {left} and {right}"))
        }
        9 => {
            let (found, wanted) = halves();
            let text = format!("the operator returned shape {found}, but the neutral element has shape {wanted}");
            (ErrorKind::ShapeMismatch, text)
        }
        10 => (ErrorKind::Arithmetic, String::from("division by zero")),
        11 => (ErrorKind::Arithmetic, String::from("negative exponent in an integer power")),
        12 => (ErrorKind::Assertion, assertion(failure, site, program)),
        13 => (ErrorKind::MemoryLimit, String::from("memory limit exceeded")),
        14 => (ErrorKind::Deadline, String::from("time limit exceeded")),
        15 => (ErrorKind::DepthLimit, String::from("too many nested calls")),
        16 => (ErrorKind::Differentiation, String::from("an accumulation into another constructor")),
        17 => (ErrorKind::Differentiation, String::from("cannot add values of different constructors")),
        code => (ErrorKind::Malformed, format!("native code failed with number {code}")),
    }
}

fn assertion(failure: &Failure<'_>, site: Option<&Site>, program: &chadwick_core::Program) -> String {
    let Some(Site { kind: SiteKind::Assertion(parts), .. }) = site else { return String::from("assertion failed") };
    let mut reader = decode::Reader::new(failure.stream, program);
    let mut text = String::new();
    for part in parts {
        match part {
            MessageText::Text(part) => text.push_str(part),
            MessageText::Value(ty) => match reader.value(ty) {
                Some(value) => text.push_str(&value.to_string()),
                None => text.push('?'),
            },
        }
    }
    text
}
