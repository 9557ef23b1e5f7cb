//! Expressions as a tree of text, names and smaller expressions.
//!
//! A node is a template with holes. The generator needs no more structure than that to print a program, and the shrinker no more than
//! types and names to take it apart: every binder of a program has its own name.

use crate::types::Type;
use std::collections::BTreeSet;

/// The type of the numbers of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    F64,
    /// Wrapping integers: what two modes of differentiation compute must be equal, not close.
    I64,
}

impl Element {
    pub const ALL: [Element; 2] = [Element::F64, Element::I64];

    pub fn name(self) -> &'static str {
        match self {
            Element::F64 => "f64",
            Element::I64 => "i64",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Exp {
    pub ty: Type,
    /// If this is a number: in `f64`, its magnitude is at most about this.
    pub bound: f64,
    /// Whether it needs no parentheses anywhere.
    pub atomic: bool,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    /// What differs between element types.
    Either {
        f64: String,
        i64: String,
    },
    /// Where a variable is bound.
    Bind(String),
    Use(String),
    Type(Type),
    Exp(Exp),
}

/// The magnitude that numbers in variables and data have at most, roughly.
pub const BOUND: f64 = 2.0;

impl Exp {
    /// An expression from a template: each `@` stands for the next part.
    pub fn node(ty: &Type, template: &str, holes: Vec<Part>) -> Exp {
        let mut parts = Vec::with_capacity(2 * holes.len() + 1);
        let mut holes = holes.into_iter();
        for (number, text) in template.split('@').enumerate() {
            if number > 0 {
                parts.push(holes.next().unwrap_or_else(|| panic!("too few parts for {template:?}")));
            }
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
        }
        assert!(holes.next().is_none(), "too many parts for {template:?}");
        Exp { ty: ty.clone(), bound: BOUND, atomic: false, parts }
    }

    /// The same for what needs no parentheses.
    pub fn atom(ty: &Type, template: &str, holes: Vec<Part>) -> Exp {
        Exp { atomic: true, ..Exp::node(ty, template, holes) }
    }

    pub fn variable(name: &str, ty: &Type) -> Exp {
        Exp::atom(ty, "@", vec![Part::Use(name.to_owned())])
    }

    pub fn with_bound(self, bound: f64) -> Exp {
        Exp { bound, ..self }
    }

    pub fn print(&self, element: Element, out: &mut String) {
        if !self.atomic {
            out.push('(');
        }
        for part in &self.parts {
            match part {
                Part::Text(text) | Part::Bind(text) | Part::Use(text) => out.push_str(text),
                Part::Either { f64, i64 } => out.push_str(match element {
                    Element::F64 => f64,
                    Element::I64 => i64,
                }),
                Part::Type(ty) => out.push_str(&ty.to_string()),
                Part::Exp(exp) => exp.print(element, out),
            }
        }
        if !self.atomic {
            out.push(')');
        }
    }

    pub fn children(&self) -> impl Iterator<Item = &Exp> {
        self.parts.iter().filter_map(|part| match part {
            Part::Exp(exp) => Some(exp),
            _ => None,
        })
    }

    /// How many nodes there are.
    pub fn size(&self) -> usize {
        1 + self.children().map(Exp::size).sum::<usize>()
    }

    /// Names bound anywhere inside.
    pub fn bound_names(&self, names: &mut BTreeSet<String>) {
        for part in &self.parts {
            match part {
                Part::Bind(name) => {
                    names.insert(name.clone());
                }
                Part::Exp(exp) => exp.bound_names(names),
                _ => {}
            }
        }
    }

    /// Names used anywhere inside, sizes in types included.
    pub fn used_names(&self, names: &mut BTreeSet<String>) {
        names.extend(self.ty.size_names().into_iter().map(String::from));
        for part in &self.parts {
            match part {
                Part::Use(name) => {
                    names.insert(name.clone());
                }
                Part::Type(ty) => names.extend(ty.size_names().into_iter().map(String::from)),
                Part::Exp(exp) => exp.used_names(names),
                _ => {}
            }
        }
    }
}

impl From<Exp> for Part {
    fn from(exp: Exp) -> Part {
        Part::Exp(exp)
    }
}

impl From<&Type> for Part {
    fn from(ty: &Type) -> Part {
        Part::Type(ty.clone())
    }
}

impl From<&crate::types::Size> for Part {
    fn from(size: &crate::types::Size) -> Part {
        match size {
            crate::types::Size::Const(size) => Part::Text(size.to_string()),
            crate::types::Size::Named { name, .. } => Part::Use(name.clone()),
        }
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Text(text)
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Part {
        Part::Text(text.to_owned())
    }
}

pub fn bind(name: &str) -> Part {
    Part::Bind(name.to_owned())
}

pub fn name(name: &str) -> Part {
    Part::Use(name.to_owned())
}

pub fn either(f64: &str, i64: &str) -> Part {
    Part::Either { f64: f64.to_owned(), i64: i64.to_owned() }
}

/// The parts of a template, from whatever can be one.
macro_rules! parts {
    ($($part:expr),* $(,)?) => { vec![$($crate::exp::Part::from($part)),*] };
}
pub(crate) use parts;
