//! Programs that are nearly right, and texts that are no programs: every stage ends with a result or with errors, in bounded time.

use crate::compiled::Failure;
use crate::runs::{config_of, count_true};
use chadwick::compile::{self, FileLoader};
use chadwick_core::verify;
use chadwick_generate::{Element, Random, generate};
use chadwick_interp::{Interpreter, Limits, Value};
use chadwick_source::FileId;
use chadwick_syntax::lexer::lex;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Far more than any of these programs needs.
const TIME_LIMIT: Duration = Duration::from_secs(20);
const RUN_LIMIT: Duration = Duration::from_millis(200);

/// The tokens of a text with what is between them.
fn tokens(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for token in lex(FileId(0), text).tokens {
        let (start, stop) = (token.start as usize, token.end as usize);
        pieces.extend([text.get(end..start), text.get(start..stop)].into_iter().flatten());
        end = stop;
    }
    pieces.extend(text.get(end..));
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn mutated(text: &str, other: &str, random: &mut Random) -> String {
    let mut pieces = tokens(text);
    let others = tokens(other);
    for _ in 0..=random.below(3) {
        let (at, from) = (random.below(pieces.len()), random.below(pieces.len()));
        match random.below(6) {
            0 => drop(pieces.remove(at)),
            1 => pieces.insert(at, pieces[from]),
            2 => pieces.swap(at, from),
            3 => pieces[at] = pieces[from],
            4 => pieces[at] = others[random.below(others.len())],
            _ => {
                // A whole stretch from another program.
                let start = random.below(others.len());
                let end = (start + random.below(12)).min(others.len());
                pieces.splice(at..at, others[start..end].iter().copied());
            }
        }
    }
    pieces.concat()
}

fn garbage(random: &mut Random) -> String {
    let length = random.below(400);
    let bytes: Vec<u8> = match random.below(3) {
        0 => (0..length).map(|_| random.below(256) as u8).collect(),
        1 => (0..length).map(|_| 32 + random.below(95) as u8).collect(),
        _ => {
            const WORDS: &[&str] = &[
                "def",
                "let",
                "in",
                "(",
                ")",
                "[",
                "]",
                "{",
                "}",
                "->",
                "\\",
                "x",
                "f",
                "=",
                ":",
                ":>",
                "loop",
                "for",
                "while",
                "do",
                "if",
                "then",
                "else",
                "match",
                "case",
                "#a",
                "#[b]",
                "type",
                "module",
                "open",
                "import \"x\"",
                "entry",
                "1",
                "2.5",
                "i64",
                "*",
                "+",
                "-",
                "..",
                "...",
                "with",
                "rec",
                "and",
                "'a",
                "?[n].",
                "@",
                "`f`",
                "|>",
                ",",
                ".",
                "'c'",
                "\"s\"",
            ];
            let words: Vec<&str> = (0..length / 2).map(|_| *random.pick(WORDS)).collect();
            words.join(" ").into_bytes()
        }
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Compiles, and runs what compiles; returns whether it did.
fn survives(text: &str) -> Result<bool, Failure> {
    let begin = Instant::now();
    let mut checked = compile::check(Path::new("mutated.fut"), text, &FileLoader);
    let core = compile::lower(&mut checked);
    if begin.elapsed() > TIME_LIMIT {
        return Err(Failure::new("compiles in bounded time", format!("{:?}\n{text}", begin.elapsed())));
    }
    let Some(core) = core else {
        let said = checked.diagnostics.iter().any(chadwick_source::Diagnostic::is_error);
        let property = "is refused with an error";
        return if said { Ok(false) } else { Err(Failure::new(property, text)) };
    };
    if let Some(error) = verify::verify(&core).first() {
        return Err(Failure::new("what is lowered verifies", format!("{error}\n{text}")));
    }
    let entries: Vec<_> = core.entries.iter().map(|entry| (entry.function, entry.params.clone())).collect();
    let mut interpreter = Interpreter::new(Rc::new(core), Limits::default());
    for (function, params) in entries.into_iter().take(3) {
        let types = params.iter().flat_map(|param| &param.types);
        let Some(args) = types.map(small_value).collect::<Option<Vec<Value>>>() else { continue };
        let deadline = Some(Instant::now() + RUN_LIMIT);
        interpreter.set_limits(Limits { max_memory_bytes: 1 << 28, deadline, max_depth: Some(100_000) });
        // An error is as good as a result.
        let _ = interpreter.call(function, args);
    }
    if begin.elapsed() > TIME_LIMIT {
        return Err(Failure::new("runs in bounded time", format!("{:?}\n{text}", begin.elapsed())));
    }
    Ok(true)
}

fn small_value(ty: &chadwick_core::Type) -> Option<Value> {
    use chadwick_core::{Const, Dim, Element, Prim, Type};
    match ty {
        Type::Prim(prim) => Some(Value::Scalar(Const::one(*prim))),
        Type::Array(array) => {
            let size = |dim: &Dim| match dim {
                Dim::Const(size) => *size,
                Dim::Any => 3,
            };
            let shape: Vec<i64> = array.dims.iter().map(size).collect();
            let count = shape.iter().product::<i64>().clamp(0, 1000) as usize;
            match array.element {
                Element::Prim(Prim::F64) => Value::array_f64(&shape, vec![0.5; count]),
                Element::Prim(Prim::I64) => Value::array_i64(&shape, vec![2; count]),
                _ => None,
            }
        }
        _ => None,
    }
}

pub fn mutated_programs(count: u64) {
    let compiled = count_true(count, &|seed| {
        let mut random = Random::new(seed ^ 0x0BAD);
        let element = *random.pick(&Element::ALL);
        let program = generate(seed, &config_of(seed));
        if random.chance(50) {
            return survives(&program.disturbed(&mut random).source(element));
        }
        let other = generate(seed + 1, &config_of(seed + 1));
        survives(&mutated(&program.source(element), &other.source(element), &mut random))
    });
    eprintln!("{compiled} of {count} mutated programs compile");
}

pub fn no_programs(count: u64) {
    count_true(count, &|seed| survives(&garbage(&mut Random::new(seed))));
}
