//! What native code makes of loops: which checks go, what runs side by side, where small arrays live; and that no result changes by it.

mod work;

use chadwick::compile::{Engine, Stage};
use chadwick::values::compare::{Tolerance, difference};
use chadwick::{Backend, NativeOptions, Program, Value};
use work::{count, matrix, numbers, source, with_gradient};

fn native(program: &Program, strict: bool, threads: usize) -> Program {
    program.with_backend(Backend::Native(NativeOptions { strict, quick: true, threads })).expect("native code")
}

/// The C text of the program's own functions, without the runtime in front.
fn own_text(program: &Program) -> String {
    let text = native(program, false, 2).c_text().expect("the text of native code");
    let start = text.find("_0_fn").expect("a function");
    text[start..].to_owned()
}

fn call(program: &Program, entry: &str, args: &[Value]) -> Vec<Value> {
    let result = program.function(entry).and_then(|function| function.call(args));
    result.unwrap_or_else(|error| panic!("{entry}: {}", error.message()))
}

/// Both agree with the interpreter, the strict one to the bit; several threads give the bits of one.
fn agrees(program: &Program, entry: &str, args: &[Value]) {
    let wanted = call(program, entry, args);
    let got = call(&native(program, false, 1), entry, args);
    assert_eq!(difference(&got, &wanted, &Tolerance::uniform(1e-12)), None, "{entry}");
    assert_eq!(call(&native(program, false, 3), entry, args), got, "{entry}, three threads");
    assert_eq!(call(&native(program, true, 2), entry, args), wanted, "{entry}, strict");
}

const STENCILS: [(&str, &str); 4] = [
    ("not at the border", r"tabulate n (\i -> if i == 0 || i == n - 1 then x[i] else x[i - 1] + x[i + 1])"),
    ("between the borders", r"tabulate n (\i -> if i > 0 && i + 1 < n then x[i - 1] * x[i + 1] else 0)"),
    ("two back", r"tabulate n (\i -> if i < 2 then 1 else x[i - 2] - x[i])"),
    ("backwards", r"tabulate n (\i -> x[n - 1 - i])"),
];

#[test]
fn conditions_and_counters_make_checks_needless() {
    for (name, body) in STENCILS {
        let program = source(&format!("entry f [n] (x: [n]f64): [n]f64 = {body}"));
        assert!(!own_text(&program).contains("CW_INDEX"), "{name}: {}", own_text(&program));
        for size in [0, 1, 2, 3, 50] {
            agrees(&program, "f", &[numbers(size, 3).into()]);
        }
    }
}

#[test]
fn checks_that_conditions_do_not_make_needless_stay() {
    let bodies = [
        r"tabulate n (\i -> if i == 0 then x[i] else x[i + 1])",
        r"tabulate n (\i -> if i > 1 then x[i - 3] else 0)",
        r"tabulate n (\i -> x[i + k])",
        r"tabulate n (\i -> if i < k then x[k - i] else 0)",
    ];
    for body in bodies {
        let program = source(&format!("entry f [n] (k: i64) (x: [n]f64): [n]f64 = {body}"));
        assert!(own_text(&program).contains("CW_INDEX"), "{body}");
        let args: [Value; 2] = [100i64.into(), numbers(30, 3).into()];
        let message = |program: &Program| match program.function("f").and_then(|function| function.call(&args)) {
            Ok(values) => panic!("{body}: {values:?}"),
            Err(error) => error.message().to_owned(),
        };
        assert_eq!(message(&native(&program, false, 2)), message(&program), "{body}");
    }
}

const PAIRS: &str = r"
def energy [n] (m: [n]f64) (x: [n]f64): f64 =
  f64.sum (map (\p -> f64.sum (map2 (\m q -> m / f64.sqrt ((p - q) * (p - q) + 1)) m x)) x)
entry places [n] (m: [n]f64) (x: [n]f64): [n]f64 = grad (energy m) x
entry both [n] (m: [n]f64) (x: [n]f64): ([n]f64, [n]f64) = grad (uncurry energy) (m, x)
";

/// What each row of pairs adds to the cotangents of all bodies is added in the loop that makes it, beside the sums of the row.
#[test]
fn what_is_made_to_be_added_is_not_stored() {
    let program = source(PAIRS).with_engine(Engine::ChadFast).expect("derivatives as Core");
    let text = own_text(&program);
    let chunks = text.match_indices("_chunk(cw_context").map(|(at, _)| text[at..].split("\n}").next().unwrap_or_default());
    for chunk in chunks {
        assert!(!chunk.contains("cw_alloc"), "{chunk}");
    }
    for size in [0, 1, 2, 9, 200] {
        let args = [numbers(size, 3).into(), numbers(size, 5).into()];
        agrees(&program, "places", &args);
        agrees(&program, "both", &args);
    }
}

