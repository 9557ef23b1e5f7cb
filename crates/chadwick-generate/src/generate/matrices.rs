//! Arrays of arrays.

use super::arrays::array_type;
use super::{Form, Generator, data, form};
use crate::config::Construct;
use crate::exp::{Exp, bind, parts};
use crate::types::{Size, Type};

pub(super) const FORMS: &[Form] = &[
    form(&[Construct::Matrices], 30, transposed),
    form(&[Construct::Matrices], 25, tabulated),
    form(&[Construct::Matrices], 15, outer_product),
    form(&[Construct::Matrices], 15, unflattened),
    form(&[Construct::Matrices], 10, flattened),
    form(&[Construct::Matrices], 8, product),
    form(&[Construct::Matrices], 12, matrix_times_vector),
    form(&[Construct::Matrices], 8, row_or_column),
    form(&[Construct::Matrices], 8, column_reduction),
    form(&[Construct::Matrices], 6, element_of_matrix),
];

/// Both sizes and the element type of an array of arrays.
fn matrix_type(ty: &Type) -> Option<(&Size, &Size, &Type)> {
    let (rows, row) = array_type(ty)?;
    let (columns, element) = array_type(row)?;
    Some((rows, columns, element))
}

fn matrix(rows: &Size, columns: &Size, element: &Type) -> Type {
    Type::array(rows, Type::array(columns, element.clone()))
}

fn transposed(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (rows, columns, element) = matrix_type(ty)?;
    Some(Exp::node(ty, "transpose @", parts![generator.exp(&matrix(columns, rows, element), size - 1)]))
}

fn tabulated(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (rows, columns, element) = matrix_type(ty)?;
    let (i, j) = (generator.fresh("i"), generator.fresh("j"));
    let variables = [(i.as_str(), &Type::Int), (j.as_str(), &Type::Int)];
    let body = generator.scoped(&variables, |generator| generator.exp(element, size - 1));
    Some(Exp::node(ty, "tabulate_2d @ @ (\\@ @ -> @)", parts![rows, columns, bind(&i), bind(&j), body]))
}

fn outer_product(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (rows, columns, element) = matrix_type(ty)?;
    let (first, second) = (generator.data_type(0), generator.data_type(1));
    let [body, left, right] = generator.divide(size);
    let (x, y) = (generator.fresh("x"), generator.fresh("y"));
    let body = generator.scoped(&[(&x, &first), (&y, &second)], |generator| generator.exp(element, body));
    let left = generator.exp(&Type::array(rows, first.clone()), left);
    let right = generator.exp(&Type::array(columns, second.clone()), right);
    let parts = parts![bind(&x), &first, bind(&y), &second, body, right, left];
    Some(Exp::node(ty, "map (\\(@: @) -> map (\\(@: @) -> @) @) @", parts))
}

fn unflattened(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (rows, columns, element) = matrix_type(ty)?;
    if let (Size::Const(rows), Size::Const(columns)) = (rows, columns) {
        let flat = generator.exp(&Type::array(&Size::Const(rows * columns), element.clone()), size - 1);
        let parts = parts![flat, rows.to_string(), columns.to_string(), element, ty];
        return Some(Exp::node(ty, "unflatten (@ :> [@ * @]@) : @", parts));
    }
    Some(Exp::node(ty, "unflatten (flatten @)", parts![generator.exp(ty, size - 1)]))
}

fn flattened(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (Size::Const(length @ 1..), element) = array_type(ty)? else { return None };
    let divisors: Vec<usize> = (1..=*length).filter(|rows| length % rows == 0).collect();
    let rows = *generator.random.pick(&divisors);
    let nested = matrix(&Size::Const(rows), &Size::Const(length / rows), element);
    Some(Exp::node(ty, "flatten @", parts![generator.exp(&nested, size - 1)]))
}

fn product(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (rows, columns, Type::Number) = matrix_type(ty)? else { return None };
    let middle = generator.size();
    let [left, right] = generator.divide(size);
    let left = generator.exp(&matrix(rows, &middle, &Type::Number), left);
    let right = generator.exp(&matrix(&middle, columns, &Type::Number), right);
    let (row, column) = (generator.fresh("row"), generator.fresh("col"));
    let parts = parts![bind(&row), bind(&column), crate::exp::name(&row), crate::exp::name(&column), right, left];
    let template = "map (\\@ -> map (\\@ -> tame (r.sum (map2 (*) @ @))) (transpose @)) @";
    Some(Exp::node(ty, template, parts))
}

fn matrix_times_vector(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (rows, Type::Number) = array_type(ty)? else { return None };
    let columns = generator.size();
    let [left, right] = generator.divide(size);
    let left = generator.exp(&matrix(rows, &columns, &Type::Number), left);
    let right = generator.exp(&Type::numbers(&columns), right);
    let row = generator.fresh("row");
    let parts = parts![bind(&row), crate::exp::name(&row), right, left];
    Some(Exp::node(ty, "map (\\@ -> tame (r.sum (map2 (*) @ @))) @", parts))
}

fn row_or_column(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = array_type(ty)?;
    let other = generator.positive_size();
    let [array, index] = generator.divide(size);
    let index = generator.index(index);
    if generator.random.chance(50) {
        let rows = data::parenthesised(generator.exp(&matrix(&other, length, element), array));
        return Some(Exp::atom(ty, "@[@ % @]", parts![rows, index, &other]));
    }
    let columns = data::parenthesised(generator.exp(&matrix(length, &other, element), array));
    Some(Exp::atom(ty, "@[:, @ % @]", parts![columns, index, &other]))
}

/// A reduction of rows by an operator on arrays.
fn column_reduction(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, Type::Number) = array_type(ty)? else { return None };
    let rows = generator.size();
    let rows = generator.exp(&matrix(&rows, length, &Type::Number), size - 1);
    let (operator, neutral) = *generator.random.pick(&[("+", "0"), ("*", "1")]);
    let parts = parts![operator, length, neutral, rows];
    let reduced = Exp::node(ty, "reduce (map2 (@)) (replicate @ @) @", parts);
    Some(generator.tame_value(reduced))
}

fn element_of_matrix(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (rows, columns) = (generator.positive_size(), generator.positive_size());
    let [array, i, j] = generator.divide(size);
    let array = data::parenthesised(generator.exp(&matrix(&rows, &columns, ty), array));
    let (i, j) = (generator.index(i), generator.index(j));
    Some(Exp::atom(ty, "@[@ % @, @ % @]", parts![array, i, &rows, j, &columns]))
}
