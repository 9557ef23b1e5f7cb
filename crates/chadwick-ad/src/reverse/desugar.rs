//! Array forms without a rule of their own become loops, whose rule is general: an operator is applied in order, a histogram or scatter
//! updates its destination in place, and the dual undoes it step by step. A long reduction or scan becomes a build of such loops, one for
//! each chunk, so that its dual runs in chunks too.

use super::Reverse;
use crate::context::Context;
use crate::report::NoteKind;
use chadwick_core::chunks::{Combination, Elements};
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Binder, Block, Op, Statement, Var};

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
                selection.or_else(|| Some(self.combination(statement)))
            }
            Op::Scan { op, .. } if !op.is_addition() => Some(self.combination(statement)),
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

    /// A reduction or scan by a general operator. Chunks need a neutral element that stays as it is, and nothing gains by them where
    /// iterations around are independent already.
    fn combination(&mut self, statement: &Statement) -> Vec<Statement> {
        let span = statement.span;
        let Some(form) = Combination::of(&statement.op) else { return vec![statement.clone()] };
        let fixed = !form.neutral.iter().any(|neutral| self.is_active(neutral)) && !self.context.has_effects(&statement.op);
        if !fixed && self.parallel_depth == 0 {
            self.context.note(span, NoteKind::Sequential(if form.is_scan { "scan" } else { "reduction" }));
        }
        if !fixed || self.parallel_depth > 0 || form.stays_whole() {
            return self.fold(statement, &form);
        }
        let inputs: Vec<Var> =
            op_free_variables(&statement.op).into_iter().filter(|var| self.is_active(&Atom::Var(*var))).collect();
        let own: Vec<Binder> = statement.binders.iter().map(|binder| self.context.fresh("", binder.ty.any_sizes())).collect();
        own.iter().for_each(|binder| self.mark(binder));
        let results = own.iter().map(|binder| Atom::Var(binder.var)).collect();
        let alone = Statement { binders: own, op: statement.op.clone(), span };
        let sequential = Block { statements: self.fold(&alone, &form), results };
        self.context.b.push_block();
        self.context.b.set_span(span);
        let made = form.in_chunks(&mut self.context.b, Elements::Stored, statement.binders.clone(), sequential);
        let block = self.context.b.pop_block(Vec::new());
        if let Err(problem) = made {
            self.context.untyped(&problem, span);
        }
        let active = self.context.active_variables(&block, inputs, true);
        self.active.extend(active);
        if !form.is_scan {
            for (binder, neutral) in statement.binders.iter().zip(form.neutral) {
                if let Atom::Var(neutral) = neutral
                    && let Some(shape) = self.context.shapes.get(neutral).cloned()
                {
                    self.context.shapes.insert(binder.var, shape);
                }
            }
        }
        block.statements
    }

    /// A reduction or scan in order: the state is combined with each element in turn.
    fn fold(&mut self, statement: &Statement, form: &Combination<'_>) -> Vec<Statement> {
        let Combination { space, op, neutral, body, is_scan } = *form;
        self.looped(|context, made| context.fold_loop(statement, space, op, neutral, body, is_scan, made, statement.span))
    }
}
