//! Applications, operators, and the opening of sizes that only values know.

use crate::checker::Checker;
use crate::env::Term;
use crate::exp::{error_exp, names_in_type, open};
use crate::sizes::KnownFunction;
use crate::subst::Subst;
use crate::tree::{Exp, ExpKind};
use crate::ty::{Arrow, Prim, Scheme, Size, Type, VarId};
use crate::unify::{OnSizes, arguments};
use crate::zonk::has_unknown;
use chadwick_source::{Name, Span};
use chadwick_syntax::ast;
use std::rc::Rc;

/// An argument not yet checked, or checked already.
pub enum Argument<'e> {
    Source(&'e ast::Exp),
    Done(Exp),
}

impl Checker<'_> {
    /// Applies a function to arguments. Lambdas are checked after the other arguments: by then more is known of their parameters.
    pub fn apply(&mut self, function: Exp, args: Vec<Argument<'_>>, span: Span) -> Exp {
        if args.is_empty() {
            return function;
        }
        let checks = self.new_checks();
        let mut ty = function.ty.clone();
        let mut typed: Vec<Option<Exp>> = Vec::new();
        let mut waiting: Vec<(usize, &ast::Exp, Type)> = Vec::new();
        let mut opened: Vec<(VarId, Name)> = Vec::new();
        let mut hiding: Vec<(Arrow, Arrow, Type, Span)> = Vec::new();
        let total = args.len();
        for (index, arg) in args.into_iter().enumerate() {
            let Some(arrow) = self.as_arrow(&ty, &function, index, total, span) else {
                if let Argument::Source(arg) = arg {
                    self.exp(arg, None);
                }
                ty = Type::Error;
                continue;
            };
            let arg = match arg {
                Argument::Source(source) if is_lambda(source) => {
                    waiting.push((index, source, arrow.from.clone()));
                    typed.push(None);
                    ty = self.open_return(&arrow, &mut opened);
                    continue;
                }
                Argument::Source(source) => self.exp(source, Some(&arrow.from)),
                Argument::Done(exp) => exp,
            };
            self.met_later = Some(Vec::new());
            let arg = self.fit_argument(arg, &arrow.from, &function, index, checks);
            let met_later = self.met_later.take().unwrap_or_default();
            hiding.extend(met_later.into_iter().map(|(left, right)| (left, right, arg.ty.clone(), arg.span)));
            let to = self.open_return(&arrow, &mut opened);
            let (arg, to) = self.substitute_argument(&arrow, arg, to);
            ty = to;
            typed.push(Some(arg));
        }
        // Other arguments may have decided the sizes that are expected of a function.
        for (left, right, ty, span) in hiding {
            if let Err(mismatch) = self.meet_hidden_sizes(&left, &right) {
                let label = format!("this has type {}", self.show(&ty));
                self.report_labelled(&mismatch, label, span);
            }
        }
        for (index, source, from) in waiting {
            let arg = self.exp(source, Some(&from));
            let arg = self.fit_argument(arg, &from, &function, index, checks);
            if let Some(slot) = typed.get_mut(index) {
                *slot = Some(arg);
            }
        }
        if matches!(ty, Type::Error) {
            return error_exp(span);
        }
        let resolved = self.resolve(&ty);
        let (resolved, unknown) = self.open_unknown(&resolved);
        let mut used = Vec::new();
        names_in_type(&resolved, &mut used);
        opened.retain(|(id, _)| used.contains(id));
        opened.extend(unknown);
        let args: Vec<_> = typed.into_iter().flatten().collect();
        self.require_common_size(&function, &args, span);
        let kind = ExpKind::Apply { function: Box::new(function), args, checks: self.check_set(checks) };
        open(opened, Exp { kind, ty: resolved, span })
    }

    fn as_arrow(&mut self, ty: &Type, function: &Exp, index: usize, total: usize, span: Span) -> Option<Rc<Arrow>> {
        match self.shallow(ty) {
            Type::Arrow(arrow) => Some(arrow),
            Type::Error => None,
            Type::Var(var) => {
                let (from, to) = (self.fresh_type(span), self.fresh_type(span));
                let arrow = Type::arrow(from, to);
                if self.unify(&Type::Var(var), &arrow, OnSizes::Ignore, function.span).is_err() {
                    self.report_no_function(None, function, index, total, span);
                    return None;
                }
                match arrow {
                    Type::Arrow(arrow) => Some(arrow),
                    _ => None,
                }
            }
            other => {
                self.report_no_function(Some(&other), function, index, total, span);
                None
            }
        }
    }

    /// What was applied to so many arguments is no function that could be applied to one more.
    fn report_no_function(&mut self, ty: Option<&Type>, function: &Exp, index: usize, total: usize, span: Span) {
        let name = self.function_name(function);
        if index > 0 {
            self.error("E0251", span, format!("{name} takes {}, but is given {total}", arguments(index)));
            return;
        }
        let message = match (ty, &function.kind) {
            (Some(ty), _) => format!("{name} has type {} and is not a function", self.show(ty)),
            (None, ExpKind::Var { .. }) => format!("{name} is not a function"),
            (None, _) => String::from("this is not a function"),
        };
        let hint = match ty {
            Some(Type::Array(..)) => {
                "an index or a slice is written directly behind its array, without a space: `xs[i]`, `xs[i:j]`"
            }
            _ => "is an operator or a comma missing?",
        };
        self.error("E0250", function.span, message).hint = Some(String::from(hint));
    }

    fn fit_argument(&mut self, arg: Exp, from: &Type, function: &Exp, index: usize, checks: OnSizes) -> Exp {
        let arg = match self.shallow(from) {
            Type::Var(_) | Type::Hidden(..) => arg,
            _ => self.open_hidden(arg),
        };
        let what = format!("argument {} of {}", index + 1, self.function_name(function));
        if !self.expect(from, &arg.ty, checks, arg.span, &what)
            && let Some(hint) = self.hint_on_misfit(&arg, function, index)
            && let Some(last) = self.diagnostics.last_mut()
        {
            last.hint = Some(hint);
        }
        arg
    }

    /// What a function's name or definition says about an argument that does not fit.
    fn hint_on_misfit(&self, arg: &Exp, function: &Exp, index: usize) -> Option<String> {
        let ExpKind::Var { id, .. } = &function.kind else { return None };
        let name = self.function_name(function);
        if name == "-" && index == 0 && matches!(self.shallow(&arg.ty), Type::Arrow(_)) {
            return Some(String::from("`f -x` is a difference; a negative argument is written `f (-x)`"));
        }
        if let Some(hint) = self.hint_on_own_name(*id) {
            return Some(hint);
        }
        let prim = self.defaulted.get(id)?.name();
        let ty = self.show(&arg.ty);
        Some(format!(
            "nothing says what numbers {name} takes where it is defined, so it takes {prim}: say it there, as in `(x: {ty})`"
        ))
    }

    pub fn function_name(&self, function: &Exp) -> String {
        match &function.kind {
            ExpKind::Var { id, .. } => self.vars[id.0 as usize].name.to_string(),
            _ => String::from("the function"),
        }
    }

    fn open_return(&mut self, arrow: &Arrow, opened: &mut Vec<(VarId, Name)>) -> Type {
        if arrow.to.exists.is_empty() {
            return arrow.to.ty.clone();
        }
        let mut subst = Subst::default();
        for id in &arrow.to.exists {
            let name = self.vars[id.0 as usize].name.clone();
            let fresh = self.fresh_var(name.clone());
            opened.push((fresh, name.clone()));
            subst.sizes.insert(*id, Size::Name(fresh, name));
        }
        subst.ty(&arrow.to.ty)
    }

    /// Puts the argument for the parameter in the result's sizes. An argument that is no size term gets a name.
    fn substitute_argument(&mut self, arrow: &Arrow, arg: Exp, to: Type) -> (Exp, Type) {
        let Some(param) = arrow.param else { return (arg, to) };
        let mut used = Vec::new();
        names_in_type(&self.resolve(&to), &mut used);
        if !used.contains(&param) {
            return (arg, to);
        }
        // What is no i64 may be part of a size by a function of it: then it is a variable there.
        let is_i64 = matches!(self.shallow(&arg.ty), Type::Prim(Prim::I64));
        if let Some(size) = self.size_term(&arg).filter(|size| is_i64 || matches!(size, Size::Name(..))) {
            return (arg, Subst::size(param, size).ty(&to));
        }
        let text = self.map.text(arg.span);
        let name = if text.len() <= 24 && !text.contains('\n') { Name::from(text) } else { Name::from("k") };
        let id = self.fresh_var(name.clone());
        let to = Subst::size(param, Size::Name(id, name)).ty(&to);
        let (ty, span) = (arg.ty.clone(), arg.span);
        (Exp { kind: ExpKind::Bind(id, Box::new(arg)), ty, span }, to)
    }

    pub fn binary(&mut self, left: &ast::Exp, operator: &ast::QualName, right: &ast::Exp, span: Span) -> Exp {
        if operator.qualifiers.is_empty() && matches!(operator.name.name.as_str(), "&&" | "||") {
            let bool_type = Type::bool();
            let operand = |checker: &mut Self, exp: &ast::Exp| {
                let exp = checker.exp(exp, Some(&bool_type));
                checker.expect(&bool_type, &exp.ty, OnSizes::Ignore, exp.span, "the operands of && and || must be bools");
                Box::new(exp)
            };
            let (left, right) = (operand(self, left), operand(self, right));
            let kind = if operator.name.name == "&&" { ExpKind::And(left, right) } else { ExpKind::Or(left, right) };
            return Exp { kind, ty: bool_type, span };
        }
        if operator.qualifiers.is_empty()
            && let Some(Term::Value(entry)) = self.find_term(&operator.name.name)
            && let Some(known) = self.known_functions.get(&entry.id).copied()
        {
            match known {
                KnownFunction::PipeForward => return self.pipe(right, left, span),
                KnownFunction::PipeBackward => return self.pipe(left, right, span),
                _ => {}
            }
        }
        let function = self.name(operator);
        self.apply(function, vec![Argument::Source(left), Argument::Source(right)], span)
    }

    /// `x |> f a` is `f a x`.
    fn pipe(&mut self, function: &ast::Exp, arg: &ast::Exp, span: Span) -> Exp {
        let mut args: Vec<&ast::Exp> = vec![arg];
        let mut head = function;
        while let ast::ExpKind::Apply(inner, inner_args) = &head.kind {
            args.splice(0..0, inner_args.iter());
            head = inner;
        }
        if is_lambda(head) {
            // The argument comes first: the lambda's parameter takes its type.
            let arg = self.exp(arg, None);
            let result = self.fresh_type(span);
            let function_hint = Type::arrow(arg.ty.clone(), result);
            let function = self.exp(head, Some(&function_hint));
            return self.apply(function, vec![Argument::Done(arg)], span);
        }
        let function = self.exp(head, None);
        self.apply(function, args.into_iter().map(Argument::Source).collect(), span)
    }

    // ------------------------------------------------------------------------------------------------------- instantiation

    pub fn fresh_instance(&mut self, scheme: &Scheme, span: Span) -> (Subst, Vec<Type>, Vec<Size>) {
        let mut subst = Subst::default();
        let mut types = Vec::new();
        let mut sizes = Vec::new();
        for (param, _) in &scheme.types {
            let ty = match self.param_classes.get(param) {
                Some(class) => self.constrained_type(class.clone(), span),
                None => self.fresh_type(span),
            };
            subst.types.insert(*param, ty.clone());
            types.push(ty);
        }
        for (id, _) in &scheme.sizes {
            let size = self.fresh_size();
            subst.sizes.insert(*id, size.clone());
            sizes.push(size);
        }
        (subst, types, sizes)
    }

    // ------------------------------------------------------------------------------------------------------- opening sizes

    /// A value of a size-hiding type, with names for its sizes.
    pub fn open_hidden(&mut self, exp: Exp) -> Exp {
        let Type::Hidden(names, inner) = self.shallow(&exp.ty) else { return exp };
        let mut subst = Subst::default();
        let mut opened = Vec::new();
        for id in names.iter() {
            let name = self.vars[id.0 as usize].name.clone();
            let fresh = self.fresh_var(name.clone());
            opened.push((fresh, name.clone()));
            subst.sizes.insert(*id, Size::Name(fresh, name));
        }
        let ty = subst.ty(&inner);
        open(opened, Exp { ty, ..exp })
    }

    /// Gives every unknown size of the type a name, to be read from the value.
    pub fn open_unknown(&mut self, ty: &Type) -> (Type, Vec<(VarId, Name)>) {
        let mut opened = Vec::new();
        let ty = self.name_unknown(ty, &mut opened);
        (ty, opened)
    }

    fn name_unknown(&mut self, ty: &Type, opened: &mut Vec<(VarId, Name)>) -> Type {
        match ty {
            Type::Array(size, element) => {
                let size = match self.resolve_size(size) {
                    size if has_unknown(&size) => {
                        let name = Name::from("k");
                        let id = self.fresh_var(name.clone());
                        opened.push((id, name.clone()));
                        Size::Name(id, name)
                    }
                    size => size,
                };
                Type::array(size, self.name_unknown(&self.shallow(element), opened))
            }
            Type::Record(fields) => Type::Record(
                fields.iter().map(|(name, ty)| (name.clone(), self.name_unknown(&self.shallow(ty), opened))).collect(),
            ),
            other => other.clone(),
        }
    }

    pub fn has_pending(&self, checks: OnSizes) -> bool {
        match checks {
            OnSizes::Check(set) => !self.check_sets[set as usize].is_empty() || !self.deferred.is_empty(),
            OnSizes::Ignore => false,
        }
    }
}

pub fn is_lambda(exp: &ast::Exp) -> bool {
    match &exp.kind {
        ast::ExpKind::Lambda { .. }
        | ast::ExpKind::ProjectSection(_)
        | ast::ExpKind::RightSection(..)
        | ast::ExpKind::LeftSection(..) => true,
        ast::ExpKind::Paren(inner) => is_lambda(inner),
        _ => false,
    }
}
