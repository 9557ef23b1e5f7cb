//! Drives `chadwick gradbench` over workloads of the suite's sizes, beside C written by hand, JAX and PyTorch, and prints how long
//! functions and derivatives take. `--help` says how to call it.

mod options;
mod plot;
mod table;

use chadwick_bench::gradbench::tool::{self, Outcome};
use chadwick_bench::gradbench::workloads::{self, Workload};
use chadwick_bench::gradbench::{Measured, by_hand, compare};
use chadwick_bench::reference::{FLAGS, Which};
use chadwick_bench::{Result, say};
use options::{Options, Peer};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;
use table::{Cell, Pair, Row};

fn main() -> ExitCode {
    let result = Options::read(std::env::args().skip(1)).and_then(|options| match options.help {
        true => {
            say!("{}", options::HELP.trim_end());
            Ok(())
        }
        false => run(&options),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let workloads: Vec<Workload> = workloads::all().into_iter().filter(|workload| options.chooses(workload)).collect();
    if workloads.is_empty() {
        return Err("no workload has such a name; --list lists them".into());
    }
    if options.list {
        workloads.iter().for_each(|workload| say!("{}", workload.name));
        return Ok(());
    }
    let directory = std::env::temp_dir().join(format!("chadwick-by-hand-{}", std::process::id()));
    let mut session = Session { options, directory: &directory, problems: 0 };
    say!("{}", table::head(&options.peers).trim_end());
    let mut points = Vec::new();
    for workload in workloads {
        let mut input = (workload.input)();
        let size = plot::size(&input);
        if let Json::Object(fields) = &mut input {
            fields.insert(String::from("min_runs"), json!(3));
            fields.insert(String::from("min_seconds"), json!(options.seconds));
        }
        if let Some(directory) = &options.save {
            save(directory, &workload, &input)?;
        }
        let row = session.measure(&workload, &input);
        say!("{}", table::line(&workload.name, &row));
        let (primal, derivative) = (row.ours.primal.time(), row.ours.derivative.time());
        points.push(plot::Point { module: workload.module, size, primal, derivative });
    }
    if let Some(picture) = &options.plot {
        std::fs::write(picture, plot::svg(&points))?;
    }
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    match session.problems {
        0 => Ok(()),
        problems => Err(format!("{problems} functions failed or disagreed").into()),
    }
}

/// Writes the messages that ask for the functions of a workload.
fn save(directory: &Path, workload: &Workload, input: &Json) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    for function in [Which::Primal, Which::Gradient].into_iter().filter_map(|which| workload.function(which)) {
        let name = format!("{}_{function}.jsonl", workload.name.replace([' ', ','], "_"));
        std::fs::write(directory.join(name), tool::messages(workload.module, function, input).join("\n") + "\n")?;
    }
    Ok(())
}

/// What all measurements share.
struct Session<'a> {
    options: &'a Options,
    /// Of compiled references.
    directory: &'a Path,
    problems: usize,
}

impl Session<'_> {
    /// Both functions of a workload, by us and by all peers, one after the other.
    fn measure(&mut self, workload: &Workload, input: &Json) -> Row {
        let (primal, primal_peers, _) = self.function(workload, Which::Primal, input);
        let (derivative, derivative_peers, peak) = self.function(workload, Which::Gradient, input);
        let peers = primal_peers.into_iter().zip(derivative_peers);
        let peers = peers.map(|(primal, derivative)| Pair { primal, derivative }).collect();
        Row { ours: Pair { primal, derivative }, peers, peak }
    }

    /// One function, by us and by all peers; and our peak of memory.
    fn function(&mut self, workload: &Workload, which: Which, input: &Json) -> (Cell, Vec<Cell>, Option<f64>) {
        let options = self.options;
        let absent = || vec![Cell::Absent; options.peers.len()];
        let Some(name) = workload.function(which) else { return (Cell::Absent, absent(), None) };
        let ours = tool::measure(&options.tool, workload.module, name, input).and_then(|outcome| match outcome {
            Outcome::Measured(measured) => Ok(measured),
            Outcome::Refused(problem) => Err(problem.into()),
        });
        let ours = match ours {
            Ok(measured) => measured,
            Err(error) => {
                let cell = self.failed(&format!("{} {name}: {error}", workload.name));
                return (cell, absent(), None);
            }
        };
        let cell_of = |peer| match self.peer(peer, workload, which, name, input) {
            Ok(None) => Cell::Absent,
            Ok(Some(theirs)) => match compare(&ours.output, &theirs.output) {
                Ok(()) => Cell::Time(theirs.milliseconds),
                Err(difference) => self.failed(&format!("{} {name}: {}: {difference}", workload.name, peer.name())),
            },
            Err(error) => self.failed(&format!("{} {name}: {}: {error}", workload.name, peer.name())),
        };
        (Cell::Time(ours.milliseconds), options.peers.iter().map(cell_of).collect(), ours.peak)
    }

    /// What a peer makes of a function, if it has it.
    fn peer(&self, peer: &Peer, workload: &Workload, which: Which, name: &str, input: &Json) -> Result<Option<Measured>> {
        let module = workload.module;
        match peer {
            Peer::ByHand if !by_hand::has(module) => Ok(None),
            Peer::ByHand => {
                let executable = by_hand::compile(module, &FLAGS, self.directory)?;
                by_hand::measure(&executable, module, name, which, input, self.options.seconds).map(Some)
            }
            Peer::Tool { command, .. } => match tool::measure(command, module, name, input)? {
                Outcome::Measured(measured) => Ok(Some(measured)),
                Outcome::Refused(_) => Ok(None),
            },
        }
    }

    fn failed(&mut self, problem: &str) -> Cell {
        eprintln!("error: {problem}");
        self.problems += 1;
        Cell::Failed
    }
}
