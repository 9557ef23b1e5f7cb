//! Programs as a Rust user sees them: calls, derivatives, errors, limits.

use chadwick::gradcheck::{self, Kind};
use chadwick::{Backend, Error, Limits, Program, Value};
use std::time::{Duration, Instant};

fn program(text: &str) -> Program {
    Program::from_source(text).unwrap_or_else(|error| panic!("{error}"))
}

fn message<T>(result: chadwick::Result<T>) -> String {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.message(),
    }
}

#[test]
fn functions_run_as_native_code_unless_told_otherwise() {
    if chadwick::native_code_available().is_err() {
        return;
    }
    let program = program("entry f [n] (xs: [n]f64) = f64.sum (map (\\x -> x * x) xs)");
    let arguments = [vec![1.0, 2.0].into()];
    let slopes = |program: &Program| program.function("f").unwrap().value_and_gradient(&arguments).unwrap().1;
    assert_eq!(slopes(&program), [Value::from(vec![2.0, 4.0])]);
    assert!(program.c_text().is_some());
    let interpreted = program.with_backend(Backend::Interpreter).unwrap();
    assert_eq!(slopes(&interpreted), [Value::from(vec![2.0, 4.0])]);
    assert_eq!(interpreted.c_text(), None);
}

#[test]
fn tuples_are_passed_as_their_components() {
    let program = program("entry swap (p: (i32, [2]f64)) : ([2]f64, i32) = (p.1, p.0)");
    let swap = program.function("swap").unwrap();
    let results = swap.call(&[7i32.into(), vec![1.0, 2.0].into()]).unwrap();
    assert_eq!(results, [Value::from(vec![1.0, 2.0]), Value::from(7i32)]);
    assert_eq!(swap.argument_names(), ["p.0", "p.1"]);
    assert_eq!(swap.result_names(), ["0", "1"]);
    assert_eq!(swap.entry_point().to_string(), "swap : (p: (i32, [2]f64)) -> ([2]f64, i32)");
}

#[test]
fn components_of_records_have_the_names_of_their_fields() {
    let text = "
      type inner = {b: f64, a: [2](i32, f64)}
      entry f (x: {one: inner, two: f64}) (y: f64): {sum: f64, all: {n: i64, inner: inner}} =
        {sum = x.two + y, all = {n = 2, inner = x.one}}";
    let program = program(text);
    let f = program.function("f").unwrap();
    assert_eq!(f.argument_names(), ["x.one.a.0", "x.one.a.1", "x.one.b", "x.two", "y"]);
    assert_eq!(f.result_names(), ["all.inner.a.0", "all.inner.a.1", "all.inner.b", "all.n", "sum"]);
}

#[test]
fn wrong_arguments_are_explained() {
    let program = program("entry loss [n] (x: [n]f64) (k: i64) = f64.sum x * f64.i64 k\nentry pair (p: (i32, f64)) = p.0");
    let loss = program.function("loss").unwrap();
    assert_eq!(message(loss.call(&[vec![1.0].into()])), "`loss` takes 2 values ([]f64, i64), but 1 was given");
    assert_eq!(
        message(loss.call(&[vec![1.0].into(), 1i32.into()])),
        "parameter `k` of `loss` has type i64, but a value of type i32 was given"
    );
    assert_eq!(
        message(loss.call(&[Value::new([1, 1], vec![1.0]).unwrap(), 1i64.into()])),
        "parameter `x` of `loss` has type [n]f64, but a value of type [1][1]f64 was given"
    );
    assert_eq!(
        message(program.function("pair").unwrap().call(&[1i32.into(), 1i32.into()])),
        "parameter `p` of `pair` has type (i32, f64), and its component `1` has type f64, but a value of type i32 was given"
    );
    assert_eq!(message(program.function("los")), "there is no entry point `los`; there is `loss` and `pair`");
}

#[test]
fn sizes_that_disagree_are_an_error_of_the_run() {
    let program = program("entry dot [n] (x: [n]f64) (y: [n]f64) = f64.sum (map2 (*) x y)");
    let result = program.function("dot").unwrap().call(&[vec![1.0].into(), vec![1.0, 2.0].into()]);
    assert!(matches!(result, Err(Error::Runtime { .. })));
}

#[test]
fn compile_errors_show_the_line() {
    let Err(error) = Program::from_source("entry main (x: f64) =\n  x + y\n") else { panic!("it compiles") };
    let text = error.to_string();
    assert!(text.starts_with("error[E"), "{text}");
    assert!(text.contains("--> <source>:2:7"), "{text}");
    assert!(text.contains(" 2 |   x + y\n   |       ^"), "{text}");
}

