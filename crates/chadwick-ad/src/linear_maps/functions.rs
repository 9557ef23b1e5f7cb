//! The derived functions of a function `f : S → T`, each a function of Core:
//!
//! - `revf$f : S → (T, X)` and `revr$f : (X, δT) → δS`, its reverse mode in two halves (section 6.1);
//! - `rev$f : (S, δT) → (T, δS)`, which is one after the other;
//! - `fwd$f : (S, δS) → (T, δT)`.
//!
//! `X` is what the reverse half reads of the forward half, as many values as there are. Parameters and results without a derivative have no
//! (co)tangent.

use super::backward::{Backward, Flow};
use super::differentiate::{Differentiator, holds_named_type};
use super::forward::Forward;
use super::laws::simplified;
use super::maps::Derived;
use crate::context::Context;
use crate::reverse::{Cotangents, ReverseFunctions};
use chadwick_core::{Atom, Binder, Block, Function, FunctionId, Lambda, Op, Statement, Type, Var};
use chadwick_source::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// The two halves of a function.
#[derive(Clone)]
pub(super) struct SplitMap {
    pub forward: FunctionId,
    pub reverse: FunctionId,
    /// The types of what is kept between them.
    pub kept: Vec<Type>,
    /// Which results have a cotangent.
    pub results: Vec<bool>,
}

/// Derived functions, by which arguments are active.
#[derive(Default)]
pub(super) struct MapFunctions {
    split: FxHashMap<(FunctionId, Vec<bool>), SplitMap>,
    forward: FxHashMap<(FunctionId, Vec<bool>), (FunctionId, Vec<bool>)>,
    /// Functions whose derivatives are being made.
    open: Vec<FunctionId>,
}

/// The map of a function's body, with which variables depend on the active parameters.
pub(super) fn derive(context: &mut Context, lambda: &Lambda, active: &[bool], span: Span) -> (Derived, FxHashSet<Var>) {
    let is_recursive = |(param, active): (&Binder, &bool)| *active && holds_named_type(&param.ty);
    if lambda.params.iter().zip(active).any(is_recursive) {
        context.unsupported(span, "a value of a type with a name, such as a list or a function that is chosen");
        return (Derived::default(), FxHashSet::default());
    }
    let inputs = lambda.params.iter().zip(active).filter(|(_, active)| **active).map(|(param, _)| param.var).collect();
    let mut differentiator = Differentiator::new(context, &lambda.body, inputs);
    let derived = differentiator.block(&lambda.body);
    let active = differentiator.active;
    (simplified(derived), active)
}

/// The reverse pass of a function at cotangents of its results.
pub(super) struct Applied {
    pub forward: Vec<Statement>,
    /// Gives the cotangents of the parameters asked for.
    pub reverse: Block,
}

/// `r ⊙_R ∂f(x)`, for the parameters in `wanted`.
pub(super) fn apply_reverse(
    context: &mut Context,
    functions: &mut MapFunctions,
    (lambda, derived, active): (&Lambda, &Derived, FxHashSet<Var>),
    seeds: Vec<Flow>,
    wanted: &[Var],
    span: Span,
) -> Applied {
    if !context.errors.is_empty() {
        // Something was refused: nothing will run.
        let results = wanted.iter().map(|param| Atom::Var(*param)).collect();
        return Applied { forward: Vec::new(), reverse: Block { statements: Vec::new(), results } };
    }
    let mut unused = ReverseFunctions::default();
    let mut backward = Backward::new(context, &mut unused, functions, active);
    let params: Vec<Var> = lambda.params.iter().map(|param| param.var).collect();
    let mut cotangents = Cotangents::default();
    backward.context().b.push_block();
    let forward = backward.block(derived, &params, Flow::tuple(seeds), &mut cotangents, span);
    let results = wanted.iter().map(|param| backward.collector.take_in_form(&mut cotangents, *param, span)).collect();
    let mut forward = backward.collector.place_sizes(forward, &params);
    forward.splice(0..0, backward.collector.outside_sizes(span));
    let reverse = backward.context().b.pop_block(results);
    Applied { forward, reverse }
}

