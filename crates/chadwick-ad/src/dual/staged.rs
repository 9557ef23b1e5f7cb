//! `dual:staged`, `dual:cayley` and `dual:sparse` (thesis 3.4 to 3.6): calls of backpropagators are staged in a map by identity, which keeps the
//! sum of the arguments of each. The reverse pass takes the highest identity first: all who call it have been called already.
//!
//! Staged, a backpropagator gives an input's cotangent and a map, and these are added. In Cayley form it updates one state. Sparse, the
//! input's cotangent in the state is a map too, so no step costs as much as the input is large.
//!
//! A rule that the program gives needs the complete cotangents of all results at once. They wait in the map under negative identities until it is
//! the call's turn. In programs with such rules the backpropagators of the staged rung are shown the map; in the other two they have it anyway.

use super::cells::{apply, closure};
use super::map::Map;
use super::numbers::{Numbers, Part};
use super::{Backpropagation, Calls, Run, next_identity, skip_identities};
use crate::context::Context;
use chadwick_core::{Atom, BinaryOp, Binder, FunctionType, LogType, Loop, LoopForm, LoopHints, Op, Type};
use chadwick_source::Span;
use std::rc::Rc;

/// `SResolve`: while calls are staged, the last one is made. The map is the last part of the state.
fn resolve(
    context: &mut Context,
    map: &Map,
    state: Vec<Atom>,
    span: Span,
    make: impl FnOnce(&mut Context, &[Atom], &[Atom], Atom) -> Vec<Atom>,
) -> Vec<Atom> {
    let types: Vec<Type> = state.iter().map(|atom| context.type_of(atom).any_sizes()).collect();
    let carry: Vec<Binder> = types.iter().map(|ty| context.fresh("", ty.clone())).collect();
    let atoms = super::atoms_of(&carry);
    let Some((staged, collected)) = atoms.split_last() else { return state };
    let condition = context.block(|context| vec![map.is_full(context, staged.clone(), span)]);
    let body = context.block(|context| {
        map.with_last(context, staged.clone(), atoms.clone(), span, |context, entry, rest| make(context, collected, entry, rest))
    });
    let form = LoopForm::While { condition };
    let parts = Loop { carry, initial: state, form, body, emits: Vec::new(), counted: false, hints: LoopHints::default() };
    context.b.push(Op::Loop(Box::new(parts)), types, span)
}

pub struct Staged {
    numbers: Rc<Numbers>,
    map: Map,
    /// From a cotangent, and the map where there are rules, to the cotangent of the input, and staged calls.
    function: FunctionType,
    /// Their state has the map as it was, before what is staged.
    calls: Option<Calls>,
}

impl Staged {
    pub fn new(numbers: Rc<Numbers>, context: &mut Context) -> Staged {
        let make = |map: &Type| {
            let shown = if numbers.calls { vec![map.clone()] } else { Vec::new() };
            let params = [numbers.types(), shown].concat();
            FunctionType { params, results: [numbers.arrays(), vec![map.clone()]].concat() }
        };
        let map = Map::new(Rc::clone(&numbers), context, |map| vec![Type::Function(make(map).into())]);
        let function = make(&map.ty);
        let state = [numbers.arrays(), vec![map.ty.clone(), map.ty.clone()]].concat();
        let calls = numbers.calls.then(|| Calls::new(context, Vec::new(), state));
        Staged { numbers, map, function, calls }
    }

    /// A backpropagator; `make` gets a cotangent, and the map if it is shown.
    fn backpropagator(
        &self,
        context: &mut Context,
        span: Span,
        make: impl FnOnce(&mut Context, &[Atom], &[Atom]) -> Vec<Atom>,
    ) -> Atom {
        closure(context, &self.function, span, |context, params| {
            let (z, shown) = params.split_at(self.numbers.prims.len());
            make(context, z, shown)
        })
    }
}

impl Backpropagation for Staged {
    fn beside(&self) -> Vec<Type> {
        vec![Type::I64, Type::Function(self.function.clone().into())]
    }

    fn log(&self) -> Option<LogType> {
        Some(LogType { indices: 0, values: Vec::new() })
    }

    /// The zero cotangent of the input.
    fn environment(&self, context: &mut Context, inputs: &Atom, span: Span) -> Vec<Atom> {
        self.numbers.input_cells(context, inputs, span)
    }

    fn environment_types(&self) -> Vec<Type> {
        self.numbers.arrays()
    }

    fn constant(&self, context: &mut Context, environment: &[Atom], span: Span) -> Vec<Atom> {
        let nothing = self.backpropagator(context, span, |context, _, _| {
            [environment[1..].to_vec(), vec![self.map.empty(context, span)]].concat()
        });
        vec![Atom::i64(0), nothing]
    }

    fn input(&self, context: &mut Context, environment: &[Atom], own: Atom, span: Span) -> Vec<Atom> {
        let one_hot = self.backpropagator(context, span, |context, z, _| {
            let cotangent = self.numbers.add_at(context, &environment[1..], &own, z, span);
            [cotangent, vec![self.map.empty(context, span)]].concat()
        });
        vec![own, one_hot]
    }

