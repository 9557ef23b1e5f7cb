//! Chadwick: programs in a functional array language, compiled and differentiated.

pub mod compile;
mod derivative;
mod error;
mod function;
pub mod gradcheck;
mod program;
pub mod render;
pub mod session;
mod show;
pub mod values;

pub use chadwick_interp::{Counters, Limits};
pub use chadwick_source as source;
pub use derivative::{Gradient, Pullback};
pub use error::{Error, Result};
pub use function::Function;
pub use program::{EntryPoint, Parameter, Program};
pub use values::Value;
