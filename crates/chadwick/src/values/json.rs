//! JSON: numbers, booleans and nested arrays of them.
//!
//! JSON says neither `i32` nor `f64`, so reading needs to know the types wanted. What JSON has no number for is written as a string:
//! `"nan"`, `"inf"`, `"-inf"`.

use super::elements::{scalar_from_f64, scalar_to_f64};
use super::{Elements, Place, Prim, Scalar, Value, ValueError, ValueType};
use chadwick_core::Const;
use serde_json::{Map, Number, Value as Json};

/// Documents with no more numbers and brackets than this are read before they are measured.
const MOST_FREE_NODES: usize = 1 << 16;

/// The arguments of a function, given as an object with a field per parameter, as an array of all arguments in order, or, for a single
/// parameter, as the argument itself. A record is an object within the object, or its fields are named `record.field`.
pub fn parse_arguments(text: &[u8], parameters: &[(String, ValueType)]) -> Result<Vec<Value>, ValueError> {
    parse_arguments_within(text, parameters, usize::MAX)
}

/// As [`parse_arguments`], for values of at most so many bytes together.
pub fn parse_arguments_within(
    text: &[u8],
    parameters: &[(String, ValueType)],
    max_bytes: usize,
) -> Result<Vec<Value>, ValueError> {
    // The document is made first: a node for every number, and one number behind each comma or bracket.
    let nodes = text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    let smallest = parameters.iter().map(|(_, ty)| ty.prim.bytes()).min().unwrap_or(1);
    if nodes.saturating_mul(smallest) > max_bytes.saturating_mul(2).saturating_add(MOST_FREE_NODES) {
        return Err(ValueError::too_large(Place::Whole, max_bytes));
    }
    let values = read_arguments(text, parameters)?;
    match values.iter().map(|value| value.len() * value.prim().bytes()).sum::<usize>() > max_bytes {
        true => Err(ValueError::too_large(Place::Whole, max_bytes)),
        false => Ok(values),
    }
}

fn read_arguments(text: &[u8], parameters: &[(String, ValueType)]) -> Result<Vec<Value>, ValueError> {
    match (parse(text)?, parameters) {
        (Json::Object(fields), parameters) => {
            let mut fields = leaves(fields);
            let mut values = Vec::with_capacity(parameters.len());
            for (name, ty) in parameters {
                let field = fields.remove(name).ok_or_else(|| ValueError::whole(format!("there is no field `{name}`")))?;
                values.push(to_value(&field, *ty).map_err(|error| prefixed(name, error))?);
            }
            match fields.keys().next() {
                Some(extra) => Err(ValueError::whole(format!("there is no parameter for the field `{extra}`"))),
                None => Ok(values),
            }
        }
        (json, [(name, ty)]) if depth(&json) <= ty.rank => Ok(vec![to_value(&json, *ty).map_err(|error| prefixed(name, error))?]),
        (Json::Array(items), parameters) => {
            if items.len() != parameters.len() {
                let message = format!("{} arguments are given, {} belong here", items.len(), parameters.len());
                return Err(ValueError::whole(message));
            }
            let pairs = items.iter().zip(parameters);
            pairs.map(|(item, (name, ty))| to_value(item, *ty).map_err(|error| prefixed(name, error))).collect()
        }
        _ => Err(ValueError::whole("arguments are an object with a field per parameter, or an array")),
    }
}

/// The fields of an object; those of inner objects are named `outer.inner`. The parser bounds the depth.
fn leaves(fields: Map<String, Json>) -> Map<String, Json> {
    let mut found = Map::new();
    for (name, json) in fields {
        match json {
            Json::Object(inner) => found.extend(leaves(inner).into_iter().map(|(field, leaf)| (format!("{name}.{field}"), leaf))),
            leaf => drop(found.insert(name, leaf)),
        }
    }
    found
}

/// A JSON document; errors have their line and column.
pub fn parse(text: &[u8]) -> Result<Json, ValueError> {
    serde_json::from_slice(text).map_err(|error| {
        let full = error.to_string();
        // The place is added again where the error is shown.
        let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message);
        let place = Place::Text { line: error.line(), column: error.column() };
        ValueError { place, message: format!("malformed JSON: {message}") }
    })
}

/// The value of a type that a document describes.
pub fn to_value(json: &Json, ty: ValueType) -> Result<Value, ValueError> {
    let mut shape = vec![None; ty.rank];
    let mut elements = Elements::empty(ty.prim);
    let mut path = Vec::new();
    collect(json, &mut shape, &mut elements, &mut path).map_err(|message| {
        let place: String = path.iter().map(|index| format!("[{index}]")).collect();
        ValueError::whole(if place.is_empty() { message } else { format!("{place}: {message}") })
    })?;
    let shape: Vec<usize> = shape.into_iter().map(|size| size.unwrap_or(0)).collect();
    Value::new(shape, elements).ok_or_else(|| ValueError::whole("this array is irregular"))
}

fn prefixed(name: &str, error: ValueError) -> ValueError {
    let separator = if error.message.starts_with('[') { "" } else { ": " };
    ValueError { message: format!("{name}{separator}{}", error.message), ..error }
}

