//! Types.

use chadwick_source::Span;

use super::Parser;
use super::recovery::Bracket;
use crate::ast::{Ident, Liftedness, SizeExp, TypeArg, TypeExp, TypeExpKind, TypeParam, TypeParamKind};
use crate::lexer::{Token, TokenKind};

impl Parser<'_> {
    /// Any type: an existential, a function type, a sum, or something simpler.
    pub(super) fn type_exp(&mut self) -> TypeExp {
        self.nested(Self::type_exp_here, |span| TypeExp { kind: TypeExpKind::Error, span })
    }

    fn type_exp_here(&mut self) -> TypeExp {
        let start = self.here();
        if self.at(TokenKind::Question) {
            return self.existential();
        }
        if self.at(TokenKind::Constructor) {
            return self.sum_type();
        }
        let (param, from) = if self.at_named_parameter() { self.named_parameter() } else { (None, self.prefix_type()) };
        let has_arrow =
            self.at(TokenKind::Arrow) || (self.at(TokenKind::Symbol) && self.token_text(self.peek()).starts_with("->"));
        if !has_arrow {
            if param.is_some() {
                self.report_expected("E0125", "`->` behind a named parameter");
            }
            return from;
        }
        self.expect(TokenKind::Arrow, "`->`");
        let to = Box::new(self.type_exp());
        self.typed(start, TypeExpKind::Arrow { param, from: Box::new(from), to })
    }

    fn typed(&self, start: Span, kind: TypeExpKind) -> TypeExp {
        TypeExp { kind, span: self.since(start) }
    }

    /// `(x: t)` before an arrow.
    fn at_named_parameter(&self) -> bool {
        self.at(TokenKind::LeftParen)
            && matches!(self.peek_at(1).kind, TokenKind::Name | TokenKind::Underscore)
            && self.peek_at(2).kind == TokenKind::Colon
    }

    fn named_parameter(&mut self) -> (Option<Ident>, TypeExp) {
        self.bracketed(Bracket::Round, |parser| {
            let name = parser.name("the name of a parameter");
            parser.expect(TokenKind::Colon, "`:`");
            (Some(name), parser.type_exp())
        })
    }

    /// `?[n][m].t`
    fn existential(&mut self) -> TypeExp {
        let start = self.here();
        self.advance();
        let mut sizes = Vec::new();
        while self.at(TokenKind::LeftBracket) {
            sizes.push(self.bracketed(Bracket::Square, |parser| parser.name("the name of a size")));
        }
        if sizes.is_empty() {
            self.report_expected("E0123", "a size in brackets, as in `?[n].[n]t`");
        }
        self.expect(TokenKind::Dot, "`.` behind the sizes");
        let body = Box::new(self.type_exp());
        self.typed(start, TypeExpKind::Exists(sizes, body))
    }

    /// `#a t u | #b`
    fn sum_type(&mut self) -> TypeExp {
        let start = self.here();
        let mut constructors = Vec::new();
        loop {
            if !self.at(TokenKind::Constructor) {
                self.report_expected("E0123", "a constructor such as `#some`");
                break;
            }
            let constructor = self.constructor_name();
            let mut payload = Vec::new();
            while self.at_type_atom() || self.at(TokenKind::LeftBracket) {
                payload.push(if self.at(TokenKind::LeftBracket) { self.prefix_type() } else { self.type_atom() });
            }
            constructors.push((constructor, payload));
            if !self.eat_symbol("|") {
                break;
            }
        }
        self.typed(start, TypeExpKind::Sum(constructors))
    }

    /// `#name`, which is next, without the `#`.
    pub(super) fn constructor_name(&mut self) -> Ident {
        let token = self.advance();
        let ident = self.token_ident(token);
        Ident { name: ident.name.trim_start_matches('#').into(), span: ident.span }
    }

    /// A type without arrows, sums and existentials at its top.
    pub(super) fn prefix_type(&mut self) -> TypeExp {
        self.nested(Self::prefix_type_here, |span| TypeExp { kind: TypeExpKind::Error, span })
    }

    fn prefix_type_here(&mut self) -> TypeExp {
        let start = self.here();
        if self.eat_symbol("*") {
            let inner = Box::new(self.prefix_type());
            return self.typed(start, TypeExpKind::Unique(inner));
        }
        if self.at(TokenKind::LeftBracket) {
            let size = self.size();
            let element = Box::new(self.prefix_type());
            return self.typed(start, TypeExpKind::Array(size, element));
        }
        if !self.at(TokenKind::Name) {
            return self.type_atom();
        }
        let name = self.qualified_name("a type");
        let mut arguments = Vec::new();
        loop {
            if self.at(TokenKind::LeftBracket) {
                arguments.push(TypeArg::Size(self.size()));
            } else if self.at_type_atom() {
                arguments.push(TypeArg::Type(self.type_atom()));
            } else {
                break;
            }
        }
        self.typed(start, TypeExpKind::Apply(name, arguments))
    }

    /// `[n]` or `[]`
    fn size(&mut self) -> SizeExp {
        let start = self.here();
        let exp = self.bracketed(Bracket::Square, |parser| (!parser.at(TokenKind::RightBracket)).then(|| Box::new(parser.exp())));
        SizeExp { exp, span: self.since(start) }
    }

    fn at_type_atom(&self) -> bool {
        match self.kind() {
            TokenKind::Name => !self.at_group_separator(),
            TokenKind::LeftParen | TokenKind::LeftBrace => true,
            _ => false,
        }
    }

    fn type_atom(&mut self) -> TypeExp {
        self.nested(Self::type_atom_here, |span| TypeExp { kind: TypeExpKind::Error, span })
    }

    fn type_atom_here(&mut self) -> TypeExp {
        let start = self.here();
        match self.kind() {
            TokenKind::Name => {
                let name = self.qualified_name("a type");
                self.typed(start, TypeExpKind::Apply(name, Vec::new()))
            }
            TokenKind::LeftParen => {
                let (mut types, trailing_comma) =
                    self.bracketed(Bracket::Round, |parser| parser.comma_list(Bracket::Round, Self::type_exp));
                if types.len() == 1 {
                    if trailing_comma {
                        self.report_one_element_tuple(start);
                    }
                    if let Some(only) = types.pop() {
                        return only;
                    }
                }
                self.typed(start, TypeExpKind::Tuple(types))
            }
            TokenKind::LeftBrace => {
                let (fields, _) = self.bracketed(Bracket::Curly, |parser| {
                    parser.comma_list(Bracket::Curly, |p| {
                        let field = p.field_name();
                        p.expect(TokenKind::Colon, "`:` and the type of the field");
                        (field, p.type_exp())
                    })
                });
                self.typed(start, TypeExpKind::Record(fields))
            }
            _ => {
                let mut diagnostic = self.expected("E0123", "a type");
                if let TokenKind::TypeVariable(_) = self.kind() {
                    let name = self.token_text(self.peek()).trim_start_matches(['\'', '~', '^']);
                    diagnostic =
                        diagnostic.hint(format!("inside a type, write just `{name}`: the quote belongs to the parameter list"));
                    self.report(diagnostic);
                    self.advance();
                } else {
                    self.report(diagnostic);
                }
                self.typed(start, TypeExpKind::Error)
            }
        }
    }

    // --------------------------------------------------------------------------------------------------------- type parameters

    pub(super) fn at_type_param(&self) -> bool {
        matches!(self.kind(), TokenKind::TypeVariable(_) | TokenKind::LeftBracket)
    }

    /// `[n]`, `'t`, `'~t`, `'^t`, as many as there are.
    pub(super) fn type_params(&mut self) -> Vec<TypeParam> {
        let mut params = Vec::new();
        while self.at_type_param() {
            params.push(self.type_param());
        }
        params
    }

    pub(super) fn type_param(&mut self) -> TypeParam {
        if let TokenKind::TypeVariable(liftedness) = self.kind() {
            let token = self.advance();
            let quote = if liftedness == Liftedness::Unlifted { 1 } else { 2 };
            let name = self.token_ident(Token { start: token.start + quote, ..token });
            return TypeParam { kind: TypeParamKind::Type(liftedness), name };
        }
        let name = self.bracketed(Bracket::Square, |parser| parser.name("the name of a size"));
        TypeParam { kind: TypeParamKind::Size, name }
    }
}
