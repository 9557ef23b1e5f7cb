//! Known functions as arguments. A function that is given one is lowered once for each code it is given; what the code captures becomes
//! extra arguments. So a derivative inside a higher-order function sees the body of the function it differentiates.

use crate::Lowerer;
use crate::ltype::{LType, UNKNOWN};
use crate::value::{Binding, Code, Env, KnownFunction, LocalFunction, Value};
use chadwick_core::Atom;
use chadwick_types::ty::ParamId;
use std::fmt::Write;
use std::rc::Rc;

/// Functions inside functions deeper than this are passed as closures: a recursion may wrap them without end.
const DEPTH: usize = 6;

impl Lowerer<'_> {
    /// The static part of a value as a key and its dynamic part as atoms; `None` if it is better passed as a closure.
    pub fn take_apart(&mut self, value: &Value) -> Option<(String, Vec<Atom>)> {
        let mut key = String::new();
        let mut atoms = Vec::new();
        self.parts(value, 0, &mut key, &mut atoms).then_some((key, atoms))
    }

    fn parts(&mut self, value: &Value, depth: usize, key: &mut String, atoms: &mut Vec<Atom>) -> bool {
        match value {
            Value::Atoms(own) => {
                for atom in own {
                    let _ = write!(key, "{:?};", self.type_of(atom));
                }
                dynamic_parts(own, key, atoms);
                true
            }
            Value::Function(_) if depth >= DEPTH => false,
            Value::Function(function) => {
                let _ = write!(key, "({:?}", function.ty.erase());
                let known = match &function.code {
                    Code::Lambda(lambda, env) => {
                        let _ = write!(key, "lambda {:p}", Rc::as_ptr(lambda));
                        let (values, locals) = self.lambda_names(lambda, env);
                        locals.iter().for_each(|local| {
                            let _ = write!(key, "local {} ", local.id.0);
                        });
                        self.env_parts(&values, env, depth, key, atoms)
                    }
                    Code::Definition(definition, types, sizes) => {
                        let _ = write!(key, "definition {}", definition.id.0);
                        self.type_parts(types, key, atoms);
                        dynamic_parts(sizes, key, atoms);
                        true
                    }
                    Code::Local(local, types, sizes) => {
                        let _ = write!(key, "local {}", local.definition.id.0);
                        self.type_parts(types, key, atoms);
                        dynamic_parts(sizes, key, atoms);
                        let values = self.captured_names(local);
                        let env = local.env.clone();
                        self.env_parts(&values, &env, depth, key, atoms)
                    }
                };
                let applied = function.applied.clone();
                let known = known && applied.iter().all(|value| self.parts(value, depth + 1, key, atoms));
                key.push(')');
                known
            }
        }
    }

    fn type_parts(&mut self, types: &[LType], key: &mut String, atoms: &mut Vec<Atom>) {
        for ty in types {
            let _ = write!(key, "{:?},", ty.erase());
            dynamic_parts(&ty.sizes(), key, atoms);
        }
    }

    fn env_parts(
        &mut self,
        names: &[chadwick_types::ty::VarId],
        env: &Env,
        depth: usize,
        key: &mut String,
        atoms: &mut Vec<Atom>,
    ) -> bool {
        for (id, ty) in sorted_types(env) {
            let _ = write!(key, "{}:{:?},", id.0, ty.erase());
            dynamic_parts(&ty.sizes(), key, atoms);
        }
        names.iter().all(|id| match env.vars.get(id) {
            Some(Binding::Value(value)) => {
                let _ = write!(key, "{}=", id.0);
                let value = value.clone();
                self.parts(&value, depth + 1, key, atoms)
            }
            _ => true,
        })
    }

    /// The value with its dynamic part replaced, in the order of [`Lowerer::take_apart`].
    pub fn put_together(&mut self, template: &Value, atoms: &mut dyn Iterator<Item = Atom>) -> Value {
        match template {
            Value::Atoms(own) => Value::Atoms(next_atoms(own, atoms)),
            Value::Function(function) => {
                let code = match &function.code {
                    Code::Lambda(lambda, env) => {
                        let (values, locals) = self.lambda_names(lambda, env);
                        let mut rebuilt = self.rebuild_env(&values, env, atoms);
                        let around = rebuilt.clone();
                        for local in &locals {
                            let inner = LocalFunction { definition: local.clone(), group: locals.clone(), env: around.clone() };
                            rebuilt.vars.insert_mut(local.id, Binding::Local(Rc::new(inner)));
                        }
                        Code::Lambda(lambda.clone(), rebuilt)
                    }
                    Code::Definition(definition, types, sizes) => {
                        let types = types.iter().map(|ty| with_next(ty, atoms)).collect();
                        let sizes = next_atoms(sizes, atoms);
                        Code::Definition(definition.clone(), types, sizes)
                    }
                    Code::Local(local, types, sizes) => {
                        let types = types.iter().map(|ty| with_next(ty, atoms)).collect();
                        let sizes = next_atoms(sizes, atoms);
                        let values = self.captured_names(local);
                        let env = self.rebuild_env(&values, &local.env, atoms);
                        let mut group = local.group.clone();
                        for other in self.local_functions(local) {
                            if !group.iter().any(|member| member.id == other.id) {
                                group.push(other);
                            }
                        }
                        let local = LocalFunction { definition: local.definition.clone(), group, env };
                        Code::Local(Rc::new(local), types, sizes)
                    }
                };
                let applied = function.applied.iter().map(|value| self.put_together(value, atoms)).collect();
                Value::Function(Rc::new(KnownFunction { code, applied, ty: function.ty.clone() }))
            }
        }
    }

    fn rebuild_env(&mut self, names: &[chadwick_types::ty::VarId], env: &Env, atoms: &mut dyn Iterator<Item = Atom>) -> Env {
        let types = sorted_types(env).into_iter().map(|(id, ty)| (id, with_next(&ty, atoms))).collect();
        let mut rebuilt = Env { inlining: env.inlining.clone(), ..Env::new(Rc::new(types)) };
        for id in names {
            if let Some(Binding::Value(value)) = env.vars.get(id) {
                let value = self.put_together(value, atoms);
                rebuilt.bind(*id, value);
            }
        }
        rebuilt
    }
}

fn with_next(ty: &LType, atoms: &mut dyn Iterator<Item = Atom>) -> LType {
    ty.with_sizes(&mut |size| next_atom(size, atoms))
}

/// Atoms that an instance is given. Sizes that nobody knows are part of the key: the instance has to find them itself.
fn dynamic_parts(own: &[Atom], key: &mut String, atoms: &mut Vec<Atom>) {
    for atom in own {
        if *atom == UNKNOWN {
            key.push('?');
        } else {
            key.push('.');
            atoms.push(atom.clone());
        }
    }
}

fn next_atoms(template: &[Atom], atoms: &mut dyn Iterator<Item = Atom>) -> Vec<Atom> {
    template.iter().map(|atom| next_atom(atom, atoms)).collect()
}

fn next_atom(template: &Atom, atoms: &mut dyn Iterator<Item = Atom>) -> Atom {
    if *template == UNKNOWN { UNKNOWN } else { atoms.next().unwrap_or_else(|| template.clone()) }
}

fn sorted_types(env: &Env) -> Vec<(ParamId, LType)> {
    let mut types: Vec<_> = env.types.iter().map(|(id, ty)| (*id, ty.clone())).collect();
    types.sort_by_key(|(id, _)| *id);
    types
}
