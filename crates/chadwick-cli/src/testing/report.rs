//! What people and tools see of a test run.

use super::{Outcome, Status};
use crate::Exit;
use crate::options::TestOptions;
use crate::output::{self, Paint};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Collects outcomes and prints them in order of the files.
pub struct Report<'a> {
    files: &'a [PathBuf],
    outcomes: Vec<Option<Vec<Outcome>>>,
    printed: usize,
    json: bool,
    verbose: bool,
    bar: ProgressBar,
    paint: Paint,
    counts: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl<'a> Report<'a> {
    pub fn new(options: &TestOptions, files: &'a [PathBuf]) -> Self {
        let bar = ProgressBar::new(files.len() as u64);
        if !std::io::stderr().is_terminal() || options.json {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} files, {msg} [{elapsed}]") {
            bar.set_style(style);
        }
        Report {
            files,
            outcomes: vec![None; files.len()],
            printed: 0,
            json: options.json,
            verbose: options.verbose,
            bar,
            paint: Paint::stdout(),
            counts: Counts::default(),
        }
    }

    pub fn add(&mut self, file: usize, outcomes: Vec<Outcome>) {
        for outcome in &outcomes {
            match outcome.status {
                Status::Passed => self.counts.passed += 1,
                Status::Failed(_) | Status::Refused { .. } => self.counts.failed += 1,
                Status::Skipped(_) => self.counts.skipped += 1,
            }
        }
        self.outcomes[file] = Some(outcomes);
        self.bar.set_message(format!("{} failed", self.counts.failed));
        self.bar.inc(1);
        while let Some(Some(outcomes)) = self.outcomes.get(self.printed) {
            if !self.json {
                let lines: Vec<String> = outcomes.iter().filter_map(|outcome| self.line(self.printed, outcome)).collect();
                self.bar.suspend(|| lines.iter().for_each(|line| output::line(line)));
            }
            self.printed += 1;
        }
    }

    fn line(&self, file: usize, outcome: &Outcome) -> Option<String> {
        let path = self.files[file].display();
        let place = match outcome.line {
            0 => path.to_string(),
            line => format!("{path}:{line}"),
        };
        let test = match outcome.entry.as_str() {
            "" => String::new(),
            entry => format!(" {entry} {}", outcome.dataset),
        };
        match &outcome.status {
            Status::Passed if self.verbose => Some(format!("{} {place}{test}", self.paint.good("PASS"))),
            Status::Passed => None,
            Status::Refused { message, place: at } => Some(format!("{} {place}{test}: {message} ({at})", self.paint.bad("FAIL"))),
            Status::Failed(reason) => {
                let reason = reason.trim_end().replace('\n', "\n     ");
                Some(format!("{} {place}{test}: {reason}", self.paint.bad("FAIL")))
            }
            Status::Skipped(reason) => Some(format!("{} {place}{test}: {reason}", self.paint.warn("SKIP"))),
        }
    }

    pub fn finish(self) -> Exit {
        self.bar.finish_and_clear();
        let Counts { passed, failed, skipped } = self.counts;
        if self.json {
            output::line(&self.as_json().to_string());
        } else {
            output::line(&format!("{passed} passed, {failed} failed, {skipped} skipped"));
        }
        if failed > 0 { Exit::Failure } else { Exit::Success }
    }

    fn as_json(&self) -> serde_json::Value {
        let files = self.files.iter().zip(&self.outcomes).map(|(path, outcomes)| {
            let tests = outcomes.iter().flatten().map(|outcome| {
                let (status, reason) = match &outcome.status {
                    Status::Passed => ("passed", None),
                    Status::Failed(reason) => ("failed", Some(reason)),
                    Status::Refused { message, .. } => ("refused", Some(message)),
                    Status::Skipped(reason) => ("skipped", Some(reason)),
                };
                json!({
                    "entry": outcome.entry,
                    "dataset": outcome.dataset,
                    "line": outcome.line,
                    "status": status,
                    "reason": reason,
                    "seconds": outcome.time.as_secs_f64(),
                })
            });
            json!({ "file": path.display().to_string(), "tests": tests.collect::<Vec<_>>() })
        });
        let Counts { passed, failed, skipped } = self.counts;
        json!({ "files": files.collect::<Vec<_>>(), "passed": passed, "failed": failed, "skipped": skipped })
    }
}
