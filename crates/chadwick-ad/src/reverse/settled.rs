//! Elements of arrays that loops change in place, from the moment on when no change reaches them any more.
//!
//! Elimination by rows reads the row and the column of its step and changes what lies behind them; a table is filled place by place from
//! neighbours that are filled already. Such an element is the same at the end of the loops, so the dual reads it there instead of having it kept for
//! every iteration: elimination keeps a matrix and not one for each step. To keep the array may cost all of it, also where the loops change little. So
//! this is done only for what is computed in more loops than the array has axes.
//!
//! That no change reaches an element any more is seen from places that are sums of counters: a change that comes later has, along some axis, a
//! place that is always behind (or always in front of) that of the element.

use super::Reverse;
use super::undo::{follow, is_read_inside};
use chadwick_core::visit::free_variables;
use chadwick_core::{Atom, BinaryOp, Block, Const, Element, Loop, LoopForm, Op, Prim, PrimOp, SliceDim, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Numbers of the forward part that stand in an array when its loops are over.
#[derive(Default)]
pub(super) struct Settled {
    /// By number: the array, and the place.
    places: FxHashMap<Var, (Var, Vec<Sum>)>,
    /// The names of arrays that were looked at.
    names: FxHashSet<Var>,
}

/// The largest factor of a counter: sums of counters that loops can reach do not overflow then.
const LARGEST_FACTOR: i64 = 1 << 16;

/// All pairs of accesses are compared; where there are more, none is settled.
const MOST_ACCESSES: usize = 256;

/// A sum of multiples of variables and a constant.
#[derive(Clone, Debug, PartialEq)]
struct Sum<V = Var> {
    terms: Vec<(V, i64)>,
    constant: i64,
}

impl<V: Copy + PartialEq> Sum<V> {
    fn of(var: V) -> Sum<V> {
        Sum { terms: vec![(var, 1)], constant: 0 }
    }

    fn constant(constant: i64) -> Sum<V> {
        Sum { terms: Vec::new(), constant }
    }

    fn plus(&self, other: &Sum<V>, factor: i64) -> Option<Sum<V>> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (var, more) in &other.terms {
            let more = more.checked_mul(factor)?;
            match sum.terms.iter_mut().find(|(known, _)| known == var) {
                Some((_, known)) => *known = known.checked_add(more)?,
                None => sum.terms.push((*var, more)),
            }
        }
        sum.terms.retain(|(_, factor)| *factor != 0);
        let is_small = |number: i64| (-LARGEST_FACTOR..=LARGEST_FACTOR).contains(&number);
        sum.terms.iter().all(|(_, factor)| is_small(*factor)).then_some(sum)
    }

    /// The sum with something else for each variable.
    fn with<W: Copy + PartialEq>(&self, replace: &impl Fn(V) -> Sum<W>) -> Option<Sum<W>> {
        self.terms.iter().try_fold(Sum::constant(self.constant), |sum, (var, factor)| sum.plus(&replace(*var), *factor))
    }
}

/// A variable as two accesses see it that compare their places.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    /// The same for both; a counter by its depth.
    Same(Var, Option<usize>),
    /// A counter of the change alone.
    OfChange(Var, usize),
    /// By how much more than one iteration the change comes later, in the loop of that depth.
    Later(Var, usize),
}

/// A loop around an access.
#[derive(Clone, PartialEq)]
struct Around {
    counter: Var,
    bound: Option<Sum>,
}

/// Where something stands in the loops: in the body of which loop, at which statement, in which branch.
#[derive(Clone, PartialEq)]
enum Step {
    Loop(Around),
    Statement(usize),
    Branch(usize),
}

/// A read or a change of an element.
struct Access {
    path: Vec<Step>,
    place: Vec<Option<Sum>>,
    is_change: bool,
    /// The number that is read or written, if it is known by name in that block.
    number: Option<Var>,
}

