//! Random terms: `CHADWICK_PROGRAMS` says how many.

use super::super::algebra::{Algebra, known};
use super::super::delta::{Delta, DeltaNode, Dual};
use super::super::normal_form::violation;
use super::super::plain::{Array, Plain};
use super::super::program::Program;
use super::super::reverse::gradient;
use super::super::term::{Term, Tree, parts};
use super::delta::inner_deltas;
use super::generate::program;
use super::near;
use chadwick_core::{Const, Prim};
use chadwick_generate::Random;
use rustc_hash::{FxHashMap, FxHashSet};
use std::mem::{Discriminant, discriminant};
use std::rc::Rc;

/// How many programs, unless the environment says otherwise.
pub(super) fn programs() -> u64 {
    std::env::var("CHADWICK_PROGRAMS").ok().and_then(|number| number.parse().ok()).unwrap_or(300)
}

pub(super) fn random_array(random: &mut Random, like: &Tree) -> Array {
    let shape: Vec<usize> = like.shape.iter().map(|extent| known(extent).expect("a number")).collect();
    let mut element = || match like.prim {
        Prim::F64 => Const::F64(random.real() * 1.5),
        prim => Const::from_i128(prim, i128::from(random.between(-4, 9))),
    };
    let elements = (0..shape.iter().product::<usize>()).map(|_| element()).collect();
    Array::new(like.prim, shape, elements).expect("as many as there should be")
}

pub(super) fn random_inputs(random: &mut Random, program: &Program) -> Vec<Array> {
    program.inputs.iter().map(|(_, input)| random_array(random, input)).collect()
}

/// The value, and what it took.
fn run(program: &Program, inputs: &[Array]) -> (Vec<f64>, u64) {
    let plain = Plain::default();
    let results = program.run(&plain, inputs);
    assert_eq!(plain.strays(), 0, "reads out of range\n{program}");
    (results[0].as_floats(), plain.work())
}

/// How deep builds stand in builds, and which forms stand in them.
fn look_at(tree: &Tree, depth: usize, deepest: &mut usize, forms: &mut FxHashSet<Discriminant<Term>>) {
    *deepest = depth.max(*deepest);
    if depth > 0 {
        forms.insert(discriminant(&tree.term));
    }
    let inside = depth + usize::from(matches!(tree.term, Term::Build(..)));
    parts(tree).into_iter().for_each(|part| look_at(part, inside, deepest, forms));
}

/// What random programs say about the rules they say only if they need them.
#[test]
fn every_form_occurs_inside_of_builds() {
    let (mut deepest, mut forms) = (0, FxHashSet::default());
    for seed in 0..programs() {
        program(seed).results.iter().for_each(|tree| look_at(tree, 0, &mut deepest, &mut forms));
    }
    assert!(deepest >= 4, "builds are nested {deepest} times");
    // All but shares and the two forms that only reverse passes have.
    assert_eq!(forms.len(), 17);
}

#[test]
fn bulk_operations_keep_meaning_form_and_work() {
    for seed in 0..programs() {
        let source = program(seed);
        let inputs = random_inputs(&mut Random::new(seed + 1), &source);
        let (wanted, source_work) = run(&source, &inputs);
        let normal = source.without_builds();
        let simple = normal.simplified();
        for (what, program) in [("normal", &normal), ("simplified", &simple)] {
            let trees = program.bindings.iter().map(|(_, tree)| tree).chain(&program.results);
            assert_eq!(trees.into_iter().find_map(violation), None, "{what} form of program {seed}");
            assert_eq!(program.results[0].shape, source.results[0].shape, "{what} form of program {seed}");
            let (found, _) = run(program, &inputs);
            assert!(near(&found, &wanted), "{what} form of program {seed}: {found:?} is not {wanted:?}\n{program}");
        }
        let (_, work) = run(&simple, &inputs);
        assert!(work <= 2 * source_work + 100, "program {seed}: {work} is too much for {source_work}\n{source}\n{simple}");
    }
}

/// Those of integers are left out: a cotangent is cut to a whole number on its way there, before or after others are added to it.
fn of_floats(program: &Program, gradients: &[Array]) -> Vec<f64> {
    let floats = program.inputs.iter().zip(gradients).filter(|((_, input), _)| input.prim.is_float());
    floats.flat_map(|(_, gradient)| gradient.as_floats()).collect()
}

/// At dual arrays over numbers.
fn numeric(program: &Program, inputs: &[Array], cotangent: &Array) -> Vec<f64> {
    let (_, gradients) =
        gradient(&Plain::default(), inputs, cotangent.clone(), |dual: &Dual<Plain>, inputs| program.run(dual, inputs).remove(0));
    of_floats(program, &gradients)
}

