//! Printing and parsing in the notation of the paper.

use super::super::parsing::{parse, print, simplified_text};

const TEXTS: &[&str] = &[
    "0",
    "1",
    "∂x",
    "S(k)",
    "S(0.5)",
    "S(-2)",
    "S((a * (b + 1.5)))",
    "S(f64.cos(f64.mul(x, y)))",
    "∂x ∘ ∂y",
    "∂x ⊕ ∂y ⊕ 0",
    "∂x × (∂y ⋈ 1)",
    "(S(y) ⋈ S(x)) ∘ (∂x × ∂y)",
    "((∂x ∘ ∂y) ⊕ 1)ᵀ",
    "∂xᵀᵀ",
    "V(build(n, λi. S(i) ∘ ∂x))",
    "H(build(n, λi. V(build(m, λj. S((i * j))))))",
    "H(build(sz(v), λj. if i = j then 1 else 0)) ∘ ∂v",
    "L(λi. S(i)) ∘ L'(λj. ∂x)",
];

#[test]
fn what_is_parsed_prints_as_it_was() {
    for text in TEXTS {
        let (map, program) = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(print(&map, &program), *text);
    }
}

#[test]
fn what_is_printed_parses_to_the_same_map() {
    for text in TEXTS {
        let (map, program) = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let (again, _) = parse(&print(&map, &program)).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(map, again, "{text}");
    }
}

#[test]
fn texts_are_simplified_by_the_laws() {
    for (text, wanted) in [
        ("(S(y) ⋈ S(x)) ∘ (∂x × ∂y)", "(S(y) ∘ ∂x) ⊕ (S(x) ∘ ∂y)"),
        ("(S(x) ⋈ S(x)) ∘ (∂x × ∂x)", "S((x + x)) ∘ ∂x"),
        ("(1 ⋈ 0) ∘ (∂x × ∂y)", "∂x"),
        ("((∂x ∘ ∂y) × 0)ᵀ", "(∂yᵀ ∘ ∂xᵀ) ⋈ 0"),
        ("V(build(n, λi. S(i) ∘ ∂x))ᵀ", "H(build(n, λi. ∂xᵀ ∘ S(i)))"),
        ("S(2) ∘ S(3) ∘ ∂x", "S(2) ∘ (S(3) ∘ ∂x)"),
    ] {
        assert_eq!(simplified_text(text).unwrap_or_else(|error| panic!("{text}: {error}")).0, wanted);
    }
}

#[test]
fn texts_that_are_no_maps_say_where() {
    for (text, at) in [("", 0), ("∂", 1), ("S(", 2), ("∂x ∘", 4), ("(∂x", 3), ("∂x ∘ ∂y ⊕ ∂z", 8), ("V(build(n, i. 0))", 9)]
    {
        let error = parse(text).err().unwrap_or_else(|| panic!("{text} is a map"));
        assert_eq!(error.at, at, "{text}: {error}");
    }
    let deep = "(".repeat(100_000);
    assert!(parse(&deep).is_err());
}
