//! Rows together: where each iteration of an independent loop is a sum in vectors over the same range, and the sums read something in common, four of
//! them run in one loop. What they have in common is loaded once for all four, and memory is gone through once. The same for iterations
//! that add to the same elements of an accumulator: these are loaded and stored once for all four, which add in their order.

use super::Printer;
use crate::ir::*;
use chadwick_core::{BinaryOp, PrimOp};
use rustc_hash::FxHashSet;

/// How many sums run in one loop.
const ROWS: usize = 4;
/// Sums of more statements have enough to do by themselves.
const LONG: usize = 8;
/// Bytes of the vectors in which rows are summed. Longer ones lie across two lines of the cache more often, and leave more at the end of a row.
const VECTOR_BYTES: usize = 32;

/// The iteration of such a loop: straight statements, and loops between them.
struct Row<'b> {
    parts: Vec<Part<'b>>,
}

enum Part<'b> {
    Straight(&'b [Stm]),
    Loop(Inner<'b>),
}

/// A loop that runs as often in every row.
struct Inner<'b> {
    counter: Local,
    bound: &'b Exp,
    within: Vec<&'b Stm>,
    /// What is added to elements that all rows have in common, behind everything else within.
    additions: Vec<&'b Stm>,
    totals: &'b [(Combine, Local)],
}

impl<'b> Row<'b> {
    fn of(index: Local, body: &'b [Stm]) -> Option<Row<'b>> {
        let mut parts = Vec::new();
        let mut of_row = FxHashSet::from_iter([index]);
        let mut own: FxHashSet<Local> = FxHashSet::default();
        let mut rest = body;
        let mut adds = false;
        while let Some(split) = rest.iter().position(|stm| matches!(stm, Stm::For { .. })) {
            let before = &rest[..split];
            note_of_row(before, &mut of_row);
            own.extend(declared(before));
            let inner = Inner::of(&rest[split], &of_row)?;
            // Totals of the whole loop are only added to at the end, in order; what is added to an accumulator is not read further on.
            let is_own = |stm: &Stm| is_straight(stm) && !matches!(stm, Stm::Assign(local, _) if !own.contains(local));
            if adds || !before.iter().all(is_own) || !inner.totals.iter().all(|(_, total)| own.contains(total)) {
                return None;
            }
            adds = !inner.additions.is_empty();
            of_row.extend(inner.totals.iter().map(|(_, total)| *total));
            parts.extend([Part::Straight(before), Part::Loop(inner)]);
            rest = &rest[split + 1..];
        }
        parts.push(Part::Straight(rest));
        let stores = |stm: &Stm| is_straight(stm) || matches!(stm, Stm::Store { .. });
        (parts.len() > 1 && rest.iter().all(stores)).then_some(Row { parts })
    }

    /// What each row has for itself.
    fn own(&self) -> Vec<Local> {
        let mut own = Vec::new();
        for part in &self.parts {
            match part {
                Part::Straight(stms) => own.extend(declared(*stms)),
                Part::Loop(inner) => own.extend(declared(inner.within.iter().copied())),
            }
        }
        own
    }
}

impl<'b> Inner<'b> {
    /// A loop inside rows that differ in these locals, if it can run for several of them at once and something is gained by it.
    fn of(stm: &'b Stm, of_row: &FxHashSet<Local>) -> Option<Inner<'b>> {
        let Stm::For { index: counter, bound, body, mark, .. } = stm else { return None };
        let totals = match mark {
            Mark::Reduction(totals) => totals.as_slice(),
            Mark::Independent => &[],
            _ => return None,
        };
        let (additions, within): (Vec<&Stm>, Vec<&Stm>) = body.iter().partition(|stm| matches!(stm, Stm::Put { .. }));
        let is_total = |local: &Local| totals.iter().any(|(_, total)| total == local);
        let is_simple = |stm: &&Stm| match stm {
            Stm::Assign(local, _) => is_total(local),
            stm => is_straight(stm) && !matches!(stm, Stm::Tick(_)),
        };
        let mut of_row = of_row.clone();
        note_of_row(within.iter().copied(), &mut of_row);
        let fits = within.iter().all(is_simple)
            && body.len() <= LONG
            && totals.is_empty() != additions.is_empty()
            && additions.iter().all(|stm| is_common_addition(stm, &of_row))
            && !names_any(bound, &of_row);
        let inner = Inner { counter: *counter, bound, within, additions, totals };
        (fits && (!inner.additions.is_empty() || inner.shares_a_load(&of_row))).then_some(inner)
    }

    /// Whether something is read that is the same in all rows, and something that is not.
    fn shares_a_load(&self, of_row: &FxHashSet<Local>) -> bool {
        let (mut shared, mut own) = (0, 0);
        for stm in &self.within {
            let Stm::Let(_, exp) = stm else { continue };
            for_each_load(exp, &mut |load| match names_any(load, of_row) {
                true => own += 1,
                false => shared += 1,
            });
        }
        shared > 0 && own > 0
    }
}

fn is_straight(stm: &Stm) -> bool {
    matches!(stm, Stm::Let(..) | Stm::Declare(_) | Stm::Assign(..) | Stm::Comment(_) | Stm::Tick(_))
}

/// Adds what differs from row to row, because it is made of something that does.
fn note_of_row<'s>(stms: impl IntoIterator<Item = &'s Stm>, of_row: &mut FxHashSet<Local>) {
    for stm in stms {
        match stm {
            Stm::Let(local, exp) if names_any(exp, of_row) => {
                of_row.insert(*local);
            }
            Stm::Declare(local) | Stm::Assign(local, _) => {
                of_row.insert(*local);
            }
            _ => {}
        }
    }
}

/// Whether a statement adds to a place that is the same in all rows.
fn is_common_addition(stm: &Stm, of_row: &FxHashSet<Local>) -> bool {
    let Stm::Put { place, value: Exp::Prim(PrimOp::Binary(BinaryOp::Add, _), operands) } = stm else { return false };
    !names_any(place, of_row) && operands.first() == Some(place)
}

fn declared<'s>(stms: impl IntoIterator<Item = &'s Stm>) -> impl Iterator<Item = Local> {
    stms.into_iter().filter_map(|stm| match stm {
        Stm::Let(local, _) | Stm::Declare(local) => Some(*local),
        _ => None,
    })
}