/// All shared terms inside are numbered below `bound`, and one number is one term.
fn check_shares<A: Algebra>(delta: &Delta<A>, bound: usize, known: &mut FxHashMap<usize, *const Delta<A>>) {
    let bound = match &delta.node {
        DeltaNode::Share(number, of) => {
            assert!(*number < bound, "{number} is inside {bound}");
            if let Some(first) = known.insert(*number, Rc::as_ptr(of)) {
                assert!(std::ptr::eq(first, Rc::as_ptr(of)), "{number} is two terms");
                return;
            }
            *number
        }
        _ => bound,
    };
    inner_deltas(delta).into_iter().for_each(|of| check_shares(of, bound, known));
}

#[test]
fn shared_terms_are_numbered_in_the_order_in_which_they_are_made() {
    let mut shared = 0;
    for seed in 0..programs() {
        let source = program(seed);
        let inputs = random_inputs(&mut Random::new(seed + 1), &source);
        let dual = Dual::over(Plain::default());
        let inputs: Vec<_> = inputs.into_iter().enumerate().map(|(at, input)| dual.input(at, input)).collect();
        let mut known = FxHashMap::default();
        for result in source.run(&dual, &inputs) {
            result.delta.iter().for_each(|delta| check_shares(delta, usize::MAX, &mut known));
        }
        shared += known.len();
    }
    assert!(shared > 100, "only {shared} terms are shared");
}

#[test]
fn all_ways_to_a_gradient_agree() {
    for seed in 0..programs() {
        let source = program(seed);
        let mut random = Random::new(seed + 1);
        let inputs = random_inputs(&mut random, &source);
        let cotangent = random_array(&mut random, &source.results[0]);
        let wanted = numeric(&source, &inputs, &cotangent);
        let normal = source.without_builds();
        let simple = normal.simplified();
        let with_cotangent = [inputs.clone(), vec![cotangent.clone()]].concat();
        for (what, program) in [("normal", &normal), ("simplified", &simple)] {
            let found = numeric(program, &inputs, &cotangent);
            assert!(near(&found, &wanted), "{what} form of program {seed}: {found:?} is not {wanted:?}");
            let term = program.gradient();
            for (how, term) in [("", &term), (" simplified", &term.simplified())] {
                let plain = Plain::default();
                let found = of_floats(program, &term.run(&plain, &with_cotangent)[1..]);
                assert_eq!(plain.strays(), 0, "{what} form of program {seed}, as a{how} term: reads out of range");
                assert!(near(&found, &wanted), "{what} form of program {seed}, as a{how} term: {found:?} is not {wanted:?}");
            }
        }
    }
}

/// The inputs moved by some of a direction.
fn moved(inputs: &[Array], direction: &[Array], by: f64) -> Vec<Array> {
    let one = |(input, direction): (&Array, &Array)| {
        let (from, way) = (input.as_floats(), direction.as_floats());
        let elements: Vec<f64> = from.iter().zip(way).map(|(from, way)| from + by * way).collect();
        Array::floats(input.extents(), &elements).expect("as many as there should be")
    };
    inputs.iter().zip(direction).map(one).collect()
}

/// What a gradient says must be seen when the inputs move; where a program jumps or bends, the two sides do not agree and nothing is said.
#[test]
fn gradients_agree_with_differences() {
    let mut compared = 0;
    for seed in 0..programs() {
        let source = program(seed);
        if source.inputs.iter().any(|(_, input)| !input.prim.is_float()) {
            continue;
        }
        let mut random = Random::new(seed + 1);
        let inputs = random_inputs(&mut random, &source);
        let direction = random_inputs(&mut random, &source);
        let cotangent = random_array(&mut random, &source.results[0]);
        let dot = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(left, right)| left * right).sum::<f64>();
        let at = |by: f64| dot(&run(&source, &moved(&inputs, &direction, by)).0, &cotangent.as_floats());
        let step = 1e-6;
        let (before, here, after) = (at(-step), at(0.0), at(step));
        let (backward, forward) = ((here - before) / step, (after - here) / step);
        let gradient = numeric(&source.without_builds().simplified(), &inputs, &cotangent);
        let way: Vec<f64> = direction.iter().flat_map(Array::as_floats).collect();
        let found = dot(&gradient, &way);
        if !here.is_finite() || here.abs() > 1e3 || found.abs() > 1e3 || (backward - forward).abs() > 1e-4 * found.abs().max(1.0)
        {
            continue;
        }
        let wanted = (after - before) / (2.0 * step);
        assert!((found - wanted).abs() <= 1e-4 * wanted.abs().max(1.0), "program {seed}: {found} is not {wanted}\n{source}");
        compared += usize::from(found != 0.0);
    }
    assert!(compared as u64 >= programs() / 8, "only {compared} programs were compared");
}
