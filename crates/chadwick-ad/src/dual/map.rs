//! A balanced map from identities to cotangents and what belongs to them, as Core: a search tree by identity that is at the same time a heap
//! by a hash of it, so it is balanced whatever the order of insertions. Inserting at a known identity adds the cotangents.

use super::atoms_of;
use super::numbers::Numbers;
use crate::context::Context;
use chadwick_core::{
    Arm, Atom, BinaryOp, Binder, Block, CompareOp, Constructor, FunctionId, Op, Prim, PrimOp, Type, TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};
use std::rc::Rc;

pub struct Map {
    numbers: Rc<Numbers>,
    pub ty: Type,
    /// What stands beside the cotangent of an entry.
    extra: Vec<Type>,
    insert: FunctionId,
    take_last: FunctionId,
    find: FunctionId,
    union: FunctionId,
}

const LEAF: u32 = 0;
const NODE: u32 = 1;

/// An odd number near the golden part of 2^64: multiples of it are spread evenly.
const SPREAD: i64 = -7_046_029_254_386_353_131;

/// The fields of a node.
struct Node {
    binders: Vec<Binder>,
}

impl Node {
    fn left(&self) -> Atom {
        Atom::Var(self.binders[0].var)
    }

    fn right(&self) -> Atom {
        Atom::Var(self.binders[self.binders.len() - 1].var)
    }

    fn key(&self) -> Atom {
        Atom::Var(self.binders[1].var)
    }

    /// The key, what belongs to it, and its cotangent.
    fn entry(&self) -> Vec<Atom> {
        atoms_of(&self.binders[1..self.binders.len() - 1])
    }
}

impl Map {
    /// The type, whose entries may mention the type itself; `extra` says what they have besides cotangents.
    pub fn new(numbers: Rc<Numbers>, context: &mut Context, extra: impl FnOnce(&Type) -> Vec<Type>) -> Map {
        let types = &mut context.b.program_mut().types;
        let id = TypeId(types.len() as u32);
        let ty = Type::Named(id);
        types.push(TypeDefinition { name: Name::from("staged_calls"), constructors: Vec::new() });
        let extra = extra(&ty);
        let node = [vec![ty.clone(), Type::I64], extra.clone(), numbers.types(), vec![ty.clone()]].concat();
        context.b.program_mut().types[id.0 as usize].constructors = vec![
            Constructor { name: Name::from("leaf"), payload: Vec::new() },
            Constructor { name: Name::from("node"), payload: node },
        ];
        let span = Span::default();
        let entry = [vec![Type::I64], extra.clone(), numbers.types()].concat();
        let mut function = |name: &str, params: Vec<Type>, results: Vec<Type>| {
            let params: Vec<Binder> = params.into_iter().map(|ty| context.fresh("", ty)).collect();
            context.reserve(Name::from(name), params, results, span)
        };
        let insert = function("insert", [vec![ty.clone()], entry.clone()].concat(), vec![ty.clone()]);
        let last = [entry.clone(), vec![ty.clone()]].concat();
        let take_last = function("take_last", [vec![ty.clone()], entry.clone(), vec![ty.clone()]].concat(), last);
        let find = function("find", vec![ty.clone(), Type::I64], numbers.types());
        let union = function("union", vec![ty.clone(), ty.clone()], vec![ty.clone()]);
        let map = Map { numbers, ty, extra, insert, take_last, find, union };
        map.define(context, map.insert, |context, params| map.insert_body(context, params));
        map.define(context, map.take_last, |context, params| map.take_last_body(context, params));
        map.define(context, map.find, |context, params| map.find_body(context, params));
        map.define(context, map.union, |context, params| map.union_body(context, params));
        map
    }

    fn define(&self, context: &mut Context, function: FunctionId, make: impl FnOnce(&mut Context, &[Atom]) -> Vec<Atom>) {
        let params = atoms_of(&context.program().functions[function.0 as usize].params);
        let body = context.block(|context| make(context, &params));
        context.b.program_mut().functions[function.0 as usize].body = body;
    }

    fn call(&self, context: &mut Context, function: FunctionId, args: Vec<Atom>, span: Span) -> Vec<Atom> {
        context.emit(Op::Call { function, args }, span)
    }

    pub fn empty(&self, context: &mut Context, span: Span) -> Atom {
        context.construct(&self.ty, LEAF, Vec::new(), span).swap_remove(0)
    }

