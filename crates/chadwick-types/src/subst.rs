//! Substitution of type parameters and size names.

use crate::ty::{Arrow, OpaqueSize, ParamId, Return, Size, Type, TypeArg, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

#[derive(Default)]
pub struct Subst {
    pub types: FxHashMap<ParamId, Type>,
    pub sizes: FxHashMap<VarId, Size>,
}

impl Subst {
    pub fn size(var: VarId, size: Size) -> Subst {
        let mut subst = Subst::default();
        subst.sizes.insert(var, size);
        subst
    }

    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.sizes.is_empty()
    }

    pub fn ty(&self, ty: &Type) -> Type {
        if self.is_empty() {
            return ty.clone();
        }
        match ty {
            Type::Prim(_) | Type::Var(_) | Type::Error => ty.clone(),
            Type::Param(id, _) => self.types.get(id).unwrap_or(ty).clone(),
            Type::Record(fields) => Type::Record(fields.iter().map(|(name, ty)| (name.clone(), self.ty(ty))).collect()),
            Type::Sum(constructors) => Type::Sum(
                constructors
                    .iter()
                    .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| self.ty(ty)).collect()))
                    .collect(),
            ),
            Type::Array(size, element) => Type::array(self.apply_size(size), self.ty(element)),
            Type::Arrow(arrow) => Type::Arrow(Rc::new(Arrow {
                param: arrow.param,
                param_name: arrow.param_name.clone(),
                consumes: arrow.consumes,
                from: self.ty(&arrow.from),
                to: self.ret(&arrow.to),
            })),
            Type::Named(id, name, args) => Type::Named(*id, name.clone(), args.iter().map(|arg| self.arg(arg)).collect()),
            Type::Hidden(names, ty) => Type::Hidden(names.clone(), Rc::new(self.ty(ty))),
        }
    }

    pub fn arg(&self, arg: &TypeArg) -> TypeArg {
        match arg {
            TypeArg::Type(ty) => TypeArg::Type(self.ty(ty)),
            TypeArg::Size(size) => TypeArg::Size(self.apply_size(size)),
        }
    }

    pub fn ret(&self, ret: &Return) -> Return {
        Return { exists: ret.exists.clone(), unique: ret.unique, ty: self.ty(&ret.ty) }
    }

    pub fn apply_size(&self, size: &Size) -> Size {
        match size {
            Size::Const(_) | Size::Var(_) | Size::Unknown => size.clone(),
            Size::Name(id, _) => self.sizes.get(id).unwrap_or(size).clone(),
            Size::Add(left, right) => Size::sum(self.apply_size(left), self.apply_size(right)),
            Size::Sub(left, right) => Size::difference(self.apply_size(left), self.apply_size(right)),
            Size::Mul(left, right) => Size::product(self.apply_size(left), self.apply_size(right)),
            Size::Opaque(opaque) => {
                let args = opaque.args.iter().map(|(id, size)| (*id, self.apply_size(size))).collect();
                Size::Opaque(Rc::new(OpaqueSize { exp: opaque.exp.clone(), args, text: opaque.text.clone() }))
            }
        }
    }
}
