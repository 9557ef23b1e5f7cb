//! What may fail in the program fails in its derivative, at its own place. Operations on whole arrays cannot do that: what nobody needs is
//! not computed, and both branches of a conditional are. So it is seen to ahead of them.
//!
//! Mostly it is enough to compare numbers: the least and the greatest value of an index that is made of the indices of builds. Where that
//! leaves doubts, or the values of an index are not known before the program runs, the program runs once more, as far as it may fail.

use super::super::term::{Elementwise, Name, Term, Tree, failure};
use super::Converter;
use super::ahead::needed;
use crate::context::Context;
use chadwick_core::{
    Atom, BinaryOp, Block, CompareOp, Const, MessagePart, Op, Prim, PrimError, PrimOp, SliceDim, Statement, UnaryOp,
};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// A size or another value of Core, if any, and a number that is added to it.
#[derive(Clone, Debug, PartialEq)]
struct Bound {
    of: Option<Atom>,
    offset: i64,
}

impl Bound {
    fn number(offset: i64) -> Bound {
        Bound { of: None, offset }
    }

    fn exactly(atom: Atom) -> Bound {
        match atom {
            Atom::Const(Const::I64(number)) => Bound::number(number),
            atom => Bound { of: Some(atom), offset: 0 },
        }
    }
}

/// The values of an index are between these, if some conditions hold.
#[derive(Clone, Debug)]
pub(super) struct Range {
    low: Bound,
    high: Bound,
    given: Vec<Atom>,
}

/// An index and the length of its axis; nothing is known of some indices.
#[derive(Debug)]
struct Access {
    range: Option<Range>,
    extent: Atom,
    span: Span,
}

/// What was seen so far that may fail.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// Of variables that are indices, or computed from such.
    ranges: FxHashMap<Name, Range>,
    accesses: Vec<Access>,
    /// Conditions under which operations do not fail.
    conditions: Vec<Atom>,
    /// Where something may fail that is to be checked when the program runs once more.
    places: FxHashSet<Span>,
    /// Whether it has to run, whatever the conditions are.
    is_needed: bool,
}

/// Factors above this are no sizes; products of smaller ones and of numbers of iterations do not wrap around.
const LARGEST_FACTOR: i64 = 1 << 24;

