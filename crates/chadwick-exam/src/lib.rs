//! One exam for all ways of differentiating a program: worked examples with known answers, random programs on which all must agree, and
//! families of growing programs whose counted work is held against what each paper claims.

mod engines;
mod families;
mod growth;
mod marks;
mod random;
mod worked;

pub use engines::{Description, describe};
pub use families::{FAMILIES, Family};
pub use growth::{Cost, Factor, growth, work_of};
pub use marks::{Marks, Refusal};
pub use random::random_programs;
pub use worked::{Examples, WORKED, Worked, worked_examples};

use chadwick::compile::Engine;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// How much of the exam is taken.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// How many random programs.
    pub programs: u64,
    /// The seed of the first of them.
    pub seed: u64,
    /// How long an engine may spend on random programs; what was not reached is not counted.
    pub patience: Duration,
}

/// What an engine achieved.
#[derive(Clone, Debug)]
pub struct Result {
    pub engine: Engine,
    pub worked: Marks,
    pub random: Marks,
    /// For each of the [`FAMILIES`].
    pub growth: Vec<std::result::Result<Cost, Refusal>>,
}

impl Result {
    /// Whether all answers are right and the work is what the paper claims.
    pub fn passed(&self) -> bool {
        let description = describe(self.engine);
        let as_claimed = |(family, cost): (&Family, &std::result::Result<Cost, Refusal>)| match cost {
            Ok(cost) => description.claim(family).admits(cost.factor()),
            Err(_) => true,
        };
        self.worked.wrong.is_empty() && self.random.wrong.is_empty() && FAMILIES.iter().zip(&self.growth).all(as_claimed)
    }
}

/// A part of the exam that an engine has behind it.
#[derive(Clone, Copy, Debug)]
pub enum Part<'m> {
    Worked(&'m Marks),
    Random(&'m Marks),
    Growth,
}

/// Hears which part an engine has behind it, and how long that took.
pub type Listener<'l> = dyn Fn(Engine, Part, Duration) + Sync + 'l;

/// Examines engines on all cores; `heard` is told of each part as it is finished.
pub fn examine(engines: &[Engine], extent: Extent, heard: &Listener) -> Vec<Result> {
    let waiting = Mutex::new(engines.iter().copied().enumerate());
    let results = Mutex::new(Vec::new());
    let work = || {
        let examples = Examples::load();
        loop {
            let next = waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
            let Some((place, engine)) = next else { break };
            let result = examine_one(engine, &examples, extent, heard);
            results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((place, result));
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(engines.len());
        (1..workers).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

fn examine_one(engine: Engine, examples: &Examples, extent: Extent, heard: &Listener) -> Result {
    let mut started = Instant::now();
    let mut tell = |part: Part| {
        heard(engine, part, started.elapsed());
        started = Instant::now();
    };
    let worked = worked_examples(engine, examples);
    tell(Part::Worked(&worked));
    let random = random_programs(engine, extent);
    tell(Part::Random(&random));
    let growth = FAMILIES.iter().map(|family| growth(engine, family)).collect();
    tell(Part::Growth);
    Result { engine, worked, random, growth }
}
