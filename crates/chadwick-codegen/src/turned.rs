//! Matrices that a loop makes row by row and that are copied to the columns of another one, as a Jacobian from one tangent after the other: a few rows at
//! a time are made in memory of their own and written to their columns from there, while they are in the nearest cache. Then the rows are never all there,
//! and the thread that makes them writes the result.

use crate::ir::*;
use crate::parallel::{declared, for_each_exp, for_each_stm};
use rustc_hash::FxHashSet;

/// Joins the loops of such matrices with the copies.
pub(crate) fn join(functions: &mut [(usize, Function)]) {
    for (_, function) in functions {
        let body = std::mem::take(&mut function.body);
        let mut turner = Turner { declared: declared(&body), locals: &mut function.locals };
        function.body = turner.block(body);
    }
}

struct Turner<'a> {
    locals: &'a mut Vec<LocalInfo>,
    /// Locals that are assigned later than they come into being.
    declared: FxHashSet<Local>,
}

/// Where the statements stand that make a matrix and copy it; what they say.
struct Found {
    alloc: usize,
    made: usize,
    copied: usize,
    /// Between the loops, what the copy needs.
    needed: Vec<usize>,
    released: Option<usize>,
    data: Local,
    /// In the body of the loop that makes the matrix, where the place of a row is named.
    row: usize,
}

/// The loop of a copy, and what it copies where.
struct Copy<'a> {
    target: &'a Exp,
    source: Local,
    height: &'a Exp,
    width: &'a Exp,
}

