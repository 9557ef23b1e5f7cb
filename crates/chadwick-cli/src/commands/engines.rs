//! `chadwick engines`: what differentiates, and one exam for all.

use crate::options::EnginesOptions;
use crate::testing::{self, Status};
use crate::{Exit, output};
use chadwick::Backend;
use chadwick::compile::Engine;
use chadwick_exam::{Extent, FAMILIES, Factor, Marks, Part, Refusal, describe, examine};
use serde_json::{Value as Json, json};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What the table can afford in well under a minute.
const BRIEF: Extent = Extent { programs: 40, seed: 0, patience: Duration::from_secs(2) };
const FULL: Extent = Extent { programs: 1000, seed: 0, patience: Duration::from_secs(600) };

pub fn command(options: &EnginesOptions) -> Exit {
    let engines: Vec<Engine> = match options.engines.as_slice() {
        [] => Engine::all(),
        names => names.iter().filter_map(|name| Engine::from_name(name)).collect(),
    };
    if !options.table && !options.full {
        if !options.files.is_empty() || options.programs.is_some() {
            output::error_line("error: files and --programs are for the exam: give --table or --full, too");
            return Exit::Usage;
        }
        list(&engines, options.json);
        return Exit::Success;
    }
    let mut files = Vec::new();
    for path in &options.files {
        if let Err(problem) = testing::collect(path, &mut files) {
            output::error_line(&format!("error: {}: {problem}", path.display()));
            return Exit::Failure;
        }
    }
    let usual = if options.full { FULL } else { BRIEF };
    let extent = Extent { programs: options.programs.unwrap_or(usual.programs), seed: options.seed, ..usual };
    // What takes long says how far it is, to logs as well; the table is all that goes to standard output.
    let is_heard = options.full || std::io::stderr().is_terminal();
    let tell = |engine: Engine, what: &str, duration: Duration| {
        if is_heard {
            output::error_line(&format!("{}: {what} ({:.1} s)", engine.name(), duration.as_secs_f64()));
        }
    };
    let results = examine(&engines, extent, &|engine, part, duration| match part {
        Part::Worked(passed) => tell(engine, &format!("worked examples {}", marks(passed)), duration),
        Part::Random(passed) => tell(engine, &format!("random programs {}", marks(passed)), duration),
        Part::Growth => tell(engine, "counted work", duration),
    });
    let row = |result: chadwick_exam::Result| {
        let started = Instant::now();
        let corpus = corpus(&files, result.engine, options);
        if !files.is_empty() {
            tell(result.engine, &format!("tests {}", marks(&corpus)), started.elapsed());
        }
        Row { result, corpus }
    };
    let rows: Vec<Row> = results.into_iter().map(row).collect();
    match options.json {
        true => output::line(&Json::from(rows.iter().map(Row::as_json).collect::<Vec<_>>()).to_string()),
        false => print(&rows, !files.is_empty()),
    }
    match rows.iter().all(Row::passed) {
        true => Exit::Success,
        false => Exit::Failure,
    }
}

/// What an engine made of the exam and of the tests in files.
struct Row {
    result: chadwick_exam::Result,
    corpus: Marks,
}

impl Row {
    fn passed(&self) -> bool {
        self.result.passed() && self.corpus.wrong.is_empty()
    }

    fn cells(&self, with_corpus: bool) -> Vec<String> {
        let mut cells = vec![self.result.engine.name(), marks(&self.result.worked), marks(&self.result.random)];
        if with_corpus {
            cells.push(marks(&self.corpus));
        }
        let description = describe(self.result.engine);
        for (family, cost) in FAMILIES.iter().zip(&self.result.growth) {
            cells.push(match cost {
                Err(_) => String::from("–"),
                Ok(cost) => {
                    let number = match cost.ratios()[2] {
                        ratio if ratio < 10.0 => format!("{ratio:.1}"),
                        ratio if ratio < 1e5 => format!("{ratio:.0}"),
                        ratio => format!("{ratio:.0e}"),
                    };
                    let growth = match cost.factor() {
                        Factor::Constant => "",
                        Factor::Linear => " n",
                        Factor::Exponential => " 2ⁿ",
                    };
                    let surprise = if description.claim(family).admits(cost.factor()) { "" } else { " !" };
                    format!("{number}{growth}{surprise}")
                }
            });
        }
        cells
    }

    fn as_json(&self) -> Json {
        let description = describe(self.result.engine);
        let growth = FAMILIES.iter().zip(&self.result.growth).map(|(family, cost)| match cost {
            Ok(cost) => json!({
                "family": family.name, "sizes": family.sizes, "primal": cost.primal, "gradient": cost.gradient,
                "as_claimed": description.claim(family).admits(cost.factor()),
            }),
            Err(refusal) => json!({ "family": family.name, "refused": refusal.message }),
        });
        json!({
            "engine": self.result.engine.name(),
            "worked_examples": marks_json(&self.result.worked),
            "random_programs": marks_json(&self.result.random),
            "tests": marks_json(&self.corpus),
            "work": growth.collect::<Vec<_>>(),
            "passed": self.passed(),
        })
    }
}

