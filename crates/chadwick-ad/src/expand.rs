//! Derivative operators are replaced by code, innermost first.

use crate::context::{Context, with_axis};
use crate::dependencies::Beside;
use crate::engine::{ReverseEngine, ReverseMode};
use crate::forward::{Forward, ForwardFunctions};
use crate::report::{Picked, Refusal, Report};
use crate::reverse::{Reverse, ReverseFunctions};
use crate::split::{Split, SplitFunctions};
use chadwick_core::{
    Atom, Axis, Binder, Block, Custom, Differentiate, FunctionId, Lambda, Mode, Op, Program, Statement, Type, Var,
};
use chadwick_source::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// Replaces every derivative operator of a first-order program by code.
pub fn expand(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    expand_with_report(program, ReverseMode::ChadFast).map(|_| ())
}

/// The same, and what reverse mode decided on the way.
pub fn expand_with_report(program: &mut Program, mode: ReverseMode) -> Result<Report, Vec<Diagnostic>> {
    expand_by(program, mode, false)
}

/// The same by fast CHAD; operators for which there can be no code are left to the interpreter, and the report says why.
pub fn expand_where_possible(program: &mut Program) -> Result<Report, Vec<Diagnostic>> {
    expand_by(program, ReverseMode::ChadFast, true)
}

fn expand_by(program: &mut Program, mode: ReverseMode, leaves: bool) -> Result<Report, Vec<Diagnostic>> {
    let count = program.functions.len();
    let mut expander = Expander {
        context: Context::new(program),
        forward: ForwardFunctions::default(),
        split: SplitFunctions::default(),
        reverse: ReverseFunctions::default(),
        engine: mode.engine(),
        states: FxHashMap::default(),
        expanded: FxHashSet::default(),
        leaves,
        derivatives: Vec::new(),
    };
    for function in 0..count {
        expander.function(FunctionId(function as u32), Span::default());
    }
    let derivatives = expander.derivatives;
    let Context { errors, notes, .. } = expander.context;
    if errors.is_empty() && !has_derivatives(program) {
        for function in &mut program.functions {
            function.body = without_rules(std::mem::take(&mut function.body));
        }
    }
    if errors.is_empty() { Ok(Report::new(notes, derivatives)) } else { Err(errors) }
}

/// Where nothing is left to be differentiated, a function with a rule is what it computes.
fn without_rules(block: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut statements = Vec::new();
        for Statement { binders, op, span } in block.statements {
            let Op::Custom(custom) = op else {
                statements.push(Statement { binders, op: op.map_blocks(&mut without_rules), span });
                continue;
            };
            let Custom { kind, function, args, .. } = *custom;
            let tape = kind.tape();
            let body = without_rules(function.body);
            statements.push(Statement { binders: function.params, op: Op::Copy(args), span });
            statements.extend(body.statements);
            let results = body.results.into_iter().skip(tape).collect();
            statements.push(Statement { binders, op: Op::Copy(results), span });
        }
        Block { statements, results: block.results }
    })
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Done,
}

/// An operator whose function has none inside any more.
pub(crate) enum Prepared {
    Ready(Differentiate),
    /// An inner derivative made functions that are values, or waits itself: this one waits until they are data.
    Waits(Differentiate),
}

pub(crate) struct Expander<'p> {
    pub(crate) context: Context<'p>,
    forward: ForwardFunctions,
    pub(crate) split: SplitFunctions,
    pub(crate) reverse: ReverseFunctions,
    /// Who does reverse mode, if it is not fast CHAD.
    engine: Option<Box<dyn ReverseEngine>>,
    states: FxHashMap<FunctionId, State>,
    /// Functions that had derivatives inside.
    expanded: FxHashSet<FunctionId>,
    /// Whether operators that cannot be expanded are left standing.
    leaves: bool,
    /// What became of each operator.
    derivatives: Vec<Picked>,
}

impl<'p> Expander<'p> {
    /// Expands the derivatives inside a function, once.
    fn function(&mut self, function: FunctionId, span: Span) {
        match self.states.get(&function) {
            Some(State::Done) => return,
            Some(State::Open) => {
                self.context.unsupported(span, "a function inside its own definition");
                return;
            }
            None => {}
        }
        let Some(source) = self.context.program().functions.get(function.0 as usize) else { return };
        if !has_derivative(&source.body) {
            self.states.insert(function, State::Done);
            return;
        }
        self.states.insert(function, State::Open);
        self.expanded.insert(function);
        let (params, body) = (source.params.clone(), source.body.clone());
        self.context.note_checked_sizes(&params, &body);
        let body = self.block(&body);
        self.context.b.program_mut().functions[function.0 as usize].body = body;
        self.states.insert(function, State::Done);
    }

