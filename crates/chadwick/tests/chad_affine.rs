//! Efficient CHAD uses cotangents affinely (thesis 6.3.3): what holds cotangents is used once, or taken apart and each part used once. That is
//! what pays for additions: their cost is what both operands have in common, which is gone afterwards.
//!
//! This looks at the Core that comes out. Numbers may be copied; followed are values of the types of cotangents and cells that differentiation
//! made, and arrays that come out of them. A use is counted once for every path through the program, and what is used in a loop must be
//! another element in every iteration.

mod work;

use chadwick::Program;
use chadwick::compile::{Cotangents, Engine, Stage};
use chadwick_core::visit::{for_each_binder, variable_types};
use chadwick_core::{
    Atom, BinaryOp, Binder, Block, FunctionId, Lambda, LoopForm, Mode, Op, PrimOp, SliceDim, Statement, Type, Var,
};
use chadwick_generate::{Config, Construct, Element, entries, generate};
use std::collections::{BTreeMap, BTreeSet};
use work::source;

/// A part of a value.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Field(u32, usize),
    At(Atom),
    /// One element in each iteration.
    Each,
    /// All elements but one.
    Rest(Atom),
    Range(Atom, Atom),
}

/// How a value is used: as it is, or in parts.
#[derive(Clone, Debug, Default, PartialEq)]
struct Usage {
    whole: bool,
    parts: Vec<(Part, Usage)>,
}

impl Usage {
    fn whole() -> Usage {
        Usage { whole: true, parts: Vec::new() }
    }

    fn of(part: Part, usage: Usage) -> Usage {
        Usage { whole: false, parts: vec![(part, usage)] }
    }

    fn is_none(&self) -> bool {
        !self.whole && self.parts.is_empty()
    }

    /// In all iterations, if each uses another element: the one at an index of the loop.
    fn each(&self, is_index: &dyn Fn(&Atom) -> bool) -> Option<Usage> {
        if self.whole {
            return None;
        }
        let mut all = Usage::default();
        for (part, usage) in &self.parts {
            all.parts.push(match part {
                Part::At(at) if is_index(at) => (Part::Each, usage.clone()),
                part => (part.clone(), usage.each(is_index)?),
            });
        }
        (all.parts.iter().filter(|(part, _)| *part == Part::Each).count() <= 1).then_some(all)
    }

    /// On another path.
    fn or(&mut self, other: &Usage) {
        self.whole |= other.whole;
        for (part, usage) in &other.parts {
            match self.parts.iter_mut().find(|(known, _)| known == part) {
                Some((_, known)) => known.or(usage),
                None => self.parts.push((part.clone(), usage.clone())),
            }
        }
    }

    /// On the same path; whether nothing is used twice.
    fn and(&mut self, other: &Usage, overlap: &dyn Fn(&Part, &Part) -> bool) -> bool {
        let mut affine = (self.is_none() || !other.whole) && (other.is_none() || !self.whole);
        for (part, usage) in &other.parts {
            for (known, own) in &mut self.parts {
                affine &= if known == part { own.and(usage, overlap) } else { !overlap(known, part) };
            }
        }
        self.or(other);
        affine
    }
}

type Uses = BTreeMap<Var, Usage>;

struct Checker<'p> {
    program: &'p chadwick_core::Program,
    types: Vec<Option<Type>>,
    /// What holds cotangents.
    followed: BTreeSet<Var>,
    results: Vec<Vec<bool>>,
    /// How indices are computed.
    sums: BTreeMap<Var, (Atom, Atom)>,
    differences: BTreeMap<Var, (Atom, Atom)>,
    /// Of which value a variable is a field.
    fields: BTreeMap<Var, (Atom, Part)>,
    /// Whether this is code for cotangents. Elsewhere arrays of numbers are gradients, with which the program may do what it likes.
    inside: bool,
    problems: Vec<String>,
    changed: bool,
}

/// Where a program uses a cotangent twice.
fn problems(program: &chadwick_core::Program) -> Vec<String> {
    checked(program).problems
}

