//! A snapshot of every kind of lexical and syntax error, source and message together: error text is part of the product.
//!
//! `INSTA_UPDATE=always cargo test -p chadwick-syntax --test diagnostics` writes the snapshots anew; read the difference.

use std::fmt::Write;

use chadwick_source::{Diagnostic, FileId, Label, SourceFile};
use chadwick_syntax::{parse_expression, parse_program, parse_type};

/// The source with what is said about it, as plain text.
fn report(text: &str) -> String {
    let parsed = parse_program(FileId(0), text);
    assert!(!parsed.diagnostics.is_empty(), "no error in {text:?}");
    let file = SourceFile::new("input", text);
    let mut output = String::new();
    for line in text.lines() {
        writeln!(output, "  | {line}").expect("strings grow");
    }
    for diagnostic in &parsed.diagnostics {
        output.push('\n');
        output.push_str(&rendered(&file, diagnostic));
    }
    if parsed.incomplete {
        output.push_str("\n(the input is incomplete)\n");
    }
    output
}

fn rendered(file: &SourceFile, diagnostic: &Diagnostic) -> String {
    let mut output = format!("{}: {}\n", diagnostic.code, diagnostic.message);
    for (mark, label) in std::iter::once(('^', &diagnostic.primary)).chain(diagnostic.secondary.iter().map(|label| ('-', label)))
    {
        output.push_str(&rendered_label(file, mark, label));
    }
    if let Some(hint) = &diagnostic.hint {
        writeln!(output, "  hint: {hint}").expect("strings grow");
    }
    output
}

fn rendered_label(file: &SourceFile, mark: char, label: &Label) -> String {
    let start = file.line_column(label.span.start);
    let line = file.text.lines().nth(start.line - 1).unwrap_or("");
    let text = file.text.get(label.span.start as usize..label.span.end as usize).expect("labels lie on characters");
    let width = text.lines().next().unwrap_or("").chars().count().max(1);
    let marks = mark.to_string().repeat(width);
    let number = start.line;
    format!("{number:3} | {line}\n    | {}{marks} {}\n", " ".repeat(start.column - 1), label.text).replace(" \n", "\n")
}

macro_rules! snapshots {
    ($($name:ident: $text:expr;)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(stringify!($name), report($text));
            }
        )*
    };
}

// Lexical errors.
snapshots! {
    unexpected_character: "def x = 1 @ 2";
    unexpected_letters: "def größe = 1";
    unexpected_hash: "def x = # some";
    string_not_closed: "def x = \"abc\ndef y = 1";
    character_empty: "def x = ''";
    character_not_closed: "def x = '\\n";
    quote_alone: "def x = ' ";
    unknown_escape: r#"def x = "a\qb""#;
    hex_escape_too_short: r#"def x = "a\x4""#;
    unicode_escape_out_of_range: r#"def x = '\u{110000}'"#;
    hex_without_digits: "def x = 0x + 1";
    binary_without_digits: "def x = 0b2";
    exponent_without_digits: "def x = 1e- + 2";
    number_suffix_unknown: "def x = 10L";
    number_suffix_of_integer_on_float: "def x = 1.5i32";
    number_suffix_of_float_on_binary: "def x = 0b1f32";
    field_digits_with_letters: "def f x = x.0a";
}

// Declarations.
snapshots! {
    declaration_expected: "x = 1\ndef y = 2";
    declaration_keyword_missing_behind_definition: "def x = 1\ny = 2";
    declaration_after_attribute: "#[inline]\n1 + 2";
    definition_without_name: "def = 1";
    definition_without_body: "def f x\ndef g y = y";
    definition_ends_too_soon: "def f x =";
    definition_of_reserved_word: "def loop x = x";
    definition_pattern_without_operator: "def (x, y) z = x";
    definition_size_after_parameter: "def f (x: t) [n] = x";
    conjunction_redefined: "def (&&) a b = a";
    disjunction_redefined_infix: "def a || b = a";
    recursive_value: "def rec x = 1 and f y = y";
    import_without_path: "import foo";
    type_without_body: "type t\ndef x = 1";
    module_expected: "module m = 1";
    module_type_expected: "module type t = 1";
    module_parameter_without_type: "module m (p) = {}";
    module_not_closed: "module m = { def x = 1\n";
    specification_expected: "module type t = { def x = 1 }";
    specification_without_type: "module type t = { val x val y : i32 }";
    attribute_name_missing: "#[1.5] def x = 1";
    semicolon: "def x = 1;\ndef y = 2";
    several_errors_in_one_file: "def f x = (x\ndef g y = if y then 1\ndef h = [1, 2\ndef ok = 3\ndef k = let a = 1";
}

