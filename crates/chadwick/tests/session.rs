//! Expressions one at a time.

use chadwick::session::{InputKind, Session};

fn value(text: &str) -> String {
    Session::new().evaluate(text).unwrap_or_else(|error| panic!("{error}")).value
}

#[test]
fn values_are_shown_as_the_language_writes_them() {
    assert_eq!(value("1 + 2"), "3i32");
    assert_eq!(value("(1, (true, 2.5f32))"), "(1i32, (true, 2.5f32))");
    assert_eq!(value("{x = 1, y = [(1, 2.0), (3, 4.0)]}"), "{x = 1i32, y = [(1i32, 2.0f64), (3i32, 4.0f64)]}");
    assert_eq!(value("[[(1, 2)], [(3, 4)]]"), "[[(1i32, 2i32)], [(3i32, 4i32)]]");
    assert_eq!(value("#some 3 : #some i32 | #none"), "#some 3i32");
    assert_eq!(value("()"), "()");
    assert_eq!(value("\\x -> x + 1i32"), "<function>");
    assert_eq!(value("iota 0"), "empty([0]i64)");
}

#[test]
fn recursive_types_are_shown_by_their_constructors() {
    let mut session = Session::new();
    session.define("type rec list = #nil | #cons i32 list").unwrap_or_else(|error| panic!("{error}"));
    let result = session.evaluate("#cons 1 (#cons 2 #nil) : list").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.value, "#cons 1i32 (#cons 2i32 #nil)");
}

#[test]
fn definitions_accumulate_and_broken_ones_are_forgotten() {
    let mut session = Session::new();
    session.define("def square (x: f64) = x * x").unwrap();
    session.define("def nine = square 3").unwrap();
    assert!(session.define("def broken = square true").is_err());
    assert_eq!(session.evaluate("nine + square 1").unwrap().value, "10.0f64");
    assert_eq!(session.type_of("square").unwrap(), "(x: f64) -> f64");
    assert!(session.core_of("square 2").unwrap().contains("f64.mul"));
}

#[test]
fn places_are_those_of_the_input() {
    let mut session = Session::new();
    session.define("def one = 1i32\ndef two = 2i32").unwrap();
    let text = session.evaluate("one +\n  three").unwrap_err().to_string();
    assert!(text.contains("--> <input>:2:3"), "{text}");
    let text = session.evaluate("[one, two][7]").unwrap_err().to_string();
    assert!(text.contains("--> <input>:1:1"), "{text}");
}

#[test]
fn inputs_are_told_apart() {
    assert_eq!(Session::kind("1 + 2"), InputKind::Expression);
    assert_eq!(Session::kind("def x = 1"), InputKind::Definitions);
    assert_eq!(Session::kind("let x = 1"), InputKind::Definitions);
    assert_eq!(Session::kind("let x = 1 in x"), InputKind::Expression);
    assert_eq!(Session::kind("def f x ="), InputKind::Incomplete);
    assert_eq!(Session::kind("[1,"), InputKind::Incomplete);
    assert_eq!(Session::kind("(1 +"), InputKind::Incomplete);
    assert_eq!(Session::kind("def x = )"), InputKind::Definitions);
    assert_eq!(Session::kind("1 + )"), InputKind::Expression);
}
