//! What derivatives in forward mode have at hand: where the body of one is made, the tangents of all variables in scope are known. Nothing is
//! contributed to anything, so a rule says no more than what the tangents of its results are.

use super::rules::Chad;
use chadwick_core::Atom;
use chadwick_source::Span;

impl Chad<'_, '_> {
    /// The tangent of an atom, a zero if it has none.
    pub fn tangent(&mut self, atom: &Atom, span: Span) -> Atom {
        if let Atom::Var(var) = atom
            && let Some(tangent) = self.places.get(var).and_then(|place| self.tangents.get(*place))
        {
            return tangent.clone();
        }
        let (primal, ty) = (self.primal(atom), self.source_type(atom));
        self.engine.meaning.zero(self.context, &primal, &ty, span)
    }

    pub fn tangents_of(&mut self, atoms: &[Atom], span: Span) -> Vec<Atom> {
        atoms.iter().map(|atom| self.tangent(atom, span)).collect()
    }
}
