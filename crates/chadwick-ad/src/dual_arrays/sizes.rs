//! Which sizes are the same. A program asks for the length of an axis as often as it likes, and checks that lengths are equal; in shapes each
//! length is to have one name, so that they can be compared.

use chadwick_core::{Atom, BinaryOp, Binder, CompareOp, Const, Dim, Op, Prim, PrimOp, Size, Statement, Type, Var};
use rustc_hash::FxHashMap;

#[derive(Default)]
pub(super) struct Sizes {
    /// Other names of values.
    names: FxHashMap<Var, Atom>,
    /// The lengths of axes that have a name.
    lengths: FxHashMap<(Var, usize), Atom>,
    /// What is compared with what.
    tests: FxHashMap<Var, (Atom, Atom)>,
    /// What is multiplied with what.
    products: FxHashMap<Var, (Atom, Atom)>,
}

/// How many elements there are: a number times these sizes, in order.
type Product = (i64, Vec<Var>);

impl Sizes {
    /// The one name of a value.
    pub fn canonical(&self, atom: &Atom) -> Atom {
        let mut atom = atom;
        while let Atom::Var(var) = atom
            && let Some(name) = self.names.get(var)
        {
            atom = name;
        }
        atom.clone()
    }

    /// The name of a length, if it has one.
    pub fn length(&self, array: &Atom, axis: usize) -> Option<Atom> {
        let Atom::Var(array) = self.canonical(array) else { return None };
        self.lengths.get(&(array, axis)).map(|length| self.canonical(length))
    }

    pub fn name_length(&mut self, array: &Atom, axis: usize, length: &Atom) {
        match (self.length(array, axis), self.canonical(array)) {
            (Some(known), _) => self.unite(&known, length),
            (None, Atom::Var(array)) => {
                self.lengths.insert((array, axis), length.clone());
            }
            _ => {}
        }
    }

    /// Two values are the same.
    pub fn unite(&mut self, left: &Atom, right: &Atom) {
        match (self.canonical(left), self.canonical(right)) {
            (left, right) if left == right => {}
            (left, Atom::Var(right)) => {
                self.names.insert(right, left);
            }
            (Atom::Var(left), right) => {
                self.names.insert(left, right);
            }
            _ => {}
        }
    }

    /// Whether arrays of these shapes are known to have as many elements.
    pub fn are_as_large(&self, left: &[Atom], right: &[Atom]) -> bool {
        let count = |shape: &[Atom]| {
            let mut count = (1, Vec::new());
            shape.iter().try_for_each(|extent| self.multiply(extent, &mut count))?;
            count.1.sort_unstable();
            Some(count)
        };
        count(left).is_some_and(|left: Product| count(right) == Some(left))
    }

    /// Multiplies by a size; nothing if numbers are too large.
    fn multiply(&self, extent: &Atom, count: &mut Product) -> Option<()> {
        match self.canonical(extent) {
            Atom::Const(Const::I64(number)) => count.0 = count.0.checked_mul(number)?,
            Atom::Const(_) => return None,
            Atom::Var(var) => match self.products.get(&var) {
                None => count.1.push(var),
                Some((left, right)) => {
                    self.multiply(left, count)?;
                    self.multiply(right, count)?;
                }
            },
        }
        Some(())
    }

    /// What a statement says, for all that comes after it.
    pub fn learn(&mut self, statement: &Statement) {
        match (&statement.op, statement.binders.as_slice()) {
            (Op::Copy(atoms), binders) => {
                for (binder, atom) in binders.iter().zip(atoms) {
                    self.unite(atom, &Atom::Var(binder.var));
                }
            }
            (Op::Dim { array, axis }, [binder]) => self.name_length(array, *axis, &Atom::Var(binder.var)),
            (Op::Prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), args), [binder]) => {
                if let [left, right] = args.as_slice() {
                    self.tests.insert(binder.var, (left.clone(), right.clone()));
                }
            }
            (Op::Prim(PrimOp::Binary(BinaryOp::Mul, Prim::I64), args), [binder]) => {
                if let [left, right] = args.as_slice() {
                    self.products.insert(binder.var, (left.clone(), right.clone()));
                }
            }
            (Op::Assert { condition: Atom::Var(condition), .. }, _) => {
                if let Some((left, right)) = self.tests.get(condition).cloned() {
                    self.unite(&left, &right);
                }
            }
            (Op::Build { space, inner, .. }, binders) => {
                for (binder, inner) in binders.iter().zip(inner) {
                    let outer = space.iter().map(|axis| Some(&axis.size));
                    let rest = inner.iter().map(|size| if let Size::Known(size) = size { Some(size) } else { None });
                    for (axis, size) in outer.chain(rest).enumerate() {
                        if let Some(size) = size {
                            self.name_length(&Atom::Var(binder.var), axis, size);
                        }
                    }
                }
            }
            _ => {}
        }
        statement.binders.iter().for_each(|binder| self.learn_type(binder));
    }

    /// What the type of a variable says.
    fn learn_type(&mut self, binder: &Binder) {
        let Type::Array(array) = &binder.ty else { return };
        for (axis, dim) in array.dims.iter().enumerate() {
            if let Dim::Const(length) = dim {
                self.name_length(&Atom::Var(binder.var), axis, &Atom::i64(*length));
            }
        }
    }
}
