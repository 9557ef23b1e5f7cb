//! Declarations of values and types.

use chadwick_source::{Diagnostic, Span};

use super::recovery::Bracket;
use super::{Context, Parser};
use crate::ast::{Declaration, DeclarationKind, ExpKind, Ident, Liftedness, Pattern, TypeBinding, TypeParam, ValueBinding};
use crate::lexer::{Keyword, TokenKind};

impl Parser<'_> {
    pub(super) fn program(&mut self) -> Vec<Declaration> {
        let mut declarations = Vec::new();
        while !self.at(TokenKind::EndOfInput) {
            declarations.extend(self.declaration());
        }
        declarations
    }

    /// The declarations between the braces of a module.
    pub(super) fn declarations_in_braces(&mut self) -> Vec<Declaration> {
        self.bracketed(Bracket::Curly, |parser| {
            let mut declarations = Vec::new();
            while !parser.at(TokenKind::EndOfInput) && !parser.at(TokenKind::RightBrace) {
                declarations.extend(parser.declaration());
            }
            declarations
        })
    }

    /// One declaration; nothing, behind an error, where none starts. Always makes progress unless it stops at `}`.
    fn declaration(&mut self) -> Option<Declaration> {
        let before = self.position;
        let declaration = self.nested(Self::declaration_here, |_| None);
        if self.position == before && !self.at(TokenKind::EndOfInput) {
            self.skip_to_declaration("a declaration");
            if self.position == before {
                self.advance();
            }
        }
        declaration
    }

    fn declaration_here(&mut self) -> Option<Declaration> {
        let doc = self.take_doc();
        let start = self.here();
        let attributes = self.attributes();
        let doc = doc.or_else(|| self.take_doc());
        let kind = match self.kind() {
            TokenKind::Keyword(Keyword::Def | Keyword::Entry | Keyword::Let) => self.value_declaration(),
            TokenKind::Keyword(Keyword::Type) => self.type_declaration(),
            TokenKind::Keyword(Keyword::Module) => self.module_declaration(),
            TokenKind::Keyword(Keyword::Open) => {
                self.advance();
                DeclarationKind::Open(self.module_exp())
            }
            TokenKind::Keyword(Keyword::Import) => {
                self.advance();
                let path = self.here();
                match self.eat_string() {
                    Some(text) => DeclarationKind::Import(text, path),
                    None => {
                        self.report_expected("E0125", "the path of a file, as a string");
                        DeclarationKind::Error
                    }
                }
            }
            TokenKind::Keyword(Keyword::Local) => {
                self.advance();
                match self.nested(Self::declaration_here, |_| None) {
                    Some(inner) => DeclarationKind::Local(Box::new(inner)),
                    None => DeclarationKind::Error,
                }
            }
            _ => {
                let unattached = !attributes.is_empty();
                self.skip_to_declaration(if unattached { "a declaration behind the attribute" } else { "a declaration" });
                return None;
            }
        };
        Some(Declaration { attributes, doc, kind, span: self.since(start) })
    }

    /// The doc comment that stands right before the next token.
    pub(super) fn take_doc(&mut self) -> Option<String> {
        while let Some((token, text)) = self.docs.get(self.docs_used) {
            if *token as usize > self.position {
                return None;
            }
            self.docs_used += 1;
            if *token as usize == self.position {
                return Some(text.clone());
            }
        }
        None
    }

    // ------------------------------------------------------------------------------------------------------------------ values

    fn value_declaration(&mut self) -> DeclarationKind {
        let is_entry = self.at_keyword(Keyword::Entry);
        self.advance();
        if !is_entry && self.at_rec_group() {
            self.advance();
            return DeclarationKind::ValueGroup(self.value_group());
        }
        DeclarationKind::Value(self.value_binding(is_entry))
    }

    /// `rec` and behind it something to define: then it is a keyword.
    pub(super) fn at_rec_group(&self) -> bool {
        self.at(TokenKind::Name)
            && self.token_text(self.peek()) == "rec"
            && matches!(self.peek_at(1).kind, TokenKind::Name | TokenKind::LeftParen)
    }

    /// `f … and g …`, behind `rec`.
    pub(super) fn value_group(&mut self) -> Vec<ValueBinding> {
        let mut members = Vec::new();
        loop {
            let context = Context { in_group: true, ..self.context };
            let member = self.within(context, |parser| parser.value_binding(false));
            if member.params.is_empty() && !matches!(member.body.kind, ExpKind::Error) {
                let message = format!("`{}` is defined recursively but takes no parameters", member.name.name);
                let diagnostic = Diagnostic::error("E0142", member.name.span, message)
                    .here("needs at least one parameter")
                    .hint("only functions can be recursive: add a parameter, or define it outside the group");
                self.report_behind(diagnostic);
            }
            members.push(member);
            if !self.is_name_and() {
                return members;
            }
            self.advance();
        }
    }

    /// What follows `def`, `entry`, or the `let` of a function.
    pub(super) fn value_binding(&mut self, is_entry: bool) -> ValueBinding {
        let start = self.here();
        if self.at_operator_binder() {
            let name = self.operator_binder();
            return self.prefix_definition(start, name, is_entry);
        }
        if !self.infix_definition_at(1) && self.at_binder_name() {
            let name = self.name("the name of the definition");
            return self.prefix_definition(start, name, is_entry);
        }
        if !self.at_atomic_pattern() {
            let name = self.name("the name of the definition");
            return self.prefix_definition(start, name, is_entry);
        }
        let left = self.atomic_pattern();
        if !self.infix_definition_at(0) {
            let diagnostic = self.expected("E0125", "an operator").hint("a definition starts with its name: `def f (x, y) = …`");
            self.report(diagnostic);
        }
        self.infix_definition(start, left, is_entry)
    }

    fn at_binder_name(&self) -> bool {
        matches!(self.kind(), TokenKind::Name | TokenKind::Underscore)
    }

    /// `(+)` where a name is bound.
    pub(super) fn at_operator_binder(&self) -> bool {
        self.at(TokenKind::LeftParen)
            && self.peek_at(1).kind == TokenKind::Symbol
            && self.peek_at(2).kind == TokenKind::RightParen
    }

    /// The name inside of it.
    pub(super) fn operator_binder(&mut self) -> Ident {
        self.advance();
        let token = self.advance();
        let name = self.token_ident(token);
        self.advance();
        self.forbid_short_circuit_operator(&name);
        name
    }

    /// An operator so far ahead makes the definition infix, unless it is an `=` glued to something.
    pub(super) fn infix_definition_at(&self, ahead: usize) -> bool {
        let token = self.peek_at(ahead);
        match token.kind {
            TokenKind::Symbol => super::split_glued_operator(self.token_text(token)).is_none_or(|(front, _)| front != "="),
            TokenKind::Backtick => true,
            _ => false,
        }
    }

    /// Parameters, result type and body.
    fn prefix_definition(&mut self, start: Span, name: Ident, is_entry: bool) -> ValueBinding {
        let mut type_params = self.type_params();
        let mut params = Vec::new();
        loop {
            if self.at_atomic_pattern() {
                params.push(self.atomic_pattern());
            } else if self.at_type_param() {
                let diagnostic =
                    Diagnostic::error("E0143", self.here(), "size and type parameters come before the other parameters")
                        .here("a parameter stands before this")
                        .hint(format!("move it to right behind `{}`", name.name));
                self.report(diagnostic);
                type_params.push(self.type_param());
            } else {
                break;
            }
        }
        self.definition(start, ValueHead { name, type_params, params, is_entry })
    }

    /// `+^ b : t = e`, behind the left parameter.
    pub(super) fn infix_definition(&mut self, start: Span, left: Pattern, is_entry: bool) -> ValueBinding {
        let name = if self.eat(TokenKind::Backtick) {
            let name = self.name("the name of the function");
            self.expect(TokenKind::Backtick, "a closing backtick");
            name
        } else if self.at(TokenKind::Symbol) {
            let token = self.advance();
            self.token_ident(token)
        } else {
            Ident { name: "_".into(), span: self.here() }
        };
        self.forbid_short_circuit_operator(&name);
        let right = self.atomic_pattern();
        self.definition(start, ValueHead { name, type_params: Vec::new(), params: vec![left, right], is_entry })
    }

    fn definition(&mut self, start: Span, head: ValueHead) -> ValueBinding {
        let result = self.eat(TokenKind::Colon).then(|| self.type_exp());
        let body = self.bound_value();
        let ValueHead { name, type_params, params, is_entry } = head;
        ValueBinding { is_entry, name, type_params, params, result, body, span: self.since(start) }
    }

    fn forbid_short_circuit_operator(&mut self, name: &Ident) {
        if matches!(name.name.as_str(), "&&" | "||") {
            let diagnostic = Diagnostic::error("E0134", name.span, format!("`{}` cannot be redefined", name.name))
                .here("evaluates its right side only when needed, which no definition can")
                .hint(if name.name == "&&" {
                    "choose another operator, such as `&&&`"
                } else {
                    "choose another operator, such as `|||`"
                });
            self.report_behind(diagnostic);
        }
    }

    // ------------------------------------------------------------------------------------------------------------------- types

    /// `type` is consumed: what marks the liftedness may follow.
    pub(super) fn liftedness_mark(&mut self) -> Liftedness {
        if self.eat(TokenKind::Tilde) {
            Liftedness::SizeLifted
        } else if self.eat_symbol("^") {
            Liftedness::Lifted
        } else {
            Liftedness::Unlifted
        }
    }

    fn type_declaration(&mut self) -> DeclarationKind {
        self.advance();
        let liftedness = self.liftedness_mark();
        if !self.at_rec_group() {
            return DeclarationKind::Type(self.type_binding(liftedness));
        }
        self.advance();
        let mut members = Vec::new();
        loop {
            let context = Context { in_group: true, ..self.context };
            members.push(self.within(context, |parser| parser.type_binding(liftedness)));
            if !self.is_name_and() {
                return DeclarationKind::TypeGroup(members);
            }
            self.advance();
        }
    }

    fn type_binding(&mut self, liftedness: Liftedness) -> TypeBinding {
        let name = self.name("the name of the type");
        let params = self.type_params();
        self.expect(TokenKind::Equals, "`=` and the type");
        let body = self.type_exp();
        let span = self.since(name.span);
        TypeBinding { liftedness, name, params, body, span }
    }
}

/// The left side of a definition.
struct ValueHead {
    name: Ident,
    type_params: Vec<TypeParam>,
    params: Vec<Pattern>,
    is_entry: bool,
}
