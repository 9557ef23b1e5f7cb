//! Programs and their entry points.

use crate::compile::{self, FileLoader, Loader};
use crate::derivative::DerivativeKey;
use crate::error::{Error, Result};
use crate::function::Function;
use chadwick_core as core;
use chadwick_interp::{Counters, Interpreter, Limits, RuntimeError};
pub use chadwick_runtime::Options as NativeOptions;
use chadwick_runtime::{Cache, Config, NativeProgram};
use chadwick_source::{Diagnostic, SourceMap, Span};
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A compiled program.
///
/// ```
/// use chadwick::Program;
/// let program = Program::from_source("entry square (x: f64) = x * x")?;
/// let result = program.function("square")?.call(&[3.0.into()])?;
/// assert_eq!(result[0].as_scalar::<f64>(), Some(9.0));
/// # Ok::<(), chadwick::Error>(())
/// ```
///
/// A program stays on its thread; compile it once per thread where several are needed.
#[derive(Clone)]
pub struct Program {
    pub(crate) inner: Rc<Inner>,
}

pub(crate) struct Inner {
    pub map: Arc<SourceMap>,
    /// As it comes from the front end, derivative operators and all.
    pub lowered: Rc<core::Program>,
    /// As it is run.
    pub core: Rc<core::Program>,
    /// As it was asked for.
    pub engine: compile::Engine,
    /// What it came to.
    choice: Choice,
    pub warnings: Vec<Diagnostic>,
    pub interpreter: RefCell<Interpreter>,
    pub limits: Cell<Limits>,
    /// The most memory that the interpreter's last call took up.
    pub peak: Cell<usize>,
    /// The program in native code, if that is what runs it.
    pub native: Option<RefCell<NativeProgram>>,
    /// Whether the interpreter may run what the C compiler fails on.
    pub may_be_interpreted: Cell<bool>,
    /// What is to be said, where it does.
    interpreted: OnceCell<Vec<Diagnostic>>,
    backend: Backend,
    /// The program as it runs, if what runs it is found when a function is first wanted.
    ready: OnceCell<Program>,
    /// Programs for the derivatives of entry points, made when they are first wanted.
    pub derivatives: RefCell<FxHashMap<DerivativeKey, Program>>,
}

/// What a program is made of.
struct Parts {
    lowered: Rc<core::Program>,
    core: Rc<core::Program>,
    map: Arc<SourceMap>,
    warnings: Vec<Diagnostic>,
    engine: compile::Engine,
    choice: Choice,
    backend: Backend,
    native: Option<RefCell<NativeProgram>>,
}

/// The engine that differentiates a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub engine: compile::Engine,
    pub reason: String,
}

impl Choice {
    fn new(engine: compile::Engine, backend: Backend) -> Choice {
        match (engine, backend) {
            (compile::Engine::Auto, Backend::Interpreter) => {
                Choice { engine: compile::Engine::Builtin, reason: String::from("the interpreter differentiates as it runs") }
            }
            (engine, _) => Choice::for_code(engine),
        }
    }

    /// Where derivatives are to be code.
    pub(crate) fn for_code(engine: compile::Engine) -> Choice {
        use compile::Engine::{Auto, ChadFast};
        let (engine, reason) = match engine {
            Auto => {
                (ChadFast, "it has a rule for every construct of the program, and the work is a constant times the function's")
            }
            engine => (engine, "it was asked for"),
        };
        Choice { engine, reason: String::from(reason) }
    }
}

/// What runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Native code, made when a function is first called; the interpreter, with a warning, where there is no C compiler, and for engines that
    /// have no native code.
    #[default]
    Automatic,
    /// The reference interpreter.
    Interpreter,
    /// C, made by the system's compiler and kept in a cache on disk.
    Native(NativeOptions),
}

/// An entry point as the source declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// One per component, where the result is a tuple.
    pub results: Vec<Parameter>,
}

