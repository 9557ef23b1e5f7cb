//! Sizes and bounds: what is known, and what must be checked, as far outside as possible.
//!
//! A check of `a[i]` in a loop over `i < n` becomes one check of `n` in front of the loop, if the access happens in every iteration. A
//! check is moved only over loops whose body reaches it without a condition; then it fails exactly when some iteration would.

use super::ranges::Linear;
use super::{Emitter, Fact, FrameKind};
use crate::ir::*;
use chadwick_core::{Const, Prim};

impl Emitter<'_, '_> {
    /// The representative of a size among those known to be equal.
    pub(crate) fn representative(&self, exp: &Exp) -> Exp {
        let mut here = exp.clone();
        // Each fact points to a local that is older, so this ends.
        while let Exp::Local(local) = here {
            let next = self.facts.iter().rev().find_map(|fact| match fact {
                Fact::Equal(known, exp) if *known == local => Some(exp.clone()),
                _ => None,
            });
            match next {
                Some(exp) => here = exp,
                None => return Exp::Local(local),
            }
        }
        here
    }

    /// A size as a literal where its value is known: the C compiler makes better addresses of it.
    pub(crate) fn literal_if_known(&self, size: &Exp) -> Exp {
        match self.representative(size) {
            literal @ Exp::Const(_) => literal,
            _ => size.clone(),
        }
    }

    pub(crate) fn same_size(&self, left: &Exp, right: &Exp) -> bool {
        left == right || self.representative(left) == self.representative(right)
    }

    /// Whether arrays of these sizes have as many elements, if those can be counted at all.
    pub(crate) fn same_count(&self, left: &[Exp], right: &[Exp]) -> bool {
        let (left, right) = (self.linear_count(left), self.linear_count(right));
        left.is_some() && left == right
    }

    /// Fails where an array has more elements than can be counted, and only then: its shapes are known to have as many.
    pub(crate) fn check_countable(&mut self, dims: &[Exp], others: &[Exp]) {
        let (condition, site) = (Exp::test(Test::NotEqual, count_or_none(dims), count_or_none(others)), self.site());
        self.push(Stm::Fail { condition, kind: FailKind::Memory, values: Vec::new(), site });
    }

    pub(crate) fn learn_equal(&mut self, left: &Exp, right: &Exp) {
        let (left, right) = (self.representative(left), self.representative(right));
        match (left, right) {
            (Exp::Local(a), Exp::Local(b)) if a < b => self.facts.push(Fact::Equal(b, Exp::Local(a))),
            (Exp::Local(a), Exp::Local(b)) if b < a => self.facts.push(Fact::Equal(a, Exp::Local(b))),
            (Exp::Local(a), constant @ Exp::Const(_)) | (constant @ Exp::Const(_), Exp::Local(a)) => {
                self.facts.push(Fact::Equal(a, constant));
            }
            _ => {}
        }
    }

    pub(super) fn is_not_negative(&self, exp: &Exp) -> bool {
        match exp {
            Exp::Const(Const::I64(value)) => *value >= 0,
            Exp::Local(local) => {
                let learnt = |fact: &Fact| matches!(fact, Fact::NotNegative(known) if known == local);
                self.not_negative.contains(local) || self.facts.iter().any(learnt)
            }
            _ => false,
        }
    }

    pub(crate) fn learn_not_negative(&mut self, exp: &Exp) {
        if let Exp::Local(local) = exp {
            self.facts.push(Fact::NotNegative(*local));
        }
    }

    /// The number of elements along an axis of the given size: not negative.
    pub(crate) fn extent(&mut self, size: &Exp) -> Exp {
        if let Some(value) = size.as_i64() {
            return Exp::i64(value.max(0));
        }
        let representative = self.representative(size);
        let is_learnt = || self.linear(size).is_some_and(|sum| self.is_at_least_zero(&sum));
        if self.is_not_negative(size) || self.is_not_negative(&representative) || is_learnt() {
            return size.clone();
        }
        let known = self.facts.iter().rev().find_map(|fact| match fact {
            Fact::Clamped(local, exp) if *exp == representative => Some(Exp::Local(*local)),
            _ => None,
        });
        if let Some(known) = known {
            return known;
        }
        let local = self.local("n", Ty::Prim(Prim::I64));
        self.push_outside(local, size.clone().at_least_zero());
        self.not_negative.insert(local);
        let above = self.linear(&Exp::Local(local)).zip(self.linear(&representative)).and_then(|(most, size)| most.minus(&size));
        self.facts.extend(above.map(Fact::AtLeastZero));
        self.facts.push(Fact::Clamped(local, representative));
        Exp::Local(local)
    }

