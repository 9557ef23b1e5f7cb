//! Mathematics behind a sum in every iteration gets a loop of its own.
//!
//! `sum (map (\row -> f (dot row w)) rows)` with an exponential in `f` becomes `let zs = map (\row -> dot row w) rows in sum (map f zs)`: in the
//! second loop nothing but numbers is computed, so that it runs on several elements at a time, and the first may be a product of a
//! matrix and a vector. What goes from one to the other is stored once. Only outside of parallel loops: further inside there are
//! enough iterations, and small ones.

use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Axis, Binder, Block, Dim, Op, PrimOp, Program, Statement, Type, UnaryOp, Var};
use rustc_hash::FxHashSet;

/// How many numbers may be stored for each iteration.
const MOST_STORED: usize = 2;

/// Splits the loops of all functions.
pub fn fission(program: &mut Program) {
    for at in 0..program.functions.len() {
        let body = std::mem::take(&mut program.functions[at].body);
        program.functions[at].body = block(program, body);
    }
}

fn block(program: &mut Program, whole: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut statements = Vec::with_capacity(whole.statements.len());
        for Statement { binders, op, span } in whole.statements {
            let op = match op {
                Op::Build { space, body, inner } if inner.iter().all(Vec::is_empty) => {
                    let (stored, body) = split(program, &space, body);
                    statements.extend(stored);
                    Op::Build { space, body, inner }
                }
                Op::Reduce { space, op, neutral, body, commutative } => {
                    let (stored, body) = split(program, &space, body);
                    statements.extend(stored);
                    Op::Reduce { space, op, neutral, body, commutative }
                }
                op if op.space().is_empty() => op.map_blocks(&mut |inner| block(program, inner)),
                op => op,
            };
            statements.push(Statement { binders, op, span });
        }
        Block { statements, results: whole.results }
    })
}

/// A loop for everything up to the last sum, if mathematics comes behind it, and the body of the other one.
fn split(program: &mut Program, space: &[Axis], body: Block) -> (Option<Statement>, Block) {
    let Some((stored, at)) = seam(&body) else { return (None, body) };
    let Block { mut statements, results } = body;
    let tail = statements.split_off(at);
    let span = statements.last().map_or_else(Default::default, |last| last.span);
    let mut renamed = Vec::new();
    let own: Vec<Axis> = space.iter().map(|axis| Axis { var: program.fresh("i"), size: axis.size.clone() }).collect();
    renamed.extend(space.iter().zip(&own).map(|(axis, own)| (axis.var, Atom::Var(own.var))));
    let mut copier = chadwick_core::visit::Copier::new(program);
    renamed.iter().for_each(|(var, atom)| copier.replace(*var, atom.clone()));
    let numbers = stored.iter().map(|binder| Atom::Var(binder.var)).collect();
    let head = copier.block(&Block { statements: statements.clone(), results: numbers });
    let mut arrays = Vec::new();
    let mut reads = Vec::new();
    for binder in &stored {
        let name = program.var_names.get(binder.var.0 as usize).cloned().unwrap_or_default();
        let array = Binder { var: program.fresh(name), ty: binder.ty.clone().array(vec![Dim::Any; space.len()]) };
        let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        reads.push(Statement { binders: vec![binder.clone()], op: Op::Index { array: Atom::Var(array.var), indices }, span });
        arrays.push(array);
    }
    let inner = vec![Vec::new(); arrays.len()];
    let loop_for_head = Statement { binders: arrays, op: Op::Build { space: own, body: head, inner }, span };
    // Reads that the mathematics needs are made again.
    let again = statements.into_iter().filter(|statement| matches!(statement.op, Op::Index { .. } | Op::Dim { .. }));
    let statements = again.chain(reads).chain(tail).collect();
    (Some(loop_for_head), Block { statements, results })
}

/// What to store, and where the mathematics begins.
fn seam(body: &Block) -> Option<(Vec<Binder>, usize)> {
    let at = body.statements.iter().rposition(|statement| !statement.op.scopes().is_empty())? + 1;
    let (head, tail) = body.statements.split_at(at);
    if !head.iter().all(is_pure) || !tail.iter().all(is_number) || !tail.iter().any(is_transcendental) {
        return None;
    }
    let mut used: FxHashSet<Var> = tail.iter().flat_map(|statement| op_free_variables(&statement.op)).collect();
    used.extend(body.results.iter().filter_map(|result| if let Atom::Var(var) = result { Some(*var) } else { None }));
    let made = head.iter().filter(|statement| !matches!(statement.op, Op::Index { .. } | Op::Dim { .. }));
    let stored: Vec<Binder> = made.flat_map(|it| &it.binders).filter(|binder| used.contains(&binder.var)).cloned().collect();
    let are_numbers = stored.iter().all(|binder| matches!(binder.ty, Type::Prim(_)));
    (are_numbers && (1..=MOST_STORED).contains(&stored.len())).then_some((stored, at))
}

/// A number, or a sum of such.
fn is_pure(statement: &Statement) -> bool {
    match &statement.op {
        Op::Reduce { body, op, .. } => op.is_addition() && body.statements.iter().all(is_number),
        _ => is_number(statement),
    }
}

fn is_number(statement: &Statement) -> bool {
    matches!(statement.op, Op::Prim(..) | Op::Index { .. } | Op::Dim { .. } | Op::Copy(_))
        && statement.binders.iter().all(|binder| matches!(binder.ty, Type::Prim(_)))
}

fn is_transcendental(statement: &Statement) -> bool {
    use UnaryOp::*;
    let Op::Prim(PrimOp::Unary(op, _), _) = &statement.op else { return false };
    matches!(op, Exp | Log | Log1p | Sin | Cos | Tanh | Erf | Erfc)
}
