//! Which variable owns memory, and where each owner is used for the last time.
//!
//! Views (a row, a slice, a transpose, another name) and parts (the payload of a matched sum, an element of an array of sums) do not own
//! anything: they have a root that lives at least as long. A root dies at the statement behind which neither it nor anything that has it
//! as root is used. In branches it dies inside, or at the entry of those that do not use it; what a repeated body uses from outside
//! lives until the repetition is over, and what both sides of a pair use lives until both are done, since they may run at the same time.

use chadwick_core::visit::Scope;
use chadwick_core::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// What dies at a statement. All variables are roots.
#[derive(Debug, Default)]
pub struct Deaths {
    /// Last used as operands of the statement itself.
    pub operands: Vec<Var>,
    /// Last used inside a repeated body.
    pub after: Vec<Var>,
    /// Results that nobody uses.
    pub unused: Vec<Var>,
    /// Per block inside: what nobody uses from its entry on.
    pub at_entry: Vec<Vec<Var>>,
}

#[derive(Debug, Default)]
pub struct Liveness {
    pub types: FxHashMap<Var, Type>,
    roots: FxHashMap<Var, Var>,
    /// Variables whose reference is not that of their root: parts.
    parts: FxHashSet<Var>,
    deaths: FxHashMap<usize, Deaths>,
    /// Per block, the roots that die as its results.
    ends: FxHashMap<usize, Vec<Var>>,
    live: FxHashSet<Var>,
    log: Vec<Var>,
}

fn address<T>(it: &T) -> usize {
    std::ptr::from_ref(it) as usize
}

/// Whether values of the type own memory.
fn owns_memory(ty: &Type) -> bool {
    matches!(ty, Type::Array(_) | Type::Sum(_) | Type::Named(_))
}

enum Shape {
    Alternatives,
    Sequence,
    SideBySide,
    Repeated,
}

fn shape(op: &Op) -> Shape {
    match op {
        Op::If { .. } | Op::Match { .. } => Shape::Alternatives,
        Op::Par { .. } => Shape::SideBySide,
        Op::Recompute(_) | Op::WithAccumulators { .. } | Op::WithLog { .. } | Op::Custom(_) => Shape::Sequence,
        _ => Shape::Repeated,
    }
}

/// The blocks of an operation that run: the rule of a custom derivative never does.
pub fn running_scopes(op: &Op) -> Vec<Scope<'_>> {
    let mut scopes = op.scopes();
    if matches!(op, Op::Custom(_)) {
        scopes.truncate(1);
    }
    scopes
}

impl Liveness {
    pub fn of(function: &Function) -> Liveness {
        let mut liveness = Liveness::default();
        function.params.iter().for_each(|param| liveness.bind(param));
        liveness.collect(&function.body);
        liveness.block(&function.body);
        for param in &function.params {
            liveness.live.remove(&param.var);
        }
        liveness
    }

    /// The owner of what a variable shows; `None` for scalars and handles.
    pub fn root(&self, var: Var) -> Option<Var> {
        self.roots.get(&var).copied()
    }

    pub fn is_part(&self, var: Var) -> bool {
        self.parts.contains(&var)
    }

    pub fn deaths(&self, statement: &Statement) -> Option<&Deaths> {
        self.deaths.get(&address(statement))
    }

    pub fn dying_results(&self, block: &Block) -> &[Var] {
        self.ends.get(&address(block)).map_or(&[], Vec::as_slice)
    }

    fn bind(&mut self, binder: &Binder) {
        if owns_memory(&binder.ty) {
            self.roots.insert(binder.var, binder.var);
        }
        self.types.insert(binder.var, binder.ty.clone());
    }

    /// `binder` shows something of `whole`.
    fn alias(&mut self, binder: &Binder, whole: &Atom, part: bool) {
        self.types.insert(binder.var, binder.ty.clone());
        if !owns_memory(&binder.ty) {
            return;
        }
        let Atom::Var(whole) = whole else { return };
        if let Some(root) = self.roots.get(whole).copied() {
            self.roots.insert(binder.var, root);
            if part || self.parts.contains(whole) {
                self.parts.insert(binder.var);
            }
        }
    }

