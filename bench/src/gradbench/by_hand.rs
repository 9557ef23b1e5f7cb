//! C written by hand for the problems of GradBench (`gradbench/by_hand/`), one thread.
//!
//! A reference gets the arguments of the timed entry points of `gradbench/MODULE.fut`, as all references do; its sizes are the shapes of
//! all arguments one after the other, a whole number counting as itself. Its results are in the order of their names.

use super::Measured;
use crate::reference::{self, Reference, Which};
use crate::{Result, home};
use chadwick::values::Value;
use chadwick::values::fields::Fields;
use chadwick::{Function, Program};
use serde::de::DeserializeSeed;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

const MODULES: [&str; 9] = ["ba", "det", "gmm", "ht", "kmeans", "llsq", "lse", "lstm", "ode"];

/// Whether a module is there in C.
pub fn has(module: &str) -> bool {
    MODULES.contains(&module)
}

/// The program of a module.
pub fn program(module: &str) -> Result<Program> {
    Ok(Program::from_file(home().join("../gradbench").join(format!("{module}.fut")))?)
}

/// Compiles the reference of a module, unless it is there already, and gives the executable.
pub fn compile(module: &str, flags: &[&str], directory: &Path) -> Result<PathBuf> {
    reference::build(&home().join("gradbench/by_hand").join(format!("{module}.c")), flags, &[], directory)
}

/// Runs one of the two functions for some seconds; `entry` is its name.
pub fn measure(executable: &Path, module: &str, entry: &str, which: Which, input: &Json, seconds: f64) -> Result<Measured> {
    let arguments = arguments(&program(module)?, entry, input)?;
    let (sizes, lengths) = (sizes(&arguments), lengths(module, &arguments)?);
    let mut reference = Reference::start(reference::command(executable, 1), &sizes, &arguments, lengths)?;
    // The first run, which fetches memory from the system, does not count.
    reference.run(which, 0.0)?;
    let answer = reference.run(which, seconds)?;
    let output = match module {
        "ba" => report_of_bundle(which, &answer.result),
        _ => answer.result,
    };
    Ok(Measured { milliseconds: answer.least * 1e3, peak: None, output })
}

/// The arguments of an entry point for an input of the suite.
pub fn arguments(program: &Program, entry: &str, input: &Json) -> Result<Vec<Value>> {
    let function = program.function(entry)?;
    if !program.entry_points().iter().any(|entry| entry.name == "prepare") {
        return read(&function, input);
    }
    let prepare = program.function("prepare")?;
    let prepared: Vec<(String, Value)> = prepare.result_names().into_iter().zip(prepare.call(&read(&prepare, input)?)?).collect();
    let named = |name: &String| prepared.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let arguments: Option<Vec<Value>> = function.argument_names().iter().map(named).collect();
    Ok(arguments.ok_or_else(|| format!("`prepare` does not make all arguments of `{entry}`"))?)
}

fn read(function: &Function, input: &Json) -> Result<Vec<Value>> {
    let types = function.argument_types().ok_or("the arguments are no data")?;
    let fields = Fields::new(&function.argument_names().into_iter().zip(types).collect::<Vec<_>>());
    let mut found = fields.nothing();
    fields.seed(&mut found).deserialize(input)?;
    let values: Option<Vec<Value>> = found.values.into_iter().collect();
    Ok(values.ok_or("the input does not have all arguments")?)
}

fn sizes(arguments: &[Value]) -> Vec<i64> {
    let of_one = |value: &Value| match value.as_scalar::<i64>() {
        Some(number) => vec![number],
        None => value.shape().iter().map(|size| *size as i64).collect(),
    };
    arguments.iter().flat_map(of_one).collect()
}

/// How many numbers the function and its derivative give.
fn lengths(module: &str, arguments: &[Value]) -> Result<[usize; 2]> {
    let count = |argument: usize| arguments.get(argument).map_or(0, Value::len);
    Ok(match module {
        "ba" => [3 * count(2), 65 * count(2) + 1],
        "gmm" => [1, (3..7).map(count).sum()],
        "ht" => [count(10), count(10) * if count(1) == 0 { 26 } else { 28 }],
        "kmeans" => [1, count(1)],
        "det" | "llsq" | "lse" => [1, count(0)],
        "lstm" => [1, count(0) + count(1)],
        "ode" => [count(0), count(0)],
        _ => return Err(format!("`{module}` is not there in C").into()),
    })
}

/// What the suite looks at: the first observation, or the first entries and the last, of columns, rows and values; places are whole numbers.
fn report_of_bundle(which: Which, result: &[f64]) -> Vec<f64> {
    match which {
        Which::Primal => {
            let count = result.len() / 3;
            vec![result[0], result[1], count as f64, result[2 * count], count as f64]
        }
        Which::Gradient => {
            let count = result.len() / 65;
            let (columns, rest) = result.split_at(31 * count);
            let (rows, values) = rest.split_at(3 * count + 1);
            let ends = |part: &[f64]| [&part[..part.len().min(30)], &part[part.len() - 1..]].concat();
            let places = |part: &[f64]| ends(part).into_iter().map(|bits| bits.to_bits() as f64).collect();
            [places(columns), places(rows), ends(values)].concat()
        }
    }
}
