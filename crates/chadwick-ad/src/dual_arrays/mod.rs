//! Reverse mode by dual arrays (Smeding, chapter 4).
//!
//! The function becomes a term of an array language with static shapes ([`convert`]), the term loses its builds ([`bulk`]) and what that
//! left to be simplified ([`simplify`]). Run at dual arrays over terms ([`delta`], [`interpret`]), it gives a symbolic linear term beside each
//! array; the reverse pass over that makes one term for the gradient ([`reverse`]), which becomes Core again ([`emit`]). Nothing of
//! the linear term is left when the program runs.
//!
//! The kinds of arrays are there for programs in Rust too: [`Algebra`] is what they have in common, [`gradient`] differentiates.

mod algebra;
mod bulk;
mod convert;
mod delta;
mod emit;
mod fold;
mod interpret;
mod normal_form;
mod notation;
mod plain;
mod program;
mod reverse;
mod simplify;
mod sizes;
mod staged;
mod term;
#[cfg(test)]
mod tests;

use crate::context::{Context, with_axis};
use crate::engine::ReverseEngine;
pub use algebra::{Algebra, IndexRule, extents, known};
use chadwick_core::{Atom, Axis, Differentiate, Lambda, Op, Type};
use chadwick_source::Span;
use convert::Converter;
pub use delta::{Delta, Dual, DualArray};
use emit::Emitter;
pub(crate) use notation::in_notation;
pub use plain::{Array, Plain, Table};
pub use program::Program;
use reverse::ReversePass;
pub use reverse::{Sharing, gradient};
use rustc_hash::FxHashMap;
use simplify::Simplifier;
pub use staged::Staged;
use staged::share_to_let;
use std::collections::BTreeMap;
use std::rc::Rc;
pub(crate) use term::cannot_fail;
pub use term::{Elementwise, IndexFunction, Name, Node, Reads, Shape, Step, Tree};
use term::{Names, var_like, with_extents};

/// A function as dual arrays: what was made of it, and how each of its results depends on the inputs.
struct Derived {
    /// Which parameters are differentiated, and so are inputs.
    is_input: Vec<bool>,
    source: Program,
    /// The same in normal form.
    normal: Program,
    /// The results, with shares of what they have in common, and where those are numbered.
    results: Vec<DualArray<Staged>>,
    staged: Staged,
}

/// A value and its gradient as terms.
struct Gradient {
    /// A variable for the cotangent of each result.
    seeds: Vec<Name>,
    primal_bindings: Vec<(Name, Tree)>,
    primals: Vec<Tree>,
    bindings: Vec<(Name, Tree)>,
    /// The cotangent of each parameter, if it has any.
    results: Vec<Option<Tree>>,
    /// What became of the shares.
    shares: BTreeMap<usize, Name>,
}

impl Derived {
    /// Emits what depends on no input. Nothing if something was refused.
    fn new(context: &mut Context, lambda: &Lambda, span: Span) -> Option<Derived> {
        let names = Names::default();
        let mut converter = Converter::new(context, &names);
        let is_input: Vec<bool> = lambda.params.iter().map(|param| converter.context.carries(&param.ty)).collect();
        converter.learn(&lambda.body);
        let mut inputs = Vec::new();
        for (param, _) in lambda.params.iter().zip(&is_input).filter(|(_, is_input)| **is_input) {
            inputs.push(converter.input(param, span)?);
        }
        let results = converter.block(&lambda.body, span)?;
        converter.check(&lambda.body, span);
        // By now all is known about sizes.
        let named = |tree: &Tree| with_extents(tree, &|extent| converter.sizes.canonical(extent));
        let bindings = converter.lets.iter().map(|(name, tree)| (*name, named(tree))).collect();
        let inputs = inputs.iter().map(|(name, tree)| (*name, named(tree))).collect();
        let results = results.iter().map(named).collect();
        let source = Program { names: names.clone(), inputs, bindings, results };
        let normal = source.without_builds().simplified();
        let staged = Staged::new(&names);
        let results = normal.dual(&staged);
        Some(Derived { is_input, source, normal, results, staged })
    }

