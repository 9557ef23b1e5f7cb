//! `chadwick gradbench` as the suite meets it: every message is answered, bad ones with an error; results agree with reference outputs
//! where those are at hand.

use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The answers to some lines, after which the input ends.
fn answers_to(lines: &[String]) -> Vec<Json> {
    answers_with(&[], lines)
}

fn answers_with(options: &[&str], lines: &[String]) -> Vec<Json> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .arg("gradbench")
        .args(options)
        .env("CHADWICK_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/native"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("a pipe");
    let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("the thread ends").expect("all input is read");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect()
}

fn define(id: usize, module: &str) -> String {
    json!({ "id": id, "kind": "define", "module": module }).to_string()
}

fn evaluate(id: usize, module: &str, function: &str, input: &Json) -> String {
    json!({ "id": id, "kind": "evaluate", "module": module, "function": function, "input": input }).to_string()
}

/// Whether an answer is as good as the reference: equal in structure, numbers to nine digits (or 1e-12 near zero).
fn agrees(got: &Json, want: &Json) -> Result<(), String> {
    match (got, want) {
        (Json::Number(got), Json::Number(want)) => {
            let (got, want) = (got.as_f64().unwrap_or(f64::NAN), want.as_f64().unwrap_or(f64::NAN));
            let close = (got - want).abs() <= f64::max(1e-12, 1e-9 * want.abs());
            if close { Ok(()) } else { Err(format!("{got} instead of {want}")) }
        }
        (Json::Array(got), Json::Array(want)) if got.len() == want.len() => got
            .iter()
            .zip(want)
            .enumerate()
            .try_for_each(|(at, (got, want))| agrees(got, want).map_err(|error| format!("[{at}]{error}"))),
        (Json::Object(got), Json::Object(want)) if got.len() == want.len() => want.iter().try_for_each(|(name, want)| {
            agrees(got.get(name).unwrap_or(&Json::Null), want).map_err(|error| format!(".{name}{error}"))
        }),
        (Json::Bool(got), Json::Bool(want)) if got == want => Ok(()),
        _ => Err(String::from(" has another structure")),
    }
}

/// The same with every number zero.
fn zeroed(json: &Json) -> Json {
    match json {
        Json::Number(_) => json!(0.0),
        Json::Array(items) => items.iter().map(zeroed).collect(),
        Json::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), zeroed(value))).collect(),
        other => other.clone(),
    }
}

/// The reference messages, which are not part of this project.
fn fixtures() -> Option<Vec<Json>> {
    let path = match std::env::var_os("CHADWICK_FIXTURES") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/gradbench/fixtures.json"),
    };
    let text = std::fs::read(path).ok()?;
    let document: Json = serde_json::from_slice(&text).expect("the reference messages are JSON");
    Some(document["messages"].as_array().expect("messages").clone())
}

