//! Which loops run in chunks, on any number of threads.
//!
//! From outside in, the first loop whose iterations are independent is taken, and those inside it stay as they are. What the body writes
//! outside itself are elements of its own, totals and accumulators; every chunk gets totals and accumulators of its own. So the result
//! depends on how the loop is cut, which its size decides, and not on who runs the chunks.
//!
//! The two blocks of a fork run at the same time if neither touches what the other one changes.

use crate::ir::*;
use crate::own_places::are_apart;
use chadwick_core::Prim;
use rustc_hash::{FxHashMap, FxHashSet};

/// Work that is worth a chunk, as `rts/threads.h` has it.
const GRAIN: i64 = 16384;

/// Work of who keeps a log of its own: two of them are worth waking others.
const TASK: i64 = 4 * GRAIN;

/// Loops that take so many iterations at most stay as they are.
const FEW: i64 = 3;

/// Work of an operation that is a function of its own, like `exp`.
const HEAVY: i64 = 16;

/// Work of a loop whose length is not known before the one around it runs; of a call.
const UNKNOWN_LENGTH: i64 = 4;
const CALL: i64 = 64;
const RECURSIVE_CALL: i64 = 2048;

/// Elements of a block that is transposed, as `rts/runtime.h` has it.
const TRANSPOSED_BLOCK: i64 = 8 * 256;

/// What all functions of a program tell about calls.
pub(crate) struct Calls<'a> {
    /// By number: whether running it may speak to the host.
    speaks: FxHashSet<usize>,
    recursive: &'a [bool],
}

/// Puts loops in chunks.
pub(crate) fn parallelise(functions: &mut [(usize, Function)], roots: &[usize], recursive: &[bool], strict: bool) {
    let calls = Calls { speaks: speakers(functions), recursive };
    for (number, function) in functions {
        let body = std::mem::take(&mut function.body);
        // What runs once per call of the program needs no version without chunks.
        let often = function.recursive || !roots.contains(number);
        let chunker = Chunker { function, calls: &calls, declared: declared(&body), strict };
        let body = chunker.block(body, often, function.site);
        function.body = body;
    }
}

/// Locals that are declared without a value.
pub(crate) fn declared(body: &[Stm]) -> FxHashSet<Local> {
    let mut declared = FxHashSet::default();
    for_each_stm(body, &mut |stm| {
        if let Stm::Declare(local) = stm {
            declared.insert(*local);
        }
    });
    declared
}

/// The functions that trace values, or call one that does.
fn speakers(functions: &[(usize, Function)]) -> FxHashSet<usize> {
    let mut speaks: FxHashSet<usize> = FxHashSet::default();
    loop {
        let before = speaks.len();
        for (number, function) in functions {
            let mut found = false;
            for_each_stm(&function.body, &mut |stm| match stm {
                Stm::Trace(_) => found = true,
                Stm::Call { function, .. } => found |= speaks.contains(function),
                _ => {}
            });
            if found {
                speaks.insert(*number);
            }
        }
        if speaks.len() == before {
            return speaks;
        }
    }
}

struct Chunker<'a> {
    function: &'a Function,
    calls: &'a Calls<'a>,
    /// Locals that are assigned later than they come into being.
    declared: FxHashSet<Local>,
    strict: bool,
}

