//! `let` expressions.

use chadwick_source::Span;

use super::Parser;
use super::expressions::error_exp;
use crate::ast::{Exp, ExpKind, Ident, LetBinding, LetExp, Pattern};
use crate::lexer::{Keyword, TokenKind};

impl Parser<'_> {
    /// A chain of `let`s and the expression behind it, in a loop: such chains grow long.
    pub(super) fn let_expression(&mut self) -> Exp {
        let outer_depth = self.depth;
        let mut bindings: Vec<(Span, LetBinding)> = Vec::new();
        let mut result = loop {
            let start = self.here();
            self.advance();
            bindings.push((start, self.let_binding()));
            let has_in = self.eat_keyword(Keyword::In);
            if self.at_keyword(Keyword::Let) {
                if !self.descend() {
                    break error_exp(self.here());
                }
                continue;
            }
            if !has_in {
                let diagnostic = self.missing_in(start);
                self.report(diagnostic);
            }
            break if has_in || self.at_expression_start() && !self.at_declaration_start() {
                self.exp()
            } else {
                error_exp(self.here())
            };
        };
        self.depth = outer_depth;
        while let Some((start, binding)) = bindings.pop() {
            result = self.made(start, ExpKind::Let(Box::new(LetExp { binding, body: result })));
        }
        result
    }

    fn let_binding(&mut self) -> LetBinding {
        if self.at_rec_group() {
            self.advance();
            return LetBinding::Group(self.value_group());
        }
        if self.at(TokenKind::LeftBracket) {
            let sizes = self.sizes();
            let pattern = self.pattern();
            return self.pattern_binding(sizes, pattern);
        }
        let (first, second) = (self.peek(), self.peek_at(1));
        if first.kind == TokenKind::Name && !second.spaced && matches!(second.kind, TokenKind::LeftBracket | TokenKind::Dot) {
            return self.update_binding();
        }
        let is_value = matches!(self.peek_at(3).kind, TokenKind::Equals | TokenKind::Colon);
        if self.at_operator_binder() && !is_value || self.at_local_function() {
            return LetBinding::Function(self.value_binding(false));
        }
        let start = self.here();
        let pattern = self.pattern();
        if self.infix_definition_at(0) {
            return LetBinding::Function(self.infix_definition(start, pattern, false));
        }
        self.pattern_binding(Vec::new(), pattern)
    }

    /// A name with something behind it that only a function has: a type parameter, a parameter, or an infix operator.
    fn at_local_function(&self) -> bool {
        if self.kind() != TokenKind::Name {
            return false;
        }
        match self.peek_at(1).kind {
            TokenKind::Name | TokenKind::Underscore | TokenKind::Constructor | TokenKind::Literal(..) => true,
            TokenKind::LeftParen | TokenKind::LeftBrace | TokenKind::LeftBracket | TokenKind::TypeVariable(_) => true,
            TokenKind::Keyword(Keyword::True | Keyword::False) => true,
            _ => self.infix_definition_at(1),
        }
    }

    fn pattern_binding(&mut self, sizes: Vec<Ident>, pattern: Pattern) -> LetBinding {
        let value = self.bound_value();
        LetBinding::Pattern { sizes, pattern, value }
    }

    /// `= e`
    pub(super) fn bound_value(&mut self) -> Exp {
        let has_value = self.expect(TokenKind::Equals, "`=` and the value");
        if has_value || self.at_expression_start() && !self.at_declaration_start() {
            return self.delimited(Self::exp);
        }
        error_exp(self.here())
    }

    /// `let a[i].x = e`
    fn update_binding(&mut self) -> LetBinding {
        let name = self.name("the name of what is updated");
        let mut path = Vec::new();
        self.more_accesses(&mut path);
        let value = self.bound_value();
        LetBinding::Update { name, path, value }
    }
}
