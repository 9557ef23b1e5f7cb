//! Numbers, integers and booleans.

use super::{Form, Generator, form};
use crate::config::Construct;
use crate::exp::{BOUND, Exp, either, parts};
use crate::types::Type;

pub(super) const FORMS: &[Form] = &[
    form(&[], 50, unary),
    form(&[], 120, binary),
    form(&[], 12, ternary),
    form(&[], 10, from_integer),
    form(&[], 6, from_boolean),
    form(&[], 30, integer),
    form(&[Construct::DataIndices], 20, index_from_number),
    form(&[], 20, index_from_integer),
    form(&[], 60, comparison),
    form(&[], 15, connective),
    form(&[], 6, quantifier),
];

/// Functions of one number, used once: in `f64`, in `i64`, and the bound of the result. In `i64` there are only operations that are
/// exact in wrapping arithmetic.
const UNARY: &[(&str, &str, f64)] = &[
    ("f64.sin @", "(\\t -> t * t - 1) @", 1.0),
    ("f64.cos @", "(\\t -> (t - 1) * (t + 2)) @", 1.0),
    ("f64.tanh @", "i64.neg @", 1.0),
    ("f64.exp (f64.sin @)", "(\\t -> t * t * t) @", 2.8),
    ("f64.exp (- (f64.abs @))", "i64.abs @", 1.0),
    ("f64.log1p (f64.abs @)", "i64.abs (@ - 1)", BOUND),
    ("f64.log (1.5 + f64.sin @)", "(\\t -> 3 * t * t - t) @", 1.0),
    ("f64.sqrt (1.5 + f64.cos @)", "@ * 2", 1.6),
    ("f64.atan @", "@ + 1", 1.6),
    ("f64.asinh @", "@ * 4", BOUND),
    ("f64.erf @", "(\\t -> t * (5 - t)) @", 1.0),
    ("f64.recip (1.5 + f64.cos @)", "@ * (-2)", 2.0),
    ("f64.abs @", "i64.abs @", BOUND),
    ("- @", "- @", BOUND),
    ("f64.neg @", "i64.neg @", BOUND),
    ("@ * 0.5", "@ * 5", BOUND),
    ("0.3 - @", "3 - @", BOUND + 0.3),
    ("(0.5 *) @", "(4 *) @", BOUND),
    ("(+ 0.75) @", "(+ 1) @", BOUND + 0.75),
    ("f64.sin @ ** 2", "@ ** 2", 1.0),
    ("f64.cos @ ** 3.0", "@ ** 3", 1.0),
    ("(1.5 + f64.sin @) ** 0.5", "(@ - 1) ** 2", 1.6),
    ("f64.sinh (f64.sin @)", "7 * @", 1.2),
    ("f64.sgn @ * 0.5", "i64.sgn @", 0.5),
    ("f64.floor (@ * 2) * 0.25", "i64.sgn (@ - 2)", BOUND),
    ("f64.max 0 @", "i64.max 0 @", BOUND),
    ("f64.sinpi (@ * 0.25)", "(\\t -> (t - 4) * t) @", 1.0),
    ("f64.hypot 0.5 (f64.cos @)", "@ * 3", 1.2),
];

/// What stands before, between and after the operands of a function of two numbers, in both types, and the bound of the result.
type BinaryForm = ([(&'static str, &'static str); 3], fn(f64, f64) -> f64);

const BINARY: &[BinaryForm] = &[
    ([("", ""), (" + ", " + "), ("", "")], |x, y| x + y),
    ([("", ""), (" - ", " - "), ("", "")], |x, y| x + y),
    ([("", ""), (" * ", " * "), ("", "")], |x, y| x * y),
    ([("", ""), (" * ", " * "), ("", "")], |x, y| x * y),
    ([("", ""), (" * ", " * "), ("", "")], |x, y| x * y),
    ([("r.max ", "r.max "), (" ", " "), ("", "")], f64::max),
    ([("r.min ", "r.min "), (" ", " "), ("", "")], f64::max),
    ([("", ""), (" `r.min` ", " `r.min` "), ("", "")], f64::max),
    ([("", ""), (" r.+ ", " r.+ "), ("", "")], |x, y| x + y),
    ([("(*) ", "(*) "), (" ", " "), ("", "")], |x, y| x * y),
    ([("(\\a b -> r.(a * b)) ", "(\\a b -> r.(a * b)) "), (" ", " "), ("", "")], |x, y| x * y),
    ([("", ""), (" / (1.5 + f64.abs ", " * (2 - "), (")", ")")], |x, _| x),
    ([("f64.atan2 (1.5 + f64.abs ", "2 * ("), (") ", ") - "), ("", "")], |_, _| 1.6),
    ([("f64.hypot (1 + f64.abs ", "i64.max (3 + "), (") ", ") "), ("", "")], |x, y| x + y + 1.0),
    ([("(1.5 + f64.sin ", "("), (") ** ", ") * "), ("", "")], |_, y| 2.5f64.powf(y)),
    ([("f64.copysign ", "i64.min "), (" ", " "), ("", "")], f64::max),
];

impl Generator<'_> {
    /// A number that may be larger than [`BOUND`], but not by much.
    pub fn number(&mut self, size: usize) -> Exp {
        let ty = Type::Number;
        let exp = if size <= 1 { self.leaf(&ty) } else { self.form(&ty, size) };
        if exp.bound > 3.0 * BOUND { self.tamed(exp) } else { exp }
    }

    /// An integer for use as an index.
    pub fn index(&mut self, size: usize) -> Exp {
        self.exp(&Type::Index, size)
    }
}

