//! Simplification of what the definition makes (Vákár and Smeding, table 1), so that it can be read: functions that are called in one place only are
//! unfolded there, other names for a value disappear, and so do sums with zero and products with zero.
//!
//! - A function whose results have nothing in common becomes one for each result, and one that only gives a function takes its arguments, too
//!   (`parts.rs`).
//! - What is asked of a value that was just made is known (`known.rs`): so a bag of calls that is made and folded in one term vanishes.
//! - An array of functions that are called in one place becomes arrays of what they captured (`arrays.rs`).
//!
//! Nothing is computed more often than before: a function with several calls stays a function. Core has no pairs, so the rules for those
//! have nothing to do.

mod arrays;
mod known;
mod parts;

use arrays::Elements;
use chadwick_core::{Atom, BinaryOp, Binder, Block, Const, FunctionId, Lambda, Op, PrimOp, Program, Statement, Var};
use known::{Made, UNFOLDINGS};
use rustc_hash::FxHashMap;

/// Rounds after which nothing is left to be gained; a chain of functions around functions takes one for each.
const ROUNDS: usize = 64;

/// Simplifies all functions of a program.
pub fn simplify(program: &mut Program) {
    simplify_by(program, Rules::All);
}

/// Which rules are used.
#[derive(Clone, Copy, PartialEq)]
enum Rules {
    /// Those of the paper.
    #[cfg(test)]
    OfThePaper,
    All,
}

fn simplify_by(program: &mut Program, rules: Rules) {
    for number in 0..program.functions.len() {
        let mut unfoldings = UNFOLDINGS;
        for _ in 0..ROUNDS {
            let body = std::mem::take(&mut program.functions[number].body);
            let uses = Uses::of(&body);
            let mut unfolding = Unfolding::new(program, rules, uses);
            unfolding.made.unfoldings = unfoldings;
            let body = unfolding.block(body);
            let changed = unfolding.changed;
            unfoldings = unfolding.made.unfoldings;
            program.functions[number].body = body;
            if !changed {
                break;
            }
        }
    }
}

/// How often each variable occurs, and how.
#[derive(Default)]
struct Uses {
    all: FxHashMap<Var, usize>,
    /// As a function that is applied.
    applied: FxHashMap<Var, usize>,
    /// What came of that.
    applications: FxHashMap<Var, Vec<Var>>,
    /// As an array whose length is asked for.
    measured: FxHashMap<Var, usize>,
    /// As an array of which an element is taken: the elements.
    elements: FxHashMap<Var, Vec<Var>>,
}

impl Uses {
    fn of(block: &Block) -> Uses {
        let mut uses = Uses::default();
        uses.block(block);
        uses
    }

    fn atom(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            *self.all.entry(*var).or_default() += 1;
        }
    }

    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            statement.op.for_each_atom(&mut |atom| self.atom(atom));
            match (&statement.op, statement.binders.as_slice()) {
                (Op::Apply { function: Atom::Var(var), .. }, binders) => {
                    *self.applied.entry(*var).or_default() += 1;
                    self.applications.entry(*var).or_default().extend(binders.iter().map(|binder| binder.var));
                }
                (Op::Dim { array: Atom::Var(var), .. }, _) => *self.measured.entry(*var).or_default() += 1,
                (Op::Index { array: Atom::Var(var), .. }, [element]) => self.elements.entry(*var).or_default().push(element.var),
                _ => {}
            }
            statement.op.scopes().iter().for_each(|scope| self.block(scope.block));
        }
        block.results.iter().for_each(|atom| self.atom(atom));
    }

    fn count(&self, var: Var) -> usize {
        self.all.get(&var).copied().unwrap_or_default()
    }

    fn is_only_called(&self, var: Var) -> bool {
        self.count(var) > 0 && self.applied.get(&var) == self.all.get(&var)
    }

    fn is_called_once(&self, var: Var) -> bool {
        self.count(var) == 1 && self.is_only_called(var)
    }
}

