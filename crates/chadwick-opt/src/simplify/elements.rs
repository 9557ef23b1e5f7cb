//! Arrays whose elements are the same expression of their place are the same array.

use super::Simplify;
use crate::facts::{Element, Expression};
use chadwick_core::{Atom, Axis, Block, Op, Var};

/// Longer expressions are not compared.
const LONGEST: usize = 24;

impl Simplify {
    /// What the elements of a result of a build are: arithmetic on what stands in arrays outside it.
    pub(super) fn elements(&self, space: &[Axis], body: &Block, result: &Atom) -> Option<Expression> {
        let mut inside = Inside { axes: space.to_vec(), blocks: vec![body], left: LONGEST };
        let mut result = result;
        // Builds inside builds are one.
        while let Some((Op::Build { space, body, .. }, at)) = inside.definition(result.as_var()?) {
            inside.axes.extend_from_slice(space);
            inside.blocks.push(body);
            result = &body.results[at];
        }
        if !matches!(inside.definition(result.as_var()?), Some((Op::Prim(..), _))) {
            return None;
        }
        let element = inside.element(result)?;
        let sizes: Vec<Atom> = inside.axes.iter().map(|axis| self.facts.resolve(&axis.size)).collect();
        let outside = |atom: &Atom| matches!(inside.leaf(atom), Some(Element::Atom(_)));
        (element.reads() && sizes.iter().all(outside)).then_some(Expression::Elements(sizes, element))
    }
}

/// A place in builds inside one another.
struct Inside<'b> {
    axes: Vec<Axis>,
    blocks: Vec<&'b Block>,
    left: usize,
}

impl<'b> Inside<'b> {
    /// What makes a variable, and which of its results it is.
    fn definition(&self, var: Var) -> Option<(&'b Op, usize)> {
        let made = |block: &'b Block| {
            block.statements.iter().find_map(|it| Some((&it.op, it.binders.iter().position(|binder| binder.var == var)?)))
        };
        self.blocks.iter().rev().find_map(|block| made(block))
    }

    /// An atom that is not made inside.
    fn leaf(&self, atom: &Atom) -> Option<Element> {
        let Some(var) = atom.as_var() else { return Some(Element::Atom(atom.clone())) };
        match self.axes.iter().position(|axis| axis.var == var) {
            Some(place) => Some(Element::Place(place)),
            None => self.definition(var).is_none().then(|| Element::Atom(atom.clone())),
        }
    }

    fn element(&mut self, atom: &Atom) -> Option<Element> {
        self.left = self.left.checked_sub(1)?;
        if let Some(leaf) = self.leaf(atom) {
            return Some(leaf);
        }
        match self.definition(atom.as_var()?)?.0 {
            Op::Prim(op, args) => Some(Element::Prim(*op, args.iter().map(|arg| self.element(arg)).collect::<Option<_>>()?)),
            Op::Index { array, indices } => {
                let Element::Atom(array) = self.leaf(array)? else { return None };
                Some(Element::Read(array, indices.iter().map(|index| self.element(index)).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }
}
