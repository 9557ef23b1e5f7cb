//! The laws of linear maps as rewrite rules (Ellis et al., figures 4 and 5), from left to right.
//!
//! Every law keeps the meaning of a map at every point; the tests apply both sides to vectors. Simplification uses a law that
//! repeats a map only where the map is small: a family or a call that stands twice would be run twice.

use super::maps::{Accumulators, Branch, Branches, Derived, Factor, Family, Line, Map, Repeat};

/// A rule: what the map at the root becomes, if the rule is about it.
pub(super) struct Law {
    pub name: &'static str,
    pub rewrite: fn(&Map) -> Option<Map>,
}

/// The laws of composition and sum.
pub(super) const ALGEBRA: &[Law] = &[
    Law { name: "0 ∘ m = 0", rewrite: |map| matches!(map, Map::Compose(m, _) if **m == Map::Zero).then_some(Map::Zero) },
    Law { name: "m ∘ 0 = 0", rewrite: |map| matches!(map, Map::Compose(_, n) if **n == Map::Zero).then_some(Map::Zero) },
    Law { name: "1 ∘ m = m", rewrite: |map| composed(map, |m, n| (*m == Map::One).then(|| n.clone())) },
    Law { name: "m ∘ 1 = m", rewrite: |map| composed(map, |m, n| (*n == Map::One).then(|| m.clone())) },
    Law { name: "m ⊕ 0 = m, 0 ⊕ m = m", rewrite: without_zeros },
    Law { name: "(0, …, 0) = 0", rewrite: zero_products },
    Law { name: "(m1 ⋈ m2) ∘ (n1 × n2) = (m1 ∘ n1) ⊕ (m2 ∘ n2)", rewrite: |map| composed(map, meeting_products) },
    Law { name: "m ∘ (n1 ⋈ n2) = (m ∘ n1) ⋈ (m ∘ n2)", rewrite: |map| composed(map, into_cotuple) },
    Law { name: "(m1 × m2) ∘ n = (m1 ∘ n) × (m2 ∘ n)", rewrite: |map| composed(map, into_tuple) },
    Law { name: "(m ∘ p) ⊕ (n ∘ p) = (m ⊕ n) ∘ p", rewrite: common_first },
    Law { name: "S(a) ∘ S(b) = S(a * b)", rewrite: |map| composed(map, scaled_twice) },
    Law { name: "S(a) ⊕ S(b) = S(a + b)", rewrite: added_scales },
];

/// The laws of transposition.
pub(super) const TRANSPOSITION: &[Law] = &[
    Law { name: "0ᵀ = 0, 1ᵀ = 1, S(k)ᵀ = S(k)", rewrite: |map| transposed(map, own_transpose) },
    Law {
        name: "mᵀᵀ = m",
        rewrite: |map| transposed(map, |map| if let Map::Transpose(m) = map { Some((**m).clone()) } else { None }),
    },
    Law {
        name: "(m ∘ n)ᵀ = nᵀ ∘ mᵀ",
        rewrite: |map| {
            transposed(map, |map| {
                let Map::Compose(m, n) = map else { return None };
                Some(transpose(n).after(transpose(m)))
            })
        },
    },
    Law {
        name: "(m ⊕ n)ᵀ = mᵀ ⊕ nᵀ",
        rewrite: |map| {
            transposed(map, |map| {
                let Map::Sum(maps) = map else { return None };
                Some(Map::Sum(maps.iter().map(transpose).collect()))
            })
        },
    },
    Law {
        name: "(m × n)ᵀ = mᵀ ⋈ nᵀ",
        rewrite: |map| {
            transposed(map, |map| {
                let Map::VCat(maps) = map else { return None };
                Some(Map::HCat(maps.iter().map(transpose).collect()))
            })
        },
    },
    Law {
        name: "(m ⋈ n)ᵀ = mᵀ × nᵀ",
        rewrite: |map| {
            transposed(map, |map| {
                let Map::HCat(maps) = map else { return None };
                Some(Map::VCat(maps.iter().map(transpose).collect()))
            })
        },
    },
    Law {
        name: "V(v)ᵀ = H(map ᵀ v)",
        rewrite: |map| {
            transposed(map, |map| {
                let Map::VCatV(family) = map else { return None };
                Some(Map::HCatV(Box::new(transposed_family(family))))
            })
        },
    },
    Law {
        name: "H(v)ᵀ = V(map ᵀ v)",
        rewrite: |map| {
            transposed(map, |map| {
                let Map::HCatV(family) = map else { return None };
                Some(Map::VCatV(Box::new(transposed_family(family))))
            })
        },
    },
    Law {
        name: "L(λi. m)ᵀ = L'(λi. mᵀ)",
        rewrite: |map| {
            transposed(map, |map| {
                let Map::Lambda(family) = map else { return None };
                Some(Map::LambdaTransposed(Box::new(transposed_family(family))))
            })
        },
    },
    Law {
        name: "L'(λi. m)ᵀ = L(λi. mᵀ)",
        rewrite: |map| {
            transposed(map, |map| {
                let Map::LambdaTransposed(family) = map else { return None };
                Some(Map::Lambda(Box::new(transposed_family(family))))
            })
        },
    },
];

