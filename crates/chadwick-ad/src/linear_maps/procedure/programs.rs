//! From Core to procedures, with `Dup` and `Elim` put in, and by way of their translations to Core again.
//!
//! A procedure's pairs are lists of Core's values, its sums are Core's sums with two constructors. A function `f` becomes `rf$f : S → (T, Υ)`
//! and `rr$f : (δT, Υ) → δS`.

use super::emit::{Emitter, to_core};
use super::{Callee, Names, Part, Procedure, Scope, Statement, Translated, Type, Variable, pack, translate, unpack};
use crate::context::Context;
use chadwick_core as core;
use chadwick_core::visit::op_free_variables;
use chadwick_core::{Atom, Binder, Block, FunctionId, Op, Var};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;

/// Both translations of a function.
#[derive(Clone)]
pub(super) struct Known {
    pub forward: FunctionId,
    pub reverse: FunctionId,
    tape: Type,
    result: Type,
}

pub(in crate::linear_maps) struct Procedures<'c, 'p> {
    context: &'c mut Context<'p>,
    functions: FxHashMap<FunctionId, Known>,
    open: Vec<FunctionId>,
    names: Names,
}

/// The variables of a block on the way to a procedure: which stands for each of Core's, and how often that is still used.
#[derive(Default)]
struct Draft {
    current: FxHashMap<Var, Variable>,
    uses: FxHashMap<Var, usize>,
    statements: Vec<Statement>,
}

fn from_core(ty: &core::Type) -> Option<Type> {
    match ty {
        core::Type::Prim(prim) => Some(Type::Number(*prim)),
        core::Type::Sum(constructors) => {
            let [left, right] = &**constructors else { return None };
            let payload = |types: &[core::Type]| Some(Type::tuple(&types.iter().map(from_core).collect::<Option<Vec<_>>>()?));
            let sides = (Box::new(payload(&left.payload)?), Box::new(payload(&right.payload)?));
            Some(Type::Sum([left.name.clone(), right.name.clone()], sides.0, sides.1))
        }
        _ => None,
    }
}

impl<'c, 'p> Procedures<'c, 'p> {
    pub fn new(context: &'c mut Context<'p>) -> Self {
        Procedures { context, functions: FxHashMap::default(), open: Vec::new(), names: Names::default() }
    }

    /// A function from arguments and cotangents of the results to the results and cotangents of the arguments.
    pub fn reverse_function(&mut self, function: FunctionId) -> Option<FunctionId> {
        let source = self.context.program().functions.get(function.0 as usize)?.clone();
        let known = self.function(function, source.span)?;
        let params: Vec<Binder> = source.params.iter().map(|param| self.context.fresh("x", param.ty.clone())).collect();
        let seeds: Vec<Binder> = to_core(&known.result).into_iter().map(|ty| self.context.fresh("dr", ty)).collect();
        let atoms = |binders: &[Binder]| binders.iter().map(|binder| Atom::Var(binder.var)).collect::<Vec<_>>();
        let count = source.results.len();
        let body = self.context.block(|context| {
            let mut values = context.emit(Op::Call { function: known.forward, args: atoms(&params) }, source.span);
            let tape = values.split_off(count);
            let args = [atoms(&seeds), tape].concat();
            [values, context.emit(Op::Call { function: known.reverse, args }, source.span)].concat()
        });
        let types = source.results.iter().cloned().chain(source.params.iter().map(|param| param.ty.clone())).collect();
        let name = Name::from(format!("proc${}", source.name));
        let made = self.context.reserve(name, [params, seeds].concat(), types, source.span);
        self.context.b.program_mut().functions[made.0 as usize].body = body;
        Some(made)
    }

    fn refuse<T>(&mut self, span: Span, what: &str) -> Option<T> {
        self.context.unsupported(span, what);
        None
    }

