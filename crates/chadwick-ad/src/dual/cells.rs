//! What the rungs share: arrays of cotangents by identity, and functions made on the spot.

use super::numbers::Numbers;
use crate::context::Context;
use chadwick_core::{Atom, Const, FunctionType, Op, SliceDim, Type};
use chadwick_source::{Name, Span};

impl Numbers {
    /// The types of arrays of cotangents.
    pub fn arrays(&self) -> Vec<Type> {
        self.types().iter().map(crate::context::with_axis).collect()
    }

    /// So many zero cotangents.
    pub fn cells(&self, context: &mut Context, size: &Atom, span: Span) -> Vec<Atom> {
        self.prims.iter().map(|prim| context.zeros(*prim, vec![size.clone()], span)).collect()
    }

    pub fn read(&self, context: &mut Context, cells: &[Atom], at: &Atom, span: Span) -> Vec<Atom> {
        cells.iter().map(|cells| read(context, cells, at, span)).collect()
    }

    /// The cells with a cotangent added at a place.
    pub fn add_at(&self, context: &mut Context, cells: &[Atom], at: &Atom, cotangent: &[Atom], span: Span) -> Vec<Atom> {
        let mut updated = Vec::new();
        for (cells, number) in cells.iter().zip(cotangent) {
            let unchanged = matches!(number, Atom::Const(constant) if *constant == Const::zero(constant.prim()));
            updated.push(match unchanged {
                true => cells.clone(),
                false => {
                    let before = read(context, cells, at, span);
                    let value = context.sum(before, number.clone(), span);
                    write(context, cells, at, value, span)
                }
            });
        }
        updated
    }
}

pub fn read(context: &mut Context, array: &Atom, at: &Atom, span: Span) -> Atom {
    context.emit_one(Op::Index { array: array.clone(), indices: vec![at.clone()] }, span)
}

pub fn write(context: &mut Context, array: &Atom, at: &Atom, value: Atom, span: Span) -> Atom {
    let dims = vec![SliceDim::Index(at.clone())];
    context.emit_one(Op::Update { array: array.clone(), dims, value }, span)
}

/// A function of these parameters as a value.
pub fn closure(
    context: &mut Context,
    function: &FunctionType,
    span: Span,
    make: impl FnOnce(&mut Context, &[Atom]) -> Vec<Atom>,
) -> Atom {
    let params: Vec<_> = function.params.iter().map(|ty| context.fresh(Name::from("z"), ty.clone())).collect();
    let atoms = super::atoms_of(&params);
    let body = context.block(|context| make(context, &atoms));
    let lambda = chadwick_core::Lambda { params, results: function.results.clone(), body };
    let ty = Type::Function(function.clone().into());
    context.b.push(Op::Closure(lambda), vec![ty], span).swap_remove(0)
}

/// Calls a function that is a value.
pub fn apply(context: &mut Context, function: &Atom, args: Vec<Atom>, span: Span) -> Vec<Atom> {
    context.emit(Op::Apply { function: function.clone(), args }, span)
}

/// An array of one value.
pub fn replicate(context: &mut Context, size: &Atom, value: Atom, span: Span) -> Atom {
    let space = vec![chadwick_core::Axis { var: context.fresh("i", Type::I64).var, size: size.clone() }];
    let body = super::plain_block(vec![value]);
    context.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
}
