//! Bags: the cotangents of arrays. To contribute to an element costs nothing that depends on the length of the array; a bag becomes an array
//! once, where the array was made. Several axes are bags of bags.

use super::meaning::{Meaning, sizeless};
use super::sparse::{Sparse, Task};
use crate::context::Context;
use chadwick_core::typing::constructors;
use chadwick_core::{Arm, Atom, Axis, BinaryOp, Binder, Block, Constructor, Dim, Loop, LoopForm, Op, Size, SliceDim, Type};
use chadwick_source::{Name, Span};

const NONE: u32 = 0;
/// A cotangent for the element at an index.
const ONE: u32 = 1;
const BOTH: u32 = 2;
/// Cotangents of all elements, as an array.
const ALL: u32 = 3;
/// Cotangents for the elements at places, as arrays of both.
const SOME: u32 = 4;

pub fn constructors_of(bag: &Type, element: Type) -> Vec<Constructor> {
    let constructor = |name: &str, payload| Constructor { name: Name::from(name), payload };
    vec![
        constructor("none", Vec::new()),
        constructor("one", vec![Type::I64, element.clone()]),
        constructor("both", vec![bag.clone(), bag.clone()]),
        constructor("all", vec![element.clone().array([Dim::Any])]),
        constructor("some", vec![Type::I64.array([Dim::Any]), element.array([Dim::Any])]),
    ]
}

fn read(context: &mut Context, array: &Atom, at: &Atom, span: Span) -> Atom {
    context.emit_one(Op::Index { array: array.clone(), indices: vec![at.clone()] }, span)
}

fn write(context: &mut Context, array: &Atom, at: &Atom, value: Atom, span: Span) -> Atom {
    let dims = vec![SliceDim::Index(at.clone())];
    context.emit_one(Op::Update { array: array.clone(), dims, value }, span)
}

impl Sparse {
    fn bag(&mut self, context: &mut Context, ty: &Type, tag: u32, args: Vec<Atom>, span: Span) -> Atom {
        let bag = self.cotangent_type(context, ty);
        context.construct(&bag, tag, args, span).swap_remove(0)
    }

    pub fn bag_of_all(&mut self, context: &mut Context, ty: &Type, elements: Atom, span: Span) -> Atom {
        self.bag(context, ty, ALL, vec![elements], span)
    }

    pub fn bag_of_some(&mut self, context: &mut Context, ty: &Type, places: Atom, elements: Atom, span: Span) -> Atom {
        self.bag(context, ty, SOME, vec![places, elements], span)
    }

    pub fn sum_of_bags(&mut self, context: &mut Context, ty: &Type, left: &Atom, right: &Atom, span: Span) -> Vec<Atom> {
        let bag = self.cotangent_type(context, ty);
        let same = |atom: &Atom| Block { statements: Vec::new(), results: vec![atom.clone()] };
        let none = |body| vec![Arm { tag: NONE, binders: Vec::new(), body }];
        context.b.push_block();
        context.b.push_block();
        let both = self.bag(context, ty, BOTH, vec![left.clone(), right.clone()], span);
        let both = context.b.pop_block(vec![both]);
        let op = Op::Match { scrutinee: right.clone(), arms: none(same(left)), otherwise: Some(both) };
        let results = context.b.push(op, vec![bag.clone()], span);
        let otherwise = Some(context.b.pop_block(results));
        context.b.push(Op::Match { scrutinee: left.clone(), arms: none(same(right)), otherwise }, vec![bag], span)
    }

    /// The arms of a choice between bags; `make` gets the constructor and its fields.
    fn arms(
        &mut self,
        context: &mut Context,
        bag: &Type,
        mut make: impl FnMut(&mut Self, &mut Context, u32, Vec<Atom>) -> Atom,
    ) -> Vec<Arm> {
        let all = constructors(&context.b, bag).map(<[_]>::to_vec).unwrap_or_default();
        let mut arms = Vec::new();
        for (tag, constructor) in all.iter().enumerate() {
            let binders: Vec<Binder> = constructor.payload.iter().map(|ty| context.fresh("", ty.clone())).collect();
            let fields = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
            context.b.push_block();
            let result = make(self, context, tag as u32, fields);
            arms.push(Arm { tag: tag as u32, binders, body: context.b.pop_block(vec![result]) });
        }
        arms
    }

