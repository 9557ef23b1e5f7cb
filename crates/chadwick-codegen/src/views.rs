//! Views that outlive a change of what they show, as in `let r = copy a[i] in (a with [i] = a[j]) with [j] = r`. A copy is another name in Core; as long as
//! a view is alive, the array behind it belongs to two, and a change would copy all of it. Such a view becomes an array of its own.

use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Axis, Binder, Block, Builder, Op, Prim, Program, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) fn part(program: &mut Program) {
    crate::rewrite_bodies(program, block);
}

fn block(b: &mut Builder<'_>, body: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let outliving = outliving(&body);
        b.push_block();
        for Statement { binders, op, span } in body.statements {
            b.set_span(span);
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
    let mut last_use: FxHashMap<Var, usize> = FxHashMap::default();
    for (at, statement) in block.statements.iter().enumerate() {
        last_use.extend(op_free_variables(&statement.op).into_iter().map(|var| (var, at)));
    }
    last_use.extend(block.results.iter().filter_map(variable).map(|var| (var, usize::MAX)));
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
