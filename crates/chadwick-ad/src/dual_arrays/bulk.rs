//! The bulk-operation transformation (Smeding, figures 4.10 to 4.12): no `build` is left, only operations on whole arrays.
//!
//! Where the rules as printed would do more work than the program does, these do not: an array that does not depend on the index is
//! gathered from as it is instead of being replicated, a `let` that does not depend on it moves out, and an index of a gather
//! is computed once outside of it. What moves out of a build of no elements must not fail there ([`super::term::moved_out`]).

use super::algebra::known;
use super::term::{
    Elementwise, IndexFunction, Name, Names, Reads, Step, Term, Tree, bind, deep, elementwise, fold, gather, index, index_var,
    iota, is_sure, moved_out, overwrite, rebuilt, reduce_outer, replicate, reshape, scatter, stack, substitute, sum_outer,
    transpose, unwanted, var, var_like, with_extent, zeros,
};
use chadwick_core::{Atom, BinaryOp, Prim, PrimOp};
use std::rc::Rc;

pub(super) struct Bulk<'n> {
    pub names: &'n Names,
}

impl Bulk<'_> {
    /// The normal form of a term: no `build`, and `index` only of variables, values from outside, scatters, and literal arrays.
    pub fn normal(&mut self, tree: &Tree) -> Tree {
        let tree = deep(|| rebuilt(tree, &mut |part| self.normal(part)));
        match &tree.term {
            Term::Build(name, body) => match tree.shape.first() {
                Some(count) if known(count) == Some(0) => zeros(tree.prim, &tree.shape),
                Some(count) => self.push(count, *name, body),
                None => tree,
            },
            Term::Index(base, indices, reads) => self.index(base, indices.clone(), reads),
            _ => tree,
        }
    }

    /// `build1 count (\name. body)` for a body in normal form.
    fn push(&mut self, count: &Atom, name: Name, body: &Tree) -> Tree {
        deep(|| self.push_here(count, name, body))
    }

    fn push_here(&mut self, count: &Atom, name: Name, body: &Tree) -> Tree {
        if !body.mentions(name) {
            return replicate(count.clone(), moved_out(body, count));
        }
        let shape = with_extent(count.clone(), &body.shape);
        match &body.term {
            Term::Var(_) => iota(count.clone()),
            Term::Let(local, value, rest) if !value.mentions(name) => {
                bind(*local, moved_out(value, count), self.push(count, name, rest))
            }
            Term::Let(local, value, rest) if is_address(value, 2) => {
                let rest = self.normal(&substitute(rest, *local, value));
                self.push(count, name, &rest)
            }
            Term::Let(local, value, rest) => {
                let (outer, index_name) = (self.names.fresh(), self.names.fresh());
                let values = self.push(count, name, value);
                let element = index(var_like(outer, &values), vec![index_var(index_name)], Reads::InRange);
                let rest = substitute(&substitute(rest, name, &index_var(index_name)), *local, &element);
                let rest = self.normal(&rest);
                bind(outer, values, self.push(count, index_name, &rest))
            }
            Term::Elementwise(op, args) => elementwise(*op, args.iter().map(|arg| self.push_renamed(count, name, arg)).collect()),
            Term::SumOuter(of) => sum_outer(transpose(&[1, 0], self.push(count, name, of))),
            Term::ReduceOuter(op, of) => reduce_outer(*op, transpose(&[1, 0], self.push(count, name, of))),
            Term::Gather(base, function, reads) => {
                let depends = base.mentions(name);
                let function = self.with_index(function, name, depends);
                let base = match depends {
                    true => self.push_renamed(count, name, base),
                    false => moved_out(base, count),
                };
                gather(shape, base, function, reads.clone())
            }
            Term::Scatter(of, function) => {
                let function = self.with_index(function, name, true);
                scatter(shape, self.push_renamed(count, name, of), function)
            }
            Term::Overwrite { base, at, value, is_total } => {
                let at = self.with_index(at, name, true);
                let (base, value) = (self.push_renamed(count, name, base), self.push_renamed(count, name, value));
                overwrite(base, at, value, *is_total)
            }
            Term::Fold(step, init, arrays) => self.push_fold(count, name, body, (step, init, arrays)),
            Term::Stack(rows) => {
                let rows = rows.iter().map(|row| self.push_renamed(count, name, row)).collect();
                transpose(&[1, 0], stack(rows))
            }
            Term::Replicate(of) => {
                let inner = body.shape.first().cloned().unwrap_or(Atom::i64(1));
                transpose(&[1, 0], replicate(inner, self.push(count, name, of)))
            }
            Term::Transpose(permutation, of) => {
                let permutation: Vec<usize> = std::iter::once(0).chain(permutation.iter().map(|axis| axis + 1)).collect();
                transpose(&permutation, self.push(count, name, of))
            }
            Term::Reshape(of) => reshape(shape, self.push(count, name, of)),
            Term::Index(base, indices, reads) => {
                let depends = base.mentions(name);
                let function = IndexFunction { params: Vec::new(), indices: indices.clone() };
                let function = self.with_index(&function, name, depends);
                let base = match depends {
                    true => self.push_renamed(count, name, base),
                    false => moved_out(base, count),
                };
                gather(shape, base, function, reads.clone())
            }
            // Shares and walks come after this, builds are gone from a normal form, and the others mention no index.
            Term::Outer(_) | Term::Iota | Term::Build(..) | Term::Share(..) | Term::Walk(..) | Term::Given(..) => {
                replicate(count.clone(), Rc::clone(body))
            }
        }
    }

    /// Many folds at the same time are one, whose state has an axis more.
    fn push_fold(&mut self, count: &Atom, name: Name, body: &Tree, (step, init, arrays): (&Step, &Tree, &[Tree])) -> Tree {
        let at = self.names.fresh();
        let element = |name: Name, of: &Tree| {
            let all = var(name, of.prim, with_extent(count.clone(), &of.shape));
            index(all, vec![index_var(at)], Reads::InRange)
        };
        let state = self.names.fresh();
        let mut inner = substitute(&step.body, step.state, &element(state, &step.body));
        let (mut rows, mut batches) = (Vec::new(), Vec::new());
        for ((row, like), array) in step.rows.iter().zip(arrays) {
            if !array.mentions(name) {
                rows.push((*row, Rc::clone(like)));
                batches.push(moved_out(array, count));
                continue;
            }
            let batch = self.names.fresh();
            inner = substitute(&inner, *row, &element(batch, like));
            rows.push((batch, var(batch, like.prim, with_extent(count.clone(), &like.shape))));
            let all = self.push_renamed(count, name, array);
            batches.push(transpose(&[1, 0], all));
        }
        let inner = self.normal(&inner);
        let body_of_all = self.push(count, at, &inner);
        let (bindings, gives) = (Vec::new(), Vec::new());
        let step =
            Step { names: self.names.clone(), state, rows, bindings, body: body_of_all, gives, is_backward: step.is_backward };
        let init = self.push_renamed(count, name, init);
        let states = body.shape.first().cloned().unwrap_or(Atom::i64(1));
        transpose(&[1, 0], fold(states, Rc::new(step), init, batches))
    }

    /// The same where one index is pushed into several places: each gets its own.
    fn push_renamed(&mut self, count: &Atom, name: Name, body: &Tree) -> Tree {
        let own = self.names.fresh();
        self.push(count, own, &substitute(body, name, &index_var(own)))
    }

    /// An index function with one more parameter in front; also as an index, if the array has that axis.
    fn with_index(&mut self, function: &IndexFunction, name: Name, also_index: bool) -> IndexFunction {
        let own = self.names.fresh();
        let indices = function.indices.iter().map(|index| substitute(index, name, &index_var(own)));
        let front = also_index.then(|| index_var(own));
        IndexFunction {
            params: std::iter::once(own).chain(function.params.iter().copied()).collect(),
            indices: front.into_iter().chain(indices).collect(),
        }
    }

    /// `index base indices` for a base in normal form.
    pub fn index(&mut self, base: &Tree, indices: Vec<Tree>, reads: &Reads) -> Tree {
        deep(|| self.index_here(base, indices, reads))
    }

    fn index_here(&mut self, base: &Tree, indices: Vec<Tree>, reads: &Reads) -> Tree {
        if indices.is_empty() {
            return Rc::clone(base);
        }
        // The zero is that of the array, not of what it is made of; and an index that goes away cannot be out of range.
        let is_lost = matches!(base.term, Term::Elementwise(..) | Term::ReduceOuter(..) | Term::Replicate(_) | Term::Gather(..));
        // What is read out of range may be what an operation fails for.
        let may_fail = match &base.term {
            Term::Elementwise(Elementwise::Prim(op), args) => args.get(1).is_some_and(|operand| !is_sure(*op, operand)),
            _ => false,
        };
        let may_stray = !matches!(reads, Reads::InRange) && *reads != Reads::Checked(Vec::new());
        if is_lost && *reads == Reads::OrZero || may_fail && may_stray {
            let name = self.names.fresh();
            return bind(name, Rc::clone(base), index(var_like(name, base), indices, reads.clone()));
        }
        match &base.term {
            Term::Outer(_) | Term::Var(_) | Term::Scatter(..) | Term::Overwrite { .. } => {
                index(Rc::clone(base), indices, reads.clone())
            }
            Term::Index(inner, front, inner_reads) => {
                let indices = [front.clone(), indices].concat();
                self.index(inner, indices, &inner_reads.then(reads))
            }
            // A reshape is a view; the rule of the chapter would divide for each element instead. And an index has no derivative, even if it
            // is computed from what has one, so what is read from `0, 1, ..` is not the index itself.
            Term::Reshape(_) | Term::Fold(..) | Term::Walk(..) | Term::Given(..) | Term::Iota | Term::Share(..) => {
                let name = self.names.fresh();
                bind(name, Rc::clone(base), index(var_like(name, base), indices, reads.clone()))
            }
            Term::Let(name, value, body) => bind(*name, Rc::clone(value), self.index(body, indices, reads)),
            Term::Elementwise(op, args) => self.bound(indices, |bulk, indices| {
                elementwise(*op, args.iter().map(|arg| bulk.index(arg, indices.clone(), reads)).collect())
            }),
            Term::SumOuter(of) => {
                let count = indices.len();
                let permutation: Vec<usize> = (1..=count).chain([0]).collect();
                sum_outer(self.index(&transpose(&permutation, Rc::clone(of)), indices, reads))
            }
            Term::ReduceOuter(op, of) => {
                let permutation: Vec<usize> = (1..=indices.len()).chain([0]).collect();
                reduce_outer(*op, self.index(&transpose(&permutation, Rc::clone(of)), indices, reads))
            }
            Term::Stack(rows) => {
                let mut indices = indices;
                let first = indices.remove(0);
                self.bound(indices, |bulk, indices| {
                    let rows = rows.iter().map(|row| bulk.index(row, indices.clone(), reads)).collect();
                    index(stack(rows), vec![first], reads.clone())
                })
            }
            Term::Replicate(of) => self.index(of, indices[1..].to_vec(), reads),
            Term::Transpose(permutation, of) => {
                let params: Vec<Name> = permutation.iter().map(|_| self.names.fresh()).collect();
                let source = |axis: usize| permutation.iter().position(|at| *at == axis).map(|at| index_var(params[at]));
                let function = IndexFunction { indices: (0..permutation.len()).filter_map(source).collect(), params };
                let gathered = gather(base.shape.clone(), Rc::clone(of), function, reads.clone());
                self.index(&gathered, indices, reads)
            }
            Term::Gather(of, function, inner_reads) => {
                let Some((param, params)) = function.params.split_first() else {
                    let inner = self.index(of, function.indices.clone(), inner_reads);
                    return self.index(&inner, indices, reads);
                };
                // For an index out of range the function of indices gives anything.
                let (inner, inner_reads) = match reads {
                    Reads::Total => (function.indices.iter().map(unwanted).collect(), &Reads::Total),
                    _ => (function.indices.clone(), inner_reads),
                };
                let function = IndexFunction { params: params.to_vec(), indices: inner };
                let rest = gather(base.shape[1..].to_vec(), Rc::clone(of), function, inner_reads.clone());
                bind(*param, Rc::clone(&indices[0]), self.index(&rest, indices[1..].to_vec(), reads))
            }
            Term::Build(..) => index(Rc::clone(base), indices, reads.clone()),
        }
    }

    /// Makes something of indices that it may write several times.
    fn bound(&mut self, indices: Vec<Tree>, make: impl FnOnce(&mut Self, Vec<Tree>) -> Tree) -> Tree {
        let mut lets = Vec::new();
        let simple = indices.into_iter().map(|index| {
            if index.is_simple() {
                return index;
            }
            let name = self.names.fresh();
            lets.push((name, Rc::clone(&index)));
            var_like(name, &index)
        });
        let simple = simple.collect();
        let body = make(self, simple);
        lets.into_iter().rev().fold(body, |body, (name, value)| bind(name, value, body))
    }
}

/// Whether a scalar is a few sums of indices and the like: computed where it is used, it costs no more than an array of such numbers would.
fn is_address(tree: &Tree, operations: usize) -> bool {
    use BinaryOp::{Add, Sub};
    match &tree.term {
        _ if tree.prim != Prim::I64 || !tree.shape.is_empty() => false,
        Term::Var(_) | Term::Outer(_) => true,
        Term::Elementwise(Elementwise::Prim(PrimOp::Binary(Add | Sub, _)), args) if operations > 0 => {
            args.iter().all(|arg| is_address(arg, operations - 1))
        }
        _ => false,
    }
}
