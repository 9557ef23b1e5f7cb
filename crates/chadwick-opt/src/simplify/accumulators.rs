//! Accumulators that need not be: what a parallel loop adds at its own indices is a build, what it adds in one place is a sum.
//!
//! A loop that runs over an index space and adds `v` at a path becomes the array of all `v`, if the path names every axis once and nothing else
//! that changes; where the path leaves axes out and there is nothing else to do in the loop, those are summed over. Contributions
//! wander outwards, from loop to loop, until they reach the accumulator: what arrives there whole is added to its initial value.

use super::shifts::take_factor;
use super::{Simplify, Step};
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Dim, Element, Lambda, Op, PathStep, Prim, PrimOp, Size, SliceDim,
    Statement, Type, Var,
};
use chadwick_source::Span;
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// Something to be added to a part of an accumulator; fewer dimensions than it has mean the whole of the others.
pub(super) struct Contribution {
    pub handle: Var,
    pub dims: Vec<SliceDim>,
    /// How far beside the index of each dimension it goes.
    pub shifts: Vec<Shift>,
    /// Whether it is made under a condition, outside of which its place may not exist.
    pub conditional: bool,
    /// Sizes of loops that it was made in. Unless all of them are positive there is nothing to add, and its place may not exist.
    pub sizes_around: Vec<Atom>,
    pub value: Atom,
    pub span: Span,
}

/// So far beside an index; beyond the end from the start on, if it wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shift {
    pub by: i64,
    pub wraps: bool,
}

/// The scope of accumulators, on its way to becoming smaller.
struct Scope {
    handles: Vec<Binder>,
    init: Vec<Atom>,
    /// Statements that go in front of the scope.
    before: Vec<Statement>,
    /// Statements that stay in it, and the variables they bind.
    kept: Vec<Statement>,
    kept_vars: FxHashSet<Var>,
    /// What each accumulator starts from now: its initial value, with what was added to all of it.
    sums: Vec<Atom>,
    /// What goes to all of an accumulator but is made from what is accumulated here: which one, and where it stands.
    late: Vec<(usize, usize)>,
    /// Whether loops of these sizes run at all.
    conditions: Vec<(Vec<Atom>, Atom)>,
    changed: bool,
}

impl Scope {
    fn keep(&mut self, statement: Statement) {
        self.kept_vars.extend(statement.binders.iter().map(|binder| binder.var));
        self.kept.push(statement);
    }

    /// Places a statement without effects.
    fn place(&mut self, statement: Statement) {
        match uses(&statement.op, &self.kept_vars) {
            true => self.keep(statement),
            false => self.before.push(statement),
        }
    }
}

impl Simplify {
    pub(super) fn with_accumulators(&mut self, handles: Vec<Binder>, init: Vec<Atom>, body: Block) -> Step {
        for (handle, init) in handles.iter().zip(&init) {
            // A handle has the shape of what it starts from.
            for (axis, size) in self.facts.shape(init).into_iter().enumerate() {
                if let Some(size) = size {
                    self.facts.set_size(handle.var, axis, size);
                }
            }
        }
        let own: FxHashSet<Var> = handles.iter().map(|handle| handle.var).collect();
        // Accumulators of zeros that one statement adds to.
        let single: FxHashSet<Var> = handles
            .iter()
            .zip(&init)
            .filter(|(handle, init)| self.is_zero(init) && users(&body.statements, handle.var) == 1)
            .map(|(handle, _)| handle.var)
            .collect();
        let mut scope = Scope {
            sums: init.clone(),
            handles,
            init,
            before: Vec::new(),
            kept: Vec::new(),
            kept_vars: FxHashSet::default(),
            late: Vec::new(),
            conditions: Vec::new(),
            changed: false,
        };
        for statement in body.statements {
            if !uses(&statement.op, &own) {
                scope.place(statement);
                continue;
            }
            let mut lifted = Lifted::default();
            if self.lift(&statement, &own, &mut lifted).is_some() {
                scope.changed |= matches!(statement.op, Op::Build { .. });
            } else {
                let (statement, contributions) = self.lift_partly(statement, &single, &[], &FxHashSet::default());
                scope.keep(statement);
                lifted = Lifted { contributions, ..Lifted::default() };
            }
            lifted.statements.into_iter().for_each(|statement| scope.place(statement));
            lifted.guarded.into_iter().for_each(|statement| scope.keep(statement));
            lifted.contributions.into_iter().for_each(|contribution| self.contribute(contribution, &mut scope));
        }
        self.close(scope, body.results)
    }

