//! Reverse mode by translating procedures and by records of the forward pass: both give what linear maps give.

use crate::derived::derived;
use crate::{assert_near, run, source};
use chadwick::Value;
use chadwick::compile::Stage;
use chadwick::compile::linear_maps::{Derivation, with_derived_entries};

/// Scalars, pairs, sums of two, conditionals and calls; figure 22 first.
pub const SCALARS: &[(&str, &[f64])] = &[
    ("entry f (x: f64) = 5 + 6 + x * 0", &[0.4]),
    ("entry f (r: f64) (t: f64) = (r * f64.cos t, r * f64.sin t)", &[1.3, 0.4]),
    ("entry f (x: f64) (y: f64) = x * x + f64.sin (x * y) + 1", &[0.4, 1.3]),
    ("entry f (x: f64) (y: f64) (z: f64) = f64.sqrt (x + y * z)", &[0.4, 1.3, 0.7]),
    (
        "#[noinline] def p (x: f64) = f64.sin x
      #[noinline] def q (x: f64) = x * x
      #[noinline] def r (x: f64) = f64.exp x
      entry f (x: f64) = p (q (r x)) + q x",
        &[0.4],
    ),
    (
        "#[noinline] def swap (x: f64) (y: f64) = (y, x * y)
      entry f (x: f64) (y: f64) = let (a, b) = swap x y let (c, d) = swap b a in (a * c, d - b)",
        &[0.4, 1.3],
    ),
    ("entry f (x: f64) (y: f64) = if x < y then x * y else x / y", &[0.4, 1.3]),
    ("entry f (x: f64) (y: f64) = if x < y then x * y else x / y", &[1.4, 1.3]),
    ("entry f (x: f64) (y: f64) = let a = if x < y then (if y > 1 then x else y * y) else 2 in a * x", &[0.4, 1.3]),
    (
        "type shape = #disk f64 | #box f64 f64
      #[noinline] def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
      entry f (a: f64) (b: f64) = let s = if a > b then #disk a else #box a b in area s + (if b > 0 then area s else b)",
        &[0.3, 0.8],
    ),
    (
        "type shape = #disk f64 | #box f64 f64
      #[noinline] def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
      entry f (a: f64) (b: f64) = let s = if a > b then #disk a else #box a b in area s + (if b > 0 then a else area s)",
        &[1.3, 0.8],
    ),
    ("entry f (x: f64) (_y: f64) = f64.max x (f64.abs (x - 2)) ** 2.5", &[0.3, 0.8]),
];

pub fn assert_like_maps(text: &str, at: &[f64], derivation: Derivation) {
    let (wanted, found) = (derived(text, Derivation::Reverse), derived(text, derivation));
    let results = run(&wanted, "f", &at.iter().map(|x| Value::from(*x)).collect::<Vec<_>>()).0.len();
    let args: Vec<Value> = at.iter().copied().chain((0..results).map(|k| 1.0 + k as f64)).map(Value::from).collect();
    let name = format!("{}f", derivation.prefix());
    assert_near(&run(&found, &name, &args).0, &run(&wanted, "rev$f", &args).0, text);
}

#[test]
fn translated_procedures_give_the_derivatives_of_linear_maps() {
    for (text, at) in SCALARS {
        assert_like_maps(text, at, Derivation::Procedure);
    }
}

#[test]
fn a_square_root_has_the_gradient_of_the_paper() {
    let program = derived(SCALARS[3].0, Derivation::Procedure);
    let found = run(&program, "proc$f", &[0.4, 1.3, 0.7, 1.0].map(Value::from)).0;
    for (found, wanted) in found[1..].iter().zip([0.43685, 0.30580, 0.56791]) {
        assert!((found - wanted).abs() < 5e-6, "{found} is not {wanted}");
    }
}

#[test]
fn what_is_no_procedure_is_refused() {
    for (text, what) in [
        ("entry f (xs: [3]f64) = xs[0]", "a type that is no number, pair or sum of two, as a procedure"),
        ("entry f (x: f64) = loop x for _i < 3 do x * x", "this form as a procedure"),
        (
            "#[noinline] def power (n: i64) (x: f64): f64 = if n == 0 then 1 else x * power (n - 1) x
          entry f (x: f64) = power 5 x",
            "a function that calls itself",
        ),
    ] {
        let program = source(text).at_stage(Stage::FirstOrder).unwrap_or_else(|error| panic!("{}", error.message()));
        let errors = with_derived_entries(program.core(), Derivation::Procedure).err().unwrap_or_else(|| panic!("{text}"));
        assert!(errors.iter().any(|error| error.message.ends_with(what)), "{errors:?}");
    }
}

/// Builds, indices, sums and conditionals in them.
const ARRAYS: &[(&str, &[f64])] = &[
    ("entry f (x: f64) (y: f64) = let v = [x, y, x * y] in f64.sum (tabulate 5 (\\i -> v[i % 3] * v[(i + 1) % 3]))", &[0.4, 1.3]),
    (
        "entry f (x: f64) (y: f64) = (let v = tabulate 3 (\\i -> if i == 1 then x * y else f64.i64 (i + 1) * y) in v[0] * v[1] * v[2])",
        &[0.4, 1.3],
    ),
    (
        "entry f (x: f64) (y: f64) = f64.sum (tabulate 4 (\\i -> f64.sum (tabulate i (\\j -> x * f64.i64 j + f64.sin y))))",
        &[0.4, 1.3],
    ),
    (
        "#[noinline] def norm (v: [3]f64) = f64.sqrt (f64.sum (map (\\x -> x * x) v))
      entry f (x: f64) (y: f64) = let v = [x, y, 2] let n = norm v in f64.sum (map (/ n) v)",
        &[0.4, 1.3],
    ),
    (
        "entry f (x: f64) (y: f64) = let m = tabulate 3 (\\i -> tabulate 2 (\\j -> x * f64.i64 (i + j))) in m[2, 1] * m[1, 0] + y",
        &[0.4, 1.3],
    ),
    ("entry f (x: f64) (y: f64) = let v = [x, y] let w = if x > y then v else [y, x * x] in w[0] * v[1]", &[0.4, 1.3]),
];

