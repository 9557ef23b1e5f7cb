//! The adjoint of a convolution is a convolution.
//!
//! A nest of loops that adds `f(i) * g(j)` at `i + j` adds to the same place again and again. It becomes an array of sums instead: the element at `p` is
//! the sum over `j` of `f(p - j) * g(j)`, with zeros where `f` has no element, which stand around an array of all `f`. Along other axes of
//! the nest both factors may vary. The cotangent is the factor with the zeros around it, for zero times anything is zero there.
//!
//! Where the nest adds at its own indices but reads at such a sum, as the cotangent of the kernel does, the addition gets a nest of its own likewise.
//!
//! The sum over `j` takes as long as the nest if there are no more `j` than `i`; where that is not so, the nest stays. Sums in accumulators may be
//! added in any order.

use crate::distribute::has_effects;
use chadwick_core::visit::{Copier, for_each_binder, op_free_variables};
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Dim, Lambda, Op, PathStep, Prim, PrimOp, Program, Size, SliceDim,
    Statement, Type, Var,
};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Loops of at most so many iterations are unrolled instead.
const UNROLLED: i64 = 8;
/// How many operations a factor may take.
const AT_MOST: usize = 16;

/// Gives additions at sums of two indices a nest without additions.
pub fn windows(program: &mut Program) {
    for at in 0..program.functions.len() {
        let body = std::mem::take(&mut program.functions[at].body);
        let mut pass = Windows { program, handles: FxHashMap::default() };
        let body = pass.block(body);
        pass.program.functions[at].body = body;
    }
}

struct Windows<'p> {
    program: &'p mut Program,
    /// What each accumulator in scope starts from.
    handles: FxHashMap<Var, Atom>,
}

/// What stands in the bodies of a nest of builds.
#[derive(Default)]
struct Nest {
    /// Whatever is made inside.
    bound: FxHashSet<Var>,
    /// Scalars that take one operation or one read.
    scalars: FxHashMap<Var, Statement>,
    /// Other numbers, and the loops around them.
    others: FxHashMap<Var, (Prim, Vec<Axis>)>,
    additions: Vec<Addition>,
    /// Whether something else has effects.
    has_effects: bool,
}

/// An addition of a scalar to an accumulator, and the loops around it.
struct Addition {
    axes: Vec<Axis>,
    handle: Var,
    indices: Vec<Atom>,
    value: Var,
    span: Span,
}

/// One index of the place of an addition.
#[derive(Clone, Debug)]
enum Place {
    Axis(Axis),
    Window {
        /// The axis along which the cotangent runs, and the other one.
        along: Axis,
        offset: Axis,
    },
    Outside(Atom),
}

/// A factor of what is added.
struct Factor {
    var: Var,
    axes: Vec<Axis>,
    /// What makes it, from what the nest stores.
    steps: Vec<Statement>,
    /// Numbers that the nest makes for fewer loops than are around the addition.
    stored: Vec<Var>,
}

impl Factor {
    /// Whether it is more than a read, and the same for several iterations of the loops around the addition.
    fn is_computed(&self, around: &[Axis]) -> bool {
        !self.axes.is_empty()
            && self.axes.len() < around.len()
            && self.steps.iter().any(|step| matches!(&step.op, Op::Prim(op, _) if op.result().is_float()))
    }

    /// Whether an array over its axes has no more elements than one that it is made of.
    fn is_no_larger_than_what_it_reads(&self) -> bool {
        self.steps.iter().any(|step| match &step.op {
            Op::Index { indices, .. } => self.axes.iter().all(|axis| indices.contains(&Atom::Var(axis.var))),
            _ => false,
        })
    }
}

/// An addition that is a sum of products over windows.
struct Found {
    places: Vec<Place>,
    op: PrimOp,
    prim: Prim,
    cotangent: Factor,
    other: Factor,
}

