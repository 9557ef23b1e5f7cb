//! Which forms share a loop.
//!
//! Neighbouring `build`s and `reduce`s over the same space become one loop, if each looks at the arrays of those before it only at its own
//! point: `xs[i]` in iteration `i`. Such a value is still in a register, and an array that is used nowhere else is never stored. This is
//! the vertical and the horizontal fusion of loops that stand side by side. [`schedule`] moves statements so that members of a group
//! become neighbours; [`group_end`] finds the groups again when code is emitted.

use crate::emit::prefix_operator;
use chadwick_core::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Brings together what can share a loop.
pub fn schedule(program: &mut Program, strict: bool) {
    for function in &mut program.functions {
        let body = std::mem::take(&mut function.body);
        function.body = block(body, strict, true);
    }
}

/// `alone` says whether no parallel loop is around.
fn block(block: Block, strict: bool, alone: bool) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let statements = block.statements.into_iter().map(|statement| {
            let alone = alone && statement.op.space().is_empty();
            let op = statement.op.map_blocks(&mut |inner| self::block(inner, strict, alone));
            Statement { op, ..statement }
        });
        let statements: Vec<Statement> = statements.collect();
        let scans = Scans::of(&statements, &block.results, strict);
        let mut waiting = std::collections::VecDeque::from(statements);
        let mut sizes = Sizes::default();
        let mut done = Vec::new();
        while let Some(statement) = waiting.pop_front() {
            if space(&statement.op).is_none() {
                sizes.learn(&statement);
                done.push(statement);
                continue;
            }
            gather(statement, &mut waiting, &mut sizes, &mut done, &scans, alone);
        }
        Block { statements: done, results: block.results }
    })
}

/// Takes from the waiting statements those that can join the first one.
fn gather(
    first: Statement,
    waiting: &mut std::collections::VecDeque<Statement>,
    sizes: &mut Sizes,
    done: &mut Vec<Statement>,
    scans: &Scans,
    alone: bool,
) {
    sizes.learn(&first);
    let mut group = Group::new(&first, scans);
    let mut members = vec![first];
    let (mut before, mut after): (Vec<Statement>, Vec<Statement>) = (Vec::new(), Vec::new());
    let mut delayed: FxHashSet<Var> = FxHashSet::default();
    let mut at = 0;
    let (mut is_apart, mut has_passed) = (false, false);
    // Statements that are looked at but neither moved nor joined stay in the queue, behind the group.
    while at < waiting.len() {
        let statement = &waiting[at];
        let uses_delayed = uses_any(&statement.op, &delayed);
        let may_join = !has_passed || matches!(statement.op, Op::Reduce { .. }) && group.is_used_by(&statement.op);
        if !uses_delayed && may_join && group.accepts(statement, sizes) {
            if alone && group.is_better_apart(&statement.op) {
                is_apart = true;
                break;
            }
            let Some(mut statement) = waiting.remove(at) else { break };
            sizes.learn(&statement);
            group.adapt(&mut statement);
            group.add(&statement);
            members.push(statement);
            continue;
        }
        // Over other loops only sums come that keep an array of the group from being stored.
        let is_passed = |statement: &Statement| {
            let mut adds = FxHashSet::default();
            additions(&statement.op, &mut adds);
            let is_sum =
                |it: &Statement| matches!(it.op, Op::Reduce { .. }) && group.is_used_by(&it.op) && group.accepts(it, sizes);
            adds.is_empty() && waiting.iter().skip(1).any(is_sum)
        };
        let waits = matches!(&statement.op, Op::ArrayLiteral { ty: Type::Prim(_), .. });
        let is_loop = space(&statement.op).is_some();
        if !(waits || is_light(&statement.op) || is_loop && is_passed(statement)) {
            break;
        }
        has_passed |= is_loop;
        let Some(statement) = waiting.remove(at) else { break };
        sizes.learn(&statement);
        match uses_delayed || !is_light(&statement.op) || group.is_used_by(&statement.op) {
            true => {
                delayed.extend(statement.binders.iter().map(|binder| binder.var));
                after.push(statement);
            }
            false => before.push(statement),
        }
        at = 0;
    }
    done.append(&mut before);
    done.append(&mut members);
    if is_apart {
        // A statement that does nothing ends the group for whoever looks for it later.
        done.push(Statement { binders: Vec::new(), op: Op::Copy(Vec::new()), span: Default::default() });
    }
    // What was delayed may start a group of its own only in its old place.
    after.into_iter().rev().for_each(|statement| waiting.push_front(statement));
}

