//! A builder of blocks.
//!
//! It keeps a stack of open blocks and the type of every variable it has seen. Nothing is folded or simplified: what is pushed is
//! what the block holds.
//!
//! ```
//! use chadwick_core::*;
//! let mut program = Program::default();
//! let mut b = Builder::new(&mut program);
//! let x = b.param("x", Type::F64);
//! b.push_block();
//! let y = b.prim(PrimOp::Binary(BinaryOp::Mul, Prim::F64), [x.var.into(), x.var.into()]);
//! let body = b.pop_block(vec![y]);
//! let function = Function { name: "square".into(), params: vec![x], results: vec![Type::F64], body, span: Default::default() };
//! program.functions.push(function);
//! ```

use crate::prim::PrimOp;
use crate::term::*;
use crate::types::*;
use crate::typing::{self, TypeEnvironment, TypingResult};
use chadwick_source::{Name, Span};

pub struct Builder<'p> {
    program: &'p mut Program,
    types: Vec<Option<Type>>,
    blocks: Vec<Vec<Statement>>,
    span: Span,
}

impl<'p> Builder<'p> {
    pub fn new(program: &'p mut Program) -> Self {
        Builder { program, types: Vec::new(), blocks: Vec::new(), span: Span::default() }
    }

    pub fn program(&self) -> &Program {
        self.program
    }

    pub fn program_mut(&mut self) -> &mut Program {
        self.program
    }

    /// The span given to the statements that follow.
    pub fn set_span(&mut self, span: Span) {
        self.span = span;
    }

    pub fn span(&self) -> Span {
        self.span
    }

    /// The statements of the open blocks, so those that come before the next one.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.blocks.iter().flatten()
    }

    /// A new variable with a type; bound by whoever uses the binder.
    pub fn param(&mut self, name: impl Into<Name>, ty: Type) -> Binder {
        let var = self.program.fresh(name);
        self.declare(var, ty.clone());
        Binder { var, ty }
    }

    /// Tells the builder the type of a variable that was made elsewhere.
    pub fn declare(&mut self, var: Var, ty: Type) {
        let at = var.0 as usize;
        if self.types.len() <= at {
            self.types.resize(at + 1, None);
        }
        self.types[at] = Some(ty);
    }

    pub fn type_of(&self, atom: &Atom) -> TypingResult<Type> {
        typing::atom_type(self, atom)
    }

    /// What `op` would bind.
    pub fn result_types(&self, op: &Op) -> TypingResult<Vec<Type>> {
        typing::result_types(self, op)
    }

    pub fn push_block(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Closes the innermost open block. Without one the block has no statements.
    pub fn pop_block(&mut self, results: Vec<Atom>) -> Block {
        Block { statements: self.blocks.pop().unwrap_or_default(), results }
    }

    /// A block made by a function that returns its results.
    pub fn block(&mut self, make: impl FnOnce(&mut Self) -> Vec<Atom>) -> Block {
        self.push_block();
        let results = make(self);
        self.pop_block(results)
    }

    /// A lambda made by a function from its parameters to its results.
    pub fn lambda(
        &mut self,
        params: impl IntoIterator<Item = (Name, Type)>,
        make: impl FnOnce(&mut Self, &[Atom]) -> Vec<Atom>,
    ) -> TypingResult<Lambda> {
        let params: Vec<Binder> = params.into_iter().map(|(name, ty)| self.param(name, ty)).collect();
        let atoms: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var)).collect();
        let body = self.block(|b| make(b, &atoms));
        let results = typing::atom_types(self, &body.results)?;
        Ok(Lambda { params, results, body })
    }

    /// Appends a statement to the innermost open block; one result per type.
    pub fn push(&mut self, op: Op, result_types: Vec<Type>, span: Span) -> Vec<Atom> {
        self.push_named("", op, result_types, span)
    }

    /// [`Builder::push`] with a name for the results.
    pub fn push_named(&mut self, name: &str, op: Op, result_types: Vec<Type>, span: Span) -> Vec<Atom> {
        let binders: Vec<Binder> = result_types.into_iter().map(|ty| self.param(name, ty)).collect();
        let atoms = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        if self.blocks.is_empty() {
            self.blocks.push(Vec::new());
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(Statement { binders, op, span });
        }
        atoms
    }

    /// Appends a finished statement to the innermost open block; its binders become known.
    pub fn push_statement(&mut self, statement: Statement) {
        for binder in &statement.binders {
            self.declare(binder.var, binder.ty.clone());
        }
        if self.blocks.is_empty() {
            self.blocks.push(Vec::new());
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(statement);
        }
    }

    /// Appends a statement whose result types are inferred.
    pub fn emit(&mut self, op: Op) -> TypingResult<Vec<Atom>> {
        let types = self.result_types(&op)?;
        Ok(self.push(op, types, self.span))
    }

    /// Appends a primitive operation.
    pub fn prim(&mut self, op: PrimOp, args: impl Into<Vec<Atom>>) -> Atom {
        let mut results = self.push(Op::Prim(op, args.into()), vec![Type::Prim(op.result())], self.span);
        results.swap_remove(0)
    }
}

impl TypeEnvironment for Builder<'_> {
    fn var_type(&self, var: Var) -> Option<&Type> {
        self.types.get(var.0 as usize).and_then(Option::as_ref)
    }

    fn function(&self, function: FunctionId) -> Option<&Function> {
        self.program.functions.get(function.0 as usize)
    }

    fn type_definition(&self, id: TypeId) -> Option<&TypeDefinition> {
        self.program.types.get(id.0 as usize)
    }
}
