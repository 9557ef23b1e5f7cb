//! Finite differences: central, with steps h and h/2.

use crate::agreement::{Subject, one_hots};
use crate::compiled::Failure;
use crate::runs::Report;
use crate::scalar::largest;

const STEP: f64 = 1e-4;
/// Where the two steps differ by more than this, there is a jump, a kink or too much curvature near the point.
const STEPS_AGREE: f64 = 1e-4;
const TOLERANCE: f64 = 1e-5;

pub fn finite_differences(subject: &mut Subject<f64>, report: &mut Report) -> Result<(), Failure> {
    let input = subject.numbers.clone();
    let results = subject.primal_at(&input)?.len();
    let (_, columns) = subject.forward_many(&one_hots(input.len()), results)?;
    for at in 0..input.len() {
        let column = &columns[at * results..(at + 1) * results];
        let mut difference = |step: f64| -> Result<Option<Vec<f64>>, Failure> {
            let mut moved = |by: f64| {
                let mut input = input.clone();
                input[at] += by;
                subject.primal_at(&input)
            };
            let (above, below) = (moved(step)?, moved(-step)?);
            let same_shape = above.len() == results && below.len() == results;
            Ok(same_shape.then(|| above.iter().zip(&below).map(|(above, below)| (above - below) / (2.0 * step)).collect()))
        };
        let (Some(coarse), Some(fine)) = (difference(STEP)?, difference(STEP / 2.0)?) else {
            report.differences_skipped += results as u64;
            continue;
        };
        let scale = largest(column).max(1.0);
        for ((coarse, fine), derivative) in coarse.iter().zip(&fine).zip(column) {
            if (coarse - fine).abs() > STEPS_AGREE * scale {
                report.differences_skipped += 1;
                continue;
            }
            report.differences += 1;
            // The error of both is quadratic in the step; this takes it away.
            let extrapolated = (4.0 * fine - coarse) / 3.0;
            if (extrapolated - derivative).abs() > TOLERANCE * scale {
                let message = format!("input {at}: {coarse} and {fine}, but the derivative is {derivative}");
                return Err(Failure::new("finite differences", message));
            }
        }
    }
    Ok(())
}
