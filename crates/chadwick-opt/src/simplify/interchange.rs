//! A loop whose steps go over whole arrays, element by element, becomes a loop for each element.
//!
//! `loop xs for i < k do map f xs` is `map (\x -> loop x for i < k do f x) xs`: the states stay in registers, no array is written between the
//! steps, and all elements go side by side. This holds if a step reads of the arrays that it makes only the element that it makes.

use super::{Simplify, Step};
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Axis, Binder, Block, Loop, LoopForm, Op, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::FxHashMap;

/// Arrays of which a step reads or makes one element, and that element.
type Elements = FxHashMap<Var, Atom>;

impl Simplify {
    pub(super) fn interchange(&mut self, parts: Box<Loop>, span: Span) -> Step {
        let build = space_of(&parts).and_then(|space| self.loop_for_each_element(&parts, space, span));
        Step::Op(build.unwrap_or(Op::Loop(parts)))
    }

    fn loop_for_each_element(&mut self, parts: &Loop, space: Vec<Axis>, span: Span) -> Option<Op> {
        let sizes: Vec<Option<Atom>> = space.iter().map(|axis| Some(self.facts.resolve(&axis.size))).collect();
        if !parts.initial.iter().all(|initial| self.facts.shape(initial) == sizes) {
            return None;
        }
        let types = parts.carry.iter().map(|binder| binder.ty.peel(space.len()).filter(|ty| ty.as_prim().is_some()));
        let types: Vec<Type> = types.collect::<Option<_>>()?;
        let mut numbers = || -> Vec<Binder> { types.iter().map(|ty| self.fresh("", ty.clone())).collect() };
        let (first, carry, last) = (numbers(), numbers(), numbers());
        let body = body_for_element(parts, &space, &carry)?;

        let place: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        let start = |(binder, array): (&Binder, &Atom)| {
            let op = Op::Index { array: array.clone(), indices: place.clone() };
            Statement { binders: vec![binder.clone()], op, span }
        };
        let mut statements: Vec<Statement> = first.iter().zip(&parts.initial).map(start).collect();
        let atoms = |binders: &[Binder]| binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        let steps = Loop { carry, initial: atoms(&first), body, ..parts.clone() };
        statements.push(Statement { binders: last.clone(), op: Op::Loop(Box::new(steps)), span });
        let inner = vec![Vec::new(); last.len()];
        Some(Op::Build { space, body: Block { statements, results: atoms(&last) }, inner })
    }
}

/// The axes over which the steps of a loop go, if these are the same in all steps.
fn space_of(parts: &Loop) -> Option<Vec<Axis>> {
    let LoopForm::For { index, .. } = &parts.form else { return None };
    if parts.carry.is_empty() || !parts.emits.is_empty() || parts.counted {
        return None;
    }
    let space = parts.body.statements.iter().find_map(|statement| match &statement.op {
        Op::Build { space, .. } => Some(space.clone()),
        _ => None,
    })?;
    let mut made = parts.body.statements.iter().flat_map(|statement| &statement.binders).chain([index]);
    let is_made_inside = made.any(|binder| space.iter().any(|axis| axis.size == Atom::Var(binder.var)));
    (!is_made_inside).then_some(space)
}

/// What a step does for one element, given the numbers that are carried instead of the arrays.
fn body_for_element(parts: &Loop, space: &[Axis], carry: &[Binder]) -> Option<Block> {
    let carried = parts.carry.iter().zip(carry);
    let mut elements: Elements = carried.map(|(array, number)| (array.var, Atom::Var(number.var))).collect();
    let (mut statements, mut same_for_all) = (Vec::new(), 0);
    for statement in &parts.body.statements {
        if let Op::Build { space: own, body, .. } = &statement.op {
            if own.len() != space.len() || own.iter().zip(space).any(|(own, axis)| own.size != axis.size) {
                return None;
            }
            let axes = Axes { own, space };
            for inside in &body.statements {
                statements.push(for_element(inside, &axes, &elements)?);
            }
            let results = body.results.iter().map(|result| axes.renamed(result));
            elements.extend(statement.binders.iter().map(|binder| binder.var).zip(results));
        } else {
            let reads_arrays = op_free_variables(&statement.op).iter().any(|var| elements.contains_key(var));
            let is_cheap = match &statement.op {
                Op::Prim(op, _) => op.is_light(),
                op => matches!(op, Op::Index { .. }),
            };
            if reads_arrays || !is_cheap || !is_number(statement) {
                return None;
            }
            statements.push(statement.clone());
            same_for_all += 1;
        }
    }
    // What is the same for all elements is computed again for each group of them.
    if 2 * same_for_all > statements.len() {
        return None;
    }
    let next = |result: &Atom| match result {
        Atom::Var(var) => elements.get(var).cloned(),
        Atom::Const(_) => None,
    };
    let results = parts.body.results.iter().map(next).collect::<Option<_>>()?;
    Some(Block { statements, results })
}

/// A statement that computes or reads a number of one element.
fn for_element(statement: &Statement, axes: &Axes<'_>, elements: &Elements) -> Option<Statement> {
    let renamed = |atoms: &[Atom]| -> Vec<Atom> { atoms.iter().map(|atom| axes.renamed(atom)).collect() };
    let op = match &statement.op {
        Op::Prim(op, args) => Op::Prim(*op, renamed(args)),
        Op::Index { array, indices } => {
            let indices = renamed(indices);
            let element = if let Atom::Var(array) = array { elements.get(array) } else { None };
            match element {
                Some(element) if axes.are(&indices) => Op::Copy(vec![element.clone()]),
                Some(_) => return None,
                None => Op::Index { array: array.clone(), indices },
            }
        }
        _ => return None,
    };
    is_number(statement).then(|| Statement { op, ..statement.clone() })
}

fn is_number(statement: &Statement) -> bool {
    statement.binders.iter().all(|binder| binder.ty.as_prim().is_some())
}

/// The axes of one of several builds over the same space, and those that stand for all of them.
struct Axes<'a> {
    own: &'a [Axis],
    space: &'a [Axis],
}

impl Axes<'_> {
    fn renamed(&self, atom: &Atom) -> Atom {
        let own = self.own.iter().position(|axis| *atom == Atom::Var(axis.var));
        own.map_or_else(|| atom.clone(), |at| Atom::Var(self.space[at].var))
    }

    fn are(&self, indices: &[Atom]) -> bool {
        indices.len() == self.space.len() && indices.iter().zip(self.space).all(|(index, axis)| *index == Atom::Var(axis.var))
    }
}
