//! Trees without positions, to compare what was parsed from different texts.

use chadwick_source::Span;

use crate::ast::*;

/// Sets every span in a tree to the default one.
pub trait EraseSpans {
    fn erase_spans(&mut self);

    fn without_spans(mut self) -> Self
    where
        Self: Sized,
    {
        self.erase_spans();
        self
    }
}

impl EraseSpans for Span {
    fn erase_spans(&mut self) {
        *self = Span::default();
    }
}

impl<T: EraseSpans> EraseSpans for Vec<T> {
    fn erase_spans(&mut self) {
        self.iter_mut().for_each(T::erase_spans);
    }
}

impl<T: EraseSpans> EraseSpans for Option<T> {
    fn erase_spans(&mut self) {
        self.iter_mut().for_each(T::erase_spans);
    }
}

impl<T: EraseSpans> EraseSpans for Box<T> {
    fn erase_spans(&mut self) {
        (**self).erase_spans();
    }
}

impl<A: EraseSpans, B: EraseSpans> EraseSpans for (A, B) {
    fn erase_spans(&mut self) {
        self.0.erase_spans();
        self.1.erase_spans();
    }
}

/// Erases the named fields of a struct.
macro_rules! erase_fields {
    ($($ty:ident { $($field:ident),* $(,)? })*) => {
        $(impl EraseSpans for $ty {
            fn erase_spans(&mut self) {
                $(self.$field.erase_spans();)*
            }
        })*
    };
}

erase_fields! {
    QualName { qualifiers, name }
    Ident { span }
    Attribute { arguments, span }
    Program { declarations }
    Declaration { attributes, kind, span }
    ValueBinding { name, type_params, params, result, body, span }
    TypeParam { name }
    TypeBinding { name, params, body, span }
    ModuleBinding { name, params, signature, body, span }
    ModuleParam { name, signature }
    ModuleExp { kind, span }
    ModuleTypeExp { kind, span }
    Spec { attributes, kind, span }
    TypeExp { kind, span }
    SizeExp { exp, span }
    Pattern { kind, span }
    Exp { kind, span }
    LetExp { binding, body }
    LoopExp { sizes, pattern, initial, form, body }
}

/// Erases several things.
macro_rules! erase {
    ($($part:expr),*) => {{ $($part.erase_spans();)* }};
}

impl EraseSpans for DeclarationKind {
    fn erase_spans(&mut self) {
        match self {
            DeclarationKind::Value(binding) => erase!(binding),
            DeclarationKind::ValueGroup(members) => erase!(members),
            DeclarationKind::Type(binding) => erase!(binding),
            DeclarationKind::TypeGroup(members) => erase!(members),
            DeclarationKind::Module(binding) => erase!(binding),
            DeclarationKind::ModuleType(name, ty) => erase!(name, ty),
            DeclarationKind::Open(module) => erase!(module),
            DeclarationKind::Import(_, span) => erase!(span),
            DeclarationKind::Local(inner) => erase!(inner),
            DeclarationKind::Error => {}
        }
    }
}

impl EraseSpans for ModuleExpKind {
    fn erase_spans(&mut self) {
        match self {
            ModuleExpKind::Name(name) => erase!(name),
            ModuleExpKind::Ascribe(module, ty) => erase!(module, ty),
            ModuleExpKind::Lambda { param, signature, body } => erase!(param, signature, body),
            ModuleExpKind::Apply(function, argument) => erase!(function, argument),
            ModuleExpKind::Declarations(declarations) => erase!(declarations),
            ModuleExpKind::Import(_) | ModuleExpKind::Error => {}
        }
    }
}

impl EraseSpans for ModuleTypeExpKind {
    fn erase_spans(&mut self) {
        match self {
            ModuleTypeExpKind::Name(name) => erase!(name),
            ModuleTypeExpKind::Specs(specs) => erase!(specs),
            ModuleTypeExpKind::With { base, name, params, body } => erase!(base, name, params, body),
            ModuleTypeExpKind::Arrow { param, from, to } => erase!(param, from, to),
            ModuleTypeExpKind::Error => {}
        }
    }
}

impl EraseSpans for SpecKind {
    fn erase_spans(&mut self) {
        match self {
            SpecKind::Value { name, params, ty } => erase!(name, params, ty),
            SpecKind::Type { name, params, body, .. } => erase!(name, params, body),
            SpecKind::Module(name, ty) => erase!(name, ty),
            SpecKind::Include(ty) => erase!(ty),
        }
    }
}

