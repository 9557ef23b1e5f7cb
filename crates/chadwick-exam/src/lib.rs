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
pub use worked::{WORKED, Worked};

use chadwick::compile::Engine;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
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
    fn new(engine: Engine) -> Result {
        let (worked, random, growth) = Default::default();
        Result { engine, worked, random, growth }
    }

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

/// A part of the exam that an engine has behind it; of random programs, those so far.
#[derive(Clone, Copy, Debug)]
pub enum Part<'m> {
    Worked(&'m Marks),
    Random(&'m Marks),
    Growth,
}

/// Hears which part an engine has behind it, and how long that took.
pub type Listener<'l> = dyn Fn(Engine, Part, Duration) + Sync + 'l;

/// After how many random programs the listener hears of them.
const REPORTED: usize = 100;

/// Examines engines on all cores; `heard` is told of each part as it is finished. A program is read once and then given to all engines: most
/// of the time would go into reading it.
pub fn examine(engines: &[Engine], extent: Extent, heard: &Listener) -> Vec<Result> {
    let mut results: Vec<Result> = engines.iter().map(|engine| Result::new(*engine)).collect();

    let mut durations = vec![Duration::ZERO; engines.len()];
    let answers = on_all_cores(WORKED, |example| worked::answers(example, engines));
    for (example, answers) in WORKED.iter().zip(answers) {
        for ((result, total), (outcome, duration)) in results.iter_mut().zip(&mut durations).zip(answers) {
            result.worked.add(example.name, outcome);
            *total += duration;
        }
    }
    for (result, duration) in results.iter().zip(durations) {
        heard(result.engine, Part::Worked(&result.worked), duration);
    }

    let mut durations = vec![Duration::ZERO; engines.len()];
    for answers in on_all_cores(FAMILIES, |family| growth::answers(family, engines)) {
        for ((result, total), (cost, duration)) in results.iter_mut().zip(&mut durations).zip(answers) {
            result.growth.push(cost);
            *total += duration;
        }
    }
    for (result, duration) in results.iter().zip(durations) {
        heard(result.engine, Part::Growth, duration);
    }

    let mut durations = vec![Duration::ZERO; engines.len()];
    let seeds: Vec<u64> = (0..extent.programs).map(|number| extent.seed.wrapping_add(number)).collect();
    let spent: Vec<AtomicU64> = engines.iter().map(|_| AtomicU64::new(0)).collect();
    for seeds in seeds.chunks(REPORTED) {
        let answers = on_all_cores(seeds, |seed| random::answers(*seed, engines, extent.patience, &spent));
        for (seed, answers) in seeds.iter().zip(answers) {
            for ((result, total), answer) in results.iter_mut().zip(&mut durations).zip(answers) {
                let Some((outcome, duration)) = answer else { continue };
                result.random.add(&format!("seed {seed}"), outcome);
                *total += duration;
            }
        }
        for (result, duration) in results.iter().zip(&durations) {
            heard(result.engine, Part::Random(&result.random), *duration);
        }
    }
    results
}

/// What is made of each thing, in their order. Programs stay on their threads.
fn on_all_cores<T: Sync, A: Send>(things: &[T], make: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::new());
    let work = || {
        while let Some((at, thing)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, things.get(at)?))) {
            let answer = make(thing);
            made.lock().unwrap_or_else(PoisonError::into_inner).push((at, answer));
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(things.len());
        (1..workers).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, answer)| answer).collect()
}

/// What a thing gives, and how long that takes.
fn timed<A>(make: impl FnOnce() -> A) -> (A, Duration) {
    let started = Instant::now();
    let answer = make();
    (answer, started.elapsed())
}
