//! Counted work of the papers' worked examples: reverse mode costs what the primal costs, times a constant, and no more.

use chadwick::{Program, Value};

/// Differentiated operations and tape entries of a call.
fn work(source: &str, args: &[Value]) -> (u64, u64) {
    let program = Program::from_source(source).expect("a program");
    program.reset_counters();
    program.function("main").and_then(|main| main.call(args)).expect("a result");
    let counters = program.counters();
    (counters.differentiated_operations, counters.tape_entries)
}

/// The work for sizes n, 2n and 3n grows by the same amount each time.
fn grows_linearly(source: &str, args: impl Fn(i64) -> Vec<Value>) {
    let [one, two, three] = [100, 200, 300].map(|n| work(source, &args(n)));
    assert!(two.0 > one.0, "more work for more input");
    assert_eq!(three.0 - two.0, two.0 - one.0, "operations");
    assert_eq!(three.1 - two.1, two.1 - one.1, "tape entries");
}

#[test]
fn the_tape_has_an_entry_per_operation_and_input() {
    let source = "entry main (x: f64) (y: f64) = vjp (\\(x, y) -> let z = x + y in x * z) (x, y) 1";
    assert_eq!(work(source, &[12.0.into(), 13.0.into()]), (2, 4));
}

#[test]
fn the_doubling_chain_is_linear() {
    let source = "entry main (n: i64) (x: f64) = vjp (\\x -> loop y = x for _i < n do (y + y) * 0.5) x 1";
    grows_linearly(source, |n| vec![n.into(), 1.5.into()]);
}

#[test]
fn a_shared_subterm_is_visited_once() {
    let source = "entry main (x: f64) = vjp (\\x -> let y = f64.exp x let z = f64.log y in y + f64.sin z / f64.cos z) x 1";
    assert_eq!(work(source, &[0.5.into()]), (6, 7));
}

#[test]
fn nested_identity_functions_are_linear_not_exponential() {
    let source = "
        def nested (n: i64): f64 -> f64 = if n == 0 then \\x -> x else let g = nested (n - 1) in \\x -> (\\f -> f (x * 1)) g
        entry main (n: i64) (x: f64) = vjp (nested n) x 1";
    grows_linearly(source, |n| vec![n.into(), 0.25.into()]);
}

#[test]
fn an_unused_half_costs_nothing_but_its_zeros() {
    let source = "entry main (n: i64) (x: f64) = vjp (\\(p: (f64, [n]f64)) -> p.0 * p.0 * p.0) (x, replicate n 1) 1";
    let operations = [10, 1000].map(|n: i64| work(source, &[n.into(), 2.0.into()]).0);
    assert_eq!(operations, [2, 2]);
}
