//! Efficient CHAD within its bound: on random first-order programs without arrays, the derivative of the thesis takes at most
//! `5 + 34 · cost(t) + size(d) + 4 · |Γ|` steps in the cost model of its section 6.10.3, and the engine gives the same gradients.
//!
//! The language, its costs and the transformation are written down here once more, as the thesis has them, without the compiler.

mod cost;
mod language;
mod random;
mod transform;

use chadwick::compile::{Cotangents, Definition, Engine};
use chadwick::{Backend, Program, Value};
use chadwick_generate::Random;
use cost::{Computation, Environment, Linear, cotangent_of, evaluate, linear_size, plus, run};
use language::{Name, Term, Type, entry};
use random::Generator;

/// A random program with values for its free variables.
fn program(seed: u64, only_reals: bool) -> (Vec<(Name, Type)>, Type, Term) {
    let mut generator = Generator { random: Random::new(seed), next: 0, integers: !only_reals };
    let count = 1 + generator.below(6);
    let mut context = Vec::new();
    for at in 0..count {
        let ty = match (only_reals, at) {
            (true, _) => Type::Real,
            (false, 0) => Type::Int,
            (false, _) => generator.ty(2),
        };
        context.push((generator.fresh(), ty));
    }
    let ty = if only_reals { Type::Real } else { generator.ty(2) };
    let fuel = 4 + generator.below(40);
    let term = generator.term(&ty, &context, fuel);
    (context, ty, term)
}

#[test]
fn the_cost_of_a_derivative_is_within_the_bound_of_the_thesis() {
    let mut worst = 0.0f64;
    for seed in 0..4000 {
        let (context, ty, term) = program(seed, false);
        let mut generator = Generator { random: Random::new(!seed), next: 1 << 30, integers: true };
        let mut environment = Environment::default();
        for (name, ty) in &context {
            environment = environment.with(*name, generator.value(ty));
        }
        let (value, primal) = evaluate(&environment, &term);
        let cotangent = cotangent_of(&value, &mut || generator.real());
        let size = linear_size(&cotangent);
        let names: Vec<(Name, Type)> = context.clone();
        let given = generator.fresh();
        let whole = transform::derivative(&term, &names, given, &mut || generator.fresh());
        let environment = environment.with(given, cost::Value::Linear(cotangent));
        let (result, derivative) = evaluate(&environment, &whole);
        let bound = 5 + 34 * primal + size + 4 * context.len() as u64;
        // With the potential of the cotangents that come out, which pays for adding to them later: they are at least as many as variables.
        let left: u64 = cotangents(&result).iter().map(linear_size).sum();
        assert!(derivative + left <= bound + context.len() as u64, "seed {seed}: {left} of {derivative} steps are not paid for");
        assert!(derivative <= bound, "seed {seed}: {derivative} steps for {primal}, the bound is {bound}\n{ty:?} {term:?}");
        worst = worst.max(derivative as f64 / primal as f64);
    }
    assert!(worst > 10.0, "a derivative costs more than its function, or nothing is counted: {worst}");
}

/// Cotangents of one value, parts of which are zeros.
fn cotangents_of_one_value<const N: usize>(generator: &mut Generator) -> [Linear; N] {
    let ty = generator.ty(4);
    let value = generator.value(&ty);
    [(); N].map(|()| {
        // Whole numbers, so that the order of sums does not matter.
        let mut number = || generator.random.between(-9, 9) as f64;
        let whole = cotangent_of(&value, &mut number);
        generator.pruned(&whole)
    })
}

#[test]
fn a_sum_costs_what_both_operands_have_in_common() {
    let mut cheap = 0;
    for seed in 0..4000 {
        let mut generator = Generator { random: Random::new(seed), next: 0, integers: true };
        let [left, right] = cotangents_of_one_value(&mut generator);
        let (sum, cost) = plus(&left, &right);
        let (left, right, whole) = (linear_size(&left), linear_size(&right), linear_size(&sum));
        assert_eq!(cost, left + right - whole, "seed {seed}");
        cheap += usize::from(cost < left.max(right));
    }
    assert!(cheap > 100, "only {cheap} sums leave something as it is");
}

