//! Operations on whole arrays: views, copies, updates.

use super::checks::count_or_none;
use super::{Array, Emitter, Uses, Value};
use crate::ir::*;
use chadwick_core::{Atom, Binder, Prim, Size, SliceDim, Statement, Type};

/// One dimension of a selection, evaluated.
#[derive(Clone, Debug)]
pub(crate) enum Selected {
    Index(Exp),
    Range { start: Exp, count: Exp, stride: Exp },
}

impl Emitter<'_, '_> {
    pub(crate) fn strides(&mut self, array: &Array) -> Vec<Exp> {
        if let Some(strides) = &array.strides {
            return strides.clone();
        }
        let mut strides = vec![Exp::i64(1); array.dims.len()];
        for axis in (1..array.dims.len()).rev() {
            let stride = strides[axis].clone().mul(self.literal_if_known(&array.dims[axis]));
            strides[axis - 1] = self.size_local("stride", stride);
        }
        strides
    }

    /// The offset of an element, or of the first element of a part.
    pub(crate) fn offset(&mut self, array: &Array, indices: &[Exp]) -> Exp {
        match &array.strides {
            None => {
                let mut offset = Exp::i64(0);
                for (axis, dim) in array.dims.iter().enumerate() {
                    let index = indices.get(axis).cloned().unwrap_or(Exp::i64(0));
                    offset = offset.mul(self.literal_if_known(dim)).add(index);
                }
                offset
            }
            Some(strides) => {
                let terms = indices.iter().zip(strides).map(|(index, stride)| index.clone().mul(stride.clone()));
                terms.fold(Exp::i64(0), Exp::add)
            }
        }
    }

    /// The part behind leading indices, which have been checked.
    pub(crate) fn part(&mut self, name: &str, array: &Array, indices: &[Exp]) -> Array {
        let offset = self.offset(array, indices);
        let data = match array.elem {
            Elem::Unit => array.data.clone(),
            _ => self.pointer(name, array.elem, Exp::at(array.data.clone(), offset)),
        };
        Array {
            elem: array.elem,
            data,
            owner: array.owner.clone(),
            dims: array.dims[indices.len()..].to_vec(),
            strides: array.strides.as_ref().map(|strides| strides[indices.len()..].to_vec()),
        }
    }

    pub(crate) fn pointer(&mut self, name: &str, elem: Elem, exp: Exp) -> Exp {
        match exp {
            Exp::Local(_) | Exp::Null => exp,
            other => self.bind(name, Ty::Data(elem), other),
        }
    }

    pub(crate) fn count(&mut self, dims: &[Exp]) -> Exp {
        let count = dims.iter().cloned().fold(Exp::i64(1), Exp::mul);
        self.size_local("count", count)
    }

    /// A new row-major array; elements that are sums start as zeros, which own nothing.
    pub(crate) fn allocate(&mut self, name: &str, elem: Elem, dims: Vec<Exp>) -> Array {
        if elem == Elem::Unit {
            return Array { elem, data: Exp::Null, owner: Exp::Null, dims, strides: None };
        }
        let (owner, data) = (self.local(&format!("{name}_owner"), Ty::Owner), self.local(name, Ty::Data(elem)));
        let site = self.site();
        let zeroed = matches!(elem, Elem::Sum(_));
        self.push(Stm::Alloc { owner, data, elem, dims: dims.clone(), zeroed, site });
        self.unshared.insert(owner);
        Array { elem, data: Exp::Local(data), owner: Exp::Local(owner), dims, strides: None }
    }

    /// A row-major copy with a reference of its own.
    pub(crate) fn compact(&mut self, array: &Array) -> Array {
        let copy = self.allocate("copy", array.elem, array.dims.clone());
        self.copy_elements(&copy, array);
        copy
    }

    /// Copies elements to a place where nothing is that would have to be released. Shapes are equal.
    pub(crate) fn copy_elements(&mut self, to: &Array, from: &Array) {
        if from.elem == Elem::Unit {
            return;
        }
        if to.strides.is_none() && from.strides.is_none() {
            let count = self.count(&from.dims);
            let (to, from_data) = (to.data.clone(), from.data.clone());
            self.push(Stm::CopyElements { elem: from.elem, to, from: from_data, count });
            return;
        }
        if self.copy_transposed(to, from) {
            return;
        }
        self.over_elements(&from.dims.clone(), &mut |emitter, indices| {
            let value = emitter.load(from, indices);
            emitter.retain(&value);
            let at = emitter.offset(to, indices);
            emitter.push(Stm::Store { data: to.data.clone(), at, value: scalar_of(&value) });
        });
    }

