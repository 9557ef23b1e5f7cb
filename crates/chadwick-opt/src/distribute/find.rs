//! Finds sums of products inside parallel nests.

use chadwick_core::visit::op_free_variables;
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, Const, Op, PathStep, Prim, PrimOp, Size, SliceDim, Statement, Type, Var,
};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// One of two factors: a scalar, or an element of an array.
#[derive(Clone)]
pub(super) struct Factor {
    pub var: Var,
    /// What the nest calls it.
    pub original: Var,
    /// How many loops of the nest are around its definition; nothing outside the nest.
    pub depth: Option<usize>,
    pub indices: Vec<Atom>,
    /// How to make it over fewer loops than are around it.
    pub made: Option<Made>,
}

/// A scalar as a few operations on elements, which depend on some of the axes of a nest.
#[derive(Clone)]
pub(super) struct Made {
    pub axes: Vec<Axis>,
    pub statements: Vec<Statement>,
}

/// A sum of products inside a nest.
pub(super) struct Found {
    /// Which statement of each body leads there, from the outermost loop on.
    pub path: Vec<usize>,
    /// The axes of the loops around it.
    pub levels: Vec<Vec<Axis>>,
    pub factors: [Factor; 2],
    pub op: PrimOp,
    pub prim: Prim,
    /// The axes of the result; for a sum inside the nest, besides those around it.
    pub kept: Vec<Axis>,
    pub summed: Vec<Axis>,
    /// Sizes of the arrays among the factors, where they are stated.
    pub shapes: FxHashMap<Var, Vec<Size>>,
    pub kind: Kind,
    pub span: Span,
}

pub(super) enum Kind {
    /// The statement at the end of the path is the array of sums.
    Sums,
    /// It adds to a part of an accumulator, at the kept axes.
    Addition { handle: Atom, place: PathStep },
}

impl Found {
    /// The axes of the outermost loops.
    pub fn around(&self, depth: usize) -> Vec<Axis> {
        self.levels[..depth].iter().flatten().cloned().collect()
    }
}

/// A loop, and what its body defines, as far as that is known.
#[derive(Clone, Default)]
pub(super) struct Level {
    axes: Vec<Axis>,
    uses: FxHashMap<Var, Vec<Var>>,
    /// What makes a scalar, has no parts and cannot fail where the elements it reads are there.
    light: FxHashMap<Var, Statement>,
}

impl Level {
    pub fn new(space: &[Axis]) -> Level {
        Level { axes: space.to_vec(), ..Level::default() }
    }

    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Notes what the results of a statement depend on.
    pub fn define(&mut self, statement: &Statement) {
        let used = op_free_variables(&statement.op);
        for binder in &statement.binders {
            self.uses.insert(binder.var, used.clone());
        }
        if let ([Binder { var, ty: Type::Prim(prim) }], Op::Prim(..) | Op::Index { .. }) =
            (statement.binders.as_slice(), &statement.op)
            && (prim.is_float() || *prim == Prim::Bool)
        {
            self.light.insert(*var, statement.clone());
        }
    }
}

/// The first sum of products in a nest. `around` are the loops around the nest itself.
pub(super) fn find(root: &Statement, around: &[Level]) -> Option<Found> {
    // Additions first: what they leave behind is plainer.
    [true, false].into_iter().find_map(|additions| {
        let (levels, shapes) = (around.to_vec(), FxHashMap::default());
        Search { additions, outside: around.len(), levels, path: Vec::new(), shapes }.nest(root)
    })
}

struct Search {
    /// Whether to look for additions, or for arrays of sums.
    additions: bool,
    /// How many of the levels are around the nest.
    outside: usize,
    levels: Vec<Level>,
    path: Vec<usize>,
    shapes: FxHashMap<Var, Vec<Size>>,
}

impl Search {
    fn nest(&mut self, statement: &Statement) -> Option<Found> {
        let (Op::Build { space, body, .. } | Op::Reduce { space, body, .. }) = &statement.op else { return None };
        // A sum of products with nothing around it is what all this is for.
        let is_bare = match body.statements.as_slice() {
            [only] => self.levels.len() == self.outside && matches!(only.op, Op::Reduce { .. }) && names(only, &body.results),
            _ => false,
        };
        let is_plain_sum = |it: &Statement| match &it.op {
            Op::Reduce { body, .. } => body.statements.iter().all(|it| it.op.scopes().is_empty()),
            _ => false,
        };
        if is_bare && body.statements.iter().all(is_plain_sum) {
            return None;
        }
        let found = self.inside(space, body)?;
        // Sums of sums: a product of matrices that are there is worth its memory, but not one whose factors would have to be stored, too.
        (!is_bare || found.factors.iter().all(|factor| factor.depth.is_none())).then_some(found)
    }