impl Windows<'_> {
    fn block(&mut self, block: Block) -> Block {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut out = Vec::with_capacity(block.statements.len());
            for statement in block.statements {
                self.statement(statement, &mut out);
            }
            Block { statements: out, results: block.results }
        })
    }

    fn statement(&mut self, statement: Statement, out: &mut Vec<Statement>) {
        let Statement { binders, op, span } = statement;
        let op = match op {
            Op::Build { .. } => {
                let mut nest = Statement { binders, op, span };
                let sums = self.nest(&mut nest);
                let op = nest.op.map_blocks(&mut |body| self.block(body));
                out.push(Statement { op, ..nest });
                return out.extend(sums);
            }
            Op::WithAccumulators { handles, init, body } => {
                for (handle, init) in handles.iter().zip(&init) {
                    self.handles.insert(handle.var, init.clone());
                }
                Op::WithAccumulators { handles, init, body: self.block(body) }
            }
            op => op.map_blocks(&mut |body| self.block(body)),
        };
        out.push(Statement { binders, op, span });
    }

    /// Takes additions over windows out of a nest; gives what adds the same behind it.
    fn nest(&mut self, root: &mut Statement) -> Vec<Statement> {
        let mut out = Vec::new();
        let mut nest = Nest::default();
        for_each_binder(&Block { statements: vec![root.clone()], results: Vec::new() }, &mut |var, _| {
            nest.bound.insert(var);
        });
        nest.collect(root, &mut Vec::new());
        if nest.has_effects {
            return out;
        }
        let before = root.clone();
        let (mut taken, mut stored) = (Vec::new(), FxHashMap::default());
        for (number, addition) in nest.additions.iter().enumerate() {
            if let Some(init) = self.handles.get(&addition.handle).cloned()
                && let Some(mut found) = nest.find(addition)
                && self.store([&mut found.cotangent, &mut found.other], root, &mut stored).is_some()
            {
                self.sums(&before, number, addition, &found, &init, &mut out);
                taken.push(number);
            }
        }
        keep_additions(root, &|number| !taken.contains(&number));
        out
    }

    /// Makes numbers that the nest makes for factors results of it, and reads them there.
    fn store(&mut self, factors: [&mut Factor; 2], root: &mut Statement, stored: &mut FxHashMap<Var, Var>) -> Option<()> {
        for factor in factors {
            for var in &factor.stored {
                let array = match stored.get(var) {
                    Some(array) => *array,
                    None => {
                        let array = self.export(root, *var)?;
                        stored.insert(*var, array);
                        array
                    }
                };
                for step in factor.steps.iter_mut().filter(|step| step.binders.iter().any(|binder| binder.var == *var)) {
                    if let Op::Index { array: from, .. } = &mut step.op {
                        *from = Atom::Var(array);
                    }
                }
            }
        }
        Some(())
    }

    /// Makes a number of a body a result of all loops around it.
    fn export(&mut self, nest: &mut Statement, var: Var) -> Option<Var> {
        let Op::Build { space, body, inner } = &mut nest.op else { return None };
        let (mut result, mut ty, mut shape) = (None, None, Vec::new());
        for statement in &mut body.statements {
            if let Some(binder) = statement.binders.iter().find(|binder| binder.var == var) {
                (result, ty) = (Some(var), Some(binder.ty.clone()));
                break;
            }
            if let Some(array) = self.export(statement, var) {
                let Op::Build { space, inner, .. } = &statement.op else { return None };
                shape = space.iter().map(|axis| Size::Known(axis.size.clone())).chain(inner.last()?.clone()).collect();
                (result, ty) = (Some(array), statement.binders.last().map(|binder| binder.ty.clone()));
                break;
            }
        }
        let (result, ty) = (result?, ty?);
        let rank = space.len() + ty.rank();
        body.results.push(Atom::Var(result));
        inner.push(shape);
        let element = ty.peel(ty.rank())?;
        let binder = Binder { var: self.program.fresh(""), ty: element.array(vec![Dim::Any; rank]) };
        nest.binders.push(binder.clone());
        Some(binder.var)
    }

    /// Adds all that an addition of a nest adds, at once.
    fn sums(
        &mut self,
        root: &Statement,
        number: usize,
        addition: &Addition,
        found: &Found,
        init: &Atom,
        out: &mut Vec<Statement>,
    ) {
        let mut code = Code { program: &mut *self.program, span: addition.span, out };
        let zero = Atom::i64(0);
        let mut extents: Vec<Atom> = Vec::new();
        let (mut smaller, mut runs) = (Atom::bool(true), Atom::bool(true));
        let mut dims = Vec::new();
        let mut last = Vec::new();
        for (axis, place) in found.places.iter().enumerate() {
            let size = code.bind("n", Type::I64, Op::Dim { array: init.clone(), axis });
            match place {
                Place::Outside(index) => {
                    dims.push(SliceDim::Index(index.clone()));
                    last.push(index.clone());
                    continue;
                }
                Place::Axis(axis) => {
                    last.push(code.i64(BinaryOp::Sub, axis.size.clone(), Atom::i64(1)));
                    extents.push(code.i64(BinaryOp::Min, axis.size.clone(), size));
                }
                Place::Window { along, offset } => {
                    let fits = code.compare(CompareOp::LessEqual, offset.size.clone(), along.size.clone());
                    smaller = code.and(smaller, fits);
                    let both = code.i64(BinaryOp::Add, along.size.clone(), offset.size.clone());
                    let largest = code.i64(BinaryOp::Sub, both, Atom::i64(2));
                    // The first place that is not there, if one is not.
                    last.push(code.i64(BinaryOp::Min, largest, size.clone()));
                    extents.push(size);
                }
            }
            let count = extents.last().cloned().unwrap_or(zero.clone());
            dims.push(SliceDim::Range { start: zero.clone(), count, stride: Atom::i64(1) });
        }
        for axis in &addition.axes {
            let is_some = code.compare(CompareOp::Less, zero.clone(), axis.size.clone());
            runs = code.and(runs, is_some);
        }
        let ty = Type::Prim(found.prim).array(vec![Dim::Any; extents.len()]);
        let has_windows = found.places.iter().any(|place| matches!(place, Place::Window { .. }));
        let mut then = Vec::new();
        let sums =
            Code { program: &mut *code.program, span: addition.span, out: &mut then }.product(addition, found, &extents, &runs);
        let value = if has_windows {
            let mut otherwise = Vec::new();
            let nest = Code { program: &mut *code.program, span: addition.span, out: &mut otherwise }
                .as_it_was(root, number, addition, found, &extents);
            let then = Block { statements: then, results: vec![sums] };
            let otherwise = Block { statements: otherwise, results: vec![nest] };
            code.bind("", ty, Op::If { condition: smaller, then, otherwise })
        } else {
            code.out.extend(then);
            sums
        };
        let handle = Atom::Var(addition.handle);
        // What is not there is an error, as it is in the nest. Minus zero changes no sum.
        let nothing = Atom::Const(Const::negative_zero(found.prim));
        let check = Op::Accumulate { handle: handle.clone(), path: vec![PathStep::Index(last)], value: nothing };
        let place = SliceDim::indices(&dims).map_or(PathStep::Slice(dims), PathStep::Index);
        let add = Op::Accumulate { handle, path: vec![place], value };
        let [check, add] = [check, add].map(|op| Statement { binders: Vec::new(), op, span: addition.span });
        let if_it_runs = |statements: Vec<Statement>| {
            let then = Block { statements, results: Vec::new() };
            Statement {
                binders: Vec::new(),
                op: Op::If { condition: runs, then, otherwise: Block::default() },
                span: addition.span,
            }
        };
        // A part of the accumulator may not be there where the nest does not run.
        match found.places.iter().any(|place| matches!(place, Place::Outside(_))) {
            true => code.out.push(if_it_runs(vec![check, add])),
            false => code.out.extend([if_it_runs(vec![check]), add]),
        }
    }
}

