//! Every rule of the bulk-operation transformation (figures 4.10 to 4.12) and of the simplifier by itself: what it makes, and that it
//! means the same.

use super::super::algebra::{Algebra, extents};
use super::super::normal_form::violation;
use super::super::plain::Plain;
use super::super::program::Program;
use super::super::staged::Staged;
use super::super::term::Tree;
use super::{CHECKED, floats, renamed, run};
use chadwick_core::BinaryOp;
use std::rc::Rc;

/// A vector, a matrix and an array of matrices.
const SHAPES: [&[usize]; 3] = [&[6], &[4, 3], &[4, 2, 3]];

/// The body of the program in normal form, after it was seen to mean the same.
fn normal(function: &dyn Fn(&Staged, &[Tree]) -> Tree, is_simplified: bool) -> String {
    let source = Program::stage(&SHAPES, |staged, inputs| vec![function(staged, inputs)]);
    let inputs = SHAPES.map(|shape| {
        let count: usize = shape.iter().product();
        floats(shape, &(0..count).map(|place| (place * place % 17) as f64 - 4.5).collect::<Vec<_>>())
    });
    let mut made = source.without_builds();
    if is_simplified {
        made = made.simplified();
    }
    let trees = made.bindings.iter().map(|(_, tree)| tree).chain(&made.results);
    assert_eq!(trees.into_iter().find_map(violation), None, "{made}");
    assert_eq!(run(&made, &inputs), run(&source, &inputs), "{made}");
    let text = renamed(&made.to_string());
    let (_, body) = text.split_once('\n').expect("a line of inputs");
    body.split_whitespace().collect::<Vec<_>>().join(" ")
}

