//! What runs side by side is recorded side by side: every side of a pair, and every stretch of a long build or reduction, is a task with logs of its own.
//! So are the points of scans, histograms and scatters; what these do with them is done in order.
//!
//! Tapes stay inside the values: a task gives its results and, as one value more, what it recorded. The task that forked keeps that in a row.

use super::terms::Dual;
use super::{atoms_of, next_identity, with_logs};
use crate::context::{Context, with_axis};
use chadwick_core::visit::for_each_binder;
use chadwick_core::{
    Arm, Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Constructor, Dim, Lambda, LogType, Loop, LoopForm, LoopHints, Op,
    Prim, PrimOp, Size, Statement, Type, Var,
};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// The constructors of a call that stand for forks, behind that of no call.
pub const FORK: u32 = 1;
pub const MANY: u32 = 2;

/// The most tasks that a build is cut into.
const MOST_TASKS: i64 = 64;

/// Work that is worth a task, in about as many operations.
const GRAIN: i64 = 4096;

/// Work of a form or a loop of unknown length, for each of its operations, and of a call: what is small is not called.
const REPEATED: i64 = 16;
const CALL: i64 = 1024;

/// How a rung records forks.
pub struct Forks {
    /// A number, the columns of the logs below, in order.
    pub task: Type,
    pub call: Type,
    /// What a task keeps for itself.
    pub logs: Vec<LogType>,
    /// What numbers tasks.
    pub jobs: LogType,
    /// How many bits of an identity belong to its row.
    pub row_bits: i64,
}

impl Dual<'_, '_> {
    /// How forks are recorded here, if they are.
    pub(super) fn forks(&self) -> Option<Forks> {
        if self.forking { self.machinery.rung.forks() } else { None }
    }

    /// The handle of what numbers tasks.
    fn jobs(&self) -> Atom {
        self.environment[self.machinery.rung.all_logs().len() - 1].clone()
    }

