//! Terms of the source and of the target language of chapter 6, and the source as the compiler reads it.

use std::rc::Rc;

pub type Name = u32;

#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Unit,
    Int,
    Real,
    Pair(Rc<(Type, Type)>),
    Sum(Rc<(Type, Type)>),
}

impl Type {
    pub fn pair(left: Type, right: Type) -> Type {
        Type::Pair(Rc::new((left, right)))
    }

    pub fn sum(left: Type, right: Type) -> Type {
        Type::Sum(Rc::new((left, right)))
    }

    /// The result of `sign`: negative or positive, or neither.
    pub fn sign() -> Type {
        Type::sum(Type::sum(Type::Unit, Type::Unit), Type::Unit)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Primitive {
    Add,
    Mul,
    Neg,
    Lit(f64),
    IntAdd,
    IntMul,
    IntNeg,
    Sign,
    // Only in the target: on cotangents of reals.
    LinearZero,
    LinearScale,
    LinearNeg,
}

/// Where the transformation needs a type, the term has it.
#[derive(Clone, Debug)]
pub enum Term {
    Var(Name),
    Let(Name, Type, Rc<Term>, Rc<Term>),
    Primitive(Primitive, Rc<Term>),
    Unit,
    /// Of this type.
    Pair(Rc<Term>, Rc<Term>, Type),
    /// Of a pair of this type.
    First(Rc<Term>, Type),
    Second(Rc<Term>, Type),
    /// Into this sum type.
    Left(Rc<Term>, Type),
    Right(Rc<Term>, Type),
    /// Of a sum of this type.
    Case(Rc<Term>, Type, (Name, Rc<Term>), (Name, Rc<Term>)),

    // Only in the target.
    /// With the variables it captures.
    Lambda(Name, Vec<Name>, Rc<Term>),
    Apply(Rc<Term>, Rc<Term>),
    Return(Rc<Term>),
    Bind(Rc<Term>, Rc<Term>),
    /// A computation, and the cotangents of the environment of these variables before it.
    Run(Rc<Term>, Vec<Name>, Rc<Term>),
    One(Name, Rc<Term>),
    Scope(Name, Rc<Term>, Rc<Term>),
    LinearUnit,
    LinearPair(Rc<Term>, Rc<Term>),
    LinearPairZero,
    LinearFirst(Rc<Term>, Type),
    LinearSecond(Rc<Term>, Type),
    LinearLeft(Rc<Term>),
    LinearRight(Rc<Term>),
    LinearSumZero,
    CastLeft(Rc<Term>, Type),
    CastRight(Rc<Term>, Type),
}

/// An entry point `f` that gives the gradient of a term in real variables.
pub fn entry(context: &[(Name, Type)], term: &Term) -> String {
    let params: Vec<String> = context.iter().map(|(name, _)| format!("(x{name}: f64)")).collect();
    let names: Vec<String> = context.iter().map(|(name, _)| format!("x{name}")).collect();
    let (params, names) = (params.join(" "), names.join(", "));
    format!(
        "type sign = {}
def sign (x: f64): sign = if x < 0 then #inl (#inl ()) else if x > 0 then #inl (#inr ()) else #inr ()
entry f {params} = vjp (\\({names}) -> {}) ({names}) 1",
        type_text(&Type::sign()),
        text(term)
    )
}

fn type_text(ty: &Type) -> String {
    match ty {
        Type::Unit => String::from("()"),
        Type::Int => String::from("i64"),
        Type::Real => String::from("f64"),
        Type::Pair(parts) => format!("({}, {})", type_text(&parts.0), type_text(&parts.1)),
        Type::Sum(parts) => format!("(#inl {} | #inr {})", type_text(&parts.0), type_text(&parts.1)),
    }
}

fn text(term: &Term) -> String {
    match term {
        Term::Var(name) => format!("x{name}"),
        Term::Let(name, ty, value, body) => format!("(let x{name}: {} = {} in {})", type_text(ty), text(value), text(body)),
        Term::Primitive(Primitive::Lit(number), _) => format!("({number:?}f64)"),
        Term::Primitive(op, args) => {
            let binary = |op: &str| format!("(let p = {} in p.0 {op} p.1)", text(args));
            match op {
                Primitive::Add | Primitive::IntAdd => binary("+"),
                Primitive::Mul | Primitive::IntMul => binary("*"),
                Primitive::Sign => format!("(sign {})", text(args)),
                _ => format!("(-({}))", text(args)),
            }
        }
        Term::Unit => String::from("()"),
        Term::Pair(left, right, _) => format!("({}, {})", text(left), text(right)),
        Term::First(pair, _) => format!("(let p = {} in p.0)", text(pair)),
        Term::Second(pair, _) => format!("(let p = {} in p.1)", text(pair)),
        Term::Left(part, ty) => format!("(#inl {} : {})", text(part), type_text(ty)),
        Term::Right(part, ty) => format!("(#inr {} : {})", text(part), type_text(ty)),
        Term::Case(of, ty, left, right) => format!(
            "(match ({} : {}) case #inl x{} -> {} case #inr x{} -> {})",
            text(of),
            type_text(ty),
            left.0,
            text(&left.1),
            right.0,
            text(&right.1)
        ),
        _ => String::from("()"),
    }
}
