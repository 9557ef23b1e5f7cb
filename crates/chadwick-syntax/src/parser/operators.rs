//! Infix operators: the table of levels, and recognising one at the head of the tokens.

use chadwick_source::{Diagnostic, Name};

use super::Parser;
use crate::ast::{Ident, QualName};
use crate::lexer::{Keyword, TokenKind};

/// Level of `` `f` ``, the loosest infix operator.
pub(crate) const BACKTICK_LEVEL: u8 = 4;
/// Level of `<|`, the only row that associates to the right.
pub(crate) const RIGHT_ASSOCIATIVE_LEVEL: u8 = 6;
/// Level of prefix `-` and `!`.
pub(crate) const PREFIX_LEVEL: u8 = 15;

/// The built-in operators, each with its row of the language's table (higher binds tighter).
const BUILT_IN: [(&str, u8); 26] = [
    ("|>", 5),
    ("<|", 6),
    ("||", 7),
    ("&&", 8),
    ("<=", 9),
    (">=", 9),
    (">", 9),
    ("<", 9),
    ("==", 9),
    ("!=", 9),
    ("!", 9),
    ("=", 9),
    ("&", 10),
    ("^", 10),
    ("|", 10),
    ("<<", 11),
    (">>", 11),
    ("+", 12),
    ("-", 12),
    ("*", 13),
    ("/", 13),
    ("%", 13),
    ("//", 13),
    ("%%", 13),
    ("**", 14),
    ("->", 12),
];

/// The level of an operator by name: a symbol takes the row of the longest built-in operator that is its prefix, anything else is a
/// function used infix.
pub(crate) fn operator_level(name: &str) -> u8 {
    let prefixes = BUILT_IN.iter().filter(|(operator, _)| name.starts_with(operator));
    prefixes.max_by_key(|(operator, _)| operator.len()).map_or(BACKTICK_LEVEL, |(_, level)| *level)
}

/// Splits what looks like two operators written without a space: `==-` into `==` and `-`. The parts are a built-in operator (or `=`,
/// `->`) and a prefix operator.
pub fn split_glued_operator(symbol: &str) -> Option<(&str, &str)> {
    let (front, back) = symbol.split_at_checked(symbol.len().checked_sub(1)?)?;
    let front_known = BUILT_IN.iter().any(|(operator, _)| *operator == front);
    let whole_known = BUILT_IN.iter().any(|(operator, _)| *operator == symbol);
    (matches!(back, "-" | "!") && front_known && !whole_known).then_some((front, back))
}

/// An infix operator at the head of the tokens.
pub(super) struct InfixOperator {
    /// How many tokens it takes up.
    pub(super) tokens: usize,
    pub(super) level: u8,
}

impl<'a> Parser<'a> {
    /// The infix operator that is next, if one is: a symbol, `m.+`, or `` `f` ``.
    pub(super) fn peek_infix(&self) -> Option<InfixOperator> {
        match self.kind() {
            TokenKind::Symbol => Some(InfixOperator { tokens: 1, level: operator_level(self.token_text(self.peek())) }),
            TokenKind::Name => {
                let names = self.dotted_names_ahead(0);
                let (dot, symbol) = (self.peek_at(names), self.peek_at(names + 1));
                let qualified = dot.kind == TokenKind::Dot && !dot.spaced && symbol.kind == TokenKind::Symbol && !symbol.spaced;
                qualified.then(|| InfixOperator { tokens: names + 2, level: operator_level(self.token_text(symbol)) })
            }
            TokenKind::Backtick if self.peek_at(1).kind == TokenKind::Name => {
                let names = self.dotted_names_ahead(1);
                let closed = self.peek_at(1 + names).kind == TokenKind::Backtick;
                closed.then_some(InfixOperator { tokens: names + 2, level: BACKTICK_LEVEL })
            }
            _ => None,
        }
    }

    /// How many tokens the dotted name takes up that starts so far ahead.
    fn dotted_names_ahead(&self, ahead: usize) -> usize {
        let mut length = 1;
        loop {
            let (dot, name) = (self.peek_at(ahead + length), self.peek_at(ahead + length + 1));
            if dot.kind != TokenKind::Dot || dot.spaced || name.kind != TokenKind::Name || name.spaced {
                return length;
            }
            length += 2;
        }
    }

