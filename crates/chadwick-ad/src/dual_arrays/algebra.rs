//! What can be done with arrays, as an interface (Smeding, section 4.10.3). An instance says what an array is: numbers
//! ([`super::plain`]), a term that computes one ([`super::staged`]), or an array of either with its `Delta` ([`super::delta`]). A
//! function over the interface can be run at each; so is the reverse pass, which is why gradients come as numbers and as terms.

use super::term::{Elementwise, Reads, Shape, Step, Tree, integer};
use chadwick_core::{Atom, BinaryOp, CompareOp, Const, Prim, PrimOp};
use std::rc::Rc;

/// What becomes of indices.
pub type IndexRule<'r, T> = &'r mut dyn FnMut(&[T]) -> Vec<T>;

pub trait Algebra: Clone {
    type Array: Clone;
    /// A function from the indices of an array to those of another.
    type Function: Clone;

    fn prim(&self, array: &Self::Array) -> Prim;
    fn shape(&self, array: &Self::Array) -> Shape;
    fn constant(&self, value: Const) -> Self::Array;
    /// A value of the Core around the term. Only terms can mention such values, so nothing else meets any.
    fn outer(&self, value: &Tree) -> Self::Array {
        self.zeros(value.prim, &value.shape)
    }
    /// The index function that does this, for indices below these extents.
    fn function(&self, domain: &[Atom], run: IndexRule<'_, Self::Array>) -> Self::Function;
    /// Uses a value as often as the body likes, and computes it once. No operation but this and `share` promises that.
    fn let_(&self, value: Self::Array, body: &mut dyn FnMut(Self::Array) -> Self::Array) -> Self::Array;
    /// The same value, to be computed once wherever the result goes. What is shared inside the body of a `let_` or in an
    /// index function, and depends on what is bound there, stays there.
    fn share(&self, array: Self::Array) -> Self::Array;

    fn elementwise(&self, op: Elementwise, args: Vec<Self::Array>) -> Self::Array;
    fn iota(&self, count: &Atom) -> Self::Array;
    fn index(&self, base: Self::Array, indices: Vec<Self::Array>, reads: &Reads) -> Self::Array;
    fn gather(&self, shape: &[Atom], base: Self::Array, function: &Self::Function, reads: &Reads) -> Self::Array;
    fn scatter(&self, shape: &[Atom], of: Self::Array, function: &Self::Function) -> Self::Array;
    /// The first array with the elements of the second at different places, which are in range unless that is total.
    fn overwrite(&self, base: Self::Array, at: &Self::Function, value: Self::Array, is_total: bool) -> Self::Array;
    fn sum_outer(&self, of: Self::Array) -> Self::Array;
    /// The greatest or the least along the first axis, by `Max` or `Min`; the least or greatest number there is where that axis is empty.
    fn reduce_outer(&self, op: BinaryOp, of: Self::Array) -> Self::Array;
    /// At least one array, all of one shape.
    fn stack(&self, rows: Vec<Self::Array>) -> Self::Array;
    fn replicate(&self, count: &Atom, of: Self::Array) -> Self::Array;
    fn transpose(&self, permutation: &[usize], of: Self::Array) -> Self::Array;
    fn reshape(&self, shape: &[Atom], of: Self::Array) -> Self::Array;
    /// All states of a fold; `states` is how many.
    fn fold(&self, states: &Atom, step: &Rc<Step>, init: Self::Array, arrays: Vec<Self::Array>) -> Self::Array;
    /// The last state, and what the step gives for each row: one array for each thing it gives.
    fn walk(&self, step: &Rc<Step>, init: Self::Array, arrays: Vec<Self::Array>) -> (Self::Array, Vec<Self::Array>);
    /// Whether [`Algebra::walk`] is there. Where it is not, the reverse pass of a fold computes again for all rows at once what it computed for each.
    fn can_walk(&self) -> bool {
        true
    }
    /// At least one row.
    fn build(&self, count: usize, row: &mut dyn FnMut(Self::Array) -> Self::Array) -> Self::Array;

    fn number(&self, value: f64) -> Self::Array {
        self.constant(Const::F64(value))
    }

    fn integer(&self, value: i64) -> Self::Array {
        self.constant(Const::I64(value))
    }

    /// An extent as a scalar.
    fn extent(&self, extent: &Atom) -> Self::Array {
        match extent {
            Atom::Const(constant) => self.constant(*constant),
            Atom::Var(_) => self.outer(&integer(extent.clone())),
        }
    }

    /// The same value everywhere.
    fn filled(&self, shape: &[Atom], value: Self::Array) -> Self::Array {
        shape.iter().rev().fold(value, |all, extent| self.replicate(extent, all))
    }

    fn zeros(&self, prim: Prim, shape: &[Atom]) -> Self::Array {
        self.filled(shape, self.constant(Const::zero(prim)))
    }

    fn binary(&self, op: BinaryOp, left: Self::Array, right: Self::Array) -> Self::Array {
        let prim = self.prim(&left);
        self.elementwise(Elementwise::Prim(PrimOp::Binary(op, prim)), vec![left, right])
    }

    fn add(&self, left: Self::Array, right: Self::Array) -> Self::Array {
        self.binary(BinaryOp::Add, left, right)
    }

    fn sub(&self, left: Self::Array, right: Self::Array) -> Self::Array {
        self.binary(BinaryOp::Sub, left, right)
    }

    fn mul(&self, left: Self::Array, right: Self::Array) -> Self::Array {
        self.binary(BinaryOp::Mul, left, right)
    }

    fn less(&self, left: Self::Array, right: Self::Array) -> Self::Array {
        let prim = self.prim(&left);
        self.elementwise(Elementwise::Prim(PrimOp::Compare(CompareOp::Less, prim)), vec![left, right])
    }

    /// One of two arrays by one condition; both are computed.
    fn select(&self, condition: Self::Array, then: Self::Array, otherwise: Self::Array) -> Self::Array {
        let condition = self.filled(&self.shape(&then), condition);
        self.elementwise(Elementwise::Select, vec![condition, then, otherwise])
    }
}

/// Extents that are numbers.
pub fn extents(shape: &[usize]) -> Shape {
    shape.iter().map(|extent| Atom::i64(*extent as i64)).collect()
}

/// An extent as a number; nothing if it is a variable of the program around.
pub fn known(extent: &Atom) -> Option<usize> {
    match extent {
        Atom::Const(Const::I64(count)) => usize::try_from(*count).ok(),
        _ => None,
    }
}
