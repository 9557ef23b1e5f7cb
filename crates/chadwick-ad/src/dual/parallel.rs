//! `dual:parallel` (thesis 3.10): a tape for each task, so that what the program does side by side is recorded side by side, and gone through
//! backwards side by side.
//!
//! An identity is that of a task and the number of a row of its tape, 32 bits each. Tasks are numbered by a counter that all share, in no
//! particular order. A fork is a row of the task that forks; it holds the tapes of its subtasks, so the tapes form a tree, the job graph of
//! the thesis: the rows of a task between two forks are a job.
//!
//! The reverse pass gives every task a stretch of one array of cotangents: its own rows, then its subtasks, in the order of the forks. So all
//! that is inside a task is in one piece. A fork resolves its subtasks side by side: the largest in the cells of the forking task, the
//! others in copies of their own stretches. What they contribute elsewhere they send in a log, which is added when all are done, in
//! the order of the fork. Who runs what makes no difference to any sum.

use super::cells::{read, write};
use super::forks::{FORK, Forks, MANY};
use super::numbers::{Factor, Numbers, Part};
use super::{Backpropagation, Calls, Run, atoms_of, plain_block, with_logs};
use crate::context::{Context, with_axis};
use chadwick_core::{
    Arm, Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Constructor, FunctionId, LogType, MessagePart, Op, Prim, PrimOp,
    SliceDim, Type, TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};
use std::rc::Rc;

pub struct Parallel {
    numbers: Rc<Numbers>,
    calls: Calls,
    task: TypeId,
    /// Gives each task its stretch of the cotangents.
    place: FunctionId,
    /// Goes through the tape of a task backwards.
    resolve: FunctionId,
    first_arms: Vec<Arm>,
}

/// The bits of an identity that are the number of a row.
const ROW_BITS: i64 = 32;
const ROWS: i64 = (1 << ROW_BITS) - 1;

/// What the reverse pass has at hand besides the cells: the log of what goes elsewhere, where the stretch of each task begins and how
/// long it is, and where the cells begin.
struct Given {
    sent: Atom,
    bases: Atom,
    sizes: Atom,
    first: Atom,
}

impl Given {
    fn of(atoms: &[Atom]) -> Given {
        let [sent, bases, sizes, first] = [0, 1, 2, 3].map(|at: usize| atoms[at].clone());
        Given { sent, bases, sizes, first }
    }

    fn atoms(&self) -> Vec<Atom> {
        [&self.sent, &self.bases, &self.sizes, &self.first].map(Atom::clone).to_vec()
    }
}

/// A task that has been taken apart.
struct Task {
    job: Atom,
    rows: Vec<Atom>,
    calls: Atom,
}

impl Parallel {
    pub fn new(numbers: Rc<Numbers>, context: &mut Context) -> Parallel {
        let i64s = with_axis(&Type::I64);
        let sent = Type::Log(sent_log(&numbers).into());
        let given = vec![sent, i64s.clone(), i64s.clone(), Type::I64];
        let calls = Calls::new(context, given.clone(), numbers.arrays());
        let types = &mut context.b.program_mut().types;
        let task = TypeId(types.len() as u32);
        let mut payload = vec![Type::I64];
        payload.extend(rows_log(&numbers).columns());
        payload.push(with_axis(&Type::Named(calls.ty)));
        let constructors = vec![Constructor { name: Name::from("task"), payload }];
        types.push(TypeDefinition { name: Name::from("task"), constructors });
        let task_type = Type::Named(task);
        for (tag, name, payload) in [(FORK, "fork", vec![task_type.clone(); 2]), (MANY, "forks", vec![with_axis(&task_type)])] {
            let constructors = &mut types[calls.ty.0 as usize].constructors;
            debug_assert_eq!(constructors.len(), tag as usize, "constructors in order");
            constructors.push(Constructor { name: Name::from(name), payload });
        }
        let span = Span::default();
        let tree = with_axis(&Type::Named(calls.ty));
        let params = [Type::I64, Type::I64, tree.clone(), Type::I64, i64s.clone(), i64s.clone()];
        let params = params.map(|ty| context.fresh("", ty)).to_vec();
        let place = context.reserve(Name::from("place_task"), params, vec![Type::I64, i64s.clone(), i64s], span);
        let mut params = rows_log(&numbers).columns();
        params.extend([tree, Type::I64]);
        params.extend(given);
        params.extend(numbers.arrays());
        let params: Vec<Binder> = params.into_iter().map(|ty| context.fresh("", ty)).collect();
        let resolve = context.reserve(Name::from("resolve_task"), params, numbers.arrays(), span);
        let mut parallel = Parallel { numbers, calls, task, place, resolve, first_arms: Vec::new() };
        parallel.define_place(context, span);
        parallel.define_resolve(context, span);
        parallel.define_forks(context, span);
        parallel
    }

