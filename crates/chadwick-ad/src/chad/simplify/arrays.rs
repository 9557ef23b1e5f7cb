//! Arrays of functions. A build or loop for derivatives leaves a function for each element, and one place calls them. Such an array becomes
//! arrays of what the functions captured, and the body of the function goes to where it is called: the inlining by which figure 10 of the paper becomes
//! figure 11. That adds no work, since what was captured is kept and not computed again.

use super::Unfolding;
use chadwick_core::visit::lambda_free_variables;
use chadwick_core::{Atom, Axis, Binder, Block, Dim, Lambda, Op, Size, Statement, Type, Var};
use chadwick_source::Span;

/// An array of functions that was taken apart.
#[derive(Clone)]
pub struct Elements {
    axis: Axis,
    lambda: Lambda,
    /// What was captured, with the arrays that keep it.
    captured: Vec<(Binder, Var)>,
}

impl Unfolding<'_> {
    /// An element of an array that was taken apart, or its length; gives the operation back if it is something else.
    pub fn element_of_functions(
        &mut self,
        binders: &[Binder],
        op: Op,
        span: Span,
        statements: &mut Vec<Statement>,
    ) -> Option<Op> {
        let (array, at) = match &op {
            Op::Dim { array: Atom::Var(array), .. } => (*array, None),
            Op::Index { array: Atom::Var(array), indices } => (*array, indices.first().cloned()),
            _ => return Some(op),
        };
        let (Some(elements), [binder]) = (self.elements.get(&array), binders) else { return Some(op) };
        let Elements { axis, lambda, captured } = elements.clone();
        let Some(at) = at else {
            self.replace(binder, axis.size);
            return None;
        };
        self.replaced.insert(axis.var, at.clone());
        for (own, array) in captured {
            let element = self.program.fresh(self.program.var_names.get(own.var.0 as usize).cloned().unwrap_or_default());
            let op = Op::Index { array: self.atom(&Atom::Var(array)), indices: vec![at.clone()] };
            statements.push(Statement { binders: vec![Binder { var: element, ty: own.ty.clone() }], op, span });
            self.replaced.insert(own.var, Atom::Var(element));
        }
        self.waiting.insert(binder.var, lambda);
        self.changed = true;
        None
    }

    /// A build with what its functions captured in place of functions that are called in one place.
    pub fn without_functions(&mut self, binders: Vec<Binder>, op: Op) -> (Vec<Binder>, Op) {
        let Op::Build { space, mut body, inner } = op else { return (binders, op) };
        let [axis] = space.as_slice() else { return (binders, Op::Build { space, body, inner }) };
        let mut kept = (Vec::new(), Vec::new(), Vec::new());
        let results = std::mem::take(&mut body.results);
        for ((binder, sizes), result) in binders.into_iter().zip(inner).zip(results) {
            let Some((lambda, captured)) = self.taken_apart(&binder, &result, &mut body) else {
                kept.0.push(binder);
                kept.1.push(sizes);
                kept.2.push(result);
                continue;
            };
            let mut arrays = Vec::new();
            for own in captured.into_iter().filter(|own| own.var != axis.var) {
                let name = self.program.var_names.get(own.var.0 as usize).cloned().unwrap_or_default();
                let array = Binder { var: self.program.fresh(name), ty: own.ty.clone().array([Dim::Any]) };
                kept.2.push(Atom::Var(own.var));
                kept.1.push(Vec::new());
                arrays.push((own, array.var));
                kept.0.push(array);
            }
            self.elements.insert(binder.var, Elements { axis: axis.clone(), lambda, captured: arrays });
            self.changed = true;
        }
        let (binders, inner, results) = kept;
        (binders, Op::Build { space, body: Block { results, ..body }, inner })
    }

    /// Takes the function out of the body, if its array can be taken apart; also gives the numbers of the body that it captured.
    fn taken_apart(&self, array: &Binder, result: &Atom, body: &mut Block) -> Option<(Lambda, Vec<Binder>)> {
        let Atom::Var(function) = result else { return None };
        let [element] = self.uses.elements.get(&array.var)?.as_slice() else { return None };
        let measured = self.uses.measured.get(&array.var).copied().unwrap_or_default();
        let is_simple =
            self.uses.count(array.var) == measured + 1 && self.uses.is_called_once(*element) && self.uses.count(*function) == 1;
        let place = body.statements.iter().position(|statement| statement.binders.iter().any(|it| it.var == *function))?;
        let Op::Closure(lambda) = &body.statements[place].op else { return None };
        let inside: Vec<&Binder> = body.statements.iter().flat_map(|statement| &statement.binders).collect();
        let free = lambda_free_variables(lambda);
        let captured: Vec<Binder> =
            free.iter().filter_map(|var| inside.iter().find(|binder| binder.var == *var)).map(|&it| it.clone()).collect();
        if !is_simple || captured.iter().any(|binder| !matches!(binder.ty, Type::Prim(_))) {
            return None;
        }
        let lambda = lambda.clone();
        body.statements.remove(place);
        Some((lambda, captured))
    }

    /// A build without results that only copy an array of the same length.
    pub fn without_copies(&mut self, binders: Vec<Binder>, op: Op) -> (Vec<Binder>, Op) {
        let Op::Build { space, body, inner } = op else { return (binders, op) };
        let [axis] = space.as_slice() else { return (binders, Op::Build { space, body, inner }) };
        let mut kept: (Vec<Binder>, Vec<Vec<Size>>, Vec<Atom>) = Default::default();
        for ((binder, sizes), result) in binders.into_iter().zip(inner).zip(body.results) {
            match self.copied_array(axis, &result, &body.statements) {
                Some(array) => self.replace(&binder, Atom::Var(array)),
                None => {
                    kept.0.push(binder);
                    kept.1.push(sizes);
                    kept.2.push(result);
                }
            }
        }
        let (binders, inner, results) = kept;
        let body = Block { statements: body.statements, results };
        (binders, Op::Build { space, body, inner })
    }

    fn copied_array(&self, axis: &Axis, result: &Atom, statements: &[Statement]) -> Option<Var> {
        let Atom::Var(result) = result else { return None };
        let made = statements.iter().find(|statement| statement.binders.iter().any(|binder| binder.var == *result))?;
        match &made.op {
            Op::Index { array: Atom::Var(array), indices } if *indices == [Atom::Var(axis.var)] => {
                let is_inside = statements.iter().flat_map(|it| &it.binders).any(|binder| binder.var == *array);
                (!is_inside && self.has_length(*array, &axis.size)).then_some(*array)
            }
            _ => None,
        }
    }
}
