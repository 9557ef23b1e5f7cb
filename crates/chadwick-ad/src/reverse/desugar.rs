//! Array forms without a rule of their own become loops, whose rule is general: an operator is applied in order, a histogram or scatter
//! updates its destination in place, and the dual undoes it step by step.

use super::Reverse;
use crate::context::Context;
use crate::report::NoteKind;
use chadwick_core::{Atom, Binder, Op, Statement};

impl Reverse<'_, '_> {
    /// The statement as a loop, if it has no rule of its own. Only active statements are rewritten.
    pub(super) fn desugar(&mut self, statement: &Statement) -> Option<Vec<Statement>> {
        let span = statement.span;
        if !statement.binders.iter().any(|binder| self.is_active(&Atom::Var(binder.var))) {
            return None;
        }
        match &statement.op {
            Op::Loop(parts) => self.stripmined(statement, parts),
            Op::Reduce { space, op, neutral, body, .. } if !op.is_addition() => {
                let selection = self.selection(statement, space, op, neutral, body);
                selection.or_else(|| {
                    self.context.note(span, NoteKind::Sequential("reduction"));
                    Some(self.looped(|context, made| context.fold_loop(statement, space, op, neutral, body, false, made, span)))
                })
            }
            Op::Scan { axis, op, neutral, body } if !op.is_addition() => {
                self.context.note(span, NoteKind::Sequential("scan"));
                Some(self.looped(|context, made| {
                    context.fold_loop(statement, std::slice::from_ref(axis), op, neutral, body, true, made, span)
                }))
            }
            Op::Hist { space, dest, rank, op, body, .. } if !op.is_addition() => {
                self.context.note(span, NoteKind::Sequential("histogram"));
                Some(self.looped(|context, made| context.write_loop(statement, space, dest, *rank, Some(op), body, made, span)))
            }
            Op::Scatter { space, dest, rank, body } => {
                self.context.note(span, NoteKind::Sequential("scatter"));
                Some(self.looped(|context, made| context.write_loop(statement, space, dest, *rank, None, body, made, span)))
            }
            _ => None,
        }
    }

    /// Makes a loop and marks the variables that hold its state.
    fn looped(&mut self, make: impl FnOnce(&mut Context, &mut Vec<Binder>) -> Vec<Statement>) -> Vec<Statement> {
        let mut made = Vec::new();
        let statements = make(self.context, &mut made);
        made.iter().for_each(|binder| self.mark(binder));
        statements
    }

    fn mark(&mut self, binder: &Binder) {
        if self.context.carries(&binder.ty) {
            self.active.insert(binder.var);
        }
    }
}
