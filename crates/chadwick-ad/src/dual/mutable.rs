//! `dual:mutable` and `dual:single` (thesis 3.7 and 3.8.1): calls are staged in arrays by identity, which are updated in place. An entry is a
//! backpropagator and the sum of its arguments; the reverse pass calls each once, from the last identity to the first.

use super::cells::{apply, closure, read, replicate, write};
use super::numbers::{Numbers, Part};
use super::{Backpropagation, Calls, Run, next_identity, skip_identities};
use crate::context::Context;
use chadwick_core::{Arm, Atom, BinaryOp, Constructor, FunctionType, LogType, Op, Type, TypeDefinition, TypeId};
use chadwick_source::{Name, Span};
use std::rc::Rc;

pub struct Mutable {
    numbers: Rc<Numbers>,
    /// Whether the inputs' cotangents have arrays of their own.
    apart: bool,
    /// A box around a backpropagator, since its type contains itself.
    cell: Type,
    /// From a cotangent and a state to the state.
    function: FunctionType,
    calls: Option<Calls>,
}

impl Mutable {
    pub fn new(numbers: Rc<Numbers>, context: &mut Context, apart: bool) -> Mutable {
        let types = &mut context.b.program_mut().types;
        let id = TypeId(types.len() as u32);
        let cell = Type::Named(id);
        types.push(TypeDefinition { name: Name::from("backpropagator"), constructors: Vec::new() });
        let inputs = if apart { numbers.arrays() } else { Vec::new() };
        let state = [inputs, vec![crate::context::with_axis(&cell)], numbers.arrays()].concat();
        let function = FunctionType { params: [numbers.types(), state.clone()].concat(), results: state };
        let payload = vec![Type::Function(function.clone().into())];
        context.b.program_mut().types[id.0 as usize].constructors =
            vec![Constructor { name: Name::from("backpropagator"), payload }];
        let calls = numbers.calls.then(|| Calls::new(context, Vec::new(), function.results.clone()));
        Mutable { numbers, apart, cell, function, calls }
    }

    fn count(&self) -> usize {
        self.numbers.prims.len()
    }

    /// The arrays of the state: inputs' cotangents, backpropagators, arguments.
    fn split<'s>(&self, state: &'s [Atom]) -> (&'s [Atom], &'s Atom, &'s [Atom]) {
        let (inputs, rest) = state.split_at(if self.apart { self.count() } else { 0 });
        (inputs, &rest[0], &rest[1..])
    }

    fn boxed(&self, context: &mut Context, span: Span, make: impl FnOnce(&mut Context, &[Atom], &[Atom]) -> Vec<Atom>) -> Atom {
        let function = closure(context, &self.function, span, |context, params| {
            let (z, state) = params.split_at(self.count());
            make(context, z, state)
        });
        context.construct(&self.cell, 0, vec![function], span).swap_remove(0)
    }

    /// `SCall`: the backpropagator is to be called, with the argument and whatever else comes.
    fn stage(&self, context: &mut Context, state: &[Atom], beside: &[Atom], argument: &[Atom], span: Span) -> Vec<Atom> {
        let (inputs, functions, arguments) = self.split(state);
        let functions = write(context, functions, &beside[0], beside[1].clone(), span);
        let arguments = self.numbers.add_at(context, arguments, &beside[0], argument, span);
        [inputs.to_vec(), vec![functions], arguments].concat()
    }
}

impl Backpropagation for Mutable {
    fn beside(&self) -> Vec<Type> {
        vec![Type::I64, self.cell.clone()]
    }

    fn log(&self) -> Option<LogType> {
        Some(LogType { indices: 0, values: Vec::new() })
    }

    fn constant(&self, context: &mut Context, _: &[Atom], span: Span) -> Vec<Atom> {
        vec![Atom::i64(0), self.boxed(context, span, |_, _, state| state.to_vec())]
    }

    fn input(&self, context: &mut Context, _: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        let own = identity.clone();
        let cell = self.boxed(context, span, |context, z, state| {
            let (inputs, functions, arguments) = self.split(state);
            let inputs = self.numbers.add_at(context, inputs, &own, z, span);
            [inputs, vec![functions.clone()], arguments.to_vec()].concat()
        });
        vec![identity, cell]
    }

    fn operation(&self, context: &mut Context, environment: &[Atom], parts: &[Part], span: Span) -> Vec<Atom> {
        let identity = next_identity(context, &environment[0], span);
        let cell = self.boxed(context, span, |context, z, state| {
            let mut state = state.to_vec();
            for part in parts {
                let argument = self.numbers.apply(context, z, &part.factor, span);
                state = self.stage(context, &state, &part.beside, &argument, span);
            }
            state
        });
        vec![identity, cell]
    }

    fn start(&self, context: &mut Context, run: &Run, span: Span) -> Vec<Atom> {
        let size = context.i64_op(BinaryOp::Add, run.inputs.clone(), Atom::i64(1), span);
        let inputs = if self.apart { self.numbers.cells(context, &size, span) } else { Vec::new() };
        let nothing = self.boxed(context, span, |_, _, state| state.to_vec());
        let functions = replicate(context, &run.end, nothing, span);
        [inputs, vec![functions], self.numbers.cells(context, &run.end, span)].concat()
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
        self.stage(context, state, beside, cotangent, span)
    }

    fn resolve(&self, context: &mut Context, run: &Run, state: Vec<Atom>, span: Span) -> Vec<Atom> {
        context.backward_loop(run.end.clone(), state, span, |context, at, state| {
            let (_, functions, arguments) = self.split(state);
            let cell = read(context, functions, &at, span);
            let argument = self.numbers.read(context, arguments, &at, span);
            let function = context.fresh("f", Type::Function(self.function.clone().into()));
            let args = [argument, state.to_vec()].concat();
            let body = context.block(|context| apply(context, &Atom::Var(function.var), args, span));
            let arms = vec![Arm { tag: 0, binders: vec![function], body }];
            context.b.push(Op::Match { scrutinee: cell, arms, otherwise: None }, self.function.results.clone(), span)
        })
    }

    fn lookup(&self, context: &mut Context, state: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        let (inputs, _, arguments) = self.split(state);
        self.numbers.read(context, if self.apart { inputs } else { arguments }, &identity, span)
    }

    fn calls(&self) -> Option<Calls> {
        self.calls.clone()
    }

    fn call(&self, context: &mut Context, environment: &[Atom], call: Atom, results: Atom, span: Span) -> Vec<Atom> {
        let identity = next_identity(context, &environment[0], span);
        skip_identities(context, &environment[0], results, span);
        let own = identity.clone();
        let cell = self.boxed(context, span, |context, _, state| match &self.calls {
            Some(calls) => calls.run(context, call, own, &[], state, span),
            None => state.to_vec(),
        });
        vec![identity, cell]
    }

    fn result(&self, context: &mut Context, _: &[Atom], call: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        let zeros = self.numbers.zeros();
        let cell = self.boxed(context, span, |context, _, state| self.stage(context, state, call, &zeros, span));
        vec![identity, cell]
    }

    fn collected(&self, context: &mut Context, state: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        let (_, _, arguments) = self.split(state);
        self.numbers.read(context, arguments, &identity, span)
    }
}
