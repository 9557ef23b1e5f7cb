//! Values, cotangents, and what evaluation costs: section 6.10.3 of the thesis.

use crate::language::{Name, Primitive, Term, Type};
use std::rc::Rc;

/// A cotangent. `None` is a zero that says nothing else.
#[derive(Clone, Debug)]
pub enum Linear {
    Unit,
    Real(f64),
    Pair(Option<Rc<(Linear, Linear)>>),
    Sum(Option<Rc<Side>>),
}

#[derive(Debug)]
pub enum Side {
    Left(Linear),
    Right(Linear),
}

#[derive(Clone, Debug)]
pub enum Value {
    Unit,
    Int(i64),
    Real(f64),
    Pair(Rc<(Value, Value)>),
    Left(Rc<Value>),
    Right(Rc<Value>),
    Linear(Linear),
    Closure(Name, Environment, Rc<Term>),
    Computation(Rc<Computation>),
}

/// A computation that changes an environment of cotangents.
#[derive(Debug)]
pub enum Computation {
    Return(Value),
    Bind(Value, Value),
    One(Name, Linear),
    Scope(Name, Linear, Value),
}

impl Computation {
    pub fn value(self) -> Value {
        Value::Computation(Rc::new(self))
    }
}

impl Value {
    /// `a ≫ b`
    pub fn then(self, next: Value) -> Value {
        const IGNORED: Name = 0;
        const NEXT: Name = 1;
        let environment = Environment::default().with(NEXT, next);
        Computation::Bind(self, Value::Closure(IGNORED, environment, Rc::new(Term::Var(NEXT)))).value()
    }
}

/// Values of variables, innermost first.
#[derive(Clone, Debug, Default)]
pub struct Environment(Option<Rc<(Name, Value, Environment)>>);

impl Environment {
    pub fn with(&self, name: Name, value: Value) -> Environment {
        Environment(Some(Rc::new((name, value, self.clone()))))
    }

    fn get(&self, name: Name) -> Value {
        let mut here = self;
        while let Some(entry) = &here.0 {
            if entry.0 == name {
                return entry.1.clone();
            }
            here = &entry.2;
        }
        panic!("variable {name} has no value")
    }
}

/// The number of nodes that are there.
pub fn linear_size(linear: &Linear) -> u64 {
    match linear {
        Linear::Pair(Some(parts)) => 1 + linear_size(&parts.0) + linear_size(&parts.1),
        Linear::Sum(Some(side)) => {
            let (Side::Left(part) | Side::Right(part)) = &**side;
            1 + linear_size(part)
        }
        _ => 1,
    }
}

/// A cotangent with the constructors of a value.
pub fn cotangent_of(value: &Value, number: &mut dyn FnMut() -> f64) -> Linear {
    match value {
        Value::Real(_) => Linear::Real(number()),
        Value::Pair(parts) => Linear::Pair(Some(Rc::new((cotangent_of(&parts.0, number), cotangent_of(&parts.1, number))))),
        Value::Left(part) => Linear::Sum(Some(Rc::new(Side::Left(cotangent_of(part, number))))),
        Value::Right(part) => Linear::Sum(Some(Rc::new(Side::Right(cotangent_of(part, number))))),
        _ => Linear::Unit,
    }
}

/// The sum, and the number of nodes that both have: that many steps.
pub fn plus(left: &Linear, right: &Linear) -> (Linear, u64) {
    match (left, right) {
        (Linear::Unit, Linear::Unit) => (Linear::Unit, 1),
        (Linear::Real(a), Linear::Real(b)) => (Linear::Real(a + b), 1),
        (Linear::Pair(None) | Linear::Sum(None), other) => (other.clone(), 1),
        (other, Linear::Pair(None) | Linear::Sum(None)) => (other.clone(), 1),
        (Linear::Pair(Some(a)), Linear::Pair(Some(b))) => {
            let ((first, c1), (second, c2)) = (plus(&a.0, &b.0), plus(&a.1, &b.1));
            (Linear::Pair(Some(Rc::new((first, second)))), 1 + c1 + c2)
        }
        (Linear::Sum(Some(a)), Linear::Sum(Some(b))) => match (&**a, &**b) {
            (Side::Left(a), Side::Left(b)) => {
                let (sum, cost) = plus(a, b);
                (Linear::Sum(Some(Rc::new(Side::Left(sum)))), 1 + cost)
            }
            (Side::Right(a), Side::Right(b)) => {
                let (sum, cost) = plus(a, b);
                (Linear::Sum(Some(Rc::new(Side::Right(sum)))), 1 + cost)
            }
            _ => panic!("cotangents with different constructors are added"),
        },
        _ => panic!("cotangents of different types are added: {left:?} and {right:?}"),
    }
}