    fn params(context: &Context, function: FunctionId) -> Vec<Atom> {
        atoms_of(&context.program().functions[function.0 as usize].params)
    }

    /// Does something with the parts of a task; `types` are those of what it gives.
    fn taken_apart(
        &self,
        context: &mut Context,
        task: &Atom,
        types: Vec<Type>,
        span: Span,
        make: impl FnOnce(&mut Context, Task) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let payload = context.program().types[self.task.0 as usize].constructors[0].payload.clone();
        let binders: Vec<Binder> = payload.into_iter().map(|ty| context.fresh("", ty)).collect();
        let mut atoms = atoms_of(&binders);
        let calls = atoms.pop().unwrap_or(Atom::i64(0));
        let rows = atoms.split_off(1);
        let body = context.block(|context| make(context, Task { job: atoms.swap_remove(0), rows, calls }));
        let arms = vec![Arm { tag: 0, binders, body }];
        context.b.push(Op::Match { scrutinee: task.clone(), arms, otherwise: None }, types, span)
    }

    /// The stretches of a task and of those inside it, from `next` on: first its rows, then its subtasks.
    fn define_place(&self, context: &mut Context, span: Span) {
        let params = Self::params(context, self.place);
        let [job, rows, calls, next, bases, sizes] = params.as_slice() else { return };
        let types: Vec<Type> = params[3..].iter().map(|atom| context.type_of(atom)).collect();
        let body = context.block(|context| {
            let bases = write(context, bases, job, next.clone(), span);
            let inside = context.i64_op(BinaryOp::Add, next.clone(), rows.clone(), span);
            let count = context.emit_one(Op::Dim { array: calls.clone(), axis: 0 }, span);
            let state = context.for_loop(count, vec![inside, bases, sizes.clone()], span, |context, at, state| {
                let call = read(context, calls, &at, span);
                let tasks = [context.fresh("left", Type::Named(self.task)), context.fresh("right", Type::Named(self.task))];
                let fork = context.block(|context| {
                    let left = self.placed(context, &Atom::Var(tasks[0].var), state, &types, span);
                    self.placed(context, &Atom::Var(tasks[1].var), &left, &types, span)
                });
                let many = context.fresh("tasks", with_axis(&Type::Named(self.task)));
                let forks = context.block(|context| {
                    let array = Atom::Var(many.var);
                    let count = context.emit_one(Op::Dim { array: array.clone(), axis: 0 }, span);
                    context.for_loop(count, state.to_vec(), span, |context, at, state| {
                        let task = read(context, &array, &at, span);
                        self.placed(context, &task, state, &types, span)
                    })
                });
                let arms = vec![
                    Arm { tag: FORK, binders: tasks.to_vec(), body: fork },
                    Arm { tag: MANY, binders: vec![many], body: forks },
                ];
                let otherwise = Some(plain_block(state.to_vec()));
                context.b.push(Op::Match { scrutinee: call, arms, otherwise }, types.clone(), span)
            });
            let size = context.i64_op(BinaryOp::Sub, state[0].clone(), next.clone(), span);
            let sizes = write(context, &state[2], job, size, span);
            vec![state[0].clone(), state[1].clone(), sizes]
        });
        context.b.program_mut().functions[self.place.0 as usize].body = body;
    }