    /// The first sum of products in the body of a loop.
    fn inside(&mut self, space: &[Axis], body: &Block) -> Option<Found> {
        let mut level = Level::new(space);
        body.statements.iter().for_each(|it| level.define(it));
        self.levels.push(level);
        for it in &body.statements {
            if let Op::Build { space, inner, .. } = &it.op {
                for (binder, inner) in it.binders.iter().zip(inner) {
                    let sizes = space.iter().map(|axis| Size::Known(axis.size.clone())).chain(inner.iter().cloned());
                    self.shapes.insert(binder.var, sizes.collect());
                }
            }
        }
        for (at, inner) in body.statements.iter().enumerate() {
            self.path.push(at);
            let found = match &inner.op {
                Op::Build { .. } | Op::Reduce { .. } if self.additions => self.nest(inner),
                Op::Build { .. } => self.sums(inner).or_else(|| self.nest(inner)),
                Op::Reduce { .. } => self.sum(inner, &[], inner.span).or_else(|| self.nest(inner)),
                Op::Accumulate { .. } if self.additions => self.addition(inner, body),
                _ => None,
            };
            if found.is_some() {
                return found;
            }
            self.path.pop();
        }
        self.levels.pop();
        None
    }

    fn nest_levels(&self) -> Vec<Vec<Axis>> {
        self.levels[self.outside..].iter().map(|level| level.axes.clone()).collect()
    }

    /// `build kept (reduce (+) 0 summed (x * y))`
    fn sums(&self, statement: &Statement) -> Option<Found> {
        let Op::Build { space: kept, body, .. } = &statement.op else { return None };
        let ([_], [reduce]) = (statement.binders.as_slice(), body.statements.as_slice()) else { return None };
        if !names(reduce, &body.results) {
            return None;
        }
        self.sum(reduce, kept, statement.span)
    }

    /// `reduce (+) 0 summed (x * y)`, for each point of `kept`.
    fn sum(&self, reduce: &Statement, kept: &[Axis], span: Span) -> Option<Found> {
        let Op::Reduce { space: summed, op, neutral, body, .. } = &reduce.op else { return None };
        let [Atom::Const(neutral)] = neutral.as_slice() else { return None };
        if *neutral != Const::zero(neutral.prim()) || !op.is_addition() {
            return None;
        }
        let [Atom::Var(term)] = body.results.as_slice() else { return None };
        let own: Vec<Axis> = kept.iter().chain(summed).cloned().collect();
        let term = self.term(*term, body, &own)?;
        self.found(term, kept.to_vec(), summed.clone(), Kind::Sums, span)
    }

    /// What is here, if the sums are matrix products.
    fn found(
        &self,
        term: ([Factor; 2], PrimOp, Prim),
        kept: Vec<Axis>,
        summed: Vec<Axis>,
        kind: Kind,
        span: Span,
    ) -> Option<Found> {
        let (factors, op, prim) = term;
        self.is_matrix_product(&factors, &kept, &summed)?;
        let (path, levels, shapes) = (self.path.clone(), self.nest_levels(), self.shapes.clone());
        Some(Found { path, levels, factors, op, prim, kept, summed, shapes, kind, span })
    }

    /// An accumulation at some of the axes around it.
    fn addition(&self, statement: &Statement, body: &Block) -> Option<Found> {
        let Op::Accumulate { handle, path, value: Atom::Var(value) } = &statement.op else { return None };
        let [PathStep::Index(indices)] = path.as_slice() else { return None };
        let all: Vec<Axis> = self.nest_levels().into_iter().flatten().collect();
        let (mut kept, mut place): (Vec<Axis>, _) = (Vec::new(), Vec::new());
        for index in indices {
            match all.iter().find(|axis| *index == Atom::Var(axis.var)) {
                Some(axis) if kept.contains(axis) => return None,
                Some(axis) => {
                    kept.push(axis.clone());
                    place.push(whole_axis(axis));
                }
                None if matches!(index, Atom::Var(var) if self.is_bound(*var)) => return None,
                None => place.push(SliceDim::Index(index.clone())),
            }
        }
        let summed: Vec<Axis> = all.iter().filter(|axis| !kept.contains(axis)).cloned().collect();
        if summed.is_empty() {
            return None;
        }
        let mut term = self.term(*value, body, &[])?;
        // A factor that is computed in the innermost loop would be as large as the whole nest, unless it needs only some of the loops.
        let innermost = self.levels.len() - self.outside;
        for factor in term.0.iter_mut().filter(|factor| factor.depth == Some(innermost)) {
            factor.made = Some(self.made(factor.var, &all)?);
        }
        self.found(term, kept, summed, Kind::Addition { handle: handle.clone(), place: PathStep::Slice(place) }, statement.span)
    }

