//! Measures programs against C written by hand, or against other tools, and prints tables: `chadwick-bench --help` says more.

use chadwick::compile::Engine;
use chadwick::values::Value;
use chadwick::{Backend, Function, NativeOptions, Program};
use chadwick_bench::comparison::{self, three_digits as shown};
use chadwick_bench::engines;
use chadwick_bench::inputs::Random;
use chadwick_bench::reference::{self, Reference, Which};
use chadwick_bench::speedup::Speedup;
use chadwick_bench::workloads::{self, Workload};
use chadwick_bench::{Result, difference, flat, home, say};
use serde_json::json;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

const HELP: &str = "\
Times functions and gradients of programs beside C written by hand.

usage: chadwick-bench [OPTIONS] [WORKLOAD…]

A workload is named in full or by its beginning; without any, all are run.

  --list           list the workloads that would be run
  --seconds S      how long each function runs on each side (default 0.5)
  --engine NAME    differentiate with another engine
  --repeat N       measure each workload so often, anew, and take the median (default 1)
  --threads N      add columns with that many threads, and a table of the speed-ups on both sides
  --jax PYTHON     measure against JAX instead of C, by a Python that has it
  --openblas       measure matrix products against OpenBLAS instead
  --engines        compare all engines with each other instead: counted work, code, memory, time
  --json           print JSON
  --help           print this

Both sides run in turns, so that a busy machine slows both. Times are minima, in milliseconds.

examples:
  chadwick-bench                       everything beside C
  chadwick-bench --threads 2 gmm       one workload, on one and on two threads
  chadwick-bench --jax venv/bin/python
";

/// How often the two sides take turns.
const ROUNDS: usize = 8;
/// How far results may be apart, relative to the largest of them: sums are in different orders.
const TOLERANCE: f64 = 1e-9;

struct Options {
    names: Vec<String>,
    engine: Engine,
    threads: Option<usize>,
    seconds: f64,
    repeat: usize,
    json: bool,
    list: bool,
    help: bool,
    peer: Peer,
    engines: bool,
}

/// What we are measured against.
#[derive(PartialEq)]
enum Peer {
    C,
    /// By this Python.
    Jax(String),
    OpenBlas,
}

impl Peer {
    fn name(&self) -> &'static str {
        match self {
            Peer::C => "C",
            Peer::Jax(_) => "JAX",
            Peer::OpenBlas => "OpenBLAS",
        }
    }

    /// The workloads that it has.
    fn workloads(&self) -> Result<Vec<Workload>> {
        match self {
            Peer::C => Ok(workloads::all()),
            Peer::OpenBlas => Ok(workloads::matrix_products()),
            Peer::Jax(python) => {
                let expressed = reference::in_jax(python)?;
                Ok(workloads::all()
                    .into_iter()
                    .filter(|workload| expressed.iter().any(|name| name == workload.program))
                    .collect())
            }
        }
    }

    /// Whether it can be told how many threads to use.
    fn has_threads(&self) -> bool {
        match self {
            Peer::C | Peer::OpenBlas => true,
            Peer::Jax(_) => false,
        }
    }

    /// How its side of a workload is started.
    fn command(&self, workload: &Workload, directory: &Path, threads: usize) -> Result<Command> {
        match self {
            Peer::C => {
                let executable = reference::compile(workload.reference, &reference::FLAGS, directory)?;
                Ok(reference::command(&executable, threads))
            }
            Peer::Jax(python) => Ok(reference::jax(python, workload.program)),
            Peer::OpenBlas => reference::openblas(workload.program, directory, threads),
        }
    }
}

/// One function on both sides.
#[derive(Clone, Copy)]
struct Times {
    reference: Side,
    ours: Side,
    /// On several threads.
    speedup: Option<Speedup>,
}

#[derive(Clone, Copy)]
struct Side {
    single: Time,
    /// With several threads.
    several: Option<Time>,
}

impl Side {
    fn speedup(&self) -> Option<f64> {
        Some(self.single.least / self.several?.least)
    }
}

/// In milliseconds.
#[derive(Clone, Copy)]
struct Time {
    least: f64,
    median: f64,
}

struct Row {
    workload: Workload,
    primal: Times,
    gradient: Times,
    /// What the values of the gradient take up at most, without its arguments, in MiB; and those of the reference.
    peak: f64,
    reference_peak: Option<f64>,
}

impl Times {
    fn ratio(&self) -> f64 {
        self.ours.single.least / self.reference.single.least
    }

    /// Whether results are the arguments themselves, handed back in no time.
    fn handed_back(&self) -> bool {
        self.ratio() < 0.05
    }

