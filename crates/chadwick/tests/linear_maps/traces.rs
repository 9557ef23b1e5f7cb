//! Derivatives as values: the trace of a run in three representations, by both kinds of tupling.

use crate::{assert_near, run, source};
use chadwick::Program;
use chadwick::compile::Stage;
use chadwick::compile::linear_maps::{Closure, Matrix, Representation, Trace, Tree, Tupling, Value, trace};
use chadwick::core::{Const, FunctionId};

const PROGRAMS: &[&str] = &[
    "entry f (x: f64) (y: f64) (z: f64) = f64.sqrt (x + y * z)",
    "#[noinline] def sq (x: f64) = x * x
     #[noinline] def g (x: f64) (y: f64) = sq x + f64.sin (sq y)
     entry f (x: f64) (y: f64) (z: f64) = g x (sq y) * g z x",
    "entry f (x: f64) (y: f64) (z: f64) = if x < y then x * z else f64.exp (y * z)",
    "entry f (x: f64) (y: f64) (z: f64) = let v = [x, y, z] in f64.sum (tabulate 5 (\\i -> v[i % 3] * v[(i + 1) % 3]))",
    "entry f (x: f64) (y: f64) (z: f64) = loop s = x for i < 4 do f64.cos (s * y) + z * f64.i64 i",
    "entry f (x: f64) (y: f64) (z: f64) = reduce (\\a b -> a * b + 1) z [x, y, x * y]",
];

const AT: [f64; 3] = [0.4, 1.3, 0.7];

fn prepared(text: &str) -> (Program, FunctionId) {
    let program = source(text).at_stage(Stage::FirstOrder).unwrap_or_else(|error| panic!("{}", error.message()));
    let function = program.core().entry("f").expect("f").function;
    (program, function)
}

fn traced<R: Representation>(program: &Program, function: FunctionId, map: &R, tupling: Tupling) -> Trace<R> {
    let args = AT.map(|x| Value::Number(Const::F64(x)));
    trace(program.core(), function, &args, map, tupling).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn matrices_closures_and_trees_of_a_run_give_the_gradient() {
    for text in PROGRAMS {
        let gradient = format!(
            "{}\nentry gradient (x: f64) (y: f64) (z: f64) = vjp (\\(x, y, z) -> f x y z) (x, y, z) 1",
            text.replace("entry f", "def f")
        );
        let (wanted, _) = run(&source(&gradient), "gradient", &AT.map(chadwick::Value::from));
        let (program, function) = prepared(text);
        for tupling in [Tupling::Basic, Tupling::Polymorphic] {
            let matrix = traced(&program, function, &Matrix::one(3), tupling);
            let closure = traced(&program, function, &Closure::one(3), tupling);
            let tree = traced(&program, function, &Tree::one(3), tupling);
            assert_near(&matrix.map.rows[0], &wanted, text);
            assert_near(&closure.map.apply_reverse(&[1.0]), &wanted, text);
            assert_near(&tree.map.apply_reverse(&[1.0]), &wanted, text);
            // A column of the matrix is what the map does to a tangent.
            assert_near(&tree.map.apply(&[1.0, 0.0, 0.0]), &wanted[..1], text);
            assert_near(&closure.map.apply(&[0.0, 1.0, 0.0]), &wanted[1..2], text);
        }
    }
}

/// `∂̄f(x, m) ⊙̄ da = fwd$f(x, m ⊙ da)`, and composing afterwards is composing before.
#[test]
fn a_map_given_to_a_run_is_composed_with_its_derivative() {
    let given = Matrix::vcat(&[Matrix::scale(2.0, 1), Matrix::scale(-1.0, 1), Matrix::scale(0.5, 1)], 1);
    for text in PROGRAMS {
        let (program, function) = prepared(text);
        for tupling in [Tupling::Basic, Tupling::Polymorphic] {
            let with = traced(&program, function, &given, tupling);
            let alone = traced(&program, function, &Matrix::one(3), tupling);
            assert_near(&with.map.apply(&[3.0]), &alone.map.apply(&given.apply(&[3.0])), text);
        }
    }
}

/// Tupling computes every value once: as many operations as the function alone.
#[test]
fn no_value_is_computed_twice() {
    for text in PROGRAMS {
        let (program, function) = prepared(text);
        let alone = run(&program, "f", &AT.map(chadwick::Value::from)).1.operations;
        for tupling in [Tupling::Basic, Tupling::Polymorphic] {
            assert_eq!(traced(&program, function, &Tree::one(3), tupling).operations, alone, "{text}");
        }
    }
}

/// A tree is a record of the run: it grows with what was done, a matrix with the product of its sides.
#[test]
fn a_tree_grows_with_the_run() {
    let size = |n: usize| {
        let (program, function) =
            prepared(&format!("entry f (x: f64) (y: f64) (_z: f64) = loop s = x for _i < {n} do f64.sin s + y"));
        traced(&program, function, &Tree::one(3), Tupling::Polymorphic).map.size()
    };
    assert_eq!(size(20) - size(10), size(30) - size(20));
}
