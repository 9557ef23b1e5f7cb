//! Functions of the program: `D[f]` gives the results and a function from their cotangents to those of the arguments, or from tangents of the
//! arguments to theirs. Also functions with a rule of their own.

use super::Direction;
use super::linear::{LinearFunction, LinearType};
use super::rules::Chad;
use chadwick_core::typing::has_functions;
use chadwick_core::visit::{lambda_free_variables, op_free_variables};
use chadwick_core::{Atom, Binder, Custom, CustomKind, FunctionId, Lambda, Op, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::FxHashMap;

impl Chad<'_, '_> {
    /// The results of a function's body, and the derivative of the wanted results by the masked parameters.
    pub fn closed_block(&mut self, lambda: &Lambda, mask: &[bool], wanted: &[bool], span: Span) -> (Vec<Atom>, LinearFunction) {
        let masked = lambda.params.iter().zip(mask).filter(|(_, masked)| **masked);
        let bound: Vec<Binder> = masked.map(|(param, _)| param.clone()).collect();
        let (results, inner) = self.block(&lambda.body, &bound, wanted, span);
        if !self.engine.meaning.passes_state() {
            return (results, inner);
        }
        let variables = self.variables(&bound);
        let given = lambda.body.results.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let types: Vec<Type> = given.map(|(result, _)| self.source_type(result)).collect();
        (results, self.run(&inner, &types, &variables, span))
    }

    pub fn call(&mut self, statement: &Statement, function: FunctionId, args: &[Atom]) -> Option<LinearFunction> {
        let span = statement.span;
        let holds = |ty: &Type| has_functions(self.context.program(), ty);
        let mask: Vec<bool> = args.iter().map(|arg| self.has_place(arg) || holds(&self.source_type(arg))).collect();
        let wanted = self.flags(&statement.binders);
        let target = self.function(function, &mask, &wanted);
        let here = self.primals(args);
        let mut binders = self.primal_binders(&statement.binders);
        let ty = self.function_derivative(function, &mask, &wanted);
        let (kept, inner) = self.bound(&ty);
        binders.push(kept);
        self.push(binders, Op::Call { function: target, args: here }, span);
        let active = statement.binders.iter().zip(&wanted).filter(|(_, wanted)| **wanted);
        let types: Vec<Type> = active.map(|(binder, _)| binder.ty.clone()).collect();
        let masked = args.iter().zip(&mask).filter(|(_, masked)| **masked);
        let masked: Vec<Atom> = masked.map(|(arg, _)| arg.clone()).collect();
        Some(match self.engine.direction {
            Direction::Reverse => self.backpropagator(&types, span, |this, cotangents, mut state| {
                let args = [cotangents.to_vec(), this.told(&state)].concat();
                let given = inner.apply(this.context, args, span);
                for (arg, cotangent) in masked.iter().zip(given) {
                    state = this.one(state, arg, cotangent, span);
                }
                state
            }),
            Direction::Forward => self.pushforward(&types, span, |this| {
                let args = this.tangents_of(&masked, span);
                inner.apply(this.context, args, span)
            }),
        })
    }

    /// The transformed function, made once for each choice of arguments and results.
    fn function(&mut self, function: FunctionId, mask: &[bool], wanted: &[bool]) -> FunctionId {
        let key = (function, mask.to_vec(), wanted.to_vec());
        if let Some(known) = self.engine.functions.get(&key) {
            return *known;
        }
        let source = self.context.program().functions[function.0 as usize].clone();
        let lambda = Lambda { params: source.params, results: source.results, body: source.body };
        let lambda = self.context.copy_lambda(&lambda);
        let derivative = self.function_derivative(function, mask, wanted);
        let mut types: Vec<Type> = lambda.results.iter().map(|ty| self.engine.meaning.primal_type(self.context, ty)).collect();
        types.push(derivative.value());
        let name = self.function_name(&source.name);
        let target = self.context.reserve(name, Vec::new(), types, source.span);
        self.engine.functions.insert(key, target);
        let mut inner = Chad::new(self.context, self.engine, &lambda.body, &lambda.params, mask, wanted);
        let params = inner.primal_binders(&lambda.params);
        // Calls in this very function must know what it takes.
        inner.context.b.program_mut().functions[target.0 as usize].params = params;
        inner.context.b.push_block();
        let (mut results, derivative) = inner.closed_block(&lambda, mask, wanted, source.span);
        results.push(derivative.into_value());
        let body = self.context.b.pop_block(results);
        self.context.b.program_mut().functions[target.0 as usize].body = body;
        target
    }

    /// The type of the derivative of a function's wanted results by its masked parameters.
    fn function_derivative(&mut self, function: FunctionId, mask: &[bool], wanted: &[bool]) -> LinearType {
        let chosen = |types: Vec<Type>, flags: &[bool]| -> Vec<Type> {
            types.into_iter().zip(flags).filter(|(_, flag)| **flag).map(|(ty, _)| ty).collect()
        };
        let source = &self.context.program().functions[function.0 as usize];
        let params = chosen(source.params.iter().map(|param| param.ty.clone()).collect(), mask);
        let results = chosen(source.results.clone(), wanted);
        let mut given = self.cotangent_types(&results);
        if self.engine.meaning.has_tasks() {
            given.push(Type::BOOL);
        }
        let params = self.cotangent_types(&params);
        LinearType::of_function(self.engine.direction, params, given)
    }

    /// A function whose derivative the program gives.
    pub fn custom(&mut self, statement: &Statement, custom: &Custom, types: &[Type]) -> Option<LinearFunction> {
        let span = statement.span;
        let holds = |var: &Var| has_functions(self.context.program(), &self.context.var_type(*var));
        let outside = [lambda_free_variables(&custom.function), lambda_free_variables(&custom.rule)].concat();
        if outside.iter().any(holds) || op_free_variables(&statement.op).iter().any(holds) {
            return self.refuse(statement, "a rule of the program's own that uses functions from outside");
        }
        let seen: Vec<Atom> = match custom.kind {
            CustomKind::VjpTape { tape } => {
                for (param, arg) in custom.function.params.iter().zip(&custom.args) {
                    self.push(vec![param.clone()], Op::Copy(vec![arg.clone()]), span);
                }
                custom.function.body.statements.iter().for_each(|statement| self.context.push_statement(statement.clone()));
                let all = &custom.function.body.results;
                let (tape, results) = all.split_at(tape.min(all.len()));
                self.push(statement.binders.clone(), Op::Copy(results.to_vec()), span);
                tape.to_vec()
            }
            // A derivative around this one goes by the rule again.
            CustomKind::Vjp | CustomKind::Jvp => {
                let op = self.context.copy_custom(custom, custom.args.clone());
                self.push(statement.binders.clone(), op, span);
                statement.binders.iter().map(|binder| Atom::Var(binder.var)).collect()
            }
        };
        if self.engine.direction == Direction::Forward {
            return Some(self.custom_tangents(statement, custom, types));
        }
        Some(self.backpropagator(types, span, |this, cotangents, mut state| {
            let mut given = seen;
            let mut cotangents = cotangents.iter().cloned();
            for binder in &statement.binders {
                let primal = Atom::Var(binder.var);
                let own = if this.is_active(binder) { cotangents.next() } else { None };
                given.push(match own {
                    Some(own) => this.engine.meaning.in_full(this.context, own, &primal, &binder.ty, span),
                    None => this.context.zero_like(&primal, span),
                });
            }
            for (param, atom) in custom.rule.params.iter().zip(given) {
                this.push(vec![param.clone()], Op::Copy(vec![atom]), span);
            }
            custom.rule.body.statements.iter().for_each(|statement| this.context.push_statement(statement.clone()));
            for (arg, cotangent) in custom.args.iter().zip(&custom.rule.body.results) {
                if this.has_place(arg) {
                    let ty = this.source_type(arg);
                    let cotangent = this.engine.meaning.in_form(this.context, cotangent.clone(), &ty, span);
                    state = this.one(state, arg, cotangent, span);
                }
            }
            state
        }))
    }

    /// A rule is given the arguments and their tangents.
    fn custom_tangents(&mut self, statement: &Statement, custom: &Custom, types: &[Type]) -> LinearFunction {
        let span = statement.span;
        self.pushforward(types, span, |this| {
            let mut given = custom.args.clone();
            for arg in &custom.args {
                let (tangent, ty) = (this.tangent(arg, span), this.source_type(arg));
                given.push(this.engine.meaning.in_full(this.context, tangent, arg, &ty, span));
            }
            for (param, atom) in custom.rule.params.iter().zip(given) {
                this.push(vec![param.clone()], Op::Copy(vec![atom]), span);
            }
            custom.rule.body.statements.iter().for_each(|statement| this.context.push_statement(statement.clone()));
            let mut own = Vec::new();
            for (binder, tangent) in statement.binders.iter().zip(&custom.rule.body.results) {
                if this.is_active(binder) {
                    own.push(this.engine.meaning.in_form(this.context, tangent.clone(), &binder.ty, span));
                }
            }
            own
        })
    }

    /// Copies of variables are as active as the variables.
    pub fn follow(&mut self, replacements: &FxHashMap<Var, Atom>) {
        for (var, copy) in replacements {
            if let Atom::Var(copy) = copy {
                self.mark_like(*copy, *var);
            }
        }
    }
}