#[test]
fn runtime_errors_show_the_line_and_the_calls() {
    let program = program("def at [n] (xs: [n]i32) (i: i64) =\n  xs[i]\n\nentry main (i: i64) = at [1, 2, 3] i\n");
    let error = program.function("main").unwrap().call(&[5i64.into()]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("out of bounds"), "{text}");
    assert!(text.contains("--> <source>:2:3"), "{text}");
    assert!(text.contains("in `main`"), "{text}");
}

#[test]
fn missing_files_are_errors() {
    assert!(message(Program::from_file("/no/such/file.fut")).starts_with("/no/such/file.fut: "));
}

#[test]
fn integer_division_by_zero_is_an_error() {
    let program = program("entry main (x: i32) = 10 / x");
    let main = program.function("main").unwrap();
    assert_eq!(main.call(&[5.into()]).unwrap(), [Value::from(2)]);
    assert!(message(main.call(&[0.into()])).contains("division by zero"));
    // An error does not spoil what comes after it.
    assert_eq!(main.call(&[2.into()]).unwrap(), [Value::from(5)]);
}

#[test]
fn limits_hold() {
    let program =
        program("entry spin (n: i64) = loop x = n while x >= 0 do (x + 1) % 1000\nentry large (n: i64) = replicate n 1.0f64");
    program.set_limits(Limits { deadline: Some(Instant::now() + Duration::from_millis(50)), ..Limits::default() });
    assert!(message(program.function("spin").unwrap().call(&[0i64.into()])).contains("time limit"));
    program.set_limits(Limits { max_memory_bytes: 1 << 20, ..Limits::default() });
    assert!(message(program.function("large").unwrap().call(&[(1i64 << 40).into()])).contains("memory limit"));
    assert!(message(program.function("large").unwrap().call(&[i64::MAX.into()])).contains("memory limit"));
    assert_eq!(program.function("large").unwrap().call(&[3i64.into()]).unwrap(), [Value::from(vec![1.0; 3])]);
}

#[test]
fn only_some_functions_have_gradients() {
    let program =
        program("entry two (x: f64) = (x, x)\nentry count (n: i64) = f64.i64 n\nentry mixed (x: f64) (n: i64) = x * f64.i64 n");
    assert_eq!(
        message(program.function("two").unwrap().gradient()),
        "`two` gives (f64, f64); only a function that gives one float has a gradient"
    );
    assert_eq!(message(program.function("count").unwrap().gradient()), "`count` has no float parameter to differentiate by");
    let mixed = program.function("mixed").unwrap();
    assert_eq!(mixed.gradient().unwrap().call(&[2.0.into(), 3i64.into()]).unwrap(), [Value::from(3.0)]);
    assert_eq!(message(mixed.wrt(&["n"])), "parameter `n` of `mixed` has type i64, which has no derivative");
    assert_eq!(message(mixed.wrt(&["y"])), "`mixed` has no parameter `y`; it has `x` and `n`");
}

#[test]
fn gradients_of_f32_stay_f32() {
    let program = program("entry f (x: f32) = x * x");
    let (value, gradient) = program.function("f").unwrap().value_and_gradient(&[3f32.into()]).unwrap();
    assert_eq!((value, gradient), (Value::from(9f32), vec![Value::from(6f32)]));
}

#[test]
fn pullbacks_are_independent() {
    let program = program("entry f [n] (x: [n]f64) = (f64.sum x, map (\\x -> x * x) x)");
    let f = program.function("f").unwrap();
    let (_, first) = f.pullback(&[vec![1.0, 2.0].into()]).unwrap();
    let (values, second) = f.pullback(&[vec![10.0].into()]).unwrap();
    assert_eq!(values, [Value::from(10.0), Value::from(vec![100.0])]);
    assert_eq!(second.call(&[0.0.into(), vec![1.0].into()]).unwrap(), [Value::from(vec![20.0])]);
    assert_eq!(first.call(&[1.0.into(), vec![0.0, 1.0].into()]).unwrap(), [Value::from(vec![1.0, 5.0])]);
    assert_eq!(first.call(&[1.0.into(), vec![0.0, 1.0].into()]).unwrap(), [Value::from(vec![1.0, 5.0])]);
    f.call(&[vec![3.0].into()]).unwrap();
    assert_eq!(first.results()[0], Value::from(3.0));
    assert_eq!(
        message(first.call(&[1.0.into(), vec![0.0].into()])),
        "the cotangent must have type [2]f64, but one of type [1]f64 was given"
    );
    assert_eq!(message(first.call(&[1.0.into()])), "`f` needs 2 cotangents here, but 1 was given");
}

