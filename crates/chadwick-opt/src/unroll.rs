//! Forms over a few points that are known beforehand become code for each point, so that small vectors and matrices are scalars.
//!
//! A `build` becomes an array literal, a `reduce` a chain of its operator. What reads an element by a literal index then reads the scalar,
//! and an array that nobody else needs is never made. The code that comes of one form is bounded.

use chadwick_core::visit::Copier;
use chadwick_core::{Atom, Axis, Binder, Block, Const, Dim, Lambda, Op, Program, Size, Statement, Type, Var};
use rustc_hash::FxHashSet;

/// The most points that a form may have, and the most statements that may come of one.
const MOST_POINTS: i64 = 16;
const MOST_STATEMENTS: usize = 240;
/// The same for a form that reads a table of numbers at its point, as seeds are: much of what comes of it is known then.
const MOST_STATEMENTS_WITH_TABLES: usize = 640;

/// Unrolls the small forms of all functions.
pub fn unroll(program: &mut Program) {
    for at in 0..program.functions.len() {
        let body = std::mem::take(&mut program.functions[at].body);
        let mut unroll = Unroll { program, tables: FxHashSet::default() };
        program.functions[at].body = unroll.block(body);
    }
}

struct Unroll<'p> {
    program: &'p mut Program,
    /// Arrays that are literals of constants throughout.
    tables: FxHashSet<Var>,
}

impl Unroll<'_> {
    fn block(&mut self, block: Block) -> Block {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut out = Vec::new();
            for statement in block.statements {
                self.note(&statement);
                let op = statement.op.map_blocks(&mut |inner| self.block(inner));
                let statement = Statement { op, ..statement };
                match &statement.op {
                    Op::Build { space, body, inner } if self.fits(space, body, 0) && has_fixed_elements(inner) => {
                        let (space, body, inner) = (space.clone(), body.clone(), inner.clone());
                        build(self.program, &statement, &space, &body, &inner, &mut out);
                    }
                    Op::Reduce { space, op, neutral, body, .. } if self.fits(space, body, count(&op.body)) => {
                        let (space, body, op, neutral) = (space.clone(), body.clone(), op.clone(), neutral.clone());
                        reduce(self.program, &statement, &space, &op, neutral, &body, &mut out);
                    }
                    _ => out.push(statement),
                }
            }
            Block { statements: out, results: block.results }
        })
    }

    fn note(&mut self, statement: &Statement) {
        if let (Op::ArrayLiteral { elements, .. }, [binder]) = (&statement.op, statement.binders.as_slice())
            && elements.iter().all(|element| match element {
                Atom::Const(_) => true,
                Atom::Var(var) => self.tables.contains(var),
            })
        {
            self.tables.insert(binder.var);
        }
    }

    fn fits(&self, space: &[Axis], body: &Block, more: usize) -> bool {
        let Some(sizes) = points(space) else { return false };
        let most = if self.reads_tables(space, body) { MOST_STATEMENTS_WITH_TABLES } else { MOST_STATEMENTS };
        sizes.iter().product::<i64>() as usize * (count(body) + more) <= most
    }

    /// Whether a table is read at the point.
    fn reads_tables(&self, space: &[Axis], body: &Block) -> bool {
        let is_axis = |atom: &Atom| space.iter().any(|axis| Atom::Var(axis.var) == *atom);
        body.statements.iter().any(|statement| match &statement.op {
            Op::Index { array: Atom::Var(array), indices } => self.tables.contains(array) && indices.iter().any(is_axis),
            op => op.scopes().iter().any(|scope| self.reads_tables(space, scope.block)),
        })
    }
}

/// The number of points, if it is known and small.
fn points(space: &[Axis]) -> Option<Vec<i64>> {
    let sizes: Option<Vec<i64>> = space
        .iter()
        .map(|axis| match axis.size {
            Atom::Const(Const::I64(size)) if (1..=MOST_POINTS).contains(&size) => Some(size),
            _ => None,
        })
        .collect();
    sizes.filter(|sizes| !sizes.is_empty() && sizes.iter().product::<i64>() <= MOST_POINTS)
}

