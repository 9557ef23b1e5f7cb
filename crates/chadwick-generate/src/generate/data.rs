//! Tuples, records, sums, lists and trees.

use super::{Form, Generator, form};
use crate::config::Construct;
use crate::exp::{Exp, Part, bind, parts};
use crate::types::Type;

pub(super) const FORMS: &[Form] = &[
    form(&[], 60, tuple_literal),
    form(&[Construct::Records], 50, record_literal),
    form(&[Construct::Records], 25, record_update),
    form(&[Construct::Sums], 40, option),
    form(&[Construct::Sums, Construct::Polymorphism], 15, mapped_option),
    form(&[Construct::Sums, Construct::Polymorphism], 8, or_else),
    form(&[Construct::Sums], 50, shape),
    form(&[Construct::RecursiveTypes], 50, list),
    form(&[Construct::RecursiveTypes], 50, tree),
    form(&[Construct::RecursiveTypes], 50, rose),
    form(&[Construct::RecursiveTypes], 10, folded_list),
    form(&[Construct::RecursiveTypes], 10, folded_tree),
    form(&[Construct::RecursiveTypes], 6, summed_rose),
    form(&[Construct::RaggedArrays], 50, ragged),
    form(&[Construct::RaggedArrays], 8, summed_ragged),
    form(&[], 8, projection),
];

/// `prefix part separator part … suffix`
fn joined(ty: &Type, prefix: &str, values: Vec<Exp>, suffix: &str) -> Exp {
    let holes = vec!["@"; values.len()].join(", ");
    Exp::atom(ty, &format!("{prefix}{holes}{suffix}"), values.into_iter().map(Part::Exp).collect())
}

pub(super) fn tuple(ty: &Type, values: Vec<Exp>) -> Exp {
    joined(ty, "(", values, ")")
}

pub(super) fn array_literal(ty: &Type, values: Vec<Exp>) -> Exp {
    joined(ty, "[", values, "]")
}

pub(super) fn record(ty: &Type, values: Vec<Exp>) -> Exp {
    let Type::Record(fields) = ty else { panic!("{ty} is no record") };
    let holes: Vec<String> = fields.iter().map(|(field, _)| format!("{field} = @")).collect();
    Exp::atom(ty, &format!("{{{}}}", holes.join(", ")), values.into_iter().map(Part::Exp).collect())
}

impl Generator<'_> {
    /// A shape with numbers from somewhere.
    pub fn shape(&mut self, number: &mut dyn FnMut(&mut Self) -> Exp) -> Exp {
        let ty = &Type::Shape;
        match self.random.below(4) {
            0 => Exp::atom(ty, "(#dot : shape)", Vec::new()),
            1 => Exp::atom(ty, "(#circle @ : shape)", parts![number(self)]),
            2 => Exp::atom(ty, "(#box @ @ : shape)", parts![number(self), number(self)]),
            _ => Exp::atom(ty, "(#path [@, @] : shape)", parts![number(self), number(self)]),
        }
    }

    fn values(&mut self, types: &[Type], size: usize) -> Vec<Exp> {
        let share = (size - 1) / types.len().max(1);
        types.iter().map(|ty| self.exp(ty, share)).collect()
    }
}

fn tuple_literal(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let Type::Tuple(types) = ty else { return None };
    let values = generator.values(types, size);
    Some(tuple(ty, values))
}

fn record_literal(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let Type::Record(fields) = ty else { return None };
    let types: Vec<Type> = fields.iter().map(|(_, ty)| ty.clone()).collect();
    let values = generator.values(&types, size);
    Some(record(ty, values))
}

fn record_update(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let Type::Record(fields) = ty else { return None };
    let (field, field_type) = generator.random.pick(fields).clone();
    let [old, new] = generator.divide(size);
    let (old, new) = (generator.exp(ty, old), generator.exp(&field_type, new));
    Some(Exp::node(ty, "(@ : @) with @ = @", parts![old, ty, field, new]))
}

fn option(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let Type::Option(part) = ty else { return None };
    Some(Exp::atom(ty, "(#some @ : @)", parts![generator.exp(part, size - 1), ty]))
}

fn mapped_option(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let Type::Option(part) = ty else { return None };
    let from = generator.any_type(1);
    let [function, value] = generator.divide(size);
    let function = generator.exp(&Type::function([from.clone()], (**part).clone()), function);
    let value = generator.exp(&Type::Option(Box::new(from)), value);
    Some(Exp::node(ty, "map_option @ @", parts![function, value]))
}

fn or_else(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [option, otherwise] = generator.divide(size);
    let option = generator.exp(&Type::Option(Box::new(ty.clone())), option);
    Some(Exp::node(ty, "or_else @ @", parts![option, generator.exp(ty, otherwise)]))
}

fn shape(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    (*ty == Type::Shape).then(|| generator.shape(&mut |generator| generator.exp(&Type::Number, size / 2)))
}

fn list(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let Type::List(part) = ty else { return None };
    let [first, second] = generator.divide(size);
    Some(match generator.random.below(4) {
        0 => Exp::atom(ty, "(#cons @ @ : @)", parts![generator.exp(part, first), generator.exp(ty, second), ty]),
        1 => {
            let values = (0..generator.random.below(4)).map(|_| generator.exp(part, size / 3)).collect::<Vec<Exp>>();
            let nested = values
                .into_iter()
                .rev()
                .fold(Exp::atom(ty, "#nil", Vec::new()), |rest, value| Exp::node(ty, "#cons @ @", parts![value, rest]));
            Exp::atom(ty, "(@ : @)", parts![nested, ty])
        }
        2 => {
            let from = generator.any_type(1);
            let function = generator.exp(&Type::function([from.clone()], (**part).clone()), first);
            Exp::node(ty, "map_list @ @", parts![function, generator.exp(&Type::List(Box::new(from)), second)])
        }
        _ => {
            let length = generator.size();
            Exp::node(ty, "list_of @", parts![generator.exp(&Type::array(&length, (**part).clone()), size - 1)])
        }
    })
}

