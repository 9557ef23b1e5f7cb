//! The typing rules of the language (figure 4.9): the shape of every term follows from those of its parts. Whatever a transformation makes obeys
//! them, and terms that do not are seen.

use super::super::algebra::known;
use super::super::term::{
    Elementwise, IndexFunction, Names, Reads, Step, Term, Tree, bind, build, deep, elementwise, fold, gather, guarded, index,
    iota, outer, overwrite, parts, reduce_outer, replicate, reshape, scatter, stack, sum_outer, transpose, var, zeros,
};
use super::generate::program;
use chadwick_core::{Atom, BinaryOp, Const, Prim, PrimOp};
use std::rc::Rc;

/// The rule that a term breaks, if any.
pub fn broken_rule(tree: &Tree) -> Option<String> {
    let inner = deep(|| parts(tree).into_iter().find_map(broken_rule));
    inner.or_else(|| if rule_holds(tree) { None } else { Some(format!("{:?} of the shape {:?}", tree.term, tree.shape)) })
}

fn is_index(tree: &Tree) -> bool {
    tree.prim == Prim::I64 && tree.shape.is_empty()
}

/// Whether an index function goes from an array of one shape to one of another: behind what it maps, the axes are the same.
fn maps(function: &IndexFunction, from: &[Atom], to: &[Atom]) -> bool {
    let (params, indices) = (function.params.len(), function.indices.len());
    params <= from.len() && indices <= to.len() && function.indices.iter().all(is_index) && from[params..] == to[indices..]
}

fn is_row_of(row: &Tree, array: &Tree) -> bool {
    array.prim == row.prim && array.shape.get(1..) == Some(&row.shape[..])
}

fn step_fits(step: &Step, init: &Tree, arrays: &[Tree]) -> bool {
    let rows = step.rows.iter().zip(arrays).all(|((_, row), array)| is_row_of(row, array));
    let count = arrays.first().and_then(|array| array.shape.first());
    let alike = arrays.iter().all(|array| array.shape.first() == count);
    rows && alike && step.rows.len() == arrays.len() && step.body.shape == init.shape && step.body.prim == init.prim
}

fn rule_holds(tree: &Tree) -> bool {
    let shape = &tree.shape;
    let same = |other: &Tree| other.shape == *shape && other.prim == tree.prim;
    match &tree.term {
        Term::Outer(_) | Term::Var(_) => true,
        Term::Let(_, _, body) | Term::Share(_, body) => same(body),
        Term::Elementwise(op, args) => {
            let prims: Vec<Prim> = args.iter().map(|arg| arg.prim).collect();
            let operands = match op {
                Elementwise::Prim(op) => op.operands() == prims,
                Elementwise::Select => matches!(prims[..], [Prim::Bool, then, otherwise] if then == otherwise),
                Elementwise::Guarded(op) => op.operands().get(1..) == Some(&prims),
                Elementwise::Partial(op, _) => [op.operands(), vec![op.result()]].concat() == prims,
            };
            operands && args.iter().all(|arg| arg.shape == *shape) && op.result(&prims) == tree.prim
        }
        Term::Iota => tree.prim == Prim::I64 && shape.len() == 1,
        Term::Index(base, indices, _) => {
            indices.iter().all(is_index) && base.prim == tree.prim && base.shape.get(indices.len()..) == Some(&shape[..])
        }
        Term::SumOuter(of) | Term::ReduceOuter(_, of) => is_row_of(tree, of) && tree.prim != Prim::Bool,
        Term::Gather(base, function, _) => base.prim == tree.prim && maps(function, shape, &base.shape),
        Term::Scatter(of, function) => of.prim == tree.prim && tree.prim != Prim::Bool && maps(function, &of.shape, shape),
        Term::Overwrite { base, at, value, .. } => same(base) && value.prim == tree.prim && maps(at, &value.shape, shape),
        Term::Stack(rows) => {
            !rows.is_empty() && shape.first().and_then(known) == Some(rows.len()) && rows.iter().all(|row| is_row_of(row, tree))
        }
        Term::Replicate(of) | Term::Build(_, of) => is_row_of(of, tree),
        Term::Transpose(permutation, of) => {
            let mut axes = permutation.clone();
            axes.sort_unstable();
            let moved = permutation.iter().map(|axis| of.shape.get(*axis)).eq(shape.iter().map(Some));
            axes.iter().copied().eq(0..of.shape.len()) && moved && of.prim == tree.prim
        }
        Term::Reshape(of) => {
            let count = |shape: &[Atom]| shape.iter().map(known).product::<Option<usize>>();
            of.prim == tree.prim && count(&of.shape) == count(shape)
        }
        Term::Fold(step, init, arrays) => is_row_of(init, tree) && step_fits(step, init, arrays),
        Term::Walk(step, init, arrays) => same(init) && step_fits(step, init, arrays),
        Term::Given(..) => !shape.is_empty(),
    }
}

