//! Sparse Jacobians of random programs.

use crate::agreement::{Subject, expect_agree, expect_same_bits, one_hots, two};
use crate::compiled::Failure;
use crate::runs::Report;
use chadwick::compile::{Engine, Rung};
use chadwick_generate::{Element, Program};
use chadwick_interp::Value;

/// The Jacobian by columns, from its sparse form, and how often each place is stored.
const SPARSE: &str = "sparse";

fn entry(program: &Program) -> String {
    let (numbers, integers) = (program.numbers(), program.integers());
    format!(
        "entry {SPARSE} (v: [{numbers}]num) (d: [{integers}]i64) (m: i64): ([]num, []num) =
           let (offsets, columns, values) = jacobian_sparse (\\z -> primal z d :> [m]num) v
           in loop (dense, stored) = (replicate (m * {numbers}) 0, replicate (m * {numbers}) 0) for i < m do
                loop (dense, stored) for e in offsets[i]..<offsets[i + 1] do
                  let at = columns[e] * m + i
                  in (dense with [at] = values[e], stored with [at] = stored[at] + 1)\n"
    )
}

/// Whether the function under test has derivatives inside. Then a tangent that happens to be zero may or may not count as a number that
/// depends on something.
fn has_derivatives(source: &str) -> bool {
    let function = source.split("\ndef decode").next().unwrap_or(source);
    ["jvp", "vjp", "jmp", "mjp", "grad", "hvp", "jac", "hessian"].iter().any(|word| function.contains(word))
}

/// The values are those of forward mode, so no pattern misses a place, and no place is stored twice; without derivatives inside, every
/// engine finds the same places. Programs are active where a place is left out.
pub fn jacobians(program: &Program, report: &mut Report) -> Result<(), Failure> {
    let mut plain = Subject::<f64>::by(Engine::Builtin, program, Element::F64)?;
    let input = plain.numbers.clone();
    let results = plain.primal_at(&input)?.len();
    let (_, columns) = plain.forward_many(&one_hots(input.len()), results)?;
    let is_plain = !has_derivatives(&program.source(Element::F64));
    let mut known: Option<Vec<f64>> = None;
    for engine in [Engine::Builtin, Engine::ChadFast, Engine::Dual(Rung::Tape)] {
        let mut subject = Subject::<f64>::with_entries(engine, program, Element::F64, &entry(program))?;
        let (dense, stored) = two(subject.call(SPARSE, vec![Value::i64(results as i64)])?)?;
        expect_agree("a sparse Jacobian is the Jacobian", &dense, &columns)?;
        if stored.iter().any(|count| *count > 1.0) {
            return Err(Failure::new("a place is stored once", format!("{stored:?}")));
        }
        match &known {
            Some(known) if is_plain => expect_same_bits("all engines find the same pattern", &stored, known)?,
            _ => known = Some(stored),
        }
    }
    report.active += u64::from(is_plain && known.is_some_and(|stored| stored.contains(&0.0)));
    Ok(())
}
