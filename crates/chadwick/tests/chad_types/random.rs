//! Random linear functions, values and terms.

use crate::hidden::{Linear, LinearFunction, Type, Value};
use crate::transform::{Operation, Term};
use chadwick_generate::Random;
use std::rc::Rc;

pub struct Generator {
    pub random: Random,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator { random: Random::new(seed) }
    }

    fn below(&mut self, bound: i64) -> i64 {
        self.random.between(0, bound - 1)
    }

    /// A small whole number, so that sums in another order are the same.
    pub fn number(&mut self) -> f64 {
        self.random.between(-4, 4) as f64
    }

    pub fn linear_type(&mut self, depth: usize) -> Linear {
        match self.below(if depth == 0 { 2 } else { 8 }) {
            0 if depth > 0 => Linear::Unit,
            0 | 1 => Linear::Real,
            2 | 3 => Linear::pair(self.linear_type(depth - 1), self.linear_type(depth - 1)),
            4 | 5 => Linear::Power(Type::Real, Rc::new(self.linear_type(depth - 1))),
            _ => Linear::Copower(Type::Real, Rc::new(self.linear_type(depth - 1))),
        }
    }

    /// A linear function made by all operations that fit.
    pub fn linear_function(&mut self, from: &Linear, to: &Linear) -> LinearFunction {
        let at = Value::Real(self.number());
        match (from, to) {
            (_, Linear::Pair(parts)) => {
                LinearFunction::pair(&self.linear_function(from, &parts.0), &self.linear_function(from, &parts.1))
            }
            (_, Linear::Power(of, results)) => {
                let make = self.family(from, results);
                LinearFunction::swap(of.clone(), (from.clone(), (**results).clone()), make)
            }
            (_, Linear::Copower(of, results)) => {
                let first = self.linear_function(from, results);
                let one = |at| LinearFunction::singleton(at, of.clone(), (**results).clone());
                let other = Value::Real(self.number());
                first.then(&one(at)).plus(&first.then(&one(other)))
            }
            (Linear::Pair(parts), _) => {
                let (left, right) = (&parts.0, &parts.1);
                let first = LinearFunction::first(left.clone(), right.clone()).then(&self.linear_function(left, to));
                let second = LinearFunction::second(left.clone(), right.clone());
                first.plus(&second.then(&self.linear_function(right, to)))
            }
            (Linear::Power(of, results), _) => {
                let result = (**results).clone();
                LinearFunction::evaluate(at, of.clone(), result).then(&self.linear_function(results, to))
            }
            (Linear::Copower(of, results), _) => {
                let make = self.family(results, to);
                LinearFunction::fold(of.clone(), ((**results).clone(), to.clone()), make)
            }
            (Linear::Real, Linear::Real) => LinearFunction::times(self.number()),
            (Linear::Unit, _) | (_, Linear::Unit) => LinearFunction::zero(from.clone(), to.clone()),
        }
    }

    /// Linear functions that depend on a number, not linearly.
    pub fn family(&mut self, from: &Linear, to: &Linear) -> impl Fn(&Value) -> LinearFunction + Clone + 'static {
        let [small, large] = [(); 2].map(|()| self.linear_function(from, to));
        let limit = self.number();
        move |at: &Value| if at.real() < limit { small.plus(&small) } else { large.clone() }
    }

    pub fn value(&mut self, ty: &Linear) -> Value {
        let [one, two] = [(); 2].map(|()| self.linear_function(&Linear::Real, ty).at(&Value::Real(1.0)));
        crate::hidden::plus(ty, &one, &two)
    }

    pub fn ty(&mut self, depth: usize) -> Type {
        match self.below(if depth == 0 { 2 } else { 7 }) {
            0 if depth > 0 => Type::Unit,
            0..=2 => Type::Real,
            3 | 4 => Type::Pair(Rc::new((self.ty(depth - 1), self.ty(depth - 1)))),
            _ => Type::Function(Rc::new((self.ty(depth - 1), self.ty(depth - 1)))),
        }
    }

    /// A term of the type.
    pub fn term(&mut self, scope: &mut Vec<Type>, ty: &Type, depth: usize) -> Term {
        let fitting: Vec<usize> = (0..scope.len()).filter(|at| scope[*at] == *ty).collect();
        if !fitting.is_empty() && (depth == 0 || self.below(4) == 0) {
            return Term::Variable(fitting[self.below(fitting.len() as i64) as usize]);
        }
        let callable = |at: &usize| matches!(&scope[*at], Type::Function(parts) if parts.1 == *ty);
        let callable: Vec<usize> = (0..scope.len()).filter(callable).collect();
        if depth > 0 && !callable.is_empty() && self.below(2) == 0 {
            let function = callable[self.below(callable.len() as i64) as usize];
            let Type::Function(parts) = scope[function].clone() else { unreachable!("it can be called") };
            let argument = self.term(scope, &parts.0, depth - 1);
            return Term::Apply(Term::Variable(function).into(), argument.into());
        }
        if depth > 0 {
            match self.below(6) {
                0 | 1 => {
                    // Often a function that the body can call, more than once.
                    let bound_type = match self.below(2) {
                        0 => Type::Function(Rc::new((Type::Real, ty.clone()))),
                        _ => self.ty(2),
                    };
                    let bound = self.term(scope, &bound_type, depth - 1);
                    scope.push(bound_type);
                    let body = self.term(scope, ty, depth - 1);
                    scope.pop();
                    return Term::Let(bound.into(), body.into());
                }
                2 | 3 => {
                    let from = self.ty(1);
                    let function = self.term(scope, &Type::Function(Rc::new((from.clone(), ty.clone()))), depth - 1);
                    return Term::Apply(function.into(), self.term(scope, &from, depth - 1).into());
                }
                4 => {
                    let other = self.ty(1);
                    let is_first = self.below(2) == 0;
                    let parts = if is_first { (ty.clone(), other) } else { (other, ty.clone()) };
                    let pair = self.term(scope, &Type::Pair(Rc::new(parts)), depth - 1).into();
                    return if is_first { Term::First(pair) } else { Term::Second(pair) };
                }
                _ => {}
            }
        }
        let smaller = depth.saturating_sub(1);
        match ty {
            Type::Real if depth == 0 => Term::Constant(0.5),
            Type::Real => match self.below(4) {
                0 => Term::Operation(Operation::Sine, vec![self.term(scope, ty, smaller)]),
                1 => Term::Operation(Operation::Add, [(); 2].map(|()| self.term(scope, ty, smaller)).into()),
                _ => Term::Operation(Operation::Multiply, [(); 2].map(|()| self.term(scope, ty, smaller)).into()),
            },
            Type::Unit => Term::Unit,
            Type::Pair(parts) => {
                Term::Pair(self.term(scope, &parts.0, smaller).into(), self.term(scope, &parts.1, smaller).into())
            }
            Type::Function(parts) => {
                scope.push(parts.0.clone());
                let body = self.term(scope, &parts.1, smaller);
                scope.pop();
                Term::Lambda(parts.0.clone(), parts.1.clone(), body.into())
            }
        }
    }
}

