//! Vertical fusion: a build whose elements are each read at most once is computed where they are read.
//!
//! A producer moves only into a place that runs at most once for each of its elements (every parallel index between the two is one of the
//! indices read), so no work is repeated; a producer that costs no more than the load it replaces moves anywhere. No producer moves past the
//! place where an array that it reads is updated: the update would have to copy the array.

use chadwick_core::visit::{Copier, free_variables};
use chadwick_core::{Atom, Axis, BinaryOp, Binder, Block, Const, LoopForm, Op, Prim, PrimOp, Program, Statement, Var};
use rustc_hash::FxHashMap;

/// Fuses builds into what reads them.
pub fn fuse(program: &mut Program) {
    for at in 0..program.functions.len() {
        let mut survey = Survey::default();
        survey.block(&program.functions[at].body);
        let fused = survey.decide();
        if fused.is_empty() {
            continue;
        }
        let body = std::mem::take(&mut program.functions[at].body);
        let mut rewrite = Rewrite { program, fused, bodies: FxHashMap::default(), done: Vec::new() };
        let body = rewrite.block(body);
        program.functions[at].body = body;
    }
}

/// Why a block runs as often as it does.
#[derive(Clone)]
enum Frame {
    /// Once per value of these variables.
    Indexed(Vec<Var>),
    /// At most once.
    Once,
    /// Some number of times, or somewhere else.
    Opaque,
}

/// A build and how its results are used.
struct Producer {
    axes: Vec<Axis>,
    results: Vec<Var>,
    cheap: bool,
    depth: usize,
    /// When it was met, and the arrays it reads.
    time: usize,
    arrays: Vec<Var>,
    /// The one place where it is read: the block, and the indices.
    site: Option<(usize, Vec<Atom>)>,
    fits: bool,
    used: bool,
    /// For each result, whether it is read, only at places inside its bounds.
    reads: Vec<Option<bool>>,
    /// How to make a result from another result, where that is no dearer than reading it.
    derived: Vec<Option<Derived>>,
}

/// A result of a build as a few light operations on another one.
struct Derived {
    body: Block,
    from: usize,
}

/// What happens to a result of a build that is fused: it is computed by the build's own body, or by this one.
type Fused = FxHashMap<Var, Option<Block>>;

#[derive(Default)]
struct Survey {
    frames: Vec<Frame>,
    blocks: usize,
    producers: Vec<Producer>,
    by_result: FxHashMap<Var, usize>,
    ranges: FxHashMap<Var, Atom>,
    /// How many statements have been met, and when arrays were last given to be worked on in place.
    time: usize,
    consumed: FxHashMap<Var, usize>,
}

