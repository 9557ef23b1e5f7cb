//! Linear functions: a type of its own, hidden inside functions (Vákár and Smeding, section 9 and figure 8).
//!
//! What a linear function is made of is known in this file only. Here are all ways to make one, and all that can be done with one: apply it, and keep it in
//! a value of the program to be found there again. A function that is made elsewhere cannot pass as one.
//!
//! | figure 8 | here |
//! | --- | --- |
//! | `LFun(τ, σ)` | [`LinearType`], [`LinearFunction`] |
//! | application | [`LinearFunction::apply`] |
//! | `lid`, `t ;ℓ s` | a block applies the derivatives of its statements one after the other ([`Chad::scoped`], [`Chad::pushed`]); without any it gives what it is given |
//! | `0`, `t + s` | what is contributed: nothing, and [`Chad::one`] after another; a state has no other operations. Forwards, [`Chad::tangent`] and `Meaning::plus` |
//! | `lfst`, `lsnd` | a cotangent for one variable ([`Chad::one`]), or the tangent of one ([`Chad::tangent`]), since an environment is a list of values; [`Chad::part_for_arguments`] |
//! | `lpair` | the list that a function gives |
//! | `lop(x; -)` | `Meaning::pass` |
//! | `leval_t` | `Chad::applied_tangents` |
//! | `lswap` | `Chad::captured_tangents` |
//! | `{(t, -)}` | `Meaning::called`, which is `copowers::one` |
//! | `lcopowfold` | [`Chad::copower_fold`], of a [`LinearFamily`] |
//! | not there: `run` of efficient CHAD | [`Chad::run`] |

use super::Direction;
use super::functions::atoms;
use super::meaning::{State, Variable};
use super::rules::Chad;
use super::tasks::tell;
use crate::context::Context;
use chadwick_core::typing::lambda_type;
use chadwick_core::{Atom, Binder, Dim, FunctionType, Lambda, Op, Type};
use chadwick_source::Span;

/// A derivative: in reverse from cotangents of values to those of the environment, forwards from tangents of the environment to those of values.
#[derive(Clone)]
pub struct LinearFunction(Atom);

/// The type of some linear functions.
#[derive(Clone)]
pub struct LinearType(FunctionType);

/// An array of linear functions of one type.
pub struct LinearFunctions {
    array: Atom,
    ty: LinearType,
}

/// `τ → LFun(σ, ρ)`: a linear function for each argument, uncurried.
#[derive(Clone)]
pub struct LinearFamily {
    function: Atom,
    ty: Type,
}

impl LinearType {
    /// That of the derivative of a function, given the cotangents, or tangents, of its parameters and of its results.
    pub fn of_function(direction: Direction, params: Vec<Type>, results: Vec<Type>) -> LinearType {
        LinearType(match direction {
            Direction::Reverse => FunctionType { params: results, results: params },
            Direction::Forward => FunctionType { params, results },
        })
    }

    /// The type of values that keep such a function.
    pub fn value(&self) -> Type {
        Type::Function(self.0.clone().into())
    }
}

impl LinearFunction {
    /// All that can be seen of it.
    pub fn apply(&self, context: &mut Context, args: Vec<Atom>, span: Span) -> Vec<Atom> {
        context.emit(Op::Apply { function: self.0.clone(), args }, span)
    }

    /// A value of the program that keeps it: a result of a block, an element of an array, a field of a tree, a part of the primal of a function.
    pub fn into_value(self) -> Atom {
        self.0
    }

    /// The function that such a value keeps: where what is found has no binder of its own, in trees and behind the results of a call.
    pub fn from_value(context: &Context, value: Atom, ty: &LinearType) -> LinearFunction {
        debug_assert!(context.type_of(&value) == ty.value(), "a linear function was kept at its type");
        LinearFunction(value)
    }
}

impl LinearFunctions {
    pub fn count(&self, context: &mut Context, span: Span) -> Atom {
        context.emit_one(Op::Dim { array: self.array.clone(), axis: 0 }, span)
    }

    pub fn at(&self, context: &mut Context, index: &Atom, span: Span) -> LinearFunction {
        let value = context.emit_one(Op::Index { array: self.array.clone(), indices: vec![index.clone()] }, span);
        LinearFunction::from_value(context, value, &self.ty)
    }
}

