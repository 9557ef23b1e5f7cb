//! Dual arrays (Smeding, section 4.5): beside every array of numbers that depends on an input stands a linear term over the inputs,
//! `Delta`. All operations on arrays but arithmetic are linear, so they are their own.
//!
//! They are arrays over any other kind of arrays. Over numbers, a `Delta` is made while the function runs. Over terms it is symbolic, and the two
//! halves come apart (4.6.1): what computes the primal values, and one `Delta` that mentions them. Either has as many nodes as
//! there are operations, whatever the sizes of arrays are.

use super::algebra::{Algebra, IndexRule};
use super::fold::ReverseStep;
use super::term::{Elementwise, Reads, Shape, Step, Tree};
use chadwick_core::prim::{Derivative, Partial};
use chadwick_core::{Atom, BinaryOp, CompareOp, Const, Prim, PrimOp};
use std::cell::Cell;
use std::rc::Rc;

/// A linear term; zero is the absence of one.
pub struct Delta<A: Algebra> {
    pub(super) node: DeltaNode<A>,
    pub(super) prim: Prim,
    pub(super) shape: Shape,
}

pub(super) enum DeltaNode<A: Algebra> {
    Input(usize),
    Add(Rc<Delta<A>>, Rc<Delta<A>>),
    /// Times the array of partial derivatives.
    Scale(A::Array, Rc<Delta<A>>),
    Negate(Rc<Delta<A>>),
    Convert(Rc<Delta<A>>),
    /// Where the condition has this value; zero elsewhere.
    Where(A::Array, bool, Rc<Delta<A>>),
    /// All that have one number are the same; those inside have smaller ones.
    Share(usize, Rc<Delta<A>>),
    /// The indices may be out of range if the last part says so.
    Index(Rc<Delta<A>>, Vec<A::Array>, bool),
    SumOuter(Rc<Delta<A>>),
    Gather(Rc<Delta<A>>, A::Function),
    Scatter(Rc<Delta<A>>, A::Function),
    /// Of what is kept and of what is written, which has this shape.
    Overwrite {
        base: Option<Rc<Delta<A>>>,
        at: A::Function,
        value: Option<Rc<Delta<A>>>,
        shape: Shape,
        is_total: bool,
    },
    Stack(Vec<Option<Rc<Delta<A>>>>),
    Replicate(Rc<Delta<A>>),
    Transpose(Vec<usize>, Rc<Delta<A>>),
    Reshape(Rc<Delta<A>>),
    Fold(Box<FoldDelta<A>>),
}

/// The states of a fold, and what they come from.
pub(super) struct FoldDelta<A: Algebra> {
    pub step: Rc<Step>,
    pub reverse: ReverseStep,
    pub states: A::Array,
    pub init: Option<Rc<Delta<A>>>,
    pub arrays: Vec<DualArray<A>>,
}

/// An array, and how it depends on the inputs.
pub struct DualArray<A: Algebra> {
    pub primal: A::Array,
    pub(super) delta: Option<Rc<Delta<A>>>,
}

impl<A: Algebra> Clone for DualArray<A> {
    fn clone(&self) -> Self {
        DualArray { primal: self.primal.clone(), delta: self.delta.clone() }
    }
}

/// The instance of dual arrays over another.
#[derive(Clone)]
pub struct Dual<A: Algebra> {
    pub primal: A,
    shares: Rc<Cell<usize>>,
    /// Whether this is an index function, which matters by its integers only (`D'`, figure 4.14).
    is_index: Rc<Cell<bool>>,
}

impl<A: Algebra> Dual<A> {
    pub fn over(primal: A) -> Self {
        Dual { primal, shares: Rc::default(), is_index: Rc::default() }
    }

    /// An array that depends on no input.
    pub fn plain(&self, primal: A::Array) -> DualArray<A> {
        DualArray { primal, delta: None }
    }

    /// The input of this number.
    pub fn input(&self, number: usize, primal: A::Array) -> DualArray<A> {
        let delta = self.delta_like(&primal, DeltaNode::Input(number));
        DualArray { primal, delta: Some(delta) }
    }

    fn delta_like(&self, primal: &A::Array, node: DeltaNode<A>) -> Rc<Delta<A>> {
        Rc::new(Delta { node, prim: self.primal.prim(primal), shape: self.primal.shape(primal) })
    }

