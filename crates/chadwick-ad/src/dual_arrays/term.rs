//! The array language of the chapter (Smeding, figures 4.7 to 4.9): every value is an array of numbers with a shape; scalars have the
//! empty one. There are no functions but index functions, and no control flow but selection, which evaluates both sides.
//!
//! Extents are atoms of the Core around the derivative. So shapes are symbolic, but known before anything of the term is computed.

use chadwick_core::prim::eval_compare;
use chadwick_core::{Atom, BinaryOp, CompareOp, Const, Prim, PrimOp};
use std::cell::Cell;
use std::rc::Rc;

/// A variable of a term: an array, or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub(super) u32);

/// Where new names come from; copies never give the same one.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    next: Rc<Cell<u32>>,
}

impl Names {
    pub fn fresh(&self) -> Name {
        self.next.set(self.next.get() + 1);
        Name(self.next.get())
    }
}

pub type Shape = Vec<Atom>;

/// A term with what must be known of it at once.
#[derive(Debug)]
pub struct Node {
    pub(super) term: Term,
    pub(super) prim: Prim,
    pub(super) shape: Shape,
    /// The free variables, in order.
    free: Vec<Name>,
}

pub type Tree = Rc<Node>;

/// What an element-wise operation does with the elements of its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Elementwise {
    Prim(PrimOp),
    /// The second operand where the first holds, else the third.
    Select,
    /// The partial derivative of an operation by one operand; the arguments are its operands and then its result.
    Partial(PrimOp, usize),
    /// The second operand of an operation, or another one where the operation would fail.
    Guarded(PrimOp),
}

/// For which second operands, compared with zero, an operation fails, and one for which it does not.
pub(super) fn failure(op: PrimOp) -> Option<(CompareOp, Const)> {
    match op {
        PrimOp::Binary(BinaryOp::Div | BinaryOp::Mod | BinaryOp::Quot | BinaryOp::Rem, prim) if prim.is_integer() => {
            Some((CompareOp::Equal, Const::one(prim)))
        }
        PrimOp::Binary(BinaryOp::Pow, prim) if prim.is_integer() => Some((CompareOp::Less, Const::zero(prim))),
        _ => None,
    }
}

impl Elementwise {
    /// The type of the result, for operands of these types.
    pub(super) fn result(self, operands: &[Prim]) -> Prim {
        match self {
            Elementwise::Prim(op) | Elementwise::Partial(op, _) => op.result(),
            Elementwise::Guarded(_) => operands.first().copied().unwrap_or(Prim::Bool),
            Elementwise::Select => operands.get(1).copied().unwrap_or(Prim::Bool),
        }
    }
}

/// What becomes of a read at an index out of range.
#[derive(Clone, Debug, PartialEq)]
pub enum Reads {
    /// It fails, unless one of the extents is zero: the read was moved out of builds with these extents.
    Checked(Vec<Atom>),
    /// It gives any value: the program does not want it.
    Total,
    /// It gives zero: what is read is a cotangent, and there is none.
    OrZero,
    /// There is none: the index goes through what was made for it.
    InRange,
}

impl Reads {
    /// One read instead of two, of an array and then of what is read. Only reads in range are mixed with others by any
    /// transformation.
    pub(super) fn then(&self, inner: &Reads) -> Reads {
        match (self, inner) {
            (Reads::InRange, reads) | (reads, Reads::InRange) => reads.clone(),
            (Reads::Checked(first), Reads::Checked(second)) => {
                let new = second.iter().filter(|extent| !first.contains(extent));
                Reads::Checked(first.iter().chain(new).cloned().collect())
            }
            (Reads::OrZero, _) | (_, Reads::OrZero) => Reads::OrZero,
            _ => Reads::Total,
        }
    }
}

/// `\[params]. indices`
#[derive(Clone, Debug)]
pub struct IndexFunction {
    pub(super) params: Vec<Name>,
    pub(super) indices: Vec<Tree>,
}

