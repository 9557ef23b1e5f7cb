//! Native code against the interpreter: matrix products of all shapes, errors, recursion, strict floats.

use chadwick::values::compare::{Tolerance, difference};
use chadwick::{Backend, Error, Limits, NativeOptions, Program, Value};
use std::time::{Duration, Instant};

fn native(source: &str, strict: bool) -> (Program, Program) {
    let program = Program::from_source(source).and_then(|program| program.with_backend(Backend::Interpreter)).expect("a program");
    let compiled =
        program.with_backend(Backend::Native(NativeOptions { strict, quick: false, threads: 2 })).expect("native code");
    (program, compiled)
}

/// Numbers without a pattern.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|at| ((at * 7919 + 13) % 1000) as f64 / 250.0 - 2.0).collect()
}

fn array(shape: &[usize]) -> Value {
    Value::new(shape, numbers(shape.iter().product())).expect("as many as the shape says")
}

#[test]
fn matrix_products_of_all_shapes() {
    let source = "
def dot [n] (x: [n]f64) (y: [n]f64) = f64.sum (map2 (*) x y)
entry product [n][m][k] (a: [n][m]f64) (b: [m][k]f64) = map (\\r -> map (dot r) (transpose b)) a
entry by_rows [n][m][k] (a: [n][m]f64) (b: [k][m]f64) = map (\\r -> map (dot r) b) a
entry of_transposes [n][m][k] (a: [m][n]f64) (b: [k][m]f64) = map (\\r -> map (dot r) b) (transpose a)
entry turned [n][m][k] (a: [n][m]f64) (b: [m][k]f64) = map (\\c -> map (\\r -> dot r c) a) (transpose b)
entry columns [n][m] (a: [m][n]f64) (x: [m]f64) = map (dot x) (transpose a)
entry layer [n][m][k] (a: [n][m]f64) (b: [m][k]f64) = map (\\r -> map2 (\\c i -> f64.max 0 (dot r c + f64.i64 i)) (transpose b) (iota k)) a
entry batch [b][n][m][k] (a: [b][n][m]f64) (c: [b][m][k]f64) = map2 (\\a c -> map (\\r -> map (dot r) (transpose c)) a) a c
entry by_rows_of_many [b][n][m][k] (a: [n][m]f64) (c: [b][k][m]f64) = map (\\r -> map (map (dot r)) c) a
entry rows_of_many [b][n][m][k] (a: [b][n][m]f64) (c: [k][m]f64) = map (map (\\r -> map (dot r) c)) a
entry rows_of_parts [b][n][m][k] (a: [b][n][m]f64) (c: [k][m]f64) = map (map (\\r -> map (dot r) c)) a[:, n / 2:]
entry rows_turned [b][n][m][k] (a: [b][n][m]f64) (c: [k][m]f64) = map (map (\\r -> map (dot r) c)) (transpose a)
entry rows_apart [b][n][m][k] (a: [b][n][m]f64) (c: [b][k][m]f64) = map (\\c -> map (map (\\r -> map (dot r) c)) a) c
entry many_by_many [b][n][m][k] (a: [b][n][m]f64) (c: [b][k][m]f64) = map (map (\\r -> map (map (dot r)) c)) a
entry cotangents [b][n][m][k] (a: [b][n][m]f64) (c: [b][k][m]f64) =
  vjp (\\(a, c) -> map (map (\\r -> map (map (dot r)) c)) a) (a, c) (map (map (\\r -> map (map (\\s -> r[0] + s[0])) c)) a)";
    let (interpreted, compiled) = native(source, false);
    for (n, m, k) in
        [(0, 3, 2), (1, 1, 1), (3, 0, 4), (5, 7, 0), (4, 4, 8), (7, 9, 25), (33, 17, 49), (64, 300, 50), (150, 20, 31)]
    {
        let cases = [
            ("product", array(&[n, m]), array(&[m, k])),
            ("by_rows", array(&[n, m]), array(&[k, m])),
            ("of_transposes", array(&[m, n]), array(&[k, m])),
            ("turned", array(&[n, m]), array(&[m, k])),
            ("layer", array(&[n, m]), array(&[m, k])),
            ("columns", array(&[m, n]), array(&[m])),
            ("batch", array(&[3, n, m]), array(&[3, m, k])),
            ("by_rows_of_many", array(&[n, m]), array(&[3, k, m])),
            ("rows_of_many", array(&[3, n, m]), array(&[k, m])),
            ("rows_of_parts", array(&[3, n, m]), array(&[k, m])),
            ("rows_turned", array(&[3, n, m]), array(&[k, m])),
            ("rows_apart", array(&[2, n, m]), array(&[2, k, m])),
            ("many_by_many", array(&[2, n, m]), array(&[2, k, m])),
            ("cotangents", array(&[2, n, m]), array(&[2, k, m])),
        ];
        // Where there is no first element to make a cotangent of, and where the interpreter takes long, there is none.
        let has_cotangents = m > 0 && n * m * k < 100_000;
        let cases = cases.into_iter().filter(|(entry, ..)| has_cotangents || *entry != "cotangents");
        for (entry, a, b) in cases {
            let args = [a, b];
            let wanted = interpreted.function(entry).and_then(|function| function.call(&args)).expect("a value");
            let found = compiled.function(entry).and_then(|function| function.call(&args)).expect("a value");
            assert_eq!(difference(&found, &wanted, &Tolerance::uniform(1e-12)), None, "{entry} {n} {m} {k}");
        }
    }
}

