//! Slices, which are gathers, and updates, which overwrite a part of an array.

use super::super::term::{Elementwise, IndexFunction, Shape, Tree, elementwise, gather, index_var, overwrite};
use super::Converter;
use chadwick_core::{Atom, BinaryOp, CompareOp, Const, MessagePart, Op, Prim, PrimOp, SliceDim};
use chadwick_source::Span;

fn arithmetic(op: BinaryOp, left: Tree, right: Tree) -> Tree {
    elementwise(Elementwise::Prim(PrimOp::Binary(op, Prim::I64)), vec![left, right])
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
        if !is_total {
            for (dim, extent) in dims.iter().zip(&old.shape) {
                match dim {
                    SliceDim::Index(place) => self.require_in_range(place, extent, span)?,
                    SliceDim::Range { start, count, stride: Atom::Const(Const::I64(stride)) } if *stride != 0 => {
                        self.require_range_in_range(start, count, *stride, extent, span)?;
                    }
                    SliceDim::Range { .. } => return self.refuse(span, "an update with a stride that is not a constant"),
                }
            }
        }
        let (at, _) = self.places(dims, span)?;
        Some(overwrite(old, at, new, is_total))
    }

    fn require_in_range(&mut self, place: &Atom, extent: &Atom, span: Span) -> Option<()> {
        if matches!(place, Atom::Var(var) if !self.is_plain(*var)) {
            return self.refuse(span, "an update at a place that is computed from the inputs or inside a parallel form");
        }
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
        let all_plain = [start, count].into_iter().all(|atom| !matches!(atom, Atom::Var(var) if !self.is_plain(*var)));
        if !all_plain {
            return self.refuse(span, "an update at a place that is computed from the inputs or inside a parallel form");
        }
        // Of no elements, any place will do.
        let is_empty = self.context.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![count.clone(), Atom::i64(0)], span);
        let steps = self.context.i64_op(BinaryOp::Sub, count.clone(), Atom::i64(1), span);
        let way = self.context.i64_op(BinaryOp::Mul, steps, Atom::i64(stride), span);
        let last = self.context.i64_op(BinaryOp::Add, start.clone(), way, span);
        for place in [start.clone(), last] {
            let block = |atom: Atom| chadwick_core::Block { statements: Vec::new(), results: vec![atom] };
            let op = Op::If { condition: is_empty.clone(), then: block(Atom::i64(0)), otherwise: block(place) };
            let place = self.context.emit_one(op, span);
            let room = self.context.i64_op(BinaryOp::Max, extent.clone(), Atom::i64(1), span);
            self.require_in_range(&place, &room, span)?;
        }
        Some(())
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