#[derive(Clone, Debug)]
pub(super) enum Term {
    /// A value of the Core around the derivative; it depends on no input.
    Outer(Atom),
    Var(Name),
    Let(Name, Tree, Tree),
    Elementwise(Elementwise, Vec<Tree>),
    /// `0, 1, ...`
    Iota,
    Index(Tree, Vec<Tree>, Reads),
    SumOuter(Tree),
    /// The greatest or the least along the first axis, by `Max` or `Min`.
    ReduceOuter(BinaryOp, Tree),
    Gather(Tree, IndexFunction, Reads),
    /// Starts from zeros, collisions add, writes out of range are dropped.
    Scatter(Tree, IndexFunction),
    /// An array with the elements of another one at different places of its own, which are in range or, where that is total, may be
    /// anywhere and are left out then.
    Overwrite {
        base: Tree,
        at: IndexFunction,
        value: Tree,
        is_total: bool,
    },
    Stack(Vec<Tree>),
    Replicate(Tree),
    /// Axis `k` of the result is axis `permutation[k]` of the argument.
    Transpose(Vec<usize>, Tree),
    Reshape(Tree),
    Build(Name, Tree),
    /// The states of a fold: the first is given, each other is made by the step from the one before and the row of each array.
    Fold(Rc<Step>, Tree, Vec<Tree>),
    /// The last state of a fold. What its step gives beside the states is there, too, as long as this is bound to a variable.
    Walk(Rc<Step>, Tree, Vec<Tree>),
    /// What the step of a walk gives for each row, by number.
    Given(usize, Tree),
    /// Identity; the number says that all that have it are one, to be computed once.
    Share(usize, Tree),
}

/// The subterms.
pub(super) fn parts(tree: &Tree) -> Vec<&Tree> {
    match &tree.term {
        Term::Outer(_) | Term::Var(_) | Term::Iota => Vec::new(),
        Term::Let(_, value, body) => vec![value, body],
        Term::Elementwise(_, args) | Term::Stack(args) => args.iter().collect(),
        Term::Fold(step, init, arrays) | Term::Walk(step, init, arrays) => {
            let inner = step.bindings.iter().map(|(_, value)| value).chain([&step.body]).chain(&step.gives);
            std::iter::once(init).chain(inner).chain(arrays).collect()
        }
        Term::Index(base, indices, _) => std::iter::once(base).chain(indices).collect(),
        Term::Gather(base, function, _) | Term::Scatter(base, function) => {
            std::iter::once(base).chain(&function.indices).collect()
        }
        Term::Overwrite { base, at, value, .. } => [base, value].into_iter().chain(&at.indices).collect(),
        Term::SumOuter(of) | Term::ReduceOuter(_, of) | Term::Replicate(of) | Term::Transpose(_, of) => vec![of],
        Term::Reshape(of) | Term::Build(_, of) | Term::Share(_, of) | Term::Given(_, of) => vec![of],
    }
}

/// What a fold does with its state and a row of each array. It mentions nothing else but values from outside.
#[derive(Debug)]
pub struct Step {
    pub(super) names: Names,
    pub(super) state: Name,
    pub(super) rows: Vec<(Name, Tree)>,
    /// What the rest has in common, in order.
    pub(super) bindings: Vec<(Name, Tree)>,
    pub(super) body: Tree,
    /// What it gives for each row, beside the next state; only walks have any.
    pub(super) gives: Vec<Tree>,
    /// Whether the rows come from the last to the first. The state after a row stands at its place, and the given one behind all.
    pub(super) is_backward: bool,
}

