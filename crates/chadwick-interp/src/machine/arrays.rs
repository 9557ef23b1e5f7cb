//! Array instructions.

use super::Machine;
use crate::array::{ArrayBuilder, ArrayValue, Buffer, Selection, Shape, Written, check_index, concat, write};
use crate::code::{Code, DimKind, Inst, List, Operand};
use crate::error::{ErrorKind, Outcome, fail, malformed};
use crate::value::Value;
use chadwick_core::Const;
use std::rc::Rc;

impl Machine {
    #[inline]
    pub(super) fn index(&mut self, code: &Code, base: usize, array: Operand, indices: List) -> Outcome<Value> {
        let operands = code.list(indices);
        let value = {
            let Value::Array(view) = self.get(code, base, array) else { return malformed("an index into no array") };
            match operands {
                [one] => view.index(&[self.integer(code, base, *one)?])?,
                [one, two] => view.index(&[self.integer(code, base, *one)?, self.integer(code, base, *two)?])?,
                _ => view.index(&self.integers(code, base, indices)?)?,
            }
        };
        if array.is_take() {
            self.registers[base + array.index()] = Value::Absent;
        }
        Ok(value)
    }

    fn array(&self, code: &Code, base: usize, operand: Operand) -> Outcome<&ArrayValue> {
        match &self.registers.get(base + operand.index()) {
            Some(Value::Array(array)) if !operand.is_constant() => Ok(array),
            _ => {
                let _ = code;
                malformed("an array operation on no array")
            }
        }
    }

    /// Counts a new array.
    pub(crate) fn count_array(&mut self, value: &Value) {
        if let Value::Array(array) = value {
            self.counters.allocations += 1;
            self.counters.allocated_bytes += (array.buffer().len() * array.buffer().element_bytes()) as u64;
        }
    }

    pub(super) fn selections(&self, code: &Code, base: usize, kinds: &[DimKind], operands: List) -> Outcome<Vec<Selection>> {
        let values = self.integers(code, base, operands)?;
        selections_of(kinds, &mut values.into_iter())
    }

