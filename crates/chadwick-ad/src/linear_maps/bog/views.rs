//! Records of what moves elements without computing: slices, updates, transposed, reshaped and joined arrays. A record is the places.

use super::{Bog, Cotangent, Cotangents};
use crate::context::Context;
use chadwick_core::{Atom, BinaryOp, Op, PathStep, SliceDim, Type};
use chadwick_source::Span;

/// The numbers that say which part of an array is meant.
fn places(dims: &[SliceDim]) -> Vec<Atom> {
    let of = |dim: &SliceDim| match dim {
        SliceDim::Index(at) => vec![at.clone()],
        SliceDim::Range { start, count, stride } => vec![start.clone(), count.clone(), stride.clone()],
    };
    dims.iter().flat_map(of).collect()
}

/// The same part of an array, with the numbers from a record, and what else the record has.
fn restored(dims: &[SliceDim], record: Vec<Atom>) -> Option<(Vec<SliceDim>, Vec<Atom>)> {
    let mut record = record.into_iter();
    let mut restored = Vec::new();
    for dim in dims {
        restored.push(match dim {
            SliceDim::Index(_) => SliceDim::Index(record.next()?),
            SliceDim::Range { .. } => SliceDim::Range { start: record.next()?, count: record.next()?, stride: record.next()? },
        });
    }
    Some((restored, record.collect()))
}

impl Bog<'_, '_> {
    /// The types of the record of such an operation; nothing if it is another one.
    pub(super) fn view_layout(&self, op: &Op) -> Option<Vec<Type>> {
        let numbers = |count: usize| vec![Type::I64; count];
        Some(match op {
            Op::Slice { array, dims } => [numbers(places(dims).len()), self.zero_layout(&self.type_of(array))].concat(),
            // The zero of what is not a number has the constructor of the value that was there.
            Op::Update { array, dims, value } => {
                let old = (!Context::is_flat(&self.type_of(array))).then(|| self.type_of(value).any_sizes());
                numbers(places(dims).len()).into_iter().chain(old).collect()
            }
            Op::Transpose { .. } => Vec::new(),
            Op::Reshape { array, .. } => numbers(self.type_of(array).rank()),
            Op::Concat { arrays } => numbers(arrays.len()),
            _ => return None,
        })
    }

    pub(super) fn view_record(&mut self, op: &Op, span: Span) -> Vec<Atom> {
        let length = |this: &mut Self, array: &Atom, axis| this.context.emit_one(Op::Dim { array: array.clone(), axis }, span);
        match op {
            Op::Slice { array, dims } => [places(dims), self.zero_values(array, span)].concat(),
            Op::Update { array, dims, .. } => {
                let is_flat = Context::is_flat(&self.type_of(array));
                let old = (!is_flat).then(|| self.context.emit_one(Op::part(array.clone(), dims.to_vec()), span));
                places(dims).into_iter().chain(old).collect()
            }
            Op::Reshape { array, .. } => (0..self.type_of(array).rank()).map(|axis| length(self, array, axis)).collect(),
            Op::Concat { arrays } => arrays.iter().map(|array| length(self, array, 0)).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn reverse_view(
        &mut self,
        op: &Op,
        incoming: Atom,
        record: Vec<Atom>,
        cotangents: &mut Cotangents,
        span: Span,
    ) -> Option<()> {
        match op {
            Op::Slice { array, dims } => {
                let (dims, sizes) = restored(dims, record)?;
                let Atom::Var(var) = array else { return Some(()) };
                if let Some(Cotangent::Handle(handle)) = cotangents.get(var) {
                    let op = Op::Accumulate { handle: handle.clone(), path: vec![PathStep::Slice(dims)], value: incoming };
                    self.context.b.push(op, Vec::new(), span);
                    return Some(());
                }
                let zero = self.zero(&self.context.var_type(*var), &sizes, span);
                let whole = self.context.emit_one(Op::Update { array: zero, dims, value: incoming }, span);
                self.bind(cotangents, array, whole, span);
            }
            Op::Update { array, dims, value } => {
                let (dims, old) = restored(dims, record)?;
                let new = self.context.emit_one(Op::part(incoming.clone(), dims.clone()), span);
                // A part that is a view would keep the array from being changed in place.
                let new = if self.type_of(&new).rank() > 0 { self.context.copied(new, span) } else { new };
                let zero = self.context.zero_like(old.first().unwrap_or(&new), span);
                let rest = self.context.emit_one(Op::Update { array: incoming, dims, value: zero }, span);
                self.bind(cotangents, value, new, span);
                self.bind(cotangents, array, rest, span);
            }
            Op::Transpose { array, permutation } => {
                let place = |axis| permutation.iter().position(|from| *from == axis);
                let permutation = (0..permutation.len()).filter_map(place).collect();
                let back = self.context.emit_one(Op::Transpose { array: incoming, permutation }, span);
                self.bind(cotangents, array, back, span);
            }
            Op::Reshape { array, .. } => {
                let back = self.context.emit_one(Op::Reshape { array: incoming, dims: record }, span);
                self.bind(cotangents, array, back, span);
            }
            Op::Concat { arrays } => {
                let mut start = Atom::i64(0);
                for (array, count) in arrays.iter().zip(record) {
                    let dims = vec![SliceDim::Range { start: start.clone(), count: count.clone(), stride: Atom::i64(1) }];
                    let part = self.context.emit_one(Op::Slice { array: incoming.clone(), dims }, span);
                    self.bind(cotangents, array, part, span);
                    start = self.context.i64_op(BinaryOp::Add, start, count, span);
                }
            }
            _ => {}
        }
        Some(())
    }
}
