//! Steps of folds that use what is around them. The language has closed steps only, so what is around becomes rows: what does not
//! depend on the state is computed for all iterations at once, and a number is the same in all rows. A whole array that is used together with the
//! state would be one array for each iteration, so that is refused.

use super::super::term::{
    Name, Reads, Term, Tree, bind, build, deep, index, index_var, moved_out, parts, rebuilt, replicate, substitute, var_like,
};
use super::Converter;
use chadwick_core::Atom;
use chadwick_source::Span;
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// The step of a fold as the program has it.
pub(super) struct OpenStep {
    pub state: Name,
    /// The variables of the rows, and the arrays that they are rows of.
    pub rows: Vec<(Name, Tree)>,
    pub arrays: Vec<Tree>,
    pub lets: Vec<(Name, Tree)>,
    pub results: Vec<Tree>,
}

impl OpenStep {
    fn trees(&self) -> impl Iterator<Item = &Tree> {
        self.lets.iter().map(|(_, value)| value).chain(&self.results)
    }

    /// What the step uses from around it.
    fn captured(&self) -> Vec<Tree> {
        let rows = self.rows.iter().map(|(name, _)| *name);
        let own: FxHashSet<Name> = self.lets.iter().map(|(name, _)| *name).chain(rows).chain([self.state]).collect();
        let mut found: Vec<Tree> = Vec::new();
        for tree in self.trees() {
            for name in tree.free().iter().filter(|name| !own.contains(name)) {
                if !found.iter().any(|known| known.mentions(*name)) {
                    found.extend(occurrence(tree, *name));
                }
            }
        }
        found
    }

    fn replace(&mut self, name: Name, value: &Tree) {
        self.lets.iter_mut().for_each(|(_, tree)| *tree = substitute(tree, name, value));
        self.results.iter_mut().for_each(|tree| *tree = substitute(tree, name, value));
    }

    /// The bindings that depend on one of these variables, by way of others too.
    fn dependent(&self, on: impl IntoIterator<Item = Name>) -> FxHashSet<Name> {
        let mut found: FxHashSet<Name> = on.into_iter().collect();
        for (name, value) in &self.lets {
            if value.free().iter().any(|free| found.contains(free)) {
                found.insert(*name);
            }
        }
        found
    }

    /// The bindings that these terms need, in order.
    fn needed(&self, trees: &[Tree]) -> Vec<(Name, Tree)> {
        let mut wanted: FxHashSet<Name> = trees.iter().flat_map(|tree| tree.free().iter().copied()).collect();
        let mut found = Vec::new();
        for (name, value) in self.lets.iter().rev() {
            if wanted.contains(name) {
                wanted.extend(value.free());
                found.push((*name, Rc::clone(value)));
            }
        }
        found.reverse();
        found
    }
}

/// Where in a step something is extracted from.
struct Place<'s> {
    /// The bindings of the step so far.
    lets: &'s mut Vec<(Name, Tree)>,
    /// What depends on variables from around the step, and on its state.
    from_around: &'s mut FxHashSet<Name>,
    of_state: &'s FxHashSet<Name>,
    /// The indices of the builds around.
    builds: Vec<(Name, Atom)>,
    /// Variables that are bound around to what takes few operations without the state: they are computed again.
    again: Vec<(Name, Tree)>,
    /// Other variables that are bound around, but in the step.
    local: Vec<Name>,
}

impl Place<'_> {
    /// Whether a term depends on what is only known where it stands.
    fn knows(&self, tree: &Tree) -> bool {
        tree.free().iter().any(|name| self.of_state.contains(name) || self.local.contains(name))
    }
}

/// Whether a term is a number that takes no more operations than are written there.
fn is_few_operations(tree: &Tree) -> bool {
    match &tree.term {
        _ if !tree.shape.is_empty() => false,
        Term::Outer(_) | Term::Var(_) => true,
        Term::Elementwise(_, args) => args.iter().all(is_few_operations),
        Term::Index(base, indices, _) => base.is_simple() && indices.iter().all(is_few_operations),
        _ => false,
    }
}

