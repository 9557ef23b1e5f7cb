//! Scalars, branches, sums, loops and calls.

use super::collect::Collector;
use super::forms::{Slot, SlotDim, at_entry, slot_value};
use super::record::Record;
use super::{Array, Destination, Emitter, Fact, FrameKind, Handle, Value};
use crate::SiteKind;
use crate::ir::*;
use crate::liveness::Deaths;
use chadwick_core::{
    Arm, Atom, BinaryOp, Binder, Block, CompareOp, Const, CustomKind, FunctionId, Loop, LoopForm, MessagePart, Op, Prim, PrimOp,
    Statement, Type, UnaryOp, Var,
};
use rustc_hash::FxHashSet;

/// A branch that has been emitted, and its results, which have references of their own.
struct Branch {
    stms: Vec<Stm>,
    values: Vec<Value>,
}

/// What to undo when a loop must be emitted again.
struct Checkpoint {
    locals: usize,
    stms: usize,
    before: Vec<usize>,
    facts: Vec<Fact>,
    /// Where the facts of each open frame begin.
    facts_of_frames: Vec<usize>,
    unshared: FxHashSet<Local>,
    kept: FxHashSet<Var>,
    line: String,
}

/// What a loop keeps of its iterations, and which of them this is.
struct Recorded<'a, 'p> {
    collectors: &'a [Collector<'p>],
    records: &'a [Record],
    position: &'a Exp,
}

/// What is supposed of an array that a loop carries until its body shows otherwise.
#[derive(Clone, Copy)]
struct Carried {
    /// It keeps its sizes.
    fixed: bool,
    /// There is only one reference to it at the start of every iteration.
    unshared: bool,
}

