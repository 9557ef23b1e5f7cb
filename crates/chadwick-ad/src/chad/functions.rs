//! Functions that are values, through copowers and powers.
//!
//! The primal of a function also gives the derivative by its argument. In reverse its cotangent is the bag of its calls: arguments, and cotangents
//! of results. When that comes back to where the function was made, its body is run again for every call, this time for what it captured.
//! Forwards its tangent is a function from arguments to the part of the tangents of results that comes from what it captured.
//! So a call runs the derivative of the body twice, and nested functions cost exponential time.

use super::Direction;
use super::linear::{LinearFunction, LinearType};
use super::meaning::has_cotangent;
use super::rules::Chad;
use crate::context::Context;
use chadwick_core::typing::lambda_type;
use chadwick_core::{Atom, Binder, Lambda, Op, Statement, Type};
use chadwick_source::Span;

/// `\x. D(t)`: a function that gives the derivative of its results behind them.
struct Both {
    function: Atom,
    ty: LinearType,
}

impl Both {
    fn at(&self, context: &mut Context, args: Vec<Atom>, span: Span) -> (Vec<Atom>, LinearFunction) {
        let mut values = context.emit(Op::Apply { function: self.function.clone(), args }, span);
        let derivative = values.pop().unwrap_or(Atom::i64(0));
        (values, LinearFunction::from_value(context, derivative, &self.ty))
    }
}

impl Chad<'_, '_> {
    /// `D(\x. t) = let f = \x. D(t) in (\x. let (y, y') = f x in (y, \d. snd (y' d)), \d. copowfold (\x d'. fst (snd (f x) d')) d)`
    pub fn closure(&mut self, statement: &Statement, lambda: &Lambda, types: &[Type]) -> Option<LinearFunction> {
        let span = statement.span;
        if !self.engine.meaning.takes_functions() {
            return self.refuse(statement, "a function that is a value");
        }
        let carrying = |this: &Self, binders: &[Binder]| -> Vec<Binder> {
            binders.iter().filter(|it| has_cotangent(this.context, &it.ty)).cloned().collect()
        };
        let wanted = self.carrying(&lambda.results);
        let inside = carrying(self, &lambda.params);
        let params = self.primal_binders(&lambda.params);
        let body = self.block_with_derivative(&lambda.body, &inside, &wanted, span);
        let variables = self.variables(&inside);
        let inside_types: Vec<Type> = inside.iter().map(|binder| binder.ty.clone()).collect();
        let environment = [self.environment.clone(), variables].concat();
        let given: Vec<Type> =
            lambda.results.iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(ty, _)| ty.clone()).collect();
        let ty = self.derivative_type(&given, &environment);
        let mut results: Vec<Type> = lambda.results.iter().map(|ty| self.engine.meaning.primal_type(self.context, ty)).collect();
        let count = results.len();
        results.push(ty.value());
        let both = self.function_value("both", Lambda { params, results: results.clone(), body }, span);
        let both = Both { function: both, ty };

        let cotangents = self.cotangent_types(&given);
        let params = self.fresh_params(lambda);
        self.context.b.push_block();
        let (mut values, inner) = both.at(self.context, atoms(&params), span);
        let tangents = self.cotangent_types(&inside_types);
        let own = self.part_for_arguments(&inner, (&tangents, &cotangents), span).into_value();
        let own_type = self.context.type_of(&own);
        values.push(own);
        let body = self.context.b.pop_block(values);
        let mut primal_results = results;
        primal_results.truncate(count);
        primal_results.push(own_type);
        let binder = statement.binders.first().map(|binder| self.primal_binder(binder))?;
        self.push(vec![binder], Op::Closure(Lambda { params, results: primal_results, body }), span);