fn checked(program: &chadwick_core::Program) -> Checker<'_> {
    let results = program.functions.iter().map(|function| vec![false; function.results.len()]).collect();
    let (followed, sums, differences, fields, problems) = Default::default();
    let types = variable_types(program);
    let mut checker =
        Checker { program, types, followed, results, sums, differences, fields, inside: false, problems, changed: true };
    while std::mem::take(&mut checker.changed) {
        for (at, function) in program.functions.iter().enumerate() {
            checker.follow_all(&function.params);
            let results = checker.follow_block(&function.body);
            checker.changed |= checker.results[at] != results;
            checker.results[at] = results;
        }
    }
    for function in &program.functions {
        checker.inside = function.params.iter().any(|param| checker.is_cotangent(&param.ty));
        let uses = checker.scope(&function.body, &function.params, &format!("`{}`", function.name));
        assert!(uses.is_empty(), "functions of a program are closed");
    }
    checker
}

impl<'p> Checker<'p> {
    // ------------------------------------------------------------------------------------------------------ what is followed

    fn is_cotangent(&self, ty: &Type) -> bool {
        match ty {
            Type::Named(id) => matches!(self.program.types[id.0 as usize].name.as_str(), "cotangent" | "cell"),
            Type::Array(array) => array.element.as_type().is_some_and(|element| self.is_cotangent(&element)),
            _ => false,
        }
    }

