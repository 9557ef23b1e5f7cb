//! Whole programs: helpers, the function under test, and the entry points that run and differentiate it.

use crate::codec::{Codec, Layout};
use crate::config::Config;
use crate::exp::{Element, Exp, bind, name, parts};
use crate::generate::{Generator, Global, SIZE_PARAMETER};
use crate::library::declarations_for;
use crate::random::Random;
use crate::types::{Size, Type};
use std::fmt::Write;

/// The names of the entry points. All take the numbers and the integers of the input first; what follows is in the descriptions, where
/// `w` is a cotangent with as many numbers as the result, and `t`, `u` are tangents with as many as the input.
pub mod entries {
    /// Numbers of the result.
    pub const PRIMAL: &str = "primal";
    /// `t`: the result and its tangent.
    pub const FORWARD: &str = "forward";
    /// `w`: the result and the cotangent of the input.
    pub const REVERSE: &str = "reverse";
    /// `[k]t`, number of results: the result and `k` tangents, by `jmp2`.
    pub const FORWARD_MANY: &str = "forward_many";
    /// `[k]w`: the result and `k` cotangents, by `mjp2`.
    pub const REVERSE_MANY: &str = "reverse_many";
    /// `w t`: the derivative of the cotangent for `w` along `t`.
    pub const FORWARD_REVERSE: &str = "forward_reverse";
    /// `w t`: the same, by symmetry.
    pub const REVERSE_REVERSE: &str = "reverse_reverse";
    /// `w t`: the same, as the gradient of the tangent along `t` weighed by `w`.
    pub const REVERSE_FORWARD: &str = "reverse_forward";
    /// `t u`: the second derivative along both.
    pub const FORWARD_FORWARD: &str = "forward_forward";

    /// The name of an entry point of one of several programs in one text.
    pub fn of(name: &str, program: usize) -> String {
        format!("{name}_{program}")
    }
}

/// A function at top level.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub name: String,
    pub params: Vec<(String, Type)>,
    pub result: Type,
    pub body: Exp,
}

/// A generated program.
#[derive(Clone, Debug)]
pub struct Program {
    pub seed: u64,
    pub(crate) helpers: Vec<Definition>,
    /// The function under test.
    pub(crate) function: Definition,
    /// The size of arrays whose size is a parameter.
    size_parameter: usize,
    /// An expression for the input over `v` and `d`.
    decode: String,
    numbers: usize,
    integers: usize,
}

/// Makes the program of a seed. The same seed and configuration always give the same program.
pub fn generate(seed: u64, config: &Config) -> Program {
    let mut generator = Generator::new(seed, config);
    let mut helpers = Vec::new();
    for _ in 0..generator.random.below(config.helpers + 1) {
        let helper = helper(&mut generator, config.size / 4);
        let params = helper.params.iter().map(|(_, ty)| ty.clone()).collect();
        generator.globals.push(Global { name: helper.name.clone(), params, result: helper.result.clone() });
        helpers.push(helper);
    }
    let size_parameter = generator.random.between(1, 4) as usize;
    let function = function_under_test(&mut generator, config.size);
    let mut layout = Layout { numbers: 0, integers: 0 };
    let input = function.params[0].1.with_size(SIZE_PARAMETER, &Size::Const(size_parameter));
    let decode = layout.decode(&input, &mut generator.random);
    let Layout { numbers, integers } = layout;
    Program { seed, helpers, function, size_parameter, decode, numbers, integers }
}

fn parameter_size() -> Size {
    Size::Named { name: SIZE_PARAMETER.to_owned(), positive: true }
}

/// Generates with the size parameter in scope, if a type mentions it.
fn with_parameter_size<T>(generator: &mut Generator, types: &[&Type], make: impl FnOnce(&mut Generator) -> T) -> T {
    match types.iter().any(|ty| ty.size_names().contains(&SIZE_PARAMETER)) {
        true => generator.with_size_variable(&parameter_size(), make),
        false => make(generator),
    }
}

fn helper(generator: &mut Generator, size: usize) -> Definition {
    let count = generator.random.between(1, 3);
    // The types may mention the size parameter; the result only if a parameter fixes it.
    generator.sizes.push(parameter_size());
    let types: Vec<Type> = (0..count).map(|_| generator.any_type(1)).collect();
    generator.sizes.pop();
    let references: Vec<&Type> = types.iter().collect();
    let name = generator.fresh("helper");
    let params: Vec<(String, Type)> = types.iter().map(|ty| (generator.fresh("x"), ty.clone())).collect();
    let variables: Vec<(&str, &Type)> = params.iter().map(|(name, ty)| (name.as_str(), ty)).collect();
    let (result, body) = with_parameter_size(generator, &references, |generator| {
        let result = generator.any_type(1);
        let body = generator.scoped(&variables, |generator| generator.exp(&result, size));
        (result, body)
    });
    Definition { name, params, result, body }
}

