//! The commands as a user meets them: what they print, and how they end.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    bytes: Vec<u8>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run_with_input(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // A program that does not read its input may close it early.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let output = child.wait_with_output().expect("the binary ends");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        bytes: output.stdout,
    }
}

fn run(arguments: &[&str]) -> Run {
    run_with_input(arguments, b"")
}

impl Run {
    /// Ended with status 1 and a message, and neither panicked nor was killed.
    #[track_caller]
    fn fails_with(&self, message: &str) {
        assert_eq!(self.code, Some(1), "{}{}", self.stdout, self.stderr);
        assert!(self.stderr.contains(message), "{}", self.stderr);
        assert!(!self.stderr.contains("internal error"), "{}", self.stderr);
    }

    #[track_caller]
    fn is_wrong_usage(&self, message: &str) {
        assert_eq!(self.code, Some(2), "{}{}", self.stdout, self.stderr);
        assert!(self.stderr.contains(message), "{}", self.stderr);
    }

    #[track_caller]
    fn prints(&self, text: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(0), text), "{}", self.stderr);
    }
}

/// A directory of its own for each test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("chadwick-cli-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Scratch(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a file");
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const DOT: &str = "entry dot [n] (x: [n]f64) (y: [n]f64) : f64 = f64.sum (map2 (*) x y)
entry scale [n] (a: f64) (x: [n]f64) = (map (a *) x, a)
entry at (xs: []i32) (i: i64) = xs[i]
entry divide (x: i32) (y: i32) = x / y
entry halve (x: f64) = x / 2
";

// ------------------------------------------------------------------------------------------------------------ commands

