//! Derivatives in forward mode: functions from the tangents of the environment to those of values.
//!
//! Where the body of such a function is made, the tangents of all variables in scope are known ([`Chad::tangent`]). Nothing is contributed
//! to anything, so a rule says no more than what the tangents of its results are.

use super::meaning::Variable;
use super::rules::Chad;
use chadwick_core::{Atom, Binder, Lambda, Op, Type};
use chadwick_source::Span;

impl Chad<'_, '_> {
    /// Emits a function from the tangents of the environment to those of values of these types; `make` says what they are.
    pub fn pushforward(&mut self, types: &[Type], span: Span, make: impl FnOnce(&mut Self) -> Vec<Atom>) -> Atom {
        let environment = self.environment.clone();
        self.pushforward_from(types, &environment, span, make)
    }

    /// The same for an environment to which `make` adds the innermost variables.
    pub fn pushforward_from(
        &mut self,
        types: &[Type],
        environment: &[Variable],
        span: Span,
        make: impl FnOnce(&mut Self) -> Vec<Atom>,
    ) -> Atom {
        let function = self.derivative_type(types, environment);
        let params: Vec<Binder> = function.params.iter().map(|ty| self.context.fresh("t", ty.clone())).collect();
        let given = params.iter().map(|param| Atom::Var(param.var)).collect();
        let around = std::mem::replace(&mut self.tangents, given);
        self.context.b.push_block();
        let results = make(self);
        let body = self.context.b.pop_block(results);
        self.tangents = around;
        let ty = Type::Function(function.clone().into());
        let lambda = Lambda { params, results: function.results, body };
        self.context.b.push_named("push", Op::Closure(lambda), vec![ty], span).swap_remove(0)
    }

    /// The tangent of an atom, a zero if it has none.
    pub fn tangent(&mut self, atom: &Atom, span: Span) -> Atom {
        if let Atom::Var(var) = atom
            && let Some(tangent) = self.places.get(var).and_then(|place| self.tangents.get(*place))
        {
            return tangent.clone();
        }
        let (primal, ty) = (self.primal(atom), self.source_type(atom));
        self.engine.meaning.zero(self.context, &primal, &ty, span)
    }

    pub fn tangents_of(&mut self, atoms: &[Atom], span: Span) -> Vec<Atom> {
        atoms.iter().map(|atom| self.tangent(atom, span)).collect()
    }

    /// Calls a derivative in the environment here and variables inside it, whose tangents are given.
    pub fn pushed(&mut self, derivative: &Atom, inside: Vec<Atom>, span: Span) -> Vec<Atom> {
        let args = [self.tangents.clone(), inside].concat();
        self.context.emit(Op::Apply { function: derivative.clone(), args }, span)
    }
}
