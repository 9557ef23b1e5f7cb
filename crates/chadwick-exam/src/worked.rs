//! The papers' worked examples, with their answers.

use crate::marks::{Outcome, agree};
use crate::timed;
use chadwick::compile::Engine;
use chadwick::{Backend, Error, Program, Value};
use std::time::Duration;

/// A program whose entry point `f` takes nothing, and the numbers it must give.
pub struct Worked {
    pub name: &'static str,
    pub source: &'static str,
    pub wanted: &'static [f64],
}

/// What each engine makes of an example, and how long that takes.
pub(crate) fn answers(example: &Worked, engines: &[Engine]) -> Vec<(Outcome, Duration)> {
    let program = Program::from_source(example.source).and_then(|program| program.with_backend(Backend::Interpreter));
    let answer = |engine: &Engine| {
        let program = program.as_ref().map_err(Error::clone);
        program.and_then(|program| outcome(*engine, program, example.wanted)).unwrap_or_else(Outcome::from)
    };
    engines.iter().map(|engine| timed(|| answer(engine))).collect()
}

fn outcome(engine: Engine, program: &Program, wanted: &[f64]) -> chadwick::Result<Outcome> {
    let found = numbers(&program.with_engine(engine)?.function("f")?.call(&[])?);
    Ok(match agree(&found, wanted) {
        true => Outcome::Agreed,
        false => Outcome::Wrong(format!("{found:?} is not {wanted:?}")),
    })
}

/// The floats of some values, one after the other.
pub(crate) fn numbers(values: &[Value]) -> Vec<f64> {
    let of = |value: &Value| match value.as_scalar::<f64>() {
        Some(number) => vec![number],
        None => value.as_slice::<f64>().map(<[f64]>::to_vec).unwrap_or_default(),
    };
    values.iter().flat_map(of).collect()
}

const fn worked(name: &'static str, source: &'static str, wanted: &'static [f64]) -> Worked {
    Worked { name, source, wanted }
}

/// Rotation by a quaternion (Krawiec et al., figure 12).
macro_rules! rotation {
    ($seed:literal) => {
        concat!(
            "type vec = (f64, f64, f64)
             def cross (a: vec) (b: vec) = (a.1 * b.2 - a.2 * b.1, a.2 * b.0 - a.0 * b.2, a.0 * b.1 - a.1 * b.0)
             def add (a: vec) (b: vec) = (a.0 + b.0, a.1 + b.1, a.2 + b.2)
             def times (k: f64) (a: vec) = (k * a.0, k * a.1, k * a.2)
             def dot (a: vec) (b: vec) = a.0 * b.0 + a.1 * b.1 + a.2 * b.2
             def rotate (q: vec) (w: f64) (v: vec) =
               add (times (2 * dot q v) q) (add (times (w * w - dot q q) v) (times (2 * w) (cross q v)))
             entry f = vjp (\\(q, w, v) -> rotate q w v) ((1.1, 2.2, 3.3), 4.4, (5.5, 6.6, 7.7)) ",
            $seed
        )
    };
}

