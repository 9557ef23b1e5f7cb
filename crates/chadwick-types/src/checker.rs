//! The state of a check, and how it reports.

use crate::env::{Env, Locals, Scope, Term, ValueEntry};
use crate::sizes::{Deferred, KnownFunction};
use crate::tree::{Definition, NamedType, SizeCheck};
use crate::ty::{Arrow, NamedId, ParamId, Prim, Scheme, Size, Type, TypeVar, VarId};
use crate::unify::{Constraint, Mismatch, OnSizes, SizeState, TypeState};
use chadwick_source::{Diagnostic, FileId, Name, SourceMap, Span};
use chadwick_syntax::ast;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What is known of a value variable.
#[derive(Clone, Debug)]
pub struct VarInfo {
    pub name: Name,
    /// How many blocks were open where it was bound; 0 for top-level definitions.
    pub depth: u32,
    /// For an `i64` bound to a size: which.
    pub size: Option<Size>,
}

/// All parsed files of a program: imports are resolved, nothing is read here.
#[derive(Default)]
pub struct Sources {
    pub files: FxHashMap<FileId, Rc<ast::Program>>,
    /// Which file an import in a file means.
    pub imports: FxHashMap<(FileId, String), FileId>,
    /// Opened in order before any other file.
    pub prelude: Vec<FileId>,
    pub root: FileId,
}

pub struct Checker<'a> {
    pub sources: &'a Sources,
    pub map: &'a SourceMap,
    pub diagnostics: Vec<Diagnostic>,

    pub vars: Vec<VarInfo>,
    pub named: Vec<NamedType>,
    pub next_param: u32,
    pub definitions: Vec<Rc<Definition>>,
    pub entries: Vec<VarId>,
    pub known_functions: FxHashMap<VarId, KnownFunction>,
    /// Abstract types from this one on may be looked through: they are made for the module that is matched with its type just now.
    pub transparent_from: Option<NamedId>,
    /// The recursive functions whose definitions are being checked.
    pub being_defined: Vec<VarId>,
    /// Whether a value is compared with its spec in a module type just now.
    pub matching_spec: bool,
    /// Pairs of function types whose hidden sizes are compared when more is known, while an argument is compared with its parameter.
    pub met_later: Option<Vec<(Arrow, Arrow)>>,
    /// Parameters of function types that were compared with others.
    pub arrow_params: FxHashSet<VarId>,
    /// Whether the types of branches are compared just now, and whether in the result of a function.
    pub comparing_branches: bool,
    pub in_result_of_branch: bool,
    /// Whether an expression is given a type just now: that says nothing about the parts of its sizes.
    pub coercing: bool,
    /// Where literals stand that are negated: the lowest integer of a type is the negative of one that the type does not have.
    pub negated: FxHashSet<Span>,
    /// Functions whose result type is not written.
    pub unannotated: FxHashSet<VarId>,
    /// Of those, the ones whose result shares memory with nothing, with how many parameters they have.
    pub fresh_results: FxHashMap<VarId, usize>,
    /// Functions with parameters of which nothing says what kind of number they are, and what they are therefore.
    pub defaulted: FxHashMap<VarId, Prim>,
    /// Names of the local functions around that cannot call themselves.
    pub not_recursive: Vec<Name>,
    /// How deep the definitions are that local type parameters belong to.
    pub param_levels: FxHashMap<ParamId, u32>,
    /// What the type parameters of overloaded definitions may be.
    pub param_classes: FxHashMap<ParamId, Constraint>,

    pub env: Env,
    /// The prelude's names: where every file starts.
    pub base: Env,
    /// Scopes below the one being defined that `local` and `import` put there.
    pub local_frames: u32,
    pub module_depth: u32,
    /// How many modules were applied, and module types used.
    pub modules_made: usize,
    pub locals: Locals,
    pub file: FileId,
    pub imported: FxHashMap<FileId, Option<Rc<Scope>>>,

    /// Of the definition being checked.
    pub type_vars: Vec<TypeState>,
    pub size_vars: Vec<SizeState>,
    pub check_sets: Vec<Vec<SizeCheck>>,
    pub deferred: Vec<Deferred>,
    /// Texts of sizes that are no polynomials, numbered.
    pub size_keys: RefCell<FxHashMap<String, u32>>,
    pub ambient_checks: Option<u32>,
    /// The type being defined, which its definition does not know.
    pub defined_type: Option<Name>,
    pub level: u32,
    pub depth: u32,
    /// Whether a type was met that is too large to be walked and has not been reported.
    pub too_large: Cell<bool>,
    /// Whether that was reported in the definition being checked.
    pub said_too_large: bool,
    /// How many comparisons of parts are left to the comparison of types under way, if there is one.
    pub comparisons_left: Option<usize>,
}

