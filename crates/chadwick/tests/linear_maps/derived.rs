//! `fwd$f` and `rev$f` of whole programs, as functions that can be called.

use crate::{assert_near, run, source};
use chadwick::compile::Stage;
use chadwick::compile::linear_maps::{Derivation, with_derived_entries};
use chadwick::core::{Block, Op, verify};
use chadwick::{Program, Value};
use std::sync::Arc;

/// The program with derived entry points; functions stay functions.
pub fn derived(text: &str, derivation: Derivation) -> Program {
    let program = source(text).at_stage(Stage::FirstOrder).unwrap_or_else(|error| panic!("{}", error.message()));
    let core = with_derived_entries(program.core(), derivation).unwrap_or_else(|diagnostics| {
        panic!("{text}: {}", diagnostics.iter().map(|one| one.message.clone()).collect::<String>())
    });
    let errors = verify::verify(&core);
    assert!(errors.is_empty(), "{text}\n{}", errors[0]);
    Program::from_core(core, Arc::clone(program.source_map()), Vec::new())
}

/// Several functions that call one another, with every form that the paper has.
const PROGRAMS: &[(&str, &[f64])] = &[
    (
        "#[noinline] def sq (x: f64) = x * x
      #[noinline] def g (x: f64) (y: f64) = sq x + f64.sin (sq y)
      entry f (x: f64) (y: f64) = g x (sq y) * g y x",
        &[0.4, 1.3],
    ),
    (
        "#[noinline] def norm (v: [3]f64) = f64.sqrt (f64.sum (map (\\x -> x * x) v))
      entry f (a: f64) (b: f64) (c: f64) = let v = [a, b, a * c] let n = norm v in f64.sum (map (/ n) v) + v[1]",
        &[0.5, -1.5, 2.0],
    ),
    ("entry f (a: f64) (b: f64) = if a > b then (a * b, a) else (b, a / b)", &[1.0, 2.0]),
    ("entry f (a: f64) (b: f64) = loop (x, y) = (a, b) for i < 5 do (x * f64.cos y, y + x * f64.i64 i)", &[0.3, 0.8]),
    ("entry f (a: f64) (b: f64) = reduce (\\x y -> x * y + 1) a (tabulate 4 (\\i -> b * f64.i64 (i + 1)))", &[0.3, 0.8]),
    (
        "type shape = #disk f64 | #box f64 f64
      #[noinline] def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
      entry f (a: f64) (b: f64) = area (if a > b then #disk a else #box a b) + area (#box b b)",
        &[0.3, 0.8],
    ),
];

/// The function's value, its directional derivative by differences.
fn difference(program: &Program, at: &[f64], direction: &[f64]) -> Vec<f64> {
    let moved = |step: f64| -> Vec<f64> {
        let args: Vec<Value> = at.iter().zip(direction).map(|(x, d)| Value::from(x + step * d)).collect();
        run(program, "f", &args).0
    };
    let step = 1e-6;
    moved(step).iter().zip(moved(-step)).map(|(up, down)| (up - down) / (2.0 * step)).collect()
}

#[test]
fn forward_and_reverse_derivatives_are_transposes_and_agree_with_differences() {
    for (text, at) in PROGRAMS {
        let (forward, reverse) = (derived(text, Derivation::Forward), derived(text, Derivation::Reverse));
        let direction: Vec<f64> = (0..at.len()).map(|k| 0.7 - 0.4 * k as f64).collect();
        let args: Vec<Value> = at.iter().chain(&direction).map(|x| Value::from(*x)).collect();
        let found = run(&forward, "fwd$f", &args).0;
        let (value, tangent) = found.split_at(found.len() / 2);
        let plain: Vec<Value> = at.iter().map(|x| Value::from(*x)).collect();
        assert_eq!(value, run(&forward, "f", &plain).0, "{text}");
        for (found, wanted) in tangent.iter().zip(difference(&forward, at, &direction)) {
            assert!((found - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{text}: {found} is not {wanted}");
        }
        let cotangent: Vec<f64> = (0..value.len()).map(|k| 1.5 + k as f64).collect();
        let args: Vec<Value> = at.iter().chain(&cotangent).map(|x| Value::from(*x)).collect();
        let found = run(&reverse, "rev$f", &args).0;
        let (again, gradient) = found.split_at(value.len());
        assert_eq!(again, value, "{text}");
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        assert_near(&[dot(gradient, &direction)], &[dot(&cotangent, tangent)], text);
    }
}

#[test]
fn derived_functions_call_the_derived_functions_of_what_a_function_calls() {
    let text = PROGRAMS[0].0;
    let names = |program: &Program| -> Vec<String> { program.core().functions.iter().map(|it| it.name.to_string()).collect() };
    let reverse = names(&derived(text, Derivation::Reverse));
    for half in ["revf$", "revr$"] {
        // One for each function, however often it is called.
        for function in ["sq", "g"] {
            let wanted = format!("{half}{function}");
            assert_eq!(reverse.iter().filter(|name| **name == wanted).count(), 1, "{wanted} in {reverse:?}");
        }
    }
    assert!(names(&derived(text, Derivation::Forward)).iter().any(|name| name.starts_with("fwd$g")));
}

/// CP for whole functions: `fwd$(g ∘ h) = fwd$g ∘ fwd$h`, and the primal part runs once.
#[test]
fn the_forward_derivative_of_a_composition_is_a_composition_of_forward_derivatives() {
    let text = "#[noinline] def h (x: f64) (y: f64) = (x * y, f64.sin x)
      #[noinline] def g (x: f64) (y: f64) = f64.exp x * y
      entry h' (x: f64) (y: f64) = h x y
      entry g' (x: f64) (y: f64) = g x y
      entry f (x: f64) (y: f64) = let (a, b) = h x y in g a b";
    let program = derived(&text.replace("h'", "inner").replace("g'", "outer"), Derivation::Forward);
    let args = [0.3, 0.8, 1.0, -2.0].map(Value::from);
    let (between, _) = run(&program, "fwd$inner", &args);
    let between: Vec<Value> = between.into_iter().map(Value::from).collect();
    let (composed, _) = run(&program, "fwd$outer", &between);
    let (whole, cost) = run(&program, "fwd$f", &args);
    assert_near(&composed, &whole, "both ways");
    // Three multiplications and an addition for each product, a sine and its derivative, one exponential.
    assert!(cost.operations <= 14, "the primal part runs twice: {}", cost.operations);
}

/// No construct of linear maps exists in Core, so none can be left; what could be left is an unapplied derivative.
#[test]
fn no_derivative_is_left_standing() {
    fn none(block: &Block) -> bool {
        block.statements.iter().all(|statement| {
            !matches!(statement.op, Op::Differentiate(_) | Op::Closure(_) | Op::Apply { .. })
                && statement.op.scopes().iter().all(|scope| none(scope.block))
        })
    }
    for (text, _) in PROGRAMS {
        for derivation in [Derivation::Forward, Derivation::Reverse] {
            assert!(derived(text, derivation).core().functions.iter().all(|function| none(&function.body)), "{text}");
        }
    }
}

/// A function of a module has one derived function, whoever calls it.
#[test]
fn functions_of_modules_are_derived_once() {
    let text = "module type unary = { val apply: f64 -> f64 }
      module square: unary = { #[noinline] def apply (x: f64) = x * x }
      module twice (u: unary) = { #[noinline] def apply (x: f64) = u.apply (u.apply x) }
      module fourth = twice square
      entry f (x: f64) = fourth.apply x + square.apply x
      entry g (x: f64) = square.apply x * 3";
    let program = derived(text, Derivation::Reverse);
    let names = || program.core().functions.iter().map(|function| function.name.to_string());
    // Two functions called `apply`, and a half of each kind for both.
    for half in ["revf$", "revr$"] {
        assert_eq!(names().filter(|name| name.starts_with(half) && name.contains("apply")).count(), 2);
    }
    let x = 1.5f64;
    assert_near(&run(&program, "rev$f", &[x.into(), 1.0.into()]).0, &[x.powi(4) + x * x, 4.0 * x.powi(3) + 2.0 * x], text);
    assert_near(&run(&program, "rev$g", &[x.into(), 1.0.into()]).0, &[3.0 * x * x, 6.0 * x], text);
}

#[test]
fn arrays_go_in_and_come_out_of_derived_functions() {
    let text = "entry f [n] (xs: [n]f64) (is: [n]i64) = f64.sum (map (\\i -> xs[i] * xs[(i + 1) % n]) is)";
    let program = derived(text, Derivation::Reverse);
    let args = [vec![1.0, 2.0, 3.0].into(), vec![0i64, 2, 2].into(), 1.0.into()];
    let results = program.function("rev$f").expect("derived").call(&args).unwrap_or_else(|error| panic!("{}", error.message()));
    assert_eq!(results[0].as_scalar::<f64>(), Some(8.0));
    assert_eq!(results[1].as_slice::<f64>(), Some(&[8.0, 1.0, 2.0][..]));
}