        let ty = types.first()?.clone();
        if self.engine.direction == Direction::Forward {
            return Some(self.pushforward(types, span, |this| vec![this.captured_tangents(lambda, &both, &cotangents, span)]));
        }
        Some(self.backpropagator(types, span, |this, bag, state| {
            let params = this.fresh_params(lambda);
            let each = this.parts_for_captured(params, &cotangents, span, |this, args| both.at(this.context, args, span).1);
            this.copower_fold(&ty, bag[0].clone(), &each, state, span)
        }))
    }

    /// The tangent of a function: `\x. snd (f x) (t, 0)`, for what it captured.
    fn captured_tangents(&mut self, lambda: &Lambda, both: &Both, results: &[Type], span: Span) -> Atom {
        let params = self.fresh_params(lambda);
        self.context.b.push_block();
        let (_, inner) = both.at(self.context, atoms(&params), span);
        let mut still = Vec::new();
        for (param, primal) in lambda.params.iter().zip(&params) {
            if has_cotangent(self.context, &param.ty) {
                still.push(self.engine.meaning.zero(self.context, &Atom::Var(primal.var), &param.ty, span));
            }
        }
        let tangents = self.pushed(&inner, still, span);
        let body = self.context.b.pop_block(tangents);
        self.function_value("captured", Lambda { params, results: results.to_vec(), body }, span)
    }

    /// `D(s t) = let (f, f') = D(s); (x, x') = D(t); (y, y') = f x in (y, \d. f' [(x, d)] + x' (y' d))`, and forwards
    /// `(y, \t. (f' t) x + y' (x' t))`
    pub fn apply(&mut self, statement: &Statement, function: &Atom, args: &[Atom], types: &[Type]) -> Option<LinearFunction> {
        let span = statement.span;
        if !self.engine.meaning.takes_functions() {
            return self.refuse(statement, "a function that is a value");
        }
        let here = self.primals(args);
        let applied = self.primal(function);
        let Type::Function(ty) = self.source_type(function) else { return None };
        let [of_params, of_results] = [&ty.params, &ty.results].map(|types| {
            let carrying: Vec<Type> = types.iter().filter(|ty| has_cotangent(self.context, ty)).cloned().collect();
            self.cotangent_types(&carrying)
        });
        let derivative = LinearType::of_function(self.engine.direction, of_params, of_results);
        let mut binders = self.primal_binders(&statement.binders);
        let (kept, inner) = self.bound(&derivative);
        binders.push(kept);
        self.push(binders.clone(), Op::Apply { function: applied, args: here.clone() }, span);
        let source = self.source_type(function);
        if self.engine.direction == Direction::Forward {
            return Some(self.pushforward(types, span, |this| this.applied_tangents(statement, function, args, &inner)));
        }
        Some(self.backpropagator(types, span, |this, cotangents, state| {
            let mut cotangents = cotangents.iter().cloned();
            let mut given = Vec::new();
            for (binder, primal) in statement.binders.iter().zip(&binders) {
                if !has_cotangent(this.context, &binder.ty) {
                    continue;
                }
                let own = if this.is_active(binder) { cotangents.next() } else { None };
                given.push(match own {
                    Some(own) => own,
                    None => this.engine.meaning.zero(this.context, &Atom::Var(primal.var), &binder.ty, span),
                });
            }
            let call = this.engine.meaning.called(this.context, &source, here, given.clone(), span);
            let mut state = this.one(state, function, call, span);
            let backs = inner.apply(this.context, given, span);
            let carrying = args.iter().filter(|arg| has_cotangent(this.context, &this.source_type(arg)));
            for (arg, back) in carrying.collect::<Vec<_>>().into_iter().zip(backs) {
                state = this.one(state, arg, back, span);
            }
            state
        }))
    }

    fn applied_tangents(&mut self, statement: &Statement, function: &Atom, args: &[Atom], inner: &LinearFunction) -> Vec<Atom> {
        let span = statement.span;
        let captured = self.tangent(function, span);
        let here = self.primals(args);
        let from_captured = self.context.emit(Op::Apply { function: captured, args: here }, span);
        let carrying: Vec<Atom> =
            args.iter().filter(|arg| has_cotangent(self.context, &self.source_type(arg))).cloned().collect();
        let tangents = self.tangents_of(&carrying, span);
        let from_args = inner.apply(self.context, tangents, span);
        let mut sums = Vec::new();
        let binders: Vec<&Binder> = statement.binders.iter().filter(|it| has_cotangent(self.context, &it.ty)).collect();
        for ((binder, left), right) in binders.into_iter().zip(from_captured).zip(from_args) {
            if self.is_active(binder) {
                sums.push(self.engine.meaning.plus(self.context, &binder.ty, left, right, span));
            }
        }
        sums
    }

    fn fresh_params(&mut self, lambda: &Lambda) -> Vec<Binder> {
        let mut made = Vec::new();
        for param in &lambda.params {
            let ty = self.engine.meaning.primal_type(self.context, &param.ty);
            let name = self.context.name(param.var);
            made.push(self.context.fresh(name, ty));
        }
        made
    }

    fn function_value(&mut self, name: &str, lambda: Lambda, span: Span) -> Atom {
        let ty = lambda_type(&lambda);
        self.context.b.push_named(name, Op::Closure(lambda), vec![ty], span).swap_remove(0)
    }
}

pub fn atoms(binders: &[Binder]) -> Vec<Atom> {
    binders.iter().map(|binder| Atom::Var(binder.var)).collect()
}
