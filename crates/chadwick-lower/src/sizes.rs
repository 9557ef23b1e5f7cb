//! Sizes as atoms: computing them, reading them from values, checking them.

use crate::Lowerer;
use crate::ltype::{LType, UNKNOWN};
use crate::value::{Binding, Env, Value};
use chadwick_core::{Atom, BinaryOp, CompareOp, Const, MessagePart, Op, Prim, PrimOp};
use chadwick_source::{Name, Span};
use chadwick_types::tree::CheckSet;
use chadwick_types::ty::{Size, Type, TypeArg, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

impl Lowerer<'_> {
    /// The size as an atom of the current block, or [`UNKNOWN`] if something in it is out of sight.
    pub fn size(&mut self, size: &Size, env: &Env, span: Span) -> Atom {
        match size {
            Size::Const(value) => Atom::i64(*value),
            Size::Unknown | Size::Var(_) => UNKNOWN,
            Size::Name(id, _) => self.size_name(*id, env, span),
            Size::Add(left, right) => self.size_arithmetic(BinaryOp::Add, left, right, env, span),
            Size::Sub(left, right) => self.size_arithmetic(BinaryOp::Sub, left, right, env, span),
            Size::Mul(left, right) => self.size_arithmetic(BinaryOp::Mul, left, right, env, span),
            Size::Opaque(opaque) => {
                let mut inner = env.clone();
                for (id, size) in &opaque.args {
                    // A variable that stands for another may hold any value, not only a size.
                    let value = match size {
                        Size::Name(other, _) => match env.vars.get(other) {
                            Some(Binding::Value(value)) => value.clone(),
                            _ if other == id && self.definitions.contains_key(other) => continue,
                            _ => match self.definitions.get(other).cloned() {
                                Some(definition) => self.call_definition(&definition, Vec::new(), Vec::new(), Vec::new(), span),
                                None => return UNKNOWN,
                            },
                        },
                        size => Value::Atoms(vec![self.size(size, env, span)]),
                    };
                    inner.bind(*id, value);
                }
                match self.exp(&opaque.exp, &mut inner) {
                    Value::Atoms(atoms) => atoms.into_iter().next().unwrap_or(UNKNOWN),
                    Value::Function(_) => UNKNOWN,
                }
            }
        }
    }

    fn size_name(&mut self, id: VarId, env: &Env, span: Span) -> Atom {
        if let Some(Binding::Value(Value::Atoms(atoms))) = env.vars.get(&id) {
            return atoms.first().cloned().unwrap_or(UNKNOWN);
        }
        match self.definitions.get(&id).cloned() {
            Some(definition) => {
                let value = self.call_definition(&definition, Vec::new(), Vec::new(), Vec::new(), span);
                match value {
                    Value::Atoms(atoms) => atoms.into_iter().next().unwrap_or(UNKNOWN),
                    Value::Function(_) => UNKNOWN,
                }
            }
            None => UNKNOWN,
        }
    }

    fn size_arithmetic(&mut self, op: BinaryOp, left: &Rc<Size>, right: &Rc<Size>, env: &Env, span: Span) -> Atom {
        let (left, right) = (self.size(left, env, span), self.size(right, env, span));
        if left == UNKNOWN || right == UNKNOWN {
            return UNKNOWN;
        }
        self.i64_op(op, left, right, span)
    }

    /// Arithmetic on sizes and indices; constants are folded.
    pub fn i64_op(&mut self, op: BinaryOp, left: Atom, right: Atom, span: Span) -> Atom {
        if let (Atom::Const(Const::I64(a)), Atom::Const(Const::I64(b))) = (&left, &right) {
            let folded = match op {
                BinaryOp::Add => Some(a.wrapping_add(*b)),
                BinaryOp::Sub => Some(a.wrapping_sub(*b)),
                BinaryOp::Mul => Some(a.wrapping_mul(*b)),
                _ => None,
            };
            if let Some(value) = folded {
                return Atom::i64(value);
            }
        }
        match (op, &left, &right) {
            (BinaryOp::Add | BinaryOp::Sub, _, Atom::Const(Const::I64(0))) => left,
            (BinaryOp::Add, Atom::Const(Const::I64(0)), _) => right,
            (BinaryOp::Mul, _, Atom::Const(Const::I64(1))) => left,
            (BinaryOp::Mul, Atom::Const(Const::I64(1)), _) => right,
            _ => self.prim(PrimOp::Binary(op, Prim::I64), vec![left, right], span),
        }
    }

    /// The type with its sizes as atoms of the current block.
    pub fn sized(&mut self, ty: &Type, env: &Env, span: Span) -> LType {
        match ty {
            Type::Param(id, _) => env.types.get(id).cloned().unwrap_or_else(crate::ltype::unit),
            Type::Record(fields) => {
                LType::Record(fields.iter().map(|(name, ty)| (name.clone(), self.sized(ty, env, span))).collect())
            }
            Type::Sum(constructors) => LType::Sum(
                constructors
                    .iter()
                    .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| self.sized(ty, env, span)).collect()))
                    .collect(),
            ),
            Type::Array(size, element) => {
                let size = self.size(size, env, span);
                LType::Array(size, Rc::new(self.sized(element, env, span)))
            }
            other => {
                let types = env.types.clone();
                self.shape(other, &types)
            }
        }
    }

    /// The type as far as it decides representation.
    pub fn shape_in(&mut self, ty: &Type, env: &Env) -> LType {
        let types = env.types.clone();
        self.shape(ty, &types)
    }

    /// Binds each name to the size that stands for it in the type of the value.
    pub fn open(&mut self, names: &[(VarId, Name)], ty: &Type, value: &Value, env: &mut Env, span: Span) {
        let Value::Atoms(atoms) = value else { return };
        for (id, _) in names {
            let size = self.witness(*id, ty, atoms, env, span).unwrap_or(UNKNOWN);
            env.bind_atom(*id, size);
        }
    }

    /// The size named `id`, read off a value in whose type it occurs plainly.
    pub fn witness(&mut self, id: VarId, ty: &Type, atoms: &[Atom], env: &Env, span: Span) -> Option<Atom> {
        let mut found = Vec::new();
        let types = env.types.clone();
        self.witnesses(ty, atoms, &types, &mut found);
        let (atom, axis) = found.into_iter().find_map(|(size, atom, axis)| match size {
            Size::Name(name, _) if name == id => Some((atom, axis)),
            _ => None,
        })?;
        Some(self.dim(atom, axis, span))
    }

    pub fn dim(&mut self, array: Atom, axis: usize, span: Span) -> Atom {
        self.emit_one(Op::Dim { array, axis }, span)
    }

    /// Every array dimension of a type with where its length can be read: an atom and an axis, for each component of an array of records.
    pub fn witnesses(
        &mut self,
        ty: &Type,
        atoms: &[Atom],
        types: &FxHashMap<chadwick_types::ty::ParamId, LType>,
        found: &mut Vec<(Size, Atom, usize)>,
    ) {
        match ty {
            Type::Record(fields) => {
                let mut rest = atoms;
                for (_, field) in fields.iter() {
                    let shape = self.shape(field, types);
                    let count = self.flatten(&shape).len().min(rest.len());
                    self.witnesses(field, &rest[..count], types, found);
                    rest = &rest[count..];
                }
            }
            Type::Array(..) => {
                let mut axis = 0;
                let mut current = ty;
                while let Type::Array(size, element) = current {
                    found.extend(atoms.iter().map(|atom| (size.clone(), atom.clone(), axis)));
                    axis += 1;
                    current = element;
                }
                // Arrays inside the element's records: their first axes come after ours.
                self.element_witnesses(current, atoms, axis, types, found);
            }
            Type::Named(id, _, args) => {
                if let chadwick_types::tree::NamedBody::Abstract(body) = self.tree.named_types[id.0 as usize].body.clone() {
                    let mut subst = chadwick_types::Subst::default();
                    for (param, arg) in self.tree.named_types[id.0 as usize].params.iter().zip(args.iter()) {
                        match (param, arg) {
                            (chadwick_types::tree::NamedParam::Type(param), TypeArg::Type(ty)) => {
                                subst.types.insert(*param, ty.clone());
                            }
                            (chadwick_types::tree::NamedParam::Size(param), TypeArg::Size(size)) => {
                                subst.sizes.insert(*param, size.clone());
                            }
                            _ => {}
                        }
                    }
                    self.witnesses(&subst.ty(&body), atoms, types, found);
                }
            }
            Type::Hidden(_, inner) => self.witnesses(inner, atoms, types, found),
            _ => {}
        }
    }

    fn element_witnesses(
        &mut self,
        element: &Type,
        atoms: &[Atom],
        outer: usize,
        types: &FxHashMap<chadwick_types::ty::ParamId, LType>,
        found: &mut Vec<(Size, Atom, usize)>,
    ) {
        let Type::Record(fields) = element else { return };
        let mut rest = atoms;
        for (_, field) in fields.iter() {
            let shape = self.shape(field, types);
            let count = self.flatten(&shape).len().min(rest.len());
            let mut inner = Vec::new();
            self.witnesses(field, &rest[..count], types, &mut inner);
            found.extend(inner.into_iter().map(|(size, atom, axis)| (size, atom, axis + outer)));
            rest = &rest[count..];
        }
    }

    /// Emits the comparisons that the checker left to the run.
    pub fn checks(&mut self, set: &CheckSet, env: &Env) {
        for check in &set.checks {
            if let Some((param, name)) = &check.param
                && !env.vars.contains_key(param)
                && !self.definitions.contains_key(param)
            {
                let (expected, found) = (show(&check.expected), show(&check.actual));
                let message = format!(
                    "expected {expected}, found {found}: this depends on the {name} of each call, so nothing can check it here"
                );
                self.error("E0202", check.span, message, "promise the size inside the function: `e :> [n]t`");
                continue;
            }
            let expected = self.size(&check.expected, env, check.span);
            let actual = self.size(&check.actual, env, check.span);
            let (mut wanted, mut found) = (show(&check.expected), show(&check.actual));
            // Two sizes without names of their own: the values say more.
            if wanted == found {
                (wanted, found) = (String::from("size"), String::from("size"));
            }
            let text = format!("size mismatch: expected {wanted}");
            self.require_equal(expected, actual, &text, &format!("found {found}"), check.span);
        }
    }

    /// Asserts that two sizes agree, unless one is unknown or both are the same atom.
    pub fn require_equal(&mut self, expected: Atom, actual: Atom, expected_text: &str, actual_text: &str, span: Span) {
        if expected == UNKNOWN || actual == UNKNOWN || expected == actual {
            return;
        }
        let condition = self.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![expected.clone(), actual.clone()], span);
        let message = vec![
            MessagePart::Text(format!("{expected_text} = ")),
            MessagePart::Value(expected),
            MessagePart::Text(format!(", {actual_text} = ")),
            MessagePart::Value(actual),
        ];
        self.emit(Op::Assert { condition, message }, span);
    }
}

fn show(size: &Size) -> String {
    match size {
        Size::Const(value) => format!("size {value}"),
        Size::Name(_, name) if name.is_empty() => String::from("size"),
        other => other.to_string(),
    }
}
