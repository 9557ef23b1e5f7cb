//! Every construct of Core on values with something beside their scalars.
//!
//! A scalar or flat array keeps its variable and gets others beside it; a value of a sum type is replaced by one of the type with wider
//! payloads. Lists of values grow in place: each value is followed by what stands beside it. Only primitive operations make anything new.
//! A parallel form in which a row is logged becomes a loop, since rows have an order.

use super::active::{active_variables, is_boxed};
use super::numbers::Part;
use super::structure::Walk;
use super::{Machinery, atoms_of};
use crate::context::{Applied, Context};
use crate::flow::uses_rule;
use chadwick_core::prim::Derivative;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{
    Arm, Atom, Binder, Block, Custom, FunctionId, Lambda, Loop, LoopForm, MessagePart, Op, PrimOp, Size, Statement, Type, Var,
};
use chadwick_source::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// What became of a variable.
#[derive(Clone)]
pub enum Form {
    /// It is still there, with these beside it.
    Beside(Vec<Atom>),
    /// It was replaced.
    Whole(Atom),
}

pub struct Dual<'c, 'p> {
    pub context: &'c mut Context<'p>,
    pub machinery: &'c mut Machinery,
    pub(super) active: FxHashSet<Var>,
    forms: FxHashMap<Var, Form>,
    /// What the rung gave this function.
    pub environment: Vec<Atom>,
    /// Whether what runs side by side is recorded side by side, if the rung can do that.
    pub forking: bool,
}

impl<'c, 'p> Dual<'c, 'p> {
    pub fn new(context: &'c mut Context<'p>, machinery: &'c mut Machinery, active: FxHashSet<Var>) -> Self {
        Dual { context, machinery, active, forms: FxHashMap::default(), environment: Vec::new(), forking: true }
    }

    /// Says of which parts a variable is made now.
    pub fn name(&mut self, var: Var, mut parts: Vec<Atom>) {
        let form = match is_boxed(&self.context.var_type(var)) {
            true => Form::Whole(parts.swap_remove(0)),
            false => Form::Beside(parts.split_off(1)),
        };
        self.forms.insert(var, form);
    }

    fn form(&self, atom: &Atom) -> Option<&Form> {
        if let Atom::Var(var) = atom { self.forms.get(var) } else { None }
    }

    /// Whether a cotangent can pass through the atom.
    pub fn is_dual(&self, atom: &Atom) -> bool {
        match (self.form(atom), atom) {
            (Some(Form::Whole(_)), _) => true,
            (Some(Form::Beside(_)), Atom::Var(var)) => self.active.contains(var),
            _ => false,
        }
    }

    fn is_active(&self, binder: &Binder) -> bool {
        self.active.contains(&binder.var)
    }

    fn flags(&self, binders: &[Binder]) -> Vec<bool> {
        binders.iter().map(|binder| self.is_active(binder)).collect()
    }

    /// The atom without what stands beside it.
    fn plain(&mut self, atom: &Atom, span: Span) -> Atom {
        let Some(Form::Whole(whole)) = self.form(atom).cloned() else { return atom.clone() };
        let ty = self.context.type_of(atom);
        if matches!(ty, Type::Log(_)) {
            return whole;
        }
        self.walk(Walk::Plain, &ty, vec![whole], Vec::new(), &[], span).0.swap_remove(0)
    }

    /// The parts of an atom; a constant's if nothing stands beside it yet.
    fn parts(&mut self, atom: &Atom, span: Span) -> Vec<Atom> {
        match self.form(atom).cloned() {
            Some(Form::Beside(beside)) => [vec![atom.clone()], beside].concat(),
            Some(Form::Whole(whole)) => vec![whole],
            None => {
                let ty = self.context.type_of(atom);
                let given = self.environment.clone();
                self.walk(Walk::Inject, &ty, vec![atom.clone()], Vec::new(), &given, span).0
            }
        }
    }

