//! Choices, loops, pairs of blocks; and which forms are written in simpler ones first.

use super::Direction;
use super::linear::{LinearFunction, LinearFunctions};
use super::meaning::{Field, has_cotangent};
use super::rules::Chad;
use crate::context::with_axis;
use crate::flow::uses_rule;
use chadwick_core::{Arm, Atom, Axis, BinaryOp, Binder, Block, Custom, Loop, LoopForm, Op, Prim, PrimOp, Size, Statement, Type};
use chadwick_source::Span;

impl Chad<'_, '_> {
    /// The statement in forms that have rules: an operator is applied in a loop, a build has one axis.
    pub fn in_simpler_forms(&mut self, statement: &Statement) -> Option<Vec<Statement>> {
        let span = statement.span;
        let mut made = Vec::new();
        let simpler = match &statement.op {
            Op::Scan { axis, op, neutral, body } => {
                self.context.fold_loop(statement, std::slice::from_ref(axis), op, neutral, body, true, &mut made, span)
            }
            Op::Hist { space, dest, rank, op, body, .. } => {
                self.context.write_loop(statement, space, dest, *rank, Some(op), body, &mut made, span)
            }
            Op::Scatter { space, dest, rank, body } => {
                self.context.write_loop(statement, space, dest, *rank, None, body, &mut made, span)
            }
            Op::Build { space, body, inner } => match space.as_slice() {
                [] => inlined(statement, body),
                [_] => return None,
                [first, rest @ ..] => vec![self.nested_build(statement, first, rest, body, inner, &mut made)],
            },
            Op::Transpose { array, permutation } if !self.engine.meaning.has_views() => {
                self.transpose_build(statement, array, permutation)
            }
            Op::Reshape { array, dims } if !self.engine.meaning.has_views() => self.reshape_build(statement, array, dims),
            Op::Custom(custom) if !self.goes_by_rule(custom) => {
                let params = custom.function.params.iter().zip(&custom.args);
                let bind = |(param, arg): (&Binder, &Atom)| Statement {
                    binders: vec![param.clone()],
                    op: Op::Copy(vec![arg.clone()]),
                    span,
                };
                let skip = custom.kind.tape();
                let results = custom.function.body.results.get(skip..).unwrap_or_default().to_vec();
                let body = Block { statements: custom.function.body.statements.clone(), results };
                [params.map(bind).collect(), inlined(statement, &body)].concat()
            }
            _ => return None,
        };
        made.iter().for_each(|binder| self.mark(binder));
        Some(simpler)
    }

    fn goes_by_rule(&self, custom: &Custom) -> bool {
        uses_rule(custom, self.engine.direction == Direction::Reverse) && self.engine.meaning.uses_rules()
    }

    fn nested_build(
        &mut self,
        statement: &Statement,
        first: &Axis,
        rest: &[Axis],
        body: &Block,
        inner: &[Vec<Size>],
        made: &mut Vec<Binder>,
    ) -> Statement {
        let span = statement.span;
        let mut rows = Vec::new();
        for binder in &statement.binders {
            let row = self.context.fresh("", binder.ty.peel(1).unwrap_or(Type::BOOL).any_sizes());
            if self.is_active(binder) {
                made.push(row.clone());
            }
            rows.push(row);
        }
        let results = rows.iter().map(|row| Atom::Var(row.var)).collect();
        let op = Op::Build { space: rest.to_vec(), body: body.clone(), inner: inner.to_vec() };
        let body = Block { statements: vec![Statement { binders: rows, op, span }], results };
        let sizes: Vec<Size> = rest.iter().map(|axis| Size::Known(axis.size.clone())).collect();
        let inner = inner.iter().map(|inner| match inner.is_empty() {
            // Sizes that are not stated are taken from the value, all of them.
            true => Vec::new(),
            false => [sizes.clone(), inner.clone()].concat(),
        });
        let mut inner: Vec<Vec<Size>> = inner.collect();
        for (sizes_of, binder) in inner.iter_mut().zip(&statement.binders) {
            if sizes_of.is_empty() && binder.ty.rank() == rest.len() + 1 {
                sizes_of.clone_from(&sizes);
            }
        }
        let op = Op::Build { space: vec![first.clone()], body, inner };
        Statement { binders: statement.binders.clone(), op, span }
    }

