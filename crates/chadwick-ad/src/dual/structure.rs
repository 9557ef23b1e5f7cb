//! What is done to values by their structure: counting and numbering the scalars of an input, putting constants beside scalars or taking
//! away what stands there, handing cotangents to the scalars of a result, and reading those of an input.
//!
//! All are one walk over a type. It takes the parts of a value, threads a list of values through its scalars in order, and gives the parts
//! of another value of the same form. Sums are walked by functions made for their type, since they may be recursive.

use super::terms::Dual;
use super::{atoms_of, plain_block};
use chadwick_core::typing;
use chadwick_core::{
    Arm, ArrayType, Atom, Axis, BinaryOp, Binder, Constructor, Element, FunctionId, LogType, Loop, LoopForm, LoopHints, Op, Prim,
    Size, Type, TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Walk {
    /// Threads the number of scalars so far.
    Count,
    /// Threads the next identity; puts inputs beside the scalars.
    Interleave,
    /// Puts constants beside the scalars.
    Inject,
    /// Takes away what stands beside the scalars.
    Plain,
    /// Takes the parts of a value and a cotangent for it; threads the state, and is given what the reverse pass has at hand besides.
    Seed,
    /// Threads the next identity; reads the cotangents of inputs from the state that is given.
    Rebuild,
    /// The same for the results of a call with a rule of its own: puts them beside the scalars.
    Results,
    /// Reads their cotangents when the call's turn has come.
    Collect,
}

impl Walk {
    fn takes_dual(self) -> bool {
        matches!(self, Walk::Plain | Walk::Seed)
    }

    fn gives_dual(self) -> bool {
        matches!(self, Walk::Interleave | Walk::Inject | Walk::Results)
    }

    fn gives_nothing(self) -> bool {
        matches!(self, Walk::Count | Walk::Seed)
    }

    /// Whether scalars are numbered, so that those of a flat array can be numbered at once.
    fn numbers(self) -> bool {
        matches!(self, Walk::Count | Walk::Interleave | Walk::Rebuild | Walk::Results | Walk::Collect)
    }

    fn name(self) -> &'static str {
        match self {
            Walk::Count => "count_scalars",
            Walk::Interleave => "interleave",
            Walk::Inject => "as_constant",
            Walk::Plain => "primal",
            Walk::Seed => "deinterleave",
            Walk::Rebuild => "rebuild",
            Walk::Results => "results",
            Walk::Collect => "collect",
        }
    }
}

impl Dual<'_, '_> {
    /// What a value of the type is made of: itself if nothing can stand beside it.
    pub fn dual_type(&mut self, ty: &Type) -> Vec<Type> {
        if !self.context.carries(ty) && !matches!(ty, Type::Log(_)) {
            return vec![ty.clone()];
        }
        match ty {
            Type::Prim(_) => [vec![ty.clone()], self.machinery.rung.beside()].concat(),
            Type::Array(array) => match &array.element {
                Element::Boxed(inner) => {
                    let inner = self.dual_sum(inner);
                    vec![Type::Array(ArrayType { element: Element::Boxed(inner.into()), dims: array.dims.clone() })]
                }
                _ => {
                    let beside = self.machinery.rung.beside();
                    let arrays = beside.into_iter().map(|ty| ty.array(array.dims.iter().copied()));
                    std::iter::once(ty.clone()).chain(arrays).collect()
                }
            },
            Type::Log(log) => vec![Type::Log(self.dual_log(log).into())],
            _ => vec![self.dual_sum(ty)],
        }
    }

    pub fn dual_log(&mut self, log: &LogType) -> LogType {
        let mut made = LogType { indices: log.indices, values: Vec::new() };
        for ty in &log.values {
            for (at, part) in self.dual_type(ty).into_iter().enumerate() {
                match part {
                    Type::Prim(Prim::I64) if at > 0 => made.indices += 1,
                    part => made.values.push(part),
                }
            }
        }
        made
    }

    fn dual_types(&mut self, types: &[Type]) -> Vec<Type> {
        types.iter().flat_map(|ty| self.dual_type(ty)).collect()
    }

    fn dual_constructors(&mut self, constructors: &[Constructor]) -> Vec<Constructor> {
        let dual = |it: &Constructor| Constructor { name: it.name.clone(), payload: self.dual_types(&it.payload) };
        constructors.iter().map(dual).collect()
    }