    fn placed(&self, context: &mut Context, task: &Atom, state: &[Atom], types: &[Type], span: Span) -> Vec<Atom> {
        self.taken_apart(context, task, types.to_vec(), span, |context, task| {
            let rows = context.emit_one(Op::Dim { array: task.rows[0].clone(), axis: 0 }, span);
            let args = [vec![task.job, rows, task.calls], state.to_vec()].concat();
            context.emit(Op::Call { function: self.place, args }, span)
        })
    }

    /// The rows of a task from the last to the first; its own cells begin at a place among all.
    fn define_resolve(&self, context: &mut Context, span: Span) {
        let mut params = Self::params(context, self.resolve);
        let cells = params.split_off(params.len() - self.numbers.prims.len());
        let given = params.split_off(params.len() - self.calls.given);
        let [rows @ .., calls, own] = params.as_slice() else { return };
        let body = context.block(|context| {
            let count = context.emit_one(Op::Dim { array: rows[0].clone(), axis: 0 }, span);
            context.backward_loop(count, cells, span, |context, at, cells| {
                let number = context.i64_op(BinaryOp::Add, at.clone(), own.clone(), span);
                let left = read(context, &rows[0], &at, span);
                let types = cells.iter().map(|atom| context.type_of(atom).any_sizes()).collect();
                let is_call = is_negative(context, &left, span);
                let then = context.block(|context| {
                    let number_of_call = context.i64_op(BinaryOp::Sub, Atom::i64(-1), left.clone(), span);
                    let call = read(context, calls, &number_of_call, span);
                    self.calls.run(context, call, number.clone(), &given, cells, span)
                });
                let otherwise =
                    context.block(|context| self.row(context, &Given::of(&given), rows, &at, &number, left, cells, span));
                context.b.push(Op::If { condition: is_call, then, otherwise }, types, span)
            })
        });
        context.b.program_mut().functions[self.resolve.0 as usize].body = body;
    }

    /// What a row does that is no call.
    #[expect(clippy::too_many_arguments, reason = "a row and where it is")]
    fn row(
        &self,
        context: &mut Context,
        given: &Given,
        rows: &[Atom],
        at: &Atom,
        number: &Atom,
        left: Atom,
        cells: &[Atom],
        span: Span,
    ) -> Vec<Atom> {
        let cotangent = self.numbers.read(context, cells, number, span);
        let right = read(context, &rows[1], at, span);
        let plain = |context: &mut Context| {
            let mut cells = cells.to_vec();
            for (side, parent) in [left.clone(), right.clone()].into_iter().enumerate() {
                let mut products = Vec::new();
                for (component, prim) in self.numbers.prims.iter().enumerate() {
                    let partial = read(context, &rows[2 + 2 * component + side], at, span);
                    let scale = PrimOp::Binary(BinaryOp::Scale, *prim);
                    products.push(context.prim(scale, vec![cotangent[component].clone(), partial], span));
                }
                cells = self.add(context, given, &cells, &parent, &products, span);
            }
            cells
        };
        if self.numbers.conversions.is_empty() {
            return plain(context);
        }
        let condition = is_negative(context, &right, span);
        let then = context.block(|context| self.conversion(context, given, cells, &left, &right, &cotangent, 0, span));
        let otherwise = context.block(plain);
        context.emit(Op::If { condition, then, otherwise }, span)
    }

