//! Terms become Core: one statement for each operation on arrays, which the optimiser fuses.

use super::term::{Elementwise, IndexFunction, Name, Reads, Shape, Step, Term, Tree, deep, failure};
use crate::context::{Applied, Context};
use chadwick_core::prim::Derivative;
use chadwick_core::{
    Atom, Axis, BinaryOp, Block, CompareOp, Const, Dim, Loop, LoopForm, LoopHints, Op, Prim, PrimOp, Size, SliceDim, Type,
};
use chadwick_source::Span;
use rustc_hash::FxHashMap;
use std::rc::Rc;

pub(super) struct Emitter<'c, 'p> {
    pub context: &'c mut Context<'p>,
    /// What stands for each variable of terms.
    pub values: FxHashMap<Name, Atom>,
    /// What the walks give that variables are bound to.
    given: FxHashMap<Name, Vec<Atom>>,
    /// What variables are bound to.
    bound: FxHashMap<Name, Tree>,
    pub span: Span,
}

impl<'c, 'p> Emitter<'c, 'p> {
    pub fn new(context: &'c mut Context<'p>, values: FxHashMap<Name, Atom>, span: Span) -> Self {
        Emitter { context, values, given: FxHashMap::default(), bound: FxHashMap::default(), span }
    }

    /// What variables are bound to whose values are there already.
    pub fn know(&mut self, bindings: &[(Name, Tree)]) {
        self.bound.extend(bindings.iter().map(|(name, tree)| (*name, Rc::clone(tree))));
    }

    pub fn bind(&mut self, name: Name, tree: &Tree) {
        let value = match &tree.term {
            Term::Walk(step, init, arrays) => {
                let (last, given) = self.walk(step, init, arrays);
                self.given.insert(name, given);
                last
            }
            _ => self.tree(tree),
        };
        self.values.insert(name, value);
        self.bound.insert(name, Rc::clone(tree));
    }

    /// Emits a term; returns its value.
    pub fn tree(&mut self, tree: &Tree) -> Atom {
        deep(|| self.tree_here(tree))
    }

    fn tree_here(&mut self, tree: &Tree) -> Atom {
        match &tree.term {
            Term::Outer(atom) => atom.clone(),
            Term::Var(name) => self.values.get(name).cloned().unwrap_or(Atom::i64(0)),
            Term::Let(name, value, body) => {
                self.bind(*name, value);
                self.tree(body)
            }
            Term::Share(_, of) => self.tree(of),
            Term::Elementwise(op, args) => {
                let args: Vec<Atom> = args.iter().map(|arg| self.tree(arg)).collect();
                self.build(&tree.shape, |emitter, indices| {
                    let elements: Vec<Atom> = args.iter().map(|arg| emitter.element(arg, indices)).collect();
                    emitter.apply(*op, &elements)
                })
            }
            Term::Iota => self.build(&tree.shape, |_, indices| indices.first().cloned().unwrap_or(Atom::i64(0))),
            Term::Index(base, indices, reads) => {
                let array = self.tree(base);
                let indices: Vec<Atom> = indices.iter().map(|index| self.tree(index)).collect();
                self.read(base, array, indices, &tree.shape, reads)
            }
            Term::Gather(base, function, reads) => {
                let array = self.tree(base);
                let (outer, rest) = tree.shape.split_at(function.params.len().min(tree.shape.len()));
                self.build_rows(outer, rest, |emitter, indices| {
                    let indices = emitter.indices(function, indices);
                    emitter.read(base, array, indices, rest, reads)
                })
            }
            Term::Scatter(of, function) => self.scatter(&tree.shape, of, function),
            Term::Overwrite { base, at, value, is_total } => self.overwrite(base, at, value, *is_total),
            Term::SumOuter(of) => {
                let neutral = Const::zero(tree.prim);
                self.reduce_outer(&tree.shape, of, BinaryOp::Add, neutral)
            }
            Term::ReduceOuter(op, of) => {
                let neutral = if *op == BinaryOp::Max { Const::least(tree.prim) } else { Const::greatest(tree.prim) };
                self.reduce_outer(&tree.shape, of, *op, neutral)
            }
            Term::Stack(rows) => {
                let elements: Vec<Atom> = rows.iter().map(|row| self.tree(row)).collect();
                let inner = tree.shape[1..].iter().cloned().map(Size::Known).collect();
                let ty = Type::Prim(tree.prim).array(tree.shape[1..].iter().map(|_| Dim::Any));
                self.context.emit_one(Op::ArrayLiteral { ty, elements, inner }, self.span)
            }
            Term::Replicate(of) => {
                let value = self.tree(of);
                self.build(&tree.shape, |emitter, indices| emitter.element(&value, &indices[1..]))
            }
            Term::Transpose(permutation, of) => {
                let array = self.tree(of);
                self.context.emit_one(Op::Transpose { array, permutation: permutation.clone() }, self.span)
            }
            Term::Reshape(of) => {
                let array = self.tree(of);
                self.context.emit_one(Op::Reshape { array, dims: tree.shape.clone() }, self.span)
            }
            Term::Fold(step, init, arrays) => self.fold(step, init, arrays),
            Term::Walk(step, init, arrays) => self.walk(step, init, arrays).0,
            Term::Given(number, walk) => {
                let name = if let Term::Var(name) = &walk.term { Some(name) } else { None };
                let given = name.and_then(|name| self.given.get(name)).and_then(|given| given.get(*number).cloned());
                given.unwrap_or_else(|| self.context.zeros(tree.prim, tree.shape.clone(), self.span))
            }
            Term::Build(name, body) => self.build_rows(&tree.shape[..1], &tree.shape[1..], |emitter, indices| {
                emitter.values.insert(*name, indices[0].clone());
                emitter.tree(body)
            }),
        }
    }

