//! Functions whose derivative the program gives itself.
//!
//! A call is a row of its own: it keeps what the rule will need. Its results are the scalars right behind it. The reverse pass, which
//! comes to the results first, finds their complete cotangents there and runs the rule once, so the rule may be anything.

use super::structure::Walk;
use super::terms::Dual;
use super::{Calls, atoms_of};
use crate::context::Context;
use chadwick_core::visit::lambda_free_variables;
use chadwick_core::{
    Arm, Atom, BinaryOp, Binder, Block, Constructor, Custom, CustomKind, Op, Statement, Type, TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};

/// The constructor of something that is no call.
pub const NO_CALL: u32 = 0;

impl Calls {
    /// The type of calls and the function that runs their rules on a state, with what the reverse pass has at hand besides. Without calls it changes
    /// nothing.
    pub(super) fn new(context: &mut Context, given: Vec<Type>, state: Vec<Type>) -> Calls {
        let types = &mut context.b.program_mut().types;
        let ty = TypeId(types.len() as u32);
        let none = Constructor { name: Name::from("none"), payload: Vec::new() };
        types.push(TypeDefinition { name: Name::from("call"), constructors: vec![none] });
        let mut params = vec![context.fresh("call", Type::Named(ty)), context.fresh("row", Type::I64)];
        params.extend(given.iter().map(|ty| context.fresh("given", ty.clone())).collect::<Vec<Binder>>());
        params.extend(state.iter().map(|ty| context.fresh("state", ty.clone())).collect::<Vec<Binder>>());
        let unchanged = super::plain_block(atoms_of(&params[2 + given.len()..]));
        let function = context.reserve(Name::from("call_rule"), params, state, Span::default());
        context.b.program_mut().functions[function.0 as usize].body = unchanged;
        Calls { ty, function, given: given.len() }
    }

    /// Runs the rule of a call.
    pub(super) fn run(
        &self,
        context: &mut Context,
        call: Atom,
        identity: Atom,
        given: &[Atom],
        state: &[Atom],
        span: Span,
    ) -> Vec<Atom> {
        let args = [vec![call, identity], given.to_vec(), state.to_vec()].concat();
        let types = state.iter().map(|atom| context.type_of(atom).any_sizes()).collect();
        context.b.push(Op::Call { function: self.function, args }, types, span)
    }

    /// Makes the function do this for each constructor; what is no call changes nothing.
    pub(super) fn set_arms(&self, context: &mut Context, arms: Vec<Arm>, span: Span) {
        let params = context.program().functions[self.function.0 as usize].params.clone();
        let state = &params[2 + self.given..];
        let types = state.iter().map(|param| param.ty.clone()).collect();
        let otherwise = Some(super::plain_block(atoms_of(state)));
        let op = Op::Match { scrutinee: Atom::Var(params[0].var), arms, otherwise };
        let body: Block = context.block(|context| context.b.push(op, types, span));
        context.b.program_mut().functions[self.function.0 as usize].body = body;
    }
}

