//! `chadwick grad`: value and gradient of an entry point.

use crate::Exit;
use crate::arguments::{self, Default};
use crate::commands::{differentiated, finish, load, warn_of_derivative};
use crate::options::GradOptions;
use crate::output;
use crate::results::Results;
use chadwick::Result;
use chadwick::compile::Engine;
use chadwick::values::json;
use serde_json::json;

pub fn command(options: &GradOptions) -> Exit {
    finish(grad(options), options.output.wants_json())
}

fn grad(options: &GradOptions) -> Result<()> {
    let engine = options.engine.as_deref();
    let by = engine.and_then(Engine::from_name).unwrap_or_default();
    let program = load(&options.call.file)?;
    let call = arguments::resolve(&program, &options.call, Default::Tests, options.limits.max_memory)?;
    let program = differentiated(&program.only(&call.entry)?, by, options.backend.backend(false, engine))?;
    let function = program.function(&call.entry)?;
    let function = match options.wrt.is_empty() {
        true => function,
        false => function.wrt(&options.wrt)?,
    };
    let gradient = function.gradient()?;
    warn_of_derivative(&function)?;
    gradient.prepare()?;
    program.set_limits(options.limits.starting_now());
    let (value, parts) = gradient.value_and_gradient(&call.arguments)?;
    let names = gradient.names()?;
    if options.output.wants_json() && options.output.output.is_none() {
        let parts = json::object(names.iter().map(String::as_str).zip(&parts));
        output::line(&json!({ "value": json::from_value(&value), "gradient": parts }).to_string());
        return Ok(());
    }
    let mut values = vec![(String::from("value"), value)];
    values.extend(names.into_iter().map(|name| format!("gradient.{name}")).zip(parts));
    Results { values, named: true }.write(&options.output)
}
