//! Computations side by side: the same bits for any number of threads, the error of the left side first, and derivatives that fork and join
//! where the program does.

mod work;

use chadwick::compile::{Cotangents, Engine, Rung, Stage};
use chadwick::{Backend, NativeOptions, Program, Value};
use chadwick_core::visit::variable_types;
use chadwick_core::{Atom, Binder, Block, FunctionId, Op, Statement, Type, Var};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use work::{assert_near, run, source};

const THREADS: [usize; 3] = [1, 2, 4];

/// The engines whose derivatives fork.
const PARALLEL: [Engine; 2] = [Engine::Dual(Rung::Parallel), Engine::ChadEfficient(Cotangents::InTasks)];

fn native(program: &Program, threads: usize) -> Program {
    program.with_backend(Backend::Native(NativeOptions { strict: false, quick: true, threads })).expect("native code")
}

fn call(program: &Program, entry: &str, args: &[Value]) -> Vec<f64> {
    run(program, entry, args).0
}

const VALUES: &str = r"
type rec tree = #leaf f64 | #node tree tree
type rec list = #nil | #cons f64 list

def rec grow (d: i64) (x: f64): tree =
  if d == 0 then #leaf x else let (a, b) = par (grow (d - 1) (x * 0.5)) (grow (d - 1) (x + 1)) in #node a b
def rec total (t: tree): f64 =
  match t case #leaf x -> f64.sin x case #node l r -> let (a, b) = par (total l) (total r) in a * 0.5 + b
entry trees (d: i64) (x: f64) = total (grow d x)

-- Both sides read an array, and one of them could change it in place if it were alone.
def rec sums [n] (d: i64) (xs: [n]f64): f64 =
  if d == 0 then f64.sum xs
  else let (a, b) = par (sums (d - 1) (map (* 1.5) xs)) (sums (d - 1) (copy xs with [d % n] = f64.i64 d)) in a - 0.5 * b
entry arrays (d: i64) (x: f64) = sums d (replicate 10 x)

-- Loops inside forks, forks inside loops, forks of four.
def steps (n: i64) (x: f64): f64 = loop x for i < n do x + 0.01 * f64.sin (x + f64.i64 i)
entry loops (n: i64) (x: f64) =
  let sides (k: i64) = par (f64.sum (tabulate n (\i -> steps 20 (x + f64.i64 (i * k))))) (steps (10 * n) (x * f64.i64 k))
  in f64.sum (map (\k -> let (a, b) = sides k in a - b) (iota 5))
entry four (n: i64) (x: f64) =
  let ((a, b), (c, d)) = par (par (steps n x) (steps (2 * n) (x + 1))) (par (steps n (x + 2)) (steps (n / 2) (x + 3)))
  in a * b - c * d

-- A chain: one side of each fork has all the others in it.
def rec chain (d: i64) (x: f64): f64 =
  if d == 0 then x else let (a, b) = par (steps 3 x) (chain (d - 1) (x * 0.999)) in 0.1 * a + b
entry chains (d: i64) (x: f64) = chain d x
";

const RUNS: [(&str, i64); 5] = [("trees", 12), ("arrays", 8), ("loops", 500), ("four", 2000), ("chains", 3000)];

#[test]
fn values_are_the_same_bits_for_any_number_of_threads() {
    let program = source(VALUES);
    let programs = THREADS.map(|threads| native(&program, threads));
    for (entry, n) in RUNS {
        let args: [Value; 2] = [n.into(), 0.3.into()];
        let wanted = call(&programs[0], entry, &args);
        assert_near(&wanted, &call(&program, entry, &args), entry);
        // More than once: who takes what differs.
        for program in &programs {
            for _ in 0..20 {
                assert_eq!(call(program, entry, &args), wanted, "{entry}");
            }
        }
    }
}

fn by(engine: Engine, program: &Program) -> Program {
    program.with_engine(engine).unwrap_or_else(|error| panic!("{}", error.message()))
}

