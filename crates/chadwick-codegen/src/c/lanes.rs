//! Iterations side by side: a loop around one loop that must run in order is cut into groups of a few iterations, and each statement is done
//! for the whole group before the next. What an iteration has for itself across the inner loop is an array with a place for each lane.

use super::{Printer, elem_name};
use crate::ir::*;

/// The sizes of groups, the first that fits; the rest goes one by one.
const GROUPS: [usize; 2] = [16, 4];
const GROUPS_OF_SUMS: [usize; 4] = [32, 16, 8, 4];
/// Bodies with more statements than this have groups of one size only.
const LONG: usize = 200;

impl Printer<'_> {
    pub(super) fn lanes(&mut self, index: Local, from: &str, to: &str, body: &[Stm], lanes: &Lanes) {
        let Some(split) = body.iter().position(|stm| matches!(stm, Stm::For { .. })) else { return };
        let (before, after) = (&body[..split], &body[split + 1..]);
        let Stm::For { index: counter, bound, body: within, .. } = &body[split] else { return };
        let shared = crossing(before, within, after);
        // Pointers are made again in each part that needs them.
        let (again, shared): (Vec<Local>, Vec<Local>) =
            shared.into_iter().partition(|local| !self.function.locals[local.0 as usize].ty.has_lanes());
        let again = |part: &[Stm]| -> Vec<Stm> {
            let made = |stm: &&Stm| matches!(stm, Stm::Let(local, _) if again.contains(local) && part.iter().any(|user| user.names(*local)));
            before.iter().filter(made).chain(part).cloned().collect()
        };
        let (within, after) = (again(within), again(after));
        let at = format!("{}_at", self.name(index));
        self.line(&format!("int64_t {at} = {from};"));
        let tick = format!("if (cw_tick(ctx)) {}", self.failure(lanes.site, "CW_DEADLINE"));
        let staying = if lanes.behind == Behind::InOrder { staying(&after) } else { None };
        let groups = match () {
            () if body.len() + within.len() > LONG => &GROUPS[..1],
            () if lanes.sums && lanes.behind == Behind::InOrder && staying.is_none() => &GROUPS_OF_SUMS[1..],
            () if lanes.sums => &GROUPS_OF_SUMS[..],
            () => &GROUPS[..],
        };
        for group in groups {
            self.line(&format!("for (; {to} - {at} >= {group}; {at} += {group}) {{"));
            self.indent += 1;
            self.line(&tick);
            let names: Vec<(Local, String)> = shared.iter().map(|local| (*local, self.name(*local))).collect();
            for (local, name) in &names {
                if let Ty::Prim(prim) = self.function.locals[local.0 as usize].ty {
                    self.line(&format!("{} {name}[{group}];", elem_name(Elem::Prim(prim), self.layouts)));
                }
                self.names[local.0 as usize] = format!("{name}[lane]");
            }
            self.in_lanes = shared.iter().copied().collect();
            let at_once = Behind::AtOnce(Vec::new());
            self.group(*group, index, &at, before, &at_once);
            let (declaration, name, bound) = (self.declare(*counter), self.name(*counter), self.exp(bound));
            self.line(&format!("for ({declaration} = 0; {name} < {bound}; {name}++) {{"));
            self.indent += 1;
            self.group(*group, index, &at, &within, &at_once);
            self.indent -= 1;
            self.line("}");
            match &staying {
                Some(staying) => self.changes(*group, index, &at, &after, staying),
                None => self.group(*group, index, &at, &after, &lanes.behind),
            }
            self.in_lanes.clear();
            for (local, name) in names {
                self.names[local.0 as usize] = name;
            }
            self.indent -= 1;
            self.line("}");
        }
        let (declaration, name) = (self.declare(index), self.name(index));
        self.line(&format!("for ({declaration} = {at}; {name} < {to}; {name}++) {{"));
        self.indent += 1;
        self.line(&tick);
        self.stms(body);
        self.indent -= 1;
        self.line("}");
    }

    /// Statements in order for the lanes of a group, if they change anything: that is asked for all lanes at once.
    fn changes(&mut self, lanes: usize, index: Local, at: &str, stms: &[Stm], staying: &Staying) {
        let changes = format!("{}_changes", self.name(index));
        self.line(&format!("int64_t {changes} = 0;"));
        self.line(&format!("#pragma omp simd reduction(|:{changes})"));
        self.line(&format!("for (int64_t lane = 0; lane < {lanes}; lane++) {{"));
        self.indent += 1;
        let declaration = self.declare(index);
        self.line(&format!("{declaration} = {at} + lane;"));
        self.stms(&staying.values);
        for (condition, stays_if) in &staying.conditions {
            let (condition, sign) = (self.exp(condition), if *stays_if { "!" } else { "" });
            self.line(&format!("{changes} |= {sign}{condition};"));
        }
        self.indent -= 1;
        self.line("}");
        self.line(&format!("if ({changes}) {{"));
        self.indent += 1;
        self.group(lanes, index, at, stms, &Behind::InOrder);
        self.indent -= 1;
        self.line("}");
    }

    /// Straight statements for every lane of a group.
    fn group(&mut self, lanes: usize, index: Local, at: &str, stms: &[Stm], how: &Behind) {
        if !stms.iter().any(|stm| !matches!(stm, Stm::Comment(_))) {
            return;
        }
        if let Behind::AtOnce(reductions) = how {
            let clauses = self.reduction_clauses("", reductions);
            self.line(format!("#pragma omp simd {clauses}").trim_end());
        }
        self.line(&format!("for (int64_t lane = 0; lane < {lanes}; lane++) {{"));
        self.indent += 1;
        let declaration = self.declare(index);
        self.line(&format!("{declaration} = {at} + lane;"));
        self.stms(stms);
        self.indent -= 1;
        self.line("}");
    }
}

