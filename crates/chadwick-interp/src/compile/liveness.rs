//! Where every variable is used for the last time.
//!
//! The analysis walks backwards over the blocks of one function. A variable dies at the statement behind which nobody uses it; where
//! the statement is a branch it dies inside the branches, and at the entry of those that do not use it. What a repeated body uses from
//! outside lives until the repetition is over.

use chadwick_core::visit::{Scope, free_variables, lambda_free_variables};
use chadwick_core::{Atom, Block, Op, Statement, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// What dies at one statement.
#[derive(Default, Debug)]
pub(crate) struct StatementInfo {
    /// Operands (and captures) used for the last time.
    pub dying: Vec<Var>,
    /// Variables to be emptied behind the statement.
    pub clear_after: Vec<Var>,
    /// Variables that died somewhere inside, already emptied.
    pub released: Vec<Var>,
    /// Results that nobody uses.
    pub unused: Vec<Var>,
    /// Per block inside, what to empty at its entry.
    pub clear_at_entry: Vec<Vec<Var>>,
}

#[derive(Default, Debug)]
pub(crate) struct Liveness {
    statements: FxHashMap<usize, StatementInfo>,
    /// Per block, the results that are last uses.
    ends: FxHashMap<usize, Vec<Var>>,
    live: FxHashSet<Var>,
    log: Vec<Var>,
}

fn address<T>(it: &T) -> usize {
    std::ptr::from_ref(it) as usize
}

/// How the blocks of an operation run.
enum Shape {
    /// One of them.
    Alternatives,
    /// Each once, in order.
    Sequence,
    /// Any number of times.
    Repeated,
    /// Elsewhere: their free variables are captured.
    Captured,
}

fn shape(op: &Op) -> Shape {
    match op {
        Op::If { .. } | Op::Match { .. } => Shape::Alternatives,
        Op::Par { .. } | Op::Recompute(_) | Op::WithAccumulators { .. } | Op::WithLog { .. } => Shape::Sequence,
        Op::Closure(_) | Op::Differentiate(_) | Op::Custom(_) => Shape::Captured,
        _ => Shape::Repeated,
    }
}

/// The captured variables of an operation that makes or runs lambdas, per lambda.
pub(crate) fn captures(op: &Op) -> Vec<Vec<Var>> {
    match op {
        Op::Closure(lambda) => vec![lambda_free_variables(lambda)],
        Op::Differentiate(it) => vec![lambda_free_variables(&it.function)],
        Op::Custom(it) => vec![lambda_free_variables(&it.function), lambda_free_variables(&it.rule)],
        _ => Vec::new(),
    }
}

impl Liveness {
    pub fn of(block: &Block) -> Liveness {
        let mut liveness = Liveness::default();
        liveness.block(block);
        liveness
    }

    /// Whether a variable is used at all: live at the start of the analysed block.
    pub fn is_live(&self, var: Var) -> bool {
        self.live.contains(&var)
    }

    pub fn statement(&self, statement: &Statement) -> Option<&StatementInfo> {
        self.statements.get(&address(statement))
    }

    pub fn dying_results(&self, block: &Block) -> &[Var] {
        self.ends.get(&address(block)).map_or(&[], Vec::as_slice)
    }

    /// Makes a variable live; tells whether it was not.
    fn use_var(&mut self, var: Var) -> bool {
        let new = self.live.insert(var);
        if new {
            self.log.push(var);
        }
        new
    }

    /// The variables made live since the log had that length and live still.
    fn added_since(&mut self, start: usize) -> Vec<Var> {
        let added: FxHashSet<Var> = self.log[start..].iter().copied().filter(|var| self.live.contains(var)).collect();
        let mut added: Vec<Var> = added.into_iter().collect();
        added.sort_unstable();
        added
    }

    fn undo(&mut self, start: usize, added: &[Var]) {
        added.iter().for_each(|var| {
            self.live.remove(var);
        });
        self.log.truncate(start);
    }

    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut dying = Vec::new();
            for atom in &block.results {
                if let Atom::Var(var) = atom
                    && self.use_var(*var)
                {
                    dying.push(*var);
                }
            }
            self.ends.insert(address(block), dying);
            for statement in block.statements.iter().rev() {
                let info = self.analyse(statement);
                self.statements.insert(address(statement), info);
            }
        });
    }

    /// A block with binders in front; returns the binders it does not use.
    fn scope(&mut self, scope: &Scope<'_>) -> Vec<Var> {
        self.block(scope.block);
        let (used, unused): (Vec<Var>, Vec<Var>) = scope.binders.iter().partition(|var| self.live.contains(var));
        used.iter().for_each(|var| {
            self.live.remove(var);
        });
        unused
    }

    fn analyse(&mut self, statement: &Statement) -> StatementInfo {
        let mut info = StatementInfo::default();
        for binder in &statement.binders {
            if !self.live.remove(&binder.var) {
                info.unused.push(binder.var);
            }
        }
        let op = &statement.op;
        let scopes = op.scopes();
        match shape(op) {
            Shape::Alternatives => self.alternatives(&scopes, &mut info),
            Shape::Sequence => {
                let start = self.log.len();
                for scope in scopes.iter().rev() {
                    let unused = self.scope(scope);
                    info.clear_at_entry.push(unused);
                }
                info.clear_at_entry.reverse();
                info.released = self.added_since(start);
            }
            Shape::Repeated => self.repeated(op, &scopes, &mut info),
            Shape::Captured => {
                for var in captures(op).into_iter().flatten() {
                    if self.use_var(var) {
                        info.dying.push(var);
                    }
                }
            }
        }
        op.for_each_atom(&mut |atom| {
            if let Atom::Var(var) = atom
                && self.use_var(*var)
            {
                info.dying.push(*var);
            }
        });
        info
    }

    fn alternatives(&mut self, scopes: &[Scope<'_>], info: &mut StatementInfo) {
        let mut used_by = Vec::new();
        for scope in scopes {
            let start = self.log.len();
            let unused = self.scope(scope);
            let added = self.added_since(start);
            self.undo(start, &added);
            info.clear_at_entry.push(unused);
            used_by.push(added);
        }
        let mut all: Vec<Var> = used_by.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        for (clear, used) in info.clear_at_entry.iter_mut().zip(&used_by) {
            clear.extend(all.iter().filter(|var| used.binary_search(var).is_err()));
        }
        all.iter().for_each(|var| {
            self.use_var(*var);
        });
        info.released = all;
    }

    fn repeated(&mut self, op: &Op, scopes: &[Scope<'_>], info: &mut StatementInfo) {
        let mut own: FxHashSet<Var> = FxHashSet::default();
        for scope in scopes {
            own.extend(&scope.binders);
        }
        for scope in scopes {
            for var in free_variables(scope.block) {
                if !own.contains(&var) && self.use_var(var) {
                    info.clear_after.push(var);
                }
            }
        }
        let is_while = matches!(op, Op::Loop(_)) && scopes.len() == 2;
        let mut unused_per_scope = Vec::new();
        for (at, scope) in scopes.iter().enumerate() {
            if is_while && at == 0 {
                // Behind the condition the carry is needed: by the body, or as the result of the loop.
                scope.binders.iter().for_each(|var| {
                    self.live.insert(*var);
                });
                self.block(scope.block);
                scope.binders.iter().for_each(|var| {
                    self.live.remove(var);
                });
                unused_per_scope.push(Vec::new());
            } else {
                unused_per_scope.push(self.scope(scope));
            }
        }
        info.clear_at_entry = unused_per_scope;
    }
}
