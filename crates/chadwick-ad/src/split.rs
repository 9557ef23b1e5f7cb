//! Forward mode in two parts: the primal, once, and a tangent part that runs for every direction.
//!
//! As in reverse mode, each statement gives its primal form and appends what its tangents need to the block being built; what the tangent
//! part of a nested body reads of that body is found as its free variables and recorded ([`crate::tape`]). A statement without a rule here
//! stands in both parts: as it is, and widened by [`crate::forward`].

mod recursive;

use crate::dependencies::Beside;
use crate::forward::Forward;
use crate::one_hot::OneHot;
use crate::shapes::Moving;
use crate::tape::{Kept, Needs};
use chadwick_core::visit::{free_variables, op_free_variables};
use chadwick_core::{
    Arm, Atom, Axis, Binder, Block, Dim, Function, FunctionId, Lambda, Loop, LoopForm, LoopHints, Op, Size, Statement, Type, Var,
};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Functions in two parts, by what stands beside numbers and which arguments have it; absent for those that cannot be split.
pub type SplitFunctions = FxHashMap<(FunctionId, Beside, Vec<bool>), Option<SplitFunction>>;

/// The primal part gives what is kept behind its results; the tangent part takes that, and tangents.
#[derive(Clone)]
pub struct SplitFunction {
    primal: FunctionId,
    tangent: FunctionId,
    kept: Vec<Type>,
}

/// What a function in two parts takes and gives, but for what is kept.
struct Signature<'a> {
    source: &'a Function,
    params: Vec<Binder>,
    tangent_params: Vec<Binder>,
    /// The types of the tangents that are wanted.
    types: Vec<Type>,
}

pub struct Split<'c, 'p> {
    pub forward: Forward<'c, 'p>,
    functions: &'c mut SplitFunctions,
    /// Variables of the tangent part.
    variant: FxHashSet<Var>,
    /// Whether something that accumulates could not be split. It cannot be run again, either, but for all of its accumulator's scope.
    is_stuck: bool,
}

impl<'c, 'p> Split<'c, 'p> {
    pub fn new(forward: Forward<'c, 'p>, functions: &'c mut SplitFunctions) -> Self {
        let mut variant = FxHashSet::default();
        for seed in forward.tangents.values() {
            let Atom::Var(seed) = seed else { continue };
            variant.insert(*seed);
            if let Some(OneHot::At(Atom::Var(place))) = forward.context.one_hots.get(seed) {
                variant.insert(*place);
            }
        }
        Split { forward, functions, variant, is_stuck: false }
    }

