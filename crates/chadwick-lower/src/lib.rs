//! Typed tree to Core.
//!
//! Definitions are lowered once per instance (their type arguments without sizes); sizes are passed as arguments. Records are
//! flattened, patterns compiled to matches, and functions marked `inline` (most of the prelude) are inlined, so that `map f xs`
//! becomes a `build` whose body is the body of `f`.

mod apply;
mod arrays;
mod entries;
mod equality;
mod exp;
mod free;
mod intrinsics;
mod ltype;
mod matching;
mod sizes;
mod specialise;
mod value;

use chadwick_core::typing::{self, TypeEnvironment};
use chadwick_core::{
    Atom, Binder, Block, Const, Function, FunctionId, Lambda, Op, PrimOp, Program, Statement, Type, TypeDefinition, TypeId, Var,
};
use chadwick_source::{Diagnostic, FileId, Name, Span};
use chadwick_types::tree::{self, Definition};
use chadwick_types::ty::VarId;
use ltype::{Erased, LType};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Larger programs are refused.
const MOST_EXPRESSIONS: usize = 2_000_000;

/// Lowers every entry point of a checked program and what it needs.
pub fn lower(program: &tree::Program) -> Result<Program, Vec<Diagnostic>> {
    let mut lowerer = Lowerer::new(program);
    for id in &program.entries {
        if let Some(definition) = lowerer.definitions.get(id).cloned() {
            lowerer.entry(&definition);
        }
    }
    lowerer.finish()
}

pub(crate) struct Lowerer<'t> {
    tree: &'t tree::Program,
    definitions: FxHashMap<VarId, Rc<Definition>>,
    core: Program,
    var_types: Vec<Option<Type>>,
    blocks: Vec<Vec<Statement>>,
    instances: FxHashMap<InstanceKey, FunctionId>,
    named_instances: FxHashMap<Erased, TypeId>,
    equalities: FxHashMap<Erased, FunctionId>,
    /// Instances whose bodies are still to be lowered.
    waiting: Vec<apply::Waiting>,
    /// Definitions being inlined, from the outside in.
    inlining: Rc<[VarId]>,
    /// Files whose definitions are being inlined elsewhere, each with the call that asked for it: what is inlined is said to be there.
    sites: Vec<(FileId, Span)>,
    /// Whether an `#[unroll]` stands around the expression.
    unroll: bool,
    errors: Vec<Diagnostic>,
    /// How many expressions were lowered, those of inlined functions once for each call.
    lowered: usize,
    /// Set when a type or the program is too large: nothing more is lowered.
    stopped: bool,
    reported: FxHashSet<Span>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InstanceKey {
    id: VarId,
    types: Vec<Erased>,
    /// For local functions: the types around them and what they capture.
    context: Vec<(u32, CapturedKey)>,
    around: Vec<(chadwick_types::ty::ParamId, Erased)>,
    /// For arguments that are known functions: which.
    functions: Vec<Option<String>>,
}

/// What makes captured values the same for an instance: the code of known functions, the types of others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CapturedKey {
    Function(String),
    Data(Vec<Type>),
}

impl<'t> Lowerer<'t> {
    fn new(tree: &'t tree::Program) -> Self {
        Lowerer {
            tree,
            definitions: tree.definitions.iter().map(|definition| (definition.id, definition.clone())).collect(),
            core: Program::default(),
            var_types: Vec::new(),
            blocks: Vec::new(),
            instances: FxHashMap::default(),
            named_instances: FxHashMap::default(),
            equalities: FxHashMap::default(),
            waiting: Vec::new(),
            inlining: Rc::from([]),
            sites: Vec::new(),
            unroll: false,
            errors: Vec::new(),
            lowered: 0,
            stopped: false,
            reported: FxHashSet::default(),
        }
    }

    fn finish(mut self) -> Result<Program, Vec<Diagnostic>> {
        while !self.stopped
            && let Some(waiting) = self.waiting.pop()
        {
            self.lower_instance(waiting);
        }
        if self.errors.is_empty() { Ok(self.core) } else { Err(self.errors) }
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>, hint: &str) {
        let span = self.site(span);
        if !self.stopped && self.reported.insert(span) {
            self.errors.push(Diagnostic::error(code, span, message).hint(hint));
        }
    }

