//! Traversals of terms: operands, nested blocks, free variables, copies with fresh binders.

use crate::term::*;
use crate::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// A block inside an operation, with the variables the operation binds for it.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    pub binders: Vec<Var>,
    pub block: &'a Block,
}

macro_rules! for_all {
    ($visit:expr, $atoms:expr) => {
        for atom in $atoms {
            $visit(atom);
        }
    };
}

macro_rules! for_axes {
    ($visit:expr, $space:expr) => {
        for Axis { size, .. } in $space {
            $visit(size);
        }
    };
}

macro_rules! for_sizes {
    ($visit:expr, $sizes:expr) => {
        for size in $sizes {
            if let Size::Known(atom) = size {
                $visit(atom);
            }
        }
    };
}

macro_rules! for_slice_dims {
    ($visit:expr, $dims:expr) => {
        for dim in $dims {
            match dim {
                SliceDim::Index(index) => $visit(index),
                SliceDim::Range { start, count, stride } => {
                    $visit(start);
                    $visit(count);
                    $visit(stride);
                }
            }
        }
    };
}

/// Calls `visit` on each operand of an operation, in the order in which they are read; works on `&Op` and, with `mut`, on `&mut Op`.
macro_rules! for_operands {
    ($op:expr, $visit:expr $(, $mut:tt)?) => {
        match $op {
            Op::Copy(atoms) | Op::Prim(_, atoms) => for_all!($visit, atoms),
            Op::If { condition: atom, .. } | Op::Match { scrutinee: atom, .. } => $visit(atom),
            Op::Call { args, .. } | Op::Construct { args, .. } | Op::Trace { args, .. } => for_all!($visit, args),
            Op::Closure(_) | Op::Par { .. } | Op::Recompute(_) => {}
            Op::Apply { function, args } => {
                $visit(function);
                for_all!($visit, args);
            }
            Op::Build { space, inner, .. } => {
                for_axes!($visit, space);
                inner.into_iter().for_each(|sizes| for_sizes!($visit, sizes));
            }
            Op::Reduce { space, neutral, .. } => {
                for_axes!($visit, space);
                for_all!($visit, neutral);
            }
            Op::Scan { axis, neutral, .. } => {
                $visit(& $($mut)? axis.size);
                for_all!($visit, neutral);
            }
            Op::Hist { space, dest, neutral, .. } => {
                for_axes!($visit, space);
                for_all!($visit, dest);
                for_all!($visit, neutral);
            }
            Op::Scatter { space, dest, .. } => {
                for_axes!($visit, space);
                for_all!($visit, dest);
            }
            Op::ArrayLiteral { elements, inner, .. } => {
                for_all!($visit, elements);
                for_sizes!($visit, inner);
            }
            Op::Index { array, indices } => {
                $visit(array);
                for_all!($visit, indices);
            }
            Op::Slice { array, dims } => {
                $visit(array);
                for_slice_dims!($visit, dims);
            }
            Op::Update { array, dims, value } => {
                $visit(array);
                for_slice_dims!($visit, dims);
                $visit(value);
            }
            Op::Transpose { array, .. } | Op::Dim { array, .. } => $visit(array),
            Op::Reshape { array, dims } => {
                $visit(array);
                for_all!($visit, dims);
            }
            Op::Concat { arrays } => for_all!($visit, arrays),
            Op::Loop(parts) => {
                for_all!($visit, & $($mut)? parts.initial);
                if let LoopForm::For { bound, .. } = & $($mut)? parts.form {
                    $visit(bound);
                }
                (& $($mut)? parts.emits).into_iter().for_each(|sizes| for_sizes!($visit, sizes));
            }
            Op::Assert { condition, message } => {
                $visit(condition);
                for part in message {
                    if let MessagePart::Value(atom) = part {
                        $visit(atom);
                    }
                }
            }
            Op::Differentiate(parts) => {
                for_all!($visit, & $($mut)? parts.args);
                for_all!($visit, & $($mut)? parts.seeds);
                if let Some(count) = & $($mut)? parts.count {
                    $visit(count);
                }
            }
            Op::Custom(parts) => for_all!($visit, & $($mut)? parts.args),
            Op::WithAccumulators { init, .. } => for_all!($visit, init),
            Op::WithLog { start, .. } => $visit(start),
            Op::Log { handle, indices, values } => {
                $visit(handle);
                for_all!($visit, indices);
                for_all!($visit, values);
            }
            Op::Accumulate { handle, path, value } => {
                $visit(handle);
                for step in path {
                    match step {
                        PathStep::Index(indices) => for_all!($visit, indices),
                        PathStep::Slice(dims) => for_slice_dims!($visit, dims),
                        PathStep::Payload { .. } => {}
                    }
                }
                $visit(value);
            }
        }
    };
}

