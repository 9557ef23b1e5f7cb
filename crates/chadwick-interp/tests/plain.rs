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

const LISTS: &str = "
    type list = #cons(f64, list) | #nil

    def from(n: i64, rest: list) -> (list) {
      stop: bool = i64.le(n, 0i64)
      r: list = if stop { return rest } else {
        x: f64 = i64.to_f64(n)
        longer: list = construct 0 list (x, rest)
        m: i64 = i64.sub(n, 1i64)
        all: list = call from(m, longer)
        return all
      }
      return r
    }

    def total(l: list) -> (f64) {
      t: f64 = match l {
        case 0 (head: f64, tail: list) {
          below: f64 = call total(tail)
          sum: f64 = f64.add(head, below)
          return sum
        }
        case 1 () { return 0.0f64 }
      }
      return t
    }
";

#[test]
fn recursion_a_million_deep_costs_heap() {
    let source = format!(
        "{LISTS}
         def main(n: i64) -> (f64) {{
           empty: list = construct 1 list ()
           l: list = call from(n, empty)
           s: f64 = call total(l)
           return s
         }}"
    );
    assert_eq!(float(&run(&source, vec![i(1_000_000)])[0]), 500_000_500_000.0);
}

#[test]
fn a_long_list_is_returned_and_dropped() {
    let source = format!(
        "{LISTS}
         def main(n: i64) -> (list) {{
           empty: list = construct 1 list ()
           l: list = call from(n, empty)
           return l
         }}"
    );
    let before = chadwick_interp::live_bytes();
    let result = run(&source, vec![i(1_000_000)]);
    assert!(chadwick_interp::live_bytes() > before + 10_000_000);
    drop(result);
    assert_eq!(chadwick_interp::live_bytes(), before);
}

#[test]
fn mutual_recursion_and_if() {
    let source = "
        def even(n: i64) -> (bool) {
          z: bool = i64.eq(n, 0i64)
          r: bool = if z { return true } else { m: i64 = i64.sub(n, 1i64) o: bool = call odd(m) return o }
          return r
        }
        def odd(n2: i64) -> (bool) {
          z2: bool = i64.eq(n2, 0i64)
          r2: bool = if z2 { return false } else { m2: i64 = i64.sub(n2, 1i64) o2: bool = call even(m2) return o2 }
          return r2
        }
        def main(k: i64) -> (bool) { a: bool = call even(k) return a }";
    assert_eq!(shown(&run(source, vec![i(1001)])), "false");
}

#[test]
fn two_dimensional_build_and_views() {
    let source = "
        def main(n: i64, m: i64) -> ([?][?]i64, [?][?]i64, [?]i64, [?]i64, [?][?]i64, i64) {
          a: [?][?]i64 = build [i < n, j < m] { k: i64 = i64.mul(i, 10i64) v: i64 = i64.add(k, j) return v }
          t: [?][?]i64 = transpose a (1, 0)
          row: [?]i64 = index a [1i64]
          column: [?]i64 = index t [1i64]
          size: i64 = i64.mul(n, m)
          flat: [?]i64 = reshape t (size)
          back: [?]i64 = slice flat [5i64 : 3i64 : -2i64]
          part: [?][?]i64 = slice a [0i64 : 2i64 : 1i64, 2i64 : 2i64 : -1i64]
          d: i64 = dim t 0
          return a, t, column, back, part, d
        }";
    let result = run(source, vec![i(2), i(3)]);
    assert_eq!(result[0].to_string(), "[[0i64, 1i64, 2i64], [10i64, 11i64, 12i64]]");
    assert_eq!(result[1].to_string(), "[[0i64, 10i64], [1i64, 11i64], [2i64, 12i64]]");
    assert_eq!(result[2].to_string(), "[1i64, 11i64]");
    assert_eq!(result[3].to_string(), "[12i64, 11i64, 10i64]");
    assert_eq!(result[4].to_string(), "[[2i64, 1i64], [12i64, 11i64]]");
    assert_eq!(result[5].to_string(), "3i64");
}

