//! Core to Core: what prepares a program for an engine or a back end, and what tidies up behind an engine.

mod algebra;
mod choices;
mod comparisons;
mod dead;
mod defunctionalise;
mod detach;
mod distribute;
mod facts;
mod fission;
mod fuse;
mod inline;
mod own_rows;
mod pieces;
mod row_order;
mod simplify;
mod unroll;
mod unswitch;
mod windows;

pub use choices::choose_elements;
pub use dead::remove_dead;
pub use defunctionalise::defunctionalise;
pub use detach::detach_shifts;
pub use distribute::distribute;
pub use fission::fission;
pub use fuse::fuse;
pub use inline::inline;
pub use own_rows::own_rows;
pub use pieces::split_rows;
pub use row_order::row_order;
pub use simplify::{Hints, simplify};
pub use unroll::unroll;
pub use unswitch::unswitch;
pub use windows::windows;

use chadwick_core::{Block, Program};

/// A named step of the pipeline.
pub struct Pass {
    pub name: &'static str,
    pub run: fn(&mut Program),
}

/// Before derivatives: a first-order program with what is small inlined and what is produced for one reader fused into it.
pub const PREPARE: &[Pass] = &[
    Pass { name: "inline", run: inline },
    Pass { name: "simplify", run: |program| tidy(program, Hints::Keep) },
    Pass { name: "choices", run: choose_elements },
    Pass { name: "fuse", run: fuse },
    Pass { name: "simplify", run: |program| tidy(program, Hints::Keep) },
    Pass { name: "detach", run: detach_shifts },
];

/// After derivatives.
pub const FINISH: &[Pass] = &[
    Pass { name: "inline", run: inline },
    Pass { name: "simplify", run: |program| tidy(program, Hints::Drop) },
    Pass { name: "fuse", run: fuse },
    Pass { name: "simplify", run: |program| tidy(program, Hints::Drop) },
    Pass { name: "windows", run: windows },
    // Once for sums inside the scopes of accumulators, once for what remains when those are gone.
    Pass { name: "distribute", run: distribute },
    Pass { name: "simplify", run: |program| tidy(program, Hints::Drop) },
    Pass { name: "distribute", run: distribute },
    Pass { name: "rows", run: row_order },
    Pass { name: "simplify", run: |program| tidy(program, Hints::Drop) },
    Pass { name: "unroll", run: unroll },
    Pass { name: "simplify", run: |program| tidy(program, Hints::Drop) },
    Pass { name: "pieces", run: split_rows },
    Pass { name: "own rows", run: own_rows },
    Pass { name: "unswitch", run: unswitch },
    Pass { name: "fission", run: fission },
    Pass { name: "simplify", run: |program| tidy(program, Hints::Drop) },
];

/// Replaces the body of every function.
fn map_bodies(program: &mut Program, map: fn(&mut Program, Block) -> Block) {
    for at in 0..program.functions.len() {
        let body = std::mem::take(&mut program.functions[at].body);
        program.functions[at].body = map(program, body);
    }
}

/// Simplification and removal of dead code, until nothing changes or a few rounds have passed.
pub fn tidy(program: &mut Program, hints: Hints) {
    for _ in 0..3 {
        let before = program.functions.clone();
        simplify(program, hints);
        remove_dead(program);
        if program.functions == before {
            return;
        }
    }
}
