//! Applications, instances of definitions, and closures.

use crate::ltype::{Erased, LType, TypeParams, UNKNOWN};
use crate::value::{Binding, Code, Env, KnownFunction, LocalFunction, Value};
use crate::{CapturedKey, InstanceKey, Lowerer};
use chadwick_core::{Atom, Binder, FunctionId, Op, Type};
use chadwick_source::{Name, Span};
use chadwick_types::alias_of;
use chadwick_types::tree::{CheckSet, Definition, DefinitionBody, Exp, ExpKind, Function};
use chadwick_types::ty::{self, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// An instance whose body is to be lowered.
pub struct Waiting {
    function: FunctionId,
    definition: Rc<Definition>,
    env: Env,
    /// The function's own parameters, one value per source parameter.
    params: Vec<Value>,
}

impl Lowerer<'_> {
    pub fn application(&mut self, function: &Exp, args: &[Exp], checks: &CheckSet, env: &mut Env, span: Span) -> Value {
        if let (ExpKind::Var { id, .. }, [left, right]) = (&function.kind, args)
            && self.definitions.get(id).is_some_and(|definition| definition.attributes.iter().any(|a| a.name == "par"))
        {
            let (left_block, right_block) = (self.branch(left, env), self.branch(right, env));
            let (left_shape, right_shape) = (self.shape_in(&left.ty, env), self.shape_in(&right.ty, env));
            let types = [self.flatten(&left_shape), self.flatten(&right_shape)].concat();
            return Value::Atoms(self.emit_typed("", Op::Par { left: left_block, right: right_block }, types, span));
        }
        // The sizes of a polymorphic function may come from its arguments, so they are first.
        let late = matches!(function.kind, ExpKind::Var { .. });
        let early = (!late).then(|| self.exp(function, env));
        let args: Vec<Value> = args.iter().map(|arg| self.exp(arg, env)).collect();
        self.checks(checks, env);
        let function = early.unwrap_or_else(|| self.exp(function, env));
        self.apply(function, args, span)
    }

    /// Applies a function to as many arguments as are given.
    pub fn apply(&mut self, function: Value, args: Vec<Value>, span: Span) -> Value {
        let mut function = function;
        let mut args = std::collections::VecDeque::from(args);
        while let Some(arg) = args.pop_front() {
            function = match function {
                Value::Function(known) => {
                    let arity = self.arity(&known.code);
                    let ty = match &known.ty {
                        LType::Arrow(arrow) => arrow.1.clone(),
                        _ => crate::ltype::unit(),
                    };
                    let mut applied = known.applied.clone();
                    applied.push(arg);
                    let complete = applied.len() >= arity;
                    let next = KnownFunction { code: known.code.clone(), applied, ty };
                    if complete { self.run(next, span) } else { Value::Function(Rc::new(next)) }
                }
                Value::Atoms(atoms) => {
                    let Some(closure) = atoms.into_iter().next() else { return Value::Atoms(Vec::new()) };
                    let args = self.materialise(arg, span);
                    Value::Atoms(self.emit(Op::Apply { function: closure, args }, span))
                }
            };
        }
        function
    }

    /// How many arguments the code takes before it runs.
    fn arity(&self, code: &Code) -> usize {
        let params = match code {
            Code::Lambda(lambda, _) => lambda.params.len(),
            Code::Definition(definition, _, sizes) => arity_with_sizes(definition, sizes),
            Code::Local(local, _, sizes) => arity_with_sizes(&local.definition, sizes),
        };
        params.max(1)
    }

    /// Runs a function that has all its arguments.
    fn run(&mut self, function: KnownFunction, span: Span) -> Value {
        let KnownFunction { code, applied, .. } = function;
        match code {
            Code::Lambda(lambda, env) => {
                let mut env = env;
                for (param, arg) in lambda.params.iter().zip(applied) {
                    self.bind_pattern(param, arg, &mut env);
                }
                // What is being inlined where the lambda stands counts, not where it is applied.
                let outer = std::mem::replace(&mut self.inlining, env.inlining.clone());
                let value = self.exp(&lambda.body, &mut env);
                self.inlining = outer;
                value
            }
            Code::Definition(definition, types, sizes) => self.call_definition(&definition, types, sizes, applied, span),
            Code::Local(local, types, sizes) => self.call_local(&local, types, sizes, applied, span),
        }
    }

    /// A use of a definition: its value if it has no parameters, else a known function.
    pub fn use_definition(
        &mut self,
        definition: Rc<Definition>,
        types: Vec<LType>,
        sizes: Vec<Atom>,
        ty: LType,
        span: Span,
    ) -> Value {
        if arity_with_sizes(&definition, &sizes) == 0 {
            return self.call_definition(&definition, types, sizes, Vec::new(), span);
        }
        Value::Function(Rc::new(KnownFunction { code: Code::Definition(definition, types, sizes), applied: Vec::new(), ty }))
    }

    pub fn call_definition(
        &mut self,
        definition: &Rc<Definition>,
        types: Vec<LType>,
        sizes: Vec<Atom>,
        args: Vec<Value>,
        span: Span,
    ) -> Value {
        let function = match &definition.body {
            DefinitionBody::Intrinsic(name) => return self.intrinsic(&name.clone(), definition, types, sizes, args, span),
            DefinitionBody::Function(function) => function,
        };
        let sizes = self.complete_sizes(definition, &types, sizes, &args, span);
        let (args, more) = args_and_more(args, function.params.len());
        if !more.is_empty() {
            let function = self.call_definition(definition, types, sizes, args, span);
            return self.apply(function, more, span);
        }
        let marked = definition.attributes.iter().any(|attribute| attribute.name == "inline");
        let inline = (marked || alias_of(definition).is_some()) && !self.inlining.contains(&definition.id);
        if inline {
            let inlining: Rc<[VarId]> = self.inlining.iter().copied().chain([definition.id]).collect();
            let mut env = Env { inlining: inlining.clone(), ..Env::new(type_params(definition, types)) };
            for ((id, _), size) in definition.scheme.sizes.iter().zip(sizes) {
                env.bind_atom(*id, size);
            }
            for (param, arg) in function.params.iter().zip(args) {
                self.bind_pattern(param, arg, &mut env);
            }
            let outer = std::mem::replace(&mut self.inlining, inlining);
            let known = self.sites.len();
            let file = definition.span.file;
            let call = self.site(span);
            if call != Span::default() && call.file != file {
                self.sites.push((file, call));
            }
            let value = self.exp(&function.body, &mut env);
            self.sites.truncate(known);
            self.inlining = outer;
            return value;
        }
        let context = Context { around: FxHashMap::default(), captured: Vec::new(), local: None };
        self.call_instance(definition, types, sizes, args, context, span)
    }

    fn call_local(
        &mut self,
        local: &Rc<LocalFunction>,
        types: Vec<LType>,
        sizes: Vec<Atom>,
        args: Vec<Value>,
        span: Span,
    ) -> Value {
        let sizes = self.complete_sizes(&local.definition, &types, sizes, &args, span);
        let (args, more) = args_and_more(args, definition_arity(&local.definition));
        if !more.is_empty() {
            let function = self.call_local(local, types, sizes, args, span);
            return self.apply(function, more, span);
        }
        let captured = self.captures(local);
        let context = Context { around: (*local.env.types).clone(), captured, local: Some(local.clone()) };
        let definition = local.definition.clone();
        self.call_instance(&definition, types, sizes, args, context, span)
    }

    /// Sizes that nobody knows but the arguments are read from them.
    fn complete_sizes(
        &mut self,
        definition: &Definition,
        types: &[LType],
        sizes: Vec<Atom>,
        args: &[Value],
        span: Span,
    ) -> Vec<Atom> {
        if !sizes.contains(&UNKNOWN) {
            return sizes;
        }
        let env = Env::new(type_params(definition, types.to_vec()));
        let mut ty = definition.scheme.ty.clone();
        let mut found = Vec::new();
        for arg in args {
            let ty::Type::Arrow(arrow) = ty else { break };
            if let Value::Atoms(atoms) = arg {
                self.witnesses(&arrow.from, atoms, &env.types, &mut found);
            }
            ty = arrow.to.ty.clone();
        }
        definition
            .scheme
            .sizes
            .iter()
            .zip(sizes)
            .map(|((id, name), size)| {
                if size != UNKNOWN {
                    return size;
                }
                let mut places = found.iter().filter_map(|(size, atom, axis)| match size {
                    ty::Size::Name(name, _) if name == id => Some((atom.clone(), *axis)),
                    _ => None,
                });
                let Some((atom, axis)) = places.next() else {
                    // Without arguments there may still be some to come.
                    if args.is_empty() {
                        return UNKNOWN;
                    }
                    let message = format!("ambiguous size: nothing determines {name} of {}", definition.name);
                    self.error("E0301", span, message, "annotate an argument or the result with its size");
                    return UNKNOWN;
                };
                // The others have not been compared with it. What is inside an empty array may have any size.
                let others: Vec<(Atom, usize)> = places.filter(|(_, axis)| *axis == 0).collect();
                let size = self.dim(atom, axis, span);
                for (other, axis) in others {
                    let other = self.dim(other, axis, span);
                    let text = format!("size mismatch in a call of {}: expected {name}", definition.name);
                    self.require_equal(size.clone(), other, &text, &format!("found {name}"), span);
                }
                size
            })
            .collect()
    }

    fn call_instance(
        &mut self,
        definition: &Rc<Definition>,
        types: Vec<LType>,
        sizes: Vec<Atom>,
        args: Vec<Value>,
        context: Context,
        span: Span,
    ) -> Value {
        let type_sizes: Vec<Atom> = types.iter().flat_map(LType::sizes).collect();
        let mut atoms = Vec::new();
        let Context { around, captured, local } = context;
        let captured = captured.into_iter().map(|(id, value)| (id, self.passed(value, &mut atoms, span))).collect();
        let context = Context { around, captured, local };
        atoms.extend(type_sizes);
        atoms.extend(sizes);
        let known: Vec<Passed> = args.into_iter().map(|arg| self.passed(arg, &mut atoms, span)).collect();
        let function = self.instance(definition, &types, &context, &known);
        let results = self.core.functions[function.0 as usize].results.clone();
        Value::Atoms(self.emit_typed("", Op::Call { function, args: atoms }, results, span))
    }

    /// Adds what an instance is given for a value to the atoms of a call.
    fn passed(&mut self, value: Value, atoms: &mut Vec<Atom>, span: Span) -> Passed {
        if let Value::Function(_) = &value
            && let Some((key, dynamic)) = self.take_apart(&value)
        {
            atoms.extend(dynamic);
            return Passed::Known(key, value);
        }
        let own = self.materialise(value, span);
        let types = own.iter().map(|atom| self.type_of(atom)).collect();
        atoms.extend(own);
        Passed::Data(types)
    }

    /// A known function in the instance that is given it, over parameters of the instance.
    fn known_again(&mut self, template: &Value, params: &mut Vec<Binder>) -> Value {
        let dynamic = self.take_apart(template).map_or(Vec::new(), |(_, atoms)| atoms);
        let mut binders = Vec::new();
        for atom in dynamic {
            let ty = self.type_of(&atom);
            binders.push(self.fresh("", ty));
        }
        let value = self.put_together(template, &mut binders.iter().map(|binder| Atom::Var(binder.var)));
        params.extend(binders);
        value
    }

    /// The Core function of a definition at its types.
    fn instance(
        &mut self,
        definition: &Rc<Definition>,
        types: &[LType],
        context: &Context<Passed>,
        known: &[Passed],
    ) -> FunctionId {
        let mut around: Vec<_> = context.around.iter().map(|(id, ty)| (*id, ty.erase())).collect();
        around.sort_by_key(|(id, _)| *id);
        let key = InstanceKey {
            id: definition.id,
            types: types.iter().map(LType::erase).collect::<Vec<Erased>>(),
            context: context.captured.iter().map(|(id, passed)| (id.0, passed.key())).collect(),
            around,
            functions: known
                .iter()
                .map(|passed| match passed {
                    Passed::Known(key, _) => Some(key.clone()),
                    Passed::Data(_) => None,
                })
                .collect(),
        };
        if let Some(function) = self.instances.get(&key) {
            return *function;
        }
        let mut params: Vec<Binder> = Vec::new();
        let mut env = Env::new(self.type_params());
        for (id, passed) in &context.captured {
            let value = match passed {
                Passed::Known(_, template) => self.known_again(template, &mut params),
                Passed::Data(types) => {
                    let name = self.tree.var_names[id.0 as usize].clone();
                    let binders: Vec<Binder> = types.iter().map(|ty| self.fresh(name.clone(), ty.clone())).collect();
                    let atoms = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
                    params.extend(binders);
                    Value::Atoms(atoms)
                }
            };
            env.bind(*id, value);
        }
        let mut own_types = context.around.clone();
        for ((id, name), ty) in definition.scheme.types.iter().zip(types) {
            let ty = ty.with_sizes(&mut |_| {
                let binder = self.fresh(format!("{name}_size"), Type::I64);
                let atom = Atom::Var(binder.var);
                params.push(binder);
                atom
            });
            own_types.insert(*id, ty);
        }
        env.types = Rc::new(own_types);
        for (id, name) in &definition.scheme.sizes {
            let binder = self.fresh(name.clone(), Type::I64);
            env.bind_atom(*id, Atom::Var(binder.var));
            params.push(binder);
        }
        let mut own = Vec::new();
        let DefinitionBody::Function(Function { params: patterns, .. }) = &definition.body else { return FunctionId(0) };
        for (at, pattern) in patterns.iter().enumerate() {
            if let Some(Passed::Known(_, template)) = known.get(at) {
                own.push(self.known_again(template, &mut params));
                continue;
            }
            let shape = self.shape_in(&pattern.ty, &env);
            let name = match &pattern.kind {
                chadwick_types::tree::PatternKind::Var(_, name) => name.clone(),
                _ => Name::from(""),
            };
            let binders: Vec<Binder> = self.flatten(&shape).into_iter().map(|ty| self.fresh(name.clone(), ty)).collect();
            own.push(Value::Atoms(binders.iter().map(|binder| Atom::Var(binder.var)).collect()));
            params.extend(binders);
        }
        let result = result_type(&definition.scheme.ty, patterns.len());
        let shape = self.shape_in(&result, &env);
        let results = self.flatten(&shape);
        let function = self.reserve(definition.name.clone(), params, results, definition.span);
        self.instances.insert(key, function);
        // Local functions that may call each other see each other in the instance, over the captured values.
        if let Some(local) = &context.local {
            let mut siblings = local.group.clone();
            for other in self.local_functions(local) {
                if !siblings.iter().any(|sibling| sibling.id == other.id) {
                    siblings.push(other);
                }
            }
            let values = env.clone();
            for member in &siblings {
                let inner = LocalFunction { definition: member.clone(), group: siblings.clone(), env: values.clone() };
                env.vars.insert_mut(member.id, Binding::Local(Rc::new(inner)));
            }
        }
        self.waiting.push(Waiting { function, definition: definition.clone(), env, params: own });
        function
    }

    pub fn lower_instance(&mut self, waiting: Waiting) {
        let Waiting { function, definition, mut env, params } = waiting;
        let DefinitionBody::Function(Function { params: patterns, body }) = &definition.body else { return };
        let outer = std::mem::take(&mut self.blocks);
        self.inlining = Rc::from([]);
        let block = self.block(|lowerer| {
            for (pattern, value) in patterns.iter().zip(params) {
                lowerer.bind_pattern(pattern, value, &mut env);
            }
            lowerer.atoms(body, &mut env)
        });
        self.blocks = outer;
        self.core.functions[function.0 as usize].body = block;
    }

    // ------------------------------------------------------------------------------------------------------------ closures

    /// The atoms of a value; a known function becomes a closure.
    pub fn materialise(&mut self, value: Value, span: Span) -> Vec<Atom> {
        match value {
            Value::Atoms(atoms) => atoms,
            Value::Function(function) => {
                let from = match &function.ty {
                    LType::Arrow(arrow) => arrow.0.clone(),
                    _ => crate::ltype::unit(),
                };
                let params = self.flatten(&from);
                let lambda = self.lambda("", params, |lowerer, atoms| {
                    let result = lowerer.apply(Value::Function(function.clone()), vec![Value::Atoms(atoms)], span);
                    lowerer.materialise(result, span)
                });
                let mut lambda = lambda;
                if let LType::Arrow(arrow) = &function.ty {
                    lambda.results = self.flatten(&arrow.1);
                }
                self.emit(Op::Closure(lambda), span)
            }
        }
    }
}

