//! Reverse mode by a record of the forward pass whose type follows the program (Ellis et al., section 11, figures 24 and 25).
//!
//! `f_fbog : S → (T, B[e])` runs the function and gives its record; `f_rbog : (δT, B[e]) → δS` reads nothing else. The record of a block is
//! that of its statements, one behind the other; that of a build is an array for each part of its body's; that of a conditional has the
//! constructor of the branch that was taken. The program is in the single-use dialect ([`single_use`]), so that each variable gets
//! its cotangent once; `dup` adds.
//!
//! The reverse pass of a build sums over what its body captures. Those sums are accumulated, so that no iteration costs a whole array.

mod loops;
mod prepare;
mod reverse;
pub(super) mod single_use;
mod views;

use super::procedure::kept_by;

use crate::context::{Context, boxed};
use chadwick_core::visit::free_variables;
use chadwick_core::{Atom, Axis, Binder, Block, Const, Constructor, Dim, Element, FunctionId, Lambda, Op, Statement, Type, Var};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;
use single_use::{single_use, used_twice};
use std::rc::Rc;

/// Both functions of a function, and the record between them.
#[derive(Clone)]
struct Known {
    forward: FunctionId,
    reverse: FunctionId,
    record: Vec<Type>,
}

/// Where the cotangent of a variable is.
#[derive(Clone)]
enum Cotangent {
    Value(Atom),
    /// In an accumulator.
    Handle(Atom),
}

type Cotangents = FxHashMap<Var, Cotangent>;

pub(super) struct Bog<'c, 'p> {
    context: &'c mut Context<'p>,
    functions: FxHashMap<FunctionId, Known>,
    open: Vec<FunctionId>,
}

impl<'c, 'p> Bog<'c, 'p> {
    pub fn new(context: &'c mut Context<'p>) -> Self {
        Bog { context, functions: FxHashMap::default(), open: Vec::new() }
    }

    /// A function from arguments and cotangents of the results to the results and cotangents of the arguments that carry one.
    pub fn reverse_function(&mut self, function: FunctionId) -> Option<FunctionId> {
        let source = self.context.program().functions.get(function.0 as usize)?.clone();
        let known = self.function(function, source.span)?;
        let params: Vec<Binder> = source.params.iter().map(|param| self.context.fresh("x", param.ty.clone())).collect();
        let seeds = source.results.iter().filter(|ty| self.context.carries(ty)).map(Type::any_sizes).collect::<Vec<_>>();
        let seeds: Vec<Binder> = seeds.into_iter().map(|ty| self.context.fresh("dr", ty)).collect();
        let atoms = |binders: &[Binder]| binders.iter().map(|binder| Atom::Var(binder.var)).collect::<Vec<_>>();
        let body = self.context.block(|context| {
            let mut values = context.emit(Op::Call { function: known.forward, args: atoms(&params) }, source.span);
            let record = values.split_off(source.results.len());
            let args = [atoms(&seeds), record].concat();
            [values, context.emit(Op::Call { function: known.reverse, args }, source.span)].concat()
        });
        let inputs = source.params.iter().filter(|param| self.context.carries(&param.ty)).map(|param| param.ty.any_sizes());
        let types = source.results.iter().cloned().chain(inputs).collect();
        let name = Name::from(format!("bog${}", source.name));
        let made = self.context.reserve(name, [params, seeds].concat(), types, source.span);
        self.context.b.program_mut().functions[made.0 as usize].body = body;
        Some(made)
    }

