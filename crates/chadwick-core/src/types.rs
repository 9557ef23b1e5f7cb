//! The types of Core.
//!
//! There are no tuples: every place that could hold one holds a list instead (parameters, results, payloads), and an array of tuples
//! is several arrays of one shape. So a component that nobody uses is a binder that nobody uses.

use chadwick_source::Name;
use std::rc::Rc;

/// The scalar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Prim {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    Prim(Prim),
    Array(ArrayType),
    /// A sum known by its structure; constructors in order of their names.
    Sum(Rc<[Constructor]>),
    /// A recursive sum, by its definition in [`crate::Program::types`].
    Named(TypeId),
    Function(Rc<FunctionType>),
    /// A write-only accumulator for values of the type.
    Accumulator(Rc<Type>),
    /// A log to which rows are appended.
    Log(Rc<LogType>),
}

/// The columns of a log. Those of indices come first; no derivative ever flows through them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogType {
    /// How many columns of `i64` there are.
    pub indices: usize,
    /// The types of the other columns: scalars and sums.
    pub values: Vec<Type>,
}

impl LogType {
    /// The arrays that a log becomes when it is closed.
    pub fn columns(&self) -> Vec<Type> {
        let indices = std::iter::repeat_n(Type::I64, self.indices);
        indices.chain(self.values.iter().cloned()).map(|ty| ty.array([Dim::Any])).collect()
    }
}

/// A regular array. `element` is never an array; ranks add up instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayType {
    pub element: Element,
    pub dims: Vec<Dim>,
}

/// What an array holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Element {
    Prim(Prim),
    /// Nothing but a shape: the array of the empty tuple.
    Unit,
    /// A sum (also the box of an irregular array: a sum with one constructor) or a function.
    Boxed(Rc<Type>),
}

/// The length of one dimension, as far as the type knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dim {
    Any,
    Const(i64),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Constructor {
    pub name: Name,
    pub payload: Vec<Type>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionType {
    pub params: Vec<Type>,
    pub results: Vec<Type>,
}

/// Index of a recursive type's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

#[derive(Clone, Debug, PartialEq)]
pub struct TypeDefinition {
    pub name: Name,
    pub constructors: Vec<Constructor>,
}

impl Prim {
    pub const ALL: [Prim; 12] = [
        Prim::Bool,
        Prim::I8,
        Prim::I16,
        Prim::I32,
        Prim::I64,
        Prim::U8,
        Prim::U16,
        Prim::U32,
        Prim::U64,
        Prim::F16,
        Prim::F32,
        Prim::F64,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Prim::Bool => "bool",
            Prim::I8 => "i8",
            Prim::I16 => "i16",
            Prim::I32 => "i32",
            Prim::I64 => "i64",
            Prim::U8 => "u8",
            Prim::U16 => "u16",
            Prim::U32 => "u32",
            Prim::U64 => "u64",
            Prim::F16 => "f16",
            Prim::F32 => "f32",
            Prim::F64 => "f64",
        }
    }

    pub fn from_name(name: &str) -> Option<Prim> {
        Prim::ALL.into_iter().find(|prim| prim.name() == name)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Prim::F16 | Prim::F32 | Prim::F64)
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64)
    }

    pub fn is_unsigned(self) -> bool {
        matches!(self, Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64)
    }

    pub fn is_integer(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    pub fn bytes(self) -> usize {
        match self {
            Prim::Bool | Prim::I8 | Prim::U8 => 1,
            Prim::I16 | Prim::U16 | Prim::F16 => 2,
            Prim::I32 | Prim::U32 | Prim::F32 => 4,
            Prim::I64 | Prim::U64 | Prim::F64 => 8,
        }
    }

    pub fn bits(self) -> u32 {
        self.bytes() as u32 * 8
    }
}

impl Type {
    pub const BOOL: Type = Type::Prim(Prim::Bool);
    pub const I64: Type = Type::Prim(Prim::I64);
    pub const F64: Type = Type::Prim(Prim::F64);