    /// The product that a variable of a body is.
    fn term(&self, var: Var, body: &Block, own: &[Axis]) -> Option<([Factor; 2], PrimOp, Prim)> {
        let definition =
            |var: Var| body.statements.iter().find(|it| it.binders.iter().any(|binder| binder.var == var)).map(|it| &it.op);
        let Op::Prim(op @ PrimOp::Binary(BinaryOp::Mul | BinaryOp::Scale, prim), args) = definition(var)? else { return None };
        if !prim.is_float() {
            return None;
        }
        let is_axis = |var: Var| own.iter().any(|axis| axis.var == var) || self.axis(var);
        let factor = |atom: &Atom| -> Option<Factor> {
            let Atom::Var(var) = atom else { return None };
            let (var, indices) = match definition(*var) {
                Some(Op::Index { array: Atom::Var(array), indices }) => (*array, indices.clone()),
                _ => (*var, Vec::new()),
            };
            let outside = |index: &Atom| match index {
                Atom::Var(index) => is_axis(*index) || !self.is_bound(*index),
                Atom::Const(_) => true,
            };
            if !indices.iter().all(outside) || (own_binds(body, var) && !own.is_empty()) {
                return None;
            }
            Some(Factor { var, original: var, depth: self.depth(var), indices, made: None })
        };
        Some(([factor(&args[0])?, factor(&args[1])?], *op, *prim))
    }

    /// How to make a scalar of the nest by itself, if that takes few operations and not all of the loops.
    fn made(&self, var: Var, all: &[Axis]) -> Option<Made> {
        const AT_MOST: usize = 16;
        let mut axes = FxHashSet::default();
        self.axes_of(var, &mut FxHashSet::default(), &mut axes);
        let axes: Vec<Axis> = all.iter().filter(|axis| axes.contains(&axis.var)).cloned().collect();
        let mut statements = Vec::new();
        self.steps_to(var, &mut FxHashSet::default(), &mut statements)?;
        (axes.len() < all.len() && statements.len() <= AT_MOST).then_some(Made { axes, statements })
    }

    /// What the nest does to make a scalar, in order.
    fn steps_to(&self, var: Var, seen: &mut FxHashSet<Var>, steps: &mut Vec<Statement>) -> Option<()> {
        if !self.is_bound(var) || self.axis(var) || !seen.insert(var) {
            return Some(());
        }
        let own = &self.levels[self.outside..];
        let statement = own.iter().find_map(|level| level.light.get(&var))?;
        for used in own.iter().filter_map(|level| level.uses.get(&var)).flatten() {
            self.steps_to(*used, seen, steps)?;
        }
        steps.push(statement.clone());
        Some(())
    }

    fn axis(&self, var: Var) -> bool {
        self.levels.iter().flat_map(|level| &level.axes).any(|axis| axis.var == var)
    }

    fn is_bound(&self, var: Var) -> bool {
        self.axis(var) || self.levels[self.outside..].iter().any(|level| level.uses.contains_key(&var))
    }

    fn depth(&self, var: Var) -> Option<usize> {
        self.levels[self.outside..].iter().position(|level| level.uses.contains_key(&var)).map(|at| at + 1)
    }

    /// The axes of loops on which a variable depends.
    fn axes_of(&self, var: Var, seen: &mut FxHashSet<Var>, axes: &mut FxHashSet<Var>) {
        if !seen.insert(var) {
            return;
        }
        if self.axis(var) {
            axes.insert(var);
        }
        for used in self.levels.iter().filter_map(|level| level.uses.get(&var)).flatten() {
            self.axes_of(*used, seen, axes);
        }
    }

    /// Whether each factor has an axis of the result that the other has not, and there is enough to sum to be worth it.
    fn is_matrix_product(&self, factors: &[Factor; 2], kept: &[Axis], summed: &[Axis]) -> Option<()> {
        let is_large = |axis: &Axis| !matches!(axis.size, Atom::Const(Const::I64(..=8)));
        let [left, right] = [0, 1].map(|at| {
            let factor = &factors[at];
            let mut axes = FxHashSet::default();
            let mut seen = FxHashSet::default();
            self.axes_of(factor.var, &mut seen, &mut axes);
            axes.extend(factor.indices.iter().filter_map(|index| match index {
                Atom::Var(var) => Some(*var),
                Atom::Const(_) => None,
            }));
            axes
        });
        let result: Vec<&Axis> = self.levels.iter().flat_map(|level| &level.axes).chain(kept).collect();
        let result: Vec<&Axis> =
            result.into_iter().filter(|axis| !summed.iter().any(|it| it.var == axis.var) && is_large(axis)).collect();
        let exclusive = |own: &FxHashSet<Var>, other: &FxHashSet<Var>| {
            result.iter().any(|axis| own.contains(&axis.var) && !other.contains(&axis.var))
        };
        let in_both = |axis: &Axis| left.contains(&axis.var) && right.contains(&axis.var);
        let worth =
            summed.iter().all(|axis| is_large(axis) && in_both(axis)) && exclusive(&left, &right) && exclusive(&right, &left);
        worth.then_some(())
    }
}

/// All places along an axis.
pub(super) fn whole_axis(axis: &Axis) -> SliceDim {
    SliceDim::Range { start: Atom::i64(0), count: axis.size.clone(), stride: Atom::i64(1) }
}

/// Whether the results of a block are those of a statement.
fn names(statement: &Statement, results: &[Atom]) -> bool {
    statement.binders.len() == results.len()
        && statement.binders.iter().zip(results).all(|(it, result)| *result == Atom::Var(it.var))
}

fn own_binds(body: &Block, var: Var) -> bool {
    body.statements.iter().flat_map(|it| &it.binders).any(|binder| binder.var == var)
}