struct Unfolding<'p> {
    program: &'p mut Program,
    rules: Rules,
    uses: Uses,
    /// Functions that wait for their only call.
    waiting: FxHashMap<Var, Lambda>,
    /// Functions that became one for each result.
    parts: FxHashMap<Var, Vec<Atom>>,
    /// Functions that take the arguments of the function that they gave.
    uncurried: FxHashMap<Var, Atom>,
    /// Their applications to what they took before.
    partial: FxHashMap<Var, (Atom, Vec<Atom>)>,
    /// Arrays of functions that became arrays of what they captured.
    elements: FxHashMap<Var, Elements>,
    made: Made,
    /// The function whose calls are unfolded, while one of them is.
    inside: Option<FunctionId>,
    replaced: FxHashMap<Var, Atom>,
    /// Variables from here on are new, and their uses are not counted.
    first_new: usize,
    changed: bool,
}

impl<'p> Unfolding<'p> {
    fn new(program: &'p mut Program, rules: Rules, uses: Uses) -> Self {
        let (waiting, parts, uncurried, partial, elements, made, replaced) = Default::default();
        let first_new = program.var_names.len();
        let (inside, changed) = (None, false);
        Unfolding {
            program,
            rules,
            uses,
            waiting,
            parts,
            uncurried,
            partial,
            elements,
            made,
            inside,
            replaced,
            first_new,
            changed,
        }
    }

    fn is_unused(&self, var: Var) -> bool {
        (var.0 as usize) < self.first_new && self.uses.count(var) == 0
    }

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

    fn replace_all(&mut self, binders: &[Binder], atoms: Vec<Atom>) {
        binders.iter().zip(atoms).for_each(|(binder, atom)| self.replace(binder, atom));
    }

    fn block(&mut self, block: Block) -> Block {
        let mut statements = Vec::new();
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
            block.statements.into_iter().for_each(|statement| self.statement(statement, &mut statements));
        });
        Block { statements, results: block.results.iter().map(|atom| self.atom(atom)).collect() }
    }

    /// A block in place of a statement that binds its results.
    fn inlined(&mut self, binders: &[Binder], block: Block, statements: &mut Vec<Statement>) {
        let block = self.block(block);
        statements.extend(block.statements);
        self.replace_all(binders, block.results);
    }

    fn statement(&mut self, statement: Statement, statements: &mut Vec<Statement>) {
        let Statement { binders, mut op, span } = statement;
        op.for_each_atom_mut(&mut |atom| *atom = self.atom(atom));
        match op {
            Op::Closure(lambda) if binders.iter().all(|binder| self.uses.is_called_once(binder.var)) => {
                binders.iter().for_each(|binder| drop(self.waiting.insert(binder.var, lambda.clone())));
            }
            Op::Closure(lambda) => self.closure(binders, lambda, span, statements),
            Op::Apply { function: Atom::Var(var), args } if self.waiting.contains_key(&var) => {
                let Some(lambda) = self.waiting.remove(&var) else { return };
                self.replace_all(&lambda.params, args);
                self.inlined(&binders, lambda.body, statements);
            }
            Op::Apply { function: Atom::Var(var), args } => self.apply(binders, var, args, span, statements),
            Op::Copy(atoms) => self.replace_all(&binders, atoms),
            Op::Prim(prim, args) => match (simpler(prim, &args), binders.as_slice()) {
                (Some(atom), [binder]) => self.replace(binder, atom),
                _ => statements.push(Statement { binders, op: Op::Prim(prim, args), span }),
            },
            op => {
                let Some(op) = self.known(&binders, op, statements) else { return };
                let Some(op) = self.element_of_functions(&binders, op, span, statements) else { return };
                let (binders, op) = match self.rules {
                    Rules::All => self.without_functions(binders, op),
                    #[cfg(test)]
                    Rules::OfThePaper => (binders, op),
                };
                let op = op.map_blocks(&mut |block| self.block(block));
                let (binders, op) = self.without_copies(binders, op);
                self.note(&binders, &op);
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
mod tests;
