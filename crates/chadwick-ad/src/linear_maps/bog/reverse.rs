//! `∇r`: from the cotangents of a block's results and its record to those of its variables (figure 25).

use super::single_use::is_dup;
use super::{Bog, Cotangent, Cotangents};
use crate::context::Applied;
use crate::linear_maps::procedure::kept_by;
use chadwick_core::{Arm, Atom, Axis, Binder, Block, Const, Op, PathStep, PrimOp, SliceDim, Statement, Type, Var};
use chadwick_source::Span;

impl Bog<'_, '_> {
    /// Binds the cotangent of a variable. There is one use of it, so there is nothing to add to but an accumulator.
    pub(super) fn bind(&mut self, cotangents: &mut Cotangents, to: &Atom, value: Atom, span: Span) {
        let Atom::Var(var) = to else { return };
        if !self.context.carries(&self.context.var_type(*var)) {
            return;
        }
        match cotangents.get(var) {
            Some(Cotangent::Handle(handle)) => {
                let op = Op::Accumulate { handle: handle.clone(), path: Vec::new(), value };
                self.context.b.push(op, Vec::new(), span);
            }
            _ => {
                cotangents.insert(*var, Cotangent::Value(value));
            }
        }
    }

    fn take(&mut self, cotangents: &mut Cotangents, var: Var) -> Option<Atom> {
        match cotangents.remove(&var) {
            Some(Cotangent::Value(value)) => Some(value),
            Some(handle) => {
                cotangents.insert(var, handle);
                None
            }
            None => None,
        }
    }

    pub(super) fn taken(&mut self, cotangents: &mut Cotangents, var: Var, known: &[Atom], span: Span) -> Atom {
        match self.take(cotangents, var) {
            Some(value) => value,
            None => {
                let ty = self.context.var_type(var);
                self.zero(&ty, known, span)
            }
        }
    }

    /// Goes through a block backwards, with its record.
    pub(super) fn reverse(&mut self, block: &Block, record: Vec<Atom>, cotangents: &mut Cotangents) -> Option<()> {
        // What is added to either copy of an accumulated variable is added to it.
        for statement in block.statements.iter().filter(|statement| is_dup(statement)) {
            let Op::Copy(atoms) = &statement.op else { continue };
            if let Atom::Var(var) = &atoms[0]
                && let Some(handle @ Cotangent::Handle(_)) = cotangents.get(var).cloned()
            {
                for binder in &statement.binders {
                    // A copy that is a result has its cotangent already.
                    let sofar = self.take(cotangents, binder.var);
                    cotangents.insert(binder.var, handle.clone());
                    if let Some(sofar) = sofar {
                        self.bind(cotangents, &Atom::Var(binder.var), sofar, statement.span);
                    }
                }
            }
        }
        let mut parts = Vec::new();
        let mut rest = record;
        for statement in &block.statements {
            let behind = rest.split_off(self.layout_of(statement)?.len().min(rest.len()));
            parts.push(rest);
            rest = behind;
        }
        for (statement, part) in block.statements.iter().zip(parts).rev() {
            self.reverse_statement(statement, part, cotangents)?;
        }
        Some(())
    }