    /// Whether the index is known to be inside.
    fn is_inside(&self, index: &Exp, dim: &Exp) -> bool {
        if let (Exp::Local(local), Some(dim)) = (index, self.representative(dim).as_i64())
            && let Some(bound) = self.bounds.get(local).and_then(Exp::as_i64)
        {
            return bound <= dim;
        }
        let (Some(index), Some(dim)) = (self.linear(index), self.linear(dim)) else { return false };
        let room = Linear::constant(1).and_then(|one| dim.minus(&index)?.minus(&one));
        self.is_at_least_zero(&index) && room.is_some_and(|room| self.is_at_least_zero(&room))
    }

    /// Whether a range is known to begin and end inside.
    pub(super) fn is_range_inside(&self, start: &Exp, count: &Exp, stride: &Exp, dim: &Exp) -> bool {
        if stride.as_i64() != Some(1) {
            return false;
        }
        if start.as_i64() == Some(0) && self.same_size(count, dim) {
            return true;
        }
        let (Some(start), Some(count), Some(dim)) = (self.linear(start), self.linear(count), self.linear(dim)) else {
            return false;
        };
        let room = dim.minus(&start).and_then(|room| room.minus(&count));
        [Some(start), Some(count), room].into_iter().all(|sum| sum.is_some_and(|sum| self.is_at_least_zero(&sum)))
    }

    /// The outermost frame, from one on, whose loop runs whenever those in it do, but for loops with the bound.
    fn certain_level(&self, outermost: usize, bound: &Exp) -> usize {
        let is_certain = |kind: &FrameKind| match kind {
            FrameKind::Loop { bound: own, .. } => own == bound || own.as_i64().is_some_and(|own| own > 0),
            _ => true,
        };
        let uncertain = (outermost + 1..self.frames.len()).rev().find(|level| !is_certain(&self.frames[*level].kind));
        uncertain.unwrap_or(outermost)
    }

    /// Notes what is known inside the frame with the number, whatever is open in it.
    fn learn_in(&mut self, level: usize, fact: Fact) {
        let inner = &mut self.frames[level + 1..];
        let at = inner.first().map_or(self.facts.len(), |frame| frame.facts);
        inner.iter_mut().for_each(|frame| frame.facts += 1);
        self.facts.insert(at, fact);
    }

    /// Whether an expression means the same outside the frame with the number.
    fn defined_outside(&self, exp: &Exp, frame: usize) -> bool {
        let mut outside = true;
        exp.for_each_local(&mut |local| outside &= self.depths[local.0 as usize] <= frame);
        outside
    }

    /// Gives a local its value in front of all loops around here that do not matter to it.
    fn push_outside(&mut self, local: Local, exp: Exp) {
        let mut level = self.frames.len() - 1;
        let mut crossed = None;
        while matches!(self.frames[level].kind, FrameKind::Loop { .. }) && self.defined_outside(&exp, level) {
            crossed = Some(level);
            level -= 1;
        }
        match crossed.map(|level| (level, &mut self.frames[level].kind)) {
            Some((level, FrameKind::Loop { before, .. })) => {
                before.push(Stm::Let(local, exp));
                self.depths[local.0 as usize] = level;
            }
            _ => self.push(Stm::Let(local, exp)),
        }
    }

    /// Fails if the condition holds, in front of the loops around here that do not matter to it, unless these do nothing.
    pub(super) fn check_outside(&mut self, condition: Exp, kind: FailKind) {
        let mut level = self.frames.len() - 1;
        let (mut crossed, mut guards) = (None, Vec::new());
        while let FrameKind::Loop { bound, .. } = &self.frames[level].kind {
            let is_outside = |exp: &Exp| self.defined_outside(exp, level);
            if !is_outside(&condition) || !guards.iter().all(is_outside) {
                break;
            }
            if bound.as_i64().is_none_or(|bound| bound <= 0) {
                guards.push(bound.clone());
            }
            crossed = Some(level);
            level -= 1;
        }
        self.fail_in_front(crossed, guards, condition, kind, Vec::new());
    }

    /// Fails if the condition holds and loops with these bounds run, in front of the loop that was crossed last.
    fn fail_in_front(&mut self, crossed: Option<usize>, guards: Vec<Exp>, condition: Exp, kind: FailKind, values: Vec<Exp>) {
        let condition =
            guards.into_iter().fold(condition, |condition, guard| Exp::test(Test::Less, Exp::i64(0), guard).and(condition));
        let stm = Stm::Fail { condition, kind, values, site: self.site() };
        match crossed.map(|level| &mut self.frames[level].kind) {
            Some(FrameKind::Loop { before, .. }) => before.push(stm),
            _ => self.push(stm),
        }
    }

