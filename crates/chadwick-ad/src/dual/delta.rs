//! `dual:delta` (Krawiec et al., section 7): the tangent of a scalar is a term, `Zero` or the variable of a binding. Every operation binds
//! one (`deltaLet`): `let id = Add (Scale x u) (Scale y v) in ...`, newest innermost. Evaluation is body first, so it goes through the
//! bindings from the newest to the oldest, and each is evaluated once, at the sum of what its variable was used at. A binding whose variable was
//! not used is skipped. Whether it was is kept beside its cotangent: one that happens to be zero may have a derivative of its own that is not.

use super::cells::{read, replicate, write};
use super::numbers::{Factor, Numbers, Part};
use super::{Backpropagation, Calls, Run, atoms_of};
use crate::context::{Context, with_axis};
use chadwick_core::{
    Arm, Atom, BinaryOp, Binder, Block, Const, Constructor, FunctionId, LogType, Op, Type, TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};
use std::rc::Rc;

pub struct Delta {
    numbers: Rc<Numbers>,
    ty: Type,
    /// `eval`: a term, at a cotangent, on the cotangents of variables.
    eval: FunctionId,
    calls: Option<Calls>,
}

const ZERO: u32 = 0;
const VAR: u32 = 1;
const SCALE: u32 = 2;
const ADD: u32 = 3;
/// Conversions come behind.
const CONVERT: u32 = 4;

/// Cotangents by variable, and which variables were used.
fn state_types(numbers: &Numbers) -> Vec<Type> {
    [numbers.arrays(), vec![with_axis(&Type::BOOL)]].concat()
}

impl Delta {
    pub fn new(numbers: Rc<Numbers>, context: &mut Context) -> Delta {
        let types = &mut context.b.program_mut().types;
        let ty = Type::Named(TypeId(types.len() as u32));
        let constructor = |name: &str, payload: Vec<Type>| Constructor { name: Name::from(name), payload };
        let mut constructors = vec![
            constructor("zero", Vec::new()),
            constructor("var", vec![Type::I64]),
            constructor("scale", [numbers.types(), vec![ty.clone()]].concat()),
            constructor("add", vec![ty.clone(), ty.clone()]),
        ];
        for (from, to) in &numbers.conversions {
            constructors.push(constructor(&format!("convert_{}_{}", from.name(), to.name()), vec![ty.clone()]));
        }
        types.push(TypeDefinition { name: Name::from("delta"), constructors });
        let state = state_types(&numbers);
        let calls = numbers.calls.then(|| Calls::new(context, Vec::new(), state.clone()));
        if let (Some(calls), Type::Named(id)) = (&calls, &ty) {
            let call = Constructor { name: Name::from("call"), payload: vec![Type::Named(calls.ty)] };
            context.b.program_mut().types[id.0 as usize].constructors.push(call);
        }
        let mut params = vec![context.fresh("delta", ty.clone()), context.fresh("binding", Type::I64)];
        params.extend(numbers.types().into_iter().map(|ty| context.fresh("z", ty)).collect::<Vec<Binder>>());
        params.extend(state.iter().map(|ty| context.fresh("cotangents", ty.clone())).collect::<Vec<Binder>>());
        let eval = context.reserve(Name::from("eval"), params.clone(), state, Span::default());
        let delta = Delta { numbers, ty, eval, calls };
        let body = delta.evaluate(context, &params);
        context.b.program_mut().functions[eval.0 as usize].body = body;
        delta
    }

    fn term(&self, context: &mut Context, tag: u32, args: Vec<Atom>, span: Span) -> Atom {
        context.construct(&self.ty, tag, args, span).swap_remove(0)
    }

    /// The constructor of a call with a rule of its own.
    fn call_tag(&self) -> u32 {
        CONVERT + self.numbers.conversions.len() as u32
    }

    fn bind(&self, context: &mut Context, handle: &Atom, term: Atom, span: Span) -> Atom {
        context.emit_one(Op::Log { handle: handle.clone(), indices: Vec::new(), values: vec![term] }, span)
    }

    /// The state with a cotangent added for a variable, which is used then.
    fn use_at(&self, context: &mut Context, state: &[Atom], variable: &Atom, cotangent: &[Atom], span: Span) -> Vec<Atom> {
        let (cells, used) = state.split_at(self.numbers.prims.len());
        let mut after = self.numbers.add_at(context, cells, variable, cotangent, span);
        after.extend(used.iter().map(|used| write(context, used, variable, Atom::bool(true), span)));
        after
    }

