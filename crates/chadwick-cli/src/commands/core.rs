//! `chadwick core`: the intermediate language as text.

use crate::arguments::entry_to_differentiate;
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
    let program = if options.grad { with_gradient(&program, options)? } else { program };
    let Printed::Core(stage) = options.after else {
        let program = program.with_backend(chadwick::Backend::Native(chadwick::NativeOptions::default()))?;
        output::bytes(program.c_text().unwrap_or_default().as_bytes());
        return Ok(());
    };
    let program = program.at_stage(stage)?;
    output::bytes(program.core_text().as_bytes());
    Ok(())
}

/// The program whose one entry point also gives the gradient.
fn with_gradient(program: &Program, options: &CoreOptions) -> Result<Program> {
    let entry = entry_to_differentiate(program, options.entry.as_deref())?;
    let function = program.function(&entry)?;
    let function = if options.wrt.is_empty() { function } else { function.wrt(&options.wrt)? };
    function.gradient()?;
    program.derivative_of(&entry, &function.wrt_arguments()?, chadwick::core::Mode::Vjp)
}
