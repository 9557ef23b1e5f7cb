//! Loops. A size of the carried value is fixed if the body keeps it, and changes from iteration to iteration if it does not.
//!
//! The body is checked with all sizes fixed first; where its result disagrees, the attempt is taken back and repeated with those
//! sizes changing. So are the sizes of what carried functions give, all together. A size that the pattern states does not change: the
//! initial value and the body's result must have it.

use crate::checker::Checker;
use crate::exp::{error_exp, open};
use crate::pattern::Bindings;
use crate::sizes::{Deferred, collect_names};
use crate::subst::Subst;
use crate::tree::{Exp, ExpKind, Loop, LoopForm, SizeCheck};
use crate::ty::{Arrow, Return, Scheme, Size, Type, VarId};
use crate::type_exp::Anonymous;
use crate::unify::{Constraint, OnSizes, PrimSet, SizeState, TypeState};
use crate::zonk::is_open;
use chadwick_source::{Name, Span};
use chadwick_syntax::ast;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Stands among the positions of sizes for those in the results of functions.
const IN_RESULTS: usize = usize::MAX;

/// Inference state that an attempt may change.
pub struct Saved {
    type_vars: Vec<TypeState>,
    size_vars: Vec<SizeState>,
    check_sets: Vec<Vec<SizeCheck>>,
    deferred: Vec<Deferred>,
    ambient_checks: Option<u32>,
    diagnostics: usize,
}

