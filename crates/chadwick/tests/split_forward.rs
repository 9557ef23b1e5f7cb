//! Many directions share one run of the primal: each further direction costs what the tangents cost and nothing else.

use chadwick::compile::Engine;
use chadwick::{Backend, Program};

/// Functions that call themselves and each other.
const RECURSIVE: &str = r"
type rec list = #nil | #cons f64 list
def list_from [n] (at: i64) (x: [n]f64): list = if at == n then #nil else #cons (f64.exp x[at]) (list_from (at + 1) x)
def first (l: list): f64 = match l case #nil -> 1 case #cons h _ -> f64.log (h + 2)
def total (l: list): f64 = match l case #nil -> 1 case #cons h t -> f64.sin (h * first t) * f64.exp (total t)
type rec tree = #leaf f64 | #node f64 tree tree
def tree_from [n] (from: i64) (to: i64) (x: [n]f64): tree =
  if to - from <= 1 then #leaf (f64.exp x[from])
  else let middle = (from + to) / 2 in #node (f64.sin x[middle]) (tree_from from middle x) (tree_from middle to x)
def product (t: tree): f64 = match t case #leaf a -> f64.log a case #node a l r -> f64.exp (a * product l) * f64.sin (product r)
def rec even (n: i64) (a: f64): f64 = if n == 0 then a else f64.exp (0.1 * odd (n - 1) a) * f64.sin a
and odd (n: i64) (a: f64): f64 = if n == 0 then 1 else f64.log (a * a + even (n - 1) (f64.sin a))
def walk [n] (at: i64) (x: [n]f64): f64 = if at == n then 0 else f64.exp (f64.sin x[at] * walk (at + 1) x)
def slopes [n] (at: i64) (x: [n]f64): f64 = if at == 0 then 1 else f64.sum (vjp (walk 0) x x[at]) * slopes (at - 1) x
";

/// `f` of an array of three numbers, one per line.
const FUNCTIONS: [(&str, &str); 14] = [
    ("elementwise", "map (\\a -> f64.exp (f64.sin a) * f64.log (a + 2)) x"),
    ("nested", "map (\\a -> f64.sum (map (\\b -> f64.exp (a * b)) x)) x"),
    ("matrix", "let m = map (\\a -> map (\\b -> f64.sin (a - b)) x) x in map (\\row -> f64.sum (map2 (*) row x)) m"),
    ("for", "loop x = x for i < 6 do map (\\a -> f64.sin (a * x[0]) + f64.exp (0 - a * a) * f64.i64 i) x"),
    ("while", "let y = loop y = x[0] while y < 50 do f64.exp (0.1 * y) + y + x[1] in map (* y) x"),
    ("state", "loop x = copy x for i < 30 do x with [i % n] = f64.sin (x[(i + 1) % n]) * f64.exp x[i % n]"),
    ("branches", "map (\\a -> if a > 0.2 then f64.exp a * x[0] else f64.log (a + 1) * f64.sin x[1]) x"),
    ("prefixes", "scan (+) 0 (map (\\a -> f64.exp a * a) x)"),
    ("histogram", "reduce_by_index (replicate n 0) (+) 0 (map (% 2) (iota n)) (map (\\a -> f64.exp (a * x[2])) x)"),
    ("list", "let y = total (list_from 0 x) in map (* y) x"),
    ("tree", "let y = product (tree_from 0 n x) in map (* y) x"),
    ("mutual", "map (even 6) x"),
    ("recursion over an array", "let y = walk 0 x in map (* y) x"),
    ("gradient", "vjp (\\x -> f64.sum (map (\\a -> f64.exp (a * x[0]) * f64.sin a) x)) x 1"),
];

fn operations(body: &str, call: &str) -> (u64, Vec<chadwick::Value>) {
    let source =
        format!("{RECURSIVE}\ndef f [n] (x: [n]f64): [n]f64 = {body}\nentry main [n] (x: [n]f64) (seeds: [][n]f64) = {call}");
    let program = Program::from_source(&source)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .unwrap_or_else(|error| panic!("{}", error.message()));
    let program = program.with_engine(Engine::ChadFast).unwrap_or_else(|error| panic!("{}", error.message()));
    let seeds = chadwick::Value::new([4, 3], vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.5, -1.0, 2.0]);
    let args = [vec![0.1, 0.2, 0.3].into(), seeds.expect("four seeds")];
    let results =
        program.function("main").and_then(|main| main.call(&args)).unwrap_or_else(|error| panic!("{}", error.message()));
    (program.counters().float_operations, results)
}

