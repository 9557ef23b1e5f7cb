//! `r ⊙_R m`: a cotangent is pushed through a map until no map is left (Ellis et al., figure 5).
//!
//! Each law is one arm of [`Backward::push`]. A `let ∂x = m` is not written out at every occurrence of `∂x`: by linearity
//! `r ⊙_R ∂x + s ⊙_R ∂x = (r + s) ⊙_R ∂x`, so what the occurrences receive is added up, and `m` is applied once. That is what keeps the
//! reverse pass linear where the paper relies on common subexpressions.
//!
//! The primal block comes out in a form that also gives what the reverse pass reads of it: the `X` of split mode (section 6.1).

use super::functions::MapFunctions;
use super::maps::{Derived, Factor, Line, Map};
use crate::context::{Applied, Context};
use crate::reverse::{Cotangents, Reverse, ReverseFunctions};
use chadwick_core::{
    Arm, Atom, BinaryOp, Binder, Block, Const, Custom, CustomKind, FunctionId, Lambda, Op, Prim, PrimOp, SliceDim, Statement,
    Type, UnaryOp, Var,
};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

/// A cotangent on its way through a map. Only what is added to a variable becomes a value.
#[derive(Clone, Debug)]
pub(super) enum Flow {
    Zero,
    Value(Atom),
    /// Zero but for a part: the one-hot vector times a cotangent.
    At(Vec<SliceDim>, Atom),
    /// An element of an array, not read yet.
    Element {
        array: Atom,
        indices: Vec<Atom>,
    },
    /// `build(n, λi. r)`
    Everywhere(Box<Flow>),
    Tuple(Vec<Flow>),
    Sum(Vec<Flow>),
}

impl Flow {
    pub fn tuple(mut parts: Vec<Flow>) -> Flow {
        if parts.len() == 1 { parts.swap_remove(0) } else { Flow::Tuple(parts) }
    }

    pub fn is_zero(&self) -> bool {
        match self {
            Flow::Zero => true,
            Flow::Tuple(parts) | Flow::Sum(parts) => parts.iter().all(Flow::is_zero),
            _ => false,
        }
    }

    /// The components of a tuple of so many.
    pub fn parts(self, count: usize) -> Vec<Flow> {
        match self {
            Flow::Tuple(parts) => parts,
            Flow::Zero => vec![Flow::Zero; count],
            Flow::Sum(sums) if count != 1 => {
                let mut columns: Vec<Vec<Flow>> = vec![Vec::new(); count];
                for sum in sums {
                    columns.iter_mut().zip(sum.parts(count)).for_each(|(column, part)| column.push(part));
                }
                columns.into_iter().map(Flow::Sum).collect()
            }
            Flow::Everywhere(inner) if count != 1 => {
                inner.parts(count).into_iter().map(|part| Flow::Everywhere(Box::new(part))).collect()
            }
            other => vec![other],
        }
    }

    /// The cotangent of one element.
    pub fn element(&self, indices: &[Atom]) -> Flow {
        match self {
            Flow::Zero => Flow::Zero,
            Flow::Value(array) => Flow::Element { array: array.clone(), indices: indices.to_vec() },
            Flow::Everywhere(inner) => (**inner).clone(),
            Flow::Tuple(parts) => Flow::Tuple(parts.iter().map(|part| part.element(indices)).collect()),
            Flow::Sum(parts) => Flow::Sum(parts.iter().map(|part| part.element(indices)).collect()),
            Flow::Element { array, indices: outer } => {
                Flow::Element { array: array.clone(), indices: [outer.clone(), indices.to_vec()].concat() }
            }
            // A part of an array never flows into a family of its elements: its variable stands between.
            Flow::At(..) => Flow::Zero,
        }
    }
}

pub(super) struct Backward<'c, 'p> {
    pub collector: Reverse<'c, 'p>,
    pub functions: &'c mut MapFunctions,
    /// The statement whose map is being applied, as the forward pass has it.
    pub forward: Vec<Statement>,
    /// Whether that statement adds to accumulators from outside it: then its map is applied even to zero.
    adds: bool,
}

