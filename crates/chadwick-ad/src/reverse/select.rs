//! Reductions that select one of their elements: minimum, maximum, the pair with the least key.
//!
//! Only the selected element has an influence. So the reduction finds its index, computing nothing that would have to be kept, and the
//! element is made once more there: that one iteration is what reverse mode sees. Nothing is recorded but the index.

use super::Reverse;
use crate::context::Applied;
use chadwick_core::prim::{Derivative, Partial};
use chadwick_core::{Atom, Axis, BinaryOp, Binder, Block, CompareOp, Lambda, Op, Prim, PrimOp, Statement, Type};
use chadwick_source::Span;

impl Reverse<'_, '_> {
    /// The statement as a search and one element, if its operator selects.
    pub(super) fn selection(
        &mut self,
        statement: &Statement,
        space: &[Axis],
        op: &Lambda,
        neutral: &[Atom],
        body: &Block,
    ) -> Option<Vec<Statement>> {
        let span = statement.span;
        if self.context.has_effects(&statement.op) {
            return None;
        }
        let Search { mut statements, found, any } = match self.search_by_value(space, op, neutral, body, span) {
            Some(search) => search,
            None => self.search(statement, space, op, neutral, body)?,
        };

        // The element that was found, or the neutral element if there is none better.
        let place = space.iter().zip(&found).map(|(axis, at)| Statement {
            binders: vec![Binder { var: axis.var, ty: Type::I64 }],
            op: Op::Copy(vec![Atom::Var(at.var)]),
            span,
        });
        let made: Vec<Binder> = statement.binders.iter().map(|binder| self.context.fresh("", binder.ty.clone())).collect();
        made.iter().zip(&statement.binders).for_each(|(made, binder)| {
            if self.active.contains(&binder.var) {
                self.active.insert(made.var);
            }
        });
        let results = made.iter().map(|binder| Atom::Var(binder.var)).collect();
        let element = Statement { binders: made, op: Op::Recompute(body.clone()), span };
        let then = Block { statements: place.chain([element]).collect(), results };
        let otherwise = Block { statements: Vec::new(), results: neutral.to_vec() };
        let op = Op::If { condition: any, then, otherwise };
        statements.push(Statement { binders: statement.binders.clone(), op, span });
        Some(statements)
    }

    /// The search takes positions along with the elements.
    fn search(&mut self, statement: &Statement, space: &[Axis], op: &Lambda, neutral: &[Atom], body: &Block) -> Option<Search> {
        let span = statement.span;
        let found: Vec<Binder> = space.iter().map(|_| self.context.fresh("at", Type::I64)).collect();
        let op = self.with_positions(op, space.len(), span)?;
        let (axes, mut elements) = self.copied_elements(space, body);
        elements.results.extend(axes.iter().map(|axis| Atom::Var(axis.var)));
        let values: Vec<Binder> = statement.binders.iter().map(|binder| self.context.fresh("", binder.ty.clone())).collect();
        let neutrals = neutral.iter().cloned().chain(space.iter().map(|_| Atom::i64(-1))).collect();
        let search = Op::Reduce { space: axes, op, neutral: neutrals, body: elements, commutative: false };
        let search = Statement { binders: [values, found.clone()].concat(), op: search, span };
        let any = self.context.fresh("", Type::BOOL);
        let is_found = PrimOp::Compare(CompareOp::LessEqual, Prim::I64);
        let compare = Op::Prim(is_found, vec![Atom::i64(0), Atom::Var(found.first()?.var)]);
        let compare = Statement { binders: vec![any.clone()], op: compare, span };
        Some(Search { statements: vec![search, compare], found, any: Atom::Var(any.var) })
    }

    /// The search for a minimum or maximum of what is read from an array: first the value, then the first element that has it. Both run in
    /// vectors, where one that takes positions along does not.
    fn search_by_value(&mut self, space: &[Axis], op: &Lambda, neutral: &[Atom], body: &Block, span: Span) -> Option<Search> {
        let (Some(PrimOp::Binary(binary, ty)), [axis], [neutral], [result]) =
            (extremum_of(op), space, neutral, body.results.as_slice())
        else {
            return None;
        };
        let is_read = match body.statements.as_slice() {
            [read] => matches!(read.op, Op::Index { .. }) && read.binders.iter().any(|binder| *result == Atom::Var(binder.var)),
            _ => false,
        };
        // Inside a parallel form there are many, and each is short.
        if !is_read || self.parallel_depth > 0 || !matches!(ty, Prim::F64 | Prim::F32) {
            return None;
        }
        self.context.b.push_block();
        let (axes, elements) = self.copied_elements(space, body);
        let reduce = Op::Reduce {
            space: axes,
            op: self.context.copy_lambda(op),
            neutral: vec![neutral.clone()],
            body: elements,
            commutative: false,
        };
        let value = self.context.emit_one(reduce, span);
        // Ties go to the neutral element, which has no position.
        let better = match binary {
            BinaryOp::Max => vec![neutral.clone(), value.clone()],
            _ => vec![value.clone(), neutral.clone()],
        };
        let any = self.context.prim(PrimOp::Compare(CompareOp::Less, ty), better, span);
        let (axes, mut elements) = self.copied_elements(space, body);
        let index = Atom::Var(axes.first()?.var);
        let element = elements.results.pop()?;
        self.context.b.push_block();
        elements.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
        let is_it = self.context.prim(PrimOp::Compare(CompareOp::Equal, ty), vec![element, value], span);
        let branch = |atom: Atom| Block { statements: Vec::new(), results: vec![atom] };
        let choice = Op::If { condition: is_it, then: branch(index), otherwise: branch(axis.size.clone()) };
        let place = self.context.emit_one(choice, span);
        let places = self.context.b.pop_block(vec![place]);
        let least = self.context.operator(BinaryOp::Min, Prim::I64, span);
        let reduce = Op::Reduce { space: axes, op: least, neutral: vec![axis.size.clone()], body: places, commutative: true };
        let at = self.context.emit_one(reduce, span);
        let statements = self.context.b.pop_block(Vec::new()).statements;
        let Atom::Var(at) = at else { return None };
        Some(Search { statements, found: vec![Binder { var: at, ty: Type::I64 }], any })
    }

