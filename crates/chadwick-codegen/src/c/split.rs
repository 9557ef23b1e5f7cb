//! Loops with choices, printed for each range, or each outcome, in which there is nothing to choose.
//!
//! Loops that read beside their own place, beyond the end of an array from its start on: one loop for each range in which conditions on the
//! counter do not change. Between the borders there is no choice of a place then, and what is read lies side by side. (Where not the place is chosen, but what to do
//! with it, a vector unit leaves out elements at little cost; if there are many such choices, the inside is a loop of its own.) Ranges are rounded to whole vectors: what is stored by
//! the vector should not lie across two lines of the cache.

use super::{Printer, constant};
use crate::ir::*;
use crate::parallel::for_each_stm;
use chadwick_core::{BinaryOp, CompareOp, Const, Prim, PrimOp, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bodies with more statements stay whole: their text would be there three times.
const MOST_STATEMENTS: usize = 60;
/// How many statements a loop may have, and how many choices it has to make, for its inside to be printed apart.
const MOST_WITH_BORDERS: usize = 250;
const MANY_CHOICES: usize = 4;
/// Loops that are known to be as short as this stay whole.
const SHORT: i64 = 16;

/// A place at which a condition changes once and for all: an invariant, if there is one, and a number.
#[derive(Debug)]
struct Cut {
    base: Option<Local>,
    more: i64,
    condition: Local,
    /// What the condition is before that place.
    before: bool,
    /// For the smaller or the larger of a place and a border: the place, which it is where the condition holds.
    chosen: Option<Exp>,
}

impl Cut {
    /// What the condition is between the places near the start and the others.
    fn inside(&self) -> bool {
        self.before != self.base.is_none()
    }
}

/// The counter so many times, locals that are the same in all iterations so many times, and a number.
#[derive(Clone, Debug, Default)]
struct Linear {
    counter: i64,
    terms: Vec<(Local, i64)>,
    constant: i64,
}

impl Linear {
    fn plus(mut self, factor: i64, other: &Linear) -> Option<Linear> {
        self.counter += factor * other.counter;
        for (local, count) in &other.terms {
            match self.terms.iter_mut().find(|(known, _)| known == local) {
                Some((_, known)) => *known += factor * count,
                None => self.terms.push((*local, factor * count)),
            }
        }
        self.terms.retain(|(_, count)| *count != 0);
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        Some(self)
    }
}

/// What the body of a loop says about its locals.
struct Body<'b> {
    index: Local,
    definitions: FxHashMap<Local, &'b Exp>,
    assigned: FxHashSet<Local>,
    /// Sums that cannot overflow.
    exact: &'b FxHashSet<Local>,
    /// Whether only the inside counts, where the smaller or larger of a place and a border is the place.
    is_inside: bool,
}

