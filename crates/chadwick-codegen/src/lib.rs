//! First-order Core to C, by way of Loop IR.
//!
//! [`generate`] takes a program without functions as data and without derivative operators, and gives C that depends on nothing but the C
//! library, as one file or as several that are compiled at the same time ([`CText`]). Every function that an entry point needs becomes a C function; [`ir`] says what is between.

mod additions;
mod borrow;
mod c;
mod chunks;
mod columns;
mod emit;
pub mod export;
pub mod ir;
mod lanes;
mod laps;
mod layout;
mod liveness;
mod operands;
mod own_places;
mod parallel;
mod schedule;
mod steps;
mod tiles;
mod turned;
mod views;

pub use c::{CText, Units, special_operation};

use chadwick_core::visit::variable_types;
use chadwick_core::{Block, Builder, Op, Program, Type, Var};
use chadwick_source::{Name, Span};
use liveness::Liveness;
use rustc_hash::FxHashSet;

/// How code is generated.
pub struct Config<'a> {
    /// Floating point as the interpreter does it: source order, no contraction.
    pub strict: bool,
    /// Whether code tells how long each line takes, and how much it allocates.
    pub profiled: bool,
    /// The line of source text that a span is about, for comments.
    pub source_line: &'a dyn Fn(Span) -> Option<String>,
}

/// A program as C, with what the runtime must know about it.
#[derive(Clone, Debug)]
pub struct Generated {
    pub c: CText,
    /// Places that can fail or speak, by number.
    pub sites: Vec<Site>,
    /// In the order of the program's entry points.
    pub entries: Vec<Signature>,
    /// Whether calls may nest deeply.
    pub recursive: bool,
    /// The lines that profiled code tells the times of, by number; the first one stands for everything else.
    pub lines: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Signature {
    pub params: Vec<Type>,
    pub results: Vec<Type>,
}

/// A place in the program.
#[derive(Clone, Debug)]
pub struct Site {
    pub function: Name,
    pub span: Span,
    pub kind: SiteKind,
}

#[derive(Clone, Debug)]
pub enum SiteKind {
    Plain,
    /// The message; values are in the stream.
    Assertion(Vec<MessageText>),
    /// The tag, and the types of the values in the stream.
    Trace(Name, Vec<Type>),
}

#[derive(Clone, Debug)]
pub enum MessageText {
    Text(String),
    Value(Type),
}

/// Generates the C of a program.
pub fn generate(program: &Program, config: &Config<'_>) -> Generated {
    let mut program = program.clone();
    if !config.strict {
        chunks::cut(&mut program);
        operands::inline(&mut program);
    }
    columns::exchange(&mut program);
    additions::spread(&mut program);
    schedule::schedule(&mut program, config.strict);
    views::part(&mut program);
    let program = &program;
    let liveness: Vec<Liveness> = program.functions.iter().map(Liveness::of).collect();
    let owned = borrow::owned_parameters(program, &liveness);
    let calls = call_graph(program);
    let recursive: Vec<bool> = (0..calls.len()).map(|function| reachable(&calls, &calls[function]).contains(&function)).collect();
    let roots: Vec<usize> = program.entries.iter().map(|entry| entry.function.0 as usize).collect();
    let wanted = reachable(&calls, &roots);
    let mut shared = emit::Shared::new(program, &liveness, &owned, &recursive, config.strict, config.source_line);
    let mut functions = loop {
        shared.restart();
        let functions: Vec<(usize, ir::Function)> =
            wanted_in_order(&wanted).into_iter().map(|number| (number, emit::emit_function(&mut shared, number))).collect();
        if !shared.changed {
            break functions;
        }
    };
    tiles::tile(&mut functions);
    turned::join(&mut functions);
    let called: FxHashSet<usize> = calls.iter().flatten().copied().collect();
    functions.iter_mut().filter(|(number, _)| roots.contains(number) && !called.contains(number)).for_each(leave_memory);
    parallel::parallelise(&mut functions, &roots, &recursive, config.strict);
    let lines = match config.profiled {
        true => laps::instrument(&mut functions, &roots, &recursive),
        // Not where times are taken: these are read between loops, by one thread.
        false => {
            steps::find(&mut functions);
            Vec::new()
        }
    };
    let mut entries = Vec::new();
    for entry in &program.entries {
        let Some(function) = program.functions.get(entry.function.0 as usize) else { continue };
        entries.push(Signature {
            params: function.params.iter().map(|param| param.ty.clone()).collect(),
            results: function.results.clone(),
        });
    }
    let c = c::print(program, &functions, &shared, lines.len());
    Generated { c, sites: shared.sites, entries, recursive: wanted.iter().any(|function| recursive[*function]), lines }
}

/// Drops what an entry point releases last: all memory of the run is taken back at once when its results have been read.
fn leave_memory((_, function): &mut (usize, ir::Function)) {
    while let Some(ir::Stm::Release(..)) = function.body.last() {
        function.body.pop();
    }
}

/// Rewrites the body of every function, with the types of all variables at hand.
fn rewrite_bodies(program: &mut Program, rewrite: fn(&mut Builder<'_>, Block) -> Block) {
    let types = variable_types(program);
    let count = program.functions.len();
    let mut b = Builder::new(program);
    for (var, ty) in types.into_iter().enumerate() {
        if let Some(ty) = ty {
            b.declare(Var(var as u32), ty);
        }
    }
    for at in 0..count {
        let body = std::mem::take(&mut b.program_mut().functions[at].body);
        let body = rewrite(&mut b, body);
        b.program_mut().functions[at].body = body;
    }
}

fn wanted_in_order(wanted: &FxHashSet<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = wanted.iter().copied().collect();
    order.sort_unstable();
    order
}

/// The functions that each function calls.
fn call_graph(program: &Program) -> Vec<Vec<usize>> {
    fn calls(block: &Block, found: &mut Vec<usize>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                if let Op::Call { function, .. } = &statement.op {
                    found.push(function.0 as usize);
                }
                liveness::running_scopes(&statement.op).iter().for_each(|scope| calls(scope.block, found));
            }
        });
    }
    program
        .functions
        .iter()
        .map(|function| {
            let mut found = Vec::new();
            calls(&function.body, &mut found);
            found.sort_unstable();
            found.dedup();
            found.retain(|callee| *callee < program.functions.len());
            found
        })
        .collect()
}

/// What can be reached from the functions, themselves included.
fn reachable(calls: &[Vec<usize>], from: &[usize]) -> FxHashSet<usize> {
    let mut seen: FxHashSet<usize> = FxHashSet::default();
    let mut waiting: Vec<usize> = from.to_vec();
    while let Some(function) = waiting.pop() {
        if function < calls.len() && seen.insert(function) {
            waiting.extend(&calls[function]);
        }
    }
    seen
}
