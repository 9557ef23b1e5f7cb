//! Linear maps as terms (Ellis, Peyton Jones and Fitzgibbon, figure 3), and the derivative of a block as a block of such terms.
//!
//! A map is over the variables of Core: factors, sizes, indices and conditions are atoms or partial derivatives of primitive operations.
//! `∂x` is a variable that stands for the map from the inputs to `x`. Products are n-ary; a product of one factor is the factor itself.

use chadwick_core::prim::Partial;
use chadwick_core::{Atom, Axis, Binder, Block, Custom, FunctionId, Loop, Op, Prim, PrimOp, Size, Statement, Var};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Map {
    /// `0`
    #[default]
    Zero,
    /// `1`
    One,
    /// `∂x`
    Of(Var),
    /// `S(k)`
    Scale(Factor),
    /// `1` between two types of number.
    Convert { from: Prim, to: Prim },
    /// `m ∘ n`
    Compose(Box<Map>, Box<Map>),
    /// `m ⊕ n`
    Sum(Vec<Map>),
    /// `m × n`: one argument, a pair of results.
    VCat(Vec<Map>),
    /// `m ⋈ n`: a pair of arguments, the sum of the results.
    HCat(Vec<Map>),
    /// `V(build(n, λi. m))`
    VCatV(Box<Family>),
    /// `H(build(n, λi. m))`
    HCatV(Box<Family>),
    /// `L(λi. m)`: the vector version of `×` without an end.
    Lambda(Box<Family>),
    /// `L'(λi. m)`, its transpose.
    LambdaTransposed(Box<Family>),
    /// `mᵀ`
    Transpose(Box<Map>),
    /// `H(build(sz v, λj. if i = j then 1 else 0))`, which is indexing. It is kept as one, so that it never costs the whole of `v`.
    OneHot { array: Atom, indices: Vec<Atom> },
    /// `if c then m else n`, and the same for the constructors of a sum.
    Branch(Box<Branches>),
    /// `∂f(x)` of a function of the program, by those arguments in which it is differentiated.
    Derivative { function: FunctionId, args: Vec<Atom>, active: Vec<bool> },
    /// `lmFold`, and the map of `nTimes`: what iterations do one after the other.
    Repeat(Box<Repeat>),
    /// A built-in function that is linear itself, so that it is its own derivative; its argument is the tuple of its operands.
    Linear(Box<Op>),
    /// The fields of a value of a sum that has the constructor.
    Payload { scrutinee: Atom, tag: u32, binders: Vec<Binder> },
    /// A map that the program gives by what it does to a cotangent.
    Rule(Box<Custom>),
    /// Sums that are collected in accumulators while a block runs: the start of each, and what is added in the block.
    Accumulators(Box<Accumulators>),
    /// A value that is added to an accumulator.
    Added(Var),
}

/// The factor of `S(k)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Factor {
    Atom(Atom),
    /// A partial derivative of an operation at its operands.
    Partial {
        op: PrimOp,
        partial: Partial,
        operands: Vec<Atom>,
        result: Atom,
    },
    Product(Box<Factor>, Box<Factor>),
    Sum(Box<Factor>, Box<Factor>),
}

/// One map for each point of a space.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Family {
    pub space: Vec<Axis>,
    pub body: Derived,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Branches {
    pub chosen: Chosen,
    pub branches: Vec<Branch>,
}

/// What decides between branches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Chosen {
    If(Atom),
    Match(Atom),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Branch {
    /// The constructor, if it is that of one.
    pub tag: Option<u32>,
    pub binders: Vec<Binder>,
    /// The map to the fields, where the matched value is active.
    pub payload: Option<Map>,
    pub body: Derived,
}

/// The map of a loop with a bound. The maps of the state are variables of the body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repeat {
    pub parts: Loop,
    /// The maps of the state before the first iteration.
    pub initial: Vec<Map>,
    pub body: Derived,
    /// Whether it was a reduction: `fold` rather than `nTimes`.
    pub is_fold: bool,
    /// Whether the reverse pass may apply the iterations in the order of the forward pass: `ccl`.
    pub commutes: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Accumulators {
    pub handles: Vec<Binder>,
    pub initial: Vec<Map>,
    pub body: Derived,
}

