//! What each engine is, and what its paper claims.

use crate::families::Family;
use crate::growth::Factor;
use chadwick::compile::{Cotangents, Definition, Elements, Engine, Rung};

/// An engine for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    pub engine: Engine,
    /// Where it comes from.
    pub paper: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What is left out of the language, if anything.
    pub leaves_out: &'static str,
    /// Whether it takes a dialect that programs with a bit of everything are outside of.
    pub is_dialect: bool,
    /// Families on which it does worse than a constant factor, by name.
    claims: &'static [(&'static str, Factor)],
}

impl Description {
    /// Whether it does worse than a constant factor somewhere.
    pub fn is_slow(&self) -> bool {
        !self.claims.is_empty()
    }

    /// How the work of its gradients is to grow.
    pub fn claim(&self, family: &Family) -> Factor {
        self.claims.iter().find(|(name, _)| *name == family.name).map_or(Factor::Constant, |(_, factor)| *factor)
    }
}

const OF_UNKNOWN_ORDER: &str = "derivatives of an order that depends on the input";

/// Dense cotangents: a zero or a sum as large as the input for each operation.
const AS_LARGE_AS_THE_INPUT: &[(&str, Factor)] =
    &[("dot", Factor::Linear), ("elements", Factor::Linear), ("unused", Factor::Linear), ("matrix", Factor::Linear)];
/// And functions inside functions are run again for each.
const DEFINITION: &[(&str, Factor)] = &[
    ("lambdas", Factor::Exponential),
    ("dot", Factor::Linear),
    ("elements", Factor::Linear),
    ("unused", Factor::Linear),
    ("matrix", Factor::Linear),
];
const NAIVE: &[(&str, Factor)] = &[
    ("doubling", Factor::Exponential),
    ("dot", Factor::Linear),
    ("elements", Factor::Linear),
    ("unused", Factor::Linear),
    ("matrix", Factor::Linear),
];

pub fn describe(engine: Engine) -> Description {
    let is_dialect = engine == Engine::DualArrays;
    let row = |paper, about, leaves_out, claims| Description { engine, paper, about, leaves_out, is_dialect, claims };
    match engine {
        Engine::Auto => row("", "`chad-fast` in native code, `builtin` on the interpreter and where nothing else can", "", &[]),
        Engine::Builtin => {
            row("Krawiec et al., section 8", "the interpreter's own derivatives, by overloading: the oracle", "", &[])
        }
        Engine::Chad(definition) => {
            let about = match definition {
                Definition::Plain => "the definition: a backpropagator for every term, to cotangents of its whole environment",
                Definition::Simplified => "the same, simplified as in the paper",
                Definition::Dependencies => "the same over truth values: what depends on what",
                Definition::Provenance => "the same over sets of labels: which results an input matters for",
                Definition::Over(Elements::Truths) => "the same over the Boolean semiring, primal numbers too",
                Definition::Over(Elements::Lineage) => "the same over the semiring of lineage: what a number was made from",
                Definition::Over(Elements::Costs) => "the same over the tropical semiring: least costs",
            };
            row("Vákár and Smeding", about, OF_UNKNOWN_ORDER, DEFINITION)
        }
        Engine::ChadEfficient(cotangents) => {
            let about = match cotangents {
                Cotangents::InMap => "zeros cost nothing; the environment's cotangents are a map that is passed on",
                Cotangents::InArray => "the same in accumulators: the complexity is right",
                Cotangents::InTasks => "the same with accumulators for each task, merged in order; it has native code",
            };
            row("Smeding, chapter 6", about, OF_UNKNOWN_ORDER, &[])
        }
        Engine::ChadFast => {
            row("Smeding, chapter 7", "derivatives as first-order programs with accumulators: the default", OF_UNKNOWN_ORDER, &[])
        }
        Engine::Dual(rung) => {
            let (paper, about) = of_rung(rung);
            let leaves_out = match rung {
                Rung::Naive => {
                    "rules that the program gives, for they need whole cotangents; derivatives of an order that depends on the input"
                }
                _ => OF_UNKNOWN_ORDER,
            };
            let claims = match rung {
                Rung::Naive => NAIVE,
                Rung::Staged | Rung::Cayley => AS_LARGE_AS_THE_INPUT,
                _ => &[],
            };
            row(paper, about, leaves_out, claims)
        }
        Engine::DualArrays => row(
            "Smeding, chapter 4",
            "bulk operations instead of builds, then one symbolic linear term beside each array",
            "loops with a condition, folds that are not closed, recursion, sum types, sizes computed from inputs",
            &[],
        ),
        Engine::LinearMaps => row(
            "Ellis et al.",
            "derivatives are symbolic linear maps, which laws take away again",
            "recursion, types with a name (so are functions that are chosen more than once), `while`, scans, scatters, histograms",
            &[],
        ),
    }
}

fn of_rung(rung: Rung) -> (&'static str, &'static str) {
    match rung {
        Rung::Naive => ("Smeding, 3.3", "backpropagators are functions, called again wherever they are shared"),
        Rung::Staged => ("Smeding, 3.4", "calls of backpropagators wait in a map, so each is made once"),
        Rung::Cayley => ("Smeding, 3.5", "updates of one state instead of sums of many"),
        Rung::Sparse => ("Smeding, 3.6", "the cotangent of the input is a map of scalars"),
        Rung::Mutable => ("Smeding, 3.7", "arrays instead of maps"),
        Rung::Single => ("Smeding, 3.8.1", "one array for the cotangents of inputs and operations"),
        Rung::Contrib => ("Smeding, 3.8.2", "backpropagators are data: lists of contributions"),
        Rung::Tape => ("Smeding, 3.8.3", "contributions go to a tape as the program runs; this rung has native code"),
        Rung::Parallel => {
            ("Smeding, 3.10", "a tape for each task, forks and joins in both directions; this rung has native code")
        }
        Rung::Delta => ("Krawiec et al., section 7", "terms with `let`, evaluated body first"),
    }
}
