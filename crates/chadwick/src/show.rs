//! Results as the language would write them: tuples, records and constructors by name.
//!
//! Core keeps no tuples, so the source type says how its flat values belong together. Where it cannot (an abstract type), the flat values are
//! shown one behind the other.

use crate::values::{Elements, Value, element_count, text};
use chadwick_core::{self as core, Constructor, Element, Type as CoreType};
use chadwick_interp as interp;
use chadwick_types::tree::{self, NamedBody};
use chadwick_types::ty::Type;

/// Constructors nested deeper than this are left out.
const MAX_DEPTH: usize = 100;

/// A text longer than this is cut.
const MAX_LENGTH: usize = 1 << 24;

/// The results of an entry point.
pub(crate) fn results(
    tree: &tree::Program,
    program: &core::Program,
    entry: &core::Entry,
    source_type: Option<&Type>,
    values: &[interp::Value],
) -> String {
    let leaves = leaves(entry, values);
    let shower = Shower { tree: Some(tree), program };
    let mut out = String::new();
    match source_type.filter(|ty| shower.leaf_count(ty) == Some(leaves.len())) {
        Some(ty) => shower.show(ty, &leaves, &mut out),
        None => {
            let texts: Vec<String> = leaves.iter().map(|leaf| shower.leaf(leaf)).collect();
            out = texts.join(" ");
        }
    }
    out
}

/// The results of an entry point one by one, as flat as Core has them.
pub(crate) fn flat_results(program: &core::Program, entry: &core::Entry, values: &[interp::Value]) -> Vec<String> {
    let shower = Shower { tree: None, program };
    leaves(entry, values).iter().map(|leaf| shower.leaf(leaf)).collect()
}

fn leaves<'v>(entry: &'v core::Entry, values: &'v [interp::Value]) -> Vec<Leaf<'v>> {
    let types = entry.results.iter().flat_map(|result| &result.types);
    types.zip(values).map(|(ty, value)| Leaf::new(ty, value)).collect()
}

/// One Core value, or a part of one.
struct Leaf<'v> {
    ty: &'v CoreType,
    content: Content,
}

enum Content {
    /// Numbers and booleans.
    Data(Value),
    /// Anything else.
    Other(interp::Value),
}

struct Shower<'p> {
    /// Where the definitions of named types are.
    tree: Option<&'p tree::Program>,
    program: &'p core::Program,
}

impl<'v> Leaf<'v> {
    fn new(ty: &'v CoreType, value: &interp::Value) -> Leaf<'v> {
        let content = match value.to_data().and_then(Value::from_data) {
            Some(data) => Content::Data(data),
            None => Content::Other(value.clone()),
        };
        Leaf { ty, content }
    }

    /// The length of the first axis; `None` where the elements cannot be taken apart.
    fn length(&self) -> Option<usize> {
        match &self.content {
            Content::Data(value) => value.shape().first().copied(),
            Content::Other(value) => value.as_array()?.shape().first().map(|length| *length as usize),
        }
    }

    /// Element `at` along the first axis.
    fn element(&self, at: usize) -> Option<Leaf<'v>> {
        let value = match &self.content {
            Content::Data(value) => value,
            Content::Other(value) => return Some(Leaf::new(self.ty, &value.as_array()?.row(at)?)),
        };
        let inner = value.shape().get(1..)?;
        let count = element_count(inner)?;
        let mut elements = Elements::empty(value.prim());
        for position in at * count..(at + 1) * count {
            elements.push(value.elements().get(position)?);
        }
        Some(Leaf { ty: self.ty, content: Content::Data(Value::new(inner, elements)?) })
    }
}

