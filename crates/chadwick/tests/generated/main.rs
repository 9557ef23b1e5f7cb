//! Random well-typed programs: every stage takes them, and all ways to their derivatives agree.
//!
//! A few hundred programs run with the other tests. For a long run:
//!
//! ```text
//! CHADWICK_PROGRAMS=10000 cargo test --release -p chadwick --test generated -- --nocapture
//! ```
//!
//! `CHADWICK_SEED=N` starts at another seed. A failure is made smaller before it is reported, with its source.

mod agreement;
mod compiled;
mod differences;
mod layers;
mod mutation;
mod native;
mod runs;
mod scalar;
mod sparse;

use agreement::{Subject, agreement, derived_functions_agree, engine_agrees};
use chadwick::compile::{Cotangents, Definition, Engine, Rung};
use chadwick_core::visit::Scope;
use chadwick_core::{Block, Op};
use chadwick_generate::{Config, Construct, Element, Program, generate};
use compiled::{Compiled, Failure};
use runs::{check_programs, check_programs_together, programs};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn reverse_and_forward_mode_agree_exactly_in_wrapping_integers() {
    let report = check_programs(Element::I64, programs(64), &|program, report| {
        let mut subject = Subject::<i64>::new(program, Element::I64)?;
        agreement(program, Element::I64, &mut subject, report)
    });
    report.assert_meaningful();
}

#[test]
fn reverse_and_forward_mode_and_finite_differences_agree_in_floats() {
    let report = check_programs(Element::F64, programs(64), &|program, report| {
        let mut subject = Subject::<f64>::new(program, Element::F64)?;
        agreement(program, Element::F64, &mut subject, report)?;
        differences::finite_differences(&mut subject, report)
    });
    report.assert_meaningful();
    report.assert_few_differences_skipped();
}

#[test]
fn fast_chad_agrees_with_the_interpreter_exactly_in_wrapping_integers() {
    let report = check_programs(Element::I64, programs(64), &|program, report| {
        engine_agrees::<i64>(Engine::ChadFast, program, Element::I64, report)
    });
    report.assert_meaningful();
}

#[test]
fn sparse_jacobians_are_jacobians_and_have_one_pattern() {
    let report = check_programs(Element::F64, programs(40), &|program, report| sparse::jacobians(program, report));
    assert!(report.active * 4 > report.programs, "too few patterns have a place that is left out: {report:?}");
}

#[test]
fn fast_chad_agrees_with_the_interpreter_in_floats() {
    let report = check_programs(Element::F64, programs(64), &|program, report| {
        engine_agrees::<f64>(Engine::ChadFast, program, Element::F64, report)
    });
    report.assert_meaningful();
}

#[test]
fn gradients_of_networks_agree_with_the_interpreter() {
    runs::for_stretches(programs(64), 4, &|seeds| layers::NETWORKS.gradients_agree(seeds, false));
}

#[test]
fn native_gradients_of_networks_agree_with_the_interpreter() {
    if chadwick::native_code_available().is_ok() {
        runs::for_stretches(programs(8), 4, &|seeds| layers::NETWORKS.gradients_agree(seeds, true));
    }
}

#[test]
fn gradients_of_iterations_agree_with_the_interpreter() {
    runs::for_stretches(programs(24), 4, &|seeds| layers::ITERATIONS.gradients_agree(seeds, false));
}

#[test]
fn native_gradients_of_iterations_agree_with_the_interpreter() {
    if chadwick::native_code_available().is_ok() {
        runs::for_stretches(programs(8), 4, &|seeds| layers::ITERATIONS.gradients_agree(seeds, true));
    }
}

/// The rungs of dual numbers that are meant for use.
const DUAL_NUMBERS: [Engine; 2] = [Engine::Dual(Rung::Tape), Engine::Dual(Rung::Parallel)];

#[test]
fn dual_numbers_agree_with_the_interpreter_exactly_in_wrapping_integers() {
    for engine in DUAL_NUMBERS {
        check_programs(Element::I64, programs(40), &|program, report| {
            engine_agrees::<i64>(engine, program, Element::I64, report)
        })
        .assert_meaningful();
    }
}

