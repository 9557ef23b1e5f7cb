//! A syntax tree as one line of nested parentheses, so that a test can say how a text groups.

use chadwick_source::FileId;
use chadwick_syntax::ast::*;
use chadwick_syntax::{parse_expression, print_pattern, print_type};

/// How an expression groups; panics if it does not parse.
#[track_caller]
pub fn shape(text: &str) -> String {
    let parsed = parse_expression(FileId(0), text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:#?}", parsed.diagnostics);
    exp(&parsed.tree)
}

pub fn exp(e: &Exp) -> String {
    match &e.kind {
        ExpKind::Literal(Literal::Int(value, suffix)) => format!("{value}{}", suffix.as_deref().unwrap_or("")),
        ExpKind::Literal(Literal::Float(float)) => format!("{}{}", float.text, float.suffix.as_deref().unwrap_or("")),
        ExpKind::Literal(Literal::Bool(value)) => value.to_string(),
        ExpKind::Literal(Literal::Char(c)) => format!("{c:?}"),
        ExpKind::Literal(Literal::String(text)) => format!("{text:?}"),
        ExpKind::Name(name) => name.to_string(),
        ExpKind::Operator(name) => format!("(op {name})"),
        ExpKind::Tuple(elements) => node("tuple", elements.iter().map(exp)),
        ExpKind::Paren(inner) => exp(inner),
        ExpKind::Record(fields) => node("record", fields.iter().map(record_field)),
        ExpKind::Array(elements) => node("array", elements.iter().map(exp)),
        ExpKind::Apply(function, arguments) => node("app", std::iter::once(&**function).chain(arguments).map(exp)),
        ExpKind::Constructor(name, arguments) => node(&format!("#{}", name.name), arguments.iter().map(exp)),
        ExpKind::Binary(left, operator, right) => format!("({operator} {} {})", exp(left), exp(right)),
        ExpKind::Unary(UnaryOperator::Negate, operand) => format!("(neg {})", exp(operand)),
        ExpKind::Unary(UnaryOperator::Not, operand) => format!("(not {})", exp(operand)),
        ExpKind::LeftSection(operand, operator) => format!("(left {} {operator})", exp(operand)),
        ExpKind::RightSection(operator, operand) => format!("(right {operator} {})", exp(operand)),
        ExpKind::ProjectSection(path) => node("project", path.iter().map(access)),
        ExpKind::Project(record, field) => format!("(. {} {})", exp(record), field.name),
        ExpKind::Index(array, parts) => format!("(index {} {})", exp(array), list(parts.iter().map(index_part))),
        ExpKind::OpenIn(name, inner) => format!("(open {name} {})", exp(inner)),
        ExpKind::Let(parts) => format!("(let {} {})", let_binding(&parts.binding), exp(&parts.body)),
        ExpKind::If(condition, then, otherwise) => format!("(if {} {} {})", exp(condition), exp(then), exp(otherwise)),
        ExpKind::Loop(parts) => {
            let initial = parts.initial.as_ref().map_or(String::from("same"), exp);
            format!("(loop {} {initial} {} {})", print_pattern(&parts.pattern), loop_form(&parts.form), exp(&parts.body))
        }
        ExpKind::Match(scrutinee, cases) => {
            let cases = cases.iter().map(|(pattern, body)| format!("({} {})", print_pattern(pattern), exp(body)));
            node("match", std::iter::once(exp(scrutinee)).chain(cases))
        }
        ExpKind::Lambda { params, result, body } => {
            let params = params.iter().map(print_pattern).chain(result.iter().map(|ty| format!(": {}", print_type(ty))));
            format!("(\\{} {})", list(params), exp(body))
        }
        ExpKind::Assert(condition, value) => format!("(assert {} {})", exp(condition), exp(value)),
        ExpKind::Ascribe(inner, ty) => format!("(: {} {})", exp(inner), print_type(ty)),
        ExpKind::Coerce(inner, ty) => format!("(:> {} {})", exp(inner), print_type(ty)),
        ExpKind::Range { first, second, end, last } => {
            let second = second.as_ref().map_or(String::new(), |second| format!(" {}", exp(second)));
            format!("({end:?} {}{second} {})", exp(first), exp(last))
        }
        ExpKind::Update { target, path, value } => {
            format!("(with {} {} {})", exp(target), list(path.iter().map(access)), exp(value))
        }
        ExpKind::Attributed(attribute, inner) => format!("(#[{}] {})", attribute.name, exp(inner)),
        ExpKind::Hole => String::from("???"),
        ExpKind::Error => String::from("<error>"),
    }
}

fn node(head: &str, parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = std::iter::once(head.to_string()).chain(parts).collect();
    format!("({})", parts.join(" "))
}

fn list(parts: impl Iterator<Item = String>) -> String {
    format!("[{}]", parts.collect::<Vec<_>>().join(" "))
}

fn record_field((name, value): &(Ident, Option<Exp>)) -> String {
    value.as_ref().map_or(name.name.to_string(), |value| format!("{}={}", name.name, exp(value)))
}

fn access(access: &Access) -> String {
    match access {
        Access::Field(name) => name.name.to_string(),
        Access::Index(parts, _) => list(parts.iter().map(index_part)),
    }
}

fn index_part(part: &IndexPart) -> String {
    let bound = |bound: &Option<Exp>| bound.as_ref().map_or(String::from("_"), exp);
    match part {
        IndexPart::Index(index) => exp(index),
        IndexPart::Slice { start, end, stride, .. } => format!("{}:{}:{}", bound(start), bound(end), bound(stride)),
    }
}

fn let_binding(binding: &LetBinding) -> String {
    match binding {
        LetBinding::Pattern { sizes, pattern, value } => {
            let sizes: String = sizes.iter().map(|size| format!("[{}] ", size.name)).collect();
            format!("({sizes}{} = {})", print_pattern(pattern), exp(value))
        }
        LetBinding::Function(function) => value_binding(function),
        LetBinding::Group(members) => node("rec", members.iter().map(value_binding)),
        LetBinding::Update { name, path, value } => {
            format!("({}{} := {})", name.name, list(path.iter().map(access)), exp(value))
        }
    }
}

pub fn value_binding(binding: &ValueBinding) -> String {
    let type_params = binding.type_params.iter().map(|param| match param.kind {
        TypeParamKind::Size => format!("[{}]", param.name.name),
        TypeParamKind::Type(_) => format!("'{}", param.name.name),
    });
    let params = binding.params.iter().map(print_pattern);
    let result = binding.result.iter().map(|ty| format!(": {}", print_type(ty)));
    let head = node(&binding.name.name, type_params.chain(params).chain(result));
    format!("({head} = {})", exp(&binding.body))
}

fn loop_form(form: &LoopForm) -> String {
    match form {
        LoopForm::For(counter, bound) => format!("(for {} < {})", counter.name, exp(bound)),
        LoopForm::ForIn(pattern, array) => format!("(for {} in {})", print_pattern(pattern), exp(array)),
        LoopForm::While(condition) => format!("(while {})", exp(condition)),
    }
}
