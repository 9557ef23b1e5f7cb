//! The verifier accepts what is well formed and names what is not.

use chadwick_core::text::parse;
use chadwick_core::verify::verify;

fn errors(source: &str) -> Vec<String> {
    let program = parse(source).unwrap_or_else(|error| panic!("{error}"));
    verify(&program).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn rejected(source: &str, part: &str) {
    let errors = errors(source);
    assert!(errors.iter().any(|error| error.contains(part)), "{part:?} is not among {errors:#?}");
}

#[test]
fn well_formed_programs_have_no_errors() {
    let source = "
        type tree = #leaf(f64) | #node(tree, tree)
        def total(t: tree) -> (f64) {
          s: f64 = match t {
            case 0 (x: f64) { return x }
            case 1 (l: tree, r: tree) { a: f64 = call total(l) b: f64 = call total(r) c: f64 = f64.add(a, b) return c }
          }
          return s
        }
        def main(n: i64, xs: [?][3]f64, f: fn(f64) -> (f64)) -> ([?][3]f64, f64, [?]()) {
          ys: [?][3]f64 = build [i < n] inner((3i64)) {
            row: [3]f64 = index xs [i]
            out: [3]f64 = build [j < 3i64] { x: f64 = index row [j] y: f64 = apply f(x) return y }
            return out
          }
          leaf: tree = construct 0 tree (1.0f64)
          t: f64 = vjp fn (u: f64) -> (f64) { l2: tree = construct 0 tree (u) v: f64 = call total(l2) return v }
            args(2.0f64) seeds(1.0f64)
          units: [?]() = build [k < n] { return }
          return ys, t, units
        }
        entry main = main (\"n\" \"i64\" (i64), \"xs\" \"[n][3]f64\" ([?][3]f64), \"f\" \"\" (fn(f64) -> (f64))) -> (\"\" \"\" ([?][3]f64, f64, [?]()))";
    assert_eq!(errors(source), [] as [String; 0]);
}

#[test]
fn scoping() {
    rejected("def f(x: f64) -> (f64) { return y }", "used out of its scope");
    rejected("def f(x: f64, x: f64) -> (f64) { return x }", "bound twice");
    rejected(
        "def f() -> (f64) { y: f64 = if true { z: f64 = copy(1.0f64) return z } else { return z } return y }",
        "out of its scope",
    );
    rejected("def f(x_0: f64) -> (f64) { return x_0 } def g(y_1: f64) -> (f64) { return x_0 }", "out of its scope");
    rejected("def f(n: i64) -> ([?]i64) { a: [?]i64 = build [i < i] { return i } return a }", "out of its scope");
}

#[test]
fn types() {
    rejected("def f(x: f64) -> (i64) { return x }", "the function returns");
    rejected("def f(x: f64) -> (f64) { y: f64 = f64.add(x) return y }", "1 values where 2 belong");
    rejected("def f(x: f64) -> (f64) { y: f64 = i64.add(x, x) return y }", "operand of i64.add");
    rejected("def f(x: f64) -> (f64) { y: f64 = f64.and(x, x) return y }", "there is no f64.and");
    rejected("def f(x: f64) -> (f64) { y: i64 = copy(x) return x }", "the results have types");
    rejected("def f(x: f64) -> (f64) { y: f64 = if x { return x } else { return x } return y }", "the condition");
    rejected("def f(x: f64) -> (f64) { y: f64 = if true { return x } else { return 1i64 } return y }", "branch result");
    rejected("def f(x: f64) -> (f64) { y: f64 = apply x(x) return y }", "not a function type");
    rejected("def f(x: f64) -> (f64) { y: f64 = call f(x, x) return y }", "2 values where 1 belong");
    rejected("def f(x: f64) -> (f64) { y: f64 = call @9(x) return y }", "no function 9");
    rejected("def f(x: [2]f64) -> ([3]f64) { return x }", "the function returns");
    rejected("def f(x: [?]f64) -> ([3]f64) { y: [3][3]f64 = copy(x) return x }", "the results have types");
    rejected("def f(x: t@7) -> () { return }", "no type 7");
}

#[test]
fn arrays() {
    rejected("def f(xs: [?]f64) -> (f64) { y: f64 = index xs [0i64, 0i64] return y }", "2 slice dimensions for rank 1");
    rejected("def f(xs: [?]f64) -> (f64) { y: f64 = index xs [0i32] return y }", "an index");
    rejected("def f(xs: [?]f64) -> ([?]f64) { y: [?]f64 = transpose xs (1) return y }", "no permutation");
    rejected("def f(xs: [?]f64) -> (i64) { y: i64 = dim xs 1 return y }", "axis 1 of rank 1");
    rejected("def f(xs: [?]f64) -> ([?]f64) { y: [?]f64 = update xs [0i64] with 1i64 return y }", "the new part");
    rejected("def f(xs: [?]f64) -> ([?]f64) { y: [?]f64 = concat(xs, 1.0f64) return y }", "a concatenated array");
    rejected("def f(n: i64) -> ([?]f64) { y: [?]f64 = build [i < n] inner((n)) { return 1.0f64 } return y }", "inner sizes");
    rejected(
        "def f(n: i64) -> (f64) { y: f64 = reduce [i < n] neutral(0.0f64) op (a: f64) -> (f64) { return a } { return 1.0f64 } return y }",
        "the operator",
    );
    rejected(
        "def f(n: i64, d: [?]f64) -> ([?]f64) { y: [?]f64 = scatter [i < n] dest(d) rank 1 { return 1.0f64, 1.0f64 } return y }",
        "an index",
    );
}

#[test]
fn control_and_derivatives() {
    rejected(
        "def f(n: i64) -> (i64) { y: i64 = loop (x: i64 = n) for k: i64 < n { return x, x } return y }",
        "the body gives 2 values for 1 carried",
    );
    rejected("def f(n: i64) -> (i64) { y: i64 = loop (x: i64 = 1.0f64) for k: i64 < n { return x } return y }", "initial value");
    rejected(
        "def f(s: {#a(f64) | #b}) -> (f64) { y: f64 = match s { case 0 (x: f64) { return x } } return y }",
        "a constructor has no arm",
    );
    rejected(
        "def f(s: {#a(f64) | #b}) -> (f64) { y: f64 = match s { case 0 (x: i64) { return 1.0f64 } else { return 2.0f64 } } return y }",
        "payload",
    );
    rejected("def f(x: f64) -> (f64) { d: f64 = vjp fn (y: f64) -> (f64) { return y } args(x) seeds(1i64) return d }", "seed");
    rejected(
        "def f(x: f64) -> (f64) { d: f64 = custom vjp fn (y: f64) -> (f64) { return y } rule (a: f64) -> (f64) { return a } args(x) return d }",
        "parameter of the rule",
    );
    rejected("def f(h: acc([?]f64)) -> () { accumulate h [0i64] += 1i64 return }", "the accumulated value");
    rejected("def f(x: f64) -> (f64) { return x } entry e = f () -> (\"\" \"\" (f64))", "the parameters of the entry");
}
