//! Signs go outwards: a sum of negated numbers is the negated sum. That is exact, and there are fewer sums than numbers.

use super::accumulators::element;
use super::{Simplify, Step};
use chadwick_core::{Atom, Axis, BinaryOp, Binder, Block, Const, Op, PathStep, Prim, PrimOp, Statement, Type, UnaryOp, Var};
use chadwick_source::Span;

impl Simplify {
    /// A reduction by addition whose elements are negated.
    pub(super) fn unsigned_sum(&mut self, op: Op, span: Span) -> Step {
        let Op::Reduce { space, op, neutral, mut body, commutative } = op else { return Step::Op(op) };
        let negated = match (body.results.as_slice(), neutral.as_slice()) {
            ([Atom::Var(result)], [Atom::Const(zero)]) if op.is_addition() && *zero == Const::zero(zero.prim()) => {
                negation(&body, *result).map(|operand| (operand, zero.prim()))
            }
            _ => None,
        };
        let Some((operand, prim)) = negated else {
            return Step::Op(Op::Reduce { space, op, neutral, body, commutative });
        };
        body.results = vec![operand];
        let (total, result) = (self.fresh("", Type::Prim(prim)), self.fresh("", Type::Prim(prim)));
        let results = vec![Atom::Var(result.var)];
        let minus = minus(prim, Atom::Var(total.var));
        let statements = vec![
            Statement { binders: vec![total], op: Op::Reduce { space, op, neutral, body, commutative }, span },
            Statement { binders: vec![result], op: minus, span },
        ];
        Step::Splice(Block { statements, results })
    }

    /// Takes the signs from what is added to accumulators that start as zeros and get nothing but negated numbers, at least one for each of
    /// their places. Returns which these are.
    pub(super) fn unsigned_accumulators(&mut self, handles: &[Binder], init: &[Atom], body: &mut Block) -> Option<Vec<bool>> {
        let mut signed = Vec::new();
        for (handle, init) in handles.iter().zip(init) {
            let is_number = self.facts.type_of(init).and_then(|ty| element(&ty)).is_some_and(|prim| prim != Prim::Bool);
            let negated = is_number && self.is_zero(init) && self.gets_negated(body, handle.var, init).is_some_and(|some| some);
            if negated {
                take_signs(body, handle.var);
            }
            signed.push(negated);
        }
        signed.contains(&true).then_some(signed)
    }

    /// Whether something is added to the accumulator; nothing if it is used in another way than wanted.
    fn gets_negated(&self, block: &Block, handle: Var, init: &Atom) -> Option<bool> {
        let mut found = false;
        for statement in &block.statements {
            match &statement.op {
                Op::Accumulate { handle: Atom::Var(to), path, value: Atom::Var(value) } if *to == handle => {
                    negation(block, *value)?;
                    self.goes_everywhere(path, init).then_some(())?;
                    found = true;
                }
                op => {
                    let mut used = false;
                    op.for_each_atom(&mut |atom| used |= *atom == Atom::Var(handle));
                    if used {
                        return None;
                    }
                    for scope in op.scopes() {
                        found |= self.gets_negated(scope.block, handle, init)?;
                    }
                }
            }
        }
        let returned = block.results.contains(&Atom::Var(handle));
        (!returned).then_some(found)
    }

    /// Whether a path runs over all places of an array as the loops around it run.
    fn goes_everywhere(&self, path: &[PathStep], init: &Atom) -> bool {
        let indices: &[Atom] = match path {
            [] => &[],
            [PathStep::Index(indices)] => indices,
            _ => return false,
        };
        let shape = self.facts.shape(init);
        let within = |(index, size): (&Atom, &Option<Atom>)| {
            size.as_ref().is_some_and(|size| self.facts.is_within(index, size)) && matches!(index, Atom::Var(_))
        };
        let distinct = indices.iter().enumerate().all(|(at, index)| !indices[..at].contains(index));
        distinct && indices.len() == shape.len() && indices.iter().zip(&shape).all(within)
    }