    /// A pair whose sides are tasks.
    pub(super) fn fork(&mut self, statement: &Statement, left: &Block, right: &Block, flags: &[bool]) {
        let Some(forks) = self.forks() else { return };
        let span = statement.span;
        let jobs = self.jobs();
        let numbers = [0, 1].map(|_| next_identity(self.context, &jobs, span));
        let count = left.results.len().min(flags.len());
        let (own, others) = statement.binders.split_at(count);
        let sides = [(left, own, &flags[..count]), (right, others, &flags[count..])];
        let (mut blocks, mut binders, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
        for ((block, own, flags), number) in sides.into_iter().zip(numbers) {
            self.context.b.push_block();
            let (mut values, task) = self.task(&forks, number, Some(jobs.clone()), span, |dual| {
                dual.statements(block);
                dual.atoms(&block.results, flags, span)
            });
            values.push(task);
            blocks.push(self.context.b.pop_block(values));
            let task = self.context.fresh("task", forks.task.clone());
            binders.extend(self.binders(own, flags));
            tasks.push(Atom::Var(task.var));
            binders.push(task);
        }
        let (Some(right), Some(left)) = (blocks.pop(), blocks.pop()) else { return };
        self.push(binders, Op::Par { left, right }, span);
        self.keep(&forks, FORK, tasks, span);
    }

    /// What is made with logs of its own, and the task that it was. Without a handle for numbers there are no forks inside.
    fn task(
        &mut self,
        forks: &Forks,
        number: Atom,
        jobs: Option<Atom>,
        span: Span,
        make: impl FnOnce(&mut Self) -> Vec<Atom>,
    ) -> (Vec<Atom>, Atom) {
        let shifted = self.context.i64_op(BinaryOp::ShiftLeft, number.clone(), Atom::i64(forks.row_bits), span);
        let mut logs: Vec<(Binder, Atom)> = Vec::new();
        for log in &forks.logs {
            // Rows are numbered from zero, all else from one.
            let start = Atom::i64(i64::from(!logs.is_empty()));
            logs.push((self.context.fresh("tape", Type::Log(log.clone().into())), start));
        }
        let forking = jobs.is_some();
        let jobs = jobs.unwrap_or_else(|| {
            let handle = self.context.fresh("tasks", Type::Log(forks.jobs.clone().into()));
            logs.push((handle.clone(), Atom::i64(1)));
            Atom::Var(handle.var)
        });
        let handles = logs.iter().take(forks.logs.len()).map(|(handle, _)| Atom::Var(handle.var));
        let environment = handles.chain([jobs, shifted]).collect();
        let outer = (std::mem::replace(&mut self.environment, environment), std::mem::replace(&mut self.forking, forking));
        self.context.b.push_block();
        let values = make(self);
        let body = self.context.b.pop_block(values);
        (self.environment, self.forking) = outer;
        let (columns, values) = with_logs(self.context, logs, body, span);
        let task = self.context.construct(&forks.task, 0, [vec![number], columns].concat(), span).swap_remove(0);
        (values, task)
    }

    /// A row for a fork.
    fn keep(&mut self, forks: &Forks, tag: u32, tasks: Vec<Atom>, span: Span) {
        let call = self.context.construct(&forks.call, tag, tasks, span).swap_remove(0);
        let (rung, environment) = (Rc::clone(&self.machinery.rung), self.environment.clone());
        rung.call(self.context, &environment, call, Atom::i64(0), span);
    }

    /// Whether a build is worth being cut into tasks, for some sizes at least.
    pub(super) fn forks_form(&self, space: &[Axis], body: &Block) -> bool {
        let size = |axis: &Axis| match &axis.size {
            Atom::Const(Const::I64(size)) => (*size).max(0),
            _ => i64::MAX,
        };
        let points = space.iter().map(size).fold(1, i64::saturating_mul);
        let least = (2 * GRAIN).checked_div(points).unwrap_or(i64::MAX);
        self.forking && self.machinery.rung.forks().is_some() && points > 1 && Work::of(space, body).is_at_least(least)
    }

    /// How the points of a form are divided among tasks, and whether there is more than one task.
    fn divided<'a>(&mut self, space: &'a [Axis], body: &Block, span: Span) -> (Cut<'a>, Atom) {
        let mut points = Atom::i64(1);
        for axis in space {
            let size = self.context.i64_op(BinaryOp::Max, axis.size.clone(), Atom::i64(0), span);
            points = self.context.i64_op(BinaryOp::Mul, points, size, span);
        }
        // Division first, so that nothing overflows; a point's work is at least one.
        let work = Work::of(space, body).emit(self.context, span);
        let per_task = self.context.i64_op(BinaryOp::Quot, Atom::i64(GRAIN), work, span);
        let per_task = self.context.i64_op(BinaryOp::Max, per_task, Atom::i64(1), span);
        let tasks = self.context.i64_op(BinaryOp::Quot, points.clone(), per_task, span);
        let tasks = self.context.i64_op(BinaryOp::Min, tasks, Atom::i64(MOST_TASKS), span);
        let condition = self.context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![Atom::i64(1), tasks.clone()], span);
        (Cut { space, points, tasks }, condition)
    }

    /// A build whose points are divided among tasks, if there are enough of them.
    pub(super) fn fork_build(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        body: &Block,
        inner: &[Vec<Size>],
        flags: &[bool],
    ) {
        let Some(forks) = self.forks() else { return };
        let span = statement.span;
        let (cut, condition) = self.divided(space, body, span);
        self.context.b.push_block();
        let values = self.build_of_tasks(&forks, statement, &cut, body, inner, flags);
        let then = self.context.b.pop_block(values);
        self.context.b.push_block();
        let inside = self.block(body, flags);
        let sizes = self.repeated(inner, &statement.binders, flags);
        let made = self.fresh_copies(&statement.binders, flags);
        self.push_form(made.clone(), Op::Build { space: space.to_vec(), body: inside, inner: sizes }, span);
        let otherwise = self.context.b.pop_block(atoms_of(&made));
        let binders = self.binders(&statement.binders, flags);
        self.push(binders, Op::If { condition, then, otherwise }, span);
    }

    /// A reduction in which every task combines its points, and what they give is combined in order.
    pub(super) fn fork_reduce(&mut self, statement: &Statement, space: &[Axis], op: &Lambda, neutral: &[Atom], body: &Block) {
        let Some(forks) = self.forks() else { return };
        let span = statement.span;
        let flags = self.folded_flags(op, &statement.binders);
        let (cut, condition) = self.divided(space, body, span);
        let reduction = |space: Vec<Axis>, body: Block| {
            let op = Op::Reduce { space, op: op.clone(), neutral: neutral.to_vec(), body, commutative: false };
            let statements = vec![Statement { binders: statement.binders.clone(), op, span }];
            Block { statements, results: atoms_of(&statement.binders) }
        };
        self.context.b.push_block();
        let mut types = Vec::new();
        for (binder, flag) in statement.binders.iter().zip(&flags) {
            let ty = binder.ty.any_sizes();
            types.push(if *flag { self.dual_type(&ty) } else { vec![ty] });
        }
        let parts = self.tasks(&forks, &cut, types.concat(), span, |dual, from, count| {
            let at = dual.context.fresh("i", Type::I64).var;
            let mut inside = dual.context.block(|context| {
                let flat = context.i64_op(BinaryOp::Add, from, Atom::Var(at), span);
                for (var, index) in cut.axes(context, flat, span) {
                    let binders = vec![Binder { var, ty: Type::I64 }];
                    context.push_statement(Statement { binders, op: Op::Copy(vec![index]), span });
                }
                Vec::new()
            });
            inside.statements.extend(body.statements.iter().cloned());
            inside.results.clone_from(&body.results);
            let copy = dual.active_copy(&reduction(vec![Axis { var: at, size: count }], inside), []);
            dual.statements(&copy);
            dual.atoms(&copy.results, &flags, span)
        });
        let index = self.context.fresh("task", Type::I64).var;
        let mut parts = parts.into_iter();
        let mut last = Block::default();
        for ((binder, flag), types) in statement.binders.iter().zip(&flags).zip(&types) {
            let own: Vec<Atom> = parts.by_ref().take(types.len()).collect();
            let array = self.context.fresh("parts", with_axis(&binder.ty.any_sizes()));
            let element = self.context.fresh("part", binder.ty.any_sizes());
            self.push(vec![array.clone()], Op::Copy(vec![own[0].clone()]), span);
            if *flag {
                self.active.extend([array.var, element.var]);
                self.name(array.var, own);
            }
            let op = Op::Index { array: Atom::Var(array.var), indices: vec![Atom::Var(index)] };
            last.results.push(Atom::Var(element.var));
            last.statements.push(Statement { binders: vec![element], op, span });
        }
        let copy = self.active_copy(&reduction(vec![Axis { var: index, size: cut.tasks.clone() }], last), []);
        let forking = std::mem::replace(&mut self.forking, false);
        self.statements(&copy);
        self.forking = forking;
        let values = self.atoms(&copy.results, &flags, span);
        let then = self.context.b.pop_block(values);
        self.context.b.push_block();
        let (neutral, body, op) = self.folded(&flags, op, neutral, body, 0, span);
        let made = self.fresh_copies(&statement.binders, &flags);
        self.push_form(made.clone(), Op::Reduce { space: space.to_vec(), op, neutral, body, commutative: false }, span);
        let otherwise = self.context.b.pop_block(atoms_of(&made));
        let binders = self.binders(&statement.binders, &flags);
        self.push(binders, Op::If { condition, then, otherwise }, span);
    }

    /// A scan, histogram or scatter in two statements, if its points are worth tasks: a build of what they make, which forks, and the form on
    /// what was built, in order.
    pub(super) fn points_first(&mut self, statement: &Statement) -> Option<[Statement; 2]> {
        let mut form = statement.clone();
        let (space, body) = match &mut form.op {
            Op::Scan { axis, body, .. } => (vec![axis.clone()], body),
            Op::Hist { space, body, .. } | Op::Scatter { space, body, .. } => (space.clone(), body),
            _ => return None,
        };
        let is_read = |op: &Op| matches!(op, Op::Index { .. } | Op::Copy(_) | Op::Dim { .. });
        let computes = |statement: &Statement| {
            !is_read(&statement.op) && statement.binders.iter().any(|binder| self.active.contains(&binder.var))
        };
        if !body.statements.iter().any(computes) || !self.forks_form(&space, body) {
            return None;
        }
        let (axes, indices) = self.copied_axes(&space);
        let points = self.active_copy(body, space.iter().map(|axis| axis.var).zip(indices));
        let mut reads = Block::default();
        let (mut arrays, mut inner) = (Vec::new(), Vec::new());
        for result in &points.results {
            let ty = self.context.type_of(result).any_sizes();
            let whole = ty.clone().array(vec![Dim::Any; space.len()]);
            let (array, element) = (self.context.fresh("points", whole), self.context.fresh("point", ty.clone()));
            if matches!(result, Atom::Var(var) if self.active.contains(var)) {
                self.active.extend([array.var, element.var]);
            }
            let at = space.iter().map(|axis| Atom::Var(axis.var)).collect();
            let op = Op::Index { array: Atom::Var(array.var), indices: at };
            reads.results.push(Atom::Var(element.var));
            reads.statements.push(Statement { binders: vec![element], op, span: statement.span });
            inner.push(vec![Size::FromValue; ty.rank()]);
            arrays.push(array);
        }
        *body = reads;
        let build = Statement { binders: arrays, op: Op::Build { space: axes, body: points, inner }, span: statement.span };
        Some([build, form])
    }

    /// Fresh axes of the same sizes, and an index into them.
    fn copied_axes(&mut self, space: &[Axis]) -> (Vec<Axis>, Vec<Atom>) {
        let axis = |axis: &Axis| Axis { var: self.context.fresh("i", Type::I64).var, size: axis.size.clone() };
        let axes: Vec<Axis> = space.iter().map(axis).collect();
        let indices = axes.iter().map(|axis| Atom::Var(axis.var)).collect();
        (axes, indices)
    }

    /// A copy of a block in which the same variables have something beside them.
    fn active_copy(&mut self, block: &Block, replace: impl IntoIterator<Item = (Var, Atom)>) -> Block {
        let (copy, copies) = self.context.copy_block_with(block, replace);
        let active: Vec<Atom> = self.active.iter().filter_map(|var| copies.get(var)).cloned().collect();
        self.active.extend(active.iter().filter_map(|atom| if let Atom::Var(var) = atom { Some(*var) } else { None }));
        copy
    }

    /// Binders of the parts of these.
    fn fresh_copies(&mut self, binders: &[Binder], flags: &[bool]) -> Vec<Binder> {
        let mut all = Vec::new();
        for (binder, flag) in binders.iter().zip(flags) {
            let types = if *flag { self.dual_type(&binder.ty) } else { vec![binder.ty.clone()] };
            all.extend(types.into_iter().map(|ty| self.context.fresh("", ty)).collect::<Vec<Binder>>());
        }
        all
    }

    /// One task for each stretch of points: `make` is given the first one and their number. Returns arrays of what tasks give, of these types.
    fn tasks(
        &mut self,
        forks: &Forks,
        cut: &Cut<'_>,
        types: Vec<Type>,
        span: Span,
        make: impl FnOnce(&mut Self, Atom, Atom) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let numbers = self.numbers_of_tasks(&cut.tasks, span);
        let index = self.context.fresh("task", Type::I64).var;
        self.context.b.push_block();
        let number = self.context.emit_one(Op::Index { array: numbers, indices: vec![Atom::Var(index)] }, span);
        let (values, task) = self.task(forks, number, None, span, |dual| {
            let from = cut.start(dual.context, &Atom::Var(index), span);
            let next = dual.context.i64_op(BinaryOp::Add, Atom::Var(index), Atom::i64(1), span);
            let to = cut.start(dual.context, &next, span);
            let count = dual.context.i64_op(BinaryOp::Sub, to, from.clone(), span);
            make(dual, from, count)
        });
        let body = self.context.b.pop_block([values, vec![task]].concat());
        let space = vec![Axis { var: index, size: cut.tasks.clone() }];
        let types = [types, vec![forks.task.clone()]].concat();
        let inner = types.iter().map(|ty| vec![Size::FromValue; ty.rank()]).collect();
        let arrays = types.iter().map(with_axis).collect();
        let mut made = self.context.b.push(Op::Build { space, body, inner }, arrays, span);
        if let Some(tasks) = made.pop() {
            self.keep(forks, MANY, vec![tasks], span);
        }
        made
    }

    /// Every task makes its points in a loop; what they made is then put together.
    fn build_of_tasks(
        &mut self,
        forks: &Forks,
        statement: &Statement,
        cut: &Cut<'_>,
        body: &Block,
        inner: &[Vec<Size>],
        flags: &[bool],
    ) -> Vec<Atom> {
        let span = statement.span;
        let sizes = self.repeated(inner, &statement.binders, flags);
        let mut elements: Vec<Type> = Vec::new();
        for (result, flag) in body.results.iter().zip(flags) {
            let ty = self.context.type_of(result).any_sizes();
            elements.extend(if *flag { self.dual_type(&ty) } else { vec![ty] });
        }
        let arrays: Vec<Type> = elements.iter().map(|ty| with_axis(&ty.any_sizes())).collect();
        let piece = Type::Sum(Rc::from([Constructor { name: Name::from("piece"), payload: arrays.clone() }]));
        let made = self.tasks(forks, cut, vec![piece.clone()], span, |dual, from, count| {
            let at = dual.context.fresh("i", Type::I64);
            dual.context.b.push_block();
            let flat = dual.context.i64_op(BinaryOp::Add, from, Atom::Var(at.var), span);
            let axes = cut.axes(dual.context, flat, span);
            let copy = dual.active_copy(body, axes);
            dual.statements(&copy);
            let results = dual.atoms(&copy.results, flags, span);
            let body = dual.context.b.pop_block(results);
            let form = LoopForm::For { index: at, bound: count };
            let (carry, initial, hints) = (Vec::new(), Vec::new(), LoopHints::default());
            let parts = Loop { carry, initial, form, body, emits: sizes.clone(), counted: false, hints };
            let arrays = dual.context.b.push(Op::Loop(Box::new(parts)), arrays.clone(), span);
            dual.context.construct(&piece, 0, arrays, span)
        });
        self.put_together(cut, &made[0], &arrays, &elements, sizes, span)
    }

    fn numbers_of_tasks(&mut self, tasks: &Atom, span: Span) -> Atom {
        let jobs = self.jobs();
        let body = self.context.block(|context| vec![next_identity(context, &jobs, span)]);
        let form = LoopForm::For { index: self.context.fresh("i", Type::I64), bound: tasks.clone() };
        let (carry, initial, hints) = (Vec::new(), Vec::new(), LoopHints::default());
        let parts = Loop { carry, initial, form, body, emits: vec![Vec::new()], counted: false, hints };
        self.context.b.push(Op::Loop(Box::new(parts)), vec![with_axis(&Type::I64)], span).swap_remove(0)
    }

    /// The array of all points, of the pieces that tasks made.
    fn put_together(
        &mut self,
        cut: &Cut<'_>,
        pieces: &Atom,
        arrays: &[Type],
        elements: &[Type],
        inner: Vec<Vec<Size>>,
        span: Span,
    ) -> Vec<Atom> {
        let axes = cut.space.iter().map(|axis| Axis { var: self.context.fresh("i", Type::I64).var, size: axis.size.clone() });
        let space: Vec<Axis> = axes.collect();
        let body = self.context.block(|context| {
            let mut flat = Atom::i64(0);
            for axis in &space {
                let scaled = context.i64_op(BinaryOp::Mul, flat, axis.size.clone(), span);
                flat = context.i64_op(BinaryOp::Add, scaled, Atom::Var(axis.var), span);
            }
            let task = cut.task_of(context, &flat, span);
            let start = cut.start(context, &task, span);
            let at = context.i64_op(BinaryOp::Sub, flat, start, span);
            let scrutinee = context.emit_one(Op::Index { array: pieces.clone(), indices: vec![task] }, span);
            let binders: Vec<Binder> = arrays.iter().map(|ty| context.fresh("", ty.clone())).collect();
            let body = context.block(|context| {
                let element = |binder: &Binder| {
                    let op = Op::Index { array: Atom::Var(binder.var), indices: vec![at.clone()] };
                    context.emit_one(op, span)
                };
                binders.iter().map(element).collect()
            });
            let arms = vec![Arm { tag: 0, binders, body }];
            context.b.push(Op::Match { scrutinee, arms, otherwise: None }, elements.to_vec(), span)
        });
        self.context.emit(Op::Build { space, body, inner }, span)
    }
}

