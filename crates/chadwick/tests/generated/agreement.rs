//! What all derivatives of one function must have in common, whatever the function: design.md, "What agreement means".

use crate::compiled::{Compiled, Failure};
use crate::runs::Report;
use crate::scalar::{Scalar, combine, dot, dot_scale, largest};
use chadwick::compile::Engine;
use chadwick::compile::linear_maps::Derivation;
use chadwick_generate::{Element, Program, Random, entries};
use chadwick_interp::Value;

/// A program with an input.
pub struct Subject<S> {
    pub compiled: Compiled,
    pub numbers: Vec<S>,
    integers: Vec<i64>,
}

impl<S: Scalar> Subject<S> {
    pub fn new(program: &Program, element: Element) -> Result<Subject<S>, Failure> {
        Subject::by(Engine::Builtin, program, element)
    }

    pub fn by(engine: Engine, program: &Program, element: Element) -> Result<Subject<S>, Failure> {
        Subject::with_entries(engine, program, element, "")
    }

    /// The same with more entry points.
    pub fn with_entries(engine: Engine, program: &Program, element: Element, entries: &str) -> Result<Subject<S>, Failure> {
        let compiled = Compiled::by(engine, &format!("{}{entries}", program.source(element)))?;
        let (numbers, integers) = program.input(element);
        Ok(Subject { compiled, numbers: numbers.into_iter().map(S::from_f64).collect(), integers })
    }

    /// Calls an entry point at the input; `rest` are the arguments behind it.
    pub fn call(&mut self, entry: &'static str, rest: Vec<Value>) -> Result<Vec<Vec<S>>, Failure> {
        let numbers = self.numbers.clone();
        self.call_at(entry, &numbers, rest)
    }

    fn call_at(&mut self, entry: &'static str, numbers: &[S], rest: Vec<Value>) -> Result<Vec<Vec<S>>, Failure> {
        let integers = <i64 as Scalar>::array(&[self.integers.len()], self.integers.clone());
        let mut args = vec![S::array(&[numbers.len()], numbers.to_vec()), integers];
        args.extend(rest);
        self.compiled.call(entry, args)
    }

    pub fn primal_at(&mut self, numbers: &[S]) -> Result<Vec<S>, Failure> {
        one(self.call_at(entries::PRIMAL, numbers, Vec::new())?)
    }

    /// The result and its tangent.
    fn forward(&mut self, tangent: &[S]) -> Result<(Vec<S>, Vec<S>), Failure> {
        two(self.call(entries::FORWARD, vec![vector(tangent)])?)
    }

    /// The result and the cotangent of the input.
    fn reverse(&mut self, cotangent: &[S]) -> Result<(Vec<S>, Vec<S>), Failure> {
        two(self.call(entries::REVERSE, vec![vector(cotangent)])?)
    }

    /// The result, and tangents for all tangents, one after the other.
    pub fn forward_many(&mut self, tangents: &[Vec<S>], results: usize) -> Result<(Vec<S>, Vec<S>), Failure> {
        let seeds = matrix(tangents, self.numbers.len());
        two(self.call(entries::FORWARD_MANY, vec![seeds, Value::i64(results as i64)])?)
    }

    fn reverse_many(&mut self, cotangents: &[Vec<S>], results: usize) -> Result<(Vec<S>, Vec<S>), Failure> {
        two(self.call(entries::REVERSE_MANY, vec![matrix(cotangents, results)])?)
    }

    /// Cotangents of the input from one run of the primal.
    fn pull(&mut self, cotangents: &[Vec<S>]) -> Result<Vec<Vec<S>>, Failure> {
        let integers = <i64 as Scalar>::array(&[self.integers.len()], self.integers.clone());
        let args = vec![vector(&self.numbers), integers];
        self.compiled.pull(entries::PRIMAL, args, cotangents)
    }

    fn second(&mut self, entry: &'static str, first: &[S], second: &[S]) -> Result<Vec<S>, Failure> {
        one(self.call(entry, vec![vector(first), vector(second)])?)
    }
}

