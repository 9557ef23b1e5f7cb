//! Expressions.

use super::{Printer, is_symbolic};
use crate::ast::{
    Access, Exp, ExpKind, IndexPart, LetBinding, LetExp, Literal, LoopExp, LoopForm, Pattern, QualName, RangeEnd, UnaryOperator,
};
use crate::parser::{PREFIX_LEVEL, RIGHT_ASSOCIATIVE_LEVEL, operator_level};

/// Levels of the operator table that are not operators.
const ASCRIPTION: u8 = 1;
const RANGE: u8 = 2;
const UPDATE: u8 = 3;
const INFIX: u8 = 4;
const APPLICATION: u8 = 16;
const POSTFIX: u8 = 17;

impl Printer {
    pub(super) fn exp(&mut self, exp: &Exp) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.exp_here(exp));
    }

    fn exp_here(&mut self, exp: &Exp) {
        match &exp.kind {
            ExpKind::Literal(literal) => self.literal(literal),
            ExpKind::Name(name) => self.qual_name(name),
            ExpKind::Operator(name) => self.parenthesised(|printer| printer.infix_operator(name)),
            ExpKind::Tuple(elements) => self.list("(", elements, ")", Self::exp),
            ExpKind::Paren(inner) => self.parenthesised(|printer| printer.exp(inner)),
            ExpKind::Record(fields) => self.list("{", fields, "}", |printer, (name, value)| {
                printer.text(name.name.as_str());
                if let Some(value) = value {
                    printer.text(" = ");
                    printer.exp(value);
                }
            }),
            ExpKind::Array(elements) => self.list("[", elements, "]", Self::exp),
            ExpKind::Apply(function, arguments) => self.application(|printer| printer.closed(function, POSTFIX), arguments),
            ExpKind::Constructor(name, arguments) => {
                self.application(|printer| printer.text(format!("#{}", name.name)), arguments);
            }
            ExpKind::Binary(..) => self.binary(exp),
            ExpKind::Unary(operator, operand) => self.unary(*operator, operand),
            ExpKind::LeftSection(operand, operator) => self.parenthesised(|printer| {
                printer.exp(operand);
                printer.text(" ");
                printer.infix_operator(operator);
            }),
            ExpKind::RightSection(operator, operand) => self.parenthesised(|printer| {
                printer.infix_operator(operator);
                printer.text(" ");
                printer.last(operand, INFIX);
            }),
            ExpKind::ProjectSection(path) => self.parenthesised(|printer| {
                if let Some(Access::Index(..)) = path.first() {
                    printer.text(".");
                }
                printer.accesses(path, true);
            }),
            ExpKind::Project(record, field) => {
                self.projected(record, &field.name);
                self.text(format!(".{}", field.name));
            }
            ExpKind::Index(array, parts) => {
                self.indexed(array);
                self.index(parts);
            }
            ExpKind::OpenIn(name, inner) => {
                self.text(format!("{name}."));
                self.parenthesised(|printer| printer.exp(inner));
            }
            ExpKind::Let(_) => self.lets(exp),
            ExpKind::If(..) => self.ifs(exp),
            ExpKind::Loop(parts) => self.loop_expression(parts),
            ExpKind::Match(scrutinee, cases) => self.match_expression(scrutinee, cases),
            ExpKind::Lambda { params, result, body } => self.group(2, |printer| {
                printer.text("\\");
                for (position, param) in params.iter().enumerate() {
                    if position > 0 {
                        printer.text(" ");
                    }
                    printer.atomic_pattern(param);
                }
                if let Some(result) = result {
                    printer.text(": ");
                    printer.prefix_type(result);
                }
                printer.text(" ->");
                printer.layout.space();
                printer.exp(body);
            }),
            ExpKind::Assert(condition, value) => self.group(2, |printer| {
                printer.text("assert ");
                printer.closed(condition, POSTFIX);
                printer.layout.space();
                printer.exp(value);
            }),
            ExpKind::Ascribe(inner, ty) => {
                self.closed(inner, ASCRIPTION);
                self.text(" : ");
                self.type_exp(ty);
            }
            ExpKind::Coerce(inner, ty) => {
                self.closed(inner, ASCRIPTION);
                self.text(" :> ");
                self.type_exp(ty);
            }
            ExpKind::Range { first, second, end, last } => self.range(first, second.as_deref(), *end, last),
            ExpKind::Update { target, path, value } => self.group(2, |printer| {
                printer.closed(target, UPDATE);
                printer.layout.space();
                printer.text("with ");
                printer.accesses(path, false);
                printer.text(" = ");
                printer.last(value, INFIX);
            }),
            ExpKind::Attributed(attribute, inner) => {
                self.attribute(attribute);
                self.text(" ");
                self.exp(inner);
            }
            ExpKind::Hole | ExpKind::Error => self.text("???"),
        }
    }

    // ------------------------------------------------------------------------------------------------------------- parentheses

    /// An expression with something behind it: parentheses if it is looser than `least` or would swallow what follows.
    fn closed(&mut self, exp: &Exp, least: u8) {
        if level(exp) < least || ends_open(exp) {
            self.parenthesised(|printer| printer.exp(exp));
        } else {
            self.exp(exp);
        }
    }

    /// A last operand, which may extend to the right.
    fn last(&mut self, exp: &Exp, least: u8) {
        if level(exp) < least && !is_open(exp) {
            self.parenthesised(|printer| printer.exp(exp));
        } else {
            self.exp(exp);
        }
    }

    /// What a field is taken from.
    fn projected(&mut self, record: &Exp, field: &str) {
        let would_read_differently = match &record.kind {
            ExpKind::Literal(Literal::Int(..) | Literal::Float(_)) => true,
            ExpKind::Constructor(..) => true,
            ExpKind::Name(_) => !field.starts_with(|c: char| c.is_ascii_digit()),
            _ => false,
        };
        if would_read_differently { self.parenthesised(|printer| printer.exp(record)) } else { self.closed(record, POSTFIX) }
    }

    /// What an index follows: brackets count as an index only behind a name, `)`, `]` or a field.
    fn indexed(&mut self, array: &Exp) {
        let needs_parentheses = matches!(
            array.kind,
            ExpKind::Literal(_) | ExpKind::Record(_) | ExpKind::Constructor(..) | ExpKind::Hole | ExpKind::Error
        );
        if needs_parentheses { self.parenthesised(|printer| printer.exp(array)) } else { self.closed(array, POSTFIX) }
    }

    // --------------------------------------------------------------------------------------------------- operators, application

    /// A chain of operators of one level is one group, so that it breaks in all places or in none.
    fn binary(&mut self, exp: &Exp) {
        let mut chain: Vec<(&QualName, &Exp)> = Vec::new();
        let mut left = exp;
        let outer = level(exp);
        while let ExpKind::Binary(before, operator, right) = &left.kind {
            let same = operator_level_of(operator) == outer && (outer != RIGHT_ASSOCIATIVE_LEVEL || chain.is_empty());
            if !same {
                break;
            }
            chain.push((operator, right));
            left = before;
        }
        let (left_least, right_least) = if outer == RIGHT_ASSOCIATIVE_LEVEL { (outer + 1, outer) } else { (outer, outer + 1) };
        self.group(2, |printer| {
            printer.closed(left, left_least);
            while let Some((operator, right)) = chain.pop() {
                printer.layout.space();
                printer.infix_operator(operator);
                printer.text(" ");
                if chain.is_empty() { printer.last(right, right_least) } else { printer.closed(right, right_least) }
            }
        });
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Exp) {
        self.text(match operator {
            UnaryOperator::Negate => "-",
            UnaryOperator::Not => "!",
        });
        if let ExpKind::Unary(..) = operand.kind {
            self.text(" ");
        }
        if level(operand) < PREFIX_LEVEL {
            self.parenthesised(|printer| printer.exp(operand));
        } else {
            self.exp(operand);
        }
    }

    fn application(&mut self, function: impl FnOnce(&mut Self), arguments: &[Exp]) {
        self.group(2, |printer| {
            function(printer);
            for (position, argument) in arguments.iter().enumerate() {
                printer.layout.space();
                let is_last = position + 1 == arguments.len();
                match argument.kind {
                    ExpKind::Lambda { .. } if is_last => printer.exp(argument),
                    _ => printer.closed(argument, POSTFIX),
                }
            }
        });
    }

    fn range(&mut self, first: &Exp, second: Option<&Exp>, end: RangeEnd, last: &Exp) {
        let is_tight = [Some(first), second, Some(last)].into_iter().flatten().all(|part| level(part) >= POSTFIX);
        let space = if is_tight { "" } else { " " };
        self.closed(first, UPDATE);
        if let Some(second) = second {
            self.text(format!("{space}..{space}"));
            self.closed(second, UPDATE);
        }
        let end = match end {
            RangeEnd::Inclusive => "...",
            RangeEnd::UpTo => "..<",
            RangeEnd::DownTo => "..>",
        };
        self.text(format!("{space}{end}{space}"));
        self.last(last, UPDATE);
    }

    // ----------------------------------------------------------------------------------------------------------------- indices

    fn index(&mut self, parts: &[IndexPart]) {
        self.list("[", parts, "]", |printer, part| match part {
            IndexPart::Index(exp) => printer.slice_bound(Some(exp)),
            IndexPart::Slice { start, end, stride, .. } => {
                printer.slice_bound(start.as_ref());
                printer.text(":");
                printer.slice_bound(end.as_ref());
                if stride.is_some() {
                    printer.text(":");
                }
                printer.slice_bound(stride.as_ref());
            }
        });
    }

    fn slice_bound(&mut self, exp: Option<&Exp>) {
        if let Some(exp) = exp {
            self.last(exp, RANGE);
        }
    }

    /// The path of an update or of a projection section.
    fn accesses(&mut self, path: &[Access], dot_first: bool) {
        for (position, access) in path.iter().enumerate() {
            match access {
                Access::Field(name) if position > 0 || dot_first => self.text(format!(".{}", name.name)),
                Access::Field(name) => self.text(name.name.as_str()),
                Access::Index(parts, _) => self.index(parts),
            }
        }
    }

    // ----------------------------------------------------------------------------------------------------- what starts with a word

    /// A chain of `let`s is one group.
    fn lets(&mut self, mut exp: &Exp) {
        self.group(0, |printer| {
            while let ExpKind::Let(parts) = &exp.kind {
                let LetExp { binding, body } = &**parts;
                printer.let_binding(binding);
                printer.layout.space();
                exp = body;
            }
            printer.text("in ");
            printer.exp(exp);
        });
    }

    fn let_binding(&mut self, binding: &LetBinding) {
        match binding {
            LetBinding::Pattern { sizes, pattern, value } => self.bound("let", value, |printer| {
                for size in sizes {
                    printer.text(format!("[{}] ", size.name));
                }
                printer.pattern(pattern);
            }),
            LetBinding::Function(function) => self.value_binding("let", function),
            LetBinding::Group(members) => self.value_group("let", members),
            LetBinding::Update { name, path, value } => self.bound("let", value, |printer| {
                printer.text(name.name.as_str());
                printer.accesses(path, true);
            }),
        }
    }

    /// `keyword left = value`
    fn bound(&mut self, keyword: &str, value: &Exp, left: impl FnOnce(&mut Self)) {
        self.group(2, |printer| {
            printer.text(format!("{keyword} "));
            left(printer);
            printer.text(" =");
            printer.layout.space();
            printer.exp(value);
        });
    }

    /// A chain of `else if`s is one group.
    fn ifs(&mut self, mut exp: &Exp) {
        self.group(0, |printer| {
            while let ExpKind::If(condition, then, otherwise) = &exp.kind {
                printer.text("if ");
                printer.exp(condition);
                printer.layout.space();
                printer.text("then ");
                printer.exp(then);
                printer.layout.space();
                printer.text("else ");
                exp = otherwise;
            }
            printer.exp(exp);
        });
    }

    fn loop_expression(&mut self, parts: &LoopExp) {
        let LoopExp { sizes, pattern, initial, form, body } = parts;
        self.group(2, |printer| {
            printer.text("loop ");
            for size in sizes {
                printer.text(format!("[{}] ", size.name));
            }
            printer.pattern(pattern);
            if let Some(initial) = initial {
                printer.text(" = ");
                printer.exp(initial);
            }
            match form {
                LoopForm::For(counter, bound) => {
                    printer.text(format!(" for {} < ", counter.name));
                    printer.exp(bound);
                }
                LoopForm::ForIn(pattern, array) => {
                    printer.text(" for ");
                    printer.pattern(pattern);
                    printer.text(" in ");
                    printer.exp(array);
                }
                LoopForm::While(condition) => {
                    printer.text(" while ");
                    printer.exp(condition);
                }
            }
            printer.text(" do");
            printer.layout.space();
            printer.exp(body);
        });
    }

    fn match_expression(&mut self, scrutinee: &Exp, cases: &[(Pattern, Exp)]) {
        self.group(0, |printer| {
            printer.text("match ");
            printer.before_case(scrutinee, true);
            for (position, (pattern, body)) in cases.iter().enumerate() {
                printer.layout.space();
                printer.group(2, |printer| {
                    printer.text("case ");
                    printer.case_pattern(pattern);
                    printer.text(" ->");
                    printer.layout.space();
                    printer.before_case(body, position + 1 < cases.len());
                });
            }
        });
    }

    /// An expression that may have a `case` behind it, which a `match` at its end would take.
    fn before_case(&mut self, exp: &Exp, is_before_case: bool) {
        if is_before_case && ends_in_match(exp) { self.parenthesised(|printer| printer.exp(exp)) } else { self.exp(exp) }
    }
}