impl Op {
    /// The operands of the operation itself, in the order in which they are read. Blocks inside are not entered.
    pub fn for_each_atom<'a>(&'a self, visit: &mut dyn FnMut(&'a Atom)) {
        for_operands!(self, visit);
    }

    /// The operands of the operation itself, to be changed.
    pub fn for_each_atom_mut(&mut self, visit: &mut dyn FnMut(&mut Atom)) {
        for_operands!(self, visit, mut);
    }

    /// The operation with every block directly inside it replaced.
    pub fn map_blocks(self, map: &mut dyn FnMut(Block) -> Block) -> Op {
        fn lambda(lambda: Lambda, map: &mut dyn FnMut(Block) -> Block) -> Lambda {
            Lambda { body: map(lambda.body), ..lambda }
        }
        match self {
            Op::If { condition, then, otherwise } => Op::If { condition, then: map(then), otherwise: map(otherwise) },
            Op::Closure(closure) => Op::Closure(lambda(closure, map)),
            Op::Match { scrutinee, arms, otherwise } => Op::Match {
                scrutinee,
                arms: arms.into_iter().map(|arm| Arm { body: map(arm.body), ..arm }).collect(),
                otherwise: otherwise.map(map),
            },
            Op::Build { space, body, inner } => Op::Build { space, body: map(body), inner },
            Op::Reduce { space, op, neutral, body, commutative } => {
                let body = map(body);
                Op::Reduce { space, op: lambda(op, map), neutral, body, commutative }
            }
            Op::Scan { axis, op, neutral, body } => {
                let body = map(body);
                Op::Scan { axis, op: lambda(op, map), neutral, body }
            }
            Op::Hist { space, dest, rank, op, neutral, body } => {
                let body = map(body);
                Op::Hist { space, dest, rank, op: lambda(op, map), neutral, body }
            }
            Op::Scatter { space, dest, rank, body } => Op::Scatter { space, dest, rank, body: map(body) },
            Op::Loop(parts) => {
                let form = match parts.form {
                    LoopForm::While { condition } => LoopForm::While { condition: map(condition) },
                    other => other,
                };
                Op::Loop(Box::new(Loop { form, body: map(parts.body), ..*parts }))
            }
            Op::Par { left, right } => Op::Par { left: map(left), right: map(right) },
            Op::Recompute(block) => Op::Recompute(map(block)),
            Op::Differentiate(parts) => {
                Op::Differentiate(Box::new(Differentiate { function: lambda(parts.function, map), ..*parts }))
            }
            Op::Custom(parts) => {
                Op::Custom(Box::new(Custom { function: lambda(parts.function, map), rule: lambda(parts.rule, map), ..*parts }))
            }
            Op::WithAccumulators { handles, init, body } => Op::WithAccumulators { handles, init, body: map(body) },
            Op::WithLog { handle, start, body } => Op::WithLog { handle, start, body: map(body) },
            other => other,
        }
    }

