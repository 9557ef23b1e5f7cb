//! Names, types, sizes and uniqueness: from the syntax tree to the typed tree.
//!
//! [`check`] takes parsed files and returns a [`tree::Program`] and diagnostics. It does no I/O.

mod apply;
mod binding;
mod bound;
mod checker;
mod endless;
mod entries;
mod env;
mod exhaustive;
mod existential;
mod exp;
mod hidden_sizes;
mod lets;
mod loops;
mod modules;
mod pattern;
mod signatures;
mod sizes;
mod subst;
pub mod tree;
pub mod ty;
mod type_exp;
mod unify;
mod uniqueness;
mod zonk;

pub use bound::MOST_NODES;
pub use checker::Sources;
pub use signatures::alias_of;
pub use subst::Subst;

use chadwick_source::{Diagnostic, SourceMap};
use chadwick_syntax::ast::DeclarationKind;
use checker::Checker;
use env::{Module, Term};
use std::rc::Rc;

/// What a check found.
pub struct Checked {
    pub program: tree::Program,
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a program with its imports and the prelude.
pub fn check(sources: &Sources, map: &SourceMap) -> Checked {
    let mut checker = Checker::new(sources, map);
    checker.load_prelude();
    let root = checker.sources.root;
    checker.imported.insert(root, None);
    checker.file(root);
    let program = tree::Program {
        definitions: checker.definitions,
        entries: checker.entries,
        named_types: checker.named,
        var_names: checker.vars.into_iter().map(|var| var.name).collect(),
    };
    Checked { program, diagnostics: once_each(checker.diagnostics) }
}

/// A module type is read again wherever it is used, so what is wrong in it is found again: the first report stays.
fn once_each(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut seen = rustc_hash::FxHashSet::default();
    let is_new = |diagnostic: &Diagnostic| seen.insert((diagnostic.code, diagnostic.primary.span, diagnostic.message.clone()));
    diagnostics.into_iter().filter(is_new).collect()
}

impl Checker<'_> {
    /// The first prelude file declares intrinsics (module types `operators`, which is opened, and `intrinsics`); the others are
    /// ordinary files, each opened for those that follow.
    fn load_prelude(&mut self) {
        let sources = self.sources;
        let Some((first, rest)) = sources.prelude.split_first() else { return };
        self.env.push(Rc::default());
        let primitives = self.primitive_types();
        self.env.push(primitives);
        if let Some(program) = sources.files.get(first).cloned() {
            for declaration in &program.declarations {
                let DeclarationKind::ModuleType(name, exp) = &declaration.kind else { continue };
                let scope = self.intrinsics(Self::written_specs(exp));
                if name.name == "operators" {
                    self.env.push(scope);
                } else {
                    self.env.innermost().terms.insert(name.name.clone(), Term::Module(Rc::new(Module::Structure(scope))));
                }
            }
        }
        for file in rest {
            let scope = self.file(*file);
            self.pop_prelude_locals();
            self.env.push(scope);
        }
        self.base = self.env.clone();
    }

    fn primitive_types(&self) -> Rc<env::Scope> {
        let mut scope = env::Scope::default();
        for prim in ty::Prim::ALL {
            let entry = env::TypeEntry { params: Vec::new(), body: ty::Type::Prim(prim), hidden: Vec::new() };
            scope.types.insert(prim.name().into(), entry);
        }
        Rc::new(scope)
    }

    fn pop_prelude_locals(&mut self) {
        for _ in 0..std::mem::take(&mut self.local_frames) {
            self.env.pop();
        }
    }
}
