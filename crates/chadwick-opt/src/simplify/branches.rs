//! What branches add to a place, whichever is taken, is added behind them: they make nothing but values then, and a loop around them may run in
//! vectors.

use super::Simplify;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Binder, Block, Const, Op, PathStep, Prim, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

impl Simplify {
    /// Takes additions out of the branches of a choice; what is added is one more result of it. Gives the statements that add it.
    pub(super) fn additions_behind(&mut self, binders: &mut Vec<Binder>, op: &mut Op, span: Span) -> Vec<Statement> {
        let Op::If { then, otherwise, .. } = op else { return Vec::new() };
        let mut handles: Vec<Var> = Vec::new();
        for statement in then.statements.iter().chain(&otherwise.statements) {
            if let Op::Accumulate { handle: Atom::Var(handle), .. } = &statement.op
                && !handles.contains(handle)
            {
                handles.push(*handle);
            }
        }
        let mut behind = Vec::new();
        for handle in handles {
            let Some(prim) = self.number_added_to(handle, then, otherwise) else { continue };
            let (one, other) = (take_addition(then, handle), take_addition(otherwise, handle));
            let Some(path) = one.as_ref().or(other.as_ref()).map(|(path, _)| path.clone()) else { continue };
            // Minus zero changes no sum.
            let nothing = Atom::Const(match prim {
                Prim::F64 => Const::F64(-0.0),
                Prim::F32 => Const::F32(-0.0),
                prim => Const::zero(prim),
            });
            let result = self.fresh("", Type::Prim(prim));
            for (block, addition) in [(&mut *then, one), (&mut *otherwise, other)] {
                block.results.push(addition.map_or_else(|| nothing.clone(), |(_, value)| value));
            }
            let value = Atom::Var(result.var);
            binders.push(result);
            let op = Op::Accumulate { handle: Atom::Var(handle), path, value };
            behind.push(Statement { binders: Vec::new(), op, span });
        }
        behind
    }

    /// The type of the numbers that branches add to one and the same place of an accumulator, once each and at most one of them not at all, if they do
    /// nothing else with it.
    fn number_added_to(&self, handle: Var, then: &Block, otherwise: &Block) -> Option<Prim> {
        let content = match self.facts.type_of(&Atom::Var(handle))? {
            Type::Accumulator(content) => content,
            _ => return None,
        };
        let mut found: Vec<&[PathStep]> = Vec::new();
        for block in [then, otherwise] {
            let bound: FxHashSet<Var> = block.statements.iter().flat_map(|it| &it.binders).map(|binder| binder.var).collect();
            let mut users = block.statements.iter().filter(|it| op_free_variables(&it.op).contains(&handle));
            let Some(user) = users.next() else { continue };
            let (Op::Accumulate { path, .. }, None) = (&user.op, users.next()) else { return None };
            let mut inside = false;
            let mut note = |atom: &Atom| inside |= matches!(atom, Atom::Var(var) if bound.contains(var));
            for step in path {
                let PathStep::Index(indices) = step else { return None };
                indices.iter().for_each(&mut note);
            }
            if inside {
                return None;
            }
            found.push(path);
        }
        // A place of an array may not be there where nothing is added to it.
        let is_one_place = match found.as_slice() {
            [one, other] => one == other,
            [one] => one.is_empty(),
            _ => false,
        };
        let depth: usize =
            found.first()?.iter().map(|step| if let PathStep::Index(indices) = step { indices.len() } else { 0 }).sum();
        let prim = if depth == 0 { content.as_prim() } else { content.peel(depth).and_then(|ty| ty.as_prim()) };
        prim.filter(|prim| is_one_place && *prim != Prim::Bool && *prim != Prim::F16)
    }
}

/// Takes the addition to an accumulator out of a block: where it goes, and what it is.
fn take_addition(block: &mut Block, handle: Var) -> Option<(Vec<PathStep>, Atom)> {
    let is_wanted = |it: &Statement| matches!(&it.op, Op::Accumulate { handle: Atom::Var(found), .. } if *found == handle);
    let at = block.statements.iter().position(is_wanted)?;
    match block.statements.remove(at).op {
        Op::Accumulate { path, value, .. } => Some((path, value)),
        _ => None,
    }
}
