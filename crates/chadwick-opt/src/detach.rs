//! A shift that cancels has no derivative.
//!
//! `t + log (sum (exp (x - t)))` is the same number for every `t`; so are the quotients `exp (x_i - t) / sum (exp (x - t))`. Whoever writes
//! them takes the maximum for `t`, so that nothing overflows, and means no more by it. Seen by a derivative, each such `t` would get the
//! sum of all cotangents, which is zero up to rounding, and pass it on to where the maximum was found. Here `t` becomes a constant to
//! derivatives instead ([`UnaryOp::Detach`]); values do not change.
//!
//! That it cancels is seen by following everything that depends on `t`, as a function of `t` alone: a number is shifted by a multiple of it,
//! or scaled by a power of its exponential, or does not change. Only what does not change may leave.

use chadwick_core::prim::{eval_binary, eval_compare};
use chadwick_core::visit::op_free_variables;
use chadwick_core::{
    Atom, BinaryOp, Binder, Block, CompareOp, Const, Element, Lambda, Op, PrimOp, Program, Statement, Type, UnaryOp, Var,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Makes shifts that cancel constants to derivatives, in all functions.
pub fn detach_shifts(program: &mut Program) {
    for at in 0..program.functions.len() {
        let shifts = exponential_shifts(&program.functions[at].body);
        if !shifts.is_empty() {
            let body = std::mem::take(&mut program.functions[at].body);
            program.functions[at].body = block(program, &shifts, body);
        }
    }
}

/// What is subtracted from something of which the exponential is taken.
fn exponential_shifts(body: &Block) -> FxHashSet<Var> {
    fn visit(block: &Block, differences: &mut FxHashMap<Var, Var>, shifts: &mut FxHashSet<Var>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for Statement { binders, op, .. } in &block.statements {
                match (op, binders.as_slice()) {
                    (Op::Prim(PrimOp::Binary(BinaryOp::Sub, _), args), [binder]) => {
                        if let [_, Atom::Var(shift)] = args.as_slice() {
                            differences.insert(binder.var, *shift);
                        }
                    }
                    (Op::Prim(PrimOp::Unary(UnaryOp::Exp, _), args), _) => {
                        if let [Atom::Var(difference)] = args.as_slice() {
                            shifts.extend(differences.get(difference));
                        }
                    }
                    _ => {}
                }
                op.scopes().iter().for_each(|scope| visit(scope.block, differences, shifts));
            }
        });
    }
    let (mut differences, mut shifts) = (FxHashMap::default(), FxHashSet::default());
    visit(body, &mut differences, &mut shifts);
    shifts
}

fn block(program: &mut Program, shifts: &FxHashSet<Var>, whole: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let Block { statements, mut results } = whole;
        let inside = |statement: Statement| Statement {
            op: statement.op.map_blocks(&mut |inner| block(program, shifts, inner)),
            ..statement
        };
        let mut statements: Vec<Statement> = statements.into_iter().map(inside).collect();
        let mut at = 0;
        while at < statements.len() {
            let (done, rest) = statements.split_at_mut(at + 1);
            let Statement { binders, span, .. } = &done[at];
            at += 1;
            let mut shift = binders.iter().filter(|binder| shifts.contains(&binder.var) && matches!(binder.ty, Type::Prim(_)));
            let shift = shift.find(|binder| Dependents::of(binder.var).cancel(rest, &results)).cloned();
            if let Some(Binder { var, ty: Type::Prim(prim) }) = shift {
                let detached = program.fresh(program.var_names[var.0 as usize].clone());
                rename(rest, &mut results, var, detached);
                let op = Op::Prim(PrimOp::Unary(UnaryOp::Detach, prim), vec![Atom::Var(var)]);
                let binders = vec![Binder { var: detached, ty: Type::Prim(prim) }];
                let statement = Statement { binders, op, span: *span };
                statements.insert(at, statement);
            }
        }
        Block { statements, results }
    })
}