    /// The variables that the operation binds for the blocks directly inside it.
    pub fn for_each_own_binder(&self, visit: &mut dyn FnMut(Var, &Type)) {
        let mut all = |binders: &[Binder]| binders.iter().for_each(|binder| visit(binder.var, &binder.ty));
        match self {
            Op::Match { arms, .. } => arms.iter().for_each(|arm| all(&arm.binders)),
            Op::Closure(lambda) => all(&lambda.params),
            Op::Reduce { op, .. } | Op::Scan { op, .. } | Op::Hist { op, .. } => all(&op.params),
            Op::Loop(parts) => {
                all(&parts.carry);
                if let LoopForm::For { index, .. } = &parts.form {
                    all(std::slice::from_ref(index));
                }
            }
            Op::Differentiate(parts) => all(&parts.function.params),
            Op::Custom(parts) => {
                all(&parts.function.params);
                all(&parts.rule.params);
            }
            Op::WithAccumulators { handles, .. } => all(handles),
            Op::WithLog { handle, .. } => all(std::slice::from_ref(handle)),
            _ => {}
        }
        self.space().iter().for_each(|axis| visit(axis.var, &Type::I64));
    }

    /// The index space of a parallel form; empty for the others.
    pub fn space(&self) -> &[Axis] {
        match self {
            Op::Build { space, .. } | Op::Reduce { space, .. } | Op::Hist { space, .. } | Op::Scatter { space, .. } => space,
            Op::Scan { axis, .. } => std::slice::from_ref(axis),
            _ => &[],
        }
    }

    /// The blocks directly inside, in the order in which they run.
    pub fn scopes(&self) -> Vec<Scope<'_>> {
        fn plain(block: &Block) -> Scope<'_> {
            Scope { binders: Vec::new(), block }
        }
        fn over<'a>(space: &[Axis], block: &'a Block) -> Scope<'a> {
            Scope { binders: space.iter().map(|axis| axis.var).collect(), block }
        }
        fn lambda(lambda: &Lambda) -> Scope<'_> {
            Scope { binders: lambda.params.iter().map(|param| param.var).collect(), block: &lambda.body }
        }
        match self {
            Op::If { then, otherwise, .. } => vec![plain(then), plain(otherwise)],
            Op::Closure(closure) => vec![lambda(closure)],
            Op::Match { arms, otherwise, .. } => {
                let arm = |arm: &Arm| arm.binders.iter().map(|binder| binder.var).collect();
                let arms = arms.iter().map(|it| Scope { binders: arm(it), block: &it.body });
                arms.chain(otherwise.iter().map(plain)).collect()
            }
            Op::Build { space, body, .. } | Op::Scatter { space, body, .. } => vec![over(space, body)],
            Op::Reduce { space, op, body, .. } | Op::Hist { space, op, body, .. } => vec![over(space, body), lambda(op)],
            Op::Scan { axis, op, body, .. } => vec![over(std::slice::from_ref(axis), body), lambda(op)],
            Op::Loop(the_loop) => {
                let mut binders: Vec<Var> = the_loop.carry.iter().map(|binder| binder.var).collect();
                match &the_loop.form {
                    LoopForm::For { index, .. } => {
                        binders.push(index.var);
                        vec![Scope { binders, block: &the_loop.body }]
                    }
                    LoopForm::While { condition } => {
                        vec![Scope { binders: binders.clone(), block: condition }, Scope { binders, block: &the_loop.body }]
                    }
                }
            }
            Op::Par { left, right } => vec![plain(left), plain(right)],
            Op::Recompute(block) => vec![plain(block)],
            Op::Differentiate(differentiate) => vec![lambda(&differentiate.function)],
            Op::Custom(custom) => vec![lambda(&custom.function), lambda(&custom.rule)],
            Op::WithAccumulators { handles, body, .. } => {
                vec![Scope { binders: handles.iter().map(|handle| handle.var).collect(), block: body }]
            }
            Op::WithLog { handle, body, .. } => vec![Scope { binders: vec![handle.var], block: body }],
            _ => Vec::new(),
        }
    }
}

/// Every variable bound in a block or in the blocks inside it, with its type.
pub fn for_each_binder(block: &Block, visit: &mut dyn FnMut(Var, &Type)) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for statement in &block.statements {
            statement.binders.iter().for_each(|binder| visit(binder.var, &binder.ty));
            statement.op.for_each_own_binder(visit);
            statement.op.scopes().iter().for_each(|scope| for_each_binder(scope.block, visit));
        }
    });
}

