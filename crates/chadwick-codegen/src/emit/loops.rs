//! Loops: how they are opened and closed, and what is known of their iterations.

use super::{Emitter, Frame, FrameKind, may_reorder};
use crate::ir::*;
use crate::lanes::{Body, Known, Part, addition, for_each_straight, is_used_by_element};
use crate::parallel::for_each_stm;
use chadwick_core::{self as core, Prim};
use rustc_hash::FxHashSet;

impl<'p> Emitter<'_, 'p> {
    /// A loop over `0..bound`; the index is a new local.
    pub(crate) fn open_loop(&mut self, name: &str, prim: Prim, bound: Exp) -> Local {
        let bound = self.simple(bound);
        self.open(FrameKind::Loop { index: Local(0), bound: bound.clone(), before: Vec::new() });
        let index = self.local(name, Ty::Prim(prim));
        self.bounds.insert(index, bound);
        self.not_negative.insert(index);
        if let Some(Frame { kind: FrameKind::Loop { index: place, .. }, .. }) = self.frames.last_mut() {
            *place = index;
        }
        index
    }

    /// `independent`: see [`Stm::For`].
    pub(crate) fn close_loop(&mut self, mark: Mark, independent: Option<Vec<(Combine, Local)>>) {
        let Some(frame) = self.frames.pop() else { return };
        self.facts.truncate(frame.facts);
        if let FrameKind::Loop { index, bound, before } = frame.kind {
            before.into_iter().for_each(|stm| self.push(stm));
            let (mut body, sums) = match mark {
                Mark::Sequential => (frame.stms, Vec::new()),
                _ => self.local_sums(frame.stms),
            };
            let mark = self.mark(mark, index, &body);
            // Innermost loops never look at the clock; those around them leave it to the next loop outside, if there is one. A recursive
            // function looks before it calls itself, so those around its calls need not look every time.
            let nested = self.frames.iter().any(|frame| matches!(frame.kind, FrameKind::Loop { .. }));
            let leaves_it = |stm: &Stm| matches!(stm, Stm::For { body, .. } if body.iter().all(is_short));
            let looks = matches!(mark, Mark::Lanes(..)) || body.iter().all(|stm| is_short(stm) || (nested && leaves_it(stm)));
            if !looks {
                let tick = Stm::Tick(self.site());
                let seldom = self.locals[index.0 as usize].ty == Ty::Prim(Prim::I64) && body.iter().any(|stm| self.recurs(stm));
                body.insert(0, if seldom { every_sixteenth(index, tick) } else { tick });
            }
            let ran = Exp::test(Test::Less, Exp::i64(0), bound.clone());
            self.push(Stm::For { index, bound, body, mark, independent });
            if !sums.is_empty() {
                self.push(Stm::If { condition: ran, then: sums, otherwise: Vec::new() });
            }
        }
    }

    /// Whether a statement may call a function that may call itself.
    fn recurs(&self, stm: &Stm) -> bool {
        match stm {
            Stm::Call { function, .. } => self.shared.recursive[*function],
            Stm::For { body, .. } | Stm::Forever(body) => body.iter().any(|stm| self.recurs(stm)),
            Stm::Parallel(parallel) => parallel.body.iter().any(|stm| self.recurs(stm)),
            Stm::Fork(fork) => fork.left.iter().chain(&fork.right).any(|stm| self.recurs(stm)),
            Stm::If { then, otherwise, .. } => then.iter().chain(otherwise).any(|stm| self.recurs(stm)),
            Stm::Switch { cases, otherwise, .. } => {
                cases.iter().flat_map(|(_, stms)| stms).chain(otherwise).any(|stm| self.recurs(stm))
            }
            _ => false,
        }
    }

    /// Puts a look at the clock in front of the first recursive call, where there is one: most calls of many functions make none.
    pub(super) fn look_at_clock_before_calls(&mut self, body: &mut Vec<Stm>, site: SiteId) {
        let Some(first) = body.iter().position(|stm| self.recurs(stm)) else { return };
        let again = body[first + 1..].iter().any(|stm| self.recurs(stm));
        match &mut body[first] {
            Stm::If { then, otherwise, .. } if !again => {
                self.look_at_clock_before_calls(then, site);
                self.look_at_clock_before_calls(otherwise, site);
            }
            Stm::Switch { cases, otherwise, .. } if !again => {
                cases.iter_mut().for_each(|(_, stms)| self.look_at_clock_before_calls(stms, site));
                self.look_at_clock_before_calls(otherwise, site);
            }
            _ => body.insert(first, Stm::Tick(site)),
        }
    }

    /// What a loop that chooses nothing but values adds to one place again and again is added up in a local first. Gives the body, and the
    /// statements that add the sums to their places.
    fn local_sums(&mut self, body: Vec<Stm>) -> (Vec<Stm>, Vec<Stm>) {
        let declared = |stm: &Stm| if let Stm::Declare(local) = stm { Some(*local) } else { None };
        let own: FxHashSet<Local> = body.iter().filter_map(declared).collect();
        let plain = |stm: &Stm| match stm {
            Stm::Let(..) | Stm::Declare(_) | Stm::Store { .. } | Stm::Put { .. } | Stm::Assign(..) | Stm::Comment(_) => true,
            Stm::If { then, otherwise, .. } => then.iter().chain(otherwise).all(|stm| makes_values(stm, &own)),
            _ => false,
        };
        if !body.iter().all(plain) {
            return (body, Vec::new());
        }
        let level = self.frames.len();
        let (mut kept, mut sums) = (Vec::new(), Vec::new());
        for stm in body {
            let Some((place, prim, more)) = addition(&stm) else {
                kept.push(stm);
                continue;
            };
            let mut outside = true;
            place.for_each_local(&mut |local| outside &= self.depths[local.0 as usize] <= level);
            if !outside || !may_reorder(prim, self.shared.strict) {
                kept.push(stm);
                continue;
            }
            let local = self.local("sum", Ty::Prim(prim));
            self.depths[local.0 as usize] = level;
            self.sums.insert(local);
            self.push(Stm::Let(local, Exp::Const(Combine::Add.neutral(prim))));
            let add = |left: Exp, right: Exp| Exp::Prim(core::PrimOp::Binary(core::BinaryOp::Add, prim), vec![left, right]);
            sums.push(Stm::Put { place: place.clone(), value: add(place.clone(), Exp::Local(local)) });
            let more = more.clone();
            kept.push(Stm::Assign(local, add(Exp::Local(local), more)));
        }
        (kept, sums)
    }

    /// Whether the additions in a body go to other places in every iteration: each accumulator is named once, at the index and something
    /// that does not change.
    fn adds_apart(&self, index: Local, body: &[Stm]) -> bool {
        let level = self.frames.len();
        let mut named: Vec<Local> = Vec::new();
        for stm in body {
            let Some((place, ..)) = addition(stm) else {
                if matches!(stm, Stm::Put { .. }) {
                    return false;
                }
                continue;
            };
            let Exp::Deref(pointer) = place else { return false };
            let Exp::At(data, at) = &**pointer else { return false };
            let Exp::Local(data) = **data else { return false };
            let is_handle = self.accumulators.iter().any(|accumulator| accumulator.data == data);
            if named.contains(&data) || (!is_handle && !named.is_empty()) || self.depths[data.0 as usize] > level {
                return false;
            }
            if !is_handle && body.iter().filter(|stm| matches!(stm, Stm::Put { .. })).count() > 1 {
                return false;
            }
            named.push(data);
            let outside = |exp: &Exp| {
                let mut outside = true;
                exp.for_each_local(&mut |local| outside &= self.depths[local.0 as usize] <= level);
                outside
            };
            let moves = match &**at {
                Exp::Local(local) => *local == index,
                Exp::Add(a, b) => (**a == Exp::Local(index) && outside(b)) || (**b == Exp::Local(index) && outside(a)),
                _ => false,
            };
            if !moves {
                return false;
            }
        }
        true
    }

    /// What may be said about a loop, given its body: nothing if it branches; accumulators of scalars are reductions.
    fn mark(&mut self, wanted: Mark, index: Local, body: &[Stm]) -> Mark {
        let behind = match wanted {
            Mark::Prefixes(combine, total) if splits_at(total, body) => return Mark::Prefixes(combine, total),
            Mark::Sequential | Mark::Prefixes(..) => Behind::InOrder,
            Mark::Independent => Behind::AtOnce(Vec::new()),
            Mark::Reduction(reductions) => Behind::AtOnce(reductions),
            Mark::Lanes(lanes) => lanes.behind,
        };
        if let Some(sums) = self.goes_side_by_side(index, body, &behind) {
            return Mark::Lanes(Lanes { behind, sums, site: self.site() });
        }
        let Behind::AtOnce(mut reductions) = behind else { return Mark::Sequential };
        let adds_apart = self.adds_apart(index, body);
        let mut own = FxHashSet::default();
        for stm in body {
            match stm {
                Stm::Let(..) | Stm::Store { .. } | Stm::Comment(_) => {}
                Stm::Put { .. } if adds_apart => {}
                Stm::Declare(local) => {
                    own.insert(*local);
                }
                // A choice between values, with nothing but loads and operations to make them.
                Stm::If { then, otherwise, .. } if then.iter().chain(otherwise).all(|stm| makes_values(stm, &own)) => {}
                Stm::Assign(local, _) if reductions.iter().any(|(_, known)| known == local) => {}
                Stm::Assign(local, Exp::Prim(core::PrimOp::Binary(core::BinaryOp::Add, prim), _))
                    if self.sums.contains(local) && may_reorder(*prim, self.shared.strict) =>
                {
                    reductions.push((Combine::Add, *local));
                }
                _ => return Mark::Sequential,
            }
        }
        match reductions.is_empty() {
            true => Mark::Independent,
            false => Mark::Reduction(reductions),
        }
    }

    /// Whether iterations can go side by side: the body is straight but for loops, straight themselves, whose number of iterations is the
    /// same for all. Says then whether they make sums, or add, of what lies side by side.
    fn goes_side_by_side(&self, index: Local, body: &[Stm], behind: &Behind) -> Option<bool> {
        let known = Known { locals: &self.locals, sums: &self.sums, strict: self.shared.strict };
        let found = Body::of(index, body, known)?;
        let is_loop = |part: &&Part<'_>| matches!(part, Part::Loop { .. });
        let is_function = |part: &Part<'_>| matches!(part, Part::Function(_));
        let sums = match found.parts.iter().filter(is_loop).collect::<Vec<_>>().as_slice() {
            [] if !found.parts.iter().any(is_function) => return None,
            [_, ..] if found.works_beside => true,
            [Part::Loop { mark: Mark::Reduction(_), .. }] => return None,
            _ => false,
        };
        // Sums that read along their rows are vectors themselves; what has an order is only worth it for sums.
        if !sums && (*behind == Behind::InOrder || !found.parts.iter().any(|part| hands_on(part) || is_function(part))) {
            return None;
        }
        let mut own: FxHashSet<Local> = FxHashSet::default();
        for_each_stm(body, &mut |stm| {
            if let Stm::Let(local, _) | Stm::Declare(local) = stm {
                own.insert(*local);
            }
        });
        let (before, last) = found.parts.split_at(found.last().unwrap_or(found.parts.len()));
        let totals: Vec<Local> = match (behind, last.first()) {
            (Behind::AtOnce(reductions), _) => reductions.iter().map(|(_, total)| *total).collect(),
            // Anything, as long as nothing but what stands behind the loop knows of it.
            (Behind::InOrder, Some(Part::Straight(stms))) => {
                let assigned = stms.iter().filter_map(|stm| match stm {
                    Stm::Assign(local, _) if !own.contains(local) => Some(*local),
                    _ => None,
                });
                let is_known_before = |local: &Local| {
                    let mut known = false;
                    for_each_straight(before, &mut |part| known |= part.names(*local));
                    known
                };
                assigned.filter(|local| !is_known_before(local)).collect()
            }
            (Behind::InOrder, _) => Vec::new(),
        };
        let side = SideBySide { emitter: self, body, own: &own, memory: &found.memory, stores: *behind != Behind::InOrder };
        let fits = before.iter().all(|part| side.fits(part, sums))
            && last.iter().all(|part| match part {
                Part::Straight(stms) => stms.iter().all(|stm| side.is_straight(stm, &totals)),
                part => side.fits(part, sums),
            });
        fits.then_some(sums)
    }
}

