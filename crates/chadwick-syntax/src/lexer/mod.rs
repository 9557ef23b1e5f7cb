//! Text to tokens.
//!
//! Hand-written, one pass, and it never fails: what cannot be read becomes a diagnostic and lexing goes on behind it. Layout has no
//! meaning, but whitespace right before `[` and `.` does, so every token remembers whether there was any. Operators follow maximal
//! munch: `==-` is one token, which the parser explains when it is in the way.

mod literal;
mod token;

use chadwick_source::{Diagnostic, FileId, Span};

use crate::ast::{Liftedness, Literal};
pub use token::{Keyword, LiteralKind, Token, TokenKind};

/// More lexical errors than this help nobody: the file is not a program.
const MAX_DIAGNOSTICS: usize = 200;

/// What the lexer found. `tokens` ends with exactly one [`TokenKind::EndOfInput`].
#[derive(Clone, Debug)]
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub literals: Vec<Literal>,
    /// Doc comments, each with the index of the token that it stands right before; ascending.
    pub docs: Vec<(u32, String)>,
    pub diagnostics: Vec<Diagnostic>,
}

pub fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer::new(file, text);
    if u32::try_from(text.len()).is_err() {
        lexer.report(Diagnostic::error("E0107", Span::new(file, 0, 0), "this file is too large: source files end at 4 GiB"));
        lexer.at = text.len();
    }
    lexer.run();
    lexer.lexed
}

pub(crate) fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

