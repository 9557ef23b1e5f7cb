//! An array or a variant chosen by a condition inside a loop, and only looked into, is not chosen: each look is.
//!
//! `(if c then x else y)[i]` is `if c then x[i] else y[i]`. Read so, an element's derivative goes to the array it comes from, at once; read
//! through the chosen array, reverse mode would need a cotangent of its size in every iteration. It costs a condition per read. In the
//! same way a match on `if c then #f x else #g y` is a condition between the arms: a function made in an iteration around an array is such
//! a variant, and its cotangent would have the size of the array.

use chadwick_core::visit::{Copier, for_each_binder};
use chadwick_core::{Arm, Atom, Binder, Block, Element, Op, Program, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// A chosen value: the condition, and what each branch gives.
struct Choice {
    condition: Atom,
    branches: [Branch; 2],
}

enum Branch {
    /// A variable from outside.
    Variable(Atom),
    /// A variant made of variables from outside.
    Variant { tag: u32, args: Vec<Atom> },
}

/// Replaces looks into chosen values in everything that runs many times.
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
    /// Variables that are used other than by reading an element or a size, or by matching.
    whole: FxHashSet<Var>,
}

impl Survey {
    fn block(&mut self, block: &Block, repeated: bool) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                self.statement(statement, repeated);
            }
            self.whole.extend(block.results.iter().filter_map(Atom::as_var));
        });
    }

    fn statement(&mut self, statement: &Statement, repeated: bool) {
        match &statement.op {
            Op::Index { array: Atom::Var(array), indices } if self.ranks.get(array) == Some(&indices.len()) => {
                self.whole.extend(indices.iter().filter_map(Atom::as_var));
            }
            Op::Dim { .. } => {}
            Op::Match { .. } => {}
            op => op.for_each_atom(&mut |atom| self.whole.extend(atom.as_var())),
        }
        let repeats = repeated || matches!(statement.op, Op::Loop(_)) || !statement.op.space().is_empty();
        for scope in statement.op.scopes() {
            self.block(scope.block, repeats);
        }
        let (true, Op::If { condition, then, otherwise }) = (repeated, &statement.op) else { return };
        for (at, binder) in statement.binders.iter().enumerate() {
            let (then, otherwise) = (given(then, at), given(otherwise, at));
            let branches = match (&binder.ty, then, otherwise) {
                (Type::Array(array), Some(then @ Branch::Variable(_)), Some(otherwise @ Branch::Variable(_)))
                    if matches!(array.element, Element::Prim(_)) =>
                {
                    [then, otherwise]
                }
                // Of two variants that are there already nothing would become known.
                (Type::Sum(_) | Type::Named(_), Some(Branch::Variable(_)), Some(Branch::Variable(_))) => continue,
                (Type::Sum(_) | Type::Named(_), Some(then), Some(otherwise)) => [then, otherwise],
                _ => continue,
            };
            self.ranks.insert(binder.var, binder.ty.rank());
            self.choices.insert(binder.var, Choice { condition: condition.clone(), branches });
        }
    }
}

/// What a branch gives as one of its results, if that is made of what is outside.
fn given(block: &Block, at: usize) -> Option<Branch> {
    let Some(Atom::Var(var)) = block.results.get(at) else { return None };
    if !binds(block, *var) {
        return Some(Branch::Variable(Atom::Var(*var)));
    }
    block.statements.iter().find_map(|statement| match (&statement.op, statement.binders.as_slice()) {
        (Op::Construct { tag, args, .. }, [binder]) if binder.var == *var => {
            let outside = |arg: &Atom| !matches!(arg, Atom::Var(arg) if binds(block, *arg));
            args.iter().all(outside).then(|| Branch::Variant { tag: *tag, args: args.clone() })
        }
        _ => None,
    })
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
        let choice = match &op {
            Op::Index { array: Atom::Var(chosen), .. }
            | Op::Dim { array: Atom::Var(chosen), .. }
            | Op::Match { scrutinee: Atom::Var(chosen), .. } => self.choices.get(chosen),
            _ => None,
        };
        if let Some(Choice { condition, branches: [then, otherwise] }) = choice {
            let (then, otherwise) = (self.look(&op, then, &binders, span), self.look(&op, otherwise, &binders, span));
            return Statement { binders, op: Op::If { condition: condition.clone(), then, otherwise }, span };
        }
        let op = op.map_blocks(&mut |block| self.block(block));
        // The chosen value itself is no longer there.
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

    /// A look into a chosen value, in one of its branches.
    fn look(&mut self, op: &Op, branch: &Branch, binders: &[Binder], span: Span) -> Block {
        if let (Branch::Variant { tag, args }, Op::Match { arms, otherwise, .. }) = (branch, op) {
            let arm = arms.iter().find(|arm| arm.tag == *tag);
            let body = arm.map(|arm| &arm.body).or(otherwise.as_ref());
            let mut copier = Copier::new(self.program);
            for (binder, arg) in arm.iter().flat_map(|arm| &arm.binders).zip(args) {
                copier.replace(binder.var, arg.clone());
            }
            let copy = body.map(|body| copier.block(body)).unwrap_or_default();
            return self.block(copy);
        }
        let Branch::Variable(value) = branch else { return Block::default() };
        let op = match op {
            Op::Index { indices, .. } => Op::Index { array: value.clone(), indices: indices.clone() },
            Op::Dim { axis, .. } => Op::Dim { array: value.clone(), axis: *axis },
            other => {
                let Op::Match { arms, otherwise, .. } = Copier::new(self.program).op(other) else { return Block::default() };
                let arms: Vec<Arm> = arms.into_iter().map(|arm| Arm { body: self.block(arm.body), ..arm }).collect();
                let otherwise = otherwise.map(|block| self.block(block));
                Op::Match { scrutinee: value.clone(), arms, otherwise }
            }
        };
        let binders: Vec<Binder> = binders.iter().map(|it| Binder { var: self.program.fresh(""), ty: it.ty.clone() }).collect();
        let results = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        Block { statements: vec![Statement { binders, op, span }], results }
    }
}

fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().copied().unwrap_or(true));
}
