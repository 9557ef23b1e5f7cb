//! `dual:tape` (thesis 3.8.3): what an operation contributes is written to a log while the program runs; an identity is the number of a
//! row. The reverse pass goes through the rows from the last to the first with one array of cotangents.
//!
//! A row is two parents in one `i64` (32 bits each) and two partial derivatives, 24 bytes; an operation of three operands takes two rows.
//! Only where cotangents are converted on the way, or both floats and integers are active, or a rule of the program's own has to run, is
//! there a column that says what kind of row it is.

use super::custom::NO_CALL;
use super::numbers::{Factor, Numbers, Part};
use super::{Backpropagation, Calls, Run};
use crate::context::Context;
use chadwick_core::{Atom, BinaryOp, Block, CompareOp, Const, LogType, MessagePart, Op, Prim, PrimOp, Type};
use chadwick_source::Span;
use std::rc::Rc;

pub struct Tape {
    numbers: Rc<Numbers>,
    calls: Option<Calls>,
}

/// The most rows that a parent's 32 bits can tell apart.
const MOST_ROWS: i64 = u32::MAX as i64;

const PLAIN: i64 = 0;
/// Kinds above are conversions, by their place in the list.
const CALL: i64 = 1;
const FIRST_CONVERSION: i64 = 2;

impl Tape {
    pub fn new(numbers: Rc<Numbers>, context: &mut Context) -> Tape {
        let calls = numbers.calls.then(|| Calls::new(context, Vec::new(), numbers.arrays()));
        Tape { numbers, calls }
    }

    fn has_kinds(&self) -> bool {
        self.numbers.prims.len() > 1 || !self.numbers.conversions.is_empty() || self.calls.is_some()
    }

    /// Writes a row of up to two parents.
    fn row(
        &self,
        context: &mut Context,
        handle: &Atom,
        kind: i64,
        parents: &[(Atom, Factor)],
        call: Option<Atom>,
        span: Span,
    ) -> Atom {
        let parent = |at: usize| parents.get(at).map_or(Atom::i64(0), |(parent, _)| parent.clone());
        let packed = match parents.len() {
            0 | 1 => parent(0),
            _ => {
                let high = context.i64_op(BinaryOp::ShiftLeft, parent(1), Atom::i64(32), span);
                context.i64_op(BinaryOp::Or, parent(0), high, span)
            }
        };
        let mut indices = vec![packed];
        if self.has_kinds() {
            indices.push(Atom::i64(kind));
        }
        let mut values = Vec::new();
        for (component, prim) in self.numbers.prims.iter().enumerate() {
            for at in 0..2 {
                values.push(match parents.get(at) {
                    Some((_, Factor::Scale(own, factor))) if *own == component => factor.clone(),
                    _ => Atom::Const(Const::zero(*prim)),
                });
            }
        }
        if let Some(calls) = &self.calls {
            let ty = Type::Named(calls.ty);
            let none = |context: &mut Context| context.construct(&ty, NO_CALL, Vec::new(), span).swap_remove(0);
            values.push(call.unwrap_or_else(|| none(context)));
        }
        context.emit_one(Op::Log { handle: handle.clone(), indices, values }, span)
    }

    /// What a plain row does: each parent gets the cotangent times its partial derivative.
    fn plain_row(
        &self,
        context: &mut Context,
        cells: &[Atom],
        cotangent: &[Atom],
        packed: &Atom,
        partials: &[Atom],
        span: Span,
    ) -> Vec<Atom> {
        let left = context.i64_op(BinaryOp::And, packed.clone(), Atom::i64(MOST_ROWS), span);
        let right = context.i64_op(BinaryOp::ShiftRightLogical, packed.clone(), Atom::i64(32), span);
        let mut cells = cells.to_vec();
        for (parent, at) in [(left, 0), (right, 1)] {
            let mut products = Vec::new();
            for (component, prim) in self.numbers.prims.iter().enumerate() {
                let args = vec![cotangent[component].clone(), partials[2 * component + at].clone()];
                products.push(context.prim(PrimOp::Binary(BinaryOp::Scale, *prim), args, span));
            }
            cells = self.numbers.add_at(context, &cells, &parent, &products, span);
        }
        cells
    }

    /// What a row of another kind does.
    fn other_row(&self, context: &mut Context, cells: &[Atom], row: &Row, conversion: usize, span: Span) -> Vec<Atom> {
        let Some((from, to)) = self.numbers.conversions.get(conversion) else {
            let Some(calls) = &self.calls else { return cells.to_vec() };
            let Some(call) = row.call.clone() else { return cells.to_vec() };
            return calls.run(context, call, row.number.clone(), &[], cells, span);
        };
        let code = Atom::i64(FIRST_CONVERSION + conversion as i64);
        let condition = context.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![row.kind.clone(), code], span);
        let then = context.block(|context| {
            let back = self.numbers.apply(context, &row.cotangent, &Factor::Convert(*from, *to), span);
            self.numbers.add_at(context, cells, &row.packed, &back, span)
        });
        let otherwise = context.block(|context| self.other_row(context, cells, row, conversion + 1, span));
        context.emit(Op::If { condition, then, otherwise }, span)
    }
}

