//! Text to syntax tree and back.
//!
//! [`parse_program`] always yields a tree, with diagnostics for what it could not read; [`print_program`] writes a tree as text that
//! parses to the same tree. Architecture invariant: nothing here knows what a name means. Scopes, modules, types and sizes are
//! resolved behind this crate; only what the text alone decides is decided here.

pub mod ast;
mod erase;
pub mod lexer;
mod parser;
mod printer;

pub use erase::EraseSpans;
pub use parser::{MAX_DEPTH, Parsed, parse_expression, parse_program, parse_type, split_glued_operator};
pub use printer::{print_expression, print_pattern, print_program, print_type};
