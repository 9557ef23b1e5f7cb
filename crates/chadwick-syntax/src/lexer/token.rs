//! The vocabulary of the lexer: kinds of token and reserved words.

use crate::ast::Liftedness;

/// A piece of the text. Names and symbols are read back from the text; literals live in [`super::Lexed::literals`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token {
    pub kind: TokenKind,
    pub start: u32,
    pub end: u32,
    /// Whitespace or a comment stands right before. `a[i]` and `a [i]` differ only in this.
    pub spaced: bool,
    /// First in its line, in column 0: error recovery trusts such a `let` to start a declaration.
    pub in_first_column: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TokenKind {
    Name,
    /// A lone `_`.
    Underscore,
    /// `#name`
    Constructor,
    /// `#[`
    AttributeOpen,
    /// An operator other than `=` and `->`.
    Symbol,
    Equals,
    Arrow,
    /// `'t`, `'~t`, `'^t`
    TypeVariable(Liftedness),
    /// A number, character or string: an index into the table of literals.
    Literal(LiteralKind, u32),
    Keyword(Keyword),
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    Comma,
    Colon,
    /// `:>`
    Coerce,
    Semicolon,
    Backslash,
    Backtick,
    Question,
    /// `???`
    Hole,
    Tilde,
    Dot,
    /// `..`
    DotDot,
    /// `...`
    DotDotDot,
    /// `..<`
    DotDotLess,
    /// `..>`
    DotDotGreater,
    EndOfInput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    Int,
    Float,
    Char,
    String,
}

macro_rules! keywords {
    ($($variant:ident $text:literal),* $(,)?) => {
        /// The reserved words. `rec` and `and` are not among them: they mean something only in certain places.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Keyword { $($variant),* }

        impl Keyword {
            pub const ALL: &[Keyword] = &[$(Keyword::$variant),*];

            pub fn from_text(text: &str) -> Option<Keyword> {
                match text {
                    $($text => Some(Keyword::$variant),)*
                    _ => None,
                }
            }

            pub fn text(self) -> &'static str {
                match self { $(Keyword::$variant => $text),* }
            }
        }
    };
}

keywords! {
    True "true", False "false", If "if", Then "then", Else "else", Def "def", Let "let", Loop "loop", In "in", Val "val",
    For "for", Do "do", With "with", Local "local", Open "open", Include "include", Import "import", Type "type",
    Entry "entry", Module "module", While "while", Assert "assert", Match "match", Case "case",
}
