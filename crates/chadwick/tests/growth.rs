//! How derivatives grow: value and gradient of families of programs, counted at sizes n, 2n and 3n. What is linear has no second difference,
//! so there is no constant to choose and no noise to allow for.

mod work;

use chadwick::{Counters, Value};
use work::{count, matrix, numbers, source, vector, with_gradient, with_gradient_by};

type Arguments = fn(usize) -> Vec<Value>;

const SIZES: [usize; 3] = [20, 40, 60];

/// Numbers that repeat, so that conditions hold as often in every part of an array.
fn periodic(n: usize, seed: u64) -> Value {
    numbers(SIZES[0], seed).into_iter().cycle().take(n).collect::<Vec<f64>>().into()
}

fn one(n: usize) -> Vec<Value> {
    vec![vector(n, 1)]
}

fn two(n: usize) -> Vec<Value> {
    vec![vector(n, 1), vector(n, 2)]
}

fn two_and_choices(n: usize) -> Vec<Value> {
    let choices: Vec<bool> = (0..n).map(|at| at % 2 == 0).collect();
    vec![periodic(n, 1), periodic(n, 2), choices.into()]
}

fn count_and_number(n: usize) -> Vec<Value> {
    vec![(n as i64).into(), 0.5.into()]
}

fn count_and_one(n: usize) -> Vec<Value> {
    vec![(n as i64).into(), vector(n, 3)]
}

fn rows(n: usize) -> Vec<Value> {
    vec![matrix(n, 4, 1)]
}

fn columns(n: usize) -> Vec<Value> {
    vec![matrix(4, n, 1)]
}

