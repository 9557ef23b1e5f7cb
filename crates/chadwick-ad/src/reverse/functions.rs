//! Functions in two halves: the forward one also returns a tape, the dual one takes the tape and the cotangents of the results.

use super::{Cotangent, Cotangents, LastBranches, Reverse, SplitFunction, Tail};
use crate::context::Context;
use chadwick_core::visit::{free_variables, op_free_variables};
use chadwick_core::{
    Arm, Atom, Binder, Block, Constructor, FunctionId, Lambda, Op, Statement, Type, TypeDefinition, TypeId, Var,
};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The halves of a function's body.
struct Halves {
    forward: Vec<Statement>,
    /// The tape, if the forward statements make it.
    record: Option<Atom>,
    /// One for each constructor of the tape.
    cases: Vec<Case>,
}

/// A constructor of a tape: the variables that are kept, what they are in the forward part where it is made, and the dual that reads them.
struct Case {
    kept: Vec<Var>,
    values: Vec<Atom>,
    dual: Block,
}

impl Case {
    fn constructor(&self, context: &Context) -> Constructor {
        let payload = self.kept.iter().map(|var| context.var_type(*var).any_sizes()).collect();
        Constructor { name: Name::from("tape"), payload }
    }
}

impl Reverse<'_, '_> {
    /// Both halves of a function whose masked arguments are active.
    pub(super) fn function(&mut self, function: FunctionId, mask: &[bool], span: Span) -> SplitFunction {
        let key = (function, mask.to_vec());
        if let Some(known) = self.functions.get(&key) {
            return known.clone();
        }
        let source = self.context.program().functions[function.0 as usize].clone();
        let lambda = Lambda { params: source.params, results: source.results.clone(), body: source.body };
        let lambda = self.context.copy_lambda(&lambda);
        let results: Vec<bool> = self
            .context
            .active_results(function, mask, true)
            .iter()
            .zip(&source.results)
            .map(|(active, ty)| *active && self.context.carries(ty))
            .collect();
        let types = &mut self.context.b.program_mut().types;
        types.push(TypeDefinition { name: Name::from(format!("{}_tape", source.name)), constructors: Vec::new() });
        let tape = TypeId(types.len() as u32 - 1);

        let active_params: Vec<Binder> =
            lambda.params.iter().zip(mask).filter(|(_, wanted)| **wanted).map(|(param, _)| param.clone()).collect();
        let tape_param = self.context.fresh("tape", Type::Named(tape));
        let mut dual_params = vec![tape_param.clone()];
        let mut seeds = Vec::new();
        for ((result, wanted), ty) in lambda.body.results.iter().zip(&results).zip(&lambda.results) {
            if *wanted {
                let seed = self.fresh_cotangent("ct", &ty.any_sizes());
                seeds.push((result.clone(), Atom::Var(seed.var)));
                dual_params.push(seed);
            }
        }
        let mut cotangents = Cotangents::default();
        let mut returned: Vec<Binder> = Vec::new();
        let mut finals = FxHashMap::default();
        for param in &active_params {
            if let Type::Accumulator(content) = &param.ty {
                let value = self.fresh_cotangent("ct", &content.any_sizes());
                finals.insert(param.var, Atom::Var(value.var));
                dual_params.push(value);
                continue;
            }
            let ty = param.ty.any_sizes();
            if self.is_accumulated(&ty) {
                let name = Name::from(format!("{}_ct", self.context.name(param.var)));
                let handle = self.context.fresh(name, Type::Accumulator(Rc::new(ty)));
                cotangents.insert(param.var, Cotangent::Handle(Atom::Var(handle.var), Vec::new()));
                dual_params.push(handle);
            } else {
                returned.push(param.clone());
            }
        }
        let is_given = given_params(function, &lambda);
        let mut given: Vec<(Var, Atom)> = Vec::new();
        for (param, _) in lambda.params.iter().zip(&is_given).filter(|(_, given)| **given) {
            let copy = self.context.fresh(self.context.name(param.var), param.ty.any_sizes());
            given.push((param.var, Atom::Var(copy.var)));
            dual_params.push(copy);
        }
        let returned_types: Vec<Type> = returned.iter().map(|param| self.context.cotangent_type(&param.ty)).collect();
        let forward_types = [lambda.results.clone(), vec![Type::Named(tape)]].concat();
        let forward_name = Name::from(format!("{}_fwd", source.name));
        let forward = self.context.reserve(forward_name, lambda.params.clone(), forward_types, source.span);
        let dual =
            self.context.reserve(Name::from(format!("{}_rev", source.name)), dual_params, returned_types.clone(), source.span);
        let split = SplitFunction { forward, dual, tape, results, given: is_given };
        self.functions.insert(key, split.clone());

        let inputs: Vec<Var> = active_params.iter().map(|param| param.var).collect();
        let active = self.context.passed_variables(&lambda.body, inputs);
        let last = lambda.body.statements.last().and_then(|last| last.binders.first()).map(|binder| binder.var);
        let tail = last.map_or(Tail::None, Tail::Wanted);
        let (functions, sizes) = (&mut *self.functions, Vec::new());
        let (undo, settled) = (super::undo::Undo::default(), super::settled::Settled::default());
        let mut inner =
            Reverse { context: self.context, functions, active, sizes, finals, parallel_depth: 0, tail, undo, settled };
        let at_hand: Vec<Var> = given.iter().map(|(var, _)| *var).collect();
        let halves = inner.halves(&lambda, &seeds, cotangents, &returned, &at_hand, span);
        let tail = inner.tail;
        let halves = self.by_branch(halves, tail, tape, span);
        let constructors = halves.cases.iter().map(|case| case.constructor(self.context));
        self.context.b.program_mut().types[tape.0 as usize].constructors = constructors.collect();

        // Forward: results and tape.
        self.context.b.push_block();
        halves.forward.into_iter().for_each(|statement| self.context.push_statement(statement));
        let record = match halves.record {
            Some(record) => vec![record],
            None => self.context.construct(&Type::Named(tape), 0, halves.cases[0].values.clone(), span),
        };
        let body = self.context.b.pop_block([lambda.body.results.clone(), record].concat());
        self.context.b.program_mut().functions[forward.0 as usize].body = body;

        // Dual: the tape is opened first.
        self.context.b.push_block();
        let arms = halves.cases.into_iter().enumerate().map(|(tag, case)| {
            let fields: Vec<Type> = case.kept.iter().map(|var| self.context.var_type(*var).any_sizes()).collect();
            let binders: Vec<Binder> = fields.into_iter().map(|ty| self.context.fresh("", ty)).collect();
            let opened = case.kept.iter().zip(&binders).map(|(var, binder)| (*var, Atom::Var(binder.var)));
            let replace: Vec<(Var, Atom)> = opened.chain(given.iter().cloned()).collect();
            Arm { tag: tag as u32, binders, body: self.context.copy_block(&case.dual, replace) }
        });
        let arms = arms.collect();
        let op = Op::Match { scrutinee: Atom::Var(tape_param.var), arms, otherwise: None };
        let results = self.context.b.push(op, returned_types, span);
        let body = self.context.b.pop_block(results);
        self.context.b.program_mut().functions[dual.0 as usize].body = body;
        split
    }