    /// The atoms, those that are flagged with all their parts.
    pub fn atoms(&mut self, atoms: &[Atom], flags: &[bool], span: Span) -> Vec<Atom> {
        let mut all = Vec::new();
        for (at, atom) in atoms.iter().enumerate() {
            match flags.get(at) {
                Some(true) => all.extend(self.parts(atom, span)),
                _ => all.push(self.plain(atom, span)),
            }
        }
        all
    }

    /// The same for binders, which become known.
    pub(super) fn binders(&mut self, binders: &[Binder], flags: &[bool]) -> Vec<Binder> {
        let mut all = Vec::new();
        for (at, binder) in binders.iter().enumerate() {
            if flags.get(at) != Some(&true) {
                all.push(binder.clone());
                continue;
            }
            let types = self.dual_type(&binder.ty);
            let name = self.context.name(binder.var);
            if is_boxed(&binder.ty) {
                let whole = self.context.fresh(name, types.into_iter().next().unwrap_or(Type::BOOL));
                self.forms.insert(binder.var, Form::Whole(Atom::Var(whole.var)));
                all.push(whole);
                continue;
            }
            let id = Name::from(format!("{name}_id"));
            let beside: Vec<Binder> = types.into_iter().skip(1).map(|ty| self.context.fresh(id.clone(), ty)).collect();
            self.forms.insert(binder.var, Form::Beside(atoms_of(&beside)));
            all.push(binder.clone());
            all.extend(beside);
        }
        all
    }

    pub(super) fn block(&mut self, block: &Block, flags: &[bool]) -> Block {
        self.context.b.push_block();
        self.statements(block);
        let results = self.atoms(&block.results, flags, Span::default());
        self.context.b.pop_block(results)
    }