fn function_under_test(generator: &mut Generator, size: usize) -> Definition {
    generator.sizes.push(parameter_size());
    let mut types = vec![Type::Number, Type::numbers(&generator.size())];
    for _ in 0..generator.random.below(3) {
        types.push(generator.data_type(2));
    }
    generator.sizes.pop();
    let input = Type::Tuple(types.clone());
    let names: Vec<String> = types.iter().map(|_| generator.fresh("p")).collect();
    let variables: Vec<(&str, &Type)> = names.iter().map(String::as_str).zip(&types).collect();
    let (result, body) = with_parameter_size(generator, &[&input], |generator| {
        let result = match generator.random.below(4) {
            0 => Type::Number,
            1 => Type::numbers(&generator.positive_size()),
            2 => Type::pair(Type::Number, generator.data_type(2)),
            _ => generator.data_type(2),
        };
        let body = generator.scoped(&variables, |generator| combined(generator, &result, size));
        (result, body)
    });
    let mut holes: Vec<crate::exp::Part> = names.iter().map(|name| bind(name)).collect();
    holes.extend(parts![name("input"), body]);
    let pattern = vec!["@"; names.len()].join(", ");
    let body = Exp::node(&result, &format!("let ({pattern}) = @\nin @"), holes);
    Definition { name: String::from("f"), params: vec![(String::from("input"), input)], result, body }
}

/// An expression that is a product of two at the top where that is possible, so that most programs depend on their input, and not
/// only linearly.
fn combined(generator: &mut Generator, ty: &Type, size: usize) -> Exp {
    match ty {
        Type::Number => {
            let (left, right) = (generator.exp(ty, size / 2), generator.exp(ty, size / 2));
            let (before, after) = (generator.leaf(ty), generator.leaf(ty));
            Exp::node(ty, "(@ + @) * (@ - @)", parts![left, before, right, after])
        }
        Type::Array(_, element) if **element == Type::Number => {
            let (left, right) = (generator.exp(ty, size / 2), generator.exp(ty, size / 2));
            Exp::node(ty, "map2 (\\x y -> x * y + x) @ @", parts![left, right])
        }
        Type::Tuple(types) => {
            let share = size / types.len().max(1);
            let values = types.iter().map(|ty| combined(generator, ty, share).into()).collect();
            Exp::atom(ty, &format!("({})", vec!["@"; types.len()].join(", ")), values)
        }
        _ => generator.exp(ty, size),
    }
}

/// An entry point: parameters with their types, and a body.
struct Entry {
    name: &'static str,
    params: Vec<(&'static str, String)>,
    body: String,
}

impl Entry {
    fn arguments(&self) -> String {
        self.params.iter().map(|(name, _)| *name).collect::<Vec<&str>>().join(" ")
    }

    /// As a definition by a keyword, perhaps under another name and with another body.
    fn print(&self, keyword: &str, name: &str, body: &str) -> String {
        let params: Vec<String> = self.params.iter().map(|(name, ty)| format!("({name}: {ty})")).collect();
        format!("{keyword} {name} {} =\n  {body}\n", params.join(" "))
    }
}

impl Definition {
    fn print(&self, element: Element, out: &mut String) {
        let _ = write!(out, "def {}", self.name);
        if self.params.iter().any(|(_, ty)| ty.size_names().contains(&SIZE_PARAMETER)) {
            let _ = write!(out, " [{SIZE_PARAMETER}]");
        }
        for (name, ty) in &self.params {
            let _ = write!(out, " ({name}: {ty})");
        }
        let _ = write!(out, ": {} =\n  ", self.result);
        self.body.print(element, out);
        out.push('\n');
    }
}

impl Program {
    /// How many numbers the input holds.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// How many integers and booleans the input holds.
    pub fn integers(&self) -> usize {
        self.integers
    }

    /// How many nodes the program has.
    pub fn size(&self) -> usize {
        self.function.body.size() + self.helpers.iter().map(|helper| helper.body.size()).sum::<usize>()
    }

    /// The program as text.
    pub fn source(&self, element: Element) -> String {
        let (definitions, entries) = self.parts(element);
        let entries = entries.iter().map(|entry| entry.print("entry", entry.name, &entry.body));
        format!("-- Generated from seed {}.\n{definitions}{}", self.seed, entries.collect::<String>())
    }

