//! Arrays of short rows that are written out, and read only at literal places of those, are several arrays.
//!
//! `build [i < n] [x, y, z]`, read as `a[i, 0]`, `a[i, 1]`, `a[i, 2]`, becomes three arrays of numbers. Those can share a loop with their
//! readers and need not be stored, and where they are, what is read in neighbouring iterations lies side by side. That is so if they are read
//! at the places of loops; a row that is looked up at a computed place had better stay together.

use crate::map_bodies;
use chadwick_core::{Atom, Binder, Block, Const, Dim, Op, Program, Statement, Type, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most arrays that one becomes.
const MOST: usize = 16;

/// Takes arrays of short rows apart.
pub fn split_rows(program: &mut Program) {
    map_bodies(program, |program, body| {
        let mut survey = Survey::default();
        survey.block(&body);
        let mut split = FxHashMap::default();
        for (var, rows) in survey.rows {
            if survey.read.contains(&var) && !survey.whole.contains(&var) {
                let name = program.var_names[var.0 as usize].clone();
                let pieces = rows.elements.iter().map(|_| program.fresh(name.clone())).collect();
                split.insert(var, Split { pieces, rows });
            }
        }
        if split.is_empty() { body } else { rewritten(body, &split) }
    });
}

/// What the elements of a build are, written out.
struct Rows {
    /// The axes of the build, and the lengths of the rows.
    axes: usize,
    lengths: Vec<usize>,
    elements: Vec<Atom>,
    ty: Type,
}

struct Split {
    pieces: Vec<Var>,
    rows: Rows,
}

impl Rows {
    /// Which piece is read at these indices.
    fn piece(&self, indices: &[Atom]) -> Option<usize> {
        let places = indices.get(self.axes..).filter(|places| places.len() == self.lengths.len())?;
        places.iter().zip(&self.lengths).try_fold(0, |piece, (place, length)| match place {
            Atom::Const(Const::I64(place)) => {
                usize::try_from(*place).ok().filter(|place| place < length).map(|place| piece * length + place)
            }
            _ => None,
        })
    }
}

#[derive(Default)]
struct Survey {
    rows: FxHashMap<Var, Rows>,
    /// The axes of forms.
    axes: FxHashSet<Var>,
    read: FxHashSet<Var>,
    /// Used other than by reading a number at a literal place of the row of a loop.
    whole: FxHashSet<Var>,
}

impl Survey {
    /// Whether the row is that of a loop around.
    fn goes_along(&self, rows: &Rows, indices: &[Atom]) -> bool {
        indices[..rows.axes].iter().all(|index| index.as_var().is_some_and(|var| self.axes.contains(&var)))
    }

    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for Statement { binders, op, .. } in &block.statements {
                self.axes.extend(op.space().iter().map(|axis| axis.var));
                op.scopes().iter().for_each(|scope| self.block(scope.block));
                if let Op::Build { space, body, .. } = op {
                    for (binder, result) in binders.iter().zip(&body.results) {
                        if let Some((lengths, elements, ty)) = written_out(body, result) {
                            self.rows.insert(binder.var, Rows { axes: space.len(), lengths, elements, ty });
                        }
                    }
                }
                match op {
                    Op::Index { array: Atom::Var(array), indices }
                        if self
                            .rows
                            .get(array)
                            .is_some_and(|rows| rows.piece(indices).is_some() && self.goes_along(rows, indices)) =>
                    {
                        self.read.insert(*array);
                    }
                    Op::Dim { .. } => {}
                    op => op.for_each_atom(&mut |atom| self.whole.extend(atom.as_var())),
                }
            }
            self.whole.extend(block.results.iter().filter_map(Atom::as_var));
        });
    }
}

/// The lengths, the numbers and their type of an array that a body writes out.
fn written_out(body: &Block, array: &Atom) -> Option<(Vec<usize>, Vec<Atom>, Type)> {
    let var = array.as_var()?;
    let statement = body.statements.iter().find(|it| it.binders.iter().any(|binder| binder.var == var))?;
    let Op::ArrayLiteral { ty, elements, .. } = &statement.op else { return None };
    if matches!(ty, Type::Prim(_)) {
        return (1..=MOST).contains(&elements.len()).then(|| (vec![elements.len()], elements.clone(), ty.clone()));
    }
    let mut rows = elements.iter().map(|row| written_out(body, row));
    let (lengths, mut all, ty) = rows.next()??;
    for row in rows {
        let (others, elements, _) = row?;
        all.extend(elements);
        if others != lengths || all.len() > MOST {
            return None;
        }
    }
    Some(([vec![elements.len()], lengths].concat(), all, ty))
}

fn rewritten(block: Block, split: &FxHashMap<Var, Split>) -> Block {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let statements = block.statements.into_iter().map(|statement| {
            let Statement { binders, op, span } = statement;
            let op = op.map_blocks(&mut |inner| rewritten(inner, split));
            match op {
                Op::Build { space, body, inner } => built(binders, Op::Build { space, body, inner }, split, span),
                Op::Index { array, indices } => {
                    let op = match array
                        .as_var()
                        .and_then(|var| split.get(&var))
                        .and_then(|it| Some((it, it.rows.piece(&indices)?)))
                    {
                        Some((it, piece)) => {
                            Op::Index { array: Atom::Var(it.pieces[piece]), indices: indices[..it.rows.axes].to_vec() }
                        }
                        None => Op::Index { array, indices },
                    };
                    Statement { binders, op, span }
                }
                Op::Dim { array, axis } => {
                    let op = match array.as_var().and_then(|var| split.get(&var)) {
                        Some(it) if axis < it.rows.axes => Op::Dim { array: Atom::Var(it.pieces[0]), axis },
                        Some(it) => Op::Copy(vec![Atom::i64(it.rows.lengths[axis - it.rows.axes] as i64)]),
                        None => Op::Dim { array, axis },
                    };
                    Statement { binders, op, span }
                }
                op => Statement { binders, op, span },
            }
        });
        Block { statements: statements.collect(), results: block.results }
    })
}

/// A build with the numbers of rows as results in place of the rows.
fn built(binders: Vec<Binder>, op: Op, split: &FxHashMap<Var, Split>, span: chadwick_source::Span) -> Statement {
    let Op::Build { space, mut body, inner } = op else { return Statement { binders, op, span } };
    let (mut names, mut results, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for ((binder, result), size) in binders.into_iter().zip(body.results).zip(inner) {
        match split.get(&binder.var) {
            Some(Split { pieces, rows }) => {
                let ty = rows.ty.clone().array(vec![Dim::Any; rows.axes]);
                names.extend(pieces.iter().map(|piece| Binder { var: *piece, ty: ty.clone() }));
                results.extend(rows.elements.iter().cloned());
                sizes.extend(pieces.iter().map(|_| Vec::new()));
            }
            None => {
                names.push(binder);
                results.push(result);
                sizes.push(size);
            }
        }
    }
    body.results = results;
    Statement { binders: names, op: Op::Build { space, body, inner: sizes }, span }
}
