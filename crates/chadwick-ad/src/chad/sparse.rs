//! Cotangents as efficient CHAD has them (thesis 6.3 and 6.6): every zero costs nothing, and a sum costs what both operands have in common.
//!
//! The cotangent of a sum type has one constructor more, for zero. That of an array is a bag of places and cotangents, which says nothing of
//! lengths (`bags.rs`). Cotangents of variables are collected in one environment that is changed (`environment.rs`).

use super::dense::mismatch;
use super::environment::{Cells, Cotangents, Environment};
use super::meaning::{Field, Meaning, State, Variable, Whole, sizeless};
use crate::context::Context;
use chadwick_core::typing::constructors;
use chadwick_core::{
    Arm, Atom, BinaryOp, Binder, Block, Const, Constructor, FunctionId, Op, PrimOp, SliceDim, Type, TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;

/// The constructor for zero; those of the value follow.
pub const ZERO: u32 = 0;

/// What a function of this module does, for values of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    Plus,
    /// A bag as an array.
    Collect,
    /// A bag added to an array.
    Add,
    FromValue,
    ToValue,
    /// `one`, and taking out, by the type of the cotangent.
    One,
    Take,
    Merge,
}

pub struct Sparse {
    types: FxHashMap<Type, TypeId>,
    functions: FxHashMap<(Task, Type), FunctionId>,
    pub environment: Box<dyn Environment>,
    pub cells: Cells,
    /// Whether what runs side by side has cells of its own.
    has_tasks: bool,
}

impl Sparse {
    pub fn new(cotangents: Cotangents) -> Sparse {
        let (types, functions, cells) = Default::default();
        let has_tasks = cotangents == Cotangents::InTasks;
        Sparse { types, functions, environment: cotangents.environment(), cells, has_tasks }
    }

