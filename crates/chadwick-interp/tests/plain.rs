//! Programs without derivatives.

mod common;

use common::*;

#[test]
fn sum_of_mapped_elements() {
    let source = "
        def main(n: i64, xs: [?]f64, k: f64) -> (f64) {
          g: fn(f64) -> (f64) = fn (x: f64) -> (f64) { y: f64 = f64.mul(x, k) return y }
          ys: [?]f64 = build [i < n] { a: f64 = index xs [i] b: f64 = apply g(a) return b }
          s: f64 = reduce [j < n] neutral(0.0f64) op (p: f64, q: f64) -> (f64) { r: f64 = f64.add(p, q) return r }
            { e: f64 = index ys [j] return e }
          return s
        }";
    assert_eq!(shown(&run(source, vec![i(3), floats(&[1.0, 2.0, 3.0]), f(2.0)])), "12.0f64");
}
