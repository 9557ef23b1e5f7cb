//! General reductions and scans in chunks: the derivative is that of the loop, its work grows as the loop's does, and native code has the
//! same bits for any number of threads.

mod work;

use chadwick::compile::Engine;
use chadwick::{Backend, NativeOptions, Program, Value};
use work::{count, numbers, source, with_gradient};

/// Enough numbers for several chunks, and some more behind the last one.
const MANY: usize = 20_011;

/// So few that there is one loop.
const FEW: usize = 1_000;

const PROGRAM: &str = r"
def mm (a: [2][2]f64) (b: [2][2]f64): [2][2]f64 = map (\r -> map (\c -> f64.sum (map2 (*) r c)) (transpose b)) a
def turn (v: f64): [2][2]f64 = [[1, v * 0.01], [-v * 0.01, 1]]

entry reduction [n] (x: [n]f64): f64 = reduce (\a b -> a + b + a * b * 0.001) 0 (map (\v -> v * v * 0.01) x)
entry product [n] (x: [n]f64): f64 = f64.product (map (\v -> 1 + v * 0.001) x)
entry matrices [n] (x: [n]f64): f64 = let m = reduce mm [[1, 0], [0, 1]] (map turn x) in m[0, 0] + 2 * m[0, 1]
entry two_axes [n] (x: [n]f64): f64 =
  flatten (tabulate_2d n 2 (\i j -> x[i] * f64.i64 (j + 1) * 0.01)) |> reduce (\a b -> a + b + a * b * 0.001) 0
entry scan_of_numbers [n] (x: [n]f64): f64 =
  f64.sum (map (* 0.001) (scan (\a b -> a + b + a * b * 0.001) 0 (map (\v -> v * v * 0.01) x)))
entry recurrence [n] (x: [n]f64): f64 =
  let (s, _) = unzip (scan (\(a, b) (c, d) -> (c + d * a, b * d)) (0, 1) (map (\v -> (v, 0.5 + 0.4 * v)) x))
  in f64.sum (map f64.sin s)
entry scan_of_matrices [n] (x: [n]f64): f64 =
  f64.sum (map (\m -> f64.sin m[0, 0] + m[0, 1]) (scan mm [[1, 0], [0, 1]] (map turn x)))
";

const ENTRIES: [&str; 7] = ["reduction", "product", "matrices", "two_axes", "scan_of_numbers", "recurrence", "scan_of_matrices"];

fn gradient(program: &Program, entry: &str, x: &[f64]) -> Vec<f64> {
    let function = program.function(entry).expect("an entry point");
    let result = function.value_and_gradient(&[x.to_vec().into()]);
    let (_, gradient) = result.unwrap_or_else(|error| panic!("{entry}: {}", error.message()));
    gradient[0].as_slice::<f64>().expect("numbers").to_vec()
}

#[test]
fn derivatives_in_chunks_are_those_of_the_loop() {
    let program = source(PROGRAM);
    let fast = program.with_engine(Engine::ChadFast).expect("derivatives");
    for entry in ENTRIES {
        for size in [0, 1, FEW, MANY] {
            let x = numbers(size, 5);
            let (wanted, got) = (gradient(&program, entry, &x), gradient(&fast, entry, &x));
            let largest = wanted.iter().fold(1.0, |most: f64, it| most.max(it.abs()));
            for (at, (wanted, got)) in wanted.iter().zip(&got).enumerate() {
                assert!((wanted - got).abs() <= 1e-9 * largest, "{entry} of {size}, place {at}: {wanted} and {got}");
            }
        }
    }
}

#[test]
fn chunks_cost_about_what_the_loop_costs_and_a_scan_about_twice_as_much() {
    let program = source(PROGRAM);
    for entry in ENTRIES {
        let gradient = with_gradient(&program, entry);
        let per_element = |size: usize| {
            let args: [Value; 2] = [numbers(size, 5).into(), 1.0.into()];
            count(&gradient, entry, &args).float_operations as f64 / size as f64
        };
        let (few, many) = (per_element(FEW), per_element(MANY));
        // Elements that are matrices with constants inside are simpler where they are made than where they are read.
        let most = if entry.contains("scan") || entry == "recurrence" { 2.4 } else { 1.4 };
        assert!(many <= most * few, "{entry}: {few:.2} operations for an element in a loop, {many:.2} in chunks");
        // Linear: twice the elements, twice the work.
        let more = per_element(2 * MANY);
        assert!((more - many).abs() <= 0.02 * many, "{entry}: {many:.2}, then {more:.2}");
    }
}

fn native(program: &Program, strict: bool, threads: usize) -> Program {
    program.with_backend(Backend::Native(NativeOptions { strict, quick: true, threads })).expect("native code")
}

#[test]
fn native_code_has_the_same_bits_for_any_number_of_threads() {
    let program = source(PROGRAM);
    let one = native(&program, false, 1);
    let x = numbers(MANY, 5);
    let value = |program: &Program, entry: &str| {
        let result = program.function(entry).and_then(|function| function.call(&[x.clone().into()]));
        result.unwrap_or_else(|error| panic!("{entry}: {}", error.message()))
    };
    for threads in [2, 3] {
        let several = native(&program, false, threads);
        for entry in ENTRIES {
            assert_eq!(value(&one, entry), value(&several, entry), "{entry} with {threads} threads");
            assert_eq!(gradient(&one, entry, &x), gradient(&several, entry, &x), "gradient of {entry}, {threads} threads");
        }
    }
    let strict = native(&program, true, 3);
    for entry in ENTRIES {
        assert_eq!(value(&program, entry), value(&strict, entry), "{entry}, strict");
    }
}

#[test]
fn long_reductions_and_scans_are_cut_in_native_code() {
    let text = |program: &Program| program.c_text().expect("the text of native code");
    let program = source("entry f [n] (x: [n]f64) = reduce (\\a b -> a + b + a * b) 0 x");
    assert!(text(&native(&program, false, 2)).contains("_loop0_chunk("));
    assert!(!text(&native(&program, true, 2)).contains("_loop0_chunk("));
}