    /// The primal statements of the block and the tangents of the wanted results; the tangent part is appended to the current block.
    pub fn block(&mut self, block: &Block, wanted: &[bool]) -> (Vec<Statement>, Vec<Atom>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut primal = Vec::new();
            for statement in &block.statements {
                self.forward.context.note_shapes(statement);
                self.forward.context.makings.statement(statement);
                primal.extend(self.statement(statement));
            }
            let tangents = self.tangents_of(&block.results, wanted);
            (primal, tangents)
        })
    }

    fn tangents_of(&mut self, atoms: &[Atom], wanted: &[bool]) -> Vec<Atom> {
        let wanted = atoms.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        wanted.map(|(atom, _)| self.forward.tangent_or_zero(atom, Span::default())).collect()
    }

    /// A body that runs many times, in two parts, with what the second reads of the first. `None` where keeping that would cost more than
    /// making it did.
    fn repeated(
        &mut self,
        body: &Block,
        wanted: &[bool],
        bound: &[Var],
        given: &[Var],
    ) -> Option<(Vec<Statement>, Block, Needs)> {
        self.forward.context.makings.enter(bound);
        self.forward.context.b.push_block();
        let (primal, tangents) = self.block(body, wanted);
        let tangent = self.forward.context.b.pop_block(tangents);
        self.forward.context.makings.leave();
        let context = &mut *self.forward.context;
        let needs = context.needs(&primal, &tangent, bound, given);
        let keeps = |var: &Var| context.var_type(*var).rank() == 0 || context.makings.can_be_kept(*var);
        needs.saved.iter().all(keeps).then_some((primal, tangent, needs))
    }

    fn statement(&mut self, statement: &Statement) -> Vec<Statement> {
        let wanted = self.forward.mask(&statement.binders);
        if !wanted.contains(&true) && !self.forward.context.has_effects(&statement.op) {
            return vec![statement.clone()];
        }
        let split = match &statement.op {
            Op::Copy(_)
            | Op::Trace { .. }
            | Op::Prim(..)
            | Op::Construct { .. }
            | Op::ArrayLiteral { .. }
            | Op::Index { .. }
            | Op::Slice { .. }
            | Op::Transpose { .. }
            | Op::Reshape { .. }
            | Op::Update { .. }
            | Op::Concat { .. }
            | Op::Accumulate { .. }
            | Op::Dim { .. }
            | Op::Assert { .. } => Some(self.plain(statement)),
            Op::Build { space, body, inner } => self.build(statement, space, body, inner, &wanted),
            Op::Reduce { space, op, neutral, body, commutative } if is_plain(body) => op.is_addition().then(|| {
                let (neutral, op) = (self.tangents_of(neutral, &wanted), self.addition_of(op, &wanted, statement.span));
                let (space, commutative) = (space.clone(), *commutative);
                self.linear(statement, body, 0, &wanted, |body| Op::Reduce { space, op, neutral, body, commutative })
            }),
            Op::Reduce { space, op, neutral, body, commutative } => {
                let (op, neutral, commutative) = (op.clone(), neutral.clone(), *commutative);
                self.over_elements(statement, space, body, |space, body| Op::Reduce { space, op, neutral, body, commutative })
            }
            Op::Scan { axis, op, neutral, body } if is_plain(body) => op.is_addition().then(|| {
                let (neutral, op) = (self.tangents_of(neutral, &wanted), self.addition_of(op, &wanted, statement.span));
                self.linear(statement, body, 0, &wanted, |body| Op::Scan { axis: axis.clone(), op, neutral, body })
            }),
            Op::Scan { axis, op, neutral, body } => {
                self.over_elements(statement, std::slice::from_ref(axis), body, |space, body| Op::Scan {
                    axis: space.into_iter().next().unwrap_or_else(|| axis.clone()),
                    op: op.clone(),
                    neutral: neutral.clone(),
                    body,
                })
            }
            Op::Hist { space, dest, rank, op, neutral, body } if is_plain(body) => op.is_addition().then(|| {
                let (dest, neutral) = (self.tangents_of(dest, &wanted), self.tangents_of(neutral, &wanted));
                let (op, space, rank) = (self.addition_of(op, &wanted, statement.span), space.clone(), *rank);
                self.linear(statement, body, rank, &wanted, |body| Op::Hist { space, dest, rank, op, neutral, body })
            }),
            Op::Hist { space, dest, rank, op, neutral, body } => {
                let (dest, rank, op, neutral) = (dest.clone(), *rank, op.clone(), neutral.clone());
                self.over_elements(statement, space, body, |space, body| Op::Hist { space, dest, rank, op, neutral, body })
            }
            Op::Scatter { space, dest, rank, body } if is_plain(body) => {
                let (space, dest, rank) = (space.clone(), self.tangents_of(dest, &wanted), *rank);
                Some(self.linear(statement, body, rank, &wanted, |body| Op::Scatter { space, dest, rank, body }))
            }
            Op::Scatter { space, dest, rank, body } => {
                let (dest, rank) = (dest.clone(), *rank);
                self.over_elements(statement, space, body, |space, body| Op::Scatter { space, dest, rank, body })
            }
            Op::Loop(parts) => self.loop_statement(statement, parts),
            Op::If { .. } | Op::Match { .. } => self.branches(statement, &wanted),
            Op::Call { function, args } => self.call(statement, *function, args),
            Op::Recompute(block) => {
                let (mut primal, tangents) = self.block(block, &wanted);
                let op = Op::Copy(block.results.clone());
                primal.push(Statement { binders: statement.binders.clone(), op, span: statement.span });
                self.set(&statement.binders, &wanted, tangents);
                Some(primal)
            }
            Op::WithAccumulators { handles, init, body } => self.with_accumulators(statement, handles, init, body),
            _ => None,
        };
        match split {
            Some(primal) => primal,
            None => {
                self.whole(statement);
                vec![statement.clone()]
            }
        }
    }

    /// Tangents for the wanted binders.
    fn set(&mut self, binders: &[Binder], wanted: &[bool], tangents: Vec<Atom>) {
        let binders = binders.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        for ((binder, _), tangent) in binders.zip(tangents) {
            if let Atom::Var(var) = tangent {
                self.variant.insert(var);
            }
            self.forward.tangents.insert(binder.var, tangent);
        }
    }

    /// A statement whose tangents stand beside it: what they need of the primal alone (a partial derivative) belongs to the primal part.
    fn plain(&mut self, statement: &Statement) -> Vec<Statement> {
        self.forward.context.b.push_block();
        self.forward.statement(statement);
        let emitted = self.forward.context.b.pop_block(Vec::new()).statements;
        let mut primal = Vec::new();
        for emitted in emitted {
            // The seed may be a value, too, which the primal reads.
            let is_primal = emitted.binders == statement.binders && (!emitted.binders.is_empty() || emitted.op == statement.op);
            let varies = op_free_variables(&emitted.op).iter().any(|var| self.variant.contains(var));
            if is_primal || !varies {
                self.forward.context.note_shapes(&emitted);
                self.forward.context.makings.statement(&emitted);
                primal.push(emitted);
                continue;
            }
            self.variant.extend(emitted.binders.iter().map(|binder| binder.var));
            self.forward.context.push_statement(emitted);
        }
        primal
    }

    /// A statement that the tangent part runs again, tangents and all.
    fn whole(&mut self, statement: &Statement) {
        self.is_stuck |= self.forward.context.has_effects(&statement.op);
        let results = statement.binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        let block = Block { statements: vec![statement.clone()], results };
        let copy = self.forward.context.copy_block(&block, []);
        let inputs: Vec<Var> = free_variables(&copy).into_iter().filter(|var| self.forward.tangents.contains_key(var)).collect();
        let active = self.forward.context.active_variables(&copy, inputs, false);
        self.forward.active.extend(active);
        self.forward.context.b.push_block();
        copy.statements.iter().for_each(|statement| self.forward.statement(statement));
        for emitted in self.forward.context.b.pop_block(Vec::new()).statements {
            self.variant.extend(emitted.binders.iter().map(|binder| binder.var));
            self.forward.context.push_statement(emitted);
        }
        for (binder, copied) in statement.binders.iter().zip(&copy.results) {
            if let Some(tangent) = self.forward.tangent(copied) {
                self.forward.tangents.insert(binder.var, tangent);
            }
        }
    }

    fn build(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        body: &Block,
        inner: &[Vec<Size>],
        wanted: &[bool],
    ) -> Option<Vec<Statement>> {
        let span = statement.span;
        let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
        let (primal, tangent, needs) = self.repeated(body, wanted, &[], &axes)?;
        let context = &mut *self.forward.context;
        let moving: Vec<Moving> = axes.iter().map(|axis| Moving::index(*axis)).collect();
        let kept = context.keep(&needs.saved, primal, &moving, span);
        let tapes: Vec<Binder> =
            kept.types.iter().map(|ty| context.fresh("tape", ty.clone().array(vec![Dim::Any; space.len()]))).collect();
        let again: Vec<Axis> =
            space.iter().map(|axis| Axis { var: context.fresh("i", Type::I64).var, size: axis.size.clone() }).collect();
        let indices: Vec<Atom> = again.iter().map(|axis| Atom::Var(axis.var)).collect();
        context.b.push_block();
        let mut replace: Vec<(Var, Atom)> = axes.iter().copied().zip(indices.iter().cloned()).collect();
        replace.extend(context.read_tapes(&needs.saved, &tapes, &kept.boxed, &indices, span));
        let results = self.copied(needs, tangent, replace);
        let context = &mut *self.forward.context;
        let tangent_body = context.b.pop_block(results);
        let sizes = inner.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(sizes, _)| sizes.clone()).collect();
        let types = statement.binders.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let types = types.map(|(binder, _)| binder.ty.any_sizes()).collect();
        let tangents = context.b.push(Op::Build { space: again, body: tangent_body, inner: sizes }, types, span);
        self.set(&statement.binders, wanted, tangents);
        let Kept { forward, values, inner: kept_inner, .. } = kept;
        let body = Block { statements: forward, results: [body.results.clone(), values].concat() };
        let op = Op::Build { space: space.to_vec(), body, inner: [inner.to_vec(), kept_inner].concat() };
        Some(vec![Statement { binders: [statement.binders.clone(), tapes].concat(), op, span }])
    }

    /// Appends the tangent part of a body, with what it runs again, in terms of where it is; gives its results.
    fn copied(&mut self, needs: Needs, tangent: Block, replace: Vec<(Var, Atom)>) -> Vec<Atom> {
        let whole = Block { statements: [needs.again, tangent.statements].concat(), results: tangent.results };
        let context = &mut *self.forward.context;
        let copy = context.copy_block(&whole, replace);
        copy.statements.into_iter().for_each(|statement| context.push_statement(statement));
        copy.results
    }

    /// A form that consumes elements, as one that makes them and one that runs over them.
    fn over_elements(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        body: &Block,
        form: impl FnOnce(Vec<Axis>, Block) -> Op,
    ) -> Option<Vec<Statement>> {
        let span = statement.span;
        let context = &mut *self.forward.context;
        let mut elements = Vec::new();
        for result in &body.results {
            let ty = context.type_of(result).any_sizes().array(vec![Dim::Any; space.len()]);
            let element = context.fresh("", ty);
            if matches!(result, Atom::Var(var) if self.forward.active.contains(var)) {
                self.forward.active.insert(element.var);
            }
            elements.push(element);
        }
        let inner = elements.iter().map(|element| vec![Size::FromValue; element.ty.rank() - space.len()]).collect();
        let again: Vec<Axis> =
            space.iter().map(|axis| Axis { var: context.fresh("i", Type::I64).var, size: axis.size.clone() }).collect();
        let indices: Vec<Atom> = again.iter().map(|axis| Atom::Var(axis.var)).collect();
        let mut consumer = Block::default();
        for element in &elements {
            let ty = element.ty.peel(space.len()).unwrap_or(Type::I64);
            let value = context.fresh("", ty);
            if self.forward.active.contains(&element.var) {
                self.forward.active.insert(value.var);
            }
            consumer.results.push(Atom::Var(value.var));
            let op = Op::Index { array: Atom::Var(element.var), indices: indices.clone() };
            consumer.statements.push(Statement { binders: vec![value], op, span });
        }
        let build = Op::Build { space: space.to_vec(), body: body.clone(), inner };
        let build = Statement { binders: elements, op: build, span };
        self.forward.context.note_shapes(&build);
        self.forward.context.makings.statement(&build);
        let form = Statement { binders: statement.binders.clone(), op: form(again, consumer), span };
        Some([self.statement(&build), self.statement(&form)].concat())
    }

    /// A form that is linear in what its body reads of arrays: its tangents are the same form of their tangents. The first `rank` results
    /// of the body are places.
    fn linear(
        &mut self,
        statement: &Statement,
        body: &Block,
        rank: usize,
        wanted: &[bool],
        form: impl FnOnce(Block) -> Op,
    ) -> Vec<Statement> {
        self.forward.context.b.push_block();
        let all_wanted = [vec![false; rank], wanted.to_vec()].concat();
        let (places, tangents) = self.block(body, &all_wanted);
        let tangent = self.forward.context.b.pop_block(tangents);
        let results = [body.results[..rank].to_vec(), tangent.results].concat();
        let body = Block { statements: [places, tangent.statements].concat(), results };
        let whole = Statement { binders: Vec::new(), op: form(body), span: statement.span };
        let context = &mut *self.forward.context;
        let copy = context.copy_block(&Block { statements: vec![whole], results: Vec::new() }, []);
        let types = statement.binders.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let types: Vec<Type> = types.map(|(binder, _)| binder.ty.any_sizes()).collect();
        let tangents =
            copy.statements.into_iter().flat_map(|whole| context.b.push(whole.op, types.clone(), whole.span)).collect();
        self.set(&statement.binders, wanted, tangents);
        vec![statement.clone()]
    }

    /// Addition of what stands beside the wanted components.
    fn addition_of(&mut self, op: &Lambda, wanted: &[bool], span: Span) -> Lambda {
        let types = op.results.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(ty, _)| ty.clone());
        let types: Vec<Type> = types.collect();
        let beside = self.forward.beside;
        let context = &mut *self.forward.context;
        let left: Vec<Binder> = types.iter().map(|ty| context.fresh("", ty.clone())).collect();
        let right: Vec<Binder> = types.iter().map(|ty| context.fresh("", ty.clone())).collect();
        let body = context.block(|context| {
            let pairs = left.iter().zip(&right);
            pairs.map(|(left, right)| context.join(beside, Atom::Var(left.var), Atom::Var(right.var), span)).collect()
        });
        Lambda { params: [left, right].concat(), results: types, body }
    }

    fn loop_statement(&mut self, statement: &Statement, parts: &Loop) -> Option<Vec<Statement>> {
        let span = statement.span;
        let carry_wanted = self.forward.mask(&parts.carry);
        let first_emit = statement.binders.len() - parts.emits.len();
        let emit_wanted = self.forward.mask(&statement.binders[first_emit..]);
        let initial = self.tangents_of(&parts.initial, &carry_wanted);
        let carry = self.forward.tangent_binders(&parts.carry);
        self.variant.extend(carry.iter().map(|binder| binder.var));
        self.forward.context.makings.loop_state(parts);
        self.forward.context.note_state_shapes(parts);
        let mut params: Vec<Var> = parts.carry.iter().map(|binder| binder.var).collect();
        let given: Vec<Var> = match &parts.form {
            LoopForm::For { index, .. } => vec![index.var],
            LoopForm::While { .. } => Vec::new(),
        };
        params.extend(&given);
        let all_wanted = [carry_wanted.clone(), emit_wanted.clone()].concat();
        let (primal, tangent, needs) = self.repeated(&parts.body, &all_wanted, &params, &given)?;
        let context = &mut *self.forward.context;
        let kept = context.keep(&needs.saved, primal, &Moving::all_of(parts), span);
        // What the loop computes of its bound comes with the primal.
        context.b.push_block();
        let (recording, tapes, count) = context.recording_loop(statement, parts, &kept);
        let mut statements = context.b.pop_block(Vec::new()).statements;
        statements.push(recording);

        let step = context.fresh("k", Type::I64);
        let at = Atom::Var(step.var);
        context.b.push_block();
        let mut replace: Vec<(Var, Atom)> = context.index_at(parts, &at, span).into_iter().collect();
        replace.extend(context.read_tapes(&needs.saved, &tapes, &kept.boxed, std::slice::from_ref(&at), span));
        let results = self.copied(needs, tangent, replace);
        let context = &mut *self.forward.context;
        let body = context.b.pop_block(results);
        let emits = parts.emits.iter().zip(&emit_wanted).filter(|(_, wanted)| **wanted).map(|(sizes, _)| sizes.clone()).collect();
        let tangent_loop = Loop {
            carry,
            initial,
            form: LoopForm::For { index: step, bound: count },
            body,
            emits,
            counted: false,
            hints: LoopHints { stripmine: None, bound: None, ..parts.hints.clone() },
        };
        let (carry_binders, rest) = statement.binders.split_at(parts.carry.len());
        let emit_binders = &rest[rest.len() - parts.emits.len()..];
        let binders = [carry_binders, emit_binders].concat();
        let types = binders.iter().zip(&all_wanted).filter(|(_, wanted)| **wanted).map(|(binder, _)| binder.ty.any_sizes());
        let types = types.collect();
        let tangents = context.b.push(Op::Loop(Box::new(tangent_loop)), types, span);
        self.set(&binders, &all_wanted, tangents);
        Some(statements)
    }

    fn call(&mut self, statement: &Statement, function: FunctionId, args: &[Atom]) -> Option<Vec<Statement>> {
        let span = statement.span;
        let mask: Vec<bool> = args.iter().map(|arg| self.forward.tangent(arg).is_some()).collect();
        let active = self.forward.context.active_results(function, &mask, false);
        let types = self.forward.context.program().functions.get(function.0 as usize)?.results.clone();
        let wanted: Vec<bool> =
            active.iter().zip(&types).map(|(active, ty)| *active && self.forward.context.carries(ty)).collect();
        let split = self.function(function, &mask, &wanted)?;
        let tangents = self.tangents_of(args, &mask);
        let context = &mut *self.forward.context;
        let tapes: Vec<Binder> = split.kept.iter().map(|ty| context.fresh("tape", ty.clone())).collect();
        let args_of_tangent = tapes.iter().map(|tape| Atom::Var(tape.var)).chain(tangents).collect();
        let types = types.iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(ty, _)| ty.any_sizes()).collect();
        let results = context.b.push(Op::Call { function: split.tangent, args: args_of_tangent }, types, span);
        self.set(&statement.binders, &wanted, results);
        let op = Op::Call { function: split.primal, args: args.to_vec() };
        Some(vec![Statement { binders: [statement.binders.clone(), tapes].concat(), op, span }])
    }

    /// The function in two parts, or nothing where one needs what cannot be kept.
    fn function(&mut self, function: FunctionId, mask: &[bool], wanted: &[bool]) -> Option<SplitFunction> {
        let key = (function, self.forward.beside, mask.to_vec());
        if let Some(known) = self.functions.get(&key) {
            return known.clone();
        }
        let before: FxHashSet<(FunctionId, Beside, Vec<bool>)> = self.functions.keys().cloned().collect();
        self.functions.insert(key.clone(), None);
        let source = self.forward.context.program().functions.get(function.0 as usize)?.clone();
        if source.params.iter().any(|param| matches!(param.ty, Type::Accumulator(_) | Type::Log(_))) {
            return None;
        }
        let beside = self.forward.beside;
        let lambda = Lambda { params: source.params.clone(), results: source.results.clone(), body: source.body.clone() };
        let lambda = self.forward.context.copy_lambda(&lambda);
        let mut tangents: FxHashMap<Var, Atom> = FxHashMap::default();
        let mut tangent_params = Vec::new();
        let context = &mut *self.forward.context;
        for (param, _) in lambda.params.iter().zip(mask).filter(|(_, wanted)| **wanted) {
            let tangent = context.fresh(format!("{}_t", context.name(param.var)), param.ty.any_sizes());
            tangents.insert(param.var, Atom::Var(tangent.var));
            tangent_params.push(tangent);
        }
        let types = lambda.results.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(ty, _)| ty.any_sizes()).collect();
        let signature = Signature { source: &source, params: lambda.params.clone(), tangent_params, types };
        // Calls of itself must know what it will be.
        let recursive = self.calls_itself(function).then(|| self.recursive_function(&signature));
        if let Some((split, _)) = &recursive {
            self.functions.insert(key.clone(), Some(split.clone()));
        }
        let context = &mut *self.forward.context;
        let active = context.active_variables(&lambda.body, tangents.keys().copied(), false);
        let forward = Forward { context, functions: &mut *self.forward.functions, beside, active, tangents };
        let mut inner = Split::new(forward, &mut *self.functions);
        let params: Vec<Var> = lambda.params.iter().map(|param| param.var).collect();
        let parts = inner.repeated(&lambda.body, wanted, &params, &[]).filter(|_| !inner.is_stuck);
        let Some((primal, tangent, needs)) = parts else {
            if let Some((split, _)) = recursive {
                self.abandon(&split, &before);
            }
            self.functions.insert(key, None);
            return None;
        };
        let primal = Block { statements: primal, results: lambda.body.results.clone() };
        let split = match recursive {
            Some((split, tape)) => {
                self.finish_recursive(&split, &tape, primal, tangent, needs, &signature);
                split
            }
            None => self.finish(primal, tangent, needs, signature),
        };
        self.functions.insert(key, Some(split.clone()));
        Some(split)
    }

    /// A function whose primal part gives what is kept as further results.
    fn finish(&mut self, mut primal: Block, tangent: Block, needs: Needs, signature: Signature<'_>) -> SplitFunction {
        let context = &mut *self.forward.context;
        let source = signature.source;
        let kept: Vec<Type> = needs.saved.iter().map(|var| context.var_type(*var).any_sizes()).collect();
        primal.results.extend(needs.saved.iter().map(|var| Atom::Var(*var)));
        let results = [source.results.clone(), kept.clone()].concat();
        let number = context.reserve(format!("{}_primal", source.name).into(), signature.params, results, source.span);
        context.b.program_mut().functions[number.0 as usize].body = primal;
        let tapes: Vec<Binder> = kept.iter().map(|ty| context.fresh("tape", ty.clone())).collect();
        let replace = needs.saved.iter().zip(&tapes).map(|(var, tape)| (*var, Atom::Var(tape.var))).collect();
        let name = format!("{}_tangent", source.name).into();
        let tangent_number = context.reserve(name, [tapes, signature.tangent_params].concat(), signature.types, source.span);
        context.b.push_block();
        let results = self.copied(needs, tangent, replace);
        let context = &mut *self.forward.context;
        context.b.program_mut().functions[tangent_number.0 as usize].body = context.b.pop_block(results);
        SplitFunction { primal: number, tangent: tangent_number, kept }
    }

    /// `If` and `Match`: both parts take the same branch; what the tangents need of it goes through slots that all branches fill.
    fn branches(&mut self, statement: &Statement, wanted: &[bool]) -> Option<Vec<Statement>> {
        let span = statement.span;
        let (sources, scrutinee): (Vec<(Vec<Binder>, &Block)>, Option<&Atom>) = match &statement.op {
            Op::If { then, otherwise, .. } => (vec![(Vec::new(), then), (Vec::new(), otherwise)], None),
            Op::Match { scrutinee, arms, otherwise } => {
                let arms = arms.iter().map(|arm| (arm.binders.clone(), &arm.body));
                (arms.chain(otherwise.iter().map(|block| (Vec::new(), block))).collect(), Some(scrutinee))
            }
            _ => return None,
        };
        let tags: Vec<u32> =
            if let Op::Match { arms, .. } = &statement.op { arms.iter().map(|arm| arm.tag).collect() } else { Vec::new() };
        let (mut parts, mut needs) = (Vec::new(), Vec::new());
        for (at, (binders, block)) in sources.iter().enumerate() {
            self.forward.context.b.push_block();
            if let (Some(scrutinee), Some(tag)) = (scrutinee, tags.get(at)) {
                self.forward.payload_tangents(*tag, binders, scrutinee, span);
                self.variant.extend(binders.iter().filter_map(|binder| match self.forward.tangents.get(&binder.var) {
                    Some(Atom::Var(var)) => Some(*var),
                    _ => None,
                }));
            }
            let (primal, tangents) = self.block(block, wanted);
            let tangent = self.forward.context.b.pop_block(tangents);
            let bound: Vec<Var> = binders.iter().map(|binder| binder.var).collect();
            let need = self.forward.context.needs(&primal, &tangent, &bound, &bound);
            needs.push(need);
            parts.push((primal, tangent));
        }
        let context = &mut *self.forward.context;
        let slots = context.slots(&needs);
        let (mut primal_blocks, mut tangent_blocks) = (Vec::new(), Vec::new());
        for (((primal, tangent), (binders, block)), needs) in parts.into_iter().zip(&sources).zip(&needs) {
            primal_blocks.push((binders.clone(), context.filled(&primal, &block.results, needs, &slots, span)));
            tangent_blocks.push(context.emptied(binders, tangent, needs, &slots, span));
        }
        let types = statement.binders.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let types = types.map(|(binder, _)| binder.ty.any_sizes()).collect();
        let tangents = context.b.push(with_blocks(&statement.op, tangent_blocks), types, span);
        self.set(&statement.binders, wanted, tangents);
        let binders = [statement.binders.clone(), slots.iter().map(|slot| slot.binder.clone()).collect()].concat();
        Some(vec![Statement { binders, op: with_blocks(&statement.op, primal_blocks), span }])
    }

    /// A second accumulator, in the tangent part, takes the tangents.
    fn with_accumulators(
        &mut self,
        statement: &Statement,
        handles: &[Binder],
        init: &[Atom],
        body: &Block,
    ) -> Option<Vec<Statement>> {
        let span = statement.span;
        let (final_binders, result_binders) = statement.binders.split_at(handles.len().min(statement.binders.len()));
        let (mask, tangent_init, tangent_handles) = self.forward.tangent_handles(handles, init, span);
        self.variant.extend(tangent_handles.iter().map(|handle| handle.var));
        let wanted = self.forward.mask(result_binders);
        let outer = std::mem::take(&mut self.is_stuck);
        self.forward.context.b.push_block();
        let (primal, tangents) = self.block(body, &wanted);
        let tangent = self.forward.context.b.pop_block(tangents);
        if std::mem::replace(&mut self.is_stuck, outer) {
            return None;
        }
        let context = &mut *self.forward.context;
        let needs = context.needs(&primal, &tangent, &[], &[]);
        let tapes: Vec<Binder> =
            needs.saved.iter().map(|var| context.fresh("tape", context.var_type(*var).any_sizes())).collect();
        let replace = needs.saved.iter().zip(&tapes).map(|(var, tape)| (*var, Atom::Var(tape.var))).collect();
        let saved: Vec<Atom> = needs.saved.iter().map(|var| Atom::Var(*var)).collect();
        context.b.push_block();
        let results = self.copied(needs, tangent, replace);
        let context = &mut *self.forward.context;
        let tangent_body = context.b.pop_block(results);
        let binders = [final_binders, result_binders].concat();
        let all_wanted = [mask, wanted].concat();
        let types = binders.iter().zip(&all_wanted).filter(|(_, wanted)| **wanted).map(|(binder, _)| binder.ty.any_sizes());
        let types = types.collect();
        let op = Op::WithAccumulators { handles: tangent_handles, init: tangent_init, body: tangent_body };
        let tangents = context.b.push(op, types, span);
        self.set(&binders, &all_wanted, tangents);
        let body = Block { statements: primal, results: [body.results.clone(), saved].concat() };
        let op = Op::WithAccumulators { handles: handles.to_vec(), init: init.to_vec(), body };
        Some(vec![Statement { binders: [statement.binders.clone(), tapes].concat(), op, span }])
    }
}

/// Whether a body only reads elements of arrays.
fn is_plain(body: &Block) -> bool {
    body.statements.iter().all(|statement| matches!(statement.op, Op::Index { .. } | Op::Copy(_)))
}

/// The conditional with other blocks; those of a match come with the binders of their arms.
fn with_blocks(op: &Op, blocks: Vec<(Vec<Binder>, Block)>) -> Op {
    let mut blocks = blocks.into_iter();
    match op {
        Op::If { condition, .. } => {
            let (then, otherwise) = (blocks.next().unwrap_or_default().1, blocks.next().unwrap_or_default().1);
            Op::If { condition: condition.clone(), then, otherwise }
        }
        Op::Match { scrutinee, arms, otherwise } => {
            let arms = arms.iter().zip(blocks.by_ref()).map(|(arm, (binders, body))| Arm { tag: arm.tag, binders, body });
            let arms = arms.collect();
            let otherwise = otherwise.as_ref().and_then(|_| blocks.next()).map(|(_, block)| block);
            Op::Match { scrutinee: scrutinee.clone(), arms, otherwise }
        }
        other => other.clone(),
    }
}