fn rename(statements: &mut [Statement], results: &mut [Atom], old: Var, new: Var) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let atom = |atom: &mut Atom| {
            if *atom == Atom::Var(old) {
                *atom = Atom::Var(new);
            }
        };
        for statement in statements {
            statement.op.for_each_atom_mut(&mut |at| atom(at));
            let op = std::mem::replace(&mut statement.op, Op::Copy(Vec::new()));
            statement.op = op.map_blocks(&mut |mut inner| {
                rename(&mut inner.statements, &mut inner.results, old, new);
                inner
            });
        }
        results.iter_mut().for_each(atom);
    });
}

/// How a number depends on the shift `t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dependence {
    /// Not at all.
    Free,
    /// Something free, and so many times `t`.
    Shifted(i32),
    /// Something free times so many times the exponential of `t`.
    Scaled(i32),
}

use Dependence::{Free, Scaled, Shifted};

fn shifted(times: i32) -> Dependence {
    if times == 0 { Free } else { Shifted(times) }
}

fn scaled(times: i32) -> Dependence {
    if times == 0 { Free } else { Scaled(times) }
}

/// What depends on the shift, and how; of an array, each number.
struct Dependents(FxHashMap<Var, Dependence>);

impl Dependents {
    fn of(shift: Var) -> Self {
        Dependents(FxHashMap::from_iter([(shift, Shifted(1))]))
    }

    /// Whether all that the rest of a block gives is free.
    fn cancel(mut self, rest: &[Statement], results: &[Atom]) -> bool {
        self.rest(rest, results).is_some_and(|results| results.iter().all(|result| *result == Free))
    }

    fn atom(&self, atom: &Atom) -> Dependence {
        match atom {
            Atom::Var(var) => self.0.get(var).copied().unwrap_or(Free),
            Atom::Const(_) => Free,
        }
    }

    fn block(&mut self, block: &Block) -> Option<Vec<Dependence>> {
        self.rest(&block.statements, &block.results)
    }

