//! Checks derivatives against each other: reverse mode, forward mode and finite differences.
//!
//! For a function with results `y` and a cotangent `u`, the three give `uᵀJ` element by element of the arguments. `u` is 1 for a single
//! number; else its elements differ, so that results which are mixed up do not go unnoticed. Two agree if they differ by at most
//! `τ·max(1, largest element)`. Finite differences are central, with steps `h` and `h/2`; where these two do not agree with each other (a
//! kink, a pole), the element is not compared, and at most a tenth may be so.

use crate::derivative::one_hot;
use crate::error::{Error, Result};
use crate::function::Function;
use crate::values::elements::{scalar_from_f64, scalar_to_f64};
use crate::values::{Prim, Value};

/// How to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// The step of the finite differences, relative to `max(1, |x|)` [default: by type].
    pub step: Option<f64>,
    /// τ between reverse and forward mode [default: by type].
    pub tolerance: Option<f64>,
    /// τ between reverse mode and finite differences [default: by type].
    pub difference_tolerance: Option<f64>,
    /// At most so many elements are checked, spread evenly.
    pub max_elements: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { step: None, tolerance: None, difference_tolerance: None, max_elements: 1000 }
    }
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// One per parameter and kind of comparison.
    pub comparisons: Vec<Comparison>,
    /// Elements of the arguments that were checked, and that there are.
    pub checked: usize,
    pub elements: usize,
}

/// Two ways to compute the derivative by one parameter.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub parameter: String,
    pub kind: Kind,
    /// The largest difference.
    pub worst: f64,
    /// The index of the element with the largest difference, as in `[2][0]`.
    pub position: String,
    pub reverse: f64,
    pub other: f64,
    /// How large the difference may be.
    pub allowed: f64,
    pub compared: usize,
    /// Elements where the finite differences did not settle.
    pub skipped: usize,
    pub agrees: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Forward,
    Differences,
}

impl Report {
    pub fn agrees(&self) -> bool {
        self.comparisons.iter().all(|comparison| comparison.agrees)
    }
}

/// The type whose precision bounds that of a derivative: the least precise among those of the argument and the results.
fn precision(arg: &Value, results: &[Value]) -> Prim {
    let prims = results.iter().map(Value::prim).filter(|prim| prim.is_float());
    prims.chain([arg.prim()]).min_by_key(|prim| prim.bytes()).unwrap_or(arg.prim())
}

/// The constants for a type: τ, relative step, τ of differences, and how far the two steps may be apart.
fn constants(prim: Prim) -> (f64, f64, f64, f64) {
    match prim {
        Prim::F64 => (1e-9, 1e-5, 1e-5, 1e-4),
        Prim::F32 => (1e-4, 1e-2, 1e-2, 5e-2),
        _ => (1e-2, 1e-1, 1e-1, 5e-1),
    }
}

/// One element of the gradient, by each method.
struct Element {
    position: usize,
    reverse: f64,
    forward: f64,
    /// With the steps h and h/2.
    differences: Option<(f64, f64)>,
}

/// Checks the derivative of a function at certain arguments.
///
/// ```
/// use chadwick::{Program, gradcheck};
/// let program = Program::from_source("entry f [n] (xs: [n]f64) = f64.sum (map f64.sin xs)")?;
/// let report = gradcheck::check(&program.function("f")?, &[vec![0.5, 1.5].into()], &gradcheck::Options::default())?;
/// assert!(report.agrees());
/// # Ok::<(), chadwick::Error>(())
/// ```
pub fn check(function: &Function, args: &[Value], options: &Options) -> Result<Report> {
    let wrt = function.wrt_arguments()?;
    let names = function.wrt_names()?;
    let (results, pullback) = function.pullback(args)?;
    if !results.iter().any(|result| result.prim().is_float()) {
        return Err(Error::argument(format!("`{}` gives no floats, so there is nothing to check", function.name())));
    }
    let cotangents = cotangents_for(&results).ok_or_else(out_of_memory)?;
    let gradients = pullback.call(&cotangents)?;
    let elements: usize = gradients.iter().map(Value::len).sum();
    let stride = elements.div_ceil(options.max_elements.max(1)).max(1);
    let mut report = Report { comparisons: Vec::new(), checked: 0, elements };
    for ((number, argument), name) in wrt.iter().enumerate().zip(&names) {
        let Some((arg, gradient)) = args.get(*argument).zip(gradients.get(number)) else { continue };
        let (tau, usual_step, difference_tau, settled) = constants(precision(arg, &results));
        let step = options.step.unwrap_or(usual_step);
        let mut checked = Vec::new();
        for position in (0..arg.len()).step_by(stride) {
            let reverse = gradient.elements().get(position).map_or(f64::NAN, scalar_to_f64);
            let tangents = forward_element(function, args, &wrt, number, position)?;
            let forward = dot(&cotangents, &tangents);
            let wide = difference(function, args, &cotangents, (*argument, position), step);
            let narrow = difference(function, args, &cotangents, (*argument, position), step / 2.0);
            checked.push(Element { position, reverse, forward, differences: wide.zip(narrow) });
        }
        report.checked += checked.len();
        let largest = checked.iter().map(|element| element.reverse.abs()).filter(|x| x.is_finite()).fold(1.0, f64::max);
        let forward = checked.iter().map(|element| (element.position, element.reverse, Some(element.forward)));
        let allowed = options.tolerance.unwrap_or(tau) * largest;
        report.comparisons.push(compare(name, Kind::Forward, arg, forward, allowed));
        let differences = checked.iter().map(|element| {
            let settles = |(wide, narrow): &(f64, f64)| (wide - narrow).abs() <= settled * largest;
            (element.position, element.reverse, element.differences.filter(settles).map(|(_, narrow)| narrow))
        });
        let allowed = options.difference_tolerance.unwrap_or(difference_tau) * largest;
        report.comparisons.push(compare(name, Kind::Differences, arg, differences, allowed));
    }
    Ok(report)
}