fn one<T>(results: Vec<Vec<T>>) -> Result<Vec<T>, Failure> {
    let [result] = <[Vec<T>; 1]>::try_from(results).map_err(|_| Failure::new("gives one result", ""))?;
    Ok(result)
}

pub fn two<T>(results: Vec<Vec<T>>) -> Result<(Vec<T>, Vec<T>), Failure> {
    let [first, second] = <[Vec<T>; 2]>::try_from(results).map_err(|_| Failure::new("gives two results", ""))?;
    Ok((first, second))
}

fn vector<S: Scalar>(elements: &[S]) -> Value {
    S::array(&[elements.len()], elements.to_vec())
}

fn matrix<S: Scalar>(rows: &[Vec<S>], columns: usize) -> Value {
    S::array(&[rows.len(), columns], rows.concat())
}

pub fn one_hots<S: Scalar>(size: usize) -> Vec<Vec<S>> {
    let row = |at: usize| (0..size).map(|other| S::from_f64(if other == at { 1.0 } else { 0.0 })).collect();
    (0..size).map(row).collect()
}

/// All properties of one program but finite differences.
pub fn agreement<S: Scalar>(
    program: &Program,
    element: Element,
    subject: &mut Subject<S>,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut random = Random::new(program.seed ^ 0xD1FF);
    let mut seed = |size: usize| -> Vec<S> {
        let number = |random: &mut Random| match element {
            Element::F64 => random.real(),
            Element::I64 => random.between(-9, 9) as f64,
        };
        (0..size).map(|_| S::from_f64(number(&mut random))).collect()
    };
    let input = subject.numbers.clone();
    let primal = subject.primal_at(&input)?;
    if primal.iter().any(|value| !value.magnitude().is_finite()) {
        return Err(Failure::new("gives finite numbers", format!("{primal:?}")));
    }
    let (inputs, results) = (subject.numbers.len(), primal.len());

    let (tangent, other_tangent) = (seed(inputs), seed(inputs));
    let (cotangent, other_cotangent) = (seed(results), seed(results));
    let (forward_primal, along) = subject.forward(&tangent)?;
    let (reverse_primal, back) = subject.reverse(&cotangent)?;
    expect_same_bits("jvp2 leaves the primal as it is", &forward_primal, &primal)?;
    expect_same_bits("vjp2 leaves the primal as it is", &reverse_primal, &primal)?;
    expect_dots("reverse is the adjoint of forward", (&along, &cotangent), (&tangent, &back))?;

    let (a, b) = (S::from_f64(2.0), S::from_f64(-3.0));
    let (_, other_along) = subject.forward(&other_tangent)?;
    let (_, combined_along) = subject.forward(&combine(a, &tangent, b, &other_tangent))?;
    expect_agree("forward is linear", &combined_along, &combine(a, &along, b, &other_along))?;
    let (_, other_back) = subject.reverse(&other_cotangent)?;
    let (_, combined_back) = subject.reverse(&combine(a, &cotangent, b, &other_cotangent))?;
    expect_agree("reverse is linear", &combined_back, &combine(a, &back, b, &other_back))?;

    // One run in reverse mode serves any number of cotangents; it goes through the coding of data as numbers, too.
    let seeds = [cotangent.clone(), other_cotangent, cotangent.clone()];
    let pulled = subject.pull(&seeds)?;
    expect_agree("a pullback is reverse mode", &pulled[0], &back)?;
    expect_agree("a second cotangent finds nothing of the first", &pulled[1], &other_back)?;
    expect_same_bits("a pullback can be used again", &pulled[2], &pulled[0])?;

    // The Jacobian, by columns and by rows; one more seed shows that many are treated like one.
    let mut tangents = one_hots(inputs);
    tangents.push(tangent.clone());
    let (many_primal, columns) = subject.forward_many(&tangents, results)?;
    expect_same_bits("jmp2 leaves the primal as it is", &many_primal, &primal)?;
    expect_agree("jmp maps jvp", &columns[inputs * results..], &along)?;
    let mut cotangents = one_hots(results);
    cotangents.push(cotangent.clone());
    let (many_primal, rows) = subject.reverse_many(&cotangents, results)?;
    expect_same_bits("mjp2 leaves the primal as it is", &many_primal, &primal)?;
    expect_agree("mjp maps vjp", &rows[inputs * results..], &back)?;
    let transposed: Vec<S> = (0..inputs)
        .flat_map(|input| (0..results).map(move |result| (input, result)))
        .map(|(i, r)| rows[r * inputs + i])
        .collect();
    expect_agree("columns and rows make the same Jacobian", &columns[..inputs * results], &transposed)?;
    report.active += u64::from(largest(&transposed) > 0.0);

    // The second derivative weighed by the cotangent, along the tangent.
    let second = subject.second(entries::FORWARD_REVERSE, &cotangent, &tangent)?;
    let reverse_reverse = subject.second(entries::REVERSE_REVERSE, &cotangent, &tangent)?;
    let reverse_forward = subject.second(entries::REVERSE_FORWARD, &cotangent, &tangent)?;
    expect_agree("reverse over reverse is forward over reverse", &reverse_reverse, &second)?;
    expect_agree("reverse over forward is forward over reverse", &reverse_forward, &second)?;
    let twice = subject.second(entries::FORWARD_FORWARD, &tangent, &other_tangent)?;
    let swapped = subject.second(entries::FORWARD_FORWARD, &other_tangent, &tangent)?;
    expect_agree("second derivatives are symmetric", &twice, &swapped)?;
    expect_dots("forward over forward is forward over reverse", (&twice, &cotangent), (&second, &other_tangent))?;
    report.curved += u64::from(largest(&second) > 0.0);
    Ok(())
}

