//! What the compiler knows by name: one row per intrinsic of the prelude.

use crate::Lowerer;
use crate::exp::float_const;
use crate::ltype::{LType, UNKNOWN};
use crate::value::Value;
use chadwick_core::typing::has_functions;
use chadwick_core::{
    Atom, Axis, BinaryOp, CompareOp, Const, Custom, CustomKind, Differentiate, Lambda, MessagePart, Mode, Op, Prim, PrimOp, Size,
    Type, UnaryOp, Var,
};
use chadwick_source::{Name, Span};
use chadwick_types::tree::Definition;

/// The pieces of an intrinsic's application.
struct Call {
    types: Vec<LType>,
    sizes: Vec<Atom>,
    args: Vec<Value>,
    span: Span,
}

impl Lowerer<'_> {
    pub fn intrinsic(
        &mut self,
        name: &str,
        definition: &Definition,
        types: Vec<LType>,
        sizes: Vec<Atom>,
        args: Vec<Value>,
        span: Span,
    ) -> Value {
        let call = Call { types, sizes, args, span };
        let prim = call.types.first().and_then(LType::as_prim);
        if let Some(op) = prim.and_then(|prim| scalar_operation(name, prim)) {
            return self.scalar(op, call);
        }
        match name {
            "==" | "!=" => self.equality(name == "!=", call),
            ">" | ">=" => self.comparison(if name == ">" { CompareOp::Less } else { CompareOp::LessEqual }, call),
            "zero" | "one" | "highest" | "lowest" | "infinity" | "not_a_number" => match constant(name, prim) {
                Some(constant) => Value::Atoms(vec![Atom::Const(constant)]),
                None => {
                    self.error("E0302", call.span, "this needs a number type", "annotate the expression with a number type");
                    Value::Atoms(vec![UNKNOWN])
                }
            },
            "convert" | "to_bits" | "from_bits" => self.conversion(name, call),
            "natural" => {
                let size = self.flat_args(call.args, span).concat().into_iter().next().unwrap_or(UNKNOWN);
                if !matches!(size, Atom::Const(Const::I64(value)) if value >= 0) {
                    let zero = Atom::i64(0);
                    let condition = self.prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), vec![zero, size.clone()], span);
                    let message =
                        vec![MessagePart::Text(String::from("the size of an array is negative: ")), MessagePart::Value(size)];
                    self.emit(Op::Assert { condition, message }, span);
                }
                Value::Atoms(Vec::new())
            }
            "build" => self.build(1, call),
            "build_2d" => self.build(2, call),
            "build_3d" => self.build(3, call),
            "reduce" => self.reduce(false, call),
            "reduce_comm" => self.reduce(true, call),
            "scan" => self.scan(call),
            "hist_1d" => self.hist(1, call),
            "hist_2d" => self.hist(2, call),
            "hist_3d" => self.hist(3, call),
            "scatter_1d" => self.scatter(1, call),
            "scatter_2d" => self.scatter(2, call),
            "scatter_3d" => self.scatter(3, call),
            "concat" => {
                let mut args = self.flat_args(call.args, span).into_iter();
                let (left, right) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
                let joined = left
                    .into_iter()
                    .zip(right)
                    .map(|(left, right)| self.emit_one(Op::Concat { arrays: vec![left, right] }, span));
                Value::Atoms(joined.collect())
            }
            "transpose" => self.views(call, |lowerer, array, span| {
                let rank = lowerer.type_of(&array).rank();
                let mut permutation: Vec<usize> = (0..rank).collect();
                permutation.swap(0, 1);
                lowerer.emit_one(Op::Transpose { array, permutation }, span)
            }),
            "flatten" => self.views(call, |lowerer, array, span| {
                let rank = lowerer.type_of(&array).rank();
                let sizes: Vec<Atom> = (0..rank).map(|axis| lowerer.dim(array.clone(), axis, span)).collect();
                let merged = lowerer.i64_op(BinaryOp::Mul, sizes[0].clone(), sizes[1].clone(), span);
                let dims = std::iter::once(merged).chain(sizes[2..].iter().cloned()).collect();
                lowerer.emit_one(Op::Reshape { array, dims }, span)
            }),
            "unflatten" => self.unflatten(call),
            "zip" | "unzip" | "copy" | "opaque" => Value::Atoms(self.flat_args(call.args, span).concat()),
            "trace" => {
                let args = self.flat_args(call.args, span).concat();
                Value::Atoms(self.emit(Op::Trace { tag: Name::from(""), args }, span))
            }
            "par" => Value::Atoms(self.flat_args(call.args, span).concat()),
            "jvp" => self.differentiate(Mode::Jvp, false, call),
            "jvp2" => self.differentiate(Mode::Jvp, true, call),
            "vjp" => self.differentiate(Mode::Vjp, false, call),
            "vjp2" => self.differentiate(Mode::Vjp, true, call),
            "jmp" => self.differentiate(Mode::Jmp, false, call),
            "jmp2" => self.differentiate(Mode::Jmp, true, call),
            "mjp" => self.differentiate(Mode::Mjp, false, call),
            "mjp2" => self.differentiate(Mode::Mjp, true, call),
            "dependencies" => self.differentiate(Mode::Dependencies, false, call),
            "with_vjp" => self.custom(CustomKind::Vjp, call),
            "with_jvp" => self.custom(CustomKind::Jvp, call),
            "with_vjp_tape" => {
                let tape = call.types.get(2).map_or(0, |ty| self.flatten(ty).len());
                self.custom(CustomKind::VjpTape { tape }, call)
            }
            _ => {
                let shown = prim.map_or(String::from("this type"), |prim| prim.name().to_owned());
                let message = format!("{} is not defined at {shown}", definition.name);
                self.error("E0302", span, message, "annotate the operand with a type that has it");
                Value::Atoms(vec![UNKNOWN])
            }
        }
    }

    fn flat_args(&mut self, args: Vec<Value>, span: Span) -> Vec<Vec<Atom>> {
        args.into_iter().map(|arg| self.materialise(arg, span)).collect()
    }

    fn scalar(&mut self, op: PrimOp, call: Call) -> Value {
        let args = self.flat_args(call.args, call.span).concat();
        Value::Atoms(vec![self.prim(op, args, call.span)])
    }

    fn equality(&mut self, negate: bool, call: Call) -> Value {
        let span = call.span;
        let ty = call.types.first().cloned().unwrap_or_else(crate::ltype::unit);
        let args = self.flat_args(call.args, span);
        let empty: &[Atom] = &[];
        let (left, right) = (args.first().map_or(empty, |atoms| atoms), args.get(1).map_or(empty, |atoms| atoms));
        let mut equal = self.equal(left, right, &ty, span);
        if negate {
            equal = self.prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), vec![equal], span);
        }
        Value::Atoms(vec![equal])
    }

    /// `a > b` is `b < a`.
    fn comparison(&mut self, op: CompareOp, call: Call) -> Value {
        let prim = call.types.first().and_then(LType::as_prim).unwrap_or(Prim::I64);
        let mut args = self.flat_args(call.args, call.span).concat();
        args.reverse();
        Value::Atoms(vec![self.prim(PrimOp::Compare(op, prim), args, call.span)])
    }

    fn conversion(&mut self, name: &str, call: Call) -> Value {
        let span = call.span;
        let prims: Vec<Option<Prim>> = call.types.iter().map(LType::as_prim).collect();
        let [Some(first), Some(second)] = prims.as_slice() else {
            self.error("E0302", span, "only numbers and bools can be converted", "annotate the expression with a number type");
            return Value::Atoms(vec![UNKNOWN]);
        };
        let args = self.flat_args(call.args, span).concat();
        let op = match name {
            "convert" if first == second => return Value::Atoms(args),
            "convert" => PrimOp::Convert { from: *first, to: *second },
            "to_bits" => PrimOp::ToBits(*first),
            _ => PrimOp::FromBits(*first),
        };
        Value::Atoms(vec![self.prim(op, args, span)])
    }

    // -------------------------------------------------------------------------------------------------------- array forms

    fn size_arg(&mut self, value: Option<Value>, span: Span) -> Atom {
        value.map_or(Vec::new(), |value| self.materialise(value, span)).into_iter().next().unwrap_or(UNKNOWN)
    }

    fn build(&mut self, rank: usize, call: Call) -> Value {
        let span = call.span;
        let element = call.types.first().cloned().unwrap_or_else(crate::ltype::unit);
        let mut args = call.args.into_iter();
        let space: Vec<Axis> = (0..rank)
            .map(|axis| {
                let size = self.size_arg(args.next(), span);
                Axis { var: self.index_var(["i", "j", "k"][axis.min(2)]), size }
            })
            .collect();
        let Some(function) = args.next() else { return Value::Atoms(Vec::new()) };
        let indices: Vec<Var> = space.iter().map(|axis| axis.var).collect();
        let body = self.block(|lowerer| {
            let indices = indices.iter().map(|var| Value::Atoms(vec![Atom::Var(*var)])).collect();
            let value = lowerer.apply(function, indices, span);
            let atoms = lowerer.materialise(value, span);
            lowerer.store_element(atoms, &element, span)
        });
        let inner = self.inner_sizes(&element);
        let types: Vec<Type> =
            self.element_types(&element).into_iter().map(|ty| ty.array(vec![chadwick_core::Dim::Any; rank])).collect();
        Value::Atoms(self.emit_typed("", Op::Build { space, body, inner }, types, span))
    }

    /// An associative operator as a lambda over two values as they stand (boxed, where the array is).
    fn operator(&mut self, function: Value, element: &LType, span: Span) -> Lambda {
        let types = self.element_types(element);
        let count = types.len();
        let params = [types.clone(), types].concat();
        let element = element.clone();
        let mut lambda = self.lambda("", params, |lowerer, mut atoms| {
            let right = atoms.split_off(count);
            let left = lowerer.load_element(atoms, &element, span);
            let right = lowerer.load_element(right, &element, span);
            let value = lowerer.apply(function, vec![Value::Atoms(left), Value::Atoms(right)], span);
            let atoms = lowerer.materialise(value, span);
            lowerer.store_element(atoms, &element, span)
        });
        lambda.results = self.element_types(&element);
        lambda
    }

    /// The elements of an index space, given by a function.
    fn elements(&mut self, function: Value, index: Var, element: &LType, span: Span) -> chadwick_core::Block {
        let element = element.clone();
        self.block(|lowerer| {
            let value = lowerer.apply(function, vec![Value::Atoms(vec![Atom::Var(index)])], span);
            let atoms = lowerer.materialise(value, span);
            lowerer.store_element(atoms, &element, span)
        })
    }

    fn reduce(&mut self, commutative: bool, call: Call) -> Value {
        let span = call.span;
        let element = call.types.first().cloned().unwrap_or_else(crate::ltype::unit);
        let mut args = call.args.into_iter();
        let (Some(op), Some(neutral)) = (args.next(), args.next()) else { return Value::Atoms(Vec::new()) };
        let op = self.operator(op, &element, span);
        let neutral = self.materialise(neutral, span);
        let neutral = self.store_element(neutral, &element, span);
        let size = self.size_arg(args.next(), span);
        let index = self.index_var("i");
        let Some(function) = args.next() else { return Value::Atoms(Vec::new()) };
        let body = self.elements(function, index, &element, span);
        let space = vec![Axis { var: index, size }];
        let types = self.element_types(&element);
        let atoms = self.emit_typed("", Op::Reduce { space, op, neutral, body, commutative }, types, span);
        Value::Atoms(self.load_element(atoms, &element, span))
    }

    fn scan(&mut self, call: Call) -> Value {
        let span = call.span;
        let element = call.types.first().cloned().unwrap_or_else(crate::ltype::unit);
        let mut args = call.args.into_iter();
        let (Some(op), Some(neutral)) = (args.next(), args.next()) else { return Value::Atoms(Vec::new()) };
        let op = self.operator(op, &element, span);
        let neutral = self.materialise(neutral, span);
        let neutral = self.store_element(neutral, &element, span);
        let size = self.size_arg(args.next(), span);
        let index = self.index_var("i");
        let Some(function) = args.next() else { return Value::Atoms(Vec::new()) };
        let body = self.elements(function, index, &element, span);
        let axis = Axis { var: index, size };
        let types: Vec<Type> = self.element_types(&element).into_iter().map(|ty| ty.array([chadwick_core::Dim::Any])).collect();
        Value::Atoms(self.emit_typed("", Op::Scan { axis, op, neutral, body }, types, span))
    }

    /// The body of a histogram or scatter: indices, then values.
    fn writes(&mut self, indices: Value, values: Value, index: Var, element: &LType, span: Span) -> chadwick_core::Block {
        let element = element.clone();
        self.block(|lowerer| {
            let position = || vec![Value::Atoms(vec![Atom::Var(index)])];
            let target = lowerer.apply(indices, position(), span);
            let mut atoms = lowerer.materialise(target, span);
            let value = lowerer.apply(values, position(), span);
            let value = lowerer.materialise(value, span);
            atoms.extend(lowerer.store_element(value, &element, span));
            atoms
        })
    }

    fn hist(&mut self, rank: usize, call: Call) -> Value {
        let span = call.span;
        let element = call.types.first().cloned().unwrap_or_else(crate::ltype::unit);
        let mut args = call.args.into_iter();
        let (Some(dest), Some(op), Some(neutral)) = (args.next(), args.next(), args.next()) else {
            return Value::Atoms(Vec::new());
        };
        let dest = self.materialise(dest, span);
        let op = self.operator(op, &element, span);
        let neutral = self.materialise(neutral, span);
        let neutral = self.store_element(neutral, &element, span);
        let size = self.size_arg(args.next(), span);
        let (Some(indices), Some(values)) = (args.next(), args.next()) else { return Value::Atoms(Vec::new()) };
        let index = self.index_var("i");
        let body = self.writes(indices, values, index, &element, span);
        let types = dest.iter().map(|atom| self.type_of(atom)).collect();
        let space = vec![Axis { var: index, size }];
        Value::Atoms(self.emit_typed("", Op::Hist { space, dest, rank, op, neutral, body }, types, span))
    }

    fn scatter(&mut self, rank: usize, call: Call) -> Value {
        let span = call.span;
        let element = call.types.first().cloned().unwrap_or_else(crate::ltype::unit);
        let mut args = call.args.into_iter();
        let Some(dest) = args.next() else { return Value::Atoms(Vec::new()) };
        let dest = self.materialise(dest, span);
        let size = self.size_arg(args.next(), span);
        let (Some(indices), Some(values)) = (args.next(), args.next()) else { return Value::Atoms(Vec::new()) };
        let index = self.index_var("i");
        let body = self.writes(indices, values, index, &element, span);
        let types = dest.iter().map(|atom| self.type_of(atom)).collect();
        let space = vec![Axis { var: index, size }];
        Value::Atoms(self.emit_typed("", Op::Scatter { space, dest, rank, body }, types, span))
    }

    fn views(&mut self, call: Call, view: impl Fn(&mut Self, Atom, Span) -> Atom) -> Value {
        let arrays = self.flat_args(call.args, call.span).concat();
        Value::Atoms(arrays.into_iter().map(|array| view(self, array, call.span)).collect())
    }

    fn unflatten(&mut self, call: Call) -> Value {
        let span = call.span;
        let arrays = self.flat_args(call.args, span).concat();
        let [rows, columns] = call.sizes.as_slice() else { return Value::Atoms(arrays) };
        let (mut rows, mut columns) = (rows.clone(), columns.clone());
        if let Some(first) = arrays.first() {
            // One size may be known from the other.
            let total = self.dim(first.clone(), 0, span);
            match (rows == UNKNOWN, columns == UNKNOWN) {
                (true, true) => {
                    self.error(
                        "E0301",
                        span,
                        "ambiguous size: nothing determines the result of unflatten",
                        "annotate it: `: [n][m]t`",
                    );
                }
                (true, false) => rows = self.prim(PrimOp::Binary(BinaryOp::Div, Prim::I64), vec![total, columns.clone()], span),
                (false, true) => columns = self.prim(PrimOp::Binary(BinaryOp::Div, Prim::I64), vec![total, rows.clone()], span),
                (false, false) => {
                    let product = self.i64_op(BinaryOp::Mul, rows.clone(), columns.clone(), span);
                    self.require_equal(product, total, "unflatten: expected size", "found", span);
                }
            }
        }
        let reshaped = arrays.into_iter().map(|array| {
            let rank = self.type_of(&array).rank();
            let mut dims = vec![rows.clone(), columns.clone()];
            dims.extend((1..rank).map(|axis| self.dim(array.clone(), axis, span)));
            self.emit_one(Op::Reshape { array, dims }, span)
        });
        Value::Atoms(reshaped.collect())
    }

    // ----------------------------------------------------------------------------------------------------- differentiation

    /// A function value as a lambda over the atoms of its arguments.
    fn function_lambda(&mut self, function: Value, params: &[LType], result: &LType, span: Span) -> Lambda {
        let groups: Vec<Vec<Type>> = params.iter().map(|param| self.flatten(param)).collect();
        let mut lambda = self.lambda("", groups.concat(), |lowerer, mut atoms| {
            let mut args = Vec::new();
            for group in &groups {
                let rest = atoms.split_off(group.len().min(atoms.len()));
                args.push(Value::Atoms(std::mem::replace(&mut atoms, rest)));
            }
            let value = lowerer.apply(function, args, span);
            lowerer.materialise(value, span)
        });
        lambda.results = self.flatten(result);
        lambda
    }

    fn differentiate(&mut self, mode: Mode, with_primal: bool, call: Call) -> Value {
        let span = call.span;
        let [from, to, ..] = call.types.as_slice() else { return Value::Atoms(Vec::new()) };
        let (from, to) = (from.clone(), to.clone());
        let mut args = call.args.into_iter();
        let Some(function) = args.next() else { return Value::Atoms(Vec::new()) };
        let function = self.function_lambda(function, std::slice::from_ref(&from), &to, span);
        let mut rest = self.flat_args(args.collect(), span).into_iter();
        let (args, mut seeds) = (rest.next().unwrap_or_default(), rest.next().unwrap_or_default());
        let count = match mode {
            Mode::Jvp | Mode::Vjp => None,
            Mode::Jmp | Mode::Mjp | Mode::Dependencies => {
                match (call.sizes.first().filter(|size| **size != UNKNOWN), seeds.first()) {
                    (Some(size), _) => Some(size.clone()),
                    (None, Some(seed)) => Some(self.dim(seed.clone(), 0, span)),
                    (None, None) => Some(Atom::i64(0)),
                }
            }
        };
        let (seed_type, result_type) = if mode.is_reverse() { (&to, &from) } else { (&from, &to) };
        if let Some(count) = &count {
            seeds = self.each_leaf(seeds, seed_type, count, Lowerer::load_element, span);
        }
        let (from_types, to_types) = (self.flatten(&from), self.flatten(&to));
        if from_types.iter().chain(&to_types).any(|ty| has_functions(&self.core, ty)) {
            let message = "a function in the input or output of a derivative";
            self.error("E0306", span, message, "let the function that is differentiated capture it, or apply it there");
            return Value::Atoms(vec![UNKNOWN]);
        }
        let primals = if with_primal { to_types.len() } else { 0 };
        let derivative = match mode {
            Mode::Jvp => to_types.clone(),
            Mode::Vjp => from_types,
            Mode::Jmp => chadwick_core::typing::with_seed_axis(&to_types),
            Mode::Mjp => chadwick_core::typing::with_seed_axis(&from_types),
            Mode::Dependencies => match chadwick_core::typing::set_types(&to_types) {
                Ok(types) => chadwick_core::typing::with_seed_axis(&types),
                Err(problem) => {
                    self.error("E0302", span, problem, "the function takes and gives arrays of numbers");
                    return Value::Atoms(vec![UNKNOWN]);
                }
            },
        };
        let types = if with_primal { [to_types, derivative].concat() } else { derivative };
        let unroll = self.unroll;
        let op = Differentiate { mode, with_primal, function, args, seeds, count: count.clone(), unroll };
        let mut results = self.emit_typed("", Op::Differentiate(Box::new(op)), types, span);
        if let Some(count) = &count {
            let derivative = results.split_off(primals);
            results.extend(self.each_leaf(derivative, result_type, count, Lowerer::store_element, span));
        }
        Value::Atoms(results)
    }

    /// Many seeds or derivatives of one value have its shape, so they are regular arrays; arrays of values of hidden shape are arrays of
    /// boxes. Goes from one to the other where they differ.
    fn each_leaf(
        &mut self,
        arrays: Vec<Atom>,
        element: &LType,
        count: &Atom,
        convert: fn(&mut Self, Vec<Atom>, &LType, Span) -> Vec<Atom>,
        span: Span,
    ) -> Vec<Atom> {
        if !self.boxed_leaves(element).contains(&true) {
            return arrays;
        }
        let index = self.index_var("i");
        let body = self.block(|lowerer| {
            let op = |array| Op::Index { array, indices: vec![Atom::Var(index)] };
            let elements = arrays.into_iter().map(|array| lowerer.emit_one(op(array), span)).collect();
            convert(lowerer, elements, element, span)
        });
        let inner = body.results.iter().map(|atom| vec![Size::FromValue; self.type_of(atom).rank()]).collect();
        let space = vec![Axis { var: index, size: count.clone() }];
        self.emit(Op::Build { space, body, inner }, span)
    }

    fn custom(&mut self, kind: CustomKind, call: Call) -> Value {
        let span = call.span;
        let mut types = call.types.iter();
        let (Some(from), Some(to)) = (types.next().cloned(), types.next().cloned()) else { return Value::Atoms(Vec::new()) };
        let tape = types.next().cloned().unwrap_or_else(crate::ltype::unit);
        let pair = |left: &LType, right: &LType| {
            LType::Record([(Name::from("0"), left.clone()), (Name::from("1"), right.clone())].into_iter().collect())
        };
        let mut args = call.args.into_iter();
        let (Some(function), Some(rule), Some(arg)) = (args.next(), args.next(), args.next()) else {
            return Value::Atoms(Vec::new());
        };
        let (function, rule) = match kind {
            CustomKind::Vjp => (
                self.function_lambda(function, std::slice::from_ref(&from), &to, span),
                self.function_lambda(rule, &[to.clone(), to.clone()], &from, span),
            ),
            CustomKind::Jvp => (
                self.function_lambda(function, std::slice::from_ref(&from), &to, span),
                self.function_lambda(rule, &[from.clone(), from.clone()], &to, span),
            ),
            CustomKind::VjpTape { .. } => {
                let both = pair(&tape, &to);
                (
                    self.function_lambda(function, std::slice::from_ref(&from), &both, span),
                    self.function_lambda(rule, std::slice::from_ref(&both), &from, span),
                )
            }
        };
        let args = self.materialise(arg, span);
        let types = self.flatten(&to);
        let op = Custom { kind, function, rule, args };
        Value::Atoms(self.emit_typed("", Op::Custom(Box::new(op)), types, span))
    }
}

