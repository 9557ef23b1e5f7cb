//! What is known at a point of a program: how variables are defined, what stands for them, the shapes of arrays, and which expressions
//! have been computed already.

use chadwick_core::visit::variable_types;
use chadwick_core::{Atom, BinaryOp, Block, Const, LoopForm, Op, Prim, PrimOp, Program, Size, SliceDim, Type, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// An expression that may be computed once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expression {
    Prim(PrimOp, Vec<Atom>),
    Index(Atom, Vec<Atom>),
    Slice(Atom, Vec<SliceDim>),
    Transpose(Atom, Vec<usize>),
    Reshape(Atom, Vec<Atom>),
    Dim(Atom, usize),
    Construct(Type, u32, Vec<Atom>),
    /// What is computed on each side of a condition, and what comes of it.
    Choice(Atom, Vec<(Vec<Expression>, Vec<Atom>)>),
    /// An array of these sizes.
    Elements(Vec<Atom>, Element),
}

/// What stands at a place of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// The index along an axis.
    Place(usize),
    Atom(Atom),
    Prim(PrimOp, Vec<Element>),
    Read(Atom, Vec<Element>),
}

impl Element {
    /// Whether an array is read.
    pub fn reads(&self) -> bool {
        match self {
            Element::Place(_) | Element::Atom(_) => false,
            Element::Prim(_, args) => args.iter().any(Element::reads),
            Element::Read(..) => true,
        }
    }
}

#[derive(Default)]
pub struct Facts {
    types: Vec<Option<Type>>,
    definitions: FxHashMap<Var, Op>,
    replacements: FxHashMap<Var, Atom>,
    available: FxHashMap<Expression, Var>,
    shapes: FxHashMap<Var, Vec<Option<Atom>>>,
    /// Variables that are known not to be negative.
    natural: FxHashSet<Var>,
    /// Variables that run over `0..size`.
    ranges: FxHashMap<Var, Atom>,
    undo: Vec<Undo>,
}

/// What to take back when a scope ends.
enum Undo {
    Replacement(Var, Option<Atom>),
    Definition(Var, Option<Op>),
    Available(Expression),
    Size(Var, usize),
    Natural(Var),
}

impl Facts {
    pub fn new(program: &Program) -> Self {
        Facts { types: variable_types(program), ..Facts::default() }
    }

    pub fn enter(&self) -> usize {
        self.undo.len()
    }

    /// Forgets what was only known inside a scope.
    pub fn leave(&mut self, mark: usize) {
        while self.undo.len() > mark {
            match self.undo.pop() {
                Some(Undo::Replacement(var, before)) => {
                    restore(&mut self.replacements, var, before);
                }
                Some(Undo::Definition(var, before)) => {
                    restore(&mut self.definitions, var, before);
                }
                Some(Undo::Available(expression)) => {
                    self.available.remove(&expression);
                }
                Some(Undo::Natural(var)) => {
                    self.natural.remove(&var);
                }
                Some(Undo::Size(array, axis)) => {
                    if let Some(size) = self.shapes.get_mut(&array).and_then(|shape| shape.get_mut(axis)) {
                        *size = None;
                    }
                }
                None => return,
            }
        }
    }

    pub fn declare(&mut self, var: Var, ty: Type) {
        let at = var.0 as usize;
        if self.types.len() <= at {
            self.types.resize(at + 1, None);
        }
        self.types[at] = Some(ty);
    }

    pub fn type_of(&self, atom: &Atom) -> Option<Type> {
        match atom {
            Atom::Var(var) => self.types.get(var.0 as usize).cloned().flatten(),
            Atom::Const(constant) => Some(Type::Prim(constant.prim())),
        }
    }

    // -------------------------------------------------------------------------------------------------------- replacements

    /// From here to the end of the scope `var` is `atom`.
    pub fn replace(&mut self, var: Var, atom: Atom) {
        if atom == Atom::Var(var) {
            return;
        }
        let before = self.replacements.insert(var, atom);
        self.undo.push(Undo::Replacement(var, before));
    }

    pub fn resolve(&self, atom: &Atom) -> Atom {
        let mut atom = atom;
        while let Atom::Var(var) = atom
            && let Some(next) = self.replacements.get(var)
        {
            atom = next;
        }
        atom.clone()
    }

