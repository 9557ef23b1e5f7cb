//! Derivatives as Core: a program with derivative operators goes in, one without comes out.

mod activity;
mod context;
mod directions;
mod expand;
mod flow;
mod forward;
mod makings;
mod report;
mod reverse;
mod saved;
mod seeds;
mod split;
mod tape;

pub use activity::check_derivatives;
pub use expand::{expand, expand_with_report};
pub use report::{Note, NoteKind, Report};
pub use saved::{SavedValue, saved_values};
