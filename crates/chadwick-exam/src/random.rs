//! Random programs: an engine must agree with the interpreter's own derivatives, in every mode and nested.

use crate::engines::describe;
use crate::marks::{Outcome, agree};
use crate::timed;
use crate::worked::numbers;
use chadwick::compile::Engine;
use chadwick::{Backend, Error, Limits, Program, Value};
use chadwick_generate::{Config, Element, Random, entries, generate};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How large programs are, and how large for engines that do not have the right complexity, so that they can take some part.
const SIZE: usize = 25;
const SMALL: usize = 6;
const TIME_LIMIT: Duration = Duration::from_secs(1);
const MEMORY_LIMIT: usize = 1 << 30;

/// A program with what the interpreter's own derivatives give.
struct Question {
    plain: Program,
    /// The input, in two arrays.
    input: [Value; 2],
    modes: Vec<Mode>,
}

/// An entry point, its further arguments, and the answer.
struct Mode {
    entry: &'static str,
    rest: Vec<Value>,
    wanted: chadwick::Result<Vec<f64>>,
}

/// What each engine makes of a random program, and how long that takes; nothing if its patience is at its end. `spent` is what each spent so
/// far, in nanoseconds.
pub(crate) fn answers(
    seed: u64,
    engines: &[Engine],
    patience: Duration,
    spent: &[AtomicU64],
) -> Vec<Option<(Outcome, Duration)>> {
    let mut questions: [Option<chadwick::Result<Question>>; 2] = [None, None];
    let mut answer = |(engine, spent): (&Engine, &AtomicU64)| {
        if u128::from(spent.load(Ordering::Relaxed)) >= patience.as_nanos() {
            return None;
        }
        let is_slow = describe(*engine).is_slow();
        let size = if is_slow { SMALL } else { SIZE };
        let question = questions[usize::from(is_slow)].get_or_insert_with(|| question(seed, size));
        let answer = || question.as_ref().map_err(Error::clone).and_then(|question| outcome(*engine, question));
        let (outcome, duration) = timed(|| answer().unwrap_or_else(Outcome::from));
        spent.fetch_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        Some((outcome, duration))
    };
    engines.iter().zip(spent).map(&mut answer).collect()
}

fn question(seed: u64, size: usize) -> chadwick::Result<Question> {
    let program = generate(seed, &Config::default().with_size(size));
    let plain = Program::from_source(&program.source(Element::F64))?.with_backend(Backend::Interpreter)?;
    let (input, integers) = program.input(Element::F64);
    let inputs = input.len();
    let input: [Value; 2] = [input.into(), integers.into()];
    let results = call(&plain, entries::PRIMAL, &input, &[])?.len();
    let mut random = Random::new(seed ^ 0xE461);
    let mut vector = |size: usize| -> Vec<f64> { (0..size).map(|_| random.between(-9, 9) as f64).collect() };
    let (tangent, cotangent) = (vector(inputs), vector(results));
    let many = [cotangent.clone(), vector(results)].concat();
    let many = Value::new([2, results], many).ok_or_else(|| Error::argument("two cotangents of one size"))?;
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
    let answered = modes.map(|(entry, rest)| {
        let wanted = call(&plain, entry, &input, &rest);
        Mode { entry, rest, wanted }
    });
    Ok(Question { plain, input, modes: answered.into() })
}

fn call(program: &Program, entry: &str, input: &[Value], rest: &[Value]) -> chadwick::Result<Vec<f64>> {
    let deadline = Some(Instant::now() + TIME_LIMIT);
    program.set_limits(Limits { max_memory_bytes: MEMORY_LIMIT, deadline, max_depth: Some(100_000) });
    let args: Vec<Value> = input.iter().chain(rest).cloned().collect();
    Ok(numbers(&program.function(entry)?.call(&args)?))
}

fn outcome(engine: Engine, question: &Question) -> chadwick::Result<Outcome> {
    let program = question.plain.with_engine(engine)?;
    for Mode { entry, rest, wanted } in &question.modes {
        let found = call(&program, entry, &question.input, rest)?;
        let wanted = wanted.as_ref().map_err(Error::clone)?;
        if !agree(&found, wanted) {
            return Ok(Outcome::Wrong(format!("{entry} gives {found:?}, not {wanted:?}")));
        }
    }
    Ok(Outcome::Agreed)
}