/// How the points of a build are divided among tasks: as evenly as possible, in order.
struct Cut<'a> {
    space: &'a [Axis],
    points: Atom,
    tasks: Atom,
}

impl Cut<'_> {
    /// The first point of a task.
    fn start(&self, context: &mut Context, task: &Atom, span: Span) -> Atom {
        let product = context.i64_op(BinaryOp::Mul, task.clone(), self.points.clone(), span);
        context.i64_op(BinaryOp::Quot, product, self.tasks.clone(), span)
    }

    /// The task of a point.
    fn task_of(&self, context: &mut Context, point: &Atom, span: Span) -> Atom {
        let next = context.i64_op(BinaryOp::Add, point.clone(), Atom::i64(1), span);
        let product = context.i64_op(BinaryOp::Mul, next, self.tasks.clone(), span);
        let last = context.i64_op(BinaryOp::Sub, product, Atom::i64(1), span);
        context.i64_op(BinaryOp::Quot, last, self.points.clone(), span)
    }

    /// The indices of a point.
    fn axes(&self, context: &mut Context, point: Atom, span: Span) -> Vec<(Var, Atom)> {
        let mut rest = point;
        let mut axes = Vec::new();
        for (number, axis) in self.space.iter().enumerate().rev() {
            if number == 0 {
                axes.push((axis.var, rest));
                break;
            }
            axes.push((axis.var, context.i64_op(BinaryOp::Rem, rest.clone(), axis.size.clone(), span)));
            rest = context.i64_op(BinaryOp::Quot, rest, axis.size.clone(), span);
        }
        axes
    }
}

