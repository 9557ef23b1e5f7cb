//! Reductions, scans and loops that are no sums: the greatest and the least, and folds with a closed step.

use super::super::term::{
    Elementwise, IndexFunction, Name, Names, Reads, Shape, Step, Term, Tree, bind, elementwise, fold, gather, index, index_var,
    integer, iota, overwrite, reduce_outer, reshape, stack, transpose, var, var_like, with_extent, zeros,
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

/// What a fold carries: one array, several of one shape as rows of one, or several of different shapes, one behind the other in a vector.
enum Carried {
    One,
    Rows(usize),
    Segments { parts: Vec<Segment>, total: Atom, prim: Prim },
}

/// A part of a vector.
struct Segment {
    start: Atom,
    count: Atom,
    shape: Shape,
}

impl Segment {
    /// From the place of an element in the part to its place in the vector; a scalar has no index.
    fn places(&self, names: &Names) -> IndexFunction {
        if self.shape.is_empty() {
            return IndexFunction { params: Vec::new(), indices: vec![integer(self.start.clone())] };
        }
        let param = names.fresh();
        IndexFunction { params: vec![param], indices: vec![plus(integer(self.start.clone()), index_var(param))] }
    }

    /// The shape of the part as a vector; a scalar stays one.
    fn flat(&self) -> Shape {
        if self.shape.is_empty() { Vec::new() } else { vec![self.count.clone()] }
    }
}

fn plus(left: Tree, right: Tree) -> Tree {
    elementwise(Elementwise::Prim(PrimOp::Binary(BinaryOp::Add, Prim::I64)), vec![left, right])
}

impl Carried {
    fn count(&self) -> usize {
        match self {
            Carried::One => 1,
            Carried::Rows(count) => *count,
            Carried::Segments { parts, .. } => parts.len(),
        }
    }

    fn packed(&self, names: &Names, mut parts: Vec<Tree>) -> Option<Tree> {
        match self {
            Carried::One => parts.pop(),
            Carried::Rows(_) => Some(stack(parts)),
            Carried::Segments { parts: segments, total, prim } => {
                let empty = zeros(*prim, std::slice::from_ref(total));
                let write = |all, (segment, part): (&Segment, Tree)| {
                    overwrite(all, segment.places(names), reshape(segment.flat(), part), false)
                };
                Some(segments.iter().zip(parts).fold(empty, write))
            }
        }
    }

    fn parts(&self, names: &Names, state: &Tree) -> Vec<Tree> {
        match self {
            Carried::One => vec![Rc::clone(state)],
            Carried::Rows(count) => {
                let part = |at| index(Rc::clone(state), vec![integer(Atom::i64(at as i64))], Reads::InRange);
                (0..*count).map(part).collect()
            }
            Carried::Segments { parts, .. } => {
                let part = |segment: &Segment| {
                    let read = gather(segment.flat(), Rc::clone(state), segment.places(names), Reads::InRange);
                    reshape(segment.shape.clone(), read)
                };
                parts.iter().map(part).collect()
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
        Some(carried.parts(self.names, &last))
    }

    /// All states of a fold with the operator, but the first.
    pub(super) fn scan(&mut self, (axis, op): (&Axis, &Lambda), neutral: &[Atom], body: &Block, span: Span) -> Option<Vec<Tree>> {
        let arrays = self.build(std::slice::from_ref(axis), body, span)?;
        if arrays.is_empty() {
            return Some(arrays);
        }
        let count = self.extent(&axis.size, span)?;
        let Folded { carried, states, .. } = self.operated(op, neutral, arrays, &count, span)?;
        Some((0..carried.count()).map(|at| self.states_after(&carried, at, &states, &count)).collect())
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
            // Only what it checks is left of it.
            self.note_check(None);
            return Some(parts.counted.then(|| integer(count)).into_iter().collect());
        }
        let rest = self.without_plain_states(&lambda, parts, &count, span)?;
        let init = self.atoms(&rest.initial, span)?;
        let rows = [vec![(at.var, numbers)], rest.rows].concat();
        let made = self.folded(&rest.carry, init, rows, &rest.body, &count, span)?;
        let last = self.bound(index(made.states, vec![integer(count.clone())], Reads::InRange));
        let trips = parts.counted.then(|| integer(count));
        let mut folded = made.carried.parts(self.names, &last).into_iter();
        let states: Vec<Tree> = rest.last.into_iter().map(|last| last.or_else(|| folded.next())).collect::<Option<_>>()?;
        Some(states.into_iter().chain(trips).chain(made.emitted).collect())
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
        let parts = init.clone();
        let carried = self.carried(&parts, span)?;
        let init = carried.packed(self.names, init)?;
        let state = self.names.fresh();
        let state_variable = var_like(state, &init);
        let mut row_variables = Vec::new();
        for (var_of_row, array) in &rows {
            let name = self.names.fresh();
            let variable = var(name, array.prim, array.shape.get(1..)?.to_vec());
            self.terms.insert(*var_of_row, Rc::clone(&variable));
            if let (Term::Iota, Some(count)) = (&array.term, array.shape.first()) {
                self.note_index(name, count);
            }
            row_variables.push((name, variable));
        }
        let around = std::mem::take(&mut self.lets);
        for (binder, part) in states.iter().zip(carried.parts(self.names, &state_variable)) {
            let part = if matches!(carried, Carried::Segments { .. }) { self.bound(part) } else { part };
            self.terms.insert(binder.var, part);
        }
        self.around.push(count.clone());
        let is_step = std::mem::replace(&mut self.is_step, true);
        let results = self.block(body, span);
        self.is_step = is_step;
        self.around.pop();
        let lets = std::mem::replace(&mut self.lets, around);
        let results = results?;
        if results.iter().zip(&parts).any(|(result, part)| result.prim != part.prim || result.shape != part.shape) {
            return self.refuse(span, "a fold whose state changes its shape");
        }
        let arrays = rows.into_iter().map(|(_, array)| array).collect();
        let step = OpenStep { state, rows: row_variables, arrays, lets, results };
        let mut step = self.closed(step, count, span)?;
        let emitted = step.results.split_off(carried.count());
        let next = carried.packed(self.names, step.results.clone())?;
        let body = step.lets.iter().rev().fold(next, |body, (name, value)| bind(*name, Rc::clone(value), body));
        let size = self.context.i64_op(BinaryOp::Add, count.clone(), Atom::i64(1), span);
        let (names, bindings, gives) = (self.names.clone(), Vec::new(), Vec::new());
        let made = Step { names, state, rows: step.rows.clone(), bindings, body, gives, is_backward: false };
        let all = fold(size, Rc::new(made), init, step.arrays.clone());
        let all = self.bound(all);
        let emitted = self.emitted(&mut step, &carried, emitted, &all, count);
        Some(Folded { carried, states: all, emitted })
    }

    /// How a fold carries values.
    fn carried(&mut self, parts: &[Tree], span: Span) -> Option<Carried> {
        let first = parts.first()?;
        if parts.iter().any(|part| part.prim != first.prim) {
            return self.refuse(span, "a fold that carries values of different types");
        }
        if parts.iter().all(|part| part.shape == first.shape) {
            return Some(if parts.len() == 1 { Carried::One } else { Carried::Rows(parts.len()) });
        }
        let (mut segments, mut start) = (Vec::new(), Atom::i64(0));
        for part in parts {
            let mut count = Atom::i64(1);
            for extent in &part.shape {
                count = self.context.i64_op(BinaryOp::Mul, count, extent.clone(), span);
            }
            let end = self.context.i64_op(BinaryOp::Add, start.clone(), count.clone(), span);
            segments.push(Segment { start, count, shape: part.shape.clone() });
            start = end;
        }
        Some(Carried::Segments { parts: segments, total: start, prim: first.prim })
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
        let next = plus(index_var(param), integer(Atom::i64(1)));
        let after = |params: Vec<Name>, part: Vec<Tree>, rest: &[Atom]| {
            let function =
                IndexFunction { params: [vec![param], params].concat(), indices: [vec![Rc::clone(&next)], part].concat() };
            gather(with_extent(count.clone(), rest), Rc::clone(states), function, Reads::InRange)
        };
        match carried {
            Carried::One => after(Vec::new(), Vec::new(), &states.shape[1..]),
            Carried::Rows(_) => after(Vec::new(), vec![integer(Atom::i64(at as i64))], &states.shape[2..]),
            Carried::Segments { parts, .. } => {
                let IndexFunction { params, indices } = parts[at].places(self.names);
                reshape(with_extent(count.clone(), &parts[at].shape), after(params, indices, &parts[at].flat()))
            }
        }
    }
}
