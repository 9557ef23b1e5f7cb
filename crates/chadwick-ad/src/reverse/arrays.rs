//! Duals of the parallel array forms.
//!
//! Many iterations contribute to one variable from outside, so the dual body accumulates: an accumulator is opened around the dual for
//! each such variable that has none yet, starting from what was contributed so far.

use super::{Cotangent, Cotangents, Reverse};
use crate::shapes::Moving;
use chadwick_core::visit::free_variables;
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Dim, Lambda, Op, Prim, PrimOp, Size, Statement, Type, Var,
};
use chadwick_source::{Name, Span};
use std::rc::Rc;

impl Reverse<'_, '_> {
    pub(super) fn build(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        body: &Block,
        inner: &[Vec<Size>],
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        let split = self.parallel(space, body, cotangents, span, |reverse, own| {
            for (result, incoming) in body.results.iter().zip(&incoming) {
                if let Some(incoming) = incoming
                    && reverse.is_active(result)
                {
                    let op = Op::Index { array: incoming.clone(), indices: indices.clone() };
                    let part = reverse.context.emit_one(op, span);
                    reverse.add(own, result, part, span);
                }
            }
        });
        let tapes: Vec<Binder> =
            split.types.iter().map(|ty| self.context.fresh("tape", ty.clone().array(vec![Dim::Any; space.len()]))).collect();
        self.close(&split, &tapes, cotangents, span);
        let body = Block { statements: split.forward, results: [body.results.clone(), split.values].concat() };
        let op = Op::Build { space: space.to_vec(), body, inner: [inner.to_vec(), split.inner].concat() };
        Statement { binders: [statement.binders.clone(), tapes].concat(), op, span }
    }

    /// A reduction by addition: every element gets the cotangent of the sum.
    pub(super) fn sum_reduction(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        body: &Block,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let Op::Reduce { op, neutral, commutative, .. } = &statement.op else { return statement.clone() };
        for (neutral, incoming) in neutral.iter().zip(&incoming) {
            if let Some(incoming) = incoming {
                self.add(cotangents, neutral, incoming.clone(), span);
            }
        }
        let split = self.parallel(space, body, cotangents, span, |reverse, own| {
            for (result, incoming) in body.results.iter().zip(&incoming) {
                if let Some(incoming) = incoming {
                    reverse.add(own, result, incoming.clone(), span);
                }
            }
        });
        self.over_elements(statement, space, body, split, cotangents, |space, body| Op::Reduce {
            space,
            op: op.clone(),
            neutral: neutral.clone(),
            body,
            commutative: *commutative,
        })
    }

    /// Prefix sums: every element gets the sum of the cotangents from its place on.
    pub(super) fn prefix_sums(
        &mut self,
        statement: &Statement,
        axis: &Axis,
        body: &Block,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let Op::Scan { op, neutral, .. } = &statement.op else { return statement.clone() };
        let mut suffixes: Vec<Option<Atom>> = Vec::new();
        for (neutral, incoming) in neutral.iter().zip(&incoming) {
            let Some(incoming) = incoming else {
                suffixes.push(None);
                continue;
            };
            if self.is_active(neutral) {
                let total = self.context.total(incoming, &axis.size, span);
                self.add(cotangents, neutral, total, span);
            }
            suffixes.push(Some(self.suffix_sums(incoming, &axis.size, span)));
        }
        let from_end = |reverse: &mut Self| {
            let index = reverse.context.i64_op(BinaryOp::Sub, axis.size.clone(), Atom::Var(axis.var), span);
            reverse.context.i64_op(BinaryOp::Sub, index, Atom::i64(1), span)
        };
        let split = self.parallel(std::slice::from_ref(axis), body, cotangents, span, |reverse, own| {
            for (result, suffixes) in body.results.iter().zip(&suffixes) {
                if let Some(suffixes) = suffixes
                    && reverse.is_active(result)
                {
                    let at = from_end(reverse);
                    let part = reverse.context.emit_one(Op::Index { array: suffixes.clone(), indices: vec![at] }, span);
                    reverse.add(own, result, part, span);
                }
            }
        });
        self.over_elements(statement, std::slice::from_ref(axis), body, split, cotangents, |space, body| {
            let axis = space.into_iter().next().unwrap_or_else(|| axis.clone());
            Op::Scan { axis, op: op.clone(), neutral: neutral.clone(), body }
        })
    }

