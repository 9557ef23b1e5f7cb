//! Functions that call themselves, in two parts.
//!
//! What such a function keeps has no bound, so it goes into a value of a recursive type that mirrors the calls: the primal part makes it, the
//! tangent part takes it apart, as the two halves of a function do in reverse mode.

use super::{Signature, Split, SplitFunction};
use crate::dependencies::Beside;
use crate::tape::Needs;
use chadwick_core::{Arm, Atom, Binder, Block, Constructor, FunctionId, Op, Type, TypeDefinition, TypeId, Var};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashSet;

impl Split<'_, '_> {
    /// Whether a call of the function can lead to another one.
    pub(super) fn calls_itself(&self, function: FunctionId) -> bool {
        let functions = &self.forward.context.program().functions;
        let calls_of = |function: FunctionId| {
            let mut calls = Vec::new();
            if let Some(function) = functions.get(function.0 as usize) {
                collect_calls(&function.body, &mut calls);
            }
            calls
        };
        let mut waiting = calls_of(function);
        let mut seen: FxHashSet<FunctionId> = FxHashSet::default();
        while let Some(called) = waiting.pop() {
            if called == function {
                return true;
            }
            if seen.insert(called) {
                waiting.extend(calls_of(called));
            }
        }
        false
    }

    /// Both parts and the type of what is kept, to be filled in; and the parameter of the tangent part that holds it.
    pub(super) fn recursive_function(&mut self, signature: &Signature<'_>) -> (SplitFunction, Binder) {
        let context = &mut *self.forward.context;
        let source = signature.source;
        let types = &mut context.b.program_mut().types;
        let tape = TypeId(types.len() as u32);
        types.push(TypeDefinition {
            name: Name::from(format!("{}_tape", source.name)),
            constructors: vec![Constructor { name: Name::from("tape"), payload: Vec::new() }],
        });
        let kept = vec![Type::Named(tape)];
        let results = [source.results.clone(), kept.clone()].concat();
        let primal = context.reserve(format!("{}_primal", source.name).into(), signature.params.clone(), results, source.span);
        let param = context.fresh("tape", Type::Named(tape));
        let params = [vec![param.clone()], signature.tangent_params.clone()].concat();
        let name = format!("{}_tangent", source.name).into();
        let tangent = context.reserve(name, params, signature.types.clone(), source.span);
        (SplitFunction { primal, tangent, kept }, param)
    }

    pub(super) fn finish_recursive(
        &mut self,
        split: &SplitFunction,
        param: &Binder,
        mut primal: Block,
        tangent: Block,
        needs: Needs,
        signature: &Signature<'_>,
    ) {
        let span = signature.source.span;
        let context = &mut *self.forward.context;
        let payload: Vec<Type> = needs.saved.iter().map(|var| context.var_type(*var).any_sizes()).collect();
        if let Type::Named(tape) = &param.ty {
            let constructor = Constructor { name: Name::from("tape"), payload: payload.clone() };
            context.b.program_mut().types[tape.0 as usize].constructors = vec![constructor];
        }
        context.b.push_block();
        primal.statements.into_iter().for_each(|statement| context.push_statement(statement));
        let saved = needs.saved.iter().map(|var| Atom::Var(*var)).collect();
        primal.results.extend(context.construct(&param.ty, 0, saved, span));
        let body = context.b.pop_block(primal.results);
        context.b.program_mut().functions[split.primal.0 as usize].body = body;

        let binders: Vec<Binder> = payload.into_iter().map(|ty| context.fresh("", ty)).collect();
        let replace: Vec<(Var, Atom)> =
            needs.saved.iter().zip(&binders).map(|(var, binder)| (*var, Atom::Var(binder.var))).collect();
        context.b.push_block();
        context.b.push_block();
        let results = self.copied(needs, tangent, replace);
        let context = &mut *self.forward.context;
        let arms = vec![Arm { tag: 0, binders, body: context.b.pop_block(results) }];
        let op = Op::Match { scrutinee: Atom::Var(param.var), arms, otherwise: None };
        let results = context.b.push(op, signature.types.clone(), span);
        context.b.program_mut().functions[split.tangent.0 as usize].body = context.b.pop_block(results);
    }

    /// The function cannot be split after all. Functions split since then may call the parts that it was to have, so they are forgotten as
    /// well; nobody calls them, and they are removed with other dead code.
    pub(super) fn abandon(&mut self, split: &SplitFunction, before: &FxHashSet<(FunctionId, Beside, Vec<bool>)>) {
        self.functions.retain(|key, _| before.contains(key));
        for function in [split.primal, split.tangent] {
            let types = self.forward.context.program().functions[function.0 as usize].results.clone();
            let body = self.forward.context.unreachable(&types, "a function that was not split", Span::default());
            self.forward.context.b.program_mut().functions[function.0 as usize].body = body;
        }
    }
}

fn collect_calls(block: &Block, calls: &mut Vec<FunctionId>) {
    for statement in &block.statements {
        if let Op::Call { function, .. } = &statement.op {
            calls.push(*function);
        }
        statement.op.scopes().iter().for_each(|scope| collect_calls(scope.block, calls));
    }
}
