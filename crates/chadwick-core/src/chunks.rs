//! Reductions and scans in chunks: the elements are cut into rows, the rows are combined independently of each other, and a short loop goes
//! over what they give. An associative operator gives the same value that way, with as many applications in a reduction and twice as
//! many in a scan.
//!
//! How many chunks there are follows from the number of elements and their size alone, so a result has the same bits wherever it is
//! computed. What is too small for two chunks stays sequential.

use crate::builder::Builder;
use crate::constant::Const;
use crate::prim::{BinaryOp, CompareOp, PrimOp};
use crate::term::*;
use crate::types::{Prim, Type};
use crate::typing::TypingResult;
use crate::visit::{Copier, for_each_binder};

/// Chunks at most, numbers in a chunk at least, elements in a chunk at least.
const MOST_CHUNKS: i64 = 64;
const LEAST_NUMBERS: i64 = 4096;
const LEAST_ELEMENTS: i64 = 8;

/// The parts of a reduction or scan.
pub struct Combination<'a> {
    pub space: &'a [Axis],
    pub op: &'a Lambda,
    pub neutral: &'a [Atom],
    pub body: &'a Block,
    pub is_scan: bool,
}

/// Where the elements of chunks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// From an array of all of them: what is derived from the chunks then has rows of its own to write to.
    Stored,
    /// They are made as they are combined, where the space has one axis.
    Made,
}

/// Makes the element at an index, in the current block.
type Element<'f> = dyn Fn(&mut Builder<'_>, Atom) -> TypingResult<Vec<Atom>> + 'f;

impl<'a> Combination<'a> {
    pub fn of(op: &'a Op) -> Option<Combination<'a>> {
        match op {
            Op::Reduce { space, op, neutral, body, .. } => Some(Combination { space, op, neutral, body, is_scan: false }),
            Op::Scan { axis, op, neutral, body } => {
                Some(Combination { space: std::slice::from_ref(axis), op, neutral, body, is_scan: true })
            }
            _ => None,
        }
    }

    /// Whether chunks are known not to pay: there are too few elements for two of them, or it is a scan whose operator does so little that
    /// to do it twice costs more than a second processor gives.
    pub fn stays_whole(&self) -> bool {
        self.is_small() || (self.is_scan && self.is_light())
    }

    fn is_light(&self) -> bool {
        const FEW: usize = 32;
        let numbers = self.op.params.iter().all(|param| param.ty.as_prim().is_some());
        let straight = |block: &Block| block.statements.iter().all(|statement| statement.op.scopes().is_empty());
        numbers && straight(&self.op.body) && self.op.body.statements.len() <= FEW
    }

    fn is_small(&self) -> bool {
        let size = |axis: &Axis| match axis.size {
            Atom::Const(Const::I64(size)) => Some(size),
            _ => None,
        };
        let Some(sizes) = self.space.iter().map(size).collect::<Option<Vec<i64>>>() else { return false };
        let points = sizes.into_iter().fold(1, i64::saturating_mul);
        let is_number = |param: &Binder| param.ty.rank() == 0;
        let numbers = points.saturating_mul(self.neutral.len() as i64);
        points < 2 * LEAST_ELEMENTS || self.op.params.iter().all(is_number) && numbers < 2 * LEAST_NUMBERS
    }

    /// The form in chunks where it has elements enough, else what `sequential` does; appended to the current block with these results.
    pub fn in_chunks(
        &self,
        b: &mut Builder<'_>,
        elements: Elements,
        binders: Vec<Binder>,
        sequential: Block,
    ) -> TypingResult<()> {
        let span = b.span();
        let mut points = Atom::i64(1);
        for axis in self.space {
            let size = match self.is_scan {
                true => axis.size.clone(),
                false => i64_op(b, BinaryOp::Max, axis.size.clone(), Atom::i64(0)),
            };
            points = i64_op(b, BinaryOp::Mul, points, size);
        }
        // The sizes of an element of each array.
        let mut shapes = Vec::new();
        let mut weight = Atom::i64(0);
        for neutral in self.neutral {
            let (mut shape, mut numbers) = (Vec::new(), Atom::i64(1));
            for axis in 0..b.type_of(neutral)?.rank() {
                let size = one(b, Op::Dim { array: neutral.clone(), axis })?;
                numbers = i64_op(b, BinaryOp::Mul, numbers, size.clone());
                shape.push(size);
            }
            weight = i64_op(b, BinaryOp::Add, weight, numbers);
            shapes.push(shape);
        }
        let numbers = i64_op(b, BinaryOp::Mul, points.clone(), weight);
        let by_numbers = i64_op(b, BinaryOp::Div, numbers, Atom::i64(LEAST_NUMBERS));
        let by_elements = i64_op(b, BinaryOp::Div, points.clone(), Atom::i64(LEAST_ELEMENTS));
        let count = i64_op(b, BinaryOp::Min, by_numbers, by_elements);
        let count = i64_op(b, BinaryOp::Min, count, Atom::i64(MOST_CHUNKS));
        let condition = b.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), [count.clone(), Atom::i64(2)]);
        // The sizes are named in front of the condition, so that both the chunks and what is derived from them know them.
        let count = i64_op(b, BinaryOp::Max, count, Atom::i64(1));
        let length = i64_op(b, BinaryOp::Div, points.clone(), count.clone());
        let covered = i64_op(b, BinaryOp::Mul, count.clone(), length.clone());
        let rest = i64_op(b, BinaryOp::Mod, points.clone(), count.clone());
        b.push_block();
        let results = Chunks { form: self, shapes: &shapes, points: &points, count, length, covered, rest }.results(b, elements);
        let chunked = b.pop_block(results?);
        let op = Op::If { condition, then: sequential, otherwise: chunked };
        if !self.is_scan {
            b.push_statement(Statement { binders, op, span });
            return Ok(());
        }
        // What follows should know the length without asking for it.
        let types = binders.iter().map(|binder| binder.ty.any_sizes()).collect();
        let prefixes = b.push(op, types, span);
        for ((binder, array), shape) in binders.into_iter().zip(prefixes).zip(shapes) {
            let op = Op::Reshape { array, dims: [vec![points.clone()], shape].concat() };
            b.push_statement(Statement { binders: vec![binder], op, span });
        }
        Ok(())
    }

    /// The operator on two operands, in the current block.
    fn combine(&self, b: &mut Builder<'_>, left: &[Atom], right: &[Atom]) -> Vec<Atom> {
        let operands = self.op.params.iter().zip(left.iter().chain(right));
        insert(b, &self.op.body, operands.map(|(param, atom)| (param.var, atom.clone())))
    }

    /// The element of a form with one axis at an index, in the current block.
    fn element(&self, b: &mut Builder<'_>, axis: &Axis, at: Atom) -> Vec<Atom> {
        insert(b, self.body, [(axis.var, at)])
    }
}