/// About how many operations a block takes: so many, and more for each iteration of loops whose length is known outside of it.
#[derive(Default)]
struct Work {
    constant: i64,
    repeated: Vec<(Atom, i64)>,
}

impl Work {
    fn of(space: &[Axis], block: &Block) -> Work {
        let mut inside: FxHashSet<Var> = space.iter().map(|axis| axis.var).collect();
        for_each_binder(block, &mut |var, _| {
            inside.insert(var);
        });
        let mut work = Work { constant: 1, ..Work::default() };
        work.add(block, &inside);
        work
    }

    fn add(&mut self, block: &Block, inside: &FxHashSet<Var>) {
        for statement in &block.statements {
            let size = match &statement.op {
                Op::Loop(parts) => match &parts.form {
                    LoopForm::For { index, bound } if index.ty == Type::I64 => Some(bound),
                    _ => None,
                },
                Op::Build { space, .. } | Op::Reduce { space, .. } => match space.as_slice() {
                    [axis] => Some(&axis.size),
                    _ => None,
                },
                Op::Recompute(block) => {
                    self.add(block, inside);
                    continue;
                }
                _ => None,
            };
            match size {
                Some(size) if !matches!(size, Atom::Var(var) if inside.contains(var)) => {
                    let once = statement.op.scopes().iter().map(|scope| operations(scope.block)).fold(0, i64::saturating_add);
                    self.repeated.push((size.clone(), once));
                }
                _ => self.constant = self.constant.saturating_add(operations_of(&statement.op)),
            }
        }
    }

