//! Dependencies by CHAD (Vákár and Smeding, section 11.3): the cotangent of a number is whether it matters, zero is "no" and addition "or". Outside of the
//! transformation such a cotangent has the form of the value: a number that is not zero asks, and a one answers.

use super::dense::{Dense, axes};
use super::meaning::{Meaning, sizeless};
use crate::context::Context;
use chadwick_core::typing::constructors;
use chadwick_core::{Arm, Atom, Binder, Block, CompareOp, Const, FunctionId, Op, Prim, PrimOp, Type, UnaryOp};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;

/// Changes the numbers of a value, whatever it is made of.
struct Change {
    name: &'static str,
    /// Where functions for sum types are remembered.
    known: fn(&mut Dense) -> &mut FxHashMap<Type, FunctionId>,
    number: fn(&mut Context, Atom, Prim, Span) -> Atom,
    /// Whether values of a type become cotangents, or the other way round.
    to_cotangent: bool,
}

const TRUTHS: Change = Change {
    name: "asks",
    known: |dense| &mut dense.truths,
    number: |context, number, prim, span| {
        let zero = Atom::Const(Const::zero(prim));
        let is_zero = context.prim(PrimOp::Compare(CompareOp::Equal, prim), vec![number, zero], span);
        context.prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), vec![is_zero], span)
    },
    to_cotangent: true,
};

const ONES: Change = Change {
    name: "answers",
    known: |dense| &mut dense.ones,
    number: |context, truth, prim, span| {
        let constant = |constant| Block { statements: Vec::new(), results: vec![Atom::Const(constant)] };
        let (then, otherwise) = (constant(Const::one(prim)), constant(Const::zero(prim)));
        context.emit_one(Op::If { condition: truth, then, otherwise }, span)
    },
    to_cotangent: false,
};

impl Dense {
    /// Which numbers are not zero.
    pub fn truths(&mut self, context: &mut Context, value: Atom, ty: &Type, span: Span) -> Atom {
        self.changed(context, &TRUTHS, value, ty, span)
    }

    /// One for each number that matters.
    pub fn ones(&mut self, context: &mut Context, cotangent: Atom, ty: &Type, span: Span) -> Atom {
        self.changed(context, &ONES, cotangent, ty, span)
    }

    fn changed(&mut self, context: &mut Context, change: &Change, value: Atom, ty: &Type, span: Span) -> Atom {
        if !context.carries(ty) {
            return value;
        }
        let ty = &sizeless(ty);
        match ty {
            Type::Prim(prim) => (change.number)(context, value, *prim, span),
            Type::Array(array) => {
                let element = array.element.as_type().unwrap_or(Type::BOOL);
                let (space, indices) = axes(context, &value, array.dims.len(), span);
                context.b.push_block();
                let own = context.emit_one(Op::Index { array: value, indices }, span);
                let own = self.changed(context, change, own, &element, span);
                let body = context.b.pop_block(vec![own]);
                context.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
            }
            _ => {
                let function = self.change_function(context, change, ty, span);
                context.emit_one(Op::Call { function, args: vec![value] }, span)
            }
        }
    }

    fn change_function(&mut self, context: &mut Context, change: &Change, ty: &Type, span: Span) -> FunctionId {
        if let Some(known) = (change.known)(self).get(ty) {
            return *known;
        }
        let cotangent = self.cotangent_type(context, ty);
        let (from, to) = if change.to_cotangent { (ty.clone(), cotangent) } else { (cotangent, ty.clone()) };
        let param = context.fresh("", from.clone());
        let value = Atom::Var(param.var);
        let function = context.reserve(Name::from(change.name), vec![param], vec![to.clone()], span);
        (change.known)(self).insert(ty.clone(), function);
        let fields = constructors(&context.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let given = constructors(&context.b, &from).map(<[_]>::to_vec).unwrap_or_default();
        context.b.push_block();
        let mut arms = Vec::new();
        for (tag, (constructor, given)) in fields.iter().zip(&given).enumerate() {
            let binders: Vec<Binder> = given.payload.iter().map(|ty| context.fresh("", ty.clone())).collect();
            context.b.push_block();
            let mut args = Vec::new();
            for (binder, ty) in binders.iter().zip(&constructor.payload) {
                args.push(self.changed(context, change, Atom::Var(binder.var), ty, span));
            }
            let results = context.construct(&to, tag as u32, args, span);
            arms.push(Arm { tag: tag as u32, binders, body: context.b.pop_block(results) });
        }
        let results = context.b.push(Op::Match { scrutinee: value, arms, otherwise: None }, vec![to], span);
        let body = context.b.pop_block(results);
        context.b.program_mut().functions[function.0 as usize].body = body;
        function
    }
}