/// A block with the map of each of its variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Derived {
    pub lines: Vec<Line>,
    pub results: Vec<Atom>,
    /// To the tuple of the results.
    pub map: Map,
}

/// `let x = e in let ∂x = m in …`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub statement: Statement,
    /// To the tuple of what the statement binds; none if nothing depends on the inputs.
    pub map: Option<Map>,
    /// Whether the statement adds to accumulators from outside it.
    pub adds: bool,
}

impl Map {
    pub fn after(self, first: Map) -> Map {
        Map::Compose(Box::new(self), Box::new(first))
    }

    /// `m × n × …`
    pub fn tuple(mut maps: Vec<Map>) -> Map {
        if maps.len() == 1 { maps.swap_remove(0) } else { Map::VCat(maps) }
    }

    /// `m ⋈ n ⋈ …`
    pub fn cotuple(mut maps: Vec<Map>) -> Map {
        if maps.len() == 1 { maps.swap_remove(0) } else { Map::HCat(maps) }
    }

    /// The vector `build(n, λi. 1)` of units, whose `H` is `∂sum`.
    pub fn units(space: Vec<Axis>) -> Family {
        Family { space, body: Derived::of(Map::One) }
    }
}

impl Derived {
    /// A block without statements.
    pub fn of(map: Map) -> Derived {
        Derived { lines: Vec::new(), results: Vec::new(), map }
    }

    /// The plain block again.
    pub fn block(&self) -> Block {
        let statements = self.lines.iter().map(|line| line.statement.clone()).collect();
        Block { statements, results: self.results.clone() }
    }

    /// The `∂x` that the block mentions without binding them, in order.
    pub fn free_maps(&self) -> Vec<Var> {
        let mut mentions = Mentions::default();
        mentions.derived(self);
        mentions.free
    }
}

/// Collects the `∂x` that are mentioned before they are bound. Every binder is unique, so what is bound once is never free elsewhere.
#[derive(Default)]
struct Mentions {
    bound: FxHashSet<Var>,
    known: FxHashSet<Var>,
    free: Vec<Var>,
}

impl Mentions {
    fn bind(&mut self, binders: &[Binder]) {
        self.bound.extend(binders.iter().map(|binder| binder.var));
    }

    fn derived(&mut self, derived: &Derived) {
        for line in &derived.lines {
            if let Some(map) = &line.map {
                self.map(map);
            }
            self.bind(&line.statement.binders);
        }
        self.map(&derived.map);
    }

    fn map(&mut self, map: &Map) {
        match map {
            Map::Of(var) => {
                if !self.bound.contains(var) && self.known.insert(*var) {
                    self.free.push(*var);
                }
            }
            Map::Compose(left, right) => [left, right].into_iter().for_each(|map| self.map(map)),
            Map::Sum(maps) | Map::VCat(maps) | Map::HCat(maps) => maps.iter().for_each(|map| self.map(map)),
            Map::VCatV(family) | Map::HCatV(family) | Map::Lambda(family) | Map::LambdaTransposed(family) => {
                self.derived(&family.body);
            }
            Map::Transpose(map) => self.map(map),
            Map::Branch(branches) => {
                for branch in &branches.branches {
                    if let Some(payload) = &branch.payload {
                        self.map(payload);
                    }
                    self.bind(&branch.binders);
                    self.derived(&branch.body);
                }
            }
            Map::Repeat(repeat) => {
                repeat.initial.iter().for_each(|map| self.map(map));
                self.bind(&repeat.parts.carry);
                self.derived(&repeat.body);
            }
            Map::Accumulators(sums) => {
                sums.initial.iter().for_each(|map| self.map(map));
                self.derived(&sums.body);
            }
            Map::Zero
            | Map::Added(_)
            | Map::One
            | Map::Scale(_)
            | Map::Convert { .. }
            | Map::OneHot { .. }
            | Map::Derivative { .. }
            | Map::Linear(_)
            | Map::Payload { .. }
            | Map::Rule(_) => {}
        }
    }
}

impl Line {
    pub fn span(&self) -> Span {
        self.statement.span
    }
}

/// Sizes that only the values know, one for each axis.
pub(crate) fn sizes_from_values(rank: usize) -> Vec<Size> {
    vec![Size::FromValue; rank]
}
