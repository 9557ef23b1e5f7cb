//! Iterations that add nothing to a derivative are not run.
//!
//! A direction of a Jacobian is one in one place: its elements are `if i == place then 1 else 0`. What is linear in such an element is zero
//! unless the comparison holds. So a sum over `i` of it is one term, and of an array over `i` one element is kept: the others are zero
//! wherever they are read. The comparison may be with `a * i + c`, as when every element of an array of rows is computed from its own part
//! of a vector.
//!
//! Only what cannot fail is left out.

use super::{Hints, Simplify, Step};
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Element, Lambda, Op, Prim, PrimOp, Program, Size, Statement, Type,
    UnaryOp, Var,
};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// `axis == seed / divisor + shift`, rounded down.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    axis: Var,
    seed: Var,
    divisor: i64,
    shift: i64,
}

/// One of these holds unless a number, or every element of an array, is zero.
type Support = Vec<Place>;

/// More alternatives than this are as good as none.
const MOST_PLACES: usize = 8;

/// An array of which one element is kept along one axis.
#[derive(Clone)]
struct Kept {
    axis: usize,
    place: Atom,
    element: Atom,
    /// Zeros in the shape of the whole, for reads that may be outside it.
    zeros: Atom,
}

/// What is known about zeros.
#[derive(Default)]
pub(super) struct Zeros {
    /// The axes of the open builds and sums.
    open: Vec<Vec<Var>>,
    /// How many of them were open where a variable was defined.
    depths: FxHashMap<Var, usize>,
    supports: FxHashMap<Var, Support>,
    /// Elements whose places were seen to be inside their arrays.
    safe_reads: FxHashSet<Var>,
    /// Arrays of which only elements are read.
    read_by_element: FxHashSet<Var>,
    kept: FxHashMap<Var, Kept>,
}

impl Zeros {
    pub fn new(program: &Program) -> Self {
        let mut uses = Uses::default();
        program.functions.iter().for_each(|function| uses.block(&function.body));
        let read_by_element = uses.elements.difference(&uses.whole).copied().collect();
        Zeros { read_by_element, ..Zeros::default() }
    }

    pub fn enter(&mut self, space: &[Axis]) {
        self.open.push(space.iter().map(|axis| axis.var).collect());
        for axis in space {
            self.depths.insert(axis.var, self.open.len());
        }
    }

    pub fn leave(&mut self) {
        self.open.pop();
    }

    /// Notes where something is defined.
    pub fn define(&mut self, binders: &[Binder]) {
        for binder in binders {
            self.depths.insert(binder.var, self.open.len());
        }
    }

    /// Whether the variable is defined outside the loop of the axis.
    fn is_outside(&self, var: Var, axis: Var) -> bool {
        let level = self.open.iter().position(|axes| axes.contains(&axis));
        matches!((level, self.depths.get(&var)), (Some(level), Some(depth)) if *depth <= level)
    }

    fn of(&self, atom: &Atom) -> Option<Support> {
        match atom {
            Atom::Const(constant) => is_zero(constant).then(Vec::new),
            Atom::Var(var) => self.supports.get(var).cloned(),
        }
    }

    fn of_all<'a>(&self, atoms: impl IntoIterator<Item = &'a Atom>) -> Option<Support> {
        let mut all: Support = Vec::new();
        for atom in atoms {
            for place in self.of(atom)? {
                if !all.contains(&place) {
                    all.push(place);
                }
            }
        }
        (all.len() <= MOST_PLACES).then_some(all)
    }
}

/// How variables are used.
#[derive(Default)]
struct Uses {
    elements: FxHashSet<Var>,
    whole: FxHashSet<Var>,
}

impl Uses {
    fn block(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                match &statement.op {
                    Op::Index { array: Atom::Var(array), .. } if statement.binders.iter().all(|it| it.ty.rank() == 0) => {
                        self.elements.insert(*array);
                    }
                    op => op.for_each_atom(&mut |atom| self.whole(atom)),
                }
                statement.op.scopes().iter().for_each(|scope| self.block(scope.block));
            }
            block.results.iter().for_each(|atom| self.whole(atom));
        });
    }

    fn whole(&mut self, atom: &Atom) {
        if let Atom::Var(var) = atom {
            self.whole.insert(*var);
        }
    }
}

impl Simplify {
    /// Notes where what a statement makes can be other than zero.
    pub(super) fn note_support(&mut self, statement: &Statement) {
        self.zeros.define(&statement.binders);
        if let (Op::Index { .. }, [binder]) = (&statement.op, statement.binders.as_slice()) {
            match self.is_safe(&statement.op) {
                true => self.zeros.safe_reads.insert(binder.var),
                false => self.zeros.safe_reads.remove(&binder.var),
            };
        }
        for (at, binder) in statement.binders.iter().enumerate() {
            match self.support(&statement.op, at) {
                Some(support) => self.zeros.supports.insert(binder.var, support),
                None => self.zeros.supports.remove(&binder.var),
            };
        }
    }