    /// A row whose second parent says which conversion it is.
    #[expect(clippy::too_many_arguments, reason = "a row and where it is")]
    fn conversion(
        &self,
        context: &mut Context,
        given: &Given,
        cells: &[Atom],
        parent: &Atom,
        code: &Atom,
        cotangent: &[Atom],
        at: usize,
        span: Span,
    ) -> Vec<Atom> {
        let Some((from, to)) = self.numbers.conversions.get(at) else { return cells.to_vec() };
        let own = Atom::i64(-1 - at as i64);
        let condition = context.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![code.clone(), own], span);
        let then = context.block(|context| {
            let back = self.numbers.apply(context, cotangent, &Factor::Convert(*from, *to), span);
            self.add(context, given, cells, parent, &back, span)
        });
        let otherwise = context.block(|context| self.conversion(context, given, cells, parent, code, cotangent, at + 1, span));
        context.emit(Op::If { condition, then, otherwise }, span)
    }

    /// The cells with a cotangent for an identity; it is sent if it belongs elsewhere.
    fn add(
        &self,
        context: &mut Context,
        given: &Given,
        cells: &[Atom],
        identity: &Atom,
        cotangent: &[Atom],
        span: Span,
    ) -> Vec<Atom> {
        let task = context.i64_op(BinaryOp::ShiftRightLogical, identity.clone(), Atom::i64(ROW_BITS), span);
        let row = context.i64_op(BinaryOp::And, identity.clone(), Atom::i64(ROWS), span);
        let base = read(context, &given.bases, &task, span);
        let place = context.i64_op(BinaryOp::Add, base, row, span);
        self.add_or_send(context, given, cells, place, cotangent, span, |context| {
            // Constants take nothing.
            context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![Atom::i64(0), identity.clone()], span)
        })
    }

    #[expect(clippy::too_many_arguments, reason = "a cotangent and where it goes")]
    fn add_or_send(
        &self,
        context: &mut Context,
        given: &Given,
        cells: &[Atom],
        place: Atom,
        cotangent: &[Atom],
        span: Span,
        is_sent: impl FnOnce(&mut Context) -> Atom,
    ) -> Vec<Atom> {
        let at = context.i64_op(BinaryOp::Sub, place.clone(), given.first.clone(), span);
        let count = context.emit_one(Op::Dim { array: cells[0].clone(), axis: 0 }, span);
        let not_before = context.prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), vec![Atom::i64(0), at.clone()], span);
        let not_behind = context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![at.clone(), count], span);
        let condition = context.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![not_before, not_behind], span);
        let then = context.block(|context| self.numbers.add_at(context, cells, &at, cotangent, span));
        let otherwise = context.block(|context| {
            let condition = is_sent(context);
            let then = context.block(|context| {
                let (handle, values) = (given.sent.clone(), cotangent.to_vec());
                context.emit_one(Op::Log { handle, indices: vec![place], values }, span);
                Vec::new()
            });
            context.b.push(Op::If { condition, then, otherwise: plain_block(Vec::new()) }, Vec::new(), span);
            cells.to_vec()
        });
        let types = cells.iter().map(|atom| context.type_of(atom).any_sizes()).collect();
        context.b.push(Op::If { condition, then, otherwise }, types, span)
    }

    /// What forks do in the reverse pass.
    fn define_forks(&mut self, context: &mut Context, span: Span) {
        let params = context.program().functions[self.calls.function.0 as usize].params.clone();
        let (given, cells) = params[2..].split_at(self.calls.given);
        let (given, cells) = (Given::of(&atoms_of(given)), atoms_of(cells));
        let tasks = [context.fresh("left", Type::Named(self.task)), context.fresh("right", Type::Named(self.task))];
        let fork = context.block(|context| self.resolve_two(context, &given, &cells, atoms_of(&tasks), span));
        let many = context.fresh("tasks", with_axis(&Type::Named(self.task)));
        let forks = context.block(|context| self.resolve_many(context, &given, &cells, &Atom::Var(many.var), span));
        self.first_arms =
            vec![Arm { tag: FORK, binders: tasks.to_vec(), body: fork }, Arm { tag: MANY, binders: vec![many], body: forks }];
        self.calls.set_arms(context, self.first_arms.clone(), span);
    }

    /// Two tasks side by side, the larger in the cells that are there.
    fn resolve_two(&self, context: &mut Context, given: &Given, cells: &[Atom], tasks: Vec<Atom>, span: Span) -> Vec<Atom> {
        let [left, right] = [0, 1].map(|at: usize| {
            let size = self.taken_apart(context, &tasks[at], vec![Type::I64], span, |context, task| {
                vec![read(context, &given.sizes, &task.job, span)]
            });
            size[0].clone()
        });
        let condition = context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![left, right], span);
        let swapped = plain_block(tasks.iter().rev().cloned().collect());
        let op = Op::If { condition, then: swapped, otherwise: plain_block(tasks) };
        let tasks = context.b.push(op, vec![Type::Named(self.task); 2], span);
        let arrays = self.numbers.arrays();
        let own = self.taken_apart(context, &tasks[1], arrays.clone(), span, |context, task| {
            self.own_cells(context, given, cells, &task.job, span)
        });
        let left: Block = context.block(|context| {
            self.taken_apart(context, &tasks[0], arrays.clone(), span, |context, task| {
                let base = read(context, &given.bases, &task.job, span);
                let at = context.i64_op(BinaryOp::Sub, base, given.first.clone(), span);
                self.resolved(context, task, at, given, cells, span)
            })
        });
        let right: Block = context.block(|context| {
            let columns = sent_log(&self.numbers).columns();
            self.taken_apart(context, &tasks[1], columns, span, |context, task| self.sent(context, given, task, &own, span))
        });
        let types = [arrays.clone(), sent_log(&self.numbers).columns()].concat();
        let mut all = context.b.push(Op::Par { left, right }, types, span);
        let sent = all.split_off(arrays.len());
        self.receive(context, given, &all, &sent, span)
    }

    /// Any number of tasks side by side, each in cells of its own.
    fn resolve_many(&self, context: &mut Context, given: &Given, cells: &[Atom], tasks: &Atom, span: Span) -> Vec<Atom> {
        let columns = sent_log(&self.numbers).columns();
        let constructor = Constructor { name: Name::from("sent"), payload: columns.clone() };
        let sent_type = Type::Sum(Rc::from([constructor]));
        let count = context.emit_one(Op::Dim { array: tasks.clone(), axis: 0 }, span);
        let index = context.fresh("task", Type::I64).var;
        let body = context.block(|context| {
            let task = read(context, tasks, &Atom::Var(index), span);
            let sent = self.taken_apart(context, &task, columns.clone(), span, |context, task| {
                let own = self.own_cells(context, given, cells, &task.job, span);
                self.sent(context, given, task, &own, span)
            });
            context.construct(&sent_type, 0, sent, span)
        });
        let space = vec![Axis { var: index, size: count.clone() }];
        let all = context.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span);
        context.for_loop(count, cells.to_vec(), span, |context, at, cells| {
            let scrutinee = read(context, &all, &at, span);
            let binders: Vec<Binder> = columns.iter().map(|ty| context.fresh("", ty.clone())).collect();
            let types = cells.iter().map(|atom| context.type_of(atom).any_sizes()).collect();
            let body = context.block(|context| self.receive(context, given, cells, &atoms_of(&binders), span));
            let arms = vec![Arm { tag: 0, binders, body }];
            context.b.push(Op::Match { scrutinee, arms, otherwise: None }, types, span)
        })
    }

    /// A copy of the cells of a task.
    fn own_cells(&self, context: &mut Context, given: &Given, cells: &[Atom], job: &Atom, span: Span) -> Vec<Atom> {
        let base = read(context, &given.bases, job, span);
        let start = context.i64_op(BinaryOp::Sub, base, given.first.clone(), span);
        let count = read(context, &given.sizes, job, span);
        let dims = vec![SliceDim::Range { start, count, stride: Atom::i64(1) }];
        let copy = |cells: &Atom| {
            let part = context.emit_one(Op::Slice { array: cells.clone(), dims: dims.clone() }, span);
            context.copied(part, span)
        };
        cells.iter().map(copy).collect()
    }

    /// A task in cells of its own: what it sends.
    fn sent(&self, context: &mut Context, given: &Given, task: Task, own: &[Atom], span: Span) -> Vec<Atom> {
        let handle = context.fresh("sent", Type::Log(sent_log(&self.numbers).into()));
        let first = read(context, &given.bases, &task.job, span);
        let inside = Given { sent: Atom::Var(handle.var), first, bases: given.bases.clone(), sizes: given.sizes.clone() };
        let body = context.block(|context| {
            self.resolved(context, task, Atom::i64(0), &inside, own, span);
            Vec::new()
        });
        with_logs(context, vec![(handle, Atom::i64(0))], body, span).0
    }

    fn resolved(&self, context: &mut Context, task: Task, at: Atom, given: &Given, cells: &[Atom], span: Span) -> Vec<Atom> {
        let args = [task.rows, vec![task.calls, at], given.atoms(), cells.to_vec()].concat();
        context.emit(Op::Call { function: self.resolve, args }, span)
    }

    /// Adds what was sent.
    fn receive(&self, context: &mut Context, given: &Given, cells: &[Atom], sent: &[Atom], span: Span) -> Vec<Atom> {
        let count = context.emit_one(Op::Dim { array: sent[0].clone(), axis: 0 }, span);
        context.for_loop(count, cells.to_vec(), span, |context, at, cells| {
            let place = read(context, &sent[0], &at, span);
            let cotangent: Vec<Atom> = sent[1..].iter().map(|column| read(context, column, &at, span)).collect();
            self.add_or_send(context, given, cells, place, &cotangent, span, |_| Atom::bool(true))
        })
    }

    /// Writes a row of up to two parents; gives its identity.
    fn write_row(
        &self,
        context: &mut Context,
        environment: &[Atom],
        parents: [Atom; 2],
        factors: &[&Factor],
        span: Span,
    ) -> Atom {
        let mut values = Vec::new();
        for (component, prim) in self.numbers.prims.iter().enumerate() {
            for at in 0..2 {
                values.push(match factors.get(at) {
                    Some(Factor::Scale(own, factor)) if *own == component => factor.clone(),
                    _ => Atom::Const(Const::zero(*prim)),
                });
            }
        }
        let op = Op::Log { handle: environment[0].clone(), indices: parents.to_vec(), values };
        let row = context.emit_one(op, span);
        context.i64_op(BinaryOp::Or, environment[3].clone(), row, span)
    }

    /// Writes a row that stands for a call or a fork.
    pub fn write_call(&self, context: &mut Context, environment: &[Atom], call: Atom, span: Span) -> Atom {
        let op = Op::Log { handle: environment[1].clone(), indices: Vec::new(), values: vec![call] };
        // Calls are numbered from one.
        let number = context.emit_one(op, span);
        let parent = context.i64_op(BinaryOp::Sub, Atom::i64(0), number, span);
        self.write_row(context, environment, [parent, Atom::i64(0)], &[], span)
    }
}

