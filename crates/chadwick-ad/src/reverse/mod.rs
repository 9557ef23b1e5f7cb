//! Reverse mode, split in two: a forward part that computes the results and what must be kept, and a dual part that turns cotangents of the
//! results into cotangents of the inputs (thesis ch. 7, the transformation with save lists).
//!
//! A block is gone through backwards. Each statement gives its forward form and appends its dual to the block being built. The dual speaks of
//! primal variables by their own names; what a nested dual needs of its own block is found afterwards as its free variables, and only that is
//! recorded, unless it can be made again for less than a load. So nothing is stored that no dual uses.
//!
//! A cotangent is a value in straight-line code and an accumulator inside parallel bodies and functions, where many contributions meet.

mod arrays;
mod calls;
mod control;
mod desugar;
mod functions;
mod scalars;
mod select;
mod settled;
mod stripmine;
mod undo;

use crate::context::Context;
use crate::report::NoteKind;
use crate::tape::Needs;
use chadwick_core::{
    Atom, BinaryOp, Binder, Block, Const, FunctionId, Lambda, Op, PathStep, SliceDim, Statement, Type, TypeId, Var,
};
use chadwick_source::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// Forward and dual functions, by which arguments are active.
pub type ReverseFunctions = FxHashMap<(FunctionId, Vec<bool>), SplitFunction>;

/// A function in two halves.
#[derive(Clone)]
pub struct SplitFunction {
    pub forward: FunctionId,
    pub dual: FunctionId,
    pub tape: TypeId,
    /// Which results have a cotangent.
    pub results: Vec<bool>,
    /// Per parameter, whether the dual is given it as well, behind all else.
    given: Vec<bool>,
}

/// The last statement of a function, which may be a conditional whose branches make the tape.
enum Tail {
    None,
    /// It binds this variable first.
    Wanted(Var),
    Found(Box<LastBranches>),
}

/// The branches of a conditional after the split.
struct LastBranches {
    /// The slots that all branches fill.
    slots: Vec<Var>,
    branches: Vec<LastBranch>,
}

struct LastBranch {
    binders: Vec<Binder>,
    forward: Vec<Statement>,
    results: Vec<Atom>,
    needs: Needs,
    dual: Block,
}

/// Where the cotangent of a variable is collected.
#[derive(Clone, Debug, PartialEq)]
pub enum Cotangent {
    Value(Atom),
    /// In an accumulator, at a path.
    Handle(Atom, Vec<PathStep>),
}

/// Cotangents so far; a variable without an entry has none yet.
pub type Cotangents = FxHashMap<Var, Cotangent>;

pub struct Reverse<'c, 'p> {
    pub context: &'c mut Context<'p>,
    functions: &'c mut ReverseFunctions,
    active: FxHashSet<Var>,
    /// Sizes that duals ask for: array, axis, and the variable that holds it in the forward part.
    sizes: Vec<(Var, usize, Var)>,
    /// What was accumulated in the end, for accumulators of the program being differentiated.
    finals: FxHashMap<Var, Atom>,
    /// How many parallel forms are around, in this function.
    parallel_depth: usize,
    tail: Tail,
    undo: undo::Undo,
    settled: settled::Settled,
}

impl<'c, 'p> Reverse<'c, 'p> {
    /// For a function all of whose parameters are inputs.
    pub fn new(context: &'c mut Context<'p>, functions: &'c mut ReverseFunctions, lambda: &Lambda) -> Self {
        let inputs = lambda.params.iter().filter(|param| context.carries(&param.ty)).map(|param| param.var);
        let inputs: Vec<Var> = inputs.collect();
        let active = context.passed_variables(&lambda.body, inputs);
        Reverse::collecting(context, functions, active)
    }

    /// Collects cotangents of these variables for whoever says how they pass through a statement.
    pub fn collecting(context: &'c mut Context<'p>, functions: &'c mut ReverseFunctions, active: FxHashSet<Var>) -> Self {
        Reverse {
            context,
            functions,
            active,
            sizes: Vec::new(),
            finals: FxHashMap::default(),
            parallel_depth: 0,
            tail: Tail::None,
            undo: undo::Undo::default(),
            settled: settled::Settled::default(),
        }
    }

    /// Tells the cotangent of what an accumulator holds in the end.
    pub fn set_final(&mut self, handle: Var, cotangent: Atom) {
        self.finals.insert(handle, cotangent);
    }