impl Chunker<'_> {
    fn block(&self, stms: Vec<Stm>, often: bool, site: SiteId) -> Vec<Stm> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || stms.into_iter().map(|stm| self.statement(stm, often, site)).collect())
    }

    fn statement(&self, stm: Stm, often: bool, site: SiteId) -> Stm {
        match stm {
            Stm::For { index, bound, body, mark, independent } => {
                let few = bound.as_i64().is_some_and(|bound| bound <= FEW);
                let found = match &independent {
                    // A loop with a mark adds to other places in every iteration, unless these go side by side.
                    Some(totals) if !few => {
                        let adds_apart = !matches!(mark, Mark::Sequential | Mark::Lanes(_));
                        self.connections(&body, index, totals, adds_apart)
                    }
                    _ => None,
                };
                match found {
                    Some((captured, totals, accumulators)) => {
                        let (work, in_vectors) = (Work::of(self, index, &body), runs_in_vectors(&mark, &body));
                        if work.as_i64().zip(bound.as_i64()).is_some_and(|(work, bound)| work.saturating_mul(bound) < GRAIN) {
                            return Stm::For { index, bound, body, mark, independent };
                        }
                        Stm::Parallel(Box::new(Parallel {
                            index,
                            bound,
                            body: self.forks(body),
                            mark,
                            captured,
                            totals,
                            accumulators,
                            work,
                            often,
                            in_step: false,
                            in_vectors,
                            site,
                        }))
                    }
                    // What goes side by side stays in one piece.
                    None if matches!(mark, Mark::Lanes(_)) => Stm::For { index, bound, body, mark, independent },
                    None => Stm::For { index, bound, body: self.block(body, true, site), mark, independent },
                }
            }
            Stm::Forever(body) => Stm::Forever(self.block(body, true, site)),
            Stm::Fork(fork) => {
                let connections = self.fork_connections(&fork);
                let (left, right) = (self.block(fork.left, true, site), self.block(fork.right, true, site));
                Stm::Fork(Box::new(Fork { left, right, connections }))
            }
            Stm::If { condition, then, otherwise } => {
                Stm::If { condition, then: self.block(then, often, site), otherwise: self.block(otherwise, often, site) }
            }
            Stm::Switch { tag, cases, otherwise } => {
                let cases = cases.into_iter().map(|(tag, stms)| (tag, self.block(stms, often, site))).collect();
                Stm::Switch { tag, cases, otherwise: self.block(otherwise, often, site) }
            }
            other => other,
        }
    }

    /// A body in which no more loops are cut, but where forks may still run at the same time.
    fn forks(&self, stms: Vec<Stm>) -> Vec<Stm> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let inside = |stm: Stm| match stm {
                Stm::For { index, bound, body, mark, independent } => {
                    Stm::For { index, bound, body: self.forks(body), mark, independent }
                }
                Stm::Forever(body) => Stm::Forever(self.forks(body)),
                Stm::If { condition, then, otherwise } => {
                    Stm::If { condition, then: self.forks(then), otherwise: self.forks(otherwise) }
                }
                Stm::Switch { tag, cases, otherwise } => {
                    let cases = cases.into_iter().map(|(tag, stms)| (tag, self.forks(stms))).collect();
                    Stm::Switch { tag, cases, otherwise: self.forks(otherwise) }
                }
                Stm::Fork(fork) => {
                    let connections = self.fork_connections(&fork);
                    let (left, right) = (self.forks(fork.left), self.forks(fork.right));
                    Stm::Fork(Box::new(Fork { left, right, connections }))
                }
                other => other,
            };
            stms.into_iter().map(inside).collect()
        })
    }

    /// What connects the iterations of a loop with each other and with what is around it: what they read, totals, accumulators. `None`
    /// if that is more than chunks can have for themselves.
    #[expect(clippy::type_complexity, reason = "three lists of one loop")]
    fn connections(
        &self,
        body: &[Stm],
        index: Local,
        totals: &[(Combine, Local)],
        adds_apart: bool,
    ) -> Option<(Vec<Local>, Vec<(Combine, Local)>, Vec<Accumulator>)> {
        let uses = Uses::of(body, Some(index), &self.declared);
        if uses.speaks || uses.calls.iter().any(|callee| self.calls.speaks.contains(callee)) {
            return None;
        }
        let mut totals = totals.to_vec();
        for local in &uses.assigned {
            if totals.iter().any(|(_, total)| total == local) {
                continue;
            }
            let Ty::Prim(prim) = self.function.locals[local.0 as usize].ty else { return None };
            if !self.function.sums.contains(local) || !self.may_reorder(prim) {
                return None;
            }
            totals.push((Combine::Add, *local));
        }
        let (mut captured, mut accumulators) = (Vec::new(), Vec::new());
        for local in &uses.read {
            if totals.iter().any(|(_, total)| total == local) {
                continue;
            }
            match self.function.accumulators.iter().find(|accumulator| accumulator.data == *local) {
                None => {}
                Some(_) if adds_apart || are_apart(body, index, *local, &uses.read) => {}
                Some(Accumulator { elem: Elem::Unit, .. }) => {}
                Some(accumulator @ Accumulator { elem: Elem::Prim(prim), .. }) if self.may_reorder(*prim) => {
                    accumulators.push(accumulator.clone());
                }
                Some(_) => return None,
            }
            captured.push(*local);
        }
        // An accumulator inside a sum is reached through the place of the sum; rows of a log have an order.
        let ty = |local: &Local| &self.function.locals[local.0 as usize].ty;
        let place = |local: &Local| matches!(ty(local), Ty::Place(_) | Ty::Log | Ty::Counter);
        if captured.iter().any(place) {
            return None;
        }
        Some((captured, totals, accumulators))
    }

    /// What connects the blocks of a fork with what is around them; `None` if they cannot run at the same time.
    fn fork_connections(&self, fork: &Fork) -> Option<[Connections; 2]> {
        let mut sides = Vec::new();
        for body in [&fork.left, &fork.right] {
            let uses = Uses::of(body, None, &self.declared);
            if uses.speaks || uses.calls.iter().any(|callee| self.calls.speaks.contains(callee)) {
                return None;
            }
            sides.push(uses);
        }
        let [left, right] = <[Uses; 2]>::try_from(sides).ok()?;
        for (one, other) in [(&left, &right), (&right, &left)] {
            let apart = |local: &Local| ![&one.read, &other.read, &other.assigned].into_iter().any(|them| them.contains(local));
            let changed = |local: &Local| {
                let is_accumulator = self.function.accumulators.iter().any(|accumulator| accumulator.data == *local);
                is_accumulator || matches!(self.function.locals[local.0 as usize].ty, Ty::Place(_) | Ty::Log)
            };
            if !one.assigned.iter().all(apart) || one.read.iter().any(|local| changed(local) && other.read.contains(local)) {
                return None;
            }
        }
        Some([left, right].map(|uses| Connections { captured: uses.read, assigned: uses.assigned }))
    }

    fn may_reorder(&self, prim: Prim) -> bool {
        prim != Prim::Bool && may_reorder(prim, self.strict)
    }
}

