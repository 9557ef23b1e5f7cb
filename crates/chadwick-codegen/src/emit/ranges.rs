//! What comparisons say about indices.
//!
//! Sizes and indices are seen as sums of locals with small factors. A condition that holds in a branch, the range of a counter and the sign of a
//! size are facts of the form "this sum is not negative"; another sum is not negative if it is made of such facts.

use super::{Emitter, Fact, FrameKind};
use crate::ir::*;
use chadwick_core::{Atom, BinaryOp, Block, CompareOp, Const, Op, Prim, PrimOp, UnaryOp};

/// The largest factor and constant of a sum: with sizes that fit into memory nothing overflows.
const LARGEST: i64 = 1 << 24;

/// How many whole turns are taken off an index around the end.
const MOST_TURNS: usize = 2;
/// How many facts may be put together, and how many of the last ones are looked at.
const DEEPEST: usize = 3;
const MOST_FACTS: usize = 24;

/// Locals with factors, ordered and none of them zero, and a constant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Linear {
    terms: Vec<(Local, i64)>,
    constant: i64,
}

impl Linear {
    pub fn constant(value: i64) -> Option<Linear> {
        (-LARGEST..=LARGEST).contains(&value).then_some(Linear { terms: Vec::new(), constant: value })
    }

    fn local(local: Local) -> Linear {
        Linear { terms: vec![(local, 1)], constant: 0 }
    }

    /// `self + factor * other`.
    fn plus(&self, factor: i64, other: &Linear) -> Option<Linear> {
        let small = |value: i64| (-LARGEST..=LARGEST).contains(&value).then_some(value);
        let mut terms = self.terms.clone();
        for (local, own) in &other.terms {
            let more = own.checked_mul(factor)?;
            match terms.iter_mut().find(|(known, _)| known == local) {
                Some((_, known)) => *known += small(more)?,
                None => terms.push((*local, small(more)?)),
            }
        }
        terms.retain(|(_, factor)| *factor != 0);
        terms.sort_unstable();
        let constant = small(self.constant.checked_add(other.constant.checked_mul(factor)?)?)?;
        terms.iter().all(|(_, factor)| small(*factor).is_some()).then_some(Linear { terms, constant })
    }

    pub fn minus(&self, other: &Linear) -> Option<Linear> {
        self.plus(-1, other)
    }

    /// The product, where one of the two is a number.
    fn times(&self, other: &Linear) -> Option<Linear> {
        match (self.terms.is_empty(), other.terms.is_empty()) {
            (true, _) => Linear::default().plus(self.constant, other),
            (_, true) => Linear::default().plus(other.constant, self),
            _ => None,
        }
    }

    fn less_one(&self) -> Option<Linear> {
        self.plus(-1, &Linear { terms: Vec::new(), constant: 1 })
    }

    pub fn factor_of(&self, local: Local) -> i64 {
        self.terms.iter().find(|(known, _)| *known == local).map_or(0, |(_, factor)| *factor)
    }

    /// Without the local.
    pub fn without(&self, local: Local) -> Linear {
        let terms = self.terms.iter().filter(|(known, _)| *known != local).copied().collect();
        Linear { terms, constant: self.constant }
    }

    pub fn locals(&self) -> impl Iterator<Item = Local> {
        self.terms.iter().map(|(local, _)| *local)
    }

    pub fn as_exp(&self) -> Exp {
        self.terms.iter().fold(Exp::i64(self.constant), |sum, (local, factor)| {
            let local = Exp::Local(*local);
            match factor {
                -1 => sum.sub(local),
                factor => local.mul(Exp::i64(*factor)).add(sum),
            }
        })
    }
}

