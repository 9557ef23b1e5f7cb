//! The ways of doing reverse mode, one row each.

use crate::chad::{self, BothDirections, ChadEngine, Cotangents, Definition};
use crate::context::Context;
use crate::dual::{DualEngine, Rung};
use crate::dual_arrays::{self, DualArraysEngine};
use crate::linear_maps::{self, LinearMaps};
use crate::notation::{Style, in_notation};
use chadwick_core::{Atom, Differentiate, Program};
use chadwick_source::Span;

/// Who does reverse mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReverseMode {
    /// Fast CHAD, which is woven into the expansion of derivatives.
    ChadFast,
    /// CHAD as its papers define it.
    ChadDefinition(Definition),
    /// CHAD with the complexity of its chapter 6.
    ChadEfficient(Cotangents),
    Dual(Rung),
    DualArrays,
    LinearMaps,
}

impl ReverseMode {
    /// Whether what it makes is optimised. The others are there to be read and counted, so they stay as the papers have them.
    pub fn is_for_speed(self) -> bool {
        matches!(
            self,
            ReverseMode::ChadFast
                | ReverseMode::Dual(Rung::Tape | Rung::Parallel)
                | ReverseMode::DualArrays
                | ReverseMode::LinearMaps
        )
    }

    /// Whether the functions that it makes become data behind it, so that there is native code.
    pub fn ends_without_functions(self) -> bool {
        self == ReverseMode::ChadEfficient(Cotangents::InTasks)
    }

    /// Whether functions that are values stay so in a program; otherwise they must be data before derivatives are expanded.
    pub fn keeps_functions(self, program: &Program) -> bool {
        matches!(self, ReverseMode::ChadDefinition(_)) && chad::functions_are_local(program)
    }

    /// Makes readable what the engine made, if that is wished; says whether it did.
    pub fn simplify(self, program: &mut Program) -> bool {
        let is_wished = self == ReverseMode::ChadDefinition(Definition::Simplified);
        if is_wished {
            chad::simplify(program);
        }
        is_wished
    }

    /// The derivatives of a prepared program in the notation of the paper, if it has one of its own.
    pub fn in_notation(self, prepared: &Program) -> Option<String> {
        let style = match self {
            ReverseMode::ChadFast => return None,
            ReverseMode::ChadDefinition(_) => Style::Chad,
            ReverseMode::ChadEfficient(_) => Style::ChadEfficient,
            ReverseMode::Dual(rung) => Style::Dual(rung),
            ReverseMode::DualArrays => return Some(dual_arrays::in_notation(prepared)),
            ReverseMode::LinearMaps => return Some(linear_maps::in_notation(prepared)),
        };
        // Who has no forward mode of its own has no notation for it.
        Some(in_notation(prepared, style)).filter(|text| !text.is_empty())
    }

    pub(crate) fn engine(self) -> Option<Box<dyn ReverseEngine>> {
        match self {
            ReverseMode::ChadFast => None,
            ReverseMode::ChadDefinition(definition) => Some(Box::new(BothDirections::new(definition))),
            ReverseMode::ChadEfficient(cotangents) => Some(Box::new(ChadEngine::efficient(cotangents))),
            ReverseMode::Dual(rung) => Some(Box::new(DualEngine::new(rung))),
            ReverseMode::DualArrays => Some(Box::new(DualArraysEngine)),
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

    /// Whether functions that are values have derivatives; otherwise they must be data.
    fn takes_functions(&self) -> bool {
        false
    }

    /// A forward mode of its own; the others share one.
    fn forward(&mut self) -> Option<&mut dyn ForwardEngine> {
        None
    }
}

/// Forward mode from Core to Core.
pub(crate) trait ForwardEngine {
    /// Emits the function at its arguments and its tangents; returns the results and their tangents.
    fn jvp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>);

    /// The same for many seeds, with one primal run.
    fn jmp(&mut self, context: &mut Context, parts: &Differentiate, span: Span) -> (Vec<Atom>, Vec<Atom>);

    /// Whether functions that are values have derivatives.
    fn takes_functions(&self) -> bool;
}
