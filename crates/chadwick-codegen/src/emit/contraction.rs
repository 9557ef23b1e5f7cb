//! Matrix products: a `build` of sums of products of two elements.
//!
//! `build [i, j] (sum over l of a[i, l] * b[l, j])`, with the indices of each operand in any order and any number of further axes, goes to
//! the register tiles of `rts/contraction.h`. Only where sums may be reordered. If the body does more with the sum
//! (adds a bias, applies a function), the product is formed first, and the loop takes each sum from there. If an operand is no element but
//! made of elements (see [`crate::operands`]), its matrix is made ahead of each product. Loops that only add products to accumulators, as
//! derivatives of matrix products do, are products that are added to what is there.

use super::{Array, Emitter, Handle, Value};
use crate::ir::*;
use chadwick_core::{Atom, Axis, BinaryOp, Block, Const, Op, PathStep, Prim, PrimOp, Statement, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The parts of a contraction.
struct Contraction<'p> {
    prim: Prim,
    inner: &'p Axis,
    /// Further axes that are summed over: one with the inner one, in both operands.
    around_inner: Vec<&'p Axis>,
    left: Factor<'p>,
    right: Factor<'p>,
    /// Whether the left operand is a cotangent and the right one its factor, or the other way round: a cotangent of zero makes zero,
    /// whatever the factor is.
    scaled: Option<Scaled>,
    /// The axis that only the left operand has, and the one that only the right one has.
    row: Option<usize>,
    column: usize,
}

impl<'p> Contraction<'p> {
    /// All axes that are summed over, the inner one last.
    fn summed(&self) -> impl Iterator<Item = &'p Axis> {
        self.around_inner.iter().copied().chain([self.inner])
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scaled {
    ByRight,
    ByLeft,
}

/// An element of an array, or of a matrix that is made for the product.
#[derive(Clone)]
struct Factor<'p> {
    source: Source<'p>,
    /// Where in the array; of what is made, the axes that it depends on.
    indices: Vec<Atom>,
}

#[derive(Clone)]
enum Source<'p> {
    Array(&'p Atom),
    /// By these statements, the last of which makes the element.
    Made(Vec<&'p Statement>),
}

impl Factor<'_> {
    fn uses(&self, var: Var) -> bool {
        self.indices.contains(&Atom::Var(var))
    }

    /// Whether it is an element of an array that is there, at a place that is known there.
    fn is_there(&self, known: &dyn Fn(&Atom) -> bool) -> bool {
        matches!(&self.source, Source::Array(array) if known(array)) && self.indices.iter().all(known)
    }

    /// Those of the ranges that it depends on, last the one along which most of what it is made of lies side by side.
    fn axes_in_memory(&self, ranges: &[(Var, Exp)]) -> Vec<(Var, Exp)> {
        let mut axes: Vec<(Var, Exp)> = ranges.iter().filter(|(axis, _)| self.uses(*axis)).cloned().collect();
        let Source::Made(statements) = &self.source else { return axes };
        let is_last = |statement: &Statement, axis: Var| match &statement.op {
            Op::Index { indices, .. } => indices.last() == Some(&Atom::Var(axis)),
            _ => false,
        };
        axes.sort_by_key(|(axis, _)| statements.iter().filter(|statement| is_last(statement, *axis)).count());
        axes
    }

    /// No axis is used twice: each index moves along one dimension.
    fn is_simple(&self, axes: &[Var]) -> bool {
        axes.iter().all(|axis| self.indices.iter().filter(|index| **index == Atom::Var(*axis)).count() <= 1)
    }
}

/// How an operand lies in memory.
struct Operand {
    data: Exp,
    row: Exp,
    inner: Exp,
}

