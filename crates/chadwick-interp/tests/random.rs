//! Random programs: the machine agrees with the plainest evaluator, and reverse mode with forward mode, exactly.

mod common;

#[path = "common/generate.rs"]
mod generate;
#[path = "common/naive.rs"]
mod naive;

use chadwick_core::text;
use chadwick_core::{Const, FunctionId, Program, verify};
use chadwick_interp::{Buffer, Interpreter, Limits, Value};
use common::{i, ints};
use generate::{Random, add_function};
use naive::{Naive, Plain};
use std::rc::Rc;

const PROGRAMS: u64 = 1500;

fn program(seed: u64) -> (Program, FunctionId) {
    let mut program = Program::default();
    add_function(&mut program, seed * 2 + 1, 3);
    let main = add_function(&mut program, seed * 2 + 2, 10);
    let errors = verify::verify(&program);
    assert!(errors.is_empty(), "seed {seed}: {errors:#?}\n{}", text::print(&program));
    (program, main)
}

fn integers(value: &Value) -> Vec<i64> {
    match value.to_data().map(|data| data.elements) {
        Some(Buffer::I64(elements)) => elements,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_machine_agrees_with_the_plainest_evaluator() {
    let mut compared = 0;
    for seed in 0..PROGRAMS {
        let (program, main) = program(seed);
        let vector = [2, -3, 5];
        let elements = vector.iter().map(|x| Plain::Scalar(Const::I64(*x))).collect();
        let args = vec![Plain::Scalar(Const::I64(7)), Plain::Array { shape: vec![3], elements }];
        let wanted = Naive::new(&program).call(main, args);
        let shown = text::print(&program);
        let mut interpreter = Interpreter::new(Rc::new(program), Limits::default());
        let found = interpreter.call(main, vec![i(7), ints(&vector)]);
        match (wanted, found) {
            (Some(wanted), Ok(found)) => {
                let Plain::Array { elements, .. } = &wanted[0] else { panic!("no array") };
                let elements: Vec<Const> = elements
                    .iter()
                    .map(|element| match element {
                        Plain::Scalar(constant) => *constant,
                        other => panic!("{other:?}"),
                    })
                    .collect();
                let found: Vec<Const> = integers(&found[0]).into_iter().map(Const::I64).collect();
                assert_eq!(found, elements, "seed {seed}\n{shown}");
                compared += 1;
            }
            (None, Err(_)) => {}
            (wanted, found) => panic!("seed {seed}: {wanted:?} {found:?}\n{shown}"),
        }
    }
    assert!(compared > PROGRAMS * 9 / 10, "{compared}");
}

/// Adds functions that differentiate `main` (a function of a scalar and a vector) to the text of its program.
fn with_derivatives(program: &Program, main: FunctionId) -> Program {
    let derivatives = format!(
        "
        def forward(x: i64, v: [?]i64, dx: i64, dv: [?]i64) -> ([?]i64, [?]i64) {{
          p: [?]i64, t: [?]i64 = jvp with_primal fn (a: i64, b: [?]i64) -> ([?]i64) {{ r: [?]i64 = call @{0}(a, b) return r }}
            args(x, v) seeds(dx, dv)
          return p, t
        }}
        def reverse(x: i64, v: [?]i64, seed: [?]i64) -> ([?]i64, i64, [?]i64) {{
          p: [?]i64, cx: i64, cv: [?]i64 = vjp with_primal fn (a: i64, b: [?]i64) -> ([?]i64) {{ r: [?]i64 = call @{0}(a, b) return r }}
            args(x, v) seeds(seed)
          return p, cx, cv
        }}
        def forward_reverse(x: i64, v: [?]i64, seed: [?]i64, dx: i64, dv: [?]i64) -> (i64, [?]i64) {{
          hx: i64, hv: [?]i64 = jvp fn (a: i64, b: [?]i64) -> (i64, [?]i64) {{
            p: [?]i64, cx: i64, cv: [?]i64 = call @{2}(a, b, seed)
            return cx, cv
          }} args(x, v) seeds(dx, dv)
          return hx, hv
        }}
        def reverse_reverse(x: i64, v: [?]i64, seed: [?]i64, dx: i64, dv: [?]i64) -> (i64, [?]i64) {{
          hx: i64, hv: [?]i64 = vjp fn (a: i64, b: [?]i64) -> (i64, [?]i64) {{
            p: [?]i64, cx: i64, cv: [?]i64 = call @{2}(a, b, seed)
            return cx, cv
          }} args(x, v) seeds(dx, dv)
          return hx, hv
        }}
        def reverse_forward(x: i64, v: [?]i64, seed: [?]i64, dx: i64, dv: [?]i64) -> (i64, [?]i64) {{
          hx: i64, hv: [?]i64 = vjp fn (a: i64, b: [?]i64) -> ([?]i64) {{
            p: [?]i64, t: [?]i64 = call @{1}(a, b, dx, dv)
            return t
          }} args(x, v) seeds(seed)
          return hx, hv
        }}",
        main.0,
        main.0 + 1,
        main.0 + 2
    );
    let text = format!("{}{derivatives}", text::print(program));
    let program = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let errors = verify::verify(&program);
    assert!(errors.is_empty(), "{errors:#?}");
    program
}

fn dot(left: &[i64], right: &[i64]) -> i64 {
    left.iter().zip(right).fold(0, |sum, (x, y)| sum.wrapping_add(x.wrapping_mul(*y)))
}

#[test]
fn reverse_and_forward_mode_agree_exactly_in_wrapping_integers() {
    let mut random = Random(99);
    let mut active = 0;
    for seed in 0..PROGRAMS {
        let (program, main) = program(seed);
        let shown = text::print(&program);
        let program = with_derivatives(&program, main);
        let mut interpreter = Interpreter::new(Rc::new(program), Limits::default());
        let mut number = || random.below(19) as i64 - 9;
        let (x, v) = (number(), [number(), number(), number()]);
        let (dx, dv) = (number(), [number(), number(), number()]);
        let out = [number(), number(), number()];
        let Ok(primal) = interpreter.call(main, vec![i(x), ints(&v)]) else { continue };
        let mut call = |function: u32, args: Vec<Value>| {
            let result = interpreter.call(FunctionId(main.0 + function), args);
            result.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{shown}"))
        };
        let forward = call(1, vec![i(x), ints(&v), i(dx), ints(&dv)]);
        let reverse = call(2, vec![i(x), ints(&v), ints(&out)]);
        assert_eq!(integers(&forward[0]), integers(&primal[0]), "seed {seed}\n{shown}");
        assert_eq!(integers(&reverse[0]), integers(&primal[0]), "seed {seed}\n{shown}");
        let along = dot(&out, &integers(&forward[1]));
        let cotangent = |values: &[Value]| (integers(&values[0])[0], integers(&values[1]));
        let pair = |(cx, cv): &(i64, Vec<i64>), dx: i64, dv: &[i64]| dot(cv, dv).wrapping_add(cx.wrapping_mul(dx));
        let back = cotangent(&reverse[1..]);
        assert_eq!(along, pair(&back, dx, &dv), "adjoint, seed {seed}\n{shown}");
        active += u64::from(along != 0);
        // The Hessian of ⟨out, f⟩ applied to the tangent, in three ways.
        let args = vec![i(x), ints(&v), ints(&out), i(dx), ints(&dv)];
        let hessian = [3, 4, 5].map(|function| cotangent(&call(function, args.clone())));
        assert_eq!(hessian[0], hessian[1], "second derivative, seed {seed}\n{shown}");
        assert_eq!(hessian[0], hessian[2], "second derivative, seed {seed}\n{shown}");
    }
    assert!(active > PROGRAMS / 2, "{active}");
}
