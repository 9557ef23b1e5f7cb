//! Rows that a loop makes for each place, and that only one other loop reads, each iteration its own row, are made in that loop.
//!
//! A derivative of `map` around a loop is two loops over the same places: one runs forwards and keeps what its steps need, the other runs backwards.
//! Made where they are read, the rows that are kept live no longer than their iteration, instead of all at once.

use crate::fuse::{for_each_consumed, is_pure, is_pure_operation};
use chadwick_core::visit::{Copier, op_free_variables};
use chadwick_core::{Atom, Axis, Binder, Block, Op, Program, Statement, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// Moves the making of rows to where they are read.
pub fn own_rows(program: &mut Program) {
    crate::map_bodies(program, block);
}

fn block(program: &mut Program, whole: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let statements = whole.statements.into_iter().map(|statement| {
            let op = statement.op.map_blocks(&mut |inner| block(program, inner));
            Statement { op, ..statement }
        });
        let mut whole = Block { statements: statements.collect(), results: whole.results };
        let mut at = 0;
        while at < whole.statements.len() {
            match Rows::of(&whole, at) {
                Some(rows) => rows.move_to_reader(program, &mut whole),
                None => at += 1,
            }
        }
        whole
    })
}

/// A build of rows, and who reads them.
struct Rows {
    /// Which statements of the block make and read them.
    made_at: usize,
    read_at: usize,
    /// Results that are read elsewhere, too.
    kept: Vec<Binder>,
    /// Statements between the two that wait for those.
    waiting: FxHashSet<usize>,
}

impl Rows {
    fn of(block: &Block, made_at: usize) -> Option<Rows> {
        let Statement { binders, op: Op::Build { space, body, .. }, .. } = &block.statements[made_at] else { return None };
        let vars: FxHashSet<Var> = binders.iter().map(|binder| binder.var).collect();
        let is_row = |binder: &&Binder| binder.ty.rank() > space.len();
        let rows: FxHashSet<Var> = binders.iter().filter(is_row).map(|binder| binder.var).collect();
        let are_kept_by_loops = binders.iter().zip(&body.results).filter(|(binder, _)| is_row(binder)).all(|(_, row)| {
            let makes = |it: &&Statement| it.binders.iter().any(|binder| *row == Atom::Var(binder.var));
            body.statements.iter().find(makes).is_some_and(|it| matches!(it.op, Op::Loop(_)))
        });
        if rows.is_empty() || !are_kept_by_loops || !is_pure(body) {
            return None;
        }
        let uses: Vec<FxHashSet<Var>> =
            block.statements.iter().map(|it| op_free_variables(&it.op).into_iter().collect()).collect();
        let mut readers = (made_at + 1..uses.len()).filter(|at| !uses[*at].is_disjoint(&rows));
        let (Some(read_at), None) = (readers.next(), readers.next()) else { return None };
        let is_used_behind = |var: &Var| {
            block.results.contains(&Atom::Var(*var))
                || (made_at + 1..uses.len()).any(|at| at != read_at && uses[at].contains(var))
        };
        let kept: Vec<Binder> = binders.iter().filter(|binder| is_used_behind(&binder.var)).cloned().collect();
        let goes_along = reader(&block.statements[read_at], &vars).is_some_and(|it| {
            has_space(&it.op, space) && (kept.is_empty() || matches!(it.op, Op::Build { .. })) && reads_own(it, &vars)
        });
        if kept.iter().any(|binder| rows.contains(&binder.var)) || !goes_along {
            return None;
        }
        // What stands between the two and needs a result comes behind.
        let (mut waiting, mut late): (FxHashSet<usize>, FxHashSet<Var>) = (FxHashSet::default(), vars);
        for (at, statement) in block.statements.iter().enumerate().take(read_at).skip(made_at + 1) {
            if !uses[at].is_disjoint(&late) {
                waiting.insert(at);
                late.extend(statement.binders.iter().map(|binder| binder.var));
            }
        }
        late.retain(|var| !binders.iter().any(|binder| binder.var == *var));
        let between = &block.statements[made_at + 1..=read_at];
        let can_wait = waiting.iter().all(|at| is_pure_operation(&block.statements[*at].op));
        let mut consumed = FxHashSet::default();
        between.iter().for_each(|it| for_each_consumed_inside(it, &mut consumed));
        let reads_consumed = uses[made_at].iter().any(|var| consumed.contains(var));
        (can_wait && uses[read_at].is_disjoint(&late) && !reads_consumed).then_some(Rows { made_at, read_at, kept, waiting })
    }

    fn move_to_reader(self, program: &mut Program, block: &mut Block) {
        let statements = std::mem::take(&mut block.statements);
        let (mut made, mut late) = (None, Vec::new());
        for (at, mut statement) in statements.into_iter().enumerate() {
            if at == self.made_at {
                made = Some(statement);
                continue;
            }
            if self.waiting.contains(&at) {
                late.push(statement);
                continue;
            }
            if at == self.read_at
                && let Some(made) = made.take()
            {
                join(program, &made, &mut statement, &self.kept);
                statement.binders.extend(self.kept.iter().cloned());
                block.statements.push(statement);
                block.statements.append(&mut late);
                continue;
            }
            block.statements.push(statement);
        }
    }
}

