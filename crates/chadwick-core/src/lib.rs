//! Core: the small typed language between the front end and everything that transforms or executes programs.
//!
//! Types and terms are plain data ([`Type`], [`Program`]); [`prim`] is the table of primitive operations with their values and partial
//! derivatives; [`typing`] holds the typing rules that [`Builder`] and the verifier share.

mod builder;
pub mod chunks;
mod constant;
pub mod prim;
mod term;
pub mod text;
mod types;
pub mod typing;
pub mod verify;
pub mod visit;

pub use builder::Builder;
pub use constant::Const;
pub use prim::{BinaryOp, CompareOp, PrimError, PrimOp, UnaryOp};
pub use term::*;
pub use types::*;
