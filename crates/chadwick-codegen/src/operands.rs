//! Operands of matrix products that need not be arrays.
//!
//! Of many products side by side, `build [i, k, j] (sum over l of a[i, k, l] * b[k, l, j])`, each needs one matrix of `a`. If `a` is a
//! little arithmetic on other arrays, and only such products read it, its elements are computed where they are read: the product makes
//! the matrix that it is about to use, in memory that is still in the cache, and the whole array is never there.

use chadwick_core::visit::Copier;
use chadwick_core::{Atom, Axis, Block, Const, Op, Prim, PrimOp, Program, Statement, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most statements that make an element.
const LONGEST: usize = 8;

/// Moves arithmetic into the products that alone read it.
pub(crate) fn inline(program: &mut Program) {
    for at in 0..program.functions.len() {
        let body = std::mem::take(&mut program.functions[at].body);
        let mut readers = Readers::default();
        readers.block(&body);
        readers.made.retain(|var, _| readers.read.contains(var) && !readers.elsewhere.contains(var));
        program.functions[at].body = if readers.made.is_empty() { body } else { rewritten(program, body, &readers.made) };
    }
}

type Made = FxHashMap<Var, (Vec<Axis>, Block)>;

/// Arrays that are a little arithmetic, and who reads them.
#[derive(Default)]
struct Readers {
    made: Made,
    /// By products side by side, and in any other way.
    read: FxHashSet<Var>,
    elsewhere: FxHashSet<Var>,
}

impl Readers {
    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                if let Some((var, space, body)) = arithmetic(statement) {
                    self.made.insert(var, (space.to_vec(), body.clone()));
                }
                statement.op.for_each_atom(&mut |atom| self.elsewhere.extend(atom.as_var()));
                match products(statement) {
                    Some(products) => products.for_each_read(&mut |array, fits| {
                        if fits { &mut self.read } else { &mut self.elsewhere }.insert(array);
                    }),
                    None => statement.op.scopes().iter().for_each(|scope| self.block(scope.block)),
                }
            }
            self.elsewhere.extend(block.results.iter().filter_map(Atom::as_var));
        });
    }
}

/// An array of floats, each made by a few operations that cannot fail.
fn arithmetic(statement: &Statement) -> Option<(Var, &[Axis], &Block)> {
    let (Op::Build { space, body, .. }, [binder]) = (&statement.op, statement.binders.as_slice()) else { return None };
    let is_light = |it: &Statement| match &it.op {
        Op::Prim(op, _) => op.result().is_float() && !op.is_heavy(),
        Op::Index { .. } => it.binders.iter().all(|binder| binder.ty.as_prim().is_some_and(Prim::is_float)),
        _ => false,
    };
    let last = body.statements.last()?;
    let makes_it = matches!(last.op, Op::Prim(..)) && body.results == [Atom::Var(last.binders[0].var)];
    let reads = body.statements.iter().any(|it| matches!(it.op, Op::Index { .. }));
    let fits = makes_it && reads && body.statements.len() <= LONGEST && body.statements.iter().all(is_light);
    fits.then_some((binder.var, space.as_slice(), body))
}

/// A build of sums of products of two elements.
struct Products<'s> {
    space: &'s [Axis],
    inner: &'s Axis,
    factors: [&'s Statement; 2],
}

fn products(statement: &Statement) -> Option<Products<'_>> {
    let Op::Build { space, body, .. } = &statement.op else { return None };
    let ([sum], [_], [_]) = (body.statements.as_slice(), body.results.as_slice(), statement.binders.as_slice()) else {
        return None;
    };
    let Op::Reduce { space: inner, op, body: term, .. } = &sum.op else { return None };
    let ([inner], [first, second, product]) = (inner.as_slice(), term.statements.as_slice()) else { return None };
    let is_product = matches!(product.op, Op::Prim(PrimOp::Binary(..), _));
    let are_reads = matches!((&first.op, &second.op), (Op::Index { .. }, Op::Index { .. }));
    (is_product && are_reads && op.is_addition()).then_some(Products { space, inner, factors: [first, second] })
}

impl Products<'_> {
    /// Both arrays, and whether a matrix of it can be made for each product.
    fn for_each_read(&self, visit: &mut dyn FnMut(Var, bool)) {
        for (own, other) in [(0, 1), (1, 0)] {
            let (Op::Index { array: Atom::Var(array), indices }, Op::Index { indices: others, .. }) =
                (&self.factors[own].op, &self.factors[other].op)
            else {
                continue;
            };
            let is_axis = |index: &Atom| self.space.iter().chain([self.inner]).any(|axis| *index == Atom::Var(axis.var));
            let distinct = indices.iter().enumerate().all(|(at, index)| is_axis(index) && !indices[..at].contains(index));
            let has = |indices: &[Atom], axis: &Axis| indices.contains(&Atom::Var(axis.var));
            let any = |which: &dyn Fn(bool, bool) -> bool| self.space.iter().any(|it| which(has(indices, it), has(others, it)));
            let is_matrix = any(&|own, other| own && !other) && any(&|own, other| !own && other);
            let side_by_side = any(&|own, other| own && other);
            let is_long = !matches!(self.inner.size, Atom::Const(Const::I64(..=8)));
            let is_inner = has(indices, self.inner) && has(others, self.inner);
            visit(*array, distinct && is_matrix && side_by_side && is_long && is_inner);
        }
    }
}

/// The block without the arrays; their elements stand where they were read.
fn rewritten(program: &mut Program, block: Block, made: &Made) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut statements = Vec::with_capacity(block.statements.len());
        for statement in block.statements {
            match (&statement.op, statement.binders.as_slice()) {
                (_, [binder]) if made.contains_key(&binder.var) => {}
                (Op::Index { array: Atom::Var(array), indices }, [element]) if made.contains_key(array) => {
                    let (space, body) = &made[array];
                    let mut copier = Copier::new(program);
                    space.iter().zip(indices).for_each(|(axis, index)| copier.replace(axis.var, index.clone()));
                    let mut copy = copier.block(body).statements;
                    if let Some(last) = copy.last_mut() {
                        last.binders = vec![element.clone()];
                    }
                    statements.extend(copy);
                }
                _ => {
                    let op = statement.op.map_blocks(&mut |inner| rewritten(program, inner, made));
                    statements.push(Statement { op, ..statement });
                }
            }
        }
        Block { statements, results: block.results }
    })
}
