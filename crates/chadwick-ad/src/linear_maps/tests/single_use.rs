//! The single-use dialect: the checker finds what is used twice, and `dup` is put in where it is needed.

use super::super::bog::single_use::{single_use, used_twice};
use crate::context::Context;
use chadwick_core::{Block, Op, Program, text};

/// A function that uses its arguments often: in operations, in branches, in a body that repeats, as results.
const PROGRAM: &str = "
def f@0(x_0: f64, n_1: i64) -> (f64, f64) {
  a_2: f64 = f64.mul(x_0, x_0)
  c_3: bool = f64.lt(a_2, x_0)
  b_4: f64 = if c_3 {
    d_5: f64 = f64.mul(a_2, x_0)
    return d_5
  } else {
    return a_2
  }
  v_6: [?]f64 = build [i_7 < n_1] {
    e_8: f64 = f64.add(b_4, b_4)
    return e_8
  }
  r_9: f64 = index v_6 [0i64]
  return r_9, r_9
}";

fn dups(block: &Block) -> usize {
    let own = |statement: &chadwick_core::Statement| {
        usize::from(matches!(&statement.op, Op::Copy(atoms) if atoms.len() == 2))
            + statement.op.scopes().iter().map(|scope| dups(scope.block)).sum::<usize>()
    };
    block.statements.iter().map(own).sum()
}

#[test]
fn a_program_is_brought_into_the_dialect() {
    let mut program: Program = text::parse(PROGRAM).unwrap_or_else(|error| panic!("{error:?}"));
    let body = program.functions[0].body.clone();
    assert!(used_twice(&body).is_some());
    let mut context = Context::new(&mut program);
    let single = single_use(&mut context, &body, &Default::default());
    assert_eq!(used_twice(&single), None);
    // x is used four times (twice by one operation, once by the comparison, once by a branch), a twice, b twice in the body, r twice.
    assert_eq!(dups(&single), 3 + 1 + 1 + 1);
}
