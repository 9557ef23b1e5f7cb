//! The laws of linear maps, tested by applying both sides to random vectors.

mod laws;
mod meaning;
mod procedures;
mod representations;
mod single_use;
mod texts;

/// A small generator of numbers: the tests must be the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// A number with few digits, so that sums of products are exact.
    pub fn number(&mut self) -> f64 {
        self.below(33) as f64 / 4.0 - 4.0
    }

    pub fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }
}

pub fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[track_caller]
pub fn assert_near(found: &[f64], wanted: &[f64], what: &str) {
    let largest = wanted.iter().fold(1.0f64, |largest, number| largest.max(number.abs()));
    let near = |(found, wanted): (&f64, &f64)| (found - wanted).abs() <= 1e-9 * largest;
    assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(near), "{what}: {found:?} is not {wanted:?}");
}
