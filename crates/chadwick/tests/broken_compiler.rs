//! A C compiler that is there and does not work. The environment belongs to a process, so the tests run in one of their own.

use chadwick::{Backend, Program, Value};
use std::process::Command;

const IN_CHILD: &str = "CHADWICK_TEST_WITHOUT_COMPILER";

/// Runs the named test again with a compiler that only fails; true in that run.
fn is_child(test: &str) -> bool {
    if std::env::var_os(IN_CHILD).is_some() {
        return true;
    }
    let directory = std::env::temp_dir().join(format!("chadwick-{test}-{}", std::process::id()));
    let this = std::env::current_exe().expect("a test has a file");
    let output = Command::new(this)
        .args([test, "--exact", "--nocapture"])
        .env(IN_CHILD, "1")
        .env("CC", "false")
        .env("CHADWICK_CACHE_DIR", &directory)
        .output()
        .expect("the test runs");
    let _ = std::fs::remove_dir_all(&directory);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    false
}

const SOURCE: &str = "entry cube (x: f64) = trace (x * x * x)";

#[test]
fn the_interpreter_runs_functions_and_gradients_with_a_warning() {
    if !is_child("the_interpreter_runs_functions_and_gradients_with_a_warning") {
        return;
    }
    let program = Program::from_source(SOURCE).expect("a program");
    let traced = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let sink = std::rc::Rc::clone(&traced);
    program.set_trace(move |_, values| sink.borrow_mut().push(values.to_owned()));
    let cube = program.function("cube").expect("an entry point");
    assert_eq!(program.warnings(), []);
    assert_eq!(cube.call(&[2.0.into()]).expect("a value"), [Value::from(8.0)]);
    assert_eq!(*traced.borrow(), ["8.0f64"]);
    let codes: Vec<&str> = program.warnings().iter().map(|warning| warning.code).collect();
    assert_eq!(codes, ["W0412"]);
    assert_eq!(cube.value_and_gradient(&[2.0.into()]).expect("a gradient").1, [Value::from(12.0)]);
}

#[test]
fn asked_for_by_name_native_code_is_an_error() {
    if !is_child("asked_for_by_name_native_code_is_an_error") {
        return;
    }
    let program = Program::from_source(SOURCE).expect("a program");
    let native = program.with_backend(Backend::Native(Default::default())).expect("there is a compiler");
    let cube = native.function("cube").expect("an entry point");
    let errors = [native.prepare().err(), cube.call(&[2.0.into()]).err(), cube.value_and_gradient(&[2.0.into()]).err()];
    for error in errors {
        let message = error.expect("an error").to_string();
        assert!(message.contains("no native code: the C compiler failed"), "{message}");
    }
}
