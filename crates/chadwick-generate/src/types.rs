//! The types of generated expressions.
//!
//! `Int` and `Index` are both `i64` in the source. An `Index` may have been computed from numbers; it serves as an index, a bound or in a
//! comparison and never becomes a number again, so that no derivative would have to flow through a float → integer conversion.

use std::fmt;

/// The size of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    Const(usize),
    /// A size variable; `positive` if it is known not to be 0.
    Named {
        name: String,
        positive: bool,
    },
}

impl Size {
    pub fn is_positive(&self) -> bool {
        match self {
            Size::Const(size) => *size > 0,
            Size::Named { positive, .. } => *positive,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// The element type of the program: `f64` or `i64`.
    Number,
    Int,
    Index,
    Bool,
    Tuple(Vec<Type>),
    Record(Vec<(&'static str, Type)>),
    /// `#some t | #none`
    Option(Box<Type>),
    /// `#dot | #circle num | #box num num | #path ([2]num)`
    Shape,
    /// `#nil | #cons t (list t)`
    List(Box<Type>),
    /// `#leaf num | #node tree num tree`
    Tree,
    /// `#rose num forest`, where a forest is a list of roses.
    Rose,
    /// An array of numbers that hides its size.
    Ragged,
    Array(Size, Box<Type>),
    Function(Vec<Type>, Box<Type>),
}

impl Type {
    pub fn array(size: &Size, element: Type) -> Type {
        Type::Array(size.clone(), Box::new(element))
    }

    pub fn numbers(size: &Size) -> Type {
        Type::array(size, Type::Number)
    }

    pub fn function(params: impl Into<Vec<Type>>, result: Type) -> Type {
        Type::Function(params.into(), Box::new(result))
    }

    pub fn pair(first: Type, second: Type) -> Type {
        Type::Tuple(vec![first, second])
    }

    /// The types directly inside.
    pub fn parts(&self) -> Vec<&Type> {
        match self {
            Type::Tuple(parts) => parts.iter().collect(),
            Type::Record(fields) => fields.iter().map(|(_, ty)| ty).collect(),
            Type::Option(part) | Type::List(part) | Type::Array(_, part) => vec![part],
            Type::Function(params, result) => params.iter().chain([&**result]).collect(),
            _ => Vec::new(),
        }
    }

    pub fn any(&self, test: &dyn Fn(&Type) -> bool) -> bool {
        test(self) || self.parts().into_iter().any(|part| part.any(test))
    }

    pub fn has_functions(&self) -> bool {
        self.any(&|ty| matches!(ty, Type::Function(..)))
    }

    /// Whether a value's shape may differ from that of another value of the type.
    pub fn has_hidden_shape(&self) -> bool {
        let hides =
            |ty: &Type| matches!(ty, Type::Option(_) | Type::Shape | Type::List(_) | Type::Tree | Type::Rose | Type::Ragged);
        self.any(&hides)
    }

    /// The size variables that occur.
    pub fn size_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.collect_size_names(&mut names);
        names
    }

    fn collect_size_names<'a>(&'a self, names: &mut Vec<&'a str>) {
        if let Type::Array(Size::Named { name, .. }, _) = self
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
        for part in self.parts() {
            part.collect_size_names(names);
        }
    }

    /// The type with a size in place of a size variable.
    pub fn with_size(&self, name: &str, size: &Size) -> Type {
        let one = |ty: &Type| ty.with_size(name, size);
        let boxed = |ty: &Type| Box::new(one(ty));
        match self {
            Type::Tuple(parts) => Type::Tuple(parts.iter().map(one).collect()),
            Type::Record(fields) => Type::Record(fields.iter().map(|(field, ty)| (*field, one(ty))).collect()),
            Type::Option(part) => Type::Option(boxed(part)),
            Type::List(part) => Type::List(boxed(part)),
            Type::Array(old, element) => {
                let replaced = matches!(old, Size::Named { name: old, .. } if old == name);
                Type::Array(if replaced { size.clone() } else { old.clone() }, boxed(element))
            }
            Type::Function(params, result) => Type::Function(params.iter().map(one).collect(), boxed(result)),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Const(size) => write!(f, "{size}"),
            Size::Named { name, .. } => f.write_str(name),
        }
    }
}

/// As the source writes it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Number => f.write_str("num"),
            Type::Int | Type::Index => f.write_str("i64"),
            Type::Bool => f.write_str("bool"),
            Type::Shape => f.write_str("shape"),
            Type::Tree => f.write_str("tree"),
            Type::Rose => f.write_str("rose"),
            Type::Ragged => f.write_str("ragged"),
            Type::Option(part) => write!(f, "(option ({part}))"),
            Type::List(part) => write!(f, "(list ({part}))"),
            Type::Array(size, element) => write!(f, "[{size}]{element}"),
            Type::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                write!(f, "({})", parts.join(", "))
            }
            Type::Record(fields) => {
                let fields: Vec<String> = fields.iter().map(|(field, ty)| format!("{field}: {ty}")).collect();
                write!(f, "{{{}}}", fields.join(", "))
            }
            Type::Function(params, result) => {
                f.write_str("(")?;
                for param in params {
                    write!(f, "{param} -> ")?;
                }
                write!(f, "{result})")
            }
        }
    }
}
