//! Functions that neither the standard library nor `libm` has.

use half::f16;
use std::f64::consts::PI;

/// `x` as `n/2 + rest` with `|rest| ≤ 1/4`, and `n` modulo 4. Exact.
fn half_turns(x: f64) -> (i64, f64) {
    let reduced = x % 2.0;
    let halves = (2.0 * reduced).round();
    ((halves as i64).rem_euclid(4), reduced - halves * 0.5)
}

/// `sin (πx)`, exact at integers and half integers.
pub fn sin_pi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (halves, rest) = half_turns(x);
    let value = match halves {
        0 => (PI * rest).sin(),
        1 => (PI * rest).cos(),
        2 => -(PI * rest).sin(),
        _ => -(PI * rest).cos(),
    };
    if value == 0.0 { 0.0_f64.copysign(x) } else { value }
}

/// `cos (πx)`, exact at integers and half integers.
pub fn cos_pi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (halves, rest) = half_turns(x);
    let value = match halves {
        0 => (PI * rest).cos(),
        1 => -(PI * rest).sin(),
        2 => -(PI * rest).cos(),
        _ => (PI * rest).sin(),
    };
    if value == 0.0 { 0.0 } else { value }
}

/// `tan (πx)`, exact at multiples of a quarter; infinite at half integers.
pub fn tan_pi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (halves, rest) = half_turns(x);
    let odd = halves % 2 == 1;
    match () {
        () if rest == 0.0 && !odd => 0.0_f64.copysign(x),
        () if rest == 0.0 => f64::INFINITY.copysign(2.0 - halves as f64),
        () if rest.abs() == 0.25 => 1.0_f64.copysign(if odd { -rest } else { rest }),
        () if odd => -1.0 / (PI * rest).tan(),
        () => (PI * rest).tan(),
    }
}

/// Bernoulli numbers B₂, B₄, …
const BERNOULLI: [f64; 12] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
    854513.0 / 138.0,
    -236364091.0 / 2730.0,
];

/// The derivative of order `order` of digamma; order 0 is digamma itself. NaN at the poles.
///
/// Large arguments: the asymptotic series. Small positive ones: the recurrence up to where the series is good. Negative ones: the
/// reflection formula.
pub fn polygamma(order: u8, x: f64) -> f64 {
    if x.is_nan() || x == f64::NEG_INFINITY || (x <= 0.0 && x.fract() == 0.0) {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return if order == 0 { f64::INFINITY } else { 0.0 };
    }
    if x < 0.0 {
        let reflected = polygamma(order, 1.0 - x);
        let signed = if order.is_multiple_of(2) { reflected } else { -reflected };
        return signed - PI * cotangent_derivative(order, x);
    }
    let threshold = if order == 0 { 10.0 } else { 20.0 + f64::from(order) };
    let (mut at, mut below) = (x, 0.0);
    while at < threshold {
        let inverse = 1.0 / at;
        below += (0..order).fold(inverse, |power, _| power * inverse);
        at += 1.0;
    }
    let order = f64::from(order);
    let factorial = (1..=order as u32).map(f64::from).product::<f64>();
    if order == 0.0 {
        return digamma_series(at) - below;
    }
    // (-1)^(order+1) times a positive sum.
    let magnitude = factorial * below + polygamma_series(order, at);
    if order % 2.0 == 0.0 { -magnitude } else { magnitude }
}

fn digamma_series(x: f64) -> f64 {
    let inverse_square = 1.0 / (x * x);
    let (mut power, mut sum) = (1.0, 0.0);
    for (k, bernoulli) in BERNOULLI.iter().enumerate() {
        power *= inverse_square;
        sum += bernoulli / (2.0 * (k as f64 + 1.0)) * power;
    }
    x.ln() - 0.5 / x - sum
}

fn polygamma_series(order: f64, x: f64) -> f64 {
    let below = (1..order as u32).map(f64::from).product::<f64>();
    let mut sum = below / x.powf(order) * (1.0 + order / (2.0 * x));
    // (2k+n-1)!/(2k)!, by steps of two.
    let mut ratio = below;
    let mut power = x.powf(-order);
    for (k, bernoulli) in BERNOULLI.iter().enumerate() {
        let two_k = 2.0 * (k as f64 + 1.0);
        ratio *= (two_k + order - 2.0) * (two_k + order - 1.0) / ((two_k - 1.0) * two_k);
        power /= x * x;
        sum += bernoulli * ratio * power;
    }
    sum
}

/// The derivative of order `order` of `cot (πx)`: `π^order` times a polynomial in the cotangent.
fn cotangent_derivative(order: u8, x: f64) -> f64 {
    let cotangent = 1.0 / tan_pi(x);
    let mut polynomial = vec![0.0, 1.0];
    for _ in 0..order {
        // p ↦ -(1 + c²) p'
        let mut next = vec![0.0; polynomial.len() + 1];
        for (k, coefficient) in polynomial.iter().enumerate().skip(1) {
            let slope = k as f64 * coefficient;
            next[k - 1] -= slope;
            next[k + 1] -= slope;
        }
        polynomial = next;
    }
    let value = polynomial.iter().rev().fold(0.0, |sum, coefficient| sum * cotangent + coefficient);
    PI.powi(i32::from(order)) * value
}

/// The neighbour of `x` in the direction of `y`.
pub fn next_after_f16(x: f16, y: f16) -> f16 {
    if x.is_nan() || y.is_nan() {
        return f16::NAN;
    }
    if x == y {
        return y;
    }
    let bits = x.to_bits();
    if x.to_f32() == 0.0 {
        return f16::from_bits(1 | (y.to_bits() & 0x8000));
    }
    let away = (y.to_f32() > x.to_f32()) == (bits & 0x8000 == 0);
    f16::from_bits(if away { bits + 1 } else { bits - 1 })
}
