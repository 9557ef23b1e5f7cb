//! The transformation of figure 6.6, as section 6.10.4 writes it, with names instead of indices.

use crate::language::{Name, Primitive, Term, Type};
use std::rc::Rc;

/// `run (snd D[t] d) zeros`, where `d` is the variable `given`.
pub fn derivative(term: &Term, context: &[(Name, Type)], given: Name, fresh: &mut dyn FnMut() -> Name) -> Term {
    let whole = chad(term, fresh);
    let computation = apply(second(whole), Term::Var(given));
    let mut zeros = Term::Unit;
    for (_, ty) in context.iter().rev() {
        zeros = pair(zero(ty), zeros);
    }
    Term::Run(Rc::new(computation), context.iter().map(|(name, _)| *name).collect(), Rc::new(zeros))
}

fn zero(ty: &Type) -> Term {
    match ty {
        Type::Unit | Type::Int => Term::LinearUnit,
        Type::Real => Term::Primitive(Primitive::LinearZero, Rc::new(Term::LinearUnit)),
        Type::Pair(_) => Term::LinearPairZero,
        Type::Sum(_) => Term::LinearSumZero,
    }
}

// In the target only the costs of projections count, not their types.
fn first(term: Term) -> Term {
    Term::First(Rc::new(term), Type::Unit)
}

fn second(term: Term) -> Term {
    Term::Second(Rc::new(term), Type::Unit)
}

fn pair(left: Term, right: Term) -> Term {
    Term::Pair(Rc::new(left), Rc::new(right), Type::Unit)
}

fn apply(function: Term, arg: Term) -> Term {
    Term::Apply(Rc::new(function), Rc::new(arg))
}

fn lambda(param: Name, captured: &[Name], body: Term) -> Term {
    Term::Lambda(param, captured.to_vec(), Rc::new(body))
}

fn bind(name: Name, value: Term, body: Term) -> Term {
    Term::Let(name, Type::Unit, Rc::new(value), Rc::new(body))
}

fn linear_pair(left: Term, right: Term) -> Term {
    Term::LinearPair(Rc::new(left), Rc::new(right))
}

/// `let x = b in a >>= \_ -> x`
fn then(before: Term, after: Term, fresh: &mut dyn FnMut() -> Name) -> Term {
    let (x, ignored) = (fresh(), fresh());
    bind(x, after, Term::Bind(Rc::new(before), Rc::new(lambda(ignored, &[x], Term::Var(x)))))
}

