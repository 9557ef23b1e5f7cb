//! What lowering knows of a value: its atoms, or the function itself where that is known.

use crate::ltype::{LType, TypeParams};
use chadwick_core::Atom;
use chadwick_types::tree::{Definition, Lambda};
use chadwick_types::ty::VarId;
use rpds::HashTrieMap;
use std::rc::Rc;

#[derive(Clone, Debug)]
pub enum Value {
    Atoms(Vec<Atom>),
    Function(Rc<KnownFunction>),
}

/// A function known by its code, with the arguments it has so far.
#[derive(Clone, Debug)]
pub struct KnownFunction {
    pub code: Code,
    pub applied: Vec<Value>,
    /// The type of the function as it stands: what is applied is gone.
    pub ty: LType,
}

#[derive(Clone, Debug)]
pub enum Code {
    Lambda(Rc<Lambda>, Env),
    /// A top-level definition at its types and sizes.
    Definition(Rc<Definition>, Vec<LType>, Vec<Atom>),
    /// A local function at its types and sizes.
    Local(Rc<LocalFunction>, Vec<LType>, Vec<Atom>),
}

/// A local function and the names it can see.
#[derive(Debug)]
pub struct LocalFunction {
    pub definition: Rc<Definition>,
    /// All members of its recursive group, itself included; empty if it is not recursive.
    pub group: Vec<Rc<Definition>>,
    pub env: Env,
}

#[derive(Clone, Debug)]
pub enum Binding {
    Value(Value),
    Local(Rc<LocalFunction>),
}

/// Names in scope. Cheap to copy: every block has its own.
#[derive(Clone, Debug)]
pub struct Env {
    pub vars: HashTrieMap<VarId, Binding>,
    pub types: TypeParams,
    /// Definitions being inlined around this scope, from the outside in.
    pub inlining: Rc<[VarId]>,
}

impl Env {
    pub fn new(types: TypeParams) -> Env {
        Env { vars: HashTrieMap::new(), types, inlining: Rc::from([]) }
    }

    pub fn bind(&mut self, id: VarId, value: Value) {
        self.vars.insert_mut(id, Binding::Value(value));
    }

    pub fn bind_atom(&mut self, id: VarId, atom: Atom) {
        self.bind(id, Value::Atoms(vec![atom]));
    }
}
