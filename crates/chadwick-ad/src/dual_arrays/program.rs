//! A function over arrays as terms: made from a function in Rust or from Core, transformed, differentiated, run.

use super::algebra::{Algebra, extents};
use super::bulk::Bulk;
use super::delta::{Dual, DualArray};
use super::interpret::Interpreter;
use super::normal_form::violation;
use super::reverse::{ReversePass, Sharing};
use super::simplify::Simplifier;
use super::staged::{Staged, share_to_let};
use super::term::{Name, Names, Tree, var, var_like};
use chadwick_core::Prim;
use std::rc::Rc;

#[derive(Clone)]
pub struct Program {
    pub(super) names: Names,
    pub(super) inputs: Vec<(Name, Tree)>,
    /// In the order in which they are computed.
    pub(super) bindings: Vec<(Name, Tree)>,
    pub(super) results: Vec<Tree>,
}

impl Program {
    /// What a function does with arrays of floats of these shapes. Loops and conditions of the host are done when it returns.
    pub fn stage(shapes: &[&[usize]], function: impl FnOnce(&Staged, &[Tree]) -> Vec<Tree>) -> Program {
        let staged = Staged::default();
        let names = staged.names.clone();
        let input = |shape: &&[usize]| {
            let name = names.fresh();
            (name, var(name, Prim::F64, extents(shape)))
        };
        let inputs: Vec<(Name, Tree)> = shapes.iter().map(input).collect();
        let variables: Vec<Tree> = inputs.iter().map(|(_, tree)| Rc::clone(tree)).collect();
        let results = function(&staged, &variables);
        Program::sharing(names, inputs, &results)
    }

    /// The program whose results are these terms, with what they share computed once.
    fn sharing(names: Names, inputs: Vec<(Name, Tree)>, results: &[Tree]) -> Program {
        let bound = share_to_let(&names, results);
        Program { names, inputs, bindings: bound.shares.into_values().collect(), results: bound.trees }
    }

    fn with(&self, bindings: Vec<(Name, Tree)>, results: Vec<Tree>) -> Program {
        Program { names: self.names.clone(), inputs: self.inputs.clone(), bindings, results }
    }

    /// In normal form: the bulk-operation transformation of all terms.
    pub fn without_builds(&self) -> Program {
        let mut bulk = Bulk { names: &self.names };
        let mut normal = |tree: &Tree| {
            let tree = bulk.normal(tree);
            debug_assert_eq!(violation(&tree), None);
            tree
        };
        let bindings = self.bindings.iter().map(|(name, tree)| (*name, normal(tree))).collect();
        let results = self.results.iter().map(normal).collect();
        self.with(bindings, results)
    }

    pub fn simplified(&self) -> Program {
        let (bindings, results) = Simplifier { names: &self.names }.bindings(&self.bindings, &self.results);
        self.with(bindings, results)
    }

    /// The results for these inputs.
    pub fn run<A: Algebra>(&self, algebra: &A, inputs: &[A::Array]) -> Vec<A::Array> {
        let values = self.inputs.iter().map(|(name, _)| *name).zip(inputs.iter().cloned()).collect();
        let mut interpreter = Interpreter::new(algebra, values);
        self.bindings.iter().for_each(|(name, tree)| interpreter.bind(*name, tree));
        self.results.iter().map(|tree| interpreter.tree(tree)).collect()
    }

    /// The results as dual arrays over terms.
    pub(super) fn dual(&self, staged: &Staged) -> Vec<DualArray<Staged>> {
        let dual = Dual::over(staged.clone());
        let inputs = self.inputs.iter().enumerate().map(|(number, (_, tree))| dual.input(number, Rc::clone(tree)));
        self.run(&dual, &inputs.collect::<Vec<_>>())
    }

    /// The program for the results and the gradients (figure 4.22). It has the same inputs, and then a cotangent for each result.
    pub fn gradient(&self) -> Program {
        self.gradient_sharing(Sharing::default())
    }

    /// The same, where the caller says which cotangents are shared.
    pub fn gradient_sharing(&self, sharing: Sharing) -> Program {
        self.gradient_by(&Staged::new(&self.names), sharing)
    }

    pub(super) fn gradient_by(&self, staged: &Staged, sharing: Sharing) -> Program {
        let duals = self.dual(staged);
        let seeds: Vec<(Name, Tree)> = duals.iter().map(|result| self.seed(&result.primal)).collect();
        let seeded = duals.iter().zip(&seeds).filter_map(|(result, (_, seed))| Some((result.delta.clone()?, Rc::clone(seed))));
        let gradients = ReversePass::run(staged, sharing, self.inputs.len(), seeded.collect());
        let or_zero = |(gradient, (_, input)): (Option<Tree>, &(Name, Tree))| {
            gradient.unwrap_or_else(|| staged.zeros(input.prim, &input.shape))
        };
        let gradients = gradients.into_iter().zip(&self.inputs).map(or_zero);
        let results: Vec<Tree> = duals.iter().map(|result| Rc::clone(&result.primal)).chain(gradients).collect();
        Program::sharing(self.names.clone(), [self.inputs.clone(), seeds].concat(), &results)
    }

    fn seed(&self, result: &Tree) -> (Name, Tree) {
        let name = self.names.fresh();
        (name, var_like(name, result))
    }
}
