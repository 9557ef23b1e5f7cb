//! Simplification of what the definition makes (Vákár and Smeding, table 1), so that it can be read: functions that are called in one place only are
//! unfolded there, other names for a value disappear, and so do sums with zero and products with zero.
//!
//! Nothing is computed more often than before: a function with several calls stays a function. Core has no pairs, so the rules for those
//! have nothing to do.

use chadwick_core::{Atom, BinaryOp, Binder, Block, Const, Lambda, Op, PrimOp, Program, Statement, Var};
use rustc_hash::FxHashMap;

/// Rounds after which nothing is left to be gained; a chain of functions around functions takes one for each.
const ROUNDS: usize = 64;

/// Simplifies all functions of a program.
pub fn simplify(program: &mut Program) {
    for number in 0..program.functions.len() {
        for _ in 0..ROUNDS {
            let body = std::mem::take(&mut program.functions[number].body);
            let mut uses = Uses::default();
            uses.block(&body);
            let mut unfolding = Unfolding { uses, ..Unfolding::default() };
            let body = unfolding.block(body);
            program.functions[number].body = body;
            if !unfolding.changed {
                break;
            }
        }
    }
}

/// How often each variable occurs, and how often as a function that is applied.
#[derive(Default)]
struct Uses {
    all: FxHashMap<Var, usize>,
    applied: FxHashMap<Var, usize>,
}

impl Uses {
    fn atom(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            *self.all.entry(*var).or_default() += 1;
        }
    }

    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            statement.op.for_each_atom(&mut |atom| self.atom(atom));
            if let Op::Apply { function: Atom::Var(var), .. } = &statement.op {
                *self.applied.entry(*var).or_default() += 1;
            }
            statement.op.scopes().iter().for_each(|scope| self.block(scope.block));
        }
        block.results.iter().for_each(|atom| self.atom(atom));
    }

    fn is_called_once(&self, var: Var) -> bool {
        self.all.get(&var) == Some(&1) && self.applied.get(&var) == Some(&1)
    }
}

#[derive(Default)]
struct Unfolding {
    uses: Uses,
    /// Functions that wait for their only call.
    waiting: FxHashMap<Var, Lambda>,
    replaced: FxHashMap<Var, Atom>,
    changed: bool,
}

impl Unfolding {
    fn atom(&self, atom: &Atom) -> Atom {
        match atom {
            Atom::Var(var) => self.replaced.get(var).unwrap_or(atom).clone(),
            constant => constant.clone(),
        }
    }

    fn replace(&mut self, binder: &Binder, atom: Atom) {
        self.replaced.insert(binder.var, atom);
        self.changed = true;
    }

    fn block(&mut self, block: Block) -> Block {
        let mut statements = Vec::new();
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
            block.statements.into_iter().for_each(|statement| self.statement(statement, &mut statements));
        });
        Block { statements, results: block.results.iter().map(|atom| self.atom(atom)).collect() }
    }

    fn statement(&mut self, statement: Statement, statements: &mut Vec<Statement>) {
        let Statement { binders, mut op, span } = statement;
        op.for_each_atom_mut(&mut |atom| *atom = self.atom(atom));
        match op {
            Op::Closure(lambda) if binders.iter().all(|binder| self.uses.is_called_once(binder.var)) => {
                binders.iter().for_each(|binder| drop(self.waiting.insert(binder.var, lambda.clone())));
            }
            Op::Apply { function: Atom::Var(var), args } if self.waiting.contains_key(&var) => {
                let Some(lambda) = self.waiting.remove(&var) else { return };
                for (param, arg) in lambda.params.iter().zip(args) {
                    self.replace(param, arg);
                }
                let body = self.block(lambda.body);
                statements.extend(body.statements);
                for (binder, result) in binders.iter().zip(body.results) {
                    self.replace(binder, result);
                }
            }
            Op::Copy(atoms) => {
                for (binder, atom) in binders.iter().zip(atoms) {
                    self.replace(binder, atom);
                }
            }
            Op::Prim(prim, args) => match (simpler(prim, &args), binders.as_slice()) {
                (Some(atom), [binder]) => self.replace(binder, atom),
                _ => statements.push(Statement { binders, op: Op::Prim(prim, args), span }),
            },
            op => {
                let op = op.map_blocks(&mut |block| self.block(block));
                statements.push(Statement { binders, op, span });
            }
        }
    }
}

/// What a sum with zero, or a cotangent times zero or one, is.
fn simpler(op: PrimOp, args: &[Atom]) -> Option<Atom> {
    let PrimOp::Binary(op, prim) = op else { return None };
    let [left, right] = args else { return None };
    let is = |atom: &Atom, constant: Const| *atom == Atom::Const(constant);
    match op {
        BinaryOp::Add if is(left, Const::zero(prim)) => Some(right.clone()),
        BinaryOp::Add if is(right, Const::zero(prim)) => Some(left.clone()),
        BinaryOp::Scale if is(left, Const::zero(prim)) => Some(left.clone()),
        BinaryOp::Scale if is(right, Const::one(prim)) => Some(left.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_with_one_call_is_unfolded_and_one_with_two_is_not() {
        let text = "
def f@0(x_0: f64) -> (f64) {
  once_1: fn(f64) -> (f64) = fn (y_2: f64) -> (f64) {
    _3: f64 = f64.mul(x_0, y_2)
    return _3
  }
  twice_4: fn(f64) -> (f64) = fn (y_5: f64) -> (f64) {
    _6: f64 = f64.add(y_5, 0.0f64)
    _7: f64 = f64.mul(_6, _6)
    return _7
  }
  _8: f64 = apply once_1(x_0)
  _9: f64 = apply twice_4(_8)
  _10: f64 = apply twice_4(_9)
  return _10
}
";
        let mut program = chadwick_core::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
        simplify(&mut program);
        assert!(chadwick_core::verify::verify(&program).is_empty());
        let printed = chadwick_core::text::print(&program);
        assert!(!printed.contains("once") && !printed.contains("f64.add"), "{printed}");
        assert_eq!(printed.matches("apply twice").count(), 2, "{printed}");
    }
}