impl Checker<'_> {
    pub fn save(&self) -> Saved {
        Saved {
            type_vars: self.type_vars.clone(),
            size_vars: self.size_vars.clone(),
            check_sets: self.check_sets.clone(),
            deferred: self.deferred.clone(),
            ambient_checks: self.ambient_checks,
            diagnostics: self.diagnostics.len(),
        }
    }

    pub fn restore(&mut self, saved: Saved) {
        self.type_vars = saved.type_vars;
        self.size_vars = saved.size_vars;
        self.check_sets = saved.check_sets;
        self.deferred = saved.deferred;
        self.ambient_checks = saved.ambient_checks;
        self.diagnostics.truncate(saved.diagnostics);
    }

    pub fn loop_exp(&mut self, parts: &ast::LoopExp, hint: Option<&Type>, span: Span) -> Exp {
        let initial_hint = match &parts.pattern.kind {
            ast::PatternKind::Ascribe(_, annotation) if parts.sizes.is_empty() => {
                Some(self.type_exp(annotation, Anonymous::Infer).ty)
            }
            _ => hint.cloned(),
        };
        let initial = match &parts.initial {
            Some(exp) => self.exp(exp, initial_hint.as_ref()),
            None => match pattern_as_exp(&parts.pattern) {
                Some(exp) => self.exp(&exp, None),
                None => {
                    self.error("E0270", parts.pattern.span, "a loop without initial value needs a pattern of names").hint =
                        Some(String::from("write `loop p = e for …`"));
                    return error_exp(span);
                }
            },
        };
        let initial = self.open_hidden(initial);
        let stated = self.stated_sizes(&parts.pattern, &parts.sizes, &initial.ty);
        let Some(initial) = self.with_stated_sizes(initial, &stated, parts.pattern.span) else { return error_exp(span) };
        let form = self.loop_header(&parts.form);
        let mut varying: Vec<usize> = Vec::new();
        for attempt in 0.. {
            let saved = self.save();
            let outcome = self.attempt_loop(parts, &initial, &form, &stated, &varying, span);
            let fresh: Vec<usize> = outcome.disagreeing.iter().copied().filter(|at| !varying.contains(at)).collect();
            if fresh.is_empty() || attempt > 16 {
                return outcome.exp;
            }
            self.restore(saved);
            varying.extend(fresh);
        }
        error_exp(span)
    }

    /// The sizes that a pattern states, with their positions in the type of what it matches (counted in order).
    fn stated_sizes(&mut self, pattern: &ast::Pattern, sizes: &[ast::Ident], ty: &Type) -> BTreeMap<usize, Size> {
        let saved = self.save();
        let mark = self.locals.mark();
        // What is matched has sizes that no pattern can state.
        let first = self.vars.len();
        let open = self.vary(&self.resolve(ty), &|_| true, &mut Vec::new());
        self.bind_sizes(sizes);
        let checks = self.new_checks();
        let matched = self.pattern(pattern, &open, Anonymous::Infer, checks, &mut Bindings::default());
        let found = sizes_of(&self.resolve(&matched.whole_type()));
        let is_stated = |size: &Size| {
            let mut names = Vec::new();
            collect_names(size, &mut names);
            !is_open(size) && !matches!(size, Size::Unknown) && names.iter().all(|id| (id.0 as usize) < first)
        };
        let stated = found.into_iter().enumerate().filter(|(_, size)| is_stated(size)).collect();
        self.locals.undo_to(mark);
        self.restore(saved);
        stated
    }

    /// A value whose type has the sizes that a pattern states, after they were compared.
    fn with_stated_sizes(&mut self, value: Exp, stated: &BTreeMap<usize, Size>, span: Span) -> Option<Exp> {
        if stated.is_empty() {
            return Some(value);
        }
        let (named, opened) = self.open_unknown(&value.ty);
        let value = open(opened, Exp { ty: named, ..value });
        let found = self.resolve(&value.ty);
        let ty = map_sizes(&found, &mut |at, size| stated.get(&at).unwrap_or(size).clone());
        let checks = self.new_checks();
        let fits = self.expect(&ty, &found, checks, span, "the pattern's type does not fit");
        let span = value.span;
        fits.then(|| Exp { kind: ExpKind::Checked(self.check_set(checks), Box::new(value)), ty, span })
    }

    fn loop_header(&mut self, form: &ast::LoopForm) -> Header {
        match form {
            ast::LoopForm::For(_, bound) => {
                let bound = self.exp(bound, None);
                if self.constrain(&bound.ty, Constraint::prims(PrimSet::SIGNED), bound.span).is_err() {
                    let shown = self.show(&bound.ty);
                    self.error("E0271", bound.span, format!("the bound of a loop must be a signed integer, not {shown}")).hint =
                        Some(format!("convert it: `i64.{shown} e`"));
                }
                Header::For(bound)
            }
            ast::LoopForm::ForIn(_, array) => {
                let array = self.exp(array, None);
                let array = self.open_hidden(array);
                let element = match self.shallow(&array.ty) {
                    Type::Array(_, element) => (*element).clone(),
                    _ => {
                        let element = self.fresh_type(array.span);
                        let expected = Type::array(self.fresh_size(), element.clone());
                        self.expect(&expected, &array.ty, OnSizes::Ignore, array.span, "`for … in` runs over an array");
                        element
                    }
                };
                Header::ForIn(array, element)
            }
            ast::LoopForm::While(_) => Header::While,
        }
    }

    fn attempt_loop(
        &mut self,
        parts: &ast::LoopExp,
        initial: &Exp,
        form: &Header,
        stated: &BTreeMap<usize, Size>,
        varying: &[usize],
        span: Span,
    ) -> Attempt {
        let mark = self.locals.mark();
        let depth = self.depth;
        self.depth += 1;
        let mut carried_names = Vec::new();
        let initial_type = self.resolve(&initial.ty);
        let carried = self.vary(&initial_type, &|at| varying.contains(&at), &mut carried_names);
        let carried = if varying.contains(&IN_RESULTS) { self.loosen_results(&carried) } else { carried };
        let sizes = self.bind_sizes(&parts.sizes);
        let checks = self.new_checks();
        let mut bindings = Bindings::default();
        let pattern = self.pattern(&parts.pattern, &carried, Anonymous::Infer, checks, &mut bindings);
        self.require_sizes_in_pattern(&parts.sizes, &sizes, &pattern);
        let element_checks = self.new_checks();
        let typed_form = match (&parts.form, form) {
            (ast::LoopForm::For(name, _), Header::For(bound)) => {
                let id = self.fresh_var(name.name.clone());
                self.bind_local(&name.name, id, Scheme::mono(bound.ty.clone()));
                LoopForm::For(id, name.name.clone(), bound.clone())
            }
            (ast::LoopForm::ForIn(element_pattern, _), Header::ForIn(array, element)) => {
                let element_pattern = self.pattern(element_pattern, element, Anonymous::Infer, element_checks, &mut bindings);
                LoopForm::ForIn(element_pattern, array.clone())
            }
            (ast::LoopForm::While(condition), _) => {
                let condition = self.exp(condition, Some(&Type::bool()));
                self.expect(
                    &Type::bool(),
                    &condition.ty,
                    OnSizes::Ignore,
                    condition.span,
                    "the condition of a loop must be a bool",
                );
                LoopForm::While(with_sizes(&sizes, condition))
            }
            _ => LoopForm::While(error_exp(span)),
        };
        let body = self.exp(&parts.body, Some(&carried));
        let what = "the body of the loop and its initial value differ in type";
        self.expect_branch(&carried, &body, what);
        let body = self.open_hidden(body);
        let body_span = body.span;
        let body = self.with_stated_sizes(body, stated, body_span).unwrap_or_else(|| error_exp(body_span));
        let mut disagreeing = self.disagreeing(&carried, &body.ty);
        if self.results_differ(&carried, &body.ty) {
            disagreeing.push(IN_RESULTS);
        }
        self.depth = depth;
        self.locals.undo_to(mark);

        // Outside, every changing size is what the result has.
        let mut subst = Subst::default();
        let mut opened = Vec::new();
        for (id, name) in &carried_names {
            let fresh = self.fresh_var(name.clone());
            opened.push((fresh, name.clone()));
            subst.sizes.insert(*id, Size::Name(fresh, name.clone()));
        }
        let result = subst.ty(&self.resolve(&carried));
        let body = with_sizes(&sizes, self.checked_first(element_checks, body));
        let ty = body.ty.clone();
        let body = Exp { kind: ExpKind::Checked(self.check_set(checks), Box::new(body)), ty, span: body_span };
        let kind = ExpKind::Loop(Box::new(Loop {
            pattern,
            initial: initial.clone(),
            carried,
            varying: carried_names,
            form: typed_form,
            body,
            consumes: bindings.consumes,
            attributes: bindings.attributes,
        }));
        Attempt { exp: open(opened, Exp { kind, ty: result, span }), disagreeing }
    }

    /// The type with the sizes at some positions (counted in order) replaced by fresh names.
    fn vary(&mut self, ty: &Type, varies: &dyn Fn(usize) -> bool, names: &mut Vec<(VarId, Name)>) -> Type {
        map_sizes(ty, &mut |at, size| {
            if !varies(at) {
                return size.clone();
            }
            let name = Name::from("k");
            let id = self.fresh_var(name.clone());
            names.push((id, name.clone()));
            Size::Name(id, name)
        })
    }

    /// The type where what functions give has sizes of its own.
    fn loosen_results(&mut self, ty: &Type) -> Type {
        match ty {
            Type::Array(size, element) => Type::array(size.clone(), self.loosen_results(element)),
            Type::Record(fields) => {
                Type::Record(fields.iter().map(|(name, ty)| (name.clone(), self.loosen_results(ty))).collect())
            }
            Type::Arrow(arrow) => {
                let mut names = Vec::new();
                let to = self.vary(&arrow.to.ty, &|_| true, &mut names);
                let exists = names.into_iter().map(|(id, _)| id).collect();
                let to = Return { exists, unique: arrow.to.unique, ty: self.loosen_results(&to) };
                Type::Arrow(Rc::new(Arrow { to, ..(**arrow).clone() }))
            }
            other => other.clone(),
        }
    }

    /// Whether functions in two types give sizes that differ.
    fn results_differ(&mut self, left: &Type, right: &Type) -> bool {
        let left = self.resolve(left);
        let joined = self.join_two(&left, &self.resolve(right), false, &mut Vec::new());
        has_more_sizes(&joined, &left)
    }

    /// Positions at which the sizes of two types of one structure differ.
    fn disagreeing(&self, left: &Type, right: &Type) -> Vec<usize> {
        let mut found = Vec::new();
        self.compare_sizes(&self.resolve(left), &self.resolve(right), &mut 0, &mut found);
        found
    }

    fn compare_sizes(&self, left: &Type, right: &Type, position: &mut usize, found: &mut Vec<usize>) {
        match (left, right) {
            (Type::Array(left_size, left), Type::Array(right_size, right)) => {
                let unknown = |size: &Size| matches!(size, Size::Unknown);
                if unknown(left_size) || unknown(right_size) || !self.same_size(left_size, right_size) {
                    found.push(*position);
                }
                *position += 1;
                self.compare_sizes(left, right, position, found);
            }
            (Type::Record(left), Type::Record(right)) => {
                left.iter().zip(right.iter()).for_each(|(left, right)| self.compare_sizes(&left.1, &right.1, position, found));
            }
            (Type::Sum(left), Type::Sum(right)) => left
                .iter()
                .zip(right.iter())
                .flat_map(|(left, right)| left.1.iter().zip(&right.1))
                .for_each(|(left, right)| self.compare_sizes(left, right, position, found)),
            _ => {}
        }
    }
}

