//! Runs the tests of one file.

use super::spec::{self, Case, Expect, Input, Pattern, Spec};
use super::{Config, Outcome, Status, property, random, script};
use crate::input;
use crate::panics;
use chadwick::values::{Value, compare};
use chadwick::{Backend, Error, Limits, Program, Result as CallResult};
use std::path::Path;
use std::time::Instant;

/// All outcomes of a file. `progress` is called between the steps that have a time limit each.
pub fn run_file(path: &Path, config: &Config, progress: &dyn Fn()) -> Vec<Outcome> {
    let started = Instant::now();
    let whole =
        |status: Status| vec![Outcome { entry: String::new(), dataset: String::new(), line: 0, status, time: started.elapsed() }];
    let source = match input::read_source(path) {
        Ok(source) => source,
        Err(problem) => return whole(Status::Failed(problem)),
    };
    let spec = match spec::parse(&source) {
        Ok(spec) => spec,
        Err(error) => return whole(Status::Failed(format!("the test block cannot be read: {error}"))),
    };
    if let Some(reason) = excluded(&spec.tags, config) {
        return whole(Status::Skipped(reason));
    }
    let load = || Program::compile(path, &source, &chadwick::compile::FileLoader);
    let ready = |program: Program| {
        let program = program.compiled(config.engine, config.backend)?;
        program.prepare()?;
        Ok(program)
    };
    let compile = || {
        let program = load()?;
        match config.backend {
            // Nothing of it can be run.
            Backend::Native(_) if program.entry_points().is_empty() => Ok(program),
            _ => ready(program),
        }
    };
    match panics::caught(compile) {
        Err(panic) => whole(Status::Failed(format!("internal error while compiling: {panic}"))),
        Ok(compiled) => {
            progress();
            match (&spec.compile_error, compiled) {
                (Some(pattern), Ok(_)) => whole(Status::Failed(format!(
                    "the program compiles, but an error matching `{}` was expected",
                    pattern.text()
                ))),
                (Some(pattern), Err(error)) => whole(expected_error(pattern, &compile_messages(&error), &error)),
                (None, Err(error)) if error.is_refusal() => {
                    // The engine may take other entry points.
                    let alone = |entry: &str| ready(load()?.only(entry)?);
                    let outcomes = run_cases(path, &source, &alone, &spec, config, progress);
                    if outcomes.is_empty() { whole(refused(&error)) } else { outcomes }
                }
                (None, Err(error)) => whole(Status::Failed(format!("does not compile\n{error}"))),
                (None, Ok(program)) => {
                    let mut outcomes = run_cases(path, &source, &|_| Ok(program.clone()), &spec, config, progress);
                    let passed_whole = outcomes.is_empty();
                    for pattern in &spec.warnings {
                        let messages: Vec<String> = program.warnings().iter().map(|warning| warning.message.clone()).collect();
                        if !pattern.matches(&messages.join("\n")) {
                            let text = format!("no warning matches `{}`", pattern.text());
                            outcomes.extend(whole(Status::Failed(text)));
                        }
                    }
                    match passed_whole && outcomes.is_empty() {
                        true => whole(Status::Passed),
                        false => outcomes,
                    }
                }
            }
        }
    }
}

fn refused(error: &Error) -> Status {
    Status::Refused { message: error.message(), place: error.place().unwrap_or_default() }
}

/// All tests of a file; `subject` gives the program for an entry point.
fn run_cases(
    path: &Path,
    source: &str,
    subject: &dyn Fn(&str) -> CallResult<Program>,
    spec: &Spec,
    config: &Config,
    progress: &dyn Fn(),
) -> Vec<Outcome> {
    let judged = |entry: &str, run: &dyn Fn(&Program) -> Status| {
        let status = panics::caught(|| match subject(entry) {
            Ok(program) => run(&program),
            Err(error) if error.is_refusal() => refused(&error),
            Err(error) => Status::Failed(format!("does not compile\n{error}")),
        });
        status.unwrap_or_else(|panic| Status::Failed(format!("internal error: {panic}")))
    };
    let mut outcomes = Vec::new();
    for case in &spec.cases {
        if config.entry.as_ref().is_some_and(|entry| *entry != case.entry) {
            continue;
        }
        let started = Instant::now();
        let status = judged(&case.entry, &|program| run_case(path, source, program, case, config));
        let (entry, dataset) = (case.entry.clone(), case.dataset.clone());
        outcomes.push(Outcome { entry, dataset, line: case.line, status, time: started.elapsed() });
        progress();
    }
    for (name, line) in &spec.properties {
        if config.entry.as_ref().is_some_and(|entry| entry != name) {
            continue;
        }
        let started = Instant::now();
        let status = judged(name, &|program| property::run(path, source, program, name, config));
        let (entry, dataset) = (name.clone(), String::from("property"));
        outcomes.push(Outcome { entry, dataset, line: *line, status, time: started.elapsed() });
        progress();
    }
    outcomes
}