fn composed(map: &Map, rewrite: impl FnOnce(&Map, &Map) -> Option<Map>) -> Option<Map> {
    let Map::Compose(last, first) = map else { return None };
    rewrite(last, first)
}

fn transposed(map: &Map, rewrite: impl FnOnce(&Map) -> Option<Map>) -> Option<Map> {
    let Map::Transpose(inner) = map else { return None };
    rewrite(inner)
}

fn transpose(map: &Map) -> Map {
    Map::Transpose(Box::new(map.clone()))
}

fn own_transpose(map: &Map) -> Option<Map> {
    matches!(map, Map::Zero | Map::One | Map::Scale(_)).then(|| map.clone())
}

fn transposed_family(family: &Family) -> Family {
    let body = Derived { map: transpose(&family.body.map), ..family.body.clone() };
    Family { space: family.space.clone(), body }
}

fn without_zeros(map: &Map) -> Option<Map> {
    let Map::Sum(maps) = map else { return None };
    let rest: Vec<Map> = maps.iter().filter(|map| **map != Map::Zero).cloned().collect();
    match rest.len() {
        0 => Some(Map::Zero),
        1 => rest.into_iter().next(),
        count => (count < maps.len()).then_some(Map::Sum(rest)),
    }
}

fn zero_products(map: &Map) -> Option<Map> {
    let (Map::VCat(maps) | Map::HCat(maps)) = map else { return None };
    maps.iter().all(|map| *map == Map::Zero).then_some(Map::Zero)
}

fn meeting_products(last: &Map, first: &Map) -> Option<Map> {
    let (Map::HCat(last), Map::VCat(first)) = (last, first) else { return None };
    let pairs = last.iter().zip(first);
    (last.len() == first.len()).then(|| Map::Sum(pairs.map(|(m, n)| m.clone().after(n.clone())).collect()))
}

fn into_cotuple(last: &Map, first: &Map) -> Option<Map> {
    let Map::HCat(maps) = first else { return None };
    Some(Map::HCat(maps.iter().map(|map| last.clone().after(map.clone())).collect()))
}

fn into_tuple(last: &Map, first: &Map) -> Option<Map> {
    let Map::VCat(maps) = last else { return None };
    Some(Map::VCat(maps.iter().map(|map| map.clone().after(first.clone())).collect()))
}

fn common_first(map: &Map) -> Option<Map> {
    let Map::Sum(maps) = map else { return None };
    for (at, map) in maps.iter().enumerate() {
        let Map::Compose(m, p) = map else { continue };
        let same = |other: &Map| matches!(other, Map::Compose(_, q) if q == p);
        let Some(other) = maps[at + 1..].iter().position(same).map(|behind| at + 1 + behind) else { continue };
        let Map::Compose(n, _) = &maps[other] else { continue };
        let mut rest = maps.clone();
        rest.remove(other);
        rest[at] = Map::Sum(vec![(**m).clone(), (**n).clone()]).after((**p).clone());
        return Some(if rest.len() == 1 { rest.swap_remove(0) } else { Map::Sum(rest) });
    }
    None
}

fn scaled_twice(last: &Map, first: &Map) -> Option<Map> {
    let (Map::Scale(a), Map::Scale(b)) = (last, first) else { return None };
    Some(Map::Scale(Factor::Product(Box::new(a.clone()), Box::new(b.clone()))))
}

