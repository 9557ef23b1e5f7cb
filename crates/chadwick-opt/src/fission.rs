//! Mathematics before or behind a loop in every iteration gets a loop of its own.
//!
//! `sum (map (\row -> f (dot row w)) rows)` with an exponential in `f` becomes `let zs = map (\row -> dot row w) rows in sum (map f zs)`: in the
//! second loop nothing but numbers is computed, so that it runs on several elements at a time, and the first may be a product of a
//! matrix and a vector. In the same way what is computed for a row before the row is gone through. What goes from one loop to the other
//! is stored once. Only outside of parallel loops: further inside there are enough iterations, and small ones.

use chadwick_core::visit::{Copier, op_free_variables};
use chadwick_core::{Atom, Axis, Binder, Block, Dim, Op, PrimOp, Program, Statement, Type, UnaryOp, Var};
use rustc_hash::FxHashSet;

/// How many numbers may be stored for each iteration.
const MOST_STORED: usize = 2;

/// Splits the loops of all functions.
pub fn fission(program: &mut Program) {
    crate::map_bodies(program, block);
}

fn block(program: &mut Program, whole: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut statements = Vec::with_capacity(whole.statements.len());
        for Statement { binders, op, span } in whole.statements {
            let op = match op {
                Op::Build { space, body, inner } => {
                    let body = split(program, &space, body, &mut statements);
                    Op::Build { space, body, inner }
                }
                Op::Reduce { space, op, neutral, body, commutative } => {
                    let body = split(program, &space, body, &mut statements);
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

/// The body of a loop without what gets a loop of its own; that goes to `out`.
fn split(program: &mut Program, space: &[Axis], body: Block, out: &mut Vec<Statement>) -> Block {
    let is_loop = |statement: &Statement| !is_number(statement);
    let (Some(first), Some(last)) = (body.statements.iter().position(is_loop), body.statements.iter().rposition(is_loop)) else {
        return body;
    };
    let (before, behind) = (&body.statements[..first], &body.statements[last + 1..]);
    if before.iter().any(is_dear) && before.iter().all(is_number) {
        return split_at(program, space, body, first, out);
    }
    let sums = &body.statements[..=last];
    if behind.iter().any(is_transcendental) && behind.iter().all(is_number) && sums.iter().all(is_sum) {
        return split_at(program, space, body, last + 1, out);
    }
    body
}

/// Gives the statements before a place a loop of their own, if little is stored for the others.
pub fn split_at(program: &mut Program, space: &[Axis], body: Block, at: usize, out: &mut Vec<Statement>) -> Block {
    let Some(stored) = stored(&body, at) else { return body };
    let Block { mut statements, results } = body;
    let rest = statements.split_off(at);
    let span = statements.last().map_or_else(Default::default, |last| last.span);
    let own: Vec<Axis> = space.iter().map(|axis| Axis { var: program.fresh("i"), size: axis.size.clone() }).collect();
    let mut copier = Copier::new(program);
    space.iter().zip(&own).for_each(|(axis, own)| copier.replace(axis.var, Atom::Var(own.var)));
    let numbers = stored.iter().map(|binder| Atom::Var(binder.var)).collect();
    let head = copier.block(&Block { statements: statements.clone(), results: numbers });
    // Reads are made again.
    let mut body: Vec<Statement> = statements.into_iter().filter(|statement| is_read(&statement.op)).collect();
    let mut arrays = Vec::new();
    for binder in stored {
        let name = program.var_names.get(binder.var.0 as usize).cloned().unwrap_or_default();
        let array = Binder { var: program.fresh(name), ty: binder.ty.clone().array(vec![Dim::Any; space.len()]) };
        let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        body.push(Statement { binders: vec![binder], op: Op::Index { array: Atom::Var(array.var), indices }, span });
        arrays.push(array);
    }
    let inner = vec![Vec::new(); arrays.len()];
    out.push(Statement { binders: arrays, op: Op::Build { space: own, body: head, inner }, span });
    body.extend(rest);
    Block { statements: body, results }
}

/// What statements from a place on need of those before it, if that is a few numbers.
pub fn stored(body: &Block, at: usize) -> Option<Vec<Binder>> {
    let (head, rest) = body.statements.split_at(at);
    let mut used: FxHashSet<Var> = rest.iter().flat_map(|statement| op_free_variables(&statement.op)).collect();
    used.extend(body.results.iter().filter_map(Atom::as_var));
    let made = head.iter().filter(|statement| !is_read(&statement.op)).flat_map(|statement| &statement.binders);
    let stored: Vec<Binder> = made.filter(|binder| used.contains(&binder.var)).cloned().collect();
    let are_numbers = stored.iter().all(|binder| matches!(binder.ty, Type::Prim(_)));
    // Reads that are made again are at places that are read.
    let made: FxHashSet<Var> = head.iter().filter(|it| !is_read(&it.op)).flat_map(|it| &it.binders).map(|it| it.var).collect();
    let reads = head.iter().filter(|statement| is_read(&statement.op));
    let can_read_again = !reads.flat_map(|it| op_free_variables(&it.op)).any(|var| made.contains(&var));
    (are_numbers && can_read_again && (1..=MOST_STORED).contains(&stored.len())).then_some(stored)
}

pub fn is_read(op: &Op) -> bool {
    matches!(op, Op::Index { .. } | Op::Dim { .. })
}

/// A number, or a sum of such.
fn is_sum(statement: &Statement) -> bool {
    match &statement.op {
        Op::Reduce { body, op, .. } => op.is_addition() && body.statements.iter().all(is_number),
        _ => is_number(statement),
    }
}

pub fn is_number(statement: &Statement) -> bool {
    let is_simple = match &statement.op {
        Op::If { then, otherwise, .. } => [then, otherwise].iter().all(|block| block.statements.is_empty()),
        op => matches!(op, Op::Prim(..) | Op::Index { .. } | Op::Dim { .. } | Op::Copy(_)),
    };
    is_simple && statement.binders.iter().all(|binder| matches!(binder.ty, Type::Prim(_)))
}

/// Whether the statement is better done several at a time.
fn is_dear(statement: &Statement) -> bool {
    matches!(&statement.op, Op::Prim(op, _) if op.is_heavy())
}

fn is_transcendental(statement: &Statement) -> bool {
    use UnaryOp::*;
    let Op::Prim(PrimOp::Unary(op, _), _) = &statement.op else { return false };
    matches!(op, Exp | Log | Log1p | Sin | Cos | Tanh | Erf | Erfc)
}
