//! Unification variables, their constraints, and unification of types. Sizes have a file of their own.

use crate::bound::MOST_NODES;
use crate::checker::Checker;
use crate::subst::Subst;
use crate::tree::{NamedBody, NamedParam};
use crate::ty::{Arrow, NamedId, Prim, Return, Size, SizeVar, Type, TypeArg, TypeVar};
use chadwick_source::{Name, Span};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A set of scalar types, as bits in the order of [`Prim::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimSet(u16);

impl PrimSet {
    pub const NUMBERS: PrimSet = PrimSet(0b1111_1111_1110);
    pub const INTEGERS: PrimSet = PrimSet(0b0001_1111_1110);
    pub const SIGNED: PrimSet = PrimSet(0b0000_0001_1110);
    pub const FLOATS: PrimSet = PrimSet(0b1110_0000_0000);
    pub const BOOL_OR_INTEGER: PrimSet = PrimSet(0b0001_1111_1111);
    pub const REALS32_64: PrimSet = PrimSet(0b1100_0000_0000);

    pub fn contains(self, prim: Prim) -> bool {
        self.0 & (1 << prim as u16) != 0
    }

    pub fn intersect(self, other: PrimSet) -> PrimSet {
        PrimSet(self.0 & other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn describe(self) -> &'static str {
        match self {
            PrimSet::NUMBERS => "a number type",
            PrimSet::INTEGERS => "an integer type",
            PrimSet::SIGNED => "a signed integer type",
            PrimSet::FLOATS => "a float type",
            PrimSet::BOOL_OR_INTEGER => "bool or an integer type",
            PrimSet::REALS32_64 => "f32 or f64",
            _ => "one of the overloaded types",
        }
    }

    /// What an unresolved variable becomes.
    fn default(self, float_literal: bool) -> Prim {
        let preferred = if float_literal { [Prim::F64, Prim::I32] } else { [Prim::I32, Prim::F64] };
        let all = preferred.into_iter().chain(Prim::ALL);
        all.into_iter().find(|prim| self.contains(*prim)).unwrap_or(Prim::I32)
    }
}

/// What is known of a type variable besides its name.
#[derive(Clone, Debug, Default)]
pub struct Constraint {
    pub prims: Option<PrimSet>,
    pub float_literal: bool,
    pub fields: BTreeMap<Name, Type>,
    pub constructors: BTreeMap<Name, Vec<Type>>,
    pub equality: bool,
}

impl Constraint {
    pub fn prims(set: PrimSet) -> Constraint {
        Constraint { prims: Some(set), ..Constraint::default() }
    }

    /// One word for what the variable must be, if that is known.
    pub fn word(&self) -> Option<&'static str> {
        match self.prims? {
            _ if self.float_literal => Some("float"),
            PrimSet::FLOATS | PrimSet::REALS32_64 => Some("float"),
            PrimSet::INTEGERS | PrimSet::SIGNED => Some("integer"),
            _ => Some("number"),
        }
    }

    /// Whether generalisation must leave the variable alone.
    pub fn is_pending(&self) -> bool {
        self.prims.is_some() || self.equality || !self.fields.is_empty() || !self.constructors.is_empty()
    }
}

#[derive(Clone, Debug)]
pub enum TypeState {
    Unbound { level: u32, constraint: Box<Constraint>, span: Span },
    Bound(Type),
}

#[derive(Clone, Debug)]
pub enum SizeState {
    Unbound { level: u32 },
    Bound(Size),
}

/// Why two types do not fit.
#[derive(Clone, Debug)]
pub enum Mismatch {
    Types(Type, Type),
    Sizes(Size, Size),
    Infinite(Type),
    /// The type lacks something that a constraint asks for.
    Constraint(String),
    Consumption,
    /// The types are too large to be compared.
    TooLarge,
    /// A local type parameter would be the type of something outside its function.
    Scope(Name),
    /// A function whose result, or parameter, has a size that only values know, and what was expected of it.
    HiddenSize(Type, Type),
}

/// How many pairs of parts a comparison of two types looks at. Types of the largest size need fewer, unless variables in them grow.
const MOST_COMPARISONS: usize = 4 * MOST_NODES;

type Unified = Result<(), Mismatch>;

/// A constructor and the types of its arguments.
type Variant = (Name, Vec<Type>);

/// What to do when two rigid sizes cannot be decided.
#[derive(Clone, Copy, PartialEq)]
pub enum OnSizes {
    /// Add a run-time check to this set.
    Check(u32),
    /// Nothing: the caller compares sizes itself.
    Ignore,
}

impl Checker<'_> {
    pub fn fresh_type(&mut self, span: Span) -> Type {
        self.constrained_type(Constraint::default(), span)
    }

    pub fn constrained_type(&mut self, constraint: Constraint, span: Span) -> Type {
        self.type_vars.push(TypeState::Unbound { level: self.level, constraint: Box::new(constraint), span });
        Type::Var(TypeVar(self.type_vars.len() as u32 - 1))
    }

    pub fn fresh_size(&mut self) -> Size {
        self.size_vars.push(SizeState::Unbound { level: self.level });
        Size::Var(SizeVar(self.size_vars.len() as u32 - 1))
    }

    /// The type with a solved variable at its head replaced.
    pub fn shallow(&self, ty: &Type) -> Type {
        let mut ty = ty;
        while let Type::Var(var) = ty {
            match &self.type_vars[var.0 as usize] {
                TypeState::Bound(bound) => ty = bound,
                TypeState::Unbound { .. } => break,
            }
        }
        ty.clone()
    }

    /// As [`Checker::shallow`]; afterwards the variable is solved in one step, so that many comparisons with it make no long chain.
    fn compress(&mut self, ty: &Type) -> Type {
        let end = self.shallow(ty);
        if let Type::Var(var) = ty
            && let TypeState::Bound(_) = self.type_vars[var.0 as usize]
        {
            self.type_vars[var.0 as usize] = TypeState::Bound(end.clone());
        }
        end
    }

    /// The type with all solved variables replaced.
    pub fn resolve(&self, ty: &Type) -> Type {
        if self.measure(ty) { self.resolve_all(ty) } else { Type::Error }
    }

    fn resolve_all(&self, ty: &Type) -> Type {
        match self.shallow(ty) {
            Type::Record(fields) => Type::Record(fields.iter().map(|(name, ty)| (name.clone(), self.resolve_all(ty))).collect()),
            Type::Sum(constructors) => Type::Sum(
                constructors
                    .iter()
                    .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| self.resolve_all(ty)).collect()))
                    .collect(),
            ),
            Type::Array(size, element) => Type::array(self.resolve_size(&size), self.resolve_all(&element)),
            Type::Arrow(arrow) => Type::Arrow(Rc::new(Arrow {
                param: arrow.param,
                param_name: arrow.param_name.clone(),
                consumes: arrow.consumes,
                from: self.resolve_all(&arrow.from),
                to: Return { exists: arrow.to.exists.clone(), unique: arrow.to.unique, ty: self.resolve_all(&arrow.to.ty) },
            })),
            Type::Named(id, name, args) => {
                let resolve = |arg: &TypeArg| match arg {
                    TypeArg::Type(ty) => TypeArg::Type(self.resolve_all(ty)),
                    TypeArg::Size(size) => TypeArg::Size(self.resolve_size(size)),
                };
                Type::Named(id, name, args.iter().map(resolve).collect())
            }
            Type::Hidden(names, ty) => Type::Hidden(names, Rc::new(self.resolve_all(&ty))),
            other => other,
        }
    }

    pub fn unify(&mut self, expected: &Type, actual: &Type, on_sizes: OnSizes, span: Span) -> Unified {
        let outermost = self.comparisons_left.is_none();
        match self.comparisons_left.get_or_insert(MOST_COMPARISONS) {
            0 => return Err(Mismatch::TooLarge),
            left => *left -= 1,
        }
        let unified = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.unify_inner(expected, actual, on_sizes, span));
        if outermost {
            self.comparisons_left = None;
        }
        unified
    }

    fn unify_inner(&mut self, expected: &Type, actual: &Type, on_sizes: OnSizes, span: Span) -> Unified {
        let expected = self.compress(expected);
        let actual = self.compress(actual);
        match (&expected, &actual) {
            (Type::Error, _) | (_, Type::Error) => Ok(()),
            (Type::Var(left), Type::Var(right)) if left == right => Ok(()),
            // The newer variable becomes the older one: many comparisons with one variable make no long chain.
            (Type::Var(left), Type::Var(right)) => self.bind(*left.max(right), &Type::Var(*left.min(right)), span),
            (Type::Var(var), other) | (other, Type::Var(var)) => self.bind(*var, other, span),
            (Type::Prim(left), Type::Prim(right)) if left == right => Ok(()),
            (Type::Param(left, _), Type::Param(right, _)) if left == right => Ok(()),
            (Type::Record(left), Type::Record(right)) if Rc::ptr_eq(left, right) => Ok(()),
            (Type::Record(left), Type::Record(right)) => {
                if left.len() != right.len() || left.iter().zip(right.iter()).any(|(left, right)| left.0 != right.0) {
                    return Err(Mismatch::Types(expected.clone(), actual.clone()));
                }
                left.iter().zip(right.iter()).try_for_each(|(left, right)| self.unify(&left.1, &right.1, on_sizes, span))
            }
            (Type::Sum(left), Type::Sum(right)) => {
                let same = |(left, right): (&Variant, &Variant)| left.0 == right.0 && left.1.len() == right.1.len();
                if left.len() != right.len() || !left.iter().zip(right.iter()).all(same) {
                    return Err(Mismatch::Types(expected.clone(), actual.clone()));
                }
                left.iter().zip(right.iter()).try_for_each(|(left, right)| {
                    left.1.iter().zip(&right.1).try_for_each(|(left, right)| self.unify(left, right, on_sizes, span))
                })
            }
            (Type::Array(left_size, left), Type::Array(right_size, right)) => {
                if !self.in_result_of_branch {
                    self.unify_sizes(left_size, right_size, on_sizes, span)?;
                }
                let is_hidden = |ty: &Type| matches!(ty, Type::Hidden(..));
                let is_open = |ty: &Type| matches!(ty, Type::Var(_) | Type::Error);
                let (left, right) = (self.see_through(left), self.see_through(right));
                if is_hidden(&left) != is_hidden(&right) && !is_open(&left) && !is_open(&right) {
                    return Err(Mismatch::Types(expected.clone(), actual.clone()));
                }
                self.unify(&left, &right, on_sizes, span)
            }
            (Type::Arrow(left), Type::Arrow(right)) => self.unify_arrows(left, right, on_sizes, span),
            (Type::Named(left, _, left_args), Type::Named(right, _, right_args)) if left == right => {
                left_args.iter().zip(right_args.iter()).try_for_each(|(left, right)| match (left, right) {
                    (TypeArg::Type(left), TypeArg::Type(right)) => self.unify(left, right, on_sizes, span),
                    (TypeArg::Size(left), TypeArg::Size(right)) => self.unify_sizes(left, right, on_sizes, span),
                    _ => Err(Mismatch::Types(expected.clone(), actual.clone())),
                })
            }
            // An abstract type is what it stands for while a module is matched with its own type.
            (Type::Named(id, _, args), other) | (other, Type::Named(id, _, args)) if self.is_transparent(*id) => {
                let left = self.representation(*id, args);
                self.unify(&left, other, on_sizes, span)
            }
            (Type::Hidden(left_names, left), Type::Hidden(right_names, right)) => {
                let left = self.forget_sizes(left_names, left);
                let right = self.forget_sizes(right_names, right);
                self.unify(&left, &right, on_sizes, span)
            }
            (Type::Hidden(names, inner), other) | (other, Type::Hidden(names, inner)) => {
                let inner = self.open_sizes(names, inner);
                self.unify(&inner, other, on_sizes, span)
            }
            _ => Err(Mismatch::Types(expected.clone(), actual.clone())),
        }
    }

    /// The type with sizes yet to be found for these names: what has the same name has the same size.
    pub fn open_sizes(&mut self, names: &[crate::ty::VarId], ty: &Type) -> Type {
        let sizes = names.iter().map(|name| (*name, self.fresh_size())).collect();
        Subst { sizes, ..Subst::default() }.ty(ty)
    }

    /// The type with the named sizes unknown.
    pub fn forget_sizes(&self, names: &[crate::ty::VarId], ty: &Type) -> Type {
        let sizes = names.iter().map(|name| (*name, Size::Unknown)).collect();
        Subst { sizes, ..Subst::default() }.ty(ty)
    }

    fn unify_arrows(&mut self, left: &Arrow, right: &Arrow, on_sizes: OnSizes, span: Span) -> Unified {
        if right.consumes && !left.consumes && !matches!(self.shallow(&left.from), Type::Error) {
            return Err(Mismatch::Consumption);
        }
        self.unify(&left.from, &right.from, on_sizes, span)?;
        if on_sizes != OnSizes::Ignore && !self.matching_spec {
            match &mut self.met_later {
                Some(pairs) => pairs.push((left.clone(), right.clone())),
                None => self.meet_hidden_sizes(left, right)?,
            }
        }
        // What has one name in the expected result has one size.
        let opens = !left.to.exists.is_empty();
        let mut left_to = self.open_sizes(&left.to.exists, &left.to.ty);
        // A spec that promises a size cannot be met by a result that hides its own.
        let promised = self.matching_spec && left.to.exists.is_empty() && !mentions_named(&self.resolve(&left.to.ty));
        if opens {
            self.arrow_params.extend(right.to.exists.iter().chain(&right.param));
        }
        let mut right_to = match promised || opens {
            true => right.to.ty.clone(),
            false => self.forget_sizes(&right.to.exists, &right.to.ty),
        };
        match (left.param, right.param) {
            (Some(left_param), Some(right_param)) => {
                let name = left.param_name.clone().unwrap_or_default();
                self.arrow_params.insert(left_param);
                right_to = Subst::size(right_param, Size::Name(left_param, name)).ty(&right_to);
            }
            (Some(param), None) => left_to = self.forget_sizes(&[param], &left_to),
            (None, Some(param)) if !opens => right_to = self.forget_sizes(&[param], &right_to),
            (None, _) => {}
        }
        let outer = std::mem::replace(&mut self.in_result_of_branch, self.comparing_branches);
        let unified = self.unify(&left_to, &right_to, on_sizes, span);
        self.in_result_of_branch = outer;
        unified
    }

    fn bind(&mut self, var: TypeVar, ty: &Type, span: Span) -> Unified {
        let TypeState::Unbound { level, constraint, .. } = self.type_vars[var.0 as usize].clone() else {
            return Ok(());
        };
        if !self.is_bounded(ty) {
            return Err(Mismatch::TooLarge);
        }
        if self.occurs(var, ty) {
            return Err(Mismatch::Infinite(self.resolve(ty)));
        }
        if let Some(name) = self.escaping_param(ty, level) {
            return Err(Mismatch::Scope(name));
        }
        self.lower_levels(ty, level);
        self.type_vars[var.0 as usize] = TypeState::Bound(ty.clone());
        self.constrain(ty, *constraint, span)
    }

    /// Demands that the type meet the constraint.
    pub fn constrain(&mut self, ty: &Type, constraint: Constraint, span: Span) -> Unified {
        let set = self.current_checks();
        match self.shallow(ty) {
            Type::Var(var) => {
                let TypeState::Unbound { constraint: ours, .. } = &mut self.type_vars[var.0 as usize] else { return Ok(()) };
                if let Some(problem) = contradiction(ours, &constraint) {
                    return Err(Mismatch::Constraint(problem));
                }
                if let Some(prims) = constraint.prims {
                    let both = ours.prims.map_or(prims, |ours| ours.intersect(prims));
                    if both.is_empty() {
                        return Err(Mismatch::Constraint(format!(
                            "no type is both {} and {}",
                            describe(ours.prims),
                            prims.describe()
                        )));
                    }
                    ours.prims = Some(both);
                }
                ours.float_literal |= constraint.float_literal;
                ours.equality |= constraint.equality;
                let mut pairs = Vec::new();
                for (name, ty) in constraint.fields {
                    match ours.fields.get(&name) {
                        Some(known) => pairs.push((known.clone(), ty)),
                        None => {
                            ours.fields.insert(name, ty);
                        }
                    }
                }
                for (name, payload) in constraint.constructors {
                    match ours.constructors.get(&name) {
                        Some(known) if known.len() != payload.len() => {
                            return Err(Mismatch::Constraint(format!("constructor #{name} takes {}", arguments(known.len()))));
                        }
                        Some(known) => pairs.extend(known.iter().cloned().zip(payload)),
                        None => {
                            ours.constructors.insert(name, payload);
                        }
                    }
                }
                pairs.iter().try_for_each(|(left, right)| self.unify(left, right, set, span))
            }
            Type::Error => Ok(()),
            Type::Hidden(names, inner) => self.constrain(&self.forget_sizes(&names, &inner), constraint, span),
            ty => {
                if let Some(prims) = constraint.prims {
                    let fits = matches!(&ty, Type::Prim(prim) if prims.contains(*prim));
                    if !fits {
                        return Err(Mismatch::Constraint(format!("{} is not {}", self.show(&ty), prims.describe())));
                    }
                }
                for (name, field) in constraint.fields {
                    let Some(known) = ty.field(&name).cloned() else {
                        return Err(Mismatch::Constraint(format!("{} has no field {name}", self.show(&ty))));
                    };
                    self.unify(&known, &field, set, span)?;
                }
                for (name, payload) in constraint.constructors {
                    let Some(known) = self.payload_of(&ty, &name) else {
                        return Err(Mismatch::Constraint(format!("{} has no constructor #{name}", self.show(&ty))));
                    };
                    if known.len() != payload.len() {
                        return Err(Mismatch::Constraint(format!(
                            "constructor #{name} of {} takes {}, not {}",
                            self.show(&ty),
                            arguments(known.len()),
                            payload.len()
                        )));
                    }
                    known.iter().zip(&payload).try_for_each(|(left, right)| self.unify(left, right, set, span))?;
                }
                if constraint.equality { self.require_equality(&ty, span) } else { Ok(()) }
            }
        }
    }

    fn require_equality(&mut self, ty: &Type, span: Span) -> Unified {
        let equality = || Constraint { equality: true, ..Constraint::default() };
        match ty {
            Type::Arrow(_) => Err(Mismatch::Constraint(String::from("functions cannot be compared"))),
            Type::Record(fields) => fields.iter().try_for_each(|(_, ty)| self.constrain(ty, equality(), span)),
            Type::Sum(constructors) => {
                constructors.iter().flat_map(|(_, payload)| payload).try_for_each(|ty| self.constrain(ty, equality(), span))
            }
            Type::Array(_, element) => self.constrain(element, equality(), span),
            Type::Param(_, name) => Err(Mismatch::Constraint(format!(
                "values of the type parameter {name} cannot be compared; take a function for that"
            ))),
            Type::Named(_, name, _) if self.holds_functions(ty, &mut Vec::new()) => {
                Err(Mismatch::Constraint(format!("{name} holds functions, which cannot be compared")))
            }
            _ => Ok(()),
        }
    }

    /// Whether a function is somewhere inside, also behind names.
    fn holds_functions(&self, ty: &Type, seen: &mut Vec<NamedId>) -> bool {
        match self.shallow(ty) {
            Type::Arrow(_) => true,
            Type::Record(fields) => fields.iter().any(|(_, ty)| self.holds_functions(ty, seen)),
            Type::Sum(constructors) => {
                constructors.iter().flat_map(|(_, payload)| payload).any(|ty| self.holds_functions(ty, seen))
            }
            Type::Array(_, inner) | Type::Hidden(_, inner) => self.holds_functions(&inner, seen),
            Type::Named(id, _, args) => {
                if args.iter().any(|arg| matches!(arg, TypeArg::Type(ty) if self.holds_functions(ty, seen))) {
                    return true;
                }
                if seen.contains(&id) {
                    return false;
                }
                seen.push(id);
                match &self.named[id.0 as usize].body {
                    NamedBody::Recursive(constructors) => {
                        constructors.iter().flat_map(|(_, payload)| payload).any(|ty| self.holds_functions(ty, seen))
                    }
                    NamedBody::Abstract(ty) => self.holds_functions(ty, seen),
                    NamedBody::Opaque => false,
                }
            }
            Type::Prim(_) | Type::Var(_) | Type::Param(..) | Type::Error => false,
        }
    }

    /// The payload types of a constructor of a sum, known by structure or by name.
    pub fn payload_of(&self, ty: &Type, constructor: &str) -> Option<Vec<Type>> {
        self.constructors_of(ty)?.into_iter().find(|(name, _)| name == constructor).map(|(_, payload)| payload)
    }

    pub fn constructors_of(&self, ty: &Type) -> Option<Vec<(Name, Vec<Type>)>> {
        match ty {
            Type::Sum(constructors) => Some(constructors.to_vec()),
            Type::Hidden(names, inner) => self.constructors_of(&self.forget_sizes(names, inner)),
            Type::Named(id, _, args) => {
                let named = &self.named[id.0 as usize];
                let subst = self.named_subst(*id, args);
                match &named.body {
                    NamedBody::Recursive(constructors) => Some(
                        constructors
                            .iter()
                            .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| subst.ty(ty)).collect()))
                            .collect(),
                    ),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn named_subst(&self, id: NamedId, args: &[TypeArg]) -> Subst {
        let mut subst = Subst::default();
        for (param, arg) in self.named[id.0 as usize].params.iter().zip(args) {
            match (param, arg) {
                (NamedParam::Type(param), TypeArg::Type(ty)) => {
                    subst.types.insert(*param, ty.clone());
                }
                (NamedParam::Size(param), TypeArg::Size(size)) => {
                    subst.sizes.insert(*param, size.clone());
                }
                _ => {}
            }
        }
        subst
    }

    fn is_transparent(&self, id: NamedId) -> bool {
        self.transparent_from.is_some_and(|first| first <= id) && matches!(self.named[id.0 as usize].body, NamedBody::Abstract(_))
    }

    /// The type at the head, with what an abstract type stands for where that may be seen.
    fn see_through(&self, ty: &Type) -> Type {
        let mut ty = self.shallow(ty);
        while let Type::Named(id, _, args) = &ty
            && self.is_transparent(*id)
        {
            ty = self.shallow(&self.representation(*id, args));
        }
        ty
    }

    /// What an abstract type stands for.
    pub fn representation(&self, id: NamedId, args: &[TypeArg]) -> Type {
        match &self.named[id.0 as usize].body {
            NamedBody::Abstract(ty) => self.named_subst(id, args).ty(ty),
            _ => Type::Error,
        }
    }

    fn occurs(&self, var: TypeVar, ty: &Type) -> bool {
        match self.shallow(ty) {
            Type::Var(other) => other == var,
            Type::Record(fields) => fields.iter().any(|(_, ty)| self.occurs(var, ty)),
            Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(|ty| self.occurs(var, ty)),
            Type::Array(_, element) => self.occurs(var, &element),
            Type::Arrow(arrow) => self.occurs(var, &arrow.from) || self.occurs(var, &arrow.to.ty),
            Type::Named(_, _, args) => args.iter().any(|arg| matches!(arg, TypeArg::Type(ty) if self.occurs(var, ty))),
            Type::Hidden(_, ty) => self.occurs(var, &ty),
            _ => false,
        }
    }

    /// A type parameter of a definition inside the given level.
    fn escaping_param(&self, ty: &Type, level: u32) -> Option<Name> {
        if self.param_levels.is_empty() {
            return None;
        }
        match self.shallow(ty) {
            Type::Param(id, name) => self.param_levels.get(&id).filter(|own| **own > level).map(|_| name),
            Type::Record(fields) => fields.iter().find_map(|(_, ty)| self.escaping_param(ty, level)),
            Type::Sum(constructors) => {
                constructors.iter().flat_map(|(_, payload)| payload).find_map(|ty| self.escaping_param(ty, level))
            }
            Type::Array(_, inner) | Type::Hidden(_, inner) => self.escaping_param(&inner, level),
            Type::Arrow(arrow) => self.escaping_param(&arrow.from, level).or_else(|| self.escaping_param(&arrow.to.ty, level)),
            Type::Named(_, _, args) => args.iter().find_map(|arg| match arg {
                TypeArg::Type(ty) => self.escaping_param(ty, level),
                TypeArg::Size(_) => None,
            }),
            Type::Prim(_) | Type::Var(_) | Type::Error => None,
        }
    }

    /// Variables in the type belong to at most this level from now on.
    pub fn lower_levels(&mut self, ty: &Type, level: u32) {
        match self.shallow(ty) {
            Type::Var(var) => {
                if let TypeState::Unbound { level: own, constraint, .. } = &mut self.type_vars[var.0 as usize]
                    && *own > level
                {
                    *own = level;
                    let constraint = constraint.clone();
                    for ty in constraint.fields.values().chain(constraint.constructors.values().flatten()) {
                        self.lower_levels(ty, level);
                    }
                }
            }
            Type::Record(fields) => fields.iter().for_each(|(_, ty)| self.lower_levels(ty, level)),
            Type::Sum(constructors) => {
                constructors.iter().flat_map(|(_, payload)| payload).for_each(|ty| self.lower_levels(ty, level));
            }
            Type::Array(size, element) => {
                self.lower_size_levels(&size, level);
                self.lower_levels(&element, level);
            }
            Type::Arrow(arrow) => {
                self.lower_levels(&arrow.from, level);
                self.lower_levels(&arrow.to.ty, level);
            }
            Type::Named(_, _, args) => args.iter().for_each(|arg| match arg {
                TypeArg::Type(ty) => self.lower_levels(ty, level),
                TypeArg::Size(size) => self.lower_size_levels(size, level),
            }),
            Type::Hidden(_, ty) => self.lower_levels(&ty, level),
            Type::Prim(_) | Type::Param(..) | Type::Error => {}
        }
    }

    /// Gives every overloaded variable that is still open its default, and complains of open fields and constructors.
    pub fn default_overloaded(&mut self) {
        let mut index = 0;
        while index < self.type_vars.len() {
            if let TypeState::Unbound { constraint, span, .. } = self.type_vars[index].clone() {
                if let Some(prims) = constraint.prims {
                    self.type_vars[index] = TypeState::Bound(Type::Prim(prims.default(constraint.float_literal)));
                } else if !constraint.constructors.is_empty() {
                    let names: Vec<_> = constraint.constructors.keys().map(|name| format!("#{name}")).collect();
                    self.error(
                        "E0217",
                        span,
                        format!("type is ambiguous: the sum type with {} is not known", names.join(", ")),
                    )
                    .hint = Some(String::from("annotate the expression with its type, as in `(#c : t)`"));
                    self.type_vars[index] = TypeState::Bound(Type::Error);
                } else if !constraint.fields.is_empty() {
                    let names: Vec<_> = constraint.fields.keys().map(Name::as_str).collect();
                    self.error(
                        "E0216",
                        span,
                        format!("type is ambiguous: the record with field {} is not known", names.join(", ")),
                    )
                    .hint = Some(String::from("annotate the parameter with its type"));
                    self.type_vars[index] = TypeState::Bound(Type::Error);
                } else if constraint.equality {
                    self.error("E0215", span, "type is ambiguous: what is compared is not known").hint =
                        Some(String::from("annotate one of the operands with its type"));
                    self.type_vars[index] = TypeState::Bound(Type::Error);
                }
            }
            index += 1;
        }
    }
}

