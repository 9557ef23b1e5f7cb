//! Removes what nobody uses, component by component, over the whole program.
//!
//! First a graph says what each value needs: a result of a loop needs the same result of its body, a field of a recursive type needs
//! whatever is stored there, a parameter needs what the callers pass. What the entry points, assertions and traces reach is alive; a second
//! walk drops the rest: statements, single results of a form with many, loop carries, parameters and results of functions, and the
//! fields of types that no entry point shows. A tape slot that the reverse pass does not read is such a field.

mod graph;
mod sweep;

use chadwick_core::visit::for_each_binder;
use chadwick_core::{Block, Element, Op, Program, Type, TypeId, Var};
use rustc_hash::FxHashSet;

/// Removes what has no influence on an entry point's results, on an assertion or on a trace.
pub fn remove_dead(program: &mut Program) {
    let shown = shown_types(program);
    let effectful = effectful_functions(program);
    let live = graph::live(program, &shown, &effectful);
    sweep::sweep(program, &live, &shown, &effectful);
}

/// Which functions assert or trace something, themselves or through what they call.
fn effectful_functions(program: &Program) -> Vec<bool> {
    let mut effectful = vec![false; program.functions.len()];
    loop {
        let next: Vec<bool> = program.functions.iter().map(|function| has_effect(&function.body, &effectful)).collect();
        if next == effectful {
            return effectful;
        }
        effectful = next;
    }
}

/// A thing that is used or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    Var(Var),
    Result { function: u32, at: usize },
    Field { ty: TypeId, tag: u32, at: usize },
}

/// The recursive types that entry points show to the outside; they stay as they are.
fn shown_types(program: &Program) -> FxHashSet<TypeId> {
    let mut shown = FxHashSet::default();
    if program.functions.iter().any(|function| has_derivative(&function.body)) {
        // A derivative that is still an operator reads every field of its arguments.
        shown.extend((0..program.types.len()).map(|at| TypeId(at as u32)));
    }
    // Paths into an accumulator count the fields of what it holds.
    for function in &program.functions {
        let mut visit = |_: Var, ty: &Type| {
            if let Type::Accumulator(content) = ty {
                show(program, content, &mut shown);
            }
        };
        function.params.iter().for_each(|param| visit(param.var, &param.ty));
        for_each_binder(&function.body, &mut visit);
    }
    let values = program.entries.iter().flat_map(|entry| entry.params.iter().chain(&entry.results));
    values.flat_map(|value| &value.types).for_each(|ty| show(program, ty, &mut shown));
    shown
}

fn has_derivative(block: &Block) -> bool {
    block.statements.iter().any(|statement| match &statement.op {
        Op::Differentiate(_) | Op::Custom(_) => true,
        op => op.scopes().iter().any(|scope| has_derivative(scope.block)),
    })
}

fn show(program: &Program, ty: &Type, shown: &mut FxHashSet<TypeId>) {
    match ty {
        Type::Prim(_) => {}
        Type::Array(array) => {
            if let Element::Boxed(inner) = &array.element {
                show(program, inner, shown);
            }
        }
        Type::Sum(constructors) => {
            constructors.iter().flat_map(|it| &it.payload).for_each(|ty| show(program, ty, shown));
        }
        Type::Named(id) => {
            if shown.insert(*id)
                && let Some(definition) = program.types.get(id.0 as usize)
            {
                definition.constructors.iter().flat_map(|it| &it.payload).for_each(|ty| show(program, ty, shown));
            }
        }
        Type::Function(function) => function.params.iter().chain(&function.results).for_each(|ty| show(program, ty, shown)),
        Type::Accumulator(inner) => show(program, inner, shown),
        Type::Log(log) => log.values.iter().for_each(|ty| show(program, ty, shown)),
    }
}

/// Whether a block asserts or traces something.
fn has_effect(block: &Block, effectful: &[bool]) -> bool {
    block.statements.iter().any(|statement| match &statement.op {
        Op::Assert { .. } | Op::Trace { .. } | Op::Log { .. } => true,
        Op::Call { function, .. } => effectful.get(function.0 as usize).is_some_and(|effect| *effect),
        op => op.scopes().iter().any(|scope| has_effect(scope.block, effectful)),
    })
}
