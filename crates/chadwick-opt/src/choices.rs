//! An array chosen by a condition inside a loop, and only read, is not chosen: each read is.
//!
//! `(if c then x else y)[i]` is `if c then x[i] else y[i]`. Read so, an element's derivative goes to the array it comes from, at once; read
//! through the chosen array, reverse mode would need a cotangent of its size in every iteration. It costs a condition per read.

use chadwick_core::visit::for_each_binder;
use chadwick_core::{Atom, Binder, Block, Element, Op, Program, Statement, Type, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// A chosen array: the condition, and the array of each branch.
struct Choice {
    condition: Atom,
    branches: [Atom; 2],
}

/// Replaces reads of chosen arrays in everything that runs many times.
pub fn choose_elements(program: &mut Program) {
    /// A chain of choices becomes shorter by one in each round.
    const ROUNDS: usize = 8;
    for at in 0..program.functions.len() {
        for _ in 0..ROUNDS {
            let mut survey = Survey::default();
            survey.block(&program.functions[at].body, false);
            let Survey { mut choices, whole, .. } = survey;
            choices.retain(|var, _| !whole.contains(var));
            if choices.is_empty() {
                break;
            }
            let body = std::mem::take(&mut program.functions[at].body);
            program.functions[at].body = Rewrite { program, choices: &choices }.block(body);
        }
    }
}

#[derive(Default)]
struct Survey {
    choices: FxHashMap<Var, Choice>,
    ranks: FxHashMap<Var, usize>,
    /// Variables that are used other than by reading an element or a size.
    whole: FxHashSet<Var>,
}

impl Survey {
    fn block(&mut self, block: &Block, repeated: bool) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                self.statement(statement, repeated);
            }
            self.whole.extend(block.results.iter().filter_map(variable));
        });
    }

    fn statement(&mut self, statement: &Statement, repeated: bool) {
        match &statement.op {
            Op::Index { array: Atom::Var(array), indices } if self.ranks.get(array) == Some(&indices.len()) => {
                self.whole.extend(indices.iter().filter_map(variable));
            }
            Op::Dim { .. } => {}
            op => op.for_each_atom(&mut |atom| self.whole.extend(variable(atom))),
        }
        let repeats = repeated || matches!(statement.op, Op::Loop(_)) || !statement.op.space().is_empty();
        for scope in statement.op.scopes() {
            self.block(scope.block, repeats);
        }
        let (true, Op::If { condition, then, otherwise }) = (repeated, &statement.op) else { return };
        for (at, binder) in statement.binders.iter().enumerate() {
            let is_flat = matches!(&binder.ty, Type::Array(array) if matches!(array.element, Element::Prim(_)));
            let outside = |block: &Block| match block.results.get(at) {
                Some(Atom::Var(var)) if !binds(block, *var) => Some(Atom::Var(*var)),
                _ => None,
            };
            if let (true, Some(then), Some(otherwise)) = (is_flat, outside(then), outside(otherwise)) {
                self.ranks.insert(binder.var, binder.ty.rank());
                self.choices.insert(binder.var, Choice { condition: condition.clone(), branches: [then, otherwise] });
            }
        }
    }
}

fn variable(atom: &Atom) -> Option<Var> {
    match atom {
        Atom::Var(var) => Some(*var),
        Atom::Const(_) => None,
    }
}

fn binds(block: &Block, var: Var) -> bool {
    let mut bound = false;
    for_each_binder(block, &mut |binder, _| bound |= binder == var);
    bound
}

struct Rewrite<'p> {
    program: &'p mut Program,
    choices: &'p FxHashMap<Var, Choice>,
}

impl Rewrite<'_> {
    fn block(&mut self, block: Block) -> Block {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let statements = block.statements.into_iter().map(|statement| self.statement(statement)).collect();
            Block { statements, results: block.results }
        })
    }

    fn statement(&mut self, statement: Statement) -> Statement {
        let Statement { binders, op, span } = statement;
        let read = match &op {
            Op::Index { array: Atom::Var(array), .. } | Op::Dim { array: Atom::Var(array), .. } => self.choices.get(array),
            _ => None,
        };
        if let Some(Choice { condition, branches }) = read {
            let mut branch = |array: &Atom| {
                let op = match &op {
                    Op::Index { indices, .. } => Op::Index { array: array.clone(), indices: indices.clone() },
                    Op::Dim { axis, .. } => Op::Dim { array: array.clone(), axis: *axis },
                    other => other.clone(),
                };
                let binders: Vec<Binder> =
                    binders.iter().map(|it| Binder { var: self.program.fresh(""), ty: it.ty.clone() }).collect();
                let results = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
                Block { statements: vec![Statement { binders, op, span }], results }
            };
            let (then, otherwise) = (branch(&branches[0]), branch(&branches[1]));
            return Statement { binders, op: Op::If { condition: condition.clone(), then, otherwise }, span };
        }
        let op = op.map_blocks(&mut |block| self.block(block));
        // The chosen array itself is no longer there.
        match op {
            Op::If { condition, mut then, mut otherwise } if binders.iter().any(|it| self.choices.contains_key(&it.var)) => {
                let kept: Vec<bool> = binders.iter().map(|binder| !self.choices.contains_key(&binder.var)).collect();
                retain(&mut then.results, &kept);
                retain(&mut otherwise.results, &kept);
                let mut binders = binders;
                retain(&mut binders, &kept);
                Statement { binders, op: Op::If { condition, then, otherwise }, span }
            }
            op => Statement { binders, op, span },
        }
    }
}

fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().copied().unwrap_or(true));
}