/// Whether results of functions in a type have sizes of their own that those in the other do not have.
fn has_more_sizes(joined: &Type, before: &Type) -> bool {
    match (joined, before) {
        (Type::Array(_, joined), Type::Array(_, before)) => has_more_sizes(joined, before),
        (Type::Record(joined), Type::Record(before)) => {
            joined.iter().zip(before.iter()).any(|(joined, before)| has_more_sizes(&joined.1, &before.1))
        }
        (Type::Arrow(joined), Type::Arrow(before)) => {
            joined.to.exists.len() > before.to.exists.len() || has_more_sizes(&joined.to.ty, &before.to.ty)
        }
        _ => false,
    }
}

/// The type with each of its sizes replaced, given their positions (counted in order).
fn map_sizes(ty: &Type, change: &mut dyn FnMut(usize, &Size) -> Size) -> Type {
    fn go(ty: &Type, position: &mut usize, change: &mut dyn FnMut(usize, &Size) -> Size) -> Type {
        match ty {
            Type::Array(size, element) => {
                let size = change(*position, size);
                *position += 1;
                Type::array(size, go(element, position, change))
            }
            Type::Record(fields) => {
                Type::Record(fields.iter().map(|(name, ty)| (name.clone(), go(ty, position, change))).collect())
            }
            Type::Sum(constructors) => {
                let constructor = |(name, payload): &(Name, Vec<Type>)| {
                    (name.clone(), payload.iter().map(|ty| go(ty, position, change)).collect())
                };
                Type::Sum(constructors.iter().map(constructor).collect())
            }
            other => other.clone(),
        }
    }
    go(ty, &mut 0, change)
}