#[test]
fn scan_hist_scatter_concat() {
    let source = "
        def main(n: i64, xs: [?]i64, is: [?]i64) -> ([?]i64, [?]i64, [?]i64, [?]i64) {
          s: [?]i64 = scan [i < n] neutral(0i64) op (a: i64, b: i64) -> (i64) { c: i64 = i64.add(a, b) return c }
            { x: i64 = index xs [i] return x }
          zeros: [?]i64 = build [k < 3i64] { return 100i64 }
          h: [?]i64 = hist [j < n] dest(zeros) rank 1 neutral(0i64)
            op (p: i64, q: i64) -> (i64) { r: i64 = i64.add(p, q) return r }
            { y: i64 = index is [j] z: i64 = index xs [j] return y, z }
          w: [?]i64 = scatter [l < n] dest(zeros) rank 1 { u: i64 = index is [l] v: i64 = index xs [l] return u, v }
          both: [?]i64 = concat(s, h)
          return s, h, w, both
        }";
    let result = run(source, vec![i(4), ints(&[1, 2, 3, 4]), ints(&[0, 2, 0, 7])]);
    assert_eq!(result[0].to_string(), "[1i64, 3i64, 6i64, 10i64]");
    assert_eq!(result[1].to_string(), "[104i64, 100i64, 102i64]");
    assert_eq!(result[2].to_string(), "[3i64, 100i64, 2i64]");
    assert_eq!(result[3].to_string(), "[1i64, 3i64, 6i64, 10i64, 104i64, 100i64, 102i64]");
}

#[test]
fn folds_of_rows_go_left_to_right() {
    let source = "
        def main(n: i64, m: i64, xs: [?][?]i64) -> ([?]i64, [?][?]i64) {
          ne: [?]i64 = build [k < m] { return 1i64 }
          r: [?]i64 = reduce [i < n] neutral(ne) op (a: [?]i64, b: [?]i64) -> ([?]i64) {
            c: [?]i64 = build [j < m] { p: i64 = index a [j] q: i64 = index b [j] t: i64 = i64.mul(p, 10i64) u: i64 = i64.add(t, q) return u }
            return c
          } { row: [?]i64 = index xs [i] return row }
          s: [?][?]i64 = scan [i2 < n] neutral(ne) op (a2: [?]i64, b2: [?]i64) -> ([?]i64) {
            c2: [?]i64 = build [j2 < m] { p2: i64 = index a2 [j2] q2: i64 = index b2 [j2] u2: i64 = i64.add(p2, q2) return u2 }
            return c2
          } { row2: [?]i64 = index xs [i2] return row2 }
          return r, s
        }";
    let xs = chadwick_interp::Value::array_i64(&[2, 2], vec![1, 2, 3, 4]).expect("an array");
    let result = run(source, vec![i(2), i(2), xs]);
    assert_eq!(result[0].to_string(), "[113i64, 124i64]");
    assert_eq!(result[1].to_string(), "[[2i64, 3i64], [5i64, 7i64]]");
    let empty = chadwick_interp::Value::array_i64(&[0, 2], vec![]).expect("an array");
    let result = run(source, vec![i(0), i(2), empty]);
    assert_eq!(result[0].to_string(), "[1i64, 1i64]");
    assert_eq!(result[1].as_array().expect("an array").shape(), [0, 2]);
}

#[test]
fn loops_carry_count_and_emit() {
    let source = "
        def main(n: i64) -> (i64, i64, [?]i64, i64, i64) {
          a: i64, b: i64, e: [?]i64 = loop (x: i64 = 0i64, y: i64 = 1i64) for k: i64 < n emits(()) {
            z: i64 = i64.add(x, y)
            return y, z, x
          }
          w: i64, trips: i64 = loop (u: i64 = 1i64) while { small: bool = i64.lt(u, 100i64) return small } counted {
            v: i64 = i64.mul(u, 3i64)
            return v
          }
          return a, b, e, w, trips
        }";
    assert_eq!(shown(&run(source, vec![i(6)])), "8i64 13i64 [0i64, 1i64, 1i64, 2i64, 3i64, 5i64] 243i64 5i64");
    assert_eq!(shown(&run(source, vec![i(-2)])), "0i64 1i64 [] 243i64 5i64");
}

#[test]
fn a_loop_updates_in_place() {
    let source = "
        def main(n: i64) -> ([?]i64) {
          a: [?]i64 = build [i < n] { return i }
          r: [?]i64 = loop (x: [?]i64 = a) for k: i64 < n {
            v: i64 = index x [k]
            w: i64 = i64.mul(v, v)
            y: [?]i64 = update x [k] with w
            return y
          }
          return r
        }";
    let (result, counters) = run_counted(source, vec![i(5)]);
    assert_eq!(result[0].to_string(), "[0i64, 1i64, 4i64, 9i64, 16i64]");
    assert_eq!(counters.copies, 0);
    assert_eq!(counters.allocations, 1);
}

