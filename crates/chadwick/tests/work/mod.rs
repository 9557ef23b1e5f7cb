#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses a part of this")]
//! What programs and their derivatives cost, counted.

use chadwick::compile::Engine;
use chadwick::{Backend, Counters, Program, Value};
use chadwick_core::Mode;

/// Numbers between -1 and 1 that look random.
pub fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

pub fn vector(count: usize, seed: u64) -> Value {
    numbers(count, seed).into()
}

pub fn matrix(rows: usize, columns: usize, seed: u64) -> Value {
    Value::new([rows, columns], numbers(rows * columns, seed)).expect("as many numbers as places")
}

pub fn example(name: &str) -> Program {
    let path = format!("{}/../../examples/{name}.fut", env!("CARGO_MANIFEST_DIR"));
    Program::from_file(path)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .unwrap_or_else(|error| panic!("{}", error.message()))
}

pub fn source(text: &str) -> Program {
    Program::from_source(text)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The program whose entry point also gives the gradient by all floats.
pub fn with_gradient(program: &Program, entry: &str) -> Program {
    with_gradient_by(Engine::ChadFast, program, entry).unwrap_or_else(|error| panic!("{}", error.message()))
}

/// The same by any engine, which may refuse it.
pub fn with_gradient_by(engine: Engine, program: &Program, entry: &str) -> chadwick::Result<Program> {
    let program = program.with_engine(engine)?;
    let wrt = program.function(entry).and_then(|function| function.wrt_arguments()).expect("floats to differentiate by");
    program.derivative_of(entry, &wrt, Mode::Vjp)
}

/// What a call of an entry point costs.
pub fn count(program: &Program, entry: &str, args: &[Value]) -> Counters {
    let function = program.function(entry).expect("the entry point");
    program.reset_counters();
    function.call(args).unwrap_or_else(|error| panic!("{}", error.message()));
    program.counters()
}

/// A function and its value with gradient.
pub struct Cost {
    pub primal: Counters,
    pub gradient: Counters,
}

impl Cost {
    pub fn of(program: &Program, entry: &str, args: &[Value], seeds: &[Value]) -> Cost {
        let program = program.with_engine(Engine::ChadFast).unwrap_or_else(|error| panic!("{}", error.message()));
        let primal = count(&program, entry, args);
        let all: Vec<Value> = args.iter().chain(seeds).cloned().collect();
        Cost { primal, gradient: count(&with_gradient(&program, entry), entry, &all) }
    }

    pub fn ratio(&self) -> f64 {
        self.gradient.float_operations as f64 / self.primal.float_operations as f64
    }
}

/// An example, its entry point, arguments, and cotangents of the results.
pub type Example = (&'static str, &'static str, Vec<Value>, Vec<Value>);

/// Each example with arguments of some size.
pub fn examples() -> Vec<Example> {
    let one = || vec![Value::from(1.0)];
    let codes: Vec<i64> = (0..30).map(|at| at % 3).collect();
    vec![
        ("bundle_adjustment", "residual", vec![vector(11, 1), vector(3, 2), 0.9.into(), vector(2, 3)], vec![vector(2, 4)]),
        ("expression_tree", "value", vec![2.0.into(), 3.0.into(), 0.5.into()], one()),
        ("gaussian_mixture", "log_likelihood", vec![vector(5, 1), matrix(5, 4, 2), matrix(5, 4, 3), matrix(40, 4, 4)], one()),
        ("kmeans", "cost", vec![matrix(5, 4, 1), matrix(40, 4, 2)], one()),
        ("linear_regression", "loss", vec![vector(50, 1), vector(50, 2), 1.5.into(), 0.25.into()], one()),
        ("logistic_regression", "loss", vec![vector(6, 1), matrix(40, 6, 2), vector(40, 3)], one()),
        ("lstm", "loss", vec![0.5.into(), 0.1.into(), (-0.2).into(), vector(20, 1), vector(20, 2)], one()),
        ("ode_fit", "misfit", vec![1.1.into(), 0.4.into(), 0.1.into(), 0.4.into(), 100i64.into()], one()),
        ("pipeline", "value", vec![vector(30, 1), codes.into(), 0.5.into()], one()),
    ]
}

/// The numbers in the results of an entry point, and what they cost.
pub fn run(program: &Program, entry: &str, args: &[Value]) -> (Vec<f64>, Counters) {
    let function = program.function(entry).expect("the entry point");
    program.reset_counters();
    let values = function.call(args).unwrap_or_else(|error| panic!("{}", error.message()));
    let numbers = values.iter().flat_map(|value| match value.as_scalar::<f64>() {
        Some(number) => vec![number],
        None => value.as_slice::<f64>().expect("floats").to_vec(),
    });
    (numbers.collect(), program.counters())
}

#[track_caller]
pub fn assert_near(found: &[f64], wanted: &[f64], what: &str) {
    let largest = wanted.iter().fold(1.0f64, |largest, number| largest.max(number.abs()));
    let near = |(found, wanted): (&f64, &f64)| (found - wanted).abs() <= 1e-9 * largest;
    assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(near), "{what}: {found:?} is not {wanted:?}");
}
