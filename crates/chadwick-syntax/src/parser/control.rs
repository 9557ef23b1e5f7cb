//! Expressions that start with a keyword and extend to the right as far as possible, except `let`.

use chadwick_source::{Diagnostic, Span};

use super::Parser;
use super::expressions::error_exp;
use super::recovery::Bracket;
use crate::ast::{Exp, ExpKind, Ident, LoopExp, LoopForm};
use crate::lexer::{Keyword, TokenKind};

impl Parser<'_> {
    pub(super) fn at_open_expression(&self) -> bool {
        matches!(
            self.kind(),
            TokenKind::Keyword(Keyword::Let | Keyword::If | Keyword::Loop | Keyword::Match | Keyword::Assert)
                | TokenKind::Backslash
                | TokenKind::AttributeOpen
        )
    }

    pub(super) fn open_expression(&mut self) -> Exp {
        match self.kind() {
            TokenKind::Keyword(Keyword::Let) => self.let_expression(),
            TokenKind::Keyword(Keyword::If) => self.if_expression(),
            TokenKind::Keyword(Keyword::Loop) => self.loop_expression(),
            TokenKind::Keyword(Keyword::Match) => self.match_expression(),
            TokenKind::Keyword(Keyword::Assert) => self.assert_expression(),
            TokenKind::AttributeOpen => self.attributed_expression(),
            _ => self.lambda(),
        }
    }

    fn attributed_expression(&mut self) -> Exp {
        let start = self.here();
        let attribute = self.attribute();
        let inner = Box::new(self.exp());
        self.made(start, ExpKind::Attributed(attribute, inner))
    }

    /// `assert condition value`
    fn assert_expression(&mut self) -> Exp {
        let start = self.here();
        self.advance();
        let condition = Box::new(self.postfix());
        let value = Box::new(self.exp());
        self.made(start, ExpKind::Assert(condition, value))
    }

    /// `\x y : t -> e`
    fn lambda(&mut self) -> Exp {
        let start = self.here();
        self.advance();
        let mut params = vec![self.atomic_pattern()];
        while self.at_atomic_pattern() {
            params.push(self.atomic_pattern());
        }
        let result = self.eat(TokenKind::Colon).then(|| self.prefix_type());
        let has_body = self.expect(TokenKind::Arrow, "`->` and the body of the function");
        let body = if has_body || self.at_expression_start() { self.exp() } else { error_exp(self.here()) };
        self.made(start, ExpKind::Lambda { params, result, body: Box::new(body) })
    }

    /// `if … then … else if … then … else …`, in a loop: such chains grow long.
    fn if_expression(&mut self) -> Exp {
        let outer_depth = self.depth;
        let mut arms: Vec<(Span, Exp, Exp)> = Vec::new();
        let mut result = loop {
            let start = self.here();
            self.advance();
            let condition = self.delimited(Self::exp);
            let then = self.branch(Keyword::Then, start);
            arms.push((start, condition, then));
            if !self.at_keyword(Keyword::Else) {
                break self.branch(Keyword::Else, start);
            }
            if self.peek_at(1).kind != TokenKind::Keyword(Keyword::If) {
                self.advance();
                break self.exp();
            }
            self.advance();
            if !self.descend() {
                break error_exp(self.here());
            }
        };
        self.depth = outer_depth;
        while let Some((start, condition, then)) = arms.pop() {
            result = self.made(start, ExpKind::If(Box::new(condition), Box::new(then), Box::new(result)));
        }
        result
    }

    /// `then` or `else` and the expression behind it.
    fn branch(&mut self, keyword: Keyword, opener: Span) -> Exp {
        if !self.eat_keyword(keyword) {
            let text = keyword.text();
            let mut diagnostic = self.expected("E0129", &format!("`{text}`")).also(opener, format!("this `if` has no `{text}`"));
            if keyword == Keyword::Else {
                diagnostic = diagnostic.hint("both branches must be there: an `if` is an expression and always has a value");
            } else {
                diagnostic = diagnostic.hint("write `then` behind the condition");
            }
            self.report(diagnostic);
            if !self.at_expression_start() || keyword == Keyword::Else {
                return error_exp(self.here());
            }
        }
        self.delimited(Self::exp)
    }

    fn loop_expression(&mut self) -> Exp {
        let start = self.here();
        self.advance();
        let sizes = self.sizes();
        let pattern = self.pattern();
        let glued = self.at(TokenKind::Symbol) && self.token_text(self.peek()).starts_with('=');
        let initial = (self.at(TokenKind::Equals) || glued).then(|| {
            self.expect(TokenKind::Equals, "`=`");
            self.delimited(Self::exp)
        });
        let form = self.loop_form(start);
        let has_do = self.eat_keyword(Keyword::Do);
        if !has_do {
            let diagnostic =
                self.expected("E0130", "`do`").also(start, "this `loop` has no body").hint("the body of a loop follows `do`");
            self.report(diagnostic);
        }
        let body = if has_do || self.at_expression_start() { self.exp() } else { error_exp(self.here()) };
        self.made(start, ExpKind::Loop(Box::new(LoopExp { sizes, pattern, initial, form, body })))
    }

    /// `[n][m]` before the pattern of a `let` or `loop`.
    pub(super) fn sizes(&mut self) -> Vec<Ident> {
        let mut sizes = Vec::new();
        while self.at(TokenKind::LeftBracket) {
            sizes.push(self.bracketed(Bracket::Square, |parser| parser.name("the name of a size")));
        }
        sizes
    }

    fn loop_form(&mut self, opener: Span) -> LoopForm {
        if self.eat_keyword(Keyword::While) {
            return LoopForm::While(self.delimited(Self::exp));
        }
        if !self.eat_keyword(Keyword::For) {
            let diagnostic = self
                .expected("E0130", "`for` or `while`")
                .also(opener, "this `loop` does not say how long it runs")
                .hint("write `for i < n do`, `for x in xs do` or `while condition do`");
            self.report(diagnostic);
            return LoopForm::While(error_exp(self.here()));
        }
        let bound = self.peek_at(1);
        let counts = matches!(self.kind(), TokenKind::Name | TokenKind::Underscore)
            && bound.kind == TokenKind::Symbol
            && self.token_text(bound).starts_with('<');
        if counts {
            let counter = self.name("the counter of the loop");
            if !self.eat_symbol("<") {
                self.report_expected("E0130", "`<` and the bound");
                self.advance();
            }
            return LoopForm::For(counter, self.delimited(Self::exp));
        }
        let pattern = self.pattern();
        if !self.eat_keyword(Keyword::In) {
            let diagnostic = self
                .expected("E0130", "`in` or `<`")
                .also(opener, "in this `loop`")
                .hint("write `for i < n do` to count, `for x in xs do` to take the elements of an array");
            self.report(diagnostic);
            if !self.at_expression_start() {
                return LoopForm::ForIn(pattern, error_exp(self.here()));
            }
        }
        LoopForm::ForIn(pattern, self.delimited(Self::exp))
    }

    /// `match e case p -> e …`; takes all cases that follow.
    fn match_expression(&mut self) -> Exp {
        let start = self.here();
        self.advance();
        let scrutinee = Box::new(self.delimited(Self::exp));
        let mut cases = Vec::new();
        while self.eat_keyword(Keyword::Case) {
            let pattern = self.case_pattern();
            let has_body = self.expect(TokenKind::Arrow, "`->` and the result of this case");
            let body = if has_body || self.at_expression_start() { self.exp() } else { error_exp(self.here()) };
            cases.push((pattern, body));
        }
        if cases.is_empty() {
            let diagnostic = self
                .expected("E0141", "`case`")
                .also(start, "this `match` has no cases")
                .hint("write `case pattern -> result` for every case");
            self.report(diagnostic);
        }
        self.made(start, ExpKind::Match(scrutinee, cases))
    }

    /// What a diagnostic about a `let` without `in` says.
    pub(super) fn missing_in(&self, opener: Span) -> Diagnostic {
        self.expected("E0128", "`in` and the expression that uses the binding")
            .also(opener, "this `let` has no `in`")
            .hint("write `in` before the result; only another `let` may follow without it")
    }
}
