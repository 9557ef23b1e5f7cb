//! States of a loop that depend on no input, such as counters and seeds of random numbers. A fold carries values of one type only, so
//! these are computed by a loop of Core ahead of it, and their values are rows of the fold.

use super::super::term::Tree;
use super::Converter;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Binder, Block, Dim, Element, Lambda, Loop, LoopForm, LoopHints, Op, Prim, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

/// A loop without the states that were computed ahead.
pub(super) struct Rest {
    pub carry: Vec<Binder>,
    pub initial: Vec<Atom>,
    pub body: Block,
    /// The variables of the states, and the arrays of what they are before each iteration.
    pub rows: Vec<(Var, Tree)>,
    /// For each state of the loop what it is in the end, if it was computed ahead.
    pub last: Vec<Option<Tree>>,
}

impl Converter<'_, '_, '_> {
    /// Takes out of a loop what is numbers and depends on no input, if that is needed for the rest to be of one type.
    pub(super) fn without_plain_states(&mut self, loop_: &Lambda, parts: &Loop, count: &Atom, span: Span) -> Option<Rest> {
        let (_, carry) = loop_.params.split_first()?;
        let is_alike = carry.iter().all(|state| element(&state.ty) == element(&carry[0].ty));
        let may_run = self.around.is_empty() && !self.conditional && !is_alike;
        let is_ahead = if may_run { self.plain_states(carry, parts, &loop_.body) } else { vec![false; carry.len()] };
        let ahead: Vec<usize> = (0..carry.len()).filter(|state| is_ahead[*state]).collect();
        let mut last = vec![None; carry.len()];
        let mut rows = Vec::new();
        if !ahead.is_empty() {
            let (ends, arrays) = self.run_ahead(loop_, parts, &ahead, span);
            for ((state, end), array) in ahead.iter().zip(ends).zip(arrays) {
                self.sizes.name_length(&array, 0, count);
                last[*state] = Some(self.value(&end, span)?);
                rows.push((carry[*state].var, self.value(&array, span)?));
            }
        }
        let rest = |state: &usize| !is_ahead[*state];
        let kept: Vec<usize> = (0..carry.len()).filter(rest).collect();
        let results = kept.iter().map(|state| loop_.body.results[*state].clone());
        let results: Vec<Atom> = results.chain(loop_.body.results[carry.len()..].iter().cloned()).collect();
        let statements = needed(&loop_.body, &results, |statement| ahead.is_empty() || statement.binders.is_empty());
        Some(Rest {
            carry: kept.iter().map(|state| carry[*state].clone()).collect(),
            initial: kept.iter().map(|state| parts.initial[*state].clone()).collect(),
            body: Block { statements, results },
            rows,
            last,
        })
    }

    /// Which states are numbers that start as values of Core and are computed from such.
    fn plain_states(&self, carry: &[Binder], parts: &Loop, body: &Block) -> Vec<bool> {
        let starts = carry.iter().zip(&parts.initial);
        let mut plain: Vec<bool> =
            starts.map(|(state, start)| state.ty.as_prim().is_some() && self.is_plain_atom(Some(start))).collect();
        loop {
            let active = self.active(carry, &plain, body);
            let is_plain =
                |result: &Atom| matches!(result, Atom::Const(_)) || matches!(result, Atom::Var(var) if !active.contains(var));
            let next: Vec<bool> = plain.iter().zip(&body.results).map(|(plain, result)| *plain && is_plain(result)).collect();
            if next == plain {
                return plain;
            }
            plain = next;
        }
    }

    /// The variables of a body that depend on an input or on a state that is not plain, and those from around that do.
    fn active(&self, carry: &[Binder], plain: &[bool], body: &Block) -> FxHashSet<Var> {
        let mut active: FxHashSet<Var> =
            carry.iter().zip(plain).filter(|(_, plain)| !**plain).map(|(state, _)| state.var).collect();
        for statement in &body.statements {
            let depends = op_free_variables(&statement.op).into_iter().any(|var| active.contains(&var) || !self.is_plain(var));
            if depends {
                active.extend(statement.binders.iter().map(|binder| binder.var));
            }
        }
        active.extend(body.results.iter().filter_map(|result| match result {
            Atom::Var(var) if !self.is_plain(*var) => Some(*var),
            _ => None,
        }));
        active
    }

    /// What these states are in the end, and arrays of what they are before each iteration.
    fn run_ahead(&mut self, loop_: &Lambda, parts: &Loop, ahead: &[usize], span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let own = self.context.copy_lambda(loop_);
        let Some((at, carry)) = own.params.split_first() else { return Default::default() };
        let states: Vec<Binder> = ahead.iter().map(|state| carry[*state].clone()).collect();
        let next = ahead.iter().map(|state| own.body.results[*state].clone());
        let results: Vec<Atom> = next.chain(states.iter().map(|state| Atom::Var(state.var))).collect();
        let statements = needed(&own.body, &results[..ahead.len()], |_| false);
        let LoopForm::For { bound, .. } = &parts.form else { return Default::default() };
        let types: Vec<Type> = states.iter().map(|state| state.ty.clone()).collect();
        let all = types.iter().map(|ty| ty.clone().array([Dim::Any])).collect::<Vec<_>>();
        let made = Loop {
            carry: states,
            initial: ahead.iter().map(|state| parts.initial[*state].clone()).collect(),
            form: LoopForm::For { index: at.clone(), bound: bound.clone() },
            body: Block { statements, results },
            emits: vec![Vec::new(); ahead.len()],
            counted: false,
            hints: LoopHints::default(),
        };
        let mut ends = self.context.b.push(Op::Loop(Box::new(made)), [types, all].concat(), span);
        let arrays = ends.split_off(ahead.len().min(ends.len()));
        (ends, arrays)
    }
}

/// The type of the numbers in a value; none if there are others.
fn element(ty: &Type) -> Option<Prim> {
    match ty {
        Type::Array(array) => match array.element {
            Element::Prim(prim) => Some(prim),
            _ => None,
        },
        ty => ty.as_prim(),
    }
}

/// The statements of a block that some results need, and others that are wanted anyway, with what they need.
pub(super) fn needed(block: &Block, results: &[Atom], anyway: impl Fn(&Statement) -> bool) -> Vec<Statement> {
    let var = |atom: &Atom| if let Atom::Var(var) = atom { Some(*var) } else { None };
    let mut wanted: FxHashSet<Var> = results.iter().filter_map(var).collect();
    let mut kept = Vec::new();
    for statement in block.statements.iter().rev() {
        if anyway(statement) || statement.binders.iter().any(|binder| wanted.contains(&binder.var)) {
            wanted.extend(op_free_variables(&statement.op));
            kept.push(statement.clone());
        }
    }
    kept.reverse();
    kept
}
