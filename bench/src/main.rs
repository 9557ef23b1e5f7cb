//! `cargo run --release -p chadwick-bench -- [NAMES…]` measures programs against C written by hand and prints a table. A name is that of a workload or its beginning.
//!
//! `--engine NAME` differentiates with another engine, `--threads N` adds columns with that many threads, `--seconds S` is how long each function runs on each side (default 0.5), `--json` prints JSON,
//! `--list` lists the workloads, `--jax PYTHON` measures against JAX instead of C, by a Python that has it, `--openblas` matrix products against OpenBLAS. `--engines` compares all engines with each other instead, on the same programs: counted work, code, memory and native time. Both sides run in turns, so that a busy machine slows both; times are minima.

use chadwick::compile::Engine;
use chadwick::values::Value;
use chadwick::{Backend, Function, NativeOptions, Program};
use chadwick_bench::comparison::{self, three_digits as shown};
use chadwick_bench::engines;
use chadwick_bench::inputs::Random;
use chadwick_bench::reference::{self, Reference, Which};
use chadwick_bench::workloads::{self, Workload};
use chadwick_bench::{Result, difference, flat, home};
use serde_json::json;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// How often the two sides take turns.
const ROUNDS: usize = 8;
/// How far results may be apart, relative to the largest of them: sums are in different orders.
const TOLERANCE: f64 = 1e-9;

struct Options {
    names: Vec<String>,
    engine: Engine,
    threads: Option<usize>,
    seconds: f64,
    json: bool,
    list: bool,
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

    /// How its side of a workload is started.
    fn command(&self, workload: &Workload, directory: &Path) -> Result<Command> {
        match self {
            Peer::C => Ok(Command::new(reference::compile(workload.reference, &reference::FLAGS, directory)?)),
            Peer::Jax(python) => Ok(reference::jax(python, workload.program)),
            Peer::OpenBlas => reference::openblas(workload.program, directory),
        }
    }
}

/// One function on both sides, in milliseconds.
#[derive(Clone, Copy)]
struct Times {
    reference: Time,
    ours: Time,
    /// With several threads.
    parallel: Option<Time>,
}

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
        self.ours.least / self.reference.least
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
        json: false,
        list: false,
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
            "--jax" => options.peer = Peer::Jax(value()?),
            "--openblas" => options.peer = Peer::OpenBlas,
            "--json" => options.json = true,
            "--list" => options.list = true,
            "--engines" => options.engines = true,
            _ if argument.starts_with('-') => return Err(format!("unknown option {argument}").into()),
            _ => options.names.push(argument),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<()> {
    let wanted = |name: &str| options.names.is_empty() || options.names.iter().any(|wanted| name.starts_with(wanted.as_str()));
    let all = if options.engines { engines::corpus() } else { options.peer.workloads()? };
    let workloads: Vec<Workload> = all.into_iter().filter(|workload| wanted(workload.name)).collect();
    if workloads.is_empty() {
        return Err("no workload has such a name; --list lists them".into());
    }
    if options.list {
        workloads.iter().for_each(|workload| println!("{}", workload.name));
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
        let row = measure(workload, options, &directory)?;
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
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print_summary(&rows);
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
        println!("{}", serde_json::to_string_pretty(&comparison::as_json(&all, &rows))?);
        return Ok(());
    }
    println!("{}", comparison::summary(&all, &rows));
    println!("{}", comparison::native_times(&all, &rows));
    print!("{}", comparison::of_the_thesis(&all, &rows, &engines::lines_of_code));
    Ok(())
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
    let command = options.peer.command(&workload, directory)?;
    let lengths = [primal_result.len(), gradient_result.len()];
    let mut reference = Reference::start(command, &workload.sizes, &arguments, lengths)?;
    let mut reference_peak = None;
    for (which, entry, result) in [(Which::Primal, "primal", &primal_result), (Which::Gradient, "gradient", &gradient_result)] {
        let answer = reference.run(which, 0.0)?;
        reference_peak = answer.memory.map(|bytes| (bytes + 8.0 * result.len() as f64) / f64::from(1 << 20));
        let found = difference(result, &answer.result);
        if found > TOLERANCE {
            return Err(format!("{entry} of {}: the two sides are {found:e} apart", workload.name).into());
        }
    }
    let mut times = |which: Which, entry: &str| -> Result<Times> {
        let ours = single.function(entry)?;
        let parallel = several.as_ref().map(|program| program.function(entry)).transpose()?;
        take_turns(&mut reference, which, &ours, parallel.as_ref(), &arguments, options.seconds)
    };
    let primal = times(Which::Primal, "primal")?;
    let gradient = times(Which::Gradient, "gradient")?;
    Ok(Row { workload, primal, gradient, peak, reference_peak })
}