fn node(term: Term, prim: Prim, shape: Shape) -> Tree {
    let mut free = Vec::new();
    let mut add = |tree: &Tree, bound: &[Name]| free.extend(tree.free.iter().filter(|name| !bound.contains(name)));
    match &term {
        Term::Outer(_) | Term::Iota => {}
        Term::Var(name) => free.push(*name),
        Term::Let(name, value, body) => {
            add(value, &[]);
            add(body, &[*name]);
        }
        Term::Elementwise(_, args) | Term::Stack(args) => args.iter().for_each(|arg| add(arg, &[])),
        Term::Index(base, indices, _) => {
            add(base, &[]);
            indices.iter().for_each(|index| add(index, &[]));
        }
        Term::SumOuter(of)
        | Term::ReduceOuter(_, of)
        | Term::Replicate(of)
        | Term::Transpose(_, of)
        | Term::Reshape(of)
        | Term::Given(_, of)
        | Term::Share(_, of) => add(of, &[]),
        Term::Gather(base, function, _) | Term::Scatter(base, function) => {
            add(base, &[]);
            function.indices.iter().for_each(|index| add(index, &function.params));
        }
        Term::Overwrite { base, at, value, .. } => {
            add(base, &[]);
            add(value, &[]);
            at.indices.iter().for_each(|index| add(index, &at.params));
        }
        Term::Build(index, body) => add(body, &[*index]),
        Term::Fold(_, init, arrays) | Term::Walk(_, init, arrays) => {
            add(init, &[]);
            arrays.iter().for_each(|array| add(array, &[]));
        }
    }
    free.sort_unstable();
    free.dedup();
    Rc::new(Node { term, prim, shape, free })
}

impl Node {
    pub fn mentions(&self, name: Name) -> bool {
        self.free.binary_search(&name).is_ok()
    }

    pub fn free(&self) -> &[Name] {
        &self.free
    }

    /// Whether it may be written twice without being computed twice.
    pub fn is_simple(&self) -> bool {
        matches!(self.term, Term::Outer(_) | Term::Var(_))
    }
}

pub(super) fn outer(atom: Atom, prim: Prim, shape: Shape) -> Tree {
    node(Term::Outer(atom), prim, shape)
}

pub(super) fn integer(atom: Atom) -> Tree {
    outer(atom, Prim::I64, Vec::new())
}

pub(super) fn var(name: Name, prim: Prim, shape: Shape) -> Tree {
    node(Term::Var(name), prim, shape)
}

pub(super) fn index_var(name: Name) -> Tree {
    var(name, Prim::I64, Vec::new())
}

/// A variable for what a tree is bound to.
pub(super) fn var_like(name: Name, tree: &Tree) -> Tree {
    var(name, tree.prim, tree.shape.clone())
}

pub(super) fn bind(name: Name, value: Tree, body: Tree) -> Tree {
    let (prim, shape) = (body.prim, body.shape.clone());
    node(Term::Let(name, value, body), prim, shape)
}

pub(super) fn elementwise(op: Elementwise, args: Vec<Tree>) -> Tree {
    let prim = op.result(&args.iter().map(|arg| arg.prim).collect::<Vec<_>>());
    let shape = args.first().map_or(Vec::new(), |arg| arg.shape.clone());
    node(Term::Elementwise(op, args), prim, shape)
}

pub(super) fn iota(count: Atom) -> Tree {
    node(Term::Iota, Prim::I64, vec![count])
}

pub(super) fn index(base: Tree, indices: Vec<Tree>, reads: Reads) -> Tree {
    if indices.is_empty() {
        return base;
    }
    let (prim, shape) = (base.prim, base.shape[indices.len().min(base.shape.len())..].to_vec());
    node(Term::Index(base, indices, reads), prim, shape)
}

pub(super) fn sum_outer(of: Tree) -> Tree {
    let (prim, shape) = (of.prim, of.shape.iter().skip(1).cloned().collect());
    node(Term::SumOuter(of), prim, shape)
}

pub(super) fn reduce_outer(op: BinaryOp, of: Tree) -> Tree {
    let (prim, shape) = (of.prim, of.shape.iter().skip(1).cloned().collect());
    node(Term::ReduceOuter(op, of), prim, shape)
}

pub(super) fn gather(shape: Shape, base: Tree, function: IndexFunction, reads: Reads) -> Tree {
    let prim = base.prim;
    node(Term::Gather(base, function, reads), prim, shape)
}

