//! Saying what was expected, and finding a place to go on.

use chadwick_source::{Diagnostic, Span};

use super::{Context, MAX_DIAGNOSTICS, Parser};
use crate::lexer::{Keyword, LiteralKind, Token, TokenKind};

/// The three kinds of brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    Round,
    Square,
    Curly,
}

impl Bracket {
    fn closer(self) -> TokenKind {
        match self {
            Bracket::Round => TokenKind::RightParen,
            Bracket::Square => TokenKind::RightBracket,
            Bracket::Curly => TokenKind::RightBrace,
        }
    }

    fn closed_by(kind: TokenKind) -> Option<Bracket> {
        match kind {
            TokenKind::RightParen => Some(Bracket::Round),
            TokenKind::RightBracket => Some(Bracket::Square),
            TokenKind::RightBrace => Some(Bracket::Curly),
            _ => None,
        }
    }

    fn text(self) -> (&'static str, &'static str) {
        match self {
            Bracket::Round => ("(", ")"),
            Bracket::Square => ("[", "]"),
            Bracket::Curly => ("{", "}"),
        }
    }
}

impl Parser<'_> {
    // --------------------------------------------------------------------------------------------------------------- reporting

    /// Records an error about the next token, unless there is one already.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.gave_up || self.last_error_position == Some(self.position) {
            return;
        }
        if self.diagnostics.is_empty() {
            self.first_error_at_end = self.at(TokenKind::EndOfInput);
        }
        self.last_error_position = Some(self.position);
        self.push_diagnostic(diagnostic);
    }

    /// Records an error about something already consumed: it does not silence errors about the next token.
    pub(super) fn report_behind(&mut self, diagnostic: Diagnostic) {
        if !self.gave_up {
            self.push_diagnostic(diagnostic);
        }
    }

    fn push_diagnostic(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// `expected X, found Y` at the next token.
    pub(super) fn expected(&self, code: &'static str, wanted: &str) -> Diagnostic {
        let found = self.describe(self.peek());
        let diagnostic =
            Diagnostic::error(code, self.here(), format!("expected {wanted}, found {found}")).here(format!("expected {wanted}"));
        match self.usual_slip() {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        }
    }

    pub(super) fn report_expected(&mut self, code: &'static str, wanted: &str) {
        let diagnostic = self.expected(code, wanted);
        self.report(diagnostic);
    }

    pub(super) fn describe(&self, token: Token) -> String {
        let text = self.token_text(token);
        match token.kind {
            TokenKind::EndOfInput => String::from("the end of the input"),
            TokenKind::Keyword(_) => format!("the keyword `{text}`"),
            TokenKind::Literal(LiteralKind::String, _) => String::from("a string"),
            TokenKind::Literal(LiteralKind::Char, _) => format!("the character {text}"),
            TokenKind::Literal(..) => format!("the number `{text}`"),
            TokenKind::Symbol => format!("the operator `{text}`"),
            TokenKind::Backtick => String::from("a backtick"),
            _ => format!("`{text}`"),
        }
    }

    /// What people usually mean who write the next token where it cannot stand.
    fn usual_slip(&self) -> Option<String> {
        match self.kind() {
            TokenKind::Semicolon => {
                Some(String::from("the language has no `;`: a `let` ends with `in`, declarations just follow each other"))
            }
            TokenKind::Symbol => {
                let (front, back) = super::split_glued_operator(self.token_text(self.peek()))?;
                Some(format!("if you meant `{front}` and then `{back}`, put a space between them: `{front} {back}`"))
            }
            TokenKind::Colon | TokenKind::RightBracket | TokenKind::Literal(..) if self.behind_part_of_slice() => {
                Some(String::from("a slice is written directly behind its array, without a space: `xs[i:j]`"))
            }
            _ => None,
        }
    }

    /// Behind the `:` of `[i:` where a type was looked for, or before the `:` of `[:j]`.
    fn behind_part_of_slice(&self) -> bool {
        let in_brackets = self.open_brackets[Bracket::Square as usize] > 0;
        match self.position.checked_sub(1).and_then(|before| self.tokens.get(before)).map(|token| token.kind) {
            Some(TokenKind::Colon) => in_brackets,
            Some(TokenKind::LeftBracket) => self.at(TokenKind::Colon),
            _ => false,
        }
    }

    // ---------------------------------------------------------------------------------------------------------- expected tokens

    pub(super) fn expect_end(&mut self, what: &str) {
        if !self.at(TokenKind::EndOfInput) {
            let diagnostic = match Bracket::closed_by(self.kind()) {
                Some(_) => self.stray_closer(),
                None => self.expected("E0125", &format!("the end of {what}")),
            };
            self.report(diagnostic);
        }
    }

    /// `=` or `->` or the like; `wanted` is how it is written and after what.
    pub(super) fn expect(&mut self, kind: TokenKind, wanted: &str) -> bool {
        if self.eat(kind) {
            return true;
        }
        let reserved = match kind {
            TokenKind::Equals => "=",
            TokenKind::Arrow => "->",
            _ => "",
        };
        if self.at(TokenKind::Symbol) && !reserved.is_empty() {
            // `=-1` and `->-x` are single operators by maximal munch: explain that, and go on as if there were a space.
            let text = self.token_text(self.peek());
            if let Some(rest) = text.strip_prefix(reserved) {
                let message = format!("`{text}` is read as one operator");
                let diagnostic = Diagnostic::error("E0132", self.here(), message)
                    .here(format!("expected {wanted}"))
                    .hint(format!("put a space between them: `{reserved} {rest}`"));
                self.report(diagnostic);
                self.advance();
                return true;
            }
        }
        self.report_expected("E0125", wanted);
        false
    }

    // ---------------------------------------------------------------------------------------------------------------- brackets

    /// Consumes the opening bracket that is next, parses what is inside without outer restrictions, and finds the closing bracket.
    pub(super) fn bracketed<T>(&mut self, bracket: Bracket, parse: impl FnOnce(&mut Self) -> T) -> T {
        let opener = self.here();
        self.advance();
        self.bracketed_from(bracket, opener, parse)
    }

    /// The same where the opening bracket, at `opener`, is consumed already.
    pub(super) fn bracketed_from<T>(&mut self, bracket: Bracket, opener: Span, parse: impl FnOnce(&mut Self) -> T) -> T {
        self.open_brackets[bracket as usize] += 1;
        let result = self.within(Context::default(), parse);
        self.open_brackets[bracket as usize] -= 1;
        self.close(bracket, opener);
        result
    }

    fn close(&mut self, bracket: Bracket, opener: Span) {
        if self.eat(bracket.closer()) {
            return;
        }
        let (open, close) = bracket.text();
        let wanted = if bracket == Bracket::Curly { format!("`{close}`") } else { format!("`,` or `{close}`") };
        let mut diagnostic = self.expected("E0126", &wanted).also(opener, format!("this `{open}` is not closed"));
        let is_over = self.at(TokenKind::EndOfInput) || self.at_declaration_start() || Bracket::closed_by(self.kind()).is_some();
        if diagnostic.hint.is_none() && is_over {
            diagnostic = diagnostic.hint(format!("add the missing `{close}`"));
        }
        self.report(diagnostic);
        self.skip_to_closer(bracket);
    }

    /// Skips to behind the closing bracket, but not past one that closes an outer bracket, nor into the next declaration.
    fn skip_to_closer(&mut self, bracket: Bracket) {
        let mut inner = 0usize;
        loop {
            let kind = self.kind();
            if self.at_declaration_start() || kind == TokenKind::EndOfInput {
                return;
            }
            if matches!(kind, TokenKind::LeftParen | TokenKind::LeftBracket | TokenKind::LeftBrace | TokenKind::AttributeOpen) {
                inner += 1;
            } else if let Some(closed) = Bracket::closed_by(kind) {
                if inner > 0 {
                    inner -= 1;
                } else if closed == bracket {
                    self.advance();
                    return;
                } else if self.open_brackets[closed as usize] > 0 {
                    return;
                }
            }
            self.advance();
        }
    }

    fn stray_closer(&self) -> Diagnostic {
        let text = self.token_text(self.peek());
        Diagnostic::error("E0127", self.here(), format!("`{text}` closes nothing"))
            .here("no bracket is open here")
            .hint("remove it, or add the opening bracket")
    }

    /// A list in brackets, with an optional trailing comma. Returns the elements and whether the last comma was trailing.
    pub(super) fn comma_list<T>(&mut self, bracket: Bracket, mut element: impl FnMut(&mut Self) -> T) -> (Vec<T>, bool) {
        let mut elements = Vec::with_capacity(1);
        let mut trailing_comma = false;
        while !self.at(bracket.closer()) && !self.at(TokenKind::EndOfInput) {
            let before = self.position;
            elements.push(element(self));
            trailing_comma = self.eat(TokenKind::Comma);
            if !trailing_comma || self.position == before {
                break;
            }
        }
        // Nodes are large and most lists short: the spare room of a growing vector would be most of the tree.
        elements.shrink_to_fit();
        (elements, trailing_comma)
    }

    // ------------------------------------------------------------------------------------------------------------ declarations

    /// A token that starts a declaration and cannot stand inside an expression, or a `let` or attribute in the first column.
    pub(super) fn at_declaration_start(&self) -> bool {
        let token = self.peek();
        match token.kind {
            TokenKind::Keyword(
                Keyword::Def
                | Keyword::Entry
                | Keyword::Type
                | Keyword::Module
                | Keyword::Open
                | Keyword::Import
                | Keyword::Local
                | Keyword::Val
                | Keyword::Include,
            ) => true,
            TokenKind::Keyword(Keyword::Let) | TokenKind::AttributeOpen => token.in_first_column,
            _ => false,
        }
    }

    /// Reports that no declaration can start here and skips to where one can, or to the end of the enclosing module.
    pub(super) fn skip_to_declaration(&mut self, wanted: &str) {
        let stray = Bracket::closed_by(self.kind()).is_some();
        let diagnostic = if stray { self.stray_closer() } else { self.expected("E0120", wanted) };
        let diagnostic = match self.kind() {
            TokenKind::Name if diagnostic.hint.is_none() => diagnostic.hint("a definition starts with `def`"),
            _ => diagnostic,
        };
        self.report(diagnostic);
        let mut inner = 0usize;
        loop {
            match self.kind() {
                TokenKind::EndOfInput => return,
                TokenKind::LeftBrace => inner += 1,
                TokenKind::RightBrace if inner > 0 => inner -= 1,
                TokenKind::RightBrace if self.open_brackets[Bracket::Curly as usize] > 0 => return,
                _ if self.at_declaration_start() => return,
                _ => {}
            }
            self.advance();
        }
    }
}
