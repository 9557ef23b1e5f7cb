//! The reverse pass over a `Delta` (Smeding, figures 4.17 and 4.20), at any kind of arrays: with numbers it gives gradients, with terms
//! a term that computes them.
//!
//! Shares are taken from the largest number down, so each is looked at once, with its whole cotangent. A cotangent that goes two ways
//! is shared.

use super::algebra::Algebra;
use super::delta::{Delta, DeltaNode, Dual, DualArray, inverse};
use super::term::{Elementwise, Reads};
use chadwick_core::{Atom, BinaryOp, PrimOp, UnaryOp};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Which cotangents are shared (section 4.6.3). The value is the same; what is not shared is written where it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Those that go two ways.
    #[default]
    WhereItForks,
    /// All, as they are made.
    Everywhere,
}

/// The value of a function at some arrays, and the cotangents of those for one of the value.
pub fn gradient<A: Algebra>(
    algebra: &A,
    inputs: &[A::Array],
    cotangent: A::Array,
    function: impl FnOnce(&Dual<A>, &[DualArray<A>]) -> DualArray<A>,
) -> (A::Array, Vec<A::Array>) {
    let dual = Dual::over(algebra.clone());
    let named: Vec<DualArray<A>> = inputs.iter().enumerate().map(|(number, input)| dual.input(number, input.clone())).collect();
    let result = function(&dual, &named);
    let seeded = result.delta.map(|delta| (delta, cotangent)).into_iter().collect();
    let gradients = ReversePass::run(algebra, Sharing::default(), inputs.len(), seeded);
    let or_zero = |(gradient, input): (Option<A::Array>, &A::Array)| {
        gradient.unwrap_or_else(|| algebra.zeros(algebra.prim(input), &algebra.shape(input)))
    };
    (result.primal, gradients.into_iter().zip(inputs).map(or_zero).collect())
}

/// The state of the pass.
pub(super) struct ReversePass<'a, A: Algebra> {
    algebra: &'a A,
    sharing: Sharing,
    /// The cotangents of the inputs, as far as there are any.
    gradients: Vec<Option<A::Array>>,
    waiting: BTreeMap<usize, (Rc<Delta<A>>, A::Array)>,
}

impl<'a, A: Algebra> ReversePass<'a, A> {
    /// The cotangents of the inputs for the cotangents of some results.
    pub fn run(algebra: &'a A, sharing: Sharing, inputs: usize, results: Vec<(Rc<Delta<A>>, A::Array)>) -> Vec<Option<A::Array>> {
        let mut pass = ReversePass { algebra, sharing, gradients: vec![None; inputs], waiting: BTreeMap::new() };
        results.into_iter().for_each(|(delta, cotangent)| pass.eval(cotangent, &delta));
        while let Some((_, (delta, cotangent))) = pass.waiting.pop_last() {
            pass.eval(cotangent, &delta);
        }
        pass.gradients
    }

    fn sum(&self, before: Option<A::Array>, cotangent: A::Array) -> A::Array {
        match before {
            None => cotangent,
            Some(before) => self.algebra.add(cotangent, before),
        }
    }

    /// Takes the cotangent that an input or a share has so far.
    fn collected(&mut self, delta: &Delta<A>) -> Option<A::Array> {
        let sum = match &delta.node {
            DeltaNode::Input(number) => self.gradients.get_mut(*number)?.take(),
            DeltaNode::Share(number, _) => self.waiting.remove(number).map(|(_, cotangent)| cotangent),
            _ => None,
        };
        sum.map(|sum| self.algebra.share(sum))
    }

    /// Sets it.
    fn collect(&mut self, delta: &Delta<A>, sum: A::Array) {
        match &delta.node {
            DeltaNode::Input(number) => {
                if let Some(place) = self.gradients.get_mut(*number) {
                    *place = Some(sum);
                }
            }
            DeltaNode::Share(number, inner) => {
                self.waiting.insert(*number, (Rc::clone(inner), sum));
            }
            _ => {}
        }
    }

