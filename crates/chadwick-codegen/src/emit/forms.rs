//! Forms over an index space: build, reduce, scan, hist, scatter.

use super::collect::Collector;
use super::{Array, Emitter, Uses, Value};
use crate::ir::*;
use crate::liveness::Deaths;
use chadwick_core::{Atom, Axis, BinaryOp, Block, CompareOp, Const, Lambda, Op, Prim, PrimOp, Size, Statement, Type};

/// A value that changes: a carry, or the accumulator of a reduction.
pub(crate) enum Slot {
    Scalar(Local),
    Sum(Local, SumId),
    Array { elem: Elem, data: Local, owner: Local, dims: Vec<SlotDim> },
}

/// A form whose loop is open.
enum Open<'p> {
    /// A collector per result that is stored, which results have values, and the products that were formed ahead.
    Build {
        collectors: Vec<Option<Collector<'p>>>,
        with_values: Vec<usize>,
        formed: Vec<Array>,
    },
    /// `a_number`: whether the total starts as something that is not NaN.
    Total {
        total: Local,
        combine: Option<Combine>,
        op: PrimOp,
        a_number: bool,
    },
    Fold(Vec<Slot>),
    /// Arrays are absent where they are not stored.
    Scan {
        arrays: Vec<Option<Array>>,
        slots: Vec<Slot>,
    },
}

/// A size of an array in a slot.
pub(crate) enum SlotDim {
    Fixed(Exp),
    Varying(Local),
}