fn sizes_of(ty: &Type) -> Vec<Size> {
    let mut sizes = Vec::new();
    map_sizes(ty, &mut |_, size| {
        sizes.push(size.clone());
        size.clone()
    });
    sizes
}

/// The expression with names of sizes bound in front of it.
fn with_sizes(sizes: &[(VarId, Name, Size)], exp: Exp) -> Exp {
    if sizes.is_empty() {
        return exp;
    }
    let (ty, span) = (exp.ty.clone(), exp.span);
    Exp { kind: ExpKind::LetSizes(sizes.to_vec(), Box::new(exp)), ty, span }
}

enum Header {
    For(Exp),
    ForIn(Exp, Type),
    While,
}

struct Attempt {
    exp: Exp,
    disagreeing: Vec<usize>,
}

/// The initial value of `loop p for …`: the variables of the pattern.
fn pattern_as_exp(pattern: &ast::Pattern) -> Option<ast::Exp> {
    let span = pattern.span;
    let kind = match &pattern.kind {
        ast::PatternKind::Name(name) => ast::ExpKind::Name(ast::QualName::unqualified(ast::Ident { name: name.clone(), span })),
        ast::PatternKind::Tuple(parts) => ast::ExpKind::Tuple(parts.iter().map(pattern_as_exp).collect::<Option<Vec<_>>>()?),
        ast::PatternKind::Record(fields) => ast::ExpKind::Record(
            fields
                .iter()
                .map(|(name, inner)| match inner {
                    Some(inner) => pattern_as_exp(inner).map(|exp| (name.clone(), Some(exp))),
                    None => Some((name.clone(), None)),
                })
                .collect::<Option<Vec<_>>>()?,
        ),
        ast::PatternKind::Ascribe(inner, annotation) => {
            ast::ExpKind::Ascribe(Box::new(pattern_as_exp(inner)?), (**annotation).clone())
        }
        ast::PatternKind::Attributed(_, inner) => return pattern_as_exp(inner),
        _ => return None,
    };
    Some(ast::Exp { kind, span })
}
