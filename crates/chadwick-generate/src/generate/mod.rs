//! Typed generation: an expression of a wanted type, from what is in scope.
//!
//! [`FORMS`] lists the constructs. Each is asked for an expression of a type and a size (how many nodes it may have, roughly) and gives
//! `None` where it cannot make that type. All expressions are total: indices are taken modulo the size, divisors stay away from
//! zero, loops and recursion are bounded. Numbers stay small by passing through `tame` (in `f64`, the sine).

mod arrays;
mod control;
mod data;
mod derivatives;
mod functions;
mod matrices;
mod reach;
mod reductions;
mod scalars;
mod updates;

use crate::config::{Config, Construct};
use crate::exp::{BOUND, Exp, either, parts};
use crate::random::Random;
use crate::types::{Size, Type};

/// One way to make an expression.
pub(crate) struct Form {
    /// What must be enabled.
    needs: &'static [Construct],
    weight: usize,
    make: fn(&mut Generator, &Type, usize) -> Option<Exp>,
}

const fn form(needs: &'static [Construct], weight: usize, make: fn(&mut Generator, &Type, usize) -> Option<Exp>) -> Form {
    Form { needs, weight, make }
}

const FORMS: &[&[Form]] = &[
    scalars::FORMS,
    control::FORMS,
    data::FORMS,
    arrays::FORMS,
    matrices::FORMS,
    updates::FORMS,
    reductions::FORMS,
    functions::FORMS,
    derivatives::FORMS,
    reach::FORMS,
];

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub name: String,
    pub ty: Type,
}

/// A helper function at top level. Its size parameter, if it has one, is called `n`.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub name: String,
    pub params: Vec<Type>,
    pub result: Type,
}

/// The size parameter of a function at top level.
pub(crate) const SIZE_PARAMETER: &str = "n";

pub(crate) struct Generator<'c> {
    pub random: Random,
    pub config: &'c Config,
    pub scope: Vec<Variable>,
    /// Size variables in scope.
    pub sizes: Vec<Size>,
    pub globals: Vec<Global>,
    next_name: usize,
    /// Derivatives around the expression being made.
    derivatives: usize,
    /// Paths from variables that are being made, one for the sake of another.
    reaching: usize,
}

impl<'c> Generator<'c> {
    pub fn new(seed: u64, config: &'c Config) -> Self {
        let random = Random::new(seed);
        Generator {
            random,
            config,
            scope: Vec::new(),
            sizes: Vec::new(),
            globals: Vec::new(),
            next_name: 0,
            derivatives: 0,
            reaching: 0,
        }
    }

    pub fn allows(&self, construct: Construct) -> bool {
        self.config.allows(construct)
    }

    pub fn fresh(&mut self, prefix: &str) -> String {
        self.next_name += 1;
        format!("{prefix}_{}", self.next_name)
    }

    /// An expression of a type with about `size` nodes.
    pub fn exp(&mut self, ty: &Type, size: usize) -> Exp {
        let exp = if size <= 1 { self.leaf(ty) } else { self.form(ty, size) };
        debug_assert!(exp.ty == *ty, "{} is not {ty}", exp.ty);
        // Loops and branches show the size of what hides it, also in a loop's own state; this hides it again.
        if ty.any(&|ty| *ty == Type::Ragged) {
            return Exp::atom(ty, "(@ : @)", parts![exp, ty]);
        }
        self.tamed(exp)
    }

    fn form(&mut self, ty: &Type, size: usize) -> Exp {
        const TRIES: usize = 60;
        let total: usize = FORMS.iter().flat_map(|group| group.iter()).map(|form| form.weight).sum();
        for _ in 0..TRIES {
            let mut at = self.random.below(total);
            let picked = FORMS.iter().flat_map(|group| group.iter()).find(|form| {
                let here = at < form.weight;
                at = at.saturating_sub(form.weight);
                here
            });
            let Some(form) = picked else { continue };
            if form.needs.iter().any(|construct| !self.allows(*construct)) {
                continue;
            }
            if let Some(exp) = (form.make)(self, ty, size) {
                return exp;
            }
        }
        self.leaf(ty)
    }

    /// A number whose magnitude is bounded; other expressions as they are.
    pub fn tamed(&mut self, exp: Exp) -> Exp {
        if exp.ty != Type::Number || exp.bound <= BOUND {
            return exp;
        }
        match exp.bound <= 2.0 * BOUND && self.random.chance(40) {
            true => {
                let bound = exp.bound / 2.0;
                Exp::node(&Type::Number, "@@", parts![either("0.5 * ", ""), exp]).with_bound(bound)
            }
            false => Exp::node(&Type::Number, "tame @", parts![exp]).with_bound(1.0),
        }
    }

