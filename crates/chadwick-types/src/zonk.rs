//! The last walk over a checked definition: every variable is replaced by what it turned out to be, literals are checked against
//! their types, and patterns for being complete.

use crate::checker::Checker;
use crate::sizes::collect_names;
use crate::tree::{
    CheckSet, Definition, DefinitionBody, Exp, ExpKind, Function, Index, Lambda, Loop, LoopForm, Pattern, PatternKind, SizeCheck,
};
use crate::ty::{Arrow, OpaqueSize, Prim, Return, Scheme, Size, Type, TypeArg, VarId};
use chadwick_source::{Name, Span};
use std::rc::Rc;

impl Checker<'_> {
    pub fn zonk_definition(&mut self, definition: Definition) -> Definition {
        let body = match definition.body {
            DefinitionBody::Function(function) => {
                let params: Vec<_> = function.params.into_iter().map(|param| self.zonk_pattern(param)).collect();
                for param in &params {
                    self.require_irrefutable(param, "a parameter");
                }
                DefinitionBody::Function(Function { params, body: self.zonk(function.body) })
            }
            other => other,
        };
        let scheme = Scheme { ty: self.final_type(&definition.scheme.ty), ..definition.scheme };
        self.report_too_large(definition.span);
        Definition { scheme, body, ..definition }
    }

    /// The type with nothing open: what no use decided is the empty tuple, sizes are read from values.
    pub fn final_type(&self, ty: &Type) -> Type {
        if self.measure(ty) { self.final_type_all(ty) } else { Type::Error }
    }

    fn final_type_all(&self, ty: &Type) -> Type {
        match self.shallow(ty) {
            Type::Var(_) => Type::unit(),
            Type::Record(fields) => {
                Type::Record(fields.iter().map(|(name, ty)| (name.clone(), self.final_type_all(ty))).collect())
            }
            Type::Sum(constructors) => Type::Sum(
                constructors
                    .iter()
                    .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| self.final_type_all(ty)).collect()))
                    .collect(),
            ),
            Type::Array(size, element) => Type::array(self.final_size(&size), self.final_type_all(&element)),
            Type::Arrow(arrow) => Type::Arrow(Rc::new(Arrow {
                param: arrow.param,
                param_name: arrow.param_name.clone(),
                consumes: arrow.consumes,
                from: self.final_type_all(&arrow.from),
                to: Return { exists: arrow.to.exists.clone(), unique: arrow.to.unique, ty: self.final_type_all(&arrow.to.ty) },
            })),
            Type::Named(id, name, args) => Type::Named(
                id,
                name,
                args.iter()
                    .map(|arg| match arg {
                        TypeArg::Type(ty) => TypeArg::Type(self.final_type_all(ty)),
                        TypeArg::Size(size) => TypeArg::Size(self.final_size(size)),
                    })
                    .collect(),
            ),
            Type::Hidden(names, ty) => Type::Hidden(names, Rc::new(self.final_type_all(&ty))),
            other => other,
        }
    }

    pub fn final_size(&self, size: &Size) -> Size {
        let size = self.resolve_size(size);
        if is_open(&size) { closed_size(size) } else { size }
    }

    fn zonk_checks(&mut self, set: CheckSet) -> CheckSet {
        let pending = match set.pending {
            Some(index) => self.check_sets[index as usize].clone(),
            None => Vec::new(),
        };
        let checks = set.checks.into_iter().chain(pending).filter_map(|check| {
            let (expected, actual) = (self.final_size(&check.expected), self.final_size(&check.actual));
            let needless = has_unknown(&expected) || has_unknown(&actual) || self.same_size(&expected, &actual);
            let mut names = Vec::new();
            [&expected, &actual].into_iter().for_each(|size| collect_names(size, &mut names));
            let param = names.into_iter().find(|name| self.arrow_params.contains(name));
            let param = param.map(|id| (id, self.vars[id.0 as usize].name.clone()));
            (!needless).then_some(SizeCheck { expected, actual, span: check.span, param })
        });
        CheckSet { pending: None, checks: checks.collect() }
    }

    #[expect(clippy::boxed_local, reason = "what is boxed stays boxed")]
    fn zonk_box(&mut self, exp: Box<Exp>) -> Box<Exp> {
        Box::new(self.zonk(*exp))
    }

    fn zonk_all(&mut self, exps: Vec<Exp>) -> Vec<Exp> {
        exps.into_iter().map(|exp| self.zonk(exp)).collect()
    }

    pub fn zonk(&mut self, exp: Exp) -> Exp {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.zonk_inner(exp))
    }

    fn zonk_inner(&mut self, exp: Exp) -> Exp {
        let ty = self.final_type(&exp.ty);
        let span = exp.span;
        self.report_too_large(span);
        let kind = match exp.kind {
            ExpKind::Int(value) => self.zonk_int(value, &ty, span),
            ExpKind::Var { id, types, sizes } => ExpKind::Var {
                id,
                types: types.iter().map(|ty| self.final_type(ty)).collect(),
                sizes: sizes.iter().map(|size| self.final_size(size)).collect(),
            },
            ExpKind::Record(fields) => ExpKind::Record(fields.into_iter().map(|(name, exp)| (name, self.zonk(exp))).collect()),
            ExpKind::Project(record, field) => ExpKind::Project(self.zonk_box(record), field),
            ExpKind::Array(elements) => ExpKind::Array(self.zonk_all(elements)),
            ExpKind::Construct(name, args) => ExpKind::Construct(name, self.zonk_all(args)),
            ExpKind::Apply { function, args, checks } => {
                ExpKind::Apply { function: self.zonk_box(function), args: self.zonk_all(args), checks: self.zonk_checks(checks) }
            }
            ExpKind::Lambda(lambda) => {
                let lambda = Rc::unwrap_or_clone(lambda);
                let params: Vec<_> = lambda.params.into_iter().map(|param| self.zonk_pattern(param)).collect();
                for param in &params {
                    self.require_irrefutable(param, "a parameter");
                }
                ExpKind::Lambda(Rc::new(Lambda { params, body: self.zonk(lambda.body) }))
            }
            ExpKind::Let { .. } | ExpKind::LetFunctions { .. } | ExpKind::LetSizes(..) => {
                return self.zonk_lets(Exp { kind: exp.kind, ty, span });
            }
            ExpKind::If(a, b, c) => ExpKind::If(self.zonk_box(a), self.zonk_box(b), self.zonk_box(c)),
            ExpKind::And(a, b) => ExpKind::And(self.zonk_box(a), self.zonk_box(b)),
            ExpKind::Or(a, b) => ExpKind::Or(self.zonk_box(a), self.zonk_box(b)),
            ExpKind::Match(scrutinee, cases) => {
                let scrutinee = self.zonk_box(scrutinee);
                let cases: Vec<_> =
                    cases.into_iter().map(|(pattern, body)| (self.zonk_pattern(pattern), self.zonk(body))).collect();
                let patterns: Vec<&Pattern> = cases.iter().map(|(pattern, _)| pattern).collect();
                self.require_exhaustive(&patterns, &scrutinee.ty, span);
                ExpKind::Match(scrutinee, cases)
            }
            ExpKind::Loop(parts) => {
                let pattern = self.zonk_pattern(parts.pattern);
                self.require_irrefutable(&pattern, "a loop pattern");
                let form = match parts.form {
                    LoopForm::For(id, name, bound) => LoopForm::For(id, name, self.zonk(bound)),
                    LoopForm::ForIn(pattern, array) => {
                        let pattern = self.zonk_pattern(pattern);
                        self.require_irrefutable(&pattern, "a loop pattern");
                        LoopForm::ForIn(pattern, self.zonk(array))
                    }
                    LoopForm::While(condition) => LoopForm::While(self.zonk(condition)),
                };
                ExpKind::Loop(Box::new(Loop {
                    pattern,
                    initial: self.zonk(parts.initial),
                    carried: self.final_type(&parts.carried),
                    varying: parts.varying,
                    form,
                    body: self.zonk(parts.body),
                    consumes: parts.consumes,
                    attributes: parts.attributes,
                }))
            }
            ExpKind::Index(array, indices) => ExpKind::Index(self.zonk_box(array), self.zonk_indices(indices)),
            ExpKind::Taken(part) => ExpKind::Taken(self.zonk_box(part)),
            ExpKind::Update(array, indices, value) => {
                ExpKind::Update(self.zonk_box(array), self.zonk_indices(indices), self.zonk_box(value))
            }
            ExpKind::RecordUpdate(record, field, value) => {
                ExpKind::RecordUpdate(self.zonk_box(record), field, self.zonk_box(value))
            }
            ExpKind::Range { first, second, end, last } => ExpKind::Range {
                first: self.zonk_box(first),
                second: second.map(|second| self.zonk_box(second)),
                end,
                last: self.zonk_box(last),
            },
            ExpKind::Assert { condition, body, text } => {
                ExpKind::Assert { condition: self.zonk_box(condition), body: self.zonk_box(body), text }
            }
            ExpKind::Bind(id, inner) => ExpKind::Bind(id, self.zonk_box(inner)),
            ExpKind::Open(names, inner) => ExpKind::Open(names, self.zonk_box(inner)),
            ExpKind::Checked(checks, inner) => {
                let checks = self.zonk_checks(checks);
                let inner = self.zonk_box(inner);
                // What has a size of its own keeps its type, though that size be hidden from here on.
                let hides = matches!(ty, Type::Hidden(..)) && !matches!(inner.ty, Type::Hidden(..));
                if checks.checks.is_empty() && !hides {
                    return Exp { ty, ..*inner };
                }
                ExpKind::Checked(checks, inner)
            }
            ExpKind::Attributed(attribute, inner) => ExpKind::Attributed(attribute, self.zonk_box(inner)),
            ExpKind::Float(value) => ExpKind::Float(value),
            kind @ (ExpKind::Bool(_) | ExpKind::String(_) | ExpKind::Hole | ExpKind::Error) => kind,
        };
        Exp { kind, ty, span }
    }

    /// A chain of `let`s, without recursion in its length.
    fn zonk_lets(&mut self, exp: Exp) -> Exp {
        enum Wrapper {
            Let(Pattern, Box<Exp>),
            Functions(Vec<Rc<Definition>>, bool),
            Sizes(Vec<(VarId, Name, Size)>),
        }
        let mut wrappers = Vec::new();
        let mut current = exp;
        loop {
            let (ty, span) = (self.final_type(&current.ty), current.span);
            self.report_too_large(span);
            match current.kind {
                ExpKind::Let { pattern, value, body } => {
                    let value = self.zonk_box(value);
                    let pattern = self.zonk_pattern(pattern);
                    self.require_irrefutable(&pattern, "a let");
                    wrappers.push((Wrapper::Let(pattern, value), ty, span));
                    current = *body;
                }
                ExpKind::LetFunctions { functions, recursive, body } => {
                    let functions = functions
                        .into_iter()
                        .map(|function| Rc::new(self.zonk_definition(Rc::unwrap_or_clone(function))))
                        .collect();
                    wrappers.push((Wrapper::Functions(functions, recursive), ty, span));
                    current = *body;
                }
                ExpKind::LetSizes(sizes, body) => {
                    self.require_known(&sizes, span);
                    let sizes = sizes.into_iter().map(|(id, name, size)| (id, name, self.final_size(&size))).collect();
                    wrappers.push((Wrapper::Sizes(sizes), ty, span));
                    current = *body;
                }
                kind => {
                    current = self.zonk(Exp { kind, ty: current.ty, span });
                    break;
                }
            }
        }
        for (wrapper, ty, span) in wrappers.into_iter().rev() {
            let body = Box::new(current);
            let kind = match wrapper {
                Wrapper::Let(pattern, value) => ExpKind::Let { pattern, value, body },
                Wrapper::Functions(functions, recursive) => ExpKind::LetFunctions { functions, recursive, body },
                Wrapper::Sizes(sizes) => ExpKind::LetSizes(sizes, body),
            };
            current = Exp { kind, ty, span };
        }
        current
    }

    /// The sizes that `let [n] p` names must have been found.
    fn require_known(&mut self, sizes: &[(VarId, Name, Size)], span: Span) {
        for (_, name, size) in sizes {
            if matches!(self.resolve_size(size), Size::Var(_)) && !self.has_errors() {
                self.error("E0301", span, format!("ambiguous size {name}: nothing determines it")).hint =
                    Some(String::from("annotate the value with its type"));
            }
        }
    }

    fn zonk_indices(&mut self, indices: Vec<Index>) -> Vec<Index> {
        indices
            .into_iter()
            .map(|index| match index {
                Index::At(exp) => Index::At(self.zonk(exp)),
                Index::Slice { start, end, stride } => Index::Slice {
                    start: start.map(|exp| self.zonk(exp)),
                    end: end.map(|exp| self.zonk(exp)),
                    stride: stride.map(|exp| self.zonk(exp)),
                },
            })
            .collect()
    }

    fn zonk_int(&mut self, value: i128, ty: &Type, span: Span) -> ExpKind {
        let Type::Prim(prim) = ty else { return ExpKind::Int(value) };
        if prim.is_float() {
            return ExpKind::Float(value as f64);
        }
        self.check_range(value, *prim, span);
        ExpKind::Int(value)
    }

    fn check_range(&mut self, value: i128, prim: Prim, span: Span) {
        let bits = prim.bits();
        let (lowest, highest) = match prim {
            prim if prim.is_signed() => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            _ => (0, (1i128 << bits) - 1),
        };
        let is_lowest = value == -lowest && self.negated.contains(&span);
        if !(lowest..=highest).contains(&value) && !is_lowest {
            self.error("E0218", span, format!("literal {value} is out of bounds for {}", prim.name())).hint =
                Some(format!("{} holds {lowest} to {highest}", prim.name()));
        }
    }

    pub fn zonk_pattern(&mut self, pattern: Pattern) -> Pattern {
        let ty = self.final_type(&pattern.ty);
        self.report_too_large(pattern.span);
        let kind = match pattern.kind {
            PatternKind::Record(fields) => {
                PatternKind::Record(fields.into_iter().map(|(name, field)| (name, self.zonk_pattern(field))).collect())
            }
            PatternKind::Constructor(name, args) => {
                PatternKind::Constructor(name, args.into_iter().map(|arg| self.zonk_pattern(arg)).collect())
            }
            PatternKind::Int(value) => match &ty {
                Type::Prim(prim) if prim.is_float() => PatternKind::Float(value as f64),
                Type::Prim(prim) => {
                    self.check_range(value, *prim, pattern.span);
                    PatternKind::Int(value)
                }
                _ => PatternKind::Int(value),
            },
            other => other,
        };
        Pattern { kind, ty, span: pattern.span }
    }
}

