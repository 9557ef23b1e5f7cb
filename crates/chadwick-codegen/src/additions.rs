//! Arrays that are made to be added to an accumulator, and perhaps to be summed as well: each element is added in the loop that makes it.
//!
//! `accumulate h slice [0 : n : 1] += xs` becomes a loop of additions at `h[i]`, which [`crate::schedule`] joins with the loop of `xs`. Then
//! `xs` is never stored.

use chadwick_core::{Atom, Axis, Block, Builder, Const, Op, PathStep, Prim, Program, SliceDim, Statement, Type, Var};
use rustc_hash::FxHashMap;

/// Adds element by element where that saves an array.
pub(crate) fn spread(program: &mut Program) {
    crate::rewrite_bodies(program, block);
}

fn block(b: &mut Builder<'_>, body: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let added = added_arrays(&body);
        b.push_block();
        for Statement { binders, op, span } in body.statements {
            b.set_span(span);
            let op = match op {
                Op::Accumulate { handle, path, value: Atom::Var(array) } if added.contains_key(&array) => {
                    element_by_element(b, handle, path, array, &added[&array])
                }
                op => op.map_blocks(&mut |inner| block(b, inner)),
            };
            b.push_statement(Statement { binders, op, span });
        }
        b.pop_block(body.results)
    })
}

/// The loop that adds an array of these sizes to a part of an accumulator.
fn element_by_element(b: &mut Builder<'_>, handle: Atom, mut path: Vec<PathStep>, array: Var, sizes: &[Atom]) -> Op {
    let space: Vec<Axis> =
        sizes.iter().map(|size| Axis { var: b.param("i", Type::Prim(Prim::I64)).var, size: size.clone() }).collect();
    let place: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
    path.pop();
    path.push(PathStep::Index(place.clone()));
    let body = b.block(|b| {
        let element = b.emit(Op::Index { array: Atom::Var(array), indices: place }).unwrap_or_default();
        if let Some(value) = element.into_iter().next() {
            let statement = Op::Accumulate { handle, path, value };
            b.push_statement(Statement { binders: Vec::new(), op: statement, span: b.span() });
        }
        Vec::new()
    });
    Op::Build { space, inner: Vec::new(), body }
}

/// Arrays of numbers of a block that are added once, whole, to a part that begins at zero, and else are only summed; with their sizes. The loops
/// that make them have no loops inside, which would have better places for what they make.
fn added_arrays(body: &Block) -> FxHashMap<Var, Vec<Atom>> {
    let mut found: FxHashMap<Var, Vec<Atom>> = FxHashMap::default();
    for statement in &body.statements {
        if let Op::Build { space, body, .. } = &statement.op
            && body.statements.iter().all(|inner| inner.op.scopes().is_empty())
        {
            let is_number = |ty: &Type| matches!(ty.peel(space.len()), Some(Type::Prim(prim)) if prim != Prim::Bool);
            let sizes: Vec<Atom> = space.iter().map(|axis| axis.size.clone()).collect();
            let binders = statement.binders.iter().filter(|binder| is_number(&binder.ty));
            found.extend(binders.map(|binder| (binder.var, sizes.clone())));
        }
    }
    let mut additions: FxHashMap<Var, usize> = FxHashMap::default();
    for statement in &body.statements {
        match &statement.op {
            Op::Accumulate { path, value: Atom::Var(array), .. }
                if found
                    .get(array)
                    .is_some_and(|sizes| matches!(path.last(), Some(PathStep::Slice(dims)) if is_all(dims, sizes))) =>
            {
                *additions.entry(*array).or_default() += 1;
            }
            Op::Reduce { space, body, .. } => {
                let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
                crate::schedule::outside_uses(&statement.op, &axes, &mut |var| drop(found.remove(&var)));
                let sizes: Vec<Atom> = space.iter().map(|axis| axis.size.clone()).collect();
                let read = chadwick_core::visit::free_variables(body);
                found.retain(|var, own| *own == sizes || !read.contains(var));
            }
            op => crate::schedule::outside_uses(op, &[], &mut |var| drop(found.remove(&var))),
        }
    }
    for result in &body.results {
        if let Atom::Var(var) = result {
            found.remove(var);
        }
    }
    found.retain(|array, _| additions.get(array) == Some(&1));
    found
}

/// Whether a slice begins at zero and has these sizes.
fn is_all(dims: &[SliceDim], sizes: &[Atom]) -> bool {
    let number = |atom: &Atom, number: i64| *atom == Atom::Const(Const::I64(number));
    let fits = |(dim, size): (&SliceDim, &Atom)| matches!(dim, SliceDim::Range { start, count, stride } if number(start, 0) && number(stride, 1) && count == size);
    dims.len() == sizes.len() && dims.iter().zip(sizes).all(fits)
}
