//! Loops whose steps threads run together: the bits and the messages of one thread, for any number of them, also where there are more threads than
//! processors, or than may stay together.

use std::path::PathBuf;
use std::process::{Command, Output};

const PROGRAM: &str = "tests/programs/steps_together.fut";

const ENTRIES: [&str; 6] = ["recurrent", "chained", "diffused", "mixed", "late", "outside"];

/// Threads share even the shortest loops, and wait for one another before the first step.
const ALWAYS: &str = "cc -DCW_GRAIN=8 -DCW_STAY_ALWAYS";
/// The same where that turns out to be faster.
const AS_LEARNT: &str = "cc -DCW_GRAIN=8";

fn chadwick(compiler: &str, arguments: &[&str], cache: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(arguments)
        .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("NO_COLOR", "1")
        .env("CHADWICK_CACHE_DIR", cache)
        .env("CC", compiler)
        .output()
        .expect("the binary starts")
}

/// What a run prints and how it ends, for any number of threads what it is for one.
fn check(compiler: &str, entry: &str, size: &str, steps: &str, cache: &std::path::Path) {
    let run = |threads: &str| {
        let output = chadwick(compiler, &["run", "--threads", threads, PROGRAM, entry, size, steps], cache);
        (output.status.code(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let one = run("1");
    assert_eq!(one.0, Some(i32::from(["late", "outside"].contains(&entry))), "{}", one.2);
    for threads in ["2", "3", "10"] {
        assert!(run(threads) == one, "{entry} {size} {steps} with {threads} threads");
    }
}

#[test]
fn steps_are_those_of_one_thread() {
    let cache = std::env::temp_dir().join(format!("chadwick-steps-{}", std::process::id()));
    for entry in ENTRIES {
        let text = chadwick(ALWAYS, &["core", PROGRAM, "--entry", entry, "--after", "c"], &cache);
        assert!(String::from_utf8_lossy(&text.stdout).contains("cw_stay_together(ctx"), "`{entry}` has no steps");
        for (size, steps) in [("17", "5"), ("50", "9"), ("201", "40")] {
            check(ALWAYS, entry, size, steps, &cache);
        }
        // So many that threads stay together for some, stay apart for others, and then do what was faster.
        check(AS_LEARNT, entry, "19", "5000", &cache);
    }
    let _ = std::fs::remove_dir_all(cache);
}

/// Who hears late that somebody has failed comes to the meeting all the same, for the others wait there.
#[test]
fn nobody_waits_for_who_heard_of_a_failure() {
    let cache = std::env::temp_dir().join(format!("chadwick-failing-steps-{}", std::process::id()));
    // Stints begin at some of these steps.
    for bad in ["0", "128", "384"] {
        for threads in ["3", "7"].repeat(3) {
            let arguments = ["run", "--threads", threads, "--timeout", "20", PROGRAM, "failing", "20000", "3000", bad];
            let output = chadwick("cc", &arguments, &cache);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("index 20000 out of bounds for size 20000"), "{threads} threads, step {bad}: {said}");
        }
    }
    let _ = std::fs::remove_dir_all(cache);
}