    /// Size statements for arrays that nobody has placed.
    pub fn outside_sizes(&mut self, span: Span) -> Vec<Statement> {
        let outside = std::mem::take(&mut self.sizes);
        outside.into_iter().map(|(array, axis, var)| size_statement(array, axis, var, span)).collect()
    }

    /// Emits both parts into the current block; returns the results and the cotangents of the parameters.
    pub fn gradient(mut self, lambda: &Lambda, seeds: &[Atom], span: Span) -> (Vec<Atom>, Vec<Atom>) {
        let (forward, dual) = self.split_lambda(lambda, seeds, span);
        forward.into_iter().for_each(|statement| self.context.push_statement(statement));
        dual.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
        (lambda.body.results.clone(), dual.results)
    }

    /// The results, the forward part, and the dual part as a block.
    pub fn split_gradient(mut self, lambda: &Lambda, seeds: &[Atom], span: Span) -> (Vec<Atom>, Vec<Statement>, Block) {
        let (forward, dual) = self.split_lambda(lambda, seeds, span);
        (lambda.body.results.clone(), forward, dual)
    }

    fn split_lambda(&mut self, lambda: &Lambda, seeds: &[Atom], span: Span) -> (Vec<Statement>, Block) {
        let mut cotangents = Cotangents::default();
        self.context.b.push_block();
        for (result, seed) in lambda.body.results.iter().zip(seeds) {
            self.check_seed(result, seed, span);
            let seed = self.context.cotangent_from_value(seed, span);
            self.add(&mut cotangents, result, seed, span);
        }
        let params: Vec<Var> = lambda.params.iter().map(|param| param.var).collect();
        let forward = self.split(&lambda.body, &params, &mut cotangents);
        let results = lambda.params.iter().map(|param| self.take_in_form(&mut cotangents, param.var, span)).collect();
        let mut forward = forward;
        // Sizes of arrays from outside the function.
        forward.splice(0..0, self.outside_sizes(span));
        (forward, self.context.b.pop_block(results))
    }

    /// A seed must have the structure of what it is a cotangent of. The lengths of arrays are known without the arrays.
    pub(crate) fn check_seed(&mut self, result: &Atom, seed: &Atom, span: Span) {
        let ty = self.context.type_of(result);
        if let (Atom::Var(array), true) = (result, Context::is_flat(&ty)) {
            for axis in 0..ty.rank() {
                let expected = self.size_of(*array, axis);
                self.context.check_length(&expected, seed, axis, "cotangent", span);
            }
        } else if self.context.carries(&ty) {
            self.context.check_seed(result, seed, "cotangent", span);
        }
    }

