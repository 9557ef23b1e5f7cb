//! Programs that grow.

use chadwick::Value;

/// Programs of one kind and any size. The entry point `gradient` also gives the gradient of `primal`, at the same arguments.
pub struct Family {
    pub name: &'static str,
    /// What is asked.
    pub about: &'static str,
    /// The program of a size, with arguments.
    pub program: fn(usize) -> (String, Vec<Value>),
    /// Three sizes, each twice the one before.
    pub sizes: [usize; 3],
}

/// A program for a function `g` of parameters with types.
fn gradient_of(definitions: &str, parameters: &[(&str, &str)]) -> String {
    let declared: Vec<String> = parameters.iter().map(|(name, ty)| format!("({name}: {ty})")).collect();
    let names: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    let (declared, tuple) = (declared.join(" "), names.join(", "));
    format!("{definitions}\nentry primal {declared} = g ({tuple})\nentry gradient {declared} = vjp2 g ({tuple}) 1")
}

fn doubling(n: usize) -> (String, Vec<Value>) {
    let definition = format!("def g (x: f64) = loop y = x for _i < {n}i64 do y + y");
    (gradient_of(&definition, &[("x", "f64")]), vec![1.5.into()])
}

/// A condition that nobody knows keeps the functions from being written out.
fn nested_lambdas(n: usize) -> (String, Vec<Value>) {
    let mut body = String::from("f64.sin x1");
    for level in 1..=n {
        let arg = if level == n { String::from("x") } else { format!("x{}", level + 1) };
        let chosen = format!("if b then (\\(x{level}: f64) -> {body} * x{level}) else (\\x{level} -> 2 * x{level})");
        body = format!("(let g{level} = {chosen} in g{level} {arg})");
    }
    let entries = "entry primal (b: bool) (x: f64) = g b x\nentry gradient (b: bool) (x: f64) = vjp2 (g b) x 1";
    (format!("def g (b: bool) (x: f64) = {body}\n{entries}"), vec![true.into(), 1.5.into()])
}

fn dot(n: usize) -> (String, Vec<Value>) {
    let array = format!("[{n}]f64");
    let definition = format!("def g (a: {array}, b: {array}) = f64.sum (map2 (*) a b)");
    (gradient_of(&definition, &[("a", &array), ("b", &array)]), vec![vec![2.0; n].into(), vec![3.0; n].into()])
}

fn one_at_a_time(n: usize) -> (String, Vec<Value>) {
    let array = format!("[{n}]f64");
    let definition = format!("def g (a: {array}) = loop y = 1 for i < {n} do y * a[i]");
    (gradient_of(&definition, &[("a", &array)]), vec![vec![1.5; n].into()])
}

fn unused_half(n: usize) -> (String, Vec<Value>) {
    let array = format!("[{n}]f64");
    let definition = format!("def g (x: f64, _a: {array}) = loop y = x for _i < {n}i64 do y * x");
    (gradient_of(&definition, &[("x", "f64"), ("a", &array)]), vec![1.5.into(), vec![1.0; n].into()])
}

fn matrix_vector(n: usize) -> (String, Vec<Value>) {
    let (matrix, vector) = (format!("[{n}][{n}]f64"), format!("[{n}]f64"));
    let definition = format!("def g (a: {matrix}, b: {vector}) = f64.sum (map (\\r -> f64.sum (map2 (*) r b)) a)");
    let values = Value::new([n, n], vec![2.0; n * n]).into_iter().chain([vec![3.0; n].into()]);
    (gradient_of(&definition, &[("a", &matrix), ("b", &vector)]), values.collect())
}

fn recursion(n: usize) -> (String, Vec<Value>) {
    let power = "def power (n: i64) (x: f64): f64 = if n == 0 then 1 else x * power (n - 1) x";
    (gradient_of(&format!("{power}\ndef g (x: f64): f64 = power {n} x"), &[("x", "f64")]), vec![1.5.into()])
}

pub const FAMILIES: &[Family] = &[
    Family {
        name: "doubling",
        about: "each step uses what is before it twice: is what is shared run again?",
        program: doubling,
        sizes: [5, 10, 20],
    },
    Family {
        name: "lambdas",
        about: "functions nested in functions: is a body run again for what it captures?",
        program: nested_lambdas,
        sizes: [3, 6, 12],
    },
    Family { name: "dot", about: "a dot product: what does a large input cost?", program: dot, sizes: [32, 64, 128] },
    Family {
        name: "elements",
        about: "a loop that reads an element at a time: is a one-hot array made for each?",
        program: one_at_a_time,
        sizes: [32, 64, 128],
    },
    Family {
        name: "unused",
        about: "a loop beside an input that it does not use: is a zero made at every step?",
        program: unused_half,
        sizes: [32, 64, 128],
    },
    Family {
        name: "matrix",
        about: "a matrix times a vector: are nested reductions run again?",
        program: matrix_vector,
        sizes: [8, 16, 32],
    },
    Family { name: "recursion", about: "a recursive function", program: recursion, sizes: [16, 32, 64] },
];
