//! Structural equality.

use crate::Lowerer;
use crate::ltype::{LType, UNKNOWN};
use chadwick_core::{Arm, Atom, Axis, BinaryOp, Binder, CompareOp, Op, Prim, PrimOp, Type};
use chadwick_source::{Name, Span};

impl Lowerer<'_> {
    /// Whether two values of one type are equal, as a bool.
    pub fn equal(&mut self, left: &[Atom], right: &[Atom], ty: &LType, span: Span) -> Atom {
        match ty {
            LType::Prim(prim) => {
                let args = [left, right].into_iter().filter_map(|atoms| atoms.first().cloned()).collect();
                self.prim(PrimOp::Compare(CompareOp::Equal, *prim), args, span)
            }
            LType::Hidden(inner) => self.equal(left, right, inner, span),
            LType::Record(fields) => {
                let mut parts = Vec::new();
                let mut start = 0;
                for (_, field) in fields.iter() {
                    let count = self.flatten(field).len();
                    parts.push((start..start + count, field.clone()));
                    start += count;
                }
                self.all_equal(left, right, parts, span)
            }
            LType::Array(_, element) => self.equal_arrays(left, right, element, span),
            LType::Sum(_) => self.equal_sums(left, right, ty, span),
            LType::Named(..) => self.equal_named(left, right, ty, span),
            LType::Arrow(_) => Atom::bool(false),
        }
    }

    /// Parts are compared in order, as long as they are equal.
    fn all_equal(&mut self, left: &[Atom], right: &[Atom], parts: Vec<(std::ops::Range<usize>, LType)>, span: Span) -> Atom {
        let Some(((range, ty), rest)) = parts.split_first().map(|(first, rest)| (first.clone(), rest.to_vec())) else {
            return Atom::bool(true);
        };
        let empty: &[Atom] = &[];
        let slice = |atoms: &[Atom]| atoms.get(range.clone()).unwrap_or(empty).to_vec();
        let condition = self.equal(&slice(left), &slice(right), &ty, span);
        if rest.is_empty() {
            return condition;
        }
        let then = self.block(|lowerer| vec![lowerer.all_equal(left, right, rest, span)]);
        let otherwise = self.block(|_| vec![Atom::bool(false)]);
        self.emit_one(Op::If { condition, then, otherwise }, span)
    }

    fn equal_arrays(&mut self, left: &[Atom], right: &[Atom], element: &LType, span: Span) -> Atom {
        let (Some(left_first), Some(right_first)) = (left.first(), right.first()) else { return Atom::bool(true) };
        let left_size = self.dim(left_first.clone(), 0, span);
        let right_size = self.dim(right_first.clone(), 0, span);
        let condition = self.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![left_size.clone(), right_size], span);
        let then = self.block(|lowerer| {
            let index = lowerer.index_var("i");
            let body = lowerer.block(|lowerer| {
                let left = lowerer.index_atoms(left, &[Atom::Var(index)], element, span);
                let right = lowerer.index_atoms(right, &[Atom::Var(index)], element, span);
                vec![lowerer.equal(&left, &right, element, span)]
            });
            let op = lowerer.lambda("", vec![Type::BOOL, Type::BOOL], |lowerer, args| {
                vec![lowerer.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), args, span)]
            });
            let space = vec![Axis { var: index, size: left_size.clone() }];
            let neutral = vec![Atom::bool(true)];
            lowerer.emit(Op::Reduce { space, op, neutral, body, commutative: true }, span)
        });
        let otherwise = self.block(|_| vec![Atom::bool(false)]);
        self.emit_one(Op::If { condition, then, otherwise }, span)
    }

    fn equal_sums(&mut self, left: &[Atom], right: &[Atom], ty: &LType, span: Span) -> Atom {
        let (Some(left), Some(right)) = (left.first().cloned(), right.first().cloned()) else { return Atom::bool(true) };
        let constructors = self.constructors(ty);
        let mut arms = Vec::new();
        for (tag, (_, payload)) in constructors.iter().enumerate() {
            let types: Vec<Type> = payload.iter().flat_map(|ty| self.flatten(ty)).collect();
            let bind = |lowerer: &mut Self| -> Vec<Binder> { types.iter().map(|ty| lowerer.fresh("", ty.clone())).collect() };
            let (left_binders, right_binders) = (bind(self), bind(self));
            let atoms = |binders: &[Binder]| binders.iter().map(|binder| Atom::Var(binder.var)).collect::<Vec<_>>();
            let record = LType::Record(
                payload.iter().enumerate().map(|(index, ty)| (Name::from(index.to_string()), ty.clone())).collect(),
            );
            let (left_atoms, right_atoms) = (atoms(&left_binders), atoms(&right_binders));
            let body = self.block(|lowerer| {
                let same = lowerer.block(|lowerer| vec![lowerer.equal(&left_atoms, &right_atoms, &record, span)]);
                let otherwise = (constructors.len() > 1).then(|| lowerer.block(|_| vec![Atom::bool(false)]));
                let arms = vec![Arm { tag: tag as u32, binders: right_binders, body: same }];
                vec![lowerer.emit_one(Op::Match { scrutinee: right.clone(), arms, otherwise }, span)]
            });
            arms.push(Arm { tag: tag as u32, binders: left_binders, body });
        }
        self.emit_one(Op::Match { scrutinee: left, arms, otherwise: None }, span)
    }

    /// A recursive type is compared by a function of its own.
    fn equal_named(&mut self, left: &[Atom], right: &[Atom], ty: &LType, span: Span) -> Atom {
        let key = ty.erase();
        let function = match self.equalities.get(&key) {
            Some(function) => *function,
            None => {
                let types = self.flatten(ty);
                let params: Vec<Binder> = types.iter().chain(&types).map(|ty| self.fresh("x", ty.clone())).collect();
                let atoms: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var)).collect();
                let function = self.reserve(Name::from("equal"), params, vec![Type::BOOL], span);
                self.equalities.insert(key, function);
                let outer = std::mem::take(&mut self.blocks);
                let (left, right) = atoms.split_at(types.len());
                let body = self.block(|lowerer| vec![lowerer.equal_sums(left, right, ty, span)]);
                self.blocks = outer;
                self.core.functions[function.0 as usize].body = body;
                function
            }
        };
        let args = [left, right].concat();
        self.emit(Op::Call { function, args }, span).into_iter().next().unwrap_or(UNKNOWN)
    }
}
