//! Logs: columns that grow together, one row at a time, in the order of the program.

use super::arrays::scalar_of;
use super::forms::at_entry;
use super::{Array, Emitter, Handle, Value};
use crate::ir::*;
use crate::liveness::Deaths;
use chadwick_core::{Atom, Binder, Block, Prim, Statement, Type};

impl<'p> Emitter<'_, 'p> {
    pub(super) fn with_log(&mut self, statement: &'p Statement, handle: &Binder, start: &Atom, body: &'p Block, deaths: &Deaths) {
        let name = self.var_name(handle.var);
        let start = self.scalar(start);
        let ty = self.shared.layouts.ty(&handle.ty);
        let log = self.local(&name, ty);
        let types = match &handle.ty {
            Type::Log(log) => log.columns(),
            _ => Vec::new(),
        };
        self.push(Stm::OpenLog { log, columns: types.len(), start });
        self.set(handle.var, Value::Handle(Handle::Log(Exp::Local(log))));
        self.release_roots(at_entry(deaths, 0));
        let values = self.inline(body);
        let (own, results) = statement.binders.split_at(types.len().min(statement.binders.len()));
        let count = self.local(&format!("{name}_count"), Ty::Prim(Prim::I64));
        self.not_negative.insert(count);
        let mut columns = Vec::new();
        for (binder, ty) in own.iter().zip(&types) {
            let Type::Array(array) = ty else { continue };
            let elem = self.shared.layouts.elem(array);
            let name = self.var_name(binder.var);
            let (owner, data) = (self.local(&format!("{name}_owner"), Ty::Owner), self.local(&name, Ty::Data(elem)));
            columns.push(LogColumn { owner, data, elem });
        }
        self.push(Stm::CloseLog { log, count, columns: columns.clone() });
        for (binder, column) in own.iter().zip(&columns) {
            let (data, owner, dims) = (Exp::Local(column.data), Exp::Local(column.owner), vec![Exp::Local(count)]);
            self.set(binder.var, Value::Array(Array { elem: column.elem, data, owner, dims, strides: None }));
        }
        for (binder, value) in results.iter().zip(values) {
            self.set(binder.var, value);
        }
    }

    pub(super) fn append(&mut self, statement: &'p Statement, handle: &Atom, indices: &[Atom], values: &[Atom], deaths: &Deaths) {
        let Value::Handle(Handle::Log(log)) = self.value(handle) else { return };
        let mut uses = self.statement_uses(statement, deaths);
        let mut row: Vec<(Elem, Exp)> = indices.iter().map(|index| (Elem::Prim(Prim::I64), self.scalar(index))).collect();
        for value in values {
            let taken = self.take(value, &mut uses);
            let elem = match (&taken, self.atom_type(value)) {
                (Value::Sum(_, id), _) => Elem::Sum(*id),
                (_, Type::Prim(prim)) => Elem::Prim(prim),
                _ => Elem::Unit,
            };
            row.push((elem, scalar_of(&taken)));
        }
        let Some(binder) = statement.binders.first() else { return };
        let number = self.local(&self.var_name(binder.var), Ty::Prim(Prim::I64));
        let site = self.site();
        self.push(Stm::Append { log, row: number, values: row, site });
        self.set(binder.var, Value::Scalar(Exp::Local(number)));
    }
}
