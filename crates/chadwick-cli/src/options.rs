//! The command line as data.

use chadwick::compile::{Engine, Stage};
use chadwick::values::text;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A compiler for Futhark's language with automatic differentiation.
///
/// Exit status: 0 if all is well, 1 if a program or its data are wrong, 2 if the command line is.
#[derive(Debug, Parser)]
#[command(name = "chadwick", version)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

impl Options {
    /// What the command line says. What is a value is no option, though it starts with `-`: a space in front of `-3i32` tells them apart.
    pub fn read() -> Self {
        let is_value = |argument: &str| {
            argument.starts_with('-') && text::parse_values(argument.as_bytes()).is_ok_and(|values| values.len() == 1)
        };
        let told_apart = |argument: OsString| match argument.to_str() {
            Some(argument) if is_value(argument) => OsString::from(format!(" {argument}")),
            _ => argument,
        };
        Options::parse_from(std::env::args_os().map(told_apart))
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check programs and report errors and warnings
    #[command(
        after_help = "Example:\n  chadwick check examples/kmeans.fut\n  chadwick check --json examples/kmeans.fut | jq '.[].message'"
    )]
    Check(CheckOptions),
    /// Run an entry point
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunOptions),
    /// Value and gradient of an entry point that gives one float
    #[command(after_help = GRAD_EXAMPLES)]
    Grad(GradOptions),
    /// Check reverse mode against forward mode and finite differences
    #[command(
        after_help = "Example:\n  chadwick gradcheck examples/logistic_regression.fut loss\n  chadwick gradcheck model.fut loss --wrt weights weights=@w.npy 0.5"
    )]
    Gradcheck(GradcheckOptions),
    /// Evaluate an expression
    #[command(
        after_help = "Example:\n  chadwick eval 'map (** 2) [1.0, 2.0, 3.0]'\n  chadwick eval --load examples/kmeans.fut 'grad (\\x -> x * f64.sin x) 1.5'"
    )]
    Eval(EvalOptions),
    /// Evaluate expressions as they are typed
    #[command(
        after_help = "Example:\n  chadwick repl\n  chadwick repl examples/kmeans.fut\n\nInside, `:help` lists the commands."
    )]
    Repl(ReplOptions),
    /// Print the intermediate language (Core)
    #[command(
        after_help = "Example:\n  chadwick core examples/kmeans.fut --entry cost\n  chadwick core examples/kmeans.fut --after derivatives\n  chadwick core examples/logistic_regression.fut --entry loss --grad --after c"
    )]
    Core(CoreOptions),
    /// Show the derivative of an entry point, and what it keeps for the reverse pass
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainOptions),
    /// List what differentiates programs, and examine it
    #[command(after_help = ENGINES_EXAMPLES)]
    Engines(EnginesOptions),
    /// Make a C library: source, header, description, compiled code
    #[command(after_help = BUILD_EXAMPLES)]
    Build(BuildOptions),
    /// Measure how long entry points take
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchOptions),
    /// Show where the time of compiling and running an entry point goes
    #[command(after_help = PROFILE_EXAMPLES)]
    Profile(ProfileOptions),
    /// Run the test blocks of programs
    #[command(
        after_help = "Example:\n  chadwick test tests/ examples/kmeans.fut\n  chadwick test --tolerance 1e-9 --tolerance-f32 2e-4 tests/conformance/ad"
    )]
    Test(TestOptions),
    /// Answer the messages of GradBench, a benchmark of automatic differentiation
    #[command(after_help = GRADBENCH_EXAMPLES)]
    Gradbench(GradbenchOptions),
}

const ENGINES_EXAMPLES: &str = "\
The exam: worked examples of the papers; random programs on which all engines must agree with the interpreter, in every mode and nested;
the work of gradients, counted as programs grow, against what each paper claims. Exit status 1 if something is wrong.

Example:
  chadwick engines
  chadwick engines --table
  chadwick engines --table --engine chad-fast --engine dual:naive
  chadwick engines --full --programs 2000 tests/conformance/ad";

const EXPLAIN_EXAMPLES: &str = "\
First comes the derivative as Core: the entry point takes cotangents of its results (or tangents of its arguments) behind its arguments
and gives cotangents of its arguments (or tangents of its results) behind its results. Then comes, for reverse mode, which values are kept
for the reverse pass, of which expressions, how large, and which derivatives read them; what is computed again instead; and what is still
accumulated into memory. Expressions whose derivative may cost more than a constant times the function are warnings.