/// The level of the operator table that an expression belongs to; 0 for what extends to the right.
fn level(exp: &Exp) -> u8 {
    match &exp.kind {
        _ if is_open(exp) => 0,
        ExpKind::Ascribe(..) | ExpKind::Coerce(..) => ASCRIPTION,
        ExpKind::Range { .. } => RANGE,
        ExpKind::Update { .. } => UPDATE,
        ExpKind::Binary(_, operator, _) => operator_level_of(operator),
        ExpKind::Unary(..) => PREFIX_LEVEL,
        ExpKind::Apply(..) => APPLICATION,
        ExpKind::Constructor(_, arguments) if !arguments.is_empty() => APPLICATION,
        _ => POSTFIX,
    }
}

fn operator_level_of(operator: &QualName) -> u8 {
    if is_symbolic(&operator.name.name) { operator_level(&operator.name.name) } else { INFIX }
}

fn is_open(exp: &Exp) -> bool {
    matches!(
        exp.kind,
        ExpKind::Let(_)
            | ExpKind::If(..)
            | ExpKind::Loop(_)
            | ExpKind::Match(..)
            | ExpKind::Lambda { .. }
            | ExpKind::Assert(..)
            | ExpKind::Attributed(..)
    )
}

/// The last operand, if the expression ends with one and extends to the right exactly if that does.
fn last_operand(exp: &Exp) -> Option<&Exp> {
    match &exp.kind {
        ExpKind::Binary(_, _, last) | ExpKind::Unary(_, last) => Some(last),
        ExpKind::Range { last, .. } | ExpKind::Update { value: last, .. } => Some(last),
        ExpKind::Apply(_, arguments) | ExpKind::Constructor(_, arguments) => arguments.last(),
        _ => None,
    }
}

fn ends_open(mut exp: &Exp) -> bool {
    loop {
        if is_open(exp) {
            return true;
        }
        match last_operand(exp) {
            Some(last) => exp = last,
            None => return false,
        }
    }
}

fn ends_in_match(mut exp: &Exp) -> bool {
    loop {
        let last = match &exp.kind {
            ExpKind::Match(..) => return true,
            ExpKind::Let(parts) => Some(&parts.body),
            ExpKind::Loop(parts) => Some(&parts.body),
            ExpKind::If(_, _, last) | ExpKind::Assert(_, last) | ExpKind::Attributed(_, last) => Some(&**last),
            ExpKind::Lambda { body, .. } => Some(&**body),
            _ => last_operand(exp),
        };
        match last {
            Some(last) => exp = last,
            None => return false,
        }
    }
}