fn added_scales(map: &Map) -> Option<Map> {
    let Map::Sum(maps) = map else { return None };
    let [Map::Scale(a), Map::Scale(b)] = maps.as_slice() else { return None };
    Some(Map::Scale(Factor::Sum(Box::new(a.clone()), Box::new(b.clone()))))
}

/// Whether a map may stand twice.
fn is_small(map: &Map) -> bool {
    match map {
        Map::Zero | Map::One | Map::Of(_) | Map::Scale(_) | Map::Convert { .. } | Map::OneHot { .. } => true,
        Map::Compose(m, n) => is_small(m) && is_small(n),
        Map::VCat(maps) | Map::HCat(maps) | Map::Sum(maps) => maps.iter().all(is_small),
        _ => false,
    }
}

/// Whether the law would repeat something large at this root.
fn repeats(map: &Map) -> bool {
    match map {
        Map::Compose(last, first) => match (&**last, &**first) {
            (Map::HCat(_), Map::VCat(_)) => false,
            (last, Map::HCat(_)) => !is_small(last),
            (Map::VCat(_), first) => !is_small(first),
            _ => false,
        },
        _ => false,
    }
}

/// The block with every map in normal form.
pub(super) fn simplified(derived: Derived) -> Derived {
    Simplifier::default().derived(derived)
}

/// Rewrites maps, and notes the laws it uses.
#[derive(Default)]
pub(super) struct Simplifier {
    pub used: Vec<&'static str>,
}

impl Simplifier {
    pub fn derived(&mut self, derived: Derived) -> Derived {
        let mut line = |line: Line| {
            let map = line.map.map(|map| self.map(map)).filter(|map| *map != Map::Zero || line.adds);
            Line { map, ..line }
        };
        let lines = derived.lines.into_iter().map(&mut line).collect();
        Derived { lines, map: self.map(derived.map), ..derived }
    }

    /// The map in normal form: parts first, then the laws at the root until none is about it.
    pub fn map(&mut self, map: Map) -> Map {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut map = self.parts(map);
            while !repeats(&map)
                && let Some((law, next)) = applicable(&map)
            {
                if !self.used.contains(&law) {
                    self.used.push(law);
                }
                map = self.parts(next);
            }
            map
        })
    }

    fn maps(&mut self, maps: Vec<Map>) -> Vec<Map> {
        maps.into_iter().map(|map| self.map(map)).collect()
    }

    fn family(&mut self, family: Family) -> Box<Family> {
        Box::new(Family { space: family.space, body: self.derived(family.body) })
    }

    fn parts(&mut self, map: Map) -> Map {
        match map {
            Map::Compose(last, first) => self.map(*last).after(self.map(*first)),
            Map::Sum(maps) => Map::Sum(self.maps(maps)),
            Map::VCat(maps) => Map::VCat(self.maps(maps)),
            Map::HCat(maps) => Map::HCat(self.maps(maps)),
            Map::VCatV(one) => Map::VCatV(self.family(*one)),
            Map::HCatV(one) => Map::HCatV(self.family(*one)),
            Map::Lambda(one) => Map::Lambda(self.family(*one)),
            Map::LambdaTransposed(one) => Map::LambdaTransposed(self.family(*one)),
            Map::Transpose(map) => Map::Transpose(Box::new(self.map(*map))),
            Map::Branch(branches) => {
                let Branches { chosen, branches } = *branches;
                let mut branch = |branch: Branch| {
                    let payload = branch.payload.map(|map| self.map(map));
                    Branch { payload, body: self.derived(branch.body), ..branch }
                };
                let branches = branches.into_iter().map(&mut branch).collect();
                Map::Branch(Box::new(Branches { chosen, branches }))
            }
            Map::Repeat(repeat) => {
                let repeat = *repeat;
                let initial = self.maps(repeat.initial);
                Map::Repeat(Box::new(Repeat { initial, body: self.derived(repeat.body), ..repeat }))
            }
            Map::Accumulators(sums) => {
                let sums = *sums;
                let initial = self.maps(sums.initial);
                Map::Accumulators(Box::new(Accumulators { initial, body: self.derived(sums.body), ..sums }))
            }
            leaf => leaf,
        }
    }
}

/// The first law that is about the root, and what it makes of it.
fn applicable(map: &Map) -> Option<(&'static str, Map)> {
    ALGEBRA.iter().chain(TRANSPOSITION).find_map(|law| Some((law.name, (law.rewrite)(map)?)))
}