impl<'p> Emitter<'_, 'p> {
    /// Emits the statement if it is a contraction.
    pub(super) fn contraction(&mut self, statement: &'p Statement) -> bool {
        let Op::Build { space, body, inner } = &statement.op else { return false };
        let ([binder], [sizes], [sum], [Atom::Var(result)]) =
            (statement.binders.as_slice(), inner.as_slice(), body.statements.as_slice(), body.results.as_slice())
        else {
            return false;
        };
        if !sizes.is_empty() || !sum.binders.iter().any(|total| total.var == *result) {
            return false;
        }
        let Some(found) = self.arranged(space, sum) else { return false };
        let array = self.product(binder.var, space, &found);
        self.set(binder.var, Value::Array(array));
        true
    }

    /// Forms the products in the body of a `build` ahead of its loop.
    pub(super) fn products_ahead(&mut self, space: &'p [Axis], body: &'p Block) -> Vec<Array> {
        let mut inside: FxHashSet<Var> = FxHashSet::default();
        let mut formed = Vec::new();
        for statement in &body.statements {
            let outside = |factor: &Factor<'_>| factor.is_there(&|atom| !matches!(atom, Atom::Var(var) if inside.contains(var)));
            if let ([binder], Some(found)) = (statement.binders.as_slice(), self.arranged(space, statement))
                && found.row.is_some()
                && outside(&found.left)
                && outside(&found.right)
                && !found.summed().any(|axis| matches!(&axis.size, Atom::Var(var) if inside.contains(var)))
            {
                let array = self.product(binder.var, space, &found);
                let axes = space.iter().map(|axis| axis.var).collect();
                self.products.insert(binder.var, (array.clone(), axes));
                formed.push(array);
            }
            inside.extend(statement.binders.iter().map(|binder| binder.var));
        }
        formed
    }

    /// A sum that was formed ahead of the loop.
    pub(super) fn formed_sum(&mut self, statement: &Statement) -> bool {
        let [binder] = statement.binders.as_slice() else { return false };
        let Some((array, axes)) = self.products.get(&binder.var).cloned() else { return false };
        let indices: Vec<Exp> = axes.into_iter().map(|axis| self.scalar(&Atom::Var(axis))).collect();
        let value = self.load(&array, &indices);
        self.set(binder.var, value);
        true
    }

    /// Emits a nest of loops that does nothing but add products to accumulators: product by product.
    pub(super) fn accumulated_products(&mut self, statement: &'p Statement) -> bool {
        let mut nest = Nest::default();
        if self.shared.strict || !nest.statement(statement, &mut Vec::new()) || nest.sums.is_empty() {
            return false;
        }
        let mut planned = Vec::new();
        for sum in &nest.sums {
            let Some((space, found)) = nest.contraction(sum).and_then(|(space, found)| {
                let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
                Some((space, self.arrange(&axes, found)?))
            }) else {
                return false;
            };
            let Value::Handle(Handle::Array(target)) = self.value(sum.handle) else { return false };
            if target.elem != Elem::Prim(found.prim) || target.dims.len() != space.len() {
                return false;
            }
            planned.push((target, space, found));
        }
        for (target, space, found) in planned {
            let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
            let bounds = self.extents(space.into_iter());
            self.multiply(&target, &axes, &bounds, &found, true);
        }
        true
    }

    /// The contraction that a statement in a `build` over the space is, with its operands in the right order.
    fn arranged(&self, space: &'p [Axis], statement: &'p Statement) -> Option<Contraction<'p>> {
        if self.shared.strict {
            return None;
        }
        let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
        self.arrange(&axes, recognise(space, statement)?)
    }

    /// Puts the operands of a contraction over the axes into the right order; `None` if it is none that we have code for.
    fn arrange(&self, axes: &[Var], mut found: Contraction<'p>) -> Option<Contraction<'p>> {
        let last = axes.last().copied()?;
        // The operand with the last axis gives the columns, so that rows of the result are contiguous.
        match (found.left.uses(last), found.right.uses(last)) {
            (false, true) => {}
            (true, false) => {
                std::mem::swap(&mut found.left, &mut found.right);
                found.scaled = found.scaled.map(|scaled| match scaled {
                    Scaled::ByRight => Scaled::ByLeft,
                    Scaled::ByLeft => Scaled::ByRight,
                });
            }
            _ => return None,
        }
        let (left, right) = (&found.left, &found.right);
        let rows: Vec<usize> = (0..axes.len()).filter(|at| left.uses(axes[*at]) && !right.uses(axes[*at])).collect();
        let columns: Vec<usize> = (0..axes.len()).filter(|at| right.uses(axes[*at]) && !left.uses(axes[*at])).collect();
        let shared = axes.iter().filter(|axis| left.uses(**axis) && right.uses(**axis)).count();
        if rows.len() + columns.len() + shared != axes.len() {
            return None;
        }
        if rows.is_empty() && !self.is_far_apart(right, found.inner.var) {
            return None;
        }
        // A few products are done before a call is made.
        if found.around_inner.is_empty() && matches!(&found.inner.size, Atom::Const(Const::I64(..=8))) {
            return None;
        }
        let summed: Vec<&Axis> = found.summed().collect();
        if ![left, right].into_iter().all(|factor| self.are_one(factor, &summed)) {
            return None;
        }
        // Of several axes that only one operand has, the last is the matrix's; over others there are loops, unless they are one with it.
        found.row = rows.last().copied();
        found.column = columns.last().copied()?;
        Some(found)
    }

    /// Whether axes are one: the elements of a factor along them lie behind each other without gaps.
    fn are_one(&self, factor: &Factor<'_>, axes: &[&Axis]) -> bool {
        if axes.len() == 1 {
            return true;
        }
        let Source::Array(array) = &factor.source else { return false };
        let Array { strides: None, dims, .. } = self.array(array) else { return false };
        let place = |axis: &Axis| factor.indices.iter().position(|index| *index == Atom::Var(axis.var));
        axes.windows(2).all(|pair| match (place(pair[0]), place(pair[1])) {
            (Some(one), Some(next)) => next == one + 1 && self.same_size(&self.scalar(&pair[1].size), &dims[next]),
            _ => false,
        })
    }

    /// Whether steps along the inner axis are not to the next element.
    fn is_far_apart(&self, factor: &Factor<'_>, inner: Var) -> bool {
        let Source::Array(array) = factor.source else { return false };
        let array = self.array(array);
        match &array.strides {
            None => factor.indices.last() != Some(&Atom::Var(inner)),
            Some(strides) => {
                let stride = factor.indices.iter().zip(strides).find(|(index, _)| **index == Atom::Var(inner));
                stride.is_some_and(|(_, stride)| stride.as_i64() != Some(1))
            }
        }
    }

    fn extents(&mut self, space: impl Iterator<Item = &'p Axis>) -> Vec<Exp> {
        let mut bounds = Vec::new();
        for axis in space {
            let size = self.scalar(&axis.size);
            bounds.push(self.extent(&size));
        }
        bounds
    }

    /// A new array with the product.
    fn product(&mut self, var: Var, space: &'p [Axis], found: &Contraction<'p>) -> Array {
        let bounds = self.extents(space.iter());
        let name = self.var_name(var);
        let result = self.new_array(var, &name, Elem::Prim(found.prim), bounds.clone());
        let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
        self.multiply(&result, &axes, &bounds, found, false);
        result
    }

    /// Writes a product over the axes to an array, or adds it.
    fn multiply(&mut self, target: &Array, axes: &[Var], bounds: &[Exp], found: &Contraction<'p>, add: bool) {
        let Contraction { row, column, .. } = *found;
        let rows = row.map_or(Vec::new(), |row| self.axes_in_one(target, axes, bounds, &found.left, &found.right, row));
        let columns = self.axes_in_one(target, axes, bounds, &found.right, &found.left, column);
        let of_matrix: Vec<usize> = rows.iter().chain(&columns).copied().collect();
        let summed: Vec<&Axis> = found.summed().collect();
        let lengths = self.extents(summed.iter().copied());
        let inner = lengths.iter().cloned().reduce(Exp::mul).unwrap_or(Exp::i64(1));
        let strides = self.strides(target);
        // By a name of its own: every iteration writes to another part.
        let data = self.bind("target", Ty::Data(target.elem), target.data.clone());
        // Further axes are loops around the product.
        let mut offset = Exp::i64(0);
        let mut opened = 0;
        for (at, axis) in axes.iter().enumerate() {
            if of_matrix.contains(&at) {
                continue;
            }
            let name = self.var_name(*axis);
            let index = self.open_loop(&name, Prim::I64, bounds[at].clone());
            self.set(*axis, Value::Scalar(Exp::Local(index)));
            self.check_index(&Exp::Local(index), &target.dims[at].clone());
            offset = offset.add(Exp::Local(index).mul(strides[at].clone()));
            opened += 1;
        }
        let ranges: Vec<(Var, Exp)> = of_matrix
            .iter()
            .map(|at| (axes[*at], bounds[*at].clone()))
            .chain(summed.iter().map(|axis| axis.var).zip(lengths))
            .collect();
        for at in of_matrix {
            self.check_all(&bounds[at].clone(), &target.dims[at].clone(), &ranges);
        }
        let extent = |axes: &[usize]| axes.iter().fold(Exp::i64(1), |extent, at| extent.mul(bounds[*at].clone()));
        let row_var = row.map(|at| axes[at]);
        let mut made = Vec::new();
        let left = self.operand(&found.left, row_var, found.inner.var, &ranges, &mut made);
        let right = self.operand(&found.right, Some(axes[column]), found.inner.var, &ranges, &mut made);
        let place = Exp::at(data, offset);
        let single = found.prim == Prim::F32;
        let by_right = Exp::Const(Const::Bool(found.scaled == Some(Scaled::ByRight)));
        match row {
            Some(at) => {
                let function = match (found.scaled, single) {
                    (None, true) => "cw_product_f32",
                    (None, false) => "cw_product_f64",
                    (Some(_), true) => "cw_scaled_product_f32",
                    (Some(_), false) => "cw_scaled_product_f64",
                };
                let (n, k) = (extent(&rows), extent(&columns));
                let mut args = vec![
                    Exp::Context,
                    n,
                    k,
                    inner,
                    left.data,
                    left.row,
                    left.inner,
                    right.data,
                    right.inner,
                    right.row,
                    place,
                    strides[at].clone(),
                    Exp::Const(Const::Bool(add)),
                ];
                args.extend(found.scaled.map(|_| by_right));
                self.push(Stm::Run(function, args));
            }
            None => {
                let function = match (found.scaled, single) {
                    (None, true) => "cw_by_columns_f32",
                    (None, false) => "cw_by_columns_f64",
                    (Some(_), true) => "cw_scaled_by_columns_f32",
                    (Some(_), false) => "cw_scaled_by_columns_f64",
                };
                let n = extent(&columns);
                let step = strides[column].clone();
                let mut args =
                    vec![Exp::Context, n, inner, right.data, right.row, right.inner, left.data, left.inner, place, step];
                args.push(Exp::Const(Const::Bool(add)));
                args.extend(found.scaled.map(|_| by_right));
                self.push(Stm::Run(function, args));
            }
        }
        made.into_iter().for_each(|matrix| self.release(&Value::Array(matrix)));
        for number in 0..opened {
            let independent = (number + 1 == opened).then(Vec::new);
            self.close_loop(Mark::Sequential, independent);
        }
    }

    /// The axes that can be taken as one, the given one last: only one factor has them, and in that factor as in the target rows lie behind
    /// each other without gaps. So `build [b, t, j] (sum over l of xs[b, t, l] * w[l, j])` is one product, and not one for each `b`.
    fn axes_in_one(
        &self,
        target: &Array,
        axes: &[Var],
        bounds: &[Exp],
        factor: &Factor<'p>,
        other: &Factor<'p>,
        last: usize,
    ) -> Vec<usize> {
        let mut first = last;
        if let (Source::Array(array), None) = (&factor.source, &target.strides)
            && let Array { strides: None, dims, .. } = self.array(array)
        {
            let place = |at: usize| factor.indices.iter().position(|index| *index == Atom::Var(axes[at]));
            let joins = |at: usize| {
                let (before, place) = (at.checked_sub(1)?, place(at)?);
                let own =
                    !other.uses(axes[before]) && factor.indices.get(place.checked_sub(1)?) == Some(&Atom::Var(axes[before]));
                let full = self.same_size(&bounds[at], &target.dims[at]) && self.same_size(&bounds[at], &dims[place]);
                (own && full).then_some(before)
            };
            while let Some(before) = joins(first) {
                first = before;
            }
        }
        (first..=last).collect()
    }

    /// Where an operand starts and how far apart its elements are along both axes; checks that all of them exist.
    fn operand(
        &mut self,
        factor: &Factor<'p>,
        row: Option<Var>,
        inner: Var,
        ranges: &[(Var, Exp)],
        made: &mut Vec<Array>,
    ) -> Operand {
        let array = match &factor.source {
            Source::Array(array) => self.array(array),
            Source::Made(statements) => {
                let axes = factor.axes_in_memory(ranges);
                let matrix = self.made_matrix(statements, &axes);
                let strides = self.strides(&matrix);
                let along =
                    |var: Var| axes.iter().position(|(axis, _)| *axis == var).map_or(Exp::i64(0), |at| strides[at].clone());
                let operand = Operand { data: matrix.data.clone(), row: row.map_or(Exp::i64(0), along), inner: along(inner) };
                made.push(matrix);
                return operand;
            }
        };
        let strides = self.strides(&array);
        let (mut offset, mut row_step, mut inner_step) = (Exp::i64(0), Exp::i64(0), Exp::i64(0));
        for ((index, dim), stride) in factor.indices.iter().zip(array.dims.clone()).zip(strides) {
            let range = ranges.iter().find(|(var, _)| *index == Atom::Var(*var));
            match range {
                Some((var, bound)) => {
                    self.check_all(bound, &dim, ranges);
                    if *var == inner {
                        inner_step = stride;
                    } else if Some(*var) == row {
                        row_step = stride;
                    }
                }
                None => {
                    let index = self.scalar(index);
                    self.check_index(&index, &dim);
                    offset = offset.add(index.mul(stride));
                }
            }
        }
        Operand { data: Exp::at(array.data, offset), row: row_step, inner: inner_step }
    }

    /// The matrix of an operand that is no array, over these axes.
    fn made_matrix(&mut self, statements: &[&'p Statement], axes: &[(Var, Exp)]) -> Array {
        let Some(element) = statements.last().and_then(|it| it.binders.first()) else {
            unreachable!("something makes the element")
        };
        let elem = Elem::Prim(element.ty.as_prim().unwrap_or(Prim::F64));
        let matrix = self.allocate("operand", elem, axes.iter().map(|(_, bound)| bound.clone()).collect());
        self.over_elements(&matrix.dims.clone(), &mut |emitter, indices| {
            axes.iter().zip(indices).for_each(|((axis, _), index)| emitter.set(*axis, Value::Scalar(index.clone())));
            statements.iter().for_each(|statement| emitter.arithmetic(statement));
            let value = emitter.scalar(&Atom::Var(element.var));
            let at = emitter.offset(&matrix, indices);
            emitter.push(Stm::Store { data: matrix.data.clone(), at, value });
        });
        matrix
    }

    /// Fails unless all indices below the bound are inside, where any product is formed at all.
    fn check_all(&mut self, bound: &Exp, dim: &Exp, ranges: &[(Var, Exp)]) {
        if self.same_size(bound, dim) {
            return;
        }
        let mut condition = Exp::test(Test::Less, dim.clone(), bound.clone());
        for (_, other) in ranges {
            condition = Exp::test(Test::Less, Exp::i64(0), other.clone()).and(condition);
        }
        let site = self.site();
        self.push(Stm::Fail { condition, kind: FailKind::Index, values: vec![dim.clone(), dim.clone()], site });
    }
}

/// A nest of loops, looked at as a whole.
#[derive(Default)]
struct Nest<'p> {
    loads: FxHashMap<Var, Factor<'p>>,
    products: FxHashMap<Var, (BinaryOp, Prim, &'p [Atom])>,
    /// Everything that is bound inside, but for the axes.
    bound: FxHashSet<Var>,
    sums: Vec<Sum<'p>>,
}

/// An addition to an accumulator.
struct Sum<'p> {
    axes: Vec<&'p Axis>,
    handle: &'p Atom,
    indices: &'p [Atom],
    value: &'p Atom,
}

