//! Dual numbers in reverse: every active scalar is paired with something that knows how to pass its cotangent on.
//!
//! One transformation for all rungs of the ladder in Smeding's thesis, chapter 3, and for the `Delta` terms of Krawiec et al.: every
//! construct of Core is mapped to itself on values with more parts (`terms.rs`), and a rung only says what stands beside a scalar, what an
//! operation makes of it, and how cotangents come back to the inputs ([`Backpropagation`]).
//!
//! The letters of the papers: `D[R]` is a scalar with what [`Backpropagation::beside`] names, `Interleave` is [`Walk::Interleave`], `Deinterleave` is
//! [`Walk::Seed`], `SResolve` is [`Backpropagation::resolve`]. Identities come from a log (`with_log`), so they increase in the order of
//! evaluation. The identity 0 is that of all constants; inputs are numbered from 1, operations behind them.

mod active;
mod cells;
mod contrib;
mod custom;
mod delta;
mod forks;
mod map;
mod mutable;
mod naive;
mod numbers;
mod parallel;
mod staged;
mod structure;
mod tape;
mod terms;

use crate::context::{Context, with_axis};
use crate::engine::ReverseEngine;
use active::{active_variables, survey};
use chadwick_core::{
    Arm, Atom, Axis, Binder, Block, Differentiate, FunctionId, Lambda, LogType, Op, Statement, Type, TypeId, Var,
};
use chadwick_source::Span;
use numbers::{Numbers, Part};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use structure::Walk;
use terms::Dual;

/// The rungs of the ladder, each faster than the one before or nearer to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// Backpropagators are functions; shared ones are called again and again (thesis 3.3).
    Naive,
    /// Calls are staged in a map by identity, so each is made once (3.4).
    Staged,
    /// Updates of one staged state instead of sums of many (3.5).
    Cayley,
    /// The cotangent of the input is a map of scalars (3.6).
    Sparse,
    /// Arrays instead of maps (3.7).
    Mutable,
    /// One array for cotangents of inputs and of operations (3.8.1).
    Single,
    /// Backpropagators are data: lists of contributions (3.8.2).
    Contrib,
    /// Contributions are written to a tape while the program runs (3.8.3).
    Tape,
    /// Terms with `let`, evaluated body first (Krawiec et al., section 7).
    Delta,
    /// A tape for each task, so that what runs side by side is recorded and gone through backwards side by side (3.10).
    Parallel,
}

impl Rung {
    pub const ALL: [Rung; 10] = [
        Rung::Naive,
        Rung::Staged,
        Rung::Cayley,
        Rung::Sparse,
        Rung::Mutable,
        Rung::Single,
        Rung::Contrib,
        Rung::Tape,
        Rung::Delta,
        Rung::Parallel,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Rung::Naive => "naive",
            Rung::Staged => "staged",
            Rung::Cayley => "cayley",
            Rung::Sparse => "sparse",
            Rung::Mutable => "mutable",
            Rung::Single => "single",
            Rung::Contrib => "contrib",
            Rung::Tape => "tape",
            Rung::Delta => "delta",
            Rung::Parallel => "parallel",
        }
    }

    pub fn from_name(name: &str) -> Option<Rung> {
        Rung::ALL.into_iter().find(|rung| rung.name() == name)
    }
}

/// What a rung says. The state is what a cotangent is added to and what is left at the end to read the inputs' cotangents from.
trait Backpropagation {
    /// What stands beside a scalar.
    fn beside(&self) -> Vec<Type>;

    /// The rows written while the program runs; `None` if none are.
    fn log(&self) -> Option<LogType>;

    /// Further logs, whose rows are numbered from one.
    fn more_logs(&self) -> Vec<LogType> {
        Vec::new()
    }

    /// All logs, as every function is given them.
    fn all_logs(&self) -> Vec<LogType> {
        self.log().into_iter().chain(self.more_logs()).collect()
    }

    /// What every function is given besides the logs, made for so many inputs.
    fn environment(&self, _context: &mut Context, _inputs: &Atom, _span: Span) -> Vec<Atom> {
        Vec::new()
    }

    /// The types of what `environment` makes.
    fn environment_types(&self) -> Vec<Type> {
        Vec::new()
    }

