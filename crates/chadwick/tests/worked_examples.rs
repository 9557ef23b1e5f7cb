//! What the worked examples of the papers cost, counted: in reverse mode one tape entry per scalar operation and input, whatever is
//! shared, captured or nested. Their values and gradients are in `tests/programs/spec_dual_numbers.fut` and `spec_chad.fut`.

use chadwick::{Backend, Counters, Program, Value};

/// The gradient of the entry point `f` and what it cost.
fn gradient(source: &str, args: &[Value]) -> (Vec<Value>, Counters) {
    let program = Program::from_source(source)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .unwrap_or_else(|error| panic!("{error}\n{source}"));
    let function = program.function("f").expect("an entry point");
    let gradient = function.gradient().expect("one float");
    program.reset_counters();
    let values = gradient.call(args).unwrap_or_else(|error| panic!("{error}\n{source}"));
    (values, program.counters())
}

/// What running the entry point `f` costs.
fn primal(source: &str, args: &[Value]) -> Counters {
    let program = Program::from_source(source)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .unwrap_or_else(|error| panic!("{error}\n{source}"));
    let function = program.function("f").expect("an entry point");
    program.reset_counters();
    function.call(args).unwrap_or_else(|error| panic!("{error}\n{source}"));
    program.counters()
}

fn number(value: &Value) -> f64 {
    value.as_scalar::<f64>().expect("an f64")
}

/// Checks that the tape has an entry for each operation and each input, and no more.
#[track_caller]
fn assert_entries(counters: Counters, operations: u64, inputs: u64) {
    assert_eq!(counters.differentiated_operations, operations, "{counters:?}");
    assert_eq!(counters.tape_entries, operations + inputs, "{counters:?}");
}

#[test]
fn a_running_example_has_two_operations_and_two_inputs() {
    let source = "entry f (x: f64) (y: f64) = let z = x + y in x * z";
    let (values, counters) = gradient(source, &[12.0.into(), 13.0.into()]);
    assert_eq!(values.iter().map(number).collect::<Vec<_>>(), [37.0, 12.0]);
    assert_entries(counters, 2, 2);
}

#[test]
fn a_chain_of_bindings_is_gone_through_once() {
    let source = "entry f (x: f64) (y: f64) = let a = x * y let b = x + a let c = b * a in c";
    let (values, counters) = gradient(source, &[2.0.into(), 3.0.into()]);
    assert_eq!(values.iter().map(number).collect::<Vec<_>>(), [48.0, 28.0]);
    assert_entries(counters, 3, 2);
}

#[test]
fn a_condition_costs_nothing_on_the_tape() {
    let source = "entry f (a: f64) = let b = a + 1 in if b > 0 then a * b else b";
    for (a, derivative, operations) in [(1.0, 3.0, 2), (-3.0, 1.0, 1)] {
        let (values, counters) = gradient(source, &[a.into()]);
        assert_eq!(number(&values[0]), derivative);
        assert_entries(counters, operations, 1);
    }
}

#[test]
fn doubling_is_linear() {
    let source = "entry f (n: i64) (x: f64) = loop x for _i < n do x + x";
    for n in [10u64, 100, 1000] {
        let (values, counters) = gradient(source, &[(n as i64).into(), 1.5.into()]);
        assert_eq!(number(&values[0]), 2f64.powi(n as i32));
        assert_entries(counters, n, 1);
    }
    let scaled = "entry f (n: i64) (x: f64) = loop x for _i < n do 0.5 * (x + x)";
    let (values, counters) = gradient(scaled, &[100_000i64.into(), 1.5.into()]);
    assert_eq!(number(&values[0]), 1.0);
    assert_entries(counters, 200_000, 1);
}

#[test]
fn a_shared_expression_is_differentiated_once() {
    // y + y, where y has some operations of its own.
    let source = "entry f (x: f64) = let y = f64.sin (x * x) in y + y";
    let (values, counters) = gradient(source, &[0.5.into()]);
    assert!((number(&values[0]) - 2.0 * 0.25f64.cos()).abs() < 1e-15);
    assert_entries(counters, 3, 1);
}

