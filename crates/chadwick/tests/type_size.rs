//! Types and sizes that double with every line. What is too large is an error, and soon: walked as a tree, any of these programs would take
//! longer than there is time.

use chadwick::compile::{FileLoader, check, lower};

const LEVELS: usize = 60;

fn codes(program: &str) -> Vec<&'static str> {
    let mut checked = check("main.fut".as_ref(), program, &FileLoader);
    lower(&mut checked);
    checked.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).map(|diagnostic| diagnostic.code).collect()
}

/// A line per level; `{}` is the level, `<>` the one below.
fn levels(count: usize, line: &str) -> String {
    (1..=count).map(|level| line.replace("{}", &level.to_string()).replace("<>", &(level - 1).to_string()) + "\n").collect()
}

fn locally(count: usize, line: &str) -> String {
    format!("entry main (x0: i32) =\n{}  let _ = x{count} in x0\n", levels(count, line))
}

/// Programs whose largest type doubles with every level.
fn families(count: usize) -> Vec<(&'static str, String)> {
    let abbreviations = |line: &str| format!("type t0 = i32\n{}entry main (x: t{count}) = x\n", levels(count, line));
    let delayed: String = levels(count, "  let _ = if true then x<> else (x{}, x{})");
    let params: String = (0..=count).map(|level| format!(" x{level}")).collect();
    vec![
        ("tuples", locally(count, "  let x{} = (x<>, x<>)")),
        ("records", locally(count, "  let x{} = {a = x<>, b = x<>}")),
        ("functions", locally(count, "  let x{} = \\(_: i32) -> (x<>, x<>)")),
        ("a polymorphic function", format!("def dup x = (x, x)\n{}", locally(count, "  let x{} = dup x<>"))),
        ("abbreviations", abbreviations("type t{} = (t<>, t<>)")),
        ("abbreviated sums", abbreviations("type t{} = #a t<> | #b t<>")),
        ("abbreviated functions", abbreviations("type^ t{} = t<> -> t<>").replace("entry main", "def f")),
        (
            "a parametric type",
            format!("type d 'a = (a, a)\nentry main (x: {}i32{}) = x\n", "d (".repeat(count), ")".repeat(count)),
        ),
        ("types found later", format!("def f{params} =\n{delayed}  in x0\n")),
        (
            "modules",
            format!(
                "module type T = {{ type t }}\nmodule D (X: T) = {{ type t = (X.t, X.t) }}\nmodule M0 = {{ type t = i32 }}\n{}\
                 def f (y: M{count}.t) = y\n",
                levels(count, "module M{} = D M<>")
            ),
        ),
        (
            "abstract types",
            format!(
                "module M: {{ type t 'a val mk 'a: a -> t a }} = {{ type t 'a = (a, a) def mk x = (x, x) }}\n{}",
                locally(count, "  let x{} = M.mk x<>")
            ),
        ),
    ]
}

#[test]
fn a_type_that_doubles_is_one_error() {
    for (name, program) in families(LEVELS) {
        assert_eq!(codes(&program), ["E0227"], "{name}");
    }
}

#[test]
fn a_type_of_a_thousand_parts_is_no_error() {
    for (name, program) in families(9) {
        assert!(codes(&program).is_empty(), "{name}: {:?}", codes(&program));
    }
}

#[test]
fn functions_on_functions_of_doubling_type_are_an_error() {
    let program = format!("def f0 x = (x, x)\n{}", levels(LEVELS, "def f{} x = f<> (f<> x)"));
    let found = codes(&program);
    assert!(!found.is_empty() && found.iter().all(|code| *code == "E0227"), "{found:?}");
}

#[test]
fn instances_whose_types_double_are_an_error() {
    let program =
        format!("def f0 'a (_: a) = 0i32\n{}entry main (x: i32) = f{LEVELS} x\n", levels(LEVELS, "def f{} x = f<> (x, x)"));
    assert_eq!(codes(&program), ["E0304"]);
}

#[test]
fn sizes_that_double_are_sums_with_large_coefficients() {
    let arrays = levels(LEVELS, "  let x{} = x<> ++ x<>");
    assert!(codes(&format!("entry main [n] (x0: [n]i32) =\n{arrays}  in length x{LEVELS}\n")).is_empty());
    let numbers = levels(LEVELS, "  let n{} = n<> + n<>");
    let program =
        format!("entry main (n0: i64) =\n{numbers}  in map2 (+) (iota n{LEVELS}) (iota (n{LEVELS}) :> [n{LEVELS}]i64)\n");
    assert!(codes(&program).is_empty());
}

#[test]
fn a_long_chain_of_concatenations_is_checked_in_time() {
    let chain = vec!["xs"; 3000].join(" ++ ");
    assert!(codes(&format!("entry main [n] (xs: [n]i32) = {chain}\n")).is_empty());
}

#[test]
fn products_of_sums_are_not_multiplied_out_without_end() {
    let product = vec!["(n + m)"; 200].join(" * ");
    assert!(codes(&format!("def f [n] [m] (_: [n]i32) (_: [m]i32) : [{product}]i32 = ???\n")).is_empty());
}

#[test]
fn lambdas_that_call_each_other_twice_are_an_error() {
    let lambdas = levels(LEVELS, "  let f{} = \\y -> f<> (f<> y)");
    assert_eq!(codes(&format!("entry main (x: i32) =\n  let f0 = \\y -> y + 1\n{lambdas}  in f{LEVELS} x\n")), ["E0305"]);
}

#[test]
fn modules_that_apply_each_other_twice_are_an_error() {
    let modules = levels(LEVELS, "module M{} (X: T) = { module A = M<> X module B = M<> A def x = B.x }");
    let program = format!(
        "module type T = {{ val x: i32 }}\nmodule M0 (X: T) = {{ def x = X.x + 1 }}\n{modules}module R = M{LEVELS} {{ def x = 0i32 }}\n"
    );
    assert_eq!(codes(&program).first(), Some(&"E0228"));
    let types = levels(LEVELS, "module type S{} = { module A: S<> module B: S<> }");
    assert_eq!(codes(&format!("module type S0 = {{ val x: i32 }}\n{types}")).first(), Some(&"E0228"));
}

/// A match on so many booleans; each case looks at two of them.
fn overlapping_cases(columns: usize, last: &str) -> String {
    let case = |number: usize| {
        let mut patterns = vec!["_"; columns];
        for (at, value) in [(number * 7 + 3, number.is_multiple_of(3)), (number * 13 + 5, number % 5 < 3)] {
            patterns[at % columns] = if value { "true" } else { "false" };
        }
        format!("case ({}) -> {number}", patterns.join(", "))
    };
    let cases: Vec<String> = (0..3 * columns).map(case).collect();
    format!(
        "def f (t: ({})): i64 = match t {} {last}\nentry main = f ({})",
        vec!["bool"; columns].join(", "),
        cases.join(" "),
        vec!["true"; columns].join(", ")
    )
}

#[test]
fn matches_with_too_many_combinations_of_cases() {
    // Few enough to be tried one after the other.
    assert_eq!(codes(&overlapping_cases(6, "case _ -> 99")), [""; 0]);
    let many = codes(&overlapping_cases(48, ""));
    assert!(many == ["E0281"] || many == ["E0282"], "{many:?}");
    assert_eq!(codes(&overlapping_cases(48, "case _ -> 99")), ["E0305"]);
}