impl LinearFamily {
    /// It as a parameter of a function of the program, with that parameter.
    pub fn parameter(&self, context: &mut Context) -> (Binder, LinearFamily) {
        let binder = context.fresh("", self.ty.clone());
        let family = LinearFamily { function: Atom::Var(binder.var), ty: self.ty.clone() };
        (binder, family)
    }

    /// What stands for the parameter in a call.
    pub fn argument(&self) -> Atom {
        self.function.clone()
    }

    /// Applies the linear function that belongs to the first arguments to the last ones.
    pub fn apply(&self, context: &mut Context, args: Vec<Atom>, span: Span) -> Vec<Atom> {
        context.emit(Op::Apply { function: self.function.clone(), args }, span)
    }
}

impl Chad<'_, '_> {
    /// The type of the derivative of values of these types: from their cotangents to those of an environment, or the other way round.
    pub fn derivative_type(&mut self, types: &[Type], environment: &[Variable]) -> LinearType {
        let mut params = self.cotangent_types(types);
        let (meaning, context) = self.meaning();
        let results = meaning.state_types(context, environment);
        if self.engine.direction == Direction::Forward {
            return LinearType(FunctionType { params: results, results: params });
        }
        let meaning = &self.engine.meaning;
        if meaning.passes_state() {
            params.extend(results.clone());
        }
        LinearType(FunctionType { params, results })
    }

    /// A binder for a result of the program that keeps a linear function, and the function as it is found there.
    pub fn bound(&mut self, ty: &LinearType) -> (Binder, LinearFunction) {
        let binder = self.context.fresh(self.derivative_name(), ty.value());
        let function = LinearFunction(Atom::Var(binder.var));
        (binder, function)
    }

    /// The same for an array of them.
    pub fn bound_array(&mut self, ty: LinearType) -> (Binder, LinearFunctions) {
        let binder = self.context.fresh(format!("{}s", self.derivative_name()), ty.value().array([Dim::Any]));
        let functions = LinearFunctions { array: Atom::Var(binder.var), ty };
        (binder, functions)
    }

    fn linear_function(&mut self, name: &str, lambda: Lambda, span: Span) -> LinearFunction {
        let ty = lambda_type(&lambda);
        LinearFunction(self.context.b.push_named(name, Op::Closure(lambda), vec![ty], span).swap_remove(0))
    }

    // --------------------------------------------------------------------------------------------------------------- in reverse

    /// Emits a function from cotangents of values of these types to those of the environment; `make` says what is contributed.
    pub fn backpropagator(
        &mut self,
        types: &[Type],
        span: Span,
        make: impl FnOnce(&mut Self, &[Atom], State) -> State,
    ) -> LinearFunction {
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
    ) -> LinearFunction {
        let LinearType(function) = self.derivative_type(types, environment);
        let params: Vec<Binder> = function.params.iter().map(|ty| self.context.fresh("d", ty.clone())).collect();
        let atoms = atoms(&params);
        let (cotangents, given) = atoms.split_at(types.len());
        self.context.b.push_block();
        let state = make(self, cotangents, (!given.is_empty()).then(|| given.to_vec()));
        let results = self.written_out(state, environment, span);
        let body = self.context.b.pop_block(results);
        self.linear_function("back", Lambda { params, results: function.results, body }, span)
    }

    /// `run`: a backpropagator in an environment that is made for it, changed, and taken apart.
    pub fn run(
        &mut self,
        backpropagator: &LinearFunction,
        results: &[Type],
        variables: &[Variable],
        span: Span,
    ) -> LinearFunction {
        let mut params: Vec<Binder> = self.cotangent_types(results).into_iter().map(|ty| self.context.fresh("d", ty)).collect();
        let cotangents = atoms(&params);
        self.context.b.push_block();
        let (meaning, context) = self.meaning();
        let mut state = meaning.nothing(context, variables, span);
        if meaning.has_tasks() {
            let told = context.fresh("told", Type::BOOL);
            tell(&mut state, Atom::Var(told.var));
            params.push(told);
        }
        let (_, taken) = self.scoped(Some(state), backpropagator, cotangents, variables, span);
        let body = self.context.b.pop_block(taken);
        let own: Vec<Type> = variables.iter().map(|variable| variable.ty.clone()).collect();
        let results = self.cotangent_types(&own);
        self.linear_function("back", Lambda { params, results, body }, span)
    }

