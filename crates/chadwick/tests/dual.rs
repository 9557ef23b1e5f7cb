//! Reverse mode by dual numbers: all rungs give the derivatives of the papers' worked examples, and each costs what its paper says.

mod work;

use chadwick::compile::{Engine, Rung, Stage};
use chadwick::{Backend, Limits, NativeOptions, Program, Value};
use chadwick_generate::Random;
use work::{assert_near, run, source};

fn by(program: &Program, rung: Rung) -> Program {
    program.with_engine(Engine::Dual(rung)).unwrap_or_else(|error| panic!("{}: {}", rung.name(), error.message()))
}

/// A program with an entry point `f`, arguments, and the result that every rung must give.
fn worked_examples() -> Vec<(&'static str, Vec<Value>, Vec<f64>)> {
    vec![
        ("entry f (x: f64) = vjp (\\x -> x * x) x 1", vec![3.0.into()], vec![6.0]),
        (
            "entry f (x: f64) (y: f64) = vjp (\\(x, y) -> x * x + 3 * x * y) (x, y) 1",
            vec![2.0.into(), 5.0.into()],
            vec![19.0, 6.0],
        ),
        (
            "entry f (x: f64) (y: f64) = vjp (\\(x, y) -> let a = x * y let b = x + a let c = b * a in c) (x, y) 1",
            vec![2.0.into(), 3.0.into()],
            vec![48.0, 28.0],
        ),
        ("entry f (a: f64) = vjp (\\a -> let b = a + 1 in if b > 0 then a * b else b) a 1", vec![(-3.0).into()], vec![1.0]),
        (
            "entry f (x: f64) (y: f64) = vjp (\\(x, y) -> let z = x + y in x * z) (x, y) 1",
            vec![12.0.into(), 13.0.into()],
            vec![37.0, 12.0],
        ),
        (
            "entry f (x: f64) = vjp (\\x -> let y = f64.exp x let z = f64.log y in y + f64.sin z / f64.cos z) x 1",
            vec![0.5.into()],
            vec![0.5f64.exp() + 1.0 / 0.5f64.cos().powi(2)],
        ),
        // A function from an `if`, recursion, and a sum type as input: the gradient has the constructor of the value.
        (
            "def power (n: i64) (x: f64): f64 = if n == 0 then 1 else x * power (n - 1) x
             entry f (x: f64) = vjp (\\x -> let g = if x > 0 then (\\y -> y * x) else (\\y -> y) in g (power 5 x)) x 1",
            vec![2.0.into()],
            vec![6.0 * 32.0],
        ),
        (
            "type shape = #disk f64 | #box f64 f64
             def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
             entry f (a: f64) (b: f64) = match vjp area (#box a b) 1 case #disk r -> (r, r) case #box a b -> (a, b)",
            vec![3.0.into(), 4.0.into()],
            vec![4.0, 3.0],
        ),
        // Lists, whose number of scalars only the value knows.
        (
            "type rec list = #nil | #cons f64 list
             def total (l: list): f64 = match l case #nil -> 0 case #cons x rest -> x * x + total rest
             def sum (l: list): f64 = match l case #nil -> 0 case #cons x rest -> x + sum rest
             def make (n: i64): list = loop l: list = #nil for i < n do #cons (f64.i64 i) l
             entry f (n: i64) = sum (vjp total (make n) 1)",
            vec![5i64.into()],
            vec![20.0],
        ),
        // Arrays of every kind of form; an unused input; a cotangent that is not one.
        (
            "entry f (xs: []f64) = vjp (\\xs -> f64.sum (map2 (*) xs (reverse xs))) xs 1",
            vec![vec![1.0, 2.0, 3.0, 4.0, 5.0].into()],
            vec![10.0, 8.0, 6.0, 4.0, 2.0],
        ),
        ("entry f (x: f64) (y: f64) = vjp (\\(x, _) -> x * x) (x, y) 10", vec![3.0.into(), 7.0.into()], vec![60.0, 0.0]),
        (
            "entry f (xs: []f64) = vjp (\\xs -> let ys = scan (*) 1 xs
               let zs = reduce_by_index (replicate 2 0) (+) 0 (map (% 2) (indices xs)) ys in zs[0] * zs[1]) xs 1",
            vec![vec![2.0, 3.0, 4.0].into()],
            // ys = [2, 6, 24], zs = [26, 6].
            vec![13.0 * 6.0 + 26.0 * 3.0, 8.0 * 6.0 + 26.0 * 2.0, 6.0 * 6.0],
        ),
        // An untaken square root leaks no NaN.
        ("entry f (x: f64) = vjp (\\x -> let s = f64.sqrt x in if x > 0 then s else 0) x 1", vec![0.0.into()], vec![0.0]),
        // Twice in reverse, and one over the other.
        ("entry f (x: f64) = vjp (\\x -> vjp (\\x -> x * x * x) x 1) x 1", vec![2.0.into()], vec![12.0]),
        ("entry f (x: f64) = jvp (\\x -> vjp (\\x -> x * x * x) x 1) x 1", vec![2.0.into()], vec![12.0]),
        ("entry f (x: f64) = vjp (\\x -> jvp (\\x -> x * x * x) x 1) x 1", vec![2.0.into()], vec![12.0]),
        // An integer that a derivative flows through.
        ("entry f (x: f64) = f64.i64 (vjp (\\(n: i64) -> f64.i64 (n * n) * x) 3 1)", vec![2.0.into()], vec![12.0]),
    ]
}

