//! Matrices, closures and trees are the same maps.

use super::super::represent::{Closure, Matrix, Representation, Tree};
use super::{Random, assert_near};

/// The same random construction in any representation.
fn constructed<R: Representation>(seed: u64) -> R {
    let mut random = Random::new(seed);
    let mut dense = |outputs: usize, inputs: usize| {
        let mut row = || R::hcat(&(0..inputs).map(|_| R::scale(random.number(), 1)).collect::<Vec<R>>(), 1);
        let rows: Vec<R> = (0..outputs).map(|_| row()).collect();
        R::vcat(&rows, inputs)
    };
    let (m, n, p) = (dense(3, 2), dense(2, 3), dense(3, 2));
    let sum = R::sum(&R::compose(&m, &R::scale(2.5, 2)), &p);
    let square = R::sum(&R::compose(&sum, &n), &R::one(3));
    R::vcat(&[square.transpose(), R::zero(1, 3), n.clone(), R::hcat(&[n, R::zero(2, 0)], 2)], 3)
}

#[test]
fn three_representations_agree() {
    for seed in 1..=10 {
        let (matrix, closure, tree) = (constructed::<Matrix>(seed), constructed::<Closure>(seed), constructed::<Tree>(seed));
        let mut random = Random::new(seed + 99);
        let (x, r) = (random.numbers(matrix.inputs()), random.numbers(matrix.outputs()));
        assert_eq!((matrix.inputs(), matrix.outputs()), (closure.inputs(), closure.outputs()));
        assert_eq!((matrix.inputs(), matrix.outputs()), (tree.inputs(), tree.outputs()));
        for (applied, back) in [(closure.apply(&x), closure.apply_reverse(&r)), (tree.apply(&x), tree.apply_reverse(&r))] {
            assert_near(&applied, &matrix.apply(&x), "applied");
            assert_near(&back, &matrix.apply_reverse(&r), "applied in reverse");
        }
    }
}
