//! Reverse mode by dual arrays: the worked examples of the chapter, agreement with the interpreter, and what is refused.

use chadwick::compile::{Engine, Stage};
use chadwick::core::Mode;
use chadwick::{Backend, NativeOptions, Program, Value};

fn source(text: &str) -> Program {
    Program::from_source(text)
        .and_then(|program| program.with_backend(Backend::Interpreter))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn by_dual_arrays(text: &str) -> Program {
    source(text).with_engine(Engine::DualArrays).unwrap_or_else(|error| panic!("{}\n{text}", error.message()))
}

fn numbers(program: &Program) -> Vec<f64> {
    let values = program.function("f").and_then(|f| f.call(&[])).unwrap_or_else(|error| panic!("{}", error.message()));
    let of = |value: &Value| match value.as_scalar::<f64>() {
        Some(number) => vec![number],
        None => value.as_slice::<f64>().expect("floats").to_vec(),
    };
    values.iter().flat_map(of).collect()
}

#[track_caller]
fn assert_agrees(text: &str) -> Vec<f64> {
    let (found, wanted) = (numbers(&by_dual_arrays(text)), numbers(&source(text)));
    let largest = wanted.iter().fold(1.0f64, |largest, number| largest.max(number.abs()));
    let near = |(found, wanted): (&f64, &f64)| (found - wanted).abs() <= 1e-9 * largest;
    assert!(found.len() == wanted.len() && found.iter().zip(&wanted).all(near), "{text}: {found:?} is not {wanted:?}");
    found
}

const SELF_CONVOLUTION: &str = "entry f [n] (a: [n]f64): f64 = f64.sum (map (\\i -> a[i] * a[n - 1 - i]) (iota n))";

/// The text of each stage.
fn stages(text: &str) -> String {
    let explanation =
        by_dual_arrays(text).function("f").and_then(|f| f.explain(Mode::Vjp, Stage::Optimise)).expect("a derivative");
    explanation.notation.expect("a notation of its own")
}

#[test]
fn the_stages_of_self_convolution_are_those_of_the_chapter() {
    let text = stages(SELF_CONVOLUTION);
    let (_, bulk) = text.split_once("-- without builds").expect("the stage");
    assert!(!bulk.contains("build1"), "{text}");
    let (delta, gradient) = bulk.split_once("-- the gradient").expect("the stage");
    assert!(delta.contains("Share 3 (SumOuter (Share 2 (Add (Scale"), "{text}");
    assert!(!delta.contains("Share 4"), "{text}");
    // One shared cotangent, and a scatter where the order is not the array's own.
    assert_eq!(gradient.matches(" = replicate").count(), 1, "{text}");
    assert_eq!(gradient.matches("scatter").count(), 1, "{text}");
}

#[test]
fn concatenation_by_a_condition_masks_cotangents() {
    let text =
        "entry f = vjp (\\(a: [10]f64) -> f64.sum (map (\\i -> f64.i64 i * (if i < 10 then a[i] else a[i - 10])) (iota 20)))
        (replicate 10 1) 1";
    let wanted: Vec<f64> = (0..10).map(|j| f64::from(2 * j + 10)).collect();
    assert_eq!(assert_agrees(text), wanted);
}

#[test]
fn programs_of_the_dialect_agree_with_the_interpreter() {
    for text in [
        "entry f = vjp (\\(a: [9]f64) -> reduce_by_index (replicate 6 0) (+) 0 (map (/ 2) (iota 9)) (map (\\x -> x * x) a))
           (map f64.i64 (iota 9)) [1, 2, 3, 4, 5, 6]",
        "entry f = vjp (\\(a: [3][2]f64, b: [2][4]f64) -> map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) (transpose b)) a)
           ([[1, 2], [3, 4], [5, 6]], [[1, 2, 3, 4], [5, 6, 7, 8]]) (replicate 3 [1, 10, 100, 1000]) |> \\(a, b) -> (flatten a, flatten b)",
        "entry f = vjp (\\(a: [4]f64) -> f64.sum (map (\\i -> if a[i] > 0 then f64.sqrt a[i] else 0) (iota 4))) [0, 1, 4, -1] 1",
        "entry f = vjp (\\(a: [3]f64, b: [2]f64) -> map (\\x -> x * x) (a ++ b)) ([1, 2, 3], [4, 5]) [1, 1, 1, 1, 1]",
        "entry f = vjp (\\(a: [3]f64) -> let (p, q) = unzip (map (\\x -> (f64.sin x, x * x)) a) in f64.sum (map2 (*) p q)) [1, 2, 3] 1",
        "entry f = vjp (\\(x: f64) -> loop y = x for i < 5i64 do y * y + f64.i64 i) 0.5 1",
        "entry f = vjp (\\(a: [4]f64) -> f64.sum (map (\\i -> a[i] * a[0]) (iota 4))) [1, 2, 3, 4] 1",
        "entry f = flatten (mjp (\\(x: [2]f64) -> [x[0] * x[1], x[0] * x[0]]) [2, 3] [[1, 0], [0, 1]])",
        "entry f = vjp (\\x -> f64.sum (vjp (\\x -> map (\\r -> f64.sum (map2 (*) r x)) [[1, 2], [3, 4], [5, 6f64]]) (map (\\x -> x * x) x) [1, 2, 3]) * x[0]) [2, 3f64] 1",
        "entry f = vjp (\\(a: [3][2]f64, x: [2]f64) -> f64.sum (vjp (\\x -> map (\\r -> f64.sin (f64.sum (map2 (*) r x))) a) x [1, 2, 3])) ([[1, 2], [3, 4], [5, 6]], [7, 8]) 1 |> \\(a, x) -> (flatten a, x)",
        "entry f = vjp f64.product [2, 3, 0, 5] 1",
        "entry f = vjp f64.maximum [2, 7, 3, 7] 1",
        "entry f = vjp (\\(a: [2][3]f64) -> map f64.minimum a) [[3, 1, 2], [5, 5, 6]] [1, 10] |> flatten",
        "entry f = vjp (\\(a: [2][3]f64) -> f64.maximum (flatten a)) [[1, 4, 2], [4, 0, 4]] 1 |> flatten",
        "entry f = vjp (\\(a: [2][3]f64) -> map f64.product a) [[3, 1, 2], [5, 5, 6]] [1, 10] |> flatten",
        "entry f = vjp (scan (*) 1) [2, 3, 4, 5] [1, 2, 3, 4f64]",
        "entry f = vjp (\\(a: [2][3]f64) -> map (scan (\\x y -> f64.sin x + y) 0) a) [[3, 1, 2], [5, 5, 6]] [[1, 2, 3], [4, 5, 6]] |> flatten",
        "entry f = vjp (\\(a: [3]f64) -> reduce (\\(p, q) (x, y) -> (p * x + q, q * y)) (1, 1) (zip a a) |> \\(p, q) -> p + q) [2, 3, 4] 1",
        "entry f = vjp (\\x -> loop y = x for i < 300 do f64.sin y + f64.i32 i / 1000) 0.5 1",
        "entry f = vjp (\\(a: [5]f64) -> (a[1:4] ++ a[::-2]) :> [6]f64) [1, 2, 3, 4, 5] [1, 2, 3, 4, 5, 6]",
        "entry f = vjp (\\(a: [5]f64) -> map (\\x -> x * x) (copy a with [1:3] = [a[4], a[0]] with [3] = a[0] * a[0])) [1, 2, 3, 4, 5] [1, 2, 3, 4, 5]",
        "entry f = vjp (\\(a: [2][3]f64) -> copy a with [1] = map (* 2) a[0] with [0, 2] = a[1, 1]) [[1, 2, 3], [4, 5, 6]] [[1, 2, 3], [4, 5, 6]] |> flatten",
        "entry f = vjp (\\x -> f64.sum (vjp (\\(a: [2]f64) -> a[0] * a[0] * a[1]) x 1)) [2, 3] 1",
    ] {
        assert_agrees(text);
    }
}

/// Sums of squares of what comes out, so that every element has a gradient of its own.
fn of_vector(function: &str) -> String {
    format!(
        "def g [n] (a: [n]f64) = {function}
         def h (n: i64) = vjp (\\(a: [n]f64) -> f64.sum (map (\\x -> x * x) (g a))) (tabulate n (\\i -> 0.5 + f64.sin (f64.i64 i))) 1
         entry f = h 0 ++ h 1 ++ h 2 ++ h 7"
    )
}

#[test]
fn divisors_are_guarded_where_nobody_may_want_the_result() {
    for function in [
        "rotate 2 a",
        "map (\\i -> if i == 0 then a[0] else a[(n - 1) / i]) (iota n)",
        "map (\\i -> if i % 2 == 0 then a[i] else a[n % i] * a[n // i % n]) (iota n)",
        "map (\\i -> a[i / (i + 1)] * a[n * i % (i + 2) % n]) (iota n)",
        "map (\\i -> f64.sum (map (\\j -> a[j] * a[i / (i + 1)]) (iota n))) (iota n)",
        "map (\\i -> let k = i64.f64 a[i] in if k == 0 then a[i] else a[7 / k % n]) (iota n)",
    ] {
        assert_agrees(&of_vector(function));
    }
    assert_agrees(
        "entry f = vjp (\\(x: f64) -> f64.sum (map (\\i -> if i > 0 then x * f64.i64 (2 ** (i - 1)) else x) (iota 4))) 3 1",
    );
}

#[test]
fn a_division_by_zero_fails_where_the_program_divides() {
    let text = "entry f (n: i64) (m: i64) (d: i64) = vjp (\\(a: [4]f64) ->
        f64.sum (map (\\i -> f64.sum (map (\\j -> a[j] * a[3 / (i + d)]) (iota m))) (iota n))) [1, 2, 3, 4] 1";
    let program = by_dual_arrays(text);
    let call = |n: i64, m: i64, d: i64| program.function("f").and_then(|f| f.call(&[n.into(), m.into(), d.into()]));
    assert!(call(2, 2, 1).is_ok() && call(0, 2, 0).is_ok());
    let message = call(2, 2, 0).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(message.contains("division by zero"), "{message}");
}

