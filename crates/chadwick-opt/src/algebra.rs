//! Laws of the primitive operations that hold for every value, bit for bit, a NaN's payload and the sign of a cotangent's zero aside.

use chadwick_core::prim::eval;
use chadwick_core::{Atom, BinaryOp, CompareOp, Const, Prim, PrimOp, UnaryOp};

/// What an operation is, seen through its operands.
pub enum Simpler {
    Atom(Atom),
    Prim(PrimOp, Vec<Atom>),
}

/// The primitive operation that defines an atom.
type Definition<'d> = dyn Fn(&Atom) -> Option<(PrimOp, Vec<Atom>)> + 'd;

/// A simpler form of the operation, if there is one.
pub fn simplify(op: PrimOp, args: &[Atom], definition: &Definition<'_>) -> Option<Simpler> {
    let constants: Option<Vec<Const>> = args.iter().map(constant).collect();
    if let Some(constants) = constants {
        return eval(op, &constants).ok().map(|value| Simpler::Atom(Atom::Const(value)));
    }
    match (op, args) {
        (PrimOp::Convert { from, to }, [x]) if from == to => Some(Simpler::Atom(x.clone())),
        (PrimOp::Unary(UnaryOp::Negate, _), [x]) => match definition(x)? {
            (PrimOp::Unary(UnaryOp::Negate, _), inner) => inner.into_iter().next().map(Simpler::Atom),
            _ => None,
        },
        (PrimOp::Unary(UnaryOp::Not, Prim::Bool), [x]) => match definition(x)? {
            (PrimOp::Unary(UnaryOp::Not, _), inner) => inner.into_iter().next().map(Simpler::Atom),
            _ => None,
        },
        (PrimOp::Compare(op, prim), [x, y]) if x == y && !prim.is_float() => {
            Some(Simpler::Atom(Atom::bool(op != CompareOp::Less)))
        }
        (PrimOp::Binary(op, prim), [x, y]) => binary(op, prim, x, y, definition),
        _ => None,
    }
}

fn binary(op: BinaryOp, prim: Prim, x: &Atom, y: &Atom, definition: &Definition<'_>) -> Option<Simpler> {
    let is = |atom: &Atom, value: Const| matches!(atom, Atom::Const(constant) if *constant == value);
    let (zero, one) = (Const::zero(prim), Const::one(prim));
    let exact = !prim.is_float();
    let atom = |atom: &Atom| Some(Simpler::Atom(atom.clone()));
    let constant = |value: Const| Some(Simpler::Atom(Atom::Const(value)));
    // `x + 0` is not `x` for floats: it loses the sign of a zero. `x + -0` is.
    let nothing = |atom: &Atom| if exact { is(atom, zero) } else { is(atom, Const::negative_zero(prim)) };
    // The sign of a cotangent that is zero says nothing.
    let nothing_to =
        |atom: &Atom, zero_like: &Atom| nothing(zero_like) || (is(zero_like, zero) && is_linear(atom, definition, 4));
    let cancelled = match op {
        BinaryOp::Add if exact => whole_of_difference(x, y, definition),
        BinaryOp::Sub if exact => rest_of_sum(x, y, definition),
        _ => None,
    };
    if let Some(rest) = cancelled {
        return atom(&rest);
    }
    if let Some(simpler) = one_offset(op, prim, x, y, definition) {
        return Some(simpler);
    }
    match op {
        BinaryOp::Add if nothing_to(x, y) || (is(y, zero) && is_no_negative_zero(x, definition)) => atom(x),
        BinaryOp::Add if nothing_to(y, x) => atom(y),
        BinaryOp::Add => match (negated(x, definition), negated(y, definition)) {
            (_, Some(y)) => Some(Simpler::Prim(PrimOp::Binary(BinaryOp::Sub, prim), vec![x.clone(), y])),
            (Some(x), None) => Some(Simpler::Prim(PrimOp::Binary(BinaryOp::Sub, prim), vec![y.clone(), x])),
            (None, None) => None,
        },
        BinaryOp::Sub if is(y, zero) => atom(x),
        BinaryOp::Sub if exact && x == y => constant(zero),
        BinaryOp::Sub => {
            let y = negated(y, definition)?;
            Some(Simpler::Prim(PrimOp::Binary(BinaryOp::Add, prim), vec![x.clone(), y]))
        }
        BinaryOp::Mul if is(y, one) => atom(x),
        BinaryOp::Mul if is(x, one) => atom(y),
        BinaryOp::Mul if exact && (is(x, zero) || is(y, zero)) => constant(zero),
        BinaryOp::Div | BinaryOp::Quot if is(y, one) => atom(x),
        BinaryOp::Pow if is(y, one) => atom(x),
        BinaryOp::Pow if is(y, Const::from_i128(prim, 2)) => {
            Some(Simpler::Prim(PrimOp::Binary(BinaryOp::Mul, prim), vec![x.clone(), x.clone()]))
        }
        BinaryOp::Scale if is(x, zero) || is(x, Const::negative_zero(prim)) => constant(zero),
        BinaryOp::Scale if is(y, one) => atom(x),
        BinaryOp::Scale if is(x, one) => atom(y),
        // Only derivatives scale. Half of a number and twice that is the number, unless it is too small for its half to be one.
        BinaryOp::Scale if is(y, Const::from_i128(prim, 2)) => {
            let is_half = |atom: &Atom| match atom {
                Atom::Const(half) => {
                    *half != zero && eval(PrimOp::Binary(BinaryOp::Add, prim), &[*half, *half]).ok() == Some(one)
                }
                Atom::Var(_) => false,
            };
            let (PrimOp::Binary(BinaryOp::Scale, _), args) = definition(x)? else { return None };
            let [inner, factor] = args.as_slice() else { return None };
            if is_half(factor) {
                return atom(inner);
            }
            // As in the derivative of the root of a sum of squares.
            match definition(factor)? {
                (PrimOp::Binary(BinaryOp::Mul, _), factors) if factors.len() == 2 => {
                    let half = factors.iter().position(is_half)?;
                    Some(Simpler::Prim(PrimOp::Binary(BinaryOp::Scale, prim), vec![inner.clone(), factors[1 - half].clone()]))
                }
                _ => None,
            }
        }
        BinaryOp::Scale if is(y, Const::from_i128(prim, -1)) && (prim.is_float() || prim.is_signed()) => {
            Some(Simpler::Prim(PrimOp::Unary(UnaryOp::Negate, prim), vec![x.clone()]))
        }
        BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or if x == y => atom(x),
        BinaryOp::And if prim == Prim::Bool => truth(x, y, true),
        BinaryOp::Or if prim == Prim::Bool => truth(x, y, false),
        _ => None,
    }
}