const CHAINS: &str = r"
def orbit (steps: i64) (x: f64): f64 = loop y = x for i < steps do y + 0.01 * f64.sin y - 0.001 * f64.i64 i * y
entry values [n] (steps: i64) (x: [n]f64): [n]f64 = map (orbit steps) x
entry total [n] (steps: i64) (x: [n]f64): f64 = f64.sum (map (orbit steps) x)
entry polynomials [n] (steps: i64) (x: [n]f64): f64 =
  f64.maximum (map (\t -> (loop (sum, power) = (0, 1) for i < steps do (sum + power * f64.i64 i, power * t)).0) x)
entry gradient [n] (steps: i64) (x: [n]f64): [n]f64 = grad (total steps) x
";

#[test]
fn chains_of_operations_run_side_by_side() {
    let program = source(CHAINS);
    assert!(own_text(&program).contains("[lane]"));
    for size in [0, 1, 3, 4, 7, 16, 21, 100, 5000] {
        for entry in ["values", "total", "polynomials", "gradient"] {
            agrees(&program, entry, &[13i64.into(), numbers(size, 7).into()]);
        }
    }
    agrees(&program, "total", &[(-1i64).into(), numbers(40, 7).into()]);
}

#[test]
fn arrays_updated_in_a_loop_are_asked_once_whether_they_are_shared() {
    let text = r"entry f [n] (x: *[n]f64): [n]f64 = loop x for i < n - 1 do x with [i + 1] = x[i] + x[i + 1]";
    let program = source(text);
    let c = own_text(&program);
    let (before, inside) = c.split_once("for (int64_t").expect("a loop");
    assert!(before.contains("cw_is_shared") && !inside.contains("cw_is_shared"), "{c}");
    agrees(&program, "f", &[numbers(50, 3).into()]);
    // The array before the loop is read after it: it is copied once, and stays what it was.
    let text = r"entry g [n] (x: [n]f64): ([n]f64, [n]f64) =
      let y = map (+ 1) x
      let z = loop z = copy y for i < n do z with [i] = z[i] * y[n - 1 - i]
      in (y, z)";
    agrees(&source(text), "g", &[numbers(50, 3).into()]);
}

#[test]
fn carried_arrays_that_are_shared_are_copied() {
    let text = r"entry f [n] (x: [n]f64): ([n]f64, [n]f64, [n][n]f64) =
      let (a, b, rows) = loop (a, b, rows) = (x, x, replicate n (replicate n 0)) for i < n do
        let a' = copy a with [i] = b[i] + 1
        in (b, a', rows with [i] = copy a')
      in (a, b, rows)";
    for size in [1, 2, 5, 12] {
        agrees(&source(text), "f", &[numbers(size, 3).into()]);
    }
}

#[test]
fn small_arrays_live_in_the_frame() {
    let text = r"
    def cross (a: [3]f64) (b: [3]f64): [3]f64 = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    entry f [n] (i: i64) (x: [n][3]f64): [n]f64 = map (\v -> let w = cross v [1, 2, 3] in w[i] * f64.sum w) x";
    let program = source(text);
    let body = own_text(&program);
    let inside = body.split_once("for (int64_t").expect("a loop").1;
    let loop_body = inside.split_once("\n  }").expect("its end").0;
    assert!(!loop_body.contains("cw_alloc"), "{loop_body}");
    let rows: Vec<f64> = numbers(30, 3);
    let x = Value::new(vec![10, 3], rows).expect("a matrix");
    agrees(&program, "f", &[2i64.into(), x]);
}

/// The adjoint of a stencil adds nothing in place: no accumulations are counted.
#[test]
fn adjoints_of_stencils_are_stencils() {
    for (name, body) in &STENCILS[..3] {
        let program = source(&format!("entry f [n] (x: [n]f64): f64 = f64.sum (map (\\v -> v * v) ({body}))"));
        let args: [Value; 2] = [numbers(40, 3).into(), 1.0.into()];
        let counted = count(&with_gradient(&program, "f"), "f", &args);
        assert_eq!(counted.accumulations, 0, "{name}");
        for size in [0, 1, 2, 3, 40] {
            let x: Value = numbers(size, 5).into();
            let gradient =
                source(&format!("entry g [n] (x: [n]f64): [n]f64 = grad (\\x -> f64.sum (map (\\v -> v * v) ({body}))) x"));
            agrees(&gradient, "g", &[x]);
        }
    }
}