    /// Copies matrices of words whose columns lie side by side: block by block, so that reading and writing both go along the memory.
    fn copy_transposed(&mut self, to: &Array, from: &Array) -> bool {
        let is_word = matches!(from.elem, Elem::Prim(Prim::F64 | Prim::I64 | Prim::U64));
        let (Some(strides), Some(rows)) = (&from.strides, from.dims.len().checked_sub(2)) else { return false };
        if !is_word || to.strides.is_some() || strides[rows].as_i64() != Some(1) {
            return false;
        }
        let [height, width] = [from.dims[rows].clone(), from.dims[rows + 1].clone()];
        let mut outer: Vec<Exp> = from.dims[..rows].to_vec();
        let blocks = Exp::Runtime("cw_turned_blocks", vec![height.clone(), width.clone()]);
        outer.push(self.size_local("blocks", blocks));
        self.over_elements(&outer, &mut |emitter, indices| {
            let (block, indices) = (indices[rows].clone(), indices[..rows].to_vec());
            let mut place = |array: &Array| {
                let start = emitter.offset(array, &[indices.clone(), vec![Exp::i64(0), Exp::i64(0)]].concat());
                Exp::at(array.data.clone(), start)
            };
            let (target, source) = (place(to), place(from));
            let args = vec![target, source, height.clone(), width.clone(), strides[rows + 1].clone(), block];
            emitter.push(Stm::Run("cw_transpose", args));
        });
        true
    }

    /// Replaces elements. Shapes are equal.
    pub(crate) fn overwrite_elements(&mut self, to: &Array, from: &Array) {
        match from.elem {
            Elem::Sum(_) => self.over_elements(&from.dims.clone(), &mut |emitter, indices| {
                let value = emitter.load(from, indices);
                emitter.retain(&value);
                emitter.replace_element(to, indices, &value);
            }),
            _ => self.copy_elements(to, from),
        }
    }

    /// Writes one element that has a reference of its own over another.
    pub(crate) fn replace_element(&mut self, to: &Array, indices: &[Exp], value: &Value) {
        let at = self.offset(to, indices);
        if let Value::Sum(..) = value {
            let at = self.size_local("at", at);
            let old = self.load_at(to, at.clone());
            self.push(Stm::Store { data: to.data.clone(), at, value: scalar_of(value) });
            self.release(&old);
            return;
        }
        self.push(Stm::Store { data: to.data.clone(), at, value: scalar_of(value) });
    }

    /// Runs something for all indices of a shape; it writes to no place twice.
    pub(crate) fn over_elements(&mut self, dims: &[Exp], body: &mut dyn FnMut(&mut Self, &[Exp])) {
        let mut indices = Vec::new();
        for dim in dims {
            let index = self.open_loop("i", Prim::I64, dim.clone());
            indices.push(Exp::Local(index));
        }
        body(self, &indices);
        for number in 0..dims.len() {
            let mark = if number == 0 { Mark::Independent } else { Mark::Sequential };
            let independent = (number + 1 == dims.len()).then(Vec::new);
            self.close_loop(mark, independent);
        }
    }

    pub(crate) fn load(&mut self, array: &Array, indices: &[Exp]) -> Value {
        let at = self.offset(array, indices);
        self.load_at(array, at)
    }

    fn load_at(&mut self, array: &Array, at: Exp) -> Value {
        let exp = Exp::load(array.data.clone(), at);
        match array.elem {
            Elem::Prim(prim) => Value::Scalar(self.bind("x", Ty::Prim(prim), exp)),
            Elem::Sum(id) => Value::Sum(self.bind("x", Ty::Sum(id), exp), id),
            Elem::Unit => Value::Scalar(Exp::i64(0)),
        }
    }

    pub(super) fn index(&mut self, binders: &[Binder], array: &Atom, indices: &[Atom]) {
        let indices: Vec<Exp> = indices.iter().map(|index| self.scalar(index)).collect();
        if let (Atom::Var(var), [binder]) = (array, binders)
            && let Some((at, element)) = self.forwards.get(var)
            && *at == indices
        {
            let element = element.clone();
            self.set(binder.var, Value::Scalar(element));
            return;
        }
        let array = self.array(array);
        for (index, dim) in indices.iter().zip(array.dims.clone()) {
            self.check_index(index, &dim);
        }
        let Some(binder) = binders.first() else { return };
        let name = self.var_name(binder.var);
        let value = match indices.len() == array.dims.len() {
            false => Value::Array(self.part(&name, &array, &indices)),
            true => {
                let at = self.offset(&array, &indices);
                let exp = Exp::load(array.data.clone(), at);
                match array.elem {
                    Elem::Prim(prim) => Value::Scalar(self.bind(&name, Ty::Prim(prim), exp)),
                    Elem::Sum(id) => Value::Sum(self.bind(&name, Ty::Sum(id), exp), id),
                    Elem::Unit => return,
                }
            }
        };
        self.set(binder.var, value);
    }

