//! All engines on the programs of the benchmark: counted work, size of code, memory and native time, each beside `chad-fast` in the same run.
//!
//! Work and memory are the interpreter's, at sizes that every engine can do; times are those of native code, at full size. Engines take turns.

use crate::inputs::Random;
use crate::workloads::{self, Workload};
use crate::{Result, difference, flat, home};
use chadwick::compile::{Engine, FileLoader, Stage};
use chadwick::values::Value;
use chadwick::{Backend, Error, Function, Limits, NativeOptions, Program};
use chadwick_exam::work_of;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long an engine may take for one call.
const PATIENCE: Duration = Duration::from_secs(20);
/// What native code may take up; tapes of scalars are long.
const MEMORY: usize = 8 << 30;
/// How far gradients may be apart, relative to the largest number.
const TOLERANCE: f64 = 1e-9;

/// What is measured of a program.
#[derive(Clone, Copy, Debug)]
pub struct Measures {
    /// Operations, additions to accumulators, rows of tapes, and words written.
    pub work: f64,
    /// Statements of Core, if there are any to be seen.
    pub code: Option<f64>,
    /// Bytes of arguments and of all values at one time, at most, on the interpreter.
    pub memory: f64,
    pub native: Option<Native>,
}

/// What is measured of native code.
#[derive(Clone, Copy, Debug)]
pub struct Native {
    /// The least of many calls.
    pub seconds: f64,
    /// With several threads.
    pub parallel: Option<f64>,
    /// Bytes, as above.
    pub memory: f64,
}

/// What an engine makes of a program.
#[derive(Clone, Debug)]
pub enum Outcome {
    Measured(Measures),
    /// It says that it does not take it, and why.
    Refused(String),
    /// A call took more than it may.
    TooLarge,
}

impl Outcome {
    pub fn measures(&self) -> Option<&Measures> {
        match self {
            Outcome::Measured(measures) => Some(measures),
            Outcome::Refused(_) | Outcome::TooLarge => None,
        }
    }
}

/// A program by all engines.
pub struct Row {
    pub workload: Workload,
    /// The function itself.
    pub primal: Measures,
    /// One for each of the engines that were asked for.
    pub gradients: Vec<Outcome>,
}

/// One workload for each program: the smaller one, where there are two.
pub fn corpus() -> Vec<Workload> {
    let mut chosen: Vec<Workload> = Vec::new();
    for workload in workloads::all() {
        chosen.retain(|other| other.program != workload.program);
        chosen.push(workload);
    }
    chosen
}

pub fn measure(workload: Workload, engines: &[Engine], threads: Option<usize>, seconds: f64) -> Result<Row> {
    let path = home().join("programs").join(format!("{}.fut", workload.program));
    let text = std::fs::read_to_string(&path)?;
    let only = |entry: &'static str| Program::compile_entries(&path, &text, &FileLoader, |name| name == entry);
    let (function, gradient) = (only("primal")?, only("gradient")?);
    let small = (workload.arguments)(&workload.counted, &mut Random::new(1));
    let large = (workload.arguments)(&workload.sizes, &mut Random::new(1));
    let expected = flat(&gradient.function("gradient")?.call(&small)?);

    let mut contestants = Vec::new();
    let primal = counted(&function, "primal", &small)?;
    let primal_code = Some(statements(&function.at_stage(Stage::Optimise)?));
    contestants.push(Contestant::new(&function, Engine::ChadFast, "primal", &large, threads)?);
    let mut outcomes = Vec::new();
    for engine in engines {
        let outcome = by_engine(&gradient, *engine, &small, &expected, workload.name)?;
        if outcome.measures().is_some() && engine.has_native_code() {
            contestants.push(Contestant::new(&gradient, *engine, "gradient", &large, threads)?);
        }
        outcomes.push(outcome);
    }
    take_turns(&mut contestants, &large, seconds)?;
    let mut native = contestants.into_iter().map(|contestant| contestant.finish(&large));
    let primal = Measures { code: primal_code, native: native.next().flatten(), ..primal };
    for (engine, outcome) in engines.iter().zip(&mut outcomes) {
        if let Outcome::Measured(measures) = outcome
            && engine.has_native_code()
        {
            measures.native = native.next().flatten();
        }
    }
    Ok(Row { workload, primal, gradients: outcomes })
}

/// What is counted of the gradient by an engine, which must be right.
fn by_engine(gradient: &Program, engine: Engine, arguments: &[Value], expected: &[f64], name: &str) -> Result<Outcome> {
    let program = match gradient.with_engine(engine) {
        Ok(program) => program,
        Err(error) if error.is_refusal() => return Ok(Outcome::Refused(error.message())),
        Err(error) => return Err(error.into()),
    };
    program.set_limits(limits());
    match counted(&program, "gradient", arguments) {
        Ok(measures) => {
            let found = difference(&flat(&program.function("gradient")?.call(arguments)?), expected);
            if found > TOLERANCE {
                return Err(format!("{name} by {}: the gradient is {found:e} away", engine.name()).into());
            }
            let code = (engine != Engine::Builtin).then(|| statements(&program));
            Ok(Outcome::Measured(Measures { code, ..measures }))
        }
        Err(error) if error.is_limit() => Ok(Outcome::TooLarge),
        Err(error) => Err(error.into()),
    }
}

