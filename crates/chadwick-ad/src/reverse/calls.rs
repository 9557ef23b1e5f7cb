//! Duals of calls, custom rules and accumulators.
//!
//! Cotangents of array arguments are accumulated through handles, so that a call costs what it touches and not what it is given.

use super::{Cotangent, Cotangents, Reverse};
use crate::context::Context;
use chadwick_core::{
    Arm, Atom, Binder, Block, Custom, CustomKind, FunctionId, Lambda, Op, PathStep, Statement, Type, TypeId, Var,
};
use chadwick_source::{Name, Span};
use std::rc::Rc;

impl Reverse<'_, '_> {
    pub(super) fn call(
        &mut self,
        statement: &Statement,
        function: FunctionId,
        args: &[Atom],
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let is_read = |arg: &Atom| matches!(arg, Atom::Var(var) if self.finals.contains_key(var));
        let mask: Vec<bool> = args.iter().map(|arg| self.is_active(arg) || is_read(arg)).collect();
        let split = self.function(function, &mask, span);
        let tape = self.context.fresh("tape", Type::Named(split.tape));
        let mut dual_args = vec![Atom::Var(tape.var)];
        for ((binder, incoming), wanted) in statement.binders.iter().zip(incoming).zip(&split.results) {
            if *wanted {
                dual_args.push(match incoming {
                    Some(incoming) => incoming,
                    None => self.zero(binder.var, span),
                });
            }
        }
        // Arrays are accumulated into, everything else comes back as a value.
        let mut opened: Vec<(Var, Binder)> = Vec::new();
        let mut returned: Vec<Atom> = Vec::new();
        for (arg, wanted) in args.iter().zip(&mask) {
            let (true, Atom::Var(var)) = (*wanted, arg) else { continue };
            // What is added to an accumulator of the program gets the final cotangent, which the dual only reads.
            if let Some(value) = self.finals.get(var) {
                dual_args.push(value.clone());
                continue;
            }
            let ty = self.cotangent_type(*var);
            if !self.is_accumulated(&ty) {
                returned.push(arg.clone());
                continue;
            }
            if let Some(Cotangent::Handle(handle, path)) = cotangents.get(var)
                && path.is_empty()
            {
                dual_args.push(handle.clone());
                continue;
            }
            let known = opened.iter().find(|(other, _)| other == var).map(|(_, handle)| handle.var);
            let handle = known.unwrap_or_else(|| {
                let name = Name::from(format!("{}_ct", self.context.name(*var)));
                let handle = self.context.fresh(name, Type::Accumulator(Rc::new(ty)));
                opened.push((*var, handle.clone()));
                handle.var
            });
            dual_args.push(Atom::Var(handle));
        }
        dual_args.extend(args.iter().zip(&split.given).filter(|(_, given)| **given).map(|(arg, _)| arg.clone()));
        let types: Vec<Type> = returned.iter().map(|arg| self.context.cotangent_type(&self.context.type_of(arg))).collect();
        let results = if opened.is_empty() {
            self.context.b.push(Op::Call { function: split.dual, args: dual_args }, types, span)
        } else {
            let init = opened.iter().map(|(var, _)| self.value_or_zero(cotangents, *var, span)).collect();
            self.context.b.push_block();
            let results = self.context.b.push(Op::Call { function: split.dual, args: dual_args }, types.clone(), span);
            let body = self.context.b.pop_block(results);
            let handles: Vec<Binder> = opened.iter().map(|(_, handle)| handle.clone()).collect();
            let finals: Vec<Type> = opened.iter().map(|(var, _)| self.cotangent_type(*var)).collect();
            let all_types = [finals, types].concat();
            let mut all = self.context.b.push(Op::WithAccumulators { handles, init, body }, all_types, span);
            let results = all.split_off(opened.len());
            for ((var, _), last) in opened.iter().zip(all) {
                match cotangents.get(var) {
                    // A part of an accumulator has no handle of its own: what the call adds is added there afterwards.
                    Some(Cotangent::Handle(..)) => self.add(cotangents, &Atom::Var(*var), last, span),
                    _ => {
                        cotangents.insert(*var, Cotangent::Value(last));
                    }
                }
            }
            results
        };
        for (arg, result) in returned.iter().zip(results) {
            self.add(cotangents, arg, result, span);
        }
        let binders = [statement.binders.clone(), vec![tape]].concat();
        Statement { binders, op: Op::Call { function: split.forward, args: args.to_vec() }, span }
    }

