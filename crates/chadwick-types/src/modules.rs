//! Declarations and modules. A module is the scope it defines; a parametric module is checked again at every application.

use crate::checker::Checker;
use crate::env::{Functor, FunctorBody, Module, Scope, SignatureEntry, Term, TypeEntry, TypeEntryParam, ValueEntry};
use crate::existential::hides_size;
use crate::signatures::Hiding;
use crate::sizes::KnownFunction;
use crate::tree::{Definition, DefinitionBody, NamedBody, NamedParam, NamedType};
use crate::ty::{Size, Type, TypeArg};
use crate::type_exp::Anonymous;
use crate::unify::{Constraint, PrimSet};
use chadwick_source::{Diagnostic, FileId, Name, Span};
use chadwick_syntax::ast::{self, DeclarationKind, ModuleExpKind, ModuleTypeExpKind};
use std::cell::Cell;
use std::rc::Rc;

impl Checker<'_> {
    /// Checks all declarations of a file, into the innermost scope.
    pub fn file(&mut self, file: FileId) -> Rc<Scope> {
        let program = self.sources.files.get(&file).cloned().unwrap_or_default();
        let outer = std::mem::replace(&mut self.file, file);
        self.env.push(Rc::default());
        self.declarations(&program.declarations);
        self.file = outer;
        self.env.pop()
    }

    pub fn declarations(&mut self, declarations: &[ast::Declaration]) {
        self.reject_redefinitions(declarations);
        for declaration in declarations {
            self.declaration(declaration);
        }
    }

    /// One name may be defined once in a file or module (values and modules share their names).
    fn reject_redefinitions(&mut self, declarations: &[ast::Declaration]) {
        let mut terms: Vec<&ast::Ident> = Vec::new();
        let mut types: Vec<&ast::Ident> = Vec::new();
        let mut signatures: Vec<&ast::Ident> = Vec::new();
        for declaration in declarations {
            let mut kind = &declaration.kind;
            while let DeclarationKind::Local(inner) = kind {
                kind = &inner.kind;
            }
            match kind {
                DeclarationKind::Value(binding) => terms.push(&binding.name),
                DeclarationKind::ValueGroup(bindings) => terms.extend(bindings.iter().map(|binding| &binding.name)),
                DeclarationKind::Module(binding) => terms.push(&binding.name),
                DeclarationKind::Type(binding) => types.push(&binding.name),
                DeclarationKind::TypeGroup(bindings) => types.extend(bindings.iter().map(|binding| &binding.name)),
                DeclarationKind::ModuleType(name, _) => signatures.push(name),
                _ => {}
            }
        }
        for (names, what) in [(terms, "definition of"), (types, "definition of type"), (signatures, "definition of module type")]
        {
            self.reject_repeated(&names, what);
        }
    }

    /// A name may stand for one thing of its kind only.
    pub fn reject_repeated(&mut self, names: &[&ast::Ident], what: &str) {
        let mut first: rustc_hash::FxHashMap<&Name, Span> = rustc_hash::FxHashMap::default();
        for name in names {
            if let Some(earlier) = first.insert(&name.name, name.span) {
                self.error("E0266", name.span, format!("duplicate {what} {}", name.name))
                    .secondary
                    .push(chadwick_source::Label { span: earlier, text: String::from("first defined here") });
            }
        }
    }

    fn declaration(&mut self, declaration: &ast::Declaration) {
        match &declaration.kind {
            DeclarationKind::Error => {}
            DeclarationKind::Value(binding) => {
                let definition = self.top_function(binding, &declaration.attributes, declaration.doc.as_deref());
                self.classify(&definition);
                self.export(&definition);
                self.mark_entry(binding, &definition);
            }
            DeclarationKind::ValueGroup(bindings) => {
                for binding in bindings.iter().filter(|binding| binding.params.is_empty()) {
                    self.error("E0265", binding.name.span, format!("{} is recursive and needs a parameter", binding.name.name));
                }
                let definitions = self.top_group(bindings, true, &declaration.attributes, declaration.doc.as_deref());
                for (binding, definition) in bindings.iter().zip(&definitions) {
                    self.export(definition);
                    self.mark_entry(binding, definition);
                }
            }
            DeclarationKind::Type(binding) => {
                let mark = self.locals.mark();
                let params = self.type_params(&binding.params);
                self.defined_type = Some(binding.name.name.clone());
                let written = self.type_exp(&binding.body, Anonymous::Exists);
                self.defined_type = None;
                self.locals.undo_to(mark);
                let hidden: Vec<_> = written.sizes.iter().map(|(id, _)| *id).collect();
                self.require_constructive(&written.ty, binding.span);
                if (!hidden.is_empty() || hides_size(&written.ty)) && binding.liftedness == ast::Liftedness::Unlifted {
                    self.error("E0290", binding.span, format!("type {} hides a size", binding.name.name)).hint =
                        Some(String::from("declare it with `type~`, or give it a size parameter"));
                }
                let entry = TypeEntry { params, body: written.ty, hidden };
                self.env.innermost().types.insert(binding.name.name.clone(), entry);
            }
            DeclarationKind::TypeGroup(bindings) => self.recursive_types(bindings),
            DeclarationKind::Module(binding) => {
                if let Some(module) = self.module_binding(binding, 0) {
                    self.env.innermost().terms.insert(binding.name.name.clone(), Term::Module(module));
                }
            }
            DeclarationKind::ModuleType(name, exp) => {
                // For its errors only: what it means is found anew at every use.
                self.pretend(exp);
                let entry = SignatureEntry { exp: exp.clone(), env: self.env.clone() };
                self.env.innermost().signatures.insert(name.name.clone(), Rc::new(entry));
            }
            DeclarationKind::Open(exp) => {
                if let Some(module) = self.module_exp(exp) {
                    self.open_module(&module, exp.span);
                }
            }
            DeclarationKind::Import(path, span) => {
                // What an import brings is seen by the rest of the file but not by those who import it.
                if let Some(scope) = self.import(path, *span) {
                    self.open_locally(&scope);
                }
            }
            DeclarationKind::Local(inner) => {
                self.env.push(Rc::default());
                self.declaration(inner);
                let scope = self.env.pop();
                self.open_locally(&scope);
            }
        }
    }

    /// Makes names visible without exporting them: they go into a scope below the one being defined.
    fn open_locally(&mut self, scope: &Rc<Scope>) {
        let defined = self.env.pop();
        self.env.push(scope.clone());
        // Later definitions win over opened names, earlier ones do not.
        let mut shadowed = (*defined).clone();
        let hides = |name: &Name| scope.terms.contains_key(name);
        if shadowed.terms.keys().any(hides) {
            let earlier = Rc::new(Scope {
                terms: shadowed.terms.iter().filter(|(name, _)| hides(name)).map(|(n, t)| (n.clone(), t.clone())).collect(),
                ..Scope::default()
            });
            shadowed.terms.retain(|name, _| !hides(name));
            self.env.pop();
            self.env.push(earlier);
            self.env.push(scope.clone());
        }
        self.env.push(Rc::new(shadowed));
        self.local_frames += 1;
    }

    fn export(&mut self, definition: &Rc<Definition>) {
        let entry = ValueEntry { id: definition.id, scheme: Rc::new(definition.scheme.clone()) };
        self.env.innermost().terms.insert(definition.name.clone(), Term::Value(entry));
        if self.sources.prelude.contains(&self.file) {
            let known = match definition.name.as_str() {
                "|>" => KnownFunction::PipeForward,
                "<|" => KnownFunction::PipeBackward,
                "length" => KnownFunction::Length,
                _ => return,
            };
            self.known_functions.insert(definition.id, known);
        }
    }

    /// `#[class(t, real)]` on a definition of the prelude restricts a type parameter as an overloaded operator's is.
    fn classify(&mut self, definition: &Rc<Definition>) {
        for attribute in definition.attributes.iter().filter(|attribute| attribute.name == "class") {
            let [param, class] = attribute.arguments.as_slice() else { continue };
            let class = class_of(&class.name);
            if let (Some((id, _)), Some(class)) = (definition.scheme.types.iter().find(|(_, name)| *name == param.name), class) {
                self.param_classes.insert(*id, class);
            }
        }
    }

    fn recursive_types(&mut self, bindings: &[ast::TypeBinding]) {
        let mut ids = Vec::new();
        for binding in bindings {
            let name = binding.name.name.clone();
            let mark = self.locals.mark();
            let params = self.type_params(&binding.params);
            self.locals.undo_to(mark);
            let named_params: Vec<_> = params
                .iter()
                .map(|param| match param {
                    TypeEntryParam::Type(id) => NamedParam::Type(*id),
                    TypeEntryParam::Size(id) => NamedParam::Size(*id),
                })
                .collect();
            let args: Vec<_> = params
                .iter()
                .zip(&binding.params)
                .map(|(param, source)| match param {
                    TypeEntryParam::Type(id) => TypeArg::Type(Type::Param(*id, source.name.name.clone())),
                    TypeEntryParam::Size(id) => TypeArg::Size(Size::Name(*id, source.name.name.clone())),
                })
                .collect();
            let id =
                self.fresh_named(NamedType { name: name.clone(), params: named_params, body: NamedBody::Recursive(Vec::new()) });
            let body = Type::Named(id, name.clone(), args.into());
            self.env.innermost().types.insert(name, TypeEntry { params: params.clone(), body, hidden: Vec::new() });
            ids.push((id, params));
        }
        for (binding, (id, params)) in bindings.iter().zip(ids) {
            let mark = self.locals.mark();
            for (param, source) in params.iter().zip(&binding.params) {
                let name = source.name.name.clone();
                match param {
                    TypeEntryParam::Type(id) => {
                        let body = Type::Param(*id, name.clone());
                        self.locals.bind_type(name, TypeEntry { params: Vec::new(), body, hidden: Vec::new() });
                    }
                    TypeEntryParam::Size(id) => self.bind_local(&name, *id, crate::ty::Scheme::mono(Type::i64())),
                }
            }
            let written = self.type_exp(&binding.body, Anonymous::Any);
            self.locals.undo_to(mark);
            match written.ty {
                Type::Sum(constructors) => {
                    self.named[id.0 as usize].body = NamedBody::Recursive(constructors.to_vec());
                }
                Type::Error => {}
                _ => {
                    self.error("E0291", binding.span, format!("the recursive type {} must be a sum", binding.name.name)).hint =
                        Some(String::from("recursion goes through a constructor: `type rec t = #leaf | #node t t`"));
                }
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------------- modules

    /// `module m (p: P) … = body`, from parameter `next` on.
    fn module_binding(&mut self, binding: &ast::ModuleBinding, next: usize) -> Option<Rc<Module>> {
        if let Some(param) = binding.params.get(next) {
            let body = FunctorBody::More(Box::new((binding.clone(), next + 1)));
            let functor =
                Functor { param: param.clone(), signature: None, body, env: self.env.clone(), is_wrong: Cell::default() };
            let functor = Rc::new(Module::Functor(Box::new(functor)));
            if next == 0 {
                self.check_functor(&functor);
            }
            return Some(functor);
        }
        let module = self.module_exp(&binding.body)?;
        match &binding.signature {
            Some(signature) => self.ascribe(&module, signature, binding.span),
            None => Some(module),
        }
    }

    pub fn module_exp(&mut self, exp: &ast::ModuleExp) -> Option<Rc<Module>> {
        match &exp.kind {
            ModuleExpKind::Error => None,
            ModuleExpKind::Name(name) => {
                let mut path = name.qualifiers.clone();
                path.push(name.name.clone());
                self.find_module(&path)
            }
            ModuleExpKind::Import(path) => self.import(path, exp.span).map(|scope| Rc::new(Module::Structure(scope))),
            ModuleExpKind::Ascribe(inner, signature) => {
                let module = self.module_exp(inner)?;
                self.ascribe(&module, signature, exp.span)
            }
            ModuleExpKind::Lambda { param, signature, body } => {
                let functor = Functor {
                    param: (**param).clone(),
                    signature: signature.as_deref().cloned(),
                    body: FunctorBody::Expression((**body).clone()),
                    env: self.env.clone(),
                    is_wrong: Cell::default(),
                };
                let functor = Rc::new(Module::Functor(Box::new(functor)));
                self.check_functor(&functor);
                Some(functor)
            }
            ModuleExpKind::Apply(function, arg) => {
                let function = self.module_exp(function)?;
                let arg = self.module_exp(arg)?;
                self.apply_functor(&function, &arg, exp.span)
            }
            ModuleExpKind::Declarations(declarations) => {
                self.module_depth += 1;
                self.env.push(Rc::default());
                let frames = std::mem::take(&mut self.local_frames);
                self.declarations(declarations);
                let scope = self.env.pop();
                self.pop_local_frames();
                self.local_frames = frames;
                self.module_depth -= 1;
                Some(Rc::new(Module::Structure(scope)))
            }
        }
    }

    fn pop_local_frames(&mut self) {
        for _ in 0..self.local_frames {
            self.env.pop();
        }
        self.local_frames = 0;
    }

    fn apply_functor(&mut self, function: &Rc<Module>, arg: &Rc<Module>, span: Span) -> Option<Rc<Module>> {
        if !self.count_module(span) {
            return None;
        }
        let Module::Functor(functor) = &**function else {
            self.error("E0292", span, "only a parametric module can be applied");
            return None;
        };
        if self.module_depth > 200 {
            self.error("E0293", span, "modules are nested too deeply");
            return None;
        }
        let outer = std::mem::replace(&mut self.env, functor.env.clone());
        let arg = self.ascribe_as(arg, &functor.param.signature, Hiding::Transparent, span);
        let result = arg.and_then(|arg| self.functor_body(functor, arg));
        self.env = outer;
        result
    }

    fn functor_body(&mut self, functor: &Functor, arg: Rc<Module>) -> Option<Rc<Module>> {
        self.module_depth += 1;
        let mut scope = Scope::default();
        scope.terms.insert(functor.param.name.name.clone(), Term::Module(arg));
        self.env.push(Rc::new(scope));
        let frames = std::mem::take(&mut self.local_frames);
        let said = self.diagnostics.len();
        let module = match &functor.body {
            FunctorBody::Expression(body) => self.module_exp(body).and_then(|module| match &functor.signature {
                Some(signature) => self.ascribe(&module, signature, body.span),
                None => Some(module),
            }),
            FunctorBody::More(rest) => self.module_binding(&rest.0, rest.1),
        };
        if functor.is_wrong.get() {
            self.diagnostics.truncate(said);
            if let Some(Module::Functor(result)) = module.as_deref() {
                result.is_wrong.set(true);
            }
        }
        self.local_frames = frames;
        self.env.pop();
        self.module_depth -= 1;
        module
    }

    /// Checks a parametric module once against what its parameter promises; what that defines is thrown away.
    fn check_functor(&mut self, module: &Rc<Module>) {
        if self.sources.prelude.contains(&self.file) {
            return;
        }
        let Module::Functor(functor) = &**module else { return };
        let definitions = self.definitions.len();
        let said = self.diagnostics.len();
        let outer = std::mem::replace(&mut self.env, functor.env.clone());
        if let Some(arg) = self.pretend(&functor.param.signature)
            && let Some(result) = self.functor_body(functor, arg)
            && matches!(*result, Module::Functor(_))
        {
            self.check_functor(&result);
        }
        self.env = outer;
        self.definitions.truncate(definitions);
        functor.is_wrong.set(self.diagnostics[said..].iter().any(Diagnostic::is_error));
    }

    fn open_module(&mut self, module: &Rc<Module>, span: Span) {
        let Some(scope) = self.members(module, span) else { return };
        let innermost = self.env.innermost();
        innermost.terms.extend(scope.terms.iter().map(|(name, term)| (name.clone(), term.clone())));
        innermost.types.extend(scope.types.iter().map(|(name, entry)| (name.clone(), entry.clone())));
        innermost.signatures.extend(scope.signatures.iter().map(|(name, entry)| (name.clone(), entry.clone())));
    }

    pub fn import(&mut self, path: &str, span: Span) -> Option<Rc<Scope>> {
        let Some(file) = self.sources.imports.get(&(self.file, path.to_owned())).copied() else {
            self.error("E0294", span, format!("cannot import \"{path}\"")).hint =
                Some(String::from("the path is relative to this file, without the ending `.fut`"));
            return None;
        };
        match self.imported.get(&file) {
            Some(Some(scope)) => return Some(scope.clone()),
            Some(None) => {
                self.error("E0295", span, format!("\"{path}\" imports itself, directly or through others"));
                return None;
            }
            None => {}
        }
        self.imported.insert(file, None);
        let outer = std::mem::replace(&mut self.env, self.base.clone());
        let frames = std::mem::take(&mut self.local_frames);
        let scope = self.file(file);
        self.local_frames = frames;
        self.env = outer;
        self.imported.insert(file, Some(scope.clone()));
        Some(scope)
    }

    /// Declares the values of a module type as known to lowering by name.
    pub fn intrinsics(&mut self, specs: &[ast::Spec]) -> Rc<Scope> {
        let mut scope = Scope::default();
        for spec in specs {
            let ast::SpecKind::Value { name, params, ty } = &spec.kind else { continue };
            let (scheme, _) = self.spec_scheme(params, ty);
            for attribute in &spec.attributes {
                if let Some(class) = class_of(&attribute.name) {
                    for (id, _) in &scheme.types {
                        self.param_classes.insert(*id, class.clone());
                    }
                }
            }
            let id = self.fresh_var(name.name.clone());
            let known = match name.name.as_str() {
                "+" => Some(KnownFunction::Add),
                "-" => Some(KnownFunction::Sub),
                "*" => Some(KnownFunction::Mul),
                _ => None,
            };
            if let Some(known) = known {
                self.known_functions.insert(id, known);
            }
            self.definitions.push(Rc::new(Definition {
                id,
                name: name.name.clone(),
                scheme: scheme.clone(),
                body: DefinitionBody::Intrinsic(name.name.clone()),
                attributes: spec.attributes.clone(),
                doc: spec.doc.clone(),
                span: spec.span,
            }));
            scope.terms.insert(name.name.clone(), Term::Value(ValueEntry { id, scheme: Rc::new(scheme) }));
        }
        Rc::new(scope)
    }

    /// The specs of a module type that is written out.
    pub fn written_specs(exp: &ast::ModuleTypeExp) -> &[ast::Spec] {
        match &exp.kind {
            ModuleTypeExpKind::Specs(specs) => specs,
            _ => &[],
        }
    }
}

fn class_of(name: &str) -> Option<Constraint> {
    match name {
        "number" => Some(Constraint::prims(PrimSet::NUMBERS)),
        "integer" => Some(Constraint::prims(PrimSet::INTEGERS)),
        "float" => Some(Constraint::prims(PrimSet::FLOATS)),
        "real" => Some(Constraint::prims(PrimSet::REALS32_64)),
        "bool_or_integer" => Some(Constraint::prims(PrimSet::BOOL_OR_INTEGER)),
        "equality" => Some(Constraint { equality: true, ..Constraint::default() }),
        _ => None,
    }
}
