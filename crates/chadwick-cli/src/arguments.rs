//! From words, files and standard input to the arguments of an entry point.

use crate::input;
use crate::options::{CallOptions, Format};
use crate::testing;
use crate::testing::spec::{self, Case, Input};
use chadwick::compile::Engine;
use chadwick::values::{Value, ValueError, ValueType, json, npy, text};
use chadwick::{Backend, Error, Function, Program, Result};
use std::path::Path;

/// Where arguments come from if the command line gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    StandardInput,
    /// The first input among the program's own tests of the entry point.
    Tests,
}

/// An entry point and its arguments.
pub struct Call {
    pub entry: String,
    pub arguments: Vec<Value>,
}

/// Finds the entry point and its arguments. What is wrong with them is said at once: nothing is compiled for that.
pub fn resolve(program: &Program, options: &CallOptions, default: Default, max_bytes: usize) -> Result<Call> {
    let program = &program.compiled(Engine::Builtin, Backend::Interpreter)?;
    let (entry, words) = entry_and_words(program, &options.words, default)?;
    let function = program.function(&entry)?;
    let parameters = parameters(&function)?;
    let arguments = match (&options.input, words) {
        (Some(_), [word, ..]) => {
            return Err(Error::usage(format!("`{word}`: arguments come either from --input or from the command line")));
        }
        (Some(path), []) => read_all(path, options.input_format, &parameters, max_bytes)?,
        (None, []) if parameters.is_empty() => Vec::new(),
        (None, []) if default == Default::Tests && options.input_format.is_none() => {
            from_tests(&options.file, &function, max_bytes)?
        }
        (None, []) => read_all(Path::new("-"), options.input_format, &parameters, max_bytes)?,
        (None, words) => from_words(words, &function, &parameters, max_bytes)?,
    };
    Ok(Call { entry, arguments })
}

fn parameters(function: &Function) -> Result<Vec<(String, ValueType)>> {
    match function.argument_types() {
        Some(types) => Ok(function.argument_names().into_iter().zip(types).collect()),
        None => {
            let entry = function.entry_point();
            Err(Error::argument(format!("`{entry}` takes something that is no number, boolean or array of such")))
        }
    }
}

/// The entry point that is meant where a derivative is wanted.
pub fn entry_to_differentiate(program: &Program, name: Option<&str>) -> Result<String> {
    match name {
        Some(name) => Ok(name.to_owned()),
        None => entry_and_words(program, &[], Default::Tests).map(|(entry, _)| entry),
    }
}

/// The first word is an entry point if it could not be a value.
fn entry_and_words<'w>(program: &Program, words: &'w [String], default: Default) -> Result<(String, &'w [String])> {
    let entries = program.entry_points();
    if let Some((first, rest)) = words.split_first()
        && (entries.iter().any(|entry| entry.name == *first) || is_name(first))
    {
        return Ok((first.clone(), rest));
    }
    match entries.as_slice() {
        [only] => Ok((only.name.clone(), words)),
        many if many.iter().any(|entry| entry.name == "main") => Ok((String::from("main"), words)),
        [] => Err(Error::argument("the program has no entry point")),
        many => {
            // To differentiate, the only one that has a gradient.
            let has_gradient = |name: &str| program.function(name).and_then(|function| function.gradient()).is_ok();
            let mut candidates = many.iter().filter(|entry| default == Default::Tests && has_gradient(&entry.name));
            if let (Some(only), None) = (candidates.next(), candidates.next()) {
                return Ok((only.name.clone(), words));
            }
            let names: Vec<&str> = many.iter().map(|entry| entry.name.as_str()).collect();
            Err(Error::argument(format!("which entry point? There are {}", names.join(", "))))
        }
    }
}

fn is_name(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '\'')
        && !matches!(word, "true" | "false")
}

fn from_words(words: &[String], function: &Function, parameters: &[(String, ValueType)], max_bytes: usize) -> Result<Vec<Value>> {
    let mut slots: Vec<Option<Value>> = vec![None; parameters.len()];
    let mut positional = Vec::new();
    for word in words {
        match word.split_once('=').filter(|(name, _)| is_name(name.split('.').next().unwrap_or(""))) {
            Some((name, text)) => {
                let Some(at) = parameters.iter().position(|(known, _)| known == name) else {
                    let known: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
                    let message = format!("`{}` has no parameter `{name}`; it has {}", function.name(), known.join(", "));
                    return Err(Error::usage(message));
                };
                if slots[at].is_some() {
                    return Err(Error::usage(format!("there are two values for parameter `{name}` of `{}`", function.name())));
                }
                slots[at] = Some(one_value(text, &parameters[at], max_bytes)?);
            }
            None => positional.push(word),
        }
    }
    let mut free: Vec<usize> = (0..slots.len()).filter(|at| slots[*at].is_none()).rev().collect();
    let mut extra = 0;
    for word in positional {
        // A file or a word may hold several values.
        let expected: Vec<(String, ValueType)> = free.iter().rev().map(|at| parameters[*at].clone()).collect();
        for value in some_values(word, &expected, max_bytes)? {
            match free.pop() {
                Some(at) => slots[at] = Some(value),
                None => extra += 1,
            }
        }
    }
    if let (Some(at), 0) = (free.last(), extra) {
        let (name, ty) = &parameters[*at];
        return Err(Error::usage(format!("there is no value for parameter `{name}` (of type {ty}) of `{}`", function.name())));
    }
    if extra > 0 {
        let plural = if slots.len() == 1 { "" } else { "s" };
        let message =
            format!("`{}` takes {} value{plural}, but {} were given", function.name(), slots.len(), slots.len() + extra);
        return Err(Error::usage(message));
    }
    Ok(slots.into_iter().flatten().collect())
}

