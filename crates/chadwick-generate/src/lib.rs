//! Random well-typed programs, for tests.
//!
//! [`generate`] makes a program from a seed: a function `f` of structured data, helper functions, and entry points that run and
//! differentiate `f` ([`entries`]). The same program can be printed for two element types: in `f64` it is smooth almost everywhere
//! and well conditioned, in wrapping `i64` all that it computes is exact, so that two ways to a derivative must give equal numbers.
//!
//! ```
//! use chadwick_generate::{Config, Element, generate};
//! let program = generate(7, &Config::default());
//! let source = program.source(Element::I64);
//! assert!(source.contains("entry primal"));
//! ```
//!
//! At its border a program takes and gives flat arrays of numbers. Inside, `decode` makes the input of `f` of them (tuples, records, sums,
//! trees, arrays), and `leaves_…` and `refill_…` take results apart and make seeds in the shape of a result.
//!
//! A program that fails a test is made smaller by [`shrink`], or by hand with a [`Config`] that has less of everything.

mod codec;
mod config;
mod disturb;
mod exp;
mod generate;
mod library;
mod program;
mod random;
mod shrink;
mod types;

pub use config::{Config, Construct};
pub use exp::Element;
pub use program::{Program, entries, generate};
pub use random::Random;
pub use shrink::shrink;