    /// A build that reads each element at its place.
    fn transpose_build(&mut self, statement: &Statement, array: &Atom, permutation: &[usize]) -> Vec<Statement> {
        let span = statement.span;
        self.context.b.push_block();
        let space: Vec<Axis> = permutation
            .iter()
            .map(|axis| {
                let size = self.context.emit_one(Op::Dim { array: array.clone(), axis: *axis }, span);
                Axis { var: self.context.fresh("i", Type::I64).var, size }
            })
            .collect();
        let mut indices = vec![Atom::i64(0); permutation.len()];
        for (axis, from) in space.iter().zip(permutation) {
            indices[*from] = Atom::Var(axis.var);
        }
        let before = self.context.b.pop_block(Vec::new()).statements;
        self.element_build(statement, array, space, before, Vec::new(), indices)
    }

    /// The same where elements keep their order and get other indices.
    fn reshape_build(&mut self, statement: &Statement, array: &Atom, dims: &[Atom]) -> Vec<Statement> {
        let span = statement.span;
        let rank = self.source_type(array).rank();
        self.context.b.push_block();
        // The reshape itself checks that the numbers of elements agree.
        let checked = self.context.b.push(statement.op.clone(), statement.binders.iter().map(|it| it.ty.clone()).collect(), span);
        let sizes: Vec<Atom> =
            (0..rank).map(|axis| self.context.emit_one(Op::Dim { array: array.clone(), axis }, span)).collect();
        let space: Vec<Axis> = (0..dims.len())
            .map(|axis| {
                let size = self.context.emit_one(Op::Dim { array: checked[0].clone(), axis }, span);
                Axis { var: self.context.fresh("i", Type::I64).var, size }
            })
            .collect();
        let before = self.context.b.pop_block(Vec::new()).statements;
        self.context.b.push_block();
        let mut flat = Atom::i64(0);
        for axis in &space {
            let rows = self.context.i64_op(BinaryOp::Mul, flat, axis.size.clone(), span);
            flat = self.context.i64_op(BinaryOp::Add, rows, Atom::Var(axis.var), span);
        }
        let mut indices = Vec::new();
        for size in sizes.iter().rev() {
            indices.push(self.context.prim(PrimOp::Binary(BinaryOp::Mod, Prim::I64), vec![flat.clone(), size.clone()], span));
            flat = self.context.prim(PrimOp::Binary(BinaryOp::Div, Prim::I64), vec![flat, size.clone()], span);
        }
        indices.reverse();
        let inside = self.context.b.pop_block(Vec::new()).statements;
        self.element_build(statement, array, space, before, inside, indices)
    }

    fn element_build(
        &mut self,
        statement: &Statement,
        array: &Atom,
        space: Vec<Axis>,
        mut before: Vec<Statement>,
        mut inside: Vec<Statement>,
        indices: Vec<Atom>,
    ) -> Vec<Statement> {
        let span = statement.span;
        let element = self.source_type(array).peel(indices.len()).unwrap_or(Type::BOOL);
        let element = self.context.fresh("", element);
        self.mark(&element);
        let results = vec![Atom::Var(element.var)];
        inside.push(Statement { binders: vec![element], op: Op::Index { array: array.clone(), indices }, span });
        let body = Block { statements: inside, results };
        let op = Op::Build { space, body, inner: vec![Vec::new()] };
        before.push(Statement { binders: statement.binders.clone(), op, span });
        before
    }

