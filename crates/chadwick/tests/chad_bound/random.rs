//! Random terms of the source language, and values for their variables.

use crate::cost::{Linear, Side, Value};
use crate::language::{Name, Primitive, Term, Type};
use chadwick_generate::Random;
use std::rc::Rc;

pub struct Generator {
    pub random: Random,
    pub next: Name,
    /// Whether there are integers. The language has no literals of them, so then the context has a variable.
    pub integers: bool,
}

impl Generator {
    pub fn fresh(&mut self) -> Name {
        self.next += 1;
        self.next
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.random.between(0, bound as i64 - 1) as usize
    }

    pub fn real(&mut self) -> f64 {
        self.random.real()
    }

    pub fn ty(&mut self, depth: usize) -> Type {
        match self.below(if depth == 0 { 3 } else { 7 }) {
            0 if self.integers => Type::Int,
            0 => Type::Unit,
            1 => Type::Unit,
            2 | 3 => Type::Real,
            4 | 5 => Type::pair(self.ty(depth - 1), self.ty(depth - 1)),
            _ => Type::sum(self.ty(depth - 1), self.ty(depth - 1)),
        }
    }

    pub fn value(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Unit => Value::Unit,
            Type::Int => Value::Int(self.random.between(-9, 9)),
            Type::Real => Value::Real(self.real()),
            Type::Pair(parts) => Value::Pair(Rc::new((self.value(&parts.0), self.value(&parts.1)))),
            Type::Sum(parts) => match self.below(2) {
                0 => Value::Left(Rc::new(self.value(&parts.0))),
                _ => Value::Right(Rc::new(self.value(&parts.1))),
            },
        }
    }

    /// The cotangent with zeros instead of some of its parts.
    pub fn pruned(&mut self, linear: &Linear) -> Linear {
        let is_zero = self.below(4) == 0;
        match linear {
            Linear::Pair(_) if is_zero => Linear::Pair(None),
            Linear::Sum(_) if is_zero => Linear::Sum(None),
            Linear::Pair(Some(parts)) => Linear::Pair(Some(Rc::new((self.pruned(&parts.0), self.pruned(&parts.1))))),
            Linear::Sum(Some(side)) => Linear::Sum(Some(Rc::new(match &**side {
                Side::Left(part) => Side::Left(self.pruned(part)),
                Side::Right(part) => Side::Right(self.pruned(part)),
            }))),
            other => other.clone(),
        }
    }

    /// A term of a type, of about so many nodes.
    pub fn term(&mut self, ty: &Type, context: &[(Name, Type)], fuel: usize) -> Term {
        let known: Vec<Name> = context.iter().filter(|(_, known)| known == ty).map(|(name, _)| *name).collect();
        if !known.is_empty() && (fuel < 2 || self.below(6) == 0) {
            return Term::Var(known[self.below(known.len())]);
        }
        if fuel >= 3 {
            let part = fuel / 2;
            match self.below(8) {
                0 | 1 => {
                    let (name, of) = (self.fresh(), self.ty(1));
                    let value = self.term(&of, context, part);
                    let inner = [context, &[(name, of.clone())]].concat();
                    return Term::Let(name, of, Rc::new(value), Rc::new(self.term(ty, &inner, part)));
                }
                2 => {
                    let of = if self.below(2) == 0 { Type::sign() } else { Type::sum(self.ty(1), self.ty(1)) };
                    let Type::Sum(parts) = &of else { return Term::Unit };
                    let scrutinee = self.term(&of, context, part);
                    let mut arm = |ty_of: &Type| {
                        let name = self.fresh();
                        let inner = [context, &[(name, ty_of.clone())]].concat();
                        (name, Rc::new(self.term(ty, &inner, part)))
                    };
                    let (left, right) = (arm(&parts.0), arm(&parts.1));
                    return Term::Case(Rc::new(scrutinee), of, left, right);
                }
                3 => {
                    let other = self.ty(1);
                    let first = self.below(2) == 0;
                    let whole = if first { Type::pair(ty.clone(), other) } else { Type::pair(other, ty.clone()) };
                    let pair = Rc::new(self.term(&whole, context, fuel - 1));
                    return if first { Term::First(pair, whole) } else { Term::Second(pair, whole) };
                }
                _ => {}
            }
        }
        self.made(ty, context, fuel)
    }

    /// A term that makes a value of the type.
    fn made(&mut self, ty: &Type, context: &[(Name, Type)], fuel: usize) -> Term {
        let part = fuel / 2;
        let apply = |this: &mut Self, op: Primitive, args: Type| {
            Term::Primitive(op, Rc::new(this.term(&args, context, fuel.saturating_sub(1))))
        };
        match ty {
            Type::Unit => Term::Unit,
            Type::Real if fuel < 3 => Term::Primitive(Primitive::Lit(self.real()), Rc::new(Term::Unit)),
            Type::Real => {
                let reals = Type::pair(Type::Real, Type::Real);
                match self.below(5) {
                    0 | 1 => apply(self, Primitive::Add, reals),
                    2 | 3 => apply(self, Primitive::Mul, reals),
                    _ => apply(self, Primitive::Neg, Type::Real),
                }
            }
            Type::Int => {
                let ints = Type::pair(Type::Int, Type::Int);
                let known = context.iter().find(|(_, known)| *known == Type::Int);
                match known {
                    Some((name, _)) if fuel < 3 => Term::Var(*name),
                    _ => match self.below(3) {
                        0 => apply(self, Primitive::IntAdd, ints),
                        1 => apply(self, Primitive::IntMul, ints),
                        _ => apply(self, Primitive::IntNeg, Type::Int),
                    },
                }
            }
            Type::Pair(parts) => {
                let left = self.term(&parts.0, context, part);
                Term::Pair(Rc::new(left), Rc::new(self.term(&parts.1, context, part)), ty.clone())
            }
            sum if *sum == Type::sign() && self.below(3) > 0 && fuel > 1 => apply(self, Primitive::Sign, Type::Real),
            Type::Sum(parts) => match self.below(2) {
                0 => Term::Left(Rc::new(self.term(&parts.0, context, part)), ty.clone()),
                _ => Term::Right(Rc::new(self.term(&parts.1, context, part)), ty.clone()),
            },
        }
    }
}