    /// The sums of the last 1, 2, … elements.
    fn suffix_sums(&mut self, array: &Atom, size: &Atom, span: Span) -> Atom {
        let Some(element) = self.context.type_of(array).peel(1) else { return array.clone() };
        let Some(prim) = element.as_prim() else { return array.clone() };
        let index = self.context.fresh("i", Type::I64);
        let body = self.context.block(|context| {
            let at = context.i64_op(BinaryOp::Sub, size.clone(), Atom::Var(index.var), span);
            let at = context.i64_op(BinaryOp::Sub, at, Atom::i64(1), span);
            vec![context.emit_one(Op::Index { array: array.clone(), indices: vec![at] }, span)]
        });
        let op = self.context.plus(prim, span);
        let axis = Axis { var: index.var, size: size.clone() };
        self.context.emit_one(Op::Scan { axis, op, neutral: vec![Atom::Const(Const::zero(prim))], body }, span)
    }

    /// The forward part of a form that consumes elements. Where something is kept, the elements are built together with it, once, and the
    /// form runs over them.
    fn over_elements(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        body: &Block,
        split: Parallel,
        cotangents: &mut Cotangents,
        form: impl FnOnce(Vec<Axis>, Block) -> Op,
    ) -> Statement {
        let span = statement.span;
        if split.saved.is_empty() {
            self.close(&split, &[], cotangents, span);
            let body = Block { statements: split.forward, results: body.results.clone() };
            return Statement { binders: statement.binders.clone(), op: form(space.to_vec(), body), span };
        }
        let rank = space.len();
        let tapes: Vec<Binder> =
            split.types.iter().map(|ty| self.context.fresh("tape", ty.clone().array(vec![Dim::Any; rank]))).collect();
        self.close(&split, &tapes, cotangents, span);
        let elements: Vec<Binder> = body
            .results
            .iter()
            .map(|result| {
                let ty = self.context.type_of(result).any_sizes().array(vec![Dim::Any; rank]);
                self.context.fresh("", ty)
            })
            .collect();
        let sizes: Vec<Vec<Size>> = elements.iter().map(|element| vec![Size::FromValue; element.ty.rank() - rank]).collect();
        let build_body = Block { statements: split.forward, results: [body.results.clone(), split.values].concat() };
        let build = Op::Build { space: space.to_vec(), body: build_body, inner: [sizes, split.inner].concat() };
        let again: Vec<Axis> =
            space.iter().map(|axis| Axis { var: self.context.fresh("i", Type::I64).var, size: axis.size.clone() }).collect();
        let indices: Vec<Atom> = again.iter().map(|axis| Atom::Var(axis.var)).collect();
        let consumer = self.context.block(|context| {
            elements
                .iter()
                .map(|element| context.emit_one(Op::Index { array: Atom::Var(element.var), indices: indices.clone() }, span))
                .collect()
        });
        // One statement with both inside: a recomputable block is the plainest wrapper that binds several results.
        let results: Vec<Binder> = statement.binders.iter().map(|binder| self.context.fresh("", binder.ty.clone())).collect();
        let tape_results: Vec<Binder> = tapes.iter().map(|tape| self.context.fresh("", tape.ty.clone())).collect();
        let statements = vec![
            Statement { binders: [elements, tape_results.clone()].concat(), op: build, span },
            Statement { binders: results.clone(), op: form(again, consumer), span },
        ];
        let results = results.iter().chain(&tape_results).map(|binder| Atom::Var(binder.var)).collect();
        let op = Op::Recompute(Block { statements, results });
        Statement { binders: [statement.binders.clone(), tapes].concat(), op, span }
    }

