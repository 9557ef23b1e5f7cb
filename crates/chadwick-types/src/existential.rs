//! Sizes that a type hides: `?[n].t`, and `[]t` in a type that is given a name.
//!
//! Such a size is read from a value, so an array must be there that has it. A function does not carry the sizes of its parameters and
//! results.

use crate::checker::Checker;
use crate::ty::{Size, Type, VarId};
use chadwick_source::{Name, Span};

impl Checker<'_> {
    /// `?[n].t`: an array in `t` must have the size.
    pub fn require_array_of_size(&mut self, id: VarId, name: &Name, ty: &Type, span: Span) {
        if !has_array_of_size(ty, id) {
            self.error("E0225", span, format!("existential size {name} not used as array size")).hint =
                Some(format!("put an array of that size in the type, such as a witness of type `[{name}]()`"));
        }
    }

    /// A type with a name may not have `[]` in a parameter of a function: no value would tell the size.
    pub fn require_constructive(&mut self, ty: &Type, span: Span) {
        if has_anonymous_parameter(ty) {
            self.error("E0225", span, "the type has an anonymous size that is not used constructively as an array size").hint =
                Some(String::from("give the type a size parameter, as in `type^ t [n] = [n]f64 -> f64`"));
        }
    }
}

fn has_array_of_size(ty: &Type, id: VarId) -> bool {
    match ty {
        Type::Array(size, element) => matches!(size, Size::Name(own, _) if *own == id) || has_array_of_size(element, id),
        Type::Record(fields) => fields.iter().any(|(_, ty)| has_array_of_size(ty, id)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(|ty| has_array_of_size(ty, id)),
        Type::Hidden(_, inner) => has_array_of_size(inner, id),
        // An abstract type may hold an array of a size that it is given.
        Type::Named(..) | Type::Error => true,
        Type::Arrow(_) | Type::Prim(_) | Type::Var(_) | Type::Param(..) => false,
    }
}

fn has_anonymous_parameter(ty: &Type) -> bool {
    match ty {
        Type::Arrow(arrow) => has_unknown_size(&arrow.from) || has_anonymous_parameter(&arrow.to.ty),
        Type::Record(fields) => fields.iter().any(|(_, ty)| has_anonymous_parameter(ty)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(has_anonymous_parameter),
        Type::Array(_, inner) | Type::Hidden(_, inner) => has_anonymous_parameter(inner),
        Type::Prim(_) | Type::Var(_) | Type::Param(..) | Type::Named(..) | Type::Error => false,
    }
}

/// Whether some array has a size that only its value knows.
pub fn has_unknown_size(ty: &Type) -> bool {
    match ty {
        Type::Array(size, element) => matches!(size, Size::Unknown) || has_unknown_size(element),
        Type::Record(fields) => fields.iter().any(|(_, ty)| has_unknown_size(ty)),
        _ => false,
    }
}

/// Whether the type is, or holds outside of arrays, a type that hides sizes.
pub fn hides_size(ty: &Type) -> bool {
    match ty {
        Type::Hidden(..) => true,
        Type::Record(fields) => fields.iter().any(|(_, ty)| hides_size(ty)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(hides_size),
        _ => false,
    }
}