/// Two parents and, for each kind of number, two partial derivatives.
fn rows_log(numbers: &Numbers) -> LogType {
    LogType { indices: 2, values: numbers.types().into_iter().flat_map(|ty| [ty.clone(), ty]).collect() }
}

/// A place among all cells, and a cotangent.
fn sent_log(numbers: &Numbers) -> LogType {
    LogType { indices: 1, values: numbers.types() }
}

fn is_negative(context: &mut Context, number: &Atom, span: Span) -> Atom {
    context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![number.clone(), Atom::i64(0)], span)
}

impl Backpropagation for Parallel {
    fn beside(&self) -> Vec<Type> {
        vec![Type::I64]
    }

    fn log(&self) -> Option<LogType> {
        Some(rows_log(&self.numbers))
    }

    /// Calls and forks; the numbers of tasks.
    fn more_logs(&self) -> Vec<LogType> {
        let calls = LogType { indices: 0, values: vec![Type::Named(self.calls.ty)] };
        vec![calls, LogType { indices: 0, values: Vec::new() }]
    }

    /// The task, as it stands in identities.
    fn environment(&self, _: &mut Context, _: &Atom, _: Span) -> Vec<Atom> {
        vec![Atom::i64(0)]
    }

    fn environment_types(&self) -> Vec<Type> {
        vec![Type::I64]
    }