/// Derivatives by an engine are those of the interpreter.
pub fn engine_agrees<S: Scalar>(engine: Engine, program: &Program, element: Element, report: &mut Report) -> Result<(), Failure> {
    let mut builtin = Subject::<S>::new(program, element)?;
    let mut other = Subject::<S>::by(engine, program, element)?;
    let input = builtin.numbers.clone();
    let primal = builtin.primal_at(&input)?;
    // Not bit for bit: the program may have derivatives in it.
    expect_agree("an engine leaves the primal as it is", &other.primal_at(&input)?, &primal)?;
    let (inputs, results) = (input.len(), primal.len());
    let mut random = Random::new(program.seed ^ 0xE461);
    let mut seed = |size: usize| -> Vec<S> { (0..size).map(|_| S::from_f64(random.between(-9, 9) as f64)).collect() };
    let (tangent, cotangent) = (seed(inputs), seed(results));
    expect_agree("forward mode is the interpreter's", &other.forward(&tangent)?.1, &builtin.forward(&tangent)?.1)?;
    let back = builtin.reverse(&cotangent)?.1;
    let (beside, other_back) = other.reverse(&cotangent)?;
    expect_agree("reverse mode is the interpreter's", &other_back, &back)?;
    // What the papers' own transformations compute beside a derivative is the function itself, operation by operation.
    if matches!(engine, Engine::Chad(_) | Engine::ChadEfficient(_) | Engine::Dual(_)) {
        expect_same_bits("the value beside a derivative is the value", &beside, &other.primal_at(&input)?)?;
    }
    report.active += u64::from(largest(&back) > 0.0);
    let (tangents, cotangents) = (vec![tangent.clone(), seed(inputs)], vec![cotangent.clone(), seed(results)]);
    let wanted = builtin.forward_many(&tangents, results)?.1;
    expect_agree("many tangents are the interpreter's", &other.forward_many(&tangents, results)?.1, &wanted)?;
    let wanted = builtin.reverse_many(&cotangents, results)?.1;
    expect_agree("many cotangents are the interpreter's", &other.reverse_many(&cotangents, results)?.1, &wanted)?;
    let modes = [
        ("forward over reverse is the interpreter's", entries::FORWARD_REVERSE, &cotangent),
        ("reverse over reverse is the interpreter's", entries::REVERSE_REVERSE, &cotangent),
        ("reverse over forward is the interpreter's", entries::REVERSE_FORWARD, &cotangent),
        ("forward over forward is the interpreter's", entries::FORWARD_FORWARD, &tangent),
    ];
    for (property, entry, first) in modes {
        let wanted = builtin.second(entry, first, &tangent)?;
        expect_agree(property, &other.second(entry, first, &tangent)?, &wanted)?;
        report.curved += u64::from(entry == entries::FORWARD_REVERSE && largest(&wanted) > 0.0);
    }
    Ok(())
}

