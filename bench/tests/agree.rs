//! Every reference computes what its program computes, on small inputs, on one thread and on several.

use chadwick::Program;
use chadwick_bench::inputs::Random;
use chadwick_bench::reference::{self, Reference, Which};
use chadwick_bench::{Result, difference, flat, home, workloads};
use std::process::Command;

#[test]
fn references_agree_with_programs() -> Result<()> {
    if Command::new(reference::compiler()).arg("--version").output().is_err() {
        eprintln!("skipped: no C compiler");
        return Ok(());
    }
    let directory = std::env::temp_dir().join(format!("chadwick-references-{}", std::process::id()));
    for workload in workloads::all() {
        let arguments = (workload.arguments)(&workload.small, &mut Random::new(1));
        let program = Program::from_file(home().join("programs").join(format!("{}.fut", workload.program)))?;
        let primal = flat(&program.function("primal")?.call(&arguments)?);
        let gradient = flat(&program.function("gradient")?.call(&arguments)?);
        let executable = reference::compile(workload.reference, &["-O0", "-std=gnu11", "-DSMALL_PARTS"], &directory)?;
        let lengths = [primal.len(), gradient.len()];
        for threads in [1, 2, 3] {
            let command = reference::command(&executable, threads);
            let mut reference = Reference::start(command, &workload.small, &arguments, lengths)?;
            for (which, what, ours) in [(Which::Primal, "primal", &primal), (Which::Gradient, "gradient", &gradient)] {
                let theirs = reference.run(which, 0.0)?.result;
                let found = difference(ours, &theirs);
                let name = workload.name;
                assert!(found < 1e-9, "{what} of {name} on {threads} threads: {found:e}\n{ours:?}\n{theirs:?}");
            }
        }
    }
    std::fs::remove_dir_all(directory)?;
    Ok(())
}
