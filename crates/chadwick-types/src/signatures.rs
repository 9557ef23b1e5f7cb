//! Module types: what a module must have, and what of it can be seen.

use crate::checker::Checker;
use crate::env::{Module, Scope, SignatureEntry, Term, TypeEntry, TypeEntryParam, ValueEntry};
use crate::subst::Subst;
use crate::tree::{Definition, DefinitionBody, Exp, ExpKind, Function, NamedBody, NamedParam, NamedType, SizeCheck};
use crate::ty::{NamedId, Scheme, Size, Type, TypeArg, VarId};
use crate::type_exp::Anonymous;
use crate::unify::OnSizes;
use chadwick_source::{Name, Span};
use chadwick_syntax::ast::{self, ModuleTypeExpKind, SpecKind};
use std::rc::Rc;

/// How deep module types may be nested.
const MOST_NESTED: usize = 100;

/// A module type with its includes unfolded and its refinements at hand.
#[derive(Default)]
struct Flat {
    specs: Vec<ast::Spec>,
    refinements: Vec<Refinement>,
}

impl Flat {
    /// The refinements of a module inside, as it would write them itself.
    fn refinements_in(&self, module: &Name) -> Vec<Refinement> {
        let inside = |refinement: &Refinement| match refinement.path.split_first() {
            Some((first, rest)) if first == module && !rest.is_empty() => {
                Some(Refinement { path: rest.to_vec(), to: refinement.to.clone() })
            }
            _ => None,
        };
        self.refinements.iter().filter_map(inside).collect()
    }
}

/// Whether types that a module type leaves open are hidden by it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hiding {
    Opaque,
    /// For the argument of a parametric module, whose body was checked against the module type alone.
    Transparent,
}

/// `with a.b.t = …`: the path to the type from where the module type stands, and what it is.
#[derive(Clone)]
struct Refinement {
    path: Vec<Name>,
    to: Refined,
}

#[derive(Clone)]
enum Refined {
    Known(TypeEntry),
    /// On an included module type: may name types that stand before the `include`.
    Written(Vec<ast::TypeParam>, ast::TypeExp),
}

