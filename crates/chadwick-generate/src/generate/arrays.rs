//! Arrays: building, mapping, rearranging.

use super::{Form, Generator, data, form};
use crate::config::Construct;
use crate::exp::{Exp, bind, name, parts};
use crate::types::{Size, Type};

pub(super) const FORMS: &[Form] = &[
    form(&[], 70, map),
    form(&[], 40, map2),
    form(&[], 50, tabulate),
    form(&[], 12, replicate),
    form(&[], 25, literal),
    form(&[], 10, zipped),
    form(&[], 10, unzipped),
    form(&[], 16, rearranged),
    form(&[], 16, part_of_larger),
    form(&[], 12, concatenated),
    form(&[Construct::DynamicSizes], 8, partitioned),
    form(&[Construct::DynamicSizes], 10, filtered),
    form(&[Construct::DynamicSizes], 4, flat_mapped),
    form(&[Construct::DynamicSizes], 4, branches_of_different_sizes),
    form(&[], 20, indexed),
    form(&[], 6, integers),
    form(&[Construct::RaggedArrays], 4, ragged_rows),
];

/// The size and element type of an array type.
pub(super) fn array_type(ty: &Type) -> Option<(&Size, &Type)> {
    match ty {
        Type::Array(size, element) => Some((size, element)),
        _ => None,
    }
}

fn map(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    let from = generator.any_type(1);
    let [body, array] = generator.divide(size);
    let function_type = Type::function([from.clone()], element.clone());
    let function = match generator.random.chance(60) {
        true => generator.applied_lambda(&function_type, body),
        false => generator.exp(&function_type, body),
    };
    let array = generator.exp(&Type::array(length, from), array);
    Some(match generator.random.below(4) {
        0 => Exp::node(ty, "@ |> map @", parts![array, function]),
        _ => Exp::node(ty, "map @ @", parts![function, array]),
    })
}

fn map2(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    let (first, second) = (generator.any_type(1), generator.data_type(1));
    if *element == Type::Number && generator.random.chance(25) {
        let [left, right] = generator.divide(size);
        let (left, right) = (generator.exp(ty, left), generator.exp(ty, right));
        let operator = *generator.random.pick(&["(*)", "r.max", "r.min"]);
        let product = Exp::node(ty, "map2 @ @ @", parts![operator, left, right]);
        return Some(if operator == "(*)" { generator.tame_value(product) } else { product });
    }
    let [body, left, right] = generator.divide(size);
    let function = generator.applied_lambda(&Type::function([first.clone(), second.clone()], element.clone()), body);
    let (left, right) = (generator.exp(&Type::array(length, first), left), generator.exp(&Type::array(length, second), right));
    Some(match generator.random.below(4) {
        0 => {
            let third = generator.data_type(0);
            let (z, zs) = (generator.fresh("_z"), generator.exp(&Type::array(length, third.clone()), 1));
            let parts = parts![bind(&z), &third, function, left, right, zs];
            // The third array only has to have the right size.
            Exp::node(ty, "map3 ((\\f x y (@: @) -> f x y) @) @ @ @", parts)
        }
        1 => Exp::node(ty, "map (\\(x, y) -> @ x y) (zip @ @)", parts![function, left, right]),
        _ => Exp::node(ty, "map2 @ @ @", parts![function, left, right]),
    })
}

fn tabulate(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    let i = generator.fresh("i");
    let body = generator.scoped(&[(&i, &Type::Int)], |generator| generator.exp(element, size - 1));
    Some(match generator.random.below(3) {
        0 => Exp::node(ty, "map (\\@ -> @) (iota @)", parts![bind(&i), body, length]),
        1 => Exp::node(ty, "tabulate @ \\@ -> @", parts![length, bind(&i), body]),
        _ => Exp::node(ty, "tabulate @ (\\@ -> @)", parts![length, bind(&i), body]),
    })
}

fn replicate(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    let value = generator.exp(element, size - 1);
    Some(match generator.random.chance(30) {
        true => Exp::atom(ty, "(rep @ : @)", parts![value, ty]),
        false => Exp::node(ty, "replicate @ @", parts![length, value]),
    })
}

fn literal(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    match array_type(ty)? {
        (Size::Const(length @ 1..=4), element) => {
            let values = (0..*length).map(|_| generator.exp(element, (size - 1) / length)).collect();
            Some(data::array_literal(ty, values))
        }
        _ => None,
    }
}

