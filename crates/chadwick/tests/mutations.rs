//! Programs that are nearly right: whatever is deleted, doubled, exchanged or replaced in a program, compiling and running it ends with a
//! result or an error.
//!
//! `CHADWICK_MUTATIONS=N` tries N mutations of every program instead of a few.

use chadwick::{Limits, Program, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Numbers that look random but are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// Words and signs; text without comments.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for line in text.lines() {
        let code = line.split("--").next().unwrap_or("");
        let mut last = ' ';
        for c in code.chars() {
            let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '\'';
            match tokens.last_mut() {
                Some(token) if is_word(c) && is_word(last) => token.push(c),
                Some(token)
                    if !is_word(c)
                        && !is_word(last)
                        && !c.is_whitespace()
                        && !"()[]{},".contains(c)
                        && !"()[]{}, ".contains(last) =>
                {
                    token.push(c);
                }
                _ => tokens.push(c.to_string()),
            }
            last = c;
        }
        tokens.push(String::from("\n"));
    }
    tokens
}

fn mutate(tokens: &mut Vec<String>, numbers: &mut Numbers) {
    const WORDS: [&str; 24] = [
        "0",
        "-1",
        "x",
        "f64",
        "i32",
        "[n]",
        "#c",
        "vjp",
        "jvp",
        "map",
        "iota 3",
        "loop",
        "let",
        "in",
        "match",
        "(",
        ")",
        "[",
        "]",
        "*",
        "true",
        "9223372036854775807i64",
        "copy",
        "\\x ->",
    ];
    let (a, b) = (numbers.below(tokens.len()), numbers.below(tokens.len()));
    if tokens.is_empty() {
        return;
    }
    match numbers.below(5) {
        0 => drop(tokens.remove(a)),
        1 => tokens.insert(a, tokens[b].clone()),
        2 => tokens.swap(a, b),
        3 => tokens[a] = tokens[b].clone(),
        _ => tokens[a] = WORDS[numbers.below(WORDS.len())].to_owned(),
    }
}

fn programs(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("the directory is there").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => programs(&path, found),
            false if path.extension().is_some_and(|extension| extension == "fut") => found.push(path),
            false => {}
        }
    }
    found.sort();
}

/// Compiles, and runs every entry point on small arguments.
fn try_program(path: &Path, text: &str) {
    let Ok(program) = Program::compile(path, text, &chadwick::compile::FileLoader) else { return };
    for entry in program.entry_points() {
        let function = program.function(&entry.name).expect("it is listed");
        let Some(types) = function.argument_types() else { continue };
        let arguments: Vec<Value> = types.iter().map(|ty| Value::zeros(ty.prim, vec![2; ty.rank]).expect("few")).collect();
        let deadline = Some(Instant::now() + Duration::from_millis(100));
        program.set_limits(Limits { max_memory_bytes: 1 << 26, deadline, max_depth: None });
        let _ = function.call(&arguments);
    }
}

#[test]
fn mutated_programs_never_panic() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let asked = std::env::var("CHADWICK_MUTATIONS").ok().and_then(|count| count.parse::<usize>().ok());
    let mut found = Vec::new();
    programs(&root.join("tests/conformance"), &mut found);
    programs(&root.join("examples"), &mut found);
    let step = if asked.is_some() { 1 } else { 3 };
    let mut failures = Vec::new();
    for (number, path) in found.iter().enumerate().step_by(step) {
        let original = tokens(&std::fs::read_to_string(path).expect("it is text"));
        let mut numbers = Numbers(number as u64 + 1);
        for _ in 0..asked.unwrap_or(1) {
            let mut mutated = original.clone();
            (0..1 + numbers.below(3)).for_each(|_| mutate(&mut mutated, &mut numbers));
            let text = mutated.concat();
            if catch_unwind(AssertUnwindSafe(|| try_program(path, &text))).is_err() {
                failures.push(format!("{}:\n{text}\n", path.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{} programs panic:\n{}", failures.len(), failures.iter().take(5).cloned().collect::<String>());
}
