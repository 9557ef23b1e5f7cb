//! Consumption: a value that was given away may not be looked at again, under any of its names.
//!
//! The check walks a finished definition in evaluation order. For every expression it knows which variables the result may share
//! memory with, component by component; consuming an expression consumes those variables. It never changes what a program means.

use crate::checker::Checker;
use crate::tree::{Definition, DefinitionBody, Exp, ExpKind, Index, LoopForm, Pattern, PatternKind};
use crate::ty::{Type, VarId};
use chadwick_source::{Label, Name, Span};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What a value may share memory with.
#[derive(Clone, Debug, PartialEq)]
enum Aliases {
    All(BTreeSet<VarId>),
    Fields(BTreeMap<Name, Aliases>),
}

impl Aliases {
    fn none() -> Aliases {
        Aliases::All(BTreeSet::new())
    }

    fn every(&self) -> BTreeSet<VarId> {
        match self {
            Aliases::All(vars) => vars.clone(),
            Aliases::Fields(fields) => fields.values().flat_map(Aliases::every).collect(),
        }
    }

    fn field(&self, name: &str) -> Aliases {
        match self {
            Aliases::All(_) => self.clone(),
            Aliases::Fields(fields) => fields.get(name).cloned().unwrap_or_else(Aliases::none),
        }
    }

    /// A variable that stands in two components.
    fn repeated(&self, seen: &mut BTreeSet<VarId>) -> Option<VarId> {
        match self {
            Aliases::All(vars) => {
                let again = vars.intersection(seen).next().copied();
                seen.extend(vars);
                again
            }
            Aliases::Fields(fields) => fields.values().find_map(|aliases| aliases.repeated(seen)),
        }
    }

    fn union(self, other: Aliases) -> Aliases {
        match (self, other) {
            (Aliases::Fields(mut left), Aliases::Fields(right)) if left.len() == right.len() => {
                for (name, aliases) in right {
                    let merged = left.remove(&name).unwrap_or_else(Aliases::none).union(aliases);
                    left.insert(name, merged);
                }
                Aliases::Fields(left)
            }
            (Aliases::All(vars), other) | (other, Aliases::All(vars)) if vars.is_empty() => other,
            (left, right) => Aliases::All(left.every().into_iter().chain(right.every()).collect()),
        }
    }

    fn without(self, vars: &BTreeSet<VarId>) -> Aliases {
        match self {
            Aliases::All(own) => Aliases::All(own.difference(vars).copied().collect()),
            Aliases::Fields(fields) => {
                Aliases::Fields(fields.into_iter().map(|(name, aliases)| (name, aliases.without(vars))).collect())
            }
        }
    }
}

#[derive(Clone)]
struct Variable {
    aliases: BTreeSet<VarId>,
    /// The same, component by component.
    tree: Aliases,
    owner: Owner,
    /// How many function bodies and loops were around its binding.
    depth: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Owner {
    /// May be consumed.
    Ours,
    /// A parameter without `*`.
    Caller,
}

struct Flow<'c, 's> {
    checker: &'c mut Checker<'s>,
    vars: FxHashMap<VarId, Variable>,
    consumed: BTreeMap<VarId, Span>,
    /// Everything looked at so far, in order.
    observed: Vec<(VarId, Span)>,
    /// Whether the function at hand has what a function of its caller returned: that may share memory with anything.
    unknown_result: bool,
    depth: u32,
    /// What the results of local functions may share memory with besides their arguments.
    captured_results: FxHashMap<VarId, BTreeSet<VarId>>,
}

/// What is known of a function once its body has been seen.
struct Outcome {
    /// Whether its result never shares memory with anything.
    fresh: bool,
    /// What is around the function and may be part of its result.
    captured: BTreeSet<VarId>,
}

/// A part of a loop's parameters that its body consumes: what it is at first, and what the body makes of it.
struct ConsumedPart {
    initial: Aliases,
    next: Aliases,
}

impl Checker<'_> {
    /// Checks consumption in a finished top-level definition.
    pub fn check_consumption(&mut self, definition: &Definition) {
        let mut flow = Flow {
            checker: self,
            vars: FxHashMap::default(),
            consumed: BTreeMap::new(),
            observed: Vec::new(),
            unknown_result: false,
            depth: 0,
            captured_results: FxHashMap::default(),
        };
        flow.definition(definition);
    }
}