    /// Adds to what an accumulator starts from, where that can be; else in the scope.
    fn contribute(&mut self, contribution: Contribution, scope: &mut Scope) {
        let at = scope.handles.iter().position(|handle| handle.var == contribution.handle);
        let depends = matches!(contribution.value, Atom::Var(var) if scope.kept_vars.contains(&var));
        let (Some(at), is_whole) = (at, self.is_whole(&contribution)) else { return self.keep_addition(contribution, scope) };
        let sum = match (depends, is_whole) {
            (false, true) => {
                let (sum, value) = (scope.sums[at].clone(), contribution.value.clone());
                Some(self.sum(sum, value, &scope.init[at], &mut scope.before, contribution.span))
            }
            (false, false) => self.add_to_literal(&scope.sums[at], &contribution, &mut scope.before),
            (true, true) => {
                scope.late.push((at, scope.kept.len()));
                None
            }
            (true, false) => None,
        };
        match sum {
            Some(sum) => {
                scope.changed = true;
                scope.sums[at] = sum;
            }
            None if is_whole => scope.keep(accumulate(contribution)),
            None => self.keep_addition(contribution, scope),
        }
    }

    /// Adds in the scope, if the loops that it was made in run at all.
    fn keep_addition(&mut self, contribution: Contribution, scope: &mut Scope) {
        if contribution.sizes_around.is_empty() {
            return scope.keep(accumulate(contribution));
        }
        let span = contribution.span;
        let condition = match scope.conditions.iter().find(|(sizes, _)| *sizes == contribution.sizes_around) {
            Some((_, condition)) => condition.clone(),
            None => {
                let sizes = contribution.sizes_around.clone();
                let condition = self.are_positive(&sizes, span, scope);
                scope.conditions.push((sizes, condition.clone()));
                condition
            }
        };
        let addition = accumulate(contribution);
        match scope.kept.last_mut().map(|statement| &mut statement.op) {
            Some(Op::If { condition: last, then, .. }) if *last == condition => then.statements.push(addition),
            _ => {
                let then = Block { statements: vec![addition], results: Vec::new() };
                let op = Op::If { condition, then, otherwise: Block::default() };
                scope.keep(Statement { binders: Vec::new(), op, span });
            }
        }
    }

    fn are_positive(&mut self, sizes: &[Atom], span: Span, scope: &mut Scope) -> Atom {
        let mut statements = Vec::new();
        let mut all = Atom::bool(true);
        for size in sizes {
            let compare = PrimOp::Compare(CompareOp::Less, Prim::I64);
            let is_positive = self.push_prim(&mut statements, compare, vec![Atom::i64(0), size.clone()], span);
            all = self.push_prim(&mut statements, PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![all, is_positive], span);
        }
        statements.into_iter().for_each(|statement| scope.place(statement));
        all
    }

    /// What is left of a scope whose body gives these results.
    fn close(&mut self, scope: Scope, mut results: Vec<Atom>) -> Step {
        let Scope { handles, init, mut before, mut kept, sums, mut late, mut changed, .. } = scope;
        // An accumulator of zeros that gets all at once and nothing else is that.
        let used: Vec<usize> = handles.iter().map(|handle| users(&kept, handle.var)).collect();
        late.retain(|(at, _)| used[*at] == 1 && sums[*at] == init[*at] && self.is_zero(&init[*at]));
        changed |= !late.is_empty() || used.contains(&0);
        if !changed {
            let statements = before.into_iter().chain(kept).collect();
            return Step::Op(Op::WithAccumulators { handles, init, body: Block { statements, results } });
        }
        if kept.is_empty() {
            return Step::Splice(Block { statements: before, results: sums.into_iter().chain(results).collect() });
        }
        let own_results = results.len();
        let mut whole: Vec<Option<usize>> = vec![None; handles.len()];
        for (at, place) in &late {
            if let Op::Accumulate { value, .. } = &kept[*place].op {
                whole[*at] = Some(results.len());
                results.push(value.clone());
            }
        }
        let mut position = 0..;
        kept.retain(|_| {
            let position = position.next();
            !late.iter().any(|(_, place)| Some(*place) == position)
        });
        // What nobody adds to any more is its sum so far; the others stay open.
        let open: Vec<usize> = (0..handles.len()).filter(|at| whole[*at].is_none() && used[*at] > 0).collect();
        let atoms = open.iter().map(|at| &sums[*at]).chain(&results);
        let types: Vec<Type> = atoms.map(|atom| self.facts.type_of(atom).unwrap_or(Type::BOOL)).collect();
        let binders: Vec<Binder> = types.into_iter().map(|ty| self.fresh("", ty)).collect();
        let atom = |at: usize| Atom::Var(binders[at].var);
        let finals = (0..handles.len()).map(|at| match (whole[at], open.iter().position(|open| *open == at)) {
            (Some(result), _) => atom(open.len() + result),
            (None, Some(place)) => atom(place),
            (None, None) => sums[at].clone(),
        });
        let finals: Vec<Atom> = finals.chain((0..own_results).map(|at| atom(open.len() + at))).collect();
        // It is not looked at again: there is nothing more to lift.
        let init = open.iter().map(|at| sums[*at].clone()).collect();
        let handles: Vec<Binder> = open.iter().map(|at| handles[*at].clone()).collect();
        let op = Op::WithAccumulators { handles, init, body: Block { statements: kept, results } };
        before.push(Statement { binders, op, span: Span::default() });
        Step::Splice(Block { statements: before, results: finals })
    }