pub(crate) fn is_name_continue(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

pub(crate) fn is_symbol_start(c: char) -> bool {
    "+-*/%=!><|&^".contains(c)
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    at: usize,
    /// Whitespace or a comment was skipped since the last token.
    spaced: bool,
    /// The doc comment being collected, and the newlines seen since its last line.
    doc: Option<DocComment>,
    lexed: Lexed,
}

struct DocComment {
    lines: Vec<String>,
    /// A test block began below: the rest of the comment is not documentation.
    is_complete: bool,
    newlines_since: usize,
}

impl<'a> Lexer<'a> {
    fn new(file: FileId, text: &'a str) -> Self {
        let lexed = Lexed { tokens: Vec::new(), literals: Vec::new(), docs: Vec::new(), diagnostics: Vec::new() };
        Lexer { file, text, at: 0, spaced: true, doc: None, lexed }
    }

    fn run(&mut self) {
        while self.skip_blank_and_comments() {
            self.token();
        }
        let end = self.text.len();
        self.push(TokenKind::EndOfInput, end);
    }

    // ------------------------------------------------------------------------------------------------------------ reading text

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or("")
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.file, start, self.at)
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.lexed.diagnostics.len() < MAX_DIAGNOSTICS {
            self.lexed.diagnostics.push(diagnostic);
        }
    }

    /// Adds the token that began at `start` and ends here.
    fn push(&mut self, kind: TokenKind, start: usize) {
        if let Some(doc) = self.doc.take()
            && doc.newlines_since <= 1
        {
            self.lexed.docs.push((self.lexed.tokens.len() as u32, doc.lines.join("\n")));
        }
        let in_first_column = start == 0 || self.text.as_bytes().get(start - 1) == Some(&b'\n');
        let token = Token { kind, start: start as u32, end: self.at as u32, spaced: self.spaced, in_first_column };
        self.lexed.tokens.push(token);
        self.spaced = false;
    }

    fn push_literal(&mut self, kind: LiteralKind, literal: Literal, start: usize) {
        let index = self.lexed.literals.len() as u32;
        self.lexed.literals.push(literal);
        self.push(TokenKind::Literal(kind, index), start);
    }

    // ------------------------------------------------------------------------------------------------- whitespace and comments

    /// True if something is left.
    fn skip_blank_and_comments(&mut self) -> bool {
        while let Some(c) = self.peek() {
            if c.is_whitespace() || (c == '\u{feff}' && self.at == 0) {
                self.at += c.len_utf8();
                if c == '\n'
                    && let Some(doc) = &mut self.doc
                {
                    doc.newlines_since += 1;
                }
            } else if self.rest().starts_with("--") {
                self.comment();
            } else {
                return true;
            }
            self.spaced = true;
        }
        false
    }

    fn comment(&mut self) {
        let start = self.at;
        self.skip_while(|c| c != '\n');
        let comment = self.since(start);
        if let Some(first) = comment.strip_prefix("-- |") {
            self.doc = Some(DocComment { lines: vec![doc_line(first)], is_complete: false, newlines_since: 0 });
            return;
        }
        let line = comment.strip_prefix("--").map(doc_line).unwrap_or_default();
        match &mut self.doc {
            Some(doc) if doc.newlines_since == 1 => {
                doc.is_complete |= line == "==";
                if !doc.is_complete {
                    doc.lines.push(line);
                }
                doc.newlines_since = 0;
            }
            _ => self.doc = None,
        }
    }

    // ------------------------------------------------------------------------------------------------------------------ tokens

    fn token(&mut self) {
        let start = self.at;
        let Some(c) = self.peek() else { return };
        if c.is_ascii_digit() {
            return if self.behind_projection_dot() { self.field_digits() } else { self.number() };
        }
        if is_name_start(c) {
            return self.name();
        }
        if is_symbol_start(c) {
            return self.symbol();
        }
        if c == '.' {
            return self.dots();
        }
        if c == '"' {
            return self.string();
        }
        if c == '\'' {
            return self.quote();
        }
        let kind = match c {
            '(' => TokenKind::LeftParen,
            ')' => TokenKind::RightParen,
            '[' => TokenKind::LeftBracket,
            ']' => TokenKind::RightBracket,
            '{' => TokenKind::LeftBrace,
            '}' => TokenKind::RightBrace,
            ',' => TokenKind::Comma,
            ';' => TokenKind::Semicolon,
            '\\' => TokenKind::Backslash,
            '`' => TokenKind::Backtick,
            '~' => TokenKind::Tilde,
            ':' if self.byte(1) == Some(b'>') => TokenKind::Coerce,
            ':' => TokenKind::Colon,
            '?' if self.rest().starts_with("???") => TokenKind::Hole,
            '?' => TokenKind::Question,
            '#' if self.byte(1) == Some(b'[') => TokenKind::AttributeOpen,
            '#' if self.byte(1).is_some_and(|byte| is_name_start(byte as char)) => {
                self.at += 1;
                self.skip_while(is_name_continue);
                return self.push(TokenKind::Constructor, start);
            }
            _ => return self.unexpected_characters(),
        };
        self.at += match kind {
            TokenKind::Hole => 3,
            TokenKind::Coerce | TokenKind::AttributeOpen => 2,
            _ => 1,
        };
        self.push(kind, start);
    }

    fn name(&mut self) {
        let start = self.at;
        self.skip_while(is_name_continue);
        let text = self.since(start);
        let kind = match Keyword::from_text(text) {
            Some(keyword) => TokenKind::Keyword(keyword),
            None if text == "_" => TokenKind::Underscore,
            None => TokenKind::Name,
        };
        self.push(kind, start);
    }

    fn symbol(&mut self) {
        let start = self.at;
        self.skip_while(|c| is_symbol_start(c) || c == '.');
        let kind = match self.since(start) {
            "=" => TokenKind::Equals,
            "->" => TokenKind::Arrow,
            _ => TokenKind::Symbol,
        };
        self.push(kind, start);
    }

    fn dots(&mut self) {
        let start = self.at;
        let kind = match (self.byte(1), self.byte(2)) {
            (Some(b'.'), Some(b'.')) => TokenKind::DotDotDot,
            (Some(b'.'), Some(b'<')) => TokenKind::DotDotLess,
            (Some(b'.'), Some(b'>')) => TokenKind::DotDotGreater,
            (Some(b'.'), _) => TokenKind::DotDot,
            (Some(b'0'..=b'9'), _) if self.fraction_may_start() => return self.number(),
            _ => TokenKind::Dot,
        };
        self.at += match kind {
            TokenKind::Dot => 1,
            TokenKind::DotDot => 2,
            _ => 3,
        };
        self.push(kind, start);
    }

    /// `.5` is a number after whitespace, `,`, `[` or an operator; elsewhere, and after `(`, the dot projects.
    fn fraction_may_start(&self) -> bool {
        let Some(last) = self.lexed.tokens.last() else { return true };
        match last.kind {
            TokenKind::LeftParen => false,
            TokenKind::Comma | TokenKind::LeftBracket | TokenKind::Symbol | TokenKind::Equals | TokenKind::Arrow => true,
            TokenKind::DotDot | TokenKind::DotDotDot | TokenKind::DotDotLess | TokenKind::DotDotGreater => true,
            _ => self.spaced,
        }
    }

    /// In `x.0.1` the digits after a dot are a field, never the start of `0.1`.
    fn behind_projection_dot(&self) -> bool {
        !self.spaced && self.lexed.tokens.last().is_some_and(|last| last.kind == TokenKind::Dot)
    }

    fn unexpected_characters(&mut self) {
        let start = self.at;
        // A run of foreign characters is one error: it is usually one word, or a file that is no program.
        self.skip_while(|c| {
            !c.is_whitespace() && !c.is_ascii_alphanumeric() && !"_()[]{},:;\\`~?'\"._".contains(c) && !is_symbol_start(c)
        });
        if self.at == start {
            self.at += self.peek().map_or(1, char::len_utf8);
        }
        let found = self.since(start);
        let shown: String = found.chars().take(20).flat_map(char::escape_debug).collect();
        let mut diagnostic = Diagnostic::error("E0101", self.span(start), format!("unexpected character `{shown}`"))
            .here("not part of the language");
        if found.chars().any(char::is_alphabetic) {
            diagnostic = diagnostic.hint("names are made of the letters a-z and A-Z, digits, `_` and `'`");
        } else if found.starts_with('#') {
            diagnostic =
                diagnostic.hint("a constructor is written `#name`, an attribute `#[name]`, without a space behind the `#`");
        }
        self.report(diagnostic);
        self.spaced = true;
    }

    /// A character literal or a type variable.
    fn quote(&mut self) {
        let start = self.at;
        let mut following = self.rest().chars().skip(1);
        let (first, second) = (following.next(), following.next());
        if first == Some('\\') || (second == Some('\'') && first != Some('\n')) || first == Some('\'') {
            return self.character();
        }
        let (liftedness, prefix) = match first {
            Some('~') => (Liftedness::SizeLifted, 2),
            Some('^') => (Liftedness::Lifted, 2),
            _ => (Liftedness::Unlifted, 1),
        };
        if self.byte(prefix).is_some_and(|byte| is_name_start(byte as char)) {
            self.at += prefix;
            self.skip_while(is_name_continue);
            return self.push(TokenKind::TypeVariable(liftedness), start);
        }
        self.at += 1;
        let diagnostic =
            Diagnostic::error("E0103", self.span(start), "this quote starts neither a character nor a type variable")
                .hint("a character is written `'c'`, a type variable `'t`");
        self.report(diagnostic);
        self.push_literal(LiteralKind::Char, Literal::Char('?'), start);
    }
}

/// A line of a doc comment without what every line has: the space behind the dashes.
fn doc_line(text: &str) -> String {
    text.strip_prefix(' ').unwrap_or(text).trim_end().to_string()
}
