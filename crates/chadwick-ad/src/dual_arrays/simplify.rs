//! Equations between operations on arrays, from left to right. The transformation into bulk operations and the reverse pass both leave
//! gathers and scatters that only permute, repeat or add up axes; as such they cost nothing, or no more than a sum.
//!
//! A read that may fail keeps failing: an index goes away only if it is known to be in range.

use super::bulk::Bulk;
use super::normal_form::{may_be_indexed, violation};
use super::term::{
    Elementwise, IndexFunction, Name, Names, Reads, Term, Tree, bind, deep, elementwise, gather, index_var, rebuilt, replicate,
    reshape, substitute, sum_outer, transpose, unwanted,
};
use chadwick_core::{Atom, BinaryOp, Const, PrimOp};
use std::rc::Rc;

pub(super) struct Simplifier<'n> {
    pub names: &'n Names,
}

impl Simplifier<'_> {
    pub fn tree(&self, tree: &Tree) -> Tree {
        deep(|| match &tree.term {
            Term::Let(name, value, body) => self.binding(*name, value, body),
            _ => self.root(rebuilt(tree, &mut |part| self.tree(part))),
        })
    }

    /// What is only another name is substituted, what is not used goes away.
    fn binding(&self, name: Name, value: &Tree, body: &Tree) -> Tree {
        let value = self.tree(value);
        if value.is_simple() {
            return self.tree(&substitute(body, name, &value));
        }
        let body = self.tree(body);
        if body.mentions(name) { bind(name, value, body) } else { body }
    }

    /// Bindings whose values are simplified; those that are only other names are substituted in what follows.
    pub fn bindings(&self, bindings: &[(Name, Tree)], results: &[Tree]) -> (Vec<(Name, Tree)>, Vec<Tree>) {
        let mut renamed: Vec<(Name, Tree)> = Vec::new();
        let mut kept = Vec::new();
        let current = |tree: &Tree, renamed: &[(Name, Tree)]| {
            let tree = renamed.iter().fold(Rc::clone(tree), |tree, (name, value)| substitute(&tree, *name, value));
            self.tree(&tree)
        };
        for (name, tree) in bindings {
            let tree = current(tree, &renamed);
            match tree.is_simple() {
                true => renamed.push((*name, tree)),
                false => kept.push((*name, tree)),
            }
        }
        let results = results.iter().map(|tree| current(tree, &renamed)).collect();
        (kept, results)
    }

    /// Applies equations at the root until there is none. The parts are simplified.
    fn root(&self, tree: Tree) -> Tree {
        let mut tree = tree;
        while let Some(simpler) = deep(|| self.step(&tree)) {
            tree = simpler;
        }
        tree
    }

    fn step(&self, tree: &Tree) -> Option<Tree> {
        match &tree.term {
            Term::Transpose(permutation, of) => self.transposed(permutation, of),
            Term::Reshape(of) => match &of.term {
                _ if of.shape == tree.shape => Some(Rc::clone(of)),
                Term::Reshape(inner) => Some(reshape(tree.shape.clone(), Rc::clone(inner))),
                _ => None,
            },
            Term::Gather(base, function, reads) => self.gathered(tree, base, function, reads),
            Term::Scatter(of, function) => self.scattered(tree, of, function),
            Term::Elementwise(op, args) => self.repeated(tree, *op, args),
            // Of a scatter that turned out to be something simpler.
            Term::Index(base, indices, reads) if violation(base).is_none() && !may_be_indexed(base, indices.len()) => {
                Some(self.tree(&Bulk { names: self.names }.index(base, indices.clone(), reads)))
            }
            _ => None,
        }
    }

    /// `tr_0,1,.. t = t`, `tr_p (tr_q t) = tr_q.p t`
    fn transposed(&self, permutation: &[usize], of: &Tree) -> Option<Tree> {
        if permutation.iter().enumerate().all(|(at, axis)| at == *axis) {
            return Some(Rc::clone(of));
        }
        let Term::Transpose(inner, base) = &of.term else { return None };
        let composed: Vec<usize> = permutation.iter().map(|axis| inner[*axis]).collect();
        Some(transpose(&composed, Rc::clone(base)))
    }

    /// Arithmetic on what is the same in all rows is done for one row.
    fn repeated(&self, tree: &Tree, op: Elementwise, args: &[Tree]) -> Option<Tree> {
        let row = |arg: &Tree| match &arg.term {
            Term::Replicate(of) => Some(Rc::clone(of)),
            _ => None,
        };
        let rows: Vec<Tree> = args.iter().map(row).collect::<Option<_>>()?;
        let count = tree.shape.first()?.clone();
        Some(replicate(count, self.root(elementwise(op, rows))))
    }

    fn gathered(&self, tree: &Tree, base: &Tree, function: &IndexFunction, reads: &Reads) -> Option<Tree> {
        let domain = &tree.shape[..function.params.len().min(tree.shape.len())];
        if let Some(axes) = axes_of(function, domain, &base.shape) {
            return Some(self.broadcast(base, &axes, domain));
        }
        let in_range = |at: usize| {
            let (Some(index), Some(extent)) = (function.indices.get(at), base.shape.get(at)) else { return false };
            matches!(reads, Reads::Total | Reads::InRange) || is_in_range(index, extent, &function.params, domain)
        };
        match &base.term {
            // What the first index is does not matter.
            Term::Replicate(of) if !function.indices.is_empty() && in_range(0) => {
                let function = IndexFunction { params: function.params.clone(), indices: function.indices[1..].to_vec() };
                Some(gather(tree.shape.clone(), Rc::clone(of), function, reads.clone()))
            }
            Term::Transpose(permutation, of) => {
                let count = function.indices.len();
                let moved = permutation.iter().enumerate().all(|(at, axis)| if at < count { *axis < count } else { *axis == at });
                let indices = (0..count).filter_map(|axis| permutation.iter().position(|from| *from == axis));
                let indices: Vec<Tree> = indices.filter_map(|at| function.indices.get(at).cloned()).collect();
                let function = IndexFunction { params: function.params.clone(), indices };
                moved.then(|| gather(tree.shape.clone(), Rc::clone(of), function, reads.clone()))
            }
            Term::Gather(inner, inner_function, inner_reads) => {
                let count = inner_function.params.len().min(function.indices.len());
                let sure = |at| is_in_range(&function.indices[at], &base.shape[at], &function.params, domain);
                let alike = matches!((reads, inner_reads), (Reads::Total, Reads::Total) | (Reads::InRange, _));
                let all_sure = *reads == Reads::InRange || (0..function.indices.len()).all(sure);
                if !alike && !all_sure {
                    return None;
                }
                let mut composed = self.composed(function, inner_function, count)?;
                if !all_sure {
                    composed.indices = composed.indices.iter().map(unwanted).collect();
                }
                Some(gather(tree.shape.clone(), Rc::clone(inner), composed, inner_reads.clone()))
            }
            _ => None,
        }
    }

    /// One index function after another, unless that would compute indices more often.
    fn composed(&self, outer: &IndexFunction, inner: &IndexFunction, count: usize) -> Option<IndexFunction> {
        if inner.indices.iter().map(operations).sum::<usize>() > 1 {
            return None;
        }
        let rest: Vec<Name> = inner.params[count..].iter().map(|_| self.names.fresh()).collect();
        let variables = rest.iter().map(|name| index_var(*name));
        let values: Vec<Tree> = outer.indices[..count].iter().cloned().chain(variables).collect();
        for (param, value) in inner.params.iter().zip(&values) {
            let uses = inner.indices.iter().filter(|index| index.mentions(*param)).count();
            if uses > 1 && !value.is_simple() {
                return None;
            }
        }
        let index = |index: &Tree| {
            inner.params.iter().zip(&values).fold(Rc::clone(index), |index, (param, value)| substitute(&index, *param, value))
        };
        let indices = inner.indices.iter().map(index).chain(outer.indices[count..].iter().cloned()).collect();
        Some(IndexFunction { params: [outer.params.clone(), rest].concat(), indices })
    }

    /// The array with its axes put in these places of a larger one, and the same along the others.
    fn broadcast(&self, base: &Tree, axes: &[usize], domain: &[Atom]) -> Tree {
        let others: Vec<usize> = (0..domain.len()).filter(|axis| !axes.contains(axis)).collect();
        let repeated = others.iter().rev().fold(Rc::clone(base), |array, axis| replicate(domain[*axis].clone(), array));
        let order: Vec<usize> = others.iter().chain(axes).copied().collect();
        let permutation: Vec<usize> = (0..domain.len()).filter_map(|axis| order.iter().position(|at| *at == axis)).collect();
        self.root(transpose(&permutation, repeated))
    }

    /// A scatter along axes adds up the others.
    fn scattered(&self, tree: &Tree, of: &Tree, function: &IndexFunction) -> Option<Tree> {
        let domain = &of.shape[..function.params.len().min(of.shape.len())];
        let axes = axes_of(function, domain, &tree.shape)?;
        let others = (0..domain.len()).filter(|axis| !axes.contains(axis));
        let permutation: Vec<usize> = others.chain(axes.iter().copied()).collect();
        let first = self.root(transpose(&permutation, Rc::clone(of)));
        Some((axes.len()..domain.len()).fold(first, |array, _| sum_outer(array)))
    }
}

