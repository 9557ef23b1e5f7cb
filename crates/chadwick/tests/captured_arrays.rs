//! A call of a closure costs what the call does, not what the closure has captured: also in reverse mode.

use chadwick::compile::Engine;
use chadwick::{Backend, Counters, Program, Value};
use chadwick_core::Mode;

/// A function chosen at run time that has captured an array, called `m` times.
const SOURCE: &str = "
def chosen [n] (a: [n]f64): i64 -> f64 = if n > 3 then \\i -> a[i] * a[i] else \\i -> a[i]

entry in_a_loop [n] (a: [n]f64) (m: i64): f64 = let g = chosen a in loop s = 0 for i < m do s + g (i % n)

entry in_parallel [n] (a: [n]f64) (m: i64): f64 = let g = chosen a in f64.sum (map (\\i -> g (i % n)) (iota m))

entry through_a_call [n] (a: [n]f64) (m: i64): f64 =
  let g = chosen a
  let rec go (i: i64) (s: f64): f64 = if i >= m then s else go (i + 1) (s + g (i % n) * s)
  in go 0 1
";

fn cost(entry: &str, length: usize, calls: i64) -> Counters {
    let program = Program::from_source(SOURCE)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .unwrap_or_else(|error| panic!("{}", error.message()));
    let program = program.with_engine(Engine::ChadFast).unwrap_or_else(|error| panic!("{}", error.message()));
    let derivative = program.derivative_of(entry, &[0], Mode::Vjp).unwrap_or_else(|error| panic!("{}", error.message()));
    let args: [Value; 3] = [vec![0.5; length].into(), calls.into(), 1.0.into()];
    derivative.reset_counters();
    derivative.function(entry).expect("the entry point").call(&args).unwrap_or_else(|error| panic!("{}", error.message()));
    derivative.counters()
}

#[test]
fn a_captured_array_does_not_make_calls_dearer() {
    for entry in ["in_a_loop", "in_parallel", "through_a_call"] {
        let [short, long] = [10, 10_000].map(|length| {
            let (few, many) = (cost(entry, length, 100), cost(entry, length, 200));
            assert_eq!(many.copies, few.copies, "{entry} with {length} elements");
            (many.float_operations - few.float_operations, many.allocated_bytes - few.allocated_bytes)
        });
        assert_eq!(
            short, long,
            "{entry}: what a hundred more calls cost, in operations and bytes, with 10 and with 10000 elements"
        );
    }
}
