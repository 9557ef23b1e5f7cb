//! Sizes: normal form, unification, and what is left for the run to check.
//!
//! Two sizes are unified by the first rule that applies: equal polynomials; an unsolved variable is bound; the same operator with
//! unsolved parts is taken apart; unsolved sizes wait; a constant difference is an error; anything else becomes a run-time check.

use crate::checker::Checker;
use crate::tree::{CheckSet, Exp, ExpKind, SizeCheck};
use crate::ty::{OpaqueSize, Size, SizeVar, Type, TypeArg, VarId};
use crate::unify::{Mismatch, OnSizes, SizeState};
use chadwick_source::{Name, Span};
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Factor {
    Name(VarId),
    Var(SizeVar),
    Opaque(String),
}

/// A polynomial: products of factors (sorted) with their coefficients; zero coefficients are absent.
type Polynomial = BTreeMap<Vec<Factor>, i128>;

/// A size equation that waits for its variables.
#[derive(Clone)]
pub struct Deferred {
    expected: Size,
    actual: Size,
    on_sizes: OnSizes,
    span: Span,
}

impl Checker<'_> {
    pub fn resolve_size(&self, size: &Size) -> Size {
        match size {
            Size::Var(var) => match &self.size_vars[var.0 as usize] {
                SizeState::Bound(size) => self.resolve_size(size),
                SizeState::Unbound { .. } => size.clone(),
            },
            Size::Add(left, right) => Size::sum(self.resolve_size(left), self.resolve_size(right)),
            Size::Sub(left, right) => Size::difference(self.resolve_size(left), self.resolve_size(right)),
            Size::Mul(left, right) => Size::product(self.resolve_size(left), self.resolve_size(right)),
            Size::Opaque(opaque) => {
                let args = opaque.args.iter().map(|(id, size)| (*id, self.resolve_size(size))).collect();
                Size::Opaque(Rc::new(OpaqueSize { exp: opaque.exp.clone(), args, text: opaque.text.clone() }))
            }
            // `let [n] p = e`: the name is the size it was matched with.
            Size::Name(id, _) => match &self.vars[id.0 as usize].size {
                Some(known @ Size::Var(_)) => self.resolve_size(known),
                _ => size.clone(),
            },
            Size::Const(_) | Size::Unknown => size.clone(),
        }
    }

    pub fn unify_sizes(&mut self, expected: &Size, actual: &Size, on_sizes: OnSizes, span: Span) -> Result<(), Mismatch> {
        let expected = self.resolve_size(expected);
        let actual = self.resolve_size(actual);
        if matches!(expected, Size::Unknown) || matches!(actual, Size::Unknown) {
            return Ok(());
        }
        let difference = self.difference(&expected, &actual);
        if difference.is_empty() {
            return Ok(());
        }
        match (&expected, &actual) {
            (Size::Var(var), other) | (other, Size::Var(var)) => {
                if mentions(&self.polynomial(other), *var) {
                    self.deferred.push(Deferred { expected, actual, on_sizes, span });
                    return Ok(());
                }
                let SizeState::Unbound { level } = self.size_vars[var.0 as usize] else { return Ok(()) };
                let other = other.clone();
                self.lower_size_levels(&other, level);
                self.size_vars[var.0 as usize] = SizeState::Bound(other);
                return Ok(());
            }
            (Size::Add(a, b), Size::Add(c, d)) | (Size::Mul(a, b), Size::Mul(c, d)) | (Size::Sub(a, b), Size::Sub(c, d))
                if has_variables(&difference) =>
            {
                self.unify_sizes(a, c, on_sizes, span)?;
                return self.unify_sizes(b, d, on_sizes, span);
            }
            _ => {}
        }
        if has_variables(&difference) {
            self.deferred.push(Deferred { expected, actual, on_sizes, span });
            return Ok(());
        }
        let constant = difference.len() == 1 && difference.contains_key(&Vec::new());
        match on_sizes {
            OnSizes::Ignore => Ok(()),
            OnSizes::Check(_) if constant => Err(Mismatch::Sizes(expected, actual)),
            OnSizes::Check(set) => {
                self.check_sets[set as usize].push(SizeCheck { expected, actual, span });
                Ok(())
            }
        }
    }

    pub fn same_size(&self, left: &Size, right: &Size) -> bool {
        self.difference(&self.resolve_size(left), &self.resolve_size(right)).is_empty()
    }

    fn difference(&self, left: &Size, right: &Size) -> Polynomial {
        let mut difference = self.polynomial(left);
        for (product, coefficient) in self.polynomial(right) {
            add_term(&mut difference, product, -coefficient);
        }
        difference
    }

    fn polynomial(&self, size: &Size) -> Polynomial {
        let factor = |factor: Factor| Polynomial::from([(vec![factor], 1)]);
        match size {
            Size::Const(0) => Polynomial::new(),
            Size::Const(value) => Polynomial::from([(Vec::new(), i128::from(*value))]),
            Size::Name(id, _) => match &self.vars[id.0 as usize].size {
                Some(size) => self.polynomial(&self.resolve_size(size)),
                None => factor(Factor::Name(*id)),
            },
            Size::Var(var) => match &self.size_vars[var.0 as usize] {
                SizeState::Bound(size) => self.polynomial(size),
                SizeState::Unbound { .. } => factor(Factor::Var(*var)),
            },
            Size::Add(left, right) | Size::Sub(left, right) => {
                let sign = if matches!(size, Size::Sub(..)) { -1 } else { 1 };
                let mut sum = self.polynomial(left);
                for (product, coefficient) in self.polynomial(right) {
                    add_term(&mut sum, product, sign * coefficient);
                }
                sum
            }
            Size::Mul(left, right) => {
                let (left, right) = (self.polynomial(left), self.polynomial(right));
                let mut product = Polynomial::new();
                for (left_factors, left_coefficient) in &left {
                    for (right_factors, right_coefficient) in &right {
                        let mut factors = [left_factors.as_slice(), right_factors].concat();
                        factors.sort();
                        add_term(&mut product, factors, left_coefficient.saturating_mul(*right_coefficient));
                    }
                }
                product
            }
            Size::Opaque(opaque) => factor(Factor::Opaque(self.opaque_key(opaque))),
            Size::Unknown => factor(Factor::Opaque(String::from("?"))),
        }
    }

    /// Equal keys mean equal expressions over equal sizes.
    fn opaque_key(&self, opaque: &OpaqueSize) -> String {
        let args: Vec<_> = opaque.args.iter().map(|(id, size)| format!("{}={:?}", id.0, self.polynomial(size))).collect();
        format!("{}{{{}}}", exp_key(&opaque.exp), args.join(","))
    }

    pub fn lower_size_levels(&mut self, size: &Size, level: u32) {
        match size {
            Size::Var(var) => match self.size_vars[var.0 as usize].clone() {
                SizeState::Unbound { level: own } if own > level => self.size_vars[var.0 as usize] = SizeState::Unbound { level },
                SizeState::Unbound { .. } => {}
                SizeState::Bound(size) => self.lower_size_levels(&size, level),
            },
            Size::Add(left, right) | Size::Sub(left, right) | Size::Mul(left, right) => {
                self.lower_size_levels(left, level);
                self.lower_size_levels(right, level);
            }
            Size::Opaque(opaque) => opaque.args.iter().for_each(|(_, size)| self.lower_size_levels(size, level)),
            Size::Const(_) | Size::Name(..) | Size::Unknown => {}
        }
    }

    /// Tries the waiting equations again; at the end of a definition an unknown that stands alone is solved for.
    pub fn retry_deferred(&mut self, last: bool) {
        loop {
            let waiting = std::mem::take(&mut self.deferred);
            let before = waiting.len();
            for equation in waiting {
                if last && self.solve(&equation) {
                    continue;
                }
                let Deferred { expected, actual, on_sizes, span } = &equation;
                if let Err(mismatch) = self.unify_sizes(expected, actual, *on_sizes, *span) {
                    self.report_mismatch(&mismatch, *span);
                }
            }
            if self.deferred.len() >= before || self.deferred.is_empty() {
                return;
            }
        }
    }

    fn solve(&mut self, equation: &Deferred) -> bool {
        let difference = self.difference(&self.resolve_size(&equation.expected), &self.resolve_size(&equation.actual));
        let divides_all = |coefficient: i128| difference.values().all(|other| other % coefficient == 0);
        let candidate = difference.iter().find_map(|(factors, coefficient)| match factors.as_slice() {
            [Factor::Var(var)] if divides_all(*coefficient) => Some((*var, *coefficient)),
            _ => None,
        });
        let Some((var, coefficient)) = candidate else { return false };
        let mut rest = difference;
        rest.remove(&vec![Factor::Var(var)]);
        if mentions(&rest, var) {
            return false;
        }
        rest.values_mut().for_each(|other| *other /= -coefficient);
        let Some(size) = self.size_of_polynomial(&rest) else { return false };
        self.size_vars[var.0 as usize] = SizeState::Bound(size);
        true
    }

    /// The polynomial as a size, unless it holds opaque factors.
    fn size_of_polynomial(&self, polynomial: &Polynomial) -> Option<Size> {
        let mut sum: Option<Size> = None;
        for (factors, coefficient) in polynomial {
            let mut term = Size::Const(i64::try_from(coefficient.abs()).ok()?);
            for factor in factors {
                let factor = match factor {
                    Factor::Name(id) => Size::Name(*id, self.vars[id.0 as usize].name.clone()),
                    Factor::Var(var) => Size::Var(*var),
                    Factor::Opaque(_) => return None,
                };
                term = if matches!(term, Size::Const(1)) { factor } else { Size::product(term, factor) };
            }
            sum = Some(match (sum, *coefficient < 0) {
                (None, false) => term,
                (None, true) => Size::difference(Size::Const(0), term),
                (Some(sum), false) => Size::sum(sum, term),
                (Some(sum), true) => Size::difference(sum, term),
            });
        }
        Some(sum.unwrap_or(Size::Const(0)))
    }

    // ----------------------------------------------------------------------------------------------------- sets of checks

    pub fn new_checks(&mut self) -> OnSizes {
        self.check_sets.push(Vec::new());
        OnSizes::Check(self.check_sets.len() as u32 - 1)
    }

    /// Where checks go that no particular expression asked for.
    pub fn current_checks(&mut self) -> OnSizes {
        match self.ambient_checks {
            Some(set) => OnSizes::Check(set),
            None => {
                let set = self.new_checks();
                if let OnSizes::Check(index) = set {
                    self.ambient_checks = Some(index);
                }
                set
            }
        }
    }

    pub fn check_set(&self, on_sizes: OnSizes) -> CheckSet {
        let pending = match on_sizes {
            OnSizes::Check(set) => Some(set),
            OnSizes::Ignore => None,
        };
        CheckSet { pending, checks: Vec::new() }
    }

    // ------------------------------------------------------------------------------------------------- sizes of expressions

    /// The expression as a size, if it is a polynomial of names and constants, or a length that a type knows.
    pub fn size_of_exp(&self, exp: &Exp) -> Option<Size> {
        match &exp.kind {
            ExpKind::Int(value) => i64::try_from(*value).ok().map(Size::Const),
            ExpKind::Var { id, types, sizes } if types.is_empty() && sizes.is_empty() => {
                Some(Size::Name(*id, self.vars[id.0 as usize].name.clone()))
            }
            ExpKind::Apply { function, args, .. } => {
                let ExpKind::Var { id, .. } = &function.kind else { return None };
                let known = self.known_functions.get(id)?;
                match (known, args.as_slice()) {
                    (_, [left, right]) => {
                        let build = known.on_sizes()?;
                        Some(build(self.size_of_exp(left)?, self.size_of_exp(right)?))
                    }
                    (KnownFunction::Length, [array]) => match self.shallow(&array.ty) {
                        Type::Array(size, _) => match self.resolve_size(&size) {
                            Size::Unknown | Size::Var(_) => None,
                            size => Some(size),
                        },
                        _ => None,
                    },
                    _ => None,
                }
            }
            ExpKind::Checked(_, inner) | ExpKind::Attributed(_, inner) => self.size_of_exp(inner),
            _ => None,
        }
    }

    /// Replaces names that `hidden` says are out of scope: by what they are known to equal, else by fresh names, which are returned.
    pub fn hide_names(&mut self, ty: &Type, hidden: &dyn Fn(&Checker<'_>, VarId) -> bool) -> (Type, Vec<(VarId, Name)>) {
        let mut fresh = Hiding { hidden, known: BTreeMap::new(), fresh: Vec::new() };
        let ty = self.resolve(ty);
        let ty = self.hide_in_type(&ty, &mut fresh);
        (ty, fresh.fresh)
    }

    fn hide_in_type(&mut self, ty: &Type, hiding: &mut Hiding<'_>) -> Type {
        match ty {
            Type::Record(fields) => {
                Type::Record(fields.iter().map(|(name, ty)| (name.clone(), self.hide_in_type(ty, hiding))).collect())
            }
            Type::Sum(constructors) => Type::Sum(
                constructors
                    .iter()
                    .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| self.hide_in_type(ty, hiding)).collect()))
                    .collect(),
            ),
            Type::Array(size, element) => {
                let size = self.hide_in_size(size, hiding);
                Type::array(size, self.hide_in_type(element, hiding))
            }
            Type::Named(id, name, args) => {
                let args = args
                    .iter()
                    .map(|arg| match arg {
                        TypeArg::Type(ty) => TypeArg::Type(self.hide_in_type(ty, hiding)),
                        TypeArg::Size(size) => TypeArg::Size(self.hide_in_size(size, hiding)),
                    })
                    .collect();
                Type::Named(*id, name.clone(), args)
            }
            Type::Arrow(arrow) => {
                let mut arrow = (**arrow).clone();
                arrow.from = self.hide_in_type(&arrow.from, hiding);
                arrow.to.ty = self.hide_in_type(&arrow.to.ty, hiding);
                Type::Arrow(Rc::new(arrow))
            }
            other => other.clone(),
        }
    }

    fn hide_in_size(&mut self, size: &Size, hiding: &mut Hiding<'_>) -> Size {
        let size = self.expand_hidden(size, hiding.hidden);
        let mut names = Vec::new();
        collect_names(&size, &mut names);
        if !names.iter().any(|name| (hiding.hidden)(self, *name)) {
            return size;
        }
        let key = format!("{:?}", self.polynomial(&size));
        if let Some((id, name)) = hiding.known.get(&key) {
            return Size::Name(*id, name.clone());
        }
        let name = Name::from(format!("{size}"));
        let name = if name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'') { name } else { Name::from("k") };
        let id = self.fresh_var(name.clone());
        hiding.known.insert(key, (id, name.clone()));
        hiding.fresh.push((id, name.clone()));
        Size::Name(id, name)
    }

    /// Hidden names whose definition is known are replaced by it.
    fn expand_hidden(&self, size: &Size, hidden: &dyn Fn(&Checker<'_>, VarId) -> bool) -> Size {
        match size {
            Size::Name(id, _) if hidden(self, *id) => match &self.vars[id.0 as usize].size {
                Some(known) => self.expand_hidden(&self.resolve_size(known), hidden),
                None => size.clone(),
            },
            Size::Add(left, right) => Size::sum(self.expand_hidden(left, hidden), self.expand_hidden(right, hidden)),
            Size::Sub(left, right) => Size::difference(self.expand_hidden(left, hidden), self.expand_hidden(right, hidden)),
            Size::Mul(left, right) => Size::product(self.expand_hidden(left, hidden), self.expand_hidden(right, hidden)),
            other => other.clone(),
        }
    }
}

