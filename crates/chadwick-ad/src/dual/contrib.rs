//! `dual:contrib` (thesis 3.8.2): a backpropagator is the list of what it contributes, partial derivatives with the operands they belong to.

use super::cells::{read, replicate, write};
use super::numbers::{Factor, Numbers, Part};
use super::{Backpropagation, Calls, Run, next_identity, skip_identities};
use crate::context::Context;
use chadwick_core::{Arm, Atom, BinaryOp, Binder, Const, Constructor, LogType, Op, Type, TypeDefinition, TypeId};
use chadwick_source::{Name, Span};
use std::rc::Rc;

pub struct Contrib {
    numbers: Rc<Numbers>,
    ty: Type,
    calls: Option<Calls>,
}

/// The most operands of a primitive operation. A constructor's tag is the number of contributions; conversions come behind.
const MOST: usize = 3;

impl Contrib {
    pub fn new(numbers: Rc<Numbers>, context: &mut Context) -> Contrib {
        let types = &mut context.b.program_mut().types;
        let ty = Type::Named(TypeId(types.len() as u32));
        let one = [numbers.types(), vec![Type::I64, ty.clone()]].concat();
        let name = |text: String| Name::from(text);
        let mut constructors: Vec<Constructor> = (0..=MOST)
            .map(|count| Constructor { name: name(format!("contrib{count}")), payload: vec![one.clone(); count].concat() })
            .collect();
        for (from, to) in &numbers.conversions {
            let payload = vec![Type::I64, ty.clone()];
            constructors.push(Constructor { name: name(format!("convert_{}_{}", from.name(), to.name())), payload });
        }
        types.push(TypeDefinition { name: Name::from("contrib"), constructors });
        let mut contrib = Contrib { numbers, ty, calls: None };
        if contrib.numbers.calls {
            let state = [vec![crate::context::with_axis(&contrib.ty)], contrib.numbers.arrays()].concat();
            let calls = Calls::new(context, Vec::new(), state);
            if let Type::Named(id) = contrib.ty {
                let call = Constructor { name: Name::from("call"), payload: vec![Type::Named(calls.ty)] };
                context.b.program_mut().types[id.0 as usize].constructors.push(call);
            }
            contrib.calls = Some(calls);
        }
        contrib
    }

    /// The constructor of a call with a rule of its own.
    fn call_tag(&self) -> u32 {
        (MOST + 1 + self.numbers.conversions.len()) as u32
    }

    fn none(&self, context: &mut Context, span: Span) -> Atom {
        context.construct(&self.ty, 0, Vec::new(), span).swap_remove(0)
    }

    /// The state with a cotangent for an operand.
    fn add(&self, context: &mut Context, state: &[Atom], identity: &Atom, contrib: &Atom, z: &[Atom], span: Span) -> Vec<Atom> {
        let contribs = write(context, &state[0], identity, contrib.clone(), span);
        let cells = self.numbers.add_at(context, &state[1..], identity, z, span);
        [vec![contribs], cells].concat()
    }

    fn fields(&self, context: &mut Context, count: usize) -> Vec<Vec<Binder>> {
        let one = [self.numbers.types(), vec![Type::I64, self.ty.clone()]].concat();
        (0..count).map(|_| one.iter().map(|ty| context.fresh("", ty.clone())).collect()).collect()
    }
}

impl Backpropagation for Contrib {
    fn beside(&self) -> Vec<Type> {
        vec![Type::I64, self.ty.clone()]
    }

    fn log(&self) -> Option<LogType> {
        Some(LogType { indices: 0, values: Vec::new() })
    }

    fn constant(&self, context: &mut Context, _: &[Atom], span: Span) -> Vec<Atom> {
        vec![Atom::i64(0), self.none(context, span)]
    }

    fn input(&self, context: &mut Context, _: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        vec![identity, self.none(context, span)]
    }

