//! The derivative of a fold with a closed step (Smeding, section 4.7): the states are kept, and a walk in the other direction carries the cotangent
//! of the state and gives the cotangents of the rows.
//!
//! Arrays that cannot walk fold instead, and keep all cotangents of states; those of the rows are then an operation on whole arrays.

use super::algebra::Algebra;
use super::delta::FoldDelta;
use super::program::Program;
use super::reverse::Sharing;
use super::staged::Staged;
use super::term::{
    Elementwise, Name, Names, Reads, Step, Tree, bind, build, elementwise, index, index_var, substitute, var, var_like,
    with_extent,
};
use chadwick_core::{Atom, BinaryOp, PrimOp};
use std::rc::Rc;

/// A step the other way round.
pub(super) struct ReverseStep {
    /// From the cotangent of the state after, and the state before, the rows, and the cotangent that the state before has otherwise, to the
    /// whole cotangent of that state.
    step: Rc<Step>,
    /// The variables of the state before, of the rows, and of the cotangent of the state after; and the cotangent of each row.
    inputs: Vec<(Name, Tree)>,
    rows: Vec<Tree>,
    names: Names,
}

impl ReverseStep {
    pub fn of(step: &Step, can_walk: bool) -> ReverseStep {
        let names = step.names.clone();
        let state = (step.state, var_like(step.state, &step.body));
        let inputs = [vec![state], step.rows.clone()].concat();
        let program = Program { names: names.clone(), inputs, bindings: Vec::new(), results: vec![Rc::clone(&step.body)] };
        let staged = if can_walk { Staged::new(&names) } else { Staged::without_walks(&names) };
        let gradient = program.without_builds().simplified().gradient_by(&staged, Sharing::default()).simplified();
        let closed = |tree: &Tree| {
            let bound = |body, (name, value): &(Name, Tree)| bind(*name, Rc::clone(value), body);
            match can_walk {
                true => Rc::clone(tree),
                false => gradient.bindings.iter().rev().fold(Rc::clone(tree), bound),
            }
        };
        let mut results = gradient.results.iter().skip(1).map(closed);
        let of_state = results.next().unwrap_or_else(|| Rc::clone(&step.body));
        let otherwise = names.fresh();
        let add = Elementwise::Prim(PrimOp::Binary(BinaryOp::Add, of_state.prim));
        let body = elementwise(add, vec![var_like(otherwise, &of_state), Rc::clone(&of_state)]);
        let mut inputs = gradient.inputs.clone();
        let after = inputs.last().map_or(step.state, |(name, _)| *name);
        let seed = inputs.pop();
        let rows = [inputs.clone(), vec![(otherwise, var_like(otherwise, &of_state))]].concat();
        let of_rows: Vec<Tree> = results.collect();
        let (bindings, gives) = if can_walk { (gradient.bindings, of_rows.clone()) } else { (Vec::new(), Vec::new()) };
        let is_backward = !step.is_backward;
        let reverse = Step { names: names.clone(), state: after, rows, bindings, body, gives, is_backward };
        inputs.extend(seed);
        ReverseStep { step: Rc::new(reverse), inputs, rows: of_rows, names }
    }

    /// The cotangents of the first state and of the arrays, for one of all states.
    pub fn run<A: Algebra>(
        &self,
        algebra: &A,
        shape: &[Atom],
        fold: &FoldDelta<A>,
        cotangent: A::Array,
    ) -> (A::Array, Vec<A::Array>) {
        let count = fold.arrays.first().and_then(|array| algebra.shape(&array.primal).first().cloned()).unwrap_or(Atom::i64(0));
        let Some((states, rest)) = shape.split_first() else { return (cotangent, Vec::new()) };
        let was_forward = !fold.step.is_backward;
        let last = algebra.extent(&count);
        let (first, end) = if was_forward { (algebra.integer(0), last) } else { (last, algebra.integer(0)) };
        let cotangent = algebra.share(cotangent);
        // The rows next to each state: before the step in the direction of the function, and after it.
        let beside = |array: &A::Array, is_after: bool| {
            let offset = i64::from(is_after == was_forward);
            let place = &mut |i: &[A::Array]| vec![algebra.add(i[0].clone(), algebra.integer(offset))];
            let function = algebra.function(std::slice::from_ref(&count), place);
            let shape = with_extent(count.clone(), rest);
            algebra.share(algebra.gather(&shape, array.clone(), &function, &Reads::InRange))
        };
        let before = beside(&fold.states, false);
        let arrays: Vec<A::Array> = fold.arrays.iter().map(|array| array.primal.clone()).collect();
        let rows = [vec![before.clone()], arrays.clone(), vec![beside(&cotangent, false)]].concat();
        let init = algebra.index(cotangent, vec![end], &Reads::InRange);
        if algebra.can_walk() {
            return algebra.walk(&self.step, init, rows);
        }
        let all = algebra.share(algebra.fold(states, &self.step, init, rows));
        let of_init = algebra.index(all.clone(), vec![first], &Reads::InRange);
        let inputs = [vec![before], arrays, vec![beside(&all, true)]].concat();
        (of_init, self.of_rows(&count).run(algebra, &inputs))
    }

    /// The cotangents of all rows, from all states before and all cotangents of states after.
    fn of_rows(&self, count: &Atom) -> Program {
        let names = &self.names;
        let many = |(_, like): &(Name, Tree)| {
            let name = names.fresh();
            (name, var(name, like.prim, with_extent(count.clone(), &like.shape)))
        };
        let inputs: Vec<(Name, Tree)> = self.inputs.iter().map(many).collect();
        let all = |row: &Tree| {
            let at = names.fresh();
            let element = |row, ((name, _), (_, array)): (&(Name, Tree), &(Name, Tree))| {
                substitute(&row, *name, &index(Rc::clone(array), vec![index_var(at)], Reads::InRange))
            };
            let row = self.inputs.iter().zip(&inputs).fold(Rc::clone(row), element);
            build(count.clone(), at, row)
        };
        let results = self.rows.iter().map(all).collect();
        Program { names: names.clone(), inputs, bindings: Vec::new(), results }.without_builds().simplified()
    }
}
