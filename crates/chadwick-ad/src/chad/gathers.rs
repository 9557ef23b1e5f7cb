//! Gathers (thesis 6.7.1): a build that reads an array from outside at a place of its own, `build n (\\i -> … s[t] …)`, contributes to that array
//! once, with all places and their cotangents, instead of once for each element.
//!
//! What is read becomes a variable of the element, whose cotangent the element's backpropagator leaves behind. Where the places are all of the
//! array's in their order, what was left behind is the cotangent of the array.

use super::meaning::Whole;
use super::rules::Chad;
use crate::dual_arrays::cannot_fail;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Axis, BinaryOp, Binder, Block, CompareOp, Op, Prim, PrimOp, SliceDim, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

/// The body of a build, with its gathers apart.
pub struct Gathers {
    reads: Vec<Read>,
    /// The reads and what they need.
    pub first: Vec<Statement>,
    pub rest: Block,
}

struct Read {
    element: Binder,
    array: Atom,
    /// Where it reads; nothing if that is the number of the element.
    place: Option<Atom>,
}

/// An array that was read.
pub struct Gathered {
    pub array: Atom,
    whole: Whole,
    places: Option<Atom>,
}

impl Gathers {
    pub fn none(body: &Block) -> Gathers {
        Gathers { reads: Vec::new(), first: Vec::new(), rest: body.clone() }
    }

    pub fn elements(&self) -> Vec<Binder> {
        self.reads.iter().map(|read| read.element.clone()).collect()
    }

    /// The places that are not numbers of elements.
    pub fn computed_places(&self) -> Vec<Atom> {
        self.reads.iter().filter_map(|read| read.place.clone()).collect()
    }
}

impl Chad<'_, '_> {
    /// Takes the gathers out of the body of a build. Nothing that can fail is passed over.
    pub fn gathers(&self, space: &[Axis], body: &Block) -> Gathers {
        let mut gathers = Gathers { reads: Vec::new(), first: Vec::new(), rest: Block::default() };
        gathers.rest.results.clone_from(&body.results);
        let mut later: FxHashSet<Var> = FxHashSet::default();
        let mut statements = body.statements.iter();
        for statement in statements.by_ref() {
            let is_ready = !op_free_variables(&statement.op).iter().any(|var| later.contains(var));
            let is_active = statement.binders.iter().any(|binder| self.is_active(binder));
            let read = if is_ready && is_active { self.gather(space, statement) } else { None };
            if read.is_some() || (is_ready && !is_active) {
                gathers.reads.extend(read);
                gathers.first.push(statement.clone());
                continue;
            }
            later.extend(statement.binders.iter().map(|binder| binder.var));
            gathers.rest.statements.push(statement.clone());
            let passed_over = match &statement.op {
                Op::Prim(op, args) => cannot_fail(*op, args),
                op => matches!(op, Op::Copy(_) | Op::Construct { .. }),
            };
            if !passed_over {
                break;
            }
        }
        gathers.rest.statements.extend(statements.cloned());
        match gathers.reads.is_empty() {
            true => Gathers::none(body),
            false => gathers,
        }
    }

    fn gather(&self, space: &[Axis], statement: &Statement) -> Option<Read> {
        let (Op::Index { array, indices }, [element]) = (&statement.op, statement.binders.as_slice()) else { return None };
        let [place] = indices.as_slice() else { return None };
        let is_number = matches!(place, Atom::Var(var) if space.iter().any(|axis| axis.var == *var));
        let place = (!is_number).then(|| place.clone());
        self.has_place(array).then(|| Read { element: element.clone(), array: array.clone(), place })
    }

    /// The arrays that are read, given all places that are not numbers of elements.
    pub fn gathered_arrays(&mut self, gathers: &Gathers, places: &[Atom], span: Span) -> Vec<Gathered> {
        let mut places = places.iter().cloned();
        let mut all = Vec::new();
        for Read { array, place, .. } in &gathers.reads {
            let places = place.as_ref().and_then(|_| places.next());
            all.push(Gathered { array: array.clone(), whole: self.whole(array, span), places });
        }
        all
    }

    /// What a stretch of elements contributes to an array that they read, given what each of them leaves.
    pub fn gather_cotangent(&mut self, gathered: &Gathered, start: &Atom, count: &Atom, elements: Atom, span: Span) -> Atom {
        let (ty, is_first) = (&gathered.whole.ty, *start == Atom::i64(0));
        if let Some(places) = &gathered.places {
            let dims = vec![SliceDim::Range { start: start.clone(), count: count.clone(), stride: Atom::i64(1) }];
            let own = match is_first {
                true => places.clone(),
                false => self.context.emit_one(Op::Slice { array: places.clone(), dims }, span),
            };
            return self.engine.meaning.scattered(self.context, ty, own, elements, span);
        }
        let compare = PrimOp::Compare(CompareOp::Equal, Prim::I64);
        let condition = self.context.prim(compare, vec![count.clone(), gathered.whole.sizes[0].clone()], span);
        let meaning = &mut self.engine.meaning;
        let then = self.context.block(|context| vec![meaning.gathered(context, ty, elements.clone(), span)]);
        let otherwise = self.context.block(|context| {
            let axis = Axis { var: context.fresh("i", Type::I64).var, size: count.clone() };
            let body = context.block(|context| vec![context.i64_op(BinaryOp::Add, start.clone(), Atom::Var(axis.var), span)]);
            let numbers = context.emit_one(Op::Build { space: vec![axis], body, inner: vec![Vec::new()] }, span);
            vec![meaning.scattered(context, ty, numbers, elements, span)]
        });
        self.context.emit_one(Op::If { condition, then, otherwise }, span)
    }
}