/// A row as it is read.
struct Row {
    number: Atom,
    kind: Atom,
    packed: Atom,
    cotangent: Vec<Atom>,
    call: Option<Atom>,
}

impl Backpropagation for Tape {
    fn beside(&self) -> Vec<Type> {
        vec![Type::I64]
    }

    fn log(&self) -> Option<LogType> {
        let mut values: Vec<Type> = self.numbers.types().into_iter().flat_map(|ty| [ty.clone(), ty]).collect();
        values.extend(self.calls.as_ref().map(|calls| Type::Named(calls.ty)));
        Some(LogType { indices: 1 + usize::from(self.has_kinds()), values })
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
            let parents = [(beside[0].clone(), Factor::Convert(*from, *to))];
            return vec![self.row(context, &environment[0], FIRST_CONVERSION + at as i64, &parents, None, span)];
        }
        let mut parents: Vec<(Atom, Factor)> = Vec::new();
        for part in parts {
            if let (2, Factor::Scale(component, factor)) = (parents.len(), &part.factor) {
                let one = match factor {
                    Atom::Const(constant) => Const::one(constant.prim()),
                    Atom::Var(_) => Const::one(self.numbers.prims[*component]),
                };
                let first = self.row(context, &environment[0], PLAIN, &parents, None, span);
                parents = vec![(first, Factor::Scale(*component, Atom::Const(one)))];
            }
            parents.push((part.beside[0].clone(), part.factor.clone()));
        }
        vec![self.row(context, &environment[0], PLAIN, &parents, None, span)]
    }

    fn start(&self, context: &mut Context, run: &Run, span: Span) -> Vec<Atom> {
        let condition =
            context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![run.end.clone(), Atom::i64(MOST_ROWS)], span);
        let text = String::from("the tape of a derivative has more than 4294967294 rows");
        context.b.push(Op::Assert { condition, message: vec![MessagePart::Text(text)] }, Vec::new(), span);
        self.numbers.cells(context, &run.end, span)
    }

    fn contribute(
        &self,
        context: &mut Context,
        _: &[Atom],
        state: &[Atom],
        beside: &[Atom],
        cotangent: &[Atom],
        span: Span,
    ) -> Vec<Atom> {
        self.numbers.add_at(context, state, &beside[0], cotangent, span)
    }

    fn resolve(&self, context: &mut Context, run: &Run, state: Vec<Atom>, span: Span) -> Vec<Atom> {
        let rows = context.emit_one(Op::Dim { array: run.columns[0].clone(), axis: 0 }, span);
        context.backward_loop(rows, state, span, |context, at, cells| {
            let column = |context: &mut Context, column: usize| {
                context.emit_one(Op::Index { array: run.columns[column].clone(), indices: vec![at.clone()] }, span)
            };
            let behind = context.i64_op(BinaryOp::Add, at.clone(), run.inputs.clone(), span);
            let number = context.i64_op(BinaryOp::Add, behind, Atom::i64(1), span);
            let cotangent = self.numbers.read(context, cells, &number, span);
            let packed = column(context, 0);
            let first = 1 + usize::from(self.has_kinds());
            let partials = 2 * self.numbers.prims.len();
            let plain = |context: &mut Context| {
                let partials: Vec<Atom> = (first..first + partials).map(|at| column(context, at)).collect();
                self.plain_row(context, cells, &cotangent, &packed, &partials, span)
            };
            if !self.has_kinds() {
                return plain(context);
            }
            let kind = column(context, 1);
            let equal = PrimOp::Compare(CompareOp::Equal, Prim::I64);
            let condition = context.prim(equal, vec![kind.clone(), Atom::i64(PLAIN)], span);
            let then: Block = context.block(plain);
            let otherwise = context.block(|context| {
                let call = self.calls.is_some().then(|| column(context, first + partials));
                let (packed, cotangent) = (packed.clone(), cotangent.clone());
                let row = Row { number: number.clone(), kind, packed, cotangent, call };
                self.other_row(context, cells, &row, 0, span)
            });
            context.emit(Op::If { condition, then, otherwise }, span)
        })
    }

    fn lookup(&self, context: &mut Context, state: &[Atom], identity: Atom, span: Span) -> Vec<Atom> {
        self.numbers.read(context, state, &identity, span)
    }

    fn calls(&self) -> Option<Calls> {
        self.calls.clone()
    }

    fn call(&self, context: &mut Context, environment: &[Atom], call: Atom, results: Atom, span: Span) -> Vec<Atom> {
        let number = self.row(context, &environment[0], CALL, &[], Some(call), span);
        context.for_loop(results, Vec::new(), span, |context, _, _| {
            self.row(context, &environment[0], PLAIN, &[], None, span);
            Vec::new()
        });
        vec![number]
    }
}
