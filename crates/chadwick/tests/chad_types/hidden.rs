//! The hidden types of the definition's target language (Vákár and Smeding, figure 8): linear functions, and copowers.
//!
//! A linear function is a function that keeps zero and sums (a subtype of functions), a copower a list of pairs of which neither the order, nor
//! pairs with zero, nor how pairs with one first part are grouped can be seen (a quotient of lists). Nothing outside of this file can look into either, so
//! whatever is built of these operations is linear.

use std::rc::Rc;

/// The types of primals.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Real,
    Unit,
    Pair(Rc<(Type, Type)>),
    Function(Rc<(Type, Type)>),
}

/// The types of cotangents and tangents: commutative monoids.
#[derive(Clone, Debug, PartialEq)]
pub enum Linear {
    Real,
    Unit,
    Pair(Rc<(Linear, Linear)>),
    /// Functions from primals, added at each argument.
    Power(Type, Rc<Linear>),
    /// `!τ ⊗ σ`
    Copower(Type, Rc<Linear>),
}

pub type Function = Rc<dyn Fn(&Value) -> Value>;

#[derive(Clone)]
pub enum Value {
    Real(f64),
    Unit,
    Pair(Rc<(Value, Value)>),
    Function(Function),
    LinearFunction(LinearFunction),
    Copower(Copower),
}

#[derive(Clone)]
pub struct LinearFunction {
    from: Linear,
    to: Linear,
    run: Function,
}

#[derive(Clone)]
pub struct Copower {
    pairs: Rc<Vec<(Value, Value)>>,
}

impl Linear {
    pub fn pair(left: Linear, right: Linear) -> Linear {
        Linear::Pair(Rc::new((left, right)))
    }
}

impl Value {
    pub fn pair(left: Value, right: Value) -> Value {
        Value::Pair(Rc::new((left, right)))
    }

    pub fn real(&self) -> f64 {
        if let Value::Real(number) = self { *number } else { panic!("a number is needed") }
    }

    pub fn parts(&self) -> (Value, Value) {
        if let Value::Pair(parts) = self { (**parts).clone() } else { panic!("a pair is needed") }
    }

    pub fn apply(&self, argument: &Value) -> Value {
        if let Value::Function(function) = self { function(argument) } else { panic!("a function is needed") }
    }

    pub fn linear_function(&self) -> LinearFunction {
        if let Value::LinearFunction(function) = self { function.clone() } else { panic!("a linear function is needed") }
    }

    fn pairs(&self) -> &[(Value, Value)] {
        if let Value::Copower(copower) = self { &copower.pairs } else { panic!("a copower is needed") }
    }
}

/// `0` at a type.
pub fn zero(ty: &Linear) -> Value {
    match ty {
        Linear::Real => Value::Real(0.0),
        Linear::Unit => Value::Unit,
        Linear::Pair(parts) => Value::pair(zero(&parts.0), zero(&parts.1)),
        Linear::Power(_, results) => {
            let results = Rc::clone(results);
            Value::Function(Rc::new(move |_| zero(&results)))
        }
        Linear::Copower(..) => Value::Copower(Copower { pairs: Rc::default() }),
    }
}

/// `+` at a type.
pub fn plus(ty: &Linear, left: &Value, right: &Value) -> Value {
    match ty {
        Linear::Real => Value::Real(left.real() + right.real()),
        Linear::Unit => Value::Unit,
        Linear::Pair(parts) => {
            let ((a, b), (c, d)) = (left.parts(), right.parts());
            Value::pair(plus(&parts.0, &a, &c), plus(&parts.1, &b, &d))
        }
        Linear::Power(_, results) => {
            let (results, left, right) = (Rc::clone(results), left.clone(), right.clone());
            Value::Function(Rc::new(move |at| plus(&results, &left.apply(at), &right.apply(at))))
        }
        Linear::Copower(..) => {
            let pairs = [left.pairs(), right.pairs()].concat();
            Value::Copower(Copower { pairs: Rc::new(pairs) })
        }
    }
}

impl LinearFunction {
    fn new(from: Linear, to: Linear, run: impl Fn(&Value) -> Value + 'static) -> LinearFunction {
        LinearFunction { from, to, run: Rc::new(run) }
    }

    pub fn from(&self) -> &Linear {
        &self.from
    }

    pub fn to(&self) -> &Linear {
        &self.to
    }

