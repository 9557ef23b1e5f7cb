//! The examples that the chapter works out, and what it claims of work and of the size of a `Delta`.

use super::super::algebra::{Algebra, extents};
use super::super::delta::{Delta, Dual};
use super::super::plain::{Array, Plain};
use super::super::program::Program;
use super::super::reverse::Sharing;
use super::super::staged::Staged;
use super::super::term::{Elementwise, Reads, Tree};
use super::delta::inner_deltas;
use super::{CHECKED, assert_reads, counted, floats, near, run, vector};
use chadwick_core::{BinaryOp, Prim, PrimOp, UnaryOp};
use chadwick_generate::Random;
use rustc_hash::FxHashSet;
use std::rc::Rc;

fn self_convolution(n: usize) -> Program {
    Program::stage(&[&[n]], |staged, inputs| {
        let products = staged.build(n, &mut |i| {
            let last = staged.integer(n as i64 - 1);
            let left = staged.index(Rc::clone(&inputs[0]), vec![Rc::clone(&i)], &CHECKED);
            let right = staged.index(Rc::clone(&inputs[0]), vec![staged.sub(last, i)], &CHECKED);
            staged.mul(left, right)
        });
        vec![staged.sum_outer(products)]
    })
}

#[test]
fn self_convolution_is_as_printed() {
    let normal = self_convolution(5).without_builds();
    let bulk = "\\x1.
        sumOuter (f64.mul(gather [5] (x1) (\\[x2]. [x2]), gather [5] (x1) (\\[x3]. [i64.sub(4, x3)])))";
    assert_reads(&normal, bulk);
    let gradient = normal.gradient();
    let printed = "\\x1, x2.
        let x3 = gather [5] (x1) (\\[x4]. [x4]) in
        let x5 = gather [5] (x1) (\\[x6]. [i64.sub(4, x6)]) in
        let x7 = f64.mul(x3, x5) in
        let x8 = sumOuter (x7) in
        let x9 = replicate 5 (x2) in
        x8, f64.add(scatter [5] (f64.scale(x9, x5)) (\\[x4]. [x4]), scatter [5] (f64.scale(x9, x3)) (\\[x6]. [i64.sub(4, x6)]))";
    assert_reads(&gradient, printed);
    let found = run(&gradient, &[counted(5), floats(&[], &[1.0])]);
    assert_eq!(found, [vec![35.0], vec![10.0, 8.0, 6.0, 4.0, 2.0]]);
    // The identity is gone.
    let simpler = gradient.simplified();
    assert_eq!(simpler.to_string().matches("scatter").count(), 1, "{simpler}");
    assert_eq!(run(&simpler, &[counted(5), floats(&[], &[1.0])]), found);
}

#[test]
fn concatenation_by_a_condition_is_as_printed() {
    let program = Program::stage(&[&[10]], |staged, inputs| {
        let joined = staged.build(20, &mut |i| {
            let ten = staged.integer(10);
            let front = staged.index(Rc::clone(&inputs[0]), vec![Rc::clone(&i)], &Reads::Total);
            let back = staged.index(Rc::clone(&inputs[0]), vec![staged.sub(Rc::clone(&i), Rc::clone(&ten))], &Reads::Total);
            staged.select(staged.less(i, ten), front, back)
        });
        vec![joined]
    });
    let input: Vec<f64> = (0..10).map(|number| f64::from(number) + 0.5).collect();
    let twice = [input.clone(), input.clone()].concat();
    let normal = program.without_builds().simplified();
    assert_eq!(run(&program, &[vector(&input)]), std::slice::from_ref(&twice));
    assert_eq!(run(&normal, &[vector(&input)]), std::slice::from_ref(&twice));
    let weights: Vec<f64> = (0..20).map(f64::from).collect();
    let found = run(&normal.gradient().simplified(), &[vector(&input), vector(&weights)]);
    assert_eq!(found[1], (0..10).map(|j| f64::from(2 * j + 10)).collect::<Vec<_>>());
}

