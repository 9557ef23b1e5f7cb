//! One file per command.

pub mod build;
pub mod check;
pub mod core;
pub mod engines;
pub mod eval;
pub mod explain;
pub mod grad;
pub mod gradcheck;
pub mod profile;
pub mod repl;
pub mod run;

use crate::errors::error_json;
use crate::output::{self, Paint};
use crate::{Exit, input, output::style};
use chadwick::compile::{Engine, FileLoader};
use chadwick::{Backend, Error, Function, Program, render};
use std::path::Path;

/// Compiles a program; its warnings go to standard error.
fn load(path: &Path) -> Result<Program, Error> {
    let text = input::read_source(path).map_err(Error::argument)?;
    let program = Program::compile(path, &text, &FileLoader)?;
    let style = style(Paint::stderr());
    for warning in program.warnings() {
        output::error_line(render::diagnostic(warning, program.source_map(), style).trim_end());
    }
    program.set_trace(|tag, values| output::error_line(&trace_line(tag, values)));
    Ok(program)
}

/// Says what is to be said about the derivative of a function, on standard error.
fn warn_of_derivative(function: &Function) -> Result<(), Error> {
    let style = style(Paint::stderr());
    for warning in &function.derivative_warnings()? {
        output::error_line(render::diagnostic(warning, function.program().source_map(), style).trim_end());
    }
    Ok(())
}

/// The program with derivatives by an engine, ready to run on a back end; what is to be said about that goes to standard error.
pub fn compiled(program: &Program, engine: Engine, backend: Backend) -> Result<Program, Error> {
    let compiled = differentiated(program, engine, backend)?;
    compiled.prepare()?;
    Ok(compiled)
}

/// The same, with native code made when it is first called.
fn differentiated(program: &Program, engine: Engine, backend: Backend) -> Result<Program, Error> {
    let known = program.warnings().len();
    let compiled = program.compiled(engine, backend)?;
    let style = style(Paint::stderr());
    for warning in &compiled.warnings()[known..] {
        output::error_line(render::diagnostic(warning, compiled.source_map(), style).trim_end());
    }
    Ok(compiled)
}

/// The same for the sake of an entry point: what only others need is not compiled, and may be what the engine does not take.
pub fn compiled_for(program: &Program, entry: Option<&str>, engine: Engine, backend: Backend) -> Result<Program, Error> {
    match entry {
        Some(entry) => compiled(&program.only(entry)?, engine, backend),
        None => compiled(program, engine, backend),
    }
}

fn trace_line(tag: &str, values: &str) -> String {
    match tag {
        "" => format!("trace: {values}"),
        tag => format!("trace: {tag}: {values}"),
    }
}

/// Reports an error, if there is one, and says how the command ended. Tools find JSON on standard output.
fn finish(result: Result<(), Error>, json: bool) -> Exit {
    match result {
        Ok(()) => Exit::Success,
        Err(error) => {
            match json {
                true => output::line(&error_json(&error).to_string()),
                false => output::error_line(&error.render(style(Paint::stderr()))),
            }
            match error {
                Error::Usage { .. } => Exit::Usage,
                _ => Exit::Failure,
            }
        }
    }
}
