//! The programs behind the modules, compiled when they are defined.

use super::message::about;
use crate::options::{GradbenchOptions, LimitOptions};
use chadwick::compile::{FileLoader, Loader};
use chadwick::values::fields::{Fields, Found};
use chadwick::values::{ElementsRef, Prim, Value, ValueType};
use chadwick::{Backend, Function, NativeOptions, Program};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

macro_rules! programs {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../gradbench/", $name, ".fut")))),*]
    };
}

/// The programs that are part of the binary.
const PROGRAMS: &[(&str, &str)] =
    programs!["ba", "descent", "det", "gmm", "hello", "ht", "kmeans", "llsq", "lse", "lstm", "ode", "particle", "saddle"];

/// How often an evaluation is repeated: fields of its input beside those that the program names.
const REPETITION: [(&str, ValueType); 2] =
    [("min_runs", ValueType { prim: Prim::I64, rank: 0 }), ("min_seconds", ValueType { prim: Prim::F64, rank: 0 })];

/// An answer lists every run: more than these are refused, or not waited for.
const MAX_RUNS: usize = 10_000_000;

/// What has been defined so far.
pub struct Modules {
    directory: Option<PathBuf>,
    limits: LimitOptions,
    native: NativeOptions,
    defined: BTreeMap<String, BTreeMap<String, Entry>>,
}

/// A function of a module, ready to be evaluated.
pub struct Entry {
    function: Function,
    prepare: Option<Function>,
    report: Option<Function>,
    fields: Fields,
    limits: LimitOptions,
}

/// The output by name, and how long each execution took.
pub struct Evaluated {
    pub output: Vec<(String, Value)>,
    pub times: Vec<Duration>,
}

impl Modules {
    pub fn new(options: &GradbenchOptions) -> Modules {
        Modules {
            directory: options.programs.clone(),
            limits: options.limits.clone(),
            native: options.native(),
            defined: BTreeMap::new(),
        }
    }

    /// Compiles the program of a module.
    pub fn define(&mut self, module: &str) -> Result<(), String> {
        if self.defined.contains_key(module) {
            return Ok(());
        }
        let unknown = || format!("there is no program for the module `{module}`");
        if module.is_empty() || !module.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            return Err(unknown());
        }
        let (path, loader): (PathBuf, &dyn Loader) = match &self.directory {
            Some(directory) => (directory.join(format!("{module}.fut")), &FileLoader),
            None => (PathBuf::from(format!("{module}.fut")), &Embedded),
        };
        let text = loader.load(&path).map_err(|problem| format!("{}: {problem}", unknown()))?;
        let program = Program::compile(&path, &text, loader).map_err(|error| error.to_string())?;
        let program = program.with_backend(Backend::Native(self.native)).map_err(|error| error.to_string())?;
        program.prepare().map_err(|error| error.to_string())?;
        let names: Vec<String> = program.entry_points().into_iter().map(|entry| entry.name).collect();
        let function = |name: &str| names.iter().any(|known| known == name).then(|| program.function(name).ok()).flatten();
        let prepare = function("prepare");
        let mut entries = BTreeMap::new();
        for name in names.iter().filter(|name| *name != "prepare" && !name.ends_with("_report")) {
            let Some(entry) = function(name) else { continue };
            let fields = input_fields(prepare.as_ref().unwrap_or(&entry))?;
            let report = function(&format!("{name}_report"));
            let entry = Entry { function: entry, prepare: prepare.clone(), report, fields, limits: self.limits.clone() };
            entries.insert(name.clone(), entry);
        }
        if entries.is_empty() {
            return Err(unknown());
        }
        self.defined.insert(module.to_owned(), entries);
        Ok(())
    }

    /// A function of a module that has been defined.
    pub fn entry(&self, module: &str, function: &str) -> Result<&Entry, String> {
        let entries = self.defined.get(module).ok_or_else(|| format!("the module `{module}` has not been defined"))?;
        entries.get(function).ok_or_else(|| {
            let known: Vec<&str> = entries.keys().map(String::as_str).collect();
            format!("the module `{module}` has no function `{function}`; it has {}", known.join(", "))
        })
    }
}