    fn numbered(&self, delta: Rc<Delta<A>>) -> Rc<Delta<A>> {
        self.shares.set(self.shares.get() + 1);
        let (prim, shape) = (delta.prim, delta.shape.clone());
        Rc::new(Delta { node: DeltaNode::Share(self.shares.get(), delta), prim, shape })
    }

    /// The result of an operation that is linear, if there is a `Delta` for it.
    fn linear(&self, primal: A::Array, node: Option<DeltaNode<A>>) -> DualArray<A> {
        let Some(node) = node.filter(|_| !self.is_index.get()) else { return self.plain(primal) };
        let delta = self.numbered(self.delta_like(&primal, node));
        DualArray { primal: self.primal.share(primal), delta: Some(delta) }
    }

    /// The `Delta` of each operand, times the partial derivative by it.
    fn scaled(&self, op: PrimOp, operands: &[A::Array], deltas: &[Option<Rc<Delta<A>>>], result: &A::Array) -> Vec<Rc<Delta<A>>> {
        let mut terms = Vec::new();
        for (at, (derivative, delta)) in op.derivatives().iter().zip(deltas).enumerate() {
            let Some(delta) = delta.clone() else { continue };
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
                        Partial::Operand(operand) => operands[*operand].clone(),
                        Partial::Result => result.clone(),
                        _ => {
                            let args = [operands, std::slice::from_ref(result)].concat();
                            self.primal.share(self.primal.elementwise(Elementwise::Partial(op, at), args))
                        }
                    };
                    DeltaNode::Scale(factor, delta)
                }
            };
            terms.push(self.delta_like(result, node));
        }
        terms
    }

    /// Whether the result of an element-wise operation depends on an input.
    fn passes(&self, op: Elementwise, args: &[DualArray<A>]) -> bool {
        let is_active = |arg: &DualArray<A>| arg.delta.is_some();
        match op {
            _ if self.is_index.get() => false,
            Elementwise::Prim(op) => op.derivatives().iter().zip(args).any(|(by, arg)| *by != Derivative::Zero && is_active(arg)),
            Elementwise::Select => args.iter().skip(1).any(is_active),
            Elementwise::Guarded(_) => args.iter().any(is_active),
            Elementwise::Partial(..) => false,
        }
    }
}

/// The permutation that undoes another.
pub(super) fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    permutation.iter().enumerate().for_each(|(at, axis)| inverse[*axis] = at);
    inverse
}

fn primals<A: Algebra>(arrays: Vec<DualArray<A>>) -> Vec<A::Array> {
    arrays.into_iter().map(|array| array.primal).collect()
}

/// `D` (figures 4.15 and 4.16).
impl<A: Algebra> Algebra for Dual<A> {
    type Array = DualArray<A>;
    type Function = A::Function;

    fn prim(&self, array: &DualArray<A>) -> Prim {
        self.primal.prim(&array.primal)
    }

    fn shape(&self, array: &DualArray<A>) -> Shape {
        self.primal.shape(&array.primal)
    }

    fn constant(&self, value: Const) -> DualArray<A> {
        self.plain(self.primal.constant(value))
    }

    fn outer(&self, value: &Tree) -> DualArray<A> {
        self.plain(self.primal.outer(value))
    }

    fn function(&self, domain: &[Atom], run: IndexRule<'_, DualArray<A>>) -> A::Function {
        let before = self.is_index.replace(true);
        let function = self.primal.function(domain, &mut |indices| {
            let indices: Vec<DualArray<A>> = indices.iter().map(|index| self.plain(index.clone())).collect();
            primals(run(&indices))
        });
        self.is_index.set(before);
        function
    }

    /// Primal values go into a `Delta`, out of the scope of any `let`; so they are shared instead.
    fn let_(&self, value: DualArray<A>, body: &mut dyn FnMut(DualArray<A>) -> DualArray<A>) -> DualArray<A> {
        match self.is_index.get() {
            true => {
                let bound = &mut |primal| body(self.plain(primal)).primal;
                self.plain(self.primal.let_(value.primal, bound))
            }
            false => body(self.share(value)),
        }
    }

    /// The `Delta` is shared as it is.
    fn share(&self, array: DualArray<A>) -> DualArray<A> {
        DualArray { primal: self.primal.share(array.primal), delta: array.delta }
    }

