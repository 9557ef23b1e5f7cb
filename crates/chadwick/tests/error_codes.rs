//! The list of error codes is complete.

use std::path::Path;

#[test]
fn every_code_in_the_sources_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documented = std::fs::read_to_string(root.join("docs/errors.md")).expect("docs/errors.md");
    let mut missing = Vec::new();
    for directory in ["chadwick-syntax", "chadwick-types", "chadwick-lower", "chadwick-ad", "chadwick-opt"] {
        collect(&root.join("crates").join(directory).join("src"), &documented, &mut missing);
    }
    assert!(missing.is_empty(), "codes without a line in docs/errors.md: {missing:?}");
}

fn collect(directory: &Path, documented: &str, missing: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).expect("a source folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, documented, missing);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source file");
        for part in text.split('"') {
            let is_code = part.len() == 5 && part.starts_with(['E', 'W']) && part[1..].bytes().all(|byte| byte.is_ascii_digit());
            if is_code && !documented.contains(part) && !missing.iter().any(|known| known == part) {
                missing.push(part.to_owned());
            }
        }
    }
}