impl Flow<'_, '_> {
    fn definition(&mut self, definition: &Definition) {
        let DefinitionBody::Function(function) = &definition.body else { return };
        let outcome = self.function(&function.params, &function.body, &definition.scheme.ty, Some(&definition.name));
        let Outcome { fresh, captured } = outcome;
        self.captured_results.insert(definition.id, captured);
        if fresh && self.checker.unannotated.contains(&definition.id) {
            self.checker.fresh_results.insert(definition.id, function.params.len());
        }
    }

    /// A function body: its parameters belong to the caller unless they are unique.
    fn function(&mut self, params: &[Pattern], body: &Exp, ty: &Type, name: Option<&Name>) -> Outcome {
        let outer_consumed = self.consumed.clone();
        let outer_unknown = std::mem::replace(&mut self.unknown_result, false);
        self.depth += 1;
        let mut ty = ty.clone();
        let mut unique = false;
        for param in params {
            let mut owner = Owner::Caller;
            if let Type::Arrow(arrow) = ty {
                if arrow.consumes {
                    owner = Owner::Ours;
                }
                unique = arrow.to.unique;
                ty = arrow.to.ty.clone();
            }
            self.bind(param, &Aliases::none(), owner);
        }
        let result = self.exp(body);
        let shared = result.every().into_iter().find(|id| !self.may_consume(*id));
        let fresh = shared.is_none() && !self.unknown_result && !params.is_empty();
        let name = name.map_or(String::from("the function"), ToString::to_string);
        if unique
            && !params.is_empty()
            && let Some(shared) = shared
        {
            let shared = self.name(shared);
            let message = format!("the result of {name} is declared unique, but is aliased to {shared}, which is not consumable");
            self.checker.error("E0403", body.span, message).hint =
                Some(String::from("return `copy` of it, or remove the `*` from the result type"));
        } else if unique
            && !params.is_empty()
            && let Some(shared) = result.repeated(&mut BTreeSet::new())
        {
            let shared = self.name(shared);
            let message =
                format!("a unique component of the result of {name} is aliased to another component: both are {shared}");
            self.checker.error("E0403", body.span, message).hint = Some(format!("return `copy {shared}` in one of them"));
        }
        self.depth -= 1;
        self.consumed = outer_consumed;
        self.unknown_result = outer_unknown;
        let is_outer = |id: &VarId| self.vars.get(id).is_some_and(|var| var.depth <= self.depth);
        Outcome { fresh, captured: result.every().into_iter().filter(is_outer).collect() }
    }

    fn name(&self, id: VarId) -> Name {
        self.checker.vars[id.0 as usize].name.clone()
    }

    fn may_consume(&self, id: VarId) -> bool {
        self.vars.get(&id).is_some_and(|var| var.owner == Owner::Ours && var.depth == self.depth)
    }

    fn bind(&mut self, pattern: &Pattern, aliases: &Aliases, owner: Owner) {
        match &pattern.kind {
            PatternKind::Var(id, name) => {
                let tree = self.components(&pattern.ty, name, aliases, owner);
                let variable = Variable { aliases: tree.every(), tree, owner, depth: self.depth };
                self.vars.insert(*id, variable);
            }
            PatternKind::Record(fields) => fields.iter().for_each(|(name, field)| self.bind(field, &aliases.field(name), owner)),
            PatternKind::Constructor(_, args) => {
                let all = Aliases::All(aliases.every());
                args.iter().for_each(|arg| self.bind(arg, &all, owner));
            }
            PatternKind::Wildcard | PatternKind::Bool(_) | PatternKind::Int(_) | PatternKind::Float(_) => {}
        }
    }