    fn function(&mut self, function: FunctionId, span: Span) -> Option<Known> {
        if let Some(known) = self.functions.get(&function) {
            return Some(known.clone());
        }
        if self.open.contains(&function) {
            return self.refuse(span, "a function that calls itself");
        }
        let source = self.context.program().functions.get(function.0 as usize)?.clone();
        let params: Option<Vec<Type>> = source.params.iter().map(|param| from_core(&param.ty)).collect();
        let results: Option<Vec<Type>> = source.results.iter().map(from_core).collect();
        let (Some(params), Some(results)) = (params, results) else {
            return self.refuse(source.span, "a type that is no number, pair or sum of two, as a procedure");
        };
        self.open.push(function);
        let (argument, result) = (Type::tuple(&params), Type::tuple(&results));
        let vars: Vec<Var> = source.params.iter().map(|param| param.var).collect();
        let input = self.names.fresh();
        let (procedure, output) = self.procedure(input, &vars, &source.body)?;
        self.open.pop();
        let scope = Scope::from([(input, argument.clone())]);
        let translated = self.translated(&procedure, &scope, output, &result);
        let translated = match translated {
            Ok(translated) => translated,
            Err(problem) => {
                self.context.untyped(&problem, source.span);
                return None;
            }
        };
        let tape = Type::tuple(&translated.tapes.iter().map(|(_, ty)| ty.clone()).collect::<Vec<_>>());
        let forward = self.emit_function(
            (format!("rf${}", source.name), source.span),
            &translated.forward,
            &[(input, argument.clone())],
            &[vec![(output, result.clone())], translated.tapes.clone()].concat(),
        );
        let reverse = self.emit_function(
            (format!("rr${}", source.name), source.span),
            &translated.reverse,
            &[vec![(output.cotangent(), result.clone())], translated.tapes].concat(),
            &[(input.cotangent(), argument)],
        );
        let known = Known { forward, reverse, tape, result };
        self.functions.insert(function, known.clone());
        Some(known)
    }

    /// Both translations, each of which must check as its rule says.
    fn translated(
        &mut self,
        procedure: &Procedure,
        scope: &Scope,
        output: Variable,
        result: &Type,
    ) -> Result<Translated, String> {
        let left = procedure.check(scope)?;
        if left != Scope::from([(output, result.clone())]) {
            return Err(format!("a procedure leaves more than its result: {procedure}"));
        }
        let tapes: FxHashMap<FunctionId, Type> = self.functions.iter().map(|(id, known)| (*id, known.tape.clone())).collect();
        let translated = translate(procedure, scope, &mut self.names, &|function| tapes.get(&function).cloned())?;
        let mut wanted = left;
        wanted.extend(translated.tapes.iter().cloned());
        if translated.forward.check(scope)? != wanted {
            return Err(format!("F⟦p⟧ leaves something else: {}", translated.forward));
        }
        let mut back: Scope = translated.tapes.iter().cloned().collect();
        back.insert(output.cotangent(), result.clone());
        let cotangents: Scope = scope.iter().map(|(variable, ty)| (variable.cotangent(), ty.clone())).collect();
        if translated.reverse.check(&back)? != cotangents {
            return Err(format!("R⟦p⟧ leaves something else: {}", translated.reverse));
        }
        Ok(translated)
    }

    // ------------------------------------------------------------------------------------------------------ Core to procedures

    /// A procedure from the tuple of the parameters to the tuple of the results.
    fn procedure(&mut self, input: Variable, params: &[Var], body: &Block) -> Option<(Procedure, Variable)> {
        let mut block = Draft::default();
        let variables: Vec<Variable> = params.iter().map(|_| self.names.fresh()).collect();
        unpack(input, &variables, &mut self.names, &mut block.statements);
        params.iter().zip(variables).for_each(|(param, variable)| {
            block.current.insert(*param, variable);
        });
        let results = self.block(&mut block, body)?;
        let output = pack(&results, &mut self.names, &mut block.statements);
        Some((Procedure { statements: block.statements }, output))
    }

    /// Appends a block; what is in scope and not used is eliminated.
    fn block(&mut self, block: &mut Draft, source: &Block) -> Option<Vec<Variable>> {
        for statement in &source.statements {
            operands(&statement.op).iter().for_each(|var| *block.uses.entry(*var).or_default() += 1);
        }
        for result in &source.results {
            if let Atom::Var(var) = result {
                *block.uses.entry(*var).or_default() += 1;
            }
        }
        let mut unused: Vec<Var> =
            block.current.keys().filter(|var| block.uses.get(var).is_none_or(|uses| *uses == 0)).copied().collect();
        unused.sort_unstable();
        for var in unused {
            if let Some(variable) = block.current.remove(&var) {
                block.statements.push(Statement::Elim(variable));
            }
        }
        for statement in &source.statements {
            self.statement(block, statement)?;
        }
        Some(source.results.iter().map(|result| self.take(block, result)).collect())
    }

