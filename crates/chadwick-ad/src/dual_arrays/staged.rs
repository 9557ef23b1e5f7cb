//! Arrays as terms that compute them (Smeding, section 4.10.2): what a function does with them is written down. Control flow of the host is
//! done with when the term is there.

use super::algebra::{Algebra, IndexRule};
use super::term::{
    self, Elementwise, IndexFunction, Name, Names, Reads, Shape, Step, Term, Tree, bind, build, deep, elementwise, fold, gather,
    given, index, index_var, iota, outer, overwrite, rebuilt, reduce_outer, replicate, reshape, scatter, stack, sum_outer,
    transpose, var_like, walk,
};
use chadwick_core::{Atom, BinaryOp, Const, Prim};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The instance of terms.
#[derive(Clone, Default)]
pub struct Staged {
    pub(super) names: Names,
    shares: Rc<Cell<usize>>,
    /// Whether there are to be no walks, since the terms will stand inside builds.
    no_walks: bool,
}

impl Staged {
    pub(super) fn new(names: &Names) -> Staged {
        Staged { names: names.clone(), shares: Rc::default(), no_walks: false }
    }

    pub(super) fn without_walks(names: &Names) -> Staged {
        Staged { no_walks: true, ..Staged::new(names) }
    }

    /// How many numbers of shares are used.
    pub(super) fn shares(&self) -> usize {
        self.shares.get()
    }

    /// A term in which shares that depend on variables bound around it are bindings.
    fn local(&self, tree: &Tree, bound: &[Name]) -> Tree {
        let mut found = Unshared::new(&self.names, Some(bound));
        let body = found.tree(tree);
        found.stacked.into_values().rev().fold(body, |body, (name, value)| bind(name, value, body))
    }
}

impl Algebra for Staged {
    type Array = Tree;
    type Function = IndexFunction;

    fn prim(&self, array: &Tree) -> Prim {
        array.prim
    }

    fn shape(&self, array: &Tree) -> Shape {
        array.shape.clone()
    }

    fn constant(&self, value: Const) -> Tree {
        outer(Atom::Const(value), value.prim(), Vec::new())
    }

    fn outer(&self, value: &Tree) -> Tree {
        Rc::clone(value)
    }

    fn function(&self, domain: &[Atom], run: IndexRule<'_, Tree>) -> IndexFunction {
        let params: Vec<Name> = domain.iter().map(|_| self.names.fresh()).collect();
        let variables: Vec<Tree> = params.iter().map(|param| index_var(*param)).collect();
        let indices = run(&variables).iter().map(|index| self.local(index, &params)).collect();
        IndexFunction { params, indices }
    }

    fn let_(&self, value: Tree, body: &mut dyn FnMut(Tree) -> Tree) -> Tree {
        if value.is_simple() {
            return body(value);
        }
        let name = self.names.fresh();
        let body = body(var_like(name, &value));
        bind(name, value, self.local(&body, &[name]))
    }

    fn share(&self, array: Tree) -> Tree {
        if array.is_simple() || matches!(array.term, Term::Share(..)) {
            return array;
        }
        self.shares.set(self.shares.get() + 1);
        term::share(self.shares.get(), array)
    }

    fn elementwise(&self, op: Elementwise, args: Vec<Tree>) -> Tree {
        elementwise(op, args)
    }

    fn iota(&self, count: &Atom) -> Tree {
        iota(count.clone())
    }

    fn index(&self, base: Tree, indices: Vec<Tree>, reads: &Reads) -> Tree {
        index(base, indices, reads.clone())
    }

    fn gather(&self, shape: &[Atom], base: Tree, function: &IndexFunction, reads: &Reads) -> Tree {
        gather(shape.to_vec(), base, function.clone(), reads.clone())
    }

    fn scatter(&self, shape: &[Atom], of: Tree, function: &IndexFunction) -> Tree {
        scatter(shape.to_vec(), of, function.clone())
    }

    fn overwrite(&self, base: Tree, at: &IndexFunction, value: Tree, is_total: bool) -> Tree {
        overwrite(base, at.clone(), value, is_total)
    }

    fn sum_outer(&self, of: Tree) -> Tree {
        sum_outer(of)
    }

    fn reduce_outer(&self, op: BinaryOp, of: Tree) -> Tree {
        reduce_outer(op, of)
    }

    fn stack(&self, rows: Vec<Tree>) -> Tree {
        stack(rows)
    }

    fn replicate(&self, count: &Atom, of: Tree) -> Tree {
        replicate(count.clone(), of)
    }

    fn transpose(&self, permutation: &[usize], of: Tree) -> Tree {
        transpose(permutation, of)
    }

    fn reshape(&self, shape: &[Atom], of: Tree) -> Tree {
        reshape(shape.to_vec(), of)
    }

    fn fold(&self, states: &Atom, step: &Rc<Step>, init: Tree, arrays: Vec<Tree>) -> Tree {
        fold(states.clone(), Rc::clone(step), init, arrays)
    }

    fn walk(&self, step: &Rc<Step>, init: Tree, arrays: Vec<Tree>) -> (Tree, Vec<Tree>) {
        let count = arrays.first().and_then(|array| array.shape.first().cloned()).unwrap_or(Atom::i64(0));
        let last = self.share(walk(Rc::clone(step), init, arrays));
        let one = |(number, like): (usize, &Tree)| given(count.clone(), number, like, Rc::clone(&last));
        let gives = step.gives.iter().enumerate().map(one).collect();
        (last, gives)
    }

    fn can_walk(&self) -> bool {
        !self.no_walks
    }

    fn build(&self, count: usize, row: &mut dyn FnMut(Tree) -> Tree) -> Tree {
        let name = self.names.fresh();
        let body = row(index_var(name));
        build(Atom::i64(count as i64), name, self.local(&body, &[name]))
    }
}

/// What `shareToLet` makes of terms (figure 4.21).
pub(super) struct Bindings {
    /// By the number of the share; what is bound first is needed by the others.
    pub shares: BTreeMap<usize, (Name, Tree)>,
    /// The terms without shares.
    pub trees: Vec<Tree>,
}

/// `shareToLet` for several terms: what they share is computed once.
pub(super) fn share_to_let(names: &Names, trees: &[Tree]) -> Bindings {
    let mut unshared = Unshared::new(names, None);
    let trees = trees.iter().map(|tree| unshared.tree(tree)).collect();
    Bindings { shares: unshared.stacked, trees }
}

struct Unshared<'n> {
    names: &'n Names,
    /// Only shares that depend on one of these are taken, if this says so.
    bound: Option<&'n [Name]>,
    known: FxHashMap<usize, Tree>,
    stacked: BTreeMap<usize, (Name, Tree)>,
}

impl<'n> Unshared<'n> {
    fn new(names: &'n Names, bound: Option<&'n [Name]>) -> Self {
        Unshared { names, bound, known: FxHashMap::default(), stacked: BTreeMap::new() }
    }

    fn tree(&mut self, tree: &Tree) -> Tree {
        if self.bound.is_some_and(|bound| !bound.iter().any(|name| tree.mentions(*name))) {
            return Rc::clone(tree);
        }
        let Term::Share(number, inner) = &tree.term else {
            return deep(|| rebuilt(tree, &mut |part| self.tree(part)));
        };
        if let Some(variable) = self.known.get(number) {
            return Rc::clone(variable);
        }
        let inner = deep(|| self.tree(inner));
        let name = self.names.fresh();
        let variable = var_like(name, &inner);
        self.known.insert(*number, Rc::clone(&variable));
        self.stacked.insert(*number, (name, inner));
        variable
    }
}
