//! Core becomes a term: calls are written out, conditionals become selections, sums stay.
//!
//! What depends on no input is no part of the term. It stays Core, ahead of the derivative, and the term mentions its values; among
//! them are all sizes. What has no place in a language of static shapes is refused, with its place in the program.

mod ahead;
mod checks;
mod closing;
mod folds;
mod views;

use super::emit::guarded as guarded_ahead;
use super::sizes::Sizes;
use super::term::{
    Elementwise, IndexFunction, Name, Names, Reads, Shape, Term, Tree, bind, build, cannot_fail, elementwise, filled, guarded,
    index, index_var, integer, moved_out, outer, replicate, reshape, scatter, stack, substitute, sum_outer, transpose, var_like,
};
use crate::context::Context;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Dim, Element, FunctionId, Lambda, Loop, LoopForm, Op, Prim, PrimOp,
    Statement, Type, UnaryOp, Var,
};
use chadwick_source::Span;
use checks::{Checks, failure_message};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

pub(super) struct Converter<'c, 'p, 'n> {
    pub context: &'c mut Context<'p>,
    pub names: &'n Names,
    /// The terms of variables; one that has none is a value of Core.
    pub terms: FxHashMap<Var, Tree>,
    pub sizes: Sizes,
    /// The parameters that are differentiated.
    inputs: FxHashSet<Var>,
    /// The bindings of the body that is being converted.
    pub lets: Vec<(Name, Tree)>,
    /// The extents of the builds and folds around.
    around: Vec<Atom>,
    /// Whether a condition decides if this is wanted.
    conditional: bool,
    /// Whether this is the step of a fold, outside of any build in it.
    is_step: bool,
    /// The functions that are being written out.
    open: Vec<FunctionId>,
    checks: Checks,
    /// How often this is written out because of loops.
    unrolled: i64,
    /// How many statements were written out because of loops and calls.
    written: usize,
}

/// The most statements that are written out. Functions that call others twice, and so on, would be exponentially many.
const LARGEST: usize = 50_000;

/// The most iterations that are written out, those of nested loops multiplied.
const LONGEST: i64 = 256;

impl<'c, 'p, 'n> Converter<'c, 'p, 'n> {
    pub fn new(context: &'c mut Context<'p>, names: &'n Names) -> Self {
        let (terms, lets, open) = (FxHashMap::default(), Vec::new(), Vec::new());
        let mut sizes = Sizes::default();
        context.b.statements().for_each(|statement| sizes.learn(statement));
        Converter {
            context,
            names,
            terms,
            sizes,
            inputs: FxHashSet::default(),
            lets,
            around: Vec::new(),
            conditional: false,
            is_step: false,
            open,
            checks: Checks::default(),
            unrolled: 1,
            written: 0,
        }
    }

    /// Learns about sizes from what a block always does, before it is converted: the shapes of its parameters are to have the names that are in the
    /// end the only ones.
    pub fn learn(&mut self, block: &Block) {
        let inside: FxHashSet<Var> =
            block.statements.iter().flat_map(|statement| &statement.binders).map(|binder| binder.var).collect();
        // What is computed in the block has no name yet.
        let is_inside = |atom: &Atom| matches!(atom, Atom::Var(var) if inside.contains(var));
        for statement in &block.statements {
            match &statement.op {
                Op::Dim { array, axis } if !is_inside(array) => {
                    self.length(array, *axis, statement.span);
                    self.sizes.learn(statement);
                }
                Op::Prim(_, args) if !args.iter().any(|arg| is_inside(&self.sizes.canonical(arg))) => {
                    self.sizes.learn(statement);
                }
                Op::Assert { .. } => self.sizes.learn(statement),
                _ => {}
            }
        }
    }

    /// The length of an axis of a value of Core.
    fn length(&mut self, array: &Atom, axis: usize, span: Span) -> Atom {
        if let Some(length) = self.sizes.length(array, axis) {
            return length;
        }
        let dims = match self.context.type_of(&self.sizes.canonical(array)) {
            Type::Array(array) => array.dims,
            _ => Default::default(),
        };
        let length = match dims.get(axis) {
            Some(Dim::Const(length)) => Atom::i64(*length),
            _ => self.context.emit_one(Op::Dim { array: array.clone(), axis }, span),
        };
        self.sizes.name_length(array, axis, &length);
        length
    }