    fn constant(&self, context: &mut Context, environment: &[Atom], span: Span) -> Vec<Atom>;

    fn input(&self, context: &mut Context, environment: &[Atom], identity: Atom, span: Span) -> Vec<Atom>;

    /// What stands beside the result of an operation: its parts are the operands through which a cotangent passes, at least one.
    fn operation(&self, context: &mut Context, environment: &[Atom], parts: &[Part], span: Span) -> Vec<Atom>;

    /// What the reverse pass needs of the program's run as a whole, made once for all cotangents.
    fn survey(&self, _context: &mut Context, _run: &Run, _span: Span) -> Vec<Atom> {
        Vec::new()
    }

    /// The log that the reverse pass keeps, and what it has at hand besides the state.
    fn reverse_log(&self) -> Option<LogType> {
        None
    }

    fn given(&self, _run: &Run, _log: &Atom) -> Vec<Atom> {
        Vec::new()
    }

    /// The state before any cotangent.
    fn start(&self, context: &mut Context, run: &Run, span: Span) -> Vec<Atom>;

    /// The state with a cotangent for the scalar that this stands beside.
    fn contribute(
        &self,
        context: &mut Context,
        given: &[Atom],
        state: &[Atom],
        beside: &[Atom],
        cotangent: &[Atom],
        span: Span,
    ) -> Vec<Atom>;

    /// Passes all cotangents back to the inputs.
    fn resolve(&self, context: &mut Context, run: &Run, state: Vec<Atom>, span: Span) -> Vec<Atom>;

    /// The cotangent of an input.
    fn lookup(&self, context: &mut Context, state: &[Atom], identity: Atom, span: Span) -> Vec<Atom>;

    /// The type of calls with a rule of their own, and the function that runs the rule; `None` if the rung has none.
    fn calls(&self) -> Option<Calls> {
        None
    }

    /// What stands beside a call: its identity first. Those of its results, so many, come right behind.
    fn call(&self, _context: &mut Context, _environment: &[Atom], _call: Atom, _results: Atom, _span: Span) -> Vec<Atom> {
        vec![Atom::i64(0)]
    }

    /// What stands beside a result of a call. It sees to it that the call's turn comes.
    fn result(&self, context: &mut Context, environment: &[Atom], _call: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        self.input(context, environment, identity, span)
    }

    /// How what runs side by side is recorded; `None` if it is not.
    fn forks(&self) -> Option<forks::Forks> {
        None
    }

    /// Arms of the function that runs calls, if there are some from the start.
    fn first_arms(&self) -> Vec<Arm> {
        Vec::new()
    }

    /// The cotangent of a result of a call when the call's turn has come.
    fn collected(&self, context: &mut Context, state: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        self.lookup(context, state, identity, span)
    }
}

/// Where calls with a rule of their own are kept: a constructor and an arm of the function for each place.
#[derive(Clone)]
struct Calls {
    ty: TypeId,
    function: FunctionId,
    /// How many parameters the function has between the call and the state.
    given: usize,
}

/// Takes so many identities for scalars that contribute nothing themselves.
fn skip_identities(context: &mut Context, handle: &Atom, count: Atom, span: Span) {
    context.for_loop(count, Vec::new(), span, |context, _, _| {
        next_identity(context, handle, span);
        Vec::new()
    });
}

/// Takes the next identity.
fn next_identity(context: &mut Context, handle: &Atom, span: Span) -> Atom {
    let (handle, indices, values) = (handle.clone(), Vec::new(), Vec::new());
    context.emit_one(Op::Log { handle, indices, values }, span)
}

/// What is known when the program has run.
#[derive(Clone)]
struct Run {
    /// How many scalars the input has.
    inputs: Atom,
    environment: Vec<Atom>,
    /// The logs, closed.
    columns: Vec<Atom>,
    /// The next number of each log without columns.
    counts: Vec<Atom>,
    /// The first identity that nobody has.
    end: Atom,
    /// What the rung made of it.
    survey: Vec<Atom>,
    /// What the reverse pass has at hand.
    given: Vec<Atom>,
}