    fn block(&mut self, block: &Block) -> Block {
        self.context.b.push_block();
        block.statements.iter().for_each(|statement| self.statement(statement));
        self.context.b.pop_block(block.results.clone())
    }

    pub(crate) fn statement(&mut self, statement: &Statement) {
        self.context.note_one_hots(statement);
        self.context.note_shapes(statement);
        match &statement.op {
            Op::Differentiate(parts) => self.differentiate(statement, parts),
            Op::Build { space, body, inner } if has_derivative(body) => self.build(statement, space, body, inner),
            op if op.scopes().iter().any(|scope| has_derivative(scope.block)) => {
                let op = op.clone().map_blocks(&mut |block| self.block(&block));
                self.context.push_statement(Statement { op, ..statement.clone() });
            }
            _ => self.context.push_statement(statement.clone()),
        }
    }

    /// The operator with what is inside its function expanded; nothing if there was an error.
    pub(crate) fn prepared(&mut self, parts: &Differentiate, span: Span) -> Option<Prepared> {
        let mut parts = parts.clone();
        let mut is_outer = has_derivative(&parts.function.body);
        if is_outer {
            parts.function.body = self.block(&parts.function.body);
        }
        let active = self.expand_active_calls(&parts, span);
        if !self.context.errors.is_empty() {
            return self.leaves.then_some(Prepared::Waits(parts));
        }
        let takes_functions = self.takes_functions(parts.mode);
        let functions = &self.context.program().functions;
        let bodies = active.iter().filter_map(|function| functions.get(function.0 as usize)).map(|function| &function.body);
        let bodies: Vec<&Block> = bodies.chain([&parts.function.body]).collect();
        // The program's own functions may have derivatives; those that an inner derivative made become data.
        is_outer |= active.iter().any(|function| self.expanded.contains(function));
        let stay = !is_outer && takes_functions;
        let waits = bodies.iter().any(|body| has_derivative(body)) || (!stay && bodies.into_iter().any(has_closures));
        Some(if waits { Prepared::Waits(parts) } else { Prepared::Ready(parts) })
    }

    /// Whether functions that are values have derivatives in the mode.
    fn takes_functions(&mut self, mode: Mode) -> bool {
        let Some(engine) = &mut self.engine else { return false };
        match mode {
            Mode::Vjp | Mode::Mjp => engine.takes_functions(),
            Mode::Jvp | Mode::Jmp => engine.forward().is_some_and(|forward| forward.takes_functions()),
            Mode::Dependencies => false,
        }
    }

    /// Whether derivatives of the mode come in two parts, of which one does not depend on the direction.
    pub(crate) fn is_split(&mut self, mode: Mode) -> bool {
        match mode {
            Mode::Vjp => self.engine.is_none(),
            Mode::Jvp => self.engine.as_mut().is_none_or(|engine| engine.forward().is_none()),
            _ => true,
        }
    }

    fn differentiate(&mut self, statement: &Statement, parts: &Differentiate) {
        self.context.places.push(statement.span);
        self.expand(statement, parts);
        self.context.places.pop();
    }

    fn expand(&mut self, statement: &Statement, parts: &Differentiate) {
        let span = statement.span;
        let parts = match self.prepared(parts, span) {
            Some(Prepared::Ready(parts)) => parts,
            Some(Prepared::Waits(parts)) => return self.leave(statement, parts),
            None => return,
        };
        self.derivatives.push(Picked { span, mode: parts.mode, left: None });
        match parts.mode {
            Mode::Jvp => {
                let values = self.jvp(&parts, span);
                self.bind(&statement.binders, values, span);
            }
            Mode::Vjp => {
                let values = self.vjp(&parts, span);
                self.bind(&statement.binders, values, span);
            }
            Mode::Jmp => self.jmp(statement, &parts),
            Mode::Mjp => self.mjp(statement, &parts),
            Mode::Dependencies => self.dependencies(statement, &parts),
        }
    }