    fn dual_sum(&mut self, ty: &Type) -> Type {
        match ty {
            Type::Sum(constructors) => Type::Sum(Rc::from(self.dual_constructors(constructors))),
            Type::Named(id) => {
                if let Some(known) = self.machinery.types.get(id) {
                    return Type::Named(*known);
                }
                let Some(source) = self.context.program().types.get(id.0 as usize).cloned() else { return ty.clone() };
                let types = &mut self.context.b.program_mut().types;
                let made = TypeId(types.len() as u32);
                types.push(TypeDefinition { name: format!("{}_dual", source.name).into(), constructors: Vec::new() });
                self.machinery.types.insert(*id, made);
                let constructors = self.dual_constructors(&source.constructors);
                self.context.b.program_mut().types[made.0 as usize].constructors = constructors;
                Type::Named(made)
            }
            other => other.clone(),
        }
    }

    /// The parts that a walk takes and gives for a value of the type.
    fn taken(&mut self, walk: Walk, ty: &Type) -> Vec<Type> {
        let mut types = if walk.takes_dual() { self.dual_type(ty) } else { vec![ty.clone()] };
        if walk == Walk::Seed {
            types.push(ty.clone());
        }
        types
    }

    fn given(&mut self, walk: Walk, ty: &Type) -> Vec<Type> {
        match walk {
            _ if walk.gives_nothing() => Vec::new(),
            _ if walk.gives_dual() => self.dual_type(ty),
            _ => vec![ty.clone()],
        }
    }

    /// Emits a walk over a value of the type; returns the parts it gives and what was threaded.
    pub fn walk(
        &mut self,
        walk: Walk,
        ty: &Type,
        parts: Vec<Atom>,
        thread: Vec<Atom>,
        given: &[Atom],
        span: Span,
    ) -> (Vec<Atom>, Vec<Atom>) {
        if !self.context.carries(ty) {
            let values = if walk.gives_nothing() { Vec::new() } else { vec![parts[0].clone()] };
            return (values, thread);
        }
        match ty {
            Type::Prim(prim) => self.leaf(walk, *prim, parts, thread, given, span),
            Type::Array(array) => match &array.element {
                Element::Prim(prim) if walk.numbers() => self.flat_array(walk, *prim, array, parts, thread, given, span),
                Element::Prim(_) if matches!(walk, Walk::Plain) => (vec![parts[0].clone()], thread),
                _ if thread.is_empty() => self.whole_array(walk, array, parts, given, span),
                _ => self.rows(walk, ty, parts, thread, given, span),
            },
            _ => {
                let function = self.walk_function(walk, ty, &thread, given, span);
                let args = [parts, thread, given.to_vec()].concat();
                let count = self.given(walk, ty).len();
                let mut values = self.context.emit(Op::Call { function, args }, span);
                let thread = values.split_off(count.min(values.len()));
                (values, thread)
            }
        }
    }

    fn leaf(
        &mut self,
        walk: Walk,
        prim: Prim,
        parts: Vec<Atom>,
        thread: Vec<Atom>,
        given: &[Atom],
        span: Span,
    ) -> (Vec<Atom>, Vec<Atom>) {
        let Dual { context, machinery, .. } = self;
        let (rung, numbers) = (&machinery.rung, &machinery.numbers);
        let mut next = || vec![context.i64_op(BinaryOp::Add, thread[0].clone(), Atom::i64(1), span)];
        match walk {
            Walk::Count => (Vec::new(), next()),
            Walk::Interleave => {
                let after = next();
                let beside = rung.input(context, given, thread[0].clone(), span);
                ([parts, beside].concat(), after)
            }
            Walk::Inject => {
                let beside = rung.constant(context, given, span);
                ([parts, beside].concat(), thread)
            }
            Walk::Plain => (vec![parts[0].clone()], thread),
            Walk::Seed => {
                let (beside, seed) = (&parts[1..parts.len() - 1], parts[parts.len() - 1].clone());
                let cotangent = numbers.as_numbers(context, seed, prim, span);
                let state = rung.contribute(context, given, &thread, beside, &cotangent, span);
                (Vec::new(), state)
            }
            Walk::Results => {
                let after = next();
                let environment = rung.all_logs().len() + rung.environment_types().len();
                let (environment, call) = given.split_at(environment);
                let beside = rung.result(context, environment, call, thread[0].clone(), span);
                ([parts, beside].concat(), after)
            }
            Walk::Collect => {
                let after = next();
                let found = rung.collected(context, given, thread[0].clone(), span);
                (vec![numbers.as_cotangent(context, &found, prim, span)], after)
            }
            Walk::Rebuild => {
                let after = next();
                let found = rung.lookup(context, given, thread[0].clone(), span);
                (vec![numbers.as_cotangent(context, &found, prim, span)], after)
            }
        }
    }