#[test]
fn an_update_of_what_is_used_later_copies_once() {
    let source = "
        def main(n: i64) -> ([?]i64, [?]i64) {
          a: [?]i64 = build [i < n] { return i }
          r: [?]i64 = loop (x: [?]i64 = a) for k: i64 < n {
            y: [?]i64 = update x [k] with 7i64
            return y
          }
          return a, r
        }";
    let (result, counters) = run_counted(source, vec![i(3)]);
    assert_eq!(shown(&result), "[0i64, 1i64, 2i64] [7i64, 7i64, 7i64]");
    assert_eq!(counters.copies, 1);
}

#[test]
fn branches_calls_and_payloads_keep_arrays_unique() {
    let source = "
        def set(x: [?]i64, k: i64) -> ([?]i64) {
          even: i64 = i64.mod(k, 2i64)
          e: bool = i64.eq(even, 0i64)
          r: [?]i64 = if e { y: [?]i64 = update x [k] with 1i64 return y } else { return x }
          return r
        }
        def main(n: i64) -> ([?]i64) {
          a: [?]i64 = build [i < n] { return 0i64 }
          box: {#box([?]i64)} = construct 0 {#box([?]i64)} (a)
          r2: {#box([?]i64)} = loop (b: {#box([?]i64)} = box) for k2: i64 < n {
            next: {#box([?]i64)} = match b { case 0 (c: [?]i64) {
              d: [?]i64 = call set(c, k2)
              boxed: {#box([?]i64)} = construct 0 {#box([?]i64)} (d)
              return boxed
            } }
            return next
          }
          out: [?]i64 = match r2 { case 0 (o: [?]i64) { return o } }
          return out
        }";
    let (result, counters) = run_counted(source, vec![i(4)]);
    assert_eq!(result[0].to_string(), "[1i64, 0i64, 1i64, 0i64]");
    assert_eq!(counters.copies, 0);
}

#[test]
fn swapping_carries() {
    let source = "
        def main(n: i64) -> (i64, i64) {
          a: i64, b: i64 = loop (x: i64 = 1i64, y: i64 = 2i64) for k: i64 < n { return y, x }
          return a, b
        }";
    assert_eq!(shown(&run(source, vec![i(3)])), "2i64 1i64");
}

#[test]
fn a_carry_that_stays_and_is_emitted() {
    let source = "
        def main(n: i64) -> ([?]i64, [?][?]i64, [?]i64) {
          a: [?]i64 = build [i < 2i64] { return i }
          x1: [?]i64, y1: [?]i64, e: [?][?]i64 = loop (x: [?]i64 = a, y: [?]i64 = a) for k: i64 < n emits((?)) { return x, x, x }
          return x1, e, y1
        }";
    assert_eq!(shown(&run(source, vec![i(2)])), "[0i64, 1i64] [[0i64, 1i64], [0i64, 1i64]] [0i64, 1i64]");
}

#[test]
fn functions_in_arrays_and_sums() {
    let source = "
        def main(x: f64) -> (f64) {
          g: fn(f64) -> (f64) = fn (a: f64) -> (f64) { b: f64 = f64.add(a, x) return b }
          h: fn(f64) -> (f64) = fn (c: f64) -> (f64) { d: f64 = apply g(c) e: f64 = f64.mul(d, d) return e }
          fs: [2]fn(f64) -> (f64) = array fn(f64) -> (f64) (g, h)
          r: f64 = loop (acc: f64 = 1.0f64) for k: i64 < 2i64 {
            one: fn(f64) -> (f64) = index fs [k]
            next: f64 = apply one(acc)
            return next
          }
          return r
        }";
    assert_eq!(shown(&run(source, vec![f(2.0)])), "25.0f64");
}

#[test]
fn units_are_arrays_with_a_shape_only() {
    let source = "
        def main(n: i64) -> ([?](), i64, [?][?]()) {
          u: [?]() = build [i < n] { return }
          d: i64 = dim u 0
          v: [?][?]() = build [j < 0i64] inner((n)) { w: [?]() = build [k < n] { return } return w }
          return u, d, v
        }";
    let result = run(source, vec![i(4)]);
    assert_eq!(result[1].to_string(), "4i64");
    assert_eq!(result[2].as_array().expect("an array").shape(), [0, 4]);
}

#[test]
fn empty_results_keep_stated_sizes() {
    let source = "
        def main(n: i64, m: i64) -> ([?][?]f64) {
          a: [?][?]f64 = build [i < n] inner((m)) { b: [?]f64 = build [j < m] { return 0.0f64 } return b }
          return a
        }";
    assert_eq!(run(source, vec![i(0), i(3)])[0].as_array().expect("an array").shape(), [0, 3]);
    assert_eq!(run(source, vec![i(2), i(0)])[0].as_array().expect("an array").shape(), [2, 0]);
}

#[test]
fn literals_updates_and_accumulators() {
    let source = "
        def main(n: i64) -> ([?][2]f64, [?]f64, f64) {
          r0: [2]f64 = array f64 (1.0f64, 2.0f64)
          r1: [2]f64 = array f64 (3.0f64, 4.0f64)
          m: [2][2]f64 = array [2]f64 (r0, r1)
          m1: [2][2]f64 = update m [0i64 : 2i64 : 1i64, 1i64] with r0
          zero: [?]f64 = build [z < 3i64] { return 0.0f64 }
          final: [?]f64, last: f64 = with_acc (h: acc([?]f64) = zero) {
            e: f64 = loop (c: f64 = 0.0f64) for k: i64 < n {
              i: i64 = i64.mod(k, 3i64)
              accumulate h [i] += 1.5f64
              d: f64 = f64.add(c, 1.0f64)
              return d
            }
            accumulate h slice [1i64 : 2i64 : 1i64] += r0
            accumulate h += zero
            return e
          }
          return m1, final, last
        }";
    let (result, counters) = run_counted(source, vec![i(4)]);
    assert_eq!(shown(&result), "[[1.0f64, 1.0f64], [3.0f64, 2.0f64]] [3.0f64, 2.5f64, 3.5f64] 4.0f64");
    assert_eq!(counters.accumulations, 6);
}

#[test]
fn par_recompute_trace() {
    let source = "
        def main(x: f64) -> (f64, f64) {
          a: f64, b: f64 = par { p: f64 = f64.add(x, 1.0f64) return p } { q: f64 = f64.mul(x, 2.0f64) return q }
          c: f64 = recompute { r: f64 = f64.mul(a, b) return r }
          t: f64 = trace \"here\" (c)
          return t, b
        }";
    let mut interpreter = interpreter(source);
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let sink = std::rc::Rc::clone(&seen);
    interpreter.set_trace(move |tag, values| sink.borrow_mut().push(format!("{tag}: {}", shown(values))));
    let result = try_call(&mut interpreter, vec![f(3.0)]).expect("a result");
    assert_eq!(shown(&result), "24.0f64 6.0f64");
    assert_eq!(*seen.borrow(), ["here: 24.0f64"]);
}

#[test]
fn match_with_a_default() {
    let source = "
        def main(k: i64) -> (i64) {
          is0: bool = i64.eq(k, 0i64)
          s: {#a(i64) | #b | #c([?]i64)} = if is0 {
            v: {#a(i64) | #b | #c([?]i64)} = construct 0 {#a(i64) | #b | #c([?]i64)} (k) return v
          } else {
            xs: [1]i64 = array i64 (k)
            w: {#a(i64) | #b | #c([?]i64)} = construct 2 {#a(i64) | #b | #c([?]i64)} (xs) return w
          }
          r: i64 = match s { case 0 (x: i64) { return 10i64 } else { return 20i64 } }
          return r
        }";
    assert_eq!(shown(&run(source, vec![i(0)])), "10i64");
    assert_eq!(shown(&run(source, vec![i(5)])), "20i64");
}

#[test]
fn integer_counters_of_other_types() {
    let source = "
        def main(n: u8) -> (u8) {
          r: u8 = loop (x: u8 = 0u8) for k: u8 < n { y: u8 = u8.add(x, k) return y }
          return r
        }";
    let result = run(source, vec![chadwick_interp::Value::Scalar(chadwick_core::Const::U8(255))]);
    assert_eq!(shown(&result), "129u8");
}

#[test]
fn empty_views_behind_their_buffer() {
    let source = "
        def main(n: i64) -> ([?]f64, [?]f64, [?][?]f64) {
          a: [?][?]f64 = build [i < n] inner((5i64)) { r: [?]f64 = build [j < 5i64] { return 1.0f64 } return r }
          t: [?][?]f64 = transpose a (1, 0)
          row: [?]f64 = index t [4i64]
          both: [?]f64 = concat(row, row)
          s: [?][?]f64 = slice t [4i64 : 5i64 : -1i64]
          c: [?][?]f64 = build [k < 2i64] inner((0i64)) { return row }
          return row, both, c
        }";
    let result = run(source, vec![i(0)]);
    assert_eq!(result[1].as_array().expect("an array").shape(), [0]);
    assert_eq!(result[2].as_array().expect("an array").shape(), [2, 0]);
}

#[test]
fn writing_in_two_dimensions() {
    let source = "
        def main(n: i64) -> ([?][?]i64, [?][?]i64) {
          z: [?][?]i64 = build [a < 2i64, b < 2i64] { return 0i64 }
          h: [?][?]i64 = hist [i < n, j < n] dest(z) rank 2 neutral(0i64) op (x: i64, y: i64) -> (i64) { s: i64 = i64.add(x, y) return s }
            { k: i64 = i64.sub(j, 1i64) return i, k, 1i64 }
          w: [?][?]i64 = scatter [l < n] dest(z) rank 2 { return l, l, 7i64 }
          return h, w
        }";
    assert_eq!(shown(&run(source, vec![i(3)])), "[[1i64, 1i64], [1i64, 1i64]] [[7i64, 0i64], [0i64, 7i64]]");
}

#[test]
fn accumulators_of_sums_and_paths() {
    let source = "
        type pair = #pair([?]f64, f64)
        def main(n: i64) -> (pair, [?]pair, [?][?]f64) {
          z: [?]f64 = build [i < n] { return 0.0f64 }
          p: pair = construct 0 pair (z, 1.0f64)
          q: [2]pair = array pair (p, p)
          m: [?][?]f64 = build [j < n] inner((?)) { return z }
          a: pair, b: [?]pair, c: [?][?]f64 = with_acc (ha: acc(pair) = p, hb: acc([?]pair) = q, hc: acc([?][?]f64) = m) {
            accumulate ha payload(0, 1) += 2.0f64
            accumulate ha payload(0, 0) [1i64] += 3.0f64
            accumulate ha += p
            accumulate hb [1i64] payload(0, 0) [0i64] += 5.0f64
            accumulate hc [1i64] [0i64] += 7.0f64
            accumulate hc slice [0i64 : 1i64 : 1i64] [0i64] += z
            return
          }
          return a, b, c
        }";
    let result = run(source, vec![i(2)]);
    assert_eq!(result[0].to_string(), "#0 ([0.0f64, 3.0f64]) (4.0f64)");
    assert_eq!(result[1].to_string(), "[#0 ([0.0f64, 0.0f64]) (1.0f64), #0 ([5.0f64, 0.0f64]) (1.0f64)]");
    assert_eq!(result[2].to_string(), "[[0.0f64, 0.0f64], [7.0f64, 0.0f64]]");
}

#[test]
fn accumulation_is_in_place() {
    let source = "
        def main(n: i64) -> ([?][?]f64) {
          m: [?][?]f64 = build [i < n, j < n] { return 0.0f64 }
          r: [?][?]f64 = with_acc (h: acc([?][?]f64) = m) {
            u: i64 = loop (c: i64 = 0i64) for k: i64 < n { accumulate h [k] [c] += 1.0f64 return k }
            return
          }
          return r
        }";
    let (_, counters) = run_counted(source, vec![i(50)]);
    assert_eq!((counters.copies, counters.allocations, counters.accumulations), (0, 1, 50));
}

#[test]
fn a_function_without_parameters_runs_once() {
    let source = "
        def table() -> ([?]i64) {
          t: [?]i64 = build [i < 10i64] { s: i64 = i64.mul(i, i) return s }
          return t
        }

        def main(n: i64) -> ([?]i64) {
          r: [?]i64 = build [i < n] { t: [?]i64 = call table() x: i64 = index t [i] return x }
          return r
        }";
    let (values, counters) = run_counted(source, vec![i(4)]);
    assert_eq!(shown(&values), "[0i64, 1i64, 4i64, 9i64]");
    assert_eq!(counters.operations, 10);
}