fn marks(marks: &Marks) -> String {
    let mut text = format!("{}/{}", marks.agreed, marks.tried());
    for (count, mark) in [(marks.refused.len(), "refused"), (marks.too_large, "too large"), (marks.wrong.len(), "WRONG")] {
        if count > 0 {
            text.push_str(&format!(", {count} {mark}"));
        }
    }
    text
}

fn marks_json(marks: &Marks) -> Json {
    let refused = marks
        .refused
        .iter()
        .map(|refusal| json!({ "program": refusal.program, "reason": refusal.message, "place": refusal.place }));
    json!({
        "agreed": marks.agreed,
        "too_large": marks.too_large,
        "refused": refused.collect::<Vec<_>>(),
        "wrong": marks.wrong,
    })
}

/// The tests of files, with derivatives by the engine.
fn corpus(files: &[PathBuf], engine: Engine, options: &EnginesOptions) -> Marks {
    let mut marks = Marks::default();
    let config = testing::Config {
        tolerance: Default::default(),
        engine,
        backend: Backend::Interpreter,
        timeout: options.limits.timeout_or(Duration::from_secs(10)),
        max_memory: options.limits.max_memory,
        entry: None,
        workers: std::thread::available_parallelism().map_or(1, usize::from).clamp(1, files.len().max(1)),
    };
    testing::run_all(files, &config, &mut |file, outcomes| {
        for outcome in outcomes {
            let test = format!("{} {} {}", files[file].display(), outcome.entry, outcome.dataset);
            match outcome.status {
                Status::Passed => marks.agreed += 1,
                Status::Refused { message, place } => marks.refused.push(Refusal { program: test, message, place }),
                Status::Failed(message) if message.contains("time limit") => marks.too_large += 1,
                Status::Failed(message) => marks.wrong.push(format!("{test}: {message}")),
                Status::Skipped(_) => {}
            }
        }
    });
    marks
}

fn list(engines: &[Engine], json: bool) {
    let descriptions: Vec<_> = std::iter::once(&Engine::Auto)
        .chain(engines.iter().filter(|engine| **engine != Engine::Auto))
        .map(|engine| describe(*engine))
        .collect();
    if json {
        let rows = descriptions.iter().map(
            |row| json!({ "engine": row.engine.name(), "paper": row.paper, "about": row.about, "leaves_out": row.leaves_out }),
        );
        output::line(&Json::from(rows.collect::<Vec<_>>()).to_string());
        return;
    }
    let header = ["engine", "from", "what it is"].map(String::from).to_vec();
    let rows = descriptions.iter().map(|row| vec![row.engine.name(), row.paper.to_owned(), row.about.to_owned()]);
    output::table(&std::iter::once(header).chain(rows).collect::<Vec<_>>(), 3);
}

fn print(rows: &[Row], with_corpus: bool) {
    let mut header = vec!["engine", "worked", "random"];
    header.extend(with_corpus.then_some("tests"));
    let texts = header.len();
    header.extend(FAMILIES.iter().map(|family| family.name));
    let header = header.into_iter().map(String::from).collect();
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows.iter().map(|row| row.cells(with_corpus))).collect();
    output::table(&lines, texts);
    output::line("");
    output::line(
        "worked, random: programs whose derivatives are right, in all modes. The rest is counted work of value and gradient by",
    );
    output::line(
        "that of the value, at the largest of three sizes; n: the factor grows with the size, 2ⁿ: exponentially, !: not as claimed.",
    );
    for family in FAMILIES {
        output::line(&format!("  {:10} {}", family.name, family.about));
    }
    for row in rows {
        let marks = [&row.result.worked, &row.result.random, &row.corpus];
        for wrong in marks.iter().flat_map(|marks| &marks.wrong) {
            output::line(&format!("{}: {wrong}", row.result.engine.name()));
        }
        let refused =
            marks.iter().flat_map(|marks| &marks.refused).chain(row.result.growth.iter().filter_map(|one| one.as_ref().err()));
        let mut refused: Vec<&Refusal> = refused.collect();
        refused.sort_by_key(|refusal| &refusal.message);
        for same in refused.chunk_by(|one, other| one.message == other.message) {
            let others = match same.len() - 1 {
                0 => String::new(),
                count => format!(", and {count} more"),
            };
            let Refusal { program, message, place } = same[0];
            output::line(&format!("{}: {message} ({program} at {place}{others})", row.result.engine.name()));
        }
    }
}