fn take_turns(
    reference: &mut Reference,
    which: Which,
    ours: &Function,
    parallel: Option<&Function>,
    arguments: &[Value],
    seconds: f64,
) -> Result<Times> {
    let slice = seconds / ROUNDS as f64;
    let (mut theirs, mut own, mut with_threads) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let answer = reference.run(which, slice)?;
        theirs.push(Time { least: answer.least * 1e3, median: answer.median * 1e3 });
        own.push(time(ours, arguments, slice)?);
        if let Some(function) = parallel {
            with_threads.push(time(function, arguments, slice)?);
        }
    }
    Ok(Times { reference: best(&theirs), ours: best(&own), parallel: parallel.map(|_| best(&with_threads)) })
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
    let mut medians: Vec<f64> = times.iter().map(|time| time.median).collect();
    medians.sort_by(f64::total_cmp);
    Time { least: times.iter().map(|time| time.least).fold(f64::INFINITY, f64::min), median: medians[medians.len() / 2] }
}

fn print_head(options: &Options) {
    let parallel = options.threads.map_or(String::new(), |n| format!(" {n} threads |"));
    let line = if options.threads.is_some() { " --: |" } else { "" };
    let them = options.peer.name();
    println!(
        "| program | sizes | {them} ms | ours | ratio |{parallel} {them} gradient ms | ours | ratio |{parallel} {them} MiB | ours |"
    );
    println!("| --- | --- | --: | --: | --: |{line} --: | --: | --: |{line} --: | --: |");
}

fn print_row(row: &Row) {
    let sizes: Vec<String> = row.workload.sizes.iter().map(i64::to_string).collect();
    let part = |times: &Times| {
        let parallel = times.parallel.map_or(String::new(), |time| format!(" {} |", shown(time.least)));
        format!(" {} | {} | {:.2} |{parallel}", shown(times.reference.least), shown(times.ours.least), times.ratio())
    };
    let theirs = row.reference_peak.map_or(String::from("–"), |peak| format!("{peak:.1}"));
    let (primal, gradient) = (part(&row.primal), part(&row.gradient));
    println!("| {} | {} |{primal}{gradient} {theirs} | {:.1} |", row.workload.name, sizes.join("×"), row.peak);
}

fn print_summary(rows: &[Row]) {
    // Results that are the arguments themselves are handed back in no time: that counts as a draw.
    let counted = |ratio: &f64| if *ratio < 0.05 { 1.0 } else { *ratio };
    let mean = |ratios: Vec<f64>| (ratios.iter().map(|ratio| counted(ratio).ln()).sum::<f64>() / ratios.len() as f64).exp();
    let worst =
        |ratio: fn(&Row) -> f64| rows.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b))).map_or("", |row| row.workload.name);
    let primal: fn(&Row) -> f64 = |row| row.primal.ratio();
    let gradient: fn(&Row) -> f64 = |row| row.gradient.ratio();
    println!();
    for (what, ratio) in [("primal", primal), ("gradient", gradient)] {
        let most = rows.iter().map(ratio).fold(0.0, f64::max);
        let mean = mean(rows.iter().map(ratio).collect());
        println!("{what}: geometric mean {mean:.2}, worst {most:.2} ({})", worst(ratio));
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
    println!("\n| gradient, ns a problem | thesis | ours | C |\n| --- | --: | --: | --: |");
    for (row, nanoseconds, problems) in of_thesis {
        let each = |time: Time| time.least * 1e6 / problems as f64;
        println!(
            "| {} | {nanoseconds} | {:.2} | {:.2} |",
            row.workload.name,
            each(row.gradient.ours),
            each(row.gradient.reference)
        );
    }
}

fn as_json(row: &Row) -> serde_json::Value {
    let time = |time: Time| json!({"least": time.least, "median": time.median});
    let times = |times: &Times| {
        json!({
            "reference": time(times.reference), "ours": time(times.ours), "parallel": times.parallel.map(time),
            "ratio": times.ratio(),
        })
    };
    json!({
        "name": row.workload.name, "sizes": row.workload.sizes, "primal": times(&row.primal),
        "gradient": times(&row.gradient), "peak_mib": row.peak, "reference_peak_mib": row.reference_peak, "thesis_ns": row.workload.thesis.map(|(ns, _)| ns),
    })
}
