//! CHAD as it is defined and efficient CHAD: the papers' worked examples, and what each generation costs.

mod work;

use chadwick::compile::{Cotangents, Definition, Engine, Stage};
use chadwick::explain::Explanation;
use chadwick::{Counters, Program, Value};
use chadwick_core::{Op, Type};
use work::{assert_near, run, source};

const EFFICIENT: Engine = Engine::ChadEfficient(Cotangents::InArray);
const ENGINES: [Engine; 4] =
    [Engine::Chad(Definition::Plain), EFFICIENT, Engine::ChadEfficient(Cotangents::InMap), Engine::Chad(Definition::Simplified)];

/// The same as the efficient one with cells for each task; it also has native code.
const PARALLEL: Engine = Engine::ChadEfficient(Cotangents::InTasks);

const DEPENDENCIES: Engine = Engine::Chad(Definition::Dependencies);
const PROVENANCE: Engine = Engine::Chad(Definition::Provenance);

fn by(program: &Program, engine: Engine) -> Program {
    program.with_engine(engine).unwrap_or_else(|error| panic!("{engine:?}: {}", error.message()))
}

/// What a run made and did, whatever it was.
fn all_work(counters: &Counters) -> u64 {
    counters.operations + counters.allocations + counters.allocated_bytes / 8
}

/// A program with an entry point `f`, arguments, and what it must give.
fn worked_examples() -> Vec<(&'static str, Vec<Value>, Vec<f64>)> {
    let (x, sine) = (0.5f64, 0.5f64.sin());
    vec![
        // E1, E2, E2b to E2d of the papers' examples.
        ("entry f (a: f64) = vjp (\\a -> let b = (a, 2 * a) in b.0 + b.1) a 1", vec![7.0.into()], vec![3.0]),
        (
            "def g (x: f64) = let y = 2 * x let z = x * y let w = f64.cos z in (y, z, w)
             entry f (x: f64) = (vjp g x (1, 0, 0), vjp g x (0, 1, 0), vjp g x (0, 0, 1))",
            vec![x.into()],
            vec![2.0, 4.0 * x, -4.0 * x * sine],
        ),
        (
            "entry f (a: f64) (b: f64) (c: f64) (d: f64) =
               vjp (\\(a, b, c, d) -> f64.sin ((a * d + 2 * b) * c + d)) (a, b, c, d) 1",
            vec![0.5.into(), (-0.3).into(), 1.2.into(), 0.8.into()],
            vec![0.813_364_906_594_602, 2.033_412_266_486_505, -0.169_451_022_207_209, 1.355_608_177_657_67],
        ),
        ("entry f (x: f64) = vjp (\\x -> map (\\z -> x * z + 1) (replicate 3 x)) x [1, 10, 100]", vec![1.5.into()], vec![333.0]),
        (
            "entry f (x: f64) (ys: []f64) = vjp (\\(x, ys) -> f64.sum (map (\\u -> x * u) ys)) (x, ys) 2",
            vec![3.0.into(), vec![1.0, 2.0, 4.0].into()],
            vec![14.0, 6.0, 6.0, 6.0],
        ),
        // E3: a function that captures its argument's rival, called twice. E4: one that captures nothing and one that does.
        (
            "entry f (a: f64) = vjp (\\a -> let h = if a > 0 then (\\v -> a * v) else (\\v -> v) in h a + h (3 * a)) a 1",
            vec![2.0.into()],
            vec![16.0],
        ),
        (
            "entry f (x: f64) = vjp2 (\\x -> let g = if x > 0 then (\\y -> y + 1) else (\\y -> y)
                                             let h = let z = x * x in if x > 0 then (\\y -> z * y) else (\\y -> y)
                                             in g (2 * x) + h (x + 1)) x 1",
            vec![1.5.into()],
            vec![9.625, 11.75],
        ),
        // Functions in data, returned, applied to functions; and one that is made outside of the derivative.
        (
            "def twice (g: f64 -> f64) (x: f64): f64 = g (g x)
             entry f (x: f64) =
               vjp (\\x -> let scale = \\k -> if k > 0 then (\\y -> k * x * y) else (\\y -> y)
                           let pair = (scale 2, scale 3)
                           in twice pair.0 (pair.1 x)) x 1",
            vec![1.5.into()],
            // 2x · 2x · 3x · x = 12 x^4
            vec![48.0 * 1.5f64.powi(3)],
        ),
        (
            "def pick (k: i64): f64 -> f64 = if k > 0 then (\\y -> y * y) else (\\y -> y)
             entry f (k: i64) (x: f64) = let g = pick k in vjp (\\x -> g (g x)) x 1",
            vec![1i64.into(), 2.0.into()],
            vec![32.0],
        ),
        // A rule of the program's own, with a function from around it.
        (
            "entry f (x: f64) =
               vjp (\\x -> let g = if x > 0 then (\\y -> y * y) else (\\y -> y) in with_vjp g (\\_ d -> g (2 * d)) x + g x) x 1",
            vec![3.0.into()],
            vec![4.0 + 6.0],
        ),
        // E13, and the other forms on arrays.
        ("entry f (xs: []f64) = vjp (reduce (*) 1) xs 1", vec![vec![1.0, 2.0, 3.0, 4.0].into()], vec![24.0, 12.0, 8.0, 6.0]),
        (
            "entry f (xs: []f64) = vjp (\\xs -> let ys = scan (*) 1 xs
               let zs = reduce_by_index (replicate 2 0) (+) 0 (map (% 2) (indices xs)) ys in zs[0] * zs[1]) xs 1",
            vec![vec![2.0, 3.0, 4.0].into()],
            vec![13.0 * 6.0 + 26.0 * 3.0, 8.0 * 6.0 + 26.0 * 2.0, 6.0 * 6.0],
        ),
        (
            "type shape = #disk f64 | #box f64 f64
             def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
             entry f (a: f64) (b: f64) = match vjp area (#box a b) 1 case #disk r -> (r, r) case #box a b -> (a, b)",
            vec![3.0.into(), 4.0.into()],
            vec![4.0, 3.0],
        ),
        (
            "def power (n: i64) (x: f64): f64 = if n == 0 then 1 else x * power (n - 1) x
             entry f (x: f64) = vjp (power 5) x 1",
            vec![2.0.into()],
            vec![80.0],
        ),
        // An untaken square root leaks no NaN; derivatives of derivatives; a cotangent for each of many seeds.
        ("entry f (x: f64) = vjp (\\x -> let s = f64.sqrt x in if x > 0 then s else 0) x 1", vec![0.0.into()], vec![0.0]),
        ("entry f (x: f64) = vjp (\\x -> vjp (\\x -> x * x * x) x 1) x 1", vec![2.0.into()], vec![12.0]),
        ("entry f (x: f64) = jvp (\\x -> vjp (\\x -> x * x * x) x 1) x 1", vec![2.0.into()], vec![12.0]),
        ("entry f (x: f64) = vjp (\\x -> jvp (\\x -> x * x * x) x 1) x 1", vec![2.0.into()], vec![12.0]),
        ("entry f (x: f64) = #[recompute] vjp (\\x -> x * (#[recompute] (f64.exp x))) x 1", vec![0.0.into()], vec![1.0]),
    ]
}

