//! Primitive operations on numbers under differentiation.

use super::tape::{Contribution, Factor};
use crate::error::{Outcome, malformed};
use crate::machine::Machine;
use crate::value::{Tangent, Value};
use chadwick_core::prim::{Derivative, Partial, eval};
use chadwick_core::{BinaryOp, Const, Prim, PrimOp, UnaryOp};

/// The highest level at which a scalar is active; 0 if it is plain.
pub(crate) fn level(value: &Value) -> u64 {
    match value {
        Value::Active(active) => active.level,
        _ => 0,
    }
}

/// The scalar without its part at `level`.
fn below(value: &Value, level: u64) -> Value {
    match value {
        Value::Active(active) if active.level == level => active.primal.clone(),
        other => other.clone(),
    }
}

/// Whether a scalar is plain and exactly zero (or `false`).
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Scalar(constant) => constant_is_zero(*constant),
        _ => false,
    }
}

fn constant_is_zero(constant: Const) -> bool {
    match constant {
        Const::Bool(x) => !x,
        Const::I8(x) => x == 0,
        Const::I16(x) => x == 0,
        Const::I32(x) => x == 0,
        Const::I64(x) => x == 0,
        Const::U8(x) => x == 0,
        Const::U16(x) => x == 0,
        Const::U32(x) => x == 0,
        Const::U64(x) => x == 0,
        Const::F16(x) => x.to_f32() == 0.0,
        Const::F32(x) => x == 0.0,
        Const::F64(x) => x == 0.0,
    }
}

fn negate(prim: Prim) -> PrimOp {
    PrimOp::Unary(UnaryOp::Negate, prim)
}

/// Keeps the operands of an operation without a heap allocation.
type Operands = [Value; 3];

