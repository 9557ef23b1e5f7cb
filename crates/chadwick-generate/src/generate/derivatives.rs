//! Derivatives inside the program, and functions with derivatives of their own.
//!
//! Seeds must have the shape of what they belong to. Where a type can hide a shape the value itself is its seed.

use super::{Form, Generator, form};
use crate::config::Construct;
use crate::exp::{Exp, bind, either, name, parts};
use crate::types::{Size, Type};

pub(super) const FORMS: &[Form] = &[
    form(&[Construct::NestedDerivatives], 16, forward),
    form(&[Construct::NestedDerivatives], 16, reverse),
    form(&[Construct::NestedDerivatives], 6, many_forward),
    form(&[Construct::NestedDerivatives], 6, many_reverse),
    form(&[Construct::NestedDerivatives], 4, gradient),
    form(&[Construct::CustomRules], 10, custom_rule),
];

/// Derivatives inside derivatives inside the function under test: more only take time.
const MOST: usize = 2;

impl Generator<'_> {
    fn inside_derivative<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        self.derivatives += 1;
        let made = make(self);
        self.derivatives -= 1;
        made
    }
}

/// `jvp f x x'`, or the tangent of `jvp2 f x x'`.
fn forward(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if generator.derivatives >= MOST || ty.has_functions() {
        return None;
    }
    let from = generator.smooth_type(1);
    let [function, at, seed] = generator.divide(size);
    let function =
        generator.inside_derivative(|generator| generator.lambda(&Type::function([from.clone()], ty.clone()), function));
    let at = generator.exp(&from, at);
    let x = generator.fresh("x");
    let seed = match from.has_hidden_shape() {
        true => Exp::variable(&x, &from),
        false => generator.scoped(&[(&x, &from)], |generator| generator.exp(&from, seed)),
    };
    let template = match generator.random.below(4) {
        0 => "let @ = @\nin (jvp2 @ @ @).1",
        1 if *ty == Type::Number => "let @ = @\nin (jvp2 @ @ @).0",
        _ => "let @ = @\nin jvp @ @ @",
    };
    let exp = Exp::node(ty, template, parts![bind(&x), at, function, name(&x), seed]);
    Some(generator.tame_value(exp))
}

/// `vjp f x y'`, or the cotangent of `vjp2 f x y'`.
fn reverse(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let discrete = |ty: &Type| matches!(ty, Type::Int | Type::Index);
    if generator.derivatives >= MOST || ty.has_functions() || ty.any(&discrete) {
        return None;
    }
    let to = generator.smooth_type(1);
    let [function, at, seed] = generator.divide(size);
    let function = generator.inside_derivative(|generator| generator.lambda(&Type::function([ty.clone()], to.clone()), function));
    let at = generator.exp(ty, at);
    let (x, f) = (generator.fresh("x"), generator.fresh("f"));
    let seed = match to.has_hidden_shape() {
        true => Exp::node(&to, "@ @", parts![name(&f), name(&x)]),
        false => generator.scoped(&[(&x, ty)], |generator| generator.exp(&to, seed)),
    };
    let template = match generator.random.below(3) {
        0 => "let @ = @\nlet @ = @\nin (vjp2 @ @ @).1",
        _ => "let @ = @\nlet @ = @\nin vjp @ @ @",
    };
    let parts = parts![bind(&x), at, bind(&f), function, name(&f), name(&x), seed];
    let exp = Exp::node(ty, template, parts);
    Some(generator.tame_value(exp))
}

/// Several tangents at once; one result of them.
fn many_forward(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if generator.derivatives >= MOST || ty.has_functions() {
        return None;
    }
    let from = generator.smooth_type(1);
    if from.has_hidden_shape() {
        return None;
    }
    let [function, at, seeds] = generator.divide(size);
    let function =
        generator.inside_derivative(|generator| generator.lambda(&Type::function([from.clone()], ty.clone()), function));
    let at = generator.exp(&from, at);
    let seeds = generator.exp(&Type::array(&Size::Const(2), from), seeds);
    let template = match generator.random.below(4) {
        0 => "last (#[unroll] jmp @ @ @)",
        1 => "head (jmp2 @ @ @).1",
        _ => "head (jmp @ @ @)",
    };
    let exp = Exp::node(ty, template, parts![function, at, seeds]);
    Some(generator.tame_value(exp))
}