    /// A parameter that is differentiated; its variable and its shape.
    pub fn input(&mut self, param: &Binder, span: Span) -> Option<(Name, Tree)> {
        let tree = self.value(&Atom::Var(param.var), span)?;
        let name = self.names.fresh();
        let variable = var_like(name, &tree);
        self.terms.insert(param.var, Rc::clone(&variable));
        self.inputs.insert(param.var);
        Some((name, variable))
    }

    /// The results of a block, its bindings appended; nothing if something was refused.
    pub fn block(&mut self, block: &Block, span: Span) -> Option<Vec<Tree>> {
        for statement in &block.statements {
            self.statement(statement)?;
        }
        block.results.iter().map(|result| self.atom(result, span)).collect()
    }

    fn refuse<T>(&mut self, span: Span, what: &str) -> Option<T> {
        self.context.unsupported(span, what);
        None
    }

    /// A value of Core as a term.
    fn value(&mut self, atom: &Atom, span: Span) -> Option<Tree> {
        match self.context.type_of(atom) {
            Type::Prim(prim) => Some(outer(atom.clone(), prim, Vec::new())),
            Type::Array(array) => match array.element {
                Element::Prim(prim) => {
                    let shape: Shape = (0..array.dims.len()).map(|axis| self.length(atom, axis, span)).collect();
                    Some(outer(atom.clone(), prim, shape))
                }
                _ => self.refuse(span, "an array whose elements are not numbers"),
            },
            _ => self.refuse(span, "a value that is no array of numbers"),
        }
    }

    fn atom(&mut self, atom: &Atom, span: Span) -> Option<Tree> {
        let Atom::Var(var) = atom else { return self.value(atom, span) };
        if let Some(tree) = self.terms.get(var) {
            return Some(Rc::clone(tree));
        }
        let tree = self.value(atom, span)?;
        self.terms.insert(*var, Rc::clone(&tree));
        Some(tree)
    }

    fn atoms(&mut self, atoms: &[Atom], span: Span) -> Option<Vec<Tree>> {
        atoms.iter().map(|atom| self.atom(atom, span)).collect()
    }

    fn is_plain_atom(&self, atom: Option<&Atom>) -> bool {
        match atom {
            Some(Atom::Var(var)) => self.is_plain(*var),
            atom => atom.is_some(),
        }
    }

