//! Which loops threads may run together, from the first step to the last.
//!
//! A loop that runs in order, and whose steps are a few loops in chunks, would hand each of these over to threads. If what stands between them is the
//! same for all, every thread can go through all steps by itself, and the threads only meet behind each of the loops. So between the loops are only
//! computations on sizes, pointers and scalars of the step, checks of these, and arrays that come and go, of sizes that are the same in all steps. Nothing
//! between them reads elements that change: a thread may be there while another one is in the next loop already. One of the threads may write elements,
//! of arrays that nothing else in the loop touches, like the cotangents of what every step has for itself.

use crate::ir::*;
use crate::parallel::{Uses, declared, for_each_exp, for_each_stm, inner_blocks_mut};
use rustc_hash::FxHashSet;

/// Marks the loops.
pub(crate) fn find(functions: &mut [(usize, Function)]) {
    // What threads share is in the frame of the function: deep recursion needs small ones.
    for (_, function) in functions.iter_mut().filter(|(_, function)| !function.recursive) {
        let mut body = std::mem::take(&mut function.body);
        Finder { locals: &function.locals, declared: declared(&body) }.mark(&mut body);
        function.body = body;
    }
}

struct Finder<'a> {
    locals: &'a [LocalInfo],
    /// Locals that are assigned later than they come into being.
    declared: FxHashSet<Local>,
}

impl Finder<'_> {
    fn mark(&self, stms: &mut [Stm]) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for stm in stms {
                if let Stm::For { index, bound, body, mark: Mark::Sequential, independent: None } = stm {
                    let uses = Uses::of(body, Some(*index), &self.declared);
                    if self.are_steps(*index, body, &uses) {
                        *stm = steps(*index, bound.clone(), std::mem::take(body), uses);
                        continue;
                    }
                }
                if !matches!(stm, Stm::Parallel(_)) {
                    inner_blocks_mut(stm).into_iter().for_each(|inner| self.mark(inner));
                }
            }
        });
    }

    fn are_steps(&self, index: Local, body: &[Stm], uses: &Uses) -> bool {
        if !body.iter().any(|stm| matches!(stm, Stm::Parallel(_))) {
            return false;
        }
        let Some(written) = self.written_between(body) else { return false };
        let around = |local: Local| local != index && uses.read.contains(&local) && !uses.assigned.contains(&local);
        let touched = touched(body);
        // An array from before the loop that nothing in it names but to read elements keeps them.
        let is_known = |exp: &Exp| is_same_for_all(exp, &|array| around(array) && !touched.contains(&array));
        // The same in all steps.
        let steady = |exp: &Exp| {
            let mut steady = is_same_for_all(exp, &|_| false);
            exp.for_each_local(&mut |local| steady &= around(local));
            steady
        };
        let fits = |stm: &Stm| {
            let all_are = |is: &dyn Fn(&Exp) -> bool| {
                let mut all = true;
                for_each_exp(stm, &mut |exp| all &= is(exp));
                all
            };
            match stm {
                Stm::Let(..) | Stm::Assign(..) | Stm::If { .. } | Stm::Write(..) | Stm::Fail { .. } => all_are(&is_known),
                Stm::Retain(_, Counted::Block(Elem::Prim(_))) | Stm::Release(_, Counted::Block(Elem::Prim(_))) => {
                    all_are(&is_known)
                }
                Stm::Store { .. } | Stm::Put { place: Exp::Deref(_), .. } => all_are(&|exp| is_own(exp, &is_known, &written)),
                Stm::Declare(_) | Stm::Tick(_) | Stm::Comment(_) => true,
                _ => false,
            }
        };
        let mut all_fit = true;
        for stm in body {
            match stm {
                Stm::Parallel(parallel) => {
                    all_fit &= parallel.accumulators.is_empty() && steady(&parallel.bound) && steady(&parallel.work);
                }
                Stm::Alloc { elem, dims, .. } => all_fit &= matches!(elem, Elem::Prim(_)) && dims.iter().all(steady),
                other => for_each_stm(std::slice::from_ref(other), &mut |stm| all_fit &= fits(stm)),
            }
        }
        all_fit
    }

    /// The locals that lead to elements which statements between the loops write; `None` if a loop reads one of them.
    fn written_between(&self, body: &[Stm]) -> Option<FxHashSet<Local>> {
        let (loops, between): (Vec<&Stm>, Vec<&Stm>) = body.iter().partition(|stm| matches!(stm, Stm::Parallel(_)));
        let for_each_between =
            |visit: &mut dyn FnMut(&Stm)| between.iter().for_each(|stm| for_each_stm(std::slice::from_ref(*stm), &mut *visit));
        let mut written: FxHashSet<Local> = FxHashSet::default();
        for_each_between(&mut |stm| {
            if let Stm::Store { data: place, .. } | Stm::Put { place, .. } = stm {
                written.extend(self.pointers(place));
            }
        });
        // What a pointer is made from leads there, and what is made from a pointer.
        let mut count = 0;
        while count != written.len() {
            count = written.len();
            for_each_between(&mut |stm| {
                let (Stm::Let(local, exp) | Stm::Assign(local, exp)) = stm else { return };
                let related = self.pointers(exp);
                if self.is_pointer(*local) && (written.contains(local) || related.iter().any(|local| written.contains(local))) {
                    written.insert(*local);
                    written.extend(related);
                }
            });
        }
        let reads =
            |stm: &&Stm| matches!(stm, Stm::Parallel(parallel) if parallel.captured.iter().any(|local| written.contains(local)));
        (!loops.iter().any(reads)).then_some(written)
    }

    fn is_pointer(&self, local: Local) -> bool {
        !matches!(self.locals[local.0 as usize].ty, Ty::Prim(_))
    }

    fn pointers(&self, exp: &Exp) -> Vec<Local> {
        let mut found = Vec::new();
        exp.for_each_local(&mut |local| found.extend(self.is_pointer(local).then_some(local)));
        found
    }
}

