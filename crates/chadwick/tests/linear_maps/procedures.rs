//! Reverse mode by translating procedures and by records of the forward pass: both give what linear maps give.

use crate::derived::derived;
use crate::{assert_near, run, source};
use chadwick::Value;
use chadwick::compile::Stage;
use chadwick::compile::linear_maps::{Derivation, with_derived_entries};

/// Scalars, pairs, sums of two, conditionals and calls; figure 22 first.
pub const SCALARS: &[(&str, &[f64])] = &[
    ("entry f (x: f64) = 5 + 6 + x * 0", &[0.4]),
    ("entry f (r: f64) (t: f64) = (r * f64.cos t, r * f64.sin t)", &[1.3, 0.4]),
    ("entry f (x: f64) (y: f64) = x * x + f64.sin (x * y) + 1", &[0.4, 1.3]),
    ("entry f (x: f64) (y: f64) (z: f64) = f64.sqrt (x + y * z)", &[0.4, 1.3, 0.7]),
    ("#[noinline] def p (x: f64) = f64.sin x
      #[noinline] def q (x: f64) = x * x
      #[noinline] def r (x: f64) = f64.exp x
      entry f (x: f64) = p (q (r x)) + q x", &[0.4]),
    ("#[noinline] def swap (x: f64) (y: f64) = (y, x * y)
      entry f (x: f64) (y: f64) = let (a, b) = swap x y let (c, d) = swap b a in (a * c, d - b)", &[0.4, 1.3]),
    ("entry f (x: f64) (y: f64) = if x < y then x * y else x / y", &[0.4, 1.3]),
    ("entry f (x: f64) (y: f64) = if x < y then x * y else x / y", &[1.4, 1.3]),
    ("entry f (x: f64) (y: f64) = let a = if x < y then (if y > 1 then x else y * y) else 2 in a * x", &[0.4, 1.3]),
    ("type shape = #disk f64 | #box f64 f64
      #[noinline] def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
      entry f (a: f64) (b: f64) = let s = if a > b then #disk a else #box a b in area s + (if b > 0 then area s else b)", &[0.3, 0.8]),
    ("type shape = #disk f64 | #box f64 f64
      #[noinline] def area (s: shape): f64 = match s case #disk r -> r * r case #box a b -> a * b
      entry f (a: f64) (b: f64) = let s = if a > b then #disk a else #box a b in area s + (if b > 0 then a else area s)", &[1.3, 0.8]),
    ("entry f (x: f64) (_y: f64) = f64.max x (f64.abs (x - 2)) ** 2.5", &[0.3, 0.8]),
];

pub fn assert_like_maps(text: &str, at: &[f64], derivation: Derivation) {
    let (wanted, found) = (derived(text, Derivation::Reverse), derived(text, derivation));
    let results = run(&wanted, "f", &at.iter().map(|x| Value::from(*x)).collect::<Vec<_>>()).0.len();
    let args: Vec<Value> = at.iter().copied().chain((0..results).map(|k| 1.0 + k as f64)).map(Value::from).collect();
    let name = format!("{}f", derivation.prefix());
    assert_near(&run(&found, &name, &args).0, &run(&wanted, "rev$f", &args).0, text);
}

#[test]
fn translated_procedures_give_the_derivatives_of_linear_maps() {
    for (text, at) in SCALARS {
        assert_like_maps(text, at, Derivation::Procedure);
    }
}

#[test]
fn a_square_root_has_the_gradient_of_the_paper() {
    let program = derived(SCALARS[3].0, Derivation::Procedure);
    let found = run(&program, "proc$f", &[0.4, 1.3, 0.7, 1.0].map(Value::from)).0;
    for (found, wanted) in found[1..].iter().zip([0.43685, 0.30580, 0.56791]) {
        assert!((found - wanted).abs() < 5e-6, "{found} is not {wanted}");
    }
}

#[test]
fn what_is_no_procedure_is_refused() {
    for (text, what) in [
        ("entry f (xs: [3]f64) = xs[0]", "a type that is no number, pair or sum of two, as a procedure"),
        ("entry f (x: f64) = loop x for _i < 3 do x * x", "this form as a procedure"),
        ("#[noinline] def power (n: i64) (x: f64): f64 = if n == 0 then 1 else x * power (n - 1) x
          entry f (x: f64) = power 5 x", "a function that calls itself"),
    ] {
        let program = source(text).at_stage(Stage::FirstOrder).unwrap_or_else(|error| panic!("{}", error.message()));
        let errors = with_derived_entries(program.core(), Derivation::Procedure).err().unwrap_or_else(|| panic!("{text}"));
        assert!(errors.iter().any(|error| error.message.ends_with(what)), "{errors:?}");
    }
}