    /// Leaves an operator standing: it waits, or there can be no code for it.
    pub(crate) fn leave(&mut self, statement: &Statement, parts: Differentiate) {
        if self.leaves {
            let refusals = std::mem::take(&mut self.context.errors);
            let refusal = refusals.into_iter().next().map(|error| Refusal { message: error.message, span: error.primary.span });
            let inside = || Refusal {
                message: String::from("its function has a derivative that is left to the interpreter"),
                span: statement.span,
            };
            let left = Some(refusal.unwrap_or_else(inside));
            self.derivatives.push(Picked { span: statement.span, mode: parts.mode, left });
        }
        self.context.push_statement(Statement { op: Op::Differentiate(Box::new(parts)), ..statement.clone() });
    }

    /// Expands the functions through which the derivative flows, and returns them; the others are only called.
    fn expand_active_calls(&mut self, parts: &Differentiate, span: Span) -> Vec<FunctionId> {
        let reverse = parts.mode.is_reverse();
        let params: Vec<Var> = parts.function.params.iter().map(|param| param.var).collect();
        let mut waiting = self.context.active_calls(&parts.function.body, params, reverse);
        let mut known: FxHashMap<FunctionId, Vec<bool>> = FxHashMap::default();
        while let Some((function, mask)) = waiting.pop() {
            let before = known.entry(function).or_insert_with(|| vec![false; mask.len()]);
            let joined: Vec<bool> = before.iter().zip(&mask).map(|(before, now)| *before || *now).collect();
            if joined == *before {
                continue;
            }
            before.clone_from(&joined);
            self.function(function, span);
            let Some(target) = self.context.program().functions.get(function.0 as usize) else { continue };
            let active = target.params.iter().zip(&joined).filter(|(_, active)| **active);
            let (params, body) = (active.map(|(param, _)| param.var).collect(), target.body.clone());
            waiting.extend(self.context.active_calls(&body, params, reverse));
        }
        known.into_keys().collect()
    }

    pub(crate) fn bind(&mut self, binders: &[Binder], values: Vec<Atom>, span: Span) {
        self.context.push_statement(Statement { binders: binders.to_vec(), op: Op::Copy(values), span });
    }

    /// Emits the function at its arguments with tangents; the primal results come first if asked for.
    fn jvp(&mut self, parts: &Differentiate, span: Span) -> Vec<Atom> {
        if let Some(forward) = self.engine.as_mut().and_then(|engine| engine.forward()) {
            let (results, tangents) = forward.jvp(&mut self.context, parts, span);
            return if parts.with_primal { [results, tangents].concat() } else { tangents };
        }
        let lambda = self.context.at_arguments(parts, span);
        let wanted = vec![true; lambda.results.len()];
        let mut values = self.with_seeds(&lambda, &parts.seeds, Beside::Tangent, span).inline(&lambda.body, &wanted);
        if !parts.with_primal {
            values.drain(..lambda.results.len());
        }
        values
    }

    /// Forward mode for a function whose parameters have these tangents.
    pub(crate) fn with_seeds(&mut self, lambda: &Lambda, seeds: &[Atom], beside: Beside, span: Span) -> Forward<'_, 'p> {
        let mut tangents: FxHashMap<Var, Atom> = FxHashMap::default();
        for (param, seed) in lambda.params.iter().zip(seeds) {
            if self.context.carries(&param.ty) {
                self.context.check_seed(&Atom::Var(param.var), seed, "tangent", span);
                tangents.insert(param.var, seed.clone());
            }
        }
        let active = self.context.active_variables(&lambda.body, tangents.keys().copied(), false);
        Forward { context: &mut self.context, functions: &mut self.forward, beside, active, tangents }
    }

    /// One primal run, then the tangent part for each seed.
    fn jmp(&mut self, statement: &Statement, parts: &Differentiate) {
        let span = statement.span;
        if let Some(forward) = self.engine.as_mut().and_then(|engine| engine.forward()) {
            let (results, tangents) = forward.jmp(&mut self.context, parts, span);
            let values = if parts.with_primal { [results, tangents].concat() } else { tangents };
            self.bind(&statement.binders, values, span);
            return;
        }
        let count = parts.count.clone().unwrap_or(Atom::i64(0));
        let lambda = self.context.at_arguments(parts, span);
        let index = self.context.fresh("seed", Type::I64).var;
        self.context.b.push_block();
        let seeds = self.seeds_at(&parts.seeds, index, span);
        let mut functions = std::mem::take(&mut self.split);
        let forward = self.with_seeds(&lambda, &seeds, Beside::Tangent, span);
        let (primal, tangents) = Split::new(forward, &mut functions).block(&lambda.body, &vec![true; lambda.results.len()]);
        self.split = functions;
        let types: Vec<Type> = tangents.iter().map(|tangent| self.context.type_of(tangent)).collect();
        let body = self.context.b.pop_block(tangents);
        primal.into_iter().for_each(|statement| self.context.push_statement(statement));
        let results = lambda.body.results;
        let inner: Vec<_> = results.iter().map(|value| self.context.sizes_of_value(value, span)).collect();
        let space = vec![Axis { var: index, size: count }];
        let types = types.iter().map(with_axis).collect();
        let tangents = self.context.b.push(Op::Build { space, body, inner }, types, span);
        let values = if parts.with_primal { [results, tangents].concat() } else { tangents };
        self.bind(&statement.binders, values, span);
    }

