//! One small program per law of the passes: Core in, Core out, and the same values from both.
//!
//! A file is called after its pass and what it shows: `fuse-build_into_sum.core`. `INSTA_UPDATE=always` writes what the passes make of it.

use chadwick_core::text::{parse, print};
use chadwick_core::verify::verify;
use chadwick_core::{Const, Dim, Element, Entry, EntryValue, FunctionId, Prim, Program, Type};
use chadwick_interp::{Counters, Interpreter, Limits, Value};
use chadwick_opt::{
    Hints, choose_elements, detach_shifts, distribute, fission, fuse, inline, own_rows, remove_dead, split_rows, tidy, windows,
};
use std::rc::Rc;

/// How often a pass may multiply the operations on floats that a program does. Passes may move work to where it is done in fewer places; none
/// of those here may repeat it.
const MOST: f64 = 1.0;

fn pass(name: &str) -> fn(&mut Program) {
    match name {
        "simplify" => |program| tidy(program, Hints::Drop),
        "fuse" => fuse,
        "dead" => remove_dead,
        "inline" => inline,
        "choices" => choose_elements,
        "detach" => detach_shifts,
        "fission" => fission,
        "pieces" => split_rows,
        "own_rows" => own_rows,
        "distribute" => distribute,
        "windows" => windows,
        other => panic!("there is no pass `{other}`"),
    }
}

/// A value of a type; arrays have three elements along each axis.
fn sample(ty: &Type, seed: usize) -> Value {
    let number = |at: usize| ((seed * 7 + at * 3) % 11) as f64 / 4.0 - 1.0;
    match ty {
        Type::Prim(Prim::Bool) => Value::Scalar(Const::Bool(seed.is_multiple_of(2))),
        Type::Prim(Prim::I64) => Value::Scalar(Const::I64(3)),
        Type::Prim(Prim::F64) => Value::Scalar(Const::F64(number(0))),
        Type::Array(array) => {
            assert_eq!(array.element, Element::Prim(Prim::F64), "only arrays of f64");
            let dims: Vec<i64> = array.dims.iter().map(|dim| if let Dim::Const(size) = dim { *size } else { 3 }).collect();
            let count: i64 = dims.iter().product();
            let numbers = (0..count as usize).map(number).collect();
            Value::array_f64(&dims, numbers).expect("as many numbers as places")
        }
        other => panic!("no sample of {other:?}"),
    }
}

fn run(program: &Program) -> (String, Counters) {
    let params = program.functions[0].params.iter().enumerate();
    let args = params.map(|(at, param)| sample(&param.ty, at)).collect();
    let mut interpreter = Interpreter::new(Rc::new(program.clone()), Limits::default());
    let values = interpreter.call(FunctionId(0), args).unwrap_or_else(|error| panic!("{}", error.message));
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    (texts.join(" "), interpreter.counters())
}

#[test]
fn passes_keep_meaning_and_cost() {
    insta::glob!("passes/*.core", |path| {
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let text = std::fs::read_to_string(path).expect("a readable program");
        let mut program = parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        // What can be called from outside stays.
        let function = FunctionId(0);
        let value = |ty: &Type| EntryValue {
            name: "".into(),
            source_type: String::new(),
            types: vec![ty.clone()],
            paths: vec!["".into()],
        };
        let params = program.functions[0].params.iter().map(|param| value(&param.ty)).collect();
        let results = program.functions[0].results.iter().map(value).collect();
        program.entries.push(Entry { name: "main".into(), function, params, results });
        assert_eq!(verify(&program), [], "{name}");
        let (before, cost_before) = run(&program);
        pass(name.split('-').next().unwrap_or(name))(&mut program);
        assert_eq!(verify(&program), [], "{name}");
        let (after, cost_after) = run(&program);
        assert_eq!(before, after, "{name}");
        let operations = |counters: Counters| (counters.float_operations + counters.accumulations) as f64;
        // A sum that starts from its neutral element adds once more than an accumulator does, and once more if it goes to an accumulator then. Here there
        // are as many sums as places in a matrix at most.
        // At the ends of what they move along, windows have zeros in them.
        let more = match name.split('-').next() {
            Some("distribute") => 1.0 + 2.0 * 9.0,
            Some("windows") => operations(cost_before),
            _ => 1.0,
        };
        let most = operations(cost_before) * MOST + more;
        assert!(operations(cost_after) <= most, "{name}: {cost_before:?} {cost_after:?}");
        assert!(cost_after.copies <= cost_before.copies, "{name}: {cost_before:?} {cost_after:?}");
        program.entries.clear();
        insta::with_settings!({ omit_expression => true, snapshot_path => "passes/snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("{text}\n----\n{}", print(&program)));
        });
    });
}
