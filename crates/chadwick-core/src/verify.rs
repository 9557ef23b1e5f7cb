//! The verifier: scoping, arities and types of a whole program.
//!
//! It never panics and reports everything it finds. Every variable is bound once and used where it is in scope; the results of every
//! operation have the types its rule gives (see [`crate::typing`]); every type is well formed.

use crate::term::*;
use crate::types::*;
use crate::typing::{self, TypeEnvironment, atom_types, result_types};
use chadwick_source::{Name, Span};

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The function in which it is broken.
    pub function: Name,
    /// The numbers of the statements that lead there, outermost first.
    pub path: Vec<usize>,
    pub span: Span,
    pub message: String,
}

impl std::fmt::Display for VerifyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "in {}, statement {:?}: {}", self.function, self.path, self.message)
    }
}

/// The broken rules of a program; none if it is well formed.
pub fn verify(program: &Program) -> Vec<VerifyError> {
    let mut verifier = Verifier {
        program,
        types: vec![None; program.var_names.len()],
        bound: vec![false; program.var_names.len()],
        in_scope: vec![false; program.var_names.len()],
        errors: Vec::new(),
        function: Name::default(),
        path: Vec::new(),
        span: Span::default(),
    };
    verifier.program();
    verifier.errors
}

struct Verifier<'p> {
    program: &'p Program,
    types: Vec<Option<Type>>,
    bound: Vec<bool>,
    in_scope: Vec<bool>,
    errors: Vec<VerifyError>,
    function: Name,
    path: Vec<usize>,
    span: Span,
}

impl TypeEnvironment for Verifier<'_> {
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