#[test]
fn gathers_and_scatters_are_as_printed() {
    let plain = Plain::default();
    let halves = plain.function(&extents(&[9]), &mut |i| vec![plain.binary(BinaryOp::Div, i[0].clone(), plain.integer(2))]);
    assert_eq!(plain.scatter(&extents(&[6]), counted(9), &halves).as_floats(), [3.0, 7.0, 11.0, 15.0, 9.0, 0.0]);
    let at = |places: &'static [i64]| {
        let table = vector(&places.iter().map(|place| *place as f64).collect::<Vec<_>>());
        plain.function(&extents(&[places.len()]), &mut |i| vec![plain.index(table.clone(), i.to_vec(), &CHECKED)])
    };
    let gathered = plain.gather(&extents(&[4]), vector(&[2.0, 4.0, 7.0]), &at(&[1, 1, 2, 0]), &CHECKED);
    assert_eq!(gathered.as_floats(), [4.0, 4.0, 7.0, 2.0]);
    let scattered = plain.scatter(&extents(&[5]), vector(&[2.0, 4.0, 7.0, 8.0]), &at(&[1, 0, 3, 0]));
    assert_eq!(scattered.as_floats(), [12.0, 2.0, 0.0, 7.0, 0.0]);
    let remainders = plain.function(&extents(&[4]), &mut |i| vec![plain.binary(BinaryOp::Mod, i[0].clone(), plain.integer(3))]);
    assert_eq!(plain.scatter(&extents(&[4]), vector(&[4.0, 7.0, 6.0, 1.0]), &remainders).as_floats(), [5.0, 7.0, 6.0, 0.0]);
    let next = plain.function(&extents(&[3]), &mut |i| vec![plain.add(i[0].clone(), plain.integer(1))]);
    let shifted = plain.gather(&extents(&[3]), vector(&[3.0, 5.0, 4.0, 1.0, 2.0]), &next, &CHECKED);
    assert_eq!(shifted.as_floats(), [5.0, 4.0, 1.0]);
    let squares = plain.build(4, &mut |i| plain.mul(i.clone(), i));
    assert_eq!(squares.as_floats(), [0.0, 1.0, 4.0, 9.0]);
    let columns = plain.sum_outer(floats(&[3, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]));
    assert_eq!(columns.as_floats(), [12.0, 15.0, 18.0]);
    let permuted = plain.transpose(&[3, 0, 1, 2], plain.zeros(Prim::F64, &extents(&[5, 3, 6, 9])));
    assert_eq!(permuted.extents(), [9, 5, 3, 6]);
}

#[test]
fn a_gather_of_a_gather_is_one() {
    let program = Program::stage(&[&[9]], |staged, inputs| {
        let next = staged.function(&extents(&[4]), &mut |i| vec![staged.add(Rc::clone(&i[0]), staged.integer(1))]);
        let inner = staged.gather(&extents(&[4]), Rc::clone(&inputs[0]), &next, &CHECKED);
        let around =
            staged.function(&extents(&[7]), &mut |i| vec![staged.binary(BinaryOp::Mod, Rc::clone(&i[0]), staged.integer(4))]);
        vec![staged.gather(&extents(&[7]), inner, &around, &CHECKED)]
    });
    assert_reads(&program.simplified(), "\\x1.\ngather [7] (x1) (\\[x2]. [i64.add(i64.mod(x2, 4), 1)])");
    assert_eq!(run(&program.simplified(), &[counted(9)]), run(&program, &[counted(9)]));
}

#[test]
fn indexing_and_adding_becomes_bulk_operations() {
    let program = Program::stage(&[&[8]], |staged, inputs| {
        let row = &mut |i| staged.add(staged.index(Rc::clone(&inputs[0]), vec![i], &CHECKED), staged.number(1.0));
        vec![staged.build(6, row)]
    });
    let printed = "\\x1.\nf64.add(gather [6] (x1) (\\[x2]. [x2]), replicate 6 (1))";
    assert_reads(&program.without_builds(), printed);
}

