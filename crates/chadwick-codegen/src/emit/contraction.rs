//! Matrix products: a `build` of sums of products of two elements.
//!
//! `build [i, j] (sum over l of a[i, l] * b[l, j])`, with the indices of each operand in any order and any number of further axes that both
//! operands share, goes to the register tiles of `rts/contraction.h`. Only where sums may be reordered. If the body does more with the sum
//! (adds a bias, applies a function), the product is formed first, and the loop takes each sum from there.

use super::{Array, Emitter, Value};
use crate::ir::*;
use chadwick_core::{Atom, Axis, BinaryOp, Block, Const, Lambda, Op, Prim, PrimOp, Statement, Var};
use rustc_hash::FxHashSet;

/// The parts of a contraction.
struct Contraction<'p> {
    prim: Prim,
    inner: &'p Axis,
    left: Factor<'p>,
    right: Factor<'p>,
    /// Whether the left operand is a cotangent and the right one its factor, or the other way round: a cotangent of zero makes zero,
    /// whatever the factor is.
    scaled: Option<Scaled>,
    /// The axis that only the left operand has, and the one that only the right one has.
    row: Option<usize>,
    column: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scaled {
    ByRight,
    ByLeft,
}

/// An element of an array.
#[derive(Clone, Copy)]
struct Factor<'p> {
    array: &'p Atom,
    indices: &'p [Atom],
}