    /// A function for a task and a type, made when it is first asked for. The body may call it.
    pub fn function(
        &mut self,
        context: &mut Context,
        (task, name): (Task, &str),
        ty: &Type,
        (params, results): (Vec<Type>, Vec<Type>),
        make: impl FnOnce(&mut Self, &mut Context, &[Atom]) -> Vec<Atom>,
    ) -> FunctionId {
        let key = (task, sizeless(ty));
        if let Some(known) = self.functions.get(&key) {
            return *known;
        }
        let params: Vec<Binder> = params.into_iter().map(|ty| context.fresh("", ty)).collect();
        let atoms: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var)).collect();
        let function = context.reserve(Name::from(name), params, results, Span::default());
        self.functions.insert(key, function);
        context.b.push_block();
        let results = make(self, context, &atoms);
        let body = context.b.pop_block(results);
        context.b.program_mut().functions[function.0 as usize].body = body;
        function
    }

    /// The cotangent type of a value, and how it is made for arrays and sums.
    fn mapped(&mut self, context: &mut Context, ty: &Type) -> Type {
        let ty = sizeless(ty);
        if let Type::Prim(_) = ty {
            return ty;
        }
        if let Some(known) = self.types.get(&ty) {
            return Type::Named(*known);
        }
        let types = &mut context.b.program_mut().types;
        let id = TypeId(types.len() as u32);
        types.push(TypeDefinition { name: Name::from("cotangent"), constructors: Vec::new() });
        self.types.insert(ty.clone(), id);
        let made = match &ty {
            Type::Array(_) => {
                let element = self.element(context, &ty);
                super::bags::constructors_of(&Type::Named(id), element)
            }
            _ => {
                let mut made = vec![Constructor { name: Name::from("zero"), payload: Vec::new() }];
                for constructor in constructors(&context.b, &ty).map(<[_]>::to_vec).unwrap_or_default() {
                    let payload = self.payload_types(context, &constructor);
                    // A constructor of the value may be called `zero` as well.
                    made.push(Constructor { name: Name::from(format!("{}_ct", constructor.name)), payload });
                }
                made
            }
        };
        context.b.program_mut().types[id.0 as usize].constructors = made;
        Type::Named(id)
    }

    /// The cotangent type of an array's elements along its first axis.
    pub fn element(&mut self, context: &mut Context, ty: &Type) -> Type {
        self.mapped(context, &ty.peel(1).unwrap_or(Type::BOOL))
    }

    /// Fields that can carry no derivative have no cotangent.
    fn payload_types(&mut self, context: &mut Context, constructor: &Constructor) -> Vec<Type> {
        let carrying: Vec<&Type> = constructor.payload.iter().filter(|ty| context.carries(ty)).collect();
        carrying.into_iter().map(|ty| self.mapped(context, ty)).collect()
    }

    pub fn zero_of(&mut self, context: &mut Context, ty: &Type, span: Span) -> Atom {
        match ty {
            Type::Prim(prim) => Atom::Const(Const::zero(*prim)),
            // The first constructor of a bag is the empty one.
            _ => {
                let cotangent = self.mapped(context, ty);
                context.construct(&cotangent, ZERO, Vec::new(), span).swap_remove(0)
            }
        }
    }

    /// The sum of two cotangents with the same constructor of the value.
    fn sum_of_sums(&mut self, context: &mut Context, ty: &Type, left: &Atom, right: &Atom, span: Span) -> Vec<Atom> {
        let cotangent = self.mapped(context, ty);
        let all = constructors(&context.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let made = constructors(&context.b, &cotangent).map(<[_]>::to_vec).unwrap_or_default();
        let same = |atom: &Atom| Block { statements: Vec::new(), results: vec![atom.clone()] };
        let mut arms = vec![Arm { tag: ZERO, binders: Vec::new(), body: same(right) }];
        for (tag, (constructor, source)) in made.iter().skip(1).zip(&all).enumerate() {
            let tag = tag as u32 + 1;
            let [own, other] =
                [(); 2].map(|()| -> Vec<Binder> { constructor.payload.iter().map(|ty| context.fresh("", ty.clone())).collect() });
            let fields: Vec<Type> = source.payload.iter().filter(|ty| context.carries(ty)).cloned().collect();
            context.b.push_block();
            context.b.push_block();
            let mut args = Vec::new();
            for ((ty, own), other) in fields.iter().zip(&own).zip(&other) {
                args.push(self.plus(context, ty, Atom::Var(own.var), Atom::Var(other.var), span));
            }
            let results = context.construct(&cotangent, tag, args, span);
            let both = Arm { tag, binders: other, body: context.b.pop_block(results) };
            let zero = Arm { tag: ZERO, binders: Vec::new(), body: same(left) };
            let otherwise = (all.len() > 1).then(|| mismatch(context, "cotangent", vec![left.clone()], span));
            let op = Op::Match { scrutinee: right.clone(), arms: vec![zero, both], otherwise };
            let results = context.b.push(op, vec![cotangent.clone()], span);
            arms.push(Arm { tag, binders: own, body: context.b.pop_block(results) });
        }
        context.b.push(Op::Match { scrutinee: left.clone(), arms, otherwise: None }, vec![cotangent], span)
    }
}

impl Meaning for Sparse {
    fn takes_functions(&self) -> bool {
        false
    }

    fn has_views(&self) -> bool {
        false
    }

    fn primal_type(&mut self, _: &mut Context, ty: &Type) -> Type {
        ty.clone()
    }

    fn cotangent_type(&mut self, context: &mut Context, ty: &Type) -> Type {
        self.mapped(context, ty)
    }

    fn zero(&mut self, context: &mut Context, _: &Atom, ty: &Type, span: Span) -> Atom {
        self.zero_of(context, ty, span)
    }