fn zipped(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, Type::Tuple(types)) = array_type(ty)? else { return None };
    let arrays: Vec<Exp> =
        types.iter().map(|ty| generator.exp(&Type::array(length, ty.clone()), (size - 1) / types.len())).collect();
    Some(match arrays.len() {
        2 => Exp::node(ty, "zip @ @", arrays.into_iter().map(Into::into).collect()),
        3 => Exp::node(ty, "zip3 @ @ @", arrays.into_iter().map(Into::into).collect()),
        _ => return None,
    })
}

/// One of the arrays of an array of pairs.
fn unzipped(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    let other = generator.any_type(1);
    let second = generator.random.chance(50);
    let pair = if second { Type::pair(other, element.clone()) } else { Type::pair(element.clone(), other) };
    let pairs = generator.exp(&Type::array(length, pair), size - 1);
    let field = if second { "1" } else { "0" };
    Some(match generator.random.chance(50) {
        true => Exp::atom(ty, "(unzip @).@", parts![pairs, field]),
        false => Exp::node(ty, "map (.@) @", parts![field, pairs]),
    })
}

fn rearranged(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    array_type(ty)?;
    let [array, by] = generator.divide(size);
    let array = generator.exp(ty, array);
    Some(match generator.random.below(4) {
        0 => Exp::node(ty, "reverse @", parts![array]),
        1 => Exp::node(ty, "copy @", parts![array]),
        2 => Exp::node(ty, "@[::-1] :> @", parts![data::parenthesised(array), ty]),
        _ => Exp::node(ty, "rotate @ @", parts![generator.index(by), array]),
    })
}

/// The beginning, the end or the middle of a larger array, or every second element of one.
fn part_of_larger(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (Size::Const(length), element) = array_type(ty)? else { return None };
    let length = *length;
    let larger = |extra: usize| Type::array(&Size::Const(length + extra), element.clone());
    Some(match generator.random.below(5) {
        0 => Exp::node(ty, "take @ @", parts![length.to_string(), generator.exp(&larger(1), size - 1)]),
        1 => Exp::node(ty, "drop 1 @", parts![generator.exp(&larger(1), size - 1)]),
        2 => {
            let array = data::parenthesised(generator.exp(&larger(2), size - 1));
            Exp::atom(ty, "@[1:@]", parts![array, (length + 1).to_string()])
        }
        3 => {
            let array = data::parenthesised(generator.exp(&larger(length), size - 1));
            Exp::node(ty, "@[::2] :> @", parts![array, ty])
        }
        _ => {
            let larger = larger(1);
            let array = generator.exp(&larger, size - 1);
            let which = *generator.random.pick(&["tail", "init"]);
            Exp::node(ty, "@ @", parts![which, array])
        }
    })
}

fn concatenated(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    let [left, right] = generator.divide(size);
    match length {
        Size::Const(length) => {
            let first = generator.random.below(length + 1);
            let of = |length: usize| Type::array(&Size::Const(length), element.clone());
            let (left, right) = (generator.exp(&of(first), left), generator.exp(&of(length - first), right));
            Some(Exp::node(ty, "@ ++ @", parts![left, right]))
        }
        Size::Named { .. } => {
            let extra = generator.size();
            let (left, right) = (generator.exp(ty, left), generator.exp(&Type::array(&extra, element.clone()), right));
            Some(match generator.random.chance(50) {
                true => Exp::node(ty, "take @ (@ ++ @)", parts![length, left, right]),
                false => Exp::node(ty, "drop @ (concat @ @) :> @", parts![&extra, right, left, ty]),
            })
        }
    }
}

fn predicate(generator: &mut Generator, element: &Type, size: usize) -> Exp {
    generator.applied_lambda(&Type::function([element.clone()], Type::Bool), size)
}

/// Those elements for which something holds, then the others.
fn partitioned(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (_, element) = array_type(ty)?;
    let [test, array] = generator.divide(size);
    let (test, array) = (predicate(generator, element, test), generator.exp(ty, array));
    let (yes, no) = (generator.fresh("yes"), generator.fresh("no"));
    let parts = parts![bind(&yes), bind(&no), test, array, name(&no), name(&yes), ty];
    Some(Exp::node(ty, "let (@, @) = partition @ @\nin @ ++ @ :> @", parts))
}

