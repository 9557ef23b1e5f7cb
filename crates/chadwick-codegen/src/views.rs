//! Views that outlive a change of what they show, as in `let r = copy a[i] in (a with [i] = a[j]) with [j] = r`. A copy is another name in Core; as long as
//! a view is alive, the array behind it belongs to two, and a change would copy all of it. Such a view becomes an array of its own. So does a row that a
//! loop reads of an array as it was before the loop, while it changes the array: `loop a for i < n do a with [i] = map2 f a[i] r`.

use chadwick_core::visit::{for_each_binder, op_free_variables};
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, Builder, CompareOp, Loop, LoopForm, Op, Prim, PrimOp, Program, Size, Statement, Type,
    Var,
};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) fn part(program: &mut Program) {
    crate::rewrite_bodies(program, block);
}

fn block(b: &mut Builder<'_>, body: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let outliving = outliving(&body);
        let last_use = last_uses(&body);
        b.push_block();
        for (at, Statement { binders, op, span }) in body.statements.into_iter().enumerate() {
            b.set_span(span);
            let op = match op {
                Op::Loop(parts) => Op::Loop(with_own_rows(b, parts, &|var| last_use.get(&var) == Some(&at))),
                op => op,
            };
            let op = op.map_blocks(&mut |inner| block(b, inner));
            match binders.as_slice() {
                [binder] if outliving.contains(&binder.var) => copied(b, binder.clone(), op, span),
                _ => b.push_statement(Statement { binders, op, span }),
            }
        }
        b.pop_block(body.results)
    })
}

/// Views of a block that are used where an array that they may show is changed, or further on.
fn outliving(block: &Block) -> FxHashSet<Var> {
    let is_view =
        |statement: &Statement| view_of(&statement.op).is_some() && statement.binders.iter().all(|binder| binder.ty.rank() > 0);
    let mut found = FxHashSet::default();
    if !block.statements.iter().any(is_view) {
        return found;
    }
    let last_use = last_uses(block);
    let mut roots: FxHashMap<Var, Var> = FxHashMap::default();
    let mut views: Vec<Var> = Vec::new();
    for (at, statement) in block.statements.iter().enumerate() {
        let root = |var: Var| roots.get(&var).copied().unwrap_or(var);
        let mut changed = Vec::new();
        changes(&statement.op, &mut changed);
        let changed: FxHashSet<Var> = changed.into_iter().map(root).collect();
        if !changed.is_empty() {
            let is_alive = |view: &Var| {
                last_use.get(view).is_some_and(|last| *last > at || *last == at && !only_changes(&statement.op, *view))
            };
            found.extend(views.iter().filter(|view| changed.contains(&root(**view)) && is_alive(view)));
        }
        let same: Vec<(Var, Var)> = statement
            .binders
            .iter()
            .zip(shown(&statement.op))
            .filter_map(|(binder, atom)| variable(atom).map(|var| (binder.var, root(var))))
            .collect();
        roots.extend(same);
        if is_view(statement) {
            views.extend(statement.binders.iter().map(|binder| binder.var));
        }
    }
    found
}

fn last_uses(block: &Block) -> FxHashMap<Var, usize> {
    let mut last_use: FxHashMap<Var, usize> = FxHashMap::default();
    for (at, statement) in block.statements.iter().enumerate() {
        last_use.extend(op_free_variables(&statement.op).into_iter().map(|var| (var, at)));
    }
    last_use.extend(block.results.iter().filter_map(variable).map(|var| (var, usize::MAX)));
    last_use
}

