//! `r ⊙_R V(build(n, λi. m)) = Σᵢ r[i] ⊙_R m`: one map for each point of a space.
//!
//! The sum is not taken of whole vectors, one for each point, most of whose places are zero. What the points add to a variable from
//! outside goes into an accumulator. So the paper's rule for a sum of one-hot vectors holds wherever the places are.

use super::backward::{Backward, Flow};
use super::maps::{Family, sizes_from_values};
use crate::reverse::{Cotangent, Cotangents};
use crate::shapes::Moving;
use crate::tape::Kept;
use chadwick_core::{Atom, Axis, Binder, Block, Dim, Op, Statement, Type, Var};
use chadwick_source::{Name, Span};
use std::rc::Rc;

impl Backward<'_, '_> {
    pub(super) fn family(&mut self, family: &Family, flow: Flow, cotangents: &mut Cotangents, span: Span) {
        let statement = self.forward.pop();
        let axes: Vec<Var> = family.space.iter().map(|axis| axis.var).collect();
        let indices: Vec<Atom> = axes.iter().map(|axis| Atom::Var(*axis)).collect();
        let mut own = Cotangents::default();
        let mut opened = Vec::new();
        for var in family.body.free_maps() {
            match cotangents.get(&var) {
                Some(Cotangent::Handle(handle, path)) => {
                    own.insert(var, Cotangent::Handle(handle.clone(), path.clone()));
                }
                _ => {
                    let ty = Type::Accumulator(Rc::new(self.context().var_type(var).any_sizes()));
                    let name = Name::from(format!("{}_ct", self.context().name(var)));
                    let handle = self.context().fresh(name, ty);
                    own.insert(var, Cotangent::Handle(Atom::Var(handle.var), Vec::new()));
                    opened.push((var, handle));
                }
            }
        }
        self.context().b.push_block();
        let body = family.body.block();
        self.context().makings.own_rows(&axes, &body);
        let mut forward = self.repeated(&family.body, &axes, flow.element(&indices), &mut own, span);
        let mut dual = self.context().b.pop_block(Vec::new());
        let needs = self.context().needs_of_iteration(&mut forward, &mut dual, &[], &axes, span);
        let moving: Vec<Moving> = axes.iter().map(|axis| Moving::index(*axis)).collect();
        let kept = self.context().keep(&needs.saved, forward, &moving, span);
        let rank = family.space.len();
        let tapes: Vec<Binder> =
            kept.types.iter().map(|ty| self.context().fresh("kept", ty.clone().array(vec![Dim::Any; rank]))).collect();
        let dual = Block { statements: [needs.again, dual.statements].concat(), results: Vec::new() };
        if !dual.statements.is_empty() {
            let read = Read { saved: &needs.saved, tapes: &tapes, boxed: &kept.boxed };
            self.accumulate_over(&family.space, &opened, &dual, &read, cotangents, span);
        }
        if let Some(statement) = statement {
            self.forward = self.recording_form(&statement, &family.space, kept, tapes);
        }
    }

    /// Runs the reverse pass of each point, with accumulators around all of them.
    fn accumulate_over(
        &mut self,
        old_space: &[Axis],
        opened: &[(Var, Binder)],
        dual: &Block,
        read: &Read,
        cotangents: &mut Cotangents,
        span: Span,
    ) {
        let init: Vec<Atom> = opened.iter().map(|(var, _)| self.collector.take_or_zero(cotangents, *var, span)).collect();
        let space: Vec<Axis> = old_space
            .iter()
            .map(|axis| Axis { var: self.context().fresh("i", Type::I64).var, size: axis.size.clone() })
            .collect();
        let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        self.context().b.push_block();
        let mut replace: Vec<(Var, Atom)> =
            old_space.iter().zip(&indices).map(|(axis, index)| (axis.var, index.clone())).collect();
        replace.extend(self.context().read_tapes(read.saved, read.tapes, read.boxed, &indices, span));
        let copy = self.context().copy_block(dual, replace);
        copy.statements.into_iter().for_each(|statement| self.context().push_statement(statement));
        let body = self.context().b.pop_block(Vec::new());
        let each = Op::Build { space, body, inner: Vec::new() };
        if opened.is_empty() {
            self.context().b.push(each, Vec::new(), span);
            return;
        }
        let handles: Vec<Binder> = opened.iter().map(|(_, handle)| handle.clone()).collect();
        self.context().b.push_block();
        self.context().b.push(each, Vec::new(), span);
        let body = self.context().b.pop_block(Vec::new());
        let types: Vec<Type> = opened.iter().map(|(var, _)| self.context().var_type(*var).any_sizes()).collect();
        let finals = self.context().b.push(Op::WithAccumulators { handles, init, body }, types, span);
        for ((var, _), last) in opened.iter().zip(finals) {
            cotangents.insert(*var, Cotangent::Value(last));
        }
    }

    /// The primal form with what its reverse pass reads. A sum runs over elements that were built together with that.
    fn recording_form(&mut self, statement: &Statement, space: &[Axis], kept: Kept, tapes: Vec<Binder>) -> Vec<Statement> {
        let span = statement.span;
        match &statement.op {
            Op::Build { body, inner, .. } => {
                let body = Block { statements: kept.forward, results: [body.results.clone(), kept.values].concat() };
                let op = Op::Build { space: space.to_vec(), body, inner: [inner.clone(), kept.inner].concat() };
                vec![Statement { binders: [statement.binders.clone(), tapes].concat(), op, span }]
            }
            Op::Reduce { op, neutral, body, commutative, .. } => {
                let reduction = |space: Vec<Axis>, body: Block| Op::Reduce {
                    space,
                    op: op.clone(),
                    neutral: neutral.clone(),
                    body,
                    commutative: *commutative,
                };
                if tapes.is_empty() {
                    let body = Block { statements: kept.forward, results: body.results.clone() };
                    return vec![Statement { op: reduction(space.to_vec(), body), ..statement.clone() }];
                }
                let rank = space.len();
                let types: Vec<Type> = body.results.iter().map(|result| self.context().type_of(result).any_sizes()).collect();
                let elements: Vec<Binder> =
                    types.into_iter().map(|ty| self.context().fresh("", ty.array(vec![Dim::Any; rank]))).collect();
                let sizes = elements.iter().map(|element| sizes_from_values(element.ty.rank() - rank)).collect();
                let build_body = Block { statements: kept.forward, results: [body.results.clone(), kept.values].concat() };
                let build = Op::Build { space: space.to_vec(), body: build_body, inner: [sizes, kept.inner].concat() };
                let again: Vec<Axis> = space
                    .iter()
                    .map(|axis| Axis { var: self.context().fresh("i", Type::I64).var, size: axis.size.clone() })
                    .collect();
                let indices: Vec<Atom> = again.iter().map(|axis| Atom::Var(axis.var)).collect();
                let consumer = self.context().block(|context| {
                    let read = |context: &mut crate::context::Context, array: Var| {
                        context.emit_one(Op::Index { array: Atom::Var(array), indices: indices.clone() }, span)
                    };
                    elements.iter().map(|element| read(context, element.var)).collect()
                });
                vec![
                    Statement { binders: [elements, tapes].concat(), op: build, span },
                    Statement { op: reduction(again, consumer), ..statement.clone() },
                ]
            }
            _ => vec![statement.clone()],
        }
    }
}

/// What the reverse pass of a point reads back.
struct Read<'a> {
    saved: &'a [Var],
    tapes: &'a [Binder],
    boxed: &'a [bool],
}