type Rule = (&'static str, &'static dyn Fn(&Staged, &[Tree]) -> Tree, &'static str);

#[track_caller]
fn assert_rules(rules: &[Rule], is_simplified: bool) {
    let mut wrong = Vec::new();
    for (name, function, wanted) in rules {
        let found = normal(function, is_simplified);
        if found != *wanted {
            wrong.push(format!("{name}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn at(s: &Staged, array: &Tree, indices: &[&Tree]) -> Tree {
    s.index(Rc::clone(array), indices.iter().map(|index| Rc::clone(index)).collect(), &CHECKED)
}

fn one(s: &Staged) -> Tree {
    s.integer(1)
}

fn two(s: &Staged) -> Tree {
    s.integer(2)
}

fn next(s: &Staged, i: &Tree) -> Tree {
    s.add(Rc::clone(i), s.integer(1))
}

fn parity(s: &Staged, i: &Tree) -> Tree {
    s.binary(BinaryOp::Mod, Rc::clone(i), s.integer(2))
}

/// A row of the matrix, its elements added up in two places.
fn folded_row(s: &Staged, row: Tree) -> Tree {
    let places = s.function(&extents(&[3]), &mut |j| vec![parity(s, &j[0])]);
    s.scatter(&extents(&[2]), row, &places)
}

#[test]
fn builds_are_pushed_into_their_bodies() {
    let rules: &[Rule] = &[
        ("the index", &|s, _| s.build(4, &mut |i| i), "[0 .. 4 - 1]"),
        ("what does not depend on it", &|s, x| s.build(4, &mut |_| s.sum_outer(Rc::clone(&x[0]))), "replicate 4 (sumOuter (x1))"),
        (
            "a let",
            &|s, x| s.build(4, &mut |i| s.let_(s.mul(at(s, &x[0], &[&i]), s.number(2.0)), &mut |v| s.mul(v.clone(), v))),
            "(let x4 = f64.mul(gather [4] (x1) (\\[x5]. [x5]), replicate 4 (2)) in f64.mul(gather [4] (x4) (\\[x6]. [x6]), gather [4] (x4) (\\[x7]. [x7])))",
        ),
        (
            "a let that does not depend on it",
            &|s, x| s.build(4, &mut |i| s.let_(s.sum_outer(Rc::clone(&x[0])), &mut |v| s.mul(v, at(s, &x[0], &[&i])))),
            "(let x4 = sumOuter (x1) in f64.mul(replicate 4 (x4), gather [4] (x1) (\\[x5]. [x5])))",
        ),
        (
            "a selection",
            &|s, x| {
                s.build(4, &mut |i| s.select(s.less(i.clone(), s.integer(2)), at(s, &x[0], &[&i]), at(s, &x[0], &[&next(s, &i)])))
            },
            "cond(i64.lt([0 .. 4 - 1], replicate 4 (2)), gather [4] (x1) (\\[x4]. [x4]), gather [4] (x1) (\\[x5]. [i64.add(x5, 1)]))",
        ),
        (
            "arithmetic",
            &|s, x| s.build(4, &mut |i| s.sub(at(s, &x[0], &[&i]), at(s, &x[0], &[&next(s, &i)]))),
            "f64.sub(gather [4] (x1) (\\[x4]. [x4]), gather [4] (x1) (\\[x5]. [i64.add(x5, 1)]))",
        ),
        (
            "a sum",
            &|s, x| s.build(4, &mut |i| s.sum_outer(at(s, &x[1], &[&i]))),
            "sumOuter (tr_[1, 0] (gather [4, 3] (x2) (\\[x4]. [x4])))",
        ),
        (
            "a gather from what does not depend on it",
            &|s, x| {
                s.build(4, &mut |i| {
                    let window = s.function(&extents(&[2]), &mut |j| vec![s.add(i.clone(), j[0].clone())]);
                    s.gather(&extents(&[2]), Rc::clone(&x[0]), &window, &CHECKED)
                })
            },
            "gather [4, 2] (x1) (\\[x4, x5]. [i64.add(x4, x5)])",
        ),
        (
            "a gather from what does",
            &|s, x| {
                s.build(4, &mut |i| {
                    let row = s.mul(at(s, &x[1], &[&i]), at(s, &x[1], &[&i]));
                    let back = s.function(&extents(&[2]), &mut |j| vec![s.sub(s.integer(2), j[0].clone())]);
                    s.gather(&extents(&[2]), row, &back, &CHECKED)
                })
            },
            "gather [4, 2] (f64.mul(gather [4, 3] (x2) (\\[x4]. [x4]), gather [4, 3] (x2) (\\[x5]. [x5]))) (\\[x6, x7]. [x6, i64.sub(2, x7)])",
        ),
        (
            "a scatter",
            &|s, x| s.build(4, &mut |i| folded_row(s, at(s, &x[1], &[&i]))),
            "scatter [4, 2] (gather [4, 3] (x2) (\\[x4]. [x4])) (\\[x5, x6]. [x5, i64.mod(x6, 2)])",
        ),
        (
            "a literal array",
            &|s, x| s.build(4, &mut |i| s.stack(vec![at(s, &x[0], &[&i]), at(s, &x[0], &[&next(s, &i)])])),
            "tr_[1, 0] ([gather [4] (x1) (\\[x4]. [x4]), gather [4] (x1) (\\[x5]. [i64.add(x5, 1)])])",
        ),
        (
            "a replication",
            &|s, x| s.build(4, &mut |i| s.replicate(&extents(&[2])[0], at(s, &x[0], &[&i]))),
            "tr_[1, 0] (replicate 2 (gather [4] (x1) (\\[x4]. [x4])))",
        ),
        (
            "a transpose",
            &|s, x| s.build(4, &mut |i| s.transpose(&[1, 0], at(s, &x[2], &[&i]))),
            "tr_[0, 2, 1] (gather [4, 2, 3] (x3) (\\[x4]. [x4]))",
        ),
        (
            "a reshaping",
            &|s, x| s.build(4, &mut |i| s.reshape(&extents(&[6]), at(s, &x[2], &[&i]))),
            "reshape [4, 6] (gather [4, 2, 3] (x3) (\\[x4]. [x4]))",
        ),
        (
            "a build",
            &|s, x| s.build(4, &mut |i| s.build(3, &mut |j| s.mul(at(s, &x[1], &[&i, &j]), at(s, &x[0], &[&j])))),
            "f64.mul(gather [4, 3] (x2) (\\[x4, x5]. [x4, x5]), replicate 4 (gather [3] (x1) (\\[x6]. [x6])))",
        ),
        (
            "an element of a variable",
            &|s, x| s.build(4, &mut |i| at(s, &x[0], &[&next(s, &i)])),
            "gather [4] (x1) (\\[x4]. [i64.add(x4, 1)])",
        ),
        (
            "an element of a literal array",
            &|s, _| s.build(4, &mut |i| at(s, &s.stack([3.0, 5.0].map(|number| s.number(number)).to_vec()), &[&parity(s, &i)])),
            "gather [4] ([3, 5]) (\\[x4]. [i64.mod(x4, 2)])",
        ),
        (
            "an element of a literal array that depends on the index",
            &|s, x| {
                s.build(4, &mut |i| {
                    let pair = s.stack(vec![at(s, &x[0], &[&i]), at(s, &x[0], &[&next(s, &i)])]);
                    at(s, &pair, &[&parity(s, &i)])
                })
            },
            "gather [4] (tr_[1, 0] ([gather [4] (x1) (\\[x4]. [x4]), gather [4] (x1) (\\[x5]. [i64.add(x5, 1)])])) (\\[x6]. [x6, i64.mod(x6, 2)])",
        ),
        (
            "an element of a scatter",
            &|s, x| s.build(4, &mut |i| at(s, &folded_row(s, at(s, &x[1], &[&i])), &[&parity(s, &i)])),
            "gather [4] (scatter [4, 2] (gather [4, 3] (x2) (\\[x4]. [x4])) (\\[x5, x6]. [x5, i64.mod(x6, 2)])) (\\[x7]. [x7, i64.mod(x7, 2)])",
        ),
    ];
    assert_rules(rules, false);
}

#[test]
fn indices_are_pushed_into_what_is_indexed() {
    let rules: &[Rule] = &[
        ("no index", &|s, x| at(s, &s.sum_outer(Rc::clone(&x[1])), &[]), "sumOuter (x2)"),
        ("two after one another", &|s, x| at(s, &at(s, &x[1], &[&one(s)]), &[&two(s)]), "index x2 [1, 2]"),
        (
            "a let",
            &|s, x| at(s, &s.let_(s.sum_outer(Rc::clone(&x[1])), &mut |v| s.mul(v.clone(), v)), &[&one(s)]),
            "(let x4 = sumOuter (x2) in f64.mul(index x4 [1], index x4 [1]))",
        ),
        (
            "a selection",
            &|s, x| {
                let positive = s.less(s.number(0.0), at(s, &x[0], &[&one(s)]));
                at(s, &s.select(positive, Rc::clone(&x[1]), s.mul(Rc::clone(&x[1]), Rc::clone(&x[1]))), &[&two(s)])
            },
            "cond(replicate 3 (f64.lt(0, index x1 [1])), index x2 [2], f64.mul(index x2 [2], index x2 [2]))",
        ),
        (
            "arithmetic",
            &|s, x| at(s, &s.mul(Rc::clone(&x[1]), Rc::clone(&x[1])), &[&two(s), &one(s)]),
            "f64.mul(index x2 [2, 1], index x2 [2, 1])",
        ),
        (
            "a sum, by all indices",
            &|s, x| at(s, &s.sum_outer(Rc::clone(&x[2])), &[&one(s), &two(s)]),
            "sumOuter ((let x4 = 1 in (let x5 = 2 in gather [4] (x3) (\\[x6]. [x6, x4, x5]))))",
        ),
        (
            "a sum, by some",
            &|s, x| at(s, &s.sum_outer(Rc::clone(&x[2])), &[&one(s)]),
            "sumOuter ((let x4 = 1 in gather [4, 3] (x3) (\\[x5, x6]. [x5, x4, x6])))",
        ),
        (
            "a literal array, by more than one",
            &|s, x| at(s, &s.stack(vec![at(s, &x[1], &[&one(s)]), at(s, &x[1], &[&two(s)])]), &[&one(s), &two(s)]),
            "index [index x2 [1, 2], index x2 [2, 2]] [1]",
        ),
        ("a replication", &|s, x| at(s, &s.replicate(&extents(&[5])[0], Rc::clone(&x[0])), &[&two(s), &one(s)]), "index x1 [1]"),
        (
            "a transpose",
            &|s, x| at(s, &s.transpose(&[1, 0], Rc::clone(&x[1])), &[&two(s), &one(s)]),
            "(let x4 = 2 in (let x5 = 1 in gather [] (x2) (\\[]. [x5, x4])))",
        ),
        (
            "a transpose, by some",
            &|s, x| at(s, &s.transpose(&[2, 0, 1], Rc::clone(&x[2])), &[&two(s)]),
            "(let x4 = 2 in gather [4, 2] (x3) (\\[x5, x6]. [x5, x6, x4]))",
        ),
        (
            "a reshaping",
            &|s, x| at(s, &s.reshape(&extents(&[2, 6]), Rc::clone(&x[1])), &[&one(s)]),
            "(let x4 = reshape [2, 6] (x2) in index x4 [1])",
        ),
        (
            "a gather",
            &|s, x| {
                let back = s.function(&extents(&[3]), &mut |j| vec![s.sub(s.integer(5), j[0].clone())]);
                at(s, &s.gather(&extents(&[3]), Rc::clone(&x[0]), &back, &CHECKED), &[&two(s)])
            },
            "(let x4 = 2 in gather [] (x1) (\\[]. [i64.sub(5, x4)]))",
        ),
        (
            "a gather of rows",
            &|s, x| {
                let back = s.function(&extents(&[2]), &mut |j| vec![s.sub(s.integer(3), j[0].clone())]);
                at(s, &s.gather(&extents(&[2, 3]), Rc::clone(&x[1]), &back, &CHECKED), &[&one(s), &two(s)])
            },
            "(let x4 = 1 in index x2 [i64.sub(3, x4), 2])",
        ),
        (
            "a gather without indices",
            &|s, x| {
                let third = s.function(&[], &mut |_| vec![s.integer(2)]);
                at(s, &s.gather(&extents(&[3]), Rc::clone(&x[1]), &third, &CHECKED), &[&one(s)])
            },
            "index x2 [2, 1]",
        ),
    ];
    assert_rules(rules, false);
}

#[test]
fn what_only_moves_axes_is_simplified() {
    let rules: &[Rule] = &[
        ("a transpose back", &|s, x| s.transpose(&[1, 0], s.transpose(&[1, 0], Rc::clone(&x[1]))), "x2"),
        ("a transpose of a transpose", &|s, x| s.transpose(&[1, 2, 0], s.transpose(&[2, 0, 1], Rc::clone(&x[2]))), "x3"),
        (
            "two transposes that are one",
            &|s, x| s.transpose(&[1, 0], s.transpose(&[2, 0, 1], Rc::clone(&x[2]))),
            "tr_[0, 2, 1] (x3)",
        ),
        ("a reshaping back", &|s, x| s.reshape(&extents(&[4, 3]), s.reshape(&extents(&[12]), Rc::clone(&x[1]))), "x2"),
        ("a gather that is the array", &|s, x| s.build(4, &mut |i| s.build(3, &mut |j| at(s, &x[1], &[&i, &j]))), "x2"),
        (
            "a gather that is a transpose",
            &|s, x| s.build(3, &mut |i| s.build(4, &mut |j| at(s, &x[1], &[&j, &i]))),
            "tr_[1, 0] (x2)",
        ),
        ("a gather that replicates", &|s, x| s.build(2, &mut |_| s.build(6, &mut |j| at(s, &x[0], &[&j]))), "replicate 2 (x1)"),
        (
            "a gather of a replication",
            &|s, x| s.build(4, &mut |i| at(s, &s.replicate(&extents(&[4])[0], at(s, &x[0], &[&s.integer(2)])), &[&i])),
            "replicate 4 (index x1 [2])",
        ),
        (
            "arithmetic on what is replicated",
            &|s, x| {
                let many = |array: &Tree| s.replicate(&extents(&[5])[0], Rc::clone(array));
                s.add(many(&x[0]), many(&x[0]))
            },
            "replicate 5 (f64.add(x1, x1))",
        ),
        (
            "a scatter along an axis",
            &|s, x| {
                let columns = s.function(&extents(&[4, 3]), &mut |i| vec![i[1].clone()]);
                s.scatter(&extents(&[3]), Rc::clone(&x[1]), &columns)
            },
            "sumOuter (x2)",
        ),
    ];
    assert_rules(rules, true);
}

/// What the simplifier is for: after it, a sum over an axis is not done by gathers.
#[test]
fn simplification_takes_work_away() {
    let source = Program::stage(&[&[40, 30]], |s, x| {
        vec![s.build(30, &mut |j| s.sum_outer(s.build(40, &mut |i| at(s, &x[0], &[&i, &j]))))]
    });
    let work = |program: &Program| {
        let plain = Plain::default();
        program.run(&plain, &[floats(&[40, 30], &[0.5; 1200])]);
        plain.work()
    };
    let normal = source.without_builds();
    assert_eq!((work(&normal), work(&normal.simplified())), (2400, 1200));
}
