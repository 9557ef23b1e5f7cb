//! What is known of values that were just made: which constructor they have, and how long they are.
//!
//! A choice by a known constructor is its arm. So is a call of a function that does nothing but choose by that parameter, that calls itself, if
//! at all, on fields only, and that chooses by nothing else: a fold. A bag of calls is such a value and `copower_fold` such a function, so where both meet neither is left (section 9.4
//! of the paper).

use super::Unfolding;
use chadwick_core::visit::Copier;
use chadwick_core::{Arm, Atom, Binder, Block, FunctionId, Op, Statement, Var};
use rustc_hash::FxHashMap;

/// How many calls are unfolded in a function: values can share parts, their unfolded folds do not.
pub const UNFOLDINGS: usize = 256;

#[derive(Default)]
pub struct Made {
    /// The constructor of a value and its fields.
    constructed: FxHashMap<Var, (u32, Vec<Atom>)>,
    /// The length of an array that was built, along its first axis.
    lengths: FxHashMap<Var, Atom>,
    /// The arrays whose length was asked for, by what the answer is called.
    measured: FxHashMap<Var, Var>,
    /// How many more calls may be unfolded.
    pub unfoldings: usize,
}

impl Unfolding<'_> {
    /// Takes note of what a statement makes.
    pub fn note(&mut self, binders: &[Binder], op: &Op) {
        match (op, binders) {
            (Op::Construct { tag, args, .. }, [binder]) => {
                self.made.constructed.insert(binder.var, (*tag, args.clone()));
            }
            (Op::Build { space, .. }, binders) if !space.is_empty() => {
                self.made.lengths.extend(binders.iter().map(|binder| (binder.var, space[0].size.clone())));
            }
            (Op::Dim { array: Atom::Var(array), axis: 0 }, [binder]) => {
                self.made.measured.insert(binder.var, *array);
            }
            _ => {}
        }
    }

    pub fn has_length(&self, array: Var, length: &Atom) -> bool {
        let is_measured = matches!(length, Atom::Var(length) if self.made.measured.get(length) == Some(&array));
        is_measured || self.made.lengths.get(&array) == Some(length)
    }

    /// Puts what is known in place of the operation; gives it back if nothing is.
    pub fn known(&mut self, binders: &[Binder], op: Op, statements: &mut Vec<Statement>) -> Option<Op> {
        match op {
            Op::Match { scrutinee: Atom::Var(var), arms, otherwise } => {
                let Some((tag, fields)) = self.made.constructed.get(&var).cloned() else {
                    return Some(Op::Match { scrutinee: Atom::Var(var), arms, otherwise });
                };
                match (arms.into_iter().find(|arm| arm.tag == tag), otherwise) {
                    (Some(arm), _) => {
                        self.replace_all(&arm.binders, fields);
                        self.inlined(binders, arm.body, statements);
                    }
                    (None, Some(block)) => self.inlined(binders, block, statements),
                    (None, None) => {}
                }
                None
            }
            Op::Call { function, args } => {
                let Some(block) = self.unfolded(function, &args) else { return Some(Op::Call { function, args }) };
                let around = self.inside.replace(function);
                self.inlined(binders, block, statements);
                self.inside = around;
                None
            }
            Op::Dim { array: Atom::Var(array), axis: 0 } if self.made.lengths.contains_key(&array) => {
                let length = self.made.lengths.get(&array).cloned()?;
                binders.iter().for_each(|binder| self.replace(binder, length.clone()));
                None
            }
            op => Some(op),
        }
    }

    /// What a fold makes of a value whose constructor is known.
    fn unfolded(&mut self, function: FunctionId, args: &[Atom]) -> Option<Block> {
        if self.made.unfoldings == 0 || self.inside.is_some_and(|inside| inside != function) {
            return None;
        }
        let source = self.program.functions.get(function.0 as usize)?;
        let (at, arms) = fold_of(function, &source.params, &source.body)?;
        let Some(Atom::Var(var)) = args.get(at) else { return None };
        let (tag, fields) = self.made.constructed.get(var)?.clone();
        let arm = arms.iter().find(|arm| arm.tag == tag)?.clone();
        let params = source.params.clone();
        self.made.unfoldings -= 1;
        let mut copier = Copier::new(self.program);
        let given = params.iter().zip(args).chain(arm.binders.iter().zip(&fields));
        given.for_each(|(binder, atom)| copier.replace(binder.var, atom.clone()));
        Some(copier.block(&arm.body))
    }
}

/// By which parameter a function chooses, and its arms, if it is a fold.
fn fold_of<'b>(function: FunctionId, params: &[Binder], body: &'b Block) -> Option<(usize, &'b [Arm])> {
    let [Statement { binders, op: Op::Match { scrutinee: Atom::Var(chosen), arms, .. }, .. }] = body.statements.as_slice() else {
        return None;
    };
    let at = params.iter().position(|param| param.var == *chosen)?;
    let results: Vec<Atom> = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
    let goes_down = |arm: &Arm| {
        let is_field = |atom: Option<&Atom>| matches!(atom, Some(Atom::Var(var)) if arm.binders.iter().any(|it| it.var == *var));
        calls_of(&arm.body, function).iter().all(|args| is_field(args.get(at))) && !chooses(&arm.body)
    };
    (body.results == results && arms.iter().all(goes_down)).then_some((at, arms.as_slice()))
}

fn chooses(block: &Block) -> bool {
    let inside = |op: &Op| op.scopes().iter().any(|scope| chooses(scope.block));
    block.statements.iter().any(|statement| matches!(statement.op, Op::Match { .. }) || inside(&statement.op))
}

fn calls_of(block: &Block, function: FunctionId) -> Vec<&[Atom]> {
    let mut found = Vec::new();
    for statement in &block.statements {
        if let Op::Call { function: called, args } = &statement.op
            && *called == function
        {
            found.push(args.as_slice());
        }
        statement.op.scopes().iter().for_each(|scope| found.extend(calls_of(scope.block, function)));
    }
    found
}
