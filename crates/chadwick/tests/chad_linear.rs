//! What CHAD makes is linear: the judgement `Γ; v ⊢ t` of its target language (Vákár and Smeding, section 5), checked on the Core that comes out.
//!
//! In the paper linear functions are a hidden type, so that no other can be made. Here they are functions of Core, and this says of every value of
//! a derivative how it depends on the cotangents (or tangents) that are given: not at all, linearly, or otherwise. All that an entry point gives
//! as a derivative must be linear. Branching on a constructor of a cotangent is allowed, since it is that of the primal value.

mod work;

use chadwick::Program;
use chadwick::compile::{Definition, Engine};
use chadwick_core::{
    Arm, Atom, BinaryOp, Binder, Block, Const, FunctionId, Lambda, LoopForm, Mode, Op, Prim, PrimOp, Type, TypeId, UnaryOp, Var,
};
use chadwick_generate::{Config, Construct, Element, entries, generate};
use std::collections::{BTreeMap, BTreeSet};
use work::source;

/// How a value depends on what is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Level {
    /// It is zero, which is constant and linear.
    #[default]
    Zero,
    Constant,
    Linear,
    Other,
}

impl Level {
    fn join(self, other: Level) -> Level {
        match (self, other) {
            (Level::Zero, level) | (level, Level::Zero) => level,
            (one, other) if one == other => one,
            _ => Level::Other,
        }
    }

    fn times(self, other: Level) -> Level {
        match (self, other) {
            (Level::Zero, _) | (_, Level::Zero) => Level::Zero,
            (Level::Constant, level) | (level, Level::Constant) => level,
            _ => Level::Other,
        }
    }

    fn is_constant(self) -> bool {
        matches!(self, Level::Zero | Level::Constant)
    }
}

/// A value: how it depends on what is given, and which functions it may be or hold.
#[derive(Clone, Debug, Default, PartialEq)]
struct Abstract {
    level: Level,
    functions: BTreeSet<usize>,
}

impl Abstract {
    fn of(level: Level) -> Abstract {
        Abstract { level, functions: BTreeSet::new() }
    }

    fn join(&self, other: &Abstract) -> Abstract {
        Abstract { level: self.level.join(other.level), functions: &self.functions | &other.functions }
    }
}

/// All values of a program, joined over all runs.
struct Analysis<'p> {
    program: &'p chadwick_core::Program,
    types: Vec<Option<Type>>,
    variables: BTreeMap<Var, Abstract>,
    /// Results of functions.
    results: Vec<Vec<Abstract>>,
    lambdas: Vec<&'p Lambda>,
    lambda_results: Vec<Vec<Abstract>>,
    /// Fields of types that differentiation made, such as bags: their parts differ.
    fields: BTreeMap<(TypeId, u32, usize), Abstract>,
    /// How many types the program had before.
    own_types: usize,
    changed: bool,
}