    /// A statement that adds to accumulators, as statements without effects and contributions after them.
    fn lift(&mut self, statement: &Statement, own: &FxHashSet<Var>, out: &mut Lifted) -> Option<()> {
        match &statement.op {
            Op::Accumulate { .. } => self.lift_accumulate(statement, out),
            Op::Build { space, body, inner } => self.lift_build(statement, space, body, inner, own, out),
            _ => None,
        }
    }

    pub(super) fn lift_accumulate(&self, statement: &Statement, out: &mut Lifted) -> Option<()> {
        match &statement.op {
            Op::Accumulate { handle: Atom::Var(handle), path, value } => {
                // Sums of other things than numbers have no operation of their own.
                let content = match self.facts.type_of(&Atom::Var(*handle))? {
                    Type::Accumulator(content) => content,
                    _ => return None,
                };
                element(&content).filter(|prim| *prim != Prim::Bool)?;
                let dims = match path.as_slice() {
                    [] => Vec::new(),
                    [PathStep::Index(indices)] => indices.iter().cloned().map(SliceDim::Index).collect(),
                    [PathStep::Slice(dims)] => dims.clone(),
                    _ => return None,
                };
                let shifts = vec![Shift::default(); dims.len()];
                let (value, span) = (value.clone(), statement.span);
                let contribution =
                    Contribution { handle: *handle, dims, shifts, conditional: false, sizes_around: Vec::new(), value, span };
                out.contributions.push(contribution);
                Some(())
            }
            _ => None,
        }
    }

    /// A loop that stays gives at least the arrays of what it, or a loop inside it, adds at the indices of all loops around and nobody else
    /// adds to.
    fn lift_partly(
        &mut self,
        statement: Statement,
        single: &FxHashSet<Var>,
        around: &[Axis],
        local: &FxHashSet<Var>,
    ) -> (Statement, Vec<Contribution>) {
        let Statement { mut binders, op: Op::Build { space, mut body, mut inner }, span } = statement else {
            return (statement, Vec::new());
        };
        let axes = [around, space.as_slice()].concat();
        let mut local = local.clone();
        local.extend(space.iter().map(|axis| axis.var));
        local.extend(body.statements.iter().flat_map(|statement| &statement.binders).map(|binder| binder.var));
        let in_order: Vec<Option<usize>> = (0..axes.len()).map(Some).collect();
        let all = std::mem::take(&mut body.statements);
        let single: FxHashSet<Var> = single.iter().copied().filter(|handle| users(&all, *handle) == 1).collect();
        let mut contributions = Vec::new();
        for inside in all {
            let mut lifted = Lifted::default();
            if matches!(inside.op, Op::Build { .. }) {
                let (inside, lifted) = self.lift_partly(inside, &single, &axes, &local);
                body.statements.push(inside);
                contributions.extend(lifted);
            } else if self.lift_accumulate(&inside, &mut lifted).is_some()
                && lifted.contributions.iter().all(|contribution| {
                    let ty = self.facts.type_of(&contribution.value);
                    single.contains(&contribution.handle)
                        && ty.is_some_and(|ty| ty.as_prim().is_some())
                        && self.axes_of(contribution, &axes, &local).is_some_and(|places| places == in_order)
                })
            {
                contributions.extend(lifted.contributions);
            } else {
                body.statements.push(inside);
            }
        }
        for contribution in &mut contributions {
            let ty = self.facts.type_of(&contribution.value).unwrap_or(Type::BOOL).any_sizes();
            inner.push(self.inner_sizes(contribution, ty.rank()));
            let array = self.fresh("", ty.array(vec![Dim::Any; space.len()]));
            body.results.push(std::mem::replace(&mut contribution.value, Atom::Var(array.var)));
            binders.push(array);
            for (position, dim) in contribution.dims.iter_mut().enumerate().skip(around.len()).take(space.len()) {
                let count = self.facts.size(contribution.handle, position).unwrap_or_else(|| axes[position].size.clone());
                *dim = SliceDim::Range { start: Atom::i64(0), count, stride: Atom::i64(1) };
            }
        }
        (Statement { binders, op: Op::Build { space, body, inner }, span }, contributions)
    }

    /// The statements of a block, and what they add; loops only if they are wanted.
    pub(super) fn lift_all(&mut self, block: &Block, own: &FxHashSet<Var>, loops: bool) -> Option<Lifted> {
        let mut lifted = Lifted::default();
        for statement in &block.statements {
            // A call that is given a handle accumulates, too.
            if !(accumulates(&statement.op) || uses(&statement.op, own)) {
                lifted.statements.push(statement.clone());
            } else if matches!(statement.op, Op::If { .. }) {
                self.lift_if(statement, own, &mut lifted)?;
            } else if loops {
                self.lift(statement, own, &mut lifted)?;
            } else {
                self.lift_accumulate(statement, &mut lifted)?;
            }
        }
        Some(lifted)
    }