pub(super) fn scatter(shape: Shape, of: Tree, function: IndexFunction) -> Tree {
    let prim = of.prim;
    node(Term::Scatter(of, function), prim, shape)
}

pub(super) fn overwrite(base: Tree, at: IndexFunction, value: Tree, is_total: bool) -> Tree {
    let (prim, shape) = (base.prim, base.shape.clone());
    node(Term::Overwrite { base, at, value, is_total }, prim, shape)
}

/// An array of at least one array.
pub(super) fn stack(rows: Vec<Tree>) -> Tree {
    let prim = rows.first().map_or(Prim::Bool, |row| row.prim);
    let inner = rows.first().map_or(Vec::new(), |row| row.shape.clone());
    let shape = [vec![Atom::i64(rows.len() as i64)], inner].concat();
    node(Term::Stack(rows), prim, shape)
}

pub(super) fn replicate(count: Atom, of: Tree) -> Tree {
    let (prim, shape) = (of.prim, with_extent(count, &of.shape));
    node(Term::Replicate(of), prim, shape)
}

/// The same scalar everywhere.
pub(super) fn filled(shape: &[Atom], scalar: Tree) -> Tree {
    shape.iter().rev().fold(scalar, |all, extent| replicate(extent.clone(), all))
}

pub(super) fn zeros(prim: Prim, shape: &[Atom]) -> Tree {
    filled(shape, outer(Atom::Const(Const::zero(prim)), prim, Vec::new()))
}

/// The permutation may leave the last axes out.
pub(super) fn transpose(permutation: &[usize], of: Tree) -> Tree {
    let permutation: Vec<usize> = permutation.iter().copied().chain(permutation.len()..of.shape.len()).collect();
    let shape = permutation.iter().filter_map(|axis| of.shape.get(*axis).cloned()).collect();
    let prim = of.prim;
    node(Term::Transpose(permutation, of), prim, shape)
}

pub(super) fn reshape(shape: Shape, of: Tree) -> Tree {
    let prim = of.prim;
    node(Term::Reshape(of), prim, shape)
}

pub(super) fn build(count: Atom, name: Name, body: Tree) -> Tree {
    let (prim, shape) = (body.prim, with_extent(count, &body.shape));
    node(Term::Build(name, body), prim, shape)
}

/// All states; `states` is how many.
pub(super) fn fold(states: Atom, step: Rc<Step>, init: Tree, arrays: Vec<Tree>) -> Tree {
    let (prim, shape) = (init.prim, with_extent(states, &init.shape));
    node(Term::Fold(step, init, arrays), prim, shape)
}

/// The last state.
pub(super) fn walk(step: Rc<Step>, init: Tree, arrays: Vec<Tree>) -> Tree {
    let (prim, shape) = (init.prim, init.shape.clone());
    node(Term::Walk(step, init, arrays), prim, shape)
}

/// What the step of a walk over so many rows gives.
pub(super) fn given(count: Atom, number: usize, like: &Tree, walk: Tree) -> Tree {
    node(Term::Given(number, walk), like.prim, with_extent(count, &like.shape))
}

pub(super) fn share(number: usize, of: Tree) -> Tree {
    let (prim, shape) = (of.prim, of.shape.clone());
    node(Term::Share(number, of), prim, shape)
}

pub(super) fn with_extent(count: Atom, shape: &[Atom]) -> Shape {
    [vec![count], shape.to_vec()].concat()
}