    /// A function that bounds all numbers in a value; `None` where there are none or they cannot be reached.
    pub fn tamer(&mut self, ty: &Type) -> Option<String> {
        match ty {
            Type::Number => Some(String::from("tame")),
            Type::Array(_, element) => Some(format!("(map {})", self.tamer(element)?)),
            Type::Tuple(parts) => {
                let names: Vec<String> = parts.iter().map(|_| self.fresh("t")).collect();
                let results = names.iter().zip(parts).map(|(name, part)| match self.tamer(part) {
                    Some(tamer) => format!("{tamer} {name}"),
                    None => name.clone(),
                });
                let results: Vec<String> = results.collect();
                Some(format!("(\\({}) -> ({}))", names.join(", "), results.join(", ")))
            }
            _ => None,
        }
    }

    /// A value with all its numbers bounded.
    pub fn tame_value(&mut self, exp: Exp) -> Exp {
        let ty = exp.ty.clone();
        match self.tamer(&ty) {
            Some(tamer) => Exp::node(&ty, "@ @", parts![tamer, exp]).with_bound(1.0),
            None => exp,
        }
    }

    /// Makes something with more variables in scope.
    pub fn scoped<T>(&mut self, variables: &[(&str, &Type)], make: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scope.len();
        let variables = variables.iter().map(|(name, ty)| Variable { name: (*name).to_owned(), ty: (*ty).clone() });
        self.scope.extend(variables);
        let made = make(self);
        self.scope.truncate(outer);
        made
    }

    /// Makes something with one more size variable in scope, which also is a value.
    pub fn with_size_variable<T>(&mut self, size: &Size, make: impl FnOnce(&mut Self) -> T) -> T {
        self.sizes.push(size.clone());
        let name = size.to_string();
        let made = self.scoped(&[(&name, &Type::Int)], make);
        self.sizes.pop();
        made
    }

    /// Divides what remains of a size among subexpressions.
    pub fn divide<const N: usize>(&mut self, size: usize) -> [usize; N] {
        let mut shares = [1; N];
        let mut left = size.saturating_sub(1 + N);
        while left > 0 {
            let share = left.div_ceil(3).min(left);
            shares[self.random.below(N)] += share;
            left -= share;
        }
        shares
    }

    // Types -----------------------------------------------------------------------------------------------------------

    /// A size that an array may have here.
    pub fn size(&mut self) -> Size {
        if !self.sizes.is_empty() && self.random.chance(45) {
            return self.random.pick(&self.sizes.clone()).clone();
        }
        if self.allows(Construct::EmptyArrays) && self.random.chance(4) {
            return Size::Const(0);
        }
        Size::Const(self.random.between(1, 4) as usize)
    }

    pub fn positive_size(&mut self) -> Size {
        let size = self.size();
        if size.is_positive() { size } else { Size::Const(2) }
    }

    /// Any type, functions included.
    pub fn any_type(&mut self, depth: usize) -> Type {
        if self.allows(Construct::FunctionValues) && self.random.chance(18) {
            let params = if self.random.chance(30) { 2 } else { 1 };
            let params: Vec<Type> = (0..params).map(|_| self.data_type(depth.saturating_sub(1))).collect();
            return Type::function(params, self.data_type(depth.saturating_sub(1)));
        }
        self.type_of(depth, &mut |generator, depth| generator.any_type(depth))
    }

    /// A type without functions.
    pub fn data_type(&mut self, depth: usize) -> Type {
        self.type_of(depth, &mut |generator, depth| generator.data_type(depth))
    }

    /// A type with no other scalars than numbers and booleans, so that derivatives with respect to it are exact.
    pub fn smooth_type(&mut self, depth: usize) -> Type {
        match self.type_of(depth, &mut |generator, depth| generator.smooth_type(depth)) {
            Type::Int | Type::Index => Type::Number,
            ty => ty,
        }
    }

    fn type_of(&mut self, depth: usize, inner: &mut dyn FnMut(&mut Self, usize) -> Type) -> Type {
        if depth == 0 {
            return match self.random.below(12) {
                0 => Type::Int,
                1 => Type::Index,
                2 => Type::Bool,
                _ => Type::Number,
            };
        }
        match self.random.below(20) {
            0..=5 => Type::Number,
            6..=9 => Type::numbers(&self.size()),
            10..=11 => {
                let size = self.size();
                let matrix = self.allows(Construct::Matrices);
                Type::array(&size, if matrix { inner(self, depth - 1) } else { Type::Number })
            }
            12..=14 => {
                let count = self.random.between(2, 3);
                Type::Tuple((0..count).map(|_| inner(self, depth - 1)).collect())
            }
            15 if self.allows(Construct::Records) => {
                let names = ["a", "b", "c"];
                let count = self.random.between(1, 3) as usize;
                Type::Record(names[..count].iter().map(|name| (*name, inner(self, depth - 1))).collect())
            }
            16 if self.allows(Construct::Sums) => Type::Option(Box::new(inner(self, depth - 1))),
            17 if self.allows(Construct::Sums) => Type::Shape,
            18 if self.allows(Construct::RecursiveTypes) => match self.random.below(3) {
                0 => Type::List(Box::new(inner(self, depth - 1))),
                1 => Type::Tree,
                _ => Type::Rose,
            },
            19 if self.allows(Construct::RaggedArrays) => Type::Ragged,
            _ => Type::Number,
        }
    }