    /// The cotangents of all elements. What is an array already is changed in place.
    pub fn collected(&mut self, context: &mut Context, ty: &Type, bag: Atom, size: &Atom, span: Span) -> Atom {
        let ty = &sizeless(ty);
        let bag_type = self.cotangent_type(context, ty);
        let rows = self.element(context, ty).array([Dim::Any]);
        let types = (vec![bag_type.clone(), Type::I64], vec![rows.clone()]);
        let function = self.function(context, (Task::Collect, "collect"), ty, types, |this, context, args| {
            let arms = this.arms(context, &bag_type, |this, context, tag, fields| match tag {
                ALL => {
                    context.check_length(&args[1], &fields[0], 0, "cotangent", span);
                    fields[0].clone()
                }
                BOTH => {
                    let left = this.collected(context, ty, fields[0].clone(), &args[1], span);
                    this.added(context, ty, fields[1].clone(), left, span)
                }
                _ => {
                    let zeros = this.zero_rows(context, ty, &args[1], span);
                    match tag {
                        ONE => this.added_at(context, ty, &zeros, &fields[0], fields[1].clone(), span),
                        SOME => this.scattered(context, ty, &zeros, &fields[0], &fields[1], span),
                        _ => zeros,
                    }
                }
            });
            context.b.push(Op::Match { scrutinee: args[0].clone(), arms, otherwise: None }, vec![rows.clone()], span)
        });
        context.emit_one(Op::Call { function, args: vec![bag, size.clone()] }, span)
    }

    fn zero_rows(&mut self, context: &mut Context, ty: &Type, size: &Atom, span: Span) -> Atom {
        let element = ty.peel(1).unwrap_or(Type::BOOL);
        let space = vec![Axis { var: context.fresh("i", Type::I64).var, size: size.clone() }];
        context.b.push_block();
        let zero = self.zero_of(context, &element, span);
        let body = context.b.pop_block(vec![zero]);
        context.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
    }

    fn added_at(&mut self, context: &mut Context, ty: &Type, rows: &Atom, at: &Atom, own: Atom, span: Span) -> Atom {
        let element = ty.peel(1).unwrap_or(Type::BOOL);
        let before = read(context, rows, at, span);
        let sum = self.plus(context, &element, before, own, span);
        write(context, rows, at, sum, span)
    }

    fn scattered(&mut self, context: &mut Context, ty: &Type, rows: &Atom, places: &Atom, elements: &Atom, span: Span) -> Atom {
        let count = context.emit_one(Op::Dim { array: places.clone(), axis: 0 }, span);
        let rows = context.for_loop(count, vec![rows.clone()], span, |context, index, rows| {
            let [at, own] = [places, elements].map(|array| read(context, array, &index, span));
            vec![self.added_at(context, ty, &rows[0], &at, own, span)]
        });
        rows.into_iter().next().unwrap_or(Atom::i64(0))
    }

    /// A bag added to the cotangents of all elements.
    fn added(&mut self, context: &mut Context, ty: &Type, bag: Atom, rows: Atom, span: Span) -> Atom {
        let bag_type = self.cotangent_type(context, ty);
        let rows_type = self.element(context, ty).array([Dim::Any]);
        let types = (vec![bag_type.clone(), rows_type.clone()], vec![rows_type.clone()]);
        let function = self.function(context, (Task::Add, "add_bag"), ty, types, |this, context, args| {
            let arms = this.arms(context, &bag_type, |this, context, tag, fields| match tag {
                ONE => this.added_at(context, ty, &args[1], &fields[0], fields[1].clone(), span),
                BOTH => {
                    let left = this.added(context, ty, fields[0].clone(), args[1].clone(), span);
                    this.added(context, ty, fields[1].clone(), left, span)
                }
                ALL => {
                    let size = context.emit_one(Op::Dim { array: args[1].clone(), axis: 0 }, span);
                    context.check_length(&size, &fields[0], 0, "cotangent", span);
                    let rows = context.for_loop(size, vec![args[1].clone()], span, |context, at, rows| {
                        let own = read(context, &fields[0], &at, span);
                        vec![this.added_at(context, ty, &rows[0], &at, own, span)]
                    });
                    rows.into_iter().next().unwrap_or(Atom::i64(0))
                }
                SOME => this.scattered(context, ty, &args[1], &fields[0], &fields[1], span),
                _ => args[1].clone(),
            });
            context.b.push(Op::Match { scrutinee: args[0].clone(), arms, otherwise: None }, vec![rows_type.clone()], span)
        });
        context.emit_one(Op::Call { function, args: vec![bag, rows] }, span)
    }