    /// The reverse pass for one cotangent of each result.
    fn gradient(&self) -> Gradient {
        let names = &self.source.names;
        let primal_shares = self.staged.shares();
        let seeds: Vec<Name> = self.results.iter().map(|_| names.fresh()).collect();
        let seeded = self.results.iter().zip(&seeds).filter_map(|(result, seed)| {
            let delta = result.delta.as_ref()?;
            Some((Rc::clone(delta), var_like(*seed, &result.primal)))
        });
        let gradients = ReversePass::run(&self.staged, Sharing::default(), self.source.inputs.len(), seeded.collect());
        let primals = self.results.iter().map(|result| Rc::clone(&result.primal));
        let all: Vec<Tree> = primals.chain(gradients.iter().flatten().cloned()).collect();
        let mut bound = share_to_let(names, &all);
        let found = bound.trees.split_off(self.results.len());
        let shares = bound.shares.iter().map(|(number, (name, _))| (*number, *name)).collect();
        let of_gradient: Vec<(Name, Tree)> = bound.shares.split_off(&(primal_shares + 1)).into_values().collect();
        let (bindings, found) = Simplifier { names }.bindings(&of_gradient, &found);
        let mut found = found.into_iter();
        let mut gradients = gradients.iter().map(|gradient| gradient.as_ref().and_then(|_| found.next()));
        let results = self.is_input.iter().map(|is_input| is_input.then(|| gradients.next().flatten()).flatten()).collect();
        let primal_bindings = bound.shares.into_values().collect();
        Gradient { seeds, primal_bindings, primals: bound.trees, bindings, results, shares }
    }
}

impl Gradient {
    /// Emits the primal values; returns the results and what the variables are.
    fn emit_primal(
        &self,
        context: &mut Context,
        derived: &Derived,
        lambda: &Lambda,
        span: Span,
    ) -> (Vec<Atom>, FxHashMap<Name, Atom>) {
        let params = lambda.params.iter().zip(&derived.is_input).filter(|(_, is_input)| **is_input);
        let inputs = derived.source.inputs.iter().map(|(name, _)| *name);
        let values = inputs.zip(params.map(|(param, _)| Atom::Var(param.var))).collect();
        let mut emitter = Emitter::new(context, values, span);
        self.primal_bindings.iter().for_each(|(name, tree)| emitter.bind(*name, tree));
        let results = self.primals.iter().map(|primal| emitter.tree(primal)).collect();
        (results, emitter.values)
    }

    /// Emits the cotangents of the parameters for the cotangents of the results.
    fn emit(
        &self,
        context: &mut Context,
        lambda: &Lambda,
        values: FxHashMap<Name, Atom>,
        seeds: &[Atom],
        span: Span,
    ) -> Vec<Atom> {
        let mut emitter = Emitter::new(context, values, span);
        emitter.know(&self.primal_bindings);
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
        let lambda = context.at_arguments(parts, span);
        let Some(derived) = Derived::new(context, &lambda, span) else { return refused(context, &lambda, span) };
        let gradient = derived.gradient();
        let (results, values) = gradient.emit_primal(context, &derived, &lambda, span);
        context.check_seeds(&results, &parts.seeds, span);
        let cotangents = gradient.emit(context, &lambda, values, &parts.seeds, span);
        (results, cotangents)
    }

    fn mjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let lambda = context.at_arguments(parts, span);
        let Some(derived) = Derived::new(context, &lambda, span) else { return refused(context, &lambda, span) };
        let gradient = derived.gradient();
        let (results, values) = gradient.emit_primal(context, &derived, &lambda, span);
        let inner: Vec<_> = lambda.params.iter().map(|param| context.sizes_of_value(&Atom::Var(param.var), span)).collect();
        let types = lambda.params.iter().map(|param| with_axis(&param.ty)).collect();
        let index = context.fresh("seed", Type::I64).var;
        let body = context.block(|context| {
            let at = |seed: &Atom| Op::Index { array: seed.clone(), indices: vec![Atom::Var(index)] };
            let seeds: Vec<Atom> = parts.seeds.iter().map(|seed| context.emit_one(at(seed), span)).collect();
            context.check_seeds(&results, &seeds, span);
            gradient.emit(context, &lambda, values, &seeds, span)
        });
        let space = vec![Axis { var: index, size: parts.count.clone().unwrap_or(Atom::i64(0)) }];
        let cotangents = context.b.push(Op::Build { space, body, inner }, types, span);
        (results, cotangents)
    }
}

/// What stands where an error is reported anyway.
fn refused(context: &mut Context, lambda: &Lambda, span: Span) -> (Vec<Atom>, Vec<Atom>) {
    if context.errors.is_empty() {
        context.unsupported(span, "a construct of this function");
    }
    (lambda.body.results.clone(), lambda.params.iter().map(|param| Atom::Var(param.var)).collect())
}
