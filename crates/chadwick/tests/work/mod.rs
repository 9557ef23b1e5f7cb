#![expect(dead_code, reason = "each test file uses its part")]
//! What programs and their derivatives cost, counted.

use chadwick::compile::Engine;
use chadwick::{Counters, Program, Value};
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
    Program::from_file(path).unwrap_or_else(|error| panic!("{}", error.message()))
}

pub fn source(text: &str) -> Program {
    Program::from_source(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The program whose entry point also gives the gradient by all floats.
pub fn with_gradient(program: &Program, entry: &str) -> Program {
    let program = program.with_engine(Engine::ChadFast).unwrap_or_else(|error| panic!("{}", error.message()));
    let wrt = program.function(entry).and_then(|function| function.wrt_arguments()).expect("floats to differentiate by");
    program.derivative_of(entry, &wrt, Mode::Vjp).unwrap_or_else(|error| panic!("{}", error.message()))
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
