//! Functions: lambdas, local and recursive functions, functions as values, helpers.

use super::{Form, Generator, SIZE_PARAMETER, form};
use crate::config::Construct;
use crate::exp::{Exp, bind, name, parts};
use crate::types::Type;

pub(super) const FORMS: &[Form] = &[
    form(&[], 100, lambda_value),
    form(&[Construct::FunctionValues], 30, function_from_branch),
    form(&[Construct::FunctionValues], 25, composition),
    form(&[Construct::FunctionValues], 12, partial_application),
    form(&[Construct::FunctionValues], 12, returned_function),
    form(&[], 20, applied_lambda),
    form(&[Construct::FunctionValues], 14, applied_value),
    form(&[Construct::LocalFunctions], 20, local_function),
    form(&[Construct::LocalFunctions, Construct::Polymorphism], 5, local_polymorphic_function),
    form(&[Construct::FunctionValues], 6, function_in_loop),
    form(&[Construct::FunctionValues], 6, function_in_array),
    form(&[Construct::Recursion], 10, recursion),
    form(&[Construct::Recursion], 6, mutual_recursion),
    form(&[Construct::Recursion, Construct::FunctionValues], 6, continuations),
    form(&[Construct::Polymorphism], 20, polymorphic_helper),
    form(&[Construct::Polymorphism], 10, iterated),
    form(&[], 25, global_call),
];

/// `\(x: a) … -> body`
pub(super) fn lambda(ty: &Type, names: &[String], body: Exp) -> Exp {
    lambda_with(ty, names, body, |_| true)
}

/// A lambda that says the types of those parameters for which `annotated` holds.
fn lambda_with(ty: &Type, names: &[String], body: Exp, mut annotated: impl FnMut(&Type) -> bool) -> Exp {
    let Type::Function(params, result) = ty else { panic!("{ty} is no function") };
    let mut parts = Vec::new();
    let mut template = String::from("\\");
    for (name, param) in names.iter().zip(params) {
        parts.push(bind(name));
        match annotated(param) {
            true => {
                parts.push(param.into());
                template.push_str("(@: @) ");
            }
            false => template.push_str("@ "),
        }
    }
    // What hides its size is seen with a size of its own where nothing says otherwise.
    if result.any(&|ty| *ty == Type::Ragged) {
        parts.push((&**result).into());
        template.push_str(": @ ");
    }
    parts.push(body.into());
    template.push_str("-> @");
    Exp::node(ty, &template, parts)
}

impl Generator<'_> {
    /// A lambda of a function type. It says the types that its body may not tell; those of arrays always, since branches of different
    /// sizes would otherwise decide them.
    pub fn lambda(&mut self, ty: &Type, size: usize) -> Exp {
        self.lambda_where(ty, size, |ty| !matches!(ty, Type::Number | Type::Int | Type::Function(..)))
    }

    /// A lambda where its argument tells the types, too.
    pub fn applied_lambda(&mut self, ty: &Type, size: usize) -> Exp {
        self.lambda_where(ty, size, |ty| matches!(ty, Type::Record(_) | Type::Array(..)))
    }

    fn lambda_where(&mut self, ty: &Type, size: usize, untold: fn(&Type) -> bool) -> Exp {
        let Type::Function(params, result) = ty else { panic!("{ty} is no function") };
        let names: Vec<String> = params.iter().map(|_| self.fresh("x")).collect();
        let variables: Vec<(&str, &Type)> = names.iter().map(String::as_str).zip(params).collect();
        let body = self.scoped(&variables, |generator| generator.exp(result, size));
        let random = &mut self.random;
        lambda_with(ty, &names, body, |param| param.any(&untold) || param.any(&|ty| *ty == Type::Ragged) || random.chance(60))
    }
}

fn lambda_value(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    matches!(ty, Type::Function(..)).then(|| generator.lambda(ty, size - 1))
}

fn function_from_branch(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if !matches!(ty, Type::Function(..)) {
        return None;
    }
    let [condition, then, otherwise] = generator.divide(size);
    let condition = generator.exp(&Type::Bool, condition);
    let (then, otherwise) = (generator.exp(ty, then), generator.exp(ty, otherwise));
    Some(Exp::node(ty, "if @ then @ else @", parts![condition, then, otherwise]))
}

