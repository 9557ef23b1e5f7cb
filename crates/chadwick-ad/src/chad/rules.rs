//! Blocks and statements: the rules for variables, `let`, primitive operations, constructors and copies.
//!
//! `D(let x = s in t) = let (x, x') = D(s); (y, y') = D(t) in (y, \d. let (dΓ, dx) = y' d in dΓ + x' dx)`, for all statements of a block at once.

use super::linear::LinearFunction;
use super::meaning::{Field, Meaning, Operation, Variable, has_cotangent};
use super::{ChadEngine, Direction};
use crate::context::{Applied, Context};
use chadwick_core::prim::Derivative;
use chadwick_core::typing::TypeEnvironment;
use chadwick_core::typing::has_functions;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Binder, Block, MessagePart, Op, PrimOp, Statement, Type, Var};
use chadwick_source::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

pub struct Chad<'c, 'p> {
    pub context: &'c mut Context<'p>,
    pub engine: &'c mut ChadEngine,
    /// What depends on an input and has a result that depends on it.
    active: FxHashSet<Var>,
    /// `Γ`: the variables in scope that have cotangents, outermost first.
    pub environment: Vec<Variable>,
    pub places: FxHashMap<Var, usize>,
    /// The primals of variables that differ from their values.
    pub forms: FxHashMap<Var, Atom>,
    /// In forward mode, while the body of a derivative is made: the tangents of the environment.
    pub tangents: Vec<Atom>,
    /// Whether functions that are values occur.
    higher_order: bool,
    /// Whether primals may differ from values.
    has_forms: bool,
}

/// A statement with a derivative, and how large the environment was before it.
struct Step {
    before: usize,
    derivative: LinearFunction,
}

impl<'c, 'p> Chad<'c, 'p> {
    /// For a function's body, given which parameters have cotangents and which results get some.
    pub fn new(
        context: &'c mut Context<'p>,
        engine: &'c mut ChadEngine,
        body: &Block,
        params: &[Binder],
        mask: &[bool],
        wanted: &[bool],
    ) -> Self {
        let mut inputs: Vec<Var> = params.iter().zip(mask).filter(|(_, masked)| **masked).map(|(param, _)| param.var).collect();
        let mut inside = Vec::new();
        closure_params(body, &mut inside);
        let holds = |ty: &Type| has_functions(context.program(), ty);
        let higher_order =
            engine.meaning.takes_functions() && (params.iter().any(|it| holds(&it.ty)) || binds(body, &|it| holds(&it.ty)));
        inputs.extend(inside);
        let is_reverse = engine.direction == Direction::Reverse;
        let mut active = context.active_variables(body, inputs, is_reverse);
        let uses_rules = engine.meaning.uses_rules();
        // Without rules a function with one is what it computes; each direction goes by the rules of its own.
        let mut before = 0;
        while !uses_rules && active.len() > before {
            before = active.len();
            for reverse in [false, true] {
                active = context.active_variables(body, active, reverse);
            }
        }
        if !higher_order && uses_rules {
            let outputs = body.results.iter().zip(wanted).filter(|(_, wanted)| **wanted);
            let outputs = outputs.filter_map(|(result, _)| if let Atom::Var(var) = result { Some(*var) } else { None });
            let useful = context.useful_variables(body, outputs.collect::<Vec<Var>>(), is_reverse);
            active.retain(|var| useful.contains(var));
        }
        let has_forms = higher_order || engine.meaning.changes(context.program(), &Type::F64);
        let (environment, places, forms, tangents) = Default::default();
        Chad { context, engine, active, environment, places, forms, tangents, higher_order, has_forms }
    }

    pub fn meaning(&mut self) -> (&mut dyn Meaning, &mut Context<'p>) {
        (self.engine.meaning.as_mut(), self.context)
    }

    // ------------------------------------------------------------------------------------------------------------- variables

    /// Whether a variable that is bound gets a cotangent.
    pub fn is_active(&self, binder: &Binder) -> bool {
        match self.higher_order && has_functions(self.context.program(), &binder.ty) {
            true => true,
            false => self.active.contains(&binder.var) && self.context.carries(&binder.ty),
        }
    }

    pub fn flags(&self, binders: &[Binder]) -> Vec<bool> {
        binders.iter().map(|binder| self.is_active(binder)).collect()
    }