impl Reverse<'_, '_> {
    /// Looks for what is settled of the arrays of a loop's state that are not undone.
    pub(super) fn find_settled(&mut self, statement: &Statement, parts: &Loop, undone: &[usize]) {
        for (at, binder) in statement.binders.iter().enumerate().take(parts.carry.len()) {
            let carry = &parts.carry[at];
            let is_flat = matches!(&carry.ty, Type::Array(array) if matches!(array.element, Element::Prim(_)));
            if !is_flat || undone.contains(&at) || self.settled.names.contains(&carry.var) {
                continue;
            }
            let mut names = Vec::new();
            if !self.context.makings.can_be_kept(binder.var)
                || !follow(parts, at, &mut names)
                || is_read_inside(&parts.body, &names)
            {
                continue;
            }
            self.settled.names.extend(&names);
            let mut walk = Walk { names: names.into_iter().collect(), ..Walk::default() };
            if walk.loop_body(parts).is_none() || walk.accesses.len() > MOST_ACCESSES {
                continue;
            }
            for access in &walk.accesses {
                let place: Option<Vec<Sum>> = access.place.iter().cloned().collect();
                if let (Some(number), Some(place)) = (access.number, place)
                    && place.len() == carry.ty.rank()
                    && access.loops().count() > carry.ty.rank()
                    && walk.accesses.iter().all(|other| !other.is_change || other.leaves(access))
                {
                    self.settled.places.insert(number, (binder.var, place));
                }
            }
        }
    }

    /// Reads what a block of the forward part has computed from where it stands in the end.
    pub(super) fn read_settled(&mut self, forward: &Block, dual: &mut Block, span: Span) {
        if self.settled.places.is_empty() {
            return;
        }
        let free = free_variables(dual);
        let bound = forward.statements.iter().flat_map(|statement| &statement.binders);
        let wanted: Vec<Var> = bound.map(|binder| binder.var).filter(|var| free.contains(var)).collect();
        let mut names = FxHashMap::default();
        self.context.b.push_block();
        for number in wanted {
            if let Some((array, place)) = self.settled.places.get(&number).cloned() {
                let indices = place.iter().map(|sum| self.number_of(sum, span)).collect();
                let element = self.context.emit_one(Op::Index { array: Atom::Var(array), indices }, span);
                names.insert(number, element);
            }
        }
        let reads = self.context.b.pop_block(Vec::new()).statements;
        if !names.is_empty() {
            super::undo::substitute(dual, &names);
            dual.statements.splice(0..0, reads);
        }
    }

    fn number_of(&mut self, sum: &Sum, span: Span) -> Atom {
        let mut number: Option<Atom> = None;
        for (var, factor) in &sum.terms {
            let term = match factor {
                1 => Atom::Var(*var),
                _ => self.context.i64_op(BinaryOp::Mul, Atom::Var(*var), Atom::i64(*factor), span),
            };
            number = Some(match number {
                Some(number) => self.context.i64_op(BinaryOp::Add, number, term, span),
                None => term,
            });
        }
        match number {
            Some(number) if sum.constant == 0 => number,
            Some(number) => self.context.i64_op(BinaryOp::Add, number, Atom::i64(sum.constant), span),
            None => Atom::i64(sum.constant),
        }
    }
}

/// Goes through the loops that change an array.
#[derive(Default)]
struct Walk {
    names: FxHashSet<Var>,
    /// Variables bound in the loops; of integers, the sum that they are, if it is one.
    sums: FxHashMap<Var, Option<Sum>>,
    /// Arrays of such sums: by the variable of their axis.
    ranges: FxHashMap<Var, (Var, Sum)>,
    path: Vec<Step>,
    accesses: Vec<Access>,
}

impl Walk {
    /// `None` if the loops cannot be understood: one that does not count in `i64` says nothing about places.
    fn loop_body(&mut self, parts: &Loop) -> Option<()> {
        let LoopForm::For { index, bound } = &parts.form else { return None };
        if index.ty != Type::I64 {
            return None;
        }
        let bound = self.sum(bound);
        self.sums.insert(index.var, Some(Sum::of(index.var)));
        parts.carry.iter().for_each(|carry| drop(self.sums.insert(carry.var, None)));
        self.path.push(Step::Loop(Around { counter: index.var, bound }));
        self.block(&parts.body)?;
        self.path.pop();
        Some(())
    }