// Expressions.
snapshots! {
    expression_expected: "def x = 1 +";
    expression_expected_found_operator: "def x = 1 + * 2";
    parenthesis_not_closed: "def x = (1 + 2\ndef y = 3";
    parenthesis_not_closed_at_end: "def x = f (1 + (2";
    bracket_closed_by_wrong_bracket: "def x = [1, 2)\ndef y = 1";
    bracket_not_opened: "def x = 1)";
    inner_bracket_not_closed: "def x = (a[1, 2) + 1";
    brace_not_closed: "def x = {a = 1, b = 2";
    let_without_in: "def f x =\n  let y = x + 1\n  y * 2";
    let_without_in_before_declaration: "def f x =\n  let y = x + 1\ndef g = 1";
    let_without_value: "def f x = let y in x";
    then_missing: "def f x = if x 1 else 2";
    else_missing: "def f x = if x then 1\ndef g = 2";
    loop_without_form: "def f = loop x = 1 do x + 1";
    loop_without_do: "def f = loop x = 1 for i < 10 x + 1";
    loop_counter_without_bound: "def f = loop x = 1 for i do x + 1";
    match_without_cases: "def f x = match x\ndef g = 1";
    case_without_arrow: "def f x = match x case 1 = 2";
    case_with_bare_type: "def f x = match x case y: i32 -> y";
    lambda_without_arrow: "def f = \\x x + 1";
    lambda_without_parameters: "def f = \\ -> 1";
    equality_with_one_sign: "def f x = if x = 1 then 2 else 3";
    glued_equals_minus: "def x =-1";
    glued_update: "def f a = a with [0]=-1";
    glued_arrow: "def f = \\x->-x";
    glued_comparison: "def f x = x==-1";
    glued_negations: "def f x = !!x";
    argument_needs_parentheses: "def f x = g if x then 1 else 2";
    open_expression_on_new_line: "def f x =\n  let y = g x\n  if y then 1 else 2";
    underscore_used: "def f _x = _x";
    wildcard_used: "def f _ = _ + 1";
    one_element_tuple: "def f x = (x,)";
    space_before_projection: "def f x = (g x) .y";
    projection_without_field: "def f x = x.";
    field_of_number: "def f = 1.x";
    index_empty: "def f a = a[]";
    index_with_coercion: "def f a = a[i :> t]";
    slice_behind_space: "def f a = a [i + 1:]";
    slice_behind_space_from_the_start: "def f a = a [:i]";
    slice_behind_space_with_stride: "def f a = a [0:i:2]";
    range_without_end: "def f = 1..2";
    range_chained: "def f = 1..<2..<3";
    update_without_path: "def f a = a with = 1";
    record_with_colon: "def r = {x: 1}";
    operator_without_operand: "def x = f64.+ 1 2";
    backtick_not_closed: "def f a b = a `g b";
    character_without_second_quote: "def x = f 'a";
    group_separator_as_function: "def rec f x = and x";
}

// Types and patterns.
snapshots! {
    type_expected: "def f (x: ) = x";
    type_variable_in_type: "def f 'a (x: 'a) = x";
    named_parameter_without_arrow: "def f : (n: i64) = 1";
    existential_without_sizes: "def f : ?.t = 1";
    sum_ends_in_bar: "type t = #a | ";
    pattern_expected: "def f = \\(x, +) -> x";
    pattern_with_qualified_name: "def f = \\m.x -> 1";
    reserved_word_as_pattern: "def f = \\in -> 1";
    one_element_tuple_pattern: "def f (x,) = x";
}

#[test]
fn nesting_error_names_the_limit() {
    let parsed = parse_program(FileId(0), &format!("def x = {}", "(".repeat(20_000)));
    let [diagnostic] = parsed.diagnostics.as_slice() else { panic!("{:?}", parsed.diagnostics) };
    assert_eq!(diagnostic.message, "this is nested too deeply");
    assert_eq!(diagnostic.primary.text, "more than 10000 levels of nesting, or links of one chain");
}

#[test]
fn input_that_ends_too_soon_is_incomplete() {
    for text in
        ["1 +", "let x = 1", "(1, ", "if a then b", "\\x ->", "match x", "f (g", "loop x = 1 for i < 10 do", "a[1", "{a ="]
    {
        assert!(parse_expression(FileId(0), text).incomplete, "{text}");
    }
    for text in ["1", "1 )", "let x = 1 in x", "\"abc", "1 + * (", "_x"] {
        assert!(!parse_expression(FileId(0), text).incomplete, "{text}");
    }
    for text in ["def f x =", "module m = {", "def f", "type t =", "entry", "def x = let y = 1"] {
        assert!(parse_program(FileId(0), text).incomplete, "{text}");
    }
    assert!(parse_type(FileId(0), "i32 ->").incomplete);
    assert!(!parse_type(FileId(0), "i32 -> )").incomplete);
}

#[test]
fn something_behind_an_expression_or_type_is_an_error() {
    let message = |parsed: Vec<Diagnostic>| parsed.first().map(|diagnostic| diagnostic.message.clone());
    let expression = parse_expression(FileId(0), "1 in").diagnostics;
    assert_eq!(message(expression).as_deref(), Some("expected the end of the expression, found the keyword `in`"));
    let ty = parse_type(FileId(0), "i32 + 1").diagnostics;
    assert_eq!(message(ty).as_deref(), Some("expected the end of the type, found the operator `+`"));
    let closer = parse_expression(FileId(0), "1)").diagnostics;
    assert_eq!(message(closer).as_deref(), Some("`)` closes nothing"));
}

/// The codes between quotes in the sources of this crate.
fn codes_in_use(folder: &std::path::Path, codes: &mut std::collections::BTreeSet<String>) {
    for path in std::fs::read_dir(folder).expect("a readable folder").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            codes_in_use(&path, codes);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a readable file");
        codes.extend(text.split("\"E").skip(1).filter_map(|rest| Some(format!("E{}", rest.split_once('"')?.0))));
    }
}

#[test]
fn the_table_lists_every_code() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut used = std::collections::BTreeSet::new();
    codes_in_use(&root.join("src"), &mut used);
    let table = std::fs::read_to_string(root.join("src/lib.rs")).expect("a readable file");
    let listed: std::collections::BTreeSet<String> = table
        .lines()
        .filter_map(|line| Some(line.strip_prefix("//! | E")?.get(..4)?.to_string()))
        .map(|code| format!("E{code}"))
        .collect();
    assert_eq!(used, listed);
}
