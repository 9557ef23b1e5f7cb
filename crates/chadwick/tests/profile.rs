//! Programs that are watched compute what they compute otherwise.

use chadwick::compile::FileLoader;
use chadwick::profile::{self, Profiled, Request};
use chadwick::{NativeOptions, Value};
use std::path::Path;

const PROGRAM: &str = "
type rec tree = #leaf | #node tree f64 tree
def rec grow (n: i64) (x: f64): tree = if n == 0 then #leaf else #node (grow (n - 1) (x * 0.5)) x (grow (n - 1) (x + 1))
def rec total (t: tree): f64 = match t case #leaf -> 0 case #node l x r -> total l + x + total r

def norm [n] (xs: [n]f64): f64 = f64.sqrt (f64.sum (map (** 2) xs))
#[noinline] def shrink [n] (k: f64) (xs: [n]f64): [n]f64 = let length = norm xs in map (\\x -> x / (1 + k * length)) xs

entry loops [n] (xs: [n]f64) (steps: i64): (f64, [n]f64) =
  let (ys, sum) =
    loop (ys, sum) = (xs, 0) for i < steps do
      let zs = if i % 2 == 0 then shrink 0.5 ys else map (+ 1) ys
      let inner = loop acc = 0 for j < 3 do acc + norm (map (* f64.i64 j) zs)
      in (zs, sum + inner)
  let tree = total (grow 4 sum)
  in (tree, map norm (replicate n ys))

entry searching (limit: f64): i64 =
  let (i, _) = loop (i, xs) = (0, replicate 10 1f64) while f64.sum xs < limit do (i + 1, map (* 1.5) xs)
  in i

entry loss [n] (xs: [n]f64): f64 = f64.sum (loop ys = xs for _i < 3 do map2 (*) ys (scan (+) 0 (shrink 0.1 ys)))
";

#[test]
fn a_watched_program_gives_the_same_bits() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let xs = || Value::from(vec![0.5, -1.25, 2.0, 3.5]);
    let cases = [
        ("loops", false, vec![xs(), Value::from(5i64)]),
        ("searching", false, vec![Value::from(1000.0)]),
        ("loss", false, vec![xs()]),
        ("loss", true, vec![xs()]),
    ];
    for (entry, gradient, arguments) in cases {
        let options = NativeOptions { strict: true, quick: true, threads: 2 };
        let request = Request { entry: entry.to_owned(), gradient, wrt: Vec::new(), options };
        let profiled = profile::compile(Path::new("program.fut"), PROGRAM, &FileLoader, &request).expect("a profile");
        let plain = profiled.program.function(entry).and_then(|function| function.call(&arguments)).expect("results");
        assert_eq!(profiled.profile().map(|profile| profile.allocations), Some(0));
        for _ in 0..2 {
            let watched = profiled.watched().function(entry).and_then(|function| function.call(&arguments)).expect("results");
            assert_eq!(watched, plain, "{entry}");
        }
        let found = profiled.profile().expect("a profile");
        assert!(found.lines.iter().any(|(_, time)| !time.is_zero()), "{entry}: {found:?}");
        assert!(found.allocations > 0 && found.allocated_bytes > 0, "{entry}: {found:?}");
        // A program that is not watched has nothing to tell.
        assert!(profiled.steps.iter().any(|(name, _)| name == "C compiler"));
    }
}

/// An entry point of a program, or its gradient, after one watched call on one thread.
fn watched(source: &str, entry: &str, gradient: bool, argument: Value) -> Profiled {
    let options = NativeOptions { strict: false, quick: true, threads: 1 };
    let request = Request { entry: entry.to_owned(), gradient, wrt: Vec::new(), options };
    let profiled = profile::compile(Path::new("program.fut"), source, &FileLoader, &request).expect("a profile");
    profiled.watched().function(entry).and_then(|function| function.call(&[argument])).expect("results");
    profiled
}

