//! What a derivative flows through, as far as it can be seen before running.
//!
//! For every derivative operator the variables that depend on its inputs are followed through Core. Two things are reported: a
//! custom derivative whose function captures such a variable (an error: its rule says nothing about captures), and a path that goes
//! from float to integer and back (a warning: the derivative passes through as if the conversion were smooth).
//! Calls through unknown closures are followed only where they are made; the interpreter checks captures again when it runs.

use chadwick_core::prim::Derivative;
use chadwick_core::visit::{lambda_free_variables, op_free_variables};
use chadwick_core::{
    Atom, Block, Custom, CustomKind, Differentiate, FunctionId, Lambda, Loop, LoopForm, Mode, Op, PrimOp, Program, Statement, Var,
};
use chadwick_source::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// Errors and warnings about the derivatives of a program.
pub fn check_derivatives(program: &Program) -> Vec<Diagnostic> {
    let mut roots = Vec::new();
    for function in &program.functions {
        collect_roots(&function.body, &mut roots);
    }
    let mut activity = Activity::new(program, false);
    for root in roots {
        activity.reverse = matches!(root.mode, Mode::Vjp | Mode::Mjp);
        activity.summaries.clear();
        let mut active = Active::default();
        active.values.extend(root.function.params.iter().map(|param| param.var));
        activity.block(&root.function.body, &mut active);
    }
    activity.diagnostics
}

/// The variables in a block that depend on the active ones, itself and nested blocks included.
pub fn active_variables(
    program: &Program,
    block: &Block,
    inputs: impl IntoIterator<Item = Var>,
    reverse: bool,
) -> FxHashSet<Var> {
    let mut activity = Activity::new(program, reverse);
    let mut active = Active::default();
    active.values.extend(inputs);
    activity.block(block, &mut active);
    active.values
}

/// Which results of a function are active, given which arguments are.
pub fn active_results(program: &Program, function: FunctionId, args: &[bool], reverse: bool) -> Vec<bool> {
    Activity::new(program, reverse).call(function, args.to_vec())
}

fn collect_roots<'p>(block: &'p Block, roots: &mut Vec<&'p Differentiate>) {
    for statement in &block.statements {
        if let Op::Differentiate(differentiate) = &statement.op {
            roots.push(differentiate);
        }
        for scope in statement.op.scopes() {
            collect_roots(scope.block, roots);
        }
    }
}

/// The variables that a derivative flows through, and those of them that came through an integer.
#[derive(Clone, Default)]
struct Active {
    values: FxHashSet<Var>,
    through_integer: FxHashSet<Var>,
}

impl Active {
    fn has(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if self.values.contains(var))
    }

    fn any(&self, atoms: &[Atom]) -> bool {
        atoms.iter().any(|atom| self.has(atom))
    }

    fn mark(&mut self, var: Var, active: bool) -> bool {
        active && self.values.insert(var)
    }
}

struct Activity<'p> {
    program: &'p Program,
    reverse: bool,
    /// Results of functions by the activity of their arguments; for those being computed, what is known so far.
    summaries: FxHashMap<(FunctionId, Vec<bool>), Vec<bool>>,
    open: Vec<(FunctionId, Vec<bool>)>,
    /// Those of the open ones whose results were asked for before they were known.
    recursive: FxHashSet<(FunctionId, Vec<bool>)>,
    reported: FxHashSet<Span>,
    diagnostics: Vec<Diagnostic>,
}

impl<'p> Activity<'p> {
    fn new(program: &'p Program, reverse: bool) -> Self {
        Activity {
            program,
            reverse,
            summaries: FxHashMap::default(),
            open: Vec::new(),
            recursive: FxHashSet::default(),
            reported: FxHashSet::default(),
            diagnostics: Vec::new(),
        }
    }