/// Computations that accumulate are a commutative monad: nobody can read, so the order of contributions does not matter.
#[test]
fn contributions_commute_and_scopes_see_nothing_of_each_other() {
    for seed in 0..1000 {
        let mut generator = Generator { random: Random::new(seed), next: 0, integers: true };
        let (variable, inner) = (generator.fresh(), generator.fresh());
        let [start, first, second, third] = cotangents_of_one_value(&mut generator);
        let one = |name, linear: &Linear| Computation::One(name, linear.clone()).value();
        // A scope whose own contribution is taken out at its end, and that contributes to what is around it as well.
        let scope = Computation::Scope(inner, first.clone(), one(inner, &second).then(one(variable, &third))).value();
        let all = [one(variable, &first), scope, one(variable, &second), Computation::Return(cost::Value::Unit).value()];
        let after = |order: &[usize]| {
            let mut state = vec![(variable, start.clone())];
            let sequence = order.iter().map(|at| all[*at].clone()).reduce(cost::Value::then).expect("a computation");
            run(&sequence, &mut state);
            assert_eq!(state.len(), 1, "a scope leaves nothing behind");
            format!("{:?}", state[0].1)
        };
        let wanted = after(&[0, 1, 2, 3]);
        for order in [[1, 0, 2, 3], [2, 1, 0, 3], [3, 0, 1, 2], [0, 2, 3, 1]] {
            assert_eq!(after(&order), wanted, "seed {seed}, {order:?}");
        }
    }
}

#[test]
fn the_engine_gives_the_gradients_of_the_thesis() {
    let mut compared = 0;
    for seed in 0..150 {
        let (context, _, term) = program(seed, true);
        let mut generator = Generator { random: Random::new(!seed), next: 1 << 30, integers: true };
        let mut environment = Environment::default();
        let mut inputs = Vec::new();
        for (name, _) in &context {
            let number = generator.real();
            inputs.push(number);
            environment = environment.with(*name, cost::Value::Real(number));
        }
        let given = generator.fresh();
        let whole = transform::derivative(&term, &context, given, &mut || generator.fresh());
        let (result, _) = evaluate(&environment.with(given, cost::Value::Linear(Linear::Real(1.0))), &whole);
        let wanted = gradient(&result);
        if !wanted.iter().all(|number| number.is_finite()) {
            continue;
        }
        let text = entry(&context, &term);
        for engine in [Engine::ChadEfficient(Cotangents::InArray), Engine::Chad(Definition::Plain)] {
            let program = Program::from_source(&text)
                .and_then(|program| program.with_backend(Backend::Interpreter))
                .unwrap_or_else(|error| panic!("{error}\n{text}"));
            let program = program.with_engine(engine).unwrap_or_else(|error| panic!("{}\n{text}", error.message()));
            let args: Vec<Value> = inputs.iter().map(|number| (*number).into()).collect();
            program.reset_counters();
            let found = program.function("f").expect("an entry point").call(&args);
            let counters = program.counters();
            if matches!(engine, Engine::ChadEfficient(_)) {
                let bound = 5 + 34 * evaluate(&environment, &term).1 + 1 + 4 * context.len() as u64;
                assert!(counters.operations + counters.allocations <= bound, "{counters:?}, the bound is {bound}\n{text}");
            }
            let found = found.unwrap_or_else(|error| panic!("{}\n{text}", error.message()));
            let found: Vec<f64> = found.iter().map(|value| value.as_scalar::<f64>().expect("a float")).collect();
            let largest = wanted.iter().fold(1.0f64, |largest, number| largest.max(number.abs()));
            let near = |(found, wanted): (&f64, &f64)| (found - wanted).abs() <= 1e-9 * largest;
            assert!(found.iter().zip(&wanted).all(near), "{engine:?}: {found:?} is not {wanted:?}\n{text}");
        }
        compared += 1;
    }
    assert!(compared >= 140, "most programs have finite gradients: {compared}");
}

/// The cotangents of all free variables: the second half of what `run` gives.
fn cotangents(result: &cost::Value) -> Vec<Linear> {
    let mut all = Vec::new();
    let cost::Value::Pair(parts) = result else { return all };
    let mut rest = parts.1.clone();
    while let cost::Value::Pair(parts) = &rest {
        if let cost::Value::Linear(linear) = &parts.0 {
            all.push(linear.clone());
        }
        let next = parts.1.clone();
        rest = next;
    }
    all
}

/// The same where all variables are reals.
fn gradient(result: &cost::Value) -> Vec<f64> {
    cotangents(result).iter().filter_map(|linear| if let Linear::Real(number) = linear { Some(*number) } else { None }).collect()
}
