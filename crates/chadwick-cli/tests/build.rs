//! `chadwick build`: libraries as C and Rust programs use them.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A directory of its own for each test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("chadwick-build-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Scratch(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn file(&self, name: &str, content: &str) -> String {
        std::fs::write(self.0.join(name), content).expect("a file");
        self.path(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Status, standard output and standard error of a command that runs at the root.
fn run(program: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(program).args(arguments).current_dir(root()).env("NO_COLOR", "1").output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn chadwick(arguments: &[&str]) -> (Option<i32>, String, String) {
    run(env!("CARGO_BIN_EXE_chadwick"), arguments)
}

/// The standard output of a command that ends well.
#[track_caller]
fn output_of(program: &str, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(program, arguments);
    assert_eq!(code, Some(0), "{program} {arguments:?}\n{stdout}{stderr}");
    stdout
}

#[track_caller]
fn build(arguments: &[&str]) -> String {
    let arguments: Vec<&str> = std::iter::once("build").chain(arguments.iter().copied()).collect();
    output_of(env!("CARGO_BIN_EXE_chadwick"), &arguments)
}

/// The C compiler; without one there is nothing to test.
fn c_compiler() -> Option<String> {
    match chadwick::native_code_available() {
        Ok(()) => Some(std::env::var("CC").ok().filter(|cc| !cc.trim().is_empty()).unwrap_or_else(|| String::from("cc"))),
        Err(problem) => {
            eprintln!("skipped: {problem}");
            None
        }
    }
}

/// Compiles a C program against libraries in the directory, without a warning.
#[track_caller]
fn compile_c(cc: &str, source: &str, directory: &Path, libraries: &[&str], target: &str) {
    let directory = directory.display().to_string();
    let links: Vec<String> = libraries.iter().map(|name| format!("-l{name}")).collect();
    let (include, search, rpath) = (format!("-I{directory}"), format!("-L{directory}"), format!("-Wl,-rpath,{directory}"));
    let mut arguments = vec!["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-o", target, source, &include, &search, &rpath];
    arguments.extend(links.iter().map(String::as_str));
    arguments.extend(["-lm", "-pthread"]);
    output_of(cc, &arguments);
}

const INTERFACE: &str = "crates/chadwick-cli/tests/build/interface.fut";

/// What a program printed behind each line that starts with `==`.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("== "), sections.last_mut()) {
            (Some(name), _) => sections.push((name.to_owned(), String::new())),
            (None, Some((_, section))) => section.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    sections
}

#[track_caller]
fn section<'a>(sections: &'a [(String, String)], name: &str) -> &'a str {
    &sections.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no section {name}")).1
}

fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| c.is_whitespace() || "[],".contains(c)).filter(|word| !word.is_empty());
    words.map(|word| word.trim_end_matches("f64").parse().unwrap_or(f64::NAN)).collect()
}

