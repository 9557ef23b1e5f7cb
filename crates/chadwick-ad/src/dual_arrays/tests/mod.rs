//! Dual arrays on terms: the transformations keep meaning, form and work, and all ways to a gradient agree.

mod delta;
mod generate;
mod random;
mod rules;
mod shapes;
mod worked;

use super::plain::{Array, Plain};
use super::program::Program;
use super::term::Reads;

/// Whether numbers agree, as far as those of different engines should.
fn near(left: &[f64], right: &[f64]) -> bool {
    let largest = right.iter().fold(1.0f64, |largest, number| largest.max(number.abs()));
    let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * largest;
    left.len() == right.len() && left.iter().zip(right).all(same)
}

const CHECKED: Reads = Reads::Checked(Vec::new());

fn floats(shape: &[usize], elements: &[f64]) -> Array {
    Array::floats(shape, elements).expect("as many as there should be")
}

fn vector(elements: &[f64]) -> Array {
    floats(&[elements.len()], elements)
}

fn counted(count: usize) -> Array {
    vector(&(1..=count).map(|number| number as f64).collect::<Vec<_>>())
}

fn run(program: &Program, inputs: &[Array]) -> Vec<Vec<f64>> {
    program.run(&Plain::default(), inputs).iter().map(Array::as_floats).collect()
}

/// The text with variables numbered as they come.
fn renamed(text: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut found = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('x').filter(|_| !rest.is_empty()) {
        let (before, variable) = rest.split_at(at);
        found.push_str(before);
        let digits = variable[1..].chars().take_while(char::is_ascii_digit).count();
        let (name, after) = variable.split_at(1 + digits);
        let is_variable = digits > 0;
        match names.iter().position(|known| known == name) {
            _ if !is_variable => found.push_str(name),
            Some(number) => found.push_str(&format!("x{}", number + 1)),
            None => {
                names.push(name.to_owned());
                found.push_str(&format!("x{}", names.len()));
            }
        }
        rest = after;
    }
    found + rest
}

#[track_caller]
fn assert_reads(program: &Program, wanted: &str) {
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    assert_eq!(lines(&renamed(&program.to_string())), lines(wanted));
}
