//! `chadwick bench`: what is measured, and how it is reported. How long anything takes is not tested.

use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(arguments)
        .current_dir(root)
        .env("NO_COLOR", "1")
        .output()
        .expect("the binary starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The measurements of a run with the interpreter, which is there on every machine.
#[track_caller]
fn measured(arguments: &[&str]) -> Vec<Json> {
    let all: Vec<&str> = ["bench", "--time", "0.02", "--json", "-"].into_iter().chain(arguments.iter().copied()).collect();
    let (code, stdout, stderr) = run(&all);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let document: Json = serde_json::from_str(&stdout).expect("JSON");
    document["measurements"].as_array().expect("measurements").clone()
}

fn column<'a>(measurements: &'a [Json], name: &str) -> Vec<&'a str> {
    measurements.iter().map(|measurement| measurement[name].as_str().unwrap_or_default()).collect()
}

/// A file in a directory of its own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("chadwick-bench-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Scratch(path)
    }

    fn file(&self, name: &str, content: &str) -> String {
        std::fs::write(self.0.join(name), content).expect("a file");
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const DATASETS: &str = "\
-- ==
-- entry: sum
-- \"three\" input { [1.0, 2.0, 3.0] } output { 6.0 }
-- random input { [1000]f64 }
-- nobench input { [1.0] }
-- script input { [1.0] }
-- input { empty([0]f64) } error: anything
entry sum (xs: []f64): f64 = f64.sum xs
-- ==
-- entry: halve
-- input { 4i64 } output { 2i64 }
entry halve (x: i64): i64 = x / 2
";

#[test]
fn inputs_of_tests_are_measured_with_gradients_where_there_are_some() {
    let scratch = Scratch::new("datasets");
    let file = scratch.file("datasets.fut", DATASETS);
    let all = measured(&[&file, "--backend", "interp", "--grad"]);
    assert_eq!(column(&all, "entry"), ["sum", "sum", "sum", "sum", "halve"]);
    assert_eq!(column(&all, "kind"), ["primal", "gradient", "primal", "gradient", "primal"]);
    assert_eq!(all[0]["dataset"], "three");
    // Arguments and results: three numbers and one; the gradient has three more.
    assert_eq!([&all[0]["bytes"], &all[1]["bytes"]], [32, 56]);
    assert_eq!(all[2]["bytes"], 8008);
    assert!(all[2]["peak_bytes"].as_u64().is_some_and(|bytes| bytes >= 8000));
    assert!(all[1]["ratio"].is_number() && all[0]["ratio"].is_null());
    assert!(all.iter().all(|one| one["median_seconds"].is_number() && one["repetitions"].as_u64() >= Some(1)));
    assert_eq!(column(&measured(&[&file, "--backend", "interp", "--entry", "halve"]), "entry"), ["halve"]);
}

#[test]
fn back_ends_stand_side_by_side() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let both = measured(&[
        "examples/linear_regression.fut",
        "--entry",
        "loss",
        "--backend",
        "interp,native",
        "--grad",
        "--threads",
        "1",
    ]);
    assert_eq!(column(&both, "backend"), ["interp", "native", "interp", "native"]);
    assert_eq!(column(&both, "kind"), ["primal", "primal", "gradient", "gradient"]);
    let random = ["examples/logistic_regression.fut", "--entry", "curvature", "--random", "3,50x3,50,3"];
    let native = measured(&random);
    assert_eq!((native.len(), &native[0]["dataset"], &native[0]["bytes"]), (1, &Json::from("3,50x3,50,3"), &Json::from(1672)));
}

