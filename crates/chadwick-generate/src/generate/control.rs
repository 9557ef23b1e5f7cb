//! Bindings, branches, matches and loops.

use super::{Form, Generator, data, form};
use crate::config::Construct;
use crate::exp::{Exp, bind, name, parts};
use crate::types::{Size, Type};

pub(super) const FORMS: &[Form] = &[
    form(&[], 60, let_value),
    form(&[], 15, let_pattern),
    form(&[Construct::Branches], 25, branch),
    form(&[Construct::Branches], 8, match_integer),
    form(&[Construct::Branches, Construct::Sums], 12, match_option),
    form(&[Construct::Branches, Construct::Sums], 8, match_shape),
    form(&[Construct::Branches], 6, match_nested),
    form(&[Construct::Branches, Construct::RecursiveTypes], 6, match_tree),
    form(&[Construct::ForLoops], 20, for_loop),
    form(&[Construct::ForLoops], 10, for_in_loop),
    form(&[Construct::ForLoops], 8, loop_of_pair),
    form(&[Construct::ForLoops, Construct::DynamicSizes], 4, growing_loop),
    form(&[Construct::WhileLoops], 12, while_loop),
    form(&[Construct::ParallelPairs], 10, parallel_pair),
    form(&[Construct::ParallelPairs], 6, parallel_component),
    form(&[Construct::Attributes], 8, recompute),
    form(&[Construct::Attributes], 3, attribute),
    form(&[], 3, assertion),
];

fn let_value(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let bound = generator.any_type(2);
    let [value, body] = generator.divide(size);
    let value = generator.exp(&bound, value);
    let x = generator.fresh("x");
    let body = generator.scoped(&[(&x, &bound)], |generator| generator.exp(ty, body));
    Some(match generator.random.chance(50) {
        true => Exp::node(ty, "let @: @ = @\nin @", parts![bind(&x), &bound, value, body]),
        false => Exp::node(ty, "let @ = @\nin @", parts![bind(&x), value, body]),
    })
}

fn let_pattern(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (first, second) = (generator.any_type(1), generator.any_type(1));
    let (x, y) = (generator.fresh("x"), generator.fresh("y"));
    let as_record = generator.allows(Construct::Records) && generator.random.chance(30);
    let bound = match as_record {
        true => Type::Record(vec![("a", first.clone()), ("b", second.clone())]),
        false => Type::pair(first.clone(), second.clone()),
    };
    let [value, body] = generator.divide(size);
    let value = generator.exp(&bound, value);
    let body = generator.scoped(&[(&x, &first), (&y, &second)], |generator| generator.exp(ty, body));
    let template = if as_record { "let {a = @, b = @} = @\nin @" } else { "let (@, @) = @\nin @" };
    Some(Exp::node(ty, template, parts![bind(&x), bind(&y), value, body]))
}

fn branch(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [condition, then, otherwise] = generator.divide(size);
    let condition = generator.exp(&Type::Bool, condition);
    let (then, otherwise) = (generator.exp(ty, then), generator.exp(ty, otherwise));
    Some(Exp::node(ty, "if @ then @ else @", parts![condition, then, otherwise]))
}

fn match_integer(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [scrutinee, zero, one, other] = generator.divide(size);
    let scrutinee = generator.index(scrutinee);
    let (zero, one) = (generator.exp(ty, zero), generator.exp(ty, one));
    let i = generator.fresh("i");
    let other = generator.scoped(&[(&i, &Type::Index)], |generator| generator.exp(ty, other));
    Some(Exp::node(ty, "match @ % 3 case 0 -> @ case 1 -> @ case @ -> @", parts![scrutinee, zero, one, bind(&i), other]))
}