    fn function(&mut self, function: FunctionId, span: Span) -> Option<Known> {
        if let Some(known) = self.functions.get(&function) {
            return Some(known.clone());
        }
        if self.open.contains(&function) {
            self.context.unsupported(span, "a function that calls itself");
            return None;
        }
        let source = self.context.program().functions.get(function.0 as usize)?.clone();
        self.open.push(function);
        let lambda = Lambda { params: source.params.clone(), results: source.results.clone(), body: source.body.clone() };
        let lambda = self.context.copy_lambda(&lambda);
        let prepared = self.prepared(lambda.body);
        if !self.context.errors.is_empty() {
            return None;
        }
        let block = single_use(self.context, &prepared, &FxHashMap::default());
        if let Some(var) = used_twice(&block) {
            self.context.untyped(&format!("{} is used twice in the single-use dialect", self.context.name(var)), span);
            return None;
        }
        let mut record = Vec::new();
        self.layout(&block, &mut record)?;
        let ends: Vec<Var> = lambda.params.iter().map(|param| param.var).collect();
        for param in &ends {
            record.extend(self.zero_layout(&self.context.var_type(*param)));
        }

        self.context.b.push_block();
        let mut values = Vec::new();
        self.forward(&block, &mut values)?;
        for param in &ends {
            values.extend(self.zero_values(&Atom::Var(*param), span));
        }
        let body = self.context.b.pop_block([block.results.clone(), values].concat());
        let types = [lambda.results.clone(), record.clone()].concat();
        let forward =
            self.context.reserve(Name::from(format!("{}_fbog", source.name)), lambda.params.clone(), types, source.span);
        self.context.b.program_mut().functions[forward.0 as usize].body = body;

        let mut params = Vec::new();
        let mut cotangents = Cotangents::default();
        for (result, ty) in block.results.iter().zip(&lambda.results) {
            if self.context.carries(ty) {
                let seed = self.context.fresh("dr", ty.any_sizes());
                if let Atom::Var(var) = result {
                    cotangents.insert(*var, Cotangent::Value(Atom::Var(seed.var)));
                }
                params.push(seed);
            }
        }
        let binders: Vec<Binder> = record.iter().map(|ty| self.context.fresh("b", ty.clone())).collect();
        let mut given: Vec<Atom> = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        self.context.b.push_block();
        let mut sizes = given.split_off(self.layout_size(&block)?);
        self.reverse(&block, given, &mut cotangents)?;
        let mut results = Vec::new();
        for param in &lambda.params {
            let rest = sizes.split_off(self.zero_layout(&param.ty).len().min(sizes.len()));
            if self.context.carries(&param.ty) {
                results.push(self.taken(&mut cotangents, param.var, &sizes, span));
            }
            sizes = rest;
        }
        let body = self.context.b.pop_block(results);
        let inputs = lambda.params.iter().filter(|param| self.context.carries(&param.ty)).map(|param| param.ty.any_sizes());
        let types = inputs.collect();
        let name = Name::from(format!("{}_rbog", source.name));
        let reverse = self.context.reserve(name, [params, binders].concat(), types, source.span);
        self.context.b.program_mut().functions[reverse.0 as usize].body = body;
        self.open.pop();
        let known = Known { forward, reverse, record };
        self.functions.insert(function, known.clone());
        Some(known)
    }

    // ------------------------------------------------------------------------------------------------------------------ records

    /// What a zero of the type has to know: the sizes of an array of numbers, the value itself of anything else that is no number.
    fn zero_layout(&self, ty: &Type) -> Vec<Type> {
        match ty {
            _ if !self.context.carries(ty) => Vec::new(),
            Type::Prim(_) => Vec::new(),
            Type::Array(array) if matches!(array.element, Element::Prim(_)) => vec![Type::I64; array.dims.len()],
            other => vec![other.any_sizes()],
        }
    }

    fn zero_values(&mut self, value: &Atom, span: Span) -> Vec<Atom> {
        let ty = self.context.type_of(value);
        match self.zero_layout(&ty).as_slice() {
            [] => Vec::new(),
            _ if Context::is_flat(&ty) => {
                (0..ty.rank()).map(|axis| self.context.emit_one(Op::Dim { array: value.clone(), axis }, span)).collect()
            }
            _ => vec![value.clone()],
        }
    }