/// The primitive operation behind an intrinsic at a scalar type.
fn scalar_operation(name: &str, prim: Prim) -> Option<PrimOp> {
    let binary = |op| Some(PrimOp::Binary(op, prim));
    let unary = |op| Some(PrimOp::Unary(op, prim));
    let op = match name {
        "+" => binary(BinaryOp::Add),
        "-" => binary(BinaryOp::Sub),
        "*" => binary(BinaryOp::Mul),
        "/" => binary(BinaryOp::Div),
        "%" => binary(BinaryOp::Mod),
        "**" => binary(BinaryOp::Pow),
        "//" => binary(BinaryOp::Quot),
        "%%" => binary(BinaryOp::Rem),
        "&" => binary(BinaryOp::And),
        "|" => binary(BinaryOp::Or),
        "^" => binary(BinaryOp::Xor),
        "<<" => binary(BinaryOp::ShiftLeft),
        ">>" if prim.is_signed() => binary(BinaryOp::ShiftRightArithmetic),
        ">>" => binary(BinaryOp::ShiftRightLogical),
        "shift_right_arithmetic" => binary(BinaryOp::ShiftRightArithmetic),
        "shift_right_logical" => binary(BinaryOp::ShiftRightLogical),
        "mul_hi" => binary(BinaryOp::MulHigh),
        "min" => binary(BinaryOp::Min),
        "max" => binary(BinaryOp::Max),
        "atan2" => binary(BinaryOp::Atan2),
        "atan2pi" => binary(BinaryOp::Atan2Pi),
        "hypot" => binary(BinaryOp::Hypot),
        "copysign" => binary(BinaryOp::CopySign),
        "nextafter" => binary(BinaryOp::NextAfter),
        "==" => Some(PrimOp::Compare(CompareOp::Equal, prim)),
        "<" => Some(PrimOp::Compare(CompareOp::Less, prim)),
        "<=" => Some(PrimOp::Compare(CompareOp::LessEqual, prim)),
        "negate" => unary(UnaryOp::Negate),
        "complement" => unary(UnaryOp::Not),
        "abs" => unary(UnaryOp::Abs),
        "sgn" => unary(UnaryOp::Sign),
        "sqrt" => unary(UnaryOp::Sqrt),
        "cbrt" => unary(UnaryOp::Cbrt),
        "exp" => unary(UnaryOp::Exp),
        "log" => unary(UnaryOp::Log),
        "log2" => unary(UnaryOp::Log2),
        "log10" => unary(UnaryOp::Log10),
        "log1p" => unary(UnaryOp::Log1p),
        "sin" => unary(UnaryOp::Sin),
        "cos" => unary(UnaryOp::Cos),
        "tan" => unary(UnaryOp::Tan),
        "asin" => unary(UnaryOp::Asin),
        "acos" => unary(UnaryOp::Acos),
        "atan" => unary(UnaryOp::Atan),
        "sinh" => unary(UnaryOp::Sinh),
        "cosh" => unary(UnaryOp::Cosh),
        "tanh" => unary(UnaryOp::Tanh),
        "asinh" => unary(UnaryOp::Asinh),
        "acosh" => unary(UnaryOp::Acosh),
        "atanh" => unary(UnaryOp::Atanh),
        "sinpi" => unary(UnaryOp::SinPi),
        "cospi" => unary(UnaryOp::CosPi),
        "tanpi" => unary(UnaryOp::TanPi),
        "asinpi" => unary(UnaryOp::AsinPi),
        "acospi" => unary(UnaryOp::AcosPi),
        "atanpi" => unary(UnaryOp::AtanPi),
        "gamma" => unary(UnaryOp::Gamma),
        "lgamma" => unary(UnaryOp::LogGamma),
        "erf" => unary(UnaryOp::Erf),
        "erfc" => unary(UnaryOp::Erfc),
        "ceil" => unary(UnaryOp::Ceil),
        "floor" => unary(UnaryOp::Floor),
        "trunc" => unary(UnaryOp::Trunc),
        "round" => unary(UnaryOp::Round),
        "fma" => Some(PrimOp::FusedMultiplyAdd(prim)),
        "ldexp" => Some(PrimOp::LoadExponent(prim)),
        "popc" => Some(PrimOp::PopCount(prim)),
        "clz" => Some(PrimOp::LeadingZeros(prim)),
        "ctz" => Some(PrimOp::TrailingZeros(prim)),
        _ => None,
    }?;
    op.is_valid().then_some(op)
}

fn constant(name: &str, prim: Option<Prim>) -> Option<Const> {
    let prim = prim?;
    let bits = prim.bits();
    let (lowest, highest) = match prim {
        prim if prim.is_signed() => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        prim if prim.is_unsigned() => (0, (1i128 << bits) - 1),
        _ => (0, 1),
    };
    match name {
        "zero" => Some(Const::zero(prim)),
        "one" => Some(Const::one(prim)),
        "highest" | "infinity" if prim.is_float() => Some(float_const(prim, f64::INFINITY)),
        "lowest" if prim.is_float() => Some(float_const(prim, f64::NEG_INFINITY)),
        "not_a_number" if prim.is_float() => Some(float_const(prim, f64::NAN)),
        "highest" => Some(Const::from_i128(prim, highest)),
        "lowest" => Some(Const::from_i128(prim, lowest)),
        _ => None,
    }
}
