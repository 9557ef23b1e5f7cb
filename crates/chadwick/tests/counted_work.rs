//! What derivatives by fast CHAD cost, counted: operations on floats against the primal's, what is recorded, how it grows.

use chadwick::compile::Engine;
use chadwick::{Counters, Program, Value};
use chadwick_core::Mode;

/// Numbers between -1 and 1 that look random.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn vector(count: usize, seed: u64) -> Value {
    numbers(count, seed).into()
}

fn matrix(rows: usize, columns: usize, seed: u64) -> Value {
    Value::new([rows, columns], numbers(rows * columns, seed)).expect("as many numbers as places")
}

/// What a call of the only entry point costs.
fn count(program: &Program, entry: &str, args: &[Value]) -> Counters {
    let function = program.function(entry).expect("the entry point");
    program.reset_counters();
    function.call(args).unwrap_or_else(|error| panic!("{}", error.message()));
    program.counters()
}

struct Cost {
    primal: Counters,
    gradient: Counters,
}

impl Cost {
    /// Of the value, and of the value with all cotangents of the float arguments.
    fn of(program: &Program, entry: &str, args: &[Value], seeds: &[Value]) -> Cost {
        let program = program.with_engine(Engine::ChadFast).unwrap_or_else(|error| panic!("{}", error.message()));
        let wrt = program.function(entry).expect("the entry point").wrt_arguments().expect("floats");
        let primal = count(&program, entry, args);
        let derivative = program.derivative_of(entry, &wrt, Mode::Vjp).unwrap_or_else(|error| panic!("{}", error.message()));
        let all: Vec<Value> = args.iter().chain(seeds).cloned().collect();
        Cost { primal, gradient: count(&derivative, entry, &all) }
    }

    fn ratio(&self) -> f64 {
        self.gradient.float_operations as f64 / self.primal.float_operations as f64
    }
}

fn example(name: &str) -> Program {
    let path = format!("{}/../../examples/{name}.fut", env!("CARGO_MANIFEST_DIR"));
    Program::from_file(path).unwrap_or_else(|error| panic!("{}", error.message()))
}

#[test]
fn gradients_of_the_examples_cost_a_small_multiple_of_the_primal() {
    let one = || vec![Value::from(1.0)];
    let codes: Vec<i64> = (0..30).map(|at| at % 3).collect();
    let cases: Vec<(&str, &str, Vec<Value>, Vec<Value>)> = vec![
        ("bundle_adjustment", "residual", vec![vector(11, 1), vector(3, 2), 0.9.into(), vector(2, 3)], vec![vector(2, 4)]),
        ("expression_tree", "value", vec![2.0.into(), 3.0.into(), 0.5.into()], one()),
        ("gaussian_mixture", "log_likelihood", vec![vector(5, 1), matrix(5, 4, 2), matrix(5, 4, 3), matrix(40, 4, 4)], one()),
        ("kmeans", "cost", vec![matrix(5, 4, 1), matrix(40, 4, 2)], one()),
        ("linear_regression", "loss", vec![vector(50, 1), vector(50, 2), 1.5.into(), 0.25.into()], one()),
        ("logistic_regression", "loss", vec![vector(6, 1), matrix(40, 6, 2), vector(40, 3)], one()),
        ("lstm", "loss", vec![0.5.into(), 0.1.into(), (-0.2).into(), vector(20, 1), vector(20, 2)], one()),
        ("ode_fit", "misfit", vec![1.1.into(), 0.4.into(), 0.1.into(), 0.4.into(), 100i64.into()], one()),
        ("pipeline", "value", vec![vector(30, 1), codes.into(), 0.5.into()], one()),
    ];
    let mut cheap = 0;
    for (name, entry, args, seeds) in &cases {
        let cost = Cost::of(&example(name), entry, args, seeds);
        eprintln!(
            "{name:20} {:6} operations, with gradient {:6} ({:.2}x), {} bytes",
            cost.primal.float_operations,
            cost.gradient.float_operations,
            cost.ratio(),
            cost.gradient.allocated_bytes
        );
        assert!(cost.ratio() <= 5.0, "{name}: {:.2}", cost.ratio());
        cheap += usize::from(cost.ratio() <= 4.0);
    }
    assert!(cheap * 10 >= cases.len() * 8, "only {cheap} of {} examples cost at most 4 times the primal", cases.len());
}
