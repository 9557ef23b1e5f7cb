//! `chadwick core`: the intermediate language as text.

use crate::commands::finish;
use crate::options::CoreOptions;
use crate::{Exit, input, output};
use chadwick::compile::{Engine, FileLoader};
use chadwick::{Error, Program, Result};

pub fn command(options: &CoreOptions) -> Exit {
    finish(print(options))
}

fn print(options: &CoreOptions) -> Result<()> {
    let text = input::read_source(&options.file).map_err(Error::argument)?;
    let wanted = |name: &str| options.entry.as_ref().is_none_or(|entry| entry == name);
    let program = Program::compile_entries(&options.file, &text, &FileLoader, wanted)?;
    if let Some(entry) = &options.entry {
        program.function(entry)?;
    }
    if options.after == "c" {
        let program = program.with_backend(chadwick::Backend::Native(chadwick::NativeOptions::default()))?;
        output::bytes(program.c_text().unwrap_or_default().as_bytes());
        return Ok(());
    }
    let engine = if options.after == "derivatives" { Engine::ChadFast } else { Engine::Builtin };
    let program = program.with_engine(engine)?;
    output::bytes(program.core_text().as_bytes());
    Ok(())
}
