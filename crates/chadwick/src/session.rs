//! Expressions one at a time: definitions that accumulate, and expressions evaluated among them.
//!
//! Every input is compiled together with all definitions before it, as one text. Places in messages are those of the input alone.

use crate::compile::{self, FileLoader, Loader};
use crate::error::{Error, Result};
use crate::program::{Program, retain_entries, with_deep_stack};
use crate::show;
use chadwick_core as core;
use chadwick_interp::Limits;
use chadwick_source::{Diagnostic, FileId, Label, SourceMap, Span};
use chadwick_types::{tree, ty};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the definition that an expression becomes.
const RESULT: &str = "it";

/// The name of inputs in messages.
const INPUT: &str = "<input>";

/// Definitions so far.
pub struct Session {
    /// A file whose definitions come first.
    file: Option<(PathBuf, String)>,
    definitions: String,
    limits: Limits,
    trace: fn(&str, &str),
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    Definitions,
    Expression,
    /// The input ends too soon.
    Incomplete,
}

/// The value of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// As the language would write it.
    pub value: String,
    pub ty: String,
}

impl Default for Session {
    fn default() -> Self {
        Session { file: None, definitions: String::new(), limits: Limits::default(), trace: |_, _| {} }
    }
}

impl Session {
    pub fn new() -> Session {
        Session::default()
    }

    /// What evaluations may use, from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Where the values of `trace` go.
    pub fn set_trace(&mut self, sink: fn(&str, &str)) {
        self.trace = sink;
    }

    /// Starts anew with the definitions of a file.
    pub fn load(&mut self, path: &Path) -> Result<()> {
        let text = FileLoader.load(path).map_err(|message| Error::File { path: path.display().to_string(), message })?;
        with_deep_stack(|| {
            let checked = compile::check(path, &text, &FileLoader);
            match checked.has_errors() {
                true => Err(Error::Compile { diagnostics: checked.diagnostics, map: Arc::new(checked.map) }),
                false => Ok(()),
            }
        })?;
        self.file = Some((path.to_path_buf(), text));
        self.definitions.clear();
        Ok(())
    }

    /// Whether an input is definitions, an expression, or the beginning of either.
    pub fn kind(text: &str) -> InputKind {
        let program = chadwick_syntax::parse_program(FileId::default(), text);
        if !program.has_errors() {
            return InputKind::Definitions;
        }
        let expression = chadwick_syntax::parse_expression(FileId::default(), text);
        match expression.has_errors() && (expression.incomplete || program.incomplete) {
            true => InputKind::Incomplete,
            false if expression.has_errors() && starts_definition(text) => InputKind::Definitions,
            false => InputKind::Expression,
        }
    }

    /// Adds definitions.
    pub fn define(&mut self, text: &str) -> Result<()> {
        with_deep_stack(|| self.compile("", text, false).map(drop))?;
        self.definitions.push_str(text);
        self.definitions.push('\n');
        Ok(())
    }

    /// The value and the type of an expression.
    ///
    /// ```
    /// let session = chadwick::session::Session::new();
    /// let result = session.evaluate("map (\\x -> (x, x * x)) [1, 2]")?;
    /// assert_eq!((result.value.as_str(), result.ty.as_str()), ("[(1i32, 1i32), (2i32, 4i32)]", "[2](i32, i32)"));
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn evaluate(&self, text: &str) -> Result<Evaluated> {
        with_deep_stack(|| self.evaluate_on_this_stack(text))
    }

    fn evaluate_on_this_stack(&self, text: &str) -> Result<Evaluated> {
        let typed = self.compile(&format!("def {RESULT} ="), text, false)?;
        let Some(typed) = definition(&typed.tree, RESULT) else { return Err(Error::argument("the expression has no type")) };
        let ty = typed.scheme.to_string();
        if matches!(typed.scheme.ty, ty::Type::Arrow(_)) {
            return Ok(Evaluated { value: String::from("<function>"), ty });
        }
        let compiled = self.compile(&format!("entry {RESULT} ="), text, true)?;
        let Compiled { tree, core, map, shift, warnings } = compiled;
        let core = core.ok_or_else(|| Error::argument("the expression has no value"))?;
        let program = Program::from_core(core, map, warnings);
        program.set_limits(self.limits);
        program.set_trace(self.trace);
        let function = program.function(RESULT)?;
        let values = function.call_core(&[]).map_err(|error| shift.error(error))?;
        let source_type = definition(&tree, RESULT).map(|definition| &definition.scheme.ty);
        Ok(Evaluated { value: show::results(&tree, program.core(), function.core_entry(), source_type, &values), ty })
    }

