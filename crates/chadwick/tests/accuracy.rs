//! The elementary functions of native code against arithmetic of many digits and, at more points, against those of the C library.

use chadwick::{Backend, NativeOptions, Program};
use dashu_float::{FBig, round::mode::HalfEven};

type Exact = FBig<HalfEven, 2>;

const SOURCE: &str = "
entry exp [n] (x: [n]f64) = map f64.exp x
entry log [n] (x: [n]f64) = map f64.log x
entry tanh [n] (x: [n]f64) = map f64.tanh x
entry erf [n] (x: [n]f64) = map f64.erf x
entry erfc [n] (x: [n]f64) = map f64.erfc x
entry log1p [n] (x: [n]f64) = map f64.log1p x
entry sin [n] (x: [n]f64) = map f64.sin x
entry cos [n] (x: [n]f64) = map f64.cos x
entry tan [n] (x: [n]f64) = map f64.tan x
entry sinh [n] (x: [n]f64) = map f64.sinh x
entry cosh [n] (x: [n]f64) = map f64.cosh x
entry asin [n] (x: [n]f64) = map f64.asin x
entry acos [n] (x: [n]f64) = map f64.acos x
entry atan [n] (x: [n]f64) = map f64.atan x
entry asinh [n] (x: [n]f64) = map f64.asinh x
entry acosh [n] (x: [n]f64) = map f64.acosh x
entry atanh [n] (x: [n]f64) = map f64.atanh x
entry atan2 [n] (y: [n]f64) (x: [n]f64) = map2 f64.atan2 y x
entry pow [n] (x: [n]f64) (y: [n]f64) = map2 (**) x y
entry hypot [n] (x: [n]f64) (y: [n]f64) = map2 f64.hypot x y";

const NATIVE: Backend = Backend::Native(NativeOptions { strict: false, quick: false, threads: 1 });

/// The values of an entry point at some points.
fn values_of<const N: usize>(backend: Backend, entry: &str, points: [&[f64]; N]) -> Vec<f64> {
    let program = Program::from_source(SOURCE).and_then(|program| program.with_backend(backend)).expect("a program");
    let found = program.function(entry).and_then(|function| function.call(&points.map(|points| points.to_vec().into())));
    found.expect("values")[0].as_slice::<f64>().expect("floats").to_vec()
}

fn values(backend: Backend, entry: &str, points: &[f64]) -> Vec<f64> {
    values_of(backend, entry, [points])
}

fn native(entry: &str, points: &[f64]) -> Vec<f64> {
    values(NATIVE, entry, points)
}

/// Points without a pattern: of all sizes, and where functions change most.
fn points(count: u64) -> Vec<f64> {
    let mut bits = 0x0123_4567_89ab_cdefu64;
    let mut point = |at| {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        match at % 6 {
            0 => f64::from_bits(bits),
            1 => (unit - 0.5) * 1500.0,
            2 => (unit - 0.5) * 2.0,
            3 => 0.5 + unit,
            4 => (unit - 0.5) * 60.0,
            _ => (unit - 0.5) * 1e-3,
        }
    };
    (0..count).map(&mut point).collect()
}

/// Bits that are enough for any of these functions to be right in far more digits than a number has.
const BITS: usize = 160;

fn exact(x: f64, bits: usize) -> Exact {
    Exact::try_from(x).expect("a number").with_precision(bits).value()
}

/// By a series whose terms are all of one sign, so that no digits are lost: 2 / sqrt pi e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...).
fn exact_erf(x: f64, bits: usize) -> Exact {
    let x = exact(x, bits);
    let twice_square = &x * &x * Exact::from(2);
    let (mut term, mut sum) = (x.clone(), x.clone());
    for odd in (3u32..).step_by(2) {
        term = &term * &twice_square / Exact::from(odd);
        let more = &sum + &term;
        if more == sum {
            break;
        }
        sum = more;
    }
    let root = Exact::pi(bits).sqrt();
    sum * Exact::from(2) * (-(&x * &x)).exp() / root
}

/// One less `erf`, with as many bits more as are lost where that is close to one.
fn exact_erfc(x: f64) -> Exact {
    let lost = if x > 0.0 { 2.0 * x * x } else { 0.0 };
    Exact::ONE.with_precision(BITS).value() - exact_erf(x, BITS + lost as usize)
}