fn mentions_named(ty: &Type) -> bool {
    match ty {
        Type::Named(..) | Type::Hidden(..) => true,
        Type::Record(fields) => fields.iter().any(|(_, ty)| mentions_named(ty)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(mentions_named),
        Type::Array(_, element) => mentions_named(element),
        Type::Arrow(_) | Type::Prim(_) | Type::Var(_) | Type::Param(..) | Type::Error => false,
    }
}

/// Why no type meets both constraints: scalars, records and sums have nothing in common.
fn contradiction(left: &Constraint, right: &Constraint) -> Option<String> {
    let scalar = left.prims.or(right.prims).map(PrimSet::describe);
    let field = left.fields.keys().chain(right.fields.keys()).next();
    let constructor = left.constructors.keys().chain(right.constructors.keys()).next();
    match (scalar, field, constructor) {
        (Some(scalar), Some(field), _) => Some(format!("{scalar} has no field {field}")),
        (Some(scalar), None, Some(constructor)) => Some(format!("{scalar} has no constructor #{constructor}")),
        (None, Some(field), Some(constructor)) => {
            Some(format!("no type has both a field {field} and a constructor #{constructor}"))
        }
        _ => None,
    }
}

/// "1 argument", "2 arguments".
pub fn arguments(count: usize) -> String {
    format!("{count} argument{}", if count == 1 { "" } else { "s" })
}

fn describe(prims: Option<PrimSet>) -> &'static str {
    prims.map_or("any type", PrimSet::describe)
}
