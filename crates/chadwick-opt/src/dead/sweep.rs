//! Drops what is not alive.

use super::Node;
use super::graph::component;
use chadwick_core::visit::variable_types;
use chadwick_core::{Arm, Atom, Binder, Block, Lambda, Loop, Op, Program, Statement, Type, TypeId, Var};
use rustc_hash::FxHashSet;

pub(super) fn sweep(program: &mut Program, live: &FxHashSet<Node>, shown: &FxHashSet<TypeId>, effectful: &[bool]) {
    let types = variable_types(program);
    let params = program.functions.iter().map(|it| it.params.iter().map(|param| live.contains(&Node::Var(param.var))).collect());
    let params: Vec<Vec<bool>> = params.collect();
    let results = |(function, it): (usize, &chadwick_core::Function)| {
        (0..it.results.len()).map(|at| live.contains(&Node::Result { function: function as u32, at })).collect()
    };
    let results: Vec<Vec<bool>> = program.functions.iter().enumerate().map(results).collect();
    let sweep = Sweep { live, shown, effectful, types, params, results };
    let mut used = vec![false; program.functions.len()];
    let mut waiting: Vec<u32> = program.entries.iter().map(|entry| entry.function.0).collect();
    while let Some(at) = waiting.pop() {
        let Some(function) = program.functions.get_mut(at as usize) else { continue };
        if std::mem::replace(&mut used[at as usize], true) {
            continue;
        }
        let body = std::mem::take(&mut function.body);
        let mut body = sweep.block(body, &mut waiting).0;
        body.results = filter(body.results, &sweep.results[at as usize]);
        function.body = body;
        function.params = filter(std::mem::take(&mut function.params), &sweep.params[at as usize]);
        function.results = filter(std::mem::take(&mut function.results), &sweep.results[at as usize]);
    }
    for (at, definition) in program.types.iter_mut().enumerate() {
        let ty = TypeId(at as u32);
        for (tag, constructor) in definition.constructors.iter_mut().enumerate() {
            let payload = std::mem::take(&mut constructor.payload);
            constructor.payload = filter(payload.clone(), &sweep.fields(ty, tag as u32, payload.len()));
        }
    }
    renumber(program, &used);
}

/// Functions that nobody calls any more go, and the others close up.
fn renumber(program: &mut Program, used: &[bool]) {
    if used.iter().all(|used| *used) {
        return;
    }
    let mut next = 0;
    let numbers: Vec<u32> = used.iter().map(|used| (next, next += u32::from(*used)).0).collect();
    program.functions = filter(std::mem::take(&mut program.functions), used);
    for function in &mut program.functions {
        function.body = renumbered(std::mem::take(&mut function.body), &numbers);
    }
    for entry in &mut program.entries {
        entry.function.0 = numbers[entry.function.0 as usize];
    }
}

fn renumbered(mut block: Block, numbers: &[u32]) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for statement in &mut block.statements {
            if let Op::Call { function, .. } = &mut statement.op {
                function.0 = numbers[function.0 as usize];
            }
            let op = std::mem::replace(&mut statement.op, Op::Copy(Vec::new()));
            statement.op = op.map_blocks(&mut |block| renumbered(block, numbers));
        }
        block
    })
}

struct Sweep<'a> {
    live: &'a FxHashSet<Node>,
    shown: &'a FxHashSet<TypeId>,
    effectful: &'a [bool],
    types: Vec<Option<Type>>,
    /// Per function, which parameters and results stay.
    params: Vec<Vec<bool>>,
    results: Vec<Vec<bool>>,
}

