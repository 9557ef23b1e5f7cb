//! The environment of cotangents that efficient CHAD changes (thesis 6.3.2 to 6.4): a cell for each variable, by its depth.
//!
//! Nobody reads a cell but who opened its scope, and who does takes what is in it, so the order of contributions does not matter. There are three
//! implementations: a map that is never changed in place, which is slow and easy to believe; an array with one owner; and such an array for each task,
//! merged where tasks end (`tasks.rs`).

use super::meaning::{Meaning, sizeless};
use super::sparse::{Sparse, Task};
use crate::context::Context;
use chadwick_core::{
    Arm, Atom, Axis, BinaryOp, Binder, Block, CompareOp, Constructor, Dim, FunctionId, Op, Prim, PrimOp, SliceDim, Type,
    TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;

/// Where the cotangents of variables are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cotangents {
    /// In an array that is changed in place.
    #[default]
    InArray,
    /// In a map of which every state stays as it is.
    InMap,
    /// In arrays, one for each of the tasks that run side by side.
    InTasks,
}

impl Cotangents {
    pub(super) fn environment(self) -> Box<dyn Environment> {
        match self {
            Cotangents::InArray | Cotangents::InTasks => Box::new(InArray::default()),
            Cotangents::InMap => Box::new(InMap::default()),
        }
    }
}

/// What an environment can do. Cells are numbered from zero.
pub trait Environment {
    fn ty(&mut self, context: &mut Context, cell: &Type) -> Type;

    /// All cells are zero.
    fn empty(&mut self, context: &mut Context, cell: &Type, room: usize, span: Span) -> Atom;

    fn with_room(&mut self, context: &mut Context, cell: &Type, state: Atom, room: usize, span: Span) -> Atom;

    fn read(&mut self, context: &mut Context, cell: &Type, state: &Atom, at: &Atom, span: Span) -> Atom;

    fn write(&mut self, context: &mut Context, cell: &Type, state: &Atom, at: &Atom, value: Atom, span: Span) -> Atom;
}

/// The type of cells: zero, or a cotangent of one of the types that occur.
#[derive(Default)]
pub struct Cells {
    id: Option<TypeId>,
    tags: FxHashMap<Type, u32>,
}

const EMPTY: u32 = 0;

impl Cells {
    pub fn ty(&mut self, context: &mut Context) -> Type {
        let types = &mut context.b.program_mut().types;
        let id = *self.id.get_or_insert_with(|| {
            let empty = Constructor { name: Name::from("empty"), payload: Vec::new() };
            types.push(TypeDefinition { name: Name::from("cell"), constructors: vec![empty] });
            TypeId(types.len() as u32 - 1)
        });
        Type::Named(id)
    }

    /// The constructor for a type of cotangents.
    fn tag(&mut self, context: &mut Context, cotangent: &Type) -> u32 {
        let Type::Named(id) = self.ty(context) else { return EMPTY };
        *self.tags.entry(cotangent.clone()).or_insert_with(|| {
            let all = &mut context.b.program_mut().types[id.0 as usize].constructors;
            let tag = all.len() as u32;
            all.push(Constructor { name: Name::from(format!("cotangent{tag}")), payload: vec![cotangent.clone()] });
            tag
        })
    }
}

fn empty_cell(context: &mut Context, cell: &Type, span: Span) -> Atom {
    context.construct(cell, EMPTY, Vec::new(), span).swap_remove(0)
}

impl Sparse {
    /// What is in a cell.
    fn content(&mut self, context: &mut Context, ty: &Type, cell: Atom, span: Span) -> Atom {
        let cotangent = self.cotangent_type(context, ty);
        let tag = self.cells.tag(context, &cotangent);
        let own = context.fresh("d", cotangent.clone());
        let body = Block { statements: Vec::new(), results: vec![Atom::Var(own.var)] };
        context.b.push_block();
        let zero = self.zero_of(context, ty, span);
        let otherwise = Some(context.b.pop_block(vec![zero]));
        let arms = vec![Arm { tag, binders: vec![own], body }];
        context.b.push(Op::Match { scrutinee: cell, arms, otherwise }, vec![cotangent], span).swap_remove(0)
    }

