//! The hidden types of CHAD by its definition, without the compiler: one test for each law of their operations, and the same derivatives from the
//! engine `chad`, whose linear functions are functions and whose copowers are bags (Vákár and Smeding, section 9).

mod hidden;
mod random;
#[path = "../work/mod.rs"]
mod work;

mod transform;

use chadwick::compile::{Definition, Engine};
use hidden::{Linear, LinearFunction, Type, Value, plus, zero};
use random::{Generator, text};
use std::rc::Rc;
use transform::{Direction, Scope};
use work::{assert_near, run, source};

const ROUNDS: u64 = 300;

/// Whether nobody can tell two values apart. A power can be asked at arguments, a copower only folded.
fn same(ty: &Linear, left: &Value, right: &Value) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
    match ty {
        Linear::Real => near(left.real(), right.real()),
        Linear::Unit => true,
        Linear::Pair(parts) => {
            let ((a, b), (c, d)) = (left.parts(), right.parts());
            same(&parts.0, &a, &c) && same(&parts.1, &b, &d)
        }
        Linear::Power(_, results) => (-6..=6).map(|at| Value::Real(f64::from(at))).all(|at| {
            let [left, right] = [left, right].map(|function| function.apply(&at));
            same(results, &left, &right)
        }),
        Linear::Copower(of, results) => (0..8).all(|seed| {
            let make = Generator::new(seed).family(results, &Linear::Real);
            let fold = LinearFunction::fold(of.clone(), ((**results).clone(), Linear::Real), make);
            near(fold.at(left).real(), fold.at(right).real())
        }),
    }
}

/// Whether two functions give the same for random arguments.
#[track_caller]
fn assert_same(generator: &mut Generator, left: &LinearFunction, right: &LinearFunction) {
    assert!(left.from() == right.from() && left.to() == right.to());
    for _ in 0..3 {
        let value = generator.value(left.from());
        assert!(same(left.to(), &left.at(&value), &right.at(&value)), "from {:?} to {:?}", left.from(), left.to());
    }
}

/// Checks a law on random types.
fn for_all(law: impl Fn(&mut Generator, [Linear; 3])) {
    for seed in 0..ROUNDS {
        let mut generator = Generator::new(seed);
        let types = [(); 3].map(|()| generator.linear_type(2));
        law(&mut generator, types);
    }
}

#[test]
fn sums_are_a_commutative_monoid() {
    for_all(|generator, [ty, ..]| {
        let [a, b, c] = [(); 3].map(|()| generator.value(&ty));
        let sum = |left: &Value, right: &Value| plus(&ty, left, right);
        assert!(same(&ty, &sum(&zero(&ty), &a), &a) && same(&ty, &sum(&a, &zero(&ty)), &a));
        assert!(same(&ty, &sum(&a, &b), &sum(&b, &a)));
        assert!(same(&ty, &sum(&sum(&a, &b), &c), &sum(&a, &sum(&b, &c))));
    });
}

#[test]
fn all_that_can_be_made_keeps_zero_and_sums() {
    for_all(|generator, [from, to, _]| {
        let function = generator.linear_function(&from, &to);
        let [a, b] = [(); 2].map(|()| generator.value(&from));
        assert!(same(&to, &function.at(&zero(&from)), &zero(&to)));
        let apart = plus(&to, &function.at(&a), &function.at(&b));
        assert!(same(&to, &function.at(&plus(&from, &a, &b)), &apart), "from {from:?} to {to:?}");
    });
}

#[test]
fn zero_and_sums_of_functions_are_those_of_their_results() {
    for_all(|generator, [from, to, _]| {
        let [f, g] = [(); 2].map(|()| generator.linear_function(&from, &to));
        let value = generator.value(&from);
        assert!(same(&to, &f.plus(&g).at(&value), &plus(&to, &f.at(&value), &g.at(&value))));
        assert!(same(&to, &LinearFunction::zero(from.clone(), to.clone()).at(&value), &zero(&to)));
    });
}

#[test]
fn composition_has_units_and_brackets_do_not_matter() {
    for_all(|generator, [a, b, c]| {
        let (f, g) = (generator.linear_function(&a, &b), generator.linear_function(&b, &c));
        let h = generator.linear_function(&c, &a);
        assert_same(generator, &LinearFunction::identity(a.clone()).then(&f), &f);
        assert_same(generator, &f.then(&LinearFunction::identity(b.clone())), &f);
        assert_same(generator, &f.then(&g).then(&h), &f.then(&g.then(&h)));
    });
}

#[test]
fn composition_distributes_over_sums() {
    for_all(|generator, [a, b, c]| {
        let [f, g] = [(); 2].map(|()| generator.linear_function(&a, &b));
        let [h, k] = [(); 2].map(|()| generator.linear_function(&b, &c));
        assert_same(generator, &f.plus(&g).then(&h), &f.then(&h).plus(&g.then(&h)));
        assert_same(generator, &f.then(&h.plus(&k)), &f.then(&h).plus(&f.then(&k)));
    });
}

#[test]
fn operations_on_numbers_compose_by_multiplication() {
    for_all(|generator, _| {
        let [a, b] = [(); 2].map(|()| generator.number());
        assert_same(generator, &LinearFunction::times(a).then(&LinearFunction::times(b)), &LinearFunction::times(a * b));
        assert_same(generator, &LinearFunction::times(a).plus(&LinearFunction::times(b)), &LinearFunction::times(a + b));
    });
}

