//! Reductions and scans, with operators that are associative.

use super::arrays::array_type;
use super::{Form, Generator, data, form};
use crate::config::Construct;
use crate::exp::{Exp, bind, either, parts};
use crate::types::{Size, Type};

pub(super) const FORMS: &[Form] = &[
    form(&[], 40, sum_of_products),
    form(&[], 40, reduction),
    form(&[Construct::GeneralReductions], 14, reduction_of_pairs),
    form(&[Construct::GeneralReductions], 8, position_of_largest),
    form(&[Construct::Scans], 25, scan),
    form(&[Construct::Scans, Construct::GeneralReductions], 15, scan_of_pairs),
    form(&[Construct::Modules], 8, module_fold),
    form(&[Construct::Modules, Construct::Scans], 8, module_prefixes),
    form(&[Construct::Modules, Construct::Matrices], 5, matrix_fold),
];

/// An associative operator on a type, its neutral element, and whether that may be the result.
fn operator(generator: &mut Generator, ty: &Type) -> Option<(&'static str, &'static str, bool)> {
    let operators: &[(&str, &str, bool)] = match ty {
        Type::Number => &[
            ("(+)", "0", true),
            ("(\\a b -> a + b)", "0", true),
            ("(r.*)", "1", true),
            ("r.max", "r.lowest", false),
            ("r.min", "r.highest", false),
            ("(\\a b -> a * b)", "1", true),
            ("(\\a b -> if a < b then b else a)", "r.lowest", false),
            ("(\\a b -> a + b + a * b)", "0", true),
        ],
        Type::Int => &[("(+)", "0", true), ("i64.max", "0", true)],
        Type::Bool => &[("(&&)", "true", true), ("(||)", "false", true)],
        Type::Tuple(types) if types.len() == 2 && types.iter().all(|ty| *ty == Type::Number) => &[
            // Linear functions, complex numbers, sums and products side by side.
            ("(\\(a, b) (c, d) -> (a * c, b * c + d))", "(1, 0)", true),
            ("(\\(a, b) (c, d) -> (a * c - b * d, a * d + b * c))", "(1, 0)", true),
            ("(\\(a, b) (c, d) -> (a + c, b * d))", "(0, 1)", true),
            ("(\\(a, b) (c, d) -> if a >= c then (a, b) else (c, d))", "(r.lowest, 0)", false),
        ],
        _ => return None,
    };
    Some(*generator.random.pick(operators))
}

fn sum_of_products(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Number {
        return None;
    }
    let length = generator.size();
    let [left, right] = generator.divide(size);
    let (left, right) = (generator.exp(&Type::numbers(&length), left), generator.exp(&Type::numbers(&length), right));
    Some(Exp::node(ty, "r.sum (map2 (*) @ @)", parts![left, right]).with_bound(15.0))
}

fn reduction(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if !matches!(ty, Type::Number | Type::Int | Type::Bool) {
        return None;
    }
    let (operator, neutral, monoid) = operator(generator, ty)?;
    let length = if monoid { generator.size() } else { generator.positive_size() };
    let array = generator.exp(&Type::array(&length, ty.clone()), size - 1);
    let reduce = if generator.random.chance(20) { "reduce_comm" } else { "reduce" };
    Some(Exp::node(ty, "@ @ @ @", parts![reduce, operator, neutral, array]).with_bound(20.0))
}

fn reduction_of_pairs(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (operator, neutral, monoid) = match ty {
        Type::Tuple(_) => operator(generator, ty)?,
        _ => return None,
    };
    let length = if monoid { generator.size() } else { generator.positive_size() };
    let array = generator.exp(&Type::array(&length, ty.clone()), size - 1);
    let reduced = Exp::node(ty, "reduce @ @ @", parts![operator, neutral, array]);
    Some(generator.tame_value(reduced))
}

/// The largest number and where it is.
fn position_of_largest(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let first = matches!(ty, Type::Number);
    if !first && *ty != Type::Int {
        return None;
    }
    let length = generator.positive_size();
    let array = generator.exp(&Type::numbers(&length), size - 1);
    let parts = parts![array, &length, if first { "0" } else { "1" }];
    let template = "(reduce (\\(a, i) (b, j) -> if a >= b then (a, i) else (b, j)) (r.lowest, -1) (zip @ (iota @))).@";
    Some(Exp::atom(ty, template, parts))
}

fn scan(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (_, element) = array_type(ty)?;
    if !matches!(element, Type::Number | Type::Int | Type::Bool) {
        return None;
    }
    let (operator, neutral, monoid) = operator(generator, element)?;
    let array = generator.exp(ty, size - 1);
    let exclusive = monoid && generator.random.chance(30);
    let scan = if exclusive { "exscan" } else { "scan" };
    let scanned = Exp::node(ty, "@ @ @ @", parts![scan, operator, neutral, array]);
    Some(generator.tame_value(scanned))
}

fn scan_of_pairs(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (_, element) = array_type(ty)?;
    if let Type::Array(length, inner) = element
        && **inner == Type::Number
    {
        let array = generator.exp(ty, size - 1);
        let scanned = Exp::node(ty, "scan (map2 (+)) (replicate @ 0) @", parts![length, array]);
        return Some(generator.tame_value(scanned));
    }
    let (operator, neutral, _) = match element {
        Type::Tuple(_) => operator(generator, element)?,
        _ => return None,
    };
    let array = generator.exp(ty, size - 1);
    let scanned = Exp::node(ty, "scan @ @ @", parts![operator, neutral, array]);
    Some(generator.tame_value(scanned))
}

/// A linear recurrence as a fold of a module.
fn module_fold(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Number {
        return None;
    }
    let length = generator.size();
    if generator.random.chance(50) {
        let array = generator.exp(&Type::numbers(&length), size - 1);
        return Some(Exp::node(ty, "sums.fold @", parts![array]).with_bound(10.0));
    }
    let element = Type::pair(Type::Number, Type::Number);
    let array = generator.exp(&Type::array(&length, element), size - 1);
    let (a, b) = (generator.fresh("a"), generator.fresh("b"));
    let parts = parts![bind(&a), bind(&b), array, crate::exp::name(&a), either(" + 0.5 * ", " + 3 * "), crate::exp::name(&b)];
    Some(Exp::node(ty, "let (@, @) = lines.fold @ in @@@", parts).with_bound(40.0))
}

fn module_prefixes(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (_, element) = array_type(ty)?;
    let pair = Type::pair(Type::Number, Type::Number);
    let module = match element {
        Type::Number => "sums",
        element if *element == pair => "lines",
        _ => return None,
    };
    let prefixes = Exp::node(ty, "@.prefixes @", parts![module, generator.exp(ty, size - 1)]);
    Some(generator.tame_value(prefixes))
}

fn matrix_fold(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Number {
        return None;
    }
    let two = Size::Const(2);
    let element = Type::array(&two, Type::numbers(&two));
    let length = generator.size();
    let array = data::parenthesised(generator.exp(&Type::array(&length, element), size - 1));
    Some(match generator.random.chance(50) {
        true => Exp::atom(ty, "(matrices.fold @)[0, 1]", parts![array]).with_bound(60.0),
        false => {
            let folded = "r.sum (flatten (map (\\m -> m[0]) (matrices.prefixes @)))";
            Exp::node(ty, folded, parts![array]).with_bound(60.0)
        }
    })
}