#[test]
fn arrays_are_reshaped_inside_of_builds_and_branches() {
    for text in [
        "entry f = vjp (\\(a: [2][2][3]f64) -> map (\\m -> f64.product (flatten m)) a)
           (tabulate_3d 2 2 3 (\\i j k -> 1 + f64.i64 (i * 6 + j * 3 + k) / 10)) [1, 2] |> flatten_3d",
        "def g (n: i64) (m: i64) = vjp (\\(a: [n][m][3]f64) -> map (\\x -> if x[0, 0] > 0.5 then f64.sum (map f64.sin (flatten x)) else 0) a)
           (tabulate_3d n m 3 (\\i j k -> f64.i64 (i * 6 + j * 3 + k) / 10)) (tabulate n f64.i64) |> flatten_3d
         entry f = g 3 2",
        "entry f = vjp (\\(x: [4][4]f64, k: [2][2]f64) ->
             let y = tabulate_2d 3 3 (\\i j -> f64.sum (flatten (tabulate_2d 2 2 (\\a b -> x[i + a, j + b] * k[a, b]))))
             in f64.sum (map (\\v -> v * v) (flatten y)))
           (tabulate_2d 4 4 (\\i j -> f64.i64 (i * j) - 2), [[1, 2], [3, 4]]) 1 |> \\(a, b) -> (flatten a, flatten b)",
    ] {
        assert_agrees(text);
    }
}

