//! Differentiation by overloading, nested to any depth.
//!
//! Every execution of a derivative gets a fresh level. A number followed by it is [`crate::value::Active`] at that level: it holds its
//! primal, which may be active at lower levels, and a tangent (forward mode) or a tape slot (reverse mode). An operation looks at the
//! highest level among its operands, computes the primal and the partial derivatives at the lower levels, and so never confuses the
//! perturbations of different derivatives. The tape holds operations that are already differentiated: per slot the contributions to
//! earlier slots (the thesis, §3.8.3).

mod custom;
mod modes;
mod scalar;
mod structure;
mod tape;

pub(crate) use modes::Recorded;
pub(crate) use tape::Tape;
