//! Arrays that loops change in place, as they were before.
//!
//! What the dual of an iteration reads of such an array at many places would have to be kept place by place: the array itself cannot be
//! kept, as it is another one in every iteration. So the loop keeps what each change overwrites, which costs no more than the change, and
//! the dual loop carries the array backwards, undoing one change after the other. Where it reads an element, the array is as it was.

use super::Reverse;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Block, Element, Loop, Op, SliceDim, Statement, Type, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// Arrays of loops that are being undone.
#[derive(Default)]
pub(super) struct Undo {
    /// The names that an array has from one change to the next, in the loops around and inside.
    names: FxHashSet<Var>,
    /// What a change overwrites, by the array behind it.
    overwritten: FxHashMap<Var, Atom>,
    /// In the dual: the array as it was when it had that name.
    restored: FxHashMap<Var, Atom>,
}

impl Reverse<'_, '_> {
    /// Which parts of a loop's state are undone in its dual.
    pub(super) fn undone(&mut self, statement: &Statement, parts: &Loop) -> Vec<usize> {
        let mut undone = Vec::new();
        for (at, binder) in statement.binders.iter().enumerate().take(parts.carry.len()) {
            if self.undo.restored.contains_key(&binder.var) {
                undone.push(at);
                continue;
            }
            let mut names = Vec::new();
            if self.context.makings.can_be_kept(binder.var)
                && matches!(&parts.carry[at].ty, Type::Array(array) if matches!(array.element, Element::Prim(_)))
                && follow(parts, at, &mut names)
                && is_read_inside(&parts.body, &names)
            {
                self.context.makings.note_restored(&names);
                self.undo.names.extend(names);
                undone.push(at);
            }
        }
        undone
    }

    /// Where the dual of a loop starts from.
    pub(super) fn last_state(&self, array: Var) -> Atom {
        self.undo.restored.get(&array).cloned().unwrap_or(Atom::Var(array))
    }

    pub(super) fn is_restored(&self, array: Var) -> bool {
        self.undo.restored.contains_key(&array)
    }

    pub(super) fn restore(&mut self, array: &Atom, as_it_was: Atom) {
        if let Atom::Var(var) = array {
            self.undo.restored.insert(*var, as_it_was);
        }
    }

    /// Reads what is going to be overwritten, ahead of each change.
    pub(super) fn with_overwritten(&mut self, statements: Vec<Statement>) -> Vec<Statement> {
        if self.undo.names.is_empty() {
            return statements;
        }
        let mut all = Vec::with_capacity(statements.len());
        for statement in statements {
            if let (Op::Update { array, dims, .. }, [binder]) = (&statement.op, statement.binders.as_slice())
                && self.undo.names.contains(&binder.var)
            {
                let index = |dim: &SliceDim| match dim {
                    SliceDim::Index(index) => Some(index.clone()),
                    SliceDim::Range { .. } => None,
                };
                let op = match dims.iter().map(index).collect::<Option<Vec<Atom>>>() {
                    Some(indices) => Op::Index { array: array.clone(), indices },
                    None => Op::Slice { array: array.clone(), dims: dims.clone() },
                };
                let made = self.context.block(|context| vec![context.emit_one(op, statement.span)]);
                self.undo.overwritten.insert(binder.var, made.results[0].clone());
                all.extend(made.statements);
            }
            all.push(statement);
        }
        all
    }

    /// Goes back behind a statement that changes an array, or gives it another name.
    pub(super) fn undo(&mut self, statement: &Statement) {
        for (at, binder) in statement.binders.iter().enumerate() {
            let Some(after) = self.undo.restored.get(&binder.var).cloned() else { continue };
            match &statement.op {
                Op::Copy(atoms) => self.restore(&atoms[at], after),
                Op::Update { array, dims, .. } => {
                    let Some(value) = self.undo.overwritten.get(&binder.var).cloned() else { continue };
                    let op = Op::Update { array: after, dims: dims.clone(), value };
                    let before = self.context.emit_one(op, statement.span);
                    self.restore(array, before);
                }
                _ => {}
            }
        }
    }