impl<'p> Emitter<'_, 'p> {
    // Slots

    /// A slot that starts with a value that has a reference of its own. `fixed` says whether the sizes of an array stay as they are.
    pub(crate) fn slot(&mut self, name: &str, value: &Value, fixed: bool) -> Slot {
        match value {
            Value::Scalar(exp) => {
                let local = self.local(name, self.type_of(exp));
                self.push(Stm::Let(local, exp.clone()));
                Slot::Scalar(local)
            }
            Value::Sum(exp, id) => {
                let local = self.local(name, Ty::Sum(*id));
                self.push(Stm::Let(local, exp.clone()));
                Slot::Sum(local, *id)
            }
            Value::Array(array) => {
                let data = self.local(name, Ty::Data(array.elem));
                let owner = self.local(&format!("{name}_owner"), Ty::Owner);
                self.push(Stm::Let(data, array.data.clone()));
                self.push(Stm::Let(owner, array.owner.clone()));
                let mut dims = Vec::new();
                for (axis, dim) in array.dims.iter().enumerate() {
                    dims.push(match fixed {
                        true => SlotDim::Fixed(dim.clone()),
                        false => {
                            let local = self.local(&format!("{name}_n{axis}"), Ty::Prim(Prim::I64));
                            self.push(Stm::Let(local, dim.clone()));
                            SlotDim::Varying(local)
                        }
                    });
                }
                Slot::Array { elem: array.elem, data, owner, dims }
            }
            Value::Handle(_) => Slot::Scalar(Local(0)),
        }
    }

    /// The value in the slot now, in locals that do not change.
    pub(crate) fn read_slot(&mut self, name: &str, slot: &Slot) -> Value {
        match slot {
            Slot::Scalar(local) => {
                let ty = self.type_of(&Exp::Local(*local));
                Value::Scalar(self.bind(name, ty, Exp::Local(*local)))
            }
            Slot::Sum(local, id) => Value::Sum(self.bind(name, Ty::Sum(*id), Exp::Local(*local)), *id),
            Slot::Array { elem, data, owner, dims } => {
                let data = self.bind(name, Ty::Data(*elem), Exp::Local(*data));
                let unshared = self.unshared.contains(owner);
                let owner = self.bind(&format!("{name}_owner"), Ty::Owner, Exp::Local(*owner));
                if let (Exp::Local(owner), true) = (&owner, unshared) {
                    self.unshared.insert(*owner);
                }
                let mut sizes = Vec::new();
                for dim in dims {
                    sizes.push(match dim {
                        SlotDim::Fixed(exp) => exp.clone(),
                        SlotDim::Varying(local) => {
                            let dim = self.local(&format!("{name}_n"), Ty::Prim(Prim::I64));
                            self.push(Stm::Let(dim, Exp::Local(*local)));
                            self.not_negative.insert(dim);
                            Exp::Local(dim)
                        }
                    });
                }
                Value::Array(Array { elem: *elem, data, owner, dims: sizes, strides: None })
            }
        }
    }

    /// Puts values into slots, all at once.
    pub(crate) fn assign_slots(&mut self, slots: &[Slot], values: &[Value]) {
        let pairs: Vec<(Local, Exp)> = slots.iter().zip(values).flat_map(|(slot, value)| assignments(slot, value)).collect();
        if let [(local, exp)] = pairs.as_slice() {
            self.push(Stm::Assign(*local, exp.clone()));
            return;
        }
        // What is read may be what another assignment writes, but only if it is a slot itself.
        let written: Vec<Local> = pairs.iter().map(|(local, _)| *local).collect();
        let mut ready = Vec::new();
        for (local, exp) in pairs {
            if exp == Exp::Local(local) {
                continue;
            }
            let mut clashes = false;
            exp.for_each_local(&mut |used| clashes |= written.contains(&used));
            let exp = match clashes {
                true => {
                    let ty = self.type_of(&Exp::Local(local));
                    self.bind("next", ty, exp)
                }
                false => exp,
            };
            ready.push((local, exp));
        }
        ready.into_iter().for_each(|(local, exp)| self.push(Stm::Assign(local, exp)));
    }

    // Spaces

    fn bounds_of(&mut self, space: &[Axis]) -> Vec<Exp> {
        space
            .iter()
            .map(|axis| {
                let size = self.scalar(&axis.size);
                self.extent(&size)
            })
            .collect()
    }

    /// Opens a loop per axis; returns the indices.
    fn open_space(&mut self, space: &[Axis], bounds: &[Exp]) -> Vec<Exp> {
        let mut indices = Vec::new();
        for (axis, bound) in space.iter().zip(bounds) {
            let name = self.var_name(axis.var);
            let index = self.open_loop(&name, Prim::I64, bound.clone());
            self.set(axis.var, Value::Scalar(Exp::Local(index)));
            indices.push(Exp::Local(index));
        }
        indices
    }

    fn close_space(&mut self, space: &[Axis], innermost: Mark, independent: Option<Vec<(Combine, Local)>>) {
        let (mut mark, mut independent) = (innermost, independent);
        for number in (0..space.len()).rev() {
            let outermost = if number == 0 { independent.take() } else { None };
            self.close_loop(std::mem::replace(&mut mark, Mark::Sequential), outermost);
        }
    }

    // Forms

    /// Forms over one space, side by side, in one loop.
    pub(super) fn together(&mut self, members: &'p [Statement], stored: impl Fn(chadwick_core::Var) -> bool) {
        let Some(space) = members.first().and_then(|first| space_of(&first.op)) else { return };
        let bounds = self.bounds_of(space);
        let mut open: Vec<Open<'p>> = Vec::new();
        for member in members {
            self.enter(member.span);
            open.push(self.begin(members, member, &bounds, &stored));
        }
        let indices = self.open_space(space, &bounds);
        let position =
            indices.iter().zip(&bounds).fold(Exp::i64(0), |at, (index, bound)| at.mul(bound.clone()).add(index.clone()));
        let position = self.size_local("at", position);
        let mut mark = Mark::Independent;
        for (member, open) in members.iter().zip(&open) {
            self.enter(member.span);
            for (axis, index) in space_of(&member.op).unwrap_or_default().iter().zip(&indices) {
                self.set(axis.var, Value::Scalar(index.clone()));
            }
            mark = self.step(member, open, &indices, &position, mark);
        }
        let independent = self.totals(&open);
        self.close_space(space, mark, independent);
        for binder in members.iter().flat_map(|member| &member.binders) {
            self.forwards.remove(&binder.var);
        }
        for (member, open) in members.iter().zip(open) {
            self.finish(member, open, &bounds);
        }
    }

    /// What must exist before the loop of a form.
    fn begin(
        &mut self,
        members: &'p [Statement],
        member: &'p Statement,
        bounds: &[Exp],
        stored: &impl Fn(chadwick_core::Var) -> bool,
    ) -> Open<'p> {
        let live = self.live;
        let empty = Deaths::default();
        let deaths = live.deaths(member).unwrap_or(&empty);
        match &member.op {
            Op::Build { space, body, inner } => {
                let formed = self.products_ahead(space, body);
                let mut stated = inner.iter();
                let (mut collectors, mut with_values) = (Vec::new(), Vec::new());
                for binder in &member.binders {
                    let holds_values = !is_unit(&binder.ty, bounds.len());
                    let sizes: &[Size] = match holds_values {
                        true => stated.next().map_or(&[], Vec::as_slice),
                        false => &[],
                    };
                    if holds_values {
                        if let Some(result) = body.results.get(with_values.len())
                            && stored(binder.var)
                        {
                            self.name_heir(members, member, binder, result);
                        }
                        with_values.push(collectors.len());
                    }
                    collectors.push(match stored(binder.var) {
                        true => {
                            let collector = self.collect(binder, Some(bounds.to_vec()), bounds.len(), sizes);
                            // Later members may look at rows that are complete.
                            if let Some(array) = collector.ready() {
                                self.set(binder.var, Value::Array(array));
                            }
                            Some(collector)
                        }
                        false => None,
                    });
                }
                Open::Build { collectors, with_values, formed }
            }
            Op::Reduce { op, neutral, .. } => {
                if let (Some((combine, prim_op)), [neutral], [binder]) =
                    (simple_operator(op), neutral.as_slice(), member.binders.as_slice())
                {
                    let start = self.scalar(neutral);
                    let name = self.var_name(binder.var);
                    let total = self.local(&name, Ty::Prim(prim_op.result()));
                    self.push(Stm::Let(total, start));
                    let a_number = matches!(neutral, Atom::Const(constant) if !is_nan(*constant));
                    return Open::Total { total, combine, op: prim_op, a_number };
                }
                let mut uses = self.statement_uses(member, deaths);
                Open::Fold(self.fold_slots(op, neutral, &mut uses))
            }
            Op::Scan { .. } => self.begin_scan(member, bounds, deaths, stored),
            _ => Open::Fold(Vec::new()),
        }
    }

    /// One iteration of a form; returns what is known about the loop so far.
    fn step(&mut self, member: &'p Statement, open: &Open<'p>, indices: &[Exp], position: &Exp, mark: Mark) -> Mark {
        let live = self.live;
        let empty = Deaths::default();
        let deaths = live.deaths(member).unwrap_or(&empty);
        match (&member.op, open) {
            (Op::Build { body, .. }, Open::Build { collectors, with_values, .. }) => {
                self.release_roots(at_entry(deaths, 0));
                for (number, result) in with_values.iter().zip(&body.results) {
                    if let Some(collector) = &collectors[*number] {
                        self.offer_row(collector, position, result, body);
                    }
                }
                self.statements(body);
                let mut uses = self.result_uses(body);
                // An element that does not fit is wrong where it comes from.
                let outer_span = self.span;
                self.span = body.statements.last().map_or(outer_span, |last| last.span);
                for (number, result) in with_values.iter().zip(&body.results) {
                    if let Value::Scalar(exp) = self.value(result) {
                        self.forwards.insert(member.binders[*number].var, (indices.to_vec(), exp));
                    }
                    if let Some(collector) = &collectors[*number] {
                        self.collect_element(collector, position, result, &mut uses);
                    }
                }
                self.span = outer_span;
                self.end_block(body);
                mark
            }
            (Op::Reduce { body, .. }, Open::Total { total, combine, op, a_number }) => {
                self.release_roots(at_entry(deaths, 0));
                self.statements(body);
                let element = body.results.first().map_or(Exp::i64(0), |element| self.scalar(element));
                let element = self.simple(element);
                let next = match a_number {
                    true => combined(*op, Exp::Local(*total), element),
                    false => Exp::Prim(*op, vec![Exp::Local(*total), element]),
                };
                self.push(Stm::Assign(*total, next));
                self.end_block(body);
                let exact = may_reorder(op.result(), self.shared.strict);
                match (combine, mark) {
                    (Some(combine), Mark::Independent) if exact => Mark::Reduction(vec![(*combine, *total)]),
                    (Some(combine), Mark::Reduction(mut all)) if exact => {
                        all.push((*combine, *total));
                        Mark::Reduction(all)
                    }
                    _ => Mark::Sequential,
                }
            }
            (Op::Reduce { op, body, .. }, Open::Fold(slots)) => {
                self.fold_step(op, body, deaths, slots);
                Mark::Sequential
            }
            (Op::Scan { op, body, .. }, Open::Scan { arrays, slots }) => {
                self.fold_step(op, body, deaths, slots);
                self.scan_step(member, arrays, slots, indices);
                match (prefix_operator(op, self.shared.strict), slots.as_slice(), mark) {
                    (Some(combine), [Slot::Scalar(total)], Mark::Independent) => Mark::Prefixes(combine, *total),
                    _ => Mark::Sequential,
                }
            }
            _ => Mark::Sequential,
        }
    }

    /// The totals of forms side by side, if those are all that connects their iterations.
    fn totals(&self, open: &[Open<'p>]) -> Option<Vec<(Combine, Local)>> {
        let mut totals = Vec::new();
        for open in open {
            match open {
                Open::Build { .. } => {}
                Open::Total { total, combine: Some(combine), op, a_number } if may_reorder(op.result(), self.shared.strict) => {
                    let extreme = matches!(combine, Combine::Minimum | Combine::Maximum);
                    if extreme && op.result().is_float() && !a_number {
                        return None;
                    }
                    totals.push((*combine, *total));
                }
                _ => return None,
            }
        }
        Some(totals)
    }

    fn finish(&mut self, member: &'p Statement, open: Open<'p>, bounds: &[Exp]) {
        match open {
            Open::Build { collectors, formed, .. } => {
                formed.into_iter().for_each(|array| self.release(&Value::Array(array)));
                for (binder, collector) in member.binders.iter().zip(collectors) {
                    let array = match collector {
                        Some(collector) => self.collected(collector),
                        None => only_sizes(bounds),
                    };
                    self.set(binder.var, Value::Array(array));
                }
            }
            Open::Total { total, .. } => {
                if let Some(binder) = member.binders.first() {
                    self.set(binder.var, Value::Scalar(Exp::Local(total)));
                }
            }
            Open::Fold(slots) => {
                for (binder, slot) in member.binders.iter().zip(&slots) {
                    let value = slot_value(slot);
                    self.set(binder.var, value);
                }
            }
            Open::Scan { arrays, slots } => {
                for slot in &slots {
                    let value = slot_value(slot);
                    self.release(&value);
                }
                for (binder, array) in member.binders.iter().zip(arrays) {
                    let array = array.unwrap_or_else(|| only_sizes(bounds));
                    self.set(binder.var, Value::Array(array));
                }
            }
        }
    }

    fn fold_slots(&mut self, op: &Lambda, neutral: &[Atom], uses: &mut Uses) -> Vec<Slot> {
        let mut slots = Vec::new();
        for (atom, param) in neutral.iter().zip(&op.params) {
            let value = self.take_row_major(atom, uses);
            let name = self.var_name(param.var);
            slots.push(self.slot(&format!("{name}_acc"), &value, true));
        }
        slots
    }

    /// One element: the body, then the operator on the slots and what the body gave.
    fn fold_step(&mut self, op: &'p Lambda, body: &'p Block, deaths: &Deaths, slots: &[Slot]) {
        self.release_roots(at_entry(deaths, 0));
        self.statements(body);
        let mut uses = self.result_uses(body);
        let (left, right) = op.params.split_at(slots.len().min(op.params.len()));
        for (param, result) in right.iter().zip(&body.results) {
            let value = self.take(result, &mut uses);
            self.set(param.var, value);
        }
        self.end_block(body);
        for (param, slot) in left.iter().zip(slots) {
            let name = self.var_name(param.var);
            let value = self.read_slot(&name, slot);
            self.set(param.var, value);
        }
        self.release_roots(at_entry(deaths, 1));
        self.statements(&op.body);
        let mut uses = self.result_uses(&op.body);
        let mut values = Vec::new();
        for (result, slot) in op.body.results.iter().zip(slots) {
            let value = self.take_row_major(result, &mut uses);
            if let (Value::Array(array), Slot::Array { dims, .. }) = (&value, slot) {
                let wanted: Vec<Exp> = dims.iter().map(slot_dim).collect();
                self.check_shapes(&array.dims, &wanted, FailKind::Operator);
            }
            values.push(value);
        }
        self.end_block(&op.body);
        self.assign_slots(slots, &values);
    }

    /// The arrays of a scan that are stored, and the running values.
    fn begin_scan(
        &mut self,
        member: &'p Statement,
        bounds: &[Exp],
        deaths: &Deaths,
        stored: &impl Fn(chadwick_core::Var) -> bool,
    ) -> Open<'p> {
        let Op::Scan { op, neutral, .. } = &member.op else { return Open::Fold(Vec::new()) };
        let mut uses = self.statement_uses(member, deaths);
        let mut arrays = Vec::new();
        for (binder, neutral) in member.binders.iter().zip(neutral) {
            if !stored(binder.var) {
                arrays.push(None);
                continue;
            }
            let inner = match self.value(neutral) {
                Value::Array(array) => array.dims,
                _ => Vec::new(),
            };
            let elem = match &binder.ty {
                Type::Array(array) => self.shared.layouts.elem(array),
                _ => Elem::Unit,
            };
            let name = self.var_name(binder.var);
            let dims = [bounds.to_vec(), inner].concat();
            let array = self.new_array(binder.var, &name, elem, dims);
            // Later members may look at elements that are there.
            self.set(binder.var, Value::Array(array.clone()));
            arrays.push(Some(array));
        }
        Open::Scan { arrays, slots: self.fold_slots(op, neutral, &mut uses) }
    }

    /// Writes the running values to their place.
    fn scan_step(&mut self, member: &'p Statement, arrays: &[Option<Array>], slots: &[Slot], indices: &[Exp]) {
        for ((binder, array), slot) in member.binders.iter().zip(arrays).zip(slots) {
            let value = slot_value(slot);
            if let Value::Scalar(exp) = &value {
                // By a name that stays when the next element is there.
                let ty = self.type_of(exp);
                let now = self.bind("prefix", ty, exp.clone());
                self.forwards.insert(binder.var, (indices.to_vec(), now));
            }
            match (array, &value) {
                (None, _) => {}
                (Some(array), Value::Array(row)) => {
                    let part = self.part("row", array, indices);
                    self.copy_elements(&part, row);
                }
                (Some(array), value) => {
                    self.retain(value);
                    let at = self.offset(array, indices);
                    let value = super::arrays::scalar_of(value);
                    self.push(Stm::Store { data: array.data.clone(), at, value });
                }
            }
        }
    }

    fn targets(&mut self, statement: &Statement, dest: &[Atom], uses: &mut Uses) -> Vec<Array> {
        let mut targets = Vec::new();
        for (binder, dest) in statement.binders.iter().zip(dest) {
            let name = self.var_name(binder.var);
            targets.push(self.make_unique(&name, dest, uses));
        }
        targets
    }

    /// Whether the indices are outside the array.
    fn outside(&self, array: &Array, indices: &[Exp]) -> Exp {
        let tests = indices.iter().zip(&array.dims).map(|(index, dim)| Exp::test(Test::Outside, index.clone(), dim.clone()));
        tests.reduce(Exp::or).unwrap_or(Exp::Const(Const::Bool(false)))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of the form")]
    pub(super) fn hist(
        &mut self,
        statement: &'p Statement,
        space: &'p [Axis],
        dest: &[Atom],
        rank: usize,
        op: &'p Lambda,
        body: &'p Block,
        deaths: &Deaths,
    ) {
        let mut uses = self.statement_uses(statement, deaths);
        let bounds = self.bounds_of(space);
        let results = self.targets(statement, dest, &mut uses);
        // Sums may be collected in any order.
        let sums = matches!(simple_operator(op), Some((Some(Combine::Add), _)));
        let mut targets = results.clone();
        if sums {
            for (binder, target) in statement.binders.iter().zip(&mut targets) {
                *target = self.only_added_to(&self.var_name(binder.var), target);
            }
        }
        self.open_space(space, &bounds);
        self.release_roots(at_entry(deaths, 0));
        self.statements(body);
        let mut uses = self.result_uses(body);
        let (indices, values) = body.results.split_at(rank.min(body.results.len()));
        let indices: Vec<Exp> = indices.iter().map(|index| self.scalar(index)).collect();
        let (left, right) = op.params.split_at(targets.len().min(op.params.len()));
        let mut given = Vec::new();
        for (param, value) in right.iter().zip(values) {
            let value = self.take(value, &mut uses);
            self.set(param.var, value.clone());
            given.push(value);
        }
        self.end_block(body);
        let Some(first) = targets.first() else {
            self.close_space(space, Mark::Sequential, None);
            return;
        };
        let condition = Exp::Not(Box::new(self.outside(first, &indices)));
        self.open_branch();
        for (param, target) in left.iter().zip(&targets) {
            let old = match indices.len() == target.dims.len() {
                // The operator owns its operands; this one is a copy of a reference that stays in the array.
                true => {
                    let value = self.load(target, &indices);
                    self.retain(&value);
                    value
                }
                false => {
                    let part = self.part("old", target, &indices);
                    Value::Array(self.compact(&part))
                }
            };
            self.set(param.var, old);
        }
        self.release_roots(at_entry(deaths, 1));
        self.statements(&op.body);
        let mut uses = self.result_uses(&op.body);
        for (target, result) in targets.iter().zip(&op.body.results) {
            self.write_result(target, &indices, result, &mut uses);
        }
        self.end_block(&op.body);
        let then = self.close_branch();
        self.open_branch();
        given.iter().for_each(|value| self.release(value));
        let otherwise = self.close_branch();
        self.push(Stm::If { condition, then, otherwise });
        self.close_space(space, Mark::Sequential, sums.then(Vec::new));
        for (binder, target) in statement.binders.iter().zip(results) {
            self.set(binder.var, Value::Array(target));
        }
    }

    /// Replaces an element or a part by a result.
    fn write_result(&mut self, target: &Array, indices: &[Exp], result: &Atom, uses: &mut Uses) {
        match self.value(result) {
            Value::Array(from) => {
                self.pass_by(result, uses);
                let part = self.part("part", target, indices);
                self.check_shapes(&from.dims, &part.dims, FailKind::Write);
                self.overwrite_elements(&part, &from);
            }
            _ => {
                let value = self.take(result, uses);
                self.replace_element(target, indices, &value);
            }
        }
    }

    pub(super) fn scatter(
        &mut self,
        statement: &'p Statement,
        space: &'p [Axis],
        dest: &[Atom],
        rank: usize,
        body: &'p Block,
        deaths: &Deaths,
    ) {
        let mut uses = self.statement_uses(statement, deaths);
        let bounds = self.bounds_of(space);
        let targets = self.targets(statement, dest, &mut uses);
        self.open_space(space, &bounds);
        self.release_roots(at_entry(deaths, 0));
        self.statements(body);
        let mut uses = self.result_uses(body);
        let (indices, values) = body.results.split_at(rank.min(body.results.len()));
        let indices: Vec<Exp> = indices.iter().map(|index| self.scalar(index)).collect();
        if let Some(first) = targets.first() {
            let condition = Exp::Not(Box::new(self.outside(first, &indices)));
            self.open_branch();
            for (target, result) in targets.iter().zip(values) {
                match self.value(result) {
                    Value::Array(_) => self.write_result(target, &indices, result, &mut uses),
                    value => {
                        // Taken only where it is written; what dies is released behind the branch.
                        self.retain(&value);
                        self.replace_element(target, &indices, &value);
                    }
                }
            }
            let then = self.close_branch();
            self.push(Stm::If { condition, then, otherwise: Vec::new() });
        }
        self.end_block(body);
        self.close_space(space, Mark::Sequential, None);
        for (binder, target) in statement.binders.iter().zip(targets) {
            self.set(binder.var, Value::Array(target));
        }
    }
}