    fn is_followed(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if self.followed.contains(var))
    }

    fn follow(&mut self, binder: &Binder, comes_from_one: bool) {
        let is_array = matches!(binder.ty, Type::Array(_));
        if self.is_cotangent(&binder.ty) || (is_array && comes_from_one) {
            self.changed |= self.followed.insert(binder.var);
        }
    }

    fn follow_all(&mut self, binders: &[Binder]) {
        binders.iter().for_each(|binder| self.follow(binder, false));
    }

    fn follow_block(&mut self, block: &'p Block) -> Vec<bool> {
        block.statements.iter().for_each(|statement| self.follow_statement(statement));
        block.results.iter().map(|result| self.is_followed(result)).collect()
    }

    fn follow_statement(&mut self, statement: &'p Statement) {
        let mut come_from_one = vec![false; statement.binders.len()];
        let mut join = |results: Vec<bool>| come_from_one.iter_mut().zip(results).for_each(|(known, it)| *known |= it);
        match &statement.op {
            Op::Prim(PrimOp::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), _), args) => {
                if let ([left, right], [binder]) = (args.as_slice(), statement.binders.as_slice()) {
                    let places = if *op == BinaryOp::Add { &mut self.sums } else { &mut self.differences };
                    places.insert(binder.var, (left.clone(), right.clone()));
                }
            }
            Op::Copy(atoms) => join(atoms.iter().map(|atom| self.is_followed(atom)).collect()),
            Op::Index { array, .. } | Op::Slice { array, .. } | Op::Update { array, .. } => join(vec![self.is_followed(array)]),
            Op::Call { function, args } => {
                let params = &self.program.functions[function.0 as usize].params;
                let given: Vec<bool> = args.iter().map(|arg| self.is_followed(arg)).collect();
                params.iter().zip(given).for_each(|(param, given)| self.follow(param, given));
                join(self.results[function.0 as usize].clone());
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let inside = self.is_followed(scrutinee);
                for arm in arms {
                    arm.binders.iter().for_each(|binder| self.follow(binder, inside));
                    join(self.follow_block(&arm.body));
                }
                otherwise.iter().for_each(|block| join(self.follow_block(block)));
            }
            Op::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|block| join(self.follow_block(block))),
            Op::Loop(parts) => {
                for (carry, initial) in parts.carry.iter().zip(&parts.initial) {
                    self.follow(carry, self.is_followed(initial));
                }
                let results = self.follow_block(&parts.body);
                parts.carry.iter().zip(&results).for_each(|(carry, it)| self.follow(carry, *it));
                join(results);
            }
            Op::Par { left, right } => join([self.follow_block(left), self.follow_block(right)].concat()),
            op => {
                for scope in op.scopes() {
                    self.follow_block(scope.block);
                }
                if let Op::Closure(Lambda { params, .. }) = op {
                    self.follow_all(params);
                }
            }
        }
        statement.binders.iter().zip(come_from_one).for_each(|(binder, it)| self.follow(binder, it));
    }

    // --------------------------------------------------------------------------------------------------------------- uses

    fn use_as(&mut self, uses: &mut Uses, atom: &Atom, usage: Usage) {
        let Atom::Var(var) = atom else { return };
        if !self.followed.contains(var) || usage.is_none() {
            return;
        }
        if let Some((whole, part)) = self.fields.get(var).cloned() {
            return self.use_as(uses, &whole, Usage::of(part, usage));
        }
        let overlap = |one: &Part, other: &Part| overlap(&self.sums, one, other);
        if !uses.entry(*var).or_default().and(&usage, &overlap) {
            self.report(*var, "is used twice");
        }
    }

    fn report(&mut self, var: Var, what: &str) {
        let ty = self.types[var.0 as usize].as_ref();
        if self.inside || ty.is_some_and(|ty| self.is_cotangent(ty)) {
            self.problems.push(format!("{var:?}: {ty:?} {what}"));
        }
    }

    fn use_all(&mut self, uses: &mut Uses, atoms: &[Atom]) {
        atoms.iter().for_each(|atom| self.use_as(uses, atom, Usage::whole()));
    }

    /// The uses of what is around a block whose results are used.
    fn scope(&mut self, block: &Block, params: &[Binder], what: &str) -> Uses {
        let mut uses = Uses::new();
        let before = self.problems.len();
        self.use_all(&mut uses, &block.results);
        self.statements(block, &mut uses);
        params.iter().for_each(|param| drop(uses.remove(&param.var)));
        self.problems[before..].iter_mut().for_each(|problem| *problem = format!("{problem} in {what}"));
        uses
    }

    /// What is used in every iteration must be another element each time.
    fn repeated(&mut self, uses: &mut Uses, inside: Uses, indices: &[Var], body: &Block) {
        let mut bound = BTreeSet::from_iter(indices.iter().copied());
        for_each_binder(body, &mut |var, _| bound.extend([var]));
        for (var, usage) in inside {
            let each = usage.each(&|atom| self.is_another_each_time(atom, indices, &bound)).unwrap_or_else(|| {
                self.report(var, "is used in every iteration");
                usage
            });
            self.use_as(uses, &Atom::Var(var), each);
        }
    }

    fn operands(&self, atom: &Atom) -> Option<(Atom, Atom)> {
        let Atom::Var(var) = atom else { return None };
        self.sums.get(var).or_else(|| self.differences.get(var)).cloned()
    }

    /// Whether a place is an index, or at a distance from it that stays.
    fn is_another_each_time(&self, atom: &Atom, indices: &[Var], bound: &BTreeSet<Var>) -> bool {
        if matches!(atom, Atom::Var(var) if indices.contains(var)) {
            return true;
        }
        let Some((left, right)) = self.operands(atom) else { return false };
        self.is_another_each_time(&left, indices, bound) && self.stays(&right, bound)
            || self.is_another_each_time(&right, indices, bound) && self.stays(&left, bound)
    }

    /// Whether a number is the same in all iterations, inside of which these variables are bound.
    fn stays(&self, atom: &Atom, bound: &BTreeSet<Var>) -> bool {
        match atom {
            Atom::Var(var) if bound.contains(var) => {
                self.operands(atom).is_some_and(|(left, right)| self.stays(&left, bound) && self.stays(&right, bound))
            }
            _ => true,
        }
    }

    /// Adds what a block uses whose results are used like this.
    fn branch(&mut self, block: &Block, results: &[Usage], uses: &mut Uses) {
        for (result, usage) in block.results.iter().zip(results) {
            self.use_as(uses, result, usage.clone());
        }
        self.statements(block, uses);
    }

    fn statements(&mut self, block: &Block, uses: &mut Uses) {
        for statement in block.statements.iter().rev() {
            let results: Vec<Usage> =
                statement.binders.iter().map(|binder| uses.remove(&binder.var).unwrap_or_default()).collect();
            self.op(&statement.op, &results, uses);
        }
    }

    fn op(&mut self, op: &Op, results: &[Usage], uses: &mut Uses) {
        let is_used = results.iter().any(|usage| !usage.is_none());
        let one_of = |branches: Vec<Uses>, uses: &mut Uses| {
            for (var, usage) in branches.iter().flatten() {
                uses.entry(*var).or_default().or(usage);
            }
        };
        match op {
            Op::Copy(atoms) => atoms.iter().zip(results).for_each(|(atom, usage)| self.use_as(uses, atom, usage.clone())),
            Op::Index { array, indices } => {
                let is_number = array_element(self.types_of(array), indices.len()).is_some_and(|ty| matches!(ty, Type::Prim(_)));
                let mut usage = if is_number { Usage::whole() } else { results[0].clone() };
                if !usage.is_none() {
                    for index in indices.iter().rev() {
                        usage = Usage::of(Part::At(index.clone()), usage);
                    }
                }
                self.use_as(uses, array, usage);
            }
            Op::Slice { array, dims } => {
                let usage = match dims.as_slice() {
                    [SliceDim::Range { start, count, .. }] if is_used => {
                        Usage::of(Part::Range(start.clone(), count.clone()), results[0].clone())
                    }
                    _ => results[0].clone(),
                };
                self.use_as(uses, array, usage);
            }
            Op::Update { array, dims, value } => {
                self.use_as(uses, value, Usage::whole());
                let usage = match dims.as_slice() {
                    [SliceDim::Index(at)] => Usage::of(Part::Rest(at.clone()), Usage::whole()),
                    _ => Usage::whole(),
                };
                self.use_as(uses, array, usage);
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let mut branches = Vec::new();
                for arm in arms {
                    if self.is_followed(scrutinee) {
                        for (at, binder) in arm.binders.iter().enumerate() {
                            self.fields.insert(binder.var, (scrutinee.clone(), Part::Field(arm.tag, at)));
                        }
                    }
                    let mut inside = uses.clone();
                    self.branch(&arm.body, results, &mut inside);
                    branches.push(inside);
                }
                if let Some(block) = otherwise {
                    let mut inside = uses.clone();
                    self.branch(block, results, &mut inside);
                    branches.push(inside);
                }
                one_of(branches, uses);
            }
            Op::If { then, otherwise, .. } => {
                let mut branches = Vec::new();
                for block in [then, otherwise] {
                    let mut inside = uses.clone();
                    self.branch(block, results, &mut inside);
                    branches.push(inside);
                }
                one_of(branches, uses);
            }
            Op::Par { left, right } => {
                let (of_left, of_right) = results.split_at(left.results.len());
                self.branch(left, of_left, uses);
                self.branch(right, of_right, uses);
            }
            Op::Loop(parts) => {
                let indices = if let LoopForm::For { index, .. } = &parts.form { vec![index.var] } else { Vec::new() };
                let inside = self.scope(&parts.body, &parts.carry, "a loop");
                self.repeated(uses, inside, &indices, &parts.body);
                self.use_all(uses, &parts.initial);
            }
            Op::Build { space, body, .. } => {
                let indices: Vec<Var> = space.iter().map(|axis| axis.var).collect();
                let inside = self.scope(body, &[], "a build");
                self.repeated(uses, inside, &indices, body);
            }
            Op::Closure(lambda) => {
                let outside = std::mem::replace(&mut self.inside, true);
                let inside = self.scope(&lambda.body, &lambda.params, "a function");
                self.inside = outside;
                self.repeated(uses, inside, &[], &lambda.body);
            }
            Op::Construct { .. } if !is_used => {}
            Op::Dim { .. } | Op::Assert { .. } => {}
            op => {
                let mut atoms = Vec::new();
                op.for_each_atom(&mut |atom| atoms.push(atom.clone()));
                self.use_all(uses, &atoms);
                for scope in op.scopes() {
                    let inside = self.scope(scope.block, &[], "an operation");
                    self.repeated(uses, inside, &[], scope.block);
                }
            }
        }
    }

    fn types_of(&self, atom: &Atom) -> Option<&Type> {
        if let Atom::Var(var) = atom { self.types[var.0 as usize].as_ref() } else { None }
    }
}