    fn element(&mut self, array: &Atom, indices: &[Atom]) -> Atom {
        match indices {
            [] => array.clone(),
            _ => self.context.emit_one(Op::Index { array: array.clone(), indices: indices.to_vec() }, self.span),
        }
    }

    fn axes(&mut self, shape: &[Atom]) -> (Vec<Axis>, Vec<Atom>) {
        let axis = |size: &Atom| Axis { var: self.context.fresh("i", Type::I64).var, size: size.clone() };
        let space: Vec<Axis> = shape.iter().map(axis).collect();
        let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        (space, indices)
    }

    fn block(&mut self, make: impl FnOnce(&mut Self) -> Vec<Atom>) -> Block {
        self.context.b.push_block();
        let results = make(self);
        self.context.b.pop_block(results)
    }

    /// An array of scalars.
    fn build(&mut self, shape: &Shape, element: impl FnOnce(&mut Self, &[Atom]) -> Atom) -> Atom {
        self.build_rows(shape, &[], element)
    }

    /// An array of arrays of a shape.
    fn build_rows(&mut self, shape: &[Atom], inner: &[Atom], row: impl FnOnce(&mut Self, &[Atom]) -> Atom) -> Atom {
        if shape.is_empty() {
            return row(self, &[]);
        }
        let (space, indices) = self.axes(shape);
        let body = self.block(|emitter| vec![row(emitter, &indices)]);
        let inner = vec![inner.iter().cloned().map(Size::Known).collect()];
        self.context.emit_one(Op::Build { space, body, inner }, self.span)
    }

    fn apply(&mut self, op: Elementwise, args: &[Atom]) -> Atom {
        let span = self.span;
        match (op, args) {
            (Elementwise::Prim(op), _) => self.context.prim(op, args.to_vec(), span),
            (Elementwise::Select, [condition, then, otherwise]) => self.choose(condition, then, otherwise),
            (Elementwise::Guarded(op), [operand]) => guarded(self.context, op, operand, span).0,
            (Elementwise::Partial(op, at), [operands @ .., result]) => match op.derivatives().get(at) {
                Some(Derivative::Scale(partial)) => self.context.partial(partial, &Applied { op, operands, result }, span),
                _ => Atom::Const(Const::one(op.result())),
            },
            _ => Atom::i64(0),
        }
    }

    fn choose(&mut self, condition: &Atom, then: &Atom, otherwise: &Atom) -> Atom {
        let block = |atom: &Atom| Block { statements: Vec::new(), results: vec![atom.clone()] };
        let op = Op::If { condition: condition.clone(), then: block(then), otherwise: block(otherwise) };
        self.context.emit_one(op, self.span)
    }