fn tree(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Tree {
        return None;
    }
    Some(match generator.random.below(4) {
        0 => Exp::atom(ty, "(#leaf @ : tree)", parts![generator.exp(&Type::Number, size - 1)]),
        1 => {
            let [left, middle, right] = generator.divide(size);
            let (left, right) = (generator.exp(ty, left), generator.exp(ty, right));
            Exp::atom(ty, "(#node @ @ @ : tree)", parts![left, generator.exp(&Type::Number, middle), right])
        }
        2 => {
            let [function, tree] = generator.divide(size);
            let function = generator.exp(&Type::function([Type::Number], Type::Number), function);
            Exp::node(ty, "map_tree @ @", parts![function, generator.exp(ty, tree)])
        }
        _ => {
            let function = generator.exp(&Type::function([Type::Int], Type::Number), size - 1);
            let depth = generator.random.between(1, 3);
            Exp::node(ty, "build_tree @ 1 @", parts![depth.to_string(), function])
        }
    })
}

fn rose(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Rose {
        return None;
    }
    let [first, second] = generator.divide(size);
    Some(match generator.random.below(3) {
        0 => {
            let function = generator.exp(&Type::function([Type::Number], Type::Number), first);
            Exp::node(ty, "map_rose @ @", parts![function, generator.exp(ty, second)])
        }
        1 => {
            let (root, child) = (generator.exp(&Type::Number, first), generator.exp(ty, second));
            Exp::atom(ty, "(#rose @ (#more @ #empty) : rose)", parts![root, child])
        }
        _ => {
            let root = generator.exp(&Type::Number, first);
            let (left, right) = (generator.exp(ty, second / 2), generator.exp(ty, second / 2));
            Exp::atom(ty, "(#rose @ (#more @ (#more @ #empty)) : rose)", parts![root, left, right])
        }
    })
}

fn folded_list(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let element = generator.data_type(1);
    let [body, start, list] = generator.divide(size);
    let (x, state) = (generator.fresh("x"), generator.fresh("s"));
    let variables = [(x.as_str(), &element), (state.as_str(), ty)];
    let body = generator.scoped(&variables, |generator| generator.exp(ty, body));
    let (start, list) = (generator.exp(ty, start), generator.exp(&Type::List(Box::new(element.clone())), list));
    let parts = parts![bind(&x), &element, bind(&state), ty, body, start, list];
    Some(Exp::node(ty, "fold_list (\\(@: @) (@: @) -> @) @ @", parts))
}

fn folded_tree(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [node, leaf, tree] = generator.divide(size);
    let names = ["s", "x", "s", "x"].map(|prefix| generator.fresh(prefix));
    let [left, middle, right, only] = &names;
    let number = Type::Number;
    let variables = [(left.as_str(), ty), (middle.as_str(), &number), (right.as_str(), ty)];
    let node = generator.scoped(&variables, |generator| generator.exp(ty, node));
    let leaf = generator.scoped(&[(only, &number)], |generator| generator.exp(ty, leaf));
    let tree = generator.exp(&Type::Tree, tree);
    let parts = parts![bind(left), ty, bind(middle), bind(right), ty, node, bind(only), leaf, tree];
    Some(Exp::node(ty, "fold_tree (\\(@: @) (@: num) (@: @) -> @) (\\(@: num) -> @) @", parts))
}

fn summed_rose(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let rose = match ty {
        Type::Number => generator.exp(&Type::Rose, size - 1),
        _ => return None,
    };
    Some(Exp::node(ty, "sum_rose @", parts![rose]).with_bound(10.0))
}

fn ragged(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if *ty != Type::Ragged {
        return None;
    }
    let length = generator.size();
    Some(Exp::node(ty, "ragged_of @", parts![generator.exp(&Type::numbers(&length), size - 1)]))
}

fn summed_ragged(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let values = match ty {
        Type::Number => generator.exp(&Type::Ragged, size - 1),
        _ => return None,
    };
    Some(Exp::node(ty, "sum_ragged @", parts![values]).with_bound(10.0))
}

/// A component of a larger value.
fn projection(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let other = generator.any_type(1);
    let second = generator.random.chance(50);
    if generator.allows(Construct::Records) && generator.random.chance(40) {
        let fields = if second { vec![("a", other), ("b", ty.clone())] } else { vec![("b", ty.clone()), ("c", other)] };
        return Some(Exp::atom(ty, "@.b", parts![parenthesised(generator.exp(&Type::Record(fields), size - 1))]));
    }
    let types = if second { vec![other, ty.clone()] } else { vec![ty.clone(), other] };
    let value = parenthesised(generator.exp(&Type::Tuple(types), size - 1));
    let section = generator.random.chance(30);
    let field = if second { "1" } else { "0" };
    Some(match section {
        true => Exp::node(ty, "(.@) @", parts![field, value]),
        false => Exp::atom(ty, "@.@", parts![value, field]),
    })
}

/// The expression in parentheses, whatever it is, so that a field can be taken from it.
pub(super) fn parenthesised(exp: Exp) -> Exp {
    Exp { atomic: false, ..exp }
}