Example:
  chadwick explain examples/gaussian_mixture.fut log_likelihood --wrt means
  chadwick explain examples/lstm.fut loss --report
  chadwick explain examples/kmeans.fut cost --stage derivatives
  chadwick explain examples/ode_fit.fut misfit --json | jq '.saved[].type'";

const BUILD_EXAMPLES: &str = "\
Writes NAME.c, which needs nothing but the C library, NAME.h, which explains how to call it, NAME.json, which says the same for tools, and
libNAME.so (or .a). There is one C function per entry point, PREFIX_entry_ENTRY, and one per gradient, PREFIX_gradient_ENTRY[_by_WRT], which
gives value and gradient. Errors come with the message and the place that `chadwick run` shows. Entry points that take or give sums or
other values that are no data are left out with a warning, or refused if --entry names them. Values of sum types inside messages of `assert`
and `trace` are not shown. With --fp strict, `gamma`, `lgamma`, `erf`, `erfc`, `asinh`, `acosh` and `atanh` are those of the C library, which
may differ from the interpreter's in the last bits.

Example:
  chadwick build examples/logistic_regression.fut --grad loss:weights -o build/
  chadwick build model.fut --entry predict --grad loss --kind static --prefix model -o build/model
  chadwick build model.fut --kind c && jq '.entry_points[].c_name' model.json";

const BENCH_EXAMPLES: &str = "\
Entry points run on the inputs of their own test blocks, or on those of --random: one item per value, separated by commas. For an array an
item is its sizes (1000x64), filled with random elements, floats in [0, 1) and integers over their whole range; for a scalar it is the value.
After a warm-up, a run is repeated until the 95 % confidence interval of the median is within 2 % of it, or --time is over. Runs of less than
20 µs are timed many at once. Native code is timed without checking arguments and copying results. The table shows the median, half of that
interval (±, with ! where it is too wide and ? where there are too few runs to tell), the bytes of arguments and results per second, and the
most memory that values took up at one time, arguments not counted in native code. Inputs that are scripts, and tests that expect an error,
are left out, and so are those with the tag `nobench`. With --compare there is no ratio where the inputs of the saved run were others.

Example:
  chadwick bench examples/ --grad
  chadwick bench examples/gaussian_mixture.fut --entry log_likelihood --backend interp,native --threads 1
  chadwick bench examples/logistic_regression.fut --entry loss --random 64,100000x64,100000 --grad --json now.json
  chadwick bench examples/logistic_regression.fut --entry loss --random 64,100000x64,100000 --grad --compare now.json";

const PROFILE_EXAMPLES: &str = "\
Shows how long each pass of the compiler takes, and the C compiler without its cache; how long a run takes, as `bench` measures it; the
most memory that values take up at one time, and how many blocks of memory a run asks for; and how long each source line takes.
For the last, a second version of the program reads the clock where control passes from one line to another. What is fused into one loop
is on the account of the line where the loop starts; inside `map`, `reduce` and the like, and inside functions that are called there, no
clock is read. In a gradient a line stands for its primal and its derivative together.
Lines of imported files have the name of the file in front.
Arguments are given as for `run`, or by --random as for `bench`. Without any, the first input of the entry point's own tests is taken that is
no script.

Example:
  chadwick profile examples/gaussian_mixture.fut log_likelihood
  chadwick profile examples/logistic_regression.fut loss --grad --random 64,100000x64,100000 --threads 1
  chadwick profile model.fut loss weights=@w.npy x=@x.npy --grad --wrt weights --json | jq '.lines[0]'";

const RUN_EXAMPLES: &str = "\
Arguments are text values, in order or as NAME=VALUE; @FILE reads a value from a file (text, binary, .json, .npy, .gz).
Without any, all arguments are read from standard input.

Example:
  chadwick run dot.fut main '[1.0, 2.0]' '[3.0, 4.0]'
  chadwick run dot.fut main x=@x.npy y='[3.0, 4.0]' --format json
  echo '[1.0, 2.0] [3.0, 4.0]' | chadwick run dot.fut";

