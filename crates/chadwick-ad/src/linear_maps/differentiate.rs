//! `∂f`: the map of every variable of a function (Ellis et al., figure 6 and section 8). Core is in A-normal form, so no argument is
//! duplicated by `∂f(e) ∘ ∇e`.
//!
//! What the paper has no rule for is refused here, with its place in the program.

use super::maps::{Accumulators, Branch, Branches, Chosen, Derived, Factor, Family, Line, Map, Repeat};
use crate::context::Context;
use chadwick_core::prim::Derivative;
use chadwick_core::{
    Atom, Binder, Block, Const, Custom, CustomKind, FunctionId, Lambda, Loop, LoopForm, Op, Prim, PrimOp, Statement, Type, Var,
};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

pub(super) struct Differentiator<'c, 'p> {
    pub context: &'c mut Context<'p>,
    /// The variables that depend on the inputs.
    pub active: FxHashSet<Var>,
    /// How many bodies that run many times are around.
    depth: usize,
    /// The functions whose bodies are being written out.
    open: Vec<FunctionId>,
}

impl<'c, 'p> Differentiator<'c, 'p> {
    /// For a function with these active parameters.
    pub fn new(context: &'c mut Context<'p>, body: &Block, inputs: Vec<Var>) -> Self {
        let active = context.active_variables(body, inputs, true);
        Differentiator { context, active, depth: 0, open: Vec::new() }
    }