#[test]
fn forward_and_reverse_agree_through_the_facade() {
    let program = program("entry f (x: f64) (k: i64) (y: f64) = (f64.sin (x * y), f64.i64 k * y)");
    let f = program.function("f").unwrap();
    let args = [0.5.into(), 3i64.into(), 2.0.into()];
    let (values, tangents) = f.jvp(&args, &[1.0.into(), 0.0.into()]).unwrap();
    assert_eq!(values[1], Value::from(6.0));
    assert_eq!(tangents, [Value::from(1f64.cos() * 2.0), Value::from(0.0)]);
    let (_, cotangents) = f.vjp(&args, &[1.0.into(), 0.0.into()]).unwrap();
    assert_eq!(cotangents[0], tangents[0]);
    assert_eq!(f.wrt_names().unwrap(), ["x", "y"]);
    let by_y = f.wrt(&["y"]).unwrap();
    let (_, tangents) = by_y.jvp(&args, &[1.0.into()]).unwrap();
    assert_eq!(tangents[1], Value::from(3.0));
    assert!(message(f.jvp(&args, &[1.0.into()])).contains("2 tangents"));
}

#[test]
fn gradcheck_finds_a_wrong_rule_and_tells_where() {
    // The stated derivative of the second element is wrong.
    let source = "
def wrong (x: f64) = with_vjp (\\x -> x * x) (\\_ y_ct -> 3 * y_ct) x
entry f (xs: [2]f64) = xs[0] * xs[0] + wrong xs[1]";
    let program = program(source);
    let report = gradcheck::check(&program.function("f").unwrap(), &[vec![1.0, 5.0].into()], &gradcheck::Options::default());
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert!(!report.agrees());
    let differences = report.comparisons.iter().find(|one| one.kind == Kind::Differences).unwrap();
    assert_eq!((differences.parameter.as_str(), differences.position.as_str()), ("xs", "[1]"));
    assert_eq!(differences.reverse, 3.0);
    assert!((differences.other - 10.0).abs() < 1e-6);
}

#[test]
fn gradcheck_skips_kinks_but_not_too_many() {
    let program = program("entry f [n] (xs: [n]f64) = f64.sum (map f64.abs xs)");
    let f = program.function("f").unwrap();
    let mut xs = vec![1.0; 20];
    xs[7] = 1e-6;
    let report = gradcheck::check(&f, &[xs.into()], &gradcheck::Options::default()).unwrap();
    let differences = report.comparisons.iter().find(|one| one.kind == Kind::Differences).unwrap();
    assert_eq!((differences.skipped, differences.compared), (1, 19));
    assert!(report.agrees());
    let report = gradcheck::check(&f, &[vec![1e-6, 1.0].into()], &gradcheck::Options::default()).unwrap();
    assert!(!report.agrees());
}

#[test]
fn gradcheck_expects_no_more_than_the_results_are_precise() {
    let program = program("entry f [n] (xs: [n]f64) : f32 = f32.sum (map (\\x -> f32.sin (f32.f64 x)) xs)");
    let report = gradcheck::check(&program.function("f").unwrap(), &[vec![0.3, 1.1].into()], &gradcheck::Options::default());
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert!(report.agrees(), "{report:?}");
    assert!(report.comparisons.iter().all(|one| one.allowed > 1e-6 && one.compared == 2));
}

#[test]
fn functions_and_sums_are_no_data() {
    let program = program("type t = #some i32 | #none\nentry f (x: i32) : t = if x > 0 then #some x else #none");
    let result = program.function("f").unwrap().call(&[1.into()]);
    assert!(message(result).contains("no number, boolean or array"));
}

#[test]
fn deep_programs_compile_on_small_stacks() {
    let depth = 3000;
    let text = format!("entry main (x: i64) = {}x{}", "(1 + ".repeat(depth), ")".repeat(depth));
    let run = move || {
        let program = Program::from_source(&text).unwrap_or_else(|error| panic!("{error}"));
        program.function("main").unwrap().call(&[1i64.into()]).unwrap()
    };
    let result = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
    assert_eq!(result, [Value::from(depth as i64 + 1)]);
}

#[test]
fn errors_can_cross_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Error>();
    check::<Value>();
}