fn match_option(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let part = generator.any_type(1);
    let [scrutinee, some, none] = generator.divide(size);
    let scrutinee = generator.exp(&Type::Option(Box::new(part.clone())), scrutinee);
    let x = generator.fresh("x");
    let some = generator.scoped(&[(&x, &part)], |generator| generator.exp(ty, some));
    let none = generator.exp(ty, none);
    Some(Exp::node(ty, "match @ case #some @ -> @ case #none -> @", parts![scrutinee, bind(&x), some, none]))
}

fn match_shape(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [scrutinee, circle, rectangle, path] = generator.divide(size);
    let scrutinee = generator.exp(&Type::Shape, scrutinee);
    let names = ["x", "x", "y", "p"].map(|prefix| generator.fresh(prefix));
    let [radius, width, height, points] = &names;
    let number = Type::Number;
    let circle = generator.scoped(&[(radius, &number)], |generator| generator.exp(ty, circle));
    let variables = [(width.as_str(), &number), (height.as_str(), &number)];
    let rectangle = generator.scoped(&variables, |generator| generator.exp(ty, rectangle));
    let path_type = Type::numbers(&Size::Const(2));
    let path = generator.scoped(&[(points, &path_type)], |generator| generator.exp(ty, path));
    if generator.random.chance(30) {
        let parts = parts![scrutinee, bind(radius), circle, generator.leaf(ty)];
        return Some(Exp::node(ty, "match @ case #circle @ -> @ case _ -> @", parts));
    }
    let dot = generator.leaf(ty);
    let parts = parts![scrutinee, dot, bind(radius), circle, bind(width), bind(height), rectangle, bind(points), path];
    Some(Exp::node(ty, "match @ case #dot -> @ case #circle @ -> @ case #box @ @ -> @ case #path @ -> @", parts))
}

/// Constructors and literals inside a tuple pattern.
fn match_nested(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if !generator.allows(Construct::Sums) {
        return None;
    }
    let number = Type::Number;
    let option = Type::Option(Box::new(Type::pair(number.clone(), Type::Bool)));
    let [scrutinee, first, second, third] = generator.divide(size);
    let scrutinee = generator.exp(&Type::pair(option, number.clone()), scrutinee);
    let names = ["x", "y", "x", "y"].map(|prefix| generator.fresh(prefix));
    let [x1, y1, x2, y2] = &names;
    let first = generator.scoped(&[(x1, &number), (y1, &number)], |generator| generator.exp(ty, first));
    let second = generator.scoped(&[(x2, &number)], |generator| generator.exp(ty, second));
    let third = generator.scoped(&[(y2, &number)], |generator| generator.exp(ty, third));
    let template = "match @ case (#some (@, true), @) -> @ case (#some (@, _), _) -> @ case (#none, @) -> @";
    Some(Exp::node(ty, template, parts![scrutinee, bind(x1), bind(y1), first, bind(x2), second, bind(y2), third]))
}

fn match_tree(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [scrutinee, leaf, node] = generator.divide(size);
    let scrutinee = generator.exp(&Type::Tree, scrutinee);
    let names = ["x", "l", "x", "r"].map(|prefix| generator.fresh(prefix));
    let [only, left, middle, right] = &names;
    let (number, tree) = (Type::Number, Type::Tree);
    let leaf = generator.scoped(&[(only, &number)], |generator| generator.exp(ty, leaf));
    let variables = [(left.as_str(), &tree), (middle.as_str(), &number), (right.as_str(), &tree)];
    let node = generator.scoped(&variables, |generator| generator.exp(ty, node));
    let parts = parts![scrutinee, bind(only), leaf, bind(left), bind(middle), bind(right), node];
    Some(Exp::node(ty, "match @ case #leaf @ -> @ case #node @ @ @ -> @", parts))
}

