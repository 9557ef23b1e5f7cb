//! How Core types are laid out.
//!
//! A sum is a structure with a tag (if there is a choice) and the payload of its constructor. Only a type that can contain itself is a
//! pointer to a counted node; its first constructor without a payload, like the end of a list, is the null pointer. Types that differ only in
//! what they know about sizes share a layout.

use crate::ir::{Elem, SumId, Ty};
use chadwick_core::{ArrayType, Constructor, Element, Program, Type, TypeId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A sum type.
#[derive(Clone, Debug)]
pub struct Sum {
    pub name: String,
    /// Whether a value is a pointer.
    pub recursive: bool,
    /// Field types per constructor.
    pub constructors: Vec<Vec<Ty>>,
}

impl Sum {
    /// The constructor that is the null pointer.
    pub fn null_tag(&self) -> Option<usize> {
        let is_choice = self.recursive && self.constructors.len() > 1;
        self.constructors.iter().position(Vec::is_empty).filter(|_| is_choice)
    }
}

#[derive(Debug)]
pub struct Layouts {
    pub sums: Vec<Sum>,
    known: FxHashMap<Type, SumId>,
    recursive: FxHashSet<TypeId>,
    types: Vec<(String, Vec<Constructor>)>,
}

impl Layouts {
    pub fn new(program: &Program) -> Layouts {
        let types: Vec<(String, Vec<Constructor>)> =
            program.types.iter().map(|ty| (ty.name.to_string(), ty.constructors.clone())).collect();
        let recursive = recursive_types(&types);
        Layouts { sums: Vec::new(), known: FxHashMap::default(), recursive, types }
    }

    pub fn ty(&mut self, ty: &Type) -> Ty {
        match ty {
            Type::Prim(prim) => Ty::Prim(*prim),
            Type::Array(array) => Ty::Array(self.elem(array), array.dims.len()),
            Type::Sum(_) | Type::Named(_) => Ty::Sum(self.sum(ty)),
            // Functions are gone before this stage; handles have no layout of their own.
            Type::Function(_) => Ty::Prim(chadwick_core::Prim::Bool),
            Type::Accumulator(inner) => Ty::Place(Box::new(self.ty(inner))),
            Type::Log(log) if log.columns().is_empty() => Ty::Counter,
            Type::Log(_) => Ty::Log,
        }
    }

    pub fn elem(&mut self, array: &ArrayType) -> Elem {
        match &array.element {
            Element::Prim(prim) => Elem::Prim(*prim),
            Element::Unit => Elem::Unit,
            Element::Boxed(ty) => match self.ty(ty) {
                Ty::Sum(id) => Elem::Sum(id),
                _ => Elem::Unit,
            },
        }
    }

    pub fn sum(&mut self, ty: &Type) -> SumId {
        let key = forget_sizes(ty);
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = SumId(self.sums.len() as u32);
        let (name, recursive, constructors) = match &key {
            Type::Named(type_id) => {
                let (name, constructors) = self.types.get(type_id.0 as usize).cloned().unwrap_or_default();
                (name, self.recursive.contains(type_id), constructors)
            }
            Type::Sum(constructors) => (String::from("sum"), false, constructors.to_vec()),
            _ => (String::from("sum"), false, Vec::new()),
        };
        self.known.insert(key, id);
        let payloads: Vec<Vec<Type>> = constructors.into_iter().map(|constructor| constructor.payload).collect();
        self.sums.push(Sum { name, recursive, constructors: Vec::new() });
        let fields = payloads.iter().map(|payload| payload.iter().map(|ty| self.ty(ty)).collect()).collect();
        self.sums[id.0 as usize].constructors = fields;
        id
    }

    pub fn get(&self, id: SumId) -> &Sum {
        &self.sums[id.0 as usize]
    }

    /// Whether values of the type have references to count.
    pub fn counted(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Array(elem, _) => *elem != Elem::Unit,
            Ty::Sum(id) => {
                let sum = self.get(*id);
                sum.recursive || sum.constructors.iter().flatten().any(|field| self.counted(field))
            }
            _ => false,
        }
    }
}

/// The type without what it knows of sizes.
pub fn forget_sizes(ty: &Type) -> Type {
    match ty {
        Type::Array(array) => {
            let element = match &array.element {
                Element::Boxed(inner) => Element::Boxed(forget_sizes(inner).into()),
                other => other.clone(),
            };
            Type::Array(ArrayType { element, dims: vec![chadwick_core::Dim::Any; array.dims.len()] })
        }
        Type::Sum(constructors) => Type::Sum(
            constructors
                .iter()
                .map(|constructor| Constructor {
                    name: constructor.name.clone(),
                    payload: constructor.payload.iter().map(forget_sizes).collect(),
                })
                .collect(),
        ),
        Type::Accumulator(inner) => Type::Accumulator(forget_sizes(inner).into()),
        other => other.clone(),
    }
}

/// The named types that can contain themselves.
fn recursive_types(types: &[(String, Vec<Constructor>)]) -> FxHashSet<TypeId> {
    let mut direct: Vec<FxHashSet<u32>> = vec![FxHashSet::default(); types.len()];
    for (at, (_, constructors)) in types.iter().enumerate() {
        let payloads = constructors.iter().flat_map(|constructor| &constructor.payload);
        payloads.for_each(|ty| mentioned(ty, &mut direct[at]));
    }
    let mut recursive = FxHashSet::default();
    for start in 0..types.len() as u32 {
        let (mut seen, mut waiting) = (FxHashSet::default(), vec![start]);
        while let Some(at) = waiting.pop() {
            for next in direct.get(at as usize).into_iter().flatten() {
                if *next == start {
                    recursive.insert(TypeId(start));
                }
                if seen.insert(*next) {
                    waiting.push(*next);
                }
            }
        }
    }
    recursive
}

fn mentioned(ty: &Type, found: &mut FxHashSet<u32>) {
    match ty {
        Type::Named(id) => {
            found.insert(id.0);
        }
        Type::Array(array) => {
            if let Element::Boxed(inner) = &array.element {
                mentioned(inner, found);
            }
        }
        Type::Sum(constructors) => {
            constructors.iter().flat_map(|constructor| &constructor.payload).for_each(|ty| mentioned(ty, found));
        }
        Type::Accumulator(inner) => mentioned(inner, found),
        Type::Log(log) => log.values.iter().for_each(|ty| mentioned(ty, found)),
        Type::Prim(_) | Type::Function(_) => {}
    }
}