#[test]
fn all_rungs_agree_on_the_worked_examples() {
    for (text, args, wanted) in worked_examples() {
        let program = source(text);
        for rung in Rung::ALL {
            let (found, _) = run(&by(&program, rung), "f", &args);
            assert_near(&found, &wanted, &format!("dual:{} on {text}", rung.name()));
        }
    }
}

/// Krawiec et al., figure 12: rotation by a quaternion, its value and its Jacobian.
const ROTATE: &str = "
def cross (a: (f64, f64, f64)) (b: (f64, f64, f64)) =
  (a.1 * b.2 - a.2 * b.1, a.2 * b.0 - a.0 * b.2, a.0 * b.1 - a.1 * b.0)
def add (a: (f64, f64, f64)) (b: (f64, f64, f64)) = (a.0 + b.0, a.1 + b.1, a.2 + b.2)
def times (k: f64) (a: (f64, f64, f64)) = (k * a.0, k * a.1, k * a.2)
def dot (a: (f64, f64, f64)) (b: (f64, f64, f64)) = a.0 * b.0 + a.1 * b.1 + a.2 * b.2
def rotate (q: (f64, f64, f64)) (w: f64) (v: (f64, f64, f64)) =
  add (times (2 * dot q v) q) (add (times (w * w - dot q q) v) (times (2 * w) (cross q v)))
entry f (s: (f64, f64, f64)) =
  vjp (\\(q, w, v) -> rotate q w v) ((1.1, 2.2, 3.3), 4.4, (5.5, 6.6, 7.7)) s
entry x = f (1, 0, 0)
entry y = f (0, 1, 0)
entry z = f (0, 0, 1)";

#[test]
fn a_rotation_by_a_quaternion_has_the_jacobian_of_the_paper() {
    let rows = [
        ("x", [91.96, 58.08, -77.44, 38.72, 4.84, -24.2, 26.62]),
        ("y", [-58.08, 91.96, 38.72, 77.44, 33.88, 12.1, 4.84]),
        ("z", [77.44, -38.72, 91.96, 58.08, -12.1, 24.2, 24.2]),
    ];
    let program = source(ROTATE);
    for rung in Rung::ALL {
        let program = by(&program, rung);
        for (entry, wanted) in rows {
            assert_near(&run(&program, entry, &[]).0, &wanted, rung.name());
        }
    }
}

/// `x` doubled `n` times: every step uses what is before it twice.
const DOUBLING: &str = "entry f (n: i64) (x: f64) = vjp (\\x -> loop y = x for _i < n do y + y) x 1";