impl<'a> Checker<'a> {
    pub fn new(sources: &'a Sources, map: &'a SourceMap) -> Self {
        Checker {
            sources,
            map,
            diagnostics: Vec::new(),
            vars: Vec::new(),
            named: Vec::new(),
            next_param: 0,
            definitions: Vec::new(),
            entries: Vec::new(),
            known_functions: FxHashMap::default(),
            transparent_from: None,
            being_defined: Vec::new(),
            met_later: None,
            arrow_params: FxHashSet::default(),
            comparing_branches: false,
            in_result_of_branch: false,
            matching_spec: false,
            coercing: false,
            negated: FxHashSet::default(),
            unannotated: FxHashSet::default(),
            fresh_results: FxHashMap::default(),
            defaulted: FxHashMap::default(),
            not_recursive: Vec::new(),
            param_levels: FxHashMap::default(),
            param_classes: FxHashMap::default(),
            env: Env::default(),
            base: Env::default(),
            local_frames: 0,
            module_depth: 0,
            modules_made: 0,
            locals: Locals::default(),
            file: sources.root,
            imported: FxHashMap::default(),
            type_vars: Vec::new(),
            size_vars: Vec::new(),
            check_sets: Vec::new(),
            deferred: Vec::new(),
            size_keys: RefCell::default(),
            ambient_checks: None,
            defined_type: None,
            level: 0,
            depth: 0,
            too_large: Cell::new(false),
            said_too_large: false,
            comparisons_left: None,
        }
    }

    pub fn fresh_var(&mut self, name: Name) -> VarId {
        self.vars.push(VarInfo { name, depth: self.depth, size: None });
        VarId(self.vars.len() as u32 - 1)
    }

    pub fn fresh_param(&mut self) -> ParamId {
        self.next_param += 1;
        ParamId(self.next_param - 1)
    }

    pub fn fresh_named(&mut self, named: NamedType) -> NamedId {
        self.named.push(named);
        NamedId(self.named.len() as u32 - 1)
    }

    pub fn bind_local(&mut self, name: &Name, id: VarId, scheme: Scheme) {
        self.locals.bind(name.clone(), Term::Value(ValueEntry { id, scheme: Rc::new(scheme) }));
    }

