//! The command line of Chadwick: the only place that reads files and prints.
//!
//! Exit status: 0 if all is well, 1 if the program or its data are wrong, 2 if the command line is.

mod input;
mod options;
mod output;
mod panics;
mod testing;

use clap::Parser;
use options::{Command, Options};
use std::process::ExitCode;

/// Stack of the threads that compile and run programs: deep programs recurse deeply. It is reserved, not used, until it is needed.
pub const STACK_BYTES: usize = 512 * 1024 * 1024;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    Failure,
}

fn main() -> ExitCode {
    let options = Options::parse();
    panics::install();
    let exit = match &options.command {
        Command::Test(options) => testing::command(options),
    };
    match exit {
        Exit::Success => ExitCode::SUCCESS,
        Exit::Failure => ExitCode::from(1),
    }
}
