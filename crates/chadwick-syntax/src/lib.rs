//! Text to syntax tree and back.

pub mod ast;
pub mod lexer;
mod parser;

pub use parser::{MAX_DEPTH, Parsed, parse_expression, parse_program, parse_type, split_glued_operator};
