//! Reductions, scans and loops that are no sums: the greatest and the least, and folds with a closed step.

use super::super::term::{
    Elementwise, IndexFunction, Reads, Step, Term, Tree, bind, elementwise, fold, gather, index, index_var, integer, iota,
    reduce_outer, reshape, stack, transpose, var, var_like, with_extent,
};
use super::Converter;
use super::closing::OpenStep;
use chadwick_core::{Atom, Axis, BinaryOp, Binder, Block, Lambda, Loop, LoopForm, Op, Prim, PrimOp, Var};
use chadwick_source::Span;
use std::rc::Rc;

/// The operator of a reduction that is `Max` or `Min` of numbers.
pub(super) fn extreme(op: &Lambda) -> Option<BinaryOp> {
    let ([left, right], [statement]) = (op.params.as_slice(), op.body.statements.as_slice()) else { return None };
    let (Op::Prim(PrimOp::Binary(which @ (BinaryOp::Max | BinaryOp::Min), _), args), [result]) =
        (&statement.op, statement.binders.as_slice())
    else {
        return None;
    };
    let is_operator = *args == [Atom::Var(left.var), Atom::Var(right.var)] && op.body.results == [Atom::Var(result.var)];
    is_operator.then_some(*which)
}

/// What a fold carries: one array, or several of one shape as rows of one.
struct Carried {
    count: usize,
}

impl Carried {
    fn packed(&self, mut parts: Vec<Tree>) -> Option<Tree> {
        match self.count {
            1 => parts.pop(),
            _ => Some(stack(parts)),
        }
    }

    fn parts(&self, state: &Tree) -> Vec<Tree> {
        match self.count {
            1 => vec![Rc::clone(state)],
            count => {
                let part = |at| index(Rc::clone(state), vec![integer(Atom::i64(at as i64))], Reads::InRange);
                (0..count).map(part).collect()
            }
        }
    }
}

/// What became of a fold.
struct Folded {
    carried: Carried,
    states: Tree,
    /// What its step gives for each row.
    emitted: Vec<Tree>,
}