fn array_element(ty: Option<&Type>, indices: usize) -> Option<Type> {
    ty.and_then(|ty| ty.peel(indices))
}

/// Whether parts may have something in common.
fn overlap(sums: &BTreeMap<Var, (Atom, Atom)>, one: &Part, other: &Part) -> bool {
    match (one, other) {
        (Part::Field(..), Part::Field(..)) => false,
        (Part::At(Atom::Const(one)), Part::At(Atom::Const(other))) => one == other,
        (Part::At(at), Part::Rest(but)) | (Part::Rest(but), Part::At(at)) => at != but,
        (Part::Range(start, count), Part::Range(other_start, other_count)) => {
            !is_behind(sums, other_start, start, count) && !is_behind(sums, start, other_start, other_count)
        }
        _ => true,
    }
}

/// Whether a place is a range's end, with more lengths added.
fn is_behind(sums: &BTreeMap<Var, (Atom, Atom)>, place: &Atom, start: &Atom, count: &Atom) -> bool {
    let Some((left, right)) = (if let Atom::Var(var) = place { sums.get(var) } else { None }) else { return false };
    (left == start && right == count) || is_behind(sums, left, start, count)
}

const EFFICIENT: Engine = Engine::ChadEfficient(Cotangents::InArray);

fn derivative(program: &Program, entry: &str) -> chadwick::Result<Program> {
    let wrt = program.function(entry)?.wrt_arguments()?;
    program.with_engine(EFFICIENT)?.derivative_of(entry, &wrt, Mode::Vjp)
}