    fn lift_build(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        body: &Block,
        inner: &[Vec<Size>],
        own: &FxHashSet<Var>,
        out: &mut Lifted,
    ) -> Option<()> {
        let mut inside = self.lift_all(body, own, true)?;
        if !inside.guarded.is_empty() {
            return None;
        }
        self.find_shifts(space, &mut inside);
        self.drop_conditions(space, &mut inside);
        let mut local: FxHashSet<Var> = space.iter().map(|axis| axis.var).collect();
        local.extend(inside.statements.iter().flat_map(|statement| &statement.binders).map(|binder| binder.var));
        let places: Vec<Vec<Option<usize>>> =
            inside.contributions.iter().map(|contribution| self.axes_of(contribution, space, &local)).collect::<Option<_>>()?;
        for (contribution, places) in inside.contributions.iter_mut().zip(&places) {
            if !self.is_there(contribution, places) {
                let sizes = space.iter().map(|axis| self.facts.resolve(&axis.size)).filter(|size| !is_positive(size));
                contribution.sizes_around.extend(sizes);
            }
        }
        let missing = |places: &[Option<usize>]| space.len() - places.iter().flatten().count();
        let is_number =
            |contribution: &Contribution| self.facts.type_of(&contribution.value).is_some_and(|ty| ty.as_prim().is_some());
        let both = || inside.contributions.iter().zip(&places);
        // A shift is a matter of numbers that go to every place, or nearly.
        let can_shift = |(contribution, places): (&Contribution, &Vec<Option<usize>>)| {
            let is_beside = self.is_beside(contribution, places, space);
            let is_all = missing(places) == 0 && places.len() == space.len();
            !(is_beside || contribution.conditional) || (is_number(contribution) && (is_all || !is_beside && missing(places) > 0))
        };
        if !both().all(can_shift) {
            return None;
        }
        let is_sure = both().all(|(contribution, places)| !contribution.conditional || missing(places) == 0);
        if places.iter().all(|places| missing(places) == 0) {
            self.as_build(statement, space, body, inner, inside, &places, out)
        } else if is_sure && statement.binders.is_empty() && inside.contributions.len() == 1 {
            let contribution = inside.contributions.pop()?;
            self.as_sum(statement, space, inside.statements, contribution, &places[0], out)
        } else {
            // Arrays over the space are made anyway; what goes to one place is one more, and summed.
            let fits = both().all(|(contribution, places)| missing(places) == 0 || is_number(contribution));
            let makes_arrays = !statement.binders.is_empty() || places.iter().any(|places| missing(places) == 0);
            let goes_apart = |contribution: &Contribution, places: &[Option<usize>]| {
                contribution.conditional && missing(places) > 0 || (1..space.len()).contains(&missing(places))
            };
            if !(fits && makes_arrays) {
                return None;
            }
            if both().any(|(contribution, places)| goes_apart(contribution, places)) {
                // Only where additions to other places of the same array stand in the way.
                let is_shared = inside
                    .contributions
                    .iter()
                    .any(|one| inside.contributions.iter().any(|other| one.handle == other.handle && one.dims != other.dims));
                if !is_shared {
                    return None;
                }
            }
            self.as_build(statement, space, body, inner, inside, &places, out)
        }
    }

    /// For each dimension of a contribution, the axis that runs over it; `None` if it changes in another way.
    fn axes_of(&self, contribution: &Contribution, space: &[Axis], local: &FxHashSet<Var>) -> Option<Vec<Option<usize>>> {
        let is_local = |atom: &Atom| matches!(atom, Atom::Var(var) if local.contains(var));
        if contribution.sizes_around.iter().any(is_local) {
            return None;
        }
        let mut places = Vec::new();
        for (position, dim) in contribution.dims.iter().enumerate() {
            let place = match dim {
                SliceDim::Range { start, count, stride } => {
                    if [start, count, stride].into_iter().any(is_local) {
                        return None;
                    }
                    None
                }
                SliceDim::Index(index) => match space.iter().position(|axis| *index == Atom::Var(axis.var)) {
                    Some(axis) => {
                        let size = self.facts.size(contribution.handle, position)?;
                        let own_size = self.facts.resolve(&space[axis].size);
                        if places.contains(&Some(axis)) || !self.is_near(&own_size, &size) {
                            return None;
                        }
                        Some(axis)
                    }
                    None if is_local(index) => return None,
                    None => None,
                },
            };
            places.push(place);
        }
        Some(places)
    }

    /// Whether what a loop adds at its own indices and at others goes to places that exist, even if the loop does not run.
    fn is_there(&self, contribution: &Contribution, places: &[Option<usize>]) -> bool {
        contribution.dims.iter().enumerate().all(|(position, dim)| match dim {
            _ if places[position].is_some() => true,
            SliceDim::Index(index) => {
                let size = self.facts.size(contribution.handle, position);
                contribution.shifts[position] == Shift::default()
                    && self.facts.is_ordered(&Atom::i64(0), index, false)
                    && size.is_some_and(|size| self.facts.is_ordered(index, &size, true))
            }
            SliceDim::Range { .. } => self.is_all_of(contribution, position),
        })
    }