    // Leaves ----------------------------------------------------------------------------------------------------------

    /// A small expression: a variable, a part of one, or data made of such.
    pub fn leaf(&mut self, ty: &Type) -> Exp {
        if *ty == Type::Number && self.random.chance(20) {
            let (left, right) = (self.short_leaf(ty), self.short_leaf(ty));
            let bound = left.bound * right.bound;
            return Exp::node(ty, "@ * @", parts![left, right]).with_bound(bound);
        }
        self.short_leaf(ty)
    }

    fn short_leaf(&mut self, ty: &Type) -> Exp {
        let fitting: Vec<usize> = (0..self.scope.len()).filter(|at| self.scope[*at].ty == *ty).collect();
        if !fitting.is_empty() && self.random.chance(75) {
            // What was bound last is what the expression around is about.
            let at = self.random.below(fitting.len()).max(self.random.below(fitting.len()));
            return Exp::variable(&self.scope[fitting[at]].name, ty);
        }
        if self.random.chance(85)
            && let Some(exp) = self.reach_from_scope(ty)
        {
            return exp;
        }
        self.filled(ty, &mut |generator, ty| match *ty == Type::Number && generator.random.chance(80) {
            true => generator.reach_from_scope(ty).unwrap_or_else(|| generator.literal()),
            false => generator.literal_of(ty),
        })
    }

    /// A value made of literals.
    pub fn constant(&mut self, ty: &Type) -> Exp {
        self.filled(ty, &mut |generator, ty| generator.literal_of(ty))
    }

    fn literal_of(&mut self, ty: &Type) -> Exp {
        match ty {
            Type::Bool => Exp::atom(ty, if self.random.chance(50) { "true" } else { "false" }, Vec::new()),
            Type::Number => self.literal(),
            _ => {
                let value = self.random.between(0, 5);
                Exp::atom(ty, "@", parts![value.to_string()])
            }
        }
    }

    /// A value of a type with scalars from somewhere.
    fn filled(&mut self, ty: &Type, scalar: &mut dyn FnMut(&mut Self, &Type) -> Exp) -> Exp {
        let number = &Type::Number;
        match ty {
            Type::Number | Type::Int | Type::Index | Type::Bool => {
                let value = scalar(self, ty);
                self.tamed(value)
            }
            Type::Tuple(types) => {
                let values = types.iter().map(|ty| self.filled(ty, scalar)).collect();
                data::tuple(ty, values)
            }
            Type::Record(fields) => {
                let values = fields.iter().map(|(_, ty)| self.filled(ty, scalar)).collect();
                data::record(ty, values)
            }
            Type::Option(part) => match self.random.chance(80) {
                true => Exp::atom(ty, "(#some @ : @)", parts![self.filled(part, scalar), ty]),
                false => Exp::atom(ty, "(#none : @)", parts![ty]),
            },
            Type::Shape => self.shape(&mut |generator| generator.filled(number, scalar)),
            Type::List(part) => match self.random.chance(70) {
                true => Exp::atom(ty, "(#cons @ #nil : @)", parts![self.filled(part, scalar), ty]),
                false => Exp::atom(ty, "(#nil : @)", parts![ty]),
            },
            Type::Tree => Exp::atom(ty, "(#leaf @ : @)", parts![self.filled(number, scalar), ty]),
            Type::Rose => Exp::atom(ty, "(#rose @ #empty : @)", parts![self.filled(number, scalar), ty]),
            Type::Ragged => Exp::node(ty, "ragged_of [@]", parts![self.filled(number, scalar)]),
            Type::Array(size, element) => match size {
                Size::Const(0) => Exp::atom(ty, "([] : @)", parts![ty]),
                Size::Const(count @ 1..=3) if self.random.chance(60) => {
                    let elements = (0..*count).map(|_| self.filled(element, scalar)).collect();
                    data::array_literal(ty, elements)
                }
                _ => Exp::node(ty, "replicate @ @", parts![size, self.filled(element, scalar)]),
            },
            Type::Function(params, result) => {
                let names: Vec<String> = params.iter().map(|_| self.fresh("x")).collect();
                let variables: Vec<(&str, &Type)> = names.iter().map(String::as_str).zip(params).collect();
                let body = self.scoped(&variables, |generator| {
                    let at = generator.random.below(params.len());
                    let value = Exp::variable(&names[at], &params[at]);
                    let reached = generator.reach(value, result, 2);
                    let value = reached.unwrap_or_else(|| generator.filled(result, scalar));
                    generator.tamed(value)
                });
                functions::lambda(ty, &names, body)
            }
        }
    }

    fn literal(&mut self) -> Exp {
        let quarters = self.random.between(-6, 6);
        let value = quarters as f64 / 4.0;
        let (f64, i64) = match quarters < 0 {
            true => (format!("({value:?})"), format!("({quarters})")),
            false => (format!("{value:?}"), quarters.to_string()),
        };
        Exp::atom(&Type::Number, "@", parts![either(&f64, &i64)]).with_bound(value.abs())
    }
}