    fn constant(&self, _: &mut Context, _: &[Atom], _: Span) -> Vec<Atom> {
        vec![Atom::i64(0)]
    }

    fn input(&self, _: &mut Context, _: &[Atom], identity: Atom, _: Span) -> Vec<Atom> {
        vec![identity]
    }

    fn operation(&self, context: &mut Context, environment: &[Atom], parts: &[Part], span: Span) -> Vec<Atom> {
        if let [Part { beside, factor: Factor::Convert(from, to) }] = parts {
            let known = self.numbers.conversions.iter().position(|known| known == &(*from, *to));
            // A conversion that the survey did not meet leads to nothing that is wanted.
            let Some(at) = known else { return vec![Atom::i64(0)] };
            let parents = [beside[0].clone(), Atom::i64(-1 - at as i64)];
            return vec![self.write_row(context, environment, parents, &[], span)];
        }
        let one = |component: usize| Factor::Scale(component, Atom::Const(Const::one(self.numbers.prims[component])));
        let mut parents: Vec<(Atom, Factor)> = Vec::new();
        let write = |context: &mut Context, parents: &[(Atom, Factor)]| {
            let parent = |at: usize| parents.get(at).map_or(Atom::i64(0), |(parent, _)| parent.clone());
            let factors: Vec<&Factor> = parents.iter().map(|(_, factor)| factor).collect();
            self.write_row(context, environment, [parent(0), parent(1)], &factors, span)
        };
        for part in parts {
            if let (2, Factor::Scale(component, _)) = (parents.len(), &part.factor) {
                let first = write(context, &parents);
                parents = vec![(first, one(*component))];
            }
            parents.push((part.beside[0].clone(), part.factor.clone()));
        }
        vec![write(context, &parents)]
    }

