//! The system's C compiler.

use crate::Options;
use crate::cache::Cache;
use chadwick_codegen::CText;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A C compiler: `CC` from the environment, else `cc`.
#[derive(Clone, Debug)]
pub struct Compiler {
    program: PathBuf,
    first_args: Vec<String>,
}

/// Why there is no native code.
#[derive(Clone, Debug)]
pub enum CompilerError {
    /// There is no compiler by that name.
    Missing(String),
    /// It did not take our code.
    Failed { command: String, message: String },
    /// Files could not be written or read, or the result not loaded.
    Io(String),
}

impl fmt::Display for CompilerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompilerError::Missing(name) => write!(f, "there is no C compiler `{name}`"),
            CompilerError::Failed { command, message } => write!(f, "the C compiler failed: {command}\n{message}"),
            CompilerError::Io(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for CompilerError {}

/// Files that a program is compiled in. What is compiled quickly is one file, since every file reads the same headers and types.
const MOST_UNITS: usize = 8;

/// What vectors and calls of small functions need, and little else that takes time by the square of a function's length.
const LONG_FUNCTION_FLAGS: [&str; 7] = [
    "-O1",
    "-finline-functions",
    "-finline-small-functions",
    "-foptimize-sibling-calls",
    "-fstrict-aliasing",
    "-ftree-vectorize",
    "-ftree-slp-vectorize",
];

/// Functions that the compiler must not evaluate itself: its results may differ from the library's in the last bit.
const LIBRARY_FUNCTIONS: [&str; 24] = [
    "exp", "expf", "log", "logf", "log2", "log2f", "log10", "log10f", "log1p", "log1pf", "sin", "sinf", "cos", "cosf", "tan",
    "tanf", "sinh", "cosh", "tanh", "tanhf", "pow", "powf", "cbrt", "hypot",
];

impl Compiler {
    pub fn find() -> Result<Compiler, CompilerError> {
        let command = std::env::var("CC").ok().filter(|cc| !cc.trim().is_empty()).unwrap_or_else(|| String::from("cc"));
        let mut words = command.split_whitespace().map(str::to_owned);
        let name = words.next().unwrap_or_else(|| String::from("cc"));
        match locate(&name) {
            Some(program) => Ok(Compiler { program, first_args: words.collect() }),
            None => Err(CompilerError::Missing(name)),
        }
    }

    /// The flags by which an object is compiled.
    fn flags(&self, options: Options) -> Vec<String> {
        let mut flags: Vec<String> = self.first_args.clone();
        flags.extend(code_flags(options, Processor::Native));
        flags.extend(["-fPIC", "-pthread", "-w", "-Werror=implicit-function-declaration"].map(String::from));
        flags
    }

    /// Compiles a file as a library of its own.
    pub fn library(&self, source: &Path, target: &Path, recipe: Recipe) -> Result<(), CompilerError> {
        match recipe.kind {
            LibraryKind::Shared => {
                let mut command = Command::new(&self.program);
                command.args(&self.first_args).args(recipe.flags()).arg("-o").arg(target).arg(source).arg("-lm");
                finish(command, target)
            }
            LibraryKind::Static => {
                // The object's name stays in the archive, so it does not depend on this process; its directory does.
                let directory = source.with_extension(format!("{}.tmp", std::process::id()));
                let object = directory.join(source.file_name().unwrap_or_default()).with_extension("o");
                std::fs::create_dir(&directory)
                    .map_err(|error| CompilerError::Io(format!("{}: {error}", directory.display())))?;
                let mut compile = Command::new(&self.program);
                compile.args(&self.first_args).args(recipe.flags()).arg("-o").arg(&object).arg(source);
                let made = finish(compile, &object).and_then(|()| {
                    let archiver = std::env::var("AR").ok().filter(|name| !name.trim().is_empty());
                    let archiver = archiver.as_deref().unwrap_or("ar");
                    let program = locate(archiver).ok_or_else(|| {
                        CompilerError::Io(format!("there is no program `{archiver}` that makes static libraries"))
                    })?;
                    let _ = std::fs::remove_file(target);
                    let mut archive = Command::new(program);
                    archive.arg("rcs").arg(target).arg(&object);
                    finish(archive, target)
                });
                let _ = std::fs::remove_dir_all(&directory);
                made
            }
        }
    }

    /// What makes two compilations of one text give the same code: flags, compiler, processor.
    fn identity(&self, options: Options) -> String {
        let stamp = std::fs::metadata(&self.program).map(|data| format!("{} {:?}", data.len(), data.modified().ok()));
        let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let describes = |line: &&str| line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features");
        let mut lines: Vec<&str> = processor.lines().filter(describes).collect();
        lines.dedup();
        lines.truncate(2);
        let (flags, long) = (self.flags(options), LONG_FUNCTION_FLAGS);
        format!("{:?} {flags:?} {long:?} {:?} {}", self.program, stamp.ok(), lines.join(" "))
    }

    /// The shared object for a program, from the cache or newly made. Its parts are compiled at the same time.
    pub fn shared_object(&self, text: &CText, options: Options, cache: &Cache) -> Result<PathBuf, CompilerError> {
        let identity = self.identity(options);
        cache.library(&[&text.whole(), &identity], |workplace, target| {
            let units = text.units(if options.quick { 1 } else { MOST_UNITS });
            let (runtime, program) = (units.runtime.iter().enumerate().rev(), units.program.iter().enumerate());
            // Matrix products take longest.
            let jobs: Vec<Job<'_>> = runtime
                .map(|(at, text)| Job {
                    text,
                    object: workplace.join(format!("runtime{at}.o")),
                    is_shared: true,
                    more_flags: &[],
                })
                .chain(program.map(|(at, unit)| Job {
                    text: &unit.text,
                    object: workplace.join(format!("program{at}.o")),
                    is_shared: false,
                    more_flags: if unit.has_long_function && !options.quick { &LONG_FUNCTION_FLAGS } else { &[] },
                }))
                .collect();
            side_by_side(&jobs, |job| match job.is_shared {
                false => self.object(job.text, workplace, &job.object, options, job.more_flags),
                true => {
                    let make = |workplace: &Path, target: &Path| self.object(job.text, workplace, target, options, &[]);
                    let code = cache.object(&[job.text, &identity], make)?;
                    write(&job.object, &code)
                }
            })?;
            let mut command = Command::new(&self.program);
            command.args(self.flags(options)).args(["-shared", "-o"]).arg(target);
            command.args(jobs.iter().map(|job| &job.object)).arg("-lm");
            finish(command, target)
        })
    }

    fn object(
        &self,
        text: &str,
        workplace: &Path,
        target: &Path,
        options: Options,
        more_flags: &[&str],
    ) -> Result<(), CompilerError> {
        let source = workplace.join(target.file_name().unwrap_or_default()).with_extension("c");
        write(&source, text.as_bytes())?;
        let mut command = Command::new(&self.program);
        command.args(self.flags(options)).args(more_flags).args(["-c", "-o"]).arg(target).arg(&source);
        finish(command, target)
    }
}

/// An object to make, of which others may have use, too.
struct Job<'a> {
    text: &'a str,
    object: PathBuf,
    is_shared: bool,
    more_flags: &'static [&'static str],
}