/// What is around a local function: types, and the values it captures.
struct Context<V = Value> {
    around: FxHashMap<ty::ParamId, LType>,
    captured: Vec<(VarId, V)>,
    local: Option<Rc<LocalFunction>>,
}

/// How a value is passed to an instance: as a known function, which is part of the instance but for its dynamic part, or as atoms.
enum Passed {
    Known(String, Value),
    Data(Vec<Type>),
}

impl Passed {
    fn key(&self) -> CapturedKey {
        match self {
            Passed::Known(key, _) => CapturedKey::Function(key.clone()),
            Passed::Data(types) => CapturedKey::Data(types.clone()),
        }
    }
}

fn type_params(definition: &Definition, types: Vec<LType>) -> TypeParams {
    Rc::new(definition.scheme.types.iter().map(|(id, _)| *id).zip(types).collect())
}

/// How many parameters a definition has; an alias has those of what it stands for.
fn definition_arity(definition: &Definition) -> usize {
    match &definition.body {
        DefinitionBody::Function(function) => function.params.len(),
        DefinitionBody::Intrinsic(_) => arrow_count(&definition.scheme.ty),
    }
}

/// How many arguments a definition takes before it runs, given its sizes: those of its parameters, and those that sizes are read from. `def sum = reduce (+) 0`
/// has no parameter, and its size is that of the array it will be given.
fn arity_with_sizes(definition: &Definition, sizes: &[Atom]) -> usize {
    let params = definition_arity(definition);
    let all = definition.scheme.sizes.iter().zip(sizes);
    let unknown: Vec<VarId> = all.filter(|(_, size)| **size == UNKNOWN).map(|((id, _), _)| *id).collect();
    let (mut ty, mut count, mut last) = (&definition.scheme.ty, 0, 0);
    while let ty::Type::Arrow(arrow) = ty {
        count += 1;
        if unknown.iter().any(|id| shows_size(&arrow.from, *id)) {
            last = count;
        }
        ty = &arrow.to.ty;
    }
    params.max(last)
}

/// Whether a size is that of an array in values of a type.
fn shows_size(ty: &ty::Type, id: VarId) -> bool {
    match ty {
        ty::Type::Array(size, element) => matches!(size, ty::Size::Name(name, _) if *name == id) || shows_size(element, id),
        ty::Type::Record(fields) => fields.iter().any(|(_, field)| shows_size(field, id)),
        _ => false,
    }
}

fn args_and_more(mut args: Vec<Value>, params: usize) -> (Vec<Value>, Vec<Value>) {
    let more = args.split_off(params.min(args.len()));
    (args, more)
}

fn arrow_count(ty: &ty::Type) -> usize {
    match ty {
        ty::Type::Arrow(arrow) => 1 + arrow_count(&arrow.to.ty),
        _ => 0,
    }
}

/// What is left of a function type after some arguments.
pub fn result_type(ty: &ty::Type, count: usize) -> ty::Type {
    let mut ty = ty.clone();
    for _ in 0..count {
        ty = match ty {
            ty::Type::Arrow(arrow) => arrow.to.ty.clone(),
            other => other,
        };
    }
    ty
}
