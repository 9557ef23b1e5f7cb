//! Patterns.

use chadwick_source::{Diagnostic, Span};

use super::Parser;
use super::recovery::Bracket;
use crate::ast::{Literal, Pattern, PatternKind};
use crate::lexer::{Keyword, LiteralKind, TokenKind};

impl Parser<'_> {
    /// A pattern with attributes and possibly a bare type ascription: in `let`, `loop` and brackets.
    pub(super) fn pattern(&mut self) -> Pattern {
        self.nested(Self::pattern_here, |span| Pattern { kind: PatternKind::Error, span })
    }

    fn pattern_here(&mut self) -> Pattern {
        let start = self.here();
        if self.at(TokenKind::AttributeOpen) {
            let attribute = self.attribute();
            let inner = Box::new(self.pattern());
            return self.matching(start, PatternKind::Attributed(attribute, inner));
        }
        let pattern = self.unascribed_pattern();
        if !self.eat(TokenKind::Colon) {
            return pattern;
        }
        let ty = Box::new(self.type_exp());
        self.matching(start, PatternKind::Ascribe(Box::new(pattern), ty))
    }

    /// The pattern of a `case`: a bare ascription would swallow the arrow.
    pub(super) fn case_pattern(&mut self) -> Pattern {
        let start = self.here();
        if self.at(TokenKind::AttributeOpen) {
            let attribute = self.attribute();
            let inner = self.nested(Self::case_pattern, |span| Pattern { kind: PatternKind::Error, span });
            return self.matching(start, PatternKind::Attributed(attribute, Box::new(inner)));
        }
        let pattern = self.unascribed_pattern();
        if !self.at(TokenKind::Colon) {
            return pattern;
        }
        let diagnostic = Diagnostic::error("E0140", self.here(), "a type behind the pattern of a `case` needs parentheses")
            .here("the type would swallow the arrow")
            .hint("write `case (p: t) -> …`");
        self.report(diagnostic);
        self.advance();
        let ty = Box::new(self.prefix_type());
        self.matching(start, PatternKind::Ascribe(Box::new(pattern), ty))
    }

    fn matching(&self, start: Span, kind: PatternKind) -> Pattern {
        Pattern { kind, span: self.since(start) }
    }

    /// A constructor with its payload, or an atomic pattern.
    fn unascribed_pattern(&mut self) -> Pattern {
        if !self.at(TokenKind::Constructor) {
            return self.atomic_pattern();
        }
        let start = self.here();
        let constructor = self.constructor_name();
        let mut payload = Vec::new();
        while self.at_atomic_pattern() || self.at_negative_literal() {
            payload.push(self.atomic_pattern());
        }
        self.matching(start, PatternKind::Constructor(constructor, payload))
    }

    pub(super) fn at_atomic_pattern(&self) -> bool {
        match self.kind() {
            TokenKind::Name => !self.at_group_separator(),
            TokenKind::Underscore
            | TokenKind::Literal(..)
            | TokenKind::LeftParen
            | TokenKind::LeftBrace
            | TokenKind::Constructor => true,
            TokenKind::Keyword(Keyword::True | Keyword::False) => true,
            _ => false,
        }
    }

    fn at_negative_literal(&self) -> bool {
        self.at_symbol("-") && matches!(self.peek_at(1).kind, TokenKind::Literal(LiteralKind::Int | LiteralKind::Float, _))
    }

    /// A pattern that needs no parentheses as a parameter.
    pub(super) fn atomic_pattern(&mut self) -> Pattern {
        self.nested(Self::atomic_pattern_here, |span| Pattern { kind: PatternKind::Error, span })
    }

    fn atomic_pattern_here(&mut self) -> Pattern {
        let start = self.here();
        let kind = match self.kind() {
            TokenKind::Name => {
                let token = self.advance();
                let ident = self.token_ident(token);
                if self.at_tight_dot_before(TokenKind::Name) {
                    let diagnostic = Diagnostic::error("E0122", self.here(), "a pattern binds plain names, without dots")
                        .here("no dot can stand here")
                        .hint("use a fresh name; to compare with a value, use `==` in an `if`");
                    self.report(diagnostic);
                    self.qualified_name_from(ident.clone());
                }
                PatternKind::Name(ident.name)
            }
            TokenKind::Underscore => {
                self.advance();
                PatternKind::Wildcard
            }
            TokenKind::Literal(_, index) => {
                self.advance();
                PatternKind::Literal(self.literal(index))
            }
            TokenKind::Keyword(keyword @ (Keyword::True | Keyword::False)) => {
                self.advance();
                PatternKind::Literal(Literal::Bool(keyword == Keyword::True))
            }
            TokenKind::Constructor => PatternKind::Constructor(self.constructor_name(), Vec::new()),
            TokenKind::LeftParen if self.at_operator_binder() => PatternKind::Name(self.operator_binder().name),
            TokenKind::LeftParen => return self.parenthesised_pattern(),
            TokenKind::LeftBrace => self.record_pattern(),
            TokenKind::Symbol if self.at_negative_literal() => {
                self.advance();
                match self.advance().kind {
                    TokenKind::Literal(_, index) => PatternKind::NegativeLiteral(self.literal(index)),
                    _ => PatternKind::Error,
                }
            }
            TokenKind::Keyword(_) if !self.at_declaration_start() || self.stands_for_name() => {
                self.report_reserved_word("a pattern");
                let token = self.advance();
                PatternKind::Name(self.token_ident(token).name)
            }
            _ => {
                self.report_expected("E0122", "a pattern");
                PatternKind::Error
            }
        };
        self.matching(start, kind)
    }

    /// Whether what follows would follow a name in a pattern.
    fn stands_for_name(&self) -> bool {
        matches!(self.peek_at(1).kind, TokenKind::Colon | TokenKind::Comma | TokenKind::RightParen | TokenKind::Equals)
    }

    fn parenthesised_pattern(&mut self) -> Pattern {
        let start = self.here();
        let (mut patterns, trailing_comma) =
            self.bracketed(Bracket::Round, |parser| parser.comma_list(Bracket::Round, Self::pattern));
        if patterns.len() == 1 {
            if trailing_comma {
                self.report_one_element_tuple(start);
            }
            if let Some(only) = patterns.pop() {
                return only;
            }
        }
        self.matching(start, PatternKind::Tuple(patterns))
    }

    fn record_pattern(&mut self) -> PatternKind {
        let (fields, _) = self.bracketed(Bracket::Curly, |parser| {
            parser.comma_list(Bracket::Curly, |p| {
                let is_digits = p.at_digits();
                let field = p.field_name();
                let glued = p.at(TokenKind::Symbol) && p.token_text(p.peek()).starts_with('=');
                if p.at(TokenKind::Equals) || glued || is_digits {
                    p.expect(TokenKind::Equals, "`=` and a pattern for the field");
                    return (field, Some(p.pattern()));
                }
                if !p.eat(TokenKind::Colon) {
                    return (field, None);
                }
                // `{x: t}` is `{x = x: t}`.
                let variable = Pattern { kind: PatternKind::Name(field.name.clone()), span: field.span };
                let ty = Box::new(p.type_exp());
                let pattern = p.matching(field.span, PatternKind::Ascribe(Box::new(variable), ty));
                (field, Some(pattern))
            })
        });
        PatternKind::Record(fields)
    }

    pub(super) fn report_one_element_tuple(&mut self, start: Span) {
        let span = self.since(start);
        let diagnostic = Diagnostic::error("E0137", span, "there are no tuples of one element")
            .here("one element and a comma")
            .hint("remove the comma");
        self.report_behind(diagnostic);
    }
}