impl<'p> Nest<'p> {
    /// Takes in a statement; `false` if it does anything but load, multiply and add.
    fn statement(&mut self, statement: &'p Statement, axes: &mut Vec<&'p Axis>) -> bool {
        let bound = statement.binders.first().map(|binder| binder.var);
        match (&statement.op, bound) {
            (Op::Build { space, body, .. }, None) => {
                let depth = axes.len();
                axes.extend(space);
                let fits = body.results.is_empty() && body.statements.iter().all(|inner| self.statement(inner, axes));
                axes.truncate(depth);
                fits
            }
            (Op::Index { array, indices }, Some(bound)) => {
                self.bound.insert(bound);
                self.loads.insert(bound, Factor { source: Source::Array(array), indices: indices.clone() });
                statement.binders.iter().all(|binder| binder.ty.as_prim().is_some())
            }
            (Op::Prim(PrimOp::Binary(op @ (BinaryOp::Mul | BinaryOp::Scale), prim), args), Some(bound)) => {
                self.bound.insert(bound);
                self.products.insert(bound, (*op, *prim, args));
                true
            }
            (Op::Accumulate { handle, path, value }, None) => {
                let [PathStep::Index(indices)] = path.as_slice() else { return false };
                self.sums.push(Sum { axes: axes.clone(), handle, indices, value });
                true
            }
            _ => false,
        }
    }

