//! Accumulators: values that are only added to.

use crate::array::{ArrayValue, Selection, Shape};
use crate::code::{Code, List, Operand, PathKind};
use crate::error::{ErrorKind, Outcome, fail, malformed};
use crate::machine::{Machine, selections_of};
use crate::value::{SumValue, Value};
use chadwick_core::{Const, Prim};
use std::rc::Rc;

/// One step into a value, with evaluated indices.
enum Step {
    Part(Vec<Selection>),
    Payload { tag: u32, field: usize },
}

impl Machine {
    pub(crate) fn accumulate(
        &mut self,
        code: &Code,
        base: usize,
        handle: Operand,
        path: u32,
        operands: List,
        value: Operand,
    ) -> Outcome<()> {
        self.counters.accumulations += 1;
        let Value::Accumulator(handle) = self.fetch(code, base, handle) else { return malformed("no accumulator") };
        let mut integers = self.integers(code, base, operands)?.into_iter();
        let Some(kinds) = code.paths.get(path as usize) else { return malformed("a missing path") };
        let mut steps: Vec<Step> = Vec::with_capacity(kinds.len());
        for kind in kinds {
            let part = match kind {
                PathKind::Index(count) => integers.by_ref().take(*count).map(Selection::Index).collect(),
                PathKind::Slice(kinds) => selections_of(kinds, &mut integers)?,
                PathKind::Payload { tag, field } => {
                    steps.push(Step::Payload { tag: *tag, field: *field });
                    continue;
                }
            };
            match steps.last_mut() {
                // An index into an indexed part is an index with more dimensions: no part is taken out on the way.
                Some(Step::Part(before)) if before.iter().all(|dim| matches!(dim, Selection::Index(_))) => before.extend(part),
                _ => steps.push(Step::Part(part)),
            }
        }
        let value = self.fetch(code, base, value);
        let Some(place) = self.accumulators.get_mut(handle as usize).map(std::mem::take) else {
            return malformed("an accumulator that is closed");
        };
        let sum = self.add_at(place, &steps, value)?;
        if let Some(place) = self.accumulators.get_mut(handle as usize) {
            *place = sum;
        }
        Ok(())
    }

    /// `whole` with `value` added at the path; in place where nobody else holds it.
    fn add_at(&mut self, whole: Value, path: &[Step], value: Value) -> Outcome<Value> {
        let Some((step, rest)) = path.split_first() else { return self.add_structures(whole, &value) };
        match (whole, step) {
            (Value::Array(mut array), Step::Part(dims)) => {
                // The part is taken out of a boxed array, so that it can be updated in place too.
                let part = array.slice(dims)?;
                if matches!(part, Value::Array(_)) && rest.is_empty() {
                    // The view would keep the whole shared.
                    drop(part);
                    return self.add_region(array, dims, &value);
                }
                let part = match part {
                    Value::Sum(part) => {
                        drop(part);
                        self.take_part(&mut array, dims)?
                    }
                    part => part,
                };
                let sum = self.add_at(part, rest, value)?;
                self.write_into(&mut array, dims, sum)?;
                Ok(Value::Array(array))
            }
            (Value::Sum(mut sum), Step::Payload { tag, field }) => {
                if sum.tag != *tag || *field >= sum.fields.len() {
                    return fail(ErrorKind::Differentiation, "an accumulation into another constructor");
                }
                if Rc::get_mut(&mut sum).is_none() {
                    sum = copy_of(&sum);
                }
                let Some(own) = Rc::get_mut(&mut sum) else { return malformed("a shared sum after it was copied") };
                let part = std::mem::take(&mut own.fields[*field]);
                let added = self.add_at(part, rest, value)?;
                own.fields[*field] = added;
                Ok(Value::Sum(sum))
            }
            _ => malformed("a path that does not fit its value"),
        }
    }

    fn take_part(&mut self, array: &mut Rc<ArrayValue>, dims: &[Selection]) -> Outcome<Value> {
        let part = array.slice(dims)?;
        self.write_into(array, dims, Value::Absent)?;
        Ok(part)
    }

    /// Adds an array to a part of an array.
    fn add_region(&mut self, mut array: Rc<ArrayValue>, dims: &[Selection], value: &Value) -> Outcome<Value> {
        let part = array.slice(dims)?;
        // With its own buffer, so that the view does not keep the whole shared.
        let part = match part {
            Value::Array(view) => Value::Array(Rc::new(view.compact()?)),
            other => other,
        };
        let sum = self.add_structures(part, value)?;
        self.write_into(&mut array, dims, sum)?;
        Ok(Value::Array(array))
    }

    /// The sum of two values of one form.
    pub(crate) fn add_structures(&mut self, left: Value, right: &Value) -> Outcome<Value> {
        match (left, right) {
            (left @ (Value::Scalar(_) | Value::Active(_)), right) => match left.prim() {
                Some(Prim::Bool) => Ok(left),
                prim => {
                    self.counters.float_operations += u64::from(prim.is_some_and(Prim::is_float));
                    self.add(&left, right)
                }
            },
            (Value::Array(mut left), Value::Array(right)) => {
                if left.shape() != right.shape() {
                    // Arrays without elements need not know how large those would be.
                    if left.shape().contains(&0) && right.shape().contains(&0) {
                        return Ok(Value::Array(left));
                    }
                    let (left, right) = (Shape::new(left.shape()), Shape::new(right.shape()));
                    return fail(ErrorKind::ShapeMismatch, format!("cannot add arrays of shapes {left} and {right}"));
                }
                if left.buffer().prim() == Some(Prim::Bool) {
                    return Ok(Value::Array(left));
                }
                let shape = left.shape().to_vec();
                for (at, offset) in right.offsets().enumerate() {
                    self.tick()?;
                    let more = right.buffer().get(offset);
                    if matches!(more, Value::Absent) || matches!(more, Value::Scalar(Const::Bool(_))) {
                        break;
                    }
                    let dims = position(&shape, at);
                    let old = left.slice(&dims)?;
                    let sum = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.add_structures(old, &more))?;
                    self.write_into(&mut left, &dims, sum)?;
                }
                Ok(Value::Array(left))
            }
            (Value::Sum(left), Value::Sum(right)) => {
                if left.tag != right.tag || left.fields.len() != right.fields.len() {
                    return fail(ErrorKind::Differentiation, "cannot add values of different constructors");
                }
                let mut left = left;
                if Rc::get_mut(&mut left).is_none() {
                    left = copy_of(&left);
                }
                let Some(own) = Rc::get_mut(&mut left) else { return malformed("a shared sum after it was copied") };
                for (field, more) in own.fields.iter_mut().zip(&right.fields) {
                    let old = std::mem::take(field);
                    *field = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.add_structures(old, more))?;
                }
                Ok(Value::Sum(left))
            }
            (Value::Absent, _) => Ok(Value::Absent),
            _ => malformed("a sum of values of different forms"),
        }
    }
}

fn copy_of(sum: &SumValue) -> Rc<SumValue> {
    match Value::sum(sum.tag, sum.fields.clone()) {
        Value::Sum(copy) => copy,
        _ => Rc::new(SumValue { tag: sum.tag, fields: sum.fields.clone() }),
    }
}

/// The indices of an element by its number in row-major order.
fn position(shape: &[i64], at: usize) -> Vec<Selection> {
    let mut rest = at as i64;
    let mut indices: Vec<Selection> = shape
        .iter()
        .rev()
        .map(|dim| {
            let index = rest % dim;
            rest /= dim;
            Selection::Index(index)
        })
        .collect();
    indices.reverse();
    indices
}