#[test]
fn only_naive_backpropagators_are_called_again_and_again() {
    let program = source(DOUBLING);
    for rung in Rung::ALL {
        let program = by(&program, rung);
        let costs = [5i64, 10, 20].map(|n| {
            let (found, cost) = run(&program, "f", &[n.into(), 1.0.into()]);
            assert_eq!(found, [f64::from(1 << n)], "{}", rung.name());
            cost.operations
        });
        match rung {
            Rung::Naive => assert!(costs[2] > 1 << 20, "2^20 calls: {costs:?}"),
            // A map adds a logarithm.
            Rung::Staged | Rung::Cayley | Rung::Sparse => assert!(costs[2] < 8 * costs[0], "{}: {costs:?}", rung.name()),
            _ => {
                let steps = [(costs[1] - costs[0]) / 5, (costs[2] - costs[1]) / 10];
                assert_eq!(steps[0], steps[1], "as much for each step: {} {costs:?}", rung.name());
            }
        }
    }
}

/// The thesis' example of staged calls (3.4): `f2 z = f1 (2z) + f1 (3z); f3 z = f2 (4z) + f1 (5z); f4 z = f2 z + f3 (2z)`. Called as they come, `f2` is
/// called twice and `f1` five times.
#[test]
fn backpropagators_that_wait_are_called_once() {
    // The links before `y1` are run backwards as often as its backpropagator is called.
    let work = |rung: Rung, links: usize, body: &str| {
        let chain: String = (0..links).map(|_| " let x = f64.sin x").collect();
        let text = format!("entry f (x: f64) = vjp (\\x -> {chain} let y1 = f64.sin x in {body}) x 1");
        let (found, counters) = run(&by(&source(&text), rung), "f", &[0.0.into()]);
        (found[0], counters.operations as i64)
    };
    let each_link = |rung: Rung, body: &str| work(rung, 5, body).1 - work(rung, 4, body).1;
    let example = "let y2 = 2 * y1 + 3 * y1 let y3 = 4 * y2 + 5 * y1 in y2 + 2 * y3";
    for rung in Rung::ALL {
        let [once, twice] = ["y1", "2 * y1 + 3 * y1"].map(|body| each_link(rung, body));
        let calls = if rung == Rung::Naive { 5 } else { 1 };
        assert_eq!(work(rung, 4, example).0, 55.0, "{}", rung.name());
        match rung {
            // A map with more in it has longer paths.
            Rung::Staged | Rung::Cayley | Rung::Sparse => {
                assert!(each_link(rung, example) < 2 * once, "{}: {once} for each link", rung.name());
            }
            _ => assert_eq!(each_link(rung, example), once + (calls - 1) * (twice - once).max(0), "{}", rung.name()),
        }
    }
}

/// Each rung gets rid of something: backpropagators that are functions, and one of the two arrays.
#[test]
fn rungs_drop_functions_and_arrays() {
    let text = "entry f (xs: []f64) = f64.sum (map (\\x -> x * x) xs)";
    let made = |rung: Rung| {
        let program = by(&source(text), rung);
        let function = program.function("f").expect("an entry point");
        let stage = chadwick::compile::Stage::Derivatives;
        function.explain(chadwick_core::Mode::Vjp, stage).unwrap_or_else(|error| panic!("{}", error.message())).core
    };
    for rung in Rung::ALL {
        let is_data = matches!(rung, Rung::Contrib | Rung::Tape | Rung::Delta | Rung::Parallel);
        assert_eq!(made(rung).contains("apply "), !is_data, "{}:\n{}", rung.name(), made(rung));
    }
    let gradient = "entry f (xs: []f64) = vjp (\\xs -> f64.sum (map (\\x -> x * x) xs)) xs 1";
    let arrays = |rung| run(&by(&source(gradient), rung), "f", &[vec![1.0; 100].into()]).1.allocations;
    assert!(arrays(Rung::Single) < arrays(Rung::Mutable), "{} and {}", arrays(Rung::Single), arrays(Rung::Mutable));
}

