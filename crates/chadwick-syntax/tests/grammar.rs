//! How texts group: the operator table and the cases that parsers trip over, row by row.

mod common;

use chadwick_source::FileId;
use chadwick_syntax::ast::{DeclarationKind, Literal, Program};
use chadwick_syntax::{parse_program, parse_type, print_program, print_type};
use common::{shape, value_binding};

#[track_caller]
fn groups(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(shape(text), *expected, "{text}");
    }
}

#[track_caller]
fn program(text: &str) -> Program {
    let parsed = parse_program(FileId(0), text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:#?}", parsed.diagnostics);
    parsed.tree
}

/// How the only definition of a text reads.
#[track_caller]
fn definition(text: &str) -> String {
    match program(text).declarations.as_slice() {
        [declaration] => match &declaration.kind {
            DeclarationKind::Value(binding) => value_binding(binding),
            DeclarationKind::ValueGroup(members) => members.iter().map(value_binding).collect::<Vec<_>>().join(" and "),
            other => panic!("{text}: {other:?}"),
        },
        other => panic!("{text}: {} declarations", other.len()),
    }
}

#[track_caller]
fn type_reads(text: &str, expected: &str) {
    let parsed = parse_type(FileId(0), text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:#?}", parsed.diagnostics);
    assert_eq!(print_type(&parsed.tree), expected, "{text}");
}

// ------------------------------------------------------------------------------------------------------------------- operators

#[test]
fn every_row_of_the_operator_table_is_looser_than_the_next() {
    // Level 4 (backtick) to 14; the last operand of the looser one groups with the tighter one on both sides.
    let rows: [&[&str]; 11] = [
        &["`f`", "`m.f`"],
        &["|>"],
        &["<|"],
        &["||", "|||"],
        &["&&"],
        &["<=", ">=", ">", "<", "==", "!=", ">->", "<-<", "<->"],
        &["&", "^", "|", "^^"],
        &["<<", ">>", ">>=", ">>>"],
        &["+", "-", "++", "+^"],
        &["*", "/", "%", "//", "%%", "*^"],
        &["**", "**."],
    ];
    for (looser_level, looser_row) in rows.iter().enumerate() {
        for tighter_row in &rows[looser_level + 1..] {
            for (looser, tighter) in looser_row.iter().flat_map(|looser| tighter_row.iter().map(move |tighter| (looser, tighter)))
            {
                let (loose, tight) = (looser.trim_matches('`'), tighter.trim_matches('`'));
                let front = shape(&format!("a {tighter} b {looser} c"));
                assert_eq!(front, format!("({loose} ({tight} a b) c)"));
                let back = shape(&format!("a {looser} b {tighter} c"));
                assert_eq!(back, format!("({loose} a ({tight} b c))"));
            }
        }
        for first in *looser_row {
            for second in *looser_row {
                let (left, right) = (first.trim_matches('`'), second.trim_matches('`'));
                let expected =
                    if *first == "<|" { format!("({left} a ({right} b c))") } else { format!("({right} ({left} a b) c)") };
                assert_eq!(shape(&format!("a {first} b {second} c")), expected);
            }
        }
    }
}

#[test]
fn examples_of_the_operator_table() {
    groups(&[
        ("n-1..n-2...0", "(Inclusive (- n 1) (- n 2) 0)"),
        ("7.0 + 9.0 |> f64.sqrt", "(|> (+ 7.0 9.0) f64.sqrt)"),
        ("3 `i32.max` 4 |> i32.neg", "(i32.max 3 (|> 4 i32.neg))"),
        ("(+ 1) <| 5 |> (* 2)", "(|> (<| (right + 1) 5) (right * 2))"),
        ("5 & 3 == 1", "(== (& 5 3) 1)"),
        ("1 << 2 + 1", "(<< 1 (+ 2 1))"),
        ("2**3**2", "(** (** 2 3) 2)"),
        ("-x ** 2", "(** (neg x) 2)"),
        ("-f x", "(neg (app f x))"),
        ("- - x", "(neg (neg x))"),
        ("!a && !b", "(&& (not a) (not b))"),
        ("f a[i].x", "(app f (. (index a [i]) x))"),
        ("a f64.+ b f64.* c", "(f64.+ a (f64.* b c))"),
        ("a m.n.+ b", "(m.n.+ a b)"),
        ("#[a] x + y : t", "(#[a] (: (+ x y) t))"),
        ("x : t : u", "(: (: x t) u)"),
        ("a with [0] = x with [1] = y", "(with (with a [[0]] x) [[1]] y)"),
        ("a `f` b with [0] = 1 ..< c : t", "(: (UpTo (with (f a b) [[0]] 1) c) t)"),
    ]);
}

#[test]
fn the_last_operand_may_extend_to_the_right() {
    groups(&[
        ("x * if c then a else b + 1", "(* x (if c a (+ b 1)))"),
        ("(.0) <| loop a = 1 for i < n do a + 1", "(<| (project 0) (loop a 1 (for i < n) (+ a 1)))"),
        ("f <| \\x -> x |> g", "(<| f (\\[x] (|> x g)))"),
        ("tabulate n \\i -> i + 1", "(app tabulate n (\\[i] (+ i 1)))"),
        ("#some \\i -> i", "(#some (\\[i] i))"),
        ("a with [i] = if c then x else y", "(with a [[i]] (if c x y))"),
        ("x + #[a] y * z", "(+ x (#[a] (* y z)))"),
        ("a ..< let n = 1 in n", "(UpTo a (let (n = 1) n))"),
    ]);
}

// ------------------------------------------------------------------------------------------------------ where parsers trip

#[test]
fn brackets_index_only_without_a_space() {
    groups(&[
        ("a[i]", "(index a [i])"),
        ("a [i]", "(app a (array i))"),
        ("f a[i] b", "(app f (index a [i]) b)"),
        ("f a [i] b", "(app f a (array i) b)"),
        ("a[i][j].x", "(. (index (index a [i]) [j]) x)"),
        ("[1,2][0]", "(index (array 1 2) [0])"),
        ("(f x)[0]", "(index (app f x) [0])"),
        ("r.v[i]", "(index r.v [i])"),
        ("x.0[i]", "(index (. x 0) [i])"),
        ("m.(xs)[0]", "(index (open m xs) [0])"),
        ("\"ab\"[0]", "(app \"ab\" (array 0))"),
        ("#a[0]", "(#a (array 0))"),
        ("a[i, j:k, ::s, :]", "(index a [i j:k:_ _:_:s _:_:_])"),
        ("a[(e : i64)]", "(index a [(: e i64)])"),
        ("a[if c then 0 else 1:n]", "(index a [(if c 0 1):n:_])"),
        ("a[let x: i64 = 1 : i64 in x]", "(index a [(let (x: i64 = (: 1 i64)) x)])"),
        ("a[::-1]", "(index a [_:_:(neg 1)])"),
    ]);
}

#[test]
fn brackets_behind_a_binder_are_size_parameters() {
    assert_eq!(definition("def f [n][m] 'a (x: [n]a) = x"), "((f [n] [m] 'a x: [n]a) = x)");
    assert_eq!(definition("def f[n] (x: [n]i32) = x"), "((f [n] x: [n]i32) = x)");
    groups(&[
        ("let f [n] (x: [n]t) = x in f", "(let ((f [n] x: [n]t) = x) f)"),
        ("let a[i] = v in a", "(let (a[[i]] := v) a)"),
        ("let a[i].x[j] = v in a", "(let (a[[i] x [j]] := v) a)"),
        ("let r.x = v in r", "(let (r[x] := v) r)"),
        ("let [n] xs = e in n", "(let ([n] xs = e) n)"),
        ("let [n][m] (x, y) = e in n", "(let ([n] [m] (x, y) = e) n)"),
    ]);
}

#[test]
fn minus_subtracts_negates_and_is_never_a_section() {
    groups(&[
        ("f -1", "(- f 1)"),
        ("f (-1)", "(app f (neg 1))"),
        ("(-x)", "(neg x)"),
        ("(!x)", "(not x)"),
        ("(-)", "(op -)"),
        ("(!)", "(op !)"),
        ("(x -)", "(left x -)"),
        ("(- x - y)", "(- (neg x) y)"),
        ("x - -1", "(- x (neg 1))"),
        ("-x.1 / z", "(/ (neg (. x 1)) z)"),
        ("a -- b\n", "a"),
    ]);
}

#[test]
fn sections() {
    groups(&[
        ("(+)", "(op +)"),
        ("(f64.+)", "(op f64.+)"),
        ("(`f`)", "(op f)"),
        ("(x +)", "(left x +)"),
        ("(+ x)", "(right + x)"),
        ("(f64.* x)", "(right f64.* x)"),
        ("(x f64.*)", "(left x f64.*)"),
        ("(`f` x)", "(right f x)"),
        ("(x `f`)", "(left x f)"),
        ("(* reduce (+) 0 xs)", "(right * (app reduce (op +) 0 xs))"),
        ("(a + b *)", "(left (+ a b) *)"),
        ("(* a + b)", "(right * (+ a b))"),
        ("(+ if c then a else b)", "(right + (if c a b))"),
        ("(.0)", "(project 0)"),
        ("( .0)", "(project 0)"),
        ("(.a.b)", "(project a b)"),
        ("(.0.1)", "(project 0 1)"),
        ("(.[i,j])", "(project [i j])"),
        ("(.a[i].b)", "(project a [i] b)"),
        ("(.[0][1].x)", "(project [0] [1] x)"),
    ]);
}

#[test]
fn dotted_names_stay_whole_and_digits_project() {
    groups(&[
        ("a.b.c", "a.b.c"),
        ("x.0", "(. x 0)"),
        ("x.0.1", "(. (. x 0) 1)"),
        ("x.y.0.z", "(. (. x.y 0) z)"),
        ("f x.y", "(app f x.y)"),
        ("f (g x).y", "(app f (. (app g x) y))"),
        ("{a = 1}.a", "(. (record a=1) a)"),
        ("m.(e)", "(open m e)"),
        ("m.n.(a * b + c)", "(open m.n (+ (* a b) c))"),
        ("f64.(a) + b", "(+ (open f64 a) b)"),
    ]);
}

#[test]
fn bodies_extend_to_the_right() {
    groups(&[
        ("\\x y -> x + y : t", "(\\[x y] (: (+ x y) t))"),
        ("\\(x: i32): i32 -> x", "(\\[x: i32 : i32] x)"),
        ("\\(x, _) {a, b = (c, d)} -> x", "(\\[(x, _) {a, b = (c, d)}] x)"),
        ("let x = 1 in f x |> g", "(let (x = 1) (|> (app f x) g))"),
        ("let x = 1 let y = 2 in x", "(let (x = 1) (let (y = 2) x))"),
        ("let x = f a let y = 2 in x", "(let (x = (app f a)) (let (y = 2) x))"),
        ("if a then b else c + d", "(if a b (+ c d))"),
        ("if a then b else if c then d else e", "(if a b (if c d e))"),
        ("assert c[0] x + y", "(assert (index c [0]) (+ x y))"),
        ("loop x = 0 while x < 3 do x + 1 |> f", "(loop x 0 (while (< x 3)) (|> (+ x 1) f))"),
        ("loop (x, y) for z in zs do x", "(loop (x, y) same (for z in zs) x)"),
        ("loop x : *[n]t = e for i < n do x", "(loop x: *[n]t e (for i < n) x)"),
        ("loop #[true_dep] xs = e for (i, j) in a do xs", "(loop #[true_dep] xs e (for (i, j) in a) xs)"),
        ("#[unsafe] let x = a in x + 1", "(#[unsafe] (let (x = a) (+ x 1)))"),
        ("#[a] #[b(c, 3)] x", "(#[a] (#[b] x))"),
    ]);
}

#[test]
fn an_inner_match_takes_all_following_cases() {
    groups(&[
        ("match x case 1 -> a case _ -> b", "(match x (1 a) (_ b))"),
        ("match x case 1 -> match y case 2 -> a case _ -> b", "(match x (1 (match y (2 a) (_ b))))"),
        ("match x case 1 -> (match y case 2 -> a) case _ -> b", "(match x (1 (match y (2 a))) (_ b))"),
        ("match x case -1 -> a case 'c' -> b case true -> c", "(match x (-1 a) ('c' b) (true c))"),
        ("match x case #a -1 y -> a case #b (#c z) -> b", "(match x (#a (-1) y a) (#b (#c z) b))"),
        ("match x case (p: t) -> a case {a = #n, b} -> b", "(match x (p: t a) ({a = #n, b} b))"),
        ("match x case #a #b -> c", "(match x (#a #b c))"),
    ]);
}

#[test]
fn ascriptions_and_coercions_are_loosest() {
    groups(&[
        ("x + y : f64", "(: (+ x y) f64)"),
        ("xs ++ ys :> [m]f64", "(:> (++ xs ys) [m]f64)"),
        ("0..<n : [n]i64", "(: (UpTo 0 n) [n]i64)"),
        ("(x, y : t)", "(tuple x (: y t))"),
        ("let y : t = e in y", "(let (y: t = e) y)"),
        ("let (a, b, c: t) = e in a", "(let ((a, b, c: t) = e) a)"),
    ]);
}

#[test]
fn updates_take_the_application_and_stop_at_delimiters() {
    groups(&[
        ("replicate n 0 with [i] = 1", "(with (app replicate n 0) [[i]] 1)"),
        ("(a with [i] = x + 1, b)", "(tuple (with a [[i]] (+ x 1)) b)"),
        ("if c then a with [0] = 1 else a", "(if c (with a [[0]] 1) a)"),
        ("r with a.b[i].0 = x", "(with r [a b [i] 0] x)"),
        ("r with 0 = x", "(with r [0] x)"),
        ("a with [i:j, k] = v", "(with a [[i:j:_ k]] v)"),
    ]);
}

#[test]
fn constructors_take_all_arguments() {
    groups(&[
        ("#foo #bar", "(#foo (#bar))"),
        ("#foo x (y + 1)", "(#foo x (+ y 1))"),
        ("f #foo x", "(app f (#foo) x)"),
        ("#foo x + #bar", "(+ (#foo x) (#bar))"),
    ]);
}

#[test]
fn infix_definitions() {
    assert_eq!(definition("def a +^ b = a"), "((+^ a b) = a)");
    assert_eq!(definition("def (x: t) *. (y: t) : t = x"), "((*. x: t y: t : t) = x)");
    assert_eq!(definition("def (a, b) <+> _ = a"), "((<+> (a, b) _) = a)");
    assert_eq!(definition("def (+^) a b = a"), "((+^ a b) = a)");
    assert_eq!(definition("def (-) = f"), "((-) = f)");
    assert_eq!(definition("let x = 1"), "((x) = 1)");
    groups(&[
        ("let a +^ b = a in x +^ y", "(let ((+^ a b) = a) (+^ x y))"),
        ("let (+^) a b = a in x", "(let ((+^ a b) = a) x)"),
        ("let (x, y) <+> z = x in x", "(let ((<+> (x, y) z) = x) x)"),
    ]);
}

#[test]
fn recursive_groups() {
    assert_eq!(definition("def rec f x = g x and g y = f (and y)"), "((f x) = (app g x)) and ((g y) = (app f (app and y)))");
    assert_eq!(definition("def rec f x = let rec h y = f y and k z = z in h x and g y = y"), {
        "((f x) = (let (rec ((h y) = (app f y)) ((k z) = z)) (app h x))) and ((g y) = y)"
    });
    groups(&[
        ("let rec f x = x and g y = y in f 1", "(let (rec ((f x) = x) ((g y) = y)) (app f 1))"),
        ("let rec f x = x in and xs", "(let (rec ((f x) = x)) (app and xs))"),
        ("f and xs", "(app f and xs)"),
        ("let rec = 1 in rec", "(let (rec = 1) rec)"),
    ]);
    let types = program("type rec t 'a = #leaf a | #node (u a) and u 'a = #pair (t a) (t a)");
    assert!(matches!(types.declarations.as_slice(), [d] if matches!(&d.kind, DeclarationKind::TypeGroup(g) if g.len() == 2)));
}

#[test]
fn trailing_commas() {
    groups(&[
        ("(1, 2,)", "(tuple 1 2)"),
        ("[1, 2,]", "(array 1 2)"),
        ("{a = 1, b,}", "(record a=1 b)"),
        ("a[1, 2,]", "(index a [1 2])"),
        ("()", "(tuple)"),
        ("[]", "(array)"),
        ("{}", "(record)"),
        ("{0 = a, 1 = b}", "(record 0=a 1=b)"),
    ]);
}

// ---------------------------------------------------------------------------------------------------------------------- tokens

#[test]
fn numbers() {
    groups(&[
        ("1_000i64", "1000i64"),
        ("0xffu8", "255u8"),
        ("0XFF", "255"),
        ("0b1_01", "5"),
        ("0x1f32", "7986"),
        ("2f32", "2f32"),
        ("1337e2f64", "1337e2f64"),
        ("1e-5", "1e-5"),
        ("1.5E+3", "1.5E+3"),
        ("0x1.fp3", "15.5"),
        ("0x1.8p-1f32", "0.75f32"),
        ("f .5", "(app f 0.5)"),
        ("[.5,.25]", "(array 0.5 0.25)"),
        ("1..<n", "(UpTo 1 n)"),
        ("1...n", "(Inclusive 1 n)"),
        ("1..2...n", "(Inclusive 1 2 n)"),
        ("n..>0", "(DownTo n 0)"),
        ("x..y..<z", "(UpTo x y z)"),
        ("0..<-1", "(UpTo 0 (neg 1))"),
        ("340282366920938463463374607431768211456", "340282366920938463463374607431768211455"),
    ]);
}

#[test]
fn characters_strings_and_type_variables() {
    groups(&[
        (r"'a'", "'a'"),
        (r"'\''", r"'\''"),
        (r"'\x41'", "'A'"),
        (r"'\u{e6}'", "'æ'"),
        ("' '", "' '"),
        ("'~'", "'~'"),
        ("f 'a' 'b'", "(app f 'a' 'b')"),
        (r#""a\n\"\\\0""#, r#""a\n\"\\\0""#),
        (r#""æ--""#, r#""æ--""#),
    ]);
    assert_eq!(definition("def f 'a '~b '^c (x: a) = x"), "((f 'a 'b 'c x: a) = x)");
    let literal = parse_program(FileId(0), "def x = 'a'").tree;
    assert!(format!("{literal:?}").contains(&format!("{:?}", Literal::Char('a'))));
}

#[test]
fn names_and_operators_munch_maximally() {
    groups(&[
        ("x' + x''", "(+ x' x'')"),
        ("a+++b", "(+++ a b)"),
        ("a <-> b", "(<-> a b)"),
        ("a +. b", "(+. a b)"),
        ("???", "???"),
        ("f ??? 1", "(app f ??? 1)"),
    ]);
}

#[test]
fn doc_comments_belong_to_the_next_declaration() {
    let text = "-- | One.\n--   Two.\n-- ==\ndef x = 1\n\n-- | Three.\n--\n-- Four.\ndef y = 2\n\n-- | Far away.\n\ndef z = 3\n-- plain\ndef w = 4\n";
    let docs: Vec<_> = program(text).declarations.into_iter().map(|declaration| declaration.doc).collect();
    assert_eq!(docs, [Some(String::from("One.\n  Two.")), Some(String::from("Three.\n\nFour.")), None, None]);
    let module =
        program("module m = {\n  -- | Inner.\n  #[inline]\n  def x = 1\n}\nmodule type t = {\n  -- | Spec.\n  val x : i32\n}");
    assert!(print_program(&module).contains("  -- | Inner.\n  #[inline]\n  def x = 1"));
    assert!(print_program(&module).contains("  -- | Spec.\n  val x : i32"));
}

// ----------------------------------------------------------------------------------------------------------------------- types

#[test]
fn types() {
    for text in [
        "i32",
        "m.n.t",
        "[n]i32",
        "[][n + 1]t",
        "*[n]t",
        "[n]*t",
        "t [n] u",
        "t [n] (u v)",
        "[t]net [n]",
        "*net [n]",
        "t ([n]u)",
        "a -> b -> c",
        "(a -> b) -> c",
        "(n: i64) -> [n]t",
        "((n: i64) -> [n]t) -> t",
        "()",
        "(a, b)",
        "(a -> b, c)",
        "{}",
        "{x: i32, y: a -> b}",
        "{0: i32, 1: f64}",
        "#a | #b",
        "#a i32 (b -> c) | #b [n]t",
        "#a ([n]t) u | #b",
        "(#a | #b) -> c",
        "?[n].[n]t",
        "?[n][m].([n]t, [m]t)",
        "a -> ?[n].[n]t",
        "(?[n].[n]t) -> a",
        "[n](a -> b)",
        "[i64.sum ks + n]t",
    ] {
        type_reads(text, text);
    }
    type_reads("((a))", "a");
    type_reads("(a -> (b -> c))", "a -> b -> c");
    type_reads("t [n]u", "t [n] u");
}

#[test]
fn modules() {
    let text = "\
open import \"a\"

import \"b\"

local open m.n

module type mt = {
  type t
  type^ u 'a = a -> t
  type~ v [n]
  val x [n] 'a : [n]a -> t
  val (+) : t -> t -> t
  module inner : other with t = i32 with u = f64
  include base
}

module type functor = (p: mt) -> (mt with t = i32) -> {}

module m (p: mt) (q: mt with t 'a = [2]a) : mt = {
  def x = 1

  #[inline]
  entry main = 2
}

module f = \\(p: mt) : mt -> p

module g = f (f m) {
  def y = 1
} : mt

module h = f (import \"c\")
";
    assert_eq!(print_program(&program(text)), text);
    assert_eq!(print_program(&program("module type t = { val +: a -> b }")), "module type t = {\n  val (+) : a -> b\n}\n");
}

#[test]
fn entries_and_old_style_definitions() {
    let tree = program("entry f x = x let g = 1 def h = 2");
    let entries: Vec<bool> = tree
        .declarations
        .iter()
        .map(|declaration| matches!(&declaration.kind, DeclarationKind::Value(binding) if binding.is_entry))
        .collect();
    assert_eq!(entries, [true, false, false]);
}
