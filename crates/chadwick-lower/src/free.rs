//! What a local function uses of the names around it.

use crate::Lowerer;
use crate::value::{Binding, Env, LocalFunction, Value};
use chadwick_types::tree::{CheckSet, Definition, DefinitionBody, Exp, ExpKind, Index, Lambda, LoopForm, Pattern, PatternKind};
use chadwick_types::ty::{Size, Type, TypeArg, VarId};
use rustc_hash::FxHashSet;
use std::rc::Rc;

impl Lowerer<'_> {
    /// The values that a local function captures, with those captured by the local functions it calls.
    pub fn captures(&mut self, local: &Rc<LocalFunction>) -> Vec<(VarId, Value)> {
        let names = self.captured_names(local);
        let value = |id: VarId| match local.env.vars.get(&id) {
            Some(Binding::Value(value)) => Some((id, value.clone())),
            _ => None,
        };
        names.into_iter().filter_map(value).collect()
    }

    /// Values and local functions around a lambda that it uses, directly or through local functions.
    pub fn lambda_names(&self, lambda: &Lambda, env: &Env) -> (Vec<VarId>, Vec<Rc<Definition>>) {
        let mut mentioned = FxHashSet::default();
        let mut own = FxHashSet::default();
        lambda.params.iter().for_each(|param| in_pattern(param, &mut own));
        in_exp(&lambda.body, &mut own);
        let mut seen = FxHashSet::default();
        for id in own {
            mentioned.insert(id);
            if let Some(Binding::Local(local)) = env.vars.get(&id) {
                collect_local(local, &mut mentioned, &mut seen);
            }
        }
        let mut names: Vec<VarId> = mentioned.into_iter().collect();
        names.sort();
        let locals = names
            .iter()
            .filter_map(|id| match env.vars.get(id) {
                Some(Binding::Local(local)) => Some(local.definition.clone()),
                _ => None,
            })
            .collect();
        (names, locals)
    }

    pub fn captured_names(&mut self, local: &LocalFunction) -> Vec<VarId> {
        let mut mentioned = FxHashSet::default();
        let mut seen = FxHashSet::default();
        collect_local(local, &mut mentioned, &mut seen);
        let mut names: Vec<VarId> = mentioned.into_iter().filter(|id| local.env.vars.contains_key(id)).collect();
        names.sort();
        names
    }

    /// The local functions around this one that it may call.
    pub fn local_functions(&self, local: &LocalFunction) -> Vec<Rc<Definition>> {
        let mut mentioned = FxHashSet::default();
        let mut seen = FxHashSet::default();
        collect_local(local, &mut mentioned, &mut seen);
        let mut names: Vec<VarId> = mentioned.into_iter().collect();
        names.sort();
        names
            .into_iter()
            .filter_map(|id| match local.env.vars.get(&id) {
                Some(Binding::Local(other)) => Some(other.definition.clone()),
                _ => None,
            })
            .collect()
    }
}

fn collect_local(local: &LocalFunction, mentioned: &mut FxHashSet<VarId>, seen: &mut FxHashSet<VarId>) {
    let members = std::iter::once(&local.definition).chain(&local.group);
    for member in members {
        if !seen.insert(member.id) {
            continue;
        }
        let mut own = FxHashSet::default();
        collect_definition(member, &mut own);
        for id in own {
            mentioned.insert(id);
            if let Some(Binding::Local(other)) = local.env.vars.get(&id) {
                collect_local(other, mentioned, seen);
            }
        }
    }
}

fn collect_definition(definition: &Definition, names: &mut FxHashSet<VarId>) {
    in_type(&definition.scheme.ty, names);
    if let DefinitionBody::Function(function) = &definition.body {
        function.params.iter().for_each(|param| in_pattern(param, names));
        in_exp(&function.body, names);
    }
}

fn in_exp(exp: &Exp, names: &mut FxHashSet<VarId>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || in_exp_inner(exp, names));
}

