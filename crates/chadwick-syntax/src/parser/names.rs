//! Names, dotted names and field names.

use chadwick_source::{Diagnostic, Name};

use super::Parser;
use crate::ast::{Ident, QualName};
use crate::lexer::{LiteralKind, Token, TokenKind};

impl Parser<'_> {
    pub(super) fn token_ident(&self, token: Token) -> Ident {
        Ident { name: Name::new(self.token_text(token)), span: self.token_span(token) }
    }

    /// A name that stands for something missing.
    fn missing_ident(&self) -> Ident {
        Ident { name: Name::new_static("_"), span: self.here() }
    }

    /// A name being bound or declared; `wanted` says which. Errors are reported and yield `_`.
    pub(super) fn name(&mut self, wanted: &str) -> Ident {
        match self.kind() {
            TokenKind::Name | TokenKind::Underscore => {
                let token = self.advance();
                self.token_ident(token)
            }
            TokenKind::Keyword(_) if !self.at_declaration_start() => {
                self.report_reserved_word(wanted);
                let token = self.advance();
                self.token_ident(token)
            }
            _ => {
                self.report_expected("E0125", wanted);
                self.missing_ident()
            }
        }
    }

    pub(super) fn report_reserved_word(&mut self, wanted: &str) {
        let text = self.token_text(self.peek());
        let diagnostic = Diagnostic::error("E0133", self.here(), format!("`{text}` is a reserved word"))
            .here(format!("expected {wanted}"))
            .hint(format!("choose another name, such as `{text}_` or `{text}'`"));
        self.report(diagnostic);
    }

    /// A field name: a name or decimal digits.
    pub(super) fn field_name(&mut self) -> Ident {
        if self.at_digits() {
            let token = self.advance();
            return self.token_ident(token);
        }
        self.name("a field name")
    }

    pub(super) fn at_field_name(&self) -> bool {
        self.at(TokenKind::Name) || self.at_digits()
    }

    pub(super) fn at_digits(&self) -> bool {
        self.is_digits(self.peek())
    }

    fn is_digits(&self, token: Token) -> bool {
        matches!(token.kind, TokenKind::Literal(LiteralKind::Int, _))
            && self.token_text(token).bytes().all(|byte| byte.is_ascii_digit())
    }

    /// The next token is a dot that touches the token before and has `kind` right behind it.
    pub(super) fn at_tight_dot_before(&self, kind: TokenKind) -> bool {
        let behind = self.peek_at(1);
        self.at_tight(TokenKind::Dot) && behind.kind == kind && !behind.spaced
    }

    /// `a.b.c` of a type, module or module type.
    pub(super) fn qualified_name(&mut self, wanted: &str) -> QualName {
        let first = self.name(wanted);
        self.qualified_name_from(first)
    }

    /// The rest of a dotted name.
    pub(super) fn qualified_name_from(&mut self, first: Ident) -> QualName {
        let mut qualifiers = Vec::new();
        let mut name = first;
        while self.at_tight_dot_before(TokenKind::Name) {
            self.advance();
            let token = self.advance();
            qualifiers.push(std::mem::replace(&mut name, self.token_ident(token)));
        }
        QualName { qualifiers, name }
    }

    pub(super) fn is_name_and(&self) -> bool {
        self.at(TokenKind::Name) && self.token_text(self.peek()) == "and"
    }

    /// The `and` that separates the members of a `rec` group, rather than the prelude function.
    pub(super) fn at_group_separator(&self) -> bool {
        self.context.in_group && self.is_name_and()
    }
}