/// A length that a type says is the same as one that a value is asked for.
#[test]
fn lengths_in_types_are_known() {
    assert_agrees(
        "entry f = vjp (\\(c: bool, a: [3]f64) -> if c then map (* 2) a else a) (true, [1, 2, 3]) [1, 10, 100] |> \\(_, a) -> a",
    );
    let program =
        by_dual_arrays("entry f (a: [3]f64) = vjp (\\a -> f64.sum (if a[0] > 0 then map (* 2) a else [a[0], a[1], a[0]])) a 1");
    let found = program.function("f").and_then(|f| f.call(&[vec![1.0, 2.0, 3.0].into()])).expect("a gradient");
    assert_eq!(found[0].as_slice::<f64>(), Some(&[2.0, 2.0, 2.0][..]));
}

/// A fold may carry arrays of different shapes.
#[test]
fn folds_that_carry_different_shapes_agree_with_the_interpreter() {
    for n in [0, 1, 2, 7] {
        for function in [
            "\\(x: f64) -> (loop (s, v) = (x, [x, 1]) for i < n do (s * x, map (\\y -> y * s + f64.i64 i) v)) |> \\(s, v) -> s + v[0] * v[1]",
            "\\(x: f64) -> (loop (m, v, s) = ([[x, 1], [2, x]], [1, x], 0) for _i < n do
                 let v = map (\\r -> f64.sin (f64.sum (map2 (*) r v))) m in (map (map (* 0.9)) m, v, s + v[0])) |> \\(m, v, s) -> m[0, 1] + v[1] * s",
            "\\(x: f64) -> f64.sum (map (\\k -> (loop (s, v) = (x, [x, f64.i64 k]) for _i < n do (s * v[1] / 4, [v[1], s])) |> \\(s, v) -> s + v[0]) (iota 3))",
            "\\(x: f64) -> let (s, vs) = unzip (scan (\\(p, v) (q, w) -> (p * q, [v[0] + w[0] * p, v[1]])) (1, [0, x]) (tabulate n (\\i -> (x + f64.i64 i / 5, [x, 1]))))
                in f64.sum s + f64.sum (flatten vs)",
        ] {
            assert_agrees(&format!("def g (n: i64) = vjp ({function})\nentry f = (g {n} 0.7 1, g {n} (-0.3) 2)"));
            assert_agrees(&format!(
                "def g (n: i64) (x: f64) = vjp ({function}) x 1\nentry f = (vjp (g {n}) 0.7 1, vjp (g {n}) (-0.3) 2)"
            ));
        }
    }
}

/// What depends on no input is no part of what a fold carries.
#[test]
fn loops_with_counters_and_seeds_agree_with_the_interpreter() {
    for n in [0, 1, 2, 7] {
        for function in [
            "\\(x: f64) -> (loop (y, i) = (x, 1i64) for _j < n do (f64.sin y * f64.i64 i, i * i + 1)) |> \\(y, i) -> y + f64.i64 i * x",
            "\\(x: f64) -> let a = tabulate 5 (\\i -> x * f64.i64 (i + 1)) in
                (loop (seed, s, flip) = (42i64, 1, false) for i < n do
                   let seed = (seed * 1103515245 + 12345) % 2147483648
                   in (seed, if flip then s * a[seed % 5] else s + f64.i64 i * x, !flip)).1",
            "\\(x: f64) -> (loop (k, v) = (0i32, [x, 1]) for i < n do (k + i32.i64 i, [v[1] * f64.i32 k, v[0] + x])) |> \\(k, v) -> v[0] + v[1] * f64.i32 k",
        ] {
            assert_agrees(&format!("def g (n: i64) = vjp ({function})\nentry f = (g {n} 0.7 1, g {n} (-0.3) 2)"));
        }
    }
}

#[test]
fn functions_that_would_be_written_out_exponentially_often_are_refused() {
    let first = String::from("#[noinline] def g0 (x: f64) = f64.sin x * x\n");
    let next = |k: usize| format!("#[noinline] def g{} (x: f64) = g{k} (x * 0.5) + g{k} (x + 0.1)\n", k + 1);
    let text = (0..40).fold(first, |text, k| text + &next(k)) + "entry f (x: f64) = vjp g40 x 1";
    let error = source(&text).with_engine(Engine::DualArrays).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("too long when they are written out"), "{error}");
}

