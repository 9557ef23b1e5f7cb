//! Which arrays are made where, for two questions of reverse mode: what may be kept in every iteration, and where a zero is dearer than the
//! value it belongs to.
//!
//! To keep an array, or to make a zero of its size, costs no more than its making. So either may be done once for each time it is made.
//! An array that is only passed on by an iteration (a state updated in place, one of two arrays chosen by a condition) is neither kept nor
//! made zeros for there. A part of an array from outside the iteration need not be kept: it is cut out again.

use chadwick_core::{Atom, Block, Loop, LoopForm, Op, PrimOp, SliceDim, Statement, Type, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether an operation costs no more than to keep its result.
pub fn is_cheap(op: PrimOp) -> bool {
    op.is_light() || op.result().is_integer()
}

#[derive(Default)]
pub struct Makings {
    /// How many loops, parallel forms and functions are around.
    depth: usize,
    /// How many were around where a variable was bound, if any.
    depths: FxHashMap<Var, usize>,
    /// Integers that are a few light operations away from counters and from what was bound outside the iteration.
    light: FxHashSet<Var>,
    /// Parts of arrays from outside the iteration, at such places.
    parts: FxHashSet<Var>,
    /// Variables bound in blocks that run many times.
    repeated: FxHashSet<Var>,
    /// States of loops that change them in place, which the reverse pass has as they were.
    restored: FxHashSet<Var>,
    /// Arrays whose making costs as much as a zero of their size. What a function gives is taken to be made by it.
    made: FxHashSet<Var>,
}

impl Makings {
    /// Begins a block that runs many times, with what is bound at its start.
    pub fn enter(&mut self, bound: &[Var]) {
        self.depth += 1;
        self.depths.extend(bound.iter().map(|var| (*var, self.depth)));
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Whether all that is at hand runs once.
    pub fn runs_once(&self) -> bool {
        self.depth == 0
    }

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
        self.note_part(statement);
        if self.depth > 0 {
            self.depths.extend(statement.binders.iter().map(|binder| (binder.var, self.depth)));
            self.repeated.extend(statement.binders.iter().map(|binder| binder.var));
        }
    }

    /// Notes what can be had again for next to nothing.
    fn note_part(&mut self, statement: &Statement) {
        let [binder] = statement.binders.as_slice() else { return };
        let is_there = |array: &Atom| match array {
            Atom::Var(array) => self.is_outside(*array) && self.can_be_kept(*array),
            Atom::Const(_) => false,
        };
        let is_light = |atom: &Atom| match atom {
            Atom::Var(var) => self.is_outside(*var) || self.light.contains(var),
            Atom::Const(_) => true,
        };
        let is_known = match &statement.op {
            Op::Prim(op, args) => is_cheap(*op) && args.iter().all(is_light),
            Op::Index { array, indices } => is_there(array) && indices.iter().all(is_light),
            Op::Slice { array, dims } => {
                is_there(array)
                    && dims.iter().all(|dim| match dim {
                        SliceDim::Index(index) => is_light(index),
                        SliceDim::Range { start, count, stride } => [start, count, stride].into_iter().all(is_light),
                    })
            }
            _ => false,
        };
        match binder.ty {
            _ if !is_known => {}
            Type::Prim(_) => {
                self.light.insert(binder.var);
            }
            _ => {
                self.parts.insert(binder.var);
            }
        }
    }

    /// Whether the variable was bound outside the innermost iteration.
    fn is_outside(&self, var: Var) -> bool {
        self.depths.get(&var).is_none_or(|depth| *depth < self.depth)
    }

    /// Rows that iterations have to themselves: together they are no larger than the array they come from.
    pub fn own_rows(&mut self, indices: &[Var], body: &Block) {
        self.light.extend(indices);
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
        let carried: Vec<Var> = parts.carry.iter().map(|carry| carry.var).collect();
        self.enter(&carried);
        parts.body.statements.iter().for_each(|statement| self.statement(statement));
        self.leave();
        for (carry, next) in parts.carry.iter().zip(&parts.body.results) {
            self.repeated.insert(carry.var);
            if matches!(next, Atom::Var(var) if self.made.contains(var)) {
                self.made.insert(carry.var);
            }
        }
    }

    /// Whether keeping the array for the reverse pass costs no more than its making.
    pub fn can_be_kept(&self, var: Var) -> bool {
        !self.repeated.contains(&var) || self.made.contains(&var) || self.parts.contains(&var) || self.restored.contains(&var)
    }

    /// Notes names of an array that is undone, change by change, in the reverse pass.
    pub fn note_restored(&mut self, names: &[Var]) {
        self.restored.extend(names);
    }

    /// Whether a zero of the array's size costs more than the array did.
    pub fn is_dear_zero(&self, var: Var) -> bool {
        self.depth > 0 && !self.made.contains(&var)
    }
}
