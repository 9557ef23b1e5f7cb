//! Which functions can meet: every place that holds a function has a label, and two places between which a value can pass have the same.

use chadwick_core::visit::variable_types;
use chadwick_core::{
    Atom, Binder, Block, CustomKind, Element, FunctionType, Lambda, Loop, Op, Program, Statement, Type, TypeId, Var,
};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A set of places, before it is known which sets are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(usize);

/// The labels inside a type. An array has those of its elements; a recursive type has none of its own, they belong to its definition.
#[derive(Clone, Debug)]
pub enum Shape {
    Plain,
    Function(Label),
    Sum(Rc<Vec<Vec<Shape>>>),
}

/// What is known of the functions with a label.
struct Node {
    parent: usize,
    ty: Rc<FunctionType>,
    params: Vec<Shape>,
    results: Vec<Shape>,
}

/// The shapes of everything in a program.
pub struct Shapes {
    nodes: Vec<Node>,
    vars: FxHashMap<Var, Shape>,
    /// Per definition, constructor and field.
    definitions: Vec<Vec<Vec<Shape>>>,
    /// Per function, of its results.
    results: Vec<Vec<Shape>>,
    types: Vec<Option<Type>>,
}

impl Shapes {
    pub fn new(program: &Program) -> Shapes {
        let types = variable_types(program);
        let mut shapes =
            Shapes { nodes: Vec::new(), vars: FxHashMap::default(), definitions: Vec::new(), results: Vec::new(), types };
        for definition in &program.types {
            let constructors = definition.constructors.iter().map(|it| shapes.fresh_all(&it.payload)).collect();
            shapes.definitions.push(constructors);
        }
        for function in &program.functions {
            let results = shapes.fresh_all(&function.results);
            shapes.results.push(results);
        }
        for (at, function) in program.functions.iter().enumerate() {
            shapes.block(program, &function.body);
            for (index, result) in function.body.results.iter().enumerate() {
                let shape = shapes.results[at][index].clone();
                shapes.meet(result, &shape);
            }
        }
        shapes
    }

    fn fresh_all(&mut self, types: &[Type]) -> Vec<Shape> {
        types.iter().map(|ty| self.fresh(ty)).collect()
    }

    /// A shape whose labels are all new.
    fn fresh(&mut self, ty: &Type) -> Shape {
        match ty {
            // Functions in a log are in a named type there.
            Type::Prim(_) | Type::Named(_) | Type::Log(_) => Shape::Plain,
            Type::Array(array) => match &array.element {
                Element::Boxed(inner) => self.fresh(inner),
                _ => Shape::Plain,
            },
            Type::Sum(constructors) => Shape::Sum(Rc::new(constructors.iter().map(|it| self.fresh_all(&it.payload)).collect())),
            Type::Function(function) => {
                let (params, results) = (self.fresh_all(&function.params), self.fresh_all(&function.results));
                let at = self.nodes.len();
                self.nodes.push(Node { parent: at, ty: Rc::clone(function), params, results });
                Shape::Function(Label(at))
            }
            Type::Accumulator(inner) => self.fresh(inner),
        }
    }

    /// The label that stands for all that are one with this.
    pub fn root(&self, label: Label) -> Label {
        let mut at = label.0;
        while self.nodes[at].parent != at {
            at = self.nodes[at].parent;
        }
        Label(at)
    }

    /// The type of the functions with a label, and the shapes of their parameters and results.
    pub fn function(&self, label: Label) -> (Rc<FunctionType>, Vec<Shape>, Vec<Shape>) {
        let node = &self.nodes[self.root(label).0];
        (Rc::clone(&node.ty), node.params.clone(), node.results.clone())
    }

    pub fn var(&mut self, var: Var) -> Shape {
        if let Some(shape) = self.vars.get(&var) {
            return shape.clone();
        }
        let ty = self.types.get(var.0 as usize).cloned().flatten();
        let shape = ty.map_or(Shape::Plain, |ty| self.fresh(&ty));
        self.vars.insert(var, shape.clone());
        shape
    }

    pub fn var_type(&self, var: Var) -> Option<Type> {
        self.types.get(var.0 as usize).cloned().flatten()
    }

    /// `new` is a copy of `old`.
    pub fn copied(&mut self, old: Var, new: Var) {
        let shape = self.var(old);
        self.vars.insert(new, shape);
        let at = new.0 as usize;
        if self.types.len() <= at {
            self.types.resize(at + 1, None);
        }
        self.types[at] = self.var_type(old);
    }

    pub fn field(&self, ty: TypeId, tag: usize, at: usize) -> Shape {
        self.definitions[ty.0 as usize][tag][at].clone()
    }

    pub fn result(&self, function: usize, at: usize) -> Shape {
        self.results[function][at].clone()
    }