impl Factor<'_> {
    fn uses(&self, var: Var) -> bool {
        self.indices.contains(&Atom::Var(var))
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
            let outside = |factor: &Factor<'_>| {
                let atoms = factor.indices.iter().chain([factor.array]);
                atoms.into_iter().all(|atom| !matches!(atom, Atom::Var(var) if inside.contains(var)))
            };
            if let ([binder], Some(found)) = (statement.binders.as_slice(), self.arranged(space, statement))
                && found.row.is_some()
                && outside(&found.left)
                && outside(&found.right)
                && !matches!(&found.inner.size, Atom::Var(var) if inside.contains(var))
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

    /// The contraction that a statement in a `build` over the space is, with its operands in the right order.
    fn arranged(&self, space: &'p [Axis], statement: &'p Statement) -> Option<Contraction<'p>> {
        if self.shared.strict {
            return None;
        }
        let mut found = recognise(space, statement)?;
        let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
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
        let (left, right) = (found.left, found.right);
        let rows: Vec<usize> = (0..axes.len()).filter(|at| left.uses(axes[*at]) && !right.uses(axes[*at])).collect();
        let columns: Vec<usize> = (0..axes.len()).filter(|at| right.uses(axes[*at]) && !left.uses(axes[*at])).collect();
        let shared = axes.iter().filter(|axis| left.uses(**axis) && right.uses(**axis)).count();
        if columns.len() != 1 || rows.len() > 1 || rows.len() + 1 + shared != axes.len() {
            return None;
        }
        if rows.is_empty() && !self.is_far_apart(&right, found.inner.var) {
            return None;
        }
        // A few products are done before a call is made.
        if matches!(&found.inner.size, Atom::Const(Const::I64(..=8))) {
            return None;
        }
        found.row = rows.first().copied();
        found.column = columns[0];
        Some(found)
    }

    /// Whether steps along the inner axis are not to the next element.
    fn is_far_apart(&self, factor: &Factor<'_>, inner: Var) -> bool {
        let array = self.array(factor.array);
        match &array.strides {
            None => factor.indices.last() != Some(&Atom::Var(inner)),
            Some(strides) => {
                let stride = factor.indices.iter().zip(strides).find(|(index, _)| **index == Atom::Var(inner));
                stride.is_some_and(|(_, stride)| stride.as_i64() != Some(1))
            }
        }
    }

    fn product(&mut self, var: Var, space: &'p [Axis], found: &Contraction<'p>) -> Array {
        let Contraction { left, right, row, column, .. } = *found;
        let mut bounds = Vec::new();
        for axis in space {
            let size = self.scalar(&axis.size);
            bounds.push(self.extent(&size));
        }
        let size = self.scalar(&found.inner.size);
        let inner = self.extent(&size);
        let name = self.var_name(var);
        let result = self.new_array(var, &name, Elem::Prim(found.prim), bounds.clone());
        let strides = self.strides(&result);
        // Axes that both operands have are loops around the product.
        let mut offset = Exp::i64(0);
        let mut opened = 0;
        for (at, axis) in space.iter().enumerate() {
            if Some(at) == row || at == column {
                continue;
            }
            let name = self.var_name(axis.var);
            let index = self.open_loop(&name, Prim::I64, bounds[at].clone());
            self.set(axis.var, Value::Scalar(Exp::Local(index)));
            offset = offset.add(Exp::Local(index).mul(strides[at].clone()));
            opened += 1;
        }
        let ranges: Vec<(Var, Exp)> = [row, Some(column)]
            .into_iter()
            .flatten()
            .map(|at| (space[at].var, bounds[at].clone()))
            .chain([(found.inner.var, inner.clone())])
            .collect();
        let row_var = row.map(|at| space[at].var);
        let left = self.operand(&left, row_var, found.inner.var, &ranges);
        let right = self.operand(&right, Some(space[column].var), found.inner.var, &ranges);
        let target = Exp::at(result.data.clone(), offset);
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
                let (n, k) = (bounds[at].clone(), bounds[column].clone());
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
                    target,
                    strides[at].clone(),
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
                let n = bounds[column].clone();
                let step = strides[column].clone();
                let mut args = vec![n, inner, right.data, right.row, right.inner, left.data, left.inner, target, step];
                args.extend(found.scaled.map(|_| by_right));
                self.push(Stm::Run(function, args));
            }
        }
        (0..opened).for_each(|_| self.close_loop(Mark::Sequential));
        result
    }

    /// Where an operand starts and how far apart its elements are along both axes; checks that all of them exist.
    fn operand(&mut self, factor: &Factor<'p>, row: Option<Var>, inner: Var, ranges: &[(Var, Exp)]) -> Operand {
        let array: Array = self.array(factor.array);
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

/// Whether the statement sums products of two elements.
fn recognise<'p>(space: &'p [Axis], statement: &'p Statement) -> Option<Contraction<'p>> {
    let Op::Reduce { space: inner, op, neutral, body, .. } = &statement.op else { return None };
    let ([_], [inner], [Atom::Const(zero)]) = (statement.binders.as_slice(), inner.as_slice(), neutral.as_slice()) else {
        return None;
    };
    let prim = zero.prim();
    if !matches!(prim, Prim::F32 | Prim::F64) || *zero != Const::zero(prim) || !is_sum(op) {
        return None;
    }
    let [first, second, product] = body.statements.as_slice() else { return None };
    let (Op::Index { array: a, indices: at_a }, Op::Index { array: b, indices: at_b }) = (&first.op, &second.op) else {
        return None;
    };
    let Op::Prim(PrimOp::Binary(times @ (BinaryOp::Mul | BinaryOp::Scale), _), args) = &product.op else { return None };
    let ([x], [y], [z]) = (first.binders.as_slice(), second.binders.as_slice(), product.binders.as_slice()) else { return None };
    let operands = [Atom::Var(x.var), Atom::Var(y.var)];
    let swapped = [Atom::Var(y.var), Atom::Var(x.var)];
    if (args.as_slice() != operands && args.as_slice() != swapped) || body.results != [Atom::Var(z.var)] {
        return None;
    }
    let scaled = match (times, args.as_slice() == operands) {
        (BinaryOp::Mul, _) => None,
        (_, true) => Some(Scaled::ByRight),
        (_, false) => Some(Scaled::ByLeft),
    };
    let (left, right) = (Factor { array: a, indices: at_a }, Factor { array: b, indices: at_b });
    let axes: Vec<Var> = space.iter().map(|axis| axis.var).chain([inner.var]).collect();
    let fits = |factor: &Factor<'_>| factor.is_simple(&axes) && factor.uses(inner.var);
    (fits(&left) && fits(&right)).then_some(Contraction { prim, inner, left, right, scaled, row: None, column: 0 })
}

/// Whether the operator adds its parameters.
fn is_sum(op: &Lambda) -> bool {
    let ([left, right], [statement]) = (op.params.as_slice(), op.body.statements.as_slice()) else { return false };
    let (Op::Prim(PrimOp::Binary(BinaryOp::Add, _), args), [sum]) = (&statement.op, statement.binders.as_slice()) else {
        return false;
    };
    args.as_slice() == [Atom::Var(left.var), Atom::Var(right.var)] && op.body.results == [Atom::Var(sum.var)]
}