    /// What names every axis becomes a result of the build, and is added afterwards. What goes to one place is one more, whose sum is added. Where
    /// something names some of the axes, all that names fewer has an accumulator over those it names.
    #[expect(clippy::too_many_arguments, reason = "the parts of one form")]
    fn as_build(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        body: &Block,
        inner: &[Vec<Size>],
        mut inside: Lifted,
        places: &[Vec<Option<usize>>],
        out: &mut Lifted,
    ) -> Option<()> {
        let span = statement.span;
        let (mut binders, mut results, mut sizes) = (statement.binders.clone(), body.results.clone(), inner.to_vec());
        let mut after = Vec::new();
        let mut rows = Vec::new();
        let has_factors = self.share_numbers(&inside, places, space);
        let named = |places: &[Option<usize>]| places.iter().flatten().count();
        let has_rows = places.iter().any(|places| (1..space.len()).contains(&named(places)));
        for (mut contribution, places) in inside.contributions.into_iter().zip(places) {
            let ty = self.facts.type_of(&contribution.value)?;
            if has_rows && named(places) < space.len() {
                let row = self.row_of(&contribution, places, space, out)?;
                inside.statements.push(row.addition.clone());
                after.push((contribution, places, row.whole.clone(), None));
                rows.push(row);
                continue;
            }
            sizes.push(self.inner_sizes(&contribution, ty.rank()));
            let whole = self.fresh("", ty.any_sizes().array(vec![Dim::Any; space.len()]));
            binders.push(whole.clone());
            // Multiples of one number that go to several places beside each other are one array, and multiplied where it is read.
            let factor = match has_factors && named(places) == space.len() && places.len() == space.len() {
                true => take_factor(&mut contribution.value, space, &inside.statements),
                false => None,
            };
            results.push(contribution.value.clone());
            after.push((contribution, places, whole, factor));
        }
        let op = Op::Build { space: space.to_vec(), body: Block { statements: inside.statements, results }, inner: sizes };
        let build = Statement { binders, op, span };
        out.statements.push(if rows.is_empty() { build } else { self.with_rows(build, rows) });
        for (contribution, places, whole, factor) in after {
            if named(places) < space.len() {
                let value = match has_rows {
                    true => Atom::Var(whole.var),
                    false => self.sum_of(&whole, space, span, out)?,
                };
                let contribution = Contribution { dims: over_axes(&contribution, places, space), value, ..contribution };
                match contribution.conditional {
                    true => self.guard(contribution, out)?,
                    false => out.contributions.push(contribution),
                }
                continue;
            }
            if factor.is_some() || self.is_beside(&contribution, places, space) {
                let moved = self.shifted(&whole, &contribution, places, space, factor, out)?;
                out.contributions.push(moved);
                continue;
            }
            // The array has the axes of the space in front; the accumulator may want them elsewhere.
            let own_rank = whole.ty.rank() - space.len();
            let mut order = Vec::new();
            let mut dims = Vec::new();
            let mut own = space.len()..space.len() + own_rank;
            for (dim, place) in contribution.dims.iter().zip(places) {
                match place {
                    Some(axis) => {
                        order.push(*axis);
                        let count = space[*axis].size.clone();
                        dims.push(SliceDim::Range { start: Atom::i64(0), count, stride: Atom::i64(1) });
                    }
                    None => {
                        if matches!(dim, SliceDim::Range { .. }) {
                            order.push(own.next()?);
                        }
                        dims.push(dim.clone());
                    }
                }
            }
            order.extend(own);
            let value = if order.iter().enumerate().all(|(to, from)| to == *from) {
                Atom::Var(whole.var)
            } else {
                let moved = self.fresh("", whole.ty.clone());
                let op = Op::Transpose { array: Atom::Var(whole.var), permutation: order };
                out.statements.push(Statement { binders: vec![moved.clone()], op, span });
                Atom::Var(moved.var)
            };
            out.contributions.push(Contribution {
                shifts: vec![Shift::default(); dims.len()],
                conditional: false,
                dims,
                value,
                ..contribution
            });
        }
        Some(())
    }

