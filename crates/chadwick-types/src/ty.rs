//! Types, sizes and type schemes, and how they are shown to people.
//!
//! A size is an `i64` term. Its names are ordinary value variables, so a size can be computed wherever its variables are in scope.

use crate::tree::Exp;
pub use chadwick_core::Prim;
use chadwick_source::Name;
use std::fmt;
use std::rc::Rc;

/// A value variable: local, parameter or top-level definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// A rigid type parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(pub u32);

/// A unification variable for types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeVar(pub u32);

/// A unification variable for sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SizeVar(pub u32);

/// A type known by name: recursive, or abstract because a module type hides what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamedId(pub u32);

#[derive(Clone, Debug)]
pub enum Type {
    Prim(Prim),
    Var(TypeVar),
    Param(ParamId, Name),
    /// Fields in canonical order; a tuple has the fields `0`, `1`, ….
    Record(Rc<[(Name, Type)]>),
    /// Constructors in order of their names.
    Sum(Rc<[(Name, Vec<Type>)]>),
    Array(Size, Rc<Type>),
    Arrow(Rc<Arrow>),
    Named(NamedId, Name, Rc<[TypeArg]>),
    /// A type whose sizes differ from element to element: the element of an irregular array.
    Hidden(Rc<[VarId]>, Rc<Type>),
    /// After an error: fits everything.
    Error,
}

#[derive(Clone, Debug)]
pub enum TypeArg {
    Type(Type),
    Size(Size),
}

#[derive(Clone, Debug)]
pub struct Arrow {
    /// The parameter's variable, where the result's sizes may mention it.
    pub param: Option<VarId>,
    pub param_name: Option<Name>,
    pub consumes: bool,
    pub from: Type,
    pub to: Return,
}

/// What a function gives back: sizes known only afterwards, and whether it is free of aliases.
#[derive(Clone, Debug)]
pub struct Return {
    pub exists: Vec<VarId>,
    pub unique: bool,
    pub ty: Type,
}

#[derive(Clone, Debug)]
pub enum Size {
    Const(i64),
    Name(VarId, Name),
    Var(SizeVar),
    Add(Rc<Size>, Rc<Size>),
    Sub(Rc<Size>, Rc<Size>),
    Mul(Rc<Size>, Rc<Size>),
    /// Any other expression; equal keys mean equal terms.
    Opaque(Rc<OpaqueSize>),
    /// Read from the value when it is there.
    Unknown,
}

/// An expression that is no polynomial, with what its free variables stand for.
#[derive(Debug)]
pub struct OpaqueSize {
    pub exp: Rc<Exp>,
    pub args: Vec<(VarId, Size)>,
    pub text: String,
}

#[derive(Clone, Debug)]
pub struct Scheme {
    pub types: Vec<(ParamId, Name)>,
    pub sizes: Vec<(VarId, Name)>,
    pub ty: Type,
}

impl Scheme {
    pub fn mono(ty: Type) -> Scheme {
        Scheme { types: Vec::new(), sizes: Vec::new(), ty }
    }

    pub fn is_mono(&self) -> bool {
        self.types.is_empty() && self.sizes.is_empty()
    }
}

impl Type {
    pub fn unit() -> Type {
        Type::Record(Rc::from([]))
    }

    pub fn bool() -> Type {
        Type::Prim(Prim::Bool)
    }

    pub fn i64() -> Type {
        Type::Prim(Prim::I64)
    }

    pub fn tuple(types: impl IntoIterator<Item = Type>) -> Type {
        Type::record(types.into_iter().enumerate().map(|(index, ty)| (Name::from(index.to_string()), ty)))
    }

    pub fn record(fields: impl IntoIterator<Item = (Name, Type)>) -> Type {
        let mut fields: Vec<_> = fields.into_iter().collect();
        fields.sort_by(|a, b| compare_fields(&a.0, &b.0));
        Type::Record(fields.into())
    }

    pub fn sum(constructors: impl IntoIterator<Item = (Name, Vec<Type>)>) -> Type {
        let mut constructors: Vec<_> = constructors.into_iter().collect();
        constructors.sort_by(|a, b| a.0.cmp(&b.0));
        Type::Sum(constructors.into())
    }

    pub fn array(size: Size, element: Type) -> Type {
        Type::Array(size, Rc::new(element))
    }

    /// The type where it hides these sizes, if there are any.
    pub fn hiding(sizes: &[VarId], ty: Type) -> Type {
        if sizes.is_empty() { ty } else { Type::Hidden(sizes.into(), Rc::new(ty)) }
    }

    pub fn arrow(from: Type, to: Type) -> Type {
        let to = Return { exists: Vec::new(), unique: false, ty: to };
        Type::Arrow(Rc::new(Arrow { param: None, param_name: None, consumes: false, from, to }))
    }

    /// The types of a tuple's components, if this is a tuple.
    pub fn as_tuple(&self) -> Option<Vec<&Type>> {
        let Type::Record(fields) = self else { return None };
        let numbered = fields.iter().enumerate().all(|(index, (name, _))| *name == index.to_string());
        (numbered && fields.len() != 1).then(|| fields.iter().map(|(_, ty)| ty).collect())
    }

