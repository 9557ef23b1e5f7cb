//! The tape of one reverse-mode derivative, and the sweep over it.

use super::scalar::is_zero;
use super::structure;
use crate::code::Code;
use crate::error::{Outcome, malformed, memory_exceeded};
use crate::machine::Machine;
use crate::memory;
use crate::value::{Tangent, Value};
use chadwick_core::{Const, Prim, PrimOp};
use std::rc::Rc;

/// What a slot's cotangent adds to the cotangent of an earlier slot.
#[derive(Debug)]
pub(crate) struct Contribution {
    pub parent: u32,
    pub factor: Factor,
}

#[derive(Debug)]
pub(crate) enum Factor {
    One,
    MinusOne,
    Scale(Value),
    Convert { from: Prim, to: Prim },
}

/// A call whose derivative the program gives itself. Its results are slots without contributions; when the sweep reaches the first of
/// them, all their cotangents are known.
#[derive(Debug)]
pub(crate) struct CustomEntry {
    pub rule: Rc<Code>,
    pub rule_captures: Box<[Value]>,
    /// What the rule gets before the cotangents.
    pub saved: Vec<Value>,
    pub results: Vec<Value>,
    /// The arguments as they were passed, with their slots.
    pub args: Vec<Value>,
    pub first: u32,
    pub count: u32,
}

#[derive(Debug)]
pub(crate) struct Tape {
    pub level: u64,
    /// Per slot, the end of its contributions.
    ends: Vec<u32>,
    contributions: Vec<Contribution>,
    customs: Vec<CustomEntry>,
    accounted: usize,
}

impl Tape {
    pub fn new(level: u64) -> Self {
        Tape { level, ends: Vec::new(), contributions: Vec::new(), customs: Vec::new(), accounted: 0 }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Makes room for one slot and so many contributions, within the limit.
    fn reserve(&mut self, contributions: usize, limit: usize) -> Outcome<()> {
        fn grow<T>(vector: &mut Vec<T>, more: usize, limit: usize) -> Outcome<bool> {
            if vector.len() + more <= vector.capacity() {
                return Ok(false);
            }
            let extra = vector.capacity().max(more).max(256);
            let bytes = (vector.capacity() + extra).saturating_mul(size_of::<T>());
            // Slots are numbered by u32.
            if vector.len() + more > u32::MAX as usize || memory::live_bytes().saturating_add(bytes) > limit {
                return memory_exceeded();
            }
            match vector.try_reserve_exact(extra) {
                Ok(()) => Ok(true),
                Err(_) => memory_exceeded(),
            }
        }
        let slots_grew = grow(&mut self.ends, 1, limit)?;
        let contributions_grew = grow(&mut self.contributions, contributions, limit)?;
        if slots_grew || contributions_grew {
            memory::release(self.accounted);
            self.accounted = self.ends.capacity() * size_of::<u32>() + self.contributions.capacity() * size_of::<Contribution>();
            memory::acquire(self.accounted);
        }
        Ok(())
    }

    fn push(&mut self, contributions: impl Iterator<Item = Contribution>, limit: usize) -> Outcome<u32> {
        self.reserve(3, limit)?;
        self.contributions.extend(contributions);
        self.ends.push(self.contributions.len() as u32);
        Ok(self.ends.len() as u32 - 1)
    }

    fn contributions(&self, slot: usize) -> &[Contribution] {
        let start = match slot {
            0 => 0,
            _ => self.ends[slot - 1] as usize,
        };
        &self.contributions[start..self.ends[slot] as usize]
    }

    pub fn push_custom(&mut self, entry: CustomEntry) {
        self.customs.push(entry);
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        memory::release(self.accounted);
    }
}

/// One cotangent per slot; absent means zero.
pub(crate) struct Cotangents {
    values: Vec<Value>,
}

impl Cotangents {
    fn new(slots: usize, machine: &Machine) -> Outcome<Self> {
        let bytes = slots.saturating_mul(size_of::<Value>());
        machine.check_memory(bytes)?;
        let mut values = Vec::new();
        if values.try_reserve_exact(slots).is_err() {
            return memory_exceeded();
        }
        values.resize(slots, Value::Absent);
        memory::acquire(bytes);
        Ok(Cotangents { values })
    }

    fn take(&mut self, slot: u32) -> Value {
        self.values.get_mut(slot as usize).map(std::mem::take).unwrap_or_default()
    }