fn composition(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let Type::Function(params, result) = ty else { return None };
    let [param] = params.as_slice() else { return None };
    let middle = generator.data_type(1);
    let [first, second] = generator.divide(size);
    let first = generator.exp(&Type::function([param.clone()], middle.clone()), first);
    let second = generator.exp(&Type::function([middle], (**result).clone()), second);
    Some(match generator.random.chance(50) {
        true => Exp::node(ty, "@ >-> @", parts![first, second]),
        false => Exp::node(ty, "@ <-< @", parts![second, first]),
    })
}

/// A function of one more argument, given its first.
fn partial_application(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let Type::Function(params, result) = ty else { return None };
    let extra = generator.any_type(1);
    let all: Vec<Type> = std::iter::once(extra.clone()).chain(params.iter().cloned()).collect();
    let [function, argument] = generator.divide(size);
    let function = generator.exp(&Type::function(all, (**result).clone()), function);
    Some(Exp::node(ty, "@ @", parts![function, generator.exp(&extra, argument)]))
}

/// A local function that gives a function.
fn returned_function(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if !matches!(ty, Type::Function(..)) {
        return None;
    }
    let captured = generator.any_type(1);
    let [body, argument] = generator.divide(size);
    let (make, c) = (generator.fresh("make"), generator.fresh("c"));
    let body = generator.scoped(&[(&c, &captured)], |generator| generator.lambda(ty, body));
    let argument = generator.exp(&captured, argument);
    let parts = parts![bind(&make), bind(&c), &captured, ty, body, name(&make), argument];
    Some(Exp::node(ty, "let @ (@: @): @ = @\nin @ @", parts))
}

fn applied_lambda(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let param = generator.any_type(1);
    let [body, argument] = generator.divide(size);
    let function = generator.applied_lambda(&Type::function([param.clone()], ty.clone()), body);
    let argument = generator.exp(&param, argument);
    Some(match generator.random.below(3) {
        0 => Exp::node(ty, "@ |> @", parts![argument, function]),
        1 => Exp::node(ty, "@ <| @", parts![function, argument]),
        _ => Exp::node(ty, "@ @", parts![function, argument]),
    })
}

fn applied_value(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let param = generator.any_type(1);
    let [function, argument] = generator.divide(size);
    let function = generator.exp(&Type::function([param.clone()], ty.clone()), function);
    Some(Exp::node(ty, "@ @", parts![function, generator.exp(&param, argument)]))
}

fn local_function(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let count = generator.random.between(1, 2) as usize;
    let params: Vec<Type> = (0..count).map(|_| generator.any_type(1)).collect();
    let result = generator.any_type(1);
    let [function, body] = generator.divide(size);
    let names: Vec<String> = params.iter().map(|_| generator.fresh("x")).collect();
    let variables: Vec<(&str, &Type)> = names.iter().map(String::as_str).zip(&params).collect();
    let function = generator.scoped(&variables, |generator| generator.exp(&result, function));
    let f = generator.fresh("f");
    let function_type = Type::function(params.clone(), result.clone());
    let body = generator.scoped(&[(&f, &function_type)], |generator| generator.exp(ty, body));
    let mut parts = parts![bind(&f)];
    for (name, param) in names.iter().zip(&params) {
        parts.extend(parts![bind(name), param]);
    }
    parts.extend(parts![&result, function, body]);
    let holes = vec!["(@: @)"; count].join(" ");
    Some(Exp::node(ty, &format!("let @ {holes}: @ = @\nin @"), parts))
}

fn local_polymorphic_function(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let other = generator.data_type(1);
    let [number, value, rest] = generator.divide(size);
    let names = ["keep", "x", "y", "z"].map(|prefix| generator.fresh(prefix));
    let [keep, x, y, z] = &names;
    let (number, value) = (generator.exp(&Type::Number, number), generator.exp(ty, value));
    let rest = generator.exp(&other, rest);
    let parts =
        parts![bind(keep), bind(x), bind(y), name(x), name(y), bind(z), name(keep), number, rest, name(keep), value, name(z)];
    let template = "let @ 'a 'b (@: a) (@: b): (a, b) = (@, @)\nlet (@, _) = @ @ @\nin (@ @ @).0";
    Some(Exp::node(ty, template, parts))
}