    pub(super) fn custom(
        &mut self,
        statement: &Statement,
        custom: &Custom,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        if custom.kind == CustomKind::Jvp {
            // Reverse mode differentiates the function itself.
            return self.inlined(statement, &custom.function, &custom.args, incoming, cotangents);
        }
        let tape = custom.kind.tape();
        let tapes: Vec<Binder> =
            custom.function.results[..tape].iter().map(|ty| self.context.fresh("tape", ty.any_sizes())).collect();
        let mut rule_args: Vec<Atom> = match custom.kind {
            CustomKind::Vjp => statement.binders.iter().map(|binder| Atom::Var(binder.var)).collect(),
            _ => tapes.iter().map(|binder| Atom::Var(binder.var)).collect(),
        };
        for (binder, incoming) in statement.binders.iter().zip(incoming) {
            let value = Atom::Var(binder.var);
            rule_args.push(match incoming {
                Some(incoming) => self.context.cotangent_to_value(&incoming, &value, span),
                None if self.context.is_sparse(&binder.ty) => self.context.zero_like(&value, span),
                None => self.zero(binder.var, span),
            });
        }
        let rule = self.context.copy_lambda(&custom.rule);
        for (param, arg) in rule.params.iter().zip(rule_args) {
            self.context.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg]), span });
        }
        rule.body.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
        for (arg, contribution) in custom.args.iter().zip(rule.body.results) {
            let contribution = self.context.cotangent_from_value(&contribution, span);
            self.add(cotangents, arg, contribution, span);
        }
        // The function itself is only run; a derivative around this one goes by its rule again.
        if tapes.is_empty() {
            return statement.clone();
        }
        // Its tape results come first.
        let params: Vec<(Var, Atom)> =
            custom.function.params.iter().zip(&custom.args).map(|(param, arg)| (param.var, arg.clone())).collect();
        let body = self.context.copy_block(&custom.function.body, params);
        Statement { binders: [tapes, statement.binders.clone()].concat(), op: Op::Recompute(body), span }
    }

    /// The statement as the body of a lambda at its arguments.
    fn inlined(
        &mut self,
        statement: &Statement,
        lambda: &Lambda,
        args: &[Atom],
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let copies = lambda.params.iter().zip(args).map(|(param, arg)| Statement {
            binders: vec![param.clone()],
            op: Op::Copy(vec![arg.clone()]),
            span,
        });
        for (param, arg) in lambda.params.iter().zip(args) {
            if self.is_active(arg) {
                self.active.insert(param.var);
            }
        }
        let statements = copies.chain(lambda.body.statements.iter().cloned()).collect();
        let block = Block { statements, results: lambda.body.results.clone() };
        let empty = Block::default();
        let as_pair = Statement { op: Op::Par { left: block.clone(), right: empty.clone() }, ..statement.clone() };
        self.par(&as_pair, &block, &empty, incoming, cotangents)
    }

    // -------------------------------------------------------------------------------------------------------- accumulators

    /// Accumulators of the program itself. Whatever was added at a place gets the final cotangent of that place.
    pub(super) fn with_accumulators(
        &mut self,
        statement: &Statement,
        handles: &[Binder],
        init: &[Atom],
        body: &Block,
        incoming: Vec<Option<Atom>>,
        cotangents: &mut Cotangents,
    ) -> Statement {
        let span = statement.span;
        let (finals, results) = incoming.split_at(handles.len().min(incoming.len()));
        let mut values = Vec::new();
        for ((handle, incoming), binder) in handles.iter().zip(finals).zip(&statement.binders) {
            let value = match incoming {
                Some(value) => value.clone(),
                None => self.zero(binder.var, span),
            };
            self.finals.insert(handle.var, value.clone());
            values.push(value);
        }
        let (block, tapes) = self.accumulating_body(body, results, cotangents, span);
        for (init, value) in init.iter().zip(values) {
            self.add(cotangents, init, value, span);
        }
        let op = Op::WithAccumulators { handles: handles.to_vec(), init: init.to_vec(), body: block };
        Statement { binders: [statement.binders.clone(), tapes].concat(), op, span }
    }

    fn accumulating_body(
        &mut self,
        body: &Block,
        incoming: &[Option<Atom>],
        cotangents: &mut Cotangents,
        span: Span,
    ) -> (Block, Vec<Binder>) {
        self.part_of_pair(body, incoming, cotangents, span)
    }

    pub(crate) fn accumulate(&mut self, handle: &Atom, path: &[PathStep], value: &Atom, cotangents: &mut Cotangents, span: Span) {
        let Atom::Var(handle) = handle else { return };
        let Some(mut part) = self.finals.get(handle).cloned() else { return };
        if !self.is_active(value) {
            return;
        }
        for step in path {
            part = match step {
                PathStep::Index(indices) => self.context.emit_one(Op::Index { array: part, indices: indices.clone() }, span),
                PathStep::Slice(dims) => self.context.emit_one(Op::Slice { array: part, dims: dims.clone() }, span),
                PathStep::Payload { tag, field } => {
                    let Some(payload) = self.payload_types(&part, *tag) else { return };
                    let binders: Vec<Binder> = payload.into_iter().map(|ty| self.context.fresh("", ty)).collect();
                    let Some(chosen) = binders.get(*field).cloned() else { return };
                    let body = Block { statements: Vec::new(), results: vec![Atom::Var(chosen.var)] };
                    // The final cotangent has the constructor into which something was added.
                    let otherwise =
                        self.context.unreachable(std::slice::from_ref(&chosen.ty), "a cotangent of another constructor", span);
                    let arms = vec![Arm { tag: *tag, binders, body }];
                    let op = Op::Match { scrutinee: part, arms, otherwise: Some(otherwise) };
                    self.context.b.push(op, vec![chosen.ty], span).into_iter().next().unwrap_or(Atom::i64(0))
                }
            };
        }
        self.add(cotangents, value, part, span);
    }
}

