//! What derivatives by fast CHAD cost, counted: operations on floats against the primal's, what is recorded, how it grows.

mod work;

use chadwick::{Counters, Value};
use work::{Cost, example, matrix, vector};

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
    let mut table =
        String::from("example: float operations of value | with gradient; bytes of arrays, arrays, accumulations, copies");
    for (name, entry, args, seeds) in &cases {
        let cost = Cost::of(&example(name), entry, args, seeds);
        let Counters { allocated_bytes, allocations, accumulations, copies, .. } = cost.gradient;
        let (primal, gradient) = (cost.primal.float_operations, cost.gradient.float_operations);
        table += &format!("\n{name}: {primal} | {gradient}; {allocated_bytes}, {allocations}, {accumulations}, {copies}");
        assert!(cost.ratio() <= 5.0, "{name}: {:.2}", cost.ratio());
        cheap += usize::from(cost.ratio() <= 4.0);
    }
    assert!(cheap * 10 >= cases.len() * 8, "only {cheap} of {} examples cost at most 4 times the primal", cases.len());
    // The numbers may only fall. `INSTA_UPDATE=always` writes those of a change that lowers them.
    insta::assert_snapshot!(table);
}
