//! Values by name, nested as records are, straight from and to JSON.
//!
//! A document with millions of numbers is read into flat arrays as it comes in: nothing of it is kept as a tree. The names are those of
//! [`crate::Function::argument_names`] and [`crate::Function::result_names`]: a dot leads into a nested object.

use super::json::scalar_from_number;
use super::{Elements, Prim, Scalar, Value, ValueType};
use chadwick_core::Const;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::Write;

/// Which values a document holds, and where.
#[derive(Clone, Debug)]
pub struct Fields {
    root: Node,
    names: Vec<String>,
}

#[derive(Clone, Debug)]
enum Node {
    /// The number of the value, and its type.
    Leaf(usize, ValueType),
    Record(Vec<(String, Node)>),
}

/// What was found in a document.
#[derive(Debug)]
pub struct Found {
    /// In the order of the names; `None` where a field is missing.
    pub values: Vec<Option<Value>>,
    /// The number of the value that was read last: what an error of the document is about.
    pub last: Option<usize>,
    /// What does not fit its type, and of which value. The rest of the document is read all the same.
    pub problem: Option<(Option<usize>, String)>,
}

impl Fields {
    /// The values are the fields of an object. A document that is no object is the first of them.
    pub fn new(fields: &[(String, ValueType)]) -> Fields {
        let mut root = Vec::new();
        for (number, (name, ty)) in fields.iter().enumerate() {
            insert(&mut root, name, Node::Leaf(number, *ty));
        }
        Fields { root: Node::Record(root), names: fields.iter().map(|(name, _)| name.clone()).collect() }
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// No values yet.
    pub fn nothing(&self) -> Found {
        Found { values: vec![None; self.names.len()], last: None, problem: None }
    }

    /// Reads a document; fields that have no name here are skipped.
    pub fn seed<'a>(&'a self, found: &'a mut Found) -> impl for<'de> DeserializeSeed<'de, Value = ()> + 'a {
        Reader { node: &self.root, found, is_root: true }
    }
}

fn insert(record: &mut Vec<(String, Node)>, name: &str, leaf: Node) {
    let (first, rest) = match name.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (name, None),
    };
    let at = record.iter().position(|(known, _)| known == first);
    match (rest, at) {
        (None, _) => record.push((first.to_owned(), leaf)),
        (Some(rest), Some(at)) => {
            if let Node::Record(inner) = &mut record[at].1 {
                insert(inner, rest, leaf);
            }
        }
        (Some(rest), None) => {
            let mut inner = Vec::new();
            insert(&mut inner, rest, leaf);
            record.push((first.to_owned(), Node::Record(inner)));
        }
    }
}

/// Reads what belongs to a node.
struct Reader<'a> {
    node: &'a Node,
    found: &'a mut Found,
    is_root: bool,
}

