//! Arrays of numbers. Every operation has a value: a read out of range gives zero, a write out of range is dropped, an operation on integers
//! that has none gives zero.
//!
//! What is done is counted: one for each element that is written or combined; views of an array (`index`, `replicate`, transposes,
//! reshapes, `0, 1, ...`) are free.

use super::algebra::{Algebra, IndexRule, extents, known};
use super::interpret::Interpreter;
use super::term::{Elementwise, Reads, Shape, Step, Tree, fails, failure};
use chadwick_core::prim::{Derivative, Partial, eval};
use chadwick_core::{Atom, BinaryOp, Const, Prim, PrimOp};
use std::cell::Cell;
use std::rc::Rc;

#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    prim: Prim,
    shape: Vec<usize>,
    elements: Rc<Vec<Const>>,
}

impl Array {
    /// Floats in row-major order; nothing if there are too few or too many.
    pub fn floats(shape: &[usize], elements: &[f64]) -> Option<Array> {
        let elements: Vec<Const> = elements.iter().copied().map(Const::F64).collect();
        Array::new(Prim::F64, shape.to_vec(), elements)
    }

    pub(super) fn new(prim: Prim, shape: Vec<usize>, elements: Vec<Const>) -> Option<Array> {
        let count: usize = shape.iter().product();
        (count == elements.len()).then(|| Array { prim, shape, elements: Rc::new(elements) })
    }

    fn made(prim: Prim, shape: Vec<usize>, element: impl FnMut(usize) -> Const) -> Array {
        let count: usize = shape.iter().product();
        Array { prim, shape, elements: Rc::new((0..count).map(element).collect()) }
    }

    pub fn extents(&self) -> &[usize] {
        &self.shape
    }

    /// The elements in row-major order, as floats.
    pub fn as_floats(&self) -> Vec<f64> {
        let float = |constant: &Const| match chadwick_core::prim::convert(*constant, Prim::F64) {
            Const::F64(float) => float,
            _ => 0.0,
        };
        self.elements.iter().map(float).collect()
    }

    fn at(&self, place: usize) -> Const {
        self.elements.get(place).copied().unwrap_or(Const::zero(self.prim))
    }

    fn as_integer(&self) -> i64 {
        match chadwick_core::prim::convert(self.at(0), Prim::I64) {
            Const::I64(number) => number,
            _ => 0,
        }
    }
}

/// The instance of numbers.
#[derive(Clone, Default)]
pub struct Plain {
    work: Rc<Cell<u64>>,
    strays: Rc<Cell<u64>>,
}

impl Plain {
    /// How many elements were written or combined.
    pub fn work(&self) -> u64 {
        self.work.get()
    }

    /// How many reads were out of range that should not have been; they gave zero.
    pub fn strays(&self) -> u64 {
        self.strays.get()
    }

    fn note(&self, reads: &Reads, is_inside: bool) {
        let is_allowed = match reads {
            Reads::InRange => false,
            Reads::Checked(extents) => extents.iter().any(|extent| known(extent) == Some(0)),
            Reads::Total | Reads::OrZero => true,
        };
        self.strays.set(self.strays.get() + u64::from(!is_inside && !is_allowed));
    }

    fn count(&self, elements: usize) {
        self.work.set(self.work.get() + elements as u64);
    }

    fn written(&self, array: Array) -> Array {
        self.count(array.elements.len());
        array
    }
}

/// The indices of an array for each index of another, in row-major order.
#[derive(Clone)]
pub struct Table(Rc<Vec<Vec<i64>>>);

impl Algebra for Plain {
    type Array = Array;
    type Function = Table;

    fn prim(&self, array: &Array) -> Prim {
        array.prim
    }

    fn shape(&self, array: &Array) -> Shape {
        extents(&array.shape)
    }

    fn constant(&self, value: Const) -> Array {
        Array { prim: value.prim(), shape: Vec::new(), elements: Rc::new(vec![value]) }
    }

