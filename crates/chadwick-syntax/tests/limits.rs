//! Inputs made to break the parser: none may overflow the stack, panic, or take more than linear time.

use std::time::{Duration, Instant};

use chadwick_source::FileId;
use chadwick_syntax::{EraseSpans, MAX_DEPTH, parse_program, print_program};
use proptest::prelude::*;

/// Parses, prints and drops on a thread with as little stack as Rust gives its threads.
fn on_a_small_stack(name: &'static str, text: String) -> Vec<&'static str> {
    let work = move || {
        let parsed = parse_program(FileId(0), &text);
        let _ = print_program(&parsed.tree);
        parsed.diagnostics.iter().map(|diagnostic| diagnostic.code).collect::<Vec<_>>()
    };
    let thread = std::thread::Builder::new().name(name.into()).stack_size(2 << 20).spawn(work).expect("a thread");
    thread.join().unwrap_or_else(|_| panic!("{name} panicked"))
}

const TOO_DEEP: &str = "E0136";

#[test]
fn deep_nesting_is_an_error() {
    let repeated = |front: &str, part: &str, times: usize| format!("{front}{}", part.repeat(times));
    let cases = [
        ("parentheses", repeated("def x = ", "(", 10_000_000)),
        ("brackets", repeated("def x = ", "[", 300_000)),
        ("braces", repeated("def x = ", "{a = ", 300_000)),
        ("mixed", repeated("def x = ", "#[a] - f a[(b + ", 100_000)),
        ("heavy", repeated("def x = ", "a ..< b with [0] = c + - f (", 100_000)),
        ("sections", repeated("def x = ", "(+ ", 100_000)),
        ("lambdas", repeated("def x = ", "\\a -> ", 100_000)),
        ("attributes", repeated("def x = ", "#[a] ", 100_000)),
        ("attribute arguments", repeated("#[a", "(b", 100_000)),
        ("matches", repeated("def x = ", "match a case b -> ", 100_000)),
        ("loops", repeated("def x = ", "loop a = ", 100_000)),
        ("patterns", repeated("def x ", "(", 100_000)),
        ("arrows", repeated("def x : ", "a -> ", 100_000)),
        ("array types", repeated("def x : ", "[]", 100_000)),
        ("sizes", repeated("def x : ", "[a : ", 100_000)),
        ("module braces", repeated("", "module m = { ", 100_000)),
        ("module types", repeated("module type m = ", "a -> ", 100_000)),
        ("local", repeated("", "local ", 100_000)),
    ];
    for (name, text) in cases {
        let codes = on_a_small_stack(name, text);
        assert!(codes.contains(&TOO_DEEP), "{name}: {codes:?}");
    }
}

#[test]
fn long_chains_are_fine_up_to_the_limit_and_an_error_behind_it() {
    let below = MAX_DEPTH as usize - 10;
    type Chain = fn(usize) -> String;
    let chains: [(&str, Chain); 10] = [
        ("negations", |n| format!("def x = {}y", "- ".repeat(n))),
        ("operators", |n| format!("def x = 1{}", " + 1".repeat(n))),
        ("right operators", |n| format!("def x = f{}", " <| f".repeat(n / 2))),
        ("lets", |n| format!("def x = {}in y", "let y = 1 ".repeat(n))),
        ("lets with in", |n| format!("def x = {}y", "let y = 1 in ".repeat(n))),
        ("else if", |n| format!("def x = {}y", "if a then b else ".repeat(n))),
        ("indices", |n| format!("def x = y{}", "[0]".repeat(n))),
        ("projections", |n| format!("def x = y{}", ".0".repeat(n))),
        ("updates", |n| format!("def x = y{}", " with [0] = 1".repeat(n))),
        ("module applications", |n| format!("module x = f{}", " m".repeat(n))),
    ];
    for (name, chain) in chains {
        assert_eq!(on_a_small_stack(name, chain(below)), Vec::<&str>::new(), "{name}");
        assert_eq!(on_a_small_stack(name, chain(100_000)), [TOO_DEEP], "{name}");
    }
}

/// An operator at the end of a section has no operand that a part of it could belong to.
#[test]
fn sections_of_long_operators_print_as_they_are() {
    ["def x = ( rec==- )", "def x = (a ==-)", "def x = (==- a)"].into_iter().for_each(survives);
    assert!(!parse_program(FileId(0), "def x = (a ==-)").has_errors());
}

#[test]
fn what_is_only_long_has_no_limit() {
    for (name, text) in [
        ("arguments", format!("def x = f{}", " y".repeat(100_000))),
        ("elements", format!("def x = [{}]", "a + b[0], ".repeat(30_000))),
        ("declarations", "def x = f y\n".repeat(30_000)),
        ("qualifiers", format!("def x = a{}", ".b".repeat(100_000))),
        ("cases", format!("def x = match y {}", "case 1 -> 2 ".repeat(30_000))),
    ] {
        assert_eq!(on_a_small_stack(name, text), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn garbage_takes_linear_time() {
    for garbage in [
        ") ] } ( [ { = -> | def let in then else , : 1 \"x\" #a #[ ` . .. ... ",
        "def ",
        "def f = ( ",
        "(]",
        "let rec ( and x . `a ` `",
        "def x = a `m.f ",
        "'",
        "\"",
        "é ",
        "a.b.",
        "-- |\n",
        "{ val ",
        "= ",
        "` ",
        ": ",
        ", ",
        "..< ",
        "| ",
        "!! ",
        "#[ ",
        "#c ",
        "? ",
        "\\ ",
        ". ",
        "'t ",
        "in ",
        "and ",
        "with ",
        "if then ",
        "case ",
        "type ",
        "-> ",
        "_ ",
    ] {
        for front in ["", "def x = a ", "def x (", "type t = ", "module m = { ", "module type t = { val f : "] {
            let text = format!("{front}{}", garbage.repeat(200_000 / garbage.len()));
            let start = Instant::now();
            let codes = on_a_small_stack("garbage", text);
            assert!(start.elapsed() < Duration::from_secs(20), "{front}{garbage} took {:?}", start.elapsed());
            assert!(codes.len() <= 400, "{front}{garbage}: {} diagnostics", codes.len());
        }
    }
}

/// Words that make token soups look like programs.
const WORDS: [&str; 84] = [
    "def", "entry", "let", "in", "if", "then", "else", "loop", "for", "while", "do", "match", "case", "with", "local", "open",
    "import", "include", "module", "type", "val", "assert", "true", "false", "rec", "and", "x", "f", "_", "_y", "m.", ".x", ".0",
    "0", "1i32", "2.5", ".5", "0x1.8p1", "'c'", "'t", "'~t", "'^t", "\"s\"", "#c", "#[a]", "#[", "(", ")", "[", "]", "{", "}",
    ",", ":", ":>", ";", "\\", "?", "???", ".", "..", "...", "..<", "..>", "=", "->", "+", "-", "*", "!", "|", "|>", "<|", "<",
    "==-", "`", "`f`", "f64.+", "m.(", "a[", "--", "-- |", "\n", "~",
];

/// Texts with holes: `E` for an expression, `T` for a type, `P` for a pattern. Most ways to fill them parse, and then printing must
/// give the tree back; the others must at least survive.
const EXPRESSIONS: [&str; 56] = [
    "E + E",
    "E * E",
    "E ** E",
    "E |> E",
    "E <| E",
    "E `f` E",
    "E f64.+ E",
    "E && E",
    "E - E",
    "-E",
    "!E",
    "- -E",
    "E E",
    "f E E",
    "(E)",
    "(E, E)",
    "[E, E]",
    "{a = E, b}",
    "E[E]",
    "x[E:E, E]",
    "(E)[E::E]",
    "E.0",
    "(E).x",
    "x.y.0.z",
    "m.(E)",
    "#c E E",
    "f #c E",
    "\\P P -> E",
    "\\P : T -> E",
    "f \\P -> E",
    "let P = E in E",
    "let x = E let P = E in E",
    "let f P P : T = E in E",
    "let [n] P = E in E",
    "let rec f P = E and g P = E in E",
    "let x[E].y = E in E",
    "let P +^ P = E in E",
    "if E then E else E",
    "loop P = E for i < E do E",
    "loop P for P in E do E",
    "loop P = E while E do E",
    "match E case P -> E case P -> E",
    "match E case P -> E",
    "assert E E",
    "E : T",
    "E :> T",
    "E..<E",
    "E..E...E",
    "E with [E] = E",
    "E with a.b[E] = E",
    "#[a] E",
    "(E +)",
    "(+ E)",
    "(`f` E)",
    "(.a[E].0)",
    "(E f64.+)",
];
const ATOMS: [&str; 18] = [
    "x", "y.z", "1", "2.5f32", "'c'", "\"s\"", "()", "[]", "{}", "(+)", "(-)", "(`f`)", "#c", "???", "true", "(.0)", "0x1.8p3",
    "and",
];
const TYPES: [&str; 17] = [
    "i32",
    "m.t",
    "()",
    "[]T",
    "[E]T",
    "*T",
    "t T",
    "t [E] T",
    "(T)",
    "(T, T)",
    "{a: T, b: T}",
    "T -> T",
    "(x: T) -> T",
    "#a T | #b",
    "#a [E]T T",
    "?[n].T",
    "(#a | #b T T)",
];
const PATTERNS: [&str; 14] =
    ["x", "_", "1", "-1", "'c'", "()", "(P)", "(P, P)", "{a = P, b}", "#c", "#c P P", "(P : T)", "(#[a] P)", "(#[a] P : T)"];
const DECLARATIONS: [&str; 16] = [
    "def f P P : T = E",
    "entry f = E",
    "def f [n] 'a (x: T) = E",
    "def P +^ P = E",
    "def rec f P = E and g P = E",
    "type t [n] 'a = T",
    "type^ t = T",
    "type rec t = #a T and u = #b T",
    "module m = { D D }",
    "module m (p: { val x : T }) : { type t } = f { D } (g n)",
    "module m = \\(p: s with t = T) -> { D } : s",
    "module type s = { val (+) : T type~ t 'a = T include s with t = T }",
    "local D",
    "open m.n",
    "#[inline] D",
    "-- | Doc.\n-- More.\ndef x = E",
];

/// Fills a template, and the templates that it is filled with, until the numbers run out.
fn filled(template: &str, numbers: &mut impl Iterator<Item = usize>, depth: usize) -> String {
    let mut text = String::new();
    for c in template.chars() {
        let (templates, leaves): (&[&str], &[&str]) = match c {
            'E' => (&EXPRESSIONS, &ATOMS),
            'T' => (&TYPES, &TYPES[..3]),
            'P' => (&PATTERNS, &PATTERNS[..5]),
            'D' => (&DECLARATIONS, &DECLARATIONS[1..2]),
            _ => {
                text.push(c);
                continue;
            }
        };
        let number = numbers.next();
        let deeper = depth < 6 && number.is_some_and(|number| number % 4 != 0);
        let choices = if deeper { templates } else { leaves };
        let choice = choices[number.unwrap_or(0) / 4 % choices.len()];
        text.push_str(&filled(choice, numbers, depth + 1));
    }
    text
}

fn survives(text: &str) {
    let parsed = parse_program(FileId(0), text);
    let size = text.len() as u32;
    for diagnostic in &parsed.diagnostics {
        let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary);
        for label in labels {
            assert!(label.span.start <= label.span.end && label.span.end <= size, "{text:?}: {diagnostic:?}");
            assert!(text.get(label.span.start as usize..label.span.end as usize).is_some(), "{text:?}: {diagnostic:?}");
        }
    }
    let printed = print_program(&parsed.tree);
    if !parsed.has_errors() {
        let again = parse_program(FileId(0), &printed);
        assert!(!again.has_errors(), "{text:?} printed as {printed:?}: {:?}", again.diagnostics);
        assert_eq!(parsed.tree.without_spans(), again.tree.without_spans(), "{text:?} printed as {printed:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_survives(text in "\\PC{0,200}") {
        survives(&text);
    }

    #[test]
    fn any_bytes_survive(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn likely_programs_survive(numbers in proptest::collection::vec(any::<usize>(), 1..60)) {
        survives(&filled("D\nD", &mut numbers.into_iter(), 0));
    }

    #[test]
    fn any_words_survive(words in proptest::collection::vec((0..WORDS.len(), any::<bool>()), 0..60)) {
        let text: String = words.iter().map(|(word, spaced)| format!("{}{}", WORDS[*word], if *spaced { " " } else { "" })).collect();
        survives(&text);
        survives(&format!("def x = {text}"));
        survives(&format!("def x : {text}"));
        survives(&format!("def f {text}"));
    }
}
