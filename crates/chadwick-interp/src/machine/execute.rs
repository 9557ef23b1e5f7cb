//! The instruction loop: scalars, control flow, calls, index spaces.

use super::{Frame, Machine};
use crate::code::{Code, Inst, List, MessageText, Operand};
use crate::error::{ErrorKind, Outcome, fail, malformed};
use crate::value::{FunctionValue, SumValue, Value};
use chadwick_core::prim::{convert, eval, eval_binary, eval_compare, eval_unary};
use chadwick_core::{BinaryOp, CompareOp, Const, PrimOp};
use std::rc::Rc;

impl Machine {
    /// Runs until the frame at `bottom` returns.
    pub(super) fn execute(&mut self, bottom: usize) -> Outcome<Vec<Value>> {
        let Some(frame) = self.frames.last() else { return malformed("no frame to run") };
        let mut code = Rc::clone(&frame.code);
        let (mut pc, mut base) = (frame.pc, frame.base);
        loop {
            let Some(inst) = code.insts.get(pc) else { return malformed("code without an end") };
            pc += 1;
            // So that errors and nested runs know where we are.
            match self.step(&code, inst, &mut pc, base) {
                Ok(Flow::Next) => {}
                Ok(Flow::Call { callee, first, args, dst, skip }) => {
                    let Some(frame) = self.frames.last_mut() else { return malformed("no frame to call from") };
                    frame.pc = pc;
                    self.tick()?;
                    let new_base = self.make_room(&callee)?;
                    let captured = match first {
                        Value::Function(function) => self.place_captures(function, new_base),
                        _ => 0,
                    };
                    if args.len as usize != callee.params {
                        return malformed("a call with a wrong number of arguments");
                    }
                    for (at, operand) in code.list(args).iter().enumerate() {
                        let value = self.fetch(&code, base, *operand);
                        self.registers[new_base + captured + at] = value;
                    }
                    self.frames.push(Frame { code: Rc::clone(&callee), pc: 0, base: new_base, dst, skip });
                    code = callee;
                    (pc, base) = (0, new_base);
                }
                Ok(Flow::Return { values }) => {
                    if self.frames.len() == bottom + 1 {
                        let values = self.fetch_all(&code, base, values);
                        self.frames.pop();
                        self.registers.truncate(base);
                        return Ok(values);
                    }
                    let (dst, skip) = match self.frames.last() {
                        Some(frame) => (frame.dst, frame.skip),
                        None => return malformed("no frame to return from"),
                    };
                    let Some(caller) = self.frames.len().checked_sub(2).and_then(|at| self.frames.get(at)) else {
                        return malformed("no frame to return to");
                    };
                    let (caller_code, caller_pc, caller_base) = (Rc::clone(&caller.code), caller.pc, caller.base);
                    let results = code.list(values).get(skip..).unwrap_or_default();
                    if results.len() != dst.len as usize {
                        return malformed("a call with a wrong number of results");
                    }
                    for (register, operand) in caller_code.list(dst).iter().zip(results) {
                        let value = self.fetch(&code, base, *operand);
                        self.registers[caller_base + register.index()] = value;
                    }
                    self.frames.pop();
                    self.registers.truncate(base);
                    code = caller_code;
                    (pc, base) = (caller_pc, caller_base);
                }
                Err(failure) => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.pc = pc;
                    }
                    return Err(failure);
                }
            }
        }
    }

    #[inline(always)]
    fn step(&mut self, code: &Rc<Code>, inst: &Inst, pc: &mut usize, base: usize) -> Outcome<Flow> {
        match inst {
            Inst::Move { dst, src } => match self.get(code, base, *src) {
                Value::Scalar(Const::F64(value)) => {
                    let value = *value;
                    self.set_scalar(base, *dst, Const::F64(value));
                }
                Value::Scalar(Const::I64(value)) => {
                    let value = *value;
                    self.set_scalar(base, *dst, Const::I64(value));
                }
                Value::Scalar(value) => {
                    let value = *value;
                    self.set_scalar(base, *dst, value);
                }
                _ => {
                    let value = self.fetch(code, base, *src);
                    self.set(base, *dst, value);
                }
            },
            Inst::Clear { register } => self.set(base, *register, Value::Absent),
            Inst::Unary { op, dst, x } => {
                self.counters.operations += 1;
                match self.get(code, base, *x) {
                    Value::Scalar(x) => {
                        let value = eval_unary(*op, *x)?;
                        self.counters.float_operations += u64::from(value.prim().is_float());
                        self.set_scalar(base, *dst, value);
                    }
                    other => {
                        let x = other.clone();
                        let Some(prim) = x.prim() else { return malformed("an operand that is no scalar") };
                        let value = self.apply(PrimOp::Unary(*op, prim), &[x])?;
                        self.set(base, *dst, value);
                    }
                }
            }
            Inst::Binary { op, dst, x, y } => {
                self.counters.operations += 1;
                match (self.get(code, base, *x), self.get(code, base, *y)) {
                    (Value::Scalar(Const::F64(x)), Value::Scalar(Const::F64(y))) => {
                        let value = match op {
                            BinaryOp::Add => x + y,
                            BinaryOp::Sub => x - y,
                            BinaryOp::Mul => x * y,
                            BinaryOp::Div => x / y,
                            _ => float(eval_binary(*op, Const::F64(*x), Const::F64(*y))?),
                        };
                        self.counters.float_operations += 1;
                        self.set_scalar(base, *dst, Const::F64(value));
                    }
                    (Value::Scalar(Const::I64(x)), Value::Scalar(Const::I64(y))) => {
                        let value = match op {
                            BinaryOp::Add => x.wrapping_add(*y),
                            BinaryOp::Sub => x.wrapping_sub(*y),
                            BinaryOp::Mul => x.wrapping_mul(*y),
                            _ => integer(eval_binary(*op, Const::I64(*x), Const::I64(*y))?),
                        };
                        self.set_scalar(base, *dst, Const::I64(value));
                    }
                    (Value::Scalar(x), Value::Scalar(y)) => {
                        let value = eval_binary(*op, *x, *y)?;
                        self.counters.float_operations += u64::from(value.prim().is_float());
                        self.set_scalar(base, *dst, value);
                    }
                    (x, y) => {
                        let (x, y) = (x.clone(), y.clone());
                        let Some(prim) = x.prim() else { return malformed("an operand that is no scalar") };
                        let value = self.apply(PrimOp::Binary(*op, prim), &[x, y])?;
                        self.set(base, *dst, value);
                    }
                }
            }
            Inst::Compare { op, dst, x, y } => {
                self.counters.operations += 1;
                let holds = match (self.get(code, base, *x), self.get(code, base, *y)) {
                    (Value::Scalar(x), Value::Scalar(y)) => {
                        let (x, y) = (*x, *y);
                        self.counters.float_operations += u64::from(x.prim().is_float());
                        compare(*op, x, y)?
                    }
                    (x, y) => match (x.as_scalar(), y.as_scalar()) {
                        (Some(x), Some(y)) => compare(*op, x, y)?,
                        _ => return malformed("an operand that is no scalar"),
                    },
                };
                self.set_scalar(base, *dst, Const::Bool(holds));
            }
            Inst::Convert { op, dst, x } => {
                self.counters.operations += 1;
                match (self.get(code, base, *x), op) {
                    (Value::Scalar(x), PrimOp::Convert { to, .. }) => {
                        let value = convert(*x, *to);
                        self.counters.float_operations += u64::from(to.is_float());
                        self.set_scalar(base, *dst, value);
                    }
                    (other, op) => {
                        let x = other.clone();
                        let value = self.apply(*op, &[x])?;
                        self.set(base, *dst, value);
                    }
                }
            }
            Inst::Prim { op, dst, args } => {
                self.counters.operations += 1;
                let args = self.fetch_all(code, base, *args);
                let plain: Option<Vec<Const>> = args
                    .iter()
                    .map(|arg| match arg {
                        Value::Scalar(constant) => Some(*constant),
                        _ => None,
                    })
                    .collect();
                let value = match plain {
                    Some(args) => {
                        let value = eval(*op, &args)?;
                        self.counters.float_operations += u64::from(value.prim().is_float());
                        Value::Scalar(value)
                    }
                    None => self.apply(*op, &args)?,
                };
                self.set(base, *dst, value);
            }
            Inst::Jump { target } => *pc = *target as usize,
            Inst::JumpBack { target } => {
                *pc = *target as usize;
                self.tick()?;
            }
            Inst::JumpUnless { condition, target } => match self.get(code, base, *condition) {
                Value::Scalar(Const::Bool(true)) => {}
                Value::Scalar(Const::Bool(false)) => *pc = *target as usize,
                _ => return malformed("a condition that is no boolean"),
            },
            Inst::Call { function, args, dst } => {
                let callee = self.code(*function)?;
                if args.len == 0 && callee.params == 0 {
                    let values = self.constant(*function, &callee)?;
                    for (register, value) in code.list(*dst).iter().zip(values.iter()) {
                        self.registers[base + register.index()] = value.clone();
                    }
                    return Ok(Flow::Next);
                }
                return Ok(Flow::Call { callee, first: Value::Absent, args: *args, dst: *dst, skip: 0 });
            }
            Inst::Apply { function, args, dst } => {
                let function = self.fetch(code, base, *function);
                let Value::Function(closure) = &function else { return malformed("an application of no function") };
                let callee = Rc::clone(&closure.code);
                return Ok(Flow::Call { callee, first: function, args: *args, dst: *dst, skip: 0 });
            }
            Inst::Return { values } => return Ok(Flow::Return { values: *values }),
            Inst::SpaceStart { sizes, space, end } => {
                let (indices, bounds) = match code.spaces.get(*space as usize) {
                    Some(space) => (&space.indices, &space.bounds),
                    None => return malformed("a missing index space"),
                };
                let mut empty = false;
                for (at, size) in code.list(*sizes).iter().enumerate() {
                    let size = self.integer(code, base, *size)?;
                    empty |= size <= 0;
                    self.set(base, indices[at], Value::i64(0));
                    self.set(base, bounds[at], Value::i64(size));
                }
                if empty {
                    *pc = *end as usize;
                }
            }
            Inst::SpaceNext { space, body } => {
                self.tick()?;
                let Some(space) = code.spaces.get(*space as usize) else { return malformed("a missing index space") };
                for (index, bound) in space.indices.iter().zip(&space.bounds).rev() {
                    let bound = match &self.registers[base + *bound as usize] {
                        Value::Scalar(Const::I64(bound)) => *bound,
                        _ => return malformed("a bound that is no i64"),
                    };
                    let next = match &self.registers[base + *index as usize] {
                        Value::Scalar(Const::I64(index)) => index + 1,
                        _ => return malformed("an index that is no i64"),
                    };
                    if next < bound {
                        self.set_scalar(base, *index, Const::I64(next));
                        *pc = *body as usize;
                        break;
                    }
                    self.set_scalar(base, *index, Const::I64(0));
                }
            }
            Inst::CountStart { counter, limit, bound, end } => {
                let Some(bound) = self.get(code, base, *bound).as_scalar() else { return malformed("a bound that is no scalar") };
                let zero = Const::zero(bound.prim());
                self.set(base, *counter, Value::Scalar(zero));
                self.set(base, *limit, Value::Scalar(bound));
                if !eval_compare(CompareOp::Less, zero, bound)? {
                    *pc = *end as usize;
                }
            }
            Inst::CountNext { counter, limit, body } => {
                self.tick()?;
                let pair = (&self.registers[base + *counter as usize], &self.registers[base + *limit as usize]);
                if let (Value::Scalar(Const::I64(counted)), Value::Scalar(Const::I64(limit))) = pair {
                    let next = counted + 1;
                    if next < *limit {
                        self.set_scalar(base, *counter, Const::I64(next));
                        *pc = *body as usize;
                    }
                    return Ok(Flow::Next);
                }
                let (counted, limit) = match pair {
                    (Value::Scalar(counted), Value::Scalar(limit)) => (*counted, *limit),
                    _ => return malformed("a loop counter that is no scalar"),
                };
                let next = eval_binary(BinaryOp::Add, counted, Const::one(counted.prim()))?;
                if compare(CompareOp::Less, next, limit)? {
                    self.set_scalar(base, *counter, next);
                    *pc = *body as usize;
                }
            }
            Inst::Increment { register } => {
                if let Value::Scalar(Const::I64(count)) = &mut self.registers[base + *register as usize] {
                    *count += 1;
                }
            }
            Inst::BuildPush { builder, value } => {
                let value = self.fetch(code, base, *value);
                let limit = self.memory_limit;
                match &mut self.registers[base + *builder as usize] {
                    Value::Builder(builder) => builder.push(value, limit)?,
                    _ => return malformed("a push into no array"),
                }
            }
            Inst::Index { dst, array, indices } => {
                // An element of a vector of floats, the most common of all.
                if indices.len == 1
                    && let Value::Array(view) = self.get(code, base, *array)
                    && let Some(elements) = view.as_f64_vector()
                    && let Value::Scalar(Const::I64(at)) = self.get(code, base, code.list(*indices)[0])
                    && let Some(element) = usize::try_from(*at).ok().and_then(|at| elements.get(at))
                    && !array.is_take()
                {
                    let element = *element;
                    self.set_scalar(base, *dst, Const::F64(element));
                    return Ok(Flow::Next);
                }
                match self.index(code, base, *array, *indices)? {
                    Value::Scalar(value) => self.set_scalar(base, *dst, value),
                    value => self.set(base, *dst, value),
                }
            }
            other => return self.step_slow(code, other, pc, base),
        }
        Ok(Flow::Next)
    }

    /// The instructions that are not worth a place in the hot loop.
    #[inline(never)]
    fn step_slow(&mut self, code: &Rc<Code>, inst: &Inst, pc: &mut usize, base: usize) -> Outcome<Flow> {
        match inst {
            Inst::Closure { lambda, captures, dst } => {
                let captures = self.fetch_all(code, base, *captures);
                let Some(lambda) = code.lambdas.get(*lambda as usize) else { return malformed("a missing lambda") };
                self.set(base, *dst, Value::function(Rc::clone(lambda), captures));
            }
            Inst::Construct { tag, args, dst } => {
                let fields = self.fetch_all(code, base, *args);
                self.set(base, *dst, Value::sum(*tag, fields));
            }
            Inst::Branch { scrutinee, targets } => {
                let Value::Sum(sum) = self.get(code, base, *scrutinee) else { return malformed("a match on no sum") };
                let targets = code.list(*targets);
                let direct =
                    targets.get(sum.tag as usize).filter(|target| target.0 != u32::MAX && (sum.tag as usize) < targets.len() - 1);
                match direct.or(targets.last()) {
                    Some(target) if target.0 != u32::MAX => *pc = target.0 as usize,
                    _ => return malformed("a match without an arm for the value"),
                }
            }
            Inst::Unpack { sum, dst } => {
                let Value::Sum(sum) = self.fetch(code, base, *sum) else { return malformed("a payload of no sum") };
                self.unpack(code, base, sum, *dst)?;
            }
            Inst::Assert { condition, message, values } => {
                let holds = matches!(self.get(code, base, *condition), Value::Scalar(Const::Bool(true)));
                if !holds {
                    return self.assertion_failed(code, base, *message, *values);
                }
            }
            Inst::Trace { tag, args, dst } => {
                let values = self.fetch_all(code, base, *args);
                if let Some(mut sink) = self.trace.take() {
                    let plain = values.iter().map(|value| self.strip_all(value)).collect::<Outcome<Vec<Value>>>();
                    if let (Ok(plain), Some(tag)) = (plain, code.tags.get(*tag as usize)) {
                        sink(tag, &plain);
                    }
                    self.trace = Some(sink);
                }
                self.set_all(code, base, *dst, values)?;
            }
            Inst::Differentiate { spec, captures, operands, dst } => {
                self.save_position(*pc);
                let captures = self.fetch_all(code, base, *captures);
                let operands = self.fetch_all(code, base, *operands);
                let Some(spec) = code.differentiates.get(*spec as usize) else { return malformed("a missing derivative") };
                let values = self.differentiate(spec, captures, operands)?;
                self.set_all(code, base, *dst, values)?;
            }
            Inst::Custom { spec, captures, rule_captures, args, dst } => {
                let Some(spec) = code.customs.get(*spec as usize) else { return malformed("a missing custom derivative") };
                let captures = self.fetch_all(code, base, *captures);
                let rule_captures = self.fetch_all(code, base, *rule_captures);
                let skip = match spec.kind {
                    chadwick_core::CustomKind::VjpTape { tape } => tape,
                    _ => 0,
                };
                if self.levels_open == 0 {
                    let callee = Rc::clone(&spec.function);
                    let first = Value::function(Rc::clone(&callee), captures);
                    return Ok(Flow::Call { callee, first, args: *args, dst: *dst, skip });
                }
                self.save_position(*pc);
                let args = self.fetch_all(code, base, *args);
                let mut values = self.custom(spec, &captures, &rule_captures, args)?;
                values.drain(..skip.min(values.len()));
                self.set_all(code, base, *dst, values)?;
            }
            Inst::OpenAccumulators { init, handles } => {
                let init = self.fetch_all(code, base, *init);
                self.accumulator_groups.push(self.accumulators.len());
                for (register, value) in code.list(*handles).iter().zip(init) {
                    let handle = Value::Accumulator(self.accumulators.len() as u32);
                    self.accumulators.push(value);
                    self.registers[base + register.index()] = handle;
                }
            }
            Inst::CloseAccumulators { dst } => {
                let Some(first) = self.accumulator_groups.pop() else { return malformed("no open accumulator") };
                let values = self.accumulators.split_off(first.min(self.accumulators.len()));
                self.set_all(code, base, *dst, values)?;
            }
            Inst::OpenLog { columns, start, handle } => self.open_log(code, base, *columns, *start, *handle)?,
            Inst::CloseLog { dst } => self.close_log(code, base, *dst)?,
            Inst::Log { handle, row, dst } => self.append_to_log(code, base, *handle, *row, *dst)?,
            Inst::Accumulate { handle, path, operands, value } => {
                self.accumulate(code, base, *handle, *path, *operands, *value)?;
            }
            other => return self.array_step(code, other, pc, base).map(|()| Flow::Next),
        }
        Ok(Flow::Next)
    }

    /// Puts the captures into a new frame: moved if this was the function's last use. Returns how many.
    #[inline]
    fn place_captures(&mut self, function: Rc<FunctionValue>, base: usize) -> usize {
        let count = function.captures.len();
        match Rc::try_unwrap(function) {
            Ok(mut own) => {
                for (at, value) in own.take_captures().into_iter().enumerate() {
                    self.registers[base + at] = value;
                }
            }
            Err(shared) => {
                for (at, value) in shared.captures.iter().enumerate() {
                    self.registers[base + at] = value.clone();
                }
            }
        }
        count
    }

    fn save_position(&mut self, pc: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.pc = pc;
        }
    }

    /// Moves the payload out if nobody else holds the sum.
    fn unpack(&mut self, code: &Code, base: usize, sum: Rc<SumValue>, dst: List) -> Outcome<()> {
        if sum.fields.len() != dst.len as usize {
            return malformed("a payload of the wrong size");
        }
        let mut sum = sum;
        match Rc::get_mut(&mut sum) {
            Some(own) => {
                for (register, field) in code.list(dst).iter().zip(own.fields.iter_mut()) {
                    self.registers[base + register.index()] = std::mem::take(field);
                }
            }
            None => {
                for (register, field) in code.list(dst).iter().zip(&sum.fields) {
                    self.registers[base + register.index()] = field.clone();
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn assertion_failed<T>(&mut self, code: &Code, base: usize, message: u32, values: List) -> Outcome<T> {
        let mut text = String::new();
        let mut values = code.list(values).iter();
        for part in code.messages.get(message as usize).map_or(&[][..], Vec::as_slice) {
            match part {
                MessageText::Text(part) => text.push_str(part),
                MessageText::Value => {
                    let operand = values.next().copied().unwrap_or(Operand::register(0));
                    let value = self.strip_all(&self.get(code, base, operand).clone())?;
                    text.push_str(&value.to_string());
                }
            }
        }
        fail(ErrorKind::Assertion, text)
    }
}

/// What comes after an instruction.
enum Flow {
    Next,
    Call { callee: Rc<Code>, first: Value, args: List, dst: List, skip: usize },
    Return { values: List },
}

/// A result that is known to be an `f64`.
#[inline(always)]
fn float(constant: Const) -> f64 {
    match constant {
        Const::F64(value) => value,
        _ => f64::NAN,
    }
}

/// A result that is known to be an `i64`.
#[inline(always)]
fn integer(constant: Const) -> i64 {
    match constant {
        Const::I64(value) => value,
        _ => 0,
    }
}

#[inline(always)]
fn compare(op: CompareOp, x: Const, y: Const) -> Result<bool, chadwick_core::PrimError> {
    match (x, y) {
        (Const::I64(x), Const::I64(y)) => Ok(match op {
            CompareOp::Equal => x == y,
            CompareOp::Less => x < y,
            CompareOp::LessEqual => x <= y,
        }),
        _ => eval_compare(op, x, y),
    }
}