    /// The forward statements of a function, what its dual needs besides the variables that are at hand, and the dual.
    fn halves(
        &mut self,
        lambda: &Lambda,
        seeds: &[(Atom, Atom)],
        mut cotangents: Cotangents,
        returned: &[Binder],
        at_hand: &[Var],
        span: Span,
    ) -> Halves {
        self.context.b.push_block();
        for (result, seed) in seeds {
            self.add(&mut cotangents, result, seed.clone(), span);
        }
        let params: Vec<Var> = lambda.params.iter().map(|param| param.var).collect();
        let forward = self.split_repeated(&lambda.body, &params, &mut cotangents);
        let results = returned.iter().map(|param| self.take_or_zero(&mut cotangents, param.var, span)).collect();
        let dual = self.context.b.pop_block(results);
        let forward = self.place_sizes(forward, &params);
        let needs = self.context.needs(&forward, &dual, &params, at_hand);
        let dual = Block { statements: [needs.again, dual.statements].concat(), results: dual.results };
        let values = needs.saved.iter().map(|var| Atom::Var(*var)).collect();
        Halves { forward, record: None, cases: vec![Case { kept: needs.saved, values, dual }] }
    }

    /// The halves with a constructor of the tape for each branch, if the function ends in a conditional: a call keeps what the branch that
    /// it took needs, which for the last calls of a recursion is often nothing.
    fn by_branch(&mut self, halves: Halves, tail: Tail, tape: TypeId, span: Span) -> Halves {
        let Tail::Found(last) = tail else { return halves };
        match self.cases_of(&halves, &last) {
            Some(cases) => self.recorded_by_branch(halves, *last, cases, tape, span),
            None => halves,
        }
    }

