//! What is made of the programs of this repository is valid Core without derivatives, or refused with a place.

use chadwick::compile::Engine;
use chadwick::compile::linear_maps::{Derivation, with_derived_entries};
use chadwick::core::{self, Block, Op, verify};
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