    fn zero(&mut self, ty: &Type, known: &[Atom], span: Span) -> Atom {
        match ty {
            Type::Prim(prim) => Atom::Const(Const::zero(*prim)),
            Type::Array(array) if matches!(array.element, Element::Prim(_)) => {
                let Element::Prim(prim) = array.element else { return Atom::i64(0) };
                self.context.zeros(prim, known.to_vec(), span)
            }
            _ => match known.first() {
                Some(value) => self.context.zero_like(value, span),
                None => Atom::i64(0),
            },
        }
    }

    fn layout_size(&mut self, block: &Block) -> Option<usize> {
        let mut types = Vec::new();
        self.layout(block, &mut types)?;
        Some(types.len())
    }

    /// The type of a block's record, `B[e]`.
    fn layout(&mut self, block: &Block, types: &mut Vec<Type>) -> Option<()> {
        for statement in &block.statements {
            types.extend(self.layout_of(statement)?);
        }
        Some(())
    }

    fn type_of(&self, atom: &Atom) -> Type {
        self.context.type_of(atom)
    }

    fn layout_of(&mut self, statement: &Statement) -> Option<Vec<Type>> {
        let mut types = Vec::new();
        match &statement.op {
            Op::Copy(_) | Op::Dim { .. } | Op::Assert { .. } | Op::ArrayLiteral { .. } => {}
            Op::Prim(op, _) => {
                let (operands, result) = kept_by(*op);
                let prims = op.operands();
                types.extend(operands.iter().filter_map(|at| prims.get(*at)).map(|prim| Type::Prim(*prim)));
                types.extend(result.then_some(Type::Prim(op.result())));
            }
            Op::Index { array, indices } => {
                types.extend(vec![Type::I64; indices.len()]);
                types.extend(self.zero_layout(&self.type_of(array)));
            }
            Op::Construct { args, .. } => args.iter().for_each(|arg| types.extend(self.zero_layout(&self.type_of(arg)))),
            Op::Call { function, .. } => {
                types = self.function(*function, statement.span)?.record;
                statement.binders.iter().for_each(|binder| types.extend(self.zero_layout(&binder.ty)));
            }
            Op::Build { space, body, .. } => types = self.family_layout(space, body)?,
            Op::Reduce { space, op, body, neutral, .. }
                if op.is_addition() && neutral.iter().all(|it| matches!(it, Atom::Const(_))) =>
            {
                types = self.family_layout(space, body)?;
            }
            Op::If { .. } | Op::Match { .. } => types.push(self.choice(&statement.op)?),
            Op::Loop(parts) => types = self.loop_layout(parts)?,
            op => {
                if let Some(types) = self.view_layout(op) {
                    return Some(types);
                }
                self.context.unsupported(statement.span, "this form with a record of the forward pass");
                return None;
            }
        }
        Some(types)
    }

    fn family_layout(&mut self, space: &[Axis], body: &Block) -> Option<Vec<Type>> {
        let mut inner = Vec::new();
        self.layout(body, &mut inner)?;
        let rank = space.len();
        let inner = inner.into_iter().map(|ty| stored(ty).array(vec![Dim::Any; rank]));
        let mut types: Vec<Type> = vec![Type::I64; rank].into_iter().chain(inner).collect();
        for var in self.captured(space, body) {
            types.extend(self.zero_layout(&self.context.var_type(var)));
        }
        Some(types)
    }

    /// The record of a conditional: a constructor for each branch, with what zeros of captured variables have to know.
    fn choice(&mut self, op: &Op) -> Option<Type> {
        let captured = self.captured_by_choice(op);
        let mut constructors = Vec::new();
        for (at, scope) in op.scopes().into_iter().enumerate() {
            let mut payload = Vec::new();
            self.layout(scope.block, &mut payload)?;
            for var in scope.binders.iter().chain(&captured) {
                payload.extend(self.zero_layout(&self.context.var_type(*var)));
            }
            if let Some(matched) = matched_by_default(op, at) {
                payload.extend(self.zero_layout(&self.type_of(matched)));
            }
            constructors.push(Constructor { name: Name::from(format!("branch{at}")), payload });
        }
        Some(Type::Sum(Rc::from(constructors)))
    }