    /// Several programs as one text, so that what each file costs is paid once. Entry point `name` of program `i` is called
    /// [`entries::of`]`(name, i)`.
    pub fn together(programs: &[Program], element: Element) -> String {
        let mut text = format!("type num = {}\n", element.name());
        for (index, program) in programs.iter().enumerate() {
            let (definitions, entries) = program.parts(element);
            let _ = writeln!(text, "-- Generated from seed {}.\nmodule program_{index} = {{\n{definitions}", program.seed);
            text.extend(entries.iter().map(|entry| entry.print("def", entry.name, &entry.body)));
            text.push_str("}\n");
            for entry in &entries {
                let call = format!("program_{index}.{} {}", entry.name, entry.arguments());
                text.push_str(&entry.print("entry", &entries::of(entry.name, index), &call));
            }
        }
        text
    }

    /// Types and functions as text, and the entry points, which use them.
    fn parts(&self, element: Element) -> (String, Vec<Entry>) {
        let mut definitions = String::new();
        self.function.print(element, &mut definitions);
        // Helpers call only those before them; what nobody calls is left out.
        for helper in self.helpers.iter().rev() {
            if definitions.contains(&format!("{} ", helper.name)) {
                let mut text = String::new();
                helper.print(element, &mut text);
                definitions.insert_str(0, &text);
            }
        }
        let mut codec = Codec::default();
        let input = self.function.params[0].1.with_size(SIZE_PARAMETER, &Size::Const(self.size_parameter));
        let output = self.function.result.with_size(SIZE_PARAMETER, &Size::Const(self.size_parameter));
        let (from, to) = (codec.number(&input), codec.number(&output));
        let (numbers, integers) = (self.numbers, self.integers);
        let codecs = format!(
            "{}def decode (v: [{numbers}]num) (d: [{integers}]i64): {input} = {}\n\
             def seed (v: [{numbers}]num): {input} = decode v (replicate {integers} 0)\n",
            codec.declarations, self.decode
        );
        let mut entries = Vec::new();
        let vector = format!("[{numbers}]num");
        let mut add = |name: &'static str, params: &[(&'static str, &str)], body: &str| {
            let always = [("v", vector.clone()), ("d", format!("[{integers}]i64"))];
            let params = always.into_iter().chain(params.iter().map(|(name, ty)| (*name, String::from(*ty)))).collect();
            entries.push(Entry { name, params, body: format!("let x = decode v d in {body}") });
        };
        let (t, u, w) = (("t", vector.as_str()), ("u", vector.as_str()), ("w", "[]num"));
        let weights = format!("let y' = (refill_{to} (f x) w 0).0");
        add(entries::PRIMAL, &[], &format!("leaves_{to} (f x)"));
        let body = format!("let (y, y') = jvp2 f x (seed t) in (leaves_{to} y, leaves_{to} y')");
        add(entries::FORWARD, &[t], &body);
        let body = format!("{weights} let (y, x') = vjp2 f x y' in (leaves_{to} y, leaves_{from} x')");
        add(entries::REVERSE, &[w], &body);
        let body =
            format!("let (y, ys') = jmp2 f x (map seed ts) in (leaves_{to} y, map (\\y' -> leaves_{to} y' :> [m]num) ys')");
        add(entries::FORWARD_MANY, &[("ts", &format!("[]{vector}")), ("m", "i64")], &body);
        let body = format!(
            "let y = f x let (y, xs') = mjp2 f x (map (\\w -> (refill_{to} y w 0).0) ws) \
             in (leaves_{to} y, map (\\x' -> leaves_{from} x' :> [{numbers}]num) xs')"
        );
        add(entries::REVERSE_MANY, &[("ws", "[][]num")], &body);
        let cotangent = |body: &str| format!("{weights} in leaves_{from} ({body})");
        add(entries::FORWARD_REVERSE, &[w, t], &cotangent("jvp (\\x -> vjp f x y') x (seed t)"));
        add(entries::REVERSE_REVERSE, &[w, t], &cotangent("vjp (\\x -> vjp f x y') x (seed t)"));
        add(entries::REVERSE_FORWARD, &[w, t], &cotangent("vjp (\\x -> jvp f x (seed t)) x y'"));
        let body = format!("leaves_{to} (jvp (\\x -> jvp f x (seed t)) x (seed u))");
        add(entries::FORWARD_FORWARD, &[t, u], &body);
        let text = format!("{definitions}{codecs}");
        (format!("{}{text}", declarations_for(&text, element)), entries)
    }

    /// An input: its numbers (integral for [`Element::I64`]) and its integers.
    pub fn input(&self, element: Element) -> (Vec<f64>, Vec<i64>) {
        let mut random = Random::new(self.seed ^ 0x5EED);
        let numbers = (0..self.numbers).map(|_| match element {
            Element::F64 => 1.25 * random.real(),
            Element::I64 => random.between(-9, 9) as f64,
        });
        let numbers = numbers.collect();
        (numbers, (0..self.integers).map(|_| random.between(0, 9)).collect())
    }
}
