//! `chadwick bench`: how long entry points take on the inputs of their tests, or on random ones.

mod fingerprint;
mod measure;
mod report;

pub use measure::Collector;
pub use report::{bytes, seconds};

use crate::commands::compiled;
use crate::errors::error_json;
use crate::options::{BackendName, BenchOptions, FloatMode};
use crate::output::{self, Paint, style};
use crate::testing::spec::{self, Expect, Input, RandomItem};
use crate::testing::{collect, random, read_data};
use crate::{Exit, input};
use chadwick::compile::{Engine, FileLoader};
use chadwick::values::{Value, ValueType, text};
use chadwick::{Backend, Error, Function, NativeOptions, Program, Result};
use fingerprint::fingerprint;
use measure::Statistics;
use report::{Kind, Measurement, Saved};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub fn command(options: &BenchOptions) -> Exit {
    let for_tools = options.json.as_deref() == Some(Path::new("-"));
    match bench(options, for_tools) {
        Ok(exit) => exit,
        Err(error) => {
            report_error(&error, for_tools);
            if matches!(error, Error::Usage { .. }) { Exit::Usage } else { Exit::Failure }
        }
    }
}

fn report_error(error: &Error, for_tools: bool) {
    match for_tools {
        true => output::line(&error_json(error).to_string()),
        false => output::error_line(&error.render(style(Paint::stderr()))),
    }
}

fn bench(options: &BenchOptions, for_tools: bool) -> Result<Exit> {
    let file_error = |path: &Path, message: String| Error::File { path: path.display().to_string(), message };
    let saved = match &options.compare {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| file_error(path, error.to_string()))?;
            let saved = Saved::parse(&text).map_err(|problem| file_error(path, problem))?;
            if saved.without_time > 0 {
                let (path, count) = (path.display(), saved.without_time);
                output::error_line(&format!(
                    "warning: {path}: {count} of the measurements have no positive time and are left out"
                ));
            }
            Some(saved)
        }
    };
    if let Some(path) = options.json.as_deref().filter(|_| !for_tools) {
        check_writable(path).map_err(|error| file_error(path, error.to_string()))?;
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for path in &options.files {
        collect(path, &mut files).map_err(|error| file_error(path, error.to_string()))?;
    }
    let mut measurements = Vec::new();
    let mut failed = false;
    for file in &files {
        if let Err(error) = bench_file(file, options, &mut measurements, &mut failed) {
            failed = true;
            output::error_line(&error.render(style(Paint::stderr())));
        }
    }
    if measurements.is_empty() && !failed {
        return Err(Error::argument("there is nothing to measure: no entry point has an input in its tests; --random makes one"));
    }
    if let (Some(saved), Some(path)) = (&saved, &options.compare) {
        warn_of_unmatched(path, &saved.unmatched(&measurements));
    }
    // Where the file cannot be written after all, there is still the table.
    if !for_tools {
        report::print(&measurements, saved.as_ref());
    }
    if let Some(path) = &options.json {
        let document = report::as_json(&measurements, options.threads, options.fp == FloatMode::Strict, saved.as_ref());
        match for_tools {
            true => output::line(&format!("{document:#}")),
            false => {
                std::fs::write(path, format!("{document:#}\n")).map_err(|error| file_error(path, error.to_string()))?;
            }
        }
    }
    Ok(if failed { Exit::Failure } else { Exit::Success })
}

/// Whether a file can be written, which is better known before all is measured. What is in it stays.
fn check_writable(path: &Path) -> std::io::Result<()> {
    let known = std::fs::metadata(path);
    // Who reads a pipe would take this for its end.
    if known.is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        return Ok(());
    }
    let is_new = std::fs::symlink_metadata(path).is_err();
    std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    if is_new { std::fs::remove_file(path) } else { Ok(()) }
}

/// Says which measurements of a saved run there are no new ones for.
fn warn_of_unmatched(path: &Path, unmatched: &[String]) {
    const SHOWN: usize = 5;
    if unmatched.is_empty() {
        return;
    }
    output::error_line(&format!("warning: {}: nothing that was measured now matches", path.display()));
    unmatched.iter().take(SHOWN).for_each(|one| output::error_line(&format!("  {one}")));
    if let Some(more @ 1..) = unmatched.len().checked_sub(SHOWN) {
        output::error_line(&format!("  and {more} more"));
    }
}

/// An entry point and an input for it.
struct Dataset {
    entry: String,
    name: String,
    fingerprint: String,
    arguments: Vec<Value>,
}