/// More rows than a number can count, all of them empty: nothing to do, and nothing that takes time.
/// Sums down columns go side by side, some of them in each chunk. The chunks meet wherever a number of columns is cut.
#[test]
fn columns_in_chunks_are_all_there() {
    let source = "
def softplus (z: f64) : f64 = f64.max z 0 + f64.log (1 + f64.exp (-(f64.abs z)))
def dot [n] (a: [n]f64) (b: [n]f64) : f64 = f64.sum (map2 (*) a b)
entry slopes [n][d] (w: [d]f64) (x: [n][d]f64) (y: [n]f64) : [d]f64 =
  grad (\\w -> f64.sum (map2 (\\row label -> let z = dot row w in softplus z - label * z) x y) + 0.5 * dot w w) w";
    let (interpreted, compiled) = native(source, false);
    assert!(compiled.c_text().expect("native code").contains("= cw_lane_chunks("), "chunks of iterations side by side");
    for columns in [1, 16, 31, 34, 40, 50, 64, 95, 97, 100, 128, 160, 201] {
        let args = [array(&[columns]), array(&[700, columns]), array(&[700])];
        let call = |program: &Program| program.function("slopes").and_then(|slopes| slopes.call(&args)).expect("slopes");
        assert_eq!(difference(&call(&compiled), &call(&interpreted), &Tolerance::uniform(1e-9)), None, "{columns} columns");
    }
}

#[test]
fn products_without_columns_are_done_at_once() {
    let source = "
entry rows [b][n][m][k] (a: [b][n][m]f64) (c: [k][m]f64) = map (map (\\r -> map (\\s -> f64.sum (map2 (*) r s)) c)) a";
    let (_, compiled) = native(source, false);
    let none = |shape: &[usize]| Value::new(shape, Vec::<f64>::new()).expect("no elements");
    let args = [none(&[1 << 40, (1 << 24) + 1, 0]), none(&[0, 0])];
    let found = compiled.function("rows").and_then(|function| function.call(&args)).expect("a value");
    assert_eq!(found[0].shape(), [1 << 40, (1 << 24) + 1, 0]);
}

