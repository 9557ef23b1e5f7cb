//! What the bulk-operation transformation promises (Smeding, theorem 2): no `build` is left anywhere, and what is indexed is a variable, a value
//! from outside, a literal array by its first axis, a scatter, or an array of which a part is overwritten.

use super::term::{Term, Tree, deep, parts};

/// Whether a term may be indexed by so many indices as it is.
pub(super) fn may_be_indexed(base: &Tree, indices: usize) -> bool {
    match base.term {
        Term::Var(_) | Term::Outer(_) | Term::Scatter(..) | Term::Overwrite { .. } => true,
        Term::Stack(_) => indices == 1,
        _ => false,
    }
}

/// What of a term is not in normal form, if anything.
pub(super) fn violation(tree: &Tree) -> Option<&'static str> {
    match &tree.term {
        Term::Build(..) => Some("a build"),
        Term::Index(base, indices, _) if !may_be_indexed(base, indices.len()) => {
            Some("an index of something else than a variable, a literal array or a scatter")
        }
        _ => deep(|| parts(tree).into_iter().find_map(violation)),
    }
}
