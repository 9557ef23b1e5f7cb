//! What is written by hand in C for the problems of GradBench computes what the programs compute; other numbers are noticed.

use chadwick::values::Value;
use chadwick::{Function, Program};
use chadwick_bench::gradbench::{by_hand, compare, workloads};
use chadwick_bench::reference::{self, Which};
use chadwick_bench::{Result, flat};
use std::process::Command;

#[test]
fn c_by_hand_agrees_with_programs() -> Result<()> {
    if Command::new(reference::compiler()).arg("--version").output().is_err() {
        eprintln!("skipped: no C compiler");
        return Ok(());
    }
    let directory = std::env::temp_dir().join(format!("chadwick-by-hand-test-{}", std::process::id()));
    for workload in workloads::small() {
        let (name, module, input) = (&workload.name, workload.module, (workload.input)());
        let program = by_hand::program(module)?;
        let executable = by_hand::compile(module, &["-O1", "-std=gnu11"], &directory)?;
        for which in [Which::Primal, Which::Gradient] {
            let Some(function) = workload.function(which) else { continue };
            let ours = output(&program, function, &by_hand::arguments(&program, function, &input)?)?;
            let theirs = by_hand::measure(&executable, module, function, which, &input, 0.0)?.output;
            assert_eq!(compare(&ours, &theirs), Ok(()), "{function} of {name}\n{ours:?}\n{theirs:?}");
            let mut changed = theirs;
            let last = changed.len() - 1;
            changed[last] = changed[last] * (1.0 + 1e-5) + 1e-5;
            assert!(compare(&ours, &changed).is_err(), "{function} of {name} with another number");
        }
    }
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

/// The numbers of an output as the suite sees it, in the order of the fields' names.
fn output(program: &Program, function: &str, arguments: &[Value]) -> Result<Vec<f64>> {
    let results = named(&program.function(function)?, arguments)?;
    let report = format!("{function}_report");
    if !program.entry_points().iter().any(|entry| entry.name == report) {
        return Ok(numbers(results));
    }
    let report = program.function(&report)?;
    let wanted = report.argument_names();
    let arguments = wanted.iter().filter_map(|name| results.iter().find(|(known, _)| known == name));
    let arguments: Vec<Value> = arguments.map(|(_, value)| value.clone()).collect();
    Ok(numbers(named(&report, &arguments)?))
}

fn named(function: &Function, arguments: &[Value]) -> Result<Vec<(String, Value)>> {
    Ok(function.result_names().into_iter().zip(function.call(arguments)?).collect())
}

fn numbers(mut results: Vec<(String, Value)>) -> Vec<f64> {
    results.sort_by(|one, other| one.0.cmp(&other.0));
    flat(&results.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
}

/// A tool that answers everything with a seven.
const SEVEN: &str = r#"
while read -r line; do
    echo '{"success":true,"output":7,"timings":[{"name":"evaluate","nanoseconds":2000000}]}'
done
"#;

#[test]
fn a_peer_that_disagrees_is_an_error() -> Result<()> {
    let script = std::env::temp_dir().join(format!("chadwick-seven-{}.sh", std::process::id()));
    std::fs::write(&script, SEVEN)?;
    let run = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gradbench"));
        command.args(["--seconds", "0", "--tool", &format!("sh {}", script.display()), "llsq 16"]).args(options).output()
    };
    let alone = run(&[])?;
    assert!(alone.status.success(), "{alone:?}");
    assert!(String::from_utf8(alone.stdout)?.contains("| llsq 16 | 2.00 | 2.00 | 1.00 |"));
    let compared = run(&["--by-hand"])?;
    assert_eq!(compared.status.code(), Some(1), "{compared:?}");
    assert!(String::from_utf8(compared.stdout)?.contains("| failed | failed | – | – |"));
    let errors = String::from_utf8(compared.stderr)?;
    assert!(errors.contains("error: llsq 16 primal: C: number 0 is "), "{errors}");
    assert!(errors.contains("error: llsq 16 gradient: C: 128 numbers instead of 1"), "{errors}");
    std::fs::remove_file(script)?;
    Ok(())
}

#[test]
fn outputs_are_compared_number_by_number() {
    assert_eq!(compare(&[1e6, 1.0, 0.0], &[1e6, 1.0 + 1e-7, 1e-9]), Ok(()));
    assert_eq!(compare(&[1e6, 1.0], &[1e6, 1.0001]), Err(String::from("number 1 is 1.0001 instead of 1")));
    assert_eq!(compare(&[1.0, 2.0], &[1.0]), Err(String::from("1 numbers instead of 2")));
    assert!(compare(&[1.0], &[f64::NAN]).is_err());
}