/// The entry points of the text, each with the gradient by its last parameter instead of its value.
fn gradients(text: &str) -> String {
    let gradient = |line: &str| match line.strip_prefix("entry ") {
        Some(rest) => {
            let name = rest.split_whitespace().next().unwrap_or_default();
            format!("entry {name}_gradient (n: i64) (x: f64) = vjp ({name} n) x 1\ndef {rest}")
        }
        None => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(gradient).collect();
    // Definitions come before their uses.
    let (entries, rest): (Vec<String>, Vec<String>) =
        lines.join("\n").lines().map(str::to_owned).partition(|line| line.starts_with("entry "));
    [rest, entries].concat().join("\n")
}

#[test]
fn gradients_are_the_same_bits_for_any_number_of_threads() {
    PARALLEL.into_iter().for_each(same_gradients);
}

fn same_gradients(engine: Engine) {
    let program = source(&gradients(VALUES));
    let (parallel, tape) = (by(engine, &program), by(Engine::Dual(Rung::Tape), &program));
    let programs = THREADS.map(|threads| native(&parallel, threads));
    for (entry, n) in RUNS {
        let entry = format!("{entry}_gradient");
        let args: [Value; 2] = [n.into(), 0.3.into()];
        let wanted = call(&programs[0], &entry, &args);
        let sequential = call(&tape, &entry, &args);
        let largest = sequential.iter().fold(1.0f64, |largest, number| largest.max(number.abs()));
        for (one, other) in wanted.iter().zip(&sequential) {
            assert!((one - other).abs() <= 1e-12 * largest, "{entry}: {one} and {other}");
        }
        for program in &programs {
            for _ in 0..20 {
                assert_eq!(call(program, &entry, &args), wanted, "{entry}");
            }
        }
    }
}

#[test]
fn a_tree_of_forks_of_depth_15_ends() {
    let args: [Value; 2] = [15i64.into(), 0.3.into()];
    let wanted = call(&by(Engine::Dual(Rung::Tape), &source(&gradients(VALUES))), "trees_gradient", &args);
    for engine in PARALLEL {
        let program = by(engine, &source(&gradients(VALUES)));
        for threads in THREADS {
            let program = native(&program, threads);
            for _ in 0..3 {
                assert_near(&call(&program, "trees_gradient", &args), &wanted, "a tree of forks");
            }
        }
    }
}

#[test]
fn both_passes_fork() {
    let text = "
def rec tree (d: i64) (x: f64): f64 =
  if d == 0 then f64.sin x else let (a, b) = par (tree (d - 1) (x * 0.5)) (tree (d - 1) (x + 1)) in a * b
entry f (d: i64) (x: f64) = vjp (tree d) x 1";
    let text = native(&by(Engine::Dual(Rung::Parallel), &source(text)), 2).c_text().expect("C");
    let forks: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("if (cw_fork(ctx, ")).collect();
    assert!(forks.iter().any(|line| line.contains("tree_dual")), "the forward pass: {forks:?}");
    assert!(forks.iter().any(|line| line.contains("call_rule")), "the reverse pass: {forks:?}");
}