/// How far a number is from the exact value, in units of the last place that the value has as a number.
fn ulps(found: f64, wanted: &Exact) -> f64 {
    let rounded = wanted.to_f64().value().abs();
    let ulp = (rounded.next_up() - rounded).min(rounded - rounded.next_down());
    (exact(found, BITS) - wanted).to_f64().value().abs() / ulp
}

/// The largest error in units of the last place, at points where the exact value is neither too small nor too large for a number.
fn largest_error(entry: &str, points: &[f64], function: impl Fn(f64) -> Exact) -> f64 {
    let found = native(entry, points);
    let errors = points.iter().zip(found).map(|(x, y)| (ulps(y, &function(*x)), *x));
    let (error, x) = errors.fold((0.0, 0.0), |most, next| if next.0 > most.0 { next } else { most });
    println!("{entry}: {error:.2} ulp at {x:e}");
    error
}

#[test]
fn functions_are_within_their_bounds_of_the_exact_values() {
    let all = points(6_000);
    let between = |least: f64, most: f64| all.iter().copied().filter(|x| least <= *x && *x <= most).collect::<Vec<f64>>();
    assert!(largest_error("exp", &between(-745.1, 709.78), |x| exact(x, BITS).exp()) <= 1.1);
    assert!(largest_error("log", &between(5e-324, f64::MAX), |x| exact(x, BITS).ln()) <= 1.1);
    assert!(largest_error("tanh", &between(-25.0, 25.0), |x| exact(x, BITS).tanh()) <= 3.0);
    assert!(largest_error("erf", &between(-6.0, 6.0), |x| exact_erf(x, BITS)) <= 2.0);
    assert!(largest_error("erfc", &between(-6.0, 26.5), exact_erfc) <= 4.0);
    assert!(largest_error("log1p", &between(-0.999, f64::MAX), |x| exact(x, BITS).ln_1p()) <= 1.6);
    assert!(largest_error("sinh", &between(-710.4, 710.4), |x| exact(x, BITS).sinh()) <= 2.0);
    assert!(largest_error("cosh", &between(-710.4, 710.4), |x| exact(x, BITS).cosh()) <= 2.0);
    assert!(largest_error("asin", &between(-1.0, 1.0), |x| exact(x, BITS).asin()) <= 1.1);
    assert!(largest_error("acos", &between(-1.0, 1.0), |x| exact(x, BITS).acos()) <= 1.1);
    assert!(largest_error("atan", &between(f64::MIN, f64::MAX), |x| exact(x, BITS).atan()) <= 1.1);
    assert!(largest_error("asinh", &between(f64::MIN, f64::MAX), |x| exact(x, BITS).asinh()) <= 3.0);
    assert!(largest_error("acosh", &between(1.0, f64::MAX), |x| exact(x, BITS).acosh()) <= 3.0);
    assert!(largest_error("atanh", &between(-0.999_999, 0.999_999), |x| exact(x, BITS).atanh()) <= 3.0);
    // Angles of all sizes, and those next to multiples of quarter turns.
    let mut angles = between(-1e22, 1e22);
    angles.extend((1..2000).flat_map(|n| {
        let angle = f64::from(n * n) * std::f64::consts::FRAC_PI_2;
        [angle.next_down(), angle, -angle.next_up()]
    }));
    assert!(largest_error("sin", &angles, |x| exact(x, BITS + 80).sin()) <= 1.1);
    assert!(largest_error("cos", &angles, |x| exact(x, BITS + 80).cos()) <= 1.1);
    assert!(largest_error("tan", &angles, |x| exact(x, BITS + 80).tan()) <= 3.0);
}