/// A function is differentiated once, whatever the input of the derivatives that reach it (Krawiec et al., 7.5).
#[test]
fn a_library_function_is_differentiated_once() {
    let library = "def logistic (n: i64) (x: f64): f64 = loop x for _i < n do 3.5 * x * (1 - x)";
    let one = "entry one (n: i64) (x: f64) = vjp (\\x -> logistic n x + x) x 1";
    let many = "entry many (n: i64) (xs: []f64) = vjp (\\(xs, k) -> k * f64.sum (map (logistic n) xs)) (xs, 2) 1";
    let copies = |text: &str, rung: Rung| {
        let program = by(&source(text), rung).at_stage(chadwick::compile::Stage::Derivatives);
        let functions = &program.unwrap_or_else(|error| panic!("{}", error.message())).core().functions.clone();
        functions.iter().filter(|function| function.name.contains("logistic")).count()
    };
    // The naive backpropagators depend on the input, those of tasks on the place in the program.
    for rung in Rung::ALL {
        let [alone, together] =
            [format!("{library}\n{one}"), format!("{library}\n{one}\n{many}")].map(|text| copies(&text, rung));
        assert_eq!(alone, together, "{}", rung.name());
    }
}

/// One run serves any number of cotangents.
#[test]
fn many_cotangents_take_one_run() {
    let rows = |seeds: usize| {
        let text = "entry f (x: f64) (seeds: [][2]f64) = mjp (\\x -> [f64.sin x * x, f64.exp x]) x seeds";
        let seeds = Value::new([seeds, 2], vec![1.0; 2 * seeds]).expect("pairs");
        run(&by(&source(text), Rung::Tape), "f", &[1.5.into(), seeds]).1.logged_rows
    };
    assert_eq!([1, 2, 7].map(rows), [3; 3]);
}

/// A binding for each operation, in both of Krawiec's presentations: terms, and the tape they are written to.
#[test]
fn a_rotation_has_a_binding_for_each_operation() {
    // 2 (q·v) q: 5 + 1 + 3; (w w - q·q) v: 1 + 5 + 1 + 3; 2 w (q × v): 1 + 9 + 3; and two sums of vectors.
    let rows = |text: &str, rung: Rung| run(&by(&source(text), rung), "x", &[]).1.logged_rows;
    // Figure 12 has two more, `x10 = Zero` and `x30 = Zero`, for the literals `from_float 2.0`: here constants have none. With something
    // that does have a binding in their place there are as many.
    let computed = ROTATE.replace("(2 * dot", "(f64.sin w * dot").replace("(2 * w)", "(f64.cos w * w)");
    for rung in [Rung::Delta, Rung::Tape] {
        assert_eq!((rows(ROTATE, rung), rows(&computed, rung)), (38, 40), "{}", rung.name());
    }
}

/// The thesis counts `5n + 1` constructors for a dot product by scalars (4.3.1): a `Share` of an `Add` of two `Scale`s for each product, `n` more
/// `Add`s and one more `Share`. Here each operation has a binding: the `n` products, and the `n` sums, of which the first adds to zero.
#[test]
fn a_dot_product_has_a_binding_for_each_product_and_each_sum() {
    let program = source("entry f [n] (a: [n]f64) (b: [n]f64) = vjp (\\(a, b) -> f64.sum (map2 (*) a b)) (a, b) 1");
    for rung in [Rung::Delta, Rung::Tape] {
        let program = by(&program, rung);
        for n in [1, 2, 10, 100] {
            let (found, counters) = run(&program, "f", &[vec![2.0; n].into(), vec![3.0; n].into()]);
            assert_eq!(found, [vec![3.0; n], vec![2.0; n]].concat(), "{}", rung.name());
            assert_eq!(counters.logged_rows, 2 * n as u64, "{}: {n}", rung.name());
        }
    }
}

/// Instructions for variables behind the inputs, and which of them is the result: they make any `Delta`.
const DELTAS: &str = "
def steps [k] [m] (xs: [k]f64) (kinds: [m]i64) (lefts: [m]i64) (rights: [m]i64) (factors: [m]f64) (result: i64): f64 =
  let vs = loop vs = xs ++ replicate m 0 for i < m do
    let (a, b) = (vs[lefts[i]], vs[rights[i]])
    in vs with [k + i] = if kinds[i] == 0 then factors[i] * a else if kinds[i] == 1 then a + b else a * b
  in vs[result]