const GRAD_EXAMPLES: &str = "\
Arguments are given as for `run`. Without any, the first input of the entry point's own tests is taken that is no script.

Example:
  chadwick grad examples/logistic_regression.fut loss --wrt weights
  chadwick grad loss.fut loss x='[1.0, 2.0]' --json";

const GRADBENCH_EXAMPLES: &str = "\
Reads one JSON message per line from standard input and writes one line for each to standard output, with the same `id`. `define` compiles
the program of a module to native code; `evaluate` runs one of its entry points, whose parameters are the fields of `input`, until
`min_runs` and `min_seconds` are reached, and says how long each execution took, without reading, writing and compiling.
The modules are ba, det, gmm, hello, ht, kmeans, llsq, lse, lstm, ode, particle and saddle.

Example:
  printf '%s\\n' '{\"id\":0,\"kind\":\"start\"}' '{\"id\":1,\"kind\":\"define\",\"module\":\"lse\"}' \\
    '{\"id\":2,\"kind\":\"evaluate\",\"module\":\"lse\",\"function\":\"gradient\",\"input\":{\"x\":[1,2,3]}}' | chadwick gradbench
  gradbench run --eval 'gradbench eval gmm' --tool 'chadwick gradbench'";

#[derive(Debug, Args)]
pub struct GradbenchOptions {
    /// Take the programs (MODULE.fut) from this directory instead of those that are built in
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,
    /// How many threads run a program; the results are the same bits for any number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    #[command(flatten)]
    pub limits: LimitOptions,
}

impl GradbenchOptions {
    /// How native code is made and run.
    pub fn native(&self) -> chadwick::NativeOptions {
        chadwick::NativeOptions { strict: false, quick: false, threads: usize::from(self.threads) }
    }
}

#[derive(Debug, Args)]
pub struct CheckOptions {
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Diagnostics for tools: a JSON array
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub limits: LimitOptions,
}

/// What runs programs.
#[derive(Clone, Debug, Args)]
pub struct BackendOptions {
    /// What runs the program [default: native; interp where there is no C compiler, or where --engine names one]
    #[arg(long, value_name = "NAME")]
    pub backend: Option<BackendName>,
    /// Floating point of native code: fast may reorder sums, strict gives the bits of the interpreter with the same engine
    #[arg(long, value_name = "MODE", default_value = "fast")]
    pub fp: FloatMode,
    /// Threads of native code; the result is the same bits for any number [default: all processors, for tests one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    Interp,
    Native,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FloatMode {
    Fast,
    Strict,
}

impl BackendOptions {
    /// `quick` is for code that runs once, and briefly. An engine that was asked for by name belongs to the interpreter.
    pub fn backend(&self, quick: bool, engine: Option<&str>) -> chadwick::Backend {
        let threads = self.threads.map_or(usize::from(quick), usize::from);
        let options = chadwick::NativeOptions { strict: self.fp == FloatMode::Strict, quick, threads };
        let native = chadwick::Backend::Native(options);
        match self.backend {
            Some(BackendName::Native) => native,
            Some(BackendName::Interp) => chadwick::Backend::Interpreter,
            None if engine.is_some_and(|engine| engine != "auto") => chadwick::Backend::Interpreter,
            None => match chadwick::native_code_available() {
                Ok(()) => native,
                Err(problem) => {
                    crate::output::error_line(&format!("note: {problem}; the interpreter runs instead"));
                    chadwick::Backend::Interpreter
                }
            },
        }
    }
}

#[derive(Debug, Args)]
pub struct RunOptions {
    #[command(flatten)]
    pub call: CallOptions,
    #[command(flatten)]
    pub backend: BackendOptions,
    #[command(flatten)]
    pub output: OutputOptions,
    /// What differentiates [default: chad-fast for native code, builtin for the interpreter]
    #[arg(long, value_parser = engine)]
    pub engine: Option<String>,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Debug, Args)]
pub struct GradOptions {
    #[command(flatten)]
    pub call: CallOptions,
    #[command(flatten)]
    pub backend: BackendOptions,
    /// Differentiate only by these parameters [default: all floats]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub wrt: Vec<String>,
    #[command(flatten)]
    pub output: OutputOptions,
    /// What differentiates [default: chad-fast for native code, builtin for the interpreter]
    #[arg(long, value_parser = engine)]
    pub engine: Option<String>,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Debug, Args)]
