//! Which arrays are made where, for two questions of reverse mode: what may be kept in every iteration, and where a zero is dearer than the
//! value it belongs to.
//!
//! To keep an array, or to make a zero of its size, costs no more than its making. So either may be done once for each time it is made.
//! An array that is only passed on by an iteration (a state updated in place, one of two arrays chosen by a condition) is neither kept nor
//! made zeros for there.

use chadwick_core::{Atom, Block, Loop, LoopForm, Op, Statement, Var};
use rustc_hash::FxHashSet;

#[derive(Default)]
pub struct Makings {
    /// How many loops, parallel forms and functions are around.
    pub depth: usize,
    /// Variables bound in blocks that run many times.
    repeated: FxHashSet<Var>,
    /// Arrays whose making costs as much as a zero of their size. What a function gives is taken to be made by it.
    made: FxHashSet<Var>,
}

impl Makings {
    pub fn statement(&mut self, statement: &Statement) {
        let is_made = |atom: &Atom| matches!(atom, Atom::Var(var) if self.made.contains(var));
        let made: Vec<Var> = statement
            .binders
            .iter()
            .enumerate()
            .filter(|(at, _)| match &statement.op {
                Op::Build { .. } | Op::Scan { .. } | Op::Concat { .. } | Op::ArrayLiteral { .. } | Op::Call { .. } => true,
                Op::Copy(atoms) => atoms.get(*at).is_some_and(is_made),
                Op::Loop(parts) => parts.initial.get(*at).is_none_or(is_made),
                Op::Transpose { array, .. } | Op::Reshape { array, .. } | Op::Update { array, .. } => is_made(array),
                Op::Hist { dest, .. } | Op::Scatter { dest, .. } => dest.get(*at).is_some_and(is_made),
                _ => false,
            })
            .map(|(_, binder)| binder.var)
            .collect();
        self.made.extend(made);
        if self.depth > 0 {
            self.repeated.extend(statement.binders.iter().map(|binder| binder.var));
        }
    }

    /// Rows that iterations have to themselves: together they are no larger than the array they come from.
    pub fn own_rows(&mut self, indices: &[Var], body: &Block) {
        for statement in &body.statements {
            if let (Op::Index { indices: used, .. }, [row]) = (&statement.op, statement.binders.as_slice())
                && indices.iter().all(|index| used.contains(&Atom::Var(*index)))
            {
                self.made.insert(row.var);
            }
        }
    }

    /// The state of a loop is made by every iteration, or passed on by it.
    pub fn loop_state(&mut self, parts: &Loop) {
        if let LoopForm::For { index, .. } = &parts.form {
            self.own_rows(&[index.var], &parts.body);
        }
        self.depth += 1;
        parts.body.statements.iter().for_each(|statement| self.statement(statement));
        self.depth -= 1;
        for (carry, next) in parts.carry.iter().zip(&parts.body.results) {
            self.repeated.insert(carry.var);
            if matches!(next, Atom::Var(var) if self.made.contains(var)) {
                self.made.insert(carry.var);
            }
        }
    }

    /// Whether keeping the array for the reverse pass costs no more than its making.
    pub fn can_be_kept(&self, var: Var) -> bool {
        !self.repeated.contains(&var) || self.made.contains(&var)
    }

    /// Whether a zero of the array's size costs more than the array did.
    pub fn is_dear_zero(&self, var: Var) -> bool {
        self.depth > 0 && !self.made.contains(&var)
    }
}
