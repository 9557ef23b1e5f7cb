//! `auto` picks an engine for each derivative, and says why.

mod work;

use chadwick::compile::{Engine, Stage};
use chadwick::core::Mode;
use chadwick::{Backend, Program};
use work::{assert_near, run, source};

/// The order of the derivative in `power` depends on `n`; those in `slope` and `inner` are of a known order.
const MIXED: &str = "
def power (n: i64) (x: f64): f64 = if n <= 0 then x * x * x else vjp (\\y -> power (n - 1) y) x 1
entry higher (n: i64) (x: f64): f64 = power n x
entry slope (x: f64): f64 = vjp (\\y -> f64.sin y * y) x 1
entry outer (x: f64): f64 = vjp (\\y -> y * power 1 y) x 1
entry inner (x: f64): f64 = vjp (\\y -> y * vjp (\\z -> z * z * z) y 1) x 1";

fn native(text: &str) -> Program {
    let program = source(text).compiled(Engine::Auto, Backend::Native(Default::default()));
    program.unwrap_or_else(|error| panic!("{}", error.message()))
}

#[test]
fn what_can_be_code_is_code_beside_what_cannot() {
    let program = native(MIXED);
    assert_eq!(program.engine().engine, Engine::Builtin);
    assert!(program.engine().reason.contains("inside its own definition"), "{}", program.engine().reason);
    let x = 1.5f64;
    let slope = x.cos() * x + x.sin();
    // Values, and whether the interpreter keeps a tape for them.
    for (entry, wanted, keeps_tape) in [("slope", slope, false), ("inner", 9.0 * x * x, false), ("outer", 9.0 * x * x, true)] {
        let (found, counters) = run(&program, entry, &[x.into()]);
        assert_near(&found, &[wanted], entry);
        assert_eq!(counters.tape_entries > 0, keeps_tape, "{entry}: {} entries", counters.tape_entries);
    }
    let orders = [x * x * x, 3.0 * x * x, 6.0 * x, 6.0, 0.0];
    for (order, wanted) in orders.into_iter().enumerate() {
        assert_near(&run(&program, "higher", &[(order as i64).into(), x.into()]).0, &[wanted], "higher");
    }
}

#[test]
fn a_program_that_is_all_code_is_native() {
    let program = native("entry slope (x: f64): f64 = vjp (\\y -> y * y) x 1");
    assert_eq!(program.engine().engine, Engine::ChadFast);
    assert!(program.c_text().is_some());
}

#[test]
fn an_explanation_has_an_engine_and_a_reason_for_each_derivative() {
    let program = source(MIXED);
    let explain = |entry: &str| {
        let function = program.function(entry).expect("the entry point");
        function.explain(Mode::Vjp, Stage::Optimise).unwrap_or_else(|error| panic!("{}", error.message()))
    };
    let by = |entry: &str| {
        let explanation = explain(entry);
        let inside: Vec<Engine> = explanation.inside.iter().map(|(_, choice)| choice.engine).collect();
        (explanation.engine.engine, inside)
    };
    assert_eq!(by("slope"), (Engine::ChadFast, vec![Engine::ChadFast]));
    assert_eq!(by("inner"), (Engine::ChadFast, vec![Engine::ChadFast; 2]));
    assert_eq!(by("higher"), (Engine::Builtin, vec![Engine::Builtin]));
    assert_eq!(by("outer"), (Engine::Builtin, vec![Engine::Builtin; 2]));
    let report = explain("outer").report();
    for wanted in [
        "the derivative at <source>:2:66 by `builtin`: this engine cannot differentiate a function inside its own definition (<source>:2:66)",
        "the derivative at <source>:5:29 by `builtin`: its function has a derivative that is left to the interpreter (<source>:5:29)",
    ] {
        assert!(report.contains(wanted), "{report}");
    }
    let report = explain("slope").report();
    assert!(report.contains("the derivative at <source>:4:29 by `chad-fast`: it has a rule for every construct"), "{report}");
}

/// Who asks for an engine gets that one or an error.
#[test]
fn a_forced_engine_is_not_replaced() {
    for engine in [Engine::ChadFast, Engine::Dual(chadwick::compile::Rung::Tape)] {
        let error = source(MIXED).compiled(engine, Backend::Native(Default::default())).err().expect("a refusal");
        assert!(error.is_refusal() && error.place().is_some_and(|place| place.starts_with("<source>:2:")), "{}", error.message());
    }
}
