//! Derivatives of scalars and arrays in every mode.

mod common;

use common::*;

#[test]
fn forward_and_reverse_of_a_product() {
    for mode in ["jvp", "vjp"] {
        let source = format!(
            "def main(x: f64) -> (f64) {{
               d: f64 = {mode} fn (y: f64) -> (f64) {{ a: f64 = f64.sin(y) b: f64 = f64.mul(a, y) return b }} args(x) seeds(1.0f64)
               return d
             }}"
        );
        assert_close(float(&run(&source, vec![f(0.7)])[0]), 0.7f64.cos() * 0.7 + 0.7f64.sin());
    }
}
