//! A choice that is the same in every iteration is made once, before.
//!
//! An innermost build that mostly consists of what happens on one side of such a choice becomes a choice of two builds, of which the other
//! is short. Without the choice inside, the C compiler works on several elements at a time.

use chadwick_core::visit::Copier;
use chadwick_core::{Atom, Block, Op, Program, Statement, Var};
use rustc_hash::FxHashSet;

/// Takes choices out of the builds of all functions.
pub fn unswitch(program: &mut Program) {
    crate::map_bodies(program, block);
}

fn block(program: &mut Program, whole: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut statements = Vec::with_capacity(whole.statements.len());
        for statement in whole.statements {
            let Statement { binders, op, span } = statement;
            let statement = Statement { binders, op: op.map_blocks(&mut |inner| block(program, inner)), span };
            statements.push(match invariant_choice(&statement.op) {
                Some(condition) => chosen(program, condition, statement),
                None => statement,
            });
        }
        Block { statements, results: whole.results }
    })
}

/// The condition of a build's main choice, if it is made outside.
fn invariant_choice(op: &Op) -> Option<Var> {
    let Op::Build { body, .. } = op else { return None };
    let own: FxHashSet<Var> = body.statements.iter().flat_map(|statement| &statement.binders).map(|binder| binder.var).collect();
    let condition = body.statements.iter().find_map(|statement| match &statement.op {
        Op::If { condition: Atom::Var(condition), .. } if !own.contains(condition) => Some(*condition),
        _ => None,
    })?;
    let (mut chosen, mut rest) = (0, 0);
    for statement in &body.statements {
        match &statement.op {
            Op::If { condition: Atom::Var(known), then, otherwise } if *known == condition && otherwise.statements.is_empty() => {
                chosen += then.statements.len();
                if !then.statements.iter().all(|statement| statement.op.scopes().is_empty()) {
                    return None;
                }
            }
            op if op.scopes().is_empty() => rest += 1,
            _ => return None,
        }
    }
    (chosen > 2 * rest).then_some(condition)
}

fn chosen(program: &mut Program, condition: Var, statement: Statement) -> Statement {
    let (binders, span) = (statement.binders.clone(), statement.span);
    let results = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
    let build = Block { statements: vec![statement], results };
    let mut copier = Copier::new(program);
    let [then, otherwise] = [copier.block(&build), copier.block(&build)];
    Statement { binders, op: Op::If { condition: Atom::Var(condition), then, otherwise }, span }
}
