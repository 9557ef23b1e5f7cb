//! Iterations side by side: a loop around loops that must run in order is cut into groups of a few iterations, and each statement is done
//! for the whole group before the next. What an iteration has for itself across parts is an array with a place for each lane.

use super::{Printer, c_type, constant, elem_name};
use crate::ir::*;
use crate::lanes::{Addition, Body, Function, Known, Part, for_each_straight};
use crate::parallel::for_each_stm;

/// The sizes of groups, the first that fits; the rest goes one by one.
const GROUPS: [usize; 2] = [16, 4];
const GROUPS_OF_SUMS: [usize; 4] = [32, 16, 8, 4];
/// How an element of an array with a place for each lane is read.
const LANE: &str = "[lane]";
/// Bodies with more statements than this have groups of one size only.
const LONG: usize = 200;

/// A group of iterations that go side by side.
struct Group<'g, 'b> {
    lanes: usize,
    index: Local,
    /// The first of them.
    at: &'g str,
    /// Pointers, which are made again in each part that needs them, as is what is the same for all.
    again: Vec<(Local, &'b Stm)>,
}

impl Printer<'_> {
    pub(super) fn lanes(&mut self, index: Local, from: &str, to: &str, stms: &[Stm], lanes: &Lanes) {
        let known = Known { locals: &self.function.locals, sums: &self.function.sums, strict: self.strict };
        let Some(body) = Body::of(index, stms, known) else {
            return self.whole_loop(index, from, to, stms, &Mark::Sequential);
        };
        let shared = body.crossing();
        let (pointers, shared): (Vec<Local>, Vec<Local>) =
            shared.into_iter().partition(|local| !self.function.locals[local.0 as usize].ty.has_lanes());
        let mut again = body.common.clone();
        let mut count = 0;
        for_each_stm(stms, &mut |_| count += 1);
        for_each_straight(&body.parts, &mut |part| {
            let Part::Straight(stms) = part else { return };
            let made = stms.iter().filter_map(|stm| match stm {
                Stm::Let(local, _) if pointers.contains(local) => Some((*local, *stm)),
                _ => None,
            });
            again.extend(made);
        });
        let at = format!("{}_at", self.name(index));
        self.line(&format!("int64_t {at} = {from};"));
        let tick = format!("if (cw_tick(ctx)) {}", self.failure(lanes.site, "CW_DEADLINE"));
        let last_at = body.last();
        let last = match last_at.map(|last| &body.parts[last]) {
            Some(Part::Straight(stms)) => Group { lanes: 0, index, at: &at, again: again.clone() }.with_again(stms),
            _ => Vec::new(),
        };
        let staying = if lanes.behind == Behind::InOrder { staying(&last) } else { None };
        let groups = match () {
            () if count > LONG => &GROUPS[..1],
            () if lanes.sums && lanes.behind == Behind::InOrder && staying.is_none() => &GROUPS_OF_SUMS[1..],
            () if lanes.sums => &GROUPS_OF_SUMS[..],
            () => &GROUPS[..],
        };
        for lanes_count in groups {
            let group = Group { lanes: *lanes_count, index, at: &at, again: again.clone() };
            self.line(&format!("for (; {to} - {at} >= {lanes_count}; {at} += {lanes_count}) {{"));
            self.indent += 1;
            self.line(&tick);
            let names: Vec<(Local, String)> = shared.iter().map(|local| (*local, self.name(*local))).collect();
            for (local, name) in &names {
                if let Ty::Prim(prim) = self.function.locals[local.0 as usize].ty {
                    self.line(&format!("{} {name}[{lanes_count}];", elem_name(Elem::Prim(prim), self.layouts)));
                }
                self.names[local.0 as usize] = format!("{name}{LANE}");
            }
            self.in_lanes = shared.iter().copied().collect();
            self.memory_in_lanes = body.memory.iter().map(|data| (*data, *lanes_count)).collect();
            for (number, part) in body.parts.iter().enumerate() {
                match &staying {
                    Some(staying) if last_at == Some(number) => self.changes(&group, &last, staying),
                    None if last_at == Some(number) => self.group(&group, &last, &lanes.behind),
                    _ => self.part(&group, part),
                }
            }
            self.in_lanes.clear();
            self.memory_in_lanes.clear();
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
        self.stms(stms);
        self.indent -= 1;
        self.line("}");
    }

    fn part(&mut self, group: &Group<'_, '_>, part: &Part<'_>) {
        match part {
            Part::Straight(stms) => self.group(group, &group.with_again(stms), &Behind::AtOnce(Vec::new())),
            Part::Loop { counter, bound, parts, .. } => {
                // What goes to one place in all steps is added up for each lane first.
                let to_one_place = |part: &&Part<'_>| matches!(part, Part::Addition(it) if it.is_common && it.can_wait && !group.varies(it.place, *counter));
                let sums: Vec<&Addition<'_>> = parts
                    .iter()
                    .filter(to_one_place)
                    .filter_map(|part| if let Part::Addition(addition) = part { Some(addition) } else { None })
                    .collect();
                let (declaration, name, bound) = (self.declare(*counter), self.name(*counter), self.exp(bound));
                for (number, sum) in sums.iter().enumerate() {
                    let (ty, neutral) = (c_type(sum.prim), constant(Combine::Add.neutral(sum.prim)));
                    self.line(&format!("{ty} {name}_sum{number}[{}];", group.lanes));
                    self.line(&format!(
                        "for (int64_t lane = 0; lane < {}; lane++) {name}_sum{number}[lane] = {neutral};",
                        group.lanes
                    ));
                }
                self.line(&format!("for ({declaration} = 0; {name} < {bound}; {name}++) {{"));
                self.indent += 1;
                parts.iter().filter(|part| !to_one_place(part)).for_each(|part| self.part(group, part));
                for (number, sum) in sums.iter().enumerate() {
                    self.summands(group, sum, &format!("{name}_sum{number}[lane]"), "");
                }
                self.indent -= 1;
                self.line("}");
                for (number, sum) in sums.iter().enumerate() {
                    self.line("{");
                    self.indent += 1;
                    self.line(&format!("{} total = {};", c_type(sum.prim), constant(Combine::Add.neutral(sum.prim))));
                    self.line("#pragma omp simd reduction(+:total)");
                    self.line(&format!(
                        "for (int64_t lane = 0; lane < {}; lane++) total += {name}_sum{number}[lane];",
                        group.lanes
                    ));
                    self.add_total(group, sum);
                }
            }
            Part::Function(Function { name, prim, from, to, .. }) => {
                let (from, to) = (self.array_of_lanes(*from), self.array_of_lanes(*to));
                let line = format!("cw_{name}_{}({from}, {to}, {});", prim.name(), group.lanes);
                self.line(&line);
            }
            Part::Addition(addition) if addition.is_common => self.sum_of_lanes(group, addition),
            Part::Addition(addition) => {
                let stms = group.with_again(&[addition.stm]);
                let how = if addition.is_beside { Behind::AtOnce(Vec::new()) } else { Behind::InOrder };
                self.group(group, &stms, &how);
            }
            Part::Memory(Stm::Alloc { owner, data, elem, dims, zeroed, site }) => {
                let dims: Vec<Exp> = dims.iter().cloned().chain([Exp::i64(group.lanes as i64)]).collect();
                self.alloc(*owner, *data, *elem, &dims, *zeroed, *site);
            }
            Part::Memory(Stm::Room { data, elem, count }) => {
                self.stm(&Stm::Room { data: *data, elem: *elem, count: count * group.lanes as i64 });
            }
            Part::Memory(stm) | Part::End(stm) | Part::Tick(stm) => self.stm(stm),
        }
    }

    /// The name of the array that a local has in lanes.
    fn array_of_lanes(&self, local: Local) -> String {
        self.name(local).trim_end_matches(LANE).to_owned()
    }

    /// What the lanes of a group add to one place, added up first.
    fn sum_of_lanes(&mut self, group: &Group<'_, '_>, addition: &Addition<'_>) {
        let (ty, neutral) = (c_type(addition.prim), constant(Combine::Add.neutral(addition.prim)));
        self.line("{");
        self.indent += 1;
        self.line(&format!("{ty} total = {neutral};"));
        self.summands(group, addition, "total", " reduction(+:total)");
        self.add_total(group, addition);
    }

    /// Adds the summand of each lane to something.
    fn summands(&mut self, group: &Group<'_, '_>, addition: &Addition<'_>, to: &str, clause: &str) {
        self.line(&format!("#pragma omp simd{clause}"));
        self.line(&format!("for (int64_t lane = 0; lane < {}; lane++) {{", group.lanes));
        self.indent += 1;
        let declaration = self.declare(group.index);
        self.line(&format!("{declaration} = {} + lane;", group.at));
        let summand = Stm::Let(group.index, addition.summand.clone());
        let again = group.with_again(&[&summand]);
        self.stms(&again[..again.len() - 1]);
        let summand = self.exp(addition.summand);
        self.line(&format!("{to} += {summand};"));
        self.indent -= 1;
        self.line("}");
    }

    /// Adds the total of a group to its place, and ends the block in which that is.
    fn add_total(&mut self, group: &Group<'_, '_>, addition: &Addition<'_>) {
        let again = group.with_again(&[addition.stm]);
        self.stms(&again[..again.len() - 1]);
        let place = self.exp(addition.place);
        self.line(&format!("{place} += total;"));
        self.indent -= 1;
        self.line("}");
    }

    /// Statements in order for the lanes of a group, if they change anything: that is asked for all lanes at once.
    fn changes(&mut self, group: &Group<'_, '_>, stms: &[Stm], staying: &Staying) {
        let Group { lanes, index, at, .. } = *group;
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
        self.group(group, stms, &Behind::InOrder);
        self.indent -= 1;
        self.line("}");
    }

    /// Straight statements for every lane of a group.
    fn group(&mut self, group: &Group<'_, '_>, stms: &[Stm], how: &Behind) {
        let Group { lanes, index, at, .. } = *group;
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

impl Group<'_, '_> {
    /// Whether an expression may change from step to step of a loop.
    fn varies(&self, exp: &Exp, counter: Local) -> bool {
        let mut varies = false;
        exp.for_each_local(&mut |local| varies |= local == counter || self.again.iter().any(|(known, _)| *known == local));
        varies
    }

    /// Straight statements behind what they need that is made again.
    fn with_again(&self, stms: &[&Stm]) -> Vec<Stm> {
        let mut needed: Vec<&Stm> = Vec::new();
        for (local, made) in self.again.iter().rev() {
            let is_here = stms.contains(made);
            if !is_here && stms.iter().chain(&needed).any(|stm| stm.names(*local)) {
                needed.push(made);
            }
        }
        needed.into_iter().rev().chain(stms.iter().copied()).cloned().collect()
    }
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