/// The loop with the few rows that it reads of arrays it begins with, and changes, as arrays of their own.
fn with_own_rows(b: &mut Builder<'_>, mut parts: Box<Loop>, ends_here: &dyn Fn(Var) -> bool) -> Box<Loop> {
    const AT_MOST: usize = 4;
    let carried: Vec<(Var, Var)> = parts
        .carry
        .iter()
        .zip(&parts.initial)
        .filter_map(|(carry, initial)| variable(initial).map(|initial| (carry.var, initial)))
        .collect();
    for (carry, initial) in carried {
        let mut changed = Vec::new();
        parts.body.statements.iter().for_each(|statement| changes(&statement.op, &mut changed));
        let is_matrix = b.type_of(&Atom::Var(initial)).is_ok_and(|ty| ty.rank() > 1);
        if !is_matrix || !changed.contains(&carry) || !ends_here(initial) {
            continue;
        }
        let mut bound = FxHashSet::default();
        let in_while = match &parts.form {
            LoopForm::For { index, .. } => {
                bound.insert(index.var);
                false
            }
            LoopForm::While { condition } => mentions(condition, initial),
        };
        bound.extend(parts.carry.iter().map(|binder| binder.var));
        for_each_binder(&parts.body, &mut |var, _| {
            bound.insert(var);
        });
        let mut rows = Vec::new();
        let only_rows = rows_read(&parts.body, initial, &bound, &mut rows).is_some();
        if in_while || !only_rows || rows.is_empty() || rows.len() > AT_MOST {
            continue;
        }
        for row in rows {
            let Some(own) = own_row(b, initial, &row) else { continue };
            parts.body = reading_row(std::mem::take(&mut parts.body), initial, &row, &own);
        }
    }
    parts
}

fn mentions(block: &Block, var: Var) -> bool {
    block.results.contains(&Atom::Var(var)) || block.statements.iter().any(|it| op_free_variables(&it.op).contains(&var))
}

/// Collects the rows of an array of which elements are read; nothing if there are other uses, or rows that change from turn to turn.
fn rows_read(block: &Block, array: Var, bound: &FxHashSet<Var>, rows: &mut Vec<Atom>) -> Option<()> {
    if block.results.contains(&Atom::Var(array)) {
        return None;
    }
    for statement in &block.statements {
        match &statement.op {
            Op::Index { array: read, indices } if variable(read) == Some(array) => {
                let row = indices.first().filter(|row| variable(row).is_none_or(|var| !bound.contains(&var)))?;
                if indices.len() < 2 {
                    return None;
                }
                if !rows.contains(row) {
                    rows.push(row.clone());
                }
            }
            op => {
                let mut other_use = false;
                op.for_each_atom(&mut |atom| other_use |= variable(atom) == Some(array));
                if other_use {
                    return None;
                }
            }
        }
        for scope in statement.op.scopes() {
            rows_read(scope.block, array, bound, rows)?;
        }
    }
    Some(())
}

/// A row as an array of its own; an empty one if there is no such row, which is no error as long as nobody reads it.
fn own_row(b: &mut Builder<'_>, array: Var, row: &Atom) -> Option<Atom> {
    let (array, span) = (Atom::Var(array), b.span());
    let read = Op::Index { array: array.clone(), indices: vec![row.clone()] };
    let ty = b.result_types(&read).ok()?.pop()?;
    let length = b.emit(Op::Dim { array: array.clone(), axis: 0 }).ok()?.pop()?;
    let compare = |b: &mut Builder<'_>, op, left: &Atom, right: &Atom| {
        b.prim(PrimOp::Compare(op, Prim::I64), [left.clone(), right.clone()])
    };
    let from_start = compare(b, CompareOp::LessEqual, &Atom::i64(0), row);
    let below_end = compare(b, CompareOp::Less, row, &length);
    let condition = b.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), [from_start, below_end]);
    let own = b.param("row", ty.clone());
    let then = b.block(|b| {
        copied(b, own.clone(), read, span);
        vec![Atom::Var(own.var)]
    });
    let otherwise = b.block(|b| {
        let element = b.result_types(&Op::Index { array, indices: vec![row.clone(), Atom::i64(0)] });
        let Some(ty) = element.ok().and_then(|mut types| types.pop()) else { return Vec::new() };
        let inner = vec![Size::Known(Atom::i64(0)); ty.rank()];
        b.emit(Op::ArrayLiteral { ty, elements: Vec::new(), inner }).unwrap_or_default()
    });
    b.push_named("row", Op::If { condition, then, otherwise }, vec![ty.any_sizes()], span).pop()
}