/// Locals of one part that another part reads or changes.
fn crossing(before: &[Stm], within: &[Stm], after: &[Stm]) -> Vec<Local> {
    let parts = [before, within, after];
    let mut found = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        for stm in *part {
            let (Stm::Let(local, _) | Stm::Declare(local)) = stm else { continue };
            let elsewhere = parts.iter().enumerate().filter(|(other, _)| *other != number).flat_map(|(_, part)| part.iter());
            if elsewhere.into_iter().any(|stm| stm.names(*local)) {
                found.push(*local);
            }
        }
    }
    found
}

/// When statements change nothing outside of themselves: values, and conditions on them, each with what it must be.
struct Staying {
    values: Vec<Stm>,
    conditions: Vec<(Exp, bool)>,
}

/// Of statements each of whose assignments keeps the old value or takes another one: when all keep it. If that is so for all lanes by the values from
/// before the first of them, it is so for all of them in order.
fn staying(stms: &[Stm]) -> Option<Staying> {
    let split = stms.iter().position(|stm| matches!(stm, Stm::Assign(..)))?;
    let (values, assignments) = stms.split_at(split);
    let value = |wanted: Local| {
        values.iter().find_map(|stm| match stm {
            Stm::Let(local, exp) if *local == wanted => Some(exp),
            _ => None,
        })
    };
    let mut conditions = Vec::new();
    for stm in assignments {
        let Stm::Assign(total, Exp::Local(new)) = stm else { return None };
        let Some(Exp::Select(condition, yes, no)) = value(*new) else { return None };
        let is_old = |exp: &Exp| matches!(exp, Exp::Local(local) if value(*local) == Some(&Exp::Local(*total)));
        let stays_if = is_old(yes);
        if !stays_if && !is_old(no) {
            return None;
        }
        conditions.push(((**condition).clone(), stays_if));
    }
    conditions.dedup();
    // What is read may depend on what was chosen so far.
    let is_plain = |stm: &Stm| matches!(stm, Stm::Let(_, exp) if !loads(exp)) || matches!(stm, Stm::Comment(_));
    let values: Vec<Stm> = values.iter().filter(|stm| !matches!(stm, Stm::Comment(_))).cloned().collect();
    values.iter().all(is_plain).then_some(Staying { values, conditions })
}

fn loads(exp: &Exp) -> bool {
    let mut found = matches!(exp, Exp::Load(..) | Exp::Deref(_));
    exp.for_each_child(&mut |child| found |= loads(child));
    found
}