    /// The accumulators with the signs put back behind them.
    pub(super) fn signed_results(
        &mut self,
        handles: Vec<Binder>,
        init: Vec<Atom>,
        body: Block,
        signed: Vec<bool>,
        span: Span,
    ) -> Step {
        let atoms = init.iter().chain(&body.results);
        let types: Vec<Type> = atoms.map(|atom| self.facts.type_of(atom).map_or(Type::BOOL, |ty| ty.any_sizes())).collect();
        let binders: Vec<Binder> = types.into_iter().map(|ty| self.fresh("", ty)).collect();
        let mut results: Vec<Atom> = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        let shapes: Vec<Vec<Option<Atom>>> = init.iter().map(|init| self.facts.shape(init)).collect();
        let mut statements = vec![Statement { binders, op: Op::WithAccumulators { handles, init, body }, span }];
        for (at, shape) in shapes.into_iter().enumerate().filter(|(at, _)| signed[*at]) {
            let ty = self.facts.type_of(&results[at]).unwrap_or(Type::BOOL);
            let Some(prim) = element(&ty) else { continue };
            let negated = self.fresh("", Type::Prim(prim));
            let space: Vec<Axis> =
                shape.into_iter().flatten().map(|size| Axis { var: self.fresh("i", Type::I64).var, size }).collect();
            if space.is_empty() {
                let op = minus(prim, results[at].clone());
                results[at] = Atom::Var(negated.var);
                statements.push(Statement { binders: vec![negated], op, span });
                continue;
            }
            let number = self.fresh("", Type::Prim(prim));
            let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
            let read = Op::Index { array: results[at].clone(), indices };
            let op = minus(prim, Atom::Var(number.var));
            let body = Block {
                results: vec![Atom::Var(negated.var)],
                statements: vec![
                    Statement { binders: vec![number], op: read, span },
                    Statement { binders: vec![negated], op, span },
                ],
            };
            let array = self.fresh("", ty);
            results[at] = Atom::Var(array.var);
            let op = Op::Build { space, body, inner: vec![Vec::new()] };
            statements.push(Statement { binders: vec![array], op, span });
        }
        Step::Splice(Block { statements, results })
    }
}

/// `0 - x`, which is a sum of negated numbers also where that is zero.
fn minus(prim: Prim, atom: Atom) -> Op {
    Op::Prim(PrimOp::Binary(BinaryOp::Sub, prim), vec![Atom::Const(Const::zero(prim)), atom])
}

/// What a variable of the block is the negation of.
fn negation(block: &Block, var: Var) -> Option<Atom> {
    let is_it = |statement: &&Statement| matches!(statement.binders.as_slice(), [binder] if binder.var == var);
    match &block.statements.iter().find(is_it)?.op {
        Op::Prim(PrimOp::Unary(UnaryOp::Negate, _), args) => args.first().cloned(),
        Op::Prim(PrimOp::Binary(BinaryOp::Sub, prim), args) => match args.as_slice() {
            [Atom::Const(zero), operand] if *zero == Const::zero(*prim) => Some(operand.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Adds the operands instead of their negations.
fn take_signs(block: &mut Block, handle: Var) {
    for at in 0..block.statements.len() {
        let operand = match &block.statements[at].op {
            Op::Accumulate { handle: Atom::Var(to), value: Atom::Var(value), .. } if *to == handle => negation(block, *value),
            _ => None,
        };
        if let (Op::Accumulate { value, .. }, Some(operand)) = (&mut block.statements[at].op, operand) {
            *value = operand;
            continue;
        }
        let op = std::mem::replace(&mut block.statements[at].op, Op::Copy(Vec::new()));
        block.statements[at].op = op.map_blocks(&mut |mut inner| {
            take_signs(&mut inner, handle);
            inner
        });
    }
}
