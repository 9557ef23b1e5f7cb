//! CHAD, combinatory homomorphic AD: reverse mode as its papers define it, and with the right complexity.
//!
//! `D[t]` is the value of a term together with a function from its cotangent to those of the environment, its backpropagator. Every rule uses
//! the transform of each subterm once. A block is a run of `let`s: the backpropagators of its statements stand beside them, and one function
//! calls them backwards.
//!
//! - The **definition** (Vákár and Smeding; chapter 5 of Smeding's thesis): a backpropagator gives the cotangents of *all* variables of the
//!   environment, zeros included, and sums of environments are sums of all their parts. Functions have cotangents: the bag of their calls.
//! - **Efficient CHAD** (chapter 6): zeros cost nothing, and a backpropagator changes one environment of cotangents instead.
//!
//! The letters of the papers: `D1` and `D2` on types are [`Meaning::primal_type`] and [`Meaning::cotangent_type`], `one` is [`Meaning::one`], `scope`
//! is a call followed by [`Meaning::taken`], `run` is [`rules::Chad::closed_block`]. `Z` is what the analysis of activity finds inactive.

mod arrays;
mod backpropagators;
mod bags;
mod calls;
mod control;
mod dense;
mod dependencies;
mod environment;
mod functions;
mod meaning;
mod rules;
mod simplify;
mod sparse;
mod trees;

pub use environment::Cotangents;
pub(crate) use simplify::simplify;

use crate::context::{Context, with_axis};
use crate::engine::ReverseEngine;
use chadwick_core::visit::{lambda_free_variables, variable_types};
use chadwick_core::{Atom, Axis, Block, Differentiate, FunctionId, Lambda, Op, Program, Statement, Type, Var};
use chadwick_source::Span;
use dense::Scalars;
use meaning::{Meaning, has_functions};
use rules::Chad;
use rustc_hash::FxHashMap;

/// What is done with the definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Definition {
    #[default]
    Plain,
    /// Made readable afterwards.
    Simplified,
    /// With truth values for numbers: which inputs matter for the results whose seed is not zero.
    Dependencies,
}

/// What is kept from one derivative of a program to the next.
pub(crate) struct ChadEngine {
    meaning: Box<dyn Meaning>,
    /// Functions by which arguments have cotangents and which results are given some.
    functions: FxHashMap<(FunctionId, Vec<bool>, Vec<bool>), FunctionId>,
}

impl ChadEngine {
    pub fn definition(definition: Definition) -> ChadEngine {
        let scalars = match definition {
            Definition::Plain | Definition::Simplified => Scalars::Numbers,
            Definition::Dependencies => Scalars::Dependencies,
        };
        ChadEngine { meaning: Box::new(dense::Dense::new(scalars)), functions: FxHashMap::default() }
    }

    /// Efficient CHAD.
    pub fn efficient(cotangents: Cotangents) -> ChadEngine {
        let meaning = Box::new(sparse::Sparse::new(cotangents.environment()));
        ChadEngine { meaning, functions: FxHashMap::default() }
    }

    /// Emits the value of a function at its arguments, and its backpropagator; says which parameters have cotangents.
    fn forward(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> Forward {
        let lambda = context.copy_lambda(&parts.function);
        for (param, arg) in lambda.params.iter().zip(&parts.args) {
            context.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg.clone()]), span });
        }
        let wanted: Vec<bool> = lambda.results.iter().map(|ty| context.carries(ty)).collect();
        let mask: Vec<bool> = lambda.params.iter().map(|param| context.carries(&param.ty)).collect();
        if lambda.results.iter().chain(lambda.params.iter().map(|it| &it.ty)).any(|ty| has_functions(context.program(), ty)) {
            context.unsupported(span, "by a function, or a function that gives one");
        }
        let mut chad = Chad::new(context, self, &lambda.body, &lambda.params, &mask, &wanted);
        let (results, backpropagator) = chad.closed_block(&lambda, &mask, &wanted, span);
        Forward { lambda, mask, wanted, results, backpropagator }
    }
}

