//! Loops whose steps threads run together: the bits and the messages of one thread, for any number of them, also where there are more threads than
//! processors, or than may stay together.

use std::path::PathBuf;
use std::process::{Command, Output};

const PROGRAM: &str = "tests/programs/steps_together.fut";

const ENTRIES: [&str; 6] = ["recurrent", "chained", "diffused", "mixed", "late", "outside"];

fn chadwick(arguments: &[&str], cache: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(arguments)
        .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("NO_COLOR", "1")
        .env("CHADWICK_CACHE_DIR", cache)
        // Threads share even the shortest loops, and wait for one another before the first step.
        .env("CC", "cc -DCW_GRAIN=8 -DCW_STAY_ALWAYS")
        .output()
        .expect("the binary starts")
}

#[test]
fn steps_are_those_of_one_thread() {
    let cache = std::env::temp_dir().join(format!("chadwick-steps-{}", std::process::id()));
    for entry in ENTRIES {
        let text = chadwick(&["core", PROGRAM, "--entry", entry, "--after", "c"], &cache);
        assert!(String::from_utf8_lossy(&text.stdout).contains("cw_stay_together(ctx"), "`{entry}` has no steps");
        for (size, steps) in [("17", "5"), ("50", "9"), ("201", "40")] {
            let run = |threads: &str| {
                let output = chadwick(&["run", "--threads", threads, PROGRAM, entry, size, steps], &cache);
                (output.status.code(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
            };
            let one = run("1");
            assert_eq!(one.0, Some(i32::from(["late", "outside"].contains(&entry))), "{}", one.2);
            for threads in ["2", "3", "10"] {
                assert!(run(threads) == one, "{entry} {size} {steps} with {threads} threads");
            }
        }
    }
    let _ = std::fs::remove_dir_all(cache);
}
