//! Expressions.

use crate::Lowerer;
use crate::ltype::{LType, UNKNOWN};
use crate::value::{Binding, Code, Env, KnownFunction, LocalFunction, Value};
use chadwick_core::{Atom, Binder, Const, Loop, LoopForm, LoopHints, MessagePart, Op, Prim, Size as CoreSize, Type};
use chadwick_source::{Name, Span};
use chadwick_syntax::ast::Attribute;
use chadwick_types::tree::{self, Definition, Exp, ExpKind, Pattern, PatternKind};
use chadwick_types::ty;
use half::f16;
use std::rc::Rc;

impl Lowerer<'_> {
    /// The value of an expression. Statements go to the current block; names bound in passing go to the environment.
    pub fn exp(&mut self, exp: &Exp, env: &mut Env) -> Value {
        if !self.require_room(1, exp.span) || !self.require_bounded(&exp.ty, &env.types, exp.span) {
            return Value::Atoms(Vec::new());
        }
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.exp_inner(exp, env))
    }

    /// The atoms of an expression; a known function becomes a closure.
    pub fn atoms(&mut self, exp: &Exp, env: &mut Env) -> Vec<Atom> {
        let value = self.exp(exp, env);
        self.materialise(value, exp.span)
    }

    fn atom(&mut self, exp: &Exp, env: &mut Env) -> Atom {
        self.atoms(exp, env).into_iter().next().unwrap_or(UNKNOWN)
    }

    fn exp_inner(&mut self, exp: &Exp, env: &mut Env) -> Value {
        let span = exp.span;
        match &exp.kind {
            ExpKind::Bool(value) => Value::Atoms(vec![Atom::bool(*value)]),
            ExpKind::Int(value) => {
                let shape = self.shape_in(&exp.ty, env);
                let prim = shape.as_prim().unwrap_or(Prim::I64);
                Value::Atoms(vec![Atom::Const(Const::from_i128(prim, *value))])
            }
            ExpKind::Float(value) => {
                let shape = self.shape_in(&exp.ty, env);
                Value::Atoms(vec![Atom::Const(float_const(shape.as_prim().unwrap_or(Prim::F64), *value))])
            }
            ExpKind::String(bytes) => {
                let elements = bytes.iter().map(|byte| Atom::Const(Const::U8(*byte))).collect();
                let op = Op::ArrayLiteral { ty: Type::Prim(Prim::U8), elements, inner: Vec::new() };
                Value::Atoms(self.emit(op, span))
            }
            ExpKind::Var { id, types, sizes } => self.variable(*id, types, sizes, &exp.ty, env, span),
            ExpKind::Record(fields) => {
                let mut parts: Vec<(Name, Vec<Atom>)> =
                    fields.iter().map(|(name, field)| (name.clone(), self.atoms(field, env))).collect();
                parts.sort_by(|a, b| ty::compare_fields(&a.0, &b.0));
                Value::Atoms(parts.into_iter().flat_map(|(_, atoms)| atoms).collect())
            }
            ExpKind::Project(record, field) => {
                let atoms = self.atoms(record, env);
                let shape = self.shape_in(&record.ty, env);
                Value::Atoms(self.field(&shape, &atoms, field).1)
            }
            ExpKind::Array(elements) => self.array_literal(elements, &exp.ty, env, span),
            ExpKind::Construct(name, args) => {
                let shape = self.shape_in(&exp.ty, env);
                let tag = self.constructors(&shape).iter().position(|(other, _)| other == name).unwrap_or(0) as u32;
                let args = args.iter().flat_map(|arg| self.atoms(arg, env)).collect();
                let Some(ty) = self.flatten(&shape).into_iter().next() else { return Value::Atoms(Vec::new()) };
                Value::Atoms(self.emit_typed("", Op::Construct { ty: ty.clone(), tag, args }, vec![ty], span))
            }
            ExpKind::Apply { function, args, checks } => self.application(function, args, checks, env, span),
            ExpKind::Lambda(lambda) => {
                let ty = self.shape_in(&exp.ty, env);
                let code = Code::Lambda(lambda.clone(), env.clone());
                Value::Function(Rc::new(KnownFunction { code, applied: Vec::new(), ty }))
            }
            ExpKind::Let { .. } | ExpKind::LetFunctions { .. } | ExpKind::LetSizes(..) => self.lets(exp, env),
            ExpKind::If(condition, then, otherwise) => {
                let condition = self.atom(condition, env);
                let then = self.branch(then, env);
                let otherwise = self.branch(otherwise, env);
                self.choose(&exp.ty, env, Op::If { condition, then, otherwise }, span)
            }
            ExpKind::And(left, right) => {
                let condition = self.atom(left, env);
                let then = self.branch(right, env);
                let otherwise = self.block(|_| vec![Atom::bool(false)]);
                Value::Atoms(self.emit(Op::If { condition, then, otherwise }, span))
            }
            ExpKind::Or(left, right) => {
                let condition = self.atom(left, env);
                let then = self.block(|_| vec![Atom::bool(true)]);
                let otherwise = self.branch(right, env);
                Value::Atoms(self.emit(Op::If { condition, then, otherwise }, span))
            }
            ExpKind::Match(scrutinee, cases) => self.match_exp(scrutinee, cases, &exp.ty, env, span),
            ExpKind::Loop(parts) => self.loop_exp(parts, &exp.ty, LoopHints::default(), env, span),
            ExpKind::Index(array, indices) => self.index(array, indices, env, span),
            ExpKind::Taken(part) => self.exp(part, env),
            ExpKind::Update(array, indices, value) => self.update(array, indices, value, env, span),
            ExpKind::RecordUpdate(record, field, value) => {
                let mut atoms = self.atoms(record, env);
                let new = self.atoms(value, env);
                let shape = self.shape_in(&record.ty, env);
                let (start, old) = self.field(&shape, &atoms, field);
                atoms.splice(start..start + old.len(), new);
                Value::Atoms(atoms)
            }
            ExpKind::Range { first, second, end, last } => {
                let first = self.atom(first, env);
                let second = second.as_ref().map(|second| self.atom(second, env));
                let last = self.atom(last, env);
                Value::Atoms(vec![self.range(first, second, *end, last, span)])
            }
            ExpKind::Assert { condition, body, text } => {
                let condition_span = condition.span;
                let condition = self.atom(condition, env);
                let message = vec![MessagePart::Text(format!("assertion failed: {text}"))];
                self.emit(Op::Assert { condition, message }, condition_span);
                self.exp(body, env)
            }
            ExpKind::Bind(id, inner) => {
                let value = self.exp(inner, env);
                env.bind(*id, value.clone());
                value
            }
            ExpKind::Open(names, inner) => {
                let value = self.exp(inner, env);
                self.open(names, &exp.ty, &value, env, span);
                value
            }
            ExpKind::Checked(checks, inner) => {
                let value = self.exp(inner, env);
                self.checks(checks, env);
                value
            }
            ExpKind::Attributed(attribute, inner) => self.attributed(attribute, inner, env),
            ExpKind::Hole => {
                let message = vec![MessagePart::Text(String::from("a hole was reached"))];
                self.emit(Op::Assert { condition: Atom::bool(false), message }, span);
                let shape = self.shape_in(&exp.ty, env);
                self.unreachable(&shape, span)
            }
            ExpKind::Error => Value::Atoms(Vec::new()),
        }
    }

    /// A use of a variable.
    fn variable(
        &mut self,
        id: ty::VarId,
        types: &[ty::Type],
        sizes: &[ty::Size],
        ty: &ty::Type,
        env: &mut Env,
        span: Span,
    ) -> Value {
        match env.vars.get(&id).cloned() {
            Some(Binding::Value(value)) => {
                if let Value::Atoms(atoms) = &value
                    && atoms.as_slice() == [UNKNOWN]
                    && matches!(ty, ty::Type::Prim(Prim::I64))
                {
                    let name = &self.tree.var_names[id.0 as usize];
                    let message = format!("ambiguous size: nothing determines {name}");
                    self.error("E0301", span, message, "annotate an argument or the result with its size");
                }
                value
            }
            Some(Binding::Local(local)) => {
                let (types, sizes) = self.instance_args(&local.definition, types, sizes, env, span);
                let ty = self.shape_in(ty, env);
                Value::Function(Rc::new(KnownFunction { code: Code::Local(local, types, sizes), applied: Vec::new(), ty }))
            }
            None => {
                let Some(definition) = self.definitions.get(&id).cloned() else {
                    let name = &self.tree.var_names[id.0 as usize];
                    let message = format!("{name} is not in scope where its value is needed");
                    self.error("E0301", span, message, "annotate the sizes of this expression");
                    return Value::Atoms(vec![UNKNOWN]);
                };
                let (types, sizes) = self.instance_args(&definition, types, sizes, env, span);
                let ty = self.shape_in(ty, env);
                self.use_definition(definition, types, sizes, ty, span)
            }
        }
    }

    /// The types and sizes of an instance. A use inside the definition's own recursive group states none: they are the ones at hand.
    fn instance_args(
        &mut self,
        definition: &Definition,
        types: &[ty::Type],
        sizes: &[ty::Size],
        env: &mut Env,
        span: Span,
    ) -> (Vec<LType>, Vec<Atom>) {
        let scheme = &definition.scheme;
        let types = if types.len() == scheme.types.len() {
            types.iter().map(|ty| self.sized(ty, env, span)).collect()
        } else {
            let own = scheme.types.iter().map(|(id, _)| env.types.get(id).cloned().unwrap_or_else(crate::ltype::unit));
            own.collect()
        };
        let mut atoms: Vec<Atom> = sizes.iter().map(|size| self.size(size, env, span)).collect();
        for (id, name) in scheme.sizes.iter().skip(sizes.len()) {
            atoms.push(self.size(&ty::Size::Name(*id, name.clone()), env, span));
        }
        (types, atoms)
    }

    /// Where a field's atoms start, and the atoms.
    pub fn field(&mut self, record: &LType, atoms: &[Atom], field: &str) -> (usize, Vec<Atom>) {
        let record = match record {
            LType::Hidden(inner) => (**inner).clone(),
            other => other.clone(),
        };
        let LType::Record(fields) = record else { return (0, Vec::new()) };
        let mut start = 0;
        for (name, ty) in fields.iter() {
            let count = self.flatten(ty).len();
            if name == field {
                return (start, atoms.get(start..start + count).map_or(Vec::new(), <[Atom]>::to_vec));
            }
            start += count;
        }
        (0, Vec::new())
    }

    /// A part that runs on its own, with its own names.
    pub fn branch(&mut self, exp: &Exp, env: &Env) -> chadwick_core::Block {
        let mut inner = env.clone();
        self.block(|lowerer| lowerer.atoms(exp, &mut inner))
    }

    /// An operation whose result has the type of the expression, whatever the branches know of sizes.
    pub fn choose(&mut self, ty: &ty::Type, env: &Env, op: Op, span: Span) -> Value {
        let shape = self.shape_in(ty, env);
        let types = self.flatten(&shape);
        Value::Atoms(self.emit_typed("", op, types, span))
    }

    /// A chain of `let`s, without recursion in its length.
    fn lets(&mut self, exp: &Exp, env: &mut Env) -> Value {
        let mut current = exp;
        loop {
            match &current.kind {
                ExpKind::Let { pattern, value, body } => {
                    let value = self.exp(value, env);
                    self.bind_pattern(pattern, value, env);
                    current = body;
                }
                ExpKind::LetFunctions { functions, recursive, body } => {
                    self.bind_functions(functions, *recursive, env);
                    current = body;
                }
                ExpKind::LetSizes(sizes, body) => {
                    // The sizes are those of the value about to be bound, so it comes first.
                    if let ExpKind::Let { pattern, value, body } = &body.kind {
                        let value = self.exp(value, env);
                        for (id, _, size) in sizes {
                            let atom = self.size(size, env, current.span);
                            env.bind_atom(*id, atom);
                        }
                        self.bind_pattern(pattern, value, env);
                        current = body;
                    } else {
                        for (id, _, size) in sizes {
                            let atom = self.size(size, env, current.span);
                            env.bind_atom(*id, atom);
                        }
                        current = body;
                    }
                }
                _ => return self.exp(current, env),
            }
        }
    }

    fn bind_functions(&mut self, functions: &[Rc<Definition>], recursive: bool, env: &mut Env) {
        let around = env.clone();
        for function in functions {
            let group = if recursive { functions.to_vec() } else { Vec::new() };
            let local = LocalFunction { definition: function.clone(), group, env: around.clone() };
            env.vars.insert_mut(function.id, Binding::Local(Rc::new(local)));
        }
    }

    /// Binds the names of a pattern that always matches.
    pub fn bind_pattern(&mut self, pattern: &Pattern, value: Value, env: &mut Env) {
        match &pattern.kind {
            PatternKind::Var(id, name) => {
                if let Value::Atoms(atoms) = &value {
                    self.name_atoms(atoms, name);
                }
                env.bind(*id, value);
            }
            PatternKind::Record(fields) => {
                let atoms = self.materialise(value, pattern.span);
                let shape = self.shape_in(&pattern.ty, env);
                for (name, field) in fields {
                    let part = self.field(&shape, &atoms, name).1;
                    self.bind_pattern(field, Value::Atoms(part), env);
                }
            }
            PatternKind::Constructor(name, args) => {
                let atoms = self.materialise(value, pattern.span);
                let parts = self.unwrap_constructor(&atoms, &pattern.ty, name, env, pattern.span);
                for (arg, part) in args.iter().zip(parts) {
                    self.bind_pattern(arg, Value::Atoms(part), env);
                }
            }
            PatternKind::Wildcard | PatternKind::Bool(_) | PatternKind::Int(_) | PatternKind::Float(_) => {}
        }
    }

    /// Gives nameless variables the name that the source has for them.
    fn name_atoms(&mut self, atoms: &[Atom], name: &Name) {
        for atom in atoms {
            if let Atom::Var(var) = atom
                && let Some(slot) = self.core.var_names.get_mut(var.0 as usize)
                && slot.is_empty()
            {
                *slot = name.clone();
            }
        }
    }

    fn attributed(&mut self, attribute: &Attribute, inner: &Exp, env: &mut Env) -> Value {
        match attribute.name.as_str() {
            "recompute" => {
                let block = self.branch(inner, env);
                let value = self.choose(&inner.ty, env, Op::Recompute(block), inner.span);
                self.reopen(inner, &value, env);
                value
            }
            "trace" => {
                let args = self.atoms(inner, env);
                let tag = attribute.arguments.first().map_or(Name::from(""), |tag| tag.name.clone());
                Value::Atoms(self.emit(Op::Trace { tag, args }, inner.span))
            }
            "stripmine" | "bound" | "ccl" => self.hinted_loop(attribute, inner, env),
            "unroll" => {
                let outer = std::mem::replace(&mut self.unroll, true);
                let value = self.exp(inner, env);
                self.unroll = outer;
                value
            }
            _ => self.exp(inner, env),
        }
    }

    /// Names opened inside a block of its own are read again from the block's value.
    fn reopen(&mut self, inner: &Exp, value: &Value, env: &mut Env) {
        if let ExpKind::Open(names, _) = &inner.kind {
            self.open(names, &inner.ty, value, env, inner.span);
        }
    }

    fn hinted_loop(&mut self, attribute: &Attribute, inner: &Exp, env: &mut Env) -> Value {
        let number = attribute.arguments.first().and_then(|arg| arg.name.parse::<u64>().ok());
        let mut hints = LoopHints::default();
        let mut current = inner;
        set_hint(&mut hints, &attribute.name, number);
        loop {
            match &current.kind {
                ExpKind::Attributed(more, next) => {
                    let number = more.arguments.first().and_then(|arg| arg.name.parse::<u64>().ok());
                    set_hint(&mut hints, &more.name, number);
                    current = next;
                }
                ExpKind::Open(names, next) => {
                    let ExpKind::Loop(parts) = &next.kind else { return self.exp(inner, env) };
                    let value = self.loop_exp(parts, &next.ty, hints, env, next.span);
                    self.open(names, &current.ty, &value, env, current.span);
                    return value;
                }
                ExpKind::Loop(parts) => return self.loop_exp(parts, &current.ty, hints, env, current.span),
                _ => return self.exp(inner, env),
            }
        }
    }

    fn loop_exp(&mut self, parts: &tree::Loop, ty: &ty::Type, mut hints: LoopHints, env: &mut Env, span: Span) -> Value {
        hints.true_dependency |= parts.attributes.iter().any(|attribute| attribute.name == "true_dep");
        let initial = self.atoms(&parts.initial, env);
        let shape = self.shape_in(ty, env);
        let types = self.flatten(&shape);
        let carry: Vec<Binder> = types.iter().map(|ty| self.fresh("", ty.clone())).collect();
        let carried: Vec<Atom> = carry.iter().map(|binder| Atom::Var(binder.var)).collect();
        let start = |lowerer: &mut Self, env: &Env| {
            let mut inner = env.clone();
            for (id, _) in &parts.varying {
                let size = lowerer.witness(*id, &parts.carried, &carried, env, span).unwrap_or(UNKNOWN);
                inner.bind_atom(*id, size);
            }
            lowerer.bind_pattern(&parts.pattern, Value::Atoms(carried.clone()), &mut inner);
            inner
        };
        let (form, body) = match &parts.form {
            tree::LoopForm::For(id, name, bound) => {
                let bound = self.atom(bound, env);
                let index = self.fresh(name.clone(), self.type_of(&bound));
                let body = self.block(|lowerer| {
                    let mut inner = start(lowerer, env);
                    inner.bind_atom(*id, Atom::Var(index.var));
                    lowerer.atoms(&parts.body, &mut inner)
                });
                (LoopForm::For { index, bound }, body)
            }
            tree::LoopForm::ForIn(pattern, array) => {
                let element = match self.shape_in(&array.ty, env) {
                    LType::Array(_, element) => element,
                    _ => Rc::new(crate::ltype::unit()),
                };
                let array = self.atoms(array, env);
                let bound = array.first().map_or(Atom::i64(0), |first| self.dim(first.clone(), 0, span));
                let index = self.fresh("i", Type::I64);
                let body = self.block(|lowerer| {
                    let mut inner = start(lowerer, env);
                    let value = lowerer.index_atoms(&array, &[Atom::Var(index.var)], &element, span);
                    lowerer.bind_pattern(pattern, Value::Atoms(value), &mut inner);
                    lowerer.atoms(&parts.body, &mut inner)
                });
                (LoopForm::For { index, bound }, body)
            }
            tree::LoopForm::While(condition) => {
                let condition = self.block(|lowerer| {
                    let mut inner = start(lowerer, env);
                    lowerer.atoms(condition, &mut inner)
                });
                let body = self.block(|lowerer| {
                    let mut inner = start(lowerer, env);
                    lowerer.atoms(&parts.body, &mut inner)
                });
                (LoopForm::While { condition }, body)
            }
        };
        let op = Loop { carry, initial, form, body, emits: Vec::new(), counted: false, hints };
        Value::Atoms(self.emit_typed("", Op::Loop(Box::new(op)), types, span))
    }

    /// Atoms of a type in a place that is never reached.
    pub fn unreachable(&mut self, shape: &LType, span: Span) -> Value {
        let types = self.flatten(shape);
        let mut atoms = Vec::new();
        for ty in types {
            let atom = self.default_atom(&ty, span, 0);
            atoms.push(atom);
        }
        Value::Atoms(atoms)
    }

    fn default_atom(&mut self, ty: &Type, span: Span, depth: usize) -> Atom {
        match ty {
            Type::Prim(prim) => Atom::Const(Const::zero(*prim)),
            Type::Array(array) => {
                let element = array.element.as_type().unwrap_or(Type::BOOL);
                let inner = vec![CoreSize::Known(Atom::i64(0)); array.dims.len() - 1];
                let element = element.array(array.dims[1..].iter().copied());
                self.emit_one(Op::ArrayLiteral { ty: element, elements: Vec::new(), inner }, span)
            }
            Type::Function(function) => {
                let (params, results) = (function.params.clone(), function.results.clone());
                let lambda = self.lambda("", params, |lowerer, _| {
                    results.iter().map(|ty| lowerer.default_atom(ty, span, depth + 1)).collect()
                });
                self.emit_one(Op::Closure(lambda), span)
            }
            Type::Sum(_) | Type::Named(_) => {
                let Some(constructors) = chadwick_core::typing::constructors(self, ty).map(<[_]>::to_vec) else { return UNKNOWN };
                // The smallest constructor ends the recursion of a recursive type.
                let smallest = constructors.iter().enumerate().min_by_key(|(_, constructor)| constructor.payload.len());
                let Some((tag, constructor)) = smallest else { return UNKNOWN };
                if depth > 8 {
                    return UNKNOWN;
                }
                let args = constructor.payload.iter().map(|ty| self.default_atom(ty, span, depth + 1)).collect();
                let op = Op::Construct { ty: ty.clone(), tag: tag as u32, args };
                self.emit_typed("", op, vec![ty.clone()], span).into_iter().next().unwrap_or(UNKNOWN)
            }
            Type::Accumulator(_) | Type::Log(_) => UNKNOWN,
        }
    }
}

fn set_hint(hints: &mut LoopHints, name: &str, number: Option<u64>) {
    match name {
        "stripmine" => hints.stripmine = number.and_then(|number| u32::try_from(number).ok()),
        "bound" => hints.bound = number,
        "ccl" => hints.commutes = true,
        _ => {}
    }
}

pub fn float_const(prim: Prim, value: f64) -> Const {
    match prim {
        Prim::F16 => Const::F16(f16::from_f64(value)),
        Prim::F32 => Const::F32(value as f32),
        Prim::F64 => Const::F64(value),
        other => Const::from_i128(other, value as i128),
    }
}
