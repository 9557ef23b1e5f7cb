//! Tokens to syntax tree: recursive descent, with precedence climbing for operators.
//!
//! The parser always returns a tree. What it could not read is an `Error` node, and then at least one diagnostic says why. Three
//! rules keep it well-behaved on any input:
//!
//! - *Progress.* Every loop consumes a token or ends; looking ahead never goes past one dotted name. Time is linear.
//! - *One error per place.* A second error at the same token is not reported, so an unexpected token does not cascade through the
//!   productions that are waiting for it.
//! - *Bounded depth.* Trees higher than [`MAX_DEPTH`] are refused, so that passes behind the parser may recurse (and so may the
//!   compiler-made `Drop`). Chains that people write long (`let`, `else if`) are parsed in loops but still count.

mod attributes;
mod control;
mod declarations;
mod expressions;
mod lets;
mod modules;
mod names;
mod operators;
mod parenthesised;
mod patterns;
mod recovery;
mod types;

use chadwick_source::{Diagnostic, FileId, Span};

use crate::ast::{Exp, Literal, Program, TypeExp};
use crate::lexer::{Keyword, Lexed, LiteralKind, Token, TokenKind, lex};

pub use operators::split_glued_operator;
pub(crate) use operators::{PREFIX_LEVEL, RIGHT_ASSOCIATIVE_LEVEL, operator_level};

/// How high a syntax tree may be, at most. The recursive `Drop` of such a tree fits a thread of 2 MiB (a test holds it to that); passes
/// that need more stack per level grow it with `stacker`, as this crate does.
pub const MAX_DEPTH: u32 = 10_000;

/// More syntax errors than this help nobody.
const MAX_DIAGNOSTICS: usize = 200;

/// A tree and what there is to say about its text. Any error among the diagnostics means that the tree has holes.
#[derive(Clone, Debug)]
pub struct Parsed<T> {
    pub tree: T,
    pub diagnostics: Vec<Diagnostic>,
    /// The first error is that the input ends too soon: a prompt may ask for another line instead of complaining.
    pub incomplete: bool,
}

impl<T> Parsed<T> {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// A whole file.
pub fn parse_program(file: FileId, text: &str) -> Parsed<Program> {
    let mut parser = Parser::new(file, text);
    let declarations = parser.program();
    parser.report_glued_operators();
    parser.finish(Program { declarations })
}

/// A single expression, with nothing behind it.
pub fn parse_expression(file: FileId, text: &str) -> Parsed<Exp> {
    let mut parser = Parser::new(file, text);
    let exp = parser.exp();
    parser.expect_end("the expression");
    parser.finish(exp)
}

/// A single type, with nothing behind it.
pub fn parse_type(file: FileId, text: &str) -> Parsed<TypeExp> {
    let mut parser = Parser::new(file, text);
    let ty = parser.type_exp();
    parser.expect_end("the type");
    parser.finish(ty)
}

/// What the surroundings of an expression or type forbid in it. Brackets lift every restriction.
#[derive(Clone, Copy, Default)]
struct Context {
    /// Inside a `rec` group: the name `and` starts the next member.
    in_group: bool,
    /// Inside an index: `:` separates the parts of a slice.
    in_index: bool,
}

struct Parser<'a> {
    file: FileId,
    text: &'a str,
    tokens: Vec<Token>,
    literals: Vec<Literal>,
    docs: Vec<(u32, String)>,
    /// How many entries of `docs` are used up.
    docs_used: usize,
    lexical: Vec<Diagnostic>,
    position: usize,
    context: Context,
    /// Where the last expression ended that extends to the right as far as possible: no operator applies to it there.
    open_expression_end: Option<usize>,
    /// How many nodes are above what is being parsed.
    depth: u32,
    /// The greatest depth that anything reached since this was last reset; see [`Parser::start_chain`].
    deepest: u32,
    /// How many brackets of each kind are open: round, square, curly.
    open_brackets: [u32; 3],
    diagnostics: Vec<Diagnostic>,
    last_error_position: Option<usize>,
    first_error_at_end: bool,
    /// Nothing more is worth reporting: the input was nested too deeply, the rest is skipped.
    gave_up: bool,
    /// Operators such as `==-`, which may be two operators written without a space.
    glued_operators: Vec<Span>,
}

impl<'a> Parser<'a> {
    fn new(file: FileId, text: &'a str) -> Self {
        let Lexed { tokens, literals, docs, diagnostics } = lex(file, text);
        Parser {
            file,
            text,
            tokens,
            literals,
            docs,
            docs_used: 0,
            lexical: diagnostics,
            position: 0,
            context: Context::default(),
            open_expression_end: None,
            depth: 0,
            deepest: 0,
            open_brackets: [0; 3],
            diagnostics: Vec::new(),
            last_error_position: None,
            first_error_at_end: false,
            gave_up: false,
            glued_operators: Vec::new(),
        }
    }