impl Converter<'_, '_, '_> {
    /// Over the last axis first, so that of several that are greatest the first is chosen.
    pub(super) fn extreme(&mut self, op: BinaryOp, space: &[Axis], neutral: &[Atom], body: &Block, span: Span) -> Option<Tree> {
        let mut tree = self.build(space, body, span)?.pop()?;
        for axis in (0..space.len()).rev() {
            let permutation: Vec<usize> = std::iter::once(axis).chain(0..axis).collect();
            tree = reduce_outer(op, transpose(&permutation, tree));
        }
        let neutral = self.atom(neutral.first()?, span)?;
        Some(elementwise(Elementwise::Prim(PrimOp::Binary(op, tree.prim)), vec![neutral, tree]))
    }

    /// The last state of a fold with the operator.
    pub(super) fn reduction(
        &mut self,
        (space, op): (&[Axis], &Lambda),
        neutral: &[Atom],
        body: &Block,
        span: Span,
    ) -> Option<Vec<Tree>> {
        let mut arrays = self.build(space, body, span)?;
        if arrays.is_empty() {
            return Some(arrays);
        }
        let mut count = self.extent(&space.first()?.size, span)?;
        for axis in &space[1..] {
            count = self.context.i64_op(BinaryOp::Mul, count, axis.size.clone(), span);
        }
        if space.len() > 1 {
            let flat = |array: Tree| reshape(with_extent(count.clone(), &array.shape[space.len()..]), array);
            arrays = arrays.into_iter().map(flat).collect();
        }
        let Folded { carried, states, .. } = self.operated(op, neutral, arrays, &count, span)?;
        let last = index(states, vec![integer(count)], Reads::InRange);
        let last = self.bound(last);
        Some(carried.parts(&last))
    }

    /// All states of a fold with the operator, but the first.
    pub(super) fn scan(&mut self, (axis, op): (&Axis, &Lambda), neutral: &[Atom], body: &Block, span: Span) -> Option<Vec<Tree>> {
        let arrays = self.build(std::slice::from_ref(axis), body, span)?;
        if arrays.is_empty() {
            return Some(arrays);
        }
        let count = self.extent(&axis.size, span)?;
        let Folded { carried, states, .. } = self.operated(op, neutral, arrays, &count, span)?;
        Some((0..carried.count).map(|at| self.states_after(&carried, at, &states, &count)).collect())
    }

    /// All states when an operator is applied to rows of arrays, one after the other.
    fn operated(&mut self, op: &Lambda, neutral: &[Atom], arrays: Vec<Tree>, count: &Atom, span: Span) -> Option<Folded> {
        let op = self.context.copy_lambda(op);
        let (states, rows) = op.params.split_at(neutral.len().min(op.params.len()));
        let init = self.atoms(neutral, span)?;
        let rows: Vec<(Var, Tree)> = rows.iter().map(|row| row.var).zip(arrays).collect();
        self.folded(states, init, rows, &op.body, count, span)
    }

    /// A loop whose bound is not known when the program is compiled.
    pub(super) fn counted_loop(&mut self, parts: &Loop, span: Span) -> Option<Vec<Tree>> {
        let LoopForm::For { index: at, bound } = &parts.form else {
            return self.refuse(span, "a loop with a condition");
        };
        let Some(prim) = at.ty.as_prim() else { return self.refuse(span, "a loop whose bound is no number") };
        let bound = self.extent(bound, span)?;
        let as_i64 = PrimOp::Convert { from: prim, to: Prim::I64 };
        let count = if prim == Prim::I64 { bound } else { self.context.prim(as_i64, vec![bound], span) };
        let count = self.context.i64_op(BinaryOp::Max, count, Atom::i64(0), span);
        let numbers = match prim == Prim::I64 {
            true => iota(count.clone()),
            false => elementwise(Elementwise::Prim(PrimOp::Convert { from: Prim::I64, to: prim }), vec![iota(count.clone())]),
        };
        let params = std::iter::once(at.clone()).chain(parts.carry.iter().cloned()).collect();
        let lambda = self.context.copy_lambda(&Lambda { params, results: Vec::new(), body: parts.body.clone() });
        let (at, carry) = lambda.params.split_first()?;
        if carry.is_empty() && !parts.emits.is_empty() {
            return self.refuse(span, "a loop that carries nothing and collects values, and whose bound is not a constant");
        }
        if carry.is_empty() {
            self.checks(at.var, &numbers, &lambda.body, &count, span)?;
            return Some(parts.counted.then(|| integer(count)).into_iter().collect());
        }
        let init = self.atoms(&parts.initial, span)?;
        let made = self.folded(carry, init, vec![(at.var, numbers)], &lambda.body, &count, span)?;
        let last = self.bound(index(made.states, vec![integer(count.clone())], Reads::InRange));
        let trips = parts.counted.then(|| integer(count));
        Some(made.carried.parts(&last).into_iter().chain(trips).chain(made.emitted).collect())
    }

    /// A loop that carries nothing: only what it checks is left of it.
    fn checks(&mut self, at: Var, numbers: &Tree, body: &Block, count: &Atom, span: Span) -> Option<()> {
        let number = index(Rc::clone(numbers), vec![index_var(self.names.fresh())], Reads::InRange);
        self.terms.insert(at, number);
        let around = std::mem::take(&mut self.lets);
        self.around.push(count.clone());
        let results = self.block(body, span);
        self.around.pop();
        self.lets = around;
        results.map(|_| ())
    }

    /// All states of a fold whose step is a block over these variables, and the arrays of what the block gives beside the next state.
    fn folded(
        &mut self,
        states: &[Binder],
        init: Vec<Tree>,
        rows: Vec<(Var, Tree)>,
        body: &Block,
        count: &Atom,
        span: Span,
    ) -> Option<Folded> {
        let first = init.first()?.clone();
        if init.iter().any(|part| part.prim != first.prim || part.shape != first.shape) {
            return self.refuse(span, "a fold that carries values of different types or shapes");
        }
        let carried = Carried { count: init.len() };
        let init = carried.packed(init)?;
        let state = self.names.fresh();
        let state_variable = var_like(state, &init);
        for (binder, part) in states.iter().zip(carried.parts(&state_variable)) {
            self.terms.insert(binder.var, part);
        }
        let mut row_variables = Vec::new();
        for (var_of_row, array) in &rows {
            let name = self.names.fresh();
            let variable = var(name, array.prim, array.shape.get(1..)?.to_vec());
            self.terms.insert(*var_of_row, Rc::clone(&variable));
            row_variables.push((name, variable));
        }
        let around = std::mem::take(&mut self.lets);
        self.around.push(count.clone());
        let is_step = std::mem::replace(&mut self.is_step, true);
        let results = self.block(body, span);
        self.is_step = is_step;
        self.around.pop();
        let lets = std::mem::replace(&mut self.lets, around);
        let results = results?;
        if results.iter().take(carried.count).any(|result| result.prim != first.prim || result.shape != first.shape) {
            return self.refuse(span, "a fold whose state changes its shape");
        }
        let arrays = rows.into_iter().map(|(_, array)| array).collect();
        let step = OpenStep { state, rows: row_variables, arrays, lets, results };
        let mut step = self.closed(step, count, span)?;
        let emitted = step.results.split_off(carried.count);
        let next = carried.packed(step.results.clone())?;
        let body = step.lets.iter().rev().fold(next, |body, (name, value)| bind(*name, Rc::clone(value), body));
        let size = self.context.i64_op(BinaryOp::Add, count.clone(), Atom::i64(1), span);
        let (names, bindings, gives) = (self.names.clone(), Vec::new(), Vec::new());
        let made = Step { names, state, rows: step.rows.clone(), bindings, body, gives, is_backward: false };
        let all = fold(size, Rc::new(made), init, step.arrays.clone());
        let all = self.bound(all);
        let emitted = self.emitted(&mut step, &carried, emitted, &all, count);
        Some(Folded { carried, states: all, emitted })
    }

    /// What a step gives for each row, as arrays. Often that is the next state.
    fn emitted(&mut self, step: &mut OpenStep, carried: &Carried, wanted: Vec<Tree>, states: &Tree, count: &Atom) -> Vec<Tree> {
        let is_next = |tree: &Tree| {
            let same = |next: &Tree| matches!((&next.term, &tree.term), (Term::Var(next), Term::Var(name)) if next == name);
            step.results.iter().position(same)
        };
        let places: Vec<Option<usize>> = wanted.iter().map(is_next).collect();
        let others: Vec<Tree> = wanted.into_iter().zip(&places).filter(|(_, at)| at.is_none()).map(|(tree, _)| tree).collect();
        let mut others = self.for_all_rows(step, &others, Some(states), count).into_iter();
        let array = |at: Option<usize>| match at {
            Some(at) => Some(self.states_after(carried, at, states, count)),
            None => others.next(),
        };
        places.into_iter().filter_map(array).collect()
    }

    /// A part of each state but the first.
    fn states_after(&mut self, carried: &Carried, at: usize, states: &Tree, count: &Atom) -> Tree {
        let param = self.names.fresh();
        let one = integer(Atom::i64(1));
        let next = elementwise(Elementwise::Prim(PrimOp::Binary(BinaryOp::Add, Prim::I64)), vec![index_var(param), one]);
        let part = (carried.count > 1).then(|| integer(Atom::i64(at as i64)));
        let indices: Vec<Tree> = std::iter::once(next).chain(part).collect();
        let shape = with_extent(count.clone(), &states.shape[indices.len()..]);
        gather(shape, Rc::clone(states), IndexFunction { params: vec![param], indices }, Reads::InRange)
    }
}
