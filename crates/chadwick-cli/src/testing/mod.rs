//! `chadwick test`: finds test files, runs them on all cores, reports.

mod property;
pub mod random;
mod report;
mod run;
mod schedule;
mod script;
pub mod spec;

pub use run::read_data;
pub use schedule::run_all;

use crate::options::TestOptions;
use crate::{Exit, output};
use chadwick::Backend;
use chadwick::compile::Engine;
use chadwick::values::compare::Tolerance;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What one test came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Empty where the test is that the whole file compiles (or does not).
    pub entry: String,
    pub dataset: String,
    pub line: usize,
    pub status: Status,
    pub time: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Passed,
    Failed(String),
    /// The engine does not take the program: which construct, and where.
    Refused {
        message: String,
        place: String,
    },
    Skipped(String),
}

/// How tests are run.
#[derive(Clone, Debug)]
pub struct Config {
    pub tolerance: Tolerance,
    pub engine: Engine,
    pub backend: Backend,
    pub timeout: Duration,
    pub max_memory: usize,
    /// Only this entry point.
    pub entry: Option<String>,
    pub workers: usize,
}

pub fn command(options: &TestOptions) -> Exit {
    let mut files = Vec::new();
    for path in &options.files {
        if let Err(problem) = collect(path, &mut files) {
            output::error_line(&format!("error: {}: {problem}", path.display()));
            return Exit::Failure;
        }
    }
    if files.is_empty() {
        let places: Vec<String> = options.files.iter().map(|path| path.display().to_string()).collect();
        output::error_line(&format!("error: there is no program (`.fut`) in {}", places.join(", ")));
        return Exit::Failure;
    }
    let mut tolerance = options.tolerance.map_or_else(Tolerance::default, Tolerance::uniform);
    if let Some(f32) = options.tolerance_f32 {
        tolerance = Tolerance { f32, f16: f32.max(tolerance.f16), ..tolerance };
    }
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let config = Config {
        tolerance,
        engine: options.engine.as_deref().and_then(Engine::from_name).unwrap_or_default(),
        backend: options.backend.backend(true, options.engine.as_deref()),
        timeout: options.limits.timeout_or(Duration::from_secs(60)),
        max_memory: options.limits.max_memory,
        entry: options.entry.clone(),
        workers: options.jobs.unwrap_or(available).clamp(1, files.len().max(1)),
    };
    let mut report = report::Report::new(options, &files);
    let mut has_tests = false;
    run_all(&files, &config, &mut |file, outcomes| {
        has_tests |= outcomes.iter().any(|outcome| options.entry.as_ref() == Some(&outcome.entry));
        report.add(file, outcomes);
    });
    let exit = report.finish();
    match &options.entry {
        Some(entry) if !has_tests => {
            output::error_line(&format!("error: there is no test of an entry point `{entry}`"));
            Exit::Failure
        }
        _ => exit,
    }
}

/// The file itself, or all programs below a directory, in order of their names.
pub fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !std::fs::metadata(path)?.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    let mut waiting = vec![path.to_path_buf()];
    let mut found = Vec::new();
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            match () {
                () if hidden => {}
                () if kind.is_dir() => waiting.push(path),
                () if path.extension().is_some_and(|extension| extension == "fut") => found.push(path),
                () => {}
            }
        }
    }
    found.sort();
    files.extend(found);
    Ok(())
}