    /// The type of an expression.
    pub fn type_of(&self, text: &str) -> Result<String> {
        with_deep_stack(|| {
            let compiled = self.compile(&format!("def {RESULT} ="), text, false)?;
            Ok(definition(&compiled.tree, RESULT).map_or_else(String::new, |definition| definition.scheme.to_string()))
        })
    }

    /// The Core of an expression.
    pub fn core_of(&self, text: &str) -> Result<String> {
        with_deep_stack(|| {
            let compiled = self.compile(&format!("entry {RESULT} ="), text, true)?;
            Ok(compiled.core.map_or_else(String::new, |core| core::text::print(&core)))
        })
    }

    fn compile(&self, before: &str, input: &str, to_core: bool) -> Result<Compiled> {
        let (path, mut text) = match &self.file {
            Some((path, text)) => (path.clone(), format!("{text}\n")),
            None => (PathBuf::from(INPUT), String::new()),
        };
        text.push_str(&self.definitions);
        text.push_str(before);
        text.push('\n');
        let start = text.len() as u32;
        text.push_str(input);
        text.push('\n');
        let mut checked = compile::check(&path, &text, &FileLoader);
        retain_entries(&mut checked.tree, |name| name == RESULT);
        let core = if to_core { compile::lower(&mut checked) } else { None };
        let mut map = checked.map.clone();
        let shift = Shift { root: root_file(&map, &path), start, input: map.add(INPUT, input) };
        checked.diagnostics.iter_mut().for_each(|diagnostic| shift.diagnostic(diagnostic));
        let map = Arc::new(map);
        match checked.has_errors() {
            true => Err(Error::Compile { diagnostics: checked.diagnostics, map }),
            false => Ok(Compiled { tree: checked.tree, core, map, shift, warnings: checked.diagnostics }),
        }
    }
}

struct Compiled {
    tree: tree::Program,
    core: Option<core::Program>,
    map: Arc<SourceMap>,
    shift: Shift,
    warnings: Vec<Diagnostic>,
}

fn definition<'t>(tree: &'t tree::Program, name: &str) -> Option<&'t tree::Definition> {
    tree.definitions.iter().rev().find(|definition| definition.name == name).map(|definition| &**definition)
}

/// The file of the whole text: the first of that name.
fn root_file(map: &SourceMap, path: &Path) -> FileId {
    let name = path.display().to_string();
    FileId(map.files().iter().position(|file| file.name == name).unwrap_or(0) as u32)
}

/// Whether a text begins as definitions do.
fn starts_definition(text: &str) -> bool {
    const WORDS: [&str; 8] = ["def", "entry", "type", "type~", "module", "open", "import", "local"];
    text.split_whitespace().next().is_some_and(|word| WORDS.contains(&word) || word.starts_with("#["))
}

/// From places in the whole text to places in the input.
#[derive(Clone, Copy)]
struct Shift {
    root: FileId,
    start: u32,
    input: FileId,
}

impl Shift {
    fn span(self, span: &mut Span) {
        if span.file == self.root && span.end >= self.start && *span != Span::default() {
            let by = |offset: u32| offset.saturating_sub(self.start);
            *span = Span { file: self.input, start: by(span.start), end: by(span.end), ..*span };
        }
    }

    fn diagnostic(self, diagnostic: &mut Diagnostic) {
        let labels = std::iter::once(&mut diagnostic.primary).chain(&mut diagnostic.secondary);
        labels.for_each(|label: &mut Label| self.span(&mut label.span));
    }

    fn error(self, error: Error) -> Error {
        match error {
            Error::Runtime { mut error, map } => {
                self.span(&mut error.span);
                error.trace.iter_mut().for_each(|call| self.span(&mut call.span));
                Error::Runtime { error, map }
            }
            other => other,
        }
    }
}
