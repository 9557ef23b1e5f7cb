//! Logs: rows that are appended in the order of evaluation and become arrays when the log is closed.

use crate::array::ArrayBuilder;
use crate::code::{Code, List, Operand, Register};
use crate::error::{Outcome, malformed};
use crate::machine::Machine;
use crate::value::Value;
use chadwick_core::Const;

/// A log under construction.
#[derive(Default)]
pub(crate) struct OpenLog {
    columns: Vec<ArrayBuilder>,
    /// The number of the next row.
    next: i64,
}

impl Machine {
    pub(crate) fn open_log(&mut self, code: &Code, base: usize, columns: u32, start: Operand, handle: Register) -> Outcome<()> {
        let Value::Scalar(Const::I64(next)) = self.fetch(code, base, start) else { return malformed("a log without a start") };
        let Some(elements) = code.logs.get(columns as usize) else { return malformed("a missing log") };
        let limit = self.memory_limit;
        let columns = elements.iter().map(|element| ArrayBuilder::new(None, element, &[], 0, limit));
        let columns = columns.collect::<Outcome<Vec<ArrayBuilder>>>()?;
        let number = Value::Scalar(Const::I64(self.logs.len() as i64));
        self.logs.push(OpenLog { columns, next });
        self.set(base, handle, number);
        Ok(())
    }

    pub(crate) fn close_log(&mut self, code: &Code, base: usize, dst: List) -> Outcome<()> {
        let Some(log) = self.logs.pop() else { return malformed("no open log") };
        let columns = log.columns.into_iter().map(ArrayBuilder::finish).collect::<Outcome<Vec<Value>>>()?;
        columns.iter().for_each(|column| self.count_array(column));
        self.set_all(code, base, dst, columns)
    }

    pub(crate) fn append_to_log(&mut self, code: &Code, base: usize, handle: Operand, row: List, dst: Register) -> Outcome<()> {
        self.counters.logged_rows += 1;
        let Value::Scalar(Const::I64(handle)) = self.fetch(code, base, handle) else { return malformed("no log") };
        let limit = self.memory_limit;
        let Some(mut log) = self.logs.get_mut(handle as usize).map(std::mem::take) else {
            return malformed("a log that is closed");
        };
        let number = log.next;
        log.next += 1;
        for (column, operand) in log.columns.iter_mut().zip(code.list(row)) {
            column.push(self.fetch(code, base, *operand), limit)?;
        }
        if let Some(place) = self.logs.get_mut(handle as usize) {
            *place = log;
        }
        self.set(base, dst, Value::Scalar(Const::I64(number)));
        Ok(())
    }
}
