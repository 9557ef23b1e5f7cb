//! Drives a GradBench tool over workloads of the suite's sizes and prints how long its functions take.
//!
//! ```text
//! cargo build --release && cargo run --release -p chadwick-cli --example gradbench_runner -- [OPTIONS] [WORKLOAD…]
//! ```
//!
//! A workload is `gmm 64_100` or, for all of an evaluation, `gmm`; without any, a selection is run. `--all` runs all, `--list` lists them.
//! `--tool COMMAND` drives another tool (default: the `chadwick gradbench` beside this example), `--seconds S` is how long each function runs
//! at least (default 0.5), `--save DIR` writes the messages to files, `--plot FILE` draws times against sizes (SVG). Times are minima; memory is
//! the tool's peak, in a process per function.

mod plot;
mod workloads;

use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use workloads::Workload;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run() -> Result<()> {
    let (mut tool, mut seconds, mut all, mut list, mut names) = (None, 0.5, false, false, Vec::new());
    let (mut save, mut picture): (Option<PathBuf>, Option<PathBuf>) = (None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--tool" => tool = Some(value()?.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
            "--seconds" => seconds = value()?.parse()?,
            "--save" => save = Some(PathBuf::from(value()?)),
            "--plot" => picture = Some(PathBuf::from(value()?)),
            "--all" => all = true,
            "--list" => list = true,
            option if option.starts_with('-') => return Err(format!("there is no option {option}").into()),
            name => names.push(name.to_owned()),
        }
    }
    let tool = match tool {
        Some(tool) => tool,
        None => vec![beside()?, String::from("gradbench")],
    };
    let chosen = |workload: &Workload| match names.is_empty() {
        true => all || workload.selected,
        false => names.iter().any(|name| workload.name == *name || workload.module == *name),
    };
    let workloads: Vec<Workload> = workloads::all().into_iter().filter(chosen).collect();
    if list {
        workloads.iter().for_each(|workload| println!("{}", workload.name));
        return Ok(());
    }
    println!("| workload | primal ms | derivative ms | ratio | peak MiB |\n| --- | --- | --- | --- | --- |");
    let mut points = Vec::new();
    for workload in workloads {
        let mut input = (workload.input)();
        let size = plot::size(&input);
        if let Json::Object(fields) = &mut input {
            fields.insert(String::from("min_runs"), json!(3));
            fields.insert(String::from("min_seconds"), json!(seconds));
        }
        if let Some(directory) = &save {
            std::fs::create_dir_all(directory)?;
            for function in [workload.primal, workload.derivative].into_iter().filter(|function| !function.is_empty()) {
                let name = format!("{}_{function}.jsonl", workload.name.replace([' ', ','], "_"));
                std::fs::write(directory.join(name), messages(workload.module, function, &input))?;
            }
        }
        let cells = |result: Result<Measured>| match result {
            Ok(measured) => (format!("{:.3}", measured.milliseconds), format!("{:.0}", measured.peak), measured.milliseconds),
            Err(error) => (error.to_string(), String::new(), f64::NAN),
        };
        let primal = match workload.primal {
            "" => (String::from("–"), String::new(), f64::NAN),
            function => cells(measure(&tool, workload.module, function, &input)),
        };
        let derivative = cells(measure(&tool, workload.module, workload.derivative, &input));
        let ratio = derivative.2 / primal.2;
        let ratio = if ratio.is_nan() { String::from("–") } else { format!("{ratio:.2}") };
        println!("| {} | {} | {} | {ratio} | {} |", workload.name, primal.0, derivative.0, derivative.1);
        points.push(plot::Point { module: workload.module, size, primal: primal.2, derivative: derivative.2 });
    }
    if let Some(picture) = picture {
        std::fs::write(picture, plot::svg(&points))?;
    }
    Ok(())
}

/// The tool that was built along with this example.
fn beside() -> Result<String> {
    let own = std::env::current_exe()?;
    let directory = own.parent().and_then(|directory| directory.parent()).ok_or("no directory")?;
    Ok(directory.join("chadwick").display().to_string())
}

struct Measured {
    milliseconds: f64,
    /// Of the whole process, in MiB.
    peak: f64,
}

fn messages(module: &str, function: &str, input: &Json) -> String {
    let define = json!({ "id": 1, "kind": "define", "module": module });
    let evaluate = json!({ "id": 2, "kind": "evaluate", "module": module, "function": function });
    // The fields of `Value` are sorted; what the input is for comes first here.
    let evaluate = evaluate.to_string();
    format!("{{\"id\":0,\"kind\":\"start\"}}\n{define}\n{},\"input\":{input}}}\n", &evaluate[..evaluate.len() - 1])
}

fn measure(tool: &[String], module: &str, function: &str, input: &Json) -> Result<Measured> {
    let (program, arguments) = tool.split_first().ok_or("no tool")?;
    let mut child = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let result = converse(&mut child, &messages(module, function, input));
    let _ = child.wait();
    result
}

fn converse(child: &mut Child, messages: &str) -> Result<Measured> {
    let (mut to, from) = (child.stdin.take().ok_or("no pipe")?, child.stdout.take().ok_or("no pipe")?);
    let mut from = BufReader::new(from);
    let mut milliseconds = f64::INFINITY;
    for message in messages.lines() {
        to.write_all(format!("{message}\n").as_bytes())?;
        to.flush()?;
        let mut line = String::new();
        from.read_line(&mut line)?;
        let answer: Answer = serde_json::from_str(&line)?;
        if let Some(error) = answer.error {
            return Err(error.lines().next().unwrap_or("").to_owned().into());
        }
        for timing in answer.timings.iter().filter(|timing| timing.name == "evaluate") {
            milliseconds = milliseconds.min(timing.nanoseconds as f64 / 1e6);
        }
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).and_then(|text| text.trim().strip_suffix(" kB"));
    let peak = peak.and_then(|text| text.trim().parse::<f64>().ok()).map_or(f64::NAN, |kibibytes| kibibytes / 1024.0);
    Ok(Measured { milliseconds, peak })
}

/// What we want to know of an answer; its output, which may be large, is skipped.
#[derive(serde::Deserialize)]
struct Answer {
    error: Option<String>,
    #[serde(default)]
    timings: Vec<Timing>,
}

#[derive(serde::Deserialize)]
struct Timing {
    name: String,
    nanoseconds: u64,
}
