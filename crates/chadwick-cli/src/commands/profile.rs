//! `chadwick profile`: where the time of compiling and running an entry point goes.

use crate::arguments::{self, Default};
use crate::bench::{self, Collector, bytes, seconds};
use crate::commands::{finish, load};
use crate::options::{FloatMode, ProfileOptions};
use crate::{Exit, input, output};
use chadwick::compile::FileLoader;
use chadwick::profile::{self, Profile, Profiled, Request};
use chadwick::values::Value;
use chadwick::{Error, Function, NativeOptions, Program, Result};
use serde_json::{Value as Json, json};
use std::time::Duration;

pub fn command(options: &ProfileOptions) -> Exit {
    finish(run(options), options.json)
}

/// The time of a run without the clock, and with it.
struct Times {
    plain: f64,
    deviation: Option<f64>,
    runs: usize,
    watched: f64,
    /// How many runs of the watched program there were.
    watched_runs: u64,
}

fn run(options: &ProfileOptions) -> Result<()> {
    let program = load(&options.call.file)?;
    let (entry, arguments) = call(&program, options)?;
    let source = input::read_source(&options.call.file).map_err(Error::argument)?;
    let native =
        NativeOptions { strict: options.fp == FloatMode::Strict, quick: false, threads: options.threads.map_or(0, usize::from) };
    let request = Request { entry: entry.clone(), gradient: options.grad, wrt: options.wrt.clone(), options: native };
    let profiled = profile::compile(&options.call.file, &source, &FileLoader, &request)?;
    let measure = |program: &Program| -> Result<Collector> {
        program.set_limits(options.limits.starting_now());
        let mut collector = Collector::new(options.time / 2, options.limits.timeout);
        program.function(&entry)?.call_in_batches(&arguments, |time| collector.next_batch(time))?;
        Ok(collector)
    };
    let unmeasured = || Error::argument("there was no time to measure");
    let plain = measure(&profiled.program)?.statistics().ok_or_else(unmeasured)?;
    let watched = measure(profiled.watched())?;
    let times = Times {
        plain: plain.median,
        deviation: plain.deviation,
        runs: plain.repetitions * plain.batch,
        watched: watched.statistics().ok_or_else(unmeasured)?.median,
        watched_runs: watched.runs(),
    };
    let found = profiled.profile().ok_or_else(|| Error::argument("native code does not tell what it did"))?;
    match options.json {
        true => output::line(&format!("{:#}", as_json(&entry, &profiled, &found, &times))),
        false => print(&entry, options.grad, &profiled, &found, &times),
    }
    Ok(())
}

/// The entry point and its arguments.
fn call(program: &Program, options: &ProfileOptions) -> Result<(String, Vec<Value>)> {
    let Some(items) = &options.random else {
        let call = arguments::resolve(program, &options.call, Default::Tests, options.limits.max_memory)?;
        return Ok((call.entry, call.arguments));
    };
    let function: Function = match options.call.words.as_slice() {
        [name] => program.function(name)?,
        [] => match program.entry_points().as_slice() {
            [only] => program.function(&only.name)?,
            _ => return Err(Error::usage("which entry point? --random needs its name")),
        },
        _ => return Err(Error::usage("--random stands for all arguments, but others are given, too")),
    };
    let values = bench::random_arguments(&function, items);
    values
        .map(|values| (function.name().to_owned(), values))
        .map_err(|problem| Error::usage(format!("--random {items}: {problem}")))
}

/// The steps with the times of those with one name added up, in the order in which they first ran.
fn merged(steps: &[(String, Duration)]) -> Vec<(&str, usize, Duration)> {
    let mut merged: Vec<(&str, usize, Duration)> = Vec::new();
    for (name, time) in steps {
        match merged.iter_mut().find(|(known, _, _)| known == name) {
            Some((_, count, total)) => {
                *count += 1;
                *total += *time;
            }
            None => merged.push((name, 1, *time)),
        }
    }
    merged
}