/// Each operation on floats has its derivative here, too.
#[test]
fn operations_on_floats_agree_with_the_interpreter() {
    let unary = [
        "f64.sin",
        "f64.cos",
        "f64.tan",
        "f64.asin",
        "f64.acos",
        "f64.atan",
        "f64.sinh",
        "f64.cosh",
        "f64.tanh",
        "f64.asinh",
        "f64.atanh",
        "f64.exp",
        "f64.log",
        "f64.log2",
        "f64.log10",
        "f64.log1p",
        "f64.sqrt",
        "f64.cbrt",
        "f64.rsqrt",
        "f64.recip",
        "f64.abs",
        "f64.neg",
        "f64.floor",
        "f64.ceil",
        "f64.round",
        "f64.trunc",
        "f64.gamma",
        "f64.lgamma",
        "f64.erf",
        "f64.erfc",
        "f64.sgn",
    ];
    let of_unary = unary.map(|name| format!("entry f = vjp (map {name}) [0.3, 0.7, 0.9] [1, 2, 3]"));
    let binary = ["(+)", "(-)", "(*)", "(/)", "(**)", "(%)", "f64.max", "f64.min", "f64.atan2", "f64.hypot", "f64.copysign"];
    let of_binary =
        binary.map(|name| format!("entry f = vjp (\\(a, b) -> map2 {name} a b) ([0.3, 0.7, 1.9], [1.4, 0.2, 2.5]) [1, 2, 3]"));
    let mixed = "entry f = vjp (\\(a: [2]f32, k: [2]i32, b: f64) -> f64.sum (map2 (\\x k -> f64.f32 (x * f32.i32 k) * b) a k)) ([1, 2], [3, 4], 5) 1
        |> \\(a, _, b) -> map f64.f32 a ++ [b]";
    for text in of_unary.iter().chain(&of_binary).map(String::as_str).chain([mixed]) {
        assert_agrees(text);
    }
}

/// Functions that are no part of where they are called are written out.
#[test]
fn functions_of_modules_are_written_out() {
    assert_agrees(
        "module m = {
           #[noinline] def pick [n] (a: [n]f64) (i: i64) = a[i] * a[n - 1 - i]
           #[noinline] def total [n] (a: [n]f64) = f64.sum (map (pick a) (iota n))
         }
         entry f = vjp (\\a -> m.total a * m.pick a 1) [1, 2, 3, 4] 1",
    );
}

/// What comes out is Core like any other, with native code.
#[test]
fn gradients_have_native_code() {
    for text in [
        SELF_CONVOLUTION,
        "entry f [n] (a: [n]f64): f64 = f64.product (map (\\i -> if i == 0 then a[0] else a[(n - 1) / i] + a[i]) (iota n))",
        "entry f [n] (a: [n]f64): f64 = (loop (s, v) = (1, a) for x in a do (s * x, map (\\y -> y * s + 1) v)) |> \\(s, v) -> s + f64.sum v",
    ] {
        let interpreted = by_dual_arrays(text);
        let options = NativeOptions { strict: true, quick: true, threads: 1 };
        let native = interpreted.with_backend(Backend::Native(options)).unwrap_or_else(|error| panic!("{}", error.message()));
        let gradient = |program: &Program| {
            let gradient = program.function("f").and_then(|f| f.gradient()).unwrap_or_else(|error| panic!("{}", error.message()));
            gradient.call(&[vec![0.5, 1.5, -2.0, 1.25].into()]).unwrap_or_else(|error| panic!("{}", error.message()))
        };
        assert_eq!(gradient(&native), gradient(&interpreted), "{text}");
    }
}

#[test]
fn a_read_that_moves_out_of_an_empty_build_does_not_fail() {
    let text = "entry f (a: []f64) (n: i64) = vjp (\\a -> f64.sum (map (\\i -> a[0] * a[0] * f64.i64 i) (iota n))) a 1";
    let empty: Value = Vec::<f64>::new().into();
    let program = by_dual_arrays(text);
    let call = |n: i64| program.function("f").and_then(|f| f.call(&[empty.clone(), n.into()]));
    assert!(call(0).is_ok());
    assert!(call(1).is_err());
}

/// What a program that differentiates `function` gives for three numbers, a place and a count, or what it says and where.
fn outcomes(function: &str, place: i64, count: i64) -> [Result<Vec<f64>, String>; 3] {
    let text = format!("entry f (xs: []f64) (k: i64) (n: i64) = vjp (\\xs -> {function}) xs 1");
    let by_engine = by_dual_arrays(&text);
    let options = NativeOptions { strict: true, quick: true, threads: 1 };
    let native = by_engine.with_backend(Backend::Native(options)).unwrap_or_else(|error| panic!("{}", error.message()));
    [source(&text), by_engine, native].map(|program| {
        let result = program.function("f").and_then(|f| f.call(&[vec![1.0, 2.0, 3.0].into(), place.into(), count.into()]));
        match result {
            Ok(values) => Ok(values[0].as_slice::<f64>().expect("floats").to_vec()),
            Err(error) => Err(format!("{}: {}", error.place().unwrap_or_default(), error.message())),
        }
    })
}