impl<'p> Emitter<'_, 'p> {
    pub(super) fn operation(&mut self, statement: &'p Statement, deaths: &Deaths) {
        let binders = &statement.binders;
        if let ([binder], Op::Prim(..) | Op::If { .. }) = (binders.as_slice(), &statement.op)
            && binder.ty == Type::BOOL
        {
            self.conditions.insert(binder.var, &statement.op);
        }
        match &statement.op {
            Op::Copy(atoms) => {
                for (binder, atom) in binders.iter().zip(atoms) {
                    let value = self.value(atom);
                    self.set(binder.var, value);
                }
            }
            Op::Prim(op, args) => self.prim(binders, *op, args),
            Op::If { condition, then, otherwise } => self.conditional(binders, condition, then, otherwise, deaths),
            Op::Call { function, args } => self.call(statement, *function, args, deaths),
            Op::Construct { ty, tag, args } => self.construct(statement, ty, *tag, args, deaths),
            Op::Match { scrutinee, arms, otherwise } => self.matching(binders, scrutinee, arms, otherwise.as_ref(), deaths),
            // Emitted in groups.
            Op::Build { .. } | Op::Reduce { .. } | Op::Scan { .. } => {}
            Op::Hist { space, dest, rank, op, body, .. } => self.hist(statement, space, dest, *rank, op, body, deaths),
            Op::Scatter { space, dest, rank, body } => self.scatter(statement, space, dest, *rank, body, deaths),
            Op::ArrayLiteral { ty, elements, inner } => {
                let mut uses = self.statement_uses(statement, deaths);
                if let Some(binder) = binders.first() {
                    self.literal(binder, ty, elements, inner, &mut uses);
                }
            }
            Op::Index { array, indices } => self.index(binders, array, indices),
            Op::Slice { array, dims } => self.slice(binders, array, dims),
            Op::Update { array, dims, value } => {
                let mut uses = self.statement_uses(statement, deaths);
                self.update(statement, array, dims, value, &mut uses);
            }
            Op::Transpose { array, permutation } => self.transpose(binders, array, permutation),
            Op::Reshape { array, dims } => {
                let mut uses = self.statement_uses(statement, deaths);
                self.reshape(binders, array, dims, &mut uses);
            }
            Op::Concat { arrays } => self.concat(binders, arrays),
            Op::Dim { array, axis } => {
                let size = self.array(array).dims.get(*axis).cloned().unwrap_or(Exp::i64(0));
                if let Some(binder) = binders.first() {
                    self.set(binder.var, Value::Scalar(size));
                }
            }
            Op::Loop(the_loop) => self.repeat(statement, the_loop, deaths),
            Op::Assert { condition, message } => self.assertion(condition, message),
            Op::Par { left, right } if takes_long(left) && takes_long(right) => {
                let mut first = [self.branch(left, at_entry(deaths, 0), |_| {})];
                let mut second = [self.branch(right, at_entry(deaths, 1), |_| {})];
                let (own, others) = binders.split_at(left.results.len().min(binders.len()));
                self.join(own, &mut first);
                self.join(others, &mut second);
                let [left, right] = [first, second].map(|[branch]| branch.stms);
                self.push(Stm::Fork(Box::new(Fork { left, right, connections: None })));
            }
            Op::Par { left, right } => {
                self.release_roots(at_entry(deaths, 0));
                let mut values = self.inline(left);
                self.release_roots(at_entry(deaths, 1));
                values.extend(self.inline(right));
                self.set_all(binders, values);
            }
            Op::Recompute(block) => {
                self.release_roots(at_entry(deaths, 0));
                let values = self.inline(block);
                self.set_all(binders, values);
            }
            Op::Custom(it) => {
                for (param, arg) in it.function.params.iter().zip(&it.args) {
                    let value = self.value(arg);
                    self.set(param.var, value);
                }
                self.release_roots(at_entry(deaths, 0));
                let mut values = self.inline(&it.function.body);
                if let CustomKind::VjpTape { tape } = it.kind {
                    let rest = values.split_off(tape.min(values.len()));
                    values.iter().for_each(|value| self.release(value));
                    values = rest;
                }
                self.set_all(binders, values);
            }
            Op::Trace { tag, args } => {
                let types = args.iter().map(|arg| self.atom_type(arg)).collect();
                let site = self.new_site(SiteKind::Trace(tag.clone(), types));
                for (binder, arg) in binders.iter().zip(args) {
                    let value = self.value(arg);
                    self.write(&value, arg);
                    self.set(binder.var, value);
                }
                self.push(Stm::Trace(site));
            }
            Op::WithAccumulators { handles, init, body } => self.with_accumulators(statement, handles, init, body, deaths),
            Op::Accumulate { handle, path, value } => self.accumulate(handle, path, value),
            Op::WithLog { handle, start, body } => self.with_log(statement, handle, start, body, deaths),
            Op::Log { handle, indices, values } => self.append(statement, handle, indices, values, deaths),
            // Gone before this stage.
            Op::Closure(_) | Op::Apply { .. } | Op::Differentiate(_) => {
                let site = self.site();
                let condition = Exp::Const(Const::Bool(true));
                self.push(Stm::Fail { condition, kind: FailKind::Assertion, values: Vec::new(), site });
            }
        }
    }

    fn set_all(&mut self, binders: &[Binder], values: Vec<Value>) {
        for (binder, value) in binders.iter().zip(values) {
            self.set(binder.var, value);
        }
    }

    /// The statements of a block here; its results, taken.
    pub(super) fn inline(&mut self, block: &'p Block) -> Vec<Value> {
        self.statements(block);
        let mut uses = self.result_uses(block);
        let values = block.results.iter().map(|result| self.take(result, &mut uses)).collect();
        self.end_block(block);
        values
    }

    /// A statement that reads an element or computes a number.
    pub(super) fn arithmetic(&mut self, statement: &Statement) {
        match &statement.op {
            Op::Index { array, indices } => self.index(&statement.binders, array, indices),
            Op::Prim(op, args) => self.prim(&statement.binders, *op, args),
            _ => unreachable!("operands are made by reading and computing"),
        }
    }

    fn prim(&mut self, binders: &[Binder], op: PrimOp, args: &[Atom]) {
        let exps: Vec<Exp> = args.iter().map(|arg| self.scalar(arg)).collect();
        if let (Some(binder), Some(value)) = (binders.first(), self.wrapped(op, &exps)) {
            self.set(binder.var, Value::Scalar(value));
            return;
        }
        if let (PrimOp::Binary(binary, prim), [_, right]) = (op, exps.as_slice())
            && prim.is_integer()
        {
            let zero = Exp::Const(Const::zero(prim));
            let check = match binary {
                BinaryOp::Div | BinaryOp::Mod | BinaryOp::Quot | BinaryOp::Rem => Some((Test::Equal, FailKind::DivisionByZero)),
                BinaryOp::Pow if prim.is_signed() => Some((Test::Less, FailKind::NegativeExponent)),
                _ => None,
            };
            let safe = matches!(right, Exp::Const(constant) if *constant != Const::zero(prim) && !starts_negative(*constant));
            if let Some((test, kind)) = check
                && !safe
            {
                self.check_outside(Exp::test(test, right.clone(), zero), kind);
            }
        }
        let Some(binder) = binders.first() else { return };
        let name = self.var_name(binder.var);
        let exp = match self.ordered(op, &exps) {
            Some(ordered) => Exp::Prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), ordered.to_vec()),
            None => Exp::Prim(op, exps.clone()),
        };
        let value = self.bind(&name, Ty::Prim(op.result()), exp);
        if let Exp::Local(local) = value {
            self.note_sum(local, op, &exps);
        }
        self.set(binder.var, Value::Scalar(value));
    }

    fn assertion(&mut self, condition: &Atom, message: &[MessagePart]) {
        if matches!(condition, Atom::Const(Const::Bool(true))) {
            return;
        }
        let site = self.assertion_site(message);
        let fails = Exp::Not(Box::new(self.scalar(condition)));
        self.open_branch();
        for part in message {
            if let MessagePart::Value(atom) = part {
                let value = self.value(atom);
                self.write(&value, atom);
            }
        }
        let kind = FailKind::Assertion;
        self.push(Stm::Fail { condition: Exp::Const(Const::Bool(true)), kind, values: Vec::new(), site });
        let then = self.close_branch();
        self.push(Stm::If { condition: fails, then, otherwise: Vec::new() });
        self.learn(condition, true);
    }

    /// Writes a value to the stream for the host.
    fn write(&mut self, value: &Value, atom: &Atom) {
        let core_type = self.atom_type(atom);
        let ty = self.shared.layouts.ty(&core_type);
        match value {
            Value::Scalar(exp) | Value::Sum(exp, _) => self.push(Stm::Write(exp.clone(), ty)),
            Value::Array(array) => {
                let (array, copied) = match array.strides {
                    None => (array.clone(), false),
                    Some(_) => (self.compact(array), true),
                };
                let exp = whole(&array);
                self.push(Stm::Write(exp, ty));
                if copied {
                    self.release(&Value::Array(array));
                }
            }
            Value::Handle(_) => {}
        }
    }

    // Branches

    fn branch(&mut self, block: &'p Block, entry: &[Var], prepare: impl FnOnce(&mut Self)) -> Branch {
        self.open_branch();
        prepare(self);
        self.release_roots(entry);
        let values = self.inline(block);
        Branch { stms: self.close_branch(), values }
    }

    fn conditional(&mut self, binders: &[Binder], condition: &Atom, then: &'p Block, otherwise: &'p Block, deaths: &Deaths) {
        let destinations: Vec<Option<Destination>> = binders.iter().map(|binder| self.destinations.remove(&binder.var)).collect();
        let mut branches = [(then, true), (otherwise, false)].map(|(block, truth)| {
            self.branch(block, at_entry(deaths, usize::from(!truth)), |emitter| {
                emitter.learn(condition, truth);
                emitter.offer_to_branch(&destinations, block);
            })
        });
        let condition = self.scalar(condition);
        // Where both sides are a few cheap operations that cannot fail, both are done and one is chosen: loops stay straight.
        let work: usize = branches.iter().flat_map(|branch| &branch.stms).map(speculative_work).sum();
        let scalars = |branch: &Branch| branch.values.iter().all(|value| matches!(value, Value::Scalar(_)));
        if work <= MOST_SPECULATED && branches.iter().all(scalars) {
            for branch in &mut branches {
                std::mem::take(&mut branch.stms).into_iter().for_each(|stm| self.push(stm));
            }
            for (number, binder) in binders.iter().enumerate() {
                let [left, right] = [0, 1].map(|branch: usize| match branches[branch].values.get(number) {
                    Some(Value::Scalar(exp)) => exp.clone(),
                    _ => Exp::i64(0),
                });
                let name = self.var_name(binder.var);
                let ty = self.type_of(&left);
                let exp = Exp::Select(Box::new(condition.clone()), Box::new(left), Box::new(right));
                let value = self.bind(&name, ty, exp);
                self.set(binder.var, Value::Scalar(value));
            }
            return;
        }
        self.join(binders, &mut branches);
        let mut lists = branches.into_iter().map(|branch| branch.stms);
        let (then, otherwise) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
        self.push(Stm::If { condition, then, otherwise });
    }

    /// Gives every binder locals that each branch sets at its end.
    fn join(&mut self, binders: &[Binder], branches: &mut [Branch]) {
        for (number, binder) in binders.iter().enumerate() {
            let name = self.var_name(binder.var);
            let values: Vec<Value> = branches.iter().filter_map(|branch| branch.values.get(number).cloned()).collect();
            let Some(first) = values.first() else { continue };
            let value = match first {
                Value::Scalar(exp) => {
                    let local = self.declare(&name, self.type_of(exp));
                    for (branch, value) in branches.iter_mut().zip(&values) {
                        branch.stms.push(Stm::Assign(local, super::arrays::scalar_of(value)));
                    }
                    Value::Scalar(Exp::Local(local))
                }
                Value::Sum(_, id) => {
                    let local = self.declare(&name, Ty::Sum(*id));
                    for (branch, value) in branches.iter_mut().zip(&values) {
                        branch.stms.push(Stm::Assign(local, super::arrays::scalar_of(value)));
                    }
                    Value::Sum(Exp::Local(local), *id)
                }
                Value::Array(_) => {
                    let arrays = values.iter().filter_map(|value| match value {
                        Value::Array(array) => Some(array.clone()),
                        _ => None,
                    });
                    let arrays: Vec<Array> = arrays.collect();
                    Value::Array(self.join_arrays(&name, branches, &arrays))
                }
                Value::Handle(handle) => Value::Handle(handle.clone()),
            };
            self.set(binder.var, value);
        }
    }

    fn join_arrays(&mut self, name: &str, branches: &mut [Branch], arrays: &[Array]) -> Array {
        let first = &arrays[0];
        // All in the place that was given to them.
        let is_there = arrays.iter().all(|array| array.owner == Exp::Null && array.data == first.data);
        let (data, owner) = match is_there {
            true => (first.data.clone(), Exp::Null),
            false => {
                let (data, owner) = (self.declare(name, Ty::Data(first.elem)), self.declare(&format!("{name}_owner"), Ty::Owner));
                for (branch, array) in branches.iter_mut().zip(arrays) {
                    branch.stms.push(Stm::Assign(data, array.data.clone()));
                    branch.stms.push(Stm::Assign(owner, array.owner.clone()));
                }
                (Exp::Local(data), Exp::Local(owner))
            }
        };
        let mut dims = Vec::new();
        for axis in 0..first.dims.len() {
            let all = arrays.iter().map(|array| &array.dims[axis]);
            let visible = |exp: &Exp| {
                let mut visible = true;
                exp.for_each_local(&mut |local| visible &= self.depths[local.0 as usize] <= self.frames.len());
                visible
            };
            let shared = all.clone().find(|dim| visible(dim)).filter(|dim| all.clone().all(|other| self.same_size(dim, other)));
            if let Some(dim) = shared {
                dims.push(dim.clone());
                continue;
            }
            let local = self.declare(&format!("{name}_n{axis}"), Ty::Prim(Prim::I64));
            self.not_negative.insert(local);
            for (branch, array) in branches.iter_mut().zip(arrays) {
                branch.stms.push(Stm::Assign(local, array.dims[axis].clone()));
            }
            dims.push(Exp::Local(local));
        }
        let strides = arrays.iter().any(|array| array.strides.is_some()).then(|| {
            let locals: Vec<Local> =
                (0..first.dims.len()).map(|axis| self.declare(&format!("{name}_s{axis}"), Ty::Prim(Prim::I64))).collect();
            for (branch, array) in branches.iter_mut().zip(arrays) {
                // The strides may need statements, which belong to the branch.
                self.open_branch();
                if let Some(frame) = self.frames.last_mut() {
                    frame.stms = std::mem::take(&mut branch.stms);
                }
                let strides = self.strides(array);
                for (local, stride) in locals.iter().zip(strides) {
                    self.push(Stm::Assign(*local, stride));
                }
                branch.stms = self.close_branch();
            }
            locals.into_iter().map(Exp::Local).collect()
        });
        Array { elem: first.elem, data, owner, dims, strides }
    }

    fn declare(&mut self, name: &str, ty: Ty) -> Local {
        let local = self.local(name, ty);
        self.push(Stm::Declare(local));
        local
    }

    // Sums

    fn construct(&mut self, statement: &Statement, ty: &Type, tag: u32, args: &[Atom], deaths: &Deaths) {
        let Some(binder) = statement.binders.first() else { return };
        let mut uses = self.statement_uses(statement, deaths);
        let values: Vec<Value> = args.iter().map(|arg| self.take_row_major(arg, &mut uses)).collect();
        let id = self.shared.layouts.sum(ty);
        let name = self.var_name(binder.var);
        let local = self.local(&name, Ty::Sum(id));
        let sum = self.shared.layouts.get(id);
        let (recursive, choices) = (sum.recursive, sum.constructors.len());
        if sum.null_tag() == Some(tag as usize) {
            self.push(Stm::Let(local, Exp::Null));
            self.set(binder.var, Value::Sum(Exp::Local(local), id));
            return;
        }
        match recursive {
            true => {
                let site = self.site();
                self.push(Stm::AllocNode { node: local, sum: id, site });
            }
            false => self.push(Stm::Declare(local)),
        }
        if choices > 1 {
            let place = Exp::Tag(Box::new(Exp::Local(local)), id);
            self.push(Stm::Put { place, value: Exp::Const(Const::I32(tag as i32)) });
        }
        for (field, value) in values.iter().enumerate() {
            let place = Exp::Payload { sum: Box::new(Exp::Local(local)), id, tag, field };
            let value = match value {
                Value::Array(array) => whole(array),
                other => super::arrays::scalar_of(other),
            };
            self.push(Stm::Put { place, value });
        }
        self.set(binder.var, Value::Sum(Exp::Local(local), id));
    }

    fn matching(&mut self, binders: &[Binder], scrutinee: &Atom, arms: &'p [Arm], otherwise: Option<&'p Block>, deaths: &Deaths) {
        let Value::Sum(sum, id) = self.value(scrutinee) else { return };
        let choices = self.shared.layouts.get(id).constructors.len();
        if let ([arm], 1) = (arms, choices) {
            self.unpack(&sum, id, arm);
            self.release_roots(at_entry(deaths, 0));
            let values = self.inline(&arm.body);
            self.set_all(binders, values);
            return;
        }
        let mut branches = Vec::new();
        for (number, arm) in arms.iter().enumerate() {
            let branch = self.branch(&arm.body, at_entry(deaths, number), |emitter| emitter.unpack(&sum, id, arm));
            branches.push(branch);
        }
        if let Some(block) = otherwise {
            branches.push(self.branch(block, at_entry(deaths, arms.len()), |_| {}));
        }
        self.join(binders, &mut branches);
        let mut lists: Vec<Vec<Stm>> = branches.into_iter().map(|branch| branch.stms).collect();
        // The last branch takes what is left: the arms cover every constructor.
        let otherwise = lists.pop().unwrap_or_default();
        let cases = arms.iter().map(|arm| arm.tag).zip(lists).collect();
        let tag = Exp::Tag(Box::new(sum), id);
        self.push(Stm::Switch { tag, cases, otherwise });
    }

    fn unpack(&mut self, sum: &Exp, id: SumId, arm: &Arm) {
        for (field, binder) in arm.binders.iter().enumerate() {
            let exp = Exp::Payload { sum: Box::new(sum.clone()), id, tag: arm.tag, field };
            let name = self.var_name(binder.var);
            let value = match self.shared.layouts.ty(&binder.ty) {
                Ty::Array(elem, rank) => Value::Array(self.array_of_field(&name, exp, elem, rank)),
                Ty::Sum(inner) => Value::Sum(self.bind(&name, Ty::Sum(inner), exp), inner),
                ty => Value::Scalar(self.bind(&name, ty, exp)),
            };
            self.set(binder.var, value);
        }
    }

    /// The parts of an array that is one value.
    pub(crate) fn array_of_field(&mut self, name: &str, exp: Exp, elem: Elem, rank: usize) -> Array {
        let data = self.bind(name, Ty::Data(elem), exp.clone().part(Part::Data));
        let owner = self.bind(&format!("{name}_owner"), Ty::Owner, exp.clone().part(Part::Owner));
        let mut dims = Vec::new();
        for axis in 0..rank {
            let local = self.local(&format!("{name}_n{axis}"), Ty::Prim(Prim::I64));
            self.push(Stm::Let(local, exp.clone().part(Part::Dim(axis))));
            self.not_negative.insert(local);
            dims.push(Exp::Local(local));
        }
        Array { elem, data, owner, dims, strides: None }
    }

    // Loops

    fn checkpoint(&self) -> Checkpoint {
        let before = self.frames.iter().map(|frame| match &frame.kind {
            FrameKind::Loop { before, .. } => before.len(),
            _ => 0,
        });
        Checkpoint {
            locals: self.locals.len(),
            stms: self.frames.last().map_or(0, |frame| frame.stms.len()),
            before: before.collect(),
            facts: self.facts.clone(),
            facts_of_frames: self.frames.iter().map(|frame| frame.facts).collect(),
            unshared: self.unshared.clone(),
            kept: self.kept.clone(),
            line: self.last_line.clone(),
        }
    }

    fn roll_back(&mut self, to: Checkpoint) {
        self.locals.truncate(to.locals);
        self.depths.truncate(to.locals);
        self.facts = to.facts;
        self.unshared = to.unshared;
        self.kept = to.kept;
        self.last_line = to.line;
        let remains = |local: &Local| (local.0 as usize) < to.locals;
        self.not_negative.retain(remains);
        self.sums.retain(remains);
        self.accumulators.retain(|accumulator| remains(&accumulator.data));
        self.bounds.retain(|local, _| remains(local));
        self.sums_of_indices.retain(|local, _| remains(local));
        self.extremes.retain(|local, _| remains(local));
        self.rows.retain(|local, _| remains(local));
        for ((frame, before), facts) in self.frames.iter_mut().zip(to.before).zip(to.facts_of_frames) {
            frame.facts = facts;
            if let FrameKind::Loop { before: hoisted, .. } = &mut frame.kind {
                hoisted.truncate(before);
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.stms.truncate(to.stms);
        }
    }

    fn repeat(&mut self, statement: &'p Statement, the_loop: &'p Loop, deaths: &Deaths) {
        let mut uses = self.statement_uses(statement, deaths);
        let mut initial = Vec::new();
        let mut carried = Vec::new();
        for (atom, carry) in the_loop.initial.iter().zip(&the_loop.carry) {
            let mut value = self.take_row_major(atom, &mut uses);
            if let Value::Array(array) = &value
                && array.elem != Elem::Unit
                && is_written(&the_loop.body, carry.var)
            {
                // What every iteration writes to is copied before the first one rather than in it, if at all.
                let name = self.var_name(carry.var);
                value = Value::Array(self.make_writable(&name, array.clone()));
            }
            let unshared = matches!(&value, Value::Array(array) if self.is_unshared(array));
            carried.push(Carried { fixed: true, unshared });
            initial.push(value);
        }
        loop {
            let checkpoint = self.checkpoint();
            let found = self.try_repeat(statement, the_loop, deaths, &initial, &carried);
            if carried
                .iter()
                .zip(&found)
                .all(|(supposed, found)| supposed.fixed <= found.fixed && supposed.unshared <= found.unshared)
            {
                return;
            }
            self.roll_back(checkpoint);
            for (supposed, found) in carried.iter_mut().zip(found) {
                supposed.fixed &= found.fixed;
                supposed.unshared &= found.unshared;
            }
        }
    }

    /// Emits the loop under suppositions about what it carries; returns what the body shows.
    fn try_repeat(
        &mut self,
        statement: &'p Statement,
        the_loop: &'p Loop,
        deaths: &Deaths,
        initial: &[Value],
        carried: &[Carried],
    ) -> Vec<Carried> {
        let emitted = &statement.binders[(the_loop.carry.len() + usize::from(the_loop.counted)).min(statement.binders.len())..];
        let (found, trips, slots);
        let (mut collectors, mut records) = (Vec::new(), Vec::new());
        match &the_loop.form {
            LoopForm::For { index, bound } => {
                let bound = self.scalar(bound);
                let prim = index.ty.as_prim().unwrap_or(Prim::I64);
                let count = match prim {
                    Prim::I64 => bound.clone(),
                    _ => Exp::Prim(PrimOp::Convert { from: prim, to: Prim::I64 }, vec![bound.clone()]),
                };
                let count = if emitted.is_empty() && !the_loop.counted { count } else { self.size_local("trips", count) };
                let (bound, count) = match prim {
                    Prim::I64 => {
                        let extent = self.extent(&count);
                        (extent.clone(), extent)
                    }
                    _ if emitted.is_empty() && !the_loop.counted => (bound, count),
                    _ => (bound, self.extent(&count)),
                };
                let mut initial = initial.to_vec();
                if carried.iter().all(|carried| carried.fixed) {
                    records = self.records(the_loop, emitted, &count, &mut initial);
                }
                slots = self.carry_slots(the_loop, &initial, carried);
                for (binder, sizes) in emitted.iter().zip(&the_loop.emits) {
                    collectors.push(self.collect(binder, Some(vec![count.clone()]), 1, sizes));
                }
                let name = self.var_name(index.var);
                let counter = self.open_loop(&name, prim, bound);
                self.set(index.var, Value::Scalar(Exp::Local(counter)));
                let position = match prim {
                    Prim::I64 => Exp::Local(counter),
                    _ => Exp::Prim(PrimOp::Convert { from: prim, to: Prim::I64 }, vec![Exp::Local(counter)]),
                };
                self.read_carry(the_loop, &slots);
                let record = Recorded { collectors: &collectors, records: &records, position: &position };
                found = self.iteration(the_loop, at_entry(deaths, 0), &slots, &record);
                self.close_loop(Mark::Sequential, None);
                trips = count;
            }
            LoopForm::While { condition } => {
                slots = self.carry_slots(the_loop, initial, carried);
                let count = the_loop.counted.then(|| self.declare("trips", Ty::Prim(Prim::I64)));
                for (binder, sizes) in emitted.iter().zip(&the_loop.emits) {
                    collectors.push(self.collect(binder, None, 1, sizes));
                }
                self.open_branch();
                let site = self.site();
                self.push(Stm::Tick(site));
                self.read_carry(the_loop, &slots);
                self.statements(condition);
                let holds = condition.results.first().map_or(Exp::Const(Const::Bool(false)), |atom| self.scalar(atom));
                self.end_block(condition);
                self.push(Stm::BreakUnless(holds));
                let record = Recorded { collectors: &collectors, records: &[], position: &Exp::i64(0) };
                found = self.iteration(the_loop, at_entry(deaths, 1), &slots, &record);
                collectors.iter().for_each(|collector| self.collected_one(collector));
                if let Some(count) = count {
                    self.push(Stm::Assign(count, Exp::Local(count).add(Exp::i64(1))));
                }
                let body = self.close_branch();
                self.push(Stm::Forever(body));
                trips = count.map_or(Exp::i64(0), Exp::Local);
            }
        }
        let mut binders = statement.binders.iter();
        for (number, (slot, binder)) in slots.iter().zip(binders.by_ref()).enumerate() {
            let mut value = match slot {
                // Sizes that vary are settled now.
                Slot::Array { .. } => {
                    let name = self.var_name(binder.var);
                    self.read_slot(&name, slot)
                }
                _ => slot_value(slot),
            };
            if records.iter().any(|record| record.carry == number) && !deaths.unused.contains(&binder.var) {
                value = self.last_state(value);
            }
            self.set(binder.var, value);
        }
        if the_loop.counted
            && let Some(binder) = binders.next()
        {
            let trips = self.bind("trips", Ty::Prim(Prim::I64), trips);
            if let Exp::Local(local) = trips {
                self.not_negative.insert(local);
            }
            self.set(binder.var, Value::Scalar(trips));
        }
        for (binder, collector) in binders.zip(collectors) {
            let array = self.collected(collector);
            self.set(binder.var, Value::Array(array));
        }
        found
    }

    fn carry_slots(&mut self, the_loop: &Loop, initial: &[Value], carried: &[Carried]) -> Vec<Slot> {
        let mut slots = Vec::new();
        for ((carry, value), carried) in the_loop.carry.iter().zip(initial).zip(carried) {
            let name = self.var_name(carry.var);
            let slot = self.slot(&format!("{name}_carry"), value, carried.fixed);
            if let (Slot::Array { owner, .. }, true) = (&slot, carried.unshared) {
                self.unshared.insert(*owner);
            }
            slots.push(slot);
        }
        slots
    }

    fn read_carry(&mut self, the_loop: &Loop, slots: &[Slot]) {
        for (carry, slot) in the_loop.carry.iter().zip(slots) {
            let name = self.var_name(carry.var);
            let value = self.read_slot(&name, slot);
            self.set(carry.var, value);
        }
    }

    fn iteration(&mut self, the_loop: &'p Loop, entry: &[Var], slots: &[Slot], kept: &Recorded<'_, 'p>) -> Vec<Carried> {
        let (next, emitted) = the_loop.body.results.split_at(slots.len().min(the_loop.body.results.len()));
        self.release_roots(entry);
        let is_recorded = |number: usize| kept.records.iter().any(|record| record.emitted == number);
        let others = || kept.collectors.iter().zip(emitted).enumerate().filter(|(number, _)| !is_recorded(*number));
        for (_, (collector, result)) in others() {
            self.offer_row(collector, kept.position, result, &the_loop.body);
        }
        let rows = self.offer_next_rows(kept.records, kept.position);
        self.statements(&the_loop.body);
        let mut uses = self.result_uses(&the_loop.body);
        for record in kept.records {
            self.pass_by(&emitted[record.emitted], &mut uses);
        }
        let mut values: Vec<Value> = Vec::new();
        for (number, result) in next.iter().enumerate() {
            let recorded = kept.records.iter().zip(&rows).find(|(record, _)| record.carry == number);
            values.push(match recorded {
                Some((record, row)) => self.next_state(record, row, &mut uses),
                None => self.take_row_major(result, &mut uses),
            });
        }
        for (_, (collector, result)) in others() {
            self.collect_element(collector, kept.position, result, &mut uses);
        }
        self.end_block(&the_loop.body);
        let found = slots.iter().zip(&values).map(|(slot, value)| match (slot, value) {
            (Slot::Array { dims, .. }, Value::Array(array)) => {
                let stays = |(dim, size): (&SlotDim, &Exp)| match dim {
                    SlotDim::Fixed(exp) => self.same_size(exp, size),
                    SlotDim::Varying(_) => false,
                };
                Carried { fixed: dims.iter().zip(&array.dims).all(stays), unshared: self.is_unshared(array) }
            }
            _ => Carried { fixed: true, unshared: true },
        });
        let found = found.collect();
        self.assign_slots(slots, &values);
        found
    }

    // Calls

    fn call(&mut self, statement: &'p Statement, function: FunctionId, args: &[Atom], deaths: &Deaths) {
        let number = function.0 as usize;
        let Some(callee) = self.shared.program.functions.get(number) else { return };
        let mut uses = self.statement_uses(statement, deaths);
        let mut passed = Vec::new();
        let mut sums: Vec<(Local, Local, bool)> = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            let owned = self.shared.owned[number].get(at).copied().unwrap_or(false);
            let value = match owned {
                true => self.take(arg, &mut uses),
                false => self.value(arg),
            };
            match value {
                Value::Scalar(exp) | Value::Sum(exp, _) => passed.push(exp),
                Value::Array(array) => {
                    let strided = self.shared.strided[number].get(at).copied().unwrap_or(false);
                    if array.strides.is_some() && !strided {
                        self.shared.strided[number][at] = true;
                        self.shared.changed = true;
                    }
                    passed.extend([array.data.clone(), array.owner.clone()]);
                    passed.extend(array.dims.iter().cloned());
                    if strided {
                        let strides = self.strides(&array);
                        passed.extend(strides);
                    }
                }
                Value::Handle(Handle::Scalar(local, prim)) => {
                    let again = sums.iter().any(|(known, ..)| *known == local);
                    let start = match again {
                        false => Exp::Local(local),
                        true => Exp::Const(Combine::Add.neutral(prim)),
                    };
                    let place = self.local("sum", Ty::Prim(prim));
                    self.push(Stm::Let(place, start));
                    passed.push(Exp::Local(place).address());
                    sums.push((local, place, again));
                }
                Value::Handle(Handle::Array(array)) => {
                    passed.push(array.data);
                    passed.extend(array.dims);
                }
                Value::Handle(Handle::Sum(place, _)) => passed.push(place),
                Value::Handle(Handle::Log(log)) => passed.push(log),
            }
        }
        let (mut results, mut values) = (Vec::new(), Vec::new());
        for (number, ty) in callee.results.iter().enumerate() {
            let name = statement.binders.get(number).map_or(String::from("result"), |binder| self.var_name(binder.var));
            let types = self.exploded_types(ty);
            let mut locals = Vec::new();
            for (part, ty) in types.into_iter().enumerate() {
                let name = match part {
                    0 => name.clone(),
                    1 => format!("{name}_owner"),
                    axis => format!("{name}_n{}", axis - 2),
                };
                locals.push(self.local(&name, ty));
            }
            results.extend(&locals);
            values.push(self.imploded(ty, &locals));
        }
        let site = self.site();
        self.push(Stm::Call { function: number, args: passed, results, site });
        for (local, place, again) in sums {
            let exp = match (again, self.type_of(&Exp::Local(local))) {
                (true, Ty::Prim(prim)) => {
                    Exp::Prim(PrimOp::Binary(BinaryOp::Add, prim), vec![Exp::Local(local), Exp::Local(place)])
                }
                _ => Exp::Local(place),
            };
            self.push(Stm::Assign(local, exp));
        }
        // What has no parameters is computed once and kept.
        if callee.params.is_empty() {
            values.iter().for_each(|value| self.retain(value));
        }
        self.set_all(&statement.binders, values);
    }

    fn imploded(&mut self, ty: &Type, locals: &[Local]) -> Value {
        match self.shared.layouts.ty(ty) {
            Ty::Array(elem, _) => {
                let dims = locals[2..].to_vec();
                self.not_negative.extend(&dims);
                Value::Array(Array {
                    elem,
                    data: Exp::Local(locals[0]),
                    owner: Exp::Local(locals[1]),
                    dims: dims.into_iter().map(Exp::Local).collect(),
                    strides: None,
                })
            }
            Ty::Sum(id) => Value::Sum(Exp::Local(locals[0]), id),
            _ => Value::Scalar(Exp::Local(locals[0])),
        }
    }
}

