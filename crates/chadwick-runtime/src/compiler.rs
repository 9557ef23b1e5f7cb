//! The system's C compiler.

use crate::Options;
use crate::cache::Cache;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

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

    fn flags(&self, options: Options) -> Vec<String> {
        let mut flags: Vec<String> = self.first_args.clone();
        flags.push(String::from(if options.quick { "-O1" } else { "-O3" }));
        let common = [
            "-std=gnu11",
            "-march=native",
            "-fwrapv",
            "-fno-math-errno",
            "-fno-trapping-math",
            "-fopenmp-simd",
            "-fPIC",
            "-pthread",
            "-shared",
            "-w",
        ];
        flags.extend(common.map(String::from));
        match options.strict {
            true => {
                flags.push(String::from("-ffp-contract=off"));
                flags.extend(LIBRARY_FUNCTIONS.map(|name| format!("-fno-builtin-{name}")));
            }
            false => flags.push(String::from("-ffp-contract=fast")),
        }
        flags
    }

    /// What makes two compilations of one text give the same code: flags, compiler, processor.
    fn identity(&self, options: Options) -> String {
        let stamp = std::fs::metadata(&self.program).map(|data| format!("{} {:?}", data.len(), data.modified().ok()));
        let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let describes = |line: &&str| line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features");
        let mut lines: Vec<&str> = processor.lines().filter(describes).collect();
        lines.dedup();
        lines.truncate(2);
        format!("{:?} {:?} {:?} {}", self.program, self.flags(options), stamp.ok(), lines.join(" "))
    }

    /// The shared object for a text, from the cache or newly made.
    pub fn shared_object(&self, text: &str, options: Options, cache: &Cache) -> Result<PathBuf, CompilerError> {
        cache.get(&[text, &self.identity(options)], |source, target| {
            std::fs::write(source, text).map_err(|error| CompilerError::Io(format!("{}: {error}", source.display())))?;
            self.run(source, target, options)
        })
    }

    fn run(&self, source: &Path, target: &Path, options: Options) -> Result<(), CompilerError> {
        let mut command = Command::new(&self.program);
        command.args(self.flags(options)).arg("-o").arg(target).arg(source).arg("-lm");
        let output = command.output().map_err(|error| CompilerError::Io(format!("{}: {error}", self.program.display())))?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let message: String = String::from_utf8_lossy(&output.stderr).chars().take(4000).collect();
                Err(CompilerError::Failed { command: format!("{command:?}"), message })
            }
        }
    }
}

/// The program's path, if it exists.
fn locate(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
}