/// What a program costs as it is, and in bulk operations.
fn work(program: &Program, inputs: &[Array]) -> (u64, u64) {
    let of = |program: &Program| {
        let plain = Plain::default();
        program.run(&plain, inputs);
        plain.work()
    };
    (of(program), of(&program.without_builds().simplified()))
}

#[test]
fn an_array_that_many_elements_read_is_not_replicated() {
    let window = Program::stage(&[&[1000]], |staged, inputs| {
        let row = &mut |i: Tree| {
            let element = &mut |j| staged.index(Rc::clone(&inputs[0]), vec![staged.add(Rc::clone(&i), j)], &CHECKED);
            staged.build(2, element)
        };
        vec![staged.build(20, row)]
    });
    let (source, bulk) = work(&window, &[counted(1000)]);
    assert!(bulk <= source && bulk < 200, "{bulk} for {source}");
    let matmul = Program::stage(&[&[40, 3], &[3, 2]], |staged, inputs| {
        let element = |i: &Tree, j: &Tree| {
            let product = &mut |k: Tree| {
                let left = staged.index(Rc::clone(&inputs[0]), vec![Rc::clone(i), Rc::clone(&k)], &CHECKED);
                staged.mul(left, staged.index(Rc::clone(&inputs[1]), vec![k, Rc::clone(j)], &CHECKED))
            };
            staged.sum_outer(staged.build(3, product))
        };
        vec![staged.build(40, &mut |i| staged.build(2, &mut |j| element(&i, &j)))]
    });
    let inputs = [floats(&[40, 3], &[0.5; 120]), floats(&[3, 2], &[2.0; 6])];
    let (source, bulk) = work(&matmul, &inputs);
    assert!(bulk <= source && bulk <= 2012, "{bulk} for {source}");
    // The reverse pass pays as little.
    let gradient = matmul.without_builds().simplified().gradient().simplified();
    let plain = Plain::default();
    gradient.run(&plain, &[inputs.to_vec(), vec![floats(&[40, 2], &[1.0; 80])]].concat());
    assert!(plain.work() <= 3 * source, "{} for {source}", plain.work());
}

fn dot(n: usize) -> Program {
    Program::stage(&[&[n], &[n]], |staged, inputs| {
        let product = &mut |i: Tree| {
            let [left, right] = [0, 1].map(|input: usize| staged.index(Rc::clone(&inputs[input]), vec![Rc::clone(&i)], &CHECKED));
            staged.mul(left, right)
        };
        vec![staged.sum_outer(staged.build(n, product))]
    })
}

fn nodes<A: Algebra>(delta: &Rc<Delta<A>>, seen: &mut FxHashSet<*const Delta<A>>) -> usize {
    if !seen.insert(Rc::as_ptr(delta)) {
        return 0;
    }
    1 + inner_deltas(delta).into_iter().map(|of| nodes(of, seen)).sum::<usize>()
}

/// How many nodes the `Delta` of a program with two vectors as inputs has, with numbers.
fn delta_size(program: &Program, n: usize) -> usize {
    let dual = Dual::over(Plain::default());
    let inputs = [dual.input(0, counted(n)), dual.input(1, counted(n))];
    let result = program.run(&dual, &inputs).remove(0);
    nodes(&result.delta.expect("an active result"), &mut FxHashSet::default())
}

#[test]
fn the_size_of_a_delta_does_not_depend_on_that_of_arrays() {
    let bulk = |n: usize| delta_size(&dot(n).without_builds(), n);
    assert_eq!(bulk(10), bulk(1000));
    // Without the transformation it does: that is what the transformation is for.
    let explosion = |n: usize| delta_size(&dot(n), n);
    assert!(explosion(100) >= 500 && explosion(200) >= explosion(100) + 500);
    let symbolic = |n: usize| {
        let results = dot(n).without_builds().dual(&Staged::default());
        nodes(results[0].delta.as_ref().expect("an active result"), &mut FxHashSet::default())
    };
    assert_eq!(symbolic(10), symbolic(1000));
    assert_eq!(symbolic(10), bulk(10));
}