impl Turner<'_> {
    fn block(&mut self, stms: Vec<Stm>) -> Vec<Stm> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut stms: Vec<Stm> = stms.into_iter().map(|stm| self.inside(stm)).collect();
            let mut at = 0;
            while at < stms.len() {
                match self.find(&stms, at) {
                    Some(found) => {
                        at = found.made;
                        stms = self.joined(stms, &found);
                    }
                    None => at += 1,
                }
            }
            stms
        })
    }

    fn inside(&mut self, stm: Stm) -> Stm {
        match stm {
            Stm::For { index, bound, body, mark, independent } => {
                Stm::For { index, bound, body: self.block(body), mark, independent }
            }
            Stm::Forever(body) => Stm::Forever(self.block(body)),
            Stm::Fork(fork) => {
                let (left, right) = (self.block(fork.left), self.block(fork.right));
                Stm::Fork(Box::new(Fork { left, right, connections: fork.connections }))
            }
            Stm::If { condition, then, otherwise } => {
                Stm::If { condition, then: self.block(then), otherwise: self.block(otherwise) }
            }
            Stm::Switch { tag, cases, otherwise } => {
                let cases = cases.into_iter().map(|(tag, stms)| (tag, self.block(stms))).collect();
                Stm::Switch { tag, cases, otherwise: self.block(otherwise) }
            }
            other => other,
        }
    }

    /// What belongs to the copy at a place.
    fn find(&self, stms: &[Stm], copied: usize) -> Option<Found> {
        let Copy { source: data, height, width, .. } = copy(&stms[copied])?;
        let is_alloc = |stm: &Stm| matches!(stm, Stm::Alloc { data: made, zeroed: false, .. } if *made == data);
        let alloc = stms[..copied].iter().position(is_alloc)?;
        let Stm::Alloc { owner, dims, .. } = &stms[alloc] else { return None };
        if self.declared.contains(&data) || self.declared.contains(owner) || dims[..] != [width.clone(), height.clone()] {
            return None;
        }
        let names = |stm: &Stm| mentions(std::slice::from_ref(stm), &[data, *owner]) > 0;
        let made = alloc + 1 + stms[alloc + 1..].iter().position(names)?;
        let row = self.row(&stms[made], data, height, width)?;
        let released = stms.iter().rposition(|stm| matches!(stm, Stm::Release(Exp::Local(local), _) if local == owner));
        // Behind the loop only the copy reads the matrix.
        if released.is_some_and(|at| at < copied)
            || mentions(&stms[made + 1..], &[data, *owner]) != 1 + usize::from(released.is_some())
        {
            return None;
        }
        let needed = self.needed(stms, made, copied)?;
        Some(Found { alloc, made, copied, needed, released, data, row })
    }

    /// Whether a loop makes the rows of a matrix and nothing else knows of it: where in its body the place of a row is named.
    fn row(&self, stm: &Stm, data: Local, height: &Exp, width: &Exp) -> Option<usize> {
        let Stm::For { index, bound, body, mark: Mark::Sequential, independent: Some(totals) } = stm else { return None };
        let place = Exp::at(Exp::Local(data), Exp::Local(*index).mul(height.clone()));
        let row = body.iter().position(|stm| matches!(stm, Stm::Let(_, exp) if *exp == place))?;
        (bound == width && totals.is_empty() && mentions(body, &[data]) == 1).then_some(row)
    }

    /// The statements between the loops that the copy needs. `None` if one of them is more than arithmetic or new memory.
    fn needed(&self, stms: &[Stm], made: usize, copied: usize) -> Option<Vec<usize>> {
        let mut wanted: FxHashSet<Local> = FxHashSet::default();
        for_each_stm(std::slice::from_ref(&stms[copied]), &mut |stm| {
            for_each_exp(stm, &mut |exp| exp.for_each_local(&mut |local| wanted.extend([local])));
        });
        let mut needed = Vec::new();
        for at in (made + 1..copied).rev() {
            let (exps, makes): (&[Exp], Vec<Local>) = match &stms[at] {
                Stm::Let(local, exp) => (std::slice::from_ref(exp), vec![*local]),
                Stm::Alloc { owner, data, dims, .. } => (dims, vec![*owner, *data]),
                _ => continue,
            };
            if !makes.iter().any(|local| wanted.contains(local)) {
                continue;
            }
            if !exps.iter().all(is_arithmetic) {
                return None;
            }
            exps.iter().for_each(|exp| exp.for_each_local(&mut |local| wanted.extend([local])));
            needed.push(at);
        }
        needed.reverse();
        // All else is known before the first loop, and does not change.
        let mut changes = wanted.iter().any(|local| self.declared.contains(local));
        for_each_stm(&stms[made..copied], &mut |stm| match stm {
            Stm::Call { results, .. } => changes |= results.iter().any(|local| wanted.contains(local)),
            Stm::AllocNode { node: local, .. } | Stm::Grow { data: local, .. } | Stm::Room { data: local, .. } => {
                changes |= wanted.contains(local);
            }
            Stm::CloseLog { columns, count, .. } => {
                changes |= wanted.contains(count) || columns.iter().any(|column| wanted.contains(&column.data));
            }
            Stm::Append { row: local, .. } => changes |= wanted.contains(local),
            _ => {}
        });
        (!changes).then_some(needed)
    }

    fn local(&mut self, name: &str, ty: Ty) -> Local {
        self.locals.push(LocalInfo { name: name.to_owned(), ty });
        Local(self.locals.len() as u32 - 1)
    }

    fn number(&mut self, name: &str, exp: Exp, out: &mut Vec<Stm>) -> Exp {
        let local = self.local(name, Ty::Prim(chadwick_core::Prim::I64));
        out.push(Stm::Let(local, exp));
        Exp::Local(local)
    }

    fn joined(&mut self, stms: Vec<Stm>, found: &Found) -> Vec<Stm> {
        let mut stms: Vec<Option<Stm>> = stms.into_iter().map(Some).collect();
        let [alloc, made, copied] = [found.alloc, found.made, found.copied].map(|at| stms[at].take());
        if let Some(at) = found.released {
            stms[at] = None;
        }
        let needed: Vec<Stm> = found.needed.iter().filter_map(|at| stms[*at].take()).collect();
        let mut out = Vec::with_capacity(stms.len());
        for (at, stm) in stms.into_iter().enumerate() {
            if at == found.made {
                out.extend(needed.iter().cloned());
                if let (Some(alloc), Some(made), Some(copied)) = (&alloc, &made, &copied) {
                    self.in_parts(found, alloc, made, copied, &mut out);
                }
            }
            out.extend(stm);
        }
        out
    }

    /// The loop over parts: each makes its rows in memory of its own, and writes them to their columns.
    fn in_parts(&mut self, found: &Found, alloc: &Stm, made: &Stm, copied: &Stm, out: &mut Vec<Stm>) {
        let (Some(Copy { target, height, width, .. }), Stm::Alloc { elem, site, .. }) = (copy(copied), alloc) else { return };
        let Stm::For { index, body, mark, independent, .. } = made else { return };
        let length = self.number("length", Exp::Runtime("cw_turned_length", vec![height.clone()]), out);
        let parts = self.number("parts", Exp::Runtime("cw_tiles", vec![width.clone(), length.clone()]), out);

        let part = self.local("part", Ty::Prim(chadwick_core::Prim::I64));
        let mut steps = Vec::new();
        let first = self.number("first", Exp::Local(part).mul(length.clone()), &mut steps);
        let count = Exp::Runtime("cw_least", vec![length, width.clone().sub(first.clone())]);
        let count = self.number("count", count, &mut steps);
        let name = self.locals[found.data.0 as usize].name.clone();
        let (owner, data) = (self.local(&format!("{name}_owner"), Ty::Owner), self.local(&name, Ty::Data(*elem)));
        let dims = vec![count.clone(), height.clone()];
        steps.push(Stm::Alloc { owner, data, elem: *elem, dims, zeroed: false, site: *site });
        let row = self.local("k", Ty::Prim(chadwick_core::Prim::I64));
        let mut rows = body.clone();
        if let Stm::Let(_, place) = &mut rows[found.row] {
            *place = Exp::at(Exp::Local(data), Exp::Local(row).mul(height.clone()));
        }
        rows.insert(0, Stm::Let(*index, first.clone().add(Exp::Local(row))));
        steps.push(Stm::For {
            index: row,
            bound: count.clone(),
            body: rows,
            mark: mark.clone(),
            independent: independent.clone(),
        });
        let target = Exp::at(target.clone(), first);
        steps.push(Stm::Run("cw_turn", vec![target, Exp::Local(data), height.clone(), count, height.clone(), width.clone()]));
        steps.push(Stm::Release(Exp::Local(owner), Counted::Block(*elem)));
        out.push(Stm::For { index: part, bound: parts, body: steps, mark: mark.clone(), independent: independent.clone() });
    }
}