    /// An array of `self` with more dimensions in front.
    pub fn array(self, outer: impl IntoIterator<Item = Dim>) -> Type {
        let mut dims: Vec<Dim> = outer.into_iter().collect();
        if dims.is_empty() {
            return self;
        }
        match self {
            Type::Prim(prim) => Type::Array(ArrayType { element: Element::Prim(prim), dims }),
            Type::Array(inner) => {
                dims.extend(inner.dims);
                Type::Array(ArrayType { element: inner.element, dims })
            }
            other => Type::Array(ArrayType { element: Element::Boxed(Rc::new(other)), dims }),
        }
    }

    pub fn rank(&self) -> usize {
        match self {
            Type::Array(array) => array.dims.len(),
            _ => 0,
        }
    }

    /// The type of what remains after `count` leading indices; `None` if the rank is smaller, or if nothing but a unit would remain.
    pub fn peel(&self, count: usize) -> Option<Type> {
        match self {
            other if count == 0 => Some(other.clone()),
            Type::Array(array) if count < array.dims.len() => {
                Some(Type::Array(ArrayType { element: array.element.clone(), dims: array.dims[count..].to_vec() }))
            }
            Type::Array(array) if count == array.dims.len() => array.element.as_type(),
            _ => None,
        }
    }

    /// The type without what it knows of sizes.
    pub fn any_sizes(&self) -> Type {
        match self {
            Type::Array(array) => {
                Type::Array(ArrayType { element: array.element.clone(), dims: vec![Dim::Any; array.dims.len()] })
            }
            other => other.clone(),
        }
    }

    pub fn as_prim(&self) -> Option<Prim> {
        match self {
            Type::Prim(prim) => Some(*prim),
            _ => None,
        }
    }

    /// Same type up to what the dimensions know: ranks agree and no two constants differ.
    pub fn compatible(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Array(a), Type::Array(b)) => {
                let dims_agree = |(a, b): (&Dim, &Dim)| *a == Dim::Any || *b == Dim::Any || a == b;
                a.element.compatible(&b.element) && a.dims.len() == b.dims.len() && a.dims.iter().zip(&b.dims).all(dims_agree)
            }
            (Type::Sum(a), Type::Sum(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b.iter()).all(|(a, b)| a.name == b.name && all_compatible(&a.payload, &b.payload))
            }
            (Type::Function(a), Type::Function(b)) => {
                all_compatible(&a.params, &b.params) && all_compatible(&a.results, &b.results)
            }
            (Type::Accumulator(a), Type::Accumulator(b)) => a.compatible(b),
            (Type::Log(a), Type::Log(b)) => a.indices == b.indices && all_compatible(&a.values, &b.values),
            (a, b) => a == b,
        }
    }
}

/// How many elements an array of the shape has: none if a size is 0, whatever the others; `None` where no number counts them, or a size is
/// negative.
pub fn element_count<T: Copy + TryInto<usize>>(shape: &[T]) -> Option<usize> {
    let sizes = || shape.iter().map(|size| (*size).try_into().ok());
    if sizes().any(|size| size == Some(0)) {
        return Some(0);
    }
    sizes().try_fold(1usize, |count, size| count.checked_mul(size?))
}

/// Pairwise [`Type::compatible`], and as many.
pub fn all_compatible(left: &[Type], right: &[Type]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.compatible(b))
}

impl Element {
    /// The element as the type of a value; a unit has none.
    pub fn as_type(&self) -> Option<Type> {
        match self {
            Element::Prim(prim) => Some(Type::Prim(*prim)),
            Element::Unit => None,
            Element::Boxed(ty) => Some((**ty).clone()),
        }
    }

    fn compatible(&self, other: &Element) -> bool {
        match (self, other) {
            (Element::Boxed(a), Element::Boxed(b)) => a.compatible(b),
            (a, b) => a == b,
        }
    }
}
