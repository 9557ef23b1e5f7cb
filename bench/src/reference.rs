//! References: compiled once by `cc`, or programs in JAX; run as processes that time themselves (`reference/driver.c` says how they are spoken
//! to).

use crate::{Result, home};
use chadwick::values::{Elements, Value};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Nothing here changes a result: sums are in the order that the reference writes, or in lanes where it says so.
pub const FLAGS: [&str; 6] = ["-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-std=gnu11"];

pub struct Reference {
    process: Child,
    commands: ChildStdin,
    answers: ChildStdout,
    lengths: [usize; 2],
}

/// Which of the two functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Primal,
    Gradient,
}

/// What a reference says after running for some time.
pub struct Answer {
    pub least: f64,
    pub median: f64,
    /// The most bytes that it took beside arguments and results, where that is known.
    pub memory: Option<f64>,
    pub result: Vec<f64>,
}

/// The C compiler, as for native code.
pub fn compiler() -> String {
    std::env::var("CC").unwrap_or_else(|_| String::from("cc"))
}

/// Compiles a reference, unless it is there already, and gives the executable.
pub fn compile(name: &str, flags: &[&str], directory: &Path) -> Result<PathBuf> {
    build(&home().join("reference").join(format!("{name}.c")), flags, &[], directory)
}

/// How a reference is started.
pub fn command(executable: &Path, threads: usize) -> Command {
    let mut command = Command::new(executable);
    command.arg(threads.to_string());
    command
}

/// How a program with calls of OpenBLAS is started.
pub fn openblas(name: &str, directory: &Path, threads: usize) -> Result<Command> {
    let source = home().join("peers").join(format!("openblas_{name}.c"));
    let mut command = Command::new(build(&source, &FLAGS, &["-lopenblas"], directory)?);
    command.env("OPENBLAS_NUM_THREADS", threads.to_string());
    Ok(command)
}

/// Compiles a reference from its source.
pub fn build(source: &Path, flags: &[&str], libraries: &[&str], directory: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(directory)?;
    let executable = directory.join(source.file_stem().unwrap_or_default());
    if executable.exists() {
        return Ok(executable);
    }
    let status = Command::new(compiler())
        .args(flags)
        .arg("-pthread")
        .args(["malloc", "calloc", "aligned_alloc", "free"].map(|function| format!("-Wl,--wrap={function}")))
        .arg("-o")
        .arg(&executable)
        .arg(source)
        .args(["driver.c", "parallel.c"].map(|shared| home().join("reference").join(shared)))
        .args(libraries)
        .arg("-lm")
        .status()?;
    if status.success() { Ok(executable) } else { Err(format!("{} does not compile", source.display()).into()) }
}

/// How a program in JAX is started, by a Python that has it.
pub fn jax(python: &str, name: &str) -> Command {
    let mut command = Command::new(python);
    command.arg(home().join("peers").join("jax_peer.py")).arg(name);
    command
}

/// The programs that are there in JAX.
pub fn in_jax(python: &str) -> Result<Vec<String>> {
    let output = jax(python, "--list").output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect()),
        false => Err(format!("`{python}` cannot run JAX: {}", String::from_utf8_lossy(&output.stderr).trim()).into()),
    }
}

impl Reference {
    /// Starts a reference on some arguments; `lengths` are those of its two results.
    pub fn start(mut command: Command, sizes: &[i64], arguments: &[Value], lengths: [usize; 2]) -> Result<Reference> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(mut commands), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no pipes".into());
        };
        let passed: Vec<&Value> = arguments.iter().filter(|value| !is_size(value)).collect();
        let mut message = Vec::new();
        let mut word = |word: i64| message.extend(word.to_ne_bytes());
        word(sizes.len() as i64);
        sizes.iter().for_each(|size| word(*size));
        word(passed.len() as i64);
        for value in passed {
            word(value.len() as i64);
            match value.elements() {
                Elements::I64(numbers) => numbers.iter().for_each(|x| word(*x)),
                numbers => numbers.to_f64().iter().for_each(|x| word(x.to_bits().cast_signed())),
            }
        }
        lengths.iter().for_each(|length| word(*length as i64));
        commands.write_all(&message)?;
        Ok(Reference { process, commands, answers, lengths })
    }

    /// Runs a function again and again for some seconds, once at least.
    pub fn run(&mut self, which: Which, seconds: f64) -> Result<Answer> {
        let (command, length) = match which {
            Which::Primal => (b'p', self.lengths[0]),
            Which::Gradient => (b'g', self.lengths[1]),
        };
        self.commands.write_all(&[command])?;
        self.commands.write_all(&seconds.to_ne_bytes())?;
        self.commands.flush()?;
        let mut bytes = vec![0; 8 * (length + 3)];
        self.answers.read_exact(&mut bytes)?;
        let mut numbers = bytes.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes));
        let mut next = || numbers.next().unwrap_or(f64::NAN);
        let (least, median, memory) = (next(), next(), Some(next()).filter(|bytes| !bytes.is_nan()));
        Ok(Answer { least, median, memory, result: numbers.collect() })
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // It ends by itself when its input does; nothing is left to do if it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whole numbers that are scalars are among the sizes.
fn is_size(value: &Value) -> bool {
    value.is_scalar() && matches!(value.elements(), Elements::I64(_))
}