fn function_in_loop(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let function_type = Type::function([ty.clone()], ty.clone());
    let [start, body, argument] = generator.divide(size);
    let start = generator.exp(&function_type, start);
    let names = ["g", "i", "x"].map(|prefix| generator.fresh(prefix));
    let [g, i, x] = &names;
    let variables = [(g.as_str(), &function_type), (i.as_str(), &Type::Int), (x.as_str(), ty)];
    let body = generator.scoped(&variables, |generator| generator.exp(ty, body));
    let argument = generator.exp(ty, argument);
    let count = generator.random.between(0, 3);
    let parts = parts![bind(g), start, bind(i), count.to_string(), bind(x), ty, name(g), body, argument];
    Some(Exp::node(ty, "(loop @ = @ for @ < @i64 do \\(@: @) -> @ @) @", parts))
}

fn function_in_array(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let param = generator.data_type(1);
    let function_type = Type::function([param.clone()], ty.clone());
    let [first, second, index, argument] = generator.divide(size);
    let (first, second) = (generator.exp(&function_type, first), generator.exp(&function_type, second));
    let (index, argument) = (generator.index(index), generator.exp(&param, argument));
    let fs = generator.fresh("fs");
    let parts = parts![bind(&fs), first, second, name(&fs), index, argument];
    Some(Exp::node(ty, "let @ = [@, @]\nin @[@ % 2] @", parts))
}

/// A bounded recursive function: its last call is in tail position, or it is not.
fn recursion(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [start, body] = generator.divide(size);
    let start = generator.exp(ty, start);
    let names = ["go", "i", "s"].map(|prefix| generator.fresh(prefix));
    let [go, i, state] = &names;
    let body = generator.scoped(&[(i, &Type::Int), (state, ty)], |generator| generator.exp(ty, body));
    let depth = generator.random.between(0, 4).to_string();
    Some(match generator.random.chance(50) {
        true => {
            let parts = parts![
                bind(go),
                bind(i),
                bind(state),
                ty,
                ty,
                name(i),
                name(state),
                name(go),
                name(i),
                body,
                name(go),
                depth,
                start
            ];
            Exp::node(ty, "let rec @ (@: i64) (@: @): @ = if @ <= 0 then @ else @ (@ - 1) @\nin @ @ @", parts)
        }
        false => {
            let parts = parts![bind(go), bind(i), ty, name(i), start, bind(state), name(go), name(i), body, name(go), depth];
            Exp::node(ty, "let rec @ (@: i64): @ = if @ <= 0 then @ else (let @ = @ (@ - 1) in @)\nin @ @", parts)
        }
    })
}

fn mutual_recursion(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [start, first, second] = generator.divide(size);
    let start = generator.exp(ty, start);
    let names = ["even", "i", "s", "odd", "i", "s"].map(|prefix| generator.fresh(prefix));
    let [even, i, s, odd, j, t] = &names;
    let first = generator.scoped(&[(i, &Type::Int), (s, ty)], |generator| generator.exp(ty, first));
    let second = generator.scoped(&[(j, &Type::Int), (t, ty)], |generator| generator.exp(ty, second));
    let depth = generator.random.between(0, 4).to_string();
    let parts = parts![
        bind(even),
        bind(i),
        bind(s),
        ty,
        ty,
        name(i),
        name(s),
        name(odd),
        name(i),
        first,
        bind(odd),
        bind(j),
        bind(t),
        ty,
        ty,
        name(j),
        name(t),
        name(even),
        name(j),
        second,
        name(even),
        depth,
        start
    ];
    let template = "let rec @ (@: i64) (@: @): @ = if @ <= 0 then @ else @ (@ - 1) @\n\
                    and @ (@: i64) (@: @): @ = if @ <= 0 then @ else @ (@ - 1) @\nin @ @ @";
    Some(Exp::node(ty, template, parts))
}

/// Recursion whose functional argument grows with every call.
fn continuations(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [start, body] = generator.divide(size);
    let start = generator.exp(ty, start);
    let names = ["go", "i", "k", "x"].map(|prefix| generator.fresh(prefix));
    let [go, i, k, x] = &names;
    let body = generator.scoped(&[(i, &Type::Int), (x, ty)], |generator| generator.exp(ty, body));
    let depth = generator.random.between(0, 4).to_string();
    let function = Type::function([ty.clone()], ty.clone());
    let parts = parts![
        bind(go),
        bind(i),
        bind(k),
        &function,
        ty,
        name(i),
        name(k),
        start,
        name(go),
        name(i),
        bind(x),
        ty,
        name(k),
        body,
        name(go),
        depth
    ];
    let template = "let rec @ (@: i64) (@: @): @ = if @ <= 0 then @ @ else @ (@ - 1) (\\(@: @) -> @ @)\nin @ @ (\\x -> x)";
    Some(Exp::node(ty, template, parts))
}

