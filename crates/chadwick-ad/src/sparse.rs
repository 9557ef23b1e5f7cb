//! Cotangents of recursive types.
//!
//! A function that looks at the head of a list must not pay for the rest of it. So the cotangent of a recursive type has one constructor more,
//! which stands for zero whatever the value is: a zero costs nothing, and adding to it gives the other operand. Two cotangents that are both
//! there are added node by node, and every node that is added disappears in the sum, so additions cost no more than the nodes cost that were
//! made.
//!
//! Only reverse mode sees these types: seeds, gradients, custom rules and what is accumulated in arrays have the form of the value.

use crate::context::Context;
use chadwick_core::typing;
use chadwick_core::{
    Arm, ArrayType, Atom, Axis, Binder, Block, Constructor, Element, FunctionId, Op, Type, TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The types of cotangents and the functions for them, made when they are first asked for.
#[derive(Default)]
pub struct Sparse {
    /// The cotangent's type, for recursive types and those that hold one.
    types: FxHashMap<TypeId, TypeId>,
    /// The constructor that stands for zero, by the cotangent's type.
    zero_tags: FxHashMap<TypeId, u32>,
    zeros: FxHashMap<Type, FunctionId>,
    from_values: FxHashMap<Type, FunctionId>,
    to_values: FxHashMap<Type, FunctionId>,
}

impl Context<'_> {
    /// The type of a value's cotangents.
    pub fn cotangent_type(&mut self, ty: &Type) -> Type {
        if !self.is_sparse(ty) {
            return ty.clone();
        }
        match ty {
            Type::Array(ArrayType { element: Element::Boxed(element), dims }) => {
                let element = Element::Boxed(Rc::new(self.cotangent_type(element)));
                Type::Array(ArrayType { element, dims: dims.clone() })
            }
            Type::Sum(constructors) => Type::Sum(self.cotangent_constructors(constructors).into()),
            Type::Named(id) => {
                if let Some(known) = self.sparse.types.get(id) {
                    return Type::Named(*known);
                }
                let definition = self.program().types[id.0 as usize].clone();
                let types = &mut self.b.program_mut().types;
                let cotangent = TypeId(types.len() as u32);
                let name = Name::from(format!("{}_ct", definition.name));
                types.push(TypeDefinition { name, constructors: Vec::new() });
                self.sparse.types.insert(*id, cotangent);
                self.sparse.zero_tags.insert(cotangent, definition.constructors.len() as u32);
                let mut constructors = self.cotangent_constructors(&definition.constructors);
                constructors.push(Constructor { name: Name::from("zero"), payload: Vec::new() });
                self.b.program_mut().types[cotangent.0 as usize].constructors = constructors;
                Type::Named(cotangent)
            }
            other => other.clone(),
        }
    }

    fn cotangent_constructors(&mut self, constructors: &[Constructor]) -> Vec<Constructor> {
        let cotangent = |constructor: &Constructor| Constructor {
            name: constructor.name.clone(),
            payload: constructor.payload.iter().map(|ty| self.cotangent_type(ty)).collect(),
        };
        constructors.iter().map(cotangent).collect()
    }

    /// Whether cotangents have another type than the value: it is recursive or holds something that is.
    pub fn is_sparse(&self, ty: &Type) -> bool {
        self.reaches_itself(ty, &mut Vec::new(), &mut Vec::new())
    }

    fn reaches_itself(&self, ty: &Type, open: &mut Vec<TypeId>, ended: &mut Vec<TypeId>) -> bool {
        match ty {
            Type::Prim(_) | Type::Function(_) | Type::Accumulator(_) | Type::Log(_) => false,
            Type::Array(array) => matches!(&array.element, Element::Boxed(element) if self.reaches_itself(element, open, ended)),
            Type::Sum(constructors) => {
                constructors.iter().flat_map(|it| &it.payload).any(|ty| self.reaches_itself(ty, open, ended))
            }
            Type::Named(id) => {
                if open.contains(id) {
                    return true;
                }
                if ended.contains(id) {
                    return false;
                }
                let Some(definition) = self.program().types.get(id.0 as usize) else { return false };
                open.push(*id);
                let mut fields = definition.constructors.iter().flat_map(|it| &it.payload);
                let found = fields.any(|ty| self.reaches_itself(ty, open, ended));
                open.pop();
                ended.push(*id);
                found
            }
        }
    }

    /// The constructor of a cotangent's type that stands for zero.
    pub fn zero_tag(&self, ty: &Type) -> Option<u32> {
        if let Type::Named(id) = ty { self.sparse.zero_tags.get(id).copied() } else { None }
    }

    /// The zero cotangent of a value, as small as it can be.
    pub fn zero_cotangent(&mut self, value: &Atom, span: Span) -> Atom {
        let ty = self.type_of(value);
        if !self.is_sparse(&ty) {
            return self.zero_like(value, span);
        }
        match &ty {
            Type::Array(array) => {
                let element = array.element.as_type().unwrap_or(Type::BOOL);
                let cotangent = self.cotangent_type(&element);
                self.over_elements(value, span, |context, indices| match context.zero_tag(&cotangent) {
                    Some(tag) => first(context.construct(&cotangent, tag, Vec::new(), span)),
                    None => {
                        let element = context.emit_one(Op::Index { array: value.clone(), indices }, span);
                        context.zero_cotangent(&element, span)
                    }
                })
            }
            _ => {
                let cotangent = self.cotangent_type(&ty);
                if let Some(tag) = self.zero_tag(&cotangent) {
                    return first(self.construct(&cotangent, tag, Vec::new(), span));
                }
                let function = match self.sparse.zeros.get(&ty) {
                    Some(known) => *known,
                    None => self.structural("zero_ct", &ty, &cotangent, span, |c| &mut c.sparse.zeros, Context::zero_cotangent),
                };
                self.emit_one(Op::Call { function, args: vec![value.clone()] }, span)
            }
        }
    }

    /// A cotangent that has the form of its value, as reverse mode has it.
    pub fn cotangent_from_value(&mut self, value: &Atom, span: Span) -> Atom {
        let ty = self.type_of(value);
        if !self.is_sparse(&ty) {
            return value.clone();
        }
        if let Type::Array(_) = ty {
            return self.over_elements(value, span, |context, indices| {
                let element = context.emit_one(Op::Index { array: value.clone(), indices }, span);
                context.cotangent_from_value(&element, span)
            });
        }
        let cotangent = self.cotangent_type(&ty);
        let function = match self.sparse.from_values.get(&ty) {
            Some(known) => *known,
            None => {
                let cache: Cache = |context| &mut context.sparse.from_values;
                self.structural("sparse", &ty, &cotangent, span, cache, Context::cotangent_from_value)
            }
        };
        self.emit_one(Op::Call { function, args: vec![value.clone()] }, span)
    }

    /// A cotangent in the form of its value, zeros written out.
    pub fn cotangent_to_value(&mut self, cotangent: &Atom, value: &Atom, span: Span) -> Atom {
        let ty = self.type_of(value);
        if !self.is_sparse(&ty) {
            return cotangent.clone();
        }
        if let Type::Array(_) = ty {
            return self.over_elements(value, span, |context, indices| {
                let [cotangent, value] = [cotangent, value]
                    .map(|array| context.emit_one(Op::Index { array: array.clone(), indices: indices.clone() }, span));
                context.cotangent_to_value(&cotangent, &value, span)
            });
        }
        let function = self.densification(&ty, span);
        self.emit_one(Op::Call { function, args: vec![cotangent.clone(), value.clone()] }, span)
    }

    /// An array with one element for each of another's.
    fn over_elements(&mut self, array: &Atom, span: Span, element: impl FnOnce(&mut Self, Vec<Atom>) -> Atom) -> Atom {
        let rank = self.type_of(array).rank();
        let space: Vec<Axis> = (0..rank)
            .map(|axis| {
                let size = self.emit_one(Op::Dim { array: array.clone(), axis }, span);
                Axis { var: self.fresh("i", Type::I64).var, size }
            })
            .collect();
        let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        let body = self.block(|context| vec![element(context, indices)]);
        self.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
    }

    /// A function from values of a sum type to cotangents with the same constructor.
    fn structural(
        &mut self,
        name: &str,
        ty: &Type,
        cotangent: &Type,
        span: Span,
        cache: Cache,
        field: fn(&mut Self, &Atom, Span) -> Atom,
    ) -> FunctionId {
        let param = self.fresh("a", ty.clone());
        let value = Atom::Var(param.var);
        let function = self.reserve(Name::from(name), vec![param], vec![cotangent.clone()], span);
        cache(self).insert(ty.clone(), function);
        let constructors = typing::constructors(&self.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let body = self.block(|context| {
            let mut arms = Vec::new();
            for (tag, constructor) in constructors.iter().enumerate() {
                let binders: Vec<Binder> = constructor.payload.iter().map(|ty| context.fresh("", ty.clone())).collect();
                let body = context.block(|context| {
                    let args = binders.iter().map(|binder| field(context, &Atom::Var(binder.var), span)).collect();
                    context.construct(cotangent, tag as u32, args, span)
                });
                arms.push(Arm { tag: tag as u32, binders, body });
            }
            context.b.push(Op::Match { scrutinee: value, arms, otherwise: None }, vec![cotangent.clone()], span)
        });
        self.b.program_mut().functions[function.0 as usize].body = body;
        function
    }

    /// A function from a cotangent and its value to the cotangent in the form of the value.
    fn densification(&mut self, ty: &Type, span: Span) -> FunctionId {
        if let Some(known) = self.sparse.to_values.get(ty) {
            return *known;
        }
        let cotangent_type = self.cotangent_type(ty);
        let params = vec![self.fresh("ct", cotangent_type.clone()), self.fresh("a", ty.clone())];
        let (cotangent, value) = (Atom::Var(params[0].var), Atom::Var(params[1].var));
        let function = self.reserve(Name::from("dense"), params, vec![ty.clone()], span);
        self.sparse.to_values.insert(ty.clone(), function);
        let plain = typing::constructors(&self.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let sparse = typing::constructors(&self.b, &cotangent_type).map(<[_]>::to_vec).unwrap_or_default();
        let may_differ = sparse.len() > 1;
        let body = self.block(|context| {
            let mut arms = Vec::new();
            for (tag, (plain, sparse)) in plain.iter().zip(&sparse).enumerate() {
                let binders: Vec<Binder> = plain.payload.iter().map(|ty| context.fresh("", ty.clone())).collect();
                let parts: Vec<Binder> = sparse.payload.iter().map(|ty| context.fresh("ct", ty.clone())).collect();
                let body = context.block(|context| {
                    let inner = context.block(|context| {
                        let pairs = parts.iter().zip(&binders);
                        let part = |(part, binder): (&Binder, &Binder)| {
                            context.cotangent_to_value(&Atom::Var(part.var), &Atom::Var(binder.var), span)
                        };
                        let args = pairs.map(part).collect();
                        context.construct(ty, tag as u32, args, span)
                    });
                    let otherwise: Option<Block> =
                        may_differ.then(|| context.block(|context| vec![context.zero_like(&value, span)]));
                    let arms = vec![Arm { tag: tag as u32, binders: parts, body: inner }];
                    context.b.push(Op::Match { scrutinee: cotangent.clone(), arms, otherwise }, vec![ty.clone()], span)
                });
                arms.push(Arm { tag: tag as u32, binders, body });
            }
            context.b.push(Op::Match { scrutinee: value.clone(), arms, otherwise: None }, vec![ty.clone()], span)
        });
        self.b.program_mut().functions[function.0 as usize].body = body;
        function
    }
}

/// Where functions of one kind are remembered.
type Cache = for<'a> fn(&'a mut Context<'_>) -> &'a mut FxHashMap<Type, FunctionId>;

fn first(atoms: Vec<Atom>) -> Atom {
    atoms.into_iter().next().unwrap_or(Atom::i64(0))
}