/// The same term over other subterms; the shape stays.
pub(super) fn rebuilt(tree: &Tree, change: &mut dyn FnMut(&Tree) -> Tree) -> Tree {
    let mut all = |trees: &[Tree]| -> Vec<Tree> { trees.iter().map(&mut *change).collect() };
    let term = match &tree.term {
        Term::Outer(_) | Term::Var(_) | Term::Iota => return Rc::clone(tree),
        Term::Let(name, value, body) => {
            let value = change(value);
            Term::Let(*name, value, change(body))
        }
        Term::Elementwise(op, args) => Term::Elementwise(*op, all(args)),
        Term::Stack(rows) => Term::Stack(all(rows)),
        Term::Fold(step, init, arrays) => {
            let arrays = all(arrays);
            let step = step.changed(change);
            Term::Fold(Rc::new(step), change(init), arrays)
        }
        Term::Walk(step, init, arrays) => {
            let arrays = all(arrays);
            let step = step.changed(change);
            Term::Walk(Rc::new(step), change(init), arrays)
        }
        Term::Given(number, walk) => Term::Given(*number, change(walk)),
        Term::Index(base, indices, reads) => {
            let indices = all(indices);
            Term::Index(change(base), indices, reads.clone())
        }
        Term::Gather(base, function, reads) => {
            let function = IndexFunction { params: function.params.clone(), indices: all(&function.indices) };
            Term::Gather(change(base), function, reads.clone())
        }
        Term::Scatter(of, function) => {
            let function = IndexFunction { params: function.params.clone(), indices: all(&function.indices) };
            Term::Scatter(change(of), function)
        }
        Term::Overwrite { base, at, value, is_total } => {
            let at = IndexFunction { params: at.params.clone(), indices: all(&at.indices) };
            let base = change(base);
            Term::Overwrite { base, at, value: change(value), is_total: *is_total }
        }
        Term::SumOuter(of) => Term::SumOuter(change(of)),
        Term::ReduceOuter(op, of) => Term::ReduceOuter(*op, change(of)),
        Term::Replicate(of) => Term::Replicate(change(of)),
        Term::Transpose(permutation, of) => Term::Transpose(permutation.clone(), change(of)),
        Term::Reshape(of) => Term::Reshape(change(of)),
        Term::Build(name, body) => Term::Build(*name, change(body)),
        Term::Share(number, of) => Term::Share(*number, change(of)),
    };
    node(term, tree.prim, tree.shape.clone())
}

impl Step {
    /// The same step over other terms.
    fn changed(&self, change: &mut dyn FnMut(&Tree) -> Tree) -> Step {
        let bindings = self.bindings.iter().map(|(name, value)| (*name, change(value))).collect();
        let (body, gives) = (change(&self.body), self.gives.iter().map(&mut *change).collect());
        Step { bindings, body, gives, rows: self.rows.clone(), names: self.names.clone(), ..*self }
    }
}

/// The same term with other names for extents.
pub(super) fn with_extents(tree: &Tree, name: &dyn Fn(&Atom) -> Atom) -> Tree {
    let tree = deep(|| rebuilt(tree, &mut |part| with_extents(part, name)));
    let term = match &tree.term {
        Term::Fold(step, init, arrays) => Term::Fold(with_rows(step, name), Rc::clone(init), arrays.clone()),
        Term::Walk(step, init, arrays) => Term::Walk(with_rows(step, name), Rc::clone(init), arrays.clone()),
        term => term.clone(),
    };
    node(term, tree.prim, tree.shape.iter().map(name).collect())
}

fn with_rows(step: &Step, name: &dyn Fn(&Atom) -> Atom) -> Rc<Step> {
    let rows = step.rows.iter().map(|(row, like)| (*row, with_extents(like, name))).collect();
    let (bindings, body, gives) = (step.bindings.clone(), Rc::clone(&step.body), step.gives.clone());
    Rc::new(Step { rows, bindings, body, gives, names: step.names.clone(), ..*step })
}

/// `tree[value / name]`. Binders are unique, so nothing is captured.
pub(super) fn substitute(tree: &Tree, name: Name, value: &Tree) -> Tree {
    if !tree.mentions(name) {
        return Rc::clone(tree);
    }
    match &tree.term {
        Term::Var(_) => Rc::clone(value),
        _ => deep(|| rebuilt(tree, &mut |part| substitute(part, name, value))),
    }
}

