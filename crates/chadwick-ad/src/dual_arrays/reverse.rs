//! The reverse pass over a symbolic `Delta` (Smeding, figures 4.17 and 4.20): cotangents are terms.
//!
//! Shares are taken from the largest number down, so each is looked at once, with its whole cotangent. A cotangent that goes two ways
//! is marked to be computed once (`share`), and the marks become bindings afterwards (`shareToLet`, figure 4.21).

use super::delta::{Delta, DeltaNode, FROM_NOWHERE};
use super::term::{
    Elementwise, IndexFunction, Name, Names, Term, Tree, deep, elementwise, gather, index, integer, outer, rebuilt, replicate,
    reshape, scatter, share, sum_outer, transpose, var_like,
};
use chadwick_core::{Atom, BinaryOp, Const, Prim, PrimOp, UnaryOp};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The state of the pass.
pub(super) struct ReversePass {
    /// The cotangents of the inputs, as far as there are any.
    pub gradients: Vec<Option<Tree>>,
    waiting: BTreeMap<usize, (Rc<Delta>, Tree)>,
    shares: usize,
}

impl ReversePass {
    /// The cotangents of the inputs for the cotangents of some results.
    pub fn run(inputs: usize, results: Vec<(Rc<Delta>, Tree)>) -> Vec<Option<Tree>> {
        let mut pass = ReversePass { gradients: vec![None; inputs], waiting: BTreeMap::new(), shares: 0 };
        results.into_iter().for_each(|(delta, cotangent)| pass.eval(cotangent, &delta));
        while let Some((_, (delta, cotangent))) = pass.waiting.pop_last() {
            pass.eval(cotangent, &delta);
        }
        pass.gradients
    }

    fn eval(&mut self, cotangent: Tree, delta: &Rc<Delta>) {
        match &delta.node {
            DeltaNode::Input(number) => {
                if let Some(place) = self.gradients.get_mut(*number) {
                    *place = Some(sum(place.take(), cotangent));
                }
            }
            DeltaNode::Share(number, inner) => {
                let before = self.waiting.remove(number).map(|(_, cotangent)| cotangent);
                self.waiting.insert(*number, (Rc::clone(inner), sum(before, cotangent)));
            }
            DeltaNode::Add(left, right) => {
                let cotangent = self.once(cotangent);
                self.eval(Rc::clone(&cotangent), left);
                self.eval(cotangent, right);
            }
            DeltaNode::Scale(factor, inner) => {
                let op = PrimOp::Binary(BinaryOp::Scale, cotangent.prim);
                self.eval(elementwise(Elementwise::Prim(op), vec![cotangent, Rc::clone(factor)]), inner);
            }
            DeltaNode::Negate(inner) => {
                let op = PrimOp::Unary(UnaryOp::Negate, cotangent.prim);
                self.eval(elementwise(Elementwise::Prim(op), vec![cotangent]), inner);
            }
            DeltaNode::Convert(inner) => {
                let op = PrimOp::Convert { from: cotangent.prim, to: inner.prim };
                let converted = match cotangent.prim == inner.prim {
                    true => cotangent,
                    false => elementwise(Elementwise::Prim(op), vec![cotangent]),
                };
                self.eval(converted, inner);
            }
            DeltaNode::Where(condition, holds, inner) => {
                let zero = zeros(cotangent.prim, &cotangent.shape);
                let [then, otherwise] = if *holds { [cotangent, zero] } else { [zero, cotangent] };
                self.eval(elementwise(Elementwise::Select, vec![Rc::clone(condition), then, otherwise]), inner);
            }
            DeltaNode::Index(inner, indices) => {
                let function = IndexFunction { params: Vec::new(), indices: indices.clone() };
                self.eval(scatter(inner.shape.clone(), cotangent, function), inner);
            }
            DeltaNode::Gather(inner, function) => self.eval(scatter(inner.shape.clone(), cotangent, function.clone()), inner),
            DeltaNode::Scatter(inner, function) => {
                self.eval(gather(inner.shape.clone(), cotangent, function.clone(), FROM_NOWHERE), inner);
            }
            DeltaNode::SumOuter(inner) => {
                let count = inner.shape.first().cloned().unwrap_or(Atom::i64(0));
                self.eval(replicate(count, cotangent), inner);
            }
            DeltaNode::Replicate(inner) => self.eval(sum_outer(cotangent), inner),
            DeltaNode::Stack(rows) => {
                let cotangent = self.once(cotangent);
                for (at, row) in rows.iter().enumerate() {
                    let Some(row) = row else { continue };
                    let place = vec![integer(Atom::i64(at as i64))];
                    self.eval(index(Rc::clone(&cotangent), place, FROM_NOWHERE), row);
                }
            }
            DeltaNode::Transpose(permutation, inner) => {
                let mut inverse = vec![0; permutation.len()];
                permutation.iter().enumerate().for_each(|(at, axis)| inverse[*axis] = at);
                self.eval(transpose(&inverse, cotangent), inner);
            }
            DeltaNode::Reshape(inner) => self.eval(reshape(inner.shape.clone(), cotangent), inner),
        }
    }

    /// `share`, for a term that will be written more than once.
    fn once(&mut self, tree: Tree) -> Tree {
        if tree.is_simple() || matches!(tree.term, Term::Share(..)) {
            return tree;
        }
        self.shares += 1;
        share(self.shares, tree)
    }
}

fn sum(before: Option<Tree>, cotangent: Tree) -> Tree {
    match before {
        None => cotangent,
        Some(before) => {
            let op = PrimOp::Binary(BinaryOp::Add, cotangent.prim);
            elementwise(Elementwise::Prim(op), vec![before, cotangent])
        }
    }
}

pub(super) fn zeros(prim: Prim, shape: &[Atom]) -> Tree {
    let zero = outer(Atom::Const(Const::zero(prim)), prim, Vec::new());
    shape.iter().rev().fold(zero, |zeros, extent| replicate(extent.clone(), zeros))
}

/// `shareToLet` for several terms: the bindings, and the terms without shares.
pub(super) fn share_to_let(names: &mut Names, trees: Vec<Option<Tree>>) -> (Vec<(Name, Tree)>, Vec<Option<Tree>>) {
    let mut unshared = FxHashMap::default();
    let mut stacked = BTreeMap::new();
    let trees = trees.into_iter().map(|tree| tree.map(|tree| unshare(names, &tree, &mut unshared, &mut stacked))).collect();
    (stacked.into_values().collect(), trees)
}

fn unshare(
    names: &mut Names,
    tree: &Tree,
    known: &mut FxHashMap<usize, Tree>,
    stacked: &mut BTreeMap<usize, (Name, Tree)>,
) -> Tree {
    let Term::Share(number, inner) = &tree.term else {
        return deep(|| rebuilt(tree, &mut |part| unshare(names, part, known, stacked)));
    };
    if let Some(variable) = known.get(number) {
        return Rc::clone(variable);
    }
    let inner = deep(|| unshare(names, inner, known, stacked));
    let name = names.fresh();
    let variable = var_like(name, &inner);
    known.insert(*number, Rc::clone(&variable));
    stacked.insert(*number, (name, inner));
    variable
}