    /// In the dual of an iteration, reads the arrays as they were. `before` are the names that the code around has.
    pub(super) fn read_restored(&mut self, dual: &mut Block, before: &FxHashSet<Var>) {
        let own: FxHashMap<Var, Atom> = self.undo.restored.extract_if(|var, _| !before.contains(var)).collect();
        if !own.is_empty() {
            substitute(dual, &own);
        }
    }

    pub(super) fn restored_names(&self) -> FxHashSet<Var> {
        self.undo.restored.keys().copied().collect()
    }
}

fn substitute(block: &mut Block, names: &FxHashMap<Var, Atom>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let change = |atom: &mut Atom| {
            if let Atom::Var(var) = atom
                && let Some(known) = names.get(var)
            {
                *atom = known.clone();
            }
        };
        for statement in &mut block.statements {
            statement.op.for_each_atom_mut(&mut |atom| change(atom));
            let op = std::mem::replace(&mut statement.op, Op::Copy(Vec::new()));
            statement.op = op.map_blocks(&mut |mut block| {
                substitute(&mut block, names);
                block
            });
        }
        block.results.iter_mut().for_each(change);
    });
}

/// Finds the names of a part of a loop's state from the end of an iteration back to its start, if nothing but changes of parts lies between
/// them, and nobody looks at an array that has been changed since.
fn follow(parts: &Loop, at: usize, names: &mut Vec<Var>) -> bool {
    if parts.hints.stripmine.is_some() {
        return false;
    }
    let statements = &parts.body.statements;
    let Some(Atom::Var(last)) = parts.body.results.get(at) else { return false };
    let (mut current, mut upto) = (*last, statements.len());
    loop {
        names.push(current);
        if current == parts.carry[at].var {
            return true;
        }
        let binds = |statement: &Statement| statement.binders.iter().position(|binder| binder.var == current);
        let found = statements[..upto].iter().enumerate().find_map(|(place, statement)| Some((place, binds(statement)?)));
        let Some((place, result)) = found else { return false };
        let before = match &statements[place].op {
            Op::Copy(atoms) => atoms.get(result),
            Op::Update { array, value, .. } if array != value => Some(array),
            Op::Loop(inner) if result < inner.carry.len() => {
                let is_state_only = |array: &Atom| {
                    let is_it = |atom: &&Atom| *atom == array;
                    let inside = statements[place].op.scopes();
                    let inside = inside.iter().flat_map(|scope| chadwick_core::visit::free_variables(scope.block));
                    inner.initial.iter().filter(is_it).count() == 1 && inside.into_iter().all(|var| Atom::Var(var) != *array)
                };
                inner.initial.get(result).filter(|array| is_state_only(array) && follow(inner, result, names))
            }
            _ => None,
        };
        let Some(Atom::Var(before)) = before else { return false };
        let is_used = |statement: &Statement| op_free_variables(&statement.op).contains(before);
        let is_result = parts.body.results.iter().enumerate().any(|(other, result)| {
            other != at && *result == Atom::Var(*before) || other != at && *result == Atom::Var(current)
        });
        if statements[place + 1..].iter().any(is_used) || is_result {
            return false;
        }
        (current, upto) = (*before, place);
    }
}

/// Whether an array is read in loops or parallel forms that do not change it.
fn is_read_inside(block: &Block, names: &[Var]) -> bool {
    block.statements.iter().any(|statement| match &statement.op {
        Op::Loop(inner) if inner.carry.iter().any(|carry| names.contains(&carry.var)) => is_read_inside(&inner.body, names),
        op => op.scopes().iter().any(|scope| chadwick_core::visit::free_variables(scope.block).iter().any(|var| names.contains(var))),
    })
}