    /// Consumes what [`Parser::peek_infix`] found.
    pub(super) fn infix_operator(&mut self, operator: &InfixOperator) -> QualName {
        self.note_glued_operator();
        let mut segments: Vec<Ident> = Vec::new();
        for _ in 0..operator.tokens {
            let token = self.advance();
            if !matches!(token.kind, TokenKind::Dot | TokenKind::Backtick) {
                segments.push(self.token_ident(token));
            }
        }
        let missing = Ident { name: Name::new_static("+"), span: self.previous() };
        let name = segments.pop().unwrap_or(missing);
        QualName { qualifiers: segments, name }
    }

    /// The infix operator that is next has a `)` right behind: it ends a left section instead of taking an operand.
    pub(super) fn ends_section(&self, operator: &InfixOperator) -> bool {
        self.peek_at(operator.tokens).kind == TokenKind::RightParen
    }

    fn note_glued_operator(&mut self) {
        let (token, operand) = (self.peek(), self.peek_at(1));
        if self.last_error_position == Some(self.position) {
            return;
        }
        // At the end of a section there is no operand to belong to.
        let has_operand = !operand.spaced && operand.kind != TokenKind::RightParen;
        let looks_glued =
            token.kind == TokenKind::Symbol && has_operand && split_glued_operator(self.token_text(token)).is_some();
        if looks_glued && self.glued_operators.len() < super::MAX_DIAGNOSTICS {
            self.glued_operators.push(self.token_span(token));
        }
    }

    /// Reports `x ==-1`, unless the file defines an operator of that name or opens something that may.
    pub(super) fn report_glued_operators(&mut self) {
        if self.glued_operators.is_empty() || self.tokens.iter().any(|token| brings_names(token.kind)) {
            return;
        }
        let defined = self.defined_operators();
        for span in std::mem::take(&mut self.glued_operators) {
            let text = self.text.get(span.start as usize..span.end as usize).unwrap_or("");
            let Some((front, back)) = split_glued_operator(text) else { continue };
            if !defined.contains(&text) {
                let diagnostic = Diagnostic::error("E0132", span, format!("`{text}` is read as one operator"))
                    .here("no such operator is defined")
                    .hint(format!("put a space between them: `{front} {back}`"));
                self.report_behind(diagnostic);
            }
        }
    }

    /// Symbols that stand alone in parentheses or behind the first pattern of a definition.
    fn defined_operators(&self) -> Vec<&'a str> {
        let symbols = self.tokens.windows(3).filter_map(|window| match window {
            [before, symbol, behind] if symbol.kind == TokenKind::Symbol => {
                let alone = before.kind == TokenKind::LeftParen && behind.kind == TokenKind::RightParen;
                let spaced = before.kind == TokenKind::RightParen || behind.spaced;
                (alone || spaced).then(|| self.token_text(*symbol))
            }
            _ => None,
        });
        let mut symbols: Vec<&'a str> = symbols.filter(|symbol| split_glued_operator(symbol).is_some()).collect();
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }
}

fn brings_names(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Keyword(Keyword::Open | Keyword::Import | Keyword::Module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_operator_takes_the_row_of_its_longest_built_in_prefix() {
        let rows = [(">->", 9), ("<-<", 9), ("<->", 9), ("<|>", 6), ("|||", 7), ("^^", 10), (">>=", 11), (">>>", 11)];
        for (operator, level) in rows.into_iter().chain([("++", 12), ("+^", 12), ("*^", 13), ("**.", 14), ("f", 4), ("=~", 9)]) {
            assert_eq!(operator_level(operator), level, "{operator}");
        }
    }

    #[test]
    fn glued_operators_split_before_the_prefix_operator() {
        assert_eq!(split_glued_operator("==-"), Some(("==", "-")));
        assert_eq!(split_glued_operator("->-"), Some(("->", "-")));
        assert_eq!(split_glued_operator("=-"), Some(("=", "-")));
        assert_eq!(split_glued_operator("&&!"), Some(("&&", "!")));
        for whole in ["-", "!", "!=", "<->", "+++", "", "="] {
            assert_eq!(split_glued_operator(whole), None, "{whole}");
        }
    }
}
