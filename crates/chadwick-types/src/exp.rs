//! Inference of expressions, one function per form. Applications and loops have files of their own.

use crate::apply::Argument;
use crate::checker::Checker;
use crate::env::{Module, Term, ValueEntry, closest};
use crate::hidden_sizes::read_sizes;
use crate::pattern::Bindings;
use crate::subst::Subst;
use crate::tree::{Exp, ExpKind, Index, Lambda, Pattern, PatternKind};
use crate::ty::{Arrow, Prim, Return, Size, Type, VarId};
use crate::type_exp::Anonymous;
use crate::unify::{Constraint, OnSizes, PrimSet, arguments};
use chadwick_source::{Name, Span};
use chadwick_syntax::ast::{self, Access, IndexPart, Literal, UnaryOperator};
use std::collections::BTreeMap;
use std::rc::Rc;

impl Checker<'_> {
    /// Infers an expression. The hint is what the context would like; it guides inference but is not enforced.
    pub fn exp(&mut self, exp: &ast::Exp, hint: Option<&Type>) -> Exp {
        let typed = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.exp_inner(exp, hint));
        self.bounded_exp(typed)
    }

    fn exp_inner(&mut self, exp: &ast::Exp, hint: Option<&Type>) -> Exp {
        use ast::ExpKind as A;
        let span = exp.span;
        match &exp.kind {
            A::Error => error_exp(span),
            A::Hole => {
                let ty = hint.cloned().unwrap_or_else(|| self.fresh_type(span));
                let shown = self.show(&ty);
                self.warning("W0201", span, format!("a hole of type {shown} fails when it is evaluated"));
                Exp { kind: ExpKind::Hole, ty, span }
            }
            A::Literal(literal) => self.literal(literal, span),
            A::Name(name) => self.name(name),
            A::Operator(name) => self.name(name),
            A::Paren(inner) => {
                let mut inner = self.exp(inner, hint);
                inner.span = span;
                inner
            }
            A::Tuple(parts) => {
                let hints = hint.map(|hint| self.shallow(hint)).and_then(|hint| match hint.as_tuple() {
                    Some(types) if types.len() == parts.len() => Some(types.into_iter().cloned().collect::<Vec<_>>()),
                    _ => None,
                });
                let parts: Vec<_> = parts
                    .iter()
                    .enumerate()
                    .map(|(index, part)| {
                        let hint = hints.as_ref().map(|hints| &hints[index]);
                        (Name::from(index.to_string()), self.exp(part, hint))
                    })
                    .collect();
                record(parts, span)
            }
            A::Record(fields) => {
                self.reject_duplicates(fields.iter().map(|(name, _)| name), "E0206", "field");
                let hint = hint.map(|hint| self.shallow(hint));
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| {
                        let field_hint = hint.as_ref().and_then(|hint| hint.field(&name.name)).cloned();
                        let value = match value {
                            Some(value) => self.exp(value, field_hint.as_ref()),
                            None => self.name(&ast::QualName::unqualified(name.clone())),
                        };
                        (name.name.clone(), value)
                    })
                    .collect();
                record(fields, span)
            }
            A::Array(elements) => self.array_literal(elements, hint, span),
            A::Apply(function, args) => {
                let (function, args) = flatten_spine(function, args);
                let function = self.exp(function, None);
                self.apply(function, args.into_iter().map(Argument::Source).collect(), span)
            }
            A::Constructor(name, args) => self.constructor(name, args, hint, span),
            A::Binary(left, operator, right) => self.binary(left, operator, right, span),
            A::Unary(operator, operand) => self.unary(*operator, operand, span),
            A::LeftSection(operand, operator) => {
                let function = self.name(operator);
                self.apply(function, vec![Argument::Source(operand)], span)
            }
            A::RightSection(operator, operand) => self.right_section(operator, operand, hint, span),
            A::ProjectSection(path) => self.project_section(path, hint, span),
            A::Project(inner, field) => {
                let inner = self.exp(inner, None);
                self.project(inner, field)
            }
            A::Index(array, parts) => {
                let array = self.exp(array, None);
                self.index(array, parts, span)
            }
            A::OpenIn(module, inner) => {
                let mut path = module.qualifiers.clone();
                path.push(module.name.clone());
                let Some(module) = self.find_module(&path) else { return error_exp(span) };
                let Some(scope) = self.members(&module, span) else { return error_exp(span) };
                let mark = self.locals.mark();
                for (name, term) in &scope.terms {
                    self.locals.bind(name.clone(), term.clone());
                }
                for (name, entry) in &scope.types {
                    self.locals.bind_type(name.clone(), entry.clone());
                }
                let inner = self.exp(inner, hint);
                self.locals.undo_to(mark);
                inner
            }
            A::Let(_) => self.let_chain(exp, hint),
            A::If(condition, then, otherwise) => {
                let condition = self.exp(condition, Some(&Type::bool()));
                self.expect(&Type::bool(), &condition.ty, OnSizes::Ignore, condition.span, "a condition must be a bool");
                let then = self.block(|checker| checker.exp(then, hint));
                let then_type = then.ty.clone();
                let otherwise = self.block(|checker| checker.exp(otherwise, hint.or(Some(&then_type))));
                if !self.expect_branch(&then.ty, &otherwise, "the branches of `if` differ in type") {
                    return error_exp(span);
                }
                let (ty, opened) = self.join(&[then.ty.clone(), otherwise.ty.clone()]);
                let kind = ExpKind::If(Box::new(condition), Box::new(then), Box::new(otherwise));
                open(opened, Exp { kind, ty, span })
            }
            A::Match(scrutinee, cases) => self.match_exp(scrutinee, cases, hint, span),
            A::Loop(parts) => self.loop_exp(parts, hint, span),
            A::Lambda { params, result, body } => self.lambda(params, result.as_ref(), body, hint, span),
            A::Assert(condition, body) => {
                let text = self.map.text(condition.span).to_owned();
                let condition = self.exp(condition, Some(&Type::bool()));
                self.expect(&Type::bool(), &condition.ty, OnSizes::Ignore, condition.span, "an assertion must be a bool");
                let body = self.exp(body, hint);
                let ty = body.ty.clone();
                Exp { kind: ExpKind::Assert { condition: Box::new(condition), body: Box::new(body), text }, ty, span }
            }
            A::Ascribe(inner, annotation) | A::Coerce(inner, annotation) => {
                let written = self.type_exp(annotation, Anonymous::Infer);
                let inner = self.exp(inner, Some(&written.ty));
                let checks = self.new_checks();
                // What a function asks for is found from its parts.
                let is_value = !matches!(self.shallow(&inner.ty), Type::Arrow(_));
                let outer = std::mem::replace(&mut self.coercing, is_value);
                self.expect(&written.ty, &inner.ty, checks, inner.span, "the expression does not have the type it is given");
                self.coercing = outer;
                let ty = written.ty;
                Exp { kind: ExpKind::Checked(self.check_set(checks), Box::new(inner)), ty, span }
            }
            A::Range { first, second, end, last } => self.range(first, second.as_deref(), *end, last, hint, span),
            A::Update { target, path, value } => {
                let target = self.exp(target, hint);
                self.update(target, path, value, span)
            }
            A::Attributed(attribute, inner) => {
                let inner = self.exp(inner, hint);
                let ty = inner.ty.clone();
                Exp { kind: ExpKind::Attributed(attribute.clone(), Box::new(inner)), ty, span }
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------------ literals

    pub fn number_type(&mut self, suffix: Option<&Name>, set: PrimSet, float_literal: bool, span: Span) -> Type {
        match suffix.and_then(|suffix| Prim::from_name(suffix)) {
            Some(prim) => Type::Prim(prim),
            None => self.constrained_type(Constraint { float_literal, ..Constraint::prims(set) }, span),
        }
    }

    fn literal(&mut self, literal: &Literal, span: Span) -> Exp {
        let (kind, ty) = match literal {
            Literal::Bool(value) => (ExpKind::Bool(*value), Type::bool()),
            Literal::Int(value, suffix) => {
                let ty = self.number_type(suffix.as_ref(), PrimSet::NUMBERS, false, span);
                let value = i128::try_from(*value).unwrap_or(i128::MAX);
                match (&ty, suffix) {
                    (Type::Prim(prim), Some(_)) if prim.is_float() => (ExpKind::Float(value as f64), ty),
                    (Type::Prim(prim), Some(_)) => (ExpKind::Int(wrap(*prim, value)), ty),
                    _ => (ExpKind::Int(value), ty),
                }
            }
            Literal::Float(literal) => {
                (ExpKind::Float(literal.value), self.number_type(literal.suffix.as_ref(), PrimSet::FLOATS, true, span))
            }
            Literal::Char(value) => {
                let ty = self.constrained_type(Constraint::prims(PrimSet::INTEGERS), span);
                (ExpKind::Int(i128::from(u32::from(*value))), ty)
            }
            Literal::String(text) => {
                let ty = Type::array(Size::Const(text.len() as i64), Type::Prim(Prim::U8));
                (ExpKind::String(text.as_bytes().into()), ty)
            }
        };
        Exp { kind, ty, span }
    }

    fn array_literal(&mut self, elements: &[ast::Exp], hint: Option<&Type>, span: Span) -> Exp {
        let hint = match hint.map(|hint| self.shallow(hint)) {
            Some(Type::Array(_, element)) => Some(self.shallow(&element)),
            _ => None,
        };
        let hidden = hint.clone().filter(|hint| matches!(hint, Type::Hidden(..)));
        let checks = self.new_checks();
        let mut element_type = hidden;
        let elements: Vec<_> = elements
            .iter()
            .map(|element| {
                let element = self.exp(element, element_type.as_ref().or(hint.as_ref()));
                match &element_type {
                    Some(ty) => {
                        let ty = ty.clone();
                        self.expect(&ty, &element.ty, checks, element.span, "the elements of an array differ in type");
                    }
                    None => element_type = Some(element.ty.clone()),
                }
                element
            })
            .collect();
        let element_type = match element_type {
            Some(ty) => ty,
            None => self.fresh_type(span),
        };
        let ty = Type::array(Size::Const(elements.len() as i64), element_type);
        let array = Exp { kind: ExpKind::Array(elements), ty: ty.clone(), span };
        Exp { kind: ExpKind::Checked(self.check_set(checks), Box::new(array)), ty, span }
    }

    // --------------------------------------------------------------------------------------------------------------- names

    /// A dotted name: the leftmost part decides whether the rest are fields or members.
    pub fn name(&mut self, name: &ast::QualName) -> Exp {
        let segments: Vec<&ast::Ident> = name.qualifiers.iter().chain([&name.name]).collect();
        let span = name.span();
        if segments.len() == 1 && matches!(name.name.name.as_str(), "&&" | "||") {
            return self.short_circuit_function(name.name.name == "&&", span);
        }
        let Some(term) = self.find_term(&segments[0].name) else {
            self.unknown_name(segments[0], name);
            return error_exp(span);
        };
        let mut term = term;
        let mut used = 1;
        loop {
            match term {
                Term::Value(entry) => {
                    let last = segments[used - 1];
                    if last.name.starts_with('_') {
                        self.error("E0231", last.span, format!("{} starts with an underscore and may not be used", last.name))
                            .hint = Some(String::from("rename it without the underscore"));
                    }
                    let value_span = segments[0].span.to(last.span);
                    let mut exp = self.instantiate(&entry, value_span);
                    for field in &segments[used..] {
                        exp = self.project(exp, field);
                    }
                    return exp;
                }
                Term::Module(module) => {
                    let Some(scope) = self.members(&module, span) else { return error_exp(span) };
                    let Some(next) = segments.get(used) else {
                        self.error("E0232", span, format!("{name} is a module, not a value"));
                        return error_exp(span);
                    };
                    let Some(found) = scope.terms.get(&next.name).cloned() else {
                        let suggestion = closest(&next.name, scope.terms.keys()).cloned();
                        let module = segments[used - 1].name.clone();
                        self.error(
                            "E0230",
                            next.span,
                            format!("unknown name {}: module {module} has no such member", next.name),
                        )
                        .hint = suggestion.map(|suggestion| format!("did you mean `{module}.{suggestion}`?"));
                        return error_exp(span);
                    };
                    term = found;
                    used += 1;
                }
            }
        }
    }

    /// `&&` or `||` as a value: a function of two bools.
    fn short_circuit_function(&mut self, conjunction: bool, span: Span) -> Exp {
        let (depth, ty) = (self.depth, Type::bool());
        self.depth += 1;
        let [left, right] = ["x", "y"].map(|name| (self.fresh_var(Name::from(name)), Name::from(name)));
        self.depth = depth;
        let operand = |(id, _): &(VarId, Name)| {
            let kind = ExpKind::Var { id: *id, types: Vec::new(), sizes: Vec::new() };
            Box::new(Exp { kind, ty: ty.clone(), span })
        };
        let operands = (operand(&left), operand(&right));
        let kind = if conjunction { ExpKind::And(operands.0, operands.1) } else { ExpKind::Or(operands.0, operands.1) };
        let body = Exp { kind, ty: ty.clone(), span };
        let params = [left, right].map(|(id, name)| Pattern { kind: PatternKind::Var(id, name), ty: ty.clone(), span }).to_vec();
        let ty = self.function_type(&[], &params, &[false, false], &body.ty, false);
        Exp { kind: ExpKind::Lambda(Rc::new(Lambda { params, body })), ty, span }
    }

    pub fn find_term(&self, name: &str) -> Option<Term> {
        self.locals.term(name).or_else(|| self.env.term(name)).cloned()
    }

    fn unknown_name(&mut self, ident: &ast::Ident, whole: &ast::QualName) {
        let suggestion = closest(&ident.name, self.locals.names().chain(self.env.term_names())).cloned();
        let operator = !ident.name.starts_with(|first: char| first.is_alphabetic() || first == '_');
        let message = match (operator, whole.qualifiers.is_empty()) {
            (true, _) => format!("unknown operator {}", ident.name),
            (false, true) => format!("unknown name {}", ident.name),
            (false, false) => format!("unknown module or variable {}", ident.name),
        };
        let hint = match whole.qualifiers.is_empty() && self.not_recursive.contains(&ident.name) {
            true => Some(format!("a local function that calls itself is defined by `let rec {} … = … in …`", ident.name)),
            false => suggestion.map(|suggestion| format!("did you mean `{suggestion}`?")),
        };
        self.error("E0230", ident.span, message).hint = hint;
    }

    /// A use of a variable: its scheme with fresh types and sizes.
    pub fn instantiate(&mut self, entry: &ValueEntry, span: Span) -> Exp {
        let scheme = entry.scheme.clone();
        let (subst, types, sizes) = self.fresh_instance(&scheme, span);
        let ty = subst.ty(&scheme.ty);
        Exp { kind: ExpKind::Var { id: entry.id, types, sizes }, ty, span }
    }

    pub fn project(&mut self, record: Exp, field: &ast::Ident) -> Exp {
        let span = record.span.to(field.span);
        let record = self.open_hidden(record);
        let ty = match self.shallow(&record.ty) {
            Type::Error => return error_exp(span),
            known @ Type::Record(_) => match known.field(&field.name) {
                Some(ty) => ty.clone(),
                None => {
                    let known = self.show(&known);
                    self.error("E0221", field.span, format!("{known} has no field {}", field.name));
                    return error_exp(span);
                }
            },
            other => {
                let ty = self.fresh_type(span);
                let constraint =
                    Constraint { fields: BTreeMap::from([(field.name.clone(), ty.clone())]), ..Constraint::default() };
                if let Err(mismatch) = self.constrain(&other, constraint, span) {
                    self.report_mismatch(&mismatch, field.span);
                    return error_exp(span);
                }
                ty
            }
        };
        Exp { kind: ExpKind::Project(Box::new(record), field.name.clone()), ty, span }
    }

    fn constructor(&mut self, name: &ast::Ident, args: &[ast::Exp], hint: Option<&Type>, span: Span) -> Exp {
        let known = hint.map(|hint| self.shallow(hint));
        let payload = known.as_ref().and_then(|known| self.payload_of(known, &name.name));
        if let (Some(payload), Some(known)) = (payload, known) {
            if payload.len() != args.len() {
                let message =
                    format!("constructor #{} takes {}, but is given {}", name.name, arguments(payload.len()), args.len());
                self.error("E0222", span, message);
                return error_exp(span);
            }
            let checks = self.new_checks();
            let args: Vec<_> = args
                .iter()
                .zip(&payload)
                .map(|(arg, ty)| {
                    let arg = self.exp(arg, Some(ty));
                    self.expect(ty, &arg.ty, checks, arg.span, "the constructor's argument has another type");
                    arg
                })
                .collect();
            let inner = Exp { kind: ExpKind::Construct(name.name.clone(), args), ty: known.clone(), span };
            return Exp { kind: ExpKind::Checked(self.check_set(checks), Box::new(inner)), ty: known, span };
        }
        let args: Vec<_> = args.iter().map(|arg| self.exp(arg, None)).collect();
        let payload = args.iter().map(|arg| arg.ty.clone()).collect();
        let constructors = BTreeMap::from([(name.name.clone(), payload)]);
        let ty = self.constrained_type(Constraint { constructors, ..Constraint::default() }, span);
        Exp { kind: ExpKind::Construct(name.name.clone(), args), ty, span }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &ast::Exp, span: Span) -> Exp {
        let name = match operator {
            UnaryOperator::Negate => "negate",
            UnaryOperator::Not => "complement",
        };
        if operator == UnaryOperator::Negate && matches!(operand.kind, ast::ExpKind::Literal(_)) {
            self.negated.insert(operand.span);
        }
        let function = self.intrinsic(name, span);
        self.apply(function, vec![Argument::Source(operand)], span)
    }

    pub fn intrinsic(&mut self, name: &str, span: Span) -> Exp {
        match self.env.term("intrinsics").cloned() {
            Some(Term::Module(module)) => match &*module {
                Module::Structure(scope) => match scope.terms.get(name).cloned() {
                    Some(Term::Value(entry)) => self.instantiate(&entry, span),
                    _ => error_exp(span),
                },
                Module::Functor(_) => error_exp(span),
            },
            _ => error_exp(span),
        }
    }

    // ----------------------------------------------------------------------------------------------------------- functions

    pub fn lambda(
        &mut self,
        params: &[ast::Pattern],
        result: Option<&ast::TypeExp>,
        body: &ast::Exp,
        hint: Option<&Type>,
        span: Span,
    ) -> Exp {
        let mark = self.locals.mark();
        let depth = self.depth;
        self.depth += 1;
        let checks = self.new_checks();
        let mut hint = hint.map(|hint| self.shallow(hint));
        let mut patterns = Vec::new();
        let mut consumes = Vec::new();
        let mut openings = Vec::new();
        for param in params {
            let (from, rest) = match hint.take() {
                Some(Type::Arrow(arrow)) => {
                    let to = self.forget_sizes(&arrow.to.exists, &arrow.to.ty);
                    let to = arrow.param.map_or(to.clone(), |param| self.forget_sizes(&[param], &to));
                    (self.parameter_of_unknown_size(patterns.len(), param, &arrow.from, &mut openings), Some(self.shallow(&to)))
                }
                _ => (self.fresh_type(param.span), None),
            };
            hint = rest;
            let mut bindings = Bindings::default();
            patterns.push(self.pattern(param, &from, Anonymous::Infer, checks, &mut bindings));
            consumes.push(bindings.consumes);
        }
        let mut typed = match result {
            Some(annotation) => {
                let written = self.type_exp(annotation, Anonymous::Exists);
                let typed = self.exp(body, Some(&written.ty));
                let ids: Vec<_> = written.sizes.iter().map(|(id, _)| *id).collect();
                let expected = self.open_sizes(&ids, &written.ty);
                self.expect(&expected, &typed.ty, checks, typed.span, "the body of the function does not have its result type");
                let ty = if written.sizes.is_empty() { written.ty } else { typed.ty.clone() };
                let span = typed.span;
                Exp { kind: ExpKind::Checked(self.check_set(checks), Box::new(typed)), ty, span }
            }
            None => self.exp(body, hint.as_ref()),
        };
        let opened: Vec<VarId> = openings.iter().flat_map(|opening| opening.names.iter().map(|(id, _)| *id)).collect();
        typed = read_sizes(openings, &patterns, typed);
        if result.is_none() && self.has_pending(checks) {
            let (ty, span) = (typed.ty.clone(), typed.span);
            typed = Exp { kind: ExpKind::Checked(self.check_set(checks), Box::new(typed)), ty, span };
        }
        self.depth = depth;
        self.locals.undo_to(mark);
        let ty = self.function_type(&[], &patterns, &consumes, &typed.ty, false);
        let ty = self.forget_sizes(&opened, &ty);
        Exp { kind: ExpKind::Lambda(Rc::new(Lambda { params: patterns, body: typed })), ty, span }
    }

    /// The type of a function with these parameters whose body, checked one block deeper, has type `result`.
    pub fn function_type(
        &mut self,
        sizes: &[(VarId, Name)],
        params: &[Pattern],
        consumes: &[bool],
        result: &Type,
        unique: bool,
    ) -> Type {
        let simple: Vec<Option<(VarId, Name)>> = params
            .iter()
            .map(|param| match &param.kind {
                PatternKind::Var(id, name) => Some((*id, name.clone())),
                _ => None,
            })
            .collect();
        let depth = self.depth;
        let visible: Vec<VarId> = sizes.iter().chain(simple.iter().flatten()).map(|(id, _)| *id).collect();
        let hidden = move |checker: &Checker<'_>, id: VarId| checker.vars[id.0 as usize].depth > depth && !visible.contains(&id);
        let (ty, exists) = self.hide_names(result, &hidden);
        let exists: Vec<VarId> = exists.into_iter().map(|(id, _)| id).collect();
        let mut to = Return { exists, unique, ty };
        for ((param, consumes), simple) in params.iter().zip(consumes).zip(simple).rev() {
            let (id, name) = simple.map_or((None, None), |(id, name)| (Some(id), Some(name)));
            let from = param.ty.clone();
            let arrow = Arrow { param: id, param_name: name, consumes: *consumes, from, to };
            to = Return { exists: Vec::new(), unique: false, ty: Type::Arrow(Rc::new(arrow)) };
        }
        to.ty
    }

    fn right_section(&mut self, operator: &ast::QualName, operand: &ast::Exp, hint: Option<&Type>, span: Span) -> Exp {
        let operand = self.exp(operand, None);
        let depth = self.depth;
        let (operand_id, operand_use) = self.name_value(&operand);
        self.depth += 1;
        let from = match hint.map(|hint| self.shallow(hint)) {
            Some(Type::Arrow(arrow)) => arrow.from.clone(),
            _ => self.fresh_type(span),
        };
        let name = Name::from("x");
        let id = self.fresh_var(name.clone());
        let param = Pattern { kind: PatternKind::Var(id, name), ty: from.clone(), span };
        let left = Exp { kind: ExpKind::Var { id, types: Vec::new(), sizes: Vec::new() }, ty: from, span };
        let function = self.name(operator);
        let body = self.apply(function, vec![Argument::Done(left), Argument::Done(operand_use)], span);
        self.depth = depth;
        let ty = self.function_type(&[], std::slice::from_ref(&param), &[false], &body.ty, false);
        let lambda = Exp { kind: ExpKind::Lambda(Rc::new(Lambda { params: vec![param], body })), ty, span };
        bind_value(operand_id, operand, lambda)
    }

    fn project_section(&mut self, path: &[Access], hint: Option<&Type>, span: Span) -> Exp {
        let depth = self.depth;
        self.depth += 1;
        let from = match hint.map(|hint| self.shallow(hint)) {
            Some(Type::Arrow(arrow)) => arrow.from.clone(),
            _ => self.fresh_type(span),
        };
        let name = Name::from("x");
        let id = self.fresh_var(name.clone());
        let param = Pattern { kind: PatternKind::Var(id, name), ty: from.clone(), span };
        let mut body = Exp { kind: ExpKind::Var { id, types: Vec::new(), sizes: Vec::new() }, ty: from, span };
        for step in path {
            body = match step {
                Access::Field(field) => self.project(body, field),
                Access::Index(parts, index_span) => self.index(body, parts, *index_span),
            };
        }
        self.depth = depth;
        let ty = self.function_type(&[], std::slice::from_ref(&param), &[false], &body.ty, false);
        Exp { kind: ExpKind::Lambda(Rc::new(Lambda { params: vec![param], body })), ty, span }
    }

    /// A value that may be used several times: itself if that is free, else a variable and its use.
    fn name_value(&mut self, exp: &Exp) -> (Option<VarId>, Exp) {
        if matches!(exp.kind, ExpKind::Var { .. } | ExpKind::Int(_) | ExpKind::Float(_) | ExpKind::Bool(_)) {
            return (None, exp.clone());
        }
        let id = self.fresh_var(Name::from("t"));
        self.vars[id.0 as usize].size = self.size_of_exp(exp);
        let kind = ExpKind::Var { id, types: Vec::new(), sizes: Vec::new() };
        (Some(id), Exp { kind, ty: exp.ty.clone(), span: exp.span })
    }

    // -------------------------------------------------------------------------------------------------- blocks, match, join

    /// Checks a part that runs on its own: sizes named inside it are unknown outside.
    pub fn block(&mut self, check: impl FnOnce(&mut Self) -> Exp) -> Exp {
        let depth = self.depth;
        self.depth += 1;
        let exp = check(self);
        self.depth = depth;
        exp
    }

    /// The common type of several branches. Sizes that differ or are not known outside get names, which are returned.
    pub fn join(&mut self, branches: &[Type]) -> (Type, Vec<(VarId, Name)>) {
        let depth = self.depth;
        let hidden = move |checker: &Checker<'_>, id: VarId| checker.vars[id.0 as usize].depth > depth;
        let mut opened = Vec::new();
        let mut joined: Option<Type> = None;
        for branch in branches {
            let (branch, fresh) = self.hide_names(branch, &hidden);
            opened.extend(fresh);
            joined = Some(match joined {
                None => branch,
                Some(so_far) => self.join_two(&so_far, &branch, false, &mut opened),
            });
        }
        let ty = joined.unwrap_or(Type::Error);
        let mut used = Vec::new();
        names_in_type(&ty, &mut used);
        opened.retain(|(id, _)| used.contains(id));
        (ty, opened)
    }

    /// In the result of a function, a size that is not decided may be tied to a parameter: it is another one than any that differs.
    pub fn join_two(&mut self, left: &Type, right: &Type, in_result: bool, opened: &mut Vec<(VarId, Name)>) -> Type {
        match (self.shallow(left), self.shallow(right)) {
            (Type::Array(left_size, left), Type::Array(right_size, right)) => {
                let is_open = |checker: &Self, size: &Size| {
                    !in_result && matches!(checker.resolve_size(size), Size::Unknown | Size::Var(_))
                };
                let size = if self.same_size(&left_size, &right_size) {
                    left_size
                } else if is_open(self, &left_size) {
                    right_size
                } else if is_open(self, &right_size) {
                    left_size
                } else {
                    let name = Name::from("k");
                    let id = self.fresh_var(name.clone());
                    opened.push((id, name.clone()));
                    Size::Name(id, name)
                };
                Type::array(size, self.join_two(&left, &right, in_result, opened))
            }
            (Type::Record(left), Type::Record(right)) if left.len() == right.len() => Type::Record(
                left.iter()
                    .zip(right.iter())
                    .map(|(left, right)| (left.0.clone(), self.join_two(&left.1, &right.1, in_result, opened)))
                    .collect(),
            ),
            (Type::Sum(left), Type::Sum(right)) if left.len() == right.len() => Type::Sum(
                left.iter()
                    .zip(right.iter())
                    .map(|(left, right)| {
                        let payload = left
                            .1
                            .iter()
                            .zip(&right.1)
                            .map(|(left, right)| self.join_two(left, right, in_result, opened))
                            .collect();
                        (left.0.clone(), payload)
                    })
                    .collect(),
            ),
            (Type::Arrow(left), Type::Arrow(right)) => self.join_arrows(&left, &right),
            (Type::Error, other) => other,
            (left @ Type::Hidden(..), _) => left,
            (_, right @ Type::Hidden(..)) => right,
            (left, _) => left,
        }
    }

    /// A function that may be either. Sizes in which the results differ are the result's own.
    fn join_arrows(&mut self, left: &Arrow, right: &Arrow) -> Type {
        let mut right_to = right.to.ty.clone();
        if let (Some(left_param), Some(right_param)) = (left.param, right.param) {
            let name = left.param_name.clone().unwrap_or_default();
            right_to = Subst::size(right_param, Size::Name(left_param, name)).ty(&right_to);
        }
        let mut own = Vec::new();
        let ty = self.join_two(&left.to.ty, &right_to, true, &mut own);
        let mut exists: Vec<VarId> = left.to.exists.iter().chain(&right.to.exists).copied().collect();
        exists.extend(own.into_iter().map(|(id, _)| id));
        let mut used = Vec::new();
        names_in_type(&self.resolve(&ty), &mut used);
        exists.retain(|id| used.contains(id));
        Type::Arrow(Rc::new(Arrow {
            to: Return { exists, unique: left.to.unique && right.to.unique, ty },
            consumes: left.consumes || right.consumes,
            ..left.clone()
        }))
    }

    /// Compares the types of two branches. Sizes of results of functions are compared when they are joined.
    pub fn expect_branch(&mut self, first: &Type, branch: &Exp, what: &str) -> bool {
        let outer = std::mem::replace(&mut self.comparing_branches, true);
        let fits = self.expect(first, &branch.ty, OnSizes::Ignore, branch.span, what);
        self.comparing_branches = outer;
        fits
    }

    fn match_exp(&mut self, scrutinee: &ast::Exp, cases: &[(ast::Pattern, ast::Exp)], hint: Option<&Type>, span: Span) -> Exp {
        let scrutinee = self.exp(scrutinee, None);
        let scrutinee = self.open_hidden(scrutinee);
        let mut types: Vec<Type> = Vec::new();
        let mut typed = Vec::new();
        for (pattern, body) in cases {
            let mark = self.locals.mark();
            let depth = self.depth;
            self.depth += 1;
            let mut bindings = Bindings::default();
            let ty = scrutinee.ty.clone();
            let checks = self.new_checks();
            let pattern = self.pattern(pattern, &ty, Anonymous::Infer, checks, &mut bindings);
            let first = types.first().cloned();
            let body = self.exp(body, hint.or(first.as_ref()));
            let body = self.checked_first(checks, body);
            self.depth = depth;
            self.locals.undo_to(mark);
            if let Some(first) = &first {
                self.expect_branch(first, &body, "the cases of `match` differ in type");
            }
            types.push(body.ty.clone());
            typed.push((pattern, body));
        }
        let (ty, opened) = self.join(&types);
        open(opened, Exp { kind: ExpKind::Match(Box::new(scrutinee), typed), ty, span })
    }

    // ------------------------------------------------------------------------------------------------- indexing and updates

    fn index_parts(&mut self, parts: &[IndexPart], ty: &Type, span: Span) -> (Vec<Index>, Type) {
        let mut remaining = ty.clone();
        let mut kept = Vec::new();
        let mut typed = Vec::new();
        for part in parts {
            let (size, element) = match self.shallow(&remaining) {
                Type::Array(size, element) => (size, (*element).clone()),
                Type::Error => (Size::Unknown, Type::Error),
                Type::Var(var) => {
                    let array = Type::array(self.fresh_size(), self.fresh_type(span));
                    self.expect(&Type::Var(var), &array, OnSizes::Ignore, span, "only arrays can be indexed");
                    let Type::Array(size, element) = array else { continue };
                    (size, (*element).clone())
                }
                other => {
                    let (whole, other) = (self.show(ty), self.show(&other));
                    let message = if typed.is_empty() {
                        format!("{other} is not an array and cannot be indexed")
                    } else {
                        format!("{} indices are too many for an array of type {whole}", parts.len())
                    };
                    self.error("E0240", span, message);
                    return (typed, Type::Error);
                }
            };
            match part {
                IndexPart::Index(exp) => typed.push(Index::At(self.index_exp(exp))),
                IndexPart::Slice { start, end, stride, .. } => {
                    let mut bound = |exp: &Option<ast::Exp>| {
                        exp.as_ref().map(|exp| {
                            let exp = self.exp(exp, Some(&Type::i64()));
                            self.expect(&Type::i64(), &exp.ty, OnSizes::Ignore, exp.span, "a slice bound must be an i64");
                            exp
                        })
                    };
                    let (start, end, stride) = (bound(start), bound(end), bound(stride));
                    kept.push(self.slice_size(&size, start.as_ref(), end.as_ref(), stride.as_ref()));
                    typed.push(Index::Slice { start, end, stride });
                }
            }
            remaining = element;
        }
        let ty = kept.into_iter().rev().fold(remaining, |ty, size| Type::array(size, ty));
        (typed, ty)
    }

    fn slice_size(&mut self, size: &Size, start: Option<&Exp>, end: Option<&Exp>, stride: Option<&Exp>) -> Size {
        if stride.is_some_and(|stride| !matches!(stride.kind, ExpKind::Int(1))) {
            return Size::Unknown;
        }
        let mut bound = |exp: &Exp| self.size_term(exp);
        let size = match (start, end) {
            (None, None) => Some(size.clone()),
            (None, Some(end)) => bound(end),
            (Some(start), None) => bound(start).map(|start| Size::difference(size.clone(), start)),
            (Some(start), Some(end)) => bound(start).zip(bound(end)).map(|(start, end)| Size::difference(end, start)),
        };
        size.unwrap_or(Size::Unknown)
    }

    fn index_exp(&mut self, exp: &ast::Exp) -> Exp {
        let typed = self.exp(exp, None);
        let is_literal = matches!(typed.kind, ExpKind::Int(_)) && matches!(self.shallow(&typed.ty), Type::Var(_));
        if is_literal {
            self.expect(&Type::i64(), &typed.ty, OnSizes::Ignore, typed.span, "an index must be an integer");
            return typed;
        }
        let signed = Constraint::prims(PrimSet::SIGNED);
        if self.constrain(&typed.ty, signed, typed.span).is_err() {
            let shown = self.show(&typed.ty);
            let is_known = matches!(self.shallow(&typed.ty), Type::Prim(_));
            self.error("E0241", typed.span, format!("an index must be a signed integer, not {shown}")).hint =
                is_known.then(|| format!("convert it: `i64.{shown} e`"));
        }
        typed
    }

    pub fn index(&mut self, array: Exp, parts: &[IndexPart], span: Span) -> Exp {
        let array = self.open_hidden(array);
        let (indices, ty) = self.index_parts(parts, &array.ty.clone(), span);
        let (ty, opened) = self.open_unknown(&ty);
        open(opened, Exp { kind: ExpKind::Index(Box::new(array), indices), ty, span })
    }

    /// `target with path = value`
    pub fn update(&mut self, target: Exp, path: &[Access], value: &ast::Exp, span: Span) -> Exp {
        let Some((step, rest)) = first_step(path) else { return self.exp(value, Some(&target.ty.clone())) };
        let target = self.open_hidden(target);
        let ty = target.ty.clone();
        let (id, target_use) = if rest.is_empty() { (None, target.clone()) } else { self.name_value(&target) };
        let updated = match &step {
            Access::Field(field) => {
                if matches!(self.shallow(&ty), Type::Var(_)) {
                    self.error("E0242", field.span, "the full type of the record is not known at this point").hint =
                        Some(String::from("annotate the record with its type"));
                    return error_exp(span);
                }
                let old = self.project(target_use.clone(), field);
                let old_type = old.ty.clone();
                let new = self.update(old, rest, value, span);
                // Arrays may have another size than before.
                let new_type = self.of_any_size(&old_type);
                self.expect(&new_type, &new.ty, OnSizes::Ignore, new.span, "the new value of the field has another type");
                let ty = match self.shallow(&ty) {
                    Type::Record(fields) => Type::record(fields.iter().map(|(name, ty)| {
                        let is_new = *name == field.name;
                        (name.clone(), if is_new { new_type.clone() } else { ty.clone() })
                    })),
                    other => other,
                };
                Exp { kind: ExpKind::RecordUpdate(Box::new(target_use), field.name.clone(), Box::new(new)), ty, span }
            }
            Access::Index(parts, index_span) => {
                let (indices, element_type) = self.index_parts(parts, &ty, *index_span);
                let new = if rest.is_empty() {
                    self.exp(value, Some(&element_type))
                } else {
                    let kind = ExpKind::Index(Box::new(target_use.clone()), indices.clone());
                    let old = Exp { kind, ty: element_type.clone(), span: *index_span };
                    let old = Exp { kind: ExpKind::Taken(Box::new(old)), ty: element_type.clone(), span: *index_span };
                    self.update(old, rest, value, span)
                };
                let checks = self.new_checks();
                self.expect(&element_type, &new.ty, checks, new.span, "the new value has another type than what it replaces");
                let kind = ExpKind::Update(Box::new(target_use), indices, Box::new(new));
                let update = Exp { kind, ty: ty.clone(), span };
                Exp { kind: ExpKind::Checked(self.check_set(checks), Box::new(update)), ty, span }
            }
        };
        bind_value(id, target, updated)
    }

    fn range(
        &mut self,
        first: &ast::Exp,
        second: Option<&ast::Exp>,
        end: ast::RangeEnd,
        last: &ast::Exp,
        hint: Option<&Type>,
        span: Span,
    ) -> Exp {
        let element_hint = match hint.map(|hint| self.shallow(hint)) {
            Some(Type::Array(_, element)) => Some((*element).clone()),
            _ => None,
        };
        let ty = self.constrained_type(Constraint::prims(PrimSet::SIGNED), span);
        let mut part = |exp: &ast::Exp| {
            let exp = self.exp(exp, element_hint.as_ref());
            self.expect(&ty, &exp.ty, OnSizes::Ignore, exp.span, "the parts of a range must be of one signed integer type");
            exp
        };
        let (first, second, last) = (part(first), second.map(&mut part), part(last));
        // Names are sizes only as 64-bit integers; literals say how many there are whatever their type turns out to be.
        let is_i64 = matches!(self.shallow(&ty), Type::Prim(Prim::I64));
        let literals =
            [Some(&first), second.as_ref(), Some(&last)].into_iter().flatten().all(|part| matches!(part.kind, ExpKind::Int(_)));
        let size = if is_i64 || literals { self.range_size(&first, second.as_ref(), end, &last) } else { None };
        let ty = Type::array(size.unwrap_or(Size::Unknown), ty);
        let (ty, opened) = self.open_unknown(&ty);
        let kind = ExpKind::Range { first: Box::new(first), second: second.map(Box::new), end, last: Box::new(last) };
        open(opened, Exp { kind, ty, span })
    }

    fn range_size(&mut self, first: &Exp, second: Option<&Exp>, end: ast::RangeEnd, last: &Exp) -> Option<Size> {
        let (first, last) = (self.size_term(first)?, self.size_term(last)?);
        if let Some(second) = second {
            let stride = Size::difference(self.size_term(second)?, first.clone());
            if !self.same_size(&stride, &Size::Const(1)) {
                return None;
            }
        }
        let from_zero = self.same_size(&first, &Size::Const(0));
        let from_one = self.same_size(&first, &Size::Const(1));
        match end {
            ast::RangeEnd::UpTo if from_zero => Some(last),
            ast::RangeEnd::UpTo => Some(Size::difference(last, first)),
            ast::RangeEnd::Inclusive if from_one => Some(last),
            ast::RangeEnd::Inclusive => Some(Size::sum(Size::difference(last, first), Size::Const(1))),
            ast::RangeEnd::DownTo => Some(Size::difference(first, last)).filter(|_| second.is_none()),
        }
    }
}

pub fn error_exp(span: Span) -> Exp {
    Exp { kind: ExpKind::Error, ty: Type::Error, span }
}

pub fn record(fields: Vec<(Name, Exp)>, span: Span) -> Exp {
    let ty = Type::record(fields.iter().map(|(name, exp)| (name.clone(), exp.ty.clone())));
    Exp { kind: ExpKind::Record(fields), ty, span }
}

/// The expression, whose opened sizes are bound where it stands.
pub fn open(opened: Vec<(VarId, Name)>, exp: Exp) -> Exp {
    if opened.is_empty() {
        return exp;
    }
    let (ty, span) = (exp.ty.clone(), exp.span);
    Exp { kind: ExpKind::Open(opened, Box::new(exp)), ty, span }
}

/// `let id = value in body`, or just the body where there is no variable.
/// The first step of a path and the others. Of an element another element is one step: `[i][j]` is `[i, j]`.
fn first_step(path: &[Access]) -> Option<(Access, &[Access])> {
    let (first, mut rest) = path.split_first()?;
    let mut step = first.clone();
    while let (Access::Index(parts, span), Some((Access::Index(more, more_span), behind))) = (&mut step, rest.split_first())
        && parts.iter().all(|part| matches!(part, IndexPart::Index(_)))
    {
        parts.extend(more.iter().cloned());
        *span = span.to(*more_span);
        rest = behind;
    }
    Some((step, rest))
}

fn bind_value(id: Option<VarId>, value: Exp, body: Exp) -> Exp {
    let Some(id) = id else { return body };
    let (ty, span) = (body.ty.clone(), body.span);
    let pattern = Pattern { kind: PatternKind::Var(id, Name::from("t")), ty: value.ty.clone(), span: value.span };
    Exp { kind: ExpKind::Let { pattern, value: Box::new(value), body: Box::new(body) }, ty, span }
}

/// Collects all names in the sizes of a type.
pub fn names_in_type(ty: &Type, names: &mut Vec<VarId>) {
    match ty {
        Type::Record(fields) => fields.iter().for_each(|(_, ty)| names_in_type(ty, names)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).for_each(|ty| names_in_type(ty, names)),
        Type::Array(size, element) => {
            crate::sizes::collect_names(size, names);
            names_in_type(element, names);
        }
        Type::Arrow(arrow) => {
            names_in_type(&arrow.from, names);
            names_in_type(&arrow.to.ty, names);
        }
        Type::Named(_, _, args) => args.iter().for_each(|arg| match arg {
            crate::ty::TypeArg::Type(ty) => names_in_type(ty, names),
            crate::ty::TypeArg::Size(size) => crate::sizes::collect_names(size, names),
        }),
        Type::Hidden(_, ty) => names_in_type(ty, names),
        Type::Prim(_) | Type::Var(_) | Type::Param(..) | Type::Error => {}
    }
}

/// `(f a) b` and `f a b` are one application.
fn flatten_spine<'e>(function: &'e ast::Exp, args: &'e [ast::Exp]) -> (&'e ast::Exp, Vec<&'e ast::Exp>) {
    let mut function = function;
    let mut groups = vec![args];
    loop {
        match &function.kind {
            ast::ExpKind::Apply(inner, args) => {
                groups.push(args);
                function = inner;
            }
            ast::ExpKind::Paren(inner) if matches!(inner.kind, ast::ExpKind::Apply(..) | ast::ExpKind::Paren(_)) => {
                function = inner
            }
            _ => break,
        }
    }
    (function, groups.into_iter().rev().flatten().collect())
}

/// The value wrapped to the width of an integer type.
fn wrap(prim: Prim, value: i128) -> i128 {
    match prim {
        Prim::I8 => i128::from(value as i8),
        Prim::I16 => i128::from(value as i16),
        Prim::I32 => i128::from(value as i32),
        Prim::I64 => i128::from(value as i64),
        Prim::U8 => i128::from(value as u8),
        Prim::U16 => i128::from(value as u16),
        Prim::U32 => i128::from(value as u32),
        Prim::U64 => i128::from(value as u64),
        Prim::Bool | Prim::F16 | Prim::F32 | Prim::F64 => value,
    }
}
