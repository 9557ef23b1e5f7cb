//! Sums along the rows of a matrix, for one row after the other, inside something that runs often: distances to many points are such.
//!
//! One such sum is too short for a vector unit, and adding up its lanes costs more than the sum. Several rows side by side are fast if
//! what they read at one time lies side by side, so the matrix is copied once, columns for rows. The code for both is there; the sizes
//! decide. Every sum keeps its order.

use crate::emit::simple_operator;
use chadwick_core::visit::{Copier, for_each_binder};
use chadwick_core::{
    Atom, Axis, BinaryOp, Block, Builder, CompareOp, Dim, Lambda, Op, Prim, PrimOp, Program, Size, Statement, Type, Var,
};
use rustc_hash::FxHashSet;

/// The copy pays if it is used so often, and if there are so many rows.
const OFTEN: i64 = 8;
const MANY: i64 = 8;

/// Copies matrices where that makes sums go side by side.
pub(crate) fn exchange(program: &mut Program) {
    crate::rewrite_bodies(program, block);
}

/// Sums of rows in a form: over which axis the rows go, and which matrices they are read from.
struct Rows {
    axis: Axis,
    columns: Atom,
    matrices: Vec<Var>,
}

/// The copy of a matrix of so many rows and columns, and whether it pays.
struct Copied {
    matrix: Var,
    sizes: [Atom; 2],
    copy: Atom,
    pays: Atom,
}

impl Rows {
    fn sizes(&self) -> [Atom; 2] {
        [self.axis.size.clone(), self.columns.clone()]
    }

    /// The copies of all matrices, if there are such.
    fn among<'c>(&self, copies: &'c [Copied]) -> Option<Vec<&'c Copied>> {
        let of = |matrix: &Var| copies.iter().find(|copied| copied.matrix == *matrix && copied.sizes == self.sizes());
        self.matrices.iter().map(of).collect()
    }
}

fn block(b: &mut Builder<'_>, body: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        b.push_block();
        for statement in body.statements {
            let Statement { binders, op, span } = statement;
            b.set_span(span);
            let op = match &op {
                Op::Build { .. } | Op::Reduce { .. } => {
                    let mut copies = Vec::new();
                    let inside = bound_inside(&op);
                    let own = Statement { binders: binders.clone(), op, span };
                    find(b, &own, &own, &inside, &mut copies);
                    match copies.is_empty() {
                        false => {
                            let block = rewrite_statement(b, own, &copies);
                            block.into_iter().for_each(|statement| b.push_statement(statement));
                            continue;
                        }
                        true => own.op.map_blocks(&mut |inner| block(b, inner)),
                    }
                }
                _ => op.map_blocks(&mut |inner| block(b, inner)),
            };
            b.push_statement(Statement { binders, op, span });
        }
        b.pop_block(body.results)
    })
}

fn bound_inside(op: &Op) -> FxHashSet<Var> {
    let mut inside = FxHashSet::default();
    op.for_each_own_binder(&mut |var, _| {
        inside.insert(var);
    });
    for scope in op.scopes() {
        for_each_binder(scope.block, &mut |var, _| {
            inside.insert(var);
        });
    }
    inside.extend(op.space().iter().map(|axis| axis.var));
    inside
}

/// Emits copies of the matrices whose rows are summed in a statement or inside it. `outer` is what runs often.
fn find(b: &mut Builder<'_>, outer: &Statement, statement: &Statement, inside: &FxHashSet<Var>, copies: &mut Vec<Copied>) {
    let is_outside = |atom: &Atom| !matches!(atom, Atom::Var(var) if inside.contains(var));
    if let Some(rows) = rows(statement) {
        let others = match std::ptr::eq(outer, statement) {
            true => &outer.op.space()[..outer.op.space().len() - 1],
            false => outer.op.space(),
        };
        let fits = !others.is_empty() && is_outside(&rows.axis.size) && is_outside(&rows.columns);
        if fits && rows.among(copies).is_none() && !rows.matrices.iter().any(|matrix| inside.contains(matrix)) {
            for matrix in &rows.matrices {
                copies.push(exchanged(b, *matrix, &rows, others));
            }
        }
    }
    // What a condition may leave out is not worth a copy.
    let is_certain = matches!(
        statement.op,
        Op::Build { .. } | Op::Reduce { .. } | Op::Scan { .. } | Op::WithAccumulators { .. } | Op::Recompute(_)
    );
    for scope in statement.op.scopes().into_iter().filter(|_| is_certain) {
        for statement in &scope.block.statements {
            find(b, outer, statement, inside, copies);
        }
    }
}