    /// The aliases of a variable. Each component of a record is a variable of its own: consuming one leaves the others alone.
    fn components(&mut self, ty: &Type, name: &Name, aliases: &Aliases, owner: Owner) -> Aliases {
        let Type::Record(fields) = ty else {
            return if holds_array(ty) { aliases.clone() } else { Aliases::none() };
        };
        let part = |flow: &mut Self, field: &Name, ty: &Type| {
            let own_name = Name::from(format!("{name}.{field}"));
            let own = flow.components(ty, &own_name, &aliases.field(field), owner);
            if !holds_array(ty) || matches!(own, Aliases::Fields(_)) {
                return own;
            }
            let id = flow.checker.fresh_var(own_name);
            let variable = Variable { aliases: own.every(), tree: own.clone(), owner, depth: flow.depth };
            flow.vars.insert(id, variable);
            with_self(&own, id)
        };
        Aliases::Fields(fields.iter().map(|(field, ty)| (field.clone(), part(self, field, ty))).collect())
    }

    /// A look at a variable.
    fn observe(&mut self, id: VarId, span: Span) {
        self.observed.push((id, span));
        let gone = std::iter::once(id)
            .chain(self.vars.get(&id).into_iter().flat_map(|var| var.aliases.iter().copied()))
            .find_map(|alias| self.consumed.get(&alias).map(|at| (alias, *at)));
        let Some((alias, at)) = gone else { return };
        let name = self.name(id);
        let message = if alias == id {
            format!("using {name}, but this was consumed")
        } else {
            format!("using {name}, but this was consumed through {}, to which it is aliased", self.name(alias))
        };
        let diagnostic = self.checker.error("E0400", span, message);
        diagnostic.secondary.push(Label { span: at, text: String::from("consumed here") });
        diagnostic.hint = Some(String::from("consume a `copy` instead, or use it before it is consumed"));
        // Once is enough.
        self.consumed.remove(&alias);
    }

    fn consume(&mut self, aliases: &Aliases, span: Span) {
        let direct = aliases.every();
        let behind = direct.iter().filter_map(|id| self.vars.get(id)).flat_map(|var| var.aliases.iter().copied());
        let all: BTreeSet<VarId> = behind.chain(direct.iter().copied()).collect();
        for alias in all {
            if !self.may_consume(alias) {
                let name = self.name(alias);
                let why = match self.vars.get(&alias) {
                    Some(var) if var.owner == Owner::Caller => "is a parameter without `*`",
                    Some(_) => "is bound outside this function or loop",
                    None => "is a global value",
                };
                self.checker.error("E0401", span, format!("would consume {name}, which is not consumable: it {why}")).hint =
                    Some(format!("consume `copy {name}` instead"));
                return;
            }
            if let Some(at) = self.consumed.insert(alias, span) {
                let message = format!("using {}, but this was consumed", self.name(alias));
                let diagnostic = self.checker.error("E0400", span, message);
                diagnostic.secondary.push(Label { span: at, text: String::from("consumed here") });
                diagnostic.hint = Some(String::from("consume a `copy` instead"));
                return;
            }
        }
    }

    fn all(&mut self, exps: &[Exp]) -> Vec<Aliases> {
        exps.iter().map(|exp| self.exp(exp)).collect()
    }