    /// `one`: from an environment, a cell and a cotangent to the environment.
    pub fn one_function(&mut self, context: &mut Context, ty: &Type) -> FunctionId {
        let ty = &sizeless(ty);
        let span = Span::default();
        let cell = self.cells.ty(context);
        let state = self.environment.ty(context, &cell);
        let cotangent = self.cotangent_type(context, ty);
        let tag = self.cells.tag(context, &cotangent);
        let types = (vec![state.clone(), Type::I64, cotangent], vec![state]);
        self.function(context, (Task::One, "one"), ty, types, |this, context, args| {
            let before = this.environment.read(context, &cell, &args[0], &args[1], span);
            let before = this.content(context, ty, before, span);
            let sum = this.plus(context, ty, before, args[2].clone(), span);
            let value = context.construct(&cell, tag, vec![sum], span).swap_remove(0);
            vec![this.environment.write(context, &cell, &args[0], &args[1], value, span)]
        })
    }

    /// The end of a task: from two environments and a cell to the first with what the second has in the cell.
    pub fn merge_function(&mut self, context: &mut Context, ty: &Type) -> FunctionId {
        let ty = &sizeless(ty);
        let span = Span::default();
        let cell = self.cells.ty(context);
        let state = self.environment.ty(context, &cell);
        let cotangent = self.cotangent_type(context, ty);
        let tag = self.cells.tag(context, &cotangent);
        let one = self.one_function(context, ty);
        let types = (vec![state.clone(), state.clone(), Type::I64], vec![state.clone()]);
        self.function(context, (Task::Merge, "merge"), ty, types, |this, context, args| {
            let value = this.environment.read(context, &cell, &args[1], &args[2], span);
            let own = context.fresh("d", cotangent);
            let contribution = vec![args[0].clone(), args[2].clone(), Atom::Var(own.var)];
            let body = context.block(|context| context.emit(Op::Call { function: one, args: contribution }, span));
            let arms = vec![Arm { tag, binders: vec![own], body }];
            let otherwise = Some(Block { statements: Vec::new(), results: vec![args[0].clone()] });
            context.b.push(Op::Match { scrutinee: value, arms, otherwise }, vec![state], span)
        })
    }

    /// The end of a scope: from an environment and a cell to the environment without it, and what was in it.
    pub fn take_function(&mut self, context: &mut Context, ty: &Type) -> FunctionId {
        let ty = &sizeless(ty);
        let span = Span::default();
        let cell = self.cells.ty(context);
        let state = self.environment.ty(context, &cell);
        let cotangent = self.cotangent_type(context, ty);
        let types = (vec![state.clone(), Type::I64], vec![state, cotangent]);
        self.function(context, (Task::Take, "take"), ty, types, |this, context, args| {
            let value = this.environment.read(context, &cell, &args[0], &args[1], span);
            let empty = empty_cell(context, &cell, span);
            let state = this.environment.write(context, &cell, &args[0], &args[1], empty, span);
            vec![state, this.content(context, ty, value, span)]
        })
    }
}

/// Cells in an array. It has one owner, so a change is made in place; it doubles when it is full.
#[derive(Default)]
struct InArray {
    room: Option<FunctionId>,
}

fn empty_cells(context: &mut Context, cell: &Type, size: Atom, span: Span) -> Atom {
    let space = vec![Axis { var: context.fresh("i", Type::I64).var, size }];
    let body = context.block(|context| vec![empty_cell(context, cell, span)]);
    context.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
}

impl Environment for InArray {
    fn ty(&mut self, _: &mut Context, cell: &Type) -> Type {
        cell.clone().array([Dim::Any])
    }

    fn empty(&mut self, context: &mut Context, cell: &Type, room: usize, span: Span) -> Atom {
        empty_cells(context, cell, Atom::i64(room as i64), span)
    }