#[test]
fn a_direction_costs_what_its_tangents_cost() {
    for (name, body) in FUNCTIONS {
        let (primal, _) = operations(body, "f x");
        let (one, _) = operations(body, "jvp2 f x seeds[0]");
        let (few, _) = operations(body, "jmp2 f x seeds[:1]");
        let (many, _) = operations(body, "jmp2 f x seeds");
        let each = (many - few).div_ceil(3);
        // Light operations are done again rather than kept.
        let allowed = one + one / 10;
        assert!(each + primal <= allowed, "{name}: a direction costs {each}, the primal {primal}, both together {one}");
        assert!(few <= allowed, "{name}: one direction of many costs {few}, one alone {one}");
    }
}

#[test]
fn directions_together_are_directions_one_by_one() {
    for (name, body) in FUNCTIONS {
        let (_, together) = operations(body, "jmp f x seeds");
        let (_, apart) = operations(body, "map (jvp f x) seeds");
        let difference =
            chadwick::values::compare::difference(&together, &apart, &chadwick::values::compare::Tolerance::uniform(1e-12));
        assert_eq!(difference, None, "{name}");
    }
}

#[test]
fn a_recursive_function_whose_accumulators_go_elsewhere_runs_anew() {
    let body = "let y = slopes (n - 1) x in map (* y) x";
    let ((_, together), (_, apart)) = (operations(body, "jmp f x seeds"), operations(body, "map (jvp f x) seeds"));
    let tolerance = chadwick::values::compare::Tolerance::uniform(1e-12);
    assert_eq!(chadwick::values::compare::difference(&together, &apart, &tolerance), None);
    let (_, one) = operations(body, "jvp f x seeds[3]");
    let (together, one) = (together[0].as_slice::<f64>().expect("numbers"), one[0].as_slice::<f64>().expect("numbers"));
    assert!(together[9..].iter().zip(one).all(|(left, right)| (left - right).abs() <= 1e-12), "{together:?} {one:?}");
}

#[test]
fn a_map_over_directions_costs_what_all_directions_together_cost() {
    for (name, body) in FUNCTIONS {
        for (together, apart) in [("jmp f x seeds", "map (jvp f x) seeds"), ("mjp f x seeds", "map (vjp f x) seeds")] {
            let ((together, expected), (mapped, results)) = (operations(body, together), operations(body, apart));
            assert!(mapped <= together + together / 20, "{name}: {apart} costs {mapped}, {together} together");
            let tolerance = chadwick::values::compare::Tolerance::uniform(1e-12);
            assert_eq!(chadwick::values::compare::difference(&expected, &results, &tolerance), None, "{name}: {apart}");
        }
    }
}

#[test]
fn a_map_over_no_directions_does_not_run_the_function() {
    // The function fails at this point; nobody asks for its derivative.
    let (_, results) = operations("map (/ x[7]) x", "map (jvp f x) seeds[:0]");
    assert_eq!(results[0].shape(), [0, 3]);
}

#[test]
fn a_point_that_depends_on_the_direction_is_not_shared() {
    let body = "map (\\a -> f64.exp (a * x[0])) x";
    let (_, apart) = operations(body, "map (\\s -> jvp f (map2 (+) x s) s) seeds");
    let (_, one) = operations(body, "jvp f (map2 (+) x seeds[3]) seeds[3]");
    let (apart, one) = (apart[0].as_slice::<f64>().expect("numbers"), one[0].as_slice::<f64>().expect("numbers"));
    assert_eq!(&apart[9..], one);
}

fn program(source: &str) -> Program {
    Program::from_source(source)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .and_then(|program| program.with_engine(Engine::ChadFast))
        .unwrap_or_else(|error| panic!("{}", error.message()))
}