impl Converter<'_, '_, '_> {
    /// The variable goes from zero to below the count.
    pub(super) fn note_index(&mut self, name: Name, count: &Atom) {
        let mut high = Bound::exactly(count.clone());
        high.offset = high.offset.saturating_sub(1);
        self.checks.ranges.insert(name, Range { low: Bound::number(0), high, given: Vec::new() });
    }

    /// The variable is bound to this.
    pub(super) fn note_binding(&mut self, name: Name, tree: &Tree) {
        if tree.prim == Prim::I64
            && tree.shape.is_empty()
            && let Some(range) = self.range(tree)
        {
            self.checks.ranges.insert(name, range);
        }
    }

    /// An array is read or changed at these places.
    pub(super) fn note_access(&mut self, array: &Tree, indices: &[Tree], span: Span) {
        for (index, extent) in indices.iter().zip(&array.shape) {
            let range = self.range(index);
            self.checks.accesses.push(Access { range, extent: extent.clone(), span });
        }
    }

    /// The same where some axes are taken in part, which has been checked by then.
    pub(super) fn note_accesses(&mut self, array: &Tree, dims: &[SliceDim], span: Span) -> Option<()> {
        for (dim, extent) in dims.iter().zip(&array.shape) {
            if let SliceDim::Index(index) = dim {
                let index = self.atom(index, span)?;
                let range = self.range(&index);
                self.checks.accesses.push(Access { range, extent: extent.clone(), span });
            }
        }
        Some(())
    }

    /// An operation fails unless a condition holds; none is known for some.
    pub(super) fn note_operation(&mut self, holds: Option<Atom>, span: Span) {
        self.checks.places.insert(span);
        self.note_check(holds);
    }

    /// The program checks something itself that is not known ahead, but holds if a condition does.
    pub(super) fn note_check(&mut self, holds: Option<Atom>) {
        match holds {
            Some(holds) => self.checks.conditions.push(holds),
            None => self.checks.is_needed = true,
        }
    }

    fn range(&mut self, index: &Tree) -> Option<Range> {
        match &index.term {
            Term::Outer(atom) => {
                let exactly = Bound::exactly(self.sizes.canonical(atom));
                Some(Range { low: exactly.clone(), high: exactly, given: Vec::new() })
            }
            Term::Var(name) => self.checks.ranges.get(name).cloned(),
            Term::Elementwise(Elementwise::Prim(PrimOp::Binary(op, Prim::I64)), args) => {
                let [left, right] = args.as_slice() else { return None };
                let (left, right) = (self.range(left)?, self.range(right)?);
                self.range_of(*op, left, right)
            }
            _ => None,
        }
    }

    /// The range of what an operation makes of what is in these.
    fn range_of(&mut self, op: BinaryOp, left: Range, right: Range) -> Option<Range> {
        let mut given = [left.given, right.given].concat();
        let (least, most) = (left.low, left.high);
        let (low, high) = match op {
            BinaryOp::Add => (self.sum(op, least, right.low)?, self.sum(op, most, right.high)?),
            BinaryOp::Sub => (self.sum(op, least, right.high)?, self.sum(op, most, right.low)?),
            BinaryOp::Min | BinaryOp::Max => {
                let (low, high) = (self.bound_op(op, &least, &right.low), self.bound_op(op, &most, &right.high));
                (low, high)
            }
            BinaryOp::Mul => {
                let (factor, least, most) = match (right.low == right.high, least == most) {
                    (true, _) => (right.low, least, most),
                    (false, true) => (least, right.low, right.high),
                    _ => return None,
                };
                self.require_between(&factor, 0, LARGEST_FACTOR, &mut given)?;
                (self.bound_op(op, &least, &factor), self.bound_op(op, &most, &factor))
            }
            BinaryOp::Mod if right.low == right.high => {
                self.require_between(&right.low, 1, i64::MAX, &mut given)?;
                (Bound::number(0), Bound { offset: right.low.offset.checked_sub(1)?, of: right.low.of })
            }
            _ => return None,
        };
        Some(Range { low, high, given })
    }

    /// Adds the condition that a number is between two others; nothing if it is known not to be.
    fn require_between(&mut self, number: &Bound, low: i64, high: i64, given: &mut Vec<Atom>) -> Option<()> {
        if number.of.is_none() {
            return (low <= number.offset && number.offset <= high).then_some(());
        }
        let at = self.bound_atom(number);
        let tests = [(Atom::i64(low), at.clone()), (at, Atom::i64(high))];
        given.extend(tests.map(|(left, right)| compare(self.context, CompareOp::LessEqual, left, right, Span::default())));
        Some(())
    }

    /// The sum or the difference.
    fn sum(&mut self, op: BinaryOp, left: Bound, right: Bound) -> Option<Bound> {
        let offset = match op {
            BinaryOp::Add => left.offset.checked_add(right.offset)?,
            _ => left.offset.checked_sub(right.offset)?,
        };
        let of = match (left.of, right.of) {
            (of, None) => of,
            (of, other) if of == other && op == BinaryOp::Sub => None,
            (None, of) if op == BinaryOp::Add => of,
            (left, Some(right)) => Some(self.context.i64_op(op, left.unwrap_or(Atom::i64(0)), right, Span::default())),
        };
        Some(Bound { of, offset })
    }

    fn bound_op(&mut self, op: BinaryOp, left: &Bound, right: &Bound) -> Bound {
        let (left, right) = (self.bound_atom(left), self.bound_atom(right));
        Bound::exactly(self.context.i64_op(op, left, right, Span::default()))
    }

    fn bound_atom(&mut self, bound: &Bound) -> Atom {
        match &bound.of {
            None => Atom::i64(bound.offset),
            Some(of) if bound.offset == 0 => of.clone(),
            Some(of) => self.context.i64_op(BinaryOp::Add, of.clone(), Atom::i64(bound.offset), Span::default()),
        }
    }

    /// Emits what sees to it that the function fails as the program does.
    pub fn check(&mut self, body: &Block, span: Span) {
        let mut checks = std::mem::take(&mut self.checks);
        let mut seen: Vec<(Bound, Bound, Atom)> = Vec::new();
        for Access { range, extent, span } in checks.accesses {
            let extent = self.sizes.canonical(&extent);
            let Some(range) = range else {
                checks.places.insert(span);
                checks.is_needed = true;
                continue;
            };
            if self.is_inside(&range, &extent) {
                continue;
            }
            checks.places.insert(span);
            checks.conditions.extend(range.given);
            if !seen.contains(&(range.low.clone(), range.high.clone(), extent.clone())) {
                seen.push((range.low.clone(), range.high.clone(), extent.clone()));
                let (low, high) = (self.bound_atom(&range.low), self.bound_atom(&range.high));
                // Sums that wrap around are not in order.
                let (zero, is) = (Atom::i64(0), CompareOp::LessEqual);
                let tests = [(is, zero, low.clone()), (is, low, high.clone()), (CompareOp::Less, high, extent)];
                checks.conditions.extend(tests.map(|(op, left, right)| compare(self.context, op, left, right, span)));
            }
        }
        if !checks.is_needed && checks.conditions.is_empty() {
            return;
        }
        let block = self.context.copy_block(body, []);
        let block = Again { context: self.context, places: &checks.places }.block(&block);
        let statements = needed(&block, &[], |statement| may_assert(&statement.op));
        if checks.is_needed {
            statements.into_iter().for_each(|statement| self.context.push_statement(statement));
            return;
        }
        let and = PrimOp::Binary(BinaryOp::And, Prim::Bool);
        let all = checks.conditions.into_iter().reduce(|left, right| self.context.prim(and, vec![left, right], span));
        let (then, otherwise) = (Block::default(), Block { statements, results: Vec::new() });
        let op = Op::If { condition: all.unwrap_or(Atom::bool(true)), then, otherwise };
        self.context.b.push(op, Vec::new(), span);
    }

    /// Whether that is known when the program is compiled. In a build of no elements nothing is read, so there may be any.
    fn is_inside(&self, range: &Range, extent: &Atom) -> bool {
        let high = match &range.high.of {
            Some(of) => Bound { of: Some(self.sizes.canonical(of)), ..range.high },
            None => range.high.clone(),
        };
        let extent = Bound::exactly(extent.clone());
        let is_below = high.of == extent.of && high.offset < extent.offset;
        range.given.is_empty() && range.low.of.is_none() && range.low.offset >= 0 && is_below
    }
}

