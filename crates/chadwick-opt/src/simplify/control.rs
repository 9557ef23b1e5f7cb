//! Branches whose way is known, and loops that carry nothing new.

use super::arrays::LONGEST_LITERAL;
use super::hoist::can_fail;
use super::{Hints, Simplify, Step};
use chadwick_core::{
    Arm, Atom, Axis, BinaryOp, Binder, Block, Const, Dim, Loop, LoopForm, Op, Prim, PrimOp, Size, Statement, Type, UnaryOp, Var,
};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

impl Simplify {
    /// A carry that never changes is its initial value, inside and after the loop.
    pub(super) fn drop_constant_carries(&mut self, binders: &mut Vec<Binder>, parts: &mut Loop) {
        let next = |at: usize| self.facts.resolve(&parts.body.results[at]);
        let constant: Vec<bool> = (0..parts.carry.len())
            .map(|at| {
                let (next, initial) = (next(at), &parts.initial[at]);
                next == Atom::Var(parts.carry[at].var) || (matches!(next, Atom::Const(_)) && next == *initial)
            })
            .collect();
        for at in (0..constant.len()).rev().filter(|at| constant[*at]) {
            let initial = parts.initial.remove(at);
            let carry = parts.carry.remove(at);
            parts.body.results.remove(at);
            self.facts.replace(carry.var, initial.clone());
            self.facts.replace(binders.remove(at).var, initial);
        }
    }

    /// Loops count in `i64`, whatever the type of their counter: what else is said about loops is said for that.
    pub(super) fn count_in_i64(&mut self, parts: &mut Loop, span: Span, out: &mut Vec<Statement>) {
        let LoopForm::For { index, bound } = &mut parts.form else { return };
        let Some(prim) = index.ty.as_prim().filter(|prim| prim.is_integer() && !matches!(prim, Prim::I64 | Prim::U64)) else {
            return;
        };
        let counter = self.fresh(&self.name_of(index.var), Type::I64);
        let count = self.fresh("count", Type::I64);
        let convert = |from, to, atom: Atom| Op::Prim(PrimOp::Convert { from, to }, vec![atom]);
        let op = convert(prim, Prim::I64, bound.clone());
        *bound = Atom::Var(count.var);
        self.statement(Statement { binders: vec![count], op, span }, out);
        *bound = self.facts.resolve(bound);
        let op = convert(Prim::I64, prim, Atom::Var(counter.var));
        let binders = vec![std::mem::replace(index, counter)];
        parts.body.statements.insert(0, Statement { binders, op, span });
    }

    /// Of a counter that went through a type in which its loop's bound was given: the counter itself.
    pub(super) fn counter_behind(&self, from: Prim, atom: &Atom) -> Option<Atom> {
        let Op::Prim(PrimOp::Convert { from: Prim::I64, to }, args) = self.facts.definition(atom)? else { return None };
        let is_narrow = from.is_integer() && from.bits() < 64;
        let counter = self.facts.resolve(args.first().filter(|_| *to == from && is_narrow)?);
        let mut bound = self.facts.range(counter.as_var()?)?;
        if let Some(Op::Prim(PrimOp::Binary(BinaryOp::Max, Prim::I64), args)) = self.facts.definition(&bound)
            && let [count, Atom::Const(Const::I64(0))] = args.as_slice()
        {
            bound = self.facts.resolve(count);
        }
        let fits = match (&bound, self.facts.definition(&bound)) {
            (Atom::Const(Const::I64(bound)), _) => *bound <= 1_i64 << (from.bits() - u32::from(from.is_signed())),
            (_, Some(Op::Prim(PrimOp::Convert { from: given, to: Prim::I64 }, _))) => *given == from,
            _ => false,
        };
        fits.then_some(counter)
    }

    /// States the number of iterations, for which the bound is too low where it is negative: recorded values are as many.
    pub(super) fn count_from_zero(&mut self, parts: &mut Loop, span: Span, out: &mut Vec<Statement>) {
        let LoopForm::For { index, bound } = &mut parts.form else { return };
        if self.hints == Hints::Drop || index.ty != Type::I64 || self.facts.is_size(bound) {
            return;
        }
        let count = self.fresh("count", Type::I64);
        let op = Op::Prim(PrimOp::Binary(BinaryOp::Max, Prim::I64), vec![bound.clone(), Atom::i64(0)]);
        *bound = Atom::Var(count.var);
        self.statement(Statement { binders: vec![count], op, span }, out);
        *bound = self.facts.resolve(bound);
    }