/// Distances to all of some points: least, nearest, and all of them.
#[test]
fn sums_of_rows_go_side_by_side() {
    let text = "
def distance [d] (a: [d]f64) (b: [d]f64): f64 = f64.sum (map2 (\\x y -> (x - y) ** 2) a b)
entry least [n][k][d] (p: [n][d]f64) (c: [k][d]f64): f64 = f64.sum (map (\\p -> f64.minimum (map (distance p) c)) p)
entry nearest [n][k][d] (p: [n][d]f64) (c: [k][d]f64): [n]i64 =
  map (\\p -> (reduce (\\(a, i) (b, j) -> if a <= b then (a, i) else (b, j)) (f64.inf, -1) (zip (map (distance p) c) (iota k))).1) p
entry all [n][k][d] (p: [n][d]f64) (c: [k][d]f64): [n][k]f64 = map (\\p -> map (distance p) c) p
entry gradient [n][k][d] (p: [n][d]f64) (c: [k][d]f64): [k][d]f64 = grad (least p) c";
    let program = source(text).with_engine(Engine::ChadFast).expect("derivatives");
    assert!(own_text(&program).matches("lane < 8").count() >= 4, "{}", own_text(&program));
    let mut sizes =
        vec![(8, 8, 1), (9, 15, 3), (20, 17, 16), (100, 23, 5), (7, 30, 4), (30, 7, 4), (8, 9, 0), (0, 9, 2), (9, 0, 2)];
    sizes.push((64, 41, 30));
    for (n, k, d) in sizes {
        let (p, mut c) = (work::matrix(n, d, 1), numbers(k * d, 2));
        // A distance that is no number is never the least.
        if let Some(place) = c.get_mut(d / 2) {
            *place = f64::NAN;
        }
        let args = [p, Value::new([k, d], c).expect("a matrix")];
        for entry in ["least", "nearest", "all", "gradient"] {
            agrees(&program, entry, &args);
        }
    }
}

/// The copy is made only where its reading is the program's own: whoever reads nothing, or too much, says so for himself.
#[test]
fn sums_of_rows_that_are_not_there_fail_only_where_they_are_made() {
    let sum = "f64.maximum (map (\\r -> f64.sum (map (\\j -> (m[r, j] - x) ** 2) (iota d))) (iota k))";
    let parameters = "[n][d][p] (m: [n][d]f64) (k: i64) (z: i64) (xs: [p]f64)";
    let text = format!(
        "entry guarded {parameters}: [p]f64 = map (\\x -> if k <= n then {sum} else -x) xs
         entry never {parameters}: [p]f64 = map (\\x -> f64.sum (map (\\_ -> {sum}) (iota z))) xs
         entry plain {parameters}: [p]f64 = map (\\x -> {sum} + f64.i64 z) xs"
    );
    let program = source(&text);
    for k in [9, 16, 17, 40i64] {
        let args = [work::matrix(16, 3, 1), k.into(), 0i64.into(), numbers(20, 2).into()];
        agrees(&program, "guarded", &args);
        agrees(&program, "never", &args);
        match k <= 16 {
            true => agrees(&program, "plain", &args),
            false => {
                let fails =
                    |program: &Program| program.function("plain").and_then(|function| function.call(&args)).expect_err("no row");
                let (found, wanted) = (fails(&native(&program, false, 2)), fails(&program));
                assert_eq!((found.message(), found.place()), (wanted.message(), wanted.place()));
            }
        }
    }
}

const STAGE: &str = r"
def left [n] (x: [n]f64): [n]f64 = tabulate n (\i -> if i == 0 then 1 else x[i] - 0.5 * x[i - 1])
def both [n] (x: [n]f64): [n]f64 = tabulate n (\i -> if i > 1 && i + 1 < n then x[i - 2] * x[i + 1] else x[i])";

const STAGES: [&str; 3] = [
    r"let (a, b) = (left x, both (left x)) in map3 (\a b c -> a * b - c) a b (left (map2 (+) a b))",
    r"let a = left x in (a, left (both a))",
    r"loop x for i < 3 do left (both (left (map (* 0.9) x)))",
];

#[test]
fn stages_that_read_neighbours_run_tile_by_tile() {
    let program = |body: &str| source(&format!("{STAGE}\nentry f [n] (x: [n]f64) = {body}"));
    let is_tiled = |program: &Program| own_text(program).contains("cw_tiles");
    for body in STAGES {
        let program = program(body);
        assert!(is_tiled(&program), "{body}: {}", own_text(&program));
        for size in [0, 1, 2, 3, 511, 512, 513, 1025, 40_000] {
            agrees(&program, "f", &[numbers(size, 3).into()]);
        }
        let seeds = call(&program, "f", &[numbers(3000, 5).into()]);
        agrees(&with_gradient(&program, "f"), "f", &[vec![numbers(3000, 3).into()], seeds].concat());
    }
    // What is read from the other end is needed whole.
    assert!(!is_tiled(&program("reverse (left x)")));
}

const SCANS: &str = r"
entry stored [n] (x: [n]f64): ([n]f64, f64) = let s = scan (*) 1 (map (\x -> 1 + x / 1000) x) in (s, f64.sum (map2 (*) s x))
entry integers [n] (x: [n]f64): [n]i64 = scan (+) 0 (map (\x -> i64.f64 (10 * x)) x)";

#[test]
fn scans_of_sums_and_products_run_in_vectors() {
    let program = source(SCANS);
    let text = |strict: bool| native(&program, strict, 2).c_text().expect("the text of native code");
    assert!(text(false).contains("reduction(inscan, *:") && text(false).contains("reduction(inscan, +:"));
    // Strict code keeps the order of the program, which integers do not care for.
    assert!(!text(true).contains("reduction(inscan, *:"));
    for size in [0, 1, 7, 8, 9, 100, 100_003] {
        let x: Value = numbers(size, 3).into();
        agrees(&program, "stored", std::slice::from_ref(&x));
        agrees(&program, "integers", std::slice::from_ref(&x));
    }
}

