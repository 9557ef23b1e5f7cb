//! The derived functions of a program's entry points as entry points of their own, so that they can be called, compared and counted.

use super::bog::Bog;
use super::categorical::Categorical;
use super::functions::{MapFunctions, reverse_function, whole_forward_function};
use super::procedure::Procedures;
use crate::context::Context;
use chadwick_core::{Atom, Entry, EntryValue, FunctionId, Program, Type};
use chadwick_source::{Diagnostic, Name};

/// What is derived from a function `f : S → T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// `fwd$f : (S, δS) → (T, δT)`
    Forward,
    /// `rev$f : (S, δT) → (T, δS)`, by way of `revf$f : S → (T, X)` and `revr$f : (X, δT) → δS`.
    Reverse,
    /// `cl$f : S → T`, which is `f` by way of the categorical language; with scopes pruned or not.
    Categorical { prune: bool },
    /// `proc$f : (S, δT) → (T, δS)`, by way of the procedure language: one translated statement after the other.
    Procedure,
    /// `bog$f : (S, δT) → (T, δS)`, by way of `f_fbog : S → (T, B)` and `f_rbog : (δT, B) → δS` on the single-use dialect.
    Bog,
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
            Derivation::Categorical { prune } => categorical_function(&mut context, entry.function, prune),
            Derivation::Bog => Bog::new(&mut context).reverse_function(entry.function),
            Derivation::Procedure => Procedures::new(&mut context).reverse_function(entry.function),
            Derivation::Reverse => reverse_function(&mut context, &mut functions, entry.function),
            Derivation::Forward => whole_forward_function(&mut context, &mut functions, entry.function),
        };
        made.extend(function.map(|function| (Name::from(format!("{}{}", derivation.prefix(), entry.name)), function)));
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

impl Derivation {
    /// What the name of a derived function starts with.
    pub fn prefix(self) -> &'static str {
        match self {
            Derivation::Forward => "fwd$",
            Derivation::Reverse => "rev$",
            Derivation::Categorical { .. } => "cl$",
            Derivation::Procedure => "proc$",
            Derivation::Bog => "bog$",
        }
    }
}

/// A function by way of the categorical language: as an arrow, checked, and as a function again.
fn categorical_function(context: &mut Context, function: FunctionId, prune: bool) -> Option<FunctionId> {
    let source = context.program().functions.get(function.0 as usize)?.clone();
    let scope: Vec<_> = source.params.iter().map(|param| param.var).collect();
    let types: Vec<Type> = source.params.iter().map(|param| param.ty.clone()).collect();
    let mut categorical = Categorical { context, prune };
    let arrow = categorical.arrow(&source.body, &scope)?;
    match categorical.target(&arrow, &types) {
        Ok(target) if chadwick_core::all_compatible(&target, &source.results) => {}
        Ok(_) => categorical.context.untyped(&format!("{arrow} gives something else"), source.span),
        Err(problem) => categorical.context.untyped(&problem, source.span),
    }
    let params: Vec<_> = types.iter().map(|ty| categorical.context.fresh("x", ty.clone())).collect();
    let tuple: Vec<_> = params.iter().map(|param| Atom::Var(param.var)).collect();
    categorical.context.b.push_block();
    let results = categorical.apply(&arrow, &tuple, source.span);
    let body = categorical.context.b.pop_block(results);
    let name = Name::from(format!("cl${}", source.name));
    let made = context.reserve(name, params, source.results.clone(), source.span);
    context.b.program_mut().functions[made.0 as usize].body = body;
    Some(made)
}

/// The body of a function in the categorical language, as text.
pub fn categorical_text(prepared: &Program, function: FunctionId, prune: bool) -> Result<String, Vec<Diagnostic>> {
    let mut program = prepared.clone();
    let mut context = Context::new(&mut program);
    let Some(source) = prepared.functions.get(function.0 as usize) else { return Ok(String::new()) };
    let scope: Vec<_> = source.params.iter().map(|param| param.var).collect();
    let arrow = Categorical { context: &mut context, prune }.arrow(&source.body, &scope);
    arrow.map(|arrow| arrow.to_string()).ok_or(context.errors)
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