/// What must hold of the parts of a body for its iterations to go side by side.
struct SideBySide<'e, 's, 'p> {
    emitter: &'e Emitter<'s, 'p>,
    body: &'e [Stm],
    own: &'e FxHashSet<Local>,
    memory: &'e FxHashSet<Local>,
    /// Whether anything may be stored.
    stores: bool,
}

impl SideBySide<'_, '_, '_> {
    fn fits(&self, part: &Part<'_>, sums: bool) -> bool {
        match part {
            Part::Straight(stms) => stms.iter().all(|stm| self.is_straight(stm, &[])),
            Part::Function(function) => self.has_lanes(function.from) && self.has_lanes(function.to),
            Part::Addition(addition) => {
                self.stores && addition.prim != Prim::F16 && may_reorder(addition.prim, self.emitter.shared.strict)
            }
            Part::Loop { bound, mark, parts, .. } => {
                (sums || **mark == Mark::Sequential) && self.is_outside(bound) && parts.iter().all(|part| self.fits(part, sums))
            }
            Part::Memory(Stm::Alloc { data, dims, .. }) => {
                is_used_by_element(self.body, *data) && dims.iter().all(|dim| self.is_outside(dim))
            }
            Part::Memory(Stm::Room { data, .. }) => is_used_by_element(self.body, *data),
            Part::Memory(_) => false,
            Part::Tick(_) => true,
            Part::End(stm) => {
                let is_owner = |wanted: Local| {
                    let owns = |stm: &Stm| matches!(stm, Stm::Alloc { owner, .. } if *owner == wanted);
                    self.body.iter().any(owns)
                };
                matches!(stm, Stm::Release(Exp::Local(owner), Counted::Block(_)) if is_owner(*owner))
            }
        }
    }

    fn is_straight(&self, stm: &Stm, totals: &[Local]) -> bool {
        match stm {
            Stm::Let(local, exp) => self.has_lanes(*local) || is_made_anywhere(exp, self.own),
            Stm::Declare(local) => self.has_lanes(*local),
            Stm::Comment(_) => true,
            Stm::Store { data, .. } => self.stores || matches!(data, Exp::Local(data) if self.memory.contains(data)),
            Stm::Assign(local, _) => self.own.contains(local) || totals.contains(local),
            Stm::If { then, otherwise, .. } => then.iter().chain(otherwise).all(|stm| self.is_straight(stm, &[])),
            _ => false,
        }
    }

    fn has_lanes(&self, local: Local) -> bool {
        self.emitter.locals[local.0 as usize].ty.has_lanes()
    }

    fn is_outside(&self, exp: &Exp) -> bool {
        let mut outside = true;
        exp.for_each_local(&mut |local| outside &= self.emitter.depths[local.0 as usize] <= self.emitter.frames.len());
        outside
    }
}

