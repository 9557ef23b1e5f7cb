//! A snapshot per kind of error: what the program is and what is said about it. Error text is product; read the snapshots as text.

use chadwick::compile::{FileLoader, check, lower};
use chadwick::render::{Style, diagnostics};

#[test]
fn every_kind_of_error_has_its_message() {
    insta::glob!("diagnostics/*.fut", |path| {
        let text = std::fs::read_to_string(path).expect("a readable program");
        let name = path.file_name().expect("a file name");
        let mut checked = check(name.as_ref(), &text, &FileLoader);
        lower(&mut checked);
        assert!(!checked.diagnostics.is_empty(), "nothing was reported");
        let shown = diagnostics(&checked.diagnostics, &checked.map, Style::default());
        insta::with_settings!({ omit_expression => true, snapshot_path => "diagnostics/snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("{text}\n----\n{shown}"));
        });
    });
}