    fn support(&self, op: &Op, at: usize) -> Option<Support> {
        match op {
            Op::Prim(PrimOp::Binary(BinaryOp::Scale, _), args) => self.zeros.of(&args[0]),
            Op::Prim(PrimOp::Binary(BinaryOp::Add | BinaryOp::Sub, prim), args) if prim.is_float() => self.zeros.of_all(args),
            Op::Prim(PrimOp::Unary(UnaryOp::Negate, prim), args) if prim.is_float() => self.zeros.of_all(args),
            Op::If { condition, then, otherwise } => {
                let (then, otherwise) = (then.results.get(at)?, otherwise.results.get(at)?);
                let is_nothing = matches!(otherwise, Atom::Const(constant) if is_zero(constant));
                match self.equation(condition).filter(|_| is_nothing) {
                    Some(place) => Some(vec![place]),
                    None => self.zeros.of_all([then, otherwise]),
                }
            }
            Op::ArrayLiteral { elements, .. } => self.zeros.of_all(elements),
            Op::Index { array, .. } | Op::Transpose { array, .. } | Op::Slice { array, .. } | Op::Reshape { array, .. } => {
                self.zeros.of(array)
            }
            Op::Build { space, body, .. } => self.around(space, body.results.get(at)?),
            Op::Reduce { space, op, neutral, body, .. } if op.is_addition() => {
                let begins_with_zero = self.zeros.of(neutral.get(at)?)?.is_empty();
                self.around(space, body.results.get(at)?).filter(|_| begins_with_zero)
            }
            _ => None,
        }
    }

    /// What is known of a result of a body outside it.
    fn around(&self, space: &[Axis], result: &Atom) -> Option<Support> {
        let support = self.zeros.of(result)?;
        let is_own = |place: &Place| space.iter().any(|axis| axis.var == place.axis);
        (!support.iter().any(is_own)).then_some(support)
    }