/// Whether a term is a part of an array that is there anyway.
fn is_view(tree: &Tree) -> bool {
    match &tree.term {
        Term::Outer(_) | Term::Var(_) => true,
        Term::Index(of, ..) | Term::Transpose(_, of) | Term::Reshape(of) | Term::Replicate(of) => is_view(of),
        Term::Let(_, _, body) => is_view(body),
        _ => false,
    }
}

/// Where a variable occurs free in a term.
fn occurrence(tree: &Tree, name: Name) -> Option<Tree> {
    match &tree.term {
        _ if !tree.mentions(name) => None,
        Term::Var(_) => Some(Rc::clone(tree)),
        _ => parts(tree).into_iter().find_map(|part| occurrence(part, name)),
    }
}

impl Converter<'_, '_, '_> {
    /// The same step with more rows, which uses nothing from around it.
    pub(super) fn closed(&mut self, mut step: OpenStep, count: &Atom, span: Span) -> Option<OpenStep> {
        let around = step.captured();
        if around.is_empty() {
            return Some(step);
        }
        self.extract(&mut step, &around);
        let of_state = step.dependent([step.state]);
        let from_around = step.dependent(around.iter().flat_map(|tree| tree.free().iter().copied()));
        let (moves, stays): (Vec<_>, Vec<_>) =
            step.lets.iter().cloned().partition(|(name, _)| from_around.contains(name) && !of_state.contains(name));
        let is_used = |name: &Name| stays.iter().map(|(_, value)| value).chain(&step.results).any(|tree| tree.mentions(*name));
        let used: Vec<Tree> =
            moves.iter().filter(|(name, _)| is_used(name)).map(|(name, value)| var_like(*name, value)).collect();
        let arrays = self.for_all_rows(&mut step, &used, None, count);
        step.lets = stays;
        for (variable, array) in used.iter().zip(arrays) {
            // What is only looked at costs nothing in the step, but would for all rows.
            if !variable.shape.is_empty() && matches!(&array.term, Term::Replicate(of) if is_view(of)) {
                return self.refuse_capture(span);
            }
            self.add_row(&mut step, variable, array);
        }
        for variable in step.captured() {
            if !variable.shape.is_empty() {
                return self.refuse_capture(span);
            }
            self.add_row(&mut step, &variable, replicate(count.clone(), moved_out(&variable, count)));
        }
        Some(step)
    }

    /// Binds what the step reads from around it inside of what depends on the state, so that it can become a row. Under builds, which have
    /// elements for all their indices, that is an array over the indices it mentions.
    fn extract(&mut self, step: &mut OpenStep, around: &[Tree]) {
        let of_state = step.dependent([step.state]);
        let mut from_around = step.dependent(around.iter().flat_map(|tree| tree.free().iter().copied()));
        let mut lets = Vec::new();
        for (name, value) in &step.lets {
            let mut place = Place {
                lets: &mut lets,
                from_around: &mut from_around,
                of_state: &of_state,
                builds: Vec::new(),
                again: Vec::new(),
                local: Vec::new(),
            };
            let value = if of_state.contains(name) { self.extracted(value, &mut place) } else { Rc::clone(value) };
            lets.push((*name, value));
        }
        step.lets = lets;
    }

    fn extracted(&mut self, tree: &Tree, place: &mut Place) -> Tree {
        let mentions = |names: &FxHashSet<Name>| tree.free().iter().any(|name| names.contains(name));
        if tree.is_simple() || !mentions(place.from_around) {
            return Rc::clone(tree);
        }
        if !place.knows(tree) {
            return self.extract_here(tree, place);
        }
        let (builds, local, again) = (place.builds.len(), place.local.len(), place.again.len());
        match &tree.term {
            Term::Build(name, _) => place.builds.extend(tree.shape.first().map(|count| (*name, count.clone()))),
            Term::Let(name, value, body) => {
                let value = self.extracted(value, place);
                let is_local = !is_few_operations(&value) || place.knows(&value);
                match is_local {
                    true => place.local.push(*name),
                    false => place.again.push((*name, Rc::clone(&value))),
                }
                let body = self.extracted(body, place);
                place.local.truncate(local);
                place.again.truncate(again);
                return bind(*name, value, body);
            }
            Term::Gather(_, function, _) | Term::Scatter(_, function) | Term::Overwrite { at: function, .. } => {
                place.local.extend(&function.params);
            }
            _ => {}
        }
        let tree = deep(|| rebuilt(tree, &mut |part| self.extracted(part, place)));
        place.builds.truncate(builds);
        place.local.truncate(local);
        tree
    }

    fn extract_here(&mut self, tree: &Tree, place: &mut Place) -> Tree {
        let mut array = Rc::clone(tree);
        for (name, value) in place.again.iter().rev() {
            if array.mentions(*name) {
                let own = self.names.fresh();
                array = bind(own, Rc::clone(value), substitute(&array, *name, &var_like(own, value)));
            }
        }
        let over: Vec<(Name, Atom)> = place.builds.iter().filter(|(name, _)| array.mentions(*name)).cloned().collect();
        for (name, count) in over.iter().rev() {
            let own = self.names.fresh();
            array = build(count.clone(), own, substitute(&array, *name, &index_var(own)));
        }
        let name = self.names.fresh();
        let element = index(var_like(name, &array), over.iter().map(|(name, _)| index_var(*name)).collect(), Reads::InRange);
        place.from_around.insert(name);
        place.lets.push((name, array));
        element
    }

    fn refuse_capture<T>(&mut self, span: Span) -> Option<T> {
        self.refuse(span, "a fold that is not closed: its step uses an array from around it that depends on the inputs")
    }

    /// A variable is from now on the row of an array.
    fn add_row(&mut self, step: &mut OpenStep, variable: &Tree, array: Tree) {
        let row = var_like(self.names.fresh(), variable);
        let (Term::Var(name), Term::Var(row_name)) = (&variable.term, &row.term) else { return };
        step.replace(*name, &row);
        step.rows.push((*row_name, Rc::clone(&row)));
        step.arrays.push(array);
    }

    /// The arrays of what some terms of a step are for each row, and for the state before it where all states are given.
    pub(super) fn for_all_rows(
        &mut self,
        step: &mut OpenStep,
        wanted: &[Tree],
        states: Option<&Tree>,
        count: &Atom,
    ) -> Vec<Tree> {
        if wanted.is_empty() {
            return Vec::new();
        }
        let axis = self.names.fresh();
        let at = |array: &Tree| index(Rc::clone(array), vec![index_var(axis)], Reads::InRange);
        step.arrays = std::mem::take(&mut step.arrays).into_iter().map(|array| self.named(array)).collect();
        let rows = step.rows.iter().zip(&step.arrays).map(|((name, _), array)| (*name, at(array)));
        let mut values: Vec<(Name, Tree)> = rows.chain(states.map(|states| (step.state, at(states)))).collect();
        let current = |tree: &Tree, values: &[(Name, Tree)]| {
            values.iter().fold(Rc::clone(tree), |tree, (name, value)| substitute(&tree, *name, value))
        };
        // The step keeps its bindings, so these have names of their own.
        let mut lets = Vec::new();
        for (name, value) in step.needed(wanted) {
            let value = current(&value, &values);
            let own = self.names.fresh();
            values.push((name, var_like(own, &value)));
            lets.push((own, value));
        }
        let wanted = wanted.iter().map(|tree| current(tree, &values)).collect();
        self.arrays(vec![(axis, count.clone())], lets, wanted)
    }

    /// The term, or a variable that is bound to it.
    fn named(&mut self, tree: Tree) -> Tree {
        if tree.is_simple() { tree } else { self.bound(tree) }
    }
}