#[test]
fn run_takes_values_in_order_or_by_name() {
    let scratch = Scratch::new("run-values");
    let dot = scratch.file("dot.fut", DOT);
    run(&["run", &dot, "dot", "[1, 2]", "[3.0, 4.5]"]).prints("12.0f64\n");
    run(&["run", &dot, "dot", "y=[3, 4]", "x=[1, 0]"]).prints("3.0f64\n");
    run(&["run", &dot, "scale", "-2", "[1, 2]"]).prints("[-2.0f64, -4.0f64]\n-2.0f64\n");
    run(&["run", &dot, "scale", "-2f64", "[1, 2]", "--json"]).prints("[[-2.0,-4.0],-2.0]\n");
    run(&["run", &dot, "scale", "-f64.inf", "[1, 2]"]).prints("[-f64.inf, -f64.inf]\n-f64.inf\n");
    run(&["run", &dot, "scale", "--", "-2e0f64", "[1, 2]"]).prints("[-2.0f64, -4.0f64]\n-2.0f64\n");
    run(&["run", &dot, "scale", "2", "[1, 2]", "--json"]).prints("[[2.0,4.0],2.0]\n");
    run(&["run", &dot, "halve", "1", "--json"]).prints("0.5\n");
    run_with_input(&["run", &dot, "dot"], b"[1.0] -- a comment\n[2.0]").prints("2.0f64\n");
    run_with_input(&["run", &dot, "dot"], br#"{"x": [1, 2], "y": [3, 4]}"#).prints("11.0f64\n");
    run_with_input(&["run", &dot, "dot", "--input-format", "json"], b"[[1, 2], [3, 4]]").prints("11.0f64\n");
}

#[test]
fn results_of_any_type_are_shown_as_text() {
    let scratch = Scratch::new("any-type");
    let file = scratch.file("sum.fut", "entry main (x: i32) : (#none | #some (i32, i32), bool) = (#some (x, x), true)");
    run(&["run", &file, "3"]).prints("#some 3i32 3i32\ntrue\n");
    let json = run(&["run", &file, "3", "--json"]);
    assert_eq!(json.code, Some(1));
    assert!(json.stdout.contains("no number, boolean or array"), "{}", json.stdout);
    let arrays = scratch.file(
        "sums.fut",
        "type t = #none | #some i32 [2]f64\nentry flat : []t = [#none, #some 1 [2, 3]]\nentry nested : [2][1]t = [[#none], [#none]]",
    );
    run(&["run", &arrays, "flat"]).prints("[#none, #some 1i32 [2.0f64, 3.0f64]]\n");
    run(&["run", &arrays, "nested"]).prints("[[#none], [#none]]\n");
    run(&["eval", "[(1, flat[0])]", "--load", &arrays]).prints("[(1i32, #none)]\n");
}

#[test]
fn errors_for_tools_are_json() {
    let scratch = Scratch::new("json-errors");
    let dot = scratch.file("dot.fut", DOT);
    let unknown = run(&["eval", "1 + nothing", "--json"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stdout.contains("\"code\":\"E0230\"") && unknown.stdout.contains("\"column\":5"), "{}", unknown.stdout);
    run(&["eval", "1 + 2", "--json"]).prints("{\"value\":\"3i32\",\"type\":\"i32\"}\n");
    let division = run(&["run", &dot, "divide", "1", "0", "--json"]);
    assert!(division.stdout.contains("division by zero") && division.stdout.contains("\"line\":4"), "{}", division.stdout);
    for command in ["grad", "gradcheck"] {
        let failed = run(&[command, &dot, "divide", "1", "0", "--json"]);
        assert!(failed.stdout.starts_with("[{\"severity\":\"error\""), "{}", failed.stdout);
    }
}

#[test]
fn every_format_goes_out_and_in_again() {
    let scratch = Scratch::new("formats");
    let dot = scratch.file("dot.fut", DOT);
    for name in ["r.npz", "r.bin", "r.json", "r.txt"] {
        let file = scratch.path(name);
        run(&["run", &dot, "scale", "2", "[1, 2]", "--output", &file]).prints("");
        assert!(std::fs::metadata(&file).is_ok_and(|data| data.len() > 0));
    }
    run(&["run", &dot, "scale", "2", "[1, 2]", "--format", "npy"]).fails_with("a .npy file holds one array");
    let x = scratch.path("x.npy");
    let id = scratch.file("id.fut", "entry main [n][m] (x: [n][m]f64) = x");
    run(&["run", &id, "[[1, 2], [3, 4]]", "--output", &x]).prints("");
    run(&["run", &id, &format!("@{x}")]).prints("[[1.0f64, 2.0f64], [3.0f64, 4.0f64]]\n");
    run(&["run", &id, "--input", &x]).prints("[[1.0f64, 2.0f64], [3.0f64, 4.0f64]]\n");
    let binary = run(&["run", &id, "[[1, 2]]", "--format", "binary"]);
    assert!(binary.bytes.starts_with(b"b\x02\x02 f64"));
    run_with_input(&["run", &id], &binary.bytes).prints("[[1.0f64, 2.0f64]]\n");
    let npz = run(&["run", &id, "[[1, 2]]", "--format", "npz"]);
    run_with_input(&["run", &id], &npz.bytes).prints("[[1.0f64, 2.0f64]]\n");
    let named =
        scratch.file("named.fut", "entry main (x: f64) : {a: f64, b: f64} = {a = x, b = x}\nentry two (b: f64) (c: f64) = b + c");
    let npz = run(&["run", &named, "1", "--format", "npz"]);
    run_with_input(&["run", &named, "two"], &npz.bytes).fails_with("the archive has no array `c`");
}

#[test]
fn grad_prints_value_and_gradient() {
    let scratch = Scratch::new("grad");
    let dot = scratch.file("dot.fut", DOT);
    run(&["grad", &dot, "dot", "[1, 2]", "[3, 4]"])
        .prints("value = 11.0f64\ngradient.x = [3.0f64, 4.0f64]\ngradient.y = [1.0f64, 2.0f64]\n");
    run(&["grad", &dot, "dot", "[1, 2]", "[3, 4]", "--wrt", "y", "--json"])
        .prints("{\"value\":11.0,\"gradient\":{\"y\":[1.0,2.0]}}\n");
    run(&["grad", &dot, "dot", "[1]", "[2]", "--wrt", "z"]).fails_with("`dot` has no parameter `z`; it has `x` and `y`");
    run(&["grad", &dot, "scale", "1", "[2]"]).fails_with("only a function that gives one float has a gradient");
    let example = run(&["grad", "examples/logistic_regression.fut"]);
    assert_eq!(example.code, Some(0), "{}", example.stderr);
    assert!(example.stdout.starts_with("value = 2.17489911593906"), "{}", example.stdout);
    assert!(example.stdout.contains("gradient.weights = [-1.16053949657948"), "{}", example.stdout);
}

#[test]
fn commands_warn_of_the_derivative_that_they_take() {
    let scratch = Scratch::new("grad-warnings");
    let source = "entry f (x: f64): f64 = x * (x - f64.i64 (i64.f64 x))\nentry g (x: f64): f64 = x * (x - f64.floor x)";
    let table = scratch.file("table.fut", source);
    let library = scratch.path("library");
    let commands: [&[&str]; 4] = [
        &["grad", &table, "f", "1.5"],
        &["gradcheck", &table, "f", "1.5"],
        &["explain", &table, "f"],
        &["build", &table, "--grad", "f", "--kind", "c", "-o", &library],
    ];
    for command in commands {
        let said = run(command).stderr;
        assert_eq!(said.matches("W0301").count(), 1, "{command:?}: {said}");
    }
    // What would be lost without a word is an error wherever the derivative is asked for.
    let captures = "entry f (x: f64) (k: f64): f64 = with_vjp (\\y -> y * k) (\\y g -> g * k) x";
    let captures = scratch.file("captures.fut", captures);
    let commands: [&[&str]; 6] = [
        &["grad", &captures, "f", "3", "2"],
        &["grad", &captures, "f", "3", "2", "--engine", "dual"],
        &["gradcheck", &captures, "f", "3", "2"],
        &["explain", &captures, "f"],
        &["profile", &captures, "f", "3", "2", "--grad"],
        &["build", &captures, "--grad", "f", "--kind", "c", "-o", &library],
    ];
    for command in commands {
        let refused = run(command);
        assert_eq!((refused.code, refused.stderr.matches("E0303").count()), (Some(1), 1), "{command:?}: {}", refused.stderr);
    }
    let right = run(&["grad", &captures, "f", "3", "2", "--wrt", "x"]);
    assert!(right.stdout.ends_with("gradient.x = 2.0f64\n"), "{}{}", right.stdout, right.stderr);
    let fine = run(&["grad", &table, "g", "1.5"]);
    assert_eq!((fine.stdout.as_str(), fine.stderr.as_str()), ("value = 0.75f64\ngradient.x = 2.0f64\n", ""));
}

#[test]
fn native_code_names_the_calls_that_were_inlined() {
    let scratch = Scratch::new("inlined-calls");
    let source = "def get (xs: []f64) (i: i64): f64 = xs[i]\n\
                  def twice (xs: []f64) (i: i64): f64 = get xs i + get xs (i + 1)\n\
                  entry straight (xs: []f64): f64 = twice xs 0 + twice xs 2\n\
                  entry mapped (xs: []f64): f64 = f64.sum (map (\\i -> twice xs i) (iota 10))\n";
    let file = scratch.file("calls.fut", source);
    for (entry, place) in [("straight", "3:48"), ("mapped", "4:53")] {
        let said = |backend| run(&["run", "--backend", backend, &file, entry, "[1.0, 2.0, 3.0]"]).stderr;
        let (interpreted, native) = (said("interp"), said("native"));
        assert_eq!(interpreted, native);
        let calls = [("get", "1:37"), ("twice", "2:50"), (entry, place)];
        let calls: Vec<String> = calls.iter().map(|(name, place)| format!("   = in `{name}` at {file}:{place}\n")).collect();
        assert!(native.contains(&calls.concat()), "{native}");
    }
}

#[test]
fn gradcheck_says_where_differences_tell_nothing() {
    let scratch = Scratch::new("gradcheck-skipped");
    let waves = scratch.file("waves.fut", "entry f (x: f64): f64 = x * f64.sin (1e9 * x)\nentry g (x: []f64): f64 = f64.sum x");
    let skipped = run(&["gradcheck", &waves, "f", "0.3"]);
    assert_eq!(skipped.code, Some(1), "{}{}", skipped.stdout, skipped.stderr);
    assert!(skipped.stdout.contains("1/1      TOO MANY SKIPPED"), "{}", skipped.stdout);
    assert!(skipped.stdout.contains("try another --step"), "{}", skipped.stdout);
    let nothing = run(&["gradcheck", &waves, "g", "empty([0]f64)"]);
    assert_eq!((nothing.code, nothing.stdout.matches("nothing to compare").count()), (Some(0), 2), "{}", nothing.stdout);
}

#[test]
fn gradcheck_tells_agreement_by_its_status() {
    let scratch = Scratch::new("gradcheck");
    let dot = scratch.file("dot.fut", DOT);
    let good = run(&["gradcheck", &dot, "dot", "[1, 2]", "[3, 4]"]);
    assert_eq!(good.code, Some(0), "{}{}", good.stdout, good.stderr);
    assert_eq!(good.stdout.matches(" agrees").count(), 4, "{}", good.stdout);
    let source = "def wrong (x: f64) = with_vjp (\\x -> x * x) (\\_ y_ct -> 3 * y_ct) x\nentry f (xs: [2]f64) = xs[0] * xs[0] + wrong xs[1]";
    let wrong = scratch.file("wrong.fut", source);
    let bad = run(&["gradcheck", &wrong, "[1, 5]"]);
    assert_eq!(bad.code, Some(1), "{}{}", bad.stdout, bad.stderr);
    assert!(bad.stdout.contains("DISAGREES") && bad.stdout.contains("xs[1]"), "{}", bad.stdout);
    let json = run(&["gradcheck", &wrong, "[1, 5]", "--json"]);
    assert!(json.stdout.contains("\"agrees\":false") && json.stdout.contains("\"position\":\"[1]\""), "{}", json.stdout);
}

#[test]
fn check_reports_for_people_and_tools() {
    let scratch = Scratch::new("check");
    let good = scratch.file("good.fut", DOT);
    run(&["check", &good]).prints("");
    let bad = scratch.file("bad.fut", "entry main (x: i32) =\n  x + tru\n");
    let people = run(&["check", &good, &bad]);
    people.fails_with("bad.fut:2:7");
    assert!(people.stderr.contains("  x + tru\n   |       ^^^"), "{}", people.stderr);
    let tools = run(&["check", "--json", &bad]);
    assert_eq!(tools.code, Some(1));
    assert!(tools.stdout.contains("\"line\":2") && tools.stdout.contains("\"column\":7"), "{}", tools.stdout);
    run(&["check", "--json", &good]).prints("[]\n");
}

#[test]
fn explain_shows_the_derivative_and_what_it_keeps() {
    let all = run(&["explain", "examples/kmeans.fut", "cost", "--wrt", "centres"]);
    assert_eq!(all.code, Some(0), "{}", all.stderr);
    assert!(all.stdout.contains("def cost@") && all.stdout.contains("kept for the reverse pass of `cost` by centres:"));
    assert!(all.stdout.contains("bytes: "), "{}", all.stdout);

    // The only entry point that has a gradient is meant.
    let report = run(&["explain", "examples/kmeans.fut", "--report"]);
    assert!(report.stdout.starts_with("reverse mode by `chad-fast`: "), "{}{}", report.stdout, report.stderr);

    let json = run(&["explain", "examples/kmeans.fut", "cost", "--json", "--stage", "prepare"]);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(document["stage"], "prepare");
    assert!(document["core"].as_str().expect("text").contains("vjp"));
    let saved = &document["saved"][0];
    assert!(saved["type"].as_str().expect("a type").starts_with("[n]"), "{saved}");
    assert_eq!(saved["value_of"][0]["file"], "examples/kmeans.fut");

    let forward = run(&["explain", "examples/kmeans.fut", "cost", "--mode", "jvp", "--report"]);
    forward.prints("forward mode keeps nothing\n");

    run(&["explain", "examples/kmeans.fut", "cost", "--wrt", "nothing"]).fails_with("no parameter `nothing`");
    run(&["explain", "examples/kmeans.fut", "nothing"]).fails_with("nothing");
    let engine = run(&["explain", "examples/kmeans.fut", "cost", "--engine", "builtin"]);
    assert_eq!(engine.code, Some(2), "{}", engine.stderr);
}

#[test]
fn explain_warns_where_the_derivative_is_less_than_it_could_be() {
    let scratch = Scratch::new("explain");
    let program = "entry f [n] (xs: [n]f64) = f64.sum (scatter (copy xs) (iota n) (map f64.sin xs))";
    let file = scratch.file("scatter.fut", program);
    let warned = run(&["explain", &file, "--report"]);
    assert_eq!(warned.code, Some(0));
    assert!(warned.stderr.contains("W0401") && warned.stderr.contains("sequential loop"), "{}", warned.stderr);
}

#[test]
fn eval_and_core() {
    run(&["eval", "1 + 2"]).prints("3i32\n");
    run(&["eval", "-1 + 2", "-t"]).prints("1i32 : i32\n");
    run(&["eval", "vjp (\\x -> x * x) 3.0 1"]).prints("6.0f64\n");
    run(&["eval", "cost [[1.0]] [[3.0]]", "--load", "examples/kmeans.fut"]).prints("4.0f64\n");
    run(&["eval", "[1, 2][3]"]).fails_with("<input>:1:1");
    let core = run(&["core", "examples/kmeans.fut", "--entry", "cost"]);
    assert!(core.stdout.contains("entry cost") && !core.stdout.contains("entry gradient"), "{}", core.stdout);
    let gradient = run(&["core", "examples/kmeans.fut", "--entry", "cost", "--grad", "--after", "derivatives"]);
    assert!(gradient.stdout.contains("seed") && gradient.stdout.contains("with_acc"), "{}", gradient.stderr);
    let nothing = run(&["core", "examples/kmeans.fut", "--entry", "nothing"]);
    nothing.fails_with("there is no entry point `nothing`");
}

#[test]
fn repl_from_a_pipe() {
    let session = b"def f (x: i32) =\n  x * 2\n\nf 4\n:type f\nf (1 +\n2)\nf true\n:nope\n:load examples/kmeans.fut\ncost [[1.0]] [[3.0]]\n:quit\nf 1\n";
    let run = run_with_input(&["repl"], session);
    assert_eq!(run.code, Some(0));
    assert_eq!(run.stdout, "8i32 : i32\n(x: i32) -> i32\n6i32 : i32\n4.0f64 : f64\n", "{}", run.stderr);
    assert!(run.stderr.contains("<input>:1:3") && run.stderr.contains("no command `:nope`"), "{}", run.stderr);
}

// ------------------------------------------------------------------------------------------------------------ chadwick test

#[test]
fn test_blocks_of_every_kind() {
    let scratch = Scratch::new("blocks");
    scratch.file("data.txt", "[1i64, 2, 3]");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(b"6i64").expect("in memory");
    scratch.file("sum.gz", packed.finish().expect("in memory"));
    let program = scratch.file(
        "all.fut",
        "-- What it is about.
-- ==
-- tags { autodiff }
-- entry: total total_again
-- input { [1i64, 2] } output { 3i64 }
-- input @ data.txt
-- output @ sum.gz
-- structure { Screma 1 }
-- \"named\" nobench input { empty([0]i64) } output { 0i64 }

-- ==
-- entry: inverse
-- input { 0i32 } error: division by zero
-- random input { 5i32 } auto output
-- random input { i32 }
-- compiled input { 1i32 } output { 7i32 }
-- script input { five } output { 2i32 }

-- ==
-- property: always

entry total (xs: []i64) = i64.sum xs
entry total_again (xs: []i64) = reduce (+) 0 xs
entry inverse (x: i32) = 10 / x
entry five : i32 = 5
#[prop]
entry always (x: i32) = x == x
",
    );
    let compiled = run(&["test", "--backend", "native", &program]);
    assert!(compiled.stdout.ends_with("11 passed, 1 failed, 0 skipped\n"), "{}{}", compiled.stdout, compiled.stderr);
    let run = run(&["test", "--backend", "interp", "--verbose", &program]);
    assert!(run.stdout.ends_with("11 passed, 0 failed, 1 skipped\n"), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("SKIP") && run.stdout.contains("tag `compiled`: not for the interpreter"), "{}", run.stdout);
    assert!(run.stdout.contains("total_again named"), "{}", run.stdout);
    assert_eq!(run.code, Some(0));
}

#[test]
fn scripts_make_inputs_of_any_type() {
    let scratch = Scratch::new("scripts");
    scratch.file("two.txt", "[1i32, 2, 3] 4i32");
    scratch.file("one.txt", "[5i32, 6]");
    scratch.file("bytes", "AB");
    let program = scratch.file(
        "scripts.fut",
        "-- ==
-- entry: unwrap
-- script input { make 3 } output { 3 }

-- ==
-- entry: add
-- script input { pair 3 } output { 7 }
-- script input { (1, add (pair 2)) } output { 6 }
-- script input { let (a, b) = pair 1 in (b, a) } output { 3 }
-- script input { $unknown 1 } output { 3 }

-- ==
-- entry: total
-- script input { $loaddata \"two.txt\" } output { 10 }
-- script input { ($loaddata \"one.txt\", 1i32) } output { 12 }
-- script input { ($loaddata \"missing.txt\", 1i32) } output { 12 }

-- ==
-- entry: first
-- script input { $loadbytes \"bytes\" } output { 2i64 65u8 }

type option = #none | #some i32
entry make (x: i32) : option = if x > 0 then #some x else #none
entry unwrap (o: option) = match o case #none -> 0 case #some x -> x
entry pair (x: i32) = (x, x + 1)
entry add (x: i32) (y: i32) = x + y
entry total (xs: []i32) (y: i32) = i32.sum xs + y
entry first (bytes: []u8) = (length bytes, bytes[0])
",
    );
    let run = run(&["test", &program]);
    assert!(run.stdout.ends_with("7 passed, 2 failed, 0 skipped\n"), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("scripts have no function `$unknown`") && run.stdout.contains("missing.txt"), "{}", run.stdout);
}

#[test]
fn properties_are_tried_on_many_values() {
    let scratch = Scratch::new("properties");
    let program = scratch.file(
        "properties.fut",
        "-- ==
-- property: reversed generated short shrunk plain

#[prop]
entry reversed (xs: []i32) = and (map2 (==) (reverse (reverse xs)) xs)

type option = #none | #some i64
entry some (size: i64) (seed: i64) : option = if seed % 2 == 0 then #none else #some size
#[prop(gen(some), size(7))]
entry generated (o: option) = match o case #none -> true case #some x -> x <= 7

#[prop]
entry short (xs: []i32) = length xs < 10

entry numbers (size: i64) (_: i64) = iota (size + 20)
entry fewer [n] (xs: [n]i64) (_: i32) = if n == 0 then xs[0:0] else xs[0:n - 1]
#[prop(gen(numbers), shrink(fewer))]
entry shrunk (xs: []i64) = length xs < 3

entry plain (x: i32) = x == x
",
    );
    let run = run(&["test", &program]);
    assert!(run.stdout.ends_with("2 passed, 3 failed, 0 skipped\n"), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("does not hold for [0i64, 1i64, 2i64] (size 0"), "{}", run.stdout);
    assert!(run.stdout.contains("`plain` is no definition with the attribute `#[prop]`"), "{}", run.stdout);
}

#[test]
fn failures_are_failures() {
    let scratch = Scratch::new("failures");
    scratch.file("wrong.fut", "-- ==\n-- input { [1.0, 2.0] }\n-- output { [1.0, 2.5] }\nentry main (x: []f64) = x\n");
    scratch.file("types.fut", "-- ==\n-- input { 1i32 }\n-- output { 1i64 }\nentry main (x: i32) = x\n");
    scratch.file("argument.fut", "-- ==\n-- input { 1i64 }\nentry main (x: i32) = x\n");
    scratch.file("entry.fut", "-- ==\n-- entry: missing\n-- input { 1i32 }\nentry main (x: i32) = x\n");
    scratch.file("error.fut", "-- ==\n-- error: borrow\ndef x : i32 = true\n");
    scratch.file("none.fut", "-- ==\n-- error: .\ndef x : i32 = 1\n");
    scratch.file("runtime.fut", "-- ==\n-- input { 1i32 }\n-- error: something else\nentry main (x: i32) = [1][x]\n");
    scratch.file("block.fut", "-- ==\n-- input { [1, }\nentry main (x: i32) = x\n");
    scratch.file("data.fut", "-- ==\n-- input @ nowhere.in\nentry main (x: i32) = x\n");
    scratch.file("syntax.fut", "entry main = = 1\n");
    scratch.file("good.fut", "entry main = 1\n");
    std::fs::create_dir_all(scratch.0.join("below")).expect("a directory");
    scratch.file("below/good.fut", "-- ==\n-- tags { disable }\nentry main = 1\n");
    let report = run(&["test", &scratch.0.display().to_string()]);
    assert!(report.stdout.ends_with("1 passed, 10 failed, 1 skipped\n"), "{}", report.stdout);
    assert_eq!(report.code, Some(1));
    for text in [
        "wrong.fut:2 main #0: at [1]: expected 2.5f64, got 2.0f64",
        "expected a value of type i64, got one of type i32",
        "parameter `x` of `main` has type i32, but a value of type i64 was given",
        "there is no entry point `missing`; there is `main`",
        "an error matching `borrow` was expected",
        "the program compiles, but an error matching `.` was expected",
        "an error matching `something else` was expected",
        "the test block cannot be read: line 2, column 16",
        "nowhere.in",
        "syntax.fut: does not compile",
    ] {
        assert!(report.stdout.contains(text), "{text}\n{}", report.stdout);
    }
    let json = run(&["test", "--json", &scratch.0.display().to_string()]);
    assert!(json.stdout.contains("\"passed\":1") && json.stdout.contains("\"failed\":10"), "{}", json.stdout);
}

#[test]
fn tolerance_is_for_floats_alone() {
    let scratch = Scratch::new("tolerance");
    let close = scratch.file(
        "close.fut",
        "-- ==\n-- entry: main\n-- input { 1000.0 }\n-- output { 1001.9 }\n-- ==\n-- entry: single\n-- input { 1f32 }\n-- output { 1.0001f32 }\nentry main (x: f64) = x\nentry single (x: f32) = x\n",
    );
    assert_eq!(run(&["test", &close]).code, Some(0));
    assert!(
        run(&["test", &close, "--tolerance", "1e-9", "--tolerance-f32", "2e-4"])
            .stdout
            .ends_with("1 passed, 1 failed, 0 skipped\n")
    );
    assert!(run(&["test", &close, "--tolerance", "1e-9"]).stdout.ends_with("0 passed, 2 failed, 0 skipped\n"));
    assert!(
        run(&["test", &close, "--tolerance", "1e-9", "--entry", "single"]).stdout.ends_with("0 passed, 1 failed, 0 skipped\n")
    );
}

#[test]
fn a_test_that_does_not_end_fails_alone() {
    let scratch = Scratch::new("endless");
    scratch.file(
        "a.fut",
        "-- ==\n-- input { 1i32 }\nentry main (x: i32) = loop y = x while y > 0 do if y > 100 then 1 else y + 1\n",
    );
    scratch.file("b.fut", "-- ==\n-- input { 1i64 }\nentry main (x: i64) = length (iota (x * 1000000000000))\n");
    scratch.file("c.fut", "-- ==\n-- input { 1i32 }\n-- output { 1i32 }\nentry main (x: i32) = x\n");
    let run = run(&["test", "--timeout", "0.5", "--max-memory", "100M", &scratch.0.display().to_string()]);
    assert!(run.stdout.contains("time limit"), "{}", run.stdout);
    assert!(run.stdout.ends_with(" failed, 0 skipped\n"), "{}", run.stdout);
    assert_eq!(run.code, Some(1));
}

// ------------------------------------------------------------------------------------------------------------ wrong usage

#[test]
fn wrong_usage_ends_with_two() {
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["run"],
        &["test"],
        &["test", "examples", "--tolerance", "many"],
        &["test", "examples", "--max-memory", "5X"],
        &["run", "examples/kmeans.fut", "--format", "xml"],
        &["core", "examples/kmeans.fut", "--after", "never"],
    ] {
        let run = run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(run(&["test", "examples", "--backend", "magic"]).code, Some(2));
    let engine = run(&["test", "examples", "--engine", "dual:magic"]);
    assert!(
        engine.code == Some(2) && engine.stderr.contains("the engines are auto, builtin, chad, chad:simplified, "),
        "{}",
        engine.stderr
    );
    let engine = run(&["grad", "examples/kmeans.fut", "--engine", "magic"]);
    assert!(
        engine.code == Some(2) && engine.stderr.contains("the engines are auto, builtin, chad, chad:simplified, "),
        "{}",
        engine.stderr
    );
    assert_eq!(run(&["--help"]).code, Some(0));
    assert_eq!(run(&["--version"]).code, Some(0));
}

// ------------------------------------------------------------------------------------------------------------ bad input

#[test]
fn bad_arguments_have_positions() {
    let scratch = Scratch::new("bad-arguments");
    let dot = scratch.file("dot.fut", DOT);
    run(&["run", &dot, "dot", "[1, 2", "[3]"]).fails_with("argument `[1, 2`: line 1, column 6");
    run(&["run", &dot, "dot", "[1]"]).is_wrong_usage("there is no value for parameter `y` (of type []f64) of `dot`");
    run(&["run", &dot, "dot", "[1]", "[2]", "[3]"]).is_wrong_usage("takes 2 values, but 3 were given");
    run(&["run", &dot, "dot", "[1]", "z=[2]"]).is_wrong_usage("`dot` has no parameter `z`; it has x, y");
    run(&["run", &dot, "dot", "x=[1]", "x=[2]"]).is_wrong_usage("there are two values for parameter `x` of `dot`");
    run(&["run", &dot, "dot", "[1]", "[2i64]"]).fails_with("parameter `y` of `dot` has type [n]f64, but a value of type [1]i64");
    run(&["run", &dot, "dot", "[1]", "[2, 3]"]).fails_with("size");
    run(&["run", &dot, "dto", "[1]"]).fails_with("there is no entry point `dto`");
    run(&["run", &dot]).fails_with("which entry point? There are dot, scale");
    run(&["run", &dot, "at", "[1]", "5"]).fails_with("dot.fut:3:33");
    run(&["run", &dot, "divide", "1", "0"]).fails_with("division by zero");
    run(&["run", "/no/such.fut"]).fails_with("/no/such.fut: ");
    run(&["run", &dot, "halve", "@/no/such.npy"]).fails_with("/no/such.npy: ");
    run(&["test", "/no/such.fut"]).fails_with("/no/such.fut: ");
    run_with_input(&["run", &dot, "dot"], b"{\"x\": [1, 2], \"y\": [3")
        .fails_with("standard input: line 1, column 21: malformed JSON");
    run_with_input(&["run", &dot, "halve"], b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8'").fails_with("standard input: byte ");
    let npy = scratch
        .file("bad.npy", b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,), }   \n");
    run(&["run", &dot, "dot", &format!("@{npy}"), "[1]"])
        .fails_with("bad.npy: byte 80: the shape [999999999999] asks for more elements");
    let json = scratch.file("x.json", "[1, \"a\"]");
    run(&["run", &dot, "dot", &format!("@{json}"), "[1]"])
        .fails_with("x.json: x[1]: expected a value of type f64, found a string");
    let gz = scratch.file("x.txt.gz", "not packed");
    assert_eq!(run(&["run", &dot, "dot", &format!("@{gz}"), "[1]"]).code, Some(1));
}

/// Bytes that look random but are the same in every run.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 42u64;
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.push((state >> 33) as u8);
    }
    bytes
}

#[test]
fn ten_megabytes_of_noise_are_an_error() {
    let scratch = Scratch::new("noise");
    let bytes = noise(10_000_000);
    let file = scratch.file("noise.fut", &bytes);
    for command in ["check", "run", "grad", "core"] {
        run(&[command, &file]).fails_with("noise.fut:1:");
    }
    assert_eq!(run(&["test", &file]).code, Some(1));
    let text: Vec<u8> = bytes.iter().map(|byte| byte % 95 + 32).collect();
    let file = scratch.file("text.fut", &text);
    run(&["check", &file, "--timeout", "60"]).fails_with("text.fut:1:");
    let dot = scratch.file("dot.fut", DOT);
    run_with_input(&["run", &dot, "halve"], &bytes).fails_with("standard input: ");
    run_with_input(&["run", &dot, "halve", "--input-format", "json"], &bytes).fails_with("standard input: line ");
    run_with_input(&["run", &dot, "halve", "--input-format", "npz"], &bytes).fails_with("standard input: ");
}

#[test]
fn deep_nesting_is_an_error_or_works() {
    let scratch = Scratch::new("deep");
    for (name, text) in [
        ("round", format!("entry main : i32 = {}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000))),
        ("open", format!("entry main : i32 = {}", "(".repeat(1_000_000))),
        ("square", format!("entry main = {}1{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("minus", format!("entry main : i32 = {}1", "- ".repeat(1_000_000))),
        ("types", format!("type t = {}i32{}", "(".repeat(1_000_000), ")".repeat(1_000_000))),
        ("lets", format!("entry main : i32 = {}1", "let x = 1 in ".repeat(200_000))),
    ] {
        let file = scratch.file(&format!("{name}.fut"), text);
        let run = run(&["check", &file, "--timeout", "100"]);
        assert_eq!(run.code, Some(1), "{name}: {}", &run.stderr[..run.stderr.len().min(2000)]);
        assert!(run.stderr.contains(&format!("{name}.fut:1:")), "{name}: {}", &run.stderr[..run.stderr.len().min(2000)]);
        assert!(!run.stderr.contains("internal error"), "{name}");
    }
    let fine = scratch.file("fine.fut", format!("entry main : i32 = {}1{}", "(".repeat(3000), ")".repeat(3000)));
    run(&["run", &fine]).prints("1i32\n");
}

#[test]
fn limits_end_a_run() {
    let scratch = Scratch::new("limits");
    let source = "entry spin (x: i32) = loop y = x while y >= 0 do if y > 100 then 0 else y + 1
entry deep (n: i64) = let rec f (x: i64) : i64 = 1 + f (x + 1) in f n
entry wide (n: i64) = i64.sum (map (+ 1) (iota n))
entry rows (n: i64) = map (\\i -> map (* i) (iota n)) (iota n)
entry tape (n: i64) = vjp (\\x -> loop y = x for _i < n do y * 1.0000001) 1.0f64 1.0\n";
    let file = scratch.file("limits.fut", source);
    for backend in ["interp", "native"] {
        let run = |arguments: &[&str]| run(&[&["run", &file, "--backend", backend], arguments].concat());
        run(&["spin", "0", "--timeout", "0.3"]).fails_with("time limit exceeded");
        let deep = run(&["deep", "0", "--max-memory", "50M"]);
        deep.fails_with("memory limit exceeded");
        deep.fails_with("hint: the recursion is deep");
        run(&["wide", "1000"]).prints("500500i64\n");
        run(&["rows", "10000", "--max-memory", "50M"]).fails_with("memory limit exceeded");
    }
    // Native code needs no tape here.
    run(&["run", &file, "--backend", "interp", "tape", "1000000000", "--max-memory", "50M"]).fails_with("memory limit exceeded");
}

#[test]
fn a_reader_that_leaves_ends_the_program_quietly() {
    let scratch = Scratch::new("pipe");
    let file = scratch.file("many.fut", "entry main = iota 1000000");
    let mut child = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(["run", &file])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the binary ends");
    // As a signal would: what was not said may have been a failure.
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(141), &b""[..]));
}

#[test]
fn colours_are_for_terminals() {
    let scratch = Scratch::new("colours");
    let bad = scratch.file("bad.fut", "entry main = tru");
    assert!(!run(&["check", &bad]).stderr.contains('\u{1b}'));
    assert!(Path::new(&bad).exists());
}

#[test]
fn tests_of_an_entry_point_that_has_none_are_an_error() {
    let scratch = Scratch::new("no_tests");
    let file = scratch
        .file("main.fut", "-- ==\n-- entry: f\n-- input { 1 } output { 2 }\nentry f (x: i32) = x + 1\nentry g (x: i32) = x");
    assert_eq!(run(&["test", &file, "--entry", "f"]).code, Some(0));
    for entry in ["g", "absent"] {
        let output = run(&["test", &file, "--entry", entry]);
        assert_eq!(output.code, Some(1));
        assert!(output.stderr.contains(&format!("there is no test of an entry point `{entry}`")), "{}", output.stderr);
    }
}

#[test]
fn arguments_are_looked_at_before_anything_is_compiled() {
    let scratch = Scratch::new("arguments_first");
    let file = scratch.file("main.fut", "entry main (x: i32) (y: i32) = x + y");
    for command in ["run", "grad"] {
        let output = Command::new(env!("CARGO_BIN_EXE_chadwick"))
            .args([command, &file, "main", "2"])
            .env("CC", "false")
            .env("CHADWICK_CACHE_DIR", scratch.path("cache"))
            .output()
            .expect("the binary runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains("there is no value for parameter `y`"), "{stderr}");
    }
}

#[test]
fn a_gradient_compiles_the_gradient_alone() {
    let scratch = Scratch::new("one_compilation");
    let file = scratch.file("main.fut", "entry main (x: f64) = x * x");
    let cache = scratch.path("cache");
    let output = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(["grad", &file, "main", "3.0"])
        .env("CHADWICK_CACHE_DIR", &cache)
        .output()
        .expect("the binary runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "value = 9.0f64\ngradient.x = 6.0f64\n");
    if chadwick::native_code_available().is_ok() {
        let files = std::fs::read_dir(&cache).expect("a cache").filter_map(|file| Some(file.ok()?.path()));
        assert_eq!(files.filter(|file| file.extension().is_some_and(|end| end == "so")).count(), 1);
    }
}

#[test]
fn without_a_c_compiler_the_interpreter_runs() {
    let scratch = Scratch::new("no_compiler");
    let file = scratch.file("main.fut", "entry main (x: i32) = x + 1");
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_chadwick"))
            .args(arguments)
            .env("CC", "no-such-compiler")
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, stdout, stderr) = run(&["run", &file, "main", "2"]);
    assert_eq!((code, stdout.as_str()), (Some(0), "3i32\n"));
    assert_eq!(stderr, "note: there is no C compiler `no-such-compiler`; the interpreter runs instead\n");
    let (code, _, stderr) = run(&["run", &file, "--backend", "native", "main", "2"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("there is no C compiler `no-such-compiler`"), "{stderr}");
}

#[test]
fn a_c_compiler_that_makes_nothing_is_an_error() {
    let scratch = Scratch::new("idle_compiler");
    let file = scratch.file("main.fut", "entry main (x: i32) = x + 1");
    let output = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(["run", &file, "main", "2"])
        .env("CC", "true")
        .env("CHADWICK_CACHE_DIR", scratch.path("cache"))
        .output()
        .expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("it reported no error, but wrote no file"), "{stderr}");
}

#[test]
fn engines_are_listed_and_examined() {
    let list = run(&["engines"]);
    assert!(list.stdout.contains("chad-fast") && list.stdout.contains("dual:tape"), "{}", list.stdout);
    let table =
        run(&["engines", "--table", "--programs", "3", "--engine", "chad-fast", "--engine", "dual:naive", "examples/kmeans.fut"]);
    assert_eq!(table.code, Some(0), "{}", table.stdout);
    let lines: Vec<&str> = table.stdout.lines().collect();
    assert!(
        lines[0].starts_with("engine") && lines[1].starts_with("chad-fast") && lines[2].starts_with("dual:naive"),
        "{lines:?}"
    );
    assert!(
        table.stdout.contains("a rule that the program gives by `dual:naive`, which passes parts of a cotangent on"),
        "{}",
        table.stdout
    );
    let json = run(&["engines", "--table", "--programs", "1", "--engine", "chad-fast", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(rows[0]["worked_examples"]["wrong"].as_array().map(Vec::len), Some(0));
    assert_eq!(rows[0]["passed"], true);
    let full = run(&["engines", "--full", "--programs", "2", "--engine", "chad-fast", "examples/kmeans.fut"]);
    let parts: Vec<&str> = full.stderr.lines().filter_map(|line| line.split(" (").next()).collect();
    assert!(parts.contains(&"chad-fast: random programs 2/2") && parts.contains(&"chad-fast: counted work"), "{parts:?}");
    assert!(parts.last().is_some_and(|last| last.starts_with("chad-fast: tests ")), "{parts:?}");
    assert!(full.stdout.starts_with("engine"), "{}", full.stdout);
    run(&["engines", "--engine", "other"]).is_wrong_usage("the engines are");
    let scratch = Scratch::new("engine");
    let file = scratch.file("slope.fut", "entry slope (x: f64) = (vjp (\\y -> y * y) x 1, jvp (\\y -> y * y) x 1)\n");
    for engine in ["auto", "builtin", "chad", "chad-efficient:parallel", "dual:staged"] {
        assert_eq!(run(&["run", "--engine", engine, &file, "slope", "3.0"]).stdout, "6.0f64\n6.0f64\n", "{engine}");
    }
    run(&["engines", "--table", "nowhere.fut"]).fails_with("nowhere.fut");
    // What an engine does not take matters only to those who need it.
    let text = "entry clipped (x: f64) = vjp (with_vjp id (\\_ d -> f64.min 1 d)) x 9
-- ==
-- entry: square
-- input { 3.0 } output { 6.0 }
entry square (x: f64) = vjp (\\y -> y * y) x 1
entry value (x: f64) = x * x * x
";
    let file = scratch.file("mixed.fut", text);
    let naive = |command: &str, rest: &[&str]| run(&[&[command, "--engine", "dual:naive", &file], rest].concat());
    assert_eq!(naive("run", &["square", "3.0"]).stdout, "6.0f64\n");
    assert!(naive("grad", &["value", "2.0"]).stdout.contains("12.0f64"));
    assert!(naive("explain", &["value"]).stdout.contains("notation"));
    assert!(naive("test", &[]).stdout.ends_with("1 passed, 0 failed, 0 skipped\n"));
    naive("run", &["clipped", "3.0"]).fails_with("mixed.fut:1:");
}

#[test]
fn a_derivative_that_no_engine_compiles_is_interpreted_with_a_warning() {
    let scratch = Scratch::new("order");
    let file = scratch.file(
        "order.fut",
        "def f (n: i64) (x: f64): f64 = if n == 0 then x * x else vjp (f (n - 1)) x 1\nentry g (n: i64) (x: f64): f64 = f n x\n",
    );
    let found = run(&["run", &file, "g", "1", "3.0"]);
    assert_eq!((found.code, found.stdout.trim()), (Some(0), "6.0f64"), "{}", found.stderr);
    assert!(found.stderr.contains("W0411") && found.stderr.contains("order.fut:1:58"), "{}", found.stderr);
    run(&["grad", &file, "g", "1", "3.0", "--engine", "chad-fast"]).fails_with("E0410");
    run(&["grad", "examples/kmeans.fut", "--engine", "builtin", "--backend", "native"]).fails_with("`chad-fast`");
}