/// What a function reads of an input.
fn input_fields(function: &Function) -> Result<Fields, String> {
    let types = function.argument_types().ok_or_else(|| format!("`{}` takes arguments that are no data", function.name()))?;
    let parameters = function.argument_names().into_iter().zip(types);
    let repetition = REPETITION.map(|(name, ty)| (name.to_owned(), ty));
    Ok(Fields::new(&parameters.chain(repetition).collect::<Vec<_>>()))
}

impl Entry {
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Runs the function as often as the input asks, and at least once.
    pub fn evaluate(&self, found: Found) -> Result<Evaluated, String> {
        if let Some((number, problem)) = found.problem {
            return Err(about(&self.fields, number, &problem));
        }
        let mut values = found.values;
        let min_seconds = scalar::<f64>(values.pop().flatten()).unwrap_or(0.0);
        let min_runs = scalar::<i64>(values.pop().flatten()).unwrap_or(1);
        let min_runs = usize::try_from(min_runs).unwrap_or(0);
        if min_runs > MAX_RUNS {
            return Err(format!("input `min_runs`: at most {MAX_RUNS} runs are made"));
        }
        let mut arguments = Vec::with_capacity(values.len());
        for (value, name) in values.into_iter().zip(self.fields.names()) {
            arguments.push(value.ok_or_else(|| format!("the input has no field `{name}`"))?);
        }
        if let Some(prepare) = &self.prepare {
            arguments = self.passed_on(prepare, arguments, &self.function)?;
        }
        self.function.program().set_limits(self.limits.starting_now());
        let (mut times, mut total) = (Vec::new(), 0.0);
        let results = self.function.call_repeatedly(&arguments, |time| {
            times.push(time);
            total += time.as_secs_f64();
            times.len() < min_runs || (total < min_seconds && times.len() < MAX_RUNS)
        });
        let results = results.map_err(|error| error.to_string())?;
        drop(arguments);
        let (last, results) = match &self.report {
            Some(report) => {
                let arguments = by_name(results, &self.function, report)?;
                (report, report.call(&arguments).map_err(|error| error.to_string())?)
            }
            None => (&self.function, results),
        };
        let output: Vec<(String, Value)> = last.result_names().into_iter().zip(results).collect();
        match output.iter().find(|(_, value)| !is_finite(value)) {
            Some((name, _)) if name != "0" => Err(format!("`{name}` of the output is not finite")),
            Some(_) => Err(String::from("the output is not finite")),
            None => Ok(Evaluated { output, times }),
        }
    }

    /// The results of one function as the arguments of another.
    fn passed_on(&self, from: &Function, arguments: Vec<Value>, to: &Function) -> Result<Vec<Value>, String> {
        from.program().set_limits(self.limits.starting_now());
        let results = from.call(&arguments).map_err(|error| error.to_string())?;
        by_name(results, from, to)
    }
}

/// The results of one function in the order of another's parameters. Results without names keep their order.
fn by_name(results: Vec<Value>, from: &Function, to: &Function) -> Result<Vec<Value>, String> {
    let names = from.result_names();
    if names.iter().all(|name| name.parse::<usize>().is_ok()) {
        return Ok(results);
    }
    let mut results: Vec<Option<Value>> = results.into_iter().map(Some).collect();
    let mut arguments = Vec::new();
    for wanted in to.argument_names() {
        let at = names.iter().position(|name| *name == wanted);
        let value = at.and_then(|at| results.get_mut(at)).and_then(Option::take);
        arguments.push(value.ok_or_else(|| format!("`{}` gives no `{wanted}` for `{}`", from.name(), to.name()))?);
    }
    Ok(arguments)
}

fn scalar<T: ElementsRef + Copy>(value: Option<Value>) -> Option<T> {
    value?.as_scalar::<T>()
}

fn is_finite(value: &Value) -> bool {
    match (value.as_slice::<f64>(), value.as_slice::<f32>(), value.prim().is_float()) {
        (Some(elements), _, _) => elements.iter().all(|x| x.is_finite()),
        (_, Some(elements), _) => elements.iter().all(|x| x.is_finite()),
        (_, _, true) => value.elements().to_f64().iter().all(|x| x.is_finite()),
        (_, _, false) => true,
    }
}

/// Imports among the programs of the binary.
struct Embedded;

impl Loader for Embedded {
    fn load(&self, path: &Path) -> Result<String, String> {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("");
        match PROGRAMS.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Ok((*text).to_owned()),
            None => Err(String::from("not one of the programs of this tool")),
        }
    }
}