    fn finish<T>(self, tree: T) -> Parsed<T> {
        let incomplete = self.lexical.is_empty() && self.first_error_at_end;
        let mut diagnostics = self.lexical;
        diagnostics.extend(self.diagnostics);
        diagnostics.sort_by_key(|diagnostic| diagnostic.primary.span.start);
        Parsed { tree, diagnostics, incomplete }
    }

    // ---------------------------------------------------------------------------------------------------------- looking at tokens

    fn peek(&self) -> Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Token {
        let end = self.text.len() as u32;
        let past_end = Token { kind: TokenKind::EndOfInput, start: end, end, spaced: true, in_first_column: false };
        self.tokens.get(self.position + ahead).or(self.tokens.last()).copied().unwrap_or(past_end)
    }

    fn kind(&self) -> TokenKind {
        self.peek().kind
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn at_keyword(&self, keyword: Keyword) -> bool {
        self.at(TokenKind::Keyword(keyword))
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        self.at(TokenKind::Symbol) && self.token_text(self.peek()) == symbol
    }

    /// The next token is this one, with nothing between it and the token before.
    fn at_tight(&self, kind: TokenKind) -> bool {
        let token = self.peek();
        token.kind == kind && !token.spaced
    }

    fn token_text(&self, token: Token) -> &'a str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    fn token_span(&self, token: Token) -> Span {
        Span::new(self.file, token.start as usize, token.end as usize)
    }

    /// A line ends between the last consumed token and the next.
    fn on_new_line(&self) -> bool {
        let between = self.text.get(self.previous().end as usize..self.peek().start as usize);
        between.is_some_and(|text| text.contains('\n'))
    }

    /// Where the next token is.
    fn here(&self) -> Span {
        self.token_span(self.peek())
    }

    /// Where the last consumed token was.
    fn previous(&self) -> Span {
        match self.position.checked_sub(1).and_then(|before| self.tokens.get(before)) {
            Some(token) => self.token_span(*token),
            None => Span::new(self.file, 0, 0),
        }
    }

    /// From `start` to the last consumed token; just `start` if nothing was consumed behind it.
    fn since(&self, start: Span) -> Span {
        let previous = self.previous();
        if previous.end <= start.start { Span { end: start.start, ..start } } else { start.to(previous) }
    }

    fn literal(&self, index: u32) -> Literal {
        self.literals.get(index as usize).cloned().unwrap_or(Literal::Bool(false))
    }

    // -------------------------------------------------------------------------------------------------------- consuming tokens

    fn advance(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::EndOfInput {
            self.position += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.advance();
        }
        found
    }

    fn eat_keyword(&mut self, keyword: Keyword) -> bool {
        self.eat(TokenKind::Keyword(keyword))
    }

    fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn eat_string(&mut self) -> Option<String> {
        let TokenKind::Literal(LiteralKind::String, index) = self.kind() else { return None };
        self.advance();
        match self.literal(index) {
            Literal::String(text) => Some(text),
            _ => None,
        }
    }

    // --------------------------------------------------------------------------------------------------------- context and depth

    /// Runs a production in another context.
    fn within<T>(&mut self, context: Context, parse: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.context, context);
        let result = parse(self);
        self.context = outer;
        result
    }

    /// A part that ends at a keyword (`then`, `in`, `do`, …) may hold an ascription also inside an index.
    fn delimited<T>(&mut self, parse: impl FnOnce(&mut Self) -> T) -> T {
        self.within(Context { in_index: false, ..self.context }, parse)
    }

    /// Runs a production one level further down, or refuses: then everything up to the end of the input is given up.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> T, refused: impl FnOnce(Span) -> T) -> T {
        if !self.descend() {
            return refused(self.here());
        }
        let result = stacker::maybe_grow(128 * 1024, 1024 * 1024, || parse(self));
        self.depth -= 1;
        result
    }

    /// One level further down; false if that is too far. The caller takes the level back from `depth`.
    fn descend(&mut self) -> bool {
        if self.gave_up || self.depth >= MAX_DEPTH {
            self.give_up();
            return false;
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        true
    }

    /// Starts to measure a node that will be wrapped from the left, as `a` in `a + b + c`: what is already parsed moves down then.
    /// Returns what [`Parser::end_chain`] wants back.
    fn start_chain(&mut self) -> u32 {
        std::mem::replace(&mut self.deepest, self.depth)
    }

    /// What was parsed since [`Parser::start_chain`] goes one level further down; false if that is too far.
    fn deepen(&mut self) -> bool {
        self.deepest += 1;
        if self.gave_up || self.deepest > MAX_DEPTH {
            self.give_up();
            return false;
        }
        true
    }

    fn end_chain(&mut self, outer: u32) {
        self.deepest = self.deepest.max(outer);
    }

    fn give_up(&mut self) {
        if self.gave_up {
            return;
        }
        let diagnostic = Diagnostic::error("E0136", self.here(), "this is nested too deeply")
            .here(format!("more than {MAX_DEPTH} levels of nesting, or links of one chain"))
            .hint("split it into several definitions");
        self.report(diagnostic);
        self.gave_up = true;
        self.position = self.tokens.len().saturating_sub(1);
    }
}
