//! How long typical loops take. Run with `cargo run --release -p chadwick-interp --example speed`.

use chadwick_core::{FunctionId, text};
use chadwick_interp::{Interpreter, Limits, Value};
use std::rc::Rc;
use std::time::Instant;

const PROGRAM: &str = "
    def map_sum(n: i64, k: f64) -> (f64) {
      xs: [?]f64 = build [h < n] { v: f64 = i64.to_f64(h) return v }
      g: fn(f64) -> (f64) = fn (x: f64) -> (f64) { y: f64 = f64.mul(x, k) return y }
      ys: [?]f64 = build [i < n] { a: f64 = index xs [i] b: f64 = apply g(a) return b }
      s: f64 = reduce [j < n] neutral(0.0f64) op (p: f64, q: f64) -> (f64) { r: f64 = f64.add(p, q) return r }
        { e: f64 = index ys [j] return e }
      return s
    }
    def scalar_loop(n: i64, k: f64) -> (f64) {
      r: f64 = loop (x: f64 = k) for i: i64 < n { y: f64 = f64.mul(x, 0.999f64) z: f64 = f64.add(y, 1.0f64) return z }
      return r
    }
    def forward(n: i64, k: f64) -> (f64) {
      d: f64 = jvp fn (t: f64) -> (f64) { u: f64 = call scalar_loop(n, t) return u } args(k) seeds(1.0f64)
      return d
    }
    def gradient(n: i64, k: f64) -> (f64) {
      d: f64 = vjp fn (t: f64) -> (f64) { u: f64 = call map_sum(n, t) return u } args(k) seeds(1.0f64)
      return d
    }
    def fib(n: i64) -> (i64) {
      small: bool = i64.lt(n, 2i64)
      r: i64 = if small { return n } else {
        a: i64 = i64.sub(n, 1i64) b: i64 = i64.sub(n, 2i64) c: i64 = call fib(a) d: i64 = call fib(b) e: i64 = i64.add(c, d) return e
      }
      return r
    }";

fn main() {
    let program = text::parse(PROGRAM).expect("a program");
    let mut interpreter = Interpreter::new(Rc::new(program), Limits::default());
    let million = vec![Value::i64(1_000_000), Value::f64(2.0)];
    let only: Option<u32> = std::env::args().nth(1).and_then(|arg| arg.parse().ok());
    for (function, args) in
        [(0, million.clone()), (1, million.clone()), (2, million.clone()), (3, million), (4, vec![Value::i64(27)])]
    {
        if only.is_some_and(|only| only != function) {
            continue;
        }
        let start = Instant::now();
        let result = interpreter.call(FunctionId(function), args).expect("a result");
        let name = &interpreter.program().functions[function as usize].name;
        println!("{name}: {} in {:?}", result[0], start.elapsed());
    }
}
