//! The derivative of an entry point, explained: its Core, what it keeps for the reverse pass and why, what it makes again, and where it
//! leaves the fragment in which a gradient costs a constant times the function.

use crate::compile::{self, Engine, Stage};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::program::{Choice, with_deep_stack};
use chadwick_ad::{Note, NoteKind, Picked, Refusal, Report};
use chadwick_core as core;
use chadwick_core::{Block, Mode, Op, Type};
use chadwick_source::{Diagnostic, SourceMap, Span};
use std::fmt::Write;
use std::sync::Arc;

/// What there is to say about a derivative.
pub struct Explanation {
    pub entry: String,
    pub mode: Mode,
    /// What differentiates, and why.
    pub engine: Choice,
    /// The same for each derivative that the entry point and what it calls have inside.
    pub inside: Vec<(Span, Choice)>,
    /// The arguments by which is differentiated.
    pub by: Vec<String>,
    pub stage: Stage,
    /// The derivative in the textual form of Core, at the stage.
    pub core: String,
    /// The functions that are differentiated in the notation of the engine's paper, if it has one.
    pub notation: Option<String>,
    /// Whether what the reverse pass needs is kept by functions: then nothing can be said of it by value.
    pub kept_by_functions: bool,
    /// Values that are kept from the forward pass to the reverse pass, in the finished program.
    pub saved: Vec<SavedValue>,
    /// Expressions that are computed again in the reverse pass.
    pub recomputed: Vec<Span>,
    /// Expressions into whose operands' cotangents the finished program still accumulates; true where that is opened in an inner loop.
    pub accumulated: Vec<(Span, bool)>,
    /// Where the derivative may cost more than a constant times the function, or is less parallel.
    pub warnings: Vec<Diagnostic>,
    pub map: Arc<SourceMap>,
}

/// A value that is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedValue {
    /// As the Core text calls it.
    pub name: String,
    /// The type with its sizes as the source calls them: `[n][k]f64`.
    pub ty: String,
    pub sizes: Vec<String>,
    /// Bytes of one element.
    pub element_bytes: usize,
    /// The function each of whose calls keeps one.
    pub per_call: Option<String>,
    /// An argument of that function, which is kept from being freed but not copied.
    pub is_argument: bool,
    pub values_of: Vec<Span>,
    pub needed_by: Vec<Span>,
}

impl SavedValue {
    pub fn is_scalar(&self) -> bool {
        self.sizes.is_empty() && self.per_call.is_none()
    }
}

impl Function {
    /// Explains the derivative by [`Function::wrt_arguments`], as fast CHAD makes it.
    ///
    /// ```
    /// # use chadwick::{Program, compile::Stage, core::Mode};
    /// let program = Program::from_source("entry f [n] (xs: [n]f64) = f64.sum (map (\\x -> f64.exp x) xs)")?;
    /// let explanation = program.function("f")?.explain(Mode::Vjp, Stage::Optimise)?;
    /// assert_eq!(explanation.saved[0].ty, "[n]f64");
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn explain(&self, mode: Mode, stage: Stage) -> Result<Explanation> {
        let wrt = self.wrt_arguments()?;
        let map = Arc::clone(&self.program.inner.map);
        let primal = self.core_entry().results.iter().map(|one| one.types.len()).sum();
        let mut program = self.lowered_with_derivative(&wrt, mode)?;
        let entry = program.entries.first().and_then(|entry| program.functions.get(entry.function.0 as usize));
        let span = entry.map_or(Span::default(), |function| function.span);
        let mut at_stage = program.clone();
        let mut notation = None;
        let engine = self.program.inner.engine;
        let advanced = with_deep_stack(|| {
            let mode = engine.reverse_mode();
            let mut prepared = program.clone();
            compile::advance(&mut prepared, mode, Stage::Prepare)?;
            notation = mode.in_notation(&prepared);
            if engine == Engine::Auto && stage >= Stage::Derivatives {
                compile::advance_where_possible(&mut at_stage, stage)?;
            } else {
                compile::advance(&mut at_stage, mode, stage)?;
            }
            match engine {
                Engine::Auto => compile::differentiate_where_possible(&mut program),
                _ => compile::advance_with_report(&mut program, mode, Stage::Optimise),
            }
        });
        let report = advanced.map_err(|diagnostics| Error::compile(diagnostics, Arc::clone(&map)))?;
        let is_own = |span: Span| is_own(&map, span);
        let choice = |picked: &Picked| match &picked.left {
            Some(refusal) => Choice { engine: Engine::Builtin, reason: refusal_text(refusal, &map) },
            None => Choice::for_code(engine),
        };
        let (whole, inside): (Vec<&Picked>, Vec<&Picked>) = report.derivatives.iter().partition(|picked| picked.span == span);
        let own = whole.first().map_or_else(|| Choice::for_code(engine), |picked| choice(picked));
        let inside =
            inside.into_iter().filter(|picked| is_own(picked.span)).map(|picked| (picked.span, choice(picked))).collect();
        let mut accumulated = Vec::new();
        program.functions.iter().for_each(|function| accumulators(&function.body, 0, Span::default(), &is_own, &mut accumulated));
        accumulated.sort_unstable();
        accumulated.dedup();
        Ok(Explanation {
            entry: self.name().to_owned(),
            mode,
            engine: own,
            inside,
            by: self.wrt_names()?,
            stage,
            core: core::text::print(&at_stage),
            notation,
            kept_by_functions: program.functions.iter().any(|function| has_functions(&function.body)),
            saved: if mode == Mode::Vjp { saved(&program, primal, &is_own) } else { Vec::new() },
            recomputed: recomputed(&report, &is_own),
            accumulated,
            warnings: report.notes.iter().filter(|note| is_own(note.span)).filter_map(warning).collect(),
            map,
        })
    }
}

