//! Functions whose results have sizes that only the values know, given where functions are expected.
//!
//! `filter p` has type `[n]a -> ?[k].[k]a`. Where the expected result may have any size of its own (a type variable, or a size variable that
//! nothing else mentions) the size stays unknown and is read from the value. Where it is tied to something (`[n]a -> [n]a`) nothing
//! could supply it, so that is an error; and so are arrays of such results, whose elements would have no common size.

use crate::checker::Checker;
use crate::existential::has_unknown_size;
use crate::sizes::collect_names;
use crate::tree::{Exp, ExpKind, Pattern, PatternKind};
use crate::ty::{Arrow, Size, SizeVar, Type, TypeArg, VarId};
use crate::unify::{Mismatch, SizeState};
use chadwick_source::{Name, Span};
use chadwick_syntax::ast;

/// Names for sizes of a parameter that its value tells.
pub struct Opening {
    /// Where the parameter stands among the others.
    index: usize,
    pub names: Vec<(VarId, Name)>,
}

impl Checker<'_> {
    /// Compares what is expected of a function's sizes (`left`) with a function that hides some (`right`). Parameters fit already.
    pub fn meet_hidden_sizes(&mut self, left: &Arrow, right: &Arrow) -> Result<(), Mismatch> {
        self.adopt_unknown(&left.from, &right.from);
        if !left.to.exists.is_empty() {
            return Ok(());
        }
        let mut hidden = right.to.exists.clone();
        hidden.extend(right.param.filter(|_| left.param.is_none()));
        if hidden.is_empty() {
            return Ok(());
        }
        self.meet_result(&left.to.ty, &right.to.ty, &hidden, &left.from)
    }

    fn meet_result(&mut self, left: &Type, right: &Type, hidden: &[VarId], from: &Type) -> Result<(), Mismatch> {
        match (self.shallow(left), self.shallow(right)) {
            (Type::Array(left_size, left_element), Type::Array(right_size, right_element)) => {
                let mut names = Vec::new();
                collect_names(&self.resolve_size(&right_size), &mut names);
                if names.iter().any(|name| hidden.contains(name)) {
                    match self.resolve_size(&left_size) {
                        Size::Unknown => {}
                        Size::Var(var) if !self.mentions_size(from, var) => {
                            self.size_vars[var.0 as usize] = SizeState::Bound(Size::Unknown);
                        }
                        _ => return Err(Mismatch::HiddenSize(left.clone(), right.clone())),
                    }
                }
                self.meet_result(&left_element, &right_element, hidden, from)
            }
            (Type::Record(left), Type::Record(right)) if left.len() == right.len() => {
                left.iter().zip(right.iter()).try_for_each(|(left, right)| self.meet_result(&left.1, &right.1, hidden, from))
            }
            (Type::Arrow(left), Type::Arrow(right)) => self.meet_result(&left.to.ty, &right.to.ty, hidden, from),
            _ => Ok(()),
        }
    }

    /// Sizes of a parameter that nothing decides yet are unknown where the function is only ever given values of unknown size.
    fn adopt_unknown(&mut self, given: &Type, param: &Type) {
        match (self.shallow(given), self.shallow(param)) {
            (Type::Array(given_size, given), Type::Array(param_size, param)) => {
                if let (Size::Unknown, Size::Var(var)) = (self.resolve_size(&given_size), self.resolve_size(&param_size)) {
                    self.size_vars[var.0 as usize] = SizeState::Bound(Size::Unknown);
                }
                self.adopt_unknown(&given, &param);
            }
            (Type::Record(given), Type::Record(param)) if given.len() == param.len() => {
                given.iter().zip(param.iter()).for_each(|(given, param)| self.adopt_unknown(&given.1, &param.1));
            }
            _ => {}
        }
    }

    /// The type of a lambda's parameter, given one whose sizes may be unknown. A plain variable gets names for them, to be read from
    /// its value; inside a pattern they are whatever the body makes of them.
    pub fn parameter_of_unknown_size(
        &mut self,
        index: usize,
        param: &ast::Pattern,
        ty: &Type,
        openings: &mut Vec<Opening>,
    ) -> Type {
        let ty = self.resolve(ty);
        if !has_unknown_size(&ty) {
            return ty;
        }
        if !is_variable(param) {
            return self.vary_unknown(&ty);
        }
        let (ty, names) = self.open_unknown(&ty);
        openings.push(Opening { index, names });
        ty
    }

    /// The type with a variable for each unknown size.
    fn vary_unknown(&mut self, ty: &Type) -> Type {
        match self.shallow(ty) {
            Type::Array(size, element) => {
                let size = match self.resolve_size(&size) {
                    Size::Unknown => self.fresh_size(),
                    size => size,
                };
                Type::array(size, self.vary_unknown(&element))
            }
            Type::Record(fields) => Type::Record(fields.iter().map(|(name, ty)| (name.clone(), self.vary_unknown(ty))).collect()),
            other => other,
        }
    }

    /// The type with a variable for each size of an array.
    pub fn of_any_size(&mut self, ty: &Type) -> Type {
        match self.shallow(ty) {
            Type::Array(_, element) => Type::array(self.fresh_size(), self.of_any_size(&element)),
            Type::Record(fields) => Type::Record(fields.iter().map(|(name, ty)| (name.clone(), self.of_any_size(ty))).collect()),
            other => other,
        }
    }

    fn mentions_size(&self, ty: &Type, var: SizeVar) -> bool {
        match self.shallow(ty) {
            Type::Array(size, element) => self.size_mentions(&size, var) || self.mentions_size(&element, var),
            Type::Record(fields) => fields.iter().any(|(_, ty)| self.mentions_size(ty, var)),
            Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(|ty| self.mentions_size(ty, var)),
            Type::Arrow(arrow) => self.mentions_size(&arrow.from, var) || self.mentions_size(&arrow.to.ty, var),
            Type::Named(_, _, args) => args.iter().any(|arg| match arg {
                TypeArg::Type(ty) => self.mentions_size(ty, var),
                TypeArg::Size(size) => self.size_mentions(size, var),
            }),
            Type::Hidden(_, ty) => self.mentions_size(&ty, var),
            Type::Prim(_) | Type::Var(_) | Type::Param(..) | Type::Error => false,
        }
    }

    fn size_mentions(&self, size: &Size, var: SizeVar) -> bool {
        match self.resolve_size(size) {
            Size::Var(other) => other == var,
            Size::Add(left, right) | Size::Sub(left, right) | Size::Mul(left, right) => {
                self.size_mentions(&left, var) || self.size_mentions(&right, var)
            }
            Size::Opaque(opaque) => opaque.args.iter().any(|(_, size)| self.size_mentions(size, var)),
            Size::Const(_) | Size::Name(..) | Size::Unknown => false,
        }
    }

    /// Complains if an application makes an array of elements that have no common size. `args` are the arguments, for the position.
    pub fn require_common_size(&mut self, function: &Exp, args: &[Exp], span: Span) {
        let Some(element) = self.element_of_unknown_size(&self.resolve(&function.ty)) else { return };
        let culprit = args.iter().find(|arg| matches!(self.shallow(&arg.ty), Type::Arrow(_)));
        let span = culprit.map_or(span, |arg| arg.span);
        let (name, element) = (self.function_name(function), self.show(&element));
        let message = format!("{name} makes an array of {element}, but the elements have no common size");
        self.error("E0219", span, message).hint =
            Some(String::from("promise one size for all elements: `\\x -> f x :> [n]t`, or use flatmap"));
    }

    fn element_of_unknown_size(&self, ty: &Type) -> Option<Type> {
        match ty {
            Type::Array(_, element) => match **element {
                Type::Hidden(..) => None,
                _ if has_unknown_size(element) => Some((**element).clone()),
                _ => None,
            },
            Type::Record(fields) => fields.iter().find_map(|(_, ty)| self.element_of_unknown_size(ty)),
            Type::Arrow(arrow) => {
                self.element_of_unknown_size(&arrow.from).or_else(|| self.element_of_unknown_size(&arrow.to.ty))
            }
            _ => None,
        }
    }
}

fn is_variable(pattern: &ast::Pattern) -> bool {
    match &pattern.kind {
        ast::PatternKind::Name(_) => true,
        ast::PatternKind::Ascribe(inner, _) | ast::PatternKind::Attributed(_, inner) => is_variable(inner),
        _ => false,
    }
}

/// The body of a function after the sizes of its parameters were read from their values.
pub fn read_sizes(openings: Vec<Opening>, params: &[Pattern], body: Exp) -> Exp {
    openings.into_iter().rev().fold(body, |body, opening| {
        let Some(param) = params.get(opening.index) else { return body };
        let PatternKind::Var(id, _) = &param.kind else { return body };
        let (ty, span) = (param.ty.clone(), param.span);
        let variable = Exp { kind: ExpKind::Var { id: *id, types: Vec::new(), sizes: Vec::new() }, ty: ty.clone(), span };
        let value = Box::new(Exp { kind: ExpKind::Open(opening.names, Box::new(variable)), ty: ty.clone(), span });
        let pattern = Pattern { kind: PatternKind::Wildcard, ty, span };
        let (ty, span) = (body.ty.clone(), body.span);
        Exp { kind: ExpKind::Let { pattern, value, body: Box::new(body) }, ty, span }
    })
}