    /// An accumulator over those axes that a contribution names, in the order in which it names them.
    fn row_of(&mut self, contribution: &Contribution, places: &[Option<usize>], space: &[Axis], out: &mut Lifted) -> Option<Row> {
        let prim = self.facts.type_of(&contribution.value)?.as_prim()?;
        let axes: Vec<&Axis> = places.iter().flatten().map(|axis| &space[*axis]).collect();
        let ty = Type::Prim(prim).array(vec![Dim::Any; axes.len()]);
        let handle = self.fresh("sums", Type::Accumulator(Rc::new(ty.clone())));
        let indices: Vec<Atom> = axes.iter().map(|axis| Atom::Var(axis.var)).collect();
        let path = if indices.is_empty() { Vec::new() } else { vec![PathStep::Index(indices)] };
        let op = Op::Accumulate { handle: Atom::Var(handle.var), path, value: contribution.value.clone() };
        let addition = Statement { binders: Vec::new(), op, span: contribution.span };
        let start = Atom::Const(Const::zero(prim));
        if axes.is_empty() {
            return Some(Row { handle, zero: start, addition, whole: self.fresh("", ty) });
        }
        let zeros = Op::Build {
            space: axes.iter().map(|axis| Axis { var: self.fresh("i", Type::I64).var, size: axis.size.clone() }).collect(),
            body: Block { statements: Vec::new(), results: vec![start] },
            inner: vec![Vec::new()],
        };
        let zero = self.fresh("", ty.clone());
        out.statements.push(Statement { binders: vec![zero.clone()], op: zeros, span: contribution.span });
        Some(Row { handle, zero: Atom::Var(zero.var), addition, whole: self.fresh("", ty) })
    }

    /// The build in the scope of accumulators.
    fn with_rows(&mut self, build: Statement, rows: Vec<Row>) -> Statement {
        let inner: Vec<Binder> = build.binders.iter().map(|binder| self.fresh("", binder.ty.clone())).collect();
        let results = inner.iter().map(|binder| Atom::Var(binder.var)).collect();
        let span = build.span;
        let binders = rows.iter().map(|row| row.whole.clone()).chain(build.binders).collect();
        let body = Block { statements: vec![Statement { binders: inner, op: build.op, span }], results };
        let (handles, init) = rows.into_iter().map(|row| (row.handle, row.zero)).unzip();
        Statement { binders, op: Op::WithAccumulators { handles, init, body }, span }
    }

    /// Adds only if the place is there. Where it is not, nothing was contributed.
    fn guard(&mut self, mut contribution: Contribution, out: &mut Lifted) -> Option<()> {
        let span = contribution.span;
        let mut is_there = Atom::bool(true);
        for (position, dim) in contribution.dims.iter_mut().enumerate() {
            let SliceDim::Index(index) = dim else { continue };
            let size = self.facts.size(contribution.handle, position)?;
            let shift = contribution.shifts[position];
            if shift.wraps {
                return None;
            }
            if shift.by != 0 {
                let args = vec![index.clone(), Atom::i64(shift.by)];
                *index = self.push_prim(&mut out.statements, PrimOp::Binary(BinaryOp::Add, Prim::I64), args, span);
            }
            let conditions = [(CompareOp::LessEqual, Atom::i64(0), index.clone()), (CompareOp::Less, index.clone(), size)];
            for (compare, left, right) in conditions {
                let compare = PrimOp::Compare(compare, Prim::I64);
                let condition = self.push_prim(&mut out.statements, compare, vec![left, right], span);
                let and = PrimOp::Binary(BinaryOp::And, Prim::Bool);
                is_there = self.push_prim(&mut out.statements, and, vec![is_there, condition], span);
            }
        }
        let then = Block { statements: vec![accumulate(contribution)], results: Vec::new() };
        let op = Op::If { condition: is_there, then, otherwise: Block::default() };
        out.guarded.push(Statement { binders: Vec::new(), op, span });
        Some(())
    }

    /// The sum of all elements of an array over the space.
    fn sum_of(&mut self, array: &Binder, space: &[Axis], span: Span, out: &mut Lifted) -> Option<Atom> {
        let prim = array.ty.peel(space.len())?.as_prim()?;
        let axes: Vec<Axis> =
            space.iter().map(|axis| Axis { var: self.fresh("i", Type::I64).var, size: axis.size.clone() }).collect();
        let element = self.fresh("", Type::Prim(prim));
        let indices = axes.iter().map(|axis| Atom::Var(axis.var)).collect();
        let read = Op::Index { array: Atom::Var(array.var), indices };
        let body = Block {
            statements: vec![Statement { binders: vec![element.clone()], op: read, span }],
            results: vec![Atom::Var(element.var)],
        };
        let op = self.plus(prim, span)?;
        let neutral = vec![Atom::Const(start_of_sum(prim, &axes))];
        let reduce = Op::Reduce { space: axes, op, neutral, body, commutative: true };
        let sum = self.fresh("", Type::Prim(prim));
        out.statements.push(Statement { binders: vec![sum.clone()], op: reduce, span });
        Some(Atom::Var(sum.var))
    }

