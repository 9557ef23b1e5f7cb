//! Dual arrays (Smeding, section 4.5) and their extraction (4.6.1): beside every array of numbers that depends on an input stands a
//! linear term over the inputs, `Delta`. All operations on arrays but arithmetic are linear, so they are their own.
//!
//! Since a `Delta` never looks at a number, the two halves come apart: bindings of primal values, and one symbolic `Delta` that
//! mentions them. It has as many nodes as the term has operations, whatever the sizes of arrays are.

use super::term::{
    Elementwise, IndexFunction, Name, Names, Reads, Shape, Term, Tree, deep, elementwise, gather, index, replicate, reshape,
    scatter, stack, sum_outer, transpose, var_like,
};
use chadwick_core::prim::Derivative;
use chadwick_core::{Atom, Prim, PrimOp};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A linear term; zero is the absence of one.
#[derive(Debug)]
pub(super) struct Delta {
    pub node: DeltaNode,
    pub prim: Prim,
    pub shape: Shape,
}

#[derive(Debug)]
pub(super) enum DeltaNode {
    Input(usize),
    Add(Rc<Delta>, Rc<Delta>),
    /// Times the array of partial derivatives.
    Scale(Tree, Rc<Delta>),
    Negate(Rc<Delta>),
    Convert(Rc<Delta>),
    /// Where the condition has this value; zero elsewhere.
    Where(Tree, bool, Rc<Delta>),
    /// All that have one number are the same; those inside have smaller ones.
    Share(usize, Rc<Delta>),
    Index(Rc<Delta>, Vec<Tree>),
    SumOuter(Rc<Delta>),
    Gather(Rc<Delta>, IndexFunction),
    Scatter(Rc<Delta>, IndexFunction),
    Stack(Vec<Option<Rc<Delta>>>),
    Replicate(Rc<Delta>),
    Transpose(Vec<usize>, Rc<Delta>),
    Reshape(Rc<Delta>),
}

pub(super) type Dual = (Tree, Option<Rc<Delta>>);

pub(super) struct DualArrays<'n> {
    pub names: &'n mut Names,
    /// The primal values, in the order in which they are computed.
    pub bindings: Vec<(Name, Tree)>,
    deltas: FxHashMap<Name, Rc<Delta>>,
    /// How many numbers of shares are used.
    pub shares: usize,
}

impl<'n> DualArrays<'n> {
    /// For inputs that are these variables.
    pub fn new(names: &'n mut Names, inputs: &[(Name, Tree)]) -> Self {
        let input = |(number, (name, tree)): (usize, &(Name, Tree))| (*name, delta_like(tree, DeltaNode::Input(number)));
        DualArrays { names, bindings: Vec::new(), deltas: inputs.iter().enumerate().map(input).collect(), shares: 0 }
    }

    /// Binds a name to a term in normal form.
    pub fn bind(&mut self, name: Name, value: &Tree) {
        let (primal, delta) = self.dual(value);
        self.bindings.push((name, primal));
        if let Some(delta) = delta {
            self.deltas.insert(name, delta);
        }
    }

    /// `D[t]`, its primal bindings appended. Indices and index functions stay as they are (`D'`): the variables in them are primal values.
    pub fn dual(&mut self, tree: &Tree) -> Dual {
        deep(|| self.dual_here(tree))
    }

    fn dual_here(&mut self, tree: &Tree) -> Dual {
        match &tree.term {
            Term::Var(name) => (Rc::clone(tree), self.deltas.get(name).cloned()),
            Term::Outer(_) | Term::Iota | Term::Build(..) | Term::Share(..) => (Rc::clone(tree), None),
            Term::Let(name, value, body) => {
                self.bind(*name, value);
                self.dual(body)
            }
            Term::Elementwise(op, args) => self.elementwise(tree, *op, args),
            Term::Index(base, indices, reads) => {
                let (base, delta) = self.dual(base);
                let primal = index(base, indices.clone(), reads.clone());
                self.shared(primal, delta.map(|delta| DeltaNode::Index(delta, indices.clone())))
            }
            Term::Gather(base, function, reads) => {
                let (base, delta) = self.dual(base);
                let primal = gather(tree.shape.clone(), base, function.clone(), reads.clone());
                self.shared(primal, delta.map(|delta| DeltaNode::Gather(delta, function.clone())))
            }
            Term::Scatter(of, function) => {
                let (of, delta) = self.dual(of);
                let primal = scatter(tree.shape.clone(), of, function.clone());
                self.shared(primal, delta.map(|delta| DeltaNode::Scatter(delta, function.clone())))
            }
            Term::SumOuter(of) => {
                let (of, delta) = self.dual(of);
                self.shared(sum_outer(of), delta.map(DeltaNode::SumOuter))
            }
            Term::Replicate(of) => {
                let (of, delta) = self.dual(of);
                let count = tree.shape.first().cloned().unwrap_or(Atom::i64(0));
                self.shared(replicate(count, of), delta.map(DeltaNode::Replicate))
            }
            Term::Transpose(permutation, of) => {
                let (of, delta) = self.dual(of);
                self.shared(transpose(permutation, of), delta.map(|delta| DeltaNode::Transpose(permutation.clone(), delta)))
            }
            Term::Reshape(of) => {
                let (of, delta) = self.dual(of);
                self.shared(reshape(tree.shape.clone(), of), delta.map(DeltaNode::Reshape))
            }
            Term::Stack(rows) => {
                let (rows, deltas): (Vec<Tree>, Vec<_>) = rows.iter().map(|row| self.dual(row)).unzip();
                let active = deltas.iter().any(Option::is_some);
                self.shared(stack(rows), active.then_some(DeltaNode::Stack(deltas)))
            }
        }
    }