    fn operation(&self, context: &mut Context, environment: &[Atom], parts: &[Part], span: Span) -> Vec<Atom> {
        let own = next_identity(context, &environment[0], span);
        let function = self.backpropagator(context, span, |context, z, _| {
            let mut total: Option<(Vec<Atom>, Atom)> = None;
            for part in parts {
                let argument = self.numbers.apply(context, z, &part.factor, span);
                let empty = self.map.empty(context, span);
                let staged = self.map.insert(context, empty, [part.beside.clone(), argument].concat(), span);
                total = Some(match total {
                    Some((cotangent, before)) => {
                        let cotangent = self.numbers.add(context, &cotangent, &environment[1..], span);
                        (cotangent, self.map.union(context, staged, before, span))
                    }
                    None => (environment[1..].to_vec(), staged),
                });
            }
            let (cotangent, staged) = total.unwrap_or((environment[1..].to_vec(), Atom::i64(0)));
            [cotangent, vec![staged]].concat()
        });
        vec![own, function]
    }

    fn start(&self, context: &mut Context, run: &Run, span: Span) -> Vec<Atom> {
        [run.environment.clone(), vec![self.map.empty(context, span)]].concat()
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
        stage(context, &self.map, state, beside, cotangent, span)
    }

    fn resolve(&self, context: &mut Context, _: &Run, state: Vec<Atom>, span: Span) -> Vec<Atom> {
        resolve(context, &self.map, state, span, |context, collected, entry, rest| {
            let shown = if self.calls.is_some() { vec![rest.clone()] } else { Vec::new() };
            let mut made = apply(context, &entry[1], [entry[2..].to_vec(), shown].concat(), span);
            let staged = made.pop().unwrap_or(Atom::i64(0));
            let cotangent = self.numbers.add(context, collected, &made, span);
            [cotangent, vec![self.map.union(context, staged, rest, span)]].concat()
        })
    }

    fn lookup(&self, context: &mut Context, state: &[Atom], own: Atom, span: Span) -> Vec<Atom> {
        self.numbers.read(context, &state[..self.numbers.prims.len()], &own, span)
    }

    fn calls(&self) -> Option<Calls> {
        self.calls.clone()
    }

    fn call(&self, context: &mut Context, environment: &[Atom], call: Atom, results: Atom, span: Span) -> Vec<Atom> {
        let own = next_identity(context, &environment[0], span);
        skip_identities(context, &environment[0], results, span);
        let identity = own.clone();
        let function = self.backpropagator(context, span, |context, _, shown| {
            let staged = self.map.empty(context, span);
            let state = [environment[1..].to_vec(), shown.to_vec(), vec![staged]].concat();
            let Some(calls) = &self.calls else { return state };
            let mut state = calls.run(context, call, identity, &[], &state, span);
            state.remove(self.numbers.prims.len());
            state
        });
        vec![own, function]
    }

    /// The cotangent of a result stays in the map, under the negative identity, where the call finds it.
    fn result(&self, context: &mut Context, environment: &[Atom], call: &[Atom], own: Atom, span: Span) -> Vec<Atom> {
        let nothing = self.constant(context, environment, span);
        let kept = context.i64_op(BinaryOp::Sub, Atom::i64(0), own.clone(), span);
        let zeros = self.numbers.zeros();
        let function = self.backpropagator(context, span, |context, z, _| {
            let state = [environment[1..].to_vec(), vec![self.map.empty(context, span)]].concat();
            let state = stage(context, &self.map, &state, &[kept, nothing[1].clone()], z, span);
            stage(context, &self.map, &state, call, &zeros, span)
        });
        vec![own, function]
    }

    fn collected(&self, context: &mut Context, state: &[Atom], own: Atom, span: Span) -> Vec<Atom> {
        let key = context.i64_op(BinaryOp::Sub, Atom::i64(0), own, span);
        let Some(shown) = state.get(self.numbers.prims.len()) else { return self.numbers.zeros() };
        self.map.find(context, shown.clone(), key, span)
    }
}

/// `SCall` on a state: the map, its last part, gets one more call.
fn stage(context: &mut Context, map: &Map, state: &[Atom], beside: &[Atom], argument: &[Atom], span: Span) -> Vec<Atom> {
    let Some((staged, rest)) = state.split_last() else { return Vec::new() };
    let staged = map.insert(context, staged.clone(), [beside, argument].concat(), span);
    [rest.to_vec(), vec![staged]].concat()
}

pub struct Cayley {
    numbers: Rc<Numbers>,
    map: Map,
    /// The input's cotangents as a map, in sparse form.
    sparse: Option<Map>,
    /// From a cotangent and a state to the state.
    function: FunctionType,
    calls: Option<Calls>,
}