fn refusal_text(refusal: &Refusal, map: &SourceMap) -> String {
    format!("{} ({})", refusal.message, map.position(refusal.span))
}

fn is_own(map: &SourceMap, span: Span) -> bool {
    span != Span::default() && map.file(span.file).is_some_and(|file| !file.name.starts_with("<prelude"))
}

fn has_functions(block: &Block) -> bool {
    let inside = |op: &Op| op.scopes().iter().any(|scope| has_functions(scope.block));
    block.statements.iter().any(|statement| matches!(statement.op, Op::Closure(_)) || inside(&statement.op))
}

fn recomputed(report: &Report, is_own: &dyn Fn(Span) -> bool) -> Vec<Span> {
    let again = |note: &&Note| matches!(note.kind, NoteKind::Recomputed | NoteKind::RecomputeWished) && is_own(note.span);
    let mut spans: Vec<Span> = report.notes.iter().filter(again).map(|note| note.span).collect();
    spans.dedup();
    spans
}

fn warning(note: &Note) -> Option<Diagnostic> {
    match note.kind {
        NoteKind::Sequential(form) => {
            let message = format!("in reverse mode this {form} becomes a sequential loop");
            let hint = match form {
                "reduction" | "scan" => "its neutral element depends on the input; with a constant one it would run in chunks",
                _ => "histograms of sums have a parallel rule",
            };
            Some(Diagnostic::warning("W0401", note.span, message).hint(hint))
        }
        NoteKind::DenseZero => {
            let message = "the derivative makes a whole array of zeros here in every iteration";
            let hint = "the array is only read in part; read it where it was made, or outside the loop";
            Some(Diagnostic::warning("W0402", note.span, message).hint(hint))
        }
        NoteKind::Recomputed | NoteKind::RecomputeWished => None,
    }
}

/// The accumulators that are left, with the innermost expression of the program around each.
fn accumulators(block: &Block, depth: usize, around: Span, is_own: &dyn Fn(Span) -> bool, found: &mut Vec<(Span, bool)>) {
    for statement in &block.statements {
        let span = if is_own(statement.span) { statement.span } else { around };
        if matches!(statement.op, Op::WithAccumulators { .. }) && span != Span::default() {
            found.push((span, depth > 0));
        }
        let repeats = usize::from(matches!(statement.op, Op::Loop(_)) || !statement.op.space().is_empty());
        for scope in statement.op.scopes() {
            accumulators(scope.block, depth + repeats, span, is_own, found);
        }
    }
}

fn saved(program: &core::Program, primal: usize, is_own: &dyn Fn(Span) -> bool) -> Vec<SavedValue> {
    let Some(entry) = program.entries.first() else { return Vec::new() };
    let axes = axis_names(entry);
    let name_size = |param: usize, axis: usize| axes.get(param).and_then(|names| names.get(axis)).cloned();
    let values = chadwick_ad::saved_values(program, entry.function, primal, is_own, &name_size);
    let is_size =
        |value: &chadwick_ad::SavedValue| value.sizes.is_empty() && matches!(value.element, Type::Prim(core::Prim::I64));
    values
        .into_iter()
        .filter(|value| !is_size(value))
        .map(|value| {
            let sizes: String = value.sizes.iter().map(|size| format!("[{size}]")).collect();
            SavedValue {
                name: format!("{}_{}", program.var_names.get(value.var.0 as usize).map_or("", |name| name), value.var.0),
                ty: format!("{sizes}{}", core::text::print_type(program, &value.element)),
                element_bytes: value.element_bytes(),
                per_call: value
                    .per_call
                    .and_then(|function| program.functions.get(function.0 as usize))
                    .map(|function| function.name.strip_suffix("_fwd").unwrap_or(&function.name).to_owned()),
                is_argument: value.is_argument,
                sizes: value.sizes,
                values_of: value.values_of,
                needed_by: value.needed_by,
            }
        })
        .collect()
}

/// What the source calls the axes of each Core parameter, where one parameter is one array: `[n][k]f64` has `n` and `k`.
fn axis_names(entry: &core::Entry) -> Vec<Vec<String>> {
    let mut names = Vec::new();
    for param in &entry.params {
        let axes: Vec<String> = match param.types.len() {
            1 => param
                .source_type
                .trim_start_matches('*')
                .split_inclusive(']')
                .map_while(|part| part.strip_prefix('[')?.strip_suffix(']').map(str::to_owned))
                .collect(),
            _ => Vec::new(),
        };
        names.extend(std::iter::repeat_n(axes, param.types.len()));
    }
    names
}