    fn space_of(&mut self, array: &Atom, rank: usize, span: Span) -> Vec<Axis> {
        let axis = |axis: usize| {
            let size = self.context.emit_one(Op::Dim { array: array.clone(), axis }, span);
            Axis { var: self.context.fresh("i", Type::I64).var, size }
        };
        (0..rank).map(axis).collect()
    }

    fn elements(&mut self, arrays: &[Atom], indices: &[Atom], span: Span) -> Vec<Atom> {
        let element = |array: &Atom| {
            let op = Op::Index { array: array.clone(), indices: indices.to_vec() };
            self.context.emit_one(op, span)
        };
        arrays.iter().map(element).collect()
    }

    /// The scalars of a flat array, numbered from what is threaded.
    #[expect(clippy::too_many_arguments, reason = "the parts of one walk")]
    fn flat_array(
        &mut self,
        walk: Walk,
        prim: Prim,
        array: &ArrayType,
        parts: Vec<Atom>,
        thread: Vec<Atom>,
        given: &[Atom],
        span: Span,
    ) -> (Vec<Atom>, Vec<Atom>) {
        let space = self.space_of(&parts[0], array.dims.len(), span);
        let mut count = Atom::i64(1);
        for axis in &space {
            count = self.context.i64_op(BinaryOp::Mul, count, axis.size.clone(), span);
        }
        let first = thread[0].clone();
        let after = vec![self.context.i64_op(BinaryOp::Add, first.clone(), count, span)];
        if walk == Walk::Count {
            return (Vec::new(), after);
        }
        let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        self.context.b.push_block();
        let mut flat = Atom::i64(0);
        for (axis, index) in space.iter().zip(&indices) {
            let scaled = self.context.i64_op(BinaryOp::Mul, flat, axis.size.clone(), span);
            flat = self.context.i64_op(BinaryOp::Add, scaled, index.clone(), span);
        }
        let identity = self.context.i64_op(BinaryOp::Add, first, flat, span);
        let element = self.elements(&parts[..1], &indices, span);
        let (mut values, _) = self.leaf(walk, prim, element, vec![identity], given, span);
        // The array itself stays as it is.
        let kept = if walk.gives_dual() { vec![parts[0].clone()] } else { Vec::new() };
        values.drain(..kept.len());
        let body = self.context.b.pop_block(values);
        let inner = vec![Vec::new(); body.results.len()];
        let made = self.context.emit(Op::Build { space, body, inner }, span);
        ([kept, made].concat(), after)
    }

    /// An array whose elements do not depend on one another.
    fn whole_array(
        &mut self,
        walk: Walk,
        array: &ArrayType,
        parts: Vec<Atom>,
        given: &[Atom],
        span: Span,
    ) -> (Vec<Atom>, Vec<Atom>) {
        let space = self.space_of(&parts[0], array.dims.len(), span);
        let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        let element = array.element.as_type().unwrap_or(Type::BOOL);
        self.context.b.push_block();
        let elements = self.elements(&parts, &indices, span);
        let (mut values, _) = self.walk(walk, &element, elements, Vec::new(), given, span);
        let is_flat = matches!(element, Type::Prim(_)) && walk == Walk::Inject;
        let kept = if is_flat { vec![parts[0].clone()] } else { Vec::new() };
        values.drain(..kept.len());
        let body = self.context.b.pop_block(values);
        let inner = vec![Vec::new(); body.results.len()];
        let made = self.context.emit(Op::Build { space, body, inner }, span);
        ([kept, made].concat(), Vec::new())
    }

