//! A function whose results have nothing in common is one for each result (`letLamPairSplit`). A call then asks only for those that it uses, and what
//! is called in one place only can be unfolded. Where results share what they are computed from, nothing is split.
//!
//! A function that does nothing but give a function is one of the arguments of both: a partial application does no work.

use super::{Rules, Unfolding};
use chadwick_core::typing::lambda_type;
use chadwick_core::visit::{Copier, op_free_variables};
use chadwick_core::{Atom, Binder, Block, Lambda, Op, Statement, Var};
use chadwick_source::Span;

impl Unfolding<'_> {
    /// A function that stays one, or becomes several.
    pub fn closure(&mut self, binders: Vec<Binder>, lambda: Lambda, span: Span, statements: &mut Vec<Statement>) {
        let lambda = match self.uncurry(&binders, lambda) {
            Ok((binder, lambda)) => {
                let lambda = Lambda { body: self.block(lambda.body), ..lambda };
                statements.push(Statement { binders: vec![binder], op: Op::Closure(lambda), span });
                return;
            }
            Err(lambda) => lambda,
        };
        let parts = match binders.as_slice() {
            [binder] if lambda.results.len() > 1 && self.uses.is_only_called(binder.var) => separate(&lambda.body),
            _ => None,
        };
        let (Some(parts), [binder]) = (parts, binders.as_slice()) else {
            let lambda = Lambda { body: self.block(lambda.body), ..lambda };
            statements.push(Statement { binders, op: Op::Closure(lambda), span });
            return;
        };
        let mut made = Vec::new();
        for (body, ty) in parts.into_iter().zip(&lambda.results) {
            let part = Lambda { params: lambda.params.clone(), results: vec![ty.clone()], body };
            // Each has parameters of its own.
            let part = Copier::new(self.program).lambda(&part);
            let name = self.program.var_names.get(binder.var.0 as usize).cloned().unwrap_or_default();
            let own = Binder { var: self.program.fresh(name), ty: lambda_type(&part) };
            made.push(Atom::Var(own.var));
            let part = Lambda { body: self.block(part.body), ..part };
            statements.push(Statement { binders: vec![own], op: Op::Closure(part), span });
        }
        self.parts.insert(binder.var, made);
        self.changed = true;
    }

    /// The function with the arguments of what it gives, and its name; if that cannot be, the function itself.
    fn uncurry(&mut self, binders: &[Binder], mut lambda: Lambda) -> Result<(Binder, Lambda), Lambda> {
        let [binder] = binders else { return Err(lambda) };
        let given = self.uses.applications.get(&binder.var);
        let is_called = self.uses.is_only_called(binder.var)
            && given.is_some_and(|given| given.iter().all(|given| self.uses.is_only_called(*given)));
        if self.rules != Rules::All || !is_called || !gives_a_function(&lambda.body) {
            return Err(lambda);
        }
        let Some(Statement { op: Op::Closure(inner), .. }) = lambda.body.statements.pop() else { return Err(lambda) };
        let params = [lambda.params, inner.params].concat();
        let both = Lambda { params, results: inner.results, body: inner.body };
        let name = self.program.var_names.get(binder.var.0 as usize).cloned().unwrap_or_default();
        let own = Binder { var: self.program.fresh(name), ty: lambda_type(&both) };
        self.uncurried.insert(binder.var, Atom::Var(own.var));
        self.changed = true;
        Ok((own, both))
    }

    /// The application of a function that may have become others.
    pub fn apply(&mut self, binders: Vec<Binder>, function: Var, args: Vec<Atom>, span: Span, statements: &mut Vec<Statement>) {
        if let Some(both) = self.uncurried.get(&function).cloned() {
            binders.iter().for_each(|binder| drop(self.partial.insert(binder.var, (both.clone(), args.clone()))));
        } else if let Some((both, first)) = self.partial.get(&function).cloned() {
            let op = Op::Apply { function: both, args: [first, args].concat() };
            statements.push(Statement { binders, op, span });
        } else if let Some(parts) = self.parts.get(&function).cloned() {
            for (binder, function) in binders.into_iter().zip(parts) {
                if !self.is_unused(binder.var) {
                    let op = Op::Apply { function, args: args.clone() };
                    statements.push(Statement { binders: vec![binder], op, span });
                }
            }
        } else {
            let op = Op::Apply { function: Atom::Var(function), args };
            statements.push(Statement { binders, op, span });
        }
    }
}

/// Whether a block does nothing but make the function that it gives.
fn gives_a_function(block: &Block) -> bool {
    match (block.statements.as_slice(), block.results.as_slice()) {
        ([Statement { binders, op: Op::Closure(_), .. }], [Atom::Var(result)]) => binders.iter().any(|own| own.var == *result),
        _ => false,
    }
}

/// The block of each result, if no two have a statement in common.
fn separate(block: &Block) -> Option<Vec<Block>> {
    let mut owner: Vec<Option<usize>> = vec![None; block.statements.len()];
    for (at, result) in block.results.iter().enumerate() {
        let mut needed: Vec<_> = if let Atom::Var(var) = result { vec![*var] } else { Vec::new() };
        for (number, statement) in block.statements.iter().enumerate().rev() {
            if !statement.binders.iter().any(|binder| needed.contains(&binder.var)) {
                continue;
            }
            if owner[number].is_some() {
                return None;
            }
            owner[number] = Some(at);
            needed.extend(op_free_variables(&statement.op));
        }
    }
    // What nobody needs may still fail.
    if owner.contains(&None) {
        return None;
    }
    let of = |at: usize| {
        let own = block.statements.iter().zip(&owner).filter(|(_, owner)| **owner == Some(at));
        Block { statements: own.map(|(statement, _)| statement.clone()).collect(), results: vec![block.results[at].clone()] }
    };
    Some((0..block.results.len()).map(of).collect())
}
