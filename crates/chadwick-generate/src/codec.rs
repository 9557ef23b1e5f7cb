//! Functions of the generated program between structured data and flat arrays of numbers.
//!
//! For a type there are `leaves_K : t -> []num`, the numbers in a value in order, and `refill_K : t -> []num -> i64 -> (t, i64)`, the
//! value with its numbers replaced by those from a position on, and the position behind them. Integers become 0 and booleans false:
//! what `refill` makes serves as a seed.

use crate::random::Random;
use crate::types::{Size, Type};
use std::fmt::Write;

/// The functions of the types seen so far.
#[derive(Default)]
pub struct Codec {
    types: Vec<Type>,
    pub declarations: String,
}

impl Codec {
    /// The number in the names of the functions of a type.
    pub fn number(&mut self, ty: &Type) -> usize {
        if let Some(known) = self.types.iter().position(|known| known == ty) {
            return known;
        }
        let parts: Vec<usize> = match ty {
            Type::Function(..) => panic!("functions are no data"),
            _ => ty.parts().into_iter().map(|part| self.number(part)).collect(),
        };
        let number = self.types.len();
        self.types.push(ty.clone());
        let sizes: String = ty.size_names().iter().map(|name| format!("[{name}]")).collect();
        let leaves = leaves(ty, number, &parts);
        let refill = refill(ty, number, &parts);
        let _ = writeln!(self.declarations, "def leaves_{number} {sizes} (x: {ty}): []num = {leaves}");
        let _ = writeln!(
            self.declarations,
            "def refill_{number} {sizes}[w_size] (x: {ty}) (w: [w_size]num) (at: i64): ({ty}, i64) = {refill}"
        );
        number
    }
}

fn leaves(ty: &Type, own: usize, parts: &[usize]) -> String {
    match ty {
        Type::Number => String::from("[x]"),
        Type::Int | Type::Index | Type::Bool => String::from("[]"),
        Type::Ragged => String::from("x"),
        Type::Tuple(_) => {
            let parts: Vec<String> = parts.iter().enumerate().map(|(at, part)| format!("leaves_{part} x.{at}")).collect();
            parts.join(" ++ ")
        }
        Type::Record(fields) => {
            let parts = fields.iter().zip(parts).map(|((field, _), part)| format!("leaves_{part} x.{field}"));
            parts.collect::<Vec<String>>().join(" ++ ")
        }
        Type::Option(_) => format!("match x case #some y -> leaves_{} y case #none -> []", parts[0]),
        Type::Shape => String::from("match x case #dot -> [] case #circle y -> [y] case #box y z -> [y, z] case #path p -> p"),
        Type::List(_) => format!("match x case #nil -> [] case #cons y rest -> leaves_{} y ++ leaves_{own} rest", parts[0]),
        Type::Tree => {
            format!("match x case #leaf y -> [y] case #node l y r -> leaves_{own} l ++ [y] ++ leaves_{own} r")
        }
        Type::Rose => format!(
            "match x case #rose y f -> \
             let rec go (f: forest): []num = match f case #empty -> [] case #more t rest -> leaves_{own} t ++ go rest \
             in [y] ++ go f"
        ),
        Type::Array(_, element) if **element == Type::Number => String::from("x"),
        Type::Array(..) => format!("loop found = ([] : []num) for y in x do found ++ leaves_{} y", parts[0]),
        Type::Function(..) => panic!("functions are no data"),
    }
}