/// Which parameters the indices are, if each is a different one that goes through a whole axis of the array.
fn axes_of(function: &IndexFunction, domain: &[Atom], shape: &[Atom]) -> Option<Vec<usize>> {
    let mut axes = Vec::new();
    for (index, extent) in function.indices.iter().zip(shape) {
        let Term::Var(name) = index.term else { return None };
        let axis = function.params.iter().position(|param| *param == name)?;
        if domain.get(axis) != Some(extent) || axes.contains(&axis) {
            return None;
        }
        axes.push(axis);
    }
    Some(axes)
}

/// How many operations an index takes.
fn operations(tree: &Tree) -> usize {
    match &tree.term {
        Term::Outer(_) | Term::Var(_) => 0,
        Term::Elementwise(_, args) => 1 + args.iter().map(operations).sum::<usize>(),
        Term::Index(base, indices, _) if base.is_simple() => indices.iter().map(operations).sum(),
        // More than anyone wants to repeat.
        _ => 100,
    }
}

/// Whether an index is known to be in the range of an axis, for parameters below these extents.
fn is_in_range(index: &Tree, extent: &Atom, params: &[Name], domain: &[Atom]) -> bool {
    if let Term::Var(name) = index.term {
        let own = params.iter().position(|param| *param == name).and_then(|at| domain.get(at));
        if own == Some(extent) {
            return true;
        }
    }
    let Some(count) = number(extent) else { return false };
    bounds(index, params, domain).is_some_and(|(low, high)| low >= 0 && high < count)
}

