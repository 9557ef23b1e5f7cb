//! Cotangents and tangents as the definition has them: of the form of their value, which says how long arrays are and which constructor it has (the papers'
//! dependent types, checked when they meet). A backpropagator gives the cotangents of the whole environment, and a sum of two environments adds
//! each of their parts.

use super::Direction;
use super::copowers;
use super::linear::LinearType;
use super::meaning::{Field, Meaning, Operation, State, Variable, Whole, has_cotangent, has_numbers, sizeless};
use super::monoids::{Change, Monoid};
use super::semirings::{Semiring, is_on_numbers};
use crate::context::{Applied, Context};
use chadwick_core::prim::Derivative;
use chadwick_core::typing::constructors;
use chadwick_core::typing::has_functions;
use chadwick_core::{
    Arm, ArrayType, Atom, Axis, BinaryOp, Binder, Block, Const, Constructor, Element, FunctionId, FunctionType, Lambda,
    MessagePart, Op, Prim, PrimOp, Program, SliceDim, Type, TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;

#[derive(Default)]
pub struct Dense {
    /// What the cotangents of numbers are, and the numbers themselves if it is a semiring; numbers of the same type if nothing else.
    pub(super) monoid: Option<&'static Monoid>,
    direction: Direction,
    primal_types: FxHashMap<TypeId, TypeId>,
    cotangent_types: FxHashMap<TypeId, TypeId>,
    bags: FxHashMap<Type, TypeId>,
    zeros: FxHashMap<Type, FunctionId>,
    sums: FxHashMap<Type, FunctionId>,
    pub(super) changes: FxHashMap<(Change, Type), FunctionId>,
}

/// Which of the two type maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Primal,
    Cotangent,
}

impl Dense {
    pub fn new(monoid: Option<&'static Monoid>, direction: Direction) -> Dense {
        Dense { monoid, direction, ..Dense::default() }
    }

    pub(super) fn mapped(&mut self, context: &mut Context, ty: &Type, side: Side) -> Type {
        let ty = sizeless(ty);
        let monoid = self.monoid.filter(|monoid| side == Side::Cotangent || monoid.semiring.is_some());
        if monoid.is_none() && !has_functions(context.program(), &ty) {
            return ty;
        }
        let is_element = |prim: Prim| if side == Side::Primal { prim.is_float() } else { prim != Prim::Bool };
        match (&ty, monoid) {
            (Type::Prim(prim), Some(monoid)) if is_element(*prim) => return Type::Prim(monoid.prim),
            (Type::Array(ArrayType { element: Element::Prim(prim), dims }), Some(monoid)) if is_element(*prim) => {
                return Type::Prim(monoid.prim).array(dims.clone());
            }
            _ => {}
        }
        match &ty {
            Type::Array(ArrayType { element: Element::Boxed(element), dims }) => {
                let element = Element::Boxed(self.mapped(context, element, side).into());
                Type::Array(ArrayType { element, dims: dims.clone() })
            }
            Type::Sum(constructors) => Type::Sum(self.constructors(context, constructors, side).into()),
            Type::Named(id) => {
                let known = match side {
                    Side::Primal => &self.primal_types,
                    Side::Cotangent => &self.cotangent_types,
                };
                if let Some(known) = known.get(id) {
                    return Type::Named(*known);
                }
                let definition = context.program().types[id.0 as usize].clone();
                let made = new_type(context, definition.name);
                match side {
                    Side::Primal => self.primal_types.insert(*id, made),
                    Side::Cotangent => self.cotangent_types.insert(*id, made),
                };
                let all = self.constructors(context, &definition.constructors, side);
                context.b.program_mut().types[made.0 as usize].constructors = all;
                Type::Named(made)
            }
            Type::Function(function) => match side {
                Side::Primal => self.primal_function(context, function),
                Side::Cotangent => match self.direction {
                    Direction::Reverse => self.bag(context, &ty, function),
                    Direction::Forward => self.power(context, function),
                },
            },
            other => other.clone(),
        }
    }