    /// The cotangent of an array, given that of a part.
    pub fn embedded(&mut self, context: &mut Context, ty: &Type, dims: &[SliceDim], part: Atom, span: Span) -> Atom {
        let Some((first, rest)) = dims.split_first() else { return part };
        let element = ty.peel(1).unwrap_or(Type::BOOL);
        match first {
            SliceDim::Index(at) => {
                let inner = self.embedded(context, &element, rest, part, span);
                self.bag(context, ty, ONE, vec![at.clone(), inner], span)
            }
            SliceDim::Range { start, count, stride } => {
                let part_type = part_type(ty, dims);
                let rows = self.collected(context, &part_type, part, count, span);
                let none = self.bag(context, ty, NONE, Vec::new(), span);
                let bags = context.for_loop(count.clone(), vec![none], span, |context, index, bags| {
                    let steps = context.i64_op(BinaryOp::Mul, index.clone(), stride.clone(), span);
                    let at = context.i64_op(BinaryOp::Add, start.clone(), steps, span);
                    let own = read(context, &rows, &index, span);
                    let inner = self.embedded(context, &element, rest, own, span);
                    let one = self.bag(context, ty, ONE, vec![at, inner], span);
                    vec![self.plus(context, ty, bags[0].clone(), one, span)]
                });
                bags.into_iter().next().unwrap_or(Atom::i64(0))
            }
        }
    }

    /// The cotangent of an array without that of a part, and that of the part.
    pub fn extracted(
        &mut self,
        context: &mut Context,
        ty: &Type,
        sizes: &[Atom],
        dims: &[SliceDim],
        bag: Atom,
        span: Span,
    ) -> (Atom, Atom) {
        let (Some((first, rest)), Some((size, sizes))) = (dims.split_first(), sizes.split_first()) else {
            return (self.zero_of(context, ty, span), bag);
        };
        let element = ty.peel(1).unwrap_or(Type::BOOL);
        let rows = self.collected(context, ty, bag, size, span);
        let take = |this: &mut Self, context: &mut Context, rows: &Atom, at: &Atom| {
            let own = read(context, rows, at, span);
            let zero = this.zero_of(context, &element, span);
            let rows = write(context, rows, at, zero, span);
            if rest.is_empty() {
                return (rows, own);
            }
            let (own, part) = this.extracted(context, &element, sizes, rest, own, span);
            (write(context, &rows, at, own, span), part)
        };
        match first {
            SliceDim::Index(at) => {
                let (rows, part) = take(self, context, &rows, at);
                (self.bag_of_all(context, ty, rows, span), part)
            }
            SliceDim::Range { start, count, stride } => {
                let part_type = part_type(ty, dims);
                let carry = context.fresh("rows", context.type_of(&rows).any_sizes());
                let index = context.fresh("i", Type::I64);
                context.b.push_block();
                let steps = context.i64_op(BinaryOp::Mul, Atom::Var(index.var), stride.clone(), span);
                let at = context.i64_op(BinaryOp::Add, start.clone(), steps, span);
                let (next, part) = take(self, context, &Atom::Var(carry.var), &at);
                let body = context.b.pop_block(vec![next, part]);
                let types = vec![carry.ty.clone(), self.element(context, &part_type).array([Dim::Any])];
                let form = LoopForm::For { index, bound: count.clone() };
                let emits: Vec<Vec<Size>> = vec![Vec::new()];
                let hints = Default::default();
                let parts = Loop { carry: vec![carry], initial: vec![rows], form, body, emits, counted: false, hints };
                let results = context.b.push(Op::Loop(Box::new(parts)), types, span);
                let [rows, parts] = [0, 1].map(|at| results.get(at).cloned().unwrap_or(Atom::i64(0)));
                (self.bag_of_all(context, ty, rows, span), self.bag_of_all(context, &part_type, parts, span))
            }
        }
    }

    // -------------------------------------------------------------------------------------------------------------- values

    /// A cotangent of the form of its value, without zeros where they are known.
    pub fn sparse(&mut self, context: &mut Context, value: Atom, ty: &Type, span: Span) -> Atom {
        let ty = &sizeless(ty);
        match ty {
            Type::Prim(_) => value,
            Type::Array(array) if array.dims.len() == 1 && Context::is_flat(ty) => self.bag_of_all(context, ty, value, span),
            Type::Array(_) => {
                let element = ty.peel(1).unwrap_or(Type::BOOL);
                let size = context.emit_one(Op::Dim { array: value.clone(), axis: 0 }, span);
                let index = context.fresh("i", Type::I64).var;
                context.b.push_block();
                let own = read(context, &value, &Atom::Var(index), span);
                let own = self.sparse(context, own, &element, span);
                let body = context.b.pop_block(vec![own]);
                let op = Op::Build { space: vec![Axis { var: index, size }], body, inner: vec![Vec::new()] };
                let rows = context.emit_one(op, span);
                self.bag_of_all(context, ty, rows, span)
            }
            _ => {
                let cotangent = self.cotangent_type(context, ty);
                let types = (vec![ty.clone()], vec![cotangent.clone()]);
                let function = self.function(context, (Task::FromValue, "sparse"), ty, types, |this, context, args| {
                    let all = constructors(&context.b, ty).map(<[_]>::to_vec).unwrap_or_default();
                    let mut arms = Vec::new();
                    for (tag, constructor) in all.iter().enumerate() {
                        let binders: Vec<Binder> = constructor.payload.iter().map(|ty| context.fresh("", ty.clone())).collect();
                        context.b.push_block();
                        let carrying: Vec<&Binder> = binders.iter().filter(|it| context.carries(&it.ty)).collect();
                        let fields =
                            carrying.into_iter().map(|it| this.sparse(context, Atom::Var(it.var), &it.ty, span)).collect();
                        let results = context.construct(&cotangent, tag as u32 + 1, fields, span);
                        arms.push(Arm { tag: tag as u32, binders, body: context.b.pop_block(results) });
                    }
                    context.b.push(Op::Match { scrutinee: args[0].clone(), arms, otherwise: None }, vec![cotangent.clone()], span)
                });
                context.emit_one(Op::Call { function, args: vec![value] }, span)
            }
        }
    }

