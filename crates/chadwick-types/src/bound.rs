//! How large a type may be.
//!
//! A few lines can say a type that is exponentially large: `let x1 = (x, x) let x2 = (x1, x1) …`, chains of abbreviations, or functions
//! that pair their argument. In memory such a type is small, because its parts are shared, but whoever walks it sees all of it. So a
//! type is measured before it is walked, and measuring stops at the limit.
//!
//! Invariant: what [`Checker::resolve`] and [`Checker::final_type`] give, what an expression has as its type, and what a variable is bound
//! to has at most [`MOST_NODES`] nodes. A variable may grow behind an earlier binding; then the next walk finds out.

use crate::checker::Checker;
use crate::tree::{Exp, NamedBody};
use crate::ty::{NamedId, Size, Type, TypeArg};
use crate::unify::{SizeState, TypeState};
use chadwick_source::Span;

/// How many nodes a type may have, those of its sizes included.
pub const MOST_NODES: usize = 20_000;

/// How often modules may be applied and module types used in a program.
const MOST_MODULES: usize = 20_000;

impl Checker<'_> {
    /// Whether the type may be walked, as it is and with what its abstract parts stand for.
    pub fn is_bounded(&self, ty: &Type) -> bool {
        let mut has_abstract = false;
        self.is_small(ty, &mut |_, _| {
            has_abstract = true;
            None
        }) && (!has_abstract || self.is_small(ty, &mut |id, args| Some(self.representation(id, args))))
    }

    /// Whether the type has few nodes, where `abstract_type` says what stands for an abstract type with its arguments.
    fn is_small(&self, ty: &Type, abstract_type: &mut dyn FnMut(NamedId, &[TypeArg]) -> Option<Type>) -> bool {
        let mut left = MOST_NODES;
        let mut waiting: Vec<Type> = Vec::new();
        let mut current = self.shallow(ty);
        loop {
            if left == 0 {
                return false;
            }
            left -= 1;
            match &current {
                Type::Prim(_) | Type::Var(_) | Type::Param(..) | Type::Error => {}
                Type::Record(fields) => waiting.extend(fields.iter().map(|(_, ty)| ty.clone())),
                Type::Sum(constructors) => waiting.extend(constructors.iter().flat_map(|(_, payload)| payload).cloned()),
                Type::Array(size, element) => {
                    if !self.spend_size(size, &mut left) {
                        return false;
                    }
                    waiting.push(Type::clone(element));
                }
                Type::Arrow(arrow) => waiting.extend([arrow.from.clone(), arrow.to.ty.clone()]),
                Type::Named(id, _, args) => {
                    if let NamedBody::Abstract(_) = self.named[id.0 as usize].body
                        && let Some(representation) = abstract_type(*id, args)
                    {
                        current = self.shallow(&representation);
                        continue;
                    }
                    for arg in args.iter() {
                        match arg {
                            TypeArg::Type(ty) => waiting.push(ty.clone()),
                            TypeArg::Size(size) if !self.spend_size(size, &mut left) => return false,
                            TypeArg::Size(_) => {}
                        }
                    }
                }
                Type::Hidden(_, inner) => waiting.push(Type::clone(inner)),
            }
            if waiting.len() > left {
                return false;
            }
            match waiting.pop() {
                Some(next) => current = self.shallow(&next),
                None => return true,
            }
        }
    }

    /// Counts an application of a module or a use of a module type, which are checked anew each time; says whether there may be more.
    pub fn count_module(&mut self, span: Span) -> bool {
        self.modules_made += 1;
        if self.modules_made == MOST_MODULES {
            self.error(
                "E0228",
                span,
                format!("modules and module types are used {MOST_MODULES} times when all of them are applied"),
            )
            .hint = Some(String::from("apply a module once, give the result a name, and use that"));
        }
        self.modules_made < MOST_MODULES
    }

    /// Whether the size has at most so many nodes.
    pub fn is_size_within(&self, size: &Size, most: usize) -> bool {
        self.spend_size(size, &mut { most })
    }

    /// Takes the nodes of a size from what is left; says whether there was enough.
    fn spend_size(&self, size: &Size, left: &mut usize) -> bool {
        if matches!(size, Size::Const(_) | Size::Unknown) {
            return true;
        }
        let mut waiting = vec![size];
        while let Some(size) = waiting.pop() {
            if *left == 0 || waiting.len() > *left {
                return false;
            }
            *left -= 1;
            match size {
                Size::Const(_) | Size::Unknown => {}
                Size::Name(id, _) => {
                    if let Some(known @ Size::Var(_)) = &self.vars[id.0 as usize].size {
                        waiting.push(known);
                    }
                }
                Size::Var(var) => {
                    if let SizeState::Bound(size) = &self.size_vars[var.0 as usize] {
                        waiting.push(size);
                    }
                }
                Size::Add(left, right) | Size::Sub(left, right) | Size::Mul(left, right) => waiting.extend([&**left, &**right]),
                Size::Opaque(opaque) => waiting.extend(opaque.args.iter().map(|(_, size)| size)),
            }
        }
        true
    }

    /// As [`Checker::is_bounded`]; a type that is too large is remembered until there is a place to report it at.
    pub fn measure(&self, ty: &Type) -> bool {
        let small = match ty {
            Type::Prim(_) | Type::Param(..) | Type::Error => true,
            Type::Var(var) if matches!(self.type_vars[var.0 as usize], TypeState::Unbound { .. }) => true,
            ty => self.is_bounded(ty),
        };
        if !small {
            self.too_large.set(true);
        }
        small
    }

    /// The expression, unless its type is too large: that is reported once, and the type fits everything from then on.
    pub fn bounded_exp(&mut self, exp: Exp) -> Exp {
        if self.measure(&exp.ty) && !self.too_large.get() {
            return exp;
        }
        self.report_too_large(exp.span);
        Exp { ty: Type::Error, ..exp }
    }

    /// The type, unless it is too large.
    pub fn bounded_type(&mut self, ty: Type, span: Span) -> Type {
        if self.measure(&ty) {
            return ty;
        }
        self.report_too_large(span);
        Type::Error
    }

    /// Reports a type that was found to be too large and has not been reported.
    pub fn report_too_large(&mut self, span: Span) {
        // What a definition has elsewhere has the same cause.
        if !self.too_large.replace(false) || std::mem::replace(&mut self.said_too_large, true) {
            return;
        }
        self.error("E0227", span, format!("the type here has more than {MOST_NODES} parts")).hint =
            Some(String::from("keep values of one type in an array, or use fewer levels of tuples, records or functions"));
    }
}
