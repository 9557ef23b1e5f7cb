//! `chadwick eval`: one expression.

use crate::Exit;
use crate::commands::{finish, trace_line};
use crate::options::EvalOptions;
use crate::output;
use chadwick::Result;
use chadwick::session::Session;
use serde_json::json;

pub fn command(options: &EvalOptions) -> Exit {
    finish(eval(options), options.json)
}

fn eval(options: &EvalOptions) -> Result<()> {
    let mut session = Session::new();
    session.set_trace(|tag, values| output::error_line(&trace_line(tag, values)));
    if let Some(path) = &options.load {
        session.load(path)?;
    }
    session.set_limits(options.limits.starting_now());
    let result = session.evaluate(&options.expression)?;
    output::line(&match options.types {
        _ if options.json => json!({ "value": result.value, "type": result.ty.to_string() }).to_string(),
        true => format!("{} : {}", result.value, result.ty),
        false => result.value,
    });
    Ok(())
}