    /// The second operand of what may fail, which is checked ahead and may be used also where nobody wants the result. In a branch nobody
    /// knows whether it is wanted, so there it is only noted.
    fn checked_operand(&mut self, op: PrimOp, operand: &Atom, span: Span) -> Atom {
        let (operand, fails) = guarded_ahead(self.context, op, operand, span);
        let holds = self.context.prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), vec![fails], span);
        match self.conditional {
            true => self.note_operation(Some(holds), span),
            false => self.require(holds, failure_message(op), span),
        }
        operand
    }

    fn is_plain(&self, var: Var) -> bool {
        self.terms.get(&var).is_none_or(|tree| matches!(tree.term, Term::Outer(_)))
    }

    fn extent(&mut self, atom: &Atom, span: Span) -> Option<Atom> {
        match atom {
            Atom::Var(var) if !self.is_plain(*var) => self.refuse(span, "an array whose size is computed from the inputs"),
            _ => Some(self.sizes.canonical(atom)),
        }
    }

    fn name(&mut self, binder: &Binder, tree: Tree) {
        // What stays Core is called by its own name there.
        if let Term::Outer(atom) = &tree.term {
            self.copy(binder, atom.clone(), Span::default());
            self.terms.insert(binder.var, outer(Atom::Var(binder.var), tree.prim, tree.shape.clone()));
            return;
        }
        let tree = if tree.is_simple() { tree } else { self.bound(tree) };
        self.terms.insert(binder.var, tree);
    }

    /// Another name for a value of Core.
    fn copy(&mut self, binder: &Binder, atom: Atom, span: Span) {
        let copy = Statement { binders: vec![binder.clone()], op: Op::Copy(vec![atom]), span };
        self.sizes.learn(&copy);
        self.context.push_statement(copy);
    }

    fn bound(&mut self, tree: Tree) -> Tree {
        let name = self.names.fresh();
        let variable = var_like(name, &tree);
        self.note_binding(name, &tree);
        self.lets.push((name, tree));
        variable
    }

    fn name_all(&mut self, binders: &[Binder], trees: Vec<Tree>) -> Option<()> {
        binders.iter().zip(trees).for_each(|(binder, tree)| self.name(binder, tree));
        Some(())
    }

    fn reads(&self) -> Reads {
        if self.conditional { Reads::Total } else { Reads::Checked(Vec::new()) }
    }

    fn statement(&mut self, statement: &Statement) -> Option<()> {
        let span = statement.span;
        self.written += usize::from(self.unrolled > 1 || !self.open.is_empty());
        if self.written > LARGEST {
            return self.refuse(span, "functions and loops that are too long when they are written out");
        }
        let is_plain = op_free_variables(&statement.op).into_iter().all(|var| self.is_plain(var));
        let always = self.around.is_empty() && !self.conditional;
        if is_plain && (always || matches!(&statement.op, Op::Prim(op, args) if cannot_fail(*op, args))) {
            self.context.push_statement(statement.clone());
            self.sizes.learn(statement);
            return Some(());
        }
        let tree = match &statement.op {
            Op::Copy(atoms) => {
                let trees = self.atoms(atoms, span)?;
                return self.name_all(&statement.binders, trees);
            }
            Op::Prim(op, args) if !always && !cannot_fail(*op, args) && self.is_plain_atom(args.get(1)) => {
                let operand = self.checked_operand(*op, args.get(1)?, span);
                let args = vec![args.first()?.clone(), operand];
                if self.is_plain_atom(args.first()) {
                    let op = Op::Prim(*op, args);
                    self.context.push_statement(Statement { binders: statement.binders.clone(), op, span });
                    return Some(());
                }
                elementwise(Elementwise::Prim(*op), self.atoms(&args, span)?)
            }
            Op::Prim(op, args) => {
                let mut operands = self.atoms(args, span)?;
                if !cannot_fail(*op, args) {
                    self.note_operation(None, span);
                }
                if let (true, [_, operand]) = (self.conditional && !cannot_fail(*op, args), operands.as_mut_slice()) {
                    *operand = guarded(*op, Rc::clone(operand));
                }
                elementwise(Elementwise::Prim(*op), operands)
            }
            Op::Assert { condition, message } if is_plain && !self.conditional => {
                self.require(condition.clone(), message.clone(), span);
                return Some(());
            }
            // Nothing is made there, so all that it can do is to fail.
            op if statement.binders.is_empty() => {
                let holds = match op {
                    Op::If { condition, then, .. } if then.statements.is_empty() && self.is_plain_atom(Some(condition)) => {
                        Some(condition.clone())
                    }
                    _ => None,
                };
                self.note_check(holds);
                return Some(());
            }
            Op::If { condition, then, otherwise } => {
                let trees = self.selection(condition, then, otherwise, span)?;
                return self.name_all(&statement.binders, trees);
            }
            Op::Call { function, args } => {
                let trees = self.call(*function, args, span)?;
                return self.name_all(&statement.binders, trees);
            }
            Op::Build { space, body, .. } => {
                let trees = self.build(space, body, span)?;
                return self.name_all(&statement.binders, trees);
            }
            Op::Reduce { space, op, neutral, body, .. } if op.is_addition() => {
                let trees = self.build(space, body, span)?;
                let neutral = self.atoms(neutral, span)?;
                let sums = trees.into_iter().zip(neutral).map(|(tree, neutral)| {
                    let sum = space.iter().fold(tree, |sum, _| sum_outer(sum));
                    add(neutral, sum)
                });
                return self.name_all(&statement.binders, sums.collect());
            }
            Op::Hist { space, dest, rank, op, body, .. } if op.is_addition() => {
                let trees = self.histogram(space, dest, *rank, body, span)?;
                return self.name_all(&statement.binders, trees);
            }
            Op::Scatter { space, dest, rank, body } if views::are_distinct(space, *rank, body) => {
                let trees = self.scatter(space, dest, *rank, body, span)?;
                return self.name_all(&statement.binders, trees);
            }
            Op::Reduce { space, op, neutral, body, .. } => {
                let trees = match folds::extreme(op) {
                    Some(op) => vec![self.extreme(op, space, neutral, body, span)?],
                    None => self.reduction((space, op), neutral, body, span)?,
                };
                return self.name_all(&statement.binders, trees);
            }
            Op::Scan { axis, op, neutral, body } => {
                let trees = self.scan((axis, op), neutral, body, span)?;
                return self.name_all(&statement.binders, trees);
            }
            Op::Slice { array, dims } => self.slice(array, dims, span)?,
            Op::Update { array, dims, value } => self.update(array, dims, value, span)?,
            Op::ArrayLiteral { elements, .. } if !elements.is_empty() => stack(self.atoms(elements, span)?),
            Op::Index { array, indices } => {
                let (array, indices) = (self.atom(array, span)?, self.atoms(indices, span)?);
                self.note_access(&array, &indices, span);
                index(array, indices, self.reads())
            }
            Op::Transpose { array, permutation } => transpose(permutation, self.atom(array, span)?),
            Op::Reshape { array, dims } => {
                let shape = dims.iter().map(|dim| self.extent(dim, span)).collect::<Option<Shape>>()?;
                let array = self.atom(array, span)?;
                if !always && !self.sizes.are_as_large(&array.shape, &shape) {
                    return self
                        .refuse(span, "a reshaping inside a parallel form or a branch, to sizes that are not known to fit");
                }
                reshape(shape, array)
            }
            Op::Concat { arrays } => self.concat(arrays, span)?,
            // The check of a size is to look at the size itself, whatever other name it has by then.
            Op::Dim { array: Atom::Var(array), .. } if self.inputs.contains(array) => {
                self.context.push_statement(statement.clone());
                self.sizes.learn(statement);
                return Some(());
            }
            Op::Dim { array, axis } => {
                let array = self.atom(array, span)?;
                let extent = array.shape.get(*axis).cloned().unwrap_or(Atom::i64(0));
                self.copy(statement.binders.first()?, extent, span);
                return Some(());
            }
            Op::Par { left, right } => {
                let trees = [self.block(left, span)?, self.block(right, span)?].concat();
                return self.name_all(&statement.binders, trees);
            }
            Op::Recompute(block) => {
                let trees = self.block(block, span)?;
                return self.name_all(&statement.binders, trees);
            }
            Op::Loop(parts) => {
                let trees = self.repeat(parts, span)?;
                return self.name_all(&statement.binders, trees);
            }
            other => return self.refuse(span, outside(other)),
        };
        self.name_all(&statement.binders, vec![tree])
    }

    /// Both branches are evaluated; reads out of range in them give zero.
    fn selection(&mut self, condition: &Atom, then: &Block, otherwise: &Block, span: Span) -> Option<Vec<Tree>> {
        let condition = self.atom(condition, span)?;
        let before = std::mem::replace(&mut self.conditional, true);
        let branches = (self.block(then, span), self.block(otherwise, span));
        self.conditional = before;
        let (then, otherwise) = (branches.0?, branches.1?);
        if then.iter().zip(&otherwise).any(|(then, otherwise)| then.shape != otherwise.shape) {
            return self.refuse(span, "a conditional whose branches may be of different sizes");
        }
        Some(then.into_iter().zip(otherwise).map(|(then, otherwise)| select(&condition, then, otherwise)).collect())
    }

    fn call(&mut self, function: FunctionId, args: &[Atom], span: Span) -> Option<Vec<Tree>> {
        if self.open.contains(&function) {
            return self.refuse(span, "a recursive function");
        }
        let source = self.context.program().functions.get(function.0 as usize)?;
        let (params, body) = (source.params.clone(), source.body.clone());
        // Its binders are bound once more, by other names.
        let lambda = Lambda { params, results: Vec::new(), body };
        let lambda = self.context.copy_lambda(&lambda);
        for (param, arg) in lambda.params.iter().zip(args) {
            match arg {
                Atom::Var(var) if !self.is_plain(*var) => {
                    let tree = self.atom(arg, span)?;
                    self.terms.insert(param.var, tree);
                }
                _ => {
                    self.copy(param, arg.clone(), span);
                }
            }
        }
        self.open.push(function);
        self.context.places.push(span);
        let results = self.block(&lambda.body, span);
        self.context.places.pop();
        self.open.pop();
        results
    }

    /// A loop that the program text bounds is static control flow (section 4.10.2): its iterations are written out.
    fn repeat(&mut self, parts: &Loop, span: Span) -> Option<Vec<Tree>> {
        let (LoopForm::For { index, bound: Atom::Const(bound) }, Some(prim)) = (&parts.form, bound_type(parts)) else {
            return self.counted_loop(parts, span);
        };
        let count = (0..=LONGEST).find(|count| Const::from_i128(prim, i128::from(*count)) == *bound);
        let Some(count) = count.filter(|count| count * self.unrolled <= LONGEST) else {
            return self.counted_loop(parts, span);
        };
        if count == 0 && !parts.emits.is_empty() {
            return self.refuse(span, "an empty array of what a loop gives");
        }
        let around = self.unrolled;
        self.unrolled *= count.max(1);
        let mut carry = self.atoms(&parts.initial, span)?;
        let mut emitted: Vec<Vec<Tree>> = vec![Vec::new(); parts.emits.len()];
        let params: Vec<Binder> = [index.clone()].into_iter().chain(parts.carry.iter().cloned()).collect();
        for iteration in 0..count {
            let lambda = Lambda { params: params.clone(), results: Vec::new(), body: parts.body.clone() };
            let lambda = self.context.copy_lambda(&lambda);
            let (index, names) = lambda.params.split_first()?;
            let number = Atom::Const(Const::from_i128(prim, i128::from(iteration)));
            self.copy(index, number, span);
            for (name, tree) in names.iter().zip(std::mem::take(&mut carry)) {
                match &tree.term {
                    Term::Outer(atom) => {
                        let atom = atom.clone();
                        self.copy(name, atom, span);
                    }
                    _ => self.name(name, tree),
                }
            }
            let mut results = self.block(&lambda.body, span)?;
            let emits = results.split_off(names.len().min(results.len()));
            emitted.iter_mut().zip(emits).for_each(|(all, one)| all.push(one));
            carry = results;
        }
        self.unrolled = around;
        let trips = parts.counted.then(|| integer(Atom::i64(count)));
        Some(carry.into_iter().chain(trips).chain(emitted.into_iter().map(stack)).collect())
    }

    fn build(&mut self, space: &[Axis], body: &Block, span: Span) -> Option<Vec<Tree>> {
        let mut axes = Vec::new();
        for axis in space {
            let (name, count) = (self.names.fresh(), self.extent(&axis.size, span)?);
            self.note_index(name, &count);
            axes.push((name, count));
            self.terms.insert(axis.var, index_var(name));
        }
        let around = std::mem::take(&mut self.lets);
        let outside = self.around.len();
        self.around.extend(axes.iter().map(|(_, count)| count.clone()));
        let is_step = std::mem::replace(&mut self.is_step, false);
        let results = self.block(body, span);
        self.is_step = is_step;
        self.around.truncate(outside);
        let lets = std::mem::replace(&mut self.lets, around);
        Some(self.arrays(axes, lets, results?))
    }

    /// The arrays of the results of a body. Where there are several, what they share is an array of its own.
    fn arrays(&mut self, axes: Vec<(Name, Atom)>, lets: Vec<(Name, Tree)>, results: Vec<Tree>) -> Vec<Tree> {
        if let [result] = results.as_slice() {
            let body = lets.into_iter().rev().fold(Rc::clone(result), |body, (name, value)| bind(name, value, body));
            return vec![axes.into_iter().rev().fold(body, |body, (name, count)| build(count, name, body))];
        }
        let (mut lets, mut results) = (lets, results);
        for (axis, count) in axes.into_iter().rev() {
            let mut arrays: FxHashMap<Name, Tree> = FxHashMap::default();
            let mut outer_lets = Vec::new();
            for (name, value) in lets {
                match self.array_of(axis, &count, &value, &arrays) {
                    None => outer_lets.push((name, moved_out(&value, &count))),
                    Some(array) => {
                        let outer_name = self.names.fresh();
                        arrays.insert(name, var_like(outer_name, &array));
                        outer_lets.push((outer_name, array));
                    }
                }
            }
            let array = |converter: &mut Self, result: Tree| match converter.array_of(axis, &count, &result, &arrays) {
                None => replicate(count.clone(), moved_out(&result, &count)),
                Some(array) => array,
            };
            results = results.into_iter().map(|result| array(self, result)).collect();
            lets = outer_lets;
        }
        self.lets.extend(lets);
        results
    }

    /// `build1 count (\axis. value)`, where some variables of the body are arrays by now; nothing if the value is always the same.
    fn array_of(&mut self, axis: Name, count: &Atom, value: &Tree, arrays: &FxHashMap<Name, Tree>) -> Option<Tree> {
        if !value.free().iter().any(|name| *name == axis || arrays.contains_key(name)) {
            return None;
        }
        let own = self.names.fresh();
        let mut body = substitute(value, axis, &index_var(own));
        for name in value.free() {
            if let Some(array) = arrays.get(name) {
                let element = index(Rc::clone(array), vec![index_var(own)], Reads::InRange);
                body = substitute(&body, *name, &element);
            }
        }
        Some(build(count.clone(), own, body))
    }

    /// `dest + scatter ...`, with arrays of the indices.
    fn histogram(&mut self, space: &[Axis], dest: &[Atom], rank: usize, body: &Block, span: Span) -> Option<Vec<Tree>> {
        let trees: Vec<Tree> = self.build(space, body, span)?.into_iter().map(|tree| self.bound(tree)).collect();
        let dest = self.atoms(dest, span)?;
        let (places, values) = trees.split_at(rank.min(trees.len()));
        let mut results = Vec::new();
        for (dest, value) in dest.into_iter().zip(values) {
            let params: Vec<Name> = space.iter().map(|_| self.names.fresh()).collect();
            let at: Vec<Tree> = params.iter().map(|param| index_var(*param)).collect();
            let indices = places.iter().map(|place| index(Rc::clone(place), at.clone(), Reads::InRange)).collect();
            let scattered = scatter(dest.shape.clone(), Rc::clone(value), IndexFunction { params, indices });
            results.push(add(dest, scattered));
        }
        Some(results)
    }

    /// A selection for each place, by the array it comes from.
    fn concat(&mut self, arrays: &[Atom], span: Span) -> Option<Tree> {
        let arrays = self.atoms(arrays, span)?;
        let mut joined: Option<Tree> = None;
        for array in arrays {
            let Some(front) = joined else {
                joined = Some(array);
                continue;
            };
            let (left, right) = (front.shape.first().cloned()?, array.shape.first().cloned()?);
            let count = self.context.i64_op(BinaryOp::Add, left.clone(), right, span);
            let name = self.names.fresh();
            let (at, left) = (index_var(name), outer(left, Prim::I64, Vec::new()));
            let compare = PrimOp::Compare(CompareOp::Less, Prim::I64);
            let is_left = elementwise(Elementwise::Prim(compare), vec![Rc::clone(&at), Rc::clone(&left)]);
            let subtract = PrimOp::Binary(BinaryOp::Sub, Prim::I64);
            let beyond = elementwise(Elementwise::Prim(subtract), vec![Rc::clone(&at), left]);
            let element = select(&is_left, index(front, vec![at], Reads::Total), index(array, vec![beyond], Reads::Total));
            let tree = build(count, name, element);
            joined = Some(self.bound(tree));
        }
        joined
    }
}