    fn new(reference: Side, ours: Side) -> Times {
        let speedup = || Some(Speedup { reference: reference.speedup()?, ours: ours.speedup()? });
        Times { reference, ours, speedup: speedup() }
    }
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options> {
    let mut options = Options {
        names: Vec::new(),
        engine: Engine::Auto,
        threads: None,
        seconds: 0.5,
        repeat: 1,
        json: false,
        list: false,
        help: false,
        peer: Peer::C,
        engines: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--engine" => {
                let name = value()?;
                let known = Engine::from_name(&name).filter(|engine| *engine == Engine::Auto || engine.has_native_code());
                options.engine = known.ok_or_else(|| format!("no engine `{name}` has native code"))?;
            }
            "--threads" => options.threads = Some(value()?.parse()?),
            "--seconds" => options.seconds = value()?.parse()?,
            "--repeat" => options.repeat = value()?.parse::<usize>()?.max(1),
            "--jax" => options.peer = Peer::Jax(value()?),
            "--openblas" => options.peer = Peer::OpenBlas,
            "--json" => options.json = true,
            "--list" => options.list = true,
            "--engines" => options.engines = true,
            "--help" | "-h" => options.help = true,
            _ if argument.starts_with('-') => return Err(format!("there is no option {argument}; see --help").into()),
            _ => options.names.push(argument),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<()> {
    if options.help {
        say!("{}", HELP.trim_end());
        return Ok(());
    }
    let wanted = |name: &str| options.names.is_empty() || options.names.iter().any(|wanted| name.starts_with(wanted.as_str()));
    let all = if options.engines { engines::corpus() } else { options.peer.workloads()? };
    let workloads: Vec<Workload> = all.into_iter().filter(|workload| wanted(workload.name)).collect();
    if workloads.is_empty() {
        return Err("no workload has such a name; --list lists them".into());
    }
    if options.list {
        workloads.iter().for_each(|workload| say!("{}", workload.name));
        return Ok(());
    }
    if options.engines {
        return compare_engines(workloads, options);
    }
    let directory = std::env::temp_dir().join(format!("chadwick-references-{}", std::process::id()));
    let mut rows = Vec::new();
    if !options.json {
        print_head(options);
    }
    for workload in workloads {
        let row = measure_again(workload, options, &directory)?;
        if !options.json {
            print_row(&row);
        }
        rows.push(row);
    }
    if directory.exists() {
        std::fs::remove_dir_all(directory)?;
    }
    if options.json {
        let rows: Vec<serde_json::Value> = rows.iter().map(as_json).collect();
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print_summary(&rows);
        if let Some(threads) = options.threads {
            print_speedups(&rows, threads, options.peer.name());
        }
        if options.peer == Peer::C {
            print_thesis(&rows);
        }
    }
    Ok(())
}

fn compare_engines(workloads: Vec<Workload>, options: &Options) -> Result<()> {
    let all = Engine::all();
    let mut rows = Vec::new();
    for workload in workloads {
        eprintln!("{}", workload.name);
        rows.push(engines::measure(workload, &all, options.threads, options.seconds)?);
    }
    if options.json {
        say!("{}", serde_json::to_string_pretty(&comparison::as_json(&all, &rows))?);
        return Ok(());
    }
    say!("{}", comparison::summary(&all, &rows));
    say!("{}", comparison::native_times(&all, &rows));
    say!("{}", comparison::of_the_thesis(&all, &rows, &engines::lines_of_code).trim_end());
    Ok(())
}

/// Medians of several measurements: where memory lies, and what else the machine does, differs between them.
fn measure_again(workload: Workload, options: &Options, directory: &Path) -> Result<Row> {
    let mut rows = Vec::new();
    for _ in 0..options.repeat {
        rows.push(measure(workload.clone(), options, directory)?);
    }
    let [primal, gradient] = FUNCTIONS.map(|(_, times)| {
        let side = |side: fn(&Times) -> Side| {
            let sides = || rows.iter().map(|row| side(times(row)));
            let several: Option<Vec<Time>> = sides().map(|side| side.several).collect();
            Side { single: median_time(sides().map(|side| side.single)), several: several.map(median_time) }
        };
        // Both times of a speed-up are from one measurement.
        let speedups: Option<Vec<Speedup>> = rows.iter().map(|row| times(row).speedup).collect();
        let speedup = speedups.map(|all| Speedup {
            reference: median(all.iter().map(|speedup| speedup.reference)),
            ours: median(all.iter().map(|speedup| speedup.ours)),
        });
        Times { reference: side(|times| times.reference), ours: side(|times| times.ours), speedup }
    });
    let row = rows.swap_remove(0);
    Ok(Row { primal, gradient, ..row })
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn median_time(times: impl IntoIterator<Item = Time>) -> Time {
    let times: Vec<Time> = times.into_iter().collect();
    Time { least: median(times.iter().map(|time| time.least)), median: median(times.iter().map(|time| time.median)) }
}

fn measure(workload: Workload, options: &Options, directory: &Path) -> Result<Row> {
    let arguments = (workload.arguments)(&workload.sizes, &mut Random::new(1));
    let program = Program::from_file(home().join("programs").join(format!("{}.fut", workload.program)))?;
    let program = match options.engine {
        Engine::Auto => program,
        engine => program.with_engine(engine)?,
    };
    let native = |threads| program.with_backend(Backend::Native(NativeOptions { threads, ..NativeOptions::default() }));
    let (single, several) = (native(1)?, options.threads.map(native).transpose()?);
    // The gradient first: its memory is counted before anything else of this program has run.
    let gradient_result = single.function("gradient")?.call(&arguments)?;
    let peak = single.peak_memory() as f64 / f64::from(1 << 20);
    let primal_result = single.function("primal")?.call(&arguments)?;
    let (primal_result, gradient_result) = (flat(&primal_result), flat(&gradient_result));
    let lengths = [primal_result.len(), gradient_result.len()];
    let start = |threads: usize| {
        let command = options.peer.command(&workload, directory, threads)?;
        Reference::start(command, &workload.sizes, &arguments, lengths)
    };
    let mut reference = start(1)?;
    let mut reference_several = options.threads.filter(|_| options.peer.has_threads()).map(start).transpose()?;
    let mut reference_peak = None;
    for (which, entry, result) in [(Which::Primal, "primal", &primal_result), (Which::Gradient, "gradient", &gradient_result)] {
        let answer = reference.run(which, 0.0)?;
        reference_peak = answer.memory.map(|bytes| (bytes + 8.0 * result.len() as f64) / f64::from(1 << 20));
        let others = reference_several.as_mut().map(|reference| reference.run(which, 0.0)).transpose()?;
        for answer in [Some(answer), others].iter().flatten() {
            let found = difference(result, &answer.result);
            if found > TOLERANCE {
                return Err(format!("{entry} of {}: the two sides are {found:e} apart", workload.name).into());
            }
        }
        if let Some(program) = &several
            && !same_bits(result, &flat(&program.function(entry)?.call(&arguments)?))
        {
            return Err(format!("{entry} of {}: other bits on several threads", workload.name).into());
        }
    }
    let mut times = |which: Which, entry: &str| -> Result<Times> {
        let ours = single.function(entry)?;
        let ours_several = several.as_ref().map(|program| program.function(entry)).transpose()?;
        let slice = options.seconds / ROUNDS as f64;
        let [mut theirs, mut theirs_several, mut own, mut own_several] = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            theirs.push(time_of_reference(&mut reference, which, slice)?);
            if let Some(reference) = &mut reference_several {
                theirs_several.push(time_of_reference(reference, which, slice)?);
            }
            own.push(time(&ours, &arguments, slice)?);
            if let Some(function) = &ours_several {
                own_several.push(time(function, &arguments, slice)?);
            }
        }
        let side = |single: &[Time], several: &[Time]| Side {
            single: best(single),
            several: (!several.is_empty()).then(|| best(several)),
        };
        Ok(Times::new(side(&theirs, &theirs_several), side(&own, &own_several)))
    };
    let primal = times(Which::Primal, "primal")?;
    let gradient = times(Which::Gradient, "gradient")?;
    Ok(Row { workload, primal, gradient, peak, reference_peak })
}

fn same_bits(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(x, y)| x.to_bits() == y.to_bits())
}

fn time_of_reference(reference: &mut Reference, which: Which, seconds: f64) -> Result<Time> {
    let answer = reference.run(which, seconds)?;
    Ok(Time { least: answer.least * 1e3, median: answer.median * 1e3 })
}

fn time(function: &Function, arguments: &[Value], seconds: f64) -> Result<Time> {
    let mut times = Vec::new();
    let begin = Instant::now();
    function.call_repeatedly(arguments, |time| {
        times.push(time.as_secs_f64() * 1e3);
        begin.elapsed().as_secs_f64() < seconds
    })?;
    times.sort_by(f64::total_cmp);
    Ok(Time { least: times[0], median: times[times.len() / 2] })
}

/// The least of all, and the median of the medians.
fn best(times: &[Time]) -> Time {
    Time {
        least: times.iter().map(|time| time.least).fold(f64::INFINITY, f64::min),
        median: median(times.iter().map(|time| time.median)),
    }
}

fn print_head(options: &Options) {
    let parallel = options.threads.map_or(String::new(), |n| format!(" {n} threads |"));
    let line = if options.threads.is_some() { " --: |" } else { "" };
    let them = options.peer.name();
    say!(
        "| program | sizes | {them} ms | ours | ratio |{parallel} {them} gradient ms | ours | ratio |{parallel} {them} MiB | ours |"
    );
    say!("| --- | --- | --: | --: | --: |{line} --: | --: | --: |{line} --: | --: |");
}

fn print_row(row: &Row) {
    let sizes: Vec<String> = row.workload.sizes.iter().map(i64::to_string).collect();
    let part = |times: &Times| {
        let parallel = times.ours.several.map_or(String::new(), |time| format!(" {} |", shown(time.least)));
        format!(
            " {} | {} | {:.2} |{parallel}",
            shown(times.reference.single.least),
            shown(times.ours.single.least),
            times.ratio()
        )
    };
    let theirs = row.reference_peak.map_or(String::from("–"), |peak| format!("{peak:.1}"));
    let (primal, gradient) = (part(&row.primal), part(&row.gradient));
    say!("| {} | {} |{primal}{gradient} {theirs} | {:.1} |", row.workload.name, sizes.join("×"), row.peak);
}

fn print_summary(rows: &[Row]) {
    // Arguments handed back count as a draw.
    let mean = |times: Vec<&Times>| {
        let logs = times.iter().map(|times| if times.handed_back() { 0.0 } else { times.ratio().ln() });
        (logs.sum::<f64>() / times.len() as f64).exp()
    };
    say!("");
    for (what, times) in FUNCTIONS {
        let ratio = |row: &&Row| times(row).ratio();
        let worst = rows.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let (most, name) = worst.map_or((0.0, ""), |row| (ratio(&row), row.workload.name));
        say!("{what}: geometric mean {:.2}, worst {most:.2} ({name})", mean(rows.iter().map(times).collect()));
    }
}

/// The two functions of a row.
type Chosen = fn(&Row) -> &Times;
const FUNCTIONS: [(&str, Chosen); 2] = [("primal", |row| &row.primal), ("gradient", |row| &row.gradient)];

fn print_speedups(rows: &[Row], threads: usize, them: &str) {
    let mut lines = Vec::new();
    for row in rows {
        for (what, times) in FUNCTIONS {
            let times = times(row);
            let Some(speedup) = times.speedup else { continue };
            let missed = if times.handed_back() { String::from("nothing to do") } else { speedup.misses(threads).join(", ") };
            let Speedup { reference, ours } = speedup;
            let name = row.workload.name;
            lines.push(format!("| {name} | {what} | {reference:.2} | {ours:.2} | {:.2} | {missed} |", speedup.quotient(threads)));
        }
    }
    if !lines.is_empty() {
        say!("\n| speed-up on {threads} threads | | {them} | ours | quotient | missed |\n| --- | --- | --: | --: | --: | --- |");
        lines.iter().for_each(|line| say!("{line}"));
    }
}

fn print_thesis(rows: &[Row]) {
    let of_thesis: Vec<(&Row, f64, i64)> = rows
        .iter()
        .filter_map(|row| row.workload.thesis.map(|(nanoseconds, problems)| (row, nanoseconds, problems(&row.workload.sizes))))
        .collect();
    if of_thesis.is_empty() {
        return;
    }
    say!("\n| gradient, ns a problem | thesis | ours | C |\n| --- | --: | --: | --: |");
    for (row, nanoseconds, problems) in of_thesis {
        let each = |time: Time| time.least * 1e6 / problems as f64;
        say!(
            "| {} | {nanoseconds} | {:.2} | {:.2} |",
            row.workload.name,
            each(row.gradient.ours.single),
            each(row.gradient.reference.single)
        );
    }
}

fn as_json(row: &Row) -> serde_json::Value {
    let time = |time: Time| json!({"least": time.least, "median": time.median});
    let times = |times: &Times| {
        json!({
            "reference": time(times.reference.single), "ours": time(times.ours.single),
            "reference_parallel": times.reference.several.map(time), "parallel": times.ours.several.map(time),
            "ratio": times.ratio(),
        })
    };
    json!({
        "name": row.workload.name, "sizes": row.workload.sizes, "primal": times(&row.primal),
        "gradient": times(&row.gradient), "peak_mib": row.peak, "reference_peak_mib": row.reference_peak, "thesis_ns": row.workload.thesis.map(|(ns, _)| ns),
    })
}
