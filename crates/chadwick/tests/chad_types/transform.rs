//! The source language of the definition, and its derivatives in terms of the hidden types alone (sections 7.4 and 7.5): the meaning of a term at
//! primals of its variables is its primal and a linear function.

use crate::hidden::{Linear, LinearFunction, Type, Value};
use std::rc::Rc;

#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Add,
    Multiply,
    Sine,
}

#[derive(Clone, Debug)]
pub enum Term {
    /// Counted from the outermost variable.
    Variable(usize),
    Let(Rc<Term>, Rc<Term>),
    Constant(f64),
    Operation(Operation, Vec<Term>),
    Unit,
    Pair(Rc<Term>, Rc<Term>),
    First(Rc<Term>),
    Second(Rc<Term>),
    /// Of an argument of this type, with a result of that type.
    Lambda(Type, Type, Rc<Term>),
    Apply(Rc<Term>, Rc<Term>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Direction {
    Forward,
    Reverse,
}

impl Direction {
    /// `D2`
    pub fn linear(self, ty: &Type) -> Linear {
        match ty {
            Type::Real => Linear::Real,
            Type::Unit => Linear::Unit,
            Type::Pair(parts) => Linear::pair(self.linear(&parts.0), self.linear(&parts.1)),
            Type::Function(parts) => {
                let results = Rc::new(self.linear(&parts.1));
                match self {
                    Direction::Forward => Linear::Power(parts.0.clone(), results),
                    Direction::Reverse => Linear::Copower(parts.0.clone(), results),
                }
            }
        }
    }

    /// `D2` of a context, the last variable outermost.
    pub fn context(self, types: &[Type]) -> Linear {
        types.iter().fold(Linear::Unit, |before, ty| Linear::pair(before, self.linear(ty)))
    }
}

/// A place in a program: the variables in scope, and their primals.
#[derive(Clone)]
pub struct Scope {
    pub direction: Direction,
    types: Vec<Type>,
    primals: Vec<Value>,
}

impl Scope {
    pub fn new(direction: Direction) -> Scope {
        Scope { direction, types: Vec::new(), primals: Vec::new() }
    }

    pub fn with(&self, ty: Type, primal: Value) -> Scope {
        let mut scope = self.clone();
        scope.types.push(ty);
        scope.primals.push(primal);
        scope
    }

    fn context(&self) -> Linear {
        self.direction.context(&self.types)
    }

    pub fn type_of(&self, term: &Term) -> Type {
        match term {
            Term::Variable(at) => self.types[*at].clone(),
            Term::Let(bound, body) => self.with(self.type_of(bound), Value::Unit).type_of(body),
            Term::Constant(_) | Term::Operation(..) => Type::Real,
            Term::Unit => Type::Unit,
            Term::Pair(left, right) => Type::Pair(Rc::new((self.type_of(left), self.type_of(right)))),
            Term::First(pair) => self.parts(pair).0,
            Term::Second(pair) => self.parts(pair).1,
            Term::Lambda(from, to, _) => Type::Function(Rc::new((from.clone(), to.clone()))),
            Term::Apply(function, _) => self.parts(function).1,
        }
    }

    /// The types in a pair or a function.
    fn parts(&self, term: &Term) -> (Type, Type) {
        match self.type_of(term) {
            Type::Pair(parts) | Type::Function(parts) => (*parts).clone(),
            Type::Real | Type::Unit => panic!("neither a pair nor a function"),
        }
    }

    /// A variable in its context: a projection from tangents of the context, or an injection into cotangents.
    fn variable(&self, at: usize) -> LinearFunction {
        let own = self.direction.linear(&self.types[at]);
        let parts = |until: usize| (self.direction.context(&self.types[..until]), self.direction.linear(&self.types[until]));
        let (before, _) = parts(at);
        let inside = at + 1..self.types.len();
        match self.direction {
            Direction::Forward => inside
                .rev()
                .map(parts)
                .map(|(before, last)| LinearFunction::first(before, last))
                .fold(LinearFunction::identity(self.context()), |function, next| function.then(&next))
                .then(&LinearFunction::second(before, own)),
            Direction::Reverse => {
                let nothing = LinearFunction::zero(own.clone(), before);
                let one = LinearFunction::pair(&nothing, &LinearFunction::identity(own.clone()));
                inside.fold(one, |function, until| {
                    LinearFunction::pair(&function, &LinearFunction::zero(own.clone(), parts(until).1))
                })
            }
        }
    }

    /// The derivative of a body by its context, given that by its context and a variable inside, for something that makes the variable.
    fn bound(&self, of_variable: &LinearFunction, of_body: &LinearFunction, ty: &Type) -> LinearFunction {
        let (context, own) = (self.context(), self.direction.linear(ty));
        match self.direction {
            Direction::Forward => LinearFunction::pair(&LinearFunction::identity(context), of_variable).then(of_body),
            Direction::Reverse => {
                let outside = LinearFunction::first(context.clone(), own.clone());
                of_body.then(&outside.plus(&LinearFunction::second(context, own).then(of_variable)))
            }
        }
    }

    /// `D(t)`
    pub fn derivative(&self, term: &Term) -> (Value, LinearFunction) {
        let linear = |term: &Term| self.direction.linear(&self.type_of(term));
        let nothing = |ty: Linear| match self.direction {
            Direction::Forward => LinearFunction::zero(self.context(), ty),
            Direction::Reverse => LinearFunction::zero(ty, self.context()),
        };
        match term {
            Term::Variable(at) => (self.primals[*at].clone(), self.variable(*at)),
            Term::Constant(number) => (Value::Real(*number), nothing(Linear::Real)),
            Term::Unit => (Value::Unit, nothing(Linear::Unit)),
            Term::Let(bound, body) => {
                let ty = self.type_of(bound);
                let (primal, of_variable) = self.derivative(bound);
                let (result, of_body) = self.with(ty.clone(), primal).derivative(body);
                (result, self.bound(&of_variable, &of_body, &ty))
            }
            Term::Operation(operation, operands) => {
                let (values, derivatives): (Vec<Value>, Vec<LinearFunction>) =
                    operands.iter().map(|operand| self.derivative(operand)).unzip();
                let numbers: Vec<f64> = values.iter().map(Value::real).collect();
                let (value, partials) = match operation {
                    Operation::Add => (numbers[0] + numbers[1], vec![1.0, 1.0]),
                    Operation::Multiply => (numbers[0] * numbers[1], vec![numbers[1], numbers[0]]),
                    Operation::Sine => (numbers[0].sin(), vec![numbers[0].cos()]),
                };
                let through = derivatives.iter().zip(partials).map(|(derivative, partial)| match self.direction {
                    Direction::Forward => derivative.then(&LinearFunction::times(partial)),
                    Direction::Reverse => LinearFunction::times(partial).then(derivative),
                });
                (Value::Real(value), through.reduce(|left, right| left.plus(&right)).expect("an operand"))
            }
            Term::Pair(left, right) => {
                let types = (linear(left), linear(right));
                let ((a, of_a), (b, of_b)) = (self.derivative(left), self.derivative(right));
                let derivative = match self.direction {
                    Direction::Forward => LinearFunction::pair(&of_a, &of_b),
                    Direction::Reverse => {
                        let first = LinearFunction::first(types.0.clone(), types.1.clone()).then(&of_a);
                        first.plus(&LinearFunction::second(types.0, types.1).then(&of_b))
                    }
                };
                (Value::pair(a, b), derivative)
            }
            Term::First(pair) | Term::Second(pair) => {
                let is_first = matches!(term, Term::First(_));
                let (left, right) = self.parts(pair);
                let (left, right) = (self.direction.linear(&left), self.direction.linear(&right));
                let (value, of_pair) = self.derivative(pair);
                let (a, b) = value.parts();
                let derivative = match (self.direction, is_first) {
                    (Direction::Forward, true) => of_pair.then(&LinearFunction::first(left, right)),
                    (Direction::Forward, false) => of_pair.then(&LinearFunction::second(left, right)),
                    (Direction::Reverse, true) => {
                        let own = LinearFunction::identity(left.clone());
                        LinearFunction::pair(&own, &LinearFunction::zero(left, right)).then(&of_pair)
                    }
                    (Direction::Reverse, false) => {
                        let own = LinearFunction::identity(right.clone());
                        LinearFunction::pair(&LinearFunction::zero(right, left), &own).then(&of_pair)
                    }
                };
                (if is_first { a } else { b }, derivative)
            }
            Term::Lambda(from, to, body) => self.lambda(from, to, body),
            Term::Apply(function, argument) => {
                let (from, to) = self.parts(function);
                let result = self.direction.linear(&to);
                let ((function, of_function), (argument, of_argument)) = (self.derivative(function), self.derivative(argument));
                let (value, inner) = function.apply(&argument).parts();
                let inner = inner.linear_function();
                let derivative = match self.direction {
                    Direction::Forward => {
                        let captured = of_function.then(&LinearFunction::evaluate(argument, from, result));
                        captured.plus(&of_argument.then(&inner))
                    }
                    Direction::Reverse => {
                        let call = LinearFunction::singleton(argument, from, result).then(&of_function);
                        call.plus(&inner.then(&of_argument))
                    }
                };
                (value, derivative)
            }
        }
    }

    fn lambda(&self, from: &Type, to: &Type, body: &Rc<Term>) -> (Value, LinearFunction) {
        let (context, own) = (self.context(), self.direction.linear(from));
        let result = self.direction.linear(to);
        let both = {
            let (scope, from, body) = (self.clone(), from.clone(), Rc::clone(body));
            move |argument: &Value| scope.with(from.clone(), argument.clone()).derivative(&body)
        };
        // The half of the body's derivative that belongs to the argument, and that of what is captured.
        let of_argument: Rc<dyn Fn(&LinearFunction) -> LinearFunction> = {
            let (direction, context, own) = (self.direction, context.clone(), own.clone());
            Rc::new(move |inner| match direction {
                Direction::Forward => {
                    let still = LinearFunction::zero(own.clone(), context.clone());
                    LinearFunction::pair(&still, &LinearFunction::identity(own.clone())).then(inner)
                }
                Direction::Reverse => inner.then(&LinearFunction::second(context.clone(), own.clone())),
            })
        };
        let primal = {
            let both = both.clone();
            Value::Function(Rc::new(move |argument: &Value| {
                let (value, inner) = both(argument);
                Value::pair(value, Value::LinearFunction(of_argument(&inner)))
            }))
        };
        let outside = context.clone();
        let derivative = match self.direction {
            Direction::Forward => LinearFunction::swap(from.clone(), (context, result), move |argument| {
                let captured = LinearFunction::identity(outside.clone());
                LinearFunction::pair(&captured, &LinearFunction::zero(outside.clone(), own.clone())).then(&both(argument).1)
            }),
            Direction::Reverse => LinearFunction::fold(from.clone(), (result, context), move |argument| {
                both(argument).1.then(&LinearFunction::first(outside.clone(), own.clone()))
            }),
        };
        (primal, derivative)
    }
}