fn in_exp_inner(exp: &Exp, names: &mut FxHashSet<VarId>) {
    in_type(&exp.ty, names);
    match &exp.kind {
        ExpKind::Bool(_) | ExpKind::Int(_) | ExpKind::Float(_) | ExpKind::String(_) | ExpKind::Hole | ExpKind::Error => {}
        ExpKind::Var { id, types, sizes } => {
            names.insert(*id);
            types.iter().for_each(|ty| in_type(ty, names));
            sizes.iter().for_each(|size| in_size(size, names));
        }
        ExpKind::Record(fields) => fields.iter().for_each(|(_, exp)| in_exp(exp, names)),
        ExpKind::Project(inner, _)
        | ExpKind::Bind(_, inner)
        | ExpKind::Open(_, inner)
        | ExpKind::Taken(inner)
        | ExpKind::Attributed(_, inner) => {
            in_exp(inner, names);
        }
        ExpKind::Array(exps) | ExpKind::Construct(_, exps) => exps.iter().for_each(|exp| in_exp(exp, names)),
        ExpKind::Apply { function, args, checks } => {
            in_exp(function, names);
            args.iter().for_each(|arg| in_exp(arg, names));
            in_checks(checks, names);
        }
        ExpKind::Lambda(lambda) => {
            lambda.params.iter().for_each(|param| in_pattern(param, names));
            in_exp(&lambda.body, names);
        }
        ExpKind::Let { pattern, value, body } => {
            in_pattern(pattern, names);
            in_exps(&[value, body], names);
        }
        ExpKind::LetFunctions { functions, body, .. } => {
            functions.iter().for_each(|function| collect_definition(function, names));
            in_exp(body, names);
        }
        ExpKind::If(a, b, c) => in_exps(&[a, b, c], names),
        ExpKind::And(a, b) | ExpKind::Or(a, b) | ExpKind::RecordUpdate(a, _, b) => in_exps(&[a, b], names),
        ExpKind::Match(scrutinee, cases) => {
            in_exp(scrutinee, names);
            for (pattern, body) in cases {
                in_pattern(pattern, names);
                in_exp(body, names);
            }
        }
        ExpKind::Loop(parts) => {
            in_pattern(&parts.pattern, names);
            in_exp(&parts.initial, names);
            in_exp(&parts.body, names);
            match &parts.form {
                LoopForm::For(_, _, exp) | LoopForm::While(exp) => in_exp(exp, names),
                LoopForm::ForIn(pattern, exp) => {
                    in_pattern(pattern, names);
                    in_exp(exp, names);
                }
            }
        }
        ExpKind::Index(array, indices) => {
            in_exp(array, names);
            indices.iter().for_each(|index| in_index(index, names));
        }
        ExpKind::Update(array, indices, value) => {
            in_exps(&[array, value], names);
            indices.iter().for_each(|index| in_index(index, names));
        }
        ExpKind::Range { first, second, last, .. } => {
            in_exps(&[first, last], names);
            second.iter().for_each(|exp| in_exp(exp, names));
        }
        ExpKind::Assert { condition, body, .. } => in_exps(&[condition, body], names),
        ExpKind::Checked(checks, inner) => {
            in_checks(checks, names);
            in_exp(inner, names);
        }
        ExpKind::LetSizes(sizes, inner) => {
            sizes.iter().for_each(|(_, _, size)| in_size(size, names));
            in_exp(inner, names);
        }
    }
}

fn in_exps(exps: &[&Exp], names: &mut FxHashSet<VarId>) {
    exps.iter().for_each(|exp| in_exp(exp, names));
}

fn in_checks(checks: &CheckSet, names: &mut FxHashSet<VarId>) {
    for check in &checks.checks {
        in_size(&check.expected, names);
        in_size(&check.actual, names);
    }
}

fn in_index(index: &Index, names: &mut FxHashSet<VarId>) {
    match index {
        Index::At(exp) => in_exp(exp, names),
        Index::Slice { start, end, stride } => [start, end, stride].into_iter().flatten().for_each(|exp| in_exp(exp, names)),
    }
}

fn in_pattern(pattern: &Pattern, names: &mut FxHashSet<VarId>) {
    in_type(&pattern.ty, names);
    match &pattern.kind {
        PatternKind::Record(fields) => fields.iter().for_each(|(_, field)| in_pattern(field, names)),
        PatternKind::Constructor(_, args) => args.iter().for_each(|arg| in_pattern(arg, names)),
        _ => {}
    }
}

fn in_type(ty: &Type, names: &mut FxHashSet<VarId>) {
    match ty {
        Type::Record(fields) => fields.iter().for_each(|(_, ty)| in_type(ty, names)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).for_each(|ty| in_type(ty, names)),
        Type::Array(size, element) => {
            in_size(size, names);
            in_type(element, names);
        }
        Type::Arrow(arrow) => {
            in_type(&arrow.from, names);
            in_type(&arrow.to.ty, names);
        }
        Type::Named(_, _, args) => args.iter().for_each(|arg| match arg {
            TypeArg::Type(ty) => in_type(ty, names),
            TypeArg::Size(size) => in_size(size, names),
        }),
        Type::Hidden(_, ty) => in_type(ty, names),
        Type::Prim(_) | Type::Var(_) | Type::Param(..) | Type::Error => {}
    }
}

fn in_size(size: &Size, names: &mut FxHashSet<VarId>) {
    match size {
        Size::Name(id, _) => {
            names.insert(*id);
        }
        Size::Add(left, right) | Size::Sub(left, right) | Size::Mul(left, right) => {
            in_size(left, names);
            in_size(right, names);
        }
        Size::Opaque(opaque) => {
            opaque.args.iter().for_each(|(_, size)| in_size(size, names));
            in_exp(&opaque.exp, names);
        }
        Size::Const(_) | Size::Var(_) | Size::Unknown => {}
    }
}
