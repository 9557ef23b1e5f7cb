//! Arrays that loops change in place, as they were before.
//!
//! What the dual of an iteration reads of such an array at many places would have to be kept place by place: the array itself cannot be
//! kept, as it is another one in every iteration. So the loop keeps what each change overwrites, which costs no more than the change, and
//! the dual loop carries the array backwards, undoing one change after the other. Where it reads an element, the array is as it was.

use super::Reverse;
use chadwick_core::visit::{free_variables, op_free_variables};
use chadwick_core::{Atom, Block, Element, Loop, Op, Statement, Type, Var};
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

    /// The results of a conditional that are arrays being undone, and what they were in front of it.
    pub(super) fn undone_choices(&self, statement: &Statement) -> Vec<(usize, Var)> {
        let Op::If { then, .. } = &statement.op else { return Vec::new() };
        let undone = statement.binders.iter().enumerate().filter(|(_, binder)| self.is_restored(binder.var));
        undone.filter_map(|(at, _)| Some((at, came_from(then, at, &mut Vec::new())?))).collect()
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
                let op = Op::part(array.clone(), dims.clone());
                // A part that is a view would keep the array from being changed in place.
                let made = self.context.block(|context| {
                    let part = context.emit_one(op, statement.span);
                    vec![if context.type_of(&part).rank() > 0 { context.copied(part, statement.span) } else { part }]
                });
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

pub(super) fn substitute(block: &mut Block, names: &FxHashMap<Var, Atom>) {
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
pub(super) fn follow(parts: &Loop, at: usize, names: &mut Vec<Var>) -> bool {
    parts.hints.stripmine.is_none() && came_from(&parts.body, at, names) == Some(parts.carry[at].var)
}

/// The array from outside that a result of a block is, with changes.
pub(super) fn came_from(block: &Block, at: usize, names: &mut Vec<Var>) -> Option<Var> {
    let mut current = block.results.get(at)?.as_var()?;
    let mut upto = block.statements.len();
    loop {
        names.push(current);
        let binds = |statement: &Statement| statement.binders.iter().position(|binder| binder.var == current);
        let earlier = block.statements[..upto].iter().enumerate();
        let Some((place, result)) = earlier.into_iter().find_map(|(place, it)| Some((place, binds(it)?))) else {
            return Some(current);
        };
        let op = &block.statements[place].op;
        let before = match op {
            Op::Copy(atoms) => atoms.get(result)?.as_var()?,
            Op::Update { array, value, .. } if array != value => array.as_var()?,
            Op::Loop(inner) => {
                let before = inner.initial.get(result)?.as_var()?;
                let once = inner.initial.iter().filter(|atom| **atom == Atom::Var(before)).count() == 1;
                let is_inside = op.scopes().iter().any(|scope| free_variables(scope.block).contains(&before));
                if !once || is_inside || !follow(inner, result, names) {
                    return None;
                }
                before
            }
            Op::If { then, otherwise, .. } => {
                let before = came_from(then, result, names)?;
                if came_from(otherwise, result, names)? != before {
                    return None;
                }
                before
            }
            _ => return None,
        };
        let is_used = |statement: &Statement| op_free_variables(&statement.op).contains(&before);
        let is_other = |atom: &Atom| *atom == Atom::Var(before) || *atom == Atom::Var(current);
        if block.statements[place + 1..].iter().any(is_used)
            || block.results.iter().enumerate().any(|(other, result)| other != at && is_other(result))
        {
            return None;
        }
        (current, upto) = (before, place);
    }
}

/// Whether an array is read in loops or parallel forms that do not change it.
pub(super) fn is_read_inside(block: &Block, names: &[Var]) -> bool {
    block.statements.iter().any(|statement| match &statement.op {
        Op::Loop(inner) if inner.carry.iter().any(|carry| names.contains(&carry.var)) => is_read_inside(&inner.body, names),
        Op::If { then, otherwise, .. } => is_read_inside(then, names) || is_read_inside(otherwise, names),
        op => op.scopes().iter().any(|scope| free_variables(scope.block).iter().any(|var| names.contains(var))),
    })
}
