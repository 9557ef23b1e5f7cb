//! Arrays behind one another.
//!
//! What is only built to be put behind something else is built there: before the first of the parts is made, there is room for all.

use super::{Array, Destination, Emitter};
use crate::ir::*;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Binder, Block, Op, Size, Statement, Type, Var};

/// A concatenation that has its memory before its parts are there.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    whole: Array,
    /// Where each part goes.
    parts: Vec<Exp>,
}

impl<'p> Emitter<'_, 'p> {
    pub(super) fn concat(&mut self, binders: &[Binder], arrays: &[Atom]) {
        let Some(binder) = binders.first() else { return };
        let arrays: Vec<Array> = arrays.iter().map(|array| self.array(array)).collect();
        let Some(first) = arrays.first().cloned() else { return };
        arrays.iter().for_each(|array| self.check_concat(&first, array));
        let joined = match self.joins.remove(&binder.var) {
            Some(joined) => joined,
            None => {
                let shapes: Vec<&[Exp]> = arrays.iter().map(|array| array.dims.as_slice()).collect();
                self.room_for(binder, first.elem, &shapes)
            }
        };
        for (array, data) in arrays.iter().zip(&joined.parts) {
            // The part may have been built in its place.
            if array.data != *data || array.elem == Elem::Unit {
                let part = Array { data: data.clone(), dims: array.dims.clone(), ..joined.whole.clone() };
                self.copy_elements(&part, array);
            }
        }
        self.set(binder.var, super::Value::Array(joined.whole));
    }

    /// Memory for arrays of these shapes, behind one another.
    fn room_for(&mut self, binder: &Binder, elem: Elem, shapes: &[&[Exp]]) -> Joined {
        let outer = shapes.iter().fold(Exp::i64(0), |outer, shape| outer.add(shape[0].clone()));
        let outer = self.size_local("n", outer);
        self.learn_not_negative(&outer);
        let dims = [&[outer], &shapes[0][1..]].concat();
        let name = self.var_name(binder.var);
        let whole = self.new_array(binder.var, &name, elem, dims);
        let (mut row, mut parts) = (Exp::i64(0), Vec::new());
        for shape in shapes {
            parts.push(self.part("part", &whole, std::slice::from_ref(&row)).data);
            row = self.size_local("row", row.add(shape[0].clone()));
        }
        Joined { whole, parts }
    }

    fn check_concat(&mut self, first: &Array, array: &Array) {
        let mut condition: Option<Exp> = None;
        for (left, right) in first.dims.iter().zip(&array.dims).skip(1) {
            if !self.same_size(left, right) {
                let differ = Exp::test(Test::NotEqual, left.clone(), right.clone());
                condition = Some(match condition {
                    None => differ,
                    Some(before) => before.or(differ),
                });
            }
        }
        if let Some(condition) = condition {
            let (values, site) = ([first.dims.clone(), array.dims.clone()].concat(), self.site());
            self.push(Stm::Fail { condition, kind: FailKind::Concat, values, site });
        }
    }

    /// Makes room for the concatenations of which these statements build parts, and tells them where.
    pub(super) fn join_ahead(&mut self, block: &'p Block, start: usize, end: usize) {
        let later = &block.statements[start..];
        let builds = later[..end - start].iter().filter(|statement| matches!(statement.op, Op::Build { .. }));
        for binder in builds.flat_map(|statement| &statement.binders) {
            if self.destinations.contains_key(&binder.var) {
                continue;
            }
            let found = later.iter().find_map(|statement| match (&statement.op, statement.binders.as_slice()) {
                (Op::Concat { arrays }, [joined]) => {
                    arrays.iter().any(|part| source(part, later) == Some(binder.var)).then_some((joined, arrays))
                }
                _ => None,
            });
            if let Some((joined, parts)) = found {
                self.offer_parts(block, start, joined, parts);
            }
        }
    }

    /// Makes room for a concatenation, if the shapes of all parts can be told at the statement `start`, and offers it to those who build
    /// parts for nothing else.
    fn offer_parts(&mut self, block: &'p Block, start: usize, joined: &Binder, parts: &'p [Atom]) {
        let Type::Array(ty) = &joined.ty else { return };
        let elem = self.shared.layouts.elem(ty);
        if !matches!(elem, Elem::Prim(_)) || self.joins.contains_key(&joined.var) {
            return;
        }
        let later = &block.statements[start..];
        let (mut sources, mut shapes) = (Vec::new(), Vec::new());
        for part in parts {
            let Some(source) = source(part, later) else { return };
            let Some(own) = self.shape_ahead(source, later) else { return };
            // One axis holds all elements; else the shape is the source's own.
            shapes.push(match self.atom_type(part).rank() {
                1 => vec![self.count(&own)],
                _ if *part == Atom::Var(source) => own.clone(),
                _ => return,
            });
            sources.push((source, own));
        }
        let same = |shape: &Vec<Exp>| shape[1..].iter().zip(&shapes[0][1..]).all(|(left, right)| self.same_size(left, right));
        if !shapes.iter().all(same) {
            return;
        }
        let is_built = |var: Var| later.iter().any(|statement| makes(statement, var) && matches!(statement.op, Op::Build { .. }));
        let is_offered = |var: Var| is_built(var) && self.live.root(var) == Some(var) && is_only_joined(block, var);
        let offered: Vec<bool> = sources.iter().map(|(source, _)| is_offered(*source)).collect();
        if !offered.contains(&true) {
            return;
        }
        let shapes: Vec<&[Exp]> = shapes.iter().map(Vec::as_slice).collect();
        let room = self.room_for(joined, elem, &shapes);
        for ((data, (source, dims)), is_offered) in room.parts.iter().zip(sources).zip(offered) {
            if is_offered {
                self.destinations.insert(source, Destination { data: data.clone(), dims, reshaped: false });
            }
        }
        self.joins.insert(joined.var, room);
    }

    /// The shape of an array that is there, or that one of the statements builds with sizes that are there.
    fn shape_ahead(&mut self, array: Var, later: &[Statement]) -> Option<Vec<Exp>> {
        let is_there = |atom: &Atom| match atom {
            Atom::Const(_) => true,
            Atom::Var(var) => !later.iter().any(|statement| makes(statement, *var)),
        };
        if is_there(&Atom::Var(array)) {
            return Some(self.array(&Atom::Var(array)).dims);
        }
        let statement = later.iter().find(|statement| makes(statement, array))?;
        let Op::Build { space, inner, .. } = &statement.op else { return None };
        let number = statement.binders.iter().position(|binder| binder.var == array)?;
        let inner = inner.get(number).map_or(&[][..], Vec::as_slice).iter().map(|size| match size {
            Size::Known(atom) => Some(atom),
            Size::FromValue => None,
        });
        let sizes: Vec<&Atom> = space.iter().map(|axis| Some(&axis.size)).chain(inner).collect::<Option<_>>()?;
        if sizes.len() != self.atom_type(&Atom::Var(array)).rank() || !sizes.iter().all(|size| is_there(size)) {
            return None;
        }
        let sizes = sizes.into_iter().map(|size| {
            let size = self.scalar(size);
            self.extent(&size)
        });
        Some(sizes.collect())
    }
}

/// Whether nobody looks at the array but one concatenation, through a view or not.
fn is_only_joined(block: &Block, array: Var) -> bool {
    let mut users = block.statements.iter().filter(|statement| op_free_variables(&statement.op).contains(&array));
    let (Some(user), None) = (users.next(), users.next()) else { return false };
    let is_here = match (&user.op, user.binders.as_slice()) {
        (Op::Concat { arrays }, _) => arrays.iter().filter(|part| **part == Atom::Var(array)).count() == 1,
        (Op::Reshape { .. }, [view]) => is_only_joined(block, view.var),
        _ => false,
    };
    is_here && !block.results.contains(&Atom::Var(array))
}

fn makes(statement: &Statement, var: Var) -> bool {
    statement.binders.iter().any(|binder| binder.var == var)
}

/// The array of which a part is all elements.
fn source(part: &Atom, later: &[Statement]) -> Option<Var> {
    let Atom::Var(part) = part else { return None };
    let view = later.iter().find(|statement| makes(statement, *part)).map(|statement| &statement.op);
    match view {
        Some(Op::Reshape { array, .. }) => match array {
            Atom::Var(array) => Some(*array),
            Atom::Const(_) => None,
        },
        _ => Some(*part),
    }
}