/// The end of the group that starts at a statement: behind its last member.
pub fn group_end(statements: &[Statement], start: usize, scans: &Scans) -> usize {
    let Some(first) = statements.get(start).filter(|first| space(&first.op).is_some()) else { return start + 1 };
    let mut group = Group::new(first, scans);
    let sizes = Sizes::default();
    let mut end = start + 1;
    while let Some(next) = statements.get(end).filter(|next| group.accepts(next, &sizes)) {
        group.add(next);
        end += 1;
    }
    end
}

/// Arrays among the results of a group that are only read at their own point, inside the group.
pub fn virtual_arrays(members: &[Statement], rest: &[Statement], results: &[Atom]) -> FxHashSet<Var> {
    let mut candidates: FxHashSet<Var> = FxHashSet::default();
    for member in members {
        if let (Op::Build { .. } | Op::Scan { .. }, Some(space)) = (&member.op, space(&member.op)) {
            let scalar = |binder: &&Binder| matches!(binder.ty.peel(space.len()), Some(Type::Prim(_)));
            candidates.extend(member.binders.iter().filter(scalar).map(|binder| binder.var));
        }
    }
    if candidates.is_empty() {
        return candidates;
    }
    let mut elsewhere = FxHashSet::default();
    let mut note = |var: Var| {
        elsewhere.insert(var);
    };
    for statement in rest {
        outside_uses(&statement.op, &[], &mut note);
    }
    for result in results {
        if let Atom::Var(var) = result {
            note(*var);
        }
    }
    for member in members {
        let axes: Vec<Var> = space(&member.op).unwrap_or_default().iter().map(|axis| axis.var).collect();
        outside_uses(&member.op, &axes, &mut note);
    }
    candidates.retain(|var| !elsewhere.contains(var));
    candidates
}

/// All variables used, except in `dim` and as whole arrays indexed by exactly `axes`.
pub fn outside_uses(op: &Op, axes: &[Var], note: &mut dyn FnMut(Var)) {
    let skipped = match op {
        Op::Dim { array: Atom::Var(_), .. } => return,
        Op::Index { array: Atom::Var(_), indices } => is_point(indices, axes) && indices.len() == axes.len(),
        _ => false,
    };
    let mut first = skipped;
    op.for_each_atom(&mut |atom| {
        // The array is the first operand of an index.
        if std::mem::take(&mut first) {
            return;
        }
        if let Atom::Var(var) = atom {
            note(*var);
        }
    });
    for scope in op.scopes() {
        for statement in &scope.block.statements {
            outside_uses(&statement.op, axes, note);
        }
        for result in &scope.block.results {
            if let Atom::Var(var) = result {
                note(*var);
            }
        }
    }
}

/// Whether the indices begin with the axes, in order.
fn is_point(indices: &[Atom], axes: &[Var]) -> bool {
    !axes.is_empty() && indices.len() >= axes.len() && axes.iter().zip(indices).all(|(axis, index)| *index == Atom::Var(*axis))
}

fn space(op: &Op) -> Option<&[Axis]> {
    match op {
        Op::Build { space, .. } | Op::Reduce { space, .. } => Some(space),
        Op::Scan { axis, op, .. } if op.params.iter().all(|param| param.ty.as_prim().is_some()) => {
            Some(std::slice::from_ref(axis))
        }
        _ => None,
    }
}