    /// The statements of a block, here.
    pub fn statements(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            block.statements.iter().for_each(|statement| self.statement(statement));
        });
    }

    pub(super) fn push(&mut self, binders: Vec<Binder>, op: Op, span: Span) {
        self.context.push_statement(Statement { binders, op, span });
    }

    /// A parallel form, or a loop if it logs something.
    pub(super) fn push_form(&mut self, binders: Vec<Binder>, op: Op, span: Span) {
        if !self.context.uses_log(&op) {
            self.push(binders, op, span);
            return;
        }
        let statement = Statement { binders, op, span };
        let mut made = Vec::new();
        let statements = match &statement.op {
            Op::Build { space, body, inner } => vec![self.context.build_loop(&statement, space, body, inner)],
            Op::Reduce { space, op, neutral, body, .. } => {
                self.context.fold_loop(&statement, space, op, neutral, body, false, &mut made, span)
            }
            Op::Scan { axis, op, neutral, body } => {
                self.context.fold_loop(&statement, std::slice::from_ref(axis), op, neutral, body, true, &mut made, span)
            }
            Op::Hist { space, dest, rank, op, body, .. } => {
                self.context.write_loop(&statement, space, dest, *rank, Some(op), body, &mut made, span)
            }
            Op::Scatter { space, dest, rank, body } => {
                self.context.write_loop(&statement, space, dest, *rank, None, body, &mut made, span)
            }
            _ => vec![statement.clone()],
        };
        statements.into_iter().for_each(|statement| self.context.push_statement(statement));
    }

    /// Whether the statement means the same as before.
    fn is_untouched(&self, statement: &Statement) -> bool {
        let replaced = |var: &Var| matches!(self.forms.get(var), Some(Form::Whole(_)));
        !statement.binders.iter().any(|binder| self.is_active(binder)) && !op_free_variables(&statement.op).iter().any(replaced)
    }

    fn statement(&mut self, statement: &Statement) {
        if self.is_untouched(statement) {
            self.context.push_statement(statement.clone());
            return;
        }
        if let Some(both) = self.points_first(statement) {
            both.iter().for_each(|statement| self.statement(statement));
            return;
        }
        let span = statement.span;
        let flags = self.flags(&statement.binders);
        match &statement.op {
            Op::Copy(atoms) => {
                let atoms = self.atoms(atoms, &flags, span);
                let binders = self.binders(&statement.binders, &flags);
                self.push(binders, Op::Copy(atoms), span);
            }
            Op::Trace { tag, args } => {
                let shown: Vec<Atom> = args.iter().map(|arg| self.plain(arg, span)).collect();
                let types = shown.iter().map(|atom| self.context.type_of(atom)).collect();
                self.context.b.push(Op::Trace { tag: tag.clone(), args: shown }, types, span);
                let atoms = self.atoms(args, &flags, span);
                let binders = self.binders(&statement.binders, &flags);
                self.push(binders, Op::Copy(atoms), span);
            }
            Op::Prim(op, args) => self.prim(statement, *op, args),
            Op::If { condition, then, otherwise } => {
                let (then, otherwise) = (self.block(then, &flags), self.block(otherwise, &flags));
                let binders = self.binders(&statement.binders, &flags);
                self.push(binders, Op::If { condition: condition.clone(), then, otherwise }, span);
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let dual = self.is_dual(scrutinee);
                let whole = match self.form(scrutinee).cloned() {
                    Some(Form::Whole(whole)) => whole,
                    _ => scrutinee.clone(),
                };
                let mut made = Vec::new();
                for arm in arms {
                    let carrying: Vec<bool> = arm.binders.iter().map(|binder| dual && self.context.carries(&binder.ty)).collect();
                    let binders = self.binders(&arm.binders, &carrying);
                    made.push(Arm { tag: arm.tag, binders, body: self.block(&arm.body, &flags) });
                }
                let otherwise = otherwise.as_ref().map(|block| self.block(block, &flags));
                let binders = self.binders(&statement.binders, &flags);
                self.push(binders, Op::Match { scrutinee: whole, arms: made, otherwise }, span);
            }
            Op::Construct { ty, tag, args } => {
                let is_dual = flags.first() == Some(&true);
                let carrying: Vec<bool> =
                    args.iter().map(|arg| is_dual && self.context.carries(&self.context.type_of(arg))).collect();
                let args = self.atoms(args, &carrying, span);
                let ty = if is_dual { self.dual_type(ty).swap_remove(0) } else { ty.clone() };
                let binders = self.binders(&statement.binders, &flags);
                self.push(binders, Op::Construct { ty, tag: *tag, args }, span);
            }
            Op::Call { function, args } => self.call(statement, *function, args),
            Op::Build { space, body, inner } if self.forks_form(space, body) => {
                self.fork_build(statement, space, body, inner, &flags);
            }
            Op::Build { space, body, inner } => {
                let body = self.block(body, &flags);
                let inner = self.repeated(inner, &statement.binders, &flags);
                let binders = self.binders(&statement.binders, &flags);
                self.push_form(binders, Op::Build { space: space.clone(), body, inner }, span);
            }
            Op::Reduce { space, op, neutral, body, .. } if self.forks_form(space, body) => {
                self.fork_reduce(statement, space, op, neutral, body);
            }
            Op::Reduce { space, op, neutral, body, commutative } => {
                let flags = self.folded_flags(op, &statement.binders);
                let (neutral, body, op) = self.folded(&flags, op, neutral, body, 0, span);
                let binders = self.binders(&statement.binders, &flags);
                let op = Op::Reduce { space: space.clone(), op, neutral, body, commutative: *commutative };
                self.push_form(binders, op, span);
            }
            Op::Scan { axis, op, neutral, body } => {
                let flags = self.folded_flags(op, &statement.binders);
                let (neutral, body, op) = self.folded(&flags, op, neutral, body, 0, span);
                let binders = self.binders(&statement.binders, &flags);
                self.push_form(binders, Op::Scan { axis: axis.clone(), op, neutral, body }, span);
            }
            Op::Hist { space, dest, rank, op, neutral, body } => {
                let flags = self.folded_flags(op, &statement.binders);
                let dest = self.atoms(dest, &flags, span);
                let (neutral, body, op) = self.folded(&flags, op, neutral, body, *rank, span);
                let binders = self.binders(&statement.binders, &flags);
                let op = Op::Hist { space: space.clone(), dest, rank: *rank, op, neutral, body };
                self.push_form(binders, op, span);
            }
            Op::Scatter { space, dest, rank, body } => {
                let dest = self.atoms(dest, &flags, span);
                let body = self.block(body, &[vec![false; *rank], flags.clone()].concat());
                let binders = self.binders(&statement.binders, &flags);
                self.push_form(binders, Op::Scatter { space: space.clone(), dest, rank: *rank, body }, span);
            }
            Op::ArrayLiteral { .. }
            | Op::Index { .. }
            | Op::Slice { .. }
            | Op::Update { .. }
            | Op::Transpose { .. }
            | Op::Reshape { .. }
            | Op::Concat { .. }
            | Op::Dim { .. } => self.view(statement),
            Op::Loop(parts) => self.loop_statement(statement, parts),
            Op::Par { left, right } if self.forks().is_some() => self.fork(statement, left, right, &flags),
            Op::Par { left, right } => {
                let (first, second) = flags.split_at(left.results.len().min(flags.len()));
                let op = Op::Par { left: self.block(left, first), right: self.block(right, second) };
                let binders = self.binders(&statement.binders, &flags);
                self.push(binders, op, span);
            }
            Op::Recompute(block) => {
                self.statements(block);
                let results = self.atoms(&block.results, &flags, span);
                let binders = self.binders(&statement.binders, &flags);
                self.push(binders, Op::Copy(results), span);
            }
            Op::Assert { condition, message } => {
                let mut parts = Vec::new();
                for part in message {
                    parts.push(match part {
                        MessagePart::Value(atom) => MessagePart::Value(self.plain(atom, span)),
                        text => text.clone(),
                    });
                }
                self.push(Vec::new(), Op::Assert { condition: condition.clone(), message: parts }, span);
            }
            Op::Custom(custom) => self.custom(statement, custom, &flags),
            Op::WithLog { handle, start, body } => self.with_log(statement, handle, start, body),
            Op::Log { handle, indices, values } => self.log(statement, handle, indices, values),
            Op::Closure(_) | Op::Apply { .. } => self.context.unsupported(span, "a function that is a value"),
            Op::Differentiate(_) => self.context.unsupported(span, "a derivative that was left standing"),
            Op::WithAccumulators { .. } | Op::Accumulate { .. } => self.context.unsupported(span, "an accumulator"),
        }
    }

    fn prim(&mut self, statement: &Statement, op: PrimOp, args: &[Atom]) {
        let span = statement.span;
        self.context.push_statement(statement.clone());
        let Some(binder) = statement.binders.first() else { return };
        let result = Atom::Var(binder.var);
        let mut parts: Vec<Part> = Vec::new();
        for (derivative, arg) in op.derivatives().iter().zip(args) {
            if *derivative == Derivative::Zero || !self.is_dual(arg) {
                continue;
            }
            let Some(Form::Beside(beside)) = self.form(arg).cloned() else { continue };
            let numbers = std::rc::Rc::clone(&self.machinery.numbers);
            if let Some(factor) = numbers.factor(self.context, derivative, &Applied { op, operands: args, result: &result }, span)
            {
                parts.push(Part { beside, factor });
            }
        }
        let environment = self.environment.clone();
        let beside = match parts.as_slice() {
            [] => self.machinery.rung.constant(self.context, &environment, span),
            [part] if part.factor.is_one() => part.beside.clone(),
            parts => self.machinery.rung.operation(self.context, &environment, parts, span),
        };
        self.forms.insert(binder.var, Form::Beside(beside));
    }

    /// One entry per part of each flagged binder.
    pub(super) fn repeated(&mut self, inner: &[Vec<Size>], binders: &[Binder], flags: &[bool]) -> Vec<Vec<Size>> {
        let mut all = Vec::new();
        for ((sizes, binder), flag) in inner.iter().zip(binders).zip(flags) {
            let count = if *flag { self.dual_type(&binder.ty).len() } else { 1 };
            all.extend(std::iter::repeat_n(sizes.clone(), count));
        }
        all
    }

    /// A component of a fold has something beside it if the result or an operand of the operator has.
    pub(super) fn folded_flags(&self, op: &Lambda, binders: &[Binder]) -> Vec<bool> {
        let count = binders.len();
        let is_active = |binder: Option<&Binder>| binder.is_some_and(|binder| self.is_active(binder));
        (0..count)
            .map(|at| {
                let places = [binders.get(at), op.params.get(at), op.params.get(count + at)];
                places.into_iter().any(is_active)
            })
            .collect()
    }

    pub(super) fn folded(
        &mut self,
        flags: &[bool],
        op: &Lambda,
        neutral: &[Atom],
        body: &Block,
        rank: usize,
        span: Span,
    ) -> (Vec<Atom>, Block, Lambda) {
        let neutral = self.atoms(neutral, flags, span);
        let body = self.block(body, &[vec![false; rank], flags.to_vec()].concat());
        let params = self.binders(&op.params, &[flags, flags].concat());
        let mut results = Vec::new();
        for (ty, flag) in op.results.iter().zip(flags) {
            results.extend(if *flag { self.dual_type(ty) } else { vec![ty.clone()] });
        }
        let op = Lambda { params, results, body: self.block(&op.body, flags) };
        (neutral, body, op)
    }

    /// An operation on arrays without a body: the same on each part.
    fn view(&mut self, statement: &Statement) {
        let span = statement.span;
        let Some(binder) = statement.binders.first() else { return };
        let flag = self.is_active(binder);
        // The operands that hold numbers; the others are indices and sizes.
        let operands: Vec<Atom> = match &statement.op {
            Op::ArrayLiteral { elements, .. } => elements.clone(),
            Op::Concat { arrays } => arrays.clone(),
            Op::Update { array, value, .. } => vec![array.clone(), value.clone()],
            Op::Index { array, .. }
            | Op::Slice { array, .. }
            | Op::Transpose { array, .. }
            | Op::Reshape { array, .. }
            | Op::Dim { array, .. } => vec![array.clone()],
            _ => Vec::new(),
        };
        if let (Op::Dim { axis, .. }, [array]) = (&statement.op, operands.as_slice()) {
            let array = match self.form(array).cloned() {
                Some(Form::Whole(whole)) => whole,
                _ => array.clone(),
            };
            self.push(statement.binders.clone(), Op::Dim { array, axis: *axis }, span);
            return;
        }
        let flags = vec![flag; operands.len()];
        let count = if flag { self.dual_type(&binder.ty).len() } else { 1 };
        let parts: Vec<Vec<Atom>> = operands
            .iter()
            .zip(&flags)
            .map(|(atom, flag)| if *flag { self.parts(atom, span) } else { vec![self.plain(atom, span)] })
            .collect();
        let element_types = match &statement.op {
            Op::ArrayLiteral { ty, .. } if flag => self.dual_type(ty),
            Op::ArrayLiteral { ty, .. } => vec![ty.clone()],
            _ => Vec::new(),
        };
        let binders = self.binders(std::slice::from_ref(binder), &[flag]);
        // What stands beside an array comes first: the array itself may be updated in place.
        for at in (0..count).rev() {
            let own: Vec<Atom> = parts.iter().filter_map(|parts| parts.get(at).cloned()).collect();
            let op = match (&statement.op, own.as_slice()) {
                (Op::ArrayLiteral { inner, .. }, _) => {
                    Op::ArrayLiteral { ty: element_types[at].clone(), elements: own, inner: inner.clone() }
                }
                (Op::Concat { .. }, _) => Op::Concat { arrays: own },
                (Op::Update { dims, .. }, [array, value]) => {
                    Op::Update { array: array.clone(), dims: dims.clone(), value: value.clone() }
                }
                (Op::Index { indices, .. }, [array]) => Op::Index { array: array.clone(), indices: indices.clone() },
                (Op::Slice { dims, .. }, [array]) => Op::Slice { array: array.clone(), dims: dims.clone() },
                (Op::Transpose { permutation, .. }, [array]) => {
                    Op::Transpose { array: array.clone(), permutation: permutation.clone() }
                }
                (Op::Reshape { dims, .. }, [array]) => Op::Reshape { array: array.clone(), dims: dims.clone() },
                (other, _) => other.clone(),
            };
            self.push(vec![binders[at].clone()], op, span);
        }
    }

    fn loop_statement(&mut self, statement: &Statement, parts: &Loop) {
        let span = statement.span;
        let count = parts.carry.len();
        let (last, rest) = statement.binders.split_at(count.min(statement.binders.len()));
        let (counter, emitted) = rest.split_at(usize::from(parts.counted).min(rest.len()));
        let flags: Vec<bool> =
            parts.carry.iter().zip(last).map(|(carry, last)| self.is_active(carry) || self.is_active(last)).collect();
        let emit_flags = self.flags(emitted);
        let initial = self.atoms(&parts.initial, &flags, span);
        let carry = self.binders(&parts.carry, &flags);
        let form = match &parts.form {
            LoopForm::For { .. } => parts.form.clone(),
            LoopForm::While { condition } => LoopForm::While { condition: self.block(condition, &[false]) },
        };
        let body = self.block(&parts.body, &[flags.clone(), emit_flags.clone()].concat());
        let emits = self.repeated(&parts.emits, emitted, &emit_flags);
        let binders = [self.binders(last, &flags), counter.to_vec(), self.binders(emitted, &emit_flags)].concat();
        let made = Loop { carry, initial, form, body, emits, counted: parts.counted, hints: parts.hints.clone() };
        self.push(binders, Op::Loop(Box::new(made)), span);
    }

    fn call(&mut self, statement: &Statement, function: FunctionId, args: &[Atom]) {
        let span = statement.span;
        let mask: Vec<bool> = args.iter().map(|arg| self.is_dual(arg)).collect();
        let results = self.context.active_results(function, &mask, true);
        let wanted: Vec<bool> = results
            .iter()
            .zip(&statement.binders)
            .map(|(active, binder)| {
                let needed = self.is_active(binder) || is_boxed(&binder.ty);
                *active && needed && self.context.carries(&binder.ty)
            })
            .collect();
        let target = self.function(function, &mask, &wanted);
        let args = self.atoms(args, &mask, span);
        let binders = self.binders(&statement.binders, &wanted);
        let args = [self.environment.clone(), args].concat();
        self.push(binders, Op::Call { function: target, args }, span);
    }

    /// The function on arguments with something beside those that are masked.
    fn function(&mut self, function: FunctionId, mask: &[bool], wanted: &[bool]) -> FunctionId {
        let key = (function, mask.to_vec(), wanted.to_vec(), self.forking);
        if let Some(known) = self.machinery.functions.get(&key) {
            return *known;
        }
        let source = self.context.program().functions[function.0 as usize].clone();
        let lambda = Lambda { params: source.params, results: source.results, body: source.body };
        let lambda = self.context.copy_lambda(&lambda);
        let inputs = lambda.params.iter().zip(mask).filter(|(_, masked)| **masked).map(|(param, _)| param.var).collect();
        let mut active = active_variables(self.context, &lambda.body, inputs, wanted);
        // A result that is handed out has what stands beside it, wherever it comes from.
        for (param, _) in lambda.params.iter().zip(mask).filter(|(_, masked)| **masked) {
            active.insert(param.var);
        }
        let mut types = Vec::new();
        for (ty, wanted) in lambda.results.iter().zip(wanted) {
            types.extend(if *wanted { self.dual_type(ty) } else { vec![ty.clone()] });
        }
        let handles = self.machinery.rung.all_logs().into_iter().map(|log| Type::Log(log.into()));
        let environment: Vec<Binder> =
            handles.chain(self.machinery.rung.environment_types()).map(|ty| self.context.fresh("tape", ty)).collect();
        let name = Name::from(format!("{}_dual", source.name));
        let target = self.context.reserve(name, Vec::new(), types, source.span);
        self.machinery.functions.insert(key, target);
        let forking = self.forking;
        let mut inner = Dual::new(self.context, self.machinery, active);
        inner.environment = atoms_of(&environment);
        inner.forking = forking;
        let params = inner.binders(&lambda.params, mask);
        // Callers in this very function must know what it takes.
        inner.context.b.program_mut().functions[target.0 as usize].params = [environment, params].concat();
        let body = inner.block(&lambda.body, wanted);
        self.context.b.program_mut().functions[target.0 as usize].body = body;
        target
    }

    fn custom(&mut self, statement: &Statement, custom: &Custom, flags: &[bool]) {
        let span = statement.span;
        if uses_rule(custom, true) {
            self.custom_rule(statement, custom, flags);
            return;
        }
        let mask: Vec<bool> = custom.args.iter().map(|arg| self.is_dual(arg)).collect();
        let args = self.atoms(&custom.args, &mask, span);
        let params = self.binders(&custom.function.params, &mask);
        self.push(params, Op::Copy(args), span);
        let skip = custom.kind.tape();
        self.statements(&custom.function.body);
        let results = custom.function.body.results.get(skip..).unwrap_or_default().to_vec();
        let results = self.atoms(&results, flags, span);
        let binders = self.binders(&statement.binders, flags);
        self.push(binders, Op::Copy(results), span);
    }

    /// A log of the program itself: its rows get more columns.
    fn with_log(&mut self, statement: &Statement, handle: &Binder, start: &Atom, body: &Block) {
        let span = statement.span;
        let Type::Log(log) = &handle.ty else { return };
        let columns = log.indices + log.values.len();
        let (own, results) = statement.binders.split_at(columns.min(statement.binders.len()));
        let result_flags = self.flags(results);
        let (indices, values) = own.split_at(log.indices.min(own.len()));
        if !values.iter().any(|binder| self.is_active(binder)) {
            let body = self.block(body, &result_flags);
            let binders = [own.to_vec(), self.binders(results, &result_flags)].concat();
            self.push(binders, Op::WithLog { handle: handle.clone(), start: start.clone(), body }, span);
            return;
        }
        self.active.insert(handle.var);
        let made = self.binders(std::slice::from_ref(handle), &[true]);
        let body = self.block(body, &result_flags);
        // Identities beside the values are columns of indices, behind those that were there.
        let carrying: Vec<bool> = values.iter().map(|binder| self.context.carries(&binder.ty)).collect();
        let (mut index_columns, mut value_columns) = (indices.to_vec(), Vec::new());
        for (value, flag) in values.iter().zip(&carrying) {
            let parts = self.binders(std::slice::from_ref(value), &[*flag]);
            let element = |binder: &Binder| binder.ty.peel(1);
            for (at, part) in parts.into_iter().enumerate() {
                match element(&part) {
                    Some(Type::I64) if at > 0 => index_columns.push(part),
                    _ => value_columns.push(part),
                }
            }
        }
        let binders = [index_columns, value_columns, self.binders(results, &result_flags)].concat();
        let handle = made.into_iter().next().unwrap_or_else(|| handle.clone());
        self.push(binders, Op::WithLog { handle, start: start.clone(), body }, span);
    }

    fn log(&mut self, statement: &Statement, handle: &Atom, indices: &[Atom], values: &[Atom]) {
        let span = statement.span;
        let Some(Form::Whole(whole)) = self.form(handle).cloned() else {
            let values = values.iter().map(|value| self.plain(value, span)).collect();
            let op = Op::Log { handle: handle.clone(), indices: indices.to_vec(), values };
            self.push(statement.binders.clone(), op, span);
            return;
        };
        let (mut index_parts, mut value_parts) = (indices.to_vec(), Vec::new());
        for value in values {
            let carries = self.context.carries(&self.context.type_of(value));
            let parts = if carries { self.parts(value, span) } else { vec![self.plain(value, span)] };
            for (at, part) in parts.into_iter().enumerate() {
                match self.context.type_of(&part) {
                    Type::I64 if at > 0 => index_parts.push(part),
                    _ => value_parts.push(part),
                }
            }
        }
        self.push(statement.binders.clone(), Op::Log { handle: whole, indices: index_parts, values: value_parts }, span);
    }
}