/// Also where a gradient does not need what the program reads.
#[test]
fn what_fails_in_the_program_fails_in_its_derivative_at_the_same_place() {
    for (function, cases) in [
        // Of a read that is not needed, one that is, and one that is needed for another.
        ("xs[k]", &[(2, 0, true), (3, 0, false), (-1, 0, false)][..]),
        ("xs[0] + 2 * xs[k]", &[(0, 0, true), (3, 0, false)]),
        ("xs[k] * xs[k]", &[(1, 0, true), (3, 0, false)]),
        ("xs[i64.f64 xs[k]]", &[(0, 0, true), (1, 0, true), (2, 0, false), (3, 0, false)]),
        // In builds, where the bounds of the index are known, or not.
        ("f64.sum (map (\\i -> xs[i + k]) (iota n))", &[(0, 3, true), (1, 2, true), (1, 3, false), (-1, 1, false), (9, 0, true)]),
        ("f64.sum (map (\\i -> xs[n - 1 - i]) (iota n))", &[(0, 3, true), (0, 4, false)]),
        (
            "f64.sum (map (\\i -> xs[i * k]) (iota n))",
            &[(1, 3, true), (2, 2, true), (2, 3, false), (-1, 1, true), (-1, 2, false)],
        ),
        ("f64.sum (map (\\i -> xs[i % k]) (iota n))", &[(3, 9, true), (4, 9, false), (4, 3, true)]),
        ("f64.sum (map (\\i -> xs[i64.min i k]) (iota n))", &[(2, 9, true), (3, 3, true), (3, 4, false)]),
        ("f64.sum (map (\\i -> xs[i64.f64 xs[i] + k]) (iota 3))", &[(-1, 0, true), (0, 0, false)]),
        (
            "f64.sum (map (\\i -> f64.sum (map (\\j -> xs[i + j]) (iota k))) (iota n))",
            &[(2, 2, true), (3, 2, false), (0, 9, true), (9, 0, true)],
        ),
        ("f64.sum (map (\\i -> let ys = map (* 2) xs in ys[i + k]) (iota n))", &[(0, 3, true), (1, 3, false)]),
        ("f64.sum (map (\\r -> r[k]) (replicate n xs))", &[(2, 3, true), (3, 3, false), (3, 0, true)]),
        // In branches, of which one is taken.
        ("f64.sum (map (\\i -> if i < 3 then xs[i] else 0) (iota n))", &[(0, 3, true), (0, 9, true)]),
        ("f64.sum (map (\\i -> if i < k then xs[i] else 0) (iota n))", &[(3, 9, true), (4, 3, true), (4, 4, false)]),
        ("if k > 3 then xs[k - 4] else xs[k]", &[(2, 0, true), (3, 0, false), (4, 0, true), (7, 0, false)]),
        ("if xs[0] > 0 then xs[1] else xs[k]", &[(0, 0, true), (9, 0, true)]),
        ("if xs[0] < 0 then xs[1] else xs[k]", &[(0, 0, true), (9, 0, false)]),
        ("if xs[0] < 0 then xs[1] else xs[n / k]", &[(1, 2, true), (0, 2, false)]),
        ("if xs[0] > 0 then xs[1] else xs[n / k]", &[(1, 2, true), (0, 2, true)]),
        // In loops, of a bound that is known and of one that is not.
        ("loop s = 0 for i < 3 do s + xs[i + k]", &[(0, 0, true), (1, 0, false)]),
        ("loop s = xs[0] for i < n do s + xs[i]", &[(0, 0, true), (0, 3, true), (0, 4, false)]),
        // Of slices, rows and updates.
        ("f64.sum xs[k:n]", &[(1, 3, true), (1, 4, false), (2, 1, false)]),
        ("f64.sum (replicate n xs)[k, 1:]", &[(0, 1, true), (1, 1, false)]),
        ("f64.sum (copy xs with [k] = xs[n])", &[(0, 0, true), (3, 0, false), (0, 3, false)]),
        // What the program checks itself.
        ("assert (xs[0] > f64.i64 k) xs[1]", &[(0, 0, true), (1, 0, false)]),
        ("if k > 0 then assert (k < 3) xs[k] else xs[1]", &[(0, 0, true), (2, 0, true), (3, 0, false)]),
    ] {
        for (place, count, succeeds) in cases {
            let [wanted, found, native] = outcomes(function, *place, *count);
            assert_eq!(wanted.is_ok(), *succeeds, "{function} at {place}, {count}: {wanted:?}");
            assert_eq!((&found, &native), (&wanted, &wanted), "{function} at {place}, {count}");
        }
    }
}

#[test]
fn what_fails_in_the_program_fails_in_derivatives_of_derivatives() {
    let text = |at: &str| {
        format!("entry f (xs: []f64) (k: i64) = vjp (\\xs -> vjp (\\xs -> xs[1] * xs[1] * xs[{at}]) xs 1) xs (map (* 2) xs)")
    };
    for at in ["k", "i64.f64 xs[0] + k - 1"] {
        let [wanted, found] = [source(&text(at)), by_dual_arrays(&text(at))]
            .map(|program| move |k: i64| program.function("f").and_then(|f| f.call(&[vec![1.0, 2.0, 3.0].into(), k.into()])));
        assert_eq!(found(2).ok(), wanted(2).ok());
        let said = |error: Option<chadwick::Error>| error.map(|error| (error.place(), error.message()));
        assert!(wanted(3).is_err());
        assert_eq!(said(found(3).err()), said(wanted(3).err()));
    }
}

#[test]
fn what_is_written_out_of_range_has_no_cotangent() {
    let dropped = "vjp (\\(vs: [3]f64) -> f64.sum (reduce_by_index (replicate 2 0) (+) 0 [0, 5, 1] vs)) [1, 2, 3] 1";
    assert_eq!(assert_agrees(&format!("entry f = {dropped}")), [1.0, 0.0, 1.0]);
}

