//! What the rules of CHAD leave open: what a cotangent is, and how the cotangents of the environment are collected.
//!
//! The rules (`rules.rs`, `control.rs`, `arrays.rs`) are one for both generations. The definition answers with cotangents of the form of their
//! values and sums of whole environments (`dense.rs`), efficient CHAD with sparse cotangents and one environment that is changed
//! (`sparse.rs`, `environment.rs`).

use crate::context::{Applied, Context};
use chadwick_core::prim::Derivative;
use chadwick_core::typing::{has_functions, may_hold};
use chadwick_core::{ArrayType, Atom, Const, Constructor, Element, Prim, PrimOp, Program, SliceDim, Type, Var};
use chadwick_source::Span;

/// A variable of the environment `Γ`: one that has a cotangent.
#[derive(Clone)]
pub struct Variable {
    pub var: Var,
    /// Its type in the source.
    pub ty: Type,
    /// Its primal.
    pub primal: Atom,
}

/// An array of the source with its lengths.
pub struct Whole {
    pub array: Atom,
    pub ty: Type,
    pub sizes: Vec<Atom>,
}

/// A field of a constructor: its primal and its type in the source.
pub struct Field {
    pub primal: Atom,
    pub ty: Type,
}

/// What was contributed so far. Nothing stands for the zero of the environment, which is written out only where it must be.
pub type State = Option<Vec<Atom>>;

/// What becomes of a primitive operation.
pub enum Operation {
    /// The same one on primals.
    Unchanged,
    /// Another one, whose result this is.
    Changed(Atom),
    /// It has no meaning over elements of this kind.
    Meaningless(&'static str),
}

pub trait Meaning {
    /// Whether functions that are values have derivatives.
    fn takes_functions(&self) -> bool;

    /// Whether the cotangent of a transposed or reshaped array is a transposed or reshaped one.
    fn has_views(&self) -> bool;

    /// Whether primals of the type differ from values of it.
    fn changes(&self, program: &Program, ty: &Type) -> bool {
        has_functions(program, ty)
    }

    /// Whether values of the type that are inputs have cotangents, and results are given some.
    fn is_differentiated(&self, context: &Context, ty: &Type) -> bool {
        context.carries(ty)
    }

    /// The primal of a constant.
    fn constant(&self, constant: Const) -> Const {
        constant
    }

    /// The value of a primitive operation on primals, if it is another operation there; nothing if it has no meaning.
    fn operation(&mut self, _: &mut Context, _: PrimOp, _: &[Atom], _: Span) -> Operation {
        Operation::Unchanged
    }

    /// The primal of a value from outside of the function, and the other way round.
    fn primal(&mut self, _: &mut Context, value: Atom, _: &Type, _: Span) -> Atom {
        value
    }

    fn value(&mut self, _: &mut Context, primal: Atom, _: &Type, _: Span) -> Atom {
        primal
    }

    /// `D1`: the type of primals.
    fn primal_type(&mut self, context: &mut Context, ty: &Type) -> Type;

    /// `D2`: the type of cotangents.
    fn cotangent_type(&mut self, context: &mut Context, ty: &Type) -> Type;

    /// The zero cotangent of a value.
    fn zero(&mut self, context: &mut Context, primal: &Atom, ty: &Type, span: Span) -> Atom;

    /// The sum of two cotangents of a value of the type.
    fn plus(&mut self, context: &mut Context, ty: &Type, left: Atom, right: Atom, span: Span) -> Atom;

    /// A cotangent through one operand of a primitive operation; `None` if nothing passes. What is applied are primals.
    fn pass(
        &mut self,
        context: &mut Context,
        (derivative, _): (&Derivative, usize),
        cotangent: &Atom,
        applied: &Applied<'_>,
        to: Prim,
        span: Span,
    ) -> Option<Atom> {
        context.pass(derivative, cotangent, applied, to, span)
    }

    /// Whether derivatives that the program gives itself are to be used.
    fn uses_rules(&self) -> bool {
        true
    }

    /// The cotangent of an array, given that of a part.
    fn embed(&mut self, context: &mut Context, whole: &Whole, dims: &[SliceDim], part: Atom, span: Span) -> Atom;

    /// The cotangent of an array without that of a part, and that of the part.
    fn extract(&mut self, context: &mut Context, whole: &Whole, dims: &[SliceDim], cotangent: Atom, span: Span) -> (Atom, Atom);

    /// The cotangents of the elements of an array along its first axis, as an array.
    fn elements(&mut self, context: &mut Context, ty: &Type, cotangent: Atom, size: &Atom, span: Span) -> Atom;

    /// The inverse.
    fn gathered(&mut self, context: &mut Context, ty: &Type, elements: Atom, span: Span) -> Atom;