    fn indices(&mut self, function: &IndexFunction, at: &[Atom]) -> Vec<Atom> {
        function.params.iter().zip(at).for_each(|(param, atom)| {
            self.values.insert(*param, atom.clone());
        });
        function.indices.iter().map(|index| self.tree(index)).collect()
    }

    fn i64_test(&mut self, op: CompareOp, left: Atom, right: Atom) -> Atom {
        self.context.prim(PrimOp::Compare(op, Prim::I64), vec![left, right], self.span)
    }

    fn both(&mut self, op: BinaryOp, left: Atom, right: Atom) -> Atom {
        self.context.prim(PrimOp::Binary(op, Prim::Bool), vec![left, right], self.span)
    }

    /// `base[indices]`, an array of the shape `rest`.
    fn read(&mut self, base: &Tree, array: Atom, indices: Vec<Atom>, rest: &[Atom], reads: &Reads) -> Atom {
        let span = self.span;
        let plain = Op::Index { array, indices: indices.clone() };
        let mut may = match reads {
            Reads::InRange => return self.context.emit_one(plain, span),
            Reads::Checked(extents) if extents.is_empty() => return self.context.emit_one(plain, span),
            // Where all are positive the program reads too, and fails as this does.
            Reads::Checked(extents) => {
                let positive =
                    |emitter: &mut Self, extent: &Atom| emitter.i64_test(CompareOp::Less, Atom::i64(0), extent.clone());
                let tests: Vec<Atom> = extents.iter().map(|extent| positive(self, extent)).collect();
                tests.into_iter().reduce(|left, right| self.both(BinaryOp::And, left, right))
            }
            Reads::Total | Reads::OrZero => None,
        };
        let mut inside = Atom::bool(true);
        for (index, extent) in indices.iter().zip(&base.shape) {
            let low = self.i64_test(CompareOp::LessEqual, Atom::i64(0), index.clone());
            let high = self.i64_test(CompareOp::Less, index.clone(), extent.clone());
            let within = self.both(BinaryOp::And, low, high);
            inside = if inside == Atom::bool(true) { within } else { self.both(BinaryOp::And, inside, within) };
        }
        if let Some(must) = may.take() {
            inside = self.both(BinaryOp::Or, inside, must);
        }
        let then = self.block(|emitter| vec![emitter.context.emit_one(plain, span)]);
        let otherwise = self.block(|emitter| {
            let zero = Atom::Const(Const::zero(base.prim));
            vec![emitter.build(&rest.to_vec(), |_, _| zero)]
        });
        let ty = Type::Prim(base.prim).array(rest.iter().map(|_| Dim::Any));
        let results = self.context.b.push(Op::If { condition: inside, then, otherwise }, vec![ty], span);
        results.into_iter().next().unwrap_or(Atom::i64(0))
    }

    fn reduce_outer(&mut self, shape: &Shape, of: &Tree, op: BinaryOp, neutral: Const) -> Atom {
        let span = self.span;
        let array = self.tree(of);
        let count = of.shape.first().cloned().unwrap_or(Atom::i64(0));
        let prim = of.prim;
        self.build(shape, |emitter, indices| {
            let (space, first) = emitter.axes(&[count]);
            let place = [first, indices.to_vec()].concat();
            let body = emitter.block(|emitter| vec![emitter.element(&array, &place)]);
            let op = emitter.context.operator(op, prim, emitter.span);
            let neutral = vec![Atom::Const(neutral)];
            emitter.context.emit_one(Op::Reduce { space, op, neutral, body, commutative: true }, span)
        })
    }

    /// A loop that keeps its states.
    fn fold(&mut self, step: &Step, init: &Tree, arrays: &[Tree]) -> Atom {
        let span = self.span;
        let count = arrays.first().and_then(|array| array.shape.first().cloned()).unwrap_or(Atom::i64(0));
        let initial = self.tree(init);
        let (_, kept) = self.steps(step, (init, initial.clone()), arrays, true);
        let Some(kept) = kept.into_iter().next() else { return initial };
        let sizes = init.shape.iter().cloned().map(Size::Known).collect();
        let ty = Type::Prim(init.prim).array(init.shape.iter().map(|_| Dim::Any));
        let first = self.context.emit_one(Op::ArrayLiteral { ty, elements: vec![initial], inner: sizes }, span);
        if !step.is_backward {
            return self.context.emit_one(Op::Concat { arrays: vec![first, kept] }, span);
        }
        let in_order = self.in_order(step, &count, &init.shape, &kept);
        self.context.emit_one(Op::Concat { arrays: vec![in_order, first] }, span)
    }