entry f [k] [m] (xs: [k]f64) (kinds: [m]i64) (lefts: [m]i64) (rights: [m]i64) (factors: [m]f64) (result: i64) (s: f64) =
  vjp (\\xs -> steps xs kinds lefts rights factors result) xs s";

/// One instruction: what it does, to which variables, and a factor.
type Instruction = (usize, usize, usize, f64);

/// The denotation of a `Delta` at tangents: that of the result.
fn denotation(xs: &[f64], instructions: &[Instruction], result: usize, tangents: &[f64]) -> f64 {
    let mut values: Vec<(f64, f64)> = xs.iter().copied().zip(tangents.iter().copied()).collect();
    for (kind, left, right, factor) in instructions {
        let ((a, da), (b, db)) = (values[*left], values[*right]);
        values.push(match kind {
            0 => (factor * a, factor * da),
            1 => (a + b, da + db),
            _ => (a * b, b * da + a * db),
        });
    }
    values[result].1
}

/// Which instructions the result needs.
fn used(inputs: usize, instructions: &[Instruction], result: usize) -> Vec<bool> {
    let mut used = vec![false; inputs + instructions.len()];
    used[result] = true;
    for (at, (kind, left, right, _)) in instructions.iter().enumerate().rev() {
        if used[inputs + at] {
            used[*left] = true;
            used[*right] |= *kind != 0;
        }
    }
    used.split_off(inputs)
}

/// Krawiec et al., lemma 6: `s * [[u]] g` is the sum of what `eval s u` adds for each variable, times `g` of it. Evaluation goes through the body
/// first, so it visits each binding once, however often its variable is used, and skips those that are not used.
#[test]
fn random_deltas_are_evaluated_body_first() {
    let program = by(&source(DELTAS), Rung::Delta);
    let eval = |xs: &[f64], instructions: &[Instruction], result: usize, s: f64| {
        let integers = |part: fn(&Instruction) -> usize| -> Value {
            instructions.iter().map(|it| part(it) as i64).collect::<Vec<i64>>().into()
        };
        let factors: Vec<f64> = instructions.iter().map(|it| it.3).collect();
        let [kinds, lefts, rights] = [integers(|it| it.0), integers(|it| it.1), integers(|it| it.2)];
        let args = [xs.to_vec().into(), kinds, lefts, rights, factors.into(), (result as i64).into(), s.into()];
        let (found, counters) = run(&program, "f", &args);
        (found, counters.operations)
    };
    let (_, none) = eval(&[1.0, 1.0], &[], 0, 1.0);
    let cost = |result: usize| [0, 1, 2].map(|kind| eval(&[1.0, 1.0], &[(kind, 0, 1, 2.0)], result, 1.0).1 - none);
    let (visited, skipped) = (cost(2), cost(0));
    assert_eq!([0, 1, 2].map(|kind| skipped[kind] < visited[kind]), [true; 3]);
    let mut unused = 0;
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut below = |limit: usize| random.between(0, limit as i64 - 1) as usize;
        let inputs = 1 + below(4);
        let xs: Vec<f64> = (0..inputs).map(|_| 0.5 + below(3) as f64).collect();
        let mut instructions = Vec::new();
        for at in 0..1 + below(30) {
            let known = inputs + at;
            let recent = known.saturating_sub(6);
            let mut operand = || recent + below(known - recent);
            let (left, right) = (operand(), operand());
            // Powers of powers would leave the numbers.
            instructions.push((if at < 8 { below(3) } else { below(2) }, left, right, 0.25 * (1 + below(6)) as f64));
        }
        let result = below(inputs + instructions.len());
        let s = 1.0 + below(4) as f64;
        let (gradient, work) = eval(&xs, &instructions, result, s);
        let tangents: Vec<f64> = (0..inputs).map(|_| below(7) as f64 - 3.0).collect();
        let sum: f64 = gradient.iter().zip(&tangents).map(|(own, tangent)| own * tangent).sum();
        let wanted = s * denotation(&xs, &instructions, result, &tangents);
        let scale: f64 = gradient.iter().zip(&tangents).map(|(own, tangent)| (own * tangent).abs()).sum();
        assert!((sum - wanted).abs() <= 1e-12 * scale.max(1.0), "seed {seed}: {sum} instead of {wanted}");
        // Further inputs are no operations.
        let (_, none) = eval(&xs, &[], 0, s);
        let used = used(inputs, &instructions, result);
        let costs = instructions.iter().zip(&used).map(|(it, used)| if *used { visited[it.0] } else { skipped[it.0] });
        assert_eq!(work - none, costs.sum::<u64>(), "seed {seed}: {instructions:?}");
        unused += used.iter().filter(|used| !**used).count();
    }
    assert!(unused > 500, "{unused} bindings that are not used");
}

