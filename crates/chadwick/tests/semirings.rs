//! Formal derivatives over semirings (Vákár and Smeding, section 11.3): primal numbers and operations mean something else, the transformation is that of CHAD.

mod work;

use chadwick::compile::{Definition, Elements, Engine};
use chadwick::{Error, Program, Value};
use chadwick_generate::Random;
use work::{run, source};

const ALL: [Elements; 3] = [Elements::Truths, Elements::Lineage, Elements::Costs];

fn over(text: &str, elements: Elements) -> Result<Program, Error> {
    source(text).with_engine(Engine::Chad(Definition::Over(elements)))
}

fn run_over(text: &str, elements: Elements, args: &[Value]) -> Vec<f64> {
    let program = over(text, elements).unwrap_or_else(|error| panic!("{elements:?}: {error}\n{text}"));
    run(&program, "f", args).0
}

/// A semiring as one would write it down.
struct Ring {
    zero: f64,
    one: f64,
    plus: fn(f64, f64) -> f64,
    times: fn(f64, f64) -> f64,
    /// The element for which a number stands, and back.
    element: fn(f64) -> f64,
    number: fn(f64) -> f64,
}

fn ring(elements: Elements) -> Ring {
    fn or(a: f64, b: f64) -> f64 {
        (a as i64 | b as i64) as f64
    }
    match elements {
        Elements::Truths => Ring {
            zero: 0.0,
            one: 1.0,
            plus: f64::max,
            times: f64::min,
            element: |number| f64::from(number != 0.0),
            number: |element| element,
        },
        Elements::Lineage => Ring {
            zero: 0.0,
            one: 1.0,
            plus: or,
            times: |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { or(a, b) },
            element: |number| if number == 0.0 { 0.0 } else { 2.0 * number + 1.0 },
            number: |element| (element / 2.0).floor(),
        },
        Elements::Costs => Ring {
            zero: f64::INFINITY,
            one: 0.0,
            plus: f64::min,
            times: |a, b| a + b,
            element: |number| number,
            number: |element| element,
        },
    }
}

enum Term {
    Input(usize),
    Zero,
    One,
    Plus(Box<[Term; 2]>),
    Times(Box<[Term; 2]>),
}

const INPUTS: usize = 3;

impl Term {
    fn random(random: &mut Random, depth: usize) -> Term {
        match random.between(0, if depth == 0 { 4 } else { 11 }) {
            0 => Term::Zero,
            1 => Term::One,
            2..=4 => Term::Input(random.between(0, INPUTS as i64 - 1) as usize),
            5..=7 => Term::Plus(Box::new([(); 2].map(|()| Term::random(random, depth - 1)))),
            _ => Term::Times(Box::new([(); 2].map(|()| Term::random(random, depth - 1)))),
        }
    }

    fn text(&self) -> String {
        match self {
            Term::Input(at) => format!("xs[{at}]"),
            Term::Zero => String::from("0"),
            Term::One => String::from("1"),
            Term::Plus(parts) => format!("({} + {})", parts[0].text(), parts[1].text()),
            Term::Times(parts) => format!("({} * {})", parts[0].text(), parts[1].text()),
        }
    }

    /// Its value, and its formal derivative by an input.
    fn derivative(&self, ring: &Ring, inputs: &[f64], by: usize) -> (f64, f64) {
        let both = |parts: &[Term; 2]| [0, 1].map(|at| parts[at].derivative(ring, inputs, by));
        match self {
            Term::Input(at) => (inputs[*at], if *at == by { ring.one } else { ring.zero }),
            Term::Zero => (ring.zero, ring.zero),
            Term::One => (ring.one, ring.zero),
            Term::Plus(parts) => {
                let [(a, da), (b, db)] = both(parts);
                ((ring.plus)(a, b), (ring.plus)(da, db))
            }
            Term::Times(parts) => {
                let [(a, da), (b, db)] = both(parts);
                ((ring.times)(a, b), (ring.plus)((ring.times)(da, b), (ring.times)(a, db)))
            }
        }
    }
}