    fn unify(&mut self, left: &Shape, right: &Shape) {
        match (left, right) {
            (Shape::Function(left), Shape::Function(right)) => {
                let (left, right) = (self.root(*left), self.root(*right));
                if left == right {
                    return;
                }
                self.nodes[right.0].parent = left.0;
                let pairs = |shapes: &Node| shapes.params.iter().chain(&shapes.results).cloned().collect::<Vec<Shape>>();
                let (first, second) = (pairs(&self.nodes[left.0]), pairs(&self.nodes[right.0]));
                first.iter().zip(&second).for_each(|(first, second)| self.unify(first, second));
            }
            (Shape::Sum(left), Shape::Sum(right)) => {
                let (left, right) = (Rc::clone(left), Rc::clone(right));
                let pairs = left.iter().flatten().zip(right.iter().flatten());
                pairs.for_each(|(left, right)| self.unify(left, right));
            }
            _ => {}
        }
    }

    fn meet(&mut self, atom: &Atom, shape: &Shape) {
        if let Atom::Var(var) = atom {
            let own = self.var(*var);
            self.unify(&own, shape);
        }
    }

    fn same(&mut self, atom: &Atom, binder: &Binder) {
        let shape = self.var(binder.var);
        self.meet(atom, &shape);
    }

    fn pairwise(&mut self, atoms: &[Atom], binders: &[Binder]) {
        atoms.iter().zip(binders).for_each(|(atom, binder)| self.same(atom, binder));
    }

    fn atoms_meet(&mut self, left: &[Atom], right: &[Atom]) {
        for (left, right) in left.iter().zip(right) {
            if let Atom::Var(var) = right {
                let shape = self.var(*var);
                self.meet(left, &shape);
            }
        }
    }

