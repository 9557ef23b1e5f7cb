//! Loops in chunks: the same bits for any number of threads, and the first error of all.

use chadwick::values::Value;
use chadwick::{Backend, NativeOptions, Program};

const PROGRAM: &str = r"
type rec tree = #leaf f64 | #node tree tree

def rec grow (d: i64) (x: f64): tree = if d == 0 then #leaf x else #node (grow (d - 1) (x * 0.5)) (grow (d - 1) (x + 1))
def rec total (t: tree): f64 = match t case #leaf x -> x case #node a b -> total a + total b

entry sum (n: i64) = f64.sum (tabulate n (\i -> f64.sin (f64.i64 i) * 0.1))
entry extremes (n: i64) =
  let xs = tabulate n (\i -> f64.sin (f64.i64 i))
  in (f64.maximum xs, f64.minimum xs, i64.sum (map i64.f64 xs), reduce (^) 0 (map i64.f64 (map (* 1e6) xs)))
entry rows (n: i64) = tabulate n (\i -> f64.sum (tabulate 200 (\j -> f64.sqrt (f64.i64 (i * j)))))
entry weights (n: i64) =
  let w = tabulate 50 (\j -> 0.01 * f64.i64 j)
  in vjp (\w -> f64.sum (tabulate n (\i -> let k = (i * 7919) % 50 in f64.sin (w[k] * f64.i64 i) * w[(k * k) % 50]))) w 1
