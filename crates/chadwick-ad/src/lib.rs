//! Derivatives as Core: a program with derivative operators goes in, one without comes out.

mod activity;
mod chad;
mod context;
mod dependencies;
mod directions;
mod dual;
pub mod dual_arrays;
mod engine;
mod expand;
mod flow;
mod forward;
pub mod linear_maps;
mod loops;
mod makings;
mod notation;
mod one_hot;
mod parts;
mod report;
mod reverse;
mod saved;
mod seeds;
mod shapes;
mod sparse;
mod split;
mod tape;

pub use activity::check_derivatives;
pub use chad::{Cotangents, Definition, Elements};
pub use dual::Rung;
pub use engine::ReverseMode;
pub use expand::{expand, expand_where_possible, expand_with_report, has_derivatives};
pub use report::{Note, NoteKind, Picked, Refusal, Report};
pub use saved::{SavedValue, saved_values};