/// Programs whose entry point `f` does work in proportion to the size of its arguments.
fn families() -> Vec<(&'static str, &'static str, Arguments)> {
    vec![
        (
            "a read of each element, twice used",
            r"entry f [n] (a: [n]f64) = f64.sum (map (\i -> let z = a[i] in z + 2 * z) (iota n))",
            one,
        ),
        (
            "two names of one array",
            r"entry f [n] (x: [n]f64) =
             
              let a = map f64.exp x
              let b = a
              in f64.sum (map (\i -> a[i] + b[i]) (iota n))",
            one,
        ),
        ("a map of a map", r"entry f [n] (x: [n]f64) = let a = map f64.exp x in f64.sum (map (\i -> a[i] * 2) (iota n))", one),
        (
            "a factor shared by three products",
            r"entry f [n] (x: [n]f64) (y: [n]f64) = f64.sum (map2 (\x y ->
              let a = f64.sin y
              let b = f64.exp y in x * b + y * b + (x + y) * b + a) x y)",
            two,
        ),
        ("nested reductions", r"entry f [n] (x: [n][4]f64) = f64.sum (map (\r -> f64.exp (f64.sum (map f64.sin r))) x)", rows),
        (
            "nested reductions, the inner one grows",
            r"entry f [n] (x: [4][n]f64) = f64.sum (map (\r -> f64.exp (f64.sum (map f64.sin r))) x)",
            columns,
        ),
        ("nested products", r"entry f [n] (x: [n][4]f64) = f64.sum (map (\r -> f64.exp (f64.product (map f64.sin r))) x)", rows),
        (
            "nested general reductions",
            r"entry f [n] (x: [n][4]f64) = f64.sum (map (\r -> reduce (\a b -> a + b + a * b) 0 (map f64.sin r)) x)",
            rows,
        ),
        ("a product", r"entry f [n] (x: [n]f64) = f64.product (map f64.sin x)", one),
        ("a maximum", r"entry f [n] (x: [n]f64) = f64.maximum (map f64.sin x)", one),
        ("a maximum of maxima", r"entry f [n] (x: [4][n]f64) = f64.maximum (map (\r -> f64.maximum (map f64.sin r)) x)", columns),
        ("prefix sums", r"entry f [n] (x: [n]f64) = f64.sum (map f64.sin (scan (+) 0 (map f64.exp x)))", one),
        (
            "a general scan",
            r"entry f [n] (x: [n]f64) = f64.sum (map f64.sin (scan (\a b -> a * b + b + a) 0 (map f64.exp x)))",
            one,
        ),
        (
            "a linear recurrence as a scan",
            r"entry f [n] (x: [n]f64) (y: [n]f64) =
              let (s, _) = unzip (scan (\(a, b) (c, d) -> (c + d * a, b * d)) (0, 1) (zip x y))
              in f64.sum (map f64.sin s)",
            two,
        ),
        (
            "nested matches",
            r"type t = #a f64 | #b f64 | #c
            entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) =
              let g (x: f64) (y: f64) (c: bool): t = if c then (if x < y then #a (f64.exp x) else #b y) else #c
              in f64.sum (map3 (\x y c -> match g x y c case #a v -> (match g v x (not c) case #a u -> u * v case #b u -> f64.sin (u * v) case #c -> v) case #b v -> v * v case #c -> 1) x y c)",
            two_and_choices,
        ),
        (
            "nested builds",
            r"entry f [n] (x: [n]f64) = f64.sum (map (\i -> f64.sum (map (\j -> f64.sum (map (\k -> f64.exp (x[i] * f64.i64 (j + k))) (iota 3))) (iota 2))) (iota n))",
            one,
        ),
        ("a loop over a number", r"entry f (n: i64) (x: f64) = loop y = x for i < n do f64.sin y * x", count_and_number),
        ("a loop over an array", r"entry f [n] (x: [n]f64) = f64.sum (loop y = x for i < 5 do map (\v -> f64.sin v * v) y)", one),
        (
            "nested loops",
            r"entry f (n: i64) (x: f64) = loop y = x for i < n do loop z = y for j < 3 do f64.sin z * x",
            count_and_number,
        ),
        (
            "a while loop",
            r"entry f (n: i64) (x: f64) = (loop (y, i) = (x, 0) while i < n do (f64.sin y * x, i + 1)).0",
            count_and_number,
        ),
        ("a loop that reads an array", r"entry f [n] (x: [n]f64) = loop s = 0 for i < n do s + f64.sin x[i]", one),
        (
            "a loop that carries an array it only reads",
            r"entry f [n] (x: [n]f64) = (loop (x, s) = (x, 0) for i < n do (x, s + f64.sin x[i])).1",
            one,
        ),
        (
            "a choice between arrays in a loop",
            r"entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) = loop s = 0 for i < n do s + f64.sin (if c[i] then x else y)[i]",
            two_and_choices,
        ),
        (
            "a choice between arrays in a build",
            r"entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) = f64.sum (map (\i -> f64.sin (if c[i] then x else y)[i]) (iota n))",
            two_and_choices,
        ),
        (
            "a chain of choices in a loop",
            r"entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) = loop s = 0 for i < n do (let z = if c[i] then x else y let w = if c[n - 1 - i] then z else x in s + f64.sin w[i] * w[0])",
            two_and_choices,
        ),
        (
            "two arrays that change places",
            r"entry f [n] (x: [n]f64) (y: [n]f64) = (loop (a, b, s) = (x, y, 0) for i < n do (b, a, s + f64.sin a[i])).2",
            two,
        ),
        (
            "an update in place",
            r"entry f [n] (x: [n]f64) =
              let y = loop y = copy x for i < n do y with [i] = f64.sin y[i]
              in f64.sum y",
            one,
        ),
        (
            "a recurrence in place",
            r"entry f [n] (x: [n]f64) =
              let y = loop y = copy x for i < n - 1 do y with [i + 1] = f64.sin y[i] * y[i + 1]
              in f64.sum y",
            one,
        ),
        (
            "an array filled in place",
            r"entry f (n: i64) (x: [n]f64) =
              let y = loop y = replicate n 0 for i < n do y with [i] = f64.sin x[i]
              in f64.sum (map f64.exp y)",
            count_and_one,
        ),
        (
            "an update in place under a condition",
            r"entry f [n] (x: [n]f64) (c: [n]f64) (b: [n]bool) =
              let y = loop y = copy x for i < n do if b[i] then y with [i] = f64.sin y[i] * c[i] else y
              in f64.sum y",
            two_and_choices,
        ),
        (
            "rows updated in place",
            r"entry f [n] (x: [n][4]f64) =
              let y = loop y = copy x for i < n do y with [i] = map f64.sin y[i]
              in f64.sum (map f64.sum y)",
            rows,
        ),
        ("a loop that reads rows", r"entry f [n] (x: [n][4]f64) = loop s = 0 for i < n do s + f64.exp (f64.sum x[i])", rows),
        (
            "a loop that reads slices",
            r"entry f [n] (x: [n]f64) = loop s = 0 for i < n - 2 do s + f64.exp (f64.sum x[i:i+2])",
            one,
        ),
        (
            "a histogram of sums",
            r"entry f [n] (x: [n]f64) = f64.sum (map f64.exp (hist (+) 0 4 (map (% 4) (iota n)) (map f64.sin x)))",
            one,
        ),
        (
            "a histogram of maxima",
            r"entry f [n] (x: [n]f64) = f64.sum (map f64.exp (hist f64.max (-f64.inf) 4 (map (% 4) (iota n)) (map f64.sin x)))",
            one,
        ),
        (
            "a scatter",
            r"entry f [n] (x: [n]f64) (y: [n]f64) = f64.sum (map f64.exp (scatter (copy x) (map (\i -> n - 1 - i) (iota n)) (map f64.sin y)))",
            two,
        ),
        ("a gather", r"entry f [n] (x: [n]f64) = f64.sum (map (\i -> f64.exp x[(i * 7) % n]) (iota n))", one),
        (
            "a list",
            r"type rec l = #nil | #cons f64 l
            def make (i: i64) (x: f64): l = if i == 0 then #nil else #cons (x * f64.i64 i) (make (i - 1) x)
            def total (xs: l): f64 = match xs case #nil -> 0 case #cons h t -> f64.sin h + total t
            entry f (n: i64) (x: f64) = total (make n x)",
            count_and_number,
        ),
        (
            "a list, gone through twice",
            r"type rec l = #nil | #cons f64 l
            def make (i: i64) (x: f64): l = if i == 0 then #nil else #cons (x * f64.i64 i) (make (i - 1) x)
            def total (xs: l): f64 = match xs case #nil -> 0 case #cons h t -> f64.sin h + total t
            entry f (n: i64) (x: f64) = let l = make n x in total l * total l",
            count_and_number,
        ),
        (
            "a list in a loop",
            r"type rec l = #nil | #cons f64 l
            entry f [n] (x: [n]f64) =
              let l: l = loop l: l = #nil for i < n do #cons (f64.sin x[i]) l in (loop (l, s) = (l, 0) for i < n do match l case #nil -> (l, s) case #cons h t -> (t, s + h * h)).1",
            one,
        ),
        (
            "a tree",
            r"type rec t = #leaf f64 | #node t t
            def make (i: i64) (x: f64): t = if i <= 1 then #leaf (f64.sin x) else #node (make (i / 2) (x * 0.9)) (make (i - i / 2) (x * 1.1))
            def total (t: t): f64 = match t case #leaf x -> x case #node a b -> total a * 0.5 + f64.sin (total b)
            entry f (n: i64) (x: f64) = total (make n x)",
            count_and_number,
        ),
        (
            "a list with two readers at each step",
            r"type rec l = #nil | #cons f64 l
            def make (i: i64) (x: f64): l = if i == 0 then #nil else #cons (x * f64.i64 i) (make (i - 1) x)
            def first (xs: l): f64 = match xs case #nil -> 0 case #cons h _ -> h
            def total (xs: l): f64 = match xs case #nil -> 0 case #cons h t -> h * first t + total t
            entry f (n: i64) (x: f64) = total (make n x)",
            count_and_number,
        ),
        (
            "a list of which a loop reads a part in every iteration",
            r"type rec l = #nil | #cons f64 l
            def make (i: i64) (x: f64): l = if i == 0 then #nil else #cons (x * f64.i64 i) (make (i - 1) x)
            def second (xs: l): f64 = match xs case #nil -> 0 case #cons h t -> h * (match t case #nil -> 1 case #cons k _ -> k)
            entry f (n: i64) (x: f64) = let l = make n x in loop s = 0 for _i < n do f64.sin s + second l",
            count_and_number,
        ),
        (
            "a list of which a map reads a part for every element",
            r"type rec l = #nil | #cons f64 l
            def make (i: i64) (x: f64): l = if i == 0 then #nil else #cons (x * f64.i64 i) (make (i - 1) x)
            def second (xs: l): f64 = match xs case #nil -> 0 case #cons h t -> h * (match t case #nil -> 1 case #cons k _ -> k)
            entry f (n: i64) (x: f64) = let l = make n x in f64.sum (map (\i -> f64.i64 i * second l) (iota n))",
            count_and_number,
        ),
        (
            "a tree whose subtrees have two readers",
            r"type rec t = #leaf f64 | #node f64 t t
            def make (i: i64) (x: f64): t =
              if i <= 1 then #leaf (f64.sin x) else #node x (make (i / 2) (x * 0.9)) (make (i - i / 2) (x * 1.1))
            def root (t: t): f64 = match t case #leaf x -> x case #node x _ _ -> x * x
            def total (t: t): f64 = match t
              case #leaf x -> x
              case #node x a b -> x * root a + total a * 0.5 + root b * f64.sin (total b)
            entry f (n: i64) (x: f64) = total (make n x)",
            count_and_number,
        ),
        (
            "two functions that call each other and look ahead",
            r"type rec l = #nil | #cons f64 l
            def make (i: i64) (x: f64): l = if i == 0 then #nil else #cons (x * f64.i64 i) (make (i - 1) x)
            def first (xs: l): f64 = match xs case #nil -> 1 case #cons h _ -> h
            def rec odd (xs: l): f64 = match xs case #nil -> 0 case #cons h t -> h * first t - even t
            and even (xs: l): f64 = match xs case #nil -> 1 case #cons h t -> first t + f64.sin h * odd t
            entry f (n: i64) (x: f64) = even (make n x)",
            count_and_number,
        ),
        (
            "a recursive function with an array",
            r"def go [n] (i: i64) (xs: [n]f64): f64 = if i == n then 0 else f64.sin xs[i] + go (i + 1) xs
            entry f [n] (xs: [n]f64) = go 0 xs",
            one,
        ),
        (
            "a recursive function",
            r"def p (n: i64) (x: f64): f64 = if n <= 0 then 1 else x * p (n - 1) x
            entry f (n: i64) (x: f64) = p n x",
            count_and_number,
        ),
        (
            "a closure that captures an array",
            r"entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) =
              let g = if c[0] then \(i: i64) -> f64.sin x[i] else \i -> y[i]
              in f64.sum (map g (iota n))",
            two_and_choices,
        ),
        (
            "a closure per element",
            r"entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) =
              f64.sum (map (\i -> (if c[i] then \(j: i64) -> f64.sin x[j] else \j -> y[j]) i) (iota n))",
            two_and_choices,
        ),
        (
            "a closure per iteration, called twice",
            r"entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) =
              loop s = 0 for i < n do
                let k = f64.i64 i
                let g = if c[i] then \(j: i64) -> k * x[j] else \j -> y[j]
                in f64.sin s + g i * g (n - 1 - i)",
            two_and_choices,
        ),
        (
            "a sum of arrays in a loop",
            r"type u [n] = #one ([n]f64) | #two ([n]f64)
            entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) =
              let v: u [n] = if c[0] then #one x else #two y in loop s = 0 for i < n do match v case #one a -> s + f64.sin a[i] case #two a -> s * a[i]",
            two_and_choices,
        ),
        (
            "columns of a matrix",
            r"entry f [n] (x: [n][4]f64) = f64.sum (map (\c -> f64.exp (f64.sum (map f64.sin c))) (transpose x))",
            rows,
        ),
        (
            "a loop with a reduction inside",
            r"entry f [n] (x: [n][4]f64) = loop s = 0 for i < n do s + f64.sum (map (\j -> x[i, j] * s) (iota 4))",
            rows,
        ),
    ]
}

