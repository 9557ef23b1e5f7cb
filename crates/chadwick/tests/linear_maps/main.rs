//! Reverse mode by linear maps: the worked examples of the paper, what each form costs, and what is refused.

mod categorical;
mod corpus;
mod derived;
mod procedures;
mod traces;
mod work;

use chadwick::compile::{Engine, Stage};
use chadwick::{Backend, Counters, Program, Value};

pub fn source(text: &str) -> Program {
    Program::from_source(text)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn by_maps(text: &str) -> Program {
    source(text).with_engine(Engine::LinearMaps).unwrap_or_else(|error| panic!("{}\n{text}", error.message()))
}

/// The numbers in the results of an entry point, and what they cost.
pub fn run(program: &Program, entry: &str, args: &[Value]) -> (Vec<f64>, Counters) {
    let function = program.function(entry).expect("the entry point");
    program.reset_counters();
    let values = function.call(args).unwrap_or_else(|error| panic!("{entry}: {}", error.message()));
    let numbers = values.iter().flat_map(|value| match value.as_scalar::<f64>() {
        Some(number) => vec![number],
        None => value.as_slice::<f64>().expect("floats").to_vec(),
    });
    (numbers.collect(), program.counters())
}

#[track_caller]
pub fn assert_near(found: &[f64], wanted: &[f64], what: &str) {
    let largest = wanted.iter().fold(1.0f64, |largest, number| largest.max(number.abs()));
    let near = |(found, wanted): (&f64, &f64)| (found - wanted).abs() <= 1e-9 * largest;
    assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(near), "{what}: {found:?} is not {wanted:?}");
}

fn numbers(values: &[f64]) -> Value {
    values.to_vec().into()
}

#[test]
fn a_product_by_fold_has_the_products_of_the_others_as_gradient() {
    let text = "entry f (xs: []f64) = vjp (reduce (*) 1) xs 1";
    assert_near(&run(&by_maps(text), "f", &[numbers(&[1.0, 2.0, 3.0, 4.0])]).0, &[24.0, 12.0, 8.0, 6.0], text);
}

#[test]
fn a_fold_gives_cotangents_of_its_start_its_elements_and_what_it_captures() {
    // K, section 8: the step a * b * c with c = 3 from outside, at v = [2, 3, 4] and acc = 1.
    let text = "entry f (c: f64) (acc: f64) (v: []f64) = vjp (\\(c, acc, v) -> foldl (\\a b -> a * b * c) acc v) (c, acc, v) 1";
    let found = run(&by_maps(text), "f", &[3.0.into(), 1.0.into(), numbers(&[2.0, 3.0, 4.0])]).0;
    assert_near(&found, &[648.0, 648.0, 324.0, 216.0, 162.0], text);
}

#[test]
fn squaring_three_times_is_the_same_in_both_kinds_of_loop() {
    for attribute in ["", "#[ccl] "] {
        let text = format!("entry f (s: f64) = vjp (\\s -> {attribute}loop s for _i < 3 do s * s) s 1");
        let found = run(&by_maps(&text), "f", &[1.1.into()]).0;
        assert_near(&found, &[8.0 * 1.1f64.powi(7)], &text);
        assert!((found[0] - 15.589_736_8).abs() < 1e-7);
    }
}

#[test]
fn a_commuting_loop_keeps_nothing_however_long_it_is() {
    let text = |attribute: &str| {
        format!("entry f (n: i64) (s: f64) = vjp (\\s -> {attribute}loop s for i < n do f64.sin (s + f64.i64 i)) s 1")
    };
    let cost = |attribute: &str, n: i64| run(&by_maps(&text(attribute)), "f", &[n.into(), 0.3.into()]).1;
    assert_eq!(cost("#[ccl] ", 100).allocated_bytes, cost("#[ccl] ", 1000).allocated_bytes, "a commuting loop");
    assert!(cost("", 1000).allocated_bytes >= cost("", 100).allocated_bytes + 900 * 8, "one that keeps its states");
    let values = ["", "#[ccl] "].map(|attribute| run(&by_maps(&text(attribute)), "f", &[50i64.into(), 0.3.into()]).0);
    assert_near(&values[1], &values[0], "the gradient of both");
}

#[test]
fn states_that_do_not_mix_commute() {
    let text = "entry f (a: f64) (b: f64) = vjp (\\(a, b) -> let (a, b) = #[ccl] loop (a, b) for i < 4 do
        (f64.sin (a * f64.i64 (i + 1)), b * b) in a + b) (a, b) 1";
    let plain = text.replace("#[ccl] ", "");
    let args = [0.4.into(), 1.1.into()];
    assert_near(&run(&by_maps(text), "f", &args).0, &run(&by_maps(&plain), "f", &args).0, text);
}

#[test]
fn steps_that_may_not_commute_are_refused() {
    // A state of two numbers that mix, an input read by the body, a state that is an array.
    for text in [
        "entry f (a: f64) (b: f64) = vjp (\\(a, b) -> let (a, b) = #[ccl] loop (a, b) for i < 2 do if i == 0 then (a + 3 * b, b) else (2 * a, b) in a + b) (a, b) 1",
        "entry f (a: f64) (b: f64) = vjp (\\(a, b) -> #[ccl] loop a for _i < 2 do f64.sin a * b) (a, b) 1",
        "entry f (a: [2]f64) = vjp (\\a -> f64.sum (#[ccl] loop a for _i < 2 do [a[1], a[0] * a[1]])) a 1",
    ] {
        let error = source(text).with_engine(Engine::LinearMaps).err().unwrap_or_else(|| panic!("{text}"));
        assert!(error.message().contains("the reverse steps of this loop are not known to commute"), "{}", error.message());
        // The attribute is a wish of this engine only: others go backwards anyway.
        source(text).with_engine(Engine::ChadFast).unwrap_or_else(|error| panic!("{}", error.message()));
    }
}

