//! Reverse application to sums that are collected in accumulators, as a derivative inside a derivative has them: whatever was added at a
//! place gets the cotangent that the place has in the end.

use super::backward::{Backward, Flow};
use super::maps::Accumulators;
use crate::reverse::{Cotangent, Cotangents};
use chadwick_core::{Atom, Binder, Block, Op, Statement, Var};
use chadwick_source::Span;

impl Backward<'_, '_> {
    pub(super) fn accumulators(&mut self, sums: &Accumulators, flow: Flow, cotangents: &mut Cotangents, span: Span) {
        let Some(statement) = self.forward.pop() else { return };
        let Op::WithAccumulators { init, .. } = &statement.op else { return };
        let mut parts = flow.parts(statement.binders.len());
        let results = parts.split_off(sums.handles.len().min(parts.len()));
        let mut finals = Vec::new();
        for ((handle, part), binder) in sums.handles.iter().zip(parts).zip(&statement.binders) {
            let value = self.value_or_zero(part, &Atom::Var(binder.var), span);
            self.collector.set_final(handle.var, value.clone());
            finals.push(value);
        }
        self.context().b.push_block();
        let forward = self.block(&sums.body, &[], Flow::tuple(results), cotangents, span);
        let dual = self.context().b.pop_block(Vec::new());
        // The reverse pass stands outside the block: what it reads of the block becomes a result.
        let needs = self.context().needs(&forward, &dual, &[], &[]);
        let types: Vec<_> = needs.saved.iter().map(|var| self.context().var_type(*var)).collect();
        let kept: Vec<Binder> = types.into_iter().map(|ty| self.context().fresh("kept", ty)).collect();
        let replace: Vec<(Var, Atom)> = needs.saved.iter().zip(&kept).map(|(var, kept)| (*var, Atom::Var(kept.var))).collect();
        let whole = Block { statements: [needs.again, dual.statements].concat(), results: Vec::new() };
        let (copy, names) = self.context().copy_block_with(&whole, replace);
        copy.statements.into_iter().for_each(|statement| self.context().push_statement(statement));
        for cotangent in cotangents.values_mut() {
            if let Cotangent::Value(Atom::Var(var)) = cotangent
                && let Some(renamed) = names.get(var)
            {
                *cotangent = Cotangent::Value(renamed.clone());
            }
        }
        for (map, value) in sums.initial.iter().zip(finals) {
            self.push(map, Flow::Value(value), cotangents, span);
        }
        let saved = needs.saved.iter().map(|var| Atom::Var(*var)).collect();
        let body = Block { statements: forward, results: [sums.body.results.clone(), saved].concat() };
        let op = Op::WithAccumulators { handles: sums.handles.clone(), init: init.clone(), body };
        self.forward = vec![Statement { binders: [statement.binders.clone(), kept].concat(), op, span }];
    }
}