/// Whether a part is a loop that must run in order: one of its steps hands something on to the next.
fn hands_on(part: &Part<'_>) -> bool {
    let Part::Loop { parts, .. } = part else { return false };
    let (mut own, mut assigned) = (FxHashSet::default(), FxHashSet::default());
    for_each_straight(parts, &mut |part| {
        let Part::Straight(stms) = part else { return };
        for stm in stms {
            for_each_stm(std::slice::from_ref(stm), &mut |stm| match stm {
                Stm::Let(local, _) | Stm::Declare(local) => _ = own.insert(*local),
                Stm::Assign(local, _) => _ = assigned.insert(*local),
                _ => {}
            });
        }
    });
    !assigned.is_subset(&own)
}

/// Whether what stands behind the one assignment of a total knows nothing of what stands in front of it but the total, and both do nothing
/// but make values and store them.
fn splits_at(total: Local, body: &[Stm]) -> bool {
    let Some(at) = body.iter().position(|stm| matches!(stm, Stm::Assign(local, _) if *local == total)) else { return false };
    let (before, after) = (&body[..at], &body[at + 1..]);
    let before_is_plain = before.iter().all(|stm| matches!(stm, Stm::Let(..) | Stm::Comment(_)));
    let after_is_plain = after.iter().all(|stm| matches!(stm, Stm::Let(..) | Stm::Store { .. } | Stm::Comment(_)));
    let made = before.iter().filter_map(|stm| match stm {
        Stm::Let(local, _) => Some(*local),
        _ => None,
    });
    before_is_plain && after_is_plain && !made.into_iter().any(|local| after.iter().any(|stm| stm.names(local)))
}