/// Functions that are derived by linear maps and their relatives, with the names of what is derived from the primal entry point.
pub const DERIVATIONS: [(Derivation, &str); 6] = [
    (Derivation::Forward, "fwd$primal"),
    (Derivation::Reverse, "rev$primal"),
    (Derivation::Categorical { prune: false }, "cl$primal"),
    (Derivation::Categorical { prune: true }, "cl$primal"),
    (Derivation::Procedure, "proc$primal"),
    (Derivation::Bog, "bog$primal"),
];

/// Whether each derivation takes the program, in wrapping integers. What it takes agrees with the interpreter exactly.
pub fn derived_functions_agree(program: &Program, report: &mut Report) -> Result<[bool; 6], Failure> {
    let mut builtin = Subject::<i64>::new(program, Element::I64)?;
    let primal = builtin.primal_at(&builtin.numbers.clone())?;
    let mut random = Random::new(program.seed ^ 0xDE71);
    let mut seed = |size: usize| -> Vec<i64> { (0..size).map(|_| random.between(-9, 9)).collect() };
    let (tangent, cotangent) = (seed(builtin.numbers.len()), seed(primal.len()));
    let (along, back) = (builtin.forward(&tangent)?.1, builtin.reverse(&cotangent)?.1);
    report.active += u64::from(largest(&back) > 0.0);
    let mut taken = [false; 6];
    for (at, (derivation, name)) in DERIVATIONS.into_iter().enumerate() {
        let Some(mut derived) = Compiled::derived(&program.source(Element::I64), derivation)? else { continue };
        taken[at] = true;
        let (numbers, integers) = (vector(&builtin.numbers), vector(&builtin.integers));
        let seeds = match derivation {
            Derivation::Forward => vec![vector(&tangent), vector(&vec![0i64; builtin.integers.len()])],
            Derivation::Categorical { .. } => Vec::new(),
            Derivation::Reverse | Derivation::Procedure | Derivation::Bog => vec![vector(&cotangent)],
        };
        let results = derived.call::<i64>(name, [vec![numbers, integers], seeds].concat())?;
        expect_agree("a derived function gives the results", &results[0], &primal)?;
        match derivation {
            Derivation::Forward => expect_agree("fwd$ gives the tangent", &results[1], &along)?,
            Derivation::Categorical { .. } => {}
            _ => expect_agree("a derived function gives the cotangent", &results[1], &back)?,
        }
    }
    Ok(taken)
}

pub fn expect_same_bits<S: Scalar>(property: &'static str, found: &[S], wanted: &[S]) -> Result<(), Failure> {
    let same = found.len() == wanted.len() && found.iter().zip(wanted).all(|(x, y)| x.same_bits(*y));
    if same { Ok(()) } else { Err(Failure::new(property, format!("{found:?} is not {wanted:?}"))) }
}

pub fn expect_agree<S: Scalar>(property: &'static str, found: &[S], wanted: &[S]) -> Result<(), Failure> {
    let scale = largest(found).max(largest(wanted));
    let same = found.len() == wanted.len() && found.iter().zip(wanted).all(|(x, y)| x.agrees(*y, scale));
    if same { Ok(()) } else { Err(Failure::new(property, format!("{found:?} is not {wanted:?}"))) }
}

fn expect_dots<S: Scalar>(property: &'static str, left: (&[S], &[S]), right: (&[S], &[S])) -> Result<(), Failure> {
    let (found, wanted) = (dot(left.0, left.1), dot(right.0, right.1));
    let scale = dot_scale(left.0, left.1).max(dot_scale(right.0, right.1));
    let same = left.0.len() == left.1.len() && right.0.len() == right.1.len() && found.agrees(wanted, scale);
    let shown = || format!("{found:?} = {:?} · {:?} is not {wanted:?} = {:?} · {:?}", left.0, left.1, right.0, right.1);
    if same { Ok(()) } else { Err(Failure::new(property, shown())) }
}