    fn function(&self, domain: &[Atom], run: IndexRule<'_, Array>) -> Table {
        let domain = numbers(domain);
        let count: usize = domain.iter().product();
        let row = |place: usize| {
            let indices: Vec<Array> = unravelled(&domain, place).iter().map(|index| self.integer(*index as i64)).collect();
            run(&indices).iter().map(Array::as_integer).collect()
        };
        Table(Rc::new((0..count).map(row).collect()))
    }

    fn let_(&self, value: Array, body: &mut dyn FnMut(Array) -> Array) -> Array {
        body(value)
    }

    fn share(&self, array: Array) -> Array {
        array
    }

    fn elementwise(&self, op: Elementwise, args: Vec<Array>) -> Array {
        let prim = op.result(&args.iter().map(|arg| arg.prim).collect::<Vec<_>>());
        let shape = args.first().map_or(Vec::new(), |arg| arg.shape.clone());
        let element = |place| {
            let operands: Vec<Const> = args.iter().map(|arg| arg.at(place)).collect();
            apply(op, &operands, prim)
        };
        self.written(Array::made(prim, shape, element))
    }

    fn iota(&self, count: &Atom) -> Array {
        Array::made(Prim::I64, numbers(std::slice::from_ref(count)), |place| Const::I64(place as i64))
    }

    fn index(&self, base: Array, indices: Vec<Array>, reads: &Reads) -> Array {
        let indices: Vec<i64> = indices.iter().map(Array::as_integer).collect();
        let (front, rest) = base.shape.split_at(indices.len().min(base.shape.len()));
        let size: usize = rest.iter().product();
        let row = place(front, &indices);
        self.note(reads, row.is_some());
        let element = |at| row.map_or(Const::zero(base.prim), |row| base.at(row * size + at));
        Array::made(base.prim, rest.to_vec(), element)
    }

    fn gather(&self, shape: &[Atom], base: Array, Table(table): &Table, reads: &Reads) -> Array {
        let shape = numbers(shape);
        let (front, rest) = base.shape.split_at(table.first().map_or(0, Vec::len).min(base.shape.len()));
        let size = rest.iter().product::<usize>().max(1);
        let element = |at: usize| {
            let row = table.get(at / size).and_then(|indices| place(front, indices));
            self.note(reads, row.is_some());
            row.map_or(Const::zero(base.prim), |row| base.at(row * size + at % size))
        };
        self.written(Array::made(base.prim, shape, element))
    }

    fn scatter(&self, shape: &[Atom], of: Array, Table(table): &Table) -> Array {
        let shape = numbers(shape);
        let mut elements = vec![Const::zero(of.prim); shape.iter().product()];
        let rank = table.first().map_or(0, Vec::len).min(shape.len());
        let size = shape[rank..].iter().product::<usize>();
        for (from, indices) in table.iter().enumerate() {
            let Some(to) = place(&shape[..rank], indices) else { continue };
            for at in 0..size {
                if let Some(element) = elements.get_mut(to * size + at) {
                    *element = plus(*element, of.at(from * size + at));
                }
            }
        }
        self.count(of.elements.len());
        self.written(Array { prim: of.prim, shape, elements: Rc::new(elements) })
    }

    fn overwrite(&self, base: Array, Table(table): &Table, value: Array, is_total: bool) -> Array {
        let (front, rest) = base.shape.split_at(table.first().map_or(0, Vec::len).min(base.shape.len()));
        let size: usize = rest.iter().product();
        let mut elements = (*base.elements).clone();
        for (row, indices) in table.iter().enumerate() {
            let place = place(front, indices);
            self.note(if is_total { &Reads::Total } else { &Reads::InRange }, place.is_some());
            let Some(place) = place else { continue };
            (0..size).for_each(|at| elements[place * size + at] = value.at(row * size + at));
        }
        self.count(value.elements.len());
        Array { prim: base.prim, shape: base.shape, elements: Rc::new(elements) }
    }

