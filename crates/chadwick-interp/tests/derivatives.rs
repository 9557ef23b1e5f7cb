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

/// `f(x, y, …)` in all modes must have these partial derivatives at the point.
fn check_gradient(body: &str, names: &[&str], point: &[f64], gradient: &[f64]) {
    let params: Vec<String> = names.iter().map(|name| format!("{name}: f64")).collect();
    let outer: Vec<String> = (0..names.len()).map(|at| format!("p{at}: f64")).collect();
    let args: Vec<String> = (0..names.len()).map(|at| format!("p{at}")).collect();
    let lambda = format!("fn ({}) -> (f64) {{ {body} }}", params.join(", "));
    let results: Vec<String> = (0..names.len()).map(|at| format!("g{at}: f64")).collect();
    let names_out: Vec<String> = (0..names.len()).map(|at| format!("g{at}")).collect();
    let types: Vec<&str> = vec!["f64"; names.len()];
    let reverse = format!(
        "def main({}) -> ({}) {{ {} = vjp {lambda} args({}) seeds(1.0f64) return {} }}",
        outer.join(", "),
        types.join(", "),
        results.join(", "),
        args.join(", "),
        names_out.join(", ")
    );
    let values: Vec<_> = point.iter().map(|x| f(*x)).collect();
    let found = run(&reverse, values.clone());
    for (found, wanted) in found.iter().zip(gradient) {
        assert_close(float(found), *wanted);
    }
    for (at, wanted) in gradient.iter().enumerate() {
        let seeds: Vec<&str> = (0..names.len()).map(|k| if k == at { "1.0f64" } else { "0.0f64" }).collect();
        let forward = format!(
            "def main({}) -> (f64) {{ t: f64 = jvp {lambda} args({}) seeds({}) return t }}",
            outer.join(", "),
            args.join(", "),
            seeds.join(", ")
        );
        assert_close(float(&run(&forward, values.clone())[0]), *wanted);
    }
}

#[test]
fn edges_of_powers_ties_and_absolute_values() {
    let pow = "r: f64 = f64.pow(x, y) return r";
    check_gradient(pow, &["x", "y"], &[0.0, 0.0], &[0.0, 0.0]);
    check_gradient(pow, &["x", "y"], &[0.0, 2.0], &[0.0, 0.0]);
    check_gradient(pow, &["x", "y"], &[0.0, 1.0], &[1.0, 0.0]);
    check_gradient(pow, &["x", "y"], &[2.0, 0.0], &[0.0, 2.0f64.ln()]);
    for op in ["min", "max"] {
        check_gradient(&format!("r: f64 = f64.{op}(x, y) return r"), &["x", "y"], &[1.5, 1.5], &[1.0, 0.0]);
    }
    check_gradient("r: f64 = f64.abs(x) return r", &["x"], &[0.0], &[0.0]);
    check_gradient("r: f64 = f64.hypot(x, y) return r", &["x", "y"], &[3.0, 4.0], &[0.6, 0.8]);
    check_gradient("r: f64 = f64.mod(x, y) return r", &["x", "y"], &[7.5, 2.0], &[1.0, -3.0]);
    check_gradient("r: f64 = f64.fma(x, y, z) return r", &["x", "y", "z"], &[1.5, -2.0, 0.25], &[-2.0, 1.5, 1.0]);
    check_gradient("r: f64 = f64.ldexp(x, 3i32) return r", &["x"], &[0.75], &[8.0]);
    check_gradient("a: i32 = f64.to_i32(x) r: f64 = i32.to_f64(a) return r", &["x"], &[3.7], &[1.0]);
    check_gradient("r: f64 = f64.floor(x) return r", &["x"], &[3.7], &[0.0]);
}

#[test]
fn a_zero_cotangent_stops_an_infinite_partial() {
    // sqrt has an infinite derivative at 0, but its cotangent is 0.
    let source = "
        def main(x: f64) -> (f64) {
          g: f64 = vjp fn (y: f64) -> (f64) { a: f64 = f64.sqrt(y) r: f64 = f64.mul(a, 0.0f64) return r } args(x) seeds(1.0f64)
          return g
        }";
    assert_eq!(float(&run(source, vec![f(0.0)])[0]), 0.0);
    let untaken = "
        positive: bool = f64.lt(0.0f64, x)
        safe: f64 = f64.sqrt(x)
        r: f64 = if positive { return safe } else { return x }
        return r";
    check_gradient(untaken, &["x"], &[0.0], &[1.0]);
}