/// What the value and the value with the gradient cost at three sizes.
fn costs(text: &str, args: Arguments) -> [(Counters, Counters); 3] {
    let program = source(text);
    let gradient = with_gradient(&program, "f");
    SIZES.map(|size| {
        let args = args(size);
        let primal = count(&program, "f", &args);
        let seeded: Vec<Value> = args.into_iter().chain([1.0.into()]).collect();
        (primal, count(&gradient, "f", &seeded))
    })
}

/// What is counted, and how to read it off.
type Kind = (&'static str, fn(&Counters) -> u64);

const KINDS: [Kind; 6] = [
    ("operations on floats", |counters| counters.float_operations),
    ("operations", |counters| counters.operations),
    ("accumulations", |counters| counters.accumulations),
    ("bytes", |counters| counters.allocated_bytes),
    ("arrays", |counters| counters.allocations),
    ("copies", |counters| counters.copies),
];

fn second_difference(counts: [u64; 3]) -> i64 {
    let [first, second, third] = counts.map(|count| i64::try_from(count).expect("a small number"));
    third - 2 * second + first
}

#[test]
fn value_and_gradient_are_linear_where_the_value_is() {
    let mut wrong = Vec::new();
    for (name, text, args) in families() {
        let costs = costs(text, args);
        for (kind, of) in KINDS {
            for (what, counts) in [("value", costs.map(|(it, _)| of(&it))), ("gradient", costs.map(|(_, it)| of(&it)))] {
                if second_difference(counts) != 0 {
                    wrong.push(format!("{name}: {kind} of the {what}: {counts:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "not linear:\n{}", wrong.join("\n"));
}

/// The engine of linear maps takes fewer forms; on those it takes it keeps the same promise.
#[test]
fn gradients_by_linear_maps_are_linear_where_the_value_is() {
    let (mut taken, mut wrong) = (0, Vec::new());
    for (name, text, args) in families() {
        let gradient = match with_gradient_by(chadwick::compile::Engine::LinearMaps, &source(text), "f") {
            Ok(gradient) => gradient,
            Err(error) => {
                assert!(error.message().contains("this engine cannot differentiate"), "{name}: {}", error.message());
                continue;
            }
        };
        taken += 1;
        let costs = SIZES.map(|size| {
            let seeded: Vec<Value> = args(size).into_iter().chain([1.0.into()]).collect();
            count(&gradient, "f", &seeded)
        });
        for (kind, of) in KINDS {
            let counts = costs.map(|it| of(&it));
            if second_difference(counts) != 0 {
                wrong.push(format!("{name}: {kind} of the gradient: {counts:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "not linear:\n{}", wrong.join("\n"));
    assert!(taken * 2 > families().len(), "{taken} of {} families are taken", families().len());
}

/// The array of a node that two readers add to is copied, but nothing behind it.
#[test]
fn a_list_of_arrays_with_two_readers_at_each_step_is_linear() {
    let text = r"type rec l = #nil | #cons ([4]f64) l
        def make (i: i64) (x: f64): l =
          if i == 0 then #nil else #cons (map (\j -> x * f64.i64 (i + j)) (iota 4)) (make (i - 1) x)
        def first (xs: l): f64 = match xs case #nil -> 0 case #cons h _ -> h[0] * h[1]
        def total (xs: l): f64 = match xs case #nil -> 0 case #cons h t -> h[2] * first t + f64.sum h * total t
        entry f (n: i64) (x: f64) = total (make n x)";
    let costs = costs(text, count_and_number);
    for (kind, of) in KINDS {
        assert_eq!(second_difference(costs.map(|(_, gradient)| of(&gradient))), 0, "{kind}: {costs:?}");
    }
}

#[test]
fn operations_stay_within_a_small_multiple_of_the_value() {
    const MOST: f64 = 5.0;
    let ratio = |(primal, gradient): (Counters, Counters)| gradient.float_operations as f64 / primal.float_operations as f64;
    let dear: Vec<String> = families()
        .into_iter()
        .map(|(name, text, args)| (name, ratio(costs(text, args)[2])))
        .filter(|(_, ratio)| *ratio > MOST)
        .map(|(name, ratio)| format!("{name}: {ratio:.2}"))
        .collect();
    assert!(dear.is_empty(), "{dear:?}");
}

#[test]
fn loops_over_what_they_own_copy_nothing() {
    for (name, text, args) in families() {
        let costs = costs(text, args);
        assert!(costs.iter().all(|(primal, gradient)| primal.copies == 0 && gradient.copies == 0), "{name}: {costs:?}");
    }
}

/// Bytes of arrays made by value and gradient, for each element of the argument.
fn bytes_per_element(text: &str, args: Arguments) -> f64 {
    let [(_, first), (_, second), _] = costs(text, args);
    (second.allocated_bytes - first.allocated_bytes) as f64 / (SIZES[1] - SIZES[0]) as f64
}

fn family(name: &str) -> (&'static str, Arguments) {
    let found = families().into_iter().find(|(it, ..)| *it == name);
    found.map(|(_, text, args)| (text, args)).expect("a family of that name")
}

#[test]
fn a_linear_map_keeps_nothing() {
    // The gradient itself, and no slot.
    let (text, args) = family("a read of each element, twice used");
    assert_eq!(bytes_per_element(text, args), 8.0);
}

#[test]
fn a_shared_factor_is_kept_once() {
    // Two gradients, `f64.exp y` once though three products need it, and the sum that multiplies it.
    let (text, args) = family("a factor shared by three products");
    assert_eq!(bytes_per_element(text, args), 8.0 * 4.0);
}

#[test]
fn aliases_share_one_cotangent_and_nothing_is_scattered() {
    for name in ["two names of one array", "a map of a map"] {
        let (text, args) = family(name);
        // The exponentials, which are kept, and the gradient.
        assert_eq!(bytes_per_element(text, args), 16.0, "{name}");
        let core = with_gradient(&source(text), "f").core_text();
        assert!(!core.contains("with_acc") && !core.contains("scatter"), "{name}:\n{core}");
        let [(_, counters), ..] = costs(text, args);
        assert_eq!(counters.accumulations, 0);
    }
}

#[test]
fn a_chain_of_names_costs_nothing_per_name() {
    let cost = |names: usize| {
        let chain: String = (1..names).map(|at| format!("let a{} = a{at} ", at + 1)).collect();
        let sum: Vec<String> = (1..=names).map(|at| format!("a{at}[i]")).collect();
        let sum = sum.join(" + ");
        let text = format!("entry f [n] (x: [n]f64) = let a1 = map f64.exp x {chain} in f64.sum (map (\\i -> {sum}) (iota n))");
        let gradient = with_gradient(&source(&text), "f");
        assert!(!gradient.core_text().contains("with_acc"));
        count(&gradient, "f", &[vector(30, 1), 1.0.into()])
    };
    let (short, long) = (cost(8), cost(24));
    assert_eq!(short.allocated_bytes, long.allocated_bytes);
    assert_eq!(short.allocations, long.allocations);
}

#[test]
fn what_is_not_used_costs_no_work() {
    // The first component of a pair, many times over; the second component is as large as we like.
    let cost = |factors: usize, size: usize| {
        let product = vec!["x.0"; factors].join(" * ");
        let text = format!("def g [m] (x: (f64, [m]f64)) = {product}\nentry f [m] (a: f64) (rest: [m]f64) = g (a, rest)");
        let counters = count(&with_gradient(&source(&text), "f"), "f", &[1.25.into(), vector(size, 1), 1.0.into()]);
        // The gradient of the second component is zeros.
        (counters.float_operations, counters.allocated_bytes - 8 * size as u64)
    };
    for factors in [2, 8, 32] {
        assert_eq!(cost(factors, 1), cost(factors, 1000));
    }
    assert_eq!(second_difference([10, 20, 30].map(|factors| cost(factors, 5).0)), 0);
}

/// Operations on floats for each element of the argument.
fn per_element(program: &chadwick::Program, seed: bool) -> u64 {
    let [first, second] = [SIZES[0], SIZES[1]].map(|size| {
        let seeds = seed.then(|| 1.0.into());
        count(program, "f", &one(size).into_iter().chain(seeds).collect::<Vec<Value>>()).float_operations
    });
    (second - first) / (SIZES[1] - SIZES[0]) as u64
}

#[test]
fn a_sum_of_negated_numbers_is_negated_once() {
    let program = source(r"entry f [n] (x: [n]f64) = f64.sum (map (\v -> -(f64.sin v)) x)");
    let program = program.with_engine(chadwick::compile::Engine::ChadFast).expect("a program");
    // A sine and an addition.
    assert_eq!(per_element(&program, false), 2);
    let (found, wanted) = (program.function("f").expect("f").call(&one(20)), numbers(20, 1));
    let wanted: f64 = wanted.iter().fold(0.0, |sum, it| sum + -it.sin());
    assert_eq!(found.expect("a number"), [Value::from(wanted)]);
}

#[test]
fn the_factor_of_a_square_goes_to_the_cotangent() {
    let program = source(r"entry f [n] (x: [n]f64) = 0.5 * f64.sum (map (\v -> v * v) x)");
    // A product and an addition for the value; one product for the derivative.
    assert_eq!(per_element(&with_gradient(&program, "f"), true), 3);
}

#[test]
fn products_that_are_only_added_up_are_taken_once() {
    // The cotangents of the centre are sums of products with the same matrix: the products with what is summed over the points.
    let program = source(
        r"
        def f [n][d] (xs: [n][d]f64) (m: [d][d]f64) (centre: [d]f64): f64 =
          let of_point x =
            let v = map2 (-) x centre
            in f64.sum (map (\row -> (f64.sum (map2 (*) row v)) ** 2) m)
          in f64.sum (map of_point xs)
        entry value [n][d] (xs: [n][d]f64) (m: [d][d]f64) (centre: [d]f64) = f xs m centre
        entry gradient [n][d] (xs: [n][d]f64) (m: [d][d]f64) (centre: [d]f64) = vjp (f xs m) centre 1",
    );
    let program = program.with_engine(chadwick::compile::Engine::ChadFast).expect("a program");
    let (points, d) = (200, 16);
    let args = [matrix(points, d, 1), matrix(d, d, 2), vector(d, 3)];
    let [value, gradient] = ["value", "gradient"].map(|entry| count(&program, entry, &args).float_operations);
    let products = 2 * points * d * d;
    assert!(value >= products as u64);
    assert!(gradient < value + value / 8, "{gradient} against {value}");
}

#[test]
fn an_array_that_grows_keeps_its_sizes_through_three_derivatives() {
    // 1 + px + (px)² + (px)³; by x at 1 that is p + 2p² + 3p³, and from there 1 + 4p + 9p² and 4 + 18p.
    let program = source(
        r"
        def powers (p: f64) (x: f64): f64 = f64.sum (loop xs = [1.0] for _i < 3 do xs ++ [p * x * last xs])
        def slope (p: f64): f64 = head (mjp (powers p) 1.0 (replicate 2 1.0))
        entry f (p: f64) = (slope p, vjp slope p 1, vjp (\p -> vjp slope p 1) p 1, jvp (\p -> vjp slope p 1) p 1)",
    );
    let program = program.with_engine(chadwick::compile::Engine::ChadFast).expect("a program");
    let found = program.function("f").expect("f").call(&[0.5.into()]).unwrap_or_else(|error| panic!("{}", error.message()));
    assert_eq!(found, [1.375, 5.25, 13.0, 13.0].map(Value::from));
}

#[test]
fn a_balanced_product_of_distinct_variables_is_linear() {
    fn product(from: usize, to: usize) -> String {
        match to - from {
            1 => format!("x[{from}]"),
            count => format!("({} * {})", product(from, from + count / 2), product(from + count / 2, to)),
        }
    }
    let cost = |factors: usize| {
        let text = format!("entry f (x: [{factors}]f64) = {}", product(0, factors));
        count(&with_gradient(&source(&text), "f"), "f", &[numbers(factors, 1).into(), 1.0.into()])
    };
    let counters = [16, 32, 48].map(cost);
    for (kind, of) in KINDS {
        assert_eq!(second_difference(counters.map(|it| of(&it))), 0, "{kind}: {counters:?}");
    }
}

/// (λx_{n-1}. … (λx₁. x₁ · 2) x₂ …) x_n, plain and with functions that nobody can see through.
#[test]
fn nested_functions_are_linear() {
    let plain = |level: usize, body: &str| format!("(\\x{level} -> {body} * 2)");
    let chosen = |level: usize, body: &str| format!("(if c then \\x{level} -> {body} * 2 else \\x{level} -> x{level})");
    type Source<'a> = &'a dyn Fn(usize, &str) -> String;
    let functions: [Source<'_>; 2] = [&plain, &chosen];
    for function in functions {
        let cost = |depth: usize| {
            let body = (1..depth).fold(String::from("x1"), |body, level| format!("{} x{}", function(level, &body), level + 1));
            let text = format!("entry f (c: bool) (x{depth}: f64) = {body}");
            count(&with_gradient(&source(&text), "f"), "f", &[true.into(), 2.5.into(), 1.0.into()]).float_operations
        };
        let counts = [6, 12, 18].map(cost);
        assert_eq!(second_difference(counts), 0, "{counts:?}");
    }
}
