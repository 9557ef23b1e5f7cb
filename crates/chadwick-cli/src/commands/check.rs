//! `chadwick check`: errors and warnings of programs.

use crate::options::CheckOptions;
use crate::output::{self, Paint, style};
use crate::{Exit, input};
use chadwick::compile::{self, FileLoader};
use chadwick::source::{Diagnostic, Label, Severity, SourceMap};
use chadwick::{Error, render};
use serde_json::{Value as Json, json};

pub fn command(options: &CheckOptions) -> Exit {
    let mut failed = false;
    let mut documents = Vec::new();
    for path in &options.files {
        let text = match input::read_source(path) {
            Ok(text) => text,
            Err(problem) => {
                failed = true;
                match options.json {
                    true => {
                        documents.push(json!({ "severity": "error", "message": problem, "file": path.display().to_string() }))
                    }
                    false => output::error_line(&Error::argument(problem).render(style(Paint::stderr()))),
                }
                continue;
            }
        };
        let mut checked = compile::check(path, &text, &FileLoader);
        compile::lower(&mut checked);
        failed |= checked.has_errors();
        match options.json {
            true => documents.extend(checked.diagnostics.iter().map(|one| diagnostic_json(one, &checked.map))),
            false => {
                let text = render::diagnostics(&checked.diagnostics, &checked.map, style(Paint::stderr()));
                if !text.is_empty() {
                    output::error_line(text.trim_end());
                }
            }
        }
    }
    if options.json {
        output::line(&Json::Array(documents).to_string());
    }
    if failed { Exit::Failure } else { Exit::Success }
}

/// A diagnostic for tools. Lines and columns count from one.
fn diagnostic_json(diagnostic: &Diagnostic, map: &SourceMap) -> Json {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut document = json!({
        "severity": severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "labels": diagnostic.secondary.iter().map(|label| label_json(label, map)).collect::<Vec<_>>(),
    });
    if let (Json::Object(fields), Json::Object(place)) = (&mut document, label_json(&diagnostic.primary, map)) {
        fields.extend(place);
    }
    document
}

fn label_json(label: &Label, map: &SourceMap) -> Json {
    let Some(file) = map.file(label.span.file) else { return json!({ "label": label.text }) };
    let (start, end) = (file.line_column(label.span.start), file.line_column(label.span.end));
    json!({
        "file": file.name,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "label": label.text,
    })
}