/// Whether a loop spends its time in vectors: in itself or, if there are loops inside, in all of these.
fn runs_in_vectors(mark: &Mark, body: &[Stm]) -> bool {
    let is_straight = |stm: &Stm| {
        let is_step = matches!(stm, Stm::Let(..) | Stm::Assign(..) | Stm::Store { .. } | Stm::Put { .. });
        is_step || matches!(stm, Stm::Declare(_) | Stm::Tick(_) | Stm::Comment(_))
    };
    let inner: Vec<_> = body.iter().filter(|stm| !is_straight(stm)).collect();
    match inner.is_empty() {
        true => matches!(mark, Mark::Independent | Mark::Reduction(_)),
        false => inner.into_iter().all(|stm| matches!(stm, Stm::For { mark, body, .. } if runs_in_vectors(mark, body))),
    }
}

/// What a body of a loop uses of its surroundings.
#[derive(Default)]
pub(crate) struct Uses {
    pub(crate) read: Vec<Local>,
    pub(crate) assigned: Vec<Local>,
    calls: FxHashSet<usize>,
    speaks: bool,
}

impl Uses {
    pub(crate) fn of(body: &[Stm], index: Option<Local>, declared: &FxHashSet<Local>) -> Uses {
        let mut own: FxHashSet<Local> = index.into_iter().collect();
        for_each_stm(body, &mut |stm| {
            for_each_definition(stm, declared, &mut |local| {
                own.insert(local);
            })
        });
        let mut uses = Uses::default();
        let mut seen: FxHashSet<Local> = FxHashSet::default();
        let mut written: FxHashSet<Local> = FxHashSet::default();
        for_each_stm(body, &mut |stm| {
            for_each_exp(stm, &mut |exp| {
                exp.for_each_local(&mut |local| {
                    if !own.contains(&local) && seen.insert(local) {
                        uses.read.push(local);
                    }
                });
                for_each_address(exp, &mut |local| {
                    written.insert(local);
                });
            });
            for_each_assignment(stm, &mut |local| {
                written.insert(local);
            });
            match stm {
                Stm::Trace(_) => uses.speaks = true,
                Stm::Call { function, .. } => {
                    uses.calls.insert(*function);
                }
                _ => {}
            }
        });
        written.retain(|local| !own.contains(local));
        uses.assigned = written.into_iter().collect();
        uses.assigned.sort_unstable();
        uses
    }
}

