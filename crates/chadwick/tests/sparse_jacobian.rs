//! What sparse Jacobians cost, counted: as many passes as colours, and work in proportion to the number of entries.

mod work;

use chadwick::Program;
use chadwick::compile::Engine;
use work::{count, source, vector};

/// Three diagonals.
const STENCIL: &str = r"
  def f [n] (x: [n]f64): [n]f64 =
    tabulate n (\i -> let (l, r) = (if i == 0 then 0 else x[i - 1], if i == n - 1 then 0 else x[i + 1])
                      in x[i] * (l - r) + f64.sin x[i])";

/// Rows that have one of a few inputs, one of many, and one of their own, as observations of points by cameras have.
const OBSERVATIONS: &str = r"
  def f [n] (x: [n]f64): [n]f64 =
    let k = (n - 7) / 2
    in tabulate n (\i -> if i < k then x[i % 7] * x[7 + i * 31 % k] + f64.sin x[7 + k + i] else 0)";

/// Rows that have inputs from anywhere, so that large blocks of inputs all meet in some row.
const SCATTERED: &str = r"
  def f [n] (x: [n]f64): [n]f64 = tabulate n (\i -> x[i] * x[i * 31 % n] + f64.sin x[i * i % n])";

fn program(function: &str) -> Program {
    let entries = "entry sparse [n] (x: [n]f64) = jacobian_sparse f x
         entry pattern [n] (x: [n]f64) = jacobian_pattern f x
         entry three [n] (x: [n]f64) = jmp f x (tabulate_2d 3 n (\\c i -> if i % 3 == c then 1 else 0))
         entry value [n] (x: [n]f64) = f x";
    source(&format!("{function}\n{entries}")).with_engine(Engine::ChadFast).unwrap_or_else(|error| panic!("{}", error.message()))
}

#[test]
fn a_stencil_needs_three_tangents_at_any_size() {
    let program = program(STENCIL);
    for n in [10, 100, 1000, 5000] {
        let floats = |entry: &str| count(&program, entry, &[vector(n, 1)]).float_operations;
        assert_eq!(floats("sparse") - floats("pattern"), floats("three"), "{n} points");
    }
}

#[test]
fn patterns_and_values_take_linear_work() {
    for (name, function) in [("stencil", STENCIL), ("observations", OBSERVATIONS), ("scattered", SCATTERED)] {
        for engine in [Engine::Builtin, Engine::ChadFast] {
            let program = program(function).with_engine(engine).unwrap_or_else(|error| panic!("{}", error.message()));
            for entry in ["pattern", "sparse"] {
                // All three have two levels of blocks.
                let [one, two, three] = [1100, 2200, 3300].map(|n| count(&program, entry, &[vector(n, 1)]).operations as f64);
                let bend = (three - two) - (two - one);
                assert!(bend.abs() <= 0.01 * two, "{name}, {engine:?}, {entry}: {one}, {two}, {three}");
            }
        }
    }
}

/// What comes with more inputs are more levels, one for each factor of 59, and not more passes at a level.
#[test]
fn a_level_of_blocks_is_two_more_passes_of_a_stencil() {
    let program = program(STENCIL);
    let per_point = |n: usize| count(&program, "pattern", &[vector(n, 1)]).operations as f64 / n as f64;
    let (two_levels, three_levels) = (per_point(3400), per_point(6800));
    assert!(three_levels <= 2.0 * two_levels, "{two_levels} operations a point, and {three_levels} with one more level");
}