impl Dual<'_, '_> {
    pub(super) fn custom_rule(&mut self, statement: &Statement, custom: &Custom, flags: &[bool]) {
        let span = statement.span;
        let rung = std::rc::Rc::clone(&self.machinery.rung);
        let Some(calls) = rung.calls() else {
            let name = self.machinery.name.name();
            let reason = "which passes parts of a cotangent on as they come; a rule needs the whole";
            self.context.unsupported(span, &format!("a rule that the program gives by `dual:{name}`, {reason}"));
            return;
        };
        // The function as it is, on plain values.
        let mask: Vec<bool> = custom.args.iter().map(|arg| self.is_dual(arg)).collect();
        let plain: Vec<Atom> = self.atoms(&custom.args, &vec![false; custom.args.len()], span);
        let captures_nothing = [&custom.function, &custom.rule].iter().all(|lambda| lambda_free_variables(lambda).is_empty());
        let all: Vec<Atom> = if captures_nothing && custom.kind == CustomKind::Vjp {
            // A derivative around this one goes by the rule again.
            let binders: Vec<Binder> =
                statement.binders.iter().map(|binder| self.context.fresh("", binder.ty.any_sizes())).collect();
            let results = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
            let op = self.context.copy_custom(custom, plain);
            self.context.push_statement(Statement { binders, op, span });
            results
        } else {
            let function = self.context.copy_lambda(&custom.function);
            for (param, arg) in function.params.iter().zip(plain) {
                self.context.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg]), span });
            }
            function.body.statements.into_iter().for_each(|statement| self.context.push_statement(statement));
            function.body.results
        };
        let skip = custom.kind.tape();
        let (tape, results) = all.split_at(skip.min(all.len()));
        let saved = if matches!(custom.kind, CustomKind::VjpTape { .. }) { tape } else { results };
        // What the rule needs: its captures, what was saved, the results for their structure, and the arguments.
        let captures: Vec<Atom> = lambda_free_variables(&custom.rule).into_iter().map(Atom::Var).collect();
        let plain_captures = self.atoms(&captures, &vec![false; captures.len()], span);
        let args = self.atoms(&custom.args, &mask, span);
        let payload = [plain_captures, saved.to_vec(), results.to_vec(), args].concat();
        let types: Vec<Type> = payload.iter().map(|atom| self.context.type_of(atom).any_sizes()).collect();
        let definition = &mut self.context.b.program_mut().types[calls.ty.0 as usize];
        let tag = definition.constructors.len() as u32;
        definition.constructors.push(Constructor { name: Name::from(format!("call{tag}")), payload: types.clone() });
        let call = self.context.construct(&Type::Named(calls.ty), tag, payload, span).swap_remove(0);
        let mut count = Atom::i64(0);
        for (result, _) in results.iter().zip(flags).filter(|(_, flag)| **flag) {
            let ty = self.context.type_of(result);
            let counted = self.walk(Walk::Count, &ty, vec![result.clone()], vec![count], &[], span);
            count = counted.1.into_iter().next().unwrap_or(Atom::i64(0));
        }
        let environment = self.environment.clone();
        let beside = rung.call(self.context, &environment, call, count, span);
        let mut next = self.context.i64_op(BinaryOp::Add, beside[0].clone(), Atom::i64(1), span);
        let given = [environment, beside].concat();
        let mut parts = Vec::new();
        for (result, flag) in results.iter().zip(flags) {
            if !*flag {
                parts.push(result.clone());
                continue;
            }
            let ty = self.context.type_of(result);
            let (values, after) = self.walk(Walk::Results, &ty, vec![result.clone()], vec![next], &given, span);
            next = after.into_iter().next().unwrap_or(Atom::i64(0));
            parts.extend(values);
        }
        let result_types: Vec<Type> = results.iter().map(|result| self.context.type_of(result).any_sizes()).collect();
        let counts = [captures.len(), saved.len(), result_types.len()];
        let site = Site { tag, types, captures, counts, result_types, mask, flags: flags.to_vec() };
        self.add_arm(&calls, custom, site, span);
        let binders = self.binders(&statement.binders, flags);
        self.context.push_statement(Statement { binders, op: Op::Copy(parts), span });
    }

    /// The reverse pass through a call, in the function that all calls go through.
    fn add_arm(&mut self, calls: &Calls, custom: &Custom, site: Site, span: Span) {
        let params = self.context.program().functions[calls.function.0 as usize].params.clone();
        let number = Atom::Var(params[1].var);
        let (given, state_params) = params[2..].split_at(calls.given);
        let (given, cells) = (atoms_of(given), atoms_of(state_params));
        let binders: Vec<Binder> = site.types.iter().map(|ty| self.context.fresh("", ty.clone())).collect();
        let atoms = atoms_of(&binders);
        let (captures, rest) = atoms.split_at(site.counts[0]);
        let (saved, rest) = rest.split_at(site.counts[1]);
        let (results, args) = rest.split_at(site.counts[2]);
        self.context.b.push_block();
        let mut next = self.context.i64_op(BinaryOp::Add, number, Atom::i64(1), span);
        let mut cotangents = Vec::new();
        for ((result, ty), flag) in results.iter().zip(&site.result_types).zip(&site.flags) {
            if !*flag {
                cotangents.push(self.context.zero_like(result, span));
                continue;
            }
            let (values, after) = self.walk(Walk::Collect, ty, vec![result.clone()], vec![next], &cells, span);
            next = after.into_iter().next().unwrap_or(Atom::i64(0));
            cotangents.extend(values);
        }
        let rule = &custom.rule;
        let inputs = [saved.to_vec(), cotangents].concat();
        let replace = site.captures.iter().zip(captures).filter_map(|(from, to)| match from {
            Atom::Var(var) => Some((*var, to.clone())),
            Atom::Const(_) => None,
        });
        let replace: Vec<_> = replace.chain(rule.params.iter().map(|param| param.var).zip(inputs)).collect();
        let body = self.context.copy_block(&rule.body, replace);
        body.statements.iter().for_each(|statement| self.context.push_statement(statement.clone()));
        let mut state = cells;
        let mut args = args.iter().cloned();
        for ((cotangent, arg), dual) in body.results.iter().zip(&custom.args).zip(&site.mask) {
            let ty = self.context.type_of(arg);
            let count = if *dual { self.dual_type(&ty).len() } else { 1 };
            let parts: Vec<Atom> = args.by_ref().take(count).collect();
            if *dual {
                let parts = [parts, vec![cotangent.clone()]].concat();
                state = self.walk(Walk::Seed, &ty, parts, state, &given, span).1;
            }
        }
        let body = self.context.b.pop_block(state);
        self.machinery.calls.push(Arm { tag: site.tag, binders, body });
        calls.set_arms(self.context, self.machinery.calls.clone(), span);
    }
}

/// What is known of a place where a function with a rule is called.
struct Site {
    tag: u32,
    /// The payload: captures, what was saved, results, arguments with all their parts.
    types: Vec<Type>,
    captures: Vec<Atom>,
    counts: [usize; 3],
    result_types: Vec<Type>,
    /// Which arguments have something beside them, and which results.
    mask: Vec<bool>,
    flags: Vec<bool>,
}
