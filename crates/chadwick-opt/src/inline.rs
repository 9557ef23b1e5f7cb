//! Calls of functions that are small, or called from one place only, become their bodies.
//!
//! A program at most doubles for each function that is inlined because it is small, and small means less than a call needs to say. A function
//! of arrays may be larger if few places call it: the sizes of arrays are known where they are made. Where a
//! derivative is taken of a call, the function is inlined unless it is large: a derivative has code of its own anyway, and is the better for
//! knowing by what it is taken. Recursive functions stay.

use chadwick_core::visit::Copier;
use chadwick_core::{Block, FunctionId, InlinedCall, Op, Program, Statement};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;

/// A function of at most this many statements is inlined everywhere.
const SMALL: usize = 12;
/// A function of arrays of at most this many statements likewise, if it is not many in all places together.
const SMALL_FOR_ARRAYS: usize = 80;
/// A function of at most this many statements is inlined where its derivative is taken, if it is not many in all places together.
const MEDIUM: usize = 320;
/// So many places may call a function of the largest size, more a smaller one.
const FEW_PLACES: usize = 4;

pub fn inline(program: &mut Program) {
    let calls: Vec<Vec<usize>> = program
        .functions
        .iter()
        .map(|function| {
            let mut called = Vec::new();
            called_functions(&function.body, &mut called);
            called
        })
        .collect();
    let mut counts = vec![0usize; calls.len()];
    calls.iter().flatten().for_each(|callee| counts[*callee] += 1);
    let recursive: Vec<bool> = (0..calls.len()).map(|at| reaches(&calls, at)).collect();
    program.entries.iter().for_each(|entry| counts[entry.function.0 as usize] += 1);
    // A function is complete when its callers are reached, so its size is known.
    let mut inlined = vec![Inlined::Never; calls.len()];
    for at in callees_first(&calls) {
        let body = std::mem::take(&mut program.functions[at].body);
        let body = inlined_block(program, body, &inlined, Place::Plain);
        let takes_arrays = program.functions[at].params.iter().any(|param| param.ty.rank() > 0);
        let (places, size) = (counts[at], size(&body, MEDIUM + 1));
        let is_at_most = |most: usize| size <= most && size.saturating_mul(places) <= FEW_PLACES * most;
        inlined[at] = match recursive[at] {
            true => Inlined::Never,
            false if places == 1 => Inlined::Once,
            false if size <= SMALL => Inlined::Everywhere,
            false if takes_arrays && is_at_most(SMALL_FOR_ARRAYS) => Inlined::Everywhere,
            false if is_at_most(MEDIUM) => Inlined::InDerivatives,
            false => Inlined::Never,
        };
        program.functions[at].body = body;
    }
}

/// What becomes of the calls of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inlined {
    Never,
    /// There is one call, to which the body moves.
    Once,
    InDerivatives,
    Everywhere,
}

/// Where a call stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Plain,
    /// In a function of which a derivative is taken.
    Differentiated,
}

fn inlined_block(program: &mut Program, block: Block, inlined: &[Inlined], place: Place) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut statements = Vec::with_capacity(block.statements.len());
        for statement in block.statements {
            match statement.op {
                Op::Call { function, args } if inlined[function.0 as usize].applies(place) => {
                    let span = statement.span;
                    let callee = &mut program.functions[function.0 as usize];
                    let name = callee.name.clone();
                    let body = if inlined[function.0 as usize] == Inlined::Once {
                        // What remains is a function that nobody calls.
                        callee.results.clear();
                        let named = std::mem::take(&mut callee.params).into_iter().zip(args);
                        let named = named.map(|(param, arg)| Statement { binders: vec![param], op: Op::Copy(vec![arg]), span });
                        statements.extend(named);
                        std::mem::take(&mut callee.body)
                    } else {
                        let (params, body) = (callee.params.clone(), callee.body.clone());
                        let mut copier = Copier::new(program);
                        params.iter().zip(args).for_each(|(param, arg)| copier.replace(param.var, arg));
                        copier.block(&body)
                    };
                    let body = Inside { program, name, call: span, known: FxHashMap::default() }.block(body);
                    statements.extend(body.statements);
                    statements.push(Statement { binders: statement.binders, op: Op::Copy(body.results), span });
                }
                op => {
                    let inside = if matches!(op, Op::Differentiate(_)) { Place::Differentiated } else { place };
                    let op = op.map_blocks(&mut |block| inlined_block(program, block, inlined, inside));
                    statements.push(Statement { op, ..statement });
                }
            }
        }
        Block { statements, results: block.results }
    })
}

/// A body that stands for a call now.
struct Inside<'a> {
    program: &'a mut Program,
    name: Name,
    call: Span,
    /// For calls that were inlined into the body before: what they are here.
    known: FxHashMap<u32, u32>,
}

impl Inside<'_> {
    fn block(&mut self, block: Block) -> Block {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let statements = block.statements.into_iter().map(|Statement { binders, op, span }| {
                let op = op.map_blocks(&mut |inner| self.block(inner));
                Statement { binders, op, span: self.span(span) }
            });
            Block { statements: statements.collect(), results: block.results }
        })
    }

    fn span(&mut self, span: Span) -> Span {
        let call = match self.known.get(&span.call) {
            Some(call) => *call,
            None => {
                let outer = (span.call as usize).checked_sub(1).and_then(|at| self.program.inlined.get(at)).cloned();
                let inlined = match outer {
                    None => InlinedCall { function: self.name.clone(), span: self.call },
                    Some(outer) => InlinedCall { span: self.span(outer.span), ..outer },
                };
                self.program.inlined.push(inlined);
                let call = self.program.inlined.len() as u32;
                self.known.insert(span.call, call);
                call
            }
        };
        Span { call, ..span }
    }
}

impl Inlined {
    fn applies(self, place: Place) -> bool {
        match self {
            Inlined::Never => false,
            Inlined::InDerivatives => place == Place::Differentiated,
            Inlined::Once | Inlined::Everywhere => true,
        }
    }
}

/// The number of statements inside, counted up to `limit`.
fn size(block: &Block, limit: usize) -> usize {
    let mut total = block.statements.len();
    for statement in &block.statements {
        for scope in statement.op.scopes() {
            if total >= limit {
                return limit;
            }
            total += size(scope.block, limit - total);
        }
    }
    total.min(limit)
}

/// The functions, each behind all that it calls, as far as recursion allows.
fn callees_first(calls: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut done = vec![false; calls.len()];
    for start in 0..calls.len() {
        // Depth first, without recursion: the second visit of a function comes after all that it calls.
        let mut stack = vec![(start, false)];
        while let Some((at, leaving)) = stack.pop() {
            if leaving {
                order.push(at);
            } else if !std::mem::replace(&mut done[at], true) {
                stack.push((at, true));
                stack.extend(calls[at].iter().filter(|callee| !done[**callee]).map(|callee| (*callee, false)));
            }
        }
    }
    order
}

/// The functions called in a block, once for each call.
fn called_functions(block: &Block, called: &mut Vec<usize>) {
    for statement in &block.statements {
        if let Op::Call { function: FunctionId(function), .. } = &statement.op {
            called.push(*function as usize);
        }
        statement.op.scopes().iter().for_each(|scope| called_functions(scope.block, called));
    }
}

/// Whether a function can come to call itself.
fn reaches(calls: &[Vec<usize>], start: usize) -> bool {
    let mut seen = vec![false; calls.len()];
    let mut waiting = calls[start].clone();
    while let Some(at) = waiting.pop() {
        if at == start {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            waiting.extend(&calls[at]);
        }
    }
    false
}