impl Explanation {
    /// Bytes kept, by the sizes of the values: `24 bytes for each [n][k]`.
    pub fn totals(&self) -> Vec<(String, usize)> {
        let mut totals: Vec<(String, usize)> = Vec::new();
        for value in self.saved.iter().filter(|value| !value.is_argument || value.sizes.is_empty()) {
            let mut key: String = value.sizes.iter().map(|size| format!("[{size}]")).collect();
            if let Some(function) = &value.per_call {
                key = format!("call of `{function}`{}{key}", if key.is_empty() { "" } else { " and " });
            }
            match totals.iter_mut().find(|(known, _)| *known == key) {
                Some((_, bytes)) => *bytes += value.element_bytes,
                None => totals.push((key, value.element_bytes)),
            }
        }
        totals.sort();
        totals
    }

    /// `loss.fut:3:7` and the text there, on one line.
    pub fn place(&self, span: Span) -> (String, String) {
        const LONGEST: usize = 60;
        let text: Vec<&str> = self.map.text(span).split_whitespace().collect();
        let mut text = text.join(" ");
        if text.chars().count() > LONGEST {
            text = text.chars().take(LONGEST - 1).chain(['…']).collect();
        }
        (self.map.position(span), text)
    }

    /// The report for people: what is kept, made again, accumulated.
    pub fn report(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write_report(&mut out);
        out
    }

    fn write_report(&self, out: &mut String) -> std::fmt::Result {
        if self.mode != Mode::Vjp && self.kept_by_functions {
            let by = self.by.join(", ");
            return writeln!(out, "what the tangents of `{}` by {by} need is kept by the functions that make them", self.entry);
        }
        if self.mode != Mode::Vjp {
            return writeln!(out, "forward mode keeps nothing");
        }
        writeln!(out, "reverse mode by `{}`: {}", self.engine.engine.name(), self.engine.reason)?;
        for (span, choice) in &self.inside {
            let place = self.map.position(*span);
            writeln!(out, "the derivative at {place} by `{}`: {}", choice.engine.name(), choice.reason)?;
        }
        if self.kept_by_functions {
            let by = self.by.join(", ");
            return writeln!(out, "what the reverse pass of `{}` by {by} needs is kept by the functions that do it", self.entry);
        }
        writeln!(out, "kept for the reverse pass of `{}` by {}:", self.entry, self.by.join(", "))?;
        let arrays: Vec<&SavedValue> = self.saved.iter().filter(|value| !value.is_scalar()).collect();
        if arrays.is_empty() {
            writeln!(out, "  nothing but scalars and the arguments")?;
        }
        for value in arrays {
            let per_call = value.per_call.as_ref().map_or(String::new(), |function| format!(", for each call of `{function}`"));
            match value.is_argument && !value.sizes.is_empty() {
                true => writeln!(out, "  {}: {}, an argument{per_call}", value.name, value.ty)?,
                false => writeln!(out, "  {}: {}, {} bytes each{per_call}", value.name, value.ty, value.element_bytes)?,
            }
            self.write_places(out, "the value of", &value.values_of)?;
            self.write_places(out, "needed by the derivative of", &value.needed_by)?;
        }
        let totals: Vec<String> = self
            .totals()
            .into_iter()
            .filter(|(key, _)| !key.is_empty())
            .map(|(key, bytes)| format!("{bytes} for each {key}"))
            .collect();
        if !totals.is_empty() {
            writeln!(out, "bytes: {}", totals.join(", "))?;
        }
        let scalars = self.saved.iter().filter(|value| value.is_scalar()).count();
        writeln!(out, "scalars outside loops: {scalars}")?;
        if !self.recomputed.is_empty() {
            writeln!(out, "computed again in the reverse pass:")?;
            self.recomputed.iter().try_for_each(|span| self.write_place(out, *span))?;
        }
        for (inner, title) in
            [(false, "accumulated into memory by the derivative of:"), (true, "the same, opened in an inner loop:")]
        {
            let spans: Vec<Span> =
                self.accumulated.iter().filter(|(_, is_inner)| *is_inner == inner).map(|(span, _)| *span).collect();
            if !spans.is_empty() {
                writeln!(out, "{title}")?;
                spans.iter().try_for_each(|span| self.write_place(out, *span))?;
            }
        }
        Ok(())
    }

    fn write_places(&self, out: &mut String, word: &str, spans: &[Span]) -> std::fmt::Result {
        for span in spans {
            let (position, text) = self.place(*span);
            writeln!(out, "    {word} `{text}` at {position}")?;
        }
        Ok(())
    }

    fn write_place(&self, out: &mut String, span: Span) -> std::fmt::Result {
        let (position, text) = self.place(span);
        writeln!(out, "  `{text}` at {position}")
    }
}