/// Whether an iteration is a few operations: nothing is lost if the loop does not run in vectors.
fn is_short(op: &Op) -> bool {
    const FEW: usize = 12;
    op.scopes().iter().all(|scope| {
        let light = |statement: &Statement| match &statement.op {
            Op::Prim(op, _) => op.is_light(),
            Op::If { then, otherwise, .. } => then.statements.is_empty() && otherwise.statements.is_empty(),
            op => is_light(op),
        };
        scope.block.statements.len() <= FEW && scope.block.statements.iter().all(light)
    })
}

/// Whether there are loops in each iteration.
fn has_loops(op: &Op) -> bool {
    let is_loop = |statement: &Statement| matches!(statement.op, Op::Loop(_)) || !statement.op.space().is_empty();
    body_of(op).is_some_and(|body| body.statements.iter().any(is_loop))
}

/// Whether an iteration is straight, with operations that are dear one by one.
fn is_mathematics(op: &Op) -> bool {
    let is_dear = |statement: &Statement| matches!(&statement.op, Op::Prim(op, _) if op.is_heavy());
    body_of(op).is_some_and(|body| {
        body.statements.iter().all(|statement| statement.op.scopes().is_empty()) && body.statements.iter().any(is_dear)
    })
}

fn body_of(op: &Op) -> Option<&Block> {
    match op {
        Op::Build { body, .. } | Op::Reduce { body, .. } => Some(body),
        _ => None,
    }
}

/// Operations that cost little and keep no reference: they can be moved.
fn is_light(op: &Op) -> bool {
    matches!(op, Op::Prim(..) | Op::Dim { .. } | Op::Copy(_) | Op::Index { .. } | Op::Slice { .. } | Op::Transpose { .. })
}

fn uses_any(op: &Op, vars: &FxHashSet<Var>) -> bool {
    if vars.is_empty() {
        return false;
    }
    // The sizes of a space are not looked at: a member takes those of its group.
    let mut used = false;
    let mut sizes: Vec<*const Atom> = Vec::new();
    for axis in space(op).unwrap_or_default() {
        sizes.push(std::ptr::from_ref(&axis.size));
    }
    op.for_each_atom(&mut |atom| {
        if let Atom::Var(var) = atom
            && !sizes.contains(&std::ptr::from_ref(atom))
        {
            used |= vars.contains(var);
        }
    });
    used || op.scopes().iter().any(|scope| chadwick_core::visit::free_variables(scope.block).iter().any(|var| vars.contains(var)))
}

/// What an operation adds to, or gives to a function that may.
fn additions(op: &Op, found: &mut FxHashSet<Var>) {
    let mut note = |atom: &Atom| {
        if let Atom::Var(var) = atom {
            found.insert(*var);
        }
    };
    match op {
        Op::Accumulate { handle, .. } | Op::Log { handle, .. } => note(handle),
        Op::Call { .. } | Op::Apply { .. } => op.for_each_atom(&mut note),
        _ => {}
    }
    op.scopes().iter().flat_map(|scope| &scope.block.statements).for_each(|statement| additions(&statement.op, found));
}

/// The scans of a block that are best alone: they can run in vectors, and their arrays are stored because more than one statement reads
/// them. A scan whose array is never stored shares the loop of the total that reads it.
#[derive(Default)]
pub struct Scans {
    alone: FxHashSet<Var>,
    /// Floats are added in the order of the source.
    strict: bool,
}