fn compare(
    name: &str,
    kind: Kind,
    arg: &Value,
    elements: impl Iterator<Item = (usize, f64, Option<f64>)>,
    allowed: f64,
) -> Comparison {
    let mut comparison = Comparison {
        parameter: name.to_owned(),
        kind,
        worst: 0.0,
        position: String::new(),
        reverse: f64::NAN,
        other: f64::NAN,
        allowed,
        compared: 0,
        skipped: 0,
        agrees: true,
    };
    for (position, reverse, other) in elements {
        let Some(other) = other else {
            comparison.skipped += 1;
            continue;
        };
        let equal = reverse == other || (reverse.is_nan() && other.is_nan());
        let difference = if equal { 0.0 } else { (reverse - other).abs() };
        // A NaN on one side is the worst there can be.
        let difference = if difference.is_nan() { f64::INFINITY } else { difference };
        if comparison.compared == 0 || difference > comparison.worst {
            comparison.worst = difference;
            comparison.position = arg.index_string(position);
            (comparison.reverse, comparison.other) = (reverse, other);
        }
        comparison.compared += 1;
    }
    let total = comparison.compared + comparison.skipped;
    comparison.agrees = comparison.worst <= allowed && comparison.skipped * 10 <= total;
    comparison
}

fn out_of_memory() -> Error {
    Error::argument("not enough memory for the check")
}

/// Weights for the results: 1 for a single float; else numbers between 1/2 and 3/2 that differ from element to element.
fn cotangents_for(results: &[Value]) -> Option<Vec<Value>> {
    let floats = |value: &&Value| value.prim().is_float();
    let alone = results.iter().filter(floats).map(Value::len).sum::<usize>() == 1;
    let mut phase = 0.0f64;
    let mut cotangents = Vec::with_capacity(results.len());
    for result in results {
        let mut cotangent = Value::zeros(result.prim(), result.shape())?;
        for position in 0..cotangent.len() {
            // Multiples of the golden ratio, modulo 1, spread evenly.
            phase = (phase + 0.618_033_988_749_894_9).fract();
            if let Some(weight) = scalar_from_f64(result.prim(), if alone { 1.0 } else { 0.5 + phase }) {
                cotangent = cotangent.with_element(position, weight)?;
            }
        }
        cotangents.push(cotangent);
    }
    Some(cotangents)
}

/// The tangents of the results for the tangent that is 1 at one element.
fn forward_element(function: &Function, args: &[Value], wrt: &[usize], number: usize, position: usize) -> Result<Vec<Value>> {
    let tangents: Option<Vec<Value>> = wrt
        .iter()
        .enumerate()
        .filter_map(|(at, argument)| args.get(*argument).map(|arg| (at, arg)))
        .map(|(at, arg)| match at == number {
            true => one_hot(arg, position),
            false => Value::zeros(arg.prim(), arg.shape()),
        })
        .collect();
    let (_, tangents) = function.jvp(args, &tangents.ok_or_else(out_of_memory)?)?;
    Ok(tangents)
}

/// The inner product, over floats.
fn dot(weights: &[Value], values: &[Value]) -> f64 {
    let pairs = weights.iter().zip(values).filter(|(weight, _)| weight.prim().is_float());
    let products = pairs.flat_map(|(weight, value)| {
        weight.elements().to_f64().into_iter().zip(value.elements().to_f64()).map(|(weight, value)| weight * value)
    });
    products.sum()
}

/// The central difference by one element, weighted; `None` where the function fails next to the point, or its result changes its shape.
fn difference(function: &Function, args: &[Value], weights: &[Value], element: (usize, usize), step: f64) -> Option<f64> {
    let (argument, position) = element;
    let arg = args.get(argument)?;
    let x = scalar_to_f64(arg.elements().get(position)?);
    let shifted = |by: f64| {
        let scalar = scalar_from_f64(arg.prim(), x + by)?;
        let mut args = args.to_vec();
        args[argument] = arg.clone().with_element(position, scalar)?;
        let results = function.call(&args).ok()?;
        Some((scalar_to_f64(scalar), results))
    };
    let step = step * x.abs().max(1.0);
    let ((right, above), (left, below)) = (shifted(step)?, shifted(-step)?);
    // Element by element, so that a sum of many does not swallow the difference.
    let mut total = 0.0;
    for ((weight, above), below) in weights.iter().zip(&above).zip(&below) {
        if above.shape() != below.shape() || above.shape() != weight.shape() {
            return None;
        }
        if weight.prim().is_float() {
            let differences = above.elements().to_f64().into_iter().zip(below.elements().to_f64()).map(|(a, b)| a - b);
            total +=
                weight.elements().to_f64().iter().zip(differences).map(|(weight, difference)| weight * difference).sum::<f64>();
        }
    }
    Some(total / (right - left)).filter(|quotient| quotient.is_finite())
}
