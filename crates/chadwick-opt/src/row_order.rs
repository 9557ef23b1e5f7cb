//! What a nest adds to columns it adds to rows.
//!
//! The derivative of a product with a transposed matrix adds, for each column, one number to every row: each step goes to another line of
//! memory. Where the outer loop does nothing else but make a number or two, these are stored, and the loops change places. Then rows are
//! gone through in order, and what goes to one place for all of a row is a sum.

use crate::fission::{is_number, is_read, split_at, stored};
use chadwick_core::visit::Copier;
use chadwick_core::{Atom, Axis, Binder, Block, Const, Lambda, Op, PathStep, Prim, Program, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

/// Shorter loops stay as they are.
const FEW: i64 = 16;

pub fn row_order(program: &mut Program) {
    crate::map_bodies(program, block);
}

fn block(program: &mut Program, whole: Block) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut statements = Vec::with_capacity(whole.statements.len());
        for Statement { binders, op, span } in whole.statements {
            let op = op.map_blocks(&mut |inner| block(program, inner));
            let statement = Statement { binders, op, span };
            match Columns::of(&statement) {
                Some(columns) => columns.by_rows(program, &mut statements),
                None => statements.push(statement),
            }
        }
        Block { statements, results: whole.results }
    })
}

/// A loop around another one that adds to columns.
struct Columns {
    outer: Axis,
    inner: Axis,
    body: Block,
    /// Which statement of the body the inner loop is.
    at: usize,
    span: Span,
}

impl Columns {
    fn of(statement: &Statement) -> Option<Columns> {
        let Op::Build { space, body, .. } = &statement.op else { return None };
        let ([outer], []) = (space.as_slice(), statement.binders.as_slice()) else { return None };
        let is_plain = |it: &Statement| is_number(it) || matches!(it.op, Op::Accumulate { .. });
        let at = body.statements.iter().position(|it| !is_plain(it))?;
        let Op::Build { space: inner, body: innermost, .. } = &body.statements[at].op else { return None };
        let ([inner], []) = (inner.as_slice(), body.statements[at].binders.as_slice()) else { return None };
        let is_nest = body.statements[..at].iter().all(is_number)
            && body.statements[at + 1..].iter().all(is_plain)
            && innermost.statements.iter().all(is_plain);
        let is_long = |axis: &Axis| !matches!(axis.size, Atom::Const(Const::I64(size)) if size < FEW);
        let mut bound: FxHashSet<Var> = body.statements.iter().flat_map(|it| &it.binders).map(|binder| binder.var).collect();
        bound.insert(outer.var);
        let depends = |atom: &Atom| matches!(atom, Atom::Var(var) if bound.contains(var));
        // What is computed for a column must not be computed for each of its elements.
        let can_be_stored = body.statements[..at].iter().all(|it| is_read(&it.op)) || stored(body, at).is_some();
        if !is_nest || !can_be_stored || !is_long(outer) || !is_long(inner) || depends(&inner.size) {
            return None;
        }
        bound.extend(innermost.statements.iter().flat_map(|it| &it.binders).map(|binder| binder.var));
        let [across, along] = [outer, inner].map(|axis| Atom::Var(axis.var));
        let mut any_column = false;
        for it in &innermost.statements {
            let Op::Accumulate { path, value, .. } = &it.op else { continue };
            prim_of(value, innermost, body)?;
            let [PathStep::Index(indices)] = path.as_slice() else { return None };
            let (last, rest) = indices.split_last()?;
            let is_known = |index: &Atom| *index == along || !matches!(index, Atom::Var(var) if bound.contains(var));
            if !rest.iter().all(is_known) {
                return None;
            }
            match *last == across {
                true if rest.contains(&along) => any_column = true,
                false if is_known(last) => {}
                _ => return None,
            }
        }
        let (outer, inner) = (outer.clone(), inner.clone());
        any_column.then(|| Columns { outer, inner, body: body.clone(), at, span: statement.span })
    }

    fn by_rows(self, program: &mut Program, out: &mut Vec<Statement>) {
        let Columns { outer, inner, body, at, span } = self;
        let nest = body.statements.len() - at;
        // What is computed for a column is stored; what is read is read again.
        let body = split_at(program, std::slice::from_ref(&outer), body, at, out);
        let at = body.statements.len() - nest;
        let Op::Build { body: innermost, .. } = &body.statements[at].op else { return };
        let head = &body.statements[..at];
        let (additions, numbers): (Vec<&Statement>, Vec<&Statement>) =
            innermost.statements.iter().partition(|it| matches!(it.op, Op::Accumulate { .. }));
        let mut row = Vec::new();
        for addition in additions {
            let Op::Accumulate { handle, path, value } = &addition.op else { continue };
            let mut used = false;
            addition.op.for_each_atom(&mut |atom| used |= *atom == Atom::Var(outer.var));
            let steps: Vec<Statement> = head.iter().chain(numbers.iter().copied()).cloned().collect();
            match used {
                true => {
                    let steps = [steps, vec![addition.clone()]].concat();
                    let (space, body) = over(program, &outer, Block { statements: steps, results: Vec::new() });
                    row.push(Statement { binders: Vec::new(), op: Op::Build { space, body, inner: Vec::new() }, span });
                }
                false => {
                    let Some(prim) = prim_of(value, innermost, &body) else { continue };
                    let (space, body) = over(program, &outer, Block { statements: steps, results: vec![value.clone()] });
                    let mut fresh = |name: &str, ty: Type| Binder { var: program.fresh(name), ty };
                    let sum = fresh("", Type::Prim(prim));
                    let op = Lambda::addition(prim, span, &mut fresh);
                    let neutral = vec![Atom::Const(Const::zero(prim))];
                    let value = Atom::Var(sum.var);
                    let reduce = Op::Reduce { space, op, neutral, body, commutative: true };
                    row.push(Statement { binders: vec![sum], op: reduce, span });
                    let op = Op::Accumulate { handle: handle.clone(), path: path.clone(), value };
                    row.push(Statement { binders: Vec::new(), op, span });
                }
            }
        }
        let rows = Op::Build { space: vec![inner], body: Block { statements: row, results: Vec::new() }, inner: Vec::new() };
        out.push(Statement { binders: Vec::new(), op: rows, span });
        let tail: Vec<Statement> = head.iter().chain(&body.statements[at + 1..]).cloned().collect();
        if tail.iter().any(|it| matches!(it.op, Op::Accumulate { .. })) {
            let body = Block { statements: tail, results: Vec::new() };
            out.push(Statement { binders: Vec::new(), op: Op::Build { space: vec![outer], body, inner: Vec::new() }, span });
        }
    }
}

/// A copy of a block with an axis of its own.
fn over(program: &mut Program, axis: &Axis, block: Block) -> (Vec<Axis>, Block) {
    let own = Axis { var: program.fresh("i"), size: axis.size.clone() };
    let mut copier = Copier::new(program);
    copier.replace(axis.var, Atom::Var(own.var));
    let block = copier.block(&block);
    (vec![own], block)
}

/// The type of a number that one of the blocks makes.
fn prim_of(atom: &Atom, innermost: &Block, body: &Block) -> Option<Prim> {
    let made = [innermost, body].into_iter().flat_map(|block| &block.statements).flat_map(|it| &it.binders);
    match atom {
        Atom::Const(constant) => Some(constant.prim()),
        Atom::Var(var) => made.into_iter().find(|binder| binder.var == *var)?.ty.as_prim(),
    }
}