/// How many numbers lie between two.
fn distance(x: f64, y: f64) -> u64 {
    let place = |x: f64| {
        let bits = x.to_bits() as i64;
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    if x.is_nan() && y.is_nan() { 0 } else { place(x).abs_diff(place(y)) }
}

#[test]
fn functions_are_close_to_others_everywhere() {
    let mut all = points(200_000);
    all.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::MIN]);
    all.extend([709.78, 709.79, -745.1, -745.2, -708.4, 1.0, 19.06, -19.07, 22.0, 0.34657, 0.34658, 0.173_28]);
    all.extend([0.5, -0.5, -1.0, 710.47, -710.47, 710.48, 0.414_213, 0.414_214, 2.414_213, 2.414_214, 1e9, 1.1e9, 1e300]);
    let others: [(&str, Vec<f64>, u64); 17] = [
        ("exp", all.iter().map(|x| x.exp()).collect(), 2),
        ("log", all.iter().map(|x| x.ln()).collect(), 2),
        ("tanh", all.iter().map(|x| x.tanh()).collect(), 4),
        ("erf", values(Backend::Interpreter, "erf", &all), 6),
        ("erfc", values(Backend::Interpreter, "erfc", &all), 6),
        ("log1p", all.iter().map(|x| x.ln_1p()).collect(), 3),
        ("sin", all.iter().map(|x| x.sin()).collect(), 2),
        ("cos", all.iter().map(|x| x.cos()).collect(), 2),
        ("tan", all.iter().map(|x| x.tan()).collect(), 4),
        ("sinh", all.iter().map(|x| x.sinh()).collect(), 4),
        ("cosh", all.iter().map(|x| x.cosh()).collect(), 3),
        ("asin", all.iter().map(|x| x.asin()).collect(), 2),
        ("acos", all.iter().map(|x| x.acos()).collect(), 2),
        ("atan", all.iter().map(|x| x.atan()).collect(), 2),
        ("asinh", values(Backend::Interpreter, "asinh", &all), 4),
        ("acosh", values(Backend::Interpreter, "acosh", &all), 4),
        ("atanh", values(Backend::Interpreter, "atanh", &all), 4),
    ];
    for (entry, others, allowed) in others {
        for ((x, found), other) in all.iter().zip(native(entry, &all)).zip(others) {
            assert!(distance(found, other) <= allowed, "{entry} at {x:e}: {found:e} instead of {other:e}");
        }
    }
}

#[test]
fn functions_of_two_numbers_are_close_to_others_everywhere() {
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, f64::MAX, f64::MIN, 1e-300, 3e307];
    let more = [2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1.5, 1024.0, -1075.0, 1e15, 9_007_199_254_740_991.0, 1e300];
    let special = [special, more].concat();
    let mut pairs: Vec<(f64, f64)> = special.iter().flat_map(|x| special.iter().map(|y| (*x, *y))).collect();
    let (first, second) = (points(100_000), points(200_001));
    pairs.extend(first.into_iter().zip(second.into_iter().rev()));
    // Powers that are neither too small nor too large, of numbers close to one, too.
    let unit = |x: &f64| x.rem_euclid(1.0);
    let ordinary = points(60_000);
    pairs.extend(ordinary.iter().zip(&ordinary[7..]).map(|(x, y)| ((40.0 * unit(x) - 20.0).exp2(), 100.0 * unit(y) - 50.0)));
    pairs.extend(ordinary.iter().zip(&ordinary[7..]).map(|(x, y)| (1.0 + 1e-6 * unit(x), 1e8 * unit(y))));
    pairs.extend(ordinary.iter().map(|x| (*x, 1.0)));
    pairs.extend((1..400).flat_map(|x| (0..10).map(move |y| (f64::from(x) / 4.0, f64::from(y)))));
    let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    // Next to the largest number.
    pairs.extend([f64::MAX, f64::MAX.next_down(), -f64::MAX].map(|x| (x, 1.0)));
    pairs.extend([
        (5.643_803_094_122_361e102, 3.0),
        (5.643_803_094_122_363e102, 3.0),
        (2.0, 1_023.999_999_999_999_9),
        (2.0, 1024.0),
    ]);
    pairs.extend([
        (2.0, -1074.0),
        (2.0, -1074.5),
        (2.0, -1075.0),
        (2.0, -1_074.999_999_999_999_8),
        (f64::MAX, 0.999_999_999_999_999_9),
    ]);
    for entry in ["atan2", "pow", "hypot"] {
        for ((x, y), found) in pairs.iter().zip(values_of(NATIVE, entry, [&first, &second])) {
            let other = match entry {
                "pow" => x.powf(*y),
                "hypot" => x.hypot(*y),
                _ => x.atan2(*y),
            };
            // Powers that are numbers are those.
            let allowed = if entry == "pow" && *y == 1.0 { 0 } else { 2 };
            assert!(distance(found, other) <= allowed, "{entry} {x:e} {y:e}: {found:e} instead of {other:e}");
            assert!(found.is_nan() || found.is_sign_negative() == other.is_sign_negative(), "{entry} {x:e} {y:e}: the sign");
        }
    }
}