    /// Where the stretch of each task begins, and how long it is.
    fn survey(&self, context: &mut Context, run: &Run, span: Span) -> Vec<Atom> {
        let count = run.counts[0].clone();
        let limits = [(&run.end, ROWS, "rows of the tape of a task"), (&count, ROWS >> 1, "tasks")];
        for (number, limit, what) in limits {
            let less = PrimOp::Compare(CompareOp::Less, Prim::I64);
            let condition = context.prim(less, vec![number.clone(), Atom::i64(limit)], span);
            let message = vec![MessagePart::Text(format!("a derivative has more than {} {what}", limit - 1))];
            context.b.push(Op::Assert { condition, message }, Vec::new(), span);
        }
        let [bases, sizes] = [0, 1].map(|_| context.zeros(Prim::I64, vec![count.clone()], span));
        let calls = run.columns[run.columns.len() - 1].clone();
        let args = vec![Atom::i64(0), run.end.clone(), calls, Atom::i64(0), bases, sizes];
        context.emit(Op::Call { function: self.place, args }, span)
    }

    fn reverse_log(&self) -> Option<LogType> {
        Some(sent_log(&self.numbers))
    }

    fn given(&self, run: &Run, log: &Atom) -> Vec<Atom> {
        vec![log.clone(), run.survey[1].clone(), run.survey[2].clone(), Atom::i64(0)]
    }

    fn start(&self, context: &mut Context, run: &Run, span: Span) -> Vec<Atom> {
        self.numbers.cells(context, &run.survey[0], span)
    }

    fn contribute(
        &self,
        context: &mut Context,
        given: &[Atom],
        state: &[Atom],
        beside: &[Atom],
        cotangent: &[Atom],
        span: Span,
    ) -> Vec<Atom> {
        self.add(context, &Given::of(given), state, &beside[0], cotangent, span)
    }

    fn resolve(&self, context: &mut Context, run: &Run, state: Vec<Atom>, span: Span) -> Vec<Atom> {
        let own = context.i64_op(BinaryOp::Add, run.inputs.clone(), Atom::i64(1), span);
        let args = [run.columns.clone(), vec![own], run.given.clone(), state].concat();
        context.emit(Op::Call { function: self.resolve, args }, span)
    }

    fn lookup(&self, context: &mut Context, state: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        self.numbers.read(context, state, &identity, span)
    }

    fn calls(&self) -> Option<Calls> {
        Some(self.calls.clone())
    }

    fn call(&self, context: &mut Context, environment: &[Atom], call: Atom, results: Atom, span: Span) -> Vec<Atom> {
        let identity = self.write_call(context, environment, call, span);
        context.for_loop(results, Vec::new(), span, |context, _, _| {
            self.write_row(context, environment, [Atom::i64(0), Atom::i64(0)], &[], span);
            Vec::new()
        });
        vec![identity]
    }

    fn forks(&self) -> Option<Forks> {
        let mut logs = self.all_logs();
        let jobs = logs.pop()?;
        Some(Forks { task: Type::Named(self.task), call: Type::Named(self.calls.ty), logs, jobs, row_bits: ROW_BITS })
    }

    fn first_arms(&self) -> Vec<Arm> {
        self.first_arms.clone()
    }
}
