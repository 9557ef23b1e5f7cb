//! Backpropagators: functions from cotangents of values to what they contribute to the environment.

use super::Direction;
use super::meaning::{State, Variable};
use super::rules::Chad;
use crate::context::with_axis;
use chadwick_core::{Atom, Binder, FunctionType, Lambda, Loop, LoopForm, Op, Type};
use chadwick_source::Span;

impl Chad<'_, '_> {
    /// The type of the derivative of values of these types: from their cotangents to those of an environment, or the other way round.
    pub fn derivative_type(&mut self, types: &[Type], environment: &[Variable]) -> FunctionType {
        let mut params = self.cotangent_types(types);
        let (meaning, context) = self.meaning();
        let results = meaning.state_types(context, environment);
        if self.engine.direction == Direction::Forward {
            return FunctionType { params: results, results: params };
        }
        let meaning = &self.engine.meaning;
        if meaning.passes_state() {
            params.extend(results.clone());
        }
        FunctionType { params, results }
    }

    /// Emits a function from cotangents of values of these types to those of the environment; `make` says what is contributed.
    pub fn backpropagator(&mut self, types: &[Type], span: Span, make: impl FnOnce(&mut Self, &[Atom], State) -> State) -> Atom {
        let environment = self.environment.clone();
        self.backpropagator_to(types, &environment, span, make)
    }

    /// The same for an environment of which `make` leaves the innermost variables.
    pub fn backpropagator_to(
        &mut self,
        types: &[Type],
        environment: &[Variable],
        span: Span,
        make: impl FnOnce(&mut Self, &[Atom], State) -> State,
    ) -> Atom {
        let function = self.derivative_type(types, environment);
        let params: Vec<Binder> = function.params.iter().map(|ty| self.context.fresh("d", ty.clone())).collect();
        let atoms: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var)).collect();
        let (cotangents, given) = atoms.split_at(types.len());
        self.context.b.push_block();
        let state = make(self, cotangents, (!given.is_empty()).then(|| given.to_vec()));
        let results = self.written_out(state, environment, span);
        let body = self.context.b.pop_block(results);
        let ty = Type::Function(function.clone().into());
        let lambda = Lambda { params, results: function.results, body };
        self.context.b.push_named("back", Op::Closure(lambda), vec![ty], span).swap_remove(0)
    }

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

    /// Calls a backpropagator in the environment here and these variables inside it, whose cotangents are taken out.
    pub fn scoped(
        &mut self,
        state: State,
        backpropagator: &Atom,
        cotangents: Vec<Atom>,
        inside: &[Variable],
        span: Span,
    ) -> (State, Vec<Atom>) {
        let mut args = cotangents;
        let passes = self.engine.meaning.passes_state();
        if passes {
            args.extend(state.iter().flatten().cloned());
        }
        let given = self.context.emit(Op::Apply { function: backpropagator.clone(), args }, span);
        let count = self.environment.len();
        let (rest, taken) = self.engine.meaning.taken(self.context, inside, count, given, span);
        if passes {
            return (Some(rest), taken);
        }
        let environment = std::mem::take(&mut self.environment);
        let state = self.engine.meaning.joined(self.context, &environment, state, rest, span);
        self.environment = environment;
        (state, taken)
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
