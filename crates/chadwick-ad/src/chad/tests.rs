//! The type maps `D1` and `D2`: Vákár and Smeding, section 7.1, and figure 6.3 of the thesis.

use super::dense::Dense;
use super::meaning::Meaning;
use super::sparse::Sparse;
use super::{Cotangents, Direction};
use crate::context::Context;
use chadwick_core::Program;
use chadwick_core::text::{parse, print, print_type};
use chadwick_core::typing::has_functions;

/// A type of each kind, with its name.
const TYPES: &str = "
type list@0 = #cons(f64, list@0) | #nil

def f@0(real_0: f64, whole_1: i64, array_2: [?][?]f64, sum_3: {#box(bool, [?]f64) | #disk(f64)}, list_4: list@0,
        function_5: fn(f64, [?]f64) -> (f64, i64), higher_6: fn(fn(f64) -> (f64)) -> (f64)) -> () {
  return
}
";

/// The primal and the cotangent type of each parameter, and the definitions of what has a name in them.
fn mapped(mut meaning: impl Meaning) -> Vec<String> {
    let mut program: Program = parse(TYPES).unwrap_or_else(|error| panic!("{error}"));
    let params = program.functions[0].params.clone();
    let mut context = Context::new(&mut program);
    let mut types = Vec::new();
    for param in &params {
        if !meaning.takes_functions() && has_functions(context.program(), &param.ty) {
            continue;
        }
        let both = [meaning.primal_type(&mut context, &param.ty), meaning.cotangent_type(&mut context, &param.ty)];
        types.push((context.name(param.var), both));
    }
    let both = |both: &[_; 2]| both.each_ref().map(|ty| print_type(&program, ty)).join(" | ");
    let lines = types.iter().map(|(name, types)| format!("{name}: {}", both(types)));
    let text = print(&program);
    let made = text.lines().filter(|line| line.starts_with("type ") && !line.starts_with("type list@0")).map(String::from);
    lines.chain(made).collect()
}

/// What has no functions in it is its own primal, and the form of its cotangents.
const FIRST_ORDER: [&str; 5] = [
    "real: f64 | f64",
    "whole: i64 | i64",
    "array: [?][?]f64 | [?][?]f64",
    "sum: {#box(bool, [?]f64) | #disk(f64)} | {#box(bool, [?]f64) | #disk(f64)}",
    "list: list@0 | list@0",
];

/// `D1[σ → τ] = D1[σ] → D1[τ] × (D2[τ] ⊸ D2[σ])`, `D2[σ → τ] = !D1[σ] ⊗ D2[τ]`
#[test]
fn functions_become_copowers_in_reverse_mode() {
    let functions = [
        "function: fn(f64, [?]f64) -> (f64, i64, fn(f64, i64) -> (f64, [?]f64)) | calls@1",
        "higher: fn(fn(f64) -> (f64, fn(f64) -> (f64))) -> (f64, fn(f64) -> (calls@2)) | calls@3",
        "type calls@1 = #none | #one(f64, [?]f64, f64, i64) | #both(calls@1, calls@1)",
        "type calls@2 = #none | #one(f64, f64) | #both(calls@2, calls@2)",
        "type calls@3 = #none | #one(fn(f64) -> (f64, fn(f64) -> (f64)), f64) | #both(calls@3, calls@3)",
    ];
    assert_eq!(mapped(Dense::new(None, Direction::Reverse)), [FIRST_ORDER, functions].concat());
}

/// `D1[σ → τ] = D1[σ] → D1[τ] × (D2[σ] ⊸ D2[τ])`, `D2[σ → τ] = D1[σ] → D2[τ]`
#[test]
fn functions_become_powers_in_forward_mode() {
    let functions = [
        "function: fn(f64, [?]f64) -> (f64, i64, fn(f64, [?]f64) -> (f64, i64)) | fn(f64, [?]f64) -> (f64, i64)",
        "higher: fn(fn(f64) -> (f64, fn(f64) -> (f64))) -> (f64, fn(fn(f64) -> (f64)) -> (f64)) \
         | fn(fn(f64) -> (f64, fn(f64) -> (f64))) -> (f64)",
    ];
    assert_eq!(mapped(Dense::new(None, Direction::Forward)), [&FIRST_ORDER[..], &functions[..]].concat());
}

/// `D2[σ ⊔ τ] = 1 ⊔ (D2[σ] ⊔ D2[τ])`, `D2[Array τ] = Bag (Z × D2[τ])`: every zero is a constructor.
#[test]
fn sparse_cotangents_have_a_zero_that_says_nothing_else() {
    let wanted = [
        "real: f64 | f64",
        "whole: i64 | i64",
        "array: [?][?]f64 | cotangent@1",
        "sum: {#box(bool, [?]f64) | #disk(f64)} | cotangent@3",
        "list: list@0 | cotangent@4",
        "type cotangent@1 = #none | #one(i64, cotangent@2) | #both(cotangent@1, cotangent@1) | #all([?]cotangent@2) | #some([?]i64, [?]cotangent@2)",
        "type cotangent@2 = #none | #one(i64, f64) | #both(cotangent@2, cotangent@2) | #all([?]f64) | #some([?]i64, [?]f64)",
        "type cotangent@3 = #zero | #box_ct(cotangent@2) | #disk_ct(f64)",
        "type cotangent@4 = #zero | #cons_ct(f64, cotangent@4) | #nil_ct",
    ];
    assert_eq!(mapped(Sparse::new(Cotangents::InArray)), wanted);
}
