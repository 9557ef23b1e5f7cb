//! What stands in parentheses in an expression: unit, grouping, tuples, operators as functions, and sections.

use super::Parser;
use super::recovery::Bracket;
use crate::ast::{Access, Exp, ExpKind};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// The parenthesis is next.
    pub(super) fn parenthesised(&mut self) -> ExpKind {
        let start = self.here();
        let (kind, one_element_tuple) = self.bracketed(Bracket::Round, Self::inside_parentheses);
        if one_element_tuple {
            self.report_one_element_tuple(start);
        }
        kind
    }

    fn inside_parentheses(&mut self) -> (ExpKind, bool) {
        if self.at(TokenKind::RightParen) {
            return (ExpKind::Tuple(Vec::new()), false);
        }
        if self.at(TokenKind::Dot) {
            return (self.projection_section(), false);
        }
        if let Some(operator) = self.peek_infix() {
            if self.ends_section(&operator) {
                let name = self.infix_operator(&operator);
                return (ExpKind::Operator(name), false);
            }
            // `(-x)` and `(!x)` are never sections.
            if !self.at_symbol("-") && !self.at_symbol("!") {
                let name = self.infix_operator(&operator);
                let operand = Box::new(self.nested(|parser| parser.infix(0), super::expressions::error_exp));
                return (ExpKind::RightSection(name, operand), false);
            }
        }
        let first = self.exp();
        let is_operand =
            !matches!(first.kind, ExpKind::Ascribe(..) | ExpKind::Coerce(..) | ExpKind::Range { .. } | ExpKind::Update { .. });
        if let Some(operator) = self.peek_infix()
            && self.ends_section(&operator)
            && is_operand
            && !self.behind_open_expression()
        {
            let name = self.infix_operator(&operator);
            return (ExpKind::LeftSection(Box::new(first), name), false);
        }
        if !self.eat(TokenKind::Comma) {
            return (ExpKind::Paren(Box::new(first)), false);
        }
        let (rest, _) = self.comma_list(Bracket::Round, Self::exp);
        let one_element = rest.is_empty() && self.at(TokenKind::RightParen);
        let elements: Vec<Exp> = std::iter::once(first).chain(rest).collect();
        (ExpKind::Tuple(elements), one_element)
    }

    /// `.a.b`, `.[i, j]`, `.a[i]`; the dot is next.
    fn projection_section(&mut self) -> ExpKind {
        self.advance();
        let first = if self.at(TokenKind::LeftBracket) { self.index_access() } else { Access::Field(self.field_name()) };
        let mut path = vec![first];
        self.more_accesses(&mut path);
        ExpKind::ProjectSection(path)
    }
}