impl<'p> Emitter<'_, 'p> {
    /// An expression as a sum, if it is one.
    pub(super) fn linear(&self, exp: &Exp) -> Option<Linear> {
        match self.representative(exp) {
            Exp::Const(Const::I64(value)) => Linear::constant(value),
            Exp::Local(local) => Some(self.sums_of_indices.get(&local).cloned().unwrap_or_else(|| Linear::local(local))),
            _ => None,
        }
    }

    /// The number of elements of an array as a sum, where at most one size is no number.
    pub(super) fn linear_count(&self, dims: &[Exp]) -> Option<Linear> {
        dims.iter().try_fold(Linear::constant(1)?, |count, dim| count.times(&self.linear_extent(dim)?))
    }

    /// A size as a sum, though it be zero where that is negative, if it never is.
    fn linear_extent(&self, dim: &Exp) -> Option<Linear> {
        let size = self.facts.iter().rev().find_map(|fact| match fact {
            Fact::Clamped(local, size) if *dim == Exp::Local(*local) => Some(size),
            _ => None,
        });
        let sum = size.and_then(|size| self.linear(size)).filter(|sum| self.is_sum_of_sizes(sum));
        sum.or_else(|| self.linear(dim))
    }

    /// Remembers the sum that a local is, if it cannot overflow: all parts are sizes and counters. Or that it is not negative.
    pub(super) fn note_sum(&mut self, local: Local, op: PrimOp, args: &[Exp]) {
        let (PrimOp::Binary(op, Prim::I64), [left, right]) = (op, args) else { return };
        // What remains of a division by a positive number is less than that; of a negative number, only where it is rounded down.
        if (op == BinaryOp::Mod || (op == BinaryOp::Rem && self.is_not_negative(left))) && self.is_not_negative(right) {
            self.not_negative.insert(local);
            self.bounds.insert(local, right.clone());
            return;
        }
        if matches!(op, BinaryOp::Min | BinaryOp::Max) {
            let mut signs = args.iter().map(|arg| self.is_not_negative(arg));
            if if op == BinaryOp::Max { signs.any(|is_so| is_so) } else { signs.all(|is_so| is_so) } {
                self.not_negative.insert(local);
            }
            if let (Some(left), Some(right)) = (self.linear(left), self.linear(right)) {
                self.extremes.insert(local, (op, [left, right]));
            }
            return;
        }
        let (Some(left), Some(right)) = (self.linear(left), self.linear(right)) else { return };
        let sum = match op {
            BinaryOp::Add => left.plus(1, &right),
            BinaryOp::Sub => left.minus(&right),
            BinaryOp::Mul => left.times(&right),
            _ => None,
        };
        if let Some(sum) = sum.filter(|sum| sum.locals().all(|local| self.not_negative.contains(&local))) {
            self.sums_of_indices.insert(local, sum);
        }
    }

    /// What remains of an index after division by a size, where that is known to be, but for a few turns, at most once too much, or too little: no division. Where it is
    /// a few places beside what is in range, only those divide.
    pub(super) fn wrapped(&mut self, op: PrimOp, args: &[Exp]) -> Option<Exp> {
        let (PrimOp::Binary(op @ (BinaryOp::Mod | BinaryOp::Rem), Prim::I64), [index, size]) = (op, args) else { return None };
        let (mut index, mut sum, size_sum) = (index.clone(), self.linear(index)?, self.linear(size)?);
        // Whole turns do not matter.
        for _ in 0..MOST_TURNS {
            match sum.minus(&size_sum) {
                Some(less) if self.is_at_least_zero(&less) => (index, sum) = (index.sub(size.clone()), less),
                _ => break,
            }
        }
        let index = &index;
        let is_at_least = |sum: Option<Linear>| sum.is_some_and(|sum| self.is_at_least_zero(&sum));
        let room = size_sum.minus(&sum).and_then(|room| room.less_one());
        let (is_not_negative, is_less) = (self.is_at_least_zero(&sum), is_at_least(room.clone()));
        let (condition, there, beyond) = match (is_not_negative, is_less) {
            (true, true) => return Some(index.clone()),
            (true, false) if is_at_least(room.and_then(|room| room.plus(1, &size_sum))) => {
                (Exp::test(Test::Less, index.clone(), size.clone()), index.clone(), index.clone().sub(size.clone()))
            }
            (false, true) if op == BinaryOp::Mod && is_at_least(sum.plus(1, &size_sum)) => {
                (Exp::test(Test::Less, index.clone(), Exp::i64(0)), index.clone().add(size.clone()), index.clone())
            }
            _ => self.wrapped_beside(op, [index, size], [&sum, &size_sum])?,
        };
        let condition = self.bind("below", Ty::Prim(Prim::Bool), condition);
        let wrapped =
            self.bind("wrapped", Ty::Prim(Prim::I64), Exp::Select(Box::new(condition), Box::new(there), Box::new(beyond)));
        if let Exp::Local(local) = wrapped {
            self.not_negative.insert(local);
            self.bounds.insert(local, size.clone());
        }
        Some(wrapped)
    }

    /// The same for a few places beside an index that is in range: a condition, what remains if it holds, and what if not.
    fn wrapped_beside(
        &mut self,
        op: BinaryOp,
        [index, size]: [&Exp; 2],
        [sum, size_sum]: [&Linear; 2],
    ) -> Option<(Exp, Exp, Exp)> {
        const FARTHEST: i64 = 64;
        let division = || Exp::Prim(PrimOp::Binary(op, Prim::I64), vec![index.clone(), size.clone()]);
        let is_beside = |sum: &Linear| {
            let in_range = Linear { constant: 0, ..sum.clone() };
            let room = size_sum.minus(&in_range).and_then(|room| room.less_one());
            sum.constant.abs() <= FARTHEST
                && self.is_at_least_zero(&in_range)
                && room.is_some_and(|room| self.is_at_least_zero(&room))
        };
        let found = match sum.minus(size_sum) {
            _ if is_beside(sum) && sum.constant > 0 => {
                (Exp::test(Test::Less, index.clone(), size.clone()), index.clone(), division())
            }
            _ if is_beside(sum) && op == BinaryOp::Mod => {
                (Exp::test(Test::Less, index.clone(), Exp::i64(0)), division(), index.clone())
            }
            Some(less) if is_beside(&less) && less.constant < 0 && op == BinaryOp::Mod => {
                (Exp::test(Test::Less, index.clone(), size.clone()), division(), index.clone().sub(size.clone()))
            }
            _ => return None,
        };
        self.check_outside(Exp::test(Test::Equal, size.clone(), Exp::i64(0)), FailKind::DivisionByZero);
        Some(found)
    }

    /// Of two sizes or indices one of which is known not to be less: they are equal where it is not more. In which order they are compared then.
    pub(super) fn ordered(&self, op: PrimOp, args: &[Exp]) -> Option<[Exp; 2]> {
        let (PrimOp::Compare(CompareOp::Equal, Prim::I64), [left, right]) = (op, args) else { return None };
        let (left_sum, right_sum) = (self.linear(left)?, self.linear(right)?);
        match () {
            () if self.is_at_least_zero(&left_sum.minus(&right_sum)?) => Some([left.clone(), right.clone()]),
            () if self.is_at_least_zero(&right_sum.minus(&left_sum)?) => Some([right.clone(), left.clone()]),
            () => None,
        }
    }

    /// From here on, as long as the frame is open, the condition is known.
    pub(super) fn learn(&mut self, condition: &Atom, truth: bool) {
        let Atom::Var(var) = condition else { return };
        let Some(op) = self.conditions.get(var).copied() else { return };
        match op {
            Op::Prim(PrimOp::Compare(compare, Prim::I64), args) => self.learn_comparison(*compare, args, truth),
            Op::Prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), args) => args.iter().for_each(|arg| self.learn(arg, !truth)),
            Op::Prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), args) if truth => {
                args.iter().for_each(|arg| self.learn(arg, true))
            }
            Op::Prim(PrimOp::Binary(BinaryOp::Or, Prim::Bool), args) if !truth => {
                args.iter().for_each(|arg| self.learn(arg, false))
            }
            // Both of `a && b`, neither of `a || b`.
            Op::If { condition, then, otherwise } => {
                let is = |block: &Block, value: bool| block.results == [Atom::bool(value)];
                if is(otherwise, !truth) {
                    self.learn(condition, true);
                    then.results.iter().for_each(|result| self.learn(result, truth));
                } else if is(then, !truth) {
                    self.learn(condition, false);
                    otherwise.results.iter().for_each(|result| self.learn(result, truth));
                }
            }
            _ => {}
        }
    }

    fn learn_comparison(&mut self, compare: CompareOp, args: &[Atom], truth: bool) {
        let [left, right] = args else { return };
        let (left, right) = (self.scalar(left), self.scalar(right));
        if compare == CompareOp::Equal && truth {
            self.learn_equal(&left, &right);
        }
        let (Some(left), Some(right)) = (self.linear(&left), self.linear(&right)) else { return };
        let (Some(less), Some(more)) = (left.minus(&right), right.minus(&left)) else { return };
        let known = match (compare, truth) {
            (CompareOp::Less, true) => more.less_one(),
            (CompareOp::Less, false) | (CompareOp::Equal, true) => Some(less),
            (CompareOp::LessEqual, true) => Some(more),
            (CompareOp::LessEqual, false) => less.less_one(),
            (CompareOp::Equal, false) if self.is_at_least_zero(&less) => less.less_one(),
            (CompareOp::Equal, false) if self.is_at_least_zero(&more) => more.less_one(),
            (CompareOp::Equal, false) => None,
        };
        self.facts.extend(known.map(Fact::AtLeastZero));
    }

    /// Whether a sum is known not to be negative.
    pub(super) fn is_at_least_zero(&self, sum: &Linear) -> bool {
        self.follows(sum, DEEPEST)
    }

    pub(super) fn is_sum_of_sizes(&self, sum: &Linear) -> bool {
        let is_positive = |(local, factor): &(Local, i64)| *factor > 0 && self.is_not_negative(&Exp::Local(*local));
        sum.constant >= 0 && sum.terms.iter().all(is_positive)
    }

    fn follows(&self, sum: &Linear, depth: usize) -> bool {
        if self.is_sum_of_sizes(sum) {
            return true;
        }
        if depth == 0 {
            return false;
        }
        // Not more than the smaller of two numbers is what is not more than both, than the larger what is not more than one.
        let of_extremes = |(local, factor): &(Local, i64)| {
            let Some((op, args)) = self.extremes.get(local) else { return false };
            let rest = sum.without(*local);
            let mut follow = args.iter().map(|arg| rest.plus(*factor, arg).is_some_and(|sum| self.follows(&sum, depth - 1)));
            if (*op == BinaryOp::Min) == (*factor > 0) { follow.all(|it| it) } else { follow.any(|it| it) }
        };
        if sum.terms.iter().any(of_extremes) {
            return true;
        }
        let follows_from = |known: &Linear| {
            let shares = sum.terms.iter().any(|(local, factor)| known.factor_of(*local).signum() == factor.signum());
            shares && sum.minus(known).is_some_and(|rest| self.follows(&rest, depth - 1))
        };
        let known = self.facts.iter().rev().filter_map(|fact| match fact {
            Fact::AtLeastZero(known) => Some(known),
            _ => None,
        });
        // A counter is less than its bound.
        let of_counters = sum.locals().filter_map(|local| {
            let bound = self.linear(self.bounds.get(&local)?)?;
            bound.minus(&Linear::local(local))?.less_one()
        });
        // The loops around here are running.
        let of_loops = self.frames.iter().rev().filter_map(|frame| match &frame.kind {
            FrameKind::Loop { bound, .. } => self.linear(bound)?.less_one(),
            _ => None,
        });
        known.take(MOST_FACTS).any(follows_from) || of_counters.chain(of_loops).collect::<Vec<_>>().iter().any(follows_from)
    }
}
