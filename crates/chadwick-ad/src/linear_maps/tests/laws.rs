//! Every law of figures 4 and 5 is applied to maps made for it, and both sides are applied to random vectors, forward and in reverse.

use super::super::laws::{ALGEBRA, Simplifier, TRANSPOSITION};
use super::super::maps::{Derived, Factor, Family, Map};
use super::super::represent::{Matrix, Representation, Tree};
use super::meaning::Scope;
use super::{Random, assert_near, dot};
use chadwick_core::{Atom, Axis, Var};
use rustc_hash::FxHashMap;

const INDEX: Var = Var(1000);

/// Random maps of given sizes, each a variable.
struct Maker {
    random: Random,
    maps: FxHashMap<Var, Tree>,
    numbers: FxHashMap<Var, f64>,
}

impl Maker {
    fn new(seed: u64) -> Maker {
        Maker { random: Random::new(seed), maps: FxHashMap::default(), numbers: FxHashMap::default() }
    }

    /// A variable with a random matrix, as a tree of rows of scales.
    fn map(&mut self, outputs: usize, inputs: usize) -> Map {
        let random = &mut self.random;
        let mut row = || Tree::hcat(&(0..inputs).map(|_| Tree::scale(random.number(), 1)).collect::<Vec<_>>(), 1);
        let rows: Vec<Tree> = (0..outputs).map(|_| row()).collect();
        let var = Var(self.maps.len() as u32);
        self.maps.insert(var, Tree::vcat(&rows, inputs));
        Map::Of(var)
    }

    fn factor(&mut self) -> Factor {
        let var = Var(2000 + self.numbers.len() as u32);
        let number = self.random.number();
        self.numbers.insert(var, number);
        Factor::Atom(Atom::Var(var))
    }

    /// `λi. S(i) ∘ m ⊕ n` over so many points: a family whose maps differ.
    fn family(&mut self, count: usize, outputs: usize, inputs: usize) -> Box<Family> {
        let (m, n) = (self.map(outputs, inputs), self.map(outputs, inputs));
        let scaled = Map::Scale(Factor::Atom(Atom::Var(INDEX))).after(m);
        let space = vec![Axis { var: INDEX, size: Atom::i64(count as i64) }];
        Box::new(Family { space, body: Derived::of(Map::Sum(vec![scaled, n])) })
    }

    fn scope(&self) -> Scope<Tree> {
        Scope { maps: self.maps.clone(), numbers: self.numbers.clone(), bound: 4 }
    }
}

fn simplify(map: Map) -> Map {
    Simplifier::default().map(map)
}

fn transpose(map: Map) -> Map {
    Map::Transpose(Box::new(map))
}

