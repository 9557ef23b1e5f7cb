//! No pass makes a program dearer: counted on value and gradient of the examples, pass by pass.

mod work;

use chadwick::compile::Stage;
use chadwick::{Counters, Program, Value};
use chadwick_core::Mode;
use std::sync::Arc;
use work::{count, example, examples};

/// By how much one pass may multiply the operations on floats and the accumulations of a program. Above one, because a sum starts from its
/// neutral element and an accumulator from what it is given, and because forming sums ahead of their use may add some.
const MOST: f64 = 1.1;

fn work_of(counters: Counters) -> f64 {
    (counters.float_operations + counters.accumulations) as f64
}

#[test]
fn no_pass_makes_a_gradient_dearer() {
    for (name, entry, args, seeds) in examples() {
        let program = example(name);
        let wrt = program.function(entry).and_then(|function| function.wrt_arguments()).expect("floats");
        let derivative = program.derivative_of(entry, &wrt, Mode::Vjp).and_then(|program| program.at_stage(Stage::Derivatives));
        let derivative = derivative.unwrap_or_else(|error| panic!("{}", error.message()));
        let map = Arc::clone(derivative.source_map());
        let mut core = derivative.core().clone();
        let args: Vec<Value> = args.into_iter().chain(seeds).collect();
        let cost = |core: &chadwick_core::Program| {
            let program = Program::from_core(core.clone(), Arc::clone(&map), Vec::new());
            work_of(count(&program, entry, &args))
        };
        let start = cost(&core);
        let mut before = start;
        for pass in chadwick_opt::FINISH {
            (pass.run)(&mut core);
            let after = cost(&core);
            assert!(after <= before * MOST, "{name}: `{}` makes {after} of {before}", pass.name);
            before = after;
        }
        assert!(before <= start, "{name}: all passes together make {before} of {start}");
    }
}