    /// The cotangent of a slot, or zero of the type.
    pub fn take_or_zero(&mut self, slot: u32, prim: Prim) -> Value {
        match self.take(slot) {
            Value::Absent => Value::Scalar(Const::zero(prim)),
            value => value,
        }
    }
}

impl Drop for Cotangents {
    fn drop(&mut self) {
        memory::release(self.values.len().saturating_mul(size_of::<Value>()));
    }
}

impl Machine {
    /// A new slot on the tape of a level.
    pub(crate) fn record(&mut self, level: u64, contributions: impl Iterator<Item = Contribution>) -> Outcome<u32> {
        self.counters.tape_entries += 1;
        let limit = self.memory_limit;
        match self.tapes.iter_mut().rev().find(|tape| tape.level == level) {
            Some(tape) => tape.push(contributions, limit),
            None => malformed("a number of a derivative that is over"),
        }
    }

    pub(crate) fn tape_mut(&mut self, level: u64) -> Option<&mut Tape> {
        self.tapes.iter_mut().rev().find(|tape| tape.level == level)
    }

    pub(crate) fn cotangents(&self, tape: &Tape) -> Outcome<Cotangents> {
        Cotangents::new(tape.len(), self)
    }

    /// Adds to the cotangent of a slot. Zero adds nothing.
    pub(crate) fn add_cotangent(&mut self, cotangents: &mut Cotangents, slot: u32, value: Value) -> Outcome<()> {
        if is_zero(&value) {
            return Ok(());
        }
        let Some(place) = cotangents.values.get_mut(slot as usize) else { return malformed("a slot beyond the tape") };
        match place {
            Value::Absent => *place = value,
            Value::Scalar(Const::F64(sum)) if matches!(value, Value::Scalar(Const::F64(_))) => {
                if let Value::Scalar(Const::F64(more)) = value {
                    *sum += more;
                }
            }
            _ => {
                let before = std::mem::take(place);
                let sum = self.add(&before, &value)?;
                cotangents.values[slot as usize] = sum;
            }
        }
        Ok(())
    }

    /// Goes over the tape backwards, down to the slots of the inputs. The tape is not on the stack of open tapes any more.
    pub(crate) fn sweep(&mut self, tape: &Tape, cotangents: &mut Cotangents, inputs: usize) -> Outcome<()> {
        let mut customs = tape.customs.iter().rev().peekable();
        for slot in (inputs..tape.len()).rev() {
            self.tick()?;
            if let Some(custom) = customs.peek()
                && slot >= custom.first as usize
            {
                if slot == custom.first as usize {
                    self.custom_sweep(custom, tape.level, cotangents)?;
                    customs.next();
                    continue;
                }
                if slot < (custom.first + custom.count) as usize {
                    continue;
                }
            }
            let cotangent = cotangents.take(slot as u32);
            if matches!(cotangent, Value::Absent) || is_zero(&cotangent) {
                continue;
            }
            for contribution in tape.contributions(slot) {
                let part = match &contribution.factor {
                    Factor::One => cotangent.clone(),
                    Factor::MinusOne => self.negated(&cotangent)?,
                    Factor::Convert { from, to } => {
                        self.apply(PrimOp::Convert { from: *from, to: *to }, std::slice::from_ref(&cotangent))?
                    }
                    Factor::Scale(partial) => match (&cotangent, partial) {
                        (Value::Scalar(Const::F64(x)), Value::Scalar(Const::F64(y))) => Value::Scalar(Const::F64(x * y)),
                        _ => self.guarded_product(&cotangent, partial)?,
                    },
                };
                self.add_cotangent(cotangents, contribution.parent, part)?;
            }
        }
        Ok(())
    }

    fn custom_sweep(&mut self, custom: &CustomEntry, level: u64, cotangents: &mut Cotangents) -> Outcome<()> {
        let slots = custom.first..custom.first + custom.count;
        let silent = |value: &Value| matches!(value, Value::Absent) || is_zero(value);
        if slots.clone().all(|slot| cotangents.values.get(slot as usize).is_none_or(silent)) {
            return Ok(());
        }
        let mut slots = slots;
        let mut args = custom.saved.clone();
        for result in &custom.results {
            args.push(structure::map(result, &mut |leaf| {
                Ok(match leaf.prim() {
                    Some(Prim::Bool) => Value::Scalar(Const::Bool(false)),
                    Some(prim) => cotangents.take_or_zero(slots.next().unwrap_or(u32::MAX), prim),
                    None => Value::Absent,
                })
            })?);
        }
        let given = self.run(&custom.rule, custom.rule_captures.to_vec(), args)?;
        for (arg, cotangent) in custom.args.iter().zip(&given) {
            let mut additions: Vec<(u32, Value)> = Vec::new();
            structure::for_each_pair(arg, cotangent, &mut |arg, cotangent| {
                if let Value::Active(active) = arg
                    && active.level == level
                    && let Tangent::Reverse(slot) = active.tangent
                {
                    additions.push((slot, cotangent.clone()));
                }
                Ok(())
            })?;
            for (slot, value) in additions {
                self.add_cotangent(cotangents, slot, value)?;
            }
        }
        Ok(())
    }
}