    /// The variables from outside a body that can have a cotangent.
    fn captured(&self, space: &[Axis], body: &Block) -> Vec<Var> {
        self.captured_by(&space.iter().map(|axis| axis.var).collect::<Vec<_>>(), body)
    }

    fn captured_by(&self, own: &[Var], body: &Block) -> Vec<Var> {
        let mut vars = free_variables(body);
        vars.retain(|var| !own.contains(var) && self.context.carries(&self.context.var_type(*var)));
        vars
    }

    fn captured_by_choice(&self, op: &Op) -> Vec<Var> {
        let mut vars: Vec<Var> = Vec::new();
        for scope in op.scopes() {
            vars.extend(free_variables(scope.block).into_iter().filter(|var| !scope.binders.contains(var)));
        }
        vars.retain(|var| self.context.carries(&self.context.var_type(*var)));
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    // ------------------------------------------------------------------------------------------------------------ forward, `∇f`

    /// Emits the statements of a block; appends its record.
    fn forward(&mut self, block: &Block, record: &mut Vec<Atom>) -> Option<()> {
        for statement in &block.statements {
            self.forward_statement(statement, record)?;
        }
        Some(())
    }

    fn forward_statement(&mut self, statement: &Statement, record: &mut Vec<Atom>) -> Option<()> {
        let span = statement.span;
        match &statement.op {
            Op::Prim(op, args) => {
                self.context.push_statement(statement.clone());
                let (operands, result) = kept_by(*op);
                record.extend(operands.iter().filter_map(|at| args.get(*at).cloned()));
                record.extend(statement.binders.first().filter(|_| result).map(|binder| Atom::Var(binder.var)));
            }
            Op::Index { array, indices } => {
                self.context.push_statement(statement.clone());
                record.extend(indices.iter().cloned());
                record.extend(self.zero_values(array, span));
            }
            Op::Construct { args, .. } => {
                self.context.push_statement(statement.clone());
                for arg in args {
                    record.extend(self.zero_values(arg, span));
                }
            }
            Op::Call { function, args } => {
                let known = self.function(*function, span)?;
                let own: Vec<Binder> = known.record.iter().map(|ty| self.context.fresh("b", ty.clone())).collect();
                record.extend(own.iter().map(|binder| Atom::Var(binder.var)));
                let binders = [statement.binders.clone(), own].concat();
                let op = Op::Call { function: known.forward, args: args.clone() };
                self.context.push_statement(Statement { binders, op, span });
                for binder in &statement.binders {
                    record.extend(self.zero_values(&Atom::Var(binder.var), span));
                }
            }
            Op::Build { space, body, inner } => {
                let (whole, arrays) = self.forward_body(space.len(), body, &[], span)?;
                let sizes = arrays.iter().map(|_| Vec::new());
                let op = Op::Build { space: space.clone(), body: whole, inner: inner.iter().cloned().chain(sizes).collect() };
                let binders = [statement.binders.clone(), arrays.clone()].concat();
                self.context.push_statement(Statement { binders, op, span });
                self.record_family(space, body, &arrays, record, span);
            }
            Op::Reduce { space, op, neutral, body, commutative } => {
                // The elements are built together with their records, and summed from there.
                let (whole, arrays) = self.forward_body(space.len(), body, &[], span)?;
                let rank = space.len();
                let types: Vec<Type> = body.results.iter().map(|result| self.type_of(result)).collect();
                let elements: Vec<Binder> =
                    types.into_iter().map(|ty| self.context.fresh("", ty.array(vec![Dim::Any; rank]))).collect();
                let inner = vec![Vec::new(); elements.len() + arrays.len()];
                let build = Op::Build { space: space.clone(), body: whole, inner };
                let binders = [elements.clone(), arrays.clone()].concat();
                self.context.push_statement(Statement { binders, op: build, span });
                let again: Vec<Axis> = space
                    .iter()
                    .map(|axis| Axis { var: self.context.fresh("i", Type::I64).var, size: axis.size.clone() })
                    .collect();
                let indices: Vec<Atom> = again.iter().map(|axis| Atom::Var(axis.var)).collect();
                let read = self.context.block(|context| {
                    let one = |context: &mut Context, array: Var| {
                        context.emit_one(Op::Index { array: Atom::Var(array), indices: indices.clone() }, span)
                    };
                    elements.iter().map(|element| one(context, element.var)).collect()
                });
                let sum =
                    Op::Reduce { space: again, op: op.clone(), neutral: neutral.clone(), body: read, commutative: *commutative };
                self.context.push_statement(Statement { binders: statement.binders.clone(), op: sum, span });
                self.record_family(space, body, &arrays, record, span);
            }
            Op::If { .. } | Op::Match { .. } => {
                let ty = self.choice(&statement.op)?;
                let captured = self.captured_by_choice(&statement.op);
                let binders: Vec<Vec<Var>> = statement.op.scopes().iter().map(|scope| scope.binders.clone()).collect();
                let (mut at, mut failed) = (0, false);
                let op = statement.op.clone().map_blocks(&mut |block| {
                    self.context.b.push_block();
                    let mut own = Vec::new();
                    failed |= self.forward(&block, &mut own).is_none();
                    for var in binders.get(at).into_iter().flatten().chain(&captured) {
                        own.extend(self.zero_values(&Atom::Var(*var), span));
                    }
                    if let Some(matched) = matched_by_default(&statement.op, at) {
                        own.extend(self.zero_values(matched, span));
                    }
                    let tagged = self.context.construct(&ty, at as u32, own, span);
                    at += 1;
                    self.context.b.pop_block([block.results, tagged].concat())
                });
                let own = self.context.fresh("b", ty);
                record.push(Atom::Var(own.var));
                let binders = [statement.binders.clone(), vec![own]].concat();
                self.context.push_statement(Statement { binders, op, span });
                return (!failed).then_some(());
            }
            Op::Loop(parts) => self.forward_loop(statement, parts, record)?,
            op => {
                record.extend(self.view_record(op, span));
                self.context.push_statement(statement.clone());
            }
        }
        Some(())
    }

    /// The body of a family with its record, which ends with what zeros of some variables have to know, and the arrays that the records
    /// become.
    fn forward_body(&mut self, rank: usize, body: &Block, also: &[Var], span: Span) -> Option<(Block, Vec<Binder>)> {
        self.context.b.push_block();
        let mut own = Vec::new();
        self.forward(body, &mut own)?;
        for var in also {
            own.extend(self.zero_values(&Atom::Var(*var), span));
        }
        let mut values = Vec::new();
        for value in own {
            let ty = self.type_of(&value).any_sizes();
            values.push(match ty.rank() {
                0 => value,
                _ => self.context.construct(&boxed(ty), 0, vec![value], span).into_iter().next()?,
            });
        }
        let types: Vec<Type> = values.iter().map(|value| self.type_of(value)).collect();
        let block = self.context.b.pop_block([body.results.clone(), values].concat());
        let arrays = types.into_iter().map(|ty| self.context.fresh("b", ty.array(vec![Dim::Any; rank]))).collect();
        Some((block, arrays))
    }

    fn record_family(&mut self, space: &[Axis], body: &Block, arrays: &[Binder], record: &mut Vec<Atom>, span: Span) {
        record.extend(space.iter().map(|axis| axis.size.clone()));
        record.extend(arrays.iter().map(|array| Atom::Var(array.var)));
        for var in self.captured(space, body) {
            record.extend(self.zero_values(&Atom::Var(var), span));
        }
    }
}

/// What is matched, if this branch is the default one of a match.
fn matched_by_default(op: &Op, branch: usize) -> Option<&Atom> {
    match op {
        Op::Match { scrutinee, arms, otherwise: Some(_) } if branch == arms.len() => Some(scrutinee),
        _ => None,
    }
}

/// A type of a record as it stands in an array: arrays of different sizes are in boxes.
fn stored(ty: Type) -> Type {
    if ty.rank() == 0 { ty } else { boxed(ty.any_sizes()) }
}
