//! `chadwick explain`: the derivative of an entry point as Core, and what it keeps.

use crate::commands::{compiled_for, finish, load, warn_of_derivative};
use crate::errors::{diagnostic_json, place_json};
use crate::options::{ExplainOptions, ModeName};
use crate::output::{self, Paint, style};
use crate::{Exit, arguments};
use chadwick::compile::Engine;
use chadwick::core::Mode;
use chadwick::explain::Explanation;
use chadwick::source::Span;
use chadwick::{Backend, Result, render};
use serde_json::{Value as Json, json};

pub fn command(options: &ExplainOptions) -> Exit {
    finish(explain(options), options.json)
}

fn explain(options: &ExplainOptions) -> Result<()> {
    let program = load(&options.file)?;
    let entry = arguments::entry_to_differentiate(&program, options.entry.as_deref());
    let engine = Engine::from_name(&options.engine).unwrap_or_default();
    let program = compiled_for(&program, entry.as_deref().ok(), engine, Backend::Interpreter)?;
    let function = program.function(&entry?)?;
    let function = match options.wrt.is_empty() {
        true => function,
        false => function.wrt(&options.wrt)?,
    };
    let mode = match options.mode {
        ModeName::Vjp => Mode::Vjp,
        ModeName::Jvp => Mode::Jvp,
    };
    let explanation = function.explain(mode, options.stage)?;
    warn_of_derivative(&function)?;
    if options.json {
        output::line(&document(&explanation).to_string());
        return Ok(());
    }
    let style = style(Paint::stderr());
    for warning in &explanation.warnings {
        output::error_line(render::diagnostic(warning, &explanation.map, style).trim_end());
    }
    if !options.report {
        output::line(&explanation.core);
    }
    if let Some(notation) = &explanation.notation {
        output::line(&format!("in the notation of the paper:\n\n{notation}"));
    }
    output::bytes(explanation.report().as_bytes());
    Ok(())
}

fn document(explanation: &Explanation) -> Json {
    let place = |span: &Span| {
        let mut place = place_json(*span, &explanation.map);
        place["text"] = Json::from(explanation.map.text(*span));
        place
    };
    let places = |spans: &[Span]| spans.iter().map(place).collect::<Vec<_>>();
    let saved = explanation.saved.iter().map(|value| {
        json!({
            "name": value.name,
            "type": value.ty,
            "sizes": value.sizes,
            "element_bytes": value.element_bytes,
            "per_call": value.per_call,
            "is_argument": value.is_argument,
            "value_of": places(&value.values_of),
            "needed_by": places(&value.needed_by),
        })
    });
    let accumulated = explanation.accumulated.iter().map(|(span, inner)| {
        let mut place = place(span);
        place["inner"] = Json::from(*inner);
        place
    });
    let inside = explanation.inside.iter().map(|(span, choice)| {
        let mut place = place(span);
        place["engine"] = Json::from(choice.engine.name());
        place["engine_because"] = Json::from(choice.reason.clone());
        place
    });
    let totals = explanation.totals().into_iter().map(|(per, bytes)| json!({ "for_each": per, "bytes": bytes }));
    json!({
        "entry": explanation.entry,
        "mode": match explanation.mode { Mode::Vjp => "vjp", _ => "jvp" },
        "engine": explanation.engine.engine.name(),
        "engine_because": explanation.engine.reason,
        "derivatives_inside": inside.collect::<Vec<_>>(),
        "by": explanation.by,
        "stage": explanation.stage.name(),
        "core": explanation.core,
        "notation": explanation.notation,
        "saved": saved.collect::<Vec<_>>(),
        "totals": totals.collect::<Vec<_>>(),
        "recomputed": places(&explanation.recomputed),
        "accumulated": accumulated.collect::<Vec<_>>(),
        "warnings": explanation.warnings.iter().map(|one| diagnostic_json(one, &explanation.map)).collect::<Vec<_>>(),
    })
}
