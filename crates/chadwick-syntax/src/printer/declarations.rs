//! Declarations, modules and specifications.

use super::Printer;
use super::types::type_param_text;
use crate::ast::{
    Attribute, Declaration, DeclarationKind, Ident, Liftedness, ModuleBinding, ModuleExp, ModuleExpKind, ModuleParam,
    ModuleTypeExp, ModuleTypeExpKind, Spec, SpecKind, TypeBinding, TypeExp, TypeParam, ValueBinding,
};

impl Printer {
    /// Declarations with an empty line between them.
    pub(super) fn declarations(&mut self, declarations: &[Declaration]) {
        let printable = declarations.iter().filter(|declaration| !matches!(declaration.kind, DeclarationKind::Error));
        for (position, declaration) in printable.enumerate() {
            if position > 0 {
                self.layout.newline();
                self.layout.newline();
            }
            self.declaration(declaration);
        }
    }

    fn declaration(&mut self, declaration: &Declaration) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            self.doc(declaration.doc.as_deref());
            self.attributes(&declaration.attributes);
            self.declaration_kind(&declaration.kind);
        });
    }

    fn doc(&mut self, doc: Option<&str>) {
        let Some(doc) = doc else { return };
        for (position, line) in doc.split('\n').enumerate() {
            let marks = if position == 0 { "-- |" } else { "--" };
            self.text(format!("{marks} {line}").trim_end());
            self.layout.newline();
        }
    }

    fn attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            self.attribute(attribute);
            self.layout.newline();
        }
    }

    fn declaration_kind(&mut self, kind: &DeclarationKind) {
        match kind {
            DeclarationKind::Value(binding) => self.value_binding(if binding.is_entry { "entry" } else { "def" }, binding),
            DeclarationKind::ValueGroup(members) => self.value_group("def", members),
            DeclarationKind::Type(binding) => self.type_binding(type_keyword(binding.liftedness), binding),
            DeclarationKind::TypeGroup(members) => {
                for (position, member) in members.iter().enumerate() {
                    if position > 0 {
                        self.layout.newline();
                    }
                    let keyword = if position > 0 { "and".into() } else { format!("{} rec", type_keyword(member.liftedness)) };
                    self.type_binding(&keyword, member);
                }
            }
            DeclarationKind::Module(binding) => self.module_binding(binding),
            DeclarationKind::ModuleType(name, ty) => {
                self.text(format!("module type {} = ", name.name));
                self.module_type(ty);
            }
            DeclarationKind::Open(module) => {
                self.text("open ");
                self.module_exp(module);
            }
            DeclarationKind::Import(path, _) => {
                self.text("import ");
                self.path(path);
            }
            DeclarationKind::Local(inner) => {
                self.text("local ");
                self.declaration(inner);
            }
            DeclarationKind::Error => {}
        }
    }

    fn path(&mut self, path: &str) {
        self.literal(&crate::ast::Literal::String(path.to_string()));
    }

    // ------------------------------------------------------------------------------------------------------- values and types

    /// `keyword name params : result = body`
    pub(super) fn value_binding(&mut self, keyword: &str, binding: &ValueBinding) {
        self.group(2, |printer| {
            printer.group(2, |printer| {
                printer.text(format!("{keyword} "));
                printer.binder(&binding.name);
                printer.type_params(&binding.type_params);
                for param in &binding.params {
                    printer.layout.space();
                    printer.atomic_pattern(param);
                }
                if let Some(result) = &binding.result {
                    printer.text(" : ");
                    printer.type_exp(result);
                }
                printer.text(" =");
            });
            printer.layout.space();
            printer.exp(&binding.body);
        });
    }

    pub(super) fn value_group(&mut self, keyword: &str, members: &[ValueBinding]) {
        for (position, member) in members.iter().enumerate() {
            if position > 0 {
                self.layout.newline();
            }
            let keyword = if position > 0 { String::from("and") } else { format!("{keyword} rec") };
            self.value_binding(&keyword, member);
        }
    }

    fn type_binding(&mut self, keyword: &str, binding: &TypeBinding) {
        self.type_definition(keyword, &binding.name, &binding.params, Some(&binding.body));
    }

    fn type_definition(&mut self, keyword: &str, name: &Ident, params: &[TypeParam], body: Option<&TypeExp>) {
        self.group(2, |printer| {
            printer.text(format!("{keyword} {}", name.name));
            for param in params {
                printer.text(format!(" {}", type_param_text(param)));
            }
            if let Some(body) = body {
                printer.text(" =");
                printer.layout.space();
                printer.type_exp(body);
            }
        });
    }

    // ----------------------------------------------------------------------------------------------------------------- modules

    fn module_binding(&mut self, binding: &ModuleBinding) {
        self.text(format!("module {}", binding.name.name));
        for param in &binding.params {
            self.text(" ");
            self.module_param(param);
        }
        if let Some(signature) = &binding.signature {
            self.text(" : ");
            self.module_type(signature);
        }
        self.text(" = ");
        self.module_exp(&binding.body);
    }

    fn module_param(&mut self, param: &ModuleParam) {
        self.parenthesised(|printer| {
            printer.text(format!("{}: ", param.name.name));
            printer.module_type(&param.signature);
        });
    }

    fn module_exp(&mut self, module: &ModuleExp) {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.module_exp_here(module));
    }

    fn module_exp_here(&mut self, module: &ModuleExp) {
        match &module.kind {
            ModuleExpKind::Name(name) => self.qual_name(name),
            ModuleExpKind::Import(path) => {
                self.text("import ");
                self.path(path);
            }
            ModuleExpKind::Ascribe(inner, ty) => {
                match inner.kind {
                    ModuleExpKind::Lambda { .. } => self.parenthesised(|printer| printer.module_exp(inner)),
                    _ => self.module_exp(inner),
                }
                self.text(" : ");
                self.module_type(ty);
            }
            ModuleExpKind::Lambda { param, signature, body } => {
                self.text("\\");
                self.module_param(param);
                if let Some(signature) = signature {
                    self.text(" : ");
                    self.module_type_before_arrow(signature);
                }
                self.text(" -> ");
                self.module_exp(body);
            }
            ModuleExpKind::Apply(function, argument) => {
                match function.kind {
                    ModuleExpKind::Lambda { .. } | ModuleExpKind::Ascribe(..) => {
                        self.parenthesised(|printer| printer.module_exp(function));
                    }
                    _ => self.module_exp(function),
                }
                self.text(" ");
                match argument.kind {
                    ModuleExpKind::Name(_) | ModuleExpKind::Declarations(_) | ModuleExpKind::Error => self.module_exp(argument),
                    _ => self.parenthesised(|printer| printer.module_exp(argument)),
                }
            }
            ModuleExpKind::Declarations(declarations) => self.braces(declarations, Self::declarations),
            ModuleExpKind::Error => self.text("{}"),
        }
    }

    fn braces<T>(&mut self, contents: &[T], print: impl FnOnce(&mut Self, &[T])) {
        if contents.is_empty() {
            return self.text("{}");
        }
        self.text("{");
        self.group(2, |printer| {
            printer.layout.newline();
            print(printer, contents);
        });
        self.layout.newline();
        self.text("}");
    }

    // ------------------------------------------------------------------------------------------------------------ module types

    fn module_type(&mut self, ty: &ModuleTypeExp) {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.module_type_here(ty));
    }

    fn module_type_here(&mut self, ty: &ModuleTypeExp) {
        match &ty.kind {
            ModuleTypeExpKind::Name(name) => self.qual_name(name),
            ModuleTypeExpKind::Specs(specs) => self.braces(specs, |printer, specs| {
                for (position, spec) in specs.iter().enumerate() {
                    if position > 0 {
                        printer.layout.newline();
                    }
                    printer.spec(spec);
                }
            }),
            ModuleTypeExpKind::With { base, name, params, body } => {
                match base.kind {
                    ModuleTypeExpKind::Arrow { .. } => self.parenthesised(|printer| printer.module_type(base)),
                    _ => self.module_type(base),
                }
                self.text(format!(" with {name}"));
                for param in params {
                    self.text(format!(" {}", type_param_text(param)));
                }
                self.text(" = ");
                self.type_exp(body);
            }
            ModuleTypeExpKind::Arrow { param: Some(name), from, to } => {
                self.parenthesised(|printer| {
                    printer.text(format!("{}: ", name.name));
                    printer.module_type(from);
                });
                self.text(" -> ");
                self.module_type(to);
            }
            ModuleTypeExpKind::Arrow { param: None, from, to } => {
                self.module_type_before_arrow(from);
                self.text(" -> ");
                self.module_type(to);
            }
            ModuleTypeExpKind::Error => self.text("{}"),
        }
    }

    /// A refinement right before an arrow would take the arrow into its type.
    fn module_type_before_arrow(&mut self, ty: &ModuleTypeExp) {
        match ty.kind {
            ModuleTypeExpKind::With { .. } | ModuleTypeExpKind::Arrow { .. } => {
                self.parenthesised(|printer| printer.module_type(ty))
            }
            _ => self.module_type(ty),
        }
    }

    fn spec(&mut self, spec: &Spec) {
        self.doc(spec.doc.as_deref());
        self.attributes(&spec.attributes);
        match &spec.kind {
            SpecKind::Value { name, params, ty } => self.group(2, |printer| {
                printer.text("val ");
                printer.binder(name);
                for param in params {
                    printer.text(format!(" {}", type_param_text(param)));
                }
                printer.text(" :");
                printer.layout.space();
                printer.type_exp(ty);
            }),
            SpecKind::Type { liftedness, name, params, body } => {
                self.type_definition(type_keyword(*liftedness), name, params, body.as_ref());
            }
            SpecKind::Module(name, ty) => {
                self.text(format!("module {} : ", name.name));
                self.module_type(ty);
            }
            SpecKind::Include(ty) => {
                self.text("include ");
                self.module_type(ty);
            }
        }
    }
}

fn type_keyword(liftedness: Liftedness) -> &'static str {
    match liftedness {
        Liftedness::Unlifted => "type",
        Liftedness::SizeLifted => "type~",
        Liftedness::Lifted => "type^",
    }
}