impl Dataset {
    fn new(entry: &str, name: String, arguments: Vec<Value>) -> Dataset {
        Dataset { entry: entry.to_owned(), name, fingerprint: fingerprint(&arguments), arguments }
    }
}

fn bench_file(path: &Path, options: &BenchOptions, measurements: &mut Vec<Measurement>, failed: &mut bool) -> Result<()> {
    let source = input::read_source(path).map_err(Error::argument)?;
    let program = Program::compile(path, &source, &FileLoader)?;
    for entry in &options.entries {
        program.function(entry)?;
    }
    let wanted = |entry: &str| options.entries.is_empty() || options.entries.iter().any(|name| name == entry);
    let datasets = match options.random.is_empty() {
        true => {
            let (datasets, problems) = from_tests(path, &source, &program, wanted, options.limits.max_memory)?;
            for (place, error) in &problems {
                *failed = true;
                report_dataset_error(path, place, error);
            }
            datasets
        }
        false => from_sizes(&program, &options.random, wanted)?,
    };
    if datasets.is_empty() {
        return Ok(());
    }
    // Only what is measured is compiled.
    let used = |name: &str| datasets.iter().any(|dataset| dataset.entry == name);
    let program = Program::compile_entries(path, &source, &FileLoader, used)?;
    for backend in &options.backend {
        let (name, backend) = match backend {
            BackendName::Interp => ("interp", Backend::Interpreter),
            BackendName::Native => {
                let threads = options.threads.map_or(0, usize::from);
                let strict = options.fp == FloatMode::Strict;
                ("native", Backend::Native(NativeOptions { strict, quick: false, threads }))
            }
        };
        let engine = Engine::from_name(&options.engine).unwrap_or_default();
        let program = compiled(&program, engine, backend)?;
        for dataset in &datasets {
            let function = program.function(&dataset.entry)?;
            if let Err(error) = bench_dataset(path, &function, dataset, name, options, measurements) {
                *failed = true;
                report_dataset_error(path, &format!("{}, {}", dataset.entry, dataset.name), &error);
            }
        }
    }
    // Back ends side by side.
    let order = |measurement: &Measurement| {
        let at = datasets.iter().position(|set| set.entry == measurement.entry && set.name == measurement.dataset);
        at.unwrap_or(usize::MAX)
    };
    let start = measurements.iter().position(|measurement| measurement.file == path.display().to_string());
    if let Some(new) = start.and_then(|start| measurements.get_mut(start..)) {
        new.sort_by_key(|measurement| (order(measurement), measurement.kind == Kind::Gradient));
    }
    Ok(())
}

fn report_dataset_error(path: &Path, place: &str, error: &Error) {
    output::error_line(&format!("{}: {place}:", path.display()));
    output::error_line(&error.render(style(Paint::stderr())));
}

fn bench_dataset(
    path: &Path,
    function: &Function,
    dataset: &Dataset,
    backend: &'static str,
    options: &BenchOptions,
    measurements: &mut Vec<Measurement>,
) -> Result<()> {
    let arguments = &dataset.arguments;
    let program = function.program();
    let measurement =
        |kind: Kind, statistics: Statistics, results: &[Value], peak_bytes: usize, ratio: Option<f64>| Measurement {
            file: path.display().to_string(),
            entry: dataset.entry.clone(),
            dataset: dataset.name.clone(),
            fingerprint: dataset.fingerprint.clone(),
            backend,
            kind,
            statistics,
            bytes: arguments.iter().chain(results).map(|value| value.len() * value.prim().bytes()).sum(),
            peak_bytes,
            ratio,
        };
    let unmeasured = || Error::argument("there was no time to measure");
    program.set_limits(options.limits.starting_now());
    let mut collector = Collector::new(options.time, options.limits.timeout);
    let results = function.call_in_batches(arguments, |time| collector.next_batch(time))?;
    let primal = collector.statistics().ok_or_else(unmeasured)?;
    measurements.push(measurement(Kind::Primal, primal, &results, program.peak_memory(), None));
    if !options.grad {
        return Ok(());
    }
    let function = match options.wrt.is_empty() {
        true => function.clone(),
        false => function.wrt(&options.wrt)?,
    };
    // Of entry points in general, only some have a gradient.
    let Ok(gradient) = function.gradient() else { return Ok(()) };
    // Compiling it is no run.
    gradient.prepare()?;
    program.set_limits(options.limits.starting_now());
    let mut collector = Collector::new(options.time, options.limits.timeout);
    let (results, peak) = gradient.call_in_batches(arguments, |time| collector.next_batch(time))?;
    let statistics = collector.statistics().ok_or_else(unmeasured)?;
    let ratio = (primal.median > 0.0).then(|| statistics.median / primal.median);
    measurements.push(measurement(Kind::Gradient, statistics, &results, peak, ratio));
    Ok(())
}