pub fn has_unknown(size: &Size) -> bool {
    match size {
        Size::Unknown => true,
        Size::Add(left, right) | Size::Sub(left, right) | Size::Mul(left, right) => has_unknown(left) || has_unknown(right),
        Size::Opaque(opaque) => opaque.args.iter().any(|(_, size)| has_unknown(size)),
        Size::Const(_) | Size::Name(..) | Size::Var(_) => false,
    }
}

/// The resolved size with what is still open read from values.
fn closed_size(size: Size) -> Size {
    let closed = |size: &Rc<Size>| closed_size(Size::clone(size));
    match size {
        Size::Var(_) => Size::Unknown,
        Size::Add(left, right) => Size::sum(closed(&left), closed(&right)),
        Size::Sub(left, right) => Size::difference(closed(&left), closed(&right)),
        Size::Mul(left, right) => Size::product(closed(&left), closed(&right)),
        Size::Opaque(opaque) => {
            let args = opaque.args.iter().map(|(id, size)| (*id, closed_size(size.clone()))).collect();
            Size::Opaque(Rc::new(OpaqueSize { exp: opaque.exp.clone(), args, text: opaque.text.clone() }))
        }
        other => other,
    }
}

pub(crate) fn is_open(size: &Size) -> bool {
    match size {
        Size::Var(_) => true,
        Size::Add(left, right) | Size::Sub(left, right) | Size::Mul(left, right) => is_open(left) || is_open(right),
        Size::Opaque(opaque) => opaque.args.iter().any(|(_, size)| is_open(size)),
        Size::Const(_) | Size::Name(..) | Size::Unknown => false,
    }
}
