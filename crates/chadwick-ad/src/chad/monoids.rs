//! Other analyses by CHAD (Vákár and Smeding, section 11.3). The transformation asks only for zero and addition of cotangents, so those of numbers may
//! come from any commutative monoid. Outside of the transformation an element has the form of the value: a number stands for it.

use super::dense::{Dense, axes};
use super::meaning::{Meaning, sizeless};
use crate::context::Context;
use chadwick_core::typing::constructors;
use chadwick_core::{Arm, Atom, BinaryOp, Binder, Block, CompareOp, Const, FunctionId, Op, Prim, PrimOp, Type, UnaryOp};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;

/// A commutative monoid. Operations pass its elements on as they are.
#[derive(Debug)]
pub struct Monoid {
    /// What an element is.
    pub prim: Prim,
    pub zero: Const,
    pub plus: BinaryOp,
    /// The element for which a number of the type stands, and the number for an element.
    element: fn(&mut Context, Atom, Prim, Span) -> Atom,
    number: fn(&mut Context, Atom, Prim, Span) -> Atom,
}

/// Whether something matters. A number that is not zero asks, and a one answers.
pub const TRUTHS: Monoid = Monoid {
    prim: Prim::Bool,
    zero: Const::Bool(false),
    plus: BinaryOp::Or,
    element: |context, number, prim, span| {
        let zero = Atom::Const(Const::zero(prim));
        let is_zero = context.prim(PrimOp::Compare(CompareOp::Equal, prim), vec![number, zero], span);
        context.prim(PrimOp::Unary(UnaryOp::Not, Prim::Bool), vec![is_zero], span)
    },
    number: |context, truth, prim, span| {
        let constant = |constant| Block { statements: Vec::new(), results: vec![Atom::Const(constant)] };
        let (then, otherwise) = (constant(Const::one(prim)), constant(Const::zero(prim)));
        context.emit_one(Op::If { condition: truth, then, otherwise }, span)
    },
};

/// For what something matters: sets of labels, which are bits of a number.
pub const LABELS: Monoid = Monoid {
    prim: Prim::I64,
    zero: Const::I64(0),
    plus: BinaryOp::Or,
    element: |context, number, prim, span| converted(context, number, (prim, Prim::I64), span),
    number: |context, labels, prim, span| converted(context, labels, (Prim::I64, prim), span),
};

fn converted(context: &mut Context, number: Atom, (from, to): (Prim, Prim), span: Span) -> Atom {
    match from == to {
        true => number,
        false => context.prim(PrimOp::Convert { from, to }, vec![number], span),
    }
}

/// Changes the numbers of a value, whatever it is made of.
struct Change {
    name: &'static str,
    /// Where functions for sum types are remembered.
    known: fn(&mut Dense) -> &mut FxHashMap<Type, FunctionId>,
    number: fn(&mut Context, Atom, Prim, Span) -> Atom,
    /// Whether values of a type become cotangents, or the other way round.
    to_cotangent: bool,
}

impl Dense {
    /// The elements for which the numbers of a value stand.
    pub fn elements_of(&mut self, context: &mut Context, monoid: &Monoid, value: Atom, ty: &Type, span: Span) -> Atom {
        let known: fn(&mut Dense) -> &mut FxHashMap<Type, FunctionId> = |dense| &mut dense.to_elements;
        let change = Change { name: "elements", known, number: monoid.element, to_cotangent: true };
        self.changed(context, &change, value, ty, span)
    }

    /// The numbers that stand for the elements of a cotangent.
    pub fn numbers_of(&mut self, context: &mut Context, monoid: &Monoid, cotangent: Atom, ty: &Type, span: Span) -> Atom {
        let known: fn(&mut Dense) -> &mut FxHashMap<Type, FunctionId> = |dense| &mut dense.to_numbers;
        let change = Change { name: "numbers", known, number: monoid.number, to_cotangent: false };
        self.changed(context, &change, cotangent, ty, span)
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
