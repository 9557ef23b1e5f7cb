//! Native code gives what the interpreter gives on the same Core: with strict floats bit for bit, else within the tolerance of agreement.

use crate::compiled::Failure;
use crate::runs::Report;
use chadwick::compile::{Engine, FileLoader};
use chadwick::values::compare::{Tolerance, difference};
use chadwick::{Backend, Error, Limits, NativeOptions, Program as Compiled, Value};
use chadwick_core::verify;
use chadwick_generate::{Element, Program, Random, entries};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

const CASES: [&str; 3] = [entries::PRIMAL, entries::FORWARD, entries::REVERSE];

/// How far floats may be apart, of the largest in a result.
const AGREEMENT: f64 = 1e-9;

const PROPERTY: &str = "native code agrees with the interpreter";

fn limits() -> Limits {
    let deadline = Some(Instant::now() + Duration::from_secs(5));
    Limits { max_memory_bytes: 1 << 30, deadline, max_depth: Some(100_000) }
}

fn vector(element: Element, numbers: &[f64]) -> Value {
    match element {
        Element::F64 => numbers.to_vec().into(),
        Element::I64 => numbers.iter().map(|number| *number as i64).collect::<Vec<i64>>().into(),
    }
}

/// How programs are made native: derivatives by an engine, on so many threads, with strict floats or fast ones.
#[derive(Clone, Copy)]
pub struct Way {
    pub engine: Engine,
    pub threads: usize,
    pub strict: bool,
}

impl Way {
    /// All programs go through the C compiler together.
    pub fn agrees(self, programs: &[Program], element: Element, report: &mut Report) -> Result<(), Failure> {
        let source = Program::together(programs, element);
        let too_large = |error: &Error| {
            programs.len() == 1
                && matches!(error, Error::Compile { diagnostics, .. } if diagnostics.iter().all(|one| one.code == "E0305"))
        };
        let failure =
            |error: Error| Failure::new(if too_large(&error) { Failure::TOO_LARGE } else { PROPERTY }, error.to_string());
        let wanted: BTreeSet<String> = (0..programs.len()).flat_map(|index| CASES.map(|case| entries::of(case, index))).collect();
        let wanted = |name: &str| wanted.contains(name);
        let plain = Compiled::compile_entries(Path::new("generated.fut"), &source, &FileLoader, wanted).map_err(failure)?;
        let interpreted = match plain.with_engine(self.engine) {
            Err(error) if error.to_string().contains("inside its own definition") => {
                return Err(Failure::new(Failure::OF_UNKNOWN_ORDER, error.to_string()));
            }
            interpreted => interpreted.map_err(failure)?,
        };
        if let Some(error) = verify::verify(interpreted.core()).first() {
            return Err(Failure::new("verifies with derivatives", error.to_string()));
        }
        let options = NativeOptions { strict: self.strict, quick: true, threads: self.threads };
        let native = interpreted.with_backend(Backend::Native(options)).map_err(failure)?;
        // The limit of time is for runs.
        native.prepare().map_err(failure)?;
        for (index, program) in programs.iter().enumerate() {
            self.results_agree(&interpreted, &native, index, program, element, report)?;
        }
        Ok(())
    }

    fn results_agree(
        self,
        interpreted: &Compiled,
        native: &Compiled,
        index: usize,
        program: &Program,
        element: Element,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let (numbers, integers) = program.input(element);
        let input = [vector(element, &numbers), integers.into()];
        let mut random = Random::new(program.seed ^ 0xC0DE);
        let mut seed = |size: usize| {
            let numbers: Vec<f64> = (0..size).map(|_| random.between(-9, 9) as f64 / 4.0).collect();
            vector(element, &numbers)
        };
        let call = |compiled: &Compiled, entry: &str, args: &[Value]| {
            compiled.set_limits(limits());
            compiled.function(&entries::of(entry, index))?.call(args)
        };
        let Ok(primal) = call(interpreted, entries::PRIMAL, &input) else {
            report.too_large += 1;
            return Ok(());
        };
        let results = primal.first().map_or(0, Value::len);
        let (tangent, cotangent) = (seed(numbers.len()), seed(results));
        let cases = [Vec::new(), vec![tangent], vec![cotangent]];
        for (entry, rest) in CASES.into_iter().zip(cases) {
            let args = [input.to_vec(), rest].concat();
            let Ok(wanted) = call(interpreted, entry, &args) else { continue };
            let found = call(native, entry, &args).map_err(|error| Failure::new(PROPERTY, format!("{entry}: {error}")))?;
            // As text, NaN equals NaN and zero differs from minus zero.
            let text = |values: &[Value]| values.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n");
            let same = if self.strict {
                text(&found) == text(&wanted)
            } else {
                difference(&found, &wanted, &Tolerance::uniform(AGREEMENT)).is_none()
            };
            if !same {
                return Err(Failure::new(PROPERTY, format!("{entry}: {} instead of {}", text(&found), text(&wanted))));
            }
        }
        report.active += 1;
        Ok(())
    }
}