    fn sum_outer(&self, of: Array) -> Array {
        self.count(of.elements.len());
        let shape = of.shape.get(1..).unwrap_or(&[]).to_vec();
        let (rows, size) = (of.shape.first().copied().unwrap_or(1), shape.iter().product::<usize>());
        let sum = |at| (0..rows).fold(Const::zero(of.prim), |sum, row| plus(sum, of.at(row * size + at)));
        Array::made(of.prim, shape, sum)
    }

    fn reduce_outer(&self, op: BinaryOp, of: Array) -> Array {
        self.count(of.elements.len());
        let shape = of.shape.get(1..).unwrap_or(&[]).to_vec();
        let (rows, size) = (of.shape.first().copied().unwrap_or(1), shape.iter().product::<usize>());
        let start = if op == BinaryOp::Max { Const::least(of.prim) } else { Const::greatest(of.prim) };
        let op = Elementwise::Prim(PrimOp::Binary(op, of.prim));
        let best = |at| (0..rows).fold(start, |best, row| apply(op, &[best, of.at(row * size + at)], of.prim));
        Array::made(of.prim, shape, best)
    }

    fn stack(&self, rows: Vec<Array>) -> Array {
        let prim = rows.first().map_or(Prim::Bool, |row| row.prim);
        let inner = rows.first().map_or(Vec::new(), |row| row.shape.clone());
        let elements = rows.iter().flat_map(|row| row.elements.iter().copied()).collect();
        self.written(Array { prim, shape: [vec![rows.len()], inner].concat(), elements: Rc::new(elements) })
    }

    fn replicate(&self, count: &Atom, of: Array) -> Array {
        let shape = [numbers(std::slice::from_ref(count)), of.shape.clone()].concat();
        let size = of.elements.len().max(1);
        Array::made(of.prim, shape, |at| of.at(at % size))
    }

    fn transpose(&self, permutation: &[usize], of: Array) -> Array {
        let permutation: Vec<usize> = permutation.iter().copied().chain(permutation.len()..of.shape.len()).collect();
        let shape: Vec<usize> = permutation.iter().filter_map(|axis| of.shape.get(*axis).copied()).collect();
        let element = |at| {
            let mut source = vec![0; of.shape.len()];
            for (axis, index) in permutation.iter().zip(unravelled(&shape, at)) {
                source[*axis] = index as i64;
            }
            place(&of.shape, &source).map_or(Const::zero(of.prim), |place| of.at(place))
        };
        Array::made(of.prim, shape.clone(), element)
    }

    fn reshape(&self, shape: &[Atom], of: Array) -> Array {
        Array { shape: numbers(shape), ..of }
    }

    fn fold(&self, states: &Atom, step: &Rc<Step>, init: Array, arrays: Vec<Array>) -> Array {
        let count = known(states).unwrap_or(1).max(1) - 1;
        let mut found = vec![init];
        for at in 0..count {
            let row = if step.is_backward { count - 1 - at } else { at };
            let row_of = |array: &Array| self.index(array.clone(), vec![self.integer(row as i64)], &Reads::InRange);
            let rows = step.rows.iter().map(|(name, _)| *name).zip(arrays.iter().map(row_of));
            let state = std::iter::once(step.state).zip(found.last().cloned());
            let values = state.chain(rows).collect();
            found.push(Interpreter::new(self, values).tree(&step.body));
        }
        if step.is_backward {
            found.reverse();
        }
        self.stack(found)
    }