    fn exp(&mut self, exp: &Exp) -> Aliases {
        let aliases = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.exp_inner(exp));
        if holds_array(&exp.ty) { aliases } else { Aliases::none() }
    }

    fn exp_inner(&mut self, exp: &Exp) -> Aliases {
        match &exp.kind {
            ExpKind::Bool(_) | ExpKind::Int(_) | ExpKind::Float(_) | ExpKind::String(_) | ExpKind::Hole | ExpKind::Error => {
                Aliases::none()
            }
            ExpKind::Var { id, .. } => {
                self.observe(*id, exp.span);
                match self.vars.get(id) {
                    Some(var) => with_self(&var.tree, *id),
                    None => Aliases::All(BTreeSet::from([*id])),
                }
            }
            ExpKind::Record(fields) => {
                Aliases::Fields(fields.iter().map(|(name, field)| (name.clone(), self.exp(field))).collect())
            }
            ExpKind::Project(record, field) => match self.path(exp) {
                Some(aliases) => aliases,
                None => self.exp(record).field(field),
            },
            ExpKind::Array(elements) => {
                self.all(elements);
                Aliases::none()
            }
            ExpKind::Construct(_, args) => {
                let parts = self.all(args);
                Aliases::All(parts.iter().flat_map(Aliases::every).collect())
            }
            ExpKind::Apply { function, args, .. } => self.application(function, args),
            ExpKind::Lambda(lambda) => {
                self.function(&lambda.params, &lambda.body, &exp.ty, None);
                Aliases::none()
            }
            ExpKind::Let { .. } | ExpKind::LetFunctions { .. } | ExpKind::LetSizes(..) => self.lets(exp),
            ExpKind::If(condition, then, otherwise) => {
                self.exp(condition);
                self.branches(&[(None, then), (None, otherwise)], &Aliases::none())
            }
            ExpKind::And(left, right) | ExpKind::Or(left, right) => {
                self.exp(left);
                self.exp(right);
                Aliases::none()
            }
            ExpKind::Match(scrutinee, cases) => {
                let aliases = self.exp(scrutinee);
                let branches: Vec<_> = cases.iter().map(|(pattern, body)| (Some(pattern), body)).collect();
                self.branches(&branches, &aliases)
            }
            ExpKind::Loop(parts) => self.loop_exp(parts, exp.span),
            ExpKind::Index(array, indices) => {
                let aliases = self.exp(array);
                self.indices(indices);
                aliases
            }
            ExpKind::Taken(part) => {
                self.exp(part);
                Aliases::none()
            }
            ExpKind::Update(array, indices, value) => {
                let target = self.exp(array);
                self.indices(indices);
                let value_aliases = self.exp(value);
                if value_aliases.every().intersection(&target.every()).next().is_some() && !matches!(value.ty, Type::Prim(_)) {
                    self.checker.error("E0402", value.span, "the new value shares memory with the array it is written to").hint =
                        Some(String::from("write a `copy` of it"));
                }
                self.consume(&target, exp.span);
                Aliases::none()
            }
            ExpKind::RecordUpdate(record, field, value) => {
                let record = self.exp(record);
                let value = self.exp(value);
                match record {
                    Aliases::Fields(mut fields) => {
                        fields.insert(field.clone(), value);
                        Aliases::Fields(fields)
                    }
                    all @ Aliases::All(_) => all.union(value),
                }
            }
            ExpKind::Range { first, second, last, .. } => {
                self.exp(first);
                second.iter().for_each(|second| {
                    self.exp(second);
                });
                self.exp(last);
                Aliases::none()
            }
            ExpKind::Assert { condition, body, .. } => {
                self.exp(condition);
                self.exp(body)
            }
            ExpKind::Bind(id, inner) => {
                let tree = self.exp(inner);
                let variable = Variable { aliases: tree.every(), tree: tree.clone(), owner: Owner::Ours, depth: self.depth };
                self.vars.insert(*id, variable);
                tree
            }
            ExpKind::Open(_, inner) | ExpKind::Checked(_, inner) | ExpKind::Attributed(_, inner) => self.exp(inner),
        }
    }

    /// The aliases of `x.a.b`: looking at one component does not look at the others.
    fn path(&mut self, exp: &Exp) -> Option<Aliases> {
        let mut fields = Vec::new();
        let mut current = exp;
        while let ExpKind::Project(record, field) = &current.kind {
            fields.push(field);
            current = record;
        }
        let ExpKind::Var { id, .. } = &current.kind else { return None };
        let tree = self.vars.get(id)?.tree.clone();
        let part = fields.iter().rev().fold(tree.clone(), |tree, field| tree.field(field));
        match tree {
            Aliases::Fields(_) => {
                part.every().into_iter().for_each(|alias| self.observe(alias, exp.span));
                Some(part)
            }
            Aliases::All(_) => {
                self.observe(*id, exp.span);
                Some(with_self(&part, *id))
            }
        }
    }

    fn indices(&mut self, indices: &[Index]) {
        for index in indices {
            match index {
                Index::At(exp) => {
                    self.exp(exp);
                }
                Index::Slice { start, end, stride } => {
                    [start, end, stride].into_iter().flatten().for_each(|exp| {
                        self.exp(exp);
                    });
                }
            }
        }
    }

    fn application(&mut self, function: &Exp, args: &[Exp]) -> Aliases {
        // The body of a lambda that is applied on the spot runs when the arguments are there.
        let (mut result, aliases) = match &function.kind {
            ExpKind::Lambda(_) => {
                let aliases = self.all(args);
                (self.exp(function), aliases)
            }
            _ => (self.exp(function), self.all(args)),
        };
        let mut ty = function.ty.clone();
        let mut unique = false;
        for (index, (arg, own)) in args.iter().zip(&aliases).enumerate() {
            let Type::Arrow(arrow) = ty else { break };
            if arrow.consumes {
                let others = aliases.iter().enumerate().filter(|(other, _)| *other != index);
                let shared = others.into_iter().find_map(|(_, other)| other.every().intersection(&own.every()).next().copied());
                let shared = shared.or_else(|| own.repeated(&mut BTreeSet::new()));
                if let Some(shared) = shared {
                    let shared = self.name(shared);
                    self.checker
                        .error("E0400", arg.span, format!("{shared} is consumed here and used again in the same call"))
                        .hint = Some(String::from("consume a `copy` instead"));
                } else {
                    self.consume(own, arg.span);
                }
            } else {
                result = result.union(Aliases::All(own.every()));
            }
            unique = arrow.to.unique;
            ty = arrow.to.ty.clone();
        }
        if let ExpKind::Var { id, .. } = &function.kind {
            unique |= self.checker.fresh_results.get(id).is_some_and(|arity| args.len() >= *arity);
            if let Some(captured) = self.captured_results.get(id) {
                result = result.union(Aliases::All(captured.clone()));
            }
            self.unknown_result |= !unique && self.vars.get(id).is_some_and(|var| var.owner == Owner::Caller);
        }
        if unique { Aliases::none() } else { result }
    }

    /// What was looked at since the mark and is bound around here: what a function made there captures. What has been consumed by now
    /// cannot be captured.
    fn captured_since(&self, mark: usize) -> BTreeSet<VarId> {
        let around = self.observed[mark..].iter().filter_map(|(id, _)| Some((*id, self.vars.get(id)?)));
        let around = around.filter(|(_, var)| var.depth <= self.depth);
        let captured = around.flat_map(|(id, var)| std::iter::once(id).chain(var.aliases.iter().copied()));
        captured.filter(|id| !self.consumed.contains_key(id)).collect()
    }

    fn lets(&mut self, exp: &Exp) -> Aliases {
        let mut current = exp;
        loop {
            match &current.kind {
                ExpKind::Let { pattern, value, body } => {
                    let mark = self.observed.len();
                    // What is around here and could be consumed by making a function.
                    let around: BTreeSet<VarId> = match &value.ty {
                        Type::Arrow(_) => self.vars.keys().filter(|id| !self.consumed.contains_key(id)).copied().collect(),
                        _ => BTreeSet::new(),
                    };
                    let aliases = match (&value.kind, &pattern.kind) {
                        (ExpKind::Lambda(lambda), PatternKind::Var(id, name)) => {
                            let outcome = self.function(&lambda.params, &lambda.body, &value.ty, Some(name));
                            self.captured_results.insert(*id, outcome.captured);
                            if outcome.fresh {
                                self.checker.fresh_results.insert(*id, lambda.params.len());
                            }
                            Aliases::none()
                        }
                        _ => self.exp(value),
                    };
                    self.bind(pattern, &aliases, Owner::Ours);
                    if let (Type::Arrow(_), PatternKind::Var(id, name)) = (&value.ty, &pattern.kind) {
                        if let Some((gone, _)) = self.consumed.iter().find(|(id, _)| around.contains(id)) {
                            let message =
                                format!("the function {name} contains consumption: making it consumes {}", self.name(*gone));
                            self.checker.error("E0405", value.span, message).hint =
                                Some(String::from("consume a `copy` instead: the function may be called more than once"));
                        }
                        self.set_captured(*id, mark);
                    }
                    current = body;
                }
                ExpKind::LetFunctions { functions, body, .. } => {
                    for function in functions {
                        let variable =
                            Variable { aliases: BTreeSet::new(), tree: Aliases::none(), owner: Owner::Ours, depth: self.depth };
                        self.vars.insert(function.id, variable);
                    }
                    let mark = self.observed.len();
                    functions.iter().for_each(|function| self.definition(function));
                    functions.iter().for_each(|function| self.set_captured(function.id, mark));
                    current = body;
                }
                ExpKind::LetSizes(_, body) => current = body,
                _ => return self.exp(current),
            }
        }
    }

    fn branches(&mut self, branches: &[(Option<&Pattern>, &Exp)], scrutinee: &Aliases) -> Aliases {
        let before = self.consumed.clone();
        let mut after = BTreeMap::new();
        let mut result: Option<Aliases> = None;
        for (pattern, body) in branches {
            self.consumed = before.clone();
            if let Some(pattern) = pattern {
                self.bind(pattern, scrutinee, Owner::Ours);
            }
            let aliases = self.exp(body);
            result = Some(match result {
                Some(so_far) => so_far.union(aliases),
                None => aliases,
            });
            after.extend(std::mem::take(&mut self.consumed));
        }
        // What a branch consumed has no other name any more: what another branch gives of it is all that is left.
        let mut gone: BTreeSet<VarId> = after.keys().copied().collect();
        self.consumed = after;
        let result = result.unwrap_or_else(Aliases::none);
        // The same holds for names that go back to it: nobody may use them.
        let is_gone = |id: &VarId| self.vars.get(id).is_some_and(|var| !var.aliases.is_disjoint(&gone));
        let more: Vec<VarId> = result.every().into_iter().filter(is_gone).collect();
        gone.extend(more);
        result.without(&gone)
    }

    fn loop_exp(&mut self, parts: &crate::tree::Loop, span: Span) -> Aliases {
        let initial = self.exp(&parts.initial);
        match &parts.form {
            LoopForm::For(_, _, bound) => {
                self.exp(bound);
            }
            LoopForm::ForIn(_, array) => {
                self.exp(array);
            }
            LoopForm::While(_) => {}
        }
        let before = self.consumed.clone();
        let mark = self.observed.len();
        self.depth += 1;
        self.bind(&parts.pattern, &Aliases::none(), Owner::Ours);
        if let LoopForm::ForIn(pattern, _) = &parts.form {
            self.bind(pattern, &Aliases::none(), Owner::Caller);
        }
        if let LoopForm::While(condition) = &parts.form {
            self.exp(condition);
        }
        let body = self.exp(&parts.body);
        self.depth -= 1;
        let mut consumed = Vec::new();
        let kept = self.kept(&parts.pattern, &initial, &body, &mut consumed);
        self.consumed = before;
        for part in &consumed {
            self.consumed_part(part, mark, span);
        }
        if parts.consumes && consumed.is_empty() {
            self.consume(&initial, span);
        }
        if parts.consumes
            && let Some(shared) = body.repeated(&mut BTreeSet::new())
        {
            let shared = self.name(shared);
            let message =
                format!("the next value of a consuming loop parameter is aliased to that of another: both are {shared}");
            self.checker.error("E0404", parts.body.span, message).hint = Some(format!("return `copy {shared}` for one of them"));
        }
        let kept = if parts.consumes { Aliases::none() } else { kept };
        // What was bound inside the loop is gone; names around it remain.
        let depth = self.depth;
        let inner: BTreeSet<VarId> =
            body.every().into_iter().filter(|id| self.vars.get(id).is_some_and(|var| var.depth > depth)).collect();
        kept.union(body.without(&inner))
    }

    /// A loop parameter that the body consumes takes its initial value with it, and must get a new value of its own.
    fn consumed_part(&mut self, part: &ConsumedPart, mark: usize, span: Span) {
        let gone = part.initial.every();
        let shares = |id: &VarId| {
            gone.contains(id) || self.vars.get(id).is_some_and(|var| var.depth <= self.depth && !var.aliases.is_disjoint(&gone))
        };
        if let Some((id, at)) = self.observed[mark..].iter().find(|(id, _)| shares(id)).copied() {
            let name = self.name(id);
            let diagnostic = self.checker.error("E0400", at, format!("{name} is used in a loop that consumes it"));
            diagnostic.secondary.push(Label { span, text: String::from("consumed by this loop") });
            diagnostic.hint = Some(String::from("start the loop from a `copy`"));
            return;
        }
        let is_own = |id: &VarId| self.vars.get(id).is_some_and(|var| var.owner == Owner::Ours && var.depth > self.depth);
        if let Some(shared) = part.next.every().into_iter().find(|id| !is_own(id)) {
            let shared = self.name(shared);
            let message =
                format!("the loop consumes its parameter, but the next value is aliased to {shared}, which is not consumable");
            self.checker.error("E0404", span, message).hint = Some(format!("return `copy {shared}` from the body"));
            return;
        }
        self.consume(&part.initial, span);
    }

    /// The aliases of the initial value that a loop may hand through; the parts that the body consumes go to the list.
    fn kept(&self, pattern: &Pattern, initial: &Aliases, next: &Aliases, gone: &mut Vec<ConsumedPart>) -> Aliases {
        match &pattern.kind {
            PatternKind::Var(id, _) => match self.vars.get(id) {
                Some(var) => self.kept_part(&with_self(&var.tree, *id), initial, next, gone),
                None => initial.clone(),
            },
            PatternKind::Record(fields) => Aliases::Fields(
                fields
                    .iter()
                    .map(|(name, field)| (name.clone(), self.kept(field, &initial.field(name), &next.field(name), gone)))
                    .collect(),
            ),
            _ => initial.clone(),
        }
    }

    fn kept_part(&self, own: &Aliases, initial: &Aliases, next: &Aliases, gone: &mut Vec<ConsumedPart>) -> Aliases {
        match own {
            Aliases::All(vars) if vars.iter().any(|id| self.consumed.contains_key(id)) => {
                gone.push(ConsumedPart { initial: initial.clone(), next: next.clone() });
                Aliases::none()
            }
            Aliases::All(_) => initial.clone(),
            Aliases::Fields(fields) => Aliases::Fields(
                fields
                    .iter()
                    .map(|(name, field)| (name.clone(), self.kept_part(field, &initial.field(name), &next.field(name), gone)))
                    .collect(),
            ),
        }
    }

    /// Looking at a function looks at what it captures.
    fn set_captured(&mut self, function: VarId, mark: usize) {
        let captured = self.captured_since(mark);
        if let Some(variable) = self.vars.get_mut(&function) {
            variable.aliases = captured;
        }
    }
}

/// A variable's aliases and the variable itself.
fn with_self(tree: &Aliases, id: VarId) -> Aliases {
    match tree {
        Aliases::All(vars) => Aliases::All(vars.iter().copied().chain([id]).collect()),
        // The components stand for the whole.
        Aliases::Fields(_) => tree.clone(),
    }
}

/// Whether a value of the type can share memory with another.
fn holds_array(ty: &Type) -> bool {
    match ty {
        Type::Array(..) | Type::Param(..) | Type::Named(..) | Type::Hidden(..) => true,
        Type::Record(fields) => fields.iter().any(|(_, ty)| holds_array(ty)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(holds_array),
        Type::Prim(_) | Type::Var(_) | Type::Arrow(_) | Type::Error => false,
    }
}