#[test]
fn c_programs_call_every_kind_of_function() {
    let Some(cc) = c_compiler() else { return };
    let scratch = Scratch::new("interface");
    let directory = format!("{}/", scratch.0.display());
    let (code, _, stderr) = chadwick(&[
        "build",
        INTERFACE,
        "--grad",
        "loss",
        "--grad",
        "loss:offset,w",
        "--grad",
        "loss32",
        "--fp",
        "strict",
        "-o",
        &directory,
    ]);
    assert_eq!(code, Some(0), "{stderr}");
    let warning = "warning: an entry point is left out: the result of `maybe` has type #none | #some i32, which is no number";
    assert!(stderr.contains(warning), "{stderr}");
    let program = scratch.path("main");
    compile_c(&cc, "crates/chadwick-cli/tests/build/main.c", &scratch.0, &["interface"], &program);
    let (_, stdout, stderr) = run(&program, &[]);
    let found = sections(&stdout);
    assert!(found.iter().any(|(name, _)| name == "problems 0"), "{stdout}{stderr}");

    // Messages are those of the command line.
    let failing = [
        ("index", "index [1,2,3] 7"),
        ("slice", "slice [1,2,3] 1 5"),
        ("add_sizes", "add_sizes [1,2] [1,2]"),
        ("divide", "divide 1 0"),
        ("power", "power 2 -1"),
        ("reshape", "reshape [1,2,3] 2 2"),
        ("positive", "positive -1"),
        ("call_chain", "call_chain [1,2,3] 2"),
        ("recursion", "recursion 20"),
        ("allocate", "allocate 1000000 --max-memory 1M"),
    ];
    for (name, words) in failing {
        let arguments: Vec<&str> = ["run", INTERFACE, "--fp", "strict"].into_iter().chain(words.split(' ')).collect();
        let (code, _, stderr) = chadwick(&arguments);
        assert_eq!((code, section(&found, name)), (Some(1), stderr.as_str()), "{name}");
    }
    let out_of_time = section(&found, "forever");
    assert!(out_of_time.starts_with(&format!("error: time limit exceeded\n  --> {INTERFACE}:")), "{out_of_time}");
    assert_eq!(section(&found, "negative"), "error: parameter `xs` of `index` has a negative size\n");
    assert_eq!(section(&found, "no elements"), "error: parameter `xs` of `index` has no elements behind its pointer\n");

    // So are traces, and derivatives.
    for (name, text) in found.iter().filter(|(name, _)| name.starts_with("speak")) {
        let number = format!("{:?}", name["speak ".len()..].parse::<f64>().expect("a number"));
        let arguments = ["run", INTERFACE, "speak", &number, &number, "5", "[0.1, -1e300, 12345.678]"];
        let (_, _, stderr) = chadwick(&arguments);
        assert_eq!(*text, stderr, "{name}");
    }
    let arguments = ["grad", INTERFACE, "loss", "--fp", "strict", "[1.0, -2.0]", "[[1, 2], [3, 4], [5, 6]]", "0.5", "--json"];
    let (_, stdout, _) = chadwick(&arguments);
    let wanted: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let gradient = &wanted["gradient"];
    let wanted = [&wanted["value"], &gradient["w"][0], &gradient["w"][1], &gradient["offset"]].map(|number| number.as_f64());
    assert_eq!(numbers(section(&found, "gradient")).into_iter().map(Some).collect::<Vec<_>>(), wanted);
    for at in ["0.3", "-1.25", "2.375"] {
        let wanted = [
            output_of(env!("CARGO_BIN_EXE_chadwick"), &["run", INTERFACE, "special", at]),
            output_of(env!("CARGO_BIN_EXE_chadwick"), &["run", INTERFACE, "special_slope", at]),
        ]
        .concat();
        let (got, wanted) = (numbers(section(&found, &format!("special {at}"))), numbers(&wanted));
        assert_eq!(got.len(), wanted.len());
        for (got, wanted) in got.iter().zip(&wanted) {
            let close = (got - wanted).abs() <= 1e-13 * wanted.abs().max(1.0) || (got.is_nan() && wanted.is_nan());
            assert!(close, "{at}: {got} is not {wanted}");
        }
    }
}

#[test]
fn the_c_example_trains_a_model() {
    let Some(cc) = c_compiler() else { return };
    let scratch = Scratch::new("c-example");
    let directory = format!("{}/", scratch.0.display());
    build(&["examples/logistic_regression.fut", "--grad", "loss:weights", "--kind", "static", "-o", &directory]);
    let program = scratch.path("main");
    compile_c(&cc, "examples/c/main.c", &scratch.0, &["logistic_regression"], &program);
    let printed = output_of(&program, &[]);
    assert!(printed.contains("step   0: loss 277.258872"), "{printed}");
    assert!(printed.contains("direction: 0.872 -0.444 0.208"), "{printed}");
    assert!(printed.contains("expected n = 400i64, found size = 399i64"), "{printed}");
}

#[test]
fn the_rust_example_fits_a_line() {
    if c_compiler().is_none() {
        return;
    }
    let scratch = Scratch::new("rust-example");
    let directory = scratch.0.display().to_string();
    build(&["examples/linear_regression.fut", "--grad", "loss:slope,offset", "--kind", "static", "-o", &directory]);
    let program = scratch.path("main");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| String::from("rustc"));
    let link = "static=linear_regression";
    output_of(&rustc, &["--edition", "2024", "-L", &directory, "-l", link, "examples/rust/main.rs", "-o", &program]);
    let printed = output_of(&program, &[]);
    assert!(printed.starts_with("y = 2.0000 x + 1.0000, loss "), "{printed}");
    assert!(printed.contains("expected n = 4i64, found size = 3i64"), "{printed}");
}

