//! Dual arrays on terms: the transformations keep meaning, form and work, and all ways to a gradient agree.

mod generate;
mod random;
mod shapes;
mod worked;

/// Whether numbers agree, as far as those of different engines should.
fn near(left: &[f64], right: &[f64]) -> bool {
    let largest = right.iter().fold(1.0f64, |largest, number| largest.max(number.abs()));
    let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * largest;
    left.len() == right.len() && left.iter().zip(right).all(same)
}