#[rustfmt::skip]
pub const WORKED: &[Worked] = &[
    worked("square", "entry f = vjp (\\(x: f64) -> x * x) 3 1", &[6.0]),
    worked("two inputs", "entry f = vjp (\\(x: f64, y) -> x * x + 3 * x * y) (2, 5) 1", &[19.0, 6.0]),
    worked("two outputs", "def g (x: f64, y: f64, z: f64) = (x * x * z + 3 * x * y, x * z * z + 4 * y * y)
             entry f = (vjp g (2, 3, 5) (1, 0), vjp g (2, 3, 5) (0, 1))", &[29.0, 6.0, 4.0, 25.0, 24.0, 20.0]),
    worked("shared values", "entry f = vjp (\\(x: f64, y) -> let a = x * y let b = x + a let c = b * a in c) (2, 3) 1", &[48.0, 28.0]),
    worked("powers", "entry f = vjp (\\(a: f64) -> let b = 2 * a let c = 3 * b + 7 * a ** 5 let d = c + 1 in d * d + a) 0.5 1",
           &[2.0 * (3.0 + 7.0 / 32.0 + 1.0) * (6.0 + 35.0 / 16.0) + 1.0]),
    worked("a branch", "entry f = vjp (\\(a: f64) -> let b = a + 1 in if b > 0 then a * b else b) (-3) 1", &[1.0]),
    worked("the other branch", "entry f = vjp (\\(a: f64) -> let b = a + 1 in if b > 0 then a * b else b) 2 1", &[5.0]),
    worked("the running example", "entry f = vjp (\\(x: f64, y) -> let z = x + y in x * z) (12, 13) 1", &[37.0, 12.0]),
    worked("doubling", "entry f = vjp (\\(x: f64) -> loop y = x for _i < 10i64 do y + y) 1 1", &[1024.0]),
    worked("exp, log, tan", "entry f = vjp (\\x -> let y = f64.exp x let z = f64.log y in y + f64.sin z / f64.cos z) 0.5 1",
           &[2.947_167_678_893_573_3]),
    worked("concatenation", "entry f = vjp (\\(a: [10]f64) -> f64.sum (map (\\i -> f64.i64 i * (if i < 10 then a[i] else a[i - 10])) (iota 20)))
             (replicate 10 1) 1", &[10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 22.0, 24.0, 26.0, 28.0]),
    worked("self-convolution", "entry f = vjp (\\(a: [5]f64) -> f64.sum (map (\\i -> a[i] * a[4 - i]) (iota 5))) [1, 2, 3, 4, 5] 1",
           &[10.0, 8.0, 6.0, 4.0, 2.0]),
    worked("a rotation, x", rotation!("(1, 0, 0)"), &[91.96, 58.08, -77.44, 38.72, 4.84, -24.2, 26.62]),
    worked("a rotation, y", rotation!("(0, 1, 0)"), &[-58.08, 91.96, 38.72, 77.44, 33.88, 12.1, 4.84]),
    worked("a rotation, z", rotation!("(0, 0, 1)"), &[77.44, -38.72, 91.96, 58.08, -12.1, 24.2, 24.2]),
    worked("three outputs", "entry f = vjp (\\(x: f64) -> let y = 2 * x let z = x * y in (y, z, f64.cos z)) 0.5 (1, 1, 1)",
           &[2.0 + 2.0 - 0.958_851_077_208_406]),
    worked("a sine", "entry f = vjp (\\(x, y, z, u) -> f64.sin ((x * u + 2 * y) * z + u)) (0.5, -0.3, 1.2, 0.8) 1",
           &[0.813_364_906_586_361_3, 2.033_412_266_465_903_4, -0.169_451_022_205_492, 1.355_608_177_643_935_4]),
    worked("a map of a captured number", "entry f = vjp (\\(x: f64, v: [3]f64) -> f64.sum (map (\\u -> x * u) v)) (2, [1, 2, 3]) 1", &[6.0, 2.0, 2.0, 2.0]),
    worked("a function called twice", "entry f = vjp (\\(a: f64) -> let h = \\v -> a * v in h a + h (3 * a)) 2 1", &[16.0]),
    worked("a function that is chosen", "def power (n: i64) (x: f64): f64 = if n == 0 then 1 else x * power (n - 1) x
             entry f = vjp (\\x -> let g = if x > 0 then (\\y -> y * x) else (\\y -> y) in g (power 5 x)) 2 1", &[192.0]),
    worked("an unused half", "entry f = (vjp (\\(x: f64, _y: [4]f64) -> x * x * x) (2, [1, 2, 3, 4]) 1).0", &[12.0]),
    worked("one element", "entry f = vjp (\\(a: [6]f64) -> a[4]) (replicate 6 1) 3", &[0.0, 0.0, 0.0, 0.0, 3.0, 0.0]),
    worked("a linear map", "entry f = vjp (\\(a: [4]f64) -> map (\\i -> let z = a[i] in z + 2 * z) [0, 2, 2]) (replicate 4 1) [1, 10, 100]", &[3.0, 0.0, 330.0, 0.0]),
    worked("a product", "entry f = vjp (\\(a: [4]f64) -> f64.product a) [1, 2, 3, 4] 1", &[24.0, 12.0, 8.0, 6.0]),
    worked("a fold with a captured number", "entry f = vjp (\\(c: f64, v: [3]f64, a) -> loop a = a for x in v do a * x * c) (3, [2, 3, 4], 1) 1",
           &[648.0, 324.0, 216.0, 162.0, 648.0]),
    worked("repeated squares", "entry f = vjp (\\(s: f64) -> loop s = s for _i < 3i64 do s * s) 1.1 1", &[15.589_736_8]),
    worked("a root", "entry f = vjp (\\(x, y, z) -> f64.sqrt (x + y * z)) (0.4, 1.3, 0.7) 1",
           &[0.436_852_028_353_155_9, 0.305_796_419_847_209_1, 0.567_907_636_859_102_7]),
    worked("a sum type", "type shape = #disk f64 | #box f64 f64
             def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
             entry f = match vjp area (#box 3 4) 1 case #disk r -> (r, r) case #box a b -> (a, b)", &[4.0, 3.0]),
    worked("a list", "type rec list = #nil | #cons f64 list
             def total (l: list): f64 = match l case #nil -> 0 case #cons x rest -> x * x + total rest
             def sum (l: list): f64 = match l case #nil -> 0 case #cons x rest -> x + sum rest
             def make (n: i64): list = loop l: list = #nil for i < n do #cons (f64.i64 i) l
             entry f = sum (vjp total (make 5) 1)", &[20.0]),
    worked("a scan and a histogram", "entry f = vjp (\\(xs: [3]f64) -> let ys = scan (*) 1 xs
               let zs = reduce_by_index (replicate 2 0) (+) 0 (map (% 2) (iota 3)) ys in zs[0] * zs[1]) [2, 3, 4] 1", &[156.0, 100.0, 36.0]),
    worked("an untaken root", "entry f = vjp (\\x -> let s = f64.sqrt x in if x > 0 then s else 0) 0 1", &[0.0]),
    worked("reverse over reverse", "entry f = vjp (\\x -> vjp (\\(x: f64) -> x * x * x) x 1) 2 1", &[12.0]),
    worked("forward over reverse", "entry f = jvp (\\x -> vjp (\\(x: f64) -> x * x * x) x 1) 2 1", &[12.0]),
    worked("reverse over forward", "entry f = vjp (\\x -> jvp (\\(x: f64) -> x * x * x) x 1) 2 1", &[12.0]),
    worked("forward, three outputs", "entry f = jvp (\\(x: f64) -> let y = 2 * x let z = x * y in (y, z, f64.cos z)) 0.5 1",
           &[2.0, 2.0, -0.958_851_077_208_406]),
    worked("forward, a map of a captured number", "entry f = jvp (\\(x: f64) -> map (\\z -> x * z + 1) (replicate 3 x)) 1.5 1", &[3.0, 3.0, 3.0]),
    worked("forward, a function that is chosen", "entry f = jvp (\\(a: f64) -> let h = if a > 0 then (\\v -> a * v) else (\\v -> v) in h a + h (3 * a)) 2 1", &[16.0]),
    worked("forward, a product", "entry f = jvp (\\(a: [4]f64) -> f64.product a) [1, 2, 3, 4] [1, 10, 100, 1000]", &[6944.0]),
    worked("many tangents", "entry f = flatten (jmp (\\(x: [2]f64) -> [x[0] * x[1], x[0] * x[0]]) [2, 3] [[1, 0], [0, 1]])", &[3.0, 4.0, 2.0, 0.0]),
    worked("many cotangents", "entry f = flatten (mjp (\\(x: [2]f64) -> [x[0] * x[1], x[0] * x[0]]) [2, 3] [[1, 0], [0, 1]])", &[3.0, 2.0, 4.0, 0.0]),
    worked("a rule of the program", "def clip (x: f64): f64 = with_vjp id (\\_ adj -> f64.max (-1) (f64.min 1 adj)) x
             entry f = vjp (\\x -> let y = clip x in 5 * y - 3 * y + y * y * y) 2 1", &[1.0]),
    worked("staged calls", "entry f = vjp (\\(x: f64) -> let y1 = x let y2 = 2 * y1 + 3 * y1 let y3 = 4 * y2 + 5 * y1 in y2 + 2 * y3) 1 1", &[55.0]),
    worked("a sum of gathers", "entry f = vjp (\\(a: [8]f64) -> f64.sum (map (\\i -> f64.i64 i * a[[1, 1, 2, 0][i]]) (iota 4))) (replicate 8 1) 1",
           &[3.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    worked("a scatter that adds", "entry f = vjp (\\(v: [9]f64) -> let s = hist (+) 0 6 (map (/ 2) (iota 9)) v in f64.sum (map2 (*) s (map f64.i64 (iota 6)))) (map f64.i64 (1...9)) 1",
           &[0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]),
    worked("a scan", "entry f = vjp (\\(v: [4]f64) -> let s = scan (+) 0 v in f64.sum (map2 (*) s [1, 10, 100, 1000])) [1, 2, 3, 4] 1", &[1111.0, 1110.0, 1100.0, 1000.0]),
    worked("a sum of rows", "entry f = flatten (vjp (\\(m: [3][3]f64) -> map f64.sum (transpose m)) [[1, 2, 3], [4, 5, 6], [7, 8, 9]] [1, 10, 100])",
           &[1.0, 10.0, 100.0, 1.0, 10.0, 100.0, 1.0, 10.0, 100.0]),
    worked("a matrix times a vector", "entry f = let (dm, dv) = vjp (\\(m: [2][2]f64, v: [2]f64) -> f64.sum (map (\\r -> f64.sum (map2 (*) r v)) m)) ([[1, 2], [3, 4]], [5, 6]) 1 in concat (flatten dm) dv",
           &[5.0, 6.0, 5.0, 6.0, 4.0, 6.0]),
    worked("alternating layers", "entry f = vjp (\\(v: [2]f64) -> loop v = v for l < 3i64 do (if l % 2 == 0 then map (+ 1) v else map (* 2) v)) [1, 2] [1, 10]", &[2.0, 20.0]),
    worked("three of the reversed", "entry f = vjp (\\(a: [5]f64) -> let r = reverse a in r[0] + r[1] + r[2]) [1, 2, 3, 4, 5] 1", &[0.0, 0.0, 1.0, 1.0, 1.0]),
    worked("a pair", "entry f = vjp (\\(a: f64) -> let b = (a, 2 * a) in b.0 + b.1) 7 1", &[3.0]),
    worked("a function that captures and one that does not", "entry f = vjp2 (\\(x: f64) -> let g = \\y -> y + 1 let h = let z = x * x in \\y -> z * y in g (2 * x) + h (x + 1)) 1.5 1",
           &[9.625, 11.75]),
    worked("an element of a part", "entry f = (vjp (\\(a: ([3]f64, f64)) -> a.0[1] * a.1) ([1, 2, 3], 5) 1).0", &[0.0, 5.0, 0.0]),
    worked("two names for one array", "entry f = vjp (\\(x: f64) -> let a = map (\\i -> x * f64.i64 i) (iota 4) let b = a in map (\\i -> a[i] + b[i]) (iota 3)) 1 [1, 10, 100]", &[420.0]),
    worked("all elements in order", "entry f = vjp (\\(x: f64) -> let a = map (\\i -> x + f64.i64 i) (iota 3) in map (\\i -> a[i] * 2) (iota (length a))) 1 [1, 10, 100]", &[222.0]),
    worked("a shared factor", "entry f = vjp (\\(x: f64, y: f64, z: f64, t: f64) -> let a = t * t let b = f64.exp t in x * b + y * b + z * b + a) (1, 2, 3, 0) 1",
           &[1.0, 1.0, 1.0, 6.0]),
    worked("nested identities", "entry f = vjp (\\(x: f64) -> (\\x4 -> (\\x3 -> (\\x2 -> (\\x1 -> x1) x2) x3) x4) x) 3 2", &[2.0]),
    worked("polar coordinates", "entry f = (vjp (\\(r, t) -> (r * f64.cos t, r * f64.sin t)) (2, 0) (1, 0), vjp (\\(r, t) -> (r * f64.cos t, r * f64.sin t)) (2, 0) (0, 1))",
           &[1.0, 0.0, 0.0, 2.0]),
    worked("a sum with a sine", "entry f = vjp (\\(x: f64, y: f64) -> x * x + f64.sin (x * y) + 1) (1.5, 0) 1", &[3.0, 1.5]),
    worked("calls of calls", "def p (x: f64) = x * x def q (x: f64) = 3 * x + 1 def r (x: f64) = f64.exp x entry f = vjp (\\x -> p (q (r x))) 0 1", &[24.0]),
    worked("a balanced product", "entry f = vjp (\\(a, b, c, d: f64) -> (a * b) * (c * d)) (1, 2, 3, 4) 1", &[24.0, 12.0, 8.0, 6.0]),
    worked("a chain of names", "entry f = vjp (\\(a: [3]f64) -> let b = a let c = b let d = c in d[0] * c[1] * a[2]) [2, 3, 4] 1", &[12.0, 8.0, 6.0]),
];