/// Puts the making of rows into the loop that reads them, which gives what is kept as further results.
fn join(program: &mut Program, made: &Statement, reader: &mut Statement, kept: &[Binder]) {
    let vars: FxHashSet<Var> = made.binders.iter().map(|binder| binder.var).collect();
    if let Op::WithAccumulators { body, .. } = &mut reader.op {
        let inner = body.statements.iter_mut().find(|it| op_free_variables(&it.op).iter().any(|var| vars.contains(var)));
        if let Some(inner) = inner {
            join(program, made, inner, kept);
            // Outside, the results have the names that are used there.
            for binder in kept {
                let name = program.var_names.get(binder.var.0 as usize).cloned().unwrap_or_default();
                let own = Binder { var: program.fresh(name), ty: binder.ty.clone() };
                body.results.push(Atom::Var(own.var));
                inner.binders.push(own);
            }
        }
        return;
    }
    let Op::Build { space: made_space, body: maker, .. } = &made.op else { return };
    let axes: Vec<Axis> = reader.op.space().to_vec();
    let mut copier = Copier::new(program);
    made_space.iter().zip(&axes).for_each(|(axis, own)| copier.replace(axis.var, Atom::Var(own.var)));
    let maker = copier.block(maker);
    let values: FxHashMap<Var, Atom> = made.binders.iter().map(|binder| binder.var).zip(maker.results).collect();
    let (Op::Build { body, .. } | Op::Reduce { body, .. }) = &mut reader.op else { return };
    let own = read_values(std::mem::take(body), axes.len(), &values);
    let mut results = own.results;
    results.extend(kept.iter().filter_map(|binder| values.get(&binder.var).cloned()));
    *body = Block { statements: maker.statements.into_iter().chain(own.statements).collect(), results };
    if let Op::Build { inner, .. } = &mut reader.op {
        inner.extend(kept.iter().map(|_| Vec::new()));
    }
}

/// The block with values in the place of what is read of arrays of so many axes.
fn read_values(block: Block, axes: usize, values: &FxHashMap<Var, Atom>) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let statements = block.statements.into_iter().map(|statement| {
            let op = match statement.op {
                Op::Index { array: Atom::Var(array), mut indices } if values.contains_key(&array) => {
                    let (value, rest) = (values[&array].clone(), indices.split_off(axes));
                    match rest.is_empty() {
                        true => Op::Copy(vec![value]),
                        false => Op::Index { array: value, indices: rest },
                    }
                }
                op => op.map_blocks(&mut |inner| read_values(inner, axes, values)),
            };
            Statement { op, ..statement }
        });
        Block { statements: statements.collect(), results: block.results }
    })
}

/// The loop that uses the variables, in a statement or the scopes of accumulators in it, if it is the only one.
fn reader<'b>(statement: &'b Statement, vars: &FxHashSet<Var>) -> Option<&'b Statement> {
    match &statement.op {
        Op::Build { .. } | Op::Reduce { .. } => Some(statement),
        Op::WithAccumulators { init, body, .. } => {
            let is_used = |atom: &Atom| matches!(atom, Atom::Var(var) if vars.contains(var));
            let mut users = body.statements.iter().filter(|it| op_free_variables(&it.op).iter().any(|var| vars.contains(var)));
            let (Some(user), None) = (users.next(), users.next()) else { return None };
            if init.iter().chain(&body.results).any(is_used) {
                return None;
            }
            reader(user, vars)
        }
        _ => None,
    }
}

fn has_space(op: &Op, space: &[Axis]) -> bool {
    op.space().iter().map(|axis| &axis.size).eq(space.iter().map(|axis| &axis.size))
}

/// Whether iterations read the arrays each at its own place, and do nothing else with them.
fn reads_own(statement: &Statement, arrays: &FxHashSet<Var>) -> bool {
    let axes: Vec<Atom> = statement.op.space().iter().map(|axis| Atom::Var(axis.var)).collect();
    let is_used = |atom: &Atom| matches!(atom, Atom::Var(var) if arrays.contains(var));
    let mut fits = true;
    statement.op.for_each_atom(&mut |atom| fits &= !is_used(atom));
    let scopes = statement.op.scopes();
    let operator_is_free = scopes.iter().skip(1).all(|scope| fits_block(scope.block, &[], arrays));
    fits && operator_is_free && scopes.first().is_some_and(|scope| fits_block(scope.block, &axes, arrays))
}

fn fits_block(block: &Block, axes: &[Atom], arrays: &FxHashSet<Var>) -> bool {
    let is_used = |atom: &Atom| matches!(atom, Atom::Var(var) if arrays.contains(var));
    !block.results.iter().any(is_used)
        && block.statements.iter().all(|statement| {
            if let Op::Index { array, indices } = &statement.op
                && is_used(array)
            {
                return !axes.is_empty() && indices.starts_with(axes);
            }
            let mut fits = true;
            statement.op.for_each_atom(&mut |atom| fits &= !is_used(atom));
            fits && statement.op.scopes().iter().all(|scope| fits_block(scope.block, axes, arrays))
        })
}

fn for_each_consumed_inside(statement: &Statement, consumed: &mut FxHashSet<Var>) {
    for_each_consumed(&statement.op, &mut |var| {
        consumed.insert(var);
    });
    for scope in statement.op.scopes() {
        scope.block.statements.iter().for_each(|it| for_each_consumed_inside(it, consumed));
    }
}
