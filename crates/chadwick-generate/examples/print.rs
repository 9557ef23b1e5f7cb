//! Prints the program of a seed: `cargo run -p chadwick-generate --example print -- SEED [f64|i64] [SIZE]`.

use chadwick_generate::{Config, Element, generate};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seed = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let element = if arguments.next().as_deref() == Some("i64") { Element::I64 } else { Element::F64 };
    let mut config = Config::default();
    if let Some(size) = arguments.next().and_then(|text| text.parse().ok()) {
        config = config.with_size(size);
    }
    print!("{}", generate(seed, &config).source(element));
}