#[test]
fn random_inputs_fit_the_parameters() {
    let base = ["examples/linear_regression.fut", "--backend", "interp"];
    let with = |more: &[&'static str]| -> Vec<&'static str> { base.iter().chain(more).copied().collect() };
    let two = measured(&with(&["--entry", "loss", "--random", "10,10,0.5,-1", "--random", "20,20,0.5,-1"]));
    assert_eq!(column(&two, "dataset"), ["10,10,0.5,-1", "20,20,0.5,-1"]);
    // Entry points whose parameters are others are left out.
    assert_eq!(column(&measured(&with(&["--random", "10,10,3"])), "entry"), ["fit"]);
    let refused = |more: &[&'static str], message: &str| {
        let arguments: Vec<&str> = std::iter::once("bench").chain(with(more)).collect();
        let (code, _, stderr) = run(&arguments);
        assert!(code == Some(1) && stderr.contains(message), "{code:?} {stderr}");
    };
    refused(&["--entry", "loss", "--random", "10,10"], "there are 2 items, but `loss : ");
    refused(&["--entry", "loss", "--random", "10x2,10,1,1"], "`10x2` is not the sizes of a value of type []f64");
    refused(&["--entry", "absent"], "there is no entry point `absent`");
    // The sizes may still not agree: that is an error of the program.
    refused(&["--entry", "loss", "--random", "10,11,1,1"], "of loss has the wrong size");
}

#[test]
fn a_saved_run_is_compared_with() {
    let scratch = Scratch::new("saved");
    let file = scratch.file("datasets.fut", DATASETS);
    let saved = scratch.0.join("saved.json").display().to_string();
    let base = ["bench", &file, "--backend", "interp", "--entry", "halve", "--time", "0.02"];
    let with =
        |more: [&str; 2]| run(&base.iter().copied().chain(more.into_iter().filter(|word| !word.is_empty())).collect::<Vec<_>>());
    let (code, table, _) = with(["--json", &saved]);
    assert_eq!(code, Some(0));
    let header: Vec<&str> = table.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert_eq!(header, ["entry", "dataset", "backend", "kind", "median", "±", "throughput", "memory"]);
    let (code, table, stderr) = with(["--compare", &saved]);
    assert_eq!(code, Some(0), "{stderr}");
    let header = table.lines().nth(1).unwrap_or_default();
    assert!(header.ends_with("÷ was"), "{table}");
    let (code, _, stderr) = with(["--compare", &file]);
    assert!(code == Some(1) && stderr.contains("datasets.fut: "), "{stderr}");
    let nothing = scratch.file("nothing.fut", "entry f (x: i64) = x");
    let (code, _, stderr) = run(&["bench", &nothing]);
    assert!(code == Some(1) && stderr.contains("there is nothing to measure"), "{stderr}");
}

#[test]
fn runs_that_are_short_beside_the_clock_are_timed_many_at_once() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let scratch = Scratch::new("short");
    let file = scratch.file("datasets.fut", DATASETS);
    let halve = measured(&[&file, "--entry", "halve"]);
    assert!(halve[0]["runs_per_repetition"].as_u64() > Some(10), "{halve:#?}");
    // What takes memory, and limits: of a batch there are the results of the last run.
    let program = chadwick::Program::from_source("entry f (n: i64) = map (* 2) (iota n)").expect("a program");
    let native = program.with_backend(chadwick::Backend::Native(chadwick::NativeOptions::default())).expect("native code");
    let deadline = Some(Instant::now() + Duration::from_secs(600));
    native.set_limits(chadwick::Limits { max_memory_bytes: 4096, deadline, max_depth: None });
    let mut batches = [50, 50, 0].into_iter();
    let function = native.function("f").expect("a function");
    let results = function.call_in_batches(&[100i64.into()], |_| batches.next().unwrap_or(0)).expect("results");
    assert_eq!(results[0].as_slice::<i64>().map(|values| values[99]), Some(198));
}

#[test]
fn the_timeout_is_that_of_one_run() {
    let source = "entry f (x: f64) = loop y = x for _i < 5000i64 do 0.5 * y + x";
    let program = chadwick::Program::from_source(source).expect("a program");
    let interpreted = program.with_backend(chadwick::Backend::Interpreter).expect("a program");
    let function = interpreted.function("f").expect("a function");
    let gradient = function.gradient().expect("a gradient");
    // More time than is allowed passes, but not in one run.
    let slowly = || {
        let deadline = Some(Instant::now() + Duration::from_millis(600));
        interpreted.set_limits(chadwick::Limits { deadline, ..chadwick::Limits::default() });
        let mut batches = [1, 3, 2, 0].into_iter();
        move |_| {
            std::thread::sleep(Duration::from_millis(250));
            batches.next().unwrap_or(0)
        }
    };
    assert_eq!(function.call_in_batches(&[3.0.into()], slowly()).map(|results| results.len()).expect("results"), 1);
    assert_eq!(gradient.call_in_batches(&[3.0.into()], slowly()).map(|(values, _)| values.len()).expect("results"), 2);
}

