//! Sizes: normal form, unification, and what is left for the run to check.
//!
//! Two sizes are unified by the first rule that applies: equal polynomials; an unsolved variable is bound; the same operator with
//! unsolved parts is taken apart; unsolved sizes wait; a constant difference is an error; anything else becomes a run-time check.

use crate::checker::Checker;
use crate::tree::{CheckSet, Exp, ExpKind, Pattern, PatternKind, SizeCheck};
use crate::ty::{Arrow, OpaqueSize, Prim, Size, SizeVar, Type, TypeArg, VarId};
use crate::unify::{Mismatch, OnSizes, SizeState};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Factor {
    Name(VarId),
    Var(SizeVar),
    Opaque(Keyed),
}

/// A size that is no polynomial. Equal keys mean equal expressions over equal sizes.
#[derive(Clone, Debug)]
struct Keyed {
    key: u32,
    size: Size,
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Keyed) -> bool {
        self.key == other.key
    }
}

impl Eq for Keyed {}

impl Hash for Keyed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Keyed) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Keyed {
    fn cmp(&self, other: &Keyed) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// A polynomial: products of factors (sorted) with their coefficients; zero coefficients are absent.
type Polynomial = BTreeMap<Vec<Factor>, i128>;

/// Resolved sizes with more nodes than this are brought to normal form.
const LONG_SIZE: usize = 24;

/// Expressions with more parts than this are not sizes, unless they are polynomials.
const LONGEST_TERM: usize = 24;

/// A product of sums with more terms than this, or of a higher degree, is not multiplied out.
const MOST_TERMS: usize = 256;
const MOST_FACTORS: usize = 16;

/// A size equation that waits for its variables.
#[derive(Clone)]
pub struct Deferred {
    expected: Size,
    actual: Size,
    on_sizes: OnSizes,
    /// Whether it comes of a coercion.
    coerced: bool,
    span: Span,
}

impl Checker<'_> {
    /// The size with all solved variables replaced. Long terms are made short by normalising, so that arrays put together of many
    /// parts do not have sizes whose parts are all the sums on the way.
    pub fn resolve_size(&self, size: &Size) -> Size {
        if matches!(size, Size::Const(_) | Size::Unknown) {
            return size.clone();
        }
        if self.is_size_within(size, LONG_SIZE) {
            return self.resolve_parts(size);
        }
        // A sum with one more part shares the others.
        let size = match self.solved_size(size) {
            Size::Add(left, right) => Size::sum(self.solved_size(&left), self.solved_size(&right)),
            other => other,
        };
        if self.is_plain_sum(&size) { size } else { self.normal_form(&size) }
    }

    /// The size with a solved variable at its head replaced.
    fn solved_size(&self, size: &Size) -> Size {
        let mut size = size;
        while let Size::Var(var) = size
            && let SizeState::Bound(bound) = &self.size_vars[var.0 as usize]
        {
            size = bound;
        }
        size.clone()
    }

    /// Whether the size is a sum of different names that stand for nothing else: nothing is to be resolved, and nothing gets shorter.
    fn is_plain_sum(&self, size: &Size) -> bool {
        let mut rest = size;
        let mut before = None;
        loop {
            let (sum, last) = match rest {
                Size::Add(sum, last) => (Some(&**sum), &**last),
                last => (None, last),
            };
            let Size::Name(id, _) = last else { return false };
            if before.is_some_and(|before| *id >= before) || self.vars[id.0 as usize].size.is_some() {
                return false;
            }
            before = Some(*id);
            match sum {
                Some(sum) => rest = sum,
                None => return true,
            }
        }
    }

