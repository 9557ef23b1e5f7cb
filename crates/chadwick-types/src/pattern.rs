//! Patterns: what they bind and which types they have.

use crate::checker::Checker;
use crate::tree::{Pattern, PatternKind};
use crate::ty::{Scheme, Type, VarId};
use crate::type_exp::Anonymous;
use crate::unify::{Constraint, OnSizes, PrimSet, arguments};
use chadwick_source::{Name, Span};
use chadwick_syntax::ast::{self, Literal};
use std::collections::BTreeMap;

/// What a pattern brought into scope.
#[derive(Default)]
pub struct Bindings {
    names: Vec<ast::Ident>,
    /// Sizes introduced by anonymous dimensions.
    pub sizes: Vec<(VarId, Name)>,
    pub attributes: Vec<ast::Attribute>,
    /// Whether a `*` stands in some annotation.
    pub consumes: bool,
}

impl Checker<'_> {
    /// Checks the pattern against the type of what it will match, and binds its names.
    pub fn pattern(
        &mut self,
        pattern: &ast::Pattern,
        expected: &Type,
        anonymous: Anonymous,
        on_sizes: OnSizes,
        bindings: &mut Bindings,
    ) -> Pattern {
        let span = pattern.span;
        let make = |kind, ty| Pattern { kind, ty, span };
        match &pattern.kind {
            ast::PatternKind::Error => make(PatternKind::Wildcard, Type::Error),
            ast::PatternKind::Wildcard => make(PatternKind::Wildcard, expected.clone()),
            ast::PatternKind::Name(name) => {
                let ident = ast::Ident { name: name.clone(), span };
                if let Some(first) = bindings.names.iter().find(|other| other.name == *name) {
                    let first = first.span;
                    self.error("E0220", span, format!("{name} is bound twice in one pattern"))
                        .secondary
                        .push(chadwick_source::Label { span: first, text: String::from("first here") });
                }
                bindings.names.push(ident);
                let id = self.fresh_var(name.clone());
                self.bind_local(name, id, Scheme::mono(expected.clone()));
                make(PatternKind::Var(id, name.clone()), expected.clone())
            }
            ast::PatternKind::Literal(literal) => self.literal_pattern(literal, false, expected, span),
            ast::PatternKind::NegativeLiteral(literal) => self.literal_pattern(literal, true, expected, span),
            ast::PatternKind::Attributed(attribute, inner) => {
                bindings.attributes.push(attribute.clone());
                self.pattern(inner, expected, anonymous, on_sizes, bindings)
            }
            ast::PatternKind::Ascribe(inner, annotation) => {
                let written = self.type_exp(annotation, anonymous);
                bindings.consumes |= written.unique;
                bindings.sizes.extend(written.sizes);
                self.expect(&written.ty, expected, on_sizes, span, "the pattern's type does not fit");
                self.pattern(inner, &written.ty, anonymous, on_sizes, bindings)
            }
            ast::PatternKind::Tuple(parts) => {
                let types = match self.shallow(expected) {
                    Type::Record(fields) if Type::Record(fields.clone()).as_tuple().is_some_and(|t| t.len() == parts.len()) => {
                        fields.iter().map(|(_, ty)| ty.clone()).collect()
                    }
                    _ => {
                        let types: Vec<_> = parts.iter().map(|part| self.fresh_type(part.span)).collect();
                        let tuple = Type::tuple(types.clone());
                        let what = format!("a pattern of {} components", parts.len());
                        self.expect(expected, &tuple, on_sizes, span, &what);
                        types
                    }
                };
                let parts: Vec<_> = parts
                    .iter()
                    .zip(types)
                    .enumerate()
                    .map(|(index, (part, ty))| {
                        (Name::from(index.to_string()), self.pattern(part, &ty, anonymous, on_sizes, bindings))
                    })
                    .collect();
                make(PatternKind::Record(parts), expected.clone())
            }
            ast::PatternKind::Record(fields) => {
                self.reject_duplicates(fields.iter().map(|(name, _)| name), "E0206", "field");
                let known = match self.shallow(expected) {
                    known @ Type::Record(_) => known,
                    _ => {
                        let types: Vec<_> =
                            fields.iter().map(|(name, _)| (name.name.clone(), self.fresh_type(name.span))).collect();
                        let record = Type::record(types);
                        self.expect(expected, &record, on_sizes, span, "a record pattern");
                        record
                    }
                };
                self.require_all_fields(&known, fields, span);
                let mut parts = Vec::new();
                for (name, inner) in fields {
                    let Some(ty) = known.field(&name.name).cloned() else {
                        let known = self.show(&known);
                        self.error("E0221", name.span, format!("{known} has no field {}", name.name));
                        continue;
                    };
                    let pun = ast::Pattern { kind: ast::PatternKind::Name(name.name.clone()), span: name.span };
                    let part = self.pattern(inner.as_ref().unwrap_or(&pun), &ty, anonymous, on_sizes, bindings);
                    parts.push((name.name.clone(), part));
                }
                make(PatternKind::Record(parts), expected.clone())
            }
            ast::PatternKind::Constructor(name, args) => {
                let expected_shallow = self.shallow(expected);
                let payload = match self.payload_of(&expected_shallow, &name.name) {
                    Some(payload) if payload.len() == args.len() => payload,
                    Some(payload) => {
                        let message = format!(
                            "constructor #{} takes {}, but the pattern has {}",
                            name.name,
                            arguments(payload.len()),
                            args.len()
                        );
                        self.error("E0222", span, message);
                        args.iter().map(|_| Type::Error).collect()
                    }
                    None => {
                        let payload: Vec<_> = args.iter().map(|arg| self.fresh_type(arg.span)).collect();
                        let constraint = Constraint {
                            constructors: BTreeMap::from([(name.name.clone(), payload.clone())]),
                            ..Constraint::default()
                        };
                        if let Err(mismatch) = self.constrain(expected, constraint, span) {
                            self.report_mismatch(&mismatch, span);
                        }
                        payload
                    }
                };
                let args =
                    args.iter().zip(payload).map(|(arg, ty)| self.pattern(arg, &ty, anonymous, on_sizes, bindings)).collect();
                make(PatternKind::Constructor(name.name.clone(), args), expected.clone())
            }
        }
    }

    /// A record pattern names every field of its record.
    fn require_all_fields(&mut self, known: &Type, fields: &[(ast::Ident, Option<ast::Pattern>)], span: Span) {
        let Type::Record(known_fields) = known else { return };
        let is_missing = |field: &&(Name, Type)| !fields.iter().any(|(name, _)| name.name == field.0);
        if let Some((missing, _)) = known_fields.iter().find(is_missing) {
            let shown = self.show(known);
            self.error("E0221", span, format!("the pattern lacks field {missing} of {shown}")).hint =
                Some(format!("add `{missing} = _`"));
        }
    }

    fn literal_pattern(&mut self, literal: &Literal, negative: bool, expected: &Type, span: Span) -> Pattern {
        let sign = if negative { -1 } else { 1 };
        let (kind, ty) = match literal {
            Literal::Bool(value) => (PatternKind::Bool(*value), Type::bool()),
            Literal::Int(value, suffix) => {
                let value = i128::try_from(*value).unwrap_or(i128::MAX);
                (PatternKind::Int(sign * value), self.number_type(suffix.as_ref(), PrimSet::NUMBERS, false, span))
            }
            Literal::Char(value) => {
                let ty = self.constrained_type(Constraint::prims(PrimSet::INTEGERS), span);
                (PatternKind::Int(i128::from(u32::from(*value))), ty)
            }
            Literal::Float(literal) => {
                let ty = self.number_type(literal.suffix.as_ref(), PrimSet::FLOATS, true, span);
                (PatternKind::Float(f64::from(sign as i8) * literal.value), ty)
            }
            Literal::String(_) => {
                self.error("E0223", span, "a string cannot be matched");
                (PatternKind::Wildcard, Type::Error)
            }
        };
        self.expect(expected, &ty, OnSizes::Ignore, span, "a literal pattern");
        Pattern { kind, ty: expected.clone(), span }
    }
}