impl Generator<'_> {
    /// What stands before a loop.
    pub fn loop_attribute(&mut self) -> &'static str {
        if !self.allows(Construct::Attributes) {
            return "";
        }
        match self.random.below(10) {
            0 => "#[stripmine(1)] ",
            1 => "#[stripmine(2)] ",
            2 => "#[sequential] ",
            _ => "",
        }
    }

    /// A number of iterations: a constant, a size, or something computed, always small.
    pub fn trip_count(&mut self) -> Exp {
        match self.random.below(6) {
            0 | 1 => {
                let count = self.random.between(0, 4);
                Exp::atom(&Type::Int, "@", parts![count.to_string()])
            }
            2 if !self.sizes.is_empty() => {
                let size = self.random.pick(&self.sizes.clone()).clone();
                Exp::atom(&Type::Int, "@", parts![&size])
            }
            3 => Exp::node(&Type::Index, "@ % 4", parts![self.index(2)]),
            _ => Exp::atom(&Type::Int, "3i64", Vec::new()),
        }
    }
}

fn for_loop(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [start, body] = generator.divide(size);
    let start = generator.exp(ty, start);
    let count = generator.trip_count();
    let (state, i) = (generator.fresh("s"), generator.fresh("i"));
    // The type of the counter is that of the bound: an index if that was computed from numbers.
    let counter = count.ty.clone();
    let body = generator.scoped(&[(&state, ty), (&i, &counter)], |generator| generator.exp(ty, body));
    let attribute = generator.loop_attribute();
    Some(match generator.random.below(3) {
        0 => {
            // Initialised from the variable of the same name.
            let parts = parts![bind(&state), ty, start, attribute, bind(&state), bind(&i), count, body];
            Exp::node(ty, "let @: @ = @\nin @loop @ for @ < @ do @", parts)
        }
        1 => {
            let parts = parts![attribute, bind(&state), ty, start, bind(&i), count, body];
            Exp::node(ty, "@loop @: @ = @ for @ < @ do @", parts)
        }
        _ => Exp::node(ty, "@loop @ = @ for @ < @ do @", parts![attribute, bind(&state), start, bind(&i), count, body]),
    })
}

fn for_in_loop(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let (length, element) = (generator.size(), generator.any_type(1));
    let [start, array, body] = generator.divide(size);
    let (start, array) = (generator.exp(ty, start), generator.exp(&Type::array(&length, element.clone()), array));
    let (state, x) = (generator.fresh("s"), generator.fresh("x"));
    let body = generator.scoped(&[(&state, ty), (&x, &element)], |generator| generator.exp(ty, body));
    let attribute = generator.loop_attribute();
    if generator.random.chance(30) {
        let fold = if generator.random.chance(50) { "foldl" } else { "foldr" };
        let (first, second, types) = if fold == "foldl" { (&state, &x, (ty, &element)) } else { (&x, &state, (&element, ty)) };
        let parts = parts![fold, bind(first), types.0, bind(second), types.1, body, start, array];
        return Some(Exp::node(ty, "@ (\\(@: @) (@: @) -> @) @ @", parts));
    }
    Some(Exp::node(ty, "@loop @ = @ for @ in @ do @", parts![attribute, bind(&state), start, bind(&x), array, body]))
}

fn loop_of_pair(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let other = generator.any_type(1);
    let [start, other_start, next, other_next] = generator.divide(size);
    let (start, other_start) = (generator.exp(ty, start), generator.exp(&other, other_start));
    let names = ["s", "t", "i"].map(|prefix| generator.fresh(prefix));
    let [state, extra, i] = &names;
    let count = generator.trip_count();
    let counter = count.ty.clone();
    let variables = [(state.as_str(), ty), (extra.as_str(), &other), (i.as_str(), &counter)];
    let (next, other_next) =
        generator.scoped(&variables, |generator| (generator.exp(ty, next), generator.exp(&other, other_next)));
    let attribute = generator.loop_attribute();
    let parts = parts![attribute, bind(state), bind(extra), start, other_start, bind(i), count, next, other_next];
    let result = Exp::node(&Type::pair(ty.clone(), other), "@loop (@, @) = (@, @) for @ < @ do (@, @)", parts);
    Some(Exp::atom(ty, "@.0", parts![data::parenthesised(result)]))
}