    fn resolve_parts(&self, size: &Size) -> Size {
        match size {
            Size::Var(var) => match &self.size_vars[var.0 as usize] {
                SizeState::Bound(size) => self.resolve_parts(size),
                SizeState::Unbound { .. } => size.clone(),
            },
            Size::Add(left, right) => Size::sum(self.resolve_parts(left), self.resolve_parts(right)),
            Size::Sub(left, right) => Size::difference(self.resolve_parts(left), self.resolve_parts(right)),
            Size::Mul(left, right) => Size::product(self.resolve_parts(left), self.resolve_parts(right)),
            Size::Opaque(opaque) => {
                let args = opaque.args.iter().map(|(id, size)| (*id, self.resolve_parts(size))).collect();
                Size::Opaque(Rc::new(OpaqueSize { exp: opaque.exp.clone(), args, text: opaque.text.clone() }))
            }
            // `let [n] p = e`: the name is the size it was matched with.
            Size::Name(id, _) => match &self.vars[id.0 as usize].size {
                Some(known @ Size::Var(_)) => self.resolve_parts(known),
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
        if let (Size::Var(var), other) | (other, Size::Var(var)) = (&expected, &actual) {
            if !self.is_plain_sum(other) && mentions(&self.polynomial(other), *var) {
                if !self.difference(&expected, &actual).is_empty() {
                    self.deferred.push(Deferred { expected, actual, on_sizes, coerced: self.coercing, span });
                }
                return Ok(());
            }
            let SizeState::Unbound { level } = self.size_vars[var.0 as usize] else { return Ok(()) };
            let (var, other) = (*var, other.clone());
            self.lower_size_levels(&other, level);
            self.size_vars[var.0 as usize] = SizeState::Bound(other);
            return Ok(());
        }
        let difference = self.difference(&expected, &actual);
        if difference.is_empty() {
            return Ok(());
        }
        match (&expected, &actual) {
            (Size::Add(a, b), Size::Add(c, d)) | (Size::Mul(a, b), Size::Mul(c, d)) | (Size::Sub(a, b), Size::Sub(c, d))
                if has_variables(&difference) && !self.coercing =>
            {
                self.unify_sizes(a, c, on_sizes, span)?;
                return self.unify_sizes(b, d, on_sizes, span);
            }
            _ => {}
        }
        if has_variables(&difference) || self.open_arguments(&expected, &actual).is_some() {
            self.deferred.push(Deferred { expected, actual, on_sizes, coerced: self.coercing, span });
            return Ok(());
        }
        let constant = difference.len() == 1 && difference.contains_key(&Vec::new());
        match on_sizes {
            OnSizes::Ignore => Ok(()),
            OnSizes::Check(_) if constant => Err(Mismatch::Sizes(expected, actual)),
            OnSizes::Check(set) => {
                self.check_sets[set as usize].push(SizeCheck { expected, actual, span, param: None });
                Ok(())
            }
        }
    }

    /// A number for a text, so that texts that hold others stay short.
    fn size_key(&self, text: String) -> u32 {
        let mut keys = self.size_keys.borrow_mut();
        let next = keys.len() as u32;
        *keys.entry(text).or_insert(next)
    }

    pub fn same_size(&self, left: &Size, right: &Size) -> bool {
        self.difference(&self.resolve_size(left), &self.resolve_size(right)).is_empty()
    }

    fn difference(&self, left: &Size, right: &Size) -> Polynomial {
        let mut normaliser = Normaliser::new(self);
        let mut difference = normaliser.polynomial(left);
        for (product, coefficient) in normaliser.polynomial(right) {
            add_term(&mut difference, product, -coefficient);
        }
        difference
    }

    fn polynomial(&self, size: &Size) -> Polynomial {
        Normaliser::new(self).polynomial(size)
    }

    /// The size as a sum of products.
    fn normal_form(&self, size: &Size) -> Size {
        self.size_of_polynomial(&Normaliser { expand: &|_| false, ..Normaliser::new(self) }.polynomial(size))
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
                let Deferred { expected, actual, on_sizes, coerced, span } = &equation;
                let outer = std::mem::replace(&mut self.coercing, *coerced);
                if let Err(mismatch) = self.unify_sizes(expected, actual, *on_sizes, *span) {
                    self.report_mismatch(&mismatch, *span);
                }
                self.coercing = outer;
            }
            if self.deferred.len() >= before || self.deferred.is_empty() {
                return;
            }
        }
    }

