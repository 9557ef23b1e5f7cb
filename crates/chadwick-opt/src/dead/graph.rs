//! What each value needs.

use super::{Node, has_effect};
use chadwick_core::visit::variable_types;
use chadwick_core::{Atom, Axis, Binder, Block, Lambda, Loop, LoopForm, Op, Program, Size, Statement, Type, TypeId, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// Everything that entry points, assertions and traces reach.
pub(super) fn live(program: &Program, shown: &FxHashSet<TypeId>, effectful: &[bool]) -> FxHashSet<Node> {
    let types = variable_types(program);
    let mut graph =
        Graph { program, types, shown, effectful, needs: FxHashMap::default(), roots: Vec::new(), control: Vec::new() };
    for entry in &program.entries {
        let Some(function) = program.functions.get(entry.function.0 as usize) else { continue };
        graph.roots.extend(function.params.iter().map(|param| Node::Var(param.var)));
        graph.roots.extend((0..function.results.len()).map(|at| Node::Result { function: entry.function.0, at }));
    }
    for (at, function) in program.functions.iter().enumerate() {
        graph.block(&function.body);
        for (index, result) in function.body.results.iter().enumerate() {
            graph.need(Node::Result { function: at as u32, at: index }, result);
        }
    }
    graph.reach()
}

struct Graph<'a> {
    program: &'a Program,
    types: Vec<Option<Type>>,
    shown: &'a FxHashSet<TypeId>,
    effectful: &'a [bool],
    needs: FxHashMap<Node, Vec<Node>>,
    roots: Vec<Node>,
    /// What decides whether, and how often, the current statement runs.
    control: Vec<Atom>,
}