impl Found {
    /// Keeps the value that `read` puts into an array.
    fn keep<E: Error>(&mut self, number: usize, ty: ValueType, read: impl FnOnce(Array<'_>) -> Result<(), E>) -> Result<(), E> {
        self.last = Some(number);
        let mut shape = vec![None; ty.rank];
        let mut elements = Elements::empty(ty.prim);
        let mut problem = None;
        read(Array { shape: &mut shape, elements: &mut elements, problem: &mut problem })?;
        let shape: Vec<usize> = shape.into_iter().map(|size| size.unwrap_or(0)).collect();
        match (problem, Value::new(shape, elements)) {
            (None, Some(value)) => {
                if let Some(place) = self.values.get_mut(number) {
                    *place = Some(value);
                }
            }
            (None, None) => self.note(Some(number), String::from("this array is irregular")),
            (Some(problem), _) => self.note(Some(number), problem),
        }
        Ok(())
    }

    fn note(&mut self, number: Option<usize>, problem: String) {
        self.problem.get_or_insert((number, problem));
    }
}

impl Reader<'_> {
    /// A document that is no object is its first value.
    fn keep_alone<E: Error>(self, read: impl FnOnce(Array<'_>) -> Result<(), E>) -> Result<(), E> {
        let first = match self.node {
            Node::Record(fields) if self.is_root => fields.first().map(|(_, node)| node),
            _ => None,
        };
        match first {
            Some(Node::Leaf(number, ty)) => self.found.keep(*number, *ty, read),
            _ => {
                self.found.note(None, String::from("expected an object"));
                let (mut shape, mut elements, mut problem) = ([], Elements::empty(Prim::Bool), None);
                read(Array { shape: &mut shape, elements: &mut elements, problem: &mut problem })
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.node {
            Node::Record(_) => deserializer.deserialize_any(self),
            Node::Leaf(number, ty) => self.found.keep(*number, *ty, |array| deserializer.deserialize_any(array)),
        }
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Node::Record(fields) = self.node else { return Err(A::Error::custom("no object belongs here")) };
        while let Some(key) = map.next_key::<String>()? {
            match fields.iter().find(|(name, _)| *name == key) {
                Some((_, node)) => map.next_value_seed(Reader { node, found: &mut *self.found, is_root: false })?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        self.keep_alone(|array| array.visit_seq(seq))
    }

    fn visit_bool<E: Error>(self, x: bool) -> Result<(), E> {
        self.keep_alone(|array| array.visit_bool(x))
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<(), E> {
        self.keep_alone(|array| array.visit_i64(x))
    }

    fn visit_u64<E: Error>(self, x: u64) -> Result<(), E> {
        self.keep_alone(|array| array.visit_u64(x))
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<(), E> {
        self.keep_alone(|array| array.visit_f64(x))
    }

    fn visit_str<E: Error>(self, x: &str) -> Result<(), E> {
        self.keep_alone(|array| array.visit_str(x))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.keep_alone(|array| array.visit_unit())
    }
}

/// Appends the elements of an array, or one scalar where no axis is left. The parser bounds the depth.
struct Array<'a> {
    /// The sizes of the axes that are left, where they are known already.
    shape: &'a mut [Option<usize>],
    elements: &'a mut Elements,
    problem: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for Array<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Array<'_> {
    fn push<E: Error>(self, scalar: Option<Scalar>, shown: impl fmt::Display) -> Result<(), E> {
        match scalar {
            Some(scalar) if self.shape.is_empty() && self.elements.push(scalar) => {}
            _ => self.note(shown),
        }
        Ok(())
    }

    fn note(self, shown: impl fmt::Display) {
        let wanted = match self.shape.is_empty() {
            true => format!("a value of type {}", self.elements.prim().name()),
            false => String::from("an array"),
        };
        self.problem.get_or_insert_with(|| format!("expected {wanted}, found {shown}"));
    }
}

impl<'de> Visitor<'de> for Array<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Some((size, inner)) = self.shape.split_first_mut() else {
            self.note("an array");
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let mut count = 0;
        let (elements, problem) = (self.elements, self.problem);
        while seq.next_element_seed(Array { shape: &mut *inner, elements: &mut *elements, problem: &mut *problem })?.is_some() {
            count += 1;
        }
        let others = *size.get_or_insert(count);
        if others != count {
            problem.get_or_insert_with(|| format!("an array of {count} elements where the others have {others}"));
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.note("an object");
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.push(None, "a string")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.push(None, "null")
    }

    fn visit_bool<E: Error>(self, x: bool) -> Result<(), E> {
        let scalar = (self.elements.prim() == Prim::Bool).then_some(Const::Bool(x));
        self.push(scalar, x)
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<(), E> {
        let scalar = scalar_from_number(self.elements.prim(), &x.into());
        self.push(scalar, x)
    }

    fn visit_u64<E: Error>(self, x: u64) -> Result<(), E> {
        let scalar = scalar_from_number(self.elements.prim(), &x.into());
        self.push(scalar, x)
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<(), E> {
        let scalar = serde_json::Number::from_f64(x).and_then(|x| scalar_from_number(self.elements.prim(), &x));
        self.push(scalar, x)
    }
}

/// Writes values as one document: a single value without a name as it is, others as the fields of objects. Fails where JSON has no
/// number: at infinities and NaN.
///
/// ```
/// use chadwick::values::{Value, fields};
/// let values = [("size.n".into(), Value::from(2i64)), ("size.m".into(), Value::from(3i64)), ("x".into(), Value::from(vec![0.5]))];
/// let mut text = Vec::new();
/// fields::write(&values, &mut text)?;
/// assert_eq!(text, br#"{"size":{"n":2,"m":3},"x":[0.5]}"#);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(values: &[(String, Value)], out: &mut impl Write) -> std::io::Result<()> {
    match values {
        [(name, value)] if name == "0" => write_value(value, out),
        many => {
            let parts: Vec<(&str, &Value)> = many.iter().map(|(name, value)| (name.as_str(), value)).collect();
            write_record(&parts, out)
        }
    }
}

/// Neighbours whose names begin alike are one object.
fn write_record(mut parts: &[(&str, &Value)], out: &mut impl Write) -> std::io::Result<()> {
    let mut separator = "{";
    while let Some((name, value)) = parts.first() {
        let first = name.split('.').next().unwrap_or(name);
        let inside = |name: &str| name.strip_prefix(first).is_some_and(|rest| rest.starts_with('.'));
        let count = parts.iter().take_while(|(name, _)| inside(name)).count();
        write!(out, "{separator}{}:", serde_json::Value::from(first))?;
        match count {
            0 => write_value(value, out)?,
            _ => {
                let inner: Vec<(&str, &Value)> =
                    parts[..count].iter().map(|(name, value)| (&name[first.len() + 1..], *value)).collect();
                write_record(&inner, out)?;
            }
        }
        parts = &parts[count.max(1)..];
        separator = ",";
    }
    out.write_all(if separator == "{" { b"{}" } else { b"}" })
}

fn write_value(value: &Value, out: &mut impl Write) -> std::io::Result<()> {
    write_nested(value, value.shape(), &mut 0, out)
}

fn write_nested(value: &Value, shape: &[usize], position: &mut usize, out: &mut impl Write) -> std::io::Result<()> {
    let Some((size, inner)) = shape.split_first() else {
        let scalar = value.elements().get(*position);
        *position += 1;
        return match scalar {
            Some(Const::F64(x)) if x.is_finite() => serde_json::to_writer(out, &x).map_err(std::io::Error::from),
            Some(scalar) => match super::json::from_scalar(scalar) {
                serde_json::Value::String(text) => {
                    Err(std::io::Error::other(format!("the result has an element that is {text}")))
                }
                json => write!(out, "{json}"),
            },
            None => Err(std::io::Error::other("a result without its elements")),
        };
    };
    out.write_all(b"[")?;
    for index in 0..*size {
        if index > 0 {
            out.write_all(b",")?;
        }
        write_nested(value, inner, position, out)?;
    }
    out.write_all(b"]")
}