impl Checker<'_> {
    /// The module seen through a module type.
    pub fn ascribe(&mut self, module: &Rc<Module>, signature: &ast::ModuleTypeExp, span: Span) -> Option<Rc<Module>> {
        self.ascribe_as(module, signature, Hiding::Opaque, span)
    }

    pub fn ascribe_as(
        &mut self,
        module: &Rc<Module>,
        signature: &ast::ModuleTypeExp,
        hiding: Hiding,
        span: Span,
    ) -> Option<Rc<Module>> {
        self.ascribe_refined(module, signature, Vec::new(), hiding, span)
    }

    fn ascribe_refined(
        &mut self,
        module: &Rc<Module>,
        signature: &ast::ModuleTypeExp,
        refinements: Vec<Refinement>,
        hiding: Hiding,
        span: Span,
    ) -> Option<Rc<Module>> {
        if self.is_parametric(signature, 0) {
            return match &**module {
                Module::Functor(_) => Some(module.clone()),
                Module::Structure(_) => {
                    self.error("E0296", span, "a parametric module is expected here");
                    None
                }
            };
        }
        let Module::Structure(scope) = &**module else {
            self.error("E0297", span, "a module is expected here, not a parametric one; apply it first");
            return None;
        };
        let scope = scope.clone();
        self.with_signature(signature, refinements, |checker, flat| checker.match_structure(&scope, &flat, hiding, span))
    }

    /// A module that has just what the module type promises, for checking the body of a parametric module.
    pub fn pretend(&mut self, signature: &ast::ModuleTypeExp) -> Option<Rc<Module>> {
        self.pretend_refined(signature, Vec::new())
    }

    fn pretend_refined(&mut self, signature: &ast::ModuleTypeExp, refinements: Vec<Refinement>) -> Option<Rc<Module>> {
        if self.is_parametric(signature, 0) {
            return None;
        }
        self.with_signature(signature, refinements, |checker, flat| {
            checker.env.push(Rc::default());
            let mut result = Scope::default();
            for spec in &flat.specs {
                match &spec.kind {
                    SpecKind::Type { name, params, body, .. } => {
                        let refined = checker.refinement(&flat, &name.name);
                        let entry = match (refined, body) {
                            (Some(entry), _) => entry,
                            (None, Some(body)) => checker.type_entry(params, body),
                            (None, None) => checker.abstract_entry(&name.name, params, NamedBody::Opaque).1,
                        };
                        checker.env.innermost().types.insert(name.name.clone(), entry.clone());
                        result.types.insert(name.name.clone(), entry);
                    }
                    SpecKind::Value { name, params, ty } => {
                        let (scheme, _) = checker.spec_scheme(params, ty);
                        let id = checker.fresh_var(name.name.clone());
                        let term = Term::Value(ValueEntry { id, scheme: Rc::new(scheme) });
                        checker.env.innermost().terms.insert(name.name.clone(), term.clone());
                        result.terms.insert(name.name.clone(), term);
                    }
                    SpecKind::Module(name, inner) => {
                        if let Some(module) = checker.pretend_refined(inner, flat.refinements_in(&name.name)) {
                            checker.env.innermost().terms.insert(name.name.clone(), Term::Module(module.clone()));
                            result.terms.insert(name.name.clone(), Term::Module(module));
                        }
                    }
                    SpecKind::Include(_) => {}
                }
            }
            checker.env.pop();
            Some(Rc::new(Module::Structure(Rc::new(result))))
        })
    }

    /// Unfolds a module type and runs `use_it` where its names are in scope.
    fn with_signature<T>(
        &mut self,
        signature: &ast::ModuleTypeExp,
        refinements: Vec<Refinement>,
        use_it: impl FnOnce(&mut Self, Flat) -> Option<T>,
    ) -> Option<T> {
        if !self.count_module(signature.span) {
            return None;
        }
        let mut flat = Flat { refinements, ..Flat::default() };
        let env = self.env.clone();
        let found = self.flatten(signature, &mut flat, false, 0);
        for refinement in &flat.refinements {
            let Some(first) = refinement.path.first() else { continue };
            let is_meant = |spec: &ast::Spec| match &spec.kind {
                SpecKind::Type { name, .. } => refinement.path.len() == 1 && name.name == *first,
                SpecKind::Module(name, _) => refinement.path.len() > 1 && name.name == *first,
                SpecKind::Value { .. } | SpecKind::Include(_) => false,
            };
            if found && !flat.specs.iter().any(is_meant) {
                self.error("E0210", signature.span, format!("the module type has no type {}", refinement.path.join(".")));
            }
        }
        let result = if found { use_it(self, flat) } else { None };
        self.env = env;
        result
    }

    fn find_signature(&mut self, name: &ast::QualName) -> Option<Rc<SignatureEntry>> {
        if name.qualifiers.is_empty() {
            return self.env.signature(&name.name.name).cloned();
        }
        match self.find_module(&name.qualifiers).as_deref() {
            Some(Module::Structure(scope)) => scope.signatures.get(&name.name.name).cloned(),
            _ => None,
        }
    }

    /// Whether the module type is one of parametric modules.
    fn is_parametric(&mut self, signature: &ast::ModuleTypeExp, depth: usize) -> bool {
        match &signature.kind {
            ModuleTypeExpKind::Arrow { .. } => true,
            // What is unknown, or nested without end, is found out when it is unfolded.
            ModuleTypeExpKind::Name(name) if depth < MOST_NESTED => {
                let errors = self.diagnostics.len();
                let found = self.find_signature(name);
                self.diagnostics.truncate(errors);
                found.is_some_and(|entry| {
                    let env = std::mem::replace(&mut self.env, entry.env.clone());
                    let is_parametric = self.is_parametric(&entry.exp, depth + 1);
                    self.env = env;
                    is_parametric
                })
            }
            _ => false,
        }
    }

    /// Collects specs and refinements. Afterwards the environment is the one in which the specs were written.
    fn flatten(&mut self, signature: &ast::ModuleTypeExp, flat: &mut Flat, included: bool, depth: usize) -> bool {
        if depth > MOST_NESTED {
            self.error("E0293", signature.span, "module types are nested too deeply");
            return false;
        }
        match &signature.kind {
            ModuleTypeExpKind::Error | ModuleTypeExpKind::Arrow { .. } => false,
            ModuleTypeExpKind::Name(name) => {
                let Some(entry) = self.find_signature(name) else {
                    self.error("E0298", name.span(), format!("unknown module type {name}"));
                    return false;
                };
                self.env = entry.env.clone();
                self.flatten(&entry.exp.clone(), flat, included, depth + 1)
            }
            ModuleTypeExpKind::With { base, name, params, body } => {
                let path = name.qualifiers.iter().chain([&name.name]).map(|name| name.name.clone()).collect();
                let to = match included {
                    true => Refined::Written(params.clone(), body.clone()),
                    false => Refined::Known(self.type_entry(params, body)),
                };
                flat.refinements.push(Refinement { path, to });
                self.flatten(base, flat, included, depth + 1)
            }
            ModuleTypeExpKind::Specs(specs) => {
                self.reject_repeated_specs(specs);
                for spec in specs {
                    match &spec.kind {
                        SpecKind::Include(inner) => {
                            let env = self.env.clone();
                            if !self.flatten(inner, flat, true, depth + 1) {
                                return false;
                            }
                            self.env = env;
                        }
                        _ => flat.specs.push(spec.clone()),
                    }
                }
                true
            }
        }
    }

    fn reject_repeated_specs(&mut self, specs: &[ast::Spec]) {
        let (mut terms, mut types) = (Vec::new(), Vec::new());
        for spec in specs {
            match &spec.kind {
                SpecKind::Value { name, .. } | SpecKind::Module(name, _) => terms.push(name),
                SpecKind::Type { name, .. } => types.push(name),
                SpecKind::Include(_) => {}
            }
        }
        self.reject_repeated(&terms, "specification of");
        self.reject_repeated(&types, "specification of type");
    }

    fn match_structure(&mut self, scope: &Scope, flat: &Flat, hiding: Hiding, span: Span) -> Option<Rc<Module>> {
        let mut result = Scope::default();
        // A module inside is matched where the types of those around it are abstract already.
        let around = self.transparent_from;
        self.transparent_from = around.or(Some(NamedId(self.named.len() as u32)));
        self.env.push(Rc::default());
        for spec in &flat.specs {
            match &spec.kind {
                SpecKind::Type { name, params, body, .. } => {
                    let Some(actual) = scope.types.get(&name.name).cloned() else {
                        self.error("E0299", span, format!("the module has no type {}", name.name))
                            .secondary
                            .push(chadwick_source::Label { span: spec.span, text: String::from("asked for here") });
                        continue;
                    };
                    let refined = self.refinement(flat, &name.name);
                    let refined_params = refined.as_ref().map_or(params.len(), |entry| entry.params.len());
                    if actual.params.len() != params.len() || refined_params != params.len() {
                        self.error("E0208", span, format!("type {} has another number of parameters", name.name));
                        continue;
                    }
                    let is_size = |param: &ast::TypeParam| param.kind == ast::TypeParamKind::Size;
                    let same_kind = |(wanted, actual): (&ast::TypeParam, &TypeEntryParam)| {
                        is_size(wanted) == matches!(actual, TypeEntryParam::Size(_))
                    };
                    if !params.iter().zip(&actual.params).all(same_kind) {
                        let message = format!(
                            "type {} has a size parameter where a type parameter is asked for, or the other way",
                            name.name
                        );
                        self.error("E0209", span, message);
                        continue;
                    }
                    let entry = match (refined, body) {
                        (Some(entry), Some(body)) => {
                            let written = self.type_entry(params, body);
                            self.require_same_type(&written, &entry, &name.name, span);
                            self.require_same_type(&entry, &actual, &name.name, span);
                            entry
                        }
                        (Some(entry), None) => {
                            self.require_same_type(&entry, &actual, &name.name, span);
                            entry
                        }
                        (None, Some(body)) => {
                            let written = self.type_entry(params, body);
                            self.require_same_type(&written, &actual, &name.name, span);
                            written
                        }
                        (None, None) if hiding == Hiding::Transparent => actual,
                        (None, None) => {
                            let (subst, entry_params) = self.align(&actual, params);
                            let representation = Type::hiding(&actual.hidden, subst.ty(&actual.body));
                            self.abstract_with(&name.name, params, entry_params, representation).1
                        }
                    };
                    self.env.innermost().types.insert(name.name.clone(), entry.clone());
                    result.types.insert(name.name.clone(), entry);
                }
                SpecKind::Value { name, params, ty } => {
                    let (wanted, hidden) = self.spec_scheme(params, ty);
                    match scope.terms.get(&name.name).cloned() {
                        Some(Term::Value(actual)) => {
                            let entry = self.match_value(&name.name, &actual, wanted, &hidden, span);
                            // Sizes in later specs may name it.
                            self.env.innermost().terms.insert(name.name.clone(), Term::Value(entry.clone()));
                            result.terms.insert(name.name.clone(), Term::Value(entry));
                        }
                        _ => {
                            self.error("E0299", span, format!("the module has no value {}", name.name))
                                .secondary
                                .push(chadwick_source::Label { span: spec.span, text: String::from("asked for here") });
                        }
                    }
                }
                SpecKind::Module(name, signature) => match scope.terms.get(&name.name).cloned() {
                    Some(Term::Module(inner)) => {
                        let refinements = flat.refinements_in(&name.name);
                        if let Some(module) = self.ascribe_refined(&inner, signature, refinements, hiding, span) {
                            self.env.innermost().terms.insert(name.name.clone(), Term::Module(module.clone()));
                            result.terms.insert(name.name.clone(), Term::Module(module));
                        }
                    }
                    _ => {
                        self.error("E0299", span, format!("the module has no module {}", name.name));
                    }
                },
                SpecKind::Include(_) => {}
            }
        }
        self.env.pop();
        self.transparent_from = around;
        Some(Rc::new(Module::Structure(Rc::new(result))))
    }

    /// What a `with` says of the type.
    fn refinement(&mut self, flat: &Flat, name: &Name) -> Option<TypeEntry> {
        let found = flat.refinements.iter().find(|refinement| refinement.path.as_slice() == std::slice::from_ref(name))?;
        Some(match &found.to {
            Refined::Known(entry) => entry.clone(),
            Refined::Written(params, body) => self.type_entry(params, body),
        })
    }

    /// A value seen at the type of its spec: itself if that says the same, else a definition that uses it there. Sizes that the spec
    /// hides are those of the value.
    fn match_value(&mut self, name: &Name, actual: &ValueEntry, mut wanted: Scheme, hidden: &[VarId], span: Span) -> ValueEntry {
        self.type_vars.clear();
        self.size_vars.clear();
        self.check_sets.clear();
        self.deferred.clear();
        self.ambient_checks = None;
        self.level += 1;
        let used = self.instantiate(actual, span);
        let checks = self.new_checks();
        let what = format!("{name} does not have the type that the module type asks for");
        wanted.ty = self.open_sizes(hidden, &wanted.ty);
        self.matching_spec = true;
        let fits = self.expect(&wanted.ty, &used.ty, checks, span, &what);
        self.retry_deferred(true);
        self.matching_spec = false;
        self.level -= 1;
        wanted.ty = self.resolve(&wanted.ty);
        // Nothing runs here that could check a size.
        let undecided = match checks {
            OnSizes::Check(set) => self.check_sets[set as usize].first().cloned(),
            OnSizes::Ignore => None,
        };
        if let Some(SizeCheck { expected, actual, .. }) = undecided {
            let message = match actual {
                Size::Name(_, name) if name.is_empty() => {
                    format!("{what}: expected size {expected}, found one that is known only when the program runs")
                }
                actual => format!("{what}: expected size {expected}, found {actual}"),
            };
            self.error("E0202", span, message);
        }
        if fits && has_fresh_result(&wanted.ty) && !has_fresh_result(&actual.scheme.ty) && self.may_share_result(actual.id) {
            let message = format!("{what}: the result must be unique, but is aliased to a parameter");
            self.error("E0403", span, message).hint =
                Some(String::from("return a `copy`, or remove the `*` from the module type"));
        }
        if !fits || (wanted.is_mono() && actual.scheme.is_mono()) {
            return ValueEntry { id: actual.id, scheme: Rc::new(wanted) };
        }
        let body = Exp { ty: wanted.ty.clone(), ..self.zonk(used) };
        let id = self.fresh_var(name.clone());
        let definition = Definition {
            id,
            name: name.clone(),
            scheme: wanted.clone(),
            body: DefinitionBody::Function(Function { params: Vec::new(), body }),
            attributes: Vec::new(),
            doc: None,
            span,
        };
        self.definitions.push(Rc::new(definition));
        if let Some(known) = self.known_functions.get(&actual.id).copied() {
            self.known_functions.insert(id, known);
        }
        ValueEntry { id, scheme: Rc::new(wanted) }
    }

    /// Whether the result of a function may share memory with its parameters.
    fn may_share_result(&self, id: VarId) -> bool {
        let definition = self.definitions.iter().rev().find(|definition| definition.id == id);
        let has_params = |definition: &Rc<Definition>| match &definition.body {
            DefinitionBody::Function(function) => !function.params.is_empty(),
            DefinitionBody::Intrinsic(_) => false,
        };
        definition.is_some_and(has_params) && !self.fresh_results.contains_key(&id)
    }

    fn require_same_type(&mut self, wanted: &TypeEntry, actual: &TypeEntry, name: &Name, span: Span) {
        let mut subst = Subst::default();
        for (wanted, actual) in wanted.params.iter().zip(&actual.params) {
            match (wanted, actual) {
                (TypeEntryParam::Type(wanted), TypeEntryParam::Type(actual)) => {
                    subst.types.insert(*actual, Type::Param(*wanted, name.clone()));
                }
                (TypeEntryParam::Size(wanted), TypeEntryParam::Size(actual)) => {
                    subst.sizes.insert(*actual, Size::Name(*wanted, name.clone()));
                }
                _ => {}
            }
        }
        let actual = subst.ty(&actual.body);
        let checks = self.new_checks();
        let what = format!("type {name} is not what the module type says");
        if !self.expect(&wanted.body.clone(), &actual, checks, span, &what)
            && let Some(last) = self.diagnostics.last_mut()
        {
            // No expression could be converted here.
            last.hint = None;
        }
    }

    /// The abbreviation that a type declaration makes.
    pub fn type_entry(&mut self, params: &[ast::TypeParam], body: &ast::TypeExp) -> TypeEntry {
        let mark = self.locals.mark();
        let params = self.type_params(params);
        let written = self.type_exp(body, Anonymous::Exists);
        self.locals.undo_to(mark);
        TypeEntry { params, body: written.ty, hidden: written.sizes.into_iter().map(|(id, _)| id).collect() }
    }

    /// New parameters for an abstract type, and the substitution that makes the actual type's parameters be them.
    fn align(&mut self, actual: &TypeEntry, params: &[ast::TypeParam]) -> (Subst, Vec<TypeEntryParam>) {
        let mark = self.locals.mark();
        let fresh = self.type_params(params);
        self.locals.undo_to(mark);
        let mut subst = Subst::default();
        for ((fresh, actual), source) in fresh.iter().zip(&actual.params).zip(params) {
            match (fresh, actual) {
                (TypeEntryParam::Type(fresh), TypeEntryParam::Type(actual)) => {
                    subst.types.insert(*actual, Type::Param(*fresh, source.name.name.clone()));
                }
                (TypeEntryParam::Size(fresh), TypeEntryParam::Size(actual)) => {
                    subst.sizes.insert(*actual, Size::Name(*fresh, source.name.name.clone()));
                }
                _ => {}
            }
        }
        (subst, fresh)
    }

    fn abstract_entry(&mut self, name: &Name, params: &[ast::TypeParam], body: NamedBody) -> (NamedId, TypeEntry) {
        let mark = self.locals.mark();
        let entry_params = self.type_params(params);
        self.locals.undo_to(mark);
        self.named_entry(name, params, entry_params, body)
    }

    fn abstract_with(
        &mut self,
        name: &Name,
        params: &[ast::TypeParam],
        entry_params: Vec<TypeEntryParam>,
        representation: Type,
    ) -> (NamedId, TypeEntry) {
        self.named_entry(name, params, entry_params, NamedBody::Abstract(representation))
    }

    fn named_entry(
        &mut self,
        name: &Name,
        params: &[ast::TypeParam],
        entry_params: Vec<TypeEntryParam>,
        body: NamedBody,
    ) -> (NamedId, TypeEntry) {
        let mut named_params = Vec::new();
        let mut args = Vec::new();
        for (param, source) in entry_params.iter().zip(params) {
            let param_name = source.name.name.clone();
            match param {
                TypeEntryParam::Type(id) => {
                    named_params.push(NamedParam::Type(*id));
                    args.push(TypeArg::Type(Type::Param(*id, param_name)));
                }
                TypeEntryParam::Size(id) => {
                    named_params.push(NamedParam::Size(*id));
                    args.push(TypeArg::Size(Size::Name(*id, param_name)));
                }
            }
        }
        let id = self.fresh_named(NamedType { name: name.clone(), params: named_params, body });
        let body = Type::Named(id, name.clone(), args.into());
        (id, TypeEntry { params: entry_params, body, hidden: Vec::new() })
    }

    /// Left of an arrow in a spec a size needs a name.
    fn require_named_sizes(&mut self, ty: &ast::TypeExp) {
        let mut ty = ty;
        while let ast::TypeExpKind::Arrow { from, to, .. } = &ty.kind {
            if let Some(span) = anonymous_size(from) {
                self.error("E0289", span, "the size of a parameter in a value spec needs a name").hint =
                    Some(String::from("write `val f [n] : [n]t -> …`"));
            }
            ty = to;
        }
    }

    /// The scheme of `val x 'a [n] : t`.
    pub fn spec_scheme(&mut self, params: &[ast::TypeParam], ty: &ast::TypeExp) -> (Scheme, Vec<VarId>) {
        let mark = self.locals.mark();
        let entries = self.type_params(params);
        self.require_named_sizes(ty);
        let written = self.type_exp(ty, Anonymous::Exists);
        self.locals.undo_to(mark);
        let mut scheme = Scheme::mono(written.ty);
        for (entry, source) in entries.iter().zip(params) {
            match entry {
                TypeEntryParam::Type(id) => scheme.types.push((*id, source.name.name.clone())),
                TypeEntryParam::Size(id) => scheme.sizes.push((*id, source.name.name.clone())),
            }
        }
        (scheme, written.sizes.into_iter().map(|(id, _)| id).collect())
    }
}