/// About how many operations a body takes, as an expression over what is known in front of its loop.
struct Work<'a> {
    chunker: &'a Chunker<'a>,
    own: FxHashSet<Local>,
    definitions: FxHashMap<Local, &'a Exp>,
}

impl<'a> Work<'a> {
    fn of(chunker: &'a Chunker<'a>, index: Local, body: &'a [Stm]) -> Exp {
        let (mut own, mut definitions) = (FxHashSet::from_iter([index]), FxHashMap::default());
        for_each_stm(body, &mut |stm| {
            for_each_definition(stm, &chunker.declared, &mut |local| {
                own.insert(local);
            });
        });
        collect_definitions(body, &mut definitions);
        Work { chunker, own, definitions }.block(body)
    }

    fn block(&self, stms: &[Stm]) -> Exp {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let (mut constant, mut rest) = (0i64, None);
            for stm in stms {
                let work = self.statement(stm);
                match work.as_i64() {
                    Some(work) => constant = constant.saturating_add(work),
                    None => {
                        rest = Some(match rest {
                            None => work,
                            Some(rest) => Exp::Runtime("cw_saturated_plus", vec![rest, work]),
                        });
                    }
                }
            }
            match rest {
                None => Exp::i64(constant),
                Some(rest) => Exp::Runtime("cw_saturated_plus", vec![rest, Exp::i64(constant)]),
            }
        })
    }

    fn statement(&self, stm: &Stm) -> Exp {
        let simple = |exps: &[&Exp]| Exp::i64(1 + exps.iter().map(|exp| operations(exp)).sum::<i64>());
        match stm {
            Stm::For { bound, body, .. } => {
                let times = self.outside(bound).unwrap_or(Exp::i64(UNKNOWN_LENGTH));
                times_of(times, self.block(body))
            }
            Stm::Forever(body) => times_of(Exp::i64(UNKNOWN_LENGTH), self.block(body)),
            Stm::Fork(fork) => Exp::Runtime("cw_saturated_plus", vec![self.block(&fork.left), self.block(&fork.right)]),
            Stm::OpenLog { .. } => Exp::i64(TASK),
            Stm::If { then, otherwise, .. } => {
                // The costlier branch, if that is known; else both, which is at most twice as much.
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                match (then.as_i64(), otherwise.as_i64()) {
                    (Some(then), Some(otherwise)) => Exp::i64(then.max(otherwise)),
                    _ => Exp::Runtime("cw_saturated_plus", vec![then, otherwise]),
                }
            }
            Stm::Switch { cases, otherwise, .. } => {
                let works = cases.iter().map(|(_, stms)| stms).chain([otherwise]).map(|stms| self.block(stms));
                works.reduce(|a, b| Exp::Runtime("cw_saturated_plus", vec![a, b])).unwrap_or(Exp::i64(0))
            }
            Stm::Call { function, .. } => {
                let recursive = self.chunker.calls.recursive.get(*function).copied().unwrap_or(false);
                Exp::i64(if recursive { RECURSIVE_CALL } else { CALL })
            }
            Stm::Run(name, args) if name.starts_with("cw_product") || name.starts_with("cw_scaled_product") => {
                let sizes = args.iter().skip(1).take(3).map(|size| self.outside(size).unwrap_or(Exp::i64(UNKNOWN_LENGTH)));
                sizes.reduce(times_of).unwrap_or(Exp::i64(CALL))
            }
            Stm::Run(name, args) if name.contains("by_columns") => {
                let sizes = args.iter().skip(1).take(2).map(|size| self.outside(size).unwrap_or(Exp::i64(UNKNOWN_LENGTH)));
                sizes.reduce(times_of).unwrap_or(Exp::i64(CALL))
            }
            Stm::Run("cw_transpose" | "cw_turn", _) => Exp::i64(TRANSPOSED_BLOCK),
            Stm::CopyElements { count, .. } => self.outside(count).unwrap_or(Exp::i64(UNKNOWN_LENGTH)),
            Stm::Let(_, exp) | Stm::Assign(_, exp) => simple(&[exp]),
            Stm::Store { value, at, .. } => simple(&[value, at]),
            Stm::Put { value, .. } => simple(&[value]),
            Stm::Alloc { .. } | Stm::AllocNode { .. } | Stm::Grow { .. } | Stm::TrySum(..) => Exp::i64(16),
            Stm::Comment(_) | Stm::Declare(_) | Stm::Room { .. } => Exp::i64(0),
            _ => Exp::i64(1),
        }
    }

    /// A size in terms of what is known in front of the loop.
    fn outside(&self, exp: &Exp) -> Option<Exp> {
        match exp {
            Exp::Const(_) => Some(exp.clone()),
            Exp::Local(local) if !self.own.contains(local) => Some(exp.clone()),
            Exp::Local(local) => self.outside(self.definitions.get(local)?),
            Exp::Add(a, b) => Some(Exp::Add(Box::new(self.outside(a)?), Box::new(self.outside(b)?))),
            Exp::Sub(a, b) => Some(Exp::Sub(Box::new(self.outside(a)?), Box::new(self.outside(b)?))),
            Exp::Mul(a, b) => Some(times_of(self.outside(a)?, self.outside(b)?)),
            Exp::AtLeastZero(a) => Some(Exp::AtLeastZero(Box::new(self.outside(a)?))),
            // No more than any of them.
            Exp::Runtime("cw_least", all) => all.iter().find_map(|exp| self.outside(exp)),
            _ => None,
        }
    }
}