    /// `D(case s of {inl x → t; …}) = let (u, u') = D(s) in case u of inl x → let (v, v') = D(t) in (v, \d. let (dΓ, dx) = v' d in dΓ + u' (inl dx)); …`,
    /// and forwards `(v, \t. v' (t, cast (u' t)))`
    pub fn match_statement(
        &mut self,
        statement: &Statement,
        active: &[Binder],
        scrutinee: &Atom,
        arms: &[Arm],
        otherwise: Option<&Block>,
    ) -> Option<LinearFunction> {
        let span = statement.span;
        let flags = self.flags(&statement.binders);
        let types: Vec<Type> = active.iter().map(|binder| binder.ty.clone()).collect();
        let ty = self.source_type(scrutinee);
        let mut made = Vec::new();
        for arm in arms {
            let binders = self.primal_binders(&arm.binders);
            let has_one = |binder: &&Binder| self.has_place(scrutinee) && has_cotangent(self.context, &binder.ty);
            let inside: Vec<Binder> = arm.binders.iter().filter(has_one).cloned().collect();
            self.context.b.push_block();
            let (mut results, mut derivative) = self.block(&arm.body, &inside, &flags, span);
            if !inside.is_empty() {
                let (variables, inner) = (self.variables(&inside), derivative);
                let field = |(binder, primal): (&Binder, &Binder)| Field { primal: Atom::Var(primal.var), ty: binder.ty.clone() };
                let fields: Vec<Field> = arm.binders.iter().zip(&binders).map(field).collect();
                derivative = match self.engine.direction {
                    Direction::Reverse => self.backpropagator(&types, span, |this, cotangents, state| {
                        let (state, parts) = this.scoped(state, &inner, cotangents.to_vec(), &variables, span);
                        let mut parts = parts.into_iter();
                        let mut given = Vec::new();
                        for field in fields {
                            let part = if has_cotangent(this.context, &field.ty) { parts.next() } else { None };
                            given.push((field, part));
                        }
                        let cotangent = this.engine.meaning.inject(this.context, &ty, arm.tag, &given, span);
                        this.one(state, scrutinee, cotangent, span)
                    }),
                    Direction::Forward => self.pushforward(&types, span, |this| {
                        let whole = this.tangent(scrutinee, span);
                        let parts = this.engine.meaning.payload(this.context, &ty, arm.tag, &whole, &fields, span);
                        let own = fields.iter().zip(parts).filter(|(field, _)| has_cotangent(this.context, &field.ty));
                        let own = own.filter_map(|(_, part)| part).collect();
                        this.pushed(&inner, own, span)
                    }),
                };
            }
            results.push(derivative.into_value());
            let body = self.context.b.pop_block(results);
            made.push(Arm { tag: arm.tag, binders, body });
        }
        let otherwise = otherwise.map(|block| self.block_with_derivative(block, &[], &flags, span));
        let op = Op::Match { scrutinee: self.primal(scrutinee), arms: made, otherwise };
        self.push_with_derivative(statement, active, op)
    }

