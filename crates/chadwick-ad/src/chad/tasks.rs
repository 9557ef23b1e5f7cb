//! What runs side by side contributes side by side (thesis 6.7): a task has cells of its own, which are merged where it ends, in the order of the
//! program. So no cell has two owners, and sums are formed in an order that does not depend on who runs what.
//!
//! The two sides of a fork are tasks, and stretches of a long map, cut by its length. Loops, trees of reductions and scopes stay inside a
//! task. A task costs as many cells as there are variables in scope, which the text of the program decides.
//!
//! There are tasks enough inside a stretch of a map, so nothing forks there any more: maps and forks go on in the cells of the stretch. Whether they
//! are inside one is told by the state, and functions that are called are told by who calls them.

use super::linear::LinearFunction;
use super::meaning::State;
use super::rules::Chad;
use crate::context::boxed;
use chadwick_core::{Arm, Atom, Axis, BinaryOp, Block, CompareOp, Op, Prim, PrimOp, Type};
use chadwick_source::Span;

/// The fewest elements of a map that are a task.
const STRETCH: i64 = 32;
/// The most tasks of a map.
const TASKS: i64 = 64;

/// Whether nothing forks any more, as a state says.
fn forks_no_more(state: &[Atom]) -> Atom {
    state.last().cloned().unwrap_or(Atom::bool(true))
}

/// Lets a state say that.
pub fn tell(state: &mut [Atom], forks_no_more: Atom) {
    if let Some(last) = state.last_mut() {
        *last = forks_no_more;
    }
}

impl Chad<'_, '_> {
    /// What a called function is told of the state around it: whether nothing forks there any more.
    pub fn told(&self, state: &State) -> Vec<Atom> {
        let said = state.as_deref().map(forks_no_more);
        said.filter(|_| self.engine.meaning.has_tasks()).into_iter().collect()
    }

    /// Calls the backpropagators of both sides of a fork, side by side where things fork.
    pub fn both_sides(
        &mut self,
        state: State,
        backpropagators: &[LinearFunction],
        cotangents: [&[Atom]; 2],
        span: Span,
    ) -> State {
        let environment = self.environment.clone();
        let before = self.written_out(state, &environment, span);
        let condition = forks_no_more(&before);
        self.context.b.push_block();
        let after = self.one_by_one(Some(before.clone()), backpropagators, cotangents, span);
        let after = self.written_out(after, &environment, span);
        let then = self.context.b.pop_block(after);
        self.context.b.push_block();
        let after = self.side_by_side(before, backpropagators, cotangents, span);
        let otherwise = self.context.b.pop_block(after);
        Some(self.context.emit(Op::If { condition, then, otherwise }, span))
    }

    pub fn one_by_one(
        &mut self,
        state: State,
        backpropagators: &[LinearFunction],
        cotangents: [&[Atom]; 2],
        span: Span,
    ) -> State {
        let calls = backpropagators.iter().zip(cotangents);
        calls.fold(state, |state, (backpropagator, own)| self.scoped(state, backpropagator, own.to_vec(), &[], span).0)
    }

    /// The right side has cells of its own.
    fn side_by_side(
        &mut self,
        before: Vec<Atom>,
        backpropagators: &[LinearFunction],
        cotangents: [&[Atom]; 2],
        span: Span,
    ) -> Vec<Atom> {
        let environment = self.environment.clone();
        let mut sides = Vec::new();
        for ((backpropagator, own), is_left) in backpropagators.iter().zip(cotangents).zip([true, false]) {
            self.context.b.push_block();
            let start = if is_left { before.clone() } else { self.written_out(None, &environment, span) };
            let (state, _) = self.scoped(Some(start), backpropagator, own.to_vec(), &[], span);
            let results = self.written_out(state, &environment, span);
            sides.push(self.context.b.pop_block(results));
        }
        let (right, left) = (sides.pop().unwrap_or_default(), sides.pop().unwrap_or_default());
        let types: Vec<Type> = before.iter().map(|atom| self.context.type_of(atom)).collect();
        let mut left = self.context.b.push(Op::Par { left, right }, [types.clone(), types].concat(), span);
        let right = left.split_off(before.len());
        let (meaning, context) = self.meaning();
        meaning.merged(context, &environment, left, right, span)
    }

