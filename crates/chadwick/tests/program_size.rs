//! How large the programs of derivatives are, in statements of Core behind all passes.

mod work;

use chadwick::Program;
use chadwick::compile::{Engine, Stage};
use chadwick_core::Block;
use work::{source, with_gradient};

/// Statements of a program, in nested blocks too.
fn statements(program: &Program) -> usize {
    fn of(block: &Block) -> usize {
        block.statements.iter().map(|it| 1 + it.op.scopes().iter().map(|scope| of(scope.block)).sum::<usize>()).sum()
    }
    program.core().functions.iter().map(|function| of(&function.body)).sum()
}

/// The sizes of the gradients of a family at depths 1 to 8.
fn sizes(family: impl Fn(usize) -> String) -> Vec<i64> {
    (1..=8).map(|depth| statements(&with_gradient(&source(&family(depth)), "f")) as i64).collect()
}

/// Three levels more add as much as the three before did. (Which calls are inlined may depend on the level in a cycle.)
#[track_caller]
fn assert_linear(sizes: &[i64]) {
    assert_eq!(sizes[7] - sizes[4], sizes[4] - sizes[1], "{sizes:?}");
}

/// Wraps a body in a form, as often as asked for; `{}` stands for the inner body, `#` for the level.
fn nested(depth: usize, form: &str, innermost: &str) -> String {
    (0..depth).fold(innermost.to_owned(), |body, level| form.replace("{}", &body).replace('#', &level.to_string()))
}

#[test]
fn a_local_function_that_captures_a_known_function_needs_no_closure() {
    let program = source(
        "def descend (slope: (f64 -> f64) -> f64 -> f64) (f: f64 -> f64) (x: f64): f64 =
           loop x for _i < 10i64 do x - 0.1 * slope f x
         def both (slope: (f64 -> f64) -> f64 -> f64) (x: f64): f64 =
           let best p = descend slope (\\q -> (q - p) * (q - p)) x
           let rec halved n p = if n == 0i64 then best p else halved (n - 1) (p / 2)
           in best 1 + halved 3 2
         entry main (x: f64): f64 = both (\\f x -> vjp f x 1) x",
    );
    let text = program.core_text();
    assert!(!text.contains("apply "), "{text}");
}

#[test]
fn nested_matches() {
    let form = "(match (if x > #.5 then @some (x * 1.5) else @none : option) case @none -> f64.sin x case @some x -> x * {})";
    let sizes = sizes(|depth| {
        let body = nested(depth, form, "x").replace('@', "#");
        format!("type option = #none | #some f64\nentry f (x: f64) = let x = x * 2 in {body}")
    });
    assert_linear(&sizes);
}

#[test]
fn nested_conditions() {
    assert_linear(&sizes(|depth| {
        format!("entry f (x: f64) = {}", nested(depth, "(if x > # then f64.sin (x * {}) else x * x)", "f64.exp x"))
    }));
}

#[test]
fn nested_loops() {
    assert_linear(&sizes(|depth| {
        format!("entry f (x: f64) = {}", nested(depth, "(loop y# = x for _i < 2 do f64.sin y# * {})", "x"))
    }));
}

#[test]
fn nested_builds() {
    assert_linear(&sizes(|depth| {
        let body = nested(depth, "f64.sum (map (\\i# -> f64.exp (x[i#] * {})) (iota 3))", "x[0]");
        format!("entry f (x: [3]f64) = {body}")
    }));
}

#[test]
fn chains_of_calls() {
    assert_linear(&sizes(|depth| {
        let functions: String = (1..=depth)
            .map(|level| {
                let inner = level - 1;
                format!("#[noinline] def g{level} (x: f64) = g{inner} (f64.sin (g{inner} x) * x)\n")
            })
            .collect();
        format!("#[noinline] def g0 (x: f64) = f64.exp (x * x)\n{functions}entry f (x: f64) = g{depth} x")
    }));
}

/// Gradient descent inside gradient descent: the minimum over one player's position of the maximum over the other's.
const NESTED_DESCENT: &str = r"
def square (x: f64): f64 = x * x
def magnitude (v: (f64, f64)): f64 = f64.sqrt (square v.0 + square v.1)
def minus (a: (f64, f64)) (b: (f64, f64)) = (a.0 - b.0, a.1 - b.1)
def scale (k: f64) (a: (f64, f64)) = (k * a.0, k * a.1)

def descend (f: (f64, f64) -> f64) (start: (f64, f64)): (f64, f64) =
  let (x, _, _) =
    loop (x, rate, steps) = (start, 0.1, 0) while steps < 20 && magnitude (grad f x) > 1e-5 do
      let next = minus x (scale rate (grad f x))
      in if f next < f x then (next, rate * 1.1, steps + 1) else (x, rate / 2, steps + 1)
  in x

entry saddle (x: f64) (y: f64) =
  let f (p: (f64, f64)) (q: (f64, f64)) = square p.0 + square p.1 - (square q.0 + square q.1) + p.0 * q.1
  let best p = descend (\q -> -(f p q)) (1.0, 1.0)
  let p = descend (\p -> f p (best p)) (x, y)
  in f p (best p)
";

#[test]
fn a_descent_inside_a_descent_grows_twentyfold_at_most() {
    let program = source(NESTED_DESCENT);
    // Before functions are inlined and derivatives expanded.
    let before = statements(&program.at_stage(Stage::FirstOrder).unwrap_or_else(|error| panic!("{}", error.message())));
    let after = statements(&program.with_engine(Engine::ChadFast).unwrap_or_else(|error| panic!("{}", error.message())));
    assert!(after <= 20 * before, "{before} statements became {after}");
    let compiled = program.with_engine(Engine::ChadFast).expect("compiled");
    let value = |program: &Program| program.function("saddle").expect("an entry").call(&[0.5.into(), 0.25.into()]).expect("runs");
    let (ours, theirs) = (value(&compiled)[0].as_scalar::<f64>(), value(&program)[0].as_scalar::<f64>());
    let (ours, theirs) = (ours.expect("a number"), theirs.expect("a number"));
    assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
}