    /// Appends the dual of the block to the current block and returns its forward statements. `params` are bound at its start.
    fn split(&mut self, block: &Block, params: &[Var], cotangents: &mut Cotangents) -> Vec<Statement> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut statements = Vec::new();
            for statement in &block.statements {
                let is_function = |binder: &Binder| matches!(binder.ty, Type::Function(_)) && self.active.contains(&binder.var);
                if statement.binders.iter().any(is_function) {
                    self.context.unsupported(statement.span, "a function that is a value");
                }
                self.context.note_shapes(statement);
                match self.desugar(statement) {
                    Some(simpler) => statements.extend(simpler),
                    None => statements.push(statement.clone()),
                }
            }
            let statements = self.with_overwritten(statements);
            for statement in &statements {
                self.context.note_shapes(statement);
                self.context.makings.statement(statement);
                self.collect_in_whole(statement, cotangents);
            }
            let mut forward: Vec<Statement> =
                statements.iter().rev().map(|statement| self.statement(statement, cotangents)).collect();
            forward.reverse();
            let forward = flattened(forward);
            forward.iter().for_each(|statement| self.context.note_shapes(statement));
            self.place_sizes(forward, params)
        })
    }

    /// The same for a block that runs many times: the body of a loop, of a parallel form, of a function.
    fn split_repeated(&mut self, block: &Block, params: &[Var], cotangents: &mut Cotangents) -> Vec<Statement> {
        self.context.makings.enter(params);
        let forward = self.split(block, params, cotangents);
        self.context.makings.leave();
        forward
    }

    /// Puts the size statements that duals asked for right behind the arrays.
    pub(crate) fn place_sizes(&mut self, forward: Vec<Statement>, params: &[Var]) -> Vec<Statement> {
        if self.sizes.is_empty() {
            return forward;
        }
        let mut placed = Vec::new();
        let mut take = |array: Var, span: Span, placed: &mut Vec<Statement>| {
            self.sizes.retain(|(wanted, axis, var)| {
                if *wanted != array {
                    return true;
                }
                placed.push(size_statement(array, *axis, *var, span));
                false
            });
        };
        params.iter().for_each(|param| take(*param, Span::default(), &mut placed));
        for statement in forward {
            let bound: Vec<Var> = statement.binders.iter().map(|binder| binder.var).collect();
            let span = statement.span;
            placed.push(statement);
            bound.into_iter().for_each(|var| take(var, span, &mut placed));
        }
        placed
    }

    /// The length of an array's axis, as a variable of the forward part: the dual need not keep the array for it.
    pub(crate) fn size_of(&mut self, array: Var, axis: usize) -> Atom {
        if let Some(Some(size)) = self.context.shapes.get(&array).and_then(|shape| shape.get(axis)) {
            return size.clone();
        }
        if let Some((_, _, var)) = self.sizes.iter().find(|(known, known_axis, _)| *known == array && *known_axis == axis) {
            return Atom::Var(*var);
        }
        let var = self.context.fresh("n", Type::I64).var;
        self.sizes.push((array, axis, var));
        Atom::Var(var)
    }

    pub(crate) fn sizes_of(&mut self, array: Var) -> Vec<Atom> {
        (0..self.context.var_type(array).rank()).map(|axis| self.size_of(array, axis)).collect()
    }

    // ---------------------------------------------------------------------------------------------------------- cotangents

    pub(crate) fn is_active(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Var(var) => self.active.contains(var) && self.context.carries(&self.context.var_type(*var)),
            Atom::Const(_) => false,
        }
    }

    /// The type of a variable's cotangent, with sizes that the value knows.
    pub(crate) fn cotangent_type(&mut self, var: Var) -> Type {
        self.context.cotangent_type(&self.context.var_type(var)).any_sizes()
    }

    /// A new variable for a cotangent of the type.
    fn fresh_cotangent(&mut self, name: impl Into<Name>, ty: &Type) -> Binder {
        let ty = self.context.cotangent_type(ty);
        self.context.fresh(name, ty)
    }

    /// The zero cotangent of a variable.
    pub(crate) fn zero(&mut self, var: Var, span: Span) -> Atom {
        match self.context.var_type(var) {
            Type::Prim(prim) => Atom::Const(Const::zero(prim)),
            Type::Array(array) if Context::is_flat(&Type::Array(array.clone())) => {
                let chadwick_core::Element::Prim(prim) = array.element else { return Atom::i64(0) };
                if self.context.makings.is_dear_zero(var) {
                    self.context.note(span, NoteKind::DenseZero);
                }
                let sizes = self.sizes_of(var);
                self.context.zeros(prim, sizes, span)
            }
            _ => self.context.zero_cotangent(&Atom::Var(var), span),
        }
    }

    /// Adds a contribution.
    pub(crate) fn add(&mut self, cotangents: &mut Cotangents, to: &Atom, contribution: Atom, span: Span) {
        if !self.is_active(to) {
            return;
        }
        let Atom::Var(var) = to else { return };
        match cotangents.get(var).cloned() {
            None => {
                cotangents.insert(*var, Cotangent::Value(contribution));
            }
            Some(Cotangent::Value(value)) => {
                let sum = self.context.sum(value, contribution, span);
                cotangents.insert(*var, Cotangent::Value(sum));
            }
            Some(Cotangent::Handle(handle, path)) => {
                let value = self.context.cotangent_to_value(&contribution, to, span);
                let op = Op::Accumulate { handle, path, value };
                self.context.b.push(op, Vec::new(), span);
            }
        }
    }

    /// Adds a contribution to a part of an array.
    pub(crate) fn add_at(&mut self, cotangents: &mut Cotangents, to: &Atom, dims: &[SliceDim], contribution: Atom, span: Span) {
        if !self.is_active(to) {
            return;
        }
        let Atom::Var(var) = to else { return };
        if let Some(Cotangent::Handle(handle, path)) = cotangents.get(var).cloned() {
            let path = self.path_to_part(path, dims, span);
            let mut value = contribution;
            if self.context.is_sparse(&self.context.var_type(*var)) {
                let part = self.part(to, dims, span);
                value = self.context.cotangent_to_value(&value, &part, span);
            }
            self.context.b.push(Op::Accumulate { handle, path, value }, Vec::new(), span);
            return;
        }
        let is_first = !cotangents.contains_key(var);
        let whole = self.value_or_zero(cotangents, *var, span);
        let value = match SliceDim::indices(dims) {
            // Nothing is there yet but zeros.
            _ if is_first => contribution,
            Some(indices) => {
                let part = self.context.emit_one(Op::Index { array: whole.clone(), indices }, span);
                self.context.sum(part, contribution, span)
            }
            None => {
                let part = self.context.emit_one(Op::Slice { array: whole.clone(), dims: dims.to_vec() }, span);
                self.context.sum(part, contribution, span)
            }
        };
        let updated = self.context.emit_one(Op::Update { array: whole, dims: dims.to_vec(), value }, span);
        cotangents.insert(*var, Cotangent::Value(updated));
    }

    /// A part of an array whose cotangent is in an accumulator has its own there: no array of zeros is made for it.
    fn collect_in_whole(&mut self, statement: &Statement, cotangents: &mut Cotangents) {
        let (array, dims) = match &statement.op {
            Op::Index { array, indices } => (array, indices.iter().cloned().map(SliceDim::Index).collect()),
            Op::Slice { array, dims } => (array, dims.clone()),
            _ => return,
        };
        if let ([part], Atom::Var(whole)) = (statement.binders.as_slice(), array)
            && let Some(Cotangent::Handle(handle, path)) = cotangents.get(whole).cloned()
            && part.ty.rank() > 0
            && Context::is_flat(&part.ty)
            && self.is_active(&Atom::Var(part.var))
            // A result of the block has a cotangent of its own already.
            && !cotangents.contains_key(&part.var)
        {
            let path = self.path_to_part(path, &dims, statement.span);
            cotangents.insert(part.var, Cotangent::Handle(handle, path));
        }
    }

    /// The path to a part of what a path leads to.
    fn path_to_part(&mut self, mut path: Vec<PathStep>, dims: &[SliceDim], span: Span) -> Vec<PathStep> {
        let last = match path.last() {
            Some(PathStep::Index(indices)) => indices.iter().cloned().map(SliceDim::Index).collect(),
            Some(PathStep::Slice(dims)) => dims.clone(),
            Some(PathStep::Payload { .. }) | None => Vec::new(),
        };
        if !last.is_empty() {
            path.pop();
        }
        let mut rest = dims.iter();
        let mut all = Vec::new();
        for dim in last {
            all.push(match dim {
                SliceDim::Range { start, count, stride } => match rest.next() {
                    None => SliceDim::Range { start, count, stride },
                    Some(SliceDim::Index(index)) => SliceDim::Index(self.place_in_range(&start, &stride, index, span)),
                    Some(SliceDim::Range { start: first, count, stride: step }) => SliceDim::Range {
                        start: self.place_in_range(&start, &stride, first, span),
                        count: count.clone(),
                        stride: self.times(&stride, step, span),
                    },
                },
                index => index,
            });
        }
        all.extend(rest.cloned());
        path.push(match SliceDim::indices(&all) {
            Some(indices) => PathStep::Index(indices),
            None => PathStep::Slice(all),
        });
        path
    }

    /// `start + place * stride`.
    fn place_in_range(&mut self, start: &Atom, stride: &Atom, place: &Atom, span: Span) -> Atom {
        let distance = self.times(place, stride, span);
        self.context.i64_op(BinaryOp::Add, start.clone(), distance, span)
    }

    fn times(&mut self, left: &Atom, right: &Atom, span: Span) -> Atom {
        match (left, right) {
            (Atom::Const(Const::I64(1)), other) | (other, Atom::Const(Const::I64(1))) => other.clone(),
            (left, right) => self.context.i64_op(BinaryOp::Mul, left.clone(), right.clone(), span),
        }
    }

    /// The cotangent so far as a value.
    pub(crate) fn value_or_zero(&mut self, cotangents: &Cotangents, var: Var, span: Span) -> Atom {
        match cotangents.get(&var) {
            Some(Cotangent::Value(value)) => value.clone(),
            _ => self.zero(var, span),
        }
    }

    pub(crate) fn take_or_zero(&mut self, cotangents: &mut Cotangents, var: Var, span: Span) -> Atom {
        match cotangents.remove(&var) {
            Some(Cotangent::Value(value)) => value,
            _ => self.zero(var, span),
        }
    }

    /// The cotangent of an input, in the form of the input.
    pub(crate) fn take_in_form(&mut self, cotangents: &mut Cotangents, var: Var, span: Span) -> Atom {
        if !self.context.is_sparse(&self.context.var_type(var)) {
            return self.take_or_zero(cotangents, var, span);
        }
        match cotangents.remove(&var) {
            Some(Cotangent::Value(value)) => self.context.cotangent_to_value(&value, &Atom::Var(var), span),
            _ => self.context.zero_like(&Atom::Var(var), span),
        }
    }

    /// Takes the cotangents of a statement's results.
    pub(crate) fn take(&mut self, cotangents: &mut Cotangents, binders: &[Binder]) -> Vec<Option<Atom>> {
        binders
            .iter()
            .map(|binder| match cotangents.remove(&binder.var) {
                Some(Cotangent::Value(value)) => Some(value),
                _ => None,
            })
            .collect()
    }

    /// The forward form of a statement; its dual is appended to the current block.
    fn statement(&mut self, statement: &Statement, cotangents: &mut Cotangents) -> Statement {
        let span = statement.span;
        if let Op::Accumulate { handle, path, value } = &statement.op {
            self.accumulate(handle, path, value, cotangents, span);
            return statement.clone();
        }
        self.undo(statement);
        let effects = self.context.has_effects(&statement.op);
        let incoming = self.take(cotangents, &statement.binders);
        let is_undone =
            matches!(statement.op, Op::Loop(_) | Op::If { .. }) && statement.binders.iter().any(|it| self.is_restored(it.var));
        if incoming.iter().all(Option::is_none) && !effects && !is_undone {
            return statement.clone();
        }
        match &statement.op {
            Op::Copy(atoms) | Op::Trace { args: atoms, .. } => {
                for (atom, incoming) in atoms.iter().zip(incoming) {
                    if let Some(incoming) = incoming {
                        self.add(cotangents, atom, incoming, span);
                    }
                }
                statement.clone()
            }
            Op::Prim(op, args) => {
                self.prim(statement, *op, args, incoming, cotangents);
                statement.clone()
            }
            Op::Construct { args, tag, .. } => {
                self.construct(args, *tag, incoming, cotangents, span);
                statement.clone()
            }
            Op::ArrayLiteral { .. }
            | Op::Index { .. }
            | Op::Slice { .. }
            | Op::Update { .. }
            | Op::Transpose { .. }
            | Op::Reshape { .. }
            | Op::Concat { .. } => {
                self.view(statement, incoming, cotangents);
                statement.clone()
            }
            Op::If { .. } | Op::Match { .. } => self.branches(statement, incoming, cotangents),
            Op::Loop(parts) => self.loop_statement(statement, parts, incoming, cotangents),
            Op::Par { left, right } => self.par(statement, left, right, incoming, cotangents),
            Op::Recompute(block) => self.recompute(statement, block, incoming, cotangents),
            Op::Build { space, body, inner } => self.build(statement, space, body, inner, incoming, cotangents),
            Op::Reduce { space, body, .. } => self.sum_reduction(statement, space, body, incoming, cotangents),
            Op::Scan { axis, body, .. } => self.prefix_sums(statement, axis, body, incoming, cotangents),
            Op::Hist { .. } => self.histogram(statement, incoming, cotangents),
            Op::Call { function, args } => self.call(statement, *function, args, incoming, cotangents),
            Op::Custom(custom) => self.custom(statement, custom, incoming, cotangents),
            Op::WithAccumulators { handles, init, body } => {
                self.with_accumulators(statement, handles, init, body, incoming, cotangents)
            }
            Op::Closure(_) | Op::Apply { .. } => {
                self.context.unsupported(span, "a function that is a value");
                statement.clone()
            }
            Op::WithLog { .. } | Op::Log { .. } => {
                self.context.unsupported(span, "a log");
                statement.clone()
            }
            Op::Differentiate(_) => {
                self.context.unsupported(span, "a derivative that was left standing");
                statement.clone()
            }
            Op::Scatter { .. } | Op::Dim { .. } | Op::Assert { .. } | Op::Accumulate { .. } => statement.clone(),
        }
    }
}

fn size_statement(array: Var, axis: usize, var: Var, span: Span) -> Statement {
    Statement { binders: vec![Binder { var, ty: Type::I64 }], op: Op::Dim { array: Atom::Var(array), axis }, span }
}

/// The statements with those of plain blocks among them: nothing more is asked of a block once it is split.
fn flattened(statements: Vec<Statement>) -> Vec<Statement> {
    let mut flat = Vec::with_capacity(statements.len());
    for statement in statements {
        let Op::Recompute(block) = statement.op else {
            flat.push(statement);
            continue;
        };
        flat.extend(flattened(block.statements));
        let names = statement.binders.into_iter().zip(block.results);
        flat.extend(names.map(|(binder, result)| Statement {
            binders: vec![binder],
            op: Op::Copy(vec![result]),
            span: statement.span,
        }));
    }
    flat
}