    pub fn insert(&self, context: &mut Context, map: Atom, entry: Vec<Atom>, span: Span) -> Atom {
        self.call(context, self.insert, [vec![map], entry].concat(), span).swap_remove(0)
    }

    pub fn union(&self, context: &mut Context, left: Atom, right: Atom, span: Span) -> Atom {
        self.call(context, self.union, vec![left, right], span).swap_remove(0)
    }

    pub fn find(&self, context: &mut Context, map: Atom, key: Atom, span: Span) -> Vec<Atom> {
        self.call(context, self.find, vec![map, key], span)
    }

    /// Whether anything is in the map.
    pub fn is_full(&self, context: &mut Context, map: Atom, span: Span) -> Atom {
        let full = super::plain_block(vec![Atom::bool(true)]);
        let empty = super::plain_block(vec![Atom::bool(false)]);
        let arms = vec![Arm { tag: LEAF, binders: Vec::new(), body: empty }];
        context.b.push(Op::Match { scrutinee: map, arms, otherwise: Some(full) }, vec![Type::BOOL], span).swap_remove(0)
    }

    /// Does something with the last entry and the map without it; nothing if the map is empty.
    pub fn with_last(
        &self,
        context: &mut Context,
        map: Atom,
        otherwise: Vec<Atom>,
        span: Span,
        make: impl FnOnce(&mut Context, &[Atom], Atom) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let types: Vec<Type> = otherwise.iter().map(|atom| context.type_of(atom)).collect();
        let node = self.node(context);
        let body = context.block(|context| {
            let args = [vec![node.left()], node.entry(), vec![node.right()]].concat();
            let mut last = self.call(context, self.take_last, args, span);
            let rest = last.pop().unwrap_or(Atom::i64(0));
            make(context, &last, rest)
        });
        let arms = vec![Arm { tag: NODE, binders: node.binders, body }];
        context.b.push(Op::Match { scrutinee: map, arms, otherwise: Some(super::plain_block(otherwise)) }, types, span)
    }

    fn node(&self, context: &mut Context) -> Node {
        let types = [vec![self.ty.clone(), Type::I64], self.extra.clone(), self.numbers.types(), vec![self.ty.clone()]].concat();
        Node { binders: types.into_iter().map(|ty| context.fresh("", ty)).collect() }
    }

    fn make_node(&self, context: &mut Context, left: Atom, entry: Vec<Atom>, right: Atom) -> Atom {
        let args = [vec![left], entry, vec![right]].concat();
        context.construct(&self.ty, NODE, args, Span::default()).swap_remove(0)
    }

    /// A choice by a match on a map.
    fn matched(&self, context: &mut Context, map: Atom, results: Vec<Type>, leaf: Block, node: Node, body: Block) -> Vec<Atom> {
        let arms = vec![Arm { tag: LEAF, binders: Vec::new(), body: leaf }, Arm { tag: NODE, binders: node.binders, body }];
        context.b.push(Op::Match { scrutinee: map, arms, otherwise: None }, results, Span::default())
    }

    fn compare(&self, context: &mut Context, op: CompareOp, left: Atom, right: Atom) -> Atom {
        context.prim(PrimOp::Compare(op, Prim::I64), vec![left, right], Span::default())
    }

    /// Whether the first key belongs above the second.
    fn is_above(&self, context: &mut Context, first: Atom, second: Atom) -> Atom {
        let span = Span::default();
        let first = context.i64_op(BinaryOp::Mul, first, Atom::i64(SPREAD), span);
        let second = context.i64_op(BinaryOp::Mul, second, Atom::i64(SPREAD), span);
        self.compare(context, CompareOp::Less, second, first)
    }

    fn choose(
        &self,
        context: &mut Context,
        condition: Atom,
        then: impl FnOnce(&mut Context) -> Vec<Atom>,
        otherwise: impl FnOnce(&mut Context) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let (then, otherwise) = (context.block(then), context.block(otherwise));
        context.emit(Op::If { condition, then, otherwise }, Span::default())
    }

