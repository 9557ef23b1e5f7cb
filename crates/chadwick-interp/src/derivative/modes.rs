//! The modes: one or many tangents, one or many cotangents, many sets of inputs.

use super::scalar::is_zero;
use super::structure;
use super::tape::Tape;
use crate::array::ArrayBuilder;
use crate::code::{Code, DifferentiateSpec};
use crate::error::{ErrorKind, Outcome, fail, malformed};
use crate::machine::Machine;
use crate::value::{Tangent, Value};
use chadwick_core::typing::set_types;
use chadwick_core::{Const, Element, Mode, Prim, Type};
use std::rc::Rc;

/// One run of a function in reverse mode: its tape, kept for any number of sweeps.
pub(crate) struct Recorded {
    tape: Tape,
    /// The arguments, and which of them are inputs.
    args: Vec<Value>,
    inputs: usize,
    is_input: Vec<bool>,
    /// The results with their slots.
    lifted: Vec<Value>,
    pub results: Vec<Value>,
}

impl Machine {
    pub(crate) fn differentiate(
        &mut self,
        spec: &DifferentiateSpec,
        captures: Vec<Value>,
        mut operands: Vec<Value>,
    ) -> Outcome<Vec<Value>> {
        if operands.len() < spec.args + spec.seeds {
            return malformed("a derivative with too few operands");
        }
        let count = operands.split_off(spec.args + spec.seeds).pop();
        let seeds = operands.split_off(spec.args);
        let args = operands;
        self.levels_open += 1;
        let result = match spec.mode {
            Mode::Jvp => {
                let (primal, tangent) = self.forward(&spec.function, captures, &args, &seeds)?;
                Ok((primal, tangent))
            }
            Mode::Vjp => {
                let recorded = self.record_run(&spec.function, captures, args, |_| true)?;
                let cotangent = self.backward(&recorded, &seeds)?;
                Ok((recorded.results, cotangent))
            }
            Mode::Jmp | Mode::Mjp | Mode::Dependencies => {
                let count = match count.and_then(|count| count.as_scalar()) {
                    Some(Const::I64(count)) => count.max(0),
                    _ => return malformed("a number of seeds that is no i64"),
                };
                if let Some(seed) = seeds.iter().find(|seed| seed.as_array().is_none_or(|array| array.shape()[0] != count)) {
                    let found = seed.as_array().map_or(0, |array| array.shape()[0]);
                    return fail(ErrorKind::Differentiation, format!("{found} seeds where {count} belong"));
                }
                match spec.mode {
                    Mode::Jmp => self.many_forward(spec, captures, &args, &seeds, count),
                    Mode::Dependencies => self.dependencies(spec, captures, &args, &seeds, count),
                    _ => self.many_backward(spec, captures, args, &seeds, count),
                }
            }
        };
        self.levels_open = self.levels_open.saturating_sub(1);
        let (mut primal, derivative) = result?;
        if !spec.with_primal {
            primal.clear();
        }
        primal.extend(derivative);
        Ok(primal)
    }

    /// Primal and tangent of a function.
    fn forward(
        &mut self,
        function: &Rc<Code>,
        captures: Vec<Value>,
        args: &[Value],
        seeds: &[Value],
    ) -> Outcome<(Vec<Value>, Vec<Value>)> {
        let level = self.fresh_level();
        let mut lifted = Vec::with_capacity(args.len());
        for (arg, seed) in args.iter().zip(seeds) {
            lifted.push(structure::zip(arg, seed, &mut |arg, seed| {
                self.check_memory(0)?;
                Ok(match is_zero(seed) || arg.prim() == Some(Prim::Bool) {
                    true => arg.clone(),
                    false => Value::active(level, arg.clone(), Tangent::Forward(seed.clone())),
                })
            })?);
        }
        self.check_memory(0)?;
        let results = self.run(function, captures, lifted)?;
        let mut tangents = Vec::with_capacity(results.len());
        let mut primals = Vec::with_capacity(results.len());
        for result in &results {
            tangents.push(structure::map(result, &mut |leaf| {
                Ok(match leaf {
                    Value::Active(active) if active.level == level => match &active.tangent {
                        Tangent::Forward(tangent) => positive_zero(tangent),
                        Tangent::Reverse(_) | Tangent::Inputs(_) => return malformed("no tangent in forward mode"),
                    },
                    other => zero_like(other),
                })
            })?);
            primals.push(structure::strip(result, level)?);
        }
        Ok((primals, tangents))
    }

