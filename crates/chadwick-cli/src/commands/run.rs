//! `chadwick run`: an entry point on given arguments.

use crate::arguments::{self, Default};
use crate::commands::{compiled_for, finish, load, trace_line};
use crate::options::RunOptions;
use crate::results::Results;
use crate::{Exit, output};
use chadwick::Result;
use chadwick::compile::Engine;

pub fn command(options: &RunOptions) -> Exit {
    finish(run(options), options.output.wants_json())
}

fn run(options: &RunOptions) -> Result<()> {
    let engine = options.engine.as_deref();
    let by = engine.and_then(Engine::from_name).unwrap_or_default();
    let program = load(&options.call.file)?;
    let call = arguments::resolve(&program, &options.call, Default::StandardInput, options.limits.max_memory)?;
    let program = compiled_for(&program, Some(&call.entry), by, options.backend.backend(false, engine))?;
    program.set_trace(|tag, values| output::error_line(&trace_line(tag, values)));
    program.set_limits(options.limits.starting_now());
    let function = program.function(&call.entry)?;
    if function.result_types().is_none() && options.output.is_plain_text() {
        function.call_to_text(&call.arguments)?.iter().for_each(|text| output::line(text));
        return Ok(());
    }
    let results = function.call(&call.arguments)?;
    let values = function.result_names().into_iter().zip(results).collect();
    Results { values, named: false }.write(&options.output)
}