#[test]
fn operands_of_products_side_by_side_are_made_one_after_the_other() {
    let program = source(
        r"
        entry f [n][k][d] (xs: [n][d]f64) (c: [k][d]f64) (m: [k][d][d]f64): f64 =
          let of_centre x c m =
            let v = map2 (-) x c
            in f64.sum (map (\row -> (f64.sum (map2 (*) row v)) ** 2) m)
          in f64.sum (map (\x -> f64.sum (map2 (of_centre x) c m)) xs)",
    );
    let program = program.with_engine(Engine::ChadFast).expect("a program");
    let (n, k, d) = (60, 40, 20);
    let array =
        |shape: &[usize], seed| Value::new(shape, numbers(shape.iter().product(), seed)).expect("as many numbers as places");
    let args = [array(&[n, d], 1), array(&[k, d], 2), array(&[k, d, d], 3)];
    let compiled = native(&program, false, 1);
    let (got, wanted) = (call(&compiled, "f", &args), call(&program, "f", &args));
    assert_eq!(difference(&got, &wanted, &Tolerance::uniform(1e-12)), None);
    // The products alone, and one matrix of differences rather than all of them.
    let products = (8 * n * k * d) as u64;
    assert!(compiled.peak_memory() as u64 <= products + products / 4, "{} bytes", compiled.peak_memory());
    agrees(&program, "f", &args);
}

#[test]
fn transposed_matrices_are_copied_whole() {
    let program = source("entry f [a][b][c] (x: [a][b][c]f64): [a][c][b]f64 = map transpose (map (map (map (* 2))) x)");
    for shape in [[1, 3, 5], [2, 4, 8], [1, 70, 67], [2, 130, 3], [1, 0, 4]] {
        let x = Value::new(shape, numbers(shape.iter().product(), 1)).expect("as many numbers as places");
        agrees(&program, "f", &[x]);
    }
}

const PARTS: &str = r"
    entry two [n] (x: [n]f64) = map (* 2) x ++ map (+ 1) x
    entry rows [n] (x: [n]f64) = map (\a -> [a, a * a]) x ++ tabulate 3 (\i -> [f64.i64 i, x[i]])
    entry flat [n] (x: [n]f64) = flatten (map (\a -> [a, a * a, a - 1]) x) ++ x ++ map f64.abs x
    entry looked_at_again [n] (x: [n]f64) = let y = map (* 2) x let z = y ++ map (+ 1) x in (f64.sum y, y, z)
    entry twice [n] (x: [n]f64) = let y = map (* 2) x in y ++ y
    entry inside [n] (x: [n]f64) = map (\a -> map (* a) x ++ map (+ a) x) x
    entry in_a_loop [n] (x: [n]f64) = loop x = x for i < 3 do map (* 2) x ++ map (+ f64.i64 i) x
    entry either [n] (x: [n]f64) = if n > 2 then map (* 2) x ++ [1] else x
    entry changed [n] (x: [n]f64) = (map (* 2) x ++ map (+ 1) x) with [0] = 7
    entry of_unequal_rows [n] (x: [n]f64) (k: i64) = map (\a -> [a, a]) x ++ map (\a -> replicate k a :> [2]f64) x";

#[test]
fn parts_of_a_whole_are_built_in_their_places() {
    let program = source(PARTS);
    let entries = ["two", "rows", "flat", "looked_at_again", "twice", "inside", "in_a_loop", "either", "changed"];
    for (entry, size) in entries.into_iter().flat_map(|entry| [3, 4, 50].map(|size| (entry, size))) {
        agrees(&program, entry, &[numbers(size, 2).into()]);
    }
    let unequal =
        |k: i64| native(&program, false, 1).function("of_unequal_rows").expect("it").call(&[numbers(3, 1).into(), k.into()]);
    assert!(unequal(2).is_ok() && unequal(3).is_err());
    let size = 100_000;
    for (entry, elements) in [("two", 2 * size), ("flat", 5 * size)] {
        let compiled = native(&program, false, 1);
        call(&compiled, entry, &[numbers(size, 1).into()]);
        let bytes = 8 * elements as u64;
        assert!(compiled.peak_memory() as u64 <= bytes + bytes / 4, "{entry}: {} bytes for {bytes}", compiled.peak_memory());
    }
}

