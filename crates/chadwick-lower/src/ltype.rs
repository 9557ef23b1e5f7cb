//! Types during lowering: no parameters, no variables, every size an atom of the block being built.
//!
//! A value of such a type is a flat list of Core atoms: records are flattened, an array of records is one array per leaf.

use crate::Lowerer;
use chadwick_core::{Atom, Const, Constructor, Dim, FunctionType, Prim, Type, TypeDefinition, TypeId};
use chadwick_source::{Name, Span};
use chadwick_types::MOST_NODES;
use chadwick_types::tree::{NamedBody, NamedParam};
use chadwick_types::ty::{self, NamedId, ParamId, TypeArg};
use rustc_hash::FxHashMap;
use std::rc::Rc;

#[derive(Clone, Debug, PartialEq)]
pub enum LType {
    Prim(Prim),
    Record(Rc<[(Name, LType)]>),
    Sum(Rc<[(Name, Vec<LType>)]>),
    Array(Atom, Rc<LType>),
    Arrow(Rc<(LType, LType)>),
    Named(NamedId, Rc<[LArg]>),
    /// Its sizes differ from value to value; inside an array its arrays are boxed.
    Hidden(Rc<LType>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum LArg {
    Type(LType),
    Size,
}

/// Stands for a size that only the value knows.
pub const UNKNOWN: Atom = Atom::Const(Const::I64(-1));

/// What the type parameters of the function being lowered stand for.
pub type TypeParams = Rc<FxHashMap<ParamId, LType>>;

/// A type without its sizes: what makes two instances of a function the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Erased {
    Prim(Prim),
    Record(Vec<(Name, Erased)>),
    Sum(Vec<(Name, Vec<Erased>)>),
    Array(Box<Erased>),
    Arrow(Box<Erased>, Box<Erased>),
    Named(NamedId, Vec<Option<Erased>>),
    Hidden(Box<Erased>),
}

impl LType {
    pub fn erase(&self) -> Erased {
        match self {
            LType::Prim(prim) => Erased::Prim(*prim),
            LType::Record(fields) => Erased::Record(fields.iter().map(|(name, ty)| (name.clone(), ty.erase())).collect()),
            LType::Sum(constructors) => Erased::Sum(
                constructors.iter().map(|(name, payload)| (name.clone(), payload.iter().map(LType::erase).collect())).collect(),
            ),
            LType::Array(_, element) => Erased::Array(Box::new(element.erase())),
            LType::Arrow(arrow) => Erased::Arrow(Box::new(arrow.0.erase()), Box::new(arrow.1.erase())),
            LType::Named(id, args) => Erased::Named(
                *id,
                args.iter()
                    .map(|arg| match arg {
                        LArg::Type(ty) => Some(ty.erase()),
                        LArg::Size => None,
                    })
                    .collect(),
            ),
            LType::Hidden(ty) => Erased::Hidden(Box::new(ty.erase())),
        }
    }

    /// The type with the size atoms replaced, in order, by what `next` gives. Sizes inside functions stay unknown.
    pub fn with_sizes(&self, next: &mut dyn FnMut(&Atom) -> Atom) -> LType {
        match self {
            LType::Prim(_) | LType::Arrow(_) | LType::Named(..) | LType::Hidden(_) => self.clone(),
            LType::Record(fields) => LType::Record(fields.iter().map(|(name, ty)| (name.clone(), ty.with_sizes(next))).collect()),
            LType::Sum(constructors) => LType::Sum(
                constructors
                    .iter()
                    .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| ty.with_sizes(next)).collect()))
                    .collect(),
            ),
            LType::Array(size, element) => {
                let size = next(size);
                LType::Array(size, Rc::new(element.with_sizes(next)))
            }
        }
    }

    /// All size atoms, in the order of [`LType::with_sizes`].
    pub fn sizes(&self) -> Vec<Atom> {
        let mut sizes = Vec::new();
        self.with_sizes(&mut |size| {
            sizes.push(size.clone());
            size.clone()
        });
        sizes
    }

    pub fn as_prim(&self) -> Option<Prim> {
        match self {
            LType::Prim(prim) => Some(*prim),
            _ => None,
        }
    }
}

