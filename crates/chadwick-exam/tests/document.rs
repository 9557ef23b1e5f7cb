//! `docs/engines.md` says of every engine what `chadwick explain` says.
//!
//! `CHADWICK_UPDATE=1 cargo test -p chadwick-exam --test document` writes the derivatives of the running example into it.

use chadwick::Program;
use chadwick::compile::{Definition, Engine, Stage};
use chadwick::core::Mode;

const RUNNING: &str = "entry f (x: f64) (y: f64): f64 = let z = x + y in x * z";

fn path() -> String {
    format!("{}/../../docs/engines.md", env!("CARGO_MANIFEST_DIR"))
}

/// The derivative as the engine's paper writes it, or as Core.
fn shown(engine: Engine, mode: Mode) -> String {
    let program = Program::from_source(RUNNING).and_then(|program| program.with_engine(engine)).expect("a program");
    let explanation = program.function("f").and_then(|f| f.explain(mode, Stage::Optimise)).expect("a derivative");
    let text = explanation.notation.unwrap_or(explanation.core);
    text.lines().take_while(|line| !line.starts_with("entry ")).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Where a block of an engine's section is in the text, if it has so many.
fn block(text: &str, engine: Engine, number: usize) -> Option<std::ops::Range<usize>> {
    let heading = text.find(&format!("# `{}`\n", engine.name())).unwrap_or_else(|| panic!("{} has no page", engine.name()));
    let section = &text[heading..];
    let section = &section[..section[2..].find("\n#").map_or(section.len(), |end| end + 2)];
    let start = section.match_indices("```text\n").nth(number)?.0 + "```text\n".len();
    let end = start + section[start..].find("\n```")?;
    Some(heading + start..heading + end)
}

#[test]
fn every_engine_has_a_page_with_the_derivative_that_it_makes() {
    let mut text = std::fs::read_to_string(path()).expect("the document");
    let update = std::env::var_os("CHADWICK_UPDATE").is_some();
    for engine in Engine::all().into_iter().filter(|engine| *engine != Engine::Builtin) {
        // The definition of CHAD has a forward mode of its own.
        let modes = if engine == Engine::Chad(Definition::Plain) { vec![Mode::Vjp, Mode::Jvp] } else { vec![Mode::Vjp] };
        for (number, mode) in modes.into_iter().enumerate() {
            let place = block(&text, engine, number).unwrap_or_else(|| panic!("{} shows no derivative", engine.name()));
            match update {
                true => text.replace_range(place, &shown(engine, mode)),
                false => assert_eq!(&text[place], shown(engine, mode), "{}", engine.name()),
            }
        }
    }
    assert!(block(&text, Engine::Builtin, 0).is_none());
    if update {
        std::fs::write(path(), text).expect("the document is written");
    }
}