    fn with_room(&mut self, context: &mut Context, cell: &Type, state: Atom, room: usize, span: Span) -> Atom {
        let ty = self.ty(context, cell);
        let function = *self.room.get_or_insert_with(|| {
            let params = vec![context.fresh("state", ty.clone()), context.fresh("room", Type::I64)];
            let (state, room) = (Atom::Var(params[0].var), Atom::Var(params[1].var));
            let function = context.reserve(Name::from("with_room"), params, vec![ty.clone()], span);
            let body = context.block(|context| {
                let size = context.emit_one(Op::Dim { array: state.clone(), axis: 0 }, span);
                let compare = PrimOp::Compare(CompareOp::LessEqual, Prim::I64);
                let condition = context.prim(compare, vec![room.clone(), size.clone()], span);
                let otherwise = context.block(|context| {
                    let missing = context.i64_op(BinaryOp::Sub, room, size.clone(), span);
                    let more = context.i64_op(BinaryOp::Max, missing, size, span);
                    let more = empty_cells(context, cell, more, span);
                    vec![context.emit_one(Op::Concat { arrays: vec![state.clone(), more] }, span)]
                });
                let then = Block { statements: Vec::new(), results: vec![state] };
                context.b.push(Op::If { condition, then, otherwise }, vec![ty.clone()], span)
            });
            context.b.program_mut().functions[function.0 as usize].body = body;
            function
        });
        context.emit_one(Op::Call { function, args: vec![state, Atom::i64(room as i64)] }, span)
    }

    fn read(&mut self, context: &mut Context, _: &Type, state: &Atom, at: &Atom, span: Span) -> Atom {
        context.emit_one(Op::Index { array: state.clone(), indices: vec![at.clone()] }, span)
    }

    fn write(&mut self, context: &mut Context, _: &Type, state: &Atom, at: &Atom, value: Atom, span: Span) -> Atom {
        let dims = vec![SliceDim::Index(at.clone())];
        context.emit_one(Op::Update { array: state.clone(), dims, value }, span)
    }
}

/// Cells in a binary tree: the bits of a cell's number say where it is.
#[derive(Default)]
struct InMap {
    id: Option<TypeId>,
    read: Option<FunctionId>,
    write: Option<FunctionId>,
}

const LEAF: u32 = 0;
const NODE: u32 = 1;

impl InMap {
    /// Goes one step towards a cell: `make` is told whether it is here, or the subtree and the number in it.
    fn towards(
        &mut self,
        context: &mut Context,
        at: &Atom,
        here: impl FnOnce(&mut Context) -> Atom,
        below: impl Fn(&mut Context, bool, Atom) -> Atom,
        span: Span,
    ) -> Vec<Atom> {
        let number = |op, right: i64| Op::Prim(PrimOp::Binary(op, Prim::I64), vec![at.clone(), Atom::i64(right)]);
        let is = |left: Atom, right: i64| Op::Prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![left, Atom::i64(right)]);
        let condition = context.emit_one(is(at.clone(), 1), span);
        let then = context.block(|context| vec![here(context)]);
        let otherwise = context.block(|context| {
            let rest = context.emit_one(number(BinaryOp::Div, 2), span);
            let bit = context.emit_one(number(BinaryOp::Mod, 2), span);
            let condition = context.emit_one(is(bit, 0), span);
            let then = context.block(|context| vec![below(context, true, rest.clone())]);
            let otherwise = context.block(|context| vec![below(context, false, rest.clone())]);
            context.emit(Op::If { condition, then, otherwise }, span)
        });
        context.emit(Op::If { condition, then, otherwise }, span)
    }

    fn node(&mut self, context: &mut Context, cell: &Type) -> Vec<Binder> {
        let ty = self.ty(context, cell);
        [ty.clone(), cell.clone(), ty].into_iter().map(|ty| context.fresh("", ty)).collect()
    }
}

impl Environment for InMap {
    fn ty(&mut self, context: &mut Context, cell: &Type) -> Type {
        let types = &mut context.b.program_mut().types;
        let id = *self.id.get_or_insert_with(|| {
            let id = TypeId(types.len() as u32);
            let node = vec![Type::Named(id), cell.clone(), Type::Named(id)];
            let constructor = |name: &str, payload| Constructor { name: Name::from(name), payload };
            let constructors = vec![constructor("leaf", Vec::new()), constructor("node", node)];
            types.push(TypeDefinition { name: Name::from("environment"), constructors });
            id
        });
        Type::Named(id)
    }

    fn empty(&mut self, context: &mut Context, cell: &Type, _: usize, span: Span) -> Atom {
        let ty = self.ty(context, cell);
        context.construct(&ty, LEAF, Vec::new(), span).swap_remove(0)
    }

