//! The textual form of Core: [`print()`] and [`parse()`].
//!
//! Parsing what was printed gives the same program, up to spans and the names of variables that do not occur. A variable is written
//! `name_12` where 12 is its number; a name that is no identifier stands in quotes. In text written by hand the number may be missing:
//! then every such name is one variable in its function. Functions and named types are written `name@3`, or by name alone where that is unique.
//!
//! ```text
//! def sum@0(n_0: i64, xs_1: [?]f64) -> (f64) {
//!   s_2: f64 = reduce [i_3 < n_0] neutral(0.0f64) op (a_4: f64, b_5: f64) -> (f64) {
//!     c_6: f64 = f64.add(a_4, b_5)
//!     return c_6
//!   } {
//!     x_7: f64 = index xs_1 [i_3]
//!     return x_7
//!   }
//!   return s_2
//! }
//! ```

mod lexer;
mod parse_op;
mod parser;
mod printer;

pub use parser::{ParseError, parse};
pub use printer::{print, print_block, print_type};

/// Nesting beyond this is refused.
const MAX_NESTING: usize = 2000;

/// Whether a name can stand without quotes.
fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|rest| rest.is_ascii_alphanumeric() || rest == '_' || rest == '\'')
}