    /// The least that it can be.
    fn is_at_least(&self, wanted: i64) -> bool {
        let of = |(size, once): &(Atom, i64)| match size {
            Atom::Const(Const::I64(size)) => once.saturating_mul((*size).max(0)),
            _ => i64::MAX,
        };
        self.repeated.iter().map(of).fold(self.constant, i64::saturating_add) >= wanted
    }

    fn emit(&self, context: &mut Context, span: Span) -> Atom {
        let mut total = Atom::i64(self.constant);
        for (size, once) in &self.repeated {
            // More iterations than are worth a task make no difference.
            let size = context.i64_op(BinaryOp::Max, size.clone(), Atom::i64(0), span);
            let size = context.i64_op(BinaryOp::Min, size, Atom::i64(GRAIN), span);
            let product = context.i64_op(BinaryOp::Mul, size, Atom::i64((*once).min(GRAIN)), span);
            total = context.i64_op(BinaryOp::Add, total, product, span);
        }
        total
    }
}

/// About how many operations a block takes, where nothing is known about its loops.
fn operations(block: &Block) -> i64 {
    block.statements.iter().map(|statement| operations_of(&statement.op)).fold(1, i64::saturating_add)
}

fn operations_of(op: &Op) -> i64 {
    match op {
        Op::Prim(..) => 1,
        Op::Call { .. } => CALL,
        Op::If { then, otherwise, .. } => operations(then).max(operations(otherwise)),
        Op::Match { arms, otherwise, .. } => {
            let arms = arms.iter().map(|arm| operations(&arm.body));
            arms.chain(otherwise.as_ref().map(operations)).max().unwrap_or(0)
        }
        Op::Par { .. } | Op::Recompute(_) | Op::Custom(_) | Op::WithLog { .. } => {
            op.scopes().iter().map(|scope| operations(scope.block)).fold(0, i64::saturating_add)
        }
        op => op.scopes().iter().map(|scope| operations(scope.block).saturating_mul(REPEATED)).fold(0, i64::saturating_add),
    }
}