/// A matrix that is made element by element from one that nobody needs any more, and what is not.
const SUCCESSORS: [(&str, &str, usize); 8] = [
    ("one point after the other", r"let z = map (map (* k)) y in map2 (\i -> map (+ f64.i64 i)) (indices z) z", 1),
    ("two results", r"let (a, b) = unzip (map (map (\v -> (v + 1, v * v)) >-> unzip) y) in map2 (map2 (-)) a b", 1),
    ("rows", r"map (\row -> let t = f64.sum row in map (/ t) row) y", 2),
    ("a neighbour", r"map (\row -> tabulate m (\j -> row[j] - (if j == 0 then 0 else row[j - 1]))) y", 2),
    ("another row", r"tabulate_2d n m (\i j -> y[n - 1 - i, j] * k)", 2),
    ("transposed", r"tabulate_2d n m (\i j -> if n == m then y[j, i] else y[i, j])", 2),
    ("needed afterwards", r"let z = map (map (* k)) y in map2 (map2 (+)) (reverse z) y", 2),
    ("in branches", r"map (map (\v -> if v > 3 then v else -v)) y", 1),
];

#[test]
fn a_matrix_made_from_one_that_is_not_needed_any_more_takes_its_memory() {
    for (name, body, blocks) in SUCCESSORS {
        let program =
            source(&format!("entry f [n][m] (x: [n][m]f64) (k: f64): [n][m]f64 = let y = map (scan (+) 0) x in {body}"));
        let text = own_text(&program);
        assert_eq!(text.matches("cw_alloc(").count(), blocks, "{name}: {text}");
        for (rows, columns) in [(0, 0), (1, 1), (3, 5), (4, 4), (200, 300)] {
            agrees(&program, "f", &[matrix(rows, columns, 3), 2.5.into()]);
        }
    }
}

/// Loops whose gradients keep the states, and how many kinds of states are built in their rows.
const RECORDED: [(&str, &str, usize); 5] = [
    ("one state", r"f64.sum (loop x = x for i < k do map (\v -> v * v * a[i]) x)", 1),
    ("the one before", r"f64.sum (loop (x, y) = (x, x) for i < k do (map2 (\u v -> u * v + a[i]) x y, x)).0", 1),
    ("neighbours", r"f64.sum (loop x = x for i < k do tabulate n (\j -> x[j] * a[i] * (if j == 0 then 1 else x[j - 1]))) ", 1),
    (
        "read again",
        r"let (x, s) = loop (x, s) = (x, 0) for i < k do (let y = map (\v -> v * v * a[i]) x in (y, s + (if n == 0 then 1 else y[0]))) in s * f64.sum x",
        1,
    ),
    ("another size", r"f64.sum (loop (x: []f64) = x for i < k do map (\v -> v * v * a[i]) (x ++ [1]))", 0),
];

#[test]
fn states_that_a_loop_keeps_are_built_where_they_are_kept() {
    for (name, body, kinds) in RECORDED {
        let program = source(&format!("entry f [n][k] (x: [n]f64) (a: [k]f64): f64 = {body}"));
        let program = with_gradient(&program, "f");
        let text = own_text(&program);
        assert_eq!(text.matches("int64_t rows").count(), kinds, "{name}: {text}");
        for (size, steps) in [(0, 3), (1, 0), (3, 1), (5, 4), (3000, 3)] {
            agrees(&program, "f", &[numbers(size, 3).into(), numbers(steps, 4).into(), 1.0.into()]);
        }
    }
}

