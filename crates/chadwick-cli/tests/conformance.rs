//! Every program of `tests/`, `examples/` and `gradbench/` passes its own tests.

use std::path::PathBuf;
use std::process::Command;

fn passes(directory: &str, tolerance: &[&str]) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(["test", "--timeout", "120"])
        .args(if tolerance.iter().any(|word| *word == "--backend" || *word == "--engine") {
            &[][..]
        } else {
            &["--backend", "interp"]
        })
        .args(tolerance)
        .arg(directory)
        .current_dir(root)
        .env("CHADWICK_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/native"))
        .output()
        .expect("the binary runs");
    let output = String::from_utf8_lossy(&run.stdout);
    let last = output.lines().last().unwrap_or("");
    assert!(
        last.contains(" passed, 0 failed, 0 skipped") && !last.starts_with("0 "),
        "{output}\n{}",
        String::from_utf8_lossy(&run.stderr)
    );
    assert_eq!(run.status.code(), Some(0));
}

#[test]
fn conformance_at_the_tolerance_of_the_format() {
    passes("tests/conformance/language", &[]);
}

#[test]
fn derivatives_at_nine_digits() {
    passes("tests/conformance/ad", &["--tolerance", "1e-9", "--tolerance-f32", "2e-4"]);
}

#[test]
fn programs() {
    passes("tests/programs", &[]);
}

#[test]
fn examples_at_nine_digits() {
    passes("examples", &["--tolerance", "1e-9"]);
    passes("gradbench", &["--tolerance", "1e-9"]);
    passes("bench/programs", &["--tolerance", "1e-9"]);
}

const FAST: [&str; 6] = ["--engine", "chad-fast", "--tolerance", "1e-9", "--tolerance-f32", "2e-4"];

#[test]
fn derivatives_as_core_at_nine_digits() {
    passes("tests/conformance/ad", &FAST);
    passes("tests/programs/sizes_asked_in_a_branch.fut", &FAST);
}

#[test]
fn derivatives_by_dual_numbers_at_nine_digits() {
    passes("tests/conformance/ad", &["--engine", "dual", "--tolerance", "1e-9", "--tolerance-f32", "2e-4"]);
    passes("tests/programs", &["--engine", "dual"]);
}

/// All but the naive ones, whose time is exponential, on programs of every kind.
#[test]
fn derivatives_on_every_rung_of_dual_numbers() {
    for rung in ["staged", "cayley", "sparse", "mutable", "single", "contrib", "delta", "parallel"] {
        passes("tests/conformance/ad/beyond-futhark", &["--engine", &format!("dual:{rung}")]);
    }
}

/// Linear maps take a part of the language; what they take they get right, and the rest they refuse with its place.
#[test]
fn derivatives_by_linear_maps_at_nine_digits() {
    for (directory, least) in [("tests/conformance/ad", 2030), ("examples", 20), ("gradbench", 20)] {
        let options = ["--engine", "linear-maps", "--tolerance", "1e-9", "--tolerance-f32", "2e-4"];
        takes_or_refuses(directory, &options, least);
    }
    let native = ["--engine", "linear-maps", "--backend", "native", "--fp", "strict"];
    takes_or_refuses("tests/conformance/ad/beyond-futhark", &native, 300);
}

/// Dual arrays take programs with static shapes, and refuse the rest in the same way.
#[test]
fn derivatives_by_dual_arrays_at_nine_digits() {
    for (directory, least) in [("tests/conformance/ad", 2000), ("examples", 22), ("gradbench", 20)] {
        let options = ["--engine", "dual-arrays", "--tolerance", "1e-9", "--tolerance-f32", "2e-4"];
        takes_or_refuses(directory, &options, least);
    }
    let native = ["--engine", "dual-arrays", "--backend", "native", "--fp", "strict"];
    takes_or_refuses("tests/conformance/ad/beyond-futhark", &native, 290);
}

/// So many tests pass, and every other program is refused by the engine.
fn takes_or_refuses(directory: &str, options: &[&str], least: usize) {
    let run = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(["test", "--timeout", "120"])
        .args(options)
        .arg(directory)
        .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("CHADWICK_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/native"))
        .output()
        .expect("the binary runs");
    let output = String::from_utf8_lossy(&run.stdout);
    for line in output.lines().filter(|line| line.starts_with("FAIL")) {
        assert!(line.contains("this engine cannot differentiate") && line.contains(".fut:"), "{line}");
    }
    let passed = output.lines().last().and_then(|last| last.split(' ').next()?.parse::<usize>().ok()).unwrap_or(0);
    assert!(passed >= least, "{directory}: {passed} tests passed, which should be {least} at least");
}

#[test]
fn derivatives_by_efficient_chad_at_nine_digits() {
    passes("tests/conformance/ad", &["--engine", "chad-efficient", "--tolerance", "1e-9", "--tolerance-f32", "2e-4"]);
    passes("tests/conformance/ad/beyond-futhark", &["--engine", "chad-efficient:map", "--tolerance", "1e-9"]);
    passes("tests/conformance/ad/beyond-futhark", &["--engine", "chad-efficient:parallel", "--tolerance", "1e-9"]);
    passes("tests/programs", &["--engine", "chad-efficient"]);
}

#[test]
fn derivatives_by_chad_as_it_is_defined() {
    for engine in ["chad", "chad:simplified"] {
        passes("tests/conformance/ad/beyond-futhark", &["--engine", engine]);
    }
    passes("tests/programs", &["--engine", "chad"]);
}

#[test]
fn programs_and_examples_with_derivatives_as_core() {
    passes("tests/programs", &["--engine", "chad-fast"]);
    passes("examples", &FAST);
}

/// The same results in native code. Compiled once, and kept for the next run of the tests.
#[test]
fn everything_in_native_code() {
    for directory in ["tests/conformance", "tests/programs", "examples", "gradbench"] {
        passes(directory, &["--backend", "native", "--fp", "strict"]);
    }
}

#[test]
fn derivatives_by_dual_numbers_in_native_code() {
    let options = ["--engine", "dual", "--backend", "native", "--fp", "strict"];
    passes("tests/conformance/ad/beyond-futhark", &options);
    passes("tests/conformance/ad/chadwick-only", &options);
}

#[test]
fn derivatives_in_fast_native_code_at_nine_digits() {
    passes("examples", &["--backend", "native", "--tolerance", "1e-9", "--tolerance-f32", "2e-4"]);
    passes("gradbench", &["--backend", "native", "--tolerance", "1e-9"]);
}