#[test]
fn adjoints_of_products_and_no_cotangent_times_infinity() {
    let source = "
entry gradient [n][m][k] (a: [n][m]f64) (b: [m][k]f64) (seed: [n][k]f64) =
  vjp (\\(a, b) -> map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) (transpose b)) a) (a, b) seed";
    let (interpreted, compiled) = native(source, false);
    for (n, m, k) in [(0, 2, 3), (2, 0, 3), (1, 9, 1), (20, 9, 30), (33, 40, 27)] {
        let args = [array(&[n, m]), array(&[m, k]), array(&[n, k])];
        let wanted = interpreted.function("gradient").and_then(|function| function.call(&args)).expect("values");
        let found = compiled.function("gradient").and_then(|function| function.call(&args)).expect("values");
        assert_eq!(difference(&found, &wanted, &Tolerance::uniform(1e-12)), None, "{n} {m} {k}");
    }
    let (n, m, k) = (12, 17, 31);
    let mut entries = numbers(m * k);
    entries[40] = f64::INFINITY;
    let mut seed = numbers(n * k);
    seed.iter_mut().skip(9).step_by(k).for_each(|weight| *weight = 0.0);
    let args = [array(&[n, m]), Value::new([m, k], entries).expect("fits"), Value::new([n, k], seed).expect("fits")];
    let wanted = interpreted.function("gradient").and_then(|function| function.call(&args)).expect("values");
    let found = compiled.function("gradient").and_then(|function| function.call(&args)).expect("values");
    assert_eq!(difference(&found, &wanted, &Tolerance::uniform(1e-12)), None);
    assert!(found[0].as_slice::<f64>().expect("floats").iter().all(|x| x.is_finite()));
}

#[test]
fn what_an_extremum_does_not_choose_gets_nothing_of_an_infinite_cotangent() {
    let source = "
entry roots [n] (x: [n]f64): [n]f64 = vjp (\\x -> f64.sum (map (\\x -> f64.sqrt (f64.max 0 x)) x)) x 1
entry least [n] (x: [n]f64) (y: [n]f64) (seed: [n]f64) = vjp (\\(x, y) -> map2 f64.min x y) (x, y) seed";
    let (interpreted, compiled) = native(source, false);
    let x = Value::from(vec![0.0, -1.0, 4.0, f64::INFINITY]);
    let args = [x.clone(), vec![1.0, -2.0, 4.0, 5.0].into(), vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0].into()];
    for (entry, args) in [("roots", &[x][..]), ("least", &args[..])] {
        let wanted = interpreted.function(entry).and_then(|function| function.call(args)).expect("values");
        let found = compiled.function(entry).and_then(|function| function.call(args)).expect("values");
        assert_eq!(difference(&found, &wanted, &Tolerance::uniform(0.0)), None, "{entry}");
    }
}

#[test]
fn errors_are_those_of_the_interpreter() {
    let source = "
entry index (xs: []i64) (i: i64) = xs[i]
entry rows (xs: [][]f64) (i: i64) (j: i64) = f64.sum (map (\\r -> r[j]) xs[0:i])
entry divide (x: i32) (y: i32) = map (\\z -> z / y) [x, x]
entry power (x: i64) (y: i64) = x ** y
entry claim (x: i64) = assert (x > 0) (x + 1)
entry slice (xs: []i64) (i: i64) = xs[i:]
entry write (xs: []i64) (i: i64) = copy xs with [i] = 1
entry together [n][m] (xs: [n]i64) (ys: [m]i64) = map2 (+) xs (ys :> [n]i64)
entry chosen [n] (xs: [n]i64) (k: i64) = map (\\i -> if i == k then xs else (filter (> i) xs :> [n]i64)) (iota 3)
entry promised [n] (xs: [n]i64) = map (\\i -> (iota (if i >= 0 then n - 1 else 4) :> [n]i64)) (iota 3)
entry filtered [n] (xs: [n]i64) = map (\\i -> (filter (> i) xs :> [n]i64)) (iota 3)
entry reshape [n] (xs: [n]i64) (k: i64) = map i64.sum (unflatten (xs :> [k * 2]i64))
entry below [n][m] (xs: [n]i64) (ys: [m]i64) = map (\\y -> loop s = y for j < n do s + ys[m - 1 - j]) ys
entry above [n][m] (xs: [n]i64) (ys: [m]i64) = map (\\y -> loop s = y for j < n do s + ys[n - 1 - j]) ys
entry ragged (n: i64) = map (\\i -> map (+ i) (iota i)) (iota n) |> map length";
    let ragged_is_refused = Program::from_source(source).is_err();
    let source = if ragged_is_refused { source.rsplit_once("\nentry ragged").expect("is there").0 } else { source };
    let (interpreted, compiled) = native(source, true);
    let xs = || Value::from(vec![1i64, 2, 3]);
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("index", vec![xs(), 3i64.into()]),
        ("index", vec![xs(), (-1i64).into()]),
        ("rows", vec![array(&[2, 3]), 2i64.into(), 3i64.into()]),
        ("rows", vec![array(&[2, 3]), 3i64.into(), 1i64.into()]),
        ("divide", vec![1i32.into(), 0i32.into()]),
        ("power", vec![2i64.into(), (-1i64).into()]),
        ("claim", vec![0i64.into()]),
        ("slice", vec![xs(), 4i64.into()]),
        ("write", vec![xs(), 3i64.into()]),
        ("together", vec![xs(), vec![1i64].into()]),
        ("reshape", vec![xs(), 1i64.into()]),
        ("chosen", vec![xs(), 0i64.into()]),
        ("promised", vec![xs()]),
        ("filtered", vec![xs()]),
        ("below", vec![xs(), vec![1i64, 2].into()]),
        ("above", vec![xs(), vec![1i64, 2].into()]),
    ];
    for (entry, args) in cases {
        let wanted = interpreted.function(entry).and_then(|function| function.call(&args)).expect_err(entry);
        // Twice: a failure leaves nothing behind.
        for _ in 0..2 {
            let found = compiled.function(entry).and_then(|function| function.call(&args)).expect_err(entry);
            assert_eq!(found.message(), wanted.message(), "{entry}");
            let (Error::Runtime { error: found, .. }, Error::Runtime { error: wanted, .. }) = (&found, &wanted) else {
                panic!("{entry}: no error of the run");
            };
            assert_eq!((&found.kind, found.span), (&wanted.kind, wanted.span), "{entry}");
        }
    }
}