/// The type of each variable of a program, indexed by [`Var`].
pub fn variable_types(program: &Program) -> Vec<Option<Type>> {
    let mut types = vec![None; program.var_names.len()];
    let mut visit = |var: Var, ty: &Type| {
        if let Some(entry) = types.get_mut(var.0 as usize) {
            *entry = Some(ty.clone());
        }
    };
    for function in &program.functions {
        function.params.iter().for_each(|param| visit(param.var, &param.ty));
        for_each_binder(&function.body, &mut visit);
    }
    types
}

/// The variables a block uses and does not bind, in the order of their first use.
pub fn free_variables(block: &Block) -> Vec<Var> {
    let mut free = FreeVariables::default();
    free.block(block);
    free.finish()
}

/// The free variables of a lambda.
pub fn lambda_free_variables(lambda: &Lambda) -> Vec<Var> {
    let mut free = FreeVariables::default();
    free.bound.extend(lambda.params.iter().map(|param| param.var));
    free.block(&lambda.body);
    free.finish()
}

/// The free variables of an operation: its operands and those of the blocks inside.
pub fn op_free_variables(op: &Op) -> Vec<Var> {
    let mut free = FreeVariables::default();
    free.op(op);
    free.finish()
}

#[derive(Default)]
struct FreeVariables {
    bound: FxHashSet<Var>,
    seen: FxHashSet<Var>,
    used: Vec<Var>,
}

impl FreeVariables {
    fn atom(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom
            && self.seen.insert(*var)
        {
            self.used.push(*var);
        }
    }

    fn op(&mut self, op: &Op) {
        op.for_each_atom(&mut |atom| self.atom(atom));
        for scope in op.scopes() {
            self.bound.extend(&scope.binders);
            self.block(scope.block);
        }
    }

    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                self.op(&statement.op);
                self.bound.extend(statement.binders.iter().map(|binder| binder.var));
            }
            block.results.iter().for_each(|atom| self.atom(atom));
        });
    }

    fn finish(self) -> Vec<Var> {
        self.used.into_iter().filter(|var| !self.bound.contains(var)).collect()
    }
}

/// Copies terms, giving every binder inside a fresh variable and replacing free variables as told.
pub struct Copier<'p> {
    program: &'p mut Program,
    replacements: FxHashMap<Var, Atom>,
}

impl<'p> Copier<'p> {
    pub fn new(program: &'p mut Program) -> Self {
        Copier { program, replacements: FxHashMap::default() }
    }

    /// From now on `var` is copied as `atom`.
    pub fn replace(&mut self, var: Var, atom: Atom) {
        self.replacements.insert(var, atom);
    }

    /// What stands for each variable in the copies made so far.
    pub fn into_replacements(self) -> FxHashMap<Var, Atom> {
        self.replacements
    }

    pub fn atom(&mut self, atom: &Atom) -> Atom {
        match atom {
            Atom::Var(var) => self.replacements.get(var).cloned().unwrap_or(Atom::Var(*var)),
            Atom::Const(_) => atom.clone(),
        }
    }

    fn atoms(&mut self, atoms: &[Atom]) -> Vec<Atom> {
        atoms.iter().map(|atom| self.atom(atom)).collect()
    }

    fn var(&mut self, var: Var) -> Var {
        let name = self.program.var_names.get(var.0 as usize).cloned().unwrap_or_default();
        let fresh = self.program.fresh(name);
        self.replacements.insert(var, Atom::Var(fresh));
        fresh
    }

    pub fn binder(&mut self, binder: &Binder) -> Binder {
        Binder { var: self.var(binder.var), ty: binder.ty.clone() }
    }

    pub fn binders(&mut self, binders: &[Binder]) -> Vec<Binder> {
        binders.iter().map(|binder| self.binder(binder)).collect()
    }

