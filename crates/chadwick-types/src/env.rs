//! What names mean: scopes of modules, and the local names of the definition being checked.

use crate::ty::{ParamId, Scheme, Type, VarId};
use chadwick_source::Name;
use chadwick_syntax::ast;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::rc::Rc;

/// The names that a module or file defines. Values and modules share one name space.
#[derive(Clone, Default)]
pub struct Scope {
    pub terms: FxHashMap<Name, Term>,
    pub types: FxHashMap<Name, TypeEntry>,
    pub signatures: FxHashMap<Name, Rc<SignatureEntry>>,
}

#[derive(Clone)]
pub enum Term {
    Value(ValueEntry),
    Module(Rc<Module>),
}

#[derive(Clone)]
pub struct ValueEntry {
    pub id: VarId,
    pub scheme: Rc<Scheme>,
}

/// A type abbreviation; also a type parameter or abstract type, which abbreviates itself.
#[derive(Clone)]
pub struct TypeEntry {
    pub params: Vec<TypeEntryParam>,
    pub body: Type,
    /// Sizes that differ from value to value.
    pub hidden: Vec<VarId>,
}

#[derive(Clone)]
pub enum TypeEntryParam {
    Type(ParamId),
    Size(VarId),
}

pub enum Module {
    Structure(Rc<Scope>),
    Functor(Box<Functor>),
}

/// A parametric module: applying it checks its body again, with the parameter bound to the argument.
pub struct Functor {
    pub param: ast::ModuleParam,
    pub signature: Option<ast::ModuleTypeExp>,
    pub body: FunctorBody,
    pub env: Env,
    /// Whether its body has errors whatever the parameter is: they are not said again for each application.
    pub is_wrong: Cell<bool>,
}

pub enum FunctorBody {
    Expression(ast::ModuleExp),
    /// The remaining parameters of `module m (a: A) (b: B) = …`.
    More(Box<(ast::ModuleBinding, usize)>),
}

/// A module type with the names that were in scope where it was written.
pub struct SignatureEntry {
    pub exp: ast::ModuleTypeExp,
    pub env: Env,
}

/// Scopes from the outermost (the prelude) to the innermost.
#[derive(Clone, Default)]
pub struct Env {
    frames: Vec<Rc<Scope>>,
}

impl Env {
    pub fn push(&mut self, scope: Rc<Scope>) {
        self.frames.push(scope);
    }

    pub fn pop(&mut self) -> Rc<Scope> {
        self.frames.pop().unwrap_or_default()
    }

    pub fn innermost(&mut self) -> &mut Scope {
        if self.frames.is_empty() {
            self.frames.push(Rc::default());
        }
        let last = self.frames.len() - 1;
        Rc::make_mut(&mut self.frames[last])
    }

    pub fn term(&self, name: &str) -> Option<&Term> {
        self.frames.iter().rev().find_map(|frame| frame.terms.get(name))
    }

    pub fn ty(&self, name: &str) -> Option<&TypeEntry> {
        self.frames.iter().rev().find_map(|frame| frame.types.get(name))
    }

    pub fn signature(&self, name: &str) -> Option<&Rc<SignatureEntry>> {
        self.frames.iter().rev().find_map(|frame| frame.signatures.get(name))
    }

    /// All names of terms in scope, for suggestions.
    pub fn term_names(&self) -> impl Iterator<Item = &Name> {
        self.frames.iter().rev().flat_map(|frame| frame.terms.keys())
    }

    pub fn type_names(&self) -> impl Iterator<Item = &Name> {
        self.frames.iter().rev().flat_map(|frame| frame.types.keys())
    }
}

/// Local names, with an undo log: leaving a block takes back what it bound.
#[derive(Default)]
pub struct Locals {
    terms: FxHashMap<Name, Vec<Term>>,
    types: FxHashMap<Name, Vec<TypeEntry>>,
    log: Vec<Bound>,
}

enum Bound {
    Term(Name),
    Type(Name),
}

/// A point in the undo log.
#[derive(Clone, Copy)]
pub struct Mark(usize);

impl Locals {
    pub fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    pub fn undo_to(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            match self.log.pop() {
                Some(Bound::Term(name)) => {
                    self.terms.get_mut(&name).and_then(Vec::pop);
                }
                Some(Bound::Type(name)) => {
                    self.types.get_mut(&name).and_then(Vec::pop);
                }
                None => return,
            }
        }
    }

    pub fn bind(&mut self, name: Name, term: Term) {
        self.log.push(Bound::Term(name.clone()));
        self.terms.entry(name).or_default().push(term);
    }

    pub fn bind_type(&mut self, name: Name, entry: TypeEntry) {
        self.log.push(Bound::Type(name.clone()));
        self.types.entry(name).or_default().push(entry);
    }

    pub fn term(&self, name: &str) -> Option<&Term> {
        self.terms.get(name).and_then(|terms| terms.last())
    }

    pub fn ty(&self, name: &str) -> Option<&TypeEntry> {
        self.types.get(name).and_then(|types| types.last())
    }

    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.terms.iter().filter(|(_, terms)| !terms.is_empty()).map(|(name, _)| name)
    }
}

/// The candidate closest in spelling, if it is close enough to be what was meant.
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a Name>) -> Option<&'a Name> {
    let limit = (name.chars().count() / 2).clamp(1, 2);
    candidates
        .filter(|candidate| candidate.starts_with(|first: char| first.is_alphabetic() || first == '_'))
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && candidate.as_str() != name)
        .min()
        .map(|(_, candidate)| candidate)
}

fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, left_char) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right_char) in right.iter().enumerate() {
            let substitution = diagonal + usize::from(left_char != *right_char);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