    fn walk(&self, step: &Rc<Step>, init: Array, arrays: Vec<Array>) -> (Array, Vec<Array>) {
        let count = arrays.first().and_then(|array| array.shape.first().copied()).unwrap_or(0);
        let order: Vec<usize> = if step.is_backward { (0..count).rev().collect() } else { (0..count).collect() };
        let mut state = init;
        let mut given: Vec<Vec<Option<Array>>> = vec![vec![None; count]; step.gives.len()];
        for row in order {
            let row_of = |array: &Array| self.index(array.clone(), vec![self.integer(row as i64)], &Reads::InRange);
            let rows = step.rows.iter().map(|(name, _)| *name).zip(arrays.iter().map(row_of));
            let values = std::iter::once((step.state, state)).chain(rows).collect();
            let mut interpreter = Interpreter::new(self, values);
            step.bindings.iter().for_each(|(name, value)| interpreter.bind(*name, value));
            state = interpreter.tree(&step.body);
            for (all, one) in given.iter_mut().zip(&step.gives) {
                all[row] = Some(interpreter.tree(one));
            }
        }
        let array = |(all, like): (Vec<Option<Array>>, &Tree)| match count {
            0 => Array::made(like.prim, [vec![0], numbers(&like.shape)].concat(), |_| Const::zero(like.prim)),
            _ => self.stack(all.into_iter().flatten().collect()),
        };
        (state, given.into_iter().zip(&step.gives).map(array).collect())
    }

    fn build(&self, count: usize, row: &mut dyn FnMut(Array) -> Array) -> Array {
        let rows = (0..count).map(|at| row(self.integer(at as i64))).collect();
        self.stack(rows)
    }
}

/// Extents, which are numbers wherever arrays are.
fn numbers(shape: &[Atom]) -> Vec<usize> {
    shape.iter().map(|extent| known(extent).unwrap_or(0)).collect()
}

fn unravelled(shape: &[usize], place: usize) -> Vec<usize> {
    let mut rest = place;
    let mut indices = Vec::new();
    for extent in shape.iter().rev().map(|extent| *extent.max(&1)) {
        indices.push(rest % extent);
        rest /= extent;
    }
    indices.reverse();
    indices
}

/// The place in row-major order; nothing if it is out of range.
fn place(shape: &[usize], indices: &[i64]) -> Option<usize> {
    shape.iter().zip(indices).try_fold(0, |place, (extent, index)| {
        let index = usize::try_from(*index).ok().filter(|index| index < extent)?;
        Some(place * extent + index)
    })
}

fn plus(left: Const, right: Const) -> Const {
    eval(PrimOp::Binary(BinaryOp::Add, left.prim()), &[left, right]).unwrap_or(left)
}

fn apply(op: Elementwise, operands: &[Const], prim: Prim) -> Const {
    match (op, operands) {
        (Elementwise::Prim(op), _) => eval(op, operands).unwrap_or(Const::zero(prim)),
        (Elementwise::Guarded(op), [operand]) => match failure(op) {
            Some((_, safe)) if fails(op, *operand) => safe,
            _ => *operand,
        },
        (Elementwise::Select, [Const::Bool(condition), then, otherwise]) => {
            if *condition {
                *then
            } else {
                *otherwise
            }
        }
        (Elementwise::Partial(op, at), [operands @ .., result]) => match op.derivatives().get(at) {
            Some(Derivative::Scale(formula)) => partial(formula, operands, *result),
            _ => Const::one(prim),
        },
        _ => Const::zero(prim),
    }
}

fn partial(formula: &Partial, operands: &[Const], result: Const) -> Const {
    match formula {
        Partial::Operand(at) => operands.get(*at).copied().unwrap_or(result),
        Partial::Result => result,
        Partial::Constant(constant) => *constant,
        Partial::Apply(op, args) => {
            let args: Vec<Const> = args.iter().map(|arg| partial(arg, operands, result)).collect();
            eval(*op, &args).unwrap_or(Const::zero(op.result()))
        }
        Partial::Select(parts) => {
            let [condition, then, otherwise] = &**parts;
            let holds = matches!(partial(condition, operands, result), Const::Bool(true));
            partial(if holds { then } else { otherwise }, operands, result)
        }
    }
}
