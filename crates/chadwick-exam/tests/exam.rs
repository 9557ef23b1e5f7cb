//! All engines pass the exam, and the exam can be failed.

use chadwick::compile::{Engine, Rung};
use chadwick_exam::{Cost, Extent, FAMILIES, Factor, describe, examine, growth};
use std::time::Duration;

#[test]
fn every_engine_passes() {
    let extent = Extent { programs: 12, seed: 7000, patience: Duration::from_secs(20) };
    for result in examine(&Engine::all(), extent, &|_, _, _| {}) {
        let name = result.engine.name();
        assert_eq!(result.worked.wrong, Vec::<String>::new(), "{name}");
        assert_eq!(result.random.wrong, Vec::<String>::new(), "{name}");
        assert!(result.worked.agreed * 4 > result.worked.tried() * 3, "{name} takes too little: {:?}", result.worked.refused);
        assert!(result.random.agreed > 0 || describe(result.engine).is_dialect, "{name}: {:?}", result.random);
        assert!(result.passed(), "{name}: {:?}", result.growth);
    }
}

#[test]
fn naive_backpropagators_show_their_exponential_cost() {
    let doubling = FAMILIES.iter().find(|family| family.name == "doubling").expect("the family");
    let cost = growth(Engine::Dual(Rung::Naive), doubling).expect("the engine takes it");
    assert!(cost.gradient[2] > 1 << 20, "{cost:?}");
    assert_eq!(cost.factor(), Factor::Exponential);
}

#[test]
fn work_that_is_not_as_claimed_is_seen() {
    let fast = describe(Engine::ChadFast);
    let claim = fast.claim(&FAMILIES[0]);
    let cost = |gradient| Cost { primal: [10, 20, 40], gradient };
    assert!(claim.admits(cost([50, 100, 200]).factor()));
    assert!(!claim.admits(cost([50, 200, 800]).factor()));
    assert!(!claim.admits(cost([50, 1000, 100_000]).factor()));
    // Who claims to be exponential must be.
    assert!(!Factor::Exponential.admits(Factor::Constant));
}