#[test]
fn every_stage_of_random_programs_obeys_the_rules() {
    for seed in 0..super::random::programs() {
        let source = program(seed);
        let normal = source.without_builds();
        let simple = normal.simplified();
        let gradient = simple.gradient();
        let shorter = gradient.simplified();
        let stages = [
            ("as it is", &source),
            ("normal", &normal),
            ("simplified", &simple),
            ("gradient", &gradient),
            ("simplified gradient", &shorter),
        ];
        for (what, stage) in stages {
            let trees = stage.bindings.iter().map(|(_, tree)| tree).chain(&stage.results);
            assert_eq!(trees.into_iter().find_map(broken_rule), None, "{what}, program {seed}");
        }
    }
}

/// For each rule something that is right, also with axes of no elements and with parts of arrays, and something that is not.
#[test]
fn terms_are_accepted_and_rejected_by_each_rule() {
    let names = Names::default();
    let sizes = |shape: &[i64]| shape.iter().copied().map(Atom::i64).collect::<Vec<Atom>>();
    let float = |shape: &[i64]| zeros(Prim::F64, &sizes(shape));
    let truth = |shape: &[i64]| zeros(Prim::Bool, &sizes(shape));
    let number = |value: i64| outer(Atom::i64(value), Prim::I64, Vec::new());
    let add = Elementwise::Prim(PrimOp::Binary(BinaryOp::Add, Prim::F64));
    let divide = PrimOp::Binary(BinaryOp::Div, Prim::I64);
    let at = |indices: usize| IndexFunction { params: vec![names.fresh()], indices: vec![number(0); indices] };
    let checked = || Reads::Checked(Vec::new());
    let step = |row: &[i64], body: Tree| {
        let (state_name, row_name) = (names.fresh(), names.fresh());
        let rows = vec![(row_name, var(row_name, Prim::F64, sizes(row)))];
        let (bindings, gives) = (Vec::new(), Vec::new());
        Rc::new(Step { names: names.clone(), state: state_name, rows, bindings, body, gives, is_backward: false })
    };
    let right = [
        elementwise(add, vec![float(&[2, 0]), float(&[2, 0])]),
        elementwise(Elementwise::Select, vec![truth(&[3]), float(&[3]), float(&[3])]),
        iota(Atom::i64(0)),
        index(float(&[2, 3, 4]), vec![number(1)], checked()),
        sum_outer(float(&[0, 3])),
        reduce_outer(BinaryOp::Max, float(&[2, 3])),
        gather(sizes(&[5, 4]), float(&[2, 3, 4]), at(2), checked()),
        scatter(sizes(&[2, 3, 4]), float(&[5, 4]), at(2)),
        overwrite(float(&[2, 3, 4]), at(2), float(&[1, 4]), false),
        stack(vec![float(&[3]), float(&[3])]),
        replicate(Atom::i64(0), float(&[3])),
        transpose(&[1, 0], float(&[2, 3, 4])),
        reshape(sizes(&[6, 0]), float(&[0])),
        fold(Atom::i64(5), step(&[2], float(&[3])), float(&[3]), vec![float(&[4, 2])]),
        build(Atom::i64(0), names.fresh(), float(&[3])),
        bind(names.fresh(), truth(&[2]), float(&[3])),
        guarded(divide, number(0)),
    ];
    for tree in right {
        assert_eq!(broken_rule(&tree), None);
    }
    let wrong = [
        elementwise(add, vec![float(&[2]), float(&[3])]),
        elementwise(add, vec![float(&[2]), float(&[])]),
        elementwise(add, vec![float(&[2]), truth(&[2])]),
        elementwise(Elementwise::Select, vec![truth(&[]), float(&[3]), float(&[3])]),
        elementwise(Elementwise::Select, vec![truth(&[3]), float(&[3]), truth(&[3])]),
        index(float(&[2, 3]), vec![outer(Atom::Const(Const::F64(0.0)), Prim::F64, Vec::new())], checked()),
        index(float(&[2, 3]), vec![iota(Atom::i64(2))], checked()),
        sum_outer(truth(&[2, 3])),
        sum_outer(float(&[])),
        gather(sizes(&[5, 3]), float(&[2, 3, 4]), at(2), checked()),
        gather(sizes(&[5]), float(&[2]), at(2), checked()),
        scatter(sizes(&[2, 3, 4]), float(&[5, 3]), at(2)),
        scatter(sizes(&[2]), truth(&[5]), at(1)),
        overwrite(float(&[2, 3, 4]), at(2), float(&[1, 3]), false),
        overwrite(float(&[2]), at(1), truth(&[1]), false),
        stack(vec![float(&[3]), float(&[2])]),
        transpose(&[0, 0], float(&[3, 3])),
        reshape(sizes(&[5]), float(&[2, 3])),
        fold(Atom::i64(5), step(&[2], float(&[2])), float(&[3]), vec![float(&[4, 2])]),
        fold(Atom::i64(5), step(&[2], float(&[3])), float(&[3]), vec![float(&[4, 3])]),
        build(Atom::i64(2), names.fresh(), elementwise(add, vec![float(&[2]), float(&[3])])),
        bind(names.fresh(), sum_outer(float(&[])), float(&[3])),
        guarded(divide, float(&[])),
    ];
    for tree in wrong {
        assert!(broken_rule(&tree).is_some(), "accepted: {:?}", tree.term);
    }
}