fn one_value(word: &str, parameter: &(String, ValueType), max_bytes: usize) -> Result<Value> {
    let mut values = some_values(word, std::slice::from_ref(parameter), max_bytes)?;
    match (values.len(), values.pop()) {
        (1, Some(value)) => Ok(value),
        (count, _) => Err(Error::usage(format!("`{word}` holds {count} values, but one belongs to `{}`", parameter.0))),
    }
}

fn some_values(word: &str, expected: &[(String, ValueType)], max_bytes: usize) -> Result<Vec<Value>> {
    match word.strip_prefix('@') {
        Some(file) => {
            let path = Path::new(file);
            let one = expected.get(..1).unwrap_or_default();
            // A JSON file behind @ is one value.
            let expected =
                if Format::of_path(Path::new(file.trim_end_matches(".gz"))) == Some(Format::Json) { one } else { expected };
            read_all(path, None, expected, max_bytes)
        }
        None => {
            let types: Vec<ValueType> = expected.iter().map(|(_, ty)| *ty).collect();
            text::parse_values_within(word.as_bytes(), &types, max_bytes)
                .map_err(|error| broken(&format!("argument `{}`", shortened(word)), error))
        }
    }
}

fn shortened(word: &str) -> String {
    match word.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}

/// All arguments from one file or from standard input.
fn read_all(path: &Path, format: Option<Format>, parameters: &[(String, ValueType)], max_bytes: usize) -> Result<Vec<Value>> {
    let from_stdin = path == Path::new("-");
    let source = if from_stdin { String::from("standard input") } else { path.display().to_string() };
    let bytes = match from_stdin {
        true => input::read_bounded(std::io::stdin().lock(), max_bytes)
            .map_err(|message| Error::File { path: source.clone(), message })?,
        false => input::read_data(path, max_bytes).map_err(|message| Error::File { path: source.clone(), message })?,
    };
    let named = if from_stdin { None } else { Format::of_path(Path::new(source.trim_end_matches(".gz"))) };
    let format = format.or(named).unwrap_or_else(|| by_content(&bytes));
    let types: Vec<ValueType> = parameters.iter().map(|(_, ty)| *ty).collect();
    let values = match format {
        Format::Text | Format::Binary => text::parse_values_within(&bytes, &types, max_bytes),
        Format::Json => json::parse_arguments_within(&bytes, parameters, max_bytes),
        Format::Npy => npy::parse_within(&bytes, max_bytes).map(|value| vec![value]),
        Format::Npz => npy::parse_archive_within(&bytes, max_bytes).and_then(|arrays| by_name(arrays, parameters)),
    };
    values.map_err(|error| broken(&source, error))
}

fn broken(source: &str, error: ValueError) -> Error {
    Error::Value { source: source.to_owned(), error }
}

fn by_content(bytes: &[u8]) -> Format {
    match () {
        () if npy::is_npy(bytes) => Format::Npy,
        () if npy::is_npz(bytes) => Format::Npz,
        () if bytes.trim_ascii_start().first() == Some(&b'{') => Format::Json,
        () => Format::Text,
    }
}

/// The arrays of an archive in the order of the parameters; without names (`arr_0`, …) in their own order.
fn by_name(mut arrays: Vec<(String, Value)>, parameters: &[(String, ValueType)]) -> std::result::Result<Vec<Value>, ValueError> {
    if arrays.iter().all(|(name, _)| name.starts_with("arr_")) {
        arrays.sort_by_key(|(name, _)| name[4..].parse::<u32>().unwrap_or(u32::MAX));
        return Ok(arrays.into_iter().map(|(_, value)| value).collect());
    }
    let mut values = Vec::with_capacity(parameters.len());
    for (name, _) in parameters {
        match arrays.iter().position(|(known, _)| known == name) {
            Some(at) => values.push(arrays.swap_remove(at).1),
            None => return Err(ValueError::whole(format!("the archive has no array `{name}`"))),
        }
    }
    Ok(values)
}

/// The first input of the program's tests for this entry point.
fn from_tests(path: &Path, function: &Function, max_bytes: usize) -> Result<Vec<Value>> {
    let source = input::read_source(path).map_err(Error::argument)?;
    let spec = spec::parse(&source).map_err(|error| broken(&path.display().to_string(), error))?;
    let cases: Vec<&Case> = spec.cases.iter().filter(|case| case.entry == function.name()).collect();
    let inputs = cases.iter().filter_map(|case| match &case.input {
        Input::Values(values) => Some(Ok(values.clone())),
        Input::File(file) => Some(testing::read_data(path, file, max_bytes)),
        Input::Random(items) => Some(testing::random::generate(items)),
        Input::Script(_) => None,
    });
    // One that is not there, as a large file, is passed over if there is another one.
    let mut problem = None;
    for input in inputs {
        match input {
            Ok(values) => return Ok(values),
            Err(message) => problem = problem.or(Some(message)),
        }
    }
    let entry = function.entry_point();
    Err(Error::argument(match problem {
        Some(problem) => format!("no arguments are given for `{entry}`, and those of its tests cannot be had: {problem}"),
        None if !cases.is_empty() => format!("no arguments are given for `{entry}`, and the inputs of its tests are scripts"),
        None => format!("no arguments are given for `{entry}`, and the program has no test of it to take them from"),
    }))
}
