//! Printing a program and parsing what was printed gives the same tree, for every conformance program and for trees that need care.

use std::path::{Path, PathBuf};

use chadwick_source::{Diagnostic, FileId};
use chadwick_syntax::ast::Program;
use chadwick_syntax::{EraseSpans, Parsed, parse_program, print_program};

fn conformance_programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    let mut folders = vec![root.clone()];
    let mut programs = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "fut") {
                programs.push(path);
            }
        }
    }
    programs.sort();
    assert!(programs.len() > 300, "only {} conformance programs under {}", programs.len(), root.display());
    programs
}

fn messages(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(|diagnostic| format!("{} {}", diagnostic.code, diagnostic.message)).collect()
}

fn parsed_without_spans(text: &str) -> Parsed<Program> {
    let mut parsed = parse_program(FileId(0), text);
    parsed.tree.erase_spans();
    parsed
}

#[track_caller]
fn assert_round_trip(text: &str) {
    let first = parsed_without_spans(text);
    let printed = print_program(&first.tree);
    let second = parsed_without_spans(&printed);
    assert_eq!(messages(&first.diagnostics), messages(&second.diagnostics), "printed as\n{printed}");
    assert!(first.tree == second.tree, "printed as\n{printed}\n{:#?}\n{:#?}", first.tree, second.tree);
    assert_eq!(print_program(&second.tree), printed, "printing is not stable");
}

#[test]
fn conformance_programs_parse_without_errors_except_where_one_is_due() {
    let syntactic = ["lex_underscore_name_use_is_error.fut", "op_redefine_conjunction_is_error.fut"];
    for path in conformance_programs() {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let parsed = parse_program(FileId(0), &text);
        let is_wrong = path.file_name().is_some_and(|name| syntactic.iter().any(|wrong| name == *wrong));
        assert_eq!(parsed.has_errors(), is_wrong, "{}: {:?}", path.display(), messages(&parsed.diagnostics));
    }
}

#[test]
fn conformance_programs_survive_printing() {
    for path in conformance_programs() {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        assert_round_trip(&text);
    }
}

#[test]
fn operators_that_are_bound_survive_printing() {
    assert_round_trip("def f ((<=): t -> t -> bool) (x, (+)) = let (*) = (+) let (-): t -> t = x in \\(/) -> x * x / x\n");
    assert_round_trip("def (+) a b = match a case ((-), b) -> b - b\n");
}
