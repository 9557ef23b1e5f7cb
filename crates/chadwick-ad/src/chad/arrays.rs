//! Builds, and operations on arrays that have no body.

use super::Direction;
use super::gathers::Gathers;
use super::linear::{LinearFunction, LinearFunctions};
use super::meaning::{State, Whole};
use super::rules::Chad;
use crate::context::with_axis;
use chadwick_core::{Atom, Axis, BinaryOp, Binder, Block, Const, Op, Prim, PrimOp, Size, SliceDim, Statement, Type};
use chadwick_source::Span;

impl Chad<'_, '_> {
    /// Each element leaves its derivative, and each is called: with the cotangent of its element, or for its tangent.
    pub fn build(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        body: &Block,
        inner: &[Vec<Size>],
        types: &[Type],
    ) -> Option<LinearFunction> {
        let span = statement.span;
        let flags = self.flags(&statement.binders);
        let gathers = match self.engine.direction == Direction::Reverse && self.engine.meaning.has_gathers() {
            true => self.gathers(space, body),
            false => Gathers::none(body),
        };
        let places = gathers.computed_places();
        self.context.b.push_block();
        gathers.first.iter().for_each(|statement| self.context.push_statement(statement.clone()));
        let (mut results, derivative) = self.block(&gathers.rest, &gathers.elements(), &flags, span);
        results.push(derivative.into_value());
        results.extend(places.iter().cloned());
        let body = self.context.b.pop_block(results);
        let own = inner.iter().zip(&flags).filter(|(_, flag)| **flag);
        let inner_of_own: Vec<Vec<Size>> = own.map(|(sizes, _)| sizes.clone()).collect();
        let inner = [inner.to_vec(), vec![Vec::new(); 1 + places.len()]].concat();
        let elements: Vec<Type> = types.iter().map(|ty| ty.peel(1).unwrap_or(Type::BOOL)).collect();
        let environment = [self.environment.clone(), self.variables(&gathers.elements())].concat();
        let ty = self.derivative_type(&elements, &environment);
        let (kept, derivatives) = self.bound_array(ty);
        let mut binders = self.primal_binders(&statement.binders);
        binders.push(kept);
        let places: Vec<Binder> = places.iter().map(|_| self.context.fresh("places", with_axis(&Type::I64))).collect();
        binders.extend(places.iter().cloned());
        self.push(binders, Op::Build { space: space.to_vec(), body, inner }, span);
        if self.engine.direction == Direction::Forward {
            return Some(self.pushforward(types, span, |this| this.build_of_tangents(&derivatives, inner_of_own, types, span)));
        }
        let places: Vec<Atom> = places.iter().map(|binder| Atom::Var(binder.var)).collect();
        let gathered = self.gathered_arrays(&gathers, &places, span);
        Some(self.backpropagator(types, span, |this, cotangents, state| {
            let environment = this.environment.clone();
            let state = this.written_out(state, &environment, span);
            let absent = this.all_absent(types, cotangents, span);
            let all = |this: &mut Self, state: Vec<Atom>| {
                let size = derivatives.count(this.context, span);
                let rows: Vec<Atom> = types
                    .iter()
                    .zip(cotangents)
                    .map(|(ty, own)| this.engine.meaning.elements(this.context, ty, own.clone(), &size, span))
                    .collect();
                let inside = this.variables(&gathers.elements());
                let stretch = |this: &mut Self, start: Atom, count: Atom, state: State| {
                    let (state, parts) = this.contributing_loop(count.clone(), state, Vec::new(), span, |this, at, state, _| {
                        let at = match &start {
                            Atom::Const(Const::I64(0)) => at,
                            start => this.context.i64_op(BinaryOp::Add, start.clone(), at, span),
                        };
                        let args = rows.iter().map(|rows| this.element(rows, &at, span)).collect();
                        let backpropagator = derivatives.at(this.context, &at, span);
                        this.scoped(state, &backpropagator, args, &inside, span)
                    });
                    gathered.iter().zip(parts).fold(state, |state, (gathered, elements)| {
                        let own = this.gather_cotangent(gathered, &start, &count, elements, span);
                        this.one(state, &gathered.array, own, span)
                    })
                };
                let state = match this.engine.meaning.has_tasks() {
                    true => this.in_stretches(size, state, span, stretch),
                    false => stretch(this, Atom::i64(0), size, Some(state)),
                };
                state.unwrap_or_default()
            };
            let Some(condition) = absent else { return Some(all(this, state)) };
            let then = Block { statements: Vec::new(), results: state.clone() };
            this.context.b.push_block();
            let results = all(this, state);
            let otherwise = this.context.b.pop_block(results);
            Some(this.context.emit(Op::If { condition, then, otherwise }, span))
        }))
    }

