//! Where a derivative can flow: from which variables to which, and from which parameters of a function to which results.
//!
//! A block is a graph from variables to the variables that depend on them. What a call passes on is known from a summary of the function,
//! found once for all functions that call each other by going through them until nothing new appears.

use chadwick_core::prim::Derivative;
use chadwick_core::visit::{lambda_free_variables, op_free_variables};
use chadwick_core::{
    Atom, Binder, Block, Custom, CustomKind, FunctionId, Lambda, Loop, LoopForm, Mode, Op, Program, Statement, Var,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// For each result of a function, which parameters it depends on.
pub type Summary = Rc<Vec<FxHashSet<usize>>>;

/// Summaries of the functions asked for so far, by function and whether the mode is reverse.
#[derive(Default)]
pub struct Flows {
    summaries: FxHashMap<(FunctionId, bool), Summary>,
}

impl Flows {
    /// Which results of a function are active, given which arguments are.
    pub fn active_results(&mut self, program: &Program, function: FunctionId, args: &[bool], reverse: bool) -> Vec<bool> {
        let summary = self.summary(program, function, reverse);
        summary.iter().map(|params| params.iter().any(|param| args.get(*param) == Some(&true))).collect()
    }

    /// The variables in a block that depend on the inputs, nested blocks included.
    pub fn active_variables(
        &mut self,
        program: &Program,
        block: &Block,
        inputs: impl IntoIterator<Item = Var>,
        reverse: bool,
    ) -> FxHashSet<Var> {
        let graph = Graph::of(block, reverse);
        self.prepare(program, &graph, reverse);
        self.reach(&graph, inputs, reverse)
    }

    /// The variables in a block on which one of the outputs depends, nested blocks included.
    pub fn useful_variables(
        &mut self,
        program: &Program,
        block: &Block,
        outputs: impl IntoIterator<Item = Var>,
        reverse: bool,
    ) -> FxHashSet<Var> {
        let graph = Graph::of(block, reverse);
        self.prepare(program, &graph, reverse);
        let mut sources: FxHashMap<Var, Vec<Var>> = FxHashMap::default();
        for (from, to) in &graph.edges {
            to.iter().for_each(|to| sources.entry(*to).or_default().push(*from));
        }
        for call in &graph.calls {
            let Some(summary) = self.summaries.get(&(call.function, reverse)) else { continue };
            for (result, params) in call.results.iter().zip(summary.iter()) {
                let args = params.iter().filter_map(|param| call.args.get(*param));
                let vars = args.filter_map(|arg| if let Atom::Var(var) = arg { Some(*var) } else { None });
                sources.entry(*result).or_default().extend(vars);
            }
        }
        let mut useful: FxHashSet<Var> = FxHashSet::default();
        let mut waiting: Vec<Var> = outputs.into_iter().collect();
        while let Some(var) = waiting.pop() {
            if useful.insert(var) {
                waiting.extend(sources.get(&var).into_iter().flatten());
            }
        }
        useful
    }

    /// The calls in a block that have an argument that depends on the inputs, with which do.
    pub fn active_calls(
        &mut self,
        program: &Program,
        block: &Block,
        inputs: Vec<Var>,
        reverse: bool,
    ) -> Vec<(FunctionId, Vec<bool>)> {
        let graph = Graph::of(block, reverse);
        self.prepare(program, &graph, reverse);
        let active = self.reach(&graph, inputs, reverse);
        let is_active = |arg: &Atom| matches!(arg, Atom::Var(var) if active.contains(var));
        let calls = graph.calls.iter().map(|call| (call.function, call.args.iter().map(is_active).collect::<Vec<bool>>()));
        calls.filter(|(_, mask)| mask.contains(&true)).collect()
    }

    pub fn summary(&mut self, program: &Program, function: FunctionId, reverse: bool) -> Summary {
        let key = (function, reverse);
        if !self.summaries.contains_key(&key) {
            self.summarise(program, vec![function], reverse);
        }
        self.summaries.get(&key).cloned().unwrap_or_default()
    }

    /// Makes sure that the functions called in a graph have summaries.
    pub fn prepare(&mut self, program: &Program, graph: &Graph, reverse: bool) {
        let missing = graph.calls.iter().map(|call| call.function).filter(|it| !self.summaries.contains_key(&(*it, reverse)));
        let missing: Vec<FunctionId> = missing.collect();
        if !missing.is_empty() {
            self.summarise(program, missing, reverse);
        }
    }

    fn summarise(&mut self, program: &Program, start: Vec<FunctionId>, reverse: bool) {
        // All functions within reach that have no summary yet, with their graphs.
        let mut graphs: Vec<(FunctionId, Graph)> = Vec::new();
        let mut callers: FxHashMap<FunctionId, Vec<usize>> = FxHashMap::default();
        let mut waiting = start;
        while let Some(function) = waiting.pop() {
            let key = (function, reverse);
            let Some(target) = program.functions.get(function.0 as usize) else { continue };
            if self.summaries.contains_key(&key) {
                continue;
            }
            self.summaries.insert(key, Rc::new(vec![FxHashSet::default(); target.results.len()]));
            let graph = Graph::of(&target.body, reverse);
            for call in &graph.calls {
                callers.entry(call.function).or_default().push(graphs.len());
                waiting.push(call.function);
            }
            graphs.push((function, graph));
        }
        let mut waiting: Vec<usize> = (0..graphs.len()).collect();
        let mut queued: FxHashSet<usize> = waiting.iter().copied().collect();
        while let Some(at) = waiting.pop() {
            queued.remove(&at);
            let (function, graph) = &graphs[at];
            let Some(target) = program.functions.get(function.0 as usize) else { continue };
            let mut summary = vec![FxHashSet::default(); target.results.len()];
            for (index, param) in target.params.iter().enumerate() {
                let reached = self.reach(graph, [param.var], reverse);
                for (result, params) in target.body.results.iter().zip(&mut summary) {
                    if matches!(result, Atom::Var(var) if reached.contains(var)) {
                        params.insert(index);
                    }
                }
            }
            let key = (*function, reverse);
            if self.summaries.get(&key).is_none_or(|known| **known != summary) {
                self.summaries.insert(key, Rc::new(summary));
                let callers = callers.get(function).into_iter().flatten();
                waiting.extend(callers.copied().filter(|caller| queued.insert(*caller)));
            }
        }
    }

    /// What depends on the inputs, calls by their summaries.
    pub fn reach(&self, graph: &Graph, inputs: impl IntoIterator<Item = Var>, reverse: bool) -> FxHashSet<Var> {
        let mut reached: FxHashSet<Var> = FxHashSet::default();
        let mut waiting: Vec<Var> = inputs.into_iter().collect();
        while let Some(var) = waiting.pop() {
            if !reached.insert(var) {
                continue;
            }
            waiting.extend(graph.edges.get(&var).into_iter().flatten());
            for (call, arg) in graph.passed.get(&var).into_iter().flatten() {
                let call = &graph.calls[*call];
                let Some(summary) = self.summaries.get(&(call.function, reverse)) else { continue };
                let results = call.results.iter().zip(summary.iter());
                waiting.extend(results.filter(|(_, params)| params.contains(arg)).map(|(result, _)| *result));
            }
        }
        reached
    }
}

/// What depends on what inside a block.
#[derive(Default)]
pub struct Graph {
    reverse: bool,
    edges: FxHashMap<Var, Vec<Var>>,
    pub calls: Vec<Call>,
    /// For each variable, the calls it is an argument of, and which.
    passed: FxHashMap<Var, Vec<(usize, usize)>>,
}

pub struct Call {
    pub function: FunctionId,
    pub args: Vec<Atom>,
    pub results: Vec<Var>,
}

impl Graph {
    pub fn of(block: &Block, reverse: bool) -> Graph {
        let mut graph = Graph { reverse, ..Graph::default() };
        graph.block(block);
        graph
    }

    fn edge(&mut self, from: &Atom, to: Var) {
        if let Atom::Var(from) = from {
            self.edges.entry(*from).or_default().push(to);
        }
    }

    fn pairwise(&mut self, from: &[Atom], to: &[Binder]) {
        from.iter().zip(to).for_each(|(from, to)| self.edge(from, to.var));
    }

    fn all<'a>(&mut self, from: impl IntoIterator<Item = &'a Atom>, to: &[Binder]) {
        for from in from {
            to.iter().for_each(|to| self.edge(from, to.var));
        }
    }

    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            block.statements.iter().for_each(|statement| self.statement(statement));
        });
    }

    fn statement(&mut self, statement: &Statement) {
        let binders = &statement.binders;
        match &statement.op {
            Op::Copy(atoms) | Op::Trace { args: atoms, .. } => self.pairwise(atoms, binders),
            Op::Prim(op, args) => {
                let flows = op.derivatives();
                let passing = args.iter().zip(&flows).filter(|(_, flow)| **flow != Derivative::Zero);
                let passing: Vec<&Atom> = passing.map(|(arg, _)| arg).collect();
                self.all(passing, binders);
            }
            Op::If { then, otherwise, .. } => {
                for block in [then, otherwise] {
                    self.block(block);
                    self.pairwise(&block.results, binders);
                }
            }
            Op::Call { function, args } => {
                for (at, arg) in args.iter().enumerate() {
                    if let Atom::Var(var) = arg {
                        self.passed.entry(*var).or_default().push((self.calls.len(), at));
                    }
                }
                let results = binders.iter().map(|binder| binder.var).collect();
                self.calls.push(Call { function: *function, args: args.clone(), results });
            }
            Op::Closure(lambda) => {
                self.block(&lambda.body);
                let captured: Vec<Atom> = lambda_free_variables(lambda).into_iter().map(Atom::Var).collect();
                self.all(&captured, binders);
            }
            Op::Apply { .. } | Op::Construct { .. } | Op::ArrayLiteral { .. } | Op::Concat { .. } => {
                let mut atoms = Vec::new();
                statement.op.for_each_atom(&mut |atom| atoms.push(atom.clone()));
                self.all(&atoms, binders);
            }
            Op::Match { scrutinee, arms, otherwise } => {
                for arm in arms {
                    self.all([scrutinee], &arm.binders);
                    self.block(&arm.body);
                    self.pairwise(&arm.body.results, binders);
                }
                if let Some(block) = otherwise {
                    self.block(block);
                    self.pairwise(&block.results, binders);
                }
            }
            Op::Build { body, .. } | Op::Recompute(body) => {
                self.block(body);
                self.pairwise(&body.results, binders);
            }
            Op::Reduce { op, neutral, body, .. } | Op::Scan { op, neutral, body, .. } => {
                self.block(body);
                self.operator(op, &[neutral, &body.results], binders);
            }
            Op::Hist { dest, rank, op, neutral, body, .. } => {
                self.block(body);
                self.operator(op, &[dest, neutral, &body.results[*rank..]], binders);
            }
            Op::Scatter { dest, rank, body, .. } => {
                self.block(body);
                self.pairwise(dest, binders);
                self.pairwise(&body.results[*rank..], binders);
            }
            Op::Index { array, .. } | Op::Slice { array, .. } | Op::Transpose { array, .. } | Op::Reshape { array, .. } => {
                self.all([array], binders);
            }
            Op::Update { array, value, .. } => self.all([array, value], binders),
            // The number of a row has no derivative.
            Op::Dim { .. } | Op::Assert { .. } | Op::Accumulate { .. } | Op::Log { .. } => {}
            Op::WithLog { handle, body, .. } => {
                self.block(body);
                let (indices, columns) = match &handle.ty {
                    chadwick_core::Type::Log(log) => (log.indices, log.indices + log.values.len()),
                    _ => (0, 0),
                };
                // Anything may be written to the columns of values; those of indices have no derivative.
                let values = binders.get(indices..columns).unwrap_or_default();
                self.anything(&statement.op, values);
                self.pairwise(&body.results, binders.get(columns..).unwrap_or_default());
            }
            Op::Loop(parts) => self.loop_statement(parts, binders),
            Op::Par { left, right } => {
                let (first, second) = binders.split_at(left.results.len().min(binders.len()));
                for (block, binders) in [(left, first), (right, second)] {
                    self.block(block);
                    self.pairwise(&block.results, binders);
                }
            }
            Op::Differentiate(parts) => {
                self.pairwise(&parts.args, &parts.function.params);
                self.block(&parts.function.body);
                // Which numbers depend on which is no smooth function of them.
                if parts.mode != Mode::Dependencies {
                    self.anything(&statement.op, binders);
                }
            }
            Op::Custom(custom) => self.custom(custom, binders),
            Op::WithAccumulators { handles, body, .. } => {
                self.block(body);
                self.pairwise(&body.results, binders.get(handles.len()..).unwrap_or_default());
                self.anything(&statement.op, binders);
            }
        }
    }

    /// Everything the operation uses flows into all its results.
    fn anything(&mut self, op: &Op, binders: &[Binder]) {
        let used: Vec<Atom> = op_free_variables(op).into_iter().map(Atom::Var).collect();
        self.all(&used, binders);
    }

    /// A fold: what flows into one component of the state flows into both operands and the result of that component.
    fn operator(&mut self, op: &Lambda, sources: &[&[Atom]], binders: &[Binder]) {
        self.block(&op.body);
        let (left, right) = op.params.split_at(op.params.len() / 2);
        for targets in [left, right, binders] {
            sources.iter().for_each(|source| self.pairwise(source, targets));
            self.pairwise(&op.body.results, targets);
        }
        // Either operand may be all there is.
        for operand in [left, right] {
            operand.iter().zip(binders).for_each(|(operand, binder)| self.edge(&Atom::Var(operand.var), binder.var));
        }
    }

    fn loop_statement(&mut self, parts: &Loop, binders: &[Binder]) {
        if let LoopForm::While { condition } = &parts.form {
            self.block(condition);
        }
        self.block(&parts.body);
        let count = parts.carry.len();
        let (next, emitted) = parts.body.results.split_at(count.min(parts.body.results.len()));
        for targets in [&parts.carry, binders] {
            self.pairwise(&parts.initial, targets);
            self.pairwise(next, &targets[..count.min(targets.len())]);
        }
        // The state at some iteration is the final one.
        parts.carry.iter().zip(binders).for_each(|(carry, binder)| self.edge(&Atom::Var(carry.var), binder.var));
        let emits = binders.get(count + usize::from(parts.counted)..).unwrap_or_default();
        self.pairwise(emitted, emits);
    }

    fn custom(&mut self, custom: &Custom, binders: &[Binder]) {
        if uses_rule(custom, self.reverse) {
            self.all(&custom.args, binders);
            return;
        }
        self.pairwise(&custom.args, &custom.function.params);
        self.block(&custom.function.body);
        let skip = custom.kind.tape();
        self.pairwise(custom.function.body.results.get(skip..).unwrap_or_default(), binders);
    }
}

/// Whether the mode takes the derivative from the rule instead of the function.
pub fn uses_rule(custom: &Custom, reverse: bool) -> bool {
    match custom.kind {
        CustomKind::Vjp | CustomKind::VjpTape { .. } => reverse,
        CustomKind::Jvp => !reverse,
    }
}