/// A rung for certain numbers, with the types that it needs, and all that was made with it.
pub(crate) struct Machinery {
    numbers: Rc<Numbers>,
    /// Which rung it is.
    name: Rung,
    rung: Rc<dyn Backpropagation>,
    /// Functions by which arguments have something beside them, which results are wanted so, and whether they fork.
    functions: FxHashMap<(FunctionId, Vec<bool>, Vec<bool>, bool), FunctionId>,
    types: FxHashMap<TypeId, TypeId>,
    walks: FxHashMap<(Walk, Type), FunctionId>,
    /// The reverse pass through each place where a function with a rule is called.
    calls: Vec<Arm>,
}

impl Machinery {
    fn new(rung: Rung, numbers: Numbers, context: &mut Context) -> Machinery {
        let numbers = Rc::new(numbers);
        let shared = Rc::clone(&numbers);
        let machinery: Rc<dyn Backpropagation> = match rung {
            Rung::Tape => Rc::new(tape::Tape::new(shared, context)),
            Rung::Naive => Rc::new(naive::Naive::new(shared)),
            Rung::Staged => Rc::new(staged::Staged::new(shared, context)),
            Rung::Cayley => Rc::new(staged::Cayley::new(shared, context, false)),
            Rung::Sparse => Rc::new(staged::Cayley::new(shared, context, true)),
            Rung::Mutable => Rc::new(mutable::Mutable::new(shared, context, true)),
            Rung::Single => Rc::new(mutable::Mutable::new(shared, context, false)),
            Rung::Contrib => Rc::new(contrib::Contrib::new(shared, context)),
            Rung::Delta => Rc::new(delta::Delta::new(shared, context)),
            Rung::Parallel => Rc::new(parallel::Parallel::new(shared, context)),
        };
        Machinery {
            numbers,
            name: rung,
            calls: machinery.first_arms(),
            rung: machinery,
            functions: FxHashMap::default(),
            types: FxHashMap::default(),
            walks: FxHashMap::default(),
        }
    }
}

/// What the expansion of derivatives by dual numbers keeps from one derivative to the next.
pub(crate) struct DualEngine {
    rung: Rung,
    /// By numbers, and by derivative where calls with rules of their own are kept: their type must be complete when the derivative around it
    /// is expanded.
    machinery: FxHashMap<(Numbers, usize), Machinery>,
}

impl DualEngine {
    pub fn new(rung: Rung) -> DualEngine {
        DualEngine { rung, machinery: FxHashMap::default() }
    }

    fn machinery(&mut self, context: &mut Context, lambda: &Lambda) -> &mut Machinery {
        let numbers = survey(context, lambda);
        let number = if numbers.calls { 1 + self.machinery.len() } else { 0 };
        let rung = self.rung;
        self.machinery.entry((numbers.clone(), number)).or_insert_with(|| Machinery::new(rung, numbers, context))
    }
}

impl ReverseEngine for DualEngine {
    fn vjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let lambda = bound_lambda(context, parts, span);
        let machinery = self.machinery(context, &lambda);
        let run = forward(context, machinery, &lambda, span);
        let cotangents = backward(context, machinery, &lambda, &run, &parts.seeds, span);
        (run.results, cotangents)
    }

    fn mjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let lambda = bound_lambda(context, parts, span);
        let machinery = self.machinery(context, &lambda);
        let run = forward(context, machinery, &lambda, span);
        let params: Vec<Atom> = lambda.params.iter().map(|param| Atom::Var(param.var)).collect();
        let inner: Vec<_> = params.iter().map(|param| context.sizes_of_value(param, span)).collect();
        let index = context.fresh("seed", Type::I64).var;
        let body = context.block(|context| {
            let at = |context: &mut Context, seed: &Atom| {
                context.emit_one(Op::Index { array: seed.clone(), indices: vec![Atom::Var(index)] }, span)
            };
            let seeds: Vec<Atom> = parts.seeds.iter().map(|seed| at(context, seed)).collect();
            backward(context, machinery, &lambda, &run, &seeds, span)
        });
        let types = lambda.params.iter().map(|param| with_axis(&param.ty)).collect();
        let space = vec![Axis { var: index, size: parts.count.clone().unwrap_or(Atom::i64(0)) }];
        let cotangents = context.b.push(Op::Build { space, body, inner }, types, span);
        (run.results, cotangents)
    }
}

