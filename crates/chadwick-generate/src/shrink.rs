//! Smaller programs that still fail.

use crate::exp::{Exp, Part, either, parts};
use crate::program::Program;
use crate::types::{Size, Type};
use std::collections::BTreeSet;

/// The smallest program found for which the test still fails. Expressions are replaced by constants and by expressions inside them
/// that have the same type; every candidate is well typed.
pub fn shrink(program: &Program, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let Some(smaller) = step(&best, fails) else { return best };
        best = smaller;
    }
}

/// One successful replacement, the largest that works.
fn step(program: &Program, fails: &mut dyn FnMut(&Program) -> bool) -> Option<Program> {
    let definitions = program.helpers.len() + 1;
    for at in (0..definitions).rev() {
        let body = match program.helpers.get(at) {
            Some(helper) => &helper.body,
            None => &program.function.body,
        };
        let mut candidates = Vec::new();
        replacements(body, &mut |candidate| candidates.push(candidate));
        candidates.sort_by_key(Exp::size);
        for candidate in candidates {
            let mut smaller = program.clone();
            match smaller.helpers.get_mut(at) {
                Some(helper) => helper.body = candidate,
                None => smaller.function.body = candidate,
            }
            if fails(&smaller) {
                return Some(smaller);
            }
        }
    }
    None
}

/// All ways to make one node of an expression smaller.
fn replacements(exp: &Exp, found: &mut dyn FnMut(Exp)) {
    let size = exp.size();
    let simple = simplest(&exp.ty);
    if simple.size() < size || (simple.size() == size && text_length(&simple) < text_length(exp)) {
        found(simple);
    }
    let mut outer = BTreeSet::new();
    exp.bound_names(&mut outer);
    descendants(exp, &mut |inner| {
        if inner.ty == exp.ty && free_of(inner, &outer) {
            found(inner.clone());
        }
    });
    for (at, part) in exp.parts.iter().enumerate() {
        if let Part::Exp(child) = part {
            replacements(child, &mut |replacement| {
                let mut whole = exp.clone();
                whole.parts[at] = Part::Exp(replacement);
                found(whole);
            });
        }
    }
}

fn text_length(exp: &Exp) -> usize {
    let mut text = String::new();
    exp.print(crate::exp::Element::F64, &mut text);
    text.len()
}

/// Whether an expression uses none of the names, except those that it binds itself.
fn free_of(exp: &Exp, names: &BTreeSet<String>) -> bool {
    let (mut used, mut own) = (BTreeSet::new(), BTreeSet::new());
    exp.used_names(&mut used);
    exp.bound_names(&mut own);
    used.iter().all(|name| !names.contains(name) || own.contains(name))
}

fn descendants<'e>(exp: &'e Exp, visit: &mut dyn FnMut(&'e Exp)) {
    for child in exp.children() {
        visit(child);
        descendants(child, visit);
    }
}

/// A small value of a type.
fn simplest(ty: &Type) -> Exp {
    match ty {
        Type::Number => Exp::atom(ty, "@", parts![either("1.0", "1")]),
        Type::Int | Type::Index => Exp::atom(ty, "1", Vec::new()),
        Type::Bool => Exp::atom(ty, "true", Vec::new()),
        Type::Tuple(types) => {
            let template = format!("({})", vec!["@"; types.len()].join(", "));
            Exp::atom(ty, &template, types.iter().map(|ty| Part::Exp(simplest(ty))).collect())
        }
        Type::Record(fields) => {
            let holes: Vec<String> = fields.iter().map(|(field, _)| format!("{field} = @")).collect();
            let values = fields.iter().map(|(_, ty)| Part::Exp(simplest(ty))).collect();
            Exp::atom(ty, &format!("{{{}}}", holes.join(", ")), values)
        }
        Type::Option(_) => Exp::atom(ty, "(#none : @)", parts![ty]),
        Type::Shape => Exp::atom(ty, "(#dot : shape)", Vec::new()),
        Type::List(_) => Exp::atom(ty, "(#nil : @)", parts![ty]),
        Type::Tree => Exp::atom(ty, "(#leaf 1 : tree)", Vec::new()),
        Type::Rose => Exp::atom(ty, "(#rose 1 #empty : rose)", Vec::new()),
        Type::Ragged => Exp::node(ty, "ragged_of [1]", Vec::new()),
        Type::Array(Size::Const(0), _) => Exp::atom(ty, "([] : @)", parts![ty]),
        Type::Array(size, element) => Exp::node(ty, "replicate @ @", parts![size, simplest(element)]),
        Type::Function(params, result) => {
            let holes: Vec<Part> = params.iter().map(Part::from).chain([Part::Exp(simplest(result))]).collect();
            let params = vec!["(_: @)"; params.len()].join(" ");
            Exp::node(ty, &format!("\\{params} -> @"), holes)
        }
    }
}