fn refill(ty: &Type, own: usize, parts: &[usize]) -> String {
    // Components one after the other, each behind the one before.
    let in_sequence = |accesses: &[String], build: &dyn Fn(&[String]) -> String| {
        let mut text = String::new();
        let names: Vec<String> = (0..accesses.len()).map(|at| format!("y{at}")).collect();
        for ((access, part), name) in accesses.iter().zip(parts).zip(&names) {
            let _ = write!(text, "let ({name}, at) = refill_{part} {access} w at ");
        }
        format!("{text}in ({}, at)", build(&names))
    };
    match ty {
        Type::Number => String::from("(w[at], at + 1)"),
        Type::Int | Type::Index => String::from("(0, at)"),
        Type::Bool => String::from("(false, at)"),
        Type::Ragged => String::from("let k = length x in (w[at:at + k], at + k)"),
        Type::Tuple(types) => {
            let accesses: Vec<String> = (0..types.len()).map(|at| format!("x.{at}")).collect();
            in_sequence(&accesses, &|names| format!("({})", names.join(", ")))
        }
        Type::Record(fields) => {
            let accesses: Vec<String> = fields.iter().map(|(field, _)| format!("x.{field}")).collect();
            in_sequence(&accesses, &|names| {
                let fields: Vec<String> =
                    fields.iter().zip(names).map(|((field, _), name)| format!("{field} = {name}")).collect();
                format!("{{{}}}", fields.join(", "))
            })
        }
        Type::Option(_) => format!(
            "match x case #some y -> (let (y, at) = refill_{} y w at in (#some y, at)) case #none -> (#none, at)",
            parts[0]
        ),
        Type::Shape => String::from(
            "match x case #dot -> (#dot, at) case #circle _ -> (#circle w[at], at + 1) \
             case #box _ _ -> (#box w[at] w[at + 1], at + 2) case #path _ -> (#path w[at:at + 2], at + 2)",
        ),
        Type::List(_) => format!(
            "match x case #nil -> (#nil, at) case #cons y rest -> \
             let (y, at) = refill_{} y w at let (rest, at) = refill_{own} rest w at in (#cons y rest, at)",
            parts[0]
        ),
        Type::Tree => format!(
            "match x case #leaf _ -> (#leaf w[at], at + 1) case #node l _ r -> \
             let (l, at) = refill_{own} l w at let y = w[at] let (r, at) = refill_{own} r w (at + 1) in (#node l y r, at)"
        ),
        Type::Rose => format!(
            "match x case #rose _ f -> let y = w[at] \
             let rec go (f: forest) (at: i64): (forest, i64) = match f case #empty -> (#empty, at) case #more t rest -> \
             (let (t, at) = refill_{own} t w at let (rest, at) = go rest at in (#more t rest, at)) \
             let (f, at) = go f (at + 1) in (#rose y f, at)"
        ),
        Type::Array(size, element) if **element == Type::Number => {
            format!("(w[at:at + {size}] :> {ty}, at + {size})")
        }
        Type::Array(..) => format!(
            "loop (y, at) = (copy x, at) for i < length x do (let (e, at) = refill_{} x[i] w at in (y with [i] = e, at))",
            parts[0]
        ),
        Type::Function(..) => panic!("functions are no data"),
    }
}

/// How the input is made of flat arrays: an expression over `v` (numbers) and `d` (integers).
pub struct Layout {
    pub numbers: usize,
    pub integers: usize,
}

impl Layout {
    /// An expression of the type, all of whose sizes are constant.
    pub fn decode(&mut self, ty: &Type, random: &mut Random) -> String {
        let mut number = || {
            self.numbers += 1;
            format!("v[{}]", self.numbers - 1)
        };
        match ty {
            Type::Number => number(),
            Type::Int | Type::Index => {
                self.integers += 1;
                format!("d[{}]", self.integers - 1)
            }
            Type::Bool => {
                self.integers += 1;
                format!("(d[{}] % 2 == 1)", self.integers - 1)
            }
            Type::Tuple(types) => {
                let parts: Vec<String> = types.iter().map(|ty| self.decode(ty, random)).collect();
                format!("({})", parts.join(", "))
            }
            Type::Record(fields) => {
                let parts: Vec<String> =
                    fields.iter().map(|(field, ty)| format!("{field} = {}", self.decode(ty, random))).collect();
                format!("{{{}}}", parts.join(", "))
            }
            Type::Option(part) => match random.chance(75) {
                true => format!("(#some {} : {ty})", self.decode(part, random)),
                false => format!("(#none : {ty})"),
            },
            Type::Shape => match random.below(4) {
                0 => String::from("(#dot : shape)"),
                1 => format!("(#circle {} : shape)", number()),
                2 => format!("(#box {} {} : shape)", number(), number()),
                _ => format!("(#path [{}, {}] : shape)", number(), number()),
            },
            Type::List(part) => {
                let count = random.below(4);
                let cells: String = (0..count).map(|_| format!("#cons {} (", self.decode(part, random))).collect();
                format!("({cells}#nil{} : {ty})", ")".repeat(count))
            }
            Type::Tree => match random.chance(40) {
                true => format!("(#leaf {} : tree)", number()),
                false => {
                    let left = self.decode(ty, random);
                    let middle = self.decode(&Type::Number, random);
                    let right = self.decode(&Type::Number, random);
                    format!("(#node {left} {middle} (#leaf {right}) : tree)")
                }
            },
            Type::Rose => match random.chance(50) {
                true => format!("(#rose {} #empty : rose)", number()),
                false => {
                    let root = number();
                    let child = self.decode(ty, random);
                    let leaf = self.decode(&Type::Number, random);
                    format!("(#rose {root} (#more {child} (#more (#rose {leaf} #empty) #empty)) : rose)")
                }
            },
            Type::Ragged => {
                let (start, count) = (self.numbers, random.below(4));
                self.numbers += count;
                format!("(v[{start}:{}] : ragged)", start + count)
            }
            Type::Array(size, element) => {
                let Size::Const(count) = size else { panic!("{ty} has no known size") };
                if **element == Type::Number {
                    let start = self.numbers;
                    self.numbers += *count;
                    return format!("v[{start}:{}]", start + count);
                }
                if *count == 0 {
                    return format!("([] : {ty})");
                }
                let parts: Vec<String> = (0..*count).map(|_| self.decode(element, random)).collect();
                format!("[{}]", parts.join(", "))
            }
            Type::Function(..) => panic!("functions are no data"),
        }
    }
}
