//! Forward mode: every active variable gets a tangent beside it.
//!
//! A statement is followed by, or widened to, one that also computes the tangents of its results. Blocks, lambdas and functions return
//! their results first and then the tangents of those results that are active. Which variables are active is known beforehand.

use crate::context::{Applied, Context};
use crate::dependencies::Beside;
use chadwick_core::prim::Derivative;
use chadwick_core::{Arm, Atom, Binder, Block, Custom, CustomKind, FunctionId, Lambda, Loop, LoopForm, Op, Statement, Type, Var};
use chadwick_source::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// Functions with tangents, by what these are and which arguments have them.
pub type ForwardFunctions = FxHashMap<(FunctionId, Beside, Vec<bool>), FunctionId>;

pub struct Forward<'c, 'p> {
    pub context: &'c mut Context<'p>,
    pub functions: &'c mut ForwardFunctions,
    /// What stands beside an active number.
    pub beside: Beside,
    pub active: FxHashSet<Var>,
    pub tangents: FxHashMap<Var, Atom>,
}

impl Forward<'_, '_> {
    /// Emits the block with its tangents into the current block; returns results and then the tangents that are wanted.
    pub fn inline(&mut self, block: &Block, wanted: &[bool]) -> Vec<Atom> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                self.statement(statement);
            }
            self.widened(&block.results, wanted)
        })
    }

    fn block(&mut self, block: &Block, wanted: &[bool]) -> Block {
        self.context.b.push_block();
        let results = self.inline(block, wanted);
        self.context.b.pop_block(results)
    }

    /// The atoms and then the tangents of those that are wanted.
    fn widened(&mut self, atoms: &[Atom], wanted: &[bool]) -> Vec<Atom> {
        let tangents: Vec<Atom> = atoms
            .iter()
            .zip(wanted)
            .filter(|(_, wanted)| **wanted)
            .map(|(atom, _)| self.tangent_or_zero(atom, Span::default()))
            .collect();
        [atoms.to_vec(), tangents].concat()
    }

    pub fn tangent(&self, atom: &Atom) -> Option<Atom> {
        match atom {
            Atom::Var(var) => self.tangents.get(var).cloned(),
            Atom::Const(_) => None,
        }
    }

    pub fn tangent_or_zero(&mut self, atom: &Atom, span: Span) -> Atom {
        match self.tangent(atom) {
            Some(tangent) => tangent,
            None => self.context.zero_like(atom, span),
        }
    }

    fn is_active(&self, binder: &Binder) -> bool {
        self.active.contains(&binder.var) && self.context.carries(&binder.ty)
    }

    pub fn mask(&self, binders: &[Binder]) -> Vec<bool> {
        binders.iter().map(|binder| self.is_active(binder)).collect()
    }

    /// Binders for the tangents of the active ones.
    pub fn tangent_binders(&mut self, binders: &[Binder]) -> Vec<Binder> {
        let active: Vec<Binder> = binders.iter().filter(|binder| self.is_active(binder)).cloned().collect();
        active
            .iter()
            .map(|binder| {
                let name = Name::from(format!("{}_t", self.context.name(binder.var)));
                let tangent = self.context.fresh(name, binder.ty.clone());
                self.tangents.insert(binder.var, Atom::Var(tangent.var));
                tangent
            })
            .collect()
    }

    /// The statement with tangent binders added behind its own.
    fn push_widened(&mut self, statement: &Statement, op: Op) {
        let tangents = self.tangent_binders(&statement.binders);
        let binders = [statement.binders.clone(), tangents].concat();
        self.context.push_statement(Statement { binders, op, span: statement.span });
    }

    fn set(&mut self, binder: &Binder, tangent: Option<Atom>) {
        if let (true, Some(tangent)) = (self.is_active(binder), tangent) {
            self.tangents.insert(binder.var, tangent);
        }
    }

    pub fn statement(&mut self, statement: &Statement) {
        let span = statement.span;
        let is_function = |binder: &Binder| matches!(binder.ty, Type::Function(_)) && self.active.contains(&binder.var);
        if statement.binders.iter().any(is_function) {
            self.context.unsupported(span, "a function that is a value");
        }
        let wanted = self.mask(&statement.binders);
        if !wanted.contains(&true) && !self.context.has_effects(&statement.op) {
            self.context.push_statement(statement.clone());
            return;
        }
        match &statement.op {
            Op::Copy(atoms) => {
                self.context.push_statement(statement.clone());
                for (binder, atom) in statement.binders.iter().zip(atoms) {
                    let tangent = self.tangent(atom);
                    self.set(binder, tangent);
                }
            }
            Op::Trace { args, .. } => {
                self.context.push_statement(statement.clone());
                for (binder, atom) in statement.binders.iter().zip(args) {
                    let tangent = self.tangent(atom);
                    self.set(binder, tangent);
                }
            }
            Op::Prim(op, args) => {
                self.context.push_statement(statement.clone());
                let Some(binder) = statement.binders.first() else { return };
                let result = Atom::Var(binder.var);
                let mut total: Option<Atom> = None;
                for (derivative, arg) in op.derivatives().iter().zip(args) {
                    let Some(incoming) = self.tangent(arg).filter(|_| *derivative != Derivative::Zero) else { continue };
                    let applied = Applied { op: *op, operands: args, result: &result };
                    let part = self.context.pass_beside(self.beside, derivative, &incoming, &applied, span);
                    total = match (total, part) {
                        (Some(total), Some(part)) => Some(self.context.join(self.beside, total, part, span)),
                        (total, part) => total.or(part),
                    };
                }
                self.set(binder, total);
            }
            Op::If { condition, then, otherwise } => {
                let op = Op::If {
                    condition: condition.clone(),
                    then: self.block(then, &wanted),
                    otherwise: self.block(otherwise, &wanted),
                };
                self.push_widened(statement, op);
            }
            Op::Call { function, args } => self.call(statement, *function, args),
            Op::Construct { ty, tag, args } => {
                self.context.push_statement(statement.clone());
                let tangents = args.iter().map(|arg| self.tangent_or_zero(arg, span)).collect();
                let tangent = self.context.construct(ty, *tag, tangents, span).into_iter().next();
                if let Some(binder) = statement.binders.first() {
                    self.set(binder, tangent);
                }
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let arms = arms.iter().map(|arm| self.arm(arm, scrutinee, &wanted, span)).collect();
                let otherwise = otherwise.as_ref().map(|block| self.block(block, &wanted));
                self.push_widened(statement, Op::Match { scrutinee: scrutinee.clone(), arms, otherwise });
            }
            Op::Build { space, body, inner } => {
                let body = self.block(body, &wanted);
                let inner = widened_by(inner, &wanted);
                self.push_widened(statement, Op::Build { space: space.clone(), body, inner });
            }
            Op::Reduce { space, op, neutral, body, commutative } => {
                let (neutral, op) = (self.widened(neutral, &wanted), self.operator(op, &wanted));
                let body = self.block(body, &wanted);
                let op = Op::Reduce { space: space.clone(), op, neutral, body, commutative: *commutative };
                self.push_widened(statement, op);
            }
            Op::Scan { axis, op, neutral, body } => {
                let (neutral, op) = (self.widened(neutral, &wanted), self.operator(op, &wanted));
                let body = self.block(body, &wanted);
                self.push_widened(statement, Op::Scan { axis: axis.clone(), op, neutral, body });
            }
            Op::Hist { space, dest, rank, op, neutral, body } => {
                let (dest, neutral) = (self.widened(dest, &wanted), self.widened(neutral, &wanted));
                let op = self.operator(op, &wanted);
                let body = self.writes(body, *rank, &wanted);
                let op = Op::Hist { space: space.clone(), dest, rank: *rank, op, neutral, body };
                self.push_widened(statement, op);
            }
            Op::Scatter { space, dest, rank, body } => {
                let dest = self.widened(dest, &wanted);
                let body = self.writes(body, *rank, &wanted);
                self.push_widened(statement, Op::Scatter { space: space.clone(), dest, rank: *rank, body });
            }
            Op::ArrayLiteral { ty, elements, inner } => {
                let tangents = elements.iter().map(|element| self.tangent_or_zero(element, span)).collect();
                self.beside(statement, Op::ArrayLiteral { ty: ty.clone(), elements: tangents, inner: inner.clone() });
            }
            Op::Index { array, indices } => {
                let tangent = self.tangent(array);
                let op = tangent.map(|array| {
                    let element = match self.beside {
                        Beside::Tangent => self.context.one_hot_element(&array, indices, span),
                        _ => None,
                    };
                    element.unwrap_or(Op::Index { array, indices: indices.clone() })
                });
                self.beside_if(statement, op);
            }
            Op::Slice { array, dims } => {
                let op = self.tangent(array).map(|array| Op::Slice { array, dims: dims.clone() });
                self.beside_if(statement, op);
            }
            Op::Transpose { array, permutation } => {
                let op = self.tangent(array).map(|array| Op::Transpose { array, permutation: permutation.clone() });
                self.beside_if(statement, op);
            }
            Op::Reshape { array, dims } => {
                let op = self.tangent(array).map(|array| Op::Reshape { array, dims: dims.clone() });
                self.beside_if(statement, op);
            }
            Op::Update { array, dims, value } => {
                // The zeros must have the shape of what they stand for, so they are made before the array is updated in place.
                let array = self.tangent_or_zero(array, span);
                let value = self.tangent_or_zero(value, span);
                self.beside(statement, Op::Update { array, dims: dims.clone(), value });
            }
            Op::Concat { arrays } => {
                let arrays = arrays.iter().map(|array| self.tangent_or_zero(array, span)).collect();
                self.beside(statement, Op::Concat { arrays });
            }
            Op::Loop(parts) => self.loop_statement(statement, parts),
            Op::Par { left, right } => {
                let (left_wanted, right_wanted) = wanted.split_at(left.results.len().min(wanted.len()));
                let (left_binders, right_binders) = statement.binders.split_at(left_wanted.len());
                let op = Op::Par { left: self.block(left, left_wanted), right: self.block(right, right_wanted) };
                let left_tangents = self.tangent_binders(left_binders);
                let right_tangents = self.tangent_binders(right_binders);
                let binders = [left_binders.to_vec(), left_tangents, right_binders.to_vec(), right_tangents].concat();
                self.context.push_statement(Statement { binders, op, span });
            }
            Op::Recompute(block) => {
                let op = Op::Recompute(self.block(block, &wanted));
                self.push_widened(statement, op);
            }
            Op::Custom(custom) => self.custom(statement, custom, &wanted),
            Op::WithAccumulators { handles, init, body } => self.with_accumulators(statement, handles, init, body),
            Op::Accumulate { handle, path, value } => {
                self.context.push_statement(statement.clone());
                if let (Some(handle), Some(value)) = (self.tangent(handle), self.tangent(value)) {
                    let value = self.context.addend(self.beside, value, span);
                    let op = Op::Accumulate { handle, path: path.clone(), value };
                    self.context.push_statement(Statement { binders: Vec::new(), op, span });
                }
            }
            Op::WithLog { handle, start, body } => self.with_log(statement, handle, start, body, &wanted),
            Op::Log { handle, indices, values } => {
                self.context.push_statement(statement.clone());
                if let Some(handle) = self.tangent(handle) {
                    let values = values.iter().map(|value| self.tangent_or_zero(value, span)).collect();
                    let row = self.context.fresh("", Type::I64);
                    let op = Op::Log { handle, indices: indices.clone(), values };
                    self.context.push_statement(Statement { binders: vec![row], op, span });
                }
            }
            Op::Closure(_) | Op::Apply { .. } => self.context.unsupported(span, "a function that is a value"),
            Op::Differentiate(_) => self.context.unsupported(span, "a derivative that was left standing"),
            Op::Dim { .. } | Op::Assert { .. } => self.context.push_statement(statement.clone()),
        }
    }

    /// The statement, and the same operation on tangents beside it.
    fn beside(&mut self, statement: &Statement, op: Op) {
        let types: Vec<Type> = statement.binders.iter().map(|binder| binder.ty.clone()).collect();
        let tangents = self.context.b.push(op, types, statement.span);
        self.context.push_statement(statement.clone());
        for (binder, tangent) in statement.binders.iter().zip(tangents) {
            self.set(binder, Some(tangent));
        }
    }

    fn beside_if(&mut self, statement: &Statement, op: Option<Op>) {
        match op {
            Some(op) => self.beside(statement, op),
            None => self.context.push_statement(statement.clone()),
        }
    }

    fn arm(&mut self, arm: &Arm, scrutinee: &Atom, wanted: &[bool], span: Span) -> Arm {
        self.context.b.push_block();
        self.payload_tangents(arm.tag, &arm.binders, scrutinee, span);
        let results = self.inline(&arm.body, wanted);
        let body = self.context.b.pop_block(results);
        Arm { tag: arm.tag, binders: arm.binders.clone(), body }
    }

    /// Emits the tangents of a payload: the tangent of the scrutinee has the constructor of the value; the other case never happens.
    pub fn payload_tangents(&mut self, tag: u32, binders: &[Binder], scrutinee: &Atom, span: Span) {
        let carrying: Vec<Binder> = binders.iter().filter(|binder| self.context.carries(&binder.ty)).cloned().collect();
        let (Some(tangent), false) = (self.tangent(scrutinee), carrying.is_empty()) else { return };
        let inner: Vec<Binder> = binders.iter().map(|binder| self.context.fresh("", binder.ty.clone())).collect();
        let pairs = binders.iter().zip(&inner);
        let results = pairs.filter(|(own, _)| carrying.contains(own)).map(|(_, binder)| Atom::Var(binder.var)).collect();
        let body = Block { statements: Vec::new(), results };
        let otherwise =
            self.context.block(|context| carrying.iter().map(|binder| context.zero_like(&Atom::Var(binder.var), span)).collect());
        let arms = vec![Arm { tag, binders: inner, body }];
        let types = carrying.iter().map(|binder| binder.ty.clone()).collect();
        let op = Op::Match { scrutinee: tangent, arms, otherwise: Some(otherwise) };
        let tangents = self.context.b.push(op, types, span);
        for (binder, tangent) in carrying.iter().zip(tangents) {
            self.tangents.insert(binder.var, tangent);
        }
    }

    /// An associative operator on values with tangents: left values, left tangents, right values, right tangents.
    fn operator(&mut self, op: &Lambda, wanted: &[bool]) -> Lambda {
        let (left, right) = op.params.split_at(wanted.len().min(op.params.len()));
        let mut tangents = |binders: &[Binder]| -> Vec<Binder> {
            binders
                .iter()
                .zip(wanted)
                .filter(|(_, wanted)| **wanted)
                .map(|(binder, _)| {
                    let tangent = self.context.fresh("", binder.ty.clone());
                    self.tangents.insert(binder.var, Atom::Var(tangent.var));
                    tangent
                })
                .collect()
        };
        let (left_tangents, right_tangents) = (tangents(left), tangents(right));
        let params = [left.to_vec(), left_tangents, right.to_vec(), right_tangents].concat();
        let body = self.block(&op.body, wanted);
        let results = widened_by(&op.results, wanted);
        Lambda { params, results, body }
    }

    /// The body of a histogram or scatter: indices have no tangents.
    fn writes(&mut self, body: &Block, rank: usize, wanted: &[bool]) -> Block {
        let wanted = [vec![false; rank], wanted.to_vec()].concat();
        self.block(body, &wanted)
    }

    fn loop_statement(&mut self, statement: &Statement, parts: &Loop) {
        let span = statement.span;
        let carry_wanted = self.mask(&parts.carry);
        let initial = self.widened(&parts.initial, &carry_wanted);
        let carry_tangents = self.tangent_binders(&parts.carry);
        let carry = [parts.carry.clone(), carry_tangents].concat();
        let form = match &parts.form {
            LoopForm::For { index, bound } => LoopForm::For { index: index.clone(), bound: bound.clone() },
            LoopForm::While { condition } => LoopForm::While { condition: condition.clone() },
        };
        // The body's results are the next carry and then what is emitted; their tangents come behind each group.
        let emits = parts.emits.len();
        let first_emit = statement.binders.len() - emits;
        let emit_wanted = self.mask(&statement.binders[first_emit..]);
        let all_wanted = [carry_wanted.clone(), emit_wanted.clone()].concat();
        self.context.b.push_block();
        let results = self.inline(&parts.body, &all_wanted);
        let (values, tangents) = results.split_at(parts.body.results.len());
        let carry_count = carry_wanted.iter().filter(|wanted| **wanted).count();
        let (carry_tangents, emit_tangents) = tangents.split_at(carry_count);
        let (next, emitted) = values.split_at(parts.carry.len());
        let results = [next, carry_tangents, emitted, emit_tangents].concat();
        let body = self.context.b.pop_block(results);
        let op = Loop {
            carry,
            initial,
            form,
            body,
            emits: widened_by(&parts.emits, &emit_wanted),
            counted: parts.counted,
            hints: parts.hints.clone(),
        };
        // Binders: carry, carry tangents, trip count, emits, emit tangents.
        let (carry_binders, rest) = statement.binders.split_at(parts.carry.len());
        let (count_binder, emit_binders) = rest.split_at(rest.len() - emits);
        let mut tangents_for = |binders: &[Binder], wanted: &[bool]| -> Vec<Binder> {
            binders
                .iter()
                .zip(wanted)
                .filter(|(_, wanted)| **wanted)
                .map(|(binder, _)| {
                    let tangent = self.context.fresh("", binder.ty.clone());
                    if self.active.contains(&binder.var) {
                        self.tangents.insert(binder.var, Atom::Var(tangent.var));
                    }
                    tangent
                })
                .collect()
        };
        let carry_tangents = tangents_for(carry_binders, &carry_wanted);
        let emit_tangents = tangents_for(emit_binders, &emit_wanted);
        let binders =
            [carry_binders.to_vec(), carry_tangents, count_binder.to_vec(), emit_binders.to_vec(), emit_tangents].concat();
        self.context.push_statement(Statement { binders, op: Op::Loop(Box::new(op)), span });
    }

    fn call(&mut self, statement: &Statement, function: FunctionId, args: &[Atom]) {
        let mask: Vec<bool> = args.iter().map(|arg| self.tangent(arg).is_some()).collect();
        let results = self.context.active_results(function, &mask, false);
        let types = self.context.program().functions[function.0 as usize].results.clone();
        let results: Vec<bool> = results.iter().zip(&types).map(|(active, ty)| *active && self.context.carries(ty)).collect();
        let target = self.function(function, &mask, &results);
        let args = self.widened(args, &mask);
        let tangents: Vec<Binder> = statement
            .binders
            .iter()
            .zip(&results)
            .filter(|(_, wanted)| **wanted)
            .map(|(binder, _)| {
                let tangent = self.context.fresh("", binder.ty.clone());
                if self.active.contains(&binder.var) {
                    self.tangents.insert(binder.var, Atom::Var(tangent.var));
                }
                tangent
            })
            .collect();
        let binders = [statement.binders.clone(), tangents].concat();
        self.context.push_statement(Statement { binders, op: Op::Call { function: target, args }, span: statement.span });
    }

    /// The function with tangents for the masked arguments and results.
    fn function(&mut self, function: FunctionId, mask: &[bool], results: &[bool]) -> FunctionId {
        let key = (function, self.beside, mask.to_vec());
        if let Some(known) = self.functions.get(&key) {
            return *known;
        }
        let source = self.context.program().functions[function.0 as usize].clone();
        let lambda = Lambda { params: source.params, results: source.results, body: source.body };
        let lambda = self.context.copy_lambda(&lambda);
        let mut tangents: FxHashMap<Var, Atom> = FxHashMap::default();
        let tangent_params: Vec<Binder> = lambda
            .params
            .iter()
            .zip(mask)
            .filter(|(_, wanted)| **wanted)
            .map(|(param, _)| {
                let tangent = self.context.fresh(format!("{}_t", self.context.name(param.var)), param.ty.clone());
                tangents.insert(param.var, Atom::Var(tangent.var));
                tangent
            })
            .collect();
        let params = [lambda.params.clone(), tangent_params].concat();
        let types = widened_by(&lambda.results, results);
        let name = Name::from(format!("{}_{}", source.name, self.beside.name()));
        let target = self.context.reserve(name, params, types, source.span);
        self.functions.insert(key, target);
        let active = self.context.active_variables(&lambda.body, tangents.keys().copied(), false);
        let mut inner = Forward { context: self.context, functions: self.functions, beside: self.beside, active, tangents };
        let body = inner.block(&lambda.body, results);
        self.context.b.program_mut().functions[target.0 as usize].body = body;
        target
    }

    fn custom(&mut self, statement: &Statement, custom: &Custom, wanted: &[bool]) {
        let span = statement.span;
        match custom.kind {
            CustomKind::Jvp => {
                let tangents: Vec<Atom> = custom.args.iter().map(|arg| self.tangent_or_zero(arg, span)).collect();
                let rule = self.context.copy_lambda(&custom.rule);
                let derivative = match self.beside {
                    Beside::Tangent => self.apply(&rule, &[custom.args.clone(), tangents].concat(), span),
                    Beside::Set | Beside::Paths => self.through_rule(&rule, &custom.args, tangents, span),
                };
                // A derivative around this one goes by the rule again.
                self.context.push_statement(statement.clone());
                for (binder, tangent) in statement.binders.iter().zip(derivative) {
                    self.set(binder, Some(tangent));
                }
            }
            CustomKind::Vjp | CustomKind::VjpTape { .. } => {
                let skip = custom.kind.tape();
                for (param, arg) in custom.function.params.iter().zip(&custom.args) {
                    self.context.push_statement(Statement {
                        binders: vec![param.clone()],
                        op: Op::Copy(vec![arg.clone()]),
                        span,
                    });
                    if let Some(tangent) = self.tangent(arg) {
                        self.tangents.insert(param.var, tangent);
                    }
                }
                let all_wanted = [vec![false; skip], wanted.to_vec()].concat();
                let results = self.inline(&custom.function.body, &all_wanted);
                let (values, tangents) = results.split_at(custom.function.body.results.len());
                let values = values[skip.min(values.len())..].to_vec();
                self.context.push_statement(Statement { binders: statement.binders.clone(), op: Op::Copy(values), span });
                let active: Vec<Binder> = statement
                    .binders
                    .iter()
                    .zip(wanted)
                    .filter(|(_, wanted)| **wanted)
                    .map(|(binder, _)| binder.clone())
                    .collect();
                for (binder, tangent) in active.iter().zip(tangents) {
                    self.set(binder, Some(tangent.clone()));
                }
            }
        }
    }

    /// Which results of a rule depend on the tangents that it is given, whatever these are: the rule is linear in them.
    fn through_rule(&mut self, rule: &Lambda, args: &[Atom], sets: Vec<Atom>, span: Span) -> Vec<Atom> {
        let zeros: Vec<Atom> = args.iter().map(|arg| self.context.zero_like(arg, span)).collect();
        let (_, directions) = rule.params.split_at(args.len().min(rule.params.len()));
        for (param, arg) in rule.params.iter().zip([args, &zeros].concat()) {
            self.context.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg]), span });
        }
        let tangents: FxHashMap<Var, Atom> = directions.iter().map(|param| param.var).zip(sets).collect();
        let active = self.context.active_variables(&rule.body, tangents.keys().copied(), false);
        let mut inner = Forward { context: self.context, functions: self.functions, beside: self.beside, active, tangents };
        inner.inline(&rule.body, &vec![true; rule.results.len()]).split_off(rule.results.len())
    }

    /// Emits a lambda's body for the given arguments, without tangents.
    fn apply(&mut self, lambda: &Lambda, args: &[Atom], span: Span) -> Vec<Atom> {
        for (param, arg) in lambda.params.iter().zip(args) {
            self.context.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg.clone()]), span });
        }
        for statement in &lambda.body.statements {
            self.context.push_statement(statement.clone());
        }
        lambda.body.results.clone()
    }

    /// Which accumulators have tangents, what those start from, and their handles.
    pub fn tangent_handles(&mut self, handles: &[Binder], init: &[Atom], span: Span) -> (Vec<bool>, Vec<Atom>, Vec<Binder>) {
        let mask: Vec<bool> =
            handles.iter().map(|handle| handle_content(handle).is_some_and(|ty| self.context.carries(&ty))).collect();
        let tangent_init: Vec<Atom> =
            init.iter().zip(&mask).filter(|(_, wanted)| **wanted).map(|(atom, _)| self.tangent_or_zero(atom, span)).collect();
        let tangent_handles: Vec<Binder> = handles
            .iter()
            .zip(&mask)
            .filter(|(_, wanted)| **wanted)
            .map(|(handle, _)| {
                let tangent = self.context.fresh(format!("{}_t", self.context.name(handle.var)), handle.ty.clone());
                self.tangents.insert(handle.var, Atom::Var(tangent.var));
                tangent
            })
            .collect();
        (mask, tangent_init, tangent_handles)
    }

    /// A second accumulator takes the tangents.
    fn with_accumulators(&mut self, statement: &Statement, handles: &[Binder], init: &[Atom], body: &Block) {
        let span = statement.span;
        let (mask, tangent_init, tangent_handles) = self.tangent_handles(handles, init, span);
        let (final_binders, result_binders) = statement.binders.split_at(handles.len().min(statement.binders.len()));
        let wanted = self.mask(result_binders);
        let body = self.block(body, &wanted);
        let final_tangents: Vec<Binder> = final_binders
            .iter()
            .zip(&mask)
            .filter(|(_, wanted)| **wanted)
            .map(|(binder, _)| {
                let tangent = self.context.fresh("", binder.ty.clone());
                self.tangents.insert(binder.var, Atom::Var(tangent.var));
                tangent
            })
            .collect();
        let result_tangents = self.tangent_binders(result_binders);
        let op = Op::WithAccumulators {
            handles: [handles.to_vec(), tangent_handles].concat(),
            init: [init.to_vec(), tangent_init].concat(),
            body,
        };
        let binders = [final_binders.to_vec(), final_tangents, result_binders.to_vec(), result_tangents].concat();
        self.context.push_statement(Statement { binders, op, span });
    }
}