/// A parameter or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Empty where the source gives no name.
    pub name: String,
    /// As the source writes it.
    pub ty: String,
    /// How many values it takes up: a tuple or record is passed as its components.
    pub values: usize,
}

impl Program {
    /// Compiles a program given as text. It may import files relative to the working directory. Its functions run as native code where
    /// there is a C compiler ([`Backend::Automatic`]).
    pub fn from_source(text: &str) -> Result<Program> {
        Program::compile(Path::new("<source>"), text, &FileLoader)?.with_backend(Backend::Automatic)
    }

    /// Compiles a file and what it imports. Its functions run as native code where there is a C compiler ([`Backend::Automatic`]).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Program> {
        let path = path.as_ref();
        let text = FileLoader.load(path).map_err(|message| Error::File { path: path.display().to_string(), message })?;
        Program::compile(path, &text, &FileLoader)?.with_backend(Backend::Automatic)
    }

    /// Compiles a text; `path` is its name in messages and where its imports are relative to. The interpreter runs it, until another back
    /// end is chosen.
    pub fn compile(path: &Path, text: &str, loader: &dyn Loader) -> Result<Program> {
        Program::compile_entries(path, text, loader, |_| true)
    }

    /// [`Program::compile`], as far as certain entry points need it.
    pub fn compile_entries(path: &Path, text: &str, loader: &dyn Loader, wanted: impl Fn(&str) -> bool) -> Result<Program> {
        // The trees of deep programs need a deep stack to be dropped, too.
        let (map, diagnostics, core) = with_deep_stack(|| {
            let mut checked = compile::check(path, text, loader);
            retain_entries(&mut checked.tree, wanted);
            let core = compile::lower(&mut checked);
            (Arc::new(checked.map), checked.diagnostics, core)
        });
        match core {
            Some(core) => Ok(Program::from_core(core, map, diagnostics)),
            None => Err(Error::Compile { diagnostics, map }),
        }
    }

    /// The same program, differentiated by another engine.
    ///
    /// ```
    /// use chadwick::{Program, compile::Engine};
    ///
    /// let program = Program::from_source("entry slope (x: f64) = vjp (\\y -> y * y) x 1")?;
    /// let compiled = program.with_engine(Engine::ChadFast)?;
    /// assert_eq!(compiled.function("slope")?.call(&[3.0.into()])?, [6.0.into()]);
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn with_engine(&self, engine: compile::Engine) -> Result<Program> {
        self.build((*self.inner.lowered).clone(), engine, self.inner.backend)
    }

    /// The same program at a later stage of the pipeline.
    pub fn at_stage(&self, stage: compile::Stage) -> Result<Program> {
        let mut core = (*self.inner.lowered).clone();
        let map = Arc::clone(&self.inner.map);
        match with_deep_stack(|| compile::advance(&mut core, self.inner.engine.reverse_mode(), stage)) {
            Ok(()) => Ok(Program::from_core(core, map, self.inner.warnings.clone())),
            Err(diagnostics) => Err(Error::compile(diagnostics, map)),
        }
    }

    /// The same program, run by another back end. Native code has its derivatives made by
    /// [`compile::Engine::ChadFast`] unless another engine was asked for.
    ///
    /// ```
    /// use chadwick::{Backend, NativeOptions, Program};
    ///
    /// let program = Program::from_source("entry slope (x: f64) = vjp (\\y -> y * y) x 1")?;
    /// match program.with_backend(Backend::Native(NativeOptions::default())) {
    ///     Ok(native) => assert_eq!(native.function("slope")?.call(&[3.0.into()])?, [6.0.into()]),
    ///     // Without a C compiler there is no native code.
    ///     Err(error) => println!("{error}"),
    /// }
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn with_backend(&self, backend: Backend) -> Result<Program> {
        self.build((*self.inner.lowered).clone(), self.inner.engine, backend)
    }

    /// The same program, differentiated by another engine and run by another back end.
    pub fn compiled(&self, engine: compile::Engine, backend: Backend) -> Result<Program> {
        self.build((*self.inner.lowered).clone(), engine, backend)
    }

    /// The program whose one entry point gives the results of `entry` and its derivative: with arguments, and cotangents of the results
    /// (or tangents of the arguments `wrt`), to results, and cotangents of the arguments `wrt` (or tangents of the results).
    pub fn derivative_of(&self, entry: &str, wrt: &[usize], mode: core::Mode) -> Result<Program> {
        self.compiled_like(self.function(entry)?.lowered_with_derivative(wrt, mode)?)
    }

    /// The same program with no other entry point: an engine has to take only what this one needs.
    pub fn only(&self, entry: &str) -> Result<Program> {
        let at = self.position(entry)?;
        let mut lowered = (*self.inner.lowered).clone();
        lowered.entries = vec![lowered.entries.swap_remove(at)];
        self.compiled_like(lowered)
    }

    /// A lowered program, compiled as this one is.
    pub(crate) fn compiled_like(&self, lowered: core::Program) -> Result<Program> {
        self.build(lowered, self.inner.engine, self.inner.backend)
    }

    /// Whether derivatives are compiled rather than recorded as the program runs.
    pub(crate) fn is_compiled(&self) -> bool {
        self.inner.choice.engine != compile::Engine::Builtin
    }

    /// What differentiates this program, and why.
    ///
    /// ```
    /// use chadwick::{Backend, Program, compile::Engine};
    ///
    /// let program = Program::from_source("entry slope (x: f64) = vjp (\\y -> y * y) x 1")?;
    /// assert_eq!(program.with_backend(Backend::Interpreter)?.engine().engine, Engine::Builtin);
    /// assert_eq!(program.with_engine(Engine::ChadFast)?.engine().reason, "it was asked for");
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn engine(&self) -> &Choice {
        &self.as_it_runs().inner.choice
    }

    fn build(&self, lowered: core::Program, engine: compile::Engine, backend: Backend) -> Result<Program> {
        let map = Arc::clone(&self.inner.map);
        let lowered = Rc::new(lowered);
        let choice = Choice::new(engine, backend);
        if let (Backend::Automatic, compile::Engine::Auto) = (backend, engine) {
            let (core, warnings) = (Rc::clone(&lowered), self.inner.warnings.clone());
            return Ok(Program::assemble(Parts { lowered, core, map, warnings, engine, choice, backend, native: None }));
        }
        if let Backend::Native(_) = backend
            && !choice.engine.has_native_code()
        {
            let message = format!(
                "the engine `{}` is for the interpreter; `chad-fast`, `chad-efficient:parallel`, `dual:tape`, `dual:parallel`, `dual-arrays` and `linear-maps` have native code",
                choice.engine.name()
            );
            return Err(Error::NoNativeCode { message });
        }
        let mut core = Rc::clone(&lowered);
        if let Err(diagnostics) = with_deep_stack(|| compile::differentiate(Rc::make_mut(&mut core), choice.engine)) {
            let error = Error::compile(diagnostics, map);
            return if engine == compile::Engine::Auto && error.is_refusal() {
                Ok(self.interpreted(lowered, &error))
            } else {
                Err(error)
            };
        }
        let native = match backend {
            Backend::Interpreter | Backend::Automatic => None,
            Backend::Native(options) => {
                native_code_available().map_err(|message| Error::NoNativeCode { message })?;
                let line = |span: Span| source_line(&map, span);
                let config = Config { strict: options.strict, profiled: false, source_line: &line };
                let program = Rc::clone(&core);
                let native = with_deep_stack(|| NativeProgram::generate(program, options, Cache::standard(), &config));
                Some(RefCell::new(native))
            }
        };
        let warnings = self.inner.warnings.clone();
        Ok(Program::assemble(Parts { lowered, core, map, warnings, engine, choice, backend, native }))
    }

    /// The program as it runs: itself, unless what runs it is to be found.
    fn ready(&self) -> Result<&Program> {
        if self.inner.backend != Backend::Automatic {
            return Ok(self);
        }
        if let Some(ready) = self.inner.ready.get() {
            return Ok(ready);
        }
        let program = self.found()?;
        program.set_limits(self.inner.limits.get());
        Ok(self.inner.ready.get_or_init(|| program))
    }

    /// The program in native code if there can be some, else for the interpreter.
    fn found(&self) -> Result<Program> {
        if !Choice::for_code(self.inner.engine).engine.has_native_code() {
            return self.with_backend(Backend::Interpreter);
        }
        match self.with_backend(Backend::Native(NativeOptions::default())) {
            Err(Error::NoNativeCode { message }) => {
                Ok(self.with_backend(Backend::Interpreter)?.with_warning(interpreted_without(&message)))
            }
            found => {
                let program = found?;
                program.inner.may_be_interpreted.set(true);
                Ok(program)
            }
        }
    }

    /// The native code, ready to be called, if that is what runs the program.
    pub(crate) fn native(&self) -> Result<Option<RefMut<'_, NativeProgram>>> {
        let Some(native) = self.inner.native.as_ref().filter(|_| self.inner.interpreted.get().is_none()) else { return Ok(None) };
        let mut native = native.borrow_mut();
        match native.prepare(&mut |_, _| {}) {
            Ok(()) => Ok(Some(native)),
            Err(error) if self.inner.may_be_interpreted.get() => {
                let warning = interpreted_without(&error.to_string());
                self.inner.interpreted.get_or_init(|| [self.inner.warnings.as_slice(), &[warning]].concat());
                Ok(None)
            }
            Err(error) => Err(Error::NoNativeCode { message: error.to_string() }),
        }
    }

    /// Compiles native code now, and not when a function is first called.
    ///
    /// ```
    /// # use chadwick::Program;
    /// let program = Program::from_source("entry square (x: f64) = x * x")?;
    /// program.prepare()?;
    /// assert_eq!(program.function("square")?.call(&[3.0.into()])?, [9.0.into()]);
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn prepare(&self) -> Result<()> {
        self.ready()?.native().map(|_| ())
    }

    fn with_warning(&self, warning: Diagnostic) -> Program {
        let Inner { map, lowered, core, engine, choice, backend, .. } = &*self.inner;
        let warnings = [self.inner.warnings.as_slice(), &[warning]].concat();
        let (map, lowered, core, choice) = (Arc::clone(map), Rc::clone(lowered), Rc::clone(core), choice.clone());
        let (engine, backend) = (*engine, *backend);
        Program::assemble(Parts { lowered, core, map, warnings, engine, choice, backend, native: None })
    }

    /// The program as it runs, if it does; itself before anything was run.
    fn as_it_runs(&self) -> &Program {
        self.inner.ready.get().unwrap_or(self)
    }

    /// A program that cannot be all code, for a reason: the interpreter runs it, with a warning. Of its derivatives those are code that can be.
    fn interpreted(&self, lowered: Rc<core::Program>, refusal: &Error) -> Program {
        let map = Arc::clone(&self.inner.map);
        let (engine, backend) = (compile::Engine::Builtin, Backend::Interpreter);
        let mut warnings = self.inner.warnings.clone();
        if let Error::Compile { diagnostics, .. } = refusal {
            let refused = diagnostics.iter().filter(|one| one.is_error());
            warnings.extend(refused.map(|one| {
                let message = format!("{}; the interpreter runs the program instead, more slowly", one.message);
                Diagnostic::warning("W0411", one.primary.span, message)
            }));
        }
        let place = refusal.place().map_or_else(String::new, |place| format!(" ({place})"));
        let choice = Choice { engine, reason: format!("{}{place}", refusal.message()) };
        let mut core = (*lowered).clone();
        let core = match with_deep_stack(|| compile::differentiate_where_possible(&mut core)) {
            Ok(_) => Rc::new(core),
            Err(_) => Rc::clone(&lowered),
        };
        Program::assemble(Parts { core, lowered, map, warnings, engine, choice, backend, native: None })
    }

    /// The C text of the program, if it runs natively.
    pub fn c_text(&self) -> Option<String> {
        self.as_it_runs().inner.native.as_ref().map(|native| native.borrow().c_text())
    }

    /// A lowered program in native code; `observe` hears how long each step takes. It is compiled anew.
    pub(crate) fn build_observed(
        &self,
        lowered: core::Program,
        options: NativeOptions,
        profiled: bool,
        observe: &mut dyn FnMut(&str, Duration),
    ) -> Result<Program> {
        let map = Arc::clone(&self.inner.map);
        let lowered = Rc::new(lowered);
        let mut core = Rc::clone(&lowered);
        let native = with_deep_stack(|| {
            let mode = self.inner.engine.reverse_mode();
            compile::advance_observed(Rc::make_mut(&mut core), mode, compile::Stage::Optimise, observe)
                .map_err(|diagnostics| Error::compile(diagnostics, Arc::clone(&map)))?;
            let line = |span: Span| if profiled { profiled_line(&map, span) } else { source_line(&map, span) };
            let config = Config { strict: options.strict, profiled, source_line: &line };
            let started = Instant::now();
            let mut native = NativeProgram::generate(Rc::clone(&core), options, Cache::standard().without_libraries(), &config);
            observe("code generation", started.elapsed());
            native.prepare(observe).map_err(|error| Error::NoNativeCode { message: error.to_string() })?;
            Ok(native)
        })?;
        let (warnings, backend) = (self.inner.warnings.clone(), Backend::Native(options));
        let (engine, native) = (self.inner.engine, Some(RefCell::new(native)));
        let choice = Choice::new(engine, backend);
        Ok(Program::assemble(Parts { lowered, core, map, warnings, engine, choice, backend, native }))
    }

    /// A program that is in Core already.
    pub fn from_core(core: core::Program, map: Arc<SourceMap>, warnings: Vec<Diagnostic>) -> Program {
        let core = Rc::new(core);
        let (engine, backend) = (compile::Engine::Auto, Backend::Interpreter);
        let choice = Choice::new(engine, backend);
        Program::assemble(Parts { lowered: Rc::clone(&core), core, map, warnings, engine, choice, backend, native: None })
    }

    fn assemble(parts: Parts) -> Program {
        let Parts { lowered, core, map, warnings, engine, choice, backend, native } = parts;
        let limits = Limits::default();
        let interpreter = RefCell::new(Interpreter::new(Rc::clone(&core), limits));
        let (limits, derivatives) = (Cell::new(limits), RefCell::default());
        let (peak, ready) = (Cell::new(0), OnceCell::new());
        let (may_be_interpreted, interpreted) = (Cell::new(false), OnceCell::new());
        let inner = Inner {
            map,
            lowered,
            core,
            engine,
            choice,
            warnings,
            interpreter,
            limits,
            peak,
            native,
            may_be_interpreted,
            interpreted,
            backend,
            ready,
            derivatives,
        };
        Program { inner: Rc::new(inner) }
    }

    /// What the functions of this program may use, from now on.
    pub fn set_limits(&self, limits: Limits) {
        self.inner.limits.set(limits);
        self.inner.interpreter.borrow_mut().set_limits(limits);
        if let Some(ready) = self.inner.ready.get() {
            ready.set_limits(limits);
        }
    }

    /// Interprets something again and again, as [`Function::call_in_batches`] does. Each call has the time that was left for the first one.
    pub(crate) fn in_batches<T>(
        &self,
        mut call: impl FnMut() -> Result<T>,
        next: &mut dyn FnMut(Duration) -> usize,
    ) -> Result<T> {
        let limits = self.inner.limits.get();
        let allowed = limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let mut calls = 1;
        let result = loop {
            let started = Instant::now();
            let mut result = call();
            for _ in 1..calls {
                if result.is_err() {
                    break;
                }
                self.set_deadline(limits, allowed);
                result = call();
            }
            if result.is_err() {
                break result;
            }
            calls = next(started.elapsed());
            if calls == 0 {
                break result;
            }
            self.set_deadline(limits, allowed);
        };
        self.set_limits(limits);
        result
    }

    /// The same limits, but with so much time from now on.
    fn set_deadline(&self, limits: Limits, allowed: Option<Duration>) {
        if let Some(allowed) = allowed {
            self.set_limits(Limits { deadline: Instant::now().checked_add(allowed), ..limits });
        }
    }

    /// Where the values of `trace` go; each call gets a tag and the values as text.
    pub fn set_trace(&self, sink: impl FnMut(&str, &str) + 'static) {
        let sink = Rc::new(RefCell::new(sink));
        let write = move |tag: &str, values: &[chadwick_interp::Value]| {
            let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
            (sink.borrow_mut())(tag, &texts.join(" "));
        };
        // What does not compile has nothing to trace; whoever asks for a function is told.
        let program = self.ready().unwrap_or(self);
        if let Some(native) = &program.inner.native {
            native.borrow_mut().set_trace(write.clone());
        }
        program.inner.interpreter.borrow_mut().set_trace(write);
    }

    /// The most bytes that values took up at one time in the last call of a function of this program.
    ///
    /// ```
    /// # use chadwick::Program;
    /// let program = Program::from_source("entry f (n: i64) = scan (+) 0 (iota n)")?;
    /// program.function("f")?.call(&[1000i64.into()])?;
    /// assert!(program.peak_memory() >= 8000);
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn peak_memory(&self) -> usize {
        let program = self.as_it_runs();
        match program.inner.native.as_ref().filter(|_| program.inner.interpreted.get().is_none()) {
            Some(native) => native.borrow().peak_bytes(),
            None => program.inner.peak.get(),
        }
    }

    /// Runs the interpreter and notes the most memory that it takes up.
    pub(crate) fn noting_peak<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = chadwick_interp::live_bytes();
        chadwick_interp::restart_peak();
        let result = work();
        self.inner.peak.set(chadwick_interp::peak_bytes().saturating_sub(before));
        result
    }

    /// Work done so far. Only the interpreter counts.
    pub fn counters(&self) -> Counters {
        self.as_it_runs().inner.interpreter.borrow().counters()
    }

    pub fn reset_counters(&self) {
        self.as_it_runs().inner.interpreter.borrow_mut().reset_counters();
    }

    pub fn warnings(&self) -> &[Diagnostic] {
        let inner = &self.as_it_runs().inner;
        inner.interpreted.get().unwrap_or(&inner.warnings)
    }

    pub fn source_map(&self) -> &Arc<SourceMap> {
        &self.inner.map
    }

    pub fn core(&self) -> &core::Program {
        &self.inner.core
    }

    /// The program in the textual form of Core.
    pub fn core_text(&self) -> String {
        core::text::print(&self.inner.core)
    }

    /// The entry points in order of their definitions.
    ///
    /// ```
    /// # use chadwick::Program;
    /// let program = Program::from_source("entry dot [n] (x: [n]f64) (y: [n]f64) = f64.sum (map2 (*) x y)")?;
    /// let dot = &program.entry_points()[0];
    /// assert_eq!((dot.name.as_str(), dot.parameters[1].name.as_str()), ("dot", "y"));
    /// assert_eq!(dot.parameters[1].ty, "[n]f64");
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn entry_points(&self) -> Vec<EntryPoint> {
        self.inner.core.entries.iter().map(EntryPoint::of).collect()
    }

    /// An entry point by its name.
    pub fn function(&self, name: &str) -> Result<Function> {
        let entry = self.position(name)?;
        Ok(Function { program: self.ready()?.clone(), entry, wrt: None })
    }

    fn position(&self, name: &str) -> Result<usize> {
        let entries = &self.inner.core.entries;
        entries.iter().position(|entry| entry.name == name).ok_or_else(|| {
            let known = entries.iter().map(|entry| entry.name.to_string()).collect();
            Error::NoSuchFunction { name: name.to_owned(), known }
        })
    }

    pub(crate) fn runtime_error(&self, error: RuntimeError) -> Error {
        Error::Runtime { error, map: Arc::clone(&self.inner.map) }
    }
}