#[test]
fn inputs_that_changed_are_not_compared() {
    let scratch = Scratch::new("changed");
    let file = scratch.file("datasets.fut", DATASETS);
    let saved = scratch.0.join("saved.json").display().to_string();
    let bench = |more: &[&str]| {
        let base = ["bench", &file, "--backend", "interp", "--time", "0.02"];
        run(&base.iter().chain(more).copied().collect::<Vec<_>>())
    };
    assert_eq!(bench(&["--json", &saved]).0, Some(0));
    // A test in front shifts the numbers of those behind it; one has another input.
    let shifted =
        DATASETS.replace("-- \"three\"", "-- input { [9.0] }\n-- \"three\"").replace("{ 4i64 } output { 2i64 }", "{ 6i64 }");
    scratch.file("datasets.fut", &shifted);
    let (code, stdout, stderr) = bench(&["--compare", &saved, "--json", "-"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let document: Json = serde_json::from_str(&stdout).expect("JSON");
    let compared: Vec<&Json> = document["measurements"].as_array().into_iter().flatten().map(|one| &one["compared"]).collect();
    assert!(compared[0].is_null() && compared[1]["ratio"].is_number() && compared[2]["ratio"].is_number(), "{document:#}");
    assert_eq!(*compared[3], json!({ "other_input": true }), "{document:#}");
    assert!(bench(&["--compare", &saved]).1.contains("other input"));
    // What is not there any more, and what is no time.
    let (_, _, stderr) = bench(&["--compare", &saved, "--entry", "halve"]);
    assert!(
        stderr.contains("nothing that was measured now matches\n") && stderr.contains(": sum, three (interp, primal)\n"),
        "{stderr}"
    );
    scratch.file("saved.json", r#"{"measurements": [{"entry": "halve", "median_seconds": 0.0}]}"#);
    let (_, table, stderr) = bench(&["--compare", &saved, "--entry", "halve"]);
    assert!(stderr.contains("1 of the measurements have no positive time"), "{stderr}");
    assert!(!table.contains("inf"), "{table}");
}

#[test]
fn a_test_that_cannot_be_run_does_not_keep_others_from_it() {
    let scratch = Scratch::new("broken");
    let program = "-- ==\n-- entry: sum\n-- input @ missing.in\n-- input { [1.0] }\n-- ==\n-- entry: absent\n-- input { 1 }\n-- input { 2 }\n\n\
                   entry sum (xs: []f64): f64 = f64.sum xs\nentry other (x: i64) = x\n";
    let file = scratch.file("broken.fut", program);
    let (code, stdout, stderr) = run(&["bench", &file, "--backend", "interp", "--time", "0.02", "--json", "-"]);
    assert_eq!(code, Some(1));
    let document: Json = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(document["measurements"].as_array().map(Vec::len), Some(1), "{document:#}");
    assert!(stderr.contains("broken.fut: sum, #0:\n") && stderr.contains("missing.in: "), "{stderr}");
    assert_eq!(stderr.matches("broken.fut: the tests of `absent`:\n").count(), 1, "{stderr}");
    assert!(stderr.contains("there is no entry point `absent`") && stderr.contains("other"), "{stderr}");
}

#[test]
fn a_run_is_not_lost_with_the_file_that_it_is_saved_in() {
    let scratch = Scratch::new("unwritable");
    let file = scratch.file("datasets.fut", DATASETS);
    let bench =
        |saved: &str| run(&["bench", &file, "--backend", "interp", "--entry", "halve", "--time", "0.02", "--json", saved]);
    // What can be known before it is measured.
    let absent = scratch.0.join("absent/saved.json").display().to_string();
    let (code, stdout, stderr) = bench(&absent);
    assert!(code == Some(1) && stdout.is_empty() && stderr.contains("absent/saved.json: "), "{stdout}{stderr}");
    // What cannot.
    if std::path::Path::new("/dev/full").exists() {
        let (code, stdout, stderr) = bench("/dev/full");
        assert!(code == Some(1) && stdout.contains("halve") && stderr.contains("/dev/full: "), "{stdout}{stderr}");
    }
    // A file stays as it is until then.
    let nothing = scratch.file("nothing.fut", "entry f (x: i64) = x");
    let kept = scratch.file("kept.json", "kept");
    for saved in [&kept, &scratch.0.join("new.json").display().to_string()] {
        assert_eq!(run(&["bench", &nothing, "--json", saved]).0, Some(1));
    }
    assert_eq!(std::fs::read_to_string(&kept).ok().as_deref(), Some("kept"));
    assert!(!scratch.0.join("new.json").exists());
}

#[test]
fn of_one_run_it_is_not_known_how_certain_it_is() {
    let scratch = Scratch::new("one");
    let file = scratch.file("datasets.fut", DATASETS);
    let base = ["bench", &file, "--backend", "interp", "--entry", "halve", "--time", "1e-9"];
    let (code, table, stderr) = run(&base);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!table.contains('%') && table.contains("\n? too few runs"), "{table}");
    let (_, json, _) = run(&base.iter().copied().chain(["--json", "-"]).collect::<Vec<_>>());
    let document: Json = serde_json::from_str(&json).expect("JSON");
    assert!(document["measurements"][0]["deviation"].is_null(), "{document:#}");
}