const CHANGES: &str = "
entry down [m] (x: [m][10]f64): f64 = let a = loop a = copy x for i < m - 1 do a with [i + 1] = copy a[i] in a[m - 1, 0]
entry sinking [m] (x: [m][10]f64): f64 =
  let a = loop a = copy x for i < m - 1 do
    let (upper, lower) = (copy a[i], copy a[i + 1])
    in (a with [i] = lower) with [i + 1] = upper
  in a[m - 1, 0]
entry ranges [m] (x: [m][10]f64): f64 =
  f64.sum (flatten (loop a = copy x for i < m - 2 do a with [i:i + 2] = [x[i], map (* 2) x[i]]))
entry elimination [m] (x: [m][10]f64): f64 =
  f64.sum (flatten (loop a = copy x for k < m do
    let row = copy a[k]
    in loop a for i < 2i64 do
      let at = (k + i + 1) % m
      in a with [at] = map2 (\\u v -> u - 0.1 * v) a[at] row))
entry columns [m] (x: [m][10]f64): f64 =
  f64.sum (flatten (loop a = copy x for i < m do
    let a = a with [i, 0] = f64.sin a[i, 0]
    in a with [i, 1] = a[i, 1] + a[i, 0]))
entry filter_of_columns [m] (x: [m][10]f64): f64 = loop s = 1 for i < m do s * (1 + 0.01 * x[i, 0]) + x[i, 1]
";

/// A part that is used behind a change of its array is copied, and not the array: what is allocated is in proportion to the steps.
#[test]
fn changes_of_arrays_copy_parts_and_not_the_array() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    for (entry, gradient) in ["down", "sinking", "ranges", "elimination", "columns", "filter_of_columns"]
        .iter()
        .flat_map(|entry| [(*entry, false), (*entry, true)])
    {
        let allocated = |rows: usize| {
            let x = Value::new([rows, 10], vec![0.5; 10 * rows]).expect("a matrix");
            watched(CHANGES, entry, gradient, x).profile().expect("a profile").allocated_bytes
        };
        let (few, many) = (allocated(200), allocated(400));
        assert!(many <= 3 * few, "{entry}, gradient {gradient}: {few} and {many} bytes");
    }
}

const RECOMPUTED: &str = "
entry windows [n] (x: [n]f64): f64 =
  f64.sum (map (\\i -> f64.sum (map (\\v -> v * v * v) x[i:i + 50])) (iota (n - 50)))
entry sums [n] (x: [n]f64): f64 =
  f64.sum (tabulate n (\\i -> (loop s = 0 for k < n do s + x[i] * x[k] * x[k]) ** 2))
";

/// Parts of arrays are cut out again in the reverse pass, and loops that add up keep nothing: what a gradient allocates is in proportion to
/// its argument, though the function reads each of its numbers many times.
#[test]
fn gradients_keep_neither_parts_of_arrays_nor_sums() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    for entry in ["windows", "sums"] {
        let profiled = watched(RECOMPUTED, entry, true, vec![0.5; 1000].into());
        let bytes = profiled.profile().expect("a profile").allocated_bytes;
        // To keep the parts would take 380,000 bytes, to keep the terms 8 million.
        assert!(bytes < 200 * 1000, "{entry}: {bytes} bytes");
    }
}

const MATRICES: &str = "
entry cholesky [n] (a: [n][n]f64): f64 =
  let l = loop l = replicate n (replicate n 0) for j < n do
    let d = f64.sqrt (a[j, j] + f64.i64 n - f64.sum (map (\\k -> l[j, k] ** 2) (iota j)))
    let l[j, j] = d
    in loop l for i in j + 1..<n do
         l with [i, j] = (a[i, j] - f64.sum (map (\\k -> l[i, k] * l[j, k]) (iota j))) / d
  in f64.sum (map (\\i -> f64.log l[i, i]) (iota n))
