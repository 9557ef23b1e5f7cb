//! Run-time errors and limits.

mod common;

use chadwick_interp::{ErrorKind, Limits};
use common::*;
use std::time::{Duration, Instant};

#[test]
fn out_of_bounds() {
    let source = "def main(i: i64, xs: [?]f64) -> (f64) { x: f64 = index xs [i] return x }";
    let error = run_error(source, vec![i(7), floats(&[1.0, 2.0, 3.0])]);
    assert_eq!(error.kind, ErrorKind::OutOfBounds);
    assert_eq!(error.message, "index 7 out of bounds for size 3");
    assert_eq!(error.trace.len(), 1);
    assert_eq!(run_error(source, vec![i(-1), floats(&[1.0])]).message, "index -1 out of bounds for size 1");
}

#[test]
fn slices_out_of_bounds() {
    let source = "def main(s: i64, c: i64, t: i64, xs: [?]f64) -> ([?]f64) { x: [?]f64 = slice xs [s : c : t] return x }";
    let xs = floats(&[1.0, 2.0, 3.0]);
    for (start, count, stride) in [(0, 4, 1), (3, 1, 1), (0, 2, -1), (0, -1, 1), (5, 0, 1), (-2, 0, 1), (0, 3, i64::MAX)] {
        let error = run_error(source, vec![i(start), i(count), i(stride), xs.clone()]);
        assert_eq!(error.kind, ErrorKind::OutOfBounds, "{start} {count} {stride}");
    }
    for (start, count, stride) in [(3, 0, 1), (-1, 0, -1), (2, 3, -1), (0, 1, i64::MAX)] {
        assert!(!run(source, vec![i(start), i(count), i(stride), xs.clone()]).is_empty());
    }
}

#[test]
fn arithmetic_errors() {
    let source = "def main(x: i64, y: i64) -> (i64) { z: i64 = i64.div(x, y) return z }";
    assert_eq!(run_error(source, vec![i(1), i(0)]).message, "division by zero");
    assert_eq!(shown(&run(source, vec![i(i64::MIN), i(-1)])), "-9223372036854775808i64");
    let source = "def main(x: i64, y: i64) -> (i64) { z: i64 = i64.pow(x, y) return z }";
    assert_eq!(run_error(source, vec![i(2), i(-1)]).kind, ErrorKind::Arithmetic);
}

#[test]
fn irregular_arrays() {
    let source = "
        def main(n: i64) -> ([?][?]i64) {
          a: [?][?]i64 = build [i < n] inner((?)) { b: [?]i64 = build [j < i] { return j } return b }
          return a
        }";
    let error = run_error(source, vec![i(3)]);
    assert_eq!(error.kind, ErrorKind::Irregular);
    assert_eq!(error.message, "irregular array: an element of shape [1] among elements of shape [0]");
}

#[test]
fn shapes_that_do_not_fit() {
    let update = "def main(xs: [?]f64, ys: [?]f64) -> ([?]f64) { z: [?]f64 = update xs [0i64 : 2i64 : 1i64] with ys return z }";
    assert_eq!(run_error(update, vec![floats(&[1.0, 2.0]), floats(&[1.0])]).kind, ErrorKind::ShapeMismatch);
    let reshape = "def main(xs: [?]f64, n: i64) -> ([?]f64) { z: [?]f64 = reshape xs (n) return z }";
    assert_eq!(run_error(reshape, vec![floats(&[1.0, 2.0]), i(3)]).kind, ErrorKind::ShapeMismatch);
    let reduce = "
        def main(n: i64, ne: [?]f64) -> ([?]f64) {
          r: [?]f64 = reduce [i < n] neutral(ne) op (a: [?]f64, b: [?]f64) -> ([?]f64) { c: [?]f64 = concat(a, b) return c } { return ne }
          return r
        }";
    assert_eq!(run_error(reduce, vec![i(2), floats(&[1.0])]).kind, ErrorKind::ShapeMismatch);
}

#[test]
fn assertions_show_values() {
    let source = "
        def main(n: i64) -> (i64) {
          ok: bool = i64.lt(n, 3i64)
          assert ok (\"n is \", n, \", too large\")
          return n
        }";
    let error = run_error(source, vec![i(9)]);
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Assertion, "n is 9i64, too large"));
    assert_eq!(shown(&run(source, vec![i(2)])), "2i64");
}

