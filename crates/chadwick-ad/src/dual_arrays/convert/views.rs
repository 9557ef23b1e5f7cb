//! Slices, which are gathers, and updates and scatters to different places, which overwrite a part of an array.

use super::super::term::{
    Elementwise, IndexFunction, Name, Reads, Shape, Tree, elementwise, gather, index, index_var, overwrite,
};
use super::Converter;
use chadwick_core::{Atom, Axis, BinaryOp, Block, CompareOp, MessagePart, Op, Prim, PrimOp, SliceDim, Var};
use chadwick_source::Span;
use rustc_hash::FxHashSet;
use std::rc::Rc;

fn arithmetic(op: BinaryOp, left: Tree, right: Tree) -> Tree {
    elementwise(Elementwise::Prim(PrimOp::Binary(op, Prim::I64)), vec![left, right])
}

/// Whether the points of a scatter are seen to go to different places: each index of a point is an index of its place, or moved by
/// what is the same for all points.
pub(super) fn are_distinct(space: &[Axis], rank: usize, body: &Block) -> bool {
    let places = &body.results[..rank.min(body.results.len())];
    let bound: FxHashSet<Var> =
        body.statements.iter().flat_map(|statement| &statement.binders).map(|binder| binder.var).collect();
    let is_same = |atom: &Atom| match atom {
        Atom::Const(_) => true,
        Atom::Var(var) => !bound.contains(var) && space.iter().all(|axis| axis.var != *var),
    };
    let is_moved = |place: &Atom, index: &Atom| {
        let made = body.statements.iter().find(|one| one.binders.iter().any(|binder| Atom::Var(binder.var) == *place));
        match made.map(|statement| &statement.op) {
            Some(Op::Prim(PrimOp::Binary(BinaryOp::Add | BinaryOp::Sub, Prim::I64), args)) => match args.as_slice() {
                [left, right] => (left == index && is_same(right)) || (right == index && is_same(left)),
                _ => false,
            },
            _ => false,
        }
    };
    space.iter().all(|axis| {
        let index = Atom::Var(axis.var);
        axis.size == Atom::i64(1) || places.iter().any(|place| *place == index || is_moved(place, &index))
    })
}

impl Converter<'_, '_, '_> {
    pub(super) fn slice(&mut self, array: &Atom, dims: &[SliceDim], span: Span) -> Option<Tree> {
        let base = self.atom(array, span)?;
        self.note_accesses(&base, dims, span)?;
        let (function, mut shape) = self.places(dims, span)?;
        shape.extend(base.shape.iter().skip(dims.len()).cloned());
        Some(gather(shape, base, function, self.reads()))
    }

    /// From the indices of a part of an array to those of the array, and the extents of the ranges.
    fn places(&mut self, dims: &[SliceDim], span: Span) -> Option<(IndexFunction, Shape)> {
        let (mut params, mut indices, mut shape) = (Vec::new(), Vec::new(), Vec::new());
        for dim in dims {
            match dim {
                SliceDim::Index(at) => indices.push(self.atom(at, span)?),
                SliceDim::Range { start, count, stride } => {
                    shape.push(self.extent(count, span)?);
                    let param = self.names.fresh();
                    params.push(param);
                    let step = match *stride == Atom::i64(1) {
                        true => index_var(param),
                        false => arithmetic(BinaryOp::Mul, index_var(param), self.atom(stride, span)?),
                    };
                    indices.push(match *start == Atom::i64(0) {
                        true => step,
                        false => arithmetic(BinaryOp::Add, self.atom(start, span)?, step),
                    });
                }
            }
        }
        Some((IndexFunction { params, indices }, shape))
    }

    /// In a branch nobody knows whether the update is wanted, so what is out of range is left out there.
    pub(super) fn update(&mut self, array: &Atom, dims: &[SliceDim], value: &Atom, span: Span) -> Option<Tree> {
        let (old, new) = (self.atom(array, span)?, self.atom(value, span)?);
        let is_total = self.conditional;
        self.note_accesses(&old, dims, span)?;
        for dim in dims.iter().filter(|dim| !is_total && !self.is_known_ahead(dim)).collect::<Vec<_>>() {
            if matches!(dim, SliceDim::Range { .. }) {
                return self.refuse(span, "an update of a range that is computed from the inputs or inside a parallel form");
            }
            if self.is_step {
                return self.refuse(span, "an update at a place that changes in a fold, which keeps all its states");
            }
        }
        let (at, _) = self.places(dims, span)?;
        Some(overwrite(old, at, new, is_total))
    }

    /// Whether a place depends on no input and on no index, so that it is the same for all iterations.
    fn is_known_ahead(&self, dim: &SliceDim) -> bool {
        match dim {
            SliceDim::Index(place) => self.is_plain_atom(Some(place)),
            SliceDim::Range { start, count, stride } => [start, count, stride].iter().all(|atom| self.is_plain_atom(Some(atom))),
        }
    }

    /// A scatter to different places overwrites them; what is out of range is left out.
    pub(super) fn scatter(&mut self, space: &[Axis], dest: &[Atom], rank: usize, body: &Block, span: Span) -> Option<Vec<Tree>> {
        let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
        let made: Vec<Tree> = self.build(space, body, span)?.into_iter().map(|tree| self.bound(tree)).collect();
        let (places, values) = made.split_at(rank.min(made.len()));
        let mut results = Vec::new();
        for (dest, value) in self.atoms(dest, span)?.into_iter().zip(values) {
            let params: Vec<Name> = axes.iter().map(|_| self.names.fresh()).collect();
            let at: Vec<Tree> = params.iter().map(|param| index_var(*param)).collect();
            let own = |result: &Atom| axes.iter().position(|axis| *result == Atom::Var(*axis)).map(|axis| Rc::clone(&at[axis]));
            let place = |(place, result): (&Tree, &Atom)| {
                own(result).unwrap_or_else(|| index(Rc::clone(place), at.clone(), Reads::InRange))
            };
            let indices = places.iter().zip(&body.results).map(place).collect();
            results.push(overwrite(dest, IndexFunction { params, indices }, Rc::clone(value), true));
        }
        Some(results)
    }

    /// Emits a check that is made ahead of all that is computed here; where a build around has no elements it always holds.
    pub(super) fn require(&mut self, condition: Atom, message: Vec<MessagePart>, span: Span) {
        let mut holds = condition;
        for extent in self.around.clone() {
            let is_empty = self.context.prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), vec![extent, Atom::i64(0)], span);
            holds = self.context.prim(PrimOp::Binary(BinaryOp::Or, Prim::Bool), vec![holds, is_empty], span);
        }
        self.context.b.push(Op::Assert { condition: holds, message }, Vec::new(), span);
    }
}