/// An array whose size only the value knows, bound with its size.
fn filtered(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = (generator.size(), generator.any_type(1));
    let [test, array, body] = generator.divide(size);
    let test = predicate(generator, &element, test);
    let array = generator.exp(&Type::array(&length, element.clone()), array);
    let (k, kept) = (generator.fresh("k"), generator.fresh("ys"));
    let unknown = Size::Named { name: k.clone(), positive: false };
    let kept_type = Type::array(&unknown, element);
    let body = generator
        .with_size_variable(&unknown, |generator| generator.scoped(&[(&kept, &kept_type)], |generator| generator.exp(ty, body)));
    let parts = parts![bind(&k), bind(&kept), &kept_type, test, array, body];
    Some(Exp::node(ty, "let [@] (@: @) = filter @ @\nin @", parts))
}

fn flat_mapped(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Number {
        return None;
    }
    let length = generator.size();
    let [body, array] = generator.divide(size);
    let names = ["i", "j"].map(|prefix| generator.fresh(prefix));
    let [i, j] = &names;
    let variables = [(i.as_str(), &Type::Int), (j.as_str(), &Type::Int)];
    let body = generator.scoped(&variables, |generator| generator.exp(&Type::Number, body));
    let array = generator.exp(&Type::array(&length, Type::Int), array);
    let parts = parts![bind(i), name(i), bind(j), body, array];
    Some(Exp::node(ty, "r.sum (flatmap' (\\@ -> tabulate (i64.abs @ % 4) (\\@ -> @)) @).3", parts).with_bound(20.0))
}

/// An array whose size depends on a condition.
fn branches_of_different_sizes(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let element = generator.data_type(1);
    let (first, second) = (generator.size(), generator.size());
    let [condition, then, otherwise, body] = generator.divide(size);
    let condition = generator.exp(&Type::Bool, condition);
    let then = generator.exp(&Type::array(&first, element.clone()), then);
    let otherwise = generator.exp(&Type::array(&second, element.clone()), otherwise);
    let (k, chosen) = (generator.fresh("k"), generator.fresh("ys"));
    let unknown = Size::Named { name: k.clone(), positive: first.is_positive() && second.is_positive() };
    let chosen_type = Type::array(&unknown, element);
    let body = generator.with_size_variable(&unknown, |generator| {
        generator.scoped(&[(&chosen, &chosen_type)], |generator| generator.exp(ty, body))
    });
    let parts = parts![bind(&k), bind(&chosen), &chosen_type, condition, then, otherwise, body];
    Some(Exp::node(ty, "let [@] (@: @) = if @ then @ else @\nin @", parts))
}

/// An element of an array.
fn indexed(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let length = generator.positive_size();
    let [array, index] = generator.divide(size);
    let array = data::parenthesised(generator.exp(&Type::array(&length, ty.clone()), array));
    let index = generator.index(index);
    Some(match generator.random.below(6) {
        0 => Exp::node(ty, "head @", parts![array]),
        1 => Exp::node(ty, "last @", parts![array]),
        _ => Exp::atom(ty, "@[@ % @]", parts![array, index, &length]),
    })
}

fn integers(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    match ty {
        Type::Array(length, element) if matches!(**element, Type::Int | Type::Index) => Some(match generator.random.below(3) {
            0 => Exp::node(ty, "iota @", parts![length]),
            1 => Exp::atom(ty, "(0..<@)", parts![length]),
            _ => Exp::node(ty, "indices @", parts![generator.exp(&Type::numbers(length), size - 1)]),
        }),
        Type::Int => {
            let length = generator.size();
            let element = generator.data_type(1);
            Some(Exp::node(ty, "length @", parts![generator.exp(&Type::array(&length, element), size - 1)]))
        }
        _ => None,
    }
}

/// Rows of different lengths, and what becomes of them.
fn ragged_rows(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    let [row, body] = generator.divide(size);
    let names = ["i", "j", "v", "k", "row"].map(|prefix| generator.fresh(prefix));
    let [i, j, v, k, numbers] = &names;
    let variables = [(i.as_str(), &Type::Int), (j.as_str(), &Type::Int)];
    let row = generator.scoped(&variables, |generator| generator.exp(&Type::Number, row));
    let unknown = Size::Named { name: k.clone(), positive: false };
    let body = generator.with_size_variable(&unknown, |generator| {
        generator.scoped(&[(numbers, &Type::numbers(&unknown))], |generator| generator.exp(element, body))
    });
    let parts = parts![bind(v), bind(k), bind(numbers), name(k), name(v), body, bind(i), name(i), bind(j), row, length];
    let template = "map (\\(@: ragged) -> let [@] (@: [@]num) = @ in @) \
                    (map (\\@ -> ragged_of (tabulate (@ % 3) (\\@ -> @))) (iota @))";
    Some(Exp::node(ty, template, parts))
}