/// Operations that are done for nothing rather than branch.
const MOST_SPECULATED: usize = 12;

/// The operations of a statement, if it may run without need; else more than any limit.
fn speculative_work(stm: &Stm) -> usize {
    match stm {
        Stm::Comment(_) => 0,
        Stm::Let(_, exp) if is_cheap(exp) => 1,
        _ => MOST_SPECULATED + 1,
    }
}

fn is_cheap(exp: &Exp) -> bool {
    match exp {
        Exp::Local(_) | Exp::Const(_) => true,
        Exp::Select(condition, then, otherwise) => [condition, then, otherwise].into_iter().all(|part| is_cheap(part)),
        Exp::Prim(op, args) => {
            let cheap = match op {
                PrimOp::Binary(op, prim) => match op {
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Scale | BinaryOp::Min | BinaryOp::Max => true,
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => true,
                    BinaryOp::Div => prim.is_float(),
                    _ => false,
                },
                PrimOp::Unary(op, _) => matches!(op, UnaryOp::Negate | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Sqrt),
                PrimOp::Compare(..) | PrimOp::FusedMultiplyAdd(_) => true,
                PrimOp::Convert { from, to } => !from.is_float() || to.is_float(),
                _ => false,
            };
            cheap && args.iter().all(is_cheap)
        }
        _ => false,
    }
}

