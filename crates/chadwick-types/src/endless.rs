//! Functions that call themselves, or each other, whatever their arguments are: they never give a result.

use crate::checker::Checker;
use crate::tree::{Definition, DefinitionBody, Exp, ExpKind, Index, LoopForm};
use crate::ty::VarId;

impl Checker<'_> {
    /// Warns of those among the functions of a group.
    pub fn warn_of_endless(&mut self, definitions: &[Definition]) {
        let params = |definition: &Definition| match &definition.body {
            DefinitionBody::Function(function) => function.params.len(),
            DefinitionBody::Intrinsic(_) => 0,
        };
        let mut endless: Vec<(VarId, usize)> = definitions.iter().map(|one| (one.id, params(one))).collect();
        loop {
            let before = endless.len();
            let calls = |id: VarId| definitions.iter().any(|one| one.id == id && body_calls(one, &endless));
            let remaining = endless.iter().copied().filter(|(id, _)| calls(*id)).collect();
            endless = remaining;
            if endless.len() == before {
                break;
            }
        }
        for definition in definitions.iter().filter(|one| endless.iter().any(|(id, _)| *id == one.id)) {
            let name = &definition.name;
            let message = format!("{name} calls itself whatever its arguments are, so it never gives a result");
            let hint = self.hint_on_own_name(definition.id);
            self.warning("W0202", definition.span, message).hint = hint;
        }
    }

    /// For a function whose definition is being checked: that its name is not that of an earlier one.
    pub fn hint_on_own_name(&self, id: VarId) -> Option<String> {
        let name = &self.vars[id.0 as usize].name;
        (self.being_defined.contains(&id) && self.env.term(name).is_some())
            .then(|| format!("in its own definition {name} is the function being defined, and hides the earlier {name}"))
    }
}

fn body_calls(definition: &Definition, functions: &[(VarId, usize)]) -> bool {
    match &definition.body {
        DefinitionBody::Function(function) => always_calls(&function.body, functions),
        DefinitionBody::Intrinsic(_) => false,
    }
}

/// Whether evaluating the expression surely calls one of the functions, given with the numbers of their parameters.
fn always_calls(exp: &Exp, functions: &[(VarId, usize)]) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let calls = |exp: &Exp| always_calls(exp, functions);
        let is_called = |function: &Exp, args: &[Exp]| match &function.kind {
            ExpKind::Var { id, .. } => functions.iter().any(|(own, params)| own == id && *params <= args.len()),
            _ => false,
        };
        match &exp.kind {
            ExpKind::Apply { function, args, .. } => is_called(function, args) || calls(function) || args.iter().any(calls),
            ExpKind::If(condition, yes, no) => calls(condition) || (calls(yes) && calls(no)),
            ExpKind::Match(value, cases) => calls(value) || (!cases.is_empty() && cases.iter().all(|(_, case)| calls(case))),
            // The right side of these may not be needed.
            ExpKind::And(left, _) | ExpKind::Or(left, _) => calls(left),
            ExpKind::Let { value, body, .. } => calls(value) || calls(body),
            ExpKind::LetFunctions { body, .. } => calls(body),
            ExpKind::Record(fields) => fields.iter().any(|(_, field)| calls(field)),
            ExpKind::Array(parts) | ExpKind::Construct(_, parts) => parts.iter().any(calls),
            ExpKind::Index(array, indices) => calls(array) || indices.iter().any(|index| index_calls(index, functions)),
            ExpKind::Update(array, indices, value) => {
                calls(array) || calls(value) || indices.iter().any(|index| index_calls(index, functions))
            }
            ExpKind::RecordUpdate(target, _, value) => calls(target) || calls(value),
            ExpKind::Range { first, second, last, .. } => calls(first) || second.as_deref().is_some_and(calls) || calls(last),
            ExpKind::Assert { condition, body, .. } => calls(condition) || calls(body),
            ExpKind::Loop(looping) => {
                calls(&looping.initial)
                    || match &looping.form {
                        LoopForm::For(_, _, bound) | LoopForm::ForIn(_, bound) | LoopForm::While(bound) => calls(bound),
                    }
            }
            ExpKind::Project(inner, _)
            | ExpKind::Taken(inner)
            | ExpKind::Bind(_, inner)
            | ExpKind::Open(_, inner)
            | ExpKind::Checked(_, inner)
            | ExpKind::LetSizes(_, inner)
            | ExpKind::Attributed(_, inner) => calls(inner),
            ExpKind::Lambda(_)
            | ExpKind::Var { .. }
            | ExpKind::Bool(_)
            | ExpKind::Int(_)
            | ExpKind::Float(_)
            | ExpKind::String(_)
            | ExpKind::Hole
            | ExpKind::Error => false,
        }
    })
}

fn index_calls(index: &Index, functions: &[(VarId, usize)]) -> bool {
    match index {
        Index::At(at) => always_calls(at, functions),
        Index::Slice { start, end, stride } => {
            [start, end, stride].into_iter().flatten().any(|part| always_calls(part, functions))
        }
    }
}
