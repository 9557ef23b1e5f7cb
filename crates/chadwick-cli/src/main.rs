//! The command line of Chadwick: the only place that reads files and prints.
//!
//! Exit status: 0 if all is well, 1 if the program or its data are wrong, 2 if the command line is.

mod arguments;
mod bench;
mod commands;
mod errors;
mod gradbench;
mod input;
mod options;
mod output;
mod panics;
mod results;
mod supervise;
mod testing;

use options::{Command, Options};
use std::process::ExitCode;

/// Stack of the threads that compile and run programs: deep programs recurse deeply. It is reserved, not used, until it is needed.
pub const STACK_BYTES: usize = 512 * 1024 * 1024;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    Failure,
    /// The command line is wrong.
    Usage,
}

fn main() -> ExitCode {
    let options = Options::read();
    panics::install();
    match run(options.command) {
        Exit::Success => ExitCode::SUCCESS,
        Exit::Failure => ExitCode::from(1),
        Exit::Usage => ExitCode::from(2),
    }
}

fn run(command: Command) -> Exit {
    let limits = match &command {
        Command::Check(options) => options.limits.clone(),
        Command::Run(options) => options.limits.clone(),
        Command::Grad(options) => options.limits.clone(),
        Command::Gradcheck(options) => options.limits.clone(),
        Command::Eval(options) => options.limits.clone(),
        Command::Repl(options) => options.limits.clone(),
        Command::Core(options) => options.limits.clone(),
        Command::Explain(options) => options.limits.clone(),
        Command::Engines(options) => options.limits.clone(),
        Command::Build(options) => options.limits.clone(),
        Command::Bench(options) => options.limits.clone(),
        Command::Profile(options) => options.limits.clone(),
        Command::Test(options) => options.limits.clone(),
        Command::Gradbench(options) => options.limits.clone(),
    };
    // At the prompt, in tests and in benchmarks the time limit holds for each run, not for all together.
    let time_limited = !matches!(
        command,
        Command::Repl(_)
            | Command::Test(_)
            | Command::Engines(_)
            | Command::Bench(_)
            | Command::Profile(_)
            | Command::Gradbench(_)
    );
    let parallel = match &command {
        Command::Test(_) | Command::Engines(_) => std::thread::available_parallelism().map_or(1, usize::from),
        // Every message has its answer: a run that exceeds its limit must end with its own error before the process does, also where
        // what is kept beside small values is as large as they are.
        Command::Gradbench(_) => 2,
        _ => 1,
    };
    supervise::supervised(&limits, time_limited, parallel, move || match &command {
        Command::Check(options) => commands::check::command(options),
        Command::Run(options) => commands::run::command(options),
        Command::Grad(options) => commands::grad::command(options),
        Command::Gradcheck(options) => commands::gradcheck::command(options),
        Command::Eval(options) => commands::eval::command(options),
        Command::Repl(options) => commands::repl::command(options),
        Command::Core(options) => commands::core::command(options),
        Command::Explain(options) => commands::explain::command(options),
        Command::Engines(options) => commands::engines::command(options),
        Command::Build(options) => commands::build::command(options),
        Command::Bench(options) => bench::command(options),
        Command::Profile(options) => commands::profile::command(options),
        Command::Test(options) => testing::command(options),
        Command::Gradbench(options) => gradbench::command(options),
    })
}