/// The `5n + 1` constructors of the thesis (4.3.1), for scalars: `n` times a share of a sum of two scaled terms, `n` sums and one share. Here each
/// sum is shared as well, and the first one adds to a constant, which has no term: there are `4n + 2n - 1`.
#[test]
fn the_delta_of_a_dot_product_by_scalars_is_counted() {
    for n in [1, 2, 10, 100] {
        let shapes: Vec<&[usize]> = vec![&[]; 2 * n];
        let program = Program::stage(&shapes, |staged, inputs| {
            let product = |at: usize| staged.mul(Rc::clone(&inputs[at]), Rc::clone(&inputs[n + at]));
            vec![(0..n).fold(staged.number(0.0), |sum, at| staged.add(sum, product(at)))]
        });
        let dual = Dual::over(Plain::default());
        let inputs: Vec<_> = (0..2 * n).map(|at| dual.input(at, floats(&[], &[2.0]))).collect();
        let delta = program.run(&dual, &inputs).remove(0).delta.expect("an active result");
        let inputs = 2 * n;
        assert_eq!(nodes(&delta, &mut FxHashSet::default()) - inputs, 4 * n + 2 * n - 1);
    }
}

#[test]
fn a_chain_of_doublings_stays_linear() {
    let program = Program::stage(&[&[]], |staged, inputs| {
        let mut value = Rc::clone(&inputs[0]);
        for _ in 0..80 {
            value = staged.share(staged.add(Rc::clone(&value), value));
        }
        vec![value]
    });
    let gradient = program.gradient();
    let found = run(&gradient, &[floats(&[], &[1.0]), floats(&[], &[1.0])]);
    assert_eq!(found, [vec![2f64.powi(80)], vec![2f64.powi(80)]]);
    // A binding for each doubling there and back, but the last cotangent.
    assert_eq!(gradient.bindings.len(), 80 + 79);
}

/// The eager placement of shares binds every cotangent, the lazy one only that of the sum, which goes two ways.
#[test]
fn self_convolution_needs_one_shared_cotangent() {
    let normal = self_convolution(5).without_builds();
    let bindings = |sharing| normal.gradient_sharing(sharing).bindings.len();
    // Four primal values, and one cotangent or five: of the sum, of both factors, and what each adds to that of the input.
    assert_eq!((bindings(Sharing::WhereItForks), bindings(Sharing::Everywhere)), (5, 9));
}

/// Multiplication of matrices by operations on whole arrays.
fn first_order_product(staged: &Staged, left: &Tree, right: &Tree) -> Tree {
    let ([rows, inner], [_, columns]) = ([40, 3], [3, 2]);
    let count = |count: usize| extents(&[count]).remove(0);
    // Both of shape [inner, rows, columns].
    let left = staged.transpose(&[2, 1, 0], staged.replicate(&count(columns), Rc::clone(left)));
    let right = staged.transpose(&[1, 0], staged.replicate(&count(rows), Rc::clone(right)));
    assert_eq!((&left.shape, &right.shape), (&extents(&[inner, rows, columns]), &extents(&[inner, rows, columns])));
    staged.sum_outer(staged.mul(left, right))
}

#[test]
fn a_product_of_matrices_by_indices_is_the_one_by_bulk_operations() {
    let element = |staged: &Staged, inputs: &[Tree], i: &Tree, j: &Tree| {
        let product = &mut |k: Tree| {
            let left = staged.index(Rc::clone(&inputs[0]), vec![Rc::clone(i), Rc::clone(&k)], &CHECKED);
            staged.mul(left, staged.index(Rc::clone(&inputs[1]), vec![k, Rc::clone(j)], &CHECKED))
        };
        staged.sum_outer(staged.build(3, product))
    };
    let shapes: [&[usize]; 2] = [&[40, 3], &[3, 2]];
    let by_indices = Program::stage(&shapes, |staged, inputs| {
        vec![staged.build(40, &mut |i| staged.build(2, &mut |j| element(staged, inputs, &i, &j)))]
    });
    let in_bulk = Program::stage(&shapes, |staged, inputs| vec![first_order_product(staged, &inputs[0], &inputs[1])]);
    let numbers = |count: usize| (0..count).map(|place| (place * 7 % 11) as f64 - 5.0).collect::<Vec<f64>>();
    let inputs = [floats(&[40, 3], &numbers(120)), floats(&[3, 2], &numbers(6))];
    assert_eq!(run(&by_indices, &inputs), run(&in_bulk, &inputs));
    assert_eq!(run(&by_indices.without_builds(), &inputs), run(&in_bulk, &inputs));
    let seeded = [inputs.to_vec(), vec![floats(&[40, 2], &numbers(80))]].concat();
    let gradients = [by_indices.without_builds(), in_bulk].map(|program| run(&program.gradient(), &seeded));
    assert_eq!(gradients[0], gradients[1]);
}