fn times_of(a: Exp, b: Exp) -> Exp {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => Exp::i64(a.saturating_mul(b)),
        (Some(1), _) => b,
        (_, Some(1)) => a,
        _ => Exp::Runtime("cw_saturated_times", vec![a, b]),
    }
}

/// Sizes that are named inside a loop, by their definitions.
fn collect_definitions<'a>(stms: &'a [Stm], definitions: &mut FxHashMap<Local, &'a Exp>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for stm in stms {
            match stm {
                Stm::Let(
                    local,
                    exp @ (Exp::Local(_)
                    | Exp::Const(_)
                    | Exp::Add(..)
                    | Exp::Sub(..)
                    | Exp::Mul(..)
                    | Exp::AtLeastZero(_)
                    | Exp::Runtime("cw_least", _)),
                ) => {
                    definitions.insert(*local, exp);
                }
                other => inner_blocks(other).into_iter().for_each(|inner| collect_definitions(inner, definitions)),
            }
        }
    });
}

fn operations(exp: &Exp) -> i64 {
    match exp {
        Exp::Prim(op, args) => {
            let own = if op.is_light() { 1 } else { HEAVY };
            own + args.iter().map(operations).sum::<i64>()
        }
        Exp::Load(_, at) => 1 + operations(at),
        Exp::Select(c, a, b) => operations(c) + operations(a) + operations(b),
        _ => 0,
    }
}

/// The blocks inside a statement.
pub(crate) fn inner_blocks(stm: &Stm) -> Vec<&[Stm]> {
    match stm {
        Stm::For { body, .. } | Stm::Forever(body) => vec![body],
        Stm::Parallel(parallel) => vec![&parallel.body],
        Stm::Steps(steps) => vec![&steps.body],
        Stm::Fork(fork) => vec![&fork.left, &fork.right],
        Stm::If { then, otherwise, .. } => vec![then, otherwise],
        Stm::Switch { cases, otherwise, .. } => {
            cases.iter().map(|(_, stms)| stms.as_slice()).chain([otherwise.as_slice()]).collect()
        }
        _ => Vec::new(),
    }
}

pub(crate) fn inner_blocks_mut(stm: &mut Stm) -> Vec<&mut [Stm]> {
    match stm {
        Stm::For { body, .. } | Stm::Forever(body) => vec![body],
        Stm::Parallel(parallel) => vec![&mut parallel.body],
        Stm::Steps(steps) => vec![&mut steps.body],
        Stm::Fork(fork) => vec![&mut fork.left, &mut fork.right],
        Stm::If { then, otherwise, .. } => vec![then, otherwise],
        Stm::Switch { cases, otherwise, .. } => {
            cases.iter_mut().map(|(_, stms)| stms.as_mut_slice()).chain([otherwise.as_mut_slice()]).collect()
        }
        _ => Vec::new(),
    }
}

