//! The examples that the chapter works out, and what it claims of work and of the size of a `Delta`.

use super::super::algebra::{Algebra, extents};
use super::super::delta::{Delta, DeltaNode, Dual};
use super::super::plain::{Array, Plain};
use super::super::program::Program;
use super::super::staged::Staged;
use super::super::term::{Reads, Tree};
use chadwick_core::BinaryOp;
use rustc_hash::FxHashSet;
use std::rc::Rc;

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
    let squares = plain.build(4, &mut |i| plain.mul(i.clone(), i));
    assert_eq!(squares.as_floats(), [0.0, 1.0, 4.0, 9.0]);
    let columns = plain.sum_outer(floats(&[3, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]));
    assert_eq!(columns.as_floats(), [12.0, 15.0, 18.0]);
    let permuted = plain.transpose(&[3, 0, 1, 2], plain.zeros(chadwick_core::Prim::F64, &extents(&[5, 3, 6, 9])));
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

/// What a `Delta` is made of.
pub fn parts<A: Algebra>(delta: &Delta<A>) -> Vec<&Rc<Delta<A>>> {
    match &delta.node {
        DeltaNode::Input(_) => Vec::new(),
        DeltaNode::Add(left, right) => vec![left, right],
        DeltaNode::Fold(fold) => fold.init.iter().chain(fold.arrays.iter().filter_map(|array| array.delta.as_ref())).collect(),
        DeltaNode::Stack(rows) => rows.iter().flatten().collect(),
        DeltaNode::Overwrite { base, value, .. } => base.iter().chain(value).collect(),
        DeltaNode::Scale(_, of) | DeltaNode::Where(_, _, of) | DeltaNode::Share(_, of) | DeltaNode::Index(of, ..) => vec![of],
        DeltaNode::Gather(of, _) | DeltaNode::Scatter(of, _) | DeltaNode::Transpose(_, of) => vec![of],
        DeltaNode::Negate(of) | DeltaNode::Convert(of) | DeltaNode::SumOuter(of) => vec![of],
        DeltaNode::Replicate(of) | DeltaNode::Reshape(of) => vec![of],
    }
}

fn nodes<A: Algebra>(delta: &Rc<Delta<A>>, seen: &mut FxHashSet<*const Delta<A>>) -> usize {
    if !seen.insert(Rc::as_ptr(delta)) {
        return 0;
    }
    1 + parts(delta).into_iter().map(|of| nodes(of, seen)).sum::<usize>()
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