fn names_any(exp: &Exp, locals: &FxHashSet<Local>) -> bool {
    let mut found = false;
    exp.for_each_local(&mut |local| found |= locals.contains(&local));
    found
}

fn for_each_load(exp: &Exp, visit: &mut dyn FnMut(&Exp)) {
    if matches!(exp, Exp::Load(..)) {
        visit(exp);
    }
    exp.for_each_child(&mut |child| for_each_load(child, visit));
}

impl Printer<'_> {
    /// A loop whose iterations do not depend on one another but for totals and accumulators.
    pub(super) fn independent_loop(&mut self, index: Local, from: &str, to: &str, body: &[Stm], mark: &Mark) {
        let row = if *mark == Mark::Sequential && self.in_lanes.is_empty() { Row::of(index, body) } else { None };
        let Some(row) = row else { return self.for_loop(index, from, to, body, mark) };
        let at = format!("{}_at", self.name(index));
        self.line(&format!("int64_t {at} = {from};"));
        self.line(&format!("for (; {to} - {at} >= {ROWS}; {at} += {ROWS}) {{"));
        self.indent += 1;
        let own: Vec<Local> = row.own().into_iter().chain([index]).collect();
        for number in 0..ROWS {
            self.as_row(&own, number, |printer| {
                let declaration = printer.declare(index);
                printer.line(&format!("{declaration} = {at} + {number};"));
            });
        }
        for part in &row.parts {
            match part {
                Part::Straight(stms) => {
                    for number in 0..ROWS {
                        let once = |stm: &&Stm| number == 0 || !matches!(stm, Stm::Tick(_) | Stm::Comment(_));
                        let stms: Vec<Stm> = stms.iter().filter(once).cloned().collect();
                        self.as_row(&own, number, |printer| printer.stms(&stms));
                    }
                }
                Part::Loop(inner) => self.inner_loop(inner, &own),
            }
        }
        self.indent -= 1;
        self.line("}");
        self.for_loop(index, &at, to, body, mark);
    }

    fn inner_loop(&mut self, inner: &Inner<'_>, own: &[Local]) {
        let mut clauses = Vec::new();
        for number in 0..ROWS {
            self.as_row(own, number, |printer| clauses.push(printer.reduction_clauses("", inner.totals)));
        }
        match inner.totals {
            [] => self.line("#pragma GCC ivdep"),
            totals => {
                let bytes = totals.iter().map(|(_, total)| self.scalar_type(*total).bytes()).max().unwrap_or(VECTOR_BYTES);
                self.line(&format!("#pragma omp simd simdlen({}) {}", VECTOR_BYTES / bytes, clauses.join(" ")));
            }
        }
        let (declaration, name, bound) = (self.declare(inner.counter), self.name(inner.counter), self.exp(inner.bound));
        self.line(&format!("for ({declaration} = 0; {name} < {bound}; {name}++) {{"));
        self.indent += 1;
        for part in [&inner.within, &inner.additions] {
            let part: Vec<Stm> = part.iter().map(|stm| (*stm).clone()).collect();
            (0..ROWS).for_each(|number| self.as_row(own, number, |printer| printer.stms(&part)));
        }
        self.indent -= 1;
        self.line("}");
    }

    /// Prints something with other names for what each row has for itself.
    fn as_row(&mut self, own: &[Local], number: usize, print: impl FnOnce(&mut Self)) {
        let names: Vec<String> = own.iter().map(|local| self.name(*local)).collect();
        for (local, name) in own.iter().zip(&names) {
            self.names[local.0 as usize] = format!("{name}_row{number}");
        }
        print(self);
        for (local, name) in own.iter().zip(names) {
            self.names[local.0 as usize] = name;
        }
    }
}
