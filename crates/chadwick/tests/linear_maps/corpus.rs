//! What is made of the programs of this repository is valid Core without derivatives and without maps, or refused with a place.

use chadwick::compile::linear_maps::{Derivation, with_derived_entries};
use chadwick::compile::{Engine, Stage};
use chadwick::core::{self, Block, Entry, FunctionId, Op, verify};
use chadwick::source::Diagnostic;
use chadwick::{Error, Program};
use std::path::{Path, PathBuf};

fn programs(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "fut") {
            found.push(path);
        }
    }
}

fn is_plain(block: &Block) -> bool {
    block.statements.iter().all(|statement| {
        !matches!(statement.op, Op::Differentiate(_)) && statement.op.scopes().iter().all(|scope| is_plain(scope.block))
    })
}

#[track_caller]
fn assert_valid(core: &core::Program, what: &str) {
    let errors = verify::verify(core);
    assert!(errors.is_empty(), "{what}: {}", errors[0]);
    assert!(core.functions.iter().all(|function| is_plain(&function.body)), "{what}: a derivative is left");
}

/// Refusals have a code of this engine and a place in the program.
#[track_caller]
fn assert_refused(diagnostics: &[Diagnostic], what: &str) {
    for diagnostic in diagnostics {
        assert!(["E0410", "E0411"].contains(&diagnostic.code), "{what}: {} {}", diagnostic.code, diagnostic.message);
        assert_ne!(diagnostic.primary.span, Default::default(), "{what}: {} has no place", diagnostic.message);
    }
}

#[test]
fn derivatives_of_the_corpus_are_valid_core_or_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    ["tests/conformance/ad", "examples", "gradbench"].iter().for_each(|directory| programs(&root.join(directory), &mut files));
    let (mut taken, mut refused, mut derived) = (0, 0, [0, 0]);
    for file in files {
        let Ok(program) = Program::from_file(&file) else { continue };
        let what = file.display().to_string();
        let program = match program.with_engine(Engine::LinearMaps) {
            Ok(program) => program,
            Err(Error::Compile { diagnostics, .. }) => {
                assert_refused(&diagnostics, &what);
                refused += 1;
                continue;
            }
            Err(error) => panic!("{what}: {}", error.message()),
        };
        assert_valid(program.core(), &what);
        taken += 1;
        // The derivatives of what has derivatives in it already.
        for (at, derivation) in [Derivation::Forward, Derivation::Reverse].into_iter().enumerate() {
            match with_derived_entries(program.core(), derivation) {
                Ok(core) => {
                    assert_valid(&core, &what);
                    derived[at] += 1;
                }
                Err(diagnostics) => {
                    let codes: Vec<&str> = diagnostics.iter().map(|one| one.code).collect();
                    assert!(codes.iter().all(|code| *code == "E0410"), "{what}: {codes:?} {}", diagnostics[0].message);
                }
            }
        }
    }
    assert!(taken > 4 * refused, "{taken} programs are taken, {refused} refused");
    assert!(derived[0] * 2 > taken && derived[1] * 2 > taken, "{derived:?} of {taken}");
}

/// A prepared program whose only entry point is this function, so that each function is taken or refused by itself.
fn only(core: &core::Program, function: usize) -> core::Program {
    let name = core.functions[function].name.clone();
    let entry = Entry { name, function: FunctionId(function as u32), params: Vec::new(), results: Vec::new() };
    core::Program { entries: vec![entry], ..core.clone() }
}

/// What is left of maps in a block. Core has no form for a map, so one could only hide as a function that waits for its argument, or as a
/// derivative that nobody has applied.
fn residue(block: &Block) -> usize {
    let of = |op: &Op| match op {
        Op::Closure(_) | Op::Apply { .. } | Op::Differentiate(_) | Op::Custom(_) => 1,
        _ => op.scopes().iter().map(|scope| residue(scope.block)).sum(),
    };
    block.statements.iter().map(|statement| of(&statement.op)).sum()
}

/// The functions of all programs, each by itself.
#[test]
fn no_map_is_left_in_the_derivatives_of_any_function_of_the_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    ["tests", "examples", "gradbench", "bench/programs"].iter().for_each(|folder| programs(&root.join(folder), &mut files));
    let (mut functions, mut taken, mut plain) = (0, [0, 0], 0);
    for file in files {
        let Ok(program) = Program::from_file(&file) else { continue };
        let Ok(program) = program.at_stage(Stage::FirstOrder) else { continue };
        let core = program.core();
        // Derivatives that the program asks for itself have their turn later, where what they give depends on no input.
        let of_program: usize = core.functions.iter().map(|function| residue(&function.body)).sum();
        for function in 0..core.functions.len() {
            functions += 1;
            let what = format!("{} of {}", core.functions[function].name, file.display());
            for (at, derivation) in [Derivation::Forward, Derivation::Reverse].into_iter().enumerate() {
                let mut derived = match with_derived_entries(&only(core, function), derivation) {
                    Ok(derived) => derived,
                    Err(diagnostics) => {
                        assert!(diagnostics.iter().all(|one| one.code == "E0410"), "{what}: {}", diagnostics[0].message);
                        continue;
                    }
                };
                taken[at] += 1;
                plain += usize::from(of_program == 0);
                // The entry point that was only there to be derived from does not say what its values are.
                derived.entries.remove(0);
                let errors = verify::verify(&derived);
                assert!(errors.is_empty(), "{what}: {}", errors[0]);
                let made = &derived.functions[core.functions.len()..];
                let prefixes: &[&str] = [&["fwd$"][..], &["revf$", "revr$", "rev$"]][at];
                for prefix in prefixes {
                    assert!(made.iter().any(|function| function.name.starts_with(prefix)), "{what} has no {prefix}");
                }
                for function in made {
                    assert!(residue(&function.body) <= of_program, "a map is left in {} for {what}", function.name);
                }
            }
        }
    }
    assert!(functions >= 7000 && taken.iter().all(|taken| *taken >= 4400), "{taken:?} of {functions}");
    assert!(plain >= 5400, "{plain} of {taken:?} in programs without derivatives");
}
