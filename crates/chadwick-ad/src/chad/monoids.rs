//! Other analyses by CHAD (Vákár and Smeding, section 11.3). The transformation asks only for zero and addition of cotangents, so those of numbers may
//! come from any commutative monoid. Outside of the transformation an element has the form of the value: a number stands for it. Primal
//! numbers stay what they are, unless the monoid is a semiring (`semirings.rs`).

use super::dense::{Dense, Side, axes};
use super::meaning::{has_numbers, sizeless};
use super::semirings::Semiring;
use crate::context::Context;
use chadwick_core::typing::constructors;
use chadwick_core::{Arm, Atom, BinaryOp, Binder, Block, CompareOp, Const, FunctionId, Op, Prim, PrimOp, Type, UnaryOp};
use chadwick_source::{Name, Span};

/// A commutative monoid. Operations pass its elements on as they are, unless there are products.
#[derive(Debug)]
pub struct Monoid {
    /// What an element is.
    pub prim: Prim,
    pub zero: Const,
    pub plus: BinaryOp,
    /// The element for which a number of the type stands, and the number for an element.
    pub element: fn(&mut Context, Atom, Prim, Span) -> Atom,
    pub number: fn(&mut Context, Atom, Prim, Span) -> Atom,
    /// Products, where primal numbers are elements as well.
    pub semiring: Option<&'static Semiring>,
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
        let [one, zero] = [Const::one(prim), Const::zero(prim)].map(Atom::Const);
        choice(context, truth, one, zero, span)
    },
    semiring: None,
};

/// For what something matters: sets of labels, which are bits of a number.
pub const LABELS: Monoid = Monoid {
    prim: Prim::I64,
    zero: Const::I64(0),
    plus: BinaryOp::Or,
    element: |context, number, prim, span| converted(context, number, (prim, Prim::I64), span),
    number: |context, labels, prim, span| converted(context, labels, (Prim::I64, prim), span),
    semiring: None,
};

pub fn choice(context: &mut Context, condition: Atom, then: Atom, otherwise: Atom, span: Span) -> Atom {
    let [then, otherwise] = [then, otherwise].map(|atom| Block { statements: Vec::new(), results: vec![atom] });
    context.emit_one(Op::If { condition, then, otherwise }, span)
}

pub fn converted(context: &mut Context, number: Atom, (from, to): (Prim, Prim), span: Span) -> Atom {
    match from == to {
        true => number,
        false => context.prim(PrimOp::Convert { from, to }, vec![number], span),
    }
}

/// A change of the numbers of values or cotangents, whatever they are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    side: Side,
    /// Whether numbers become elements, or the other way round.
    to_elements: bool,
}

impl Dense {
    /// The elements for which the numbers of a value stand.
    pub fn elements_of(&mut self, context: &mut Context, side: Side, value: Atom, ty: &Type, span: Span) -> Atom {
        self.changed(context, Change { side, to_elements: true }, value, ty, span)
    }

    /// The numbers that stand for elements.
    pub fn numbers_of(&mut self, context: &mut Context, side: Side, value: Atom, ty: &Type, span: Span) -> Atom {
        self.changed(context, Change { side, to_elements: false }, value, ty, span)
    }

    fn changed(&mut self, context: &mut Context, change: Change, value: Atom, ty: &Type, span: Span) -> Atom {
        let Some(monoid) = self.monoid else { return value };
        let is_changed = match change.side {
            Side::Primal => monoid.semiring.is_some() && has_numbers(context.program(), ty),
            Side::Cotangent => context.carries(ty),
        };
        if !is_changed {
            return value;
        }
        let ty = &sizeless(ty);
        match ty {
            Type::Prim(prim) => {
                let number = if change.to_elements { monoid.element } else { monoid.number };
                number(context, value, *prim, span)
            }
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

    fn change_function(&mut self, context: &mut Context, change: Change, ty: &Type, span: Span) -> FunctionId {
        let key = (change, ty.clone());
        if let Some(known) = self.changes.get(&key) {
            return *known;
        }
        let elements = self.mapped(context, ty, change.side);
        let (from, to, name) = match change.to_elements {
            true => (ty.clone(), elements, "elements"),
            false => (elements, ty.clone(), "numbers"),
        };
        let param = context.fresh("", from.clone());
        let value = Atom::Var(param.var);
        let function = context.reserve(Name::from(name), vec![param], vec![to.clone()], span);
        self.changes.insert(key, function);
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