    fn build_of_tangents(
        &mut self,
        derivatives: &LinearFunctions,
        inner: Vec<Vec<Size>>,
        types: &[Type],
        span: Span,
    ) -> Vec<Atom> {
        let size = derivatives.count(self.context, span);
        let axis = Axis { var: self.context.fresh("i", Type::I64).var, size };
        self.context.b.push_block();
        let derivative = derivatives.at(self.context, &Atom::Var(axis.var), span);
        let elements = self.pushed(&derivative, Vec::new(), span);
        let body = self.context.b.pop_block(elements);
        let types = self.cotangent_types(types);
        self.context.b.push(Op::Build { space: vec![axis], body, inner }, types, span)
    }

    /// Whether all cotangents are zeros that are known as such.
    fn all_absent(&mut self, types: &[Type], cotangents: &[Atom], span: Span) -> Option<Atom> {
        let mut all: Option<Atom> = None;
        for (ty, cotangent) in types.iter().zip(cotangents) {
            let own = self.engine.meaning.is_absent(self.context, ty, cotangent, span)?;
            all = Some(match all {
                None => own,
                Some(before) => self.context.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![before, own], span),
            });
        }
        all
    }

    /// An array with its lengths.
    pub fn whole(&mut self, array: &Atom, span: Span) -> Whole {
        let (primal, ty) = (self.primal(array), self.source_type(array));
        let dim = |axis| self.context.emit_one(Op::Dim { array: primal.clone(), axis }, span);
        let sizes = (0..ty.rank()).map(dim).collect();
        Whole { array: primal, ty, sizes }
    }

    /// An operation on whole arrays.
    pub fn view(&mut self, statement: &Statement, types: &[Type]) -> Option<LinearFunction> {
        let span = statement.span;
        // Lengths are read first, so that an update finds its array unshared.
        let mut wholes: Vec<Whole> = match &statement.op {
            Op::Index { array, .. } | Op::Slice { array, .. } | Op::Update { array, .. } | Op::Reshape { array, .. } => {
                vec![self.whole(array, span)]
            }
            Op::Concat { arrays } => arrays.iter().map(|array| self.whole(array, span)).collect(),
            _ => Vec::new(),
        };
        let mut op = statement.op.clone();
        op.for_each_atom_mut(&mut |atom| *atom = self.primal(atom));
        if let Op::ArrayLiteral { ty, .. } = &mut op {
            *ty = self.engine.meaning.primal_type(self.context, ty);
        }
        let binders = self.primal_binders(&statement.binders);
        self.push(binders, op, span);
        let ty = types.first()?.clone();
        if self.engine.direction == Direction::Forward {
            return Some(self.view_of_tangents(statement, types));
        }
        match &statement.op {
            Op::Index { array, indices } => {
                let dims: Vec<SliceDim> = indices.iter().cloned().map(SliceDim::Index).collect();
                Some(self.part(array, &wholes.pop()?, &dims, types, span))
            }
            Op::Slice { array, dims } => Some(self.part(array, &wholes.pop()?, dims, types, span)),
            Op::Update { array, dims, value } => {
                let whole = wholes.pop()?;
                Some(self.backpropagator(types, span, |this, cotangents, state| {
                    let cotangent = cotangents[0].clone();
                    let (rest, part) = this.engine.meaning.extract(this.context, &whole, dims, cotangent, span);
                    let state = this.one(state, array, rest, span);
                    this.one(state, value, part, span)
                }))
            }
            Op::ArrayLiteral { elements, .. } => Some(self.backpropagator(types, span, |this, cotangents, mut state| {
                let size = Atom::i64(elements.len() as i64);
                let rows = this.engine.meaning.elements(this.context, &ty, cotangents[0].clone(), &size, span);
                for (at, element) in elements.iter().enumerate().filter(|(_, element)| matches!(element, Atom::Var(_))) {
                    let own = this.element(&rows, &Atom::i64(at as i64), span);
                    state = this.one(state, element, own, span);
                }
                state
            })),
            Op::Concat { arrays } => Some(self.backpropagator(types, span, |this, cotangents, state| {
                this.concat(&ty, arrays, &wholes, cotangents[0].clone(), state, span)
            })),
            Op::Transpose { array, permutation } => {
                let mut inverse = vec![0; permutation.len()];
                permutation.iter().enumerate().for_each(|(to, from)| inverse[*from] = to);
                Some(self.backpropagator(types, span, |this, cotangents, state| {
                    let op = Op::Transpose { array: cotangents[0].clone(), permutation: inverse };
                    let back = this.context.emit_one(op, span);
                    this.one(state, array, back, span)
                }))
            }
            Op::Reshape { array, .. } => {
                let dims = wholes.pop()?.sizes;
                Some(self.backpropagator(types, span, |this, cotangents, state| {
                    let back = this.context.emit_one(Op::Reshape { array: cotangents[0].clone(), dims }, span);
                    this.one(state, array, back, span)
                }))
            }
            _ => None,
        }
    }

    /// The same operation on tangents.
    fn view_of_tangents(&mut self, statement: &Statement, types: &[Type]) -> LinearFunction {
        let span = statement.span;
        self.pushforward(types, span, |this| {
            let mut op = statement.op.clone();
            match &mut op {
                Op::Index { array, .. } | Op::Slice { array, .. } | Op::Transpose { array, .. } | Op::Reshape { array, .. } => {
                    *array = this.tangent(array, span);
                }
                Op::Update { array, value, .. } => {
                    *array = this.tangent(array, span);
                    *value = this.tangent(value, span);
                }
                Op::Concat { arrays } => *arrays = this.tangents_of(arrays, span),
                Op::ArrayLiteral { ty, elements, .. } => {
                    *ty = this.engine.meaning.cotangent_type(this.context, ty);
                    *elements = this.tangents_of(elements, span);
                }
                _ => {}
            }
            vec![this.context.emit_one(op, span)]
        })
    }

    /// `D(s ! i) = … (x ! i, \d. x' (the array that has d at i))`
    fn part(&mut self, array: &Atom, whole: &Whole, dims: &[SliceDim], types: &[Type], span: Span) -> LinearFunction {
        self.backpropagator(types, span, |this, cotangents, state| {
            let back = this.engine.meaning.embed(this.context, whole, dims, cotangents[0].clone(), span);
            this.one(state, array, back, span)
        })
    }

    fn concat(&mut self, ty: &Type, arrays: &[Atom], wholes: &[Whole], cotangent: Atom, mut state: State, span: Span) -> State {
        let mut starts = vec![Atom::i64(0)];
        for whole in wholes {
            let start = starts.last().cloned().unwrap_or(Atom::i64(0));
            starts.push(self.context.i64_op(BinaryOp::Add, start, whole.sizes[0].clone(), span));
        }
        let total = starts.last().cloned().unwrap_or(Atom::i64(0));
        let rows = self.engine.meaning.elements(self.context, ty, cotangent, &total, span);
        for ((array, whole), start) in arrays.iter().zip(wholes).zip(starts) {
            let dims = vec![SliceDim::Range { start, count: whole.sizes[0].clone(), stride: Atom::i64(1) }];
            let own = self.context.emit_one(Op::Slice { array: rows.clone(), dims }, span);
            let own = self.engine.meaning.gathered(self.context, ty, own, span);
            state = self.one(state, array, own, span);
        }
        state
    }
}