    /// A histogram of sums: the destination keeps its cotangent, every value in range gets that of its bin.
    pub(super) fn histogram(
        &mut self,
        statement: &Statement,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let Op::Hist { space, dest, rank, op, neutral, body } = &statement.op else { return statement.clone() };
        let rank = *rank;
        let split = self.parallel(space, body, cotangents, span, |reverse, own| {
            for (value, incoming) in body.results[rank..].iter().zip(&incoming) {
                if let Some(incoming) = incoming
                    && reverse.is_active(value)
                {
                    let part = reverse.bin(incoming, &body.results[..rank], value, span);
                    reverse.add(own, value, part, span);
                }
            }
        });
        for (dest, incoming) in dest.iter().zip(&incoming) {
            if let Some(incoming) = incoming {
                self.add(cotangents, dest, incoming.clone(), span);
            }
        }
        self.over_elements(statement, space, body, split, cotangents, |space, body| Op::Hist {
            space,
            dest: dest.clone(),
            rank,
            op: op.clone(),
            neutral: neutral.clone(),
            body,
        })
    }

    /// The cotangent of a bin, or zero where the index is out of range.
    fn bin(&mut self, bins: &Atom, indices: &[Atom], value: &Atom, span: Span) -> Atom {
        let mut inside = Atom::bool(true);
        for (axis, index) in indices.iter().enumerate() {
            let size = self.context.emit_one(Op::Dim { array: bins.clone(), axis }, span);
            let at_least =
                self.context.prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), vec![Atom::i64(0), index.clone()], span);
            let below = self.context.prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![index.clone(), size], span);
            for condition in [at_least, below] {
                inside = match inside {
                    Atom::Const(Const::Bool(true)) => condition,
                    inside => self.context.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![inside, condition], span),
                };
            }
        }
        let then = self
            .context
            .block(|context| vec![context.emit_one(Op::Index { array: bins.clone(), indices: indices.to_vec() }, span)]);
        let value = value.clone();
        self.context.b.push_block();
        let zero = match &value {
            Atom::Var(var) => self.zero(*var, span),
            constant => constant.clone(),
        };
        let otherwise = self.context.b.pop_block(vec![zero]);
        let ty = self.context.cotangent_type(&self.context.type_of(&value)).any_sizes();
        let op = Op::If { condition: inside, then, otherwise };
        self.context.b.push(op, vec![ty], span).into_iter().next().unwrap_or(Atom::i64(0))
    }

    /// Splits the body of a parallel form. `seed` puts the cotangents of the body's results in.
    fn parallel(
        &mut self,
        space: &[Axis],
        body: &Block,
        cotangents: &mut Cotangents,
        span: Span,
        seed: impl FnOnce(&mut Self, &mut Cotangents),
    ) -> Parallel {
        let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
        let outside: Vec<Var> = free_variables(body)
            .into_iter()
            .filter(|var| self.is_active(&Atom::Var(*var)) && !axes.contains(var))
            .filter(|var| !self.finals.contains_key(var))
            .collect();
        let mut own = Cotangents::default();
        let mut opened = Vec::new();
        let mut returned = Vec::new();
        for var in outside {
            match cotangents.get(&var) {
                Some(Cotangent::Handle(handle, path)) => {
                    own.insert(var, Cotangent::Handle(handle.clone(), path.clone()));
                }
                // A part of a list or a tree is smaller than what an accumulator of it would hold.
                _ if self.context.var_type(var).rank() == 0 && self.context.is_sparse(&self.context.var_type(var)) => {
                    returned.push(var);
                }
                _ => {
                    let ty = Type::Accumulator(Rc::new(self.context.var_type(var).any_sizes()));
                    let handle = self.context.fresh(Name::from(format!("{}_ct", self.context.name(var))), ty);
                    own.insert(var, Cotangent::Handle(Atom::Var(handle.var), Vec::new()));
                    opened.push((var, handle));
                }
            }
        }
        self.context.b.push_block();
        seed(self, &mut own);
        self.context.makings.own_rows(&axes, body);
        self.parallel_depth += 1;
        let mut forward = self.split_repeated(body, &axes, &mut own);
        self.parallel_depth -= 1;
        returned.retain(|var| own.contains_key(var));
        let contributions = returned.iter().map(|var| self.take_or_zero(&mut own, *var, span)).collect();
        let mut dual = self.context.b.pop_block(contributions);
        let needs = self.context.needs_of_iteration(&mut forward, &mut dual, &[], &axes, span);
        let moving: Vec<Moving> = axes.iter().map(|axis| Moving::index(*axis)).collect();
        let kept = self.context.keep(&needs.saved, forward, &moving, span);
        let again = needs.again;
        Parallel {
            space: space.to_vec(),
            opened,
            returned,
            saved: needs.saved,
            again,
            dual,
            forward: kept.forward,
            values: kept.values,
            types: kept.types,
            inner: kept.inner,
            boxed: kept.boxed,
        }
    }

    /// Emits the dual of a parallel form: reads the tapes, contributes, and takes the accumulated cotangents out again.
    fn close(&mut self, split: &Parallel, tapes: &[Binder], cotangents: &mut Cotangents, span: Span) {
        if split.dual.statements.is_empty() && split.returned.is_empty() {
            return;
        }
        let init: Vec<Atom> = split.opened.iter().map(|(var, _)| self.take_in_form(cotangents, *var, span)).collect();
        let space: Vec<Axis> = split
            .space
            .iter()
            .map(|axis| Axis { var: self.context.fresh("i", Type::I64).var, size: axis.size.clone() })
            .collect();
        let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        self.context.b.push_block();
        let mut replace: Vec<(Var, Atom)> =
            split.space.iter().zip(&indices).map(|(axis, index)| (axis.var, index.clone())).collect();
        replace.extend(self.context.read_tapes(&split.saved, tapes, &split.boxed, &indices, span));
        let whole = Block {
            statements: [split.again.clone(), split.dual.statements.clone()].concat(),
            results: split.dual.results.clone(),
        };
        let copy = self.context.copy_block(&whole, replace);
        copy.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
        let body = self.context.b.pop_block(copy.results);
        let returned: Vec<Type> =
            split.returned.iter().map(|var| self.cotangent_type(*var).array(vec![Dim::Any; space.len()])).collect();
        let each = Op::Build { space, body, inner: vec![Vec::new(); returned.len()] };
        let contributions = if split.opened.is_empty() {
            self.context.b.push(each, returned, span)
        } else {
            let handles: Vec<Binder> = split.opened.iter().map(|(_, handle)| handle.clone()).collect();
            self.context.b.push_block();
            let results = self.context.b.push(each, returned.clone(), span);
            let body = self.context.b.pop_block(results);
            let opened: Vec<Type> = split.opened.iter().map(|(var, _)| self.context.var_type(*var).any_sizes()).collect();
            let types = [opened, returned].concat();
            let mut finals = self.context.b.push(Op::WithAccumulators { handles, init, body }, types, span);
            let contributions = finals.split_off(split.opened.len());
            for ((var, _), last) in split.opened.iter().zip(finals) {
                let last = self.context.cotangent_from_value(&last, span);
                cotangents.insert(*var, Cotangent::Value(last));
            }
            contributions
        };
        for (var, contributions) in split.returned.iter().zip(contributions) {
            let total = self.total_contribution(*var, contributions, &split.space, span);
            self.add(cotangents, &Atom::Var(*var), total, span);
        }
    }

    /// The sum of what the iterations contribute to a variable.
    fn total_contribution(&mut self, var: Var, contributions: Atom, space: &[Axis], span: Span) -> Atom {
        let ty = self.cotangent_type(var);
        let params = vec![self.context.fresh("a", ty.clone()), self.context.fresh("b", ty.clone())];
        let (left, right) = (Atom::Var(params[0].var), Atom::Var(params[1].var));
        let sum = self.context.block(|context| vec![context.sum(left, right, span)]);
        let op = Lambda { params, results: vec![ty], body: sum };
        let neutral = vec![self.zero(var, span)];
        let space: Vec<Axis> =
            space.iter().map(|axis| Axis { var: self.context.fresh("i", Type::I64).var, size: axis.size.clone() }).collect();
        let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        let body = self.context.block(|context| vec![context.emit_one(Op::Index { array: contributions, indices }, span)]);
        self.context.emit_one(Op::Reduce { space, op, neutral, body, commutative: true }, span)
    }
}

/// The body of a parallel form after the split.
struct Parallel {
    space: Vec<Axis>,
    /// Variables from outside to which the dual adds through an accumulator.
    opened: Vec<(Var, Binder)>,
    /// Variables from outside for which the dual returns a contribution in every iteration.
    returned: Vec<Var>,
    saved: Vec<Var>,
    again: Vec<Statement>,
    dual: Block,
    forward: Vec<Statement>,
    values: Vec<Atom>,
    types: Vec<Type>,
    inner: Vec<Vec<Size>>,
    boxed: Vec<bool>,
}