#[test]
fn an_index_of_what_is_not_selected_is_not_read() {
    assert_agrees(
        "def g (p: [1]f64): [4]f64 =
           map2 (\\x y -> x * y + x) (tabulate 4 (\\i -> p[i % 1])) (replicate 2 1 ++ tabulate 2 (\\i -> p[i % 1]))
         entry f = vjp (\\x -> vjp g x [1, 2, 3, 4]) [0.5] [1]",
    );
}

#[test]
fn a_loop_that_carries_nothing_is_taken_or_refused() {
    let text = |bound: &str| {
        format!(
            "def g [n] (x: f64, ys: [n]f64): f64 =
           (loop (s, ys) = (1.0, [0.0]) for i < {bound} do (s, replicate (i + n) 1)).0 * x
         entry f = vjp g (2, [1, 2, 3]) 1"
        )
    };
    for text in [text("n"), text("3")] {
        match source(&text).with_engine(Engine::DualArrays) {
            Ok(_) => drop(assert_agrees(&text)),
            Err(error) => assert!(error.is_refusal(), "{}", error.message()),
        }
    }
}

/// A loop whose bound comes with the arguments is a fold.
#[test]
fn folds_of_any_length_agree_with_the_interpreter() {
    for n in [0, 1, 2, 7] {
        for function in [
            "\\(x: f64) -> loop y = x for i < n do f64.sin y * f64.i64 (i + 1)",
            "\\(x: f64) -> (loop (p, q) = (x, x * x) for i < n do (p * q, f64.cos p + q)) |> \\(p, q) -> p + q",
            "\\(x: f64) -> f64.product (map (\\i -> x + f64.i64 i) (iota n))",
            "\\(x: f64) -> f64.maximum (map (\\i -> x * f64.i64 (3 * i - i * i)) (iota n)) |> f64.max (-1e9)",
            "\\(x: f64) -> f64.sum (map (\\i -> loop y = x * f64.i64 i for _j < n do y * y / 2) (iota 3))",
            "\\(x: f64) -> last (scan (\\a b -> a * b + 1) 1 (replicate (n + 1) x))",
        ] {
            assert_agrees(&format!("def g (n: i64) = vjp ({function})\nentry f = (g {n} 0.7 1, g {n} (-0.3) 2)"));
        }
    }
}

/// A row costs what the step and its gradient cost, once.
#[test]
fn the_reverse_pass_of_a_fold_runs_the_gradient_of_its_step_once() {
    let text = "entry f [n] (xs: [n]f64) = vjp (\\xs -> f64.sum (scan (\\a b -> f64.sin a * f64.exp b) 1 xs)) xs 1";
    let program = by_dual_arrays(text);
    let operations = |n: usize| {
        program.reset_counters();
        let f = program.function("f").expect("there");
        f.call(&[vec![0.5; n].into()]).unwrap_or_else(|error| panic!("{}", error.message()));
        program.counters().float_operations
    };
    assert!(operations(200) - operations(100) <= 12 * 100);
}

#[test]
fn sizes_are_still_checked() {
    let program = by_dual_arrays(
        "entry f [n] (a: [n]f64) (b: [n]f64) = vjp (\\(a: []f64, b: []f64) -> f64.sum (map2 (*) a (b :> [length a]f64))) (a, b) 1",
    );
    let call = |b: Vec<f64>| program.function("f").and_then(|f| f.call(&[vec![1.0, 2.0].into(), b.into()]));
    assert!(call(vec![3.0, 4.0]).is_ok() && call(vec![3.0]).is_err());
    let inside = "def g [n] (a: [n]f64) (b: [n]f64) = f64.sum (map2 (*) a b)
      entry f (a: []f64) (b: []f64) (k: i64) = vjp (\\(a, b) -> g (a :> [k]f64) (b :> [k]f64)) (a, b) 1";
    let program = by_dual_arrays(inside);
    let call = |b: Vec<f64>, k: i64| program.function("f").and_then(|f| f.call(&[vec![1.0, 2.0].into(), b.into(), k.into()]));
    assert!(call(vec![3.0, 4.0], 2).is_ok() && call(vec![3.0, 4.0], 1).is_err() && call(vec![3.0], 2).is_err());
}

/// The function makes its array in place, and so does the reverse pass: what an update costs does not depend on the array.
#[test]
fn updates_work_in_place() {
    let text = "entry f [n] (a: [n]f64) (x: f64) =
        vjp (\\(a, x) -> let a = loop a = copy a for i < 200 do a with [i] = a[i + 1] * x in f64.sum a) (a, x) 1";
    let program = by_dual_arrays(text);
    let bytes = |n: usize| {
        let f = program.function("f").expect("there");
        program.reset_counters();
        f.call(&[vec![0.5; n].into(), 2.0.into()]).unwrap_or_else(|error| panic!("{}", error.message()));
        program.counters().allocated_bytes as usize
    };
    let (short, long) = (bytes(1000), bytes(5000));
    assert!(long - short <= 8 * 8 * 4000, "{short} and {long} bytes");
}

#[test]
fn updates_in_branches_agree_with_the_interpreter() {
    let of = |condition: &str, at: &str| {
        format!(
            "def g (a: [4]f64, x: f64) = let b = if {condition} then copy a with [{at}] = x * x else a in f64.sum (map2 (*) a b)
                 entry f = vjp g ([1, 2, 3, 4], 5) 1"
        )
    };
    for text in [of("x > 3", "2"), of("x > 9", "2"), of("x > 9", "7")] {
        assert_agrees(&text);
    }
}