fn steps(index: Local, bound: Exp, mut body: Vec<Stm>, uses: Uses) -> Stm {
    for stm in &mut body {
        if let Stm::Parallel(parallel) = stm {
            parallel.in_step = true;
        }
    }
    Stm::Steps(Box::new(Steps { index, bound, body, connections: Connections { captured: uses.read, assigned: uses.assigned } }))
}

/// Whether every thread gets the same from an expression, whenever it comes to it: nothing that changes is read but locals.
fn is_same_for_all(exp: &Exp, keeps_elements: &dyn Fn(Local) -> bool) -> bool {
    let mut same = match exp {
        Exp::Local(_) | Exp::Const(_) | Exp::Null => true,
        Exp::Prim(..) | Exp::Add(..) | Exp::Sub(..) | Exp::Mul(..) | Exp::Test(..) | Exp::And(..) | Exp::Or(..) | Exp::Not(_) => {
            true
        }
        Exp::At(..) | Exp::AtLeastZero(_) | Exp::Select(..) => true,
        Exp::Runtime("cw_least" | "cw_times" | "cw_saturated_plus" | "cw_saturated_times", _) => true,
        Exp::Runtime("cw_tiles" | "cw_turned_blocks" | "cw_range_fits", _) => true,
        Exp::Load(array, _) => matches!(**array, Exp::Local(array) if keeps_elements(array)),
        _ => false,
    };
    exp.for_each_child(&mut |child| same = same && is_same_for_all(child, keeps_elements));
    same
}

/// The same where elements that only one thread writes may be read, too.
fn is_own(exp: &Exp, is_known: &dyn Fn(&Exp) -> bool, written: &FxHashSet<Local>) -> bool {
    let is_written = |array: &Exp| {
        let mut found = false;
        array.for_each_local(&mut |local| found |= written.contains(&local));
        found
    };
    match exp {
        Exp::Load(array, at) if is_written(array) => is_own(at, is_known, written),
        Exp::Deref(place) => is_written(place) && is_known(place),
        Exp::Prim(_, args) => args.iter().all(|arg| is_own(arg, is_known, written)),
        other => is_known(other),
    }
}

/// Locals that statements name otherwise than to read an element.
fn touched(stms: &[Stm]) -> FxHashSet<Local> {
    fn visit(exp: &Exp, touched: &mut FxHashSet<Local>) {
        match exp {
            Exp::Local(local) => {
                touched.insert(*local);
            }
            Exp::Load(array, at) if matches!(**array, Exp::Local(_)) => visit(at, touched),
            other => other.for_each_child(&mut |child| visit(child, touched)),
        }
    }
    let mut found = FxHashSet::default();
    for_each_stm(stms, &mut |stm| for_each_exp(stm, &mut |exp| visit(exp, &mut found)));
    found
}
