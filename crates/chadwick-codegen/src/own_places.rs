//! Accumulators that every iteration of a loop adds to at places of its own, as to a row of a matrix for each row of another: chunks of the
//! loop need no copies of them.
//!
//! A place is an offset `(i * d + j) * e + k` with the index `i` of the loop, where `j` is below `d` and `k` below `e`, and `d` and `e` are the same for
//! all places in all iterations. An index is below a bound as that of a loop, or behind a check.

use crate::ir::*;
use crate::parallel::{for_each_assignment, for_each_exp, for_each_stm, inner_blocks};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether all that the body does with the data is at such places. `constant`: locals that are the same in all iterations.
pub(crate) fn are_apart(body: &[Stm], index: Local, data: Local, constant: &[Local]) -> bool {
    let (mut mentioned, mut assigned) = (0, FxHashSet::default());
    for_each_stm(body, &mut |stm| {
        for_each_exp(stm, &mut |exp| exp.for_each_local(&mut |local| mentioned += usize::from(local == data)));
        for_each_assignment(stm, &mut |local| {
            assigned.insert(local);
        });
    });
    let definitions = FxHashMap::default();
    let mut places = Places { index, data, constant, assigned, definitions, below: Vec::new(), dims: None, apart: 0 };
    places.block(body);
    places.apart == mentioned
}

struct Places<'a> {
    index: Local,
    data: Local,
    constant: &'a [Local],
    /// Locals that change: nothing is known of them.
    assigned: FxHashSet<Local>,
    definitions: FxHashMap<Local, &'a Exp>,
    /// Locals that are not negative and below a bound, here.
    below: Vec<(Local, &'a Exp)>,
    /// The sizes of a part that belongs to an iteration, from inside out.
    dims: Option<Vec<Exp>>,
    /// How often the data is used at places that belong to the iteration.
    apart: usize,
}

impl<'a> Places<'a> {
    fn block(&mut self, stms: &'a [Stm]) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let known = self.below.len();
            for stm in stms {
                for_each_exp(stm, &mut |exp| self.uses(exp));
                match stm {
                    Stm::Let(local, exp) => {
                        self.definitions.insert(*local, exp);
                    }
                    Stm::Fail { condition, .. } => self.passed(condition),
                    Stm::For { index, bound, body, .. } => {
                        self.below.push((*index, bound));
                        self.block(body);
                        self.below.pop();
                    }
                    other => inner_blocks(other).into_iter().for_each(|inner| self.block(inner)),
                }
            }
            self.below.truncate(known);
        });
    }

    /// What is known behind a check that fails if the condition holds.
    fn passed(&mut self, condition: &'a Exp) {
        match condition {
            Exp::Or(a, b) => {
                self.passed(a);
                self.passed(b);
            }
            Exp::Test(Test::Outside, index, bound) => {
                if let Exp::Local(local) = **index
                    && !self.assigned.contains(&local)
                {
                    self.below.push((local, bound));
                }
            }
            _ => {}
        }
    }

    fn uses(&mut self, exp: &Exp) {
        match exp {
            Exp::Load(data, at) if self.is_data(data) => self.used(at),
            Exp::Deref(place) => match &**place {
                Exp::At(data, at) if self.is_data(data) => self.used(at),
                place => self.uses(place),
            },
            other => other.for_each_child(&mut |child| self.uses(child)),
        }
    }

    fn is_data(&self, exp: &Exp) -> bool {
        *exp == Exp::Local(self.data)
    }

    fn used(&mut self, at: &Exp) {
        let mut dims = Vec::new();
        if self.is_own(at, &mut dims) && *self.dims.get_or_insert_with(|| dims.clone()) == dims {
            self.apart += 1;
        }
    }

    fn is_own(&self, offset: &Exp, dims: &mut Vec<Exp>) -> bool {
        match offset {
            Exp::Local(local) if *local == self.index => true,
            Exp::Local(local) if !self.assigned.contains(local) => {
                self.definitions.get(local).is_some_and(|exp| self.is_own(exp, dims))
            }
            Exp::Mul(row, dim) => self.is_row(row, dim, dims),
            Exp::Add(row, within) => match (&**row, &**within) {
                (Exp::Mul(row, dim), Exp::Local(local)) => self.below.contains(&(*local, &**dim)) && self.is_row(row, dim, dims),
                _ => false,
            },
            _ => false,
        }
    }

    fn is_row(&self, row: &Exp, dim: &Exp, dims: &mut Vec<Exp>) -> bool {
        dims.push(dim.clone());
        self.is_constant(dim) && self.is_own(row, dims)
    }

    fn is_constant(&self, dim: &Exp) -> bool {
        match dim {
            Exp::Const(_) => true,
            Exp::Local(local) => self.constant.contains(local) && !self.assigned.contains(local),
            _ => false,
        }
    }
}