/// What is out of range reads as zero and is not written; what has no value is some number.
#[test]
fn every_operation_has_a_value() {
    let plain = Plain::default();
    let array = counted(3);
    for place in [-1, 3, i64::MIN, i64::MAX] {
        assert_eq!(plain.index(array.clone(), vec![plain.integer(place)], &Reads::Total).as_floats(), [0.0]);
        let function = plain.function(&extents(&[2]), &mut |_| vec![plain.integer(place)]);
        assert_eq!(plain.gather(&extents(&[2]), array.clone(), &function, &Reads::Total).as_floats(), [0.0, 0.0]);
        assert_eq!(plain.scatter(&extents(&[2]), vector(&[1.0, 2.0]), &function).as_floats(), [0.0, 0.0]);
        assert_eq!(plain.overwrite(array.clone(), &function, vector(&[7.0, 7.0]), true).as_floats(), array.as_floats());
    }
    for op in [BinaryOp::Div, BinaryOp::Mod, BinaryOp::Quot, BinaryOp::Rem] {
        assert_eq!(plain.binary(op, plain.integer(7), plain.integer(0)).as_floats().len(), 1);
        let guard = Elementwise::Guarded(PrimOp::Binary(op, Prim::I64));
        let guarded = |operand| plain.elementwise(guard, vec![plain.integer(operand)]).as_floats();
        assert_eq!((guarded(0), guarded(-2)), (vec![1.0], vec![-2.0]));
    }
    let root = Elementwise::Prim(PrimOp::Unary(UnaryOp::Sqrt, Prim::F64));
    assert!(plain.elementwise(root, vec![plain.number(-1.0)]).as_floats()[0].is_nan());
    assert_eq!(plain.strays(), 0, "all of these were allowed");
}

/// A selection evaluates both sides: its work is that of both, whatever the condition is.
#[test]
fn a_selection_evaluates_both_sides() {
    let program = Program::stage(&[&[8]], |staged, inputs| {
        let first = staged.index(Rc::clone(&inputs[0]), vec![staged.integer(0)], &CHECKED);
        let square = staged.mul(Rc::clone(&inputs[0]), Rc::clone(&inputs[0]));
        let cube = staged.mul(staged.mul(Rc::clone(&inputs[0]), Rc::clone(&inputs[0])), Rc::clone(&inputs[0]));
        vec![staged.select(staged.less(staged.number(0.0), first), square, cube)]
    });
    let work = |first: f64| {
        let plain = Plain::default();
        program.run(&plain, &[vector(&[first, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])]);
        plain.work()
    };
    // The comparison, three products and the selection.
    assert_eq!([work(1.0), work(-1.0)], [1 + 3 * 8 + 8; 2]);
}

