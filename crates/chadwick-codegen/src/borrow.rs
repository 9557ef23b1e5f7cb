//! Which parameters a function only looks at, and which owners it needs only where they are.
//!
//! A parameter that is only looked at is borrowed: the caller keeps its reference, and passing it costs nothing. A parameter that is returned, stored in a
//! sum, written in place, or passed on to someone who keeps it is owned by the function.

use crate::liveness::{Liveness, running_scopes};
use chadwick_core::*;
use rustc_hash::FxHashSet;

/// Per function and parameter, whether the function takes the reference.
pub type Owned = Vec<Vec<bool>>;

pub fn owned_parameters(program: &Program, liveness: &[Liveness]) -> Owned {
    let mut owned: Owned = program.functions.iter().map(|function| vec![false; function.params.len()]).collect();
    loop {
        let mut changed = false;
        for (at, function) in program.functions.iter().enumerate() {
            let Taken { consumed, .. } = taken(function, &liveness[at], &owned);
            for (number, param) in function.params.iter().enumerate() {
                if consumed.contains(&param.var) && !owned[at][number] {
                    owned[at][number] = true;
                    changed = true;
                }
            }
        }
        if !changed {
            return owned;
        }
    }
}

/// What becomes of the owners in a function.
pub struct Taken {
    /// Owners whose reference somebody takes.
    pub consumed: FxHashSet<Var>,
    /// Owners whose memory is needed beyond the block in which they come into being: of one that is changed, if that of what comes of it is.
    pub outliving: FxHashSet<Var>,
}

pub fn taken(function: &Function, liveness: &Liveness, owned: &Owned) -> Taken {
    let mut walk = Walk { liveness, owned, taken: FxHashSet::default(), changed: Vec::new() };
    walk.block(&function.body);
    walk.take_all(&function.body.results);
    let Walk { taken: mut consumed, changed, .. } = walk;
    let mut outliving = consumed.clone();
    // What comes of a change is used behind it.
    for (before, behind) in changed.into_iter().rev() {
        consumed.insert(before);
        if outliving.contains(&behind) {
            outliving.insert(before);
        }
    }
    Taken { consumed, outliving }
}

struct Walk<'a> {
    liveness: &'a Liveness,
    owned: &'a Owned,
    taken: FxHashSet<Var>,
    /// Owners that are changed, in place or copied, and what they are behind that.
    changed: Vec<(Var, Var)>,
}

impl Walk<'_> {
    /// The owner whose reference is taken with an atom's.
    fn owner(&self, atom: &Atom) -> Option<Var> {
        // A part is shared anew, whoever owns the whole.
        match atom {
            Atom::Var(var) if !self.liveness.is_part(*var) => self.liveness.root(*var),
            _ => None,
        }
    }

    fn take(&mut self, atom: &Atom) {
        let owner = self.owner(atom);
        self.taken.extend(owner);
    }

    /// Arrays become the first of a statement's results.
    fn change_all(&mut self, atoms: &[Atom], binders: &[Binder]) {
        for (atom, binder) in atoms.iter().zip(binders) {
            let owner = self.owner(atom);
            self.changed.extend(owner.map(|owner| (owner, binder.var)));
        }
    }

    fn take_all(&mut self, atoms: &[Atom]) {
        atoms.iter().for_each(|atom| self.take(atom));
    }

    /// Elements of a new array: arrays are copied, sums are kept.
    fn take_sums(&mut self, atoms: &[Atom]) {
        for atom in atoms {
            if let Atom::Var(var) = atom
                && !matches!(self.liveness.types.get(var), Some(Type::Array(_)))
            {
                self.take(atom);
            }
        }
    }

    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                self.statement(statement);
                running_scopes(&statement.op).iter().for_each(|scope| self.block(scope.block));
            }
        });
    }

    fn statement(&mut self, statement: &Statement) {
        let binders = &statement.binders;
        match &statement.op {
            Op::If { then, otherwise, .. } => {
                self.take_all(&then.results);
                self.take_all(&otherwise.results);
            }
            Op::Match { arms, otherwise, .. } => {
                let blocks = arms.iter().map(|arm| &arm.body).chain(otherwise);
                blocks.for_each(|block| self.take_all(&block.results));
            }
            Op::Call { function, args } => {
                let flags = self.owned.get(function.0 as usize).cloned().unwrap_or_default();
                args.iter().zip(flags).filter(|(_, owned)| *owned).for_each(|(arg, _)| self.take(arg));
            }
            Op::Construct { args, .. } => self.take_all(args),
            Op::Build { body, .. } => self.take_sums(&body.results),
            Op::Reduce { op, neutral, body, .. } | Op::Scan { op, neutral, body, .. } => {
                self.take_all(neutral);
                self.take_all(&body.results);
                self.take_all(&op.body.results);
            }
            Op::Hist { dest, op, body, .. } => {
                self.change_all(dest, binders);
                self.take_all(&body.results);
                self.take_all(&op.body.results);
            }
            Op::Scatter { dest, body, .. } => {
                self.change_all(dest, binders);
                self.take_sums(&body.results);
            }
            Op::ArrayLiteral { elements, .. } => self.take_sums(elements),
            Op::Update { array, value, .. } => {
                self.change_all(std::slice::from_ref(array), binders);
                self.take_sums(std::slice::from_ref(value));
            }
            Op::Reshape { array, .. } => self.take(array),
            Op::Loop(the_loop) => {
                self.take_all(&the_loop.initial);
                let (next, emitted) = the_loop.body.results.split_at(the_loop.carry.len().min(the_loop.body.results.len()));
                self.take_all(next);
                self.take_sums(emitted);
            }
            Op::Par { left, right } => {
                self.take_all(&left.results);
                self.take_all(&right.results);
            }
            Op::Recompute(block) => self.take_all(&block.results),
            Op::Custom(it) => self.take_all(&it.function.body.results),
            Op::WithAccumulators { init, body, .. } => {
                self.change_all(init, binders);
                self.take_all(&body.results);
            }
            Op::WithLog { body, .. } => self.take_all(&body.results),
            Op::Log { values, .. } => self.take_sums(values),
            Op::Copy(_)
            | Op::Prim(..)
            | Op::Closure(_)
            | Op::Apply { .. }
            | Op::Index { .. }
            | Op::Slice { .. }
            | Op::Transpose { .. }
            | Op::Concat { .. }
            | Op::Dim { .. }
            | Op::Assert { .. }
            | Op::Trace { .. }
            | Op::Differentiate(_)
            | Op::Accumulate { .. } => {}
        }
    }
}
