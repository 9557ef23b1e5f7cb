//! The derived functions of a program's entry points as entry points of their own, so that they can be called, compared and counted.

use super::functions::{MapFunctions, forward_function, reverse_function};
use crate::context::Context;
use chadwick_core::{Entry, EntryValue, FunctionId, Program, Type};
use chadwick_source::{Diagnostic, Name};

/// What is derived from a function `f : S → T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// `fwd$f : (S, δS) → (T, δT)`
    Forward,
    /// `rev$f : (S, δT) → (T, δS)`, by way of `revf$f : S → (T, X)` and `revr$f : (X, δT) → δS`.
    Reverse,
}

/// The prepared program with `fwd$f` or `rev$f` as an entry point for every entry point `f`. Tangents and cotangents are those of numbers;
/// parameters and results without any have none.
pub fn with_derived_entries(prepared: &Program, derivation: Derivation) -> Result<Program, Vec<Diagnostic>> {
    let mut program = prepared.clone();
    let mut context = Context::new(&mut program);
    let mut functions = MapFunctions::default();
    let mut made: Vec<(Name, FunctionId)> = Vec::new();
    for entry in &prepared.entries {
        let function = match derivation {
            Derivation::Reverse => reverse_function(&mut context, &mut functions, entry.function),
            Derivation::Forward => {
                let source = &prepared.functions[entry.function.0 as usize];
                let active: Vec<bool> = source.params.iter().map(|param| context.carries(&param.ty)).collect();
                forward_function(&mut context, &mut functions, entry.function, &active, source.span).map(|(made, _)| made)
            }
        };
        let prefix = match derivation {
            Derivation::Forward => "fwd$",
            Derivation::Reverse => "rev$",
        };
        made.extend(function.map(|function| (Name::from(format!("{prefix}{}", entry.name)), function)));
    }
    if !context.errors.is_empty() {
        return Err(context.errors);
    }
    for (name, function) in made {
        let entry = plain_entry(&program, name, function);
        program.entries.push(entry);
    }
    Ok(program)
}

/// An entry point whose parameters and results are those of the function, one by one.
pub(super) fn plain_entry(program: &Program, name: Name, function: FunctionId) -> Entry {
    let value = |ty: &Type, name: Name| EntryValue {
        name,
        source_type: chadwick_core::text::print_type(program, ty),
        types: vec![ty.clone()],
        paths: vec![Name::default()],
    };
    let source = &program.functions[function.0 as usize];
    let named = |var: chadwick_core::Var| program.var_names.get(var.0 as usize).cloned().unwrap_or_default();
    let params = source.params.iter().map(|param| value(&param.ty, named(param.var))).collect();
    let results = source.results.iter().map(|ty| value(ty, Name::default())).collect();
    Entry { name, function, params, results }
}
