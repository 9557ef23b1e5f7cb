//! What a nested dual needs of the block it belongs to: recorded, or made again where that is no dearer than reading it back.

use super::Reverse;
use crate::makings::Makings;
use crate::report::NoteKind;
use chadwick_core::visit::{free_variables, op_free_variables};
use chadwick_core::{Atom, Axis, Block, LoopForm, Op, Size, SliceDim, Statement, Type, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// What the dual of a block reads.
pub(super) struct Needs {
    /// Variables of the block that must be kept.
    pub saved: Vec<Var>,
    /// Statements of the forward part that the dual runs again, in order.
    pub again: Vec<Statement>,
}

impl Reverse<'_, '_> {
    /// Which variables bound by `forward` or in `bound` the dual needs. Variables in `given` are at hand in the dual too.
    pub(super) fn needs(&mut self, forward: &[Statement], dual: &Block, bound: &[Var], given: &[Var]) -> Needs {
        let mut definitions: FxHashMap<Var, usize> = FxHashMap::default();
        for (at, statement) in forward.iter().enumerate() {
            statement.binders.iter().for_each(|binder| {
                definitions.insert(binder.var, at);
            });
        }
        let inside: FxHashSet<Var> = definitions.keys().copied().chain(bound.iter().copied()).collect();
        let needed: Vec<Var> =
            free_variables(dual).into_iter().filter(|var| inside.contains(var) && !given.contains(var)).collect();
        let mut cheap = Cheap {
            forward,
            definitions: &definitions,
            inside: &inside,
            given,
            known: FxHashMap::default(),
            makings: &self.context.makings,
        };
        let mut saved = Vec::new();
        let mut again: FxHashSet<usize> = FxHashSet::default();
        for var in needed {
            if cheap.is_cheap(var) {
                cheap.statements_for(var, &mut again);
            } else if !saved.contains(&var) {
                saved.push(var);
            }
        }
        let mut again: Vec<usize> = again.into_iter().collect();
        again.sort_unstable();
        for statement in again.iter().map(|at| &forward[*at]) {
            let is_float = |ty: &Type| matches!(ty, Type::Prim(prim) if prim.is_float());
            if statement.binders.iter().any(|binder| is_float(&binder.ty))
                && !matches!(statement.op, Op::Copy(_) | Op::Index { .. })
            {
                self.context.note(statement.span, NoteKind::Recomputed);
            }
        }
        Needs { saved, again: again.into_iter().map(|at| forward[at].clone()).collect() }
    }

    /// Whether all iterations give the array the same shape, as far as can be seen: its sizes come from outside.
    pub(super) fn is_regular(&self, var: Var, forward: &[Statement], moving: &[(Var, Atom)], assumed: &mut Vec<Var>) -> bool {
        let is_outside = |atom: &Atom| match atom {
            Atom::Const(_) => true,
            Atom::Var(var) => {
                !forward.iter().any(|statement| statement.binders.iter().any(|binder| binder.var == *var))
                    && !moving.iter().any(|(carry, _)| carry == var)
            }
        };
        if self.context.var_type(var).rank() == 0 || assumed.contains(&var) || is_outside(&Atom::Var(var)) {
            return true;
        }
        assumed.push(var);
        if let Some((_, next)) = moving.iter().find(|(carry, _)| *carry == var) {
            let Atom::Var(next) = next else { return true };
            return self.is_regular(*next, forward, moving, assumed);
        }
        let Some(statement) = forward.iter().find(|statement| statement.binders.iter().any(|binder| binder.var == var)) else {
            return false;
        };
        let mut same = |atom: &Atom| match atom {
            Atom::Var(var) => self.is_regular(*var, forward, moving, assumed),
            Atom::Const(_) => true,
        };
        let known = |sizes: &[Size]| sizes.iter().all(|size| matches!(size, Size::Known(atom) if is_outside(atom)));
        match &statement.op {
            Op::Copy(atoms) => {
                let at = statement.binders.iter().position(|binder| binder.var == var).unwrap_or(0);
                atoms.get(at).is_some_and(same)
            }
            Op::Build { space, inner, .. } => {
                let at = statement.binders.iter().position(|binder| binder.var == var).unwrap_or(0);
                space.iter().all(|axis| is_outside(&axis.size)) && inner.get(at).is_none_or(|sizes| known(sizes))
            }
            Op::Update { array, .. } | Op::Index { array, .. } | Op::Transpose { array, .. } => same(array),
            Op::Slice { array, dims } => {
                let counts = dims.iter().all(|dim| match dim {
                    SliceDim::Index(_) => true,
                    SliceDim::Range { count, .. } => is_outside(count),
                });
                counts && same(array)
            }
            Op::Reshape { dims, .. } => dims.iter().all(is_outside),
            Op::Hist { dest, .. } | Op::Scatter { dest, .. } => dest.iter().all(same),
            Op::ArrayLiteral { elements, .. } => elements.iter().all(same),
            Op::Loop(parts) => {
                let at = statement.binders.iter().position(|binder| binder.var == var).unwrap_or(0);
                let emits = statement.binders.len() - parts.emits.len();
                let (LoopForm::For { index, bound }, Some(emit)) = (&parts.form, at.checked_sub(emits)) else { return false };
                let Some(Atom::Var(value)) = parts.body.results.get(parts.carry.len() + emit) else { return is_outside(bound) };
                if self.context.var_type(*value).rank() == 0 {
                    return is_outside(bound);
                }
                let inner = [forward, &parts.body.statements].concat();
                let state = parts.carry.iter().map(|binder| binder.var).zip(parts.body.results.iter().cloned());
                let own = state.chain([(index.var, Atom::Var(index.var))]);
                let moving: Vec<(Var, Atom)> = moving.iter().cloned().chain(own).collect();
                is_outside(bound) && self.is_regular(*value, &inner, &moving, assumed)
            }
            _ => false,
        }
    }
}

/// Decides what is cheaper to make again than to keep.
struct Cheap<'a> {
    forward: &'a [Statement],
    definitions: &'a FxHashMap<Var, usize>,
    inside: &'a FxHashSet<Var>,
    given: &'a [Var],
    known: FxHashMap<Var, bool>,
    makings: &'a Makings,
}

