//! What holds of every `Delta`: the reverse pass is the transpose of what it says about tangents, shares are numbered inside out, and a
//! symbolic one mentions primal values by variables.

use super::super::algebra::{Algebra, extents, known};
use super::super::delta::{Delta, DeltaNode, Dual, DualArray, FoldDelta};
use super::super::plain::{Array, Plain};
use super::super::program::Program;
use super::super::reverse::{ReversePass, Sharing};
use super::super::staged::Staged;
use super::super::term::{Elementwise, Reads, Term, Tree, parts, var_like};
use super::generate::program;
use super::random::{programs, random_array, random_inputs};
use super::{near, vector};
use chadwick_core::{Atom, BinaryOp, Prim, PrimOp, UnaryOp};
use chadwick_generate::Random;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

pub(super) fn inner_deltas<A: Algebra>(delta: &Delta<A>) -> Vec<&Rc<Delta<A>>> {
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

/// What a `Delta` says about tangents (`eval0` of section 4.1.3), and which constructors it met.
struct Forward<'p> {
    plain: &'p Plain,
    directions: &'p [Array],
    shared: FxHashMap<usize, Array>,
    met: BTreeSet<&'static str>,
}

impl Forward<'_> {
    fn optional(&mut self, delta: Option<&Rc<Delta<Plain>>>, prim: Prim, shape: &[Atom]) -> Array {
        match delta {
            Some(delta) => self.tangent(delta),
            None => self.plain.zeros(prim, shape),
        }
    }

    fn tangent(&mut self, delta: &Delta<Plain>) -> Array {
        let plain = self.plain;
        let (name, tangent) = match &delta.node {
            DeltaNode::Input(number) => ("input", self.directions[*number].clone()),
            DeltaNode::Share(number, inner) => match self.shared.get(number) {
                Some(known) => return known.clone(),
                None => {
                    let tangent = self.tangent(inner);
                    self.shared.insert(*number, tangent.clone());
                    ("share", tangent)
                }
            },
            DeltaNode::Add(left, right) => {
                let (left, right) = (self.tangent(left), self.tangent(right));
                ("add", plain.add(left, right))
            }
            DeltaNode::Scale(factor, inner) => ("scale", plain.binary(BinaryOp::Scale, self.tangent(inner), factor.clone())),
            DeltaNode::Negate(inner) => {
                let op = Elementwise::Prim(PrimOp::Unary(UnaryOp::Negate, delta.prim));
                ("negate", plain.elementwise(op, vec![self.tangent(inner)]))
            }
            DeltaNode::Convert(inner) => {
                let op = Elementwise::Prim(PrimOp::Convert { from: inner.prim, to: delta.prim });
                ("convert", plain.elementwise(op, vec![self.tangent(inner)]))
            }
            DeltaNode::Where(condition, holds, inner) => {
                let (inner, zero) = (self.tangent(inner), plain.zeros(delta.prim, &delta.shape));
                let [then, otherwise] = if *holds { [inner, zero] } else { [zero, inner] };
                ("where", plain.elementwise(Elementwise::Select, vec![condition.clone(), then, otherwise]))
            }
            DeltaNode::Index(inner, indices, _) => ("index", plain.index(self.tangent(inner), indices.clone(), &Reads::OrZero)),
            DeltaNode::Gather(inner, function) => {
                ("gather", plain.gather(&delta.shape, self.tangent(inner), function, &Reads::OrZero))
            }
            DeltaNode::Scatter(inner, function) => ("scatter", plain.scatter(&delta.shape, self.tangent(inner), function)),
            DeltaNode::Overwrite { base, at, value, shape, .. } => {
                let base = self.optional(base.as_ref(), delta.prim, &delta.shape);
                let value = self.optional(value.as_ref(), delta.prim, shape);
                ("overwrite", plain.overwrite(base, at, value, true))
            }
            DeltaNode::SumOuter(inner) => ("sum", plain.sum_outer(self.tangent(inner))),
            DeltaNode::Replicate(inner) => ("replicate", plain.replicate(&delta.shape[0], self.tangent(inner))),
            DeltaNode::Stack(rows) => {
                let row = |row: &Option<Rc<Delta<Plain>>>| self.optional(row.as_ref(), delta.prim, &delta.shape[1..]);
                ("stack", plain.stack(rows.iter().map(row).collect()))
            }
            DeltaNode::Transpose(permutation, inner) => ("transpose", plain.transpose(permutation, self.tangent(inner))),
            DeltaNode::Reshape(inner) => ("reshape", plain.reshape(&delta.shape, self.tangent(inner))),
            DeltaNode::Fold(fold) => ("fold", self.fold(fold, delta)),
        };
        self.met.insert(name);
        tangent
    }

    /// The tangents of all states: each step has a `Delta` of its own, over the state before it and its rows.
    fn fold(&mut self, fold: &FoldDelta<Plain>, delta: &Delta<Plain>) -> Array {
        let (plain, step) = (self.plain, &fold.step);
        let of_array = |array: &DualArray<Plain>| {
            self.optional(array.delta.as_ref(), plain.prim(&array.primal), &plain.shape(&array.primal))
        };
        let of_arrays: Vec<Array> = fold.arrays.iter().map(of_array).collect();
        let mut found = vec![self.optional(fold.init.as_ref(), delta.prim, &delta.shape[1..])];
        let inputs = [vec![(step.state, var_like(step.state, &step.body))], step.rows.clone()].concat();
        let results = vec![Rc::clone(&step.body)];
        let program = Program { names: step.names.clone(), inputs, bindings: Vec::new(), results };
        let count = known(&delta.shape[0]).expect("a number") - 1;
        let at = |array: &Array, place: usize| plain.index(array.clone(), vec![plain.integer(place as i64)], &Reads::InRange);
        for number in 0..count {
            let (row, before) = if step.is_backward { (count - 1 - number, count - number) } else { (number, number) };
            let dual = Dual::over(plain.clone());
            let mut named = vec![dual.input(0, at(&fold.states, before))];
            for (place, array) in fold.arrays.iter().enumerate() {
                let primal = at(&array.primal, row);
                named.push(if array.delta.is_some() { dual.input(place + 1, primal) } else { dual.plain(primal) });
            }
            let rows = of_arrays.iter().map(|array| at(array, row));
            let directions: Vec<Array> = found.last().cloned().into_iter().chain(rows).collect();
            let mut inner = Forward { plain, directions: &directions, shared: FxHashMap::default(), met: BTreeSet::new() };
            let next = program.run(&dual, &named).remove(0).delta;
            found.push(inner.optional(next.as_ref(), delta.prim, &delta.shape[1..]));
            self.met.extend(inner.met);
        }
        if step.is_backward {
            found.reverse();
        }
        plain.stack(found)
    }
}