    /// Which results of the block are active.
    fn block(&mut self, block: &Block, active: &mut Active) -> Vec<bool> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                self.statement(statement, active);
            }
            block.results.iter().map(|result| active.has(result)).collect()
        })
    }

    fn statement(&mut self, statement: &Statement, active: &mut Active) {
        let results = self.op(&statement.op, statement, active);
        for (binder, is_active) in statement.binders.iter().zip(results) {
            active.mark(binder.var, is_active);
        }
    }

    fn op(&mut self, op: &Op, statement: &Statement, active: &mut Active) -> Vec<bool> {
        let count = statement.binders.len();
        let all = |is_active: bool| vec![is_active; count];
        match op {
            Op::Copy(atoms) | Op::Trace { args: atoms, .. } => atoms.iter().map(|atom| active.has(atom)).collect(),
            Op::Prim(op, args) => vec![self.prim(*op, args, statement, active)],
            Op::If { then, otherwise, .. } => {
                let then = self.block(then, active);
                let otherwise = self.block(otherwise, active);
                either(then, &otherwise)
            }
            Op::Call { function, args } => {
                let args: Vec<bool> = args.iter().map(|arg| active.has(arg)).collect();
                self.call(*function, args)
            }
            Op::Closure(lambda) => {
                self.block(&lambda.body, active);
                all(lambda_free_variables(lambda).iter().any(|var| active.values.contains(var)))
            }
            Op::Apply { function, args } => all(active.has(function) || active.any(args)),
            Op::Construct { args, .. } => all(active.any(args)),
            Op::Match { scrutinee, arms, otherwise } => {
                let is_active = active.has(scrutinee);
                let mut results = all(false);
                for arm in arms {
                    for binder in &arm.binders {
                        active.mark(binder.var, is_active);
                    }
                    results = either(results, &self.block(&arm.body, active));
                }
                if let Some(otherwise) = otherwise {
                    results = either(results, &self.block(otherwise, active));
                }
                results
            }
            Op::Build { body, .. } => self.block(body, active),
            Op::Reduce { op, neutral, body, .. } | Op::Scan { op, neutral, body, .. } => {
                let elements = self.block(body, active);
                let start = neutral.iter().zip(&elements).map(|(neutral, element)| active.has(neutral) || *element).collect();
                self.operator(op, start, active)
            }
            Op::Hist { dest, rank, op, neutral, body, .. } => {
                let written = self.block(body, active);
                let start = dest
                    .iter()
                    .zip(neutral)
                    .zip(written.iter().skip(*rank))
                    .map(|((dest, neutral), value)| active.has(dest) || active.has(neutral) || *value)
                    .collect();
                self.operator(op, start, active)
            }
            Op::Scatter { dest, rank, body, .. } => {
                let written = self.block(body, active);
                dest.iter().zip(written.iter().skip(*rank)).map(|(dest, value)| active.has(dest) || *value).collect()
            }
            Op::ArrayLiteral { elements, .. } => all(active.any(elements)),
            Op::Index { array, .. } | Op::Slice { array, .. } | Op::Transpose { array, .. } | Op::Reshape { array, .. } => {
                all(active.has(array))
            }
            Op::Update { array, value, .. } => all(active.has(array) || active.has(value)),
            Op::Concat { arrays } => all(active.any(arrays)),
            Op::Dim { .. } | Op::Assert { .. } | Op::Accumulate { .. } => all(false),
            Op::Loop(parts) => self.loop_results(parts, count, active),
            Op::Par { left, right } => [self.block(left, active), self.block(right, active)].concat(),
            Op::Recompute(block) => self.block(block, active),
            Op::Differentiate(parts) => {
                for (param, arg) in parts.function.params.iter().zip(&parts.args) {
                    let is_active = active.has(arg);
                    active.mark(param.var, is_active);
                }
                self.block(&parts.function.body, active);
                all(op_free_variables(op).iter().any(|var| active.values.contains(var)))
            }
            Op::Custom(custom) => self.custom(custom, statement, active),
            Op::WithAccumulators { body, .. } => {
                self.block(body, active);
                all(op_free_variables(op).iter().any(|var| active.values.contains(var)))
            }
        }
    }

    fn prim(&mut self, op: PrimOp, args: &[Atom], statement: &Statement, active: &mut Active) -> bool {
        let flows = op.derivatives();
        let passes = |atom: &Atom, flow: &Derivative| active.has(atom) && *flow != Derivative::Zero;
        let is_active = args.iter().zip(&flows).any(|(atom, flow)| passes(atom, flow));
        let Some(binder) = statement.binders.first() else { return is_active };
        if !is_active {
            return false;
        }
        let came_through = |atom: &Atom| matches!(atom, Atom::Var(var) if active.through_integer.contains(var));
        match op {
            PrimOp::Convert { from, to } if from.is_float() && to.is_integer() => {
                active.through_integer.insert(binder.var);
            }
            PrimOp::Convert { from, to } if from.is_integer() && to.is_float() => {
                if args.iter().any(came_through) && self.reported.insert(statement.span) {
                    let message = "a derivative flows from float to integer and back here";
                    let hint = "it passes through as if the conversion were smooth; use `floor`, `ceil` or `round` for a zero derivative";
                    self.diagnostics.push(Diagnostic::warning("W0301", statement.span, message).hint(hint));
                }
            }
            _ => {
                if args.iter().any(came_through) && op.result().is_integer() {
                    active.through_integer.insert(binder.var);
                }
            }
        }
        true
    }

    /// The results of a fold: what is active in the state stays active.
    fn operator(&mut self, op: &Lambda, start: Vec<bool>, active: &mut Active) -> Vec<bool> {
        let mut state = start;
        loop {
            for (index, param) in op.params.iter().enumerate() {
                let is_active = state.get(index % state.len().max(1)).copied().unwrap_or(false);
                active.mark(param.var, is_active);
            }
            let next = either(state.clone(), &self.block(&op.body, active));
            if next == state {
                return state;
            }
            state = next;
        }
    }

    fn loop_results(&mut self, parts: &Loop, count: usize, active: &mut Active) -> Vec<bool> {
        let mut state: Vec<bool> = parts.initial.iter().map(|initial| active.has(initial)).collect();
        loop {
            for (binder, is_active) in parts.carry.iter().zip(&state) {
                active.mark(binder.var, *is_active);
            }
            if let LoopForm::While { condition } = &parts.form {
                self.block(condition, active);
            }
            let body = self.block(&parts.body, active);
            let next = either(state.clone(), &body);
            if next == state {
                let mut results = state;
                if parts.counted {
                    results.push(false);
                }
                results.extend(body.iter().skip(parts.carry.len()));
                results.resize(count, false);
                return results;
            }
            state = next;
        }
    }

    fn call(&mut self, function: FunctionId, args: Vec<bool>) -> Vec<bool> {
        let Some(target) = self.program.functions.get(function.0 as usize) else { return Vec::new() };
        if !args.contains(&true) {
            return vec![false; target.results.len()];
        }
        let key = (function, args.clone());
        if let Some(results) = self.summaries.get(&key) {
            if self.open.contains(&key) {
                self.recursive.insert(key);
            }
            return results.clone();
        }
        // A recursive function is gone through until nothing new is found.
        self.summaries.insert(key.clone(), vec![false; target.results.len()]);
        self.open.push(key.clone());
        let results = loop {
            let mut active = Active::default();
            for (param, is_active) in target.params.iter().zip(&args) {
                active.mark(param.var, *is_active);
            }
            let results = self.block(&target.body, &mut active);
            let known = self.summaries.insert(key.clone(), results.clone());
            if !self.recursive.remove(&key) || known.is_some_and(|known| known == results) {
                break results;
            }
            let open = &self.open;
            self.summaries.retain(|other, _| open.contains(other));
        };
        self.open.pop();
        results
    }

    fn custom(&mut self, custom: &Custom, statement: &Statement, active: &mut Active) -> Vec<bool> {
        let uses_rule = match custom.kind {
            CustomKind::Vjp | CustomKind::VjpTape { .. } => self.reverse,
            CustomKind::Jvp => !self.reverse,
        };
        if !uses_rule {
            for (param, arg) in custom.function.params.iter().zip(&custom.args) {
                let is_active = active.has(arg);
                active.mark(param.var, is_active);
            }
            let results = self.block(&custom.function.body, active);
            let skip = if let CustomKind::VjpTape { tape } = custom.kind { tape } else { 0 };
            return results.into_iter().skip(skip).collect();
        }
        let captured = lambda_free_variables(&custom.function).into_iter().find(|var| active.values.contains(var));
        if let Some(captured) = captured
            && self.reported.insert(statement.span)
        {
            let name = self.program.var_names.get(captured.0 as usize).filter(|name| !name.is_empty());
            let name = name.map_or(String::from("a value"), ToString::to_string);
            let message = format!("the function with a custom derivative captures {name}, through which a derivative would flow");
            let hint = format!("make {name} part of its argument, so that the rule can return a derivative for it");
            self.diagnostics.push(Diagnostic::error("E0303", statement.span, message).hint(hint));
        }
        vec![active.any(&custom.args); statement.binders.len()]
    }
}

fn either(left: Vec<bool>, right: &[bool]) -> Vec<bool> {
    left.iter().enumerate().map(|(index, left)| *left || right.get(index).copied().unwrap_or(false)).collect()
}
