//! The ways of doing reverse mode, one row each.

use crate::context::Context;
use crate::dual::{self, DualEngine, Rung};
use crate::linear_maps::{self, LinearMaps};
use chadwick_core::{Atom, Differentiate, Program};
use chadwick_source::Span;

/// Who does reverse mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReverseMode {
    /// Fast CHAD, which is woven into the expansion of derivatives.
    Chad,
    Dual(Rung),
    LinearMaps,
}

impl ReverseMode {
    /// Whether what it makes is optimised. The others are there to be read and counted, so they stay as the papers have them.
    pub fn is_for_speed(self) -> bool {
        matches!(self, ReverseMode::Chad | ReverseMode::Dual(Rung::Tape) | ReverseMode::LinearMaps)
    }

    /// The derivatives of a prepared program in the notation of the paper, if it has one of its own.
    pub fn in_notation(self, prepared: &Program) -> Option<String> {
        match self {
            ReverseMode::Chad => None,
            ReverseMode::Dual(rung) => Some(dual::in_notation(prepared, rung)),
            ReverseMode::LinearMaps => Some(linear_maps::in_notation(prepared)),
        }
    }

    pub(crate) fn engine(self) -> Option<Box<dyn ReverseEngine>> {
        match self {
            ReverseMode::Chad => None,
            ReverseMode::Dual(rung) => Some(Box::new(DualEngine::new(rung))),
            ReverseMode::LinearMaps => Some(Box::new(LinearMaps::default())),
        }
    }
}

/// Reverse mode from Core to Core. What it keeps lasts from one derivative of a program to the next.
pub(crate) trait ReverseEngine {
    /// Emits the function at its arguments and its reverse pass; returns the results and the cotangents of the parameters.
    fn vjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>);

    /// The same for many seeds, with one primal run.
    fn mjp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>);
}