    /// The arguments of two expressions that are the same but for these, if some are not known yet: `n / 2` and `m / 2`.
    fn open_arguments(&self, left: &Size, right: &Size) -> Option<Vec<(Size, Size)>> {
        let (Size::Opaque(left), Size::Opaque(right)) = (left, right) else { return None };
        if left.args.len() != right.args.len() || form_of(left) != form_of(right) {
            return None;
        }
        let is_open = |(_, size): &(VarId, Size)| has_variables(&self.polynomial(size));
        let any_open = left.args.iter().chain(&right.args).any(is_open);
        any_open.then(|| left.args.iter().zip(&right.args).map(|(left, right)| (left.1.clone(), right.1.clone())).collect())
    }

    fn solve(&mut self, equation: &Deferred) -> bool {
        let (expected, actual) = (self.resolve_size(&equation.expected), self.resolve_size(&equation.actual));
        if let Some(arguments) = self.open_arguments(&expected, &actual) {
            for (expected, actual) in arguments {
                if let Err(mismatch) = self.unify_sizes(&expected, &actual, equation.on_sizes, equation.span) {
                    self.report_mismatch(&mismatch, equation.span);
                }
            }
            return true;
        }
        let difference = self.difference(&expected, &actual);
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
        if rest.keys().flatten().any(|factor| matches!(factor, Factor::Opaque(_))) {
            return false;
        }
        let size = self.size_of_polynomial(&rest);
        self.size_vars[var.0 as usize] = SizeState::Bound(size);
        true
    }