    /// Whether an array that is read at computed places gets one cotangent for all of them.
    fn has_gathers(&self) -> bool {
        false
    }

    /// That cotangent: of an array that has these elements at these places; only where there are gathers.
    fn scattered(&mut self, _: &mut Context, _: &Type, _: Atom, elements: Atom, _: Span) -> Atom {
        elements
    }

    /// Whether the cotangent is a zero that is known as such without looking inside; `None` if that cannot be.
    fn is_absent(&mut self, context: &mut Context, ty: &Type, cotangent: &Atom, span: Span) -> Option<Atom>;

    /// The cotangent of a value with the constructor, given those of its fields; `None` for a field without.
    fn inject(&mut self, context: &mut Context, ty: &Type, tag: u32, fields: &[(Field, Option<Atom>)], span: Span) -> Atom;

    /// The cotangents of the fields of a value with the constructor. Another constructor is an error of the run.
    fn payload(
        &mut self,
        context: &mut Context,
        ty: &Type,
        tag: u32,
        cotangent: &Atom,
        fields: &[Field],
        span: Span,
    ) -> Vec<Option<Atom>>;

    /// The cotangent of a function value that was called once; only where functions have derivatives.
    fn called(&mut self, context: &mut Context, ty: &Type, args: Vec<Atom>, cotangents: Vec<Atom>, span: Span) -> Atom;

    /// The cotangent that is given in the form of its value, such as a seed.
    fn in_form(&mut self, context: &mut Context, value: Atom, ty: &Type, span: Span) -> Atom;

    /// A cotangent in the form of its value, such as a gradient.
    fn in_full(&mut self, context: &mut Context, cotangent: Atom, primal: &Atom, ty: &Type, span: Span) -> Atom;

    // --------------------------------------------------------------------------------------------------------- environment

    /// Whether a backpropagator is given what was contributed so far and gives all that is there then. Otherwise it gives its own part.
    fn passes_state(&self) -> bool;

    /// The types of the cotangents of an environment.
    fn state_types(&mut self, context: &mut Context, environment: &[Variable]) -> Vec<Type>;

    /// The zero of an environment.
    fn nothing(&mut self, context: &mut Context, environment: &[Variable], span: Span) -> Vec<Atom>;

    /// The state with room for so many variables.
    fn with_room(&mut self, context: &mut Context, state: State, depth: usize, span: Span) -> State;

    /// `one`: a cotangent for one variable of the environment.
    fn one(
        &mut self,
        context: &mut Context,
        environment: &[Variable],
        state: State,
        at: usize,
        cotangent: Atom,
        span: Span,
    ) -> State;

    /// What a backpropagator gave, together with what was there.
    fn joined(&mut self, context: &mut Context, environment: &[Variable], state: State, given: Vec<Atom>, span: Span) -> State;

    /// Whether what runs side by side contributes to states of its own. The last part of a state says then whether nothing
    /// forks any more.
    fn has_tasks(&self) -> bool {
        false
    }

    /// A state, and what another one has for these variables.
    fn merged(
        &mut self,
        context: &mut Context,
        environment: &[Variable],
        state: Vec<Atom>,
        other: Vec<Atom>,
        span: Span,
    ) -> Vec<Atom> {
        self.joined(context, environment, Some(state), other, span).unwrap_or_default()
    }

    /// Takes the cotangents of the last variables out of a state.
    fn taken(
        &mut self,
        context: &mut Context,
        last: &[Variable],
        from: usize,
        state: Vec<Atom>,
        span: Span,
    ) -> (Vec<Atom>, Vec<Atom>);
}

/// Whether values of the type have a cotangent.
pub fn has_cotangent(context: &Context, ty: &Type) -> bool {
    context.carries(ty) || has_functions(context.program(), ty)
}

/// Whether values of the type may hold numbers in the narrow sense, which are those that stand for reals.
pub fn has_numbers(program: &Program, ty: &Type) -> bool {
    may_hold(program, ty, &|ty| ty.as_prim().is_some_and(Prim::is_float))
}

/// The type without what it knows of sizes, inside as well: one type, one cotangent.
pub fn sizeless(ty: &Type) -> Type {
    match ty.any_sizes() {
        Type::Array(ArrayType { element: Element::Boxed(element), dims }) => {
            Type::Array(ArrayType { element: Element::Boxed(sizeless(&element).into()), dims })
        }
        Type::Sum(constructors) => {
            let each =
                |it: &Constructor| Constructor { name: it.name.clone(), payload: it.payload.iter().map(sizeless).collect() };
            Type::Sum(constructors.iter().map(each).collect())
        }
        other => other,
    }
}