/// What is wrong with one test, or with all of an entry point, and where.
type Problem = (String, Error);

/// The inputs of the program's test blocks, and what is wrong with others.
fn from_tests(
    path: &Path,
    source: &str,
    program: &Program,
    wanted: impl Fn(&str) -> bool,
    max_bytes: usize,
) -> Result<(Vec<Dataset>, Vec<Problem>)> {
    let broken = |error| Error::Value { source: path.display().to_string(), error };
    let spec = spec::parse(source).map_err(broken)?;
    const EXCLUDING: [&str; 3] = ["disable", "nobench", "notest"];
    let excluded = |tags: &[String]| tags.iter().any(|tag| EXCLUDING.contains(&tag.as_str()));
    let (mut datasets, mut problems): (Vec<Dataset>, Vec<Problem>) = (Vec::new(), Vec::new());
    if spec.compile_error.is_some() || excluded(&spec.tags) {
        return Ok((datasets, problems));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &spec.cases {
        // Saved runs know a dataset by its name: tests of other entry points should not change its number.
        let count = counts.entry(&case.entry).or_default();
        let is_number = case.dataset.strip_prefix('#').is_some_and(|digits| digits.parse::<usize>().is_ok());
        let name = if is_number { format!("#{count}") } else { case.dataset.clone() };
        *count += 1;
        if !wanted(&case.entry) || excluded(&case.tags) || matches!(case.expect, Expect::Error(_)) {
            continue;
        }
        if let Err(error) = program.function(&case.entry) {
            // Once for all of its tests.
            let place = format!("the tests of `{}`", case.entry);
            if !problems.iter().any(|(known, _)| *known == place) {
                problems.push((place, error));
            }
            continue;
        }
        let arguments = match &case.input {
            Input::Values(values) => Ok(values.clone()),
            Input::Random(items) => random::generate(items),
            Input::File(file) => read_data(path, file, max_bytes),
            Input::Script(_) => continue,
        };
        match arguments {
            Ok(arguments) => datasets.push(Dataset::new(&case.entry, name, arguments)),
            Err(problem) => problems.push((format!("{}, {name}", case.entry), Error::argument(problem))),
        }
    }
    Ok((datasets, problems))
}

/// An input per description for every wanted entry point.
fn from_sizes(program: &Program, descriptions: &[String], wanted: impl Fn(&str) -> bool) -> Result<Vec<Dataset>> {
    let mut datasets = Vec::new();
    let mut first_problem = None;
    for entry in program.entry_points().iter().filter(|entry| wanted(&entry.name)) {
        let function = program.function(&entry.name)?;
        for description in descriptions {
            match random_arguments(&function, description) {
                Ok(arguments) => datasets.push(Dataset::new(&entry.name, description.clone(), arguments)),
                Err(problem) => {
                    first_problem.get_or_insert(format!("--random {description}: {problem}"));
                }
            }
        }
    }
    match (first_problem, datasets.is_empty()) {
        (Some(problem), true) => Err(Error::usage(problem)),
        _ => Ok(datasets),
    }
}

/// Values from a description like `1000x64,25,0.5`.
pub fn random_arguments(function: &Function, description: &str) -> std::result::Result<Vec<Value>, String> {
    let name = function.name();
    let types = function.argument_types().ok_or_else(|| format!("`{name}` takes values that are no data"))?;
    let items: Vec<&str> = description.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    if items.len() != types.len() {
        let entry = function.entry_point();
        return Err(format!("there are {} items, but `{entry}` takes {} values", items.len(), types.len()));
    }
    let one = |(item, ty): (&&str, &ValueType)| -> std::result::Result<RandomItem, String> {
        if ty.rank == 0 {
            let values =
                text::parse_values_within(item.as_bytes(), &[*ty], item.len() + 64).map_err(|error| error.to_string())?;
            return values.into_iter().next().map(RandomItem::Constant).ok_or_else(|| String::from("there is no value"));
        }
        let shape: Option<Vec<usize>> = item.split('x').map(|size| size.parse().ok()).collect();
        match shape.filter(|shape| shape.len() == ty.rank) {
            Some(shape) => Ok(RandomItem::Type { shape, prim: ty.prim }),
            None => Err(format!("`{item}` is not the sizes of a value of type {ty}")),
        }
    };
    let items: Vec<RandomItem> = items.iter().zip(&types).map(one).collect::<std::result::Result<_, _>>()?;
    random::generate(&items)
}
