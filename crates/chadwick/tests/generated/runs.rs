//! Many programs, on all cores; failures made small and reported.

use crate::Property;
use crate::compiled::Failure;
use chadwick_generate::{Config, Construct, Element, Program, generate, shrink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub programs: u64,
    /// Programs that ran into a limit of time or memory.
    pub too_large: u64,
    /// Programs that only the interpreter can differentiate, because the order of a derivative depends on the input.
    pub of_unknown_order: u64,
    /// Programs whose Jacobian is not zero.
    pub active: u64,
    /// Programs whose second derivative is not zero.
    pub curved: u64,
    pub differences: u64,
    pub differences_skipped: u64,
}

impl Report {
    fn add(&mut self, other: &Report) {
        self.programs += other.programs;
        self.too_large += other.too_large;
        self.of_unknown_order += other.of_unknown_order;
        self.active += other.active;
        self.curved += other.curved;
        self.differences += other.differences;
        self.differences_skipped += other.differences_skipped;
    }

    /// Properties of programs without derivatives would say nothing.
    pub fn assert_meaningful(&self) {
        assert!(self.active * 2 > self.programs, "too few programs depend on their input: {self:?}");
        assert!(self.curved * 4 > self.programs, "too few programs are curved: {self:?}");
        assert!(self.too_large * 50 <= self.programs, "too many programs are too large: {self:?}");
        assert!(self.of_unknown_order * 100 <= self.programs, "too many programs are of unknown order: {self:?}");
    }

    pub fn assert_few_differences_skipped(&self) {
        let all = self.differences + self.differences_skipped;
        assert!(self.differences_skipped * 10 <= all, "too many differences are skipped: {self:?}");
    }
}

fn number_from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// How many programs to run.
pub fn programs(usually: u64) -> u64 {
    number_from_environment("CHADWICK_PROGRAMS").unwrap_or(usually)
}

/// Programs of different sizes, mostly small.
pub fn config_of(seed: u64) -> Config {
    let size = match seed % 10 {
        0..=4 => 25,
        5..=8 => 45,
        _ => 90,
    };
    Config::default().with_size(size)
}

const STACK_BYTES: usize = 256 << 20;

/// Seeds from where the environment says, on all cores.
fn for_each_seed(count: u64, work: &(dyn Fn(u64) + Sync)) {
    let start = number_from_environment("CHADWICK_SEED").unwrap_or(0);
    let next = AtomicU64::new(start);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let take = || {
        std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|seed| *seed < start + count).for_each(work);
    };
    thread::scope(|scope| {
        for _ in 0..workers {
            thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, take).expect("a thread");
        }
    });
}

/// Runs a property on many programs; panics with the smallest failing program of each property that failed.
pub fn check_programs(element: Element, count: u64, property: &Property) -> Report {
    check_programs_without(element, count, &[], property)
}

/// The same on programs without some constructs, for what does not take them.
pub fn check_programs_without(element: Element, count: u64, without: &[Construct], property: &Property) -> Report {
    let begin = Instant::now();
    let total = Mutex::new(Report::default());
    let failures: Mutex<Vec<(Program, Failure)>> = Mutex::new(Vec::new());
    for_each_seed(count, &|seed| {
        let program = generate(seed, &config_of(seed).without(without));
        let mut own = Report { programs: 1, ..Report::default() };
        match outcome(|| property(&program, &mut own)) {
            Ok(()) => {}
            Err(failure) if failure.property == Failure::TOO_LARGE => own.too_large += 1,
            Err(failure) if failure.property == Failure::OF_UNKNOWN_ORDER => own.of_unknown_order += 1,
            Err(failure) => failures.lock().expect("no panic while locked").push((program, failure)),
        }
        total.lock().expect("no panic while locked").add(&own);
    });
    let report = total.into_inner().expect("no panic while locked");
    let failures = failures.into_inner().expect("no panic while locked");
    eprintln!("{}: {report:?} in {:.1} s", element.name(), begin.elapsed().as_secs_f64());
    if !failures.is_empty() {
        let reports = on_deep_stack(|| describe(failures, element, property));
        panic!("{reports}");
    }
    report
}

/// Runs something for many seeds; panics with what failed, else says how often it was so.
pub fn count_true(count: u64, work: &(dyn Fn(u64) -> Result<bool, Failure> + Sync)) -> u64 {
    let (total, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    for_each_seed(count, &|seed| match outcome(|| work(seed)) {
        Ok(so) => drop(total.fetch_add(u64::from(so), Ordering::Relaxed)),
        Err(failure) => failures.lock().expect("no panic while locked").push((seed, failure)),
    });
    let failures = failures.into_inner().expect("no panic while locked");
    let shown: Vec<String> = failures
        .iter()
        .take(5)
        .map(|(seed, failure)| format!("==== seed {seed}, not so: {}\n{}", failure.property, failure.message))
        .collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), shown.join("\n"));
    total.into_inner()
}

fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let spawned = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        spawned.expect("a thread").join().expect("no panic")
    })
}

/// What came of it; a panic is a failure too.
fn outcome<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(Failure::new("does not panic", text.unwrap_or_default()))
    })
}

/// For each property, one failing program, made small, and the seeds of the others.
fn describe(mut failures: Vec<(Program, Failure)>, element: Element, property: &Property) -> String {
    const SHRINKING: Duration = Duration::from_secs(60);
    failures.sort_by_key(|(program, failure)| (failure.property, program.size(), program.seed));
    let mut text = format!("{} programs fail\n", failures.len());
    while let Some((program, failure)) = failures.first().cloned() {
        let (same, others): (Vec<_>, Vec<_>) = failures.into_iter().partition(|(_, other)| other.property == failure.property);
        failures = others;
        let seeds: Vec<u64> = same.iter().map(|(program, _)| program.seed).collect();
        let begin = Instant::now();
        let mut still_fails = |candidate: &Program| {
            begin.elapsed() < SHRINKING
                && outcome(|| property(candidate, &mut Report::default())).is_err_and(|other| other.property == failure.property)
        };
        let small = shrink(&program, &mut still_fails);
        let message = outcome(|| property(&small, &mut Report::default())).err().map_or_else(String::new, |error| error.message);
        text.push_str(&format!(
            "\n==== not so: {} (seeds {seeds:?})\n{message}\n---- the program of seed {}, made smaller\n{}",
            failure.property,
            program.seed,
            small.source(element)
        ));
    }
    text
}