    fn block(&mut self, program: &Program, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            block.statements.iter().for_each(|statement| self.statement(program, statement));
        });
    }

    fn statement(&mut self, program: &Program, statement: &Statement) {
        let binders = &statement.binders;
        statement.op.scopes().iter().for_each(|scope| self.block(program, scope.block));
        match &statement.op {
            Op::Copy(atoms) | Op::Trace { args: atoms, .. } => self.pairwise(atoms, binders),
            Op::If { then, otherwise, .. } => {
                self.pairwise(&then.results, binders);
                self.pairwise(&otherwise.results, binders);
            }
            Op::Call { function, args } => {
                let Some(target) = program.functions.get(function.0 as usize) else { return };
                self.pairwise(args, &target.params);
                for (at, binder) in binders.iter().enumerate() {
                    let shape = self.results[function.0 as usize][at].clone();
                    self.meet(&Atom::Var(binder.var), &shape);
                }
            }
            Op::Closure(lambda) => {
                let [binder] = binders.as_slice() else { return };
                let Shape::Function(label) = self.var(binder.var) else { return };
                let (_, params, results) = self.function(label);
                for (param, shape) in lambda.params.iter().zip(&params) {
                    self.meet(&Atom::Var(param.var), shape);
                }
                for (result, shape) in lambda.body.results.iter().zip(&results) {
                    self.meet(result, shape);
                }
            }
            Op::Apply { function, args } => {
                let Atom::Var(function) = function else { return };
                let Shape::Function(label) = self.var(*function) else { return };
                let (_, params, results) = self.function(label);
                args.iter().zip(&params).for_each(|(arg, shape)| self.meet(arg, shape));
                binders.iter().zip(&results).for_each(|(binder, shape)| self.meet(&Atom::Var(binder.var), shape));
            }
            Op::Construct { tag, args, .. } => {
                if let [binder] = binders.as_slice() {
                    let fields = self.fields(binder.var, *tag);
                    args.iter().zip(&fields).for_each(|(arg, field)| self.meet(arg, field));
                }
            }
            Op::Match { scrutinee, arms, otherwise } => {
                for arm in arms {
                    if let Atom::Var(var) = scrutinee {
                        let fields = self.fields(*var, arm.tag);
                        arm.binders.iter().zip(&fields).for_each(|(binder, field)| self.meet(&Atom::Var(binder.var), field));
                    }
                    self.pairwise(&arm.body.results, binders);
                }
                if let Some(block) = otherwise {
                    self.pairwise(&block.results, binders);
                }
            }
            Op::Build { body, .. } | Op::Recompute(body) => self.pairwise(&body.results, binders),
            Op::Reduce { op, neutral, body, .. } | Op::Scan { op, neutral, body, .. } => {
                self.operator(op, &[neutral, &body.results], binders);
            }
            Op::Hist { dest, rank, op, neutral, body, .. } => {
                self.operator(op, &[dest, neutral, &body.results[*rank..]], binders);
            }
            Op::Scatter { dest, rank, body, .. } => {
                self.pairwise(dest, binders);
                self.pairwise(&body.results[*rank..], binders);
            }
            Op::ArrayLiteral { elements: atoms, .. } | Op::Concat { arrays: atoms } => {
                for binder in binders {
                    atoms.iter().for_each(|atom| self.same(atom, binder));
                }
            }
            Op::Index { array, .. } | Op::Slice { array, .. } | Op::Transpose { array, .. } | Op::Reshape { array, .. } => {
                binders.iter().for_each(|binder| self.same(array, binder));
            }
            Op::Update { array, value, .. } => {
                for binder in binders {
                    self.same(array, binder);
                    self.same(value, binder);
                }
            }
            Op::Loop(parts) => self.loop_statement(parts, binders),
            Op::Par { left, right } => {
                let (first, second) = binders.split_at(left.results.len().min(binders.len()));
                self.pairwise(&left.results, first);
                self.pairwise(&right.results, second);
            }
            Op::Differentiate(parts) => {
                // A derivative has the shape of what it is a derivative of.
                self.pairwise(&parts.args, &parts.function.params);
                let primal = if parts.with_primal { parts.function.results.len() } else { 0 };
                let (primal, derivative) = binders.split_at(primal.min(binders.len()));
                self.pairwise(&parts.function.body.results, primal);
                match parts.mode {
                    chadwick_core::Mode::Jvp | chadwick_core::Mode::Jmp => {
                        self.atoms_meet(&parts.seeds, &parts.args);
                        self.pairwise(&parts.function.body.results, derivative);
                    }
                    chadwick_core::Mode::Vjp | chadwick_core::Mode::Mjp => {
                        self.atoms_meet(&parts.seeds, &parts.function.body.results);
                        self.pairwise(&parts.args, derivative);
                    }
                    // Sets are numbers.
                    chadwick_core::Mode::Dependencies => {}
                }
            }
            Op::Custom(parts) => {
                self.pairwise(&parts.args, &parts.function.params);
                let tape = parts.kind.tape();
                let (tapes, results) = parts.function.body.results.split_at(tape.min(parts.function.body.results.len()));
                self.pairwise(results, binders);
                let first = if parts.kind == CustomKind::Jvp { &parts.args } else { results };
                let sources = match parts.kind {
                    CustomKind::VjpTape { .. } => [tapes, results],
                    _ => [first, first],
                };
                let sources: Vec<Atom> = sources.concat();
                self.pairwise(&sources, &parts.rule.params);
                if parts.kind == CustomKind::Jvp {
                    self.pairwise(&parts.rule.body.results, binders);
                } else {
                    self.atoms_meet(&parts.rule.body.results, &parts.args);
                }
            }
            Op::WithAccumulators { handles, init, body } => {
                self.pairwise(init, handles);
                self.pairwise(init, binders);
                let results = binders.get(handles.len()..).unwrap_or_default();
                self.pairwise(&body.results, results);
            }
            Op::WithLog { handle, body, .. } => {
                let columns = match &handle.ty {
                    Type::Log(log) => log.indices + log.values.len(),
                    _ => 0,
                };
                self.pairwise(&body.results, binders.get(columns..).unwrap_or_default());
            }
            Op::Log { .. } | Op::Accumulate { .. } | Op::Prim(..) | Op::Dim { .. } | Op::Assert { .. } => {}
        }
    }

    /// The shapes of a constructor's fields in a variable of a sum type.
    fn fields(&mut self, var: Var, tag: u32) -> Vec<Shape> {
        match (self.var(var), self.var_type(var)) {
            (Shape::Sum(constructors), _) => constructors.get(tag as usize).cloned().unwrap_or_default(),
            (_, Some(Type::Named(id))) => self.definitions[id.0 as usize].get(tag as usize).cloned().unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn operator(&mut self, op: &Lambda, sources: &[&[Atom]], binders: &[Binder]) {
        let (left, right) = op.params.split_at(op.params.len() / 2);
        for targets in [left, right, binders] {
            sources.iter().for_each(|source| self.pairwise(source, targets));
            self.pairwise(&op.body.results, targets);
        }
    }

    fn loop_statement(&mut self, parts: &Loop, binders: &[Binder]) {
        let count = parts.carry.len();
        let (next, emitted) = parts.body.results.split_at(count.min(parts.body.results.len()));
        self.pairwise(&parts.initial, &parts.carry);
        self.pairwise(next, &parts.carry);
        self.pairwise(&parts.initial, &binders[..count.min(binders.len())]);
        let emits = binders.get(count + usize::from(parts.counted)..).unwrap_or_default();
        self.pairwise(emitted, emits);
    }
}