impl Nest {
    fn collect(&mut self, statement: &Statement, axes: &mut Vec<Axis>) {
        let Op::Build { space, body, .. } = &statement.op else { return };
        let outer = axes.len();
        axes.extend(space.iter().cloned());
        for inside in &body.statements {
            match (&inside.op, inside.binders.as_slice()) {
                (Op::Build { .. }, _) => self.collect(inside, axes),
                (Op::Prim(..) | Op::Index { .. }, [Binder { var, ty: Type::Prim(_) }]) => {
                    self.scalars.insert(*var, inside.clone());
                }
                (Op::Accumulate { handle: Atom::Var(handle), path, value }, _) => {
                    let (indices, value) = match (path.as_slice(), value) {
                        ([PathStep::Index(indices)], Atom::Var(value)) => (indices.clone(), *value),
                        // None that is looked for; but they are numbered.
                        _ => (Vec::new(), *handle),
                    };
                    self.additions.push(Addition { axes: axes.clone(), handle: *handle, indices, value, span: inside.span });
                }
                (Op::Assert { .. }, _) => {}
                (op, binders) => {
                    self.has_effects |= has_effects(op);
                    for Binder { var, ty } in binders {
                        if let Some(prim) = ty.as_prim().filter(|prim| prim.is_float()) {
                            self.others.insert(*var, (prim, axes.clone()));
                        }
                    }
                }
            }
        }
        axes.truncate(outer);
    }