/// Does all jobs, as many at a time as there are processors; the error of the first that fails.
fn side_by_side<T: Sync>(jobs: &[T], run: impl Fn(&T) -> Result<(), CompilerError> + Sync) -> Result<(), CompilerError> {
    let next = AtomicUsize::new(0);
    let error = Mutex::new(None);
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(problem) = run(job) {
                next.store(jobs.len(), Ordering::Relaxed);
                error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
            }
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    std::thread::scope(|scope| {
        for _ in 1..processors.min(jobs.len()) {
            scope.spawn(work);
        }
        work();
    });
    error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CompilerError> {
    std::fs::write(path, bytes).map_err(|error| CompilerError::Io(format!("{}: {error}", path.display())))
}

/// How a library is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    pub kind: LibraryKind,
    pub options: Options,
    pub processor: Processor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryKind {
    Shared,
    Static,
}

/// What processor code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// The one that compiles it.
    Native,
    /// Any of its family.
    Any,
}

impl Recipe {
    /// The flags of the C compiler.
    pub fn flags(self) -> Vec<String> {
        let mut flags = code_flags(self.options, self.processor);
        flags.extend(["-fPIC", "-pthread", "-fvisibility=hidden", "-w"].map(String::from));
        flags.push(String::from(match self.kind {
            LibraryKind::Shared => "-shared",
            LibraryKind::Static => "-c",
        }));
        flags
    }
}

/// The flags that decide what code does.
fn code_flags(options: Options, processor: Processor) -> Vec<String> {
    let mut flags = vec![String::from(if options.quick { "-O1" } else { "-O3" }), String::from("-std=gnu11")];
    if processor == Processor::Native {
        flags.push(String::from("-march=native"));
    }
    // First, for it sets others back: with it, what rounds on purpose would not.
    flags.push(String::from("-fno-fast-math"));
    flags.extend(["-fwrapv", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"].map(String::from));
    // A recursive function is inlined into itself a few times, though its checks make it longer than one without.
    flags.push(String::from("--param=max-inline-insns-recursive=900"));
    // What is worth copying into its callers says so, or is small.
    flags.push(String::from("--param=max-inline-insns-auto=15"));
    // Loops that gain from several outer iterations at once have been cut so already.
    flags.push(String::from("--param=unroll-jam-max-unroll=0"));
    match options.strict {
        true => {
            flags.push(String::from("-ffp-contract=off"));
            flags.extend(LIBRARY_FUNCTIONS.map(|name| format!("-fno-builtin-{name}")));
        }
        false => flags.push(String::from("-ffp-contract=fast")),
    }
    flags
}

/// Runs a command to its end, and sees that it made its file.
fn finish(mut command: Command, target: &Path) -> Result<(), CompilerError> {
    let output = command.output().map_err(|error| CompilerError::Io(format!("{:?}: {error}", command.get_program())))?;
    let said: String = String::from_utf8_lossy(&output.stderr).chars().take(4000).collect();
    let message = match output.status.success() {
        true if target.exists() => return Ok(()),
        true => String::from("it reported no error, but wrote no file"),
        false if said.trim().is_empty() => format!("it said nothing ({})", output.status),
        false => said,
    };
    Err(CompilerError::Failed { command: format!("{command:?}"), message })
}

/// The program's path, if it exists.
fn locate(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
}