impl Sweep<'_> {
    fn lives(&self, binder: &Binder) -> bool {
        self.live.contains(&Node::Var(binder.var))
    }

    fn living(&self, binders: &[Binder]) -> Vec<bool> {
        binders.iter().map(|binder| self.lives(binder)).collect()
    }

    fn is_live_atom(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if self.live.contains(&Node::Var(*var)))
    }

    fn type_of(&self, var: Var) -> Option<&Type> {
        self.types.get(var.0 as usize)?.as_ref()
    }

    /// Which of the first `count` fields of a constructor stay.
    fn fields(&self, ty: TypeId, tag: u32, count: usize) -> Vec<bool> {
        if self.shown.contains(&ty) {
            return vec![true; count];
        }
        (0..count).map(|at| self.live.contains(&Node::Field { ty, tag, at })).collect()
    }

    /// The block without what is dead, its results untouched, and whether something in it has an effect.
    fn block(&self, block: Block, calls: &mut Vec<u32>) -> (Block, bool) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut effects = false;
            let mut statements = Vec::with_capacity(block.statements.len());
            for statement in block.statements {
                let (statement, effect) = self.statement(statement, calls);
                effects |= effect;
                statements.extend(statement);
            }
            (Block { statements, results: block.results }, effects)
        })
    }

    /// What remains of a statement, and whether it has an effect besides its results.
    fn statement(&self, statement: Statement, calls: &mut Vec<u32>) -> (Option<Statement>, bool) {
        let Statement { binders, op, span } = statement;
        let living = self.living(&binders);
        let wanted = living.iter().any(|lives| *lives);
        let keep = |binders: Vec<Binder>, op: Op| Some(Statement { binders, op, span });
        let op = match op {
            Op::Assert { .. } | Op::Trace { .. } | Op::Log { .. } => return (keep(binders, op), true),
            Op::Accumulate { ref handle, .. } => {
                let lives = self.is_live_atom(handle);
                return (lives.then_some(Statement { binders, op, span }), lives);
            }
            Op::Copy(atoms) => {
                return (
                    wanted.then(|| Statement { binders: filter(binders, &living), op: Op::Copy(filter(atoms, &living)), span }),
                    false,
                );
            }
            Op::Construct { ty, tag, args } => {
                let args = match &ty {
                    Type::Named(id) => filter(args.clone(), &self.fields(*id, tag, args.len())),
                    _ => args,
                };
                Op::Construct { ty, tag, args }
            }
            Op::Call { function, args } => {
                let at = function.0 as usize;
                let accumulates = args.iter().any(|arg| {
                    matches!(arg, Atom::Var(var) if matches!(self.type_of(*var), Some(Type::Accumulator(_))))
                        && self.is_live_atom(arg)
                });
                let (Some(params), Some(results)) = (self.params.get(at), self.results.get(at)) else {
                    return (keep(binders, Op::Call { function, args }), false);
                };
                let effect = accumulates || self.effectful[at];
                if !wanted && !effect {
                    return (None, false);
                }
                calls.push(function.0);
                let op = Op::Call { function, args: filter(args, params) };
                return (keep(filter(binders, results), op), effect);
            }
            other if other.scopes().is_empty() => other,
            other => return self.nested(binders, living, other, span, calls),
        };
        (wanted.then_some(Statement { binders, op, span }), false)
    }

    /// An operation with blocks inside.
    fn nested(
        &self,
        binders: Vec<Binder>,
        living: Vec<bool>,
        op: Op,
        span: chadwick_source::Span,
        calls: &mut Vec<u32>,
    ) -> (Option<Statement>, bool) {
        let wanted = living.iter().any(|lives| *lives);
        let mut called = Vec::new();
        let mut effects = false;
        let op = op.map_blocks(&mut |block| {
            let (block, effect) = self.block(block, &mut called);
            effects |= effect;
            block
        });
        if !wanted && !effects {
            return (None, false);
        }
        calls.append(&mut called);
        let prune = |mut block: Block| {
            block.results = filter(block.results, &living);
            block
        };
        let (binders, op) = match op {
            Op::If { condition, then, otherwise } => {
                let op = Op::If { condition, then: prune(then), otherwise: prune(otherwise) };
                (filter(binders, &living), op)
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let ty = match &scrutinee {
                    Atom::Var(var) => self.type_of(*var),
                    Atom::Const(_) => None,
                };
                let arm = |arm: Arm| {
                    let binders = match ty {
                        Some(Type::Named(id)) => filter(arm.binders.clone(), &self.fields(*id, arm.tag, arm.binders.len())),
                        _ => arm.binders,
                    };
                    Arm { tag: arm.tag, binders, body: prune(arm.body) }
                };
                let arms = arms.into_iter().map(arm).collect();
                (filter(binders, &living), Op::Match { scrutinee, arms, otherwise: otherwise.map(prune) })
            }
            Op::Build { space, body, inner } => {
                let op = Op::Build { space, body: prune(body), inner: filter(inner, &living) };
                (filter(binders, &living), op)
            }
            Op::Reduce { space, op, neutral, body, commutative } => {
                let kept = self.components(&binders, &op, neutral.len());
                if kept.iter().all(|kept| !kept) {
                    return (only_effects(space, body, span), effects);
                }
                let body = Block { results: filter(body.results, &kept), ..body };
                let op = Op::Reduce { space, op: prune_lambda(op, &kept), neutral: filter(neutral, &kept), body, commutative };
                (filter(binders, &kept), op)
            }
            Op::Scan { axis, op, neutral, body } => {
                let kept = self.components(&binders, &op, neutral.len());
                if kept.iter().all(|kept| !kept) {
                    return (only_effects(vec![axis], body, span), effects);
                }
                let body = Block { results: filter(body.results, &kept), ..body };
                let op = Op::Scan { axis, op: prune_lambda(op, &kept), neutral: filter(neutral, &kept), body };
                (filter(binders, &kept), op)
            }
            Op::Hist { space, dest, rank, op, neutral, body } => {
                let kept = self.components(&binders, &op, neutral.len());
                if kept.iter().all(|kept| !kept) {
                    return (only_effects(space, body, span), effects);
                }
                let body = prune_after(body, rank, &kept);
                let (dest, neutral) = (filter(dest, &kept), filter(neutral, &kept));
                (filter(binders, &kept), Op::Hist { space, dest, rank, op: prune_lambda(op, &kept), neutral, body })
            }
            Op::Scatter { space, dest, rank, body } => {
                if !wanted {
                    return (only_effects(space, body, span), effects);
                }
                let op = Op::Scatter { space, dest: filter(dest, &living), rank, body: prune_after(body, rank, &living) };
                (filter(binders, &living), op)
            }
            Op::Loop(parts) => self.loop_statement(binders, *parts),
            Op::Par { left, right } => {
                let count = left.results.len();
                let (first, second) = living.split_at(count.min(living.len()));
                let left = Block { results: filter(left.results, first), ..left };
                let right = Block { results: filter(right.results, second), ..right };
                (filter(binders, &living), Op::Par { left, right })
            }
            Op::Recompute(block) => (filter(binders, &living), Op::Recompute(prune(block))),
            Op::WithAccumulators { handles, init, body } => {
                let opened = self.living(&handles);
                let count = handles.len();
                let results = &living[count.min(living.len())..];
                let body = Block { results: filter(body.results, results), ..body };
                let kept: Vec<bool> = opened.iter().chain(results).copied().collect();
                let op = Op::WithAccumulators { handles: filter(handles, &opened), init: filter(init, &opened), body };
                (filter(binders, &kept), op)
            }
            Op::WithLog { handle, start, body } => {
                // The columns stay together: rows are written to all of them.
                let count = super::graph::columns(&handle);
                let results = living.get(count..).unwrap_or_default();
                let body = Block { results: filter(body.results, results), ..body };
                let kept: Vec<bool> = std::iter::repeat_n(true, count).chain(results.iter().copied()).collect();
                (filter(binders, &kept), Op::WithLog { handle, start, body })
            }
            other => (binders, other),
        };
        (Some(Statement { binders, op, span }), effects)
    }

    fn components(&self, binders: &[Binder], op: &Lambda, count: usize) -> Vec<bool> {
        (0..count).map(|at| component(binders, op, at, count).any(|binder| self.lives(binder))).collect()
    }

    fn loop_statement(&self, binders: Vec<Binder>, parts: Loop) -> (Vec<Binder>, Op) {
        let carried = self.living(&parts.carry);
        let count = parts.carry.len();
        let emitted: Vec<bool> =
            binders.iter().skip(count + usize::from(parts.counted)).map(|binder| self.lives(binder)).collect();
        let counted = parts.counted && binders.get(count).is_some_and(|binder| self.lives(binder));
        let all: Vec<bool> = carried.iter().chain(parts.counted.then_some(&counted)).chain(&emitted).copied().collect();
        let results: Vec<bool> = carried.iter().chain(&emitted).copied().collect();
        let parts = Loop {
            carry: filter(parts.carry, &carried),
            initial: filter(parts.initial, &carried),
            body: Block { results: filter(parts.body.results, &results), ..parts.body },
            emits: filter(parts.emits, &emitted),
            counted,
            ..parts
        };
        (filter(binders, &all), Op::Loop(Box::new(parts)))
    }
}

/// A form whose results are dead but whose body has effects.
fn only_effects(space: Vec<chadwick_core::Axis>, body: Block, span: chadwick_source::Span) -> Option<Statement> {
    let body = Block { statements: body.statements, results: Vec::new() };
    Some(Statement { binders: Vec::new(), op: Op::Build { space, body, inner: Vec::new() }, span })
}

fn prune_after(body: Block, rank: usize, kept: &[bool]) -> Block {
    let all: Vec<bool> = std::iter::repeat_n(true, rank).chain(kept.iter().copied()).collect();
    Block { results: filter(body.results, &all), ..body }
}

/// Both operands and the result of each dropped component go.
fn prune_lambda(lambda: Lambda, kept: &[bool]) -> Lambda {
    let params: Vec<bool> = kept.iter().chain(kept).copied().collect();
    let body = Block { results: filter(lambda.body.results, kept), ..lambda.body };
    Lambda { params: filter(lambda.params, &params), results: filter(lambda.results, kept), body }
}

fn filter<T>(items: Vec<T>, kept: &[bool]) -> Vec<T> {
    items.into_iter().zip(kept).filter(|(_, kept)| **kept).map(|(item, _)| item).collect()
}
