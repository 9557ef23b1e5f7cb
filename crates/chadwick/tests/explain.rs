//! What `explain` says about derivatives.

use chadwick::Program;
use chadwick::compile::Stage;
use chadwick::core::Mode;
use chadwick::explain::Explanation;

fn explain(program: &Program, entry: &str, wrt: &[&str]) -> Explanation {
    let function = program.function(entry).expect("the entry point");
    let function = if wrt.is_empty() { function } else { function.wrt(wrt).expect("parameters") };
    function.explain(Mode::Vjp, Stage::Optimise).unwrap_or_else(|error| panic!("{}", error.message()))
}

fn source(text: &str) -> Explanation {
    let program = Program::from_source(text).unwrap_or_else(|error| panic!("{error}"));
    explain(&program, "f", &[])
}

/// The report of an example without the numbers of variables, which change with every pass.
fn report(name: &str, entry: &str, wrt: &[&str]) -> String {
    let path = format!("{}/../../examples/{name}.fut", env!("CARGO_MANIFEST_DIR"));
    let program = Program::from_file(&path).unwrap_or_else(|error| panic!("{}", error.message()));
    let report = explain(&program, entry, wrt).report().replace(&path, &format!("{name}.fut"));
    let lines = report.lines().map(|line| match line.strip_prefix("  ").and_then(|line| line.split_once(": ")) {
        Some((name, rest)) if !name.contains(['`', ' ']) => {
            format!("  {}: {rest}", name.trim_end_matches(|c: char| c.is_ascii_digit()))
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn k_means_keeps_the_index_of_the_nearest_centre_and_no_distance() {
    insta::assert_snapshot!(report("kmeans", "cost", &["centres"]));
}

#[test]
fn logistic_regression_keeps_two_numbers_per_row() {
    insta::assert_snapshot!(report("logistic_regression", "loss", &["weights"]));
}

#[test]
fn an_exponential_is_kept_with_its_place_size_and_reader() {
    let explanation = source("entry f [n] (xs: [n]f64) = f64.sum (map (\\x -> f64.exp x) xs)");
    let [value] = explanation.saved.as_slice() else { panic!("{}", explanation.report()) };
    assert_eq!((value.ty.as_str(), value.element_bytes), ("[n]f64", 8));
    assert_eq!(explanation.place(value.values_of[0]), (String::from("<source>:1:48"), String::from("f64.exp x")));
    assert_eq!(explanation.place(value.needed_by[0]).1, "f64.exp x");
    assert_eq!(explanation.totals(), [(String::from("[n]"), 8)]);
}

#[test]
fn a_product_of_inputs_keeps_nothing() {
    let explanation = source("entry f [n] (xs: [n]f64) (ys: [n]f64) = f64.sum (map2 (*) xs ys)");
    assert!(explanation.saved.is_empty(), "{}", explanation.report());
    assert!(explanation.warnings.is_empty());
}

#[test]
fn what_is_cheap_is_said_to_be_computed_again() {
    let explanation = source("entry f [n] (xs: [n]f64) (c: f64) = f64.sum (map (\\x -> (x - c) * (x - c)) xs)");
    assert!(explanation.saved.iter().all(|value| value.is_scalar()), "{}", explanation.report());
    let again: Vec<String> = explanation.recomputed.iter().map(|span| explanation.place(*span).1).collect();
    assert!(again.contains(&String::from("(x - c)")), "{again:?}");
}

#[test]
fn the_tape_of_a_recursive_function_is_told_per_call() {
    let explanation = source(
        "def power (n: i64) (x: f64): f64 = if n == 0 then 1 else f64.sin (x * power (n - 1) x)\n\
         entry f (n: i64) (x: f64) = power n x",
    );
    assert!(explanation.saved.iter().any(|value| value.per_call.as_deref() == Some("power")), "{}", explanation.report());
}

#[test]
fn a_while_loop_keeps_as_many_values_as_it_has_iterations() {
    let explanation = source("entry f (x: f64) = loop y = x while y < 100 do y * y");
    let tape = explanation.saved.iter().find(|value| !value.sizes.is_empty()).expect("a tape");
    assert_eq!(tape.ty, "[iterations]f64");
}

#[test]
fn a_general_scan_is_no_warning_unless_its_neutral_element_varies() {
    let explanation = source("entry f [n] (xs: [n]f64) = f64.sum (scan (\\a b -> a * b + a + b) 0 xs)");
    assert!(explanation.warnings.is_empty(), "{}", explanation.core);
    let explanation = source("entry f [n] (xs: [n]f64) = f64.sum (scan (\\a b -> a * b + a + b) (xs[0] - xs[0]) xs)");
    let codes: Vec<&str> = explanation.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(codes, ["W0401"]);
    assert!(explanation.warnings[0].message.contains("scan"));
}

#[test]
fn a_zero_per_iteration_is_a_warning() {
    // The array that is read in part is not made in the iteration.
    let explanation = source(
        "entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) =\n\
           f64.sum (map (\\i -> let (z, k) = (if c[i] then (x, i) else (y, 0)) in z[k] * f64.sum (reverse z)[i:i+1]) (iota n))",
    );
    let codes: Vec<&str> = explanation.warnings.iter().map(|warning| warning.code).collect();
    assert!(codes.contains(&"W0402"), "{}", explanation.core);
}

#[test]
fn a_choice_between_arrays_needs_no_zeros() {
    let explanation =
        source("entry f [n] (x: [n]f64) (y: [n]f64) (c: [n]bool) = f64.sum (map (\\i -> (if c[i] then x else y)[i]) (iota n))");
    assert!(explanation.warnings.is_empty(), "{}", explanation.core);
}

#[test]
fn every_stage_can_be_shown_and_forward_mode_keeps_nothing() {
    let program = Program::from_source("entry f [n] (xs: [n]f64) = f64.product xs").expect("a program");
    let function = program.function("f").expect("an entry");
    for stage in Stage::ALL {
        let explanation = function.explain(Mode::Vjp, stage).expect("explained");
        assert_eq!(explanation.core.contains("vjp"), stage < Stage::Derivatives, "{}", explanation.core);
    }
    let explanation = function.explain(Mode::Jvp, Stage::Optimise).expect("explained");
    assert!(explanation.saved.is_empty());
    assert_eq!(explanation.report(), "forward mode keeps nothing\n");
}