#[test]
fn the_examples_of_the_procedures_have_their_derivatives() {
    let (x, y, z) = (0.4f64, 1.3f64, 0.7f64);
    for (text, args, wanted) in [
        ("entry f (x: f64) = vjp (\\x -> 5 + 6 + 0 * x) x 1", vec![x], vec![0.0]),
        (
            "entry f (r: f64) (t: f64) = vjp (\\(r, t) -> (r * f64.cos t, r * f64.sin t)) (r, t) (1, 2)",
            vec![y, x],
            vec![x.cos() + 2.0 * x.sin(), -y * x.sin() + 2.0 * y * x.cos()],
        ),
        (
            "entry f (x: f64) (y: f64) = vjp (\\(x, y) -> x * x + f64.sin (x * y) + 1) (x, y) 1",
            vec![x, y],
            vec![2.0 * x + y * (x * y).cos(), x * (x * y).cos()],
        ),
        (
            "entry f (x: f64) (y: f64) (z: f64) = vjp (\\(x, y, z) -> f64.sqrt (x + y * z)) (x, y, z) 1",
            vec![x, y, z],
            vec![0.5 / (x + y * z).sqrt(), 0.5 * z / (x + y * z).sqrt(), 0.5 * y / (x + y * z).sqrt()],
        ),
        (
            "def p (x: f64) = f64.sin x
             def q (x: f64) = x * x
             def r (x: f64) = f64.exp x
             entry f (x: f64) = vjp (\\x -> p (q (r x))) x 1",
            vec![x],
            vec![(x.exp() * x.exp()).cos() * 2.0 * x.exp() * x.exp()],
        ),
    ] {
        let args: Vec<Value> = args.into_iter().map(Value::from).collect();
        assert_near(&run(&by_maps(text), "f", &args).0, &wanted, text);
    }
}

#[test]
fn forms_without_a_rule_are_refused_where_they_stand() {
    for (text, what) in [
        ("entry f (xs: []f64) = vjp (\\xs -> f64.sum (scan (*) 1 xs)) xs 1", "a scan"),
        ("entry f (x: f64) = vjp (\\x -> loop x while x < 100 do x * x) x 1", "a loop that ends by a condition"),
        (
            "entry f (xs: []f64) (is: []i64) = vjp (\\xs -> f64.sum (reduce_by_index (replicate 3 0) f64.max 0 is xs)) xs 1",
            "a histogram",
        ),
        ("entry f (xs: [2]f64) (is: [2]i64) = vjp (\\xs -> f64.sum (scatter (replicate 3 0) is xs)) xs 1", "a scatter"),
        (
            "def power (n: i64) (x: f64): f64 = if n == 0 then 1 else x * power (n - 1) x
          entry f (x: f64) = vjp (power 5) x 1",
            "a function that calls itself",
        ),
        (
            "type rec list = #nil | #cons f64 list
          def first (l: list) = match l case #nil -> 0 case #cons x _ -> x
          entry f (x: f64) = vjp (\\x -> first (loop (l: list) = #nil for i < 3 do #cons (x * f64.i64 i) l)) x 1",
            "a value of a type with a name",
        ),
    ] {
        let error = source(text).with_engine(Engine::LinearMaps).err().unwrap_or_else(|| panic!("taken: {text}"));
        assert!(error.message().contains(&format!("this engine cannot differentiate {what}")), "{}", error.message());
    }
}

#[test]
fn an_explanation_shows_the_map_as_made_and_simplified_and_the_program_without_maps() {
    let text = "entry f (x: f64) (y: f64) = f64.sin (x * y) + x";
    let program = source(text).with_engine(Engine::LinearMaps).expect("no derivative inside");
    let explanation =
        program.function("f").expect("f").explain(chadwick::core::Mode::Vjp, Stage::Derivatives).expect("explained");
    let notation = explanation.notation.expect("a notation");
    let (made, rest) = notation.split_once("-- by the laws of linear maps").expect("both forms");
    assert!(made.contains(" ⋈ S(") && made.contains(" ∘ (∂x"), "{made}");
    let (laws, rest) = rest.split_once('\n').expect("a line of laws");
    assert!(laws.contains("(m1 ⋈ m2) ∘ (n1 × n2) = (m1 ∘ n1) ⊕ (m2 ∘ n2)"), "{laws}");
    let (simple, reverse) = rest.split_once("rev$f1(").expect("the reverse derivative");
    assert!(!simple.contains('⋈') && simple.contains('⊕'), "{simple}");
    for sign in ["∂", "∘", "⊕", "⋈", "S("] {
        assert!(!reverse.contains(sign), "a map is left: {reverse}");
    }
    assert!(reverse.contains("revf$f1(") && reverse.contains("revr$f1("), "{reverse}");
}