/// A cotangent that is zero has derivatives that are not: only what is not used is skipped.
#[test]
fn a_binding_is_not_skipped_for_a_cotangent_that_is_zero() {
    let text = "
def g (x: f64): f64 = let y = x * x in (y - 1) * (y - 1)
entry f (x: f64) = vjp (\\x -> vjp g x 1) x 1
entry by_seed (x: f64) (s: f64) = vjp (\\s -> vjp (\\x -> x * x * x) x s) s 1";
    let program = by(&source(text), Rung::Delta);
    assert_eq!(run(&program, "f", &[1.0.into()]).0, [8.0]);
    assert_eq!(run(&program, "by_seed", &[2.0.into(), 0.0.into()]).0, [12.0]);
}

/// The inner derivative does not depend on what has a rule, so there is no call that needs it.
#[test]
fn a_rule_that_no_derivative_needs_leaves_well_formed_core() {
    let text = "
def g (x: f64): f64 = with_vjp id (\\_ ct -> 2 * ct) x
entry f (x: f64) = vjp (\\x -> let y = g x in vjp (\\y -> 3 * y) y 1) x 1";
    for rung in Rung::ALL.into_iter().filter(|rung| *rung != Rung::Naive) {
        let program = by(&source(text), rung);
        let made = program.at_stage(Stage::Derivatives).unwrap_or_else(|error| panic!("{}", error.message()));
        assert!(chadwick_core::verify::verify(made.core()).is_empty(), "{}", rung.name());
        assert_eq!(run(&program, "f", &[1.5.into()]).0, [0.0], "{}", rung.name());
    }
}

#[test]
fn the_rule_of_a_call_is_run_if_its_result_is_used() {
    let text = "
def g (x: f64): f64 = with_vjp id (\\_ ct -> loop s = 0 for _i < 1000 do s + 2 * ct) x
entry f [n] (xs: [n]f64) (at: i64) = vjp (\\xs -> (map g xs ++ xs)[at]) xs 1";
    let program = by(&source(text), Rung::Delta);
    let gradient = |at: i64| run(&program, "f", &[vec![0.0; 3].into(), at.into()]);
    let ((by_rule, with_one), (plain, with_none)) = (gradient(1), gradient(4));
    assert_eq!((by_rule, plain), (vec![0.0, 2000.0, 0.0], vec![0.0, 1.0, 0.0]));
    let one = with_one.operations - with_none.operations;
    assert!(with_none.operations < one, "{one} for one rule, and {} for none", with_none.operations);
}

#[test]
fn the_tape_has_a_row_for_each_operation_and_none_for_conditions_and_constants() {
    let rows = |text: &str, args: &[Value]| run(&by(&source(text), Rung::Tape), "f", args).1.logged_rows;
    assert_eq!(
        rows("entry f (x: f64) (y: f64) = vjp (\\(x, y) -> let z = x + y in x * z) (x, y) 1", &[1.0.into(), 2.0.into()]),
        2
    );
    // Adding a constant passes the cotangent on as it is.
    assert_eq!(rows("entry f (x: f64) = vjp (\\x -> (x + 1) * (x + 2)) x 1", &[1.0.into()]), 1);
    // However dear a condition is, nothing of it is kept.
    assert_eq!(rows("entry f (x: f64) = vjp (\\x -> if f64.sin (f64.exp (x * x)) > 2 then x else x * x) x 1", &[1.0.into()]), 1);
    // An input that only decides how often something is done has no slot.
    let repeated = "entry f (x: f64) (n: i64) = (vjp (\\(x, n) -> loop y = x for _i < n do y * x) (x, n) 1).0";
    assert_eq!(rows(repeated, &[1.0.into(), 7i64.into()]), 7);
}