    /// Its application: all that can be seen of it.
    pub fn at(&self, value: &Value) -> Value {
        (self.run)(value)
    }

    /// `lop(x; -)`: the linear operation on numbers, by which the derivatives of all others are made.
    pub fn times(factor: f64) -> LinearFunction {
        LinearFunction::new(Linear::Real, Linear::Real, move |value| Value::Real(factor * value.real()))
    }

    pub fn zero(from: Linear, to: Linear) -> LinearFunction {
        let ty = to.clone();
        LinearFunction::new(from, to, move |_| zero(&ty))
    }

    pub fn plus(&self, other: &LinearFunction) -> LinearFunction {
        assert!(self.from == other.from && self.to == other.to, "sums are of functions of one type");
        let (left, right, ty) = (self.clone(), other.clone(), self.to.clone());
        LinearFunction::new(self.from.clone(), self.to.clone(), move |value| plus(&ty, &left.at(value), &right.at(value)))
    }

    pub fn identity(ty: Linear) -> LinearFunction {
        LinearFunction::new(ty.clone(), ty, Value::clone)
    }

    /// `t ;ℓ s`
    pub fn then(&self, next: &LinearFunction) -> LinearFunction {
        assert_eq!(self.to, next.from, "the next function takes what the first one gives");
        let (first, second) = (self.clone(), next.clone());
        LinearFunction::new(self.from.clone(), next.to.clone(), move |value| second.at(&first.at(value)))
    }

    /// `lfst`
    pub fn first(left: Linear, right: Linear) -> LinearFunction {
        LinearFunction::new(Linear::pair(left.clone(), right), left, |value| value.parts().0)
    }

    /// `lsnd`
    pub fn second(left: Linear, right: Linear) -> LinearFunction {
        LinearFunction::new(Linear::pair(left, right.clone()), right, |value| value.parts().1)
    }

    /// `lpair`
    pub fn pair(left: &LinearFunction, right: &LinearFunction) -> LinearFunction {
        assert_eq!(left.from, right.from, "both take the same");
        let to = Linear::pair(left.to.clone(), right.to.clone());
        let (first, second) = (left.clone(), right.clone());
        LinearFunction::new(left.from.clone(), to, move |value| Value::pair(first.at(value), second.at(value)))
    }

    /// `lswap t`, for `t : τ → LFun(σ, ρ)`
    pub fn swap(
        of: Type,
        (from, to): (Linear, Linear),
        make: impl Fn(&Value) -> LinearFunction + Clone + 'static,
    ) -> LinearFunction {
        let power = Linear::Power(of, Rc::new(to.clone()));
        let expected = (from.clone(), to);
        LinearFunction::new(from, power, move |value| {
            let (value, make, expected) = (value.clone(), make.clone(), expected.clone());
            Value::Function(Rc::new(move |at| checked(make(at), &expected).at(&value)))
        })
    }

    /// `leval_t : LFun(τ → σ, σ)`
    pub fn evaluate(at: Value, of: Type, to: Linear) -> LinearFunction {
        LinearFunction::new(Linear::Power(of, Rc::new(to.clone())), to, move |function| function.apply(&at))
    }

    /// `{(t, -)} : LFun(σ, Copower(τ, σ))`
    pub fn singleton(at: Value, of: Type, from: Linear) -> LinearFunction {
        let copower = Linear::Copower(of, Rc::new(from.clone()));
        LinearFunction::new(from, copower, move |value| {
            Value::Copower(Copower { pairs: Rc::new(vec![(at.clone(), value.clone())]) })
        })
    }

    /// `lcopowfold t : LFun(Copower(τ, σ), ρ)`, for `t : τ → LFun(σ, ρ)`
    pub fn fold(of: Type, (from, to): (Linear, Linear), make: impl Fn(&Value) -> LinearFunction + 'static) -> LinearFunction {
        let copower = Linear::Copower(of, Rc::new(from.clone()));
        let (expected, ty) = ((from, to.clone()), to.clone());
        LinearFunction::new(copower, to, move |bag| {
            let each = bag.pairs().iter().map(|(at, value)| checked(make(at), &expected).at(value));
            each.fold(zero(&ty), |sum, value| plus(&ty, &sum, &value))
        })
    }
}

fn checked(function: LinearFunction, (from, to): &(Linear, Linear)) -> LinearFunction {
    assert!(function.from == *from && function.to == *to, "a family of functions has one type");
    function
}