struct Hiding<'a> {
    hidden: &'a dyn Fn(&Checker<'_>, VarId) -> bool,
    known: BTreeMap<String, (VarId, Name)>,
    fresh: Vec<(VarId, Name)>,
}

/// Functions whose applications count as sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownFunction {
    Add,
    Sub,
    Mul,
    Length,
    /// `|>` and `<|`, which are applications.
    PipeForward,
    PipeBackward,
}

impl KnownFunction {
    /// What an application means for sizes, if it is arithmetic.
    pub fn on_sizes(self) -> Option<fn(Size, Size) -> Size> {
        match self {
            KnownFunction::Add => Some(Size::sum),
            KnownFunction::Sub => Some(Size::difference),
            KnownFunction::Mul => Some(Size::product),
            KnownFunction::Length | KnownFunction::PipeForward | KnownFunction::PipeBackward => None,
        }
    }
}

pub fn collect_names(size: &Size, names: &mut Vec<VarId>) {
    match size {
        Size::Name(id, _) => names.push(*id),
        Size::Add(left, right) | Size::Sub(left, right) | Size::Mul(left, right) => {
            collect_names(left, names);
            collect_names(right, names);
        }
        Size::Opaque(opaque) => opaque.args.iter().for_each(|(_, size)| collect_names(size, names)),
        Size::Const(_) | Size::Var(_) | Size::Unknown => {}
    }
}