    fn elementwise(&self, op: Elementwise, args: Vec<DualArray<A>>) -> DualArray<A> {
        if !self.passes(op, &args) {
            return self.plain(self.primal.elementwise(op, primals(args)));
        }
        let deltas: Vec<_> = args.iter().map(|arg| arg.delta.clone()).collect();
        let operands: Vec<A::Array> = args.into_iter().map(|arg| self.primal.share(arg.primal)).collect();
        let result = self.primal.share(self.primal.elementwise(op, operands.clone()));
        let terms = match (op, deltas.as_slice(), operands.as_slice()) {
            (Elementwise::Prim(op), ..) => self.scaled(op, &operands, &deltas, &result),
            // Where the operand is another one, nobody wants what is made of it.
            (Elementwise::Guarded(_), [delta], _) => delta.iter().cloned().collect(),
            (_, [_, then, otherwise], [condition, ..]) => {
                let side = |holds, delta: &Option<Rc<Delta<A>>>| {
                    Some(self.delta_like(&result, DeltaNode::Where(condition.clone(), holds, delta.clone()?)))
                };
                [side(true, then), side(false, otherwise)].into_iter().flatten().collect()
            }
            _ => Vec::new(),
        };
        let sum = terms.into_iter().reduce(|left, right| self.delta_like(&result, DeltaNode::Add(left, right)));
        DualArray { primal: result, delta: sum.map(|sum| self.numbered(sum)) }
    }

    fn iota(&self, count: &Atom) -> DualArray<A> {
        self.plain(self.primal.iota(count))
    }

    fn index(&self, base: DualArray<A>, indices: Vec<DualArray<A>>, reads: &Reads) -> DualArray<A> {
        let indices = primals(indices);
        // They are mentioned once more by the `Delta`.
        let indices: Vec<A::Array> = match base.delta.is_some() && !self.is_index.get() {
            true => indices.into_iter().map(|index| self.primal.share(index)).collect(),
            false => indices,
        };
        let primal = self.primal.index(base.primal, indices.clone(), reads);
        let is_total = !matches!(reads, Reads::InRange) && *reads != Reads::Checked(Vec::new());
        self.linear(primal, base.delta.map(|delta| DeltaNode::Index(delta, indices, is_total)))
    }

    fn gather(&self, shape: &[Atom], base: DualArray<A>, function: &A::Function, reads: &Reads) -> DualArray<A> {
        let primal = self.primal.gather(shape, base.primal, function, reads);
        self.linear(primal, base.delta.map(|delta| DeltaNode::Gather(delta, function.clone())))
    }

    fn scatter(&self, shape: &[Atom], of: DualArray<A>, function: &A::Function) -> DualArray<A> {
        let primal = self.primal.scatter(shape, of.primal, function);
        self.linear(primal, of.delta.map(|delta| DeltaNode::Scatter(delta, function.clone())))
    }

    fn overwrite(&self, base: DualArray<A>, at: &A::Function, value: DualArray<A>, is_total: bool) -> DualArray<A> {
        let shape = self.shape(&value);
        let is_active = base.delta.is_some() || value.delta.is_some();
        let primal = self.primal.overwrite(base.primal, at, value.primal, is_total);
        let node = DeltaNode::Overwrite { base: base.delta, at: at.clone(), value: value.delta, shape, is_total };
        self.linear(primal, is_active.then_some(node))
    }

    fn sum_outer(&self, of: DualArray<A>) -> DualArray<A> {
        self.linear(self.primal.sum_outer(of.primal), of.delta.map(DeltaNode::SumOuter))
    }

