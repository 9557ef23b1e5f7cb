//! Terms run at any kind of arrays (Smeding, section 4.10.3.3): what a term says is done by the operations of the instance.
//!
//! Shares are to be bindings before ([`super::staged::share_to_let`]).

use super::algebra::{Algebra, known};
use super::term::{IndexFunction, Name, Term, Tree, deep};
use chadwick_core::Atom;
use rustc_hash::FxHashMap;

pub(super) struct Interpreter<'a, A: Algebra> {
    pub algebra: &'a A,
    pub values: FxHashMap<Name, A::Array>,
    /// What the walks give that variables are bound to.
    given: FxHashMap<Name, Vec<A::Array>>,
}

impl<'a, A: Algebra> Interpreter<'a, A> {
    pub fn new(algebra: &'a A, values: FxHashMap<Name, A::Array>) -> Self {
        Interpreter { algebra, values, given: FxHashMap::default() }
    }

    /// What a variable is to be bound to.
    fn value(&mut self, name: Name, tree: &Tree) -> A::Array {
        let Term::Walk(step, init, arrays) = &tree.term else { return self.tree(tree) };
        let init = self.tree(init);
        let (last, given) = self.algebra.walk(step, init, self.trees(arrays));
        self.given.insert(name, given);
        last
    }

    /// Binds a variable for all that follows.
    pub fn bind(&mut self, name: Name, tree: &Tree) {
        let value = self.value(name, tree);
        self.values.insert(name, self.algebra.share(value));
    }

    pub fn tree(&mut self, tree: &Tree) -> A::Array {
        deep(|| self.tree_here(tree))
    }

    fn trees(&mut self, trees: &[Tree]) -> Vec<A::Array> {
        trees.iter().map(|tree| self.tree(tree)).collect()
    }

    fn tree_here(&mut self, tree: &Tree) -> A::Array {
        let algebra = self.algebra;
        match &tree.term {
            Term::Outer(Atom::Const(constant)) if tree.shape.is_empty() => algebra.constant(*constant),
            Term::Outer(_) => algebra.outer(tree),
            // Terms are closed but for what the caller binds.
            Term::Var(name) => match self.values.get(name) {
                Some(value) => value.clone(),
                None => algebra.zeros(tree.prim, &tree.shape),
            },
            Term::Let(name, value, body) => {
                let value = self.value(*name, value);
                algebra.let_(value, &mut |value| {
                    self.values.insert(*name, value);
                    self.tree(body)
                })
            }
            Term::Share(_, of) => self.tree(of),
            Term::Elementwise(op, args) => algebra.elementwise(*op, self.trees(args)),
            Term::Iota => algebra.iota(tree.shape.first().unwrap_or(&Atom::i64(0))),
            Term::Index(base, indices, reads) => {
                let base = self.tree(base);
                algebra.index(base, self.trees(indices), reads)
            }
            Term::Gather(base, function, reads) => {
                let base = self.tree(base);
                let function = self.function(&tree.shape, function);
                algebra.gather(&tree.shape, base, &function, reads)
            }
            Term::Scatter(of, function) => {
                let shape = &of.shape;
                let of = self.tree(of);
                let function = self.function(shape, function);
                algebra.scatter(&tree.shape, of, &function)
            }
            Term::Overwrite { base, at, value, is_total } => {
                let shape = &value.shape;
                let (base, value) = (self.tree(base), self.tree(value));
                let at = self.function(shape, at);
                algebra.overwrite(base, &at, value, *is_total)
            }
            Term::SumOuter(of) => algebra.sum_outer(self.tree(of)),
            Term::ReduceOuter(op, of) => algebra.reduce_outer(*op, self.tree(of)),
            Term::Stack(rows) => algebra.stack(self.trees(rows)),
            Term::Replicate(of) => algebra.replicate(tree.shape.first().unwrap_or(&Atom::i64(0)), self.tree(of)),
            Term::Transpose(permutation, of) => algebra.transpose(permutation, self.tree(of)),
            Term::Reshape(of) => algebra.reshape(&tree.shape, self.tree(of)),
            Term::Fold(step, init, arrays) => {
                let init = self.tree(init);
                algebra.fold(tree.shape.first().unwrap_or(&Atom::i64(1)), step, init, self.trees(arrays))
            }
            Term::Walk(step, init, arrays) => {
                let init = self.tree(init);
                algebra.walk(step, init, self.trees(arrays)).0
            }
            Term::Given(number, walk) => {
                let name = if let Term::Var(name) = &walk.term { Some(name) } else { None };
                let given = name.and_then(|name| self.given.get(name)).and_then(|given| given.get(*number).cloned());
                given.unwrap_or_else(|| algebra.zeros(tree.prim, &tree.shape))
            }
            Term::Build(name, body) => match tree.shape.first().and_then(known) {
                None | Some(0) => algebra.zeros(tree.prim, &tree.shape),
                Some(count) => algebra.build(count, &mut |index| {
                    self.values.insert(*name, index);
                    self.tree(body)
                }),
            },
        }
    }

    fn function(&mut self, shape: &[Atom], function: &IndexFunction) -> A::Function {
        let domain = &shape[..function.params.len().min(shape.len())];
        self.algebra.function(domain, &mut |indices| {
            self.values.extend(function.params.iter().copied().zip(indices.iter().cloned()));
            self.trees(&function.indices)
        })
    }
}