    // --------------------------------------------------------------------------------------------------------- definitions

    pub fn define(&mut self, var: Var, op: Op) {
        let before = self.definitions.insert(var, op);
        self.undo.push(Undo::Definition(var, before));
    }

    pub fn definition(&self, atom: &Atom) -> Option<&Op> {
        match atom {
            Atom::Var(var) => self.definitions.get(var),
            Atom::Const(_) => None,
        }
    }

    /// The variable that holds the expression already.
    pub fn known(&self, expression: &Expression) -> Option<Atom> {
        self.available.get(expression).map(|var| self.resolve(&Atom::Var(*var)))
    }

    pub fn remember(&mut self, expression: Expression, var: Var) {
        self.undo.push(Undo::Available(expression.clone()));
        self.available.insert(expression, var);
    }

    // --------------------------------------------------------------------------------------------------------------- sizes

    pub fn set_range(&mut self, var: Var, size: Atom) {
        self.ranges.insert(var, size);
    }

    /// Above all that a counter can be.
    pub fn range(&self, var: Var) -> Option<Atom> {
        self.ranges.get(&var).map(|size| self.resolve(size))
    }

    /// Whether `0 <= index < size` for certain.
    pub fn is_within(&self, index: &Atom, size: &Atom) -> bool {
        match (index, size) {
            (Atom::Const(Const::I64(index)), Atom::Const(Const::I64(size))) => (0..*size).contains(index),
            (Atom::Var(var), size) => {
                let runs_over = |var: &Var| self.ranges.get(var).is_some_and(|known| self.is_at_most(&self.resolve(known), size));
                runs_over(var)
                    || self.counter_from_end(index, size).is_some_and(|counter| runs_over(&counter))
                    || self.is_in_part(index, size)
            }
            _ => false,
        }
    }

    /// Whether one length is at most another for certain.
    fn is_at_most(&self, small: &Atom, large: &Atom) -> bool {
        if small == large {
            return true;
        }
        let Some(Op::Prim(PrimOp::Binary(op, Prim::I64), args)) = self.definition(small) else { return false };
        let [left, right] = args.as_slice() else { return false };
        let (left, right) = (self.resolve(left), self.resolve(right));
        match op {
            BinaryOp::Min => self.is_at_most(&left, large) || self.is_at_most(&right, large),
            BinaryOp::Sub => self.is_size(&right) && self.is_at_most(&left, large),
            BinaryOp::Div => {
                matches!(right, Atom::Const(Const::I64(1..))) && self.is_size(&left) && self.is_at_most(&left, large)
            }
            _ => false,
        }
    }

    /// The atom as `factor * counter + constant`, with a positive factor.
    pub fn multiple_of_counter(&self, atom: &Atom) -> Option<(Var, i64, i64)> {
        self.multiple(atom, 4)
    }

    fn multiple(&self, atom: &Atom, depth: usize) -> Option<(Var, i64, i64)> {
        const LARGEST: i64 = 1 << 24;
        let Atom::Var(var) = atom else { return None };
        if self.ranges.contains_key(var) {
            return Some((*var, 1, 0));
        }
        let Op::Prim(PrimOp::Binary(op, Prim::I64), args) = self.definition(atom)? else { return None };
        let [left, right] = args.as_slice() else { return None };
        let (left, right) = (self.resolve(left), self.resolve(right));
        let (other, literal) = match (&left, &right) {
            (other, Atom::Const(Const::I64(literal))) => (other, *literal),
            (Atom::Const(Const::I64(literal)), other) if *op != BinaryOp::Sub => (other, *literal),
            _ => return None,
        };
        let (counter, factor, constant) = self.multiple(other, depth.checked_sub(1)?)?;
        let (factor, constant) = match op {
            BinaryOp::Add => (factor, constant.checked_add(literal)?),
            BinaryOp::Sub => (factor, constant.checked_sub(literal)?),
            BinaryOp::Mul => (factor.checked_mul(literal)?, constant.checked_mul(literal)?),
            _ => return None,
        };
        ((1..=LARGEST).contains(&factor) && constant.abs() <= LARGEST).then_some((counter, factor, constant))
    }