    pub(super) fn array_step(&mut self, code: &Code, inst: &Inst, pc: &mut usize, base: usize) -> Outcome<()> {
        match inst {
            Inst::BuildStart { builder, spec, outer, inner } => {
                let Some(spec) = code.builds.get(*spec as usize) else { return malformed("a missing build") };
                let outer: Vec<i64> = self.integers(code, base, *outer)?.into_iter().map(|size| size.max(0)).collect();
                let inner = self.integers(code, base, *inner)?;
                let outer = (!spec.growing).then_some(&outer[..]);
                let made = ArrayBuilder::new(outer, &spec.element, &inner, spec.inner_rank, self.memory_limit)?;
                self.set(base, *builder, Value::Builder(Box::new(made)));
            }
            Inst::BuildFinish { builder, dst } => {
                let Value::Builder(builder) = self.fetch(code, base, Operand::take(*builder)) else {
                    return malformed("the end of no array");
                };
                let value = builder.finish()?;
                self.count_array(&value);
                self.set(base, *dst, value);
            }
            Inst::ShapeOf { dst, array } => {
                let shape = self.array(code, base, *array)?.shape().to_vec();
                let value = ArrayValue::new(Shape::new(&[shape.len() as i64]), Buffer::I64(shape));
                self.set(base, *dst, Value::Array(Rc::new(value)));
            }
            Inst::CheckShape { array, shape } => {
                let array = self.array(code, base, Operand::register(*array))?;
                let Buffer::I64(wanted) = self.array(code, base, Operand::register(*shape))?.buffer() else {
                    return malformed("a shape that is no array of i64");
                };
                if array.shape() != wanted {
                    let (found, wanted) = (Shape::new(array.shape()), Shape::new(wanted));
                    let message = format!("the operator returned shape {found}, but the neutral element has shape {wanted}");
                    return fail(ErrorKind::ShapeMismatch, message);
                }
            }
            Inst::JumpOutside { array, indices, target } => {
                let indices = self.integers(code, base, *indices)?;
                let array = self.array(code, base, Operand::register(*array))?;
                if indices.iter().zip(array.shape()).any(|(index, dim)| check_index(*index, *dim).is_err()) {
                    *pc = *target as usize;
                }
            }
            Inst::Load { dst, array, indices } => {
                let indices = self.integers(code, base, *indices)?;
                let mut value = self.array(code, base, Operand::register(*array))?.index(&indices)?;
                // A view would make the array shared while it is being written.
                if let Value::Array(view) = &value {
                    value = Value::Array(Rc::new(view.compact()?));
                }
                self.set(base, *dst, value);
            }
            Inst::Store { array, indices, value } => {
                let value = self.fetch(code, base, *value);
                let indices = self.integers(code, base, *indices)?;
                let dims: Vec<Selection> = indices.into_iter().map(Selection::Index).collect();
                let Value::Array(mut target) = self.fetch(code, base, Operand::take(*array)) else {
                    return malformed("a write into no array");
                };
                self.write_into(&mut target, &dims, value)?;
                self.set(base, *array, Value::Array(target));
            }
            Inst::ArrayLiteral { spec, elements, inner, dst } => {
                let Some(spec) = code.builds.get(*spec as usize) else { return malformed("a missing build") };
                let inner = self.integers(code, base, *inner)?;
                let outer = [i64::from(elements.len)];
                let limit = self.memory_limit;
                let mut builder = ArrayBuilder::new(Some(&outer), &spec.element, &inner, spec.inner_rank, limit)?;
                for element in code.list(*elements) {
                    let value = self.fetch(code, base, *element);
                    builder.push(value, limit)?;
                }
                let value = builder.finish()?;
                self.count_array(&value);
                self.set(base, *dst, value);
            }
            Inst::Slice { dst, array, dims, operands } => {
                let Some(kinds) = code.dims.get(*dims as usize) else { return malformed("missing slice dimensions") };
                let dims = self.selections(code, base, kinds, *operands)?;
                let Value::Array(array) = self.fetch(code, base, *array) else { return malformed("a slice of no array") };
                let value = array.slice(&dims)?;
                self.set(base, *dst, value);
            }
            Inst::Update { dst, array, dims, operands, value } => {
                let Some(kinds) = code.dims.get(*dims as usize) else { return malformed("missing slice dimensions") };
                let dims = self.selections(code, base, kinds, *operands)?;
                let value = self.fetch(code, base, *value);
                let Value::Array(mut array) = self.fetch(code, base, *array) else { return malformed("an update of no array") };
                self.write_into(&mut array, &dims, value)?;
                self.set(base, *dst, Value::Array(array));
            }
            Inst::Transpose { dst, array, permutation } => {
                let axes: Vec<usize> = code.list(*permutation).iter().map(|axis| axis.index()).collect();
                let Value::Array(array) = self.fetch(code, base, *array) else { return malformed("a transpose of no array") };
                self.set(base, *dst, Value::Array(Rc::new(array.transpose(&axes))));
            }
            Inst::Reshape { dst, array, dims } => {
                let dims = self.integers(code, base, *dims)?;
                let Value::Array(array) = self.fetch(code, base, *array) else { return malformed("a reshape of no array") };
                if !array.is_row_major() {
                    self.check_memory(array.len().saturating_mul(array.buffer().element_bytes()))?;
                }
                let value = Value::Array(Rc::new(array.reshape(Shape::new(&dims))?));
                if !array.is_row_major() {
                    self.count_array(&value);
                }
                self.set(base, *dst, value);
            }
            Inst::Concat { dst, arrays } => {
                let values = self.fetch_all(code, base, *arrays);
                let arrays: Option<Vec<&ArrayValue>> = values.iter().map(Value::as_array).collect();
                let Some(arrays) = arrays else { return malformed("a concatenation of no arrays") };
                let bytes = |array: &&ArrayValue| array.len().saturating_mul(array.buffer().element_bytes());
                self.check_memory(arrays.iter().map(bytes).fold(0, usize::saturating_add))?;
                let value = Value::Array(Rc::new(concat(&arrays)?));
                self.count_array(&value);
                self.set(base, *dst, value);
            }
            Inst::Dim { dst, array, axis } => {
                let size = self.array(code, base, Operand::register(array.index() as u32))?.shape().get(*axis as usize).copied();
                let Some(size) = size else { return malformed("the size of an axis that does not exist") };
                if array.is_take() {
                    self.registers[base + array.index()] = Value::Absent;
                }
                self.set(base, *dst, Value::Scalar(Const::I64(size)));
            }
            _ => return malformed("an unknown instruction"),
        }
        Ok(())
    }

    pub(crate) fn write_into(&mut self, array: &mut Rc<ArrayValue>, dims: &[Selection], value: Value) -> Outcome<()> {
        if write(array, dims, value, self.memory_limit)? == Written::Copied {
            self.counters.copies += 1;
            self.counters.allocations += 1;
            self.counters.allocated_bytes += array.buffer().bytes() as u64;
        }
        Ok(())
    }
}

/// Evaluated dimensions of a slice: one value for an index, three for a range.
pub(crate) fn selections_of(kinds: &[DimKind], values: &mut dyn Iterator<Item = i64>) -> Outcome<Vec<Selection>> {
    let mut selections = Vec::with_capacity(kinds.len());
    let mut next = || values.next().map_or_else(|| malformed("a missing slice bound"), Ok);
    for kind in kinds {
        selections.push(match kind {
            DimKind::Index => Selection::Index(next()?),
            DimKind::Range => Selection::Range { start: next()?, count: next()?, stride: next()? },
        });
    }
    Ok(selections)
}