    pub fn block(&mut self, block: &Block) -> Derived {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut lines = Vec::new();
            block.statements.iter().for_each(|statement| self.statement(statement, &mut lines));
            let map = Map::tuple(block.results.iter().map(|result| self.atom(result)).collect());
            Derived { lines, results: block.results.clone(), map }
        })
    }

    /// The same for a body that runs many times.
    fn repeated(&mut self, block: &Block) -> Derived {
        self.depth += 1;
        let derived = self.block(block);
        self.depth -= 1;
        derived
    }

    fn is_active(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if self.active.contains(var) && self.context.carries(&self.context.var_type(*var)))
    }

    /// `∇x = ∂x`, `∇k = 0`
    fn atom(&self, atom: &Atom) -> Map {
        match atom {
            Atom::Var(var) if self.is_active(atom) => Map::Of(*var),
            _ => Map::Zero,
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> Map {
        Map::tuple(atoms.iter().map(|atom| self.atom(atom)).collect())
    }

    fn statement(&mut self, statement: &Statement, lines: &mut Vec<Line>) {
        let is_active = |binder: &Binder| self.is_active(&Atom::Var(binder.var));
        let active = statement.binders.iter().any(is_active);
        let effects = self.context.has_effects(&statement.op);
        if !active && !effects {
            lines.push(Line { statement: statement.clone(), map: None, adds: false });
            return;
        }
        let recursive = |binder: &Binder| self.is_active(&Atom::Var(binder.var)) && holds_named_type(&binder.ty);
        if statement.binders.iter().any(recursive) {
            self.context
                .unsupported(statement.span, "a value of a type with a name, such as a list or a function that is chosen");
            return;
        }
        let map = match &statement.op {
            Op::Copy(atoms) | Op::Trace { args: atoms, .. } => self.atoms(atoms),
            Op::Prim(op, args) => self.prim(statement, *op, args),
            Op::If { condition, then, otherwise } => {
                let branches = [then, otherwise].map(|block| self.branch(None, &[], None, block)).into();
                Map::Branch(Box::new(Branches { chosen: Chosen::If(condition.clone()), branches }))
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let mut branches = Vec::new();
                for arm in arms {
                    let payload = self.payload(scrutinee, arm.tag, &arm.binders);
                    branches.push(self.branch(Some(arm.tag), &arm.binders, payload, &arm.body));
                }
                if let Some(block) = otherwise {
                    branches.push(self.branch(None, &[], None, block));
                }
                Map::Branch(Box::new(Branches { chosen: Chosen::Match(scrutinee.clone()), branches }))
            }
            Op::Call { function, args } => return self.call(statement, *function, args, lines),
            Op::Index { array, indices } => {
                Map::OneHot { array: array.clone(), indices: indices.clone() }.after(self.atom(array))
            }
            Op::Construct { args, .. } => Map::Linear(Box::new(statement.op.clone())).after(self.atoms(args)),
            Op::ArrayLiteral { elements, .. } => Map::Linear(Box::new(statement.op.clone())).after(self.atoms(elements)),
            Op::Slice { array, .. } | Op::Transpose { array, .. } | Op::Reshape { array, .. } => {
                Map::Linear(Box::new(statement.op.clone())).after(self.atom(array))
            }
            Op::Update { array, value, .. } => {
                Map::Linear(Box::new(statement.op.clone())).after(self.atoms(&[array.clone(), value.clone()]))
            }
            Op::Concat { arrays } => Map::Linear(Box::new(statement.op.clone())).after(self.atoms(arrays)),
            Op::Build { space, body, .. } => {
                let body = self.repeated(body);
                Map::VCatV(Box::new(Family { space: space.clone(), body }))
            }
            Op::Reduce { space, op, neutral, body, .. } if op.is_addition() => {
                let family = Family { space: space.clone(), body: self.repeated(body) };
                let sum = Map::HCatV(Box::new(Map::units(space.clone()))).after(Map::VCatV(Box::new(family)));
                Map::Sum(vec![self.atoms(neutral), sum])
            }
            Op::Reduce { space, op, neutral, body, .. } => {
                return self.fold(statement, (space, op, neutral, body), lines);
            }
            Op::Loop(parts) => match self.repeat(statement, parts, false) {
                Some(map) => map,
                None => return,
            },
            Op::Par { left, right } => {
                let results = [left.results.clone(), right.results.clone()].concat();
                [left, right].into_iter().flat_map(|block| &block.statements).for_each(|inner| self.statement(inner, lines));
                return self.name_results(statement, results, lines);
            }
            Op::Recompute(block) => {
                block.statements.iter().for_each(|inner| self.statement(inner, lines));
                return self.name_results(statement, block.results.clone(), lines);
            }
            Op::Custom(custom) => return self.custom(statement, custom, lines),
            Op::Scan { .. } => return self.refuse(statement, "a scan"),
            Op::Scatter { .. } => return self.refuse(statement, "a scatter"),
            Op::Hist { .. } => return self.refuse(statement, "a histogram"),
            Op::Closure(_) | Op::Apply { .. } => return self.refuse(statement, "a function that is a value"),
            Op::WithAccumulators { handles, init, body } => {
                let initial = init.iter().map(|init| self.atom(init)).collect();
                let body = self.block(body);
                Map::Accumulators(Box::new(Accumulators { handles: handles.clone(), initial, body }))
            }
            Op::Accumulate { handle: Atom::Var(handle), value, .. } => Map::Added(*handle).after(self.atom(value)),
            Op::Accumulate { .. } => Map::Zero,
            Op::WithLog { .. } | Op::Log { .. } => return self.refuse(statement, "a log"),
            Op::Differentiate(_) => return self.refuse(statement, "a derivative that was left standing"),
            Op::Dim { .. } | Op::Assert { .. } => Map::Zero,
        };
        lines.push(Line { statement: statement.clone(), map: Some(map), adds: effects });
    }

    fn refuse(&mut self, statement: &Statement, what: &str) {
        self.context.unsupported(statement.span, what);
    }

    fn name_results(&mut self, statement: &Statement, results: Vec<Atom>, lines: &mut Vec<Line>) {
        let copy = Statement { binders: statement.binders.clone(), op: Op::Copy(results), span: statement.span };
        self.statement(&copy, lines);
    }

    /// `(S(∂₁) ⋈ S(∂₂)) ∘ (∂x × ∂y)`
    fn prim(&self, statement: &Statement, op: PrimOp, args: &[Atom]) -> Map {
        let Some(binder) = statement.binders.first() else { return Map::Zero };
        let (mut factors, mut operands) = (Vec::new(), Vec::new());
        for ((derivative, arg), prim) in op.derivatives().iter().zip(args).zip(op.operands()) {
            if *derivative == Derivative::Zero || !self.is_active(arg) {
                continue;
            }
            operands.push(self.atom(arg));
            factors.push(match derivative {
                Derivative::Zero => Map::Zero,
                Derivative::One => Map::One,
                Derivative::MinusOne => Map::Scale(Factor::Atom(Atom::Const(Const::from_i128(prim, -1)))),
                Derivative::Convert => Map::Convert { from: prim, to: op.result() },
                Derivative::Scale(partial) => {
                    let (partial, operands, result) = (partial.clone(), args.to_vec(), Atom::Var(binder.var));
                    Map::Scale(Factor::Partial { op, partial, operands, result })
                }
            });
        }
        match factors.is_empty() {
            true => Map::Zero,
            false => Map::cotuple(factors).after(Map::tuple(operands)),
        }
    }

    fn branch(&mut self, tag: Option<u32>, binders: &[Binder], payload: Option<Map>, block: &Block) -> Branch {
        Branch { tag, binders: binders.to_vec(), payload, body: self.block(block) }
    }

    fn payload(&mut self, scrutinee: &Atom, tag: u32, binders: &[Binder]) -> Option<Map> {
        let map = Map::Payload { scrutinee: scrutinee.clone(), tag, binders: binders.to_vec() };
        self.is_active(scrutinee).then(|| map.after(self.atom(scrutinee)))
    }

    /// `∂f(e) ∘ ∇e`. Where a call in an iteration would give a whole array as a cotangent, the function is written out instead: the more
    /// inlining the fewer maps between (section 5.4).
    fn call(&mut self, statement: &Statement, function: FunctionId, args: &[Atom], lines: &mut Vec<Line>) {
        let span = statement.span;
        let active: Vec<bool> = args.iter().map(|arg| self.is_active(arg)).collect();
        let holds_arrays = args.iter().any(|arg| self.is_active(arg) && self.holds_arrays(&self.context.type_of(arg)));
        if self.open.contains(&function) {
            return self.refuse(statement, "a function that calls itself");
        }
        if self.depth > 0 && holds_arrays {
            let Some(source) = self.context.program().functions.get(function.0 as usize) else { return };
            let (params, results, body) = (source.params.clone(), source.results.clone(), source.body.clone());
            let lambda = self.context.copy_lambda(&Lambda { params, results, body });
            self.open.push(function);
            self.written_out(statement, &lambda, args, lines);
            self.open.pop();
            return;
        }
        let inputs = args.iter().filter(|arg| self.is_active(arg)).map(|arg| self.atom(arg)).collect();
        let map = Map::Derivative { function, args: args.to_vec(), active }.after(Map::tuple(inputs));
        lines.push(Line { statement: Statement { span, ..statement.clone() }, map: Some(map), adds: false });
    }

    fn holds_arrays(&self, ty: &Type) -> bool {
        match ty {
            Type::Array(_) => true,
            Type::Sum(constructors) => constructors.iter().flat_map(|one| &one.payload).any(|ty| self.holds_arrays(ty)),
            _ => false,
        }
    }

    /// The body of a function at its arguments.
    fn written_out(&mut self, statement: &Statement, lambda: &Lambda, args: &[Atom], lines: &mut Vec<Line>) {
        let inputs: Vec<Var> =
            lambda.params.iter().zip(args).filter(|(_, arg)| self.is_active(arg)).map(|(param, _)| param.var).collect();
        let inside = self.context.active_variables(&lambda.body, inputs.clone(), true);
        self.active.extend(inside);
        self.active.extend(inputs);
        for (param, arg) in lambda.params.iter().zip(args) {
            let copy = Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg.clone()]), span: statement.span };
            self.statement(&copy, lines);
        }
        lambda.body.statements.iter().for_each(|inner| self.statement(inner, lines));
        self.name_results(statement, lambda.body.results.clone(), lines);
    }

    fn custom(&mut self, statement: &Statement, custom: &Custom, lines: &mut Vec<Line>) {
        if custom.kind == CustomKind::Jvp {
            // Reverse mode differentiates the function itself.
            let lambda = self.context.copy_lambda(&custom.function);
            return self.written_out(statement, &lambda, &custom.args, lines);
        }
        let map = Map::Rule(Box::new(custom.clone())).after(self.atoms(&custom.args));
        lines.push(Line { statement: statement.clone(), map: Some(map), adds: false });
    }

    /// A reduction by any operator is a fold.
    fn fold(
        &mut self,
        statement: &Statement,
        (space, op, neutral, body): (&[chadwick_core::Axis], &Lambda, &[Atom], &Block),
        lines: &mut Vec<Line>,
    ) {
        let mut made = Vec::new();
        let span = statement.span;
        let looped = self.context.fold_loop(statement, space, op, neutral, body, false, &mut made, span);
        for binder in made.iter().filter(|binder| self.context.carries(&binder.ty)) {
            self.active.insert(binder.var);
        }
        for inner in &looped {
            match &inner.op {
                Op::Loop(parts) => {
                    if let Some(map) = self.repeat(inner, parts, true) {
                        lines.push(Line { statement: inner.clone(), map: Some(map), adds: false });
                    }
                }
                _ => self.statement(inner, lines),
            }
        }
    }

    /// A loop with a bound.
    fn repeat(&mut self, statement: &Statement, parts: &Loop, is_fold: bool) -> Option<Map> {
        let LoopForm::For { .. } = &parts.form else {
            self.context.unsupported(statement.span, "a loop that ends by a condition");
            return None;
        };
        let commutes = parts.hints.commutes && self.check_commutes(parts, statement.span);
        let initial = parts.initial.iter().map(|initial| self.atom(initial)).collect();
        let body = self.repeated(&parts.body);
        Some(Map::Repeat(Box::new(Repeat { parts: parts.clone(), initial, body, is_fold, commutes })))
    }

    /// The reverse steps of a loop commute if its state is numbers of which each depends on itself alone: then a step multiplies each
    /// cotangent by a number. A body that adds to cotangents of other variables sees those of its own iteration, which depend on the order.
    fn check_commutes(&mut self, parts: &Loop, span: Span) -> bool {
        let own: Vec<Var> = parts.carry.iter().map(|binder| binder.var).collect();
        let state: Vec<usize> = (0..own.len()).filter(|at| self.is_active(&Atom::Var(own[*at]))).collect();
        let is_number = |at: &usize| matches!(&parts.carry[*at].ty, Type::Prim(prim) if *prim != Prim::Bool);
        let outside = chadwick_core::visit::free_variables(&parts.body)
            .into_iter()
            .any(|var| !own.contains(&var) && self.is_active(&Atom::Var(var)));
        let mut commutes = state.iter().all(is_number) && !outside && parts.emits.is_empty();
        for from in &state {
            let reached = self.context.active_variables(&parts.body, [own[*from]], true);
            let mixes = |to: &usize| matches!(&parts.body.results[*to], Atom::Var(var) if to != from && reached.contains(var));
            commutes &= !state.iter().any(mixes);
        }
        if !commutes {
            let message = "the reverse steps of this loop are not known to commute";
            let hint = "`#[ccl]` is for loops whose state is numbers, each of which depends on itself and on no input";
            self.context.errors.push(chadwick_source::Diagnostic::error("E0411", span, message).hint(hint));
        }
        commutes
    }
}

/// Whether a value of a type with a name can be inside: these may be recursive.
pub(super) fn holds_named_type(ty: &Type) -> bool {
    match ty {
        Type::Named(_) => true,
        Type::Sum(constructors) => constructors.iter().flat_map(|one| &one.payload).any(holds_named_type),
        Type::Array(array) => array.element.as_type().is_some_and(|ty| holds_named_type(&ty)),
        _ => false,
    }
}