/// Statements, those inside included.
fn count(block: &Block) -> usize {
    let inside = |statement: &Statement| statement.op.scopes().iter().map(|scope| count(scope.block)).sum::<usize>();
    block.statements.iter().map(|statement| 1 + inside(statement)).sum()
}

/// Whether the sizes of the elements are literals: a literal array states them.
fn has_fixed_elements(inner: &[Vec<Size>]) -> bool {
    inner.iter().flatten().all(|size| matches!(size, Size::Known(Atom::Const(Const::I64(0..)))))
}

/// All points in order.
fn indices(sizes: &[i64]) -> Vec<Vec<i64>> {
    sizes.iter().fold(vec![Vec::new()], |before, size| {
        before.iter().flat_map(|prefix| (0..*size).map(move |index| [prefix.as_slice(), &[index]].concat())).collect()
    })
}

/// The body at a point; gives its results.
fn at_point(program: &mut Program, space: &[Axis], point: &[i64], body: &Block, out: &mut Vec<Statement>) -> Vec<Atom> {
    let mut copier = Copier::new(program);
    for (axis, index) in space.iter().zip(point) {
        copier.replace(axis.var, Atom::i64(*index));
    }
    let copy = copier.block(body);
    out.extend(copy.statements);
    copy.results
}

fn build(
    program: &mut Program,
    statement: &Statement,
    space: &[Axis],
    body: &Block,
    inner: &[Vec<Size>],
    out: &mut Vec<Statement>,
) {
    let Some(sizes) = points(space) else { return };
    let values: Vec<Vec<Atom>> = indices(&sizes).iter().map(|point| at_point(program, space, point, body, out)).collect();
    for (number, (binder, own)) in statement.binders.iter().zip(inner).enumerate() {
        let elements = values.iter().filter_map(|results| results.get(number).cloned()).collect();
        let mut level = Level { elements, sizes: own.clone(), ty: binder.ty.peel(space.len()).unwrap_or(Type::I64) };
        for (axis, size) in sizes.iter().enumerate().rev() {
            let result = (axis == 0).then(|| binder.clone());
            level = level.rows(program, *size, result, statement, out);
        }
    }
}

/// Parts of an array in order, with their type and sizes.
struct Level {
    elements: Vec<Atom>,
    sizes: Vec<Size>,
    ty: Type,
}

impl Level {
    /// Puts every `size` parts together; the last level is bound to the result.
    fn rows(
        self,
        program: &mut Program,
        size: i64,
        result: Option<Binder>,
        statement: &Statement,
        out: &mut Vec<Statement>,
    ) -> Level {
        let ty = self.ty.clone().array([Dim::Const(size)]);
        let mut rows = Vec::new();
        for row in self.elements.chunks(size as usize) {
            let binder = result.clone().unwrap_or_else(|| Binder { var: program.fresh("row"), ty: ty.clone() });
            rows.push(Atom::Var(binder.var));
            let op = Op::ArrayLiteral { ty: self.ty.clone(), elements: row.to_vec(), inner: self.sizes.clone() };
            out.push(Statement { binders: vec![binder], op, span: statement.span });
        }
        let sizes = [vec![Size::Known(Atom::i64(size))], self.sizes].concat();
        Level { elements: rows, sizes, ty }
    }
}

fn reduce(
    program: &mut Program,
    statement: &Statement,
    space: &[Axis],
    op: &Lambda,
    neutral: Vec<Atom>,
    body: &Block,
    out: &mut Vec<Statement>,
) {
    let Some(sizes) = points(space) else { return };
    let mut total = neutral;
    for point in indices(&sizes) {
        let element = at_point(program, space, &point, body, out);
        let mut copier = Copier::new(program);
        for (param, atom) in op.params.iter().zip(total.into_iter().chain(element)) {
            copier.replace(param.var, atom);
        }
        let step = copier.block(&op.body);
        out.extend(step.statements);
        total = step.results;
    }
    out.push(Statement { binders: statement.binders.clone(), op: Op::Copy(total), span: statement.span });
}
