//! Arguments from a fixed seed.

use chadwick::values::Value;

/// A linear congruential generator: the same numbers everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Between 0 and 1.
    pub fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn array(&mut self, shape: &[i64], low: f64, high: f64) -> Value {
        let shape = dims(shape);
        let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| low + (high - low) * self.number()).collect();
        made(Value::new(shape, numbers))
    }

    /// Whole numbers below a bound.
    pub fn indices(&mut self, count: i64, bound: i64) -> Value {
        let numbers: Vec<i64> = (0..count).map(|_| (self.number() * bound as f64) as i64).collect();
        made(Value::new(dims(&[count]), numbers))
    }

    /// Rows with a single one.
    pub fn one_hot(&mut self, rows: i64, columns: i64) -> Value {
        let mut numbers = vec![0.0; (rows * columns) as usize];
        for row in numbers.chunks_mut(columns.max(1) as usize) {
            let at = (self.number() * columns as f64) as usize;
            row[at] = 1.0;
        }
        made(Value::new(dims(&[rows, columns]), numbers))
    }
}

fn dims(shape: &[i64]) -> Vec<usize> {
    shape.iter().map(|size| *size as usize).collect()
}

/// The count of the numbers is always that of the shape.
fn made(value: Option<Value>) -> Value {
    value.unwrap_or_else(|| Value::from(0.0))
}
