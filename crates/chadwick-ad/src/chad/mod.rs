//! CHAD, combinatory homomorphic AD: reverse and forward mode as its papers define them, and reverse mode with the right complexity.
//!
//! `D[t]` is the value of a term together with its derivative, a linear function. In reverse it goes from the cotangent of the term to those of the
//! environment, and is called a backpropagator; forwards it goes from the tangents of the environment to that of the term (`tangents.rs`). Every
//! rule uses the transform of each subterm once. A block is a run of `let`s: the derivatives of its statements stand beside them, and one
//! function calls them, backwards or forwards.
//!
//! - The **definition** (Vákár and Smeding; chapter 5 of Smeding's thesis): a backpropagator gives the cotangents of *all* variables of the
//!   environment, zeros included, and sums of environments are sums of all their parts. Functions have cotangents: the bag of their calls.
//! - **Efficient CHAD** (chapter 6): zeros cost nothing, and a backpropagator changes one environment of cotangents instead.
//!
//! The letters of the papers: `D1` and `D2` on types are [`Meaning::primal_type`] and [`Meaning::cotangent_type`], `one` is [`Meaning::one`], `scope`
//! is a call followed by [`Meaning::taken`], `run` is [`rules::Chad::closed_block`]. `Z` is what the analysis of activity finds inactive.

mod arrays;
mod bags;
mod calls;
mod contributions;
mod control;
mod copowers;
mod dense;
mod environment;
mod functions;
mod gathers;
mod linear;
mod meaning;
mod monoids;
mod rules;
mod semirings;
mod simplify;
mod sparse;
mod tangents;
mod tasks;
#[cfg(test)]
mod tests;
mod trees;

pub use environment::Cotangents;
pub(crate) use simplify::simplify;

use crate::context::{Context, with_axis};
use crate::engine::{ForwardEngine, ReverseEngine};
use chadwick_core::typing::has_functions;
use chadwick_core::visit::{lambda_free_variables, variable_types};
use chadwick_core::{Atom, Axis, Block, Differentiate, FunctionId, Lambda, Op, Program, Type, Var};
use chadwick_source::Span;
use linear::LinearFunction;
use meaning::Meaning;
use rules::Chad;
use rustc_hash::FxHashMap;

/// What is done with the definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Definition {
    #[default]
    Plain,
    /// Made readable afterwards.
    Simplified,
    /// With truth values for cotangents of numbers: which inputs matter for the results whose seed is not zero.
    Dependencies,
    /// With sets for cotangents of numbers: for which results an input matters. The bits of a seed are labels, and those of a cotangent the labels
    /// of all results on which it has an influence.
    Provenance,
    /// With elements of a semiring for numbers, primal ones too.
    Over(Elements),
}

/// What stands for numbers in [`Definition::Over`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Whether a number may be other than zero: sums are disjunctions, products conjunctions.
    Truths,
    /// What a number was made from. The bits of an input are its labels, those of a result the labels of what it was made from.
    Lineage,
    /// What a number costs at least: sums are minima, products sums.
    Costs,
}

/// Which way derivatives go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Direction {
    #[default]
    Reverse,
    Forward,
}

impl Direction {
    /// What derivatives are applied to.
    fn word(self) -> &'static str {
        match self {
            Direction::Reverse => "cotangent",
            Direction::Forward => "tangent",
        }
    }
}

/// One direction: what is kept from one derivative of a program to the next.
pub(crate) struct ChadEngine {
    direction: Direction,
    meaning: Box<dyn Meaning>,
    /// Functions by which arguments have cotangents and which results are given some.
    functions: FxHashMap<(FunctionId, Vec<bool>, Vec<bool>), FunctionId>,
}

impl ChadEngine {
    fn definition(definition: Definition, direction: Direction) -> ChadEngine {
        let monoid = match definition {
            Definition::Plain | Definition::Simplified => None,
            Definition::Dependencies => Some(&monoids::TRUTHS),
            Definition::Provenance => Some(&monoids::LABELS),
            Definition::Over(Elements::Truths) => Some(&semirings::TRUTHS),
            Definition::Over(Elements::Lineage) => Some(&semirings::LINEAGE),
            Definition::Over(Elements::Costs) => Some(&semirings::COSTS),
        };
        ChadEngine { direction, meaning: Box::new(dense::Dense::new(monoid, direction)), functions: FxHashMap::default() }
    }

    /// Efficient CHAD, which has no forward mode of its own.
    pub fn efficient(cotangents: Cotangents) -> ChadEngine {
        let meaning = Box::new(sparse::Sparse::new(cotangents));
        ChadEngine { direction: Direction::Reverse, meaning, functions: FxHashMap::default() }
    }

