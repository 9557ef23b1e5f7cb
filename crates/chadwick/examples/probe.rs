//! Scratch driver: checks and lowers each file, prints diagnostics.
use chadwick::compile::{FileLoader, check, lower};
use std::path::Path;
fn main() {
    let mut bad = 0;
    let verbose = std::env::var("V").is_ok();
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        let wants_error = text.lines().any(|l| l.starts_with("-- error:")) && !text.contains("-- input");
        let mut checked = check(Path::new(&file), &text, &FileLoader);
        let core = lower(&mut checked);
        let failed = checked.has_errors();
        if failed != wants_error || verbose {
            if failed != wants_error { bad += 1; }
            println!("{file}: {}", if failed { "FAILED" } else { "ok" });
            for d in checked.diagnostics.iter().take(3) {
                println!("   {} {}: {} {:?} [{}]", checked.map.position(d.primary.span), d.code, d.message, d.hint, checked.map.text(d.primary.span).chars().take(60).collect::<String>());
            }
        }
        if let Some(core) = core {
            let errors = chadwick_core::verify::verify(&core);
            if !errors.is_empty() { println!("{file}: VERIFY"); for e in errors.iter().take(3) { println!("   {e:?}"); } }
            if std::env::var("CORE").is_ok() { println!("{}", chadwick_core::text::print(&core)); }
        }
    }
    println!("{bad} unexpected");
}
