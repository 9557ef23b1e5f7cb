//! `chadwick check`: errors and warnings of programs.

use crate::errors::diagnostic_json;
use crate::options::CheckOptions;
use crate::output::{self, Paint, style};
use crate::{Exit, input};
use chadwick::compile::{self, FileLoader};
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