#[test]
fn a_million_steps_and_a_million_calls_overflow_nothing() {
    let text = "
def down (n: i64) (x: f64): f64 = if n == 0 then x else 0.999999 * down (n - 1) x
entry recursion (n: i64) = vjp (down n) 1 1
entry repetition (n: i64) = vjp (\\x -> loop y = x for _i < n do y * 0.999999) 1 1";
    let program = source(text);
    let wanted = [0.999_999f64.powi(1_000_000)];
    for (rung, entry) in
        [(Rung::Tape, "recursion"), (Rung::Tape, "repetition"), (Rung::Contrib, "repetition"), (Rung::Delta, "repetition")]
    {
        let (found, _) = run(&by(&program, rung), entry, &[1_000_000i64.into()]);
        assert_near(&found, &wanted, rung.name());
    }
}

/// So many rows, and the peak of memory in bytes. Columns double as they grow, so powers of two fill them.
fn native_tape(rows: i64, limit: usize) -> Result<(f64, usize), String> {
    let program = source("entry f (n: i64) = vjp (\\x -> loop y = x for _i < n do y * 0.99999999) 1 1");
    let options = NativeOptions { threads: 1, ..NativeOptions::default() };
    let native = by(&program, Rung::Tape).with_backend(Backend::Native(options)).expect("native code");
    native.set_limits(Limits { max_memory_bytes: limit, ..Limits::default() });
    let result = native.function("f").expect("an entry point").call(&[rows.into()]).map_err(|error| error.to_string())?;
    let value = result.first().and_then(|value| value.as_scalar::<f64>()).expect("a number");
    Ok((value, native.peak_memory()))
}

fn assert_row_takes_24_bytes(rows: i64, limit: usize) {
    let (value, peak) = native_tape(rows, limit).unwrap_or_else(|error| panic!("{error}"));
    let wanted = (rows as f64 * 0.99999999f64.ln()).exp();
    assert!((value - wanted).abs() <= 1e-7 * wanted, "{value} instead of {wanted}");
    let room = (rows as usize).next_power_of_two();
    assert!(peak <= room * (24 + 8) + (1 << 20), "{peak} bytes for {rows} rows, with room for {room}, and a cotangent each");
}

#[test]
fn a_row_of_the_tape_takes_24_bytes_in_native_code() {
    assert_row_takes_24_bytes((1 << 22) - 10, 1 << 30);
    let error = native_tape(1 << 22, 64 << 20).expect_err("too little memory");
    assert!(error.contains("memory"), "{error}");
}

#[test]
#[ignore = "takes 5 GiB of memory and some seconds: cargo test --release -p chadwick --test dual -- --ignored"]
fn a_hundred_million_rows_overflow_nothing() {
    assert_row_takes_24_bytes(100_000_000, 8 << 30);
}

#[test]
fn a_rule_of_the_program_runs_once_with_the_whole_cotangent() {
    let text = "
def clip (x: f64): f64 = with_vjp id (\\_ adj -> f64.max (-1) (f64.min 1 adj)) x
entry f (x: f64) = vjp (\\x -> let y = clip x in 5 * y - 3 * y + y * y * y) x 1";
    let arrays = "
def exponentials [n] (x: [n]f64): [n]f64 = with_vjp (map f64.exp) (\\res adj -> map2 (*) res adj) x
entry f (xs: []f64) = vjp (\\xs -> let ys = exponentials xs in ys[0] * ys[1] + ys[2]) xs 1";
    let (x, y, z) = (0.5f64, 0.25f64, 2.0f64);
    for rung in Rung::ALL {
        if rung == Rung::Naive {
            // It has no place where the parts of a cotangent come together.
            let error = source(text).with_engine(Engine::Dual(rung)).err().expect("no rules here");
            assert!(error.message().contains("a rule that the program gives by `dual:naive`, which"), "{}", error.message());
            assert!(error.place().is_some_and(|place| place.contains(":2:")), "{:?}", error.place());
            continue;
        }
        assert_eq!(run(&by(&source(text), rung), "f", &[2.0.into()]).0, [1.0], "{}", rung.name());
        let (found, _) = run(&by(&source(arrays), rung), "f", &[vec![x, y, z].into()]);
        assert_near(&found, &[(x + y).exp(), (x + y).exp(), z.exp()], rung.name());
    }
}