#[test]
fn the_worked_examples_have_the_derivatives_of_the_papers() {
    for (text, args, wanted) in worked_examples() {
        let program = source(text);
        for engine in ENGINES.into_iter().chain([PARALLEL]) {
            let (found, _) = run(&by(&program, engine), "f", &args);
            assert_near(&found, &wanted, &format!("{engine:?} on {text}"));
        }
    }
}

/// The definition forwards: a program with an entry point `f`, arguments, and the tangents it must give.
fn forward_examples() -> Vec<(&'static str, Vec<Value>, Vec<f64>)> {
    let (x, z) = (0.5f64, 0.5f64);
    vec![
        // E1, E2, E2b to E2d of the papers' examples.
        ("entry f (a: f64) = jvp (\\a -> let b = (a, 2 * a) in b.0 + b.1) a 1", vec![7.0.into()], vec![3.0]),
        (
            "entry f (x: f64) = jvp2 (\\x -> let y = 2 * x let z = x * y in (y, z, f64.cos z)) x 1",
            vec![x.into()],
            vec![1.0, z, z.cos(), 2.0, 4.0 * x, -4.0 * x * z.sin()],
        ),
        (
            "entry f (a: f64) (b: f64) (c: f64) (d: f64) =
               jvp (\\(a, b, c, d) -> f64.sin ((a * d + 2 * b) * c + d)) (a, b, c, d) (1, 10, 100, 1000)",
            vec![0.5.into(), (-0.3).into(), 1.2.into(), 0.8.into()],
            vec![0.813_364_906_594_602 + 20.334_122_664_865_05 - 16.945_102_220_720_9 + 1_355.608_177_657_67],
        ),
        ("entry f (x: f64) = jvp (\\x -> map (\\z -> x * z + 1) (replicate 3 x)) x 1", vec![1.5.into()], vec![3.0; 3]),
        (
            "entry f (x: f64) (ys: []f64) = jvp (\\(x, ys) -> f64.sum (map (\\u -> x * u) ys)) (x, ys) (1, map (const 10) ys)",
            vec![3.0.into(), vec![1.0, 2.0, 4.0].into()],
            vec![7.0 + 90.0],
        ),
        // E3 and E4; functions in data, returned, applied to functions; one that is made outside of the derivative.
        (
            "entry f (a: f64) = jvp (\\a -> let h = if a > 0 then (\\v -> a * v) else (\\v -> v) in h a + h (3 * a)) a 1",
            vec![2.0.into()],
            vec![16.0],
        ),
        (
            "entry f (x: f64) = jvp2 (\\x -> let g = if x > 0 then (\\y -> y + 1) else (\\y -> y)
                                             let h = let z = x * x in if x > 0 then (\\y -> z * y) else (\\y -> y)
                                             in g (2 * x) + h (x + 1)) x 1",
            vec![1.5.into()],
            vec![9.625, 11.75],
        ),
        (
            "def twice (g: f64 -> f64) (x: f64): f64 = g (g x)
             entry f (x: f64) =
               jvp (\\x -> let scale = \\k -> if k > 0 then (\\y -> k * x * y) else (\\y -> y)
                           let pair = (scale 2, scale 3)
                           in twice pair.0 (pair.1 x)) x 1",
            vec![1.5.into()],
            vec![48.0 * 1.5f64.powi(3)],
        ),
        (
            "entry f (x: f64) =
               jvp (\\x -> let gs: [](#box (f64 -> f64)) = map (\\i -> #box (\\y -> x * y * f64.i64 i)) (iota 3)
                           in f64.sum (map (\\g -> match g case #box g -> g (x * x)) gs)) x 1",
            vec![2.0.into()],
            vec![3.0 * 12.0],
        ),
        (
            "def pick (k: i64): f64 -> f64 = if k > 0 then (\\y -> y * y) else (\\y -> y)
             entry f (k: i64) (x: f64) = let g = pick k in jvp (\\x -> g (g x)) x 1",
            vec![1i64.into(), 2.0.into()],
            vec![32.0],
        ),
        // Rules of the program's own; one for reverse mode says nothing here.
        ("entry f (x: f64) = jvp (\\x -> with_jvp (\\x -> x * x) (\\x t -> 7 * x * t) x) x 2", vec![3.0.into()], vec![42.0]),
        ("entry f (x: f64) = jvp (\\x -> with_vjp (\\x -> x * x) (\\_ _ -> 0) x) x 2", vec![3.0.into()], vec![12.0]),
        // E13, and the other forms on arrays.
        (
            "entry f (xs: []f64) = jvp (reduce (*) 1) xs [1, 10, 100, 1000]",
            vec![vec![1.0, 2.0, 3.0, 4.0].into()],
            vec![24.0 + 120.0 + 800.0 + 6000.0],
        ),
        (
            "entry f (xs: []f64) = jvp (\\xs -> let ys = scan (*) 1 xs
               let zs = reduce_by_index (replicate 2 0) (+) 0 (map (% 2) (indices xs)) ys in zs[0] * zs[1]) xs [1, 0, 0]",
            vec![vec![2.0, 3.0, 4.0].into()],
            vec![156.0],
        ),
        (
            "entry f (xs: [3]f64) = jvp (\\xs -> let ys = copy xs with [1] = xs[0] * xs[2]
               let zs = scatter (copy ys) [2, 7] [ys[0], 1] in concat (transpose [zs, xs])[2] (reverse ys)) xs [1, 10, 100]",
            vec![vec![2.0, 3.0, 4.0].into()],
            vec![1.0, 100.0, 100.0, 204.0, 1.0],
        ),
        (
            "type shape = #disk f64 | #box f64 f64
             def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
             entry f (a: f64) (b: f64) = jvp area (#box a b) (#box 1 10)",
            vec![3.0.into(), 4.0.into()],
            vec![34.0],
        ),
        (
            "type rec list = #nil | #cons f64 list
             def total (l: list): f64 = match l case #nil -> 0 case #cons x rest -> x * x + total rest
             def make (n: i64) (x: f64): list = loop l: list = #nil for i < n do #cons (x * f64.i64 i) l
             entry f (x: f64) = jvp (\\x -> total (make 5 x)) x 1",
            vec![2.0.into()],
            vec![120.0],
        ),
        (
            "def power (n: i64) (x: f64): f64 = if n == 0 then 1 else x * power (n - 1) x
             entry f (x: f64) = jvp (power 5) x 1",
            vec![2.0.into()],
            vec![80.0],
        ),
        ("entry f (x: f64) = jvp (\\x -> let s = f64.sqrt x in if x > 0 then s else 0) x 1", vec![0.0.into()], vec![0.0]),
        ("entry f (x: f64) = jvp (\\x -> jvp (\\x -> x * x * x) x 1) x 1", vec![2.0.into()], vec![12.0]),
        ("entry f (x: f64) = jvp (\\x -> loop y = x while y < 100 do y * x) x 1", vec![3.0.into()], vec![405.0]),
        ("entry f (x: f64) = jvp (\\x -> x * (#[recompute] (f64.exp x))) x 1", vec![0.0.into()], vec![1.0]),
        (
            "entry f (x: f64) = jvp (\\x -> let (a, b) = par (x * x) (f64.exp x) in a * b) x 1",
            vec![1.0.into()],
            vec![3.0 * 1f64.exp()],
        ),
        (
            "entry f (xs: [2]f64) = flatten (jmp (\\(x: [2]f64) -> [x[0] * x[1], x[0] * x[0]]) xs [[1, 0], [0, 1]])",
            vec![vec![2.0, 3.0].into()],
            vec![3.0, 4.0, 2.0, 0.0],
        ),
    ]
}

#[test]
fn tangents_by_definition_are_those_of_the_papers() {
    for (text, args, wanted) in forward_examples() {
        let program = source(text);
        for engine in [ENGINES[0], ENGINES[3]] {
            let (found, _) = run(&by(&program, engine), "f", &args);
            assert_near(&found, &wanted, &format!("{engine:?} on {text}"));
        }
    }
}

/// E12: functions nested `n` deep, each of which calls the one inside it; the innermost applies an operation. A condition keeps them from
/// being unfolded.
fn nested_functions(n: usize, operation: &str) -> String {
    let mut body = format!("f64.{operation} x1");
    for at in 1..=n {
        let arg = if at == n { String::from("x") } else { format!("x{}", at + 1) };
        body = format!("(let g{at} = if b then (\\(x{at}: f64) -> {body}) else (\\x{at} -> 2 * x{at}) in g{at} {arg})");
    }
    format!("entry f (b: bool) (x: f64) = vjp (\\x -> {body}) x 1")
}

/// How often an operation is run backwards by a program that is given its name: the derivative of `sin` takes one operation more than
/// that of `exp`.
fn backward_runs(engine: Engine, program: impl Fn(&str) -> String, args: &[Value]) -> u64 {
    let operations = ["sin", "exp"].map(|operation| {
        let (found, counters) = run(&by(&source(&program(operation)), engine), "f", args);
        assert!(found.iter().all(|number| number.is_finite()), "{engine:?}: {found:?}");
        counters.float_operations
    });
    operations[0] - operations[1]
}

#[test]
fn nested_functions_cost_exponential_time_by_definition_and_linear_time_as_data() {
    let runs = |engine, n: usize| backward_runs(engine, |operation| nested_functions(n, operation), &[true.into(), 0.0.into()]);
    for n in 1..=8 {
        // Once for its argument and once for what it captures, at each level.
        assert_eq!(runs(ENGINES[0], n), 1 << n, "by definition at depth {n}");
        assert_eq!(runs(EFFICIENT, n), 1, "as data at depth {n}");
    }
    let cost = |n: usize| {
        let program = by(&source(&nested_functions(n, "sin")), EFFICIENT);
        all_work(&run(&program, "f", &[true.into(), 0.0.into()]).1) as i64
    };
    let costs = [4, 8, 12].map(cost);
    let steps = [costs[1] - costs[0], costs[2] - costs[1]];
    assert!((steps[0] - steps[1]).abs() * 10 <= steps[0], "as much for each level: {costs:?}");
}

/// The cotangent of a function is a bag of calls: their order does not matter, equal calls may be one, and one without a cotangent none.
#[test]
fn bags_of_calls_are_equal_where_they_mean_the_same() {
    let gradient = |body: &str| {
        let text =
            format!("entry f (x: f64) = vjp (\\x -> let h = if x > 0 then (\\v -> x * v * v) else (\\v -> v) in {body}) x 1");
        run(&by(&source(&text), ENGINES[0]), "f", &[1.5.into()]).0
    };
    for (left, right) in [
        ("h x + h (3 * x)", "h (3 * x) + h x"),
        ("h x + h x", "2 * h x"),
        ("h x + 0 * h (3 * x)", "h x"),
        ("let h2 = h in h2 x * h 2", "let h2 = h in h 2 * h2 x"),
    ] {
        assert_near(&gradient(left), &gradient(right), &format!("{left} and {right}"));
    }
}

/// E3: the bag of a function has all its calls and nothing else. Each call runs the body for its argument, and again, from the bag, for what is
/// captured: two calls contribute four times.
#[test]
fn every_call_of_a_function_is_in_its_bag_once() {
    for calls in 0..5 {
        let sum: String = (1..=calls).map(|factor| format!(" + h ({factor} * a)")).collect();
        let program = |operation: &str| {
            let h = format!("if a > 0 then (\\v -> a * f64.{operation} v) else (\\v -> v)");
            format!("entry f (a: f64) = vjp (\\a -> let h = {h} in a{sum}) a 1")
        };
        assert_eq!(backward_runs(ENGINES[0], program, &[2.0.into()]), 2 * calls, "{calls} calls");
    }
}

/// What is equal by β and η has equal derivatives.
#[test]
fn equal_programs_have_equal_derivatives() {
    let derivatives = |engine, body: &str| {
        let text = format!(
            "def g (b: bool) (x: f64) (y: f64) = {body}
             entry f (b: bool) (x: f64) (y: f64) = (vjp2 (\\(x, y) -> g b x y) (x, y) 1, jvp (\\(x, y) -> g b x y) (x, y) (2, 3))"
        );
        run(&by(&source(&text), engine), "f", &[true.into(), 1.5.into(), (-0.5).into()]).0
    };
    // A condition that nobody knows keeps functions from being unfolded before they are differentiated.
    for (left, right) in [
        ("(if b then (\\z -> z * y) else (\\z -> z)) (x * x)", "if b then x * x * y else x * x"),
        (
            "let h = if b then (\\z -> f64.sin (z * x)) else (\\z -> z) in h y",
            "let h = \\w -> (if b then (\\z -> f64.sin (z * x)) else (\\z -> z)) w in h y",
        ),
        ("let p = (x * y, f64.exp x) in p.0 * p.1", "(x * y) * f64.exp x"),
        ("let p = (x * y, f64.exp x) let q = (p.0, p.1) in q.0 + q.1", "let p = (x * y, f64.exp x) in p.0 + p.1"),
        ("let u = x * y in u * u + x", "(\\u -> u * u + x) (x * y)"),
        (
            "let s: #l f64 | #r f64 = if b then #l (x * y) else #r x in match s case #l z -> z * z case #r z -> z + y",
            "if b then (x * y) * (x * y) else x + y",
        ),
        ("let k = if b then (\\h -> h (h x)) else (\\h -> h y) in k (\\z -> z * y)", "if b then x * y * y else y * y"),
    ] {
        for engine in ENGINES.into_iter().chain([PARALLEL]) {
            assert_near(&derivatives(engine, left), &derivatives(engine, right), &format!("{engine:?} on {left} and {right}"));
        }
    }
}

/// Costs at sizes that double each time must at most double, but for a constant.
#[track_caller]
fn assert_linear(costs: &[u64], what: &str) {
    for pair in costs.windows(3) {
        let [first, second] = [pair[1] - pair[0], pair[2] - pair[1]];
        assert!(second as f64 <= 2.2 * first as f64, "{what} is linear: {costs:?}");
    }
}

/// How the cost of a program with entry point `f` grows.
fn growth(engine: Engine, text: &str, args: impl Fn(i64) -> Vec<Value>, sizes: [i64; 4]) -> Vec<u64> {
    let program = by(&source(text), engine);
    sizes.iter().map(|size| all_work(&run(&program, "f", &args(*size)).1)).collect()
}

#[test]
fn efficient_chad_costs_a_constant_times_the_program() {
    let numbers = |n: i64| -> Vec<f64> { (0..n).map(|at| 1.0 + 0.001 * at as f64).collect() };
    let sizes = [64, 128, 256, 512];
    // One element of a large array is read in each of many iterations.
    let reads = "entry f [n] (xs: [n]f64) = vjp (\\xs -> loop s = 0 for i < n do s + xs[i] * xs[(i * 7) % n]) xs 1";
    assert_linear(&growth(EFFICIENT, reads, |n| vec![numbers(n).into()], sizes), "reading in a loop");
    // An array is updated in place.
    let updates = "entry f [n] (xs: [n]f64) =
      vjp (\\xs -> let ys = loop ys = copy xs for i < n - 1 do ys with [i + 1] = ys[i] * 0.5 + ys[i + 1] in ys[n - 1]) xs 1";
    assert_linear(&growth(EFFICIENT, updates, |n| vec![numbers(n).into()], sizes), "updating in a loop");
    let writes = "entry f [n] (xs: [n]f64) =
      vjp (\\xs -> let ys = scatter (copy xs) (map (\\i -> (i * 3) % n) (iota n)) (map (* 2) xs)
                  let zs = reduce_by_index (replicate n 0) (+) 0 (map (\\i -> (i * 5) % n) (iota n)) ys
                  let ws = scan (*) 1 (map (\\z -> 1 + 0.001 * z) zs) in ws[n - 1]) xs 1";
    assert_linear(&growth(EFFICIENT, writes, |n| vec![numbers(n).into()], sizes), "scattering, counting and scanning");
    let matrix = "entry f (n: i64) (x: f64) =
      vjp (\\x -> let m = loop m = replicate n (replicate 3 x) for i < n - 1 do m with [i + 1, 0] = m[i, 0] * 0.5 + m[i, 2]
                 in m[n - 1, 0]) x 1";
    assert_linear(&growth(EFFICIENT, matrix, |n| vec![n.into(), 0.5.into()], sizes), "updating a matrix");
    // Folds inside folds: every combination is run backwards once.
    let folds = "entry f (n: i64) (x: f64) =
      vjp (\\x -> reduce (\\a b -> a * b + reduce (*) 1 [a, b, x]) x (replicate n (x * 0.001))) x 1";
    assert_linear(&growth(EFFICIENT, folds, |n| vec![n.into(), 0.5.into()], sizes), "folds inside folds");
    // Rows of a matrix, and a list.
    let rows = "entry f (n: i64) (x: f64) =
      vjp (\\x -> let m = tabulate_2d n 4 (\\i j -> x * f64.i64 (i + j)) in f64.sum (map (\\r -> r[1] * r[2]) m)) x 1";
    assert_linear(&growth(EFFICIENT, rows, |n| vec![n.into(), 0.5.into()], sizes), "rows of a matrix");
    let list = "
type rec list = #nil | #cons f64 list
def make (n: i64) (x: f64): list = loop l: list = #nil for i < n do #cons (x * f64.i64 i) l
def heads (n: i64) (l: list): f64 =
  loop s = 0 for i < n do match l case #nil -> s case #cons x _ -> s + x * f64.i64 i
entry f (n: i64) (x: f64) = vjp (\\x -> heads n (make n x)) x 1";
    assert_linear(&growth(EFFICIENT, list, |n| vec![n.into(), 0.5.into()], sizes), "the head of a long list");
}

/// The same programs by definition: an environment with a large array is as dear in every iteration.
#[test]
fn the_definition_pays_for_the_whole_environment_each_time() {
    let reads = "entry f [n] (xs: [n]f64) = vjp (\\xs -> loop s = 0 for i < n do s + xs[i] * xs[(i * 7) % n]) xs 1";
    let numbers = |n: i64| vec![vec![1.0; n as usize].into()];
    let costs = growth(Engine::Chad(Definition::Plain), reads, numbers, [32, 64, 128, 256]);
    assert!(costs[3] > 10 * costs[1], "quadratic: {costs:?}");
}

/// E5: one half of a pair is huge and unused; E16: a balanced product of many variables.
#[test]
fn zeros_cost_nothing_and_environments_are_never_merged() {
    let halves = "
entry f (n: i64) (m: i64) (x: f64) =
  vjp (\\x -> let pair: #none | #some f64 ([]f64) = if n > 0 then #some x (replicate n x) else #none
              in loop s = 0 for _i < m do match pair case #some y _ -> s + y case #none -> s) x 1";
    let cost = |n: i64, m: i64| {
        let (found, counters) = run(&by(&source(halves), EFFICIENT), "f", &[n.into(), m.into(), 2.0.into()]);
        assert_eq!(found, [m as f64]);
        all_work(&counters)
    };
    let (few, many) = (cost(10, 40) - cost(10, 20), cost(2000, 40) - cost(2000, 20));
    assert_eq!(few, many, "an unused half of any size costs the same");

    let product = |n: usize| {
        let mut terms: Vec<String> = (0..n).map(|at| format!("x{at}")).collect();
        let names = terms.join(", ");
        while terms.len() > 1 {
            terms = terms.chunks(2).map(|pair| format!("({})", pair.join(" * "))).collect();
        }
        let types = vec!["f64"; n].join(", ");
        let ones = vec!["1"; n].join(", ");
        let text = format!(
            "def product (({names}): ({types})): f64 = {}\nentry f = let g = vjp product ({ones}) 1 in g.0 + g.{}",
            terms[0],
            n - 1
        );
        let (found, counters) = run(&by(&source(&text), EFFICIENT), "f", &[]);
        assert_eq!(found, [2.0]);
        all_work(&counters)
    };
    assert_linear(&[8, 16, 32, 64].map(product), "a balanced product");
}

fn explained(engine: Engine, text: &str) -> Explanation {
    let function = by(&source(text), engine).function("f").expect("an entry point");
    function.explain(chadwick_core::Mode::Vjp, Stage::Optimise).unwrap_or_else(|error| panic!("{}", error.message()))
}

/// The size of what is made of a program, in lines.
fn size(engine: Engine, text: &str) -> usize {
    explained(engine, text).core.lines().count()
}

/// A choice inside a choice must not copy what is around it.
#[test]
fn the_text_of_a_derivative_grows_with_the_text_of_the_program() {
    let nested = |n: usize| {
        let mut body = String::from("x");
        for at in 0..n {
            body = format!("(if x > {at} then {body} * x else x + {at})");
        }
        format!("entry f (x: f64): f64 = {body}")
    };
    let sizes = [8, 16, 32].map(|n| size(EFFICIENT, &nested(n)));
    assert!(sizes[2] - sizes[1] <= 22 * (sizes[1] - sizes[0]) / 10, "linear: {sizes:?}");
    // The terms of the definition are as long as the program. Written out as Core, an environment is as many variables at every statement: the square.
    let definition = Engine::Chad(Definition::Plain);
    let sizes = [8, 16, 32].map(|n| size(definition, &nested(n)));
    assert!(sizes[2] <= 5 * sizes[1], "quadratic: {sizes:?}");
    let terms = [8, 16, 32].map(|n| explained(definition, &nested(n)).notation.expect("a notation").lines().count());
    assert!(terms[2] - terms[1] <= 22 * (terms[1] - terms[0]) / 10, "linear: {terms:?}");
}

#[test]
fn a_seed_with_another_constructor_or_length_is_an_error() {
    let sums = "
type shape = #disk f64 | #box f64 f64
def double (s: shape): shape = match s case #disk r -> #disk (2 * r) case #box a b -> #box (2 * a) b
entry f (a: f64) = match vjp double (#box a a) (#disk 1) case #disk r -> r case #box a b -> a + b";
    let lengths = "
type~ ragged = []f64
def double (xs: ragged): ragged = map (* 2) xs
entry f (xs: []f64) (ys: []f64) = vjp double xs ys";
    for engine in ENGINES.into_iter().chain([PARALLEL]) {
        for (text, args) in [(sums, vec![3.0.into()]), (lengths, vec![vec![1.0, -2.0].into(), vec![1.0].into()])] {
            let function = by(&source(text), engine).function("f").expect("an entry point");
            let error = function.call(&args).expect_err("a seed of another form");
            assert!(error.message().contains("cotangent"), "{engine:?}: {}", error.message());
        }
    }
}

#[test]
fn engines_are_known_by_name() {
    let names = ["chad", "chad-efficient", "chad-efficient:map", "chad:simplified", "chad-efficient:parallel"];
    for (name, engine) in names.into_iter().zip(ENGINES.into_iter().chain([PARALLEL])) {
        assert_eq!(Engine::from_name(name), Some(engine));
        assert!(Engine::names().contains(name));
    }
    // Who asks for derivatives by name does not get dependencies.
    assert_eq!([DEPENDENCIES, PROVENANCE].map(|engine| Engine::from_name(&engine.name())), [None; 2]);
}

/// A seed of another form is no tangent either.
#[test]
fn a_tangent_with_another_constructor_is_an_error() {
    let text = "
type shape = #disk f64 | #box f64 f64
def double (s: shape): shape = match s case #disk r -> #disk (2 * r) case #box a b -> #box (2 * a) b
entry f (a: f64) = match jvp double (#box a a) (#disk 1) case #disk r -> r case #box a b -> a + b";
    let function = by(&source(text), ENGINES[0]).function("f").expect("an entry point");
    let error = function.call(&[3.0.into()]).expect_err("a seed of another form");
    assert!(error.message().contains("a tangent has other constructors"), "{}", error.message());
}

/// Functions inside functions run once for their argument and once for what they capture, forwards as well.
#[test]
fn tangents_of_nested_functions_cost_exponential_time() {
    for n in 1..=8 {
        let program = |operation: &str| nested_functions(n, operation).replace("vjp", "jvp");
        assert_eq!(backward_runs(ENGINES[0], program, &[true.into(), 0.0.into()]), 1 << n, "at depth {n}");
    }
}

/// Numbers of calls of tasks, whatever they do, leave what is contributed the same, up to the order of sums.
#[test]
fn cells_for_each_task_collect_what_one_array_and_a_map_collect() {
    let text = "
def steps (n: i64) (x: f64): f64 = loop x for i < n do x + 0.01 * f64.sin (x + f64.i64 i)
def rec tree (d: i64) (x: f64): f64 =
  if d == 0 then f64.sin x else let (a, b) = par (tree (d - 1) (x * 0.5)) (tree (d - 1) (x + 1)) in a * b
entry f (n: i64) (x: f64) =
  vjp (\\(x, ws) ->
         let rows = tabulate n (\\i -> let (a, b) = par (steps 3 (x * ws[i % 5])) (tree 3 (x + ws[(i * i) % 5])) in a * b)
         let (a, b) = par (f64.sum (map (\\r -> f64.exp (-r * r)) rows)) (reduce (*) 1 (map (\\r -> 1 + 0.001 * r) rows))
         in a * b + f64.sum (map2 (*) rows (reverse rows)))
      (x, [1.0, 0.5, 0.25, -1.0, 2.0]) 1";
    let program = source(text);
    for n in [0i64, 1, 31, 32, 33, 64, 65, 1000] {
        let [tasks, array, map] =
            [PARALLEL, EFFICIENT, ENGINES[2]].map(|engine| run(&by(&program, engine), "f", &[n.into(), 0.3.into()]).0);
        assert_near(&tasks, &array, &format!("{n} elements"));
        assert_near(&array, &map, &format!("{n} elements"));
    }
}

#[test]
fn there_is_no_native_code() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let native = chadwick::Backend::Native(chadwick::NativeOptions::default());
    for engine in ENGINES {
        let error = by(&source("entry f (x: f64) = x"), engine).with_backend(native).err().expect("for the interpreter");
        assert!(error.message().contains("is for the interpreter; `chad-fast`"), "{}", error.message());
    }
}

#[test]
fn a_derivative_is_explained_in_the_notation_of_the_papers() {
    let program = source("entry f (x: f64) (y: f64) = let z = x + y in x * z");
    let functions = source("entry f (b: bool) (x: f64) = let g = if b then (\\y -> x * y) else (\\y -> y) in g x");
    let explained = |program: &Program, engine| {
        let function = by(program, engine).function("f").expect("an entry point");
        let explanation = function.explain(chadwick_core::Mode::Vjp, Stage::Optimise);
        explanation.unwrap_or_else(|error| panic!("{}", error.message())).notation.expect("a notation")
    };
    let function = by(&program, ENGINES[0]).function("f").expect("an entry point");
    let report = function.explain(chadwick_core::Mode::Vjp, Stage::Optimise).map(|explanation| explanation.report());
    assert!(report.is_ok_and(|report| report.contains("is kept by the functions that do it")));
    let tangents = |program: &Program| {
        let function = by(program, ENGINES[0]).function("f").expect("an entry point");
        let explanation = function.explain(chadwick_core::Mode::Jvp, Stage::Optimise);
        let explanation = explanation.unwrap_or_else(|error| panic!("{}", error.message()));
        assert!(explanation.report().contains("is kept by the functions that make them"));
        explanation.notation.expect("a notation")
    };
    for (program, parts) in [
        (&program, vec!["D→[", "> = <f64.mul(", ", \\t. ", " * t.", " in t."]),
        (&functions, vec!["snd (f (", ")) (t, 0)", " + y' ("]),
    ] {
        let text = tangents(program);
        for part in parts {
            assert!(text.contains(part), "without {part}:\n{text}");
        }
    }
    for (program, engine, parts) in [
        (&program, Engine::Chad(Definition::Plain), vec!["> = <f64.mul(", ", \\d. one_", ") + one_", "let e = one_", " e."]),
        (&program, EFFICIENT, vec!["> = <f64.mul(", ", \\d. do one_", "; one_", "' =<< take "]),
        (&functions, Engine::Chad(Definition::Plain), vec!["copowfold (", "\\d. one_", " [(", "snd ("]),
    ] {
        let text = explained(program, engine);
        for part in parts {
            assert!(text.contains(part), "{engine:?} without {part}:\n{text}");
        }
    }
}

/// Vákár and Smeding, figure 9 (b): what is left of the derivative of figure 1 (b) when functions with one call are unfolded.
#[test]
fn a_simplified_derivative_is_the_one_of_the_paper() {
    let program = source("entry f (x1: f64) (x2: f64) (x3: f64) (x4: f64) = f64.sin ((x1 * x4 + 2 * x2) * x3 + x4)");
    let function = by(&program, Engine::Chad(Definition::Simplified)).function("f").expect("an entry point");
    let explanation = function.explain(chadwick_core::Mode::Vjp, Stage::Optimise);
    insta::assert_snapshot!(explanation.unwrap_or_else(|error| panic!("{}", error.message())).core);
}

/// Vákár and Smeding, figure 9 (a): the same forwards, of figure 1 (a).
#[test]
fn a_simplified_tangent_is_the_one_of_the_paper() {
    let program = source("entry f (x: f64) = let y = 2 * x let z = x * y in (y, z, f64.cos z)");
    let function = by(&program, Engine::Chad(Definition::Simplified)).function("f").expect("an entry point");
    let explanation = function.explain(chadwick_core::Mode::Jvp, Stage::Optimise);
    insta::assert_snapshot!(explanation.unwrap_or_else(|error| panic!("{}", error.message())).core);
}

/// Nothing is computed more often than before.
#[test]
fn simplification_never_adds_work() {
    for (text, args, _) in worked_examples().into_iter().chain(forward_examples()) {
        let program = source(text);
        let [plain, simplified] = [ENGINES[0], ENGINES[3]].map(|engine| run(&by(&program, engine), "f", &args).1.operations);
        assert!(simplified <= plain, "{simplified} operations instead of {plain} for {text}");
    }
}

/// With sets of labels it says for which results an input matters, and forwards which inputs a result comes from.
#[test]
fn provenance_is_a_derivative_over_sets_of_labels() {
    let exact: [(&str, Vec<Value>, Vec<f64>); 4] = [
        (
            "entry f (x: f64) (y: f64) (z: f64) = vjp (\\(x, y, z) -> (x * y, f64.exp z, y - y + z, 3f64)) (x, y, z) (1, 2, 4, 8)",
            vec![0.0.into(), 0.0.into(), 3.0.into()],
            vec![1.0, 5.0, 6.0],
        ),
        (
            "entry f (x: f64) (y: f64) (z: f64) = jvp (\\(x, y, z) -> (x * y, f64.exp z, y - y + z, 3f64)) (x, y, z) (1, 2, 4)",
            vec![0.0.into(), 0.0.into(), 3.0.into()],
            vec![3.0, 4.0, 6.0, 0.0],
        ),
        (
            "entry f (xs: []f64) = vjp (scan (+) 0) xs [1, 2, 4, 8]",
            vec![vec![1.0, 2.0, 3.0, 4.0].into()],
            vec![15.0, 14.0, 12.0, 8.0],
        ),
        (
            "entry f (x: f64) (y: f64) = jvp (\\(x, y) -> let g = if x > 0 then (\\z -> x * z) else (\\z -> z) in (g y, g 2)) (x, y) (1, 2)",
            vec![1.0.into(), 1.0.into()],
            vec![3.0, 1.0],
        ),
    ];
    for (text, args, wanted) in exact {
        assert_eq!(run(&by(&source(text), PROVENANCE), "f", &args).0, wanted, "{text}");
    }
}

/// With truth values for numbers the same transformation says which inputs matter.
#[test]
fn dependencies_are_a_derivative_over_truth_values() {
    let exact: [(&str, Vec<Value>, Vec<f64>); 5] = [
        // A product with zero depends on its factors, though its derivative is zero.
        (
            "entry f (x: f64) (y: f64) (z: f64) = vjp (\\(x, y, z) -> (x * y, f64.exp z)) (x, y, z) (1, 0)",
            vec![0.0.into(), 0.0.into(), 3.0.into()],
            vec![1.0, 1.0, 0.0],
        ),
        // Cancellation hides nothing; a branch that is not taken, a condition and an index do not matter.
        ("entry f (x: f64) = vjp (\\x -> x - x) x 1", vec![2.0.into()], vec![1.0]),
        (
            "entry f (x: f64) (y: f64) = vjp (\\(x, y) -> if x > 0 then y else x) (x, y) 5",
            vec![1.0.into(), 2.0.into()],
            vec![0.0, 1.0],
        ),
        (
            "entry f (xs: []f64) (i: i64) = vjp (\\xs -> let ys = scan (+) 0 xs in ys[i]) xs 1",
            vec![vec![1.0, 2.0, 3.0, 4.0].into(), 1i64.into()],
            vec![1.0, 1.0, 0.0, 0.0],
        ),
        // A rule of the program's own says nothing of dependencies: the function itself is looked at.
        ("entry f (x: f64) = vjp (\\x -> with_vjp (\\x -> x * x) (\\_ _ -> 0) x) x 1", vec![2.0.into()], vec![1.0]),
    ];
    for (text, args, wanted) in exact {
        assert_eq!(run(&by(&source(text), DEPENDENCIES), "f", &args).0, wanted, "{text}");
    }
    // What has a derivative matters.
    let derivative_only = |text: &str| text.matches("vjp").count() == 1 && !text.contains("jvp") && !text.contains("vjp2");
    for (text, args, wanted) in worked_examples().into_iter().filter(|(text, ..)| derivative_only(text)) {
        let (found, _) = run(&by(&source(text), DEPENDENCIES), "f", &args);
        let agrees = |(found, wanted): (&f64, &f64)| *wanted == 0.0 || *found == 1.0;
        assert!(found.len() == wanted.len() && found.iter().zip(&wanted).all(agrees), "{found:?} for {wanted:?}: {text}");
    }
}

/// How often a block makes a value with a constructor of this name.
fn makings(program: &chadwick_core::Program, block: &chadwick_core::Block, name: &str) -> usize {
    let of = |statement: &chadwick_core::Statement| {
        let made = match &statement.op {
            Op::Construct { ty: Type::Named(id), tag, .. } => {
                program.types[id.0 as usize].constructors[*tag as usize].name.as_str() == name
            }
            _ => false,
        };
        let inside = statement.op.scopes().iter().map(|scope| makings(program, scope.block, name)).sum::<usize>();
        usize::from(made) + inside
    };
    block.statements.iter().map(of).sum()
}

/// E10, and gathers at computed places: an array that is read in a build gets one cotangent for all reads of a place in the text, which is all
/// elements or those at the places, and never a bag of one element.
#[test]
fn gathers_contribute_once() {
    for (body, reads) in [
        // Fused into one build.
        ("let ys = map (\\x -> x + 1) xs in map (\\i -> ys[i] * 2) (iota (length ys))", 1),
        ("map (\\i -> xs[i]) is", 1),
        ("map (\\i -> f64.sin (2 * xs[i]) + xs[i / 2]) is", 2),
    ] {
        let text = format!("entry f [n] (xs: [n]f64) (is: [n]i64) = vjp (\\xs -> {body}) xs (replicate n 1)");
        for engine in [EFFICIENT, PARALLEL] {
            let program = source(&text).with_engine(engine).and_then(|program| program.at_stage(Stage::Derivatives));
            let program = program.unwrap_or_else(|error| panic!("{}", error.message()));
            let count = |name| -> usize {
                program.core().functions.iter().map(|function| makings(program.core(), &function.body, name)).sum()
            };
            // Tasks have the text twice: for one stretch, and for many.
            let copies = if engine == PARALLEL { 2 } else { 1 };
            assert_eq!((count("one"), count("some")), (0, copies * reads), "{body}\n{}", program.core_text());
        }
    }
    // Where the places are all in order nothing is scattered, so the cotangents of the sum are not moved.
    let work = |read: &str| {
        let text = format!("entry f [n] (xs: [n]f64) = vjp (\\xs -> map (\\i -> 2 * xs[{read}]) (iota n)) xs (replicate n 1)");
        run(&source(&text).with_engine(EFFICIENT).expect("an engine"), "f", &[vec![1.0; 100].into()])
    };
    let ((all, in_order), (same, computed)) = (work("i"), work("(i + 7) % n"));
    assert_eq!(all, same);
    assert!(in_order.operations + 100 <= computed.operations, "{in_order:?} {computed:?}");
}
