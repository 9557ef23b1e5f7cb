//! Definitions: parameters, recursion, generalisation.

use crate::checker::Checker;
use crate::env::{TypeEntry, TypeEntryParam};
use crate::exp::names_in_type;
use crate::lets::names_in_pattern;
use crate::pattern::Bindings;
use crate::tree::{Definition, DefinitionBody, Exp, ExpKind, Function, Pattern};
use crate::ty::{Arrow, ParamId, Return, Scheme, Size, SizeVar, Type, TypeArg, TypeVar, VarId};
use crate::type_exp::{Anonymous, Written};
use crate::unify::{OnSizes, SizeState, TypeState};
use chadwick_source::Name;
use chadwick_syntax::ast;
use std::rc::Rc;

/// A definition whose head is known and whose body is not checked yet.
struct Head<'s> {
    source: &'s ast::ValueBinding,
    id: VarId,
    types: Vec<(ParamId, Name)>,
    sizes: Vec<(VarId, Name)>,
    params: Vec<Pattern>,
    consumes: Vec<bool>,
    result: Option<Written>,
    /// Type of the function as far as the head says.
    ty: Type,
    /// What the result turns out to be, where it is not written.
    result_type: Type,
    checks: OnSizes,
}

impl Checker<'_> {
    /// A top-level definition, with everything inferred, defaulted and generalised.
    pub fn top_function(
        &mut self,
        binding: &ast::ValueBinding,
        attributes: &[ast::Attribute],
        doc: Option<&str>,
    ) -> Rc<Definition> {
        let group = self.top_group(std::slice::from_ref(binding), !binding.params.is_empty(), attributes, doc);
        match group.into_iter().next() {
            Some(definition) => definition,
            None => unreachable!("a group of one has one member"),
        }
    }

    pub fn top_group(
        &mut self,
        bindings: &[ast::ValueBinding],
        recursive: bool,
        attributes: &[ast::Attribute],
        doc: Option<&str>,
    ) -> Vec<Rc<Definition>> {
        self.type_vars.clear();
        self.size_vars.clear();
        self.check_sets.clear();
        self.deferred.clear();
        self.ambient_checks = None;
        self.said_too_large = false;
        let mut definitions = self.function_group(bindings, recursive, true);
        for definition in &mut definitions {
            definition.attributes = attributes.to_vec();
            definition.doc = doc.map(str::to_owned);
        }
        let definitions: Vec<_> = definitions.into_iter().map(|definition| Rc::new(self.zonk_definition(definition))).collect();
        if !self.sources.prelude.contains(&self.file) {
            definitions.iter().for_each(|definition| self.check_consumption(definition));
        }
        self.definitions.extend(definitions.iter().cloned());
        definitions
    }

    pub fn local_function(&mut self, binding: &ast::ValueBinding) -> Rc<Definition> {
        let definitions = self.function_group(std::slice::from_ref(binding), false, false);
        let definition = match definitions.into_iter().next() {
            Some(definition) => Rc::new(definition),
            None => unreachable!("a group of one has one member"),
        };
        self.bind_local(&definition.name, definition.id, definition.scheme.clone());
        definition
    }

    pub fn local_group(&mut self, bindings: &[ast::ValueBinding]) -> Vec<Rc<Definition>> {
        for binding in bindings.iter().filter(|binding| binding.params.is_empty()) {
            self.error("E0265", binding.name.span, format!("{} is recursive and needs a parameter", binding.name.name));
        }
        let definitions: Vec<_> = self.function_group(bindings, true, false).into_iter().map(Rc::new).collect();
        for definition in &definitions {
            self.bind_local(&definition.name, definition.id, definition.scheme.clone());
        }
        definitions
    }

    fn function_group(&mut self, bindings: &[ast::ValueBinding], recursive: bool, top: bool) -> Vec<Definition> {
        let mark = self.locals.mark();
        let outer_depth = self.depth;
        self.level += 1;
        let mut heads = Vec::new();
        for binding in bindings {
            let inner = self.locals.mark();
            self.depth += 1;
            heads.push(self.head(binding));
            self.depth = outer_depth;
            self.locals.undo_to(inner);
        }
        let defined_around = self.being_defined.len();
        if recursive {
            self.being_defined.extend(heads.iter().map(|head| head.id));
            for head in &heads {
                let scheme = Scheme { types: Vec::new(), sizes: head.sizes.clone(), ty: head.ty.clone() };
                self.bind_local(&head.source.name.name, head.id, scheme);
            }
        }
        let hides_itself = !recursive && !top;
        if hides_itself {
            self.not_recursive.extend(heads.first().map(|head| head.source.name.name.clone()));
        }
        let mut bodies = Vec::new();
        for head in &heads {
            let inner = self.locals.mark();
            self.depth += 1;
            self.rebind(head);
            bodies.push(self.function_body(head));
            self.depth = outer_depth;
            self.locals.undo_to(inner);
        }
        if hides_itself {
            self.not_recursive.pop();
        }
        self.level -= 1;
        self.locals.undo_to(mark);
        self.retry_deferred(top);
        if top {
            let open: Vec<(VarId, Type)> = heads
                .iter()
                .flat_map(|head| head.params.iter().map(|param| (head.id, param.ty.clone())))
                .filter(|(_, ty)| matches!(self.shallow(ty), Type::Var(_)))
                .collect();
            self.default_overloaded();
            for (function, ty) in open {
                if let Type::Prim(prim) = self.shallow(&ty) {
                    self.defaulted.insert(function, prim);
                }
            }
            self.retry_deferred(true);
        }
        let definitions: Vec<_> =
            heads.into_iter().zip(bodies).map(|(head, (body, result))| self.finish(head, body, &result)).collect();
        // What is left are equations of sizes that have names now.
        self.retry_deferred(top);
        if recursive && !self.sources.prelude.contains(&self.file) {
            self.warn_of_endless(&definitions);
        }
        self.being_defined.truncate(defined_around);
        definitions
    }

    /// Type parameters, parameters and written result.
    fn head<'s>(&mut self, binding: &'s ast::ValueBinding) -> Head<'s> {
        let mut types = Vec::new();
        let mut sizes = Vec::new();
        self.reject_duplicates(binding.type_params.iter().map(|param| &param.name), "E0261", "type parameter");
        for param in &binding.type_params {
            let name = param.name.name.clone();
            match param.kind {
                ast::TypeParamKind::Size => {
                    let id = self.fresh_var(name.clone());
                    self.bind_local(&name, id, Scheme::mono(Type::i64()));
                    sizes.push((id, name));
                }
                ast::TypeParamKind::Type(_) => {
                    let id = self.fresh_param();
                    if self.level > 1 {
                        self.param_levels.insert(id, self.level);
                    }
                    let body = Type::Param(id, name.clone());
                    self.locals.bind_type(name.clone(), TypeEntry { params: Vec::new(), body, hidden: Vec::new() });
                    types.push((id, name));
                }
            }
        }
        let checks = self.new_checks();
        let mut params = Vec::new();
        let mut consumes = Vec::new();
        let mut bindings = Bindings::default();
        for param in &binding.params {
            let ty = self.fresh_type(param.span);
            bindings.consumes = false;
            let pattern = self.pattern(param, &ty, Anonymous::Parameter, checks, &mut bindings);
            params.push(pattern);
            consumes.push(bindings.consumes);
        }
        sizes.append(&mut bindings.sizes);
        let result = binding.result.as_ref().map(|result| self.type_exp(result, Anonymous::Exists));
        let result_type = match &result {
            Some(written) => written.ty.clone(),
            None => self.fresh_type(binding.body.span),
        };
        let exists = result.as_ref().map_or(Vec::new(), |written| written.sizes.iter().map(|(id, _)| *id).collect());
        let unique = result.as_ref().is_some_and(|written| written.unique);
        let ty = arrows(&params, &consumes, Return { exists, unique, ty: result_type.clone() });
        let depth = self.depth;
        self.depth -= 1;
        let id = self.fresh_var(binding.name.name.clone());
        self.depth = depth;
        Head { source: binding, id, types, sizes, params, consumes, result, ty, result_type, checks }
    }

    /// Every size parameter must occur in a type: nothing else could tell what it is.
    fn require_sizes_in_types(&mut self, binding: &ast::ValueBinding, scheme: &Scheme, params: &[Pattern]) {
        let mut used = Vec::new();
        params.iter().for_each(|param| names_in_pattern(param, &mut used));
        names_in_type(&scheme.ty, &mut used);
        let written = binding.type_params.iter().filter(|param| param.kind == ast::TypeParamKind::Size);
        for (param, (id, name)) in written.zip(&scheme.sizes) {
            if !used.contains(id) && !self.has_errors() {
                self.error("E0224", param.name.span, format!("size {name} unused in the types of {}", binding.name.name)).hint =
                    Some(format!("give a parameter the type `[{name}]t`, or leave the size out"));
            }
        }
    }

    /// Brings the names of a head back into scope for its body.
    fn rebind(&mut self, head: &Head<'_>) {
        for (id, name) in &head.sizes {
            self.bind_local(name, *id, Scheme::mono(Type::i64()));
        }
        for (id, name) in &head.types {
            let body = Type::Param(*id, name.clone());
            self.locals.bind_type(name.clone(), TypeEntry { params: Vec::new(), body, hidden: Vec::new() });
        }
        for param in &head.params {
            self.rebind_pattern(param);
        }
    }

    fn rebind_pattern(&mut self, pattern: &Pattern) {
        use crate::tree::PatternKind;
        match &pattern.kind {
            PatternKind::Var(id, name) => self.bind_local(name, *id, Scheme::mono(pattern.ty.clone())),
            PatternKind::Record(fields) => fields.iter().for_each(|(_, field)| self.rebind_pattern(field)),
            PatternKind::Constructor(_, args) => args.iter().for_each(|arg| self.rebind_pattern(arg)),
            _ => {}
        }
    }

    /// The body and the type of the function's result.
    fn function_body(&mut self, head: &Head<'_>) -> (Exp, Type) {
        let body = self.exp(&head.source.body, head.result.as_ref().map(|written| &written.ty));
        let result = match &head.result {
            Some(written) => {
                let ids: Vec<_> = written.sizes.iter().map(|(id, _)| *id).collect();
                let expected = self.open_sizes(&ids, &written.ty);
                let what = format!("{} does not return what it declares", head.source.name.name);
                self.expect(&expected, &body.ty, head.checks, body.span, &what);
                written.ty.clone()
            }
            None => {
                let what = format!("the result of {}", head.source.name.name);
                self.expect(&head.result_type, &body.ty, OnSizes::Ignore, body.span, &what);
                body.ty.clone()
            }
        };
        let (ty, span) = (body.ty.clone(), body.span);
        let body = Exp { kind: ExpKind::Checked(self.check_set(head.checks), Box::new(body)), ty, span };
        (body, result)
    }

    /// Generalises and assembles.
    fn finish(&mut self, head: Head<'_>, body: Exp, result: &Type) -> Definition {
        let unique = head.result.as_ref().is_some_and(|written| written.unique);
        if head.result.is_none() {
            self.unannotated.insert(head.id);
        }
        let ty = match &head.result {
            Some(_) => head.ty.clone(),
            None => self.function_type(&head.sizes, &head.params, &head.consumes, result, unique),
        };
        let ty = self.resolve(&ty);
        let mut types = head.types;
        let mut sizes = head.sizes;
        let all: Vec<Type> = std::iter::once(ty.clone()).chain(head.params.iter().map(|param| self.resolve(&param.ty))).collect();
        all.iter().for_each(|ty| self.keep_pending(ty));
        all.iter().for_each(|ty| self.generalise(ty, &mut types, &mut sizes));
        let scheme = Scheme { types, sizes, ty: self.resolve(&ty) };
        self.report_too_large(head.source.name.span);
        self.require_sizes_in_types(head.source, &scheme, &head.params);
        Definition {
            id: head.id,
            name: head.source.name.name.clone(),
            scheme,
            body: DefinitionBody::Function(Function { params: head.params, body }),
            attributes: Vec::new(),
            doc: None,
            span: head.source.span,
        }
    }

    /// What a pending constraint speaks of stays open with it.
    fn keep_pending(&mut self, ty: &Type) {
        match self.shallow(ty) {
            Type::Var(var) => {
                if let TypeState::Unbound { constraint, .. } = &self.type_vars[var.0 as usize]
                    && constraint.is_pending()
                {
                    let level = self.level;
                    self.lower_levels(&Type::Var(var), level);
                }
            }
            Type::Record(fields) => fields.iter().for_each(|(_, ty)| self.keep_pending(ty)),
            Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).for_each(|ty| self.keep_pending(ty)),
            Type::Array(_, element) => self.keep_pending(&element),
            Type::Arrow(arrow) => {
                self.keep_pending(&arrow.from);
                self.keep_pending(&arrow.to.ty);
            }
            Type::Named(_, _, args) => args.iter().for_each(|arg| {
                if let TypeArg::Type(ty) = arg {
                    self.keep_pending(ty);
                }
            }),
            Type::Hidden(_, ty) => self.keep_pending(&ty),
            Type::Prim(_) | Type::Param(..) | Type::Error => {}
        }
    }

    /// Turns the open variables that belong to the finished definition into parameters.
    fn generalise(&mut self, ty: &Type, types: &mut Vec<(ParamId, Name)>, sizes: &mut Vec<(VarId, Name)>) {
        match self.shallow(ty) {
            Type::Var(var) => self.generalise_type_var(var, types),
            Type::Record(fields) => fields.iter().for_each(|(_, ty)| self.generalise(ty, types, sizes)),
            Type::Sum(constructors) => {
                constructors.iter().flat_map(|(_, payload)| payload).for_each(|ty| self.generalise(ty, types, sizes));
            }
            Type::Array(size, element) => {
                self.generalise_size(&size, sizes);
                self.generalise(&element, types, sizes);
            }
            Type::Arrow(arrow) => {
                self.generalise(&arrow.from, types, sizes);
                self.generalise(&arrow.to.ty, types, sizes);
            }
            Type::Named(_, _, args) => args.iter().for_each(|arg| match arg {
                TypeArg::Type(ty) => self.generalise(ty, types, sizes),
                TypeArg::Size(size) => self.generalise_size(size, sizes),
            }),
            Type::Hidden(_, ty) => self.generalise(&ty, types, sizes),
            Type::Prim(_) | Type::Param(..) | Type::Error => {}
        }
    }

    fn generalise_type_var(&mut self, var: TypeVar, types: &mut Vec<(ParamId, Name)>) {
        let TypeState::Unbound { level, constraint, .. } = &self.type_vars[var.0 as usize] else { return };
        if *level <= self.level {
            return;
        }
        if constraint.is_pending() {
            return;
        }
        let id = self.fresh_param();
        let letter = char::from(b'a' + (types.len() % 26) as u8);
        let name = Name::from(letter.to_string());
        self.type_vars[var.0 as usize] = TypeState::Bound(Type::Param(id, name.clone()));
        types.push((id, name));
    }

    fn generalise_size(&mut self, size: &Size, sizes: &mut Vec<(VarId, Name)>) {
        match self.resolve_size(size) {
            Size::Var(SizeVar(index)) => {
                let SizeState::Unbound { level } = self.size_vars[index as usize] else { return };
                if level <= self.level {
                    return;
                }
                let name = Name::from(format!("n{}", sizes.len()));
                self.depth += 1;
                let id = self.fresh_var(name.clone());
                self.depth -= 1;
                self.size_vars[index as usize] = SizeState::Bound(Size::Name(id, name.clone()));
                sizes.push((id, name));
            }
            Size::Add(left, right) | Size::Sub(left, right) | Size::Mul(left, right) => {
                self.generalise_size(&left, sizes);
                self.generalise_size(&right, sizes);
            }
            _ => {}
        }
    }

    /// Declares the parameters of a type and returns their entries; they are bound as local names.
    pub fn type_params(&mut self, params: &[ast::TypeParam]) -> Vec<TypeEntryParam> {
        self.reject_duplicates(params.iter().map(|param| &param.name), "E0261", "type parameter");
        params
            .iter()
            .map(|param| {
                let name = param.name.name.clone();
                match param.kind {
                    ast::TypeParamKind::Size => {
                        let id = self.fresh_var(name.clone());
                        self.bind_local(&name, id, Scheme::mono(Type::i64()));
                        TypeEntryParam::Size(id)
                    }
                    ast::TypeParamKind::Type(_) => {
                        let id = self.fresh_param();
                        let body = Type::Param(id, name.clone());
                        self.locals.bind_type(name, TypeEntry { params: Vec::new(), body, hidden: Vec::new() });
                        TypeEntryParam::Type(id)
                    }
                }
            })
            .collect()
    }
}

/// A curried function type.
fn arrows(params: &[Pattern], consumes: &[bool], result: Return) -> Type {
    use crate::tree::PatternKind;
    let mut to = result;
    for (param, consumes) in params.iter().zip(consumes).rev() {
        let (id, name) = match &param.kind {
            PatternKind::Var(id, name) => (Some(*id), Some(name.clone())),
            _ => (None, None),
        };
        let arrow = Arrow { param: id, param_name: name, consumes: *consumes, from: param.ty.clone(), to };
        to = Return { exists: Vec::new(), unique: false, ty: Type::Arrow(Rc::new(arrow)) };
    }
    to.ty
}
