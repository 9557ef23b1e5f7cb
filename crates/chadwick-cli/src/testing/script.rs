//! Cases whose input is a script: an expression over the entry points.
//!
//! The script and the tested entry point become one more entry point, so that values of any type go from one to the other.

use super::run::{limits, read_data};
use super::spec::Script;
use super::{Config, Status};
use crate::input;
use chadwick::compile::FileLoader;
use chadwick::script::{self, ScriptFile, data_name};
use chadwick::values::Value;
use chadwick::{Error, Program, Result as CallResult};
use std::path::Path;

/// The entry point that a script becomes.
const NAME: &str = "chadwick_script_input";

/// The result of the tested entry point on what the script gives.
pub fn run(
    path: &Path,
    source: &str,
    program: &Program,
    entry: &str,
    script: &Script,
    config: &Config,
) -> Result<CallResult<Vec<Value>>, Status> {
    let text = match script {
        Script::Text(text) => text.clone(),
        Script::File(file) => input::read_source(&beside(path, file)).map_err(Status::Failed)?,
    };
    let parameters = |name: &str| Some(program.function(name).ok()?.entry_point().parameters.len());
    let script = script::prepare(&text, &parameters).map_err(Status::Failed)?;
    let mut arguments = Vec::new();
    let (mut declared, mut bound) = (String::new(), String::new());
    for (number, file) in script.files.iter().enumerate() {
        let values = read_file(path, file, config.max_memory).map_err(Status::Failed)?;
        let names: Vec<String> = match values.len() {
            1 => vec![data_name(number)],
            count => (0..count).map(|part| format!("{}_{part}", data_name(number))).collect(),
        };
        for (name, value) in names.iter().zip(&values) {
            declared.push_str(&format!(" ({name}: {}{})", "[]".repeat(value.shape().len()), value.prim().name()));
        }
        if values.len() != 1 {
            bound.push_str(&format!("let {} = ({}) ", data_name(number), names.join(", ")));
        }
        arguments.extend(values);
    }
    let count = parameters(entry).ok_or_else(|| Status::Failed(format!("there is no entry point `{entry}`")))?;
    let components: Vec<String> = (0..count).map(|number| format!("chadwick_{number}")).collect();
    let script = script.expression;
    let body = match components.as_slice() {
        [] => entry.to_owned(),
        [one] => format!("let {one} = ({script}\n) in {entry} {one}"),
        many => format!("let ({}) = ({script}\n) in {entry} {}", many.join(", "), many.join(" ")),
    };
    let with_script = format!("{source}\nentry {NAME}{declared} = {bound}{body}\n");
    let compiled = Program::compile_entries(path, &with_script, &FileLoader, |name: &str| name == NAME)
        .and_then(|program| program.with_engine(config.engine));
    let program =
        compiled.map_err(|error| Status::Failed(format!("the script does not fit the program\n{}", messages(&error))))?;
    program.set_limits(limits(config));
    Ok(program.function(NAME).and_then(|function| function.call(&arguments)))
}

/// What is wrong, without places: those in the script's text are of no use.
fn messages(error: &Error) -> String {
    let Error::Compile { diagnostics, .. } = error else { return error.message() };
    diagnostics.iter().filter(|one| one.is_error()).map(|one| one.message.as_str()).collect::<Vec<_>>().join("\n")
}

fn read_file(program: &Path, file: &ScriptFile, max_bytes: usize) -> Result<Vec<Value>, String> {
    if !file.bytes {
        return read_data(program, &file.path, max_bytes);
    }
    let path = beside(program, &file.path);
    let failed = |problem: String| format!("{}: {problem}", path.display());
    let file = std::fs::File::open(&path).map_err(|error| failed(error.to_string()))?;
    let bytes = input::read_bounded(file, max_bytes).map_err(failed)?;
    Ok(vec![Value::from(bytes)])
}

fn beside(program: &Path, file: &str) -> std::path::PathBuf {
    program.parent().unwrap_or(Path::new("")).join(file)
}
