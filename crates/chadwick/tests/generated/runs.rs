//! Many programs, on all cores; failures made small and reported.

use crate::compiled::Failure;
use crate::{Property, PropertyOfSeveral};
use chadwick_generate::{Config, Construct, Element, Program, generate, shrink};
use std::ops::Range;
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

/// Stretches of seeds from where the environment says, at most so long, on all cores.
pub fn for_stretches(count: u64, length: u64, work: &(dyn Fn(Range<u64>) + Sync)) {
    let start = number_from_environment("CHADWICK_SEED").unwrap_or(0);
    let (next, end) = (AtomicU64::new(start), start + count);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let take = || {
        let stretches = std::iter::repeat_with(|| next.fetch_add(length, Ordering::Relaxed)).take_while(|seed| *seed < end);
        stretches.for_each(|seed| work(seed..end.min(seed + length)));
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
    let mut check = Check::new(element, count, property);
    for_stretches(count, 1, &|seeds| seeds.for_each(|seed| check.program(generate(seed, &config_of(seed).without(without)))));
    check.report()
}

/// The same for a property that takes several programs at once. Where several do not have it, each is asked by itself.
pub fn check_programs_together(element: Element, count: u64, property: &PropertyOfSeveral) -> Report {
    const TOGETHER: u64 = 32;
    let alone = |program: &Program, report: &mut Report| property(std::slice::from_ref(program), report);
    let mut check = Check::new(element, count, &alone);
    let each = count.div_ceil(thread::available_parallelism().map_or(1, |cores| cores.get() as u64)).clamp(1, TOGETHER);
    for_stretches(count, each, &|seeds| {
        let programs: Vec<Program> = seeds.map(|seed| generate(seed, &config_of(seed))).collect();
        let mut report = Report { programs: programs.len() as u64, ..Report::default() };
        match outcome(|| property(&programs, &mut report)) {
            Ok(()) => check.add(&report),
            Err(failure) => {
                let (seeds, message): (Vec<u64>, String) =
                    (programs.iter().map(|program| program.seed).collect(), failure.message.chars().take(1000).collect());
                eprintln!("{}: some of {seeds:?}, not so: {}: {message}", element.name(), failure.property);
                programs.into_iter().for_each(|program| check.program(program));
            }
        }
    });
    check.report()
}

/// A property that is being checked on many programs.
struct Check<'p> {
    element: Element,
    count: u64,
    property: &'p Property<'p>,
    begin: Instant,
    /// With the time of the last word on progress.
    total: Mutex<(Report, Instant)>,
    failures: Mutex<Vec<(Program, Failure)>>,
}

impl<'p> Check<'p> {
    fn new(element: Element, count: u64, property: &'p Property<'p>) -> Check<'p> {
        let begin = Instant::now();
        Check { element, count, property, begin, total: Mutex::new((Report::default(), begin)), failures: Mutex::default() }
    }

    fn program(&self, program: Program) {
        let mut own = Report { programs: 1, ..Report::default() };
        match outcome(|| (self.property)(&program, &mut own)) {
            Ok(()) => {}
            Err(failure) if failure.property == Failure::TOO_LARGE => own.too_large += 1,
            Err(failure) if failure.property == Failure::OF_UNKNOWN_ORDER => own.of_unknown_order += 1,
            Err(failure) => {
                let message: String = failure.message.chars().take(1000).collect();
                eprintln!("{}: seed {}, not so: {}: {message}", self.element.name(), program.seed, failure.property);
                self.failures.lock().expect("no panic while locked").push((program, failure));
            }
        }
        self.add(&own);
    }

    fn add(&self, report: &Report) {
        const BETWEEN_WORDS: Duration = Duration::from_secs(60);
        let (total, last) = &mut *self.total.lock().expect("no panic while locked");
        total.add(report);
        if last.elapsed() > BETWEEN_WORDS {
            *last = Instant::now();
            let failures = self.failures.lock().expect("no panic while locked").len();
            eprintln!("{}: {} of {} programs, {failures} fail", self.element.name(), total.programs, self.count);
        }
    }

    /// What was done; panics if a program failed.
    fn report(&mut self) -> Report {
        let (report, _) = self.total.get_mut().expect("no panic while locked").clone();
        let failures = std::mem::take(self.failures.get_mut().expect("no panic while locked"));
        eprintln!("{}: {report:?} in {:.1} s", self.element.name(), self.begin.elapsed().as_secs_f64());
        if !failures.is_empty() {
            let reports = on_deep_stack(|| describe(failures, self.element, self.property));
            panic!("{reports}");
        }
        report
    }
}

/// Runs something for many seeds; panics with what failed, else says how often it was so.
pub fn count_true(count: u64, work: &(dyn Fn(u64) -> Result<bool, Failure> + Sync)) -> u64 {
    let (total, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    for_stretches(count, 1, &|seeds| {
        seeds.for_each(|seed| match outcome(|| work(seed)) {
            Ok(so) => drop(total.fetch_add(u64::from(so), Ordering::Relaxed)),
            Err(failure) => failures.lock().expect("no panic while locked").push((seed, failure)),
        });
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