/// Lines with the seconds that each takes in a run, longest first.
fn by_time<'a>(found: &'a Profile, times: &Times) -> Vec<(&'a str, f64)> {
    let runs = times.watched_runs.max(1) as f64;
    let mut lines: Vec<(&str, f64)> = found
        .lines
        .iter()
        .map(|(line, time)| (line.as_str(), time.as_secs_f64() / runs))
        .filter(|(_, time)| *time > 0.0)
        .collect();
    lines.sort_by(|a, b| b.1.total_cmp(&a.1));
    lines
}

fn per_run(count: u64, times: &Times) -> f64 {
    count as f64 / times.watched_runs.max(1) as f64
}

/// Lines with less than this share are not shown.
const SMALLEST_SHARE: f64 = 0.005;

fn print(entry: &str, gradient: bool, profiled: &Profiled, found: &Profile, times: &Times) {
    let total: Duration = profiled.steps.iter().map(|(_, time)| *time).sum();
    output::line(&format!("compile: {}, {} of C", seconds(total.as_secs_f64()), bytes(profiled.c_bytes() as f64)));
    for (name, count, time) in merged(&profiled.steps) {
        let share = time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        let repeated = if count > 1 { format!(" ({count} times)") } else { String::new() };
        output::line(&format!("  {:>9}  {:>5.1} %  {name}{repeated}", seconds(time.as_secs_f64()), share * 100.0));
    }
    let what = if gradient { "value and gradient of " } else { "" };
    output::line(&format!(
        "\nrun of {what}`{entry}`: {} ± {} ({} runs)",
        seconds(times.plain),
        times.deviation.map_or_else(|| String::from("?"), |deviation| format!("{:.1} %", deviation * 100.0)),
        times.runs
    ));
    output::line(&format!("  at most {} of values at one time", bytes(profiled.program.peak_memory() as f64)));
    let (blocks, size) = (per_run(found.allocations, times), per_run(found.allocated_bytes, times));
    output::line(&format!("  {blocks:.0} blocks of memory asked for, {} together", bytes(size)));
    let lines = by_time(found, times);
    let sum: f64 = lines.iter().map(|(_, time)| time).sum();
    if sum <= 0.0 {
        output::line("\nno line takes long enough to tell");
        return;
    }
    output::line(&format!("\nlines, with a clock between them (a run takes {} then):", seconds(times.watched)));
    let shown = lines.iter().take_while(|(_, time)| time / sum >= SMALLEST_SHARE).count();
    for (line, time) in &lines[..shown] {
        output::line(&format!("  {:>9}  {:>5.1} %  {line}", seconds(*time), time / sum * 100.0));
    }
    if shown < lines.len() {
        let rest: f64 = lines[shown..].iter().map(|(_, time)| time).sum();
        output::line(&format!("  {:>9}  {:>5.1} %  {} more", seconds(rest), rest / sum * 100.0, lines.len() - shown));
    }
}

fn as_json(entry: &str, profiled: &Profiled, found: &Profile, times: &Times) -> Json {
    let steps = profiled.steps.iter().map(|(name, time)| json!({ "name": name, "seconds": time.as_secs_f64() }));
    let lines = by_time(found, times).into_iter().map(|(line, time)| {
        let place = profiled.place(line);
        json!({ "file": place.file, "line": place.line, "text": place.text, "seconds": time })
    });
    json!({
        "entry": entry,
        "compile": steps.collect::<Vec<_>>(),
        "c_bytes": profiled.c_bytes(),
        "median_seconds": times.plain,
        "deviation": times.deviation,
        "repetitions": times.runs,
        "peak_bytes": profiled.program.peak_memory(),
        "allocations": per_run(found.allocations, times),
        "allocated_bytes": per_run(found.allocated_bytes, times),
        "watched_seconds": times.watched,
        "lines": lines.collect::<Vec<_>>(),
    })
}
