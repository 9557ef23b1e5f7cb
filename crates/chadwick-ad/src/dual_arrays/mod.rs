//! Reverse mode by dual arrays (Smeding, chapter 4).
//!
//! The function becomes a term of an array language with static shapes ([`convert`]), the term loses its builds ([`bulk`]), each array
//! gets a symbolic linear term beside it ([`delta`]), and the reverse pass over that makes one term for the gradient ([`reverse`]), which
//! becomes Core again ([`emit`]). Nothing of the linear term is left when the program runs.

mod bulk;
mod convert;
mod delta;
mod emit;
mod notation;
mod reverse;
mod term;

use crate::context::{Context, with_axis};
use crate::engine::ReverseEngine;
use bulk::Bulk;
use chadwick_core::{Atom, Axis, Differentiate, Lambda, Op, Statement, Type};
use chadwick_source::Span;
use convert::Converter;
use delta::{Delta, DualArrays};
use emit::Emitter;
pub(crate) use notation::in_notation;
use reverse::{ReversePass, share_to_let};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use term::{Name, Names, Tree, var_like};

/// A function as dual arrays: what was made of it, and how each of its results depends on the inputs.
struct Derived {
    names: Names,
    /// The variables of the parameters that are differentiated; nothing for the others.
    inputs: Vec<Option<(Name, Tree)>>,
    /// The function as a term, and the same in normal form.
    source: Vec<(Name, Tree)>,
    source_results: Vec<Tree>,
    normal: Vec<(Name, Tree)>,
    normal_results: Vec<Tree>,
    /// The primal values.
    bindings: Vec<(Name, Tree)>,
    results: Vec<(Tree, Option<Rc<Delta>>)>,
}

/// A gradient as terms.
struct Gradient {
    /// A variable for the cotangent of each result.
    seeds: Vec<Name>,
    bindings: Vec<(Name, Tree)>,
    /// The cotangent of each parameter, if it has any.
    results: Vec<Option<Tree>>,
}

impl Derived {
    /// Emits what depends on no input. Nothing if something was refused.
    fn new(context: &mut Context, lambda: &Lambda, span: Span) -> Option<Derived> {
        let mut names = Names::default();
        let mut converter = Converter::new(context, &mut names);
        let mut inputs = Vec::new();
        for param in &lambda.params {
            inputs.push(match converter.context.carries(&param.ty) {
                true => Some(converter.input(param, span)?),
                false => None,
            });
        }
        let source_results = converter.block(&lambda.body, span)?;
        let source = converter.lets;
        let mut bulk = Bulk { names: &mut names };
        let normal: Vec<(Name, Tree)> = source.iter().map(|(name, tree)| (*name, bulk.normal(tree))).collect();
        let normal_results: Vec<Tree> = source_results.iter().map(|tree| bulk.normal(tree)).collect();
        let active: Vec<(Name, Tree)> = inputs.iter().flatten().cloned().collect();
        let mut dual = DualArrays::new(&mut names, &active);
        normal.iter().for_each(|(name, tree)| dual.bind(*name, tree));
        let results = normal_results.iter().map(|tree| dual.dual(tree)).collect();
        let bindings = dual.bindings;
        Some(Derived { names, inputs, source, source_results, normal, normal_results, bindings, results })
    }

    /// The reverse pass for one cotangent of each result.
    fn gradient(&mut self) -> Gradient {
        let seeds: Vec<Name> = self.results.iter().map(|_| self.names.fresh()).collect();
        let seeded = self.results.iter().zip(&seeds).filter_map(|((primal, delta), seed)| {
            let delta = delta.as_ref()?;
            Some((Rc::clone(delta), var_like(*seed, primal)))
        });
        let inputs = self.inputs.iter().flatten().count();
        let gradients = ReversePass::run(inputs, seeded.collect());
        let (bindings, gradients) = share_to_let(&mut self.names, gradients);
        let mut gradients = gradients.into_iter();
        let results = self.inputs.iter().map(|input| input.as_ref().and_then(|_| gradients.next().flatten())).collect();
        Gradient { seeds, bindings, results }
    }