/// A row-major array as one value.
pub(crate) fn whole(array: &Array) -> Exp {
    Exp::Array {
        elem: array.elem,
        data: Box::new(array.data.clone()),
        owner: Box::new(array.owner.clone()),
        dims: array.dims.clone(),
    }
}

fn starts_negative(constant: Const) -> bool {
    match constant {
        Const::I8(value) => value < 0,
        Const::I16(value) => value < 0,
        Const::I32(value) => value < 0,
        Const::I64(value) => value < 0,
        _ => false,
    }
}

/// Whether a block writes to the array as such in any case.
fn is_written(block: &Block, array: Var) -> bool {
    let array = Atom::Var(array);
    block.statements.iter().any(|statement| match &statement.op {
        Op::Update { array: target, .. } => *target == array,
        Op::Hist { dest, .. } | Op::Scatter { dest, .. } => dest.contains(&array),
        Op::WithAccumulators { init, .. } => init.contains(&array),
        Op::Loop(inner) => {
            let carries = inner.initial.iter().zip(&inner.carry);
            carries.filter(|(initial, _)| **initial == array).any(|(_, carry)| is_written(&inner.body, carry.var))
        }
        _ => false,
    })
}

/// Whether a block has a loop or a call in it, so that somebody else might do it.
fn takes_long(block: &Block) -> bool {
    block.statements.iter().any(|statement| match &statement.op {
        Op::Call { .. } | Op::Loop(_) => true,
        Op::Build { .. } | Op::Reduce { .. } | Op::Scan { .. } | Op::Hist { .. } | Op::Scatter { .. } => true,
        op => crate::liveness::running_scopes(op).iter().any(|scope| takes_long(scope.block)),
    })
}