    /// What a loop emits in every iteration alike is no part of it: the array of copies is made beside it. Of what remains, sizes that are
    /// known are stated.
    pub(super) fn invariant_emits(&mut self, binders: &mut Vec<Binder>, parts: &mut Loop, span: Span) -> Vec<Statement> {
        let LoopForm::For { index, bound } = &parts.form else { return Vec::new() };
        if index.ty != Type::I64 {
            return Vec::new();
        }
        let (carried, counted) = (parts.carry.len(), usize::from(parts.counted));
        let made = parts.body.statements.iter().flat_map(|statement| &statement.binders);
        let inside: FxHashSet<Var> = made.chain(&parts.carry).chain([index]).map(|binder| binder.var).collect();
        let bound = bound.clone();
        let mut moved = Vec::new();
        for at in (0..parts.emits.len()).rev() {
            let value = self.facts.resolve(&parts.body.results[carried + at]);
            let is_inside = |atom: &Atom| matches!(atom, Atom::Var(var) if inside.contains(var));
            for (size, known) in parts.emits[at].iter_mut().zip(self.facts.shape(&value)) {
                if let (Size::FromValue, Some(known)) = (&size, known.filter(|known| !is_inside(known))) {
                    *size = Size::Known(known);
                }
            }
            let is_scalar = self.facts.type_of(&value).is_some_and(|ty| ty.as_prim().is_some());
            if !is_scalar || is_inside(&value) {
                continue;
            }
            parts.emits.remove(at);
            parts.body.results.remove(carried + at);
            let binder = binders.remove(carried + counted + at);
            let axis = Axis { var: self.fresh("i", Type::I64).var, size: bound.clone() };
            let body = Block { statements: Vec::new(), results: vec![value] };
            let op = Op::Build { space: vec![axis], body, inner: vec![Vec::new()] };
            moved.push(Statement { binders: vec![binder], op, span });
        }
        moved
    }

    pub(super) fn control(&mut self, op: Op) -> Step {
        match op {
            Op::If { condition: Atom::Const(Const::Bool(value)), then, otherwise } => {
                Step::Splice(if value { then } else { otherwise })
            }
            Op::If { condition, then, otherwise } => match self.facts.definition(&condition) {
                Some(Op::Prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), args)) => {
                    let condition = self.facts.resolve(&args[0]);
                    self.control(Op::If { condition, then: otherwise, otherwise: then })
                }
                _ => Step::Op(Op::If { condition, then, otherwise }),
            },
            Op::Match { scrutinee, mut arms, otherwise } => {
                let Some(Op::Construct { tag, args, .. }) = self.facts.definition(&scrutinee) else {
                    return Step::Op(Op::Match { scrutinee, arms, otherwise });
                };
                match arms.iter().position(|arm| arm.tag == *tag) {
                    Some(at) => {
                        let args: Vec<Atom> = args.clone();
                        let arm = arms.swap_remove(at);
                        self.name(&arm.binders, args);
                        Step::Splice(arm.body)
                    }
                    None => match otherwise {
                        Some(block) => Step::Splice(block),
                        None => Step::Op(Op::Match { scrutinee, arms, otherwise }),
                    },
                }
            }
            Op::Assert { condition: Atom::Const(Const::Bool(true)), .. } => Step::Atoms(Vec::new()),
            Op::Loop(parts) => match &parts.form {
                LoopForm::For { bound: Atom::Const(bound), .. }
                    if !parts.counted && parts.emits.is_empty() && *bound == Const::zero(bound.prim()) =>
                {
                    Step::Atoms(parts.initial)
                }
                _ => Step::Op(Op::Loop(parts)),
            },
            other => Step::Op(other),
        }
    }

    /// The arms of a match; in each the scrutinee is known to be that constructor.
    pub(super) fn arms(&mut self, scrutinee: Atom, arms: Vec<Arm>, otherwise: Option<Block>) -> Op {
        let ty = self.facts.type_of(&scrutinee);
        let arms = arms.into_iter().map(|arm| {
            let mark = self.facts.enter();
            if let (Atom::Var(var), Some(ty)) = (&scrutinee, &ty) {
                let args = arm.binders.iter().map(|binder| Atom::Var(binder.var)).collect();
                self.facts.define(*var, Op::Construct { ty: ty.clone(), tag: arm.tag, args });
            }
            let body = self.block(arm.body);
            self.facts.leave(mark);
            Arm { body, ..arm }
        });
        let arms = arms.collect();
        let otherwise = otherwise.map(|block| self.block(block));
        Op::Match { scrutinee, arms, otherwise }
    }

    pub(super) fn after_control(&mut self, op: Op, span: Span) -> Step {
        match op {
            Op::If { condition, then, otherwise } => {
                let empty = then.statements.is_empty() && otherwise.statements.is_empty();
                if empty && then.results == otherwise.results {
                    return Step::Atoms(then.results);
                }
                if empty && then.results == [Atom::bool(true)] && otherwise.results == [Atom::bool(false)] {
                    return Step::Atoms(vec![condition]);
                }
                if empty && then.results == [Atom::bool(false)] && otherwise.results == [Atom::bool(true)] {
                    return self.prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), vec![condition]);
                }
                // A branch that gives a constant may still assert something.
                let nothing = |block: &Block| block.statements.is_empty();
                match (then.results.as_slice(), otherwise.results.as_slice()) {
                    ([Atom::Const(Const::Bool(value))], [_]) if nothing(&then) && is_cheap(&otherwise) => {
                        self.logical(condition, *value, !value, otherwise)
                    }
                    ([_], [Atom::Const(Const::Bool(value))]) if nothing(&otherwise) && is_cheap(&then) => {
                        self.logical(condition, *value, *value, then)
                    }
                    _ if self.hints == Hints::Drop => self.chosen_literals(condition, then, otherwise, span),
                    _ => Step::Op(Op::If { condition, then, otherwise }),
                }
            }
            other => Step::Op(other),
        }
    }

    /// Short arrays that both branches write out are written out behind the choice: their elements are chosen.
    fn chosen_literals(&mut self, condition: Atom, mut then: Block, mut otherwise: Block, span: Span) -> Step {
        let both = |at: usize| {
            let (then, otherwise) = (written_out(&then, at)?, written_out(&otherwise, at)?);
            let same = then.1.len() == otherwise.1.len() && then.2 == otherwise.2;
            same.then(|| (then.0.clone(), then.1.clone(), otherwise.1.clone(), then.2.clone()))
        };
        let literals: Vec<_> = (0..then.results.len()).map(both).collect();
        if literals.iter().all(Option::is_none) {
            return Step::Op(Op::If { condition, then, otherwise });
        }
        let (mut binders, mut behind) = (Vec::new(), Block::default());
        let olds = [&mut then, &mut otherwise].map(|block| std::mem::take(&mut block.results));
        for (at, literal) in literals.into_iter().enumerate() {
            let Some((ty, elements, others, inner)) = literal else {
                let ty = self.facts.type_of(&olds[0][at]).unwrap_or(Type::BOOL).any_sizes();
                binders.push(self.fresh("", ty));
                behind.results.extend(binders.last().map(|binder| Atom::Var(binder.var)));
                then.results.push(olds[0][at].clone());
                otherwise.results.push(olds[1][at].clone());
                continue;
            };
            let chosen: Vec<Binder> = elements.iter().map(|_| self.fresh("", ty.clone())).collect();
            then.results.extend(elements);
            otherwise.results.extend(others);
            let elements: Vec<Atom> = chosen.iter().map(|binder| Atom::Var(binder.var)).collect();
            binders.extend(chosen);
            let whole = self.fresh("", ty.clone().array([Dim::Const(elements.len() as i64)]));
            behind.results.push(Atom::Var(whole.var));
            let op = Op::ArrayLiteral { ty, elements, inner };
            behind.statements.push(Statement { binders: vec![whole], op, span });
        }
        let choice = Statement { binders, op: Op::If { condition, then, otherwise }, span };
        behind.statements.insert(0, choice);
        Step::Splice(behind)
    }

    /// A boolean that is `value` if the condition holds, or does not (`negated`), and the result of the block otherwise. Both are computed.
    fn logical(&mut self, condition: Atom, value: bool, negated: bool, rest: Block) -> Step {
        let Block { mut statements, results } = rest;
        let mut add = |pass: &mut Self, op: PrimOp, args: Vec<Atom>| {
            let binder = pass.fresh("", Type::BOOL);
            let atom = Atom::Var(binder.var);
            statements.push(Statement { binders: vec![binder], op: Op::Prim(op, args), span: Span::default() });
            atom
        };
        let condition = if negated { add(self, PrimOp::Unary(UnaryOp::Not, Prim::Bool), vec![condition]) } else { condition };
        let op = if value { BinaryOp::Or } else { BinaryOp::And };
        let args = [condition].into_iter().chain(results).collect();
        let result = add(self, PrimOp::Binary(op, Prim::Bool), args);
        Step::Splice(Block { statements, results: vec![result] })
    }
}

