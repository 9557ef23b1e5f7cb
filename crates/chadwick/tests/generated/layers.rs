//! Networks of random layers. Vectors go through a few layers that share matrices, for each of some samples, and a number comes out. The
//! programs are like those that people write to have differentiated: products with matrices and their transposes, windows, neighbours,
//! sums in loops, rows picked by an index, changes in place. So the passes that look for such forms find them, in ever other company.
//! And iterations: loops with a few numbers as their state, for each element of an array.

use chadwick::compile::Engine;
use chadwick::values::compare::{Tolerance, difference};
use chadwick::{Backend, NativeOptions, Program, Value};
use chadwick_generate::Random;

/// How far numbers may be apart, of the largest in a result.
const AGREEMENT: f64 = 1e-9;

/// Each makes a vector of the vector `a`, the matrices `w` and `v`, and the vectors `u` and `c`.
const LAYERS: [&str; 36] = [
    "map (\\r -> sum (map2 (*) r a)) w",
    "map (\\r -> f64.tanh (sum (map2 (*) r a))) v",
    "map (\\r -> sum (map2 (*) r a)) (transpose w)",
    "map2 (+) a (map (\\r -> sum (map2 (*) r a)) (transpose v))",
    "map (\\r -> sum (map2 (\\p q -> (p - q) ** 2) r a)) w",
    "map2 (\\r x -> f64.exp (-(sum (map2 (\\p q -> (p - q) ** 2) r a))) * x) v a",
    "map (\\r -> f64.maximum (map2 (*) r a)) v",
    "map2 (\\x r -> sum (map (\\q -> f64.sin (x * q)) r)) a w",
    "map2 (\\x r -> x * sum (map (** 2) r)) a w",
    "map (\\k -> sum (map2 (\\x r -> x * r[k]) a v)) (iota h)",
    "map (\\i -> sum (map2 (*) v[i] a) * u[i]) (iota h)",
    "map (\\r -> sum (map2 (*) (map2 (+) r u) a)) (map2 (map2 (*)) w (transpose v))",
    "tabulate h (\\i -> loop t = 0 for j < h do t + w[i, j] * a[j])",
    "tabulate h (\\i -> loop t = 0 for j < h do t + v[j, i] * a[j] * u[i])",
    "map (\\i -> (loop (p, q) = (0, 0) for k < h do (p + u[k] * a[i], q + w[k, i])).1 * a[i]) (iota h)",
    "map (\\x -> loop t = x for i < 3 do t * 0.5 + u[i % h] * w[i % h, 0]) a",
    "map (\\x -> foldl (\\s q -> s * x * 0.3 + q) 0 c) a",
    "(loop b = a for i < 3 do map2 (\\p q -> p * 0.5 + q * w[i, 0]) b u)",
    "(loop b = copy a for i < h - 1 do b with [i + 1] = b[i] * u[i] + a[i + 1])",
    "(let b = copy a with [0] = u[0] * a[0] in map2 (*) b u)",
    "scan (+) 0 (map2 (*) a u)",
    "scan (*) 1 (map2 (\\x y -> 0.9 + 0.1 * x * y) a u)",
    "hist (+) 0 h (map (\\i -> i * 3 % h) (iota h)) (map2 (*) a u)",
    "(let m = f64.maximum a let e = map (\\x -> f64.exp (x - m)) a let s = sum e in map (/ s) e)",
    "map2 (\\x i -> x * u[(i + 1) % h] + u[i]) a (iota h)",
    "map (\\i -> if i > 0 then a[i - 1] * u[i] else a[i]) (iota h)",
    "tabulate h (\\i -> let s = (a ++ a)[i:i + 3] in sum (map2 (*) s u[0:3]))",
    "(let b = tabulate (h - 2) (\\i -> sum (map2 (*) a[i:i + 3] u[i:i + 3])) in map (\\i -> if i < h - 2 then b[i] else a[i]) (iota h))",
    "tabulate h (\\i -> sum (tabulate 3 (\\k -> (a ++ u)[i + k] * w[k, i])))",
    "map (\\i -> let r = w[(i * 3 + 1) % h] in sum (map2 (*) r a) + r[i]) (iota h)",
    "map (\\i -> let r = v[i, 1:] in a[0] * sum (map2 (*) r r) + a[i]) (iota h)",
    "(let m = w[1:3] in map (\\i -> sum (map2 (*) m[i % 2] a)) (iota h))",
    "(let ix = map (\\i -> (i * 5 + 1) % h) (iota h) in map2 (\\i x -> w[i, 0] * x + a[i]) ix a)",
    "flatten (map (\\i -> [a[2 * i] * u[i], a[2 * i + 1] - u[i]]) (iota (h / 2))) :> [h]f64",
    "map2 (\\x y -> x ** 3 - y ** 0.5) a (map (\\y -> y * y + 0.1) u)",
    "grad (\\(b: [h]f64) -> sum (map (\\r -> sum (map2 (*) r b) ** 2) w)) a",
];

