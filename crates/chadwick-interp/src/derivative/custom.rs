//! Calls with a derivative given by the program.

use super::modes::zero_like;
use super::structure::{self, highest_level};
use super::tape::CustomEntry;
use crate::code::CustomSpec;
use crate::error::{ErrorKind, Outcome, fail, malformed};
use crate::machine::Machine;
use crate::value::{Tangent, Value};
use chadwick_core::{CustomKind, Prim};
use std::rc::Rc;

impl Machine {
    /// All results of the function, those for the tape first. Nothing is said about derivatives of the latter.
    pub(crate) fn custom(
        &mut self,
        spec: &CustomSpec,
        captures: &[Value],
        rule_captures: &[Value],
        args: Vec<Value>,
    ) -> Outcome<Vec<Value>> {
        self.custom_at(spec, captures, rule_captures, args, false)
    }

    /// `for_rule` if a rule at a higher level gets what is for the tape: then it must have its derivatives.
    fn custom_at(
        &mut self,
        spec: &CustomSpec,
        captures: &[Value],
        rule_captures: &[Value],
        args: Vec<Value>,
        for_rule: bool,
    ) -> Outcome<Vec<Value>> {
        let Some((level, reverse)) = highest_level(args.iter().chain(captures)) else {
            return self.run(&spec.function, captures.to_vec(), args);
        };
        // A rule stands for the mode it is written for; in the other the function itself is differentiated.
        if reverse == matches!(spec.kind, CustomKind::Jvp) {
            return self.run(&spec.function, captures.to_vec(), args);
        }
        if highest_level(captures).is_some_and(|(captured, _)| captured == level) {
            let message = "the function of a custom derivative captures an active value";
            return fail(ErrorKind::Differentiation, message);
        }
        let strip = |values: &[Value]| values.iter().map(|value| structure::strip(value, level)).collect::<Outcome<Vec<Value>>>();
        // The rule is the derivative: nothing is differentiated through what it captures.
        let (below, rule_captures) = (strip(&args)?, strip(rule_captures)?);
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
            let results = self.custom_at(spec, captures, &rule_captures, below.clone(), true)?;
            match reverse {
                true => {
                    // The rule is about the results; through the tape the function itself is differentiated.
                    let tape = match spec.kind {
                        CustomKind::VjpTape { tape } if for_rule => {
                            let mut all = self.run(&spec.function, captures.to_vec(), args.clone())?;
                            all.truncate(tape);
                            all
                        }
                        CustomKind::VjpTape { tape } => results[..tape.min(results.len())].to_vec(),
                        _ => Vec::new(),
                    };
                    self.custom_reverse(spec, rule_captures, args, results, tape, level)
                }
                false => self.custom_forward(spec, rule_captures, &args, below, results, level),
            }
        })
    }

    /// Makes the results slots of the tape and leaves the rule for the sweep. `lifted` are the values for the tape as others see them.
    fn custom_reverse(
        &mut self,
        spec: &CustomSpec,
        rule_captures: Vec<Value>,
        args: Vec<Value>,
        results: Vec<Value>,
        mut lifted: Vec<Value>,
        level: u64,
    ) -> Outcome<Vec<Value>> {
        let tape = lifted.len();
        let Some(first) = self.tape_mut(level).map(|tape| tape.len()) else { return malformed("a lost tape") };
        for result in &results[tape..] {
            lifted.push(structure::map(result, &mut |leaf| match leaf.prim() {
                Some(Prim::Bool) | None => Ok(leaf.clone()),
                Some(_) => {
                    let slot = self.record(level, std::iter::empty())?;
                    Ok(Value::active(level, leaf.clone(), Tangent::Reverse(slot)))
                }
            })?);
        }
        let Some(tape_here) = self.tape_mut(level) else { return malformed("a lost tape") };
        let count = (tape_here.len() - first) as u32;
        if count > 0 {
            let saved = match spec.kind {
                CustomKind::VjpTape { .. } => results[..tape].to_vec(),
                _ => results.clone(),
            };
            tape_here.push_custom(CustomEntry {
                rule: Rc::clone(&spec.rule),
                rule_captures: rule_captures.into_boxed_slice(),
                saved,
                results: results[tape..].to_vec(),
                args,
                first: first as u32,
                count,
            });
        }
        Ok(lifted)
    }

    /// Asks the rule for the tangents of the results.
    fn custom_forward(
        &mut self,
        spec: &CustomSpec,
        rule_captures: Vec<Value>,
        args: &[Value],
        below: Vec<Value>,
        results: Vec<Value>,
        level: u64,
    ) -> Outcome<Vec<Value>> {
        let mut rule_args = below;
        let mut sets = false;
        for arg in args {
            rule_args.push(structure::map(arg, &mut |leaf| {
                sets |= matches!(leaf, Value::Active(active) if active.level == level && matches!(active.tangent, Tangent::Inputs(_)));
                Ok(match leaf {
                    Value::Active(active) if active.level == level => match &active.tangent {
                        Tangent::Forward(tangent) => tangent.clone(),
                        // The rule is linear in the tangents: what its results depend on is the same for all.
                        Tangent::Inputs(set) => Value::active(level, zero_like(leaf), Tangent::Inputs(*set)),
                        Tangent::Reverse(_) => return malformed("a tape slot in forward mode"),
                    },
                    other => zero_like(other),
                })
            })?);
        }
        let tangents = self.run(&spec.rule, rule_captures, rule_args)?;
        let mut lifted = Vec::with_capacity(results.len());
        for (result, tangent) in results.iter().zip(&tangents) {
            lifted.push(structure::zip(result, tangent, &mut |result, tangent| {
                Ok(match result.prim() {
                    Some(Prim::Bool) | None => result.clone(),
                    Some(_) => match tangent {
                        Value::Active(active) if active.level == level => match active.tangent {
                            Tangent::Inputs(set) => Value::active(level, result.clone(), Tangent::Inputs(set)),
                            _ => return malformed("a tangent at its own level"),
                        },
                        _ if sets => result.clone(),
                        tangent => Value::active(level, result.clone(), Tangent::Forward(tangent.clone())),
                    },
                })
            })?);
        }
        Ok(lifted)
    }
}