fn zero(ty: &Type) -> Linear {
    match ty {
        Type::Unit | Type::Int => Linear::Unit,
        Type::Real => Linear::Real(0.0),
        Type::Pair(_) => Linear::Pair(None),
        Type::Sum(_) => Linear::Sum(None),
    }
}

fn primitive(op: Primitive, value: Value) -> Value {
    let linear = |number| Value::Linear(Linear::Real(number));
    match (op, value) {
        (Primitive::Lit(number), _) => Value::Real(number),
        (Primitive::Neg, Value::Real(a)) => Value::Real(-a),
        (Primitive::IntNeg, Value::Int(a)) => Value::Int(a.wrapping_neg()),
        (Primitive::Sign, Value::Real(a)) => {
            let unit = || Rc::new(Value::Unit);
            match a {
                a if a < 0.0 => Value::Left(Rc::new(Value::Left(unit()))),
                a if a > 0.0 => Value::Left(Rc::new(Value::Right(unit()))),
                _ => Value::Right(unit()),
            }
        }
        (Primitive::LinearZero, _) => linear(0.0),
        (Primitive::LinearNeg, Value::Linear(Linear::Real(a))) => linear(-a),
        (op, Value::Pair(parts)) => match (op, &parts.0, &parts.1) {
            (Primitive::Add, Value::Real(a), Value::Real(b)) => Value::Real(a + b),
            (Primitive::Mul, Value::Real(a), Value::Real(b)) => Value::Real(a * b),
            (Primitive::IntAdd, Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_add(*b)),
            (Primitive::IntMul, Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_mul(*b)),
            (Primitive::LinearScale, Value::Linear(Linear::Real(a)), Value::Real(b)) => linear(a * b),
            (op, a, b) => panic!("{op:?} of {a:?} and {b:?}"),
        },
        (op, value) => panic!("{op:?} of {value:?}"),
    }
}

fn as_linear(value: Value) -> Linear {
    match value {
        Value::Linear(linear) => linear,
        other => panic!("{other:?} is no cotangent"),
    }
}

/// The body of a function at an argument.
fn call(function: &Value, arg: Value) -> (Value, u64) {
    let Value::Closure(param, environment, body) = function else { panic!("{function:?} is no function") };
    evaluate(&environment.with(*param, arg), body)
}

/// Runs a computation on an environment of cotangents.
pub fn run(computation: &Value, state: &mut Vec<(Name, Linear)>) -> (Value, u64) {
    let Value::Computation(computation) = computation else { panic!("{computation:?} is no computation") };
    match &**computation {
        Computation::Return(value) => (value.clone(), 1),
        Computation::Bind(first, function) => {
            let (value, c1) = run(first, state);
            let (second, c2) = call(function, value);
            let (value, c3) = run(&second, state);
            (value, 1 + c1 + c2 + c3)
        }
        Computation::One(name, linear) => {
            let cell = state.iter_mut().rev().find(|(known, _)| known == name).expect("a variable of the environment");
            let (sum, cost) = plus(linear, &cell.1);
            cell.1 = sum;
            (Value::Unit, 1 + cost)
        }
        Computation::Scope(name, start, inner) => {
            state.push((*name, start.clone()));
            let (value, cost) = run(inner, state);
            let (_, end) = state.pop().expect("the variable of the scope");
            (Value::Pair(Rc::new((Value::Linear(end), value))), 1 + cost)
        }
    }
}