#[test]
fn dual_numbers_agree_with_the_interpreter_in_floats() {
    for engine in DUAL_NUMBERS {
        check_programs(Element::F64, programs(40), &|program, report| {
            engine_agrees::<f64>(engine, program, Element::F64, report)
        })
        .assert_meaningful();
    }
}

/// What the engine of linear maps does not take. Arrays whose size depends on data are made by scans and scatters.
const NOT_LINEAR_MAPS: [Construct; 7] = [
    Construct::RecursiveTypes,
    Construct::DynamicSizes,
    Construct::Recursion,
    Construct::WhileLoops,
    Construct::Scans,
    Construct::Scatters,
    Construct::Histograms,
];

/// How many programs an engine takes, and of how many; those must have the property.
fn taken(element: Element, programs: u64, without: &[Construct], property: &Property) -> (u64, u64) {
    let taken = AtomicU64::new(0);
    let report = runs::check_programs_without(element, programs, without, &|program, report| match property(program, report) {
        Err(failure) if failure.message.contains("this engine cannot differentiate") => Ok(()),
        Err(failure) => Err(failure),
        Ok(()) => {
            taken.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    });
    (taken.into_inner(), report.programs)
}

/// On programs with everything, linear maps refuse some; on programs without what they do not take, hardly any.
#[test]
fn linear_maps_agree_with_the_interpreter_on_what_they_take() {
    fn check<S: scalar::Scalar>(element: Element, without: &[Construct], least_percent: u64) {
        let agrees = &|program: &_, report: &mut _| engine_agrees::<S>(Engine::LinearMaps, program, element, report);
        let (taken, programs) = taken(element, programs(40), without, agrees);
        assert!(100 * taken >= least_percent * programs, "{taken} of {programs} programs were taken");
    }
    check::<i64>(Element::I64, &[], 20);
    check::<i64>(Element::I64, &NOT_LINEAR_MAPS, 80);
    check::<f64>(Element::F64, &NOT_LINEAR_MAPS, 80);
}

/// What dual arrays do not take, or seldom.
const NOT_DUAL_ARRAYS: [Construct; 9] = [
    Construct::Sums,
    Construct::RecursiveTypes,
    Construct::RaggedArrays,
    Construct::DynamicSizes,
    Construct::FunctionValues,
    Construct::Recursion,
    Construct::WhileLoops,
    Construct::Scatters,
    Construct::CustomRules,
];

/// Some programs are still refused; what is taken is right.
#[test]
fn dual_arrays_agree_with_the_interpreter_on_what_they_take() {
    fn check<S: scalar::Scalar>(element: Element) {
        let agrees = &|program: &_, report: &mut _| engine_agrees::<S>(Engine::DualArrays, program, element, report);
        let (taken, programs) = taken(element, programs(32), &NOT_DUAL_ARRAYS, agrees);
        eprintln!("of {programs} programs dual arrays take {taken}");
        assert!(8 * taken >= programs, "{taken} of {programs} programs were taken");
    }
    check::<f64>(Element::F64);
    check::<i64>(Element::I64);
}

#[test]
fn native_code_of_dual_arrays_and_linear_maps_agrees_with_the_interpreter_bit_for_bit() {
    for (engine, without) in [(Engine::DualArrays, &NOT_DUAL_ARRAYS[..]), (Engine::LinearMaps, &NOT_LINEAR_MAPS[..])] {
        let way = native::Way { engine, threads: 1, strict: true };
        let agrees = &|program: &_, report: &mut _| way.agrees(std::slice::from_ref(program), Element::F64, report);
        let (taken, programs) = taken(Element::F64, programs(8), without, agrees);
        assert!(8 * taken >= programs, "{taken} of {programs} programs were taken");
    }
}

/// `fwd$`, `rev$`, the categorical language, procedures and records, on programs without derivatives of their own.
#[test]
fn functions_derived_by_linear_maps_agree_with_the_interpreter() {
    let without = [&NOT_LINEAR_MAPS[..], &[Construct::NestedDerivatives, Construct::CustomRules]].concat();
    let taken: [AtomicU64; 6] = Default::default();
    let report = runs::check_programs_without(Element::I64, programs(40), &without, &|program, report| {
        for (all, this) in taken.iter().zip(derived_functions_agree(program, report)?) {
            all.fetch_add(u64::from(this), Ordering::Relaxed);
        }
        Ok(())
    });
    let taken = taken.map(AtomicU64::into_inner);
    eprintln!("of {} programs are taken: {taken:?}", report.programs);
    // Procedures have no arrays.
    let [forward, reverse, categorical, pruned, _procedures, records] = taken;
    let usual = [forward, reverse, categorical, pruned, records];
    assert!(usual.iter().all(|taken| 2 * taken > report.programs), "{taken:?} of {}", report.programs);
}

/// The naive one takes exponential time, on these programs too much.
#[test]
fn every_rung_of_dual_numbers_agrees_with_the_interpreter() {
    for rung in Rung::ALL.into_iter().filter(|rung| *rung != Rung::Naive) {
        let engine = Engine::Dual(rung);
        check_programs(Element::I64, programs(8), &|program, report| engine_agrees::<i64>(engine, program, Element::I64, report));
    }
}

#[test]
fn efficient_chad_agrees_with_the_interpreter_exactly_in_wrapping_integers() {
    let engine = Engine::ChadEfficient(Cotangents::InArray);
    check_programs(Element::I64, programs(40), &|program, report| engine_agrees::<i64>(engine, program, Element::I64, report))
        .assert_meaningful();
}

#[test]
fn efficient_chad_agrees_with_the_interpreter_in_floats() {
    let engine = Engine::ChadEfficient(Cotangents::InArray);
    check_programs(Element::F64, programs(40), &|program, report| engine_agrees::<f64>(engine, program, Element::F64, report))
        .assert_meaningful();
}

#[test]
fn efficient_chad_with_cotangents_in_a_map_agrees_with_the_interpreter() {
    let engine = Engine::ChadEfficient(Cotangents::InMap);
    check_programs(Element::I64, programs(16), &|program, report| engine_agrees::<i64>(engine, program, Element::I64, report));
}

#[test]
fn efficient_chad_with_cotangents_in_tasks_agrees_with_the_interpreter() {
    let engine = Engine::ChadEfficient(Cotangents::InTasks);
    check_programs(Element::I64, programs(16), &|program, report| engine_agrees::<i64>(engine, program, Element::I64, report));
    let way = native::Way { engine, threads: 3, strict: true };
    check_programs_together(Element::F64, programs(4), &|programs, report| way.agrees(programs, Element::F64, report));
}

/// The definition adds whole environments, so some programs take it too long.
#[test]
fn chad_as_it_is_defined_agrees_with_the_interpreter() {
    let [plain, simplified] = [Definition::Plain, Definition::Simplified].map(Engine::Chad);
    check_programs(Element::I64, programs(1), &|program, report| engine_agrees::<i64>(plain, program, Element::I64, report));
    check_programs(Element::F64, programs(1), &|program, report| engine_agrees::<f64>(simplified, program, Element::F64, report));
}

#[test]
fn native_code_agrees_with_the_interpreter_bit_for_bit() {
    let (half, way) = (programs(36) / 2, native::Way { engine: Engine::ChadFast, threads: 2, strict: true });
    for element in [Element::F64, Element::I64] {
        check_programs_together(element, half, &|programs, report| way.agrees(programs, element, report));
    }
}

#[test]
fn fast_native_code_agrees_with_the_interpreter() {
    let (half, way) = (programs(24) / 2, native::Way { engine: Engine::ChadFast, threads: 2, strict: false });
    for element in [Element::F64, Element::I64] {
        check_programs_together(element, half, &|programs, report| way.agrees(programs, element, report));
    }
}

#[test]
fn native_code_with_tasks_agrees_with_the_interpreter_bit_for_bit() {
    let (half, way) = (programs(16) / 2, native::Way { engine: Engine::Dual(Rung::Parallel), threads: 3, strict: true });
    for element in [Element::F64, Element::I64] {
        check_programs_together(element, half, &|programs, report| way.agrees(programs, element, report));
    }
}

#[test]
fn programs_that_are_nearly_right_never_panic() {
    mutation::mutated_programs(programs(64));
}

#[test]
fn texts_that_are_no_programs_never_panic() {
    mutation::no_programs(programs(40));
}

/// What lowering never makes of a generated program: accumulators, logs and copies come from differentiation, and `trace` would write to the
/// terminal.
const NOT_GENERATED: [&str; 6] = ["Copy", "Trace", "WithAccumulators", "Accumulate", "WithLog", "Log"];

const FORMS: [&str; 32] = [
    "Copy",
    "Prim",
    "If",
    "Call",
    "Closure",
    "Apply",
    "Construct",
    "Match",
    "Build",
    "Reduce",
    "Scan",
    "Hist",
    "Scatter",
    "ArrayLiteral",
    "Index",
    "Slice",
    "Update",
    "Transpose",
    "Reshape",
    "Concat",
    "Dim",
    "Loop",
    "Assert",
    "Par",
    "Recompute",
    "Trace",
    "Differentiate",
    "Custom",
    "WithAccumulators",
    "Accumulate",
    "WithLog",
    "Log",
];

#[test]
fn every_form_of_core_occurs() {
    const PROGRAMS: u64 = 400;
    let mut missing: BTreeSet<&str> = FORMS.into_iter().filter(|form| !NOT_GENERATED.contains(form)).collect();
    for seed in 0..PROGRAMS {
        let program = generate(seed, &Config::default());
        let Ok(compiled) = Compiled::new(&program.source(Element::F64)) else { continue };
        for function in &compiled.core().functions {
            remove_forms(&function.body, &mut missing);
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("not in {PROGRAMS} programs: {missing:?}");
}

fn remove_forms(block: &Block, missing: &mut BTreeSet<&str>) {
    for statement in &block.statements {
        missing.remove(form(&statement.op));
        for Scope { block, .. } in statement.op.scopes() {
            remove_forms(block, missing);
        }
    }
}

fn form(op: &Op) -> &'static str {
    match op {
        Op::Copy(..) => "Copy",
        Op::Prim(..) => "Prim",
        Op::If { .. } => "If",
        Op::Call { .. } => "Call",
        Op::Closure(..) => "Closure",
        Op::Apply { .. } => "Apply",
        Op::Construct { .. } => "Construct",
        Op::Match { .. } => "Match",
        Op::Build { .. } => "Build",
        Op::Reduce { .. } => "Reduce",
        Op::Scan { .. } => "Scan",
        Op::Hist { .. } => "Hist",
        Op::Scatter { .. } => "Scatter",
        Op::ArrayLiteral { .. } => "ArrayLiteral",
        Op::Index { .. } => "Index",
        Op::Slice { .. } => "Slice",
        Op::Update { .. } => "Update",
        Op::Transpose { .. } => "Transpose",
        Op::Reshape { .. } => "Reshape",
        Op::Concat { .. } => "Concat",
        Op::Dim { .. } => "Dim",
        Op::Loop(..) => "Loop",
        Op::Assert { .. } => "Assert",
        Op::Par { .. } => "Par",
        Op::Recompute(..) => "Recompute",
        Op::Trace { .. } => "Trace",
        Op::Differentiate(..) => "Differentiate",
        Op::Custom(..) => "Custom",
        Op::WithAccumulators { .. } => "WithAccumulators",
        Op::Accumulate { .. } => "Accumulate",
        Op::WithLog { .. } => "WithLog",
        Op::Log { .. } => "Log",
    }
}

/// The type of a property: whether it holds for a program, and what it counted.
type Property<'p> = dyn Fn(&Program, &mut runs::Report) -> Result<(), Failure> + Sync + 'p;

/// The type of a property that is asked of several programs at once.
type PropertyOfSeveral<'p> = dyn Fn(&[Program], &mut runs::Report) -> Result<(), Failure> + Sync + 'p;
