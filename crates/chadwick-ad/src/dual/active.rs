//! Which variables get something beside them: those that depend on an input and on which a result depends.
//!
//! Values of sum types have it wherever they depend on an input, so that a value is never taken apart to be rid of it.

use super::numbers::{Numbers, carrier, changes};
use crate::context::Context;
use crate::flow::uses_rule;
use chadwick_core::visit::for_each_binder;
use chadwick_core::{Atom, Binder, Block, Element, FunctionId, Lambda, Op, Prim, PrimOp, Type, TypeId, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether the type is a sum, or an array of sums, or a log.
pub fn is_boxed(ty: &Type) -> bool {
    match ty {
        Type::Prim(_) => false,
        Type::Array(array) => matches!(array.element, Element::Boxed(_)),
        _ => true,
    }
}

/// The variables of a block that have something beside them, if these inputs have and these results should.
pub fn active_variables(context: &mut Context, block: &Block, inputs: Vec<Var>, wanted: &[bool]) -> FxHashSet<Var> {
    let mut active = context.active_variables(block, inputs, true);
    let is_log = |ty: &Type| matches!(ty, Type::Log(_));
    if !has_logs(block, context) {
        let outputs = block.results.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let outputs = outputs.filter_map(|(result, _)| if let Atom::Var(var) = result { Some(*var) } else { None });
        let useful = context.useful_variables(block, outputs.collect::<Vec<Var>>(), true);
        active.retain(|var| useful.contains(var) || is_boxed(&context.var_type(*var)));
    }
    active.retain(|var| {
        let ty = context.var_type(*var);
        context.carries(&ty) || is_log(&ty)
    });
    active
}

/// Whether a block writes to a log: then anything may be read again from there.
fn has_logs(block: &Block, context: &Context) -> bool {
    block.statements.iter().any(|statement| match &statement.op {
        Op::Log { .. } | Op::WithLog { .. } => true,
        Op::Call { args, .. } => args.iter().any(|arg| matches!(context.type_of(arg), Type::Log(_))),
        op => op.scopes().iter().any(|scope| has_logs(scope.block, context)),
    })
}

/// Which numbers are active in a function and in all that it calls.
pub fn survey(context: &mut Context, lambda: &Lambda) -> Numbers {
    let mut found = Found::default();
    let inputs: Vec<Var> = lambda.params.iter().map(|param| param.var).collect();
    let mut waiting = vec![(lambda.params.clone(), lambda.body.clone(), inputs)];
    let mut known: FxHashMap<FunctionId, Vec<bool>> = FxHashMap::default();
    while let Some((params, body, inputs)) = waiting.pop() {
        let active = active_variables(context, &body, inputs, &vec![true; body.results.len()]);
        for param in params.iter().filter(|param| active.contains(&param.var)) {
            found.ty(&param.ty, context);
        }
        for_each_binder(&body, &mut |var, ty| {
            if active.contains(&var) {
                found.ty(ty, context);
            }
        });
        found.block(&body, &active);
        let is_active = |arg: &Atom| matches!(arg, Atom::Var(var) if active.contains(var));
        let mut calls = Vec::new();
        collect_calls(&body, &mut |function, args| calls.push((function, args.iter().map(is_active).collect::<Vec<bool>>())));
        for (function, mask) in calls {
            if !mask.contains(&true) {
                continue;
            }
            let before = known.entry(function).or_insert_with(|| vec![false; mask.len()]);
            let joined: Vec<bool> = before.iter().zip(&mask).map(|(before, now)| *before || *now).collect();
            if joined == *before {
                continue;
            }
            before.clone_from(&joined);
            let Some(target) = context.program().functions.get(function.0 as usize) else { continue };
            let inputs = target.params.iter().zip(&joined).filter(|(_, active)| **active).map(|(param, _)| param.var).collect();
            let params: Vec<Binder> = target.params.clone();
            waiting.push((params, target.body.clone(), inputs));
        }
    }
    found.numbers()
}

fn collect_calls(block: &Block, visit: &mut dyn FnMut(FunctionId, &[Atom])) {
    for statement in &block.statements {
        if let Op::Call { function, args } = &statement.op {
            visit(*function, args);
        }
        statement.op.scopes().iter().for_each(|scope| collect_calls(scope.block, visit));
    }
}

#[derive(Default)]
struct Found {
    prims: FxHashSet<Prim>,
    conversions: FxHashSet<(Prim, Prim)>,
    seen: FxHashSet<TypeId>,
    calls: bool,
}

impl Found {
    fn ty(&mut self, ty: &Type, context: &Context) {
        match ty {
            Type::Prim(prim) => self.prim(*prim),
            Type::Array(array) => match &array.element {
                Element::Prim(prim) => self.prim(*prim),
                Element::Unit => {}
                Element::Boxed(ty) => self.ty(ty, context),
            },
            Type::Sum(constructors) => constructors.iter().flat_map(|it| &it.payload).for_each(|ty| self.ty(ty, context)),
            Type::Named(id) => {
                if self.seen.insert(*id)
                    && let Some(definition) = context.program().types.get(id.0 as usize)
                {
                    definition.constructors.iter().flat_map(|it| &it.payload).for_each(|ty| self.ty(ty, context));
                }
            }
            Type::Log(log) => log.values.iter().for_each(|ty| self.ty(ty, context)),
            Type::Function(_) | Type::Accumulator(_) => {}
        }
    }

    fn prim(&mut self, prim: Prim) {
        if prim != Prim::Bool {
            self.prims.insert(carrier(prim));
        }
    }

    fn block(&mut self, block: &Block, active: &FxHashSet<Var>) {
        for statement in &block.statements {
            if let (Op::Prim(PrimOp::Convert { from, to }, args), [binder]) = (&statement.op, statement.binders.as_slice())
                && active.contains(&binder.var)
                && matches!(&args[..], [Atom::Var(arg)] if active.contains(arg))
                && *from != Prim::Bool
                && *to != Prim::Bool
                && changes(*from, *to)
            {
                self.conversions.insert((*to, *from));
            }
            if let Op::Custom(custom) = &statement.op {
                self.calls |= uses_rule(custom, true) && statement.binders.iter().any(|binder| active.contains(&binder.var));
            }
            statement.op.scopes().iter().for_each(|scope| self.block(scope.block, active));
        }
    }

    fn numbers(self) -> Numbers {
        let mut prims: Vec<Prim> = self.prims.into_iter().collect();
        prims.sort_unstable_by(|a, b| b.cmp(a));
        if prims.is_empty() {
            prims.push(Prim::F64);
        }
        let mut conversions: Vec<(Prim, Prim)> = self.conversions.into_iter().collect();
        conversions.sort_unstable();
        Numbers { prims, conversions, calls: self.calls }
    }
}
