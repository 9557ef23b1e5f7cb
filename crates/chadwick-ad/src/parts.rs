//! Parts of arrays instead of the arrays: of a matrix of which the dual reads one row and one column, an iteration keeps these two.

use crate::context::Context;
use crate::tape::Needs;
use chadwick_core::visit::{for_each_binder, op_free_variables};
use chadwick_core::{Atom, Axis, BinaryOp, Block, CompareOp, Const, Element, Op, Prim, PrimOp, SliceDim, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

/// How many parts of one array are kept at most.
const MOST_PARTS: usize = 4;

/// Where a part lies: for each axis the place that all reads have in common, if there is one.
type Place = Vec<Option<Atom>>;

impl Context<'_> {
    /// What the dual needs of an iteration. Where it reads an array at places that it shares with the forward part, the forward part cuts out
    /// what is read there.
    pub fn needs_of_iteration(
        &mut self,
        forward: &mut Vec<Statement>,
        dual: &mut Block,
        bound: &[Var],
        given: &[Var],
        span: Span,
    ) -> Needs {
        let notes = self.notes.len();
        let needs = self.needs_with(forward, dual, bound, given, true);
        let mut own: FxHashSet<Var> = FxHashSet::default();
        for_each_binder(dual, &mut |var, _| {
            own.insert(var);
        });
        let again: FxHashSet<Var> = needs.again.iter().flat_map(|statement| op_free_variables(&statement.op)).collect();
        let mut is_changed = false;
        for array in needs.saved.iter().filter(|var| !again.contains(var)) {
            let Type::Array(ty) = self.var_type(*array) else { continue };
            let (Element::Prim(prim), rank) = (&ty.element, ty.dims.len()) else { continue };
            let mut places = Vec::new();
            if !places_read(dual, *array, rank, &own, &mut places) || places.len() > MOST_PARTS {
                continue;
            }
            let parts: Vec<(Place, Atom)> = places
                .into_iter()
                .map(|place| {
                    let part = self.cut_out(forward, *array, &place, *prim, span);
                    (place, part)
                })
                .collect();
            read_parts(dual, *array, rank, &own, &parts);
            is_changed = true;
        }
        if !is_changed {
            return needs;
        }
        self.notes.truncate(notes);
        self.needs_with(forward, dual, bound, given, true)
    }

    /// The part of an array at a place. The forward part may never come to read it, so a place outside the array is no error.
    fn cut_out(&mut self, forward: &mut Vec<Statement>, array: Var, place: &Place, prim: Prim, span: Span) -> Atom {
        self.b.push_block();
        let shape = self.shapes.get(&array).cloned().unwrap_or_default();
        let mut is_inside = Atom::bool(true);
        let mut space: Vec<Axis> = Vec::new();
        let mut indices = Vec::new();
        for (axis, fixed) in place.iter().enumerate() {
            let size = match shape.get(axis).cloned().flatten() {
                Some(size) => size,
                None => self.emit_one(Op::Dim { array: Atom::Var(array), axis }, span),
            };
            indices.push(match fixed {
                Some(at) => {
                    let less = |op| PrimOp::Compare(op, Prim::I64);
                    let from = self.prim(less(CompareOp::LessEqual), vec![Atom::i64(0), at.clone()], span);
                    let to = self.prim(less(CompareOp::Less), vec![at.clone(), size], span);
                    for condition in [from, to] {
                        is_inside = self.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![is_inside, condition], span);
                    }
                    at.clone()
                }
                None => {
                    space.push(Axis { var: self.fresh("i", Type::I64).var, size });
                    Atom::Var(space[space.len() - 1].var)
                }
            });
        }
        let element = self.block(|context| {
            let then = context.block(|context| vec![context.emit_one(Op::Index { array: Atom::Var(array), indices }, span)]);
            let otherwise = Block { statements: Vec::new(), results: vec![Atom::Const(Const::zero(prim))] };
            context.b.push(Op::If { condition: is_inside, then, otherwise }, vec![Type::Prim(prim)], span)
        });
        let part = if space.is_empty() {
            element.statements.into_iter().for_each(|statement| self.push_statement(statement));
            element.results[0].clone()
        } else {
            self.emit_one(Op::Build { space, body: element, inner: vec![Vec::new()] }, span)
        };
        let made = self.b.pop_block(Vec::new()).statements;
        made.iter().for_each(|statement| self.note_shapes(statement));
        forward.extend(made);
        part
    }
}

/// The place of a read of the array, and what is left of it when the place is reached.
fn place_of(op: &Op, array: Var, rank: usize, own: &FxHashSet<Var>) -> Option<(Place, Vec<SliceDim>)> {
    let dims: Vec<SliceDim> = match op {
        Op::Index { array: Atom::Var(from), indices } if *from == array => indices.iter().cloned().map(SliceDim::Index).collect(),
        Op::Slice { array: Atom::Var(from), dims } if *from == array => dims.clone(),
        _ => return None,
    };
    let fixed = |dim: &SliceDim| match dim {
        SliceDim::Index(at) if !matches!(at, Atom::Var(var) if own.contains(var)) => Some(at.clone()),
        _ => None,
    };
    let mut place: Place = dims.iter().map(fixed).collect();
    let rest = dims.into_iter().zip(&place).filter(|(_, fixed)| fixed.is_none()).map(|(dim, _)| dim).collect();
    place.resize(rank, None);
    place.iter().any(Option::is_some).then_some((place, rest))
}

/// Finds the places of all reads of an array; false if it is needed in another way.
fn places_read(block: &Block, array: Var, rank: usize, own: &FxHashSet<Var>, places: &mut Vec<Place>) -> bool {
    let is_it = |atom: &Atom| *atom == Atom::Var(array);
    let deeper = |block: &Block, places: &mut Vec<Place>| {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || places_read(block, array, rank, own, places))
    };
    !block.results.iter().any(is_it)
        && block.statements.iter().all(|statement| {
            let mut mentions = 0;
            statement.op.for_each_atom(&mut |atom| mentions += usize::from(is_it(atom)));
            if mentions > 0 {
                let Some((place, _)) = place_of(&statement.op, array, rank, own).filter(|_| mentions == 1) else { return false };
                if !places.contains(&place) {
                    places.push(place);
                }
            }
            statement.op.scopes().iter().all(|scope| deeper(scope.block, places))
        })
}

/// Reads the parts instead of the array.
fn read_parts(block: &mut Block, array: Var, rank: usize, own: &FxHashSet<Var>, parts: &[(Place, Atom)]) {
    for statement in &mut block.statements {
        if let Some((place, rest)) = place_of(&statement.op, array, rank, own)
            && let Some((_, part)) = parts.iter().find(|(it, _)| *it == place)
        {
            statement.op = if rest.is_empty() { Op::Copy(vec![part.clone()]) } else { Op::part(part.clone(), rest) };
        }
        let op = std::mem::replace(&mut statement.op, Op::Copy(Vec::new()));
        statement.op = op.map_blocks(&mut |mut block| {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || read_parts(&mut block, array, rank, own, parts));
            block
        });
    }
}
