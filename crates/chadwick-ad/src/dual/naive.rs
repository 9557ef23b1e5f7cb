//! `dual:naive` (thesis 3.3): beside a scalar stands a function from its cotangent to that of the input, here the vector of all scalars of
//! the input. A result that is used twice is asked twice, so time may grow exponentially.

use super::cells::{apply, closure};
use super::numbers::{Numbers, Part};
use super::{Backpropagation, Run};
use crate::context::Context;
use chadwick_core::{Atom, FunctionType, LogType, Type};
use chadwick_source::Span;
use std::rc::Rc;

pub struct Naive {
    numbers: Rc<Numbers>,
    /// From a cotangent to that of the input.
    function: FunctionType,
}

impl Naive {
    pub fn new(numbers: Rc<Numbers>) -> Naive {
        let function = FunctionType { params: numbers.types(), results: numbers.arrays() };
        Naive { numbers, function }
    }
}

impl Backpropagation for Naive {
    fn beside(&self) -> Vec<Type> {
        vec![Type::Function(self.function.clone().into())]
    }

    fn log(&self) -> Option<LogType> {
        None
    }

    /// The zero cotangent of the input.
    fn environment(&self, context: &mut Context, inputs: &Atom, span: Span) -> Vec<Atom> {
        self.numbers.input_cells(context, inputs, span)
    }

    fn environment_types(&self) -> Vec<Type> {
        self.numbers.arrays()
    }

    fn constant(&self, context: &mut Context, environment: &[Atom], span: Span) -> Vec<Atom> {
        vec![closure(context, &self.function, span, |_, _| environment.to_vec())]
    }

    fn input(&self, context: &mut Context, environment: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        let one_hot = |context: &mut Context, z: &[Atom]| self.numbers.add_at(context, environment, &identity, z, span);
        vec![closure(context, &self.function, span, one_hot)]
    }

    fn operation(&self, context: &mut Context, _: &[Atom], parts: &[Part], span: Span) -> Vec<Atom> {
        vec![closure(context, &self.function, span, |context, z| {
            let mut total: Option<Vec<Atom>> = None;
            for part in parts {
                let scaled = self.numbers.apply(context, z, &part.factor, span);
                let own = apply(context, &part.beside[0], scaled, span);
                total = Some(match total {
                    Some(total) => self.numbers.add(context, &total, &own, span),
                    None => own,
                });
            }
            total.unwrap_or_default()
        })]
    }

    fn start(&self, _: &mut Context, run: &Run, _: Span) -> Vec<Atom> {
        run.environment.clone()
    }

    fn contribute(
        &self,
        context: &mut Context,
        _: &[Atom],
        state: &[Atom],
        beside: &[Atom],
        cotangent: &[Atom],
        span: Span,
    ) -> Vec<Atom> {
        let own = apply(context, &beside[0], cotangent.to_vec(), span);
        self.numbers.add(context, state, &own, span)
    }

    fn resolve(&self, _: &mut Context, _: &Run, state: Vec<Atom>, _: Span) -> Vec<Atom> {
        state
    }

    fn lookup(&self, context: &mut Context, state: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        self.numbers.read(context, state, &identity, span)
    }
}
