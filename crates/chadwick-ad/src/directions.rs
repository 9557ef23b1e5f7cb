//! `map (\e -> jvp f x e) es` is `jmp f x es`: a derivative inside a build whose function and point do not depend on the iteration has its
//! primal part in front of the build, once, and only the part that depends on the direction inside. The same for `vjp`.
//!
//! A build over nothing does not run the function, which might fail; so the primal part runs under the condition that there is an iteration,
//! and what is kept of it goes through slots, as out of a branch.

use crate::dependencies::Beside;
use crate::expand::{Expander, Prepared};
use crate::reverse::Reverse;
use crate::split::Split;
use crate::tape::Needs;
use chadwick_core::visit::{free_variables, lambda_free_variables, op_free_variables};
use chadwick_core::{Atom, Axis, BinaryOp, Block, CompareOp, Differentiate, Mode, Op, Prim, PrimOp, Size, Statement, Var};
use rustc_hash::FxHashSet;

impl Expander<'_> {
    /// A build with derivatives inside.
    pub(crate) fn build(&mut self, statement: &Statement, space: &[Axis], body: &Block, inner: &[Vec<Size>]) {
        let mut inside: FxHashSet<Var> = space.iter().map(|axis| axis.var).collect();
        inside.extend(body.statements.iter().flat_map(|statement| &statement.binders).map(|binder| binder.var));
        let mut in_front = Vec::new();
        self.context.b.push_block();
        for statement in &body.statements {
            match &statement.op {
                Op::Differentiate(parts) if self.is_split(parts.mode) && is_fixed(parts, &inside) => {
                    match self.prepared(parts, statement.span) {
                        Some(Prepared::Ready(parts)) => self.many_directions(statement, &parts, space, &mut in_front),
                        Some(Prepared::Waits(parts)) => self.leave(statement, parts),
                        None => {}
                    }
                }
                _ => self.statement(statement),
            }
        }
        let body = self.context.b.pop_block(body.results.clone());
        in_front.into_iter().for_each(|statement| self.context.push_statement(statement));
        let op = Op::Build { space: space.to_vec(), body, inner: inner.to_vec() };
        self.context.push_statement(Statement { op, ..statement.clone() });
    }

    fn many_directions(&mut self, statement: &Statement, parts: &Differentiate, space: &[Axis], in_front: &mut Vec<Statement>) {
        let span = statement.span;
        let lambda = self.context.copy_lambda(&parts.function);
        let arguments = lambda.params.iter().zip(&parts.args);
        let mut primal: Vec<Statement> = arguments
            .map(|(param, arg)| Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg.clone()]), span })
            .collect();
        let (results, own) = match parts.mode {
            Mode::Vjp => {
                let reverse = Reverse::new(&mut self.context, &mut self.reverse, &lambda);
                let (results, forward, dual) = reverse.split_gradient(&lambda, &parts.seeds, span);
                primal.extend(forward);
                (results, dual)
            }
            _ => {
                self.context.b.push_block();
                let mut functions = std::mem::take(&mut self.split);
                let forward = self.with_seeds(&lambda, &parts.seeds, Beside::Tangent, span);
                let wanted = vec![true; lambda.results.len()];
                let (forward, tangents) = Split::new(forward, &mut functions).block(&lambda.body, &wanted);
                self.split = functions;
                primal.extend(forward);
                (lambda.body.results.clone(), self.context.b.pop_block(tangents))
            }
        };
        let results = if parts.with_primal { [results, own.results].concat() } else { own.results };
        let own = Block { statements: own.statements, results };
        // Names and sizes of what is there anyway need no condition, and are known better without one.
        let mut bound: FxHashSet<Var> = primal.iter().flat_map(|statement| &statement.binders).map(|binder| binder.var).collect();
        primal.retain(|statement| {
            let free = matches!(statement.op, Op::Copy(_) | Op::Dim { .. });
            let is_there = free && !op_free_variables(&statement.op).iter().any(|var| bound.contains(var));
            if is_there {
                statement.binders.iter().for_each(|binder| {
                    bound.remove(&binder.var);
                });
                in_front.push(statement.clone());
            }
            !is_there
        });
        // All of it is kept: it is there once, whatever the number of directions.
        let saved = free_variables(&own).into_iter().filter(|var| bound.contains(var)).collect();
        let needs = Needs { saved, again: Vec::new() };
        let nothing = Needs { saved: Vec::new(), again: Vec::new() };
        let both = [needs, nothing];
        let slots = self.context.slots(&both);
        let [needs, nothing] = both;
        self.context.b.push_block();
        let mut condition = Atom::bool(true);
        for axis in space {
            let args = vec![Atom::i64(0), axis.size.clone()];
            let some = self.context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), args, span);
            condition = match condition {
                Atom::Const(_) => some,
                before => self.context.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![before, some], span),
            };
        }
        let then = self.context.filled(&primal, &[], &needs, &slots, span);
        let otherwise = self.context.filled(&[], &[], &nothing, &slots, span);
        let binders = slots.iter().map(|slot| slot.binder.clone()).collect();
        self.context.push_statement(Statement { binders, op: Op::If { condition, then, otherwise }, span });
        in_front.extend(self.context.b.pop_block(Vec::new()).statements);
        let (_, own) = self.context.emptied(&[], own, &needs, &slots, span);
        own.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
        self.bind(&statement.binders, own.results, span);
    }
}

/// Whether function and point are the same in every iteration; `inside` are the variables that are not.
fn is_fixed(parts: &Differentiate, inside: &FxHashSet<Var>) -> bool {
    let varies = |atom: &Atom| matches!(atom, Atom::Var(var) if inside.contains(var));
    matches!(parts.mode, Mode::Jvp | Mode::Vjp)
        && !parts.args.iter().any(varies)
        && !lambda_free_variables(&parts.function).iter().any(|var| inside.contains(var))
}
