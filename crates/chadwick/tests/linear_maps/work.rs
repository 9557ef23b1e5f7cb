//! Counted work: the reverse pass costs a constant times the function on families of every form.

use crate::{assert_near, by_maps, run, source};
use chadwick::Value;
use chadwick::compile::Engine;

/// Programs with an entry point `f` of a size and an array of that length or less; the gradient is by the array.
const FAMILIES: &[(&str, &str)] = &[
    ("doubling", "entry f (n: i64) (xs: []f64) = vjp (\\xs -> loop y = xs[0] for _i < n do y + y * 0.5) xs 1"),
    ("indexing", "entry f (n: i64) (xs: []f64) = vjp (\\xs -> xs[n / 2] * xs[0]) xs 1"),
    ("gathering", "entry f (n: i64) (xs: []f64) = vjp (\\xs -> f64.sum (tabulate n (\\i -> xs[(i * 7) % n] * xs[i / 2]))) xs 1"),
    ("a loop over indices", "entry f (n: i64) (xs: []f64) = vjp (\\xs -> loop s = 0 for i < n do f64.sin (s * xs[i])) xs 1"),
    (
        "updates in place",
        "entry f (n: i64) (xs: []f64) = vjp (\\xs -> let ys = loop (a: *[]f64) = copy xs for i < n - 1 do a with [i + 1] = a[i] * a[i + 1]
           in ys[n - 1]) xs 1",
    ),
    ("a product", "entry f (_n: i64) (xs: []f64) = vjp (reduce (*) 1) xs 1"),
    ("a sum of squares", "entry f (_n: i64) (xs: []f64) = vjp (\\xs -> f64.sum (map (\\x -> x * x) xs)) xs 1"),
    ("a fold", "entry f (_n: i64) (xs: []f64) = vjp (foldl (\\s x -> f64.sin (s + x)) 0) xs 1"),
    (
        "a conditional in a map",
        "entry f (n: i64) (xs: []f64) = vjp (\\xs -> f64.sum (tabulate n (\\i -> if i % 2 == 0 then xs[i] * xs[0] else f64.exp xs[i]))) xs 1",
    ),
    (
        "a function called in a map",
        "#[noinline] def at (xs: []f64) (i: i64) = xs[i] * xs[i] + f64.sin xs[0]
         entry f (n: i64) (xs: []f64) = vjp (\\xs -> f64.sum (tabulate n (\\i -> at xs i))) xs 1",
    ),
    (
        "a map in a map",
        "entry f (n: i64) (xs: []f64) = vjp (\\xs -> f64.sum (tabulate n (\\i -> f64.product (tabulate 3 (\\j -> xs[i] + xs[j]))))) xs 1",
    ),
];

#[test]
fn the_reverse_pass_is_linear_in_the_size() {
    for (name, text) in FAMILIES {
        let program = by_maps(text);
        let builtin = source(text);
        let costs = [100usize, 200, 300].map(|n| {
            let xs: Vec<f64> = (0..n).map(|k| 0.9 + 0.2 * ((k * 7) % 11) as f64 / 11.0).collect();
            let args: [Value; 2] = [(n as i64).into(), xs.into()];
            let (found, cost) = run(&program, "f", &args);
            assert_near(&found, &run(&builtin, "f", &args).0, name);
            [cost.operations, cost.accumulations, cost.allocated_bytes]
        });
        for at in 0..3 {
            let (first, second) = (costs[1][at] as i64 - costs[0][at] as i64, costs[2][at] as i64 - costs[1][at] as i64);
            let difference = (second - first).abs();
            assert!(difference * 20 <= first.abs().max(60), "{name} is not linear: {costs:?}");
        }
    }
}

/// The gradient by an array of which one element is read costs no operation for the others.
#[test]
fn indexing_costs_no_arithmetic_for_the_rest_of_the_array() {
    let program = by_maps(FAMILIES[1].1);
    let operations = [10usize, 10_000].map(|n| run(&program, "f", &[(n as i64).into(), vec![0.5; n].into()]).1.operations);
    assert_eq!(operations[0], operations[1]);
}

#[test]
fn a_function_is_run_forward_once_in_split_mode() {
    let text = "#[noinline] def slow (x: f64) = loop x for i < 100 do f64.sin (x + f64.i64 i)
        entry f (x: f64) = vjp (\\x -> slow x * slow (x + 1)) x 1
        entry g (x: f64) = slow x * slow (x + 1)";
    let program = by_maps(text);
    let [gradient, value] = ["f", "g"].map(|entry| run(&program, entry, &[0.3.into()]).1.operations);
    assert!(gradient < 4 * value, "{gradient} operations for the gradient, {value} for the value");
    let fast = source(text).with_engine(Engine::ChadFast).expect("fast CHAD");
    assert_near(&run(&program, "f", &[0.3.into()]).0, &run(&fast, "f", &[0.3.into()]).0, "both engines");
}
