//! Copowers, the cotangents of functions: bags of pairs of an argument and the cotangent of a result (Vákár and Smeding, section 9).
//!
//! What a bag is made of is known in this file only. Outside there are an empty bag, a bag of one pair, the sum of two, and the fold, which adds what a
//! linear function makes of each pair; so nobody can see in which order pairs are, how they are grouped, or whether there are some with zero.

use super::functions::atoms;
use super::linear::LinearFamily;
use super::meaning::State;
use super::rules::Chad;
use crate::context::Context;
use chadwick_core::typing::constructors;
use chadwick_core::{Arm, Atom, Binder, Block, Constructor, Op, Type, TypeId};
use chadwick_source::{Name, Span};

const NONE: u32 = 0;
const ONE: u32 = 1;
const BOTH: u32 = 2;

/// Makes a type that of bags of such pairs.
pub fn define(context: &mut Context, bag: TypeId, pair: Vec<Type>) {
    let bags = vec![Type::Named(bag); 2];
    let constructor = |name: &str, payload| Constructor { name: Name::from(name), payload };
    context.b.program_mut().types[bag.0 as usize].constructors =
        vec![constructor("none", Vec::new()), constructor("one", pair), constructor("both", bags)];
}

pub fn empty(context: &mut Context, bag: &Type, span: Span) -> Atom {
    context.construct(bag, NONE, Vec::new(), span).swap_remove(0)
}

/// `{(t, -)}`
pub fn one(context: &mut Context, bag: &Type, pair: Vec<Atom>, span: Span) -> Atom {
    context.construct(bag, ONE, pair, span).swap_remove(0)
}

pub fn sum(context: &mut Context, bag: &Type, left: Atom, right: Atom, span: Span) -> Atom {
    context.construct(bag, BOTH, vec![left, right], span).swap_remove(0)
}

impl Chad<'_, '_> {
    /// `copowfold`: adds what a function makes of each pair in a bag.
    pub fn copower_fold(&mut self, ty: &Type, bag: Atom, each: &LinearFamily, state: State, span: Span) -> State {
        let environment = self.environment.clone();
        let bag_type = self.engine.meaning.cotangent_type(self.context, ty);
        let types = self.engine.meaning.state_types(self.context, &environment);
        let mut params = vec![self.context.fresh("", bag_type.clone())];
        let (param, inside) = each.parameter(self.context);
        params.push(param);
        params.extend(types.iter().map(|ty| self.context.fresh("", ty.clone())).collect::<Vec<Binder>>());
        let parameters = atoms(&params);
        let name = Name::from("copower_fold");
        let function = self.context.reserve(name, params, types.clone(), span);
        let before = parameters[2..].to_vec();
        self.context.b.push_block();
        let mut arms = Vec::new();
        let payloads = constructors(&self.context.b, &bag_type).map(<[_]>::to_vec).unwrap_or_default();
        for (tag, constructor) in payloads.iter().enumerate() {
            let binders: Vec<Binder> = constructor.payload.iter().map(|ty| self.context.fresh("", ty.clone())).collect();
            let fields = atoms(&binders);
            self.context.b.push_block();
            let results = match tag as u32 {
                NONE => before.clone(),
                ONE => {
                    let own = inside.apply(self.context, fields, span);
                    let joined = self.engine.meaning.joined(self.context, &environment, Some(before.clone()), own, span);
                    joined.unwrap_or_default()
                }
                BOTH => fields.into_iter().fold(before.clone(), |before, bag| {
                    let args = [vec![bag, inside.argument()], before].concat();
                    self.context.emit(Op::Call { function, args }, span)
                }),
                _ => before.clone(),
            };
            let body = self.context.b.pop_block(results);
            arms.push(Arm { tag: tag as u32, binders, body });
        }
        let results = self.context.b.push(Op::Match { scrutinee: parameters[0].clone(), arms, otherwise: None }, types, span);
        let body: Block = self.context.b.pop_block(results);
        self.context.b.program_mut().functions[function.0 as usize].body = body;
        let start = self.written_out(state, &environment, span);
        let args = [vec![bag, each.argument()], start].concat();
        Some(self.context.emit(Op::Call { function, args }, span))
    }
}