fn counted(program: &Program, entry: &str, arguments: &[Value]) -> std::result::Result<Measures, Error> {
    let work = work_of(program, entry, arguments)? as f64;
    Ok(Measures { work, code: None, memory: (bytes(arguments) + program.peak_memory()) as f64, native: None })
}

fn limits() -> Limits {
    Limits { deadline: Instant::now().checked_add(PATIENCE), max_memory_bytes: MEMORY, ..Limits::default() }
}

fn bytes(values: &[Value]) -> usize {
    values.iter().map(|value| value.len() * value.prim().bytes()).sum()
}

/// Statements, in nested blocks too.
fn statements(program: &Program) -> f64 {
    fn of(block: &chadwick::core::Block) -> usize {
        block.statements.iter().map(|it| 1 + it.op.scopes().iter().map(|scope| of(scope.block)).sum::<usize>()).sum()
    }
    program.core().functions.iter().map(|function| of(&function.body)).sum::<usize>() as f64
}

/// Native code that is timed beside others.
struct Contestant {
    single: Function,
    several: Option<Function>,
    least: f64,
    least_parallel: f64,
    /// What it has taken so far.
    spent: f64,
    turns: usize,
    memory: usize,
    failed: bool,
}

impl Contestant {
    fn new(program: &Program, engine: Engine, entry: &str, arguments: &[Value], threads: Option<usize>) -> Result<Contestant> {
        let native = |threads| -> Result<Function> {
            let program = program.compiled(engine, Backend::Native(NativeOptions { threads, ..NativeOptions::default() }))?;
            Ok(program.function(entry)?)
        };
        let (single, several) = (native(1)?, threads.map(native).transpose()?);
        single.program().set_limits(limits());
        // Memory is counted before anything else has run.
        let (failed, memory) = match single.call(arguments) {
            Ok(_) => (false, single.program().peak_memory()),
            Err(error) if error.is_limit() => (true, 0),
            Err(error) => return Err(error.into()),
        };
        let unmeasured = f64::INFINITY;
        Ok(Contestant { single, several, least: unmeasured, least_parallel: unmeasured, spent: 0.0, turns: 0, memory, failed })
    }

    fn turn(&mut self, arguments: &[Value], seconds: f64) -> Result<()> {
        // Who needs long for one call does not take every turn.
        if self.failed || (self.turns >= 2 && self.spent > 4.0 * seconds * ROUNDS as f64) {
            return Ok(());
        }
        let begin = Instant::now();
        let Some(least) = time(&self.single, arguments, seconds)? else {
            self.failed = true;
            return Ok(());
        };
        self.least = self.least.min(least);
        self.spent += begin.elapsed().as_secs_f64();
        self.turns += 1;
        if let Some(several) = &self.several {
            match time(several, arguments, seconds)? {
                Some(least) => self.least_parallel = self.least_parallel.min(least),
                None => self.several = None,
            }
        }
        Ok(())
    }

    fn finish(self, arguments: &[Value]) -> Option<Native> {
        let parallel = self.several.as_ref().map(|_| self.least_parallel);
        let memory = (bytes(arguments) + self.memory) as f64;
        (!self.failed).then_some(Native { seconds: self.least, parallel, memory })
    }
}

/// How often all take turns.
const ROUNDS: usize = 8;

fn take_turns(contestants: &mut [Contestant], arguments: &[Value], seconds: f64) -> Result<()> {
    for _ in 0..ROUNDS {
        for contestant in contestants.iter_mut() {
            contestant.turn(arguments, seconds / ROUNDS as f64)?;
        }
    }
    Ok(())
}

/// The least time of a call; nothing if it took more than it may.
fn time(function: &Function, arguments: &[Value], seconds: f64) -> Result<Option<f64>> {
    function.program().set_limits(limits());
    let begin = Instant::now();
    let mut least = f64::INFINITY;
    let called = function.call_repeatedly(arguments, |time| {
        least = least.min(time.as_secs_f64());
        begin.elapsed().as_secs_f64() < seconds
    });
    match called {
        Ok(_) => Ok(Some(least)),
        Err(error) if error.is_limit() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// How many lines an engine has of its own: without tests, and without what all share (forward mode, activity, the optimiser).
pub fn lines_of_code(engine: Engine) -> Option<usize> {
    let places: &[&str] = match engine {
        Engine::ChadFast => &["reverse", "tape.rs", "saved.rs", "makings.rs", "sparse.rs"],
        Engine::Chad(_) | Engine::ChadEfficient(_) => &["chad"],
        Engine::Dual(_) => &["dual"],
        Engine::DualArrays => &["dual_arrays"],
        Engine::LinearMaps => &["linear_maps"],
        Engine::Auto | Engine::Builtin => return None,
    };
    let source = home().join("../crates/chadwick-ad/src");
    Some(places.iter().map(|place| lines_in(&source.join(place))).sum())
}

fn lines_in(path: &Path) -> usize {
    if path.file_name().is_some_and(|name| name == "tests") {
        return 0;
    }
    match std::fs::read_dir(path) {
        Ok(entries) => entries.filter_map(|entry| Some(lines_in(&entry.ok()?.path()))).sum(),
        Err(_) => std::fs::read_to_string(path).map_or(0, |text| text.lines().count()),
    }
}