fn number(extent: &Atom) -> Option<i128> {
    match extent {
        Atom::Const(Const::I64(count)) => Some(i128::from(*count)),
        _ => None,
    }
}

/// The least and the greatest value of an index, if they are known; those of 64 bits are far from where arithmetic wraps.
fn bounds(index: &Tree, params: &[Name], domain: &[Atom]) -> Option<(i128, i128)> {
    let small = |(low, high): (i128, i128)| (low.min(-high) > -(1 << 60)).then_some((low, high));
    match &index.term {
        Term::Outer(atom) => number(atom).and_then(|value| small((value, value))),
        Term::Var(name) => {
            let at = params.iter().position(|param| param == name)?;
            small((0, (number(domain.get(at)?)? - 1).max(0)))
        }
        Term::Elementwise(Elementwise::Prim(PrimOp::Binary(op, _)), args) => {
            let [left, right] = args.as_slice() else { return None };
            let (left, right) = (bounds(left, params, domain)?, bounds(right, params, domain)?);
            small(match op {
                BinaryOp::Add => (left.0 + right.0, left.1 + right.1),
                BinaryOp::Sub => (left.0 - right.1, left.1 - right.0),
                BinaryOp::Mul if left.0 >= 0 && right.0 >= 0 => (left.0 * right.0, left.1 * right.1),
                BinaryOp::Mod if right.0 > 0 => (0, right.1 - 1),
                BinaryOp::Div if left.0 >= 0 && right.0 > 0 => (left.0 / right.1, left.1 / right.0),
                BinaryOp::Min => (left.0.min(right.0), left.1.min(right.1)),
                BinaryOp::Max => (left.0.max(right.0), left.1.max(right.1)),
                _ => return None,
            })
        }
        _ => None,
    }
}