pub struct GradcheckOptions {
    #[command(flatten)]
    pub call: CallOptions,
    #[command(flatten)]
    pub backend: BackendOptions,
    /// Differentiate only by these parameters [default: all floats]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub wrt: Vec<String>,
    /// Step of the finite differences, relative to max(1, |x|) [default: 1e-5 for f64, 1e-2 for f32]
    #[arg(long, value_parser = positive)]
    pub step: Option<f64>,
    /// How far reverse and forward mode may be apart, relative to max(1, largest element) [default: 1e-9 for f64, 1e-4 for f32]
    #[arg(long, value_parser = tolerance)]
    pub tolerance: Option<f64>,
    /// The same for finite differences [default: 1e-5 for f64, 1e-2 for f32]
    #[arg(long, value_parser = tolerance)]
    pub difference_tolerance: Option<f64>,
    /// Check at most so many elements, spread evenly
    #[arg(long, default_value_t = 1000)]
    pub max_elements: usize,
    /// The table, or what is wrong, for tools: JSON
    #[arg(long)]
    pub json: bool,
    /// What differentiates [default: chad-fast for native code, builtin for the interpreter]
    #[arg(long, value_parser = engine)]
    pub engine: Option<String>,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Debug, Args)]
pub struct EvalOptions {
    /// The expression
    #[arg(allow_hyphen_values = true)]
    pub expression: String,
    /// A program whose definitions may be used
    #[arg(long, value_name = "FILE")]
    pub load: Option<PathBuf>,
    /// Show the type, too
    #[arg(long, short)]
    pub types: bool,
    /// Value and type, or what is wrong, for tools: JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Debug, Args)]
pub struct ReplOptions {
    /// A program whose definitions may be used
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Debug, Args)]
pub struct CoreOptions {
    pub file: PathBuf,
    /// Print Core as it is behind this stage: lower, first-order, prepare, derivatives or optimise; or the C text behind all of them: c
    #[arg(long, value_name = "STAGE", default_value = "lower", value_parser = printed)]
    pub after: Printed,
    /// Print only this entry point and what it uses
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Print the program that gives value and gradient of the entry point, as `grad` runs it
    #[arg(long)]
    pub grad: bool,
    /// Differentiate only by these parameters [default: all floats]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "grad")]
    pub wrt: Vec<String>,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Debug, Args)]