    /// Marks a variable that a rewriting made.
    pub fn mark(&mut self, binder: &Binder) {
        if self.context.carries(&binder.ty) {
            self.active.insert(binder.var);
        }
    }

    /// Marks a copy of a variable.
    pub fn mark_like(&mut self, copy: Var, var: Var) {
        if self.active.contains(&var) {
            self.active.insert(copy);
        }
    }

    /// Whether an atom has a cotangent.
    pub fn has_place(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if self.places.contains_key(var))
    }

    /// The variables of the environment as which binders come in scope.
    pub fn variables(&self, binders: &[Binder]) -> Vec<Variable> {
        let variable = |it: &Binder| {
            let primal = self.primal(&Atom::Var(it.var));
            Variable { var: it.var, ty: it.ty.clone(), primal }
        };
        binders.iter().map(variable).collect()
    }

    fn enter(&mut self, variables: Vec<Variable>) {
        for variable in variables {
            self.places.insert(variable.var, self.environment.len());
            self.environment.push(variable);
        }
    }

    fn leave(&mut self, count: usize) {
        for variable in self.environment.drain(count..) {
            self.places.remove(&variable.var);
        }
    }

    pub fn primal(&self, atom: &Atom) -> Atom {
        match atom {
            Atom::Var(var) => self.forms.get(var).unwrap_or(atom).clone(),
            Atom::Const(constant) => Atom::Const(self.engine.meaning.constant(*constant)),
        }
    }

    /// Whether primals of the type differ from values.
    fn changes(&self, ty: &Type) -> bool {
        self.has_forms && self.engine.meaning.changes(self.context.program(), ty)
    }

    pub fn primals(&self, atoms: &[Atom]) -> Vec<Atom> {
        atoms.iter().map(|atom| self.primal(atom)).collect()
    }

    /// A binder for the primal.
    pub fn primal_binder(&mut self, binder: &Binder) -> Binder {
        if !self.changes(&binder.ty) {
            return binder.clone();
        }
        let ty = self.engine.meaning.primal_type(self.context, &binder.ty);
        let name = self.context.name(binder.var);
        let made = self.context.fresh(name, ty);
        self.forms.insert(binder.var, Atom::Var(made.var));
        made
    }

    pub fn primal_binders(&mut self, binders: &[Binder]) -> Vec<Binder> {
        binders.iter().map(|binder| self.primal_binder(binder)).collect()
    }

    pub fn cotangent_types(&mut self, types: &[Type]) -> Vec<Type> {
        types.iter().map(|ty| self.engine.meaning.cotangent_type(self.context, ty)).collect()
    }

    // ----------------------------------------------------------------------------------------------------------------- blocks

    /// `D[block]`: emits its statements; gives its results and the derivative of those that are wanted by the environment here and the variables
    /// bound for the block.
    pub fn block(&mut self, block: &Block, bound: &[Binder], wanted: &[bool], span: Span) -> (Vec<Atom>, LinearFunction) {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
            let outside = self.environment.len();
            let bound = self.variables(bound);
            self.enter(bound);
            let kept = self.environment.clone();
            let mut steps = Vec::new();
            block.statements.iter().for_each(|statement| self.step(statement, &mut steps));
            let results = self.primals(&block.results);
            let pairs = block.results.iter().zip(wanted).filter(|(_, wanted)| **wanted);
            let given: Vec<Atom> = pairs.map(|(result, _)| result.clone()).collect();
            let types: Vec<Type> = given.iter().map(|atom| self.source_type(atom)).collect();
            let derivative = match self.engine.direction {
                Direction::Reverse => self.backpropagator_to(&types, &kept, span, |this, cotangents, state| {
                    let depth = this.environment.len();
                    let mut state = this.engine.meaning.with_room(this.context, state, depth, span);
                    for (result, cotangent) in given.iter().zip(cotangents) {
                        state = this.one(state, result, cotangent.clone(), span);
                    }
                    for step in steps.iter().rev() {
                        let environment = this.environment.clone();
                        let all = this.written_out(state, &environment, span);
                        let inside = environment.get(step.before..).unwrap_or_default();
                        let (rest, own) = this.engine.meaning.taken(this.context, inside, step.before, all, span);
                        this.leave(step.before);
                        state = this.scoped(Some(rest), &step.derivative, own, &[], span).0;
                    }
                    state
                }),
                Direction::Forward => self.pushforward_from(&types, &kept, span, |this| {
                    for step in &steps {
                        let own = this.pushed(&step.derivative, Vec::new(), span);
                        this.tangents.extend(own);
                    }
                    this.tangents_of(&given, span)
                }),
            };
            self.leave(outside);
            (results, derivative)
        })
    }

    /// The type of an atom in the source.
    pub fn source_type(&self, atom: &Atom) -> Type {
        self.context.type_of(atom)
    }

    /// The results of a block without their derivative.
    pub fn plain_block(&mut self, block: &Block) -> Block {
        if !self.touches_block(block) {
            return block.clone();
        }
        self.context.b.push_block();
        let wanted = vec![false; block.results.len()];
        let (results, _) = self.block(block, &[], &wanted, Span::default());
        self.context.b.pop_block(results)
    }

    /// A block with its derivative as the last result.
    pub fn block_with_derivative(&mut self, block: &Block, bound: &[Binder], wanted: &[bool], span: Span) -> Block {
        self.context.b.push_block();
        let (mut results, derivative) = self.block(block, bound, wanted, span);
        results.push(derivative.into_value());
        self.context.b.pop_block(results)
    }

    /// Whether the statement has to do with values whose primals differ from them.
    fn touches(&self, statement: &Statement) -> bool {
        let op = &statement.op;
        self.has_forms
            && (statement.binders.iter().any(|binder| self.changes(&binder.ty))
                || op_free_variables(op).iter().any(|var| self.context.b.var_type(*var).is_some_and(|ty| self.changes(ty)))
                || op.scopes().iter().any(|scope| binds(scope.block, &|binder| self.changes(&binder.ty))))
    }

    fn touches_block(&self, block: &Block) -> bool {
        self.has_forms
            && (binds(block, &|binder| self.changes(&binder.ty))
                || block.statements.iter().any(|statement| self.touches(statement)))
    }

    fn step(&mut self, statement: &Statement, steps: &mut Vec<Step>) {
        let active: Vec<Binder> = statement.binders.iter().filter(|binder| self.is_active(binder)).cloned().collect();
        if active.is_empty() && !self.touches(statement) {
            self.context.push_statement(statement.clone());
            return;
        }
        if let Some(simpler) = self.in_simpler_forms(statement) {
            simpler.iter().for_each(|statement| self.step(statement, steps));
            return;
        }
        let before = self.environment.len();
        if let Some(derivative) = self.rule(statement, &active)
            && !active.is_empty()
        {
            let variables = self.variables(&active);
            self.enter(variables);
            steps.push(Step { before, derivative });
        }
    }

    pub fn push(&mut self, binders: Vec<Binder>, op: Op, span: Span) {
        self.context.push_statement(Statement { binders, op, span });
    }

    /// Emits a statement that has its derivative as one more result at the end, and gives that.
    pub fn push_with_derivative(&mut self, statement: &Statement, active: &[Binder], op: Op) -> Option<LinearFunction> {
        let types: Vec<Type> = active.iter().map(|binder| binder.ty.clone()).collect();
        let environment = self.environment.clone();
        let ty = self.derivative_type(&types, &environment);
        let mut binders = self.primal_binders(&statement.binders);
        let (kept, derivative) = self.bound(&ty);
        binders.push(kept);
        self.push(binders, op, statement.span);
        Some(derivative)
    }

    pub fn derivative_name(&self) -> &'static str {
        match self.engine.direction {
            Direction::Reverse => "back",
            Direction::Forward => "push",
        }
    }

    /// Emits the value of a statement and gives the derivative of the binders that have one.
    fn rule(&mut self, statement: &Statement, active: &[Binder]) -> Option<LinearFunction> {
        let span = statement.span;
        let types: Vec<Type> = active.iter().map(|binder| binder.ty.clone()).collect();
        match &statement.op {
            Op::Copy(atoms) | Op::Trace { args: atoms, .. } => {
                let binders = self.primal_binders(&statement.binders);
                let mut op = statement.op.clone();
                op.for_each_atom_mut(&mut |atom| *atom = self.primal(atom));
                self.push(binders, op, span);
                let pairs = atoms.iter().zip(&statement.binders).filter(|(_, binder)| self.is_active(binder));
                let atoms: Vec<Atom> = pairs.map(|(atom, _)| atom.clone()).collect();
                Some(match self.engine.direction {
                    Direction::Reverse => self.backpropagator(&types, span, |this, cotangents, state| {
                        let pairs = atoms.iter().zip(cotangents);
                        pairs.fold(state, |state, (atom, cotangent)| this.one(state, atom, cotangent.clone(), span))
                    }),
                    Direction::Forward => self.pushforward(&types, span, |this| this.tangents_of(&atoms, span)),
                })
            }
            Op::Prim(op, args) => self.prim(statement, *op, args),
            Op::Construct { ty, tag, args } => self.construct(statement, ty, *tag, args, &types),
            Op::If { condition, then, otherwise } => {
                let flags = self.flags(&statement.binders);
                let then = self.block_with_derivative(then, &[], &flags, span);
                let otherwise = self.block_with_derivative(otherwise, &[], &flags, span);
                self.push_with_derivative(statement, active, Op::If { condition: condition.clone(), then, otherwise })
            }
            Op::Match { scrutinee, arms, otherwise } => {
                self.match_statement(statement, active, scrutinee, arms, otherwise.as_ref())
            }
            Op::Loop(parts) => self.loop_statement(statement, parts, &types),
            Op::Call { function, args } => self.call(statement, *function, args),
            Op::Custom(custom) => self.custom(statement, custom, &types),
            Op::Par { left, right } => self.par(statement, left, right),
            Op::Recompute(block) => self.recompute(statement, block, &types),
            Op::Closure(lambda) => self.closure(statement, lambda, &types),
            Op::Apply { function, args } => self.apply(statement, function, args, &types),
            Op::Build { space, body, inner } => self.build(statement, space, body, inner, &types),
            Op::ArrayLiteral { .. }
            | Op::Index { .. }
            | Op::Slice { .. }
            | Op::Update { .. }
            | Op::Transpose { .. }
            | Op::Reshape { .. }
            | Op::Concat { .. } => self.view(statement, &types),
            Op::Dim { .. } => {
                let mut op = statement.op.clone();
                op.for_each_atom_mut(&mut |atom| *atom = self.primal(atom));
                self.push(statement.binders.clone(), op, span);
                None
            }
            Op::Assert { condition, message } => {
                let part = |part: &MessagePart| match part {
                    MessagePart::Value(atom) => MessagePart::Value(self.primal(atom)),
                    text => text.clone(),
                };
                let message = message.iter().map(part).collect();
                self.push(Vec::new(), Op::Assert { condition: condition.clone(), message }, span);
                None
            }
            Op::Reduce { space, op, neutral, body, commutative } => {
                self.reduce(statement, (space, body), (op, neutral), *commutative, &types)
            }
            Op::Scan { .. } | Op::Hist { .. } | Op::Scatter { .. } => self.refuse(statement, "this form on functions"),
            Op::Differentiate(_) => self.refuse(statement, "a derivative that was left standing"),
            Op::WithAccumulators { .. } | Op::Accumulate { .. } => self.refuse(statement, "an accumulator"),
            Op::WithLog { .. } | Op::Log { .. } => self.refuse(statement, "a log"),
        }
    }

    /// Says that there is no rule.
    pub fn refuse(&mut self, statement: &Statement, what: &str) -> Option<LinearFunction> {
        self.context.unsupported(statement.span, what);
        self.context.push_statement(statement.clone());
        None
    }

    /// `D(op(t1, …)) = … (op(x1, …), \d. Σ xi' (∂i op(d; x1, …)))`, and forwards `(op(x1, …), \t. Σ ∂i op(xi' t; x1, …))`
    fn prim(&mut self, statement: &Statement, op: PrimOp, args: &[Atom]) -> Option<LinearFunction> {
        let span = statement.span;
        let operands = self.primals(args);
        let binder = statement.binders.first()?;
        match self.engine.meaning.operation(self.context, op, &operands, span) {
            Operation::Unchanged => self.context.push_statement(statement.clone()),
            Operation::Changed(value) => {
                self.forms.insert(binder.var, value);
            }
            Operation::Meaningless(elements) => {
                return self.refuse(statement, &format!("`{}` over {elements}, where it has no meaning", op.name()));
            }
        }
        let result = self.primal(&Atom::Var(binder.var));
        let derivatives = op.derivatives();
        let passes =
            |(_, (derivative, arg)): &(usize, (&Derivative, &Atom))| **derivative != Derivative::Zero && self.has_place(arg);
        let through: Vec<(usize, (&Derivative, &Atom))> = derivatives.iter().zip(args).enumerate().filter(passes).collect();
        if through.is_empty() {
            return None;
        }
        let applied = Applied { op, operands: &operands, result: &result };
        let types = std::slice::from_ref(&binder.ty);
        Some(match self.engine.direction {
            Direction::Reverse => self.backpropagator(types, span, |this, cotangents, mut state| {
                for (at, (derivative, arg)) in through {
                    let Some(to) = this.context.type_of(arg).as_prim() else { continue };
                    let (meaning, context) = this.meaning();
                    let passed = meaning.pass(context, (derivative, at), &cotangents[0], &applied, to, span);
                    if let Some(cotangent) = passed {
                        state = this.one(state, arg, cotangent, span);
                    }
                }
                state
            }),
            Direction::Forward => self.pushforward(types, span, |this| {
                let mut total: Option<Atom> = None;
                for (at, (derivative, arg)) in through {
                    let incoming = this.tangent(arg, span);
                    let (meaning, context) = this.meaning();
                    let passed = meaning.pass(context, (derivative, at), &incoming, &applied, op.result(), span);
                    total = match (total, passed) {
                        (Some(total), Some(passed)) => Some(meaning.plus(context, &binder.ty, total, passed, span)),
                        (total, passed) => total.or(passed),
                    };
                }
                vec![total.unwrap_or_else(|| this.engine.meaning.zero(this.context, &result, &binder.ty, span))]
            }),
        })
    }

    /// `D(inl t) = … (inl x, \d. x' (cast d))`, and forwards `(inl x, \t. inl (x' t))`
    fn construct(&mut self, statement: &Statement, ty: &Type, tag: u32, args: &[Atom], types: &[Type]) -> Option<LinearFunction> {
        let span = statement.span;
        let fields: Vec<Field> = args.iter().map(|arg| Field { primal: self.primal(arg), ty: self.source_type(arg) }).collect();
        let primal_type = match self.has_forms {
            true => self.engine.meaning.primal_type(self.context, ty),
            false => ty.clone(),
        };
        let binders = self.primal_binders(&statement.binders);
        let args_here = self.primals(args);
        self.push(binders, Op::Construct { ty: primal_type, tag, args: args_here }, span);
        Some(match self.engine.direction {
            Direction::Reverse => self.backpropagator(types, span, |this, cotangents, mut state| {
                let parts = this.engine.meaning.payload(this.context, ty, tag, &cotangents[0], &fields, span);
                for (arg, part) in args.iter().zip(parts) {
                    if let Some(part) = part {
                        state = this.one(state, arg, part, span);
                    }
                }
                state
            }),
            Direction::Forward => self.pushforward(types, span, |this| {
                let tangents = this.tangents_of(args, span);
                let fields: Vec<(Field, Option<Atom>)> = fields.into_iter().zip(tangents.into_iter().map(Some)).collect();
                vec![this.engine.meaning.inject(this.context, ty, tag, &fields, span)]
            }),
        })
    }

    /// A fresh name for a transformed function.
    pub fn function_name(&self, name: &Name) -> Name {
        match self.engine.direction {
            Direction::Reverse => Name::from(format!("{name}_chad")),
            Direction::Forward => Name::from(format!("{name}_forward_chad")),
        }
    }

    /// The types that have cotangents.
    pub fn carrying(&self, types: &[Type]) -> Vec<bool> {
        types.iter().map(|ty| has_cotangent(self.context, ty)).collect()
    }
}

/// The parameters of all functions made in a block.
fn closure_params(block: &Block, found: &mut Vec<Var>) {
    for statement in &block.statements {
        if let Op::Closure(lambda) = &statement.op {
            found.extend(lambda.params.iter().map(|param| param.var));
        }
        statement.op.scopes().iter().for_each(|scope| closure_params(scope.block, found));
    }
}

/// Whether a block binds such a variable, also further inside.
fn binds(block: &Block, is_such: &dyn Fn(&Binder) -> bool) -> bool {
    block.statements.iter().any(|statement| {
        statement.binders.iter().any(is_such)
            || matches!(&statement.op, Op::Apply { .. })
            || statement.op.scopes().iter().any(|scope| binds(scope.block, is_such))
    })
}