entry conditional [n] (a: [n][n]f64): f64 =
  f64.sum (flatten (loop a = copy a for k < n do
    loop a for i < n do
      if i == k then a else a with [i, k] = 0.1 * f64.sum (map (\\j -> a[i, j] * a[k, j]) (iota n))))
entry gauss_jordan [n] (a: [n][n]f64): f64 =
  f64.sum (flatten (loop a for k < n do
    let row = map (/ (a[k, k] + 3)) a[k]
    in tabulate_2d n n (\\i j -> if i == k then row[j] else a[i, j] - 0.1 * a[i, k] * row[j])))
entry elimination [n] (a: [n][n]f64): f64 =
  f64.sum (flatten (loop a = copy a for k < n do
    loop a for i in k + 1..<n do
      let f = a[i, k] / (a[k, k] + 3)
      let a[i, k] = f
      in loop a for j in k + 1..<n do a with [i, j] = a[i, j] - f * a[k, j]))
";

/// Of the states of a loop a gradient keeps the rows and columns that it reads, and of changes in place what they overwrite: a few matrices,
/// where all that is read is as many as the matrix has rows.
#[test]
fn gradients_keep_a_few_matrices_of_loops_over_matrices() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    for entry in ["cholesky", "conditional", "gauss_jordan", "elimination"] {
        let kept = |n: usize| {
            let a = Value::new([n, n], vec![0.5; n * n]).expect("a matrix");
            watched(MATRICES, entry, true, a).watched().peak_memory()
        };
        let (few, many) = (kept(40), kept(80));
        assert!(many < 5 * few && many < 20 * 8 * 80 * 80, "{entry}: {few} and {many} bytes");
    }
}

const SMALL_MATRICES: &str = "
def dot [n] (a: [n]f64) (b: [n]f64) = f64.sum (map2 (*) a b)
def times [n][m][k] (a: [n][m]f64) (b: [m][k]f64): [n][k]f64 = map (\\r -> map (\\c -> dot r c) (transpose b)) a
entry products [n] (xs: [n]f64): f64 =
  let one = tabulate_2d 4 4 (\\i j -> f64.bool (i == j))
  let p = loop p = one for x in xs do
    let m = map (\\i -> map (\\j -> f64.sin (x * f64.i64 (i + j)) * 0.1) (iota 4)) (iota 4)
    in map2 (map2 (+)) one (times (times (times m p) (transpose m)) (times (times p m) (times m m)))
  in f64.sum (flatten p)
";

/// Small matrices of a step and their cotangents live in the frame of the function, though functions make them that are called in many places.
#[test]
fn steps_with_small_matrices_ask_for_little_memory() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let blocks = |n: usize| {
        let xs: Vec<f64> = (0..n).map(|at| at as f64 / 10.0).collect();
        watched(SMALL_MATRICES, "products", true, xs.into()).profile().expect("a profile").allocations
    };
    let per_step = (blocks(40) - blocks(20)) / 20;
    assert!(per_step <= 4, "{per_step} blocks of memory in each step");
}

const ITERATED: &str = "
entry newton [n] (xs: [n]f64): f64 = f64.sum (map (\\a -> loop x = a for _i < 100 do 0.5 * (x + a / x)) xs)
entry horner [n] (xs: [n]f64): f64 = f64.sum (map (\\x -> (loop y = 1 for i < n do y * x + f64.i64 i) ** 2) xs)
";

/// What the steps of a loop in a map need in the reverse pass is kept for a few elements at a time.
#[test]
fn loops_in_maps_keep_their_steps_for_a_few_elements() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    for entry in ["newton", "horner"] {
        let peak = watched(ITERATED, entry, true, vec![0.5; 1000].into()).watched().peak_memory();
        // The steps of all elements would be 1.6 million bytes, and 8 million.
        assert!(peak < 400 * 1000, "{entry}: {peak} bytes");
    }
}
