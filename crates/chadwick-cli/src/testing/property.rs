//! Properties: entry points of type `t -> bool` that must hold for whatever they are given.
//!
//! Candidates are random values of the parameter's type, or what the generator named by `#[prop(gen(f))]` makes of a size and a seed. Sizes
//! grow from candidate to candidate, so that the first counterexample is a small one; a shrinker makes it smaller. The seeds are the same in
//! every run.

use super::run::limits;
use super::spec::RandomItem;
use super::{Config, Status, random};
use chadwick::compile::FileLoader;
use chadwick::script::{self, Property};
use chadwick::values::Value;
use chadwick::{Function, Program, Result};
use std::path::Path;

/// How many candidates are tried.
const CANDIDATES: u64 = 100;

/// The size of the last candidate, where the property does not say.
const SIZE: u64 = 50;

/// How many steps a counterexample is shrunk, and how often that may fail in a row.
const SHRINKING_STEPS: usize = 200;
const SHRINKING_FAILURES: usize = 20;

/// The entry points that test and show generated candidates.
const HOLDS: &str = "chadwick_property_holds";
const SHOWN: &str = "chadwick_property_shown";

pub fn run(path: &Path, source: &str, program: &Program, name: &str, config: &Config) -> Status {
    let Some(property) = script::property(source, name) else {
        return Status::Failed(format!("`{name}` is no definition with the attribute `#[prop]`"));
    };
    let outcome = match &property.generator {
        Some(generator) => generated(path, source, name, generator, &property, config),
        None => random_values(program, name, &property, config),
    };
    match outcome {
        Ok(None) => Status::Passed,
        Ok(Some(counterexample)) => Status::Failed(format!("the property does not hold for {counterexample}")),
        Err(error) => Status::Failed(error.to_string()),
    }
}

/// Candidate sizes: from 0 to the largest.
fn sizes(property: &Property) -> impl Iterator<Item = u64> {
    let largest = property.size.unwrap_or(SIZE);
    (0..CANDIDATES).map(move |number| largest * number / (CANDIDATES - 1))
}

/// A counterexample among random values of the parameter's type, if there is one.
fn random_values(program: &Program, name: &str, property: &Property, config: &Config) -> Result<Option<String>> {
    let function = program.function(name)?;
    let types = function.argument_types();
    let types =
        types.ok_or_else(|| chadwick::Error::argument(format!("values for `{name}` need a generator: `#[prop(gen(f))]`")))?;
    for (number, size) in sizes(property).enumerate() {
        let items: Vec<RandomItem> =
            types.iter().map(|ty| RandomItem::Type { shape: vec![size as usize; ty.rank], prim: ty.prim }).collect();
        let values = random::generate_from(&items, number as u64).map_err(chadwick::Error::argument)?;
        program.set_limits(limits(config));
        if !holds(&function, &values)? {
            return Ok(Some(shown(values.iter().map(ToString::to_string))));
        }
    }
    Ok(None)
}

/// A counterexample among what the generator makes, if there is one.
fn generated(
    path: &Path,
    source: &str,
    name: &str,
    generator: &str,
    property: &Property,
    config: &Config,
) -> Result<Option<String>> {
    let shrunk = match &property.shrinker {
        Some(shrinker) => format!("loop candidate for step in steps do {shrinker} candidate step"),
        None => String::from("candidate"),
    };
    let candidate = format!(
        "(size: i64) (seed: i64) (steps: []i32) = let candidate = {generator} size seed let _taken = length steps let candidate = {shrunk} in"
    );
    let text = format!("{source}\nentry {HOLDS} {candidate} {name} candidate\nentry {SHOWN} {candidate} candidate\n");
    let program = Program::compile_entries(path, &text, &FileLoader, |name: &str| [HOLDS, SHOWN].contains(&name))?;
    let program = program.with_engine(config.engine)?;
    let test = program.function(HOLDS)?;
    let arguments =
        |size: u64, seed: i64, steps: &[i32]| vec![Value::from(size as i64), Value::from(seed), Value::from(steps.to_vec())];
    for (number, size) in sizes(property).enumerate() {
        let seed = random::seed(number as u64) as i64;
        program.set_limits(limits(config));
        if holds(&test, &arguments(size, seed, &[]))? {
            continue;
        }
        let mut steps: Vec<i32> = Vec::new();
        let mut failures = 0;
        while property.shrinker.is_some() && steps.len() < SHRINKING_STEPS && failures < SHRINKING_FAILURES {
            let mut further = steps.clone();
            further.push(random::seed((steps.len() * SHRINKING_FAILURES + failures) as u64) as i32);
            match holds(&test, &arguments(size, seed, &further)) {
                Ok(false) => (steps, failures) = (further, 0),
                // What cannot be shrunk any more may fail, too.
                Ok(true) | Err(_) => failures += 1,
            }
        }
        let candidate = program.function(SHOWN)?.call_to_text(&arguments(size, seed, &steps))?;
        return Ok(Some(format!("{} (size {size}, seed {seed})", shown(candidate.into_iter()))));
    }
    Ok(None)
}

fn holds(function: &Function, arguments: &[Value]) -> Result<bool> {
    match function.call(arguments)?.as_slice() {
        [only] if only.as_scalar::<bool>().is_some() => Ok(only.as_scalar::<bool>() == Some(true)),
        _ => Err(chadwick::Error::argument(format!("`{}` is no property: it does not give a bool", function.name()))),
    }
}

fn shown(values: impl Iterator<Item = String>) -> String {
    const LIMIT: usize = 500;
    let text = values.collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LIMIT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
