//! Entry points: functions of data alone, which read sizes from their arguments and check them.

use crate::Lowerer;
use crate::apply::result_type;
use crate::ltype::{LType, UNKNOWN};
use crate::value::{Env, Value};
use chadwick_core::{Atom, Binder, Entry, EntryValue};
use chadwick_source::Name;
use chadwick_types::tree::{Definition, DefinitionBody, PatternKind};
use chadwick_types::ty::{Size, Type};
use std::rc::Rc;

impl Lowerer<'_> {
    pub fn entry(&mut self, definition: &Rc<Definition>) {
        let span = definition.span;
        let mut env = Env::new(self.type_params());
        let mut param_types: Vec<Type> = Vec::new();
        let mut ty = definition.scheme.ty.clone();
        let mut arrows = Vec::new();
        while let Type::Arrow(arrow) = ty {
            param_types.push(arrow.from.clone());
            ty = arrow.to.ty.clone();
            arrows.push(arrow);
        }
        let names = parameter_names(definition);
        let mut params: Vec<Binder> = Vec::new();
        let mut groups: Vec<Vec<Atom>> = Vec::new();
        let mut entry_params = Vec::new();
        for (index, ty) in param_types.iter().enumerate() {
            let name = names.get(index).cloned().unwrap_or_default();
            let shape = self.shape_in(ty, &env);
            let types = self.flatten(&shape);
            let binders: Vec<Binder> = types.iter().map(|ty| self.fresh(name.clone(), ty.clone())).collect();
            groups.push(binders.iter().map(|binder| Atom::Var(binder.var)).collect());
            params.extend(binders);
            let paths = paths(&shape, types.len());
            entry_params.push(EntryValue { name, source_type: ty.to_string(), types, paths });
        }
        let shape = self.shape_in(&ty, &env);
        let results = self.flatten(&shape);
        let outer = std::mem::take(&mut self.blocks);
        let body = self.block(|lowerer| {
            // Parameters that sizes mention are bound, as are sizes that occur plainly; then everything is checked.
            for (arrow, group) in arrows.iter().zip(&groups) {
                if let Some(id) = arrow.param {
                    env.bind(id, Value::Atoms(group.clone()));
                }
            }
            let mut found = Vec::new();
            for (ty, group) in param_types.iter().zip(&groups) {
                lowerer.witnesses(ty, group, &env.types, &mut found);
            }
            let mut read: Vec<(Atom, usize)> = Vec::new();
            let own: Vec<_> = definition.scheme.sizes.iter().map(|(id, _)| *id).collect();
            for (size, atom, axis) in &found {
                if let Size::Name(id, _) = size
                    && own.contains(id)
                    && !env.vars.contains_key(id)
                {
                    let size = lowerer.dim(atom.clone(), *axis, span);
                    env.bind_atom(*id, size);
                    read.push((atom.clone(), *axis));
                }
            }
            for (size, atom, axis) in found.iter().filter(|(_, atom, axis)| !read.contains(&(atom.clone(), *axis))) {
                let expected = lowerer.size(size, &env, span);
                if expected == UNKNOWN {
                    continue;
                }
                let actual = lowerer.dim(atom.clone(), *axis, span);
                let name = groups.iter().position(|group| group.contains(atom)).and_then(|at| names.get(at));
                let argument = match name.filter(|name| !name.is_empty()) {
                    Some(name) => format!("argument {name}"),
                    None => String::from("an argument"),
                };
                let rank = params.iter().find(|param| Atom::Var(param.var) == *atom).map_or(0, |param| param.ty.rank());
                let place = if rank > 1 { format!(" in dimension {}", axis + 1) } else { String::new() };
                let text = format!("{argument} of {} has the wrong size{place}: expected {size}", definition.name);
                lowerer.require_equal(expected, actual, &text, "found size", span);
            }
            let sizes: Vec<Atom> = definition
                .scheme
                .sizes
                .iter()
                .map(|(id, name)| lowerer.size(&Size::Name(*id, name.clone()), &env, span))
                .collect();
            let shape = lowerer.shape_in(&definition.scheme.ty, &env);
            let function = lowerer.use_definition(definition.clone(), Vec::new(), sizes, shape, span);
            let args = groups.iter().map(|group| Value::Atoms(group.clone())).collect();
            let value = lowerer.apply(function, args, span);
            lowerer.materialise(value, span)
        });
        self.blocks = outer;
        let result = result_type(&definition.scheme.ty, param_types.len());
        let entry_results = self.entry_results(&result, &env);
        let function = self.reserve(definition.name.clone(), params, results, span);
        self.core.functions[function.0 as usize].body = body;
        self.core.entries.push(Entry { name: definition.name.clone(), function, params: entry_params, results: entry_results });
    }

    /// One result per component of a tuple.
    fn entry_results(&mut self, ty: &Type, env: &Env) -> Vec<EntryValue> {
        let parts: Vec<(Name, Type)> = match ty {
            Type::Record(fields) => fields.iter().cloned().collect(),
            other => vec![(Name::from(""), other.clone())],
        };
        parts
            .into_iter()
            .map(|(name, ty)| {
                let shape = self.shape_in(&ty, env);
                let name = if name.parse::<u32>().is_ok() { Name::from("") } else { name };
                let types = self.flatten(&shape);
                let paths = paths(&shape, types.len());
                EntryValue { name, source_type: ty.to_string(), types, paths }
            })
            .collect()
    }
}

/// Where in a value of the type its so many parts are. The parts of an abstract type have numbers: its fields are nobody's business.
fn paths(ty: &LType, parts: usize) -> Vec<Name> {
    let mut found = Vec::new();
    collect_paths(ty, "", &mut found);
    match (found.len() == parts, parts) {
        (true, _) => found,
        (false, 1) => vec![Name::default()],
        (false, _) => (0..parts).map(|part| Name::from(part.to_string())).collect(),
    }
}

fn collect_paths(ty: &LType, path: &str, found: &mut Vec<Name>) {
    match ty {
        LType::Record(fields) => {
            for (name, ty) in fields.iter() {
                let inner = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
                collect_paths(ty, &inner, found);
            }
        }
        // An array of records is one array per field.
        LType::Array(_, element) => collect_paths(element, path, found),
        LType::Hidden(inner) => collect_paths(inner, path, found),
        LType::Prim(_) | LType::Sum(_) | LType::Arrow(_) | LType::Named(..) => found.push(Name::from(path)),
    }
}

fn parameter_names(definition: &Definition) -> Vec<Name> {
    match &definition.body {
        DefinitionBody::Function(function) => function
            .params
            .iter()
            .map(|param| match &param.kind {
                PatternKind::Var(_, name) => name.clone(),
                _ => Name::from(""),
            })
            .collect(),
        DefinitionBody::Intrinsic(_) => Vec::new(),
    }
}
