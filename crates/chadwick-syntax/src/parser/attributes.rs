//! Attributes: `#[name]`, `#[name(a, b)]`.

use chadwick_source::Name;

use super::Parser;
use super::recovery::Bracket;
use crate::ast::Attribute;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// All attributes that stand here.
    pub(super) fn attributes(&mut self) -> Vec<Attribute> {
        let mut attributes = Vec::new();
        while self.at(TokenKind::AttributeOpen) {
            attributes.push(self.attribute());
        }
        attributes
    }

    /// One attribute; its `#[` is next.
    pub(super) fn attribute(&mut self) -> Attribute {
        let start = self.here();
        let mut attribute = self.bracketed(Bracket::Square, Self::attribute_body);
        attribute.span = self.since(start);
        attribute
    }

    fn attribute_body(&mut self) -> Attribute {
        let start = self.here();
        let name = match self.kind() {
            // Reserved words are fine here: unknown attributes are ignored, and nothing else can stand in this place.
            TokenKind::Name | TokenKind::Keyword(_) | TokenKind::Underscore => self.attribute_word(),
            _ if self.at_digits() => self.attribute_word(),
            _ => {
                self.report_expected("E0145", "the name of an attribute");
                Name::new_static("_")
            }
        };
        let arguments = if self.at(TokenKind::LeftParen) {
            self.nested(
                |parser| parser.bracketed(Bracket::Round, |p| p.comma_list(Bracket::Round, Self::attribute_body).0),
                |_| Vec::new(),
            )
        } else {
            Vec::new()
        };
        Attribute { name, arguments, span: self.since(start) }
    }

    fn attribute_word(&mut self) -> Name {
        let token = self.advance();
        Name::new(self.token_text(token))
    }
}