entry sharing (n: i64) = let shared = grow 4 1 in tabulate n (\i -> total (#node shared (grow 6 (f64.i64 i))))
entry parts (n: i64) =
  let base = iota 10
  in map (\i -> i64.sum (if i % 2 == 0 then base[0:i % 10] else replicate (i % 7) i)) (iota n)
entry copies (n: i64) =
  map (\i -> let xs = map (+ i) (iota 20) in (copy xs with [3] = i)[i % 20]) (iota n)
entry products (n: i64) =
  let a = tabulate_2d n n (\i j -> f64.sin (f64.i64 (i + 3 * j)))
  let b = transpose a
  in map (\row -> map (\column -> f64.sum (map2 (*) row column)) a) b
entry bins (n: i64) =
  let bins = tabulate n (\i -> i * 7919 % 41)
  in (hist (+) 0 37 bins (tabulate n (\i -> f64.sin (f64.i64 i))), hist (+) 1 37 bins (iota n), hist i64.max 0 37 bins (iota n))
entry own_rows (n: i64) =
  let a = tabulate_2d n 60 (\i j -> f64.sin (f64.i64 (i + 3 * j)))
  let x = tabulate 60 (\j -> 0.1 * f64.i64 j)
  in vjp (\(a, x) -> map (\row -> f64.sum (map2 (*) row x)) a) (a, x) (tabulate n f64.i64)
entry steps (n: i64) =
  loop xs = tabulate n f64.i64 for _i < 5 do map2 (\x y -> 0.5 * (x + y)) xs (rotate 1 xs)
";

/// So many elements that every loop is cut.
const SIZES: [(&str, i64); 11] = [
    ("sum", 300_000),
    ("extremes", 100_000),
    ("rows", 700),
    ("weights", 60_000),
    ("sharing", 700),
    ("parts", 40_000),
    ("copies", 20_000),
    ("products", 150),
    ("bins", 70_000),
    ("own_rows", 3_000),
    ("steps", 70_000),
];

fn program(text: &str) -> Program {
    Program::from_source(text).and_then(|program| program.with_backend(Backend::Interpreter)).expect("a program")
}

fn native(program: &Program, strict: bool, threads: usize) -> Program {
    program.with_backend(Backend::Native(NativeOptions { strict, quick: true, threads })).expect("native code")
}

fn bits(program: &Program, entry: &str, n: i64) -> Vec<Value> {
    program.function(entry).expect("an entry point").call(&[n.into()]).expect("a result")
}

#[test]
fn results_are_the_same_bits_for_any_number_of_threads() {
    let program = program(PROGRAM);
    let one = native(&program, false, 1);
    for threads in [2, 3, 8] {
        let several = native(&program, false, threads);
        for (entry, n) in SIZES {
            // More than once: who takes which chunk differs.
            for _ in 0..3 {
                assert_eq!(bits(&one, entry, n), bits(&several, entry, n), "{entry} with {threads} threads");
            }
        }
    }
}

#[test]
fn strict_floats_are_those_of_the_interpreter_with_threads_too() {
    let program = program(PROGRAM);
    let strict = native(&program, true, 3);
    let program = program.with_engine(chadwick::compile::Engine::ChadFast).expect("derivatives");
    for (entry, n) in SIZES {
        let n = n / 10;
        assert_eq!(bits(&program, entry, n), bits(&strict, entry, n), "{entry}");
    }
}

#[test]
fn every_loop_of_these_programs_is_cut() {
    for line in PROGRAM.split("entry ").skip(1) {
        let definitions = PROGRAM.split("entry ").next().unwrap_or_default();
        let program = program(&format!("{definitions}\nentry {line}"));
        let text = native(&program, false, 1).c_text().expect("C");
        let name = line.split_whitespace().next().unwrap_or_default();
        assert!(text.contains("_loop0_chunk"), "`{name}` has no loop in chunks");
    }
}

/// How many arrays the chunks of a loop have for themselves.
fn copies_for_chunks(function: &str) -> usize {
    let entry = "entry main [m][n] (a: [m][n]f64) (x: [n]f64) (ks: [m]i64) (ys: [m]f64) = vjp (\\(a, x) -> f a x ks) (a, x) ys";
    let text = format!("def f [m][n] (a: [m][n]f64) (x: [n]f64) (ks: [m]i64): [m]f64 = {function}\n{entry}");
    native(&program(&text), false, 2).c_text().expect("C").matches("cw_block *own_").count()
}

#[test]
fn chunks_have_copies_only_of_what_others_add_to_at_the_same_places() {
    // The vector is added to in every row.
    assert_eq!(copies_for_chunks(r"map (\row -> f64.sum (map2 (*) row x)) a"), 1);
    assert_eq!(copies_for_chunks(r"map2 (\row k -> row[k] * f64.sum row) a ks"), 0);
    assert_eq!(copies_for_chunks(r"map2 (\k i -> f64.sum (map2 (*) a[k] a[i])) ks (iota m)"), 1);
}

#[test]
fn the_error_is_the_first_one_whoever_meets_it() {
    let program = program(
        "entry main (n: i64) = f64.sum (tabulate n (\\i -> f64.i64 (assert (i < n / 2 || i % 7 != 3) i)))
         entry value (n: i64) = let xs = iota n in map (\\i -> let k = if i > n / 3 then i + n else i in xs[k]) (iota n)",
    );
    for entry in ["main", "value"] {
        let message = |program: &Program| {
            let error = program.function(entry).expect("an entry point").call(&[200_000i64.into()]).expect_err("an error");
            error.to_string().lines().next().unwrap_or_default().to_owned()
        };
        let wanted = message(&program);
        for threads in [1, 2, 5] {
            let native = native(&program, false, threads);
            for _ in 0..3 {
                assert_eq!(message(&native), wanted, "{entry} with {threads} threads");
            }
        }
    }
}

#[test]
fn workers_share_the_limit_of_memory() {
    // The prefixes are read twice, so they are stored.
    let program = "entry main (n: i64) = map (\\i -> let xs = scan (+) 0 (iota (n + i)) in xs[n / 2] + i64.sum xs) (iota 64)";
    let native = native(&self::program(program), false, 4);
    native.set_limits(chadwick::Limits { max_memory_bytes: 64 << 20, ..chadwick::Limits::default() });
    let function = native.function("main").expect("an entry point");
    function.call(&[100_000i64.into()]).expect("enough");
    let error = function.call(&[20_000_000i64.into()]).expect_err("too much");
    assert!(error.to_string().contains("memory"), "{error}");
    function.call(&[100_000i64.into()]).expect("enough");
}