/// Emits the copy of a matrix, empty if it would not pay.
fn exchanged(b: &mut Builder<'_>, matrix: Var, rows: &Rows, others: &[Axis]) -> Copied {
    let compare = |b: &mut Builder<'_>, op, left: Atom, right: Atom| b.prim(PrimOp::Compare(op, Prim::I64), [left, right]);
    let binary = |b: &mut Builder<'_>, op, left: Atom, right: Atom| b.prim(PrimOp::Binary(op, Prim::I64), [left, right]);
    let mut times = Atom::i64(1);
    for axis in others {
        // Only whether it is large matters: what is beyond that is not multiplied up.
        let size = binary(b, BinaryOp::Min, axis.size.clone(), Atom::i64(OFTEN));
        times = binary(b, BinaryOp::Mul, times, size);
        times = binary(b, BinaryOp::Min, times, Atom::i64(OFTEN));
    }
    let often = compare(b, CompareOp::LessEqual, Atom::i64(OFTEN), times);
    let many = compare(b, CompareOp::LessEqual, Atom::i64(MANY), rows.axis.size.clone());
    let mut pays = b.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), [often, many]);
    // Where the sums would read what is not there, or would not be made at all, it is for them to say so.
    let span = b.span();
    for (axis, wanted) in rows.sizes().into_iter().enumerate() {
        let size = b.push(Op::Dim { array: Atom::Var(matrix), axis }, vec![Type::I64], span).swap_remove(0);
        let fits = compare(b, CompareOp::LessEqual, wanted, size);
        pays = b.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), [pays, fits]);
    }
    let count = |b: &mut Builder<'_>, size: Atom| {
        let (then, otherwise) = (returning(size), returning(Atom::i64(0)));
        b.push(Op::If { condition: pays.clone(), then, otherwise }, vec![Type::I64], span).swap_remove(0)
    };
    let [rows_copied, columns_copied] = rows.sizes().map(|size| count(b, size));
    let [column, row] = ["column", "row"].map(|name| b.param(name, Type::I64).var);
    let element = b.type_of(&Atom::Var(matrix)).ok().and_then(|ty| ty.peel(2)).unwrap_or(Type::I64);
    let body = b.block(|b| {
        let indices = vec![Atom::Var(row), Atom::Var(column)];
        b.push(Op::Index { array: Atom::Var(matrix), indices }, vec![element.clone()], span)
    });
    let space = vec![Axis { var: column, size: columns_copied }, Axis { var: row, size: rows_copied }];
    let ty = element.array([Dim::Any, Dim::Any]);
    let copy = b.push_named("columns", Op::Build { space, body, inner: vec![Vec::<Size>::new()] }, vec![ty], span).swap_remove(0);
    Copied { matrix, sizes: rows.sizes(), copy, pays }
}

fn returning(atom: Atom) -> Block {
    Block { statements: Vec::new(), results: vec![atom] }
}

/// The sums of rows that a form makes in each iteration of its last axis.
fn rows(statement: &Statement) -> Option<Rows> {
    let (space, body) = match &statement.op {
        Op::Reduce { space, body, .. } => (space, body),
        Op::Build { space, body, inner } if inner.iter().all(Vec::is_empty) => (space, body),
        _ => return None,
    };
    let axis = space.last()?.clone();
    let mut sum = None;
    for statement in &body.statements {
        match &statement.op {
            Op::Prim(..) | Op::Index { .. } => {}
            Op::Reduce { space, op, body, .. } if sum.is_none() && adds(op) => {
                sum = Some((space.as_slice(), body));
            }
            _ => return None,
        }
    }
    let (space, summand) = sum?;
    let [inner] = space else { return None };
    if is_contraction(summand) {
        return None;
    }
    // What depends on the row before the sum begins is none of the sum's reading.
    let mut of_row: FxHashSet<Var> = [axis.var].into_iter().collect();
    for statement in &body.statements {
        let mut depends = false;
        statement.op.for_each_atom(&mut |atom| depends |= matches!(atom, Atom::Var(var) if of_row.contains(var)));
        if depends {
            of_row.extend(statement.binders.iter().map(|binder| binder.var));
        }
    }
    let mut matrices = Vec::new();
    for statement in &summand.statements {
        match &statement.op {
            Op::Prim(..) => {}
            Op::Index { array: Atom::Var(array), indices } => {
                let of_row = |atom: &Atom| matches!(atom, Atom::Var(var) if of_row.contains(var));
                if !indices.iter().any(of_row) {
                    continue;
                }
                if *indices != [Atom::Var(axis.var), Atom::Var(inner.var)] {
                    return None;
                }
                matrices.push(*array);
            }
            _ => return None,
        }
    }
    (!matrices.is_empty()).then(|| Rows { axis, columns: inner.size.clone(), matrices })
}

