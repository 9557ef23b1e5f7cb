//! Comparisons of indices and lengths whose outcome is certain.
//!
//! An index is seen as a sum of lengths and counters with small factors. Where arrays fit into memory, such a sum does not overflow. It is not
//! negative if it is made of parts that are not, once counters that are taken away have their largest value.

use crate::facts::Facts;
use chadwick_core::{Atom, BinaryOp, Const, Op, Prim, PrimOp, Var};

/// The largest factor and constant.
const LARGEST: i64 = 1 << 24;
/// How many definitions are looked through, and how many counters replaced.
const DEEPEST: usize = 8;

/// Lengths and counters with factors, none of them zero, and a constant.
#[derive(Clone, Debug, Default)]
struct Sum {
    terms: Vec<(Var, i64)>,
    constant: i64,
}

impl Sum {
    /// `self + factor * other`.
    fn plus(mut self, factor: i64, other: &Sum) -> Option<Sum> {
        let small = |value: i64| (-LARGEST..=LARGEST).contains(&value).then_some(value);
        for (var, own) in &other.terms {
            let more = small(own.checked_mul(factor)?)?;
            match self.terms.iter().position(|(known, _)| known == var) {
                Some(at) => self.terms[at].1 = small(self.terms[at].1 + more)?,
                None => self.terms.push((*var, more)),
            }
        }
        self.terms.retain(|(_, factor)| *factor != 0);
        self.constant = small(self.constant.checked_add(other.constant.checked_mul(factor)?)?)?;
        Some(self)
    }
}

impl Facts {
    /// Whether `small <= large`, or `small < large`, for certain.
    pub fn is_ordered(&self, small: &Atom, large: &Atom, strictly: bool) -> bool {
        let difference = || {
            let difference = self.sum(large, DEEPEST)?.plus(-1, &self.sum(small, DEEPEST)?)?;
            difference.plus(-1, &Sum { terms: Vec::new(), constant: i64::from(strictly) })
        };
        difference().is_some_and(|difference| self.is_never_negative(difference))
    }

    fn is_never_negative(&self, mut sum: Sum) -> bool {
        for _ in 0..DEEPEST {
            // At its last value the counter is one less than its range.
            let last = sum.terms.iter().find_map(|(counter, factor)| {
                let range = self.sum(&self.range(*counter).filter(|_| *factor < 0)?, DEEPEST)?;
                let more = range.plus(-1, &Sum { terms: vec![(*counter, 1)], constant: 1 })?;
                sum.clone().plus(*factor, &more)
            });
            match last {
                Some(last) => sum = last,
                None => break,
            }
        }
        sum.constant >= 0 && sum.terms.iter().all(|(_, factor)| *factor > 0)
    }

    /// The atom as a sum, if it is one.
    fn sum(&self, atom: &Atom, depth: usize) -> Option<Sum> {
        let var = match self.resolve(atom) {
            Atom::Const(Const::I64(value)) => return Sum::default().plus(value, &Sum { terms: Vec::new(), constant: 1 }),
            Atom::Const(_) => return None,
            Atom::Var(var) => var,
        };
        match self.definition(&Atom::Var(var)) {
            Some(Op::Dim { .. }) => Some(Sum { terms: vec![(var, 1)], constant: 0 }),
            Some(Op::Prim(PrimOp::Binary(op, Prim::I64), args)) => {
                let [left, right] = args.as_slice() else { return None };
                let depth = depth.checked_sub(1)?;
                let (left, right) = (self.sum(left, depth)?, self.sum(right, depth)?);
                match op {
                    BinaryOp::Add => left.plus(1, &right),
                    BinaryOp::Sub => left.plus(-1, &right),
                    BinaryOp::Mul if right.terms.is_empty() => Sum::default().plus(right.constant, &left),
                    BinaryOp::Mul if left.terms.is_empty() => Sum::default().plus(left.constant, &right),
                    _ => None,
                }
            }
            None if self.range(var).is_some() => Some(Sum { terms: vec![(var, 1)], constant: 0 }),
            _ => None,
        }
    }
}