    /// An addition as a sum of products, if it is one over windows.
    fn find(&self, addition: &Addition) -> Option<Found> {
        let is_bound = |atom: &Atom| matches!(atom, Atom::Var(var) if self.bound.contains(var));
        if self.bound.contains(&addition.handle) || addition.axes.iter().any(|axis| is_bound(&axis.size)) {
            return None;
        }
        let Op::Prim(op @ PrimOp::Binary(BinaryOp::Mul | BinaryOp::Scale, prim), args) = &self.scalars.get(&addition.value)?.op
        else {
            return None;
        };
        let [Atom::Var(cotangent), Atom::Var(other)] = args.as_slice() else { return None };
        if !prim.is_float() || *prim == Prim::F16 {
            return None;
        }
        let [cotangent, other] = [self.factor(*cotangent, &addition.axes)?, self.factor(*other, &addition.axes)?];
        let mut used: Vec<Var> = Vec::new();
        let mut places = Vec::new();
        for index in &addition.indices {
            let place = match self.window(index, &addition.axes) {
                Some((one, two)) => {
                    let [first, second] = [&one, &two].map(|axis| cotangent.axes.contains(axis));
                    let (along, offset) = match (first, second) {
                        (true, false) => (one, two),
                        (false, true) => (two, one),
                        _ => return None,
                    };
                    if other.axes.contains(&along) || is_unrolled(&along) || is_unrolled(&offset) {
                        return None;
                    }
                    used.extend([along.var, offset.var]);
                    Place::Window { along, offset }
                }
                None => match addition.axes.iter().find(|axis| Atom::Var(axis.var) == *index) {
                    Some(axis) => {
                        used.push(axis.var);
                        Place::Axis(axis.clone())
                    }
                    None if is_bound(index) => return None,
                    None => Place::Outside(index.clone()),
                },
            };
            places.push(place);
        }
        let mut distinct = used.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let reads_windows = || {
            let reads = [&cotangent, &other].into_iter().flat_map(|factor| &factor.steps);
            let mut windows = reads.filter_map(|step| match &step.op {
                Op::Index { indices, .. } => Some(indices.iter().filter_map(|index| self.window(index, &addition.axes))),
                _ => None,
            });
            let mut windows = windows.by_ref().flatten().peekable();
            windows.peek().is_some() && windows.all(|(one, two)| !is_unrolled(&one) && !is_unrolled(&two))
        };
        let has_windows = places.iter().any(|place| matches!(place, Place::Window { .. }));
        let is_sum = used.len() < addition.axes.len() || has_windows;
        (distinct.len() == used.len() && is_sum && (has_windows || reads_windows())).then_some(Found {
            places,
            op: *op,
            prim: *prim,
            cotangent,
            other,
        })
    }

    /// The two axes whose sum an index is.
    fn window(&self, index: &Atom, axes: &[Axis]) -> Option<(Axis, Axis)> {
        let Op::Prim(PrimOp::Binary(BinaryOp::Add, Prim::I64), args) = &self.scalars.get(&index.as_var()?)?.op else {
            return None;
        };
        let axis = |atom: &Atom| axes.iter().find(|axis| Atom::Var(axis.var) == *atom).cloned();
        Some((axis(args.first()?)?, axis(args.get(1)?)?))
    }

