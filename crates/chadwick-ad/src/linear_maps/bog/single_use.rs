//! The single-use dialect (Ellis et al., section 11): every variable is used at most once. `dup x` is a copy of `x` to two names, and the
//! only place where a variable may stand twice.
//!
//! The branches of a conditional may each use a variable, since one of them runs; a block that repeats uses what it captures once.

use crate::context::Context;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Binder, Block, Op, Statement, Var};
use chadwick_source::Span;
use rustc_hash::FxHashMap;

/// A variable that is used more than once, if there is one.
pub(in crate::linear_maps) fn used_twice(block: &Block) -> Option<Var> {
    let mut uses: FxHashMap<Var, usize> = FxHashMap::default();
    count(block, &mut uses);
    let mut twice: Vec<Var> = uses.into_iter().filter(|(_, uses)| *uses > 1).map(|(var, _)| var).collect();
    twice.sort_unstable();
    twice.first().copied()
}

/// Whether the statement is `dup`.
pub(super) fn is_dup(statement: &Statement) -> bool {
    matches!(&statement.op, Op::Copy(atoms) if matches!(atoms.as_slice(), [Atom::Var(left), Atom::Var(right)] if left == right))
}

fn count(block: &Block, uses: &mut FxHashMap<Var, usize>) {
    let add = |atom: &Atom, uses: &mut FxHashMap<Var, usize>| {
        if let Atom::Var(var) = atom {
            *uses.entry(*var).or_default() += 1;
        }
    };
    for statement in &block.statements {
        if is_dup(statement) {
            let Op::Copy(atoms) = &statement.op else { continue };
            add(&atoms[0], uses);
            continue;
        }
        statement.op.for_each_atom(&mut |atom| add(atom, uses));
        let mut inside: FxHashMap<Var, usize> = FxHashMap::default();
        let is_choice = matches!(statement.op, Op::If { .. } | Op::Match { .. });
        for scope in statement.op.scopes() {
            let mut own: FxHashMap<Var, usize> = FxHashMap::default();
            count(scope.block, &mut own);
            for (var, uses) in own {
                let known = inside.entry(var).or_default();
                *known = if is_choice { (*known).max(uses) } else { *known + uses };
            }
        }
        inside.into_iter().for_each(|(var, more)| *uses.entry(var).or_default() += more);
    }
    block.results.iter().for_each(|result| add(result, uses));
}

/// A block in the single-use dialect; `current` says which name of a variable from outside is its to use.
pub(in crate::linear_maps) fn single_use(context: &mut Context, block: &Block, current: &FxHashMap<Var, Var>) -> Block {
    let mut uses: FxHashMap<Var, usize> = FxHashMap::default();
    let mut add = |atom: &Atom| {
        if let Atom::Var(var) = atom {
            *uses.entry(*var).or_default() += 1;
        }
    };
    for statement in &block.statements {
        statement.op.for_each_atom(&mut |atom| add(atom));
        captured(&statement.op).into_iter().for_each(|var| add(&Atom::Var(var)));
    }
    block.results.iter().for_each(&mut add);
    let mut draft = Draft { context, current: current.clone(), uses, statements: Vec::new() };
    for statement in &block.statements {
        draft.statement(statement);
    }
    let results = block.results.iter().map(|result| draft.take(result, Span::default())).collect();
    Block { statements: draft.statements, results }
}

/// What the blocks of an operation use from outside.
fn captured(op: &Op) -> Vec<Var> {
    if op.scopes().is_empty() {
        return Vec::new();
    }
    let mut inside: Vec<Var> = Vec::new();
    for scope in op.scopes() {
        let bound: Vec<Var> = scope.binders.clone();
        let free = chadwick_core::visit::free_variables(scope.block);
        inside.extend(free.into_iter().filter(|var| !bound.contains(var)));
    }
    let known = op_free_variables(op);
    inside.retain(|var| known.contains(var));
    inside.sort_unstable();
    inside.dedup();
    inside
}

struct Draft<'c, 'p> {
    context: &'c mut Context<'p>,
    /// Which name of a variable is to be used next.
    current: FxHashMap<Var, Var>,
    /// How often a variable is still used.
    uses: FxHashMap<Var, usize>,
    statements: Vec<Statement>,
}

impl Draft<'_, '_> {
    /// A name for one use of an atom; one more is made for the rest.
    fn take(&mut self, atom: &Atom, span: Span) -> Atom {
        let Atom::Var(var) = atom else { return atom.clone() };
        let current = self.current.get(var).copied().unwrap_or(*var);
        let left = self.uses.get_mut(var).map_or(0, |uses| {
            *uses = uses.saturating_sub(1);
            *uses
        });
        if left == 0 {
            return Atom::Var(current);
        }
        let ty = self.context.var_type(current);
        let name = self.context.name(*var);
        let names: [Binder; 2] = [(); 2].map(|()| self.context.fresh(name.clone(), ty.clone()));
        let (now, rest) = (names[0].var, names[1].var);
        let op = Op::Copy(vec![Atom::Var(current), Atom::Var(current)]);
        self.statements.push(Statement { binders: names.to_vec(), op, span });
        self.current.insert(*var, rest);
        Atom::Var(now)
    }

    fn statement(&mut self, statement: &Statement) {
        let span = statement.span;
        let mut op = statement.op.clone();
        op.for_each_atom_mut(&mut |atom| *atom = self.take(atom, span));
        let mut inner = FxHashMap::default();
        for var in captured(&statement.op) {
            if let Atom::Var(own) = self.take(&Atom::Var(var), span) {
                inner.insert(var, own);
            }
        }
        if !op.scopes().is_empty() {
            op = op.map_blocks(&mut |block| single_use(self.context, &block, &inner));
        }
        self.statements.push(Statement { binders: statement.binders.clone(), op, span });
    }
}
