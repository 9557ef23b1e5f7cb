//! What is known of the shapes of arrays: sizes that a program states, and whether an array has the same shape in all iterations.

use crate::context::Context;
use chadwick_core::{
    Atom, Binder, Block, CompareOp, Const, Loop, LoopForm, Op, Prim, PrimOp, Size, SliceDim, Statement, Type, Var,
};
use rustc_hash::FxHashMap;

/// A variable that each iteration has its own of: a loop's state, or an index.
#[derive(Clone)]
pub struct Moving {
    pub var: Var,
    initial: Atom,
    next: Atom,
}

impl Moving {
    /// An index is a number, whose shape never changes.
    pub fn index(var: Var) -> Self {
        Moving { var, initial: Atom::Var(var), next: Atom::Var(var) }
    }

    pub fn all_of(parts: &Loop) -> Vec<Self> {
        let values = parts.initial.iter().zip(&parts.body.results);
        let state = parts.carry.iter().zip(values);
        let state =
            state.map(|(binder, (initial, next))| Moving { var: binder.var, initial: initial.clone(), next: next.clone() });
        let index = match &parts.form {
            LoopForm::For { index, .. } => Some(Moving::index(index.var)),
            LoopForm::While { .. } => None,
        };
        state.chain(index).collect()
    }
}