/// A copy of a function of the program, if its derivative can be made now.
fn opened(context: &mut Context, functions: &mut MapFunctions, function: FunctionId, span: Span) -> Option<(Function, Lambda)> {
    if functions.open.contains(&function) {
        context.unsupported(span, "a function that calls itself");
        return None;
    }
    let source = context.program().functions.get(function.0 as usize)?.clone();
    let lambda = Lambda { params: source.params.clone(), results: source.results.clone(), body: source.body.clone() };
    let lambda = context.copy_lambda(&lambda);
    functions.open.push(function);
    Some((source, lambda))
}

fn active_results(context: &mut Context, function: FunctionId, active: &[bool], types: &[Type]) -> Vec<bool> {
    let depends = context.active_results(function, active, true);
    depends.iter().zip(types).map(|(depends, ty)| *depends && context.carries(ty)).collect()
}

/// `revf$f` and `revr$f`; nothing if there was an error.
pub(super) fn split_function(
    context: &mut Context,
    functions: &mut MapFunctions,
    function: FunctionId,
    active: &[bool],
    span: Span,
) -> Option<SplitMap> {
    let key = (function, active.to_vec());
    if let Some(known) = functions.split.get(&key) {
        return Some(known.clone());
    }
    let (source, lambda) = opened(context, functions, function, span)?;
    let results = active_results(context, function, active, &source.results);
    let shapes = std::mem::take(&mut context.shapes);
    let params: Vec<Var> = lambda.params.iter().map(|param| param.var).collect();
    context.makings.enter(&params);
    let (derived, variables) = derive(context, &lambda, active, span);
    let (mut seeds, mut seed_params) = (Vec::new(), Vec::new());
    for (wanted, ty) in results.iter().zip(&lambda.results) {
        let seed = context.fresh("dr", ty.any_sizes());
        seeds.push(if *wanted { Flow::Value(Atom::Var(seed.var)) } else { Flow::Zero });
        seed_params.extend(wanted.then_some(seed));
    }
    let inputs: Vec<Binder> =
        lambda.params.iter().zip(active).filter(|(_, active)| **active).map(|(param, _)| param.clone()).collect();
    let wanted: Vec<Var> = inputs.iter().map(|param| param.var).collect();
    let applied = apply_reverse(context, functions, (&lambda, &derived, variables), seeds, &wanted, span);
    let needs = context.needs(&applied.forward, &applied.reverse, &params, &[]);
    context.shapes = shapes;
    context.makings.leave();
    functions.open.pop();

    let kept: Vec<Type> = needs.saved.iter().map(|var| context.var_type(*var).any_sizes()).collect();
    let values: Vec<Atom> = needs.saved.iter().map(|var| Atom::Var(*var)).collect();
    let name = Name::from(format!("revf${}", source.name));
    let types = [lambda.results.clone(), kept.clone()].concat();
    let forward = context.reserve(name, lambda.params.clone(), types, source.span);
    let body = Block { statements: applied.forward, results: [lambda.body.results, values].concat() };
    context.b.program_mut().functions[forward.0 as usize].body = body;

    let binders: Vec<Binder> = kept.iter().map(|ty| context.fresh("kept", ty.clone())).collect();
    let replace: Vec<(Var, Atom)> = needs.saved.iter().zip(&binders).map(|(var, binder)| (*var, Atom::Var(binder.var))).collect();
    let whole = Block { statements: [needs.again, applied.reverse.statements].concat(), results: applied.reverse.results };
    let body = context.copy_block(&whole, replace);
    let name = Name::from(format!("revr${}", source.name));
    let types = inputs.iter().map(|param| param.ty.any_sizes()).collect();
    let reverse = context.reserve(name, [binders, seed_params].concat(), types, source.span);
    context.b.program_mut().functions[reverse.0 as usize].body = body;
    let split = SplitMap { forward, reverse, kept, results };
    functions.split.insert(key, split.clone());
    Some(split)
}

