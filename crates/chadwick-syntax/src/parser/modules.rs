//! Modules, module types and specifications.

use chadwick_source::Span;

use super::Parser;
use super::recovery::Bracket;
use crate::ast::{
    DeclarationKind, Ident, ModuleBinding, ModuleExp, ModuleExpKind, ModuleParam, ModuleTypeExp, ModuleTypeExpKind, Spec,
    SpecKind,
};
use crate::lexer::{Keyword, TokenKind};

impl Parser<'_> {
    /// `module m (p: mt) : mt = me` or `module type mt = mt`; `module` is next.
    pub(super) fn module_declaration(&mut self) -> DeclarationKind {
        self.advance();
        if self.eat_keyword(Keyword::Type) {
            let name = self.name("the name of the module type");
            self.expect(TokenKind::Equals, "`=` and the module type");
            return DeclarationKind::ModuleType(name, self.module_type());
        }
        let start = self.here();
        let name = self.name("the name of the module");
        let mut params = Vec::new();
        while self.at(TokenKind::LeftParen) {
            params.push(self.module_param());
        }
        let signature = self.eat(TokenKind::Colon).then(|| self.module_type());
        self.expect(TokenKind::Equals, "`=` and the module");
        let body = self.module_exp();
        DeclarationKind::Module(ModuleBinding { name, params, signature, body, span: self.since(start) })
    }

    /// `(p: mt)`; the parenthesis is next.
    fn module_param(&mut self) -> ModuleParam {
        if !self.at(TokenKind::LeftParen) {
            self.report_expected("E0124", "a module parameter such as `(m: t)`");
            let span = self.here();
            let signature = ModuleTypeExp { kind: ModuleTypeExpKind::Error, span };
            return ModuleParam { name: Ident { name: "_".into(), span }, signature };
        }
        self.bracketed(Bracket::Round, |parser| {
            let name = parser.name("the name of a module parameter");
            parser.expect(TokenKind::Colon, "`:` and the module type of the parameter");
            ModuleParam { name, signature: parser.module_type() }
        })
    }

    // -------------------------------------------------------------------------------------------------------------- expressions

    pub(super) fn module_exp(&mut self) -> ModuleExp {
        self.nested(Self::module_exp_here, |span| ModuleExp { kind: ModuleExpKind::Error, span })
    }

    fn module_exp_here(&mut self) -> ModuleExp {
        let start = self.here();
        if self.eat(TokenKind::Backslash) {
            let param = Box::new(self.module_param());
            // The arrow ends the signature here, so a functor type needs parentheses.
            let signature = self.eat(TokenKind::Colon).then(|| Box::new(self.refined_module_type()));
            self.expect(TokenKind::Arrow, "`->` and the body of the module function");
            let body = Box::new(self.module_exp());
            return self.module_made(start, ModuleExpKind::Lambda { param, signature, body });
        }
        let chain = self.start_chain();
        let mut module = self.module_atom();
        let mut is_ascribed = false;
        loop {
            let kind = if self.at(TokenKind::Colon) {
                self.advance();
                is_ascribed = true;
                ModuleExpKind::Ascribe(Box::new(module), Box::new(self.module_type()))
            } else if !is_ascribed && self.at_module_argument() {
                ModuleExpKind::Apply(Box::new(module), Box::new(self.module_atom()))
            } else {
                break;
            };
            if !self.deepen() {
                module = ModuleExp { kind: ModuleExpKind::Error, span: start };
                break;
            }
            module = self.module_made(start, kind);
        }
        self.end_chain(chain);
        module
    }

    fn module_made(&self, start: Span, kind: ModuleExpKind) -> ModuleExp {
        ModuleExp { kind, span: self.since(start) }
    }

    fn at_module_argument(&self) -> bool {
        matches!(self.kind(), TokenKind::Name | TokenKind::LeftParen | TokenKind::LeftBrace)
    }

    fn module_atom(&mut self) -> ModuleExp {
        let start = self.here();
        let kind = match self.kind() {
            TokenKind::Name => ModuleExpKind::Name(self.qualified_name("a module")),
            TokenKind::LeftParen => {
                let inner = self.bracketed(Bracket::Round, Self::module_exp);
                return ModuleExp { span: self.since(start), ..inner };
            }
            TokenKind::LeftBrace => ModuleExpKind::Declarations(self.declarations_in_braces()),
            TokenKind::Keyword(Keyword::Import) => {
                self.advance();
                match self.eat_string() {
                    Some(path) => ModuleExpKind::Import(path),
                    None => {
                        self.report_expected("E0125", "the path of a file, as a string");
                        ModuleExpKind::Error
                    }
                }
            }
            _ => {
                let diagnostic = self
                    .expected("E0124", "a module")
                    .hint("a module is a name, `{ declarations }`, `import \"path\"`, or a module function applied to a module");
                self.report(diagnostic);
                ModuleExpKind::Error
            }
        };
        self.module_made(start, kind)
    }

    // ------------------------------------------------------------------------------------------------------------ module types

    pub(super) fn module_type(&mut self) -> ModuleTypeExp {
        self.nested(Self::module_type_here, |span| ModuleTypeExp { kind: ModuleTypeExpKind::Error, span })
    }

    fn module_type_here(&mut self) -> ModuleTypeExp {
        let start = self.here();
        let is_named = self.at(TokenKind::LeftParen)
            && matches!(self.peek_at(1).kind, TokenKind::Name | TokenKind::Underscore)
            && self.peek_at(2).kind == TokenKind::Colon;
        let (param, from) = if is_named {
            let ModuleParam { name, signature } = self.module_param();
            (Some(name), signature)
        } else {
            (None, self.refined_module_type())
        };
        if param.is_none() && !self.at(TokenKind::Arrow) {
            return from;
        }
        self.expect(TokenKind::Arrow, "`->` and the module type of the result");
        let to = Box::new(self.module_type());
        self.module_type_made(start, ModuleTypeExpKind::Arrow { param, from: Box::new(from), to })
    }

    fn module_type_made(&self, start: Span, kind: ModuleTypeExpKind) -> ModuleTypeExp {
        ModuleTypeExp { kind, span: self.since(start) }
    }

    /// `mt with t = ty with u = ty`
    fn refined_module_type(&mut self) -> ModuleTypeExp {
        let start = self.here();
        let chain = self.start_chain();
        let mut base = self.module_type_atom();
        while self.eat_keyword(Keyword::With) {
            let name = self.qualified_name("the name of a type");
            let params = self.type_params();
            self.expect(TokenKind::Equals, "`=` and a type");
            let body = self.type_exp();
            if !self.deepen() {
                base = ModuleTypeExp { kind: ModuleTypeExpKind::Error, span: start };
                break;
            }
            base = self.module_type_made(start, ModuleTypeExpKind::With { base: Box::new(base), name, params, body });
        }
        self.end_chain(chain);
        base
    }

    fn module_type_atom(&mut self) -> ModuleTypeExp {
        let start = self.here();
        let kind = match self.kind() {
            TokenKind::Name => ModuleTypeExpKind::Name(self.qualified_name("a module type")),
            TokenKind::LeftParen => return self.bracketed(Bracket::Round, Self::module_type),
            TokenKind::LeftBrace => ModuleTypeExpKind::Specs(self.specs()),
            _ => {
                let diagnostic =
                    self.expected("E0124", "a module type").hint("a module type is a name or `{ val f : t  type t … }`");
                self.report(diagnostic);
                ModuleTypeExpKind::Error
            }
        };
        self.module_type_made(start, kind)
    }

    // ----------------------------------------------------------------------------------------------------------- specifications

    fn specs(&mut self) -> Vec<Spec> {
        self.bracketed(Bracket::Curly, |parser| {
            let mut specs = Vec::new();
            while !parser.at(TokenKind::EndOfInput) && !parser.at(TokenKind::RightBrace) {
                let before = parser.position;
                specs.extend(parser.spec());
                if parser.position == before && !parser.skip_to_spec() {
                    break;
                }
            }
            specs
        })
    }

    /// Reports that no specification starts here and skips to where one does; false at a declaration outside the braces.
    fn skip_to_spec(&mut self) -> bool {
        let mut diagnostic = self.expected("E0120", "a specification");
        if matches!(self.kind(), TokenKind::Keyword(Keyword::Def | Keyword::Let | Keyword::Entry)) {
            diagnostic = diagnostic.hint("a module type has no definitions, only types: `val f : t`");
        } else if diagnostic.hint.is_none() {
            diagnostic = diagnostic.hint("specifications start with `val`, `type`, `module` or `include`");
        }
        self.report(diagnostic);
        loop {
            match self.kind() {
                TokenKind::Keyword(Keyword::Val | Keyword::Type | Keyword::Module | Keyword::Include) => return true,
                TokenKind::RightBrace | TokenKind::EndOfInput => return true,
                _ if self.at_declaration_start() && self.peek().in_first_column => return false,
                _ => self.advance(),
            };
        }
    }

    fn spec(&mut self) -> Option<Spec> {
        let doc = self.take_doc();
        let start = self.here();
        let attributes = self.attributes();
        let doc = doc.or_else(|| self.take_doc());
        let kind = match self.kind() {
            TokenKind::Keyword(Keyword::Val) => {
                self.advance();
                let name = self.spec_name();
                let params = self.type_params();
                self.expect(TokenKind::Colon, "`:` and the type of the value");
                SpecKind::Value { name, params, ty: self.type_exp() }
            }
            TokenKind::Keyword(Keyword::Type) => {
                self.advance();
                let liftedness = self.liftedness_mark();
                let name = self.name("the name of the type");
                let params = self.type_params();
                let body = self.eat(TokenKind::Equals).then(|| self.type_exp());
                SpecKind::Type { liftedness, name, params, body }
            }
            TokenKind::Keyword(Keyword::Module) => {
                self.advance();
                let name = self.name("the name of the module");
                self.expect(TokenKind::Colon, "`:` and the type of the module");
                SpecKind::Module(name, self.module_type())
            }
            TokenKind::Keyword(Keyword::Include) => {
                self.advance();
                SpecKind::Include(self.module_type())
            }
            _ => return None,
        };
        Some(Spec { attributes, doc, kind, span: self.since(start) })
    }

    /// A name, `+`, or `(+)`.
    fn spec_name(&mut self) -> Ident {
        if self.at(TokenKind::Symbol) {
            let token = self.advance();
            return self.token_ident(token);
        }
        if self.at_operator_binder() {
            self.advance();
            let token = self.advance();
            self.advance();
            return self.token_ident(token);
        }
        self.name("the name of the value")
    }
}
