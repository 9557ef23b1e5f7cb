//! The reference interpreter of Core, with its own differentiation by overloading.
//!
//! It says what a program means: every engine and back end is compared with it. Functions are compiled to flat code (`compile`), which a
//! register machine runs (`machine`); derivatives follow active scalars (`derivative`). Errors are values; nothing is printed.
//!
//! Architecture invariant: no formula of calculus is written here. Values and partial derivatives come from the table in
//! [`chadwick_core::prim`].

mod accumulate;
mod array;
mod code;
mod compile;
mod data;
mod derivative;
mod display;
mod error;
mod interpreter;
mod log;
mod machine;
mod memory;
mod value;

pub use array::{ArrayValue, Buffer, Shape};
pub use data::Data;
pub use error::{Call, ErrorKind, RuntimeError};
pub use interpreter::{Interpreter, Pullback};
pub use machine::{Counters, Limits};
pub use memory::{live_bytes, peak_bytes, restart_peak};
pub use value::{Active, FunctionValue, SumValue, Value};