impl EraseSpans for TypeExpKind {
    fn erase_spans(&mut self) {
        deeper(|| match self {
            TypeExpKind::Apply(name, arguments) => erase!(name, arguments),
            TypeExpKind::Tuple(types) => erase!(types),
            TypeExpKind::Record(fields) => erase!(fields),
            TypeExpKind::Array(size, element) => erase!(size, element),
            TypeExpKind::Unique(inner) => erase!(inner),
            TypeExpKind::Arrow { param, from, to } => erase!(param, from, to),
            TypeExpKind::Sum(constructors) => erase!(constructors),
            TypeExpKind::Exists(sizes, body) => erase!(sizes, body),
            TypeExpKind::Error => {}
        });
    }
}

impl EraseSpans for TypeArg {
    fn erase_spans(&mut self) {
        match self {
            TypeArg::Size(size) => erase!(size),
            TypeArg::Type(ty) => erase!(ty),
        }
    }
}

impl EraseSpans for PatternKind {
    fn erase_spans(&mut self) {
        deeper(|| match self {
            PatternKind::Tuple(patterns) => erase!(patterns),
            PatternKind::Record(fields) => erase!(fields),
            PatternKind::Constructor(name, payload) => erase!(name, payload),
            PatternKind::Ascribe(inner, ty) => erase!(inner, ty),
            PatternKind::Attributed(attribute, inner) => erase!(attribute, inner),
            PatternKind::Name(_)
            | PatternKind::Wildcard
            | PatternKind::Literal(_)
            | PatternKind::NegativeLiteral(_)
            | PatternKind::Error => {}
        });
    }
}

impl EraseSpans for ExpKind {
    fn erase_spans(&mut self) {
        deeper(|| match self {
            ExpKind::Name(name) | ExpKind::Operator(name) => erase!(name),
            ExpKind::Tuple(elements) | ExpKind::Array(elements) => erase!(elements),
            ExpKind::Paren(inner) | ExpKind::Unary(_, inner) => erase!(inner),
            ExpKind::Record(fields) => erase!(fields),
            ExpKind::Apply(function, arguments) => erase!(function, arguments),
            ExpKind::Constructor(name, arguments) => erase!(name, arguments),
            ExpKind::Binary(left, operator, right) => erase!(left, operator, right),
            ExpKind::LeftSection(operand, operator) | ExpKind::RightSection(operator, operand) => erase!(operand, operator),
            ExpKind::ProjectSection(path) => erase!(path),
            ExpKind::Project(record, field) => erase!(record, field),
            ExpKind::Index(array, parts) => erase!(array, parts),
            ExpKind::OpenIn(name, inner) => erase!(name, inner),
            ExpKind::Let(parts) => erase!(parts),
            ExpKind::If(condition, then, otherwise) => erase!(condition, then, otherwise),
            ExpKind::Loop(parts) => erase!(parts),
            ExpKind::Match(scrutinee, cases) => erase!(scrutinee, cases),
            ExpKind::Lambda { params, result, body } => erase!(params, result, body),
            ExpKind::Assert(condition, value) => erase!(condition, value),
            ExpKind::Ascribe(inner, ty) | ExpKind::Coerce(inner, ty) => erase!(inner, ty),
            ExpKind::Range { first, second, last, .. } => erase!(first, second, last),
            ExpKind::Update { target, path, value } => erase!(target, path, value),
            ExpKind::Attributed(attribute, inner) => erase!(attribute, inner),
            ExpKind::Literal(_) | ExpKind::Hole | ExpKind::Error => {}
        });
    }
}

impl EraseSpans for Access {
    fn erase_spans(&mut self) {
        match self {
            Access::Field(name) => erase!(name),
            Access::Index(parts, span) => erase!(parts, span),
        }
    }
}

impl EraseSpans for IndexPart {
    fn erase_spans(&mut self) {
        match self {
            IndexPart::Index(exp) => erase!(exp),
            IndexPart::Slice { start, end, stride, span } => erase!(start, end, stride, span),
        }
    }
}

impl EraseSpans for LetBinding {
    fn erase_spans(&mut self) {
        match self {
            LetBinding::Pattern { sizes, pattern, value } => erase!(sizes, pattern, value),
            LetBinding::Function(function) => erase!(function),
            LetBinding::Group(members) => erase!(members),
            LetBinding::Update { name, path, value } => erase!(name, path, value),
        }
    }
}

impl EraseSpans for LoopForm {
    fn erase_spans(&mut self) {
        match self {
            LoopForm::For(counter, bound) => erase!(counter, bound),
            LoopForm::ForIn(pattern, array) => erase!(pattern, array),
            LoopForm::While(condition) => erase!(condition),
        }
    }
}

/// Trees may be thousands of levels high.
fn deeper(erase: impl FnOnce()) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, erase);
}
