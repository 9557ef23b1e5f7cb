//! What derivatives by fast CHAD cost, counted: operations on floats against the primal's, what is recorded, how it grows.

mod work;

use chadwick::Counters;
use work::{Cost, example, examples};

#[test]
fn gradients_of_the_examples_cost_a_small_multiple_of_the_primal() {
    let cases = examples();
    let mut cheap = 0;
    let mut table =
        String::from("example: float operations of value | with gradient; bytes of arrays, arrays, accumulations, copies");
    for (name, entry, args, seeds) in &cases {
        let cost = Cost::of(&example(name), entry, args, seeds);
        let Counters { allocated_bytes, allocations, accumulations, copies, .. } = cost.gradient;
        let (primal, gradient) = (cost.primal.float_operations, cost.gradient.float_operations);
        table += &format!("\n{name}: {primal} | {gradient}; {allocated_bytes}, {allocations}, {accumulations}, {copies}");
        assert!(cost.ratio() <= 5.0, "{name}: {:.2}", cost.ratio());
        cheap += usize::from(cost.ratio() <= 4.0);
    }
    assert!(cheap * 10 >= cases.len() * 8, "only {cheap} of {} examples cost at most 4 times the primal", cases.len());
    // The numbers may only fall. `INSTA_UPDATE=always` writes those of a change that lowers them.
    insta::assert_snapshot!(table);
}
