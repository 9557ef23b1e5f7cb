//! What the transformations share: emitting Core, zeros, sums, and which types carry a derivative.

use crate::flow::Flows;
use crate::makings::Makings;
use crate::one_hot::OneHot;
use crate::report::{Note, NoteKind};
use crate::sparse::Sparse;
use chadwick_core::prim::{Derivative, Partial};
use chadwick_core::typing::{self, TypeEnvironment};
use chadwick_core::visit::{Copier, for_each_binder, op_free_variables, variable_types};
use chadwick_core::{
    Arm, Atom, Axis, BinaryOp, Binder, Block, Builder, Const, Custom, Dim, Element, FunctionId, Lambda, Op, Prim, PrimOp,
    Program, Size, Statement, Type, UnaryOp, Var,
};
use chadwick_source::{Diagnostic, Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Emits Core and remembers what was made.
pub struct Context<'p> {
    pub b: Builder<'p>,
    pub errors: Vec<Diagnostic>,
    /// Where the operator is that is being expanded, and the calls that are followed inside it.
    pub places: Vec<Span>,
    /// What reverse mode decides.
    pub notes: Vec<Note>,
    pub makings: Makings,
    /// Sizes that the program states itself, per array and axis.
    pub shapes: FxHashMap<Var, Vec<Option<Atom>>>,
    flows: Flows,
    additions: FxHashMap<Type, FunctionId>,
    zeros: FxHashMap<Type, FunctionId>,
    /// Functions that compare the structure of a value and a seed.
    pub(crate) structures: FxHashMap<Type, FunctionId>,
    pub(crate) sparse: Sparse,
    pub(crate) one_hots: FxHashMap<Var, OneHot>,
}

impl<'p> Context<'p> {
    pub fn new(program: &'p mut Program) -> Self {
        let types = variable_types(program);
        let mut b = Builder::new(program);
        for (var, ty) in types.into_iter().enumerate() {
            if let Some(ty) = ty {
                b.declare(Var(var as u32), ty);
            }
        }
        Context {
            b,
            errors: Vec::new(),
            places: Vec::new(),
            notes: Vec::new(),
            makings: Makings::default(),
            shapes: FxHashMap::default(),
            flows: Flows::default(),
            additions: FxHashMap::default(),
            zeros: FxHashMap::default(),
            structures: FxHashMap::default(),
            sparse: Sparse::default(),
            one_hots: FxHashMap::default(),
        }
    }

    pub fn program(&self) -> &Program {
        self.b.program()
    }

    /// The variables in a block that depend on the inputs, nested blocks included.
    pub fn active_variables(&mut self, block: &Block, inputs: impl IntoIterator<Item = Var>, reverse: bool) -> FxHashSet<Var> {
        self.flows.active_variables(self.b.program(), block, inputs, reverse)
    }

    /// The variables in a block on which one of the outputs depends.
    pub fn useful_variables(&mut self, block: &Block, outputs: impl IntoIterator<Item = Var>, reverse: bool) -> FxHashSet<Var> {
        self.flows.useful_variables(self.b.program(), block, outputs, reverse)
    }

    /// The variables in a block that depend on the inputs, for reverse mode: without those totals that nothing passes on to the results or to
    /// what is accumulated or logged. Where a maximum is only compared with, or is a shift that cancels, its place is not looked for.
    pub fn passed_variables(&mut self, block: &Block, inputs: Vec<Var>) -> FxHashSet<Var> {
        let mut active = self.active_variables(block, inputs, true);
        let mut totals = FxHashSet::default();
        note_totals(block, &mut totals);
        if totals.is_empty() {
            return active;
        }
        let mut outputs: Vec<Atom> = block.results.clone();
        self.for_each_written(block, &mut |atom| outputs.push(atom.clone()));
        let outputs: Vec<Var> = outputs.iter().filter_map(Atom::as_var).collect();
        let useful = self.useful_variables(block, outputs, true);
        active.retain(|var| useful.contains(var) || !totals.contains(var));
        active
    }

