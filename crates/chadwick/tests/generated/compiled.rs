//! A generated program through all stages, ready to be called.

use crate::scalar::Scalar;
use chadwick::compile::linear_maps::{Derivation, with_derived_entries};
use chadwick::compile::{self, Engine, FileLoader, ReverseMode, Stage};
use chadwick_core::{FunctionId, text, verify};
use chadwick_interp::{ErrorKind, Interpreter, Limits, RuntimeError, Value};
use chadwick_source::{Diagnostic, FileId};
use chadwick_syntax::{EraseSpans, parse_program, print_program};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A property that does not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which one; the same for all programs that break it.
    pub property: &'static str,
    pub message: String,
}

impl Failure {
    pub fn new(property: &'static str, message: impl Into<String>) -> Failure {
        Failure { property, message: message.into() }
    }

    /// The program takes too long or too much memory to be of use.
    pub const TOO_LARGE: &str = "small enough to run";

    /// The program differentiates a function inside its own definition, so that the order of the derivative depends on its input. An engine
    /// that makes code of derivatives says that it cannot.
    pub const OF_UNKNOWN_ORDER: &str = "has derivatives of an order that is known";
}

const TIME_LIMIT: Duration = Duration::from_secs(5);
const MEMORY_LIMIT: usize = 1 << 30;

pub struct Compiled {
    interpreter: Interpreter,
}

impl Compiled {
    /// Parses, checks, lowers; on the way, what was printed must parse to the same.
    pub fn new(source: &str) -> Result<Compiled, Failure> {
        Compiled::by(Engine::Builtin, source)
    }

    /// The same with derivatives by the engine.
    pub fn by(engine: Engine, source: &str) -> Result<Compiled, Failure> {
        round_trip_of_syntax(source)?;
        let mut checked = compile::check(Path::new("generated.fut"), source, &FileLoader);
        if checked.has_errors() {
            return Err(Failure::new("checks without errors", messages(&checked.diagnostics)));
        }
        let Some(mut core) = compile::lower(&mut checked) else {
            return Err(Failure::new("lowers without errors", messages(&checked.diagnostics)));
        };
        let errors = verify::verify(&core);
        if let Some(error) = errors.first() {
            return Err(Failure::new("verifies", error.to_string()));
        }
        round_trip_of_core(&core)?;
        if engine != Engine::Builtin {
            let result = compile::differentiate(&mut core, engine);
            result.map_err(|errors| {
                let of_unknown_order = errors.iter().any(|error| error.message.contains("inside its own definition"));
                let property = if of_unknown_order { Failure::OF_UNKNOWN_ORDER } else { "is taken by the engine" };
                Failure::new(property, messages(&errors))
            })?;
            if let Some(error) = verify::verify(&core).first() {
                return Err(Failure::new("verifies with derivatives", error.to_string()));
            }
            round_trip_of_core(&core)?;
        }
        Ok(Compiled { interpreter: Interpreter::new(Rc::new(core), Limits::default()) })
    }

    /// The primal entry point and the function that is derived from it by linear maps; nothing if that is refused.
    pub fn derived(source: &str, derivation: Derivation) -> Result<Option<Compiled>, Failure> {
        let mut core = Compiled::new(source)?.core().clone();
        core.entries.retain(|entry| entry.name == chadwick_generate::entries::PRIMAL);
        compile::advance(&mut core, ReverseMode::LinearMaps, Stage::Prepare)
            .map_err(|errors| Failure::new("is prepared", messages(&errors)))?;
        let core = match with_derived_entries(&core, derivation) {
            Ok(core) => core,
            Err(errors) if errors.iter().all(|error| error.code == "E0410") => return Ok(None),
            Err(errors) => return Err(Failure::new("is derived or refused", messages(&errors))),
        };
        if let Some(error) = verify::verify(&core).first() {
            return Err(Failure::new("verifies with derived functions", format!("{derivation:?}: {error}")));
        }
        Ok(Some(Compiled { interpreter: Interpreter::new(Rc::new(core), Limits::default()) }))
    }

    pub fn core(&self) -> &chadwick_core::Program {
        self.interpreter.program()
    }