fn many_reverse(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let discrete = |ty: &Type| matches!(ty, Type::Int | Type::Index);
    if generator.derivatives >= MOST || ty.has_functions() || ty.any(&discrete) {
        return None;
    }
    let to = generator.smooth_type(1);
    if to.has_hidden_shape() {
        return None;
    }
    let [function, at, seeds] = generator.divide(size);
    let function = generator.inside_derivative(|generator| generator.lambda(&Type::function([ty.clone()], to.clone()), function));
    let at = generator.exp(ty, at);
    let seeds = generator.exp(&Type::array(&Size::Const(2), to), seeds);
    let template = match generator.random.below(4) {
        0 => "last (#[unroll] mjp @ @ @)",
        1 => "head (mjp2 @ @ @).1",
        _ => "head (mjp @ @ @)",
    };
    let exp = Exp::node(ty, template, parts![function, at, seeds]);
    Some(generator.tame_value(exp))
}

/// The derived operators, which exist for floats.
fn gradient(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let discrete = |ty: &Type| matches!(ty, Type::Int | Type::Index);
    if generator.derivatives >= MOST || ty.has_functions() || ty.any(&discrete) {
        return None;
    }
    let [function, at] = generator.divide(size);
    let function_type = Type::function([ty.clone()], Type::Number);
    let function = generator.inside_derivative(|generator| generator.lambda(&function_type, function));
    let at = generator.exp(ty, at);
    let x = generator.fresh("x");
    let exp = match generator.random.below(3) {
        0 => Exp::node(ty, "@ @ @@", parts![either("grad", "vjp"), function, at, either("", " 1")]),
        1 => {
            let parts = parts![either("(value_and_grad ", "(vjp2 "), function, " ", at, either(").1", " 1).1")];
            Exp::node(ty, "@@@@@", parts)
        }
        _ => {
            let parts =
                parts![bind(&x), at, either("hvp ", "jvp (\\y -> vjp "), function, either("", " y 1)"), name(&x), name(&x)];
            Exp::node(ty, "let @ = @\nin @@@ @ @", parts)
        }
    };
    Some(generator.tame_value(exp))
}

/// Functions that come with their derivative; they capture nothing.
fn custom_rule(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Number {
        return None;
    }
    let operand = generator.exp(ty, size - 1);
    Some(match generator.random.below(6) {
        0 => {
            let (function, rule) = ("(\\x -> x * 3) ", "(\\_ y' -> 3 * y') ");
            Exp::node(ty, "with_vjp @@@", parts![function, rule, operand]).with_bound(9.0)
        }
        1 => {
            let function = either("f64.exp ", "(\\x -> 5 * x) ");
            let rule = either("(\\y y' -> y * y') ", "(\\_ y' -> 5 * y') ");
            let operand = generator.tame_value(operand);
            Exp::node(ty, "with_vjp @@@", parts![function, rule, operand]).with_bound(3.0)
        }
        2 => {
            let (function, rule) = ("(\\x -> (x, x * x)) ", "(\\(x, y') -> 2 * x * y') ");
            Exp::node(ty, "with_vjp_tape @@@", parts![function, rule, operand]).with_bound(9.0)
        }
        3 => {
            let (function, rule) = ("(\\x -> x * x) ", "(\\x x' -> 2 * x * x') ");
            Exp::node(ty, "with_jvp @@@", parts![function, rule, operand]).with_bound(9.0)
        }
        4 => {
            let other = generator.exp(ty, 1);
            let function = "(\\(x, y) -> ((x, y), x * y * y)) ";
            let rule = "(\\((x, y), z') -> (y * y * z', 2 * x * y * z')) ";
            Exp::node(ty, "with_vjp_tape @@(@, @)", parts![function, rule, operand, other]).with_bound(27.0)
        }
        _ => {
            let other = generator.exp(ty, 1);
            let function = "(\\(x, y) -> x * y) ";
            let rule = "(\\(x, y) (x', y') -> x * y' + y * x') ";
            Exp::node(ty, "with_jvp @@(@, @)", parts![function, rule, operand, other]).with_bound(9.0)
        }
    })
}