    fn reverse_statement(&mut self, statement: &Statement, record: Vec<Atom>, cotangents: &mut Cotangents) -> Option<()> {
        let span = statement.span;
        let incoming: Vec<Option<Atom>> = statement.binders.iter().map(|binder| self.take(cotangents, binder.var)).collect();
        if incoming.iter().all(Option::is_none) {
            return Some(());
        }
        let first = incoming.first().cloned().flatten();
        match &statement.op {
            Op::Copy(atoms) if is_dup(statement) => {
                let both: Vec<Atom> = incoming.into_iter().flatten().collect();
                let sum = both.into_iter().reduce(|left, right| self.context.sum(left, right, span))?;
                self.bind(cotangents, &atoms[0], sum, span);
            }
            Op::Copy(atoms) => {
                for (atom, incoming) in atoms.iter().zip(incoming) {
                    if let Some(incoming) = incoming {
                        self.bind(cotangents, atom, incoming, span);
                    }
                }
            }
            Op::Prim(op, args) => self.reverse_prim(*op, args, first?, record, cotangents, span),
            Op::Index { array, indices } => {
                let (places, sizes) = record.split_at(indices.len());
                self.bind_at(cotangents, array, places, first?, sizes, span);
            }
            Op::ArrayLiteral { elements, .. } => {
                let whole = first?;
                for (at, element) in elements.iter().enumerate() {
                    let op = Op::Index { array: whole.clone(), indices: vec![Atom::i64(at as i64)] };
                    let part = self.context.emit_one(op, span);
                    self.bind(cotangents, element, part, span);
                }
            }
            Op::Construct { tag, args, .. } => self.reverse_construct(*tag, args, first?, record, cotangents, span),
            Op::Call { function, args } => {
                let known = self.function(*function, span)?;
                let mut record = record;
                let mut sizes = record.split_off(known.record.len().min(record.len()));
                let mut seeds = Vec::new();
                for (binder, incoming) in statement.binders.iter().zip(incoming) {
                    let rest = sizes.split_off(self.zero_layout(&binder.ty).len().min(sizes.len()));
                    if self.context.carries(&binder.ty) {
                        seeds.push(incoming.unwrap_or_else(|| self.zero(&binder.ty, &sizes, span)));
                    }
                    sizes = rest;
                }
                let op = Op::Call { function: known.reverse, args: [seeds, record].concat() };
                let results = self.context.emit(op, span);
                let active = args.iter().filter(|arg| self.context.carries(&self.type_of(arg))).collect::<Vec<_>>();
                for (arg, result) in active.into_iter().zip(results) {
                    self.bind(cotangents, arg, result, span);
                }
            }
            Op::Build { space, body, .. } => {
                self.reverse_family(space, body, incoming, true, record, cotangents, span)?;
            }
            Op::Reduce { space, body, .. } => {
                self.reverse_family(space, body, incoming, false, record, cotangents, span)?;
            }
            Op::If { .. } | Op::Match { .. } => self.reverse_choice(statement, incoming, record, cotangents)?,
            Op::Loop(parts) => self.reverse_loop(parts, incoming, record, cotangents, span)?,
            op => self.reverse_view(op, first?, record, cotangents, span)?,
        }
        Some(())
    }

    fn reverse_prim(
        &mut self,
        op: PrimOp,
        args: &[Atom],
        incoming: Atom,
        record: Vec<Atom>,
        cotangents: &mut Cotangents,
        span: Span,
    ) {
        let prims = op.operands();
        let mut operands: Vec<Atom> = prims.iter().map(|prim| Atom::Const(Const::zero(*prim))).collect();
        let (kept, keeps_result) = kept_by(op);
        let mut record = record.into_iter();
        for at in kept {
            if let (Some(place), Some(value)) = (operands.get_mut(at), record.next()) {
                *place = value;
            }
        }
        let result = record.next().filter(|_| keeps_result).unwrap_or(Atom::Const(Const::zero(op.result())));
        let applied = Applied { op, operands: &operands, result: &result };
        for ((derivative, arg), prim) in op.derivatives().iter().zip(args).zip(prims) {
            if matches!(arg, Atom::Var(_))
                && let Some(passed) = self.context.pass(derivative, &incoming, &applied, prim, span)
            {
                self.bind(cotangents, arg, passed, span);
            }
        }
    }