    /// Calls a backpropagator in the environment here and these variables inside it, whose cotangents are taken out.
    pub fn scoped(
        &mut self,
        state: State,
        backpropagator: &LinearFunction,
        cotangents: Vec<Atom>,
        inside: &[Variable],
        span: Span,
    ) -> (State, Vec<Atom>) {
        let mut args = cotangents;
        let passes = self.engine.meaning.passes_state();
        if passes {
            args.extend(state.iter().flatten().cloned());
        }
        let given = backpropagator.apply(self.context, args, span);
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

    // ----------------------------------------------------------------------------------------------------------------- forwards

    /// Emits a function from the tangents of the environment to those of values of these types; `make` says what they are.
    pub fn pushforward(&mut self, types: &[Type], span: Span, make: impl FnOnce(&mut Self) -> Vec<Atom>) -> LinearFunction {
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
    ) -> LinearFunction {
        let LinearType(function) = self.derivative_type(types, environment);
        let params: Vec<Binder> = function.params.iter().map(|ty| self.context.fresh("t", ty.clone())).collect();
        let around = std::mem::replace(&mut self.tangents, atoms(&params));
        self.context.b.push_block();
        let results = make(self);
        let body = self.context.b.pop_block(results);
        self.tangents = around;
        self.linear_function("push", Lambda { params, results: function.results, body }, span)
    }

    /// Calls a derivative in the environment here and variables inside it, whose tangents are given.
    pub fn pushed(&mut self, derivative: &LinearFunction, inside: Vec<Atom>, span: Span) -> Vec<Atom> {
        let args = [self.tangents.clone(), inside].concat();
        derivative.apply(self.context, args, span)
    }

    // ------------------------------------------------------------------------------------------ functions that are values

    /// The derivative of a function by its arguments, given that by what it captured and its arguments: `\d. snd (y' d)`, and forwards
    /// `\t. y' (0, t)`.
    pub fn part_for_arguments(
        &mut self,
        derivative: &LinearFunction,
        (params, results): (&[Type], &[Type]),
        span: Span,
    ) -> LinearFunction {
        let direction = self.engine.direction;
        let given = if direction == Direction::Reverse { results } else { params };
        let given: Vec<Binder> = given.iter().map(|ty| self.context.fresh("d", ty.clone())).collect();
        self.context.b.push_block();
        let results = match direction {
            Direction::Reverse => derivative.apply(self.context, atoms(&given), span).split_off(self.environment.len()),
            Direction::Forward => {
                let environment = self.environment.clone();
                let (meaning, context) = self.meaning();
                let still = meaning.nothing(context, &environment, span);
                derivative.apply(self.context, [still, atoms(&given)].concat(), span)
            }
        };
        let types = results.iter().map(|atom| self.context.type_of(atom)).collect();
        let body = self.context.b.pop_block(results);
        self.linear_function(self.derivative_name(), Lambda { params: given, results: types, body }, span)
    }

    /// The derivatives of a function by what it captured, one for each of its arguments: `\x d. fst (y' d)`, where `make` gives `y'` at arguments.
    pub fn parts_for_captured(
        &mut self,
        params: Vec<Binder>,
        cotangents: &[Type],
        span: Span,
        make: impl FnOnce(&mut Self, Vec<Atom>) -> LinearFunction,
    ) -> LinearFamily {
        let own: Vec<Binder> = cotangents.iter().map(|ty| self.context.fresh("d", ty.clone())).collect();
        self.context.b.push_block();
        let derivative = make(self, atoms(&params));
        let mut captured = derivative.apply(self.context, atoms(&own), span);
        captured.truncate(self.environment.len());
        let body = self.context.b.pop_block(captured);
        let environment = self.environment.clone();
        let results = self.engine.meaning.state_types(self.context, &environment);
        let lambda = Lambda { params: [params, own].concat(), results, body };
        let ty = lambda_type(&lambda);
        let function = self.context.b.push_named("captured", Op::Closure(lambda), vec![ty.clone()], span).swap_remove(0);
        LinearFamily { function, ty }
    }
}
