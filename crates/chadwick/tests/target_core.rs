//! Derivatives against those that a person would write: the derived Core gives the same numbers and costs no more, or hardly more.
//!
//! A file in `by_hand/` has an entry point `objective` and its gradient `by_hand`; the Core of the latter is the target, and stands beside it.

use chadwick::compile::Engine;
use chadwick::values::compare::{Tolerance, difference};
use chadwick::{Backend, Counters, Program, Value};
use chadwick_core::Mode;

fn array(shape: &[usize], seed: usize) -> Value {
    let count: usize = shape.iter().product();
    let numbers: Vec<f64> = (0..count).map(|at| ((at * 7919 + seed * 131) % 997) as f64 / 500.0 - 1.0).collect();
    Value::new(shape, numbers).expect("as many numbers as the shape says")
}

fn run(program: &Program, entry: &str, args: &[Value]) -> (Vec<Value>, Counters) {
    program.reset_counters();
    let values = program.function(entry).and_then(|function| function.call(args));
    (values.unwrap_or_else(|error| panic!("{entry}: {}", error.message())), program.counters())
}

/// Asserts that the derivative of `objective` by the parameters costs at most so many percent of the one by hand.
fn reaches_target(file: &str, wrt: &[usize], args: &[Value], percent: u64) {
    let path = format!("{}/tests/by_hand/{file}.fut", env!("CARGO_MANIFEST_DIR"));
    let program = Program::from_file(path)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .unwrap_or_else(|error| panic!("{}", error.message()));
    let target = program.with_engine(Engine::ChadFast).unwrap_or_else(|error| panic!("{}", error.message()));
    let derived = target.derivative_of("objective", wrt, Mode::Vjp).unwrap_or_else(|error| panic!("{}", error.message()));
    let args = [args.to_vec(), vec![1.0.into()]].concat();
    let (wanted, target_cost) = run(&target, "by_hand", &args);
    let (found, cost) = run(&derived, "objective", &args);
    assert_eq!(difference(&found, &wanted, &Tolerance::uniform(1e-12)), None, "{file}");
    let line = |cost: Counters| {
        format!("{} operations, {} bytes, {} accumulations", cost.float_operations, cost.allocated_bytes, cost.accumulations)
    };
    let most = target_cost.float_operations * percent / 100;
    assert!(cost.float_operations <= most, "{file}: {}, by hand {}", line(cost), line(target_cost));
    assert!(cost.allocated_bytes <= 2 * target_cost.allocated_bytes, "{file}: {}, by hand {}", line(cost), line(target_cost));
    assert_eq!(cost.copies, 0, "{file}");
    insta::with_settings!({snapshot_path => "by_hand", prepend_module_to_snapshot => false, omit_expression => true}, {
        let mut core = target.core().clone();
        core.entries.retain(|entry| entry.name == "by_hand");
        chadwick_opt::remove_dead(&mut core);
        insta::assert_snapshot!(file, chadwick_core::text::print(&core));
    });
}

#[test]
fn gaussian_mixture() {
    let (n, d, k) = (20, 8, 4);
    let args = [array(&[n, d], 1), array(&[k], 2), array(&[k, d], 3), array(&[k, d], 4), array(&[k, d * (d - 1) / 2], 5)];
    reaches_target("mixture", &[1, 2, 3, 4], &args, 101);
}

#[test]
fn linear_blend_skinning() {
    let (v, b) = (9, 5);
    let args = [array(&[b, 3, 4], 1), array(&[v, b], 2), array(&[v, 4], 3), array(&[v, 3], 4)];
    reaches_target("skinning", &[0], &args, 100);
}