/// Left sides for every law, with their sizes: outputs, inputs, map.
fn left_sides(maker: &mut Maker) -> Vec<(usize, usize, Map)> {
    let m = &mut |outputs, inputs| maker.map(outputs, inputs);
    let mut sides = vec![
        (3, 2, Map::Zero.after(m(4, 2))),
        (3, 2, m(3, 4).after(Map::Zero)),
        (3, 2, Map::One.after(m(3, 2))),
        (3, 2, m(3, 2).after(Map::One)),
        (3, 2, Map::Sum(vec![m(3, 2), Map::Zero])),
        (3, 2, Map::Sum(vec![Map::Zero, m(3, 2), Map::Zero, m(3, 2)])),
        (3, 2, Map::Sum(vec![Map::Zero, Map::Zero])),
        (4, 2, Map::VCat(vec![Map::Zero, Map::Zero])),
        (2, 4, Map::HCat(vec![Map::Zero, Map::Zero])),
        (3, 2, Map::HCat(vec![m(3, 1), m(3, 4)]).after(Map::VCat(vec![m(1, 2), m(4, 2)]))),
        (3, 5, m(3, 2).after(Map::HCat(vec![m(2, 4), m(2, 1)]))),
        (5, 3, Map::VCat(vec![m(1, 2), m(4, 2)]).after(m(2, 3))),
    ];
    let shared = m(2, 3);
    sides.push((4, 3, Map::Sum(vec![m(4, 2).after(shared.clone()), m(4, 3), m(4, 2).after(shared)])));
    let (a, b) = (maker.factor(), maker.factor());
    sides.push((3, 3, Map::Scale(a.clone()).after(Map::Scale(b.clone()))));
    sides.push((3, 3, Map::Sum(vec![Map::Scale(a.clone()), Map::Scale(b)])));
    let (inner, outer) = (maker.map(3, 2), maker.map(4, 3));
    sides.extend([
        (2, 3, transpose(Map::Zero)),
        (3, 3, transpose(Map::One)),
        (3, 3, transpose(Map::Scale(a))),
        (3, 2, transpose(transpose(inner.clone()))),
        (2, 4, transpose(outer.clone().after(inner.clone()))),
    ]);
    let (x, y) = (maker.map(3, 2), maker.map(1, 2));
    sides.push((2, 3, transpose(Map::Sum(vec![inner.clone(), x]))));
    sides.push((2, 4, transpose(Map::VCat(vec![inner, y]))));
    let z = maker.map(4, 1);
    sides.push((4, 4, transpose(Map::HCat(vec![outer, z]))));
    sides.push((2, 9, transpose(Map::VCatV(maker.family(3, 3, 2)))));
    sides.push((6, 3, transpose(Map::HCatV(maker.family(3, 3, 2)))));
    sides.push((2, 12, transpose(Map::Lambda(maker.family(0, 3, 2)))));
    sides.push((8, 3, transpose(Map::LambdaTransposed(maker.family(0, 3, 2)))));
    sides
}

#[track_caller]
fn assert_same(scope: &Scope<Tree>, random: &mut Random, (outputs, inputs): (usize, usize), left: &Map, right: &Map, what: &str) {
    let (left, right) = (scope.meaning(left, inputs, outputs), scope.meaning(right, inputs, outputs));
    for _ in 0..5 {
        let (x, r) = (random.numbers(inputs), random.numbers(outputs));
        assert_near(&left.apply(&x), &right.apply(&x), what);
        assert_near(&left.apply_reverse(&r), &right.apply_reverse(&r), what);
    }
}

#[test]
fn every_law_keeps_the_meaning_and_is_used() {
    for seed in 1..=20 {
        let mut maker = Maker::new(seed);
        let sides = left_sides(&mut maker);
        let scope = maker.scope();
        for law in ALGEBRA.iter().chain(TRANSPOSITION) {
            let mut used = false;
            for (outputs, inputs, left) in &sides {
                let Some(right) = (law.rewrite)(left) else { continue };
                assert_ne!(*left, right, "{} goes on for ever", law.name);
                assert_same(&scope, &mut maker.random, (*outputs, *inputs), left, &right, law.name);
                used = true;
            }
            assert!(used, "no map is an example of {}", law.name);
        }
    }
}

#[test]
fn simplification_keeps_the_meaning_and_leaves_no_law_to_apply() {
    for seed in 1..=20 {
        let mut maker = Maker::new(100 + seed);
        let sides = left_sides(&mut maker);
        let scope = maker.scope();
        for (outputs, inputs, left) in &sides {
            let right = simplify(left.clone());
            assert_same(&scope, &mut maker.random, (*outputs, *inputs), left, &right, "simplification");
            assert_eq!(simplify(right.clone()), right, "one time is enough");
        }
    }
}