    /// Calls `make` for stretches of the numbers below `size`, with the first and the count of each. They have cells of their own if there are
    /// enough of them, and not tasks enough.
    pub fn in_stretches(
        &mut self,
        size: Atom,
        state: Vec<Atom>,
        span: Span,
        make: impl Fn(&mut Self, Atom, Atom, State) -> State,
    ) -> State {
        let context = &mut *self.context;
        let rounded = context.i64_op(BinaryOp::Add, size.clone(), Atom::i64(STRETCH - 1), span);
        let full = context.i64_op(BinaryOp::Div, rounded, Atom::i64(STRETCH), span);
        let tasks = context.i64_op(BinaryOp::Min, full, Atom::i64(TASKS), span);
        let compare = PrimOp::Compare(CompareOp::LessEqual, Prim::I64);
        let is_short = context.prim(compare, vec![tasks.clone(), Atom::i64(1)], span);
        let or = PrimOp::Binary(BinaryOp::Or, Prim::Bool);
        let condition = context.prim(or, vec![is_short, forks_no_more(&state)], span);
        let environment = self.environment.clone();

        self.context.b.push_block();
        let one = make(self, Atom::i64(0), size.clone(), Some(state.clone()));
        let one = self.written_out(one, &environment, span);
        let then = self.context.b.pop_block(one);

        self.context.b.push_block();
        let boxes = self.stretches(&size, &tasks, span, &make);
        let (merged, _) = self.contributing_loop(tasks, Some(state), Vec::new(), span, |this, at, state, _| {
            let state = this.written_out(state, &environment, span);
            let own = this.unboxed(&boxes, &at, &state, span);
            let (meaning, context) = this.meaning();
            (Some(meaning.merged(context, &environment, state, own, span)), Vec::new())
        });
        let merged = self.written_out(merged, &environment, span);
        let otherwise = self.context.b.pop_block(merged);
        Some(self.context.emit(Op::If { condition, then, otherwise }, span))
    }

    /// What each stretch contributes, in boxes: one may have made more room than another.
    fn stretches(
        &mut self,
        size: &Atom,
        tasks: &Atom,
        span: Span,
        make: &impl Fn(&mut Self, Atom, Atom, State) -> State,
    ) -> Vec<Atom> {
        let environment = self.environment.clone();
        let task = self.context.fresh("task", Type::I64);
        self.context.b.push_block();
        let mut ends = Vec::new();
        for more in [0, 1] {
            let number = self.context.i64_op(BinaryOp::Add, Atom::Var(task.var), Atom::i64(more), span);
            let part = self.context.i64_op(BinaryOp::Mul, number, size.clone(), span);
            ends.push(self.context.i64_op(BinaryOp::Div, part, tasks.clone(), span));
        }
        let (end, start) = (ends.pop().unwrap_or(Atom::i64(0)), ends.pop().unwrap_or(Atom::i64(0)));
        let count = self.context.i64_op(BinaryOp::Sub, end, start.clone(), span);
        let mut empty = self.written_out(None, &environment, span);
        tell(&mut empty, Atom::bool(true));
        let own = make(self, start, count, Some(empty));
        let mut cells = self.written_out(own, &environment, span);
        cells.pop();
        let mut results = Vec::new();
        for state in cells {
            let ty = boxed(self.context.type_of(&state).any_sizes());
            results.extend(self.context.construct(&ty, 0, vec![state], span));
        }
        let inner = vec![Vec::new(); results.len()];
        let body = self.context.b.pop_block(results);
        let space = vec![Axis { var: task.var, size: tasks.clone() }];
        self.context.emit(Op::Build { space, body, inner }, span)
    }

    fn unboxed(&mut self, boxes: &[Atom], at: &Atom, like: &[Atom], span: Span) -> Vec<Atom> {
        let mut found = Vec::new();
        for (boxes, like) in boxes.iter().zip(like) {
            let own = self.element(boxes, at, span);
            let binder = self.context.fresh("d", self.context.type_of(like).any_sizes());
            let body = Block { statements: Vec::new(), results: vec![Atom::Var(binder.var)] };
            let arms = vec![Arm { tag: 0, binders: vec![binder], body }];
            found.extend(self.context.emit(Op::Match { scrutinee: own, arms, otherwise: None }, span));
        }
        found
    }
}