fn polymorphic_helper(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    match generator.random.below(8) {
        0 | 1 => {
            let [function, argument] = generator.divide(size);
            let function = generator.exp(&Type::function([ty.clone()], ty.clone()), function);
            Some(Exp::node(ty, "twice @ @", parts![function, generator.exp(ty, argument)]))
        }
        2 => {
            let [condition, first, second] = generator.divide(size);
            let condition = generator.exp(&Type::Bool, condition);
            let (first, second) = (generator.exp(ty, first), generator.exp(ty, second));
            Some(Exp::node(ty, "choose @ @ @", parts![condition, first, second]))
        }
        3 => {
            let Type::Tuple(types) = ty else { return None };
            let [first, second] = types.as_slice() else { return None };
            let swapped = Type::pair(second.clone(), first.clone());
            Some(Exp::node(ty, "swap @", parts![generator.exp(&swapped, size - 1)]))
        }
        4 => {
            let Type::Tuple(types) = ty else { return None };
            let [first, second] = types.as_slice() else { return None };
            if first != second {
                return None;
            }
            let param = generator.any_type(1);
            let [function, argument] = generator.divide(size);
            let function = generator.exp(&Type::function([param.clone()], first.clone()), function);
            let argument = generator.exp(&Type::pair(param.clone(), param), argument);
            Some(Exp::node(ty, "both @ @", parts![function, argument]))
        }
        5 => {
            let other = generator.any_type(1);
            let [kept, dropped] = generator.divide(size);
            let (kept, dropped) = (generator.exp(ty, kept), generator.exp(&other, dropped));
            Some(Exp::node(ty, "const @ @", parts![kept, dropped]))
        }
        6 => {
            let (first, second) = (generator.data_type(1), generator.data_type(1));
            let [function, x, y] = generator.divide(size);
            let function = generator.exp(&Type::function([first.clone(), second.clone()], ty.clone()), function);
            let (x, y) = (generator.exp(&first, x), generator.exp(&second, y));
            Some(match generator.random.chance(50) {
                true => Exp::node(ty, "flip @ @ @", parts![function, y, x]),
                false => Exp::node(ty, "uncurry @ (@, @)", parts![function, x, y]),
            })
        }
        _ => {
            let (first, second) = (generator.data_type(1), generator.data_type(1));
            let [function, x, y] = generator.divide(size);
            let pair = Type::pair(first.clone(), second.clone());
            let function = generator.exp(&Type::function([pair], ty.clone()), function);
            let (x, y) = (generator.exp(&first, x), generator.exp(&second, y));
            Some(Exp::node(ty, "curry @ @ @", parts![function, x, y]))
        }
    }
}

fn iterated(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    let [function, start] = generator.divide(size);
    let function = generator.exp(&Type::function([ty.clone()], ty.clone()), function);
    let count = generator.random.between(0, 3).to_string();
    Some(Exp::node(ty, "iterate @ @ @", parts![count, function, generator.exp(ty, start)]))
}

/// A call of a helper function of the program.
fn global_call(generator: &mut Generator, ty: &Type, size: usize) -> Option<Exp> {
    if generator.globals.is_empty() {
        return None;
    }
    let global = generator.random.pick(&generator.globals.clone()).clone();
    let length = generator.positive_size();
    let instance = |ty: &Type| ty.with_size(SIZE_PARAMETER, &length);
    let result = instance(&global.result);
    if result != *ty && generator.random.chance(60) {
        return None;
    }
    let mut call = parts![name(&global.name)];
    let share = (size - 1) / global.params.len().max(1);
    for param in &global.params {
        call.push(generator.exp(&instance(param), share).into());
    }
    let template = vec!["@"; call.len()].join(" ");
    let call = Exp::node(&result, &template, call);
    match result == *ty {
        true => Some(call),
        false => {
            let x = generator.fresh("x");
            let value = generator.reach(Exp::variable(&x, &result), ty, 2)?;
            Some(Exp::node(ty, "let @ = @\nin @", parts![bind(&x), call, value]))
        }
    }
}
