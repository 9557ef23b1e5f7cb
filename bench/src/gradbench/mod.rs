//! The problems of GradBench: workloads of the suite's sizes, tools that answer the suite's messages, and C written by hand, all on the same inputs.

pub mod by_hand;
pub mod tool;
pub mod workloads;

/// How far two numbers may be apart, relative to them.
const RELATIVE: f64 = 1e-6;
/// Beside that, relative to the largest number of the output: what is left of sums that cancel.
const FLOOR: f64 = 1e-12;

/// What came of one function of a workload.
pub struct Measured {
    /// The least time of one execution.
    pub milliseconds: f64,
    /// The most memory of the whole process, in MiB, where that is known.
    pub peak: Option<f64>,
    /// All numbers of the output; those of records are in the order of the fields' names.
    pub output: Vec<f64>,
}

/// Whether somebody's output is ours; if not, how they differ.
pub fn compare(ours: &[f64], theirs: &[f64]) -> Result<(), String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} numbers instead of {}", theirs.len(), ours.len()));
    }
    let largest = ours.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let close = |x: f64, y: f64| (x - y).abs() <= RELATIVE * x.abs().max(y.abs()) + FLOOR * largest;
    match ours.iter().zip(theirs).enumerate().find(|(_, (x, y))| !close(**x, **y)) {
        None => Ok(()),
        Some((place, (x, y))) => Err(format!("number {place} is {y} instead of {x}")),
    }
}
