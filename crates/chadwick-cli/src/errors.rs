//! Errors for tools: the JSON that `--json` writes instead of text for people.

use chadwick::Error;
use chadwick::source::{Diagnostic, Label, Severity, SourceMap, Span};
use serde_json::{Value as Json, json};

/// All that is wrong, as an array: what `check --json` writes, for any error.
pub fn error_json(error: &Error) -> Json {
    match error {
        Error::Compile { diagnostics, map } => diagnostics.iter().map(|one| diagnostic_json(one, map)).collect(),
        Error::Runtime { error, map } => {
            let mut document = json!({ "severity": "error", "message": error.message });
            merge(&mut document, place_json(chadwick::render::user_place(error, map), map));
            let call = |call: &chadwick::Call| {
                let mut document = json!({ "function": call.function.as_str() });
                merge(&mut document, place_json(call.span, map));
                document
            };
            merge(&mut document, json!({ "trace": error.trace.iter().map(call).collect::<Vec<_>>() }));
            json!([document])
        }
        other => json!([{ "severity": "error", "message": other.message() }]),
    }
}

/// A diagnostic for tools. Lines and columns count from one.
pub fn diagnostic_json(diagnostic: &Diagnostic, map: &SourceMap) -> Json {
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
    merge(&mut document, label_json(&diagnostic.primary, map));
    document
}

fn label_json(label: &Label, map: &SourceMap) -> Json {
    let mut document = place_json(label.span, map);
    merge(&mut document, json!({ "label": label.text }));
    document
}

pub fn place_json(span: Span, map: &SourceMap) -> Json {
    let file = map.file(span.file).filter(|_| span != Span::default());
    let Some(file) = file else { return json!({}) };
    let (start, end) = (file.line_column(span.start), file.line_column(span.end));
    json!({
        "file": file.name,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    })
}

fn merge(document: &mut Json, more: Json) {
    if let (Json::Object(fields), Json::Object(more)) = (document, more) {
        fields.extend(more);
    }
}