pub struct EnginesOptions {
    /// Files or directories whose test blocks are run by every engine, too
    pub files: Vec<PathBuf>,
    /// Examine the engines, briefly
    #[arg(long)]
    pub table: bool,
    /// Examine them at length: more random programs
    #[arg(long)]
    pub full: bool,
    /// Only this engine; may be repeated
    #[arg(long = "engine", value_name = "NAME", value_parser = engine)]
    pub engines: Vec<String>,
    /// How many random programs [default: 40, or 1000 with --full]
    #[arg(long, value_name = "N")]
    pub programs: Option<u64>,
    /// The seed of the first random program
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// For tools: one JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Debug, Args)]
pub struct ExplainOptions {
    pub file: PathBuf,
    /// The entry point [default: main, or the only one]
    pub entry: Option<String>,
    /// Differentiate only by these parameters [default: all floats]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub wrt: Vec<String>,
    /// Reverse or forward mode
    #[arg(long, default_value = "vjp")]
    pub mode: ModeName,
    /// Show Core as it is behind this stage: lower, first-order, prepare, derivatives or optimise
    #[arg(long, default_value = "optimise", value_parser = stage)]
    pub stage: Stage,
    /// What differentiates
    #[arg(long, default_value = "auto", value_parser = explained_engine)]
    pub engine: String,
    /// Only the report, without the Core
    #[arg(long)]
    pub report: bool,
    /// Core and report for tools: one JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    Vjp,
    Jvp,
}

#[derive(Debug, Args)]
pub struct BuildOptions {
    pub file: PathBuf,
    /// Where to: a directory (one that exists, or with `/` at its end), or a path whose last part is the NAME [default: the program's name]
    #[arg(long, short, value_name = "DIR_OR_NAME")]
    pub output: Option<PathBuf>,
    /// Offer this entry point; may be repeated [default: all that take and give data]
    #[arg(long = "entry", value_name = "NAME")]
    pub entries: Vec<String>,
    /// Offer value and gradient of this entry point, by all floats or by the parameters named; may be repeated
    #[arg(long = "grad", value_name = "ENTRY[:WRT,…]")]
    pub gradients: Vec<String>,
    /// What to make besides the header and the description
    #[arg(long, value_name = "KIND", default_value = "shared")]
    pub kind: BuildKind,
    /// What all C names start with
    #[arg(long, value_name = "NAME", default_value = "chadwick", value_parser = prefix)]
    pub prefix: String,
    /// Floating point: fast may reorder sums, strict keeps the order of the source
    #[arg(long, value_name = "MODE", default_value = "fast")]
    pub fp: FloatMode,
    /// Code for any processor of the family, not only for this one
    #[arg(long)]
    pub portable: bool,
    /// What was written, or what is wrong, for tools: JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BuildKind {
    /// Only the C source
    C,
    /// The source and a shared library
    Shared,
    /// The source and a static library
    Static,
}

#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Programs, or directories that are searched for `.fut` files
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Measure only this entry point; may be repeated
    #[arg(long = "entry", value_name = "NAME")]
    pub entries: Vec<String>,
    /// Inputs of these sizes instead of those of the tests; may be repeated
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true)]
    pub random: Vec<String>,
    /// Measure value and gradient of entry points that give one float, too, and show the ratio
    #[arg(long)]
    pub grad: bool,
    /// Differentiate only by these parameters [default: all floats]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "grad")]
    pub wrt: Vec<String>,
    /// What runs the programs, side by side
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "native")]
    pub backend: Vec<BackendName>,
    /// What makes the derivatives
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = engine)]
    pub engine: String,
    /// Floating point of native code
    #[arg(long, value_name = "MODE", default_value = "fast")]
    pub fp: FloatMode,
    /// Threads of native code [default: all processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// How long one measurement may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub time: Duration,
    /// Save the measurements to this file; `-` is standard output, instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show how the medians relate to those of a saved run
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Debug, Args)]
pub struct ProfileOptions {
    #[command(flatten)]
    pub call: CallOptions,
    /// Value and gradient rather than the value alone
    #[arg(long)]
    pub grad: bool,
    /// Differentiate only by these parameters [default: all floats]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "grad")]
    pub wrt: Vec<String>,
    /// Arguments of these sizes
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true)]
    pub random: Option<String>,
    /// Floating point: fast may reorder sums, strict gives the bits of the interpreter with the same engine
    #[arg(long, value_name = "MODE", default_value = "fast")]
    pub fp: FloatMode,
    /// How many threads run the program [default: all processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// How long to measure, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub time: Duration,
    /// The profile, or what is wrong, for tools: JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub limits: LimitOptions,
}

#[derive(Debug, Args)]
pub struct TestOptions {
    /// Programs, or directories that are searched for `.fut` files
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub backend: BackendOptions,
    /// What differentiates them [default: chad-fast for native code, builtin for the interpreter]
    #[arg(long, value_parser = engine)]
    pub engine: Option<String>,
    /// How far floats may be from what is expected, relative to max(1, largest element) [default: that of the format, 0.002]
    #[arg(long, value_parser = tolerance)]
    pub tolerance: Option<f64>,
    /// The same for f32 (and, if larger, f16) values [default: as --tolerance]
    #[arg(long, value_parser = tolerance)]
    pub tolerance_f32: Option<f64>,
    /// Run only tests of this entry point
    #[arg(long)]
    pub entry: Option<String>,
    /// How many files to run at the same time [default: the number of cores]
    #[arg(long, short)]
    pub jobs: Option<usize>,
    /// Report for tools: one JSON document
    #[arg(long)]
    pub json: bool,
    /// List the tests that passed, too
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub limits: LimitOptions,
}

/// A program, an entry point, arguments.
#[derive(Debug, Args)]
pub struct CallOptions {
    pub file: PathBuf,
    /// The entry point [default: main, or the only one], then its arguments: VALUE, NAME=VALUE or @FILE
    #[arg(value_name = "[ENTRY] ARGS", value_parser = word)]
    pub words: Vec<String>,
    /// Read all arguments from this file; `-` is standard input
    #[arg(long, short, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// The format of --input or standard input [default: by the file's name and content]
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<Format>,
}