impl EntryPoint {
    pub(crate) fn of(entry: &core::Entry) -> EntryPoint {
        let parameter = |value: &core::EntryValue| Parameter {
            name: value.name.to_string(),
            ty: value.source_type.clone(),
            values: value.types.len(),
        };
        EntryPoint {
            name: entry.name.to_string(),
            parameters: entry.params.iter().map(parameter).collect(),
            results: entry.results.iter().map(parameter).collect(),
        }
    }
}

/// `dot : (x: [n]f64) -> (y: [n]f64) -> f64`
impl std::fmt::Display for EntryPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} : ", self.name)?;
        for parameter in &self.parameters {
            match parameter.name.as_str() {
                "" => write!(f, "{} -> ", parameter.ty)?,
                name => write!(f, "({name}: {}) -> ", parameter.ty)?,
            }
        }
        match self.results.as_slice() {
            named if !named.is_empty() && named.iter().all(|result| !result.name.is_empty()) => {
                let fields: Vec<String> = named.iter().map(|result| format!("{}: {}", result.name, result.ty)).collect();
                write!(f, "{{{}}}", fields.join(", "))
            }
            [one] => f.write_str(&one.ty),
            many => {
                let types: Vec<&str> = many.iter().map(|result| result.ty.as_str()).collect();
                write!(f, "({})", types.join(", "))
            }
        }
    }
}

