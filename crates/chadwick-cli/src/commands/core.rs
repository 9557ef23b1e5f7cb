//! `chadwick core`: the intermediate language as text.

use crate::commands::finish;
use crate::options::{CoreOptions, Printed};
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
    if let Some(entry) = &options.entry
        && program.function(entry).is_err()
    {
        // The message lists the entry points that there are.
        Program::compile(&options.file, &text, &FileLoader)?.function(entry)?;
    }
    let Printed::Core(stage) = options.after else {
        let program = program.with_backend(chadwick::Backend::Native(chadwick::NativeOptions::default()))?;
        output::bytes(program.c_text().unwrap_or_default().as_bytes());
        return Ok(());
    };
    let program = program.at_stage(stage)?;
    output::bytes(program.core_text().as_bytes());
    Ok(())
}