fn add_term(polynomial: &mut Polynomial, product: Vec<Factor>, coefficient: i128) {
    use std::collections::btree_map::Entry;
    match polynomial.entry(product) {
        Entry::Vacant(entry) => {
            if coefficient != 0 {
                entry.insert(coefficient);
            }
        }
        Entry::Occupied(mut entry) => {
            let sum = entry.get().saturating_add(coefficient);
            if sum == 0 {
                entry.remove();
            } else {
                entry.insert(sum);
            }
        }
    }
}

fn has_variables(polynomial: &Polynomial) -> bool {
    polynomial.keys().flatten().any(|factor| matches!(factor, Factor::Var(_)))
}

fn mentions(polynomial: &Polynomial, var: SizeVar) -> bool {
    polynomial.keys().flatten().any(|factor| *factor == Factor::Var(var))
}

/// A text that is the same for expressions of the same structure; expressions of unusual form are only equal to themselves.
fn exp_key(exp: &Exp) -> String {
    match &exp.kind {
        ExpKind::Int(value) => value.to_string(),
        ExpKind::Var { id, .. } => format!("v{}", id.0),
        ExpKind::Apply { function, args, .. } => {
            let args: Vec<_> = args.iter().map(exp_key).collect();
            format!("({} {})", exp_key(function), args.join(" "))
        }
        ExpKind::Project(record, field) => format!("{}.{field}", exp_key(record)),
        ExpKind::Index(array, indices) => {
            let indices: Vec<_> = indices
                .iter()
                .map(|index| match index {
                    crate::tree::Index::At(exp) => exp_key(exp),
                    crate::tree::Index::Slice { .. } => format!("{index:p}"),
                })
                .collect();
            format!("{}[{}]", exp_key(array), indices.join(","))
        }
        ExpKind::Checked(_, inner) | ExpKind::Attributed(_, inner) => exp_key(inner),
        _ => format!("{exp:p}"),
    }
}