    pub fn block(&mut self, block: &Block) -> Block {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || {
            let statements = block.statements.iter().map(|statement| self.statement(statement)).collect();
            Block { statements, results: self.atoms(&block.results) }
        })
    }

    pub fn statement(&mut self, statement: &Statement) -> Statement {
        let op = self.op(&statement.op);
        Statement { binders: self.binders(&statement.binders), op, span: statement.span }
    }

    pub fn lambda(&mut self, lambda: &Lambda) -> Lambda {
        let params = self.binders(&lambda.params);
        Lambda { params, results: lambda.results.clone(), body: self.block(&lambda.body) }
    }

    /// Sizes are read outside the space, so all of them before any axis is bound.
    fn axes(&mut self, space: &[Axis]) -> Vec<Axis> {
        let sizes: Vec<Atom> = space.iter().map(|axis| self.atom(&axis.size)).collect();
        space.iter().zip(sizes).map(|(axis, size)| Axis { var: self.var(axis.var), size }).collect()
    }

    fn sizes(&mut self, sizes: &[Size]) -> Vec<Size> {
        let size = |size: &Size| match size {
            Size::Known(atom) => Size::Known(self.atom(atom)),
            Size::FromValue => Size::FromValue,
        };
        sizes.iter().map(size).collect()
    }

    fn all_sizes(&mut self, sizes: &[Vec<Size>]) -> Vec<Vec<Size>> {
        sizes.iter().map(|sizes| self.sizes(sizes)).collect()
    }

    fn slice_dims(&mut self, dims: &[SliceDim]) -> Vec<SliceDim> {
        let dim = |dim: &SliceDim| match dim {
            SliceDim::Index(index) => SliceDim::Index(self.atom(index)),
            SliceDim::Range { start, count, stride } => {
                SliceDim::Range { start: self.atom(start), count: self.atom(count), stride: self.atom(stride) }
            }
        };
        dims.iter().map(dim).collect()
    }

    fn path(&mut self, path: &[PathStep]) -> Vec<PathStep> {
        let step = |step: &PathStep| match step {
            PathStep::Index(indices) => PathStep::Index(self.atoms(indices)),
            PathStep::Slice(dims) => PathStep::Slice(self.slice_dims(dims)),
            PathStep::Payload { tag, field } => PathStep::Payload { tag: *tag, field: *field },
        };
        path.iter().map(step).collect()
    }

    pub fn op(&mut self, op: &Op) -> Op {
        match op {
            Op::Copy(atoms) => Op::Copy(self.atoms(atoms)),
            Op::Prim(prim, args) => Op::Prim(*prim, self.atoms(args)),
            Op::If { condition, then, otherwise } => {
                Op::If { condition: self.atom(condition), then: self.block(then), otherwise: self.block(otherwise) }
            }
            Op::Call { function, args } => Op::Call { function: *function, args: self.atoms(args) },
            Op::Closure(lambda) => Op::Closure(self.lambda(lambda)),
            Op::Apply { function, args } => Op::Apply { function: self.atom(function), args: self.atoms(args) },
            Op::Construct { ty, tag, args } => Op::Construct { ty: ty.clone(), tag: *tag, args: self.atoms(args) },
            Op::Match { scrutinee, arms, otherwise } => {
                let scrutinee = self.atom(scrutinee);
                let arm = |arm: &Arm| {
                    let binders = self.binders(&arm.binders);
                    Arm { tag: arm.tag, binders, body: self.block(&arm.body) }
                };
                let arms = arms.iter().map(arm).collect();
                Op::Match { scrutinee, arms, otherwise: otherwise.as_ref().map(|block| self.block(block)) }
            }
            Op::Build { space, body, inner } => {
                let inner = self.all_sizes(inner);
                Op::Build { space: self.axes(space), body: self.block(body), inner }
            }
            Op::Reduce { space, op, neutral, body, commutative } => {
                let (neutral, op) = (self.atoms(neutral), self.lambda(op));
                Op::Reduce { space: self.axes(space), op, neutral, body: self.block(body), commutative: *commutative }
            }
            Op::Scan { axis, op, neutral, body } => {
                let (neutral, op, size) = (self.atoms(neutral), self.lambda(op), self.atom(&axis.size));
                let axis = Axis { var: self.var(axis.var), size };
                Op::Scan { axis, op, neutral, body: self.block(body) }
            }
            Op::Hist { space, dest, rank, op, neutral, body } => {
                let (dest, neutral, op) = (self.atoms(dest), self.atoms(neutral), self.lambda(op));
                Op::Hist { space: self.axes(space), dest, rank: *rank, op, neutral, body: self.block(body) }
            }
            Op::Scatter { space, dest, rank, body } => {
                let dest = self.atoms(dest);
                Op::Scatter { space: self.axes(space), dest, rank: *rank, body: self.block(body) }
            }
            Op::ArrayLiteral { ty, elements, inner } => {
                Op::ArrayLiteral { ty: ty.clone(), elements: self.atoms(elements), inner: self.sizes(inner) }
            }
            Op::Index { array, indices } => Op::Index { array: self.atom(array), indices: self.atoms(indices) },
            Op::Slice { array, dims } => Op::Slice { array: self.atom(array), dims: self.slice_dims(dims) },
            Op::Update { array, dims, value } => {
                Op::Update { array: self.atom(array), dims: self.slice_dims(dims), value: self.atom(value) }
            }
            Op::Transpose { array, permutation } => Op::Transpose { array: self.atom(array), permutation: permutation.clone() },
            Op::Reshape { array, dims } => Op::Reshape { array: self.atom(array), dims: self.atoms(dims) },
            Op::Concat { arrays } => Op::Concat { arrays: self.atoms(arrays) },
            Op::Dim { array, axis } => Op::Dim { array: self.atom(array), axis: *axis },
            Op::Loop(the_loop) => Op::Loop(Box::new(self.copy_loop(the_loop))),
            Op::Assert { condition, message } => {
                let condition = self.atom(condition);
                let part = |part: &MessagePart| match part {
                    MessagePart::Text(text) => MessagePart::Text(text.clone()),
                    MessagePart::Value(atom) => MessagePart::Value(self.atom(atom)),
                };
                Op::Assert { condition, message: message.iter().map(part).collect() }
            }
            Op::Par { left, right } => Op::Par { left: self.block(left), right: self.block(right) },
            Op::Recompute(block) => Op::Recompute(self.block(block)),
            Op::Trace { tag, args } => Op::Trace { tag: tag.clone(), args: self.atoms(args) },
            Op::Differentiate(it) => Op::Differentiate(Box::new(Differentiate {
                mode: it.mode,
                with_primal: it.with_primal,
                function: self.lambda(&it.function),
                args: self.atoms(&it.args),
                seeds: self.atoms(&it.seeds),
                count: it.count.as_ref().map(|count| self.atom(count)),
                unroll: it.unroll,
            })),
            Op::Custom(it) => Op::Custom(Box::new(Custom {
                kind: it.kind,
                function: self.lambda(&it.function),
                rule: self.lambda(&it.rule),
                args: self.atoms(&it.args),
            })),
            Op::WithAccumulators { handles, init, body } => {
                let init = self.atoms(init);
                Op::WithAccumulators { handles: self.binders(handles), init, body: self.block(body) }
            }
            Op::WithLog { handle, start, body } => {
                let start = self.atom(start);
                Op::WithLog { handle: self.binder(handle), start, body: self.block(body) }
            }
            Op::Log { handle, indices, values } => {
                Op::Log { handle: self.atom(handle), indices: self.atoms(indices), values: self.atoms(values) }
            }
            Op::Accumulate { handle, path, value } => {
                Op::Accumulate { handle: self.atom(handle), path: self.path(path), value: self.atom(value) }
            }
        }
    }

    fn copy_loop(&mut self, the_loop: &Loop) -> Loop {
        let initial = self.atoms(&the_loop.initial);
        let emits = self.all_sizes(&the_loop.emits);
        let bound = match &the_loop.form {
            LoopForm::For { bound, .. } => Some(self.atom(bound)),
            LoopForm::While { .. } => None,
        };
        let carry = self.binders(&the_loop.carry);
        let form = match (&the_loop.form, bound) {
            (LoopForm::For { index, .. }, Some(bound)) => LoopForm::For { index: self.binder(index), bound },
            (LoopForm::For { index, bound }, None) => LoopForm::For { index: self.binder(index), bound: bound.clone() },
            (LoopForm::While { condition }, _) => LoopForm::While { condition: self.block(condition) },
        };
        let body = self.block(&the_loop.body);
        Loop { carry, initial, form, body, emits, counted: the_loop.counted, hints: the_loop.hints.clone() }
    }
}