    /// How the results depend on the shift, if everything in the statements is understood.
    fn rest(&mut self, statements: &[Statement], results: &[Atom]) -> Option<Vec<Dependence>> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for Statement { binders, op, .. } in statements {
                if !op_free_variables(op).iter().any(|var| self.0.contains_key(var)) {
                    continue;
                }
                let results = self.op(op, binders)?;
                let dependent = binders.iter().zip(results).filter(|(_, result)| *result != Free);
                self.0.extend(dependent.map(|(binder, result)| (binder.var, result)));
            }
            Some(results.iter().map(|result| self.atom(result)).collect())
        })
    }

    fn op(&mut self, op: &Op, binders: &[Binder]) -> Option<Vec<Dependence>> {
        match op {
            Op::Copy(atoms) => Some(atoms.iter().map(|atom| self.atom(atom)).collect()),
            Op::Prim(op, args) => self.prim(*op, args).map(|result| vec![result]),
            Op::Index { array, .. } | Op::Transpose { array, .. } | Op::Reshape { array, .. } | Op::Slice { array, .. } => {
                Some(vec![self.atom(array)])
            }
            Op::Dim { .. } => Some(vec![Free]),
            Op::Build { body, .. } => self.block(body),
            Op::Reduce { op, neutral, body, .. } => {
                let parts = self.block(body)?;
                if parts.iter().all(|part| *part == Free) {
                    return Some(parts);
                }
                match (parts.as_slice(), neutral.as_slice(), single_operation(op)?) {
                    ([Scaled(_)], [neutral], BinaryOp::Add) if is_zero(neutral) => Some(parts),
                    ([Shifted(_)], [neutral], BinaryOp::Max | BinaryOp::Min) if is_infinite(neutral) => Some(parts),
                    _ => None,
                }
            }
            Op::If { then, otherwise, .. } => {
                let (then, otherwise) = (self.block(then)?, self.block(otherwise)?);
                (then == otherwise).then_some(then)
            }
            // Integers and truth values have no derivative, whatever they come of.
            op if op.scopes().is_empty()
                && !matches!(op, Op::Call { .. } | Op::Apply { .. } | Op::Accumulate { .. } | Op::Log { .. }) =>
            {
                binders.iter().all(|binder| is_discrete(&binder.ty)).then(|| vec![Free; binders.len()])
            }
            _ => None,
        }
    }

    fn prim(&self, op: PrimOp, args: &[Atom]) -> Option<Dependence> {
        if !op.result().is_float() {
            return Some(Free);
        }
        let of = |at: usize| args.get(at).map_or(Free, |arg| self.atom(arg));
        match op {
            PrimOp::Unary(UnaryOp::Negate, _) => match of(0) {
                Shifted(times) => Some(shifted(times.checked_neg()?)),
                other => Some(other),
            },
            PrimOp::Unary(UnaryOp::Exp, _) => match of(0) {
                Shifted(times) => Some(scaled(times)),
                _ => None,
            },
            PrimOp::Unary(UnaryOp::Log, _) => match of(0) {
                Scaled(times) => Some(shifted(times)),
                _ => None,
            },
            PrimOp::Binary(BinaryOp::Add, _) => match (of(0), of(1)) {
                (Scaled(left), Scaled(right)) => (left == right).then_some(Scaled(left)),
                (left, right) => Some(shifted(times_shifted(left)?.checked_add(times_shifted(right)?)?)),
            },
            PrimOp::Binary(BinaryOp::Sub, _) => match (of(0), of(1)) {
                (Scaled(left), Scaled(right)) => (left == right).then_some(Scaled(left)),
                (left, right) => Some(shifted(times_shifted(left)?.checked_sub(times_shifted(right)?)?)),
            },
            PrimOp::Binary(BinaryOp::Mul | BinaryOp::Scale, _) => {
                Some(scaled(times_scaled(of(0))?.checked_add(times_scaled(of(1))?)?))
            }
            PrimOp::Binary(BinaryOp::Div, _) => Some(scaled(times_scaled(of(0))?.checked_sub(times_scaled(of(1))?)?)),
            PrimOp::Binary(BinaryOp::Max | BinaryOp::Min, _) => (of(0) == of(1)).then(|| of(0)),
            _ => None,
        }
    }
}

fn times_shifted(dependence: Dependence) -> Option<i32> {
    match dependence {
        Free => Some(0),
        Shifted(times) => Some(times),
        Scaled(_) => None,
    }
}

fn times_scaled(dependence: Dependence) -> Option<i32> {
    match dependence {
        Free => Some(0),
        Scaled(times) => Some(times),
        Shifted(_) => None,
    }
}

/// The operation of an operator that consists of one.
fn single_operation(op: &Lambda) -> Option<BinaryOp> {
    match (op.body.statements.as_slice(), op.params.as_slice(), op.body.results.as_slice()) {
        ([Statement { binders, op: Op::Prim(PrimOp::Binary(op, _), args), .. }], [a, b], [result]) => {
            let both = args.contains(&Atom::Var(a.var)) && args.contains(&Atom::Var(b.var));
            (both && binders.iter().any(|binder| *result == Atom::Var(binder.var))).then_some(*op)
        }
        _ => None,
    }
}

fn is_zero(atom: &Atom) -> bool {
    matches!(atom, Atom::Const(value) if eval_compare(CompareOp::Equal, *value, Const::zero(value.prim())) == Ok(true))
}

fn is_infinite(atom: &Atom) -> bool {
    // Twice an infinity is the same.
    let is = |value: Const| eval_binary(BinaryOp::Add, value, value) == Ok(value) && !is_zero(&Atom::Const(value));
    matches!(atom, Atom::Const(value) if value.prim().is_float() && is(*value))
}

fn is_discrete(ty: &Type) -> bool {
    match ty {
        Type::Prim(prim) => !prim.is_float(),
        Type::Array(array) => matches!(&array.element, Element::Prim(prim) if !prim.is_float()),
        _ => false,
    }
}
