//! Accumulators: places that are only added to.
//!
//! Opening one makes its start writable once; what is inside a sum is made writable on the way to the part. Nothing else can see the
//! place while it is open, so additions happen in place.

use super::arrays::scalar_of;
use super::forms::at_entry;
use super::{Array, Emitter, Handle, Value};
use crate::ir::*;
use crate::liveness::Deaths;
use chadwick_core::{Atom, BinaryOp, Binder, Block, PathStep, Prim, PrimOp, Statement};

/// Where a path has come to.
enum Here {
    Array(Array),
    /// A pointer to a value.
    Place(Exp, Ty),
    Scalar(Local, Prim),
}

impl<'p> Emitter<'_, 'p> {
    pub(super) fn with_accumulators(
        &mut self,
        statement: &'p Statement,
        handles: &[Binder],
        init: &[Atom],
        body: &'p Block,
        deaths: &Deaths,
    ) {
        let mut uses = self.statement_uses(statement, deaths);
        let mut finals = Vec::new();
        for (handle, init) in handles.iter().zip(init) {
            let name = self.var_name(handle.var);
            let (open, result) = match self.value(init) {
                Value::Array(_) => {
                    let array = self.make_unique(&name, init, &mut uses);
                    (Handle::Array(self.only_added_to(&name, &array)), Value::Array(array))
                }
                Value::Scalar(exp) => {
                    let ty = self.type_of(&exp);
                    let prim = if let Ty::Prim(prim) = ty { prim } else { Prim::Bool };
                    let local = self.local(&name, Ty::Prim(prim));
                    self.push(Stm::Let(local, exp));
                    self.sums.insert(local);
                    (Handle::Scalar(local, prim), Value::Scalar(Exp::Local(local)))
                }
                _ => {
                    let value = self.take(init, &mut uses);
                    let Value::Sum(exp, id) = value else { continue };
                    let local = self.local(&name, Ty::Sum(id));
                    self.push(Stm::Let(local, exp));
                    (Handle::Sum(Exp::Local(local).address(), id), Value::Sum(Exp::Local(local), id))
                }
            };
            self.set(handle.var, Value::Handle(open));
            finals.push(result);
        }
        self.release_roots(at_entry(deaths, 0));
        let values = self.inline(body);
        let (own, results) = statement.binders.split_at(finals.len().min(statement.binders.len()));
        for (binder, value) in own.iter().zip(finals) {
            let name = self.var_name(binder.var);
            let value = match value {
                // From here on the place does not change.
                Value::Scalar(exp) => {
                    let ty = self.type_of(&exp);
                    Value::Scalar(self.bind(&name, ty, exp))
                }
                Value::Sum(exp, id) => Value::Sum(self.bind(&name, Ty::Sum(id), exp), id),
                other => other,
            };
            self.set(binder.var, value);
        }
        for (binder, value) in results.iter().zip(values) {
            self.set(binder.var, value);
        }
    }

    /// The array by a name of its own, under which it is only added to.
    pub(super) fn only_added_to(&mut self, name: &str, array: &Array) -> Array {
        let data = self.bind(&format!("{name}_sum"), Ty::Data(array.elem), array.data.clone());
        let open = Array { data, owner: Exp::Null, ..array.clone() };
        self.note_accumulator(&open);
        open
    }

    pub(super) fn accumulate(&mut self, handle: &Atom, path: &[PathStep], value: &Atom) {
        let Value::Handle(handle) = self.value(handle) else { return };
        let mut here = match handle {
            Handle::Scalar(local, prim) => Here::Scalar(local, prim),
            Handle::Array(array) => Here::Array(array),
            Handle::Sum(place, id) => Here::Place(place, Ty::Sum(id)),
            Handle::Log(_) => return,
        };
        for step in path {
            here = match (here, step) {
                (Here::Array(array), PathStep::Index(indices)) => {
                    let indices: Vec<Exp> = indices.iter().map(|index| self.scalar(index)).collect();
                    for (index, dim) in indices.iter().zip(&array.dims) {
                        self.check_index(index, dim);
                    }
                    self.element_or_part(&array, &indices)
                }
                (Here::Array(array), PathStep::Slice(dims)) => {
                    let selection = self.selection(dims);
                    let part = self.select("part", &array, &selection);
                    match part.dims.is_empty() {
                        true => self.element_or_part(&part, &[]),
                        false => Here::Array(part),
                    }
                }
                (Here::Place(place, Ty::Sum(id)), PathStep::Payload { tag, field }) => self.payload(place, id, *tag, *field),
                (here, _) => here,
            };
        }
        let value = self.value(value);
        match (here, value) {
            (Here::Scalar(_, Prim::Bool), _) => {}
            (Here::Scalar(local, prim), value) => {
                let sum = Exp::Prim(PrimOp::Binary(BinaryOp::Add, prim), vec![Exp::Local(local), scalar_of(&value)]);
                self.push(Stm::Assign(local, sum));
            }
            (Here::Place(place, Ty::Prim(prim)), value) => self.add_scalar(place, prim, scalar_of(&value)),
            (Here::Place(place, Ty::Sum(id)), value) => {
                let site = self.site();
                self.push(Stm::TrySum(SumFunction::AddTo, id, vec![place, scalar_of(&value)], site));
            }
            (Here::Array(array), Value::Array(from)) => self.add_arrays(&array, &from),
            _ => {}
        }
    }

    fn element_or_part(&mut self, array: &Array, indices: &[Exp]) -> Here {
        if indices.len() < array.dims.len() {
            return Here::Array(self.part("part", array, indices));
        }
        let at = self.offset(array, indices);
        let place = Exp::at(array.data.clone(), at);
        match array.elem {
            Elem::Prim(prim) => Here::Place(place, Ty::Prim(prim)),
            Elem::Sum(id) => {
                let place = self.pointer("element", array.elem, place);
                Here::Place(place, Ty::Sum(id))
            }
            Elem::Unit => Here::Place(place, Ty::Owner),
        }
    }

    fn payload(&mut self, place: Exp, id: SumId, tag: u32, field: usize) -> Here {
        let sum = self.shared.layouts.get(id);
        let (recursive, choices) = (sum.recursive, sum.constructors.len());
        let field_type = sum.constructors.get(tag as usize).and_then(|fields| fields.get(field)).cloned();
        let Some(field_type) = field_type else { return Here::Place(place, Ty::Owner) };
        let site = self.site();
        if recursive {
            self.push(Stm::TrySum(SumFunction::MakeUnique, id, vec![place.clone()], site));
        }
        let whole = place.deref();
        if choices > 1 {
            let found = Exp::Tag(Box::new(whole.clone()), id);
            let condition = Exp::test(Test::NotEqual, found, Exp::Const(chadwick_core::Const::I32(tag as i32)));
            self.push(Stm::Fail { condition, kind: FailKind::OtherConstructor, values: Vec::new(), site });
        }
        let inner = Exp::Payload { sum: Box::new(whole), id, tag, field };
        match field_type {
            Ty::Array(elem, rank) => {
                // Made writable where it is, so that the sum sees the copy.
                let array = self.array_of_field("field", inner.clone(), elem, rank);
                if elem == Elem::Unit {
                    return Here::Array(array);
                }
                let writable = self.make_writable("field", array);
                self.push(Stm::Put { place: inner, value: super::control::whole(&writable) });
                Here::Array(Array { owner: Exp::Null, ..writable })
            }
            ty => {
                let pointer = self.local("field", Ty::Place(Box::new(ty.clone())));
                self.push(Stm::Let(pointer, inner.address()));
                Here::Place(Exp::Local(pointer), ty)
            }
        }
    }

    fn add_scalar(&mut self, place: Exp, prim: Prim, value: Exp) {
        if prim == Prim::Bool {
            return;
        }
        let place = place.deref();
        let sum = Exp::Prim(PrimOp::Binary(BinaryOp::Add, prim), vec![place.clone(), value]);
        self.push(Stm::Put { place, value: sum });
    }

    /// The shapes must agree; but arrays without elements need not know how large those would be.
    fn check_addition(&mut self, to: &Array, from: &Array) {
        let pairs = to.dims.iter().zip(&from.dims).filter(|(to, from)| !self.same_size(to, from));
        let differ = pairs.map(|(to, from)| Exp::test(Test::NotEqual, to.clone(), from.clone())).reduce(Exp::or);
        let Some(differ) = differ else { return };
        let count = |array: &Array| array.dims.iter().cloned().fold(Exp::i64(1), Exp::mul);
        let has_elements = |array: &Array| Exp::test(Test::NotEqual, count(array), Exp::i64(0));
        let condition = differ.and(has_elements(to).or(has_elements(from)));
        let (site, values) = (self.site(), [to.dims.clone(), from.dims.clone()].concat());
        self.push(Stm::Fail { condition, kind: FailKind::AddShapes, values, site });
    }

    /// Adds an array to a part of the accumulator.
    fn add_arrays(&mut self, to: &Array, from: &Array) {
        self.check_addition(to, from);
        // By a name of its own: no place is added to twice.
        let to = &Array { data: self.bind("target", Ty::Data(to.elem), to.data.clone()), ..to.clone() };
        match to.elem {
            Elem::Unit | Elem::Prim(Prim::Bool) => {}
            Elem::Prim(prim) => self.over_elements(&to.dims.clone(), &mut |emitter, indices| {
                let more = emitter.load(from, indices);
                let at = emitter.offset(to, indices);
                let old = Exp::load(to.data.clone(), at.clone());
                let sum = Exp::Prim(PrimOp::Binary(BinaryOp::Add, prim), vec![old, scalar_of(&more)]);
                emitter.push(Stm::Store { data: to.data.clone(), at, value: sum });
            }),
            Elem::Sum(id) => self.over_elements(&to.dims.clone(), &mut |emitter, indices| {
                let more = emitter.load(from, indices);
                let at = emitter.offset(to, indices);
                let place = Exp::at(to.data.clone(), at);
                let site = emitter.site();
                emitter.push(Stm::TrySum(SumFunction::AddTo, id, vec![place, scalar_of(&more)], site));
            }),
        }
    }
}
