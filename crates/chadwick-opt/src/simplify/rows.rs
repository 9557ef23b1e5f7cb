//! What is the same in every iteration of a loop, but not along an axis inside it, is computed once for each place of that axis, before.
//!
//! In `map (\x -> sum (map (\s -> x / exp s) ss)) xs` the exponentials do not depend on `x`: they become an array. Only what is dearer than
//! reading it moves, and only to an array as large as one that it reads itself: no table is made of what combines rows and columns.
//! A derivative then works on that array once, too.

use super::Simplify;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Axis, Binder, Block, Dim, Op, PrimOp, Statement, Type, UnaryOp, Var};
use rustc_hash::FxHashSet;

impl Simplify {
    /// An operation inside a loop in which `changing` are bound, without what is the same in every iteration; arrays of that go to `out`.
    pub(super) fn rows_of(&mut self, op: Op, changing: &FxHashSet<Var>, out: &mut Vec<Statement>) -> Op {
        let axes: Vec<Axis> = op.space().to_vec();
        self.rows_along(op, axes, &mut changing.clone(), out)
    }

    /// The same, at a place inside that is reached along the axes.
    fn rows_along(&mut self, op: Op, axes: Vec<Axis>, changing: &mut FxHashSet<Var>, out: &mut Vec<Statement>) -> Op {
        let changes = |size: &Atom| matches!(size, Atom::Var(var) if changing.contains(var));
        if axes.iter().any(|axis| changes(&axis.size)) {
            return op;
        }
        for axis in op.space() {
            let size = self.facts.resolve(&axis.size);
            self.facts.set_range(axis.var, size);
        }
        match op {
            Op::Build { space, body, inner } => Op::Build { space, body: self.rows_in(body, axes, changing, out), inner },
            Op::Reduce { space, op, neutral, body, commutative } => {
                Op::Reduce { space, op, neutral, body: self.rows_in(body, axes, changing, out), commutative }
            }
            other => other,
        }
    }

    fn rows_in(&mut self, body: Block, axes: Vec<Axis>, changing: &mut FxHashSet<Var>, out: &mut Vec<Statement>) -> Block {
        let mut statements = Vec::with_capacity(body.statements.len());
        let mut same: Vec<usize> = Vec::new();
        for Statement { binders, mut op, span } in body.statements {
            let is_number = matches!(binders.as_slice(), [Binder { ty: Type::Prim(_), .. }]);
            if is_number && !op_free_variables(&op).iter().any(|var| changing.contains(var)) && self.is_safe(&op) {
                same.push(statements.len());
                statements.push(Statement { binders, op, span });
                continue;
            }
            if !op.space().is_empty() {
                // Further inside, what is bound here is not to be had outside.
                let own: Vec<Var> = same.iter().map(|at| statements[*at].binders[0].var).collect();
                changing.extend(&own);
                let inside = axes.iter().chain(op.space()).cloned().collect();
                op = self.rows_along(op, inside, changing, out);
                own.iter().for_each(|var| {
                    changing.remove(var);
                });
            }
            changing.extend(binders.iter().map(|binder| binder.var));
            statements.push(Statement { binders, op, span });
        }
        let mut body = Block { statements, results: body.results };
        self.move_rows(&same, &mut body, &axes, out);
        body
    }

    /// Moves those of the numbers that are the `same` to arrays which are worth it and needed by the others. What only they need is dead then.
    fn move_rows(&mut self, same: &[usize], body: &mut Block, axes: &[Axis], out: &mut Vec<Statement>) {
        let others = body.statements.iter().enumerate().filter(|(at, _)| same.binary_search(at).is_err());
        let mut used: FxHashSet<Var> = others.flat_map(|(_, statement)| op_free_variables(&statement.op)).collect();
        used.extend(body.results.iter().filter_map(Atom::as_var));
        for (count, at) in same.iter().enumerate() {
            let number = body.statements[*at].binders[0].clone();
            if used.contains(&number.var) && is_work(&body.statements[*at].op) {
                let makings = makings(same[..=count].iter().map(|at| &body.statements[*at]));
                if is_worth_it(&makings, axes) {
                    body.statements[*at] = self.as_array(number, makings, axes, out);
                }
            }
        }
    }