impl Graph<'_> {
    fn reach(self) -> FxHashSet<Node> {
        let mut live = FxHashSet::default();
        let mut waiting = self.roots;
        while let Some(node) = waiting.pop() {
            if live.insert(node)
                && let Some(needs) = self.needs.get(&node)
            {
                waiting.extend(needs.iter().filter(|need| !live.contains(need)));
            }
        }
        live
    }

    fn edge(&mut self, from: Node, to: Node) {
        self.needs.entry(from).or_default().push(to);
    }

    fn need(&mut self, from: Node, atom: &Atom) {
        if let Atom::Var(var) = atom {
            self.edge(from, Node::Var(*var));
        }
    }

    fn needs<'b>(&mut self, from: &Binder, atoms: impl IntoIterator<Item = &'b Atom>) {
        atoms.into_iter().for_each(|atom| self.need(Node::Var(from.var), atom));
    }

    fn each_needs(&mut self, binders: &[Binder], atoms: &[Atom]) {
        binders.iter().for_each(|binder| self.needs(binder, atoms));
    }

    fn root(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            self.roots.push(Node::Var(*var));
        }
    }

    /// The statement is kept whatever happens to its results, and so is what decides whether it runs.
    fn keep(&mut self, atoms: &[Atom]) {
        let control = std::mem::take(&mut self.control);
        control.iter().chain(atoms).for_each(|atom| self.root(atom));
        self.control = control;
    }

    /// `handle` being alive keeps the atoms and what decides whether the statement runs.
    fn keep_for(&mut self, handle: Var, atoms: &[Atom]) {
        let control = std::mem::take(&mut self.control);
        control.iter().chain(atoms).for_each(|atom| self.need(Node::Var(handle), atom));
        self.control = control;
    }

    fn under(&mut self, control: &[Atom], block: &Block) {
        let before = self.control.len();
        self.control.extend_from_slice(control);
        self.block(block);
        self.control.truncate(before);
    }

    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            block.statements.iter().for_each(|statement| self.statement(statement));
        });
    }

    fn statement(&mut self, statement: &Statement) {
        let binders = &statement.binders;
        if matches!(statement.op, Op::Differentiate(_) | Op::Custom(_) | Op::Closure(_))
            && statement.op.scopes().iter().any(|scope| has_effect(scope.block, self.effectful))
        {
            // These stay whole or go; with an effect inside they stay.
            self.keep(&binders.iter().map(|binder| Atom::Var(binder.var)).collect::<Vec<Atom>>());
        }
        match &statement.op {
            Op::Copy(atoms) => self.pairwise(binders, atoms),
            Op::Trace { args, .. } => self.keep(args),
            Op::Assert { .. } | Op::Log { .. } => {
                let mut atoms = Vec::new();
                statement.op.for_each_atom(&mut |atom| atoms.push(atom.clone()));
                self.keep(&atoms);
            }
            Op::Accumulate { handle, .. } => {
                let mut atoms = Vec::new();
                statement.op.for_each_atom(&mut |atom| atoms.push(atom.clone()));
                if let Atom::Var(handle) = handle {
                    self.keep_for(*handle, &atoms);
                }
            }
            Op::Prim(..)
            | Op::ArrayLiteral { .. }
            | Op::Index { .. }
            | Op::Slice { .. }
            | Op::Update { .. }
            | Op::Transpose { .. }
            | Op::Reshape { .. }
            | Op::Concat { .. }
            | Op::Dim { .. }
            | Op::Apply { .. } => {
                let mut atoms = Vec::new();
                statement.op.for_each_atom(&mut |atom| atoms.push(atom.clone()));
                self.each_needs(binders, &atoms);
            }
            Op::Construct { ty, tag, args } => match ty {
                Type::Named(id) if !self.shown.contains(id) => {
                    for (at, arg) in args.iter().enumerate() {
                        self.need(Node::Field { ty: *id, tag: *tag, at }, arg);
                    }
                }
                _ => self.each_needs(binders, args),
            },
            Op::Match { scrutinee, arms, otherwise } => {
                self.each_needs(binders, std::slice::from_ref(scrutinee));
                let ty = self.sum_of(scrutinee);
                for arm in arms {
                    for (at, binder) in arm.binders.iter().enumerate() {
                        self.needs(binder, [scrutinee]);
                        if let Some(ty) = ty {
                            self.edge(Node::Var(binder.var), Node::Field { ty, tag: arm.tag, at });
                        }
                    }
                    self.under(std::slice::from_ref(scrutinee), &arm.body);
                    self.pairwise(binders, &arm.body.results);
                }
                if let Some(block) = otherwise {
                    self.under(std::slice::from_ref(scrutinee), block);
                    self.pairwise(binders, &block.results);
                }
            }
            Op::If { condition, then, otherwise } => {
                self.each_needs(binders, std::slice::from_ref(condition));
                for block in [then, otherwise] {
                    self.under(std::slice::from_ref(condition), block);
                    self.pairwise(binders, &block.results);
                }
            }
            Op::Call { function, args } => self.call(binders, function.0, args),
            Op::Closure(lambda) => {
                self.lambda(binders, lambda);
            }
            Op::Build { space, body, inner } => {
                let sizes = sizes(space);
                self.under(&sizes, body);
                self.each_needs(binders, &sizes);
                self.pairwise(binders, &body.results);
                for (binder, inner) in binders.iter().zip(inner) {
                    self.sizes(binder, inner);
                }
            }
            Op::Reduce { space, op, neutral, body, .. } => {
                let sizes = sizes(space);
                self.folded(binders, &sizes, op, neutral, body, 0);
            }
            Op::Scan { axis, op, neutral, body } => {
                self.folded(binders, std::slice::from_ref(&axis.size), op, neutral, body, 0);
            }
            Op::Hist { space, dest, rank, op, neutral, body } => {
                let sizes = sizes(space);
                self.folded(binders, &sizes, op, neutral, body, *rank);
                for (at, dest) in dest.iter().enumerate() {
                    for component in component(binders, op, at, neutral.len()) {
                        self.needs(component, [dest].into_iter().chain(&body.results[..*rank]));
                    }
                }
            }
            Op::Scatter { space, dest, rank, body } => {
                let sizes = sizes(space);
                self.under(&sizes, body);
                self.each_needs(binders, &sizes);
                self.each_needs(binders, &body.results[..*rank]);
                self.pairwise(binders, dest);
                self.pairwise(binders, &body.results[*rank..]);
            }
            Op::Loop(parts) => self.loop_statement(binders, parts),
            Op::Par { left, right } => {
                let (first, second) = binders.split_at(left.results.len().min(binders.len()));
                for (binders, block) in [(first, left), (second, right)] {
                    self.block(block);
                    self.pairwise(binders, &block.results);
                }
            }
            Op::Recompute(block) => {
                self.block(block);
                self.pairwise(binders, &block.results);
            }
            Op::Differentiate(parts) => {
                self.lambda(binders, &parts.function);
                let atoms: Vec<Atom> = parts.args.iter().chain(&parts.seeds).chain(&parts.count).cloned().collect();
                self.each_needs(binders, &atoms);
            }
            Op::Custom(parts) => {
                self.lambda(binders, &parts.function);
                self.lambda(binders, &parts.rule);
                self.each_needs(binders, &parts.args);
            }
            Op::WithAccumulators { handles, init, body } => {
                let (finals, results) = binders.split_at(handles.len().min(binders.len()));
                for ((handle, init), last) in handles.iter().zip(init).zip(finals) {
                    self.needs(last, [&Atom::Var(handle.var)]);
                    self.needs(handle, [init]);
                }
                self.block(body);
                self.pairwise(results, &body.results);
            }
            Op::WithLog { handle, start, body } => {
                self.keep(std::slice::from_ref(start));
                self.block(body);
                self.pairwise(binders.get(columns(handle)..).unwrap_or_default(), &body.results);
            }
        }
    }

    fn pairwise(&mut self, binders: &[Binder], atoms: &[Atom]) {
        binders.iter().zip(atoms).for_each(|(binder, atom)| self.needs(binder, [atom]));
    }

    fn sizes(&mut self, binder: &Binder, sizes: &[Size]) {
        for size in sizes {
            if let Size::Known(atom) = size {
                self.needs(binder, [atom]);
            }
        }
    }

    /// A lambda that stays whole.
    fn lambda(&mut self, binders: &[Binder], lambda: &Lambda) {
        self.block(&lambda.body);
        self.each_needs(binders, &lambda.body.results);
    }

    /// The sum type that is taken apart, if its fields may go.
    fn sum_of(&self, scrutinee: &Atom) -> Option<TypeId> {
        let Atom::Var(var) = scrutinee else { return None };
        match self.types.get(var.0 as usize) {
            Some(Some(Type::Named(id))) if !self.shown.contains(id) => Some(*id),
            _ => None,
        }
    }

    fn call(&mut self, binders: &[Binder], function: u32, args: &[Atom]) {
        for (at, binder) in binders.iter().enumerate() {
            self.edge(Node::Var(binder.var), Node::Result { function, at });
        }
        let Some(target) = self.program.functions.get(function as usize) else { return };
        if self.effectful[function as usize] {
            self.keep(&[]);
        }
        for (param, arg) in target.params.iter().zip(args) {
            self.needs(param, [arg]);
            if let (Type::Accumulator(_), Atom::Var(handle)) = (&param.ty, arg) {
                // What is done to the accumulator inside matters as soon as the accumulator does.
                self.edge(Node::Var(*handle), Node::Var(param.var));
                self.keep_for(*handle, &[]);
            }
        }
    }

    /// A form with an operator: component `k` of its results, both operands of the operator and the elements live or die together.
    fn folded(&mut self, binders: &[Binder], sizes: &[Atom], op: &Lambda, neutral: &[Atom], body: &Block, rank: usize) {
        self.under(sizes, body);
        self.under(sizes, &op.body);
        for at in 0..neutral.len() {
            for component in component(binders, op, at, neutral.len()) {
                let atoms = [Some(&neutral[at]), op.body.results.get(at), body.results.get(rank + at)];
                self.needs(component, atoms.into_iter().flatten().chain(sizes));
            }
        }
    }

    fn loop_statement(&mut self, binders: &[Binder], parts: &Loop) {
        let control: Vec<Atom> = match &parts.form {
            LoopForm::For { bound, .. } => vec![bound.clone()],
            LoopForm::While { condition } => {
                // What the condition does is done as often as it holds, and once more.
                self.under(&condition.results, condition);
                condition.results.clone()
            }
        };
        self.under(&control, &parts.body);
        self.each_needs(binders, &control);
        let count = parts.carry.len();
        let (next, emitted) = parts.body.results.split_at(count.min(parts.body.results.len()));
        for ((carry, initial), next) in parts.carry.iter().zip(&parts.initial).zip(next) {
            self.needs(carry, [initial, next]);
        }
        for (binder, carry) in binders.iter().zip(&parts.carry) {
            self.needs(binder, [&Atom::Var(carry.var)]);
        }
        let emits = binders.iter().skip(count + usize::from(parts.counted));
        for ((binder, emitted), sizes) in emits.zip(emitted).zip(&parts.emits) {
            self.needs(binder, [emitted]);
            self.sizes(binder, sizes);
        }
    }
}

/// How many arrays a log becomes.
pub(super) fn columns(handle: &Binder) -> usize {
    match &handle.ty {
        Type::Log(log) => log.indices + log.values.len(),
        _ => 0,
    }
}

fn sizes(space: &[Axis]) -> Vec<Atom> {
    space.iter().map(|axis| axis.size.clone()).collect()
}

/// The result and the operator's two parameters of one component.
pub(super) fn component<'a>(binders: &'a [Binder], op: &'a Lambda, at: usize, count: usize) -> impl Iterator<Item = &'a Binder> {
    [binders.get(at), op.params.get(at), op.params.get(count + at)].into_iter().flatten()
}