/// Figure 4, semantics: what a map made of others does to a vector, from what the others do.
#[test]
fn constructors_have_the_semantics_of_the_paper() {
    let mut maker = Maker::new(7);
    let maps = [(3, 2), (4, 3), (3, 2), (3, 4)].map(|(outputs, inputs)| maker.map(outputs, inputs));
    let [m, n, p, q] = maps;
    let family = maker.family(3, 3, 2);
    let scope = maker.scope();
    let apply = |map: &Map, inputs: usize, outputs: usize, x: &[f64]| scope.meaning(map, inputs, outputs).apply(x);
    let x = maker.random.numbers(2);
    let y = maker.random.numbers(4);
    let (mx, px, qy) = (apply(&m, 2, 3, &x), apply(&p, 2, 3, &x), apply(&q, 4, 3, &y));
    let plus = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(l, r)| l + r).collect::<Vec<f64>>();
    assert_near(&apply(&n.clone().after(m.clone()), 2, 4, &x), &apply(&n, 3, 4, &mx), "∘");
    assert_near(&apply(&Map::VCat(vec![m.clone(), p.clone()]), 2, 6, &x), &[mx.clone(), px.clone()].concat(), "×");
    let both = [x.clone(), y.clone()].concat();
    assert_near(&apply(&Map::HCat(vec![m.clone(), q]), 6, 3, &both), &plus(&mx, &qy), "⋈");
    assert_near(&apply(&Map::Sum(vec![m, p]), 2, 3, &x), &plus(&mx, &px), "⊕");
    assert_near(&apply(&Map::Zero, 2, 3, &x), &[0.0; 3], "0");
    assert_near(&apply(&Map::One, 2, 2, &x), &x, "1");
    let each: Vec<Vec<f64>> = (0..3)
        .map(|at| {
            let mut inner = maker.scope();
            inner.numbers.insert(INDEX, f64::from(at));
            inner.meaning(&family.body.map, 2, 3).apply(&x)
        })
        .collect();
    assert_near(&apply(&Map::VCatV(family.clone()), 2, 9, &x), &each.concat(), "V");
    let three = maker.random.numbers(6);
    let sum = (0..3).fold(vec![0.0; 3], |sum, at| {
        let mut inner = maker.scope();
        inner.numbers.insert(INDEX, at as f64);
        plus(&sum, &inner.meaning(&family.body.map, 2, 3).apply(&three[2 * at..2 * at + 2]))
    });
    assert_near(&apply(&Map::HCatV(family), 6, 3, &three), &sum, "H");
}

/// Figure 5, laws of reverse application: what a map made of others does to a cotangent, from what the others do.
#[test]
fn reverse_application_has_the_laws_of_the_paper() {
    let mut maker = Maker::new(8);
    let maps = [(3, 2), (4, 3), (3, 2), (3, 4)].map(|(outputs, inputs)| maker.map(outputs, inputs));
    let [m, n, p, q] = maps;
    let family = maker.family(3, 3, 2);
    let scope = maker.scope();
    let back = |map: &Map, inputs: usize, outputs: usize, r: &[f64]| scope.meaning(map, inputs, outputs).apply_reverse(r);
    let (r, s) = (maker.random.numbers(3), maker.random.numbers(4));
    let (mr, pr, qr) = (back(&m, 2, 3, &r), back(&p, 2, 3, &r), back(&q, 4, 3, &r));
    let plus = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(l, r)| l + r).collect::<Vec<f64>>();
    assert_near(&back(&n.clone().after(m.clone()), 2, 4, &s), &back(&m, 2, 3, &back(&n, 3, 4, &s)), "∘");
    let both = [r.clone(), r.clone()].concat();
    assert_near(&back(&Map::VCat(vec![m.clone(), p.clone()]), 2, 6, &both), &plus(&mr, &pr), "×");
    assert_near(&back(&Map::HCat(vec![m.clone(), q]), 6, 3, &r), &[mr.clone(), qr].concat(), "⋈");
    assert_near(&back(&Map::Sum(vec![m.clone(), p]), 2, 3, &r), &plus(&mr, &pr), "⊕");
    assert_near(&back(&Map::Zero, 2, 3, &r), &[0.0; 2], "0");
    assert_near(&back(&Map::One, 3, 3, &r), &r, "1");
    let twice: Vec<f64> = r.iter().map(|r| 2.5 * r).collect();
    assert_near(&back(&Map::Scale(Factor::Atom(Atom::Const(chadwick_core::Const::F64(2.5)))), 3, 3, &r), &twice, "S");
    let x = maker.random.numbers(2);
    assert_near(&back(&transpose(m.clone()), 3, 2, &x), &scope.meaning(&m, 2, 3).apply(&x), "ᵀ");
    let at = |index: f64, r: &[f64]| {
        let mut inner = maker.scope();
        inner.numbers.insert(INDEX, index);
        inner.meaning(&family.body.map, 2, 3).apply_reverse(r)
    };
    let all: Vec<Vec<f64>> = [r.clone(), twice, r.iter().map(|r| -r).collect()].into();
    let sum = all.iter().enumerate().fold(vec![0.0; 2], |sum, (k, r)| plus(&sum, &at(k as f64, r)));
    assert_near(&back(&Map::VCatV(family.clone()), 2, 9, &all.concat()), &sum, "V");
    let each: Vec<f64> = (0..3).flat_map(|k| at(f64::from(k), &r)).collect();
    assert_near(&back(&Map::HCatV(family.clone()), 6, 3, &r), &each, "H");
}