    fn insert_body(&self, context: &mut Context, params: &[Atom]) -> Vec<Atom> {
        let span = Span::default();
        let (map, entry) = (params[0].clone(), params[1..].to_vec());
        let key = entry[0].clone();
        let leaf = context.block(|context| {
            let empty = self.empty(context, span);
            vec![self.make_node(context, empty.clone(), entry.clone(), empty)]
        });
        let node = self.node(context);
        let body = context.block(|context| {
            let own = node.entry();
            let equal = self.compare(context, CompareOp::Equal, key.clone(), node.key());
            self.choose(
                context,
                equal,
                |context| {
                    // The function is the same; the arguments add up.
                    let at = 1 + self.extra.len();
                    let sum = self.numbers.add(context, &own[at..], &entry[at..], span);
                    let entry = [entry[..at].to_vec(), sum].concat();
                    vec![self.make_node(context, node.left(), entry, node.right())]
                },
                |context| {
                    let less = self.compare(context, CompareOp::Less, key.clone(), node.key());
                    self.choose(
                        context,
                        less,
                        |context| {
                            let left = self.insert(context, node.left(), entry.clone(), span);
                            self.rotated(context, left, &node, true)
                        },
                        |context| {
                            let right = self.insert(context, node.right(), entry.clone(), span);
                            self.rotated(context, right, &node, false)
                        },
                    )
                },
            )
        });
        self.matched(context, map, vec![self.ty.clone()], leaf, node, body)
    }

    /// The node with a new child, which goes above it if it belongs there.
    fn rotated(&self, context: &mut Context, child: Atom, node: &Node, is_left: bool) -> Vec<Atom> {
        let leaf = super::plain_block(vec![child.clone()]);
        let upper = self.node(context);
        let body = context.block(|context| {
            let above = self.is_above(context, upper.key(), node.key());
            self.choose(
                context,
                above,
                |context| match is_left {
                    true => {
                        let lower = self.make_node(context, upper.right(), node.entry(), node.right());
                        vec![self.make_node(context, upper.left(), upper.entry(), lower)]
                    }
                    false => {
                        let lower = self.make_node(context, node.left(), node.entry(), upper.left());
                        vec![self.make_node(context, lower, upper.entry(), upper.right())]
                    }
                },
                |context| match is_left {
                    true => vec![self.make_node(context, child.clone(), node.entry(), node.right())],
                    false => vec![self.make_node(context, node.left(), node.entry(), child.clone())],
                },
            )
        });
        self.matched(context, child, vec![self.ty.clone()], leaf, upper, body)
    }

    /// Takes the fields of a node; gives its last entry and the map without it.
    fn take_last_body(&self, context: &mut Context, params: &[Atom]) -> Vec<Atom> {
        let (left, right) = (params[0].clone(), params[params.len() - 1].clone());
        let entry = params[1..params.len() - 1].to_vec();
        let leaf = super::plain_block([entry.clone(), vec![left.clone()]].concat());
        let node = self.node(context);
        let results: Vec<Type> = [vec![Type::I64], self.extra.clone(), self.numbers.types(), vec![self.ty.clone()]].concat();
        let body = context.block(|context| {
            let args = [vec![node.left()], node.entry(), vec![node.right()]].concat();
            let mut last = self.call(context, self.take_last, args, Span::default());
            let rest = last.pop().unwrap_or(Atom::i64(0));
            last.push(self.make_node(context, left, entry, rest));
            last
        });
        self.matched(context, right, results, leaf, node, body)
    }

    fn find_body(&self, context: &mut Context, params: &[Atom]) -> Vec<Atom> {
        let (map, key) = (params[0].clone(), params[1].clone());
        let leaf = super::plain_block(self.numbers.zeros());
        let node = self.node(context);
        let body = context.block(|context| {
            let equal = self.compare(context, CompareOp::Equal, key.clone(), node.key());
            self.choose(
                context,
                equal,
                |_| node.entry().split_off(1 + self.extra.len()),
                |context| {
                    let less = self.compare(context, CompareOp::Less, key.clone(), node.key());
                    let below = self.choose(context, less, |_| vec![node.left()], |_| vec![node.right()]);
                    self.find(context, below[0].clone(), key.clone(), Span::default())
                },
            )
        });
        self.matched(context, map, self.numbers.types(), leaf, node, body)
    }

    /// Inserts what is in the first map, which should be the smaller one, into the second.
    fn union_body(&self, context: &mut Context, params: &[Atom]) -> Vec<Atom> {
        let span = Span::default();
        let (small, large) = (params[0].clone(), params[1].clone());
        let leaf = super::plain_block(vec![large.clone()]);
        let node = self.node(context);
        let body = context.block(|context| {
            let map = self.insert(context, large, node.entry(), span);
            let map = self.union(context, node.right(), map, span);
            vec![self.union(context, node.left(), map, span)]
        });
        self.matched(context, small, vec![self.ty.clone()], leaf, node, body)
    }
}