/// What is done with the samples and their layers.
const SAMPLES: [&str; 3] = [
    "sum (map (\\(a: [h]f64) -> LAYERS sum (map (** 2) a)) x)",
    "sum (map (\\r -> sum (map f64.sin r)) (map (\\(a: [h]f64) -> LAYERS a) x))",
    "(loop s = 0 for i < n do (let a = x[i] in s + (LAYERS sum (map (** 2) a))))",
];

/// Each makes a number of the numbers `p` and `q`, the element `e`, the counter `i`, and `u`, `c` and `w`.
const STEPS: [&str; 24] = [
    "p",
    "q",
    "p * 0.5 + u[i % h]",
    "p * e * 0.4 + c[i % k]",
    "q * 0.5 + w[i % h, 0] * e",
    "f64.sin (2 * p) + 0.3 * q",
    "f64.cos (p + e)",
    "f64.tan (0.5 * f64.tanh p)",
    "f64.tanh (p + q)",
    "f64.exp (-(p * p)) * e",
    "p / (1 + q * q)",
    "0.5 * (p + e / (1 + p * p))",
    "f64.atan2 p (1.5 + q * q)",
    "(1 + p * p) ** (0.2 * e)",
    "f64.log (1.5 + p * p) - q",
    "p * u[h - 1 - i % h]",
    "f64.i64 i * 0.1 - p * 0.2",
    "if p > q then p - 0.3 * q else 0.5 * q * p",
    "if i % 2 == 0 then f64.sin p else q * e",
    "f64.max (p * 0.7) q",
    "f64.abs (p - q)",
    "(loop p for i < 3 do 0.5 * p + u[i] * q)",
    "(loop (p, q) = (q, p) for i < k do (q * 0.5, p + c[i])).0",
    "f64.sum (map (\\z -> z * p * 0.1) u)",
];

/// What is iterated, and for how long.
const LOOPS: [&str; 5] = [
    "(let (p, q) = loop (p, q) = (e, 0.5) for i < h do (STEP, STEP) in p + q * e)",
    "(loop (p, q) = (0.3, e) for i < 6 do (STEP, STEP)).0",
    "(let q = 0.4 * e in loop p = e for j < 5i32 do let i = i64.i32 j in STEP)",
    "(let q = 0.4 in let p = loop p = e for i < k do STEP in loop p for i < h do STEP)",
    "(let q = u[0] in loop p = q * e for i < i64.min h 3 do STEP)",
];

/// Over which elements, and what comes of it.
const MAPS: [&str; 6] = [
    "sum (map (\\e -> LOOP) u)",
    "(let y = map (\\e -> LOOP) u in f64.sqrt (1 + sum (map (** 2) y)))",
    "sum (map (\\r -> sum (map (\\e -> LOOP) r)) x)",
    "sum (map2 (\\e f -> f * LOOP) x[0] x[1])",
    "sum (tabulate h (\\z -> let e = u[z * 3 % h] in LOOP * w[z, 0]))",
    "sum (map (\\(e, q) -> q * LOOP) (zip (map (\\e -> LOOP) u) u))",
];

