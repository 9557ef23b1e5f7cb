//! What can be said about the derivatives of a program before it runs.
//!
//! For every derivative operator the variables that depend on its inputs are followed through Core. Two things are reported: a
//! custom derivative whose function captures such a variable (an error: its rule says nothing about captures), and a path that goes
//! from float to integer and back (a warning: the derivative passes through, as an integer).
//! Calls through unknown closures are followed only where they are made; the interpreter checks captures again when it runs.

use crate::flow::{Flows, Graph, uses_rule};
use chadwick_core::visit::lambda_free_variables;
use chadwick_core::{Atom, Block, Custom, Differentiate, FunctionId, Op, PrimOp, Program, Statement, Var};
use chadwick_source::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// Errors and warnings about the derivatives of a program.
pub fn check_derivatives(program: &Program) -> Vec<Diagnostic> {
    let mut roots = Vec::new();
    for function in &program.functions {
        collect_roots(&function.body, &mut roots);
    }
    let mut check = Check { program, flows: Flows::default(), reported: FxHashSet::default(), diagnostics: Vec::new() };
    for root in roots {
        check.root(root);
    }
    check.diagnostics
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

/// The integers in a block that are made of active floats.
fn collect_conversions(block: &Block, active: &FxHashSet<Var>, found: &mut Vec<Var>) {
    for statement in &block.statements {
        match (&statement.op, statement.binders.first()) {
            (Op::Prim(PrimOp::Convert { from, to }, args), Some(binder))
                if from.is_float() && to.is_integer() && args.iter().any(|atom| is_in(atom, active)) =>
            {
                found.push(binder.var);
            }
            (op, _) => op.scopes().iter().for_each(|scope| collect_conversions(scope.block, active, found)),
        }
    }
}

struct Check<'p> {
    program: &'p Program,
    flows: Flows,
    reported: FxHashSet<Span>,
    diagnostics: Vec<Diagnostic>,
}

impl Check<'_> {
    /// Goes through everything that the derivative flows through, functions that are called included.
    fn root(&mut self, root: &Differentiate) {
        let program = self.program;
        let reverse = root.mode.is_reverse();
        // The parameters of each function that are known to be active.
        let mut inputs: FxHashMap<FunctionId, FxHashSet<Var>> = FxHashMap::default();
        let mut graphs: FxHashMap<FunctionId, Graph> = FxHashMap::default();
        let params = root.function.params.iter().map(|param| param.var).collect();
        let mut waiting: Vec<(Option<FunctionId>, FxHashSet<Var>)> = vec![(None, params)];
        while let Some((function, params)) = waiting.pop() {
            let body = match function {
                Some(function) => &program.functions[function.0 as usize].body,
                None => &root.function.body,
            };
            let own;
            let graph = match function {
                Some(function) => graphs.entry(function).or_insert_with(|| Graph::of(body, reverse)),
                None => {
                    own = Graph::of(body, reverse);
                    &own
                }
            };
            self.flows.prepare(program, graph, reverse);
            let active = self.flows.reach(graph, params, reverse);
            for call in &graph.calls {
                let Some(target) = program.functions.get(call.function.0 as usize) else { continue };
                let known = inputs.entry(call.function).or_default();
                let before = known.len();
                let passed = target.params.iter().zip(&call.args).filter(|(_, arg)| is_in(arg, &active));
                known.extend(passed.map(|(param, _)| param.var));
                if known.len() > before {
                    waiting.push((Some(call.function), known.clone()));
                }
            }
            let mut conversions = Vec::new();
            collect_conversions(body, &active, &mut conversions);
            let through = self.flows.reach(graph, conversions, reverse);
            self.block(body, &active, &through, reverse);
        }
    }

    /// `through` are the variables that depend on a conversion to an integer.
    fn block(&mut self, block: &Block, active: &FxHashSet<Var>, through: &FxHashSet<Var>, reverse: bool) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                match &statement.op {
                    Op::Prim(PrimOp::Convert { from, to }, args) if from.is_integer() && to.is_float() => {
                        if args.iter().any(|atom| is_in(atom, through)) && self.reported.insert(statement.span) {
                            let message = "a derivative flows from float to integer and back here";
                            let hint = "on its way it is an integer and loses its fraction; use `floor`, `ceil` or `round` for a zero derivative";
                            self.diagnostics.push(Diagnostic::warning("W0301", statement.span, message).hint(hint));
                        }
                    }
                    Op::Custom(custom) if uses_rule(custom, reverse) => self.custom(custom, statement, active),
                    op => op.scopes().iter().for_each(|scope| self.block(scope.block, active, through, reverse)),
                }
            }
        });
    }

    fn custom(&mut self, custom: &Custom, statement: &Statement, active: &FxHashSet<Var>) {
        let captured = lambda_free_variables(&custom.function).into_iter().find(|var| active.contains(var));
        if let Some(captured) = captured
            && self.reported.insert(statement.span)
        {
            let name = self.program.var_names.get(captured.0 as usize).filter(|name| !name.is_empty());
            let name = name.map_or(String::from("a value"), ToString::to_string);
            let message = format!("the function with a custom derivative captures {name}, through which a derivative would flow");
            let hint = format!("make {name} part of its argument, so that the rule can return a derivative for it");
            self.diagnostics.push(Diagnostic::error("E0303", statement.span, message).hint(hint));
        }
    }
}

fn is_in(atom: &Atom, vars: &FxHashSet<Var>) -> bool {
    matches!(atom, Atom::Var(var) if vars.contains(var))
}
