//! What a loop adds beside its own place, one further or one back, is an array of its own, read beside: the adjoint of a stencil is a stencil.
//! So is what it adds beyond the end from the start on.
//! And what it adds under a condition is that or zero.

use super::Simplify;
use super::accumulators::{Contribution, Lifted, Shift};
use chadwick_core::{Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Op, Prim, PrimOp, SliceDim, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// The farthest neighbour.
const FARTHEST: i64 = 64;
/// How many operations on the way to a place are looked at.
const DEEPEST: usize = 4;

impl Simplify {
    /// A conditional that does nothing but add numbers, as one that gives them, or zeros, and contributions after it.
    pub(super) fn lift_if(&mut self, statement: &Statement, own: &FxHashSet<Var>, out: &mut Lifted) -> Option<()> {
        let Op::If { condition, then, otherwise } = &statement.op else { return None };
        let mut results: Vec<(Atom, Atom)> = then.results.iter().cloned().zip(otherwise.results.iter().cloned()).collect();
        let mut binders: Vec<Binder> = statement.binders.clone();
        let [then, mut otherwise] = [self.branch(then, own)?, self.branch(otherwise, own)?];
        // What both branches add in one place is one contribution; equal numbers are one result.
        let mut pairs: Vec<(Contribution, Atom, Atom)> = Vec::new();
        for contribution in then.contributions {
            let zero = self.zero_like(&contribution.value)?;
            let same = |other: &Contribution| {
                (other.handle, &other.dims, &other.shifts) == (contribution.handle, &contribution.dims, &contribution.shifts)
            };
            let other = otherwise.contributions.iter().position(same).map(|at| otherwise.contributions.remove(at).value);
            let value = contribution.value.clone();
            pairs.push((contribution, value, other.unwrap_or(zero)));
        }
        for contribution in otherwise.contributions {
            let (zero, value) = (self.zero_like(&contribution.value)?, contribution.value.clone());
            pairs.push((contribution, zero, value));
        }
        for (contribution, left, right) in pairs {
            let result = (left, right);
            let at = match results.iter().position(|known| *known == result) {
                Some(at) => at,
                None => {
                    binders.push(self.fresh("", self.facts.type_of(&contribution.value)?));
                    results.push(result);
                    binders.len() - 1
                }
            };
            out.contributions.push(Contribution { value: Atom::Var(binders[at].var), conditional: true, ..contribution });
        }
        let (left, right) = results.into_iter().unzip();
        let op = Op::If {
            condition: condition.clone(),
            then: Block { statements: then.statements, results: left },
            otherwise: Block { statements: otherwise.statements, results: right },
        };
        out.statements.push(Statement { binders, op, span: statement.span });
        Some(())
    }

    fn zero_like(&self, number: &Atom) -> Option<Atom> {
        Some(Atom::Const(Const::zero(self.facts.type_of(number)?.as_prim()?)))
    }

    /// What a branch adds, at places that are known outside of it.
    fn branch(&mut self, block: &Block, own: &FxHashSet<Var>) -> Option<Lifted> {
        let mut lifted = self.lift_all(block, own, false)?;
        let sums = Sums::of(&lifted.statements);
        for contribution in &mut lifted.contributions {
            sums.take_out(contribution, &|_| true);
            let is_own = |dim: &SliceDim| match dim {
                SliceDim::Index(Atom::Var(index)) => sums.made.contains(index),
                SliceDim::Index(_) => false,
                SliceDim::Range { .. } => true,
            };
            if contribution.dims.iter().any(is_own) {
                return None;
            }
        }
        Some(lifted)
    }

    /// Finds the places that are so far from an axis of the space.
    pub(super) fn find_shifts(&self, space: &[Axis], inside: &mut Lifted) {
        let sums = Sums::of(&inside.statements);
        let is_axis = |atom: &Atom| space.iter().any(|axis| Atom::Var(axis.var) == *atom);
        for contribution in &mut inside.contributions {
            sums.take_out(contribution, &is_axis);
            for position in 0..contribution.dims.len() {
                if let Some((axis, by)) = self.wrapped(contribution, position, space, &sums) {
                    contribution.dims[position] = SliceDim::Index(Atom::Var(axis));
                    contribution.shifts[position] = Shift { by, wraps: true };
                }
            }
        }
    }

    /// What is added only if its place is in the accumulator needs no condition: elsewhere nobody reads it.
    pub(super) fn drop_conditions(&self, space: &[Axis], inside: &mut Lifted) {
        let sums = Sums::of(&inside.statements);
        for contribution in inside.contributions.iter_mut().filter(|contribution| contribution.conditional) {
            let chosen = inside.statements.iter().find_map(|statement| {
                let at = statement.binders.iter().position(|binder| Atom::Var(binder.var) == contribution.value)?;
                match &statement.op {
                    Op::If { condition, then, otherwise } => Some((condition, then, &then.results[at], &otherwise.results[at])),
                    _ => None,
                }
            });
            let Some((condition, then, value, Atom::Const(zero))) = chosen else { continue };
            let is_inside = |var: Var| then.statements.iter().flat_map(|it| &it.binders).any(|binder| binder.var == var);
            let all_axes =
                contribution.dims.len() == space.len()
                    && contribution.dims.iter().zip(&contribution.shifts).all(|(dim, shift)| {
                        !shift.wraps && space.iter().any(|axis| *dim == SliceDim::Index(Atom::Var(axis.var)))
                    });
            if all_axes
                && *zero == Const::zero(zero.prim())
                && !matches!(value, Atom::Var(var) if is_inside(*var))
                && self.follows(condition, contribution, &sums, &inside.statements)
            {
                contribution.value = value.clone();
            }
        }
    }

    /// Whether a condition holds wherever the place of a contribution is in its accumulator.
    fn follows(&self, condition: &Atom, contribution: &Contribution, sums: &Sums, statements: &[Statement]) -> bool {
        let made = statements.iter().find(|it| it.binders.iter().any(|binder| Atom::Var(binder.var) == *condition));
        let Some(Op::Prim(op, args)) = made.map(|statement| &statement.op).or_else(|| self.facts.definition(condition)) else {
            return false;
        };
        let offset = |atom: &Atom| match atom {
            Atom::Const(Const::I64(number)) => Some((None, i128::from(*number))),
            Atom::Const(_) => None,
            Atom::Var(var) => match sums.shift(*var) {
                Some((base, by)) => Some((Some(base.clone()), i128::from(by))),
                None => Some((Some(self.facts.resolve(atom)), 0)),
            },
        };
        match (op, args.as_slice()) {
            (PrimOp::Binary(BinaryOp::And, Prim::Bool), args) => {
                args.iter().all(|arg| self.follows(arg, contribution, sums, statements))
            }
            (PrimOp::Compare(compare @ (CompareOp::Less | CompareOp::LessEqual), Prim::I64), [left, right]) => {
                let (Some((left, less)), Some((right, more))) = (offset(left), offset(right)) else { return false };
                let strictly = i128::from(*compare == CompareOp::Less);
                contribution.dims.iter().zip(&contribution.shifts).enumerate().any(|(position, (dim, shift))| {
                    let SliceDim::Index(axis) = dim else { return false };
                    // The place is `axis + shift.by`: not negative, and below the size.
                    match (&left, &right) {
                        (None, Some(base)) => base == axis && less + strictly - more <= -i128::from(shift.by),
                        (Some(base), Some(size)) => {
                            base == axis
                                && self.facts.size(contribution.handle, position).as_ref() == Some(size)
                                && more - less - strictly >= -1 - i128::from(shift.by)
                        }
                        _ => false,
                    }
                })
            }
            _ => false,
        }
    }

    /// The axis and how far beside it a place is that is found by going on from the start beyond the end: both have the size of the accumulator.
    fn wrapped(&self, contribution: &Contribution, position: usize, space: &[Axis], sums: &Sums) -> Option<(Var, i64)> {
        let SliceDim::Index(Atom::Var(index)) = &contribution.dims[position] else { return None };
        let (BinaryOp::Mod, [sum, modulus]) = sums.operations.get(index).map(|(op, args)| (*op, args.as_slice()))? else {
            return None;
        };
        let (base, by) = self.apart_from(sum, &self.facts.resolve(modulus), sums, DEEPEST)?;
        let axis = space.iter().find(|axis| base == Some(axis.var))?;
        let size = self.facts.size(contribution.handle, position)?;
        let fits = self.facts.resolve(&axis.size) == size && self.facts.resolve(modulus) == size;
        (fits && contribution.shifts[position] == Shift::default()).then_some((axis.var, by))
    }

    /// A sum as a variable, a small number, and any number of times the modulus.
    fn apart_from(&self, sum: &Atom, modulus: &Atom, sums: &Sums, depth: usize) -> Option<(Option<Var>, i64)> {
        let sum = self.facts.resolve(sum);
        let Atom::Var(var) = sum else {
            return match sum {
                Atom::Const(Const::I64(by)) if (-FARTHEST..=FARTHEST).contains(&by) => Some((None, by)),
                _ => None,
            };
        };
        if sum == *modulus {
            return Some((None, 0));
        }
        let outside = match self.facts.definition(&sum) {
            Some(Op::Prim(PrimOp::Binary(op, Prim::I64), args)) => Some((*op, args)),
            _ => None,
        };
        match sums.operations.get(&var).map(|(op, args)| (*op, args)).or(outside) {
            Some((op @ (BinaryOp::Add | BinaryOp::Sub), args)) if depth > 0 => {
                let (left, by) = self.apart_from(args.first()?, modulus, sums, depth - 1)?;
                let (right, more) = self.apart_from(args.get(1)?, modulus, sums, depth - 1)?;
                match (op, left, right) {
                    (BinaryOp::Add, base, None) | (BinaryOp::Add, None, base) => Some((base, by + more)),
                    (BinaryOp::Sub, base, None) => Some((base, by - more)),
                    _ => None,
                }
            }
            _ => Some((Some(var), 0)),
        }
    }

    /// Whether a loop adds at other places than all of an accumulator's, in order.
    pub(super) fn is_beside(&self, contribution: &Contribution, places: &[Option<usize>], space: &[Axis]) -> bool {
        places.iter().enumerate().any(|(position, place)| {
            place.is_some_and(|axis| {
                let own_size = self.facts.resolve(&space[axis].size);
                contribution.shifts[position].by != 0 || self.facts.size(contribution.handle, position) != Some(own_size)
            })
        })
    }

    /// Whether there are fewer numbers than multiples of them that a loop adds beside its own place.
    pub(super) fn share_numbers(&self, inside: &Lifted, places: &[Vec<Option<usize>>], space: &[Axis]) -> bool {
        let beside = inside.contributions.iter().zip(places).filter(|(it, places)| self.is_beside(it, places, space));
        let values: FxHashSet<&Atom> = beside.map(|(contribution, _)| &contribution.value).collect();
        let number = |value: &&Atom| {
            let mut number = Atom::clone(value);
            take_factor(&mut number, space, &inside.statements);
            number
        };
        values.iter().map(number).collect::<FxHashSet<Atom>>().len() < values.len()
    }

    /// Whether an array along an axis and one beside it have about as many elements.
    pub(super) fn is_near(&self, one: &Atom, other: &Atom) -> bool {
        let is_less = |less: &Atom, more: &Atom| match self.facts.definition(less) {
            Some(Op::Prim(PrimOp::Binary(BinaryOp::Sub, Prim::I64), args)) => match args.as_slice() {
                [whole, Atom::Const(Const::I64(0..=FARTHEST))] => self.facts.resolve(whole) == *more,
                _ => false,
            },
            _ => false,
        };
        one == other || is_less(one, other) || is_less(other, one)
    }

    /// The array over the accumulator's axes that has at each place what a loop adds there, or zero. `whole` is what the loop adds, by
    /// iteration, but for the factor.
    pub(super) fn shifted(
        &mut self,
        whole: &Binder,
        contribution: &Contribution,
        places: &[Option<usize>],
        space: &[Axis],
        factor: Option<Atom>,
        out: &mut Lifted,
    ) -> Option<Contribution> {
        let span = contribution.span;
        let prim = whole.ty.peel(space.len())?.as_prim()?;
        let mut axes = Vec::new();
        let mut dims = Vec::new();
        let mut indices = vec![Atom::i64(0); space.len()];
        let mut statements = Vec::new();
        let mut inside = Atom::bool(true);
        for (position, (place, shift)) in places.iter().zip(&contribution.shifts).enumerate() {
            let size = self.facts.size(contribution.handle, position)?;
            let axis = Axis { var: self.fresh("i", Type::I64).var, size: size.clone() };
            dims.push(SliceDim::Range { start: Atom::i64(0), count: size.clone(), stride: Atom::i64(1) });
            let at = (*place)?;
            let own_size = self.facts.resolve(&space[at].size);
            let mut from = match shift.by {
                0 => Atom::Var(axis.var),
                by => {
                    let op = if by > 0 { BinaryOp::Sub } else { BinaryOp::Add };
                    let args = vec![Atom::Var(axis.var), Atom::i64(by.abs())];
                    self.push_prim(&mut statements, PrimOp::Binary(op, Prim::I64), args, span)
                }
            };
            if shift.wraps {
                from = self.push_prim(&mut statements, PrimOp::Binary(BinaryOp::Mod, Prim::I64), vec![from, size.clone()], span);
            }
            let mut conditions = Vec::new();
            if shift.by > 0 && !shift.wraps {
                conditions.push((CompareOp::LessEqual, Atom::i64(0), from.clone()));
            }
            if (shift.by < 0 && !shift.wraps) || own_size != size {
                conditions.push((CompareOp::Less, from.clone(), own_size));
            }
            for (compare, left, right) in conditions {
                let holds = self.push_prim(&mut statements, PrimOp::Compare(compare, Prim::I64), vec![left, right], span);
                inside = match inside {
                    Atom::Const(_) => holds,
                    inside => {
                        let and = PrimOp::Binary(BinaryOp::And, Prim::Bool);
                        self.push_prim(&mut statements, and, vec![inside, holds], span)
                    }
                };
            }
            indices[at] = from;
            axes.push(axis);
        }
        let element = self.fresh("", Type::Prim(prim));
        let read = Op::Index { array: Atom::Var(whole.var), indices };
        let then = Block {
            results: vec![Atom::Var(element.var)],
            statements: vec![Statement { binders: vec![element], op: read, span }],
        };
        let otherwise = Block { statements: Vec::new(), results: vec![Atom::Const(Const::zero(prim))] };
        let value = self.fresh("", Type::Prim(prim));
        let mut result = Atom::Var(value.var);
        let op = Op::If { condition: inside, then, otherwise };
        statements.push(Statement { binders: vec![value], op, span });
        if let Some(factor) = factor {
            result = self.push_prim(&mut statements, PrimOp::Binary(BinaryOp::Scale, prim), vec![result, factor], span);
        }
        let body = Block { statements, results: vec![result] };
        let moved = self.fresh("", whole.ty.clone());
        let shifts = vec![Shift::default(); dims.len()];
        let (handle, value) = (contribution.handle, Atom::Var(moved.var));
        let result = Contribution { handle, dims, shifts, conditional: false, sizes_around: Vec::new(), value, span };
        let op = Op::Build { space: axes, body, inner: vec![Vec::new()] };
        out.statements.push(Statement { binders: vec![moved], op, span });
        Some(result)
    }

    pub(super) fn push_prim(&mut self, out: &mut Vec<Statement>, op: PrimOp, args: Vec<Atom>, span: Span) -> Atom {
        let binder = self.fresh("", Type::Prim(op.result()));
        let atom = Atom::Var(binder.var);
        out.push(Statement { binders: vec![binder], op: Op::Prim(op, args), span });
        atom
    }
}

/// Where a value is a local number, scaled by one that is the same in every iteration: takes that number instead and gives the factor.
pub(super) fn take_factor(value: &mut Atom, space: &[Axis], statements: &[Statement]) -> Option<Atom> {
    let statement_of = |atom: &Atom| {
        let makes = |statement: &&Statement| statement.binders.iter().any(|binder| Atom::Var(binder.var) == *atom);
        statements.iter().find(makes)
    };
    let Op::Prim(PrimOp::Binary(BinaryOp::Scale, _), args) = &statement_of(value)?.op else { return None };
    let [number, factor] = args.as_slice() else { return None };
    let is_axis = |atom: &Atom| space.iter().any(|axis| Atom::Var(axis.var) == *atom);
    if statement_of(number).is_none() || statement_of(factor).is_some() || is_axis(factor) {
        return None;
    }
    *value = number.clone();
    Some(factor.clone())
}

/// What a block makes, and its operations on integers.
#[derive(Default)]
struct Sums {
    made: FxHashSet<Var>,
    operations: FxHashMap<Var, (BinaryOp, Vec<Atom>)>,
}

impl Sums {
    fn of(statements: &[Statement]) -> Sums {
        let mut sums = Sums::default();
        for statement in statements {
            sums.made.extend(statement.binders.iter().map(|binder| binder.var));
            if let ([binder], Op::Prim(PrimOp::Binary(op, Prim::I64), args)) = (statement.binders.as_slice(), &statement.op) {
                sums.operations.insert(binder.var, (*op, args.clone()));
            }
        }
        sums
    }

    /// A variable as another one and a small number.
    fn shift(&self, var: Var) -> Option<(&Atom, i64)> {
        let (op, args) = self.operations.get(&var)?;
        let found = match (op, args.as_slice()) {
            (BinaryOp::Add, [base, Atom::Const(Const::I64(more))] | [Atom::Const(Const::I64(more)), base]) => (base, *more),
            (BinaryOp::Sub, [base, Atom::Const(Const::I64(less))]) => (base, less.wrapping_neg()),
            _ => return None,
        };
        (-FARTHEST..=FARTHEST).contains(&found.1).then_some(found)
    }

    /// Writes places as what they are the sum of, where that is wanted.
    fn take_out(&self, contribution: &mut Contribution, wanted: &dyn Fn(&Atom) -> bool) {
        for (dim, shift) in contribution.dims.iter_mut().zip(&mut contribution.shifts) {
            if let SliceDim::Index(Atom::Var(index)) = dim
                && let Some((base, more)) = self.shift(*index)
                && wanted(base)
            {
                shift.by += more;
                *dim = SliceDim::Index(base.clone());
            }
        }
    }
}
