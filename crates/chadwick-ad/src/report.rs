//! What reverse mode decided on the way, for people who want to know.

use chadwick_core::{Atom, Loop, Op, Statement, Var};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

/// A decision about an expression of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Note {
    /// The expression.
    pub span: Span,
    pub kind: NoteKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoteKind {
    /// Made again in the reverse pass, since that is no dearer than reading it back.
    Recomputed,
    /// Made again because the source asks for it.
    RecomputeWished,
    /// The form has no reverse rule of its own and becomes a sequential loop.
    Sequential(&'static str),
    /// In an iteration or a call, a zero as large as the value is made for its cotangent, though the value itself was not made there.
    DenseZero,
}

impl NoteKind {
    /// Whether the derivative may cost more than the expression for this reason, or be less parallel.
    pub fn leaves_fast_fragment(self) -> bool {
        matches!(self, NoteKind::Sequential(_) | NoteKind::DenseZero)
    }
}

/// The decisions of one run, in the order of the source, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub notes: Vec<Note>,
}

impl Report {
    pub(crate) fn new(mut notes: Vec<Note>) -> Self {
        notes.sort_unstable();
        notes.dedup();
        Report { notes }
    }
}

/// What is noted while reverse mode works.
#[derive(Default)]
pub(crate) struct Decisions {
    pub notes: Vec<Note>,
    /// How many loops, parallel forms and functions are around.
    pub depth: usize,
    /// Arrays whose making costs as much as a zero of their size. What a function gives is taken to be made by it.
    made: FxHashSet<Var>,
}

impl Decisions {
    pub fn note(&mut self, span: Span, kind: NoteKind) {
        self.notes.push(Note { span, kind });
    }

    /// Notes which results of a statement are arrays that it makes.
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
    }

    /// Notes which parts of a loop's state are made anew by every iteration.
    pub fn loop_state(&mut self, parts: &Loop) {
        parts.body.statements.iter().for_each(|statement| self.statement(statement));
        for (carry, next) in parts.carry.iter().zip(&parts.body.results) {
            if matches!(next, Atom::Var(var) if self.made.contains(var)) {
                self.made.insert(carry.var);
            }
        }
    }

    /// Notes that a zero is made for the cotangent of an array.
    pub fn zero(&mut self, var: Var, span: Span) {
        if self.depth > 0 && !self.made.contains(&var) {
            self.note(span, NoteKind::DenseZero);
        }
    }
}