/// Sides with cotangents of their own cost as much as the arrays that they read: once that is nothing, in every step of a loop it may be a lot.
#[test]
fn the_reverse_pass_of_fast_chad_forks_where_it_runs_once() {
    let text = r"
def half [n] (w: [n]f64) (from: i64): f64 = loop s = 0 for i < n / 2 do s + f64.sin (w[from + i] * w[i])
def sides [n] (w: [n]f64): f64 = let (a, b) = par (half w 0) (half w (n / 2)) in a * b
def start (n: i64): [n]f64 = tabulate n (\i -> 0.1 + 0.01 * f64.i64 i)
entry once (n: i64) = grad (\w -> sides w * f64.sum w) (start n)
entry repeated (n: i64) = grad (\w -> loop s = 0 for i < 3 do s * w[i] + sides w) (start n)";
    for (entry, wanted_forks) in [("once", 2), ("repeated", 1)] {
        let program =
            source(&text.replace(&format!("entry {entry}"), "entry f")).with_engine(Engine::ChadFast).expect("derivatives");
        let programs = THREADS.map(|threads| native(&program, threads));
        let text = programs[0].c_text().expect("C");
        let forks = text.lines().filter(|line| line.trim_start().starts_with("if (cw_fork(ctx, f_")).count();
        assert_eq!(forks, wanted_forks, "{entry}");
        let wanted = call(&programs[0], "f", &[2000i64.into()]);
        assert_near(&wanted, &call(&program, "f", &[2000i64.into()]), entry);
        for program in &programs {
            for _ in 0..20 {
                assert_eq!(call(program, "f", &[2000i64.into()]), wanted, "{entry}");
            }
        }
    }
}