    /// A cotangent in the form of its value, zeros written out.
    pub fn written(&mut self, context: &mut Context, cotangent: Atom, primal: &Atom, ty: &Type, span: Span) -> Atom {
        let ty = &sizeless(ty);
        match ty {
            Type::Prim(_) => cotangent,
            Type::Array(array) => {
                let rank = array.dims.len();
                let sizes: Vec<Atom> =
                    (0..rank).map(|axis| context.emit_one(Op::Dim { array: primal.clone(), axis }, span)).collect();
                let Some((size, inner)) = sizes.split_first() else { return cotangent };
                let rows = self.collected(context, ty, cotangent, size, span);
                if rank == 1 && Context::is_flat(ty) {
                    return rows;
                }
                let element = ty.peel(1).unwrap_or(Type::BOOL);
                let index = context.fresh("i", Type::I64).var;
                context.b.push_block();
                let [own, value] = [&rows, primal].map(|array| read(context, array, &Atom::Var(index), span));
                let own = self.written(context, own, &value, &element, span);
                let body = context.b.pop_block(vec![own]);
                let inner = vec![inner.iter().cloned().map(Size::Known).collect()];
                context.emit_one(Op::Build { space: vec![Axis { var: index, size: size.clone() }], body, inner }, span)
            }
            _ => {
                let cotangent_type = self.cotangent_type(context, ty);
                let types = (vec![cotangent_type, ty.clone()], vec![ty.clone()]);
                let function = self.function(context, (Task::ToValue, "dense"), ty, types, |this, context, args| {
                    this.written_sum(context, ty, &args[0], &args[1], span)
                });
                context.emit_one(Op::Call { function, args: vec![cotangent, primal.clone()] }, span)
            }
        }
    }

    fn written_sum(&mut self, context: &mut Context, ty: &Type, cotangent: &Atom, primal: &Atom, span: Span) -> Vec<Atom> {
        let all = constructors(&context.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let mut arms = Vec::new();
        for (tag, constructor) in all.iter().enumerate() {
            let tag = tag as u32;
            let binders: Vec<Binder> = constructor.payload.iter().map(|ty| context.fresh("", ty.clone())).collect();
            let mut parts = Vec::new();
            for binder in &binders {
                parts.push(match context.carries(&binder.ty) {
                    true => {
                        let ty = self.cotangent_type(context, &binder.ty);
                        Some(context.fresh("", ty))
                    }
                    false => None,
                });
            }
            context.b.push_block();
            context.b.push_block();
            let mut args = Vec::new();
            for (binder, part) in binders.iter().zip(&parts) {
                let value = Atom::Var(binder.var);
                args.push(match part {
                    Some(part) => self.written(context, Atom::Var(part.var), &value, &binder.ty, span),
                    None => value,
                });
            }
            let results = context.construct(ty, tag, args, span);
            let same = Arm { tag: tag + 1, binders: parts.into_iter().flatten().collect(), body: context.b.pop_block(results) };
            let otherwise = Some(context.block(|context| vec![context.zero_like(primal, span)]));
            let op = Op::Match { scrutinee: cotangent.clone(), arms: vec![same], otherwise };
            let results = context.b.push(op, vec![ty.clone()], span);
            arms.push(Arm { tag, binders, body: context.b.pop_block(results) });
        }
        context.b.push(Op::Match { scrutinee: primal.clone(), arms, otherwise: None }, vec![ty.clone()], span)
    }
}

/// The type of a part of an array.
fn part_type(ty: &Type, dims: &[SliceDim]) -> Type {
    let ranges = dims.iter().filter(|dim| matches!(dim, SliceDim::Range { .. })).count();
    let rest = ty.peel(dims.len()).unwrap_or(Type::BOOL);
    rest.array(vec![Dim::Any; ranges])
}