impl Lowerer<'_> {
    /// Whether a type may be flattened. The checker bounds what definitions say; instances of polymorphic ones can be larger, because
    /// each level puts its argument into a pair. Then nothing more is lowered.
    pub fn require_bounded(&mut self, ty: &ty::Type, types: &TypeParams, span: Span) -> bool {
        let mut left = MOST_NODES;
        if self.stopped {
            return false;
        }
        if self.spend_type(ty, types, &mut left) {
            return true;
        }
        let span = self.site(span);
        let message = format!("the type here has more than {MOST_NODES} parts, with what its type parameters stand for");
        self.error(
            "E0304",
            span,
            message,
            "keep values of one type in an array, or use fewer levels of tuples, records or functions",
        );
        self.stopped = true;
        false
    }

    fn spend_type(&mut self, ty: &ty::Type, types: &TypeParams, left: &mut usize) -> bool {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        match ty {
            ty::Type::Prim(_) | ty::Type::Var(_) | ty::Type::Error => true,
            ty::Type::Param(id, _) => types.get(id).is_none_or(|ty| spend(ty, left)),
            ty::Type::Record(fields) => fields.iter().all(|(_, ty)| self.spend_type(ty, types, left)),
            ty::Type::Sum(constructors) => {
                constructors.iter().flat_map(|(_, payload)| payload).all(|ty| self.spend_type(ty, types, left))
            }
            ty::Type::Array(_, element) => self.spend_type(element, types, left),
            ty::Type::Arrow(arrow) => self.spend_type(&arrow.from, types, left) && self.spend_type(&arrow.to.ty, types, left),
            ty::Type::Hidden(_, inner) => self.spend_type(inner, types, left),
            ty::Type::Named(..) => spend(&self.shape(ty, types), left),
        }
    }

    /// The Core types of the atoms that make up a value.
    pub fn flatten(&mut self, ty: &LType) -> Vec<Type> {
        let mut types = Vec::new();
        self.flatten_into(ty, &mut types);
        types
    }

    fn flatten_into(&mut self, ty: &LType, types: &mut Vec<Type>) {
        match ty {
            LType::Prim(prim) => types.push(Type::Prim(*prim)),
            LType::Record(fields) => fields.iter().for_each(|(_, ty)| self.flatten_into(ty, types)),
            LType::Sum(constructors) => {
                let constructors = constructors
                    .iter()
                    .map(|(name, payload)| Constructor {
                        name: name.clone(),
                        payload: payload.iter().flat_map(|ty| self.flatten(ty)).collect(),
                    })
                    .collect();
                types.push(Type::Sum(constructors));
            }
            LType::Array(_, element) => {
                types.extend(self.element_types(element).into_iter().map(|ty| ty.array([Dim::Any])));
            }
            LType::Arrow(arrow) => {
                let (params, results) = (self.flatten(&arrow.0), self.flatten(&arrow.1));
                types.push(Type::Function(Rc::new(FunctionType { params, results })));
            }
            LType::Named(id, args) => match self.tree.named_types[id.0 as usize].body.clone() {
                NamedBody::Recursive(constructors) => types.push(Type::Named(self.named_type(*id, args, &constructors))),
                NamedBody::Abstract(body) => {
                    let params = self.named_params(*id, args);
                    let body = self.shape(&body, &params);
                    self.flatten_into(&body, types);
                }
                NamedBody::Opaque => {}
            },
            LType::Hidden(inner) => self.flatten_into(inner, types),
        }
    }

    /// The Core types of one element inside an array. An element without values is kept as a bool, so that its array has a length;
    /// arrays of hidden size are boxed.
    pub fn element_types(&mut self, element: &LType) -> Vec<Type> {
        let mut types = Vec::new();
        self.element_types_into(element, false, &mut types);
        if types.is_empty() {
            types.push(Type::BOOL);
        }
        types
    }

    fn element_types_into(&mut self, element: &LType, hidden: bool, types: &mut Vec<Type>) {
        match element {
            LType::Record(fields) => fields.iter().for_each(|(_, ty)| self.element_types_into(ty, hidden, types)),
            LType::Hidden(inner) => self.element_types_into(inner, true, types),
            other => types.extend(self.flatten(other).into_iter().map(|ty| if hidden { boxed(ty) } else { ty })),
        }
    }

    /// Which of a value's atoms are boxed when it is an array element.
    pub fn boxed_leaves(&mut self, element: &LType) -> Vec<bool> {
        let plain = self.flatten(element);
        let inside = self.element_types(element);
        plain.iter().zip(&inside).map(|(plain, inside)| plain != inside).collect()
    }

    fn named_params(&mut self, id: NamedId, args: &[LArg]) -> FxHashMap<ParamId, LType> {
        let params = &self.tree.named_types[id.0 as usize].params;
        let pairs = params.iter().zip(args).filter_map(|(param, arg)| match (param, arg) {
            (NamedParam::Type(param), LArg::Type(ty)) => Some((*param, ty.clone())),
            _ => None,
        });
        pairs.collect()
    }

    /// The Core definition of a recursive type at its arguments.
    fn named_type(&mut self, id: NamedId, args: &[LArg], constructors: &[(Name, Vec<ty::Type>)]) -> TypeId {
        let key = LType::Named(id, args.into()).erase();
        if let Some(known) = self.named_instances.get(&key) {
            return *known;
        }
        let name = self.tree.named_types[id.0 as usize].name.clone();
        let index = TypeId(self.core.types.len() as u32);
        self.core.types.push(TypeDefinition { name, constructors: Vec::new() });
        self.named_instances.insert(key, index);
        let payloads = self.constructor_types(id, args, constructors);
        let constructors = payloads
            .into_iter()
            .map(|(name, payload)| Constructor { name, payload: payload.iter().flat_map(|ty| self.flatten(ty)).collect() })
            .collect();
        self.core.types[index.0 as usize].constructors = constructors;
        index
    }

    fn constructor_types(
        &mut self,
        id: NamedId,
        args: &[LArg],
        constructors: &[(Name, Vec<ty::Type>)],
    ) -> Vec<(Name, Vec<LType>)> {
        let params = self.named_params(id, args);
        constructors
            .iter()
            .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| self.shape(ty, &params)).collect()))
            .collect()
    }

    /// The constructors of a sum, by structure or by name, with their payload types (sizes unknown where the type is recursive).
    pub fn constructors(&mut self, ty: &LType) -> Vec<(Name, Vec<LType>)> {
        match ty {
            LType::Sum(constructors) => constructors.to_vec(),
            LType::Hidden(inner) => self.constructors(inner),
            LType::Named(id, args) => match self.tree.named_types[id.0 as usize].body.clone() {
                NamedBody::Recursive(constructors) => self.constructor_types(*id, args, &constructors),
                NamedBody::Abstract(body) => {
                    let params = self.named_params(*id, args);
                    let body = self.shape(&body, &params);
                    self.constructors(&body)
                }
                NamedBody::Opaque => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The type with all sizes unknown.
    pub fn shape(&mut self, ty: &ty::Type, params: &FxHashMap<ParamId, LType>) -> LType {
        match ty {
            ty::Type::Prim(prim) => LType::Prim(*prim),
            ty::Type::Param(id, _) => params.get(id).cloned().unwrap_or_else(unit),
            ty::Type::Var(_) | ty::Type::Error => unit(),
            ty::Type::Record(fields) => {
                LType::Record(fields.iter().map(|(name, ty)| (name.clone(), self.shape(ty, params))).collect())
            }
            ty::Type::Sum(constructors) => LType::Sum(
                constructors
                    .iter()
                    .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| self.shape(ty, params)).collect()))
                    .collect(),
            ),
            ty::Type::Array(_, element) => LType::Array(UNKNOWN, Rc::new(self.shape(element, params))),
            ty::Type::Arrow(arrow) => LType::Arrow(Rc::new((self.shape(&arrow.from, params), self.shape(&arrow.to.ty, params)))),
            ty::Type::Named(id, _, args) => {
                if let NamedBody::Abstract(body) = self.tree.named_types[id.0 as usize].body.clone() {
                    let args = self.shape_args(args, params);
                    let inner = self.named_params(*id, &args);
                    return self.shape(&body, &inner);
                }
                LType::Named(*id, self.shape_args(args, params).into())
            }
            ty::Type::Hidden(_, inner) => LType::Hidden(Rc::new(self.shape(inner, params))),
        }
    }

    fn shape_args(&mut self, args: &[TypeArg], params: &FxHashMap<ParamId, LType>) -> Vec<LArg> {
        args.iter()
            .map(|arg| match arg {
                TypeArg::Type(ty) => LArg::Type(self.shape(ty, params)),
                TypeArg::Size(_) => LArg::Size,
            })
            .collect()
    }
}

/// Takes the nodes of a type from what is left; says whether there was enough.
fn spend(ty: &LType, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    match ty {
        LType::Prim(_) => true,
        LType::Record(fields) => fields.iter().all(|(_, ty)| spend(ty, left)),
        LType::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).all(|ty| spend(ty, left)),
        LType::Array(_, inner) | LType::Hidden(inner) => spend(inner, left),
        LType::Arrow(arrow) => spend(&arrow.0, left) && spend(&arrow.1, left),
        LType::Named(_, args) => args.iter().all(|arg| match arg {
            LArg::Type(ty) => spend(ty, left),
            LArg::Size => true,
        }),
    }
}

pub fn unit() -> LType {
    LType::Record(Rc::from([]))
}

/// An array in a box, so that it can be the element of an array whatever its size.
pub fn boxed(ty: Type) -> Type {
    match ty {
        Type::Array(_) => Type::Sum(Rc::from([Constructor { name: Name::from("box"), payload: vec![ty] }])),
        other => other,
    }
}