    /// Emits an array of the number along those axes on which it depends, and gives what reads it.
    fn as_array(&mut self, number: Binder, makings: Vec<Statement>, axes: &[Axis], out: &mut Vec<Statement>) -> Statement {
        let needed: FxHashSet<Var> = makings.iter().flat_map(|statement| op_free_variables(&statement.op)).collect();
        let axes: Vec<&Axis> = axes.iter().filter(|axis| needed.contains(&axis.var)).collect();
        let span = makings.last().map_or_else(Default::default, |statement| statement.span);
        let name = self.names.get(number.var.0 as usize).cloned().unwrap_or_default();
        let mut renamed: Vec<(Var, Var)> = Vec::new();
        let mut space = Vec::new();
        for axis in &axes {
            let var = self.fresh("i", Type::I64).var;
            let size = self.facts.resolve(&axis.size);
            self.facts.set_range(var, size);
            renamed.push((axis.var, var));
            space.push(Axis { var, size: axis.size.clone() });
        }
        let mut statements = makings;
        for statement in &mut statements {
            let [binder] = statement.binders.as_mut_slice() else { continue };
            let fresh = self.fresh("", binder.ty.clone());
            rename(&mut statement.op, &renamed);
            renamed.push((binder.var, fresh.var));
            *binder = fresh;
        }
        let results = statements.last().map(|statement| Atom::Var(statement.binders[0].var)).into_iter().collect();
        let array = self.fresh(name.as_str(), number.ty.clone().array(vec![Dim::Any; space.len()]));
        let indices = axes.iter().map(|axis| Atom::Var(axis.var)).collect();
        let op = Op::Build { space, body: Block { statements, results }, inner: vec![Vec::new()] };
        let read = Op::Index { array: Atom::Var(array.var), indices };
        self.keep_named(Statement { binders: vec![array], op, span }, out);
        Statement { binders: vec![number], op: read, span }
    }
}

/// Whether the operation computes, rather than reads.
fn is_work(op: &Op) -> bool {
    match op {
        Op::Prim(op, _) => op.result().is_float() && !matches!(op, PrimOp::Unary(UnaryOp::Detach, _)),
        _ => false,
    }
}

/// Those of the statements that the last one needs, and itself.
fn makings<'s>(statements: impl DoubleEndedIterator<Item = &'s Statement>) -> Vec<Statement> {
    let mut needed = FxHashSet::default();
    let mut makings = Vec::new();
    for (back, statement) in statements.rev().enumerate() {
        if back == 0 || statement.binders.iter().any(|binder| needed.contains(&binder.var)) {
            needed.extend(op_free_variables(&statement.op));
            makings.push(statement.clone());
        }
    }
    makings.reverse();
    makings
}

/// Whether an array of the last number saves work and is no larger than one that it is made of.
fn is_worth_it(makings: &[Statement], axes: &[Axis]) -> bool {
    let is_flat = makings.iter().all(|statement| statement.op.scopes().is_empty());
    let is_heavy = |op: &Op| matches!(op, Op::Prim(op, _) if op.is_heavy());
    let reads = makings.iter().filter(|statement| matches!(statement.op, Op::Index { .. })).count();
    let needed: FxHashSet<Var> = makings.iter().flat_map(|statement| op_free_variables(&statement.op)).collect();
    let needed: Vec<Var> = axes.iter().map(|axis| axis.var).filter(|axis| needed.contains(axis)).collect();
    let covers = |op: &Op| match op {
        Op::Index { indices, .. } => needed.iter().all(|axis| indices.contains(&Atom::Var(*axis))),
        _ => false,
    };
    is_flat
        && !needed.is_empty()
        && (reads > 1 || makings.iter().any(|statement| is_heavy(&statement.op)))
        && makings.iter().any(|statement| covers(&statement.op))
}

fn rename(op: &mut Op, renamed: &[(Var, Var)]) {
    op.for_each_atom_mut(&mut |atom| {
        if let Some((_, new)) = renamed.iter().find(|(old, _)| *atom == Atom::Var(*old)) {
            *atom = Atom::Var(*new);
        }
    });
}