    fn constructors(&mut self, context: &mut Context, all: &[Constructor], side: Side) -> Vec<Constructor> {
        let each = |it: &Constructor| Constructor {
            name: it.name.clone(),
            payload: it.payload.iter().map(|ty| self.mapped(context, ty, side)).collect(),
        };
        all.iter().map(each).collect()
    }

    fn carrying(&mut self, context: &mut Context, types: &[Type]) -> Vec<Type> {
        let carrying: Vec<&Type> = types.iter().filter(|ty| has_cotangent(context, ty)).collect();
        carrying.into_iter().map(|ty| self.mapped(context, ty, Side::Cotangent)).collect()
    }

    /// `D1[σ → τ] = D1[σ] → D1[τ] × (D2[τ] → D2[σ])`, or `D1[σ] → D1[τ] × (D2[σ] → D2[τ])`
    fn primal_function(&mut self, context: &mut Context, function: &FunctionType) -> Type {
        let params = function.params.iter().map(|ty| self.mapped(context, ty, Side::Primal)).collect();
        let mut results: Vec<Type> = function.results.iter().map(|ty| self.mapped(context, ty, Side::Primal)).collect();
        let [of_results, of_params] = [&function.results, &function.params].map(|types| self.carrying(context, types));
        results.push(LinearType::of_function(self.direction, of_params, of_results).value());
        Type::Function(FunctionType { params, results }.into())
    }

    /// `D2[σ → τ] = D1[σ] → D2[τ]`
    fn power(&mut self, context: &mut Context, function: &FunctionType) -> Type {
        let params = function.params.iter().map(|ty| self.mapped(context, ty, Side::Primal)).collect();
        let results = self.carrying(context, &function.results);
        Type::Function(FunctionType { params, results }.into())
    }

    /// A tangent of a function: `make` gives the tangents of its results at arguments.
    fn pointwise(
        &mut self,
        context: &mut Context,
        function: &FunctionType,
        span: Span,
        make: impl FnOnce(&mut Self, &mut Context, Vec<Atom>) -> Vec<Atom>,
    ) -> Atom {
        let types: Vec<Type> = function.params.iter().map(|ty| self.mapped(context, ty, Side::Primal)).collect();
        let params: Vec<Binder> = types.into_iter().map(|ty| context.fresh("x", ty)).collect();
        let results = self.carrying(context, &function.results);
        context.b.push_block();
        let tangents = make(self, context, params.iter().map(|param| Atom::Var(param.var)).collect());
        let body = context.b.pop_block(tangents);
        context.emit_one(Op::Closure(Lambda { params, results, body }), span)
    }

    /// `D2[σ → τ]`: bags of pairs of `D1[σ]` and `D2[τ]`.
    fn bag(&mut self, context: &mut Context, ty: &Type, function: &FunctionType) -> Type {
        if let Some(known) = self.bags.get(ty) {
            return Type::Named(*known);
        }
        let made = new_type(context, Name::from("calls"));
        self.bags.insert(ty.clone(), made);
        let mut pair: Vec<Type> = function.params.iter().map(|ty| self.mapped(context, ty, Side::Primal)).collect();
        pair.extend(self.carrying(context, &function.results));
        copowers::define(context, made, pair);
        Type::Named(made)
    }

