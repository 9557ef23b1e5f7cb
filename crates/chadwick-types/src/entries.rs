//! Entry points: which definitions can be called from outside, and what their types must be for that.

use crate::checker::Checker;
use crate::tree::Definition;
use crate::ty::{Size, Type, TypeArg, VarId};
use chadwick_syntax::ast;
use std::rc::Rc;

impl Checker<'_> {
    pub fn mark_entry(&mut self, binding: &ast::ValueBinding, definition: &Rc<Definition>) {
        let top = self.file == self.sources.root && self.module_depth == 0;
        if binding.is_entry && self.module_depth > 0 {
            self.error("E0264", binding.name.span, "entry points may not be declared inside modules").hint =
                Some(format!("declare it with `def`, and outside `entry {0} = m.{0}`", binding.name.name));
        }
        if !top || !(binding.is_entry || binding.name.name == "main") {
            return;
        }
        let name = &binding.name.name;
        if name.contains('\'') {
            self.error("E0262", binding.name.span, format!("the entry point {name} may not have a ' in its name"));
        }
        if !definition.scheme.types.is_empty() {
            let shown = definition.scheme.to_string();
            self.error(
                "E0260",
                binding.name.span,
                format!("entry point functions may not be polymorphic: {name} has type {shown}"),
            )
            .hint = Some(String::from("annotate its parameters with concrete types"));
        }
        if has_function_data(&definition.scheme.ty) {
            self.error(
                "E0263",
                binding.name.span,
                format!("entry point functions may not be higher-order: {name} takes or returns a function"),
            );
        }
        if let Some((_, size)) = definition.scheme.sizes.iter().find(|(id, _)| !is_argument_size(&definition.scheme.ty, *id)) {
            let (message, hint) = match binding.type_params.iter().any(|param| param.name.name == *size) {
                true => (
                    format!("size {size} of the entry point {name} is not the size of an argument"),
                    format!("make it a parameter: `({size}: i64)`"),
                ),
                false => (
                    format!("nothing determines a size in the result of the entry point {name}"),
                    String::from("state it, as in `[3]t`, or by a parameter: `(n: i64): [n]t`"),
                ),
            };
            self.error("E0268", binding.name.span, message).hint = Some(hint);
        }
        self.entries.push(definition.id);
    }
}

/// Whether some parameter or the final result is or holds a function.
fn has_function_data(ty: &Type) -> bool {
    match ty {
        Type::Arrow(arrow) => holds_function(&arrow.from) || has_function_data(&arrow.to.ty),
        other => holds_function(other),
    }
}

fn holds_function(ty: &Type) -> bool {
    match ty {
        Type::Arrow(_) => true,
        Type::Record(fields) => fields.iter().any(|(_, ty)| holds_function(ty)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(holds_function),
        Type::Array(_, element) => holds_function(element),
        _ => false,
    }
}

/// Whether the size is that of an array among the arguments, so that a caller gives it.
fn is_argument_size(ty: &Type, size: VarId) -> bool {
    match ty {
        Type::Arrow(arrow) => has_size(&arrow.from, size) || is_argument_size(&arrow.to.ty, size),
        _ => false,
    }
}

fn has_size(ty: &Type, size: VarId) -> bool {
    let is_it = |other: &Size| matches!(other, Size::Name(id, _) if *id == size);
    match ty {
        Type::Array(own, element) => is_it(own) || has_size(element, size),
        Type::Record(fields) => fields.iter().any(|(_, ty)| has_size(ty, size)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(|ty| has_size(ty, size)),
        Type::Named(_, _, args) => args.iter().any(|arg| match arg {
            TypeArg::Type(ty) => has_size(ty, size),
            TypeArg::Size(own) => is_it(own),
        }),
        Type::Hidden(_, inner) => has_size(inner, size),
        Type::Arrow(_) | Type::Prim(_) | Type::Var(_) | Type::Param(..) | Type::Error => false,
    }
}