    /// The polynomial as a size. Coefficients wrap around, as sizes do when they are computed.
    fn size_of_polynomial(&self, polynomial: &Polynomial) -> Size {
        let mut sum: Option<Size> = None;
        for (factors, coefficient) in polynomial {
            let negative = *coefficient < 0 && *coefficient > i128::from(i64::MIN);
            let mut term = Size::Const(if negative { -*coefficient as i64 } else { *coefficient as i64 });
            for factor in factors {
                let factor = match factor {
                    Factor::Name(id) => Size::Name(*id, self.vars[id.0 as usize].name.clone()),
                    Factor::Var(var) => Size::Var(*var),
                    Factor::Opaque(keyed) => keyed.size.clone(),
                };
                term = if matches!(term, Size::Const(1)) { factor } else { Size::product(term, factor) };
            }
            sum = Some(match (sum, negative) {
                (None, false) => term,
                (None, true) => Size::difference(Size::Const(0), term),
                (Some(sum), false) => Size::sum(sum, term),
                (Some(sum), true) => Size::difference(sum, term),
            });
        }
        sum.unwrap_or(Size::Const(0))
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

    /// The expression, in front of which the sizes must agree.
    pub fn checked_first(&self, on_sizes: OnSizes, exp: Exp) -> Exp {
        let (ty, span) = (exp.ty.clone(), exp.span);
        let nothing = Exp { kind: ExpKind::Record(Vec::new()), ty: Type::unit(), span };
        let value = Exp { kind: ExpKind::Checked(self.check_set(on_sizes), Box::new(nothing)), ty: Type::unit(), span };
        let pattern = Pattern { kind: PatternKind::Wildcard, ty: Type::unit(), span };
        Exp { kind: ExpKind::Let { pattern, value: Box::new(value), body: Box::new(exp) }, ty, span }
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

    /// The expression as a size, if it is a polynomial, or short and made of numbers that do not change: then it can be computed again
    /// wherever the size is asked for.
    pub fn size_term(&mut self, exp: &Exp) -> Option<Size> {
        if let Some(size) = self.size_of_exp(exp) {
            return Some(size);
        }
        let is_i64 = matches!(self.shallow(&exp.ty), Type::Prim(Prim::I64));
        (is_i64 && self.is_plain(exp, &mut { LONGEST_TERM })).then(|| self.size_of_typed(exp.clone()))
    }

    /// Whether an expression is nothing but numbers and functions of the program, at most so many; its types are known.
    fn is_plain(&self, exp: &Exp, left: &mut usize) -> bool {
        *left = left.saturating_sub(1);
        let is_known = |ty: &Type| matches!(self.shallow(ty), Type::Prim(_));
        *left > 0
            && match &exp.kind {
                ExpKind::Int(_) | ExpKind::Float(_) => is_known(&exp.ty),
                ExpKind::Var { types, sizes, .. } => types.is_empty() && sizes.is_empty() && is_known(&exp.ty),
                ExpKind::Project(record, _) => {
                    let is_variable =
                        matches!(&record.kind, ExpKind::Var { types, sizes, .. } if types.is_empty() && sizes.is_empty());
                    is_variable && is_known(&exp.ty)
                }
                ExpKind::Apply { function, args, .. } => {
                    let is_global = |id: VarId| self.vars[id.0 as usize].depth == 0;
                    let is_function = matches!(&function.kind, ExpKind::Var { id, types, .. }
                        if is_global(*id) && types.iter().all(is_known));
                    is_function && is_known(&exp.ty) && args.iter().all(|arg| self.is_plain(arg, left))
                }
                ExpKind::Checked(_, inner) | ExpKind::Attributed(_, inner) => self.is_plain(inner, left),
                _ => false,
            }
    }

    /// Replaces names that `hidden` says are out of scope: by what they are known to equal, else by fresh names, which are returned.
    pub fn hide_names(&mut self, ty: &Type, hidden: &dyn Fn(&Checker<'_>, VarId) -> bool) -> (Type, Vec<(VarId, Name)>) {
        let mut hiding =
            Hiding { hidden, bound: Vec::new(), known: BTreeMap::new(), fresh: Vec::new(), of_result: BTreeMap::new() };
        let ty = self.resolve(ty);
        let ty = self.hide_in_type(&ty, &mut hiding);
        (ty, hiding.fresh)
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
                self.hide_in_result(&mut arrow, hiding);
                Type::Arrow(Rc::new(arrow))
            }
            other => other.clone(),
        }
    }

    /// What a function type binds is in scope in its result.
    fn hide_in_result(&mut self, arrow: &mut Arrow, hiding: &mut Hiding<'_>) {
        let outside = hiding.bound.len();
        hiding.bound.extend(arrow.param.iter().chain(&arrow.to.exists));
        let of_result = std::mem::take(&mut hiding.of_result);
        arrow.to.ty = self.hide_in_type(&arrow.to.ty, hiding);
        let fresh = std::mem::replace(&mut hiding.of_result, of_result);
        arrow.to.exists.extend(fresh.into_values().map(|(id, _)| id));
        hiding.bound.truncate(outside);
    }

    fn hide_in_size(&mut self, size: &Size, hiding: &mut Hiding<'_>) -> Size {
        let size = self.expand_hidden(size, hiding.hidden);
        let mut names = Vec::new();
        collect_names(&size, &mut names);
        let bound = names.iter().any(|name| hiding.bound.contains(name));
        if !names.iter().any(|name| (hiding.hidden)(self, *name) && !hiding.bound.contains(name)) {
            return size;
        }
        // A size that depends on what a function binds differs from call to call.
        let known = if bound { &mut hiding.of_result } else { &mut hiding.known };
        let key = key_of(&self.polynomial(&size));
        if let Some((id, name)) = known.get(&key) {
            return Size::Name(*id, name.clone());
        }
        let name = Name::from(format!("{size}"));
        let name = if name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'') { name } else { Name::from("k") };
        let id = self.fresh_var(name.clone());
        known.insert(key, (id, name.clone()));
        if !bound {
            hiding.fresh.push((id, name.clone()));
        }
        Size::Name(id, name)
    }