    pub(crate) fn selection(&self, dims: &[SliceDim]) -> Vec<Selected> {
        let dim = |dim: &SliceDim| match dim {
            SliceDim::Index(index) => Selected::Index(self.scalar(index)),
            SliceDim::Range { start, count, stride } => {
                Selected::Range { start: self.scalar(start), count: self.scalar(count), stride: self.scalar(stride) }
            }
        };
        dims.iter().map(dim).collect()
    }

    /// The selected part as a view; checks that all of it exists.
    pub(crate) fn select(&mut self, name: &str, array: &Array, selection: &[Selected]) -> Array {
        let strides = self.strides(array);
        let (mut dims, mut kept) = (Vec::new(), Vec::new());
        let mut offset = Exp::i64(0);
        for (axis, (dim, stride)) in array.dims.iter().zip(&strides).enumerate() {
            match selection.get(axis) {
                Some(Selected::Index(index)) => {
                    self.check_index(index, dim);
                    offset = offset.add(index.clone().mul(stride.clone()));
                }
                Some(Selected::Range { start, count, stride: step }) => {
                    let is_inside = self.is_range_inside(start, count, step, dim);
                    if !is_inside {
                        self.check_range(start, count, step, dim);
                    }
                    // An empty range may start outside; nothing reads there, but the pointer must stay inside.
                    let first = match count.as_i64() {
                        _ if is_inside => start.clone(),
                        Some(1..) => start.clone(),
                        _ => Exp::Select(
                            Box::new(Exp::test(Test::Less, Exp::i64(0), count.clone())),
                            Box::new(start.clone()),
                            Box::new(Exp::i64(0)),
                        ),
                    };
                    let first = if start.as_i64() == Some(0) { Exp::i64(0) } else { first };
                    offset = offset.add(first.mul(stride.clone()));
                    self.learn_not_negative(count);
                    dims.push(count.clone());
                    let step = stride.clone().mul(step.clone());
                    kept.push(self.size_local("stride", step));
                }
                None => {
                    dims.push(dim.clone());
                    kept.push(stride.clone());
                }
            }
        }
        let data = match array.elem {
            Elem::Unit => array.data.clone(),
            _ => self.pointer(name, array.elem, Exp::at(array.data.clone(), offset)),
        };
        let strides = if self.is_row_major(&dims, &kept) { None } else { Some(kept) };
        Array { elem: array.elem, data, owner: array.owner.clone(), dims, strides }
    }

    fn is_row_major(&mut self, dims: &[Exp], strides: &[Exp]) -> bool {
        let mut wanted = Exp::i64(1);
        for (dim, stride) in dims.iter().zip(strides).rev() {
            if *stride != wanted {
                return false;
            }
            wanted = match wanted.as_i64() {
                Some(1) => dim.clone(),
                // Products are locals of their own, so only vectors and the last two dimensions are recognised.
                _ => Exp::Null,
            };
        }
        true
    }

    /// Fails unless the range is inside, or empty.
    fn check_range(&mut self, start: &Exp, count: &Exp, stride: &Exp, dim: &Exp) {
        let inside = vec![start.clone(), count.clone(), stride.clone(), dim.clone()];
        let condition = Exp::Not(Box::new(Exp::Runtime("cw_range_fits", inside)));
        let site = self.site();
        let values = vec![count.clone(), start.clone(), stride.clone(), dim.clone()];
        self.push(Stm::Fail { condition, kind: FailKind::Slice, values, site });
    }

    pub(super) fn slice(&mut self, binders: &[Binder], array: &Atom, dims: &[SliceDim]) {
        let array = self.array(array);
        let selection = self.selection(dims);
        let name = binders.first().map_or(String::from("part"), |binder| self.var_name(binder.var));
        let part = self.select(&name, &array, &selection);
        let Some(binder) = binders.first() else { return };
        let value = match part.dims.is_empty() {
            true => self.load(&part, &[]),
            false => Value::Array(part),
        };
        self.set(binder.var, value);
    }