impl<'c, 'p> Backward<'c, 'p> {
    pub fn new(
        context: &'c mut Context<'p>,
        unused: &'c mut ReverseFunctions,
        functions: &'c mut MapFunctions,
        active: FxHashSet<Var>,
    ) -> Self {
        Backward { collector: Reverse::collecting(context, unused, active), functions, forward: Vec::new(), adds: false }
    }

    pub fn context(&mut self) -> &mut Context<'p> {
        self.collector.context
    }

    /// Applies the map of a block; returns the forward statements. `params` are bound at its start.
    pub fn block(
        &mut self,
        derived: &Derived,
        params: &[Var],
        flow: Flow,
        cotangents: &mut Cotangents,
        span: Span,
    ) -> Vec<Statement> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for line in &derived.lines {
                self.context().note_shapes(&line.statement);
                self.context().makings.statement(&line.statement);
            }
            self.push(&derived.map, flow, cotangents, span);
            let mut forward: Vec<Vec<Statement>> = derived.lines.iter().rev().map(|line| self.line(line, cotangents)).collect();
            forward.reverse();
            let forward: Vec<Statement> = forward.into_iter().flatten().collect();
            forward.iter().for_each(|statement| self.context().note_shapes(statement));
            self.collector.place_sizes(forward, params)
        })
    }

    /// The same for a block that runs many times.
    pub fn repeated(
        &mut self,
        derived: &Derived,
        params: &[Var],
        flow: Flow,
        cotangents: &mut Cotangents,
        span: Span,
    ) -> Vec<Statement> {
        self.context().makings.enter(params);
        let forward = self.block(derived, params, flow, cotangents, span);
        self.context().makings.leave();
        forward
    }

    fn line(&mut self, line: &Line, cotangents: &mut Cotangents) -> Vec<Statement> {
        let incoming = self.collector.take(cotangents, &line.statement.binders);
        let Some(map) = &line.map else { return vec![line.statement.clone()] };
        if let Op::Accumulate { handle, path, value } = &line.statement.op {
            self.collector.accumulate(handle, path, value, cotangents, line.span());
            return vec![line.statement.clone()];
        }
        if incoming.iter().all(Option::is_none) && !line.adds {
            return vec![line.statement.clone()];
        }
        let outer = (std::mem::replace(&mut self.forward, vec![line.statement.clone()]), self.adds);
        self.adds = line.adds;
        let parts = incoming.into_iter().map(|part| part.map_or(Flow::Zero, Flow::Value)).collect();
        self.push(map, Flow::tuple(parts), cotangents, line.span());
        self.adds = outer.1;
        std::mem::replace(&mut self.forward, outer.0)
    }

    /// `flow ⊙_R map`. What reaches a variable is added to its cotangent; the rest is returned.
    pub fn push(&mut self, map: &Map, flow: Flow, cotangents: &mut Cotangents, span: Span) -> Flow {
        let is_form = matches!(map, Map::VCatV(_) | Map::Branch(_) | Map::Repeat(_) | Map::Accumulators(_));
        if flow.is_zero() && !(self.adds && is_form) {
            return Flow::Zero;
        }
        match map {
            Map::Zero => Flow::Zero,
            Map::One => flow,
            Map::Of(var) => {
                self.absorb(*var, flow, cotangents, span);
                Flow::Zero
            }
            // r ⊙_R (m ∘ n) = (r ⊙_R m) ⊙_R n
            Map::Compose(last, first) => {
                let between = self.push(last, flow, cotangents, span);
                self.push(first, between, cotangents, span)
            }
            // r ⊙_R (m ⊕ n) = r ⊙_R m + r ⊙_R n
            Map::Sum(maps) => {
                let flow = self.shared(flow, span);
                Flow::Sum(maps.iter().map(|map| self.push(map, flow.clone(), cotangents, span)).collect())
            }
            // (r, s) ⊙_R (m × n) = r ⊙_R m + s ⊙_R n
            Map::VCat(maps) => {
                let parts = flow.parts(maps.len());
                Flow::Sum(maps.iter().zip(parts).map(|(map, part)| self.push(map, part, cotangents, span)).collect())
            }
            // r ⊙_R (m ⋈ n) = (r ⊙_R m, r ⊙_R n)
            Map::HCat(maps) => {
                let flow = self.shared(flow, span);
                Flow::Tuple(maps.iter().map(|map| self.push(map, flow.clone(), cotangents, span)).collect())
            }
            // r ⊙_R S(k) = k * r
            Map::Scale(factor) => self.scaled(factor, flow, span),
            Map::Convert { from, .. } => {
                let value = self.value(flow, span);
                let to = self.context().type_of(&value).as_prim();
                match to {
                    Some(to) if to != *from => {
                        let op = PrimOp::Convert { from: to, to: *from };
                        Flow::Value(self.context().prim(op, vec![value], span))
                    }
                    _ => Flow::Value(value),
                }
            }
            // r ⊙_R V(v) = Σᵢ r[i] ⊙_R v[i]
            Map::VCatV(family) => {
                self.family(family, flow, cotangents, span);
                Flow::Zero
            }
            // r ⊙_R H(build(n, λi. 1)) = build(n, λi. r)
            Map::HCatV(family) if family.body == Derived::of(Map::One) => Flow::Everywhere(Box::new(self.shared(flow, span))),
            // The one-hot rule: only one place of the vector is not zero.
            Map::OneHot { indices, .. } => {
                let value = self.value(flow, span);
                Flow::At(indices.iter().cloned().map(SliceDim::Index).collect(), value)
            }
            Map::Branch(branches) => {
                self.branches(branches, flow, cotangents, span);
                Flow::Zero
            }
            Map::Derivative { function, active, .. } => self.call(*function, active, flow, span),
            Map::Repeat(repeat) => {
                self.repeat(repeat, flow, cotangents, span);
                Flow::Zero
            }
            Map::Linear(op) => self.linear(op, flow, span),
            Map::Payload { scrutinee, tag, binders } => self.payload(scrutinee, *tag, binders, flow, span),
            Map::Rule(custom) => self.rule(custom, flow, span),
            Map::Accumulators(sums) => {
                self.accumulators(sums, flow, cotangents, span);
                Flow::Zero
            }
            // What an accumulator gets is read where the statement stands.
            Map::Added(_) => Flow::Zero,
            Map::HCatV(_) | Map::Lambda(_) | Map::LambdaTransposed(_) | Map::Transpose(_) => {
                self.context().untyped(&"a map that no derivative has", span);
                Flow::Zero
            }
        }
    }

    /// Adds what a variable receives to its cotangent.
    fn absorb(&mut self, var: Var, flow: Flow, cotangents: &mut Cotangents, span: Span) {
        match flow {
            Flow::Zero => {}
            Flow::At(dims, value) => self.collector.add_at(cotangents, &Atom::Var(var), &dims, value, span),
            Flow::Sum(parts) => parts.into_iter().for_each(|part| self.absorb(var, part, cotangents, span)),
            Flow::Everywhere(inner) => {
                let element = self.value(*inner, span);
                let sizes = self.collector.sizes_of(var);
                let space = sizes
                    .into_iter()
                    .map(|size| chadwick_core::Axis { var: self.context().fresh("i", Type::I64).var, size })
                    .collect();
                let body = Block { statements: Vec::new(), results: vec![element] };
                let value = self.context().emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span);
                self.collector.add(cotangents, &Atom::Var(var), value, span);
            }
            other => {
                let value = self.value(other, span);
                self.collector.add(cotangents, &Atom::Var(var), value, span);
            }
        }
    }

    /// The flow with elements read, so that it can be used more than once.
    fn shared(&mut self, flow: Flow, span: Span) -> Flow {
        match flow {
            Flow::Element { .. } => Flow::Value(self.value(flow, span)),
            Flow::Tuple(parts) => Flow::Tuple(parts.into_iter().map(|part| self.shared(part, span)).collect()),
            other => other,
        }
    }

    /// One cotangent that is not a tuple, as an atom.
    pub fn value(&mut self, flow: Flow, span: Span) -> Atom {
        match flow {
            Flow::Value(value) => value,
            Flow::Element { array, indices } => self.context().emit_one(Op::Index { array, indices }, span),
            Flow::Sum(parts) => {
                let mut values: Vec<Atom> =
                    parts.into_iter().filter(|part| !part.is_zero()).map(|part| self.value(part, span)).collect();
                let Some(first) = values.pop() else { return Atom::i64(0) };
                values.into_iter().rev().fold(first, |sum, value| self.context().sum(value, sum, span))
            }
            Flow::Tuple(mut parts) if parts.len() == 1 => {
                let part = parts.swap_remove(0);
                self.value(part, span)
            }
            Flow::Zero | Flow::At(..) | Flow::Everywhere(_) | Flow::Tuple(_) => {
                self.context().untyped(&"a cotangent that is no single value", span);
                Atom::i64(0)
            }
        }
    }

    /// The cotangent of something with a value, with zeros where it has none.
    pub fn value_or_zero(&mut self, flow: Flow, of: &Atom, span: Span) -> Atom {
        match (flow.is_zero(), of) {
            (false, _) => self.value(flow, span),
            (true, Atom::Var(var)) => self.collector.zero(*var, span),
            (true, Atom::Const(constant)) => Atom::Const(Const::zero(constant.prim())),
        }
    }

    fn scaled(&mut self, factor: &Factor, flow: Flow, span: Span) -> Flow {
        let value = self.value(flow, span);
        Flow::Value(self.scaled_value(factor, value, span))
    }

    pub fn scaled_value(&mut self, factor: &Factor, value: Atom, span: Span) -> Atom {
        scaled_value(self.context(), factor, value, span)
    }

    /// A function of the program: its reverse half is given what its forward half kept.
    fn call(&mut self, function: FunctionId, active: &[bool], flow: Flow, span: Span) -> Flow {
        let Some(split) = super::functions::split_function(self.collector.context, self.functions, function, active, span) else {
            return Flow::Zero;
        };
        let Some(statement) = self.forward.pop() else { return Flow::Zero };
        let Op::Call { args, .. } = &statement.op else { return Flow::Zero };
        let parts = flow.parts(statement.binders.len());
        let mut seeds = Vec::new();
        for ((binder, part), wanted) in statement.binders.iter().zip(parts).zip(&split.results) {
            if *wanted {
                seeds.push(self.value_or_zero(part, &Atom::Var(binder.var), span));
            }
        }
        let kept: Vec<Binder> = split.kept.iter().map(|ty| self.context().fresh("kept", ty.clone())).collect();
        let op = Op::Call { function: split.forward, args: args.clone() };
        let kept_atoms: Vec<Atom> = kept.iter().map(|binder| Atom::Var(binder.var)).collect();
        self.forward.push(Statement { binders: [statement.binders.clone(), kept].concat(), op, span });
        let op = Op::Call { function: split.reverse, args: [kept_atoms, seeds].concat() };
        let cotangents = self.context().emit(op, span);
        Flow::tuple(cotangents.into_iter().map(Flow::Value).collect())
    }

    /// The cotangent of a sum has the constructor of the value.
    fn payload(&mut self, scrutinee: &Atom, tag: u32, binders: &[Binder], flow: Flow, span: Span) -> Flow {
        let ty = self.context().type_of(scrutinee);
        let parts = flow.parts(binders.len());
        let mut fields = Vec::new();
        for (binder, part) in binders.iter().zip(parts) {
            fields.push(self.value_or_zero(part, &Atom::Var(binder.var), span));
        }
        Flow::tuple(self.context().construct(&ty, tag, fields, span).into_iter().map(Flow::Value).collect())
    }

    fn rule(&mut self, custom: &Custom, flow: Flow, span: Span) -> Flow {
        let Some(statement) = self.forward.pop() else { return Flow::Zero };
        let tape = custom.kind.tape();
        let kept: Vec<Binder> =
            custom.function.results[..tape].iter().map(|ty| self.context().fresh("kept", ty.any_sizes())).collect();
        let mut args: Vec<Atom> = match custom.kind {
            CustomKind::Vjp => statement.binders.iter().map(|binder| Atom::Var(binder.var)).collect(),
            _ => kept.iter().map(|binder| Atom::Var(binder.var)).collect(),
        };
        let parts = flow.parts(statement.binders.len());
        for (binder, part) in statement.binders.iter().zip(parts) {
            args.push(self.value_or_zero(part, &Atom::Var(binder.var), span));
        }
        let rule: Lambda = self.context().copy_lambda(&custom.rule);
        for (param, arg) in rule.params.iter().zip(args) {
            self.context().push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg]), span });
        }
        rule.body.statements.into_iter().for_each(|statement| self.context().push_statement(statement));
        // The function itself is only run; a derivative around this one goes by its rule again.
        if kept.is_empty() {
            self.forward.push(statement);
            return Flow::tuple(rule.body.results.into_iter().map(Flow::Value).collect());
        }
        // What it keeps comes first.
        let params: Vec<(Var, Atom)> =
            custom.function.params.iter().zip(&custom.args).map(|(param, arg)| (param.var, arg.clone())).collect();
        let body = self.context().copy_block(&custom.function.body, params);
        let results = Statement { binders: [kept, statement.binders].concat(), op: Op::Copy(body.results), span };
        self.forward.extend(body.statements);
        self.forward.push(results);
        Flow::tuple(rule.body.results.into_iter().map(Flow::Value).collect())
    }

    /// The transposes of built-in functions that are linear.
    fn linear(&mut self, op: &Op, flow: Flow, span: Span) -> Flow {
        match op {
            Op::Slice { dims, .. } => Flow::At(dims.clone(), self.value(flow, span)),
            Op::Transpose { permutation, .. } => {
                let mut inverse = vec![0; permutation.len()];
                permutation.iter().enumerate().for_each(|(to, from)| inverse[*from] = to);
                let array = self.value(flow, span);
                Flow::Value(self.context().emit_one(Op::Transpose { array, permutation: inverse }, span))
            }
            Op::Reshape { array: Atom::Var(source), .. } => {
                let dims = self.collector.sizes_of(*source);
                let array = self.value(flow, span);
                Flow::Value(self.context().emit_one(Op::Reshape { array, dims }, span))
            }
            Op::Update { array, dims, value } => {
                let incoming = self.value(flow, span);
                let part = self.collector.part(&incoming, dims, span);
                let active = self.collector.is_active(array);
                // The place is cleared next; a view of it would make that a copy of the whole.
                let part = if active { self.context().copied(part, span) } else { part };
                let rest = match active {
                    false => Flow::Zero,
                    true => {
                        let old = match Context::is_flat(&self.context().type_of(&part)) {
                            true => part.clone(),
                            false => self.collector.part(array, dims, span),
                        };
                        let zero = self.context().zero_like(&old, span);
                        let op = Op::Update { array: incoming, dims: dims.clone(), value: zero };
                        Flow::Value(self.context().emit_one(op, span))
                    }
                };
                let value = if self.collector.is_active(value) { Flow::Value(part) } else { Flow::Zero };
                Flow::Tuple(vec![rest, value])
            }
            Op::Concat { arrays } => {
                let incoming = self.value(flow, span);
                let mut start = Atom::i64(0);
                let mut parts = Vec::new();
                for array in arrays {
                    let Atom::Var(source) = array else { continue };
                    let count = self.collector.size_of(*source, 0);
                    parts.push(match self.collector.is_active(array) {
                        false => Flow::Zero,
                        true => {
                            let dims = vec![SliceDim::Range { start: start.clone(), count: count.clone(), stride: Atom::i64(1) }];
                            Flow::Value(self.context().emit_one(Op::Slice { array: incoming.clone(), dims }, span))
                        }
                    });
                    start = match start {
                        Atom::Const(Const::I64(0)) => count,
                        start => self.context().i64_op(BinaryOp::Add, start, count, span),
                    };
                }
                Flow::tuple(parts)
            }
            Op::ArrayLiteral { elements, .. } => {
                let array = self.value(flow, span);
                let element =
                    |(at, _): (usize, &Atom)| Flow::Element { array: array.clone(), indices: vec![Atom::i64(at as i64)] };
                Flow::tuple(elements.iter().enumerate().map(element).collect())
            }
            Op::Construct { tag, args, .. } => self.constructed(*tag, args, flow, span),
            _ => Flow::Zero,
        }
    }

    /// The fields of the cotangent of a sum, or zeros where it has another constructor.
    fn constructed(&mut self, tag: u32, args: &[Atom], flow: Flow, span: Span) -> Flow {
        let active: Vec<usize> = (0..args.len()).filter(|at| self.collector.is_active(&args[*at])).collect();
        if active.is_empty() {
            return Flow::Zero;
        }
        let incoming = self.value(flow, span);
        let types: Vec<Type> = args.iter().map(|arg| self.context().type_of(arg).any_sizes()).collect();
        let binders: Vec<Binder> = types.iter().map(|ty| self.context().fresh("", ty.clone())).collect();
        let results = active.iter().map(|at| Atom::Var(binders[*at].var)).collect();
        self.context().b.push_block();
        let zeros = active.iter().map(|at| self.value_or_zero(Flow::Zero, &args[*at], span)).collect();
        let otherwise = self.context().b.pop_block(zeros);
        let arms = vec![Arm { tag, binders, body: Block { statements: Vec::new(), results } }];
        let op = Op::Match { scrutinee: incoming, arms, otherwise: Some(otherwise) };
        let types = active.iter().map(|at| types[*at].clone()).collect();
        let fields = self.context().b.push(op, types, span);
        let mut parts = vec![Flow::Zero; args.len()];
        active.iter().zip(fields).for_each(|(at, field)| parts[*at] = Flow::Value(field));
        Flow::tuple(parts)
    }
}