    fn bind_at(&mut self, cotangents: &mut Cotangents, array: &Atom, places: &[Atom], value: Atom, sizes: &[Atom], span: Span) {
        let Atom::Var(var) = array else { return };
        if let Some(Cotangent::Handle(handle)) = cotangents.get(var) {
            let path = vec![PathStep::Index(places.to_vec())];
            self.context.b.push(Op::Accumulate { handle: handle.clone(), path, value }, Vec::new(), span);
            return;
        }
        let ty = self.context.var_type(*var);
        let zero = self.zero(&ty, sizes, span);
        let dims = places.iter().cloned().map(SliceDim::Index).collect();
        let whole = self.context.emit_one(Op::Update { array: zero, dims, value }, span);
        self.bind(cotangents, array, whole, span);
    }

    fn reverse_construct(
        &mut self,
        tag: u32,
        args: &[Atom],
        incoming: Atom,
        mut record: Vec<Atom>,
        cotangents: &mut Cotangents,
        span: Span,
    ) {
        let types: Vec<Type> = args.iter().map(|arg| self.type_of(arg).any_sizes()).collect();
        let binders: Vec<Binder> = types.iter().map(|ty| self.context.fresh("", ty.clone())).collect();
        let results = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        self.context.b.push_block();
        let mut zeros = Vec::new();
        for ty in &types {
            let rest = record.split_off(self.zero_layout(ty).len().min(record.len()));
            zeros.push(self.zero(ty, &record, span));
            record = rest;
        }
        let otherwise = self.context.b.pop_block(zeros);
        let arms = vec![Arm { tag, binders, body: Block { statements: Vec::new(), results } }];
        let op = Op::Match { scrutinee: incoming, arms, otherwise: Some(otherwise) };
        let fields = self.context.b.push(op, types, span);
        for (arg, field) in args.iter().zip(fields) {
            self.bind(cotangents, arg, field, span);
        }
    }

    /// `sumbuild` over what the body captures.
    #[expect(clippy::too_many_arguments, reason = "the parts of one form")]
    fn reverse_family(
        &mut self,
        space: &[Axis],
        body: &Block,
        incoming: Vec<Option<Atom>>,
        by_element: bool,
        mut record: Vec<Atom>,
        cotangents: &mut Cotangents,
        span: Span,
    ) -> Option<()> {
        let count = self.layout_size(body)?;
        let mut arrays = record.split_off(space.len().min(record.len()));
        let sizes = arrays.split_off(count.min(arrays.len()));
        let axes: Vec<Var> = space.iter().map(|axis| axis.var).collect();
        let (mut own, opened) = self.opened(&axes, body, sizes, cotangents, span);
        let inner = self.axes(record);
        let indices: Vec<Atom> = inner.iter().map(|axis| Atom::Var(axis.var)).collect();
        self.context.b.push_block();
        let mut part = Vec::new();
        for array in arrays {
            let value = self.context.emit_one(Op::Index { array, indices: indices.clone() }, span);
            part.push(self.unstored(value, span));
        }
        for (result, incoming) in body.results.iter().zip(incoming) {
            if let (Some(incoming), Atom::Var(_)) = (incoming, result) {
                let value = match by_element {
                    true => self.context.emit_one(Op::Index { array: incoming, indices: indices.clone() }, span),
                    false => incoming,
                };
                self.bind(&mut own, result, value, span);
            }
        }
        self.reverse(body, part, &mut own)?;
        let each = Op::Build { space: inner, body: self.context.b.pop_block(Vec::new()), inner: Vec::new() };
        self.within(opened, each, Vec::new(), cotangents, span);
        Some(())
    }