    /// The array, writable: its own block, or its place in the frame or in an array under construction, row-major.
    pub(crate) fn make_unique(&mut self, name: &str, atom: &Atom, uses: &mut Uses) -> Array {
        let array = self.array(atom);
        if array.elem == Elem::Unit {
            return array;
        }
        if matches!(atom, Atom::Var(var) if self.is_in_own_place(&array) && self.is_last_use(*var, uses)) {
            self.pass_by(atom, uses);
            return array;
        }
        if array.strides.is_some() || !self.takes_over(atom, uses) {
            self.pass_by(atom, uses);
            return self.compact(&array);
        }
        let _ = self.take(atom, uses);
        self.make_writable(name, array)
    }

    /// Whether the array has a block to which there are no other references.
    pub(super) fn is_unshared(&self, array: &Array) -> bool {
        matches!(&array.owner, Exp::Local(owner) if self.unshared.contains(owner))
    }

    /// An array with a reference of its own, copied if there are others.
    pub(crate) fn make_writable(&mut self, name: &str, array: Array) -> Array {
        if self.is_unshared(&array) {
            return array;
        }
        let (owner, data) = (self.local(&format!("{name}_owner"), Ty::Owner), self.local(name, Ty::Data(array.elem)));
        self.push(Stm::Let(owner, array.owner.clone()));
        self.push(Stm::Let(data, array.data.clone()));
        self.open_branch();
        let copy = self.compact(&array);
        self.release(&Value::Array(array.clone()));
        self.push(Stm::Assign(owner, copy.owner));
        self.push(Stm::Assign(data, copy.data));
        let then = self.close_branch();
        let condition = Exp::Runtime("cw_is_shared", vec![array.owner]);
        self.push(Stm::If { condition, then, otherwise: Vec::new() });
        self.unshared.insert(owner);
        Array { elem: array.elem, data: Exp::Local(data), owner: Exp::Local(owner), dims: array.dims, strides: None }
    }

    pub(super) fn update(&mut self, statement: &Statement, array: &Atom, dims: &[SliceDim], value: &Atom, uses: &mut Uses) {
        let Some(binder) = statement.binders.first() else { return };
        let selection = self.selection(dims);
        let old = self.array(array);
        let name = self.var_name(binder.var);
        let full = selection.len() == old.dims.len() && selection.iter().all(|dim| matches!(dim, Selected::Index(_)));
        if full {
            let indices: Vec<Exp> = selection
                .iter()
                .filter_map(|dim| match dim {
                    Selected::Index(index) => Some(index.clone()),
                    Selected::Range { .. } => None,
                })
                .collect();
            for (index, dim) in indices.iter().zip(&old.dims) {
                self.check_index(index, dim);
            }
            let value = self.take(value, uses);
            let target = self.make_unique(&name, array, uses);
            self.replace_element(&target, &indices, &value);
            self.set(binder.var, Value::Array(target));
            return;
        }
        // The checks come first: a failed update changes nothing. The part of the copy is another view.
        let part = self.select("part", &old, &selection);
        let from = self.array(value);
        self.check_shapes(&from.dims, &part.dims, FailKind::Write);
        let target = self.make_unique(&name, array, uses);
        let part = self.select("part", &target, &selection);
        self.overwrite_elements(&part, &from);
        self.set(binder.var, Value::Array(target));
    }

    pub(super) fn transpose(&mut self, binders: &[Binder], array: &Atom, permutation: &[usize]) {
        let Some(binder) = binders.first() else { return };
        let array = self.array(array);
        if permutation.iter().enumerate().all(|(at, axis)| at == *axis) {
            self.set(binder.var, Value::Array(array));
            return;
        }
        let strides = self.strides(&array);
        let dims = permutation.iter().map(|axis| array.dims[*axis].clone()).collect();
        let strides = permutation.iter().map(|axis| strides[*axis].clone()).collect();
        self.set(binder.var, Value::Array(Array { dims, strides: Some(strides), ..array }));
    }