/// The compiler recurses over programs; deep ones need more stack than threads usually have.
pub(crate) fn with_deep_stack<T>(work: impl FnOnce() -> T) -> T {
    const NEEDED: usize = 128 * 1024 * 1024;
    const RESERVED: usize = 512 * 1024 * 1024;
    stacker::maybe_grow(NEEDED, RESERVED, work)
}

fn interpreted_without(native_code: &str) -> Diagnostic {
    let message = format!("{native_code}; the interpreter runs the program instead, more slowly");
    Diagnostic::warning("W0412", Span::default(), message)
}

/// Whether there is a C compiler; if not, why.
pub fn native_code_available() -> std::result::Result<(), String> {
    chadwick_runtime::Compiler::find().map(|_| ()).map_err(|error| error.to_string())
}

/// The line of the program's own text that a span is about; nothing for the prelude.
pub(crate) fn source_line(map: &SourceMap, span: Span) -> Option<String> {
    let file = map.file(span.file)?;
    if file.name.starts_with("<prelude") || span == Span::default() {
        return None;
    }
    let place = file.line_column(span.start);
    let text = file.text.lines().nth(place.line.saturating_sub(1))?.trim();
    Some(format!("{}: {text}", place.line))
}

/// The same, with the name of the file in front if that is not the program's.
fn profiled_line(map: &SourceMap, span: Span) -> Option<String> {
    let line = source_line(map, span)?;
    let name = &map.file(span.file)?.name;
    Some(if Some(name.as_str()) == main_file(map) { line } else { format!("{name}:{line}") })
}

/// The name of the program's own file: behind the prelude comes what was compiled, then what that imports.
pub(crate) fn main_file(map: &SourceMap) -> Option<&str> {
    map.files().iter().map(|file| file.name.as_str()).find(|name| !name.starts_with("<prelude"))
}

/// Forgets the entry points that are not wanted.
pub(crate) fn retain_entries(tree: &mut chadwick_types::tree::Program, wanted: impl Fn(&str) -> bool) {
    let definitions = &tree.definitions;
    let name = |id| definitions.iter().find(|definition| definition.id == id).map(|definition| definition.name.clone());
    tree.entries.retain(|id| name(*id).is_some_and(|name| wanted(&name)));
}
