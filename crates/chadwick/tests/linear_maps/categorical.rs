//! The categorical language: functions go there and come back as they were.

use crate::derived::derived;
use crate::{assert_near, run, source};
use chadwick::Value;
use chadwick::compile::Stage;
use chadwick::compile::linear_maps::{Derivation, categorical_text};

const PROGRAMS: &[&str] = &[
    "entry f (x: f64) (y: f64) (z: f64) = f64.sqrt (x + y * z)",
    "#[noinline] def sq (x: f64) = x * x
     entry f (x: f64) (y: f64) (z: f64) = let a = sq y let b = sq (a + 1) in if a < b then (a * x, b) else (z, 2)",
    "entry f (x: f64) (y: f64) (z: f64) = let v = [x, y, z] in tabulate 5 (\\i -> v[i % 3] * f64.i64 i)",
    "entry f (x: f64) (y: f64) (z: f64) = f64.sum (tabulate 4 (\\i -> f64.sum (tabulate i (\\j -> x * f64.i64 j + y)) * z))",
    "entry f (x: f64) (_y: f64) (z: f64) = let a = x + z let b = a * 2 in [[a, b], [b, a]]",
    "entry f (x: f64) (y: f64) (z: f64) = loop (a, b) = (x, y) for i < 3i64 do (b * z, a + f64.i64 i)",
    "entry f (x: f64) (y: f64) (z: f64) = (loop a = x while a < 20 do a * 2 + y * z, reduce (*) 1 [x, y, z])",
    "type shape = #disk f64 | #box f64 f64 | #none
     entry f (x: f64) (y: f64) (z: f64) =
       let s: shape = if x > y then #disk x else if x < z then #box y z else #none
       in match s case #disk r -> r * r case #box a b -> a * b + x case #none -> z",
    "entry f (x: f64) (y: f64) (z: f64) = let (a, b) = par (x * y) (y * z) in scan (+) a [b, x, y] ++ [z]",
];

#[test]
fn the_way_there_and_back_is_the_identity() {
    let args = [0.4, 1.3, 0.7].map(Value::from);
    for text in PROGRAMS {
        for prune in [false, true] {
            let program = derived(text, Derivation::Categorical { prune });
            assert_near(&run(&program, "cl$f", &args).0, &run(&program, "f", &args).0, text);
        }
    }
}

#[test]
fn pruning_leaves_only_what_is_used() {
    let text = "entry f (x: f64) (y: f64) (z: f64) = let a = x * y let b = f64.sin a in b + 1";
    let program = source(text).at_stage(Stage::Prepare).unwrap_or_else(|error| panic!("{}", error.message()));
    let function = program.core().entry("f").expect("f").function;
    let [whole, pruned] = [false, true].map(|prune| categorical_text(program.core(), function, prune).expect("a text"));
    assert!(whole.starts_with("L(P[1, 2/3]; F(f64.mul), L("), "{whole}");
    // The third argument is dropped at once, the first two when they have been multiplied.
    assert!(pruned.starts_with("P[1, 2/3]; L(I; F(f64.mul), P[3/3]; L(I; F(f64.sin), P[2/2]; L("), "{pruned}");
}
