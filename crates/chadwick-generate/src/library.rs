//! Declarations that generated programs draw on: data types, polymorphic and recursive functions over them, a parametric module.
//!
//! A program contains those that it mentions, in this order; each may use the ones before it.

use crate::exp::Element;

/// What a declaration introduces, and its text.
const DECLARATIONS: &[(&[&str], &str)] = &[
    (&["option"], "type option 'a = #some a | #none"),
    (&["shape"], "type shape = #dot | #circle num | #box num num | #path ([2]num)"),
    (&["list"], "type rec list 'a = #nil | #cons a (list a)"),
    (&["tree"], "type rec tree = #leaf num | #node tree num tree"),
    (&["rose", "forest"], "type rec rose = #rose num forest and forest = #empty | #more rose forest"),
    (&["ragged"], "type~ ragged = []num"),
    (&["ragged_of"], "def ragged_of [n] (xs: [n]num): ragged = xs"),
    (&["sum_ragged"], "def sum_ragged (xs: ragged): num = reduce (+) 0 xs"),
    (&["twice"], "def twice 'a (f: a -> a) (x: a): a = f (f x)"),
    (&["choose"], "def choose 'a (c: bool) (x: a) (y: a): a = if c then x else y"),
    (&["swap"], "def swap 'a 'b (x: a, y: b): (b, a) = (y, x)"),
    (&["both"], "def both 'a 'b (f: a -> b) (x: a, y: a): (b, b) = (f x, f y)"),
    (&["update_at"], "def update_at 'a [n] (xs: *[n]a) (i: i64) (x: a): *[n]a = if n == 0 then xs else xs with [i % n] = x"),
    (&["pick_at"], "def pick_at 'a [n] (i: i64) (otherwise: a) (xs: [n]a): a = if n == 0 then otherwise else xs[i % n]"),
    (&["or_else"], "def or_else 'a (x: option a) (y: a): a = match x case #some z -> z case #none -> y"),
    (
        &["map_option"],
        "def map_option 'a 'b (f: a -> b) (x: option a): option b = match x case #some y -> #some (f y) case #none -> #none",
    ),
    (
        &["fold_list"],
        "def fold_list 'a 'b (f: a -> b -> b) (z: b) (l: list a): b =\n  \
         match l case #nil -> z case #cons x rest -> f x (fold_list f z rest)",
    ),
    (
        &["map_list"],
        "def map_list 'a 'b (f: a -> b) (l: list a): list b =\n  \
         match l case #nil -> #nil case #cons x rest -> #cons (f x) (map_list f rest)",
    ),
    (&["list_of"], "def list_of 'a [n] (xs: [n]a): list a = loop l = (#nil : list a) for i < n do #cons xs[n - 1 - i] l"),
    (
        &["fold_tree"],
        "def fold_tree 'b (f: b -> num -> b -> b) (g: num -> b) (t: tree): b =\n  \
         match t case #leaf x -> g x case #node l x r -> f (fold_tree f g l) x (fold_tree f g r)",
    ),
    (
        &["map_tree"],
        "def map_tree (f: num -> num) (t: tree): tree =\n  \
         match t case #leaf x -> #leaf (f x) case #node l x r -> #node (map_tree f l) (f x) (map_tree f r)",
    ),
    (
        &["build_tree"],
        "def build_tree (depth: i64) (at: i64) (f: i64 -> num): tree =\n  \
         if depth <= 0 then #leaf (f at) else #node (build_tree (depth - 1) (2 * at) f) (f at) (build_tree (depth - 2) (2 * at + 1) f)",
    ),
    (
        &["sum_rose", "sum_forest"],
        "def rec sum_rose (t: rose): num = match t case #rose x f -> x + sum_forest f\n\
         and sum_forest (f: forest): num = match f case #empty -> 0 case #more t g -> sum_rose t + sum_forest g",
    ),
    (
        &["map_rose", "map_forest"],
        "def rec map_rose (g: num -> num) (t: rose): rose = match t case #rose x f -> #rose (g x) (map_forest g f)\n\
         and map_forest (g: num -> num) (f: forest): forest =\n  \
         match f case #empty -> #empty case #more t rest -> #more (map_rose g t) (map_forest g rest)",
    ),
    (&["monoid"], "module type monoid = { type t val op: t -> t -> t val neutral: t }"),
    (
        &["mk_folds"],
        "module mk_folds (m: monoid) = {\n  \
         def fold [n] (xs: [n]m.t): m.t = reduce m.op m.neutral xs\n  \
         def prefixes [n] (xs: [n]m.t): [n]m.t = scan m.op m.neutral xs\n}",
    ),
    (&["sums"], "module sums = mk_folds { type t = num def op (x: t) (y: t): t = x + y def neutral: t = 0 }"),
    (
        &["lines"],
        "-- Linear functions under composition.\n\
         module lines = mk_folds {\n  \
         type t = (num, num)\n  \
         def op ((a, b): t) ((c, d): t): t = (a * c, b * c + d)\n  \
         def neutral: t = (1, 0)\n}",
    ),
    (
        &["matrices"],
        "-- Two-by-two matrices under multiplication.\n\
         module matrices = mk_folds {\n  \
         type t = [2][2]num\n  \
         def op (a: t) (b: t): t = map (\\row -> map (\\column -> r.sum (map2 (*) row column)) (transpose b)) a\n  \
         def neutral: t = [[1, 0], [0, 1]]\n}",
    ),
];

/// What every program starts with.
fn header(element: Element) -> String {
    let name = element.name();
    let tame = match element {
        Element::F64 => "f64.sin x",
        Element::I64 => "x",
    };
    format!("type num = {name}\nmodule r = {name}\n#[inline] def tame (x: num): num = {tame}\n")
}

/// The declarations that a text needs.
pub fn declarations_for(text: &str, element: Element) -> String {
    let mut needed: Vec<&str> = Vec::new();
    for (names, declaration) in DECLARATIONS.iter().rev() {
        let used = names.iter().any(|name| mentions(text, name) || needed.iter().any(|other| mentions(other, name)));
        if used {
            needed.push(declaration);
        }
    }
    let mut out = header(element);
    for declaration in needed.into_iter().rev() {
        out.push_str(declaration);
        out.push('\n');
    }
    out
}

fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(|c| is_part(c) || c == '#');
        let after = text[at + name.len()..].chars().next().is_some_and(is_part);
        !before && !after
    })
}