fn unary(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Number {
        return None;
    }
    let (float, integer, bound) = *generator.random.pick(UNARY);
    let operand = generator.exp(ty, size - 1);
    let (before, after) = float.split_once('@')?;
    let (integer_before, integer_after) = integer.split_once('@')?;
    let parts = parts![either(before, integer_before), operand, either(after, integer_after)];
    Some(Exp::node(ty, "@@@", parts).with_bound(bound))
}

fn binary(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Number {
        return None;
    }
    let [left, right] = generator.divide(size);
    let (left, right) = (generator.number(left), generator.number(right));
    let ([before, between, after], bound) = generator.random.pick(BINARY);
    let bound = bound(left.bound, right.bound);
    let text = |(f64, i64): &(&str, &str)| either(f64, i64);
    let parts = parts![text(before), left, text(between), right, text(after)];
    Some(Exp::node(ty, "@@@@@", parts).with_bound(bound))
}

fn ternary(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Number {
        return None;
    }
    let [a, b, c] = generator.divide(size);
    let (a, b, c) = (generator.exp(ty, a), generator.exp(ty, b), generator.exp(ty, c));
    Some(match generator.random.below(3) {
        0 => {
            let parts = parts![either("f64.mad ", ""), a, either(" ", " * "), b, either(" ", " + "), c];
            Exp::node(ty, "@@@@@@", parts).with_bound(BOUND * BOUND + BOUND)
        }
        1 => {
            let parts = parts![either("f64.lerp ", ""), a, either(" ", " * "), b, either(" ", " - "), c];
            Exp::node(ty, "@@@@@@", parts).with_bound(2.0 * BOUND * BOUND)
        }
        _ => Exp::node(ty, "r.sum [@, @, @]", parts![a, b, c]).with_bound(3.0 * BOUND),
    })
}

fn from_integer(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let value = match ty {
        Type::Number => generator.exp(&Type::Int, size - 1),
        _ => return None,
    };
    Some(Exp::node(ty, "@r.i64 @", parts![either("0.25 * ", ""), value]).with_bound(2.0 * BOUND))
}

fn from_boolean(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    match ty {
        Type::Number => Some(Exp::node(ty, "r.bool @", parts![generator.exp(&Type::Bool, size - 1)]).with_bound(1.0)),
        Type::Int => Some(Exp::node(ty, "i64.bool @", parts![generator.exp(&Type::Bool, size - 1)])),
        _ => None,
    }
}

fn integer(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Int && *ty != Type::Index {
        return None;
    }
    let [left, right] = generator.divide(size);
    let (left, right) = (generator.exp(ty, left), generator.exp(ty, right));
    let template =
        *generator.random.pick(&["@ + @", "@ - @", "i64.max @ @", "i64.min @ @", "@ * @ % 7", "@ / (1 + i64.abs @ % 3)"]);
    Some(Exp::node(ty, template, parts![left, right]))
}

fn index_from_number(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Index {
        return None;
    }
    let number = generator.exp(&Type::Number, size - 1);
    Some(Exp::node(ty, "@@@", parts![either("i64.f64 (f64.floor (3.7 * ", "i64.abs ("), number, either("))", " % 17)")]))
}

fn index_from_integer(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let integer = match ty {
        Type::Index => generator.exp(&Type::Int, size - 1),
        _ => return None,
    };
    Some(Exp { ty: Type::Index, ..integer })
}

fn comparison(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Bool {
        return None;
    }
    let operands = match generator.random.below(10) {
        _ if !generator.allows(Construct::DataIndices) => Type::Int,
        0..=5 => Type::Number,
        6..=8 => Type::Index,
        _ => generator.data_type(1),
    };
    let ordered = matches!(operands, Type::Number | Type::Index | Type::Int);
    let template = match ordered {
        true => *generator.random.pick(&["@ < @", "@ > @", "@ <= @", "@ >= @", "@ == @", "@ != @"]),
        false => *generator.random.pick(&["@ == @", "@ != @"]),
    };
    let [left, right] = generator.divide(size);
    let (left, right) = (generator.exp(&operands, left), generator.exp(&operands, right));
    Some(Exp::node(ty, template, parts![left, right]))
}

fn connective(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Bool {
        return None;
    }
    if generator.random.chance(25) {
        return Some(Exp::node(ty, "!@", parts![generator.exp(ty, size - 1)]));
    }
    let [left, right] = generator.divide(size);
    let (left, right) = (generator.exp(ty, left), generator.exp(ty, right));
    let template = if generator.random.chance(50) { "@ && @" } else { "@ || @" };
    Some(Exp::node(ty, template, parts![left, right]))
}

fn quantifier(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Bool {
        return None;
    }
    let length = generator.size();
    let element = generator.data_type(1);
    let [array, body] = generator.divide(size);
    let array = generator.exp(&Type::array(&length, element.clone()), array);
    let x = generator.fresh("x");
    let body = generator.scoped(&[(&x, &element)], |generator| generator.exp(&Type::Bool, body));
    let quantifier = if generator.random.chance(50) { "any" } else { "all" };
    Some(Exp::node(ty, "@ (\\(@: @) -> @) @", parts![quantifier, crate::exp::bind(&x), &element, body, array]))
}