    fn block(&mut self, block: &Block) -> Option<()> {
        for (at, statement) in block.statements.iter().enumerate() {
            self.path.push(Step::Statement(at));
            let sum = self.sum_of(&statement.op);
            statement.binders.iter().for_each(|binder| drop(self.sums.insert(binder.var, None)));
            if let [binder] = statement.binders.as_slice() {
                self.sums.insert(binder.var, sum);
                if let Some(range) = self.range(&statement.op) {
                    self.ranges.insert(binder.var, range);
                }
            }
            match &statement.op {
                Op::Index { array: Atom::Var(array), indices } if self.names.contains(array) => {
                    let place = indices.iter().map(|index| self.sum(index)).collect();
                    let number = statement.binders.first().map(|binder| binder.var);
                    self.accesses.push(Access { path: self.path.clone(), place, is_change: false, number });
                }
                Op::Update { array: Atom::Var(array), dims, value } if self.names.contains(array) => {
                    let place = |dim: &SliceDim| match dim {
                        SliceDim::Index(index) => self.sum(index),
                        SliceDim::Range { .. } => None,
                    };
                    let place = dims.iter().map(place).collect();
                    let mut bound = block.statements[..at].iter().flat_map(|statement| &statement.binders);
                    let number = value.as_var().filter(|value| bound.any(|binder| binder.var == *value));
                    self.accesses.push(Access { path: self.path.clone(), place, is_change: true, number });
                }
                Op::Loop(inner) if inner.carry.iter().any(|carry| self.names.contains(&carry.var)) => self.loop_body(inner)?,
                Op::If { then, otherwise, .. } => {
                    for (branch, block) in [then, otherwise].into_iter().enumerate() {
                        self.path.push(Step::Branch(branch));
                        self.block(block)?;
                        self.path.pop();
                    }
                }
                _ => {}
            }
            self.path.pop();
        }
        Some(())
    }

    fn sum(&self, atom: &Atom) -> Option<Sum> {
        match atom {
            Atom::Const(Const::I64(constant)) => Some(Sum::constant(*constant)),
            Atom::Const(_) => None,
            Atom::Var(var) => self.sums.get(var).cloned().unwrap_or_else(|| Some(Sum::of(*var))),
        }
    }

    fn sum_of(&self, op: &Op) -> Option<Sum> {
        match op {
            Op::Copy(atoms) => self.sum(atoms.first()?),
            Op::Prim(PrimOp::Binary(op, Prim::I64), args) => {
                let [left, right] = args.as_slice() else { return None };
                let (left, right) = (self.sum(left)?, self.sum(right)?);
                match op {
                    BinaryOp::Add => left.plus(&right, 1),
                    BinaryOp::Sub => left.plus(&right, -1),
                    BinaryOp::Mul if right.terms.is_empty() => Sum::constant(0).plus(&left, right.constant),
                    BinaryOp::Mul if left.terms.is_empty() => Sum::constant(0).plus(&right, left.constant),
                    _ => None,
                }
            }
            Op::Index { array: Atom::Var(array), indices } => {
                let ((axis, element), [index]) = (self.ranges.get(array)?, indices.as_slice()) else { return None };
                let index = self.sum(index)?;
                element.with(&|var| if var == *axis { index.clone() } else { Sum::of(var) })
            }
            _ => None,
        }
    }

    /// An array whose elements are sums of their place and what is known in front of it.
    fn range(&mut self, op: &Op) -> Option<(Var, Sum)> {
        let Op::Build { space, body, .. } = op else { return None };
        let ([axis], [result]) = (space.as_slice(), body.results.as_slice()) else { return None };
        for statement in &body.statements {
            let [binder] = statement.binders.as_slice() else { return None };
            let sum = self.sum_of(&statement.op)?;
            self.sums.insert(binder.var, Some(sum));
        }
        Some((axis.var, self.sum(result)?))
    }
}