/// (LM1), (LM2), (TP), (RP): a map is linear, and its reverse application is its transpose.
#[test]
fn maps_are_linear_and_their_transposes_are_adjoint() {
    let mut maker = Maker::new(42);
    let sides = left_sides(&mut maker);
    let scope = maker.scope();
    for (outputs, inputs, map) in &sides {
        let meaning = scope.meaning(map, *inputs, *outputs);
        let (x, y, r) = (maker.random.numbers(*inputs), maker.random.numbers(*inputs), maker.random.numbers(*outputs));
        let k = maker.random.number();
        let combined: Vec<f64> = x.iter().zip(&y).map(|(x, y)| k * x + y).collect();
        let wanted: Vec<f64> = meaning.apply(&x).iter().zip(meaning.apply(&y)).map(|(x, y)| k * x + y).collect();
        assert_near(&meaning.apply(&combined), &wanted, "linear");
        assert_near(&[dot(&meaning.apply_reverse(&r), &x)], &[dot(&r, &meaning.apply(&x))], "RP");
        assert_near(&meaning.transpose().apply(&r), &meaning.apply_reverse(&r), "TP");
    }
}

/// The matrix of a map is what the map does to the unit vectors.
#[test]
fn the_matrix_interpretation_agrees_with_application() {
    let mut maker = Maker::new(9);
    let sides = left_sides(&mut maker);
    let scope = maker.scope();
    let unit = |size: usize, at: usize| (0..size).map(|k| f64::from(u8::from(k == at))).collect::<Vec<f64>>();
    let matrices = Scope::<Matrix> {
        maps: scope
            .maps
            .iter()
            .map(|(var, map)| {
                let columns: Vec<Matrix> = (0..map.inputs())
                    .map(|at| {
                        Matrix::vcat(
                            &map.apply(&unit(map.inputs(), at)).iter().map(|x| Matrix::scale(*x, 1)).collect::<Vec<_>>(),
                            1,
                        )
                    })
                    .collect();
                (*var, Matrix::hcat(&columns, map.outputs()))
            })
            .collect(),
        numbers: scope.numbers.clone(),
        bound: scope.bound,
    };
    for (outputs, inputs, map) in &sides {
        let (tree, matrix) = (scope.meaning(map, *inputs, *outputs), matrices.meaning(map, *inputs, *outputs));
        for at in 0..*inputs {
            let column: Vec<f64> = matrix.rows.iter().map(|row| row[at]).collect();
            assert_near(&column, &tree.apply(&unit(*inputs, at)), "a column");
        }
    }
}