    /// Whether so many more expressions may be lowered. Lambdas are put in place of their calls, and cases of a match behind every
    /// combination of tests that leads to them, so a few of them can make a program that has no end to speak of.
    fn require_room(&mut self, expressions: usize, span: Span) -> bool {
        self.lowered += expressions;
        if self.lowered > MOST_EXPRESSIONS && !self.stopped {
            let message = format!(
                "the program has more than {MOST_EXPRESSIONS} expressions when functions are put in place of their calls and cases behind their tests"
            );
            self.error(
                "E0305",
                span,
                message,
                "define what is called often with `def` or `let f x = …`, which are compiled once",
            );
            self.stopped = true;
        }
        !self.stopped
    }

    // ------------------------------------------------------------------------------------------------------------ emitting

    fn fresh(&mut self, name: impl Into<Name>, ty: Type) -> Binder {
        let var = self.core.fresh(name);
        self.declare(var, ty.clone());
        Binder { var, ty }
    }

    fn declare(&mut self, var: Var, ty: Type) {
        let at = var.0 as usize;
        if self.var_types.len() <= at {
            self.var_types.resize(at + 1, None);
        }
        self.var_types[at] = Some(ty);
    }

    /// An index variable.
    fn index_var(&mut self, name: &str) -> Var {
        self.fresh(name, Type::I64).var
    }

    fn type_of(&self, atom: &Atom) -> Type {
        typing::atom_type(self, atom).unwrap_or(Type::BOOL)
    }

    /// Appends a statement; the types of its results are inferred.
    fn emit(&mut self, op: Op, span: Span) -> Vec<Atom> {
        self.emit_named("", op, span)
    }

    fn emit_named(&mut self, name: &str, op: Op, span: Span) -> Vec<Atom> {
        match typing::result_types(self, &op) {
            Ok(types) => self.emit_typed(name, op, types, span),
            Err(problem) => {
                self.error("E0399", span, format!("this expression has no Core form: {problem}"), "please report this program");
                Vec::new()
            }
        }
    }

    fn emit_typed(&mut self, name: &str, op: Op, types: Vec<Type>, span: Span) -> Vec<Atom> {
        let binders: Vec<Binder> = types.into_iter().map(|ty| self.fresh(name, ty)).collect();
        let span = self.site(span);
        let atoms = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        if let Some(block) = self.blocks.last_mut() {
            block.push(Statement { binders, op, span });
        }
        atoms
    }

    /// Where code is as the reader of the program sees it: code of a library that is inlined is at its call.
    fn site(&self, span: Span) -> Span {
        self.sites.iter().rev().find(|(file, _)| *file == span.file).map_or(span, |(_, call)| *call)
    }

    fn emit_one(&mut self, op: Op, span: Span) -> Atom {
        self.emit(op, span).into_iter().next().unwrap_or(Atom::Const(Const::I64(-1)))
    }

    fn prim(&mut self, op: PrimOp, args: Vec<Atom>, span: Span) -> Atom {
        self.emit_one(Op::Prim(op, args), span)
    }

    /// A block of its own, made by a function that returns its results.
    fn block(&mut self, make: impl FnOnce(&mut Self) -> Vec<Atom>) -> Block {
        self.blocks.push(Vec::new());
        let results = make(self);
        Block { statements: self.blocks.pop().unwrap_or_default(), results }
    }

    fn lambda(&mut self, name: &str, params: Vec<Type>, make: impl FnOnce(&mut Self, Vec<Atom>) -> Vec<Atom>) -> Lambda {
        let params: Vec<Binder> = params.into_iter().map(|ty| self.fresh(name, ty)).collect();
        let atoms = params.iter().map(|param| Atom::Var(param.var)).collect();
        let body = self.block(|lowerer| make(lowerer, atoms));
        let results = body.results.iter().map(|result| self.type_of(result)).collect();
        Lambda { params, results, body }
    }

    /// Reserves a function; its body comes later.
    fn reserve(&mut self, name: Name, params: Vec<Binder>, results: Vec<Type>, span: Span) -> FunctionId {
        let id = FunctionId(self.core.functions.len() as u32);
        self.core.functions.push(Function { name, params, results, body: Block::default(), span });
        id
    }

    /// No type parameters.
    fn type_params(&self) -> ltype::TypeParams {
        Rc::new(FxHashMap::<_, LType>::default())
    }
}

impl TypeEnvironment for Lowerer<'_> {
    fn var_type(&self, var: Var) -> Option<&Type> {
        self.var_types.get(var.0 as usize).and_then(Option::as_ref)
    }

    fn function(&self, function: FunctionId) -> Option<&Function> {
        self.core.functions.get(function.0 as usize)
    }

    fn type_definition(&self, id: TypeId) -> Option<&TypeDefinition> {
        self.core.types.get(id.0 as usize)
    }
}
