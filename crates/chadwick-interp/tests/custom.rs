//! Derivatives given by the program.

mod common;

use chadwick_interp::ErrorKind;
use common::*;

/// x³ with a rule that returns ten times the cotangent.
const TEN: &str = "custom vjp fn (v: f64) -> (f64) { s: f64 = f64.mul(v, v) t: f64 = f64.mul(s, v) return t }
  rule (res: f64, adj: f64) -> (f64) { a: f64 = f64.mul(10.0f64, adj) return a } args(y)";

fn derivative(mode: &str, op: &str, at: f64) -> f64 {
    let source = format!(
        "def main(x: f64) -> (f64) {{
           d: f64 = {mode} fn (y: f64) -> (f64) {{ r: f64 = {op} return r }} args(x) seeds(1.0f64)
           return d
         }}"
    );
    float(&run(&source, vec![f(at)])[0])
}

#[test]
fn a_reverse_rule_replaces_reverse_mode_only() {
    assert_close(derivative("vjp", TEN, 2.0), 10.0);
    assert_close(derivative("jvp", TEN, 2.0), 12.0);
    let plain = format!("def main(y: f64) -> (f64) {{ r: f64 = {TEN} return r }}");
    assert_close(float(&run(&plain, vec![f(2.0)])[0]), 8.0);
}

#[test]
fn a_forward_rule_replaces_forward_mode_only() {
    let five = "custom jvp fn (v: f64) -> (f64) { s: f64 = f64.mul(v, v) return s }
      rule (p: f64, t: f64) -> (f64) { a: f64 = f64.mul(5.0f64, t) return a } args(y)";
    assert_close(derivative("jvp", five, 3.0), 5.0);
    assert_close(derivative("vjp", five, 3.0), 6.0);
}

#[test]
fn a_tape_goes_to_the_rule() {
    let cube = "custom vjp_tape 1 fn (v: f64) -> (f64, f64) { s: f64 = f64.mul(v, v) t: f64 = f64.mul(s, v) return s, t }
      rule (s2: f64, adj: f64) -> (f64) { a: f64 = f64.mul(3.0f64, s2) b: f64 = f64.mul(a, adj) return b } args(y)";
    assert_close(derivative("vjp", cube, 3.0), 27.0);
    assert_close(derivative("jvp", cube, 3.0), 27.0);
    let plain = format!("def main(y: f64) -> (f64) {{ r: f64 = {cube} return r }}");
    assert_close(float(&run(&plain, vec![f(3.0)])[0]), 27.0);
}

#[test]
fn a_tape_is_differentiated_by_outer_derivatives() {
    let cube = "custom vjp_tape 1 fn (v: f64) -> (f64, f64) { s: f64 = f64.mul(v, v) t: f64 = f64.mul(s, v) return s, t }
      rule (s2: f64, adj: f64) -> (f64) { a: f64 = f64.mul(3.0f64, s2) b: f64 = f64.mul(a, adj) return b } args(y)";
    for outer in ["vjp", "jvp"] {
        for middle in ["vjp", "jvp"] {
            let source = format!(
                "def first(w: f64) -> (f64) {{
                   e: f64 = vjp fn (y: f64) -> (f64) {{ r: f64 = {cube} return r }} args(w) seeds(1.0f64)
                   return e
                 }}
                 def main(x: f64) -> (f64, f64) {{
                   d: f64 = {outer} fn (z: f64) -> (f64) {{ e: f64 = call first(z) return e }} args(x) seeds(1.0f64)
                   t: f64 = {outer} fn (z1: f64) -> (f64) {{
                     e1: f64 = {middle} fn (z2: f64) -> (f64) {{ e2: f64 = call first(z2) return e2 }} args(z1) seeds(1.0f64)
                     return e1
                   }} args(x) seeds(1.0f64)
                   return d, t
                 }}"
            );
            let result = run(&source, vec![f(2.0)]);
            assert_close(float(&result[0]), 12.0);
            assert_close(float(&result[1]), 6.0);
        }
    }
}