impl Cheap<'_> {
    fn atom(&mut self, atom: &Atom) -> bool {
        match atom {
            Atom::Const(_) => true,
            Atom::Var(var) => !self.inside.contains(var) || self.given.contains(var) || self.is_cheap(*var),
        }
    }

    /// A few additions or a load from an array that is there anyway.
    fn is_cheap(&mut self, var: Var) -> bool {
        if let Some(known) = self.known.get(&var) {
            return *known;
        }
        self.known.insert(var, false);
        let is_cheap = match self.definitions.get(&var).map(|at| &self.forward[*at]) {
            Some(statement) if statement.binders.len() == 1 || matches!(statement.op, Op::Build { .. }) => match &statement.op {
                Op::Prim(op, args) => op.is_light() && args.iter().all(|arg| self.atom(arg)),
                Op::Copy(atoms) => atoms.iter().all(|atom| self.atom(atom)),
                Op::Index { array, indices } => self.is_there(array) && indices.iter().all(|index| self.atom(index)),
                Op::Dim { array, .. } => self.is_outside(array),
                Op::Build { space, body, inner } => {
                    let sizes = inner.iter().flatten().all(|size| match size {
                        Size::Known(atom) => self.atom(atom),
                        Size::FromValue => false,
                    });
                    sizes && space.iter().all(|axis| self.atom(&axis.size)) && self.is_cheap_body(space, body)
                }
                _ => false,
            },
            _ => false,
        };
        self.known.insert(var, is_cheap);
        is_cheap
    }

    /// Whether each element of a build costs no more than reading it back: a few light operations on what is there anyway.
    fn is_cheap_body(&mut self, space: &[Axis], body: &Block) -> bool {
        const FEW: usize = 5;
        let mut local: FxHashSet<Var> = space.iter().map(|axis| axis.var).collect();
        if body.statements.len() > FEW {
            return false;
        }
        for statement in &body.statements {
            let mut at_hand = |atom: &Atom| matches!(atom, Atom::Var(var) if local.contains(var)) || self.atom(atom);
            let is_cheap = match &statement.op {
                Op::Prim(op, args) => op.is_light() && args.iter().all(at_hand),
                Op::Copy(atoms) => atoms.iter().all(at_hand),
                Op::Index { array, indices } => indices.iter().all(&mut at_hand) && self.is_there(array),
                _ => false,
            };
            if !is_cheap {
                return false;
            }
            local.extend(statement.binders.iter().map(|binder| binder.var));
        }
        body.results.iter().all(|result| matches!(result, Atom::Var(var) if local.contains(var)) || self.atom(result))
    }

    /// Whether the array comes from outside and can be had in the reverse pass for no more than its making. The state of a loop that is
    /// updated in place cannot: to keep it would be to keep all of it in every iteration.
    fn is_there(&self, array: &Atom) -> bool {
        self.is_outside(array) && matches!(array, Atom::Var(var) if self.makings.can_be_kept(*var))
    }

    fn is_outside(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if !self.inside.contains(var))
    }

    /// The statements that make a cheap variable.
    fn statements_for(&self, var: Var, found: &mut FxHashSet<usize>) {
        let Some(at) = self.definitions.get(&var) else { return };
        if !found.insert(*at) {
            return;
        }
        let used = op_free_variables(&self.forward[*at].op);
        used.into_iter().filter(|var| !self.given.contains(var)).for_each(|var| self.statements_for(var, found));
    }
}

/// What a recorded value is on the tape of a branch: as it is with a default for the other branches, or optional.
pub(super) fn has_default(ty: &Type) -> bool {
    super::Context::is_flat(ty)
}