/// Both modes give the value and the formal derivative of random polynomials.
#[test]
fn polynomials_have_their_formal_derivatives() {
    let mut random = Random::new(11);
    for round in 0..120 {
        let elements = ALL[round % 3];
        let ring = ring(elements);
        let term = Term::random(&mut random, 5);
        let numbers: Vec<f64> = (0..INPUTS).map(|_| random.between(0, 7) as f64).collect();
        let seed = random.between(1, 7) as f64;
        let inputs: Vec<f64> = numbers.iter().map(|number| (ring.element)(*number)).collect();
        let cotangent = (ring.element)(seed);
        let value = term.derivative(&ring, &inputs, 0).0;
        let partial = |by| term.derivative(&ring, &inputs, by).1;
        let gradient = (0..INPUTS).map(|by| (ring.times)(cotangent, partial(by)));
        let reverse: Vec<f64> = [value].into_iter().chain(gradient).map(ring.number).collect();
        let text = format!("entry f (xs: [{INPUTS}]f64) (d: f64) = vjp2 (\\xs -> {}: f64) xs d", term.text());
        let args: [Value; 2] = [numbers.clone().into(), seed.into()];
        assert_eq!(run_over(&text, elements, &args), reverse, "{elements:?} {numbers:?} {seed}: {text}");
        // The same tangent for all inputs.
        let all = (0..INPUTS).map(|by| (ring.times)(cotangent, partial(by))).fold(ring.zero, ring.plus);
        let text =
            format!("entry f (xs: [{INPUTS}]f64) (d: f64) = jvp2 (\\xs -> {}: f64) xs (replicate {INPUTS} d)", term.text());
        let forward: Vec<f64> = [value, all].into_iter().map(ring.number).collect();
        assert_eq!(run_over(&text, elements, &args), forward, "{elements:?} {numbers:?} {seed}: {text}");
    }
}

