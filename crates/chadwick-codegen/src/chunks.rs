//! Long reductions and scans whose operator is no single operation, cut into chunks before code is made of them: what comes out are builds,
//! whose loops run on any number of threads. How a form is cut follows from its size, so the result has the same bits for any number of
//! threads. Strict code keeps the order of the program.

use crate::emit::simple_operator;
use chadwick_core::chunks::{Combination, Elements};
use chadwick_core::visit::{Copier, for_each_binder};
use chadwick_core::{Atom, Block, Builder, Op, Program, Statement};

/// Cuts forms that are outside of parallel ones; those inside gain nothing by it.
pub(crate) fn cut(program: &mut Program) {
    // Who prints as it goes wants to see the order of the program.
    if program.functions.iter().any(|function| speaks(&function.body)) {
        return;
    }
    crate::rewrite_bodies(program, block);
}

fn speaks(block: &Block) -> bool {
    block.statements.iter().any(|statement| {
        matches!(statement.op, Op::Trace { .. }) || statement.op.scopes().iter().any(|scope| speaks(scope.block))
    })
}

fn block(b: &mut Builder<'_>, body: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        b.push_block();
        for statement in body.statements {
            if !in_chunks(b, &statement) {
                let Statement { binders, op, span } = statement;
                let op = if is_parallel(&op) { op } else { op.map_blocks(&mut |inner| block(b, inner)) };
                b.push_statement(Statement { binders, op, span });
            }
        }
        b.pop_block(body.results)
    })
}

fn is_parallel(op: &Op) -> bool {
    matches!(op, Op::Build { .. } | Op::Reduce { .. } | Op::Scan { .. } | Op::Hist { .. } | Op::Scatter { .. })
}

/// Appends the statement in chunks, if it is a form that needs them.
fn in_chunks(b: &mut Builder<'_>, statement: &Statement) -> bool {
    let Some(form) = Combination::of(&statement.op) else { return false };
    // A single operation has loops of its own.
    if form.stays_whole() || form.neutral.is_empty() || (!form.is_scan && simple_operator(form.op).is_some()) {
        return false;
    }
    let copy = Copier::new(b.program_mut()).statement(statement);
    let results = copy.binders.iter().map(|binder| Atom::Var(binder.var)).collect();
    let sequential = Block { statements: vec![copy], results };
    for_each_binder(&sequential, &mut |var, ty| b.declare(var, ty.clone()));
    b.set_span(statement.span);
    b.push_block();
    let made = form.in_chunks(b, Elements::Made, statement.binders.clone(), sequential);
    let chunked = b.pop_block(Vec::new());
    if made.is_ok() {
        chunked.statements.into_iter().for_each(|statement| b.push_statement(statement));
    }
    made.is_ok()
}