/// A program for each construct.
const CONSTRUCTS: &[&str] = &[
    "let z = x + y in x * z / (1 + y * y)",
    "let s: shape = if x > y then #disk (x * y) else #box [x, y] y in match s case #disk r -> r * r case #box b r -> b[0] * r + b[1]",
    "total (loop l: list = #nil for i < 5i64 do #cons (x * f64.i64 i + y) l)",
    "loop z = x while f64.abs z < 100 do z * y + 1",
    "let zs = map (\\i -> x * f64.i64 i) (iota 4) in f64.sum (map2 (*) zs (concat zs[1:] [y]))",
    "let zs = scan (*) 1 [x, y, x * y] in reduce (\\a b -> a * b + a) 0 zs",
    "let zs = [x, y, 1] with [1] = x * y in f64.sum (scatter (copy zs) [0, 2] [zs[1], zs[0]]) + f64.maximum (hist (+) 0 2 [0, 1, 0] zs)",
    "let m = tabulate_2d 3 4 (\\i j -> x * f64.i64 i + y * f64.i64 j) in f64.sum (map f64.product (transpose m)) + m[1, 2]",
];

fn construct(body: &str) -> Program {
    source(&format!(
        "type shape = #disk f64 | #box ([2]f64) f64
         type rec list = #nil | #cons f64 list
         def rec total (l: list): f64 = match l case #nil -> 1 case #cons x rest -> x * total rest
         entry f (x: f64) (y: f64): f64 = {body}"
    ))
}

#[test]
fn no_cotangent_is_used_twice() {
    for body in CONSTRUCTS {
        let made = derivative(&construct(body), "f").unwrap_or_else(|error| panic!("{}", error.message()));
        assert_eq!(problems(made.core()), Vec::<String>::new(), "{body}\n{}", made.core_text());
    }
}

#[test]
fn no_cotangent_of_a_random_program_is_used_twice() {
    let config = Config::default().without(&[Construct::NestedDerivatives, Construct::CustomRules]);
    for seed in 0..60 {
        let text = generate(seed, &config).source(Element::F64);
        let made = derivative(&source(&text), entries::PRIMAL).unwrap_or_else(|error| panic!("{}", error.message()));
        let checker = checked(made.core());
        assert_eq!(checker.problems, Vec::<String>::new(), "seed {seed}\n{text}");
        assert!(!checker.followed.is_empty(), "seed {seed}");
    }
}

