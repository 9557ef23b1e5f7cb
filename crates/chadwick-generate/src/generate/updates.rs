//! Updates in place, scatters and histograms. What is consumed is always a fresh copy.

use super::arrays::array_type;
use super::{Form, Generator, form};
use crate::config::Construct;
use crate::exp::{Exp, bind, name, parts};
use crate::types::{Size, Type};

pub(super) const FORMS: &[Form] = &[
    form(&[Construct::InPlaceUpdates], 25, element_update),
    form(&[Construct::InPlaceUpdates], 12, slice_update),
    form(&[Construct::InPlaceUpdates, Construct::Matrices], 12, matrix_update),
    form(&[Construct::InPlaceUpdates, Construct::ForLoops], 20, updating_loop),
    form(&[Construct::InPlaceUpdates, Construct::Polymorphism], 8, consuming_function),
    form(&[Construct::Scatters], 20, scattered),
    form(&[Construct::Scatters, Construct::Matrices], 8, scattered_2d),
    form(&[Construct::Histograms], 20, histogram),
    form(&[Construct::Histograms], 10, histogram_of_pairs),
    form(&[Construct::Histograms, Construct::Matrices], 8, histogram_2d),
];

fn element_update(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    if !length.is_positive() {
        return None;
    }
    let [array, index, value] = generator.divide(size);
    let array = generator.exp(ty, array);
    let (index, value) = (generator.index(index), generator.exp(element, value));
    Some(match generator.random.chance(50) {
        true => Exp::node(ty, "copy @ with [@ % @] = @", parts![array, index, length, value]),
        false => {
            let a = generator.fresh("a");
            let parts = parts![bind(&a), array, name(&a), index, length, value, name(&a)];
            Exp::node(ty, "let @ = copy @\nlet @[@ % @] = @\nin @", parts)
        }
    })
}

fn slice_update(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (Size::Const(length @ 1..), element) = array_type(ty)? else { return None };
    let start = generator.random.below(*length);
    let count = generator.random.below(length - start + 1);
    let [array, value] = generator.divide(size);
    let array = generator.exp(ty, array);
    let value = generator.exp(&Type::array(&Size::Const(count), element.clone()), value);
    let parts = parts![array, start.to_string(), (start + count).to_string(), value];
    Some(Exp::node(ty, "copy @ with [@:@] = @", parts))
}

fn matrix_update(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (rows, row) = array_type(ty)?;
    let (columns, element) = array_type(row)?;
    if !rows.is_positive() || !columns.is_positive() {
        return None;
    }
    let [array, i, j, value] = generator.divide(size);
    let array = generator.exp(ty, array);
    let (i, j) = (generator.index(i), generator.index(j));
    Some(match generator.random.below(3) {
        0 => {
            let value = generator.exp(element, value);
            Exp::node(ty, "copy @ with [@ % @, @ % @] = @", parts![array, i, rows, j, columns, value])
        }
        1 => {
            let value = generator.exp(row, value);
            Exp::node(ty, "copy @ with [@ % @] = @", parts![array, i, rows, value])
        }
        _ => {
            let value = generator.exp(&Type::array(rows, element.clone()), value);
            Exp::node(ty, "copy @ with [:, @ % @] = @", parts![array, j, columns, value])
        }
    })
}

/// A loop that overwrites its array element by element, reading what it wrote.
fn updating_loop(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    if !length.is_positive() || element.any(&|ty| matches!(ty, Type::Array(..))) || element.has_functions() {
        return None;
    }
    let [array, index, value] = generator.divide(size);
    let array = generator.exp(ty, array);
    let names = ["a", "i", "v"].map(|prefix| generator.fresh(prefix));
    let [a, i, v] = &names;
    let count = generator.trip_count();
    let counter = count.ty.clone();
    let (index, value) =
        generator.scoped(&[(a, ty), (i, &counter)], |generator| (generator.index(index), generator.exp(element, value)));
    let attribute = generator.loop_attribute();
    let dependency = match generator.random.below(5) {
        0 if generator.allows(Construct::Attributes) => "#[true_dep] ",
        _ => "",
    };
    let parts = parts![attribute, dependency, bind(a), array, bind(i), count, bind(v), value, name(a), index, length, name(v)];
    // Whatever the value is, it must not share memory with the array.
    let template = "@loop @@ = copy @ for @ < @ do let @ = copy @ in @ with [@ % @] = @";
    Some(Exp::node(ty, template, parts))
}

fn consuming_function(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (_, element) = array_type(ty)?;
    let [array, index, value] = generator.divide(size);
    let array = generator.exp(ty, array);
    let (index, value) = (generator.index(index), generator.exp(element, value));
    Some(Exp::node(ty, "update_at (copy @) @ @", parts![array, index, value]))
}