#[test]
fn reference_outputs_are_met_to_nine_digits() {
    let Some(messages) = fixtures() else {
        eprintln!("skipped: there are no reference messages here");
        return;
    };
    let mut lines = Vec::new();
    for message in &messages {
        let module = message["module"].as_str().expect("a module");
        lines.push(define(lines.len(), module));
        lines.push(evaluate(lines.len(), module, message["function"].as_str().expect("a function"), &message["input"]));
    }
    let answers = answers_to(&lines);
    assert_eq!(answers.len(), lines.len());
    let mut wrong = Vec::new();
    for (message, answer) in messages.iter().zip(answers.iter().skip(1).step_by(2)) {
        let name = format!("{} {} {}", message["module"], message["function"], message["description"]);
        if answer["success"] != true {
            wrong.push(format!("{name}: {answer}"));
        } else if let Err(error) = agrees(&answer["output"], &message["output"]) {
            wrong.push(format!("{name}: {error}"));
        }
        // An answer of zeros must not pass for this one. A Jacobian that is structure alone would, but there is none.
        assert!(agrees(&zeroed(&message["output"]), &message["output"]).is_err(), "{name}: zeros would pass");
    }
    assert!(messages.len() >= 50 && wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_comparison_catches_wrong_answers() {
    let want = json!({ "a": [1.0, 2.0], "b": 8.246324826140356e-06 });
    let is_caught = |got: Json| assert!(agrees(&got, &want).is_err(), "{got}");
    assert_eq!(agrees(&want, &want), Ok(()));
    assert_eq!(agrees(&json!({ "a": [1, 2.0 + 1e-10], "b": 8.246324826140356e-06 }), &want), Ok(()));
    is_caught(zeroed(&want));
    is_caught(json!({ "a": [1.0, 2.0], "b": 0.0 }));
    is_caught(json!({ "a": [1.0, null], "b": 8.246324826140356e-06 }));
    is_caught(json!({ "a": [1.0, "nan"], "b": 8.246324826140356e-06 }));
    is_caught(json!({ "a": [1.0, 2.00000001], "b": 8.246324826140356e-06 }));
    is_caught(json!({ "a": [1.0], "b": 8.246324826140356e-06 }));
    is_caught(json!({ "a": [1.0, 2.0] }));
    assert!(agrees(&serde_json::to_value(f64::NAN).expect("null"), &json!(1.0)).is_err());
}

#[test]
fn a_session_is_answered_line_by_line() {
    let lines = [
        json!({ "id": 0, "kind": "start", "eval": "hello", "config": { "any": [1, null] } }).to_string(),
        define(1, "hello"),
        evaluate(2, "hello", "square", &json!(3)),
        json!({ "id": 3, "kind": "analysis", "of": 2, "valid": true }).to_string(),
        evaluate(4, "hello", "double", &json!(3.5)),
    ];
    let answers = answers_to(&lines);
    let ids: Vec<&Json> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4]);
    assert_eq!(answers[0], json!({ "id": 0, "tool": "chadwick" }));
    assert_eq!(answers[1]["success"], true);
    assert_eq!((&answers[2]["success"], &answers[2]["output"]), (&json!(true), &json!(9.0)));
    assert_eq!(answers[3], json!({ "id": 3 }));
    assert_eq!(answers[4]["output"], json!(7.0));
    assert!(answers[4].get("error").is_none());
}

#[test]
fn runs_are_repeated_as_often_as_the_input_asks() {
    let runs = |input: Json| {
        let answers = answers_to(&[define(1, "lse"), evaluate(2, "lse", "primal", &input)]);
        let timings = answers[1]["timings"].as_array().expect("timings").clone();
        assert!(timings.iter().all(|timing| timing["name"] == "evaluate" && timing["nanoseconds"].is_u64()), "{timings:?}");
        (timings.len(), timings.iter().filter_map(|timing| timing["nanoseconds"].as_u64()).sum::<u64>())
    };
    assert_eq!(runs(json!({ "x": [1.0, 2.0] })).0, 1);
    assert_eq!(runs(json!({ "x": [1.0, 2.0], "min_runs": 0, "min_seconds": 0 })).0, 1);
    assert_eq!(runs(json!({ "x": [1.0, 2.0], "min_runs": 7.0, "min_seconds": 0 })).0, 7);
    assert!(runs(json!({ "x": [1.0, 2.0], "min_runs": 1, "min_seconds": 0.005 })).1 >= 5_000_000);
}

#[test]
fn fields_are_parameters_in_any_order_and_integers_are_numbers() {
    let expected = json!([0.25, 0.5]);
    let lines = [
        define(1, "kmeans"),
        // The input comes before what it is for.
        r#"{"input":{"centroids":[[0,0]],"points":[[1,1.0]]},"function":"cost","module":"kmeans","kind":"evaluate","id":2}"#
            .to_owned(),
        evaluate(3, "kmeans", "cost", &json!({ "points": [[1, 1]], "other": { "deep": ["skipped"] }, "centroids": [[0, 0]] })),
        define(4, "ode"),
        evaluate(5, "ode", "primal", &json!({ "x": [0.125, 2], "s": 2.0 })),
        define(6, "ht"),
        evaluate(7, "ht", "objective", &hand(json!([]))),
        evaluate(8, "ht", "jacobian", &hand(json!([]))),
        evaluate(9, "ht", "jacobian", &hand(json!([[0.25, 0.25]]))),
    ];
    let answers = answers_with(&["--threads", "1"], &lines);
    assert_eq!((&answers[1]["output"], &answers[2]["output"]), (&json!(2.0), &json!(2.0)));
    assert_eq!(answers[4]["output"], expected);
    assert_eq!(answers[6]["output"], json!([-2.0, -4.0, -6.0]));
    let shape = |answer: &Json| answer["output"].as_array().map(|rows| (rows.len(), rows[0].as_array().map(Vec::len)));
    assert_eq!(shape(&answers[7]), Some((3, Some(26))), "{}", answers[7]);
    assert_eq!(shape(&answers[8]), Some((3, Some(28))), "{}", answers[8]);
}

