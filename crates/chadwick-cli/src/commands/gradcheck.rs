//! `chadwick gradcheck`: reverse mode against forward mode and finite differences.

use crate::Exit;
use crate::arguments::{self, Default};
use crate::commands::{compiled_for, finish, load, warn_of_derivative};
use crate::options::GradcheckOptions;
use crate::output::{self, Paint};
use chadwick::Result;
use chadwick::compile::Engine;
use chadwick::gradcheck::{self, Comparison, Kind, Report};
use serde_json::json;

pub fn command(options: &GradcheckOptions) -> Exit {
    match check(options) {
        Err(error) => finish(Err(error), options.json),
        Ok(report) => {
            match options.json {
                true => output::line(&as_json(&report).to_string()),
                false => print_table(&report),
            }
            if report.agrees() { Exit::Success } else { Exit::Failure }
        }
    }
}

fn check(options: &GradcheckOptions) -> Result<Report> {
    let program = load(&options.call.file)?;
    let call = arguments::resolve(&program, &options.call, Default::Tests, options.limits.max_memory)?;
    // The derivative that `grad` computes.
    let engine = options.engine.as_deref();
    let by = engine.and_then(Engine::from_name).unwrap_or_default();
    let program = compiled_for(&program, Some(&call.entry), by, options.backend.backend(false, engine))?;
    let function = program.function(&call.entry)?;
    let function = match options.wrt.is_empty() {
        true => function,
        false => function.wrt(&options.wrt)?,
    };
    warn_of_derivative(&function)?;
    program.set_limits(options.limits.starting_now());
    let check_options = gradcheck::Options {
        step: options.step,
        tolerance: options.tolerance,
        difference_tolerance: options.difference_tolerance,
        max_elements: options.max_elements,
    };
    gradcheck::check(&function, &call.arguments, &check_options)
}

fn against(comparison: &Comparison) -> &'static str {
    match comparison.kind {
        Kind::Forward => "forward",
        Kind::Differences => "differences",
    }
}

/// Where two differences of one element are far from each other, nothing can be said about it; too many of those say nothing about the derivative.
fn verdict(comparison: &Comparison) -> &'static str {
    match (comparison.agrees, comparison.compared) {
        (true, 0) => "nothing to compare",
        (true, _) => "agrees",
        (false, _) if skips_too_many(comparison) => "TOO MANY SKIPPED",
        (false, _) => "DISAGREES",
    }
}

fn skips_too_many(comparison: &Comparison) -> bool {
    !comparison.agrees && comparison.worst <= comparison.allowed
}

fn print_table(report: &Report) {
    let paint = Paint::stdout();
    let header = ["reverse against", "worst at", "reverse", "other", "difference", "allowed", "skipped", ""];
    let mut rows = vec![header.map(String::from)];
    for comparison in &report.comparisons {
        let total = comparison.compared + comparison.skipped;
        rows.push([
            against(comparison).to_owned(),
            format!("{}{}", comparison.parameter, comparison.position),
            format!("{:.9e}", comparison.reverse),
            format!("{:.9e}", comparison.other),
            format!("{:.1e}", comparison.worst),
            format!("{:.1e}", comparison.allowed),
            format!("{}/{total}", comparison.skipped),
            verdict(comparison).to_owned(),
        ]);
    }
    let widths: Vec<usize> =
        (0..header.len()).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let line = cells.join("  ");
        let line = line.trim_end();
        output::line(&match number.checked_sub(1).and_then(|at| report.comparisons.get(at)) {
            Some(comparison) if !comparison.agrees => paint.bad(line),
            _ => line.to_owned(),
        });
    }
    if report.comparisons.iter().any(skips_too_many) {
        output::line(
            "skipped: finite differences with the step and with half of it disagree, at a kink, say; try another --step",
        );
    }
    if report.checked < report.elements {
        output::line(&format!("{} of {} elements checked", report.checked, report.elements));
    }
}

fn as_json(report: &Report) -> serde_json::Value {
    let comparisons = report.comparisons.iter().map(|comparison| {
        json!({
            "parameter": comparison.parameter,
            "against": against(comparison),
            "worst": comparison.worst,
            "position": comparison.position,
            "reverse": comparison.reverse,
            "other": comparison.other,
            "allowed": comparison.allowed,
            "compared": comparison.compared,
            "skipped": comparison.skipped,
            "agrees": comparison.agrees,
        })
    });
    json!({
        "agrees": report.agrees(),
        "checked": report.checked,
        "elements": report.elements,
        "comparisons": comparisons.collect::<Vec<_>>(),
    })
}