/// A loop that copies a whole matrix, whose rows lie one behind the other, to columns.
fn copy(stm: &Stm) -> Option<Copy<'_>> {
    let Stm::For { index, bound: Exp::Local(_), body, .. } = stm else { return None };
    let [Stm::Run("cw_transpose", args)] = &body[..] else { return None };
    let [target, Exp::Local(source), height, width, stride, Exp::Local(block)] = &args[..] else { return None };
    let target_moves = {
        let mut moves = false;
        target.for_each_local(&mut |local| moves |= local == *index);
        moves
    };
    (stride == height && block == index && !target_moves).then_some(Copy { target, source: *source, height, width })
}

/// How often statements name one of the locals, other than where it comes into being.
fn mentions(stms: &[Stm], locals: &[Local]) -> usize {
    let mut count = 0;
    for_each_stm(stms, &mut |stm| {
        for_each_exp(stm, &mut |exp| exp.for_each_local(&mut |local| count += usize::from(locals.contains(&local))));
    });
    count
}

fn is_arithmetic(exp: &Exp) -> bool {
    let own = match exp {
        Exp::Local(_) | Exp::Const(_) | Exp::Add(..) | Exp::Sub(..) | Exp::Mul(..) | Exp::AtLeastZero(_) | Exp::At(..) => true,
        Exp::Runtime(name, _) => matches!(*name, "cw_turned_blocks" | "cw_least"),
        _ => false,
    };
    let mut all = own;
    exp.for_each_child(&mut |child| all &= is_arithmetic(child));
    all
}