/// `(i + 2) - 1` as `i + 1`.
fn one_offset(op: BinaryOp, prim: Prim, x: &Atom, y: &Atom, definition: &Definition<'_>) -> Option<Simpler> {
    let offset = |op: BinaryOp, x: &Atom, y: &Atom| match (op, x, y) {
        (BinaryOp::Add, base @ Atom::Var(_), Atom::Const(Const::I64(more)))
        | (BinaryOp::Add, Atom::Const(Const::I64(more)), base @ Atom::Var(_)) => Some((base.clone(), *more)),
        (BinaryOp::Sub, base @ Atom::Var(_), Atom::Const(Const::I64(less))) => Some((base.clone(), less.wrapping_neg())),
        _ => None,
    };
    let (sum, more) = offset(op, x, y)?;
    let (PrimOp::Binary(op, Prim::I64), args) = definition(&sum)? else { return None };
    let (base, first) = offset(op, args.first()?, args.get(1)?)?;
    Some(match first.wrapping_add(more) {
        0 => Simpler::Atom(base),
        less @ i64::MIN..0 => Simpler::Prim(PrimOp::Binary(BinaryOp::Sub, prim), vec![base, Atom::i64(less.wrapping_neg())]),
        more => Simpler::Prim(PrimOp::Binary(BinaryOp::Add, prim), vec![base, Atom::i64(more)]),
    })
}

/// `r` where a sum is `y + r`.
fn rest_of_sum(sum: &Atom, y: &Atom, definition: &Definition<'_>) -> Option<Atom> {
    match definition(sum)? {
        (PrimOp::Binary(BinaryOp::Add, _), parts) => {
            let at = parts.iter().position(|part| part == y)?;
            parts.get(1 - at).cloned()
        }
        _ => None,
    }
}

/// `w` where one of two parts is `w` less the other.
fn whole_of_difference(x: &Atom, y: &Atom, definition: &Definition<'_>) -> Option<Atom> {
    [(x, y), (y, x)].into_iter().find_map(|(difference, part)| match definition(difference)? {
        (PrimOp::Binary(BinaryOp::Sub, _), args) if args.last() == Some(part) => args.into_iter().next(),
        _ => None,
    })
}

/// Whether an atom is part of a derivative, where it was made linear: it comes of a scaling, for which there is no source text.
fn is_linear(atom: &Atom, definition: &Definition<'_>, depth: usize) -> bool {
    let Some((op, args)) = definition(atom) else { return false };
    match op {
        PrimOp::Binary(BinaryOp::Scale, _) => true,
        PrimOp::Binary(BinaryOp::Add | BinaryOp::Sub, _) | PrimOp::Unary(UnaryOp::Negate, _) if depth > 0 => {
            args.iter().any(|arg| is_linear(arg, definition, depth - 1))
        }
        _ => false,
    }
}

/// Whether an atom is a sum with zero, which has lost the sign of a zero already.
fn is_no_negative_zero(atom: &Atom, definition: &Definition<'_>) -> bool {
    match definition(atom) {
        Some((PrimOp::Binary(BinaryOp::Add, prim), args)) => args.contains(&Atom::Const(Const::zero(prim))),
        _ => false,
    }
}

/// `neutral` is the operand that leaves the other; its opposite decides alone.
fn truth(x: &Atom, y: &Atom, neutral: bool) -> Option<Simpler> {
    [(x, y), (y, x)].into_iter().find_map(|(known, other)| match known {
        Atom::Const(Const::Bool(value)) if *value == neutral => Some(Simpler::Atom(other.clone())),
        Atom::Const(Const::Bool(value)) => Some(Simpler::Atom(Atom::bool(*value))),
        _ => None,
    })
}

fn negated(atom: &Atom, definition: &Definition<'_>) -> Option<Atom> {
    match definition(atom)? {
        (PrimOp::Unary(UnaryOp::Negate, _), args) => args.into_iter().next(),
        _ => None,
    }
}

fn constant(atom: &Atom) -> Option<Const> {
    match atom {
        Atom::Const(constant) => Some(*constant),
        Atom::Var(_) => None,
    }
}

/// Whether the order of the operands does not matter.
pub fn is_commutative(op: PrimOp) -> bool {
    match op {
        PrimOp::Binary(op, _) => matches!(
            op,
            BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::MulHigh | BinaryOp::Hypot
        ),
        PrimOp::Compare(op, _) => op == CompareOp::Equal,
        _ => false,
    }
}