impl Machine {
    /// The value of an operation on scalars of any level.
    pub(crate) fn apply(&mut self, op: PrimOp, args: &[Value]) -> Outcome<Value> {
        let top = args.iter().map(level).max().unwrap_or(0);
        if top == 0 {
            return apply_plain(op, args);
        }
        let derivatives = self.derivatives(op);
        if derivatives.iter().all(|derivative| *derivative == Derivative::Zero) {
            let plain: Option<Vec<Const>> = args.iter().map(Value::as_scalar).collect();
            let Some(plain) = plain else { return malformed("an operand that is no scalar") };
            return Ok(Value::Scalar(eval(op, &plain)?));
        }
        let mut lower = Operands::default();
        let mut nested = false;
        for (slot, arg) in lower.iter_mut().zip(args) {
            *slot = below(arg, top);
            nested |= matches!(slot, Value::Active(_));
        }
        let lower = &lower[..args.len().min(3)];
        match nested {
            true => stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.apply_at(op, &derivatives, args, lower, top)),
            false => self.apply_at(op, &derivatives, args, lower, top),
        }
    }

    fn apply_at(&mut self, op: PrimOp, derivatives: &[Derivative], args: &[Value], lower: &[Value], top: u64) -> Outcome<Value> {
        let primal = self.apply(op, lower)?;
        self.counters.differentiated_operations += 1;
        let mut tangent: Option<Value> = None;
        let mut inputs = 0;
        let mut contributions: [Option<Contribution>; 3] = [None, None, None];
        let mut recorded = false;
        for ((at, arg), derivative) in args.iter().enumerate().zip(derivatives) {
            let Value::Active(active) = arg else { continue };
            if active.level != top {
                continue;
            }
            match &active.tangent {
                Tangent::Forward(incoming) => {
                    let Some(part) = self.forward_part(op, derivative, incoming, lower, &primal)? else { continue };
                    tangent = Some(match tangent {
                        None => part,
                        Some(sum) => self.add(&sum, &part)?,
                    });
                }
                Tangent::Reverse(slot) => {
                    let factor = match derivative {
                        Derivative::Zero => continue,
                        Derivative::One => Factor::One,
                        Derivative::MinusOne => Factor::MinusOne,
                        Derivative::Convert => match op {
                            PrimOp::Convert { from, to } => Factor::Convert { from: to, to: from },
                            _ => continue,
                        },
                        Derivative::Scale(partial) => match self.partial_or_none(partial, lower, &primal)? {
                            Some(partial) => Factor::Scale(partial),
                            None => continue,
                        },
                    };
                    contributions[at] = Some(Contribution { parent: *slot, factor });
                    recorded = true;
                }
                Tangent::Inputs(set) => {
                    let passes = match derivative {
                        Derivative::Zero => false,
                        Derivative::One | Derivative::MinusOne | Derivative::Convert => true,
                        Derivative::Scale(partial) => self.partial_or_none(partial, lower, &primal)?.is_some(),
                    };
                    if passes {
                        inputs |= set;
                    }
                }
            }
        }
        if inputs != 0 {
            return Ok(Value::active(top, primal, Tangent::Inputs(inputs)));
        }
        if recorded {
            let slot = self.record(top, contributions.into_iter().flatten())?;
            return Ok(Value::active(top, primal, Tangent::Reverse(slot)));
        }
        Ok(match tangent {
            Some(tangent) if !is_zero(&tangent) => Value::active(top, primal, Tangent::Forward(tangent)),
            _ => primal,
        })
    }

    /// What a tangent of one operand adds to the tangent of the result.
    fn forward_part(
        &mut self,
        op: PrimOp,
        derivative: &Derivative,
        incoming: &Value,
        lower: &[Value],
        primal: &Value,
    ) -> Outcome<Option<Value>> {
        if is_zero(incoming) {
            return Ok(None);
        }
        Ok(match derivative {
            Derivative::Zero => None,
            Derivative::One => Some(incoming.clone()),
            Derivative::MinusOne => Some(self.negated(incoming)?),
            Derivative::Convert => Some(self.apply(op, std::slice::from_ref(incoming))?),
            Derivative::Scale(partial) => match self.partial_or_none(partial, lower, primal)? {
                Some(partial) => Some(self.guarded_product(incoming, &partial)?),
                None => None,
            },
        })
    }

    pub(crate) fn negated(&mut self, value: &Value) -> Outcome<Value> {
        match value.prim() {
            Some(prim) => self.apply(negate(prim), std::slice::from_ref(value)),
            None => malformed("a negation of no scalar"),
        }
    }

    pub(crate) fn add(&mut self, left: &Value, right: &Value) -> Outcome<Value> {
        if let (Value::Scalar(Const::F64(x)), Value::Scalar(Const::F64(y))) = (left, right) {
            return Ok(Value::Scalar(Const::F64(x + y)));
        }
        match left.prim() {
            Some(prim) => self.apply(PrimOp::Binary(BinaryOp::Add, prim), &[left.clone(), right.clone()]),
            None => malformed("a sum of no scalars"),
        }
    }

    /// A partial derivative at the operands; `None` where a case distinction says that nothing passes.
    fn partial_or_none(&mut self, partial: &Partial, operands: &[Value], result: &Value) -> Outcome<Option<Value>> {
        if let Partial::Select(parts) = partial {
            let chosen = self.select(parts, operands, result)?;
            return match chosen {
                Partial::Constant(constant) if constant_is_zero(*constant) => Ok(None),
                other => self.partial(other, operands, result).map(Some),
            };
        }
        self.partial(partial, operands, result).map(Some)
    }

    fn select<'a>(&mut self, parts: &'a [Partial; 3], operands: &[Value], result: &Value) -> Outcome<&'a Partial> {
        match self.partial(&parts[0], operands, result)?.as_scalar() {
            Some(Const::Bool(true)) => Ok(&parts[1]),
            Some(Const::Bool(false)) => Ok(&parts[2]),
            _ => malformed("a condition that is no boolean"),
        }
    }

    fn partial(&mut self, partial: &Partial, operands: &[Value], result: &Value) -> Outcome<Value> {
        match partial {
            Partial::Operand(at) => match operands.get(*at) {
                Some(operand) => Ok(operand.clone()),
                None => malformed("a derivative by an operand that does not exist"),
            },
            Partial::Result => Ok(result.clone()),
            Partial::Constant(constant) => Ok(Value::Scalar(*constant)),
            Partial::Apply(op, args) => {
                let mut values = Operands::default();
                for (slot, arg) in values.iter_mut().zip(args) {
                    *slot = self.partial(arg, operands, result)?;
                }
                self.apply(*op, &values[..args.len().min(3)])
            }
            Partial::Select(parts) => {
                let chosen = self.select(parts, operands, result)?;
                self.partial(chosen, operands, result)
            }
        }
    }

    /// A (co)tangent times a partial derivative: zero where the (co)tangent is zero, whatever the partial.
    pub(crate) fn guarded_product(&mut self, tangent: &Value, partial: &Value) -> Outcome<Value> {
        if is_zero(tangent) {
            return Ok(tangent.clone());
        }
        let top = level(tangent).max(level(partial));
        let Some(prim) = tangent.prim() else { return malformed("a tangent that is no scalar") };
        if top == 0 {
            return apply_plain(PrimOp::Binary(BinaryOp::Mul, prim), &[tangent.clone(), partial.clone()]);
        }
        let (tangent_below, partial_below) = (below(tangent, top), below(partial, top));
        let primal = self.guarded_product(&tangent_below, &partial_below)?;
        self.counters.differentiated_operations += 1;
        let mut forward: Option<Value> = None;
        let mut inputs = 0;
        let mut contributions: [Option<Contribution>; 2] = [None, None];
        // Where the tangent is zero, the derivative of the partial does not matter either.
        let sides = [(tangent, &partial_below, false), (partial, &tangent_below, is_zero(&tangent_below))];
        for (at, (factor, other, dead)) in sides.into_iter().enumerate() {
            let Value::Active(active) = factor else { continue };
            if active.level != top || dead {
                continue;
            }
            match &active.tangent {
                Tangent::Forward(incoming) => {
                    let part = self.guarded_product(incoming, other)?;
                    forward = Some(match forward {
                        None => part,
                        Some(sum) => self.add(&sum, &part)?,
                    });
                }
                Tangent::Reverse(slot) => {
                    contributions[at] = Some(Contribution { parent: *slot, factor: Factor::Scale(other.clone()) });
                }
                Tangent::Inputs(set) => inputs |= set,
            }
        }
        if inputs != 0 {
            return Ok(Value::active(top, primal, Tangent::Inputs(inputs)));
        }
        if contributions.iter().any(Option::is_some) {
            let slot = self.record(top, contributions.into_iter().flatten())?;
            return Ok(Value::active(top, primal, Tangent::Reverse(slot)));
        }
        Ok(match forward {
            Some(forward) if !is_zero(&forward) => Value::active(top, primal, Tangent::Forward(forward)),
            _ => primal,
        })
    }
}

fn apply_plain(op: PrimOp, args: &[Value]) -> Outcome<Value> {
    let mut constants = [Const::Bool(false); 3];
    for (slot, arg) in constants.iter_mut().zip(args) {
        match arg {
            Value::Scalar(constant) => *slot = *constant,
            _ => return malformed("an operand that is no scalar"),
        }
    }
    Ok(Value::Scalar(eval(op, &constants[..args.len().min(3)])?))
}