#[test]
fn exp_is_visited_once_though_used_three_times() {
    let source = "entry f (x: f64) = let y = f64.exp x let z = f64.log y in y + f64.sin z / f64.cos z";
    let x = 0.7f64;
    let (values, counters) = gradient(source, &[x.into()]);
    assert!((number(&values[0]) - (x.exp() + x.cos().powi(-2))).abs() < 1e-12);
    // exp, log, sin, cos, /, +
    assert_entries(counters, 6, 1);
}

#[test]
fn a_dot_product_has_two_operations_per_element() {
    let source = "entry f [n] (xs: [n]f64) (ys: [n]f64) = f64.sum (map2 (*) xs ys)";
    for n in [1usize, 10, 1000] {
        let (values, counters) = gradient(source, &[vec![1.5; n].into(), vec![2.5; n].into()]);
        assert_eq!(values, [Value::from(vec![2.5; n]), Value::from(vec![1.5; n])]);
        assert_entries(counters, 2 * n as u64, 2 * n as u64);
    }
}

#[test]
fn a_gather_that_is_shared_happens_once() {
    let shared = |n: usize| {
        let source = "entry f [n] (xs: [n]f64) = let ys = map (\\i -> xs[n - 1 - i]) (iota n) in ys[0] + ys[1] + ys[2]";
        primal(source, &[vec![1.0; n].into()])
    };
    let gather_alone = |n: usize| {
        let source = "entry f [n] (xs: [n]f64) = let ys = map (\\i -> xs[n - 1 - i]) (iota n) in ys[0]";
        primal(source, &[vec![1.0; n].into()])
    };
    for n in [10, 1000] {
        let (shared, alone) = (shared(n), gather_alone(n));
        assert_eq!(shared.operations, alone.operations + 2, "two additions more");
        assert_eq!(shared.allocations, alone.allocations);
    }
    let source = "entry f [n] (xs: [n]f64) = let ys = map (\\i -> xs[n - 1 - i]) (iota n) in ys[0] + ys[1] + ys[2]";
    let (values, counters) = gradient(source, &[vec![1.0; 5].into()]);
    assert_eq!(values, [Value::from(vec![0.0, 0.0, 1.0, 1.0, 1.0])]);
    // A gather is no scalar operation.
    assert_entries(counters, 2, 5);
}

#[test]
fn a_function_called_twice_contributes_from_both_calls() {
    // a * a, 3 * a, a * (3 a), and the sum: a gets four contributions.
    let source = "entry f (a: f64) = let h = \\v -> a * v in h a + h (3 * a)";
    let (values, counters) = gradient(source, &[2.0.into()]);
    assert_eq!(number(&values[0]), 16.0);
    assert_entries(counters, 4, 1);
}

#[test]
fn what_is_not_used_costs_a_slot_and_no_work() {
    // The first component of a pair, n times over; the second component is as large as we like.
    for n in [2u64, 8, 32] {
        let product = vec!["x.0"; n as usize].join(" * ");
        let source = format!("def g [m] (x: (f64, [m]f64)) = {product}\nentry f [m] (a: f64) (rest: [m]f64) = g (a, rest)");
        let mut work = Vec::new();
        for size in [1usize, 1000] {
            let (values, counters) = gradient(&source, &[1.25.into(), vec![9.0; size].into()]);
            let wanted = n as f64 * 1.25f64.powi(n as i32 - 1);
            assert!((number(&values[0]) - wanted).abs() <= 1e-12 * wanted);
            assert_entries(counters, n - 1, 1 + size as u64);
            work.push(counters.operations);
        }
        assert_eq!(work[0], work[1]);
    }
}

#[test]
fn nested_functions_are_linear() {
    // (λx_{n-1}. … (λx₁. x₁) x₂ …) x_n, the identity; and the same with one operation in each body.
    for n in 2..=24usize {
        let (mut identity, mut doubling) = (String::from("x1"), String::from("x1"));
        for level in 1..n {
            identity = format!("(\\x{level} -> {identity}) x{}", level + 1);
            doubling = format!("(\\x{level} -> {doubling} * 2) x{}", level + 1);
        }
        let (values, counters) = gradient(&format!("entry f (x{n}: f64) = {identity}"), &[2.5.into()]);
        assert_eq!(number(&values[0]), 1.0);
        assert_entries(counters, 0, 1);
        let (values, counters) = gradient(&format!("entry f (x{n}: f64) = {doubling}"), &[2.5.into()]);
        assert_eq!(number(&values[0]), 2f64.powi(n as i32 - 1));
        assert_entries(counters, n as u64 - 1, 1);
    }
}