    fn operation(&self, context: &mut Context, environment: &[Atom], parts: &[Part], span: Span) -> Vec<Atom> {
        let identity = next_identity(context, &environment[0], span);
        let (tag, payload) = match parts {
            [Part { beside, factor: Factor::Convert(from, to) }] => {
                let known = self.numbers.conversions.iter().position(|known| known == &(*from, *to));
                // A conversion that the survey did not meet leads to nothing that is wanted.
                let Some(at) = known else { return self.constant(context, environment, span) };
                (MOST + 1 + at, beside.clone())
            }
            parts => {
                let mut payload = Vec::new();
                for part in parts {
                    for (component, prim) in self.numbers.prims.iter().enumerate() {
                        payload.push(match &part.factor {
                            Factor::Scale(own, factor) if *own == component => factor.clone(),
                            _ => Atom::Const(Const::zero(*prim)),
                        });
                    }
                    payload.extend(part.beside.clone());
                }
                (parts.len(), payload)
            }
        };
        vec![identity, context.construct(&self.ty, tag as u32, payload, span).swap_remove(0)]
    }

    fn start(&self, context: &mut Context, run: &Run, span: Span) -> Vec<Atom> {
        let none = self.none(context, span);
        let contribs = replicate(context, &run.end, none, span);
        [vec![contribs], self.numbers.cells(context, &run.end, span)].concat()
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
        self.add(context, state, &beside[0], &beside[1], cotangent, span)
    }

    fn resolve(&self, context: &mut Context, run: &Run, state: Vec<Atom>, span: Span) -> Vec<Atom> {
        context.backward_loop(run.end.clone(), state, span, |context, at, state| {
            let contrib = read(context, &state[0], &at, span);
            let z = self.numbers.read(context, &state[1..], &at, span);
            let types: Vec<Type> = state.iter().map(|atom| context.type_of(atom)).collect();
            let mut arms = Vec::new();
            for count in 0..=MOST {
                let fields = self.fields(context, count);
                let body = context.block(|context| {
                    let mut state = state.to_vec();
                    for operand in &fields {
                        let (partials, operand) = operand.split_at(self.numbers.prims.len());
                        let mut product = Vec::new();
                        for ((z, partial), prim) in z.iter().zip(partials).zip(&self.numbers.prims) {
                            let scale = chadwick_core::PrimOp::Binary(BinaryOp::Scale, *prim);
                            product.push(context.prim(scale, vec![z.clone(), Atom::Var(partial.var)], span));
                        }
                        let (identity, contrib) = (Atom::Var(operand[0].var), Atom::Var(operand[1].var));
                        state = self.add(context, &state, &identity, &contrib, &product, span);
                    }
                    state
                });
                arms.push(Arm { tag: count as u32, binders: fields.concat(), body });
            }
            for (number, (from, to)) in self.numbers.conversions.iter().enumerate() {
                let binders = vec![context.fresh("", Type::I64), context.fresh("", self.ty.clone())];
                let body = context.block(|context| {
                    let back = self.numbers.apply(context, &z, &Factor::Convert(*from, *to), span);
                    self.add(context, state, &Atom::Var(binders[0].var), &Atom::Var(binders[1].var), &back, span)
                });
                arms.push(Arm { tag: (MOST + 1 + number) as u32, binders, body });
            }
            if let Some(calls) = &self.calls {
                let call = context.fresh("call", Type::Named(calls.ty));
                let body = context.block(|context| calls.run(context, Atom::Var(call.var), at.clone(), &[], state, span));
                arms.push(Arm { tag: self.call_tag(), binders: vec![call], body });
            }
            context.b.push(Op::Match { scrutinee: contrib, arms, otherwise: None }, types, span)
        })
    }

    fn lookup(&self, context: &mut Context, state: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        self.numbers.read(context, &state[1..], &identity, span)
    }

    fn calls(&self) -> Option<Calls> {
        self.calls.clone()
    }

    fn call(&self, context: &mut Context, environment: &[Atom], call: Atom, results: Atom, span: Span) -> Vec<Atom> {
        let identity = next_identity(context, &environment[0], span);
        skip_identities(context, &environment[0], results, span);
        vec![identity, context.construct(&self.ty, self.call_tag(), vec![call], span).swap_remove(0)]
    }

    fn result(&self, context: &mut Context, _: &[Atom], call: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        let payload = [self.numbers.zeros(), call.to_vec()].concat();
        vec![identity, context.construct(&self.ty, 1, payload, span).swap_remove(0)]
    }
}
