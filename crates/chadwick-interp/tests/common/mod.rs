//! Runs Core written as text.
#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses a part of this")]

use chadwick_core::{Const, FunctionId, text};
use chadwick_interp::{Buffer, Counters, Interpreter, Limits, RuntimeError, Value};
use std::rc::Rc;

pub fn interpreter(source: &str) -> Interpreter {
    interpreter_with(source, Limits::default())
}

pub fn interpreter_with(source: &str, limits: Limits) -> Interpreter {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let errors = chadwick_core::verify::verify(&program);
    assert!(errors.is_empty(), "{errors:#?}");
    Interpreter::new(Rc::new(program), limits)
}

/// Calls the function `main`.
pub fn try_call(interpreter: &mut Interpreter, args: Vec<Value>) -> Result<Vec<Value>, RuntimeError> {
    let main = interpreter.program().functions.iter().position(|function| function.name == "main").expect("a function main");
    interpreter.call(FunctionId(main as u32), args)
}

pub fn run(source: &str, args: Vec<Value>) -> Vec<Value> {
    let mut interpreter = interpreter(source);
    try_call(&mut interpreter, args).unwrap_or_else(|error| panic!("{error}"))
}

pub fn run_counted(source: &str, args: Vec<Value>) -> (Vec<Value>, Counters) {
    let mut interpreter = interpreter(source);
    let values = try_call(&mut interpreter, args).unwrap_or_else(|error| panic!("{error}"));
    (values, interpreter.counters())
}

pub fn run_error(source: &str, args: Vec<Value>) -> RuntimeError {
    let mut interpreter = interpreter(source);
    try_call(&mut interpreter, args).expect_err("an error")
}

pub fn f(value: f64) -> Value {
    Value::Scalar(Const::F64(value))
}

pub fn i(value: i64) -> Value {
    Value::Scalar(Const::I64(value))
}

pub fn floats(elements: &[f64]) -> Value {
    Value::array_f64(&[elements.len() as i64], elements.to_vec()).expect("an array")
}

pub fn ints(elements: &[i64]) -> Value {
    Value::array_i64(&[elements.len() as i64], elements.to_vec()).expect("an array")
}

pub fn float(value: &Value) -> f64 {
    match value {
        Value::Scalar(Const::F64(value)) => *value,
        other => panic!("not a plain f64: {other:?}"),
    }
}

pub fn float_list(value: &Value) -> Vec<f64> {
    match value.to_data().map(|data| data.elements) {
        Some(Buffer::F64(elements)) => elements,
        other => panic!("not floats: {other:?}"),
    }
}

pub fn shown(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<String>>().join(" ")
}

#[track_caller]
pub fn assert_close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found} is not {wanted}");
}