    fn elementwise(&mut self, tree: &Tree, op: Elementwise, args: &[Tree]) -> Dual {
        let (primals, deltas): (Vec<Tree>, Vec<_>) = args.iter().map(|arg| self.dual(arg)).unzip();
        let passes = match op {
            Elementwise::Prim(op) => {
                deltas.iter().zip(op.derivatives()).any(|(delta, by)| delta.is_some() && by != Derivative::Zero)
            }
            Elementwise::Select => deltas.iter().skip(1).any(Option::is_some),
            Elementwise::Partial(..) => false,
        };
        if !passes {
            return (elementwise(op, primals), None);
        }
        let primals: Vec<Tree> = primals.into_iter().map(|primal| self.named(primal)).collect();
        let result = self.named(elementwise(op, primals.clone()));
        let terms = match op {
            Elementwise::Prim(op) => self.scaled(op, &primals, &deltas, &result),
            _ => {
                let mut deltas = deltas.into_iter().skip(1);
                let mut side = |holds| {
                    let delta = deltas.next().flatten()?;
                    Some(delta_like(tree, DeltaNode::Where(Rc::clone(&primals[0]), holds, delta)))
                };
                let sides = [side(true), side(false)];
                sides.into_iter().flatten().collect()
            }
        };
        let sum = terms.into_iter().reduce(|left, right| delta_like(tree, DeltaNode::Add(left, right)));
        let delta = sum.map(|sum| self.numbered(sum));
        (result, delta)
    }

    /// The `Delta` of each operand, times the partial derivative by it.
    fn scaled(&mut self, op: PrimOp, operands: &[Tree], deltas: &[Option<Rc<Delta>>], result: &Tree) -> Vec<Rc<Delta>> {
        let mut terms = Vec::new();
        for (at, (derivative, delta)) in op.derivatives().iter().zip(deltas).enumerate() {
            let Some(delta) = delta else { continue };
            let delta = Rc::clone(delta);
            let node = match derivative {
                Derivative::Zero => continue,
                Derivative::One => {
                    terms.push(delta);
                    continue;
                }
                Derivative::MinusOne => DeltaNode::Negate(delta),
                Derivative::Convert => DeltaNode::Convert(delta),
                Derivative::Scale(partial) => {
                    let factor = match partial {
                        chadwick_core::prim::Partial::Operand(operand) => Rc::clone(&operands[*operand]),
                        chadwick_core::prim::Partial::Result => Rc::clone(result),
                        _ => {
                            let args = [operands, &[Rc::clone(result)]].concat();
                            self.named(elementwise(Elementwise::Partial(op, at), args))
                        }
                    };
                    DeltaNode::Scale(factor, delta)
                }
            };
            terms.push(delta_like(result, node));
        }
        terms
    }

    /// A linear operation: its result is named, its `Delta` shared.
    fn shared(&mut self, primal: Tree, node: Option<DeltaNode>) -> Dual {
        let Some(node) = node else { return (primal, None) };
        let delta = delta_like(&primal, node);
        (self.named(primal), Some(self.numbered(delta)))
    }

    fn numbered(&mut self, delta: Rc<Delta>) -> Rc<Delta> {
        self.shares += 1;
        let (prim, shape) = (delta.prim, delta.shape.clone());
        Rc::new(Delta { node: DeltaNode::Share(self.shares, delta), prim, shape })
    }

    /// A variable for a value, so that it can be mentioned again.
    fn named(&mut self, tree: Tree) -> Tree {
        if tree.is_simple() {
            return tree;
        }
        let name = self.names.fresh();
        let variable = var_like(name, &tree);
        self.bindings.push((name, tree));
        variable
    }
}

fn delta_like(tree: &Tree, node: DeltaNode) -> Rc<Delta> {
    Rc::new(Delta { node, prim: tree.prim, shape: tree.shape.clone() })
}

/// The default of a read in what derivatives make: a cotangent that comes from nowhere is zero.
pub(super) const FROM_NOWHERE: Reads = Reads::Total;
