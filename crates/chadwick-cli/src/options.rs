//! The command line as data.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// A compiler for a functional array language with automatic differentiation.
#[derive(Debug, Parser)]
#[command(name = "chadwick", version)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the test blocks of programs
    #[command(
        after_help = "Example:\n  chadwick test tests/ examples/regression.fut\n  chadwick test --tolerance 1e-9 --tolerance-f32 2e-4 tests/conformance/ad"
    )]
    Test(TestOptions),
}

#[derive(Debug, Args)]
pub struct TestOptions {
    /// Programs, or directories that are searched for `.fut` files
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// What runs the programs
    #[arg(long, default_value = "interp", value_parser = backend)]
    pub backend: String,
    /// What differentiates them
    #[arg(long, default_value = "builtin", value_parser = engine)]
    pub engine: String,
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
}

const ENGINES: [&str; 7] = ["forward", "chad", "chad-efficient", "chad-fast", "dual", "dual-arrays", "linear-maps"];

fn backend(name: &str) -> Result<String, String> {
    match name {
        "interp" => Ok(name.to_owned()),
        "native" => Err(String::from("the back end `native` is not available yet; use `interp`")),
        _ => Err(String::from("the back ends are `interp` and, later, `native`")),
    }
}

fn engine(name: &str) -> Result<String, String> {
    let base = name.split(':').next().unwrap_or(name);
    match base {
        "builtin" | "auto" => Ok(name.to_owned()),
        known if ENGINES.contains(&known) => Err(format!("the engine `{name}` is not available yet; use `builtin`")),
        _ => Err(format!("the engines are builtin, {}", ENGINES.join(", "))),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err(String::from("a tolerance is a number that is not negative")),
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