/// A (co)tangent times a factor.
pub(super) fn scaled_value(context: &mut Context, factor: &Factor, value: Atom, span: Span) -> Atom {
    let Some(prim) = context.type_of(&value).as_prim() else { return value };
    if let Factor::Atom(Atom::Const(constant)) = factor
        && *constant == Const::from_i128(prim, -1)
    {
        return context.prim(PrimOp::Unary(UnaryOp::Negate, prim), vec![value], span);
    }
    let factor = factor_value(context, factor, prim, span);
    context.prim(PrimOp::Binary(BinaryOp::Scale, prim), vec![value, factor], span)
}

fn factor_value(context: &mut Context, factor: &Factor, prim: Prim, span: Span) -> Atom {
    let mut both = |left: &Factor, right: &Factor, op: BinaryOp| {
        let args = [left, right].map(|factor| factor_value(context, factor, prim, span)).to_vec();
        context.prim(PrimOp::Binary(op, prim), args, span)
    };
    match factor {
        Factor::Atom(atom) => atom.clone(),
        Factor::Product(left, right) => both(left, right, BinaryOp::Mul),
        Factor::Sum(left, right) => both(left, right, BinaryOp::Add),
        Factor::Partial { op, partial, operands, result } => {
            context.partial(partial, &Applied { op: *op, operands, result }, span)
        }
    }
}