/// Loops, folds, parts of arrays, and what runs side by side.
const REST: &[(&str, &[f64])] = &[
    ("entry f (x: f64) (y: f64) = loop s = x for _i < 3i64 do s * s + y", &[1.1, 0.2]),
    ("entry f (x: f64) (y: f64) = loop (a, b) = (x, y) for i < 4i32 do (b * f64.i32 i, a + x)", &[0.4, 1.3]),
    ("entry f (x: f64) (y: f64) = reduce (\\a b -> a * b * x) 1 [x, y, x + y]", &[0.4, 1.3]),
    ("entry f (x: f64) (y: f64) = f64.maximum [x, y, x * y] + f64.product [x, y, 3]", &[0.4, 1.3]),
    ("entry f (x: f64) (y: f64) = reduce (+) x [y, x * y]", &[0.4, 1.3]),
    ("entry f (x: f64) (y: f64) = let v = [x, y, x * y, 2] in f64.product (v[1:3] ++ [y]) + v[::-1][0]", &[0.4, 1.3]),
    (
        "entry f (x: f64) (y: f64) =
           let v = (loop v = [x, y, 1] for i < 2i64 do v with [i] = v[i + 1] * v[i] + x) in v[0] * v[1] * v[2]",
        &[0.4, 1.3],
    ),
    (
        "entry f (x: f64) (y: f64) =
           let m = tabulate_2d 2 3 (\\i j -> x * f64.i64 i + y * f64.i64 j)
           let t = flatten (transpose m)
           in f64.sum (map2 (*) t (tabulate 6 f64.i64)) * t[3]",
        &[0.4, 1.3],
    ),
    ("entry f (x: f64) (y: f64) = let (a, b) = par (x * y) (f64.sin x * x) in a * b", &[0.4, 1.3]),
    (
        "type shape = #disk f64 | #box f64 f64 | #none
      #[noinline] def area (s: shape): f64 = match s case #box a b -> a * b case _ -> 2
      entry f (a: f64) (b: f64) = area (if a > b then #disk a else #box a b) + area (if a < b then #disk a else #box a b)",
        &[0.3, 0.8],
    ),
    ("entry f (x: f64) (y: f64) = f64.sum (tabulate 3 (\\i -> loop s = x for j < i do s * y + f64.i64 j))", &[0.4, 1.3]),
];

#[test]
fn records_give_the_derivatives_of_linear_maps() {
    for (text, at) in SCALARS.iter().chain(ARRAYS).chain(REST) {
        assert_like_maps(text, at, Derivation::Bog);
    }
}

#[test]
fn a_record_is_all_that_the_reverse_function_is_given() {
    let program = derived(ARRAYS[0].0, Derivation::Bog);
    let function = |suffix: &str| program.core().functions.iter().find(|it| it.name.ends_with(suffix)).expect("made");
    let (forward, reverse) = (function("f_fbog"), function("f_rbog"));
    // Cotangents of the results, then the record: as much as the forward function gives beside its results.
    assert_eq!(reverse.params.len() - 1, forward.results.len() - 1);
    assert!(
        chadwick::core::visit::free_variables(&reverse.body).iter().all(|var| reverse.params.iter().any(|it| it.var == *var))
    );
}

#[test]
fn the_reverse_pass_of_a_build_costs_no_whole_array_in_an_iteration() {
    let text = "entry f [n] (xs: [n]f64) = f64.sum (tabulate n (\\i -> xs[i] * xs[(i * 3) % n]))";
    let program = derived(text, Derivation::Bog);
    let cost = |n: usize| {
        let function = program.function("bog$f").expect("made");
        program.reset_counters();
        let results = function.call(&[vec![0.5; n].into(), 1.0.into()]).unwrap_or_else(|error| panic!("{}", error.message()));
        assert_near(results[1].as_slice::<f64>().expect("floats"), &vec![1.0; n], text);
        program.counters().allocated_bytes
    };
    // 101, 202 and 404 are no multiples of three, so that every element is read twice.
    let [a, b, c] = [101, 202, 404].map(cost);
    assert!(c - b <= 2 * (b - a) + 200, "{a}, {b}, {c}");
}

#[test]
fn what_has_no_record_is_refused() {
    for (text, what) in [
        ("entry f (x: f64) = loop x while x < 3 do x * x", "a loop with a condition, with a record of the forward pass"),
        ("entry f (xs: [3]f64) = scan (+) 0 xs", "this form with a record of the forward pass"),
    ] {
        let program = source(text).at_stage(Stage::FirstOrder).unwrap_or_else(|error| panic!("{}", error.message()));
        let errors = with_derived_entries(program.core(), Derivation::Bog).err().unwrap_or_else(|| panic!("{text}"));
        assert!(errors.iter().any(|error| error.message.ends_with(what)), "{errors:?}");
    }
}
