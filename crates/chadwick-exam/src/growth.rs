//! Counted work of programs that grow, and of their gradients.

use crate::families::Family;
use crate::marks::Refusal;
use crate::timed;
use chadwick::compile::Engine;
use chadwick::{Backend, Counters, Program, Value};
use std::time::Duration;

/// Work at three sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub primal: [u64; 3],
    pub gradient: [u64; 3],
}

/// How the work of the gradient, divided by that of the function, depends on the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// Not at all, or like a logarithm: three sizes do not tell these apart.
    Constant,
    /// It grows with the size.
    Linear,
    /// Faster than any power, as far as three sizes can show.
    Exponential,
}

impl Factor {
    /// Whether this claim admits what was measured. Who claims to be exponential must show it.
    pub fn admits(self, measured: Factor) -> bool {
        match self {
            Factor::Exponential => measured == Factor::Exponential,
            claim => measured <= claim,
        }
    }
}

impl Cost {
    /// The work of the gradient by that of the function, at each size.
    pub fn ratios(&self) -> [f64; 3] {
        [0, 1, 2].map(|at| self.gradient[at] as f64 / self.primal[at].max(1) as f64)
    }

    pub fn factor(&self) -> Factor {
        let ratios = self.ratios();
        match ratios[2] / ratios[1] {
            step if step < 1.4 => Factor::Constant,
            step if step < 4.0 => Factor::Linear,
            _ => Factor::Exponential,
        }
    }
}

/// What a family costs on an engine.
pub fn growth(engine: Engine, family: &Family) -> Result<Cost, Refusal> {
    let (cost, _) = answers(family, &[engine]).swap_remove(0);
    cost
}

/// What a family costs on each engine, and how long it takes to know.
pub(crate) fn answers(family: &Family, engines: &[Engine]) -> Vec<(Result<Cost, Refusal>, Duration)> {
    let refusal = |error: chadwick::Error| Refusal::new(family.name, &error);
    let start = Cost { primal: [0; 3], gradient: [0; 3] };
    let mut all: Vec<(Result<Cost, Refusal>, Duration)> = vec![(Ok(start), Duration::ZERO); engines.len()];
    for (at, size) in family.sizes.iter().enumerate() {
        let (source, args) = (family.program)(*size);
        let plain = Program::from_source(&source).and_then(|program| program.with_backend(Backend::Interpreter));
        let plain = plain.and_then(|program| Ok((work_of(&program, "primal", &args)?, program)));
        for (engine, (cost, total)) in engines.iter().zip(&mut all) {
            let gradient = || -> chadwick::Result<(u64, u64)> {
                let (primal, program) = plain.as_ref().map_err(chadwick::Error::clone)?;
                Ok((*primal, work_of(&program.with_engine(*engine)?, "gradient", &args)?))
            };
            let Ok(known) = cost else { continue };
            let (found, duration) = timed(gradient);
            *total += duration;
            match found {
                Ok((primal, gradient)) => (known.primal[at], known.gradient[at]) = (primal, gradient),
                Err(error) => *cost = Err(refusal(error)),
            }
        }
    }
    all
}

/// The work of one call on the interpreter.
pub fn work_of(program: &Program, entry: &str, args: &[Value]) -> chadwick::Result<u64> {
    program.reset_counters();
    program.function(entry)?.call(args)?;
    Ok(work(&program.counters()))
}

/// One unit for an operation, a row or an addition to an accumulator, and for eight bytes written.
fn work(counters: &Counters) -> u64 {
    counters.operations
        + counters.differentiated_operations
        + counters.tape_entries
        + counters.accumulations
        + counters.logged_rows
        + counters.allocated_bytes / 8
}
