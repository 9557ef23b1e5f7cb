//! Runs work on a thread with a large stack and watches its time and memory from outside.
//!
//! The interpreter keeps its own limits and reports where in the program they were exceeded. This is the net below: for the compiler, and
//! for memory that is not counted.

use crate::options::LimitOptions;
use crate::{Exit, STACK_BYTES, output, panics};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How much longer than its limit the work may take before it is cut off.
const GRACE: Duration = Duration::from_millis(500);

/// What the process may use beyond the memory of values.
const OVERHEAD_BYTES: usize = 1 << 30;

const POLL: Duration = Duration::from_millis(50);

/// Runs the work to its end, or until it exceeds its limits. `time_limited` is whether all of it together has the time limit.
pub fn supervised(
    limits: &LimitOptions,
    time_limited: bool,
    parallel: usize,
    work: impl FnOnce() -> Exit + Send + 'static,
) -> Exit {
    let (sender, receiver) = channel();
    let body = move || {
        let exit = panics::caught(work).unwrap_or_else(|panic| {
            output::error_line(&format!("error: internal error, please report it: {panic}"));
            Exit::Failure
        });
        let _ = sender.send(exit);
    };
    if let Err(error) = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(body) {
        output::error_line(&format!("error: no thread could be started: {error}"));
        return Exit::Failure;
    }
    let started = Instant::now();
    let deadline = limits.timeout.filter(|_| time_limited).map(|timeout| timeout + GRACE);
    let max_memory = limits.max_memory.saturating_mul(parallel).saturating_add(OVERHEAD_BYTES);
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(exit) => return exit,
            Err(RecvTimeoutError::Disconnected) => return Exit::Failure,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if deadline.is_some_and(|deadline| started.elapsed() > deadline) {
            output::error_line("error: time limit exceeded");
            return Exit::Failure;
        }
        if resident_bytes().is_some_and(|bytes| bytes > max_memory) {
            output::error_line("error: memory limit exceeded");
            return Exit::Failure;
        }
    }
}

/// The memory that the process occupies, where the system tells.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