    /// The record says which branch ran.
    fn reverse_choice(
        &mut self,
        statement: &Statement,
        incoming: Vec<Option<Atom>>,
        record: Vec<Atom>,
        cotangents: &mut Cotangents,
    ) -> Option<()> {
        let span = statement.span;
        let captured = self.captured_by_choice(&statement.op);
        let scrutinee = match &statement.op {
            Op::Match { scrutinee, .. } if self.context.carries(&self.type_of(scrutinee)) => Some(scrutinee.clone()),
            _ => None,
        };
        let tags: Vec<Option<u32>> = match &statement.op {
            Op::Match { arms, otherwise, .. } => {
                arms.iter().map(|arm| Some(arm.tag)).chain(otherwise.iter().map(|_| None)).collect()
            }
            _ => vec![None, None],
        };
        let returned: Vec<Var> =
            captured.iter().filter(|var| !matches!(cotangents.get(var), Some(Cotangent::Handle(_)))).copied().collect();
        let Type::Sum(constructors) = self.choice(&statement.op)? else { return None };
        let mut arms = Vec::new();
        for (at, scope) in statement.op.scopes().into_iter().enumerate() {
            let binders: Vec<Binder> =
                constructors.get(at)?.payload.iter().map(|ty| self.context.fresh("b", ty.clone())).collect();
            let mut part: Vec<Atom> = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
            let mut sizes = part.split_off(self.layout_size(scope.block)?.min(part.len()));
            let handles = cotangents.iter().filter(|(_, it)| matches!(it, Cotangent::Handle(_)));
            let mut own: Cotangents = handles.map(|(var, handle)| (*var, handle.clone())).collect();
            self.context.b.push_block();
            for (result, incoming) in scope.block.results.iter().zip(&incoming) {
                if let Some(incoming) = incoming {
                    self.bind(&mut own, result, incoming.clone(), span);
                }
            }
            self.reverse(scope.block, part, &mut own)?;
            let (mut fields, mut results) = (Vec::new(), Vec::new());
            for var in scope.binders.iter().chain(&captured) {
                let rest = sizes.split_off(self.zero_layout(&self.context.var_type(*var)).len().min(sizes.len()));
                if scope.binders.contains(var) {
                    fields.push(self.taken(&mut own, *var, &sizes, span));
                } else if returned.contains(var) {
                    results.push(self.taken(&mut own, *var, &sizes, span));
                }
                sizes = rest;
            }
            if let Some(scrutinee) = &scrutinee {
                let ty = self.type_of(scrutinee);
                match tags.get(at).copied().flatten() {
                    Some(tag) => results.extend(self.context.construct(&ty, tag, fields, span)),
                    None => results.push(self.zero(&ty, &sizes, span)),
                }
            }
            let body = self.context.b.pop_block(results);
            arms.push(Arm { tag: at as u32, binders, body });
        }
        let types = returned.iter().map(|var| self.context.var_type(*var).any_sizes());
        let types = types.chain(scrutinee.iter().map(|it| self.type_of(it).any_sizes())).collect();
        let op = Op::Match { scrutinee: record.into_iter().next()?, arms, otherwise: None };
        let mut results = self.context.b.push(op, types, span).into_iter();
        for (var, result) in returned.iter().zip(results.by_ref()) {
            self.bind(cotangents, &Atom::Var(*var), result, span);
        }
        if let (Some(scrutinee), Some(result)) = (scrutinee, results.next()) {
            self.bind(cotangents, &scrutinee, result, span);
        }
        Some(())
    }

    /// A part of a record as it was before it was put into an array.
    pub(super) fn unstored(&mut self, value: Atom, span: Span) -> Atom {
        let ty = self.type_of(&value);
        let Type::Sum(constructors) = &ty else { return value };
        match &**constructors {
            [one] if one.name == *"box" => {
                let contents: Vec<Binder> = one.payload.iter().map(|ty| self.context.fresh("", ty.clone())).collect();
                let results = contents.iter().map(|content| Atom::Var(content.var)).collect();
                let arms = vec![Arm { tag: 0, binders: contents, body: Block { statements: Vec::new(), results } }];
                let op = Op::Match { scrutinee: value.clone(), arms, otherwise: None };
                let found = self.context.b.push(op, one.payload.clone(), span);
                found.into_iter().next().unwrap_or(value)
            }
            _ => value,
        }
    }
}