    pub(super) fn reshape(&mut self, binders: &[Binder], atom: &Atom, dims: &[Atom], uses: &mut Uses) {
        let Some(binder) = binders.first() else { return };
        let array = self.array(atom);
        let dims: Vec<Exp> = dims.iter().map(|dim| self.scalar(dim)).collect();
        let site = self.site();
        let counts = vec![Exp::i64(array.dims.len() as i64)];
        let values = [counts, array.dims.clone(), dims.clone()].concat();
        let mut condition: Option<Exp> = None;
        for dim in &dims {
            let negative = Exp::test(Test::Less, dim.clone(), Exp::i64(0));
            condition = Some(match condition {
                None => negative,
                Some(before) => before.or(negative),
            });
        }
        let differ = Exp::test(Test::NotEqual, count_or_none(&array.dims), count_or_none(&dims));
        let condition = condition.map_or(differ.clone(), |negative| negative.or(differ));
        self.push(Stm::Fail { condition, kind: FailKind::Reshape, values, site });
        dims.iter().for_each(|dim| self.learn_not_negative(dim));
        let value = match array.strides {
            None => self.take(atom, uses),
            Some(_) => Value::Array(self.compact(&array)),
        };
        if let Value::Array(array) = value {
            self.set(binder.var, Value::Array(Array { dims, ..array }));
        }
    }

    pub(super) fn literal(&mut self, binder: &Binder, ty: &Type, elements: &[Atom], inner: &[Size], uses: &mut Uses) {
        let name = self.var_name(binder.var);
        let elem = match &ty.clone().array([chadwick_core::Dim::Any]) {
            Type::Array(array) => self.shared.layouts.elem(array),
            _ => Elem::Unit,
        };
        let inner: Vec<Exp> = match elements.first() {
            // The first element has the shape that all must have, which is what is stated where something is.
            Some(first) if ty.rank() > 0 => {
                let first = self.array(first);
                self.check_stated(&first.dims.clone(), inner);
                first.dims
            }
            _ if ty.rank() == 0 => Vec::new(),
            _ => (0..ty.rank())
                .map(|axis| match inner.get(axis) {
                    Some(Size::Known(atom)) => {
                        let size = self.scalar(atom);
                        self.extent(&size)
                    }
                    _ => Exp::i64(0),
                })
                .collect(),
        };
        let dims = [vec![Exp::i64(elements.len() as i64)], inner.clone()].concat();
        let whole = self.new_array(binder.var, &name, elem, dims);
        // A long list of constants is data, not code.
        const LONG: usize = 16;
        let constants = elements.iter().map(|element| match element {
            Atom::Const(value) if !matches!(value.prim(), Prim::Bool | Prim::F16) => Some(*value),
            _ => None,
        });
        if let Some(values) = constants.collect::<Option<Vec<chadwick_core::Const>>>().filter(|values| values.len() > LONG) {
            self.push(Stm::Table { data: whole.data.clone(), values });
            self.set(binder.var, Value::Array(whole));
            return;
        }
        for (at, element) in elements.iter().enumerate() {
            let at = Exp::i64(at as i64);
            match self.value(element) {
                Value::Array(array) => {
                    self.check_shapes(&array.dims.clone(), &inner, FailKind::Irregular);
                    let part = self.part("part", &whole, std::slice::from_ref(&at));
                    self.copy_elements(&part, &array);
                }
                _ => {
                    let value = self.take(element, uses);
                    self.push(Stm::Store { data: whole.data.clone(), at, value: scalar_of(&value) });
                }
            }
        }
        self.set(binder.var, Value::Array(whole));
    }

    /// Fails unless the first element of an array has the stated shape.
    pub(crate) fn check_stated(&mut self, found: &[Exp], stated: &[Size]) {
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for (found, stated) in found.iter().zip(stated) {
            if let Size::Known(atom) = stated {
                mine.push(found.clone());
                theirs.push(self.scalar(atom));
            }
        }
        let mut condition: Option<Exp> = None;
        for (found, stated) in mine.iter().zip(&theirs) {
            if self.same_size(found, stated) {
                continue;
            }
            // A negative size is no statement.
            let differ =
                Exp::test(Test::Less, Exp::i64(-1), stated.clone()).and(Exp::test(Test::NotEqual, found.clone(), stated.clone()));
            condition = Some(match condition {
                None => differ,
                Some(before) => before.or(differ),
            });
        }
        if let Some(condition) = condition {
            let site = self.site();
            self.push(Stm::Fail { condition, kind: FailKind::IrregularFirst, values: found.to_vec(), site });
        }
    }
}

/// The expression of a value that is one expression.
pub(crate) fn scalar_of(value: &Value) -> Exp {
    match value {
        Value::Scalar(exp) | Value::Sum(exp, _) => exp.clone(),
        Value::Array(_) | Value::Handle(_) => Exp::i64(0),
    }
}
