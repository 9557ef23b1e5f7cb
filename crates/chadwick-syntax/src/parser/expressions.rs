//! Expressions from ascriptions down to atoms, except what starts with a keyword and what stands in parentheses.

use chadwick_source::{Diagnostic, Span};

use super::Parser;
use super::operators::RIGHT_ASSOCIATIVE_LEVEL;
use super::recovery::Bracket;
use crate::ast::{Access, Exp, ExpKind, Ident, IndexPart, Literal, QualName, RangeEnd, UnaryOperator};
use crate::lexer::{Keyword, TokenKind};

pub(super) fn error_exp(span: Span) -> Exp {
    Exp { kind: ExpKind::Error, span }
}

impl Parser<'_> {
    pub(super) fn exp(&mut self) -> Exp {
        self.nested(Self::ascription, error_exp)
    }

    pub(super) fn made(&self, start: Span, kind: ExpKind) -> Exp {
        Exp { kind, span: self.since(start) }
    }

    /// The same for a node around what was parsed since the chain started, which goes one level further down.
    fn made_deeper(&mut self, start: Span, kind: ExpKind) -> Exp {
        if self.deepen() { self.made(start, kind) } else { error_exp(start) }
    }

    // -------------------------------------------------------------------------------------------- ascriptions, ranges, updates

    /// `e : t`, `e :> t`
    fn ascription(&mut self) -> Exp {
        let start = self.here();
        let chain = self.start_chain();
        let mut exp = self.range();
        loop {
            let coerces = self.at(TokenKind::Coerce);
            if !coerces && !self.at(TokenKind::Colon) || self.behind_open_expression() {
                break;
            }
            if self.context.in_index {
                if coerces {
                    let diagnostic = Diagnostic::error("E0140", self.here(), "a type inside an index needs parentheses")
                        .here("`:` separates the parts of a slice here")
                        .hint("write `a[(e :> t)]`");
                    self.report(diagnostic);
                }
                break;
            }
            self.advance();
            let ty = self.type_exp();
            let kind = if coerces { ExpKind::Coerce(Box::new(exp), ty) } else { ExpKind::Ascribe(Box::new(exp), ty) };
            exp = self.made_deeper(start, kind);
        }
        self.end_chain(chain);
        exp
    }

    /// `a..b...c` and the other ranges.
    fn range(&mut self) -> Exp {
        let start = self.here();
        let chain = self.start_chain();
        let first = self.update();
        let range = self.range_from(start, first);
        self.end_chain(chain);
        range
    }

    fn range_from(&mut self, start: Span, first: Exp) -> Exp {
        if self.behind_open_expression() {
            return first;
        }
        let second = self.eat(TokenKind::DotDot).then(|| Box::new(self.update()));
        let Some(end) = self.range_end() else {
            if second.is_some() {
                self.report_expected("E0144", "`...`, `..<` or `..>` and the end of the range");
            }
            return first;
        };
        self.advance();
        let last = Box::new(self.update());
        let range = self.made_deeper(start, ExpKind::Range { first: Box::new(first), second, end, last });
        if self.range_end().is_some() || self.at(TokenKind::DotDot) && !self.behind_open_expression() {
            let diagnostic = Diagnostic::error("E0144", self.here(), "ranges cannot be chained")
                .here("a range ends before this")
                .also(range.span, "this is a whole range")
                .hint("a range has a start, perhaps a second element, and an end: `a..b...c`");
            self.report(diagnostic);
            self.advance();
            self.update();
        }
        range
    }

    fn range_end(&self) -> Option<RangeEnd> {
        match self.kind() {
            _ if self.behind_open_expression() => None,
            TokenKind::DotDotDot => Some(RangeEnd::Inclusive),
            TokenKind::DotDotLess => Some(RangeEnd::UpTo),
            TokenKind::DotDotGreater => Some(RangeEnd::DownTo),
            _ => None,
        }
    }

    /// `e with [i] = v with a.b = w`
    fn update(&mut self) -> Exp {
        let start = self.here();
        let chain = self.start_chain();
        let mut exp = self.infix(0);
        while !self.behind_open_expression() && self.eat_keyword(Keyword::With) {
            let path = self.update_path();
            self.expect(TokenKind::Equals, "`=` and the new value");
            let value = Box::new(self.infix(0));
            exp = self.made_deeper(start, ExpKind::Update { target: Box::new(exp), path, value });
        }
        self.end_chain(chain);
        exp
    }

    fn update_path(&mut self) -> Vec<Access> {
        let first = if self.at(TokenKind::LeftBracket) {
            self.index_access()
        } else if self.at_field_name() {
            Access::Field(self.field_name())
        } else {
            self.report_expected("E0121", "an index in brackets or a field name");
            return Vec::new();
        };
        let mut path = vec![first];
        self.more_accesses(&mut path);
        path
    }

    /// `[i]` and `.field`, as many as there are.
    pub(super) fn more_accesses(&mut self, path: &mut Vec<Access>) {
        loop {
            if self.at(TokenKind::LeftBracket) {
                path.push(self.index_access());
            } else if self.eat(TokenKind::Dot) {
                path.push(Access::Field(self.field_name()));
            } else {
                return;
            }
        }
    }

    pub(super) fn index_access(&mut self) -> Access {
        let start = self.here();
        let parts = self.index();
        Access::Index(parts, self.since(start))
    }

    // --------------------------------------------------------------------------------------------------------------- operators

    /// Operators of at least this level; the last operand may be something that extends to the right, as `if`.
    pub(super) fn infix(&mut self, least: u8) -> Exp {
        let start = self.here();
        let chain = self.start_chain();
        let mut left = self.operand();
        while !self.behind_open_expression() {
            if self.at(TokenKind::Equals) {
                self.equals_for_equality();
                left = self.made(start, ExpKind::Error);
                continue;
            }
            let Some(operator) = self.peek_infix() else {
                if self.at(TokenKind::Backtick) {
                    self.unclosed_backtick();
                    left = self.made(start, ExpKind::Error);
                    continue;
                }
                break;
            };
            if operator.level < least || self.ends_section(&operator) {
                break;
            }
            let name = self.infix_operator(&operator);
            let right = if operator.level == RIGHT_ASSOCIATIVE_LEVEL {
                self.nested(|parser| parser.infix(RIGHT_ASSOCIATIVE_LEVEL), error_exp)
            } else {
                self.infix(operator.level + 1)
            };
            left = self.made_deeper(start, ExpKind::Binary(Box::new(left), name, Box::new(right)));
        }
        self.end_chain(chain);
        left
    }

    /// Nothing that follows an expression starts with `=`: somebody compares, or forgot a keyword.
    fn equals_for_equality(&mut self) {
        let diagnostic = Diagnostic::error("E0131", self.here(), "`=` cannot stand behind an expression")
            .here("not an operator")
            .hint("equality is written `==`; a definition starts with `def` or `let`");
        self.report(diagnostic);
        self.advance();
        self.operand();
    }

    fn unclosed_backtick(&mut self) {
        let diagnostic = Diagnostic::error("E0146", self.here(), "this backtick does not enclose a name")
            .here("starts a function used as an operator")
            .hint("write the name between two backticks: ``a `f` b``");
        self.report(diagnostic);
        self.advance();
        self.operand();
    }

    fn operand(&mut self) -> Exp {
        if !self.at_open_expression() {
            return self.unary();
        }
        let exp = self.nested(Self::open_expression, error_exp);
        self.open_expression_end = Some(self.position);
        exp
    }

    /// Right behind an expression that extends to the right: what it did not take, as `..<` behind `\x -> x : t`, nobody takes.
    pub(super) fn behind_open_expression(&self) -> bool {
        self.open_expression_end == Some(self.position)
    }

    fn unary(&mut self) -> Exp {
        let chain = self.start_chain();
        let mut prefixes = Vec::new();
        loop {
            let start = self.here();
            if self.eat_symbol("-") {
                prefixes.push((start, UnaryOperator::Negate));
            } else if self.eat_symbol("!") {
                prefixes.push((start, UnaryOperator::Not));
            } else {
                break;
            }
        }
        let mut exp = self.application();
        while let Some((start, operator)) = prefixes.pop() {
            exp = self.made_deeper(start, ExpKind::Unary(operator, Box::new(exp)));
        }
        self.end_chain(chain);
        exp
    }

    // ------------------------------------------------------------------------------------------------------------- application

    /// `f a b`, `#c a b`, possibly with a lambda as last argument.
    fn application(&mut self) -> Exp {
        let start = self.here();
        let chain = self.start_chain();
        let constructor = self.at(TokenKind::Constructor).then(|| self.constructor_name());
        let exp = if let Some(constructor) = constructor {
            let arguments = self.arguments();
            self.made_deeper(start, ExpKind::Constructor(constructor, arguments))
        } else {
            let function = self.postfix();
            let arguments = self.arguments();
            if arguments.is_empty() { function } else { self.made_deeper(start, ExpKind::Apply(Box::new(function), arguments)) }
        };
        self.end_chain(chain);
        exp
    }

    fn arguments(&mut self) -> Vec<Exp> {
        let mut arguments = Vec::new();
        loop {
            if self.at_argument() {
                arguments.push(self.postfix());
            } else if let TokenKind::TypeVariable(_) = self.kind() {
                self.report_missing_expression();
            } else {
                break;
            }
        }
        if self.at(TokenKind::Backslash) || self.forbid_open_argument() {
            arguments.push(self.nested(Self::open_expression, error_exp));
            self.open_expression_end = Some(self.position);
        }
        arguments.shrink_to_fit();
        arguments
    }

    /// Reports `f if …` and the like; true if that is what stands here.
    fn forbid_open_argument(&mut self) -> bool {
        let TokenKind::Keyword(Keyword::If | Keyword::Loop | Keyword::Match | Keyword::Assert) = self.kind() else {
            return false;
        };
        let text = self.token_text(self.peek());
        let diagnostic = Diagnostic::error("E0139", self.here(), format!("`{text}` needs parentheses as an argument"))
            .here("not an argument as it stands")
            .hint(if self.on_new_line() {
                format!("write `in` before it if it is what a `let` leads to, or `({text} …)` if it is an argument")
            } else {
                format!("write `({text} …)`")
            });
        self.report(diagnostic);
        true
    }

    fn at_argument(&self) -> bool {
        match self.kind() {
            TokenKind::Name => !self.at_group_separator() && self.peek_infix().is_none(),
            _ => self.at_atom(),
        }
    }

    fn at_atom(&self) -> bool {
        match self.kind() {
            TokenKind::Name => !self.at_group_separator(),
            TokenKind::Underscore | TokenKind::Constructor | TokenKind::Literal(..) | TokenKind::Hole => true,
            TokenKind::LeftParen | TokenKind::LeftBracket | TokenKind::LeftBrace => true,
            TokenKind::Keyword(Keyword::True | Keyword::False) => true,
            _ => false,
        }
    }

    pub(super) fn at_expression_start(&self) -> bool {
        self.at_atom() || self.at_open_expression() || self.at_symbol("-") || self.at_symbol("!")
    }

    /// An atom with indices and projections, which touch what they belong to.
    pub(super) fn postfix(&mut self) -> Exp {
        let start = self.here();
        let chain = self.start_chain();
        let mut exp = self.atom();
        loop {
            let kind = if self.at_tight(TokenKind::LeftBracket) && self.may_be_indexed(&exp) {
                let parts = self.index();
                ExpKind::Index(Box::new(exp), parts)
            } else if self.at(TokenKind::Dot) {
                self.forbid_field_of(&exp);
                let Some(field) = self.projection() else { break };
                ExpKind::Project(Box::new(exp), field)
            } else {
                break;
            };
            exp = self.made_deeper(start, kind);
        }
        self.end_chain(chain);
        exp
    }

    /// Numbers and constructors have no fields; a dot behind one is a slip.
    fn forbid_field_of(&mut self, exp: &Exp) {
        let (what, hint) = match exp.kind {
            ExpKind::Literal(Literal::Int(..) | Literal::Float(_)) => ("a number", "write the fraction, as in `1.0`"),
            ExpKind::Constructor(..) => ("a constructor", "take the payload apart with `match`"),
            _ => return,
        };
        let diagnostic =
            Diagnostic::error("E0138", self.here(), format!("{what} has no fields")).here("no field can stand here").hint(hint);
        self.report(diagnostic);
    }

    /// A bracket that touches a literal or a constructor is an argument; behind a name, `)`, `]` or a field it is an index.
    fn may_be_indexed(&self, exp: &Exp) -> bool {
        let previous = self.position.checked_sub(1).and_then(|before| self.tokens.get(before)).map(|token| token.kind);
        matches!(previous, Some(TokenKind::Name | TokenKind::RightParen | TokenKind::RightBracket))
            || matches!(exp.kind, ExpKind::Project(..))
    }

    /// `.field`; the dot is next.
    fn projection(&mut self) -> Option<Ident> {
        let (dot, field) = (self.peek(), self.peek_at(1));
        let is_field = matches!(field.kind, TokenKind::Name | TokenKind::Keyword(_) | TokenKind::Literal(..));
        if !is_field {
            self.advance();
            self.report_expected("E0121", "a field name behind the `.`");
            return None;
        }
        if dot.spaced || field.spaced {
            let diagnostic = Diagnostic::error("E0138", self.here(), "a projection has no spaces around its dot")
                .here("spaces here")
                .hint(format!("write `.{}` right behind the expression", self.token_text(field)));
            self.report(diagnostic);
        }
        self.advance();
        Some(self.field_name())
    }

    /// `[i, j:k]`; the bracket is next.
    fn index(&mut self) -> Vec<IndexPart> {
        let start = self.here();
        let (parts, _) = self.bracketed(Bracket::Square, |parser| {
            parser.context.in_index = true;
            parser.comma_list(Bracket::Square, Self::index_part)
        });
        if parts.is_empty() {
            let span = self.since(start);
            let diagnostic = Diagnostic::error("E0121", span, "an index needs at least one position")
                .hint("write `a[i]` to index, `a []` with a space to apply `a` to an empty array");
            self.report_behind(diagnostic);
        }
        parts
    }

    fn index_part(&mut self) -> IndexPart {
        let start = self.here();
        let first = self.slice_bound();
        if !self.at(TokenKind::Colon) {
            return IndexPart::Index(first.unwrap_or_else(|| {
                self.report_expected("E0121", "an index");
                error_exp(start)
            }));
        }
        self.advance();
        let end = self.slice_bound();
        let stride = if self.eat(TokenKind::Colon) { self.slice_bound() } else { None };
        IndexPart::Slice { start: first, end, stride, span: self.since(start) }
    }

    fn slice_bound(&mut self) -> Option<Exp> {
        let absent = matches!(self.kind(), TokenKind::Colon | TokenKind::Comma | TokenKind::RightBracket);
        (!absent).then(|| self.exp())
    }

    // ------------------------------------------------------------------------------------------------------------------- atoms

    fn atom(&mut self) -> Exp {
        let start = self.here();
        let kind = match self.kind() {
            TokenKind::Name if !self.at_group_separator() => self.name_atom(),
            TokenKind::Literal(_, index) => {
                self.advance();
                ExpKind::Literal(self.literal(index))
            }
            TokenKind::Keyword(keyword @ (Keyword::True | Keyword::False)) => {
                self.advance();
                ExpKind::Literal(Literal::Bool(keyword == Keyword::True))
            }
            TokenKind::Constructor => ExpKind::Constructor(self.constructor_name(), Vec::new()),
            TokenKind::Hole => {
                self.advance();
                ExpKind::Hole
            }
            TokenKind::LeftParen => self.parenthesised(),
            TokenKind::LeftBracket => {
                let (elements, _) = self.bracketed(Bracket::Square, |parser| parser.comma_list(Bracket::Square, Self::exp));
                ExpKind::Array(elements)
            }
            TokenKind::LeftBrace => {
                let (fields, _) = self.bracketed(Bracket::Curly, |parser| parser.comma_list(Bracket::Curly, Self::record_field));
                ExpKind::Record(fields)
            }
            TokenKind::Underscore => {
                let diagnostic = Diagnostic::error("E0135", self.here(), "`_` is not a value")
                    .here("an underscore can be bound but not used")
                    .hint("write `???` for an expression that is yet to be written");
                self.report(diagnostic);
                self.advance();
                ExpKind::Error
            }
            _ => {
                self.report_missing_expression();
                return error_exp(start);
            }
        };
        self.made(start, kind)
    }

    fn report_missing_expression(&mut self) {
        let mut diagnostic = self.expected("E0121", "an expression");
        if diagnostic.hint.is_none() {
            diagnostic = match self.kind() {
                TokenKind::Symbol => {
                    let text = self.token_text(self.peek());
                    diagnostic.hint(format!("an operator stands between two operands; as a function it is `({text})`"))
                }
                TokenKind::TypeVariable(_) => diagnostic.hint("a character is written with a quote on both sides: `'c'`"),
                TokenKind::Name => diagnostic.hint("inside a `rec` group `and` starts the next member; the function is `(and)`"),
                _ => diagnostic,
            };
        }
        let skip = matches!(self.kind(), TokenKind::TypeVariable(_));
        self.report(diagnostic);
        if skip {
            self.advance();
        }
    }

    /// A possibly dotted name, or `m.(e)`.
    fn name_atom(&mut self) -> ExpKind {
        let token = self.advance();
        let first = self.token_ident(token);
        self.forbid_underscore_name(&first);
        let name = self.qualified_name_from(first);
        if self.at_tight_dot_before(TokenKind::LeftParen) {
            self.advance();
            let inner = self.bracketed(Bracket::Round, Self::exp);
            return ExpKind::OpenIn(name, Box::new(inner));
        }
        if self.at_tight_dot_before(TokenKind::Symbol) {
            let symbol = self.token_ident(self.peek_at(1));
            let span = name.span().to(symbol.span);
            let diagnostic =
                Diagnostic::error("E0121", span, format!("the operator `{name}.{}` has no left operand", symbol.name))
                    .hint(format!("as a function it is `({name}.{})`", symbol.name));
            self.report(diagnostic);
            self.advance();
            self.advance();
            let QualName { mut qualifiers, name } = name;
            qualifiers.push(name);
            return ExpKind::Operator(QualName { qualifiers, name: symbol });
        }
        ExpKind::Name(name)
    }

    fn forbid_underscore_name(&mut self, ident: &Ident) {
        let is_missing = ident.span == self.here();
        if ident.name.starts_with('_') && !is_missing {
            let diagnostic =
                Diagnostic::error("E0135", ident.span, format!("`{}` cannot be used: it starts with an underscore", ident.name))
                    .here("names with a leading underscore are for what is not used")
                    .hint(format!("call it `{}` where it is bound and here", ident.name.trim_start_matches('_')));
            self.report_behind(diagnostic);
        }
    }

    fn record_field(&mut self) -> (Ident, Option<Exp>) {
        let is_digits = self.at_digits();
        let field = self.field_name();
        let glued = self.at(TokenKind::Symbol) && self.token_text(self.peek()).starts_with('=');
        if self.at(TokenKind::Equals) || glued || is_digits {
            self.expect(TokenKind::Equals, "`=` and the value of the field");
            return (field, Some(self.exp()));
        }
        if self.at(TokenKind::Colon) {
            let diagnostic =
                self.expected("E0125", "`=` and the value of the field").hint("a field is given its value with `=`: `{x = 1}`");
            self.report(diagnostic);
            self.advance();
            return (field, Some(self.exp()));
        }
        self.forbid_underscore_name(&field);
        (field, None)
    }
}
