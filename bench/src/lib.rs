//! Programs of the language beside C written by hand: the same function and its gradient, on the same inputs.
//!
//! A workload names a program in `programs/`, a reference in `reference/`, and sizes. Both sides get arguments made from a fixed seed, in the order of
//! the entry points' parameters; whole numbers that are scalars are sizes for the reference. References run as processes, so that this
//! crate needs no unsafe code.

pub mod comparison;
pub mod engines;
pub mod gradbench;
pub mod inputs;
pub mod reference;
pub mod speedup;
pub mod workloads;

use chadwick::values::Value;
use std::fmt;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Writes a line to standard output, like `println!`, but see [`write_line`].
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {
        $crate::write_line(format_args!($($text)*))
    };
}

/// Writes a line to standard output. Whoever reads it may be gone; then the program ends quietly.
pub fn write_line(text: fmt::Arguments<'_>) {
    let Err(error) = writeln!(std::io::stdout(), "{text}") else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    eprintln!("error: standard output: {error}");
    std::process::exit(1);
}

/// The folder of this crate.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All numbers of some results, one after the other.
pub fn flat(values: &[Value]) -> Vec<f64> {
    values.iter().flat_map(|value| value.elements().to_f64()).collect()
}

/// The largest difference, relative to the largest number.
pub fn difference(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() || a.iter().chain(b).any(|x| !x.is_finite()) {
        return f64::INFINITY;
    }
    let scale = a.iter().chain(b).fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
    a.iter().zip(b).fold(0.0, |most: f64, (x, y)| most.max((x - y).abs())) / scale
}