impl Scans {
    pub fn of(statements: &[Statement], results: &[Atom], strict: bool) -> Scans {
        let in_vectors =
            |statement: &&Statement| matches!(&statement.op, Op::Scan { op, .. } if prefix_operator(op, strict).is_some());
        let arrays: Vec<Var> = statements.iter().filter(in_vectors).flat_map(|it| &it.binders).map(|binder| binder.var).collect();
        let is_stored = |array: &Var| {
            let readers = statements.iter().filter(|it| uses_any(&it.op, &FxHashSet::from_iter([*array]))).count();
            readers > 1 || results.contains(&Atom::Var(*array))
        };
        Scans { alone: arrays.into_iter().filter(is_stored).collect(), strict }
    }
}

struct Group<'a> {
    sizes: Vec<Atom>,
    /// What members bind: arrays may be looked at point by point, totals not at all.
    arrays: FxHashSet<Var>,
    totals: FxHashSet<Var>,
    /// Accumulators and logs that members add to. In one loop the turns of two members would alternate, so where the order counts two members
    /// have none in common.
    added_to: FxHashSet<Var>,
    /// A scan makes the loop run one element at a time: it shares it only with short ones. A scan that can run in vectors does so without
    /// totals.
    has_scan: bool,
    has_vector_scan: bool,
    has_total: bool,
    /// Members with loops inside them, and members with nothing but mathematics.
    has_loops: bool,
    has_mathematics: bool,
    is_short: bool,
    scans: &'a Scans,
}

