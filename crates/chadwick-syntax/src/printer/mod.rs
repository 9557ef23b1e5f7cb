//! Syntax tree to text.
//!
//! For any tree that the parser made without errors, parsing the printed text gives the same tree up to spans. Parentheses of
//! expressions are nodes of the tree and printed where they are; types and patterns have no such nodes and get the parentheses that
//! they need. Trees made by other means get parentheses where the grammar wants them, too, so the text means what the tree says.
//! Comments other than doc comments are not in the tree and are lost. An `Error` node prints as a hole, `???`, or not at all.

mod declarations;
mod expressions;
mod layout;
mod patterns;
mod types;

use crate::ast::{Attribute, Exp, Ident, Literal, Pattern, Program, QualName, TypeExp};
use crate::lexer::is_symbol_start;
use layout::Layout;

pub fn print_program(program: &Program) -> String {
    let mut printer = Printer::default();
    printer.declarations(&program.declarations);
    let mut text = printer.layout.render();
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

pub fn print_expression(exp: &Exp) -> String {
    let mut printer = Printer::default();
    printer.exp(exp);
    printer.layout.render()
}

pub fn print_type(ty: &TypeExp) -> String {
    let mut printer = Printer::default();
    printer.type_exp(ty);
    printer.layout.render()
}

pub fn print_pattern(pattern: &Pattern) -> String {
    let mut printer = Printer::default();
    printer.pattern(pattern);
    printer.layout.render()
}

#[derive(Default)]
struct Printer {
    layout: Layout,
}

impl Printer {
    fn text(&mut self, text: impl Into<String>) {
        self.layout.text(text);
    }

    /// A group; the lines behind its first are indented further if it does not fit.
    fn group(&mut self, indent: usize, print: impl FnOnce(&mut Self)) {
        self.layout.open(indent);
        print(self);
        self.layout.close();
    }

    /// Elements separated by commas, in brackets.
    fn list<T>(&mut self, open: &str, elements: &[T], close: &str, mut print: impl FnMut(&mut Self, &T)) {
        self.group(2, |printer| {
            printer.text(open);
            for (position, element) in elements.iter().enumerate() {
                if position > 0 {
                    printer.text(",");
                    printer.layout.space();
                } else {
                    printer.layout.cut();
                }
                print(printer, element);
            }
            printer.text(close);
        });
    }

    fn parenthesised(&mut self, print: impl FnOnce(&mut Self)) {
        self.text("(");
        print(self);
        self.text(")");
    }

    fn qual_name(&mut self, name: &QualName) {
        self.text(name.to_string());
    }

    fn binder(&mut self, name: &Ident) {
        self.bound_name(&name.name);
    }

    /// A name where it is bound: operators in parentheses.
    fn bound_name(&mut self, name: &str) {
        self.text(if is_symbolic(name) { format!("({name})") } else { name.to_owned() });
    }

    /// An operator between its operands.
    fn infix_operator(&mut self, name: &QualName) {
        self.text(if is_symbolic(&name.name.name) { name.to_string() } else { format!("`{name}`") });
    }

    fn attribute(&mut self, attribute: &Attribute) {
        self.text("#[");
        self.attribute_body(attribute);
        self.text("]");
    }

    fn attribute_body(&mut self, attribute: &Attribute) {
        self.text(attribute.name.as_str());
        if !attribute.arguments.is_empty() {
            stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.list("(", &attribute.arguments, ")", Self::attribute_body));
        }
    }

    fn literal(&mut self, literal: &Literal) {
        self.text(literal_text(literal));
    }
}

/// The name of an operator such as `+`, not of a function.
fn is_symbolic(name: &str) -> bool {
    name.starts_with(is_symbol_start)
}

fn literal_text(literal: &Literal) -> String {
    let suffix = |suffix: &Option<chadwick_source::Name>| suffix.as_ref().map_or(String::new(), ToString::to_string);
    match literal {
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value, of_type) => format!("{value}{}", suffix(of_type)),
        Literal::Float(float) => format!("{}{}", float.text, suffix(&float.suffix)),
        Literal::Char(c) => format!("'{}'", escaped(*c, '\'')),
        Literal::String(text) => format!("\"{}\"", text.chars().map(|c| escaped(c, '"')).collect::<String>()),
    }
}

fn escaped(c: char, quote: char) -> String {
    match c {
        '\n' => String::from("\\n"),
        '\t' => String::from("\\t"),
        '\r' => String::from("\\r"),
        '\0' => String::from("\\0"),
        '\\' => String::from("\\\\"),
        _ if c == quote => format!("\\{c}"),
        _ if c.is_control() => format!("\\u{{{:x}}}", c as u32),
        _ => c.to_string(),
    }
}