/// What an index function computes is not differentiated, also if it comes from an input, and may bind variables.
#[test]
fn an_index_that_is_computed_from_an_input_has_no_derivative() {
    let program = Program::stage(&[&[5]], |staged, inputs| {
        let place = staged.function(&extents(&[5]), &mut |i| {
            let element = staged.index(Rc::clone(&inputs[0]), vec![Rc::clone(&i[0])], &CHECKED);
            let sine = staged.elementwise(Elementwise::Prim(PrimOp::Unary(UnaryOp::Sin, Prim::F64)), vec![element]);
            let large = staged.mul(sine, staged.number(4.0));
            let whole = Elementwise::Prim(PrimOp::Convert { from: Prim::F64, to: Prim::I64 });
            vec![staged.let_(staged.elementwise(whole, vec![large]), &mut |whole| {
                let twice = staged.add(Rc::clone(&whole), whole);
                staged.binary(BinaryOp::Mod, twice, staged.integer(5))
            })]
        });
        let gathered = staged.gather(&extents(&[5]), Rc::clone(&inputs[0]), &place, &CHECKED);
        vec![staged.sum_outer(staged.mul(gathered, Rc::clone(&inputs[0])))]
    });
    let input: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
    let places = input.map(|x| (2 * (x.sin() * 4.0) as i64).rem_euclid(5) as usize);
    let mut wanted: Vec<f64> = places.iter().map(|place| input[*place]).collect();
    places.iter().zip(input).for_each(|(place, x)| wanted[*place] += x);
    let normal = program.without_builds().simplified();
    let found = run(&normal.gradient(), &[vector(&input), floats(&[], &[1.0])]);
    assert_eq!(found[1], wanted);
    assert!(!normal.gradient().to_string().contains("cos"), "the sine is not differentiated");
}

/// A dot product by indices has no one-hot arrays: twice the length is twice the work.
#[test]
fn the_gradient_of_an_indexed_dot_product_is_linear() {
    let work = |n: usize| {
        let gradient = dot(n).without_builds().simplified().gradient().simplified();
        let plain = Plain::default();
        gradient.run(&plain, &[counted(n), counted(n), floats(&[], &[1.0])]);
        plain.work()
    };
    assert_eq!(work(2000) - work(1000), work(3000) - work(2000));
    assert!(work(1000) <= 8 * 1000, "{}", work(1000));
}

/// The sum of products of elements of one array, each read at its place and at the mirrored one, in builds over its axes in some order.
fn mirrored(shape: &[usize], order: &[usize]) -> Program {
    fn over(staged: &Staged, array: &Tree, shape: &[usize], order: &[usize], indices: &mut Vec<Option<Tree>>) -> Tree {
        let Some((axis, rest)) = order.split_first() else {
            let place: Vec<Tree> = indices.iter().flatten().cloned().collect();
            let last = |extent: &usize| staged.integer(*extent as i64 - 1);
            let mirror = shape.iter().zip(&place).map(|(extent, index)| staged.sub(last(extent), Rc::clone(index))).collect();
            let [left, right] = [place.clone(), mirror].map(|place| staged.index(Rc::clone(array), place, &CHECKED));
            return staged.mul(left, right);
        };
        let all = staged.build(shape[*axis], &mut |index| {
            indices[*axis] = Some(index);
            over(staged, array, shape, rest, indices)
        });
        staged.sum_outer(all)
    }
    Program::stage(&[shape], |staged, inputs| vec![over(staged, &inputs[0], shape, order, &mut vec![None; shape.len()])])
}

/// A one-hot array for each element that is read would be quadratic.
#[test]
fn the_gradient_of_elements_that_are_read_in_builds_is_linear() {
    let mut random = Random::new(81);
    for _ in 0..60 {
        let rank = 1 + random.below(3);
        let shape: Vec<usize> = (0..rank).map(|_| 1 + random.below([400, 30, 9][rank - 1])).collect();
        let mut order: Vec<usize> = (0..rank).collect();
        order.rotate_left(random.below(rank));
        let program = mirrored(&shape, &order);
        let gradient = program.without_builds().simplified().gradient().simplified();
        let elements: usize = shape.iter().product();
        let numbers: Vec<f64> = (0..elements).map(|_| random.real()).collect();
        let plain = Plain::default();
        let results = gradient.run(&plain, &[floats(&shape, &numbers), floats(&[], &[1.0])]);
        let wanted: Vec<f64> = numbers.iter().rev().map(|mirror| 2.0 * mirror).collect();
        assert!(near(&results[1].as_floats(), &wanted), "{shape:?}");
        assert!(plain.work() <= 30 * elements as u64 + 100, "{shape:?} in order {order:?}: {}", plain.work());
    }
}
