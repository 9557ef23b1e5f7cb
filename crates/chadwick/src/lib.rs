//! Chadwick: programs in a functional array language, compiled and differentiated.

pub mod compile;
mod error;
mod function;
mod program;
pub mod render;
pub mod values;

pub use chadwick_interp::{Counters, Limits};
pub use chadwick_source as source;
pub use error::{Error, Result};
pub use function::Function;
pub use program::{EntryPoint, Parameter, Program};
pub use values::Value;