    /// An array row by row, in order.
    fn rows(
        &mut self,
        walk: Walk,
        ty: &Type,
        parts: Vec<Atom>,
        thread: Vec<Atom>,
        given: &[Atom],
        span: Span,
    ) -> (Vec<Atom>, Vec<Atom>) {
        let row = ty.peel(1).unwrap_or(Type::BOOL).any_sizes();
        let bound = self.context.emit_one(Op::Dim { array: parts[0].clone(), axis: 0 }, span);
        let rank = row.rank();
        let sizes: Vec<Size> =
            (1..=rank).map(|axis| Size::Known(self.context.emit_one(Op::Dim { array: parts[0].clone(), axis }, span))).collect();
        let types: Vec<Type> = thread.iter().map(|atom| self.context.type_of(atom).any_sizes()).collect();
        let carry: Vec<Binder> = types.iter().map(|ty| self.context.fresh("", ty.clone())).collect();
        let index = self.context.fresh("i", Type::I64);
        self.context.b.push_block();
        let elements = self.elements(&parts, &[Atom::Var(index.var)], span);
        let (values, after) = self.walk(walk, &row, elements, atoms_of(&carry), given, span);
        let emitted: Vec<Type> = values.iter().map(|value| self.context.type_of(value).any_sizes()).collect();
        let emits = emitted.iter().map(|_| sizes.clone()).collect();
        let body = self.context.b.pop_block([after, values].concat());
        let form = LoopForm::For { index, bound };
        let parts = Loop { carry, initial: thread, form, body, emits, counted: false, hints: LoopHints::default() };
        let arrays = emitted.into_iter().map(|ty| crate::context::with_axis(&ty));
        let results: Vec<Type> = types.iter().cloned().chain(arrays).collect();
        let mut made = self.context.b.push(Op::Loop(Box::new(parts)), results, span);
        let values = made.split_off(types.len());
        (values, made)
    }

    /// The function that walks over values of a sum type.
    fn walk_function(&mut self, walk: Walk, ty: &Type, thread: &[Atom], given: &[Atom], span: Span) -> FunctionId {
        let key = (walk, ty.any_sizes());
        if let Some(known) = self.machinery.walks.get(&key) {
            return *known;
        }
        let ty = &key.1.clone();
        let binders = |dual: &mut Self, types: Vec<Type>, name: &str| -> Vec<Binder> {
            types.into_iter().map(|ty| dual.context.fresh(name, ty.any_sizes())).collect()
        };
        let types = self.taken(walk, ty);
        let parts = binders(self, types, "value");
        let types = thread.iter().map(|atom| self.context.type_of(atom)).collect();
        let threaded = binders(self, types, "state");
        let types = given.iter().map(|atom| self.context.type_of(atom)).collect();
        let given = binders(self, types, "given");
        let results: Vec<Type> =
            self.given(walk, ty).into_iter().chain(threaded.iter().map(|binder| binder.ty.clone())).collect();
        let params = [parts.clone(), threaded.clone(), given.clone()].concat();
        let function = self.context.reserve(Name::from(walk.name()), params, results.clone(), span);
        self.machinery.walks.insert(key, function);
        let constructors = typing::constructors(&self.context.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let several = constructors.len() > 1;
        self.context.b.push_block();
        let mut arms = Vec::new();
        for (tag, constructor) in constructors.iter().enumerate() {
            let tag = tag as u32;
            let mut fields = Vec::new();
            for ty in &constructor.payload {
                let types = if walk.takes_dual() { self.dual_type(ty) } else { vec![ty.clone()] };
                fields.push(binders(self, types, ""));
            }
            let own: Vec<Binder> = fields.concat();
            let seeds = constructor.payload.clone();
            let seeds = if walk == Walk::Seed { binders(self, seeds, "") } else { Vec::new() };
            self.context.b.push_block();
            let (mut values, mut state) = (Vec::new(), atoms_of(&threaded));
            for (at, ty) in constructor.payload.iter().enumerate() {
                let mut parts = atoms_of(&fields[at]);
                parts.extend(seeds.get(at).map(|seed| Atom::Var(seed.var)));
                let (field, after) = self.walk(walk, ty, parts, state, &atoms_of(&given), span);
                values.extend(field);
                state = after;
            }
            if !walk.gives_nothing() {
                values = self.context.construct(&results[0], tag, values, span);
            }
            let mut body = self.context.b.pop_block([values, state].concat());
            if let (Walk::Seed, Some(seed)) = (walk, parts.last()) {
                // The seed has the constructor of the value; the other case never happens.
                let otherwise = several.then(|| plain_block(atoms_of(&threaded)));
                let arms = vec![Arm { tag, binders: seeds, body }];
                let op = Op::Match { scrutinee: Atom::Var(seed.var), arms, otherwise };
                body = self.context.block(|context| context.b.push(op, results.clone(), span));
            }
            arms.push(Arm { tag, binders: own, body });
        }
        let scrutinee = Atom::Var(parts[0].var);
        let values = self.context.b.push(Op::Match { scrutinee, arms, otherwise: None }, results, span);
        let body = self.context.b.pop_block(values);
        self.context.b.program_mut().functions[function.0 as usize].body = body;
        function
    }
}
