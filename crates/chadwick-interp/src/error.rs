//! Run-time errors as values.

use chadwick_core::PrimError;
use chadwick_source::{Name, Span};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An index or a slice that does not fit its array.
    OutOfBounds,
    /// Elements of different shapes where one shape is needed.
    Irregular,
    /// Shapes or lengths that should agree.
    ShapeMismatch,
    /// Division by zero, or a negative exponent.
    Arithmetic,
    /// An `assert` that does not hold.
    Assertion,
    /// A seed that does not have the form of the primal, or an active capture of a custom derivative.
    Differentiation,
    MemoryLimit,
    Deadline,
    DepthLimit,
    /// The program breaks a rule that the verifier checks, or was called with wrong arguments.
    Malformed,
}

/// What went wrong while running, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeError {
    pub kind: ErrorKind,
    pub message: String,
    pub span: Span,
    /// The calls that led there, innermost first; cut off when long.
    pub trace: Vec<Call>,
}

impl RuntimeError {
    /// How many calls a trace names.
    pub const LONGEST_TRACE: usize = 32;
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub function: Name,
    pub span: Span,
}

impl fmt::Display for RuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RuntimeError {}

/// An error before its place is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub kind: ErrorKind,
    pub message: String,
    /// Set where the failure comes from a nested run that knew its place.
    pub place: Option<Box<(Span, Vec<Call>)>>,
}

pub(crate) type Outcome<T> = Result<T, Box<Failure>>;

pub(crate) fn fail<T>(kind: ErrorKind, message: impl Into<String>) -> Outcome<T> {
    Err(failure(kind, message))
}

pub(crate) fn failure(kind: ErrorKind, message: impl Into<String>) -> Box<Failure> {
    Box::new(Failure { kind, message: message.into(), place: None })
}

pub(crate) fn malformed<T>(what: &str) -> Outcome<T> {
    fail(ErrorKind::Malformed, format!("malformed program: {what}"))
}

pub(crate) fn memory_exceeded<T>() -> Outcome<T> {
    fail(ErrorKind::MemoryLimit, "memory limit exceeded")
}

impl From<PrimError> for Box<Failure> {
    fn from(error: PrimError) -> Self {
        match error {
            PrimError::IllTyped => failure(ErrorKind::Malformed, error.to_string()),
            _ => failure(ErrorKind::Arithmetic, error.to_string()),
        }
    }
}