    /// The contraction that an addition is part of, over the axes of its place; one axis is summed over.
    fn contraction(&self, sum: &Sum<'p>) -> Option<(Vec<&'p Axis>, Contraction<'p>)> {
        let Atom::Var(value) = sum.value else { return None };
        let (op, prim, [Atom::Var(x), Atom::Var(y)]) = self.products.get(value)? else { return None };
        let (left, right) = (self.loads.get(x)?.clone(), self.loads.get(y)?.clone());
        let space = sum.indices.iter().map(|index| sum.axes.iter().copied().find(|axis| *index == Atom::Var(axis.var)));
        let space: Vec<&'p Axis> = space.collect::<Option<_>>()?;
        let over = sum.axes.iter().copied().filter(|axis| !space.iter().any(|known| known.var == axis.var));
        let mut around_inner: Vec<&'p Axis> = over.collect();
        let distinct = space.len() + around_inner.len() == sum.axes.len();
        let inner = around_inner.pop()?;
        let outside = |atom: &Atom| !matches!(atom, Atom::Var(var) if self.bound.contains(var));
        let sizes_known = sum.axes.iter().all(|axis| outside(&axis.size));
        let axes: Vec<Var> = sum.axes.iter().map(|axis| axis.var).collect();
        let uses_all = |factor: &Factor<'_>| around_inner.iter().chain([&inner]).all(|axis| factor.uses(axis.var));
        let fits = |factor: &Factor<'_>| factor.is_simple(&axes) && uses_all(factor) && factor.is_there(&outside);
        if !distinct || !sizes_known || !fits(&left) || !fits(&right) || !matches!(prim, Prim::F32 | Prim::F64) {
            return None;
        }
        let scaled = (*op == BinaryOp::Scale).then_some(Scaled::ByRight);
        Some((space, Contraction { prim: *prim, inner, around_inner, left, right, scaled, row: None, column: 0 }))
    }
}