/// Long maps are cut into tasks whose number their size decides; they take all that the language has.
#[test]
fn long_maps_are_tasks() {
    let text = r"
type shape = #disk f64 | #box f64 f64
def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
def power (x: f64) (n: i32): f64 = loop y = 1 for _i < n do y * x
def clip (x: f64): f64 = with_vjp id (\_ adj -> f64.max (-1) (f64.min 1 adj)) x
entry plain (n: i64) (x: f64) = vjp (\x -> f64.sum (tabulate n (\i -> f64.sin (x * f64.i64 i)))) x 1
entry table (n: i64) (x: f64) =
  f64.sum (vjp (\w -> f64.sum (tabulate n (\i -> w[i % 7] * w[(i * i) % 7] + power w[0] 3))) (tabulate 7 (\i -> x + f64.i64 i)) 1)
entry matrix (n: i64) (x: f64) =
  vjp (\x -> f64.sum (flatten (tabulate_2d n 3 (\i j -> power (x * f64.i64 i / f64.i64 n) (i32.i64 j))))) x 1
entry rows (n: i64) (x: f64) =
  vjp (\x -> let rows = tabulate n (\i -> tabulate 4 (\j -> x * f64.i64 (i - j))) in f64.sum (map (\row -> row[1] * row[3]) rows)) x 1
entry sums (n: i64) (x: f64) =
  vjp (\x -> f64.sum (map area (tabulate n (\i -> if i % 3 == 0 then #disk (x * f64.i64 i) else #box x (f64.i64 i))))) x 1
entry rules (n: i64) (x: f64) = vjp (\x -> f64.sum (tabulate n (\i -> let y = clip (x * f64.i64 i) in y * y))) x 1
entry singles (n: i64) (x: f64) = vjp (\x -> f64.f32 (f32.sum (tabulate n (\i -> f32.f64 (x * f64.i64 i) * 0.5)))) x 1
entry twice (n: i64) (x: f64) = vjp (\x -> vjp (\x -> f64.sum (tabulate n (\i -> f64.sin (x * f64.i64 i)))) x 1) x 1
entry forward (n: i64) (x: f64) = jvp (\x -> vjp (\x -> f64.sum (tabulate n (\i -> f64.sin (x * f64.i64 i)))) x 1) x 1
entry forks (n: i64) (x: f64) =
  vjp (\x -> let (a, b) = par (f64.sum (tabulate n (\i -> power x (i32.i64 (i % 4))))) (f64.sum (tabulate n (\i -> f64.cos x)))
             in a * b) x 1
entry scans (n: i64) (x: f64) = vjp (\x -> let ys = scan (+) 0 (tabulate n (\i -> f64.sin (x * f64.i64 i))) in f64.sum ys) x 1
entry bins (n: i64) (x: f64) =
  vjp (\x -> let is = map (% 5) (iota n)
             let ys = reduce_by_index (replicate 5 x) (+) 0 is (map (\i -> f64.exp (-x * f64.i64 (i % 9))) (iota n)) in ys[1] * ys[3]) x 1
entry writes (n: i64) (x: f64) =
  vjp (\x -> let ys = scatter (replicate 9 x) (map (\i -> i % 11) (iota n)) (map (\i -> f64.cos (x * f64.i64 i)) (iota n))
             in f64.product ys) x 1
entry vectors (n: i64) (x: f64) =
  vjp (\x -> let rows = scan (map2 (+)) (replicate 3 0) (tabulate n (\i -> [x, f64.sin (x * f64.i64 i), 1])) in f64.sum (map (\r -> r[1]) rows)) x 1
entry inside (n: i64) (x: f64) =
  vjp (\x -> f64.sum (tabulate n (\i -> let (a, b) = par (power x (i32.i64 (i % 4))) (power x 2) in a * b))) x 1";
    // One row for each operation is less than a function for each element.
    PARALLEL.into_iter().zip([20_000, 3_000]).for_each(|(engine, longest)| maps_are_the_same(engine, longest, text));
}

/// What is scanned, counted or written is computed in tasks, too.
#[test]
fn points_of_scans_histograms_and_scatters_are_tasks() {
    for form in [
        "(scan (+) 0 (tabulate n (\\i -> f64.sin (x * f64.i64 i))))[n / 2]",
        "(reduce_by_index (replicate 5 0) (+) 0 (map (% 5) (iota n)) (map (\\i -> f64.sin (x * f64.i64 i)) (iota n)))[1]",
        "(scatter (replicate n 0) (map (\\i -> n - i) (iota n)) (map (\\i -> f64.sin (x * f64.i64 i)) (iota n)))[1]",
    ] {
        let program = by(PARALLEL[0], &source(&format!("entry f (n: i64) (x: f64): f64 = {form}")));
        let explanation = program.function("f").and_then(|f| f.explain(chadwick_core::Mode::Vjp, Stage::Derivatives));
        let core = explanation.unwrap_or_else(|error| panic!("{}", error.message())).core;
        assert!(core.contains("build [task"), "{form}:\n{core}");
    }
}

fn maps_are_the_same(engine: Engine, longest: i64, text: &str) {
    let program = source(text);
    let parallel = by(engine, &program);
    let programs = THREADS.map(|threads| native(&parallel, threads));
    let entries = text.lines().filter_map(|line| line.strip_prefix("entry ")?.split_whitespace().next());
    for entry in entries {
        for n in [0, 1, 5, longest] {
            let args: [Value; 2] = [n.into(), 0.7.into()];
            let wanted = call(&program, entry, &args);
            assert_near(&call(&parallel, entry, &args), &wanted, entry);
            let one = call(&programs[0], entry, &args);
            assert_near(&one, &wanted, entry);
            for program in &programs[1..] {
                assert_eq!(call(program, entry, &args), one, "{entry}");
            }
        }
    }
}

#[test]
fn the_error_is_that_of_the_left_side() {
    let text = "
def rec tree (d: i64) (i: i64): f64 =
  if d == 0 then f64.i64 (assert (i % 37 != 5) i) else let (a, b) = par (tree (d - 1) (2 * i)) (tree (d - 1) (2 * i + 1)) in a + b
def rec scaled (d: i64) (i: i64) (x: f64): f64 =
  if d == 0 then x * f64.i64 (100 / (i % 37 - 5))
  else let (a, b) = par (scaled (d - 1) (2 * i) x) (scaled (d - 1) (2 * i + 1) x) in a + b
-- The right side would never end.
def forever (x: f64): f64 = loop x while x > 0 do x + 1
entry left (_: i64) = let (a, b) = par (tree 3 5) (forever 1) in a + b
entry value (d: i64) = tree d 1
entry gradient (d: i64) = vjp (scaled d 1) 1 1";
    let program = by(Engine::Dual(Rung::Parallel), &source(text));
    for entry in ["value", "gradient"] {
        let message = |program: &Program| {
            let error = program.function(entry).expect("an entry point").call(&[12i64.into()]).expect_err("an error");
            error.to_string().lines().next().unwrap_or_default().to_owned()
        };
        let wanted = message(&program);
        for threads in THREADS {
            let native = native(&program, threads);
            for _ in 0..10 {
                assert_eq!(message(&native), wanted, "{entry} with {threads} threads");
            }
        }
    }
    for threads in THREADS {
        let error =
            native(&program, threads).function("left").expect("an entry point").call(&[0i64.into()]).expect_err("an error");
        assert!(error.to_string().contains("assertion failed"), "{error}");
    }
}

/// Cotangents go through as many levels as there are forks around, but each row moves at most a logarithm of times.
#[test]
fn a_chain_of_forks_costs_as_much_for_each_link() {
    let program = by(Engine::Dual(Rung::Parallel), &source(&gradients(VALUES)));
    let costs = [500i64, 1000, 2000].map(|n| run(&program, "chains_gradient", &[n.into(), 0.3.into()]).1.operations);
    let [first, second] = [costs[1] - costs[0], costs[2] - costs[1]].map(|cost| cost as f64);
    assert!(second < 2.2 * first, "{costs:?}");
}

// ------------------------------------------------------------------------------------------------------------------- the graph of jobs

/// A value as it is traced: a number, or a list of values; a constructor is a list that begins with its number.
#[derive(Clone, Debug)]
enum Shown {
    Number(i64),
    List(Vec<Shown>),
}

impl Shown {
    /// Reads values to the end or to a closing bracket.
    fn values(text: &mut &str) -> Vec<Shown> {
        let mut values = Vec::new();
        loop {
            *text = text.trim_start_matches([' ', ',', '#']);
            let Some(first) = text.chars().next() else { return values };
            match first {
                '[' | '(' => {
                    *text = &text[1..];
                    values.push(Shown::List(Shown::values(text)));
                }
                ']' | ')' => {
                    *text = &text[1..];
                    return values;
                }
                _ => {
                    let end = text.find([' ', ',', ']', ')']).unwrap_or(text.len());
                    let digits = text[..end].trim_end_matches("i64");
                    // Partial derivatives are not looked at.
                    values.push(Shown::Number(digits.parse().unwrap_or_default()));
                    *text = &text[end..];
                }
            }
        }
    }

    fn list(&self) -> &[Shown] {
        if let Shown::List(values) = self { values } else { panic!("{self:?} is no list") }
    }

    fn number(&self) -> i64 {
        match self {
            Shown::Number(number) => *number,
            // Fields are in brackets.
            Shown::List(one) => one[0].number(),
        }
    }

    fn numbers(&self) -> Vec<i64> {
        self.list().iter().map(Shown::number).collect()
    }
}

/// What a task recorded: two parents for each row, and the tasks of its forks, to which a negative parent refers.
#[derive(Clone, Debug)]
struct Task {
    number: i64,
    first_row: i64,
    parents: Vec<[i64; 2]>,
    forks: Vec<Vec<Task>>,
}

impl Task {
    fn new(number: i64, first_row: i64, columns: &[Shown], calls: &Shown) -> Task {
        let [left, right] = [0, 1].map(|at: usize| columns[at].numbers());
        let parents = left.into_iter().zip(right).map(|(left, right)| [left, right]).collect();
        Task { number, first_row, parents, forks: constructed(calls.list()).into_iter().map(Task::fork).collect() }
    }

    /// From a fork, with a field for each side, or one for all stretches of a map.
    fn fork((tag, fields): (i64, Vec<Shown>)) -> Vec<Task> {
        let tasks = if tag == 1 {
            fields.iter().flat_map(|field| constructed(field.list())).collect()
        } else {
            constructed(fields[0].list()[0].list())
        };
        let task = |(_, fields): (i64, Vec<Shown>)| {
            let parts: Vec<Shown> = fields.iter().map(|field| field.list()[0].clone()).collect();
            Task::new(parts[0].number(), 0, &parts[1..], &parts[parts.len() - 1])
        };
        tasks.into_iter().map(task).collect()
    }

    /// All tasks, outermost first.
    fn all(&self) -> Vec<&Task> {
        [self].into_iter().chain(self.forks.iter().flatten().flat_map(Task::all)).collect()
    }

    /// Goes through the rows in the order that forks and joins generate, given what is before this task, and adds its rows and those inside.
    /// Whether each row needs only what is before it.
    fn is_in_order(&self, before: &mut BTreeSet<i64>) -> bool {
        let mut in_order = true;
        for (row, parents) in self.parents.iter().enumerate() {
            match parents[0] {
                fork if fork < 0 => {
                    // The sides know nothing of each other.
                    let start = before.clone();
                    for side in &self.forks[(-1 - fork) as usize] {
                        let mut own = start.clone();
                        in_order &= side.is_in_order(&mut own);
                        before.extend(own);
                    }
                }
                _ => in_order &= parents.iter().all(|parent| before.contains(parent)),
            }
            before.insert(self.number << 32 | (self.first_row + row as i64));
        }
        in_order
    }
}

/// Constructors with their fields: `#0 (1) (2), #1 (3)`.
fn constructed(values: &[Shown]) -> Vec<(i64, Vec<Shown>)> {
    let mut all: Vec<(i64, Vec<Shown>)> = Vec::new();
    for value in values {
        match (value, all.last_mut()) {
            (Shown::List(_), Some((_, fields))) => fields.push(value.clone()),
            _ => all.push((value.number(), Vec::new())),
        }
    }
    all
}

/// Traces what calls of a function are given.
fn traced(block: Block, function: FunctionId, types: &[Option<Type>], next: &mut u32) -> Block {
    let mut statements = Vec::new();
    for mut statement in block.statements {
        if let Op::Call { function: called, args } = &statement.op
            && *called == function
        {
            let mut binders = Vec::new();
            for arg in args {
                let ty = match arg {
                    Atom::Var(var) => types[var.0 as usize].clone().expect("a type"),
                    Atom::Const(constant) => Type::Prim(constant.prim()),
                };
                binders.push(Binder { var: Var(*next), ty });
                *next += 1;
            }
            let op = Op::Trace { tag: "jobs".into(), args: args.clone() };
            statements.push(Statement { binders, op, span: statement.span });
        }
        statement.op = statement.op.map_blocks(&mut |inside| traced(inside, function, types, next));
        statements.push(statement);
    }
    Block { statements, results: block.results }
}

/// The graph of the jobs of a call of the entry point `f`, which differentiates by one number.
fn jobs(program: &Program, args: &[Value]) -> Task {
    let made = program.at_stage(Stage::Derivatives).unwrap_or_else(|error| panic!("{}", error.message()));
    let mut core = made.core().clone();
    let types = variable_types(&core);
    let named = |name: &str| core.functions.iter().position(|it| it.name.as_str() == name).expect("the function");
    let (entry, resolve) = (core.entries[0].function.0 as usize, FunctionId(named("resolve_task") as u32));
    let body = std::mem::take(&mut core.functions[entry].body);
    core.functions[entry].body = traced(body, resolve, &types, &mut (types.len() as u32));
    let made = Program::from_core(core, Arc::clone(made.source_map()), Vec::new());
    let seen = Rc::new(RefCell::new(String::new()));
    let sink = Rc::clone(&seen);
    made.set_trace(move |_, text| sink.replace(text.to_owned()).clear());
    made.function("f").and_then(|f| f.call(args)).unwrap_or_else(|error| panic!("{}", error.message()));
    let text = seen.borrow();
    let values = Shown::values(&mut text.as_str());
    // Before its rows the outermost task has nothing and the input.
    Task::new(0, 2, &values, &values[4])
}

/// Thesis 3.10.2: the order of jobs is generated by forks and joins. What a row needs is before it in that order, so never on another side of a fork; and
/// jobs may be empty.
#[test]
fn what_a_row_needs_is_before_it_in_the_order_of_forks_and_joins() {
    let text = "
def rec job (d: i64) (seed: i64) (x: f64): f64 =
  let s = (seed * 7919 + 104729) % 1000003
  let x = if s % 3 == 0 then x else f64.sin x * x
  in if d == 0 || s % 7 == 0 then x
     else let (a, b) = par (job (d - 1) (s + 1) x) (job (d - 1) (s + 2) (0.5 * x))
          in if s % 2 == 0 then a * b
             else let (c, e) = par (job (d - 1) (s + 3) a) (job (d - 1) (s + 4) x) in c + e * b
entry f (seed: i64) (x: f64) = vjp (job 3 seed) x 1";
    let program = by(Engine::Dual(Rung::Parallel), &source(text));
    let (mut empty, mut adjacent, mut seen) = (0, 0, 0);
    for seed in 0..40i64 {
        let main = jobs(&program, &[seed.into(), 0.5.into()]);
        let is_in_order = |task: &Task| task.is_in_order(&mut BTreeSet::from([0, 1]));
        assert!(is_in_order(&main), "seed {seed}: {main:?}");
        let all = main.all();
        assert_eq!(BTreeSet::from_iter(all.iter().map(|task| task.number)).len(), all.len(), "each task has its number");
        empty += all.iter().filter(|task| task.parents.is_empty()).count();
        let is_fork = |parents: &[i64; 2]| parents[0] < 0;
        adjacent += all.iter().flat_map(|task| task.parents.windows(2)).filter(|two| two.iter().all(is_fork)).count();
        // If one side needed a row of the other, that would be seen.
        let mut broken = main.clone();
        if let Some([left, right]) = broken.forks.first_mut().map(Vec::as_mut_slice)
            && let (false, Some(first)) = (left.parents.is_empty(), right.parents.first_mut())
            && first[0] >= 0
        {
            first[0] = left.number << 32;
            assert!(!is_in_order(&broken), "seed {seed}");
            seen += 1;
        }
    }
    assert!(
        empty > 0 && adjacent > 0 && seen > 5,
        "{empty} tasks without rows, {adjacent} jobs without rows, {seen} orders broken"
    );
}

/// What is long inside a task of a long map stays in that task: there are enough tasks already.
#[test]
fn maps_inside_the_tasks_of_a_map_are_cut_no_further() {
    let inner = "f64.sin (f64.sum (tabulate n (\\j -> f64.sin (x * f64.i64 (i + j)))))";
    let graph = |body: &str| {
        let text = format!("entry f (n: i64) (x: f64) = vjp (\\x -> {body}) x 1");
        jobs(&by(Engine::Dual(Rung::Parallel), &source(&text)), &[20_000i64.into(), 0.5.into()])
    };
    let outside = graph(&format!("let i = 3 in {inner}"));
    assert!(outside.all().len() > 2, "by itself it is cut: {} tasks", outside.all().len());
    let inside = graph(&format!("f64.sum (tabulate 20 (\\i -> {inner}))"));
    let tasks: Vec<&Task> = inside.forks.iter().flatten().collect();
    assert!(tasks.len() > 1 && tasks.iter().all(|task| task.forks.is_empty()), "{} tasks", tasks.len());
}

/// How many stretches the maps of a derivative are cut into in a call of the entry point `f`.
fn stretches(text: &str, args: &[Value]) -> usize {
    let made = by(Engine::ChadEfficient(Cotangents::InTasks), &source(text)).at_stage(Stage::Derivatives);
    let made = made.unwrap_or_else(|error| panic!("{}", error.message()));
    let mut core = made.core().clone();
    let mut next = variable_types(&core).len() as u32;
    for function in core.functions.iter_mut().filter(|it| it.name.as_str() == "stretches") {
        let [from, to] = [1, 2].map(|at: usize| function.params[at].clone());
        let binders = [&from, &to].map(|param| {
            next += 1;
            Binder { var: Var(next - 1), ty: param.ty.clone() }
        });
        let op = Op::Trace { tag: "stretch".into(), args: vec![Atom::Var(from.var), Atom::Var(to.var)] };
        function.body.statements.insert(0, Statement { binders: binders.to_vec(), op, span: function.span });
    }
    let made = Program::from_core(core, Arc::clone(made.source_map()), Vec::new());
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    made.set_trace(move |_, text| sink.borrow_mut().push(text.to_owned()));
    made.function("f").and_then(|f| f.call(args)).unwrap_or_else(|error| panic!("{}", error.message()));
    let seen = seen.borrow();
    let lengths = seen.iter().map(|text| {
        let ends = Shown::values(&mut text.as_str());
        ends[1].number() - ends[0].number()
    });
    // What is longer was halved.
    lengths.filter(|length| *length < 64).count()
}

/// Maps and forks inside a task of efficient CHAD go on in its cells, also in functions that are called there. What is outside of tasks forks however
/// deep it is: in a map too short to be cut, and on both sides of a fork.
#[test]
fn inside_the_tasks_of_a_map_efficient_chad_forks_no_more() {
    // What is only summed up is no map, but a reduction.
    let sines = "
def total [n] (xs: [n]f64): f64 = f64.sum xs * xs[n / 2]
def sines (n: i64) (x: f64): f64 = total (tabulate n (\\j -> f64.sin (x * f64.i64 j)))
def rec called (n: i64) (x: f64): f64 = if x > 1e9 then called n (0.5 * x) else sines n x
";
    let tasks = |body: &str| {
        let text = format!("{sines}entry f (n: i64) (x: f64) = vjp (\\x -> {body}) x 1");
        stretches(&text, &[320i64.into(), 0.5.into()])
    };
    let outer = |body: &str| format!("total (tabulate n (\\i -> let y = x * f64.i64 i in {body}))");
    assert_eq!([tasks("sines n x"), tasks("called n x")], [8; 2]);
    for body in ["sines n y", "called n y", "let (a, b) = par (sines n y) (called n y) in a * b"] {
        assert_eq!(tasks(&outer(body)), 8, "{body}");
    }
    let short = "total (tabulate 3 (\\i -> called n (x * f64.i64 i)))";
    assert_eq!([tasks(short), tasks("let (a, b) = par (sines n x) (called n x) in a * b")], [24, 16]);
}

#[test]
fn native_code_runs_the_stretches_of_efficient_chad_side_by_side() {
    let text = "entry f [n] (xs: [n]f64) = vjp (\\xs -> let ys = map f64.sin xs in f64.sum ys * ys[0]) xs 1";
    let text = native(&by(PARALLEL[1], &source(text)), 2).c_text().expect("C");
    let forks: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("if (cw_fork(ctx, ")).collect();
    assert!(forks.iter().any(|line| line.contains("stretches")), "{forks:?}");
}

#[test]
fn maps_inside_maps_give_the_same_bits_for_any_number_of_threads() {
    let text = r"
def total [n] (xs: [n]f64): f64 = f64.sum xs * xs[n / 2]
def rec sines (n: i64) (x: f64): f64 =
  if x > 1e9 then sines n (0.5 * x) else total (tabulate (n + 1) (\j -> f64.sin (x * f64.i64 j)))
entry nested (n: i64) (x: f64) = vjp (\x -> total (tabulate (n + 1) (\i -> sines n (x * f64.i64 i)))) x 1
entry short (n: i64) (x: f64) = vjp (\x -> total (tabulate 3 (\i -> sines n (x * f64.i64 i)))) x 1
entry forks (n: i64) (x: f64) =
  vjp (\x -> total (tabulate (n + 1) (\i -> let (a, b) = par (sines n (x * f64.i64 i)) (sines 5 x) in a * b))) x 1";
    PARALLEL.into_iter().for_each(|engine| maps_are_the_same(engine, 100, text));
}