    /// Calls an entry point; arrays of numbers come back flat.
    pub fn call<S: Scalar>(&mut self, entry: &'static str, args: Vec<Value>) -> Result<Vec<Vec<S>>, Failure> {
        let Some(function) = self.core().entry(entry).map(|entry| entry.function) else {
            return Err(Failure::new("has its entry points", entry));
        };
        self.call_function(function, entry, args)
    }

    /// The cotangents of the first argument of an entry point for several cotangents of its result, from one run in reverse mode.
    pub fn pull<S: Scalar>(
        &mut self,
        entry: &'static str,
        args: Vec<Value>,
        cotangents: &[Vec<S>],
    ) -> Result<Vec<Vec<S>>, Failure> {
        let Some(function) = self.core().entry(entry).map(|entry| entry.function) else {
            return Err(Failure::new("has its entry points", entry));
        };
        let (_, pullback) = self.interpreter.pullback(function, args, &[0]).map_err(|error| run_failure(entry, &error))?;
        let mut pulled = Vec::new();
        for cotangent in cotangents {
            let seed = S::array(&[cotangent.len()], cotangent.clone());
            pulled.extend(self.interpreter.pull(&pullback, &[seed]).map_err(|error| run_failure(entry, &error))?);
        }
        flat(entry, &pulled)
    }

    fn call_function<S: Scalar>(
        &mut self,
        function: FunctionId,
        name: &'static str,
        args: Vec<Value>,
    ) -> Result<Vec<Vec<S>>, Failure> {
        let deadline = Some(Instant::now() + TIME_LIMIT);
        self.interpreter.set_limits(Limits { max_memory_bytes: MEMORY_LIMIT, deadline, max_depth: Some(100_000) });
        let results = self.interpreter.call(function, args).map_err(|error| run_failure(name, &error))?;
        flat(name, &results)
    }
}

fn run_failure(entry: &'static str, error: &RuntimeError) -> Failure {
    match &error.kind {
        ErrorKind::Deadline | ErrorKind::MemoryLimit | ErrorKind::DepthLimit => Failure::new(Failure::TOO_LARGE, entry),
        kind => Failure::new("runs without errors", format!("{entry}: {kind:?}: {error} at {:?}", error.span)),
    }
}

fn flat<S: Scalar>(entry: &'static str, values: &[Value]) -> Result<Vec<Vec<S>>, Failure> {
    let flat = values.iter().map(|value| value.to_data().and_then(|data| S::elements(data.elements)));
    flat.collect::<Option<Vec<Vec<S>>>>().ok_or_else(|| Failure::new("gives plain numbers", format!("{entry}: {values:?}")))
}

fn messages(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<String> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .map(|diagnostic| format!("{} {} at {:?}", diagnostic.code, diagnostic.message, diagnostic.primary.span))
        .collect();
    lines.join("\n")
}

fn round_trip_of_syntax(source: &str) -> Result<(), Failure> {
    let property = "prints to syntax that parses to the same";
    let mut first = parse_program(FileId(0), source);
    if first.has_errors() {
        return Err(Failure::new("parses", messages(&first.diagnostics)));
    }
    first.tree.erase_spans();
    let printed = print_program(&first.tree);
    let mut second = parse_program(FileId(0), &printed);
    second.tree.erase_spans();
    if second.has_errors() {
        return Err(Failure::new(property, format!("{}\n{printed}", messages(&second.diagnostics))));
    }
    match first.tree == second.tree && print_program(&second.tree) == printed {
        true => Ok(()),
        false => Err(Failure::new(property, printed)),
    }
}

fn round_trip_of_core(core: &chadwick_core::Program) -> Result<(), Failure> {
    let property = "prints to Core that parses to the same";
    let printed = text::print(core);
    let parsed = text::parse(&printed).map_err(|error| Failure::new(property, format!("{error}\n{printed}")))?;
    let again = text::print(&parsed);
    let differs = || printed.lines().zip(again.lines()).find(|(before, after)| before != after);
    match printed == again && verify::verify(&parsed).is_empty() {
        true => Ok(()),
        false => Err(Failure::new(property, format!("{:?}", differs()))),
    }
}