/// Type, elements and inner sizes of a block's result, where it is a short array that is written out.
fn written_out(block: &Block, at: usize) -> Option<(&Type, &Vec<Atom>, &Vec<Size>)> {
    let Atom::Var(result) = block.results.get(at)? else { return None };
    let makes = |statement: &&Statement| matches!(statement.binders.as_slice(), [binder] if binder.var == *result);
    match &block.statements.iter().rev().find(makes)?.op {
        Op::ArrayLiteral { ty, elements, inner } if elements.len() <= LONGEST_LITERAL => {
            let is_literal = |size: &Size| matches!(size, Size::Known(Atom::Const(_)));
            inner.iter().all(is_literal).then_some((ty, elements, inner))
        }
        _ => None,
    }
}

/// Whether a block is no more than a few comparisons and sums of integers, which cost less than a jump.
fn is_cheap(block: &Block) -> bool {
    const MOST: usize = 4;
    let is_cheap = |op: &Op| match op {
        Op::Prim(prim, args) => {
            let light = match prim {
                PrimOp::Compare(..) | PrimOp::Unary(UnaryOp::Not | UnaryOp::Negate, _) => true,
                PrimOp::Binary(op, prim) => !prim.is_float() && *op != BinaryOp::Pow,
                _ => false,
            };
            light && !can_fail(*prim, args)
        }
        _ => false,
    };
    block.statements.len() <= MOST && block.statements.iter().all(|statement| is_cheap(&statement.op))
}