    fn plus(&mut self, context: &mut Context, ty: &Type, left: Atom, right: Atom, span: Span) -> Atom {
        let ty = &sizeless(ty);
        let cotangent = self.mapped(context, ty);
        let types = (vec![cotangent.clone(), cotangent.clone()], vec![cotangent]);
        let function = match ty {
            Type::Prim(prim) => return context.prim(PrimOp::Binary(BinaryOp::Add, *prim), vec![left, right], span),
            Type::Array(_) => self.function(context, (Task::Plus, "plus"), ty, types, |this, context, args| {
                this.sum_of_bags(context, ty, &args[0], &args[1], span)
            }),
            _ => self.function(context, (Task::Plus, "plus"), ty, types, |this, context, args| {
                this.sum_of_sums(context, ty, &args[0], &args[1], span)
            }),
        };
        context.emit_one(Op::Call { function, args: vec![left, right] }, span)
    }

    fn embed(&mut self, context: &mut Context, whole: &Whole, dims: &[SliceDim], part: Atom, span: Span) -> Atom {
        self.embedded(context, &whole.ty, dims, part, span)
    }

    fn extract(&mut self, context: &mut Context, whole: &Whole, dims: &[SliceDim], cotangent: Atom, span: Span) -> (Atom, Atom) {
        self.extracted(context, &whole.ty, &whole.sizes, dims, cotangent, span)
    }

    fn elements(&mut self, context: &mut Context, ty: &Type, cotangent: Atom, size: &Atom, span: Span) -> Atom {
        self.collected(context, ty, cotangent, size, span)
    }

    fn gathered(&mut self, context: &mut Context, ty: &Type, elements: Atom, span: Span) -> Atom {
        self.bag_of_all(context, ty, elements, span)
    }

    fn has_gathers(&self) -> bool {
        true
    }

    fn scattered(&mut self, context: &mut Context, ty: &Type, places: Atom, elements: Atom, span: Span) -> Atom {
        self.bag_of_some(context, ty, places, elements, span)
    }

    fn is_absent(&mut self, context: &mut Context, _: &Type, cotangent: &Atom, span: Span) -> Option<Atom> {
        let answer = |value| Block { statements: Vec::new(), results: vec![Atom::bool(value)] };
        let arms = vec![Arm { tag: ZERO, binders: Vec::new(), body: answer(true) }];
        Some(context.emit_one(Op::Match { scrutinee: cotangent.clone(), arms, otherwise: Some(answer(false)) }, span))
    }

    fn inject(&mut self, context: &mut Context, ty: &Type, tag: u32, fields: &[(Field, Option<Atom>)], span: Span) -> Atom {
        let mut args = Vec::new();
        for (field, own) in fields {
            if context.carries(&field.ty) {
                args.push(match own {
                    Some(own) => own.clone(),
                    None => self.zero_of(context, &field.ty, span),
                });
            }
        }
        let cotangent = self.mapped(context, ty);
        context.construct(&cotangent, tag + 1, args, span).swap_remove(0)
    }

    fn payload(
        &mut self,
        context: &mut Context,
        ty: &Type,
        tag: u32,
        cotangent: &Atom,
        fields: &[Field],
        span: Span,
    ) -> Vec<Option<Atom>> {
        let cotangent_type = self.mapped(context, ty);
        let made = constructors(&context.b, &cotangent_type).map(<[_]>::to_vec).unwrap_or_default();
        let Some(constructor) = made.get(tag as usize + 1) else { return Vec::new() };
        let binders: Vec<Binder> = constructor.payload.iter().map(|ty| context.fresh("", ty.clone())).collect();
        let body = Block { statements: Vec::new(), results: binders.iter().map(|it| Atom::Var(it.var)).collect() };
        let carrying: Vec<&Field> = fields.iter().filter(|field| context.carries(&field.ty)).collect();
        let mut zeros = |context: &mut Context| {
            context.b.push_block();
            let zeros = carrying.iter().map(|field| self.zero_of(context, &field.ty, span)).collect();
            context.b.pop_block(zeros)
        };
        let nothing = Arm { tag: ZERO, binders: Vec::new(), body: zeros(context) };
        let otherwise = (made.len() > 2).then(|| {
            let zeros = zeros(context);
            let fails = mismatch(context, "cotangent", Vec::new(), span);
            Block { statements: [fails.statements, zeros.statements].concat(), results: zeros.results }
        });
        let arms = vec![nothing, Arm { tag: tag + 1, binders, body }];
        let op = Op::Match { scrutinee: cotangent.clone(), arms, otherwise };
        let mut parts = context.b.push(op, constructor.payload.clone(), span).into_iter();
        fields.iter().map(|field| if context.carries(&field.ty) { parts.next() } else { None }).collect()
    }