#[test]
fn the_last_of_the_kept_states_can_be_a_result() {
    let program = source(
        r"entry f [n][k] (x: [n]f64) (a: [k]f64): ([n]f64, [k]f64) =
            let g a = loop x = x for i < k do map (\v -> v * v * a[i]) x
            let (y, a') = vjp2 g a (replicate n 1)
            in (y, a')",
    );
    let program = program.with_engine(Engine::ChadFast).expect("a derivative");
    assert!(own_text(&program).contains("int64_t rows"), "the states are not kept: {}", own_text(&program));
    for (size, steps) in [(0, 3), (2, 0), (3, 1), (4000, 3)] {
        agrees(&program, "f", &[numbers(size, 3).into(), numbers(steps, 4).into()]);
    }
}

/// The steps of a loop over arrays, and whether elements go through all of them by themselves.
const STEPS: [(&str, &str, bool); 9] = [
    ("one array", r"loop x for i < k do map (\v -> v / 2 + f64.i64 i) x", true),
    (
        "a fibonacci of arrays",
        r"(loop (x, y) = (x, map (\v -> 1 - v) x) for i < k do (map2 (\u v -> 0.1 * w[i] * u + v) x y, x)).1",
        true,
    ),
    (
        "two arrays",
        r"(loop (x, y) = (x, x) for _i < k do (map2 (\u v -> u - 0.1 * v) x y, map2 (\u v -> v + 0.1 * u) x y)).0",
        true,
    ),
    (
        "one after the other",
        r"(loop (x, v) = (x, x) for _i < k do let v = map2 (\u v -> v - 0.1 * u) x v in (map2 (\u v -> u + 0.1 * v) x v, v)).0",
        true,
    ),
    ("another array, elsewhere", r"loop x for i < k do map2 (\v j -> v + w[(i + j) % 50]) x (iota n)", true),
    ("neighbours", r"loop x for _i < k do tabulate n (\j -> x[j] + x[(j + 1) % n])", false),
    ("a sum of all", r"loop x for _i < k do let m = f64.sum x in map (\v -> 0.1 * v + 0.01 * m) x", false),
    ("an exponential in each step", r"loop x for i < k do let e = f64.exp (-f64.i64 i) in map (\v -> v + e) x", false),
    ("an array of another size at first", r"loop x = replicate (n + 1) 2.0 for _i < k do tabulate n (\j -> x[j] + 1)", false),
];

#[test]
fn elements_go_through_all_steps_by_themselves() {
    for (name, steps, alone) in STEPS {
        let result = if name.ends_with("at first") { "f64.sum" } else { "" };
        let ty = if result.is_empty() { "[n]f64" } else { "f64" };
        let text = format!("entry f [n] (k: i64) (w: [50]f64) (x: [n]f64): {ty} = {result} ({steps})");
        let program = source(&text);
        let optimised = program.at_stage(Stage::Optimise).expect("Core").core_text();
        let steps = optimised.lines().find(|line| line.contains(" = loop ")).expect("a loop");
        assert_eq!(steps.starts_with("    "), alone, "{name}: {optimised}");
        for (size, count) in [(0, 5i64), (1, 3), (37, 0), (37, 20), (5000, 4)] {
            agrees(&program, "f", &[count.into(), numbers(50, 2).into(), numbers(size, 3).into()]);
        }
    }
}

/// The pieces of a flat map have unknown sizes, so their cotangents go into one accumulator, loop after loop.
#[test]
fn loops_that_add_to_one_accumulator_keep_their_turns_in_strict_floats() {
    let program = source(
        r"entry f (x: f64) (w: [2]f64) =
            vjp (\p -> tabulate 2 (\_ -> f64.sum (flatmap' (\k -> tabulate k (\_ -> f64.sin (f64.sum [p, p, p]))) [3]).3)) x w",
    );
    let program = program.with_engine(Engine::ChadFast).expect("derivatives");
    for x in [0.31, 0.77, 0.59, 0.123] {
        agrees(&program, "f", &[x.into(), vec![0.7, 1.3].into()]);
    }
}

/// Axes that only one operand has are one axis where rows lie behind each other: one product, and no loop around it.
#[test]
fn matrices_in_a_row_are_one_matrix() {
    let dot = "def dot [n] (x: [n]f64) (y: [n]f64) = f64.sum (map2 (*) x y)";
    let bodies = [
        ("(a: [b][n][m]f64) (c: [k][m]f64) = map (map (\\r -> map (dot r) c)) a", false),
        ("(a: [k][m]f64) (c: [b][n][m]f64) = map (\\r -> map (map (dot r)) c) a", false),
        ("(a: [b][n][m]f64) (c: [b][k][m]f64) = map2 (\\a c -> map (\\r -> map (dot r) c) a) a c", true),
        ("(a: [b][n][m]f64) (c: [k][m]f64) = map (map (\\r -> map (dot r) c)) a[:, 1:]", true),
    ];
    for (body, has_loop) in bodies {
        let program = Program::from_source(&format!("{dot}\nentry f [b][n][m][k] {body}")).expect("a program");
        let text = own_text(&program);
        let text = text.split("cw_product_f64").next().filter(|before| before.len() < text.len()).expect("a product");
        assert_eq!(text.contains("for (") || text.contains("_chunk"), has_loop, "{body}: {text}");
    }
}

/// The least of sums that go side by side, and where it is: asked for all of them at once, as few of them change it.
#[test]
fn the_place_of_the_least_sum_is_looked_for_only_where_it_changes() {
    let program = source(
        "def distance [d] (a: [d]f64) (b: [d]f64): f64 = f64.sum (map2 (\\x y -> (x - y) ** 2) a b)
def cost [n][k][d] (points: [n][d]f64) (centres: [k][d]f64): f64 =
  f64.sum (map (\\p -> f64.minimum (map (distance p) centres)) points)
entry f [n][k][d] (points: [n][d]f64) (centres: [k][d]f64): [k][d]f64 = grad (cost points) centres",
    );
    let program = program.with_engine(Engine::ChadFast).expect("derivatives as Core");
    assert!(own_text(&program).contains("_changes |= "), "{}", own_text(&program));
    for centres in [1, 3, 8, 31, 32, 100] {
        agrees(&program, "f", &[matrix(23, 3, 5), matrix(centres, 3, 7)]);
        // All the same: the first of them counts.
        agrees(&program, "f", &[matrix(5, 3, 5), Value::new([centres, 3], vec![0.25; 3 * centres]).expect("a matrix")]);
        let mut odd = vec![f64::NAN; 3 * centres];
        odd[3 * centres - 3..].fill(0.5);
        agrees(&program, "f", &[matrix(5, 3, 5), Value::new([centres, 3], odd).expect("a matrix")]);
    }
}

const SIDE_BY_SIDE: [(&str, &str); 8] = [
    ("a polynomial", "loop acc = 0 for i < k do acc * x + cs[i]"),
    ("a fixed number of steps", "loop y = x + 2 for _i < 7 do 0.5 * (y + (x + 2) / y)"),
    ("counters of another type", "loop y = x for i < i32.i64 k do y * cs[i64.i32 i] + f64.i32 i"),
    ("two loops", "let y = loop y = x for i < k do y + cs[i] * y * y in loop y for i < k do y * (1 + 0.1 * x * cs[i])"),
    ("a loop in a loop", "loop y = x for i < k do loop y for j < i32.i64 k / 2 do y * 0.9 + cs[i] * x * f64.i32 j"),
    ("a choice", "loop y = x for i < k do if y > 0.4 then y * y - 0.2 else y + cs[i] * x"),
    ("parameters in an array", "loop y = x for _i < k do y * cs[0] * 0.3 + cs[k - 1] * x"),
    ("two numbers", "let (a, b) = loop (a, b) = (x, 1) for c in cs do (a * x + c, b * a + x) in a * b"),
];

/// Gradients of loops in a map keep what they need for a group of iterations only, each step of the group in vectors; by numbers that all
/// iterations have in common, too.
#[test]
fn gradients_of_loops_in_maps_go_side_by_side() {
    for (name, body) in SIDE_BY_SIDE {
        let text = format!(
            "def f [k] (cs: [k]f64) (a: f64) (x: f64): f64 = a * ({body})
def total [n][k] (cs: [k]f64) (a: f64) (xs: [n]f64): f64 = f64.sum (map (f cs a) xs)
entry each [n][k] (cs: [k]f64) (xs: [n]f64): [n]f64 = grad (total cs 0.5) xs
entry both [n][k] (cs: [k]f64) (xs: [n]f64) = vjp2 (\\(cs, a, xs) -> total cs a xs) (cs, 0.5, xs) 1
entry root [n][k] (cs: [k]f64) (xs: [n]f64) = grad (\\(cs, a, xs) -> f64.exp (total cs a xs / (1 + f64.i64 n))) (cs, 0.5, xs)"
        );
        let program = source(&text).with_engine(Engine::ChadFast).expect("derivatives as Core");
        for entry in ["each", "both", "root"] {
            for (steps, points) in [(0, 3), (1, 1), (4, 70), (5, 0), (6, 21), (4, 20_000)] {
                agrees(&program, entry, &[numbers(steps, 3).into(), numbers(points, 5).into()]);
            }
        }
        let text = own_text(&program);
        // A choice that adds to a gradient goes one by one.
        let groups = text.matches("+= 16) {").count();
        assert!(groups >= if name == "a choice" { 1 } else { 3 }, "{name}: {groups} groups\n{text}");
    }
}

const ANGLES: [(&str, &str); 7] = [
    ("each", "map (\\x -> f64.sin x * f64.cos (2 * x) + f64.tan x) xs"),
    ("their sum", "[f64.sum (map (\\x -> f64.sin (f64.cos x)) xs)]"),
    ("a gradient", "grad (\\xs -> f64.sum (map (\\x -> f64.sin x * x) xs)) xs"),
    ("with the value", "let (v, g) = vjp2 (\\xs -> f64.sum (map (\\x -> f64.sin (2 * x)) xs)) xs 1 in map (+ v) g"),
    ("in a loop", "grad (\\xs -> f64.sum (map (\\x -> loop y = x for _i < 5 do y + 0.1 * f64.sin (3 * y)) xs)) xs"),
    ("rows", "map (\\x -> f64.sum (map (\\y -> f64.cos (x * y)) xs)) xs"),
    ("in single precision", "map (\\x -> f64.f32 (f32.sin (f32.f64 x) + f32.tan (f32.f64 x))) xs"),
];

/// Angles are computed for a group at once; groups with one that is far away, or none at all, one by one.
#[test]
fn sines_of_several_angles_are_computed_at_once() {
    let entries = ANGLES.iter().enumerate().map(|(number, (_, body))| format!("entry f{number} [n] (xs: [n]f64) = {body}\n"));
    let program = source(&entries.collect::<String>()).with_engine(Engine::ChadFast).expect("derivatives as Core");
    let text = own_text(&program);
    let (one, three, strict) = (native(&program, false, 1), native(&program, false, 3), native(&program, true, 2));
    let mut odd = numbers(50, 7);
    odd.splice(20..24, [1e300, f64::NAN, -3e9, f64::INFINITY]);
    for (number, (name, _)) in ANGLES.iter().enumerate() {
        let entry = format!("f{number}");
        let start = format!("static int {entry}_");
        let own = text.match_indices(&start).map(|(at, _)| &text[at..]);
        let own = own.map(|function| function.split("\n}").next().unwrap_or_default()).collect::<String>();
        assert!(["sin_f64(", "cos_f64(", "sin_f32("].iter().any(|call| own.contains(call)), "{name}\n{own}");
        for points in [Vec::new(), numbers(1, 3), numbers(37, 3), numbers(1000, 5), odd.clone()] {
            let wanted = call(&program, &entry, &[points.clone().into()]);
            let got = call(&one, &entry, &[points.clone().into()]);
            let tolerance = if *name == "in single precision" { 1e-6 } else { 1e-12 };
            assert_eq!(difference(&got, &wanted, &Tolerance::uniform(tolerance)), None, "{name}");
            let got = call(&strict, &entry, &[points.into()]);
            assert_eq!(difference(&got, &wanted, &Tolerance::uniform(0.0)), None, "{name}, strict");
        }
        // The same angle has the same sine, in a group and alone.
        let same = call(&one, &entry, &[vec![0.7; 37].into()]);
        let values = same[0].as_slice::<f64>().expect("floats");
        assert!(values.iter().all(|value| value.to_bits() == values[0].to_bits()), "{name}: {values:?}");
        assert_eq!(same, call(&three, &entry, &[vec![0.7; 37].into()]), "{name}, three threads");
    }
}

const AROUND: [(&str, &str); 10] = [
    ("neighbours", "tabulate n (\\i -> u[i] + 0.1 * (u[(i + 1) % n] - 2 * u[i] + u[(i - 1) % n]))"),
    ("from the other end", "tabulate n (\\i -> u[i] * u[(i + n - 1) % n])"),
    ("further away", "tabulate n (\\i -> u[(i + 3) % n] - u[(i - 2) % n])"),
    ("whole turns", "tabulate n (\\i -> u[(i + 1 + n) % n] - 0.1 * u[(n + n + i - 1) % n])"),
    ("turned", "map2 (*) (rotate 1 u) (rotate (-1) u)"),
    ("turned by something", "map2 (*) u (rotate (n / 3) u)"),
    ("the remainder", "tabulate n (\\i -> u[i %% n] * u[(i + 1) %% n])"),
    ("a few weights", "tabulate n (\\i -> u[i] * u[i % 3 % n])"),
    ("a choice", "tabulate n (\\i -> if u[i] > 0 then u[(i + 1) % n] else u[(i - 1) % n] * u[i])"),
    ("a sum", "replicate n (f64.sum (tabulate n (\\i -> u[i] * u[(i + 1) % n])))"),
];

/// Places beyond the end of an array that go on from its start: no divisions, and loops of their own for what is not at the border. Their
/// derivatives are such loops again.
#[test]
fn places_around_the_end_need_no_division() {
    for (name, body) in AROUND {
        let program = source(&format!(
            "def step [n] (u: [n]f64): [n]f64 = {body}
entry f [n] (u: [n]f64): [n]f64 = step u
entry g [n] (u: [n]f64): [n]f64 = vjp step u (map (** 2) u)
entry steps [n] (u: [n]f64): [n]f64 = grad (\\u -> f64.sum (loop u for _i < 3 do step u)) u"
        ));
        let program = program.with_engine(Engine::ChadFast).expect("derivatives as Core");
        for count in [0, 1, 2, 3, 5, 8, 17, 40, 1000, 20_000] {
            for entry in ["f", "g", "steps"] {
                agrees(&program, entry, &[numbers(count, 3).into()]);
            }
        }
        let text = own_text(&program);
        if ["neighbours", "turned", "whole turns"].contains(&name) {
            assert!(!text.contains("cw_mod_i64"), "{name}\n{text}");
            assert!(!text.contains("part_") && !text.contains("own_"), "{name}: nothing is added up\n{text}");
            assert!(text.matches("_rest = ").count() >= 3, "{name}: three loops in ranges\n{text}");
        }
    }
}

const WINDOWS: &str = r"
entry windows [c][h][w] (x: [c][h][w]f64) (k: [c][3]f64): [h][]f64 =
  tabulate_2d h (w - 2) (\i j ->
    f64.sum (tabulate c (\l -> k[l, 0] * x[l, i, j] + k[l, 1] * x[l, i, j + 1] + k[l, 2] * x[l, i, j + 2])))
entry gradient [c][h][w] (x: [c][h][w]f64) (k: [c][3]f64) =
  grad (\(x, k) -> f64.sum (map f64.sum (map (map (** 2)) (windows x k)))) (x, k)
";

/// Where sums go side by side, places beside an iteration's own are computed for each, so that what is read there is read in vectors.
#[test]
fn places_beside_their_own_are_no_arrays_of_places() {
    let program = source(WINDOWS).with_engine(Engine::ChadFast).expect("derivatives as Core");
    let text = own_text(&program);
    assert!(text.contains("[lane]"), "{text}");
    let is_array_of_places = |line: &str| line.trim().starts_with("int64_t ") && line.trim().ends_with("];");
    assert!(!text.lines().any(is_array_of_places), "{text}");
    for (h, w) in [(0, 2), (1, 3), (2, 18), (3, 34), (5, 70)] {
        for entry in ["windows", "gradient"] {
            let x = Value::new([4, h, w], numbers(4 * h * w, 5)).expect("fits");
            agrees(&program, entry, &[x, matrix(4, 3, 9)]);
        }
    }
}