/// How deep arrays are nested along the first elements.
fn depth(json: &Json) -> usize {
    let (mut depth, mut here) = (0, json);
    while let Json::Array(items) = here {
        depth += 1;
        match items.first() {
            Some(first) => here = first,
            None => break,
        }
    }
    depth
}

/// Appends the elements; on an error, `path` leads to it. The parser bounds the depth.
fn collect(json: &Json, shape: &mut [Option<usize>], elements: &mut Elements, path: &mut Vec<usize>) -> Result<(), String> {
    let Some((size, inner)) = shape.split_first_mut() else {
        return match scalar(json, elements.prim()) {
            Some(scalar) => {
                elements.push(scalar);
                Ok(())
            }
            None => Err(format!("expected a value of type {}, found {}", elements.prim().name(), shown(json))),
        };
    };
    let Json::Array(items) = json else {
        return Err(format!("expected an array, found {}", shown(json)));
    };
    if *size.get_or_insert(items.len()) != items.len() {
        return Err(format!("an array of {} elements where the others have {}", items.len(), size.unwrap_or(0)));
    }
    for (index, item) in items.iter().enumerate() {
        path.push(index);
        collect(item, inner, elements, path)?;
        path.pop();
    }
    Ok(())
}

fn shown(json: &Json) -> String {
    match json {
        Json::Null => String::from("null"),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(_) => String::from("a string"),
        Json::Array(_) => String::from("an array"),
        Json::Object(_) => String::from("an object"),
    }
}

fn scalar(json: &Json, prim: Prim) -> Option<Scalar> {
    match (json, prim) {
        (Json::Bool(value), Prim::Bool) => Some(Const::Bool(*value)),
        (Json::Number(number), prim) => scalar_from_number(prim, number),
        (Json::String(text), prim) => {
            let value = match text.to_ascii_lowercase().as_str() {
                "nan" => f64::NAN,
                "inf" | "infinity" => f64::INFINITY,
                "-inf" | "-infinity" => f64::NEG_INFINITY,
                _ => return None,
            };
            scalar_from_f64(prim, value)
        }
        _ => None,
    }
}

/// A number of the type: the nearest float, or an integer that is neither fractional nor out of range.
pub(super) fn scalar_from_number(prim: Prim, number: &Number) -> Option<Scalar> {
    if !prim.is_integer() {
        return scalar_from_f64(prim, number.as_f64()?);
    }
    let value = match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(value), _, _) => i128::from(value),
        (_, Some(value), _) => i128::from(value),
        (_, _, Some(value)) if value.fract() == 0.0 && value.abs() < 1e15 => value as i128,
        _ => return None,
    };
    let range = match prim.is_signed() {
        true => -(1i128 << (prim.bits() - 1))..(1i128 << (prim.bits() - 1)),
        false => 0..(1i128 << prim.bits()),
    };
    range.contains(&value).then(|| Const::from_i128(prim, value))
}

/// A value as JSON.
///
/// ```
/// use chadwick::values::{Value, json};
/// let value = Value::new([2, 2], vec![1.0, 2.5, f64::NAN, -3.0]).unwrap();
/// assert_eq!(json::from_value(&value).to_string(), r#"[[1.0,2.5],["nan",-3.0]]"#);
/// ```
pub fn from_value(value: &Value) -> Json {
    nested(value, value.shape(), &mut 0)
}

fn nested(value: &Value, shape: &[usize], position: &mut usize) -> Json {
    match shape.split_first() {
        Some((size, inner)) => Json::Array((0..*size).map(|_| nested(value, inner, position)).collect()),
        None => {
            *position += 1;
            value.elements().get(*position - 1).map_or(Json::Null, from_scalar)
        }
    }
}

pub(super) fn from_scalar(scalar: Scalar) -> Json {
    match scalar {
        Const::Bool(x) => Json::Bool(x),
        Const::I8(x) => Json::from(x),
        Const::I16(x) => Json::from(x),
        Const::I32(x) => Json::from(x),
        Const::I64(x) => Json::from(x),
        Const::U8(x) => Json::from(x),
        Const::U16(x) => Json::from(x),
        Const::U32(x) => Json::from(x),
        Const::U64(x) => Json::from(x),
        // The shortest number that reads back as this one in its own type.
        Const::F32(x) if x.is_finite() => Json::from(format!("{x}").parse::<f64>().unwrap_or(f64::from(x))),
        Const::F16(_) | Const::F32(_) | Const::F64(_) => {
            let x = scalar_to_f64(scalar);
            match Number::from_f64(x) {
                Some(number) => Json::Number(number),
                None if x.is_nan() => Json::from("nan"),
                None => Json::from(if x > 0.0 { "inf" } else { "-inf" }),
            }
        }
    }
}

/// Values as an object; names that are missing or empty become numbers.
pub fn object<'a>(values: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Json {
    let mut fields = Map::new();
    for (number, (name, value)) in values.into_iter().enumerate() {
        let name = if name.is_empty() { number.to_string() } else { name.to_owned() };
        fields.insert(name, from_value(value));
    }
    Json::Object(fields)
}