/// A form that is cut.
struct Chunks<'a> {
    form: &'a Combination<'a>,
    shapes: &'a [Vec<Atom>],
    points: &'a Atom,
    count: Atom,
    /// Elements in a chunk, in all chunks, and behind the last one.
    length: Atom,
    covered: Atom,
    rest: Atom,
}

/// What a loop over elements gives for each of them, if anything.
#[derive(Clone, Copy, PartialEq)]
enum Emit {
    Nothing,
    /// The state in front of the element.
    Before,
    /// The state behind it.
    After,
}

impl Chunks<'_> {
    fn results(&self, b: &mut Builder<'_>, elements: Elements) -> TypingResult<Vec<Atom>> {
        if elements == Elements::Made
            && let [axis] = self.form.space
        {
            let made = |b: &mut Builder<'_>, at: Atom| Ok(self.form.element(b, axis, at));
            let in_chunk = |b: &mut Builder<'_>, chunk: Atom| -> TypingResult<Box<Element<'_>>> {
                let start = i64_op(b, BinaryOp::Mul, chunk, self.length.clone());
                Ok(Box::new(move |b, at| {
                    let at = i64_op(b, BinaryOp::Add, start.clone(), at);
                    made(b, at)
                }))
            };
            let behind = |b: &mut Builder<'_>, at: Atom| {
                let at = i64_op(b, BinaryOp::Add, self.covered.clone(), at);
                made(b, at)
            };
            return self.combined(b, &in_chunk, &behind);
        }
        let elements = self.elements(b)?;
        // The few elements behind the last chunk come first: the reverse pass then writes the cotangent of the chunks first, as a whole.
        let mut tails = Vec::new();
        for element in &elements {
            tails.push(part(b, element, self.covered.clone(), self.rest.clone())?);
        }
        let mut rows = Vec::new();
        for (element, shape) in elements.iter().zip(self.shapes) {
            let array = part(b, element, Atom::i64(0), self.covered.clone())?;
            let dims = [vec![self.count.clone(), self.length.clone()], shape.clone()].concat();
            rows.push(one(b, Op::Reshape { array, dims })?);
        }
        let in_chunk = |b: &mut Builder<'_>, chunk: Atom| -> TypingResult<Box<Element<'_>>> {
            let row = read(b, &rows, &[chunk])?;
            Ok(Box::new(move |b, at| read(b, &row, &[at])))
        };
        let behind = |b: &mut Builder<'_>, at: Atom| read(b, &tails, &[at]);
        self.combined(b, &in_chunk, &behind)
    }

    /// The chunks, what they give together, and the elements behind them.
    fn combined<'a>(
        &self,
        b: &mut Builder<'_>,
        in_chunk: &dyn Fn(&mut Builder<'_>, Atom) -> TypingResult<Box<Element<'a>>>,
        behind: &Element<'_>,
    ) -> TypingResult<Vec<Atom>> {
        let Chunks { length, covered, rest, .. } = self;
        let neutral = self.form.neutral;
        let chunk = b.param("chunk", Type::I64);
        b.push_block();
        let emit = if self.form.is_scan { Emit::After } else { Emit::Nothing };
        let own = in_chunk(b, Atom::Var(chunk.var))?;
        let (totals, prefixes) = self.run(b, neutral, length, &own, emit)?;
        let results = if self.form.is_scan { prefixes } else { totals };
        let body = b.pop_block(results);
        let space = vec![Axis { var: chunk.var, size: self.count.clone() }];
        let inner = self.sizes(self.form.is_scan.then_some(length));
        let parts = b.emit(Op::Build { space, body, inner })?;
        if !self.form.is_scan {
            let totals = |b: &mut Builder<'_>, at: Atom| read(b, &parts, &[at]);
            let (total, _) = self.run(b, neutral, &self.count, &totals, Emit::Nothing)?;
            return Ok(self.run(b, &total, rest, behind, Emit::Nothing)?.0);
        }
        let last = i64_op(b, BinaryOp::Sub, length.clone(), Atom::i64(1));
        let totals = |b: &mut Builder<'_>, at: Atom| read(b, &parts, &[at, last.clone()]);
        let (total, starts) = self.run(b, neutral, &self.count, &totals, Emit::Before)?;
        let joined = self.joined(b, &starts, &parts)?;
        let (_, ends) = self.run(b, &total, rest, behind, Emit::After)?;
        let mut results = Vec::new();
        for ((array, end), shape) in joined.into_iter().zip(ends).zip(self.shapes) {
            let dims = [vec![covered.clone()], shape.clone()].concat();
            let array = one(b, Op::Reshape { array, dims })?;
            results.push(one(b, Op::Concat { arrays: vec![array, end] })?);
        }
        Ok(results)
    }

    /// The sizes of what a build gives for each array: an element, or `outer` of them.
    fn sizes(&self, outer: Option<&Atom>) -> Vec<Vec<Size>> {
        let sizes = |shape: &Vec<Atom>| outer.into_iter().chain(shape).cloned().map(Size::Known).collect();
        self.shapes.iter().map(sizes).collect()
    }

    /// All elements, in arrays with one axis for the space.
    fn elements(&self, b: &mut Builder<'_>) -> TypingResult<Vec<Atom>> {
        let (space, rank) = (self.form.space, self.form.space.len());
        let axes: Vec<Axis> =
            space.iter().map(|axis| Axis { var: b.param("i", Type::I64).var, size: axis.size.clone() }).collect();
        let mut copier = Copier::new(b.program_mut());
        for (axis, own) in space.iter().zip(&axes) {
            copier.replace(axis.var, Atom::Var(own.var));
        }
        let body = copier.block(self.form.body);
        for_each_binder(&body, &mut |var, ty| b.declare(var, ty.clone()));
        let arrays = b.emit(Op::Build { space: axes, body, inner: self.sizes(None) })?;
        if rank == 1 {
            return Ok(arrays);
        }
        let mut flat = Vec::new();
        for (array, shape) in arrays.into_iter().zip(self.shapes) {
            let dims = [vec![self.points.clone()], shape.clone()].concat();
            flat.push(one(b, Op::Reshape { array, dims })?);
        }
        Ok(flat)
    }

    /// Combines elements in order; returns the last state, and what was emitted.
    fn run(
        &self,
        b: &mut Builder<'_>,
        initial: &[Atom],
        bound: &Atom,
        element: &Element<'_>,
        emit: Emit,
    ) -> TypingResult<(Vec<Atom>, Vec<Atom>)> {
        let mut carry = Vec::new();
        for (param, atom) in self.form.op.params.iter().zip(initial) {
            let name = b.program().var_names.get(param.var.0 as usize).cloned().unwrap_or_default();
            let ty = b.type_of(atom)?.any_sizes();
            carry.push(b.param(name, ty));
        }
        let index = b.param("j", Type::I64);
        b.push_block();
        let right = element(b, Atom::Var(index.var))?;
        let before: Vec<Atom> = carry.iter().map(|binder| Atom::Var(binder.var)).collect();
        let after = self.form.combine(b, &before, &right);
        let emitted = match emit {
            Emit::Nothing => Vec::new(),
            Emit::Before => before,
            Emit::After => after.clone(),
        };
        let emits = match emit {
            Emit::Nothing => Vec::new(),
            Emit::Before | Emit::After => self.sizes(None),
        };
        let body = b.pop_block([after, emitted].concat());
        let form = LoopForm::For { index, bound: bound.clone() };
        let parts = Loop { carry, initial: initial.to_vec(), form, body, emits, counted: false, hints: LoopHints::default() };
        let mut results = b.emit(Op::Loop(Box::new(parts)))?;
        let emitted = results.split_off(initial.len().min(results.len()));
        Ok((results, emitted))
    }

    /// The prefixes inside the chunks, each combined with what is in front of its chunk.
    fn joined(&self, b: &mut Builder<'_>, starts: &[Atom], parts: &[Atom]) -> TypingResult<Vec<Atom>> {
        let (chunk, at) = (b.param("chunk", Type::I64), b.param("j", Type::I64));
        b.push_block();
        let left = read(b, starts, &[Atom::Var(chunk.var)])?;
        b.push_block();
        let right = read(b, parts, &[Atom::Var(chunk.var), Atom::Var(at.var)])?;
        let results = self.form.combine(b, &left, &right);
        let body = b.pop_block(results);
        let space = vec![Axis { var: at.var, size: self.length.clone() }];
        let row = b.emit(Op::Build { space, body, inner: self.sizes(None) })?;
        let body = b.pop_block(row);
        let space = vec![Axis { var: chunk.var, size: self.count.clone() }];
        b.emit(Op::Build { space, body, inner: self.sizes(Some(&self.length)) })
    }
}