fn bound_lambda(context: &mut Context, parts: &Differentiate, span: Span) -> Lambda {
    let lambda = context.copy_lambda(&parts.function);
    for (param, arg) in lambda.params.iter().zip(&parts.args) {
        context.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg.clone()]), span });
    }
    lambda
}

/// The primal run: its results without and with what stands beside them.
struct Forward {
    run: Run,
    results: Vec<Atom>,
    /// Per result, its parts if it has something beside it.
    dual_results: Vec<Option<Vec<Atom>>>,
    /// The parameters that a cotangent can reach.
    active: Vec<bool>,
}

/// Emits the function on inputs with identities.
fn forward(context: &mut Context, machinery: &mut Machinery, lambda: &Lambda, span: Span) -> Forward {
    let params: Vec<Var> = lambda.params.iter().map(|param| param.var).collect();
    let wanted: Vec<bool> = lambda.body.results.iter().map(|result| context.carries(&context.type_of(result))).collect();
    let active = active_variables(context, &lambda.body, params, &wanted);
    let active_params: Vec<bool> = lambda.params.iter().map(|param| active.contains(&param.var)).collect();
    let mut dual = Dual::new(context, machinery, active);
    let mut inputs = Atom::i64(0);
    for (param, _) in lambda.params.iter().zip(&active_params).filter(|(_, active)| **active) {
        let counted = dual.walk(Walk::Count, &param.ty, vec![Atom::Var(param.var)], vec![inputs], &[], span);
        inputs = counted.1.into_iter().next().unwrap_or(Atom::i64(0));
    }
    let environment = dual.machinery.rung.environment(dual.context, &inputs, span);
    let logs = dual.machinery.rung.all_logs();
    let handles: Vec<Binder> = logs.iter().map(|log| dual.context.fresh("tape", Type::Log(log.clone().into()))).collect();
    dual.environment = atoms_of(&handles).into_iter().chain(environment.clone()).collect();
    dual.context.b.push_block();
    let mut next = Atom::i64(1);
    for (param, _) in lambda.params.iter().zip(&active_params).filter(|(_, active)| **active) {
        let given = dual.environment.clone();
        let (parts, after) = dual.walk(Walk::Interleave, &param.ty, vec![Atom::Var(param.var)], vec![next], &given, span);
        next = after.into_iter().next().unwrap_or(Atom::i64(1));
        dual.name(param.var, parts);
    }
    dual.statements(&lambda.body);
    let mut flags = Vec::new();
    for (result, wanted) in lambda.body.results.iter().zip(&wanted) {
        flags.push(*wanted && dual.is_dual(result));
    }
    let mut values = dual.atoms(&lambda.body.results, &flags, span);
    // A log without columns does not say how many rows it had.
    let uncounted: Vec<&Binder> = handles.iter().zip(&logs).filter(|(_, log)| log.columns().is_empty()).map(|it| it.0).collect();
    for handle in &uncounted {
        values.push(next_identity(dual.context, &Atom::Var(handle.var), span));
    }
    let body = dual.context.b.pop_block(values);
    let first = dual.context.i64_op(chadwick_core::BinaryOp::Add, inputs.clone(), Atom::i64(1), span);
    let starts = std::iter::once(first.clone()).chain(std::iter::repeat(Atom::i64(1)));
    let opened: Vec<(Binder, Atom)> = handles.iter().cloned().zip(starts).collect();
    let (columns, mut values) = with_logs(dual.context, opened, body, span);
    let counts = values.split_off(values.len() - uncounted.len());
    let end = match (logs.first().is_some_and(|log| !log.columns().is_empty()), columns.first(), counts.first()) {
        (true, Some(array), _) => {
            let rows = dual.context.emit_one(Op::Dim { array: array.clone(), axis: 0 }, span);
            dual.context.i64_op(chadwick_core::BinaryOp::Add, rows, first, span)
        }
        (_, _, count) => count.cloned().unwrap_or(Atom::i64(0)),
    };
    let mut run = Run { inputs, environment, columns, counts, end, survey: Vec::new(), given: Vec::new() };
    run.survey = dual.machinery.rung.survey(dual.context, &run, span);
    let mut values = values.into_iter();
    let (mut results, mut dual_results) = (Vec::new(), Vec::new());
    for (result, flag) in lambda.body.results.iter().zip(&flags) {
        let ty = dual.context.type_of(result);
        if !*flag {
            results.extend(values.next());
            dual_results.push(None);
            continue;
        }
        let count = dual.dual_type(&ty).len();
        let parts: Vec<Atom> = values.by_ref().take(count).collect();
        results.extend(dual.walk(Walk::Plain, &ty, parts.clone(), Vec::new(), &[], span).0);
        dual_results.push(Some(parts));
    }
    Forward { run, results, dual_results, active: active_params }
}

