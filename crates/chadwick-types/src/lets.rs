//! `let`: chains of bindings, and the sizes that `let [n] p` and `loop [n] p` name.

use crate::checker::Checker;
use crate::exp::names_in_type;
use crate::pattern::Bindings;
use crate::tree::{Definition, Exp, ExpKind, Pattern, PatternKind};
use crate::ty::{Prim, Scheme, Size, Type, VarId};
use crate::type_exp::Anonymous;
use chadwick_source::{Name, Span};
use chadwick_syntax::ast::{self, LetBinding};
use std::rc::Rc;

/// A `let` without its body.
enum LetWrapper {
    Value(Pattern, Exp),
    Sized(Vec<(VarId, Name, Size)>, Pattern, Exp),
    Functions(Vec<Rc<Definition>>, bool),
}

impl Checker<'_> {
    /// A chain of `let`s, walked without recursion in its length.
    pub fn let_chain(&mut self, exp: &ast::Exp, hint: Option<&Type>) -> Exp {
        let mark = self.locals.mark();
        let mut wrappers: Vec<(LetWrapper, Span)> = Vec::new();
        let mut current = exp;
        while let ast::ExpKind::Let(parts) = &current.kind {
            wrappers.push((self.let_binding(&parts.binding), current.span));
            current = &parts.body;
        }
        let mut body = self.exp(current, hint);
        self.locals.undo_to(mark);
        while let Some((wrapper, span)) = wrappers.pop() {
            let ty = body.ty.clone();
            let body_box = Box::new(body);
            let kind = match wrapper {
                LetWrapper::Value(pattern, value) => ExpKind::Let { pattern, value: Box::new(value), body: body_box },
                LetWrapper::Sized(sizes, pattern, value) => {
                    let inner = ExpKind::Let { pattern, value: Box::new(value), body: body_box };
                    ExpKind::LetSizes(sizes, Box::new(Exp { kind: inner, ty: ty.clone(), span }))
                }
                LetWrapper::Functions(functions, recursive) => ExpKind::LetFunctions { functions, recursive, body: body_box },
            };
            body = Exp { kind, ty, span };
        }
        body
    }

    fn let_binding(&mut self, binding: &LetBinding) -> LetWrapper {
        match binding {
            LetBinding::Pattern { sizes: written_sizes, pattern, value } => {
                let value_hint = match &pattern.kind {
                    ast::PatternKind::Ascribe(_, annotation) if written_sizes.is_empty() => {
                        Some(self.type_exp(annotation, Anonymous::Infer).ty)
                    }
                    _ => None,
                };
                let value = self.exp(value, value_hint.as_ref());
                let sizes = self.bind_sizes(written_sizes);
                let checks = self.new_checks();
                let value = if is_simple(pattern) { value } else { self.open_hidden(value) };
                let mut bindings = Bindings::default();
                let value_type = value.ty.clone();
                let pattern = self.pattern(pattern, &value_type, Anonymous::Infer, checks, &mut bindings);
                self.require_sizes_in_pattern(written_sizes, &sizes, &pattern);
                if let PatternKind::Var(id, _) = &pattern.kind
                    && matches!(self.shallow(&value.ty), Type::Prim(Prim::I64))
                {
                    self.vars[id.0 as usize].size = self.size_term(&value);
                }
                let span = value.span;
                let value = Exp { kind: ExpKind::Checked(self.check_set(checks), Box::new(value)), ty: value_type, span };
                if sizes.is_empty() { LetWrapper::Value(pattern, value) } else { LetWrapper::Sized(sizes, pattern, value) }
            }
            LetBinding::Function(binding) => {
                let definition = self.local_function(binding);
                LetWrapper::Functions(vec![definition], false)
            }
            LetBinding::Group(bindings) => {
                let definitions = self.local_group(bindings);
                LetWrapper::Functions(definitions, true)
            }
            LetBinding::Update { name, path, value } => {
                let target = self.name(&ast::QualName::unqualified(name.clone()));
                let value = self.update(target, path, value, name.span);
                let id = self.fresh_var(name.name.clone());
                self.bind_local(&name.name, id, Scheme::mono(value.ty.clone()));
                let pattern = Pattern { kind: PatternKind::Var(id, name.name.clone()), ty: value.ty.clone(), span: name.span };
                LetWrapper::Value(pattern, value)
            }
        }
    }

    /// Brings the names of sizes into scope; what they are is found when the pattern is matched.
    pub fn bind_sizes(&mut self, names: &[ast::Ident]) -> Vec<(VarId, Name, Size)> {
        let bind = |name: &ast::Ident| {
            let size = self.fresh_size();
            let id = self.fresh_var(name.name.clone());
            self.vars[id.0 as usize].size = Some(size.clone());
            self.bind_local(&name.name, id, Scheme::mono(Type::i64()));
            (id, name.name.clone(), size)
        };
        names.iter().map(bind).collect()
    }

    /// Every size that is named must occur in the pattern: nothing else could tell what it is.
    pub fn require_sizes_in_pattern(&mut self, written: &[ast::Ident], sizes: &[(VarId, Name, Size)], pattern: &Pattern) {
        let mut used = Vec::new();
        names_in_pattern(pattern, &mut used);
        for (ident, (id, ..)) in written.iter().zip(sizes) {
            if !used.contains(id) {
                self.error("E0224", ident.span, format!("size {} unused in pattern", ident.name)).hint =
                    Some(format!("give an array in the pattern the type `[{}]t`, or leave the size out", ident.name));
            }
        }
    }
}

fn is_simple(pattern: &ast::Pattern) -> bool {
    matches!(pattern.kind, ast::PatternKind::Name(_) | ast::PatternKind::Wildcard)
}

/// Collects all names in the types of a pattern and its parts.
pub fn names_in_pattern(pattern: &Pattern, names: &mut Vec<VarId>) {
    names_in_type(&pattern.ty, names);
    match &pattern.kind {
        PatternKind::Record(fields) => fields.iter().for_each(|(_, field)| names_in_pattern(field, names)),
        PatternKind::Constructor(_, args) => args.iter().for_each(|arg| names_in_pattern(arg, names)),
        PatternKind::Wildcard | PatternKind::Var(..) | PatternKind::Bool(_) | PatternKind::Int(_) | PatternKind::Float(_) => {}
    }
}
