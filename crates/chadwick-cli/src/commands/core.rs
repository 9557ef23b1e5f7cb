//! `chadwick core`: the intermediate language as text.

use crate::commands::finish;
use crate::options::CoreOptions;
use crate::{Exit, input, output};
use chadwick::compile::FileLoader;
use chadwick::{Error, Program, Result};

pub fn command(options: &CoreOptions) -> Exit {
    finish(print(options), false)
}

fn print(options: &CoreOptions) -> Result<()> {
    let text = input::read_source(&options.file).map_err(Error::argument)?;
    let wanted = |name: &str| options.entry.as_ref().is_none_or(|entry| entry == name);
    let program = Program::compile_entries(&options.file, &text, &FileLoader, wanted)?;
    if let Some(entry) = &options.entry {
        program.function(entry)?;
    }
    let program = program.at_stage(options.after)?;
    output::bytes(program.core_text().as_bytes());
    Ok(())
}
