//! What backpropagators do: they contribute to the cotangents of the environment.

use super::meaning::{State, Variable};
use super::rules::Chad;
use crate::context::with_axis;
use chadwick_core::{Atom, Binder, Loop, LoopForm, Op, Type};
use chadwick_source::Span;

impl Chad<'_, '_> {
    /// The state with its zeros.
    pub fn written_out(&mut self, state: State, environment: &[Variable], span: Span) -> Vec<Atom> {
        match state {
            Some(values) => values,
            None => {
                let (meaning, context) = self.meaning();
                meaning.nothing(context, environment, span)
            }
        }
    }

    /// Contributes a cotangent to an atom, if it has one.
    pub fn one(&mut self, state: State, atom: &Atom, cotangent: Atom, span: Span) -> State {
        let Atom::Var(var) = atom else { return state };
        let Some(at) = self.places.get(var).copied() else { return state };
        let environment = std::mem::take(&mut self.environment);
        let state = self.engine.meaning.one(self.context, &environment, state, at, cotangent, span);
        self.environment = environment;
        state
    }

    /// A loop that counts from zero and contributes in every iteration; `make` also gives what is carried along, and behind that what each
    /// iteration leaves in arrays.
    pub fn contributing_loop(
        &mut self,
        bound: Atom,
        state: State,
        carried: Vec<Atom>,
        span: Span,
        make: impl FnOnce(&mut Self, Atom, State, &[Atom]) -> (State, Vec<Atom>),
    ) -> (State, Vec<Atom>) {
        let environment = self.environment.clone();
        let mut initial = self.written_out(state, &environment, span);
        let count = initial.len();
        initial.extend(carried);
        let mut types: Vec<Type> = initial.iter().map(|atom| self.context.type_of(atom).any_sizes()).collect();
        let carry: Vec<Binder> = types.iter().map(|ty| self.context.fresh("d", ty.clone())).collect();
        let index = self.context.fresh("i", Type::I64);
        let atoms: Vec<Atom> = carry.iter().map(|binder| Atom::Var(binder.var)).collect();
        self.context.b.push_block();
        let (state, next) = make(self, Atom::Var(index.var), Some(atoms[..count].to_vec()), &atoms[count..]);
        let mut results = self.written_out(state, &environment, span);
        results.extend(next);
        let left: Vec<Type> =
            results[carry.len()..].iter().map(|atom| with_axis(&self.context.type_of(atom).any_sizes())).collect();
        let emits = vec![Vec::new(); left.len()];
        types.extend(left);
        let body = self.context.b.pop_block(results);
        let form = LoopForm::For { index, bound };
        let parts = Loop { carry, initial, form, body, emits, counted: false, hints: Default::default() };
        let mut last = self.context.b.push(Op::Loop(Box::new(parts)), types, span);
        let carried = last.split_off(count);
        (Some(last), carried)
    }
}