/// The calls of one derivative must not appear in the type of another's, around which forward mode has gone already.
#[test]
fn rules_in_several_derivatives_of_one_program_do_not_mix() {
    let text = "
def cube (x: f64): f64 = with_vjp (\\x -> x * x * x) (\\res adj -> 3 * f64.cbrt res * f64.cbrt res * adj) x
def square (x: f64): f64 = with_vjp (\\x -> x * x) (\\res adj -> 2 * f64.sqrt res * adj) x
entry first (x: f64) = jvp (\\x -> vjp cube x 1) x 1
entry second (x: f64) = jvp (\\x -> vjp (\\x -> square x * cube x) x 1) x 1
entry third (x: f64) = vjp (\\x -> vjp (\\x -> square x * cube x) x 1) x 1";
    let program = source(text);
    for rung in [Rung::Tape, Rung::Delta, Rung::Contrib, Rung::Single, Rung::Cayley, Rung::Staged] {
        let program = by(&program, rung);
        for (entry, wanted) in [("first", 12.0), ("second", 160.0), ("third", 160.0)] {
            assert_near(&run(&program, entry, &[2.0.into()]).0, &[wanted], rung.name());
        }
    }
}

#[test]
fn native_code_with_a_tape_agrees_with_the_interpreter() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let native = chadwick::Backend::Native(chadwick::NativeOptions { strict: true, ..Default::default() });
    let error = by(&source("entry f (x: f64) = x"), Rung::Delta).with_backend(native).err().expect("only tapes are compiled");
    assert!(error.message().contains("have native code"), "{}", error.message());
    for (text, args, wanted) in worked_examples() {
        let program = by(&source(text), Rung::Tape).with_backend(native).unwrap_or_else(|error| panic!("{}", error.message()));
        let function = program.function("f").expect("the entry point");
        let values = function.call(&args).unwrap_or_else(|error| panic!("{}", error.message()));
        let found = values.iter().flat_map(|value| match value.as_scalar::<f64>() {
            Some(number) => vec![number],
            None => value.as_slice::<f64>().expect("floats").to_vec(),
        });
        assert_near(&found.collect::<Vec<f64>>(), &wanted, text);
    }
}

#[test]
fn engines_are_known_by_name() {
    for (name, rung) in [("dual", Rung::Tape), ("delta", Rung::Delta), ("parallel", Rung::Parallel)] {
        assert_eq!(Engine::from_name(name), Some(Engine::Dual(rung)));
    }
    for rung in Rung::ALL {
        assert_eq!(Engine::from_name(&format!("dual:{}", rung.name())), Some(Engine::Dual(rung)));
        assert!(Engine::names().contains(rung.name()));
    }
    assert_eq!(Engine::from_name("dual:other"), None);
}

#[test]
fn a_derivative_is_explained_in_the_notation_of_the_paper() {
    let program = source("entry f (x: f64) (y: f64) = let z = x + y in x * z");
    let explained = |rung| {
        let function = by(&program, rung).function("f").expect("an entry point");
        let explanation = function.explain(chadwick_core::Mode::Vjp, chadwick::compile::Stage::Optimise);
        explanation.unwrap_or_else(|error| panic!("{}", error.message())).notation.expect("a notation")
    };
    for (rung, part) in [(Rung::Tape, "<- write tape [("), (Rung::Naive, "\\z. "), (Rung::Delta, "u <- deltaLet (Scale (")] {
        let text = explained(rung);
        assert!(text.contains(part), "{}:\n{text}", rung.name());
    }
}