/// A function that has run, with what it needs to be run backwards.
struct Forward {
    lambda: Lambda,
    mask: Vec<bool>,
    wanted: Vec<bool>,
    results: Vec<Atom>,
    backpropagator: Atom,
}

impl Forward {
    /// Emits the call of the backpropagator; gives a cotangent for every parameter.
    fn backward(&self, meaning: &mut dyn Meaning, context: &mut Context, seeds: &[Atom], span: Span) -> Vec<Atom> {
        let mut cotangents = Vec::new();
        for ((result, seed), (ty, wanted)) in self.results.iter().zip(seeds).zip(self.lambda.results.iter().zip(&self.wanted)) {
            if *wanted {
                context.check_seed(result, seed, "cotangent", span);
                cotangents.push(meaning.in_form(context, seed.clone(), ty, span));
            }
        }
        let given = context.emit(Op::Apply { function: self.backpropagator.clone(), args: cotangents }, span);
        let mut given = given.into_iter();
        let mut all = Vec::new();
        for (param, masked) in self.lambda.params.iter().zip(&self.mask) {
            let primal = Atom::Var(param.var);
            let own = if *masked { given.next() } else { None };
            all.push(match own {
                Some(cotangent) => meaning.in_full(context, cotangent, &primal, &param.ty, span),
                None => context.zero_like(&primal, span),
            });
        }
        all
    }
}

impl ReverseEngine for ChadEngine {
    fn vjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let forward = self.forward(context, parts, span);
        let cotangents = forward.backward(self.meaning.as_mut(), context, &parts.seeds, span);
        (forward.results, cotangents)
    }

    fn mjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let forward = self.forward(context, parts, span);
        let params: Vec<Atom> = forward.lambda.params.iter().map(|param| Atom::Var(param.var)).collect();
        let inner: Vec<_> = params.iter().map(|param| context.sizes_of_value(param, span)).collect();
        let index = context.fresh("seed", Type::I64).var;
        let meaning = self.meaning.as_mut();
        let body = context.block(|context| {
            let at = |context: &mut Context, seed: &Atom| {
                context.emit_one(Op::Index { array: seed.clone(), indices: vec![Atom::Var(index)] }, span)
            };
            let seeds: Vec<Atom> = parts.seeds.iter().map(|seed| at(context, seed)).collect();
            forward.backward(meaning, context, &seeds, span)
        });
        let types = forward.lambda.params.iter().map(|param| with_axis(&param.ty)).collect();
        let space = vec![Axis { var: index, size: parts.count.clone().unwrap_or(Atom::i64(0)) }];
        let cotangents = context.b.push(Op::Build { space, body, inner }, types, span);
        (forward.results, cotangents)
    }

    fn takes_functions(&self) -> bool {
        self.meaning.takes_functions()
    }
}

/// Whether a program has functions that are values, and all that derivatives meet are made inside them: then they can stay functions.
pub(crate) fn functions_are_local(program: &Program) -> bool {
    let types = variable_types(program);
    let holds = |ty: &Type| has_functions(program, ty);
    let is_outside = |var: &Var| types.get(var.0 as usize).and_then(Option::as_ref).is_some_and(&holds);
    let is_local = |parts: &Differentiate| {
        let own = parts.function.params.iter().map(|param| &param.ty).chain(&parts.function.results);
        !lambda_free_variables(&parts.function).iter().any(is_outside) && !own.into_iter().any(&holds)
    };
    let mut found = false;
    let mut local = true;
    for function in &program.functions {
        each_op(&function.body, &mut |op| match op {
            Op::Closure(_) => found = true,
            Op::Differentiate(parts) => local &= is_local(parts),
            // A rule sees values and cotangents of the form of values; functions have none.
            Op::Custom(custom) => {
                let mut outside = [&custom.function, &custom.rule].into_iter().flat_map(lambda_free_variables);
                local &= !outside.any(|var| is_outside(&var));
            }
            _ => {}
        });
    }
    found && local
}

fn each_op(block: &Block, visit: &mut dyn FnMut(&Op)) {
    for statement in &block.statements {
        visit(&statement.op);
        statement.op.scopes().iter().for_each(|scope| each_op(scope.block, visit));
    }
}