/// The value of a term and the number of steps.
pub fn evaluate(environment: &Environment, term: &Term) -> (Value, u64) {
    let at = |term: &Term| evaluate(environment, term);
    match term {
        Term::Var(name) => (environment.get(*name), 1),
        Term::Let(name, _, value, body) => {
            let (value, c1) = at(value);
            let (result, c2) = evaluate(&environment.with(*name, value), body);
            (result, 1 + c1 + c2)
        }
        Term::Primitive(op, args) => {
            let (value, cost) = at(args);
            (primitive(*op, value), 1 + cost)
        }
        Term::Unit => (Value::Unit, 1),
        Term::Pair(left, right, _) => {
            let ((left, c1), (right, c2)) = (at(left), at(right));
            (Value::Pair(Rc::new((left, right))), 1 + c1 + c2)
        }
        Term::First(of, _) | Term::Second(of, _) => {
            let (Value::Pair(parts), cost) = at(of) else { panic!("a projection of no pair") };
            let part = if matches!(term, Term::First(..)) { &parts.0 } else { &parts.1 };
            (part.clone(), 1 + cost)
        }
        Term::Left(of, _) => {
            let (value, cost) = at(of);
            (Value::Left(Rc::new(value)), 1 + cost)
        }
        Term::Right(of, _) => {
            let (value, cost) = at(of);
            (Value::Right(Rc::new(value)), 1 + cost)
        }
        Term::Case(of, _, left, right) => {
            let (value, c1) = at(of);
            let (arm, part) = match value {
                Value::Left(part) => (left, part),
                Value::Right(part) => (right, part),
                other => panic!("a choice on {other:?}"),
            };
            let (result, c2) = evaluate(&environment.with(arm.0, (*part).clone()), &arm.1);
            (result, 1 + c1 + c2)
        }
        Term::Lambda(param, captured, body) => {
            let kept = captured.iter().rev().fold(Environment::default(), |kept, name| kept.with(*name, environment.get(*name)));
            (Value::Closure(*param, kept, Rc::clone(body)), 1 + captured.len() as u64)
        }
        Term::Apply(function, arg) => {
            let ((function, c1), (arg, c2)) = (at(function), at(arg));
            let (result, c3) = call(&function, arg);
            (result, 1 + c1 + c2 + c3)
        }
        Term::Return(of) => {
            let (value, cost) = at(of);
            (Value::Computation(Rc::new(Computation::Return(value))), 1 + cost)
        }
        Term::Bind(first, function) => {
            let ((first, c1), (function, c2)) = (at(first), at(function));
            (Value::Computation(Rc::new(Computation::Bind(first, function))), 1 + c1 + c2)
        }
        Term::One(name, of) => {
            let (value, cost) = at(of);
            (Value::Computation(Rc::new(Computation::One(*name, as_linear(value)))), 1 + cost)
        }
        Term::Scope(name, start, inner) => {
            let ((start, c1), (inner, c2)) = (at(start), at(inner));
            (Value::Computation(Rc::new(Computation::Scope(*name, as_linear(start), inner))), 1 + c1 + c2)
        }
        Term::Run(computation, names, start) => {
            let ((computation, c1), (start, c2)) = (at(computation), at(start));
            let (mut state, mut rest) = (Vec::new(), start);
            for name in names {
                let Value::Pair(parts) = &rest else { panic!("too few cotangents") };
                state.push((*name, as_linear(parts.0.clone())));
                let next = parts.1.clone();
                rest = next;
            }
            let (value, c3) = run(&computation, &mut state);
            let all =
                state.into_iter().rev().fold(Value::Unit, |all, (_, linear)| Value::Pair(Rc::new((Value::Linear(linear), all))));
            (Value::Pair(Rc::new((value, all))), 1 + c1 + c2 + 1 + names.len() as u64 + c3)
        }
        _ => linear(environment, term),
    }
}

/// The operations on cotangents.
fn linear(environment: &Environment, term: &Term) -> (Value, u64) {
    let at = |term: &Term| {
        let (value, cost) = evaluate(environment, term);
        (as_linear(value), cost)
    };
    let (value, cost) = match term {
        Term::LinearPair(left, right) => {
            let ((left, c1), (right, c2)) = (at(left), at(right));
            (Linear::Pair(Some(Rc::new((left, right)))), 1 + c1 + c2)
        }
        Term::LinearPairZero => (Linear::Pair(None), 1),
        Term::LinearSumZero => (Linear::Sum(None), 1),
        Term::LinearFirst(of, ty) | Term::LinearSecond(of, ty) => match at(of) {
            (Linear::Pair(Some(parts)), cost) => {
                let part = if matches!(term, Term::LinearFirst(..)) { &parts.0 } else { &parts.1 };
                (part.clone(), 1 + cost)
            }
            // One step more for the zero.
            (_, cost) => (zero(ty), 2 + cost),
        },
        Term::LinearLeft(of) => {
            let (part, cost) = at(of);
            (Linear::Sum(Some(Rc::new(Side::Left(part)))), 1 + cost)
        }
        Term::LinearRight(of) => {
            let (part, cost) = at(of);
            (Linear::Sum(Some(Rc::new(Side::Right(part)))), 1 + cost)
        }
        Term::CastLeft(of, ty) | Term::CastRight(of, ty) => match at(of) {
            (Linear::Sum(Some(side)), cost) => match (term, &*side) {
                (Term::CastLeft(..), Side::Left(part)) | (Term::CastRight(..), Side::Right(part)) => (part.clone(), 1 + cost),
                _ => panic!("a cotangent has another constructor than its value"),
            },
            (_, cost) => (zero(ty), 2 + cost),
        },
        _ => (Linear::Unit, 1),
    };
    (Value::Linear(value), cost)
}
