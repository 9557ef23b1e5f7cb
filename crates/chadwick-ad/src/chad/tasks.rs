//! What runs side by side contributes side by side (thesis 6.7): a task has cells of its own, which are merged where it ends, in the order of the
//! program. So no cell has two owners, and sums are formed in an order that does not depend on who runs what.
//!
//! The two sides of a fork are tasks, and stretches of a long map, which is halved as often as its length allows. Loops, trees of reductions and scopes stay inside a
//! task. A task costs as many cells as there are variables in scope, which the text of the program decides.
//!
//! There are tasks enough inside a stretch of a map, so nothing forks there any more: maps and forks go on in the cells of the stretch. Whether they
//! are inside one is told by the state, and functions that are called are told by who calls them.

use super::functions::atoms;
use super::linear::LinearFunction;
use super::meaning::State;
use super::rules::Chad;
use chadwick_core::{Atom, BinaryOp, Binder, CompareOp, FunctionId, Lambda, Op, Prim, PrimOp, Type};
use chadwick_source::{Name, Span};

/// The fewest elements of a map that are a task.
const STRETCH: i64 = 32;
/// The most tasks of a map.
const TASKS: i64 = 64;

/// What one side of two does with a state.
type Side<'a, C> = &'a dyn Fn(&mut C, Vec<Atom>) -> State;

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
        let [left, right] = [0, 1].map(|at: usize| {
            move |this: &mut Self, state| this.scoped(Some(state), &backpropagators[at], cotangents[at].to_vec(), &[], span).0
        });
        let after = self.side_by_side(before, [&left, &right], span);
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

    /// Does two things side by side: the left one in the cells that are there, the right one in cells of its own.
    fn side_by_side(&mut self, before: Vec<Atom>, sides: [Side<'_, Self>; 2], span: Span) -> Vec<Atom> {
        let environment = self.environment.clone();
        let types: Vec<Type> = before.iter().map(|atom| self.context.type_of(atom).any_sizes()).collect();
        let count = before.len();
        let mut blocks = Vec::new();
        for (start, side) in [Some(before), None].into_iter().zip(sides) {
            self.context.b.push_block();
            let start = self.written_out(start, &environment, span);
            let after = side(self, start);
            let after = self.written_out(after, &environment, span);
            blocks.push(self.context.b.pop_block(after));
        }
        let (right, left) = (blocks.pop().unwrap_or_default(), blocks.pop().unwrap_or_default());
        let mut left = self.context.b.push(Op::Par { left, right }, [types.clone(), types].concat(), span);
        let right = left.split_off(count);
        let (meaning, context) = self.meaning();
        meaning.merged(context, &environment, left, right, span)
    }

    /// Calls `make` for stretches of the numbers below `size`, with the first and the count of each. They have cells of their own if there are
    /// enough of them, where things fork.
    pub fn in_stretches(
        &mut self,
        size: Atom,
        state: Vec<Atom>,
        span: Span,
        make: impl Fn(&mut Self, Atom, Atom, State) -> State,
    ) -> State {
        let context = &mut *self.context;
        let compare = PrimOp::Compare(CompareOp::Less, Prim::I64);
        let is_short = context.prim(compare, vec![size.clone(), Atom::i64(2 * STRETCH)], span);
        let or = PrimOp::Binary(BinaryOp::Or, Prim::Bool);
        let condition = context.prim(or, vec![is_short, forks_no_more(&state)], span);
        let environment = self.environment.clone();

        self.context.b.push_block();
        let after = make(self, Atom::i64(0), size.clone(), Some(state.clone()));
        let after = self.written_out(after, &environment, span);
        let then = self.context.b.pop_block(after);

        self.context.b.push_block();
        let share = self.context.i64_op(BinaryOp::Div, size.clone(), Atom::i64(TASKS), span);
        let least = self.context.i64_op(BinaryOp::Max, share, Atom::i64(STRETCH), span);
        let each = self.task(make, span);
        let function = self.stretches(self.context.type_of(&each), span);
        let args = [vec![each, Atom::i64(0), size, least], state.clone()].concat();
        let mut after = self.context.emit(Op::Call { function, args }, span);
        tell(&mut after, forks_no_more(&state));
        let otherwise = self.context.b.pop_block(after);
        Some(self.context.emit(Op::If { condition, then, otherwise }, span))
    }

    /// What is done in a stretch as a function of its first number, their count and a state. Nothing forks inside.
    fn task(&mut self, make: impl Fn(&mut Self, Atom, Atom, State) -> State, span: Span) -> Atom {
        let environment = self.environment.clone();
        let results = self.engine.meaning.state_types(self.context, &environment);
        let given = [vec![Type::I64; 2], results.clone()].concat();
        let params: Vec<Binder> = given.into_iter().map(|ty| self.context.fresh("", ty)).collect();
        let mut state = atoms(&params[2..]);
        tell(&mut state, Atom::bool(true));
        self.context.b.push_block();
        let after = make(self, Atom::Var(params[0].var), Atom::Var(params[1].var), Some(state));
        let after = self.written_out(after, &environment, span);
        let body = self.context.b.pop_block(after);
        self.context.emit_one(Op::Closure(Lambda { params, results, body }), span)
    }

    /// Emits a function that calls one of this type for stretches of the numbers from one to another: halves of halves, side by side, while they are
    /// at least so long.
    fn stretches(&mut self, each: Type, span: Span) -> FunctionId {
        let environment = self.environment.clone();
        let types = self.engine.meaning.state_types(self.context, &environment);
        let given = [vec![each, Type::I64, Type::I64, Type::I64], types.clone()].concat();
        let params: Vec<Binder> = given.into_iter().map(|ty| self.context.fresh("", ty)).collect();
        let parameters = atoms(&params);
        let function = self.context.reserve(Name::from("stretches"), params, types, span);
        let [each, from, to, least] = [0, 1, 2, 3].map(|at: usize| parameters[at].clone());
        let state = parameters[4..].to_vec();
        self.context.b.push_block();
        let count = self.context.i64_op(BinaryOp::Sub, to.clone(), from.clone(), span);
        let half = self.context.i64_op(BinaryOp::Div, count.clone(), Atom::i64(2), span);
        let middle = self.context.i64_op(BinaryOp::Add, from.clone(), half.clone(), span);
        let condition = self.context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![half, least.clone()], span);
        let args = [vec![from.clone(), count], state.clone()].concat();
        let then = self.context.block(|context| context.emit(Op::Apply { function: each.clone(), args }, span));
        self.context.b.push_block();
        let [left, right] = [(from, middle.clone()), (middle, to)].map(|(from, to)| {
            let given = vec![each.clone(), from, to, least.clone()];
            move |this: &mut Self, state| {
                let args = [given.clone(), state].concat();
                Some(this.context.emit(Op::Call { function, args }, span))
            }
        });
        let after = self.side_by_side(state, [&left, &right], span);
        let otherwise = self.context.b.pop_block(after);
        let results = self.context.emit(Op::If { condition, then, otherwise }, span);
        let body = self.context.b.pop_block(results);
        self.context.b.program_mut().functions[function.0 as usize].body = body;
        function
    }
}