/// Whether a function or one that it calls differentiates.
fn differentiates(program: &chadwick_core::Program, block: &Block, known: &mut BTreeSet<u32>) -> bool {
    block.statements.iter().any(|statement| match &statement.op {
        Op::Differentiate(_) => true,
        Op::Call { function, .. } if !known.insert(function.0) => false,
        Op::Call { function, .. } => differentiates(program, &program.functions[function.0 as usize].body, known),
        op => op.scopes().iter().any(|scope| differentiates(program, scope.block, known)),
    })
}

/// Whether there are derivatives of derivatives: there, cotangents of the inner ones are values like others.
fn is_nested(program: &chadwick_core::Program, block: &Block) -> bool {
    block.statements.iter().any(|statement| match &statement.op {
        Op::Differentiate(parts) => differentiates(program, &parts.function.body, &mut BTreeSet::new()),
        op => op.scopes().iter().any(|scope| is_nested(program, scope.block)),
    })
}

#[test]
fn no_cotangent_of_the_corpus_is_used_twice() {
    let mut count = 0;
    for folder in ["tests/conformance/ad", "tests/programs", "examples"] {
        let folder = format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"));
        let mut paths: Vec<_> = std::fs::read_dir(&folder).expect(&folder).map(|entry| entry.expect("a file").path()).collect();
        paths.sort();
        for path in paths.into_iter().filter(|path| path.extension().is_some_and(|it| it == "fut")) {
            // What is refused has no derivative.
            let Ok(program) = Program::from_file(&path).and_then(|program| program.with_engine(EFFICIENT)) else { continue };
            let Ok(lowered) = program.at_stage(Stage::Lower) else { continue };
            if lowered.core().functions.iter().any(|function| is_nested(lowered.core(), &function.body)) {
                continue;
            }
            let Ok(made) = program.at_stage(Stage::Derivatives) else { continue };
            let checker = checked(made.core());
            assert_eq!(checker.problems, Vec::<String>::new(), "{}", path.display());
            count += usize::from(!checker.followed.is_empty());
        }
    }
    assert!(count > 20, "only {count} files");
}

/// Contributes what a statement contributes once more, by a copy of the statement in front of it. `left` counts down to the statement that is
/// meant, and is nothing behind it.
fn doubled(block: Block, is_such: &dyn Fn(&Op) -> bool, left: &mut Option<usize>, fresh: Var) -> Block {
    let mut statements = Vec::new();
    for mut statement in block.statements {
        if is_such(&statement.op) {
            if *left == Some(0) {
                let mut copy = statement.clone();
                copy.binders[0].var = fresh;
                if let Op::Call { args, .. } = &mut statement.op {
                    args[0] = Atom::Var(fresh);
                }
                statements.push(copy);
            }
            *left = left.and_then(|left| left.checked_sub(1));
        }
        statement.op = statement.op.map_blocks(&mut |inside| doubled(inside, is_such, left, fresh));
        statements.push(statement);
    }
    Block { statements, results: block.results }
}

#[test]
fn a_cotangent_that_is_used_twice_is_seen() {
    let mut seen = 0;
    for body in CONSTRUCTS {
        let made = derivative(&construct(body), "f").unwrap_or_else(|error| panic!("{}", error.message()));
        let core = made.core();
        let followed = checked(core).followed;
        let fresh = Var(variable_types(core).len() as u32);
        let one = |id: &FunctionId| core.functions[id.0 as usize].name.as_str() == "one";
        let is_such = |op: &Op| match op {
            Op::Call { function, args } => one(function) && matches!(args[2], Atom::Var(var) if followed.contains(&var)),
            _ => false,
        };
        for number in 0.. {
            let (mut broken, mut left) = (core.clone(), Some(number));
            for function in &mut broken.functions {
                function.body = doubled(std::mem::take(&mut function.body), &is_such, &mut left, fresh);
            }
            if left.is_some() {
                break;
            }
            assert!(!problems(&broken).is_empty(), "contribution {number} is doubled: {body}");
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} contributions");
}