impl<'p> Analysis<'p> {
    /// Analyses a program whose function is given these values.
    fn new(program: &'p chadwick_core::Program, own_types: usize, function: FunctionId, given: &[Level]) -> Analysis<'p> {
        let mut analysis = Analysis {
            program,
            types: chadwick_core::visit::variable_types(program),
            variables: BTreeMap::new(),
            results: vec![Vec::new(); program.functions.len()],
            lambdas: Vec::new(),
            lambda_results: Vec::new(),
            fields: BTreeMap::new(),
            own_types,
            changed: true,
        };
        for (param, level) in program.functions[function.0 as usize].params.iter().zip(given) {
            analysis.bind(param.var, Abstract::of(*level));
        }
        while std::mem::take(&mut analysis.changed) {
            for (at, function) in program.functions.iter().enumerate() {
                let results = analysis.block(&function.body);
                analysis.changed |= analysis.results[at] != results;
                analysis.results[at] = results;
            }
        }
        analysis
    }

    fn bind(&mut self, var: Var, value: Abstract) {
        let known = self.variables.entry(var).or_default();
        let joined = known.join(&value);
        self.changed |= *known != joined;
        *known = joined;
    }

    fn bind_all(&mut self, binders: &[Binder], values: &[Abstract]) {
        for (binder, value) in binders.iter().zip(values) {
            self.bind(binder.var, value.clone());
        }
    }

    fn atom(&self, atom: &Atom) -> Abstract {
        match atom {
            Atom::Var(var) => self.variables.get(var).cloned().unwrap_or_default(),
            Atom::Const(constant) if *constant == Const::zero(constant.prim()) => Abstract::default(),
            Atom::Const(_) => Abstract::of(Level::Constant),
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> Vec<Abstract> {
        atoms.iter().map(|atom| self.atom(atom)).collect()
    }

    fn joined(&self, atoms: &[Atom]) -> Abstract {
        atoms.iter().fold(Abstract::default(), |joined, atom| joined.join(&self.atom(atom)))
    }

    fn block(&mut self, block: &'p Block) -> Vec<Abstract> {
        for statement in &block.statements {
            let values = self.op(&statement.op);
            self.bind_all(&statement.binders, &values);
        }
        self.atoms(&block.results)
    }

    fn lambda(&mut self, lambda: &'p Lambda, args: &[Abstract]) -> Vec<Abstract> {
        self.bind_all(&lambda.params, args);
        self.block(&lambda.body)
    }

    fn both(&mut self, condition: Level, branches: Vec<Vec<Abstract>>) -> Vec<Abstract> {
        let joined = branches.into_iter().reduce(|one, other| one.iter().zip(&other).map(|(a, b)| a.join(b)).collect());
        let mut joined = joined.unwrap_or_default();
        if !condition.is_constant() {
            joined.iter_mut().for_each(|value| value.level = Level::Other);
        }
        joined
    }

    fn op(&mut self, op: &'p Op) -> Vec<Abstract> {
        match op {
            Op::Copy(atoms) | Op::Trace { args: atoms, .. } => self.atoms(atoms),
            Op::Prim(op, args) => {
                let levels: Vec<Level> = args.iter().map(|arg| self.atom(arg).level).collect();
                vec![Abstract::of(primitive(*op, &levels))]
            }
            Op::If { condition, then, otherwise } => {
                let branches = vec![self.block(then), self.block(otherwise)];
                self.both(self.atom(condition).level, branches)
            }
            Op::Call { function, args } => {
                let args = self.atoms(args);
                self.bind_all(&self.program.functions[function.0 as usize].params, &args);
                let count = self.program.functions[function.0 as usize].results.len();
                let mut results = self.results[function.0 as usize].clone();
                results.resize(count, Abstract::default());
                results
            }
            Op::Closure(lambda) => {
                let known = self.lambdas.iter().position(|known| std::ptr::eq(*known, lambda));
                let id = known.unwrap_or_else(|| {
                    self.lambdas.push(lambda);
                    self.lambda_results.push(vec![Abstract::default(); lambda.results.len()]);
                    self.lambdas.len() - 1
                });
                let results = self.block(&lambda.body);
                self.changed |= self.lambda_results[id] != results;
                self.lambda_results[id] = results;
                vec![Abstract { level: Level::Zero, functions: BTreeSet::from([id]) }]
            }
            Op::Apply { function, args } => {
                let (functions, args) = (self.atom(function).functions, self.atoms(args));
                let mut branches = Vec::new();
                for id in functions {
                    self.bind_all(&self.lambdas[id].params, &args);
                    branches.push(self.lambda_results[id].clone());
                }
                self.both(Level::Constant, branches)
            }
            Op::Construct { ty, tag, args } => match self.made(ty) {
                Some(id) => {
                    for (at, arg) in args.iter().enumerate() {
                        let value = self.atom(arg);
                        let field = self.fields.entry((id, *tag, at)).or_default();
                        let joined = field.join(&value);
                        self.changed |= *field != joined;
                        *field = joined;
                    }
                    vec![Abstract::default()]
                }
                None => {
                    let is_bool = |atom: &&Atom| match atom {
                        Atom::Var(var) => self.types[var.0 as usize] == Some(Type::BOOL),
                        Atom::Const(constant) => constant.prim() == Prim::Bool,
                    };
                    let numbers: Vec<Atom> = args.iter().filter(|arg| !is_bool(arg)).cloned().collect();
                    vec![self.joined(&numbers)]
                }
            },
            Op::Match { scrutinee, arms, otherwise } => {
                let value = self.atom(scrutinee);
                let mut branches: Vec<Vec<Abstract>> = arms.iter().map(|arm| self.arm(scrutinee, &value, arm)).collect();
                branches.extend(otherwise.iter().map(|block| self.block(block)));
                self.both(Level::Constant, branches)
            }
            Op::Build { space, body, .. } => {
                space.iter().for_each(|axis| self.bind(axis.var, Abstract::of(Level::Constant)));
                self.block(body)
            }
            Op::Reduce { space, op, neutral, body, .. } => {
                space.iter().for_each(|axis| self.bind(axis.var, Abstract::of(Level::Constant)));
                self.combined(op, neutral, body, 0)
            }
            Op::Scan { axis, op, neutral, body } => {
                self.bind(axis.var, Abstract::of(Level::Constant));
                self.combined(op, neutral, body, 0)
            }
            Op::Hist { space, dest, rank, op, body, .. } => {
                space.iter().for_each(|axis| self.bind(axis.var, Abstract::of(Level::Constant)));
                self.combined(op, dest, body, *rank)
            }
            Op::Scatter { space, dest, rank, body } => {
                space.iter().for_each(|axis| self.bind(axis.var, Abstract::of(Level::Constant)));
                let values = self.block(body);
                dest.iter().zip(&values[*rank..]).map(|(dest, value)| self.atom(dest).join(value)).collect()
            }
            Op::ArrayLiteral { elements: arrays, .. } | Op::Concat { arrays } => vec![self.joined(arrays)],
            Op::Index { array, .. } | Op::Slice { array, .. } | Op::Transpose { array, .. } | Op::Reshape { array, .. } => {
                vec![self.atom(array)]
            }
            Op::Update { array, value, .. } => vec![self.atom(array).join(&self.atom(value))],
            Op::Dim { .. } => vec![Abstract::of(Level::Constant)],
            Op::Loop(parts) => {
                let initial = self.atoms(&parts.initial);
                self.bind_all(&parts.carry, &initial);
                let condition = match &parts.form {
                    LoopForm::For { index, .. } => {
                        self.bind(index.var, Abstract::of(Level::Constant));
                        Level::Constant
                    }
                    LoopForm::While { condition } => self.block(condition)[0].level,
                };
                let mut values = self.block(&parts.body);
                self.bind_all(&parts.carry, &values);
                let carry = parts.carry.iter().map(|binder| self.atom(&Atom::Var(binder.var)));
                values.splice(..parts.carry.len(), carry.collect::<Vec<_>>());
                values.extend(parts.counted.then(|| Abstract::of(Level::Constant)));
                self.both(condition, vec![values])
            }
            Op::Assert { .. } => Vec::new(),
            Op::Par { left, right } => [self.block(left), self.block(right)].concat(),
            Op::Recompute(block) => self.block(block),
            other => panic!("the definition makes no {other:?}"),
        }
    }

    /// The type, if differentiation made it.
    fn made(&self, ty: &Type) -> Option<TypeId> {
        if let Type::Named(id) = ty { (id.0 as usize >= self.own_types).then_some(*id) } else { None }
    }

    fn arm(&mut self, scrutinee: &Atom, value: &Abstract, arm: &'p Arm) -> Vec<Abstract> {
        let made = match scrutinee {
            Atom::Var(var) => self.types[var.0 as usize].as_ref().and_then(|ty| self.made(ty)),
            Atom::Const(_) => None,
        };
        for (at, binder) in arm.binders.iter().enumerate() {
            let field = match made {
                Some(id) => self.fields.get(&(id, arm.tag, at)).cloned().unwrap_or_default(),
                None if binder.ty == Type::BOOL => Abstract::of(Level::Constant),
                None => value.clone(),
            };
            self.bind(binder.var, field);
        }
        self.block(&arm.body)
    }

    /// What an operator makes of elements and a start.
    fn combined(&mut self, op: &'p Lambda, start: &[Atom], body: &'p Block, rank: usize) -> Vec<Abstract> {
        let elements = self.block(body);
        let mut values: Vec<Abstract> =
            start.iter().zip(&elements[rank..]).map(|(start, it)| self.atom(start).join(it)).collect();
        let combined = self.lambda(op, &[values.clone(), values.clone()].concat());
        self.bind_all(&op.params, &[combined.clone(), combined.clone()].concat());
        values.iter_mut().zip(&combined).for_each(|(value, combined)| *value = value.join(combined));
        values
    }
}

fn primitive(op: PrimOp, args: &[Level]) -> Level {
    match (op, args) {
        (PrimOp::Binary(BinaryOp::Add | BinaryOp::Sub, _), [left, right]) => left.join(*right),
        (PrimOp::Unary(UnaryOp::Negate, _) | PrimOp::Convert { .. }, [arg]) => *arg,
        (PrimOp::Binary(BinaryOp::Mul | BinaryOp::Scale, _), [left, right]) => left.times(*right),
        (PrimOp::Binary(BinaryOp::Div, _), [left, right]) if right.is_constant() => *left,
        (PrimOp::FusedMultiplyAdd(_), [left, right, third]) => left.times(*right).join(*third),
        (_, args) if args.iter().all(|arg| arg.is_constant()) => Level::Constant,
        _ => Level::Other,
    }
}

/// How what the derivative of an entry point gives depends on what it is given.
fn levels(program: &Program, definition: Definition, entry: &str, wrt: &[usize], mode: Mode) -> Vec<Level> {
    let engine = Engine::Chad(definition);
    let show = |error: chadwick::Error| -> Program { panic!("{}", error.message()) };
    let own_types = program.core().types.len();
    let program = program.with_engine(engine).unwrap_or_else(show);
    let derived = program.derivative_of(entry, wrt, mode).unwrap_or_else(show);
    let core = derived.core();
    let entry = core.entries.iter().find(|it| it.name == entry).expect("the entry point");
    let function = &core.functions[entry.function.0 as usize];
    // Results first, and then as many derivatives: of results by forward, of arguments by reverse mode.
    let (given, derivatives) = match mode {
        Mode::Jvp => (wrt.len(), function.results.len() / 2),
        _ => (function.results.len() - wrt.len(), wrt.len()),
    };
    let constants = function.params.len() - given;
    let levels = [vec![Level::Constant; constants], vec![Level::Linear; given]].concat();
    let analysis = Analysis::new(core, own_types, entry.function, &levels);
    let results = &analysis.results[entry.function.0 as usize];
    assert!(
        results[..results.len() - derivatives].iter().all(|value| value.level.is_constant()),
        "results are given as they were"
    );
    results[results.len() - derivatives..].iter().map(|value| value.level).collect()
}

const DEFINITIONS: [Definition; 2] = [Definition::Plain, Definition::Simplified];

#[test]
fn derivatives_of_every_construct_are_linear() {
    let types = "type shape = #disk f64 | #box bool f64
                 type rec list = #nil | #cons f64 list
                 def rec total (l: list): f64 = match l case #nil -> 1 case #cons x rest -> x * total rest";
    for body in [
        "let z = x + y in x * z / (1 + y * y) - f64.exp (-x)",
        "let g = if x > 0 then (\\z -> z * y) else (\\z -> z) in g (g x)",
        "let k = \\h -> if x > 0 then h (h y) else h x in k (if y > 0 then (\\z -> z * x) else (\\z -> f64.sin z))",
        "let s: shape = if x > y then #disk (x * y) else #box true y in match s case #disk r -> r * r case #box b r -> if b then r else x",
        "total (loop l: list = #nil for i < 5i64 do #cons (x * f64.i64 i + y) l)",
        "loop z = x while f64.abs z < 100 do z * y + 1",
        "f64.sum (map (\\z -> x * z + 1) (replicate 4 y))",
        "let zs = scan (*) 1 [x, y, x * y] in reduce (\\a b -> a * b + a) 0 zs",
        "let zs = [x, y, 1] with [1] = x * y in f64.sum (scatter (copy zs) [0, 2] [zs[1], zs[0]]) + f64.maximum (hist (+) 0 2 [0, 1, 0] zs)",
    ] {
        let program = source(&format!("{types}\nentry f (x: f64) (y: f64): f64 = {body}"));
        for (definition, mode) in DEFINITIONS.into_iter().flat_map(|it| [(it, Mode::Vjp), (it, Mode::Jvp)]) {
            let found = levels(&program, definition, "f", &[0, 1], mode);
            assert!(found.iter().all(|level| *level == Level::Linear), "{definition:?} {mode:?} {found:?}: {body}");
        }
    }
}

#[test]
fn derivatives_of_random_programs_are_linear() {
    let config = Config::default().with_size(8).without(&[Construct::NestedDerivatives, Construct::CustomRules]);
    let mut linear = 0;
    for seed in 0..60 {
        let text = generate(seed, &config).source(Element::F64);
        let program = source(&text);
        for mode in [Mode::Vjp, Mode::Jvp] {
            let found = levels(&program, Definition::Plain, entries::PRIMAL, &[0], mode);
            assert!(found.iter().all(|level| matches!(level, Level::Zero | Level::Linear)), "{mode:?} {found:?}\n{text}");
            linear += usize::from(found.contains(&Level::Linear));
        }
    }
    assert!(linear > 60, "only {linear} derivatives depend on what is given");
}

/// A rule of the program may be anything; this sees it.
#[test]
fn what_is_not_linear_is_seen() {
    for rule in ["f64.max (-1) (f64.min 1 d)", "d * d", "d + 1", "if d > 0 then d else 0"] {
        let program = source(&format!("entry f (x: f64) = with_vjp (\\x -> x * x) (\\_ d -> {rule}) x * 3"));
        assert_eq!(levels(&program, Definition::Plain, "f", &[0], Mode::Vjp), [Level::Other], "{rule}");
    }
}