impl<'b> Body<'b> {
    fn of(index: Local, body: &'b [Stm], exact: &'b FxHashSet<Local>) -> Body<'b> {
        let (mut definitions, mut assigned) = (FxHashMap::default(), FxHashSet::default());
        for stm in body {
            if let Stm::Let(local, exp) = stm {
                definitions.insert(*local, exp);
            }
        }
        for_each_stm(body, &mut |stm| {
            if let Stm::Assign(local, _) | Stm::Declare(local) = stm {
                assigned.insert(*local);
            }
        });
        Body { index, definitions, assigned, exact, is_inside: false }
    }

    fn linear(&self, exp: &Exp) -> Option<Linear> {
        match exp {
            Exp::Const(Const::I64(constant)) => Some(Linear { constant: *constant, ..Linear::default() }),
            Exp::Local(local) if *local == self.index => Some(Linear { counter: 1, ..Linear::default() }),
            Exp::Local(local) if self.assigned.contains(local) => None,
            Exp::Local(local) => match self.definitions.get(local) {
                Some(exp) if self.exact.contains(local) => self.linear(exp),
                Some(exp) => self.linear(self.clamped(exp)?.0),
                None => Some(Linear { terms: vec![(*local, 1)], ..Linear::default() }),
            },
            Exp::Prim(PrimOp::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), Prim::I64), args) => {
                let [left, right] = args.as_slice() else { return None };
                self.linear(left)?.plus(if *op == BinaryOp::Add { 1 } else { -1 }, &self.linear(right)?)
            }
            _ => None,
        }
    }

    /// The place and the border of which an expression is the smaller or the larger, if only the inside counts.
    fn clamped<'e>(&self, exp: &'e Exp) -> Option<(&'e Exp, &'e Exp)> {
        let Exp::Prim(PrimOp::Binary(BinaryOp::Min | BinaryOp::Max, Prim::I64), args) = exp else { return None };
        let ([one, other], true) = (args.as_slice(), self.is_inside) else { return None };
        match [one, other].map(|exp| self.linear(exp).map(|linear| linear.counter)) {
            [Some(0), Some(1 | -1)] => Some((other, one)),
            [Some(1 | -1), Some(0)] => Some((one, other)),
            _ => None,
        }
    }

    /// Where a condition changes.
    fn cut(&self, condition: Local, exp: &Exp) -> Option<Cut> {
        let clamped = self.clamped(exp);
        let chosen = clamped.map(|(place, _)| place.clone());
        let (compare, left, right) = match exp {
            Exp::Prim(PrimOp::Binary(op, _), _) if let Some((place, border)) = clamped => match op {
                BinaryOp::Max => (CompareOp::LessEqual, border, place),
                _ => (CompareOp::LessEqual, place, border),
            },
            Exp::Prim(PrimOp::Compare(compare, Prim::I64), args) => match args.as_slice() {
                [left, right] => (*compare, left, right),
                _ => return None,
            },
            Exp::Test(Test::Less, left, right) => (CompareOp::Less, &**left, &**right),
            _ => return None,
        };
        if compare == CompareOp::Equal {
            return None;
        }
        // The right is that much more than the left.
        let difference = self.linear(right)?.plus(-1, &self.linear(left)?)?;
        let rises = match difference.counter {
            1 => true,
            -1 => false,
            _ => return None,
        };
        let sign = if rises { -1 } else { 1 };
        let base = match difference.terms.as_slice() {
            [] => None,
            [(local, count)] if *count == sign => Some(*local),
            _ => return None,
        };
        let more = difference.constant.checked_mul(sign)?.checked_add(match (compare, rises) {
            (CompareOp::Less, true) | (CompareOp::LessEqual, false) => 1,
            _ => 0,
        })?;
        Some(Cut { base, more, condition, before: !rises, chosen })
    }

    /// Comparisons that have the same outcome in all iterations, in terms of what is there before the loop.
    fn same_for_all(&self, body: &[Stm]) -> Vec<(Local, Exp)> {
        let mut steady: FxHashMap<Local, Exp> = FxHashMap::default();
        let mut found = Vec::new();
        for stm in body {
            let Stm::Let(local, exp @ Exp::Prim(op, args)) = stm else { continue };
            let is_steady = |exp: &Exp| match exp {
                Exp::Const(_) => true,
                Exp::Local(local) if *local == self.index || self.assigned.contains(local) => false,
                Exp::Local(local) => steady.contains_key(local) || !self.definitions.contains_key(local),
                _ => false,
            };
            if !args.iter().all(is_steady) {
                continue;
            }
            let in_front = |exp| match exp {
                Exp::Local(local) => steady.get(&local).cloned().unwrap_or(Exp::Local(local)),
                other => other,
            };
            match op {
                PrimOp::Compare(..) => found.push((*local, exp.clone().rewritten(&in_front))),
                PrimOp::Binary(BinaryOp::Add | BinaryOp::Sub, Prim::I64) => {
                    let exp = exp.clone().rewritten(&in_front);
                    steady.insert(*local, exp);
                }
                _ => {}
            }
        }
        found
    }

    fn cuts(&self, body: &[Stm]) -> Vec<Cut> {
        let cut = |stm: &Stm| match stm {
            Stm::Let(condition, exp) => self.cut(*condition, exp),
            _ => None,
        };
        body.iter().filter_map(cut).collect()
    }
}

