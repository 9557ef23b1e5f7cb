//! Arrays for programs in Rust: one function at numbers, at terms, and at dual arrays over either (Smeding, section 4.10).

use chadwick_ad::dual_arrays::{Algebra, Array, Dual, Plain, Program, Reads, extents, gradient, known};

const CHECKED: Reads = Reads::Checked(Vec::new());

fn vector(elements: &[f64]) -> Array {
    Array::floats(&[elements.len()], elements).expect("as many as there should be")
}

fn scalar(number: f64) -> Array {
    Array::floats(&[], &[number]).expect("one")
}

/// Layers that add one and that double. The loop is the host's, so a term knows nothing of it.
fn silly_alt<A: Algebra>(algebra: &A, layers: usize, input: &A::Array) -> A::Array {
    let shape = algebra.shape(input);
    (1..=layers).fold(input.clone(), |array, layer| match layer % 2 {
        0 => algebra.mul(algebra.filled(&shape, algebra.number(2.0)), array),
        _ => algebra.add(array, algebra.filled(&shape, algebra.number(1.0))),
    })
}

fn reversed<A: Algebra>(algebra: &A, array: &A::Array) -> A::Array {
    let shape = algebra.shape(array);
    let last = known(&shape[0]).expect("a number") as i64 - 1;
    let function = algebra.function(&shape, &mut |i| vec![algebra.sub(algebra.integer(last), i[0].clone())]);
    algebra.gather(&shape, array.clone(), &function, &CHECKED)
}

fn first_three<A: Algebra>(algebra: &A, array: &A::Array) -> A::Array {
    let at = |place: i64| algebra.index(array.clone(), vec![algebra.integer(place)], &CHECKED);
    algebra.add(algebra.add(at(0), at(1)), at(2))
}

/// Sharing by `let_`.
fn foo1<A: Algebra>(algebra: &A, input: &A::Array) -> A::Array {
    algebra.let_(reversed(algebra, input), &mut |array| first_three(algebra, &array))
}

/// Sharing by `share`.
fn foo2<A: Algebra>(algebra: &A, input: &A::Array) -> A::Array {
    let array = algebra.share(reversed(algebra, input));
    first_three(algebra, &array)
}

/// A function that is the same for all kinds of arrays.
trait Function {
    fn at<A: Algebra>(&self, algebra: &A, input: &A::Array) -> A::Array;
}

struct SillyAlt(usize);
struct Foo1;
struct Foo2;

impl Function for SillyAlt {
    fn at<A: Algebra>(&self, algebra: &A, input: &A::Array) -> A::Array {
        silly_alt(algebra, self.0, input)
    }
}

impl Function for Foo1 {
    fn at<A: Algebra>(&self, algebra: &A, input: &A::Array) -> A::Array {
        foo1(algebra, input)
    }
}

impl Function for Foo2 {
    fn at<A: Algebra>(&self, algebra: &A, input: &A::Array) -> A::Array {
        foo2(algebra, input)
    }
}

fn staged(function: &impl Function, count: usize) -> Program {
    Program::stage(&[&[count]], |staged, inputs| vec![function.at(staged, &inputs[0])])
}

/// The value and the gradient, after all ways to them were seen to agree.
fn everywhere(function: &impl Function, input: &[f64], cotangent: Array) -> (Vec<f64>, Vec<f64>) {
    let plain = Plain::default();
    let value = function.at(&plain, &vector(input)).as_floats();
    let program = staged(function, input.len());
    assert_eq!(program.run(&plain, &[vector(input)])[0].as_floats(), value, "as a term");

    let (primal, gradients) = gradient(&plain, &[vector(input)], cotangent.clone(), |dual, inputs| function.at(dual, &inputs[0]));
    assert_eq!(primal.as_floats(), value, "at dual arrays over numbers");

    for program in [&program, &program.without_builds().simplified()] {
        let term = program.gradient();
        for term in [&term, &term.simplified()] {
            let found = term.run(&plain, &[vector(input), cotangent.clone()]);
            assert_eq!(found[0].as_floats(), value, "at dual arrays over terms");
            assert_eq!(found[1].as_floats(), gradients[0].as_floats(), "at dual arrays over terms");
        }
    }
    (value, gradients[0].as_floats())
}

