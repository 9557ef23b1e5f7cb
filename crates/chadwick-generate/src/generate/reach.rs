//! Uses of what is in scope: a path from a variable to the wanted type, by projections, indices, matches and calls.
//!
//! This is what makes results depend on inputs.

use super::{Form, Generator, form};
use crate::config::Construct;
use crate::exp::{Exp, bind, either, name, parts};
use crate::types::{Size, Type};

pub(super) const FORMS: &[Form] = &[form(&[], 60, used)];

/// How many steps a path may have.
const STEPS: usize = 4;

fn used(generator: &mut Generator, ty: &Type, _size: usize) -> Option<Exp> {
    generator.reach_from_scope(ty)
}

impl Generator<'_> {
    /// The wanted type from some variable in scope.
    pub fn reach_from_scope(&mut self, ty: &Type) -> Option<Exp> {
        const TRIES: usize = 6;
        const NESTING: usize = 2;
        if self.reaching >= NESTING || self.scope.is_empty() {
            return None;
        }
        self.reaching += 1;
        let found = (0..TRIES).find_map(|_| {
            let at = self.random.below(self.scope.len()).max(self.random.below(self.scope.len()));
            let variable = self.scope[at].clone();
            let value = Exp::variable(&variable.name, &variable.ty);
            self.reach(value, ty, STEPS)
        });
        self.reaching -= 1;
        found
    }

    /// The wanted type from a value.
    pub fn reach(&mut self, value: Exp, ty: &Type, steps: usize) -> Option<Exp> {
        if value.ty == *ty {
            return Some(value);
        }
        if steps == 0 {
            return None;
        }
        let from = value.ty.clone();
        if let Some(exp) = self.convert(&value, &from, ty) {
            return Some(exp);
        }
        match &from {
            Type::Tuple(types) => {
                let at = self.random.below(types.len());
                let component = Exp::atom(&types[at], "@.@", parts![value, at.to_string()]);
                self.reach(component, ty, steps - 1)
            }
            Type::Record(fields) => {
                let (field, field_type) = self.random.pick(fields);
                let component = Exp::atom(field_type, "@.@", parts![value, *field]);
                self.reach(component, ty, steps - 1)
            }
            Type::Array(size, element) => self.reach_into_array(value, size, element, ty, steps),
            Type::Option(part) => {
                let x = self.fresh("x");
                let inner = self.reach(Exp::variable(&x, part), ty, steps - 1)?;
                let otherwise = self.constant(ty);
                Some(Exp::node(ty, "match @ case #some @ -> @ case #none -> @", parts![value, bind(&x), inner, otherwise]))
            }
            Type::List(part) => {
                let (x, rest) = (self.fresh("x"), self.fresh("_rest"));
                let inner = self.reach(Exp::variable(&x, part), ty, steps - 1)?;
                let otherwise = self.constant(ty);
                let parts = parts![value, otherwise, bind(&x), bind(&rest), inner];
                Some(Exp::node(ty, "match @ case #nil -> @ case #cons @ @ -> @", parts))
            }
            Type::Function(params, result) => {
                let mut exp = parts![value];
                for param in params {
                    exp.push(self.exp(param, 1).into());
                }
                let template = vec!["@"; exp.len()].join(" ");
                let called = Exp::node(result, &template, exp);
                self.reach(called, ty, steps - 1)
            }
            _ => None,
        }
    }

    fn reach_into_array(&mut self, value: Exp, size: &Size, element: &Type, ty: &Type, steps: usize) -> Option<Exp> {
        // An array of the same elements, but of another size.
        if let Type::Array(wanted, wanted_element) = ty
            && **wanted_element == *element
            && size.is_positive()
            && self.random.chance(70)
        {
            let i = self.fresh("i");
            let parts = parts![wanted, bind(&i), value, name(&i), size];
            return Some(Exp::node(ty, "tabulate @ (\\@ -> @[@ % @])", parts));
        }
        let index = self.index(1);
        let component = match size.is_positive() {
            true => Exp::atom(element, "@[@ % @]", parts![value, index, size]),
            false if !self.allows(Construct::Polymorphism) => return None,
            false => {
                let otherwise = self.constant(element);
                Exp::node(element, "pick_at @ @ @", parts![index, otherwise, value])
            }
        };
        self.reach(component, ty, steps - 1)
    }

    /// One step that is no part of the value but made of it.
    fn convert(&mut self, value: &Exp, from: &Type, ty: &Type) -> Option<Exp> {
        let value = value.clone();
        Some(match (from, ty) {
            (Type::Int, Type::Index) => Exp { ty: Type::Index, ..value },
            (Type::Int, Type::Number) => {
                Exp::node(ty, "@r.i64 @", parts![either("0.25 * ", ""), value]).with_bound(2.0 * crate::exp::BOUND)
            }
            (Type::Number, Type::Bool) if self.allows(Construct::DataIndices) => {
                Exp::node(ty, "@ < @", parts![value, self.constant(from)])
            }
            (Type::Array(size, element), Type::Number) if **element == Type::Number && self.random.chance(40) => {
                let positive = size.is_positive();
                match self.random.below(if positive { 4 } else { 1 }) {
                    0 => Exp::node(ty, "r.sum @", parts![value]).with_bound(10.0),
                    1 => Exp::node(ty, "r.maximum @", parts![value]),
                    2 => Exp::node(ty, "r.minimum @", parts![value]),
                    _ => Exp::node(ty, "last @", parts![value]),
                }
            }
            (Type::Array(..), Type::Int) if self.random.chance(40) => Exp::node(ty, "length @", parts![value]),
            (Type::Number, Type::Array(size, element)) if **element == Type::Number => {
                Exp::node(ty, "replicate @ @", parts![size, value])
            }
            (Type::Ragged, Type::Number) => Exp::node(ty, "sum_ragged @", parts![value]).with_bound(10.0),
            (Type::Rose, Type::Number) => Exp::node(ty, "sum_rose @", parts![value]).with_bound(10.0),
            (Type::Tree, Type::Number) => {
                let template = "fold_tree (\\(s: num) (x: num) (t: num) -> s + x * t) (\\x -> x) @";
                Exp::node(ty, template, parts![value]).with_bound(10.0)
            }
            (Type::Shape, Type::Number) => {
                let template = "match @ case #dot -> 0 case #circle x -> x case #box x y -> x * y case #path p -> p[0] - p[1]";
                Exp::node(ty, template, parts![value]).with_bound(10.0)
            }
            _ => return None,
        })
    }
}
