//! Patterns.

use super::{Printer, literal_text};
use crate::ast::{Pattern, PatternKind};

impl Printer {
    /// A pattern where everything may stand: in `let`, `loop` and brackets.
    pub(super) fn pattern(&mut self, pattern: &Pattern) {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.pattern_here(pattern));
    }

    fn pattern_here(&mut self, pattern: &Pattern) {
        match &pattern.kind {
            PatternKind::Name(name) => self.bound_name(name),
            PatternKind::Wildcard | PatternKind::Error => self.text("_"),
            PatternKind::Literal(literal) => self.literal(literal),
            PatternKind::NegativeLiteral(literal) => self.text(format!("-{}", literal_text(literal))),
            PatternKind::Tuple(patterns) => self.list("(", patterns, ")", Self::pattern),
            PatternKind::Record(fields) => self.list("{", fields, "}", |printer, (name, pattern)| {
                printer.text(name.name.as_str());
                if let Some(pattern) = pattern {
                    printer.text(" = ");
                    printer.pattern(pattern);
                }
            }),
            PatternKind::Constructor(name, payload) => {
                self.text(format!("#{}", name.name));
                for pattern in payload {
                    self.text(" ");
                    self.atomic_pattern(pattern);
                }
            }
            PatternKind::Ascribe(inner, ty) => {
                match &inner.kind {
                    PatternKind::Ascribe(..) | PatternKind::Attributed(..) => {
                        self.parenthesised(|printer| printer.pattern(inner))
                    }
                    _ => self.pattern(inner),
                }
                self.text(": ");
                self.type_exp(ty);
            }
            PatternKind::Attributed(attribute, inner) => {
                self.attribute(attribute);
                self.text(" ");
                self.pattern(inner);
            }
        }
    }

    /// The pattern of a `case`, where a bare type would swallow the arrow.
    pub(super) fn case_pattern(&mut self, pattern: &Pattern) {
        if ends_in_type(pattern) { self.parenthesised(|printer| printer.pattern(pattern)) } else { self.pattern(pattern) }
    }

    /// A pattern as a parameter.
    pub(super) fn atomic_pattern(&mut self, pattern: &Pattern) {
        let is_atomic = match &pattern.kind {
            PatternKind::Constructor(_, payload) => payload.is_empty(),
            PatternKind::NegativeLiteral(_) | PatternKind::Ascribe(..) | PatternKind::Attributed(..) => false,
            _ => true,
        };
        if is_atomic { self.pattern(pattern) } else { self.parenthesised(|printer| printer.pattern(pattern)) }
    }
}

fn ends_in_type(mut pattern: &Pattern) -> bool {
    loop {
        match &pattern.kind {
            PatternKind::Ascribe(..) => return true,
            PatternKind::Attributed(_, inner) => pattern = inner,
            _ => return false,
        }
    }
}