#[test]
fn control_flow_of_the_host_is_gone_from_terms() {
    let ones = || vector(&[1.0, 1.0]);
    assert_eq!(everywhere(&SillyAlt(2), &[1.0, 5.0], ones()), (vec![4.0, 12.0], vec![2.0, 2.0]));
    assert_eq!(everywhere(&SillyAlt(3), &[1.0, 5.0], ones()), (vec![5.0, 13.0], vec![2.0, 2.0]));
    let text = staged(&SillyAlt(3), 2).to_string();
    assert_eq!((text.matches("f64.add").count(), text.matches("f64.mul").count()), (2, 1), "{text}");
}

#[test]
fn what_is_shared_is_computed_once() {
    let input: Vec<f64> = (1..=6).map(f64::from).collect();
    for (value, gradient) in [everywhere(&Foo1, &input, scalar(1.0)), everywhere(&Foo2, &input, scalar(1.0))] {
        assert_eq!((value, gradient), (vec![15.0], vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0]));
    }
    for program in [staged(&Foo1, 6), staged(&Foo2, 6)] {
        assert_eq!(program.to_string().matches("gather").count(), 1, "{program}");
        let gradient = program.gradient();
        assert_eq!(gradient.to_string().matches("gather").count(), 1, "{gradient}");
    }
}

#[test]
fn what_is_shared_under_a_binder_stays_there() {
    let program = Program::stage(&[&[4]], |staged, inputs| {
        let row = &mut |i| {
            let element = staged.share(staged.index(inputs[0].clone(), vec![i], &CHECKED));
            staged.mul(element.clone(), element)
        };
        vec![staged.build(4, row)]
    });
    let input = [vector(&[1.0, 2.0, 3.0, 4.0])];
    let plain = Plain::default();
    assert_eq!(program.run(&plain, &input)[0].as_floats(), [1.0, 4.0, 9.0, 16.0]);
    let gradient = program.without_builds().simplified().gradient();
    let found = gradient.run(&plain, &[input[0].clone(), vector(&[1.0, 1.0, 1.0, 1.0])]);
    assert_eq!(found[1].as_floats(), [2.0, 4.0, 6.0, 8.0]);
}

/// Squares until the sum is large: how often depends on the numbers. There are no terms of this, but dual arrays over numbers just run it.
fn squared_until_large(dual: &Dual<Plain>, input: &<Dual<Plain> as Algebra>::Array) -> <Dual<Plain> as Algebra>::Array {
    let mut array = input.clone();
    while dual.sum_outer(array.clone()).primal.as_floats()[0] < 100.0 {
        array = dual.mul(array.clone(), array);
    }
    dual.sum_outer(array)
}

#[test]
fn a_loop_that_depends_on_the_numbers_is_differentiated_as_it_runs() {
    for (input, wanted) in [(3.0f64, 4.0), (1.5, 16.0)] {
        let (value, gradients) = gradient(&Plain::default(), &[vector(&[input, 1.0])], scalar(1.0), |dual, inputs| {
            squared_until_large(dual, &inputs[0])
        });
        let power = if input.powf(wanted) + 1.0 < 100.0 { wanted * 2.0 } else { wanted };
        let near = |found: f64, wanted: f64| (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0);
        assert!(near(value.as_floats()[0], input.powf(power) + 1.0), "{value:?}");
        assert!(near(gradients[0].as_floats()[0], power * input.powf(power - 1.0)), "{gradients:?}");
        assert!(near(gradients[0].as_floats()[1], power), "{gradients:?}");
    }
}

#[test]
fn an_input_that_is_not_used_has_a_gradient_of_zeros() {
    let inputs = [vector(&[1.0, 2.0]), vector(&[3.0, 4.0, 5.0])];
    let (_, gradients) = gradient(&Plain::default(), &inputs, scalar(2.0), |dual, inputs| dual.sum_outer(inputs[0].clone()));
    assert_eq!(gradients[0].as_floats(), [2.0, 2.0]);
    assert_eq!(gradients[1].as_floats(), [0.0, 0.0, 0.0]);
    assert_eq!(extents(&[3]), Plain::default().shape(&gradients[1]));
}