/// Whether the statement sums products of two elements.
fn recognise<'p>(space: &'p [Axis], statement: &'p Statement) -> Option<Contraction<'p>> {
    let Op::Reduce { space: inner, op, neutral, body, .. } = &statement.op else { return None };
    let ([_], [around_inner @ .., inner], [Atom::Const(zero)]) =
        (statement.binders.as_slice(), inner.as_slice(), neutral.as_slice())
    else {
        return None;
    };
    let prim = zero.prim();
    if !matches!(prim, Prim::F32 | Prim::F64) || *zero != Const::zero(prim) || !op.is_addition() {
        return None;
    }
    let (product, before) = body.statements.split_last()?;
    let Op::Prim(PrimOp::Binary(times @ (BinaryOp::Mul | BinaryOp::Scale), _), args) = &product.op else { return None };
    let ([z], [x, y]) = (product.binders.as_slice(), args.as_slice()) else { return None };
    let reads_and_computes = before.iter().all(|it| matches!(it.op, Op::Index { .. } | Op::Prim(..)));
    if body.results != [Atom::Var(z.var)] || !reads_and_computes {
        return None;
    }
    let scaled = (*times == BinaryOp::Scale).then_some(Scaled::ByRight);
    let axes: Vec<Var> = space.iter().chain(around_inner).chain([inner]).map(|axis| axis.var).collect();
    let (left, right) = (factor(x, before, &axes)?, factor(y, before, &axes)?);
    let uses_all = |factor: &Factor<'_>| around_inner.iter().chain([inner]).all(|axis| factor.uses(axis.var));
    let fits = |factor: &Factor<'_>| factor.is_simple(&axes) && uses_all(factor);
    let around_inner = around_inner.iter().collect();
    (fits(&left) && fits(&right)).then_some(Contraction { prim, inner, around_inner, left, right, scaled, row: None, column: 0 })
}

