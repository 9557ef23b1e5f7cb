//! The register machine.
//!
//! Frames and registers live on heap-allocated stacks, so recursion costs memory, not Rust stack. Only running a function under
//! differentiation starts a nested [`Machine::run`].

mod arrays;
mod execute;

pub(crate) use arrays::selections_of;

use crate::code::{Code, List, Operand};
use crate::compile::compile_function;
use crate::derivative::Tape;
use crate::error::{Call, ErrorKind, Failure, Outcome, RuntimeError, fail, malformed, memory_exceeded};
use crate::log::OpenLog;
use crate::memory;
use crate::value::Value;
use chadwick_core::prim::Derivative;
use chadwick_core::{Const, FunctionId, PrimOp, Program};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::time::Instant;

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub max_memory_bytes: usize,
    pub deadline: Option<Instant>,
    /// How many calls may be open at once.
    pub max_depth: Option<usize>,
}

impl Default for Limits {
    /// As much memory as there is, as long as it takes.
    fn default() -> Self {
        Limits { max_memory_bytes: usize::MAX, deadline: None, max_depth: None }
    }
}

/// Work done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Primitive operations of the program.
    pub operations: u64,
    /// Those of them on floats: what a program computes, without the arithmetic of indices and sizes.
    pub float_operations: u64,
    /// Primitive operations with an operand under differentiation, once per level.
    pub differentiated_operations: u64,
    /// Tape slots: inputs and differentiated operations of reverse mode.
    pub tape_entries: u64,
    /// Arrays made.
    pub allocations: u64,
    pub allocated_bytes: u64,
    /// Arrays copied because an update found them shared.
    pub copies: u64,
    /// Additions into accumulators.
    pub accumulations: u64,
    /// Rows appended to logs.
    pub logged_rows: u64,
}

pub(crate) type TraceSink = Box<dyn FnMut(&str, &[Value])>;

pub(crate) struct Machine {
    pub(crate) program: Rc<Program>,
    codes: Vec<Option<Rc<Code>>>,
    /// Results of functions without parameters, which are computed once.
    constants: FxHashMap<FunctionId, Rc<[Value]>>,
    registers: Vec<Value>,
    frames: Vec<Frame>,
    pub(crate) limits: Limits,
    /// Live bytes that must not be exceeded: the limit above what was live before the call.
    pub(crate) memory_limit: usize,
    pub(crate) counters: Counters,
    fuel: u32,
    stack_bytes: usize,
    next_level: u64,
    /// Derivatives in progress.
    pub(crate) levels_open: usize,
    pub(crate) tapes: Vec<Tape>,
    pub(crate) accumulators: Vec<Value>,
    accumulator_groups: Vec<usize>,
    pub(crate) logs: Vec<OpenLog>,
    derivatives: FxHashMap<PrimOp, Rc<[Derivative]>>,
    pub(crate) trace: Option<TraceSink>,
}

struct Frame {
    code: Rc<Code>,
    /// The next instruction of this frame once it is on top again.
    pc: usize,
    base: usize,
    /// Where the caller wants the results, in the caller's code.
    dst: List,
    /// How many leading results the caller does not want.
    skip: usize,
}

/// Instructions that jump back or call, between two looks at the clock.
const TICKS_PER_CHECK: u32 = 4096;

impl Machine {
    pub fn new(program: Rc<Program>, limits: Limits) -> Self {
        let codes = vec![None; program.functions.len()];
        Machine {
            program,
            codes,
            constants: FxHashMap::default(),
            registers: Vec::new(),
            frames: Vec::new(),
            limits,
            memory_limit: usize::MAX,
            counters: Counters::default(),
            fuel: TICKS_PER_CHECK,
            stack_bytes: 0,
            next_level: 0,
            levels_open: 0,
            tapes: Vec::new(),
            accumulators: Vec::new(),
            accumulator_groups: Vec::new(),
            logs: Vec::new(),
            derivatives: FxHashMap::default(),
            trace: None,
        }
    }

    /// Prepares for a call from outside: limits count from here.
    pub fn begin(&mut self) {
        self.memory_limit = memory::live_bytes().saturating_add(self.limits.max_memory_bytes);
        self.fuel = TICKS_PER_CHECK;
        self.frames.clear();
        self.registers.clear();
        self.tapes.clear();
        self.accumulators.clear();
        self.accumulator_groups.clear();
        self.logs.clear();
        self.levels_open = 0;
    }