impl Verifier<'_> {
    fn report(&mut self, message: impl Into<String>) {
        let (function, path, span) = (self.function.clone(), self.path.clone(), self.span);
        self.errors.push(VerifyError { function, path, span, message: message.into() });
    }

    fn program(&mut self) {
        let program = self.program;
        for definition in &program.types {
            self.function = definition.name.clone();
            self.constructors(&definition.constructors);
        }
        for function in &program.functions {
            self.function = function.name.clone();
            self.path.clear();
            self.span = function.span;
            function.results.iter().for_each(|ty| self.ty(ty));
            let vars = self.bind_all(&function.params);
            self.body(&function.body, &function.results, "the function");
            self.leave(&vars);
        }
        for entry in &program.entries {
            self.function = entry.name.clone();
            self.path.clear();
            self.entry(entry);
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let Some(function) = self.program.functions.get(entry.function.0 as usize) else {
            return self.report("the entry has no function");
        };
        self.span = function.span;
        let all = |values: &[EntryValue]| values.iter().flat_map(|value| value.types.clone()).collect::<Vec<Type>>();
        let params: Vec<Type> = function.params.iter().map(|param| param.ty.clone()).collect();
        if !all_compatible(&all(&entry.params), &params) {
            self.report("the parameters of the entry are not those of its function");
        }
        if !all_compatible(&all(&entry.results), &function.results) {
            self.report("the results of the entry are not those of its function");
        }
        if entry.params.iter().chain(&entry.results).any(|value| value.paths.len() != value.types.len()) {
            self.report("a parameter or result of the entry whose parts have no places");
        }
    }

    fn constructors(&mut self, constructors: &[Constructor]) {
        if constructors.is_empty() {
            self.report("a sum type without constructors");
        }
        for constructor in constructors {
            constructor.payload.iter().for_each(|ty| self.ty(ty));
        }
    }

    /// Reports what is wrong inside a type.
    fn ty(&mut self, ty: &Type) {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || match ty {
            Type::Prim(_) => {}
            Type::Array(array) => {
                if array.dims.is_empty() {
                    self.report("an array type without dimensions");
                }
                if array.dims.iter().any(|dim| matches!(dim, Dim::Const(size) if *size < 0)) {
                    self.report("an array type with a negative size");
                }
                match &array.element {
                    Element::Boxed(element) => match **element {
                        Type::Sum(_) | Type::Named(_) | Type::Function(_) => self.ty(element),
                        _ => self.report("an array of boxes that hold neither a sum nor a function"),
                    },
                    Element::Prim(_) | Element::Unit => {}
                }
            }
            Type::Sum(constructors) => self.constructors(constructors),
            Type::Named(id) => {
                if self.program.types.get(id.0 as usize).is_none() {
                    self.report(format!("no type {}", id.0));
                }
            }
            Type::Function(function) => function.params.iter().chain(&function.results).for_each(|ty| self.ty(ty)),
            Type::Accumulator(content) => self.ty(content),
            Type::Log(log) => log.values.iter().for_each(|ty| self.ty(ty)),
        });
    }

    fn bind(&mut self, var: Var, ty: &Type) {
        let at = var.0 as usize;
        if at >= self.bound.len() {
            return self.report(format!("variable {} has no name", var.0));
        }
        if std::mem::replace(&mut self.bound[at], true) {
            self.report(format!("variable {} is bound twice", var.0));
        }
        self.ty(ty);
        self.types[at] = Some(ty.clone());
        self.in_scope[at] = true;
    }

    fn bind_all(&mut self, binders: &[Binder]) -> Vec<Var> {
        binders.iter().for_each(|binder| self.bind(binder.var, &binder.ty));
        binders.iter().map(|binder| binder.var).collect()
    }

    /// Ends the scope of variables.
    fn leave(&mut self, vars: &[Var]) {
        for var in vars {
            if let Some(in_scope) = self.in_scope.get_mut(var.0 as usize) {
                *in_scope = false;
            }
        }
    }

    fn atom(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom
            && !self.in_scope.get(var.0 as usize).copied().unwrap_or(false)
        {
            self.report(format!("variable {} is used out of its scope", var.0));
        }
    }

    fn block(&mut self, block: &Block) -> Vec<Var> {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || {
            let mut bound = Vec::new();
            for (at, statement) in block.statements.iter().enumerate() {
                self.path.push(at);
                let before = self.span;
                self.span = statement.span;
                self.statement(statement);
                bound.extend(self.bind_all(&statement.binders));
                self.span = before;
                self.path.pop();
            }
            block.results.iter().for_each(|atom| self.atom(atom));
            bound
        })
    }

    /// A block whose results must have the types.
    fn body(&mut self, block: &Block, results: &[Type], what: &str) {
        let bound = self.block(block);
        match atom_types(self, &block.results) {
            Ok(found) if all_compatible(&found, results) => {}
            Ok(found) => self.report(format!("{what} returns {found:?}, not {results:?}")),
            Err(message) => self.report(message),
        }
        self.leave(&bound);
    }

    /// A block with binders; its variables keep their types but leave the scope.
    fn scope(&mut self, binders: &[Binder], block: &Block) {
        let vars = self.bind_all(binders);
        let bound = self.block(block);
        self.leave(&bound);
        self.leave(&vars);
    }

    fn lambda(&mut self, lambda: &Lambda) {
        lambda.results.iter().for_each(|ty| self.ty(ty));
        let vars = self.bind_all(&lambda.params);
        self.body(&lambda.body, &lambda.results, "the lambda");
        self.leave(&vars);
    }

    fn space(&mut self, space: &[Axis], block: &Block) {
        let binders: Vec<Binder> = space.iter().map(|axis| Binder { var: axis.var, ty: Type::I64 }).collect();
        self.scope(&binders, block);
    }

    fn statement(&mut self, statement: &Statement) {
        let op = &statement.op;
        let mut operands = Vec::new();
        op.for_each_atom(&mut |atom| operands.push(atom.clone()));
        operands.iter().for_each(|atom| self.atom(atom));
        self.nested(op);
        match self.results(statement) {
            Ok(found) => {
                let wanted: Vec<Type> = statement.binders.iter().map(|binder| binder.ty.clone()).collect();
                if !all_compatible(&found, &wanted) {
                    self.report(format!("the results have types {found:?}, the binders {wanted:?}"));
                }
            }
            Err(message) => self.report(message),
        }
    }

    /// The types of the results. A `build` also makes arrays of units, for which its body gives nothing.
    fn results(&self, statement: &Statement) -> typing::TypingResult<Vec<Type>> {
        let mut found = result_types(self, &statement.op)?;
        if let Op::Build { space, .. } = &statement.op {
            for (at, binder) in statement.binders.iter().enumerate() {
                if is_unit_array(&binder.ty, space.len()) && at <= found.len() {
                    found.insert(at, binder.ty.clone());
                }
            }
        }
        Ok(found)
    }

    fn nested(&mut self, op: &Op) {
        match op {
            Op::If { then, otherwise, .. } => {
                self.scope(&[], then);
                self.scope(&[], otherwise);
            }
            Op::Closure(lambda) => self.lambda(lambda),
            Op::Construct { ty, .. } | Op::ArrayLiteral { ty, .. } => self.ty(ty),
            Op::Match { arms, otherwise, .. } => {
                arms.iter().for_each(|arm| self.scope(&arm.binders, &arm.body));
                otherwise.iter().for_each(|block| self.scope(&[], block));
            }
            Op::Build { space, body, .. } | Op::Scatter { space, body, .. } => self.space(space, body),
            Op::Reduce { space, op, body, .. } | Op::Hist { space, op, body, .. } => {
                self.space(space, body);
                self.lambda(op);
            }
            Op::Scan { axis, op, body, .. } => {
                self.space(std::slice::from_ref(axis), body);
                self.lambda(op);
            }
            Op::Loop(the_loop) => {
                if the_loop.carry.len() != the_loop.initial.len() {
                    self.report("as many initial values as carried ones are needed");
                }
                let mut vars = self.bind_all(&the_loop.carry);
                match &the_loop.form {
                    LoopForm::For { index, .. } => {
                        self.bind(index.var, &index.ty);
                        vars.push(index.var);
                    }
                    LoopForm::While { condition } => self.scope(&[], condition),
                }
                let bound = self.block(&the_loop.body);
                self.leave(&bound);
                self.leave(&vars);
            }
            Op::Par { left, right } => {
                self.scope(&[], left);
                self.scope(&[], right);
            }
            Op::Recompute(block) => self.scope(&[], block),
            Op::Differentiate(it) => self.lambda(&it.function),
            Op::Custom(it) => {
                self.lambda(&it.function);
                self.lambda(&it.rule);
            }
            Op::WithAccumulators { handles, body, .. } => self.scope(handles, body),
            Op::WithLog { handle, body, .. } => self.scope(std::slice::from_ref(handle), body),
            _ => {}
        }
    }
}

/// Whether indexing by all of so many axes would leave nothing but a unit.
pub fn is_unit_array(ty: &Type, axes: usize) -> bool {
    matches!(ty, Type::Array(array) if array.element == Element::Unit && array.dims.len() == axes)
}