impl Access {
    fn loops(&self) -> impl Iterator<Item = &Around> {
        self.path.iter().filter_map(|step| if let Step::Loop(around) = step { Some(around) } else { None })
    }

    /// Whether this change never reaches the element of another access behind it.
    fn leaves(&self, element: &Access) -> bool {
        let mut common = 0;
        for (own, other) in self.path.iter().zip(&element.path) {
            match (own, other) {
                (Step::Loop(around), Step::Loop(other)) if around == other => {
                    if !self.is_elsewhere(element, common, true) {
                        return false;
                    }
                    common += 1;
                }
                // In the same iteration of all common loops, this one comes earlier.
                (Step::Statement(own), Step::Statement(other)) if own < other => return true,
                (Step::Statement(own), Step::Statement(other)) if own > other => break,
                (Step::Branch(own), Step::Branch(other)) if own != other => return true,
                (own, other) if own == other => {}
                _ => return false,
            }
        }
        // An element that is written here is so.
        self.path == element.path || self.is_elsewhere(element, common, false)
    }

    /// Whether the places differ where so many loops are in the same iteration, and the next one, if the change comes later in it, in a later one.
    fn is_elsewhere(&self, element: &Access, common: usize, is_later: bool) -> bool {
        let (own, other): (Vec<&Around>, Vec<&Around>) = (self.loops().collect(), element.loops().collect());
        let depth_of = |loops: &[&Around], var: Var| loops.iter().position(|around| around.counter == var);
        let of_element = |var: Var| Sum::of(Seen::Same(var, depth_of(&other, var)));
        let of_change = |var: Var| match depth_of(&own, var) {
            Some(depth) if depth < common => Sum::of(Seen::Same(var, Some(depth))),
            Some(depth) if depth == common && is_later => {
                Sum { terms: vec![(Seen::Same(var, Some(depth)), 1), (Seen::Later(var, depth), 1)], constant: 1 }
            }
            Some(depth) => Sum::of(Seen::OfChange(var, depth)),
            None => Sum::of(Seen::Same(var, None)),
        };
        // The largest value of a counter, in terms of those around it.
        let largest = |seen: Seen| -> Option<Sum<Seen>> {
            let one = Sum::constant(1);
            match seen {
                Seen::Same(_, depth) => other[depth?].bound.as_ref()?.with(&of_element)?.plus(&one, -1),
                Seen::OfChange(_, depth) => own[depth].bound.as_ref()?.with(&of_change)?.plus(&one, -1),
                Seen::Later(var, depth) => {
                    let end = own[depth].bound.as_ref()?.with(&of_change)?;
                    end.plus(&of_element(var), -1)?.plus(&one, -2)
                }
            }
        };
        let differ = |(own, other): (&Option<Sum>, &Option<Sum>)| -> Option<bool> {
            let (own, other) = (own.as_ref()?.with(&of_change)?, other.as_ref()?.with(&of_element)?);
            let (more, less) = (own.plus(&other, -1)?, other.plus(&own, -1)?);
            Some(is_positive(more, &largest) || is_positive(less, &largest))
        };
        self.place.iter().zip(&element.place).any(|places| differ(places).unwrap_or(false))
    }
}

/// Whether a sum is positive whatever its counters are, which begin at zero.
fn is_positive(mut sum: Sum<Seen>, largest: &impl Fn(Seen) -> Option<Sum<Seen>>) -> bool {
    let depth = |seen: &Seen| match seen {
        Seen::Same(_, depth) => depth.map(|depth| 2 * depth),
        Seen::OfChange(_, depth) => Some(2 * depth),
        Seen::Later(_, depth) => Some(2 * depth + 1),
    };
    // From inside out: how far a counter goes may depend on those around it.
    while let Some(at) = (0..sum.terms.len()).max_by_key(|at| depth(&sum.terms[*at].0)) {
        let (seen, factor) = sum.terms.swap_remove(at);
        if depth(&seen).is_none() {
            return false;
        }
        if factor < 0 {
            let Some(next) = largest(seen).and_then(|largest| sum.plus(&largest, factor)) else { return false };
            sum = next;
        }
    }
    sum.constant > 0
}