    /// What is read at the first place where the result is.
    fn reduce_outer(&self, op: BinaryOp, of: DualArray<A>) -> DualArray<A> {
        let algebra = &self.primal;
        let Some(delta) = of.delta.filter(|_| !self.is_index.get()) else {
            return self.plain(algebra.reduce_outer(op, of.primal));
        };
        let operand = algebra.share(of.primal);
        let (prim, shape) = (algebra.prim(&operand), algebra.shape(&operand));
        let Some((count, rest)) = shape.split_first() else { return self.plain(operand) };
        let result = algebra.share(algebra.reduce_outer(op, operand.clone()));
        let equal = Elementwise::Prim(PrimOp::Compare(CompareOp::Equal, prim));
        let is_there = algebra.elementwise(equal, vec![operand, algebra.replicate(count, result.clone())]);
        let order: Vec<usize> = (1..shape.len()).chain([0]).collect();
        let rows = algebra.filled(rest, algebra.iota(count));
        let rows = algebra.transpose(&inverse(&order), rows);
        let nowhere = algebra.filled(&shape, algebra.integer(-1));
        let places = algebra.elementwise(Elementwise::Select, vec![is_there, rows, nowhere]);
        // None is the greatest unsigned number.
        let to = |from, to| Elementwise::Prim(PrimOp::Convert { from, to });
        let places = algebra.elementwise(to(Prim::I64, Prim::U64), vec![places]);
        let first = algebra.reduce_outer(BinaryOp::Min, places);
        let first = algebra.share(algebra.elementwise(to(Prim::U64, Prim::I64), vec![first]));
        let function = algebra.function(rest, &mut |indices| {
            let row = algebra.index(first.clone(), indices.to_vec(), &Reads::InRange);
            [vec![row], indices.to_vec()].concat()
        });
        let delta = self.numbered(self.delta_like(&result, DeltaNode::Gather(delta, function)));
        DualArray { primal: result, delta: Some(delta) }
    }

    fn stack(&self, rows: Vec<DualArray<A>>) -> DualArray<A> {
        let deltas: Vec<_> = rows.iter().map(|row| row.delta.clone()).collect();
        let active = deltas.iter().any(Option::is_some);
        self.linear(self.primal.stack(primals(rows)), active.then_some(DeltaNode::Stack(deltas)))
    }

    fn replicate(&self, count: &Atom, of: DualArray<A>) -> DualArray<A> {
        self.linear(self.primal.replicate(count, of.primal), of.delta.map(DeltaNode::Replicate))
    }

    fn transpose(&self, permutation: &[usize], of: DualArray<A>) -> DualArray<A> {
        let all: Vec<usize> = permutation.iter().copied().chain(permutation.len()..self.shape(&of).len()).collect();
        let primal = self.primal.transpose(permutation, of.primal);
        self.linear(primal, of.delta.map(|delta| DeltaNode::Transpose(all, delta)))
    }

    fn reshape(&self, shape: &[Atom], of: DualArray<A>) -> DualArray<A> {
        self.linear(self.primal.reshape(shape, of.primal), of.delta.map(DeltaNode::Reshape))
    }

    fn fold(&self, states: &Atom, step: &Rc<Step>, init: DualArray<A>, arrays: Vec<DualArray<A>>) -> DualArray<A> {
        let is_active = init.delta.is_some() || arrays.iter().any(|array| array.delta.is_some());
        if !is_active || self.is_index.get() {
            return self.plain(self.primal.fold(states, step, init.primal, primals(arrays)));
        }
        let arrays: Vec<DualArray<A>> = arrays.into_iter().map(|array| self.share(array)).collect();
        let all = self.primal.fold(states, step, init.primal, primals(arrays.clone()));
        let all = self.primal.share(all);
        let (step, reverse) = (Rc::clone(step), ReverseStep::of(step, self.primal.can_walk()));
        let fold = FoldDelta { step, reverse, states: all.clone(), init: init.delta, arrays };
        self.linear(all, Some(DeltaNode::Fold(Box::new(fold))))
    }

    /// It is not there: only the reverse pass walks, and that of a reverse pass does without.
    fn walk(&self, step: &Rc<Step>, init: DualArray<A>, arrays: Vec<DualArray<A>>) -> (DualArray<A>, Vec<DualArray<A>>) {
        let (last, given) = self.primal.walk(step, init.primal, primals(arrays));
        (self.plain(last), given.into_iter().map(|array| self.plain(array)).collect())
    }

    fn can_walk(&self) -> bool {
        false
    }

    /// The rows one by one, each with a `Delta` of its own: the way to differentiate what still has builds, and the reason to remove them.
    fn build(&self, count: usize, row: &mut dyn FnMut(DualArray<A>) -> DualArray<A>) -> DualArray<A> {
        self.stack((0..count).map(|at| row(self.integer(at as i64))).collect())
    }
}