#[derive(Debug, Args)]
pub struct OutputOptions {
    /// Write the results to this file
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The format of the results [default: by the name of --output, else text]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Short for --format json; errors are JSON, too
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Binary,
    Json,
    Npy,
    Npz,
}

#[derive(Clone, Debug, Args)]
pub struct LimitOptions {
    /// How long one run may take, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// How much memory the values of one run may take up: bytes, or with K, M, G
    #[arg(long, value_name = "BYTES", default_value = "8G", value_parser = bytes)]
    pub max_memory: usize,
}

impl LimitOptions {
    pub fn timeout_or(&self, default: Duration) -> Duration {
        self.timeout.unwrap_or(default)
    }

    /// Limits for a run that starts now.
    pub fn starting_now(&self) -> chadwick::Limits {
        let deadline = self.timeout.map(|timeout| std::time::Instant::now() + timeout);
        chadwick::Limits { max_memory_bytes: self.max_memory, deadline, max_depth: None }
    }
}

impl OutputOptions {
    /// Whether results, and errors, are for tools.
    pub fn wants_json(&self) -> bool {
        self.json || self.format == Some(Format::Json)
    }

    /// Whether results go to standard output as text.
    pub fn is_plain_text(&self) -> bool {
        !self.json && self.output.is_none() && self.format.is_none_or(|format| format == Format::Text)
    }
}

impl Format {
    /// What a file's name says.
    pub fn of_path(path: &std::path::Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" => Some(Format::Json),
            "npy" => Some(Format::Npy),
            "npz" => Some(Format::Npz),
            "bin" => Some(Format::Binary),
            "txt" | "in" | "out" => Some(Format::Text),
            _ => None,
        }
    }
}

/// What `chadwick core` prints.
#[derive(Clone, Copy, Debug)]
pub enum Printed {
    Core(Stage),
    C,
}

fn printed(name: &str) -> Result<Printed, String> {
    if name == "c" {
        return Ok(Printed::C);
    }
    let names = Stage::ALL.map(Stage::name).join(", ");
    Stage::from_name(name).map(Printed::Core).ok_or_else(|| format!("the stages are: {names}, c"))
}

fn stage(name: &str) -> Result<Stage, String> {
    Stage::from_name(name).ok_or_else(|| format!("the stages are: {}", Stage::ALL.map(Stage::name).join(", ")))
}

/// Engines whose derivatives are programs that can be shown.
fn explained_engine(name: &str) -> Result<String, String> {
    match name {
        "builtin" => Err(String::from("the engine `builtin` makes no program; all others can be explained")),
        other => engine(other),
    }
}

fn engine(name: &str) -> Result<String, String> {
    match Engine::from_name(name) {
        Some(_) => Ok(name.to_owned()),
        None => Err(format!("the engines are {}", Engine::names())),
    }
}

fn word(text: &str) -> Result<String, Infallible> {
    Ok(text.trim_start().to_owned())
}

fn prefix(text: &str) -> Result<String, String> {
    match chadwick::export::is_prefix(text) {
        true => Ok(text.to_owned()),
        false => Err(String::from("a prefix is a C name of letters, digits and `_`, and no word of C")),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err(String::from("a tolerance is a number that is not negative")),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err(String::from("a step is a positive number")),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let value = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    let duration = value.filter(|value| *value > 0.0 && *value < 1e9).map(Duration::from_secs_f64);
    duration.ok_or_else(|| String::from("a time limit is a positive number of seconds"))
}

/// `1048576`, `64M`, `1.5GiB`
fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 1.0,
        "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        "T" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(String::from("sizes end in K, M, G or T")),
    };
    match digits.parse::<f64>() {
        Ok(value) if value >= 0.0 => Ok((value * unit) as usize),
        _ => Err(String::from("a size is a number of bytes such as `500M`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(bytes("12"), Ok(12));
        assert!(bytes("many").is_err() && bytes("5X").is_err() && bytes("-1").is_err());
    }

    #[test]
    fn every_command_has_an_example() {
        for command in Options::command().get_subcommands_mut() {
            if command.get_name() != "help" {
                assert!(command.render_long_help().to_string().contains("Example"), "{}", command.get_name());
            }
        }
    }
}