/// A hand of one bone and one vertex at (1, 2, 3), moved by as much again.
fn hand(us: Json) -> Json {
    let identity = json!([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]);
    let mut theta = vec![0.0; 26];
    theta[3..6].copy_from_slice(&[1.0, 2.0, 3.0]);
    json!({ "theta": theta, "us": us, "data": {
        "model": {
            "bone_count": 1, "bone_names": ["root"], "parents": [-1], "base_relatives": [identity],
            "inverse_base_absolutes": [identity], "base_positions": [[1, 2, 3, 1]], "weights": [[1]],
            "triangles": [[0, 0, 0]], "is_mirrored": false,
        },
        "correspondences": [0], "points": [[0, 0, 0]],
    } })
}

#[test]
fn every_bad_message_is_answered_with_an_error() {
    let bad = [
        (json!(null), "nonsense".to_owned(), "malformed JSON"),
        (json!(null), "[1, 2]".to_owned(), "expected a message"),
        (json!(null), r#"{"id":"one","kind":"start"}"#.to_owned(), "no number"),
        (json!(null), r#"{"kind":"analysis"} {}"#.to_owned(), "trailing"),
        (json!(3), r#"{"id":3}"#.to_owned(), "no `kind`"),
        (json!(4), r#"{"id":4,"kind":"frobnicate"}"#.to_owned(), "`frobnicate`"),
        (json!(5), r#"{"id":5,"kind":["start"]}"#.to_owned(), "the `kind` is no string"),
        (json!(6), r#"{"id":6,"kind":"define"}"#.to_owned(), "no `module`"),
        (json!(7), define(7, "nothing"), "`nothing`"),
        (json!(8), define(8, "../lse"), "no program"),
        (json!(9), define(9, "descent"), "no program"),
        (json!(10), evaluate(10, "gmm", "objective", &json!({})), "not been defined"),
        (json!(11), evaluate(11, "lse", "dual", &json!({ "x": [1] })), "no function `dual`; it has gradient, primal"),
        (json!(12), r#"{"id":12,"kind":"evaluate","module":"lse"}"#.to_owned(), "no `function`"),
        (json!(13), r#"{"id":13,"kind":"evaluate","module":"lse","function":"primal"}"#.to_owned(), "no `input`"),
        (json!(14), evaluate(14, "lse", "primal", &json!({ "y": [1] })), "no field `x`"),
        (json!(15), evaluate(15, "lse", "primal", &json!({ "x": [1, "two"] })), "input `x`"),
        (json!(16), evaluate(16, "lse", "primal", &json!({ "x": [[1, 2]] })), "input `x`"),
        (json!(17), evaluate(17, "lse", "primal", &json!({ "x": null })), "input `x`"),
        (json!(18), evaluate(18, "ode", "primal", &json!({ "x": [1], "s": 1.5 })), "expected a value of type i64, found 1.5"),
        (json!(19), evaluate(19, "lse", "primal", &json!({ "x": [] })), "not finite"),
        (json!(20), r#"{"id":20,"kind":"evaluate","module":"lse","function":"primal","input":{"x":[1,2"#.to_owned(), "EOF"),
        (
            json!(21),
            r#"{"id":21,"kind":"evaluate","module":"lse","function":"primal","input":{"x":[1e999]}}"#.to_owned(),
            "range",
        ),
        (
            json!(22),
            r#"{"id":22,"kind":"evaluate","module":"lse","function":"primal","input":{"x":[NaN]}}"#.to_owned(),
            "input `x`",
        ),
        (json!(23), evaluate(23, "kmeans", "cost", &json!({ "points": [[1, 2], [3]], "centroids": [[1, 2]] })), "an array of 1"),
        (json!(24), evaluate(24, "kmeans", "cost", &json!({ "points": [[1, 2]], "centroids": [[1, 2, 3]] })), "size"),
        (json!(25), evaluate(25, "lse", "primal", &json!("x")), "expected an array, found a string"),
        (json!(26), format!(r#"{{"id":26,"kind":"start","config":{}"#, "[".repeat(100_000)), "malformed"),
        (json!(27), r#"{"id":27,"kind":"define","module":7}"#.to_owned(), "the `module` is no string"),
        (json!(30), evaluate(30, "lse", "primal", &json!({ "x": [1], "min_runs": 1e12 })), "at most"),
        // What is wrong comes before the `id`.
        (
            json!(28),
            r#"{"kind":"evaluate","module":"lse","function":"primal","input":{"x":[1,{"y":[2]},[3],null]},"id":28}"#.to_owned(),
            "input `x`: expected a value of type f64, found an object",
        ),
        (json!(29), r#"{"kind":7,"id":29}"#.to_owned(), "the `kind` is no string"),
    ];
    let mut lines = vec![define(0, "lse"), define(1, "ode"), define(2, "kmeans")];
    lines.extend(bad.iter().map(|(_, line, _)| line.clone()));
    lines.push(String::from("  "));
    lines.push(evaluate(99, "lse", "primal", &json!({ "x": [0] })));
    let answers = answers_to(&lines);
    assert_eq!(answers.len(), bad.len() + 4);
    for ((id, line, error), answer) in bad.iter().zip(&answers[3..]) {
        let line = &line[..line.len().min(100)];
        assert_eq!((&answer["id"], &answer["success"]), (id, &json!(false)), "{line}: {answer}");
        assert!(answer["error"].as_str().is_some_and(|text| text.contains(error)), "{line}: {answer}");
        assert!(answer.get("output").is_none(), "{line}: {answer}");
    }
    assert_eq!(answers.last().map(|answer| &answer["output"]), Some(&json!(0.0)));
}

#[test]
fn an_input_without_an_end_of_line_is_answered_and_an_empty_one_is_not() {
    assert_eq!(answers_to(&[]), Vec::<Json>::new());
    let mut child = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .arg("gradbench")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    child.stdin.take().expect("a pipe").write_all(br#"{"id":5,"kind":"start"}"#).expect("it reads");
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"id\":5,\"tool\":\"chadwick\"}\n");
}

#[test]
fn programs_can_come_from_a_directory() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gradbench_programs");
    std::fs::create_dir_all(&directory).expect("a directory");
    let program = "
      entry prepare (n: i64) (of: {x: f64}): {copies: [n]f64, factor: f64} = {copies = replicate n of.x, factor = 2}
      entry scaled [n] (factor: f64) (copies: [n]f64): {all: [n]f64} = {all = map (factor *) copies}
      entry scaled_report [n] (all: [n]f64): {first: {value: f64}, count: i64} = {first = {value = all[0]}, count = n}
      entry undefined (factor: f64) = factor / 0";
    std::fs::write(directory.join("own.fut"), program).expect("a file");
    std::fs::write(directory.join("wrong.fut"), "entry f (x: f64) = y").expect("a file");
    let input = json!({ "n": 3, "of": { "x": 4, "y": "skipped" } });
    let lines = [
        define(1, "own"),
        evaluate(2, "own", "scaled", &input),
        evaluate(3, "own", "undefined", &input),
        evaluate(4, "own", "prepare", &input),
        define(5, "wrong"),
        define(6, "lse"),
    ];
    let answers = answers_with(&["--programs", directory.to_str().expect("text")], &lines);
    assert_eq!(answers[1]["output"], json!({ "first": { "value": 8.0 }, "count": 3 }), "{}", answers[1]);
    assert_eq!(answers[2]["error"], json!("the output is not finite"));
    for (answer, error) in answers[3..].iter().zip(["no function `prepare`", "unknown name", "no program"]) {
        assert!(answer["success"] == false && answer["error"].as_str().is_some_and(|text| text.contains(error)), "{answer}");
    }
}