    pub fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Diagnostic::error(code, span, message))
    }

    pub fn warning(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Diagnostic::warning(code, span, message))
    }

    /// Whether something is wrong already, so that what follows may only be a consequence.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    pub fn report(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        let index = self.diagnostics.len();
        self.diagnostics.push(diagnostic);
        &mut self.diagnostics[index]
    }

    /// A type as a person would write it: solved variables are replaced, open ones are described.
    pub fn show(&self, ty: &Type) -> String {
        let text = self.described(&self.resolve(ty), &mut Vec::new()).to_string();
        const LIMIT: usize = 300;
        match text.char_indices().nth(LIMIT) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    }

    /// The type with a word for each open variable: what it must be, or a letter.
    fn described(&self, ty: &Type, letters: &mut Vec<TypeVar>) -> Type {
        match ty {
            Type::Var(var) => {
                let word = match &self.type_vars[var.0 as usize] {
                    TypeState::Unbound { constraint, .. } => constraint.word(),
                    TypeState::Bound(_) => None,
                };
                let letter = |letters: &mut Vec<TypeVar>| {
                    let at = letters.iter().position(|known| known == var).unwrap_or(letters.len());
                    if at == letters.len() {
                        letters.push(*var);
                    }
                    Name::from(char::from(b'a' + (at % 26) as u8).to_string())
                };
                let name = word.map_or_else(|| letter(letters), Name::from);
                Type::Param(ParamId(u32::MAX), name)
            }
            Type::Record(fields) => {
                Type::Record(fields.iter().map(|(name, ty)| (name.clone(), self.described(ty, letters))).collect())
            }
            Type::Sum(constructors) => Type::Sum(
                constructors
                    .iter()
                    .map(|(name, payload)| (name.clone(), payload.iter().map(|ty| self.described(ty, letters)).collect()))
                    .collect(),
            ),
            Type::Array(size, element) => Type::array(size.clone(), self.described(element, letters)),
            Type::Arrow(arrow) => {
                let mut arrow = (**arrow).clone();
                arrow.from = self.described(&arrow.from, letters);
                arrow.to.ty = self.described(&arrow.to.ty, letters);
                Type::Arrow(Rc::new(arrow))
            }
            other => other.clone(),
        }
    }

    /// Unifies and reports a mismatch as an error about `what`.
    pub fn expect(&mut self, expected: &Type, actual: &Type, on_sizes: OnSizes, span: Span, what: &str) -> bool {
        // What is known of it before it is compared.
        let word = match self.shallow(actual) {
            Type::Var(var) => match &self.type_vars[var.0 as usize] {
                TypeState::Unbound { constraint, .. } => constraint.word(),
                TypeState::Bound(_) => None,
            },
            _ => None,
        };
        match self.unify(expected, actual, on_sizes, span) {
            Ok(()) => true,
            Err(mismatch) => {
                let (expected, actual) = (self.show(expected), self.show(actual));
                let label = match (&mismatch, word) {
                    (Mismatch::Constraint(_), Some(word)) => format!("this has some {word} type"),
                    _ => format!("this has type {actual}"),
                };
                let diagnostic = match &mismatch {
                    // Abstract types of two modules may have one name.
                    Mismatch::Types(..) if expected == actual => {
                        Diagnostic::error("E0201", span, format!("{what}: expected {expected}, found another type of that name"))
                    }
                    Mismatch::Types(..) => {
                        Diagnostic::error("E0201", span, format!("{what}: expected {expected}, found {actual}"))
                    }
                    Mismatch::Constraint(text) => {
                        let text = match word {
                            Some(word) => format!("{what}: expected {expected}, found some {word} type"),
                            None => format!("{what}: {text}"),
                        };
                        Diagnostic::error("E0204", span, text)
                    }
                    other => {
                        self.report_labelled(other, label, span);
                        return false;
                    }
                };
                let mut diagnostic = diagnostic.here(label);
                if let Mismatch::Types(inner_expected, inner_actual) = &mismatch {
                    let whole = self.show(inner_expected) == expected;
                    diagnostic.hint = self.mismatch_hint(inner_expected, inner_actual, whole);
                }
                self.diagnostics.push(diagnostic);
                false
            }
        }
    }

    fn mismatch_hint(&self, expected: &Type, actual: &Type, whole: bool) -> Option<String> {
        match (self.shallow(expected), self.shallow(actual)) {
            (Type::Prim(expected), Type::Prim(actual)) if expected.is_float() || expected.is_integer() => Some(match whole {
                true => format!("convert it: `{}.{} e`", expected.name(), actual.name()),
                false => format!("convert the part that differs: `{}.{}`", expected.name(), actual.name()),
            }),
            (Type::Prim(Prim::Bool), Type::Prim(_)) => Some(String::from("compare it, as in `e != 0`")),
            (_, Type::Arrow(_)) => Some(String::from("a function is given here; is an argument missing?")),
            (Type::Named(_, expected, _), Type::Named(_, actual, _)) if expected == actual => {
                Some(String::from("both types are abstract, each in a module of its own"))
            }
            _ if whole => None,
            (expected, actual) => {
                let (expected, actual) = (self.show(&expected), self.show(&actual));
                Some(format!("the parts that differ are {expected} and {actual}"))
            }
        }
    }

    pub fn report_labelled(&mut self, mismatch: &Mismatch, label: String, span: Span) {
        self.report_mismatch(mismatch, span);
        if let Some(last) = self.diagnostics.last_mut() {
            last.primary.text = label;
        }
    }

    pub fn report_mismatch(&mut self, mismatch: &Mismatch, span: Span) {
        match mismatch {
            Mismatch::Types(expected, actual) => {
                let (expected, actual) = (self.show(expected), self.show(actual));
                self.error("E0201", span, format!("expected {expected}, found {actual}"));
            }
            Mismatch::Sizes(expected, actual) => {
                self.error("E0202", span, format!("sizes {expected} and {actual} do not match: they can never be equal")).hint =
                    Some(String::from("give both arrays the same length"));
            }
            Mismatch::Infinite(ty) => {
                let ty = self.show(ty);
                self.error("E0203", span, format!("occurs check: a type would have to contain itself: {ty}"));
            }
            Mismatch::Constraint(text) => {
                self.error("E0204", span, text.clone());
            }
            Mismatch::TooLarge => {
                self.too_large.set(true);
                self.report_too_large(span);
            }
            Mismatch::Scope(name) => {
                self.error("E0226", span, format!("scope violation: type parameter {name} is not known outside its function"))
                    .hint = Some(String::from("annotate what comes from outside with its own type"));
            }
            Mismatch::HiddenSize(expected, actual) => {
                let (expected, actual) = (self.show(expected), self.show(actual));
                let message = format!("the size of {actual} is only known when it is there, but {expected} is expected");
                self.error("E0219", span, message).hint = Some(String::from("promise the size: `\\x -> f x :> [n]t`"));
            }
            Mismatch::Consumption => {
                self.error(
                    "E0205",
                    span,
                    "a function that consumes its argument is given where a non-consuming one is expected",
                )
                .hint = Some(String::from("wrap it: `\\x -> f (copy x)`"));
            }
        }
    }
}
