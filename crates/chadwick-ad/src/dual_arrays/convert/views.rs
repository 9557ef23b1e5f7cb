//! Slices, which are gathers, and updates and scatters to different places, which overwrite a part of an array.

use super::super::term::{
    Elementwise, IndexFunction, Name, Reads, Shape, Tree, elementwise, gather, index, index_var, iota, overwrite,
};
use super::Converter;
use chadwick_core::{Atom, Axis, BinaryOp, Block, CompareOp, Const, MessagePart, Op, Prim, PrimOp, SliceDim, Var};
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
        let (mut at, _) = self.places(dims, span)?;
        if !is_total {
            for ((dim, extent), place) in dims.iter().zip(&old.shape).zip(&mut at.indices) {
                if self.is_known_ahead(dim) {
                    self.require_dim_in_range(dim, extent, span)?;
                    continue;
                }
                if matches!(dim, SliceDim::Range { .. }) {
                    return self.refuse(span, "an update of a range that is computed from the inputs or inside a parallel form");
                }
                if self.is_step {
                    return self.refuse(span, "an update at a place that changes in a fold, which keeps all its states");
                }
                *place = self.checked(place, extent);
            }
        }
        Some(overwrite(old, at, new, is_total))
    }

    /// Whether a place depends on no input and on no index, so that it can be checked before anything is computed.
    fn is_known_ahead(&self, dim: &SliceDim) -> bool {
        match dim {
            SliceDim::Index(place) => self.is_plain_atom(Some(place)),
            SliceDim::Range { start, count, stride } => [start, count, stride].iter().all(|atom| self.is_plain_atom(Some(atom))),
        }
    }

    /// The same place, which is read from `0, 1, ..`: that fails as a read there would.
    fn checked(&mut self, place: &Tree, extent: &Atom) -> Tree {
        let all = self.bound(iota(extent.clone()));
        index(all, vec![Rc::clone(place)], self.reads())
    }

    fn require_dim_in_range(&mut self, dim: &SliceDim, extent: &Atom, span: Span) -> Option<()> {
        match dim {
            SliceDim::Index(place) => self.require_in_range(place, extent, span),
            SliceDim::Range { start, count, stride: Atom::Const(Const::I64(stride)) } if *stride != 0 => {
                self.require_range_in_range(start, count, *stride, extent, span)
            }
            SliceDim::Range { .. } => self.refuse(span, "an update with a stride that is not a constant"),
        }
    }

    fn require_in_range(&mut self, place: &Atom, extent: &Atom, span: Span) -> Option<()> {
        let compare = |op, left, right| (PrimOp::Compare(op, Prim::I64), vec![left, right]);
        let (low, high) =
            (compare(CompareOp::LessEqual, Atom::i64(0), place.clone()), compare(CompareOp::Less, place.clone(), extent.clone()));
        let [low, high] = [low, high].map(|(op, args)| self.context.prim(op, args, span));
        let inside = self.context.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![low, high], span);
        let message = vec![
            MessagePart::Text(String::from("index ")),
            MessagePart::Value(place.clone()),
            MessagePart::Text(String::from(" is out of bounds for an axis of length ")),
            MessagePart::Value(extent.clone()),
        ];
        self.require(inside, message, span);
        Some(())
    }

    /// The first and the last place, if there is any.
    fn require_range_in_range(&mut self, start: &Atom, count: &Atom, stride: i64, extent: &Atom, span: Span) -> Option<()> {
        // Of no elements, any place will do.
        let is_empty = self.context.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![count.clone(), Atom::i64(0)], span);
        let steps = self.context.i64_op(BinaryOp::Sub, count.clone(), Atom::i64(1), span);
        let way = self.context.i64_op(BinaryOp::Mul, steps, Atom::i64(stride), span);
        let last = self.context.i64_op(BinaryOp::Add, start.clone(), way, span);
        for place in [start.clone(), last] {
            let block = |atom: Atom| Block { statements: Vec::new(), results: vec![atom] };
            let op = Op::If { condition: is_empty.clone(), then: block(Atom::i64(0)), otherwise: block(place) };
            let place = self.context.emit_one(op, span);
            let room = self.context.i64_op(BinaryOp::Max, extent.clone(), Atom::i64(1), span);
            self.require_in_range(&place, &room, span)?;
        }
        Some(())
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