    /// The only thing the loop does is one addition whose path leaves axes out: those are summed over.
    fn as_sum(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        statements: Vec<Statement>,
        contribution: Contribution,
        places: &[Option<usize>],
        out: &mut Lifted,
    ) -> Option<()> {
        let span = statement.span;
        let prim = self.facts.type_of(&contribution.value)?.as_prim()?;
        let op = self.plus(prim, span)?;
        let kept: Vec<usize> = places.iter().flatten().copied().collect();
        let summed: Vec<Axis> = (0..space.len()).filter(|axis| !kept.contains(axis)).map(|axis| space[axis].clone()).collect();
        let body = Block { statements, results: vec![contribution.value.clone()] };
        let neutral = vec![Atom::Const(start_of_sum(prim, &summed))];
        let reduce = Op::Reduce { space: summed, op, neutral, body, commutative: true };
        let sum = self.fresh("", Type::Prim(prim));
        let reduce = Statement { binders: vec![sum.clone()], op: reduce, span };
        if kept.is_empty() {
            out.statements.push(reduce);
            out.contributions.push(Contribution { value: Atom::Var(sum.var), ..contribution });
            return Some(());
        }
        let outer: Vec<Axis> = kept.iter().map(|axis| space[*axis].clone()).collect();
        let body = Block { statements: vec![reduce], results: vec![Atom::Var(sum.var)] };
        let whole = self.fresh("", Type::Prim(prim).array(vec![Dim::Any; outer.len()]));
        let op = Op::Build { space: outer, body, inner: vec![Vec::new()] };
        out.statements.push(Statement { binders: vec![whole.clone()], op, span });
        let dims = over_axes(&contribution, places, space);
        let shifts = vec![Shift::default(); contribution.dims.len()];
        out.contributions.push(Contribution { dims, shifts, value: Atom::Var(whole.var), ..contribution });
        Some(())
    }

    /// The sizes of a contribution's own axes: those of the accumulator where it goes.
    fn inner_sizes(&self, contribution: &Contribution, rank: usize) -> Vec<Size> {
        let mut sizes = Vec::new();
        for dim in &contribution.dims {
            if let SliceDim::Range { count, .. } = dim {
                sizes.push(Size::Known(count.clone()));
            }
        }
        for position in contribution.dims.len()..contribution.dims.len() + rank - sizes.len().min(rank) {
            sizes.push(self.facts.size(contribution.handle, position).map_or(Size::FromValue, Size::Known));
        }
        sizes.truncate(rank);
        sizes
    }

    /// Whether the contribution goes to all of the accumulator.
    fn is_whole(&self, contribution: &Contribution) -> bool {
        (0..contribution.dims.len()).all(|position| self.is_all_of(contribution, position))
    }

    /// Whether the contribution goes to all of a dimension.
    fn is_all_of(&self, contribution: &Contribution, position: usize) -> bool {
        match &contribution.dims[position] {
            SliceDim::Range { start, count, stride } => {
                *start == Atom::i64(0)
                    && *stride == Atom::i64(1)
                    && self.facts.size(contribution.handle, position).is_some_and(|size| size == self.facts.resolve(count))
            }
            SliceDim::Index(_) => false,
        }
    }

    /// The sum of an accumulator's value so far and a contribution.
    fn sum(&mut self, value: Atom, more: Atom, init: &Atom, out: &mut Vec<Statement>, span: Span) -> Atom {
        if value == *init && self.is_zero(&value) {
            return more;
        }
        let Some(ty) = self.facts.type_of(&more) else { return value };
        let Some(prim) = element(&ty) else { return value };
        let add = PrimOp::Binary(BinaryOp::Add, prim);
        let sum = self.fresh("", ty.any_sizes());
        if ty.rank() == 0 {
            out.push(Statement { binders: vec![sum.clone()], op: Op::Prim(add, vec![value, more]), span });
            return Atom::Var(sum.var);
        }
        let shape = self.facts.shape(init);
        let mut space = Vec::new();
        for (axis, size) in shape.into_iter().enumerate() {
            let size = size.unwrap_or_else(|| {
                let binder = self.fresh("n", Type::I64);
                let op = Op::Dim { array: init.clone(), axis };
                out.push(Statement { binders: vec![binder.clone()], op, span });
                Atom::Var(binder.var)
            });
            space.push(Axis { var: self.fresh("i", Type::I64).var, size });
        }
        let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        let parts = [value, more].map(|array| {
            let binder = self.fresh("", Type::Prim(prim));
            let op = Op::Index { array, indices: indices.clone() };
            Statement { binders: vec![binder], op, span }
        });
        let total = self.fresh("", Type::Prim(prim));
        let args = parts.iter().map(|part| Atom::Var(part.binders[0].var)).collect();
        let addition = Statement { binders: vec![total.clone()], op: Op::Prim(add, args), span };
        let statements = parts.into_iter().chain([addition]).collect();
        let body = Block { statements, results: vec![Atom::Var(total.var)] };
        out.push(Statement { binders: vec![sum.clone()], op: Op::Build { space, body, inner: vec![Vec::new()] }, span });
        Atom::Var(sum.var)
    }