/// Writes at distinct positions, some of which may be out of range.
fn scattered(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    let count = generator.size();
    let [dest, values, offset] = generator.divide(size);
    let values = generator.exp(&Type::array(&count, element.clone()), values);
    let offset = generator.index(offset);
    let stride = *generator.random.pick(&["", "2 * ", "- "]);
    let i = generator.fresh("i");
    if generator.random.chance(30) {
        let fill = generator.exp(element, dest);
        let parts = parts![length, fill, bind(&i), stride, name(&i), offset, &count, values];
        return Some(Exp::node(ty, "spread @ @ (map (\\@ -> @@ + @ % 4) (iota @)) @", parts));
    }
    let dest = generator.exp(ty, dest);
    let parts = parts![dest, bind(&i), stride, name(&i), offset, &count, values];
    Some(Exp::node(ty, "scatter (copy @) (map (\\@ -> @@ + @ % 4) (iota @)) @", parts))
}

fn scattered_2d(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (_, row) = array_type(ty)?;
    let (_, element) = array_type(row)?;
    let count = generator.size();
    let [dest, values, offset] = generator.divide(size);
    let dest = generator.exp(ty, dest);
    let values = generator.exp(&Type::array(&count, element.clone()), values);
    let i = generator.fresh("i");
    let parts = parts![dest, bind(&i), name(&i), generator.index(offset), &count, values];
    Some(Exp::node(ty, "scatter_2d (copy @) (map (\\@ -> (@, @ % 3)) (iota @)) @", parts))
}

fn histogram(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, Type::Number) = array_type(ty)? else { return None };
    let count = generator.size();
    let [dest, indices, values] = generator.divide(size);
    let indices = generator.exp(&Type::array(&count, Type::Index), indices);
    let values = generator.exp(&Type::numbers(&count), values);
    let choice = generator.random.below(6);
    let exp = if choice < 2 {
        let (operator, neutral) = if choice == 0 { ("(+)", "0") } else { ("(*)", "1") };
        Exp::node(ty, "hist @ @ @ @ @", parts![operator, neutral, length, indices, values])
    } else {
        let operators = [("(+)", "0"), ("(*)", "1"), ("r.max", "r.lowest"), ("(\\a b -> r.min a b)", "r.highest")];
        let (operator, neutral) = operators[choice - 2];
        let dest = generator.exp(ty, dest);
        Exp::node(ty, "reduce_by_index (copy @) @ @ @ @", parts![dest, operator, neutral, indices, values])
    };
    Some(generator.tame_value(exp))
}

/// A histogram with an operator of our own on pairs: the larger first component wins, sums on the side.
fn histogram_of_pairs(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (_, Type::Tuple(types)) = array_type(ty)? else { return None };
    if types.iter().any(|ty| *ty != Type::Number) || types.len() != 2 {
        return None;
    }
    let (_, pair) = array_type(ty)?;
    let count = generator.size();
    let [dest, indices, values] = generator.divide(size);
    let dest = generator.exp(ty, dest);
    let indices = generator.exp(&Type::array(&count, Type::Index), indices);
    let values = generator.exp(&Type::array(&count, pair.clone()), values);
    let (operator, neutral) = match generator.random.chance(50) {
        true => ("(\\(a, b) (c, d) -> (r.max a c, b + d))", "(r.lowest, 0)"),
        // Multiplication of complex numbers.
        false => ("(\\(a, b) (c, d) -> (a * c - b * d, a * d + b * c))", "(1, 0)"),
    };
    let exp = Exp::node(ty, "reduce_by_index (copy @) @ @ @ @", parts![dest, operator, neutral, indices, values]);
    Some(generator.tame_value(exp))
}

fn histogram_2d(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (_, row) = array_type(ty)?;
    let (columns, Type::Number) = array_type(row)? else { return None };
    let count = generator.size();
    let [dest, indices, values] = generator.divide(size);
    let dest = generator.exp(ty, dest);
    if generator.random.chance(50) {
        // Whole rows are added.
        let indices = generator.exp(&Type::array(&count, Type::Index), indices);
        let values = generator.exp(&Type::array(&count, row.clone()), values);
        let parts = parts![dest, columns, indices, values];
        let exp = Exp::node(ty, "reduce_by_index (copy @) (map2 (+)) (replicate @ 0) @ @", parts);
        return Some(generator.tame_value(exp));
    }
    let indices = generator.exp(&Type::array(&count, Type::pair(Type::Index, Type::Index)), indices);
    let values = generator.exp(&Type::numbers(&count), values);
    let exp = Exp::node(ty, "reduce_by_index_2d (copy @) (+) 0 @ @", parts![dest, indices, values]);
    Some(generator.tame_value(exp))
}