#[test]
fn seeds_must_have_the_form_of_the_primal() {
    let source = "
        def main(xs: [?]f64, seed: [?]f64) -> ([?]f64) {
          d: [?]f64 = jvp fn (ys: [?]f64) -> ([?]f64) { return ys } args(xs) seeds(seed)
          return d
        }";
    let error = run_error(source, vec![floats(&[1.0, 2.0]), floats(&[1.0])]);
    assert_eq!(error.kind, ErrorKind::Differentiation);
    assert_eq!(error.message, "a seed has shape [1], but the primal has shape [2]");
}

#[test]
fn huge_arrays_are_errors() {
    let source = "def main(n: i64) -> ([?]f64) { a: [?]f64 = build [i < n] { return 0.0f64 } return a }";
    for n in [1 << 60, i64::MAX, 1 << 61] {
        assert_eq!(run_error(source, vec![i(n)]).kind, ErrorKind::MemoryLimit);
    }
    let source = "
        def main(n: i64) -> ([?][?]f64) { a: [?][?]f64 = build [i < n, j < n] { return 0.0f64 } return a }";
    assert_eq!(run_error(source, vec![i(1 << 40)]).kind, ErrorKind::MemoryLimit);
}

#[test]
fn memory_is_limited() {
    let limits = Limits { max_memory_bytes: 1_000_000, ..Limits::default() };
    let source = "def main(n: i64) -> ([?]f64) { a: [?]f64 = build [i < n] { return 0.0f64 } return a }";
    let mut small = interpreter_with(source, limits);
    assert!(try_call(&mut small, vec![i(100_000)]).is_ok());
    assert_eq!(try_call(&mut small, vec![i(200_000)]).expect_err("an error").kind, ErrorKind::MemoryLimit);
    assert!(try_call(&mut small, vec![i(100_000)]).is_ok());
    let recursion = "
        def f(n: i64) -> (i64) { m: i64 = i64.add(n, 1i64) r: i64 = call f(m) s: i64 = i64.add(r, 1i64) return s }
        def main(n2: i64) -> (i64) { r2: i64 = call f(n2) return r2 }";
    let mut deep = interpreter_with(recursion, Limits { max_memory_bytes: 100_000_000, ..Limits::default() });
    assert_eq!(try_call(&mut deep, vec![i(0)]).expect_err("an error").kind, ErrorKind::MemoryLimit);
    let mut shallow = interpreter_with(recursion, Limits { max_depth: Some(1000), ..Limits::default() });
    let error = try_call(&mut shallow, vec![i(0)]).expect_err("an error");
    assert_eq!(error.kind, ErrorKind::DepthLimit);
    assert!(error.trace.len() < 100);
    let tape = "
        def main(n: i64) -> (f64) {
          d: f64 = vjp fn (x: f64) -> (f64) {
            r: f64 = loop (y: f64 = x) for k: i64 < n { z: f64 = f64.mul(y, x) return z }
            return r
          } args(1.0f64) seeds(1.0f64)
          return d
        }";
    let mut taped = interpreter_with(tape, limits);
    assert!(try_call(&mut taped, vec![i(1000)]).is_ok());
    assert_eq!(try_call(&mut taped, vec![i(1_000_000)]).expect_err("an error").kind, ErrorKind::MemoryLimit);
}

#[test]
fn time_is_limited() {
    let source = "
        def main(n: i64) -> (i64) {
          r: i64 = loop (x: i64 = 0i64) while { return true } { y: i64 = i64.add(x, 1i64) return y }
          return r
        }";
    let deadline = Some(Instant::now() + Duration::from_millis(50));
    let mut endless = interpreter_with(source, Limits { deadline, ..Limits::default() });
    assert_eq!(try_call(&mut endless, vec![i(0)]).expect_err("an error").kind, ErrorKind::Deadline);
    let source = "def main(n: i64) -> ([?]i64) { a: [?]i64 = build [i < 10i64, j < n, k < n] { return j } b: [?]i64 = index a [0i64, 0i64] return b }"
        .replace("a: [?]i64", "a: [?][?][?]i64");
    let deadline = Some(Instant::now() + Duration::from_millis(50));
    let mut long = interpreter_with(&source, Limits { deadline, ..Limits::default() });
    assert_eq!(try_call(&mut long, vec![i(4_000)]).expect_err("an error").kind, ErrorKind::Deadline);
}

#[test]
fn wrong_arguments_are_errors() {
    let source = "def main(x: f64) -> (f64) { return x }";
    assert_eq!(run_error(source, vec![]).kind, ErrorKind::Malformed);
    assert_eq!(run_error(source, vec![i(1)]).kind, ErrorKind::Malformed);
    assert_eq!(run_error(source, vec![floats(&[1.0])]).kind, ErrorKind::Malformed);
}