    /// Hidden names whose definition is known are replaced by it.
    fn expand_hidden(&self, size: &Size, hidden: &dyn Fn(&Checker<'_>, VarId) -> bool) -> Size {
        let names = |id| hidden(self, id);
        match self.expand_names(size, &names, &mut { LONG_SIZE }) {
            Some(size) => size,
            None => self.size_of_polynomial(&Normaliser { expand: &names, ..Normaliser::new(self) }.polynomial(size)),
        }
    }

    /// Nothing, if the size would be long.
    fn expand_names(&self, size: &Size, hidden: &dyn Fn(VarId) -> bool, left: &mut usize) -> Option<Size> {
        *left = left.checked_sub(1)?;
        let mut expand = |size: &Size| self.expand_names(size, hidden, left);
        Some(match size {
            Size::Name(id, _) if hidden(*id) => match &self.vars[id.0 as usize].size {
                Some(known) => expand(&self.resolve_size(known))?,
                None => size.clone(),
            },
            Size::Add(left, right) => Size::sum(expand(left)?, expand(right)?),
            Size::Sub(left, right) => Size::difference(expand(left)?, expand(right)?),
            Size::Mul(left, right) => Size::product(expand(left)?, expand(right)?),
            other => other.clone(),
        })
    }
}

/// Makes polynomials of sizes. What a name or variable stands for is normalised once.
struct Normaliser<'c, 'a> {
    checker: &'c Checker<'a>,
    /// Which names bound to a size, as in `let n = e`, are replaced by it.
    expand: &'c dyn Fn(VarId) -> bool,
    known: FxHashMap<Factor, Polynomial>,
}

impl<'c, 'a> Normaliser<'c, 'a> {
    fn new(checker: &'c Checker<'a>) -> Self {
        Normaliser { checker, expand: &|_| true, known: FxHashMap::default() }
    }

    fn polynomial(&mut self, size: &Size) -> Polynomial {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.polynomial_inner(size))
    }