impl Survey {
    fn decide(self) -> Fused {
        let mut fused = FxHashMap::default();
        for producer in self.producers {
            if producer.used && producer.fits {
                fused.extend(producer.results.iter().map(|result| (*result, None)));
                continue;
            }
            let is_derived = |at: usize| producer.derived[at].is_some() && producer.reads[at] == Some(true);
            for (at, derived) in producer.derived.iter().enumerate() {
                if let Some(derived) = derived
                    && is_derived(at)
                    && !is_derived(derived.from)
                {
                    fused.insert(producer.results[at], Some(derived.body.clone()));
                }
            }
        }
        fused
    }

    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            self.blocks += 1;
            let id = self.blocks;
            for statement in &block.statements {
                self.statement(statement, id);
            }
            block.results.iter().for_each(|atom| self.other_use(atom));
        });
    }

    fn statement(&mut self, statement: &Statement, block: usize) {
        self.time += 1;
        match &statement.op {
            Op::Index { array: Atom::Var(array), indices } if self.by_result.contains_key(array) => {
                self.read(*array, indices, block);
                indices.iter().for_each(|index| self.other_use(index));
            }
            op => op.for_each_atom(&mut |atom| self.other_use(atom)),
        }
        for_each_consumed(&statement.op, &mut |var| {
            self.consumed.insert(var, self.time);
        });
        for axis in statement.op.space() {
            self.ranges.insert(axis.var, axis.size.clone());
        }
        let axes = |space: &[Axis]| Frame::Indexed(space.iter().map(|axis| axis.var).collect());
        let frames: Vec<Frame> = match &statement.op {
            Op::Build { space, .. } | Op::Scatter { space, .. } => vec![axes(space)],
            Op::Reduce { space, .. } | Op::Hist { space, .. } => vec![axes(space), Frame::Opaque],
            Op::Scan { axis, .. } => vec![axes(std::slice::from_ref(axis)), Frame::Opaque],
            Op::Loop(parts) => match &parts.form {
                LoopForm::For { index, bound } => {
                    self.ranges.insert(index.var, bound.clone());
                    vec![Frame::Indexed(vec![index.var])]
                }
                LoopForm::While { .. } => vec![Frame::Opaque, Frame::Opaque],
            },
            Op::If { .. }
            | Op::Match { .. }
            | Op::Par { .. }
            | Op::Recompute(_)
            | Op::WithAccumulators { .. }
            | Op::WithLog { .. } => {
                vec![Frame::Once; statement.op.scopes().len()]
            }
            _ => vec![Frame::Opaque; statement.op.scopes().len()],
        };
        for (scope, frame) in statement.op.scopes().iter().zip(frames) {
            self.frames.push(frame);
            self.block(scope.block);
            self.frames.pop();
        }
        if let Op::Build { space, body, .. } = &statement.op
            && !statement.binders.is_empty()
            && is_pure(body)
        {
            let results: Vec<Var> = statement.binders.iter().map(|binder| binder.var).collect();
            results.iter().for_each(|result| {
                self.by_result.insert(*result, self.producers.len());
            });
            let producer = Producer {
                axes: space.clone(),
                results,
                cheap: is_cheap(body),
                depth: self.frames.len(),
                time: self.time,
                arrays: free_variables(body),
                site: None,
                fits: true,
                used: false,
                reads: vec![None; statement.binders.len()],
                derived: (0..statement.binders.len()).map(|at| from_other_result(statement, space, body, at)).collect(),
            };
            self.producers.push(producer);
        }
    }

    fn other_use(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom
            && let Some(at) = self.by_result.get(var)
        {
            let producer = &mut self.producers[*at];
            producer.fits = false;
            if let Some(at) = producer.results.iter().position(|result| result == var) {
                producer.reads[at] = Some(false);
            }
        }
    }

    fn read(&mut self, array: Var, indices: &[Atom], block: usize) {
        let Some(at) = self.by_result.get(&array).copied() else { return };
        let between = &self.frames[self.producers[at].depth..];
        let producer = &self.producers[at];
        let within = indices.len() >= producer.axes.len()
            && producer.axes.iter().zip(indices).all(|(axis, index)| match (index, &axis.size) {
                (Atom::Const(Const::I64(index)), Atom::Const(Const::I64(size))) => (0..*size).contains(index),
                (Atom::Var(index), size) => self.ranges.get(index) == Some(size),
                _ => false,
            });
        let is_consumed = |var: &Var| self.consumed.get(var).is_some_and(|time| *time > producer.time);
        let opaque = between.iter().any(|frame| matches!(frame, Frame::Opaque)) || producer.arrays.iter().any(is_consumed);
        let once = indices.len() == producer.axes.len()
            && between.iter().all(|frame| match frame {
                Frame::Indexed(vars) => vars.iter().all(|var| indices.contains(&Atom::Var(*var))),
                Frame::Once => true,
                Frame::Opaque => false,
            });
        let site = (block, indices[..producer.axes.len().min(indices.len())].to_vec());
        let same_place = producer.site.as_ref().is_none_or(|known| *known == site);
        let producer = &mut self.producers[at];
        producer.fits &= within && !opaque && (producer.cheap || (once && same_place));
        if let Some(at) = producer.results.iter().position(|result| *result == array) {
            producer.reads[at] = Some(producer.reads[at] != Some(false) && within && !opaque);
        }
        producer.site = Some(site);
        producer.used = true;
    }
}

/// The arrays on which an operation may work in place.
pub fn for_each_consumed(op: &Op, visit: &mut dyn FnMut(Var)) {
    let mut atom = |atom: &Atom| {
        if let Atom::Var(var) = atom {
            visit(*var);
        }
    };
    match op {
        Op::Update { array, .. } => atom(array),
        Op::Hist { dest: atoms, .. } | Op::Scatter { dest: atoms, .. } | Op::WithAccumulators { init: atoms, .. } => {
            atoms.iter().for_each(atom);
        }
        Op::Loop(parts) => parts.initial.iter().for_each(atom),
        _ => {}
    }
}

/// Whether the block has no effect but its results.
pub fn is_pure(block: &Block) -> bool {
    block.statements.iter().all(|statement| is_pure_operation(&statement.op))
}

pub fn is_pure_operation(op: &Op) -> bool {
    match op {
        Op::Assert { .. } | Op::Trace { .. } | Op::Accumulate { .. } | Op::Log { .. } => false,
        Op::Call { .. } | Op::Apply { .. } => false,
        op => op.scopes().iter().all(|scope| is_pure(scope.block)),
    }
}

