//! Arrays under construction.
//!
//! Where all sizes are known beforehand the array is allocated first (or its place is given: a row of a larger array) and elements are
//! written to their places. Else the first element tells the shape, or the array grows as a loop goes on.

use super::arrays::scalar_of;
use super::{Array, Destination, Emitter, Uses, Value};
use crate::ir::*;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Binder, Block, Const, Op, Prim, Size, Statement, Type, Var};

pub(crate) struct Collector<'p> {
    name: String,
    elem: Elem,
    stated: &'p [Size],
    rank: usize,
    state: State,
}

enum State {
    Ready {
        array: Array,
        outer: usize,
    },
    /// The first element brings the inner sizes.
    Lazy {
        owner: Local,
        data: Local,
        outer: Vec<Exp>,
        inner: Vec<Local>,
        begun: Local,
    },
    /// The number of elements is not known, either.
    Growing {
        owner: Local,
        data: Local,
        count: Local,
        inner: Vec<Local>,
        begun: Local,
    },
}

impl Collector<'_> {
    /// The array, if it has its memory already.
    pub fn ready(&self) -> Option<Array> {
        match &self.state {
            State::Ready { array, .. } => Some(array.clone()),
            _ => None,
        }
    }
}

impl<'p> Emitter<'_, 'p> {
    /// A new array, in its destination if it has one, or in memory that was left to it.
    pub(crate) fn new_array(&mut self, var: Var, name: &str, elem: Elem, dims: Vec<Exp>) -> Array {
        // Where the sizes may be others, what is wrong with them shows later, and not here.
        let destination = self.destinations.remove(&var).filter(|to| match to.reshaped {
            true => self.same_count(&dims, &to.dims),
            false => dims.iter().zip(&to.dims).all(|(found, wanted)| self.same_size(found, wanted)),
        });
        if let Some(Destination { data, dims: wanted, reshaped }) = destination {
            self.heirs.remove(&var);
            self.kept.insert(var);
            if reshaped {
                self.check_countable(&dims, &wanted);
            }
            let dims = if reshaped { dims } else { wanted };
            return Array { elem, data, owner: Exp::Null, dims, strides: None };
        }
        if let Some(array) = self.rooms.remove(&var).or_else(|| self.inherited(var, &dims)) {
            return array;
        }
        match self.small(var, elem, &dims) {
            Some(count) => {
                let data = self.local(name, Ty::Data(elem));
                self.push(Stm::Room { data, elem, count });
                self.kept.insert(var);
                self.in_frame.insert(data);
                Array { elem, data: Exp::Local(data), owner: Exp::Null, dims, strides: None }
            }
            None => self.allocate(name, elem, dims),
        }
    }

    /// The number of elements of an array that can live in the frame of the function: there are few, and nobody needs them for longer.
    fn small(&self, var: Var, elem: Elem, dims: &[Exp]) -> Option<i64> {
        const MOST: i64 = 64;
        let mut count: i64 = 1;
        for dim in dims {
            match dim {
                Exp::Const(Const::I64(size @ 1..=MOST)) => count *= size,
                _ => return None,
            }
            if count > MOST {
                return None;
            }
        }
        // Where a function calls itself, each call would have room for what is dead there.
        let needed = if self.shared.recursive[self.function] { &self.consumed } else { &self.outliving };
        let is_own = self.live.root(var) == Some(var) && !needed.contains(&var);
        (is_own && matches!(elem, Elem::Prim(_))).then_some(count)
    }

    /// Starts an array of the binder's type over outer sizes; `None` for as many elements as will come.
    pub(crate) fn collect(
        &mut self,
        binder: &Binder,
        outer: Option<Vec<Exp>>,
        outer_rank: usize,
        stated: &'p [Size],
    ) -> Collector<'p> {
        let (elem, rank) = match &binder.ty {
            Type::Array(array) => (self.shared.layouts.elem(array), array.dims.len() - outer_rank),
            _ => (Elem::Unit, 0),
        };
        let name = self.var_name(binder.var);
        let known = rank == 0 || (stated.len() == rank && stated.iter().all(|size| matches!(size, Size::Known(_))));
        let state = match outer {
            // A stated size that is negative is no statement; but lowering states such sizes as constants only.
            Some(outer) if known && !stated.iter().any(is_negative) => {
                let mut dims = outer.clone();
                for size in stated {
                    if let Size::Known(atom) = size {
                        let size = self.scalar(atom);
                        dims.push(self.extent(&size));
                    }
                }
                let array = self.new_array(binder.var, &name, elem, dims);
                State::Ready { array, outer: outer.len() }
            }
            outer => {
                self.destinations.remove(&binder.var);
                let (owner, data) = (self.local(&format!("{name}_owner"), Ty::Owner), self.local(&name, Ty::Data(elem)));
                let inner = (0..rank).map(|axis| self.local(&format!("{name}_n{}", axis + outer_rank), Ty::Prim(Prim::I64)));
                let inner: Vec<Local> = inner.collect();
                let begun = self.local("begun", Ty::Prim(Prim::Bool));
                [owner, data, begun].into_iter().chain(inner.iter().copied()).for_each(|local| self.push(Stm::Declare(local)));
                for (local, size) in inner.iter().zip(stated) {
                    if let Size::Known(atom) = size {
                        let size = self.scalar(atom);
                        self.push(Stm::Assign(*local, size.at_least_zero()));
                    }
                }
                match outer {
                    Some(outer) => State::Lazy { owner, data, outer, inner, begun },
                    None => {
                        let count = self.local(&format!("{name}_n0"), Ty::Prim(Prim::I64));
                        self.push(Stm::Declare(count));
                        State::Growing { owner, data, count, inner, begun }
                    }
                }
            }
        };
        Collector { name, elem, stated, rank, state }
    }

    /// Offers the row at `position` to the statement that computes the result, if it can build there.
    pub(crate) fn offer_row(&mut self, collector: &Collector<'p>, position: &Exp, result: &Atom, body: &Block) {
        let State::Ready { array, outer } = &collector.state else { return };
        if collector.rank == 0 || matches!(collector.elem, Elem::Unit) {
            return;
        }
        let Atom::Var(var) = result else { return };
        if self.consumed.contains(var) {
            return;
        }
        let Some((builder, reshaped)) = self.builder(*var, body) else { return };
        let dims = array.dims[*outer..].to_vec();
        let row = dims.iter().cloned().fold(Exp::i64(1), Exp::mul);
        let data = Exp::at(array.data.clone(), position.clone().mul(row));
        let data = self.pointer("row", collector.elem, data);
        if let Exp::Local(local) = data {
            self.rows.insert(local, array.data.clone());
        }
        self.destinations.insert(builder, Destination { data, dims, reshaped });
    }

    /// The array that becomes a result of the block, itself or with another shape, if a statement of the block can build it in a place that is
    /// given; and whether its shape is another.
    fn builder(&self, var: Var, block: &Block) -> Option<(Var, bool)> {
        if self.live.root(var) != Some(var) || self.destinations.contains_key(&var) {
            return None;
        }
        let (statement, at) = block.statements.iter().find_map(|statement| {
            let at = statement.binders.iter().position(|binder| binder.var == var)?;
            Some((statement, at))
        })?;
        match &statement.op {
            Op::Build { .. } | Op::Concat { .. } | Op::ArrayLiteral { .. } | Op::Scan { .. } => Some((var, false)),
            Op::Loop(the_loop) => (at >= the_loop.carry.len() + usize::from(the_loop.counted)).then_some((var, false)),
            Op::If { then, otherwise, .. } => {
                let builds =
                    |branch: &Block| branch.results.get(at).is_some_and(|result| self.builder_of(result, branch).is_some());
                (builds(then) && builds(otherwise)).then_some((var, false))
            }
            Op::Reshape { array, .. } => self.builder_of(array, block).map(|(builder, _)| (builder, true)),
            Op::WithAccumulators { init: changed, .. } | Op::Hist { dest: changed, .. } | Op::Scatter { dest: changed, .. } => {
                self.builder_of(changed.get(at)?, block)
            }
            _ => None,
        }
    }

    /// The same for an array that the block needs only to make another of it.
    fn builder_of(&self, array: &Atom, block: &Block) -> Option<(Var, bool)> {
        let Atom::Var(array) = array else { return None };
        if is_used_once(*array, block) { self.builder(*array, block) } else { None }
    }

    /// Passes the place of a result of branches on to what builds it in each of them.
    pub(super) fn offer_to_branch(&mut self, destinations: &[Option<Destination>], branch: &Block) {
        for (destination, result) in destinations.iter().zip(&branch.results) {
            let Some(destination) = destination else { continue };
            if let Some((builder, reshaped)) = self.builder_of(result, branch) {
                let reshaped = reshaped || destination.reshaped;
                self.destinations.insert(builder, Destination { reshaped, ..destination.clone() });
            }
        }
    }

    /// Writes the next element to its position.
    pub(crate) fn collect_element(&mut self, collector: &Collector<'p>, position: &Exp, result: &Atom, uses: &mut Uses) {
        match self.value(result) {
            Value::Array(array) => {
                self.pass_by(result, uses);
                self.collect_row(collector, position, &array);
            }
            _ => {
                let value = self.take(result, uses);
                self.collect_value(collector, position, &value);
            }
        }
    }

    /// Writes an element that has a reference of its own, or copies a row.
    pub(crate) fn collect_value(&mut self, collector: &Collector<'p>, position: &Exp, value: &Value) {
        let data = match &collector.state {
            _ if collector.elem == Elem::Unit => return,
            State::Ready { array, .. } => array.data.clone(),
            State::Lazy { data, .. } => Exp::Local(*data),
            State::Growing { owner, data, count, .. } => {
                let site = self.site();
                let (count, row) = (Exp::Local(*count), Exp::i64(1));
                self.push(Stm::Grow { owner: *owner, data: *data, elem: collector.elem, count, row, site });
                Exp::Local(*data)
            }
        };
        let at = match &collector.state {
            State::Growing { count, .. } => Exp::Local(*count),
            _ => position.clone(),
        };
        self.push(Stm::Store { data, at, value: scalar_of(value) });
    }

    pub(crate) fn collect_row(&mut self, collector: &Collector<'p>, position: &Exp, row: &Array) {
        match &collector.state {
            State::Ready { array, outer } => {
                let dims = array.dims[*outer..].to_vec();
                self.check_shapes(&row.dims, &dims, FailKind::Irregular);
                if self.is_in_own_place(row) && self.is_in_place(row, array) {
                    return;
                }
                self.copy_row(collector.elem, array.data.clone(), position, row);
            }
            State::Lazy { owner, data, outer, inner, begun } => {
                let (owner, data, begun) = (*owner, *data, *begun);
                let (outer, inner) = (outer.clone(), inner.clone());
                self.open_branch();
                self.begin_rows(collector, row, &inner, begun);
                if collector.elem != Elem::Unit {
                    let dims = [outer, inner.iter().map(|local| Exp::Local(*local)).collect()].concat();
                    let site = self.site();
                    let zeroed = matches!(collector.elem, Elem::Sum(_));
                    let array = Stm::Alloc { owner, data, elem: collector.elem, dims, zeroed, site };
                    self.push(array);
                }
                self.end_begin(row, &inner, begun);
                self.copy_row(collector.elem, Exp::Local(data), position, row);
            }
            State::Growing { owner, data, count, inner, begun } => {
                let (owner, data, count, begun) = (*owner, *data, *count, *begun);
                let inner = inner.clone();
                self.open_branch();
                self.begin_rows(collector, row, &inner, begun);
                self.end_begin(row, &inner, begun);
                if collector.elem != Elem::Unit {
                    let size = self.count(&row.dims);
                    let site = self.site();
                    self.push(Stm::Grow { owner, data, elem: collector.elem, count: Exp::Local(count), row: size, site });
                }
                self.copy_row(collector.elem, Exp::Local(data), &Exp::Local(count), row);
            }
        }
    }

    fn begin_rows(&mut self, collector: &Collector<'p>, row: &Array, inner: &[Local], begun: Local) {
        self.check_stated(&row.dims.clone(), collector.stated);
        for (local, dim) in inner.iter().zip(&row.dims) {
            self.push(Stm::Assign(*local, dim.clone()));
        }
        self.push(Stm::Assign(begun, Exp::Const(Const::Bool(true))));
    }

    fn end_begin(&mut self, row: &Array, inner: &[Local], begun: Local) {
        let first = self.close_branch();
        self.open_branch();
        let wanted: Vec<Exp> = inner.iter().map(|local| Exp::Local(*local)).collect();
        self.check_shapes(&row.dims, &wanted, FailKind::Irregular);
        let later = self.close_branch();
        self.push(Stm::If { condition: Exp::Local(begun), then: later, otherwise: first });
    }

    /// Whether this is in the frame of the function or a row of an array under construction, which nobody else sees.
    pub(super) fn is_in_own_place(&self, array: &Array) -> bool {
        let is_own = matches!(&array.data, Exp::Local(data) if self.rows.contains_key(data) || self.in_frame.contains(data));
        is_own && array.owner == Exp::Null && array.strides.is_none()
    }

    fn is_in_place(&self, row: &Array, whole: &Array) -> bool {
        let Exp::Local(row) = &row.data else { return false };
        self.rows.get(row).is_some_and(|data| *data == whole.data)
    }

    fn copy_row(&mut self, elem: Elem, data: Exp, position: &Exp, row: &Array) {
        if elem == Elem::Unit {
            return;
        }
        let size = row.dims.iter().cloned().fold(Exp::i64(1), Exp::mul);
        let place = Exp::at(data, position.clone().mul(size));
        let place = self.pointer("row", elem, place);
        let to = Array { elem, data: place, owner: Exp::Null, dims: row.dims.clone(), strides: None };
        self.copy_elements(&to, row);
    }

    /// Counts an element of a growing array.
    pub(crate) fn collected_one(&mut self, collector: &Collector<'p>) {
        if let State::Growing { count, .. } = &collector.state {
            self.push(Stm::Assign(*count, Exp::Local(*count).add(Exp::i64(1))));
        }
    }

    pub(crate) fn collected(&mut self, collector: Collector<'p>) -> Array {
        match collector.state {
            State::Ready { array, .. } => array,
            State::Lazy { owner, data, outer, inner, .. } => {
                let dims = [outer, inner.into_iter().map(Exp::Local).collect()].concat();
                self.finish_collected(collector.elem, &collector.name, owner, data, dims)
            }
            State::Growing { owner, data, count, inner, .. } => {
                let dims = [vec![Exp::Local(count)], inner.into_iter().map(Exp::Local).collect()].concat();
                self.finish_collected(collector.elem, &collector.name, owner, data, dims)
            }
        }
    }

    fn finish_collected(&mut self, elem: Elem, name: &str, owner: Local, data: Local, dims: Vec<Exp>) -> Array {
        // From here on the sizes do not change; new locals say so.
        let dims: Vec<Exp> = dims
            .into_iter()
            .enumerate()
            .map(|(axis, dim)| {
                let dim = self.bind(&format!("{name}_n{axis}"), Ty::Prim(Prim::I64), dim);
                if let Exp::Local(local) = dim {
                    self.not_negative.insert(local);
                }
                dim
            })
            .collect();
        Array { elem, data: Exp::Local(data), owner: Exp::Local(owner), dims, strides: None }
    }
}

/// Whether the block needs the variable in one place only.
fn is_used_once(var: Var, block: &Block) -> bool {
    let uses = |statement: &Statement| op_free_variables(&statement.op).contains(&var);
    let results = block.results.iter().filter(|result| **result == Atom::Var(var)).count();
    results + block.statements.iter().filter(|statement| uses(statement)).count() == 1
}

fn is_negative(size: &Size) -> bool {
    matches!(size, Size::Known(Atom::Const(Const::I64(value))) if *value < 0)
}