    /// What goes into accumulators and logs, also by way of calls.
    fn for_each_written(&self, block: &Block, visit: &mut dyn FnMut(&Atom)) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let is_handle = |atom: &Atom| matches!(atom, Atom::Var(var) if matches!(self.var_type(*var), Type::Accumulator(_) | Type::Log(_)));
            for Statement { op, .. } in &block.statements {
                let mut writes = false;
                op.for_each_atom(&mut |atom| writes |= is_handle(atom));
                if writes || matches!(op, Op::WithAccumulators { .. }) {
                    op.for_each_atom(visit);
                }
                op.scopes().iter().for_each(|scope| self.for_each_written(scope.block, visit));
            }
        });
    }

    /// Which results of a function are active, given which arguments are.
    pub fn active_results(&mut self, function: FunctionId, args: &[bool], reverse: bool) -> Vec<bool> {
        self.flows.active_results(self.b.program(), function, args, reverse)
    }

    /// The calls in a block that have an active argument, with which are.
    pub fn active_calls(&mut self, block: &Block, inputs: Vec<Var>, reverse: bool) -> Vec<(FunctionId, Vec<bool>)> {
        self.flows.active_calls(self.b.program(), block, inputs, reverse)
    }

    pub fn note(&mut self, span: Span, kind: NoteKind) {
        self.notes.push(Note { span, kind });
    }

    pub fn unsupported(&mut self, span: Span, what: &str) {
        if !self.errors.iter().any(|error| error.primary.span == span) {
            let message = format!("this engine cannot differentiate {what}");
            let error = Diagnostic::error("E0410", span, message).hint("`--engine builtin` can");
            let around = self.places.iter().rev().filter(|place| **place != span && **place != Span::default());
            self.errors.push(around.fold(error, |error, place| error.also(*place, "reached from here")));
        }
    }

    pub fn type_of(&self, atom: &Atom) -> Type {
        typing::atom_type(&self.b, atom).unwrap_or(Type::BOOL)
    }

    pub fn var_type(&self, var: Var) -> Type {
        self.b.var_type(var).cloned().unwrap_or(Type::BOOL)
    }

    pub fn name(&self, var: Var) -> Name {
        self.program().var_names.get(var.0 as usize).cloned().unwrap_or_default()
    }

    /// A copy of a block with fresh binders, their types known.
    pub fn copy_block(&mut self, block: &Block, replace: impl IntoIterator<Item = (Var, Atom)>) -> Block {
        self.copy_block_with(block, replace).0
    }

    /// The copy, and what stands in it for each variable.
    pub fn copy_block_with(
        &mut self,
        block: &Block,
        replace: impl IntoIterator<Item = (Var, Atom)>,
    ) -> (Block, FxHashMap<Var, Atom>) {
        let mut copier = Copier::new(self.b.program_mut());
        replace.into_iter().for_each(|(var, atom)| copier.replace(var, atom));
        let copy = copier.block(block);
        let replacements = copier.into_replacements();
        self.declare_block(&copy);
        (copy, replacements)
    }

    pub fn copy_lambda(&mut self, lambda: &Lambda) -> Lambda {
        let copy = Copier::new(self.b.program_mut()).lambda(lambda);
        copy.params.iter().for_each(|param| self.b.declare(param.var, param.ty.clone()));
        self.declare_block(&copy.body);
        copy
    }

    /// The same function and rule at these arguments.
    pub fn copy_custom(&mut self, custom: &Custom, args: Vec<Atom>) -> Op {
        let (function, rule) = (self.copy_lambda(&custom.function), self.copy_lambda(&custom.rule));
        Op::Custom(Box::new(Custom { kind: custom.kind, function, rule, args }))
    }

    pub fn declare_block(&mut self, block: &Block) {
        for_each_binder(block, &mut |var, ty| self.b.declare(var, ty.clone()));
    }

    pub fn fresh(&mut self, name: impl Into<Name>, ty: Type) -> Binder {
        self.b.param(name, ty)
    }

    /// Appends a statement whose result types are inferred; a failure is an error of this crate.
    pub fn emit(&mut self, op: Op, span: Span) -> Vec<Atom> {
        match self.b.result_types(&op) {
            Ok(types) => self.b.push(op, types, span),
            Err(problem) => {
                self.untyped(&problem, span);
                Vec::new()
            }
        }
    }

    /// Says that this crate made something that has no type.
    pub fn untyped(&mut self, problem: &dyn std::fmt::Display, span: Span) {
        let message = format!("the derivative has no type: {problem}");
        self.errors.push(Diagnostic::error("E0499", span, message).hint("please report this program"));
    }

    pub fn emit_one(&mut self, op: Op, span: Span) -> Atom {
        self.emit(op, span).into_iter().next().unwrap_or(Atom::i64(0))
    }

    pub fn prim(&mut self, op: PrimOp, args: Vec<Atom>, span: Span) -> Atom {
        self.emit_one(Op::Prim(op, args), span)
    }

    pub fn i64_op(&mut self, op: BinaryOp, left: Atom, right: Atom, span: Span) -> Atom {
        self.prim(PrimOp::Binary(op, Prim::I64), vec![left, right], span)
    }

    /// Appends a finished statement.
    pub fn push_statement(&mut self, statement: Statement) {
        self.b.push_statement(statement);
    }

    pub fn block(&mut self, make: impl FnOnce(&mut Self) -> Vec<Atom>) -> Block {
        self.b.push_block();
        let results = make(self);
        self.b.pop_block(results)
    }

    // --------------------------------------------------------------------------------------------------------------- types

    /// Whether values of the type can carry a derivative.
    pub fn carries(&self, ty: &Type) -> bool {
        match ty {
            Type::Prim(prim) => *prim != Prim::Bool,
            Type::Array(array) => match &array.element {
                Element::Prim(prim) => *prim != Prim::Bool,
                Element::Unit => false,
                Element::Boxed(ty) => self.carries(ty),
            },
            Type::Sum(constructors) => {
                constructors.iter().flat_map(|constructor| &constructor.payload).any(|ty| self.carries(ty))
            }
            // A recursive type may carry one anywhere.
            Type::Named(_) => true,
            Type::Function(_) | Type::Accumulator(_) | Type::Log(_) => false,
        }
    }

    /// Whether the operation accumulates or logs something, itself or in a function it calls.
    pub fn has_effects(&self, op: &Op) -> bool {
        match op {
            Op::Accumulate { .. } | Op::Log { .. } => true,
            // What happens to its own log is over when it is closed.
            Op::WithLog { .. } => self.uses_log(op),
            Op::Call { args, .. } => args.iter().any(|arg| matches!(self.type_of(arg), Type::Accumulator(_) | Type::Log(_))),
            other => {
                let inside = |block: &Block| block.statements.iter().any(|statement| self.has_effects(&statement.op));
                other.scopes().iter().any(|scope| inside(scope.block))
            }
        }
    }

    /// Whether the operation appends to a log that was opened outside it.
    pub fn uses_log(&self, op: &Op) -> bool {
        op_free_variables(op).into_iter().any(|var| matches!(self.b.var_type(var), Some(Type::Log(_))))
    }

    /// Whether a zero of the type needs only sizes, not a value.
    pub fn is_flat(ty: &Type) -> bool {
        match ty {
            Type::Prim(_) => true,
            Type::Array(array) => matches!(array.element, Element::Prim(_)),
            _ => false,
        }
    }

    // ---------------------------------------------------------------------------------------------------------- arithmetic

    /// The operator `+`.
    pub fn plus(&mut self, prim: Prim, span: Span) -> Lambda {
        self.operator(BinaryOp::Add, prim, span)
    }

    /// An operation as the operator of a reduction.
    pub fn operator(&mut self, op: BinaryOp, prim: Prim, span: Span) -> Lambda {
        Lambda::binary(op, prim, span, &mut |name, ty| self.fresh(name, ty))
    }

    /// The sum of the elements of an array of numbers.
    pub fn total(&mut self, array: &Atom, size: &Atom, span: Span) -> Atom {
        let Some(prim) = self.type_of(array).peel(1).and_then(|element| element.as_prim()) else { return array.clone() };
        let index = self.fresh("i", Type::I64);
        let indices = vec![Atom::Var(index.var)];
        let body = self.block(|context| vec![context.emit_one(Op::Index { array: array.clone(), indices }, span)]);
        let op = self.plus(prim, span);
        let space = vec![Axis { var: index.var, size: size.clone() }];
        let neutral = vec![Atom::Const(Const::zero(prim))];
        self.emit_one(Op::Reduce { space, op, neutral, body, commutative: true }, span)
    }

    /// The sum of two cotangents of one type.
    pub fn sum(&mut self, left: Atom, right: Atom, span: Span) -> Atom {
        match self.type_of(&left) {
            Type::Prim(Prim::Bool) => left,
            Type::Prim(prim) => match (&left, &right) {
                (Atom::Const(constant), _) if *constant == Const::zero(prim) => right,
                (_, Atom::Const(constant)) if *constant == Const::zero(prim) => left,
                _ => self.prim(PrimOp::Binary(BinaryOp::Add, prim), vec![left, right], span),
            },
            Type::Array(array) => {
                let rank = array.dims.len();
                let space: Vec<Axis> = (0..rank)
                    .map(|axis| {
                        let size = self.emit_one(Op::Dim { array: left.clone(), axis }, span);
                        Axis { var: self.fresh("i", Type::I64).var, size }
                    })
                    .collect();
                let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
                let body = self.block(|context| {
                    let left = context.emit_one(Op::Index { array: left.clone(), indices: indices.clone() }, span);
                    let right = context.emit_one(Op::Index { array: right.clone(), indices: indices.clone() }, span);
                    vec![context.sum(left, right, span)]
                });
                self.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
            }
            ty @ (Type::Sum(_) | Type::Named(_)) => {
                let function = self.addition(&ty, span);
                self.emit_one(Op::Call { function, args: vec![left, right] }, span)
            }
            Type::Function(_) | Type::Accumulator(_) | Type::Log(_) => left,
        }
    }

    /// The elements of an array of numbers in an array of their own; anything else as it is.
    pub fn copied(&mut self, array: Atom, span: Span) -> Atom {
        let Type::Array(ty) = self.type_of(&array) else { return array };
        let space: Vec<Axis> = (0..ty.dims.len())
            .map(|axis| {
                let size = self.emit_one(Op::Dim { array: array.clone(), axis }, span);
                Axis { var: self.fresh("i", Type::I64).var, size }
            })
            .collect();
        let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        let body = self.block(|context| vec![context.emit_one(Op::Index { array: array.clone(), indices }, span)]);
        self.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
    }

    /// A function that adds two values of a sum type. They have the same constructor, unless one is a zero that says nothing else.
    fn addition(&mut self, ty: &Type, span: Span) -> FunctionId {
        if let Some(known) = self.additions.get(ty) {
            return *known;
        }
        let params = vec![self.fresh("a", ty.clone()), self.fresh("b", ty.clone())];
        let (left, right) = (Atom::Var(params[0].var), Atom::Var(params[1].var));
        let function = self.reserve(Name::from("add"), params, vec![ty.clone()], span);
        self.additions.insert(ty.clone(), function);
        let constructors = typing::constructors(&self.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let zero = self.zero_tag(ty);
        let body = self.block(|context| {
            let mut arms = Vec::new();
            for (tag, constructor) in constructors.iter().enumerate() {
                if zero == Some(tag as u32) {
                    let body = Block { statements: Vec::new(), results: vec![right.clone()] };
                    arms.push(Arm { tag: tag as u32, binders: Vec::new(), body });
                    continue;
                }
                let bind = |context: &mut Self| -> Vec<Binder> {
                    constructor.payload.iter().map(|ty| context.fresh("", ty.clone())).collect()
                };
                let (left_binders, right_binders) = (bind(context), bind(context));
                let body = context.block(|context| {
                    let inner = context.block(|context| {
                        let pairs = left_binders.iter().zip(&right_binders);
                        let args = pairs
                            .map(|(left, right)| match context.carries(&left.ty) {
                                true => context.sum(Atom::Var(left.var), Atom::Var(right.var), span),
                                false => Atom::Var(left.var),
                            })
                            .collect();
                        context.construct(ty, tag as u32, args, span)
                    });
                    let otherwise =
                        (constructors.len() > 1).then(|| Block { statements: Vec::new(), results: vec![left.clone()] });
                    let arms = vec![Arm { tag: tag as u32, binders: right_binders.clone(), body: inner }];
                    context.b.push(Op::Match { scrutinee: right.clone(), arms, otherwise }, vec![ty.clone()], span)
                });
                arms.push(Arm { tag: tag as u32, binders: left_binders, body });
            }
            context.b.push(Op::Match { scrutinee: left.clone(), arms, otherwise: None }, vec![ty.clone()], span)
        });
        self.b.program_mut().functions[function.0 as usize].body = body;
        function
    }

    pub fn construct(&mut self, ty: &Type, tag: u32, args: Vec<Atom>, span: Span) -> Vec<Atom> {
        self.b.push(Op::Construct { ty: ty.clone(), tag, args }, vec![ty.clone()], span)
    }

    /// The sizes of a value's axes.
    pub fn sizes_of_value(&mut self, value: &Atom, span: Span) -> Vec<Size> {
        let rank = self.type_of(value).rank();
        (0..rank).map(|axis| Size::Known(self.emit_one(Op::Dim { array: value.clone(), axis }, span))).collect()
    }

    /// A function whose body comes later.
    pub fn reserve(&mut self, name: Name, params: Vec<Binder>, results: Vec<Type>, span: Span) -> FunctionId {
        let functions = &mut self.b.program_mut().functions;
        functions.push(chadwick_core::Function { name, params, results, body: Block::default(), span });
        FunctionId(functions.len() as u32 - 1)
    }

    /// A zero array of known sizes.
    pub fn zeros(&mut self, prim: Prim, sizes: Vec<Atom>, span: Span) -> Atom {
        let space = sizes.into_iter().map(|size| Axis { var: self.fresh("i", Type::I64).var, size }).collect();
        let body = Block { statements: Vec::new(), results: vec![Atom::Const(Const::zero(prim))] };
        self.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
    }

    /// The zero with the structure of a value.
    pub fn zero_like(&mut self, value: &Atom, span: Span) -> Atom {
        match self.type_of(value) {
            Type::Prim(prim) => Atom::Const(Const::zero(prim)),
            Type::Array(array) => {
                let sizes: Vec<Atom> = (0..array.dims.len()).map(|axis| self.length(value, axis, span)).collect();
                match &array.element {
                    Element::Prim(prim) => self.zeros(*prim, sizes, span),
                    _ => {
                        let space: Vec<Axis> =
                            sizes.into_iter().map(|size| Axis { var: self.fresh("i", Type::I64).var, size }).collect();
                        let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
                        let body = self.block(|context| {
                            let element = context.emit_one(Op::Index { array: value.clone(), indices }, span);
                            vec![context.zero_like(&element, span)]
                        });
                        self.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
                    }
                }
            }
            ty @ (Type::Sum(_) | Type::Named(_)) => {
                let function = self.zero_function(&ty, span);
                self.emit_one(Op::Call { function, args: vec![value.clone()] }, span)
            }
            Type::Function(_) | Type::Accumulator(_) | Type::Log(_) => value.clone(),
        }
    }

    /// The length of an array's axis; the array need not be there where the program states it.
    fn length(&mut self, array: &Atom, axis: usize, span: Span) -> Atom {
        let known = match array {
            Atom::Var(var) => self.shapes.get(var).and_then(|shape| shape.get(axis).cloned().flatten()),
            Atom::Const(_) => None,
        };
        known.unwrap_or_else(|| self.emit_one(Op::Dim { array: array.clone(), axis }, span))
    }

    fn zero_function(&mut self, ty: &Type, span: Span) -> FunctionId {
        if let Some(known) = self.zeros.get(ty) {
            return *known;
        }
        let params = vec![self.fresh("a", ty.clone())];
        let value = Atom::Var(params[0].var);
        let function = self.reserve(Name::from("zero"), params, vec![ty.clone()], span);
        self.zeros.insert(ty.clone(), function);
        let constructors = typing::constructors(&self.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let body = self.block(|context| {
            let arms = constructors
                .iter()
                .enumerate()
                .map(|(tag, constructor)| {
                    let binders: Vec<Binder> = constructor.payload.iter().map(|ty| context.fresh("", ty.clone())).collect();
                    let body = context.block(|context| {
                        let args = binders.iter().map(|binder| context.zero_like(&Atom::Var(binder.var), span)).collect();
                        context.construct(ty, tag as u32, args, span)
                    });
                    Arm { tag: tag as u32, binders, body }
                })
                .collect();
            context.b.push(Op::Match { scrutinee: value, arms, otherwise: None }, vec![ty.clone()], span)
        });
        self.b.program_mut().functions[function.0 as usize].body = body;
        function
    }

    /// A (co)tangent through one operand of a primitive operation; `None` if nothing passes.
    pub fn pass(
        &mut self,
        derivative: &Derivative,
        incoming: &Atom,
        applied: &Applied<'_>,
        to: Prim,
        span: Span,
    ) -> Option<Atom> {
        match derivative {
            Derivative::Zero => None,
            Derivative::One => Some(incoming.clone()),
            Derivative::MinusOne => {
                let prim = self.type_of(incoming).as_prim()?;
                Some(self.prim(PrimOp::Unary(UnaryOp::Negate, prim), vec![incoming.clone()], span))
            }
            Derivative::Scale(partial) => {
                let prim = self.type_of(incoming).as_prim()?;
                Some(self.scaled(incoming, prim, partial, applied, span))
            }
            Derivative::Convert => {
                let from = self.type_of(incoming).as_prim()?;
                Some(match from == to {
                    true => incoming.clone(),
                    false => self.prim(PrimOp::Convert { from, to }, vec![incoming.clone()], span),
                })
            }
        }
    }

    /// A (co)tangent times a partial derivative. Where a case distinction says that nothing passes, nothing does, however large the (co)tangent.
    fn scaled(&mut self, incoming: &Atom, prim: Prim, partial: &Partial, applied: &Applied<'_>, span: Span) -> Atom {
        match partial {
            Partial::Constant(constant) if *constant == Const::zero(prim) => Atom::Const(*constant),
            Partial::Constant(constant) if *constant == Const::one(prim) => incoming.clone(),
            Partial::Select(parts) => {
                let [condition, then, otherwise] = &**parts;
                let condition = self.partial(condition, applied, span);
                let then = self.block(|context| vec![context.scaled(incoming, prim, then, applied, span)]);
                let otherwise = self.block(|context| vec![context.scaled(incoming, prim, otherwise, applied, span)]);
                self.emit_one(Op::If { condition, then, otherwise }, span)
            }
            _ => {
                let factor = self.partial(partial, applied, span);
                self.prim(PrimOp::Binary(BinaryOp::Scale, prim), vec![incoming.clone(), factor], span)
            }
        }
    }

    /// The value of a partial derivative.
    pub fn partial(&mut self, partial: &Partial, applied: &Applied<'_>, span: Span) -> Atom {
        match partial {
            Partial::Operand(index) => applied.operands.get(*index).cloned().unwrap_or(Atom::i64(0)),
            Partial::Result => applied.result.clone(),
            Partial::Constant(constant) => Atom::Const(*constant),
            Partial::Apply(op, args) => {
                let args: Vec<Atom> = args.iter().map(|arg| self.partial(arg, applied, span)).collect();
                // The inverse of an inverse's operand is the result itself.
                if *op == applied.op && args == applied.operands { applied.result.clone() } else { self.prim(*op, args, span) }
            }
            Partial::Select(parts) => {
                let [condition, then, otherwise] = &**parts;
                let condition = self.partial(condition, applied, span);
                let then = self.block(|context| vec![context.partial(then, applied, span)]);
                let otherwise = self.block(|context| vec![context.partial(otherwise, applied, span)]);
                self.emit_one(Op::If { condition, then, otherwise }, span)
            }
        }
    }
}

/// A primitive operation with what goes in and comes out.
pub struct Applied<'a> {
    pub op: PrimOp,
    pub operands: &'a [Atom],
    pub result: &'a Atom,
}

/// An array in a box, so that arrays of different sizes can stand in one array.
pub fn boxed(ty: Type) -> Type {
    Type::Sum(Rc::from([chadwick_core::Constructor { name: Name::from("box"), payload: vec![ty] }]))
}

/// An array type with one more axis in front.
pub fn with_axis(ty: &Type) -> Type {
    ty.clone().array([Dim::Any])
}

/// The numbers that are totals of reductions.
fn note_totals(block: &Block, totals: &mut FxHashSet<Var>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for Statement { binders, op, .. } in &block.statements {
            if let Op::Reduce { .. } = op {
                totals.extend(binders.iter().filter(|binder| matches!(binder.ty, Type::Prim(_))).map(|binder| binder.var));
            }
            op.scopes().iter().for_each(|scope| note_totals(scope.block, totals));
        }
    });
}