impl Context<'_> {
    /// Notes the sizes that a statement states for its results, so that no array need be asked for them.
    pub fn note_shapes(&mut self, statement: &Statement) {
        match &statement.op {
            Op::Loop(parts) => self.note_state_shapes(parts),
            Op::Recompute(block) => block.statements.iter().for_each(|statement| self.note_shapes(statement)),
            _ => {}
        }
        for (at, binder) in statement.binders.iter().enumerate().filter(|(_, binder)| binder.ty.rank() > 0) {
            let shape = |array: &Atom| match array {
                Atom::Var(var) => self.shapes.get(var).cloned().unwrap_or_default(),
                Atom::Const(_) => Vec::new(),
            };
            let shape: Vec<Option<Atom>> = match &statement.op {
                Op::Copy(atoms) => atoms.get(at).map(shape).unwrap_or_default(),
                Op::Build { space, inner, .. } => {
                    let outer = space.iter().map(|axis| Some(axis.size.clone()));
                    let inner = inner.get(at).into_iter().flatten().map(|size| match size {
                        Size::Known(atom) => Some(atom.clone()),
                        Size::FromValue => None,
                    });
                    outer.chain(inner).collect()
                }
                Op::Update { array, .. } => shape(array),
                Op::Index { array, indices } => shape(array).into_iter().skip(indices.len()).collect(),
                Op::Transpose { array, permutation } => {
                    let shape = shape(array);
                    permutation.iter().map(|axis| shape.get(*axis).cloned().flatten()).collect()
                }
                Op::Hist { dest, .. } | Op::Scatter { dest, .. } => dest.get(at).map(shape).unwrap_or_default(),
                Op::Scan { axis, .. } => vec![Some(axis.size.clone())],
                Op::Reshape { dims, .. } => dims.iter().cloned().map(Some).collect(),
                Op::Slice { array, dims } => {
                    let counts = dims.iter().filter_map(|dim| match dim {
                        SliceDim::Index(_) => None,
                        SliceDim::Range { count, .. } => Some(Some(count.clone())),
                    });
                    counts.chain(shape(array).into_iter().skip(dims.len())).collect()
                }
                Op::Recompute(block) => {
                    let inside = |var: &Var| block.statements.iter().flat_map(|it| &it.binders).any(|binder| binder.var == *var);
                    let shape = block.results.get(at).map(shape).unwrap_or_default();
                    shape.into_iter().map(|size| size.filter(|size| !matches!(size, Atom::Var(var) if inside(var)))).collect()
                }
                // A loop leaves its state with the sizes that it has in every iteration.
                Op::Loop(parts) if at < parts.carry.len() => shape(&Atom::Var(parts.carry[at].var)),
                Op::Loop(parts) => {
                    let emits = statement.binders.len() - parts.emits.len();
                    let (LoopForm::For { index, bound }, Some(sizes)) =
                        (&parts.form, at.checked_sub(emits).and_then(|emit| parts.emits.get(emit)))
                    else {
                        continue;
                    };
                    let length = Some(bound.clone()).filter(|_| index.ty == Type::I64);
                    let inner = sizes.iter().map(|size| match size {
                        Size::Known(atom) => Some(atom.clone()),
                        Size::FromValue => None,
                    });
                    std::iter::once(length).chain(inner).collect()
                }
                Op::ArrayLiteral { elements, .. } => {
                    let first = elements.first().map(shape).unwrap_or_default();
                    std::iter::once(Some(Atom::i64(elements.len() as i64))).chain(first).collect()
                }
                _ => continue,
            };
            // A negative number stands for a size that only the value knows.
            let is_known = |size: &Atom| !matches!(size, Atom::Const(Const::I64(..0)));
            self.shapes.insert(binder.var, shape.into_iter().map(|size| size.filter(is_known)).collect());
        }
    }

    /// Notes the sizes that a function asks its parameters for, and finds to be the same, before it does anything else. Those of other arrays
    /// stay unknown: they are there where the function is not.
    pub fn note_checked_sizes(&mut self, params: &[Binder], body: &Block) {
        let is_param = |var: &Var| params.iter().any(|param| param.var == *var);
        let mut comparisons: FxHashMap<Var, [Atom; 2]> = FxHashMap::default();
        for statement in &body.statements {
            let Some(binder) = statement.binders.first() else {
                let Op::Assert { condition: Atom::Var(condition), .. } = &statement.op else { return };
                let Some([kept, same]) = comparisons.get(condition) else { continue };
                for param in params {
                    let sizes = self.shapes.get_mut(&param.var).into_iter().flatten().flatten();
                    sizes.filter(|size| *size == same).for_each(|size| *size = kept.clone());
                }
                continue;
            };
            match &statement.op {
                Op::Dim { array: Atom::Var(array), .. } if !is_param(array) => {}
                Op::Dim { array: Atom::Var(array), axis } => {
                    let rank = self.var_type(*array).rank();
                    let shape = self.shapes.entry(*array).or_default();
                    shape.resize(rank, None);
                    shape[*axis].get_or_insert(Atom::Var(binder.var));
                }
                Op::Prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), args) => {
                    let Ok([left, right]) = <[Atom; 2]>::try_from(args.clone()) else { continue };
                    let is_literal = matches!(right, Atom::Const(_));
                    comparisons.insert(binder.var, if is_literal { [right, left] } else { [left, right] });
                }
                _ => return,
            }
        }
    }

    /// Notes the sizes of a loop's state, where every iteration leaves them as they are.
    pub fn note_state_shapes(&mut self, parts: &Loop) {
        let known = |context: &Self, atom: &Atom| match atom {
            Atom::Var(var) => context.shapes.get(var).cloned().unwrap_or_default(),
            Atom::Const(_) => Vec::new(),
        };
        let arrays: Vec<usize> = (0..parts.carry.len()).filter(|at| parts.carry[*at].ty.rank() > 0).collect();
        for at in &arrays {
            let (state, initial) = (&parts.carry[*at], known(self, &parts.initial[*at]));
            // Sizes that an earlier look found to change are not tried again.
            let shape = match self.shapes.get(&state.var) {
                Some(found) if !found.is_empty() => common(found, &initial),
                _ => initial,
            };
            self.shapes.insert(state.var, shape);
        }
        // What is wrong for one array may have made another one look right: all over again until nothing changes.
        loop {
            parts.body.statements.iter().for_each(|statement| self.note_shapes(statement));
            let mut is_right = true;
            for at in &arrays {
                let assumed = known(self, &Atom::Var(parts.carry[*at].var));
                let same = common(&assumed, &known(self, &parts.body.results[*at]));
                is_right &= same == assumed;
                self.shapes.insert(parts.carry[*at].var, same);
            }
            if is_right {
                return;
            }
        }
    }

    /// Whether all iterations give the array the same shape, as far as can be seen: its sizes come from outside.
    pub fn is_regular(&self, var: Var, forward: &[Statement], moving: &[Moving]) -> bool {
        let is_outside = |atom: &Atom| match atom {
            Atom::Const(_) => true,
            Atom::Var(var) => {
                !forward.iter().any(|statement| statement.binders.iter().any(|binder| binder.var == *var))
                    && !moving.iter().any(|moving| moving.var == *var)
            }
        };
        let rank = self.var_type(var).rank();
        if rank == 0 || is_outside(&Atom::Var(var)) {
            return true;
        }
        let same = |atom: &Atom| match atom {
            Atom::Var(var) => self.is_regular(*var, forward, moving),
            Atom::Const(_) => true,
        };
        if let Some(state) = moving.iter().find(|moving| moving.var == var) {
            let sizes = self.shapes.get(&var).map_or(&[][..], Vec::as_slice);
            let is_stated = sizes.len() == rank && sizes.iter().all(|size| size.as_ref().is_some_and(is_outside));
            return is_stated || (keeps_shape(&state.next, var, forward) && same(&state.initial));
        }
        let Some(statement) = forward.iter().find(|statement| statement.binders.iter().any(|binder| binder.var == var)) else {
            return false;
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
                let (LoopForm::For { bound, .. }, Some(emit)) = (&parts.form, at.checked_sub(emits)) else { return false };
                let Some(Atom::Var(value)) = parts.body.results.get(parts.carry.len() + emit) else { return is_outside(bound) };
                if self.var_type(*value).rank() == 0 {
                    return is_outside(bound);
                }
                let inner = [forward, &parts.body.statements].concat();
                let moving = [moving, &Moving::all_of(parts)].concat();
                is_outside(bound) && self.is_regular(*value, &inner, &moving)
            }
            _ => false,
        }
    }
}

/// The sizes of the first shape that the second one has too.
fn common(shape: &[Option<Atom>], other: &[Option<Atom>]) -> Vec<Option<Atom>> {
    let same = |(axis, size): (usize, &Option<Atom>)| size.clone().filter(|size| other.get(axis) == Some(&Some(size.clone())));
    shape.iter().enumerate().map(same).collect()
}

/// Whether a value has the shape of an array that it is made from by copies and changes of elements.
fn keeps_shape(value: &Atom, array: Var, forward: &[Statement]) -> bool {
    let Atom::Var(value) = value else { return false };
    let from = forward.iter().find_map(|statement| {
        let at = statement.binders.iter().position(|binder| binder.var == *value)?;
        match &statement.op {
            Op::Copy(atoms) => atoms.get(at),
            Op::Update { array, .. } => Some(array),
            Op::Hist { dest, .. } | Op::Scatter { dest, .. } => dest.get(at),
            _ => None,
        }
    });
    *value == array || from.is_some_and(|from| keeps_shape(from, array, forward))
}