fn compare(context: &mut Context, op: CompareOp, left: Atom, right: Atom, span: Span) -> Atom {
    context.prim(PrimOp::Compare(op, Prim::I64), vec![left, right], span)
}

fn may_assert(op: &Op) -> bool {
    let inside = |block: &Block| block.statements.iter().any(|statement| may_assert(&statement.op));
    matches!(op, Op::Assert { .. }) || op.scopes().iter().any(|scope| inside(scope.block))
}

/// Writes a program down once more with its checks, calls written out.
struct Again<'c, 'p> {
    context: &'c mut Context<'p>,
    places: &'c FxHashSet<Span>,
}

impl Again<'_, '_> {
    fn block(&mut self, block: &Block) -> Block {
        self.context.b.push_block();
        block.statements.iter().for_each(|statement| self.statement(statement));
        self.context.b.pop_block(block.results.clone())
    }

    fn statement(&mut self, statement: &Statement) {
        let Statement { binders, op, span } = statement;
        if self.places.contains(span) {
            self.checks(op, *span);
        }
        let op = match op {
            Op::Call { function, args } => Op::Copy(self.call(function.0 as usize, args)),
            op => op.clone().map_blocks(&mut |block| self.block(&block)),
        };
        self.context.push_statement(Statement { binders: binders.clone(), op, span: *span });
    }