/// Over truth values a derivative says what matters, given what is zero; over plain dependencies a product always matters.
#[test]
fn what_is_multiplied_by_zero_does_not_matter() {
    let text =
        "entry f (x: f64) (y: f64) (z: f64) = vjp2 (\\(x, y, z) -> (x * y + z, f64.exp x / z, f64.sin y)) (x, y, z) (1, 0, 0)";
    let args = [3.0.into(), 0.0.into(), 2.0.into()];
    assert_eq!(run_over(text, Elements::Truths, &args), [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    let by_dependencies = source(text).with_engine(Engine::Chad(Definition::Dependencies)).expect("a derivative");
    assert_eq!(run(&by_dependencies, "f", &args).0[3..], [1.0, 1.0, 1.0]);
    // Other operations collect: zero only if all operands are zero, and there by themselves if they do not take zeros to zero.
    let text = "entry f (x: f64) (y: f64) = vjp2 (\\(x, y) -> (f64.max x y, f64.cos y, y / x, f64.sqrt y)) (x, y) (0, 1, 1, 0)";
    assert_eq!(run_over(text, Elements::Truths, &[1.0.into(), 0.0.into()]), [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
}

/// Lineage: the labels of all that a result was made from; and those of what an input was multiplied with on the way to a result.
#[test]
fn results_know_what_they_were_made_from() {
    let text =
        "entry f (x: f64) (y: f64) (z: f64) = vjp2 (\\(x, y, z) -> (x * y, f64.exp z + x, 0 * x, 2f64)) (x, y, z) (8, 0, 0, 0)";
    let args = [1.0.into(), 2.0.into(), 4.0.into()];
    assert_eq!(run_over(text, Elements::Lineage, &args), [3.0, 5.0, 0.0, 0.0, 8.0 + 2.0, 8.0 + 1.0, 0.0]);
}

/// Whatever programs are made of: arrays, loops, sums, functions, recursion; also numbers from outside of the function, and integers.
#[test]
fn every_construct_has_its_meaning() {
    let programs: [(&str, Vec<Value>, Vec<f64>); 10] = [
        ("entry f (xs: []f64) = vjp2 (reduce (*) 1) xs 0", vec![vec![3.0, 1.0, 2.0].into()], vec![6.0, 3.0, 5.0, 4.0]),
        ("entry f (xs: []f64) = vjp2 f64.sum xs 1", vec![vec![3.0, 1.0, 2.0].into()], vec![1.0, 1.0, 1.0, 1.0]),
        (
            "entry f (xs: []f64) = vjp2 (\\xs -> (scan (*) 1 xs)[1]) xs 0",
            vec![vec![3.0, 1.0, 2.0].into()],
            vec![4.0, 1.0, 3.0, f64::INFINITY],
        ),
        (
            "entry f (x: f64) (n: i64) = vjp2 (\\x -> loop y = x for i < n do if i % 2 == 0 then y * x else y + x * 0) x 0",
            vec![2.0.into(), 3i64.into()],
            vec![6.0, 4.0],
        ),
        (
            "type shape = #disk f64 | #box f64 f64 i64
             def area (s: shape): f64 = match s case #disk r -> r * r case #box a b n -> if n > 2 then a * b else a
             entry f (a: f64) (b: f64) = let (v, s) = vjp2 area (#box a b 3) 0 in match s case #disk r -> (v, r, r) case #box c d _ -> (v, c, d)",
            vec![5.0.into(), 7.0.into()],
            vec![12.0, 7.0, 5.0],
        ),
        (
            "entry f (x: f64) (n: i64) = vjp2 (\\x -> let g = if n > 0 then (\\y -> x * y) else (\\y -> y) in g (g x)) x 0",
            vec![2.0.into(), 1i64.into()],
            vec![6.0, 4.0],
        ),
        (
            "def power (x: f64) (n: i64): f64 = if n == 0 then 1 else x * power x (n - 1)
             entry f (x: f64) = vjp2 (\\x -> power x 4) x 0",
            vec![1.5.into()],
            vec![6.0, 4.5],
        ),
        ("entry f (x: f64) (y: f64) = vjp2 (\\x -> x * y) x 0", vec![2.0.into(), 3.0.into()], vec![5.0, 3.0]),
        (
            "entry f (x: f32) (n: i64) = let (v, d) = vjp2 (\\x -> f64.f32 x * f64.i64 n) x 0 in (v, f64.f32 d)",
            vec![2.0f32.into(), 3i64.into()],
            vec![2.0, 0.0],
        ),
        (
            "entry f (xs: []f64) = vjp2 (\\xs -> let h = reduce_by_index (replicate 2 0) (+) 0 (map (% 2) (indices xs)) xs
                                                 let u = copy xs with [0] = h[1] in u[0] * (transpose [u])[1][0]) xs 0",
            vec![vec![3.0, 1.0, 2.0].into()],
            vec![2.0, f64::INFINITY, 1.0, f64::INFINITY],
        ),
    ];
    for (text, args, wanted) in programs {
        assert_eq!(run_over(text, Elements::Costs, &args), wanted, "{text}");
    }
}

/// The derivative of the cost of the cheapest way by an edge, and the cost of the edge, are together the cost of the cheapest way through that edge.
#[test]
fn the_cheapest_way_is_where_costs_add_up() {
    let text = "
def step [n] (edges: [n][n]f64) (v: [n]f64): [n]f64 = map (\\column -> f64.sum (map2 (*) column v)) (transpose edges)
entry f [n] (edges: [n][n]f64) = vjp2 (\\edges -> (loop v = edges[0] for _i < n - 2 do step edges v)[n - 1]) edges 0";
    let far = f64::INFINITY;
    // 0 -> 1 -> 2 -> 3 costs 6, 0 -> 2 -> 3 costs 7 and takes two edges.
    let edges = [[far, 1.0, 5.0, far], [far, 0.0, 3.0, 9.0], [far, far, 0.0, 2.0], [far, far, far, 0.0]];
    let matrix = Value::new([4, 4], edges.concat()).expect("sixteen numbers");
    let found = run_over(text, Elements::Costs, &[matrix]);
    assert_eq!(found[0], 6.0);
    let on_the_way: Vec<usize> = (0..16).filter(|at| edges.concat()[*at] + found[1 + at] == 6.0).collect();
    assert_eq!(on_the_way, [1, 6, 11]);
}

/// A comparison of numbers means nothing where numbers are elements, nor does a difference where they are costs.
#[test]
fn what_has_no_meaning_is_refused_in_its_place() {
    let refused = [
        (Elements::Truths, "entry f (x: f64) = vjp (\\x -> if x > 1 then x else 2) x 1", "`f64.lt` over truth values", ":1:34"),
        (Elements::Lineage, "entry f (x: f64) = vjp (\\x -> f64.i64 (i64.f64 x)) x 1", "`f64.to_i64` over lineage", ":1:39"),
        (Elements::Costs, "entry f (x: f64) =\n  vjp (\\x -> x - 1) x 1", "`f64.sub` over costs", ":2:14"),
    ];
    for (elements, text, wanted, place) in refused {
        let error = over(text, elements).err().expect("a refusal");
        assert!(error.is_refusal() && error.message().contains(wanted), "{}", error.message());
        let found = error.place().unwrap_or_default();
        assert!(found.contains(place), "{found} is not {place}");
    }
}