/// The term as the compiler reads it.
pub fn text(term: &Term, depth: usize) -> String {
    let own = |term: &Term| text(term, depth);
    match term {
        Term::Variable(at) => format!("x{at}"),
        Term::Let(bound, body) => format!("(let x{depth} = {} in {})", own(bound), text(body, depth + 1)),
        Term::Constant(number) => format!("{number}f64"),
        Term::Operation(Operation::Sine, operands) => format!("f64.sin ({})", own(&operands[0])),
        Term::Operation(operation, operands) => {
            let symbol = if matches!(operation, Operation::Add) { '+' } else { '*' };
            format!("({} {symbol} {})", own(&operands[0]), own(&operands[1]))
        }
        Term::Unit => String::from("()"),
        Term::Pair(left, right) => format!("({}, {})", own(left), own(right)),
        Term::First(pair) => format!("({}).0", own(pair)),
        Term::Second(pair) => format!("({}).1", own(pair)),
        Term::Lambda(from, _, body) => format!("(\\(x{depth}: {}) -> {})", type_text(from), text(body, depth + 1)),
        Term::Apply(function, argument) => {
            format!("(let called{depth} = {} in called{depth} ({}))", own(function), own(argument))
        }
    }
}

fn type_text(ty: &Type) -> String {
    match ty {
        Type::Real => String::from("f64"),
        Type::Unit => String::from("()"),
        Type::Pair(parts) => format!("({}, {})", type_text(&parts.0), type_text(&parts.1)),
        Type::Function(parts) => format!("({} -> {})", type_text(&parts.0), type_text(&parts.1)),
    }
}
