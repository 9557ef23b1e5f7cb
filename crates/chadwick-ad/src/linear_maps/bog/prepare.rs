//! Forms that are others in disguise: what runs side by side runs in order, a reduction by any operator is a loop, a sum begins with zero.

use super::Bog;
use chadwick_core::{Atom, BinaryOp, Binder, Block, Const, LoopForm, Op, PrimOp, Statement};

impl Bog<'_, '_> {
    /// The same block without these forms, in the blocks inside it too. Binders stay unique.
    pub(super) fn prepared(&mut self, block: Block) -> Block {
        let mut statements = Vec::new();
        for statement in block.statements {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.prepare(statement, &mut statements));
        }
        Block { statements, results: block.results }
    }

    fn prepare(&mut self, statement: Statement, statements: &mut Vec<Statement>) {
        let Statement { binders, op, span } = statement;
        match op {
            Op::Loop(parts) if matches!(parts.form, LoopForm::While { .. }) => {
                self.context.unsupported(span, "a loop with a condition, with a record of the forward pass");
            }
            Op::Par { left, right } => {
                let (left, right) = (self.prepared(left), self.prepared(right));
                statements.extend(left.statements.into_iter().chain(right.statements));
                let results = left.results.into_iter().chain(right.results).collect();
                statements.push(Statement { binders, op: Op::Copy(results), span });
            }
            Op::Recompute(block) => {
                let block = self.prepared(block);
                statements.extend(block.statements);
                statements.push(Statement { binders, op: Op::Copy(block.results), span });
            }
            Op::Reduce { space, op, neutral, body, commutative } => match op.is_addition() {
                false => {
                    let whole = Op::Reduce { space: space.clone(), op: op.clone(), neutral: neutral.clone(), body, commutative };
                    let statement = Statement { binders, op: whole, span };
                    let Op::Reduce { body, .. } = &statement.op else { return };
                    let made = &mut Vec::new();
                    let looped = self.context.fold_loop(&statement, &space, &op, &neutral, body, false, made, span);
                    statements.extend(self.prepared(Block { statements: looped, results: Vec::new() }).statements);
                }
                true => {
                    let body = self.prepared(body);
                    let (mut sums, mut zeros, mut last) = (Vec::new(), Vec::new(), Vec::new());
                    for (binder, neutral) in binders.into_iter().zip(&neutral) {
                        let (Some(prim), Atom::Var(_)) = (binder.ty.as_prim(), neutral) else {
                            zeros.push(neutral.clone());
                            sums.push(binder);
                            continue;
                        };
                        let sum: Binder = self.context.fresh("", binder.ty.clone());
                        let add = PrimOp::Binary(BinaryOp::Add, prim);
                        let op = Op::Prim(add, vec![neutral.clone(), Atom::Var(sum.var)]);
                        last.push(Statement { binders: vec![binder], op, span });
                        zeros.push(Atom::Const(Const::zero(prim)));
                        sums.push(sum);
                    }
                    let op = Op::Reduce { space, op, neutral: zeros, body, commutative };
                    statements.push(Statement { binders: sums, op, span });
                    statements.extend(last);
                }
            },
            op => {
                let op = op.map_blocks(&mut |block| self.prepared(block));
                statements.push(Statement { binders, op, span });
            }
        }
    }
}
