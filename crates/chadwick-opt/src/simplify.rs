//! One walk from top to bottom that replaces each statement by something simpler: names for copies, constants for constant expressions, known
//! sizes for `dim`, what was computed before for what is computed again, the branch that is taken, the element that is read.
//!
//! No statement is duplicated and none moves into a loop, so a program never gets dearer.

mod accumulators;
mod arrays;
mod branches;
mod control;
mod elements;
mod hoist;
mod interchange;
mod narrow;
mod rows;
mod shapes;
mod shifts;
mod signs;
mod sums;

use crate::algebra::{self, Simpler};
use crate::facts::{Expression, Facts};
use chadwick_core::visit::free_variables;
use chadwick_core::{
    Atom, BinaryOp, Binder, Block, CompareOp, Const, Element, Loop, Op, Prim, PrimOp, Program, Statement, Type, TypeId, UnaryOp,
    Var,
};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashSet;

use narrow::Zeros;

/// Simplifies every function once. `hints` says whether wishes for an engine still to come are kept.
pub fn simplify(program: &mut Program, hints: Hints) {
    let integers_vary = hints == Hints::Keep && program.functions.iter().any(|function| varies_integers(&function.body, program));
    let (facts, zeros) = (Facts::new(program), Zeros::new(program));
    let names = std::mem::take(&mut program.var_names);
    let mut pass =
        Simplify { facts, zeros, hints, integers_vary, changed: FxHashSet::default(), own_views: FxHashSet::default(), names };
    for at in 0..program.functions.len() {
        let body = std::mem::take(&mut program.functions[at].body);
        program.functions[at].body = pass.block(body);
    }
    program.var_names = pass.names;
}

/// Whether `#[recompute]` still has somebody to listen to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hints {
    Keep,
    Drop,
}

struct Simplify {
    facts: Facts,
    zeros: Zeros,
    hints: Hints,
    /// Whether integers may have derivatives that are still to come: then equal ones are not the same.
    integers_vary: bool,
    /// Arrays that were changed before.
    changed: FxHashSet<Var>,
    /// Rows that are read as rows.
    own_views: FxHashSet<Var>,
    /// What the source calls each variable of the program.
    names: Vec<Name>,
}

/// Whether something is differentiated by integers.
fn varies_integers(block: &Block, program: &Program) -> bool {
    block.statements.iter().any(|statement| {
        let by_integers = match &statement.op {
            Op::Differentiate(parts) => {
                parts.function.params.iter().any(|param| has_integers(&param.ty, program, &mut Vec::new()))
            }
            _ => false,
        };
        by_integers || statement.op.scopes().iter().any(|scope| varies_integers(scope.block, program))
    })
}

fn has_integers(ty: &Type, program: &Program, seen: &mut Vec<TypeId>) -> bool {
    let is_integer = |prim: Prim| !prim.is_float() && prim != Prim::Bool;
    match ty {
        Type::Prim(prim) => is_integer(*prim),
        Type::Array(array) => match &array.element {
            Element::Prim(prim) => is_integer(*prim),
            Element::Unit => false,
            Element::Boxed(ty) => has_integers(ty, program, seen),
        },
        Type::Sum(constructors) => {
            constructors.iter().flat_map(|constructor| &constructor.payload).any(|ty| has_integers(ty, program, seen))
        }
        Type::Named(id) => {
            if seen.contains(id) {
                return false;
            }
            seen.push(*id);
            let constructors = program.types.get(id.0 as usize).map_or(&[][..], |named| named.constructors.as_slice());
            constructors.iter().flat_map(|constructor| &constructor.payload).any(|ty| has_integers(ty, program, seen))
        }
        Type::Function(_) | Type::Accumulator(_) | Type::Log(_) => false,
    }
}

/// What becomes of a statement.
enum Step {
    /// Its results are these atoms.
    Atoms(Vec<Atom>),
    /// It is this operation.
    Op(Op),
    /// It is what these statements do, in its place, with the block's results as its own.
    Splice(Block),
}

impl Simplify {
    fn fresh(&mut self, name: &str, ty: Type) -> Binder {
        let var = Var(self.names.len() as u32);
        self.names.push(Name::from(name));
        self.facts.declare(var, ty.clone());
        Binder { var, ty }
    }

    fn name_of(&self, var: Var) -> Name {
        self.names.get(var.0 as usize).cloned().unwrap_or_default()
    }