impl<'a> Group<'a> {
    fn new(first: &Statement, scans: &'a Scans) -> Group<'a> {
        let sizes = space(&first.op).unwrap_or_default().iter().map(|axis| axis.size.clone()).collect();
        let mut group = Group {
            sizes,
            arrays: FxHashSet::default(),
            totals: FxHashSet::default(),
            added_to: FxHashSet::default(),
            has_scan: false,
            has_vector_scan: false,
            has_total: false,
            has_loops: false,
            has_mathematics: false,
            is_short: true,
            scans,
        };
        group.add(first);
        group
    }

    fn add(&mut self, member: &Statement) {
        self.has_scan |= matches!(member.op, Op::Scan { .. });
        self.has_vector_scan |= self.is_vector_scan(member);
        self.has_total |= matches!(member.op, Op::Reduce { .. });
        self.has_loops |= has_loops(&member.op);
        self.has_mathematics |= is_mathematics(&member.op);
        self.is_short &= is_short(&member.op);
        if self.scans.strict {
            additions(&member.op, &mut self.added_to);
        }
        // Rows can be read where they are, if the array exists before the loop: all its sizes are stated.
        let stated = |size: &Size| matches!(size, Size::Known(atom) if !matches!(atom, Atom::Const(Const::I64(..0))));
        for binder in &member.binders {
            let known = match &member.op {
                Op::Build { space, inner, .. } => {
                    let rank = binder.ty.rank() - space.len().min(binder.ty.rank());
                    rank == 0
                        || inner.iter().filter(|sizes| sizes.len() == rank).count() == inner.len()
                            && inner.iter().flatten().all(stated)
                }
                Op::Scan { .. } => true,
                _ => false,
            };
            match known {
                true => self.arrays.insert(binder.var),
                false => self.totals.insert(binder.var),
            };
        }
    }

    fn is_vector_scan(&self, statement: &Statement) -> bool {
        statement.binders.iter().any(|binder| self.scans.alone.contains(&binder.var))
    }

    /// Gives a new member the group's own names for its sizes.
    fn adapt(&self, member: &mut Statement) {
        let space = match &mut member.op {
            Op::Build { space, .. } | Op::Reduce { space, .. } => space.as_mut_slice(),
            Op::Scan { axis, .. } => std::slice::from_mut(axis),
            _ => return,
        };
        for (axis, size) in space.iter_mut().zip(&self.sizes) {
            axis.size = size.clone();
        }
    }

    /// Whether one of the two is a loop of mathematics, which runs in vectors by itself, but not around the loops of the other.
    fn is_better_apart(&self, op: &Op) -> bool {
        (self.has_loops && is_mathematics(op)) || (self.has_mathematics && has_loops(op))
    }

    fn is_used_by(&self, op: &Op) -> bool {
        uses_any(op, &self.arrays) || uses_any(op, &self.totals)
    }

    /// Whether the operation can run in the same loop, behind the members so far.
    fn accepts(&self, statement: &Statement, known: &Sizes) -> bool {
        let op = &statement.op;
        let Some(space) = space(op) else { return false };
        let same = space.len() == self.sizes.len()
            && space.iter().zip(&self.sizes).all(|(axis, size)| known.representative(&axis.size) == known.representative(size));
        if !same || uses_any(op, &self.totals) || uses_any(op, &self.added_to) {
            return false;
        }
        if (self.has_scan || matches!(op, Op::Scan { .. })) && !(self.is_short && is_short(op)) {
            return false;
        }
        let (is_vector_scan, is_total) = (self.is_vector_scan(statement), matches!(op, Op::Reduce { .. }));
        if (self.has_vector_scan && (is_total || is_vector_scan)) || (is_vector_scan && self.has_total) {
            return false;
        }
        // A total that is an array may be built in the memory of its start, which an earlier member may be reading.
        if let Op::Reduce { op, .. } = op
            && op.params.iter().any(|param| param.ty.as_prim().is_none())
        {
            return false;
        }
        let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
        let mut own_operands_fit = true;
        let size_atoms: Vec<*const Atom> = space.iter().map(|axis| std::ptr::from_ref(&axis.size)).collect();
        op.for_each_atom(&mut |atom| {
            if let Atom::Var(var) = atom
                && !size_atoms.contains(&std::ptr::from_ref(atom))
            {
                own_operands_fit &= !self.arrays.contains(var);
            }
        });
        own_operands_fit && op.scopes().iter().all(|scope| self.pointwise(scope.block, &axes))
    }

    fn pointwise(&self, block: &Block, axes: &[Var]) -> bool {
        let free = |atom: &Atom| !matches!(atom, Atom::Var(var) if self.arrays.contains(var));
        block.results.iter().all(free)
            && block.statements.iter().all(|statement| {
                if let Op::Index { array, indices } = &statement.op
                    && !free(array)
                {
                    return is_point(indices, axes);
                }
                let mut fits = true;
                statement.op.for_each_atom(&mut |atom| fits &= free(atom));
                fits && statement.op.scopes().iter().all(|scope| self.pointwise(scope.block, axes))
            })
    }
}

/// Names for the same size.
#[derive(Default)]
struct Sizes {
    same: FxHashMap<Var, Atom>,
    dims: FxHashMap<Var, Vec<Atom>>,
}

impl Sizes {
    fn representative(&self, atom: &Atom) -> Atom {
        let mut here = atom;
        while let Atom::Var(var) = here
            && let Some(next) = self.same.get(var)
        {
            here = next;
        }
        here.clone()
    }

    fn learn(&mut self, statement: &Statement) {
        match &statement.op {
            Op::Copy(atoms) => {
                for (binder, atom) in statement.binders.iter().zip(atoms) {
                    let atom = self.representative(atom);
                    if atom != Atom::Var(binder.var) {
                        self.same.insert(binder.var, atom);
                    }
                }
            }
            // For loops a negative size and no elements are the same.
            Op::Dim { array: Atom::Var(array), axis } => {
                if let (Some(size), [binder]) =
                    (self.dims.get(array).and_then(|dims| dims.get(*axis)), statement.binders.as_slice())
                {
                    let size = self.representative(size);
                    self.same.insert(binder.var, size);
                }
            }
            Op::Build { .. } | Op::Scan { .. } => {
                let dims: Vec<Atom> = space(&statement.op).unwrap_or_default().iter().map(|axis| axis.size.clone()).collect();
                for binder in &statement.binders {
                    self.dims.insert(binder.var, dims.clone());
                }
            }
            _ => {}
        }
    }
}