    fn call(&mut self, function: usize, args: &[Atom]) -> Vec<Atom> {
        let Some(function) = self.context.program().functions.get(function).cloned() else { return Vec::new() };
        let params = function.params.iter().map(|param| param.var).zip(args.iter().cloned());
        let body = self.context.copy_block(&function.body, params);
        body.statements.iter().for_each(|statement| self.statement(statement));
        body.results
    }

    fn checks<'a>(&mut self, op: &'a Op, span: Span) {
        match op {
            Op::Index { array, indices } => self.check_indices(array, indices.iter().map(Some), span),
            Op::Slice { array, dims } | Op::Update { array, dims, .. } => {
                let index = |dim: &'a SliceDim| if let SliceDim::Index(index) = dim { Some(index) } else { None };
                self.check_indices(array, dims.iter().map(index), span);
            }
            Op::Prim(op, args) => self.check_operation(*op, args, span),
            _ => {}
        }
    }

    /// Of the axes that have an index.
    fn check_indices<'a>(&mut self, array: &Atom, indices: impl Iterator<Item = Option<&'a Atom>>, span: Span) {
        let mut place = vec![Atom::i64(0); self.context.type_of(array).rank()];
        let mut inside = Atom::bool(true);
        for (axis, index) in indices.enumerate() {
            let Some(index) = index else { continue };
            let size = self.context.emit_one(Op::Dim { array: array.clone(), axis }, span);
            let low = compare(self.context, CompareOp::LessEqual, Atom::i64(0), index.clone(), span);
            let high = compare(self.context, CompareOp::Less, index.clone(), size, span);
            for test in [low, high] {
                inside = self.context.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![inside, test], span);
            }
            place[axis] = index.clone();
        }
        // A read out of range says best what is wrong. Its value is used, so that it stays there.
        let then = Block { statements: Vec::new(), results: vec![Atom::bool(true)] };
        let otherwise = self.context.block(|context| {
            let element = context.emit_one(Op::Index { array: array.clone(), indices: place }, span);
            let prim = context.type_of(&element).as_prim().unwrap_or(Prim::Bool);
            let zero = Atom::Const(Const::zero(prim));
            vec![context.prim(PrimOp::Compare(CompareOp::Equal, prim), vec![element, zero], span)]
        });
        let condition = self.context.emit_one(Op::If { condition: inside, then, otherwise }, span);
        let message = vec![MessagePart::Text(String::from("index out of bounds"))];
        self.context.b.push(Op::Assert { condition, message }, Vec::new(), span);
    }

    fn check_operation(&mut self, op: PrimOp, args: &[Atom], span: Span) {
        let (Some((test, safe)), Some(operand)) = (failure(op), args.get(1)) else { return };
        let zero = Atom::Const(Const::zero(safe.prim()));
        let fails = self.context.prim(PrimOp::Compare(test, safe.prim()), vec![operand.clone(), zero], span);
        let condition = self.context.prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), vec![fails], span);
        self.context.b.push(Op::Assert { condition, message: failure_message(op) }, Vec::new(), span);
    }
}

/// What an operation says that fails.
pub(super) fn failure_message(op: PrimOp) -> Vec<MessagePart> {
    let error = match op {
        PrimOp::Binary(BinaryOp::Pow, _) => PrimError::NegativeExponent,
        _ => PrimError::DivisionByZero,
    };
    vec![MessagePart::Text(error.to_string())]
}