    fn block(&mut self, block: Block) -> Block {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
            let mark = self.facts.enter();
            let mut out = Vec::with_capacity(block.statements.len());
            block.statements.into_iter().for_each(|statement| self.statement(statement, &mut out));
            let results = block.results.iter().map(|atom| self.facts.resolve(atom)).collect();
            self.facts.leave(mark);
            Block { statements: out, results }
        })
    }

    fn statement(&mut self, statement: Statement, out: &mut Vec<Statement>) {
        let Statement { mut binders, mut op, span } = statement;
        op.for_each_atom_mut(&mut |atom| *atom = self.facts.resolve(atom));
        if let Op::Loop(parts) = &mut op {
            self.count_in_i64(parts, span, out);
            self.count_from_zero(parts, span, out);
            self.drop_constant_carries(&mut binders, parts);
            self.note_carried_shapes(parts);
            self.invariant_emits(&mut binders, parts, span).into_iter().for_each(|statement| self.statement(statement, out));
        }
        match self.before(op) {
            Step::Atoms(atoms) => self.name(&binders, atoms),
            Step::Splice(block) => self.splice(&binders, block, out),
            Step::Op(op) => {
                let op = self.inside(op);
                let op = self.hoist(op, out);
                match self.after(op, span) {
                    Step::Atoms(atoms) => self.name(&binders, atoms),
                    Step::Splice(block) => self.splice(&binders, block, out),
                    Step::Op(mut op) => {
                        let behind = match self.hints {
                            Hints::Keep => Vec::new(),
                            Hints::Drop => self.additions_behind(&mut binders, &mut op, span),
                        };
                        if let Some(op) = self.narrow_build(&binders, op, span, out) {
                            self.keep(Statement { binders, op, span }, out);
                        }
                        behind.into_iter().for_each(|statement| self.statement(statement, out));
                    }
                }
            }
        }
    }

    /// The binders are other names of the atoms.
    fn name(&mut self, binders: &[Binder], atoms: Vec<Atom>) {
        for (binder, atom) in binders.iter().zip(atoms) {
            let atom = self.facts.resolve(&atom);
            self.facts.replace(binder.var, atom);
        }
    }

    fn splice(&mut self, binders: &[Binder], block: Block, out: &mut Vec<Statement>) {
        block.statements.into_iter().for_each(|statement| self.statement(statement, out));
        self.name(binders, block.results);
    }

    /// Emits the statement, unless its value is at hand, and notes what it says.
    fn keep(&mut self, statement: Statement, out: &mut Vec<Statement>) {
        if let ([binder], Some(expression)) = (statement.binders.as_slice(), expression(&statement.op)) {
            if let Some(known) = self.facts.known(&expression) {
                self.facts.replace(binder.var, known);
                return;
            }
            self.facts.remember(expression, binder.var);
        }
        self.facts.note_shapes(&statement.binders, &statement.op);
        self.note_support(&statement);
        self.note_changed(&statement.op);
        match (&statement.op, statement.binders.as_slice()) {
            (Op::Dim { array: Atom::Var(array), axis }, [binder]) => {
                self.facts.set_size(*array, *axis, Atom::Var(binder.var));
                self.facts.define(binder.var, statement.op.clone());
            }
            (Op::Assert { condition, .. }, _) => self.assume(&condition.clone(), true),
            (Op::Build { space, body, inner }, binders) => self.note_elements(space, body, inner, binders),
            (op, [binder]) if op.scopes().is_empty() => self.facts.define(binder.var, op.clone()),
            _ => {}
        }
        out.push(statement);
    }

    /// Notes arrays that may be changed in place: to read them behind that would be to copy them.
    fn note_changed(&mut self, op: &Op) {
        let changed: &[Atom] = match op {
            Op::Update { array, .. } => std::slice::from_ref(array),
            Op::Scatter { dest, .. } | Op::Hist { dest, .. } => dest,
            Op::WithAccumulators { init, .. } => init,
            Op::Loop(parts) => &parts.initial,
            _ => &[],
        };
        self.changed.extend(changed.iter().filter_map(Atom::as_var));
    }

    /// A row that a loop reads of an array it begins with stays a row: the loop may change the array, and then needs the row, not all that was there.
    fn note_own_views(&mut self, parts: &Loop) {
        let initial: Vec<Atom> = parts.initial.iter().map(|atom| self.facts.resolve(atom)).collect();
        for var in free_variables(&parts.body) {
            let view = self.facts.resolve(&Atom::Var(var));
            if let (Atom::Var(own), Some(Op::Index { array, .. })) = (&view, self.facts.definition(&view))
                && initial.contains(&self.facts.resolve(array))
                && self.facts.type_of(&view).is_some_and(|ty| ty.rank() > 0)
            {
                self.own_views.insert(*own);
            }
        }
    }

    /// Whether the number has no derivative: a literal or a length.
    fn is_constant(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Const(_)) || matches!(self.facts.definition(atom), Some(Op::Dim { .. }))
    }

    /// From here on the condition is known.
    fn assume(&mut self, condition: &Atom, value: bool) {
        let Atom::Var(var) = condition else { return };
        if value
            && let Some(Op::Prim(PrimOp::Compare(CompareOp::Equal, prim), args)) = self.facts.definition(condition)
            && !prim.is_float()
            && let [left, right] = args.as_slice()
            && (!self.integers_vary || (self.is_constant(left) && self.is_constant(right)))
        {
            let (left, right) = (self.facts.resolve(left), self.facts.resolve(right));
            match (&left, &right) {
                (Atom::Var(var), Atom::Const(_)) => self.facts.replace(*var, right),
                (Atom::Const(_), Atom::Var(var)) => self.facts.replace(*var, left),
                // The older name stays.
                (Atom::Var(a), Atom::Var(b)) if a < b => self.facts.replace(*b, left),
                (Atom::Var(a), Atom::Var(_)) => self.facts.replace(*a, right),
                _ => {}
            }
        }
        if value
            && let Some(Op::Prim(PrimOp::Compare(CompareOp::LessEqual, Prim::I64), args)) = self.facts.definition(condition)
            && let [Atom::Const(Const::I64(0..)), Atom::Var(size)] = args.as_slice()
        {
            self.facts.set_natural(*size);
        }
        self.facts.replace(*var, Atom::bool(value));
    }

    /// Rules that need no look inside.
    fn before(&mut self, op: Op) -> Step {
        match op {
            Op::Copy(atoms) => Step::Atoms(atoms),
            Op::Prim(op, args) => self.prim(op, args),
            Op::Recompute(block) if self.hints == Hints::Drop => Step::Splice(block),
            Op::If { .. } | Op::Match { .. } | Op::Loop(_) | Op::Assert { .. } => self.control(op),
            Op::Index { .. }
            | Op::Slice { .. }
            | Op::Transpose { .. }
            | Op::Reshape { .. }
            | Op::Dim { .. }
            | Op::Update { .. }
            | Op::Concat { .. } => self.view(op),
            Op::WithAccumulators { handles, body, .. } if handles.is_empty() => Step::Splice(body),
            Op::Accumulate { .. } => self.accumulate_literal(op),
            other => Step::Op(other),
        }
    }

    fn prim(&mut self, op: PrimOp, mut args: Vec<Atom>) -> Step {
        if matches!(op, PrimOp::Unary(UnaryOp::Detach, _)) && self.hints == Hints::Drop {
            return Step::Atoms(args);
        }
        if let (PrimOp::Compare(CompareOp::LessEqual, Prim::I64), [low, size]) = (op, args.as_slice())
            && *low == Atom::i64(0)
            && self.facts.is_size(size)
        {
            return Step::Atoms(vec![Atom::bool(true)]);
        }
        if let (PrimOp::Compare(CompareOp::Less, Prim::I64), [index, size]) = (op, args.as_slice())
            && self.facts.is_within(index, size)
        {
            return Step::Atoms(vec![Atom::bool(true)]);
        }
        if let (PrimOp::Compare(compare @ (CompareOp::Less | CompareOp::LessEqual), Prim::I64), [left, right]) =
            (op, args.as_slice())
        {
            let strictly = compare == CompareOp::Less;
            if self.facts.is_ordered(left, right, strictly) {
                return Step::Atoms(vec![Atom::bool(true)]);
            }
            if self.facts.is_ordered(right, left, !strictly) {
                return Step::Atoms(vec![Atom::bool(false)]);
            }
        }
        if let (PrimOp::Binary(extreme @ (BinaryOp::Min | BinaryOp::Max), Prim::I64), [left, right]) = (op, args.as_slice()) {
            let (small, large) = match () {
                () if self.facts.is_ordered(left, right, false) => (Some(left), right),
                () if self.facts.is_ordered(right, left, false) => (Some(right), left),
                () => (None, left),
            };
            if let Some(small) = small {
                return Step::Atoms(vec![if extreme == BinaryOp::Min { small.clone() } else { large.clone() }]);
            }
        }
        if let (PrimOp::Convert { from, to: Prim::I64 }, [atom]) = (op, args.as_slice())
            && let Some(counter) = self.counter_behind(from, atom)
        {
            return Step::Atoms(vec![counter]);
        }
        let definition = |atom: &Atom| match self.facts.definition(atom) {
            Some(Op::Prim(op, args)) => Some((*op, args.iter().map(|arg| self.facts.resolve(arg)).collect())),
            _ => None,
        };
        match algebra::simplify(op, &args, &definition) {
            Some(Simpler::Atom(atom)) => Step::Atoms(vec![atom]),
            Some(Simpler::Prim(op, args)) => self.prim(op, args),
            None => {
                if algebra::is_commutative(op) && args.len() == 2 && order(&args[0]) > order(&args[1]) {
                    args.swap(0, 1);
                }
                Step::Op(Op::Prim(op, args))
            }
        }
    }

    /// The operation with its blocks simplified, each knowing what holds in it.
    fn inside(&mut self, op: Op) -> Op {
        for axis in op.space() {
            let size = self.facts.resolve(&axis.size);
            self.facts.set_range(axis.var, size);
        }
        match op {
            Op::If { condition, then, otherwise } => {
                let mut branch = |block: Block, value: bool| {
                    let mark = self.facts.enter();
                    self.assume(&condition, value);
                    let block = self.block(block);
                    self.facts.leave(mark);
                    block
                };
                let (then, otherwise) = (branch(then, true), branch(otherwise, false));
                Op::If { condition, then, otherwise }
            }
            Op::Match { scrutinee, arms, otherwise } => self.arms(scrutinee, arms, otherwise),
            Op::Loop(parts) => {
                if let chadwick_core::LoopForm::For { index, bound } = &parts.form
                    && index.ty == Type::Prim(Prim::I64)
                {
                    self.facts.set_range(index.var, bound.clone());
                }
                self.note_own_views(&parts);
                Op::Loop(parts).map_blocks(&mut |block| self.block(block))
            }
            Op::Build { .. } | Op::Reduce { .. } => {
                self.zeros.enter(op.space());
                let op = op.map_blocks(&mut |block| self.block(block));
                self.zeros.leave();
                op
            }
            other => other.map_blocks(&mut |block| self.block(block)),
        }
    }

    /// Rules that look at the simplified blocks.
    fn after(&mut self, op: Op, span: Span) -> Step {
        match op {
            Op::If { .. } => self.after_control(op, span),
            Op::Build { .. } => self.build(op),
            Op::Loop(parts) => match self.loop_as_sum(&parts, span) {
                Some(sum) => sum,
                None if self.hints == Hints::Drop => self.interchange(parts, span),
                None => Step::Op(Op::Loop(parts)),
            },
            Op::Reduce { .. } => match self.narrow_sum(op, span) {
                Step::Op(op) => self.unsigned_sum(op, span),
                narrower => narrower,
            },
            Op::WithAccumulators { handles, init, mut body } if self.hints == Hints::Drop => {
                match self.unsigned_accumulators(&handles, &init, &mut body) {
                    Some(signed) => self.signed_results(handles, init, body, signed, span),
                    None => self.with_accumulators(handles, init, body),
                }
            }
            other => Step::Op(other),
        }
    }
}