    fn polynomial_inner(&mut self, size: &Size) -> Polynomial {
        match size {
            Size::Const(0) => Polynomial::new(),
            Size::Const(value) => Polynomial::from([(Vec::new(), i128::from(*value))]),
            Size::Name(id, _) => match &self.checker.vars[id.0 as usize].size {
                Some(size) if matches!(size, Size::Var(_)) || (self.expand)(*id) => self.known_as(Factor::Name(*id), size),
                _ => single(Factor::Name(*id)),
            },
            Size::Var(var) => match &self.checker.size_vars[var.0 as usize] {
                SizeState::Bound(size) => self.known_as(Factor::Var(*var), size),
                SizeState::Unbound { .. } => single(Factor::Var(*var)),
            },
            Size::Add(left, right) | Size::Sub(left, right) => {
                let negative = matches!(size, Size::Sub(..));
                let (mut sum, mut small) = (self.polynomial(left), self.polynomial(right));
                if negative {
                    small.values_mut().for_each(|coefficient| *coefficient = -*coefficient);
                }
                if small.len() > sum.len() {
                    std::mem::swap(&mut sum, &mut small);
                }
                for (product, coefficient) in small {
                    add_term(&mut sum, product, coefficient);
                }
                sum
            }
            Size::Mul(left, right) => {
                let (left, right) = (self.polynomial(left), self.polynomial(right));
                let terms = left.len().saturating_mul(right.len());
                let too_long = terms > MOST_TERMS || degree(&left) + degree(&right) > MOST_FACTORS;
                if terms > 1 && (too_long || holds_product(&left) || holds_product(&right)) {
                    let key = format!("{}*{}", key_of(&left), key_of(&right));
                    let [left, right] = [left, right].map(|operand| self.checker.size_of_polynomial(&operand));
                    return single(Factor::Opaque(Keyed { key: self.checker.size_key(key), size: Size::product(left, right) }));
                }
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
            Size::Opaque(opaque) => {
                let mut key = form_of(opaque);
                let mut args = Vec::new();
                for (id, size) in &opaque.args {
                    let polynomial = self.polynomial(size);
                    key.push_str(&format!(" {}", key_of(&polynomial)));
                    args.push((*id, self.checker.resolve_size(size)));
                }
                let size = Size::Opaque(Rc::new(OpaqueSize { exp: opaque.exp.clone(), args, text: opaque.text.clone() }));
                single(Factor::Opaque(Keyed { key: self.checker.size_key(key), size }))
            }
            Size::Unknown => single(Factor::Opaque(Keyed { key: self.checker.size_key(String::from("?")), size: Size::Unknown })),
        }
    }

    fn known_as(&mut self, factor: Factor, size: &Size) -> Polynomial {
        if let Some(known) = self.known.get(&factor) {
            return known.clone();
        }
        let polynomial = self.polynomial(size);
        self.known.insert(factor, polynomial.clone());
        polynomial
    }
}

fn degree(polynomial: &Polynomial) -> usize {
    polynomial.keys().map(Vec::len).max().unwrap_or(0)
}

/// Whether a product inside was not multiplied out; then those around it are not either.
fn holds_product(polynomial: &Polynomial) -> bool {
    let is_product = |factor: &Factor| matches!(factor, Factor::Opaque(Keyed { size: Size::Mul(..), .. }));
    polynomial.keys().flatten().any(is_product)
}

fn single(factor: Factor) -> Polynomial {
    Polynomial::from([(vec![factor], 1)])
}

/// A text that is the same for equal polynomials.
fn key_of(polynomial: &Polynomial) -> String {
    let mut key = String::from("(");
    for (factors, coefficient) in polynomial {
        key.push_str(&format!("+{coefficient}"));
        for factor in factors {
            match factor {
                Factor::Name(id) => key.push_str(&format!("*v{}", id.0)),
                Factor::Var(var) => key.push_str(&format!("*d{}", var.0)),
                Factor::Opaque(keyed) => key.push_str(&format!("*k{}", keyed.key)),
            }
        }
    }
    key.push(')');
    key
}

struct Hiding<'a> {
    hidden: &'a dyn Fn(&Checker<'_>, VarId) -> bool,
    /// What the function types around the place bind.
    bound: Vec<VarId>,
    /// Names for sizes, by what the sizes were; `fresh` in the order in which they were made.
    known: BTreeMap<String, (VarId, Name)>,
    fresh: Vec<(VarId, Name)>,
    /// Names for sizes that depend on what the innermost function type binds.
    of_result: BTreeMap<String, (VarId, Name)>,
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

/// A text that is the same for expressions of the same structure, whatever their arguments; expressions of unusual form are only equal to
/// themselves.
fn form_of(opaque: &OpaqueSize) -> String {
    form_of_exp(&opaque.exp, &opaque.args)
}

fn form_of_exp(exp: &Exp, args: &[(VarId, Size)]) -> String {
    match &exp.kind {
        ExpKind::Int(value) => value.to_string(),
        ExpKind::Var { id, .. } => match args.iter().position(|(arg, _)| arg == id) {
            Some(index) => format!("a{index}"),
            None => format!("v{}", id.0),
        },
        ExpKind::Apply { function, args: applied, .. } => {
            let applied: Vec<_> = applied.iter().map(|arg| form_of_exp(arg, args)).collect();
            format!("({} {})", form_of_exp(function, args), applied.join(" "))
        }
        ExpKind::Project(record, field) => format!("{}.{field}", form_of_exp(record, args)),
        ExpKind::Index(array, indices) => {
            let indices: Vec<_> = indices
                .iter()
                .map(|index| match index {
                    crate::tree::Index::At(exp) => form_of_exp(exp, args),
                    crate::tree::Index::Slice { .. } => format!("{index:p}"),
                })
                .collect();
            format!("{}[{}]", form_of_exp(array, args), indices.join(","))
        }
        ExpKind::Checked(_, inner) | ExpKind::Attributed(_, inner) => form_of_exp(inner, args),
        _ => format!("{exp:p}"),
    }
}
