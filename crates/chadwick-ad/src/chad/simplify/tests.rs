use super::*;

#[test]
fn a_function_with_one_call_is_unfolded_and_one_with_two_is_not() {
    let text = "
def f@0(x_0: f64) -> (f64) {
  once_1: fn(f64) -> (f64) = fn (y_2: f64) -> (f64) {
    _3: f64 = f64.mul(x_0, y_2)
    return _3
  }
  twice_4: fn(f64) -> (f64) = fn (y_5: f64) -> (f64) {
    _6: f64 = f64.add(y_5, 0.0f64)
    _7: f64 = f64.mul(_6, _6)
    return _7
  }
  _8: f64 = apply once_1(x_0)
  _9: f64 = apply twice_4(_8)
  _10: f64 = apply twice_4(_9)
  return _10
}
";
    let mut program = chadwick_core::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    simplify(&mut program);
    assert!(chadwick_core::verify::verify(&program).is_empty());
    let printed = chadwick_core::text::print(&program);
    assert!(!printed.contains("once") && !printed.contains("f64.add"), "{printed}");
    assert_eq!(printed.matches("apply twice").count(), 2, "{printed}");
}

/// The derivative by definition of a program in Core, simplified.
fn simplified(text: &str, rules: Rules) -> String {
    let mut program = chadwick_core::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let mode = crate::ReverseMode::ChadDefinition(crate::Definition::Simplified);
    crate::expand_with_report(&mut program, mode).unwrap_or_else(|errors| panic!("{errors:?}"));
    simplify_by(&mut program, rules);
    let errors = chadwick_core::verify::verify(&program);
    assert!(errors.is_empty(), "{errors:?}\n{}", chadwick_core::text::print(&program));
    chadwick_core::text::print(&program)
}

/// Figure 2 (a): a function that captures a number is mapped over copies of that number.
const MAPPED: &str = "
def f@0(n_0: i64, x_1: f64, t_2: f64) -> ([?]f64, [?]f64) {
  _3: [?]f64, _4: [?]f64 = jvp with_primal fn (x_5: f64) -> ([?]f64) {
    f_6: fn(f64) -> (f64) = fn (z_7: f64) -> (f64) {
      _8: f64 = f64.mul(x_5, z_7)
      _9: f64 = f64.add(_8, 1.0f64)
      return _9
    }
    zs_10: [?]f64 = build [i_11 < n_0] {
      return x_5
    }
    ys_12: [?]f64 = build [i_13 < n_0] {
      z_14: f64 = index zs_10 [i_13]
      y_15: f64 = apply f_6(z_14)
      return y_15
    }
    return ys_12
  } args (x_1) seeds (t_2)
  return _3, _4
}
";

/// By the rules of the paper the derivative of the function stays one that two places call, and each element of an array keeps a function.
#[test]
fn figure_10_is_what_the_rules_of_the_paper_make() {
    assert_eq!(simplified(MAPPED, Rules::OfThePaper).trim(), include_str!("figures/figure_10.core").trim());
}

/// What is captured instead of functions: the map of a product rule.
#[test]
fn figure_11_takes_one_more_inlining() {
    assert_eq!(simplified(MAPPED, Rules::All).trim(), include_str!("figures/figure_11.core").trim());
}

/// Section 9.4, on E3: nothing is left of the calls of `h` but what they contribute.
#[test]
fn a_bag_that_is_made_and_folded_in_one_term_vanishes() {
    let text = "
def f@0(a_1: f64, d_2: f64) -> (f64, f64) {
  _3: f64, _4: f64 = vjp with_primal fn (a_5: f64) -> (f64) {
    h_6: fn(f64) -> (f64) = fn (z_7: f64) -> (f64) {
      _8: f64 = f64.mul(a_5, z_7)
      return _8
    }
    y_9: f64 = apply h_6(a_5)
    _10: f64 = f64.mul(a_5, 3.0f64)
    y_11: f64 = apply h_6(_10)
    y_12: f64 = f64.add(y_9, y_11)
    return y_12
  } args (a_1) seeds (d_2)
  return _3, _4
}
";
    let printed = simplified(text, Rules::All);
    let derivative = printed.split("def copower_fold").next().unwrap_or_default();
    assert!(printed.len() > derivative.len() && !derivative.contains("copower_fold"), "{printed}");
}

/// What a function fails with is not lost, and neither is a value that two results share.
#[test]
fn results_that_share_something_stay_together() {
    let text = "
def f@0(x_0: f64) -> (f64) {
  both_1: fn(f64) -> (f64, f64) = fn (y_2: f64) -> (f64, f64) {
    _3: f64 = f64.exp(y_2)
    _4: f64 = f64.mul(_3, x_0)
    return _3, _4
  }
  _5: f64, _6: f64 = apply both_1(x_0)
  _7: f64, _8: f64 = apply both_1(_5)
  _9: f64 = f64.add(_6, _8)
  return _9
}
";
    let printed = simplified(text, Rules::All);
    assert_eq!(printed.matches("f64.exp").count(), 1, "{printed}");
}