    /// A variable for one use of an atom.
    fn take(&mut self, block: &mut Draft, atom: &Atom) -> Variable {
        let var = match atom {
            Atom::Const(value) => {
                let to = self.names.fresh();
                block.statements.push(Statement::Const { to, value: *value });
                return to;
            }
            Atom::Var(var) => *var,
        };
        let Some(current) = block.current.remove(&var) else { return self.names.fresh() };
        let left = block.uses.get_mut(&var).map_or(0, |uses| {
            *uses = uses.saturating_sub(1);
            *uses
        });
        if left == 0 {
            return current;
        }
        let (both, one, rest) = (self.names.fresh(), self.names.fresh(), self.names.fresh());
        block.statements.push(Statement::Dup { to: both, of: current });
        block.statements.push(Statement::Split { left: one, right: rest, of: both });
        block.current.insert(var, rest);
        one
    }

    fn bind(&mut self, block: &mut Draft, binder: &Binder, variable: Variable) {
        match block.uses.get(&binder.var) {
            Some(1..) => {
                block.current.insert(binder.var, variable);
            }
            _ => block.statements.push(Statement::Elim(variable)),
        }
    }

    fn statement(&mut self, block: &mut Draft, statement: &core::Statement) -> Option<()> {
        let span = statement.span;
        let binder = statement.binders.first();
        let packed = |this: &mut Self, block: &mut Draft, args: &[Atom]| {
            let args: Vec<Variable> = args.iter().map(|arg| this.take(block, arg)).collect();
            pack(&args, &mut this.names, &mut block.statements)
        };
        match &statement.op {
            Op::Copy(atoms) => {
                for (binder, atom) in statement.binders.iter().zip(atoms) {
                    let variable = self.take(block, atom);
                    self.bind(block, binder, variable);
                }
            }
            Op::Prim(op, args) => {
                let argument = packed(self, block, args);
                let to = self.names.fresh();
                block.statements.push(Statement::Call { to, callee: Callee::Operation(*op), argument });
                self.bind(block, binder?, to);
            }
            Op::Construct { ty, tag, args } => {
                let of = packed(self, block, args);
                let Some(ty) = from_core(ty) else { return self.refuse(span, "a sum of other than two, as a procedure") };
                let to = self.names.fresh();
                block.statements.push(Statement::Inject { to, side: *tag as usize, of, ty });
                self.bind(block, binder?, to);
            }
            Op::Call { function, args } => {
                let known = self.function(*function, span)?;
                let argument = packed(self, block, args);
                let to = self.names.fresh();
                let callee = Callee::Function { function: *function, part: Part::Plain, result: known.result };
                block.statements.push(Statement::Call { to, callee, argument });
                let parts: Vec<Variable> = statement.binders.iter().map(|_| self.names.fresh()).collect();
                unpack(to, &parts, &mut self.names, &mut block.statements);
                statement.binders.iter().zip(parts).for_each(|(binder, part)| self.bind(block, binder, part));
            }
            Op::If { condition, then, otherwise } => {
                let sides = [(Vec::new(), then.clone()), (Vec::new(), otherwise.clone())];
                self.case(block, statement, condition, sides)?;
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let Some(Type::Sum(..)) = from_core(&self.context.type_of(scrutinee)) else {
                    return self.refuse(span, "a sum of other than two, as a procedure");
                };
                let payloads = self.payloads(scrutinee);
                let mut side = |tag: u32| {
                    let arm = arms.iter().find(|arm| arm.tag == tag);
                    let fresh = |types: &[core::Type], context: &mut Context| -> Vec<Var> {
                        types.iter().map(|ty| context.fresh("", ty.clone()).var).collect()
                    };
                    match (arm, otherwise) {
                        (Some(arm), _) => Some((arm.binders.iter().map(|binder| binder.var).collect(), arm.body.clone())),
                        (None, Some(block)) => Some((fresh(payloads.get(tag as usize)?, self.context), block.clone())),
                        (None, None) => None,
                    }
                };
                let sides = [side(0)?, side(1)?];
                self.case(block, statement, scrutinee, sides)?;
            }
            _ => return self.refuse(span, "this form as a procedure"),
        }
        Some(())
    }

