//! Core: the small typed language between the front end and everything that transforms or executes programs.

mod constant;
mod prim;
mod term;
mod types;

pub use constant::Const;
pub use prim::{BinaryOp, CompareOp, PrimOp, UnaryOp};
pub use term::*;
pub use types::*;