/// A copy of a block in the current one, with other names for some variables; returns its results.
fn insert(b: &mut Builder<'_>, block: &Block, names: impl IntoIterator<Item = (Var, Atom)>) -> Vec<Atom> {
    let mut copier = Copier::new(b.program_mut());
    names.into_iter().for_each(|(var, atom)| copier.replace(var, atom));
    let block = copier.block(block);
    for_each_binder(&block, &mut |var, ty| b.declare(var, ty.clone()));
    block.statements.into_iter().for_each(|statement| b.push_statement(statement));
    block.results
}

/// `count` elements from `start`.
fn part(b: &mut Builder<'_>, array: &Atom, start: Atom, count: Atom) -> TypingResult<Atom> {
    one(b, Op::Slice { array: array.clone(), dims: vec![SliceDim::Range { start, count, stride: Atom::i64(1) }] })
}

/// The elements of arrays at one place.
fn read(b: &mut Builder<'_>, arrays: &[Atom], indices: &[Atom]) -> TypingResult<Vec<Atom>> {
    arrays.iter().map(|array| one(b, Op::Index { array: array.clone(), indices: indices.to_vec() })).collect()
}

fn one(b: &mut Builder<'_>, op: Op) -> TypingResult<Atom> {
    Ok(b.emit(op)?.into_iter().next().unwrap_or(Atom::i64(0)))
}

fn i64_op(b: &mut Builder<'_>, op: BinaryOp, left: Atom, right: Atom) -> Atom {
    b.prim(PrimOp::Binary(op, Prim::I64), [left, right])
}
