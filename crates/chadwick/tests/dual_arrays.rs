//! Reverse mode by dual arrays: the worked examples of the chapter, agreement with the interpreter, and what is refused.

use chadwick::compile::{Engine, Stage};
use chadwick::core::Mode;
use chadwick::{Program, Value};

fn source(text: &str) -> Program {
    Program::from_source(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn by_dual_arrays(text: &str) -> Program {
    source(text).with_engine(Engine::DualArrays).unwrap_or_else(|error| panic!("{}\n{text}", error.message()))
}

fn numbers(program: &Program) -> Vec<f64> {
    let values = program.function("f").and_then(|f| f.call(&[])).unwrap_or_else(|error| panic!("{}", error.message()));
    let of = |value: &Value| match value.as_scalar::<f64>() {
        Some(number) => vec![number],
        None => value.as_slice::<f64>().expect("floats").to_vec(),
    };
    values.iter().flat_map(of).collect()
}

#[track_caller]
fn assert_agrees(text: &str) -> Vec<f64> {
    let (found, wanted) = (numbers(&by_dual_arrays(text)), numbers(&source(text)));
    let largest = wanted.iter().fold(1.0f64, |largest, number| largest.max(number.abs()));
    let near = |(found, wanted): (&f64, &f64)| (found - wanted).abs() <= 1e-9 * largest;
    assert!(found.len() == wanted.len() && found.iter().zip(&wanted).all(near), "{text}: {found:?} is not {wanted:?}");
    found
}

const SELF_CONVOLUTION: &str = "entry f [n] (a: [n]f64): f64 = f64.sum (map (\\i -> a[i] * a[n - 1 - i]) (iota n))";

/// The text of each stage.
fn stages(text: &str) -> String {
    let explanation =
        by_dual_arrays(text).function("f").and_then(|f| f.explain(Mode::Vjp, Stage::Optimise)).expect("a derivative");
    explanation.notation.expect("a notation of its own")
}

#[test]
fn the_stages_of_self_convolution_are_those_of_the_chapter() {
    let text = stages(SELF_CONVOLUTION);
    let (_, bulk) = text.split_once("-- without builds").expect("the stage");
    assert!(!bulk.contains("build1"), "{text}");
    let (delta, gradient) = bulk.split_once("-- the gradient").expect("the stage");
    assert!(delta.contains("Share 4 (SumOuter (Share 3 (Add (Scale"), "{text}");
    assert!(!delta.contains("Share 5"), "{text}");
    // One shared cotangent, and its two scatters.
    assert_eq!(gradient.matches(" = replicate").count(), 1, "{text}");
    assert_eq!(gradient.matches("scatter").count(), 2, "{text}");
}

#[test]
fn concatenation_by_a_condition_masks_cotangents() {
    let text =
        "entry f = vjp (\\(a: [10]f64) -> f64.sum (map (\\i -> f64.i64 i * (if i < 10 then a[i] else a[i - 10])) (iota 20)))
        (replicate 10 1) 1";
    let wanted: Vec<f64> = (0..10).map(|j| f64::from(2 * j + 10)).collect();
    assert_eq!(assert_agrees(text), wanted);
}

#[test]
fn programs_of_the_dialect_agree_with_the_interpreter() {
    for text in [
        "entry f = vjp (\\(a: [9]f64) -> reduce_by_index (replicate 6 0) (+) 0 (map (/ 2) (iota 9)) (map (\\x -> x * x) a))
           (map f64.i64 (iota 9)) [1, 2, 3, 4, 5, 6]",
        "entry f = vjp (\\(a: [3][2]f64, b: [2][4]f64) -> map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) (transpose b)) a)
           ([[1, 2], [3, 4], [5, 6]], [[1, 2, 3, 4], [5, 6, 7, 8]]) (replicate 3 [1, 10, 100, 1000]) |> \\(a, b) -> (flatten a, flatten b)",
        "entry f = vjp (\\(a: [4]f64) -> f64.sum (map (\\i -> if a[i] > 0 then f64.sqrt a[i] else 0) (iota 4))) [0, 1, 4, -1] 1",
        "entry f = vjp (\\(a: [3]f64, b: [2]f64) -> map (\\x -> x * x) (a ++ b)) ([1, 2, 3], [4, 5]) [1, 1, 1, 1, 1]",
        "entry f = vjp (\\(a: [3]f64) -> let (p, q) = unzip (map (\\x -> (f64.sin x, x * x)) a) in f64.sum (map2 (*) p q)) [1, 2, 3] 1",
        "entry f = vjp (\\(x: f64) -> loop y = x for i < 5i64 do y * y + f64.i64 i) 0.5 1",
        "entry f = vjp (\\(a: [4]f64) -> f64.sum (map (\\i -> a[i] * a[0]) (iota 4))) [1, 2, 3, 4] 1",
        "entry f = flatten (mjp (\\(x: [2]f64) -> [x[0] * x[1], x[0] * x[0]]) [2, 3] [[1, 0], [0, 1]])",
        "entry f = vjp (\\x -> f64.sum (vjp (\\(a: [2]f64) -> a[0] * a[0] * a[1]) x 1)) [2, 3] 1",
    ] {
        assert_agrees(text);
    }
}

#[test]
fn a_read_that_moves_out_of_an_empty_build_does_not_fail() {
    let text = "entry f (a: []f64) (n: i64) = vjp (\\a -> f64.sum (map (\\i -> a[0] * a[0] * f64.i64 i) (iota n))) a 1";
    let empty: Value = Vec::<f64>::new().into();
    let program = by_dual_arrays(text);
    let call = |n: i64| program.function("f").and_then(|f| f.call(&[empty.clone(), n.into()]));
    assert!(call(0).is_ok());
    assert!(call(1).is_err());
}

#[test]
fn what_is_outside_is_refused_with_its_place() {
    for (text, what) in [
        ("entry f (a: []f64) = vjp (scan (*) 1) a a", "a scan"),
        ("entry f (a: []f64) = vjp f64.maximum a 1", "a reduction that does not add"),
        ("entry f (x: f64) (n: i64) = vjp (\\x -> loop y = x for _i < n do y * y) x 1", "a loop whose bound is not a constant"),
        ("entry f (x: f64) = vjp (\\x -> loop y = x while y < 10 do y * y) x 1", "a loop whose bound is not a constant"),
        (
            "def g (n: i64) (x: f64): f64 = if n == 0 then x else x * g (n - 1) x
          entry f (x: f64) (n: i64) = vjp (g n) x 1",
            "a recursive function",
        ),
    ] {
        let error = source(text).with_engine(Engine::DualArrays).err().unwrap_or_else(|| panic!("taken: {text}"));
        let message = error.to_string();
        assert!(message.contains("E0410") && message.contains(what), "{text}\n{message}");
    }
}
