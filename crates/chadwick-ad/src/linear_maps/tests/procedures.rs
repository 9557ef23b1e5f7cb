//! The typing of procedures, and the translation of each statement.

use super::super::procedure::{Callee, Names, Procedure, Scope, Statement, Type, Variable, translate};
use chadwick_core::{BinaryOp, Const, Prim, PrimOp, UnaryOp};

const REAL: Type = Type::Number(Prim::F64);
const MUL: Callee = Callee::Operation(PrimOp::Binary(BinaryOp::Mul, Prim::F64));
const SIN: Callee = Callee::Operation(PrimOp::Unary(UnaryOp::Sin, Prim::F64));

fn variables(count: usize) -> (Vec<Variable>, Names) {
    let mut names = Names::default();
    ((0..count).map(|_| names.fresh()).collect(), names)
}

fn check(statements: Vec<Statement>, scope: &[(Variable, Type)]) -> Result<Scope, String> {
    Procedure { statements }.check(&scope.iter().cloned().collect())
}

#[test]
fn every_variable_is_used_exactly_once() {
    let (v, _) = variables(8);
    let real = |variable: Variable| (variable, REAL);
    let square = |argument| Statement::Call { to: v[2], callee: SIN, argument };
    assert_eq!(check(vec![square(v[0])], &[real(v[0])]), Ok(Scope::from([real(v[2])])));
    let pair = Statement::Pair { to: v[2], left: v[0], right: v[0] };
    assert!(check(vec![pair], &[real(v[0])]).unwrap_err().contains("used twice"));
    assert!(check(vec![square(v[1])], &[real(v[0])]).unwrap_err().contains("not there"));
    assert!(
        check(vec![Statement::Const { to: v[0], value: Const::F64(1.0) }], &[real(v[0])]).unwrap_err().contains("bound twice")
    );
    // What is not used is left over, where whoever wants a result sees it.
    assert_eq!(check(vec![square(v[0])], &[real(v[0]), real(v[1])]), Ok(Scope::from([real(v[1]), real(v[2])])));
    assert_eq!(check(vec![Statement::Elim(v[0])], &[real(v[0])]), Ok(Scope::new()));
}

#[test]
fn statements_have_the_types_of_the_paper() {
    let (v, _) = variables(8);
    let both = Type::pair(REAL, REAL);
    let sum = Type::Sum(["inl".into(), "inr".into()], Box::new(REAL), Box::new(both.clone()));
    let one = |statement: Statement, ty: Type| check(vec![statement], &[(v[0], ty)]);
    assert_eq!(one(Statement::Dup { to: v[1], of: v[0] }, REAL), Ok(Scope::from([(v[1], both.clone())])));
    let split = Statement::Split { left: v[1], right: v[2], of: v[0] };
    assert_eq!(one(split.clone(), both.clone()), Ok(Scope::from([(v[1], REAL), (v[2], REAL)])));
    assert!(one(split, REAL).is_err());
    assert!(one(Statement::Call { to: v[1], callee: MUL, argument: v[0] }, REAL).is_err());
    let inject = |side| Statement::Inject { to: v[1], side, of: v[0], ty: sum.clone() };
    assert_eq!(one(inject(0), REAL), Ok(Scope::from([(v[1], sum.clone())])));
    assert!(one(inject(1), REAL).is_err());
    // Both branches must leave the same.
    let take = |own: Variable| {
        (own, Procedure { statements: vec![Statement::Elim(own), Statement::Const { to: v[5], value: Const::F64(1.0) }] })
    };
    let case = |left, right| Statement::Case { of: v[0], branches: Box::new([left, right]) };
    assert_eq!(one(case(take(v[3]), take(v[4])), sum.clone()), Ok(Scope::from([(v[5], REAL)])));
    let forgets = (v[4], Procedure { statements: vec![Statement::Const { to: v[5], value: Const::F64(1.0) }] });
    assert!(one(case(take(v[3]), forgets), sum).unwrap_err().contains("different variables"));
}

/// `y = x * sin x`, whose translations are those of figure 23.
#[test]
fn statements_are_translated_one_by_one() {
    let (v, mut names) = variables(7);
    let procedure = Procedure {
        statements: vec![
            Statement::Dup { to: v[1], of: v[0] },
            Statement::Split { left: v[2], right: v[3], of: v[1] },
            Statement::Call { to: v[4], callee: SIN, argument: v[3] },
            Statement::Pair { to: v[5], left: v[2], right: v[4] },
            Statement::Call { to: v[6], callee: MUL, argument: v[5] },
        ],
    };
    let scope = Scope::from([(v[0], REAL)]);
    let translated = translate(&procedure, &scope, &mut names, &|_| None).expect("translated");
    assert_eq!(
        translated.forward.to_string(),
        "x1 = Dup x0; (x2, x3) = x1; x7 = Call rf$f64.sin x3; (x4, x8) = x7; x5 = (x2, x4); x10 = Call rf$f64.mul x5; (x6, x11) = x10"
    );
    assert_eq!(
        translated.reverse.to_string(),
        "x12 = (d6, x11); d5 = Call rr$f64.mul x12; (d2, d4) = d5; x9 = (d4, x8); d3 = Call rr$f64.sin x9; d1 = (d2, d3); d0 = Call add d1"
    );
    let mut given: Scope = translated.tapes.iter().cloned().collect();
    given.insert(v[6].cotangent(), REAL);
    assert_eq!(translated.reverse.check(&given), Ok(Scope::from([(v[0].cotangent(), REAL)])));
}

#[test]
fn a_case_runs_the_branch_backwards_that_ran_forwards() {
    let (v, mut names) = variables(4);
    let sum = Type::Sum(["inl".into(), "inr".into()], Box::new(REAL), Box::new(REAL));
    let branch = |own: Variable, callee: Callee| {
        (own, Procedure { statements: vec![Statement::Call { to: v[3], callee, argument: own }] })
    };
    let negate = Callee::Operation(PrimOp::Unary(UnaryOp::Negate, Prim::F64));
    let case = Statement::Case { of: v[0], branches: Box::new([branch(v[1], SIN), branch(v[2], negate)]) };
    let scope = Scope::from([(v[0], sum.clone())]);
    let procedure = Procedure { statements: vec![case] };
    let translated = translate(&procedure, &scope, &mut names, &|_| None).expect("translated");
    // The sine keeps its operand, the negation nothing.
    let tape = Type::Sum(["inl".into(), "inr".into()], Box::new(REAL), Box::new(Type::Unit));
    assert_eq!(translated.tapes.iter().map(|(_, ty)| ty.clone()).collect::<Vec<_>>(), [tape]);
    let mut left = translated.forward.check(&scope).expect("F checks");
    assert_eq!(left.remove(&v[3]), Some(REAL));
    left.insert(v[3].cotangent(), REAL);
    assert_eq!(translated.reverse.check(&left), Ok(Scope::from([(v[0].cotangent(), sum)])));
}
