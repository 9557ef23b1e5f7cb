//! Random programs: an engine must agree with the interpreter's own derivatives, in every mode and nested.

use crate::Extent;
use crate::engines::describe;
use crate::marks::{Marks, Outcome, agree};
use crate::worked::numbers;
use chadwick::compile::Engine;
use chadwick::{Backend, Limits, Program, Value};
use chadwick_generate::{Config, Element, Random, entries, generate};
use std::time::{Duration, Instant};

/// How large programs are, and how large for engines that do not have the right complexity, so that they can take some part.
const SIZE: usize = 25;
const SMALL: usize = 6;
const TIME_LIMIT: Duration = Duration::from_secs(1);
const MEMORY_LIMIT: usize = 1 << 30;

/// Random programs on an engine, until all are done or patience is at its end.
pub fn random_programs(engine: Engine, extent: Extent) -> Marks {
    let mut marks = Marks::default();
    let end = Instant::now() + extent.patience;
    for seed in (0..extent.programs).map(|number| extent.seed.wrapping_add(number)) {
        if Instant::now() >= end {
            break;
        }
        marks.add(&format!("seed {seed}"), outcome(engine, seed).unwrap_or_else(Outcome::from));
    }
    marks
}

fn outcome(engine: Engine, seed: u64) -> chadwick::Result<Outcome> {
    let size = if describe(engine).is_slow() { SMALL } else { SIZE };
    let program = generate(seed, &Config::default().with_size(size));
    let plain = Program::from_source(&program.source(Element::F64))?.with_backend(Backend::Interpreter)?;
    let engine = plain.with_engine(engine)?;
    let (input, integers) = program.input(Element::F64);
    let inputs = input.len();
    let input: [Value; 2] = [input.into(), integers.into()];
    let call = |program: &Program, entry: &str, rest: &[Value]| -> chadwick::Result<Vec<f64>> {
        let deadline = Some(Instant::now() + TIME_LIMIT);
        program.set_limits(Limits { max_memory_bytes: MEMORY_LIMIT, deadline, max_depth: Some(100_000) });
        let args: Vec<Value> = input.iter().chain(rest).cloned().collect();
        Ok(numbers(&program.function(entry)?.call(&args)?))
    };
    let results = call(&plain, entries::PRIMAL, &[])?.len();
    let mut random = Random::new(seed ^ 0xE461);
    let mut vector = |size: usize| -> Vec<f64> { (0..size).map(|_| random.between(-9, 9) as f64).collect() };
    let (tangent, cotangent) = (vector(inputs), vector(results));
    let many = [cotangent.clone(), vector(results)].concat();
    let many = Value::new([2, results], many).ok_or_else(|| chadwick::Error::argument("two cotangents of one size"))?;
    let (tangent, cotangent): (Value, Value) = (tangent.into(), cotangent.into());
    let modes = [
        (entries::PRIMAL, Vec::new()),
        (entries::FORWARD, vec![tangent.clone()]),
        (entries::REVERSE, vec![cotangent.clone()]),
        (entries::REVERSE_MANY, vec![many]),
        (entries::FORWARD_REVERSE, vec![cotangent.clone(), tangent.clone()]),
        (entries::REVERSE_REVERSE, vec![cotangent.clone(), tangent.clone()]),
        (entries::REVERSE_FORWARD, vec![cotangent, tangent]),
    ];
    for (entry, rest) in modes {
        let (found, wanted) = (call(&engine, entry, &rest)?, call(&plain, entry, &rest)?);
        if !agree(&found, &wanted) {
            return Ok(Outcome::Wrong(format!("{entry} gives {found:?}, not {wanted:?}")));
        }
    }
    Ok(Outcome::Agreed)
}