fn adds(op: &Lambda) -> bool {
    matches!(simple_operator(op), Some((_, PrimOp::Binary(BinaryOp::Add, _))))
}

/// A product of two elements: there is something better for those.
fn is_contraction(summand: &Block) -> bool {
    let products = summand.statements.iter().filter(|statement| matches!(statement.op, Op::Prim(..)));
    let is_product = |statement: &Statement| matches!(statement.op, Op::Prim(PrimOp::Binary(BinaryOp::Mul, _), _));
    products.clone().count() == 0 || (products.clone().count() == 1 && products.clone().all(is_product))
}

/// The statement, with sums of rows made from the copies where these are.
fn rewrite_statement(b: &mut Builder<'_>, statement: Statement, copies: &[Copied]) -> Vec<Statement> {
    let copied = rows(&statement).and_then(|rows| rows.among(copies));
    let Some((condition, copied)) = copied.and_then(|copied| Some((copied.first()?.pays.clone(), copied))) else {
        let Statement { binders, op, span } = statement;
        let op = op.map_blocks(&mut |inner| Block {
            statements: inner.statements.into_iter().flat_map(|inner| rewrite_statement(b, inner, copies)).collect(),
            results: inner.results,
        });
        return vec![Statement { binders, op, span }];
    };
    let span = statement.span;
    let copy = Copier::new(b.program_mut()).statement(&statement);
    let row = copy.op.space().last().map_or(Atom::i64(0), |axis| Atom::Var(axis.var));
    let read = match copy.op.clone() {
        Op::Reduce { space, op, neutral, body, commutative } => {
            let body = from_columns(body, &row, &copied);
            Op::Reduce { space, op, neutral, body, commutative }
        }
        Op::Build { space, body, inner } => Op::Build { space, body: from_columns(body, &row, &copied), inner },
        other => other,
    };
    let results_of = |statement: &Statement| statement.binders.iter().map(|binder| Atom::Var(binder.var)).collect();
    let then = Block { results: results_of(&copy), statements: vec![Statement { op: read, ..copy }] };
    let other = Copier::new(b.program_mut()).statement(&statement);
    let otherwise = Block { results: results_of(&other), statements: vec![other] };
    for block in [&then, &otherwise] {
        for_each_binder(block, &mut |var, ty| b.declare(var, ty.clone()));
    }
    vec![Statement { binders: statement.binders, op: Op::If { condition, then, otherwise }, span }]
}

/// The body of sums of rows, reading the copies.
fn from_columns(body: Block, row: &Atom, copies: &[&Copied]) -> Block {
    let change = |statement: Statement| {
        let Statement { binders, op, span } = statement;
        let op = op.map_blocks(&mut |summand| Block {
            statements: summand
                .statements
                .into_iter()
                .map(|statement| {
                    let Op::Index { array, indices } = &statement.op else { return statement };
                    let copied = copies.iter().find(|copied| Atom::Var(copied.matrix) == *array);
                    let Some(copied) = copied.filter(|_| indices.contains(row)) else { return statement };
                    let indices = indices.iter().rev().cloned().collect();
                    Statement { op: Op::Index { array: copied.copy.clone(), indices }, ..statement }
                })
                .collect(),
            results: summand.results,
        });
        Statement { binders, op, span }
    };
    Block { statements: body.statements.into_iter().map(change).collect(), results: body.results }
}