/// A result of a build as a few light operations on one other result of the same build.
fn from_other_result(statement: &Statement, space: &[Axis], body: &Block, at: usize) -> Option<Derived> {
    const FEW: usize = 2;
    let mut steps: Vec<usize> = Vec::new();
    let mut from: Option<usize> = None;
    let mut waiting = vec![body.results[at].clone()];
    while let Some(atom) = waiting.pop() {
        let Atom::Var(var) = atom else { continue };
        // Another result is there to be read.
        let other = body.results.iter().position(|result| *result == Atom::Var(var)).filter(|other| *other != at);
        if let Some(other) = other {
            if from.is_some_and(|known| known != other) {
                return None;
            }
            from = Some(other);
            continue;
        }
        let bound = body.statements.iter().position(|it| it.binders.iter().any(|binder| binder.var == var));
        let Some(bound) = bound else { continue };
        let Op::Prim(op, args) = &body.statements[bound].op else { return None };
        if !steps.contains(&bound) {
            steps.push(bound);
            waiting.extend(args.iter().cloned());
        }
        if !op.is_light() || steps.len() > FEW {
            return None;
        }
    }
    let (from, false) = (from?, steps.is_empty()) else { return None };
    let Atom::Var(var) = body.results[from] else { return None };
    steps.sort_unstable();
    let binder = Binder { var, ty: statement.binders[from].ty.peel(space.len())? };
    let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
    let op = Op::Index { array: Atom::Var(statement.binders[from].var), indices };
    let load = Statement { binders: vec![binder], op, span: statement.span };
    let statements = [load].into_iter().chain(steps.into_iter().map(|step| body.statements[step].clone())).collect();
    Some(Derived { body: Block { statements, results: vec![body.results[at].clone()] }, from })
}

/// Whether the block costs no more than the load of its result. What is added to an index is part of an address.
fn is_cheap(block: &Block) -> bool {
    const SUMS: usize = 2;
    let is_address =
        |statement: &Statement| matches!(statement.op, Op::Prim(PrimOp::Binary(BinaryOp::Add | BinaryOp::Sub, Prim::I64), _));
    match block.statements.as_slice() {
        [] => true,
        [statement] => match &statement.op {
            Op::Index { .. } | Op::Dim { .. } => true,
            Op::Prim(op, _) => op.is_light(),
            _ => false,
        },
        [sums @ .., Statement { op: Op::Index { .. }, .. }] => sums.len() <= SUMS && sums.iter().all(is_address),
        _ => false,
    }
}

/// An element that was computed: first result of the producer, indices, and the values of all results.
type Made = (Var, Vec<Atom>, Vec<Atom>);

struct Rewrite<'p> {
    program: &'p mut Program,
    fused: Fused,
    /// The rewritten bodies of producers, by result: the axes, the body, and which result it is.
    bodies: FxHashMap<Var, (Vec<Axis>, Block, usize, Var)>,
    /// Elements computed in the open blocks.
    done: Vec<Vec<Made>>,
}

impl Rewrite<'_> {
    fn block(&mut self, block: Block) -> Block {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            self.done.push(Vec::new());
            let mut out = Vec::with_capacity(block.statements.len());
            for statement in block.statements {
                self.statement(statement, &mut out);
            }
            self.done.pop();
            Block { statements: out, results: block.results }
        })
    }

    fn statement(&mut self, statement: Statement, out: &mut Vec<Statement>) {
        if let Op::Index { array: Atom::Var(array), indices } = &statement.op
            && let Some((axes, _, position, first)) = self.bodies.get(array)
        {
            let (position, first, rank) = (*position, *first, axes.len());
            let values = self.element(*array, first, &indices[..rank], out);
            let value = values[position].clone();
            let op = match &indices[rank..] {
                [] => Op::Copy(vec![value]),
                rest => Op::Index { array: value, indices: rest.to_vec() },
            };
            out.push(Statement { op, ..statement });
            return;
        }
        let op = statement.op.map_blocks(&mut |block| self.block(block));
        if let Op::Build { space, body, .. } = &op {
            let mut gone = 0;
            for (position, binder) in statement.binders.iter().enumerate() {
                let (body, position, first) = match self.fused.get(&binder.var) {
                    None => continue,
                    Some(None) => (body.clone(), position, statement.binders[0].var),
                    Some(Some(instead)) => (instead.clone(), 0, binder.var),
                };
                self.bodies.insert(binder.var, (space.clone(), body, position, first));
                gone += 1;
            }
            if gone > 0 && gone == statement.binders.len() {
                return;
            }
        }
        out.push(Statement { op, ..statement });
    }

    /// The values of a producer's results at the indices, computed here unless the open blocks have them.
    fn element(&mut self, array: Var, first: Var, indices: &[Atom], out: &mut Vec<Statement>) -> Vec<Atom> {
        let known = self.done.iter().flatten().find(|(producer, at, _)| *producer == first && at == indices);
        if let Some((_, _, values)) = known {
            return values.clone();
        }
        let (axes, body, ..) = &self.bodies[&array];
        let mut copier = Copier::new(self.program);
        axes.iter().zip(indices).for_each(|(axis, index)| copier.replace(axis.var, index.clone()));
        let copy = copier.block(body);
        out.extend(copy.statements);
        if let Some(done) = self.done.last_mut() {
            done.push((first, indices.to_vec(), copy.results.clone()));
        }
        copy.results
    }
}