#[test]
fn nested_derivatives_do_not_confuse_perturbations() {
    // d/dx (x * d/dy (x + y)) = 1 at any point; confusing the two gives 2.
    for (outer, inner) in [("jvp", "jvp"), ("jvp", "vjp"), ("vjp", "jvp"), ("vjp", "vjp")] {
        let source = format!(
            "def main(p: f64) -> (f64) {{
               d: f64 = {outer} fn (x: f64) -> (f64) {{
                 e: f64 = {inner} fn (y: f64) -> (f64) {{ s: f64 = f64.add(x, y) return s }} args(1.0f64) seeds(1.0f64)
                 r: f64 = f64.mul(x, e)
                 return r
               }} args(p) seeds(1.0f64)
               return d
             }}"
        );
        assert_close(float(&run(&source, vec![f(3.0)])[0]), 1.0);
    }
}

#[test]
fn third_derivatives_in_every_mix_of_modes() {
    // d³/dx³ exp(2x) sin x
    let x = 0.4f64;
    let wanted = (2.0 * x).exp() * (2.0 * x.sin() + 11.0 * x.cos());
    for bits in 0..8 {
        let mode = |at: usize| if bits >> at & 1 == 0 { "jvp" } else { "vjp" };
        let source = format!(
            "def main(p: f64) -> (f64) {{
               d: f64 = {} fn (x: f64) -> (f64) {{
                 e: f64 = {} fn (y: f64) -> (f64) {{
                   g: f64 = {} fn (z: f64) -> (f64) {{
                     t: f64 = f64.mul(2.0f64, z) u: f64 = f64.exp(t) v: f64 = f64.sin(z) w: f64 = f64.mul(u, v) return w
                   }} args(y) seeds(1.0f64)
                   return g
                 }} args(x) seeds(1.0f64)
                 return e
               }} args(p) seeds(1.0f64)
               return d
             }}",
            mode(0),
            mode(1),
            mode(2)
        );
        assert_close(float(&run(&source, vec![f(x)])[0]), wanted);
    }
}

#[test]
fn seeds_may_be_active() {
    // The derivative by s of s * f'(x) is f'(x).
    for (outer, inner) in [("jvp", "jvp"), ("jvp", "vjp"), ("vjp", "jvp"), ("vjp", "vjp")] {
        let source = format!(
            "def main(p: f64) -> (f64) {{
               d: f64 = {outer} fn (s: f64) -> (f64) {{
                 e: f64 = {inner} fn (y: f64) -> (f64) {{ q: f64 = f64.mul(y, y) return q }} args(p) seeds(s)
                 return e
               }} args(5.0f64) seeds(1.0f64)
               return d
             }}"
        );
        assert_close(float(&run(&source, vec![f(3.0)])[0]), 6.0);
    }
}

const POLYNOMIAL: &str = "
  fn (xs: [?]f64) -> ([?]f64) {
    n: i64 = dim xs 0
    ys: [?]f64 = scan [i < n] neutral(1.0f64) op (a: f64, b: f64) -> (f64) { c: f64 = f64.mul(a, b) return c }
      { x: f64 = index xs [i] return x }
    zs: [?]f64 = loop (w: [?]f64 = ys) for k: i64 < n {
      old: f64 = index w [k]
      sq: f64 = f64.mul(old, old)
      up: [?]f64 = update w [k] with sq
      return up
    }
    return zs
  }";

/// The Jacobian of [`POLYNOMIAL`] at 2, 0, 3: outputs are 4, 0, 0 and derivatives of squares of prefix products.
#[test]
fn jacobians_by_jmp_and_mjp() {
    let jmp = format!(
        "def main(xs0: [?]f64, seeds0: [?][?]f64) -> ([?]f64, [?][?]f64) {{
           p: [?]f64, j: [?][?]f64 = jmp with_primal count(3i64) {POLYNOMIAL} args(xs0) seeds(seeds0)
           return p, j
         }}"
    );
    let identity =
        chadwick_interp::Value::array_f64(&[3, 3], vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]).expect("an array");
    let by_columns = run(&jmp, vec![floats(&[2.0, 0.5, 3.0]), identity.clone()]);
    let by_rows = run(&jmp.replace("jmp", "mjp"), vec![floats(&[2.0, 0.5, 3.0]), identity]);
    assert_eq!(float_list(&by_columns[0]), [4.0, 1.0, 9.0]);
    assert_eq!(float_list(&by_rows[0]), [4.0, 1.0, 9.0]);
    let (columns, rows) = (float_list(&by_columns[1]), float_list(&by_rows[1]));
    for row in 0..3 {
        for column in 0..3 {
            assert_close(rows[3 * row + column], columns[3 * column + row]);
        }
    }
    assert_eq!(rows, [4.0, 0.0, 0.0, 1.0, 4.0, 0.0, 9.0, 36.0, 6.0]);
    let none = chadwick_interp::Value::array_f64(&[0, 3], vec![]).expect("an array");
    let empty = jmp.replace("3i64", "0i64");
    for source in [empty.clone(), empty.replace("jmp", "mjp")] {
        let result = run(&source, vec![floats(&[2.0, 0.5, 3.0]), none.clone()]);
        assert_eq!(float_list(&result[0]), [4.0, 1.0, 9.0]);
        assert_eq!(result[1].as_array().expect("an array").shape(), [0, 3]);
    }
}