/// Where a type has a dimension without a size, outside function types.
fn anonymous_size(ty: &ast::TypeExp) -> Option<Span> {
    use ast::TypeExpKind as T;
    match &ty.kind {
        T::Array(size, _) if size.exp.is_none() => Some(ty.span),
        T::Array(_, inner) | T::Unique(inner) => anonymous_size(inner),
        T::Tuple(parts) => parts.iter().find_map(anonymous_size),
        T::Record(fields) => fields.iter().find_map(|(_, ty)| anonymous_size(ty)),
        T::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).find_map(anonymous_size),
        T::Apply(..) | T::Arrow { .. } | T::Exists(..) | T::Error => None,
    }
}

/// The bare variable of an alias definition, if it is one.
pub fn alias_of(definition: &Definition) -> Option<&Exp> {
    match &definition.body {
        DefinitionBody::Function(Function { params, body }) if params.is_empty() => match &body.kind {
            ExpKind::Var { .. } => Some(body),
            _ => None,
        },
        _ => None,
    }
}

/// Whether what a function gives in the end is declared unique.
fn has_fresh_result(ty: &Type) -> bool {
    match ty {
        Type::Arrow(arrow) => match arrow.to.ty {
            Type::Arrow(_) => has_fresh_result(&arrow.to.ty),
            _ => arrow.to.unique,
        },
        _ => false,
    }
}