#[test]
fn pairs_are_products() {
    for_all(|generator, [from, left, right]| {
        let (f, g) = (generator.linear_function(&from, &left), generator.linear_function(&from, &right));
        let first = LinearFunction::first(left.clone(), right.clone());
        let second = LinearFunction::second(left.clone(), right.clone());
        let pair = LinearFunction::pair(&f, &g);
        assert_same(generator, &pair.then(&first), &f);
        assert_same(generator, &pair.then(&second), &g);
        let whole = generator.linear_function(&from, &Linear::pair(left.clone(), right.clone()));
        assert_same(generator, &LinearFunction::pair(&whole.then(&first), &whole.then(&second)), &whole);
    });
}

#[test]
fn what_is_swapped_can_be_evaluated() {
    for_all(|generator, [from, to, _]| {
        let make = generator.family(&from, &to);
        let swapped = LinearFunction::swap(Type::Real, (from.clone(), to.clone()), make.clone());
        let at = Value::Real(generator.number());
        let evaluated = swapped.then(&LinearFunction::evaluate(at.clone(), Type::Real, to.clone()));
        assert_same(generator, &evaluated, &make(&at));
        let power = Linear::Power(Type::Real, Rc::new(to.clone()));
        let whole = generator.linear_function(&from, &power);
        let (again, result) = (whole.clone(), to.clone());
        let each = move |at: &Value| again.then(&LinearFunction::evaluate(at.clone(), Type::Real, result.clone()));
        assert_same(generator, &LinearFunction::swap(Type::Real, (from, to), each), &whole);
    });
}

#[test]
fn a_copower_of_one_pair_is_folded_to_its_function() {
    for_all(|generator, [from, to, _]| {
        let make = generator.family(&from, &to);
        let fold = LinearFunction::fold(Type::Real, (from.clone(), to.clone()), make.clone());
        let at = Value::Real(generator.number());
        let one = LinearFunction::singleton(at.clone(), Type::Real, from.clone());
        assert_same(generator, &one.then(&fold), &make(&at));
        let copower = Linear::Copower(Type::Real, Rc::new(from.clone()));
        let whole = generator.linear_function(&copower, &to);
        let (again, part) = (whole.clone(), from.clone());
        let each = move |at: &Value| LinearFunction::singleton(at.clone(), Type::Real, part.clone()).then(&again);
        assert_same(generator, &LinearFunction::fold(Type::Real, (from, to), each), &whole);
    });
}

#[test]
fn order_zeros_and_grouping_of_a_copower_cannot_be_seen() {
    for_all(|generator, [part, to, _]| {
        let copower = Linear::Copower(Type::Real, Rc::new(part.clone()));
        let function = generator.linear_function(&copower, &to);
        let [at, other] = [(); 2].map(|()| LinearFunction::singleton(Value::Real(generator.number()), Type::Real, part.clone()));
        let [a, b] = [(); 2].map(|()| generator.value(&part));
        let sum = |left: &Value, right: &Value| plus(&copower, left, right);
        let rewritings = [
            (sum(&at.at(&a), &other.at(&b)), sum(&other.at(&b), &at.at(&a))),
            (sum(&at.at(&a), &other.at(&zero(&part))), at.at(&a)),
            (sum(&at.at(&a), &at.at(&b)), at.at(&plus(&part, &a, &b))),
        ];
        for (left, right) in rewritings {
            assert!(same(&to, &function.at(&left), &function.at(&right)), "copower of {part:?} to {to:?}");
        }
    });
}

/// Random programs with functions, pairs and `let`: both directions by the hidden types, and by the engine.
#[test]
fn the_engine_computes_what_the_hidden_types_do() {
    let inputs = [0.75, -0.5];
    let mut with_functions = 0;
    for seed in 0..100 {
        let mut generator = Generator::new(seed);
        let term = generator.term(&mut vec![Type::Real; 2], &Type::Real, 6);
        let body = text(&term, 2);
        with_functions += usize::from(body.contains('\\'));
        let scope =
            |direction| inputs.iter().fold(Scope::new(direction), |scope, number| scope.with(Type::Real, Value::Real(*number)));
        let (value, backpropagator) = scope(Direction::Reverse).derivative(&term);
        let (before, second) = backpropagator.at(&Value::Real(1.0)).parts();
        let gradient = [value.real(), before.parts().1.real(), second.real()];
        let tangent = |x: f64, y: f64| {
            let tangents = Value::pair(Value::pair(Value::Unit, Value::Real(x)), Value::Real(y));
            scope(Direction::Forward).derivative(&term).1.at(&tangents).real()
        };
        assert_near(&[tangent(1.0, 0.0), tangent(0.0, 1.0)], &gradient[1..], &body);
        let program = source(&format!(
            "entry reverse (x0: f64) (x1: f64) = vjp2 (\\(x0, x1) -> {body}) (x0, x1) 1
             entry forward (x0: f64) (x1: f64) = jvp (\\(x0, x1) -> {body}) (x0, x1) (2, 3)"
        ));
        let args = inputs.map(chadwick::Value::from);
        for definition in [Definition::Plain, Definition::Simplified] {
            let by_engine = program.with_engine(Engine::Chad(definition)).unwrap_or_else(|error| panic!("{error}\n{body}"));
            assert_near(&run(&by_engine, "reverse", &args).0, &gradient, &body);
            assert_near(&run(&by_engine, "forward", &args).0, &[tangent(2.0, 3.0)], &body);
        }
    }
    assert!(with_functions > 40, "only {with_functions} programs have functions");
}