/// What a variable is: an element, or made of elements and of numbers from outside.
fn factor<'p>(atom: &Atom, statements: &'p [Statement], axes: &[Var]) -> Option<Factor<'p>> {
    let own = |var: Var| statements.iter().any(|it| it.binders.iter().any(|binder| binder.var == var));
    let mut needed: FxHashSet<Var> = atom.as_var().into_iter().collect();
    let mut making = Vec::new();
    for statement in statements.iter().rev().filter(|it| !it.binders.is_empty()) {
        if !statement.binders.iter().any(|binder| needed.contains(&binder.var)) {
            continue;
        }
        match &statement.op {
            Op::Index { array, .. } if !matches!(array, Atom::Var(var) if own(*var)) => {}
            Op::Prim(op, _) if op.result().is_float() => {}
            _ => return None,
        }
        statement.op.for_each_atom(&mut |used| needed.extend(used.as_var()));
        making.push(statement);
    }
    if let [Statement { op: Op::Index { array, indices }, .. }] = making.as_slice() {
        return Some(Factor { source: Source::Array(array), indices: indices.clone() });
    }
    making.reverse();
    let indices = axes.iter().filter(|axis| needed.contains(axis)).map(|axis| Atom::Var(*axis)).collect();
    (!making.is_empty()).then_some(Factor { source: Source::Made(making), indices })
}
