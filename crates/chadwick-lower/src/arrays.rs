//! Arrays: literals, indexing, slices, updates, ranges.

use crate::Lowerer;
use crate::ltype::{LType, UNKNOWN, boxed};
use crate::value::{Env, Value};
use chadwick_core::{
    Arm, Atom, Axis, BinaryOp, CompareOp, Const, MessagePart, Op, Prim, PrimOp, Size as CoreSize, SliceDim, Type,
};
use chadwick_source::Span;
use chadwick_syntax::ast::RangeEnd;
use chadwick_types::tree::{Exp, Index};
use chadwick_types::ty;

impl Lowerer<'_> {
    pub fn array_literal(&mut self, elements: &[Exp], ty: &ty::Type, env: &mut Env, span: Span) -> Value {
        let sized = self.sized(ty, env, span);
        let LType::Array(_, element) = sized else { return Value::Atoms(Vec::new()) };
        let rows: Vec<Vec<Atom>> = elements
            .iter()
            .map(|exp| {
                let atoms = self.atoms(exp, env);
                self.store_element(atoms, &element, span)
            })
            .collect();
        let types = self.element_types(&element);
        let inner = self.inner_sizes(&element);
        let columns = types.into_iter().zip(inner).enumerate().map(|(column, (ty, inner))| {
            let elements = rows.iter().filter_map(|row| row.get(column).cloned()).collect();
            self.emit_one(Op::ArrayLiteral { ty, elements, inner }, span)
        });
        Value::Atoms(columns.collect())
    }

    /// For each leaf of an element, the sizes of its arrays.
    pub fn inner_sizes(&mut self, element: &LType) -> Vec<Vec<CoreSize>> {
        let mut leaves = Vec::new();
        self.inner_into(element, &[], false, &mut leaves);
        if leaves.is_empty() {
            leaves.push(Vec::new());
        }
        leaves
    }

    fn inner_into(&mut self, element: &LType, outer: &[CoreSize], hidden: bool, leaves: &mut Vec<Vec<CoreSize>>) {
        match element {
            LType::Record(fields) => fields.iter().for_each(|(_, ty)| self.inner_into(ty, outer, hidden, leaves)),
            LType::Hidden(inner) => self.inner_into(inner, outer, true, leaves),
            LType::Array(..) if hidden => {
                let count = self.flatten(element).len();
                leaves.extend(vec![outer.to_vec(); count]);
            }
            LType::Array(size, inner) => {
                let size = if *size == UNKNOWN { CoreSize::FromValue } else { CoreSize::Known(size.clone()) };
                let outer = [outer, &[size]].concat();
                let before = leaves.len();
                self.inner_into(inner, &outer, false, leaves);
                if leaves.len() == before {
                    leaves.push(outer);
                }
            }
            _ => leaves.push(outer.to_vec()),
        }
    }

    /// A value as it is stored in an array: never without atoms, arrays of hidden size in boxes.
    pub fn store_element(&mut self, atoms: Vec<Atom>, element: &LType, span: Span) -> Vec<Atom> {
        if atoms.is_empty() {
            return vec![Atom::bool(false)];
        }
        let boxes = self.boxed_leaves(element);
        if !boxes.contains(&true) {
            return atoms;
        }
        let put = |(atom, is_boxed): (Atom, bool)| {
            if !is_boxed {
                return atom;
            }
            let ty = boxed(self.type_of(&atom));
            let op = Op::Construct { ty: ty.clone(), tag: 0, args: vec![atom] };
            self.emit_typed("", op, vec![ty], span).into_iter().next().unwrap_or(UNKNOWN)
        };
        atoms.into_iter().zip(boxes).map(put).collect()
    }

    /// The reverse of [`Lowerer::store_element`].
    pub fn load_element(&mut self, atoms: Vec<Atom>, element: &LType, span: Span) -> Vec<Atom> {
        let types = self.flatten(element);
        if types.is_empty() {
            return Vec::new();
        }
        let boxes = self.boxed_leaves(element);
        if !boxes.contains(&true) {
            return atoms;
        }
        let take = |((atom, is_boxed), ty): ((Atom, bool), Type)| {
            if !is_boxed {
                return atom;
            }
            let content = self.fresh("", ty.clone());
            let body = chadwick_core::Block { statements: Vec::new(), results: vec![Atom::Var(content.var)] };
            let arms = vec![Arm { tag: 0, binders: vec![content], body }];
            let op = Op::Match { scrutinee: atom, arms, otherwise: None };
            self.emit_typed("", op, vec![ty], span).into_iter().next().unwrap_or(UNKNOWN)
        };
        atoms.into_iter().zip(boxes).zip(types).map(take).collect()
    }

    pub fn index(&mut self, array: &Exp, indices: &[Index], env: &mut Env, span: Span) -> Value {
        let atoms = self.atoms(array, env);
        let mut element = self.shape_in(&array.ty, env);
        if let LType::Hidden(inner) = element {
            element = (*inner).clone();
        }
        for _ in indices {
            if let LType::Array(_, inner) = element {
                element = (*inner).clone();
            }
        }
        if indices.iter().all(|index| matches!(index, Index::At(_))) {
            let indices: Vec<Atom> = indices
                .iter()
                .filter_map(|index| match index {
                    Index::At(exp) => Some(self.index_value(exp, env)),
                    Index::Slice { .. } => None,
                })
                .collect();
            return Value::Atoms(self.index_atoms(&atoms, &indices, &element, span));
        }
        let dims = self.slice_dims(&atoms, indices, env, span);
        Value::Atoms(atoms.into_iter().map(|array| self.emit_one(Op::Slice { array, dims: dims.clone() }, span)).collect())
    }

    /// The elements of all leaves at the indices.
    pub fn index_atoms(&mut self, arrays: &[Atom], indices: &[Atom], element: &LType, span: Span) -> Vec<Atom> {
        let atoms = arrays
            .iter()
            .map(|array| self.emit_one(Op::Index { array: array.clone(), indices: indices.to_vec() }, span))
            .collect();
        self.load_element(atoms, element, span)
    }

    /// An index as an `i64`.
    fn index_value(&mut self, exp: &Exp, env: &mut Env) -> Atom {
        let atom = self.atoms(exp, env).into_iter().next().unwrap_or(UNKNOWN);
        self.as_i64(atom, exp.span)
    }

    pub fn as_i64(&mut self, atom: Atom, span: Span) -> Atom {
        match self.type_of(&atom).as_prim() {
            Some(Prim::I64) | None => atom,
            Some(from) => self.prim(PrimOp::Convert { from, to: Prim::I64 }, vec![atom], span),
        }
    }

    /// Indices and slices as Core takes them, with the checks that the language asks for.
    fn slice_dims(&mut self, arrays: &[Atom], indices: &[Index], env: &mut Env, span: Span) -> Vec<SliceDim> {
        let mut dims = Vec::new();
        for (axis, index) in indices.iter().enumerate() {
            match index {
                Index::At(exp) => dims.push(SliceDim::Index(self.index_value(exp, env))),
                Index::Slice { start, end, stride } => {
                    let size = arrays.first().map_or(Atom::i64(0), |array| self.dim(array.clone(), axis, span));
                    let mut part = |exp: &Option<Exp>| exp.as_ref().map(|exp| self.index_value(exp, env));
                    let (start, end, stride) = (part(start), part(end), part(stride));
                    dims.push(self.slice_range(size, start, end, stride, span));
                }
            }
        }
        dims
    }

    fn slice_range(&mut self, size: Atom, start: Option<Atom>, end: Option<Atom>, stride: Option<Atom>, span: Span) -> SliceDim {
        let stride = stride.unwrap_or(Atom::i64(1));
        let known = match &stride {
            Atom::Const(Const::I64(value)) => Some(*value),
            _ => None,
        };
        if known.is_some_and(|stride| stride == 1) {
            let start = start.unwrap_or(Atom::i64(0));
            let end = end.unwrap_or(size.clone());
            let count = self.i64_op(BinaryOp::Sub, end.clone(), start.clone(), span);
            self.require_slice(
                &[(Atom::i64(0), start.clone()), (start.clone(), end.clone()), (end.clone(), size.clone())],
                &start,
                &end,
                &stride,
                &size,
                span,
            );
            return SliceDim::Range { start, count, stride };
        }
        // The defaults and the bounds depend on the direction.
        let forward = self.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![Atom::i64(0), stride.clone()], span);
        let last = self.i64_op(BinaryOp::Sub, size.clone(), Atom::i64(1), span);
        let start = start.unwrap_or_else(|| self.select(&forward, Atom::i64(0), last.clone(), span));
        let end = end.unwrap_or_else(|| self.select(&forward, size.clone(), Atom::i64(-1), span));
        let nonzero = self.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![stride.clone(), Atom::i64(0)], span);
        let nonzero = self.prim(PrimOp::Unary(chadwick_core::UnaryOp::Not, Prim::Bool), vec![nonzero], span);
        let message = vec![MessagePart::Text(String::from("the stride of a slice is 0"))];
        self.emit(Op::Assert { condition: nonzero, message }, span);
        // Going up: 0 <= start <= end <= size. Going down: -1 <= end <= start <= size-1.
        let low = self.select(&forward, start.clone(), end.clone(), span);
        let high = self.select(&forward, end.clone(), start.clone(), span);
        let least = self.select(&forward, Atom::i64(0), Atom::i64(-1), span);
        let most = self.select(&forward, size.clone(), last, span);
        self.require_slice(&[(least, low.clone()), (low, high.clone()), (high, most)], &start, &end, &stride, &size, span);
        let distance = self.i64_op(BinaryOp::Sub, end, start.clone(), span);
        let quotient = PrimOp::Binary(BinaryOp::Quot, Prim::I64);
        if known.is_none_or(|stride| stride.unsigned_abs() > 1 << 32) {
            // Any stride, also one that is longer than arrays can be: one more if something remains.
            let whole = self.prim(quotient, vec![distance.clone(), stride.clone()], span);
            let rest = self.prim(PrimOp::Binary(BinaryOp::Rem, Prim::I64), vec![distance, stride.clone()], span);
            let fits = self.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![rest, Atom::i64(0)], span);
            let more = self.select(&fits, Atom::i64(0), Atom::i64(1), span);
            let count = self.i64_op(BinaryOp::Add, whole, more, span);
            return SliceDim::Range { start, count, stride };
        }
        // ceil((end - start) / stride) = (end - start + stride - sign) / stride
        let sign = self.select(&forward, Atom::i64(1), Atom::i64(-1), span);
        let padded = self.i64_op(BinaryOp::Add, distance, stride.clone(), span);
        let padded = self.i64_op(BinaryOp::Sub, padded, sign, span);
        let count = self.prim(quotient, vec![padded, stride.clone()], span);
        SliceDim::Range { start, count, stride }
    }

    fn require_slice(&mut self, pairs: &[(Atom, Atom)], start: &Atom, end: &Atom, stride: &Atom, size: &Atom, span: Span) {
        for (low, high) in pairs {
            if low == high {
                continue;
            }
            if let (Atom::Const(Const::I64(low)), Atom::Const(Const::I64(high))) = (low, high)
                && low <= high
            {
                continue;
            }
            let args = vec![low.clone(), high.clone()];
            let condition = self.prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), args, span);
            let mut message = vec![
                MessagePart::Text(String::from("slice ")),
                MessagePart::Value(start.clone()),
                MessagePart::Text(String::from(":")),
                MessagePart::Value(end.clone()),
            ];
            if *stride != Atom::i64(1) {
                message.extend([MessagePart::Text(String::from(":")), MessagePart::Value(stride.clone())]);
            }
            message.extend([MessagePart::Text(String::from(" out of bounds for size ")), MessagePart::Value(size.clone())]);
            self.emit(Op::Assert { condition, message }, span);
        }
    }

    /// One of two scalars.
    pub fn select(&mut self, condition: &Atom, then: Atom, otherwise: Atom, span: Span) -> Atom {
        if then == otherwise {
            return then;
        }
        let then = self.block(|_| vec![then]);
        let otherwise = self.block(|_| vec![otherwise]);
        self.emit_one(Op::If { condition: condition.clone(), then, otherwise }, span)
    }

    pub fn update(&mut self, array: &Exp, indices: &[Index], value: &Exp, env: &mut Env, span: Span) -> Value {
        let arrays = self.atoms(array, env);
        let dims = self.slice_dims(&arrays, indices, env, span);
        let mut element = self.shape_in(&array.ty, env);
        if let LType::Hidden(inner) = element {
            element = (*inner).clone();
        }
        let single = indices.iter().all(|index| matches!(index, Index::At(_)));
        for _ in indices {
            if let LType::Array(_, inner) = element {
                element = (*inner).clone();
            }
        }
        let values = self.atoms(value, env);
        let values = if single { self.store_element(values, &element, span) } else { values };
        let updated = arrays
            .into_iter()
            .zip(values)
            .map(|(array, value)| self.emit_one(Op::Update { array, dims: dims.clone(), value }, span));
        Value::Atoms(updated.collect())
    }

    pub fn range(&mut self, first: Atom, second: Option<Atom>, end: RangeEnd, last: Atom, span: Span) -> Atom {
        let prim = self.type_of(&first).as_prim().unwrap_or(Prim::I64);
        let one = Atom::Const(Const::one(prim));
        let zero = Atom::Const(Const::zero(prim));
        let binary = |lowerer: &mut Self, op, left: &Atom, right: &Atom| {
            if prim == Prim::I64 {
                return lowerer.i64_op(op, left.clone(), right.clone(), span);
            }
            lowerer.prim(PrimOp::Binary(op, prim), vec![left.clone(), right.clone()], span)
        };
        let stride = match (&second, end) {
            (Some(second), _) => binary(self, BinaryOp::Sub, second, &first),
            (None, RangeEnd::DownTo) => Atom::Const(Const::from_i128(prim, -1)),
            (None, _) => one.clone(),
        };
        let compare = |lowerer: &mut Self, op, left: &Atom, right: &Atom| {
            lowerer.prim(PrimOp::Compare(op, prim), vec![left.clone(), right.clone()], span)
        };
        // The direction must fit: up for ..<, down for ..>, any but nothing for ...; an end on the wrong side is an error.
        let up = compare(self, CompareOp::Less, &zero, &stride);
        let down = compare(self, CompareOp::Less, &stride, &zero);
        let at_least = compare(self, CompareOp::LessEqual, &first, &last);
        let at_most = compare(self, CompareOp::LessEqual, &last, &first);
        let and = |lowerer: &mut Self, left: Atom, right: Atom| {
            lowerer.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![left, right], span)
        };
        let rising = and(self, up.clone(), at_least);
        let falling = and(self, down, at_most);
        let valid = match end {
            RangeEnd::UpTo => rising,
            RangeEnd::DownTo => falling,
            RangeEnd::Inclusive => self.prim(PrimOp::Binary(BinaryOp::Or, Prim::Bool), vec![rising, falling], span),
        };
        let text = |text: &str| MessagePart::Text(text.to_owned());
        let mut message = vec![text("range "), MessagePart::Value(first.clone())];
        if let Some(second) = &second {
            message.extend([text(".."), MessagePart::Value(second.clone())]);
        }
        let dots = match end {
            RangeEnd::Inclusive => "...",
            RangeEnd::UpTo => "..<",
            RangeEnd::DownTo => "..>",
        };
        message.extend([text(dots), MessagePart::Value(last.clone())]);
        let invalid = [message.clone(), vec![text(" is invalid")]].concat();
        self.emit(Op::Assert { condition: valid, message: invalid }, span);
        // Counted in i64: the distance may not fit the element type.
        let (first64, last64, stride64) =
            (self.as_i64(first.clone(), span), self.as_i64(last, span), self.as_i64(stride.clone(), span));
        let distance = self.i64_op(BinaryOp::Sub, last64, first64, span);
        let too_long = [message.clone(), vec![text(" is too long")]].concat();
        if prim == Prim::I64 && !(end == RangeEnd::UpTo && stride64 == Atom::i64(1)) {
            // A distance that does not fit has the wrong sign.
            let (low, high) =
                (self.select(&up, Atom::i64(0), distance.clone(), span), self.select(&up, distance.clone(), Atom::i64(0), span));
            let fits = self.prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), vec![low, high], span);
            self.emit(Op::Assert { condition: fits, message: too_long.clone() }, span);
        }
        let count = if end == RangeEnd::Inclusive {
            let steps = if stride64 == Atom::i64(1) {
                distance
            } else {
                self.prim(PrimOp::Binary(BinaryOp::Quot, Prim::I64), vec![distance, stride64], span)
            };
            self.i64_op(BinaryOp::Add, steps, Atom::i64(1), span)
        } else if stride64 == Atom::i64(1) {
            distance
        } else {
            let sign = self.select(&up, Atom::i64(1), Atom::i64(-1), span);
            let padded = self.i64_op(BinaryOp::Add, distance, stride64.clone(), span);
            let padded = self.i64_op(BinaryOp::Sub, padded, sign, span);
            self.prim(PrimOp::Binary(BinaryOp::Quot, Prim::I64), vec![padded, stride64], span)
        };
        // A distance that does not fit an i64 wraps. Behind this, the count is known to be the length.
        let args = vec![Atom::i64(0), count.clone()];
        let fits = self.prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), args, span);
        self.emit(Op::Assert { condition: fits, message: too_long }, span);
        let index = self.index_var("i");
        let body = self.block(|lowerer| {
            let mut position = Atom::Var(index);
            if prim != Prim::I64 {
                position = lowerer.prim(PrimOp::Convert { from: Prim::I64, to: prim }, vec![position], span);
            }
            let offset = if stride == one { position } else { binary(lowerer, BinaryOp::Mul, &position, &stride) };
            vec![if first == zero { offset } else { binary(lowerer, BinaryOp::Add, &first, &offset) }]
        });
        let space = vec![Axis { var: index, size: count }];
        self.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
    }
}