    pub fn field(&self, name: &str) -> Option<&Type> {
        let Type::Record(fields) = self else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, ty)| ty)
    }
}

/// Numbered fields come first, in the order of their numbers.
pub fn compare_fields(a: &str, b: &str) -> std::cmp::Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => std::cmp::Ordering::Less,
        (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

impl Size {
    pub fn sum(left: Size, right: Size) -> Size {
        Size::Add(Rc::new(left), Rc::new(right))
    }

    pub fn difference(left: Size, right: Size) -> Size {
        Size::Sub(Rc::new(left), Rc::new(right))
    }

    pub fn product(left: Size, right: Size) -> Size {
        Size::Mul(Rc::new(left), Rc::new(right))
    }
}

// ------------------------------------------------------------------------------------------------------------ shown to people

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_type(f, self, Position::Top)
    }
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Position {
    Top,
    ArrowLeft,
    Element,
    Argument,
}

fn write_type(f: &mut fmt::Formatter<'_>, ty: &Type, position: Position) -> fmt::Result {
    match ty {
        Type::Prim(prim) => f.write_str(prim.name()),
        Type::Var(var) => write!(f, "t{}", var.0),
        Type::Param(_, name) => f.write_str(name),
        Type::Error => f.write_str("_"),
        Type::Record(fields) => match ty.as_tuple() {
            Some(parts) => {
                f.write_str("(")?;
                separated(f, &parts, ", ", |f, part| write_type(f, part, Position::Top))?;
                f.write_str(")")
            }
            None => {
                f.write_str("{")?;
                separated(f, fields, ", ", |f, (name, ty)| {
                    write!(f, "{name}: ")?;
                    write_type(f, ty, Position::Top)
                })?;
                f.write_str("}")
            }
        },
        Type::Sum(constructors) => parenthesised(f, position > Position::Top, |f| {
            separated(f, constructors, " | ", |f, (name, payload)| {
                write!(f, "#{name}")?;
                payload.iter().try_for_each(|ty| {
                    f.write_str(" ")?;
                    write_type(f, ty, Position::Argument)
                })
            })
        }),
        Type::Array(size, element) => parenthesised(f, position > Position::Element, |f| {
            match size {
                Size::Unknown | Size::Var(_) => f.write_str("[]")?,
                Size::Name(_, name) if name.is_empty() => f.write_str("[]")?,
                size => write!(f, "[{size}]")?,
            }
            write_type(f, element, Position::Element)
        }),
        Type::Arrow(arrow) => parenthesised(f, position > Position::Top, |f| {
            let star = if arrow.consumes { "*" } else { "" };
            match &arrow.param_name {
                Some(name) => {
                    write!(f, "({name}: {star}")?;
                    write_type(f, &arrow.from, Position::Top)?;
                    f.write_str(")")?;
                }
                None => {
                    f.write_str(star)?;
                    write_type(f, &arrow.from, Position::ArrowLeft)?;
                }
            }
            f.write_str(" -> ")?;
            if arrow.to.unique {
                f.write_str("*")?;
            }
            write_type(f, &arrow.to.ty, Position::Top)
        }),
        Type::Named(_, name, args) => parenthesised(f, position >= Position::Argument && !args.is_empty(), |f| {
            f.write_str(name)?;
            args.iter().try_for_each(|arg| match arg {
                TypeArg::Type(ty) => {
                    f.write_str(" ")?;
                    write_type(f, ty, Position::Argument)
                }
                TypeArg::Size(size) => write!(f, " [{size}]"),
            })
        }),
        Type::Hidden(_, ty) => write_type(f, ty, position),
    }
}

fn parenthesised(
    f: &mut fmt::Formatter<'_>,
    needed: bool,
    inside: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    if !needed {
        return inside(f);
    }
    f.write_str("(")?;
    inside(f)?;
    f.write_str(")")
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    separator: &str,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        write(f, item)?;
    }
    Ok(())
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operand = |f: &mut fmt::Formatter<'_>, size: &Size, tight: bool| match size {
            Size::Add(..) | Size::Sub(..) if tight => write!(f, "({size})"),
            size => write!(f, "{size}"),
        };
        match self {
            Size::Const(value) => write!(f, "{value}"),
            Size::Name(_, name) if name.is_empty() => f.write_str("_"),
            Size::Name(_, name) => f.write_str(name),
            Size::Var(var) => write!(f, "d{}", var.0),
            Size::Add(left, right) => write!(f, "{left} + {right}"),
            Size::Sub(left, right) => {
                write!(f, "{left} - ")?;
                operand(f, right, true)
            }
            Size::Mul(left, right) => {
                operand(f, left, true)?;
                f.write_str(" * ")?;
                operand(f, right, true)
            }
            Size::Opaque(opaque) => f.write_str(&opaque.text),
            Size::Unknown => Ok(()),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (_, name) in self.sizes.iter().filter(|(_, name)| !name.is_empty()) {
            write!(f, "[{name}] ")?;
        }
        for (_, name) in &self.types {
            write!(f, "'{name} ")?;
        }
        if !self.is_mono() {
            f.write_str(". ")?;
        }
        write!(f, "{}", self.ty)
    }
}