/// `<tangent of the result, cotangent> = <direction, gradient>`, and every constructor is met.
#[test]
fn the_reverse_pass_is_the_transpose_of_the_forward_one() {
    let (mut met, mut compared) = (BTreeSet::new(), 0);
    for seed in 0..programs() {
        let source = program(seed);
        if source.inputs.iter().any(|(_, input)| !input.prim.is_float()) {
            continue;
        }
        let mut random = Random::new(seed + 2);
        let (inputs, directions) = (random_inputs(&mut random, &source), random_inputs(&mut random, &source));
        let cotangent = random_array(&mut random, &source.results[0]);
        let plain = Plain::default();
        for program in [source.clone(), source.without_builds().simplified()] {
            let dual = Dual::over(plain.clone());
            let named: Vec<_> = inputs.iter().enumerate().map(|(number, input)| dual.input(number, input.clone())).collect();
            let Some(delta) = program.run(&dual, &named).remove(0).delta else { continue };
            let mut forward =
                Forward { plain: &plain, directions: &directions, shared: FxHashMap::default(), met: BTreeSet::new() };
            let tangent = forward.tangent(&delta);
            met.extend(forward.met);
            compared += 1;
            let dot = |left: &Array, right: &Array| {
                left.as_floats().iter().zip(right.as_floats()).map(|(left, right)| left * right).sum::<f64>()
            };
            let gradients = ReversePass::run(&plain, Sharing::default(), inputs.len(), vec![(delta, cotangent.clone())]);
            let along = directions.iter().zip(&gradients).filter_map(|(direction, found)| Some(dot(direction, found.as_ref()?)));
            assert!(near(&[along.sum()], &[dot(&tangent, &cotangent)]), "program {seed}\n{program}");
        }
    }
    assert!(compared > programs() / 4, "only {compared} programs were compared");
    let all = BTreeSet::from([
        "input",
        "share",
        "add",
        "scale",
        "negate",
        "where",
        "index",
        "gather",
        "scatter",
        "overwrite",
        "sum",
        "replicate",
        "stack",
        "transpose",
        "reshape",
        "fold",
    ]);
    assert!(met.is_superset(&all), "not met: {:?}", all.difference(&met));
}

/// Shares by number, as they were first met.
type Shares = FxHashMap<usize, *const Delta<Staged>>;

/// Whether a primal value is a variable, or will be one when shares are bindings.
fn is_variable(tree: &Tree) -> bool {
    tree.is_simple() || matches!(tree.term, Term::Share(..))
}

