//! Directions that are one in one place and zero elsewhere, as a Jacobian needs them.
//!
//! An element of such a direction is a comparison of places. Said so, the optimiser sees which iterations have a derivative at all; an
//! element that is read from an array of zeros and ones says nothing.

use crate::context::Context;
use chadwick_core::{Atom, Axis, Block, CompareOp, Const, Op, Prim, PrimOp, Statement, Type, Var};
use chadwick_source::Span;

/// What is known of an array of zeros and ones.
#[derive(Clone, Debug, PartialEq)]
pub enum OneHot {
    /// A vector with its one in this place.
    At(Atom),
    /// A matrix whose row `i` has its one in place `i`.
    Identity,
}

impl Context<'_> {
    /// Notes what a statement makes if it is one-hot.
    pub fn note_one_hots(&mut self, statement: &Statement) {
        let [binder] = statement.binders.as_slice() else { return };
        let found = match &statement.op {
            Op::Build { space, body, .. } => one_hot(space, body),
            Op::Index { array: Atom::Var(array), indices } => match (self.one_hots.get(array), indices.as_slice()) {
                (Some(OneHot::Identity), [row]) => Some(OneHot::At(row.clone())),
                _ => None,
            },
            _ => None,
        };
        if let Some(found) = found {
            self.one_hots.insert(binder.var, found);
        }
    }

    /// The element of a one-hot vector, by comparison.
    pub fn one_hot_element(&mut self, array: &Atom, indices: &[Atom], span: Span) -> Option<Op> {
        let (Atom::Var(var), [index]) = (array, indices) else { return None };
        let OneHot::At(place) = self.one_hots.get(var)?.clone() else { return None };
        let Type::Prim(prim) = self.type_of(array).peel(1)? else { return None };
        let condition = self.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![index.clone(), place], span);
        let branch = |value: Const| Block { statements: Vec::new(), results: vec![Atom::Const(value)] };
        Some(Op::If { condition, then: branch(Const::one(prim)), otherwise: branch(Const::zero(prim)) })
    }
}

/// A build of `if i == place then 1 else 0`.
fn one_hot(space: &[Axis], body: &Block) -> Option<OneHot> {
    let ([compared, chosen], [Atom::Var(result)]) = (body.statements.as_slice(), body.results.as_slice()) else { return None };
    let Op::Prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), args) = &compared.op else { return None };
    let Op::If { condition: Atom::Var(condition), then, otherwise } = &chosen.op else { return None };
    let is_own = compared.binders.iter().any(|binder| binder.var == *condition);
    if !is_own || !chosen.binders.iter().any(|binder| binder.var == *result) || !then.statements.is_empty() {
        return None;
    }
    let ([Atom::Const(one)], [Atom::Const(zero)]) = (then.results.as_slice(), otherwise.results.as_slice()) else { return None };
    if !otherwise.statements.is_empty() || *one != Const::one(one.prim()) || *zero != Const::zero(zero.prim()) {
        return None;
    }
    let is_axis = |atom: &Atom, var: Var| *atom == Atom::Var(var);
    match (space, args.as_slice()) {
        ([row, column], [a, b])
            if (is_axis(a, row.var) && is_axis(b, column.var)) || (is_axis(a, column.var) && is_axis(b, row.var)) =>
        {
            Some(OneHot::Identity)
        }
        ([axis], [a, b]) if is_axis(a, axis.var) && *b != *a => Some(OneHot::At(b.clone())),
        ([axis], [a, b]) if is_axis(b, axis.var) && *b != *a => Some(OneHot::At(a.clone())),
        _ => None,
    }
}