    /// Between two shares a `Delta` is as deep as one rule makes it.
    fn eval(&mut self, cotangent: A::Array, delta: &Rc<Delta<A>>) {
        let algebra = self.algebra;
        let prim = algebra.prim(&cotangent);
        let cotangent = match self.sharing {
            Sharing::WhereItForks => cotangent,
            Sharing::Everywhere => algebra.share(cotangent),
        };
        match &delta.node {
            DeltaNode::Input(number) => {
                let before = self.gradients.get_mut(*number).and_then(Option::take);
                let sum = self.sum(before, cotangent);
                self.collect(delta, sum);
            }
            DeltaNode::Share(number, _) => {
                let before = self.waiting.remove(number).map(|(_, cotangent)| cotangent);
                let sum = self.sum(before, cotangent);
                self.collect(delta, sum);
            }
            DeltaNode::Add(left, right) => {
                let cotangent = algebra.share(cotangent);
                self.eval(cotangent.clone(), left);
                self.eval(cotangent, right);
            }
            DeltaNode::Scale(factor, inner) => {
                self.eval(algebra.binary(BinaryOp::Scale, cotangent, factor.clone()), inner);
            }
            DeltaNode::Negate(inner) => {
                let op = Elementwise::Prim(PrimOp::Unary(UnaryOp::Negate, prim));
                self.eval(algebra.elementwise(op, vec![cotangent]), inner);
            }
            DeltaNode::Convert(inner) => {
                let op = Elementwise::Prim(PrimOp::Convert { from: prim, to: inner.prim });
                let converted = match prim == inner.prim {
                    true => cotangent,
                    false => algebra.elementwise(op, vec![cotangent]),
                };
                self.eval(converted, inner);
            }
            DeltaNode::Where(condition, holds, inner) => {
                let zero = algebra.zeros(prim, &delta.shape);
                let [then, otherwise] = if *holds { [cotangent, zero] } else { [zero, cotangent] };
                self.eval(algebra.elementwise(Elementwise::Select, vec![condition.clone(), then, otherwise]), inner);
            }
            DeltaNode::Index(inner, indices, is_total) => {
                let place = algebra.function(&[], &mut |_| indices.clone());
                match self.collected(inner) {
                    // Only that place of the cotangent changes.
                    Some(sum) => {
                        let reads = if *is_total { Reads::OrZero } else { Reads::InRange };
                        let before = algebra.index(sum.clone(), indices.clone(), &reads);
                        let after = algebra.add(cotangent, before);
                        let sum = algebra.overwrite(sum, &place, after, *is_total);
                        self.collect(inner, sum);
                    }
                    None => self.eval(algebra.scatter(&inner.shape, cotangent, &place), inner),
                }
            }
            DeltaNode::Gather(inner, function) => self.eval(algebra.scatter(&inner.shape, cotangent, function), inner),
            DeltaNode::Scatter(inner, function) => {
                self.eval(algebra.gather(&inner.shape, cotangent, function, &Reads::OrZero), inner);
            }
            DeltaNode::Overwrite { base, at, value, shape, is_total } => {
                let cotangent = algebra.share(cotangent);
                if let Some(value) = value {
                    let reads = if *is_total { Reads::OrZero } else { Reads::InRange };
                    self.eval(algebra.gather(shape, cotangent.clone(), at, &reads), value);
                }
                if let Some(base) = base {
                    self.eval(algebra.overwrite(cotangent, at, algebra.zeros(prim, shape), *is_total), base);
                }
            }
            DeltaNode::SumOuter(inner) => {
                let count = inner.shape.first().cloned().unwrap_or(Atom::i64(0));
                self.eval(algebra.replicate(&count, cotangent), inner);
            }
            DeltaNode::Replicate(inner) => self.eval(algebra.sum_outer(cotangent), inner),
            DeltaNode::Stack(rows) => {
                let cotangent = algebra.share(cotangent);
                for (at, row) in rows.iter().enumerate() {
                    let Some(row) = row else { continue };
                    let place = vec![algebra.integer(at as i64)];
                    self.eval(algebra.index(cotangent.clone(), place, &Reads::InRange), row);
                }
            }
            DeltaNode::Transpose(permutation, inner) => {
                self.eval(algebra.transpose(&inverse(permutation), cotangent), inner);
            }
            DeltaNode::Fold(fold) => {
                let (of_init, of_arrays) = fold.reverse.run(algebra, &delta.shape, fold, cotangent);
                if let Some(init) = &fold.init {
                    self.eval(of_init, init);
                }
                for (array, cotangent) in fold.arrays.iter().zip(of_arrays) {
                    if let Some(inner) = &array.delta {
                        self.eval(cotangent, inner);
                    }
                }
            }
            DeltaNode::Reshape(inner) => self.eval(algebra.reshape(&inner.shape, cotangent), inner),
        }
    }
}