impl Forward<'_, '_> {
    /// A second log, of the same rows, takes the tangents.
    fn with_log(&mut self, statement: &Statement, handle: &Binder, start: &Atom, body: &Block, wanted: &[bool]) {
        let span = statement.span;
        let columns = match &handle.ty {
            Type::Log(log) => log.indices + log.values.len(),
            _ => 0,
        };
        let (own, results) = statement.binders.split_at(columns.min(statement.binders.len()));
        let (own_wanted, results_wanted) = wanted.split_at(own.len());
        if !own_wanted.contains(&true) {
            let body = self.block(body, results_wanted);
            let tangents = self.tangent_binders(results);
            let binders = [statement.binders.clone(), tangents].concat();
            let op = Op::WithLog { handle: handle.clone(), start: start.clone(), body };
            self.context.push_statement(Statement { binders, op, span });
            return;
        }
        let second = self.context.fresh(format!("{}_t", self.context.name(handle.var)), handle.ty.clone());
        self.tangents.insert(handle.var, Atom::Var(second.var));
        let inner = self.block(body, results_wanted);
        let column_tangents: Vec<Binder> = own.iter().map(|binder| self.context.fresh("", binder.ty.clone())).collect();
        let result_tangents = self.tangent_binders(results);
        let outside = [column_tangents.clone(), results.to_vec(), result_tangents].concat();
        let inside: Vec<Binder> = outside.iter().map(|binder| self.context.fresh("", binder.ty.clone())).collect();
        self.context.b.push_block();
        let op = Op::WithLog { handle: second, start: start.clone(), body: inner };
        self.context.push_statement(Statement { binders: inside.clone(), op, span });
        let body = self.context.b.pop_block(inside.iter().map(|binder| Atom::Var(binder.var)).collect());
        let op = Op::WithLog { handle: handle.clone(), start: start.clone(), body };
        self.context.push_statement(Statement { binders: [own.to_vec(), outside].concat(), op, span });
        for (binder, tangent) in own.iter().zip(&column_tangents) {
            self.set(binder, Some(Atom::Var(tangent.var)));
        }
    }
}

fn handle_content(handle: &Binder) -> Option<Type> {
    match &handle.ty {
        Type::Accumulator(content) => Some((**content).clone()),
        _ => None,
    }
}

/// The list, and behind it again the entries that are wanted.
fn widened_by<T: Clone>(list: &[T], wanted: &[bool]) -> Vec<T> {
    let again = list.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(entry, _)| entry.clone());
    list.iter().cloned().chain(again).collect()
}