/// The selection of whole arrays by one condition.
fn select(condition: &Tree, then: Tree, otherwise: Tree) -> Tree {
    elementwise(Elementwise::Select, vec![filled(&then.shape, Rc::clone(condition)), then, otherwise])
}

/// The sum, without zeros that are known.
fn add(left: Tree, right: Tree) -> Tree {
    match &left.term {
        Term::Outer(Atom::Const(constant)) if *constant == Const::zero(right.prim) => right,
        _ => elementwise(Elementwise::Prim(PrimOp::Binary(BinaryOp::Add, right.prim)), vec![left, right]),
    }
}

fn bound_type(parts: &Loop) -> Option<Prim> {
    match &parts.form {
        LoopForm::For { index, .. } => index.ty.as_prim(),
        LoopForm::While { .. } => None,
    }
}

/// What is outside of the language, in words.
fn outside(op: &Op) -> &'static str {
    match op {
        Op::Hist { .. } => "a histogram that does not add",
        Op::Scatter { .. } => "a scatter that may write twice to one place",
        Op::ArrayLiteral { .. } => "an empty array literal inside a parallel form",
        Op::Construct { .. } | Op::Match { .. } => "a sum type",
        Op::Closure(_) | Op::Apply { .. } => "a function that is a value",
        Op::Trace { .. } => "a trace",
        Op::Custom(_) => "a function with a derivative of its own",
        Op::WithAccumulators { .. } | Op::Accumulate { .. } => "an accumulation",
        Op::WithLog { .. } | Op::Log { .. } => "a log",
        _ => "this construct",
    }
}