    /// The zeros or sums of a sum type's values are made by a function.
    fn zero_function(&mut self, context: &mut Context, ty: &Type, span: Span) -> FunctionId {
        if let Some(known) = self.zeros.get(ty) {
            return *known;
        }
        let (primal_type, cotangent_type) = self.both(context, ty);
        let param = context.fresh("a", primal_type);
        let value = Atom::Var(param.var);
        let function = context.reserve(Name::from("zero"), vec![param], vec![cotangent_type.clone()], span);
        self.zeros.insert(ty.clone(), function);
        let all = constructors(&context.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        context.b.push_block();
        let mut arms = Vec::new();
        for (tag, constructor) in all.iter().enumerate() {
            let binders = self.primal_fields(context, constructor);
            context.b.push_block();
            let fields = constructor.payload.iter().zip(&binders);
            let args = fields.map(|(ty, binder)| self.zero(context, &Atom::Var(binder.var), ty, span)).collect();
            let results = context.construct(&cotangent_type, tag as u32, args, span);
            arms.push(Arm { tag: tag as u32, binders, body: context.b.pop_block(results) });
        }
        let results = context.b.push(Op::Match { scrutinee: value, arms, otherwise: None }, vec![cotangent_type], span);
        let body = context.b.pop_block(results);
        context.b.program_mut().functions[function.0 as usize].body = body;
        function
    }

    fn sum_function(&mut self, context: &mut Context, ty: &Type, span: Span) -> FunctionId {
        if let Some(known) = self.sums.get(ty) {
            return *known;
        }
        let cotangent_type = self.mapped(context, ty, Side::Cotangent);
        let params = vec![context.fresh("a", cotangent_type.clone()), context.fresh("b", cotangent_type.clone())];
        let (left, right) = (Atom::Var(params[0].var), Atom::Var(params[1].var));
        let function = context.reserve(Name::from("plus"), params, vec![cotangent_type.clone()], span);
        self.sums.insert(ty.clone(), function);
        let all = constructors(&context.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        context.b.push_block();
        let mut arms = Vec::new();
        for (tag, constructor) in all.iter().enumerate() {
            let tag = tag as u32;
            let [own, other] = [(); 2].map(|()| self.cotangent_fields(context, constructor));
            context.b.push_block();
            context.b.push_block();
            let mut args = Vec::new();
            for ((ty, own), other) in constructor.payload.iter().zip(&own).zip(&other) {
                args.push(self.plus(context, ty, Atom::Var(own.var), Atom::Var(other.var), span));
            }
            let results = context.construct(&cotangent_type, tag, args, span);
            let same = Arm { tag, binders: other, body: context.b.pop_block(results) };
            let otherwise = (all.len() > 1).then(|| mismatch(context, self.direction.word(), vec![left.clone()], span));
            let op = Op::Match { scrutinee: right.clone(), arms: vec![same], otherwise };
            let results = context.b.push(op, vec![cotangent_type.clone()], span);
            arms.push(Arm { tag, binders: own, body: context.b.pop_block(results) });
        }
        let results = context.b.push(Op::Match { scrutinee: left, arms, otherwise: None }, vec![cotangent_type], span);
        let body = context.b.pop_block(results);
        context.b.program_mut().functions[function.0 as usize].body = body;
        function
    }

    fn semiring(&self) -> Option<(&'static Monoid, &'static Semiring)> {
        self.monoid.and_then(|monoid| Some((monoid, monoid.semiring?)))
    }

    fn zero_number(&self, prim: Prim) -> Atom {
        Atom::Const(self.monoid.map_or(Const::zero(prim), |monoid| monoid.zero))
    }

    fn both(&mut self, context: &mut Context, ty: &Type) -> (Type, Type) {
        (self.mapped(context, ty, Side::Primal), self.mapped(context, ty, Side::Cotangent))
    }

    fn primal_fields(&mut self, context: &mut Context, constructor: &Constructor) -> Vec<Binder> {
        let types: Vec<Type> = constructor.payload.iter().map(|ty| self.mapped(context, ty, Side::Primal)).collect();
        types.into_iter().map(|ty| context.fresh("", ty)).collect()
    }

    fn cotangent_fields(&mut self, context: &mut Context, constructor: &Constructor) -> Vec<Binder> {
        let types: Vec<Type> = constructor.payload.iter().map(|ty| self.mapped(context, ty, Side::Cotangent)).collect();
        types.into_iter().map(|ty| context.fresh("", ty)).collect()
    }
}

fn new_type(context: &mut Context, name: Name) -> TypeId {
    let types = &mut context.b.program_mut().types;
    types.push(TypeDefinition { name, constructors: Vec::new() });
    TypeId(types.len() as u32 - 1)
}

/// A block that fails, since the constructors of two values differ that must not.
pub fn mismatch(context: &mut Context, word: &str, results: Vec<Atom>, span: Span) -> Block {
    context.b.push_block();
    let text = format!("a {word} has another constructor than the value it belongs to");
    let op = Op::Assert { condition: Atom::bool(false), message: vec![MessagePart::Text(text)] };
    context.b.push(op, Vec::new(), span);
    context.b.pop_block(results)
}

/// The axes of an array, and an index into them.
pub fn axes(context: &mut Context, array: &Atom, rank: usize, span: Span) -> (Vec<Axis>, Vec<Atom>) {
    let mut space = Vec::new();
    for axis in 0..rank {
        let size = context.emit_one(Op::Dim { array: array.clone(), axis }, span);
        space.push(Axis { var: context.fresh("i", Type::I64).var, size });
    }
    let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
    (space, indices)
}

impl Meaning for Dense {
    fn takes_functions(&self) -> bool {
        true
    }

    fn has_views(&self) -> bool {
        true
    }

    fn changes(&self, program: &Program, ty: &Type) -> bool {
        has_functions(program, ty) || (self.semiring().is_some() && has_numbers(program, ty))
    }

    /// Over a semiring integers are not numbers.
    fn is_differentiated(&self, context: &Context, ty: &Type) -> bool {
        context.carries(ty) && (self.semiring().is_none() || has_numbers(context.program(), ty))
    }

    fn constant(&self, constant: Const) -> Const {
        match self.semiring() {
            Some((monoid, semiring)) if constant.prim().is_float() => monoid.constant(semiring, constant),
            _ => constant,
        }
    }

    fn operation(&mut self, context: &mut Context, op: PrimOp, operands: &[Atom], span: Span) -> Operation {
        let Some((monoid, semiring)) = self.semiring().filter(|_| is_on_numbers(op)) else { return Operation::Unchanged };
        match monoid.value(context, semiring, op, operands, span) {
            Some(value) => Operation::Changed(value),
            None => Operation::Meaningless(semiring.name),
        }
    }

    fn primal(&mut self, context: &mut Context, value: Atom, ty: &Type, span: Span) -> Atom {
        self.elements_of(context, Side::Primal, value, ty, span)
    }

    fn value(&mut self, context: &mut Context, primal: Atom, ty: &Type, span: Span) -> Atom {
        self.numbers_of(context, Side::Primal, primal, ty, span)
    }

    fn primal_type(&mut self, context: &mut Context, ty: &Type) -> Type {
        match self.changes(context.program(), ty) {
            true => self.mapped(context, ty, Side::Primal),
            false => ty.clone(),
        }
    }

    fn cotangent_type(&mut self, context: &mut Context, ty: &Type) -> Type {
        self.mapped(context, ty, Side::Cotangent)
    }

    fn zero(&mut self, context: &mut Context, primal: &Atom, ty: &Type, span: Span) -> Atom {
        if !has_cotangent(context, ty) {
            return primal.clone();
        }
        match ty {
            Type::Prim(prim) => self.zero_number(*prim),
            Type::Array(array) => {
                let (space, indices) = axes(context, primal, array.dims.len(), span);
                context.b.push_block();
                let element = match &array.element {
                    Element::Boxed(element) => {
                        let value = context.emit_one(Op::Index { array: primal.clone(), indices }, span);
                        self.zero(context, &value, element, span)
                    }
                    Element::Prim(prim) => self.zero_number(*prim),
                    Element::Unit => Atom::bool(false),
                };
                let body = context.b.pop_block(vec![element]);
                context.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
            }
            Type::Function(function) if self.direction == Direction::Forward => {
                self.pointwise(context, function, span, |this, context, args| {
                    let values = context.emit(Op::Apply { function: primal.clone(), args }, span);
                    let pairs = function.results.iter().zip(values);
                    let carrying: Vec<(&Type, Atom)> = pairs.filter(|(ty, _)| has_cotangent(context, ty)).collect();
                    carrying.into_iter().map(|(ty, value)| this.zero(context, &value, ty, span)).collect()
                })
            }
            Type::Function(_) => {
                let bag = self.mapped(context, ty, Side::Cotangent);
                copowers::empty(context, &bag, span)
            }
            _ => {
                let function = self.zero_function(context, &sizeless(ty), span);
                context.emit_one(Op::Call { function, args: vec![primal.clone()] }, span)
            }
        }
    }

    fn plus(&mut self, context: &mut Context, ty: &Type, left: Atom, right: Atom, span: Span) -> Atom {
        if !has_cotangent(context, ty) {
            return left;
        }
        match ty {
            Type::Prim(prim) => {
                let (plus, prim) = self.monoid.map_or((BinaryOp::Add, *prim), |monoid| (monoid.plus, monoid.prim));
                context.prim(PrimOp::Binary(plus, prim), vec![left, right], span)
            }
            Type::Array(array) => {
                let element = array.element.as_type().unwrap_or(Type::BOOL);
                let (space, indices) = axes(context, &left, array.dims.len(), span);
                context.b.push_block();
                let [a, b] = [left, right].map(|array| context.emit_one(Op::Index { array, indices: indices.clone() }, span));
                let sum = self.plus(context, &element, a, b, span);
                let body = context.b.pop_block(vec![sum]);
                context.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
            }
            Type::Function(function) if self.direction == Direction::Forward => {
                self.pointwise(context, function, span, |this, context, args| {
                    let [left, right] =
                        [left, right].map(|function| context.emit(Op::Apply { function, args: args.clone() }, span));
                    let carrying: Vec<&Type> = function.results.iter().filter(|ty| has_cotangent(context, ty)).collect();
                    let all = carrying.into_iter().zip(left.into_iter().zip(right));
                    all.map(|(ty, (left, right))| this.plus(context, ty, left, right, span)).collect()
                })
            }
            Type::Function(_) => {
                let bag = self.mapped(context, ty, Side::Cotangent);
                copowers::sum(context, &bag, left, right, span)
            }
            _ => {
                let function = self.sum_function(context, &sizeless(ty), span);
                context.emit_one(Op::Call { function, args: vec![left, right] }, span)
            }
        }
    }

    fn pass(
        &mut self,
        context: &mut Context,
        (derivative, at): (&Derivative, usize),
        cotangent: &Atom,
        applied: &Applied<'_>,
        to: Prim,
        span: Span,
    ) -> Option<Atom> {
        if let Some((monoid, semiring)) = self.semiring() {
            let is_on_numbers = is_on_numbers(applied.op);
            return monoid.passed(context, semiring, (derivative, at), cotangent, applied, span).filter(|_| is_on_numbers);
        }
        match self.monoid {
            None => context.pass(derivative, cotangent, applied, to, span),
            Some(_) => (*derivative != Derivative::Zero).then(|| cotangent.clone()),
        }
    }

    fn uses_rules(&self) -> bool {
        self.monoid.is_none()
    }

    fn embed(&mut self, context: &mut Context, whole: &Whole, dims: &[SliceDim], part: Atom, span: Span) -> Atom {
        let zero = self.zero(context, &whole.array, &whole.ty, span);
        context.emit_one(Op::Update { array: zero, dims: dims.to_vec(), value: part }, span)
    }

    fn extract(&mut self, context: &mut Context, whole: &Whole, dims: &[SliceDim], cotangent: Atom, span: Span) -> (Atom, Atom) {
        let select = |array: &Atom| Op::Slice { array: array.clone(), dims: dims.to_vec() };
        let part = context.emit_one(select(&cotangent), span);
        let before = context.emit_one(select(&whole.array), span);
        let element = whole.ty.peel(whole.ty.rank()).unwrap_or(Type::BOOL);
        let part_type = element.array(vec![chadwick_core::Dim::Any; context.type_of(&before).rank()]);
        let zero = self.zero(context, &before, &part_type, span);
        let rest = context.emit_one(Op::Update { array: cotangent, dims: dims.to_vec(), value: zero }, span);
        (rest, part)
    }

    fn elements(&mut self, _: &mut Context, _: &Type, cotangent: Atom, _: &Atom, _: Span) -> Atom {
        cotangent
    }

    fn gathered(&mut self, _: &mut Context, _: &Type, elements: Atom, _: Span) -> Atom {
        elements
    }

    fn is_absent(&mut self, _: &mut Context, _: &Type, _: &Atom, _: Span) -> Option<Atom> {
        None
    }

    fn inject(&mut self, context: &mut Context, ty: &Type, tag: u32, fields: &[(Field, Option<Atom>)], span: Span) -> Atom {
        let mut args = Vec::new();
        for (field, own) in fields {
            args.push(match own {
                Some(own) => own.clone(),
                None => self.zero(context, &field.primal, &field.ty, span),
            });
        }
        let cotangent_type = self.mapped(context, ty, Side::Cotangent);
        context.construct(&cotangent_type, tag, args, span).swap_remove(0)
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
        let all = constructors(&context.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let Some(constructor) = all.get(tag as usize) else { return Vec::new() };
        let binders = self.cotangent_fields(context, constructor);
        let types: Vec<Type> = binders.iter().map(|binder| binder.ty.clone()).collect();
        let body = Block { statements: Vec::new(), results: binders.iter().map(|it| Atom::Var(it.var)).collect() };
        let otherwise = (all.len() > 1).then(|| {
            context.b.push_block();
            let zeros = fields.iter().map(|field| self.zero(context, &field.primal, &field.ty, span)).collect();
            let block = context.b.pop_block(zeros);
            let fails = mismatch(context, self.direction.word(), Vec::new(), span);
            Block { statements: [fails.statements, block.statements].concat(), results: block.results }
        });
        let arms = vec![Arm { tag, binders, body }];
        let parts = context.b.push(Op::Match { scrutinee: cotangent.clone(), arms, otherwise }, types, span);
        parts.into_iter().map(Some).collect()
    }

    fn called(&mut self, context: &mut Context, ty: &Type, args: Vec<Atom>, cotangents: Vec<Atom>, span: Span) -> Atom {
        let bag = self.mapped(context, ty, Side::Cotangent);
        copowers::one(context, &bag, [args, cotangents].concat(), span)
    }

    fn in_form(&mut self, context: &mut Context, value: Atom, ty: &Type, span: Span) -> Atom {
        self.elements_of(context, Side::Cotangent, value, ty, span)
    }

    fn in_full(&mut self, context: &mut Context, cotangent: Atom, _: &Atom, ty: &Type, span: Span) -> Atom {
        self.numbers_of(context, Side::Cotangent, cotangent, ty, span)
    }

    fn passes_state(&self) -> bool {
        false
    }

    fn state_types(&mut self, context: &mut Context, environment: &[Variable]) -> Vec<Type> {
        environment.iter().map(|variable| self.mapped(context, &variable.ty, Side::Cotangent)).collect()
    }

    fn nothing(&mut self, context: &mut Context, environment: &[Variable], span: Span) -> Vec<Atom> {
        environment.iter().map(|variable| self.zero(context, &variable.primal, &variable.ty, span)).collect()
    }

    fn with_room(&mut self, _: &mut Context, state: State, _: usize, _: Span) -> State {
        state
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
        let mut given = Vec::new();
        for (place, variable) in environment.iter().enumerate() {
            given.push(match place == at {
                true => cotangent.clone(),
                false => self.zero(context, &variable.primal, &variable.ty, span),
            });
        }
        self.joined(context, environment, state, given, span)
    }

    fn joined(&mut self, context: &mut Context, environment: &[Variable], state: State, given: Vec<Atom>, span: Span) -> State {
        let Some(before) = state else { return Some(given) };
        let mut sums = Vec::new();
        for ((variable, left), right) in environment.iter().zip(before).zip(given) {
            sums.push(self.plus(context, &variable.ty, left, right, span));
        }
        Some(sums)
    }

    fn taken(&mut self, _: &mut Context, _: &[Variable], from: usize, mut state: Vec<Atom>, _: Span) -> (Vec<Atom>, Vec<Atom>) {
        let own = state.split_off(from.min(state.len()));
        (state, own)
    }
}