    /// What a comparison says about the innermost axis in it.
    fn equation(&self, condition: &Atom) -> Option<Place> {
        let Some(Op::Prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), args)) = self.facts.definition(condition) else {
            return None;
        };
        let [left, right] = args.as_slice() else { return None };
        let (left, right) = (self.facts.resolve(left), self.facts.resolve(right));
        self.solved(&left, &right).or_else(|| self.solved(&right, &left))
    }

    fn solved(&self, left: &Atom, right: &Atom) -> Option<Place> {
        let (axis, factor, constant) = self.facts.multiple_of_counter(left)?;
        let Atom::Var(seed) = *right else { return None };
        // factor * axis + constant == seed, where the constant's part that is no multiple of the factor only says which seeds there are.
        let place = Place { axis, seed, divisor: factor, shift: constant.div_euclid(factor).checked_neg()? };
        self.zeros.is_outside(seed, axis).then_some(place)
    }

    // ------------------------------------------------------------------------------------------------------------- rewriting

    /// The one place where a body adds something, if there is one.
    fn only_place(&self, space: &[Axis], body: &Block) -> Option<Place> {
        let support = self.zeros.of_all(&body.results)?;
        let place = support.first()?.clone();
        let is_one = support.iter().all(|other| *other == place) && space.iter().any(|axis| axis.var == place.axis);
        (is_one && self.is_total(body)).then_some(place)
    }

    /// Whether the block cannot fail, wherever it runs.
    fn is_total(&self, block: &Block) -> bool {
        block.statements.iter().all(|statement| match &statement.op {
            Op::ArrayLiteral { ty, elements, .. } => {
                ty.rank() == 0 || {
                    let shapes: Vec<_> = elements.iter().map(|element| self.facts.shape(element)).collect();
                    shapes.iter().all(|shape| *shape == shapes[0] && shape.iter().all(Option::is_some))
                }
            }
            Op::Build { body, .. } => self.is_total(body),
            Op::Reduce { op, body, .. } => self.is_total(body) && self.is_total(&op.body),
            Op::If { then, otherwise, .. } => self.is_total(then) && self.is_total(otherwise),
            Op::Index { .. } => statement.binders.iter().all(|binder| self.zeros.safe_reads.contains(&binder.var)),
            op => self.is_safe(op),
        })
    }

    /// A sum of which one term is not zero.
    pub(super) fn narrow_sum(&mut self, op: Op, span: Span) -> Step {
        let Op::Reduce { mut space, op, neutral, body, commutative } = op else { return Step::Op(op) };
        let is_sum = self.hints == Hints::Drop
            && op.is_addition()
            && neutral.iter().all(|it| matches!(it, Atom::Const(constant) if is_zero(constant)));
        let place = self.only_place(&space, &body).filter(|_| is_sum);
        let axis = place.as_ref().and_then(|place| space.iter().position(|axis| axis.var == place.axis));
        let (Some(place), Some(axis)) = (place, axis) else {
            return Step::Op(Op::Reduce { space, op, neutral, body, commutative });
        };
        let mut statements = Vec::new();
        let (at, condition) = self.at_place(&place, &space[axis].size, span, &mut statements);
        let at = named(space.remove(axis).var, at, span);
        let rest = space;
        let zeros = Block { statements: Vec::new(), results: neutral.clone() };
        let mut then = Block::default();
        then.statements.push(at);
        let types = op.results.clone();
        if rest.is_empty() {
            then.statements.extend(body.statements);
            // The sum begins with the neutral element: it has no negative zero.
            self.one_term(&op, &neutral, &body.results, span, &mut then);
        } else {
            let binders: Vec<Binder> = types.iter().map(|ty| self.fresh("", ty.clone())).collect();
            then.results = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
            let op = Op::Reduce { space: rest, op, neutral, body, commutative };
            then.statements.push(Statement { binders, op, span });
        }
        let binders: Vec<Binder> = types.iter().map(|ty| self.fresh("", ty.clone())).collect();
        let results = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
        statements.push(Statement { binders, op: Op::If { condition, then, otherwise: zeros }, span });
        Step::Splice(Block { statements, results })
    }

    fn one_term(&mut self, op: &Lambda, neutral: &[Atom], values: &[Atom], span: Span, then: &mut Block) {
        for ((ty, neutral), value) in op.results.iter().zip(neutral).zip(values) {
            let Type::Prim(prim) = ty else { continue };
            let binder = self.fresh("", ty.clone());
            then.results.push(Atom::Var(binder.var));
            let op = Op::Prim(PrimOp::Binary(BinaryOp::Add, *prim), vec![neutral.clone(), value.clone()]);
            then.statements.push(Statement { binders: vec![binder], op, span });
        }
    }

    /// Emits the place along an axis of the given size, and whether it is inside.
    fn at_place(&mut self, place: &Place, size: &Atom, span: Span, out: &mut Vec<Statement>) -> (Atom, Atom) {
        let mut emit = |pass: &mut Self, op: PrimOp, ty: Type, args: Vec<Atom>| {
            let binder = pass.fresh("", ty);
            let atom = Atom::Var(binder.var);
            out.push(Statement { binders: vec![binder], op: Op::Prim(op, args), span });
            atom
        };
        let mut at = Atom::Var(place.seed);
        if place.divisor != 1 {
            at = emit(self, PrimOp::Binary(BinaryOp::Div, Prim::I64), Type::I64, vec![at, Atom::i64(place.divisor)]);
        }
        if place.shift != 0 {
            at = emit(self, PrimOp::Binary(BinaryOp::Add, Prim::I64), Type::I64, vec![at, Atom::i64(place.shift)]);
        }
        let low = emit(self, PrimOp::Compare(CompareOp::LessEqual, Prim::I64), Type::BOOL, vec![Atom::i64(0), at.clone()]);
        let high = emit(self, PrimOp::Compare(CompareOp::Less, Prim::I64), Type::BOOL, vec![at.clone(), size.clone()]);
        let condition = emit(self, PrimOp::Binary(BinaryOp::And, Prim::Bool), Type::BOOL, vec![low, high]);
        (at, condition)
    }

    /// An array of which one element along an axis is not zero, and only elements are read: that element.
    pub(super) fn narrow_build(&mut self, binders: &[Binder], op: Op, span: Span, out: &mut Vec<Statement>) -> Option<Op> {
        let Op::Build { space, body, inner } = &op else { return Some(op) };
        let shapes: Option<Vec<_>> = binders.iter().zip(inner).map(|(binder, inner)| element_shape(binder, inner)).collect();
        let is_read_so =
            self.hints == Hints::Drop && binders.iter().all(|binder| self.zeros.read_by_element.contains(&binder.var));
        let (Some(shapes), Some(place), true) = (shapes, self.only_place(space, body), is_read_so) else { return Some(op) };
        let Some(axis) = space.iter().position(|axis| axis.var == place.axis) else { return Some(op) };
        let Op::Build { mut space, body, inner } = op else { return Some(op) };
        let mut statements = Vec::new();
        let (place, condition) = self.at_place(&place, &space[axis].size, span, &mut statements);
        let sizes: Vec<Atom> = space.iter().map(|axis| axis.size.clone()).collect();
        let at = named(space.remove(axis).var, place.clone(), span);
        let rest = space;
        let types: Vec<Type> = binders.iter().map(|binder| binder.ty.peel(1).unwrap_or(Type::I64).any_sizes()).collect();
        let mut otherwise = Block::default();
        let mut zeros = Vec::new();
        for (prim, inner) in shapes {
            let rest = rest.iter().map(|axis| axis.size.clone()).collect();
            zeros.push(self.zeros_of(prim, [sizes.clone(), inner.clone()].concat(), span, &mut statements));
            let zero = self.zeros_of(prim, [rest, inner].concat(), span, &mut otherwise.statements);
            otherwise.results.push(zero);
        }
        let mut then = Block { statements: vec![at], results: body.results.clone() };
        if rest.is_empty() {
            then.statements.extend(body.statements);
        } else {
            let made: Vec<Binder> = types.iter().map(|ty| self.fresh("", ty.clone())).collect();
            then.results = made.iter().map(|binder| Atom::Var(binder.var)).collect();
            then.statements.push(Statement { binders: made, op: Op::Build { space: rest, body, inner }, span });
        }
        let elements: Vec<Binder> = types.iter().map(|ty| self.fresh("", ty.clone())).collect();
        statements.push(Statement { binders: elements.clone(), op: Op::If { condition, then, otherwise }, span });
        statements.into_iter().for_each(|statement| self.statement(statement, out));
        let place = self.facts.resolve(&place);
        for ((binder, element), zeros) in binders.iter().zip(elements).zip(zeros) {
            let element = self.facts.resolve(&Atom::Var(element.var));
            self.zeros.kept.insert(binder.var, Kept { axis, place: place.clone(), element, zeros });
        }
        None
    }

    fn zeros_of(&mut self, prim: Prim, sizes: Vec<Atom>, span: Span, out: &mut Vec<Statement>) -> Atom {
        let zero = Atom::Const(Const::zero(prim));
        if sizes.is_empty() {
            return zero;
        }
        let dims = vec![chadwick_core::Dim::Any; sizes.len()];
        let space = sizes.into_iter().map(|size| Axis { var: self.fresh("i", Type::I64).var, size }).collect();
        let binder = self.fresh("", Type::Prim(prim).array(dims));
        let array = Atom::Var(binder.var);
        let body = Block { statements: Vec::new(), results: vec![zero] };
        out.push(Statement { binders: vec![binder], op: Op::Build { space, body, inner: vec![Vec::new()] }, span });
        array
    }

    /// An element of an array of which one element along an axis is kept.
    pub(super) fn kept_element(&mut self, array: &Atom, indices: &[Atom]) -> Option<Step> {
        let Atom::Var(var) = array else { return None };
        let Kept { axis, place, element, zeros } = self.zeros.kept.get(var)?.clone();
        let ty = self.facts.type_of(&zeros)?.peel(indices.len())?;
        let mut rest = indices.to_vec();
        let index = rest.remove(axis);
        let span = Span::default();
        let mut statements = Vec::new();
        let emit = |pass: &mut Self, statements: &mut Vec<Statement>, ty: Type, op: Op| {
            let binder = pass.fresh("", ty);
            let atom = Atom::Var(binder.var);
            statements.push(Statement { binders: vec![binder], op, span });
            atom
        };
        // This is a constant, or else it fails where the read would.
        let zero = emit(self, &mut statements, ty.clone(), Op::Index { array: zeros, indices: indices.to_vec() });
        let compare = Op::Prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![index, place]);
        let condition = emit(self, &mut statements, Type::BOOL, compare);
        let mut then = Block { statements: Vec::new(), results: vec![element.clone()] };
        if !rest.is_empty() {
            let read = Op::Index { array: element, indices: rest };
            then.results = vec![emit(self, &mut then.statements, ty.clone(), read)];
        }
        let otherwise = Block { statements: Vec::new(), results: vec![zero] };
        let chosen = emit(self, &mut statements, ty, Op::If { condition, then, otherwise });
        Some(Step::Splice(Block { statements, results: vec![chosen] }))
    }
}

/// Another name for an atom.
fn named(var: Var, atom: Atom, span: Span) -> Statement {
    Statement { binders: vec![Binder { var, ty: Type::I64 }], op: Op::Copy(vec![atom]), span }
}

/// The number type and the sizes of what a build of floats has in each place, where they are known.
fn element_shape(binder: &Binder, inner: &[Size]) -> Option<(Prim, Vec<Atom>)> {
    let Type::Array(array) = &binder.ty else { return None };
    let Element::Prim(prim) = array.element else { return None };
    let size = |size: &Size| match size {
        Size::Known(atom) => Some(atom.clone()),
        Size::FromValue => None,
    };
    prim.is_float().then_some((prim, inner.iter().map(size).collect::<Option<_>>()?))
}

fn is_zero(constant: &Const) -> bool {
    *constant == Const::zero(constant.prim()) || *constant == Const::negative_zero(constant.prim())
}