    /// Emits the primal values; returns the results and what the variables are.
    fn emit_primal(&self, context: &mut Context, lambda: &Lambda, span: Span) -> (Vec<Atom>, FxHashMap<Name, Atom>) {
        let params = lambda.params.iter().zip(&self.inputs);
        let values = params.filter_map(|(param, input)| Some((input.as_ref()?.0, Atom::Var(param.var)))).collect();
        let mut emitter = Emitter { context, values, span };
        self.bindings.iter().for_each(|(name, tree)| emitter.bind(*name, tree));
        let results = self.results.iter().map(|(primal, _)| emitter.tree(primal)).collect();
        (results, emitter.values)
    }
}

impl Gradient {
    /// Emits the cotangents of the parameters for the cotangents of the results.
    fn emit(
        &self,
        context: &mut Context,
        lambda: &Lambda,
        values: FxHashMap<Name, Atom>,
        seeds: &[Atom],
        span: Span,
    ) -> Vec<Atom> {
        let mut emitter = Emitter { context, values, span };
        emitter.values.extend(self.seeds.iter().copied().zip(seeds.iter().cloned()));
        self.bindings.iter().for_each(|(name, tree)| emitter.bind(*name, tree));
        let mut cotangents = Vec::new();
        for (param, result) in lambda.params.iter().zip(&self.results) {
            cotangents.push(match result {
                Some(tree) => emitter.tree(tree),
                None => emitter.context.zero_like(&Atom::Var(param.var), span),
            });
        }
        cotangents
    }
}

/// The engine. It keeps nothing from one derivative to the next: calls are written out.
pub(crate) struct DualArraysEngine;

impl ReverseEngine for DualArraysEngine {
    fn vjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let lambda = at_arguments(context, parts, span);
        let Some(mut derived) = Derived::new(context, &lambda, span) else { return refused(&lambda) };
        let gradient = derived.gradient();
        let (results, values) = derived.emit_primal(context, &lambda, span);
        check_seeds(context, &results, &parts.seeds, span);
        let cotangents = gradient.emit(context, &lambda, values, &parts.seeds, span);
        (results, cotangents)
    }

    fn mjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let lambda = at_arguments(context, parts, span);
        let Some(mut derived) = Derived::new(context, &lambda, span) else { return refused(&lambda) };
        let gradient = derived.gradient();
        let (results, values) = derived.emit_primal(context, &lambda, span);
        let inner: Vec<_> = lambda.params.iter().map(|param| context.sizes_of_value(&Atom::Var(param.var), span)).collect();
        let types = lambda.params.iter().map(|param| with_axis(&param.ty)).collect();
        let index = context.fresh("seed", Type::I64).var;
        let body = context.block(|context| {
            let at = |seed: &Atom| Op::Index { array: seed.clone(), indices: vec![Atom::Var(index)] };
            let seeds: Vec<Atom> = parts.seeds.iter().map(|seed| context.emit_one(at(seed), span)).collect();
            check_seeds(context, &results, &seeds, span);
            gradient.emit(context, &lambda, values, &seeds, span)
        });
        let space = vec![Axis { var: index, size: parts.count.clone().unwrap_or(Atom::i64(0)) }];
        let cotangents = context.b.push(Op::Build { space, body, inner }, types, span);
        (results, cotangents)
    }
}

/// What stands where the error is reported anyway.
fn refused(lambda: &Lambda) -> (Vec<Atom>, Vec<Atom>) {
    (lambda.body.results.clone(), lambda.params.iter().map(|param| Atom::Var(param.var)).collect())
}

/// A seed must have the structure of what it is a cotangent of.
fn check_seeds(context: &mut Context, results: &[Atom], seeds: &[Atom], span: Span) {
    for (result, seed) in results.iter().zip(seeds) {
        if context.carries(&context.type_of(result)) {
            context.check_seed(result, seed, "cotangent", span);
        }
    }
}

/// The function with its parameters bound to the arguments.
fn at_arguments(context: &mut Context, parts: &Differentiate, span: Span) -> Lambda {
    let lambda = context.copy_lambda(&parts.function);
    for (param, arg) in lambda.params.iter().zip(&parts.args) {
        context.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg.clone()]), span });
    }
    lambda
}