    /// A loop that keeps what its step gives.
    fn walk(&mut self, step: &Step, init: &Tree, arrays: &[Tree]) -> (Atom, Vec<Atom>) {
        let count = arrays.first().and_then(|array| array.shape.first().cloned()).unwrap_or(Atom::i64(0));
        let initial = self.tree(init);
        let (last, kept) = self.steps(step, (init, initial), arrays, false);
        let given = step.gives.iter().zip(&kept).map(|(like, kept)| self.in_order(step, &count, &like.shape, kept));
        (last, given.collect())
    }

    /// What a loop kept, by row.
    fn in_order(&mut self, step: &Step, count: &Atom, shape: &[Atom], kept: &Atom) -> Atom {
        if !step.is_backward {
            return kept.clone();
        }
        self.build_rows(std::slice::from_ref(count), shape, |emitter, indices| {
            let row = emitter.place_in_order(step, count, indices[0].clone());
            emitter.element(kept, &[row])
        })
    }

    /// The loop of a fold or walk: the last state, then all states if they are wanted, then what the step gives, in the order of the loop.
    fn steps(&mut self, step: &Step, (init, initial): (&Tree, Atom), arrays: &[Tree], keeps_states: bool) -> (Atom, Vec<Atom>) {
        let count = arrays.first().and_then(|array| array.shape.first().cloned()).unwrap_or(Atom::i64(0));
        let arrays: Vec<Atom> = arrays.iter().map(|array| self.tree(array)).collect();
        let type_of = |like: &Tree| Type::Prim(like.prim).array(like.shape.iter().map(|_| Dim::Any));
        let (index, state) = (self.context.fresh("i", Type::I64), self.context.fresh("state", type_of(init)));
        let at = Atom::Var(index.var);
        self.values.insert(step.state, Atom::Var(state.var));
        let body = self.block(|emitter| {
            let row = emitter.place_in_order(step, &count, at);
            for ((name, _), array) in step.rows.iter().zip(&arrays) {
                let value = emitter.element(array, std::slice::from_ref(&row));
                emitter.values.insert(*name, value);
            }
            step.bindings.iter().for_each(|(name, value)| emitter.bind(*name, value));
            let next = emitter.tree(&step.body);
            let given: Vec<Atom> = step.gives.iter().map(|one| emitter.tree(one)).collect();
            std::iter::once(next.clone()).chain(keeps_states.then_some(next)).chain(given).collect()
        });
        let kept: Vec<&Tree> = keeps_states.then_some(init).into_iter().chain(&step.gives).collect();
        let sizes = |like: &&Tree| like.shape.iter().cloned().map(Size::Known).collect::<Vec<Size>>();
        let parts = Loop {
            carry: vec![state],
            initial: vec![initial.clone()],
            form: LoopForm::For { index, bound: count },
            body,
            emits: kept.iter().map(sizes).collect(),
            counted: false,
            hints: LoopHints::default(),
        };
        let types = kept.iter().map(|like| Type::Prim(like.prim).array(vec![Dim::Any; like.shape.len() + 1]));
        let types = std::iter::once(type_of(init)).chain(types).collect();
        let mut results = self.context.b.push(Op::Loop(Box::new(parts)), types, self.span);
        let kept = results.split_off(1.min(results.len()));
        (results.pop().unwrap_or(initial), kept)
    }

    /// The same place, counted from where the fold begins.
    fn place_in_order(&mut self, step: &Step, count: &Atom, at: Atom) -> Atom {
        if !step.is_backward {
            return at;
        }
        let last = self.context.i64_op(BinaryOp::Sub, count.clone(), Atom::i64(1), self.span);
        self.context.i64_op(BinaryOp::Sub, last, at, self.span)
    }