    fn payloads(&self, sum: &Atom) -> Vec<Vec<core::Type>> {
        let ty = self.context.type_of(sum);
        let constructors = core::typing::constructors(&self.context.b, &ty).unwrap_or_default();
        constructors.iter().map(|constructor| constructor.payload.clone()).collect()
    }

    /// Both branches use up the same variables: what one of them does not need it eliminates.
    fn case(
        &mut self,
        block: &mut Draft,
        statement: &core::Statement,
        chosen: &Atom,
        sides: [(Vec<Var>, Block); 2],
    ) -> Option<()> {
        let of = self.take(block, chosen);
        let captured: Vec<Var> = operands(&statement.op).into_iter().filter(|var| Atom::Var(*var) != *chosen).collect();
        let mut given: Vec<(Var, Variable)> = Vec::new();
        for var in captured {
            given.push((var, self.take(block, &Atom::Var(var))));
        }
        let results: Vec<Variable> = statement.binders.iter().map(|_| self.names.fresh()).collect();
        let mut branches = Vec::new();
        for (fields, source) in sides {
            let own = self.names.fresh();
            let mut inner = Draft::default();
            let variables: Vec<Variable> = fields.iter().map(|_| self.names.fresh()).collect();
            unpack(own, &variables, &mut self.names, &mut inner.statements);
            fields.into_iter().zip(variables).chain(given.iter().copied()).for_each(|(var, variable)| {
                inner.current.insert(var, variable);
            });
            let found = self.block(&mut inner, &source)?;
            let whole = pack(&found, &mut self.names, &mut inner.statements);
            unpack(whole, &results, &mut self.names, &mut inner.statements);
            branches.push((own, Procedure { statements: inner.statements }));
        }
        let branches = <[(Variable, Procedure); 2]>::try_from(branches).ok()?;
        block.statements.push(Statement::Case { of, branches: Box::new(branches) });
        statement.binders.iter().zip(results).for_each(|(binder, result)| self.bind(block, binder, result));
        Some(())
    }

    // ------------------------------------------------------------------------------------------------------ procedures to Core

    fn emit_function(
        &mut self,
        (name, span): (String, Span),
        procedure: &Procedure,
        inputs: &[(Variable, Type)],
        outputs: &[(Variable, Type)],
    ) -> FunctionId {
        let mut emitter = Emitter { context: self.context, functions: &self.functions, values: FxHashMap::default(), span };
        let mut params = Vec::new();
        for (variable, ty) in inputs {
            let own: Vec<Binder> = to_core(ty).into_iter().map(|ty| emitter.context.fresh("x", ty)).collect();
            emitter.values.insert(*variable, own.iter().map(|binder| Atom::Var(binder.var)).collect());
            params.extend(own);
        }
        let mut scope: Scope = inputs.iter().cloned().collect();
        emitter.context.b.push_block();
        emitter.procedure(procedure, &mut scope);
        let results = outputs.iter().flat_map(|(variable, _)| emitter.take(*variable)).collect();
        let body = emitter.context.b.pop_block(results);
        let types = outputs.iter().flat_map(|(_, ty)| to_core(ty)).collect();
        let made = self.context.reserve(Name::from(name), params, types, span);
        self.context.b.program_mut().functions[made.0 as usize].body = body;
        made
    }
}

/// The variables that an operation uses: operands as often as they stand there, and once each that its blocks use.
fn operands(op: &Op) -> Vec<Var> {
    let mut found = Vec::new();
    op.for_each_atom(&mut |atom| {
        if let Atom::Var(var) = atom {
            found.push(*var);
        }
    });
    if !op.scopes().is_empty() {
        let own = found.clone();
        found.extend(op_free_variables(op).into_iter().filter(|var| !own.contains(var)));
    }
    found
}
