//! What can go wrong when a program is compiled and called.

use crate::render::{self, Style};
use crate::values::ValueError;
use chadwick_interp::RuntimeError;
use chadwick_source::{Diagnostic, SourceMap};
use std::fmt;
use std::sync::Arc;

pub type Result<T> = std::result::Result<T, Error>;

/// An error with all that is needed to explain it. [`Display`](fmt::Display) writes it for people, with source lines.
#[derive(Clone, Debug)]
pub enum Error {
    /// A file that cannot be read.
    File { path: String, message: String },
    /// The program does not compile. The diagnostics hold warnings too.
    Compile { diagnostics: Vec<Diagnostic>, map: Arc<SourceMap> },
    /// The program failed while running.
    Runtime { error: RuntimeError, map: Arc<SourceMap> },
    /// The program has no such entry point.
    NoSuchFunction { name: String, known: Vec<String> },
    /// Arguments, seeds or cotangents that do not fit; or a result that is no data.
    Argument { message: String },
    /// A call that names no parameter that there is, or gives too few or too many arguments.
    Usage { message: String },
    /// There is no C compiler, or it cannot be used.
    NoNativeCode { message: String },
    /// A file of values that cannot be read.
    Value { source: String, error: ValueError },
}

impl Error {
    /// Diagnostics of a program. One about the prelude is about the place in the program from which that was reached, if it is known.
    pub(crate) fn compile(mut diagnostics: Vec<Diagnostic>, map: Arc<SourceMap>) -> Error {
        for diagnostic in diagnostics.iter_mut().filter(|one| !render::is_in_program(one.primary.span, &map)) {
            let inside = diagnostic.secondary.iter().position(|label| render::is_in_program(label.span, &map));
            if let Some(inside) = inside {
                diagnostic.primary.span = diagnostic.secondary.remove(inside).span;
            }
        }
        Error::Compile { diagnostics, map }
    }

    pub fn usage(message: impl Into<String>) -> Error {
        Error::Usage { message: message.into() }
    }

    pub fn argument(message: impl Into<String>) -> Error {
        Error::Argument { message: message.into() }
    }

    /// Whether an engine said that it does not take the program.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Error::Compile { diagnostics, .. } if diagnostics.iter().any(|one| one.code == "E0410"))
    }

    /// Where in the source something is wrong, if that is known.
    pub fn place(&self) -> Option<String> {
        match self {
            Error::Compile { diagnostics, map } => {
                diagnostics.iter().find(|one| one.is_error()).map(|one| map.position(one.primary.span))
            }
            Error::Runtime { error, map } => Some(map.position(error.span)),
            _ => None,
        }
    }

    /// Whether a call was ended by a limit on time, memory or depth.
    pub fn is_limit(&self) -> bool {
        use chadwick_interp::ErrorKind::{Deadline, DepthLimit, MemoryLimit};
        matches!(self, Error::Runtime { error, .. } if matches!(error.kind, Deadline | DepthLimit | MemoryLimit))
    }

    /// The text for people; ends without a newline.
    pub fn render(&self, style: Style) -> String {
        match self {
            Error::Compile { diagnostics, map } => render::diagnostics(diagnostics, map, style).trim_end().to_owned(),
            Error::Runtime { error, map } => render::runtime_error(error, map, style).trim_end().to_owned(),
            other => render::plain_error(&other.message(), style),
        }
    }

    /// What is wrong, without source lines.
    pub fn message(&self) -> String {
        match self {
            Error::File { path, message } => format!("{path}: {message}"),
            Error::Compile { diagnostics, .. } => {
                diagnostics.iter().find(|one| one.is_error()).map_or_else(String::new, |one| one.message.clone())
            }
            Error::Runtime { error, .. } => error.message.clone(),
            Error::NoSuchFunction { name, known } => match known.as_slice() {
                [] => format!("there is no entry point `{name}`; the program has none"),
                known => format!("there is no entry point `{name}`; there is {}", listed(known)),
            },
            Error::Argument { message } | Error::Usage { message } => message.clone(),
            Error::NoNativeCode { message } => format!("no native code: {message}"),
            Error::Value { source, error } => format!("{source}: {error}"),
        }
    }
}

/// `a`, `b` and `c`
pub(crate) fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::from("nothing"),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::default()))
    }
}

impl std::error::Error for Error {}