/// An array that changes its size from one iteration to the next.
fn growing_loop(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let number = Type::Number;
    let [start, next, body] = generator.divide(size);
    let names = ["xs", "i", "k", "ys"].map(|prefix| generator.fresh(prefix));
    let [growing, i, k, array] = &names;
    let start = generator.exp(&number, start);
    let next = generator.scoped(&[(i, &Type::Int)], |generator| generator.exp(&number, next));
    let length = Size::Named { name: k.clone(), positive: true };
    let body = generator.with_size_variable(&length, |generator| {
        generator.scoped(&[(array, &Type::numbers(&length))], |generator| generator.exp(ty, body))
    });
    let count = generator.random.between(0, 3);
    let parts = parts![
        bind(k),
        bind(array),
        name(k),
        bind(growing),
        start,
        bind(i),
        count.to_string(),
        name(growing),
        next,
        name(growing),
        body
    ];
    let template = "let [@] (@: [@]num) = loop @ = [@] for @ < @ do @ ++ [tame (@ + last @)]\nin @";
    Some(Exp::node(ty, template, parts))
}

fn while_loop(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [start, condition, next] = generator.divide(size);
    let start = generator.exp(ty, start);
    let (state, i) = (generator.fresh("s"), generator.fresh("i"));
    let variables = [(state.as_str(), ty), (i.as_str(), &Type::Int)];
    let (condition, next) =
        generator.scoped(&variables, |generator| (generator.exp(&Type::Bool, condition), generator.exp(ty, next)));
    let limit = generator.random.between(1, 4);
    let attribute = match generator.random.below(4) {
        0 if generator.allows(Construct::Attributes) => "#[bound(9)] ",
        _ => "",
    };
    if generator.random.chance(20) {
        let parts =
            parts![bind(&state), bind(&i), name(&i), limit.to_string(), condition, bind(&state), bind(&i), next, name(&i), start];
        // The state and the counter are bound twice, under the same names.
        let template = "(iterate_while (\\(@, @) -> @ < @ && @) (\\(@, @) -> (@, @ + 1)) (@, 0i64)).0";
        return Some(Exp::atom(ty, template, parts));
    }
    let parts = parts![attribute, bind(&state), bind(&i), start, name(&i), limit.to_string(), condition, next, name(&i)];
    let pair = Type::pair(ty.clone(), Type::Int);
    let result = Exp::node(&pair, "@loop (@, @) = (@, 0i64) while @ < @ && @ do (@, @ + 1)", parts);
    Some(Exp::atom(ty, "@.0", parts![result]))
}

fn parallel_pair(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let Type::Tuple(types) = ty else { return None };
    let [first_type, second_type] = types.as_slice() else { return None };
    let [first, second] = generator.divide(size);
    let (first, second) = (generator.exp(first_type, first), generator.exp(second_type, second));
    Some(Exp::node(ty, "par @ @", parts![first, second]))
}

fn parallel_component(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let pair = Type::pair(generator.any_type(1), ty.clone());
    Some(Exp::atom(ty, "@.1", parts![parallel_pair(generator, &pair, size - 1)?]))
}

fn recompute(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    Some(Exp::node(ty, "#[recompute] @", parts![generator.exp(ty, size - 1)]))
}

fn attribute(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let attribute = *generator.random.pick(&["#[opaque]", "#[noinline]", "#[unsafe]", "opaque", "id", "copy"]);
    if attribute == "copy" && ty.has_functions() {
        return None;
    }
    Some(Exp::node(ty, "@ @", parts![attribute, generator.exp(ty, size - 1)]))
}

fn assertion(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [condition, value] = generator.divide(size);
    let condition = generator.exp(&Type::Bool, condition);
    Some(Exp::node(ty, "assert (@ || true) @", parts![condition, generator.exp(ty, value)]))
}
