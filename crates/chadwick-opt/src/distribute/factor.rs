//! Sums of products that are only added up: `Σ_n Σ_l w[n, l] f[l, j]` is `Σ_l (Σ_n w[n, l]) f[l, j]`, and so the product is taken once
//! rather than for every `n`.

use super::Distribute;
use super::find::{Factor, Found, Level, whole_axis};
use super::{body_of, bound_in, in_body};
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Axis, Block, Const, Dim, Op, PathStep, Statement, Type, Var};

/// The only reader of an array of sums: it adds each of them to an accumulator.
struct Reader {
    /// Where it stands in the body that makes the array.
    at: usize,
    /// Where it reads, and where it adds, in its own body.
    read: usize,
    add: usize,
    handle: Atom,
    /// The axes of the accumulator that it names, those of its own loop as the array calls them.
    axes: Vec<Axis>,
}

pub(super) enum Factoring {
    /// These statements in place of the nest.
    Here(Vec<Statement>),
    /// With more loops there is more to add up: it is for the nest around this one.
    Outside,
}

impl Distribute<'_> {
    /// The nest with sums of one factor in place of the sums of products, which are taken behind it.
    pub(super) fn factored(&mut self, root: &Statement, found: &Found, around: &[Level]) -> Option<Factoring> {
        let (at, outer) = found.path.split_last()?;
        let reader = reader(body_of(root, outer)?, *at, found, around)?;
        if matches!(reader.handle, Atom::Var(handle) if bound_in(root).contains(&handle)) {
            return None;
        }
        let is_in = |axes: &[Axis], var: Var| axes.iter().any(|axis| axis.var == var);
        let names = |factor: &Factor, axes: &[Axis]| factor.indices.iter().filter_map(Atom::as_var).any(|var| is_in(axes, var));
        let outermost: Vec<Axis> =
            around.iter().flat_map(Level::axes).filter(|axis| !reader.axes.contains(axis)).cloned().collect();
        let (shared, left_out): (Vec<Axis>, Vec<Axis>) =
            found.levels.iter().flatten().cloned().partition(|axis| is_in(&reader.axes, axis.var));
        let is_fixed = |factor: &Factor| factor.depth.is_none() && !names(factor, &left_out);
        let fixed = found.factors.iter().position(is_fixed)?;
        let varying = &found.factors[1 - fixed];
        if names(varying, &found.kept) {
            return None;
        }
        if !outermost.is_empty() && !names(&found.factors[fixed], &outermost) {
            return Some(Factoring::Outside);
        }
        if left_out.is_empty() || !reader.axes.iter().all(|axis| is_in(&found.kept, axis.var) || is_in(&shared, axis.var)) {
            return None;
        }

        // The sums of the varying factor, which the nest now makes.
        let span = found.span;
        let axes: Vec<Axis> = shared.iter().chain(&found.summed).cloned().collect();
        let ty = Type::Prim(found.prim).array(vec![Dim::Any; axes.len()]);
        let handle = self.fresh("", Type::Accumulator(ty.clone().into()));
        let (added, renamed) = self.own_axes(&found.summed);
        let rename = |atom: &Atom| atom.as_var().and_then(|var| renamed.get(&var).cloned()).unwrap_or(atom.clone());
        let element = self.fresh("", Type::Prim(found.prim));
        let path = vec![PathStep::Index(axes.iter().map(|axis| rename(&Atom::Var(axis.var))).collect())];
        let add = Op::Accumulate { handle: Atom::Var(handle.var), path, value: Atom::Var(element.var) };
        let read = Op::Index { array: Atom::Var(varying.var), indices: varying.indices.iter().map(rename).collect() };
        let statements =
            vec![Statement { binders: vec![element], op: read, span }, Statement { binders: Vec::new(), op: add, span }];
        let additions = Op::Build { space: added, body: Block { statements, results: Vec::new() }, inner: Vec::new() };
        let mut nest = root.clone();
        in_body(&mut nest, outer, &mut |body| {
            if let Op::Build { body: reading, .. } = &mut body.statements[reader.at].op {
                reading.statements.remove(reader.add);
                reading.statements.remove(reader.read);
            }
            body.statements[*at] = Statement { binders: Vec::new(), op: additions.clone(), span };
        })?;

        // The nest in the scope of the new accumulator; its results are those of the scope.
        let results = std::mem::take(&mut nest.binders);
        nest.binders = results.iter().map(|binder| self.fresh("", binder.ty.clone())).collect();
        let body_results = nest.binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        let mut statements = Vec::new();
        self.root(nest, around, &mut statements);
        let body = Block { statements, results: body_results };
        let (space, _) = self.own_axes(&axes);
        let zeros = self.fresh("", ty.clone());
        let zero = Block { statements: Vec::new(), results: vec![Atom::Const(Const::zero(found.prim))] };
        let making_zeros = Op::Build { space, body: zero, inner: vec![Vec::new()] };
        let sums = self.fresh("", ty);
        let scope = Op::WithAccumulators { handles: vec![handle], init: vec![Atom::Var(zeros.var)], body };

        let mut factors = found.factors.clone();
        let indices = axes.iter().map(|axis| Atom::Var(axis.var)).collect();
        factors[1 - fixed] = Factor { var: sums.var, original: sums.var, depth: None, indices, made: None };
        let (product, whole) = self.product(found, &factors, &reader.axes);
        let place = PathStep::Slice(reader.axes.iter().map(whole_axis).collect());
        let addition = Op::Accumulate { handle: reader.handle, path: vec![place], value: Atom::Var(whole) };
        Some(Factoring::Here(vec![
            Statement { binders: vec![zeros], op: making_zeros, span },
            Statement { binders: [vec![sums], results].concat(), op: scope, span },
            product,
            Statement { binders: Vec::new(), op: addition, span },
        ]))
    }
}