    /// In place, if nobody reads the array any more.
    fn overwrite(&mut self, base: &Tree, at: &IndexFunction, value: &Tree, is_total: bool) -> Atom {
        let (array, new) = (self.tree(base), self.tree(value));
        if at.params.is_empty() && !is_total {
            let dims = self.indices(at, &[]).into_iter().map(SliceDim::Index).collect();
            return self.context.emit_one(Op::Update { array, dims, value: new }, self.span);
        }
        // A scatter has an axis, also where a scalar goes to one place.
        let (space, indices) = match value.shape.is_empty() {
            true => (self.axes(&[Atom::i64(1)]).0, Vec::new()),
            false => self.axes(&value.shape),
        };
        let body = self.block(|emitter| {
            let (front, back) = indices.split_at(at.params.len().min(indices.len()));
            let place = emitter.indices(at, front);
            let element = emitter.element(&new, &indices);
            [place, back.to_vec(), vec![element]].concat()
        });
        self.context.emit_one(Op::Scatter { space, dest: vec![array], rank: base.shape.len(), body }, self.span)
    }

    /// Whether an element of a matrix is made, without a matrix in memory, of what depends on its row or on its column.
    fn is_separable(&self, tree: &Tree, is_bound: bool) -> bool {
        match &tree.term {
            Term::Var(name) => self.bound.get(name).is_some_and(|tree| self.is_separable(tree, true)),
            Term::Replicate(_) => true,
            Term::Transpose(_, of) => matches!(of.term, Term::Replicate(_)),
            Term::Gather(_, function, _) => is_window(function),
            // What has a name may be computed once for several uses.
            Term::Elementwise(_, args) => !is_bound && args.iter().all(|arg| self.is_separable(arg, false)),
            _ => false,
        }
    }

    fn scatter(&mut self, shape: &Shape, of: &Tree, function: &IndexFunction) -> Atom {
        let (span, prim) = (self.span, of.prim);
        let values = self.tree(of);
        let zeros = self.context.zeros(prim, shape.clone(), span);
        // A histogram has an axis, also where a scalar goes to one place.
        let (space, indices) = match of.shape.is_empty() {
            true => (self.axes(&[Atom::i64(1)]).0, Vec::new()),
            false => self.axes(&of.shape),
        };
        // Windows overlap: going along all of them at one place, instead of along one at all places, no addition waits for the one before.
        let space = match is_window(function) && self.is_separable(of, false) {
            true => space.into_iter().rev().collect(),
            false => space,
        };
        let body = self.block(|emitter| {
            let (front, back) = indices.split_at(function.params.len().min(indices.len()));
            let place = emitter.indices(function, front);
            let value = emitter.element(&values, &indices);
            [place, back.to_vec(), vec![value]].concat()
        });
        let op = self.context.plus(prim, span);
        let neutral = vec![Atom::Const(Const::zero(prim))];
        self.context.emit_one(Op::Hist { space, dest: vec![zeros], rank: shape.len(), op, neutral, body }, span)
    }
}

/// An operand for which an operation has a value, and whether it is another than the one given.
pub(super) fn guarded(context: &mut Context, op: PrimOp, operand: &Atom, span: Span) -> (Atom, Atom) {
    let Some((test, safe)) = failure(op) else { return (operand.clone(), Atom::bool(false)) };
    let zero = Atom::Const(Const::zero(safe.prim()));
    let fails = context.prim(PrimOp::Compare(test, safe.prim()), vec![operand.clone(), zero], span);
    let block = |atom: Atom| Block { statements: Vec::new(), results: vec![atom] };
    let (then, otherwise) = (block(Atom::Const(safe)), block(operand.clone()));
    (context.emit_one(Op::If { condition: fails.clone(), then, otherwise }, span), fails)
}

/// Whether indices are the sum of those of a row and a column.
fn is_window(function: &IndexFunction) -> bool {
    let ([row, column], [index]) = (function.params.as_slice(), function.indices.as_slice()) else { return false };
    let Term::Elementwise(Elementwise::Prim(PrimOp::Binary(BinaryOp::Add, _)), args) = &index.term else { return false };
    let is = |arg: &Tree, name: &Name| matches!(&arg.term, Term::Var(own) if own == name);
    let [left, right] = args.as_slice() else { return false };
    (is(left, row) && is(right, column)) || (is(left, column) && is(right, row))
}