/// `D[t]`: a pair of the value and the backpropagator.
fn chad(term: &Term, fresh: &mut dyn FnMut() -> Name) -> Term {
    match term {
        Term::Var(name) => {
            let d = fresh();
            pair(Term::Var(*name), lambda(d, &[], Term::One(*name, Rc::new(Term::Var(d)))))
        }
        Term::Let(name, ty, value, body) => {
            let p = fresh();
            let inner = under(*name, ty, p, chad(body, fresh), |cotangent| cotangent, fresh);
            bind(p, chad(value, fresh), bind(*name, first(Term::Var(p)), inner))
        }
        Term::Primitive(op, args) => {
            let p = fresh();
            let value = Term::Primitive(*op, Rc::new(first(Term::Var(p))));
            backwards(p, chad(args, fresh), value, fresh, |p, d, fresh| primitive(*op, first(p), d, fresh))
        }
        Term::Unit => pair(Term::Unit, lambda(fresh(), &[], Term::Return(Rc::new(Term::Unit)))),
        Term::Pair(left, right, Type::Pair(parts)) => {
            let (p, d) = (fresh(), fresh());
            let both = pair(chad(left, fresh), chad(right, fresh));
            let var = || Term::Var(p);
            let value = pair(first(first(var())), first(second(var())));
            let cotangent = Rc::new(Term::Var(d));
            let left_half = Term::LinearFirst(Rc::clone(&cotangent), parts.0.clone());
            let right_half = Term::LinearSecond(cotangent, parts.1.clone());
            let run = then(apply(second(first(var())), left_half), apply(second(second(var())), right_half), fresh);
            bind(p, both, pair(value, lambda(d, &[p], run)))
        }
        Term::First(of, Type::Pair(parts)) => {
            let p = fresh();
            let value = first(first(Term::Var(p)));
            backwards(p, chad(of, fresh), value, fresh, |_, d, _| linear_pair(d, zero(&parts.1)))
        }
        Term::Second(of, Type::Pair(parts)) => {
            let p = fresh();
            let value = second(first(Term::Var(p)));
            backwards(p, chad(of, fresh), value, fresh, |_, d, _| linear_pair(zero(&parts.0), d))
        }
        Term::Left(of, ty @ Type::Sum(parts)) => {
            let p = fresh();
            let value = Term::Left(Rc::new(first(Term::Var(p))), ty.clone());
            backwards(p, chad(of, fresh), value, fresh, |_, d, _| Term::CastLeft(Rc::new(d), parts.0.clone()))
        }
        Term::Right(of, ty @ Type::Sum(parts)) => {
            let p = fresh();
            let value = Term::Right(Rc::new(first(Term::Var(p))), ty.clone());
            backwards(p, chad(of, fresh), value, fresh, |_, d, _| Term::CastRight(Rc::new(d), parts.1.clone()))
        }
        Term::Case(of, ty @ Type::Sum(parts), left, right) => {
            let p = fresh();
            let inl = |cotangent| Term::LinearLeft(Rc::new(cotangent));
            let inr = |cotangent| Term::LinearRight(Rc::new(cotangent));
            let left_arm = under(left.0, &parts.0, p, chad(&left.1, fresh), inl, fresh);
            let right_arm = under(right.0, &parts.1, p, chad(&right.1, fresh), inr, fresh);
            let arms = ((left.0, Rc::new(left_arm)), (right.0, Rc::new(right_arm)));
            let case = Term::Case(Rc::new(first(Term::Var(p))), ty.clone(), arms.0, arms.1);
            bind(p, chad(of, fresh), case)
        }
        // Not in the source.
        other => other.clone(),
    }
}

/// `let p = D[t] in (value, \d. snd p (make p d))`
fn backwards(
    p: Name,
    inner: Term,
    value: Term,
    fresh: &mut dyn FnMut() -> Name,
    make: impl FnOnce(Term, Term, &mut dyn FnMut() -> Name) -> Term,
) -> Term {
    let d = fresh();
    let cotangent = make(Term::Var(p), Term::Var(d), fresh);
    bind(p, inner, pair(value, lambda(d, &[p], apply(second(Term::Var(p)), cotangent))))
}

/// A body under a variable whose cotangent goes to the backpropagator in `p`.
fn under(
    name: Name,
    ty: &Type,
    p: Name,
    body: Term,
    cotangent: impl FnOnce(Term) -> Term,
    fresh: &mut dyn FnMut() -> Name,
) -> Term {
    let (q, d, r) = (fresh(), fresh(), fresh());
    let run = Term::Scope(name, Rc::new(zero(ty)), Rc::new(apply(second(Term::Var(q)), Term::Var(d))));
    let after = lambda(r, &[p], apply(second(Term::Var(p)), cotangent(first(Term::Var(r)))));
    let back = lambda(d, &[q, p], Term::Bind(Rc::new(run), Rc::new(after)));
    bind(q, body, pair(first(Term::Var(q)), back))
}

/// The cotangent of the operand.
fn primitive(op: Primitive, operand: Term, d: Term, fresh: &mut dyn FnMut() -> Name) -> Term {
    let (p, e) = (fresh(), fresh());
    let (p_var, e_var) = (|| Term::Var(p), || Term::Var(e));
    let scale = |by: Term| Term::Primitive(Primitive::LinearScale, Rc::new(pair(e_var(), by)));
    let result = match op {
        Primitive::Add => linear_pair(e_var(), e_var()),
        Primitive::Mul => linear_pair(scale(second(p_var())), scale(first(p_var()))),
        Primitive::Neg => Term::Primitive(Primitive::LinearNeg, Rc::new(e_var())),
        Primitive::Sign => Term::Primitive(Primitive::LinearZero, Rc::new(Term::LinearUnit)),
        Primitive::IntAdd | Primitive::IntMul => linear_pair(Term::LinearUnit, Term::LinearUnit),
        _ => Term::LinearUnit,
    };
    bind(p, operand, bind(e, d, result))
}