    /// Runs a function in reverse mode; `is_input` says by which arguments to differentiate.
    pub(crate) fn record_run(
        &mut self,
        function: &Rc<Code>,
        captures: Vec<Value>,
        args: Vec<Value>,
        is_input: impl Fn(usize) -> bool,
    ) -> Outcome<Recorded> {
        let level = self.fresh_level();
        self.tapes.push(Tape::new(level));
        let depth = self.tapes.len();
        let result = self.record_on_tape(level, function, captures, &args, &is_input);
        self.tapes.truncate(depth);
        let tape = self.tapes.pop();
        let (inputs, lifted) = result?;
        let Some(tape) = tape else { return malformed("a lost tape") };
        let mut results = Vec::with_capacity(lifted.len());
        for value in &lifted {
            results.push(structure::strip(value, level)?);
        }
        let is_input = (0..args.len()).map(is_input).collect();
        Ok(Recorded { tape, args, inputs, is_input, lifted, results })
    }

    fn record_on_tape(
        &mut self,
        level: u64,
        function: &Rc<Code>,
        captures: Vec<Value>,
        args: &[Value],
        is_input: &dyn Fn(usize) -> bool,
    ) -> Outcome<(usize, Vec<Value>)> {
        let mut lifted = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            lifted.push(match is_input(at) {
                true => structure::map(arg, &mut |leaf| match leaf.prim() {
                    Some(Prim::Bool) | None => Ok(leaf.clone()),
                    Some(_) => {
                        let slot = self.record(level, std::iter::empty())?;
                        Ok(Value::active(level, leaf.clone(), Tangent::Reverse(slot)))
                    }
                })?,
                false => arg.clone(),
            });
        }
        let inputs = self.tape_mut(level).map_or(0, |tape| tape.len());
        self.check_memory(0)?;
        let results = self.run(function, captures, lifted)?;
        Ok((inputs, results))
    }

    /// The cotangents of the inputs for cotangents of the results.
    pub(crate) fn backward(&mut self, recorded: &Recorded, seeds: &[Value]) -> Outcome<Vec<Value>> {
        let mut cotangents = self.cotangents(&recorded.tape)?;
        let level = recorded.tape.level;
        for (result, seed) in recorded.lifted.iter().zip(seeds) {
            let mut additions: Vec<(u32, Value)> = Vec::new();
            structure::for_each_pair(result, seed, &mut |result, seed| {
                if let Value::Active(active) = result
                    && active.level == level
                    && let Tangent::Reverse(slot) = active.tangent
                {
                    additions.push((slot, seed.clone()));
                }
                Ok(())
            })?;
            for (slot, value) in additions {
                self.add_cotangent(&mut cotangents, slot, value)?;
            }
        }
        self.sweep(&recorded.tape, &mut cotangents, recorded.inputs)?;
        let mut slot = 0;
        let mut results = Vec::new();
        for (arg, is_input) in recorded.args.iter().zip(&recorded.is_input) {
            if !is_input {
                continue;
            }
            results.push(structure::map(arg, &mut |leaf| {
                Ok(match leaf.prim() {
                    Some(Prim::Bool) => Value::Scalar(Const::Bool(false)),
                    Some(prim) => {
                        slot += 1;
                        positive_zero(&cotangents.take_or_zero(slot - 1, prim))
                    }
                    None => Value::Absent,
                })
            })?);
        }
        Ok(results)
    }

    fn many_forward(
        &mut self,
        spec: &DifferentiateSpec,
        captures: Vec<Value>,
        args: &[Value],
        seeds: &[Value],
        count: i64,
    ) -> Outcome<(Vec<Value>, Vec<Value>)> {
        let mut primals = None;
        let mut gathered = self.gather(&spec.results, count)?;
        for at in 0..count {
            let seeds = nth(seeds, at)?;
            let (primal, tangents) = self.forward(&spec.function, captures.clone(), args, &seeds)?;
            primals.get_or_insert(primal);
            self.push_each(&mut gathered, tangents)?;
        }
        let primals = match primals {
            Some(primals) => primals,
            None => self.run(&spec.function, captures, args.to_vec())?,
        };
        let shapes: Vec<Value> = primals.clone();
        let derivative = self.finish_each(gathered, &spec.results, &shapes, count)?;
        Ok((primals, derivative))
    }

    /// For each seed, the sets of the inputs on which the numbers of the results depend.
    fn dependencies(
        &mut self,
        spec: &DifferentiateSpec,
        captures: Vec<Value>,
        args: &[Value],
        seeds: &[Value],
        count: i64,
    ) -> Outcome<(Vec<Value>, Vec<Value>)> {
        let types = match set_types(&spec.results) {
            Ok(types) => types,
            Err(problem) => return malformed(&problem),
        };
        let shapes = self.run(&spec.function, captures.clone(), args.to_vec())?;
        let mut gathered = self.gather(&types, count)?;
        for at in 0..count {
            let level = self.fresh_level();
            let mut lifted = Vec::with_capacity(args.len());
            for (arg, seed) in args.iter().zip(nth(seeds, at)?) {
                lifted.push(structure::zip(arg, &seed, &mut |arg, seed| {
                    self.check_memory(0)?;
                    Ok(match seed.as_scalar() {
                        Some(Const::U64(set)) if set != 0 => Value::active(level, arg.clone(), Tangent::Inputs(set)),
                        _ => arg.clone(),
                    })
                })?);
            }
            let results = self.run(&spec.function, captures.clone(), lifted)?;
            let mut sets = Vec::with_capacity(results.len());
            for result in &results {
                sets.push(structure::map_to(result, Prim::U64, &mut |leaf| {
                    Ok(Value::Scalar(Const::U64(match leaf {
                        Value::Active(active) if active.level == level => match active.tangent {
                            Tangent::Inputs(set) => set,
                            _ => return malformed("a number without a set of inputs"),
                        },
                        _ => 0,
                    })))
                })?);
            }
            self.push_each(&mut gathered, sets)?;
        }
        let derivative = self.finish_each(gathered, &types, &shapes, count)?;
        Ok((shapes, derivative))
    }

    fn many_backward(
        &mut self,
        spec: &DifferentiateSpec,
        captures: Vec<Value>,
        args: Vec<Value>,
        seeds: &[Value],
        count: i64,
    ) -> Outcome<(Vec<Value>, Vec<Value>)> {
        let recorded = self.record_run(&spec.function, captures, args, |_| true)?;
        let mut gathered = self.gather(&spec.params, count)?;
        for at in 0..count {
            let seeds = nth(seeds, at)?;
            let cotangents = self.backward(&recorded, &seeds)?;
            self.push_each(&mut gathered, cotangents)?;
        }
        let derivative = self.finish_each(gathered, &spec.params, &recorded.args, count)?;
        Ok((recorded.results, derivative))
    }

    /// One builder per value, each for `count` values of its type.
    fn gather(&self, types: &[Type], count: i64) -> Outcome<Vec<ArrayBuilder>> {
        types.iter().map(|ty| self.seed_builder(ty, count, &[])).collect()
    }

    fn seed_builder(&self, ty: &Type, count: i64, inner: &[i64]) -> Outcome<ArrayBuilder> {
        let element = match ty {
            Type::Prim(prim) => Element::Prim(*prim),
            Type::Array(array) => array.element.clone(),
            other => Element::Boxed(Rc::new(other.clone())),
        };
        ArrayBuilder::new(Some(&[count]), &element, inner, ty.rank(), self.memory_limit)
    }

    fn push_each(&mut self, builders: &mut [ArrayBuilder], values: Vec<Value>) -> Outcome<()> {
        let limit = self.memory_limit;
        builders.iter_mut().zip(values).try_for_each(|(builder, value)| builder.push(value, limit))
    }

    /// The gathered arrays; without seeds, empty ones with the inner shape of the primal.
    fn finish_each(&mut self, builders: Vec<ArrayBuilder>, types: &[Type], shapes: &[Value], count: i64) -> Outcome<Vec<Value>> {
        let mut values = Vec::new();
        for ((builder, ty), shape) in builders.into_iter().zip(types).zip(shapes) {
            let builder = match (count, shape) {
                (0, Value::Array(array)) => self.seed_builder(ty, 0, array.shape())?,
                _ => builder,
            };
            let value = builder.finish()?;
            self.count_array(&value);
            values.push(value);
        }
        Ok(values)
    }
}

fn nth(arrays: &[Value], at: i64) -> Outcome<Vec<Value>> {
    arrays
        .iter()
        .map(|array| match array {
            Value::Array(array) => array.index(&[at]),
            _ => malformed("seeds that are no array"),
        })
        .collect()
}

pub(crate) fn zero_like(leaf: &Value) -> Value {
    leaf.prim().map_or(Value::Absent, |prim| Value::Scalar(Const::zero(prim)))
}

/// A derivative as it is seen from outside: zero has no sign. Whether a zero was computed or never touched may depend on whether the
/// derivative is differentiated itself, and its primal must not.
fn positive_zero(derivative: &Value) -> Value {
    match derivative {
        Value::Scalar(_) if is_zero(derivative) => zero_like(derivative),
        Value::Active(active) => match positive_zero(&active.primal) {
            primal @ Value::Scalar(_) if is_zero(&primal) => Value::active(active.level, primal, active.tangent.clone()),
            primal @ Value::Active(_) => Value::active(active.level, primal, active.tangent.clone()),
            _ => derivative.clone(),
        },
        other => other.clone(),
    }
}
