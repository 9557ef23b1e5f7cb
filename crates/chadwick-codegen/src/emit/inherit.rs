//! Arrays that take over the memory of another.
//!
//! A matrix, or an array with more axes, that is made element by element from one of its own shape which nobody needs afterwards is written
//! over that one. Chains of stages over one axis are left alone: where those can go tile by tile, they need no memory for whole arrays.

use super::{Array, Emitter, Value};
use crate::ir::*;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{ArrayType, Atom, Binder, Block, Element, Op, Statement, Type, Var};
use rustc_hash::FxHashMap;

impl<'p> Emitter<'_, 'p> {
    /// Names the array whose memory a result of a build can have if their shapes are the same: it dies in this loop, and is read only where
    /// the element that is made from it goes.
    pub(super) fn name_heir(&mut self, members: &'p [Statement], member: &'p Statement, binder: &Binder, result: &'p Atom) {
        if let Some(root) = self.predecessor(members, member, binder, result) {
            self.heirs.insert(binder.var, root);
        }
    }

    /// The memory that was left to a new array of these sizes, if any.
    pub(super) fn inherited(&mut self, var: Var, dims: &[Exp]) -> Option<Array> {
        let root = self.heirs.remove(&var)?;
        let Some(Value::Array(array)) = self.env.get(&root).cloned() else { return None };
        let same = array.dims.iter().zip(dims).all(|(left, right)| self.same_size(left, right));
        same.then(|| {
            self.moved.insert(root);
            array
        })
    }

    fn predecessor(&self, members: &'p [Statement], member: &'p Statement, binder: &Binder, result: &'p Atom) -> Option<Var> {
        let Op::Build { space, body, .. } = &member.op else { return None };
        let Type::Array(ArrayType { element: Element::Prim(prim), dims }) = &binder.ty else { return None };
        let mut place: Vec<Var> = space.iter().map(|axis| axis.var).collect();
        add_inner_axes(body, result, &mut place);
        if dims.len() < 2 || dims.len() != place.len() {
            return None;
        }
        let live = self.live;
        let dying = members.iter().filter_map(|member| live.deaths(member)).flat_map(|deaths| &deaths.after);
        dying.copied().find(|root| {
            let Some(Value::Array(array)) = self.env.get(root) else { return false };
            let fits = array.elem == Elem::Prim(*prim) && array.dims.len() == dims.len() && array.strides.is_none();
            fits && self.is_unshared(array)
                && !self.moved.contains(root)
                && members.iter().all(|other| std::ptr::eq(other, member) || !self.mentions(&other.op, *root))
                && Reads { emitter: self, root: *root, place: &place, parts: FxHashMap::default() }.are_in_place(body)
        })
    }

    fn mentions(&self, op: &Op, root: Var) -> bool {
        op_free_variables(op).into_iter().any(|var| self.live.root(var) == Some(root))
    }
}

/// The axes along which a result of the body is built, and those of its own elements.
fn add_inner_axes(body: &Block, result: &Atom, place: &mut Vec<Var>) {
    let Atom::Var(var) = result else { return };
    for statement in &body.statements {
        if let Op::Build { space, body, .. } = &statement.op
            && statement.binders.len() == body.results.len()
            && let Some(at) = statement.binders.iter().position(|binder| binder.var == *var)
            && let Some(result) = body.results.get(at)
        {
            place.extend(space.iter().map(|axis| axis.var));
            add_inner_axes(body, result, place);
        }
    }
}

struct Reads<'a, 's, 'p> {
    emitter: &'a Emitter<'s, 'p>,
    root: Var,
    /// The axes of an element.
    place: &'a [Var],
    /// Parts of the array, by how many axes have an index.
    parts: FxHashMap<Var, usize>,
}

impl Reads<'_, '_, '_> {
    /// Whether a body reads nothing of the array but the element at the place.
    fn are_in_place(&mut self, body: &Block) -> bool {
        body.statements.iter().all(|statement| match &statement.op {
            Op::Index { array: Atom::Var(var), indices } if self.is_of_root(*var) => {
                let start = if *var == self.root { Some(0) } else { self.parts.get(var).copied() };
                let Some(start) = start else { return false };
                let end = start + indices.len();
                let wanted = self.place.get(start..end);
                let is_own = wanted.is_some_and(|axes| indices.iter().zip(axes).all(|(index, axis)| *index == Atom::Var(*axis)));
                if let [binder] = statement.binders.as_slice() {
                    self.parts.insert(binder.var, end);
                }
                is_own
            }
            op => {
                let mut is_operand = false;
                op.for_each_atom(&mut |atom| is_operand |= matches!(atom, Atom::Var(var) if self.is_of_root(*var)));
                !is_operand && op.scopes().iter().all(|scope| self.are_in_place(scope.block))
            }
        }) && !body.results.iter().any(|atom| matches!(atom, Atom::Var(var) if self.is_of_root(*var)))
    }

    fn is_of_root(&self, var: Var) -> bool {
        self.emitter.live.root(var) == Some(self.root)
    }
}