#[test]
fn rules_are_differentiated_by_outer_derivatives() {
    // exp by a rule that uses the result: the second derivative goes through the rule.
    let exp = "custom vjp fn (v: f64) -> (f64) { s: f64 = f64.exp(v) return s }
      rule (res: f64, adj: f64) -> (f64) { a: f64 = f64.mul(res, adj) return a } args(y)";
    for outer in ["vjp", "jvp"] {
        for inner in ["vjp", "jvp"] {
            let source = format!(
                "def main(x: f64) -> (f64) {{
                   d: f64 = {outer} fn (z: f64) -> (f64) {{
                     e: f64 = {inner} fn (y: f64) -> (f64) {{ r: f64 = {exp} return r }} args(z) seeds(1.0f64)
                     return e
                   }} args(x) seeds(1.0f64)
                   return d
                 }}"
            );
            assert_close(float(&run(&source, vec![f(0.3)])[0]), 0.3f64.exp());
        }
    }
}

#[test]
fn rules_over_arrays_and_several_results() {
    let source = "
        def main(xs: [?]f64, seed: [?]f64) -> ([?]f64) {
          g: [?]f64 = vjp fn (ys: [?]f64) -> ([?]f64) {
            zs: [?]f64, s: f64 = custom vjp
              fn (v: [?]f64) -> ([?]f64, f64) {
                n: i64 = dim v 0
                w: [?]f64 = build [i < n] { a: f64 = index v [i] b: f64 = f64.exp(a) return b }
                return w, 1.0f64
              }
              rule (res: [?]f64, one: f64, adj: [?]f64, unused: f64) -> ([?]f64) {
                m: i64 = dim adj 0
                u: [?]f64 = build [j < m] { c: f64 = index adj [j] d: f64 = index res [j] e: f64 = f64.mul(c, d) return e }
                return u
              } args(ys)
            return zs
          } args(xs) seeds(seed)
          return g
        }";
    let result = float_list(&run(source, vec![floats(&[0.0, 1.0]), floats(&[1.0, 2.0])])[0]);
    assert_close(result[0], 1.0);
    assert_close(result[1], 2.0 * 1f64.exp());
}

#[test]
fn many_calls_on_one_tape() {
    let source = format!(
        "def main(x: f64) -> (f64) {{
           d: f64 = vjp fn (z: f64) -> (f64) {{
             r: f64 = loop (y: f64 = z) for k: i64 < 3i64 {{ w: f64 = {TEN} v2: f64 = f64.mul(w, 0.1f64) return v2 }}
             return r
           }} args(x) seeds(1.0f64)
           return d
         }}"
    );
    assert_close(float(&run(&source, vec![f(1.5)])[0]), 1.0);
}

#[test]
fn an_active_capture_is_an_error() {
    let source = "
        def main(x: f64) -> (f64) {
          d: f64 = vjp fn (y: f64) -> (f64) {
            r: f64 = custom vjp fn (v: f64) -> (f64) { s: f64 = f64.mul(v, y) return s }
              rule (res: f64, adj: f64) -> (f64) { return adj } args(y)
            return r
          } args(x) seeds(1.0f64)
          return d
        }";
    let error = run_error(source, vec![f(1.0)]);
    assert_eq!(error.kind, ErrorKind::Differentiation);
    assert!(error.message.contains("captures an active value"));
}

#[test]
fn custom_calls_in_deep_plain_recursion() {
    let source = "
        def down(n: i64) -> (i64) {
          stop: bool = i64.le(n, 0i64)
          r: i64 = if stop { return 0i64 } else {
            s: i64 = custom vjp fn (k: i64) -> (i64) { m: i64 = i64.sub(k, 1i64) t: i64 = call down(m) u: i64 = i64.add(t, 1i64) return u }
              rule (res: i64, adj: i64) -> (i64) { return adj } args(n)
            return s
          }
          return r
        }
        def main(n: i64) -> (i64) { r: i64 = call down(n) return r }";
    assert_eq!(shown(&run(source, vec![i(100_000)])), "100000i64");
}

#[test]
fn a_rule_may_capture_an_active_value() {
    // The rule scales by the captured y; nothing is differentiated through it.
    let source = |mode: &str, kind: &str, rule: &str| {
        format!(
            "def main(x: f64) -> (f64) {{
               d: f64 = {mode} fn (y: f64) -> (f64) {{
                 r: f64 = custom {kind} fn (v: f64) -> (f64) {{ s: f64 = f64.mul(v, v) return s }} rule {rule} args(y)
                 return r
               }} args(x) seeds(1.0f64)
               return d
             }}"
        )
    };
    let rule = "(a: f64, t: f64) -> (f64) { u: f64 = f64.mul(t, y) return u }";
    assert_close(float(&run(&source("vjp", "vjp", rule), vec![f(3.0)])[0]), 3.0);
    assert_close(float(&run(&source("jvp", "jvp", rule), vec![f(3.0)])[0]), 3.0);
}