/// Runs a block with open logs, each with its handle and the number of its first row; returns all columns and the block's results.
fn with_logs(context: &mut Context, mut logs: Vec<(Binder, Atom)>, body: Block, span: Span) -> (Vec<Atom>, Vec<Atom>) {
    let Some((handle, start)) = logs.pop() else {
        body.statements.into_iter().for_each(|statement| context.push_statement(statement));
        return (Vec::new(), body.results);
    };
    let Type::Log(log) = &handle.ty else { return (Vec::new(), body.results) };
    let own = log.columns();
    let values: Vec<Type> = body.results.iter().map(|result| context.type_of(result).any_sizes()).collect();
    let (count, types) = (own.len(), [own, values].concat());
    let op = Op::WithLog { handle, start, body };
    if logs.is_empty() {
        let mut all = context.b.push(op, types, span);
        let values = all.split_off(count);
        return (all, values);
    }
    // The columns of logs inside come first among the results of those outside.
    let body = context.block(|context| context.b.push(op, types, span));
    let (mut columns, mut values) = with_logs(context, logs, body, span);
    let rest = values.split_off(count);
    columns.extend(values);
    (columns, rest)
}

/// Emits the reverse pass for one cotangent; returns the cotangents of the parameters.
fn backward(
    context: &mut Context,
    machinery: &mut Machinery,
    lambda: &Lambda,
    forward: &Forward,
    seeds: &[Atom],
    span: Span,
) -> Vec<Atom> {
    let mut dual = Dual::new(context, machinery, Default::default());
    let handle = dual.machinery.rung.reverse_log().map(|log| dual.context.fresh("sent", Type::Log(log.into())));
    let given = handle.as_ref().map(|handle| dual.machinery.rung.given(&forward.run, &Atom::Var(handle.var)));
    let run = Run { given: given.unwrap_or_default(), ..forward.run.clone() };
    dual.context.b.push_block();
    let mut state = dual.machinery.rung.start(dual.context, &run, span);
    for ((result, parts), seed) in forward.results.iter().zip(&forward.dual_results).zip(seeds) {
        let ty = dual.context.type_of(result);
        if !dual.context.carries(&ty) {
            continue;
        }
        dual.context.check_seed(result, seed, "cotangent", span);
        if let Some(parts) = parts {
            let inputs = [parts.clone(), vec![seed.clone()]].concat();
            state = dual.walk(Walk::Seed, &ty, inputs, state, &run.given, span).1;
        }
    }
    let state = dual.machinery.rung.resolve(dual.context, &run, state, span);
    let body = dual.context.b.pop_block(state);
    let logs = handle.into_iter().map(|handle| (handle, Atom::i64(0))).collect();
    let (_, state) = with_logs(dual.context, logs, body, span);
    let mut next = Atom::i64(1);
    let mut cotangents = Vec::new();
    for (param, active) in lambda.params.iter().zip(&forward.active) {
        let value = Atom::Var(param.var);
        if !*active {
            cotangents.push(dual.context.zero_like(&value, span));
            continue;
        }
        let (values, after) = dual.walk(Walk::Rebuild, &param.ty, vec![value], vec![next], &state, span);
        next = after.into_iter().next().unwrap_or(Atom::i64(1));
        cotangents.extend(values);
    }
    cotangents
}

/// The variables of binders as atoms.
fn atoms_of(binders: &[Binder]) -> Vec<Atom> {
    binders.iter().map(|binder| Atom::Var(binder.var)).collect()
}

/// A block that only names its results.
fn plain_block(results: Vec<Atom>) -> Block {
    Block { statements: Vec::new(), results }
}