    /// How to make a scalar of the nest, and the axes that it depends on.
    fn factor(&self, var: Var, axes: &[Axis]) -> Option<Factor> {
        let mut factor = Factor { var, axes: Vec::new(), steps: Vec::new(), stored: Vec::new() };
        let mut seen = FxHashSet::default();
        self.steps_to(var, axes, &mut seen, &mut factor)?;
        factor.axes = axes.iter().filter(|axis| seen.contains(&axis.var)).cloned().collect();
        (factor.steps.len() <= AT_MOST).then_some(factor)
    }

    fn steps_to(&self, var: Var, axes: &[Axis], seen: &mut FxHashSet<Var>, factor: &mut Factor) -> Option<()> {
        if !self.bound.contains(&var) || !seen.insert(var) || axes.iter().any(|axis| axis.var == var) {
            return Some(());
        }
        let Some(statement) = self.scalars.get(&var) else {
            let (prim, around) = self.others.get(&var).filter(|(_, around)| around.len() < axes.len())?;
            seen.extend(around.iter().map(|axis| axis.var));
            let indices = around.iter().map(|axis| Atom::Var(axis.var)).collect();
            // The array that it is read from is named when the nest stores it.
            let op = Op::Index { array: Atom::Var(var), indices };
            factor.steps.push(Statement { binders: vec![Binder { var, ty: Type::Prim(*prim) }], op, span: Span::default() });
            factor.stored.push(var);
            return Some(());
        };
        let is_place = |op: &PrimOp| matches!(op, PrimOp::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, Prim::I64));
        match &statement.op {
            Op::Prim(op, _) if is_place(op) || op.result().is_float() || op.result() == Prim::Bool => {}
            Op::Index { .. } => {}
            _ => return None,
        }
        for used in op_free_variables(&statement.op) {
            self.steps_to(used, axes, seen, factor)?;
        }
        factor.steps.push(statement.clone());
        Some(())
    }
}

/// Where statements go.
struct Code<'c> {
    program: &'c mut Program,
    span: Span,
    out: &'c mut Vec<Statement>,
}