/// Whether a type holds arrays, and whether it can hold itself.
struct Contents {
    arrays: bool,
    recursive: bool,
}

impl Reverse<'_, '_> {
    /// Whether the cotangent of a parameter is accumulated by the function rather than returned by it: it may be large while what is
    /// added is small. A recursive type is taken apart step by step anyway.
    pub(super) fn is_accumulated(&self, ty: &Type) -> bool {
        let mut contents = Contents { arrays: false, recursive: false };
        self.look_into(ty, &mut Vec::new(), &mut contents);
        let plain = match ty {
            Type::Array(_) => Context::is_flat(ty),
            Type::Sum(_) | Type::Named(_) => true,
            _ => false,
        };
        plain && contents.arrays && !contents.recursive
    }

    fn look_into(&self, ty: &Type, open: &mut Vec<TypeId>, contents: &mut Contents) {
        match ty {
            Type::Prim(_) | Type::Function(_) | Type::Accumulator(_) | Type::Log(_) => {}
            Type::Array(array) => {
                contents.arrays = true;
                if let Some(element) = array.element.as_type() {
                    self.look_into(&element, open, contents);
                }
            }
            Type::Sum(constructors) => {
                constructors.iter().flat_map(|it| &it.payload).for_each(|ty| self.look_into(ty, open, contents));
            }
            Type::Named(id) => {
                if open.contains(id) {
                    contents.recursive = true;
                    return;
                }
                open.push(*id);
                if let Some(definition) = self.context.program().types.get(id.0 as usize) {
                    definition.constructors.iter().flat_map(|it| &it.payload).for_each(|ty| self.look_into(ty, open, contents));
                }
                open.pop();
            }
        }
    }

    /// The types of a constructor's fields.
    pub(super) fn payload_types(&self, sum: &Atom, tag: u32) -> Option<Vec<Type>> {
        let ty = self.context.type_of(sum);
        let constructors = chadwick_core::typing::constructors(&self.context.b, &ty)?;
        Some(constructors.get(tag as usize)?.payload.clone())
    }

    /// Whether a value of the type has arrays in it.
    pub(crate) fn holds_arrays(&self, ty: &Type) -> bool {
        let mut contents = Contents { arrays: false, recursive: false };
        self.look_into(ty, &mut Vec::new(), &mut contents);
        contents.arrays
    }
}
