//! Slices, which are gathers, and updates, which are selections between the old and the new.

use super::super::term::{Elementwise, IndexFunction, Name, Reads, Tree, build, elementwise, gather, index, index_var, integer};
use super::{Converter, select};
use chadwick_core::{Atom, BinaryOp, CompareOp, Const, MessagePart, Op, Prim, PrimOp, SliceDim};
use chadwick_source::Span;
use std::rc::Rc;

fn arithmetic(op: BinaryOp, left: Tree, right: Tree) -> Tree {
    elementwise(Elementwise::Prim(PrimOp::Binary(op, Prim::I64)), vec![left, right])
}

fn test(op: CompareOp, left: Tree, right: Tree) -> Tree {
    elementwise(Elementwise::Prim(PrimOp::Compare(op, Prim::I64)), vec![left, right])
}

fn both(left: Tree, right: Tree) -> Tree {
    elementwise(Elementwise::Prim(PrimOp::Binary(BinaryOp::And, Prim::Bool)), vec![left, right])
}

impl Converter<'_, '_, '_> {
    pub(super) fn slice(&mut self, array: &Atom, dims: &[SliceDim], span: Span) -> Option<Tree> {
        let base = self.atom(array, span)?;
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
        shape.extend(base.shape.iter().skip(dims.len()).cloned());
        Some(gather(shape, base, IndexFunction { params, indices }, self.reads()))
    }

    /// The array is made anew, as all arrays are here.
    pub(super) fn update(&mut self, array: &Atom, dims: &[SliceDim], value: &Atom, span: Span) -> Option<Tree> {
        if self.conditional {
            return self.refuse(span, "an update in a branch");
        }
        let (old, new) = (self.atom(array, span)?, self.atom(value, span)?);
        let axes: Vec<(Name, Atom)> =
            old.shape.iter().take(dims.len()).map(|extent| (self.names.fresh(), extent.clone())).collect();
        let mut is_new: Option<Tree> = None;
        let mut places = Vec::new();
        for (dim, (name, extent)) in dims.iter().zip(&axes) {
            let at = index_var(*name);
            let here = match dim {
                SliceDim::Index(place) => {
                    self.require_in_range(place, extent, span)?;
                    test(CompareOp::Equal, at, integer(place.clone()))
                }
                SliceDim::Range { start, count, stride: Atom::Const(Const::I64(stride)) } if *stride != 0 => {
                    self.require_range_in_range(start, count, *stride, extent, span)?;
                    let from_start = arithmetic(BinaryOp::Sub, at, integer(start.clone()));
                    let stride = integer(Atom::i64(*stride));
                    let place = arithmetic(BinaryOp::Div, Rc::clone(&from_start), Rc::clone(&stride));
                    let rest = arithmetic(BinaryOp::Mod, from_start, stride);
                    let hit = test(CompareOp::Equal, rest, integer(Atom::i64(0)));
                    let low = test(CompareOp::LessEqual, integer(Atom::i64(0)), Rc::clone(&place));
                    let high = test(CompareOp::Less, Rc::clone(&place), integer(count.clone()));
                    places.push(place);
                    both(hit, both(low, high))
                }
                SliceDim::Range { .. } => return self.refuse(span, "an update with a stride that is not a constant"),
            };
            is_new = Some(match is_new {
                None => here,
                Some(before) => both(before, here),
            });
        }
        let Some(is_new) = is_new else { return Some(new) };
        let at = axes.iter().map(|(name, _)| index_var(*name)).collect();
        let kept = index(old, at, Reads::InRange);
        let written = if places.is_empty() { new } else { index(new, places, Reads::Total) };
        let element = select(&is_new, written, kept);
        Some(axes.into_iter().rev().fold(element, |row, (name, count)| build(count, name, row)))
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