/// The operation on a total that is a number: the smaller or larger of two needs one comparison if the first is not NaN, and then the
/// result is not NaN either.
fn combined(op: PrimOp, total: Exp, element: Exp) -> Exp {
    let less = |a: &Exp, b: &Exp, prim| Box::new(Exp::Prim(PrimOp::Compare(CompareOp::Less, prim), vec![a.clone(), b.clone()]));
    match op {
        PrimOp::Binary(BinaryOp::Min, prim @ (Prim::F32 | Prim::F64)) => {
            Exp::Select(less(&element, &total, prim), Box::new(element), Box::new(total))
        }
        PrimOp::Binary(BinaryOp::Max, prim @ (Prim::F32 | Prim::F64)) => {
            Exp::Select(less(&total, &element, prim), Box::new(element), Box::new(total))
        }
        op => Exp::Prim(op, vec![total, element]),
    }
}

fn is_nan(constant: Const) -> bool {
    match constant {
        Const::F16(x) => x.is_nan(),
        Const::F32(x) => x.is_nan(),
        Const::F64(x) => x.is_nan(),
        _ => false,
    }
}

/// An array of which only the sizes are asked for.
fn only_sizes(bounds: &[Exp]) -> Array {
    Array { elem: Elem::Unit, data: Exp::Null, owner: Exp::Null, dims: bounds.to_vec(), strides: None }
}