    /// Iterations leave their derivatives in an array, which is gone through backwards, or forwards.
    pub fn loop_statement(&mut self, statement: &Statement, parts: &Loop, types: &[Type]) -> Option<LinearFunction> {
        let span = statement.span;
        let count = parts.carry.len();
        let (last, rest) = statement.binders.split_at(count.min(statement.binders.len()));
        let (counter, emitted) = rest.split_at(usize::from(parts.counted).min(rest.len()));
        let carried: Vec<bool> =
            parts.carry.iter().zip(last).map(|(carry, last)| self.is_active(carry) || self.is_active(last)).collect();
        let emit_flags = self.flags(emitted);
        let inside: Vec<Binder> =
            parts.carry.iter().zip(&carried).filter(|(_, carried)| **carried).map(|(carry, _)| carry.clone()).collect();
        let initial = self.primals(&parts.initial);
        let carry = self.primal_binders(&parts.carry);
        let form = match &parts.form {
            LoopForm::For { .. } => parts.form.clone(),
            LoopForm::While { condition } => LoopForm::While { condition: self.plain_block(condition) },
        };
        let wanted = [carried.clone(), emit_flags.clone()].concat();
        let body = self.block_with_derivative(&parts.body, &inside, &wanted, span);
        let emits = [parts.emits.clone(), vec![Vec::new()]].concat();
        let variables = self.variables(&inside);
        let mut given: Vec<Type> = inside.iter().map(|binder| binder.ty.clone()).collect();
        let emitted_types = emitted.iter().zip(&emit_flags).filter(|(_, flag)| **flag).map(|(it, _)| it.ty.clone());
        let emitted_types: Vec<Type> = emitted_types.collect();
        given.extend(emitted_types.iter().map(|ty| ty.peel(1).unwrap_or(Type::BOOL)));
        let environment = [self.environment.clone(), variables.clone()].concat();
        let ty = self.derivative_type(&given, &environment);
        let (kept, derivatives) = self.bound_array(ty);
        let lasts = self.primal_binders(last);
        let emitted = self.primal_binders(emitted);
        let binders = [lasts.clone(), counter.to_vec(), emitted, vec![kept]].concat();
        let hints = parts.hints.clone();
        let made = Loop { carry, initial, form, body, emits, counted: parts.counted, hints };
        self.push(binders, Op::Loop(Box::new(made)), span);
        if self.engine.direction == Direction::Forward {
            let active_lasts: Vec<bool> =
                last.iter().zip(&carried).filter(|(_, carried)| **carried).map(|(last, _)| self.is_active(last)).collect();
            let initial = parts.initial.iter().zip(&carried).filter(|(_, carried)| **carried);
            let initial: Vec<Atom> = initial.map(|(initial, _)| initial.clone()).collect();
            let emits = parts.emits.iter().zip(&emit_flags).filter(|(_, flag)| **flag).map(|(sizes, _)| sizes.clone()).collect();
            return Some(self.pushforward(types, span, |this| {
                let (last, emitted) = this.pushing_loop(&derivatives, &initial, emits, span);
                let last = last.into_iter().zip(active_lasts).filter(|(_, is_active)| *is_active).map(|(last, _)| last);
                last.chain(emitted).collect()
            }));
        }
        Some(self.backpropagator(types, span, |this, cotangents, state| {
            let size = derivatives.count(this.context, span);
            let mut cotangents = cotangents.iter().cloned();
            let mut start = Vec::new();
            for ((binder, primal), _) in last.iter().zip(&lasts).zip(&carried).filter(|(_, carried)| **carried) {
                let own = if this.is_active(binder) { cotangents.next() } else { None };
                start.push(match own {
                    Some(own) => own,
                    None => this.engine.meaning.zero(this.context, &Atom::Var(primal.var), &binder.ty, span),
                });
            }
            let mut rows = Vec::new();
            for (ty, cotangent) in emitted_types.iter().zip(cotangents) {
                rows.push(this.engine.meaning.elements(this.context, ty, cotangent, &size, span));
            }
            let before = this.context.i64_op(BinaryOp::Sub, size.clone(), Atom::i64(1), span);
            let (mut state, carried_back) = this.contributing_loop(size, state, start, span, |this, index, state, carried| {
                let at = this.context.i64_op(BinaryOp::Sub, before, index, span);
                let mut args = carried.to_vec();
                args.extend(rows.iter().map(|rows| this.element(rows, &at, span)).collect::<Vec<Atom>>());
                let backpropagator = derivatives.at(this.context, &at, span);
                this.scoped(state, &backpropagator, args, &variables, span)
            });
            let from = parts.initial.iter().zip(&carried).filter(|(_, carried)| **carried);
            for ((initial, _), cotangent) in from.zip(carried_back) {
                state = this.one(state, initial, cotangent, span);
            }
            state
        }))
    }

    /// A loop that calls one derivative after the other, on the tangents of what is carried; gives those at the end, and those emitted.
    fn pushing_loop(
        &mut self,
        derivatives: &LinearFunctions,
        initial: &[Atom],
        emits: Vec<Vec<Size>>,
        span: Span,
    ) -> (Vec<Atom>, Vec<Atom>) {
        let bound = derivatives.count(self.context, span);
        let start = self.tangents_of(initial, span);
        let types: Vec<Type> = start.iter().map(|atom| self.context.type_of(atom).any_sizes()).collect();
        let carry: Vec<Binder> = types.iter().map(|ty| self.context.fresh("t", ty.clone())).collect();
        let index = self.context.fresh("i", Type::I64);
        self.context.b.push_block();
        let derivative = derivatives.at(self.context, &Atom::Var(index.var), span);
        let carried = carry.iter().map(|binder| Atom::Var(binder.var)).collect();
        let next = self.pushed(&derivative, carried, span);
        let emitted = next.iter().skip(carry.len()).map(|atom| with_axis(&self.context.type_of(atom)));
        let types = [types, emitted.collect()].concat();
        let body = self.context.b.pop_block(next);
        let form = LoopForm::For { index, bound };
        let count = carry.len();
        let parts = Loop { carry, initial: start, form, body, emits, counted: false, hints: Default::default() };
        let mut last = self.context.b.push(Op::Loop(Box::new(parts)), types, span);
        let emitted = last.split_off(count);
        (last, emitted)
    }