/// The block with a row read from an array of its own.
fn reading_row(block: Block, array: Var, row: &Atom, own: &Atom) -> Block {
    let statements = block.statements.into_iter().map(|statement| {
        let op = match statement.op {
            Op::Index { array: read, indices } if variable(&read) == Some(array) && indices.first() == Some(row) => {
                Op::Index { array: own.clone(), indices: indices[1..].to_vec() }
            }
            op => op.map_blocks(&mut |block| reading_row(block, array, row, own)),
        };
        Statement { op, ..statement }
    });
    Block { statements: statements.collect(), results: block.results }
}

fn variable(atom: &Atom) -> Option<Var> {
    match atom {
        Atom::Var(var) => Some(*var),
        Atom::Const(_) => None,
    }
}

fn view_of(op: &Op) -> Option<&Atom> {
    match op {
        Op::Index { array, .. } | Op::Slice { array, .. } | Op::Transpose { array, .. } | Op::Reshape { array, .. } => {
            Some(array)
        }
        _ => None,
    }
}

/// For each result, what it may be in the memory of.
fn shown(op: &Op) -> Vec<&Atom> {
    match op {
        Op::Copy(atoms) => atoms.iter().collect(),
        Op::Update { array, .. } => vec![array],
        Op::Scatter { dest, .. } | Op::Hist { dest, .. } => dest.iter().collect(),
        Op::Loop(parts) => parts.initial.iter().collect(),
        op => view_of(op).into_iter().collect(),
    }
}

/// Arrays that an operation, or one inside it, changes.
fn changes(op: &Op, found: &mut Vec<Var>) {
    match op {
        Op::Update { array, .. } => found.extend(variable(array)),
        Op::Scatter { dest, .. } | Op::Hist { dest, .. } => found.extend(dest.iter().filter_map(variable)),
        Op::If { .. } | Op::Match { .. } | Op::Par { .. } | Op::Recompute(_) | Op::Loop(_) => {
            let before = found.len();
            for scope in op.scopes() {
                scope.block.statements.iter().for_each(|statement| changes(&statement.op, found));
            }
            if let Op::Loop(parts) = op
                && found.len() > before
            {
                found.extend(parts.initial.iter().filter_map(variable));
            }
        }
        _ => {}
    }
}

/// Whether all that an operation does with a view is to change it.
fn only_changes(op: &Op, view: Var) -> bool {
    let mut uses = 0;
    op.for_each_atom(&mut |atom| uses += usize::from(variable(atom) == Some(view)));
    matches!(op, Op::Update { array, .. } if variable(array) == Some(view) && uses == 1)
}

/// The elements of a view as an array of their own.
fn copied(b: &mut Builder<'_>, binder: Binder, op: Op, span: Span) {
    let view = b.param("view", binder.ty.clone());
    let array = Atom::Var(view.var);
    b.push_statement(Statement { binders: vec![view], op, span });
    let size = |b: &mut Builder<'_>, axis| b.emit(Op::Dim { array: array.clone(), axis }).ok()?.pop();
    let sizes: Vec<Atom> = (0..binder.ty.rank()).filter_map(|axis| size(b, axis)).collect();
    let space: Vec<Axis> = sizes.into_iter().map(|size| Axis { var: b.param("i", Type::Prim(Prim::I64)).var, size }).collect();
    b.push_block();
    let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
    let element = b.emit(Op::Index { array, indices }).unwrap_or_default();
    let body = b.pop_block(element);
    b.push_statement(Statement { binders: vec![binder], op: Op::Build { space, body, inner: vec![Vec::new()] }, span });
}