    /// Fails unless the index is inside.
    pub(crate) fn check_index(&mut self, index: &Exp, dim: &Exp) {
        if self.is_inside(index, dim) {
            return;
        }
        // The index at the first iteration of the loops that are crossed, and by how much it grows in them, or falls in one.
        let (mut first, mut growth, mut fall) = (self.linear(index), None::<Exp>, None::<Exp>);
        let mut guards = Vec::new();
        let mut level = self.frames.len() - 1;
        let mut crossed = None;
        let mut counters = Vec::new();
        while let FrameKind::Loop { index: counter, bound, .. } = &self.frames[level].kind {
            if !self.defined_outside(dim, level) || guards.iter().any(|guard| !self.defined_outside(guard, level)) {
                break;
            }
            let remains = match &first {
                Some(first) => first.without(*counter),
                None if self.defined_outside(index, level) => Linear::default(),
                None => break,
            };
            if remains.locals().any(|local| self.depths[local.0 as usize] > level) {
                break;
            }
            match first.as_ref().map_or(0, |first| first.factor_of(*counter)) {
                0 => {}
                -1 if growth.is_none() && fall.is_none() => {
                    fall = Some(bound.clone().sub(Exp::i64(1)));
                    first = Some(remains);
                }
                1 if fall.is_none() => {
                    let more = bound.clone().sub(Exp::i64(1));
                    growth = Some(growth.map_or(more.clone(), |growth| growth.add(more)));
                    counters.push(bound.clone());
                    first = Some(remains);
                }
                _ => break,
            }
            if bound.as_i64().is_none_or(|bound| bound <= 0) && !guards.contains(bound) {
                guards.push(bound.clone());
            }
            crossed = Some(level);
            level -= 1;
        }
        // The index itself may be computed inside.
        let is_inside = crossed.is_some_and(|level| !self.defined_outside(index, level));
        let first = match first {
            Some(first) if growth.is_some() || fall.is_some() || is_inside => first.as_exp(),
            _ => index.clone(),
        };
        let starts_at_zero = first.as_i64() == Some(0);
        let outside = |index: &Exp| Exp::test(Test::Outside, index.clone(), dim.clone());
        let (condition, reported) = match (growth, fall) {
            (None, None) => (outside(&first), first),
            (None, Some(fall)) => {
                let condition = outside(&first).or(outside(&first.clone().sub(fall)));
                // The index falls by one at a time: the first that is too small is minus one.
                let is_first = Box::new(outside(&first));
                (condition, Exp::Select(is_first, Box::new(first), Box::new(Exp::i64(-1))))
            }
            (Some(growth), _) => {
                let last = first.clone().add(growth);
                let condition = match first.as_i64() {
                    Some(0) => outside(&last),
                    _ => outside(&first).or(outside(&last)),
                };
                // The index grows by one at a time: the first that is too large is the size itself.
                let is_first = Box::new(outside(&first));
                (condition, Exp::Select(is_first, Box::new(first), Box::new(dim.clone())))
            }
        };
        // Where the index is a counter, its loop has no more iterations than there are elements: known where the check was made for certain.
        if let (Some(crossed), [bound], true) = (crossed, counters.as_slice(), starts_at_zero)
            && let level = self.certain_level(crossed, bound)
            && let (Some(dim), Some(bound)) = (self.linear(dim), self.linear(bound))
            && let Some(room) = dim.minus(&bound)
        {
            self.learn_in(level, Fact::AtLeastZero(room));
        }
        self.fail_in_front(crossed, guards, condition, FailKind::Index, vec![reported, dim.clone()]);
    }

    /// Fails unless the shapes are equal.
    pub(crate) fn check_shapes(&mut self, found: &[Exp], wanted: &[Exp], kind: FailKind) {
        let mut condition: Option<Exp> = None;
        for (found, wanted) in found.iter().zip(wanted) {
            if self.same_size(found, wanted) {
                continue;
            }
            let differ = Exp::test(Test::NotEqual, found.clone(), wanted.clone());
            condition = Some(match condition {
                None => differ,
                Some(before) => before.or(differ),
            });
        }
        if let Some(condition) = condition {
            let site = self.site();
            let values = [found, wanted].concat();
            self.push(Stm::Fail { condition, kind, values, site });
            found.iter().zip(wanted).for_each(|(found, wanted)| self.learn_equal(found, wanted));
        }
    }
}

/// The number of elements; a negative one where there is none.
pub(super) fn count_or_none(dims: &[Exp]) -> Exp {
    dims.iter().cloned().reduce(|a, b| Exp::Runtime("cw_times", vec![a, b])).unwrap_or(Exp::i64(1))
}