/// The same where the functions are values that nobody can see through: chosen by a condition.
#[test]
fn nested_closures_are_linear() {
    for n in 2..=24usize {
        let mut body = String::from("x1");
        for level in 1..n {
            body = format!("(if c then \\x{level} -> {body} * 2 else \\x{level} -> x{level}) x{}", level + 1);
        }
        let (values, counters) = gradient(&format!("entry f (c: bool) (x{n}: f64) = {body}"), &[true.into(), 2.5.into()]);
        assert_eq!(number(&values[0]), 2f64.powi(n as i32 - 1));
        assert_entries(counters, n as u64 - 1, 1);
    }
}

#[test]
fn closures_made_by_recursion_are_linear() {
    let source = "
        def nested (n: i64): f64 -> f64 = if n == 0 then \\x -> x else let g = nested (n - 1) in \\x -> (\\f -> f (x * 1)) g
        entry f (n: i64) (x: f64) = nested n x";
    for n in [1u64, 100, 1000] {
        let (values, counters) = gradient(source, &[(n as i64).into(), 0.25.into()]);
        assert_eq!(number(&values[0]), 1.0);
        assert_entries(counters, n, 1);
    }
}

#[test]
fn a_fold_is_linear_and_its_capture_gets_one_contribution_per_step() {
    let source = "entry f [n] (c: f64) (start: f64) (v: [n]f64) = foldl (\\a b -> a * b * c) start v";
    let (values, counters) = gradient(source, &[3.0.into(), 1.0.into(), vec![2.0, 3.0, 4.0].into()]);
    assert_eq!(values, [Value::from(648.0), Value::from(648.0), Value::from(vec![324.0, 216.0, 162.0])]);
    assert_entries(counters, 6, 5);
    let (_, counters) = gradient(source, &[1.0.into(), 1.0.into(), vec![1.0; 1000].into()]);
    assert_entries(counters, 2000, 1002);
}

#[test]
fn an_iterated_function_has_one_entry_per_step() {
    let source = "entry f (n: i64) (s: f64) = loop s for _i < n do s * s";
    let (values, counters) = gradient(source, &[3i64.into(), 1.1.into()]);
    assert!((number(&values[0]) - 15.5897368).abs() < 1e-7);
    assert_entries(counters, 3, 1);
}

#[test]
fn recursion_costs_what_a_loop_costs() {
    let source =
        "def power (n: i64) (x: f64): f64 = if n <= 0 then 1 else x * power (n - 1) x\nentry f (n: i64) (x: f64) = power n x";
    for n in [10u64, 10_000] {
        let (values, counters) = gradient(source, &[(n as i64).into(), 1.0001.into()]);
        let wanted = n as f64 * 1.0001f64.powi(n as i32 - 1);
        assert!((number(&values[0]) - wanted).abs() < 1e-9 * wanted);
        assert_entries(counters, n, 1);
    }
}

#[test]
fn a_pullback_runs_the_function_once_for_many_cotangents() {
    let source = "entry f (x: f64) (y: f64) = (x * y, f64.sin x)";
    let program = Program::from_source(source).and_then(|program| program.with_backend(Backend::Interpreter)).expect("a program");
    program.reset_counters();
    let (values, pullback) = program.function("f").expect("an entry").pullback(&[2.0.into(), 3.0.into()]).expect("runs");
    assert_eq!(number(&values[0]), 6.0);
    let entries = program.counters().tape_entries;
    let first = pullback.call(&[1.0.into(), 0.0.into()]).expect("runs");
    assert_eq!(first.iter().map(number).collect::<Vec<_>>(), [3.0, 2.0]);
    let second = pullback.call(&[0.0.into(), 1.0.into()]).expect("runs");
    assert_eq!(second.iter().map(number).collect::<Vec<_>>(), [2f64.cos(), 0.0]);
    // The third is the first times two plus the second times three.
    let third = pullback.call(&[2.0.into(), 3.0.into()]).expect("runs");
    assert_eq!(number(&third[0]), 2.0 * 3.0 + 3.0 * 2f64.cos());
    assert_eq!(program.counters().tape_entries, entries, "nothing is recorded again");
}
