//! `chadwick gradbench`: a tool for the GradBench suite, which times automatic differentiation.
//!
//! One JSON message per line comes in, and exactly one line goes out for each, with the same `id`. A module is a program; its functions are
//! entry points, whose parameters are the fields of the input. Two kinds of entry points stand between a problem as the suite
//! states it and the functions it times: `prepare` makes the arguments of all functions out of the input, and `F_report` makes the output
//! out of the results of `F`. Neither is timed.
//!
//! Invariant: whatever a line holds, it is answered, and the next one is read.

mod message;
mod modules;

use crate::options::GradbenchOptions;
use crate::{Exit, output, panics};
use chadwick::values::fields;
use message::{Input, Line, Message};
use modules::{Evaluated, Modules};
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufWriter, Write};
use std::time::Instant;

pub fn command(options: &GradbenchOptions) -> Exit {
    let mut modules = Modules::new(options);
    let mut stdin = std::io::stdin().lock();
    loop {
        match stdin.fill_buf() {
            Ok([]) => return Exit::Success,
            Ok(_) => {}
            Err(error) => {
                output::error_line(&format!("error: standard input: {error}"));
                return Exit::Failure;
            }
        }
        let message = message::read(Line::new(&mut stdin), &modules);
        let Some(message) = message else { continue };
        let id = message.id.clone();
        let answer =
            panics::caught(|| answer(message, &mut modules)).unwrap_or_else(|panic| failure(format!("internal error: {panic}")));
        write_answer(id, answer);
    }
}

/// What goes out: the fields of the answer, and what is too large to be among them.
struct Answer {
    fields: Vec<(&'static str, Json)>,
    evaluated: Option<Evaluated>,
}

fn failure(error: impl Into<String>) -> Answer {
    Answer { fields: vec![("success", false.into()), ("error", Json::String(error.into()))], evaluated: None }
}

fn answer(message: Message, modules: &mut Modules) -> Answer {
    let Message { kind, module, function, input, problem, .. } = message;
    if let Some(problem) = problem {
        return failure(problem);
    }
    let missing = |field: &str| failure(format!("the message has no `{field}`"));
    match (kind.as_deref(), module, function) {
        (Some("start"), ..) => Answer { fields: vec![("tool", "chadwick".into())], evaluated: None },
        (Some("analysis"), ..) => Answer { fields: Vec::new(), evaluated: None },
        (Some("define"), Some(module), _) => {
            let started = Instant::now();
            match modules.define(&module) {
                Ok(()) => {
                    let timings = json!([{ "name": "compile", "nanoseconds": nanoseconds(started.elapsed()) }]);
                    Answer { fields: vec![("success", true.into()), ("timings", timings)], evaluated: None }
                }
                Err(error) => failure(error),
            }
        }
        (Some("evaluate"), Some(module), Some(function)) => match evaluate(modules, &module, &function, input) {
            Ok(evaluated) => Answer { fields: vec![("success", true.into())], evaluated: Some(evaluated) },
            Err(error) => failure(error),
        },
        (Some("define" | "evaluate"), None, _) => missing("module"),
        (Some("evaluate"), _, None) => missing("function"),
        (Some(kind), ..) => failure(format!("messages of kind `{kind}` are not known")),
        (None, ..) => missing("kind"),
    }
}

fn evaluate(modules: &Modules, module: &str, function: &str, input: Input) -> Result<Evaluated, String> {
    let entry = modules.entry(module, function)?;
    let found = match input {
        Input::Read(found) => *found,
        Input::Unread(text) => message::read_input(&mut serde_json::Deserializer::from_str(text.get()), entry.fields())?,
        Input::Missing => return Err(String::from("the message has no `input`")),
    };
    entry.evaluate(found)
}

fn nanoseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn write_answer(id: Json, answer: Answer) {
    let mut out = BufWriter::with_capacity(1 << 16, Stdout);
    let mut fields = answer.fields;
    fields.insert(0, ("id", id));
    let result = (|| {
        let mut separator = '{';
        for (name, value) in &fields {
            write!(out, "{separator}\"{name}\":{value}")?;
            separator = ',';
        }
        if let Some(Evaluated { output, times }) = &answer.evaluated {
            write!(out, ",\"timings\":")?;
            let mut separator = '[';
            for time in times {
                write!(out, "{separator}{{\"name\":\"evaluate\",\"nanoseconds\":{}}}", nanoseconds(*time))?;
                separator = ',';
            }
            write!(out, "],\"output\":")?;
            fields::write(output, &mut out)?;
        }
        out.write_all(b"}\n")?;
        out.flush()
    })();
    if let Err(error) = result {
        output::error_line(&format!("error: {error}"));
    }
}

/// Standard output; if nobody reads it any more, the program ends quietly.
struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        output::bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