impl Printer<'_> {
    /// Prints a loop in ranges, if it is of that kind: up to the last of the places near the start, up to the first of the others, and the rest.
    pub(super) fn in_ranges(&mut self, index: Local, from: &str, to: &str, body: &[Stm], mark: &Mark) -> bool {
        let literal = |text: &str| text.strip_prefix("INT64_C(")?.strip_suffix(')')?.parse::<i64>().ok();
        let is_short = literal(to).is_some_and(|to| to <= SHORT);
        if !matches!(mark, Mark::Independent | Mark::Reduction(_)) || is_short || !self.in_lanes.is_empty() {
            return false;
        }
        let (mut count, mut chooses) = (0, false);
        for_each_stm(body, &mut |stm| {
            count += 1;
            chooses |= matches!(stm, Stm::Let(local, Exp::Select(..)) if self.function.locals[local.0 as usize].ty == Ty::Prim(Prim::I64));
        });
        if !chooses {
            return count <= MOST_WITH_BORDERS && self.with_borders(index, from, to, body, mark);
        }
        if count > MOST_STATEMENTS {
            return false;
        }
        let cuts = Body::of(index, body, &self.function.exact).cuts(body);
        let (first, last): (Vec<&Cut>, Vec<&Cut>) = cuts.iter().partition(|cut| cut.base.is_none());
        let before = |cut: &&Cut| (cut.condition, cut.before);
        let behind = |cut: &&Cut| (cut.condition, !cut.before);
        let name = self.name(index);
        let (mut start, mut end) = (from.to_owned(), to.to_owned());
        if cuts.is_empty() {
            return false;
        }
        self.line("{");
        self.indent += 1;
        if let Some(most) = first.iter().map(|cut| cut.more).max() {
            start = format!("{name}_start");
            self.line(&format!("int64_t {start} = cw_round_up(cw_cut(0, {}, {from}, {to}), {to});", constant(Const::I64(most))));
            self.whole_loop(index, from, &start, body, mark);
        }
        for cut in &last {
            let base = cut.base.map(|base| self.name(base)).unwrap_or_default();
            let declared = if end == to { "int64_t " } else { "" };
            let line = format!("{declared}{name}_end = cw_cut({base}, {}, {start}, {end});", constant(Const::I64(cut.more)));
            self.line(&line);
            end = format!("{name}_end");
        }
        if !last.is_empty() {
            self.line(&format!("int64_t {name}_rest = cw_round_up({end}, {to});"));
            self.line(&format!("{end} = cw_round_down({end}, {start});"));
        }
        let known = first.iter().map(behind).chain(last.iter().map(before)).collect();
        self.whole_loop(index, &start, &end, &specialised(body, known), mark);
        if !last.is_empty() {
            // Beyond the only place there may be much, too.
            let rest = if last.len() == 1 { format!("{name}_rest") } else { to.to_owned() };
            let known = first.iter().map(behind).collect();
            self.whole_loop(index, &end, &rest, &specialised(body, known), mark);
            if last.len() == 1 {
                let known = first.iter().chain(&last).map(behind).collect();
                self.whole_loop(index, &rest, to, &specialised(body, known), mark);
            }
        }
        self.indent -= 1;
        self.line("}");
        true
    }
}