    /// Whether the index is `factor * counter + constant` and the counter runs over the whole parts of that size.
    fn is_in_part(&self, index: &Atom, size: &Atom) -> bool {
        let Some((counter, factor, constant)) = self.multiple_of_counter(index) else { return false };
        let count = self.ranges.get(&counter).map(|count| self.resolve(count));
        let Some(Op::Prim(PrimOp::Binary(BinaryOp::Div, Prim::I64), args)) = count.and_then(|count| self.definition(&count))
        else {
            return false;
        };
        let (whole, part) = (self.resolve(&args[0]), self.resolve(&args[1]));
        (0..factor).contains(&constant)
            && matches!(part, Atom::Const(Const::I64(part)) if part >= factor)
            && self.is_size(&whole)
            && self.is_at_most(&whole, size)
    }

    /// The counter in `size - 1 - counter`.
    fn counter_from_end(&self, index: &Atom, size: &Atom) -> Option<Var> {
        let difference = |atom: &Atom| match self.definition(atom)? {
            Op::Prim(PrimOp::Binary(BinaryOp::Sub, Prim::I64), args) => match args.as_slice() {
                [left, right] => Some((self.resolve(left), self.resolve(right))),
                _ => None,
            },
            _ => None,
        };
        let (last, counter) = difference(index)?;
        let (whole, one) = difference(&last)?;
        match counter {
            Atom::Var(counter) if whole == *size && one == Atom::i64(1) => Some(counter),
            _ => None,
        }
    }

