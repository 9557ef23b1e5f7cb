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

/// The iteration of such a loop.
struct Row<'b> {
    before: &'b [Stm],
    counter: Local,
    bound: &'b Exp,
    within: Vec<&'b Stm>,
    /// What is added to elements that all rows have in common, behind everything else within.
    additions: Vec<&'b Stm>,
    totals: &'b [(Combine, Local)],
    after: &'b [Stm],
}

impl<'b> Row<'b> {
    fn of(index: Local, body: &'b [Stm]) -> Option<Row<'b>> {
        let split = body.iter().position(|stm| matches!(stm, Stm::For { .. }))?;
        let (before, after) = (&body[..split], &body[split + 1..]);
        let Stm::For { index: counter, bound, body: inside, mark, .. } = &body[split] else { return None };
        let totals = match mark {
            Mark::Reduction(totals) => totals.as_slice(),
            Mark::Independent => &[],
            _ => return None,
        };
        let (additions, within): (Vec<&Stm>, Vec<&Stm>) = inside.iter().partition(|stm| matches!(stm, Stm::Put { .. }));
        let is_simple = |stm: &Stm| matches!(stm, Stm::Let(..) | Stm::Declare(_) | Stm::Assign(..) | Stm::Comment(_));
        let is_before = |stm: &Stm| is_simple(stm) || matches!(stm, Stm::Tick(_));
        let is_after = |stm: &Stm| is_simple(stm) || matches!(stm, Stm::Store { .. });
        let own: FxHashSet<Local> = declared(before).chain([index]).collect();
        let is_total = |local: &Local| totals.iter().any(|(_, total)| total == local);
        let fits = before.iter().all(is_before)
            && within.iter().all(|stm| is_simple(stm))
            && after.iter().all(is_after)
            && inside.len() <= LONG
            && totals.is_empty() != additions.is_empty()
            && totals.iter().all(|(_, total)| own.contains(total))
            && within.iter().all(|stm| !matches!(stm, Stm::Assign(local, _) if !is_total(local)))
            && !names_any(bound, &own);
        let row = Row { before, counter: *counter, bound, within, additions, totals, after };
        let of_row = row.of_row(index);
        let shares = !row.additions.is_empty() || row.shares_a_load(&of_row);
        (fits && shares && row.additions.iter().all(|stm| is_common_addition(stm, &of_row))).then_some(row)
    }

    /// What differs from row to row.
    fn of_row(&self, index: Local) -> FxHashSet<Local> {
        let mut of_row = FxHashSet::from_iter([index]);
        for stm in self.before.iter().chain(self.within.iter().copied()) {
            if let Stm::Let(local, exp) = stm
                && names_any(exp, &of_row)
            {
                of_row.insert(*local);
            }
        }
        of_row
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
        let own: Vec<Local> =
            declared(row.before).chain(declared(row.within.iter().copied())).chain(declared(row.after)).chain([index]).collect();
        for number in 0..ROWS {
            self.as_row(&own, number, |printer| {
                let declaration = printer.declare(index);
                printer.line(&format!("{declaration} = {at} + {number};"));
                let once = |stm: &&Stm| number == 0 || !matches!(stm, Stm::Tick(_) | Stm::Comment(_));
                printer.stms(&row.before.iter().filter(once).cloned().collect::<Vec<_>>());
            });
        }
        let clauses: Vec<String> = (0..ROWS)
            .map(|number| {
                let mut clauses = String::new();
                self.as_row(&own, number, |printer| clauses = printer.reduction_clauses("", row.totals));
                clauses
            })
            .collect();
        match row.totals {
            [] => self.line("#pragma GCC ivdep"),
            _ => self.line(&format!("#pragma omp simd {}", clauses.join(" "))),
        }
        let (declaration, name, bound) = (self.declare(row.counter), self.name(row.counter), self.exp(row.bound));
        self.line(&format!("for ({declaration} = 0; {name} < {bound}; {name}++) {{"));
        self.indent += 1;
        for part in [&row.within, &row.additions] {
            let part: Vec<Stm> = part.iter().map(|stm| (*stm).clone()).collect();
            (0..ROWS).for_each(|number| self.as_row(&own, number, |printer| printer.stms(&part)));
        }
        self.indent -= 1;
        self.line("}");
        (0..ROWS).for_each(|number| self.as_row(&own, number, |printer| printer.stms(row.after)));
        self.indent -= 1;
        self.line("}");
        self.for_loop(index, &at, to, body, mark);
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