#[test]
fn a_direction_of_a_jacobian_runs_what_depends_on_its_element() {
    let functions = [
        ("own element", "map (\\row -> f64.sum (map2 (\\a w -> w * f64.exp a) x row)) w"),
        ("own part", "map (\\row -> f64.sum (tabulate (n / 2) (\\j -> row[j] * f64.sin x[2 * j] * x[2 * j + 1]))) w"),
        (
            "a vector for each part",
            "let parts = tabulate (n / 2) (\\j -> [f64.sin x[2 * j], x[2 * j + 1] * x[2 * j]])
             in map (\\row -> f64.sum (map2 (\\p a -> a * (p[0] + p[1])) parts row[:n / 2])) w",
        ),
    ];
    for (name, body) in functions {
        let source = format!(
            "def f [n] (w: [3][n]f64) (x: [n]f64): [3]f64 = {body}
             entry jacobian [n] (w: [3][n]f64) (x: [n]f64) = jacfwd (f w) x
             entry directions [n] (w: [3][n]f64) (x: [n]f64) =
               transpose (tabulate n (\\k -> jvp (f w) x (map f64.bool (map (== k) (iota n)))))
             entry primal [n] (w: [3][n]f64) (x: [n]f64) = f w x"
        );
        let program = program(&source);
        let work = [10, 20, 30].map(|n| {
            let numbers = |count: usize| (0..count).map(|at| 0.1 + 0.05 * (at % 17) as f64).collect::<Vec<f64>>();
            let args = [chadwick::Value::new([3, n], numbers(3 * n)).expect("a matrix"), numbers(n).into()];
            let run = |entry: &str| {
                let before = program.counters().float_operations;
                let results = program.function(entry).and_then(|function| function.call(&args));
                (
                    results.unwrap_or_else(|error| panic!("{name}: {}", error.message())),
                    program.counters().float_operations - before,
                )
            };
            let ((jacobian, work), (expected, _)) = (run("jacobian"), run("directions"));
            let tolerance = chadwick::values::compare::Tolerance::uniform(1e-12);
            assert_eq!(chadwick::values::compare::difference(&jacobian, &expected, &tolerance), None, "{name}");
            work
        });
        assert_eq!(work[2] + work[0], 2 * work[1], "{name}: {work:?} operations are not linear in the number of directions");
    }
}

#[test]
fn what_is_zero_by_its_form_still_fails_where_it_did() {
    let program = program(
        "entry one (n: i64) (k: i64) (j: i64): f64 =
           let a = tabulate n (\\i -> if i == k then 2.5 else 0) in a[j] * 2
         entry sum [m] (n: i64) (k: i64) (places: [m]i64) (x: [m]f64): f64 =
           f64.sum (tabulate n (\\i -> let y = x[places[i]] in if i == k then y else 0))",
    );
    let one = |n: i64, k: i64, j: i64| {
        let results = program.function("one").and_then(|one| one.call(&[n.into(), k.into(), j.into()]));
        results.map(|results| results[0].as_scalar::<f64>()).map_err(|error| error.message())
    };
    assert_eq!(one(3, 1, 1), Ok(Some(5.0)));
    assert_eq!(one(3, 1, 2), Ok(Some(0.0)));
    assert_eq!(one(3, 7, 2), Ok(Some(0.0)));
    assert_eq!(one(3, -1, 0), Ok(Some(0.0)));
    assert!(one(3, 1, 3).is_err_and(|message| message.contains("out of bounds")));
    assert!(one(3, 7, 7).is_err_and(|message| message.contains("out of bounds")));
    let sum = |places: Vec<i64>, k: i64| {
        let args = [2i64.into(), k.into(), places.into(), vec![1.5, 2.5].into()];
        program
            .function("sum")
            .and_then(|sum| sum.call(&args))
            .map(|results| results[0].as_scalar::<f64>())
            .map_err(|error| error.message())
    };
    assert_eq!(sum(vec![1, 0], 0), Ok(Some(2.5)));
    assert_eq!(sum(vec![1, 0], 5), Ok(Some(0.0)));
    assert!(sum(vec![1, 2], 0).is_err_and(|message| message.contains("out of bounds")));
}
