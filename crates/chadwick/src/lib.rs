//! Chadwick: programs in a functional array language, compiled and differentiated.
//!
//! A [`Program`] is compiled from Futhark's language; its entry points are [`Function`]s that take and give [`Value`]s and can be
//! differentiated. Errors are values ([`Error`]) that print with the source lines they are about.
//!
//! ```
//! use chadwick::{Program, Value};
//!
//! let program = Program::from_source("
//!   entry loss [n] (weights: [n]f64) (inputs: [n]f64) (target: f64) : f64 =
//!     let error = f64.sum (map2 (*) weights inputs) - target
//!     in error * error
//! ")?;
//! let loss = program.function("loss")?.wrt(&["weights"])?;
//! let arguments = [vec![1.0, 2.0].into(), vec![3.0, 4.0].into(), 10.0.into()];
//! let (value, gradient) = loss.value_and_gradient(&arguments)?;
//! assert_eq!(value.as_scalar(), Some(1.0));
//! assert_eq!(gradient, [Value::from(vec![6.0, 8.0])]);
//! # Ok::<(), chadwick::Error>(())
//! ```
//!
//! [`values`] reads and writes the formats of values (text, binary, JSON, NumPy), [`gradcheck`] checks derivatives, [`session`] evaluates
//! expressions one at a time, [`compile`] is the list of stages behind all this.

pub mod compile;
mod derivative;
mod error;
pub mod explain;
pub mod export;
mod function;
pub mod gradcheck;
pub mod profile;
mod program;
pub mod render;
pub mod script;
pub mod session;
mod show;
pub mod values;

pub use chadwick_core as core;
pub use chadwick_interp::{Call, Counters, Limits, RuntimeError};
pub use chadwick_source as source;
pub use derivative::{Gradient, Pullback};
pub use error::{Error, Result};
pub use function::Function;
pub use program::{Backend, Choice, EntryPoint, NativeOptions, Parameter, Program, native_code_available};
pub use values::Value;
