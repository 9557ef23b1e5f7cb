//! Loops that keep every state they go through, for the way back.
//!
//! What a loop carries is built in the row of the record where it belongs, and carried as a view of that row, so nothing is copied but the
//! first state, and the last one if somebody needs it. The record has a row more than the loop has iterations, for the last state.

use super::{Array, Destination, Emitter, Uses, Value};
use crate::ir::*;
use chadwick_core::visit::for_each_binder;
use chadwick_core::{Atom, Binder, Block, Loop, Op, Size, Type, Var};
use rustc_hash::FxHashSet;

/// A carry whose states are the rows of an array.
pub(super) struct Record {
    pub carry: usize,
    /// Which of the emitted results it is.
    pub emitted: usize,
    /// The state after an iteration.
    next: Var,
    array: Array,
}

impl Record {
    fn row(&self, data: Exp) -> Array {
        Array { data, dims: self.array.dims[1..].to_vec(), ..self.array.clone() }
    }
}

impl<'p> Emitter<'_, 'p> {
    /// The carries of a loop of so many iterations that can be recorded without copies. Their first states are in their rows.
    pub(super) fn records(
        &mut self,
        the_loop: &'p Loop,
        emitted: &'p [Binder],
        count: &Exp,
        initial: &mut [Value],
    ) -> Vec<Record> {
        let mut records: Vec<Record> = Vec::new();
        let results = &the_loop.body.results;
        for (number, binder) in emitted.iter().enumerate() {
            let state = results.get(the_loop.carry.len() + number);
            let carry = the_loop.carry.iter().position(|carry| state == Some(&Atom::Var(carry.var)));
            let Some(carry) = carry.filter(|carry| records.iter().all(|record| record.carry != *carry)) else { continue };
            let (Value::Array(first), Atom::Var(next)) = (initial[carry].clone(), &results[carry]) else { continue };
            let (sizes, has_destination) = (&the_loop.emits[number], self.destinations.contains_key(&binder.var));
            if has_destination || first.strides.is_some() || !matches!(first.elem, Elem::Prim(_)) {
                continue;
            }
            let Some(built) = sizes_of_state(&the_loop.body, *next) else { continue };
            if !self.are_sizes(&first.dims, sizes) || !self.are_sizes(&first.dims, &built) {
                continue;
            }
            let name = self.var_name(binder.var);
            let rows = self.size_local("rows", Exp::Runtime("cw_saturated_plus", vec![count.clone(), Exp::i64(1)]));
            self.learn_not_negative(&rows);
            let room = self.allocate(&name, first.elem, [vec![rows], first.dims.clone()].concat());
            let array = Array { dims: [vec![count.clone()], first.dims.clone()].concat(), ..room };
            let record = Record { carry, emitted: number, next: *next, array };
            let row = record.row(record.array.data.clone());
            self.copy_elements(&row, &first);
            self.release(&initial[carry]);
            initial[carry] = Value::Array(row);
            self.retain(&initial[carry]);
            self.rooms.insert(binder.var, record.array.clone());
            records.push(record);
        }
        records
    }

    /// Whether these are the sizes, as far as is known.
    fn are_sizes(&mut self, dims: &[Exp], sizes: &[Size]) -> bool {
        dims.len() == sizes.len()
            && dims.iter().zip(sizes).all(|(dim, size)| match size {
                Size::Known(atom) => {
                    let size = self.scalar(atom);
                    let size = self.extent(&size);
                    self.same_size(dim, &size)
                }
                Size::FromValue => false,
            })
    }

    /// Tells the body where the next states go; returns those rows.
    pub(super) fn offer_next_rows(&mut self, records: &[Record], position: &Exp) -> Vec<Array> {
        let mut rows = Vec::new();
        for record in records {
            let dims = record.array.dims[1..].to_vec();
            let size = dims.iter().cloned().fold(Exp::i64(1), Exp::mul);
            let data = Exp::at(record.array.data.clone(), position.clone().add(Exp::i64(1)).mul(size));
            let data = self.pointer("row", record.array.elem, data);
            if let Exp::Local(local) = data {
                self.rows.insert(local, record.array.data.clone());
            }
            self.destinations.insert(record.next, Destination { data: data.clone(), dims, reshaped: false });
            rows.push(record.row(data));
        }
        rows
    }

    /// The state that the next iteration starts with, in its row.
    pub(super) fn next_state(&mut self, record: &Record, row: &Array, uses: &mut Uses) -> Value {
        let built = self.take_row_major(&Atom::Var(record.next), uses);
        if let Value::Array(array) = &built
            && array.data != row.data
        {
            self.copy_elements(row, array);
            self.release(&built);
        }
        let row = Value::Array(row.clone());
        self.retain(&row);
        row
    }

    /// The last state in memory of its own, since the record may be needed no more.
    pub(super) fn last_state(&mut self, state: Value) -> Value {
        let Value::Array(row) = &state else { return state };
        let copy = self.compact(row);
        self.release(&state);
        Value::Array(copy)
    }
}

/// The sizes of a state that the body builds from what is there before it, and then only reads.
fn sizes_of_state(body: &Block, next: Var) -> Option<Vec<Size>> {
    let is_once = body.results.iter().filter(|result| **result == Atom::Var(next)).count() == 1;
    let mut inside = FxHashSet::default();
    for_each_binder(body, &mut |var, _| {
        inside.insert(var);
    });
    let sizes = body.statements.iter().find_map(|statement| {
        let number = statement.binders.iter().position(|binder| binder.var == next)?;
        let Op::Build { space, inner, .. } = &statement.op else { return None };
        let inner = if inner.len() == statement.binders.len() { inner[number].clone() } else { Vec::new() };
        Some([space.iter().map(|axis| Size::Known(axis.size.clone())).collect(), inner].concat())
    })?;
    let is_before = |size: &Size| !matches!(size, Size::Known(Atom::Var(var)) if inside.contains(var));
    (is_once && sizes.iter().all(is_before) && is_only_read(body, next)).then_some(sizes)
}

/// Whether a block does nothing with an array but read its elements and sizes, and give it as a result.
fn is_only_read(block: &Block, array: Var) -> bool {
    block.statements.iter().all(|statement| {
        let reads = match &statement.op {
            Op::Index { .. } => statement.binders.iter().all(|binder| matches!(binder.ty, Type::Prim(_))),
            Op::Dim { .. } => true,
            _ => false,
        };
        let mut is_operand = false;
        statement.op.for_each_atom(&mut |atom| is_operand |= *atom == Atom::Var(array));
        let is_inside = |inner: &Block| is_only_read(inner, array) && !inner.results.contains(&Atom::Var(array));
        (reads || !is_operand) && statement.op.scopes().iter().all(|scope| is_inside(scope.block))
    })
}