/// A total order on atoms, for operations that commute: variables by age, then constants.
fn order(atom: &Atom) -> u64 {
    match atom {
        Atom::Var(var) => u64::from(var.0),
        Atom::Const(_) => u64::MAX,
    }
}

/// The operation as an expression that need not be computed twice.
fn expression(op: &Op) -> Option<Expression> {
    Some(match op {
        Op::Prim(op, args) => Expression::Prim(*op, args.clone()),
        Op::Index { array, indices } => Expression::Index(array.clone(), indices.clone()),
        Op::Slice { array, dims } => Expression::Slice(array.clone(), dims.clone()),
        Op::Transpose { array, permutation } => Expression::Transpose(array.clone(), permutation.clone()),
        Op::Reshape { array, dims } => Expression::Reshape(array.clone(), dims.clone()),
        Op::Dim { array, axis } => Expression::Dim(array.clone(), *axis),
        Op::Construct { ty, tag, args } => Expression::Construct(ty.clone(), *tag, args.clone()),
        Op::If { condition, then, otherwise } => Expression::Choice(condition.clone(), vec![branch(then)?, branch(otherwise)?]),
        _ => return None,
    })
}

/// A short branch, with names that do not depend on where it stands.
fn branch(block: &Block) -> Option<(Vec<Expression>, Vec<Atom>)> {
    const FEW: usize = 4;
    let name = |var: Var| block.statements.iter().position(|statement| statement.binders.iter().any(|it| it.var == var));
    let renamed = |atom: &Atom| match atom {
        Atom::Var(var) => name(*var).map_or(atom.clone(), |at| Atom::Var(Var(u32::MAX - at as u32))),
        constant => constant.clone(),
    };
    if block.statements.len() > FEW {
        return None;
    }
    let steps = block.statements.iter().map(|statement| match (&statement.op, statement.binders.len()) {
        (Op::Prim(..) | Op::Index { .. }, 1) => {
            let mut op = statement.op.clone();
            op.for_each_atom_mut(&mut |atom| *atom = renamed(atom));
            expression(&op)
        }
        _ => None,
    });
    Some((steps.collect::<Option<_>>()?, block.results.iter().map(renamed).collect()))
}