#[test]
fn libraries_with_different_prefixes_go_into_one_program() {
    let Some(cc) = c_compiler() else { return };
    let scratch = Scratch::new("prefixes");
    let program = scratch.file("f.fut", "entry f (x: f64) = x * x\nentry xs (n: i64) = map f64.i64 (iota n)");
    for prefix in ["one", "two"] {
        build(&[&program, "--kind", "static", "--prefix", prefix, "--portable", "-o", &scratch.path(prefix)]);
    }
    let main = "#include \"one.h\"\n#include \"two.h\"\nint main(void) {\n  double x = 0;\n  one_f64_1d xs = {0};\n  \
                one_context *a = one_context_new();\n  two_context *b = two_context_new();\n  \
                int failed = one_entry_f(a, 3, &x) || two_entry_f(b, x, &x) || one_entry_xs(a, 5, &xs);\n  \
                failed = failed || x != 81 || xs.data[4] != 4;\n  one_f64_1d_free(&xs);\n  one_context_free(a);\n  \
                two_context_free(b);\n  return failed;\n}\n";
    let main = scratch.file("main.c", main);
    compile_c(&cc, &main, &scratch.0, &["one", "two"], &scratch.path("main"));
    output_of(&scratch.path("main"), &[]);
}

#[test]
fn the_manifest_says_what_functions_take_and_give() {
    let scratch = Scratch::new("manifest");
    let directory = format!("{}/", scratch.0.display());
    let written =
        build(&[INTERFACE, "--entry", "loss", "--grad", "loss:w", "--entry", "everything", "--kind", "c", "-o", &directory]);
    let files: Vec<&str> = written.lines().map(|line| line.rsplit('/').next().unwrap_or(line)).collect();
    assert_eq!(files, ["interface.c", "interface.h", "interface.json"]);
    let text = std::fs::read_to_string(scratch.path("interface.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(manifest["files"]["library"], serde_json::Value::Null);
    let entries = manifest["entry_points"].as_array().expect("entry points");
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry["c_name"].as_str()).collect();
    assert_eq!(names, ["chadwick_entry_loss", "chadwick_entry_everything", "chadwick_gradient_loss_by_w"]);
    let loss = &entries[0];
    assert_eq!(loss["sizes"], serde_json::json!({ "d": ["w[0]", "xs[1]"], "n": ["xs[0]"] }));
    assert_eq!(loss["parameters"][1]["shape"], serde_json::json!(["n", "d"]));
    assert_eq!(loss["results"][0]["element"], "f64");
    let c_names = |entry: &serde_json::Value, key: &str| -> Vec<String> {
        let slots = entry[key].as_array().into_iter().flatten();
        slots.filter_map(|slot| slot["c_name"].as_str().map(String::from)).collect()
    };
    let everything = &entries[1];
    let wanted = ["register_", "int_", "NULL_", "p_x", "p_y", "ps_x", "ps_y", "arg5_0", "arg5_1", "x_prime"];
    assert_eq!(c_names(everything, "parameters"), wanted);
    assert_eq!(everything["sizes"]["n"], serde_json::json!(["register[0]", "ps.x[0]", "ps.y[0]"]));
    assert_eq!(entries[2]["by"], serde_json::json!(["w"]));
    assert_eq!(c_names(&entries[2], "results"), ["out_value", "out_gradient_w"]);
    assert_eq!(entries[2]["results"][1]["shape"], serde_json::json!(["d"]));
}

#[test]
fn what_cannot_be_in_a_library_is_refused_by_name() {
    let scratch = Scratch::new("refused");
    let fails = |arguments: &[&str], message: &str| {
        let output = scratch.path("x/");
        let arguments: Vec<&str> = ["build", "-o", &output].into_iter().chain(arguments.iter().copied()).collect();
        let (code, _, stderr) = chadwick(&arguments);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    };
    let opaque = "the result of `maybe` has type #none | #some i32, which is no number, boolean or array of such";
    fails(&[INTERFACE, "--entry", "maybe"], opaque);
    fails(&[INTERFACE, "--grad", "maybe"], opaque);
    fails(&[INTERFACE, "--grad", "double"], "only a function that gives one float has a gradient");
    fails(&[INTERFACE, "--grad", "loss:nothing"], "`loss` has no parameter `nothing`");
    fails(&[INTERFACE, "--entry", "absent"], "there is no entry point `absent`");
    fails(&[INTERFACE, "--entry", "double", "--entry", "double"], "`double` is asked for twice");
    let takes = scratch.file("takes.fut", "type t = #a | #b\nentry f (x: t) : i64 = match x case #a -> 1 case #b -> 2");
    fails(&[&takes], "there is no entry point for a library: parameter `x` of `f` has type #a | #b");
    let empty = scratch.file("empty.fut", "def f (x: i64) = x");
    fails(&[&empty], "the program has none");
    let (code, _, stderr) = chadwick(&["build", INTERFACE, "--prefix", "int"]);
    assert_eq!(code, Some(2), "{stderr}");
}
