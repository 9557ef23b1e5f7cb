//! What a map is: the definition, by recursion on the term. The sizes of `0`, `1` and `S(k)` come from what is around them.

use super::super::maps::{Derived, Factor, Family, Map};
use super::super::represent::Representation;
use chadwick_core::{Atom, Const, Var};
use rustc_hash::FxHashMap;

/// Maps of variables, numbers, and how far functions from numbers are looked at.
pub struct Scope<R> {
    pub maps: FxHashMap<Var, R>,
    pub numbers: FxHashMap<Var, f64>,
    pub bound: usize,
}

type Sizes = (Option<usize>, Option<usize>);

impl<R: Representation> Scope<R> {
    fn number(&self, atom: &Atom) -> f64 {
        match atom {
            Atom::Var(var) => self.numbers[var],
            Atom::Const(Const::F64(value)) => *value,
            Atom::Const(Const::I64(value)) => *value as f64,
            Atom::Const(other) => panic!("{other:?}"),
        }
    }

    fn factor(&self, factor: &Factor) -> f64 {
        match factor {
            Factor::Atom(atom) => self.number(atom),
            Factor::Product(left, right) => self.factor(left) * self.factor(right),
            Factor::Sum(left, right) => self.factor(left) + self.factor(right),
            Factor::Partial { .. } => panic!("a partial derivative"),
        }
    }

    fn count(&self, map: &Map, family: &Family) -> usize {
        match map {
            Map::Lambda(_) | Map::LambdaTransposed(_) => self.bound,
            _ => self.number(&family.space[0].size) as usize,
        }
    }

    /// Inputs and outputs, as far as they are known.
    fn sizes(&self, map: &Map, (inputs, outputs): Sizes) -> Sizes {
        match map {
            Map::Zero => (inputs, outputs),
            Map::One | Map::Scale(_) => (inputs.or(outputs), outputs.or(inputs)),
            Map::Of(var) => (Some(self.maps[var].inputs()), Some(self.maps[var].outputs())),
            Map::Compose(last, first) => {
                let between = self.sizes(first, (inputs, None)).1;
                let (between, outputs) = self.sizes(last, (between, outputs));
                (self.sizes(first, (inputs, between)).0, outputs)
            }
            Map::Sum(maps) => maps.iter().fold((inputs, outputs), |sizes, map| self.sizes(map, sizes)),
            Map::VCat(maps) => {
                let inputs = maps.iter().fold(inputs, |inputs, map| inputs.or(self.sizes(map, (inputs, None)).0));
                let parts: Option<usize> = maps.iter().map(|map| self.sizes(map, (inputs, None)).1).sum();
                (inputs, parts.or(outputs))
            }
            Map::HCat(maps) => {
                let outputs = maps.iter().fold(outputs, |outputs, map| outputs.or(self.sizes(map, (None, outputs)).1));
                let parts: Option<usize> = maps.iter().map(|map| self.sizes(map, (None, outputs)).0).sum();
                (parts.or(inputs), outputs)
            }
            Map::VCatV(family) | Map::Lambda(family) => {
                let (inner, each) = self.sizes(&family.body.map, (inputs, None));
                (inputs.or(inner), each.map(|each| each * self.count(map, family)).or(outputs))
            }
            Map::HCatV(family) | Map::LambdaTransposed(family) => {
                let (each, inner) = self.sizes(&family.body.map, (None, outputs));
                (each.map(|each| each * self.count(map, family)).or(inputs), outputs.or(inner))
            }
            Map::Transpose(map) => {
                let (inputs, outputs) = self.sizes(map, (outputs, inputs));
                (outputs, inputs)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Shares of `total` among parts; those that are not known share the rest.
    fn shares(known: &[Option<usize>], total: usize) -> Vec<usize> {
        let rest = total - known.iter().flatten().sum::<usize>();
        let unknown = known.iter().filter(|size| size.is_none()).count().max(1);
        known.iter().map(|size| size.unwrap_or(rest / unknown)).collect()
    }

    pub fn meaning(&self, map: &Map, inputs: usize, outputs: usize) -> R {
        match map {
            Map::Zero => R::zero(outputs, inputs),
            Map::One => R::one(inputs),
            Map::Of(var) => self.maps[var].clone(),
            Map::Scale(factor) => R::scale(self.factor(factor), inputs),
            Map::Compose(last, first) => {
                let between = self.sizes(first, (Some(inputs), None)).1.or(self.sizes(last, (None, Some(outputs))).0);
                let between = between.unwrap_or(1);
                R::compose(&self.meaning(last, between, outputs), &self.meaning(first, inputs, between))
            }
            Map::Sum(maps) => {
                maps.iter().fold(R::zero(outputs, inputs), |sum, map| R::sum(&sum, &self.meaning(map, inputs, outputs)))
            }
            Map::VCat(maps) => {
                let known: Vec<Option<usize>> = maps.iter().map(|map| self.sizes(map, (Some(inputs), None)).1).collect();
                let parts = maps.iter().zip(Self::shares(&known, outputs)).map(|(map, size)| self.meaning(map, inputs, size));
                R::vcat(&parts.collect::<Vec<R>>(), inputs)
            }
            Map::HCat(maps) => {
                let known: Vec<Option<usize>> = maps.iter().map(|map| self.sizes(map, (None, Some(outputs))).0).collect();
                let parts = maps.iter().zip(Self::shares(&known, inputs)).map(|(map, size)| self.meaning(map, size, outputs));
                R::hcat(&parts.collect::<Vec<R>>(), outputs)
            }
            Map::VCatV(family) | Map::Lambda(family) => {
                let count = self.count(map, family);
                R::vcat(&self.family(family, count, inputs, outputs / count.max(1)), inputs)
            }
            Map::HCatV(family) | Map::LambdaTransposed(family) => {
                let count = self.count(map, family);
                R::hcat(&self.family(family, count, inputs / count.max(1), outputs), outputs)
            }
            Map::Transpose(map) => self.meaning(map, outputs, inputs).transpose(),
            other => panic!("{other:?}"),
        }
    }

    fn family(&self, family: &Family, count: usize, inputs: usize, outputs: usize) -> Vec<R> {
        let Derived { lines, map, .. } = &family.body;
        assert!(lines.is_empty(), "no statements here");
        let each = |at: usize| {
            let mut numbers = self.numbers.clone();
            numbers.insert(family.space[0].var, at as f64);
            Scope { maps: self.maps.clone(), numbers, bound: self.bound }.meaning(map, inputs, outputs)
        };
        (0..count).map(each).collect()
    }
}