    /// Whether the atom cannot be negative, so that an axis of that size has that length.
    pub fn is_size(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Const(Const::I64(value)) => *value >= 0,
            Atom::Const(_) => false,
            Atom::Var(var) if self.natural.contains(var) || self.ranges.contains_key(var) => true,
            Atom::Var(_) => match self.definition(atom) {
                Some(Op::Dim { .. }) => true,
                Some(Op::Prim(
                    PrimOp::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Div | BinaryOp::Mod, Prim::I64),
                    args,
                )) => args.iter().all(|arg| self.is_size(arg)),
                Some(Op::Prim(PrimOp::Binary(BinaryOp::Max, Prim::I64), args)) => args.iter().any(|arg| self.is_size(arg)),
                _ => false,
            },
        }
    }

    /// From here to the end of the scope the variable is not negative.
    pub fn set_natural(&mut self, var: Var) {
        if self.natural.insert(var) {
            self.undo.push(Undo::Natural(var));
        }
    }

    pub fn size(&self, array: Var, axis: usize) -> Option<Atom> {
        let size = self.shapes.get(&array)?.get(axis)?.as_ref()?;
        Some(self.resolve(size))
    }

    pub fn set_size(&mut self, array: Var, axis: usize, size: Atom) {
        let shape = self.shapes.entry(array).or_default();
        if shape.len() <= axis {
            shape.resize(axis + 1, None);
        }
        shape[axis] = Some(size);
        self.undo.push(Undo::Size(array, axis));
    }

    /// The sizes of an array wherever it is in scope.
    pub fn set_shape(&mut self, array: Var, shape: Vec<Option<Atom>>) {
        self.shapes.insert(array, shape);
    }

    /// The sizes of an atom's axes, as far as they are known.
    pub fn shape(&self, atom: &Atom) -> Vec<Option<Atom>> {
        let rank = self.type_of(atom).map_or(0, |ty| ty.rank());
        match atom {
            Atom::Var(var) => (0..rank).map(|axis| self.size(*var, axis)).collect(),
            Atom::Const(_) => Vec::new(),
        }
    }

    /// Notes the shape of each result of an operation. Variables that are local to blocks inside it are out of scope for it.
    pub fn note_shapes(&mut self, binders: &[chadwick_core::Binder], op: &Op) {
        for (at, binder) in binders.iter().enumerate() {
            let rank = binder.ty.rank();
            if rank == 0 {
                continue;
            }
            let mut shape = self.result_shape(op, at, rank);
            shape.resize(rank, None);
            // Also where nothing is known: an earlier look at the variable may have supposed more.
            self.shapes.insert(binder.var, shape);
        }
    }

    fn length(&self, size: &Atom) -> Option<Atom> {
        let size = self.resolve(size);
        self.is_size(&size).then_some(size)
    }

    fn result_shape(&self, op: &Op, at: usize, rank: usize) -> Vec<Option<Atom>> {
        let stated = |sizes: &[Size]| -> Vec<Option<Atom>> {
            let size = |size: &Size| match size {
                Size::Known(atom) => self.length(atom),
                Size::FromValue => None,
            };
            sizes.iter().map(size).collect()
        };
        match op {
            Op::Copy(atoms) => atoms.get(at).map(|atom| self.shape(atom)).unwrap_or_default(),
            Op::Build { space, inner, body } => {
                let mut shape: Vec<Option<Atom>> = space.iter().map(|axis| self.length(&axis.size)).collect();
                let mut rest = inner.get(at).map(|sizes| stated(sizes)).unwrap_or_default();
                if let Some(result) = body.results.get(at) {
                    // A shape that is known inside and made of outside variables is known outside too.
                    let local = self.shape(result);
                    for (known, local) in rest.iter_mut().zip(local) {
                        if known.is_none() && matches!(local, Some(Atom::Const(_))) {
                            *known = local;
                        }
                    }
                }
                shape.append(&mut rest);
                shape
            }
            Op::Scan { axis, .. } => vec![self.length(&axis.size)],
            Op::Hist { dest, .. } | Op::Scatter { dest, .. } => dest.get(at).map(|atom| self.shape(atom)).unwrap_or_default(),
            Op::Index { array, indices } => self.shape(array).into_iter().skip(indices.len()).collect(),
            Op::Slice { array, dims } => {
                let whole = self.shape(array);
                let mut shape = Vec::new();
                for dim in dims {
                    if let SliceDim::Range { count, .. } = dim {
                        shape.push(self.length(count));
                    }
                }
                shape.extend(whole.into_iter().skip(dims.len()));
                shape
            }
            Op::Update { array, .. } => self.shape(array),
            Op::Transpose { array, permutation } => {
                let shape = self.shape(array);
                permutation.iter().map(|axis| shape.get(*axis).cloned().flatten()).collect()
            }
            Op::Reshape { dims, .. } => dims.iter().map(|dim| self.length(dim)).collect(),
            Op::ArrayLiteral { elements, inner, .. } => {
                let mut shape = vec![Some(Atom::i64(elements.len() as i64))];
                let first = elements.first().map(|element| self.shape(element)).unwrap_or_default();
                let stated = stated(inner);
                let known = (0..rank - 1).map(|axis| stated.get(axis).cloned().flatten().or(first.get(axis).cloned().flatten()));
                shape.extend(known);
                shape
            }
            // Sizes that both branches know are known outside.
            Op::If { then, otherwise, .. } => {
                let shape = |block: &Block| block.results.get(at).map(|atom| self.shape(atom)).unwrap_or_default();
                let same = |(then, otherwise): (Option<Atom>, Option<Atom>)| then.filter(|size| otherwise.as_ref() == Some(size));
                shape(then).into_iter().zip(shape(otherwise)).map(same).collect()
            }
            Op::WithAccumulators { init, body, .. } => match at.checked_sub(init.len()) {
                None => self.shape(&init[at]),
                Some(result) => {
                    let is_local = |size: &Atom| {
                        let mut binders = body.statements.iter().flat_map(|statement| &statement.binders);
                        matches!(size, Atom::Var(var) if binders.any(|binder| binder.var == *var))
                    };
                    let shape = body.results.get(result).map(|atom| self.shape(atom)).unwrap_or_default();
                    shape.into_iter().map(|size| size.filter(|size| !is_local(size))).collect()
                }
            },
            Op::Loop(parts) => match (parts.carry.get(at), &parts.form) {
                // What is known of a carry holds before the loop, too.
                (Some(carry), _) => self.shape(&Atom::Var(carry.var)),
                (None, LoopForm::For { index, bound }) if index.ty == Type::I64 => {
                    let inner = at.checked_sub(parts.carry.len() + usize::from(parts.counted)).and_then(|at| parts.emits.get(at));
                    let inner = inner.map(|sizes| stated(sizes)).unwrap_or_default();
                    [vec![self.length(bound)], inner].concat()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
}

fn restore<T>(map: &mut FxHashMap<Var, T>, var: Var, before: Option<T>) {
    match before {
        Some(before) => {
            map.insert(var, before);
        }
        None => {
            map.remove(&var);
        }
    }
}