impl Printer<'_> {
    /// Prints a loop that leaves out what lies beyond the borders of what it reads, if it asks for them often: once for the inside, where no
    /// border is near, and once for the rest.
    fn with_borders(&mut self, index: Local, from: &str, to: &str, body: &[Stm], mark: &Mark) -> bool {
        let known = Body { is_inside: true, ..Body::of(index, body, &self.function.exact) };
        let cuts = known.cuts(body);
        let choices = body.iter().filter(|stm| matches!(stm, Stm::If { .. })).count();
        if cuts.is_empty() || !cuts.iter().any(|cut| cut.chosen.is_some()) && choices < MANY_CHOICES {
            return false;
        }
        // What is taken for its place must be it.
        let is_place = |stm: &Stm| match stm {
            Stm::Let(local, exp) if known.clamped(exp).is_some() => {
                cuts.iter().any(|cut| cut.condition == *local && cut.inside())
            }
            _ => true,
        };
        if !body.iter().all(is_place) {
            return false;
        }
        let rows: Vec<(Local, Exp)> = known.same_for_all(body).into_iter().filter(|(_, exp)| !is_equality(exp)).collect();
        if !rows.is_empty() {
            let mut tests: Vec<String> = rows.iter().map(|(_, exp)| self.exp(exp)).collect();
            tests.sort_unstable();
            tests.dedup();
            self.line(&format!("if ({}) {{", tests.join(" && ")));
            self.indent += 1;
        }
        let (name, declaration) = (self.name(index), self.declare(index));
        let [start, end] = ["start", "end"].map(|which| format!("{name}_{which}"));
        let most = cuts.iter().filter(|cut| cut.base.is_none()).map(|cut| cut.more).max().unwrap_or(0);
        self.line("{");
        self.indent += 1;
        self.line(&format!("int64_t {start} = cw_round_up(cw_cut(0, {}, {from}, {to}), {to});", constant(Const::I64(most))));
        self.line(&format!("int64_t {end} = {to};"));
        for cut in cuts.iter().filter(|cut| cut.base.is_some()) {
            let base = cut.base.map(|base| self.name(base)).unwrap_or_default();
            self.line(&format!("{end} = cw_cut({base}, {}, {start}, {end});", constant(Const::I64(cut.more))));
        }
        let choices = cuts.iter().filter(|cut| cut.chosen.is_none()).map(|cut| (cut.condition, cut.inside()));
        let known = choices.chain(rows.iter().map(|(condition, _)| (*condition, true))).collect();
        let mut inside = specialised(body, known);
        for stm in &mut inside {
            if let Stm::Let(local, exp) = stm
                && let Some(cut) = cuts.iter().find(|cut| cut.condition == *local)
                && let Some(place) = &cut.chosen
            {
                *exp = place.clone();
            }
        }
        self.whole_loop(index, &start, &end, &inside, mark);
        let first = format!("{from} < {start} ? {from} : {end}");
        let next = format!("{name} + 1 == {start} ? {end} : {name} + 1");
        self.line(&format!("for ({declaration} = {first}; {name} < {to}; {name} = {next}) {{"));
        self.nested(body);
        self.line("}");
        self.indent -= 1;
        self.line("}");
        if !rows.is_empty() {
            self.indent -= 1;
            self.line("} else {");
            self.indent += 1;
            self.whole_loop(index, from, to, body, mark);
            self.indent -= 1;
            self.line("}");
        }
        true
    }

    /// Prints a loop that makes sums once for each side of a choice that is the same in all iterations. (In other loops the C compiler sees
    /// to that.)
    pub(super) fn by_choice(&mut self, index: Local, from: &str, to: &str, body: &[Stm], mark: &Mark) -> bool {
        if !matches!(mark, Mark::Reduction(_)) {
            return false;
        }
        let mut count = 0;
        for_each_stm(body, &mut |_| count += 1);
        if count > MOST_STATEMENTS {
            return false;
        }
        let known = Body::of(index, body, &self.function.exact);
        let decides = |condition: Local| {
            body.iter().any(|stm| matches!(stm, Stm::If { condition: Exp::Local(other), .. } if *other == condition))
        };
        let chosen = known.same_for_all(body).into_iter().find(|(condition, _)| decides(*condition));
        let Some((condition, exp)) = chosen else { return false };
        let text = self.exp(&exp);
        for (line, value) in [(format!("if ({text}) {{"), true), (String::from("} else {"), false)] {
            self.line(&line);
            self.indent += 1;
            let body = specialised(body, FxHashMap::from_iter([(condition, value)]));
            self.whole_loop(index, from, to, &body, mark);
            self.indent -= 1;
        }
        self.line("}");
        true
    }
}