#[test]
fn products_with_zeros_are_exact() {
    let source = "
        def main(xs: [?]f64) -> ([?]f64) {
          g: [?]f64 = vjp fn (ys: [?]f64) -> (f64) {
            n: i64 = dim ys 0
            p: f64 = reduce [i < n] neutral(1.0f64) op (a: f64, b: f64) -> (f64) { c: f64 = f64.mul(a, b) return c }
              { y: f64 = index ys [i] return y }
            return p
          } args(xs) seeds(1.0f64)
          return g
        }";
    assert_eq!(float_list(&run(source, vec![floats(&[2.0, 0.0, 4.0])])[0]), [0.0, 8.0, 0.0]);
    assert_eq!(float_list(&run(source, vec![floats(&[0.0, 0.0, 4.0])])[0]), [0.0, 0.0, 0.0]);
    assert_eq!(float_list(&run(source, vec![floats(&[])])[0]), [] as [f64; 0]);
}

#[test]
fn tape_entries_are_operations_and_inputs() {
    let source = "
        def main(n: i64, xs: [?]f64) -> ([?]f64) {
          g: [?]f64 = vjp fn (ys: [?]f64) -> (f64) {
            p: f64 = reduce [i < n] neutral(0.0f64) op (a: f64, b: f64) -> (f64) { c: f64 = f64.add(a, b) return c }
              { y: f64 = index ys [i] z: f64 = f64.mul(y, y) return z }
            return p
          } args(xs) seeds(1.0f64)
          return g
        }";
    let (result, counters) = run_counted(source, vec![i(4), floats(&[1.0, 2.0, 3.0, 4.0])]);
    assert_eq!(float_list(&result[0]), [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(counters.tape_entries, 4 + 8);
    assert_eq!(counters.differentiated_operations, 8);
}

#[test]
fn an_update_in_a_differentiated_loop_is_in_place() {
    let source = "
        def main(n: i64, x: f64) -> (f64) {
          g: f64 = vjp fn (y: f64) -> (f64) {
            a: [?]f64 = build [i < n] { return 1.0f64 }
            r: [?]f64 = loop (w: [?]f64 = a) for k: i64 < n {
              m: i64 = i64.sub(k, 1i64)
              first: bool = i64.lt(m, 0i64)
              before: f64 = if first { return y } else { v: f64 = index w [m] return v }
              z: f64 = f64.mul(before, y)
              up: [?]f64 = update w [k] with z
              return up
            }
            last: i64 = i64.sub(n, 1i64)
            out: f64 = index r [last]
            return out
          } args(x) seeds(1.0f64)
          return g
        }";
    let (result, counters) = run_counted(source, vec![i(3), f(2.0)]);
    assert_close(float(&result[0]), 4.0 * 8.0);
    assert_eq!(counters.copies, 0);
}

const LISTS: &str = "
    type list = #cons(f64, list) | #nil
    def total(l: list) -> (f64) {
      t: f64 = match l {
        case 0 (head: f64, tail: list) { below: f64 = call total(tail) s: f64 = f64.mul(head, head) sum: f64 = f64.add(s, below) return sum }
        case 1 () { return 0.0f64 }
      }
      return t
    }
    def count(n: i64) -> (list) {
      empty: list = construct 1 list ()
      l: list = loop (rest: list = empty) for k: i64 < n { x: f64 = i64.to_f64(k) c: list = construct 0 list (x, rest) return c }
      return l
    }
";

#[test]
fn reverse_mode_through_a_million_recursive_calls() {
    let source = format!(
        "{LISTS}
         def main(n: i64) -> (list, f64) {{
           l: list = call count(n)
           p: f64, g: list = vjp with_primal fn (m: list) -> (f64) {{ s: f64 = call total(m) return s }} args(l) seeds(0.5f64)
           back: f64 = call total(g)
           return g, back
         }}"
    );
    // The gradient of half the sum of squares is the list itself.
    let n = 1_000_000i64;
    let sum: f64 = (0..n).map(|k| (k * k) as f64).sum();
    assert_close(float(&run(&source, vec![i(n)])[1]) / sum, 1.0);
}

#[test]
fn forward_mode_over_lists() {
    let source = format!(
        "{LISTS}
         def main(n: i64) -> (f64) {{
           l: list = call count(n)
           t: f64 = jvp fn (m: list) -> (f64) {{ s: f64 = call total(m) return s }} args(l) seeds(l)
           return t
         }}"
    );
    assert_close(float(&run(&source, vec![i(4)])[0]), 28.0);
}

#[test]
fn a_seed_of_another_constructor_is_an_error() {
    let source = format!(
        "{LISTS}
         def main(n: i64) -> (f64) {{
           l: list = call count(n)
           m: list = call count(1i64)
           t: f64 = jvp fn (k: list) -> (f64) {{ s: f64 = call total(k) return s }} args(l) seeds(m)
           return t
         }}"
    );
    assert_eq!(run_error(&source, vec![i(2)]).message, "a seed has another constructor than the primal");
}

#[test]
fn captured_functions_are_differentiated() {
    let source = "
        def main(x: f64) -> (f64) {
          d: f64 = vjp fn (y: f64) -> (f64) {
            scale: fn(f64) -> (f64) = fn (a: f64) -> (f64) { b: f64 = f64.mul(a, y) return b }
            fs: [1]fn(f64) -> (f64) = array fn(f64) -> (f64) (scale)
            g: fn(f64) -> (f64) = index fs [0i64]
            e: f64 = apply g(y)
            h: f64 = apply g(e)
            return h
          } args(x) seeds(1.0f64)
          return d
        }";
    assert_close(float(&run(source, vec![f(2.0)])[0]), 12.0);
}

#[test]
fn integers_and_booleans_in_inputs() {
    let source = "
        def main(n: i32, x: f64, b: bool) -> (i32, f64, bool, i32) {
          dn: i32, dx: f64, db: bool = vjp fn (m: i32, y: f64, c: bool) -> (i32, f64) {
            q: i32 = i32.mul(m, m)
            z: f64 = if c { s: f64 = f64.mul(y, y) return s } else { return y }
            return q, z
          } args(n, x, b) seeds(3i32, 1.0f64)
          wrapped: i32 = jvp fn (k: i32) -> (i32) {
            k2: i32 = i32.mul(k, k) k3: i32 = i32.mul(k2, k) k4: i32 = i32.mul(4i32, k) k5: i32 = i32.add(k3, k4) return k5
          } args(65536i32) seeds(1i32)
          return dn, dx, db, wrapped
        }";
    let args = vec![chadwick_interp::Value::Scalar(chadwick_core::Const::I32(7)), f(1.5), common_bool(true)];
    assert_eq!(shown(&run(source, args)), "42i32 3.0f64 false 4i32");
}

fn common_bool(value: bool) -> chadwick_interp::Value {
    chadwick_interp::Value::Scalar(chadwick_core::Const::Bool(value))
}

#[test]
fn integer_division_has_a_derivative_even_where_squares_wrap_to_zero() {
    let source = "
        def main(x: i8, y: i8) -> (i8, i8) {
          dx: i8, dy: i8 = vjp fn (a: i8, b: i8) -> (i8) { c: i8 = i8.div(a, b) return c } args(x, y) seeds(1i8)
          return dx, dy
        }";
    let small = |value: i8| chadwick_interp::Value::Scalar(chadwick_core::Const::I8(value));
    assert_eq!(shown(&run(source, vec![small(100), small(16)])), "0i8 0i8");
    assert_eq!(shown(&run(source, vec![small(100), small(2)])), "0i8 -25i8");
}

#[test]
fn hist_scatter_and_accumulators_are_differentiated() {
    let source = "
        def main(n: i64, xs: [?]f64, is: [?]i64) -> ([?]f64) {
          g: [?]f64 = vjp fn (ys: [?]f64) -> (f64) {
            z: [?]f64 = build [k < 3i64] { return 1.0f64 }
            h: [?]f64 = hist [j < n] dest(z) rank 1 neutral(1.0f64) op (p: f64, q: f64) -> (f64) { r: f64 = f64.mul(p, q) return r }
              { i: i64 = index is [j] v: f64 = index ys [j] return i, v }
            w: [?]f64 = scatter [j2 < n] dest(h) rank 1 { m: bool = i64.eq(j2, 0i64)
              t: i64 = if m { return 2i64 } else { return -1i64 } u: f64 = index ys [j2] return t, u }
            final: [?]f64 = with_acc (acc0: acc([?]f64) = w) { first: f64 = index ys [0i64] accumulate acc0 [1i64] += first return }
            s: f64 = reduce [o < 3i64] neutral(0.0f64) op (a: f64, b: f64) -> (f64) { c: f64 = f64.add(a, b) return c }
              { e: f64 = index final [o] return e }
            return s
          } args(xs) seeds(1.0f64)
          return g
        }";
    // h = [x0 x2, x1, 1], then final = [x0 x2, x1 + x0, x0]
    let result = run(source, vec![i(4), floats(&[2.0, 3.0, 5.0, 7.0]), ints(&[0, 1, 0, 9])]);
    assert_eq!(float_list(&result[0]), [7.0, 1.0, 2.0, 0.0]);
}

#[test]
fn a_pullback_serves_many_cotangents() {
    let source = "
        def main(xs: [?]f64, k: f64) -> (f64, f64) {
          a: f64 = index xs [0i64] b: f64 = index xs [1i64]
          c: f64 = f64.mul(a, b) d: f64 = f64.mul(c, k)
          return c, d
        }";
    let mut interpreter = interpreter(source);
    let args = vec![floats(&[2.0, 3.0]), f(10.0)];
    let (results, pullback) = interpreter.pullback(chadwick_core::FunctionId(0), args, &[0]).expect("a pullback");
    assert_eq!(shown(&results), "6.0f64 60.0f64");
    let first = interpreter.pull(&pullback, &[f(1.0), f(0.0)]).expect("cotangents");
    let second = interpreter.pull(&pullback, &[f(0.0), f(1.0)]).expect("cotangents");
    assert_eq!((first.len(), float_list(&first[0])), (1, vec![3.0, 2.0]));
    assert_eq!(float_list(&second[0]), [30.0, 20.0]);
}

#[test]
fn hessian_vector_product_of_an_array_function() {
    // f = Σ x³ / 6 has the Hessian diag(x).
    let source = "
        def main(n: i64, xs: [?]f64, vs: [?]f64) -> ([?]f64) {
          h: [?]f64 = jvp fn (ys: [?]f64) -> ([?]f64) {
            g: [?]f64 = vjp fn (zs: [?]f64) -> (f64) {
              s: f64 = reduce [i < n] neutral(0.0f64) op (a: f64, b: f64) -> (f64) { c: f64 = f64.add(a, b) return c }
                { z: f64 = index zs [i] p: f64 = f64.pow(z, 3.0f64) q: f64 = f64.div(p, 6.0f64) return q }
              return s
            } args(ys) seeds(1.0f64)
            return g
          } args(xs) seeds(vs)
          return h
        }";
    let result = run(source, vec![i(3), floats(&[1.0, 2.0, 3.0]), floats(&[1.0, 0.0, -1.0])]);
    for (found, wanted) in float_list(&result[0]).iter().zip([1.0, 0.0, -3.0]) {
        assert_close(*found, wanted);
    }
}

#[test]
fn a_zero_derivative_has_no_sign() {
    // The derivative of s * x² by x at 0 is 0, also where s is negative, and also where it is differentiated by s.
    for mode in ["jvp", "vjp"] {
        let inner = format!(
            "d: f64 = {mode} fn (y: f64) -> (f64) {{ a: f64 = f64.mul(y, y) b: f64 = f64.mul(a, s) return b }} args(x) seeds(1.0f64)"
        );
        let plain = format!("def main(s: f64, x: f64) -> (f64) {{ {inner} return d }}");
        assert!(float(&run(&plain, vec![f(-1.5), f(0.0)])[0]).is_sign_positive());
        for outer in ["jvp", "vjp"] {
            let source = format!(
                "def main(t: f64, x: f64) -> (f64) {{
                   p: f64, q: f64 = {outer} with_primal fn (s: f64) -> (f64) {{ {inner} return d }} args(t) seeds(1.0f64)
                   return p
                 }}"
            );
            assert!(float(&run(&source, vec![f(-1.5), f(0.0)])[0]).is_sign_positive());
        }
    }
}