    fn with_room(&mut self, _: &mut Context, _: &Type, state: Atom, _: usize, _: Span) -> Atom {
        state
    }

    fn read(&mut self, context: &mut Context, cell: &Type, state: &Atom, at: &Atom, span: Span) -> Atom {
        let ty = self.ty(context, cell);
        let function = match self.read {
            Some(known) => known,
            None => {
                let params = vec![context.fresh("map", ty), context.fresh("at", Type::I64)];
                let (map, at) = (Atom::Var(params[0].var), Atom::Var(params[1].var));
                let function = context.reserve(Name::from("read_cell"), params, vec![cell.clone()], span);
                self.read = Some(function);
                context.b.push_block();
                let leaf = context.block(|context| vec![empty_cell(context, cell, span)]);
                let binders = self.node(context, cell);
                let [left, value, right] = [0, 1, 2].map(|field: usize| Atom::Var(binders[field].var));
                context.b.push_block();
                let below = |context: &mut Context, is_left: bool, at: Atom| {
                    let map = if is_left { left.clone() } else { right.clone() };
                    context.emit_one(Op::Call { function, args: vec![map, at] }, span)
                };
                let found = self.towards(context, &at, |_| value, below, span);
                let node = context.b.pop_block(found);
                let arms = vec![Arm { tag: LEAF, binders: Vec::new(), body: leaf }, Arm { tag: NODE, binders, body: node }];
                let found = context.b.push(Op::Match { scrutinee: map, arms, otherwise: None }, vec![cell.clone()], span);
                let body = context.b.pop_block(found);
                context.b.program_mut().functions[function.0 as usize].body = body;
                function
            }
        };
        let at = context.i64_op(BinaryOp::Add, at.clone(), Atom::i64(1), span);
        context.emit_one(Op::Call { function, args: vec![state.clone(), at] }, span)
    }

    fn write(&mut self, context: &mut Context, cell: &Type, state: &Atom, at: &Atom, value: Atom, span: Span) -> Atom {
        let ty = self.ty(context, cell);
        let function = match self.write {
            Some(known) => known,
            None => {
                let params =
                    vec![context.fresh("map", ty.clone()), context.fresh("at", Type::I64), context.fresh("cell", cell.clone())];
                let [map, at, new] = [0, 1, 2].map(|param: usize| Atom::Var(params[param].var));
                let function = context.reserve(Name::from("write_cell"), params, vec![ty.clone()], span);
                self.write = Some(function);
                context.b.push_block();
                // A leaf is a node of which everything is empty.
                let leaf = context.block(|context| {
                    let leaf = context.construct(&ty, LEAF, Vec::new(), span).swap_remove(0);
                    vec![leaf.clone(), empty_cell(context, cell, span), leaf]
                });
                let binders = self.node(context, cell);
                let fields: Vec<Atom> = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
                let node = Block { statements: Vec::new(), results: fields };
                let arms = vec![Arm { tag: LEAF, binders: Vec::new(), body: leaf }, Arm { tag: NODE, binders, body: node }];
                let types = vec![ty.clone(), cell.clone(), ty.clone()];
                let parts = context.b.push(Op::Match { scrutinee: map, arms, otherwise: None }, types, span);
                let with = |context: &mut Context, field: usize, part: Atom| {
                    let mut parts = parts.clone();
                    parts[field] = part;
                    context.construct(&ty, NODE, parts, span).swap_remove(0)
                };
                let below = |context: &mut Context, is_left: bool, at: Atom| {
                    let field = if is_left { 0 } else { 2 };
                    let args = vec![parts[field].clone(), at, new.clone()];
                    let part = context.emit_one(Op::Call { function, args }, span);
                    with(context, field, part)
                };
                let here = |context: &mut Context| with(context, 1, new.clone());
                let made = self.towards(context, &at, here, below, span);
                let body = context.b.pop_block(made);
                context.b.program_mut().functions[function.0 as usize].body = body;
                function
            }
        };
        let at = context.i64_op(BinaryOp::Add, at.clone(), Atom::i64(1), span);
        context.emit_one(Op::Call { function, args: vec![state.clone(), at, value] }, span)
    }
}