impl Code<'_> {
    fn bind(&mut self, name: &str, ty: Type, op: Op) -> Atom {
        let binder = Binder { var: self.program.fresh(name), ty };
        let atom = Atom::Var(binder.var);
        self.out.push(Statement { binders: vec![binder], op, span: self.span });
        atom
    }

    fn i64(&mut self, op: BinaryOp, left: Atom, right: Atom) -> Atom {
        self.bind("", Type::I64, Op::Prim(PrimOp::Binary(op, Prim::I64), vec![left, right]))
    }

    fn compare(&mut self, op: CompareOp, left: Atom, right: Atom) -> Atom {
        self.bind("", Type::BOOL, Op::Prim(PrimOp::Compare(op, Prim::I64), vec![left, right]))
    }

    fn and(&mut self, left: Atom, right: Atom) -> Atom {
        self.bind("", Type::BOOL, Op::Prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![left, right]))
    }

    fn axis(&mut self, size: Atom) -> Axis {
        Axis { var: self.program.fresh("i"), size }
    }

    /// The statements that something makes.
    fn block(&mut self, make: &mut dyn FnMut(&mut Code<'_>) -> Atom) -> Block {
        let mut statements = Vec::new();
        let result = make(&mut Code { program: &mut *self.program, span: self.span, out: &mut statements });
        Block { statements, results: vec![result] }
    }

    /// A factor, made here, for given values of its axes.
    fn made(&mut self, factor: &Factor, axes: &FxHashMap<Var, Atom>) -> Atom {
        let mut copier = Copier::new(self.program);
        axes.iter().for_each(|(var, atom)| copier.replace(*var, atom.clone()));
        let steps: Vec<Statement> = factor.steps.iter().map(|step| copier.statement(step)).collect();
        let made = copier.atom(&Atom::Var(factor.var));
        self.out.extend(steps);
        made
    }

    /// An array of all that an addition adds, by its place. `extents` are the sizes of that; `runs` says whether there is anything.
    fn product(&mut self, addition: &Addition, found: &Found, extents: &[Atom], runs: &Atom) -> Atom {
        let windows: Vec<(&Axis, &Axis, Atom)> = found
            .places
            .iter()
            .filter(|place| !matches!(place, Place::Outside(_)))
            .zip(extents)
            .filter_map(|(place, extent)| match place {
                Place::Window { along, offset } => Some((along, offset, extent.clone())),
                _ => None,
            })
            .collect();
        let cotangents = (!windows.is_empty() || found.cotangent.is_computed(&addition.axes))
            .then(|| self.array_of(&found.cotangent, found.prim, &windows, runs));
        let others = (found.other.is_computed(&addition.axes) && found.other.is_no_larger_than_what_it_reads())
            .then(|| self.array_of(&found.other, found.prim, &[], runs));
        let mut values: FxHashMap<Var, Atom> = FxHashMap::default();
        let (mut kept, mut shifted) = (Vec::new(), Vec::new());
        for (place, extent) in found.places.iter().filter(|place| !matches!(place, Place::Outside(_))).zip(extents) {
            let own = self.axis(extent.clone());
            match place {
                Place::Window { along, offset } => shifted.push((along, offset, Atom::Var(own.var))),
                Place::Axis(axis) => _ = values.insert(axis.var, Atom::Var(own.var)),
                Place::Outside(_) => {}
            }
            kept.push(own);
        }
        let is_named = |axis: &&Axis| !values.contains_key(&axis.var) && !windows.iter().any(|(along, ..)| along.var == axis.var);
        let rest: Vec<Axis> = addition.axes.iter().filter(is_named).cloned().collect();
        let mut summed = Vec::new();
        for axis in rest {
            // Nothing is summed where the nest does not run: its factors may not be there.
            let none = Block { statements: Vec::new(), results: vec![Atom::i64(0)] };
            let all = Block { statements: Vec::new(), results: vec![axis.size.clone()] };
            let size = match windows.is_empty() {
                true => axis.size.clone(),
                false => self.bind("n", Type::I64, Op::If { condition: runs.clone(), then: all, otherwise: none }),
            };
            let own = self.axis(size);
            values.insert(axis.var, Atom::Var(own.var));
            summed.push(own);
        }
        let body = self.block(&mut |code| {
            // From the largest offset down, so that the cotangents, which have zeros in front of them, are read upwards.
            let mut own = values.clone();
            for (along, offset, place) in &shifted {
                let step = values.get(&offset.var).cloned().unwrap_or(Atom::i64(0));
                own.insert(along.var, code.i64(BinaryOp::Add, place.clone(), step.clone()));
                let last = code.i64(BinaryOp::Sub, offset.size.clone(), Atom::i64(1));
                own.insert(offset.var, code.i64(BinaryOp::Sub, last, step));
            }
            let prim = Type::Prim(found.prim);
            let indices =
                |factor: &Factor| factor.axes.iter().filter_map(|axis| own.get(&axis.var).cloned()).collect::<Vec<Atom>>();
            let factors = [(&found.cotangent, &cotangents), (&found.other, &others)].map(|(factor, made)| match made {
                Some(array) => code.bind("", prim.clone(), Op::Index { array: array.clone(), indices: indices(factor) }),
                None => code.made(factor, &own),
            });
            code.bind("", prim, Op::Prim(found.op, factors.to_vec()))
        });
        let prim = found.prim;
        let plus = Lambda::addition(prim, self.span, &mut |name, ty| Binder { var: self.program.fresh(name), ty });
        let neutral = vec![Atom::Const(Const::zero(prim))];
        let sum = self.block(&mut |code| {
            let reduce = Op::Reduce {
                space: summed.clone(),
                op: plus.clone(),
                neutral: neutral.clone(),
                body: body.clone(),
                commutative: true,
            };
            code.bind("", Type::Prim(prim), reduce)
        });
        if kept.is_empty() {
            self.out.extend(sum.statements);
            return sum.results[0].clone();
        }
        let ty = Type::Prim(prim).array(vec![Dim::Any; kept.len()]);
        self.bind("", ty, Op::Build { space: kept, body: sum, inner: vec![Vec::new()] })
    }

    /// A factor as an array over its axes, with zeros in front and behind along those of windows.
    fn array_of(&mut self, factor: &Factor, prim: Prim, windows: &[(&Axis, &Axis, Atom)], runs: &Atom) -> Atom {
        let mut space = Vec::new();
        for axis in &factor.axes {
            let size = match windows.iter().find(|(along, ..)| along.var == axis.var) {
                Some((_, offset, extent)) => {
                    let all = self.i64(BinaryOp::Add, extent.clone(), offset.size.clone());
                    let all = self.i64(BinaryOp::Sub, all, Atom::i64(1));
                    self.i64(BinaryOp::Max, all, Atom::i64(0))
                }
                None => axis.size.clone(),
            };
            space.push(self.axis(size));
        }
        let body = self.block(&mut |code| {
            let mut is_here = runs.clone();
            let mut values = FxHashMap::default();
            for (axis, own) in factor.axes.iter().zip(&space) {
                let mut value = Atom::Var(own.var);
                if let Some((_, offset, _)) = windows.iter().find(|(along, ..)| along.var == axis.var) {
                    let before = code.i64(BinaryOp::Sub, offset.size.clone(), Atom::i64(1));
                    value = code.i64(BinaryOp::Sub, value, before);
                    let is_behind = code.compare(CompareOp::LessEqual, Atom::i64(0), value.clone());
                    is_here = code.and(is_here, is_behind);
                    let is_before = code.compare(CompareOp::Less, value.clone(), axis.size.clone());
                    is_here = code.and(is_here, is_before);
                }
                values.insert(axis.var, value);
            }
            let then = code.block(&mut |code| code.made(factor, &values));
            let otherwise = Block { statements: Vec::new(), results: vec![Atom::Const(Const::zero(prim))] };
            code.bind("", Type::Prim(prim), Op::If { condition: is_here, then, otherwise })
        });
        let ty = Type::Prim(prim).array(vec![Dim::Any; space.len()]);
        self.bind("", ty, Op::Build { space, body, inner: vec![Vec::new()] })
    }

    /// What the nest adds, one after the other, to zeros.
    fn as_it_was(&mut self, root: &Statement, number: usize, addition: &Addition, found: &Found, extents: &[Atom]) -> Atom {
        let mut nest = root.clone();
        keep_additions(&mut nest, &|other| other == number);
        let ty = Type::Prim(found.prim).array(vec![Dim::Any; extents.len()]);
        let space = extents.iter().map(|extent| self.axis(extent.clone())).collect();
        let zeros = Block { statements: Vec::new(), results: vec![Atom::Const(Const::zero(found.prim))] };
        let zeros = self.bind("", ty.clone(), Op::Build { space, body: zeros, inner: vec![Vec::new()] });
        let handle = Binder { var: self.program.fresh("sums"), ty: Type::Accumulator(Rc::new(ty.clone())) };
        let mut copier = Copier::new(self.program);
        copier.replace(addition.handle, Atom::Var(handle.var));
        let mut nest = copier.statement(&nest);
        for_each_addition(&mut nest, &mut |statement| {
            if let Op::Accumulate { path, .. } = &mut statement.op
                && let [PathStep::Index(indices)] = path.as_mut_slice()
            {
                let mut places = found.places.iter();
                indices.retain(|_| !matches!(places.next(), Some(Place::Outside(_))));
            }
        });
        let body = Block { statements: vec![nest], results: Vec::new() };
        self.bind("", ty, Op::WithAccumulators { handles: vec![handle], init: vec![zeros], body })
    }
}

/// Keeps some of the additions in a nest of builds, by their numbers.
fn keep_additions(nest: &mut Statement, keep: &dyn Fn(usize) -> bool) {
    let mut number = 0..;
    for_each_addition(nest, &mut |statement| {
        if !number.next().is_some_and(keep) {
            statement.op = Op::Copy(Vec::new());
        }
    });
}

/// The additions in a nest of builds, in their order.
fn for_each_addition(nest: &mut Statement, visit: &mut dyn FnMut(&mut Statement)) {
    let Op::Build { body, .. } = &mut nest.op else { return };
    for statement in &mut body.statements {
        match &statement.op {
            Op::Build { .. } => for_each_addition(statement, visit),
            Op::Accumulate { handle: Atom::Var(_), .. } => visit(statement),
            _ => {}
        }
    }
}

fn is_unrolled(axis: &Axis) -> bool {
    matches!(axis.size, Atom::Const(Const::I64(..=UNROLLED)))
}