/// The only reader of the array that a statement of a body makes, if all it does is add its elements to an accumulator.
fn reader(body: &Block, at: usize, found: &Found, around: &[Level]) -> Option<Reader> {
    let [array] = body.statements[at].binders.as_slice() else { return None };
    let reader = only_user(body, array.var)?;
    let Op::Build { space, body: reading, .. } = &body.statements[reader].op else { return None };
    let read = only_user(reading, array.var)?;
    let Statement { binders, op: Op::Index { array: Atom::Var(from), indices }, .. } = &reading.statements[read] else {
        return None;
    };
    let [element] = binders.as_slice() else { return None };
    let add = only_user(reading, element.var)?;
    let Op::Accumulate { handle, path, value } = &reading.statements[add].op else { return None };
    let [PathStep::Index(places)] = path.as_slice() else { return None };
    if *from != array.var || *value != Atom::Var(element.var) || indices.len() != space.len() || found.kept.len() != space.len() {
        return None;
    }
    // The reader's loop is over the whole of the array.
    let own = |var: Var| indices.iter().position(|index| *index == Atom::Var(var));
    if !space.iter().all(|axis| own(axis.var).is_some_and(|at| found.kept[at].size == axis.size)) {
        return None;
    }
    let mut axes: Vec<Axis> = Vec::new();
    for place in places {
        let var = place.as_var()?;
        let axis = match own(var) {
            Some(at) => &found.kept[at],
            None => around.iter().flat_map(Level::axes).chain(found.levels.iter().flatten()).find(|axis| axis.var == var)?,
        };
        if axes.contains(axis) {
            return None;
        }
        axes.push(axis.clone());
    }
    found.kept.iter().all(|axis| axes.contains(axis)).then(|| Reader { at: reader, read, add, handle: handle.clone(), axes })
}

/// The statement of a block that uses a variable, if it is the only one and the block does not return it.
fn only_user(block: &Block, var: Var) -> Option<usize> {
    let mut users = block.statements.iter().enumerate().filter(|(_, it)| op_free_variables(&it.op).contains(&var));
    let (at, _) = users.next()?;
    (users.next().is_none() && !block.results.contains(&Atom::Var(var))).then_some(at)
}