impl Shower<'_> {
    /// How many Core values a value of the type is; `None` if that is not plain to see.
    fn leaf_count(&self, ty: &Type) -> Option<usize> {
        match ty {
            Type::Prim(_) | Type::Sum(_) | Type::Arrow(_) => Some(1),
            Type::Record(fields) => fields.iter().map(|(_, ty)| self.leaf_count(ty)).sum(),
            Type::Array(_, element) => self.leaf_count(element).map(|count| count.max(1)),
            Type::Named(id, ..) => {
                match self.tree.and_then(|tree| tree.named_types.get(id.0 as usize)).map(|named| &named.body) {
                    Some(NamedBody::Recursive(_)) => Some(1),
                    _ => None,
                }
            }
            Type::Hidden(_, inner) => self.leaf_count(inner),
            Type::Var(_) | Type::Param(..) | Type::Error => None,
        }
    }

    fn show(&self, ty: &Type, leaves: &[Leaf<'_>], out: &mut String) {
        if out.len() > MAX_LENGTH {
            return;
        }
        match (ty, leaves) {
            (Type::Record(fields), leaves) => {
                let is_tuple = ty.as_tuple().is_some();
                out.push(if is_tuple { '(' } else { '{' });
                let mut rest = leaves;
                for (number, (name, ty)) in fields.iter().enumerate() {
                    if number > 0 {
                        out.push_str(", ");
                    }
                    if !is_tuple {
                        out.push_str(name);
                        out.push_str(" = ");
                    }
                    let count = self.leaf_count(ty).unwrap_or(1).min(rest.len());
                    let (own, others) = rest.split_at(count);
                    self.show(ty, own, out);
                    rest = others;
                }
                out.push(if is_tuple { ')' } else { '}' });
            }
            // An array of tuples is several arrays: shown element by element.
            (Type::Array(_, element), leaves) if !is_flat(element) => match self.elements(element, leaves, out) {
                Some(()) => {}
                None => self.all(leaves, out),
            },
            (_, leaves) => self.all(leaves, out),
        }
    }

    fn elements(&self, element: &Type, leaves: &[Leaf<'_>], out: &mut String) -> Option<()> {
        let length = leaves.first()?.length()?;
        if leaves.iter().any(|leaf| leaf.length() != Some(length)) {
            return None;
        }
        let start = out.len();
        out.push('[');
        for at in 0..length {
            if at > 0 {
                out.push_str(", ");
            }
            let Some(parts) = leaves.iter().map(|leaf| leaf.element(at)).collect::<Option<Vec<_>>>() else {
                out.truncate(start);
                return None;
            };
            // Elements of the empty tuple are kept as booleans.
            let parts = if self.leaf_count(element) == Some(0) { Vec::new() } else { parts };
            self.show(element, &parts, out);
        }
        out.push(']');
        Some(())
    }

    fn all(&self, leaves: &[Leaf<'_>], out: &mut String) {
        let texts: Vec<String> = leaves.iter().map(|leaf| self.leaf(leaf)).collect();
        out.push_str(&texts.join(" "));
    }

    fn leaf(&self, leaf: &Leaf<'_>) -> String {
        match &leaf.content {
            Content::Data(value) => value.to_string(),
            Content::Other(value) => {
                let mut out = String::new();
                self.core_value(leaf.ty, value, &mut out, MAX_DEPTH);
                out
            }
        }
    }

    /// An array of sums or functions, or an element of one.
    fn boxed(&self, element: &CoreType, value: &interp::Value, out: &mut String, depth: usize) {
        let Some(array) = value.as_array() else { return self.core_value(element, value, out, depth) };
        out.push('[');
        for at in 0..array.shape().first().map_or(0, |length| *length as usize) {
            if at > 0 {
                out.push_str(", ");
            }
            if out.len() > MAX_LENGTH {
                out.push('…');
                break;
            }
            if let Some(row) = array.row(at) {
                self.boxed(element, &row, out, depth);
            }
        }
        out.push(']');
    }

    fn core_value(&self, ty: &CoreType, value: &interp::Value, out: &mut String, depth: usize) {
        if depth == 0 || out.len() > MAX_LENGTH {
            out.push('…');
            return;
        }
        let constructors: &[Constructor] = match ty {
            CoreType::Sum(constructors) => constructors,
            CoreType::Array(array) => match &array.element {
                Element::Boxed(element) => return self.boxed(element, value, out, depth),
                Element::Prim(_) | Element::Unit => &[],
            },
            CoreType::Named(id) => self.program.types.get(id.0 as usize).map_or(&[], |named| &named.constructors),
            _ => &[],
        };
        match value {
            interp::Value::Sum(sum) => {
                let Some(constructor) = constructors.get(sum.tag as usize) else {
                    out.push_str(&value.to_string());
                    return;
                };
                // The box of an irregular array's element has no name.
                if constructor.name.is_empty() {
                    sum.fields
                        .iter()
                        .zip(&constructor.payload)
                        .for_each(|(field, ty)| self.core_value(ty, field, out, depth - 1));
                    return;
                }
                out.push('#');
                out.push_str(&constructor.name);
                for (field, ty) in sum.fields.iter().zip(&constructor.payload) {
                    out.push(' ');
                    let has_fields = matches!(field, interp::Value::Sum(inner) if !inner.fields.is_empty());
                    if has_fields {
                        out.push('(');
                    }
                    self.core_value(ty, field, out, depth - 1);
                    if has_fields {
                        out.push(')');
                    }
                }
            }
            interp::Value::Function(_) => out.push_str("<function>"),
            other => match other.to_data().and_then(Value::from_data) {
                Some(data) => {
                    let _ = text::write_value(&data, out);
                }
                None => out.push_str(&other.to_string()),
            },
        }
    }
}

/// Whether arrays of the type are plain arrays.
fn is_flat(ty: &Type) -> bool {
    match ty {
        Type::Prim(_) => true,
        Type::Array(_, element) => is_flat(element),
        _ => false,
    }
}