    fn collect(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                self.collect_statement(statement);
            }
        });
    }

    fn collect_statement(&mut self, statement: &Statement) {
        match &statement.op {
            Op::Copy(atoms) | Op::Trace { args: atoms, .. } => {
                statement.binders.iter().zip(atoms).for_each(|(binder, atom)| self.alias(binder, atom, false));
            }
            Op::Index { array, .. } | Op::Slice { array, .. } | Op::Transpose { array, .. } => {
                for binder in &statement.binders {
                    self.alias(binder, array, !matches!(binder.ty, Type::Array(_)));
                }
            }
            _ => statement.binders.iter().for_each(|binder| self.bind(binder)),
        }
        match &statement.op {
            Op::Match { scrutinee, arms, .. } => {
                for binder in arms.iter().flat_map(|arm| &arm.binders) {
                    self.alias(binder, scrutinee, true);
                }
            }
            Op::Custom(it) => {
                it.function.params.iter().zip(&it.args).for_each(|(param, arg)| self.alias(param, arg, false));
            }
            Op::Reduce { op, .. } | Op::Scan { op, .. } | Op::Hist { op, .. } => {
                op.params.iter().for_each(|param| self.bind(param));
            }
            Op::Loop(the_loop) => {
                the_loop.carry.iter().for_each(|carry| self.bind(carry));
                if let LoopForm::For { index, .. } = &the_loop.form {
                    self.bind(index);
                }
            }
            Op::WithAccumulators { handles, .. } => handles.iter().for_each(|handle| self.bind(handle)),
            Op::WithLog { handle, .. } => self.bind(handle),
            _ => {}
        }
        for scope in running_scopes(&statement.op) {
            // Axes are the only binders without a type of their own.
            scope.binders.iter().for_each(|var| {
                self.types.entry(*var).or_insert(Type::I64);
            });
            self.collect(scope.block);
        }
    }

    /// Makes the owner of an atom live; returns it if it was not.
    fn use_atom(&mut self, atom: &Atom) -> Option<Var> {
        let Atom::Var(var) = atom else { return None };
        let root = self.root(*var)?;
        self.use_root(root).then_some(root)
    }

    fn use_root(&mut self, root: Var) -> bool {
        let new = self.live.insert(root);
        if new {
            self.log.push(root);
        }
        new
    }

    /// What was made live since the log had that length, and is live still.
    fn added_since(&self, start: usize) -> Vec<Var> {
        let mut added: Vec<Var> = self.log[start..].iter().copied().filter(|root| self.live.contains(root)).collect();
        added.sort_unstable();
        added.dedup();
        added
    }

    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let dying: Vec<Var> = block.results.iter().filter_map(|atom| self.use_atom(atom)).collect();
            self.ends.insert(address(block), dying);
            for statement in block.statements.iter().rev() {
                let deaths = self.statement(statement);
                self.deaths.insert(address(statement), deaths);
            }
        });
    }

    /// A block with binders in front; returns the owners among them that it does not use.
    fn scope(&mut self, scope: &Scope<'_>) -> Vec<Var> {
        self.block(scope.block);
        let owners = scope.binders.iter().copied().filter(|var| self.root(*var) == Some(*var));
        let owners: Vec<Var> = owners.collect();
        owners.into_iter().filter(|var| !self.live.remove(var)).collect()
    }

    fn statement(&mut self, statement: &Statement) -> Deaths {
        let mut deaths = Deaths::default();
        for binder in &statement.binders {
            if self.root(binder.var) == Some(binder.var) && !self.live.remove(&binder.var) {
                deaths.unused.push(binder.var);
            }
        }
        let scopes = running_scopes(&statement.op);
        match shape(&statement.op) {
            Shape::Alternatives => self.alternatives(&scopes, &mut deaths),
            Shape::Sequence => self.sequence(&scopes, &mut deaths),
            Shape::SideBySide => {
                let used = |scope: &Scope<'_>| -> FxHashSet<Var> {
                    let free = chadwick_core::visit::free_variables(scope.block);
                    free.into_iter().filter_map(|var| self.root(var)).collect()
                };
                let sides: Vec<FxHashSet<Var>> = scopes.iter().map(used).collect();
                let mut shared: Vec<Var> = match sides.as_slice() {
                    [left, right] => left.intersection(right).copied().collect(),
                    _ => Vec::new(),
                };
                shared.sort_unstable();
                deaths.after = shared.into_iter().filter(|root| self.use_root(*root)).collect();
                self.sequence(&scopes, &mut deaths);
            }
            Shape::Repeated => self.repeated(&statement.op, &scopes, &mut deaths),
        }
        statement.op.for_each_atom(&mut |atom| deaths.operands.extend(self.use_atom(atom)));
        deaths
    }

    fn sequence(&mut self, scopes: &[Scope<'_>], deaths: &mut Deaths) {
        for scope in scopes.iter().rev() {
            let unused = self.scope(scope);
            deaths.at_entry.push(unused);
        }
        deaths.at_entry.reverse();
    }

    fn alternatives(&mut self, scopes: &[Scope<'_>], deaths: &mut Deaths) {
        let mut used_by = Vec::new();
        for scope in scopes {
            let start = self.log.len();
            let unused = self.scope(scope);
            let added = self.added_since(start);
            added.iter().for_each(|root| {
                self.live.remove(root);
            });
            self.log.truncate(start);
            deaths.at_entry.push(unused);
            used_by.push(added);
        }
        let mut all: Vec<Var> = used_by.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        for (unused, used) in deaths.at_entry.iter_mut().zip(&used_by) {
            unused.extend(all.iter().filter(|root| used.binary_search(root).is_err()));
        }
        all.into_iter().for_each(|root| {
            self.use_root(root);
        });
    }

    fn repeated(&mut self, op: &Op, scopes: &[Scope<'_>], deaths: &mut Deaths) {
        let own: FxHashSet<Var> = scopes.iter().flat_map(|scope| scope.binders.iter().copied()).collect();
        for scope in scopes {
            for var in chadwick_core::visit::free_variables(scope.block) {
                if own.contains(&var) {
                    continue;
                }
                if let Some(root) = self.root(var)
                    && self.use_root(root)
                {
                    deaths.after.push(root);
                }
            }
        }
        let is_while = matches!(op, Op::Loop(_)) && scopes.len() == 2;
        for (at, scope) in scopes.iter().enumerate() {
            if is_while && at == 0 {
                // Behind the condition the carry is needed: by the body, or as the result.
                let carried: Vec<Var> = scope.binders.iter().copied().filter(|var| self.roots.contains_key(var)).collect();
                self.live.extend(&carried);
                self.block(scope.block);
                carried.iter().for_each(|var| {
                    self.live.remove(var);
                });
                deaths.at_entry.push(Vec::new());
            } else {
                let unused = self.scope(scope);
                deaths.at_entry.push(unused);
            }
        }
    }
}