pub(crate) fn for_each_stm(stms: &[Stm], visit: &mut dyn FnMut(&Stm)) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for stm in stms {
            visit(stm);
            inner_blocks(stm).into_iter().for_each(|inner| for_each_stm(inner, visit));
        }
    });
}

/// Locals that come into being at the statement. An allocation may be to a local that was declared before: then it is an assignment.
fn for_each_definition(stm: &Stm, declared: &FxHashSet<Local>, visit: &mut dyn FnMut(Local)) {
    match stm {
        Stm::Let(local, _) | Stm::Declare(local) => visit(*local),
        Stm::For { index, .. } => visit(*index),
        Stm::Parallel(parallel) => visit(parallel.index),
        Stm::Steps(steps) => visit(steps.index),
        Stm::Call { results, .. } => results.iter().for_each(|local| visit(*local)),
        Stm::AllocNode { node, .. } => visit(*node),
        Stm::Room { data, .. } => visit(*data),
        Stm::OpenLog { log, .. } => visit(*log),
        Stm::Append { row, .. } => visit(*row),
        Stm::CloseLog { count, columns, .. } => {
            visit(*count);
            columns.iter().flat_map(|column| [column.owner, column.data]).for_each(visit);
        }
        Stm::Alloc { owner, data, .. } => {
            [owner, data].into_iter().filter(|local| !declared.contains(local)).for_each(|local| visit(*local))
        }
        _ => {}
    }
}

pub(crate) fn for_each_assignment(stm: &Stm, visit: &mut dyn FnMut(Local)) {
    match stm {
        Stm::Assign(local, _) => visit(*local),
        Stm::Alloc { owner, data, .. } | Stm::Grow { owner, data, .. } => {
            visit(*owner);
            visit(*data);
        }
        Stm::Put { place, .. } => {
            let mut place = place;
            while let Exp::Payload { sum, .. } = place {
                place = sum;
            }
            if let Exp::Local(local) = place {
                visit(*local);
            }
        }
        _ => {}
    }
}

/// Locals whose address is taken: whoever has it may write there.
fn for_each_address(exp: &Exp, visit: &mut dyn FnMut(Local)) {
    match exp {
        Exp::AddressOf(place) => place.for_each_local(visit),
        Exp::Prim(_, args) | Exp::Runtime(_, args) => args.iter().for_each(|arg| for_each_address(arg, visit)),
        _ => {}
    }
}

pub(crate) fn for_each_exp(stm: &Stm, visit: &mut dyn FnMut(&Exp)) {
    match stm {
        Stm::Let(_, exp) | Stm::Assign(_, exp) | Stm::BreakUnless(exp) | Stm::Retain(exp, _) | Stm::Release(exp, _) => visit(exp),
        Stm::Write(exp, _) | Stm::Table { data: exp, .. } => visit(exp),
        Stm::Store { data, at, value } => [data, at, value].into_iter().for_each(visit),
        Stm::Put { place, value } => [place, value].into_iter().for_each(visit),
        Stm::For { bound, .. } => visit(bound),
        Stm::Steps(steps) => visit(&steps.bound),
        Stm::Parallel(parallel) => {
            visit(&parallel.bound);
            visit(&parallel.work);
        }
        Stm::If { condition, .. } => visit(condition),
        Stm::Switch { tag, .. } => visit(tag),
        Stm::Call { args, .. } | Stm::Run(_, args) | Stm::TrySum(_, _, args, _) => args.iter().for_each(visit),
        Stm::Alloc { dims, .. } => dims.iter().for_each(visit),
        Stm::Grow { count, row, .. } => [count, row].into_iter().for_each(visit),
        Stm::OpenLog { start, .. } => visit(start),
        Stm::Append { log, values, .. } => {
            visit(log);
            values.iter().for_each(|(_, value)| visit(value));
        }
        Stm::CloseLog { log, .. } => visit(&Exp::Local(*log)),
        Stm::CopyElements { to, from, count, .. } => [to, from, count].into_iter().for_each(visit),
        Stm::Fail { condition, values, .. } => {
            visit(condition);
            values.iter().for_each(visit);
        }
        Stm::Declare(_) | Stm::Fork(_) | Stm::Forever(_) | Stm::AllocNode { .. } | Stm::Room { .. } => {}
        Stm::Trace(_) | Stm::Tick(_) | Stm::Comment(_) => {}
    }
}