    /// What each branch of the last statement keeps, and the dual of the function where it was taken. `None` if the dual has more to do than
    /// that of its last statement, or it is not certain that this is what stands there.
    fn cases_of(&self, halves: &Halves, last: &LastBranches) -> Option<Vec<Case>> {
        /// Statements around the dual of the conditional that each case may repeat.
        const FEW: usize = 24;
        let [Case { kept, dual, .. }] = halves.cases.as_slice() else { return None };
        let is_last = |statement: &Statement| statement.binders.iter().any(|binder| last.slots.contains(&binder.var));
        let statement = halves.forward.last().filter(|statement| is_last(statement))?;
        let reads = |statement: &Statement| op_free_variables(&statement.op).iter().any(|var| last.slots.contains(var));
        let at = dual.statements.iter().position(reads)?;
        let around = dual.statements.iter().enumerate().filter(|(number, _)| *number != at);
        let is_light = |(_, statement): (usize, &Statement)| !reads(statement) && statement.op.scopes().is_empty();
        if dual.statements.len() > FEW || !around.into_iter().all(is_light) {
            return None;
        }
        let mut cases = Vec::new();
        for branch in &last.branches {
            let (before, behind) = (&dual.statements[..at], &dual.statements[at + 1..]);
            let named = Statement {
                binders: dual.statements[at].binders.clone(),
                op: Op::Copy(branch.dual.results.clone()),
                span: statement.span,
            };
            let own = [before, &branch.needs.again, &branch.dual.statements, &[named], behind].concat();
            let body = Block { statements: own, results: dual.results.clone() };
            let read = free_variables(&body);
            let mut case = Case { kept: Vec::new(), values: Vec::new(), dual: body };
            let payload = branch.binders.iter().map(|binder| binder.var);
            let common = kept.iter().copied().filter(|var| !last.slots.contains(var));
            for var in common.chain(payload).chain(branch.needs.saved.iter().copied()) {
                if read.contains(&var) && !case.kept.contains(&var) {
                    // What the statement gives is known by another name in its branches.
                    let result = statement.binders.iter().position(|binder| binder.var == var);
                    case.values.push(result.map_or(Atom::Var(var), |at| branch.results[at].clone()));
                    case.kept.push(var);
                }
            }
            cases.push(case);
        }
        Some(cases)
    }

    /// The halves where each branch of the last statement makes the tape.
    fn recorded_by_branch(&mut self, halves: Halves, last: LastBranches, cases: Vec<Case>, tape: TypeId, span: Span) -> Halves {
        let mut forward = halves.forward;
        let Some(statement) = forward.pop() else { return Halves { forward, ..halves } };
        let record = self.context.fresh("tape", Type::Named(tape));
        let mut blocks = Vec::new();
        for (tag, (branch, case)) in last.branches.iter().zip(&cases).enumerate() {
            self.context.b.push_block();
            branch.forward.iter().for_each(|statement| self.context.push_statement(statement.clone()));
            let made = self.context.construct(&Type::Named(tape), tag as u32, case.values.clone(), span);
            blocks.push(self.context.b.pop_block([branch.results.clone(), made].concat()));
        }
        let binders = statement.binders.iter().filter(|binder| !last.slots.contains(&binder.var)).cloned();
        let binders = binders.chain([record.clone()]).collect();
        let mut blocks = blocks.into_iter();
        let op = statement.op.map_blocks(&mut |_| blocks.next().unwrap_or_default());
        forward.push(Statement { binders, op, span: statement.span });
        Halves { forward, record: Some(Atom::Var(record.var)), cases }
    }
}

/// The parameters that the dual of a function is given, so that no call need keep them: those that the function passes on unchanged wherever
/// it calls itself, and counters, which a caller mostly makes again from its own. A function that does not call itself has none: what its
/// dual needs is kept once anyway.
fn given_params(function: FunctionId, lambda: &Lambda) -> Vec<bool> {
    fn visit(block: &Block, function: FunctionId, params: &[Binder], given: &mut [bool], calls: &mut usize) {
        for statement in &block.statements {
            if let Op::Call { function: called, args } = &statement.op
                && *called == function
            {
                *calls += 1;
                for ((given, param), arg) in given.iter_mut().zip(params).zip(args) {
                    let is_counter = matches!(param.ty, Type::Prim(prim) if !prim.is_float());
                    *given &= is_counter || *arg == Atom::Var(param.var);
                }
            }
            statement.op.scopes().iter().for_each(|scope| visit(scope.block, function, params, given, calls));
        }
    }
    let is_data = |param: &Binder| !matches!(param.ty, Type::Accumulator(_) | Type::Log(_));
    let (mut given, mut calls): (Vec<bool>, usize) = (lambda.params.iter().map(is_data).collect(), 0);
    visit(&lambda.body, function, &lambda.params, &mut given, &mut calls);
    given.iter().map(|given| *given && calls > 0).collect()
}
