//! Where the time of compiling and running an entry point goes.

use crate::compile::{self, Loader};
use crate::derivative::gradient_seed;
use crate::error::{Error, Result};
use crate::program::{NativeOptions, Program, main_file, retain_entries, with_deep_stack};
use chadwick_core::Mode;
pub use chadwick_runtime::Profile;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What to profile.
#[derive(Clone, Debug)]
pub struct Request {
    pub entry: String,
    /// Value and gradient rather than the value alone.
    pub gradient: bool,
    /// The parameters to differentiate by; all floats if none is named.
    pub wrt: Vec<String>,
    pub options: NativeOptions,
}

/// A program that was watched while it was compiled.
pub struct Profiled {
    /// The steps of the compiler and how long they took, in order. Passes that run several times are there several times.
    pub steps: Vec<(String, Duration)>,
    /// As it would run otherwise. Its only entry point is the one asked for, or its gradient, with the same parameters.
    pub program: Program,
    /// The same, but it tells what it does.
    watched: Program,
}

/// Where a line of a profile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub file: &'a str,
    pub line: Option<u64>,
    pub text: &'a str,
}

/// Compiles an entry point and notes how long everything takes.
pub fn compile(path: &Path, text: &str, loader: &dyn Loader, request: &Request) -> Result<Profiled> {
    let mut steps: Vec<(String, Duration)> = Vec::new();
    let mut observe = |name: &str, time: Duration| steps.push((name.to_owned(), time));
    let (map, diagnostics, core) = with_deep_stack(|| {
        let started = Instant::now();
        let mut checked = compile::check(path, text, loader);
        observe("parse and check", started.elapsed());
        retain_entries(&mut checked.tree, |name| name == request.entry);
        let started = Instant::now();
        let core = compile::lower(&mut checked);
        observe("lower", started.elapsed());
        (Arc::new(checked.map), checked.diagnostics, core)
    });
    let Some(core) = core else { return Err(Error::Compile { diagnostics, map }) };
    let front = Program::from_core(core, map, diagnostics);
    let mut function = front.function(&request.entry)?;
    let mut lowered = (*front.inner.lowered).clone();
    if request.gradient {
        if !request.wrt.is_empty() {
            function = function.wrt(&request.wrt)?;
        }
        function.gradient()?;
        let (wrt, seed) = (function.wrt_arguments()?, gradient_seed(&function));
        lowered.entries = vec![function.add_derivative(&mut lowered, &wrt, Mode::Vjp, Some(vec![seed]))?];
    }
    let program = front.build_observed(lowered.clone(), request.options, false, &mut observe)?;
    let watched = front.build_observed(lowered, request.options, true, &mut |_, _| {})?;
    Ok(Profiled { steps, program, watched })
}

impl Profiled {
    /// The program that tells what it does: its calls count for [`Profiled::profile`].
    pub fn watched(&self) -> &Program {
        &self.watched
    }

    /// What the calls of the watched program did so far.
    pub fn profile(&self) -> Option<Profile> {
        self.watched.inner.native.as_ref()?.borrow().profile()
    }

    /// Takes apart what [`Profile::lines`] says.
    pub fn place<'a>(&'a self, line: &'a str) -> Place<'a> {
        let map = self.program.source_map();
        let imported = map.files().iter().find_map(|file| {
            let rest = line.strip_prefix(&file.name)?.strip_prefix(':')?;
            Some((file.name.as_str(), rest))
        });
        let (file, rest) = imported.unwrap_or((main_file(map).unwrap_or_default(), line));
        let (number, text) = rest.split_once(": ").unwrap_or(("", rest));
        Place { file, line: number.parse().ok(), text }
    }

    /// The size of the C text.
    pub fn c_bytes(&self) -> usize {
        self.program.inner.native.as_ref().map_or(0, |native| native.borrow().c_text().len())
    }
}
