//! Source files, spans and diagnostics: the vocabulary in which every stage speaks of where and what went wrong.
//!
//! Nothing here reads files or prints. Architecture invariant: a diagnostic is data; only the command line turns it into text on a
//! terminal.

mod diagnostic;
mod map;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use map::{FileId, LineColumn, SourceFile, SourceMap, Span};

/// An identifier. Cheap to clone, ordered, hashable.
pub type Name = smol_str::SmolStr;