#[test]
fn recursion_a_million_calls_deep() {
    let source = "
type rec list = #nil | #cons i64 list
def rec upto (n: i64) : list = if n == 0 then #nil else #cons n (upto (n - 1))
def rec total (xs: list) : i64 = match xs case #nil -> 0 case #cons x rest -> x + total rest
entry sum (n: i64) = total (upto n)";
    let (_, compiled) = native(source, false);
    let sum = compiled.function("sum").expect("an entry point");
    assert_eq!(sum.call(&[1_000_000i64.into()]).expect("a value"), [500_000_500_000i64.into()]);
    compiled.set_limits(Limits { max_depth: Some(1000), ..Limits::default() });
    assert_eq!(sum.call(&[1_000_000i64.into()]).expect_err("too deep").message(), "too many nested calls");
    assert_eq!(sum.call(&[900i64.into()]).expect("a value"), [405_450i64.into()]);
}

/// Recursion that goes on inside another one, through a function that is not recursive, is as deep as both; what is over does not count.
#[test]
fn depth_is_counted_through_all_functions() {
    let source = "
def rec down (n: i64) : i64 = if n == 0 then 0 else 1 + down (n - 1)
#[noinline] def between (n: i64) (m: i64) : i64 = down n + down m
def rec both (n: i64) (m: i64) : i64 = if n == 0 then between m m else 1 + both (n - 1) m
entry f (n: i64) (m: i64) = both n m
entry again (times: i64) (n: i64) = loop sum = 0 for i < times do sum + both n (i % 2)";
    for program in <[Program; 2]>::from(native(source, false)) {
        program.set_limits(Limits { max_depth: Some(1000), ..Limits::default() });
        let call = |entry: &str, args: [i64; 2]| {
            let args = args.map(Value::from);
            program.function(entry).and_then(|function| function.call(&args)).map_err(|error| error.message())
        };
        assert_eq!(call("f", [400, 400]), Ok(vec![1200i64.into()]));
        assert_eq!(call("f", [800, 400]), Err(String::from("too many nested calls")));
        assert_eq!(call("f", [400, 800]), Err(String::from("too many nested calls")));
        assert_eq!(call("again", [100, 900]), Ok(vec![90_100i64.into()]));
    }
}