fn space_of(op: &Op) -> Option<&[Axis]> {
    match op {
        Op::Build { space, .. } | Op::Reduce { space, .. } => Some(space),
        Op::Scan { axis, .. } => Some(std::slice::from_ref(axis)),
        _ => None,
    }
}

pub(crate) fn at_entry(deaths: &Deaths, block: usize) -> &[chadwick_core::Var] {
    deaths.at_entry.get(block).map_or(&[], Vec::as_slice)
}

/// Whether an array over so many axes holds nothing but units.
fn is_unit(ty: &Type, axes: usize) -> bool {
    match ty {
        Type::Array(array) => array.element == chadwick_core::Element::Unit && array.dims.len() == axes,
        _ => false,
    }
}

pub(crate) fn slot_dim(dim: &SlotDim) -> Exp {
    match dim {
        SlotDim::Fixed(exp) => exp.clone(),
        SlotDim::Varying(local) => Exp::Local(*local),
    }
}

/// What is in a slot that changes no more.
pub(crate) fn slot_value(slot: &Slot) -> Value {
    match slot {
        Slot::Scalar(local) => Value::Scalar(Exp::Local(*local)),
        Slot::Sum(local, id) => Value::Sum(Exp::Local(*local), *id),
        Slot::Array { elem, data, owner, dims } => Value::Array(Array {
            elem: *elem,
            data: Exp::Local(*data),
            owner: Exp::Local(*owner),
            dims: dims.iter().map(slot_dim).collect(),
            strides: None,
        }),
    }
}