    pub(crate) fn seeds_at(&mut self, seeds: &[Atom], index: chadwick_core::Var, span: Span) -> Vec<Atom> {
        let seed_at = |seed: &Atom| {
            let op = Op::Index { array: seed.clone(), indices: vec![Atom::Var(index)] };
            let row = self.context.emit_one(op.clone(), span);
            if let Atom::Var(var) = row {
                let binder = Binder { var, ty: self.context.type_of(&row) };
                self.context.note_one_hots(&Statement { binders: vec![binder], op, span });
            }
            row
        };
        seeds.iter().map(seed_at).collect()
    }

    /// Emits the function and its reverse sweep.
    fn vjp(&mut self, parts: &Differentiate, span: Span) -> Vec<Atom> {
        if let Some(engine) = &mut self.engine {
            let (results, cotangents) = engine.vjp(&mut self.context, parts, span);
            return if parts.with_primal { [results, cotangents].concat() } else { cotangents };
        }
        let lambda = self.context.at_arguments(parts, span);
        let reverse = Reverse::new(&mut self.context, &mut self.reverse, &lambda);
        let (results, cotangents) = reverse.gradient(&lambda, &parts.seeds, span);
        if parts.with_primal { [results, cotangents].concat() } else { cotangents }
    }

    /// One primal run, then the reverse sweep for each seed.
    fn mjp(&mut self, statement: &Statement, parts: &Differentiate) {
        let span = statement.span;
        if let Some(engine) = &mut self.engine {
            let (results, cotangents) = engine.mjp(&mut self.context, parts, span);
            let values = if parts.with_primal { [results, cotangents].concat() } else { cotangents };
            self.bind(&statement.binders, values, span);
            return;
        }
        let count = parts.count.clone().unwrap_or(Atom::i64(0));
        let lambda = self.context.at_arguments(parts, span);
        let index = self.context.fresh("seed", Type::I64).var;
        self.context.b.push_block();
        let seeds = self.seeds_at(&parts.seeds, index, span);
        let seed_statements = self.context.b.pop_block(Vec::new()).statements;
        let reverse = Reverse::new(&mut self.context, &mut self.reverse, &lambda);
        let (results, forward, dual) = reverse.split_gradient(&lambda, &seeds, span);
        forward.into_iter().for_each(|statement| self.context.push_statement(statement));
        let inner: Vec<_> = lambda.params.iter().map(|param| self.context.sizes_of_value(&Atom::Var(param.var), span)).collect();
        let types = lambda.params.iter().map(|param| with_axis(&param.ty)).collect();
        let body = Block { statements: [seed_statements, dual.statements].concat(), results: dual.results };
        let space = vec![Axis { var: index, size: count }];
        let cotangents = self.context.b.push(Op::Build { space, body, inner }, types, span);
        let values = if parts.with_primal { [results, cotangents].concat() } else { cotangents };
        self.bind(&statement.binders, values, span);
    }
}

/// Whether a derivative is still to be expanded: then functions that are values have to become data first.
pub fn has_derivatives(program: &Program) -> bool {
    program.functions.iter().any(|function| has_derivative(&function.body))
}

fn has_closures(block: &Block) -> bool {
    block.statements.iter().any(|statement| {
        matches!(statement.op, Op::Closure(_) | Op::Apply { .. })
            || statement.op.scopes().iter().any(|scope| has_closures(scope.block))
    })
}

fn has_derivative(block: &Block) -> bool {
    block.statements.iter().any(|statement| {
        matches!(statement.op, Op::Differentiate(_)) || statement.op.scopes().iter().any(|scope| has_derivative(scope.block))
    })
}
