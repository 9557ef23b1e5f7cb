//! `chadwick profile`: what it finds. How long anything takes is not tested.

use serde_json::Value as Json;
use std::path::PathBuf;
use std::process::Command;

const PROGRAM: &str = "\
def loss [n] (w: f64) (xs: [n]f64): f64 =
  f64.sum (scan (+) 0 (map (\\x -> f64.exp (w * x)) xs))

entry train [n] (xs: [n]f64) (steps: i64): f64 =
  loop w = 0.1 for _i < steps do
    let slope = grad (\\w -> loss w xs) w
    in w - 1e-6 * slope

entry value [n] (w: f64) (xs: [n]f64): f64 =
  let prefixes = scan (+) 0 (map (* w) xs)
  in f64.sum prefixes + prefixes[n - 1]
";

fn run(file: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let all: Vec<&str> = ["profile", file, "--time", "0.1"].into_iter().chain(arguments.iter().copied()).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_chadwick"));
    let output = command.args(all).env("NO_COLOR", "1").output().expect("the binary starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn program(name: &str) -> (Scratch, String) {
    let directory = std::env::temp_dir().join(format!("chadwick-profile-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join("program.fut");
    std::fs::write(&file, PROGRAM).expect("a file");
    (Scratch(directory), file.display().to_string())
}

#[track_caller]
fn profile(file: &str, arguments: &[&str]) -> Json {
    let all: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
    let (code, stdout, stderr) = run(file, &all);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    serde_json::from_str(&stdout).expect("JSON")
}

fn lines(profile: &Json) -> Vec<u64> {
    let lines = profile["lines"].as_array().into_iter().flatten();
    let mut numbers: Vec<u64> = lines.filter_map(|line| line["line"].as_u64()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn passes_lines_and_memory_are_told() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let (_scratch, file) = program("passes");
    let found = profile(&file, &["value", "--random", "0.5,1000", "--threads", "1"]);
    let steps: Vec<&str> = found["compile"].as_array().into_iter().flatten().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(steps[..3], ["parse and check", "lower", "defunctionalise"]);
    assert_eq!(steps[steps.len() - 3..], ["code generation", "C compiler", "loading"]);
    assert!(["simplify", "fuse", "derivatives"].iter().all(|name| steps.contains(name)), "{steps:?}");
    // One array of prefixes in each run.
    assert_eq!(found["allocations"], 1.0);
    assert!(found["peak_bytes"].as_u64().is_some_and(|bytes| (8000..16_000).contains(&bytes)), "{found:#}");
    assert!(lines(&found).contains(&10), "{found:#}");
    // The gradient has the same lines.
    let gradient = profile(&file, &["value", "--random", "0.5,1000", "--threads", "1", "--grad", "--wrt", "w"]);
    assert!(lines(&gradient).iter().any(|line| *line == 10 || *line == 11), "{gradient:#}");
}

#[test]
fn loops_of_the_program_are_gone_into() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let (_scratch, file) = program("loops");
    let found = profile(&file, &["train", "--random", "1000,5", "--threads", "1"]);
    let lines = lines(&found);
    assert!(lines.contains(&2) && lines.contains(&5), "{found:#}");
    let (code, text, _) = run(&file, &["train", "[1.0, 2.0]", "3"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("C compiler") && text.contains("run of `train`: "), "{text}");
}

#[test]
fn what_cannot_be_profiled_is_an_error() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let (_scratch, file) = program("errors");
    let fails = |arguments: &[&str], status: i32, message: &str| {
        let (code, _, stderr) = run(&file, arguments);
        assert!(code == Some(status) && stderr.contains(message), "{code:?} {stderr}");
    };
    fails(&["--random", "5,5"], 2, "which entry point?");
    fails(&["value", "--random", "5"], 2, "there are 1 items");
    fails(&["value", "1.0", "empty([0]f64)", "--grad"], 1, "index -1 out of bounds for size 0");
    fails(&["train", "[1.0]", "2", "--grad", "--wrt", "steps"], 1, "which has no derivative");
}

#[test]
fn lines_of_imported_files_have_their_name() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let (scratch, file) = program("imports");
    let library = "\n\n\ndef sums [n] (xs: [n]f64): [n]f64 = scan (+) 0 (map f64.exp xs)\n";
    std::fs::write(scratch.0.join("library.fut"), library).expect("a file");
    let main = "import \"library\"\nentry f [n] (xs: [n]f64): f64 =\n  let ys = sums xs\n  let zs = scan f64.max 0 (map f64.sin ys)\n  in ys[n - 1] + f64.sum zs + zs[0]\n";
    std::fs::write(&file, main).expect("a file");
    let found = profile(&file, &["f", "--random", "5000", "--threads", "1"]);
    let places: Vec<(&str, u64)> = found["lines"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|line| Some((line["file"].as_str()?.rsplit('/').next()?, line["line"].as_u64()?)))
        .collect();
    assert!(places.contains(&("library.fut", 4)) && places.contains(&("program.fut", 4)), "{found:#}");
    assert!(found["lines"].as_array().into_iter().flatten().all(|line| !line["text"].as_str().unwrap_or(":").contains(".fut:")));
    let (_, table, _) = run(&file, &["f", "--random", "5000", "--threads", "1"]);
    assert!(table.contains("library.fut:4: def sums"), "{table}");
    assert!(table.contains(" %  4: let zs") && !table.contains("program.fut:"), "{table}");
}

#[test]
fn random_inputs_of_tests_are_taken() {
    let (scratch, file) = program("random");
    let source =
        "-- ==\n-- entry: loss\n-- random input { [10]f64 }\nentry loss [n] (xs: [n]f64): f64 = f64.sum (map (** 2) xs)\n";
    std::fs::write(&file, source).expect("a file");
    let succeeds = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chadwick"));
        let output = command.args(arguments).env("NO_COLOR", "1").output().expect("the binary starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    succeeds(&["grad", &file, "--backend", "interp"]);
    succeeds(&["gradcheck", &file, "loss", "--backend", "interp"]);
    if chadwick::native_code_available().is_ok() {
        profile(&file, &["loss", "--grad"]);
    }
    // One that is not there.
    let source = "-- ==\n-- entry: loss\n-- input @ missing.in\nentry loss [n] (xs: [n]f64): f64 = f64.sum (map (** 2) xs)\n";
    std::fs::write(scratch.0.join("program.fut"), source).expect("a file");
    let (code, _, stderr) = run(&file, &["loss"]);
    assert!(code == Some(1) && stderr.contains("missing.in: "), "{stderr}");
    std::fs::write(scratch.0.join("program.fut"), source.replace("input @ missing.in", "script input { 1.0 }")).expect("a file");
    let (code, _, stderr) = run(&file, &["loss"]);
    assert!(code == Some(1) && stderr.contains("the inputs of its tests are scripts"), "{stderr}");
}
