//! Reverse mode by symbolic linear maps (Ellis, Peyton Jones and Fitzgibbon, the draft of October 2020 in which ksc is designed).
//!
//! The derivative of a function at a point is a linear map, written as a term ([`maps`]). It is made from the program by one rule for each
//! construct ([`differentiate`]), rewritten by the laws of linear maps ([`laws`]), and applied to a cotangent, which pushes the
//! application through the term until no map is left ([`backward`]). What remains is Core.

mod accumulators;
mod backward;
mod bog;
mod categorical;
mod control;
mod differentiate;
mod entries;
mod families;
mod forward;
mod functions;
mod laws;
mod maps;
mod parsing;
mod printing;
mod procedure;
mod represent;
#[cfg(test)]
mod tests;
mod trace;

use crate::context::{Context, with_axis};
use crate::engine::ReverseEngine;
use backward::Flow;
use chadwick_core::{Atom, Axis, Block, Differentiate, Lambda, Op, Type, Var};
use chadwick_source::Span;
pub use entries::{Derivation, categorical_text, with_derived_entries};
use functions::{Applied, MapFunctions, apply_reverse, derive};
pub use parsing::{ParseError, simplified_text};
pub(crate) use printing::in_notation;
pub use represent::{Closure, Matrix, Representation, Tree};
pub use trace::{Trace, Tupling, Value, trace};

/// What linear maps keep from one derivative of a program to the next.
#[derive(Default)]
pub(crate) struct LinearMaps {
    functions: MapFunctions,
}

impl LinearMaps {
    /// The function at its arguments, and its reverse pass for seeds that are known only inside it.
    fn applied(&mut self, context: &mut Context, lambda: &Lambda, seeds: &[Atom], span: Span) -> Applied {
        let carries: Vec<bool> = lambda.params.iter().map(|param| context.carries(&param.ty)).collect();
        let (derived, active) = derive(context, lambda, &carries, span);
        let flows = seeds.iter().cloned().map(Flow::Value).collect();
        let wanted: Vec<Var> = lambda.params.iter().map(|param| param.var).collect();
        apply_reverse(context, &mut self.functions, (lambda, &derived, active), flows, &wanted, span)
    }
}

impl ReverseEngine for LinearMaps {
    fn vjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let lambda = context.at_arguments(parts, span);
        let applied = self.applied(context, &lambda, &parts.seeds, span);
        applied.forward.into_iter().for_each(|statement| context.push_statement(statement));
        context.check_seeds(&lambda.body.results, &parts.seeds, span);
        applied.reverse.statements.into_iter().for_each(|statement| context.push_statement(statement));
        (lambda.body.results, applied.reverse.results)
    }

    fn mjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let lambda = context.at_arguments(parts, span);
        let index = context.fresh("seed", Type::I64).var;
        context.b.push_block();
        let at = |context: &mut Context, seed: &Atom| {
            context.emit_one(Op::Index { array: seed.clone(), indices: vec![Atom::Var(index)] }, span)
        };
        let seeds: Vec<Atom> = parts.seeds.iter().map(|seed| at(context, seed)).collect();
        let applied = self.applied(context, &lambda, &seeds, span);
        context.check_seeds(&lambda.body.results, &seeds, span);
        applied.reverse.statements.into_iter().for_each(|statement| context.push_statement(statement));
        let body: Block = context.b.pop_block(applied.reverse.results);
        applied.forward.into_iter().for_each(|statement| context.push_statement(statement));
        let params: Vec<Atom> = lambda.params.iter().map(|param| Atom::Var(param.var)).collect();
        let inner: Vec<_> = params.iter().map(|param| context.sizes_of_value(param, span)).collect();
        let types = lambda.params.iter().map(|param| with_axis(&param.ty)).collect();
        let space = vec![Axis { var: index, size: parts.count.clone().unwrap_or(Atom::i64(0)) }];
        let cotangents = context.b.push(Op::Build { space, body, inner }, types, span);
        (lambda.body.results, cotangents)
    }
}