impl Cayley {
    pub fn new(numbers: Rc<Numbers>, context: &mut Context, is_sparse: bool) -> Cayley {
        let sparse = is_sparse.then(|| Map::new(Rc::clone(&numbers), context, |_| Vec::new()));
        let collected = match &sparse {
            Some(map) => vec![map.ty.clone()],
            None => numbers.arrays(),
        };
        let make = |map: &Type| {
            let state = [collected.clone(), vec![map.clone()]].concat();
            FunctionType { params: [numbers.types(), state.clone()].concat(), results: state }
        };
        let map = Map::new(Rc::clone(&numbers), context, |map| vec![Type::Function(make(map).into())]);
        let function = make(&map.ty);
        let calls = numbers.calls.then(|| Calls::new(context, Vec::new(), function.results.clone()));
        Cayley { numbers, map, sparse, function, calls }
    }

    fn updater(&self, context: &mut Context, span: Span, make: impl FnOnce(&mut Context, &[Atom], &[Atom]) -> Vec<Atom>) -> Atom {
        closure(context, &self.function, span, |context, params| {
            let (z, state) = params.split_at(self.numbers.prims.len());
            make(context, z, state)
        })
    }
}

impl Backpropagation for Cayley {
    fn beside(&self) -> Vec<Type> {
        vec![Type::I64, Type::Function(self.function.clone().into())]
    }

    fn log(&self) -> Option<LogType> {
        Some(LogType { indices: 0, values: Vec::new() })
    }

    fn constant(&self, context: &mut Context, _: &[Atom], span: Span) -> Vec<Atom> {
        vec![Atom::i64(0), self.updater(context, span, |_, _, state| state.to_vec())]
    }

    fn input(&self, context: &mut Context, _: &[Atom], own: Atom, span: Span) -> Vec<Atom> {
        let key = own.clone();
        let setter = self.updater(context, span, |context, z, state| {
            let Some((staged, collected)) = state.split_last() else { return Vec::new() };
            let collected = match &self.sparse {
                Some(map) => vec![map.insert(context, collected[0].clone(), [vec![key], z.to_vec()].concat(), span)],
                None => self.numbers.add_at(context, collected, &key, z, span),
            };
            [collected, vec![staged.clone()]].concat()
        });
        vec![own, setter]
    }

    fn operation(&self, context: &mut Context, environment: &[Atom], parts: &[Part], span: Span) -> Vec<Atom> {
        let own = next_identity(context, &environment[0], span);
        let function = self.updater(context, span, |context, z, state| {
            let mut state = state.to_vec();
            for part in parts {
                let argument = self.numbers.apply(context, z, &part.factor, span);
                state = stage(context, &self.map, &state, &part.beside, &argument, span);
            }
            state
        });
        vec![own, function]
    }

    fn start(&self, context: &mut Context, run: &Run, span: Span) -> Vec<Atom> {
        let collected = match &self.sparse {
            Some(map) => vec![map.empty(context, span)],
            None => {
                let size = context.i64_op(BinaryOp::Add, run.inputs.clone(), Atom::i64(1), span);
                self.numbers.cells(context, &size, span)
            }
        };
        [collected, vec![self.map.empty(context, span)]].concat()
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
        stage(context, &self.map, state, beside, cotangent, span)
    }

    fn resolve(&self, context: &mut Context, _: &Run, state: Vec<Atom>, span: Span) -> Vec<Atom> {
        resolve(context, &self.map, state, span, |context, collected, entry, rest| {
            let args = [entry[2..].to_vec(), collected.to_vec(), vec![rest]].concat();
            apply(context, &entry[1], args, span)
        })
    }

    fn lookup(&self, context: &mut Context, state: &[Atom], own: Atom, span: Span) -> Vec<Atom> {
        match &self.sparse {
            Some(map) => map.find(context, state[0].clone(), own, span),
            None => self.numbers.read(context, &state[..self.numbers.prims.len()], &own, span),
        }
    }

    fn calls(&self) -> Option<Calls> {
        self.calls.clone()
    }

    fn call(&self, context: &mut Context, environment: &[Atom], call: Atom, results: Atom, span: Span) -> Vec<Atom> {
        let own = next_identity(context, &environment[0], span);
        skip_identities(context, &environment[0], results, span);
        let identity = own.clone();
        let function = self.updater(context, span, |context, _, state| match &self.calls {
            Some(calls) => calls.run(context, call, identity, &[], state, span),
            None => state.to_vec(),
        });
        vec![own, function]
    }

    /// The cotangent of a result stays in the map, under the negative identity, where the call finds it.
    fn result(&self, context: &mut Context, environment: &[Atom], call: &[Atom], own: Atom, span: Span) -> Vec<Atom> {
        let nothing = self.constant(context, environment, span);
        let kept = context.i64_op(BinaryOp::Sub, Atom::i64(0), own.clone(), span);
        let zeros = self.numbers.zeros();
        let function = self.updater(context, span, |context, z, state| {
            let state = stage(context, &self.map, state, &[kept, nothing[1].clone()], z, span);
            stage(context, &self.map, &state, call, &zeros, span)
        });
        vec![own, function]
    }

    fn collected(&self, context: &mut Context, state: &[Atom], own: Atom, span: Span) -> Vec<Atom> {
        let key = context.i64_op(BinaryOp::Sub, Atom::i64(0), own, span);
        let Some(staged) = state.last() else { return self.numbers.zeros() };
        self.map.find(context, staged.clone(), key, span)
    }
}