/// Below the number of the share around: numbers decrease inwards, one number is one node, and what is not linear is a variable.
fn check_symbolic(delta: &Rc<Delta<Staged>>, below: usize, shares: &mut Shares) {
    let inside = match &delta.node {
        DeltaNode::Share(number, _) => {
            assert!(*number < below, "share {number} inside of {below}");
            let seen = shares.insert(*number, Rc::as_ptr(delta));
            if let Some(seen) = seen {
                assert_eq!(seen, Rc::as_ptr(delta), "two nodes have the number {number}");
                return;
            }
            *number
        }
        DeltaNode::Scale(factor, _) | DeltaNode::Where(factor, ..) => {
            assert!(is_variable(factor), "{:?}", factor.term);
            below
        }
        DeltaNode::Index(_, indices, _) => {
            assert!(indices.iter().all(is_variable));
            below
        }
        _ => below,
    };
    inner_deltas(delta).into_iter().for_each(|inner| check_symbolic(inner, inside, shares));
}

fn mentions_share(tree: &Tree) -> bool {
    matches!(tree.term, Term::Share(..)) || parts(tree).into_iter().any(mentions_share)
}

/// The constraints of section 4.6.1. In the term that is left there are no shares, and nothing of a `Delta`: terms have no way to say it.
#[test]
fn primal_values_and_symbolic_deltas_come_apart() {
    for seed in 0..programs() {
        let normal = program(seed).without_builds().simplified();
        for result in normal.dual(&Staged::new(&normal.names)) {
            if let Some(delta) = &result.delta {
                check_symbolic(delta, usize::MAX, &mut Shares::default());
            }
        }
        let gradient = normal.gradient();
        let trees = gradient.bindings.iter().map(|(_, tree)| tree).chain(&gradient.results);
        assert!(!trees.into_iter().any(mentions_share), "program {seed}");
    }
}

/// Both placements of shares give the same numbers; the eager one binds more.
#[test]
fn sharing_cotangents_everywhere_binds_more_and_changes_nothing() {
    let mut more = 0;
    for seed in 0..programs() {
        let normal = program(seed).without_builds().simplified();
        let mut random = Random::new(seed + 3);
        let inputs = random_inputs(&mut random, &normal);
        let all = [inputs, vec![random_array(&mut random, &normal.results[0])]].concat();
        let [lazy, eager] = [Sharing::WhereItForks, Sharing::Everywhere].map(|sharing| normal.gradient_sharing(sharing));
        let run =
            |program: &Program| -> Vec<f64> { program.run(&Plain::default(), &all).iter().flat_map(Array::as_floats).collect() };
        assert!(near(&run(&eager), &run(&lazy)), "program {seed}\n{lazy}\n{eager}");
        assert!(eager.bindings.len() >= lazy.bindings.len(), "program {seed}");
        more += u64::from(eager.bindings.len() > lazy.bindings.len());
    }
    assert!(more > programs() / 4, "only {more} programs differ");
}

/// Who looked into a `Delta` for its shape would have no stack for that, and look at 5 * 10⁹ nodes.
#[test]
fn the_shape_of_a_delta_takes_no_look_inside() {
    let chain = || {
        let dual = Dual::over(Plain::default());
        let negate = Elementwise::Prim(PrimOp::Unary(UnaryOp::Negate, Prim::F64));
        let mut array = dual.input(0, vector(&[1.0, 2.0]));
        for _ in 0..100_000 {
            array = dual.elementwise(negate, vec![array]);
            let shape = array.delta.as_ref().map(|delta| delta.shape.clone());
            assert_eq!(shape, Some(extents(&[2])));
        }
        // To drop it is to go inside.
        std::mem::forget(array);
    };
    let small = std::thread::Builder::new().stack_size(256 << 10).spawn(chain).expect("a thread");
    small.join().expect("no stack is needed");
}

#[test]
fn every_delta_has_the_shape_of_its_array() {
    for seed in 0..programs().min(300) {
        let source = program(seed).without_builds();
        let inputs = random_inputs(&mut Random::new(seed + 4), &source);
        let dual = Dual::over(Plain::default());
        let named: Vec<_> = inputs.iter().enumerate().map(|(number, input)| dual.input(number, input.clone())).collect();
        let result = program(seed).without_builds().run(&dual, &named).remove(0);
        let Some(delta) = &result.delta else { continue };
        let shape: Vec<Option<usize>> = delta.shape.iter().map(known).collect();
        assert_eq!(shape, result.primal.extents().iter().copied().map(Some).collect::<Vec<_>>(), "program {seed}");
    }
}