    /// A copy of the elements, through which no derivative flows.
    fn copied_elements(&mut self, space: &[Axis], body: &Block) -> (Vec<Axis>, Block) {
        let axes: Vec<Axis> =
            space.iter().map(|axis| Axis { var: self.context.fresh("i", Type::I64).var, size: axis.size.clone() }).collect();
        let replace = space.iter().zip(&axes).map(|(axis, copy)| (axis.var, Atom::Var(copy.var)));
        let elements = self.context.copy_block(body, replace.collect::<Vec<_>>());
        (axes, elements)
    }

    /// A copy of a selecting operator that takes the positions of its operands along.
    fn with_positions(&mut self, op: &Lambda, rank: usize, span: Span) -> Option<Lambda> {
        let mut copy = self.context.copy_lambda(op);
        if let Some(body) = self.extremum(&copy, span) {
            copy.body = body;
        }
        let count = copy.results.len();
        let positions =
            |reverse: &mut Self| -> Vec<Binder> { (0..rank).map(|_| reverse.context.fresh("at", Type::I64)).collect() };
        let (left, right) = (positions(self), positions(self));
        let sides = Sides {
            left: atoms(&copy.params[..count]),
            right: atoms(&copy.params[count..]),
            left_position: atoms(&left),
            right_position: atoms(&right),
        };
        let body = self.extended(copy.body, &sides)?;
        let (first, second) = copy.params.split_at(count);
        let params = [first, &left, second, &right].concat();
        let results = copy.results.iter().cloned().chain(vec![Type::I64; rank]).collect();
        Some(Lambda { params, results, body })
    }

    /// The body of `min` or `max` as a conditional that returns one of its operands.
    fn extremum(&mut self, op: &Lambda, span: Span) -> Option<Block> {
        let prim = extremum_of(op)?;
        let ([statement], [left, right]) = (op.body.statements.as_slice(), op.params.as_slice()) else { return None };
        let operands = [Atom::Var(left.var), Atom::Var(right.var)];
        // The operation's own derivative says which operand it takes.
        let derivatives = prim.derivatives();
        let Some(Derivative::Scale(Partial::Select(parts))) = derivatives.first() else { return None };
        self.context.b.push_block();
        let condition = self.context.partial(&parts[0], &Applied { op: prim, operands: &operands, result: &operands[0] }, span);
        let [left, right] = operands;
        let branch = |operand: Atom| Block { statements: Vec::new(), results: vec![operand] };
        let op = Op::If { condition, then: branch(left), otherwise: branch(right) };
        let chosen = self.context.b.push(op, op_types(statement), span);
        Some(self.context.b.pop_block(chosen))
    }

    /// The block with the position of whichever operand it returns, if it always returns one of them whole.
    fn extended(&mut self, mut block: Block, sides: &Sides) -> Option<Block> {
        if block.results == sides.left {
            block.results.extend(sides.left_position.clone());
            return Some(block);
        }
        if block.results == sides.right {
            block.results.extend(sides.right_position.clone());
            return Some(block);
        }
        let last = block.statements.pop()?;
        let Op::If { condition, then, otherwise } = last.op else { return None };
        if atoms(&last.binders) != block.results {
            return None;
        }
        let (then, otherwise) = (self.extended(then, sides)?, self.extended(otherwise, sides)?);
        let positions: Vec<Binder> = sides.left_position.iter().map(|_| self.context.fresh("at", Type::I64)).collect();
        block.results.extend(atoms(&positions));
        let binders = [last.binders, positions].concat();
        block.statements.push(Statement { binders, op: Op::If { condition, then, otherwise }, span: last.span });
        Some(block)
    }
}

/// Statements that find the element that a reduction selects: its position, and whether there is one.
struct Search {
    statements: Vec<Statement>,
    found: Vec<Binder>,
    any: Atom,
}

/// The operation of an operator that is `min` or `max` of its parameters.
fn extremum_of(op: &Lambda) -> Option<PrimOp> {
    let ([statement], [result], [left, right]) =
        (op.body.statements.as_slice(), op.body.results.as_slice(), op.params.as_slice())
    else {
        return None;
    };
    let Op::Prim(prim @ PrimOp::Binary(BinaryOp::Min | BinaryOp::Max, _), args) = &statement.op else { return None };
    let operands = [Atom::Var(left.var), Atom::Var(right.var)];
    let fits = args.as_slice() == operands && *result == Atom::Var(statement.binders.first()?.var);
    fits.then_some(*prim)
}

/// The operands of an operator and their positions.
struct Sides {
    left: Vec<Atom>,
    right: Vec<Atom>,
    left_position: Vec<Atom>,
    right_position: Vec<Atom>,
}

fn atoms(binders: &[Binder]) -> Vec<Atom> {
    binders.iter().map(|binder| Atom::Var(binder.var)).collect()
}

fn op_types(statement: &Statement) -> Vec<Type> {
    statement.binders.iter().map(|binder| binder.ty.clone()).collect()
}