fn is_equality(exp: &Exp) -> bool {
    matches!(exp, Exp::Prim(PrimOp::Compare(CompareOp::Equal, _), _))
}

/// Statements with conditions that are known.
fn specialised(stms: &[Stm], mut known: FxHashMap<Local, bool>) -> Vec<Stm> {
    let mut out = Vec::new();
    specialise(stms, &mut known, &mut out);
    out
}

fn specialise(stms: &[Stm], known: &mut FxHashMap<Local, bool>, out: &mut Vec<Stm>) {
    for stm in stms {
        let fold = |exp: &Exp| exp.clone().rewritten(&|exp| folded(exp, known));
        match stm {
            Stm::Let(local, exp) => {
                let exp = match known.get(local) {
                    Some(value) => Exp::Const(Const::Bool(*value)),
                    None => fold(exp),
                };
                if let Exp::Const(Const::Bool(value)) = exp {
                    known.insert(*local, value);
                }
                out.push(Stm::Let(*local, exp));
            }
            Stm::Assign(local, exp) => out.push(Stm::Assign(*local, fold(exp))),
            Stm::Store { data, at, value } => out.push(Stm::Store { data: fold(data), at: fold(at), value: fold(value) }),
            Stm::Put { place, value } => out.push(Stm::Put { place: fold(place), value: fold(value) }),
            Stm::If { condition, then, otherwise } => match fold(condition) {
                Exp::Const(Const::Bool(true)) => specialise(then, known, out),
                Exp::Const(Const::Bool(false)) => specialise(otherwise, known, out),
                condition => {
                    let [then, otherwise] = [then, otherwise].map(|branch| specialised(branch, known.clone()));
                    out.push(Stm::If { condition, then, otherwise });
                }
            },
            other => out.push(other.clone()),
        }
    }
}

/// A choice or an operation on conditions of which one is known.
fn folded(exp: Exp, known: &FxHashMap<Local, bool>) -> Exp {
    let value = |exp: &Exp| match exp {
        Exp::Const(Const::Bool(value)) => Some(*value),
        _ => None,
    };
    match exp {
        Exp::Local(local) => known.get(&local).map_or(Exp::Local(local), |value| Exp::Const(Const::Bool(*value))),
        Exp::Not(inner) if value(&inner).is_some() => Exp::Const(Const::Bool(value(&inner) == Some(false))),
        Exp::Prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), args) if value(&args[0]).is_some() => {
            Exp::Const(Const::Bool(value(&args[0]) == Some(false)))
        }
        Exp::Prim(PrimOp::Binary(op @ (BinaryOp::And | BinaryOp::Or), Prim::Bool), mut args) => {
            let decides = op == BinaryOp::Or;
            match args.iter().position(|arg| value(arg).is_some()) {
                Some(at) if value(&args[at]) == Some(decides) => Exp::Const(Const::Bool(decides)),
                Some(at) => args.swap_remove(1 - at),
                None => Exp::Prim(PrimOp::Binary(op, Prim::Bool), args),
            }
        }
        Exp::And(left, right) => match (value(&left), value(&right)) {
            (Some(false), _) | (_, Some(false)) => Exp::Const(Const::Bool(false)),
            (Some(true), _) => *right,
            (_, Some(true)) => *left,
            _ => Exp::And(left, right),
        },
        Exp::Or(left, right) => match (value(&left), value(&right)) {
            (Some(true), _) | (_, Some(true)) => Exp::Const(Const::Bool(true)),
            (Some(false), _) => *right,
            (_, Some(false)) => *left,
            _ => Exp::Or(left, right),
        },
        Exp::Select(condition, yes, no) => match value(&condition) {
            Some(true) => *yes,
            Some(false) => *no,
            None => Exp::Select(condition, yes, no),
        },
        other => other,
    }
}