#[test]
fn strict_floats_are_those_of_the_interpreter() {
    let source = "
entry many [n] (x: [n]f64) (y: [n]f64) =
  (f64.sum (map2 (*) x y), f64.product (map (+ 1.0000001) x), f64.maximum y, scan (+) 0 x,
   map2 (\\a b -> f64.exp a * f64.sin b + f64.lgamma (a + 3) - f64.log (b + 3) ** 1.5) x y)";
    let (interpreted, compiled) = native(source, true);
    let args = [numbers(1001).into(), Value::from(numbers(2002)[1001..].to_vec())];
    let wanted = interpreted.function("many").and_then(|function| function.call(&args)).expect("values");
    let found = compiled.function("many").and_then(|function| function.call(&args)).expect("values");
    assert_eq!(found, wanted);
}

#[test]
fn the_most_memory_at_one_time_is_known() {
    let (_, compiled) = native("entry squares (n: i64) = map (\\i -> f64.i64 (i * i)) (iota n)", false);
    let squares = compiled.function("squares").expect("an entry point");
    for (count, range) in [(100_000i64, 800_000..1_600_000), (1000, 8000..16_000)] {
        squares.call(&[Value::from(count)]).expect("squares");
        let peak = compiled.peak_memory();
        assert!(range.contains(&peak), "{peak}");
    }
}

#[test]
fn only_programs_with_half_floats_ask_the_c_compiler_for_them() {
    let asks = |source: &str| native(source, false).1.c_text().expect("C").contains("#define CW_HALF");
    assert!(!asks("entry double (x: f64) = 2 * x"));
    assert!(asks("entry double (x: f16) = 2 * x"));
    assert!(asks("entry narrow (xs: []f64) = map f16.f64 xs"));
}

#[test]
fn conversions_and_functions_have_the_bits_of_the_interpreter() {
    let source = "
entry there_and_back (xs: []f64) = map (\\x -> (f64.i8 (i8.f64 x), f64.i32 (i32.f64 x), f64.i64 (i64.f64 x), f64.u8 (u8.f64 x), f64.u64 (u64.f64 x))) xs
entry single (xs: []f64) = map (\\x -> f32.i32 (i32.f32 (f32.f64 x))) xs
entry root (xs: []f64) = map f64.cbrt xs
entry single_root (xs: []f64) = map (\\x -> f32.cbrt (f32.f64 x)) xs
entry area (xs: []f64) = map f64.acosh xs";
    let (interpreted, compiled) = native(source, true);
    let special = [-0.0, 0.0, -0.3, 0.3, -1.0, -1.5, -129.0, 1e5, -1e5, -1e300, 1e300, f64::INFINITY, f64::NAN, 5e-324];
    let input = [Value::from([special.to_vec(), numbers(300)].concat())];
    for entry in ["there_and_back", "single", "root", "single_root", "area"] {
        let call = |program: &Program| program.function(entry).and_then(|function| function.call(&input)).expect("a value");
        // As text, so that NaN equals NaN and zero differs from minus zero.
        let text = |values: Vec<Value>| values.iter().map(ToString::to_string).collect::<Vec<String>>();
        assert_eq!(text(call(&compiled)), text(call(&interpreted)), "{entry}");
    }
    let area = interpreted.function("area").and_then(|function| function.call(&[vec![-1e5, -2.0, 0.5].into()])).expect("a value");
    assert_eq!(area[0].to_string(), "[f64.nan, f64.nan, f64.nan]");
}

/// Some two seconds of work, in chunks that each look at the clock.
#[test]
fn a_deadline_ends_a_parallel_loop() {
    let source = r"entry long (n: i64) = f64.sum (map (\i -> loop x = f64.i64 i for _j < 10000 do f64.sin x) (iota n))";
    let (_, compiled) = native(source, false);
    let long = compiled.function("long").expect("an entry point");
    let begin = Instant::now();
    compiled.set_limits(Limits { deadline: Some(begin + Duration::from_millis(50)), ..Limits::default() });
    let error = long.call(&[20_000i64.into()]).expect_err("too late");
    assert!(error.to_string().contains("time limit exceeded") && error.to_string().contains(":1:"), "{error}");
    compiled.set_limits(Limits::default());
    assert!(long.call(&[20i64.into()]).is_ok(), "the deadline is gone");
}
