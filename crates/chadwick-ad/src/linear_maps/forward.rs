//! `m ⊙ dx`: a tangent is pushed through a map until no map is left (Ellis et al., figure 4), next to the primal.
//!
//! A `let ∂x = m` becomes the tangent of `x`. Forms that repeat give primal results and tangents together, so a function is run once.

use super::backward::scaled_value;
use super::control::chosen_op;
use super::functions::{MapFunctions, forward_function};
use super::maps::{Accumulators, Branches, Derived, Family, Line, Map, Repeat, sizes_from_values};
use crate::context::Context;
use chadwick_core::{Arm, Atom, Binder, Block, Loop, LoopHints, Op, PrimOp, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::FxHashMap;

pub(super) struct Forward<'c, 'p> {
    pub context: &'c mut Context<'p>,
    pub functions: &'c mut MapFunctions,
    /// The tangents of variables; one without an entry has the tangent zero.
    pub tangents: FxHashMap<Var, Atom>,
    /// The accumulators of tangents, by those of values.
    pub handles: FxHashMap<Var, Atom>,
}

/// A tangent on its way through a map.
#[derive(Clone, Debug)]
enum Tangent {
    Zero,
    Value(Atom),
    Tuple(Vec<Tangent>),
}

impl Tangent {
    fn tuple(mut parts: Vec<Tangent>) -> Tangent {
        if parts.len() == 1 { parts.swap_remove(0) } else { Tangent::Tuple(parts) }
    }

    fn parts(self, count: usize) -> Vec<Tangent> {
        match self {
            Tangent::Tuple(parts) => parts,
            Tangent::Zero => vec![Tangent::Zero; count],
            value => vec![value],
        }
    }
}

impl Forward<'_, '_> {
    /// Emits the block; returns its results, then the tangents of those in `wanted`.
    pub fn block(&mut self, derived: &Derived, wanted: &[bool], span: Span) -> Vec<Atom> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            derived.lines.iter().for_each(|line| self.line(line));
            let tangent = self.apply(&derived.map, Tangent::Zero, span);
            let parts = tangent.parts(derived.results.len());
            let mut values = derived.results.clone();
            for ((result, part), wanted) in derived.results.iter().zip(parts).zip(wanted) {
                if *wanted {
                    values.push(self.value_or_zero(part, result, span));
                }
            }
            values
        })
    }

    fn line(&mut self, line: &Line) {
        let statement = &line.statement;
        let span = statement.span;
        match &line.map {
            None => self.context.push_statement(statement.clone()),
            Some(_) if matches!(statement.op, Op::Accumulate { .. }) => self.accumulate(statement),
            Some(map) => match form_of(map) {
                Some(Map::VCatV(family)) => self.family(statement, family, map),
                Some(Map::Branch(branches)) => self.branches(statement, branches),
                Some(Map::Repeat(repeat)) => self.repeat(statement, repeat),
                Some(Map::Accumulators(sums)) => self.accumulators(statement, sums),
                Some(Map::Derivative { function, args, active }) => self.call(statement, *function, args, active),
                _ => {
                    self.context.push_statement(statement.clone());
                    let tangent = self.apply(map, Tangent::Zero, span);
                    self.bind(&statement.binders, tangent);
                }
            },
        }
    }

    fn bind(&mut self, binders: &[Binder], tangent: Tangent) {
        for (binder, part) in binders.iter().zip(tangent.parts(binders.len())) {
            if let Tangent::Value(value) = part {
                self.tangents.insert(binder.var, value);
            }
        }
    }

    fn value_or_zero(&mut self, tangent: Tangent, of: &Atom, span: Span) -> Atom {
        match tangent {
            Tangent::Value(value) => value,
            _ => self.context.zero_like(of, span),
        }
    }

    /// `map ⊙ tangent`, where the inputs of the whole function have the tangents of [`Forward::tangents`].
    fn apply(&mut self, map: &Map, tangent: Tangent, span: Span) -> Tangent {
        match map {
            Map::Of(var) => self.tangents.get(var).cloned().map_or(Tangent::Zero, Tangent::Value),
            Map::Zero => Tangent::Zero,
            Map::One => tangent,
            // (m ∘ n) ⊙ x = m ⊙ (n ⊙ x)
            Map::Compose(last, first) => {
                let between = self.apply(first, tangent, span);
                self.apply(last, between, span)
            }
            // (m ⊕ n) ⊙ x = m ⊙ x + n ⊙ x
            Map::Sum(maps) => {
                let parts = maps.iter().map(|map| self.apply(map, tangent.clone(), span)).collect();
                self.sum(parts, span)
            }
            // (m × n) ⊙ x = (m ⊙ x, n ⊙ x)
            Map::VCat(maps) => Tangent::Tuple(maps.iter().map(|map| self.apply(map, tangent.clone(), span)).collect()),
            // (m ⋈ n) ⊙ (x, y) = m ⊙ x + n ⊙ y
            Map::HCat(maps) => {
                let parts = tangent.parts(maps.len());
                let parts = maps.iter().zip(parts).map(|(map, part)| self.apply(map, part, span)).collect();
                self.sum(parts, span)
            }
            // S(k) ⊙ x = k * x
            Map::Scale(factor) => match tangent {
                Tangent::Value(value) => Tangent::Value(scaled_value(self.context, factor, value, span)),
                other => other,
            },
            Map::Convert { from, to } => match tangent {
                Tangent::Value(value) if from != to => {
                    Tangent::Value(self.context.prim(PrimOp::Convert { from: *from, to: *to }, vec![value], span))
                }
                other => other,
            },
            Map::OneHot { indices, .. } => match tangent {
                Tangent::Value(array) => {
                    Tangent::Value(self.context.emit_one(Op::Index { array, indices: indices.clone() }, span))
                }
                other => other,
            },
            Map::Linear(op) => self.linear(op, tangent, span),
            Map::Payload { tag, binders, .. } => self.payload(*tag, binders, tangent, span),
            Map::Rule(_) => {
                self.context.unsupported(span, "forward, a function whose rule is for reverse mode");
                Tangent::Zero
            }
            _ => {
                self.context.untyped(&"a map that no derivative has here", span);
                Tangent::Zero
            }
        }
    }

    fn sum(&mut self, parts: Vec<Tangent>, span: Span) -> Tangent {
        parts.into_iter().fold(Tangent::Zero, |sum, part| match (sum, part) {
            (Tangent::Zero, other) | (other, Tangent::Zero) => other,
            (Tangent::Value(left), Tangent::Value(right)) => Tangent::Value(self.context.sum(left, right, span)),
            (left, right) => {
                let count = match (&left, &right) {
                    (Tangent::Tuple(parts), _) | (_, Tangent::Tuple(parts)) => parts.len(),
                    _ => 1,
                };
                let pairs: Vec<_> = left.parts(count).into_iter().zip(right.parts(count)).collect();
                Tangent::Tuple(pairs.into_iter().map(|(left, right)| self.sum(vec![left, right], span)).collect())
            }
        })
    }

    /// A linear built-in is applied to the tangents of its operands.
    fn linear(&mut self, op: &Op, tangent: Tangent, span: Span) -> Tangent {
        let mut op = op.clone();
        let operands: Vec<&mut Atom> = match &mut op {
            Op::Slice { array, .. } | Op::Transpose { array, .. } | Op::Reshape { array, .. } => vec![array],
            Op::Update { array, value, .. } => vec![array, value],
            Op::Concat { arrays: atoms } | Op::ArrayLiteral { elements: atoms, .. } | Op::Construct { args: atoms, .. } => {
                atoms.iter_mut().collect()
            }
            _ => Vec::new(),
        };
        let parts = tangent.parts(operands.len());
        for (operand, part) in operands.into_iter().zip(parts) {
            *operand = self.value_or_zero(part, operand, span);
        }
        Tangent::Value(self.context.emit_one(op, span))
    }

    /// The tangent of a sum has the constructor of the value.
    fn payload(&mut self, tag: u32, binders: &[Binder], tangent: Tangent, span: Span) -> Tangent {
        let Tangent::Value(value) = tangent else { return Tangent::Zero };
        let fields: Vec<Binder> = binders.iter().map(|binder| self.context.fresh("d", binder.ty.any_sizes())).collect();
        let types: Vec<Type> = fields.iter().map(|field| field.ty.clone()).collect();
        let otherwise = self.context.unreachable(&types, "a tangent of another constructor", span);
        let results = fields.iter().map(|field| Atom::Var(field.var)).collect();
        let arms = vec![Arm { tag, binders: fields, body: Block { statements: Vec::new(), results } }];
        let op = Op::Match { scrutinee: value, arms, otherwise: Some(otherwise) };
        Tangent::tuple(self.context.b.push(op, types, span).into_iter().map(Tangent::Value).collect())
    }

    /// Which results of a block have a tangent that is not known to be zero, as far as their types carry one.
    fn carrying(&self, atoms: &[Atom]) -> Vec<bool> {
        atoms.iter().map(|atom| self.context.carries(&self.context.type_of(atom))).collect()
    }

    /// `V(m) ⊙ x = build(sz m, λi. m[i] ⊙ x)`, and the sum of such.
    fn family(&mut self, statement: &Statement, family: &Family, map: &Map) {
        let span = statement.span;
        let carrying = self.carrying(&family.body.results);
        self.context.b.push_block();
        let values = self.block(&family.body, &carrying, span);
        let results: Vec<Type> = values.iter().map(|value| self.context.type_of(value).any_sizes()).collect();
        let body = self.context.b.pop_block(values);
        let count = family.body.results.len();
        let extra = results.len() - count;
        let tangents = match &statement.op {
            Op::Build { inner, .. } => {
                let tangent_sizes = carrying.iter().zip(inner).filter(|(carrying, _)| **carrying).map(|(_, sizes)| sizes.clone());
                let inner = inner.iter().cloned().chain(tangent_sizes).collect();
                let rank = family.space.len();
                let types = results[count..].iter().map(|ty| ty.clone().array(vec![chadwick_core::Dim::Any; rank]));
                let types: Vec<Type> = types.collect();
                let more: Vec<Binder> = types.into_iter().map(|ty| self.context.fresh("d", ty)).collect();
                let op = Op::Build { space: family.space.clone(), body, inner };
                let binders = [statement.binders.clone(), more.clone()].concat();
                self.context.push_statement(Statement { binders, op, span });
                more
            }
            Op::Reduce { op, neutral, commutative, .. } => {
                // Sums of elements and of their tangents; the operator is written for both.
                let prims: Vec<chadwick_core::Prim> = results.iter().filter_map(Type::as_prim).collect();
                let params: Vec<Binder> =
                    prims.iter().chain(&prims).map(|prim| self.context.fresh("", Type::Prim(*prim))).collect();
                let (left, right) = params.split_at(prims.len());
                let sums = self.context.block(|context| {
                    let pairs = left.iter().zip(right).zip(&prims);
                    pairs
                        .map(|((left, right), prim)| {
                            let args = vec![Atom::Var(left.var), Atom::Var(right.var)];
                            context.prim(PrimOp::Binary(chadwick_core::BinaryOp::Add, *prim), args, span)
                        })
                        .collect()
                });
                let own = chadwick_core::Lambda { params, results: results.clone(), body: sums };
                let own = if extra == 0 { op.clone() } else { own };
                let more: Vec<Binder> = results[count..].iter().map(|ty| self.context.fresh("d", ty.clone())).collect();
                let mut start = neutral.clone();
                for (neutral, _) in neutral.iter().zip(&carrying).filter(|(_, carrying)| **carrying) {
                    let tangent = match neutral {
                        Atom::Var(var) => self.tangents.get(var).cloned(),
                        Atom::Const(_) => None,
                    };
                    start.push(tangent.unwrap_or_else(|| self.context.zero_like(neutral, span)));
                }
                let op = Op::Reduce { space: family.space.clone(), op: own, neutral: start, body, commutative: *commutative };
                let binders = [statement.binders.clone(), more.clone()].concat();
                self.context.push_statement(Statement { binders, op, span });
                more
            }
            _ => {
                self.context.untyped(&format!("{map:?} of another form"), span);
                Vec::new()
            }
        };
        self.bind_some(&statement.binders, &carrying, &tangents);
    }

    fn bind_some(&mut self, binders: &[Binder], carrying: &[bool], tangents: &[Binder]) {
        let some = binders.iter().zip(carrying).filter(|(_, carrying)| **carrying);
        for ((binder, _), tangent) in some.zip(tangents) {
            self.tangents.insert(binder.var, Atom::Var(tangent.var));
        }
    }

    fn branches(&mut self, statement: &Statement, branches: &Branches) {
        let span = statement.span;
        let types: Vec<Type> = statement.binders.iter().map(|binder| binder.ty.clone()).collect();
        let carrying: Vec<bool> = types.iter().map(|ty| self.context.carries(ty)).collect();
        let mut blocks = Vec::new();
        for branch in &branches.branches {
            self.context.b.push_block();
            if let Some(payload) = &branch.payload {
                let fields = self.apply(payload, Tangent::Zero, span);
                self.bind(&branch.binders, fields);
            }
            let values = self.block(&branch.body, &carrying, span);
            blocks.push(self.context.b.pop_block(values));
        }
        let wanted = types.iter().zip(&carrying).filter(|(_, carrying)| **carrying).map(|(ty, _)| ty.any_sizes());
        let wanted: Vec<Type> = wanted.collect();
        let more: Vec<Binder> = wanted.into_iter().map(|ty| self.context.fresh("d", ty)).collect();
        let bound = branches.branches.iter().map(|branch| branch.binders.clone()).collect();
        let op = chosen_op(branches, bound, blocks);
        let binders = [statement.binders.clone(), more.clone()].concat();
        self.context.push_statement(Statement { binders, op, span });
        self.bind_some(&statement.binders, &carrying, &more);
    }

    /// `FFold`: the state and its tangent go from left to right together.
    fn repeat(&mut self, statement: &Statement, repeat: &Repeat) {
        let span = statement.span;
        let parts = &repeat.parts;
        let count = parts.carry.len();
        let carrying: Vec<bool> = parts.carry.iter().map(|binder| self.context.carries(&binder.ty)).collect();
        let mut carry = parts.carry.clone();
        let mut initial = parts.initial.clone();
        for ((binder, start), map) in parts.carry.iter().zip(&parts.initial).zip(&repeat.initial) {
            if !self.context.carries(&binder.ty) {
                continue;
            }
            let tangent = self.apply(map, Tangent::Zero, span);
            initial.push(self.value_or_zero(tangent, start, span));
            let own = self.context.fresh("d", binder.ty.any_sizes());
            self.tangents.insert(binder.var, Atom::Var(own.var));
            carry.push(own);
        }
        let emitted = &repeat.body.results[count..];
        let carrying_emits = self.carrying(emitted);
        self.context.b.push_block();
        let wanted = [carrying.clone(), carrying_emits.clone()].concat();
        let mut values = self.block(&repeat.body, &wanted, span);
        let tangents = values.split_off(repeat.body.results.len());
        let emits = values.split_off(count);
        let state_tangents = carrying.iter().filter(|carrying| **carrying).count();
        let (state, emit_tangents) = tangents.split_at(state_tangents);
        let emit_types: Vec<Type> = emit_tangents.iter().map(|value| self.context.type_of(value).any_sizes()).collect();
        let results = [values, state.to_vec(), emits, emit_tangents.to_vec()].concat();
        let body = self.context.b.pop_block(results);
        let tangent_sizes = emit_types.iter().map(|ty| sizes_from_values(ty.rank()));
        let whole = Loop {
            carry: carry.clone(),
            initial,
            form: parts.form.clone(),
            body,
            emits: parts.emits.iter().cloned().chain(tangent_sizes).collect(),
            counted: parts.counted,
            hints: LoopHints::default(),
        };
        let (first, rest) = statement.binders.split_at(count);
        let more: Vec<Binder> = carry[count..].iter().map(|own| self.context.fresh("d", own.ty.clone())).collect();
        let emit_binders: Vec<Binder> =
            emit_types.into_iter().map(|ty| self.context.fresh("d", crate::context::with_axis(&ty))).collect();
        let binders = [first.to_vec(), more.clone(), rest.to_vec(), emit_binders.clone()].concat();
        self.context.push_statement(Statement { binders, op: Op::Loop(Box::new(whole)), span });
        self.bind_some(first, &carrying, &more);
        self.bind_some(&rest[rest.len() - parts.emits.len()..], &carrying_emits, &emit_binders);
    }

    /// Sums of values and of tangents are collected side by side.
    fn accumulators(&mut self, statement: &Statement, sums: &Accumulators) {
        let span = statement.span;
        let Op::WithAccumulators { handles, init, .. } = &statement.op else { return };
        let (mut all, mut start, mut types) = (handles.clone(), init.clone(), Vec::new());
        for ((handle, init), map) in handles.iter().zip(init).zip(&sums.initial) {
            let own = self.context.fresh("d", handle.ty.clone());
            let tangent = self.apply(map, Tangent::Zero, span);
            start.push(self.value_or_zero(tangent, init, span));
            self.handles.insert(handle.var, Atom::Var(own.var));
            types.push(self.context.type_of(init).any_sizes());
            all.push(own);
        }
        let carrying = self.carrying(&sums.body.results);
        self.context.b.push_block();
        let values = self.block(&sums.body, &carrying, span);
        let results: Vec<Type> =
            values[sums.body.results.len()..].iter().map(|value| self.context.type_of(value).any_sizes()).collect();
        let body = self.context.b.pop_block(values);
        let finals: Vec<Binder> = types.into_iter().map(|ty| self.context.fresh("d", ty)).collect();
        let more: Vec<Binder> = results.into_iter().map(|ty| self.context.fresh("d", ty)).collect();
        let (first, rest) = statement.binders.split_at(handles.len().min(statement.binders.len()));
        let binders = [first.to_vec(), finals.clone(), rest.to_vec(), more.clone()].concat();
        let op = Op::WithAccumulators { handles: all, init: start, body };
        self.context.push_statement(Statement { binders, op, span });
        self.bind_some(first, &vec![true; first.len()], &finals);
        self.bind_some(rest, &carrying, &more);
    }

    fn accumulate(&mut self, statement: &Statement) {
        self.context.push_statement(statement.clone());
        let Op::Accumulate { handle: Atom::Var(handle), path, value: Atom::Var(value) } = &statement.op else { return };
        if let (Some(handle), Some(tangent)) = (self.handles.get(handle).cloned(), self.tangents.get(value).cloned()) {
            let op = Op::Accumulate { handle, path: path.clone(), value: tangent };
            self.context.b.push(op, Vec::new(), statement.span);
        }
    }

    /// `∂f(e) ⊙ dx = fwd$f(e, dx)`
    fn call(&mut self, statement: &Statement, function: chadwick_core::FunctionId, args: &[Atom], active: &[bool]) {
        let span = statement.span;
        let Some((made, results)) = forward_function(self.context, self.functions, function, active, span) else { return };
        let mut all = args.to_vec();
        for (arg, _) in args.iter().zip(active).filter(|(_, active)| **active) {
            let tangent = match arg {
                Atom::Var(var) => self.tangents.get(var).cloned(),
                Atom::Const(_) => None,
            };
            all.push(tangent.unwrap_or_else(|| self.context.zero_like(arg, span)));
        }
        let types = statement.binders.iter().zip(&results).filter(|(_, wanted)| **wanted);
        let types: Vec<Type> = types.map(|(binder, _)| binder.ty.any_sizes()).collect();
        let more: Vec<Binder> = types.into_iter().map(|ty| self.context.fresh("d", ty)).collect();
        let binders = [statement.binders.clone(), more.clone()].concat();
        self.context.push_statement(Statement { binders, op: Op::Call { function: made, args: all }, span });
        self.bind_some(&statement.binders, &results, &more);
    }
}

/// The form inside a map whose primal statement has to be given together with its tangents.
fn form_of(map: &Map) -> Option<&Map> {
    match map {
        Map::VCatV(_) | Map::Branch(_) | Map::Repeat(_) | Map::Derivative { .. } | Map::Accumulators(_) => Some(map),
        Map::Compose(last, first) => form_of(last).or_else(|| form_of(first)),
        Map::Sum(maps) => maps.iter().find_map(form_of),
        _ => None,
    }
}
