//! Text to syntax tree and back.
//!
//! [`parse_program`] always yields a tree, with diagnostics for what it could not read; [`print_program`] writes a tree as text that
//! parses to the same tree. Architecture invariant: nothing here knows what a name means. Scopes, modules, types and sizes are
//! resolved behind this crate; only what the text alone decides is decided here.
//!
//! # Diagnostic codes
//!
//! | code | what is wrong |
//! |---|---|
//! | E0101 | a character that the language does not use |
//! | E0102 | a string that is not closed |
//! | E0103 | a malformed character literal |
//! | E0104 | an unknown or malformed escape |
//! | E0105 | a number without digits where it needs some |
//! | E0106 | an unknown suffix of a number |
//! | E0107 | a file of 4 GiB or more |
//! | E0120 | no declaration or specification where one must start |
//! | E0121 | no expression where one must start |
//! | E0122 | no pattern where one must start |
//! | E0123 | no type where one must start |
//! | E0124 | no module or module type where one must start |
//! | E0125 | a certain word, sign or name is missing |
//! | E0126 | a bracket that is not closed |
//! | E0127 | a bracket that closes nothing |
//! | E0128 | a `let` without `in` |
//! | E0129 | an `if` without `then` or `else` |
//! | E0130 | a `loop` without a part |
//! | E0131 | `=` behind an expression, usually for `==` |
//! | E0132 | two operators without a space between them |
//! | E0133 | a reserved word as a name |
//! | E0134 | a definition of `&&` or the like |
//! | E0135 | use of a name that starts with an underscore |
//! | E0136 | nesting beyond [`MAX_DEPTH`] |
//! | E0137 | a tuple of one element |
//! | E0138 | a dot with spaces around it, or behind what has no fields |
//! | E0139 | an argument that needs parentheses |
//! | E0140 | a type that needs parentheses around what it belongs to |
//! | E0141 | a `match` without cases |
//! | E0142 | a recursive definition without parameters |
//! | E0143 | a size or type parameter behind other parameters |
//! | E0144 | a malformed range |
//! | E0145 | a malformed attribute |
//! | E0146 | a malformed infix function |

pub mod ast;
mod erase;
pub mod lexer;
mod parser;
mod printer;

pub use erase::EraseSpans;
pub use parser::{MAX_DEPTH, Parsed, parse_expression, parse_program, parse_type, split_glued_operator};
pub use printer::{print_expression, print_pattern, print_program, print_type};