    /// Emits the value of a function at its arguments, and its derivative; says which parameters have a part in it.
    fn linearised(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> Linearised {
        let lambda = context.at_arguments(parts, span);
        let wanted: Vec<bool> = lambda.results.iter().map(|ty| self.meaning.is_differentiated(context, ty)).collect();
        let mask: Vec<bool> = lambda.params.iter().map(|param| self.meaning.is_differentiated(context, &param.ty)).collect();
        if lambda.results.iter().chain(lambda.params.iter().map(|it| &it.ty)).any(|ty| has_functions(context.program(), ty)) {
            context.unsupported(span, "by a function, or a function that gives one");
        }
        let outside = lambda_free_variables(&lambda).into_iter().chain(lambda.params.iter().map(|param| param.var));
        let mut forms = Vec::new();
        for var in outside.collect::<Vec<Var>>() {
            let ty = context.var_type(var);
            if self.meaning.changes(context.program(), &ty) {
                forms.push((var, self.meaning.primal(context, Atom::Var(var), &ty, span)));
            }
        }
        let mut chad = Chad::new(context, self, &lambda.body, &lambda.params, &mask, &wanted);
        chad.forms.extend(forms);
        let (primals, derivative) = chad.closed_block(&lambda, &mask, &wanted, span);
        let mut results = Vec::new();
        for (primal, ty) in primals.into_iter().zip(&lambda.results) {
            results.push(self.meaning.value(context, primal, ty, span));
        }
        Linearised { lambda, mask, wanted, results, derivative }
    }
}

/// A function that has run, with its derivative.
struct Linearised {
    lambda: Lambda,
    mask: Vec<bool>,
    wanted: Vec<bool>,
    results: Vec<Atom>,
    derivative: LinearFunction,
}

impl Linearised {
    /// Emits the call of the backpropagator; gives a cotangent for every parameter.
    fn backward(&self, meaning: &mut dyn Meaning, context: &mut Context, seeds: &[Atom], span: Span) -> Vec<Atom> {
        let mut cotangents = Vec::new();
        for ((result, seed), (ty, wanted)) in self.results.iter().zip(seeds).zip(self.lambda.results.iter().zip(&self.wanted)) {
            if *wanted {
                context.check_seed(result, seed, "cotangent", span);
                cotangents.push(meaning.in_form(context, seed.clone(), ty, span));
            }
        }
        if meaning.has_tasks() {
            cotangents.push(Atom::bool(false));
        }
        let given = self.derivative.apply(context, cotangents, span);
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

    /// Emits the call of the derivative on tangents of the parameters; gives a tangent for every result.
    fn push(&self, meaning: &mut dyn Meaning, context: &mut Context, seeds: &[Atom], span: Span) -> Vec<Atom> {
        let mut tangents = Vec::new();
        for ((param, seed), masked) in self.lambda.params.iter().zip(seeds).zip(&self.mask) {
            if *masked {
                context.check_seed(&Atom::Var(param.var), seed, "tangent", span);
                tangents.push(meaning.in_form(context, seed.clone(), &param.ty, span));
            }
        }
        let given = self.derivative.apply(context, tangents, span);
        let mut given = given.into_iter();
        let mut all = Vec::new();
        for ((primal, ty), wanted) in self.results.iter().zip(&self.lambda.results).zip(&self.wanted) {
            let own = if *wanted { given.next() } else { None };
            all.push(match own {
                Some(tangent) => meaning.in_full(context, tangent, primal, ty, span),
                None => context.zero_like(primal, span),
            });
        }
        all
    }
}

/// For each of many seeds what `make` gives; `values` have the shapes of that.
fn for_each_seed(
    context: &mut Context,
    parts: &Differentiate,
    values: &[Atom],
    span: Span,
    make: impl FnOnce(&mut Context, &[Atom]) -> Vec<Atom>,
) -> Vec<Atom> {
    let inner: Vec<_> = values.iter().map(|value| context.sizes_of_value(value, span)).collect();
    let types = values.iter().map(|value| with_axis(&context.type_of(value))).collect();
    let index = context.fresh("seed", Type::I64).var;
    let body = context.block(|context| {
        let at = |context: &mut Context, seed: &Atom| {
            context.emit_one(Op::Index { array: seed.clone(), indices: vec![Atom::Var(index)] }, span)
        };
        let seeds: Vec<Atom> = parts.seeds.iter().map(|seed| at(context, seed)).collect();
        make(context, &seeds)
    });
    let space = vec![Axis { var: index, size: parts.count.clone().unwrap_or(Atom::i64(0)) }];
    context.b.push(Op::Build { space, body, inner }, types, span)
}

impl ReverseEngine for ChadEngine {
    fn vjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let function = self.linearised(context, parts, span);
        let cotangents = function.backward(self.meaning.as_mut(), context, &parts.seeds, span);
        (function.results, cotangents)
    }

    fn mjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let function = self.linearised(context, parts, span);
        let params: Vec<Atom> = function.lambda.params.iter().map(|param| Atom::Var(param.var)).collect();
        let meaning = self.meaning.as_mut();
        let cotangents =
            for_each_seed(context, parts, &params, span, |context, seeds| function.backward(meaning, context, seeds, span));
        (function.results, cotangents)
    }

    fn takes_functions(&self) -> bool {
        self.meaning.takes_functions()
    }
}

impl ForwardEngine for ChadEngine {
    fn jvp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let function = self.linearised(context, parts, span);
        let tangents = function.push(self.meaning.as_mut(), context, &parts.seeds, span);
        (function.results, tangents)
    }

    fn jmp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let function = self.linearised(context, parts, span);
        let meaning = self.meaning.as_mut();
        let tangents =
            for_each_seed(context, parts, &function.results, span, |context, seeds| function.push(meaning, context, seeds, span));
        (function.results, tangents)
    }

    fn takes_functions(&self) -> bool {
        self.meaning.takes_functions()
    }
}

/// The definition, in both directions.
pub(crate) struct BothDirections {
    reverse: ChadEngine,
    forward: ChadEngine,
}

impl BothDirections {
    pub fn new(definition: Definition) -> BothDirections {
        let [reverse, forward] =
            [Direction::Reverse, Direction::Forward].map(|direction| ChadEngine::definition(definition, direction));
        BothDirections { reverse, forward }
    }
}

impl ReverseEngine for BothDirections {
    fn vjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        self.reverse.vjp(context, parts, span)
    }

    fn mjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        self.reverse.mjp(context, parts, span)
    }

    fn takes_functions(&self) -> bool {
        ReverseEngine::takes_functions(&self.reverse)
    }

    fn forward(&mut self) -> Option<&mut dyn ForwardEngine> {
        Some(&mut self.forward)
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