    fn evaluate(&self, context: &mut Context, params: &[Binder]) -> Block {
        let span = Span::default();
        let count = self.numbers.prims.len();
        let (z, cells) = (atoms_of(&params[2..2 + count]), atoms_of(&params[2 + count..]));
        let binding = Atom::Var(params[1].var);
        let term = Binder { var: params[0].var, ty: self.ty.clone() };
        let call = |context: &mut Context, term: &Binder, z: Vec<Atom>, cells: Vec<Atom>| {
            let args = [vec![Atom::Var(term.var), binding.clone()], z, cells].concat();
            context.b.push(Op::Call { function: self.eval, args }, state_types(&self.numbers), span)
        };
        context.block(|context| {
            let mut arms = vec![Arm { tag: ZERO, binders: Vec::new(), body: super::plain_block(cells.clone()) }];
            let var = context.fresh("i", Type::I64);
            let body = context.block(|context| self.use_at(context, &cells, &Atom::Var(var.var), &z, span));
            arms.push(Arm { tag: VAR, binders: vec![var], body });
            let mut binders: Vec<Binder> = self.numbers.types().into_iter().map(|ty| context.fresh("", ty)).collect();
            let inner = context.fresh("", self.ty.clone());
            let body = context.block(|context| {
                let mut product = Vec::new();
                for ((z, factor), prim) in z.iter().zip(&binders).zip(&self.numbers.prims) {
                    let scale = chadwick_core::PrimOp::Binary(BinaryOp::Scale, *prim);
                    product.push(context.prim(scale, vec![z.clone(), Atom::Var(factor.var)], span));
                }
                call(context, &inner, product, cells.clone())
            });
            binders.push(inner);
            arms.push(Arm { tag: SCALE, binders, body });
            let binders = vec![context.fresh("", self.ty.clone()), context.fresh("", self.ty.clone())];
            let body = context.block(|context| {
                let cells = call(context, &binders[0], z.clone(), cells.clone());
                call(context, &binders[1], z.clone(), cells)
            });
            arms.push(Arm { tag: ADD, binders, body });
            for (number, (from, to)) in self.numbers.conversions.iter().enumerate() {
                let inner = context.fresh("", self.ty.clone());
                let body = context.block(|context| {
                    let back = self.numbers.apply(context, &z, &Factor::Convert(*from, *to), span);
                    call(context, &inner, back, cells.clone())
                });
                arms.push(Arm { tag: CONVERT + number as u32, binders: vec![inner], body });
            }
            if let Some(calls) = &self.calls {
                let call = context.fresh("call", Type::Named(calls.ty));
                let body = context.block(|context| calls.run(context, Atom::Var(call.var), binding.clone(), &[], &cells, span));
                arms.push(Arm { tag: self.call_tag(), binders: vec![call], body });
            }
            let op = Op::Match { scrutinee: Atom::Var(term.var), arms, otherwise: None };
            context.b.push(op, state_types(&self.numbers), span)
        })
    }
}

impl Backpropagation for Delta {
    /// The variable; 0 for `Zero`. A dual number never holds another term, so it can be copied freely.
    fn beside(&self) -> Vec<Type> {
        vec![Type::I64]
    }

    fn log(&self) -> Option<LogType> {
        Some(LogType { indices: 0, values: vec![self.ty.clone()] })
    }

    fn constant(&self, _: &mut Context, _: &[Atom], _: Span) -> Vec<Atom> {
        vec![Atom::i64(0)]
    }

    fn input(&self, _: &mut Context, _: &[Atom], identity: Atom, _: Span) -> Vec<Atom> {
        vec![identity]
    }

    fn operation(&self, context: &mut Context, environment: &[Atom], parts: &[Part], span: Span) -> Vec<Atom> {
        let mut total: Option<Atom> = None;
        for part in parts {
            let variable = self.term(context, VAR, part.beside.clone(), span);
            let term = match &part.factor {
                Factor::Scale(component, factor) => {
                    let mut args: Vec<Atom> = self.numbers.prims.iter().map(|prim| Atom::Const(Const::zero(*prim))).collect();
                    args[*component] = factor.clone();
                    args.push(variable);
                    self.term(context, SCALE, args, span)
                }
                Factor::Convert(from, to) => match self.numbers.conversions.iter().position(|known| known == &(*from, *to)) {
                    Some(at) => self.term(context, CONVERT + at as u32, vec![variable], span),
                    // A conversion that the survey did not meet leads to nothing that is wanted.
                    None => self.term(context, ZERO, Vec::new(), span),
                },
            };
            total = Some(match total {
                Some(total) => self.term(context, ADD, vec![total, term], span),
                None => term,
            });
        }
        let term = total.unwrap_or_else(|| self.term(context, ZERO, Vec::new(), span));
        vec![self.bind(context, &environment[0], term, span)]
    }

    fn start(&self, context: &mut Context, run: &Run, span: Span) -> Vec<Atom> {
        let mut state = self.numbers.cells(context, &run.end, span);
        state.push(replicate(context, &run.end, Atom::bool(false), span));
        state
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
        self.use_at(context, state, &beside[0], cotangent, span)
    }

    fn resolve(&self, context: &mut Context, run: &Run, state: Vec<Atom>, span: Span) -> Vec<Atom> {
        let bindings = context.emit_one(Op::Dim { array: run.columns[0].clone(), axis: 0 }, span);
        context.backward_loop(bindings, state, span, |context, at, state| {
            let behind = context.i64_op(BinaryOp::Add, at.clone(), run.inputs.clone(), span);
            let identity = context.i64_op(BinaryOp::Add, behind, Atom::i64(1), span);
            let (cells, used) = state.split_at(self.numbers.prims.len());
            let condition = read(context, &used[0], &identity, span);
            let then = context.block(|context| {
                let term = read(context, &run.columns[0], &at, span);
                let z = self.numbers.read(context, cells, &identity, span);
                let args = [vec![term, identity], z, state.to_vec()].concat();
                context.b.push(Op::Call { function: self.eval, args }, state_types(&self.numbers), span)
            });
            let otherwise = super::plain_block(state.to_vec());
            context.b.push(Op::If { condition, then, otherwise }, state_types(&self.numbers), span)
        })
    }

    fn lookup(&self, context: &mut Context, state: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        self.numbers.read(context, &state[..self.numbers.prims.len()], &identity, span)
    }

    fn calls(&self) -> Option<Calls> {
        self.calls.clone()
    }

    fn call(&self, context: &mut Context, environment: &[Atom], call: Atom, results: Atom, span: Span) -> Vec<Atom> {
        let term = self.term(context, self.call_tag(), vec![call], span);
        let binding = self.bind(context, &environment[0], term, span);
        // Who uses a result uses the call.
        context.for_loop(results, Vec::new(), span, |context, _, _| {
            let whole = self.term(context, VAR, vec![binding.clone()], span);
            self.bind(context, &environment[0], whole, span);
            Vec::new()
        });
        vec![binding]
    }
}