    pub fn code(&mut self, function: FunctionId) -> Outcome<Rc<Code>> {
        let at = function.0 as usize;
        match (self.codes.get(at), self.program.functions.get(at)) {
            (Some(Some(code)), _) => Ok(Rc::clone(code)),
            (Some(None), Some(function)) => {
                let code = compile_function(function);
                self.codes[at] = Some(Rc::clone(&code));
                Ok(code)
            }
            _ => malformed("a call of a function that does not exist"),
        }
    }

    pub fn derivatives(&mut self, op: PrimOp) -> Rc<[Derivative]> {
        Rc::clone(self.derivatives.entry(op).or_insert_with(|| op.derivatives().into()))
    }

    pub fn fresh_level(&mut self) -> u64 {
        self.next_level += 1;
        self.next_level
    }

    /// To be called once per iteration of anything that may take long.
    #[inline]
    pub fn tick(&mut self) -> Outcome<()> {
        self.fuel -= 1;
        if self.fuel == 0 {
            return self.check_limits();
        }
        Ok(())
    }

    #[cold]
    fn check_limits(&mut self) -> Outcome<()> {
        self.fuel = TICKS_PER_CHECK;
        if self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return fail(ErrorKind::Deadline, "time limit exceeded");
        }
        self.check_memory(0)
    }

    /// Fails if so many more bytes do not fit.
    pub fn check_memory(&self, more: usize) -> Outcome<()> {
        match memory::live_bytes().saturating_add(more) > self.memory_limit {
            true => memory_exceeded(),
            false => Ok(()),
        }
    }

    /// Runs a function to its end on top of whatever is running.
    pub fn run(&mut self, code: &Rc<Code>, captures: Vec<Value>, args: Vec<Value>) -> Outcome<Vec<Value>> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let (bottom, registers) = (self.frames.len(), self.registers.len());
            let accumulators = (self.accumulators.len(), self.accumulator_groups.len());
            let logs = self.logs.len();
            let result = self.enter_and_execute(code, captures, args, bottom);
            result.map_err(|mut failure| {
                self.locate(&mut failure, bottom);
                self.frames.truncate(bottom);
                self.registers.truncate(registers);
                self.accumulators.truncate(accumulators.0);
                self.accumulator_groups.truncate(accumulators.1);
                self.logs.truncate(logs);
                failure
            })
        })
    }

    /// The results of a function without parameters: nothing they depend on can change.
    fn constant(&mut self, function: FunctionId, code: &Rc<Code>) -> Outcome<Rc<[Value]>> {
        if let Some(values) = self.constants.get(&function) {
            return Ok(Rc::clone(values));
        }
        let values: Rc<[Value]> = self.run(code, Vec::new(), Vec::new())?.into();
        self.constants.insert(function, Rc::clone(&values));
        Ok(values)
    }

    fn enter_and_execute(
        &mut self,
        code: &Rc<Code>,
        captures: Vec<Value>,
        args: Vec<Value>,
        bottom: usize,
    ) -> Outcome<Vec<Value>> {
        let base = self.make_room(code)?;
        for (register, value) in captures.into_iter().chain(args).enumerate() {
            match self.registers.get_mut(base + register) {
                Some(slot) => *slot = value,
                None => return malformed("too many arguments"),
            }
        }
        self.frames.push(Frame { code: Rc::clone(code), pc: 0, base, dst: List { start: 0, len: 0 }, skip: 0 });
        self.execute(bottom)
    }

    /// Registers for one more frame; returns its base.
    fn make_room(&mut self, code: &Code) -> Outcome<usize> {
        if self.limits.max_depth.is_some_and(|depth| self.frames.len() >= depth) {
            return fail(ErrorKind::DepthLimit, "too many nested calls");
        }
        let base = self.registers.len();
        let needed = base + code.registers;
        if needed > self.registers.capacity() {
            let capacity = needed.max(self.registers.capacity() * 2).max(1024);
            // While the stack moves, both copies exist.
            self.check_memory(capacity * size_of::<Value>())?;
            if self.registers.try_reserve_exact(capacity - base).is_err() {
                return memory_exceeded();
            }
            self.account_stack();
        }
        if self.frames.len() == self.frames.capacity() {
            let more = self.frames.capacity().max(64);
            self.check_memory(2 * more * size_of::<Frame>())?;
            if self.frames.try_reserve_exact(more).is_err() {
                return memory_exceeded();
            }
            self.account_stack();
        }
        self.registers.resize_with(needed, Value::default);
        Ok(base)
    }

    fn account_stack(&mut self) {
        let now = self.registers.capacity() * size_of::<Value>() + self.frames.capacity() * size_of::<Frame>();
        memory::release(self.stack_bytes);
        memory::acquire(now);
        self.stack_bytes = now;
    }

    /// Adds to a failure where it happened, unless a nested run has done so.
    fn locate(&self, failure: &mut Failure, bottom: usize) {
        let place = |frame: &Frame| frame.code.spans.get(frame.pc.saturating_sub(1)).copied().unwrap_or_default();
        let open = self.frames.get(bottom..).unwrap_or_default();
        let mut trace = match failure.place.take() {
            Some(place) => *place,
            None => (open.last().map(place).unwrap_or_default(), Vec::new()),
        };
        let calls = open.iter().rev().flat_map(|frame| self.program.open_calls(&frame.code.name, place(frame)));
        let room = RuntimeError::LONGEST_TRACE.saturating_sub(trace.1.len());
        trace.1.extend(calls.take(room).map(|(function, span)| Call { function, span }));
        failure.place = Some(Box::new(trace));
    }

    #[inline]
    fn get<'a>(&'a self, code: &'a Code, base: usize, operand: Operand) -> &'a Value {
        match operand.is_constant() {
            true => code.constant(operand),
            false => &self.registers[base + operand.index()],
        }
    }

    /// The value, moved out of its register where the operand says so.
    #[inline]
    pub(crate) fn fetch(&mut self, code: &Code, base: usize, operand: Operand) -> Value {
        match () {
            () if operand.is_constant() => code.constant(operand).clone(),
            () if operand.is_take() => std::mem::take(&mut self.registers[base + operand.index()]),
            () => self.registers[base + operand.index()].clone(),
        }
    }

    fn fetch_all(&mut self, code: &Code, base: usize, list: List) -> Vec<Value> {
        code.list(list).iter().map(|operand| self.fetch(code, base, *operand)).collect()
    }

    /// An integer without its derivatives: an index or a size.
    #[inline]
    fn integer(&self, code: &Code, base: usize, operand: Operand) -> Outcome<i64> {
        match self.get(code, base, operand) {
            Value::Scalar(Const::I64(value)) => Ok(*value),
            other => match other.as_scalar() {
                Some(Const::I64(value)) => Ok(value),
                _ => malformed("an index or size that is no i64"),
            },
        }
    }

    pub(crate) fn integers(&self, code: &Code, base: usize, list: List) -> Outcome<Vec<i64>> {
        code.list(list).iter().map(|operand| self.integer(code, base, *operand)).collect()
    }

    #[inline]
    pub(crate) fn set(&mut self, base: usize, register: u32, value: Value) {
        self.registers[base + register as usize] = value;
    }

    /// Like [`Machine::set`], without a look at what a scalar's register would have to drop.
    #[inline(always)]
    fn set_scalar(&mut self, base: usize, register: u32, value: Const) {
        // The two common types apart: copying a constant of unknown type goes byte by byte through memory.
        match (&mut self.registers[base + register as usize], value) {
            (Value::Scalar(Const::F64(old)), Const::F64(value)) => *old = value,
            (Value::Scalar(Const::I64(old)), Const::I64(value)) => *old = value,
            (Value::Scalar(old), value) => *old = value,
            (other, value) => *other = Value::Scalar(value),
        }
    }

    pub(crate) fn set_all(&mut self, code: &Code, base: usize, dst: List, values: Vec<Value>) -> Outcome<()> {
        if values.len() != dst.len as usize {
            return malformed("a wrong number of results");
        }
        for (register, value) in code.list(dst).iter().zip(values) {
            self.registers[base + register.index()] = value;
        }
        Ok(())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        memory::release(self.stack_bytes);
    }
}