#[test]
fn an_update_out_of_range_fails_where_it_is_made() {
    let text = "entry f (a: []f64) (i: i64) (n: i64) = vjp (\\a -> f64.sum (map (\\j -> f64.sum (copy a with [i] = a[0]) * f64.i64 j) (iota n))) a 1";
    let program = by_dual_arrays(text);
    let call = |i: i64, n: i64| program.function("f").and_then(|f| f.call(&[vec![1.0, 2.0].into(), i.into(), n.into()]));
    assert!(call(1, 2).is_ok() && call(2, 0).is_ok());
    let message = call(2, 2).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(message.contains("index 2 out of bounds for size 2"), "{message}");
}

/// Each element has its own copy, and writes where the index says.
#[test]
fn updates_inside_builds_agree_with_the_interpreter() {
    for text in [
        "entry f = vjp (\\(a: [4]f64) -> map (\\i -> f64.sum (map (\\x -> x * x) (copy a with [i] = a[3 - i] * a[0]))) (iota 4)) [1, 2, 3, 4] [1, 10, 100, 1000]",
        "entry f = vjp (\\(a: [3][2]f64) -> flatten (map (\\r -> copy r with [1] = r[0] * r[1]) a)) [[1, 2], [3, 4], [5, 6]] [1, 2, 3, 4, 5, 6] |> flatten",
        "entry f = vjp (\\(a: [3][4]f64) -> flatten (map2 (\\r i -> copy r with [1:3] = [r[3], r[i] * r[i]] with [i] = r[2]) a (iota 3))) (unflatten (map f64.i64 (iota 12))) (map f64.i64 (12...23)) |> flatten",
        "entry f = vjp (\\(a: [4]f64) -> f64.sum (map (\\i -> f64.product (copy a with [i] = 1)) (iota 4))) [1, 2, 3, 4] 1",
        "entry f = vjp (\\(a: [4]f64) -> f64.sum (map (\\i -> if i < 3 then (copy a with [i + 1] = a[0])[i] * a[i] else a[i]) (iota 4))) [1, 2, 3, 4] 1",
        "entry f = vjp (\\(a: [3]f64) -> f64.sum (flatten (map (\\i -> copy a with [i64.f64 a[i] % 3] = a[0] * a[i]) (iota 3)))) [1.5, 2.5, 3.5] 1",
        "entry f = vjp (\\(a: [3]f64) -> f64.sum (map (* 2) (copy a with [i64.f64 a[0]] = a[2] * a[2]))) [1.5, 2.5, 3.5] 1",
        "entry f = vjp (\\(x: [4]f64) -> vjp (\\(a: [4]f64) -> f64.sum (map (\\i -> f64.product (copy a with [i] = a[0])) (iota 4))) x 1) [1, 2, 3, 4] [1, 2, 3, 4]",
    ] {
        assert_agrees(text);
    }
}

/// Places are seen to be different if each index of a point is an index of its place.
#[test]
fn scatters_to_different_places_agree_with_the_interpreter() {
    assert_agrees(
        "entry f = vjp (\\(a: [4]f64, v: [3]f64) -> map (\\x -> x * x) (scatter (copy a) (iota 3) (map (* a[3]) v))) ([1, 2, 3, 4], [5, 6, 7]) [1, 2, 3, 4]",
    );
    assert_agrees(
        "entry f = vjp (\\(a: [4]f64, v: [3]f64) -> map (\\x -> x * x) (scatter (copy a) (map (3 -) (iota 3)) (map (* a[3]) v))) ([1, 2, 3, 4], [5, 6, 7]) [1, 2, 3, 4]",
    );
    let twice = "entry f (is: []i64) (v: []f64) = vjp (\\v -> f64.sum (scatter (replicate 3 0) is v)) v 1";
    let error = source(twice).with_engine(Engine::DualArrays).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("a scatter that may write twice to one place"), "{error}");
}

#[test]
fn an_update_inside_a_build_is_checked_where_there_are_elements() {
    let text = "entry f (a: []f64) (d: i64) (n: i64) = vjp (\\a -> f64.sum (map (\\i -> f64.sum (copy a with [i + d] = a[0])) (iota n))) a 1";
    let program = by_dual_arrays(text);
    let call = |d: i64, n: i64| program.function("f").and_then(|f| f.call(&[vec![1.0, 2.0].into(), d.into(), n.into()]));
    assert!(call(0, 2).is_ok() && call(7, 0).is_ok());
    for message in [call(1, 2), call(-1, 1)].map(|result| result.err().map(|error| error.to_string()).unwrap_or_default()) {
        assert!(message.contains("out of bounds"), "{message}");
    }
}

/// What a step uses of the function around it becomes rows of the fold.
#[test]
fn folds_that_use_what_is_around_them_agree_with_the_interpreter() {
    for n in [0, 1, 2, 7] {
        for function in [
            "\\(x: f64) -> loop y = x for _i < n do x * y",
            "\\(x: f64) -> loop y = x for i < n do let z = f64.sin (x * f64.i64 i) in z * y + x",
            "\\(x: f64) -> let a = tabulate (n + 1) (\\i -> x + f64.i64 i) in loop y = a[0] for i < n do y * a[i] + f64.cos a[n - i] * a[0]",
            "\\(x: f64) -> let a = tabulate (n + 3) (\\i -> x * f64.i64 i) in f64.sum (loop y = [x, x, 1] for i < n do map2 (*) y (tabulate 3 (\\j -> a[i + j] + x)))",
            "\\(x: f64) -> let a = tabulate n (\\i -> x * f64.i64 i) in f64.sum (loop y = [x, x, 1] for i < n do map (\\v -> v * a[i] + x) y)",
            "\\(x: f64) -> reduce (\\p q -> p * q * x) 1 (tabulate n (\\i -> x + f64.i64 i))",
            "\\(x: f64) -> last (scan (\\p q -> p * q + x) 1 (replicate (n + 1) x))",
            "\\(x: f64) -> f64.sum (map (\\k -> loop y = x for i < n do y * x + f64.i64 (i + k)) (iota 3))",
            "\\(x: f64) -> loop y = x for i < n do loop z = y for _j < i do z * x + y",
        ] {
            assert_agrees(&format!("def g (n: i64) = vjp ({function})\nentry f = (g {n} 0.7 1, g {n} (-0.3) 2)"));
        }
    }
}

