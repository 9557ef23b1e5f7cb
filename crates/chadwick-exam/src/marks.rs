//! What came of many programs.

use chadwick::Error;

/// A program that an engine does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub program: String,
    /// Which construct.
    pub message: String,
    /// Where it is.
    pub place: String,
}

impl Refusal {
    pub fn new(program: &str, error: &Error) -> Refusal {
        Refusal { program: program.to_owned(), message: error.message(), place: error.place().unwrap_or_default() }
    }
}

/// What came of many programs.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    pub agreed: usize,
    pub refused: Vec<Refusal>,
    /// Programs that ran into a limit of time or memory.
    pub too_large: usize,
    /// What was wrong, with the program.
    pub wrong: Vec<String>,
}

impl Marks {
    /// All programs that were tried.
    pub fn tried(&self) -> usize {
        self.agreed + self.refused.len() + self.too_large + self.wrong.len()
    }

    pub(crate) fn add(&mut self, program: &str, outcome: Outcome) {
        match outcome {
            Outcome::Agreed => self.agreed += 1,
            Outcome::TooLarge => self.too_large += 1,
            Outcome::Refused(error) => self.refused.push(Refusal::new(program, &error)),
            Outcome::Wrong(message) => self.wrong.push(format!("{program}: {message}")),
        }
    }
}

/// What came of one program.
pub(crate) enum Outcome {
    Agreed,
    Refused(Error),
    TooLarge,
    Wrong(String),
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Outcome {
        match () {
            () if error.is_refusal() => Outcome::Refused(error),
            () if error.is_limit() => Outcome::TooLarge,
            () => Outcome::Wrong(error.message()),
        }
    }
}

/// Whether numbers agree to nine digits of the largest.
pub(crate) fn agree(found: &[f64], wanted: &[f64]) -> bool {
    let largest = found.iter().chain(wanted).fold(1.0f64, |largest, number| largest.max(number.abs()));
    let near = |(found, wanted): (&f64, &f64)| (found - wanted).abs() <= 1e-9 * largest || found.to_bits() == wanted.to_bits();
    found.len() == wanted.len() && found.iter().zip(wanted).all(near)
}
