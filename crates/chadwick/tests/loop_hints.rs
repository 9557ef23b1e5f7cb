//! What `#[stripmine]` and `#[bound]` wish for is done, and changes no result.

mod work;

use chadwick::compile::Stage;
use chadwick::core::Mode;
use chadwick::values::compare::{Tolerance, difference};
use chadwick::{Error, Limits, Program, Value};
use work::{count, source, vector, with_gradient};

fn stepped(attribute: &str) -> Program {
    source(&format!(
        "entry f [m] (n: i64) (x: [m]f64) (c: f64) =\n\
           f64.sum ({attribute} loop y = x for i < n do map (\\v -> f64.sin (v * c) + f64.i64 i * v * 0.001) y)"
    ))
}

fn arguments(steps: i64, size: usize) -> Vec<Value> {
    vec![steps.into(), vector(size, 1), 1.5.into(), 1.0.into()]
}

#[test]
fn stripmining_changes_no_gradient() {
    for steps in [0, 1, 2, 3, 10, 27] {
        let of = |attribute: &str| {
            let program = with_gradient(&stepped(attribute), "f");
            program.function("f").and_then(|function| function.call(&arguments(steps, 4))).expect("runs")
        };
        let plain = of("");
        for levels in 0..4 {
            // Cotangents may be added up in another order.
            let found = difference(&of(&format!("#[stripmine({levels})]")), &plain, &Tolerance::uniform(1e-12));
            assert_eq!(found, None, "{steps} steps, {levels} levels");
        }
    }
}

#[test]
fn stripmining_keeps_a_root_of_the_states() {
    // 400 states of 800 bytes; 20 blocks of 20, or 8 of 8 of 7.
    let gradient = |attribute: &str, memory: usize| {
        let program = with_gradient(&stepped(attribute), "f");
        program.set_limits(Limits { max_memory_bytes: memory, ..Limits::default() });
        program.function("f").and_then(|function| function.call(&arguments(400, 100)))
    };
    assert!(matches!(gradient("", 300_000), Err(Error::Runtime { .. })));
    assert!(gradient("#[stripmine(1)]", 100_000).is_ok());
    assert!(matches!(gradient("#[stripmine(1)]", 30_000), Err(Error::Runtime { .. })));
    assert!(gradient("#[stripmine(2)]", 60_000).is_ok());
}

#[test]
fn each_level_of_stripmining_runs_the_body_once_more() {
    let operations = |attribute: &str| {
        let program = with_gradient(&stepped(attribute), "f");
        count(&program, "f", &arguments(100, 10)).float_operations
    };
    let primal = count(&stepped(""), "f", &arguments(100, 10)[..3]).float_operations;
    let plain = operations("");
    for levels in 1..4 {
        let more = operations(&format!("#[stripmine({levels})]")) - plain;
        assert!(more <= levels * (primal + 50), "{levels} levels: {more} operations more, the loop has {primal}");
    }
}

#[test]
fn the_report_names_the_blocks() {
    let function = stepped("#[stripmine(1)]").function("f").expect("an entry");
    let explanation = function.explain(Mode::Vjp, Stage::Optimise).expect("explained");
    let types: Vec<&str> = explanation.saved.iter().map(|value| value.ty.as_str()).collect();
    assert_eq!(types, ["[blocks][m]f64"], "{}", explanation.report());
}

#[test]
fn a_bound_that_is_exceeded_is_an_error_in_reverse_mode_only() {
    let program = source("entry f (x: f64) = (#[bound(5)] loop (y, i) = (x, 0) while i < 10 do (f64.sin y * x, i + 1)).0");
    assert!(program.function("f").and_then(|function| function.call(&[0.5.into()])).is_ok());
    let run = |program: Program| program.function("f").and_then(|function| function.call(&[0.5.into(), 1.0.into()]));
    let error = run(with_gradient(&program, "f")).expect_err("the bound is exceeded");
    assert!(error.message().contains("the loop made 10i64 iterations, but its bound is 5"), "{}", error.message());
    let kept = source("entry f (x: f64) = (#[bound(10)] loop (y, i) = (x, 0) while i < 10 do (f64.sin y * x, i + 1)).0");
    assert!(run(with_gradient(&kept, "f")).is_ok());
}