/// A function of samples and weights, named by a number, with its gradient.
fn with_gradient(seed: u64, body: &str) -> String {
    format!(
        "entry program{seed} [n][h][k] (x: [n][h]f64) (w: [h][h]f64) (v: [h][h]f64) (u: [h]f64) (c: [k]f64): f64 = {body}\n\
         entry gradient{seed} [n][h][k] (x: [n][h]f64) (w: [h][h]f64) (v: [h][h]f64) (u: [h]f64) (c: [k]f64) =\n\
         \x20 vjp2 (\\(x, w, v, u, c) -> program{seed} x w v u c) (x, w, v, u, c) 1\n"
    )
}

fn network(seed: u64) -> String {
    let mut random = Random::new(seed);
    let count = random.between(2, 4);
    let layers: String = (0..count).map(|_| format!("let a = {} ", random.pick(&LAYERS))).collect();
    with_gradient(seed, &random.pick(&SAMPLES).replace("LAYERS", &format!("{layers} in")))
}

fn iteration(seed: u64) -> String {
    let mut random = Random::new(seed ^ 0x10_0B5);
    let mut body = random.pick(&MAPS).to_string();
    for (hole, choices) in [("LOOP", LOOPS.as_slice()), ("STEP", STEPS.as_slice())] {
        while body.contains(hole) {
            let choice = *random.pick(choices);
            body = body.replacen(hole, choice, 1);
        }
    }
    with_gradient(seed, &body)
}

/// A family of programs, and how large their arguments are.
#[derive(Clone, Copy)]
pub struct Family {
    program: fn(u64) -> String,
    size: usize,
}

pub const NETWORKS: Family = Family { program: network, size: 4 };
/// Elements go in groups of sixteen, of four, and one by one.
pub const ITERATIONS: Family = Family { program: iteration, size: 22 };

impl Family {
    fn arguments(self, seed: u64) -> Vec<Value> {
        let mut random = Random::new(seed ^ 0x1A7E);
        let mut array = |shape: &[usize]| {
            let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| random.real() * 0.8).collect();
            Value::new(shape.to_vec(), numbers).expect("as many numbers as the shape has")
        };
        let h = self.size;
        vec![array(&[3, h]), array(&[h, h]), array(&[h, h]), array(&[h]), array(&[3])]
    }

    /// Compares gradients with the interpreter's own: by the default engine on the interpreter, and in native code.
    pub fn gradients_agree(self, seeds: std::ops::Range<u64>, native: bool) {
        let source = seeds.clone().map(self.program).fold(String::from("def sum = f64.sum\n"), |all, one| all + &one);
        let program = Program::from_source(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let compiled = |engine: Engine, backend: Backend| {
            program.compiled(engine, backend).unwrap_or_else(|error| panic!("{error}\n{source}"))
        };
        let backend = match native {
            true => Backend::Native(NativeOptions { strict: false, quick: true, threads: 2 }),
            false => Backend::Interpreter,
        };
        let (plain, derived) = (compiled(Engine::Builtin, Backend::Interpreter), compiled(Engine::ChadFast, backend));
        for seed in seeds {
            let call = |program: &Program| {
                let function = program.function(&format!("gradient{seed}")).expect("an entry point");
                function.call(&self.arguments(seed)).unwrap_or_else(|error| panic!("{error}\n{}", (self.program)(seed)))
            };
            let (wanted, found) = (call(&plain), call(&derived));
            if let Some(difference) = difference(&found, &wanted, &Tolerance::uniform(AGREEMENT)) {
                panic!("native: {native}: {difference}\n{}", (self.program)(seed));
            }
        }
    }
}