fn assignments(slot: &Slot, value: &Value) -> Vec<(Local, Exp)> {
    match (slot, value) {
        (Slot::Scalar(local), Value::Scalar(exp)) | (Slot::Sum(local, _), Value::Sum(exp, _)) => vec![(*local, exp.clone())],
        (Slot::Array { data, owner, dims, .. }, Value::Array(array)) => {
            let mut pairs = vec![(*data, array.data.clone()), (*owner, array.owner.clone())];
            for (dim, size) in dims.iter().zip(&array.dims) {
                if let SlotDim::Varying(local) = dim {
                    pairs.push((*local, size.clone()));
                }
            }
            pairs
        }
        _ => Vec::new(),
    }
}

/// The operator of a scan that can run in vectors.
pub(crate) fn prefix_operator(op: &Lambda, strict: bool) -> Option<Combine> {
    let (combine, prim_op) = simple_operator(op)?;
    let fits = matches!(combine, Some(Combine::Add | Combine::Multiply)) && may_reorder(prim_op.result(), strict);
    combine.filter(|_| fits)
}

/// The operator if it is one primitive operation on its parameters in order, and how partial results combine.
pub(crate) fn simple_operator(op: &Lambda) -> Option<(Option<Combine>, PrimOp)> {
    let ([left, right], [statement], [Atom::Var(result)]) =
        (op.params.as_slice(), op.body.statements.as_slice(), op.body.results.as_slice())
    else {
        return None;
    };
    let (Op::Prim(prim_op @ PrimOp::Binary(binary, prim), args), [binder]) = (&statement.op, statement.binders.as_slice()) else {
        return None;
    };
    let in_order = args.as_slice() == [Atom::Var(left.var), Atom::Var(right.var)];
    if binder.var != *result || !in_order {
        return None;
    }
    let combine = match binary {
        BinaryOp::Add => Some(Combine::Add),
        BinaryOp::Mul => Some(Combine::Multiply),
        BinaryOp::And => Some(Combine::And),
        BinaryOp::Or => Some(Combine::Or),
        BinaryOp::Xor if *prim != Prim::Bool => Some(Combine::Xor),
        BinaryOp::Min => Some(Combine::Minimum),
        BinaryOp::Max => Some(Combine::Maximum),
        _ => return None,
    };
    Some((combine, *prim_op))
}