/// The term is computed outside a build of `count`: where that is zero, nothing of it need succeed.
pub(super) fn moved_out(tree: &Tree, count: &Atom) -> Tree {
    let reads = |reads: &Reads| match reads {
        Reads::Checked(extents) if !extents.contains(count) => Reads::Checked([extents.clone(), vec![count.clone()]].concat()),
        reads => reads.clone(),
    };
    let operand = |safe: Const, _: PrimOp, operand: &Tree| {
        let is_empty = PrimOp::Compare(CompareOp::LessEqual, Prim::I64);
        let is_empty = elementwise(Elementwise::Prim(is_empty), vec![integer(count.clone()), integer(Atom::i64(0))]);
        let safe = outer(Atom::Const(safe), operand.prim, Vec::new());
        let [is_empty, safe] = [is_empty, safe].map(|scalar| filled(&operand.shape, scalar));
        elementwise(Elementwise::Select, vec![is_empty, safe, Rc::clone(operand)])
    };
    weaker(tree, &reads, &operand)
}

/// The term is computed also where nobody wants its value: nothing of it may fail.
pub(super) fn unwanted(tree: &Tree) -> Tree {
    let reads = |reads: &Reads| match reads {
        Reads::Checked(_) | Reads::InRange => Reads::Total,
        reads => reads.clone(),
    };
    weaker(tree, &reads, &|_, op, operand| guarded(op, Rc::clone(operand)))
}

/// The second operand of an operation, such that it does not fail.
pub(super) fn guarded(op: PrimOp, operand: Tree) -> Tree {
    elementwise(Elementwise::Guarded(op), vec![operand])
}

/// Whether an operation has a value for all operands.
pub(crate) fn cannot_fail(op: PrimOp, args: &[Atom]) -> bool {
    failure(op).is_none() || matches!(args.get(1), Some(Atom::Const(constant)) if !fails(op, *constant))
}

/// Whether an operation fails for a second operand.
pub(super) fn fails(op: PrimOp, operand: Const) -> bool {
    failure(op).is_some_and(|(test, _)| eval_compare(test, operand, Const::zero(operand.prim())) != Ok(false))
}

/// Whether an operation is seen to have a value for all that its second operand can be.
pub(super) fn is_sure(op: PrimOp, operand: &Tree) -> bool {
    match &operand.term {
        _ if failure(op).is_none() => true,
        Term::Outer(Atom::Const(constant)) => !fails(op, *constant),
        Term::Elementwise(Elementwise::Guarded(_), _) => true,
        Term::Replicate(of) => is_sure(op, of),
        _ => false,
    }
}

/// A term with other reads, and other second operands of what may fail.
fn weaker(tree: &Tree, change: &dyn Fn(&Reads) -> Reads, operand: &dyn Fn(Const, PrimOp, &Tree) -> Tree) -> Tree {
    let tree = deep(|| rebuilt(tree, &mut |part| weaker(part, change, operand)));
    let term = match &tree.term {
        Term::Elementwise(Elementwise::Prim(op), args) => match (failure(*op), args.as_slice()) {
            (Some((_, safe)), [left, right]) if !is_sure(*op, right) => {
                return elementwise(Elementwise::Prim(*op), vec![Rc::clone(left), operand(safe, *op, right)]);
            }
            _ => return tree,
        },
        Term::Index(base, indices, reads) => Term::Index(Rc::clone(base), indices.clone(), change(reads)),
        Term::Gather(base, function, reads) => Term::Gather(Rc::clone(base), function.clone(), change(reads)),
        // Whether the places of an update are in range is checked ahead.
        Term::Overwrite { base, at, value, .. } => {
            Term::Overwrite { base: Rc::clone(base), at: at.clone(), value: Rc::clone(value), is_total: true }
        }
        _ => return tree,
    };
    node(term, tree.prim, tree.shape.clone())
}

/// Terms are as deep as programs are long.
pub(super) fn deep<R>(run: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, run)
}
