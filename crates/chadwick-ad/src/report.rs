//! What reverse mode decided on the way, for people who want to know.

use chadwick_core::Mode;
use chadwick_source::Span;

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

/// What became of a derivative operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    pub span: Span,
    pub mode: Mode,
    /// Why it is left to the interpreter, if it is.
    pub left: Option<Refusal>,
}

/// Why there is no code for a derivative, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    pub span: Span,
}

/// The decisions of one run, in the order of the source, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub notes: Vec<Note>,
    pub derivatives: Vec<Picked>,
}

impl Report {
    pub(crate) fn new(mut notes: Vec<Note>, mut derivatives: Vec<Picked>) -> Self {
        notes.sort_unstable();
        notes.dedup();
        derivatives.sort_by_key(|picked| picked.span);
        derivatives.dedup();
        Report { notes, derivatives }
    }
}