    /// A short array that is written out, or zero, with the contribution added to its element at a literal place.
    fn add_to_literal(&mut self, sum: &Atom, contribution: &Contribution, out: &mut Vec<Statement>) -> Option<Atom> {
        let place = |dim: &SliceDim| match dim {
            SliceDim::Index(Atom::Const(Const::I64(place))) => usize::try_from(*place).ok(),
            _ => None,
        };
        let places: Vec<usize> = contribution.dims.iter().map(place).collect::<Option<_>>()?;
        let prim = self.facts.type_of(&contribution.value)?.as_prim()?;
        let mut statements = Vec::new();
        let literal = self.written_out(sum, prim, &mut statements)?;
        let element = self.literal_element(&literal, &places)?;
        let value = if element == Atom::Const(Const::zero(prim)) {
            contribution.value.clone()
        } else {
            let total = self.fresh("", Type::Prim(prim));
            let op = Op::Prim(PrimOp::Binary(BinaryOp::Add, prim), vec![element, contribution.value.clone()]);
            statements.push(Statement { binders: vec![total.clone()], op, span: contribution.span });
            Atom::Var(total.var)
        };
        let changed = self.literal_update(&literal, &contribution.dims, &value, &mut statements)?;
        out.extend(statements);
        Some(changed)
    }

    pub(super) fn is_zero(&self, atom: &Atom) -> bool {
        let is_zero = |constant: &Const| *constant == Const::zero(constant.prim());
        match (atom, self.facts.definition(atom)) {
            (Atom::Const(constant), _) => is_zero(constant),
            (_, Some(Op::Build { body, .. })) => {
                body.statements.is_empty() && matches!(body.results.as_slice(), [Atom::Const(constant)] if is_zero(constant))
            }
            _ => false,
        }
    }

    /// The operator `+`.
    fn plus(&mut self, prim: Prim, span: Span) -> Option<Lambda> {
        if prim == Prim::Bool {
            return None;
        }
        Some(Lambda::addition(prim, span, &mut |name, ty| self.fresh(name, ty)))
    }
}

/// What a loop adds to a row, a column or another part with some of its axes.
struct Row {
    handle: Binder,
    zero: Atom,
    addition: Statement,
    /// All of it, behind the loop.
    whole: Binder,
}

#[derive(Default)]
pub(super) struct Lifted {
    pub statements: Vec<Statement>,
    pub contributions: Vec<Contribution>,
    /// Contributions to places that may not exist. They stay conditional.
    pub guarded: Vec<Statement>,
}

fn is_positive(size: &Atom) -> bool {
    matches!(size, Atom::Const(Const::I64(1..)))
}

/// What a sum of cotangents starts from. For floats −0 is what changes no other number; it must not be the sum itself.
fn start_of_sum(prim: Prim, space: &[Axis]) -> Const {
    if space.iter().all(|axis| is_positive(&axis.size)) { Const::negative_zero(prim) } else { Const::zero(prim) }
}

/// The place of a contribution with all of the axes that it names.
fn over_axes(contribution: &Contribution, places: &[Option<usize>], space: &[Axis]) -> Vec<SliceDim> {
    let range = |axis: usize| SliceDim::Range { start: Atom::i64(0), count: space[axis].size.clone(), stride: Atom::i64(1) };
    contribution.dims.iter().zip(places).map(|(dim, place)| place.map_or(dim.clone(), range)).collect()
}

fn accumulate(contribution: Contribution) -> Statement {
    let Contribution { handle, dims, value, span, .. } = contribution;
    let path = match SliceDim::indices(&dims) {
        Some(indices) if indices.is_empty() => Vec::new(),
        Some(indices) => vec![PathStep::Index(indices)],
        None => vec![PathStep::Slice(dims)],
    };
    Statement { binders: Vec::new(), op: Op::Accumulate { handle: Atom::Var(handle), path, value }, span }
}

/// How many statements use a handle.
fn users(statements: &[Statement], handle: Var) -> usize {
    let handle = FxHashSet::from_iter([handle]);
    statements.iter().filter(|statement| uses(&statement.op, &handle)).count()
}

/// Whether an operation uses one of the variables.
pub(super) fn uses(op: &Op, vars: &FxHashSet<Var>) -> bool {
    chadwick_core::visit::op_free_variables(op).iter().any(|var| vars.contains(var))
}

/// Whether something is added inside to an accumulator that was opened outside.
pub(super) fn accumulates(op: &Op) -> bool {
    fn adds_to(op: &Op, handles: &[Var]) -> bool {
        match op {
            Op::Accumulate { handle: Atom::Var(handle), .. } => handles.contains(handle),
            op => {
                let adds = |block: &Block| block.statements.iter().any(|statement| adds_to(&statement.op, handles));
                op.scopes().iter().any(|scope| adds(scope.block))
            }
        }
    }
    let has_blocks = !op.scopes().is_empty();
    (has_blocks || matches!(op, Op::Accumulate { .. })) && adds_to(op, &chadwick_core::visit::op_free_variables(op))
}

pub(super) fn element(ty: &Type) -> Option<Prim> {
    match ty {
        Type::Prim(prim) => Some(*prim),
        Type::Array(array) => match array.element {
            Element::Prim(prim) => Some(prim),
            _ => None,
        },
        _ => None,
    }
}