fn every_sixteenth(index: Local, stm: Stm) -> Stm {
    let and = core::PrimOp::Binary(core::BinaryOp::And, Prim::I64);
    let last = Exp::Prim(and, vec![Exp::Local(index), Exp::i64(15)]);
    Stm::If { condition: Exp::test(Test::Equal, last, Exp::i64(15)), then: vec![stm], otherwise: Vec::new() }
}

/// Whether a statement takes a bounded time.
fn is_short(stm: &Stm) -> bool {
    match stm {
        Stm::For { .. } | Stm::Parallel(_) | Stm::Fork(_) | Stm::Forever(_) | Stm::Call { .. } => false,
        Stm::If { then, otherwise, .. } => then.iter().chain(otherwise).all(is_short),
        Stm::Switch { cases, otherwise, .. } => cases.iter().flat_map(|(_, stms)| stms).chain(otherwise).all(is_short),
        _ => true,
    }
}

/// Whether an expression needs nothing of the body that it stands in.
fn is_made_anywhere(exp: &Exp, own: &FxHashSet<Local>) -> bool {
    let mut anywhere = true;
    exp.for_each_local(&mut |local| anywhere &= !own.contains(&local));
    anywhere
}

/// Whether a statement does nothing but give values to locals, these or its own.
fn makes_values(stm: &Stm, own: &FxHashSet<Local>) -> bool {
    match stm {
        Stm::Let(..) | Stm::Comment(_) => true,
        Stm::Assign(local, _) => own.contains(local),
        _ => false,
    }
}