    pub fn element(&mut self, array: &Atom, at: &Atom, span: Span) -> Atom {
        self.context.emit_one(Op::Index { array: array.clone(), indices: vec![at.clone()] }, span)
    }

    pub fn par(&mut self, statement: &Statement, left: &Block, right: &Block) -> Option<LinearFunction> {
        let span = statement.span;
        let flags = self.flags(&statement.binders);
        let at = left.results.len().min(flags.len());
        let halves = [(left, &flags[..at], &statement.binders[..at]), (right, &flags[at..], &statement.binders[at..])];
        let (mut blocks, mut binders, mut derivatives) = (Vec::new(), Vec::new(), Vec::new());
        let mut counts = Vec::new();
        for (block, flags, own) in halves {
            blocks.push(self.block_with_derivative(block, &[], flags, span));
            let types: Vec<Type> = own.iter().zip(flags).filter(|(_, flag)| **flag).map(|(it, _)| it.ty.clone()).collect();
            let environment = self.environment.clone();
            let ty = self.derivative_type(&types, &environment);
            let (kept, derivative) = self.bound(&ty);
            binders.extend(self.primal_binders(own));
            binders.push(kept);
            derivatives.push(derivative);
            counts.push(types);
        }
        let (right, left) = (blocks.pop().unwrap_or_default(), blocks.pop().unwrap_or_default());
        self.push(binders, Op::Par { left, right }, span);
        Some(match self.engine.direction {
            Direction::Reverse => self.backpropagator(&counts.concat(), span, |this, cotangents, state| {
                let (left, right) = cotangents.split_at(counts[0].len());
                match this.engine.meaning.has_tasks() {
                    true => this.both_sides(state, &derivatives, [left, right], span),
                    false => this.one_by_one(state, &derivatives, [left, right], span),
                }
            }),
            Direction::Forward => self.pushforward(&counts.concat(), span, |this| {
                derivatives.iter().flat_map(|derivative| this.pushed(derivative, Vec::new(), span)).collect()
            }),
        })
    }

    /// The value without a derivative, and a derivative that runs the block again: `(fst D[t], snd D[t])`.
    pub fn recompute(&mut self, statement: &Statement, block: &Block, types: &[Type]) -> Option<LinearFunction> {
        let span = statement.span;
        let flags = self.flags(&statement.binders);
        let (again, replacements) = self.context.copy_block_with(block, []);
        self.follow(&replacements);
        let block = self.plain_block(block);
        let binders = self.primal_binders(&statement.binders);
        self.push(binders, Op::Recompute(block), span);
        Some(match self.engine.direction {
            Direction::Reverse => self.backpropagator(types, span, |this, cotangents, state| {
                let (_, backpropagator) = this.block(&again, &[], &flags, span);
                this.scoped(state, &backpropagator, cotangents.to_vec(), &[], span).0
            }),
            Direction::Forward => self.pushforward(types, span, |this| {
                let (_, derivative) = this.block(&again, &[], &flags, span);
                this.pushed(&derivative, Vec::new(), span)
            }),
        })
    }
}

/// The statements of a block, and its results under the names of the statement's.
fn inlined(statement: &Statement, block: &Block) -> Vec<Statement> {
    let op = Op::Copy(block.results.clone());
    let last = Statement { binders: statement.binders.clone(), op, span: statement.span };
    [block.statements.clone(), vec![last]].concat()
}