    fn called(&mut self, _: &mut Context, _: &Type, _: Vec<Atom>, _: Vec<Atom>, _: Span) -> Atom {
        // Functions are refused before anything asks for this.
        Atom::i64(0)
    }

    fn in_form(&mut self, context: &mut Context, value: Atom, ty: &Type, span: Span) -> Atom {
        self.sparse(context, value, ty, span)
    }

    fn in_full(&mut self, context: &mut Context, cotangent: Atom, primal: &Atom, ty: &Type, span: Span) -> Atom {
        self.written(context, cotangent, primal, ty, span)
    }

    fn passes_state(&self) -> bool {
        true
    }

    /// The cells and, where there are tasks, whether nothing forks any more.
    fn state_types(&mut self, context: &mut Context, _: &[Variable]) -> Vec<Type> {
        let cell = self.cells.ty(context);
        let cells = self.environment.ty(context, &cell);
        if self.has_tasks { vec![cells, Type::BOOL] } else { vec![cells] }
    }

    fn nothing(&mut self, context: &mut Context, environment: &[Variable], span: Span) -> Vec<Atom> {
        let cell = self.cells.ty(context);
        let cells = self.environment.empty(context, &cell, environment.len(), span);
        if self.has_tasks { vec![cells, Atom::bool(false)] } else { vec![cells] }
    }

    fn with_room(&mut self, context: &mut Context, state: State, depth: usize, span: Span) -> State {
        let cell = self.cells.ty(context);
        let mut state = state?;
        state[0] = self.environment.with_room(context, &cell, state[0].clone(), depth, span);
        Some(state)
    }

    fn one(
        &mut self,
        context: &mut Context,
        environment: &[Variable],
        state: State,
        at: usize,
        cotangent: Atom,
        span: Span,
    ) -> State {
        let mut state = state?;
        let function = self.one_function(context, &environment[at].ty);
        let args = vec![state[0].clone(), Atom::i64(at as i64), cotangent];
        state[0] = context.emit_one(Op::Call { function, args }, span);
        Some(state)
    }

    fn joined(&mut self, _: &mut Context, _: &[Variable], _: State, given: Vec<Atom>, _: Span) -> State {
        Some(given)
    }

    fn has_tasks(&self) -> bool {
        self.has_tasks
    }

    fn merged(
        &mut self,
        context: &mut Context,
        environment: &[Variable],
        mut state: Vec<Atom>,
        other: Vec<Atom>,
        span: Span,
    ) -> Vec<Atom> {
        for (at, variable) in environment.iter().enumerate() {
            let function = self.merge_function(context, &variable.ty);
            let args = vec![state[0].clone(), other[0].clone(), Atom::i64(at as i64)];
            state[0] = context.emit_one(Op::Call { function, args }, span);
        }
        state
    }

    fn taken(
        &mut self,
        context: &mut Context,
        last: &[Variable],
        from: usize,
        state: Vec<Atom>,
        span: Span,
    ) -> (Vec<Atom>, Vec<Atom>) {
        let mut state = state;
        let mut own = Vec::new();
        for (at, variable) in last.iter().enumerate() {
            let function = self.take_function(context, &variable.ty);
            let args = vec![state[0].clone(), Atom::i64((from + at) as i64)];
            let mut results = context.emit(Op::Call { function, args }, span);
            own.extend(results.pop());
            state.splice(..1, results);
        }
        (state, own)
    }
}