#[test]
fn derivatives_of_derivatives_of_folds_of_any_length_agree_with_the_interpreter() {
    for n in [0, 1, 2, 5] {
        for function in [
            "\\(x: f64) -> loop y = x for i < n do f64.sin y * f64.i64 (i + 1)",
            "\\(x: f64) -> loop y = x for _i < n do x * y",
            "\\(x: f64) -> f64.product (map (\\i -> x + f64.i64 i) (iota n))",
            "\\(x: f64) -> last (scan (\\a b -> a * b + 1) 1 (replicate (n + 1) x))",
            "\\(x: f64) -> f64.sum (map (\\i -> loop y = x * f64.i64 i for _j < n do y * y / 2) (iota 3))",
        ] {
            assert_agrees(&format!(
                "def g (n: i64) (x: f64) = vjp ({function}) x 1\nentry f = (vjp (g {n}) 0.7 1, vjp (g {n}) (-0.3) 2)"
            ));
        }
    }
}

#[test]
fn what_is_outside_is_refused_with_its_place() {
    for (text, what) in [
        (
            "entry f (a: []f64) (n: i64) = vjp (\\a -> loop y = a[0] for _i < n do a[i64.f64 y % 2] * y) a 1",
            "a fold that is not closed",
        ),
        (
            "entry f (a: []f64) (n: i64) = vjp (\\a -> loop a = copy a for i < n do a with [i] = a[0] * a[i]) a a",
            "an update at a place that changes in a fold",
        ),
        ("entry f (x: f64) = vjp (\\x -> loop y = x while y < 10 do y * y) x 1", "a loop with a condition"),
        (
            "entry f (x: f64) (n: i64) = vjp (\\x -> (loop (y, i) = (x, 0i64) for _j < n do (y * f64.i64 i, if y > 0 then i * i + 1 else i)).0) x 1",
            "a fold that carries values of different types",
        ),
        (
            "def g (n: i64) (x: f64): f64 = if n == 0 then x else x * g (n - 1) x
          entry f (x: f64) (n: i64) = vjp (g n) x 1",
            "a recursive function",
        ),
        // Of what the prelude does or the compiler made, the place in the program is told from which it is reached.
        ("entry f (a: []f64) = vjp (\\a -> f64.product (filter (> 0) a)) a 1", "an array whose size is computed from the inputs"),
        (
            "entry f (x: f64) (n: i64) = let g = if n > 0 then (\\y -> y * y) else (\\y -> 3 * y) in vjp (\\x -> g (x * g x)) x 1",
            "a sum type",
        ),
    ] {
        let error = source(text).with_engine(Engine::DualArrays).err().unwrap_or_else(|| panic!("taken: {text}"));
        let message = error.to_string();
        assert!(message.contains("E0410") && message.contains(what), "{text}\n{message}");
        assert!(error.place().is_some_and(|place| place.starts_with("<source>:")), "{text}\n{message}");
    }
}

#[test]
fn what_is_refused_inside_of_the_prelude_says_where_the_program_asked_for_it() {
    let text = "entry f (a: [4]f64) = vjp (\\a -> f64.sum (filter (> 2) a)) a 1";
    let error = source(text).with_engine(Engine::DualArrays).err().unwrap_or_else(|| panic!("taken: {text}"));
    assert!(error.place().is_some_and(|place| place.starts_with("<source>:1:")), "{error}");
}

/// The price of bulk operations: what a loop held for one iteration is held for all of them.
#[test]
fn bulk_operations_hold_all_iterations_at_once() {
    let sum = |n: usize| {
        format!("f64.sum (map (\\i -> f64.sum (map (\\j -> a[j] * f64.sin (a[j] * f64.i64 i)) (iota 64))) (iota {n}))")
    };
    let peak = |program: Program| {
        program.function("f").and_then(|f| f.call(&[])).unwrap_or_else(|error| panic!("{}", error.message()));
        program.peak_memory()
    };
    let bulk = |n: usize| peak(by_dual_arrays(&format!("entry f = vjp (\\(a: [64]f64) -> {}) (tabulate 64 f64.i64) 1", sum(n))));
    let one_at_a_time = |n: usize| peak(source(&format!("entry f = let a = tabulate 64 f64.i64 in {}", sum(n))));
    for n in [200, 400] {
        let all = 8 * 64 * n;
        assert!((all..40 * all).contains(&bulk(n)), "{} bytes", bulk(n));
        assert!(one_at_a_time(n) < all / 4, "{} bytes", one_at_a_time(n));
    }
    let growth = bulk(400) as f64 / bulk(200) as f64;
    assert!((1.8..2.2).contains(&growth), "{growth}");
}