/// `rev$f`, by the parameters that carry a derivative.
pub(super) fn reverse_function(context: &mut Context, functions: &mut MapFunctions, function: FunctionId) -> Option<FunctionId> {
    let source = context.program().functions.get(function.0 as usize)?.clone();
    let active: Vec<bool> = source.params.iter().map(|param| context.carries(&param.ty)).collect();
    let split = split_function(context, functions, function, &active, source.span)?;
    let params: Vec<Binder> =
        source.params.iter().map(|param| context.fresh(context.name(param.var), param.ty.clone())).collect();
    // A result that does not depend on the arguments has a cotangent, too, of which nothing comes.
    let (mut seeds, mut used) = (Vec::new(), Vec::new());
    for (ty, depends) in source.results.iter().zip(&split.results).filter(|(ty, _)| context.carries(ty)).collect::<Vec<_>>() {
        let seed = context.fresh("dr", ty.any_sizes());
        used.extend(depends.then(|| Atom::Var(seed.var)));
        seeds.push(seed);
    }
    let atoms = |binders: &[Binder]| binders.iter().map(|binder| Atom::Var(binder.var)).collect::<Vec<_>>();
    let body = context.block(|context| {
        let op = Op::Call { function: split.forward, args: atoms(&params) };
        let mut values = context.emit(op, source.span);
        let kept = values.split_off(source.results.len());
        let op = Op::Call { function: split.reverse, args: [kept, used].concat() };
        [values, context.emit(op, source.span)].concat()
    });
    let inputs = source.params.iter().zip(&active).filter(|(_, active)| **active).map(|(param, _)| param.ty.any_sizes());
    let types = source.results.iter().cloned().chain(inputs).collect();
    let name = Name::from(format!("rev${}", source.name));
    let reverse = context.reserve(name, [params, seeds].concat(), types, source.span);
    context.b.program_mut().functions[reverse.0 as usize].body = body;
    Some(reverse)
}

/// `fwd$f` by the parameters that carry a derivative, with tangents of all results that do.
pub(super) fn whole_forward_function(
    context: &mut Context,
    functions: &mut MapFunctions,
    function: FunctionId,
) -> Option<FunctionId> {
    let source = context.program().functions.get(function.0 as usize)?.clone();
    let active: Vec<bool> = source.params.iter().map(|param| context.carries(&param.ty)).collect();
    let results = source.results.iter().map(|ty| context.carries(ty)).collect();
    make_forward_function(context, functions, function, &active, results, source.span)
}

/// `fwd$f` for a call, and which results have a tangent; nothing if there was an error.
pub(super) fn forward_function(
    context: &mut Context,
    functions: &mut MapFunctions,
    function: FunctionId,
    active: &[bool],
    span: Span,
) -> Option<(FunctionId, Vec<bool>)> {
    let key = (function, active.to_vec());
    if let Some(known) = functions.forward.get(&key) {
        return Some(known.clone());
    }
    let types = context.program().functions.get(function.0 as usize)?.results.clone();
    let results = active_results(context, function, active, &types);
    let made = make_forward_function(context, functions, function, active, results.clone(), span)?;
    functions.forward.insert(key, (made, results.clone()));
    Some((made, results))
}

fn make_forward_function(
    context: &mut Context,
    functions: &mut MapFunctions,
    function: FunctionId,
    active: &[bool],
    results: Vec<bool>,
    span: Span,
) -> Option<FunctionId> {
    let (source, lambda) = opened(context, functions, function, span)?;
    let (derived, _) = derive(context, &lambda, active, span);
    let mut tangents = FxHashMap::default();
    let mut params = lambda.params.clone();
    for (param, _) in lambda.params.iter().zip(active).filter(|(_, active)| **active) {
        let tangent = context.fresh("dx", param.ty.any_sizes());
        tangents.insert(param.var, Atom::Var(tangent.var));
        params.push(tangent);
    }
    context.b.push_block();
    let mut forward = Forward { context, functions, tangents, handles: FxHashMap::default() };
    let values = forward.block(&derived, &results, source.span);
    let body = context.b.pop_block(values);
    functions.open.pop();
    let wanted = source.results.iter().zip(&results).filter(|(_, wanted)| **wanted).map(|(ty, _)| ty.any_sizes());
    let types = source.results.iter().cloned().chain(wanted).collect();
    let name = Name::from(format!("fwd${}", source.name));
    let made = context.reserve(name, params, types, source.span);
    context.b.program_mut().functions[made.0 as usize].body = body;
    Some(made)
}