/// Why tags exclude a test, if they do.
fn excluded(tags: &[String], config: &Config) -> Option<String> {
    const EXCLUDING: [&str; 2] = ["disable", "notest"];
    const NOT_INTERPRETED: [&str; 4] = ["compiled", "no_interp", "no_interpreter", "no_interpreted"];
    let interpreted = config.backend == Backend::Interpreter;
    let excludes = |tag: &str| EXCLUDING.contains(&tag) || (interpreted && NOT_INTERPRETED.contains(&tag));
    let tag = tags.iter().find(|tag| excludes(tag.as_str()))?;
    Some(match tag.as_str() {
        "compiled" => String::from("tag `compiled`: not for the interpreter"),
        tag => format!("tag `{tag}`"),
    })
}

fn run_case(path: &Path, source: &str, program: &Program, case: &Case, config: &Config) -> Status {
    if let Some(reason) = excluded(&case.tags, config) {
        return Status::Skipped(reason);
    }
    let result = match &case.input {
        Input::Script(script) => match script::run(path, source, program, &case.entry, script, config) {
            Ok(result) => result,
            Err(status) => return status,
        },
        other => match call(path, program, case, other, config) {
            Ok(result) => result,
            Err(problem) => return Status::Failed(problem),
        },
    };
    let wanted = match &case.expect {
        Expect::Success | Expect::Auto => None,
        Expect::Values(values) => Some(values.clone()),
        Expect::File(file) => match read_data(path, file, config.max_memory) {
            Ok(values) => Some(values),
            Err(problem) => return Status::Failed(problem),
        },
        Expect::Error(pattern) => {
            return match result {
                Ok(_) => Status::Failed(format!("it ran, but an error matching `{}` was expected", pattern.text())),
                Err(error) => expected_error(pattern, &format!("Error: {}\n{error}", error.message()), &error),
            };
        }
    };
    match (result, wanted) {
        (Err(error), _) => Status::Failed(error.to_string()),
        (Ok(_), None) => Status::Passed,
        (Ok(got), Some(wanted)) => match compare::difference(&got, &wanted, &config.tolerance) {
            None => Status::Passed,
            Some(difference) => Status::Failed(difference),
        },
    }
}

/// The result of an entry point on an input that is given as values.
fn call(path: &Path, program: &Program, case: &Case, input: &Input, config: &Config) -> Result<CallResult<Vec<Value>>, String> {
    let arguments = match input {
        Input::Values(values) => values.clone(),
        Input::Random(items) => random::generate(items)?,
        Input::File(file) => read_data(path, file, config.max_memory)?,
        Input::Script(_) => Vec::new(),
    };
    let function = program.function(&case.entry).map_err(|error| error.message())?;
    program.set_limits(limits(config));
    Ok(function.call(&arguments))
}

pub fn limits(config: &Config) -> Limits {
    Limits { max_memory_bytes: config.max_memory, deadline: Some(Instant::now() + config.timeout), max_depth: None }
}

fn expected_error(pattern: &Pattern, messages: &str, error: &Error) -> Status {
    match pattern.matches(messages) {
        true => Status::Passed,
        false => Status::Failed(format!("an error matching `{}` was expected, but this came\n{error}", pattern.text())),
    }
}

/// Everything that the diagnostics say, without the program's own lines, in which anything may match.
fn compile_messages(error: &Error) -> String {
    let Error::Compile { diagnostics, .. } = error else { return error.message() };
    let mut text = String::new();
    for diagnostic in diagnostics {
        let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary).map(|label| label.text.as_str());
        let hint = diagnostic.hint.as_deref().unwrap_or("");
        let lines = [diagnostic.code, &diagnostic.message].into_iter().chain(labels).chain([hint]);
        text.extend(lines.flat_map(|line| [line, "\n"]));
    }
    text
}

/// The values of a data file, whose name is relative to the program.
pub fn read_data(program: &Path, file: &str, max_bytes: usize) -> Result<Vec<Value>, String> {
    let path = program.parent().unwrap_or(Path::new("")).join(file);
    let bytes = input::read_data(&path, max_bytes).map_err(|problem| format!("{}: {problem}", path.display()))?;
    chadwick::values::text::parse_values_within(&bytes, &[], max_bytes).map_err(|error| format!("{}: {error}", path.display()))
}
